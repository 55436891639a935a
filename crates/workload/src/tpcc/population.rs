//! The initial rows (clause 4.3.3), a partition a table and warehouse.

use std::ops::ControlFlow;

use octavo_units::Seed;

use super::{
    random::{Constants, NuRand, Tenth, push_surname},
    schema::{
        CONSTANT, CUSTOMER, CUSTOMERS, DISTRICT, DISTRICTS, FIRST_UNDELIVERED, FRACTION, HISTORY,
        ITEM, ITEMS, NEW_ORDER, ORDER_LINE, ORDERS, STOCK, TABLES, WAREHOUSE,
    },
};
use crate::{
    money::CENTS,
    population::{Partition, Population, RowBatch},
    random::Draws,
    schema::TableId,
};

/// When the population claims to have been made, 2026-01-01T00:00:00Z in
/// microseconds since 1970: the specification's "current date and time" would
/// make two loads of one seed differ.
pub const POPULATION_DATE: i64 = 1_767_225_600_000_000;

/// Rows of `octavo_constant`, in the order of their names, with what they
/// hold; see [`constant_rows`].
pub(super) const CONSTANT_ROWS: usize = 3;

/// What the database keeps of its making: C-Load of the surnames, as clause
/// 2.1.6.1 needs for choosing C-Run, the seed (its bits as a signed number)
/// and the scale.
pub(super) fn constant_rows(
    warehouses: u32,
    seed: Seed,
    constants: &Constants,
) -> [(&'static str, i64); CONSTANT_ROWS] {
    [
        ("c_last_load", constants.surname_load.c),
        ("population_seed", seed.get().cast_signed()),
        ("warehouses", i64::from(warehouses)),
    ]
}

#[derive(Debug)]
pub(super) struct TpccPopulation {
    pub(super) warehouses: u32,
    pub(super) seed: Seed,
    pub(super) constants: Constants,
}

impl Population for TpccPopulation {
    fn partitions(&self) -> Vec<Partition> {
        let per_warehouse = [
            (WAREHOUSE, 1),
            (DISTRICT, DISTRICTS),
            (STOCK, ITEMS),
            (CUSTOMER, DISTRICTS * CUSTOMERS),
            (HISTORY, DISTRICTS * CUSTOMERS),
            (ORDERS, DISTRICTS * CUSTOMERS),
            (NEW_ORDER, DISTRICTS * (CUSTOMERS + 1 - FIRST_UNDELIVERED)),
            // 5 to 15 an order.
            (ORDER_LINE, DISTRICTS * CUSTOMERS * 10),
        ];
        let partition = |table: usize, part, rows| Partition {
            table: TableId(table),
            part,
            rows_about: rows,
        };
        let once = [
            partition(CONSTANT, 0, CONSTANT_ROWS as u64),
            partition(ITEM, 0, ITEMS.unsigned_abs()),
        ];
        let each = per_warehouse.into_iter().flat_map(|(table, rows)| {
            (1..=self.warehouses).map(move |w| partition(table, w, rows.unsigned_abs()))
        });
        once.into_iter().chain(each).collect()
    }

    fn generate(
        &self,
        partition: &Partition,
        batch: &mut RowBatch,
        consume: &mut dyn FnMut(&mut RowBatch) -> bool,
    ) {
        let table = &TABLES[partition.table.0];
        batch.reset(partition.table, table.columns.len());
        let part = u64::from(partition.part);
        let mut rows = Rows {
            draws: Draws::new(self.seed.derive(table.name, part)),
            batch,
            consume,
        };
        let w = i64::from(partition.part);
        let flow = match partition.table.0 {
            CONSTANT => rows.constants(&constant_rows(self.warehouses, self.seed, &self.constants)),
            ITEM => rows.items(),
            WAREHOUSE => rows.warehouse(w),
            DISTRICT => rows.districts(w),
            STOCK => rows.stock(w),
            CUSTOMER => rows.customers(w, &self.constants.surname_load),
            HISTORY => rows.history(w),
            ORDERS => rows.orders(w, &mut self.line_counts(part)),
            NEW_ORDER => rows.new_orders(w),
            ORDER_LINE => rows.order_lines(w, &mut self.line_counts(part)),
            _ => unreachable!("every table has its rows"),
        };
        if flow.is_continue() {
            rows.batch.end(rows.consume);
        }
    }
}

impl TpccPopulation {
    /// Where O_OL_CNT is drawn from: a stream of its own, since the partitions
    /// of orders and of order lines both need it and know nothing of each
    /// other.
    fn line_counts(&self, warehouse: u64) -> Draws {
        Draws::new(self.seed.derive("o_ol_cnt", warehouse))
    }
}

/// The lines of an order, O_OL_CNT.
fn line_count(draws: &mut Draws) -> i64 {
    draws.uniform(5, 15)
}

/// An amount with [`CENTS`].
const fn dollars(whole: i64) -> i64 {
    whole * 100
}

/// Rows on their way into batches. The functions follow clause 4.3.3.1
/// table by table, columns in the tables' order.
struct Rows<'a> {
    draws: Draws,
    batch: &'a mut RowBatch,
    consume: &'a mut dyn FnMut(&mut RowBatch) -> bool,
}

impl Rows<'_> {
    #[inline]
    fn end_row(&mut self) -> ControlFlow<()> {
        self.batch.end_row(self.consume)
    }

    #[inline]
    fn integers(&mut self, values: &[i64]) {
        for value in values {
            self.batch.push_integer(*value);
        }
    }

    fn a_string(&mut self, low: usize, high: usize) {
        let draws = &mut self.draws;
        self.batch.push_text(|text| draws.a_string(text, low, high));
    }

    fn text(&mut self, constant: &str) {
        self.batch.push_text(|text| text.push_str(constant));
    }

    fn data(&mut self, original: bool) {
        let draws = &mut self.draws;
        self.batch
            .push_text(|text| draws.data(text, 26, 50, original));
    }

    fn uniform_decimal(&mut self, low: i64, high: i64, scale: u8) {
        let unscaled = self.draws.uniform(low, high);
        self.batch.push_decimal(unscaled, scale);
    }

    /// Two streets, city, state and zip.
    fn address(&mut self) {
        for _ in 0..3 {
            self.a_string(10, 20);
        }
        let draws = &mut self.draws;
        self.batch.push_text(|text| draws.state(text));
        self.batch.push_text(|text| draws.zip(text));
    }

    fn constants(&mut self, rows: &[(&str, i64)]) -> ControlFlow<()> {
        for (name, value) in rows {
            self.text(name);
            self.batch.push_integer(*value);
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    fn items(&mut self) -> ControlFlow<()> {
        let mut original = Tenth::new(ITEMS);
        for i_id in 1..=ITEMS {
            let image = self.draws.uniform(1, 10_000);
            self.integers(&[i_id, image]);
            self.a_string(14, 24);
            self.uniform_decimal(100, 10_000, CENTS);
            let original = original.next(&mut self.draws);
            self.data(original);
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    fn warehouse(&mut self, w: i64) -> ControlFlow<()> {
        self.batch.push_integer(w);
        self.a_string(6, 10);
        self.address();
        self.uniform_decimal(0, 2000, FRACTION);
        self.batch.push_decimal(dollars(300_000), CENTS);
        self.end_row()
    }

    fn districts(&mut self, w: i64) -> ControlFlow<()> {
        for d in 1..=DISTRICTS {
            self.integers(&[d, w]);
            self.a_string(6, 10);
            self.address();
            self.uniform_decimal(0, 2000, FRACTION);
            self.batch.push_decimal(dollars(30_000), CENTS);
            self.batch.push_integer(CUSTOMERS + 1);
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    fn stock(&mut self, w: i64) -> ControlFlow<()> {
        let mut original = Tenth::new(ITEMS);
        for i_id in 1..=ITEMS {
            let quantity = self.draws.uniform(10, 100);
            self.integers(&[i_id, w, quantity]);
            for _ in 1..=DISTRICTS {
                self.a_string(24, 24);
            }
            self.integers(&[0, 0, 0]);
            let original = original.next(&mut self.draws);
            self.data(original);
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    fn customers(&mut self, w: i64, surnames: &NuRand) -> ControlFlow<()> {
        for d in 1..=DISTRICTS {
            let mut bad_credit = Tenth::new(CUSTOMERS);
            for c in 1..=CUSTOMERS {
                self.integers(&[c, d, w]);
                self.a_string(8, 16);
                self.text("OE");
                let surname = match c {
                    ..=1000 => c - 1,
                    _ => self.draws.nurand(surnames),
                };
                self.batch.push_text(|text| push_surname(text, surname));
                self.address();
                let draws = &mut self.draws;
                self.batch.push_text(|text| draws.n_string(text, 16));
                self.batch.push_timestamp(POPULATION_DATE);
                let credit = match bad_credit.next(&mut self.draws) {
                    true => "BC",
                    false => "GC",
                };
                self.text(credit);
                self.batch.push_decimal(dollars(50_000), CENTS);
                self.uniform_decimal(0, 5000, FRACTION);
                self.batch.push_decimal(dollars(-10), CENTS);
                self.batch.push_decimal(dollars(10), CENTS);
                self.integers(&[1, 0]);
                self.a_string(300, 500);
                self.end_row()?;
            }
        }
        ControlFlow::Continue(())
    }

    fn history(&mut self, w: i64) -> ControlFlow<()> {
        for d in 1..=DISTRICTS {
            for c in 1..=CUSTOMERS {
                self.integers(&[c, d, w, d, w]);
                self.batch.push_timestamp(POPULATION_DATE);
                self.batch.push_decimal(dollars(10), CENTS);
                self.a_string(12, 24);
                self.end_row()?;
            }
        }
        ControlFlow::Continue(())
    }

    fn orders(&mut self, w: i64, line_counts: &mut Draws) -> ControlFlow<()> {
        let mut customers: Vec<i64> = Vec::with_capacity(CUSTOMERS as usize);
        for d in 1..=DISTRICTS {
            customers.clear();
            customers.extend(1..=CUSTOMERS);
            self.draws.shuffle(&mut customers);
            for (o_id, customer) in (1..).zip(&customers) {
                self.integers(&[o_id, d, w, *customer]);
                self.batch.push_timestamp(POPULATION_DATE);
                if o_id < FIRST_UNDELIVERED {
                    let carrier = self.draws.uniform(1, 10);
                    self.batch.push_integer(carrier);
                } else {
                    self.batch.push_null();
                }
                self.integers(&[line_count(line_counts), 1]);
                self.end_row()?;
            }
        }
        ControlFlow::Continue(())
    }

    fn new_orders(&mut self, w: i64) -> ControlFlow<()> {
        for d in 1..=DISTRICTS {
            for o_id in FIRST_UNDELIVERED..=CUSTOMERS {
                self.integers(&[o_id, d, w]);
                self.end_row()?;
            }
        }
        ControlFlow::Continue(())
    }

    fn order_lines(&mut self, w: i64, line_counts: &mut Draws) -> ControlFlow<()> {
        for d in 1..=DISTRICTS {
            for o_id in 1..=CUSTOMERS {
                for number in 1..=line_count(line_counts) {
                    let item = self.draws.uniform(1, ITEMS);
                    self.integers(&[o_id, d, w, number, item, w]);
                    if o_id < FIRST_UNDELIVERED {
                        self.batch.push_timestamp(POPULATION_DATE);
                        self.batch.push_integer(5);
                        self.batch.push_decimal(0, CENTS);
                    } else {
                        self.batch.push_null();
                        self.batch.push_integer(5);
                        self.uniform_decimal(1, 999_999, CENTS);
                    }
                    self.a_string(24, 24);
                    self.end_row()?;
                }
            }
        }
        ControlFlow::Continue(())
    }
}
