//! The initial rows are pgbench's, and as many and as large as announced.

use std::collections::HashMap;

use octavo_units::{ByteCount, Seed};
use octavo_workload::{
    Pgbench, Workload,
    connection::Value,
    population::{Partition, RowBatch},
    schema::ColumnKind,
};

fn pgbench(scale: u32) -> Pgbench {
    Pgbench::new(scale, Seed::new(1)).unwrap()
}

fn table_name(workload: &Pgbench, partition: &Partition) -> &'static str {
    workload.tables()[partition.table.0].name
}

/// Calls `visit` with each row of a partition; answers how many there were.
fn visit(workload: &Pgbench, partition: &Partition, mut visit: impl FnMut(&[Value<'_>])) -> u64 {
    let mut rows = 0;
    let population = workload.population();
    population.generate(partition, &mut RowBatch::new(), &mut |batch| {
        assert!((1..=RowBatch::ROWS).contains(&batch.len()));
        assert_eq!(batch.table(), partition.table);
        rows += batch.len() as u64;
        for row in 0..batch.len() {
            let values: Vec<Value<'_>> = (0..batch.columns())
                .map(|column| batch.value(row, column))
                .collect();
            visit(&values);
        }
        true
    });
    rows
}

#[test]
fn rows_are_those_of_pgbench() {
    let workload = pgbench(3).with_row(ByteCount::new(112)).unwrap();
    let blanks = " ".repeat(100);
    let mut last_keys = HashMap::new();
    for partition in workload.population().partitions() {
        let table = table_name(&workload, &partition);
        let rows = visit(&workload, &partition, |row| {
            // Keys from 1 on without a gap, over all partitions of a table.
            let key = last_keys.entry(table).or_insert(0);
            *key += 1;
            let (id, zero) = (Value::Integer(*key), Value::Integer(0));
            match table {
                "pgbench_branches" => assert_eq!(row, [id, zero, Value::Null]),
                "pgbench_tellers" => {
                    let branch = Value::Integer((*key - 1) / 10 + 1);
                    assert_eq!(row, [id, branch, zero, Value::Null]);
                }
                "pgbench_accounts" => {
                    let branch = Value::Integer((*key - 1) / 100_000 + 1);
                    assert_eq!(row, [id, branch, zero, Value::Text(&blanks)]);
                }
                other => panic!("{other} should be empty"),
            }
        });
        assert_eq!(rows, partition.rows_about, "{table}");
        assert!(rows <= 100_000);
    }
    let wanted = [
        ("pgbench_branches", 3),
        ("pgbench_tellers", 30),
        ("pgbench_accounts", 300_000),
    ];
    assert_eq!(last_keys, HashMap::from(wanted));
}

#[test]
fn the_last_account_of_the_largest_scale_has_its_key() {
    let workload = pgbench(Pgbench::SCALE_MAX);
    let partitions = workload.population().partitions();
    let mut last = 0;
    visit(&workload, partitions.last().unwrap(), |row| {
        if let Value::Integer(aid) = row[0] {
            last = aid;
        }
    });
    assert_eq!(last, 10_000_000_000);
    let aid = workload.tables()[partitions.last().unwrap().table.0].columns[0];
    assert_eq!((aid.name, aid.kind), ("aid", ColumnKind::Integer));
}

#[test]
fn sizes_are_those_that_are_announced() {
    for row in [96, 2000] {
        let workload = pgbench(1).with_row(ByteCount::new(row)).unwrap();
        for partition in workload.population().partitions() {
            let table = &workload.tables()[partition.table.0];
            let mut bytes = 0;
            let rows = visit(&workload, &partition, |values| {
                bytes += values.iter().map(Value::byte_length).sum::<u64>();
                for (value, column) in values.iter().zip(table.columns.iter()) {
                    let fits = match (value, column.kind) {
                        (Value::Null, _) => column.nullable,
                        (Value::Integer(number), ColumnKind::Integer32) => {
                            i32::try_from(*number).is_ok()
                        }
                        (Value::Text(text), ColumnKind::Char(length)) => {
                            text.len() == length as usize
                        }
                        _ => false,
                    };
                    assert!(fits, "{value:?} in {}", column.name);
                }
            });
            assert_eq!(bytes, rows * u64::from(table.row_bytes_mean));
        }
    }
}

#[test]
fn a_stopped_population_gives_no_more_rows() {
    let workload = pgbench(1);
    let population = workload.population();
    let accounts = population.partitions().pop().unwrap();
    let mut calls = 0;
    population.generate(&accounts, &mut RowBatch::new(), &mut |_| {
        calls += 1;
        calls < 2
    });
    assert_eq!(calls, 2);
}
