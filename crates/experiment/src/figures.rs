//! The cells of findings as a table for other programs: what stores have as `figures`, and what is
//! written as comma-separated values.

use rusqlite::{
    ToSql,
    types::{Null, ToSqlOutput},
};

use serde::Serialize;

use crate::{
    caveats::Severity,
    confidence::confidence,
    findings::{CellFindings, Findings, GroupFindings, PerTransaction},
    plan::{Cell, Storage},
    statistics::{Decision, Interval},
    store::{Store, StoreError},
};

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// Nobody knows it, or there is none.
    Unknown,
    /// A name.
    Text(String),
    /// A whole number.
    Count(u64),
    /// Any other.
    Number(f64),
}

/// The names of the columns, with units. Programs may rely on them: new ones come at the end.
pub const COLUMNS: [&str; 44] = [
    "group_name",
    "cell",
    "is_reference",
    "source",
    "database",
    "options",
    "workload",
    "data",
    "storage",
    "page_size_bytes",
    "memory_bytes",
    "cpus",
    "clients",
    "copy",
    "throughput_per_minute",
    "throughput_low",
    "throughput_high",
    "ratio",
    "ratio_low",
    "ratio_high",
    "decision",
    "passes_counted",
    "p50_us",
    "p99_us",
    "hit_ratio",
    "misses_per_transaction",
    "read_bytes_per_transaction",
    "written_bytes_per_transaction",
    "log_bytes_per_transaction",
    "syncs_per_transaction",
    "device_reads_per_read",
    "mean_response_ms",
    "statements",
    "margin",
    "created",
    "octavo",
    "p95_us",
    "p999_us",
    "cell_number",
    "reads_per_transaction",
    "writes_per_transaction",
    "storage_path",
    "confidence",
    "warnings",
];

/// The values of a cell, in the order of [`COLUMNS`].
pub type Row = [Figure; COLUMNS.len()];

/// A row for each cell that is compared, in the plan's order; none where cells are ramps. Intervals
/// are those of JSON: throughput's at 95% for the cell alone, ratios' at 95% for all cells of a group
/// together.
pub fn figures(findings: &Findings) -> Vec<Row> {
    let numbers = findings.plan.cells();
    let conditions = Conditions::of(findings);
    let mut rows = Vec::new();
    for group in &findings.groups {
        for cell in &group.cells {
            rows.push(row(findings, &numbers, &conditions, group, cell));
        }
    }
    rows
}

/// Has a store keep them, in place of those of before.
pub(crate) fn keep(store: &mut Store, findings: &Findings) -> Result<(), StoreError> {
    store.set_figures(&COLUMNS, &figures(findings))
}

/// What figures of all cells stand under, in the words of JSON.
struct Conditions {
    confidence: Figure,
    /// Caveats that are more than notes, the worst first.
    warnings: String,
}

impl Conditions {
    fn of(findings: &Findings) -> Self {
        let warnings = findings.caveats.iter();
        let warnings = warnings.filter(|caveat| caveat.severity() > Severity::Note);
        let names: Vec<String> = warnings
            .map(|caveat| name_of(caveat, Some("caveat")))
            .collect();
        Self {
            confidence: known(confidence(findings), |of| {
                Figure::Text(name_of(&of.trust, None))
            }),
            warnings: names.join(" "),
        }
    }
}

/// The name of a variant as JSON has it, in a field or alone.
fn name_of(value: &impl Serialize, field: Option<&str>) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    let named = field.map_or(Some(&value), |field| value.get(field));
    named
        .and_then(|name| name.as_str())
        .unwrap_or_default()
        .to_owned()
}

fn row(
    findings: &Findings,
    cells: &[Cell],
    conditions: &Conditions,
    group: &GroupFindings,
    of: &CellFindings,
) -> Row {
    use Figure::{Number, Text, Unknown};
    let [throughput, throughput_low, throughput_high] = ends(of.throughput);
    let [ratio, ratio_low, ratio_high] = ends(of.ratio);
    let each = |figure: fn(&PerTransaction) -> f64| {
        let of = of.per_transaction.as_ref();
        of.map_or(Unknown, |of| Number(figure(of)))
    };
    let (plan, cell) = (&findings.plan, &of.cell);
    let options = cell.database.options.iter();
    let options: Vec<String> = options
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let scripts = plan.own.iter().flat_map(|own| &own.scripts);
    let statements: Vec<&str> = scripts.map(|script| script.name.as_str()).collect();
    let number = cells.iter().position(|other| other == cell);
    [
        text(&group.name),
        Text(plan.cell_name(cell)),
        count(u8::from(of.reference)),
        text(findings.source.name()),
        text(&cell.database.name),
        Text(options.join(" ")),
        Text(plan.workload.to_string()),
        Text(cell.data.to_string()),
        match &cell.storage {
            Storage::Own => text("here"),
            storage => Text(storage.to_string()),
        },
        count(cell.page_size.get()),
        count(cell.memory.get()),
        known(cell.cpus, count),
        count(cell.clients),
        count(cell.copy),
        throughput,
        throughput_low,
        throughput_high,
        ratio,
        ratio_low,
        ratio_high,
        known(of.decision, |decision| text(word(decision))),
        count(of.passes_counted as u64),
        known(of.tail, |tail| count(tail.p50_us)),
        known(of.tail, |tail| count(tail.p99_us)),
        each(|of| of.hit_ratio),
        each(|of| of.buffer_misses),
        each(|of| of.read_bytes),
        each(|of| of.written_bytes),
        each(|of| of.log_written_bytes),
        each(|of| of.syncs),
        known(
            of.per_transaction
                .as_ref()
                .and_then(|of| of.device_reads_ratio),
            Number,
        ),
        known(of.mean_response_ms.map(|of| of.estimate), Number),
        Text(statements.join(" ")),
        Number(plan.margin),
        text(&findings.created),
        text(&findings.octavo),
        known(of.tail, |tail| count(tail.p95_us)),
        known(of.tail, |tail| count(tail.p999_us)),
        known(number, |number| count(number as u64)),
        each(|of| of.reads),
        each(|of| of.writes),
        known(of.storage_path, |path| Text(name_of(&path, None))),
        conditions.confidence.clone(),
        text(&conditions.warnings),
    ]
    .map(Figure::without_nonsense)
}

impl Figure {
    /// What is no number is not known, and nothing is negative zero.
    fn without_nonsense(self) -> Self {
        match self {
            Self::Number(value) if !value.is_finite() => Self::Unknown,
            Self::Number(value) => Self::Number(value + 0.0),
            value => value,
        }
    }
}

impl ToSql for Figure {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Unknown => Null.to_sql(),
            Self::Text(text) => text.to_sql(),
            // SQLite's integers are signed; counts beyond 2^63 do not happen.
            Self::Count(count) => Ok(i64::try_from(*count).unwrap_or(i64::MAX).into()),
            Self::Number(number) => number.to_sql(),
        }
    }
}

fn text(text: &str) -> Figure {
    Figure::Text(text.to_owned())
}

fn count(count: impl Into<u64>) -> Figure {
    Figure::Count(count.into())
}

fn known<T>(value: Option<T>, figure: impl FnOnce(T) -> Figure) -> Figure {
    value.map_or(Figure::Unknown, figure)
}

/// An estimate and the ends of its interval, which are not known before there are enough batches.
fn ends(interval: Option<Interval>) -> [Figure; 3] {
    let Some(of) = interval else {
        return [const { Figure::Unknown }; 3];
    };
    let [low, high] = match of.says_something() {
        true => [of.low, of.high].map(Figure::Number),
        false => [const { Figure::Unknown }; 2],
    };
    [Figure::Number(of.estimate), low, high]
}

/// As in JSON.
fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Better => "better",
        Decision::Worse => "worse",
        Decision::Equivalent => "equivalent",
        Decision::Open => "open",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{SliceLength, tests::plan};

    #[test]
    fn ends_are_not_known_before_there_are_enough_batches() {
        let interval = |low, high| {
            ends(Some(Interval {
                estimate: 2.0,
                low,
                high,
                batches: 1,
            }))
        };
        let number = Figure::Number;
        assert_eq!(interval(1.5, 2.5), [2.0, 1.5, 2.5].map(number));
        let [estimate, low, high] = interval(0.0, f64::INFINITY);
        assert_eq!(
            (estimate, low, high),
            (Figure::Number(2.0), Figure::Unknown, Figure::Unknown)
        );
        assert_eq!(ends(None), [const { Figure::Unknown }; 3]);
    }

    #[test]
    fn what_is_no_number_is_not_known() {
        let plain = |value| Figure::Number(value).without_nonsense();
        assert_eq!(plain(f64::NAN), Figure::Unknown);
        assert_eq!(plain(f64::INFINITY), Figure::Unknown);
        let Figure::Number(zero) = plain(-0.0) else {
            panic!("0 is a number");
        };
        assert!(zero.is_sign_positive());
    }

    #[test]
    fn figures_are_those_of_the_last_time() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open_or_create(&directory.path().join("octavo.db")).unwrap();
        store.adopt(&plan(), SliceLength::default(), "0").unwrap();
        let columns: Vec<String> = store
            .collect(
                "SELECT name FROM pragma_table_info('figures')",
                &[],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(columns, COLUMNS);
        let mut row = [const { Figure::Unknown }; COLUMNS.len()];
        for (value, name) in row.iter_mut().zip(COLUMNS) {
            *value = match name {
                "cell" => Figure::Text("4 KiB".into()),
                "clients" => Figure::Count(3),
                "ratio" => Figure::Number(0.5),
                _ => Figure::Unknown,
            };
        }
        for _ in 0..2 {
            store
                .set_figures(&COLUMNS, &[row.clone(), row.clone()])
                .unwrap();
        }
        let kept = |store: &Store| -> Vec<(String, u32, f64, Option<i64>)> {
            let sql = "SELECT cell, clients, ratio, cpus FROM figures";
            store
                .collect(sql, &[], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
                })
                .unwrap()
        };
        let wanted = ("4 KiB".to_owned(), 3, 0.5, None);
        assert_eq!(kept(&store), [wanted.clone(), wanted]);
        // What is measured again may say something else.
        store.adopt(&plan(), SliceLength::default(), "0").unwrap();
        assert_eq!(kept(&store), []);
    }
}
