//! What Oracle does, as far as that is published; for version 11.2 where versions differ.
//!
//! Sources: Oracle8 Administrator's Guide, appendix A (space estimates, with the sizes of
//! `V$TYPE_SIZE`); Jonathan Lewis, Oracle Core (2011), its scripts and dumps, and his notes
//! "Index Efficiency 2" (2010), "Undo extremes" (2009) and "Index splits" (2018); Richard
//! Foote, "Indexes and Initrans" (2016). Nothing here was compared with a server.

mod kind;

use octavo_buffer::{Frames, TouchCount, TouchRule};
use octavo_units::ByteCount;
use octavo_workload::schema::{Column, ColumnKind};

pub(crate) use kind::KIND;

use super::rules::{Change, IndexPages, LogFormat, Rules, UndoFormat};
use crate::{packed::Room, replacement::Buffer, sample::Field, tree::Growth};

/// `KCBH`, the tail (`UB4`), `KTBBH` with one transaction's entry, a second one (`KTBIT`),
/// `KDBH` and `KDBT`: a table's block. Two entries are what dumps show. Eight bytes more are
/// taken with automatic segment space management: with them, and not without, blocks of
/// 8 KiB have the 733, 672 and 302 rows that are published.
const TABLE_OVERHEAD: u32 = 20 + 4 + 48 + 24 + 14 + 4 + 8;
/// Of an index's leaf: `kdxlebksz` is 8032 in blocks of 8 KiB, 36 of these are a header.
const LEAF_OVERHEAD: u32 = 160 + 36;
/// `PCTFREE` and `PCTUSED`, the defaults.
const FREE_PERCENT: u32 = 10;
const USED_PERCENT: u32 = 40;

/// A row's header; and what one takes at least, so that it can be moved.
const ROW_HEADER: u32 = 3;
const ROW_MIN: u32 = 9;
/// An entry of a block's directory of rows.
const DIRECTORY: u32 = 2;
/// A flag and a lock; the row's address.
const ENTRY_HEADER: u32 = 2;
const ROW_ADDRESS: u32 = 6;
/// The address of a block, in blocks above.
const BLOCK_ADDRESS: u32 = 4;

/// Of an undo block, what is no room: 8,072 bytes of 8 KiB are free when it is empty.
const UNDO_OVERHEAD: u32 = 120;
/// Undo records of a new row, of a change without its old values, and of a row that goes
/// without the row; with each the two bytes that point to it. Dumps of 11g: 68, 124 for a
/// text of five bytes; and about 80 beside the row.
const UNDO_INSERT: u32 = 70;
const UNDO_UPDATE: u32 = 121;
const UNDO_DELETE: u32 = 82;
/// An index's entry: no figure is published. Chosen: as a new row, and the entry.
const UNDO_ENTRY: u32 = 70;
/// What the first record of a transaction has besides.
const UNDO_FIRST: u32 = 44;

/// Redo of a change of a row without values: dumps of 11g have 256 bytes for a new row of
/// two columns, 320 for a change of five bytes (old and new ones). Tom Kyte's sizes for rows
/// of 30 and 100 bytes (Expert Oracle, 2005) grow by the row.
const REDO_INSERT: u32 = 240;
const REDO_UPDATE: u32 = 310;
const REDO_DELETE: u32 = 260;
/// Of an index's entry: no figure is published. Chosen: records and vectors as those of
/// rows, and the entry twice.
const REDO_ENTRY: u32 = 220;
/// What the first change of a transaction has besides: with it and the commit, a change of
/// one number takes 510 bytes (`core_commit_01.sql`, 11.2).
const REDO_FIRST: u32 = 100;
/// A commit: 96 in 11g.
const REDO_COMMIT: u32 = 96;

/// What of an Oracle-like database can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OracleSettings {
    /// Bytes of the redo log, all of its three files. A page is written when it has been
    /// dirty for nine tenths of a file, unless it leaves the buffer before.
    pub(super) redo: ByteCount,
    /// Whether redo and undo are on another device than tables and indexes. That one is not
    /// modeled: it takes no time.
    pub(super) is_log_elsewhere: bool,
    /// Whether a checkpoint has the device make durable what it wrote. Without, a cache in
    /// the device keeps pages for as long as it likes: so did raw devices of Linux before
    /// 2.6.33, whose `fsync` flushed no drive's cache.
    pub(super) flushes_pages: bool,
}

/// Of the same size.
const REDO_FILES: u64 = 3;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Oracle(pub(super) OracleSettings);

/// With the defaults of all settings.
#[cfg(test)]
pub(super) const ORACLE: Oracle = Oracle(OracleSettings {
    redo: ByteCount::mib(150),
    is_log_elsewhere: false,
    flushes_pages: true,
});

impl Rules for Oracle {
    fn heap(&self, page: u32) -> Room {
        Room {
            bytes: page - TABLE_OVERHEAD,
            pointer: DIRECTORY,
            reserve: (page - TABLE_OVERHEAD) * FREE_PERCENT / 100,
        }
    }

    fn emptied_from(&self, page: u32) -> u32 {
        page * (100 - USED_PERCENT) / 100
    }

    fn counts_room(&self) -> bool {
        false
    }

    fn row(&self, columns: &[Column], fields: &[Field]) -> u32 {
        // NULLs at the end take nothing, others their length.
        let has_value = |field: &Field| *field != Field::Null;
        let count = fields
            .iter()
            .rposition(has_value)
            .map_or(0, |last| last + 1);
        let values = columns.iter().zip(fields).take(count);
        let bytes: u32 = values
            .map(|(column, field)| with_length(column, *field, 250))
            .sum();
        (ROW_HEADER + bytes).max(ROW_MIN)
    }

    fn grows(&self) -> bool {
        true
    }

    fn index(&self, page: u32) -> IndexPages {
        IndexPages {
            room: page - LEAF_OVERHEAD,
            reserve: page * FREE_PERCENT / 100,
            // A key behind all others gets a leaf of its own; leaves are never merged.
            growth: Growth::Split {
                last_fill: 1.0,
                splits_behind_sequel: false,
                merge_below: 0.0,
            },
        }
    }

    fn entry(&self, columns: &[Column], fields: &[Field], is_unique: bool) -> u32 {
        let values = columns.iter().zip(fields);
        let bytes: u32 = values
            .map(|(column, field)| with_length(column, *field, 128))
            .sum();
        // Where keys are not unique, the row's address is a further column.
        let address = ROW_ADDRESS + u32::from(!is_unique);
        ENTRY_HEADER + address + bytes + DIRECTORY
    }

    fn pointer(&self, columns: &[Column], fields: &[Field]) -> u32 {
        let values = columns.iter().zip(fields);
        let bytes: u32 = values
            .map(|(column, field)| with_length(column, *field, 128))
            .sum();
        BLOCK_ADDRESS + bytes + DIRECTORY
    }

    fn logged(&self, change: Change, is_first: bool) -> u32 {
        let own = match change {
            Change::Insert { row } => REDO_INSERT + row,
            Change::Update { changed, .. } => REDO_UPDATE + 2 * changed,
            Change::Delete { row } => REDO_DELETE + row,
            Change::Entry { bytes, .. } => REDO_ENTRY + 2 * bytes,
        };
        own + if is_first { REDO_FIRST } else { 0 }
    }

    fn log(&self, _page: u32) -> LogFormat {
        LogFormat {
            block: 512,
            header: 16,
            rewrites: false,
            first_last: false,
            size: self.0.redo.get(),
            checkpoint: self.0.redo.get() / REDO_FILES / 10 * 9,
            is_elsewhere: self.0.is_log_elsewhere,
            flushes_pages: self.0.flushes_pages,
            commit: REDO_COMMIT,
        }
    }

    fn undo(&self, _page: u32) -> Option<UndoFormat> {
        Some(UndoFormat {
            overhead: UNDO_OVERHEAD,
            segments: 10,
            // `UNDO_RETENTION`.
            retention_ns: 900_000_000_000,
        })
    }

    fn undone(&self, change: Change, is_first: bool) -> u32 {
        let own = match change {
            Change::Insert { .. } => UNDO_INSERT,
            Change::Update { changed, .. } => UNDO_UPDATE + changed,
            Change::Delete { row } => UNDO_DELETE + row,
            Change::Entry { bytes, .. } => UNDO_ENTRY + bytes,
        };
        own + if is_first { UNDO_FIRST } else { 0 }
    }

    fn buffer(&self, pages: u32, frames: Frames) -> Buffer {
        Box::new(TouchCount::new(pages, frames, TouchRule::ORACLE_WRITING))
    }
}

/// A value with its length, which takes one byte for those that are shorter than `short`.
fn with_length(column: &Column, field: Field, short: u32) -> u32 {
    let bytes = match (column.kind, field) {
        (_, Field::Null) => 0,
        (ColumnKind::Decimal { scale, .. }, Field::Decimal(value) | Field::Integer(value)) => {
            number(value, scale)
        }
        (_, Field::Integer(value) | Field::Decimal(value)) => number(value, 0),
        (ColumnKind::Char(length), _) => length,
        (_, Field::Text(bytes)) => bytes,
        // `DATE`.
        (_, Field::Timestamp(_)) => 7,
    };
    bytes + if bytes < short { 1 } else { 3 }
}

/// A `NUMBER`: a byte of exponent, two decimal digits in each further one without zeros on
/// either side, and one more where it is negative; 0 has the first alone.
fn number(value: i64, scale: u8) -> u32 {
    // Pairs of digits begin at the point.
    let whole_pairs = if scale % 2 == 1 { 10 } else { 1 };
    let mut digits = u128::from(value.unsigned_abs()) * whole_pairs;
    if digits == 0 {
        return 1;
    }
    while digits % 100 == 0 {
        digits /= 100;
    }
    let mut pairs = 0;
    while digits > 0 {
        digits /= 100;
        pairs += 1;
    }
    1 + pairs + u32::from(value < 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::Packed;

    fn columns(kinds: &[ColumnKind]) -> Vec<Column> {
        kinds.iter().map(|&kind| Column::new("c", kind)).collect()
    }

    /// Rows that come onto an empty block of 8 KiB, of which nothing is kept free.
    fn rows_a_block(kinds: &[ColumnKind], fields: impl Fn(i64) -> Vec<Field>) -> u32 {
        let columns = columns(kinds);
        let sizes: Vec<u32> = (1..3000)
            .map(|n| ORACLE.row(&columns, &fields(n)))
            .collect();
        let all = Room {
            reserve: 0,
            ..ORACLE.heap(8192)
        };
        let packed = Packed::new(3000, &sizes, all);
        (0..3000).find(|&row| packed.page_of(row) > 0).unwrap() as u32
    }

    /// AskTom 9531267800346351870 (11.2) and Foote, "Indexes and Initrans".
    #[test]
    fn blocks_have_as_many_rows_as_published() {
        let text =
            |length| rows_a_block(&[ColumnKind::Char(length)], |_| vec![Field::Text(length)]);
        assert_eq!([text(1), text(5), text(6)], [733, 733, 672]);
        let kinds = [
            ColumnKind::Integer,
            ColumnKind::Integer,
            ColumnKind::Varchar(30),
        ];
        let fields = |n| vec![Field::Integer(n), Field::Integer(n % 100), Field::Text(14)];
        // The first block: numbers are short in it.
        let sizes: Vec<u32> = (1..400)
            .map(|n| ORACLE.row(&columns(&kinds), &fields(n)))
            .collect();
        let room = ORACLE.heap(8192).bytes;
        let mut used = 0;
        let fitting = sizes.iter().take_while(|bytes| {
            used += **bytes + DIRECTORY;
            used <= room
        });
        assert_eq!(fitting.count(), 302);
    }

    /// Oracle-L, February 2004: 10,000 ascending numbers with a unique index (9.2) have 18
    /// leaves. And "Changing initrans" (10.2): the first leaves that a build of numbers makes,
    /// of an index that is not unique, have 485 and 479 entries.
    #[test]
    fn leaves_have_as_many_entries_as_published() {
        let columns = columns(&[ColumnKind::Integer]);
        let leaves = |numbers: std::ops::Range<i64>, is_unique, room: u32| {
            let (mut counts, mut used) = (vec![0], 0);
            for n in numbers {
                let bytes = ORACLE.entry(&columns, &[Field::Integer(n)], is_unique);
                if used + bytes > room {
                    counts.push(0);
                    used = 0;
                }
                used += bytes;
                *counts.last_mut().unwrap() += 1;
            }
            counts
        };
        let IndexPages { room, reserve, .. } = ORACLE.index(8192);
        assert_eq!(leaves(1..10_001, true, room).len(), 18);
        let built = leaves(1..3000, false, room - reserve);
        assert!((484..=486).contains(&built[0]), "{built:?}");
        assert!((478..=480).contains(&built[1]), "{built:?}");
    }

    #[test]
    fn numbers_by_hand() {
        let plain = [0, 1, 99, 100, 101, 10_000, 12_345, -1].map(|value| number(value, 0));
        assert_eq!(plain, [1, 2, 2, 2, 3, 2, 4, 3]);
        // 1.5, 12.34, 0.05: pairs begin at the point.
        let scaled = [(15, 1), (1234, 2), (5, 2)].map(|(value, scale)| number(value, scale));
        assert_eq!(scaled, [3, 3, 2]);
    }

    /// `core_commit_01.sql`: one number changed and committed takes 510 bytes (11.2).
    #[test]
    fn a_small_transaction_logs_what_is_published() {
        let change = Change::Update {
            row: 100,
            changed: 2,
        };
        let bytes = ORACLE.logged(change, true) + ORACLE.log(8192).commit;
        assert!((500..=520).contains(&bytes), "{bytes}");
    }
}
