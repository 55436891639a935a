//! The twelve consistency conditions of clause 3.3.2, that the database holds
//! the constants it was made with (clause 2.1.6.1), and three conditions that
//! the specification does not name ([`BEYOND`]).
//!
//! The conditions are checked after every run, so they share their scans: each
//! table is read once in key order with only the columns that are compared,
//! district by district, and joined here. Only `history`, which has no key, is
//! read once for each [`WAREHOUSES_AT_ONCE`] warehouses, into one sum and one
//! count a customer, and `stock` is summed by the database. Memory is about
//! 360 kB a warehouse, and the orders of one district.
//!
//! Sums are exact, in cents; a sum over no rows is 0. Amounts saturate rather
//! than overflow: bytes in a damaged file may hold anything.

use std::fmt;

use super::{
    schema::{CUSTOMERS, DISTRICTS, FIRST_UNDELIVERED, ITEMS},
    statements as sql,
};
use crate::{
    Condition, Connection, Result,
    answer::{Prepared, integer, or_null, text, timestamp},
    connection::Value,
    money::{Money, cents},
};

/// Warehouses whose customers' payments are summed in one scan of `history`:
/// 46 MB of sums and counts.
const WAREHOUSES_AT_ONCE: i64 = 128;

const DISTRICTS_LEN: usize = DISTRICTS as usize;
const CUSTOMERS_LEN: usize = CUSTOMERS as usize;

/// Clauses in the order of their conditions. The first is no condition of
/// 3.3.2.
const CLAUSES: [&str; 13] = [
    "2.1.6.1", "3.3.2.1", "3.3.2.2", "3.3.2.3", "3.3.2.4", "3.3.2.5", "3.3.2.6", "3.3.2.7",
    "3.3.2.8", "3.3.2.9", "3.3.2.10", "3.3.2.11", "3.3.2.12",
];

/// Conditions beyond clause 3.3.2, behind those:
///
/// - `item`, `warehouse`, `district`, `customer` and `stock`, to which no
///   transaction adds a row, have as many as were loaded;
/// - S_YTD of a warehouse's stock, which is loaded with 0, adds up to
///   OL_QUANTITY of the lines that it has supplied since the load;
/// - C_PAYMENT_CNT is the number of the customer's rows in `history`, of which
///   the load makes one for a count of 1 (clause 4.3.3.1).
const BEYOND: [&str; 3] = [
    "rows as loaded",
    "sum(S_YTD) = sum(OL_QUANTITY)",
    "C_PAYMENT_CNT = rows of HISTORY",
];

/// Positions of [`BEYOND`] among all conditions.
const ROWS: usize = CLAUSES.len();
const QUANTITIES: usize = ROWS + 1;
const PAYMENTS: usize = ROWS + 2;

/// Checks all conditions. `constants` are the rows that `octavo_constant` must
/// have.
pub(super) fn check(
    connection: &mut dyn Connection,
    warehouses: u32,
    constants: &[(&str, i64)],
) -> Result<Vec<Condition>> {
    let connection = &mut Prepared::new(connection, sql::STATEMENTS);
    let names = CLAUSES.into_iter().chain(BEYOND);
    let mut checks = Checks(names.map(Condition::new).collect());
    check_constants(connection, constants, &mut checks)?;
    let mut supplied = vec![0; warehouses as usize];
    let warehouses = i64::from(warehouses);
    let mut low = 1;
    while low <= warehouses {
        let high = warehouses.min(low + WAREHOUSES_AT_ONCE - 1);
        let payments = Payments::read(connection, low, high)?;
        for warehouse in low..=high {
            check_warehouse(connection, warehouse, &payments, &mut supplied, &mut checks)?;
        }
        low = high + 1;
    }
    check_stock_and_rows(connection, &supplied, &mut checks)?;
    Ok(checks.0)
}

/// What was found so far, a condition each.
struct Checks(Vec<Condition>);

impl Checks {
    /// Counts one comparison for a condition of clause 3.3.2 (0 for the
    /// constants, more for [`BEYOND`]); `words` says what was compared.
    fn expect(&mut self, condition: usize, holds: bool, words: impl FnOnce() -> String) {
        self.0[condition].expect(holds, words);
    }
}

fn check_constants(
    connection: &mut Prepared<'_>,
    wanted: &[(&str, i64)],
    checks: &mut Checks,
) -> Result<()> {
    let mut found: Vec<(String, i64)> = Vec::new();
    connection.all(sql::CHECK_CONSTANTS, &[], |row| {
        found.push((text(row, 0)?.to_owned(), integer(row, 1)?));
        Some(())
    })?;
    for (name, wanted) in wanted {
        let value = found.iter().find(|(found, _)| found == name);
        let value = value.map(|(_, value)| *value);
        checks.expect(0, value == Some(*wanted), || {
            let value = value.map_or("absent".into(), |value| value.to_string());
            format!("{name} is {value} in the database, {wanted} in this workload")
        });
    }
    Ok(())
}

/// The rows of tables that only the load fills, and S_YTD against what was
/// `supplied` by each warehouse.
fn check_stock_and_rows(
    connection: &mut Prepared<'_>,
    supplied: &[i64],
    checks: &mut Checks,
) -> Result<()> {
    let warehouses = supplied.len() as i64;
    let mut stock = 0i64;
    let mut ytd = vec![0; supplied.len()];
    connection.all(sql::CHECK_STOCK, &[], |row| {
        add(&mut stock, integer(row, 1)?);
        if let Some(w) = position(integer(row, 0)?, 1, ytd.len()) {
            ytd[w] = or_null(row, 2, integer)?.unwrap_or(0);
        }
        Some(())
    })?;
    for (w, (ytd, supplied)) in (1..).zip(ytd.iter().zip(supplied)) {
        checks.expect(QUANTITIES, ytd == supplied, || {
            format!("warehouse {w}: sum(S_YTD) is {ytd}, but {supplied} were ordered of it")
        });
    }
    let mut count = |statement| connection.count(statement);
    for (table, rows, loaded) in [
        ("item", count(sql::COUNT_ITEMS)?, ITEMS),
        ("warehouse", count(sql::COUNT_WAREHOUSES)?, warehouses),
        (
            "district",
            count(sql::COUNT_DISTRICTS)?,
            warehouses * DISTRICTS,
        ),
        (
            "customer",
            count(sql::COUNT_CUSTOMERS)?,
            warehouses * DISTRICTS * CUSTOMERS,
        ),
        ("stock", stock, warehouses * ITEMS),
    ] {
        checks.expect(ROWS, rows == loaded, || {
            format!("{table} has {rows} rows, but {loaded} were loaded")
        });
    }
    Ok(())
}

/// Sums of H_AMOUNT in cents for some warehouses, and the rows a customer.
struct Payments {
    low: i64,
    by_warehouse: Vec<i64>,
    by_district: Vec<i64>,
    by_customer: Vec<i64>,
    rows_by_customer: Vec<u32>,
}

impl Payments {
    fn read(connection: &mut Prepared<'_>, low: i64, high: i64) -> Result<Self> {
        let warehouses = (high - low + 1) as usize;
        let mut sums = Self {
            low,
            by_warehouse: vec![0; warehouses],
            by_district: vec![0; warehouses * DISTRICTS_LEN],
            by_customer: vec![0; warehouses * DISTRICTS_LEN * CUSTOMERS_LEN],
            rows_by_customer: vec![0; warehouses * DISTRICTS_LEN * CUSTOMERS_LEN],
        };
        let (from, to) = (Value::Integer(low), Value::Integer(high));
        connection.all(sql::CHECK_HISTORY, &[from, to, from, to], |row| {
            let amount = or_null(row, 5, cents)?.unwrap_or(0);
            if let Some(w) = position(integer(row, 0)?, low, warehouses) {
                add(&mut sums.by_warehouse[w], amount);
                if let Some(d) = position(integer(row, 1)?, 1, DISTRICTS_LEN) {
                    add(&mut sums.by_district[w * DISTRICTS_LEN + d], amount);
                }
            }
            let w = position(integer(row, 2)?, low, warehouses);
            let d = position(integer(row, 3)?, 1, DISTRICTS_LEN);
            let c = position(integer(row, 4)?, 1, CUSTOMERS_LEN);
            if let (Some(w), Some(d), Some(c)) = (w, d, c) {
                let customer = (w * DISTRICTS_LEN + d) * CUSTOMERS_LEN + c;
                add(&mut sums.by_customer[customer], amount);
                let rows = &mut sums.rows_by_customer[customer];
                *rows = rows.saturating_add(1);
            }
            Some(())
        })?;
        Ok(sums)
    }
}

/// Where a number stands among `count` that begin with `first`.
fn position(number: i64, first: i64, count: usize) -> Option<usize> {
    let position = usize::try_from(number.checked_sub(first)?).ok()?;
    (position < count).then_some(position)
}

fn add(sum: &mut i64, value: i64) {
    *sum = sum.saturating_add(value);
}

#[derive(Clone, Copy)]
struct District {
    ytd: i64,
    next_order: i64,
}

/// A customer with what was delivered to it.
#[derive(Clone, Copy, Default)]
struct Customer {
    exists: bool,
    balance: i64,
    ytd_payment: i64,
    payments: i64,
    /// Sum of OL_AMOUNT over delivered lines.
    delivered: i64,
}

struct Order {
    id: i64,
    customer: i64,
    has_carrier: bool,
    lines_wanted: i64,
    is_new: bool,
    lines: i64,
}

fn check_warehouse(
    connection: &mut Prepared<'_>,
    warehouse: i64,
    payments: &Payments,
    supplied: &mut [i64],
    checks: &mut Checks,
) -> Result<()> {
    let w = [Value::Integer(warehouse)];
    let in_batch = (warehouse - payments.low) as usize;
    let warehouse_ytd = connection.at_most_one(sql::CHECK_WAREHOUSE, &w, |row| cents(row, 0))?;
    let mut districts = [None; DISTRICTS_LEN];
    connection.all(sql::CHECK_DISTRICTS, &w, |row| {
        let district = District {
            ytd: cents(row, 1)?,
            next_order: integer(row, 2)?,
        };
        if let Some(d) = position(integer(row, 0)?, 1, DISTRICTS_LEN) {
            districts[d] = Some(district);
        }
        Some(())
    })?;
    let district_ytd = districts
        .iter()
        .flatten()
        .fold(0, |sum: i64, district: &District| {
            sum.saturating_add(district.ytd)
        });
    let paid = payments.by_warehouse[in_batch];
    checks.expect(1, warehouse_ytd == Some(district_ytd), || {
        format!(
            "warehouse {warehouse}: W_YTD is {}, sum(D_YTD) {}",
            amount(warehouse_ytd),
            Money(district_ytd)
        )
    });
    checks.expect(8, warehouse_ytd == Some(paid), || {
        format!(
            "warehouse {warehouse}: W_YTD is {}, sum(H_AMOUNT) {}",
            amount(warehouse_ytd),
            Money(paid)
        )
    });

    let mut customers = vec![Customer::default(); DISTRICTS_LEN * CUSTOMERS_LEN];
    let mut deliveries = [0i64; DISTRICTS_LEN];
    connection.all(sql::CHECK_CUSTOMERS, &w, |row| {
        let (balance, ytd_payment) = (cents(row, 2)?, cents(row, 3)?);
        let (count, payments) = (integer(row, 4)?, integer(row, 5)?);
        if let Some(d) = position(integer(row, 0)?, 1, DISTRICTS_LEN) {
            add(&mut deliveries[d], count);
            if let Some(c) = position(integer(row, 1)?, 1, CUSTOMERS_LEN) {
                customers[d * CUSTOMERS_LEN + c] = Customer {
                    exists: true,
                    balance,
                    ytd_payment,
                    payments,
                    delivered: 0,
                };
            }
        }
        Some(())
    })?;

    for (d, district) in districts.iter().enumerate() {
        let place = DistrictKey {
            warehouse,
            district: d as i64 + 1,
        };
        let paid = payments.by_district[in_batch * DISTRICTS_LEN + d];
        let ytd = district.map(|district| district.ytd);
        checks.expect(9, ytd == Some(paid), || {
            let ytd = amount(ytd);
            format!("{place}: D_YTD is {ytd}, sum(H_AMOUNT) {}", Money(paid))
        });
        let own = d * CUSTOMERS_LEN..(d + 1) * CUSTOMERS_LEN;
        let customers = &mut customers[own];
        let mut orders = DistrictOrders::read(connection, place)?;
        orders.read_lines(connection, place, customers, supplied, checks)?;
        orders.check_totals(place, *district, deliveries[d], checks);
        orders.check_each(place, checks);
        let first = (in_batch * DISTRICTS_LEN + d) * CUSTOMERS_LEN;
        let all = first..first + CUSTOMERS_LEN;
        let paid = &payments.by_customer[all.clone()];
        let rows = &payments.rows_by_customer[all];
        check_customers(place, customers, paid, rows, checks);
    }
    Ok(())
}

/// The orders of one district, joined with their rows in NEW-ORDER and their lines.
struct DistrictOrders {
    orders: Vec<Order>,
    new_orders: i64,
    /// Smallest and largest NO_O_ID, if there is any.
    oldest: Option<i64>,
    newest: Option<i64>,
    lines: i64,
}

impl DistrictOrders {
    /// Reads ORDER and NEW-ORDER, without the lines. Both sides come in the order of
    /// O_ID, so one walk joins them.
    fn read(connection: &mut Prepared<'_>, place: DistrictKey) -> Result<Self> {
        let key = &place.values();
        let mut orders: Vec<Order> = Vec::with_capacity(CUSTOMERS_LEN);
        connection.all(sql::CHECK_ORDERS, key, |row| {
            orders.push(Order {
                id: integer(row, 0)?,
                customer: integer(row, 1)?,
                has_carrier: or_null(row, 2, integer)?.is_some(),
                lines_wanted: integer(row, 3)?,
                is_new: false,
                lines: 0,
            });
            Some(())
        })?;
        let (mut new_orders, mut oldest, mut newest) = (0, None, None);
        let mut at = 0;
        connection.all(sql::CHECK_NEW_ORDERS, key, |row| {
            let id = integer(row, 0)?;
            new_orders += 1;
            oldest.get_or_insert(id);
            newest = Some(id);
            if let Some(order) = walk_to(&mut orders, &mut at, id) {
                order.is_new = true;
            }
            Some(())
        })?;
        Ok(Self {
            orders,
            new_orders,
            oldest,
            newest,
            lines: 0,
        })
    }

    /// Reads the order lines and checks condition 7 of each. Adds delivered amounts to the
    /// customers, and to each warehouse what it has supplied since the load.
    fn read_lines(
        &mut self,
        connection: &mut Prepared<'_>,
        place: DistrictKey,
        customers: &mut [Customer],
        supplied: &mut [i64],
        checks: &mut Checks,
    ) -> Result<()> {
        let mut at = 0;
        connection.all(sql::CHECK_ORDER_LINES, &place.values(), |row| {
            self.lines += 1;
            let id = integer(row, 0)?;
            let is_delivered = or_null(row, 1, timestamp)?.is_some();
            let amount = or_null(row, 2, cents)?.unwrap_or(0);
            if id > CUSTOMERS
                && let Some(w) = position(integer(row, 3)?, 1, supplied.len())
            {
                add(&mut supplied[w], integer(row, 4)?);
            }
            let Some(order) = walk_to(&mut self.orders, &mut at, id) else {
                // Counted in condition 4; there is no order to compare with.
                return Some(());
            };
            order.lines += 1;
            let has_carrier = order.has_carrier;
            checks.expect(7, is_delivered == has_carrier, || {
                let word = |set| if set { "set" } else { "NULL" };
                format!(
                    "{place}, order {id}: OL_DELIVERY_D is {} in a line, O_CARRIER_ID {}",
                    word(is_delivered),
                    word(has_carrier)
                )
            });
            if is_delivered && let Some(c) = position(order.customer, 1, customers.len()) {
                add(&mut customers[c].delivered, amount);
            }
            Some(())
        })?;
        Ok(())
    }

    /// Conditions 2 to 4 and 11, of all orders together. `deliveries` is the sum of
    /// C_DELIVERY_CNT.
    fn check_totals(
        &self,
        place: DistrictKey,
        district: Option<District>,
        deliveries: i64,
        checks: &mut Checks,
    ) {
        let &Self {
            ref orders,
            new_orders,
            oldest,
            newest,
            lines,
        } = self;
        let last = orders.last().map(|order| order.id);
        let next = district.map(|district| district.next_order);
        // A district whose orders are all delivered has no max(NO_O_ID).
        let holds = next.is_some()
            && next.and_then(|next| next.checked_sub(1)) == Some(last.unwrap_or(0))
            && (newest.is_none() || newest == last);
        checks.expect(2, holds, || {
            format!(
                "{place}: D_NEXT_O_ID is {}, max(O_ID) {}, max(NO_O_ID) {}",
                number(next),
                number(last),
                number(newest)
            )
        });
        let span = match (oldest, newest) {
            (Some(oldest), Some(newest)) => newest.saturating_sub(oldest).saturating_add(1),
            _ => 0,
        };
        checks.expect(3, span == new_orders, || {
            format!(
                "{place}: NO_O_ID is from {} to {}, but there are {new_orders} rows",
                number(oldest),
                number(newest)
            )
        });
        let wanted = orders
            .iter()
            .fold(0, |sum: i64, order| sum.saturating_add(order.lines_wanted));
        checks.expect(4, wanted == lines, || {
            format!("{place}: sum(O_OL_CNT) is {wanted}, but there are {lines} order lines")
        });
        // The specification states the difference for a fresh population, where
        // nobody has had a delivery; each one since took a row from NEW-ORDER.
        let delivered = orders.len() as i64 - new_orders;
        let loaded = FIRST_UNDELIVERED - 1;
        let expected = deliveries.saturating_add(loaded);
        checks.expect(11, delivered == expected, || {
            format!(
                "{place}: {} orders less {new_orders} new ones are {delivered}, \
                 not {loaded} and {deliveries} deliveries",
                orders.len()
            )
        });
    }

    /// Conditions 5 and 6, of each order.
    fn check_each(&self, place: DistrictKey, checks: &mut Checks) {
        for order in &self.orders {
            let id = order.id;
            checks.expect(5, order.has_carrier != order.is_new, || {
                let (carrier, new) = match order.is_new {
                    true => ("set", "a row"),
                    false => ("NULL", "no row"),
                };
                format!("{place}, order {id}: O_CARRIER_ID is {carrier}, with {new} in NEW-ORDER")
            });
            checks.expect(6, order.lines_wanted == order.lines, || {
                format!(
                    "{place}, order {id}: O_OL_CNT is {}, but there are {} order lines",
                    order.lines_wanted, order.lines
                )
            });
        }
    }
}

/// Conditions 10 and 12 for the customers of one district, and their payments.
fn check_customers(
    place: DistrictKey,
    customers: &[Customer],
    paid: &[i64],
    rows: &[u32],
    checks: &mut Checks,
) {
    for (c, ((customer, paid), rows)) in (1..).zip(customers.iter().zip(paid).zip(rows)) {
        let mut expect = |condition, holds: bool, words: &dyn Fn() -> String| {
            checks.expect(condition, customer.exists && holds, || {
                match customer.exists {
                    true => format!("{place}, customer {c}: {}", words()),
                    false => format!("{place}: there is no customer {c}"),
                }
            });
        };
        let Customer {
            balance, delivered, ..
        } = *customer;
        expect(10, balance == delivered.saturating_sub(*paid), &|| {
            format!(
                "C_BALANCE is {}, but {} were delivered and {} paid",
                Money(balance),
                Money(delivered),
                Money(*paid)
            )
        });
        let both = balance.saturating_add(customer.ytd_payment);
        expect(12, both == delivered, &|| {
            format!(
                "C_BALANCE + C_YTD_PAYMENT is {}, but {} were delivered",
                Money(both),
                Money(delivered)
            )
        });
        let payments = customer.payments;
        expect(PAYMENTS, payments == i64::from(*rows), &|| {
            format!("C_PAYMENT_CNT is {payments}, but HISTORY has {rows} rows of it")
        });
    }
}

/// Moves `at` to the first order that is not before `id` and answers it if it
/// is `id`.
fn walk_to<'o>(orders: &'o mut [Order], at: &mut usize, id: i64) -> Option<&'o mut Order> {
    while orders.get(*at).is_some_and(|order| order.id < id) {
        *at += 1;
    }
    orders.get_mut(*at).filter(|order| order.id == id)
}

#[derive(Clone, Copy)]
struct DistrictKey {
    warehouse: i64,
    district: i64,
}

impl DistrictKey {
    fn values(self) -> [Value<'static>; 2] {
        [self.warehouse, self.district].map(Value::Integer)
    }
}

impl fmt::Display for DistrictKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "warehouse {}, district {}",
            self.warehouse, self.district
        )
    }
}

fn amount(cents: Option<i64>) -> String {
    cents.map_or("missing".into(), |cents| Money(cents).to_string())
}

fn number(value: Option<i64>) -> String {
    value.map_or("absent".into(), |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_outside_are_refused() {
        for (number, wanted) in [
            (0, None),
            (1, Some(0)),
            (10, Some(9)),
            (11, None),
            (i64::MIN, None),
        ] {
            assert_eq!(position(number, 1, 10), wanted);
        }
    }
}
