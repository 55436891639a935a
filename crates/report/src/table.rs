//! The tables of both reports as text cells.

use octavo_experiment::findings::{
    CellFindings, Findings, LatencySummary, MemoryFindings, PerTransaction, share, throughput_mean,
};

use crate::{
    number::{UNKNOWN, bytes, count, number, percent_fine, ratio_interval, seconds},
    sentence::standing,
};

/// A table of text cells. The first column names the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// Names of the columns, with units.
    pub(crate) header: Vec<String>,
    /// As many cells a row as the header has.
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const COLUMNS: usize>(
        header: [&str; COLUMNS],
        rows: impl IntoIterator<Item = [String; COLUMNS]>,
    ) -> Self {
        Self {
            header: header.map(str::to_owned).to_vec(),
            rows: rows.into_iter().map(|row| row.to_vec()).collect(),
        }
    }
}

/// Throughput and how it compares, by page size.
pub(crate) fn throughput(memory: &MemoryFindings) -> Table {
    Table::new(
        ["page", "NOPM", "ratio to default (95 %)", "standing"],
        memory.cells.iter().map(|cell| {
            [
                cell.cell.page_size.get().to_string(),
                nopm(cell),
                if cell.reference {
                    "1".into()
                } else {
                    cell.ratio
                        .map_or_else(|| UNKNOWN.into(), |ratio| ratio_interval(&ratio))
                },
                standing(cell.standing, cell.reference).into(),
            ]
        }),
    )
}

/// The words for the columns of [`costs`].
pub(crate) const COSTS: &str = "Per transaction of any kind: share of page references found in the \
    buffer, misses, bytes read and written (data and log), the log's share of these, and write \
    amplification (bytes written ÷ bytes of column values changed); latency of New-Order from \
    submission, closed loop";

/// New orders a minute, the mean over runs.
pub(crate) fn nopm(cell: &CellFindings) -> String {
    throughput_mean(cell).map_or_else(|| UNKNOWN.into(), number)
}

/// What a transaction costs, by page size; [`COSTS`] says what the columns
/// are.
pub(crate) fn costs(memory: &MemoryFindings) -> Table {
    Table::new(
        [
            "page", "hits", "misses", "read", "written", "log", "ampl.", "p50 ms", "p99 ms",
        ],
        memory.cells.iter().map(|cell| {
            let of = |figure: &dyn Fn(&PerTransaction) -> String| {
                cell.per_transaction
                    .as_ref()
                    .map_or_else(|| UNKNOWN.into(), figure)
            };
            let latency = |figure: &dyn Fn(&LatencySummary) -> u64| {
                new_order(cell).map_or_else(|| UNKNOWN.into(), |l| number(figure(l) as f64 / 1e3))
            };
            [
                cell.cell.page_size.get().to_string(),
                of(&|f| percent_fine(f.hit_ratio)),
                of(&|f| number(f.buffer_misses)),
                of(&|f| bytes(f.read_bytes)),
                of(&|f| bytes(f.written_bytes)),
                of(&|f| percent_fine(log_share(f))),
                of(&|f| number(f.write_amplification)),
                latency(&|l| l.latency.p50_us),
                latency(&|l| l.latency.p99_us),
            ]
        }),
    )
}

/// The share of written bytes that went to the log or journal, 0 to 1; NaN
/// when nothing was written.
pub(crate) fn log_share(figures: &PerTransaction) -> f64 {
    figures.log_written_bytes / figures.written_bytes
}

fn new_order(cell: &CellFindings) -> Option<&LatencySummary> {
    cell.latencies
        .iter()
        .find(|latency| latency.transaction == "New-Order")
}

/// How storage and machine were used, by page size.
pub(crate) fn storage(memory: &MemoryFindings) -> Table {
    Table::new(
        [
            "page",
            "misses read",
            "device reads / ours",
            "device writes / ours",
            "read us",
            "flush us",
            "flushes",
            "CPU cores",
        ],
        memory.cells.iter().map(|cell| {
            let of = |figure: &dyn Fn(&PerTransaction) -> Option<String>| {
                cell.per_transaction
                    .as_ref()
                    .and_then(figure)
                    .unwrap_or_else(|| UNKNOWN.into())
            };
            [
                cell.cell.page_size.get().to_string(),
                of(&|f| Some(percent_fine(f.misses_read))),
                of(&|f| f.device_reads_ratio.map(number)),
                of(&|f| f.device_written_ratio.map(number)),
                of(&|f| Some(number(f.read_us_mean))),
                of(&|f| Some(number(f.sync_us_mean))),
                of(&|f| Some(number(f.syncs))),
                of(&|f| Some(number(f.cpu_cores_used))),
            ]
        }),
    )
}

/// Latencies of every kind of transaction of one cell, in milliseconds.
pub(crate) fn latencies(cell: &CellFindings) -> Table {
    let ms = |us: u64| number(us as f64 / 1e3);
    Table::new(
        [
            "transaction",
            "committed",
            "rolled back",
            "retries",
            "p50 ms",
            "p90 ms",
            "p95 ms",
            "p99 ms",
            "p99.9 ms",
            "max ms",
        ],
        cell.latencies.iter().map(|latency| {
            [
                latency.transaction.clone(),
                count(latency.committed),
                count(latency.rolled_back),
                count(latency.retries),
                ms(latency.latency.p50_us),
                ms(latency.latency.p90_us),
                ms(latency.latency.p95_us),
                ms(latency.latency.p99_us),
                ms(latency.latency.p999_us),
                ms(latency.latency.max_us),
            ]
        }),
    )
}

/// What was generated against what the specification wants.
pub(crate) fn audit(findings: &Findings) -> Table {
    Table::new(
        ["generated", "share", "wanted", "of"],
        findings.audit.lines.iter().map(|line| {
            [
                line.name.clone(),
                percent_fine(share(line)),
                percent_fine(line.wanted),
                count(line.total),
            ]
        }),
    )
}

/// How drawn values were distributed: Pearson's statistic, which is about as
/// large as the degrees of freedom when draws follow the specification.
pub(crate) fn distributions(findings: &Findings) -> Table {
    Table::new(
        ["drawn", "draws", "chi-square", "degrees of freedom"],
        findings.audit.distributions.iter().map(|drawn| {
            [
                drawn.name.clone(),
                count(drawn.counts.iter().sum()),
                number(drawn.chi_square()),
                drawn.counts.len().saturating_sub(1).to_string(),
            ]
        }),
    )
}

/// How each page size's data was made.
pub(crate) fn bases(findings: &Findings) -> Table {
    Table::new(
        ["page", "data", "rows", "made by", "in"],
        findings.bases.iter().map(|base| {
            [
                base.page_size.get().to_string(),
                base.size.to_string(),
                count(base.rows),
                base.made_by.clone(),
                seconds(base.elapsed_s),
            ]
        }),
    )
}

/// Runs without a result.
pub(crate) fn failed(findings: &Findings) -> Table {
    Table::new(
        ["round", "page", "memory", "reason"],
        findings.runs_failed.iter().map(|run| {
            [
                run.round.to_string(),
                run.cell.page_size.get().to_string(),
                run.cell.memory.to_string(),
                run.reason.clone(),
            ]
        }),
    )
}
