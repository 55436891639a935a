//! Every SQL statement of the operations and the checks, in the subset that
//! SQLite, PostgreSQL, MySQL and MariaDB share.

use super::schema::{FIELDS, KEY};
use crate::{
    connection::{StatementId, statements},
    schema::ColumnKind,
};

const I: ColumnKind = ColumnKind::Integer;
/// PostgreSQL's type of a length.
const L: ColumnKind = ColumnKind::Integer32;
/// The columns are as wide as the rows were chosen, this is the widest.
const FIELD: ColumnKind = ColumnKind::Varchar(6000);

/// [`statements`], and a group that writes one field of one record: the first to the tenth,
/// in this order.
macro_rules! statements_with_updates {
    ([$($name:ident $field:ident),*] $($groups:tt)*) => {
        statements! {
            $($groups)*
            /// Updates of one field.
            Updates {$(
                $name: [FIELD, KEY] = (concat!(
                    "UPDATE usertable SET ",
                    stringify!($field),
                    " = ?1 WHERE ycsb_key = ?2"
                ))
                    updates usertable of [ycsb_key] sets [$field];
            )*}
        }
        const UPDATE_BY_FIELD: [StatementId; FIELDS] = [$($name),*];
    };
}

statements_with_updates! {
    [
        UPDATE_0 field0, UPDATE_1 field1, UPDATE_2 field2, UPDATE_3 field3, UPDATE_4 field4,
        UPDATE_5 field5, UPDATE_6 field6, UPDATE_7 field7, UPDATE_8 field8, UPDATE_9 field9
    ]
    /// The operations.
    Operations {
        /// All fields of one record.
        READ: [KEY] -> [FIELD; FIELDS] =
            "SELECT field0, field1, field2, field3, field4, field5, field6, field7, field8, \
             field9 FROM usertable WHERE ycsb_key = ?1"
            reads usertable of [field0, field1, field2, field3, field4, field5, field6, field7,
                field8, field9, ycsb_key];
        /// A new record.
        INSERT: [KEY, FIELD, FIELD, FIELD, FIELD, FIELD, FIELD, FIELD, FIELD, FIELD, FIELD] =
            "INSERT INTO usertable (ycsb_key, field0, field1, field2, field3, field4, field5, \
             field6, field7, field8, field9) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
            inserts usertable sets [ycsb_key, field0, field1, field2, field3, field4, field5, field6,
                field7, field8, field9];
        /// Keys and fields of some records in key order.
        SCAN: [KEY, I] -> [KEY, FIELD, FIELD, FIELD, FIELD, FIELD, FIELD, FIELD, FIELD, FIELD, FIELD] =
            "SELECT ycsb_key, field0, field1, field2, field3, field4, field5, field6, field7, \
             field8, field9 FROM usertable WHERE ycsb_key >= ?1 ORDER BY ycsb_key LIMIT ?2"
            reads usertable of [ycsb_key, field0, field1, field2, field3, field4, field5, field6,
                field7, field8, field9];
    }
    /// The conditions, and whether a doubtful insert was done.
    Checks {
        /// Whether a key is there.
        FIND: [KEY] -> [KEY] = "SELECT ycsb_key FROM usertable WHERE ycsb_key = ?1"
            reads usertable of [ycsb_key];
        /// How many records there are.
        COUNT: [] -> [I] = "SELECT COUNT(*) FROM usertable"
            reads usertable;
        /// Counts of the records in a range of keys: all, those with different keys,
        /// those whose key has the right form. The shortest and longest value of each
        /// field.
        SUMMARY: [KEY, KEY] -> [I, I, I, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L] =
            "SELECT COUNT(*), COUNT(DISTINCT ycsb_key), \
             COUNT(CASE WHEN ycsb_key LIKE 'user%' AND length(ycsb_key) > 4 \
             AND length(ycsb_key) < 24 THEN 1 END), \
             MIN(length(field0)), MAX(length(field0)), MIN(length(field1)), MAX(length(field1)), \
             MIN(length(field2)), MAX(length(field2)), MIN(length(field3)), MAX(length(field3)), \
             MIN(length(field4)), MAX(length(field4)), MIN(length(field5)), MAX(length(field5)), \
             MIN(length(field6)), MAX(length(field6)), MIN(length(field7)), MAX(length(field7)), \
             MIN(length(field8)), MAX(length(field8)), MIN(length(field9)), MAX(length(field9)) \
             FROM usertable WHERE ycsb_key >= ?1 AND ycsb_key < ?2"
            reads usertable of [ycsb_key, field0, field1, field2, field3, field4, field5, field6,
                field7, field8, field9];
    }
}

/// Writes one field of one record.
pub(super) fn update_of(field: usize) -> StatementId {
    UPDATE_BY_FIELD[field]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_has_its_update() {
        for field in 0..FIELDS {
            let sql = STATEMENTS[update_of(field).0].sql;
            assert!(sql.contains(&format!("SET field{field} = ?1")), "{sql}");
        }
    }
}
