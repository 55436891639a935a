//! How often SQLite refers to the overflow pages of a row whose values it reads, and which of them it changes.
//!
//! Each value is read by itself (`accessPayload`): all pages that it lies on are referred to,
//! so that a page on which ten values begin has ten references. Which page comes after which
//! is kept while a cursor is on the row (`aOverflow`); pages that no value was read from are
//! passed once on the way to a later one.
//!
//! A record that keeps its size is written over where it is, and of its pages those are changed whose
//! bytes differ (`btreeOverwriteCell`, `btreeOverwriteContent`): all on which a replaced value lies.

use std::sync::Arc;

use octavo_workload::touch::Columns;

use super::record::{Cell, ends};
use crate::hashed::HashMap;
use crate::{sample::Field, tree::Replaced};

/// Where the values of a table's rows are.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    /// Of rows that have overflow pages.
    rows: Vec<OverflowingRow>,
    /// The columns of the table, and those of its key, by which a row is found: they are not
    /// read from it then.
    columns: usize,
    key: Columns,
    /// What was reckoned before.
    known: HashMap<(Columns, Wanted), f64>,
    replaced: HashMap<Columns, Arc<[Replaced]>>,
}

/// Which values of a row are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Wanted {
    /// Those of these columns, all if there are none.
    Named,
    /// All but those of these columns, which are replaced.
    Kept,
}

/// A row that has overflow pages.
#[derive(Clone, Debug)]
struct OverflowingRow {
    /// Bytes of the record in the leaf.
    local: u32,
    /// Bytes of it on each page behind.
    room: u32,
    /// Pages behind.
    pages: u32,
    /// By column where in the record its value begins and ends.
    values: Vec<(u32, u32)>,
}

impl Values {
    /// Of a table with so many columns, of which these are its key's, without rows.
    pub(super) fn new(columns: usize, key: Columns) -> Self {
        Self {
            columns,
            key,
            ..Self::default()
        }
    }

    /// Takes a row into account: the cell of its record, and its fields in the order in which
    /// the record has them, with the columns that they are of.
    pub(super) fn add(&mut self, cell: Cell, fields: &[(usize, Field)], room: u32) {
        if cell.overflow == 0 {
            return;
        }
        let mut values = vec![(0, 0); self.columns];
        let begins_and_ends = ends(fields.iter().map(|(_, field)| *field));
        for ((column, _), value) in fields.iter().zip(begins_and_ends) {
            values[*column] = value;
        }
        self.rows.push(OverflowingRow {
            local: cell.local,
            room,
            pages: cell.overflow,
            values,
        });
    }

    /// References to each overflow page of a row of which these columns are read, on
    /// average. Pages that are not read are counted once.
    pub(super) fn references_a_page(&mut self, columns: Columns, wanted: Wanted) -> f64 {
        if self.rows.is_empty() {
            return 1.0;
        }
        let Self {
            rows, key, known, ..
        } = self;
        let is_wanted = |column: usize| match wanted {
            Wanted::Named if columns == Columns::NONE => true,
            Wanted::Named => columns.has(column) && !key.has(column),
            Wanted::Kept => !columns.has(column),
        };
        *known.entry((columns, wanted)).or_insert_with(|| {
            let references = rows.iter().map(|row| row.references(is_wanted));
            let references: u64 = references.map(u64::from).sum();
            let pages: u64 = rows.iter().map(|row| u64::from(row.pages)).sum();
            references as f64 / pages as f64
        })
    }
}

impl Values {
    /// Where the values of these columns lie, by row that has overflow pages.
    pub(super) fn replaced(&mut self, columns: Columns) -> Arc<[Replaced]> {
        let Self { rows, replaced, .. } = self;
        let of_rows = replaced
            .entry(columns)
            .or_insert_with(|| rows.iter().map(|row| row.replaced(columns)).collect());
        Arc::clone(of_rows)
    }
}

impl OverflowingRow {
    fn replaced(&self, columns: Columns) -> Replaced {
        let values = self.values.iter().enumerate();
        let values = values.filter(|(column, (begin, end))| columns.has(*column) && begin < end);
        let mut replaced = Replaced {
            is_in_leaf: false,
            pages: Vec::new(),
        };
        for (_, &(begin, end)) in values {
            replaced.is_in_leaf |= begin < self.local;
            if end > self.local {
                let first = begin.saturating_sub(self.local) / self.room;
                replaced
                    .pages
                    .extend(first..=(end - 1 - self.local) / self.room);
            }
        }
        replaced
    }

    fn references(&self, is_wanted: impl Fn(usize) -> bool) -> u32 {
        // Pages whose number the cursor knows, as it has read up to there.
        let (mut references, mut known) = (0, 0);
        for (column, &(begin, end)) in self.values.iter().enumerate() {
            if !is_wanted(column) || begin == end || end <= self.local {
                continue;
            }
            let first = begin.saturating_sub(self.local) / self.room;
            let last = (end - 1 - self.local) / self.room;
            if first >= known {
                // From the last one that is known.
                references += first - u32::saturating_sub(known, 1);
            }
            references += last - first + 1;
            known = known.max(last + 1);
        }
        references + self.pages.saturating_sub(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::record::{TreeKind, cell, record};

    /// Rows of ten values after a key of 23 bytes, as YCSB has them.
    fn ycsb(field: u32, page: u32) -> Values {
        let mut fields = vec![(0, Field::Text(23))];
        fields.extend((1..=10).map(|column| (column, Field::Text(field))));
        let payload = record(fields.iter().map(|(_, field)| *field));
        let mut values = Values::new(11, Columns::at([0]));
        values.add(cell(TreeKind::Table, payload, 2, page), &fields, page - 4);
        values
    }

    /// Counted by SQLite 3.54 (`SQLITE_DBSTATUS_CACHE_HIT` and `_MISS`) for a record that is
    /// read, 5,000 of 1,000 bytes and 500 of 9,000: 19, 17, 33, 23, 18, 16 and 14 references,
    /// of which 8, 7, 7, 6, 5, 5 and 5 are the header's and the trees'.
    #[test]
    fn each_value_refers_to_its_pages_as_counted() {
        for (field, page, pages, read) in [
            (100, 512, 2.0, 11.0),
            (100, 1024, 1.0, 10.0),
            (900, 512, 17.0, 26.0),
            (900, 1024, 8.0, 17.0),
            (900, 2048, 4.0, 13.0),
            (900, 4096, 2.0, 11.0),
            (900, 8192, 1.0, 9.0),
        ] {
            let mut values = ycsb(field, page);
            let all = Columns::at(0..11);
            let found = pages * values.references_a_page(all, Wanted::Named);
            assert!((found - read).abs() < 1e-9, "{field} {page}: {found}");
        }
    }

    #[test]
    fn pages_on_the_way_are_passed_once_by_hand() {
        let row = OverflowingRow {
            local: 100,
            room: 100,
            pages: 5,
            values: vec![(0, 50), (50, 150), (150, 250), (250, 450), (450, 550)],
        };
        let of = |columns: &[usize]| row.references(|column| columns.contains(&column));
        // All on the leaf: what is behind is counted once all the same.
        assert_eq!(of(&[0]), 5);
        // Page 0, and four that are not read.
        assert_eq!(of(&[1]), 1 + 4);
        // Pages 0 and 1, then pages 1, 2 and 3, and then 3 and 4.
        assert_eq!(of(&[2, 3, 4]), 2 + 3 + 2);
        // 0 to 2 are passed on the way to the last value.
        assert_eq!(of(&[4]), 3 + 2);
        // From page 0, which is known, to page 3.
        assert_eq!(of(&[1, 4]), 1 + 3 + 2);
    }

    #[test]
    fn replaced_values_lie_on_their_pages_by_hand() {
        let row = OverflowingRow {
            local: 100,
            room: 100,
            pages: 5,
            values: vec![(0, 50), (50, 150), (150, 250), (250, 450), (450, 550)],
        };
        let of = |columns: &[usize]| {
            let replaced = row.replaced(Columns::at(columns.iter().copied()));
            (replaced.is_in_leaf, replaced.pages)
        };
        assert_eq!(of(&[0]), (true, vec![]));
        assert_eq!(of(&[1]), (true, vec![0]));
        assert_eq!(of(&[2]), (false, vec![0, 1]));
        assert_eq!(of(&[0, 3]), (true, vec![1, 2, 3]));
        assert_eq!(of(&[4]), (false, vec![3, 4]));
    }

    /// Counted in SQLite 3.40, frames of the log by page: an update of a text of 5,000 bytes in a table with a key of
    /// 20 changed 2 pages of 4 KiB and 1 of 16 KiB, one of 30,000 bytes 8 and 2.
    #[test]
    fn a_text_that_is_replaced_changes_as_many_pages_as_counted() {
        for (text, page, changed) in [
            (5000, 4096, 2),
            (5000, 16_384, 1),
            (30_000, 4096, 8),
            (30_000, 16_384, 2),
        ] {
            let fields = [(0, Field::Text(20)), (1, Field::Text(text))];
            let payload = record(fields.iter().map(|(_, field)| *field));
            let mut values = Values::new(2, Columns::at([0]));
            values.add(cell(TreeKind::Table, payload, 2, page), &fields, page - 4);
            let found = match values.replaced(Columns::at([1])).first() {
                Some(replaced) => usize::from(replaced.is_in_leaf) + replaced.pages.len(),
                None => 1,
            };
            assert_eq!(found, changed, "{text} {page}");
        }
    }

    #[test]
    fn rows_without_overflow_have_no_references() {
        let mut values = ycsb(100, 4096);
        assert_eq!(values.references_a_page(Columns::NONE, Wanted::Named), 1.0);
    }
}
