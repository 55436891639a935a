//! Refusals of PostgreSQL's settings. Apart from its description, which names what
//! refuses.

use crate::DatabaseError;

/// The database's short name.
pub(super) const NAME: &str = "postgres";

/// A setting's refusal.
pub(super) fn refuse(
    setting: &'static str,
    value: impl ToString,
    reason: impl Into<String>,
) -> DatabaseError {
    DatabaseError::Setting {
        database: NAME,
        setting,
        value: value.to_string(),
        reason: reason.into(),
    }
}
