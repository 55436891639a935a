//! Reports: what was found, for a terminal, for a browser and for programs.
//!
//! Each kind of result becomes one [`Document`] of sections, tables and
//! figures ([`findings()`], [`bench()`] and so on), which is rendered as text
//! ([`Document::terminal`]) and as a page ([`Document::html`]). Charts are
//! static SVG, so that a page opens anywhere, offline and without JavaScript.
//! Programs get the values themselves, as JSON.
//!
//! Words are made here and nowhere else. Nothing is measured or decided here:
//! figures and verdicts come from `octavo-experiment`.

pub mod ab;
mod bar;
mod bench;
mod chart;
mod check;
mod compare;
mod csv;
mod curve;
mod devices;
mod document;
mod experiment;
mod findings;
#[cfg(test)]
mod fixture;
mod fleet;
mod forecast;
mod html;
mod json;
mod markdown;
mod markup;
mod naming;
pub mod number;
mod open_metrics;
pub mod outcome;
mod parts;
mod profile;
mod ramp;
mod ramps;
mod schema;
mod sentence;
mod study;
mod svg;
mod table;
mod terminal;
mod trouble;
mod value;
mod visible;

pub use bench::{bench, bench_case, bench_csv};
pub use check::check;
pub use compare::{compare, compare_cases, compare_outcome};
pub use csv::findings_csv;
pub use curve::curve;
pub use devices::{described, devices, machines, twin};
pub use document::Document;
pub use experiment::findings;
pub use fleet::merged;
pub use forecast::forecast;
pub use json::{
    FORMAT, bench_json, compare_json, curve_json, device_json, devices_json, findings_json, json,
    machines_json, value_json,
};
pub use open_metrics::{Metrics, OPEN_METRICS};
pub use profile::profile;
pub use schema::Schemas;
pub use sentence::standings;
pub use study::{Reproduction, reproduction, reproduction_json};
pub use value::value;
pub use visible::visible;
