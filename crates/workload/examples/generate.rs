//! Generates TPC-C's rows on one thread and prints rows a second by table.
//!
//! `cargo run --release -p octavo-workload --example generate -- [WAREHOUSES] [SEED]`
//! (defaults 4 and 1). Nothing is stored; each value goes into a checksum, so
//! that no work can be optimised away and two machines can be compared.

use std::{
    error::Error,
    time::{Duration, Instant},
};

use octavo_units::Seed;
use octavo_workload::{Tpcc, Workload, connection::Value, population::RowBatch, schema::TableId};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let warehouses = arguments.next().map_or(Ok(4), |text| text.parse())?;
    let seed = arguments.next().map_or(Ok(1), |text| text.parse())?;
    if cfg!(debug_assertions) {
        eprintln!("warning: not a release build, the rates mean nothing");
    }
    let workload = Tpcc::new(warehouses, Seed::new(seed))?;
    let population = workload.population();
    println!(
        "{:<16} {:>12} {:>14} {:>12}",
        "table", "rows", "rows/s", "MB/s"
    );
    let mut all = Count::default();
    let mut checksum = 0u64;
    for (id, table) in workload.tables().iter().enumerate() {
        let mut count = Count::default();
        let mut batch = RowBatch::new();
        for partition in population.partitions() {
            if partition.table != TableId(id) {
                continue;
            }
            let start = Instant::now();
            population.generate(&partition, &mut batch, &mut |batch| {
                count.rows += batch.len() as u64;
                for row in 0..batch.len() {
                    for column in 0..table.columns.len() {
                        let value = batch.value(row, column);
                        count.bytes += value.byte_length();
                        checksum = mix(checksum, value);
                    }
                }
                true
            });
            count.elapsed += start.elapsed();
        }
        count.print(table.name);
        all.rows += count.rows;
        all.bytes += count.bytes;
        all.elapsed += count.elapsed;
    }
    all.print("all");
    println!("checksum {checksum:016x}, {warehouses} warehouses, seed {seed}, 1 thread");
    Ok(())
}

#[derive(Default)]
struct Count {
    rows: u64,
    bytes: u64,
    elapsed: Duration,
}

impl Count {
    fn print(&self, name: &str) {
        let seconds = self.elapsed.as_secs_f64().max(1e-9);
        println!(
            "{name:<16} {:>12} {:>14.0} {:>12.1}",
            self.rows,
            self.rows as f64 / seconds,
            self.bytes as f64 / seconds / 1e6
        );
    }
}

/// Mixes a value into the checksum: of a text its length and its last eight
/// bytes, which is what reading it costs a consumer that copies whole texts
/// elsewhere.
fn mix(checksum: u64, value: Value<'_>) -> u64 {
    let word = match value {
        Value::Real(value) => value.get().to_bits(),
        Value::Null => 1,
        Value::Integer(number) | Value::Timestamp(number) => number.cast_unsigned(),
        Value::Decimal { unscaled, scale } => unscaled.cast_unsigned() ^ u64::from(scale),
        Value::Text(text) => text
            .bytes()
            .rev()
            .take(8)
            .fold(text.len() as u64, |word, byte| word << 8 | u64::from(byte)),
    };
    (checksum ^ word)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(23)
}
