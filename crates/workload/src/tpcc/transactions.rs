//! The five transaction profiles of clauses 2.4 to 2.8 as SQL.
//!
//! Locking is left to the isolation level that the adapter sets and states.
//! Rows that a transaction changes are changed before they are read (see
//! [`super::statements`]), and every change that must meet one row is checked
//! against the count of rows that the database reports as matched.

use std::fmt::Write;

use super::{
    inputs::{Customer, Delivery, NewOrder, OrderStatus, Payment, StockLevel},
    money::{cents, money},
    random::{ORIGINAL, push_surname},
    schema::{DISTRICTS, FRACTION},
    statements::{self as sql, stock_for},
};
use crate::{
    Connection, ConnectionError, Outcome,
    answer::{Prepared, UnexpectedAnswer, decimal, integer, or_null, text, timestamp},
    connection::{Access, Conflict, Row, Value},
    transact::transact,
};

/// C_DATA holds up to 500 characters.
const CUSTOMER_DATA_MAX: usize = 500;

/// What New-Order shows on the terminal beside its inputs (clause 2.4.3.3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewOrderReply {
    /// O_ID.
    pub order: i64,
    /// W_TAX in ten-thousandths.
    pub warehouse_tax: i64,
    /// D_TAX in ten-thousandths.
    pub district_tax: i64,
    /// C_DISCOUNT in ten-thousandths.
    pub discount: i64,
    /// C_LAST.
    pub surname: String,
    /// C_CREDIT.
    pub credit: String,
    /// The lines whose stock was taken, in that order.
    pub lines: Vec<LineReply>,
    /// The sum of the lines' amounts, less the discount, plus both taxes, in
    /// cents; halves are rounded up. 0 after a rollback.
    pub total_amount: i64,
}

/// One line of a [`NewOrderReply`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineReply {
    /// OL_NUMBER.
    pub number: i64,
    /// I_PRICE in cents.
    pub price: i64,
    /// OL_AMOUNT in cents.
    pub amount: i64,
    /// S_QUANTITY after the order.
    pub stock_quantity: i64,
    /// `B` when both I_DATA and S_DATA hold ORIGINAL, else `G`.
    pub brand: char,
}

/// Another transaction was faster.
#[derive(Debug, thiserror::Error)]
#[error(
    "another transaction delivered order {order} of warehouse {warehouse}, district {district} first"
)]
struct DeliveredFirst {
    warehouse: i64,
    district: i64,
    order: i64,
}

/// Runs transactions with buffers that are used again and again.
#[derive(Debug, Default)]
pub(super) struct Runner {
    pub(super) new_order: NewOrderReply,
    customers: Vec<i64>,
    surname: String,
    district_info: String,
    old_data: String,
    data: String,
}

impl Runner {
    pub(super) fn new_order(
        &mut self,
        connection: &mut dyn Connection,
        input: &NewOrder,
    ) -> Result<Outcome, ConnectionError> {
        transact(connection, sql::STATEMENTS, Access::Write, |connection| {
            self.place_order(connection, input)
        })
    }

    fn place_order(
        &mut self,
        connection: &mut Prepared<'_>,
        input: &NewOrder,
    ) -> Result<Outcome, ConnectionError> {
        let w = Value::Integer(input.warehouse);
        let d = Value::Integer(input.district);
        let reply = &mut self.new_order;
        reply.lines.clear();
        reply.total_amount = 0;
        reply.warehouse_tax =
            connection.one(sql::WAREHOUSE_TAX, &[w], |row| decimal(row, 0, FRACTION))?;
        connection.change_one(sql::TAKE_ORDER_NUMBER, &[Value::Integer(1), w, d])?;
        let (district_tax, next) = connection.one(sql::DISTRICT_TAX, &[w, d], |row| {
            Some((decimal(row, 0, FRACTION)?, integer(row, 1)?))
        })?;
        reply.district_tax = district_tax;
        reply.order = next - 1;
        let customer = [w, d, Value::Integer(input.customer)];
        let (surname, credit) = (&mut reply.surname, &mut reply.credit);
        reply.discount = connection.one(sql::CUSTOMER_DISCOUNT, &customer, |row| {
            copy(text(row, 1)?, surname);
            copy(text(row, 2)?, credit);
            decimal(row, 0, FRACTION)
        })?;
        let order = Value::Integer(reply.order);
        let is_home = |line: &super::inputs::Line| line.supply_warehouse == input.warehouse;
        connection.change_one(
            sql::INSERT_ORDER,
            &[
                order,
                d,
                w,
                Value::Integer(input.customer),
                Value::Timestamp(input.date),
                Value::Integer(input.lines.len() as i64),
                Value::Integer(i64::from(input.lines.iter().all(is_home))),
            ],
        )?;
        connection.change_one(sql::INSERT_NEW_ORDER, &[order, d, w])?;
        for line in &input.lines {
            let item = Value::Integer(line.item);
            let found = connection.at_most_one(sql::ITEM_PRICE, &[item], |row| {
                Some((cents(row, 0)?, text(row, 2)?.contains(ORIGINAL)))
            })?;
            let Some((price, item_is_original)) = found else {
                return Ok(Outcome::RolledBack);
            };
            let quantity = Value::Integer(line.quantity);
            let supply = Value::Integer(line.supply_warehouse);
            connection.change_one(
                sql::TAKE_STOCK,
                &[
                    quantity,
                    quantity,
                    Value::Integer(1),
                    Value::Integer(i64::from(!is_home(line))),
                    supply,
                    item,
                ],
            )?;
            let info = &mut self.district_info;
            let (stock_quantity, stock_is_original) =
                connection.one(stock_for(input.district), &[supply, item], |row| {
                    copy(text(row, 2)?, info);
                    Some((integer(row, 0)?, text(row, 1)?.contains(ORIGINAL)))
                })?;
            let amount = line.quantity * price;
            connection.change_one(
                sql::INSERT_ORDER_LINE,
                &[
                    order,
                    d,
                    w,
                    Value::Integer(line.number),
                    item,
                    supply,
                    quantity,
                    money(amount),
                    Value::Text(info),
                ],
            )?;
            reply.lines.push(LineReply {
                number: line.number,
                price,
                amount,
                stock_quantity,
                brand: match item_is_original && stock_is_original {
                    true => 'B',
                    false => 'G',
                },
            });
        }
        let sum = reply.lines.iter().map(|line| line.amount).sum();
        let tax = reply.warehouse_tax + reply.district_tax;
        reply.total_amount = total_amount(sum, reply.discount, tax);
        Ok(Outcome::Committed)
    }

    pub(super) fn payment(
        &mut self,
        connection: &mut dyn Connection,
        input: &Payment,
    ) -> Result<Outcome, ConnectionError> {
        transact(connection, sql::STATEMENTS, Access::Write, |connection| {
            self.pay(connection, input)
        })
    }

    fn pay(
        &mut self,
        connection: &mut Prepared<'_>,
        input: &Payment,
    ) -> Result<Outcome, ConnectionError> {
        let w = Value::Integer(input.warehouse);
        let d = Value::Integer(input.district);
        let amount = money(input.amount);
        // H_DATA is both names, four blanks between them.
        let history_data = &mut self.data;
        history_data.clear();
        connection.change_one(sql::PAY_WAREHOUSE, &[amount, w])?;
        connection.one(sql::WAREHOUSE_ADDRESS, &[w], |row| {
            history_data.push_str(text(row, 0)?);
            texts(row, 1..=5)
        })?;
        history_data.push_str("    ");
        connection.change_one(sql::PAY_DISTRICT, &[amount, w, d])?;
        connection.one(sql::DISTRICT_ADDRESS, &[w, d], |row| {
            history_data.push_str(text(row, 0)?);
            texts(row, 1..=5)
        })?;
        let c_w = Value::Integer(input.customer_warehouse);
        let c_d = Value::Integer(input.customer_district);
        let number = self.find_customer(connection, c_w, c_d, input.customer)?;
        let c = Value::Integer(number);
        connection.change_one(
            sql::PAY_CUSTOMER,
            &[amount, amount, Value::Integer(1), c_w, c_d, c],
        )?;
        let has_bad_credit = connection.one(sql::CUSTOMER_DETAILS, &[c_w, c_d, c], |row| {
            texts(row, 0..=8)?;
            timestamp(row, 9)?;
            cents(row, 11)?;
            decimal(row, 12, FRACTION)?;
            cents(row, 13)?;
            Some(text(row, 10)? == "BC")
        })?;
        connection.change_one(
            sql::INSERT_HISTORY,
            &[
                c,
                c_d,
                c_w,
                d,
                w,
                Value::Timestamp(input.date),
                amount,
                Value::Text(&self.data),
            ],
        )?;
        if has_bad_credit {
            let old = &mut self.old_data;
            connection.one(sql::CUSTOMER_DATA, &[c_w, c_d, c], |row| {
                copy(text(row, 0)?, old);
                Some(())
            })?;
            prepend_payment(&mut self.data, input, number, old);
            connection.change_one(
                sql::REWRITE_CUSTOMER_DATA,
                &[Value::Text(&self.data), c_w, c_d, c],
            )?;
        }
        Ok(Outcome::Committed)
    }

    pub(super) fn order_status(
        &mut self,
        connection: &mut dyn Connection,
        input: &OrderStatus,
    ) -> Result<Outcome, ConnectionError> {
        transact(connection, sql::STATEMENTS, Access::Read, |connection| {
            let w = Value::Integer(input.warehouse);
            let d = Value::Integer(input.district);
            let number = self.find_customer(connection, w, d, input.customer)?;
            let c = Value::Integer(number);
            connection.one(sql::CUSTOMER_BALANCE, &[w, d, c], |row| {
                cents(row, 0)?;
                texts(row, 1..=3)
            })?;
            let order = connection.one(sql::LAST_ORDER, &[w, d, c], |row| {
                timestamp(row, 1)?;
                or_null(row, 2, integer)?;
                integer(row, 0)
            })?;
            let order = [w, d, Value::Integer(order)];
            connection.all(sql::LINES_OF_ORDER, &order, |row| {
                integer(row, 0)?;
                integer(row, 1)?;
                integer(row, 2)?;
                cents(row, 3)?;
                or_null(row, 4, timestamp)?;
                Some(())
            })?;
            Ok(Outcome::Committed)
        })
    }

    /// Delivers the oldest new order of each district; answers how many
    /// districts had none and were skipped.
    pub(super) fn delivery(
        &mut self,
        connection: &mut dyn Connection,
        input: &Delivery,
    ) -> Result<u64, ConnectionError> {
        let mut skipped = 0;
        transact(connection, sql::STATEMENTS, Access::Write, |connection| {
            for district in 1..=DISTRICTS {
                skipped += u64::from(!deliver_oldest(connection, input, district)?);
            }
            Ok(Outcome::Committed)
        })?;
        Ok(skipped)
    }

    pub(super) fn stock_level(
        &mut self,
        connection: &mut dyn Connection,
        input: &StockLevel,
    ) -> Result<Outcome, ConnectionError> {
        transact(connection, sql::STATEMENTS, Access::Read, |connection| {
            let w = Value::Integer(input.warehouse);
            let d = Value::Integer(input.district);
            let next = connection.one(sql::NEXT_ORDER_NUMBER, &[w, d], |row| integer(row, 0))?;
            let last_20 = [
                w,
                d,
                Value::Integer(next.saturating_sub(20)),
                Value::Integer(next),
                w,
                Value::Integer(input.threshold),
            ];
            connection.one(sql::LOW_STOCK, &last_20, |row| integer(row, 0))?;
            Ok(Outcome::Committed)
        })
    }

    /// The number of the chosen customer. Of n with one surname, in the order
    /// of their first names, it is the one at n / 2, rounded up.
    fn find_customer(
        &mut self,
        connection: &mut Prepared<'_>,
        warehouse: Value<'_>,
        district: Value<'_>,
        customer: Customer,
    ) -> Result<i64, ConnectionError> {
        let surname = match customer {
            Customer::Number(number) => return Ok(number),
            Customer::Surname(surname) => surname,
        };
        self.surname.clear();
        push_surname(&mut self.surname, surname);
        self.customers.clear();
        let customers = &mut self.customers;
        connection.all(
            sql::CUSTOMERS_BY_NAME,
            &[warehouse, district, Value::Text(&self.surname)],
            |row| {
                customers.push(integer(row, 0)?);
                Some(())
            },
        )?;
        middle(&self.customers).ok_or_else(|| {
            connection.failed(
                sql::CUSTOMERS_BY_NAME,
                UnexpectedAnswer::Rows {
                    wanted: 1,
                    found: 0,
                },
            )
        })
    }
}

/// Delivers a district's oldest new order; `false` when there is none.
fn deliver_oldest(
    connection: &mut Prepared<'_>,
    input: &Delivery,
    district: i64,
) -> Result<bool, ConnectionError> {
    let w = Value::Integer(input.warehouse);
    let d = Value::Integer(district);
    let oldest = connection.one(sql::OLDEST_NEW_ORDER, &[w, d], |row| {
        or_null(row, 0, integer)
    })?;
    let Some(oldest) = oldest else {
        return Ok(false);
    };
    let order = Value::Integer(oldest);
    match connection.execute(sql::DELETE_NEW_ORDER, &[w, d, order])? {
        1 => {}
        // Under READ COMMITTED another delivery may commit between the two
        // statements. Trying again finds the next order.
        0 => {
            return Err(ConnectionError::Conflict {
                kind: Conflict::Serialisation,
                source: Box::new(DeliveredFirst {
                    warehouse: input.warehouse,
                    district,
                    order: oldest,
                }),
            });
        }
        found => {
            return Err(connection.failed(
                sql::DELETE_NEW_ORDER,
                UnexpectedAnswer::Rows { wanted: 1, found },
            ));
        }
    }
    connection.change_one(
        sql::SET_CARRIER,
        &[Value::Integer(input.carrier), w, d, order],
    )?;
    let customer = connection.one(sql::ORDER_CUSTOMER, &[w, d, order], |row| integer(row, 0))?;
    let lines = connection.execute(
        sql::DELIVER_LINES,
        &[Value::Timestamp(input.date), w, d, order],
    )?;
    if lines == 0 {
        return Err(connection.failed(
            sql::DELIVER_LINES,
            UnexpectedAnswer::Rows {
                wanted: 5,
                found: 0,
            },
        ));
    }
    let amount = connection.one(sql::ORDER_AMOUNT, &[w, d, order], |row| cents(row, 0))?;
    connection.change_one(
        sql::DELIVER_TO_CUSTOMER,
        &[
            money(amount),
            Value::Integer(1),
            w,
            d,
            Value::Integer(customer),
        ],
    )?;
    Ok(true)
}

/// `sum` × (1 - `discount`) × (1 + `tax`) in cents, halves rounded up; the
/// latter two in ten-thousandths (clause 2.4.2.2). With at most 15 lines of
/// 1,000.00 the product stays below 10^15.
fn total_amount(sum: i64, discount: i64, tax: i64) -> i64 {
    const ONE: i64 = 10_000;
    let exact = i128::from(sum) * i128::from(ONE - discount) * i128::from(ONE + tax);
    let unit = i128::from(ONE * ONE);
    ((exact + unit / 2).div_euclid(unit)) as i64
}

/// The value at position n / 2 rounded up, counted from 1.
fn middle(values: &[i64]) -> Option<i64> {
    let position = values.len().div_ceil(2);
    values.get(position.checked_sub(1)?).copied()
}

/// Makes `data` the old text with the payment put before it, cut after 500
/// characters (clause 2.5.2.2).
fn prepend_payment(data: &mut String, input: &Payment, customer: i64, old: &str) {
    data.clear();
    write!(
        data,
        "{customer} {} {} {} {} {}.{:02} ",
        input.customer_district,
        input.customer_warehouse,
        input.district,
        input.warehouse,
        input.amount / 100,
        input.amount % 100,
    )
    .expect("a String takes all text");
    data.push_str(old);
    if let Some((end, _)) = data.char_indices().nth(CUSTOMER_DATA_MAX) {
        data.truncate(end);
    }
}

fn copy(from: &str, to: &mut String) {
    to.clear();
    to.push_str(from);
}

/// Reads texts that only a screen would show.
fn texts(row: &dyn Row, mut columns: std::ops::RangeInclusive<usize>) -> Option<()> {
    columns.try_for_each(|column| text(row, column).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_exact_and_rounds_halves_up() {
        for (sum, discount, tax, total) in [
            (10_000, 0, 0, 10_000),
            (10_000, 5000, 4000, 7000),
            // 123.45 × 0.8766 × 1.3333 = 144.28475...
            (12_345, 1234, 3333, 14_428),
            // 0.01 × 0.5 × 1 = 0.005.
            (1, 5000, 0, 1),
            (1, 5001, 0, 0),
            (1_500_000, 0, 4000, 2_100_000),
        ] {
            assert_eq!(
                total_amount(sum, discount, tax),
                total,
                "{sum} {discount} {tax}"
            );
        }
    }

    #[test]
    fn the_middle_customer_is_rounded_up() {
        for (values, wanted) in [
            (&[][..], None),
            (&[7][..], Some(7)),
            (&[7, 8][..], Some(7)),
            (&[7, 8, 9][..], Some(8)),
            (&[6, 7, 8, 9][..], Some(7)),
        ] {
            assert_eq!(middle(values), wanted);
        }
    }

    #[test]
    fn customer_data_is_cut_after_500_characters() {
        let input = Payment {
            warehouse: 4,
            district: 5,
            customer_warehouse: 2,
            customer_district: 3,
            customer: Customer::Number(1),
            amount: 123_405,
            date: 0,
        };
        let mut data = String::from("left over");
        prepend_payment(&mut data, &input, 1, "old");
        assert_eq!(data, "1 3 2 5 4 1234.05 old");
        // Two bytes a character: bytes must not be counted.
        prepend_payment(&mut data, &input, 1, &"é".repeat(500));
        assert_eq!(data.chars().count(), 500);
        assert!(data.starts_with("1 3 2 5 4 1234.05 é"));
    }
}
