//! Delivery (clause 2.7): the oldest new order of each of ten districts.
//!
//! All ten are asked for together; then all orders are changed and read, and
//! then all customers are changed. Two deliveries thus lock the orders by
//! district, and then the customers by district: neither can wait for the
//! other's rows while it holds some that the other waits for. A payment locks
//! one customer, and nothing after it.

use std::mem;

use super::runner::{Due, Runner};
use crate::{
    Connection, ConnectionError, Outcome, Result,
    answer::{Prepared, UnexpectedAnswer, integer, or_null, transact},
    connection::{Access, Conflict, Value},
    money::{cents, money},
    tpcc::{inputs::Delivery, schema::DISTRICTS, statements as sql},
};

/// Another transaction delivered the order first.
#[derive(Debug, thiserror::Error)]
#[error(
    "another transaction delivered order {order} of warehouse {warehouse}, district {district} first"
)]
struct DeliveredFirst {
    warehouse: i64,
    district: i64,
    order: i64,
}

impl Runner {
    /// Delivers the oldest new order of each district; answers how many
    /// districts had none and were skipped.
    pub(in crate::tpcc) fn delivery(
        &mut self,
        connection: &mut dyn Connection,
        input: &Delivery,
    ) -> Result<u64> {
        transact(connection, sql::STATEMENTS, Access::Write, |connection| {
            self.find_due(connection, input)?;
            if !self.due.is_empty() {
                self.deliver_orders(connection, input)?;
                self.deliver_to_customers(connection, input)?;
            }
            Ok(Outcome::Committed)
        })?;
        Ok(DISTRICTS.unsigned_abs() - self.due.len() as u64)
    }

    fn find_due(&mut self, connection: &mut Prepared<'_>, input: &Delivery) -> Result<()> {
        let w = Value::Integer(input.warehouse);
        let mut pipeline = mem::take(&mut self.pipeline);
        for district in 1..=DISTRICTS {
            pipeline.query(sql::OLDEST_NEW_ORDER, 1..=1, &[w, Value::Integer(district)]);
        }
        let due = &mut self.due;
        due.clear();
        connection.run(&mut pipeline, |position, row| {
            if let Some(order) = or_null(row, 0, integer)? {
                due.push(Due {
                    district: position as i64 + 1,
                    order,
                    customer: 0,
                    amount: 0,
                });
            }
            Some(())
        })?;
        self.pipeline = pipeline.emptied();
        Ok(())
    }

    /// Changes the due orders and their lines, and reads whose they are and
    /// what they cost.
    fn deliver_orders(&mut self, connection: &mut Prepared<'_>, input: &Delivery) -> Result<()> {
        const STATEMENTS_AN_ORDER: usize = 5;
        const DELETE: usize = 0;
        const CUSTOMER: usize = 2;
        let w = Value::Integer(input.warehouse);
        let carrier = Value::Integer(input.carrier);
        let date = Value::Timestamp(input.date);
        let mut pipeline = mem::take(&mut self.pipeline);
        for due in &self.due {
            let d = Value::Integer(due.district);
            let order = Value::Integer(due.order);
            pipeline.change(sql::DELETE_NEW_ORDER, 0..=u64::MAX, &[w, d, order]);
            pipeline.change(sql::SET_CARRIER, 1..=1, &[carrier, w, d, order]);
            pipeline.query(sql::ORDER_CUSTOMER, 1..=1, &[w, d, order]);
            pipeline.change(sql::DELIVER_LINES, 1..=u64::MAX, &[date, w, d, order]);
            pipeline.query(sql::ORDER_AMOUNT, 1..=1, &[w, d, order]);
        }
        let all_due = &mut self.due;
        connection.run(&mut pipeline, |position, row| {
            let due = all_due.get_mut(position / STATEMENTS_AN_ORDER)?;
            match position % STATEMENTS_AN_ORDER {
                CUSTOMER => due.customer = integer(row, 0)?,
                _ => due.amount = cents(row, 0)?,
            }
            Some(())
        })?;
        let found = pipeline.found().chunks_exact(STATEMENTS_AN_ORDER);
        for (due, found) in all_due.iter().zip(found) {
            match found[DELETE] {
                1 => {}
                // Under READ COMMITTED another delivery may commit between the
                // two statements. Trying again finds the next order.
                0 => {
                    return Err(ConnectionError::Conflict {
                        kind: Conflict::Serialisation,
                        source: Box::new(DeliveredFirst {
                            warehouse: input.warehouse,
                            district: due.district,
                            order: due.order,
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
        }
        self.pipeline = pipeline.emptied();
        Ok(())
    }

    fn deliver_to_customers(
        &mut self,
        connection: &mut Prepared<'_>,
        input: &Delivery,
    ) -> Result<()> {
        let mut pipeline = mem::take(&mut self.pipeline);
        for due in &self.due {
            pipeline.change(
                sql::DELIVER_TO_CUSTOMER,
                1..=1,
                &[
                    money(due.amount),
                    Value::Integer(1),
                    Value::Integer(input.warehouse),
                    Value::Integer(due.district),
                    Value::Integer(due.customer),
                ],
            );
        }
        connection.run(&mut pipeline, |_, _| Some(()))?;
        self.pipeline = pipeline.emptied();
        Ok(())
    }
}
