//! How many bytes SQLite takes for rows, by its file format
//! (<https://www.sqlite.org/fileformat2.html>).

use crate::sample::Field;

/// Bytes of a variable-length integer (section 1.6, "varint").
pub(super) fn varint(value: u64) -> u32 {
    let bits = 64 - (value | 1).leading_zeros();
    bits.div_ceil(7).min(9)
}

/// Bytes of a whole number in a record (section 2.1, serial types 1 to 6, 8 and 9).
fn integer(value: i64) -> u32 {
    if value == 0 || value == 1 {
        return 0;
    }
    // With the sign.
    let bits = 65 - (if value < 0 { !value } else { value }).leading_zeros();
    match bits.div_ceil(8) {
        5 => 6,
        7 => 8,
        bytes => bytes,
    }
}

/// The bytes of a field in a record's header and in its body.
fn field(field: Field) -> (u32, u32) {
    match field {
        Field::Null => (1, 0),
        Field::Integer(value) | Field::Decimal(value) | Field::Timestamp(value) => {
            (1, integer(value))
        }
        Field::Text(bytes) => (varint(u64::from(bytes) * 2 + 13), bytes),
    }
}

/// Bytes of a record of these fields (section 2.1).
pub(super) fn record(fields: impl Iterator<Item = Field>) -> u32 {
    let (mut header, mut body) = (0, 0);
    for one in fields {
        let (own_header, own_body) = field(one);
        header += own_header;
        body += own_body;
    }
    // The header's length counts itself.
    let length = varint(u64::from(header) + 1);
    header + length + body
}

/// Where in a record of these fields each begins and ends.
pub(super) fn ends(
    fields: impl Iterator<Item = Field> + Clone,
) -> impl Iterator<Item = (u32, u32)> {
    let lengths = fields.clone().map(|one| field(one).1);
    let mut end = record(fields) - lengths.clone().sum::<u32>();
    lengths.map(move |length| {
        let begin = end;
        end += length;
        (begin, end)
    })
}

/// What a cell has in its leaf, and on pages of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// In the leaf, with the two bytes that point to it.
    pub(super) bytes: u32,
    /// Of these, the record's.
    pub(super) local: u32,
    /// Overflow pages.
    pub(super) overflow: u32,
}

/// Which kind of B-tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TreeKind {
    /// Rows by rowid.
    Table,
    /// Entries of an index, or rows of a table without rowid.
    Index,
}

/// The cell of a record in a leaf (sections 1.5 and 1.6). `rowid` is what the rowid
/// takes where there is one before the record.
pub(super) fn cell(kind: TreeKind, payload: u32, rowid: u32, usable: u32) -> Cell {
    let local_max = match kind {
        TreeKind::Table => usable - 35,
        TreeKind::Index => (usable - 12) * 64 / 255 - 23,
    };
    let local_min = (usable - 12) * 32 / 255 - 23;
    let head = 2 + varint(u64::from(payload)) + rowid;
    if payload <= local_max {
        return Cell {
            // A cell has four bytes at least.
            bytes: (head + payload).max(2 + 4),
            local: payload,
            overflow: 0,
        };
    }
    let surplus = local_min + (payload - local_min) % (usable - 4);
    let local = if surplus <= local_max {
        surplus
    } else {
        local_min
    };
    Cell {
        bytes: head + local + 4,
        local,
        overflow: (payload - local).div_ceil(usable - 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_what_the_format_says() {
        for (value, bytes) in [
            (0, 0),
            (1, 0),
            (2, 1),
            (-1, 1),
            (127, 1),
            (128, 2),
            (-128, 1),
            (-129, 2),
            (32_767, 2),
            (32_768, 3),
            (8_388_607, 3),
            (8_388_608, 4),
            (1 << 31, 6),
            (1 << 46, 6),
            (1 << 47, 8),
        ] {
            assert_eq!(integer(value), bytes, "{value}");
        }
        for (value, bytes) in [(0, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3)] {
            assert_eq!(varint(value), bytes, "{value}");
        }
        assert_eq!(varint(u64::MAX), 9);
    }

    #[test]
    fn a_record_has_a_header_and_a_body() {
        // The header's length, two types, and the type of a long text in two bytes.
        let fields = [Field::Integer(1000), Field::Null, Field::Text(100)];
        assert_eq!(record(fields.into_iter()), 1 + 1 + 1 + 2 + 2 + 100);
    }

    #[test]
    fn values_lie_behind_the_header_by_hand() {
        let fields = [Field::Integer(1000), Field::Null, Field::Text(100)];
        let found: Vec<(u32, u32)> = ends(fields.into_iter()).collect();
        assert_eq!(found, [(5, 7), (7, 7), (7, 107)]);
    }

    #[test]
    fn long_rows_overflow_by_hand() {
        // Pages of 512 bytes: 477 bytes of a row stay, of an index's entry 102.
        assert_eq!(cell(TreeKind::Table, 477, 1, 512).overflow, 0);
        let long = cell(TreeKind::Table, 1200, 1, 512);
        // local_min 39; 39 + 1161 % 508 = 184 stay, two pages of 508 take the rest.
        assert_eq!((long.bytes, long.overflow), (2 + 2 + 1 + 184 + 4, 2));
        let entry = cell(TreeKind::Index, 103, 0, 512);
        // 39 + 64 % 508 = 103 is more than 102: 39 stay.
        assert_eq!((entry.bytes, entry.overflow), (2 + 1 + 39 + 4, 1));
    }
}
