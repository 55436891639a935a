//! Runs a client's transactions: buffers, code that several transactions share, and those
//! that only read (clauses 2.6 and 2.8, and reports).

use std::mem;

use crate::{
    Connection, Outcome, Result,
    answer::{Pipeline, Prepared, UnexpectedAnswer, integer, or_null, text, timestamp, transact},
    connection::{Access, Row, Value},
    money::cents,
    tpcc::{
        inputs::{Customer, OrderStatus, Report, StockLevel},
        random::push_surname,
        statements as sql,
    },
};

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

/// The item of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    /// I_PRICE in cents.
    pub(super) price: i64,
    /// OL_AMOUNT in cents.
    pub(super) amount: i64,
    /// Whether I_DATA holds ORIGINAL.
    pub(super) is_original: bool,
}

/// A district's oldest new order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    pub(super) district: i64,
    pub(super) order: i64,
    pub(super) customer: i64,
    /// The sum of its lines' amounts, in cents.
    pub(super) amount: i64,
}

/// Runs transactions with buffers that are reused.
#[derive(Debug, Default)]
pub(in crate::tpcc) struct Runner {
    pub(in crate::tpcc) new_order: NewOrderReply,
    /// Empty between two exchanges. An error drops its memory.
    pub(super) pipeline: Pipeline<'static>,
    /// The items of New-Order's lines, `None` for one that there is not.
    pub(super) items: Vec<Option<Item>>,
    /// The S_DIST texts of New-Order's lines, and old ones after them.
    pub(super) district_infos: Vec<String>,
    pub(super) due: Vec<Due>,
    customers: Vec<i64>,
    surname: String,
    pub(super) old_data: String,
    pub(super) data: String,
}

impl Runner {
    pub(in crate::tpcc) fn order_status(
        &mut self,
        connection: &mut dyn Connection,
        input: &OrderStatus,
    ) -> Result<Outcome> {
        transact(connection, sql::STATEMENTS, Access::Read, |connection| {
            let w = Value::Integer(input.warehouse);
            let d = Value::Integer(input.district);
            let number = self.find_customer(connection, w, d, input.customer)?;
            let customer = [w, d, Value::Integer(number)];
            let order = [w, d, Value::Integer(self.last_order(connection, customer)?)];
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

    /// Reads a customer as Order-Status shows it; answers O_ID of its last
    /// order.
    fn last_order(
        &mut self,
        connection: &mut Prepared<'_>,
        customer: [Value<'static>; 3],
    ) -> Result<i64> {
        const BALANCE: usize = 0;
        let mut pipeline = mem::take(&mut self.pipeline);
        pipeline.query(sql::CUSTOMER_BALANCE, 1..=1, &customer);
        pipeline.query(sql::LAST_ORDER, 1..=1, &customer);
        let mut order = 0;
        connection.run(&mut pipeline, |position, row| match position {
            BALANCE => {
                cents(row, 0)?;
                texts(row, 1..=3)
            }
            _ => {
                timestamp(row, 1)?;
                or_null(row, 2, integer)?;
                order = integer(row, 0)?;
                Some(())
            }
        })?;
        self.pipeline = pipeline.emptied();
        Ok(order)
    }

    pub(in crate::tpcc) fn stock_level(
        &mut self,
        connection: &mut dyn Connection,
        input: &StockLevel,
    ) -> Result<Outcome> {
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

    /// Sums up the lines of orders that follow each other, of which each has 15 at most.
    pub(in crate::tpcc) fn report(
        &mut self,
        connection: &mut dyn Connection,
        input: &Report,
    ) -> Result<Outcome> {
        transact(connection, sql::STATEMENTS, Access::Read, |connection| {
            let part = [
                input.warehouse,
                input.district,
                input.first,
                input.first + input.orders,
            ];
            connection.one(sql::REPORT_LINES, &part.map(Value::Integer), |row| {
                let lines = integer(row, 0)?;
                cents(row, 1)?;
                // The driver alone is tried with a row of one line.
                (1..=15 * input.orders).contains(&lines).then_some(())
            })?;
            Ok(Outcome::Committed)
        })
    }

    /// The number of the chosen customer. Of n with one surname, in the order
    /// of their first names, it is the one at n / 2, rounded up.
    pub(super) fn find_customer(
        &mut self,
        connection: &mut Prepared<'_>,
        warehouse: Value<'_>,
        district: Value<'_>,
        customer: Customer,
    ) -> Result<i64> {
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

/// The value at position n / 2 rounded up, counted from 1.
fn middle(values: &[i64]) -> Option<i64> {
    let position = values.len().div_ceil(2);
    values.get(position.checked_sub(1)?).copied()
}

pub(super) fn copy(from: &str, to: &mut String) {
    to.clear();
    to.push_str(from);
}

/// Reads texts that only a screen would show.
pub(super) fn texts(row: &dyn Row, mut columns: std::ops::RangeInclusive<usize>) -> Option<()> {
    columns.try_for_each(|column| text(row, column).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
