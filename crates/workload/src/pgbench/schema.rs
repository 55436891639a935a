//! pgbench's four tables (`initCreateTables`) and their keys
//! (`initCreatePKeys`). As there, only the keys are NOT NULL, and the history
//! has none.

use std::borrow::Cow;

use crate::schema::{Column, ColumnKind, Table};

/// Positions of the tables, in the order in which pgbench fills them.
pub(super) const BRANCHES: usize = 0;
pub(super) const TELLERS: usize = 1;
pub(super) const ACCOUNTS: usize = 2;
#[cfg(test)]
pub(super) const HISTORY: usize = 3;

/// Rows of `pgbench_accounts` a unit of scale (`naccounts`).
pub(super) const ACCOUNTS_PER_UNIT: i64 = 100_000;
/// Rows of `pgbench_tellers` a unit of scale (`ntellers`). Of branches there
/// is one.
pub(super) const TELLERS_PER_UNIT: i64 = 10;

/// Characters of an account's filler.
pub(super) const FILLER: u16 = 84;

/// From this scale on `aid` has 64 bits (`SCALE_32BIT_THRESHOLD`).
const WIDE_SCALE: u32 = 20_000;

const INTEGER_32: ColumnKind = ColumnKind::Integer32;

const fn account_kind(scale: u32) -> ColumnKind {
    match scale {
        WIDE_SCALE.. => ColumnKind::Integer,
        _ => INTEGER_32,
    }
}

/// The bytes of an account's columns before the filler: `aid`, `bid` and
/// `abalance`.
pub(super) const fn integer_bytes(scale: u64) -> u64 {
    let aid = if scale >= WIDE_SCALE as u64 { 8 } else { 4 };
    aid + 4 + 4
}

/// The tables at a scale, with `filler` characters in an account.
///
/// Mean bytes of a row count numbers and times as 8 bytes and NULL as none, as
/// [`crate::connection::Value::byte_length`] does; a test compares them with
/// rows.
pub(super) fn tables(scale: u32, filler: u16) -> [Table; 4] {
    let aid = account_kind(scale);
    [
        Table {
            name: "pgbench_branches",
            columns: Cow::Owned(vec![
                Column::new("bid", INTEGER_32),
                Column::nullable("bbalance", INTEGER_32),
                Column::nullable("filler", ColumnKind::Char(88)),
            ]),
            primary_key: &["bid"],
            indexes: &[],
            row_bytes_mean: 2 * 8,
        },
        Table {
            name: "pgbench_tellers",
            columns: Cow::Owned(vec![
                Column::new("tid", INTEGER_32),
                Column::nullable("bid", INTEGER_32),
                Column::nullable("tbalance", INTEGER_32),
                Column::nullable("filler", ColumnKind::Char(84)),
            ]),
            primary_key: &["tid"],
            indexes: &[],
            row_bytes_mean: 3 * 8,
        },
        Table {
            name: "pgbench_accounts",
            columns: Cow::Owned(vec![
                Column::new("aid", aid),
                Column::nullable("bid", INTEGER_32),
                Column::nullable("abalance", INTEGER_32),
                Column::nullable("filler", ColumnKind::Char(filler)),
            ]),
            primary_key: &["aid"],
            indexes: &[],
            row_bytes_mean: 3 * 8 + u32::from(filler),
        },
        Table {
            name: "pgbench_history",
            columns: Cow::Owned(vec![
                Column::nullable("tid", INTEGER_32),
                Column::nullable("bid", INTEGER_32),
                Column::nullable("aid", aid),
                Column::nullable("delta", INTEGER_32),
                Column::nullable("mtime", ColumnKind::Timestamp),
                Column::nullable("filler", ColumnKind::Char(22)),
            ]),
            primary_key: &[],
            indexes: &[],
            row_bytes_mean: 5 * 8,
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_stand_where_their_positions_say() {
        let tables = tables(1, FILLER);
        for (position, name) in [
            (BRANCHES, "pgbench_branches"),
            (TELLERS, "pgbench_tellers"),
            (ACCOUNTS, "pgbench_accounts"),
            (HISTORY, "pgbench_history"),
        ] {
            assert_eq!(tables[position].name, name);
        }
    }

    /// As in PostgreSQL's `CREATE TABLE`.
    fn declared(table: &Table) -> String {
        let columns: Vec<String> = table
            .columns
            .iter()
            .map(|column| {
                let kind = match column.kind {
                    ColumnKind::Integer => "bigint".into(),
                    ColumnKind::Integer32 => "int".into(),
                    ColumnKind::Timestamp => "timestamp".into(),
                    ColumnKind::Char(length) => format!("char({length})"),
                    other => panic!("{other:?}"),
                };
                let null = if column.nullable { "" } else { " not null" };
                format!("{} {kind}{null}", column.name)
            })
            .collect();
        columns.join(",")
    }

    #[test]
    fn columns_are_those_of_pgbench_below_and_from_the_threshold() {
        for (scale, int) in [(19_999, "int"), (20_000, "bigint")] {
            let tables = tables(scale, FILLER);
            for (table, wanted) in [
                (
                    BRANCHES,
                    "bid int not null,bbalance int,filler char(88)".into(),
                ),
                (
                    TELLERS,
                    "tid int not null,bid int,tbalance int,filler char(84)".into(),
                ),
                (
                    ACCOUNTS,
                    format!("aid {int} not null,bid int,abalance int,filler char(84)"),
                ),
                (
                    HISTORY,
                    format!("tid int,bid int,aid {int},delta int,mtime timestamp,filler char(22)"),
                ),
            ] {
                assert_eq!(declared(&tables[table]), wanted);
            }
        }
    }
}
