//! One transaction: begun, and ended whatever happens.

use crate::{
    Outcome, Result,
    answer::Prepared,
    connection::{Access, Connection, Statement},
};

/// Runs `body` as one transaction, which ends as its outcome says. After an
/// error nothing of it is left. `statements` are those of the workload.
pub(crate) fn transact(
    connection: &mut dyn Connection,
    statements: &'static [Statement],
    access: Access,
    body: impl FnOnce(&mut Prepared<'_>) -> Result<Outcome>,
) -> Result<Outcome> {
    connection.begin(access)?;
    let result = body(&mut Prepared::new(connection, statements)).and_then(|outcome| {
        match outcome {
            Outcome::Committed => connection.commit()?,
            Outcome::RolledBack => connection.rollback()?,
        }
        Ok(outcome)
    });
    if result.is_err() {
        // The first error says what went wrong; a second one, from a session
        // that is gone, would only hide it.
        let _second = connection.rollback();
    }
    result
}
