//! Experiments: plans, rounds, runs, the result store, statistics, verdicts.
//!
//! Data flows one way: a [`plan::Plan`] names the cells; [`advise`] loads the
//! bases and makes [`mod@run`]s round by round, which [`drive`] the database;
//! the [`store`] keeps each run; [`findings`] reads the store, with
//! [`statistics`] and [`verdict`], into the one value that reports print.

pub mod advise;
pub mod directory;
pub mod drive;
pub mod findings;
pub mod machine;
pub mod plan;
pub mod run;
mod schedule;
pub mod statistics;
pub mod store;
pub mod verdict;
