//! Experiments: plans, sittings, runs, the result store, statistics, verdicts.
//!
//! Data flows one way: a [`plan::Plan`] names the cells; a [`campaign`] makes
//! runs sitting by sitting on an [`executor`], which has [`octavo_driver`] put
//! the load on the database; the [`store`] keeps each run and its slices;
//! [`findings`] reads the store, with [`lockstep`], [`statistics`] and
//! [`verdict`], into the one value that reports print; [`mod@value`] says what that is worth.
//!
//! Beside it stands the single measurement: [`dataset`] keeps loaded rows in a
//! directory, [`bench`](mod@bench) makes one run on a copy of it ([`ramp`] has the steps of
//! clients that begin one group after the other), and
//! [`check`](mod@check) looks whether both are sound.

pub mod abandoned;
pub mod advise;
pub mod apart;
pub mod audit;
pub mod bench;
mod budget;
pub mod campaign;
mod causes;
pub mod caveats;
pub mod check;
pub mod compare;
pub mod condition;
pub mod confidence;
mod cpus;
pub mod dataset;
pub mod descriptors;
pub mod directory;
pub mod energy;
mod error;
pub mod executor;
pub mod figures;
pub mod findings;
pub mod forecast;
pub mod inputs;
pub mod limits;
pub mod lockstep;
pub mod machine;
pub mod merge;
pub mod monitor;
mod mounted;
pub mod observer;
pub mod own;
pub mod own_sizes;
pub mod part;
pub mod plan;
pub mod prediction;
pub mod prices;
mod program;
pub mod ramp;
pub mod record;
mod resolved;
mod run;
pub mod statistics;
pub mod store;
pub mod value;
pub mod verdict;
pub mod waits;
mod watch;
