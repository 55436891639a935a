//! Digests: statements without their values, with how often they ran, as servers count them
//! (`pg_stat_statements`, `events_statements_summary_by_digest`).
//!
//! A digest has no values, no order and no transaction. What a value was compared with is found
//! from the text ([`plan()`]), so that values can be drawn from the rows that a copy has
//! ([`Draw`]). Texts are not parsed as SQL: what is not understood is left out, and the database
//! is asked whether it takes what was made of the others.

mod catalog;
mod compared;
mod counted;
mod insert;
mod lexed;
mod plan;
mod tables;

pub use catalog::{Catalog, Class, Column, Table};
pub use counted::Digest;
pub use lexed::Style;
pub use plan::{Draw, Expression, Planned, Row, plan};
