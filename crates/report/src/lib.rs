//! Reports: what was found, for a terminal, for a browser and for programs.
//!
//! All three say the same sentences (`sentence`) over the same tables
//! (`table`); the page adds charts (`chart`), drawn here as static SVG so
//! that it opens anywhere, offline and without JavaScript. Nothing is
//! measured or decided here: figures and verdicts come from
//! [`Findings`].

mod bench;
mod chart;
mod check;
mod compare;
mod device;
mod devices;
#[cfg(test)]
mod fixture;
mod html;
mod json;
mod naming;
mod number;
mod page;
mod sentence;
mod svg;
mod table;
mod terminal;

pub use bench::{bench, bench_csv, bench_json};
pub use check::{check, check_json};
pub use compare::{compare, compare_json};
pub use device::device;
pub use devices::{described, devices, twin};
pub use html::html;
pub use json::json;
pub use terminal::terminal;

#[cfg(doc)]
use octavo_experiment::findings::Findings;
