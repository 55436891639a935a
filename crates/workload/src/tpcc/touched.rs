//! The rows that TPC-C's statements touch.
//!
//! What the population draws for each row is not drawn here: whose an initial order is,
//! how many lines it has and of which items, and who bears a surname, is drawn from
//! their numbers instead, with the same chances. Rows of a district are taken to be as
//! many as the specification has on average: 30,000 order lines, and of each surname as
//! many customers as are likely to draw it.

use std::collections::{HashMap, VecDeque};

use octavo_units::{Seed, mix};

use super::{
    random::{NuRand, push_surname},
    schema::{CUSTOMERS, DISTRICTS, FIRST_UNDELIVERED, FRACTION, ITEMS, STOCK},
    statements::{Delivery, NewOrder, OrderStatus, Payment, Report, StatementName, StockLevel},
};
use crate::{
    connection::{StatementId, Value},
    touch::{Hits, Place, RowModel, integers},
};

/// Lines of an order, on average.
const LINES: u64 = 10;

/// Surnames. The first customers of a district bear one each, in order; what the others
/// bear is drawn (clause 4.3.3.1).
const SURNAMES: u64 = 1000;

/// Orders that Stock-Level looks back on (clause 2.8.2.2).
const RECENT: usize = 20;

/// Initial orders of a district that wait to be delivered.
const WAITING: u64 = (CUSTOMERS + 1 - FIRST_UNDELIVERED) as u64;

/// Rounds that mix the two halves of a number, and the bits of a half: two halves cover at
/// least [`CUSTOMERS`] numbers.
const ROUNDS: u64 = 4;
const HALF_BITS: u32 = 6;

/// Bytes that a line grows by when its delivery date is set; NULL takes none.
const DATE_BYTES: u16 = 8;
/// Bytes that an order grows by when its carrier is set, 1 to 10.
const CARRIER_BYTES: u16 = 1;

#[derive(Debug)]
pub(super) struct TouchedRows {
    seed: Seed,
    warehouses: u64,
    districts: Vec<District>,
    surnames: HashMap<String, Surname>,
    history: u64,
    /// The order that a transaction is making.
    new: Option<Order>,
}

/// The customers of a district that bear a surname: in the order of names, and as many as
/// there are on average.
#[derive(Clone, Copy, Debug, Default)]
struct Surname {
    number: i64,
    first: u64,
    bearers: u64,
}

#[derive(Debug, Default)]
struct District {
    next: i64,
    oldest: i64,
    /// Lines of orders made since the population.
    lines: u64,
    orders: Vec<Order>,
    /// The customers' last orders made since the population.
    last: HashMap<i64, i64>,
    /// Items of the last orders.
    recent: VecDeque<Vec<i64>>,
}

/// An order made since the population.
#[derive(Debug, Default)]
struct Order {
    run: usize,
    customer: i64,
    first_line: u64,
    items: Vec<i64>,
    lines: u32,
}

impl TouchedRows {
    pub(super) fn new(warehouses: u32, drawn: &NuRand, seed: Seed) -> Self {
        let ways = drawn.ways();
        let all: u64 = ways.iter().sum();
        let mut names: Vec<(String, i64)> = (0..SURNAMES as i64)
            .map(|number| {
                let mut name = String::new();
                push_surname(&mut name, number);
                (name, number)
            })
            .collect();
        names.sort();
        let mut end = 0.0;
        let surnames = names.into_iter().map(|(name, number)| {
            let others = (CUSTOMERS as u64 - SURNAMES) as f64;
            let first = end as u64;
            end += 1.0 + others * ways[number as usize] as f64 / all as f64;
            let surname = Surname {
                number,
                first,
                bearers: (end as u64 - first).max(1),
            };
            (name, surname)
        });
        let warehouses = u64::from(warehouses);
        let district = || District {
            next: CUSTOMERS + 1,
            oldest: FIRST_UNDELIVERED,
            ..District::default()
        };
        Self {
            seed: seed.derive("touched", 0),
            warehouses,
            districts: (0..warehouses * DISTRICTS as u64)
                .map(|_| district())
                .collect(),
            surnames: surnames.collect(),
            history: 0,
            new: None,
        }
    }

    fn drawn(&self, run: usize, a: i64, b: i64) -> u64 {
        mix(mix(self.seed.get() ^ run as u64) ^ (a as u64) << 20 ^ b as u64)
    }

    /// The customer of an initial order: customers are in an order drawn at random (clause
    /// 4.3.3.1).
    fn customer_of(&self, run: usize, order: i64) -> i64 {
        self.shuffled(order, |number| {
            (0..ROUNDS).fold(number, |[left, right], round| {
                [right, left ^ self.half(run, round, right)]
            })
        })
    }

    /// The initial order of a customer: the inverse of [`Self::customer_of`].
    fn order_of(&self, run: usize, customer: i64) -> i64 {
        self.shuffled(customer, |number| {
            (0..ROUNDS).rev().fold(number, |[left, right], round| {
                [right ^ self.half(run, round, left), left]
            })
        })
    }

    /// Maps a number from 1 to [`CUSTOMERS`] to another, by invertible rounds (a Feistel
    /// network) that repeat until the result is in the range.
    fn shuffled(&self, number: i64, rounds: impl Fn([u64; 2]) -> [u64; 2]) -> i64 {
        let mut found = number as u64 - 1;
        loop {
            let [left, right] = rounds([found >> HALF_BITS, found & ((1 << HALF_BITS) - 1)]);
            found = left << HALF_BITS | right;
            if found < CUSTOMERS as u64 {
                return found as i64 + 1;
            }
        }
    }

    fn half(&self, run: usize, round: u64, half: u64) -> u64 {
        self.drawn(run, round as i64, half as i64) & ((1 << HALF_BITS) - 1)
    }

    fn later(&self, run: usize, order: i64) -> Option<&Order> {
        let index = usize::try_from(order - CUSTOMERS - 1).ok()?;
        self.districts[run].orders.get(index)
    }

    fn order_place(run: usize, order: i64) -> Place {
        grown(run as u64, CUSTOMERS as u64, order as u64 - 1)
    }

    fn new_order_place(run: usize, order: i64) -> Place {
        grown(run as u64, WAITING, (order - FIRST_UNDELIVERED) as u64)
    }

    /// Where an order is in the index of orders by customer.
    fn order_by_customer(run: usize, customer: i64, order: i64) -> Place {
        let initial = run as u64 * CUSTOMERS as u64 + customer as u64 - 1;
        match order {
            ..=CUSTOMERS => Place::initial(initial),
            _ => Place::behind(initial, order as u64),
        }
    }

    /// The first line of an order, and how many it has.
    fn lines(&self, run: usize, order: i64) -> (Place, u64) {
        let lines = LINES * CUSTOMERS as u64;
        match self.later(run, order) {
            Some(order) => (
                grown(run as u64, lines, lines + order.first_line),
                order.lines.into(),
            ),
            None => (
                Place::initial(run as u64 * lines + (order as u64 - 1) * LINES),
                5 + self.drawn(run, order, 1) % 11,
            ),
        }
    }

    /// The items of one of a district's last orders.
    fn recent(&self, run: usize, index: usize) -> Vec<i64> {
        let recent = &self.districts[run].recent;
        if index < recent.len() {
            return recent[recent.len() - 1 - index].clone();
        }
        let order = CUSTOMERS - (index - recent.len()) as i64;
        let (_, lines) = self.lines(run, order);
        let item = |line| (self.drawn(run, order, 2 + line) % ITEMS as u64) as i64 + 1;
        (0..lines.cast_signed()).map(item).collect()
    }
}

/// The row at `position` of a run that had `length` rows and grows at its end.
fn grown(run: u64, length: u64, position: u64) -> Place {
    let begin = run * length;
    match position < length {
        true => Place::initial(begin + position),
        false => Place::behind(begin + length - 1, position - length),
    }
}

fn run_of(warehouse: i64, district: i64) -> usize {
    ((warehouse - 1) * DISTRICTS + district - 1) as usize
}

fn warehouse(number: i64) -> Place {
    Place::initial(number as u64 - 1)
}

fn district(warehouse: i64, district: i64) -> Place {
    Place::initial(run_of(warehouse, district) as u64)
}

fn customer(warehouse: i64, district: i64, number: i64) -> Place {
    let run = run_of(warehouse, district) as u64;
    Place::initial(run * CUSTOMERS as u64 + number as u64 - 1)
}

fn stock(warehouse: i64, item: i64) -> Place {
    Place::initial(((warehouse - 1) * ITEMS + item - 1) as u64)
}

impl TouchedRows {
    fn new_order(&mut self, statement: NewOrder, p: [i64; 6], hits: &mut Hits<'_, '_>) -> u64 {
        match statement {
            NewOrder::WAREHOUSE_TAX => hits.row(warehouse(p[0])),
            NewOrder::TAKE_ORDER_NUMBER => hits.row(district(p[1], p[2])),
            NewOrder::DISTRICT_TAX => {
                hits.rows(district(p[0], p[1]), 1);
                let tax = Value::Decimal {
                    unscaled: 1,
                    scale: FRACTION,
                };
                let next = self.districts[run_of(p[0], p[1])].next;
                hits.answer(&[tax, Value::Integer(next + 1)])
            }
            NewOrder::CUSTOMER_DISCOUNT => hits.row(customer(p[0], p[1], p[2])),
            NewOrder::INSERT_ORDER => {
                let [order, d, w, customer, ..] = p;
                let run = run_of(w, d);
                self.new = Some(Order {
                    run,
                    customer,
                    first_line: self.districts[run].lines,
                    ..Order::default()
                });
                let entry = Self::order_by_customer(run, customer, order);
                hits.row_with_entries(Self::order_place(run, order), &[entry])
            }
            NewOrder::INSERT_NEW_ORDER => hits.row(Self::new_order_place(run_of(p[2], p[1]), p[0])),
            NewOrder::ITEM_PRICE if p[0] > ITEMS => {
                // Its absence is found where it would be.
                hits.rows(Place::initial(ITEMS as u64 - 1), 1);
                0
            }
            NewOrder::ITEM_PRICE => hits.row(Place::initial(p[0] as u64 - 1)),
            NewOrder::TAKE_STOCK => hits.row(stock(p[4], p[5])),
            NewOrder::INSERT_ORDER_LINE => {
                let Some(new) = &mut self.new else {
                    return 1;
                };
                let lines = LINES * CUSTOMERS as u64;
                let position = lines + new.first_line + u64::from(new.lines);
                new.lines += 1;
                new.items.push(p[4]);
                hits.row(grown(new.run as u64, lines, position))
            }
        }
    }

    fn payment(
        &mut self,
        statement: Payment,
        parameters: &[Value<'_>],
        p: [i64; 6],
        hits: &mut Hits<'_, '_>,
    ) -> u64 {
        match statement {
            Payment::PAY_WAREHOUSE => hits.row(warehouse(p[1])),
            Payment::WAREHOUSE_ADDRESS => hits.row(warehouse(p[0])),
            Payment::PAY_DISTRICT => hits.row(district(p[1], p[2])),
            Payment::DISTRICT_ADDRESS => hits.row(district(p[0], p[1])),
            Payment::CUSTOMERS_BY_NAME => {
                let run = run_of(p[0], p[1]);
                let known = match parameters.get(2) {
                    Some(Value::Text(name)) => self.surnames.get(*name),
                    _ => None,
                };
                let Surname {
                    number,
                    first,
                    bearers,
                } = known.copied().unwrap_or_default();
                let first = Place::initial(run as u64 * CUSTOMERS as u64 + first);
                hits.rows(first, bearers);
                // One of the first thousand, and some of the others.
                let own = (self.drawn(run, number, 4) % bearers.max(1)) as i64;
                for index in 0..bearers as i64 {
                    let others = CUSTOMERS as u64 - SURNAMES;
                    let other = SURNAMES + self.drawn(run, number, 5 + index) % others;
                    let id = if index == own { number } else { other as i64 };
                    hits.answer(&[Value::Integer(id + 1)]);
                }
                bearers
            }
            Payment::PAY_CUSTOMER => hits.row(customer(p[3], p[4], p[5])),
            Payment::CUSTOMER_DETAILS => {
                hits.rows(customer(p[0], p[1], p[2]), 1);
                let drawn = self.drawn(run_of(p[0], p[1]), p[2], 3);
                let is_bad = drawn.is_multiple_of(10);
                let mut given = [Value::Text("x"); 11];
                given[9] = Value::Timestamp(0);
                given[10] = Value::Text(if is_bad { "BC" } else { "GC" });
                hits.answer(&given)
            }
            Payment::CUSTOMER_DATA => hits.row(customer(p[0], p[1], p[2])),
            Payment::REWRITE_CUSTOMER_DATA => hits.row(customer(p[1], p[2], p[3])),
            Payment::INSERT_HISTORY => {
                let initial = self.warehouses * (DISTRICTS * CUSTOMERS) as u64;
                self.history += 1;
                hits.row(Place::behind(initial - 1, self.history - 1))
            }
        }
    }

    fn order_status(&self, statement: OrderStatus, p: [i64; 6], hits: &mut Hits<'_, '_>) -> u64 {
        let run = run_of(p[0], p[1]);
        match statement {
            OrderStatus::CUSTOMER_BALANCE => hits.row(customer(p[0], p[1], p[2])),
            OrderStatus::LAST_ORDER => {
                let later = self.districts[run].last.get(&p[2]).copied();
                let order = later.unwrap_or_else(|| self.order_of(run, p[2]));
                hits.rows(Self::order_by_customer(run, p[2], order), 1);
                hits.entry(Self::order_place(run, order));
                hits.answer(&[Value::Integer(order)])
            }
            OrderStatus::LINES_OF_ORDER => {
                let (first, rows) = self.lines(run, p[2]);
                hits.rows(first, rows);
                hits.answers(rows)
            }
        }
    }

    fn delivery(&mut self, statement: Delivery, p: [i64; 6], hits: &mut Hits<'_, '_>) -> u64 {
        match statement {
            Delivery::OLDEST_NEW_ORDER => {
                let run = run_of(p[0], p[1]);
                let District { next, oldest, .. } = self.districts[run];
                hits.rows(Self::new_order_place(run, oldest), 1);
                let found = match oldest < next {
                    true => Value::Integer(oldest),
                    false => Value::Null,
                };
                hits.answer(&[found])
            }
            Delivery::DELETE_NEW_ORDER => {
                let run = run_of(p[0], p[1]);
                self.districts[run].oldest = p[2] + 1;
                hits.row(Self::new_order_place(run, p[2]))
            }
            Delivery::SET_CARRIER => {
                let place = Self::order_place(run_of(p[1], p[2]), p[3]);
                hits.grow(place, 1, CARRIER_BYTES);
                1
            }
            Delivery::ORDER_CUSTOMER => {
                let run = run_of(p[0], p[1]);
                hits.rows(Self::order_place(run, p[2]), 1);
                let later = self.later(run, p[2]).map(|order| order.customer);
                let customer = later.unwrap_or_else(|| self.customer_of(run, p[2]));
                hits.answer(&[Value::Integer(customer)])
            }
            Delivery::DELIVER_LINES => {
                let (first, rows) = self.lines(run_of(p[1], p[2]), p[3]);
                hits.grow(first, rows, DATE_BYTES);
                rows
            }
            Delivery::ORDER_AMOUNT => {
                let (first, rows) = self.lines(run_of(p[0], p[1]), p[2]);
                hits.rows(first, rows);
                hits.answer(&[])
            }
            Delivery::DELIVER_TO_CUSTOMER => hits.row(customer(p[2], p[3], p[4])),
        }
    }

    fn stock_level(&self, statement: StockLevel, p: [i64; 6], hits: &mut Hits<'_, '_>) -> u64 {
        let run = run_of(p[0], p[1]);
        let next = self.districts[run].next;
        match statement {
            StockLevel::NEXT_ORDER_NUMBER => {
                hits.rows(district(p[0], p[1]), 1);
                hits.answer(&[Value::Integer(next)])
            }
            StockLevel::LOW_STOCK => {
                // By nested loops: each line, and then its stock.
                for order in (next - RECENT as i64)..next {
                    let (first, rows) = self.lines(run, order);
                    hits.next_rows(first, rows);
                    for item in self.recent(run, (next - 1 - order) as usize) {
                        hits.read_key(STOCK, stock(p[0], item));
                    }
                }
                hits.answer(&[])
            }
        }
    }
}

impl RowModel for TouchedRows {
    fn take(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        hits: &mut Hits<'_, '_>,
    ) -> u64 {
        let p = integers(parameters);
        match StatementName::from(statement) {
            StatementName::NewOrder(statement) => self.new_order(statement, p, hits),
            StatementName::Payment(statement) => self.payment(statement, parameters, p, hits),
            StatementName::OrderStatus(statement) => self.order_status(statement, p, hits),
            StatementName::Delivery(statement) => self.delivery(statement, p, hits),
            StatementName::StockLevel(statement) => self.stock_level(statement, p, hits),
            StatementName::Report(Report::REPORT_LINES) => {
                let [w, d, from, to, ..] = p;
                let (first, _) = self.lines(run_of(w, d), from);
                let lines = LINES * (to - from).unsigned_abs();
                hits.rows(first, lines);
                hits.answer(&[Value::Integer(lines.cast_signed())])
            }
            StatementName::Stock(_) => hits.row(stock(p[0], p[1])),
            StatementName::Checks(_) => unreachable!("checks are not run on a tracer"),
        }
    }

    fn end(&mut self, is_committed: bool) {
        let Some(new) = self.new.take().filter(|_| is_committed) else {
            return;
        };
        let district = &mut self.districts[new.run];
        district.last.insert(new.customer, district.next);
        district.next += 1;
        district.lines += u64::from(new.lines);
        district.recent.push_back(new.items.clone());
        if district.recent.len() > RECENT {
            district.recent.pop_front();
        }
        district.orders.push(Order {
            items: Vec::new(),
            ..new
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Client, Tpcc, Workload,
        touch::{AccessPath, Action},
        tpcc::schema::{NEW_ORDER, ORDER_LINE, ORDERS},
    };

    #[test]
    fn each_customer_has_one_initial_order() {
        let rows = TouchedRows::new(1, &NuRand::surname(7), Seed::new(3));
        let mut seen = vec![false; CUSTOMERS as usize];
        for order in 1..=CUSTOMERS {
            let customer = rows.customer_of(4, order);
            assert_eq!(rows.order_of(4, customer), order);
            assert!(!std::mem::replace(&mut seen[customer as usize - 1], true));
        }
    }

    #[test]
    fn every_customer_has_a_surname() {
        let rows = TouchedRows::new(1, &NuRand::surname(7), Seed::new(3));
        let mut all: Vec<Surname> = rows.surnames.values().copied().collect();
        all.sort_by_key(|surname| surname.first);
        let ends = all.iter().map(|surname| surname.first + surname.bearers);
        let begins = all.iter().skip(1).map(|surname| surname.first);
        assert!(
            ends.zip(begins.chain([3000]))
                .all(|(end, begin)| end.abs_diff(begin) <= 1)
        );
        assert!(all.iter().any(|surname| surname.bearers > 10));
    }

    #[test]
    fn what_transactions_touch_adds_up() {
        let workload = Tpcc::new(2, Seed::new(1)).unwrap();
        let mut client = workload.terminals_of(Seed::new(2), 0, 1);
        let mut tracer = workload.touch_tracer();
        let mut inserted = [0u64; ORDER_LINE + 1];
        let mut deleted = 0u64;
        let mut orders = 0;
        for _ in 0..20_000 {
            let kind = client.draw();
            let outcome = client.run(&mut tracer).unwrap();
            if kind == 0 && outcome == crate::Outcome::Committed {
                orders += 1;
                for touch in tracer.touches() {
                    if touch.action == Action::Insert && touch.by == AccessPath::Key {
                        inserted[touch.table.0] += u64::from(touch.rows);
                    }
                }
                let stock = tracer.touches().iter().filter(|t| t.table.0 == STOCK);
                let lines = tracer
                    .touches()
                    .iter()
                    .filter(|touch| touch.table.0 == ORDER_LINE && touch.action == Action::Insert);
                // A change and a read for each line.
                assert_eq!(stock.count(), 2 * lines.count());
            }
            deleted += tracer
                .touches()
                .iter()
                .filter(|touch| touch.action == Action::Delete)
                .count() as u64;
            tracer.forget();
        }
        assert_eq!(inserted[ORDERS], orders);
        assert_eq!(inserted[NEW_ORDER], orders);
        let lines = inserted[ORDER_LINE] as f64 / orders as f64;
        assert!((9.8..10.2).contains(&lines), "{lines} lines an order");
        assert!(
            (7000..9000).contains(&deleted),
            "{deleted} of 800 deliveries"
        );
    }
}
