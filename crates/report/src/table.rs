//! The tables of findings.

use std::collections::HashSet;

use octavo_driver::{KindCounts, Percentiles};
use octavo_experiment::{
    confidence::advised,
    energy::{CellEnergy, CellMachineEnergy},
    findings::{
        Age, CellFindings, CellStability, FailedRun, Findings, Fleet, GroupFindings,
        PerTransaction, Tail, TransactionTime, share,
    },
    inputs::InputName,
    own_sizes::{ChosenSizes, ChosenTree},
    part::PartKind,
    plan::{Factor, Level, Plan, SnapshotKey},
    statistics::Interval,
};
use octavo_units::spread::Spread;
use octavo_workload::AuditRule;

use crate::{
    bar::IntervalBar,
    document::{EXTRA, Table, TableBuilder},
    naming::{self, Shown},
    number::{
        UNKNOWN, bytes, count, join, joules, number, percent, percent_fine, ratio_interval,
        seconds, signed,
    },
    sentence::{
        bound_word, contrast, covered, hosts_with, on_few_hosts, on_hosts, page_sizes, place,
        share_of_data, stall, word,
    },
};

/// A known value in words, else a dash.
fn known<T>(value: Option<T>, words: impl Fn(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.into(), words)
}

/// A time in microseconds as milliseconds.
pub(crate) fn ms(microseconds: u64) -> String {
    number(microseconds as f64 / 1e3)
}

/// A table of a group's cells, which names them.
fn of_cells<'a>(
    findings: &Findings,
    group: &'a GroupFindings,
    caption: impl Into<String>,
) -> TableBuilder<'a, CellFindings> {
    let name = naming::column(findings);
    Table::with_rows(caption, &group.cells).label(name, |cell| naming::cell(findings, cell))
}

fn vs_reference(findings: &Findings) -> String {
    format!("vs {} (95% CI)", naming::reference_word(findings))
}

fn compared(cell: &CellFindings, ratio: Option<Interval>) -> String {
    if cell.reference {
        "1".into()
    } else {
        known(ratio, |ratio| ratio_interval(&ratio))
    }
}

/// A group at a glance: throughput and how it compares.
pub(crate) fn brief(findings: &Findings, group: &GroupFindings) -> Table {
    let bar = IntervalBar::over(group, findings.plan.margin);
    let share = share_of_data(findings, group);
    let share = share.map_or_else(String::new, |share| format!(" ({share})"));
    let caption = match group.name.as_str() {
        "" => String::new(),
        name => format!("{name}{share}"),
    };
    let reference = naming::reference_cell(group);
    let reference = reference.map_or_else(String::new, |cell| naming::cell(findings, cell));
    let shown = naming::shown(findings);
    of_cells(findings, group, caption)
        .figure((shown.in_short.clone(), 8), |cell| rate(&shown, cell))
        .figure((shown.header(&format!("vs {reference}")), 1), |cell| {
            cell.ratio
                .map_or_else(String::new, |ratio| signed(ratio.estimate))
        })
        .drawing((bar.header(), 9), |cell| {
            bar.draw(cell.ratio.as_ref(), cell.reference)
        })
        .prose("result", |cell| place(findings, group, cell))
        .build()
}

/// Throughput and how it compares, with intervals.
pub(crate) fn throughput(findings: &Findings, group: &GroupFindings) -> Table {
    let shown = naming::shown(findings);
    let caption = format!("{}{}", shown.caption(), naming::in_group(group));
    let mut table = of_cells(findings, group, caption)
        .figure((shown.in_short.clone(), 8), |cell| rate(&shown, cell))
        .words((shown.header(&vs_reference(findings)), 1), |cell| {
            compared(cell, cell.ratio)
        });
    // What is said of levels beside the winner is of these: cells that move alike differ by
    // less than their ratios to the reference allow.
    if group.cells.iter().any(|cell| cell.over_advised.is_some()) {
        table = table.words(
            (shown.header("vs winner (95% CI)"), 2),
            |cell| match advised(group) {
                Some(winner) if winner.level == cell.level => "1".into(),
                _ => known(cell.over_advised, |over| {
                    ratio_interval(&over) + &on_hosts(findings, &over)
                }),
            },
        );
    }
    let samples = match findings.is_over_hosts() {
        true => "hosts",
        false => "batches",
    };
    table = table.figure((samples, EXTRA), |cell| {
        // Of what left, those at the look at which it left.
        let of_ratio = cell.ratio.map(|ratio| ratio.batches);
        let own = match findings.is_over_hosts() {
            true if let Some(hosts) = on_few_hosts(findings, cell) => hosts,
            true => hosts_with(findings, cell),
            false => cell.batches.len(),
        };
        of_ratio.unwrap_or(own).to_string()
    });
    // Those of hosts have a table by host.
    if !findings.is_over_hosts() {
        table = table.words(("by sitting", EXTRA), by_sitting);
    }
    table
        .prose("result", |cell| place(findings, group, cell))
        .build()
}

/// The ratio within each sitting.
fn by_sitting(cell: &CellFindings) -> String {
    join(
        cell.by_sitting.iter().map(|(_, of)| signed(of.estimate)),
        ", ",
    )
}

/// Counted transactions a minute, or at a pace the mean response time.
fn rate(shown: &Shown, cell: &CellFindings) -> String {
    known(shown.of(cell), |shown| number(shown.estimate))
}

/// What a transaction costs.
pub(crate) fn costs(findings: &Findings, group: &GroupFindings) -> Table {
    let of = |figure: fn(&PerTransaction) -> String| {
        move |cell: &CellFindings| known(cell.per_transaction.as_ref(), figure)
    };
    let caption = format!("Per transaction{}", naming::in_group(group));
    let mut table = of_cells(findings, group, caption)
        .figure(("cache hit rate", 4), of(|f| percent_fine(f.hit_ratio)))
        .figure(("misses", 7), of(|f| number(f.buffer_misses)));
    let mut each = group
        .cells
        .iter()
        .filter_map(|cell| cell.per_transaction.as_ref());
    if each.any(|of| !of.misses_are_reads()) {
        table = table.figure(("reads", 6), of(|f| number(f.reads)));
    }
    table
        .figure("read", of(|f| bytes(f.read_bytes)))
        .figure(("written", 3), of(|f| bytes(f.written_bytes)))
        .figure(("log share", 9), of(|f| percent_fine(log_share(f))))
        .figure(("write ampl.", 8), of(|f| number(f.write_amplification)))
        .figure(("fsyncs", 9), of(|f| number(f.syncs)))
        .build()
}

/// Where a transaction's time goes, in milliseconds.
pub(crate) fn times(findings: &Findings, group: &GroupFindings) -> Table {
    let of = |part: fn(&TransactionTime) -> Option<f64>| {
        move |cell: &CellFindings| known(cell.time.as_ref().and_then(part), |us| number(us / 1e3))
    };
    let times = || group.cells.iter().filter_map(|cell| cell.time);
    let untimed = match times().all(|time| time.is_whole()) {
        true => "",
        false => "; what is not timed, or too short to be (–), is in other",
    };
    let caption = format!(
        "Time of a transaction in ms{}{untimed}",
        naming::in_group(group)
    );
    let mut table = of_cells(findings, group, caption)
        .figure("all", of(|of| Some(of.total_us)))
        .figure("read", of(|of| of.read_us))
        .figure(("log write", 3), of(|of| of.log_write_us))
        .figure(("log fsync", 4), of(|of| of.log_sync_us))
        .figure(
            (naming::of_data_files(findings), 2),
            of(|of| of.checkpoint_us),
        )
        .figure(("CPU", 5), of(|of| of.cpu_us))
        .figure(("other", 6), of(|of| Some(of.other_us)));
    if times().any(|time| time.waits.is_some()) {
        table = table
            .figure("waiting for others", of(|of| Some(of.waits?.all_us())))
            .figure("limit or largest part (busy)", |cell: &CellFindings| {
                known(cell.bound.as_ref(), bound_word)
            });
    }
    let mut table = table.build();
    if times().next().is_none() {
        table.rows.clear();
    }
    table
}

/// Latencies of all transactions, and how long checkpoints take.
pub(crate) fn tails(findings: &Findings, group: &GroupFindings) -> Table {
    let of = |part: fn(&Tail) -> String| move |cell: &CellFindings| known(cell.tail.as_ref(), part);
    let caption = format!("All transactions{}", naming::in_group(group));
    of_cells(findings, group, caption)
        .figure("p50 ms", of(|of| ms(of.p50_us)))
        .figure("p99 ms", of(|of| ms(of.p99_us)))
        .figure(
            ("mean checkpoint ms", 3),
            of(|of| known(of.checkpoint_us, |us| number(us / 1e3))),
        )
        .figure(
            ("transactions per checkpoint", 4),
            of(|of| known(of.checkpoints, |of| number(1.0 / of))),
        )
        .build()
}

/// The share of written bytes that went to the log or journal, 0 to 1; NaN
/// when nothing was written.
fn log_share(figures: &PerTransaction) -> f64 {
    figures.log_written_bytes / figures.written_bytes
}

/// How even the batches were, and how far the data had changed.
pub(crate) fn stability(findings: &Findings, group: &GroupFindings) -> Table {
    let of = |figure: fn(&CellStability) -> String| {
        move |cell: &CellFindings| known(cell.stability.as_ref(), figure)
    };
    let age =
        |figure: fn(&Age) -> String| move |cell: &CellFindings| known(cell.age.as_ref(), figure);
    let mut table = of_cells(findings, group, naming::capital(naming::group(group)));
    let stabilities = || group.cells.iter().filter_map(|cell| cell.stability);
    if stabilities().any(|of| of.windows.is_some()) {
        let windows = |figure: fn(&Spread) -> String| {
            move |cell: &CellFindings| {
                known(cell.stability.and_then(|of| of.windows).as_ref(), figure)
            }
        };
        table = table
            .figure(
                ("per second, 10-s windows", 10),
                windows(|of| number(of.mean)),
            )
            .figure(("SD", 11), windows(|of| number(of.standard_deviation)))
            .figure(("variation", 10), windows(|of| percent_fine(of.variation)))
            .figure(("windows", 11), windows(|of| of.windows.to_string()));
    }
    table
        .figure("variation of batches", of(|s| known(s.variation, percent)))
        .figure(("batch", 8), of(|s| seconds(s.batch_s)))
        .figure("slowest transaction", of(|s| stall(s.longest_s)))
        .figure(
            ("transactions after warm-up, at most", 9),
            age(|of| count(of.transactions)),
        )
        .figure(
            ("misses, 2nd half", 7),
            age(|of| known(of.miss_trend, signed)),
        )
        .build()
}

/// All interactions, whether they matter or not.
pub(crate) fn interactions(findings: &Findings) -> Table {
    let within = findings
        .interactions
        .iter()
        .any(|interaction| !interaction.within.is_empty());
    let mut table = Table::with_rows(
        format!(
            "How the ratio to the {} changes with other factors, within {}, 95% CI for all \
             of these together (Bonferroni)",
            naming::reference_word(findings),
            match findings.is_over_hosts() {
                true => "hosts",
                false => "batches",
            }
        ),
        &findings.interactions,
    )
    .label(naming::column(findings), |of| naming::level(&of.level))
    .words("between", |of| contrast(&of.at, &of.against));
    if within {
        table = table.words("with", |of| of.within.clone());
    }
    table
        .words("ratio of ratios (95% CI)", |of| {
            ratio_interval(&of.ratio) + &on_hosts(findings, &of.ratio)
        })
        .words("ratio is", |of| word(of.decision))
        .build()
}

/// How storage and machine were used.
pub(crate) fn storage(findings: &Findings, group: &GroupFindings) -> Table {
    let of = |figure: fn(&PerTransaction) -> Option<f64>, words: fn(f64) -> String| {
        move |cell: &CellFindings| known(cell.per_transaction.as_ref().and_then(figure), words)
    };
    of_cells(findings, group, "Means")
        .figure("misses read", of(|f| f.misses_read, percent_fine))
        .figure(
            "device reads / ours (requests)",
            of(|f| f.device_reads_ratio, number),
        )
        .figure(
            "device reads / ours (bytes)",
            of(|f| f.device_read_ratio, number),
        )
        .figure(
            "device writes / ours (bytes)",
            of(|f| f.device_written_ratio, number),
        )
        .figure("read µs", of(|f| Some(f.read_us_mean), number))
        .figure("fsync µs", of(|f| Some(f.sync_us_mean), number))
        .build()
}

/// A table or index, or what is of none of them.
struct TreeRow {
    name: String,
    size: String,
    page: String,
    /// Reads with the chosen sizes and with the best single one, predicted and measured.
    predicted: [Option<f64>; 2],
    measured: [Option<f64>; 2],
    misses: f64,
    held: f64,
}

/// What was predicted of each table and index, and what cells read of them; the one whose reads take longest
/// first.
pub(crate) fn own_sizes(plan: &Plan, chosen: &ChosenSizes, cells: &[&CellFindings]) -> Table {
    let best_single = chosen.best_single;
    let best = chosen
        .single
        .iter()
        .position(|of| of.page_size == best_single);
    let single = |of: &[f64]| best.and_then(|best| of.get(best).copied());
    let cell = |level: Option<Level>| {
        let mut cells = cells.iter().filter(|cell| !cell.trees.is_empty());
        cells.find(|cell| Some(plan.level(&cell.cell, Factor::PageSize)) == level)
    };
    let measured = [
        cell(chosen.mixed.clone().map(Level::MixedSizes)),
        cell(Some(Level::PageSize(best_single))),
    ];
    let mut trees: Vec<&ChosenTree> = chosen.trees.iter().collect();
    trees.sort_by(|one, other| other.reads_us.total_cmp(&one.reads_us));
    let rows = trees.iter().map(|tree| TreeRow {
        name: tree.name.clone(),
        size: bytes(tree.size.get() as f64),
        page: tree.page_size.to_string(),
        predicted: [Some(tree.reads), single(&tree.reads_single)],
        measured: measured.map(|cell| {
            let own = cell?.trees.iter().find(|own| own.name == tree.name);
            own.map(|own| own.reads)
        }),
        misses: tree.misses,
        held: tree.held.get() as f64,
    });
    let sum = |of: &dyn Fn(&ChosenTree) -> f64| chosen.trees.iter().map(of).sum::<f64>();
    let all_reads = |cell: &CellFindings| Some(cell.per_transaction.as_ref()?.reads);
    let ahead = TreeRow {
        name: "read ahead, merging".into(),
        size: String::new(),
        page: String::new(),
        predicted: [
            Some(sum(&|tree| tree.reads_ahead)),
            Some(sum(&|tree| single(&tree.reads_ahead_single).unwrap_or(0.0))),
        ],
        measured: measured.map(|cell| {
            let of_trees: f64 = cell?.trees.iter().map(|tree| tree.reads).sum();
            Some((all_reads(cell?)? - of_trees).max(0.0))
        }),
        misses: 0.0,
        held: 0.0,
    };
    let rows: Vec<TreeRow> = rows.chain([ahead]).collect();
    let both = |of: fn(&TreeRow) -> [Option<f64>; 2], which: usize| {
        move |row: &TreeRow| known(of(row)[which], number)
    };
    let mut table = Table::with_rows("Reads of storage per transaction", &rows)
        .label("table or index", |row| row.name.clone())
        .figure("about", |row| row.size.clone())
        .figure("page", |row| row.page.clone())
        .figure("predicted", both(|row| row.predicted, 0));
    if measured[0].is_some() {
        table = table.figure("measured", both(|row| row.measured, 0));
    }
    if chosen.mixed.is_some() {
        table = table.figure(
            format!("predicted, all {best_single}"),
            both(|row| row.predicted, 1),
        );
    }
    if measured[1].is_some() {
        table = table.figure(
            format!("measured, all {best_single}"),
            both(|row| row.measured, 1),
        );
    }
    table
        .figure(("predicted misses", 6), |row| number(row.misses))
        .figure(("in memory", 6), |row| bytes(row.held))
        .build()
}

/// What transactions took of the device's energy; without rows where that is
/// not known of any cell.
pub(crate) fn energy(findings: &Findings, group: &GroupFindings) -> Table {
    let of = |figure: fn(&CellEnergy) -> String| {
        move |cell: &CellFindings| known(cell.energy.as_ref(), figure)
    };
    let mut table = of_cells(findings, group, naming::capital(naming::group(group)))
        .figure(
            "energy per transaction",
            of(|e| joules(e.joules_per_transaction)),
        )
        .figure(
            ("when idle", 8),
            of(|e| joules(e.idle_joules_per_transaction)),
        )
        .figure(("busy", 9), of(|e| percent_fine(e.busy)))
        .words((vs_reference(findings), 7), |cell| {
            compared(cell, cell.energy.and_then(|energy| energy.ratio))
        })
        .build();
    if group.cells.iter().all(|cell| cell.energy.is_none()) {
        table.rows.clear();
    }
    table
}

/// What transactions took of the machine's energy; without rows where that is not known of
/// any cell.
pub(crate) fn machine_energy(findings: &Findings, group: &GroupFindings) -> Table {
    let of = |figure: fn(&CellMachineEnergy) -> Option<String>| {
        move |cell: &CellFindings| {
            known(cell.machine_energy.and_then(|of| figure(&of)), |text| text)
        }
    };
    let mut cells = group.cells.iter();
    let covers = cells.find_map(|cell| Some(cell.machine_energy?.covers));
    let caption = covers.map_or("", covered);
    let caption = format!("{}{}", naming::capital(caption), naming::in_group(group));
    let mut table = of_cells(findings, group, caption).figure(
        "energy per transaction",
        of(|e| Some(joules(e.joules_per_transaction))),
    );
    if covers.is_some_and(|covers| !covers.is_counted()) {
        table = table
            .figure(
                ("when idle", 8),
                of(|e| e.idle_joules_per_transaction.map(joules)),
            )
            .figure(
                ("busy CPUs", 8),
                of(|e| e.cpu_joules_per_transaction.map(joules)),
            )
            .figure(
                ("storage", 8),
                of(|e| e.device_joules_per_transaction.map(joules)),
            );
    }
    let mut table = table
        .figure("mean W", of(|e| Some(number(e.watts))))
        .words((vs_reference(findings), 7), |cell| {
            compared(cell, cell.machine_energy.and_then(|energy| energy.ratio))
        })
        .build();
    if covers.is_none() {
        table.rows.clear();
    }
    table
}

/// How far predicted cells' times follow what they were predicted from.
pub(crate) fn inputs(findings: &Findings, group: &GroupFindings) -> Table {
    let of = |name: InputName| {
        move |cell: &CellFindings| {
            let input = cell.inputs.iter().find(|input| input.name == name);
            known(input, |input| format!("{:.2}", input.follows))
        }
    };
    of_cells(findings, group, naming::capital(naming::group(group)))
        .figure("processor", of(InputName::Processor))
        .figure("reads", of(InputName::Reads))
        .figure("writes and flushes", of(InputName::Writes))
        .build()
}

/// Latencies of every kind of transaction of one cell.
pub(crate) fn latencies(caption: String, cell: &CellFindings) -> Table {
    let latency = |figure: fn(&Percentiles) -> u64| {
        move |kind: &KindCounts| match kind.committed() + kind.rolled_back() {
            0 => UNKNOWN.into(),
            _ => ms(figure(&kind.latencies.percentiles())),
        }
    };
    Table::with_rows(caption, &cell.kinds)
        .label("transaction", |kind| kind.name.to_string())
        .figure("committed", |kind| count(kind.committed()))
        .figure("rolled back", |kind| count(kind.rolled_back()))
        .figure("retries", |kind| count(kind.retries()))
        .figure("p50 ms", latency(|of| of.p50_us))
        .figure("p90 ms", latency(|of| of.p90_us))
        .figure("p95 ms", latency(|of| of.p95_us))
        .figure("p99 ms", latency(|of| of.p99_us))
        .figure("p99.9 ms", latency(|of| of.p999_us))
        .figure("max ms", latency(|of| of.max_us))
        .build()
}

/// The generated load against the specification.
pub(crate) fn audit(findings: &Findings) -> Table {
    let caption = match findings.plan.ramp {
        None => "The run of each sitting with most draws, warm-up included",
        Some(_) => "Longest ramp, warm-up included",
    };
    Table::with_rows(caption, &findings.audit.lines)
        .label("generated", |line| line.name.clone())
        .figure("share", |line| percent_fine(share(line)))
        .figure("specified", |line| match line.rule {
            AuditRule::AtMost => format!("at most {}", percent_fine(line.wanted)),
            AuditRule::Independent | AuditRule::Dispersed(_) => percent_fine(line.wanted),
        })
        .figure("of", |line| count(line.total))
        .build()
}

/// How drawn values were distributed.
pub(crate) fn distributions(findings: &Findings) -> Table {
    let caption = "Distribution of drawn values. As specified, chi-square is about as large as \
                   the degrees of freedom.";
    Table::with_rows(caption, &findings.audit.distributions)
        .label("drawn", |drawn| drawn.name.clone())
        .figure("draws", |drawn| count(drawn.counts.iter().sum()))
        .figure("chi-square", |drawn| number(drawn.chi_square()))
        .figure("degrees of freedom", |drawn| {
            drawn.counts.len().saturating_sub(1).to_string()
        })
        .build()
}

/// How the data was made that runs begin with.
pub(crate) fn snapshots(findings: &Findings) -> Table {
    Table::with_rows(
        "Loaded data, of which every sitting starts with fresh copies",
        &findings.snapshots,
    )
    .label("page", |of| snapshot_name(findings, &of.key))
    .figure("data", |of| of.size.to_string())
    .figure("rows", |of| count(of.rows))
    .words("made by", |of| of.made_by.clone())
    .figure("in", |of| seconds(of.elapsed_s))
    .build()
}

/// A snapshot by its page size and whatever else its plan has several of.
fn snapshot_name(findings: &Findings, key: &SnapshotKey) -> String {
    let plan = &findings.plan;
    let cells = plan.cells();
    let like = cells.iter().find(|cell| cell.snapshot() == *key);
    // Those that differ in how they run alone have one.
    let loads: HashSet<_> = plan.databases.iter().map(|of| of.of_rows()).collect();
    let others = [Factor::Database, Factor::Rows, Factor::Storage]
        .into_iter()
        .filter(|&factor| match factor {
            Factor::Database => loads.len() > 1,
            other => plan.count(other) > 1,
        })
        .filter_map(|factor| Some(plan.level(like?, factor).with_noun()));
    let page_size = match like.and_then(|cell| plan.mixed_sizes(cell)) {
        Some(_) => ["mixed".to_owned()],
        None => [key.page_size.to_string()],
    };
    join(page_size.into_iter().chain(others), ", ")
}

/// What the user's schema and settings say of page sizes, and where that is documented.
pub(crate) fn limits(findings: &Findings) -> Table {
    let own = findings.plan.own.as_ref();
    let limits = own.map_or(&[][..], |own| &own.limits);
    Table::with_rows(
        "What your schema and settings say of other page sizes",
        limits,
    )
    .prose("page sizes", page_sizes)
    .words("", |limit| if limit.forbids { "not possible" } else { "" })
    .prose("what", |limit| limit.what.clone())
    .prose("source", |limit| limit.source.clone().into_owned())
    .build()
}

/// Runs without a result.
pub(crate) fn failed(findings: &Findings, fleet: Option<&Fleet>) -> Table {
    let mut table = Table::with_rows("", &findings.runs_failed);
    table = match fleet {
        // As parts of a plan are numbered.
        Some(fleet) if fleet.kind == PartKind::Sitting => {
            let number = |run: &FailedRun| run.sitting.saturating_sub(1);
            let host = move |run: &FailedRun| {
                let mut hosts = fleet.classes.iter().flat_map(|class| &class.hosts);
                let of = hosts.find(|of| of.parts.contains(&number(run)));
                of.map_or_else(|| UNKNOWN.into(), |of| of.host.name.clone())
            };
            table
                .label("sitting", move |run| number(run).to_string())
                .prose("host", host)
        }
        _ => table.label("sitting", |run| run.sitting.to_string()),
    };
    table
        .prose("cell", |run| findings.plan.cell_name(&run.cell))
        .prose("reason", |run| run.reason.clone())
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn reads_have_a_column_where_they_are_not_misses() {
        let mut findings = fixture::one_memory();
        let headers = |findings: &Findings| -> Vec<String> {
            let table = costs(findings, &findings.groups[0]);
            table.columns.iter().map(|of| of.name.clone()).collect()
        };
        let is_told = |findings: &Findings| headers(findings).iter().any(|of| of == "reads");
        assert!(!is_told(&findings));
        let cell = findings.groups[0].cells[1].per_transaction.as_mut();
        let of = cell.unwrap();
        of.reads = 1.09 * of.buffer_misses;
        assert!(!is_told(&findings));
        let cell = findings.groups[0].cells[1].per_transaction.as_mut();
        let of = cell.unwrap();
        of.reads = 2.1 * of.buffer_misses;
        assert!(is_told(&findings));
    }
}
