//! What the statements do with rows, where their accesses leave it open: for databases that only
//! know keys.

use super::statements::{Checks, StatementName};
use crate::{
    connection::StatementId,
    keyed::{
        Aggregate::Count,
        Answer, Comparison, Keyed,
        Relation::{AtLeast, AtMost},
    },
};

/// What a statement does.
pub(super) fn keyed(statement: StatementId) -> Keyed {
    match statement.into() {
        StatementName::Checks(Checks::COUNT_ACCOUNTS) => Keyed::answering(Answer::Values(&[Count])),
        StatementName::Checks(Checks::CHECK_ACCOUNTS | Checks::CHECK_CHANGES) => Keyed::of(
            const {
                &[
                    Comparison::new("aid", AtLeast, 0),
                    Comparison::new("aid", AtMost, 1),
                ]
            },
        ),
        _ => Keyed::DECLARED,
    }
}
