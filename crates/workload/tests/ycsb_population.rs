//! YCSB's initial rows: all of them, once, in the order of their keys.

use std::collections::HashSet;

use octavo_units::{ByteCount, Seed};
use octavo_workload::{Workload, Ycsb, connection::Value, population::RowBatch};

/// Above two partitions' worth, and odd.
const THREE_PARTITIONS: u64 = 61_007;

fn text(value: Value<'_>) -> &str {
    match value {
        Value::Text(text) => text,
        other => panic!("{other:?} is no text"),
    }
}

/// All rows, each as its key and its fields.
fn rows(workload: &Ycsb) -> Vec<(String, Vec<String>)> {
    let population = workload.population();
    let mut batch = RowBatch::new();
    let mut rows = Vec::new();
    for partition in population.partitions() {
        population.generate(&partition, &mut batch, &mut |batch| {
            assert_eq!(batch.columns(), 11);
            assert!((1..=RowBatch::ROWS).contains(&batch.len()));
            for row in 0..batch.len() {
                let column = |column| text(batch.value(row, column)).to_owned();
                rows.push((column(0), (1..11).map(column).collect()));
            }
            true
        });
    }
    rows
}

fn narrow(records: u64) -> Ycsb {
    Ycsb::new(records, Seed::new(1))
        .unwrap()
        .with_row(ByteCount::new(10))
        .unwrap()
}

/// YCSB's key of a number, computed anew (`Utils.fnvhash64`).
fn key(number: u64) -> String {
    let mut hash: i64 = 0xCBF2_9CE4_8422_2325_u64 as i64;
    for byte in 0..8 {
        hash ^= (number >> (8 * byte) & 0xff) as i64;
        hash = hash.wrapping_mul(1_099_511_628_211);
    }
    format!("user{}", hash.abs())
}

#[test]
fn every_key_comes_once_and_in_order() {
    for records in [1, 2, 513, 39_999, THREE_PARTITIONS] {
        let workload = narrow(records);
        let keys: Vec<String> = rows(&workload).into_iter().map(|(key, _)| key).collect();
        assert!(keys.is_sorted_by(|one, next| one < next), "{records}");
        assert_eq!(keys.len() as u64, records);
        let wanted: HashSet<String> = (0..records).map(key).collect();
        assert!(keys.iter().all(|key| wanted.contains(key)), "{records}");
    }
}

#[test]
fn partitions_are_about_as_large_as_they_say() {
    let population = narrow(THREE_PARTITIONS).population();
    let partitions = population.partitions();
    assert_eq!(partitions.len(), 3);
    for partition in partitions {
        let mut rows = 0;
        population.generate(&partition, &mut RowBatch::new(), &mut |batch| {
            rows += batch.len() as u64;
            true
        });
        // The standard deviation is 116.
        assert!(rows.abs_diff(partition.rows_about) < 600, "{rows}");
    }
    // More partitions would hash more.
    let partitions = narrow(Ycsb::RECORDS_MAX).population().partitions();
    assert_eq!(partitions.len(), 64);
}

#[test]
fn fields_are_random_and_as_wide_as_the_row_says() {
    for bytes in [10, 1000, 60_000] {
        let workload = Ycsb::new(3, Seed::new(1))
            .unwrap()
            .with_row(ByteCount::new(bytes))
            .unwrap();
        let rows = rows(&workload);
        let mut total = 0;
        let mut fields = HashSet::new();
        for (key, values) in &rows {
            total += key.len();
            for value in values {
                assert_eq!(value.len() as u64, bytes / 10);
                assert!(value.bytes().all(|byte| byte.is_ascii_alphanumeric()));
                total += value.len();
                fields.insert(value);
            }
        }
        let table = &workload.tables()[0];
        assert_eq!(u64::from(table.row_bytes_mean), bytes + 23);
        let mean = total as u64 / 3;
        assert!(mean.abs_diff(table.row_bytes_mean.into()) <= 1, "{mean}");
        if bytes > 10 {
            assert_eq!(fields.len(), 30);
        }
    }
}

#[test]
fn rows_follow_from_their_number_and_the_seed() {
    let few = rows(&narrow(100));
    let many: Vec<_> = rows(&narrow(THREE_PARTITIONS));
    // A record is the same however many there are.
    assert!(few.iter().all(|row| many.binary_search(row).is_ok()));
    let others = rows(&Ycsb::new(100, Seed::new(2)).unwrap());
    assert!(few.iter().zip(&others).all(|(one, other)| one.0 == other.0));
    assert!(few.iter().zip(&others).all(|(one, other)| one.1 != other.1));
}

#[test]
fn a_consumer_can_stop() {
    let population = narrow(2000).population();
    let mut batches = 0;
    let partition = &population.partitions()[0];
    population.generate(partition, &mut RowBatch::new(), &mut |_| {
        batches += 1;
        batches < 2
    });
    assert_eq!(batches, 2);
}
