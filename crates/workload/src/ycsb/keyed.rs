//! What the statements do with records, where their accesses leave it open: for databases that
//! only know keys.

use super::{
    key::PREFIX,
    schema::FIELDS,
    statements::{Checks, Operations, StatementName},
};
use crate::{
    connection::StatementId,
    keyed::{
        Aggregate::{self, Count, CountTexts, Distinct, Longest, Shortest},
        Answer, Comparison, Keyed,
        Relation::{AtLeast, Below},
    },
};

/// What a statement does.
pub(super) fn keyed(statement: StatementId) -> Keyed {
    match statement.into() {
        StatementName::Operations(Operations::SCAN) => {
            Keyed::of(const { &[Comparison::new("ycsb_key", AtLeast, 0)] })
                .and(Answer::FirstRows(1))
        }
        StatementName::Checks(Checks::COUNT) => Keyed::answering(Answer::Values(&[Count])),
        StatementName::Checks(Checks::SUMMARY) => Keyed::of(
            const {
                &[
                    Comparison::new("ycsb_key", AtLeast, 0),
                    Comparison::new("ycsb_key", Below, 1),
                ]
            },
        )
        .and(Answer::Values(&SUMMARY)),
        _ => Keyed::DECLARED,
    }
}

/// Counts, and the lengths of each field.
static SUMMARY: [Aggregate; 3 + 2 * FIELDS] = [
    Count,
    Distinct("ycsb_key"),
    CountTexts {
        column: "ycsb_key",
        prefix: PREFIX,
        longer_than: 4,
        shorter_than: 24,
    },
    Shortest("field0"),
    Longest("field0"),
    Shortest("field1"),
    Longest("field1"),
    Shortest("field2"),
    Longest("field2"),
    Shortest("field3"),
    Longest("field3"),
    Shortest("field4"),
    Longest("field4"),
    Shortest("field5"),
    Longest("field5"),
    Shortest("field6"),
    Longest("field6"),
    Shortest("field7"),
    Longest("field7"),
    Shortest("field8"),
    Longest("field8"),
    Shortest("field9"),
    Longest("field9"),
];
