//! One statement of the user's, run.

use crate::{
    Connection, Result, StatementCount,
    connection::{Access, RowVisitor, StatementId, Value},
    user::OwnCall,
};

/// Parameters of most statements, at most: room for all that a statement can have takes longer to
/// clear than most take to run.
pub(super) const FEW: usize = 16;

/// Runs a statement, within a transaction if one `is_open`, and answers how many rows it found or
/// changed.
pub(super) fn call(
    connection: &mut dyn Connection,
    call: &OwnCall,
    id: StatementId,
    values: &[Value<'_>],
    is_open: bool,
    visit: &mut RowVisitor<'_>,
) -> Result<u64> {
    if call.columns == 0 && (call.writes || !call.answers) {
        return connection.execute(id, values);
    }
    // A change that answers with rows is asked for as a query, which alone would not be taken for
    // a change.
    let is_alone = call.writes && !is_open;
    if is_alone {
        connection.begin(Access::Write)?;
    }
    let found = connection.query(id, values, visit)?;
    if is_alone {
        connection.commit()?;
    }
    Ok(found)
}

/// The counts of statements before their first run.
pub(super) fn no_counts(calls: &[OwnCall]) -> Vec<StatementCount> {
    let count = |call: &OwnCall| StatementCount {
        name: call.counted.clone().unwrap_or_default(),
        ..StatementCount::default()
    };
    calls.iter().map(count).collect()
}
