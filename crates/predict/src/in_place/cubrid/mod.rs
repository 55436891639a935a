//! What CUBRID does: its source (names are of files and constants there). Pages of tables and indexes, and bytes of the
//! log, are those of version 11.4, compared with a server. The zones of the buffer are those of 10.2, compared with none.

mod kind;

use octavo_buffer::{Frames, Zones};
use octavo_workload::schema::{Column, ColumnKind};

pub(crate) use kind::KIND;

use super::rules::{Change, IndexPages, LogFormat, Rules, UndoFormat};
use crate::{packed::Room, replacement::Buffer, sample::Field, tree::Growth};

/// `FILEIO_PAGE_RESERVED` with `FILEIO_PAGE_WATERMARK`, `SPAGE_HEADER` and `SPAGE_SLOT` (file_io.h,
/// slotted_page.h).
const RESERVED: u32 = 32 + 8;
const PAGE_HEADER: u32 = 32;
const SLOT: u32 = 4;
/// The first record of each page of a heap, `HEAP_CHAIN` (heap_file.c); and of an index,
/// `NODE_HEADER_SIZE` (btree_load.h).
const HEAP_CHAIN: u32 = 40;
const NODE_HEADER: u32 = 32;
/// `unfill_factor` and `HEAP_DROP_FREE_SPACE`.
const UNFILL_PERCENT: u32 = 10;
const DROP_FREE_PERCENT: u32 = 30;
/// `index_unfill_factor`; and how full the last leaf stays when rows come in order
/// (`BTREE_SPLIT_MAX_PIVOT`).
const INDEX_UNFILL_PERCENT: u32 = 5;
const SPLIT_MAX: f64 = 0.95;
/// Two leaves are merged that leave a third of a page free together (btree.c): near that, one
/// that is filled to a third with a neighbor that has room.
const MERGE_BELOW: f64 = 0.33;

/// `OR_HEADER_SIZE`: representation and coherency number.
const ROW_HEADER: u32 = 8;
/// `OR_OID_SIZE`; and of a page above, page and length of the key.
const OID: u32 = 8;
const CHILD: u32 = 8;
/// `DB_NUMERIC_BUF_SIZE`.
const NUMERIC: u32 = 16;

/// The header of a log record, and what one has behind it for a row that comes, and for one that is replaced or goes
/// (log_record.hpp); each part is to a multiple of 8. Measured, as all of the log (bench/runs/2026-12-03-cubrid-log).
const RECORD: u32 = 32;
const INSERT: u32 = 40;
const REPLACE: u32 = 48;
const COMMIT: u32 = 40;
/// A row's type, logged before it.
const ROW_TYPE: u32 = 2;
/// What a row has in its header until the vacuum was there: by whom it was inserted, and where the log has the version
/// before (`OR_MVCC_INSERT_ID_SIZE`, `OR_MVCC_PREV_VERSION_LSA_SIZE`).
const INSERTED_BY: u32 = 8;
const BEFORE: u32 = 8;
/// What an entry that comes logs besides its key, twice, and one that goes besides its key, once: in the index of a
/// key, and in others.
const ENTRY_COMES: [u32; 2] = [348, 124];
const ENTRY_GOES: [u32; 2] = [350, 126];
/// Bytes of an entry that are no part of its key.
const NO_KEY: u32 = OID + SLOT;
/// What the vacuum logs afterwards: for a row that came or was replaced (measured), and for one that went and an
/// entry that came or went. For these only sums were measured, with splits of pages in them: how they are shared is chosen.
const VACUUM_INSERT: u32 = 23;
const VACUUM_UPDATE: u32 = 46;
const VACUUM_DELETE: u32 = 40;
const VACUUM_ENTRY: [u32; 2] = [60, 120];

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cubrid;

impl Rules for Cubrid {
    fn heap(&self, page: u32) -> Room {
        Room {
            bytes: page - RESERVED - PAGE_HEADER - HEAP_CHAIN - SLOT,
            pointer: SLOT,
            reserve: (page - RESERVED) * UNFILL_PERCENT / 100,
        }
    }

    fn emptied_from(&self, page: u32) -> u32 {
        (page - RESERVED) * DROP_FREE_PERCENT / 100
    }

    fn counts_room(&self) -> bool {
        true
    }

    /// Offsets of texts, numbers and dates at fixed places whether NULL or not, bits that
    /// tell which are, and the texts (`heap_attrinfo_transform_to_disk`).
    fn row(&self, columns: &[Column], fields: &[Field]) -> u32 {
        let (mut fixed, mut fixed_count, mut texts, mut texts_count) = (0u32, 0u32, 0, 0);
        for (column, field) in columns.iter().zip(fields) {
            match fixed_bytes(column.kind) {
                Some(bytes) => {
                    fixed += bytes;
                    fixed_count += 1;
                }
                None => {
                    texts += match field {
                        Field::Text(bytes) => text(*bytes).next_multiple_of(4),
                        _ => 0,
                    };
                    texts_count += 1;
                }
            }
        }
        let bits = 4 * fixed_count.div_ceil(32);
        let rest = ROW_HEADER + fixed.next_multiple_of(4) + bits + texts;
        let offset = match rest {
            0..=127 => 1,
            128..=0x7fff => 2,
            _ => 4,
        };
        let offsets = match texts_count {
            0 => 0,
            count => (offset * (count + 1u32)).next_multiple_of(4),
        };
        rest + offsets
    }

    fn grows(&self) -> bool {
        false
    }

    fn index(&self, page: u32) -> IndexPages {
        IndexPages {
            room: page - RESERVED - PAGE_HEADER - NODE_HEADER - SLOT,
            reserve: (page - RESERVED) * INDEX_UNFILL_PERCENT / 100,
            growth: Growth::Split {
                last_fill: SPLIT_MAX,
                splits_behind_sequel: true,
                merge_below: MERGE_BELOW,
            },
        }
    }

    fn entry(&self, columns: &[Column], fields: &[Field], _is_unique: bool) -> u32 {
        (OID + key(columns, fields)).next_multiple_of(4) + SLOT
    }

    fn pointer(&self, columns: &[Column], fields: &[Field]) -> u32 {
        (CHILD + key(columns, fields)).next_multiple_of(4) + SLOT
    }

    /// A change logs the row as it was, which the vacuum has passed, and as it is. (No difference between both was found,
    /// with rows of 2,000 bytes either.)
    fn logged(&self, change: Change, _is_first: bool) -> u32 {
        let row_of = |bytes: u32| (ROW_TYPE + bytes).next_multiple_of(8);
        match change {
            Change::Insert { row } => RECORD + INSERT + row_of(row + INSERTED_BY) + VACUUM_INSERT,
            Change::Update { row, .. } => {
                RECORD + REPLACE + row_of(row) + row_of(row + INSERTED_BY + BEFORE) + VACUUM_UPDATE
            }
            Change::Delete { .. } => RECORD + REPLACE + VACUUM_DELETE,
            Change::Entry {
                bytes,
                is_of_key,
                is_new,
            } => {
                let key = bytes.saturating_sub(NO_KEY);
                let which = usize::from(!is_of_key);
                match is_new {
                    true => ENTRY_COMES[which] + 2 * key + VACUUM_ENTRY[0],
                    false => ENTRY_GOES[which] + key + VACUUM_ENTRY[1],
                }
            }
        }
    }

    fn log(&self, page: u32) -> LogFormat {
        // `log_page_size` is that of the database, `log_volume_size` 512 MiB, and
        // `checkpoint_every_size` 100,000 pages. Checkpoints of `checkpoint_interval`, each six minutes, are left out.
        LogFormat {
            block: page.into(),
            header: 16,
            rewrites: true,
            first_last: true,
            size: 512 << 20,
            checkpoint: 100_000 * u64::from(page),
            is_elsewhere: false,
            flushes_pages: true,
            commit: COMMIT,
        }
    }

    fn undo(&self, _page: u32) -> Option<UndoFormat> {
        None
    }

    fn undone(&self, _change: Change, _is_first: bool) -> u32 {
        0
    }

    fn buffer(&self, pages: u32, frames: Frames) -> Buffer {
        Box::new(Zones::new(pages, frames))
    }
}

/// What a value takes at its fixed place in a row; nothing of texts of no fixed length.
fn fixed_bytes(kind: ColumnKind) -> Option<u32> {
    match kind {
        ColumnKind::Integer32 => Some(4),
        ColumnKind::Integer | ColumnKind::Timestamp => Some(8),
        ColumnKind::Decimal { .. } => Some(NUMERIC),
        ColumnKind::Char(length) => Some(length),
        ColumnKind::Varchar(_) | ColumnKind::Any => None,
    }
}

/// A text with its length and an end.
fn text(bytes: u32) -> u32 {
    if bytes < 255 { bytes + 2 } else { bytes + 6 }
}

/// A key: of one column its value, of several with bits that tell which are there, and a byte for where each
/// begins and the last one ends (`or_multi_header_size`, object_representation.h).
fn key(columns: &[Column], fields: &[Field]) -> u32 {
    let header = match columns.len() as u32 {
        0 | 1 => 0,
        count => count.div_ceil(8) + count + 1,
    };
    let values = columns
        .iter()
        .zip(fields)
        .map(|(column, field)| match field {
            Field::Null => 0,
            Field::Text(bytes) if fixed_bytes(column.kind).is_none() => text(*bytes) - 1,
            _ => fixed_bytes(column.kind).unwrap_or(8),
        });
    header + values.sum::<u32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_entries_by_hand() {
        let columns = [
            Column::new("a", ColumnKind::Integer),
            Column::new("b", ColumnKind::Integer32),
            Column::nullable("c", ColumnKind::Varchar(30)),
        ];
        let fields = [Field::Integer(1), Field::Integer(2), Field::Text(10)];
        // 8 of a header, 12 at fixed places, 4 of bits, 12 of text, two offsets of one byte.
        assert_eq!(Cubrid.row(&columns, &fields), 8 + 12 + 4 + 12 + 4);
        let null = [Field::Integer(1), Field::Integer(2), Field::Null];
        assert_eq!(Cubrid.row(&columns, &null), 8 + 12 + 4 + 4);
        let entry = Cubrid.entry(&columns[..1], &fields[..1], true);
        assert_eq!(entry, 8 + 8 + 4);
        // A byte of bits, three of offsets, 8, and 11 of text, to a multiple of four.
        let two = [columns[0], columns[2]];
        let entry = Cubrid.entry(&two, &[fields[0], fields[2]], true);
        assert_eq!(entry, (8 + 1 + 3 + 8 + 11 + 1) + 4);
    }

    /// Bytes of the log by which single transactions moved its end on a server, without what the vacuum
    /// adds: rows of pgbench's accounts and history, and an entry of three numbers and one of a text of 100 bytes.
    #[test]
    fn changes_log_what_a_server_does() {
        let logged = |change| Cubrid.logged(change, false);
        let accounts = Change::Update {
            row: 108,
            changed: 4,
        };
        assert_eq!(logged(accounts) - VACUUM_UPDATE, 320);
        assert_eq!(logged(Change::Insert { row: 60 }) - VACUUM_INSERT, 144);
        assert_eq!(logged(Change::Delete { row: 108 }) - VACUUM_DELETE, 80);
        let entry = |bytes, is_of_key, is_new| {
            let change = Change::Entry {
                bytes,
                is_of_key,
                is_new,
            };
            i64::from(logged(change) - VACUUM_ENTRY[usize::from(!is_new)])
        };
        let numbers = [8 + 17 + 3 + 4, 8 + 101 + 3 + 4];
        for (bytes, is_of_key, is_new, counted) in [
            (numbers[0], true, true, 376),
            (numbers[0], true, false, 368),
            (numbers[1], true, true, 552),
            (numbers[1], true, false, 456),
            (numbers[1], false, true, 328),
            (numbers[1], false, false, 232),
        ] {
            let off = entry(bytes, is_of_key, is_new) - counted;
            assert!(off.abs() <= 12, "{counted}: {off}");
        }
    }

    #[test]
    fn pages_have_room_by_hand() {
        let room = Cubrid.heap(16_384);
        assert_eq!((room.bytes, room.reserve), (16_268, 1634));
        assert_eq!(Cubrid.index(16_384).room, 16_276);
    }
}
