//! Results for programs.
//!
//! Every document is an object whose `format` number tells programs what to
//! expect. It grows when a field is removed or changes its meaning; a new
//! field leaves it.

use octavo_buffer::trace_curves::TraceCurves;
use octavo_device::catalog::{Compared, Entry, machine::MachineEntry};
use octavo_driver::Percentiles;
use octavo_experiment::{
    bench::BenchResult,
    compare::Comparison,
    confidence::{Confidence, confidence},
    findings::Findings,
    value::Value,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{compare, curve, experiment, number::join, sentence, visible::escaped};

/// The format of all documents here. 1 had no number; 2 has caveats and
/// deviations with their figures instead of texts; 3 has intervals of what other disks would
/// change.
pub const FORMAT: u32 = 3;

/// A value with the number of its format.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Formatted<T> {
    #[schemars(extend("const" = FORMAT))]
    format: u32,
    #[serde(flatten)]
    value: T,
}

/// A result as indented JSON.
///
/// # Panics
/// When the value has no JSON form or is no object; every result of Octavo
/// that is not a list is one. That holds for all functions of this module.
pub fn json(value: impl Serialize) -> String {
    let formatted = Formatted {
        format: FORMAT,
        value,
    };
    let text = serde_json::to_string_pretty(&formatted).expect("every result has a JSON form");
    escaped(without_negative_zero(&text))
}

/// Indented JSON without -0, which empty sums give: numbers stand at the end of their lines.
fn without_negative_zero(json: &str) -> String {
    let lines = json.lines().map(|line| {
        let (value, comma) = match line.strip_suffix(',') {
            Some(value) => (value, ","),
            None => (line, ""),
        };
        match value.strip_suffix(" -0.0") {
            Some(before) => format!("{before} 0.0{comma}"),
            None => line.to_owned(),
        }
    });
    join(lines, "\n")
}

/// A value with its sentences, warnings and confidence.
#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct WithSentences<T> {
    sentences: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warnings: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<Confidence>,
    /// That of each class of hosts, in their order, where a plan was divided.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    class_confidence: Vec<Option<Confidence>>,
    #[serde(flatten)]
    value: T,
}

/// A bench with the rates that follow from its counts.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BenchFields<'a> {
    transactions_per_second: f64,
    counted_per_second: f64,
    saturated: bool,
    late_us: Option<Percentiles>,
    #[serde(flatten)]
    result: &'a BenchResult,
}

/// The catalog of devices.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Devices<'a> {
    devices: &'a [Entry],
}

/// The catalog of machines.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Machines<'a> {
    machines: &'a [MachineEntry],
}

/// A device beside its published figures.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Described<'a> {
    device: &'a Entry,
    published: &'a [Compared],
}

/// The findings as indented JSON, with the answer in words under `sentences`
/// and the caveats under `warnings`, the worst first. Ends of intervals that are not known (one
/// round) are `null`, since JSON has no infinity.
pub fn findings_json(findings: &Findings) -> String {
    json(WithSentences {
        sentences: experiment::sentences(findings),
        warnings: Some(sentence::caveats(findings).map(|(_, text)| text).collect()),
        confidence: confidence(findings),
        class_confidence: class_confidence(findings),
        value: findings,
    })
}

/// How far the answer of each class of hosts can be trusted.
fn class_confidence(findings: &Findings) -> Vec<Option<Confidence>> {
    let classes = findings.fleet.iter().flat_map(|fleet| &fleet.classes);
    let places = 0..classes.count();
    places
        .map(|place| findings.of_class(place).and_then(confidence))
        .collect()
}

/// The comparison of two stores as indented JSON, with what it says in words
/// under `sentences` and what may change a store's answer under `warnings`.
pub fn compare_json(comparison: &Comparison, stores: [&Findings; 2]) -> String {
    json(WithSentences {
        sentences: compare::sentences(comparison),
        warnings: Some(compare::warnings(comparison, stores)),
        confidence: None,
        class_confidence: Vec::new(),
        value: comparison,
    })
}

/// What throughput is worth as indented JSON, with what it says in words under `sentences`
/// and what to know before under `warnings`.
pub fn value_json(value: &Value) -> String {
    json(WithSentences {
        sentences: sentence::value_sentences(value),
        warnings: Some(sentence::value_warnings(value)),
        confidence: None,
        class_confidence: Vec::new(),
        value,
    })
}

/// What buffers miss of a trace as indented JSON, with what it says in words under `sentences`
/// and what it cannot tell under `warnings`.
pub fn curve_json(curves: &TraceCurves) -> String {
    json(WithSentences {
        sentences: curve::sentences(curves),
        warnings: Some(curve::warnings(curves)),
        confidence: None,
        class_confidence: Vec::new(),
        value: curves,
    })
}

/// The result of a bench as indented JSON, with the rates that follow from its
/// counts.
pub fn bench_json(result: &BenchResult) -> String {
    json(BenchFields {
        transactions_per_second: result.transactions_per_second(),
        counted_per_second: result.counted_per_second(),
        saturated: result.saturated(),
        late_us: result.late(),
        result,
    })
}

/// The catalog of devices as indented JSON.
pub fn devices_json(entries: &[Entry]) -> String {
    json(Devices { devices: entries })
}

/// The catalog of machines as indented JSON.
pub fn machines_json(entries: &[MachineEntry]) -> String {
    json(Machines { machines: entries })
}

/// One device with its published figures beside the model's, as indented
/// JSON.
pub fn device_json(entry: &Entry, compared: &[Compared]) -> String {
    json(Described {
        device: entry,
        published: compared,
    })
}

#[cfg(test)]
mod tests {
    use octavo_device::{catalog, fit::Fit};
    use octavo_experiment::{
        check::{CheckResult, Checked},
        dataset::Manifest,
    };
    use octavo_units::{ByteCount, PageSize, Seed};
    use octavo_workload::WorkloadName;

    use super::*;
    use crate::fixture;

    fn read(findings: &Findings) -> serde_json::Value {
        serde_json::from_str(&findings_json(findings)).unwrap()
    }

    #[test]
    fn the_sum_of_nothing_is_zero() {
        #[derive(Serialize)]
        struct Sums {
            text: &'static str,
            all: [f64; 2],
            sum: f64,
        }
        let json = json(Sums {
            text: "with -0.0",
            all: [-0.0, -0.5],
            sum: -0.0,
        });
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["text"], "with -0.0");
        assert_eq!(json.matches("-0.0").count(), 1, "{json}");
        assert_eq!(value["all"][1], -0.5);
    }

    #[test]
    fn every_document_has_its_format() {
        let stores = [&fixture::findings(), &fixture::findings()];
        let comparison = octavo_experiment::compare::compare(stores[0], stores[1]);
        let instant = catalog::find("instant").unwrap();
        let check = CheckResult {
            loaded: Manifest {
                copy_of: None,
                shape: None,
                format: 1,
                octavo: String::new(),
                loaded_at: "2026-03-01T12:00:00Z".parse().unwrap(),
                database: String::new(),
                database_version: String::new(),
                options: Vec::new(),
                page_size: PageSize::MIN,
                data: WorkloadName::default()
                    .data_spec(&[("warehouses", 1)])
                    .unwrap(),
                seed: Seed::new(1),
                rows: 0,
                size: ByteCount::mib(1),
                elapsed: std::time::Duration::ZERO,
            },
            base: Checked::default(),
            unexpected: Vec::new(),
            last_run: None,
        };
        let twin = Fit {
            entry: instant.clone(),
            points: Vec::new(),
            median_error: 0.0,
            held_out_median_error: None,
            passes_apart: None,
        };
        for text in [
            findings_json(&fixture::findings()),
            compare_json(&comparison, stores),
            bench_json(&fixture::bench()),
            json(check),
            json(fixture::forecast()),
            devices_json(std::slice::from_ref(&instant)),
            device_json(&instant, &[]),
            json(twin),
        ] {
            let value: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(value["format"], FORMAT, "{text}");
            assert_eq!(text.matches("\n  \"format\"").count(), 1, "{text}");
        }
    }

    #[test]
    fn words_come_with_the_figures() {
        let value = read(&fixture::one_memory());
        assert!(value["sentences"][0].as_str().unwrap().contains("8 KiB"));
        let warning = value["warnings"][0].as_str().unwrap();
        assert!(warning.starts_with("1 run failed"), "{warning}");
        assert_eq!(value["caveats"][0]["caveat"], "runs_failed");
        assert_eq!(value["caveats"][0]["runs"], 1);
        assert_eq!(value["caveats"][0]["severity"], "amount");
        assert_eq!(value["confidence"]["trust"], "medium");
        assert_eq!(value["confidence"]["doubts"][0]["why"], "caveat");
        assert_eq!(value["plan"]["compare"], "page-size");
        let verdict = &value["groups"][0]["verdict"];
        assert_eq!(verdict["verdict"], "use");
        assert_eq!(verdict["level"]["page_size"], 8192);
    }

    #[test]
    fn json_has_every_sentence_of_the_report() {
        let text = findings_json(&fixture::findings());
        for said in [
            "Dropping losers early saved 36 s.",
            "passes were left out",
            "Why: with 32 MiB",
            "depend on memory",
            "much less stable",
            "instead of 32",
        ] {
            assert!(text.contains(said), "{said}");
        }
    }

    #[test]
    fn unknown_ends_are_null() {
        let value = read(&fixture::one_pass());
        let ratio = &value["groups"][0]["cells"][0]["ratio"];
        assert!(ratio["estimate"].is_number());
        assert!(ratio["high"].is_null());
    }
}
