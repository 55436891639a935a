//! The initial rows keep every rule of clause 4.3.3.1, whoever makes them and
//! in whatever order.

use std::{collections::HashMap, hash::Hasher, ops::RangeInclusive};

use octavo_units::Seed;
use octavo_workload::{
    Tpcc, Workload,
    connection::Value,
    population::{Partition, Population, RowBatch},
    schema::{ColumnKind, Table, TableId},
    tpcc::POPULATION_DATE,
};

const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];

fn tpcc(warehouses: u32, seed: u64) -> Tpcc {
    Tpcc::new(warehouses, Seed::new(seed)).unwrap()
}

/// One row, its columns by name.
struct Row<'b> {
    table: &'b Table,
    batch: &'b RowBatch,
    row: usize,
}

impl Row<'_> {
    fn value(&self, name: &str) -> Value<'_> {
        let column = self
            .table
            .columns
            .iter()
            .position(|column| column.name == name);
        let column = column.unwrap_or_else(|| panic!("no column {name}"));
        self.batch.value(self.row, column)
    }

    fn integer(&self, name: &str) -> i64 {
        match self.value(name) {
            Value::Integer(number) => number,
            value => panic!("{name} is {value:?}"),
        }
    }

    fn decimal(&self, name: &str, wanted: u8) -> i64 {
        match self.value(name) {
            Value::Decimal { unscaled, scale } if scale == wanted => unscaled,
            value => panic!("{name} is {value:?}"),
        }
    }

    fn text(&self, name: &str) -> &str {
        match self.value(name) {
            Value::Text(text) => text,
            value => panic!("{name} is {value:?}"),
        }
    }

    fn a_string(&self, name: &str, lengths: RangeInclusive<usize>) {
        let text = self.text(name);
        assert!(lengths.contains(&text.len()), "{name}: {text}");
        assert!(text.bytes().all(|b| b.is_ascii_alphanumeric()), "{text}");
    }

    fn address(&self, prefix: &str) {
        for column in ["street_1", "street_2", "city"] {
            self.a_string(&format!("{prefix}_{column}"), 10..=20);
        }
        self.a_string(&format!("{prefix}_state"), 2..=2);
        let zip = self.text(&format!("{prefix}_zip")).to_owned();
        assert!(zip.len() == 9 && zip.ends_with("11111"), "{zip}");
        assert!(zip.bytes().all(|byte| byte.is_ascii_digit()), "{zip}");
    }
}

fn partition(workload: &Tpcc, table: &str, part: u32) -> Partition {
    workload
        .population()
        .partitions()
        .into_iter()
        .find(|partition| name_of(workload, partition) == table && partition.part == part)
        .unwrap_or_else(|| panic!("no partition {part} of {table}"))
}

fn name_of(workload: &Tpcc, partition: &Partition) -> &'static str {
    workload.tables()[partition.table.0].name
}

/// Calls `visit` for all rows of a partition; answers how many there were.
fn visit(workload: &Tpcc, table: &str, part: u32, mut visit: impl FnMut(Row<'_>)) -> u64 {
    let population = workload.population();
    let partition = partition(workload, table, part);
    let table = &workload.tables()[partition.table.0];
    let mut batch = RowBatch::new();
    let mut rows = 0;
    population.generate(&partition, &mut batch, &mut |batch| {
        assert!((1..=RowBatch::ROWS).contains(&batch.len()));
        rows += batch.len() as u64;
        for row in 0..batch.len() {
            visit(Row { table, batch, row });
        }
        true
    });
    rows
}

#[test]
fn items() {
    let (mut id, mut originals, mut prices) = (0, 0, (i64::MAX, i64::MIN));
    visit(&tpcc(2, 1), "item", 0, |row| {
        id += 1;
        assert_eq!(row.integer("i_id"), id);
        assert!((1..=10_000).contains(&row.integer("i_im_id")));
        row.a_string("i_name", 14..=24);
        let price = row.decimal("i_price", 2);
        prices = (prices.0.min(price), prices.1.max(price));
        row.a_string("i_data", 26..=50);
        originals += u32::from(row.text("i_data").contains("ORIGINAL"));
    });
    assert_eq!((id, originals, prices), (100_000, 10_000, (100, 10_000)));
}

#[test]
fn stock() {
    let (mut id, mut originals, mut quantities) = (0, 0, (i64::MAX, i64::MIN));
    visit(&tpcc(2, 1), "stock", 2, |row| {
        id += 1;
        assert_eq!((row.integer("s_w_id"), row.integer("s_i_id")), (2, id));
        let quantity = row.integer("s_quantity");
        quantities = (quantities.0.min(quantity), quantities.1.max(quantity));
        for district in 1..=10 {
            row.a_string(&format!("s_dist_{district:02}"), 24..=24);
        }
        for zero in ["s_ytd", "s_order_cnt", "s_remote_cnt"] {
            assert_eq!(row.integer(zero), 0);
        }
        row.a_string("s_data", 26..=50);
        originals += u32::from(row.text("s_data").contains("ORIGINAL"));
    });
    assert_eq!((id, originals, quantities), (100_000, 10_000, (10, 100)));
}

#[test]
fn warehouses_and_districts() {
    let workload = tpcc(3, 1);
    let mut taxes = Vec::new();
    for w in 1..=3 {
        let mut rows = visit(&workload, "warehouse", w, |row| {
            assert_eq!(row.integer("w_id"), i64::from(w));
            row.a_string("w_name", 6..=10);
            row.address("w");
            taxes.push(row.decimal("w_tax", 4));
            assert_eq!(row.decimal("w_ytd", 2), 30_000_000);
        });
        let mut d = 0;
        rows += visit(&workload, "district", w, |row| {
            d += 1;
            assert_eq!((row.integer("d_w_id"), row.integer("d_id")), (w.into(), d));
            row.a_string("d_name", 6..=10);
            row.address("d");
            taxes.push(row.decimal("d_tax", 4));
            assert_eq!(row.decimal("d_ytd", 2), 3_000_000);
            assert_eq!(row.integer("d_next_o_id"), 3001);
        });
        assert_eq!(rows, 11);
    }
    assert!(taxes.iter().all(|tax| (0..=2000).contains(tax)));
    taxes.sort_unstable();
    taxes.dedup();
    assert!(taxes.len() > 30, "{taxes:?}");
    // All four decimals are used.
    assert!(taxes.iter().any(|tax| tax % 10 != 0));
}

/// The number of a surname, by trying all of them.
fn surnames() -> HashMap<String, usize> {
    (0..1000)
        .map(|n| {
            let name = [n / 100, n / 10 % 10, n % 10].map(|digit| SYLLABLES[digit]);
            (name.concat(), n)
        })
        .collect()
}

#[test]
fn customers() {
    let workload = tpcc(1, 7);
    let numbers = surnames();
    let mut drawn = [0u64; 1000];
    let mut bad_credit = [0; 11];
    let mut key = Vec::new();
    visit(&workload, "customer", 1, |row| {
        let (d, c) = (row.integer("c_d_id"), row.integer("c_id"));
        key.push((row.integer("c_w_id"), d, c));
        let surname = numbers[row.text("c_last")];
        if c <= 1000 {
            assert_eq!(surname as i64, c - 1);
        } else {
            drawn[surname] += 1;
        }
        row.a_string("c_first", 8..=16);
        assert_eq!(row.text("c_middle"), "OE");
        row.address("c");
        let phone = row.text("c_phone");
        assert!(phone.len() == 16 && phone.bytes().all(|b| b.is_ascii_digit()));
        assert_eq!(row.value("c_since"), Value::Timestamp(POPULATION_DATE));
        match row.text("c_credit") {
            "BC" => bad_credit[d as usize] += 1,
            credit => assert_eq!(credit, "GC"),
        }
        assert_eq!(row.decimal("c_credit_lim", 2), 5_000_000);
        assert!((0..=5000).contains(&row.decimal("c_discount", 4)));
        assert_eq!(row.decimal("c_balance", 2), -1000);
        assert_eq!(row.decimal("c_ytd_payment", 2), 1000);
        assert_eq!(row.integer("c_payment_cnt"), 1);
        assert_eq!(row.integer("c_delivery_cnt"), 0);
        row.a_string("c_data", 300..=500);
    });
    let wanted = (1..=10).flat_map(|d| (1..=3000).map(move |c| (1, d, c)));
    assert!(key.into_iter().eq(wanted));
    assert_eq!(bad_credit[1..], [300; 10]);

    // NURand(255, 0, 999) with the C-Load that the database keeps, by
    // enumerating all pairs; in 50 ranges of 20 surnames.
    let mut c_load = None;
    visit(&workload, "octavo_constant", 0, |row| {
        if row.text("name") == "c_last_load" {
            c_load = Some(row.integer("value") as usize);
        }
    });
    let c_load = c_load.unwrap();
    let mut ways = [0u64; 50];
    for a in 0..=255 {
        for r in 0..1000 {
            ways[((a | r) + c_load) % 1000 / 20] += 1;
        }
    }
    let mut counts = [0; 50];
    for (number, count) in drawn.iter().enumerate() {
        counts[number / 20] += count;
    }
    assert_eq!(counts.iter().sum::<u64>(), 20_000);
    let chi_square: f64 = counts
        .iter()
        .zip(ways)
        .map(|(count, ways)| {
            let wanted = 20_000.0 * ways as f64 / 256_000.0;
            (*count as f64 - wanted).powi(2) / wanted
        })
        .sum();
    // 49 degrees of freedom: above 93 once in 10,000 seeds.
    assert!(chi_square < 93.0, "{chi_square}");
}

#[test]
fn history_has_a_row_for_every_customer() {
    let mut rows = Vec::new();
    visit(&tpcc(2, 1), "history", 2, |row| {
        let (w, d) = (row.integer("h_c_w_id"), row.integer("h_c_d_id"));
        assert_eq!((row.integer("h_w_id"), row.integer("h_d_id")), (w, d));
        rows.push((w, d, row.integer("h_c_id")));
        assert_eq!(row.value("h_date"), Value::Timestamp(POPULATION_DATE));
        assert_eq!(row.decimal("h_amount", 2), 1000);
        row.a_string("h_data", 12..=24);
    });
    let wanted = (1..=10).flat_map(|d| (1..=3000).map(move |c| (2, d, c)));
    assert!(rows.into_iter().eq(wanted));
}

#[test]
fn orders_and_their_lines() {
    let workload = tpcc(2, 5);
    let mut customers = vec![Vec::new(); 11];
    let mut line_counts = HashMap::new();
    let mut carriers = [0; 11];
    visit(&workload, "orders", 2, |row| {
        assert_eq!(row.integer("o_w_id"), 2);
        let (d, o_id) = (row.integer("o_d_id"), row.integer("o_id"));
        customers[d as usize].push(row.integer("o_c_id"));
        assert_eq!(customers[d as usize].len() as i64, o_id);
        assert_eq!(row.value("o_entry_d"), Value::Timestamp(POPULATION_DATE));
        if o_id < 2101 {
            carriers[row.integer("o_carrier_id") as usize] += 1;
        } else {
            assert_eq!(row.value("o_carrier_id"), Value::Null);
        }
        let lines = row.integer("o_ol_cnt");
        assert!((5..=15).contains(&lines));
        line_counts.insert((d, o_id), lines);
        assert_eq!(row.integer("o_all_local"), 1);
    });
    for customers in &mut customers[1..] {
        assert!(!customers.is_sorted());
        customers.sort_unstable();
        assert!(customers.iter().copied().eq(1..=3000));
    }
    assert_eq!(carriers[0], 0);
    // 2,100 each; the standard deviation is 43.
    assert!(
        carriers[1..]
            .iter()
            .all(|count| (1900..2300).contains(count))
    );

    let mut new = Vec::new();
    visit(&workload, "new_order", 2, |row| {
        assert_eq!(row.integer("no_w_id"), 2);
        new.push((row.integer("no_d_id"), row.integer("no_o_id")));
    });
    let wanted = (1..=10).flat_map(|d| (2101..=3000).map(move |o_id| (d, o_id)));
    assert!(new.into_iter().eq(wanted));

    let (mut place, mut items, mut amounts) = ((1, 0, 0), 0u64, (i64::MAX, i64::MIN));
    let rows = visit(&workload, "order_line", 2, |row| {
        assert_eq!(
            (row.integer("ol_w_id"), row.integer("ol_supply_w_id")),
            (2, 2)
        );
        let (d, o_id) = (row.integer("ol_d_id"), row.integer("ol_o_id"));
        let number = row.integer("ol_number");
        // Every order has as many lines as it says, one after the other.
        let (last_d, last_o, last_number) = place;
        if (d, o_id) == (last_d, last_o) {
            assert_eq!(number, last_number + 1);
        } else {
            assert_eq!(number, 1);
            if last_o > 0 {
                assert_eq!(line_counts[&(last_d, last_o)], last_number);
            }
            let next = match last_o {
                3000 => (last_d + 1, 1),
                _ => (last_d, last_o + 1),
            };
            assert_eq!((d, o_id), next);
        }
        place = (d, o_id, number);
        let item = row.integer("ol_i_id");
        assert!((1..=100_000).contains(&item));
        items += item.unsigned_abs();
        assert_eq!(row.integer("ol_quantity"), 5);
        let amount = row.decimal("ol_amount", 2);
        if o_id < 2101 {
            assert_eq!(
                row.value("ol_delivery_d"),
                Value::Timestamp(POPULATION_DATE)
            );
            assert_eq!(amount, 0);
        } else {
            assert_eq!(row.value("ol_delivery_d"), Value::Null);
            amounts = (amounts.0.min(amount), amounts.1.max(amount));
        }
        row.a_string("ol_dist_info", 24..=24);
    });
    assert_eq!(place, (10, 3000, line_counts[&(10, 3000)]));
    assert_eq!(rows as i64, line_counts.values().sum::<i64>());
    // The smallest and largest of 90,000 draws lie within 20.00 of the ends.
    assert!((1..2000).contains(&amounts.0), "{amounts:?}");
    assert!((998_000..=999_999).contains(&amounts.1), "{amounts:?}");
    // Uniform items, not NURand: the mean is 50,000.5 within 53 a deviation.
    let mean = items / rows;
    assert!((49_700..50_300).contains(&mean), "{mean}");
}

/// A number that changes with any value of a partition.
fn fingerprint(population: &dyn Population, partition: &Partition, batch: &mut RowBatch) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    population.generate(partition, batch, &mut |batch| {
        for row in 0..batch.len() {
            for column in 0..batch.columns() {
                match batch.value(row, column) {
                    Value::Real(_) => panic!("TPC-C has no doubles"),
                    Value::Null => hasher.write_u8(0),
                    Value::Integer(n) | Value::Timestamp(n) => hasher.write_i64(n),
                    Value::Decimal { unscaled, scale } => {
                        hasher.write_i64(unscaled);
                        hasher.write_u8(scale);
                    }
                    Value::Text(text) => hasher.write(text.as_bytes()),
                }
            }
        }
        true
    });
    hasher.finish()
}

#[test]
fn partitions_are_the_same_in_any_order_on_any_thread() {
    let workload = tpcc(2, 9);
    let population = workload.population();
    let partitions = population.partitions();
    let mut batch = RowBatch::new();
    let forwards: Vec<u64> = partitions
        .iter()
        .map(|partition| fingerprint(population.as_ref(), partition, &mut batch))
        .collect();
    let mut backwards = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let mut batch = RowBatch::new();
            let again = workload.population();
            let backwards = partitions.iter().rev();
            backwards
                .map(|partition| fingerprint(again.as_ref(), partition, &mut batch))
                .collect::<Vec<u64>>()
        });
        thread.join().unwrap()
    });
    backwards.reverse();
    assert_eq!(forwards, backwards);

    // Every partition has rows of its own, and another seed others.
    let mut distinct = forwards.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), partitions.len());
    let other = tpcc(2, 10);
    let item = partition(&other, "item", 0);
    let other_item = fingerprint(other.population().as_ref(), &item, &mut batch);
    assert!(!forwards.contains(&other_item));
}

#[test]
fn tables_come_in_order_and_partitions_in_key_order() {
    let workload = tpcc(3, 1);
    let places: Vec<(TableId, u32)> = workload
        .population()
        .partitions()
        .iter()
        .map(|partition| (partition.table, partition.part))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(places.len(), 2 + 8 * 3);
}

#[test]
fn sizes_are_about_those_that_are_announced() {
    let workload = tpcc(1, 1);
    let population = workload.population();
    let mut all = 0;
    for partition in population.partitions() {
        let table = &workload.tables()[partition.table.0];
        let mut batch = RowBatch::new();
        let (mut rows, mut bytes) = (0, 0);
        population.generate(&partition, &mut batch, &mut |batch| {
            rows += batch.len() as u64;
            for row in 0..batch.len() {
                for (column, declared) in table.columns.iter().enumerate() {
                    let value = batch.value(row, column);
                    bytes += value.byte_length();
                    assert!(fits(value, declared.kind, declared.nullable), "{value:?}");
                }
            }
            true
        });
        all += rows;
        let name = table.name;
        let about = partition.rows_about as f64;
        assert!((rows as f64 / about - 1.0).abs() < 0.01, "{name}: {rows}");
        let mean = bytes as f64 / rows as f64;
        let wanted = f64::from(table.row_bytes_mean);
        // One warehouse or ten districts are few.
        let tolerance = if rows < 100 { 0.25 } else { 0.01 };
        assert!((mean / wanted - 1.0).abs() < tolerance, "{name}: {mean}");
    }
    assert!((597_000..601_000).contains(&all), "{all}");
}

fn fits(value: Value<'_>, kind: ColumnKind, nullable: bool) -> bool {
    match (value, kind) {
        (Value::Null, _) => nullable,
        (Value::Integer(_), ColumnKind::Integer) | (Value::Timestamp(_), ColumnKind::Timestamp) => {
            true
        }
        (Value::Integer(number), ColumnKind::Integer32) => i32::try_from(number).is_ok(),
        (
            Value::Decimal { unscaled, scale },
            ColumnKind::Decimal {
                precision,
                scale: s,
            },
        ) => scale == s && unscaled.unsigned_abs() < 10u64.pow(precision.into()),
        (Value::Text(text), ColumnKind::Char(length)) => text.len() == length as usize,
        (Value::Text(text), ColumnKind::Varchar(length)) => text.len() <= length as usize,
        _ => false,
    }
}

#[test]
fn a_stopped_population_gives_no_more_rows() {
    let workload = tpcc(1, 1);
    let population = workload.population();
    for partition in population.partitions() {
        let mut batch = RowBatch::new();
        let mut asked = 0;
        population.generate(&partition, &mut batch, &mut |_| {
            asked += 1;
            asked < 2
        });
        let batches = partition.rows_about.div_ceil(RowBatch::ROWS as u64);
        assert_eq!(asked, batches.min(2), "{}", name_of(&workload, &partition));
    }
}
