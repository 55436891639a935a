//! Scripts in pgbench's language: SQL statements with variables, and commands that begin with
//! a backslash.
//!
//! A script is read once ([`Script::parse`]), its variables get places ([`Script::compile`]),
//! and the [`Program`] runs again and again against a [`Host`], which has the database and the
//! random numbers. A run allocates nothing once the texts of its variables have their length.
//!
//! The language is that of PostgreSQL 17's pgbench
//! (<https://www.postgresql.org/docs/17/pgbench.html>), without `\shell` and `\setshell`. What
//! the manual leaves open was tried with pgbench 15 (tests/pgbench.rs).

mod control;
mod error;
mod evaluate;
mod expression;
mod hash;
mod permute;
mod program;
mod random;
mod split;
mod sql;
mod value;
mod variables;

pub use control::{Access, Control};
pub use error::{RunError, SyntaxError};
pub use program::{Described, Host, Program, Script, State, StatementText};
pub use random::Random;
pub use sql::{Kind as StatementKind, Part, kind as statement_kind, words};
pub use value::{Parameter, Value};
pub use variables::{Definitions, is_name};

/// The most parameters of a statement: as pgbench has it (`MAX_ARGS`).
pub const PARAMETERS_MAX: usize = 256;
