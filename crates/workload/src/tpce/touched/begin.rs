//! What a run begins with, before anything was touched.

use super::{
    super::{calendar, ids, schema::*, statements::Begin},
    TouchedRows,
};
use crate::{
    connection::Value,
    touch::{Hits, Place},
};

impl TouchedRows {
    pub(super) fn begin(&self, statement: Begin, hits: &mut Hits<'_, '_>) -> u64 {
        match statement {
            Begin::LAST_TIME => {
                hits.rows(Place::initial(0), self.rows[LAST_TRADE] as u32);
                hits.answer(&[Value::Timestamp(calendar::date(self.scale.end()))])
            }
            Begin::LAST_TRADE_ID => {
                let last = ids::trade(self.scale.begun() - 1);
                hits.rows(self.of_trade(TRADES, last), 1);
                hits.answer(&[Value::Integer(last)])
            }
            // Initial trades are all completed.
            Begin::ALL_REQUESTS | Begin::SUBMITTED => 0,
        }
    }
}
