//! The rows that pgbench's statements touch.

use super::{
    schema::{ACCOUNTS, BRANCHES, HISTORY, TELLERS},
    statements as sql,
};
use crate::{
    connection::{RowVisitor, StatementId, Value},
    schema::TableId,
    touch::{Action, Answer, By, Columns, Place, RowModel, Touch, integers},
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
        touches: &mut Vec<Touch>,
        visit: &mut RowVisitor<'_>,
    ) -> u64 {
        let p: [i64; 2] = integers(parameters);
        let number = |id: i64| Place::initial(id as u64 - 1);
        let update = Action::Update { grows: 0 };
        let (table, first, action) = match statement {
            sql::UPDATE_ACCOUNT => {
                let changed = &mut self.changed[p[1] as usize - 1];
                let grows = match std::mem::replace(changed, true) {
                    true => 0,
                    false => BALANCE_BYTES,
                };
                (ACCOUNTS, number(p[1]), Action::Update { grows })
            }
            sql::SELECT_BALANCE => {
                visit(&Answer::new(&sql::STATEMENTS[statement.0], &[]));
                (ACCOUNTS, number(p[0]), Action::Read)
            }
            sql::UPDATE_TELLER => (TELLERS, number(p[1]), update),
            sql::UPDATE_BRANCH => (BRANCHES, number(p[1]), update),
            sql::INSERT_HISTORY => {
                self.history += 1;
                // There are none at first.
                let place = Place::behind(0, self.history - 1);
                (HISTORY, place, Action::Insert)
            }
            _ => unreachable!("checks are not run on a pretence"),
        };
        touches.push(Touch {
            table: TableId(table),
            by: By::Key,
            first,
            rows: 1,
            action,
            columns: Columns::NONE,
            changed: 0,
        });
        1
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;
    use crate::{Pgbench, Workload};

    #[test]
    fn a_transaction_touches_what_it_names() {
        let workload = Pgbench::new(2, Seed::new(1)).unwrap();
        let mut client = workload.clients(Seed::new(1), 1).remove(0);
        let mut pretence = workload.pretence();
        for _ in 0..100 {
            client.draw();
            client.run(&mut pretence).unwrap();
        }
        assert_eq!(pretence.statements(), 500);
        let of = |table| {
            pretence
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
