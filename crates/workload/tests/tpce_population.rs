//! The initial rows fit their tables, refer to each other, and are as many as clause 2.6
//! has them, whoever makes them and in whatever order.

mod sqlite;

use octavo_units::Seed;
use octavo_workload::{
    Tpce, Workload,
    connection::Value,
    population::{Partition, RowBatch},
    schema::{ColumnKind, Table},
};
use sqlite::Sqlite;

fn tpce(customers: u64) -> Tpce {
    Tpce::new(customers, 1, 5000, Seed::new(7)).unwrap()
}

fn fits(value: Value<'_>, kind: ColumnKind, nullable: bool) -> bool {
    match (value, kind) {
        (Value::Null, _) => nullable,
        (Value::Integer(number), ColumnKind::Integer32) => i32::try_from(number).is_ok(),
        (Value::Integer(_), ColumnKind::Integer) | (Value::Timestamp(_), ColumnKind::Timestamp) => {
            true
        }
        (
            Value::Decimal { unscaled, scale },
            ColumnKind::Decimal {
                precision,
                scale: wanted,
            },
        ) => scale == wanted && unscaled.unsigned_abs() < 10u64.pow(precision.into()),
        (Value::Text(text), ColumnKind::Char(length)) => text.len() == length as usize,
        (Value::Text(text), ColumnKind::Varchar(length)) => text.len() <= length as usize,
        _ => false,
    }
}

/// The values of a row's key, to be compared.
fn key(table: &Table, batch: &RowBatch, row: usize) -> Vec<String> {
    let columns = table.primary_key.iter().map(|name| {
        let mut columns = table.columns.iter();
        let column = columns.position(|column| column.name == *name).unwrap();
        match batch.value(row, column) {
            Value::Integer(number) | Value::Timestamp(number) => format!("{number:020}"),
            Value::Text(text) => text.to_owned(),
            value => panic!("{value:?} in a key"),
        }
    });
    columns.collect()
}

#[test]
fn rows_fit_their_columns_and_come_in_the_order_of_their_keys() {
    let workload = tpce(2000);
    let population = workload.population();
    let mut partitions = population.partitions();
    assert!(partitions.is_sorted_by_key(|partition| partition.table));
    let mut last: Option<(Partition, Vec<String>)> = None;
    for partition in partitions.drain(..) {
        let table = &workload.tables()[partition.table.0];
        let (mut rows, mut bytes) = (0, 0);
        let mut batch = RowBatch::new();
        population.generate(&partition, &mut batch, &mut |batch| {
            assert!((1..=RowBatch::ROWS).contains(&batch.len()));
            rows += batch.len() as u64;
            for row in 0..batch.len() {
                for (position, column) in table.columns.iter().enumerate() {
                    let value = batch.value(row, position);
                    let fits = fits(value, column.kind, column.nullable);
                    assert!(fits, "{}: {value:?}", column.name);
                    bytes += value.byte_length();
                }
                let key = key(table, batch, row);
                if let Some((before, last)) = &last
                    && before.table == partition.table
                {
                    assert!(*last < key, "{}: {last:?} {key:?}", table.name);
                }
                last = Some((partition.clone(), key));
            }
            true
        });
        let (about, mean) = (partition.rows_about as f64, bytes as f64 / rows as f64);
        let is_off = (rows as f64 / about - 1.0).abs() > 0.1;
        assert!(
            !is_off,
            "{} {}: {rows} of {about}",
            table.name, partition.part
        );
        let stated = f64::from(table.row_bytes_mean);
        // Few rows, or two of a kind, differ more.
        let tolerance = if rows < 1000 { 0.12 } else { 0.04 };
        assert!(
            (mean / stated - 1.0).abs() < tolerance,
            "{}: {mean} {stated}",
            table.name
        );
    }
}

#[test]
fn rows_refer_to_each_other_and_meet_their_checks() {
    let workload = tpce(1000);
    let database = Sqlite::loaded(&workload);
    let number = |sql: &str| -> i64 { database.raw.query_row(sql, [], |row| row.get(0)).unwrap() };
    let (mut references, mut checks) = (0, 0);
    for table in workload.tables() {
        for reference in table.references {
            let mut tables = workload.tables().iter();
            let other = tables.find(|other| other.name == reference.table).unwrap();
            let pairs: Vec<String> = (reference.columns.iter().zip(other.primary_key))
                .map(|(own, key)| format!("own.{own} = other.{key}"))
                .collect();
            let sql = format!(
                "SELECT COUNT(*) FROM {} own LEFT JOIN {} other ON {} WHERE other.{} IS NULL",
                table.name,
                other.name,
                pairs.join(" AND "),
                other.primary_key[0]
            );
            assert_eq!(number(&sql), 0, "{sql}");
            references += 1;
        }
        for check in table.checks {
            let sql = format!("SELECT COUNT(*) FROM {} WHERE NOT ({check})", table.name);
            assert_eq!(number(&sql), 0, "{sql}");
            checks += 1;
        }
    }
    assert_eq!((references, checks), (49, 23));
    for (table, wanted) in [
        ("customer", 1000),
        ("customer_account", 5000),
        ("customer_taxrate", 2000),
        ("address", 1504),
        ("broker", 10),
        ("company", 500),
        ("company_competitor", 1500),
        ("security", 685),
        ("last_trade", 685),
        ("daily_market", 893_925),
        ("financial", 10_000),
        ("news_item", 1000),
        ("news_xref", 1000),
        ("watch_list", 1000),
        ("trade", 5700),
        ("settlement", 5700),
        ("trade_request", 0),
        ("taxrate", 320),
        ("zip_code", 14_741),
        ("industry", 102),
        ("commission_rate", 240),
    ] {
        assert_eq!(
            number(&format!("SELECT COUNT(*) FROM {table}")),
            wanted,
            "{table}"
        );
    }
}

#[test]
fn a_partition_is_the_same_by_itself() {
    let workload = tpce(2000);
    let rows = |table: &str, part: u32| {
        let population = workload.population();
        let partitions = population.partitions();
        let mut partitions = partitions.iter().filter(|partition| {
            workload.tables()[partition.table.0].name == table && partition.part == part
        });
        let mut found = Vec::new();
        let mut batch = RowBatch::new();
        population.generate(partitions.next().unwrap(), &mut batch, &mut |batch| {
            for row in 0..batch.len() {
                let values = (0..batch.columns()).map(|column| batch.value(row, column));
                found.push(format!("{:?}", values.collect::<Vec<_>>()));
            }
            found.len() < 5000
        });
        found
    };
    for table in ["trade", "holding", "customer_account", "watch_item"] {
        assert_eq!(rows(table, 1), rows(table, 1));
        assert_ne!(rows(table, 1), rows(table, 0));
    }
}
