//! YCSB's one table, as its JDBC binding wants it; the key is `ycsb_key` there
//! too.

use octavo_units::ByteCount;

use crate::schema::{ColumnKind, Table, tables};

/// Fields of a record.
pub(super) const FIELDS: usize = 10;

/// The key's column, as wide as the JDBC binding makes it.
pub(super) const KEY: ColumnKind = ColumnKind::Varchar(255);

/// The mean length of a key: `user` and the decimal digits of a number below
/// 2^63, of which nine of ten have 19.
const KEY_BYTES_MEAN: usize = 23;

/// The bytes of each field of a row.
pub(super) fn field_length(row: ByteCount) -> usize {
    row.get() as usize / FIELDS
}

/// The table with fields of `field_length` characters, at most 6,000.
pub(super) fn table(field_length: usize) -> Table {
    let length = u32::try_from(field_length).expect("fields are at most 6,000 bytes long");
    let field = ColumnKind::Varchar(length);
    let [table] = tables! {
        usertable((KEY_BYTES_MEAN + FIELDS * field_length) as u32) key [ycsb_key] {
            ycsb_key: KEY,
            field0: field, field1: field, field2: field, field3: field, field4: field,
            field5: field, field6: field, field7: field, field8: field, field9: field,
        }
    };
    table
}
