//! pgbench's four tables (`initCreateTables`) and their keys
//! (`initCreatePKeys`). As there, only the keys are NOT NULL, and the history
//! has none.

use crate::schema::{
    ColumnKind::{self, Char},
    Table, tables,
};

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
pub(super) const FILLER: u32 = 84;

/// From this scale on `aid` has 64 bits (`SCALE_32BIT_THRESHOLD`).
const WIDE_SCALE: u32 = 20_000;

const INT: ColumnKind = ColumnKind::Integer32;

const fn account_kind(scale: u32) -> ColumnKind {
    match scale {
        WIDE_SCALE.. => ColumnKind::Integer,
        _ => INT,
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
pub(super) fn tables(scale: u32, filler: u32) -> [Table; 4] {
    let aid = account_kind(scale);
    tables! {
        pgbench_branches(2 * 8) key [bid] {
            bid: INT,
            bbalance nullable: INT,
            filler nullable: Char(88),
        }
        pgbench_tellers(3 * 8) key [tid] {
            tid: INT,
            bid nullable: INT,
            tbalance nullable: INT,
            filler nullable: Char(84),
        }
        pgbench_accounts(3 * 8 + filler) key [aid] {
            aid: aid,
            bid nullable: INT,
            abalance nullable: INT,
            filler nullable: Char(filler),
        }
        pgbench_history(5 * 8) {
            tid nullable: INT,
            bid nullable: INT,
            aid nullable: aid,
            delta nullable: INT,
            mtime nullable: ColumnKind::Timestamp,
            filler nullable: Char(22),
        }
    }
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
