//! The tables of both reports as text cells.

use octavo_driver::Percentiles;
use octavo_experiment::{
    energy::CellEnergy,
    findings::{CellFindings, CellStability, Findings, GroupFindings, PerTransaction, share},
    plan::{Factor, SnapshotKey},
};

use crate::{
    naming,
    number::{
        UNKNOWN, bytes, count, joules, number, percent, percent_fine, ratio_interval, seconds,
    },
    sentence::{contrast, not_steady, place, stall, standing, word},
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

/// How much of a comparison a table shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// What fits a terminal, which says in a sentence who left the race.
    Short,
    /// All of it.
    Full,
}

/// Throughput and how it compares, by what is compared. The standing comes
/// last.
pub(crate) fn throughput(findings: &Findings, group: &GroupFindings, detail: Detail) -> Table {
    let reference = naming::reference_word(findings);
    let full = detail == Detail::Full;
    let race = full && naming::is_race(findings);
    let mut header = vec![
        naming::column(findings).to_owned(),
        naming::rate_in_short(findings),
        format!("ratio to {reference} (95 %)"),
    ];
    if full {
        header.push("rounds".into());
    }
    if race {
        header.push("race".into());
    }
    header.push("standing".into());
    let rows = group
        .cells
        .iter()
        .map(|cell| {
            let mut row = vec![
                naming::cell(cell),
                rate(cell),
                if cell.reference {
                    "1".into()
                } else {
                    cell.ratio
                        .map_or_else(|| UNKNOWN.into(), |ratio| ratio_interval(&ratio))
                },
            ];
            if full {
                row.push(compared_rounds(cell));
            }
            if race {
                row.push(place(findings, group, cell));
            }
            row.push(standing(cell.standing, cell.reference.then_some(reference)).into());
            row
        })
        .collect();
    Table { header, rows }
}

/// From how many rounds a ratio is, and whether these were fresh.
fn compared_rounds(cell: &CellFindings) -> String {
    cell.ratio.map_or_else(
        || UNKNOWN.into(),
        |ratio| {
            if cell.fresh {
                format!("{} fresh", ratio.rounds)
            } else {
                ratio.rounds.to_string()
            }
        },
    )
}

/// The words for the columns of [`costs`].
pub(crate) fn costs_words(findings: &Findings) -> String {
    let latency = naming::latency_kind(findings).map_or_else(
        || "latency of no transaction yet".into(),
        |kind| format!("latency of {kind} from submission, closed loop"),
    );
    format!(
        "Per transaction of any kind: share of page references found in the buffer, misses, bytes \
         read and written (data and log), the log's share of these, and write amplification \
         (bytes written ÷ bytes of column values changed); {latency}"
    )
}

/// Counted transactions a minute, the geometric mean over the cell's own runs.
pub(crate) fn rate(cell: &CellFindings) -> String {
    cell.throughput
        .map_or_else(|| UNKNOWN.into(), |throughput| number(throughput.estimate))
}

/// What a transaction costs; [`costs_words`] says what the columns are.
pub(crate) fn costs(findings: &Findings, group: &GroupFindings) -> Table {
    let kind = naming::latency_kind(findings);
    Table::new(
        [
            naming::column(findings),
            "hits",
            "misses",
            "read",
            "written",
            "log",
            "ampl.",
            "p50 ms",
            "p99 ms",
        ],
        group.cells.iter().map(|cell| {
            let of = |figure: &dyn Fn(&PerTransaction) -> String| {
                cell.per_transaction
                    .as_ref()
                    .map_or_else(|| UNKNOWN.into(), figure)
            };
            let latency = |figure: &dyn Fn(&Percentiles) -> u64| {
                cell.kinds
                    .iter()
                    .find(|counts| Some(&*counts.name) == kind.as_deref())
                    .map_or_else(
                        || UNKNOWN.into(),
                        |counts| number(figure(&counts.latencies.percentiles()) as f64 / 1e3),
                    )
            };
            [
                naming::cell(cell),
                of(&|f| percent_fine(f.hit_ratio)),
                of(&|f| number(f.buffer_misses)),
                of(&|f| bytes(f.read_bytes)),
                of(&|f| bytes(f.written_bytes)),
                of(&|f| percent_fine(log_share(f))),
                of(&|f| number(f.write_amplification)),
                latency(&|l| l.p50_us),
                latency(&|l| l.p99_us),
            ]
        }),
    )
}

/// The words for the columns of [`stability`].
pub(crate) const STABILITY: &str = "Coefficient of variation (standard deviation ÷ mean) of \
    throughput over windows, the median over runs; the longest time without a counted commit in \
    any run; runs that rose and fell periodically; runs that were not steady and are left out";

/// How even the runs were; [`STABILITY`] says what the columns are. In short,
/// runs that were not steady are counted and the reasons left out.
pub(crate) fn stability(findings: &Findings, group: &GroupFindings, detail: Detail) -> Table {
    Table::new(
        [
            naming::column(findings),
            "variation",
            "window",
            "longest stall",
            "periodic",
            "not steady",
        ],
        group.cells.iter().map(|cell| {
            let of = |figure: &dyn Fn(&CellStability) -> String| {
                cell.stability
                    .as_ref()
                    .map_or_else(|| UNKNOWN.into(), figure)
            };
            [
                naming::cell(cell),
                of(&|s| percent(s.variation)),
                of(&|s| seconds(s.window_s)),
                of(&|s| stall(s.stall_s)),
                cell.periodic.to_string(),
                match detail {
                    Detail::Full if !cell.not_steady.is_empty() => not_steady(&cell.not_steady),
                    _ => cell.not_steady.len().to_string(),
                },
            ]
        }),
    )
}

/// All interactions, whether they matter or not.
pub(crate) fn interactions(findings: &Findings) -> Table {
    let within = findings
        .interactions
        .iter()
        .any(|interaction| !interaction.within.is_empty());
    let mut header = vec![
        naming::column(findings).to_owned(),
        "between".into(),
        "ratio of ratios (95 %)".into(),
        "rounds".into(),
        "interaction".into(),
    ];
    if within {
        header.insert(2, "with".into());
    }
    let rows = findings
        .interactions
        .iter()
        .map(|interaction| {
            let mut row = vec![
                naming::level(&interaction.level),
                contrast(&interaction.at, &interaction.against),
                ratio_interval(&interaction.ratio),
                interaction.ratio.rounds.to_string(),
                word(interaction.standing).to_owned(),
            ];
            if within {
                row.insert(2, interaction.within.clone());
            }
            row
        })
        .collect();
    Table { header, rows }
}

/// The share of written bytes that went to the log or journal, 0 to 1; NaN
/// when nothing was written.
pub(crate) fn log_share(figures: &PerTransaction) -> f64 {
    figures.log_written_bytes / figures.written_bytes
}

/// How storage and machine were used.
pub(crate) fn storage(findings: &Findings, group: &GroupFindings) -> Table {
    Table::new(
        [
            naming::column(findings),
            "misses read",
            "device reads / ours",
            "device writes / ours",
            "read us",
            "flush us",
            "flushes",
            "CPU cores",
        ],
        group.cells.iter().map(|cell| {
            let of = |figure: &dyn Fn(&PerTransaction) -> Option<String>| {
                cell.per_transaction
                    .as_ref()
                    .and_then(figure)
                    .unwrap_or_else(|| UNKNOWN.into())
            };
            [
                naming::cell(cell),
                of(&|f| Some(percent_fine(f.misses_read))),
                of(&|f| f.device_reads_ratio.map(number)),
                of(&|f| f.device_written_ratio.map(number)),
                of(&|f| f.read_us_mean.is_finite().then(|| number(f.read_us_mean))),
                of(&|f| f.sync_us_mean.is_finite().then(|| number(f.sync_us_mean))),
                of(&|f| Some(number(f.syncs))),
                of(&|f| Some(number(f.cpu_cores_used))),
            ]
        }),
    )
}

/// The words for the columns of [`energy`].
pub(crate) const ENERGY: &str = "energy that the device alone took for each transaction of any \
    kind, calculated from what it draws at rest and at work; of that, what it would have taken \
    idle; share of the time in which it was busy";

/// What transactions took of the device's energy; `None` where that is not
/// known of any cell. [`ENERGY`] says what the columns are.
pub(crate) fn energy(findings: &Findings, group: &GroupFindings) -> Option<Table> {
    group.cells.iter().find_map(|cell| cell.energy)?;
    let ratio = format!("ratio to {} (95 %)", naming::reference_word(findings));
    Some(Table::new(
        [
            naming::column(findings),
            "energy",
            "of it idle",
            "busy",
            &ratio,
        ],
        group.cells.iter().map(|cell| {
            let of = |figure: &dyn Fn(&CellEnergy) -> String| {
                cell.energy.as_ref().map_or_else(|| UNKNOWN.into(), figure)
            };
            [
                naming::cell(cell),
                of(&|e| joules(e.joules_per_transaction)),
                of(&|e| joules(e.idle_joules_per_transaction)),
                of(&|e| percent_fine(e.busy)),
                of(&|e| match e.ratio {
                    _ if cell.reference => "1".into(),
                    None => UNKNOWN.into(),
                    Some(ratio) => ratio_interval(&ratio),
                }),
            ]
        }),
    ))
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
        cell.kinds.iter().map(|kind| {
            let latency = kind.latencies.percentiles();
            [
                kind.name.to_string(),
                count(kind.committed()),
                count(kind.rolled_back()),
                count(kind.retries()),
                ms(latency.p50_us),
                ms(latency.p90_us),
                ms(latency.p95_us),
                ms(latency.p99_us),
                ms(latency.p999_us),
                ms(latency.max_us),
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

/// How the data was made that runs begin with.
pub(crate) fn snapshots(findings: &Findings) -> Table {
    Table::new(
        ["page", "data", "rows", "made by", "in"],
        findings.snapshots.iter().map(|snapshot| {
            [
                snapshot_name(findings, &snapshot.key),
                snapshot.size.to_string(),
                count(snapshot.rows),
                snapshot.made_by.clone(),
                seconds(snapshot.elapsed_s),
            ]
        }),
    )
}

/// A snapshot by its page size and whatever else its plan has several of.
fn snapshot_name(findings: &Findings, key: &SnapshotKey) -> String {
    let plan = &findings.plan;
    let page = key.page_size.get().to_string();
    let like = plan
        .cells()
        .into_iter()
        .find(|cell| cell.snapshot() == *key);
    let Some(cell) = like else {
        return page;
    };
    let others: Vec<String> = [Factor::Database, Factor::Rows, Factor::Storage]
        .into_iter()
        .filter(|&factor| plan.count(factor) > 1)
        .map(|factor| plan.level(&cell, factor).with_noun())
        .collect();
    if others.is_empty() {
        page
    } else {
        format!("{page}, {}", others.join(", "))
    }
}

/// Runs without a result.
pub(crate) fn failed(findings: &Findings) -> Table {
    Table::new(
        ["round", "cell", "reason"],
        findings.runs_failed.iter().map(|run| {
            [
                run.round.to_string(),
                findings.plan.cell_name(&run.cell),
                run.reason.clone(),
            ]
        }),
    )
}
