//! Findings made by hand: two memories, five page sizes, every decision, a
//! failed run, a device's profile. Not measured anywhere.

#[cfg(test)]
#[path = "fixture/hosts.rs"]
pub(crate) mod hosts;
#[path = "fixture/profile.rs"]
mod profile;
#[cfg(test)]
#[path = "fixture/stores.rs"]
pub(crate) mod stores;

use std::{sync::Arc, time::Duration};

use octavo_database::StoragePath;
use octavo_driver::{KindCounts, Latencies};
#[cfg(test)]
use octavo_driver::{Load, Ramp, RunLength};
#[cfg(test)]
use octavo_experiment::{
    bench::{BenchResult, BenchSettings, Target},
    energy::{CellEnergy, CellMachineEnergy},
    findings::{CellRamp, RampEnd},
    forecast::{Forecast, ForecastCell, ForecastSnapshot, ForecastSpace},
    machine::EnergyScope,
    observer::Observer,
    plan::SliceLength,
    ramp::{RampFinding, StepRecord},
};
use octavo_experiment::{
    caveats::Caveat,
    findings::{
        Age, CellFindings, CellStability, FailedRun, Findings, GroupFindings, MissChange, Part,
        PerTransaction, ScreenedPasses, Stretch, Tail, TransactionTime,
    },
    inputs::{Input, InputName, Uncertainty},
    lockstep::{Batch, Departure, DepartureReason, Group, Horizon},
    plan::{Cell, Design, Factor, Level, Plan, Storage, TestedDatabase},
    record::Source,
    statistics::{Decision, Interval, decision, geometric_interval},
    store::StoredSnapshot,
    verdict::{BufferFinding, EqualThroughput, Interaction, Verdict},
};
use octavo_units::{ByteCount, PageSize, Seed};
#[cfg(test)]
use octavo_workload::Tpcc;
use octavo_workload::{
    Audit, AuditDistribution, AuditLine, AuditRule, TransactionKind, WorkloadName,
};

pub(crate) use profile::profile;

const MARGIN: f64 = 0.03;
/// Bytes, and throughput a minute with 32 and with 8 MiB; its noise.
const LEVELS: [(u32, f64, f64, f64); 5] = [
    (2048, 5250.0, 3720.0, 0.018),
    (4096, 6180.0, 3800.0, 0.0),
    (8192, 6910.0, 3480.0, 0.03),
    (16384, 6190.0, 2610.0, 0.005),
    (65536, 3400.0, 1020.0, 0.04),
];

fn page(bytes: u32) -> PageSize {
    PageSize::new(bytes).expect("a page size of the fixture")
}

fn by_batch(level: f64, noise: f64, batches: u32, phase: u32) -> Vec<f64> {
    (0..batches)
        .map(|batch| {
            let shared = 1.0 + 0.12 * f64::from((batch * 2) % 5) / 4.0;
            let own = noise * f64::from(batch * 3 + phase).sin();
            level * shared * own.exp()
        })
        .collect()
}

fn ratios(own: &[f64], other: &[f64]) -> Vec<f64> {
    own.iter().zip(other).map(|(a, b)| a / b).collect()
}

/// Page sizes with these memories, one client: what `advise` plans.
fn plan(mib: &[u64]) -> Plan {
    Plan {
        name: None,
        workload: WorkloadName::default(),
        mix: None,
        distribution: None,
        own: None,
        shape: None,
        isolation: None,
        seed: Seed::new(1),
        margin: MARGIN,
        design: Design::Race,
        databases: vec![Arc::new(TestedDatabase {
            name: "sqlite".into(),
            version: "3.50.0".into(),
            options: vec![("journal-mode".into(), "wal".into())],
            default_page_size: page(4096),
        })],
        data: vec![
            WorkloadName::default()
                .data_spec(&[("warehouses", 3)])
                .expect("3 warehouses are possible"),
        ],
        storages: vec![Storage::Own],
        page_sizes: LEVELS.iter().map(|level| page(level.0)).collect(),
        mixed: Vec::new(),
        memories: mib.iter().map(|&mib| ByteCount::mib(mib)).collect(),
        cpus: vec![None],
        clients: vec![1],
        ramp: None,
        copies: 1,
        compare: Factor::PageSize,
        reference: None,
    }
}

/// The whole: five batches, cells that were dropped.
pub(crate) fn findings() -> Findings {
    build(plan(&[8, 32]), 5)
}

/// One pass, which gives no interval.
#[cfg(test)]
pub(crate) fn one_pass() -> Findings {
    build(plan(&[8, 32]), 1)
}

/// Has all cells be predicted: a quarter of their time follows the processor, half reads, a
/// quarter writes.
pub(crate) fn predict(findings: &mut Findings) {
    findings.source = Source::Predicted;
    let cells = findings
        .groups
        .iter_mut()
        .flat_map(|group| &mut group.cells);
    for cell in cells {
        let own = if cell.reference { 0.0 } else { 1.0 };
        let input = |name, follows, shared, of_size: f64| Input {
            name,
            follows,
            uncertainty: Uncertainty {
                shared,
                own: own * of_size,
            },
        };
        cell.inputs = vec![
            input(InputName::Processor, 0.25, 0.1, 0.1),
            input(InputName::Reads, 0.5, 0.12, 0.06),
            input(InputName::Writes, 0.25, 0.12, 0.09),
        ];
    }
}

/// Has every cell with figures know its device's energy, the page size 8192 the
/// least.
#[cfg(test)]
pub(crate) fn give_energy(findings: &mut Findings) {
    for cell in findings
        .groups
        .iter_mut()
        .flat_map(|group| &mut group.cells)
    {
        let (each, idle) = match cell.cell.page_size.get() {
            8192 => (0.012_3, 0.010_1),
            4096 => (0.015, 0.012),
            _ => (0.123, 0.1),
        };
        cell.energy = cell.throughput.map(|_| CellEnergy {
            joules_per_transaction: each,
            idle_joules_per_transaction: idle,
            busy: 0.25,
            ratio: cell.ratio,
        });
    }
}

/// Has every cell with figures know the energy of its machine, ten times the device's of
/// [`give_energy`].
#[cfg(test)]
pub(crate) fn give_machine_energy(findings: &mut Findings, covers: EnergyScope) {
    let mut of_device = findings.clone();
    give_energy(&mut of_device);
    let of_device = of_device.groups.iter().flat_map(|group| &group.cells);
    let cells = findings
        .groups
        .iter_mut()
        .flat_map(|group| &mut group.cells);
    for (cell, of_device) in cells.zip(of_device) {
        let calculated = |joules: f64| (!covers.is_counted()).then_some(joules);
        cell.machine_energy = of_device.energy.map(|device| CellMachineEnergy {
            covers,
            joules_per_transaction: 10.0 * device.joules_per_transaction,
            idle_joules_per_transaction: calculated(10.0 * device.idle_joules_per_transaction),
            cpu_joules_per_transaction: calculated(device.joules_per_transaction),
            device_joules_per_transaction: calculated(device.joules_per_transaction),
            platform_joules_per_transaction: None,
            watts: 140.0,
            ratio: device.ratio,
        });
    }
}

/// Changes the first database, in the plan and in the cells.
#[cfg(test)]
pub(crate) fn change_database(findings: &mut Findings, change: impl Fn(&mut TestedDatabase)) {
    change(Arc::make_mut(&mut findings.plan.databases[0]));
    for cell in findings
        .groups
        .iter_mut()
        .flat_map(|group| &mut group.cells)
    {
        cell.cell.database = findings.plan.databases[0].clone();
    }
}

/// One memory, so that no buffers are compared.
#[cfg(test)]
pub(crate) fn one_memory() -> Findings {
    build(plan(&[32]), 5)
}

/// Clients are compared, with two page sizes, under YCSB.
#[cfg(test)]
pub(crate) fn clients() -> Findings {
    let ycsb: WorkloadName = "ycsb-b".parse().unwrap();
    build(
        Plan {
            workload: ycsb,
            data: vec![ycsb.data_spec(&[("records", 500_000)]).unwrap()],
            page_sizes: vec![page(4096), page(65536)],
            clients: vec![1, 2, 4, 8],
            compare: Factor::Clients,
            ..plan(&[32])
        },
        5,
    )
}

/// Journal modes are compared.
#[cfg(test)]
pub(crate) fn systems() -> Findings {
    let mut plan = plan(&[32]);
    let mut other = TestedDatabase::clone(&plan.databases[0]);
    other.options[0].1 = "delete".into();
    plan.databases.push(Arc::new(other));
    plan.page_sizes = vec![page(4096), page(8192)];
    plan.compare = Factor::Database;
    build(plan, 5)
}

/// Three equal cells: A/A.
#[cfg(test)]
pub(crate) fn copies() -> Findings {
    build(
        Plan {
            page_sizes: vec![page(4096)],
            copies: 3,
            compare: Factor::Copy,
            ..plan(&[32])
        },
        5,
    )
}

/// Twelve groups: memories, clients and directories vary.
#[cfg(test)]
pub(crate) fn many_groups() -> Findings {
    build(
        Plan {
            page_sizes: vec![page(4096), page(8192), page(65536)],
            clients: vec![1, 4, 16],
            storages: vec![
                Storage::Own,
                Storage::Directory("/mnt/a \"fast\" <disk>".into()),
            ],
            ..plan(&[8, 32])
        },
        5,
    )
}

/// Two page sizes as ramps by the law with a knee near 21 clients, the second interrupted
/// after three of its eight steps.
#[cfg(test)]
pub(crate) fn ramps() -> Findings {
    let ramp = Ramp::new("5..40/5".parse().unwrap(), Duration::from_secs(60)).unwrap();
    let mut findings = build(
        Plan {
            page_sizes: vec![page(4096), page(8192)],
            clients: vec![ramp.clients.last()],
            ramp: Some(ramp),
            ..plan(&[32])
        },
        0,
    );
    let cells = findings.plan.cells();
    let mut latencies = Latencies::default();
    latencies.record(12_300.0);
    let found = |steps: usize, rate: f64| {
        let records = ramp.clients.clients().take(steps).map(|clients| {
            let n = f64::from(clients);
            let reached = rate * n / (1.0 + 0.05 * (n - 1.0) + 0.002 * n * (n - 1.0));
            StepRecord {
                clients,
                measured: Duration::from_secs(54),
                transactions: (120.0 * reached) as u64,
                counted: (54.0 * reached) as u64,
                failed: 0,
                buffer_misses: (240.0 * reached) as u64,
                read_bytes: ByteCount::kib(960),
                written_bytes: ByteCount::kib(99),
                batches: vec![reached * 0.99, reached * 1.01],
                latencies: latencies.clone(),
            }
        });
        RampFinding::from_steps(ramp.step, &records.collect::<Vec<_>>())
    };
    let cell = |number: usize, found: RampFinding, end: RampEnd| CellRamp {
        name: findings.plan.cell_name(&cells[number]),
        cell: cells[number].clone(),
        end,
        found,
        per_transaction: None,
    };
    findings.ramps = vec![
        cell(0, found(8, 10.0), RampEnd::Finished),
        cell(1, found(3, 20.0), RampEnd::Interrupted),
    ];
    findings.groups.clear();
    findings.runs_failed.clear();
    findings.caveats.clear();
    (findings.runs_done, findings.sittings) = (1, 1);
    findings
}

/// A plan without any run.
#[cfg(test)]
pub(crate) fn empty() -> Findings {
    let mut findings = build(plan(&[8, 32]), 0);
    findings.calibration = None;
    findings.snapshots.clear();
    findings.runs_failed.clear();
    findings.caveats.clear();
    findings.interactions.clear();
    findings.audit = Audit::default();
    findings
}

/// Throughput of a cell by batch: more clients do more, the rollback journal
/// less, copies the same but for a wobble.
fn measured(cell: &Cell, batches: u32) -> Vec<f64> {
    let place = LEVELS
        .iter()
        .position(|level| level.0 == cell.page_size.get())
        .expect("a page size of the fixture");
    let (_, large, small, noise) = LEVELS[place];
    let level = if cell.memory == ByteCount::mib(8) {
        small
    } else {
        large
    };
    let clients = 1.0 + 0.4 * f64::from(cell.clients).ln();
    let journal = if cell.database.option("journal-mode") == Some("wal") {
        1.0
    } else {
        0.7
    };
    let noise = if cell.copy > 0 || cell.clients > 1 {
        0.006
    } else {
        noise
    };
    let phase = place as u32 + 1 + cell.copy + cell.clients - 1;
    by_batch(level * clients * journal, noise, batches, phase)
}

fn build(plan: Plan, batches: u32) -> Findings {
    let cells = plan.cells();
    let measured: Vec<Vec<f64>> = cells.iter().map(|cell| measured(cell, batches)).collect();
    let groups: Vec<GroupFindings> = plan
        .groups()
        .iter()
        .map(|group| group_findings(&plan, &cells, group, &measured))
        .collect();
    let by_memory = plan.compare == Factor::PageSize && plan.varied() == [Factor::Memory];
    let facts = |facts: &[(&str, &str)]| -> Vec<(String, String)> {
        facts
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    };
    let is_measured = batches > 0;
    Findings {
        octavo: "0.1.0".into(),
        created: "2026-03-01T12:00:00Z".into(),
        command: Some("octavo advise 'my advice'".into()),
        spent_s: 300.0,
        source: Source::Measured,
        measured_s: if is_measured { 200.0 } else { 0.0 },
        sittings: if is_measured { 2 } else { 0 },
        passes: if is_measured { 88 } else { 0 },
        screened: ScreenedPasses {
            slow: if is_measured { 5 } else { 0 },
            foreign_traffic: if is_measured { 2 } else { 0 },
            decided: 0,
        },
        slice_transactions: is_measured.then_some(50),
        warm_up: None,
        warmed: true,
        horizon: is_measured.then_some(Horizon::Time {
            measured: Duration::from_secs(200),
        }),
        finished: false,
        counted_name: if plan.workload == WorkloadName::default() {
            "new orders"
        } else {
            "operations"
        }
        .into(),
        saved_s: if is_measured { 36.0 } else { 0.0 },
        runs_done: if is_measured { 2 * cells.len() } else { 0 },
        runs_failed: vec![FailedRun {
            sitting: 2,
            cell: cells[plan.count(plan.compare) - 1].clone(),
            reason: "the disk is full".into(),
        }],
        machine: facts(&[
            ("kernel", "Linux 6.18.0 x86_64"),
            ("cpu", "2 x Example CPU <script>alert(1)</script>"),
            ("memory", "24 GiB"),
            ("virtual machine", "yes"),
        ]),
        changed: Vec::new(),
        storage: facts(&[
            ("file_system", "ext4"),
            ("device", "vda"),
            ("scheduler", "none"),
            ("read_ahead_kib", "8192"),
        ]),
        database: facts(&[
            ("journal_mode", "wal"),
            ("memory", "all in one buffer (cache_size)"),
            ("version", "3.50.0"),
            ("synchronous", "full"),
            (
                "torn_page_protection",
                "write-ahead log with frame checksums",
            ),
        ]),
        storage_path: is_measured.then_some(StoragePath::Direct),
        snapshots: plan
            .snapshots()
            .into_iter()
            .map(|key| StoredSnapshot {
                made_by: "load".into(),
                rows: 1_500_000,
                size: LEVELS
                    .iter()
                    .zip([310, 290, 280, 275, 270])
                    .find(|(level, _)| level.0 == key.page_size.get())
                    .map_or(ByteCount::mib(300), |(_, mib)| ByteCount::mib(mib)),
                elapsed_s: 7.4,
                log: None,
                origin: None,
                key,
            })
            .collect(),
        calibration: Some(profile()),
        limits: Vec::new(),
        buffers: if by_memory {
            buffers(batches)
        } else {
            Vec::new()
        },
        interactions: if by_memory {
            interactions(&plan, &cells, &measured)
        } else {
            Vec::new()
        },
        groups,
        ramps: Vec::new(),
        audit: audit(),
        chosen_sizes: None,
        elsewhere: Vec::new(),
        fleet: None,
        other_classes: Vec::new(),
        caveats: vec![Caveat::RunsFailed { runs: 1 }],
        plan,
    }
}

fn levels(memory: ByteCount, batches: u32) -> Vec<(PageSize, Vec<f64>)> {
    LEVELS
        .iter()
        .zip(1..)
        .map(|(&(bytes, large, small, noise), phase)| {
            let level = if memory == ByteCount::mib(8) {
                small
            } else {
                large
            };
            (page(bytes), by_batch(level, noise, batches, phase))
        })
        .collect()
}

/// The interactions of page size and memory, against the first memory.
fn interactions(plan: &Plan, cells: &[Cell], measured: &[Vec<f64>]) -> Vec<Interaction> {
    let groups = plan.groups();
    let (first, second) = (&groups[0], &groups[1]);
    let own = |group: &Group, place: usize| {
        ratios(
            &measured[group.cells[place]],
            &measured[group.reference_cell()],
        )
    };
    (0..first.cells.len())
        .filter(|&place| place != first.reference)
        .filter_map(|place| {
            let of_both = ratios(&own(second, place), &own(first, place));
            // Some spread of its own: both memories share the noise.
            let spread: Vec<f64> = of_both
                .iter()
                .zip([0.99, 1.01, 1.0, 0.985, 1.015])
                .map(|(ratio, own)| ratio * own)
                .collect();
            let ratio = geometric_interval(&spread, 4)?;
            let (at, against) = (&cells[second.cells[place]], &cells[first.cells[place]]);
            Some(Interaction {
                level: plan.level(at, Factor::PageSize),
                at: plan.level(at, Factor::Memory),
                against: plan.level(against, Factor::Memory),
                within: String::new(),
                ratio,
                decision: decision(&ratio, MARGIN),
            })
        })
        .collect()
}

fn group_findings(
    plan: &Plan,
    cells: &[Cell],
    group: &Group,
    measured: &[Vec<f64>],
) -> GroupFindings {
    let reference = &measured[group.reference_cell()];
    let found: Vec<CellFindings> = group
        .cells
        .iter()
        .enumerate()
        .map(|(place, &number)| {
            let is_reference = place == group.reference;
            let own = &measured[number];
            cell(plan, &cells[number], is_reference, own, reference)
        })
        .collect();
    let level = |cell: &CellFindings| plan.level(&cell.cell, plan.compare);
    let with = |wanted: Option<Decision>| -> Vec<Level> {
        let found = found.iter();
        let found = found.filter(|cell| !cell.reference && cell.decision == wanted);
        found.map(level).collect()
    };
    let best = found
        .iter()
        .filter(|cell| cell.decision == Some(Decision::Better))
        .filter_map(|cell| Some((cell, cell.ratio?)))
        .max_by(|a, b| a.1.estimate.total_cmp(&b.1.estimate));
    // One batch leaves everything open.
    let open = [with(Some(Decision::Open)), with(None)].concat();
    let verdict = match best {
        Some((cell, ratio)) => Verdict::Use {
            level: level(cell),
            ratio,
            ties: Vec::new(),
            open,
        },
        None if found.len() == 1 => Verdict::Alone {
            level: level(&found[0]),
        },
        None if open.is_empty() => Verdict::Keep {
            level: plan.level(&cells[group.reference_cell()], plan.compare),
            equivalent: with(Some(Decision::Equivalent)),
            worse: with(Some(Decision::Worse)),
        },
        None => Verdict::Inconclusive {
            open,
            leader: None,
            more_s: (reference.len() > 1).then_some(120.0),
        },
    };
    GroupFindings {
        mixed: None,
        young: None,
        name: plan.group_name(&cells[group.cells[0]]),
        cells: found,
        verdict,
    }
}

/// A warm-up of 4,000 transactions, and 50 for each of these throughputs; the third is left out.
fn timeline(measured: &[f64]) -> Vec<Stretch> {
    let stretch = |part, begin, end, per_minute: f64| Stretch {
        sitting: 0,
        part,
        begin,
        end,
        failed: u64::from(begin == 4000),
        per_minute,
        response_ms: Some(20_000.0 / per_minute),
    };
    let warm_up = (0..4_u64).filter_map(|block| {
        let share = (block + 1) as f64 / 5.0;
        let (begin, end) = (block * 1000, (block + 1) * 1000);
        let first = measured.first()?;
        Some(stretch(Part::WarmUp, begin, end, share * first))
    });
    let passes = (0..).zip(measured).map(|(pass, &level): (u64, _)| {
        let begin = 4000 + 50 * pass;
        let part = match pass {
            2 => Part::LeftOut,
            _ => Part::Figures,
        };
        stretch(part, begin, begin + 50, level)
    });
    warm_up.chain(passes).collect()
}

fn cell(
    plan: &Plan,
    cell: &Cell,
    is_reference: bool,
    measured: &[f64],
    reference: &[f64],
) -> CellFindings {
    let ratio = if is_reference {
        None
    } else {
        geometric_interval(&ratios(measured, reference), 4)
    };
    let decision = ratio.map(|ratio| decision(&ratio, MARGIN));
    let is_largest = cell.page_size == page(65536);
    let size = f64::from(cell.page_size.get());
    let small = cell.memory == ByteCount::mib(8);
    let misses = (if small { 11.0 } else { 5.0 }) * (4096.0 / size).powf(0.25);
    let is_measured = !measured.is_empty();
    let why = match decision {
        Some(Decision::Worse) => Some(DepartureReason::Slower),
        Some(Decision::Equivalent) => Some(DepartureReason::Equal),
        _ => None,
    };
    let time = measured.first().map(|level| time(*level, size, misses));
    CellFindings {
        cell: cell.clone(),
        level: plan.level(cell, plan.compare).to_string(),
        reference: is_reference,
        storage_path: is_measured.then_some(StoragePath::Direct),
        throughput: geometric_interval(measured, 1),
        mean_response_ms: None,
        ratio,
        over_advised: None,
        decision,
        likely: None,
        expected: None,
        inputs: Vec::new(),
        left: why.map(|why| Departure {
            sitting: 0,
            pass: if is_largest { 20 } else { 40 },
            measured: Duration::from_secs(if is_largest { 20 } else { 40 }),
            why,
        }),
        more_s: (decision == Some(Decision::Open) && measured.len() > 1).then_some(120.0),
        by_sitting: ratio
            .map(|ratio| {
                let of = |factor: f64| Interval {
                    estimate: ratio.estimate * factor,
                    ..ratio
                };
                vec![(0, of(1.01)), (1, of(1.0 / 1.01))]
            })
            .unwrap_or_default(),
        autocorrelation: ratio.map(|_| -0.01),
        moved: None,
        batches: (0..)
            .zip(measured)
            .map(|(number, &throughput)| Batch {
                sitting: number / 3,
                pass: number % 3 * 4,
                throughput,
            })
            .collect(),
        reference_batches: Vec::new(),
        all_passes: None,
        time,
        inserted: None,
        bound: None,
        tail: time.map(|time| Tail {
            p50_us: (time.total_us * 0.6) as u64,
            p95_us: 1_000,
            p99_us: 41_000 + (size / 10.0) as u64,
            p99_between: octavo_driver::P99Between {
                low_us: 0,
                high_us: None,
            },
            p999_us: 90_000,
            checkpoint_us: Some(40_000.0),
            checkpoints: Some(1.0 / 80.0),
        }),
        age: is_measured.then_some(Age {
            transactions: 4400,
            counted_transactions: 4400,
            miss_trend: Some(1.04),
            misses_changed: MissChange::None,
            pace_change: Some(1.1),
        }),
        stability: is_measured.then_some(CellStability {
            variation: Some(if is_largest { 0.41 } else { 0.064 }),
            batch_s: 0.4,
            longest_s: if is_largest { 2.6 } else { 0.031 },
            windows: None,
        }),
        per_transaction: is_measured.then(|| PerTransaction {
            transactions: 14_000,
            hit_ratio: 1.0 - misses / 95.0,
            buffer_misses: misses,
            read_bytes: misses * size,
            written_bytes: 2.4 * size + 6200.0,
            log_written_bytes: 1.5 * size + 4000.0,
            reads: misses,
            writes: 2.1,
            syncs: 0.93,
            write_amplification: (2.4 * size + 6200.0) / 640.0,
            misses_read: Some(0.997),
            device_reads_ratio: Some(1.01),
            device_read_ratio: Some(1.01),
            device_written_ratio: Some(1.08),
            read_us_mean: 62.0 + size / 700.0,
            sync_us_mean: 118.0,
        }),
        trees: Vec::new(),
        energy: None,
        machine_energy: None,
        kinds: kinds(plan, measured),
        buffer_not_filled: 0,
        timeline: timeline(measured),
        passes_missed: if why.is_some() { 40 } else { 0 },
        passes: match (is_measured, why) {
            (false, _) => 0,
            (true, Some(_)) => 48,
            (true, None) => 88,
        },
        passes_counted: match (is_measured, why) {
            (false, _) => 0,
            (true, Some(_)) => 44,
            (true, None) => 81,
        },
    }
}

/// The time of a transaction at this throughput a minute.
fn time(level: f64, size: f64, misses: f64) -> TransactionTime {
    let total_us = 60e6 / level / 2.2;
    // What reading and writing this page size would take, scaled to the whole.
    let parts = [
        misses * (62.0 + size / 700.0),
        60.0 + size / 200.0,
        110.0,
        150.0 + size / 60.0,
        160.0,
    ];
    let scale = 0.95 * total_us / parts.iter().sum::<f64>();
    let [read_us, log_write_us, log_sync_us, checkpoint_us, cpu_us] =
        parts.map(|part| part * scale);
    TransactionTime {
        total_us,
        read_us: Some(read_us),
        log_write_us: Some(log_write_us),
        log_sync_us: Some(log_sync_us),
        checkpoint_us: Some(checkpoint_us),
        checkpoint_sync_us: Some(0.5 * checkpoint_us),
        cpu_us: Some(cpu_us),
        cpu_in_requests: 0.0,
        waits: None,
        other_us: 0.05 * total_us,
    }
}

/// Has the database time none of what it reads and writes.
#[cfg(test)]
pub(crate) fn times_nothing(findings: &mut Findings) {
    let cells = findings
        .groups
        .iter_mut()
        .flat_map(|group| &mut group.cells);
    for time in cells.filter_map(|cell| cell.time.as_mut()) {
        time.other_us += time.parts()[..4].iter().flatten().sum::<f64>();
        (time.read_us, time.log_write_us) = (None, None);
        (time.log_sync_us, time.checkpoint_us) = (None, None);
        time.checkpoint_sync_us = None;
    }
}

fn kinds(plan: &Plan, runs: &[f64]) -> Vec<KindCounts> {
    if runs.is_empty() {
        return Vec::new();
    }
    let p50 = (24e6 / runs[0]) as u64;
    let kinds: &[(&str, u64, u64)] = if plan.workload == WorkloadName::default() {
        &[
            ("New-Order", 6300, 10),
            ("Payment", 6000, 4),
            ("Order-Status", 560, 3),
            ("Delivery", 560, 31),
            ("Stock-Level", 560, 9),
        ]
    } else {
        &[("UPDATE", 700, 9), ("READ", 13_300, 3)]
    };
    kinds
        .iter()
        .map(|&(name, committed, weight)| {
            let kind = TransactionKind {
                name,
                counted: name == "New-Order",
                ..TransactionKind::PLAIN
            };
            let mut latencies = Latencies::default();
            for (share, below) in [(90, 10), (9, 3), (1, 1)] {
                for _ in 0..share {
                    latencies.record((p50 * weight / below) as f32);
                }
            }
            let rolled_back = if name == "New-Order" { 61 } else { 0 };
            KindCounts::with_outcomes(&kind, [committed, rolled_back, 0, 0, 0, 0, 0, 0], latencies)
        })
        .collect()
}

/// Some ratio that is surely below 1.
const BELOW: Interval = Interval {
    estimate: 0.8,
    low: 0.7,
    high: 0.9,
    batches: 5,
};

fn buffers(batches: u32) -> Vec<BufferFinding> {
    let (small, large) = (ByteCount::mib(8), ByteCount::mib(32));
    levels(small, batches)
        .into_iter()
        .zip(levels(large, batches))
        .zip([
            EqualThroughput::AboveLargest { ratio: BELOW },
            EqualThroughput::About {
                memory: large,
                low: Some(large),
                high: Some(large),
            },
            EqualThroughput::About {
                memory: ByteCount::kib(22_600),
                low: Some(ByteCount::mib(20)),
                high: Some(ByteCount::mib(26)),
            },
            EqualThroughput::About {
                memory: ByteCount::mib(31),
                low: None,
                high: None,
            },
            EqualThroughput::AboveLargest { ratio: BELOW },
        ])
        .map(|(((page_size, own), (_, other)), equal)| BufferFinding {
            page_size,
            small,
            large,
            small_over_large: geometric_interval(&ratios(&own, &other), 5).map(|interval| {
                Interval {
                    // Some spread of its own: both memories share the noise.
                    low: interval.low * 0.93,
                    high: interval.high * 1.07,
                    ..interval
                }
            }),
            equal_to_reference: if batches == 0 {
                EqualThroughput::Unknown
            } else {
                equal
            },
        })
        .collect()
}

fn audit() -> Audit {
    let line = |name: &str, count, total, wanted| AuditLine {
        name: name.into(),
        count,
        total,
        wanted,
        rule: AuditRule::Independent,
    };
    Audit {
        lines: vec![
            line("New-Order among transactions", 63_000, 140_000, 10.0 / 23.0),
            line("New-Orders rolled back", 640, 63_000, 0.01),
            line("Payments by surname", 36_100, 60_000, 0.6),
        ],
        distributions: vec![AuditDistribution {
            name: "items, NURand(8191)".into(),
            counts: vec![260, 240, 251, 249],
            wanted: vec![0.25; 4],
        }],
        ..Audit::default()
    }
}

#[cfg(test)]
struct SilentObserver;

#[cfg(test)]
impl Observer for SilentObserver {
    fn progress(&self, _: &str, _: Duration, _: Duration) {}
    fn note(&self, _: &str) {}
    fn interrupted(&self) -> bool {
        false
    }
}

/// TPC-C against the database that answers at once.
#[cfg(test)]
pub(crate) fn bench() -> BenchResult {
    static RESULT: std::sync::OnceLock<BenchResult> = std::sync::OnceLock::new();
    let measure = || {
        let workload = Tpcc::new(2, Seed::new(1)).unwrap();
        let settings = BenchSettings {
            target: Target::Noop,
            workload: &workload,
            seed: Seed::new(1),
            clients: 2,
            load: Load::Closed { terminals: 2 },
            retries: 3,
            isolation: None,
            length: RunLength::Transactions {
                // Whole decks.
                warm_up: 23,
                measured: 2300,
            },
            hdr_log: None,
            octavo_version: "0",
            caches: None,
        };
        octavo_experiment::bench::bench(settings, &SilentObserver)
            .unwrap()
            .result
    };
    RESULT.get_or_init(measure).clone()
}

/// A dry run of the plan with one memory, in a budget of 10 minutes.
#[cfg(test)]
pub(crate) fn forecast() -> Forecast {
    let plan = plan(&[32]);
    let groups = plan.groups();
    let cells = plan.cells();
    let directory = std::path::PathBuf::from("octavo-sample");
    Forecast {
        chosen_sizes: None,
        directory: directory.clone(),
        compared: plan.compare,
        cells: cells
            .iter()
            .enumerate()
            .map(|(number, cell)| ForecastCell {
                cell: number,
                name: plan.cell_name(cell),
                level: plan.level(cell, plan.compare).to_string(),
                group: plan.group_name(cell),
                reference: groups[0].cells[groups[0].reference] == number,
            })
            .collect(),
        order_of_first_pass: (0..cells.len()).rev().collect(),
        snapshots: vec![ForecastSnapshot {
            database: "sqlite".into(),
            rows: plan.data[0].to_string(),
            directory: directory.clone(),
            page_size: page(4096),
            size: ByteCount::mib(290),
        }],
        space: vec![ForecastSpace {
            directory,
            needed: ByteCount::mib(700),
            free: ByteCount::mib(9000),
        }],
        passes_done: 0,
        ramps_done: 0,
        passes: None,
        slices: SliceLength::default(),
        calibrate: true,
        budget: Some(Duration::from_secs(600)),
        making: Duration::from_secs(60),
        beginning: Duration::from_secs(40),
        time_min: Duration::from_secs(300),
        plan,
    }
}

/// A text without line breaks and unbreakable blanks.
#[cfg(test)]
pub(crate) fn words(text: &str) -> String {
    let text = text.replace('\u{a0}', " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
