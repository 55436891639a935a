//! What the statements do with rows, where their accesses leave it open: for databases that only
//! know keys.

use super::statements::{
    Checks, Delivery, NewOrder, OrderStatus, Payment, Report, StatementName, StockLevel,
};
use crate::{
    connection::StatementId,
    keyed::{
        Aggregate::{Count, Distinct, Least, Sum},
        Answer, Change, Comparison, KeyPart, Keyed,
        Relation::{AtLeast, AtMost, Below, Equal},
        Wanted,
    },
};

/// What a statement does.
pub(super) fn keyed(statement: StatementId) -> Keyed {
    const fn of(
        column: &'static str,
        relation: crate::keyed::Relation,
        parameter: usize,
    ) -> Comparison {
        Comparison::new(column, relation, parameter)
    }
    const LINES_OF_ORDERS: &[Comparison] = &[
        of("ol_w_id", Equal, 0),
        of("ol_d_id", Equal, 1),
        of("ol_o_id", AtLeast, 2),
        of("ol_o_id", Below, 3),
    ];
    match statement.into() {
        StatementName::NewOrder(NewOrder::TAKE_STOCK) => Keyed::changing(&[
            Change::SubtractAndRefill { least: 10, by: 91 },
            Change::Add,
            Change::Add,
            Change::Add,
        ]),
        StatementName::NewOrder(NewOrder::INSERT_ORDER) => Keyed::with_null(&["o_carrier_id"]),
        StatementName::NewOrder(NewOrder::INSERT_ORDER_LINE) => {
            Keyed::with_null(&["ol_delivery_d"])
        }
        StatementName::Payment(Payment::PAY_CUSTOMER) => {
            Keyed::changing(&[Change::Subtract, Change::Add, Change::Add])
        }
        StatementName::Payment(Payment::CUSTOMERS_BY_NAME) => Keyed::of(
            const {
                &[
                    of("c_w_id", Equal, 0),
                    of("c_d_id", Equal, 1),
                    of("c_last", Equal, 2),
                ]
            },
        ),
        StatementName::OrderStatus(OrderStatus::LAST_ORDER) => Keyed::answering(Answer::LastRow),
        StatementName::Delivery(Delivery::OLDEST_NEW_ORDER) => {
            Keyed::answering(Answer::Values(&[Least("no_o_id")]))
        }
        StatementName::Delivery(Delivery::ORDER_AMOUNT) => {
            Keyed::answering(Answer::Values(&[Sum("ol_amount")]))
        }
        StatementName::Report(Report::REPORT_LINES) => {
            Keyed::of(LINES_OF_ORDERS).and(Answer::Values(&[Count, Sum("ol_amount")]))
        }
        StatementName::StockLevel(StockLevel::LOW_STOCK) => {
            Keyed::of(LINES_OF_ORDERS).and(Answer::Matches {
                key: &[KeyPart::Parameter(4), KeyPart::Column("ol_i_id")],
                keep: of("s_quantity", Below, 5),
                values: &[Distinct("s_i_id")],
            })
        }
        StatementName::Checks(Checks::CHECK_HISTORY) => Keyed {
            wanted: Wanted::Any(
                const {
                    &[
                        &[of("h_w_id", AtLeast, 0), of("h_w_id", AtMost, 1)],
                        &[of("h_c_w_id", AtLeast, 2), of("h_c_w_id", AtMost, 3)],
                    ]
                },
            ),
            ..Keyed::DECLARED
        },
        StatementName::Checks(Checks::CHECK_STOCK) => {
            Keyed::answering(Answer::ValuesBy("s_w_id", &[Count, Sum("s_ytd")]))
        }
        StatementName::Checks(
            Checks::COUNT_ITEMS
            | Checks::COUNT_WAREHOUSES
            | Checks::COUNT_DISTRICTS
            | Checks::COUNT_CUSTOMERS,
        ) => Keyed::answering(Answer::Values(&[Count])),
        _ => Keyed::DECLARED,
    }
}
