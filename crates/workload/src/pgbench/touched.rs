//! The rows that pgbench's statements touch.

use super::statements::{Scripts, StatementName};
use crate::{
    connection::{StatementId, Value},
    touch::{Hits, Place, RowModel, integers},
};

/// What a balance takes beyond the initial 0, which may take none: it is a sum of
/// numbers to 5,000.
const BALANCE_BYTES: u16 = 2;

#[derive(Debug)]
pub(super) struct TouchedRows {
    /// Whether an account was changed.
    changed: Vec<bool>,
    history: u64,
}

impl TouchedRows {
    pub(super) fn new(accounts: u64) -> Self {
        Self {
            changed: vec![false; accounts as usize],
            history: 0,
        }
    }
}

impl RowModel for TouchedRows {
    fn take(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        hits: &mut Hits<'_, '_>,
    ) -> u64 {
        let p: [i64; 2] = integers(parameters);
        let number = |id: i64| Place::initial(id as u64 - 1);
        let statement = match StatementName::from(statement) {
            StatementName::Scripts(statement) => statement,
            StatementName::Checks(_) => unreachable!("checks are not run on a tracer"),
        };
        match statement {
            Scripts::UPDATE_ACCOUNT => {
                let changed = &mut self.changed[p[1] as usize - 1];
                let grows = match std::mem::replace(changed, true) {
                    true => 0,
                    false => BALANCE_BYTES,
                };
                hits.grow(number(p[1]), 1, grows);
                1
            }
            Scripts::SELECT_BALANCE => hits.row(number(p[0])),
            Scripts::UPDATE_TELLER | Scripts::UPDATE_BRANCH => hits.row(number(p[1])),
            Scripts::INSERT_HISTORY => {
                self.history += 1;
                // There are none at first.
                hits.row(Place::behind(0, self.history - 1))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use crate::{
        Pgbench, Workload,
        pgbench::schema::{ACCOUNTS, HISTORY, TELLERS},
    };

    #[test]
    fn a_transaction_touches_what_it_names() {
        let workload = Pgbench::new(2, Seed::new(1)).unwrap();
        let mut client = workload.clients(Seed::new(1), 1).remove(0);
        let mut tracer = workload.touch_tracer();
        for _ in 0..100 {
            client.draw();
            client.run(&mut tracer).unwrap();
        }
        assert_eq!(tracer.statements(), 500);
        let of = |table| {
            tracer
                .touches()
                .iter()
                .filter(move |touch| touch.table.0 == table)
        };
        assert_eq!(of(ACCOUNTS).count(), 200);
        assert!(of(ACCOUNTS).all(|touch| touch.first.initial < 200_000));
        assert!(of(TELLERS).all(|touch| touch.first.initial < 20));
        let history: Vec<u64> = of(HISTORY).map(|touch| touch.first.later).collect();
        assert!(history.into_iter().eq(1..=100));
    }
}
