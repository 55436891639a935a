//! New-Order (clause 2.4).
//!
//! It asks three times: first for what its inputs alone determine, the
//! district last, so that its row is locked as briefly as possible; then, with
//! the order's number and the items known, it makes the order and takes the
//! stock; then, with the stock's texts, it makes the lines.

use std::mem;

use super::runner::{Item, LineReply, Runner, copy};
use crate::{
    Connection, Outcome, Result,
    answer::{Pipeline, Prepared, decimal, integer, text, transact},
    connection::{Access, Row, Value},
    money::{cents, money},
    tpcc::{
        inputs::{Line, NewOrder},
        random::ORIGINAL,
        schema::FRACTION,
        statements::{self as sql, stock_for},
    },
};

/// 1 in ten-thousandths.
const ONE: i64 = 10_000;

impl Runner {
    pub(in crate::tpcc) fn new_order(
        &mut self,
        connection: &mut dyn Connection,
        input: &NewOrder,
    ) -> Result<Outcome> {
        transact(connection, sql::STATEMENTS, Access::Write, |connection| {
            self.place_order(connection, input)
        })
    }

    fn place_order(&mut self, connection: &mut Prepared<'_>, input: &NewOrder) -> Result<Outcome> {
        self.begin_order(connection, input)?;
        self.take_stock(connection, input)?;
        self.insert_lines(connection, input)?;
        let reply = &mut self.new_order;
        // The work for the lines before an unused item is done by now, as
        // clause 2.4.2.3 wants it.
        if reply.lines.len() < input.lines.len() {
            return Ok(Outcome::RolledBack);
        }
        let amounts = reply.lines.iter().map(|line| i128::from(line.amount));
        let tax = reply.warehouse_tax + reply.district_tax;
        reply.total_amount = total_amount(amounts.sum(), reply.discount, tax);
        Ok(Outcome::Committed)
    }

    /// Takes the order's number, and reads the taxes, the customer and the
    /// items.
    fn begin_order(&mut self, connection: &mut Prepared<'_>, input: &NewOrder) -> Result<()> {
        const WAREHOUSE: usize = 0;
        const CUSTOMER: usize = 1;
        const FIRST_ITEM: usize = 2;
        let w = Value::Integer(input.warehouse);
        let d = Value::Integer(input.district);
        let mut pipeline = mem::take(&mut self.pipeline);
        pipeline.query(sql::WAREHOUSE_TAX, 1..=1, &[w]);
        pipeline.query(
            sql::CUSTOMER_DISCOUNT,
            1..=1,
            &[w, d, Value::Integer(input.customer)],
        );
        for line in &input.lines {
            pipeline.query(sql::ITEM_PRICE, 0..=1, &[Value::Integer(line.item)]);
        }
        pipeline.change(sql::TAKE_ORDER_NUMBER, 1..=1, &[Value::Integer(1), w, d]);
        pipeline.query(sql::DISTRICT_TAX, 1..=1, &[w, d]);
        let district = FIRST_ITEM + input.lines.len() + 1;

        let (reply, items) = (&mut self.new_order, &mut self.items);
        reply.lines.clear();
        reply.total_amount = 0;
        items.clear();
        items.resize(input.lines.len(), None);
        connection.run(&mut pipeline, |position, row| {
            match position {
                WAREHOUSE => reply.warehouse_tax = fraction(row, 0)?,
                CUSTOMER => {
                    reply.discount = fraction(row, 0)?;
                    copy(text(row, 1)?, &mut reply.surname);
                    copy(text(row, 2)?, &mut reply.credit);
                }
                _ if position == district => {
                    reply.district_tax = fraction(row, 0)?;
                    reply.order = integer(row, 1)?.checked_sub(1)?;
                }
                _ => {
                    let index = position - FIRST_ITEM;
                    let price = cents(row, 0)?;
                    *items.get_mut(index)? = Some(Item {
                        price,
                        amount: input.lines[index].quantity.checked_mul(price)?,
                        is_original: text(row, 2)?.contains(ORIGINAL),
                    });
                }
            }
            Some(())
        })?;
        self.pipeline = pipeline.emptied();
        Ok(())
    }

    /// Makes the order, and takes the stock of its lines: of those before one
    /// whose item there is not.
    fn take_stock(&mut self, connection: &mut Prepared<'_>, input: &NewOrder) -> Result<()> {
        const FIRST_LINE: usize = 2;
        const STATEMENTS_A_LINE: usize = 2;
        let reply = &mut self.new_order;
        let w = Value::Integer(input.warehouse);
        let d = Value::Integer(input.district);
        let order = Value::Integer(reply.order);
        let is_home = |line: &Line| line.supply_warehouse == input.warehouse;
        let mut pipeline = mem::take(&mut self.pipeline);
        pipeline.change(
            sql::INSERT_ORDER,
            1..=1,
            &[
                order,
                d,
                w,
                Value::Integer(input.customer),
                Value::Timestamp(input.date),
                Value::Integer(input.lines.len() as i64),
                Value::Integer(i64::from(input.lines.iter().all(is_home))),
            ],
        );
        pipeline.change(sql::INSERT_NEW_ORDER, 1..=1, &[order, d, w]);
        let items = self.items.iter().map_while(|item| *item);
        for (line, item) in input.lines.iter().zip(items) {
            let quantity = Value::Integer(line.quantity);
            let supply = Value::Integer(line.supply_warehouse);
            let number = Value::Integer(line.item);
            pipeline.change(
                sql::TAKE_STOCK,
                1..=1,
                &[
                    quantity,
                    quantity,
                    Value::Integer(1),
                    Value::Integer(i64::from(!is_home(line))),
                    supply,
                    number,
                ],
            );
            pipeline.query(stock_for(input.district), 1..=1, &[supply, number]);
            reply.lines.push(LineReply {
                number: line.number,
                price: item.price,
                amount: item.amount,
                stock_quantity: 0,
                brand: 'G',
            });
        }
        let lines = reply.lines.len();
        if self.district_infos.len() < lines {
            self.district_infos.resize(lines, String::new());
        }

        let (items, infos) = (&self.items, &mut self.district_infos);
        connection.run(&mut pipeline, |position, row| {
            let index = position.checked_sub(FIRST_LINE)? / STATEMENTS_A_LINE;
            let line = reply.lines.get_mut(index)?;
            line.stock_quantity = integer(row, 0)?;
            let is_original = text(row, 1)?.contains(ORIGINAL);
            if is_original && items[index].is_some_and(|item| item.is_original) {
                line.brand = 'B';
            }
            copy(text(row, 2)?, &mut infos[index]);
            Some(())
        })?;
        self.pipeline = pipeline.emptied();
        Ok(())
    }

    /// Makes the lines whose stock was taken.
    fn insert_lines(&mut self, connection: &mut Prepared<'_>, input: &NewOrder) -> Result<()> {
        let reply = &self.new_order;
        if reply.lines.is_empty() {
            return Ok(());
        }
        let mut pipeline: Pipeline<'_> = mem::take(&mut self.pipeline);
        for ((line, replied), info) in input
            .lines
            .iter()
            .zip(&reply.lines)
            .zip(&self.district_infos)
        {
            pipeline.change(
                sql::INSERT_ORDER_LINE,
                1..=1,
                &[
                    Value::Integer(reply.order),
                    Value::Integer(input.district),
                    Value::Integer(input.warehouse),
                    Value::Integer(line.number),
                    Value::Integer(line.item),
                    Value::Integer(line.supply_warehouse),
                    Value::Integer(line.quantity),
                    money(replied.amount),
                    Value::Text(info),
                ],
            );
        }
        connection.run(&mut pipeline, |_, _| Some(()))?;
        self.pipeline = pipeline.emptied();
        Ok(())
    }
}

/// A tax or a discount in ten-thousandths; `None` when it cannot be read or is
/// none.
fn fraction(row: &dyn Row, column: usize) -> Option<i64> {
    decimal(row, column, FRACTION).filter(|fraction| (0..ONE).contains(fraction))
}

/// `sum` × (1 - `discount`) × (1 + `tax`) in cents, halves rounded up; the
/// latter two in ten-thousandths (clause 2.4.2.2). With at most 15 lines of
/// 1,000.00 the product stays below 10^15.
fn total_amount(sum: i128, discount: i64, tax: i64) -> i64 {
    let exact = sum * i128::from(ONE - discount) * i128::from(ONE + tax);
    let unit = i128::from(ONE * ONE);
    ((exact + unit / 2).div_euclid(unit)) as i64
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
}
