//! Payment (clause 2.5).
//!
//! A customer is searched by surname before anything is locked. Then what is
//! paid and shown is asked for together, the busiest row first as in all
//! transactions; the history and, for bad credit, the customer's data follow.

use std::{fmt::Write, mem};

use super::runner::{Runner, copy, texts};
use crate::{
    Connection, Outcome, Result,
    answer::{Prepared, decimal, text, timestamp, transact},
    connection::{Access, Row, Value},
    money::{cents, money},
    tpcc::{inputs::Payment, schema::FRACTION, statements as sql},
};

/// C_DATA holds up to 500 characters.
const CUSTOMER_DATA_MAX: usize = 500;

impl Runner {
    pub(in crate::tpcc) fn payment(
        &mut self,
        connection: &mut dyn Connection,
        input: &Payment,
    ) -> Result<Outcome> {
        transact(connection, sql::STATEMENTS, Access::Write, |connection| {
            self.pay(connection, input)
        })
    }

    fn pay(&mut self, connection: &mut Prepared<'_>, input: &Payment) -> Result<Outcome> {
        let c_w = Value::Integer(input.customer_warehouse);
        let c_d = Value::Integer(input.customer_district);
        let number = self.find_customer(connection, c_w, c_d, input.customer)?;
        let c = Value::Integer(number);
        let has_bad_credit = self.pay_and_read(connection, input, [c_w, c_d, c])?;
        let w = Value::Integer(input.warehouse);
        let d = Value::Integer(input.district);
        let history = [
            c,
            c_d,
            c_w,
            d,
            w,
            Value::Timestamp(input.date),
            money(input.amount),
            Value::Text(&self.data),
        ];
        if !has_bad_credit {
            connection.change_one(sql::INSERT_HISTORY, &history)?;
            return Ok(Outcome::Committed);
        }
        let mut pipeline = mem::take(&mut self.pipeline);
        pipeline.change(sql::INSERT_HISTORY, 1..=1, &history);
        pipeline.query(sql::CUSTOMER_DATA, 1..=1, &[c_w, c_d, c]);
        let old = &mut self.old_data;
        connection.run(&mut pipeline, |_, row| {
            copy(text(row, 0)?, old);
            Some(())
        })?;
        self.pipeline = pipeline.emptied();
        prepend_payment(&mut self.data, input, number, &self.old_data);
        connection.change_one(
            sql::REWRITE_CUSTOMER_DATA,
            &[Value::Text(&self.data), c_w, c_d, c],
        )?;
        Ok(Outcome::Committed)
    }

    /// Changes the warehouse, the district and the customer, and reads what
    /// the terminal shows of them; makes H_DATA, both names with four blanks
    /// between them. Answers whether the customer has bad credit.
    fn pay_and_read(
        &mut self,
        connection: &mut Prepared<'_>,
        input: &Payment,
        customer: [Value<'static>; 3],
    ) -> Result<bool> {
        const WAREHOUSE: usize = 1;
        const DISTRICT: usize = 3;
        let w = Value::Integer(input.warehouse);
        let d = Value::Integer(input.district);
        let [c_w, c_d, c] = customer;
        let amount = money(input.amount);
        let mut pipeline = mem::take(&mut self.pipeline);
        pipeline.change(sql::PAY_WAREHOUSE, 1..=1, &[amount, w]);
        pipeline.query(sql::WAREHOUSE_ADDRESS, 1..=1, &[w]);
        pipeline.change(sql::PAY_DISTRICT, 1..=1, &[amount, w, d]);
        pipeline.query(sql::DISTRICT_ADDRESS, 1..=1, &[w, d]);
        pipeline.change(
            sql::PAY_CUSTOMER,
            1..=1,
            &[amount, amount, Value::Integer(1), c_w, c_d, c],
        );
        pipeline.query(sql::CUSTOMER_DETAILS, 1..=1, &customer);
        let history_data = &mut self.data;
        history_data.clear();
        let mut has_bad_credit = false;
        connection.run(&mut pipeline, |position, row| match position {
            WAREHOUSE => {
                history_data.push_str(text(row, 0)?);
                history_data.push_str("    ");
                texts(row, 1..=5)
            }
            DISTRICT => {
                history_data.push_str(text(row, 0)?);
                texts(row, 1..=5)
            }
            _ => {
                has_bad_credit = has_bad_credit_of(row)?;
                Some(())
            }
        })?;
        self.pipeline = pipeline.emptied();
        Ok(has_bad_credit)
    }
}

/// Reads a customer as the terminal shows it; answers whether C_CREDIT is bad.
fn has_bad_credit_of(row: &dyn Row) -> Option<bool> {
    texts(row, 0..=8)?;
    timestamp(row, 9)?;
    cents(row, 11)?;
    decimal(row, 12, FRACTION)?;
    cents(row, 13)?;
    Some(text(row, 10)? == "BC")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::inputs::Customer;

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
