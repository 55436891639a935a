//! Servers that the user runs: Octavo has one schema there, which it made and
//! marked, and touches nothing else.
//!
//! The mark says whose the schema is and what was loaded into it. It is there
//! before the first table, and says that rows are being loaded until all are
//! there. Whoever uses the schema holds a lock of the server, so that two
//! Octavos never work in it at the same time.

mod counted;
mod lock;
mod schema;
mod server;
mod url;

pub(crate) use counted::Counted;
pub(crate) use lock::Lock;
pub use schema::SCHEMA;
pub(crate) use schema::{LOADING, MARK, is_own_table, note_of, own_position};
pub use server::ExternalServer;
pub(crate) use server::{Driven, LOCK_WAIT, busy, entangled, foreign, occupied, refused};
pub use url::{Protocol, Url, UrlError, hide_password};
pub(crate) use url::{SourceParts, SourceUrl};
