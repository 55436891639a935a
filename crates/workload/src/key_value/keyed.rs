//! What the statements do, for databases that only know keys. Clients know which keys there are, so
//! that these write without looking.

use crate::{
    connection::StatementId,
    keyed::{Answer, Comparison, Keyed, Relation::AtLeast},
    shape::{KEY, TableStatement},
};

/// What a statement does.
pub(super) fn keyed(statement: StatementId) -> Keyed {
    match TableStatement::named(statement).1 {
        TableStatement::Get | TableStatement::Find => Keyed::DECLARED,
        TableStatement::Put | TableStatement::Insert | TableStatement::Delete => Keyed::BLIND,
        TableStatement::Range => {
            Keyed::of(const { &[Comparison::new(KEY, AtLeast, 0)] }).and(Answer::FirstRows(1))
        }
    }
}
