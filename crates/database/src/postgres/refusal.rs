//! Refusals of PostgreSQL's settings.

use crate::DatabaseError;

/// The database's short name.
pub(super) const NAME: &str = "postgres";

/// A setting's refusal.
pub(super) fn refuse(setting: &'static str, value: String, reason: String) -> DatabaseError {
    DatabaseError::Setting {
        database: NAME,
        setting,
        value,
        reason,
    }
}
