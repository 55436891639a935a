//! The five transaction profiles of clauses 2.4 to 2.8 as SQL.
//!
//! Locking is left to the isolation level that the adapter sets and states.
//! Rows that a transaction changes are changed before they are read (see
//! [`super::statements`]), and every change that must meet one row is checked
//! against the count of rows that the database reports as matched.
//!
//! What does not depend on an earlier answer is asked together, as one
//! exchange where the database is behind a wire. The statements are the
//! same as if they were asked one by one: no two are merged.

mod delivery;
mod new_order;
mod payment;
mod runner;

pub(super) use runner::Runner;
pub use runner::{LineReply, NewOrderReply};
