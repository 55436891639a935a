//! Rows that belong to a transaction until it ends.

use std::collections::VecDeque;

use octavo_workload::{
    schema::TableId,
    touch::{AccessPath, Action, Place, Touch},
};

use crate::engine::Grain;
use crate::hashed::HashMap;

/// Rows of a statement that are locked at most: statements that change more of them find
/// them by a key that another locked row has, as the lines of an order.
const ROWS_MAX: u32 = 1;

type RowKey = (TableId, Place);

/// What all who change a database that has one writer at a time take instead.
const EVERYTHING: RowKey = (TableId(usize::MAX), Place::initial(0));

/// Locked rows, and those who wait.
///
/// A transaction takes all rows that it changes when it begins, or waits: there are no
/// deadlocks, and rows that it would reach later are locked for too long. Rows that many
/// want, as a warehouse or a district, are reached first.
///
/// Where the grain is the database, one transaction that changes something follows the
/// other, in the order in which they began.
#[derive(Debug)]
pub(crate) struct Locks {
    grain: Grain,
    held: HashMap<RowKey, usize>,
    waiting: VecDeque<(usize, Vec<RowKey>)>,
}

impl Locks {
    /// Nothing is locked.
    pub(crate) fn new(grain: Grain) -> Self {
        Self {
            grain,
            held: HashMap::default(),
            waiting: VecDeque::new(),
        }
    }

    /// Has a client lock what it changes.
    ///
    /// # Errors
    /// The table of a row that another has, or `None` where that is the whole database. Then
    /// it is among those whom [`Self::release`] returns, once.
    pub(crate) fn take(&mut self, client: usize, touches: &[Touch]) -> Result<(), Option<TableId>> {
        let rows: Vec<RowKey> = match self.grain {
            Grain::Row => {
                let changes = touches.iter().filter(|touch| {
                    matches!(touch.action, Action::Update { .. } | Action::Delete)
                        && !matches!(touch.by, AccessPath::Index(_))
                        && touch.rows <= ROWS_MAX
                });
                changes.map(|touch| (touch.table, touch.first)).collect()
            }
            Grain::Database if touches.iter().any(Touch::is_change) => vec![EVERYTHING],
            Grain::Database => Vec::new(),
        };
        self.take_rows(client, rows)
    }

    /// Has a client lock the database, as [`Self::take`].
    ///
    /// # Errors
    /// `None` where another one has it.
    pub(crate) fn take_everything(&mut self, client: usize) -> Result<(), Option<TableId>> {
        self.take_rows(client, vec![EVERYTHING])
    }

    fn take_rows(&mut self, client: usize, rows: Vec<RowKey>) -> Result<(), Option<TableId>> {
        let taken = self.hold(client, &rows);
        if taken.is_err() {
            self.waiting.push_back((client, rows));
        }
        taken
    }

    fn hold(&mut self, client: usize, rows: &[RowKey]) -> Result<(), Option<TableId>> {
        if let Some(row) = rows.iter().find(|row| self.held.contains_key(row)) {
            return Err((*row != EVERYTHING).then_some(row.0));
        }
        self.held.extend(rows.iter().map(|row| (*row, client)));
        Ok(())
    }

    /// Ends a client's transaction; those who have their rows now.
    pub(crate) fn release(&mut self, client: usize) -> Vec<usize> {
        self.held.retain(|_, holder| *holder != client);
        let mut served = Vec::new();
        for _ in 0..self.waiting.len() {
            let (client, rows) = self.waiting.pop_front().expect("so many wait");
            match self.hold(client, &rows) {
                Ok(()) => served.push(client),
                Err(_) => self.waiting.push_back((client, rows)),
            }
        }
        served
    }
}

#[cfg(test)]
mod tests {
    use octavo_workload::touch::{AccessPath, Columns, Cursor};

    use super::*;

    fn change(table: usize, row: u64) -> Touch {
        Touch {
            table: TableId(table),
            by: AccessPath::Key,
            first: Place::initial(row),
            rows: 1,
            cursor: Cursor::New,
            begins: true,
            action: Action::Update { grows: 0 },
            columns: Columns::NONE,
            changed: 0,
        }
    }

    #[test]
    fn a_row_has_one_owner_at_a_time() {
        let mut locks = Locks::new(Grain::Row);
        assert_eq!(locks.take(0, &[change(1, 5), change(2, 5)]), Ok(()));
        let blocked = Err(Some(TableId(2)));
        assert_eq!(locks.take(1, &[change(1, 6), change(2, 5)]), blocked);
        // Who waits holds nothing.
        assert_eq!(locks.take(2, &[change(1, 6)]), Ok(()));
        assert_eq!(locks.take(3, &[change(2, 5)]), blocked);
        assert_eq!(locks.release(0), [3]);
        assert!(locks.release(2).is_empty());
        assert_eq!(locks.release(3), [1]);
    }

    #[test]
    fn rows_that_are_read_or_new_are_free() {
        let mut locks = Locks::new(Grain::Row);
        let only = |action| Touch {
            action,
            ..change(1, 5)
        };
        for client in 0..2 {
            let touches = [only(Action::Read), only(Action::Insert)];
            assert_eq!(locks.take(client, &touches), Ok(()));
        }
    }

    #[test]
    fn a_database_with_one_writer_has_them_one_after_the_other() {
        let mut locks = Locks::new(Grain::Database);
        let reads = Touch {
            action: Action::Read,
            ..change(1, 5)
        };
        assert_eq!(locks.take(0, &[reads, change(1, 5)]), Ok(()));
        assert_eq!(locks.take(1, &[change(2, 6)]), Err(None));
        assert_eq!(locks.take(2, &[change(3, 7)]), Err(None));
        assert_eq!(locks.take(3, &[reads]), Ok(()));
        assert!(locks.release(3).is_empty());
        assert_eq!(locks.release(0), [1]);
        assert_eq!(locks.release(1), [2]);
    }
}
