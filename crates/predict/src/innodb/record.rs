//! How many bytes InnoDB takes for rows in the COMPACT and DYNAMIC formats
//! (`rem0rec.cc`: `rec_get_converted_size_comp`; `rem0rec.h`, "PHYSICAL RECORD").
//!
//! A record is its columns' NULL bits and lengths, backwards, five bytes, and values.

use octavo_workload::{
    schema::{Column, ColumnKind},
    touch::Columns,
};

use crate::sample::Field;

/// `REC_N_NEW_EXTRA_BYTES`: info bits, owned records, heap number, kind, next record.
const EXTRA: u32 = 5;

/// `DATA_TRX_ID_LEN`, `DATA_ROLL_PTR_LEN`, `DATA_ROW_ID_LEN` (`data0type.h`).
const TRANSACTION_ID: u32 = 6;
const ROLL_POINTER: u32 = 7;
const ROW_ID: u32 = 6;

/// What of a page is no room for records (`page_get_free_space_of_empty`): file header,
/// page header and segments (94 bytes), both fixed records (26), the trailer (8), and two
/// slots of the directory (4).
pub(super) const PAGE_OVERHEAD: u32 = 94 + 26 + 8 + 4;

/// A record's share of the directory, whose slots of two bytes have four to eight
/// records; four where they came in order (`page_dir_calc_reserved_space`).
pub(super) const DIRECTORY_SHARE: f64 = 0.5;

/// A page's number in an inner page.
const CHILD: u32 = 4;

/// `BTR_EXTERN_FIELD_REF_SIZE`, and from which length on a value may be put on pages of its
/// own (`BTR_EXTERN_LOCAL_STORED_MAX_SIZE`, `dtuple_convert_big_rec`).
pub(super) const EXTERN_POINTER: u32 = 20;
const EXTERN_MIN: u32 = 2 * EXTERN_POINTER;
/// Longer columns may be put there (`DATA_BIG_COL`).
const BIG_COLUMN: u32 = 255;
/// What of such a page is no value: file header, `BTR_BLOB_HDR_SIZE`, trailer.
const EXTERN_OVERHEAD: u32 = 38 + 8 + 8;
/// `REC_MAX_DATA_SIZE`: no record is as long, whatever the page.
const RECORD_MAX: u32 = 16_384;

/// Bytes of a value that is not NULL.
pub(super) fn width(kind: ColumnKind, field: Field) -> u32 {
    match (kind, field) {
        (ColumnKind::Integer, _) => 8,
        (ColumnKind::Integer32, _) => 4,
        (ColumnKind::Decimal { precision, scale }, _) => {
            decimal(precision.saturating_sub(scale)) + decimal(scale)
        }
        // DATETIME(6): five bytes, and three of microseconds (`my_time.cc`).
        (ColumnKind::Timestamp, _) => 8,
        (ColumnKind::Char(length @ 0..=255), _) => length,
        (ColumnKind::Char(_) | ColumnKind::Varchar(_), Field::Text(bytes)) => bytes,
        (ColumnKind::Char(_) | ColumnKind::Varchar(_) | ColumnKind::Any, _) => 0,
    }
}

/// Digits on one side of the point: nine in four bytes (`decimal.c`, `dig2bytes`).
fn decimal(digits: u8) -> u32 {
    let rest = match digits % 9 {
        0 => 0,
        1 | 2 => 1,
        3 | 4 => 2,
        5 | 6 => 3,
        _ => 4,
    };
    u32::from(digits / 9) * 4 + rest
}

/// Whether a value has a length before the record; columns of more than 255 characters
/// take two bytes for values of more than 127 (`rec_get_converted_size_comp_prefix_low`).
fn length_bytes(kind: ColumnKind, bytes: u32) -> u32 {
    match kind {
        ColumnKind::Varchar(maximum) => 1 + u32::from(maximum > BIG_COLUMN && bytes > 127),
        ColumnKind::Char(256..) => 1 + u32::from(bytes > 127),
        _ => 0,
    }
}

/// What a record has in its page, and on pages of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// In its page, without the directory.
    pub(super) bytes: u32,
    /// Pages of its own.
    pub(super) overflow: u32,
    /// Columns whose values are there.
    pub(super) external: Columns,
}

/// The bytes of columns: lengths and values.
fn values<'a>(columns: impl Iterator<Item = (&'a Column, Field)>) -> u32 {
    columns
        .filter(|(_, field)| *field != Field::Null)
        .map(|(column, field)| {
            let bytes = width(column.kind, field);
            bytes + length_bytes(column.kind, bytes)
        })
        .sum()
}

/// Bytes of bits for columns that may be NULL.
fn null_bytes<'a>(columns: impl Iterator<Item = &'a Column>) -> u32 {
    (columns.filter(|column| column.nullable).count() as u32).div_ceil(8)
}

/// The record of a row, in the tree of its key.
pub(super) fn row(columns: &[Column], fields: &[Field], has_key: bool, page: u32) -> Record {
    let system = TRANSACTION_ID + ROLL_POINTER + if has_key { 0 } else { ROW_ID };
    let pairs = || columns.iter().zip(fields.iter().copied());
    let mut record = Record {
        bytes: EXTRA + null_bytes(columns.iter()) + system + values(pairs()),
        ..Record::default()
    };
    // Too long: the longest values go first (`page_zip_rec_needs_ext`,
    // `dtuple_convert_big_rec`).
    let limit = ((page - PAGE_OVERHEAD) / 2).min(RECORD_MAX);
    if record.bytes < limit {
        return record;
    }
    let mut long: Vec<(u32, u32, usize)> = pairs()
        .enumerate()
        .filter_map(|(position, (column, field))| match (column.kind, field) {
            (ColumnKind::Varchar(maximum) | ColumnKind::Char(maximum), Field::Text(bytes))
                if maximum > BIG_COLUMN && bytes > EXTERN_MIN =>
            {
                Some((bytes, length_bytes(column.kind, bytes), position))
            }
            _ => None,
        })
        .collect();
    long.sort_by_key(|(bytes, ..)| std::cmp::Reverse(*bytes));
    let mut external = Vec::new();
    for (bytes, length, position) in long {
        if record.bytes < limit {
            break;
        }
        record.bytes -= bytes + length;
        record.bytes += EXTERN_POINTER + 2;
        record.overflow += bytes.div_ceil(page - EXTERN_OVERHEAD);
        external.push(position);
    }
    record.external = Columns::at(external);
    record
}

/// The record of an index's entry with these columns, which close with the key's.
pub(super) fn entry(columns: &[(&Column, Field)], has_key: bool) -> u32 {
    let row_id = if has_key { 0 } else { ROW_ID };
    EXTRA
        + null_bytes(columns.iter().map(|(column, _)| *column))
        + values(columns.iter().copied())
        + row_id
}

/// The record of an inner page with these columns: `nullable` are all of the tree, since
/// their bits are there even if they are not.
pub(super) fn pointer(columns: &[(&Column, Field)], nullable: &[Column], has_key: bool) -> u32 {
    let row_id = if has_key { 0 } else { ROW_ID };
    EXTRA + null_bytes(nullable.iter()) + values(columns.iter().copied()) + row_id + CHILD
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn column(kind: ColumnKind, nullable: bool) -> Column {
        Column {
            name: "c",
            kind,
            nullable,
        }
    }

    #[test]
    fn numbers_take_what_their_types_say() {
        let money = |precision, scale| {
            width(
                ColumnKind::Decimal { precision, scale },
                Field::Decimal(-12),
            )
        };
        // Ten digits and two; none and four; three and two; four and two.
        assert_eq!(
            [money(12, 2), money(4, 4), money(5, 2), money(6, 2)],
            [5 + 1, 2, 2 + 1, 2 + 1]
        );
        assert_eq!(width(ColumnKind::Integer32, Field::Integer(1 << 40)), 4);
        assert_eq!(width(ColumnKind::Timestamp, Field::Timestamp(1)), 8);
    }

    #[test]
    fn an_account_of_pgbench_by_hand() {
        let int = ColumnKind::Integer32;
        let columns = [
            column(int, false),
            column(int, true),
            column(int, true),
            column(ColumnKind::Char(84), true),
        ];
        let number = Field::Integer(7);
        // 5, a byte of bits, 6 and 7, three numbers, and 84 characters whatever was given:
        // 115 as `PAGE_HEAP_TOP` of loaded pages says.
        let fields = [number, number, number, Field::Text(0)];
        assert_eq!(
            row(&columns, &fields, true, 16_384),
            Record {
                bytes: 5 + 1 + 13 + 12 + 84,
                ..Record::default()
            }
        );
        let null = [number, number, Field::Null, Field::Null];
        assert_eq!(row(&columns, &null, false, 16_384).bytes, 5 + 1 + 19 + 8);
        // 14 in files.
        let key = [(&columns[0], number)];
        assert_eq!(pointer(&key, &columns, true), 5 + 1 + 4 + 4);
        assert_eq!(entry(&[(&columns[1], number), key[0]], true), 5 + 1 + 8);
    }

    #[test]
    fn long_values_go_to_pages_of_their_own_by_hand() {
        let columns = [
            column(ColumnKind::Integer32, false),
            column(ColumnKind::Varchar(6000), false),
            column(ColumnKind::Varchar(6000), false),
        ];
        let fields = [Field::Integer(1), Field::Text(1000), Field::Text(5000)];
        // 5 + 13 + 4 + 1002 + 5002 are more than (16,384 - 132) / 2 not, but than
        // (4096 - 132) / 2: the second value takes two pages of 4042.
        assert_eq!(row(&columns, &fields, true, 16_384).bytes, 6026);
        assert_eq!(
            row(&columns, &fields, true, 4096),
            Record {
                bytes: 5 + 13 + 4 + 1002 + 22,
                overflow: 2,
                external: Columns::at([2]),
            }
        );
    }
}
