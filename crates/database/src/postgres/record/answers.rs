//! Questions whose answer is a number.

use octavo_workload::ConnectionError;

use super::super::session::Session;
use crate::Result;

/// A number that the server answers with.
pub(super) fn number<T: std::str::FromStr>(session: &mut Session, sql: &str) -> Result<T> {
    let answer = session.one(sql)?;
    let number = answer.and_then(|answer| answer.parse().ok());
    Ok(number.ok_or_else(|| ConnectionError::other(sql, "the answer is no number"))?)
}
