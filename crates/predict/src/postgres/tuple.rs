//! How many bytes PostgreSQL takes for rows and entries of indexes, by its source
//! (version 15; file names are those of `src/include` and `src/backend`).

use octavo_workload::schema::{Column, ColumnKind};

use crate::sample::Field;

/// `MAXALIGN`: rows and entries begin at multiples of 8 bytes.
pub(super) fn aligned(bytes: u32) -> u32 {
    bytes.next_multiple_of(8)
}

/// `SizeofHeapTupleHeader` (access/htup_details.h), and of an entry of an index
/// (access/itup.h).
const HEAP_HEADER: u32 = 23;
const INDEX_HEADER: u32 = 8;
/// The bits of `IndexAttributeBitMapData` (access/itup.h).
const INDEX_NULLS: u32 = 4;

/// `ItemIdData`: what points to a row from the page's beginning (storage/itemid.h).
pub(super) const LINE_POINTER: u32 = 4;

/// `SizeOfPageHeaderData` (storage/bufpage.h).
pub(super) const PAGE_HEADER: u32 = 24;

/// `TOAST_POINTER_SIZE` (access/detoast.h).
const TOAST_POINTER: u32 = 18;

/// What a value takes, and where it may begin: short texts and decimals anywhere
/// (`heap_compute_data_size` in access/common/heaptuple.c).
fn size(kind: ColumnKind, field: Field) -> Option<(u32, u32)> {
    Some(match (kind, field) {
        (_, Field::Null) => return None,
        (ColumnKind::Integer32, _) => (4, 4),
        (ColumnKind::Integer | ColumnKind::Timestamp, _) => (8, 8),
        (ColumnKind::Decimal { scale, .. }, Field::Decimal(value) | Field::Integer(value)) => {
            variable(numeric(value, scale))
        }
        // Of the type `char(n)` all n characters are there.
        (ColumnKind::Char(length), _) => variable(length),
        (_, Field::Text(bytes)) => variable(bytes),
        _ => (8, 8),
    })
}

/// With a header of one byte where that can tell the length (`VARATT_CAN_MAKE_SHORT` in
/// postgres.h), else of four.
fn variable(bytes: u32) -> (u32, u32) {
    if bytes < 127 {
        (bytes + 1, 1)
    } else {
        (bytes + 4, 4)
    }
}

/// A number's own header of two bytes, and two for each four decimal digits without
/// zeros on either side (utils/adt/numeric.c).
fn numeric(value: i64, scale: u8) -> u32 {
    let one = 10u64.pow(u32::from(scale));
    let (whole, fraction) = (value.unsigned_abs() / one, value.unsigned_abs() % one);
    let groups = |mut number: u64| {
        let mut groups = Vec::new();
        while number > 0 {
            groups.push(number % 10_000);
            number /= 10_000;
        }
        groups
    };
    // Digits behind the point are filled up to whole groups.
    let places = u32::from(scale).next_multiple_of(4) - u32::from(scale);
    let behind = fraction * 10u64.pow(places);
    let behind_groups = u32::from(scale).div_ceil(4) as usize;
    let mut all = groups(behind);
    all.resize(behind_groups, 0);
    all.extend(groups(whole));
    let last = all.iter().rposition(|group| *group != 0);
    let first = all.iter().position(|group| *group != 0);
    2 + match (first, last) {
        (Some(first), Some(last)) => 2 * (last - first + 1) as u32,
        _ => 0,
    }
}

/// Bytes of values one after the other, each where it may begin.
fn data(sizes: impl Iterator<Item = (u32, u32)>) -> u32 {
    sizes.fold(0, |end, (bytes, alignment)| {
        end.next_multiple_of(alignment) + bytes
    })
}

/// A row of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HeapTuple {
    /// Its bytes, aligned, without its line pointer.
    pub(super) bytes: u32,
    /// Columns whose values are elsewhere, each with its bytes.
    pub(super) toasted: Vec<(usize, u32)>,
    /// Where each column's value ends, from the row's beginning.
    pub(super) ends: Vec<u32>,
}

/// The row in a page of so many bytes.
///
/// Rows longer than a quarter of a page have their longest texts put elsewhere, until
/// they are not (`heap_toast_insert_or_update` in access/heap/heaptoast.c). That long
/// texts may be compressed first is left out: those of workloads are random.
pub(super) fn heap_tuple(columns: &[Column], fields: &[Field], page: u32) -> HeapTuple {
    let mut sizes: Vec<Option<(u32, u32)>> = columns
        .iter()
        .zip(fields)
        .map(|(column, field)| size(column.kind, *field))
        .collect();
    let nulls = match sizes.contains(&None) {
        true => (sizes.len() as u32).div_ceil(8),
        false => 0,
    };
    let header = aligned(HEAP_HEADER + nulls);
    let room = toast_target(page).saturating_sub(header);
    let mut toasted = Vec::new();
    while data(sizes.iter().flatten().copied()) > room {
        // The first of the longest; numbers stay. A value that arrives has a header of
        // four bytes.
        let longest = (0..sizes.len())
            .filter(|&at| !toasted.iter().any(|(known, _)| *known == at))
            .filter(|&at| matches!(fields[at], Field::Text(_)))
            .filter_map(|at| sizes[at].map(|(bytes, align)| (at, bytes + 4 - align.min(4))))
            .rev()
            .max_by_key(|(_, bytes)| *bytes)
            .filter(|(_, bytes)| *bytes > aligned(TOAST_POINTER));
        let Some((at, _)) = longest else { break };
        let bytes = match fields[at] {
            Field::Text(bytes) => bytes,
            _ => 0,
        };
        toasted.push((at, bytes));
        sizes[at] = Some((TOAST_POINTER, 1));
    }
    let mut end = header;
    let mut ends = Vec::with_capacity(sizes.len());
    for size in &sizes {
        if let Some((bytes, alignment)) = size {
            end = end.next_multiple_of(*alignment) + bytes;
        }
        ends.push(end);
    }
    HeapTuple {
        bytes: aligned(end),
        toasted,
        ends,
    }
}

/// `MaximumBytesPerTuple(4)` (access/heaptoast.h): the longest row that stays whole.
fn toast_target(page: u32) -> u32 {
    let pointers = aligned(PAGE_HEADER + 4 * LINE_POINTER);
    (page - pointers) / 4 / 8 * 8
}

/// `TOAST_MAX_CHUNK_SIZE` (access/heaptoast.h): bytes of a value in each row of the
/// table that has them.
pub(super) fn toast_chunk(page: u32) -> u32 {
    // The row's header, the value's number, the chunk's, and the header of its bytes.
    toast_target(page) - aligned(HEAP_HEADER) - 4 - 4 - 4
}

/// A row of so many bytes of a value.
pub(super) fn toast_tuple(chunk: u32) -> u32 {
    aligned(aligned(HEAP_HEADER) + 4 + 4 + 4 + chunk)
}

/// An entry of an index, without its line pointer (`index_form_tuple` in
/// access/common/indextuple.c).
pub(super) fn index_tuple(columns: &[Column], fields: &[Field]) -> u32 {
    let sizes = || {
        columns
            .iter()
            .zip(fields)
            .map(|(column, field)| size(column.kind, *field))
    };
    let nulls = if sizes().any(|size| size.is_none()) {
        INDEX_NULLS
    } else {
        0
    };
    aligned(aligned(INDEX_HEADER + nulls) + data(sizes().flatten()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(kinds: &[ColumnKind]) -> Vec<Column> {
        kinds.iter().map(|kind| Column::new("c", *kind)).collect()
    }

    #[test]
    fn numbers_have_groups_of_four_digits_by_hand() {
        for (value, scale, bytes) in [
            (0, 2, 2),
            // 1.00: one group. 0.01 is the group 0100.
            (100, 2, 4),
            (1, 2, 4),
            // 1.01: 1 and 0100. 10000.00: the group 1 alone.
            (101, 2, 6),
            (1_000_000, 2, 4),
            // -10000.01: 1, 0000 and 0100.
            (-1_000_001, 2, 8),
            (1234, 4, 4),
        ] {
            assert_eq!(numeric(value, scale), bytes, "{value} {scale}");
        }
    }

    #[test]
    fn values_begin_where_their_type_may_by_hand() {
        let columns = columns(&[
            ColumnKind::Integer32,
            ColumnKind::Char(3),
            ColumnKind::Integer,
            ColumnKind::Varchar(300),
        ]);
        let fields = [
            Field::Integer(1),
            Field::Text(1),
            Field::Integer(1),
            Field::Text(200),
        ];
        let tuple = heap_tuple(&columns, &fields, 8192);
        // A header of 24; 4; 1 and 3; 8 at 32; 4 and 200 at 40.
        assert_eq!(tuple.ends, [28, 32, 40, 244]);
        assert_eq!(tuple.bytes, 248);
        let with_null = [Field::Null, fields[1], fields[2], Field::Text(10)];
        assert_eq!(
            heap_tuple(&columns, &with_null, 8192).ends,
            [24, 28, 40, 51]
        );
        // An entry of two columns: 8, 4, 4.
        assert_eq!(index_tuple(&columns[..2], &fields[..2]), 16);
    }

    #[test]
    fn long_texts_are_elsewhere_by_hand() {
        // (8192 - 40) / 4 = 2038 and (4096 - 40) / 4 = 1014, in multiples of 8.
        assert_eq!((toast_target(8192), toast_target(4096)), (2032, 1008));
        // TOAST_MAX_CHUNK_SIZE is 1996 with pages of 8 KiB.
        assert_eq!(toast_chunk(8192), 1996);
        let columns = columns(&[ColumnKind::Varchar(100); 11]);
        let fields = [Field::Text(100); 11];
        assert!(heap_tuple(&columns, &fields, 8192).toasted.is_empty());
        let tuple = heap_tuple(&columns, &fields, 4096);
        // 24 + 11 * 101 = 1135; two pointers of 18 instead leave 969.
        assert_eq!(tuple.toasted, [(0, 100), (1, 100)]);
        assert_eq!(tuple.bytes, 976);
    }
}
