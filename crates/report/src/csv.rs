//! The cells of findings as a table for other programs: one row each, units in the names of
//! columns.

use octavo_experiment::{
    findings::{CellFindings, Findings, GroupFindings, PerTransaction},
    plan::Storage,
    statistics::{Decision, Interval},
};

use crate::{naming, number::is_bounded};

/// The names of the columns. Programs may rely on them: new ones come at the end.
const COLUMNS: [&str; 36] = [
    "group",
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
];

/// A row for each cell (RFC 4180), in the order of the report. What is not known is empty. Intervals
/// are those of JSON: throughput's at 95% for the cell alone, ratios' at 95% for all cells of a group
/// together.
pub fn findings_csv(findings: &Findings) -> String {
    let mut text = line(COLUMNS.map(str::to_owned));
    for group in naming::groups(findings) {
        for cell in &group.cells {
            text.push_str(&line(row(findings, group, cell)));
        }
    }
    text
}

fn row(findings: &Findings, group: &GroupFindings, of: &CellFindings) -> [String; COLUMNS.len()] {
    fn known<T: ToString>(value: Option<T>) -> String {
        value.map_or_else(String::new, |value| value.to_string())
    }
    // Without an interval yet it has none.
    let ends = |interval: Option<Interval>| match interval {
        Some(of) if is_bounded(&of) => [of.estimate, of.low, of.high].map(number),
        Some(of) => [number(of.estimate), String::new(), String::new()],
        None => [const { String::new() }; 3],
    };
    let [throughput, throughput_low, throughput_high] = ends(of.throughput);
    let [ratio, ratio_low, ratio_high] = ends(of.ratio);
    let each = |figure: fn(&PerTransaction) -> f64| {
        of.per_transaction
            .as_ref()
            .map_or_else(String::new, |of| number(figure(of)))
    };
    let cell = &of.cell;
    let options = cell.database.options.iter();
    let scripts = findings.plan.own.iter().flat_map(|own| &own.scripts);
    let statements: Vec<&str> = scripts.map(|script| script.name.as_str()).collect();
    let options: Vec<String> = options
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    [
        group.name.clone(),
        findings.plan.cell_name(cell),
        u8::from(of.reference).to_string(),
        findings.source.name().to_owned(),
        cell.database.name.clone(),
        options.join(" "),
        findings.plan.workload.to_string(),
        cell.data.to_string(),
        match &cell.storage {
            Storage::Own => "here".to_owned(),
            storage => storage.to_string(),
        },
        cell.page_size.get().to_string(),
        cell.memory.get().to_string(),
        known(cell.cpus),
        cell.clients.to_string(),
        cell.copy.to_string(),
        throughput,
        throughput_low,
        throughput_high,
        ratio,
        ratio_low,
        ratio_high,
        known(of.decision.map(word)),
        of.passes_counted.to_string(),
        known(of.tail.map(|tail| tail.p50_us)),
        known(of.tail.map(|tail| tail.p99_us)),
        each(|of| of.hit_ratio),
        each(|of| of.buffer_misses),
        each(|of| of.read_bytes),
        each(|of| of.written_bytes),
        each(|of| of.log_written_bytes),
        each(|of| of.syncs),
        of.per_transaction
            .as_ref()
            .and_then(|of| of.device_reads_ratio)
            .map_or_else(String::new, number),
        of.mean_response_ms
            .map_or_else(String::new, |of| number(of.estimate)),
        statements.join(" "),
        findings.plan.margin.to_string(),
        findings.created.clone(),
        findings.octavo.clone(),
    ]
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

/// All digits; nothing where there is no number, as of an end that is not known.
fn number(value: f64) -> String {
    match value.is_finite() {
        true => (value + 0.0).to_string(),
        false => String::new(),
    }
}

fn line(fields: impl IntoIterator<Item = String>) -> String {
    let fields = fields
        .into_iter()
        .map(|field| match field.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", field.replace('"', "\"\"")),
            false => field,
        });
    fields.collect::<Vec<_>>().join(",") + "\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn every_cell_is_a_row_with_its_figures() {
        let findings = fixture::findings();
        let csv = findings_csv(&findings);
        let mut rows = csv.split("\r\n");
        let names: Vec<&str> = rows.next().unwrap().split(',').collect();
        assert_eq!(names, COLUMNS);
        // No quote is in any of them.
        let fields = |row: &str| -> Vec<String> {
            let parts = row.split('"').enumerate();
            let parts = parts.map(|(place, part)| match place % 2 {
                0 => part.replace(',', "\n"),
                _ => part.to_owned(),
            });
            parts
                .collect::<String>()
                .split('\n')
                .map(str::to_owned)
                .collect()
        };
        let rows: Vec<Vec<String>> = rows.filter(|row| !row.is_empty()).map(fields).collect();
        let cells = naming::groups(&findings);
        let cells: Vec<&CellFindings> = cells.iter().flat_map(|group| &group.cells).collect();
        assert_eq!(rows.len(), cells.len());
        let at = |name: &str| names.iter().position(|of| *of == name).unwrap();
        for (row, cell) in rows.iter().zip(cells) {
            assert_eq!(row.len(), COLUMNS.len(), "{row:?}");
            assert_eq!(
                row[at("page_size_bytes")],
                cell.cell.page_size.get().to_string()
            );
            let ratio: Option<f64> = row[at("ratio")].parse().ok();
            assert_eq!(ratio, cell.ratio.map(|of| of.estimate));
            let throughput: Option<f64> = row[at("throughput_per_minute")].parse().ok();
            assert_eq!(throughput, cell.throughput.map(|of| of.estimate));
        }
    }

    #[test]
    fn fields_are_quoted_where_they_have_to_be() {
        let fields = ["a,b", "say \"x\"", "", "1"].map(str::to_owned);
        assert_eq!(line(fields), "\"a,b\",\"say \"\"x\"\"\",,1\r\n");
        assert_eq!([0.1, -0.0, f64::INFINITY].map(number), ["0.1", "0", ""]);
    }
}
