//! What is wrong with an answer to an operation. These errors name the key, for people to look for
//! its row.

/// An answer that no database with these tables gives.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnexpectedAnswer {
    #[error(
        "{found} rows instead of {wanted} for key {key}: the database holds no data of this shape, \
         or damaged data"
    )]
    Rows {
        key: String,
        wanted: u64,
        found: u64,
    },
    #[error("a row for key {key} has a value that was never written there")]
    Value { key: String },
    #[error("rows from key {key} on have other keys or values than were written there")]
    Range { key: String },
    #[error(
        "there is no new key: all keys of that length were used, or one insert was not finished \
         while a million others were"
    )]
    NoKey,
}
