//! Findings made by hand: two memories, five page sizes, every decision, a
//! failed run, a device's profile. Not measured anywhere.

use std::{sync::Arc, time::Duration};

use octavo_database::StoragePath;
use octavo_device::{
    facts::StorageFacts,
    point::{Durability, PointSpec},
    preset::Preset,
    profile::{Access, FORMAT, Latency, Means, Point, Profile},
    request::{Mix, Pattern},
};
#[cfg(test)]
use octavo_driver::Load;
use octavo_driver::{
    KindCounts, Latencies, Sample,
    steady::{Label, Why as Unsteady},
};
#[cfg(test)]
use octavo_experiment::{
    bench::{BenchResult, BenchSettings, Target},
    energy::CellEnergy,
    forecast::{Forecast, ForecastCell, ForecastSnapshot, ForecastSpace},
    observer::Observer,
};
use octavo_experiment::{
    caveats::Caveat,
    findings::{
        CellFindings, CellStability, FailedRun, Findings, GroupFindings, NotSteady, PerTransaction,
        Saved,
    },
    plan::{Cell, Design, Factor, Group, Level, Plan, RunLength, Storage, TestedDatabase},
    race::Why,
    statistics::{Confidence, Decision, Interval, decision, geometric_interval},
    store::StoredSnapshot,
    verdict::{BufferFinding, EqualThroughput, Interaction, Verdict},
};
use octavo_units::{ByteCount, Iops, PageSize, QueueDepth, RequestSize, Seed};
#[cfg(test)]
use octavo_workload::Tpcc;
use octavo_workload::{
    Audit, AuditDistribution, AuditLine, AuditRule, TransactionKind, WorkloadName,
};

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

fn by_round(level: f64, noise: f64, rounds: u32, phase: u32) -> Vec<f64> {
    (0..rounds)
        .map(|round| {
            let shared = 1.0 + 0.12 * f64::from((round * 2) % 5) / 4.0;
            let own = noise * f64::from(round * 3 + phase).sin();
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
                .data_set(&[("warehouses", 3)])
                .expect("3 warehouses are possible"),
        ],
        storages: vec![Storage::Own],
        page_sizes: LEVELS.iter().map(|level| page(level.0)).collect(),
        memories: mib.iter().map(|&mib| ByteCount::mib(mib)).collect(),
        cpus: vec![None],
        clients: vec![1],
        copies: 1,
        compare: Factor::PageSize,
        reference: None,
    }
}

/// The whole: five rounds of a race, which some cells left.
pub(crate) fn findings() -> Findings {
    build(plan(&[8, 32]), 5)
}

/// The same cells, each in each round.
#[cfg(test)]
pub(crate) fn full() -> Findings {
    build(
        Plan {
            design: Design::Full,
            ..plan(&[8, 32])
        },
        5,
    )
}

/// One round, which gives no interval.
#[cfg(test)]
pub(crate) fn one_round() -> Findings {
    build(plan(&[8, 32]), 1)
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
            data: vec![ycsb.data_set(&[("records", 500_000)]).unwrap()],
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

/// A plan without any run.
#[cfg(test)]
pub(crate) fn empty() -> Findings {
    let mut findings = build(plan(&[8, 32]), 0);
    findings.calibration = None;
    findings.run_length = None;
    findings.snapshots.clear();
    findings.runs_failed.clear();
    findings.caveats.clear();
    findings.interactions.clear();
    findings.audit = Audit::default();
    findings
}

/// Throughput of a cell by round: more clients do more, the rollback journal
/// less, copies the same but for a wobble.
fn measured(cell: &Cell, rounds: u32) -> Vec<f64> {
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
    by_round(level * clients * journal, noise, rounds, phase)
}

fn build(plan: Plan, rounds: u32) -> Findings {
    let cells = plan.cells();
    let race = plan.design == Design::Race && rounds > 1;
    let runs: Vec<Vec<f64>> = cells
        .iter()
        .map(|cell| {
            // 64 KiB pages are so much worse that they leave early.
            let leaves = race && plan.compare == Factor::PageSize && cell.page_size == page(65536);
            measured(cell, if leaves { 3 } else { rounds })
        })
        .collect();
    let groups: Vec<GroupFindings> = plan
        .groups()
        .iter()
        .map(|group| group_findings(&plan, &cells, group, &runs, race))
        .collect();
    let by_memory = plan.compare == Factor::PageSize && plan.varied() == [Factor::Memory];
    let facts = |facts: &[(&str, &str)]| -> Vec<(String, String)> {
        facts
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    };
    let done = runs.iter().map(Vec::len).sum::<usize>();
    let full_runs = cells.len() * rounds as usize;
    Findings {
        octavo: "0.1.0".into(),
        created: "2026-03-01T12:00:00Z".into(),
        run_length: Some(RunLength::Time {
            warm_up_min: Duration::from_secs(2),
            warm_up_max: Duration::from_secs(6),
            measured: Duration::from_secs(12),
        }),
        looks: 1,
        spent_s: 1130.0,
        counted_name: if plan.workload == WorkloadName::default() {
            "new orders"
        } else {
            "operations"
        }
        .into(),
        rounds: rounds as usize,
        saved: race.then(|| Saved {
            runs: done,
            full_runs,
            seconds: 21.0 * (full_runs - done) as f64,
        }),
        runs_done: done,
        runs_failed: vec![FailedRun {
            round: 6,
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
        storage_path: (done > 0).then_some(StoragePath::Direct),
        snapshots: plan
            .snapshots()
            .into_iter()
            .map(|key| StoredSnapshot {
                made_by: if key.page_size == page(4096) {
                    "load"
                } else {
                    "derive"
                }
                .into(),
                rows: 1_500_000,
                size: LEVELS
                    .iter()
                    .zip([310, 290, 280, 275, 270])
                    .find(|(level, _)| level.0 == key.page_size.get())
                    .map_or(ByteCount::mib(300), |(_, mib)| ByteCount::mib(mib)),
                elapsed_s: 7.4,
                key,
            })
            .collect(),
        calibration: Some(profile()),
        buffers: if by_memory {
            buffers(rounds)
        } else {
            Vec::new()
        },
        interactions: if by_memory {
            interactions(&plan, &cells, &runs)
        } else {
            Vec::new()
        },
        groups,
        audit: audit(),
        caveats: vec![Caveat::RunsFailed { runs: 1 }],
        plan,
    }
}

fn levels(memory: ByteCount, rounds: u32) -> Vec<(PageSize, Vec<f64>)> {
    LEVELS
        .iter()
        .zip(1..)
        .map(|(&(bytes, large, small, noise), phase)| {
            let level = if memory == ByteCount::mib(8) {
                small
            } else {
                large
            };
            (page(bytes), by_round(level, noise, rounds, phase))
        })
        .collect()
}

/// The interactions of page size and memory, against the first memory.
fn interactions(plan: &Plan, cells: &[Cell], runs: &[Vec<f64>]) -> Vec<Interaction> {
    let groups = plan.groups();
    let (first, second) = (&groups[0], &groups[1]);
    let own = |group: &Group, place: usize| {
        ratios(
            &runs[group.cells[place]],
            &runs[group.cells[group.reference]],
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
            let ratio = geometric_interval(&spread, Confidence::family(4))?;
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
    runs: &[Vec<f64>],
    race: bool,
) -> GroupFindings {
    let reference = &runs[group.cells[group.reference]];
    let mut found: Vec<CellFindings> = group
        .cells
        .iter()
        .enumerate()
        .map(|(place, &number)| {
            let of = cell(
                plan,
                &cells[number],
                place == group.reference,
                runs[number].clone(),
                reference,
            );
            let why = match of.decision {
                Some(Decision::Worse) => Some(Why::Worse),
                Some(Decision::Equivalent) => Some(Why::Equivalent),
                _ => None,
            }
            .filter(|_| race);
            CellFindings {
                left: why,
                left_after: why.map(|_| runs[number].len()),
                ..of
            }
        })
        .collect();
    let level = |cell: &CellFindings| plan.level(&cell.cell, plan.compare);
    let with = |wanted: Decision| -> Vec<Level> {
        found
            .iter()
            .filter(|cell| cell.decision == Some(wanted))
            .map(level)
            .collect()
    };
    let best = found
        .iter()
        .enumerate()
        .filter(|(_, cell)| cell.decision == Some(Decision::Better))
        .filter_map(|(place, cell)| Some((place, cell.ratio?)))
        .max_by(|a, b| a.1.estimate.total_cmp(&b.1.estimate));
    // One round leaves everything open.
    let open: Vec<Level> = found
        .iter()
        .filter(|cell| !cell.reference && matches!(cell.decision, Some(Decision::Open) | None))
        .map(level)
        .collect();
    let verdict = match best {
        Some((place, ratio)) => Verdict::Use {
            level: level(&found[place]),
            ratio,
            fresh: race,
            runner_up: None,
            ties: Vec::new(),
        },
        None if open.is_empty() => Verdict::Keep {
            level: plan.level(&cells[group.cells[group.reference]], plan.compare),
            equivalent: with(Decision::Equivalent),
            worse: with(Decision::Worse),
            not_confirmed: Vec::new(),
        },
        None => Verdict::Inconclusive {
            more_rounds: (reference.len() > 1).then_some(4),
            leader: None,
            open,
        },
    };
    if let Some((place, _)) = best {
        found[place].fresh = race;
    }
    GroupFindings {
        name: plan.group_name(&cells[group.cells[0]]),
        cells: found,
        verdict,
    }
}

fn cell(
    plan: &Plan,
    cell: &Cell,
    is_reference: bool,
    runs: Vec<f64>,
    reference: &[f64],
) -> CellFindings {
    let ratio = if is_reference {
        None
    } else {
        geometric_interval(&ratios(&runs, reference), Confidence::family(4))
    };
    let size = f64::from(cell.page_size.get());
    let small = cell.memory == ByteCount::mib(8);
    let misses = (if small { 11.0 } else { 5.0 }) * (4096.0 / size).powf(0.25);
    CellFindings {
        cell: cell.clone(),
        reference: is_reference,
        throughput: geometric_interval(&runs, Confidence::family(1)),
        ratio,
        decision: ratio.map(|ratio| decision(&ratio, MARGIN)),
        per_transaction: (!runs.is_empty()).then(|| PerTransaction {
            transactions: 14_000,
            hit_ratio: 1.0 - misses / 95.0,
            buffer_misses: misses,
            read_bytes: misses * size,
            written_bytes: 2.4 * size + 6200.0,
            log_written_bytes: 1.5 * size + 4000.0,
            syncs: 0.93,
            write_amplification: (2.4 * size + 6200.0) / 640.0,
            misses_read: 0.997,
            device_reads_ratio: Some(1.01),
            device_written_ratio: Some(1.08),
            read_us_mean: 62.0 + size / 700.0,
            sync_us_mean: 118.0,
            cpu_cores_used: 0.62,
        }),
        level: plan.level(cell, plan.compare).to_string(),
        fresh: false,
        left_after: None,
        left: None,
        stability: (!runs.is_empty()).then(|| CellStability {
            variation: if cell.page_size == page(65536) {
                0.21
            } else {
                0.064
            },
            window_s: 1.0,
            stall_s: if cell.page_size == page(65536) {
                2.6
            } else {
                0.031
            },
        }),
        not_steady: if cell.page_size == page(65536) && small && !runs.is_empty() {
            vec![
                NotSteady {
                    round: 2,
                    label: Label::NotSteady {
                        why: Unsteady::Drift { change: -0.18 },
                    },
                },
                NotSteady {
                    round: 4,
                    label: Label::NotSteady {
                        why: Unsteady::StillWarming,
                    },
                },
            ]
        } else {
            Vec::new()
        },
        periodic: usize::from(cell.page_size == page(2048) && !runs.is_empty()),
        energy: None,
        kinds: kinds(plan, &runs),
        series: runs.iter().map(|&level| series(level, small)).collect(),
        buffer_not_filled: 0,
        checkpoints_min: Some(6),
        throughput_per_minute: runs,
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
            KindCounts::of(&kind, [committed, rolled_back, 0, 0, 0, 0, 0, 0], latencies)
        })
        .collect()
}

fn series(level: f64, small: bool) -> Vec<Sample> {
    let warm_up: u32 = if small { 3 } else { 5 };
    (1..=warm_up + 12)
        .map(|second| {
            let warm = (f64::from(second) / f64::from(warm_up)).min(1.0);
            let wave = 1.0 + 0.06 * f64::from(second * 5).sin();
            let counted = level / 60.0 * (0.4 + 0.6 * warm) * wave;
            Sample {
                at: Duration::from_secs(u64::from(second)),
                measured: second > warm_up,
                length: Duration::from_secs(1),
                transactions: (counted * 2.2) as u64,
                counted: counted as u64,
                buffer_misses: 900,
                read_bytes: ByteCount::mib(4),
                written_bytes: ByteCount::mib(2),
                ..Sample::default()
            }
        })
        .collect()
}

/// Some ratio that is surely below 1.
const BELOW: Interval = Interval {
    estimate: 0.8,
    low: 0.7,
    high: 0.9,
    rounds: 5,
};

fn buffers(rounds: u32) -> Vec<BufferFinding> {
    let (small, large) = (ByteCount::mib(8), ByteCount::mib(32));
    levels(small, rounds)
        .into_iter()
        .zip(levels(large, rounds))
        .zip([
            EqualThroughput::AboveLargest { ratio: BELOW },
            EqualThroughput::About { memory: large },
            EqualThroughput::About {
                memory: ByteCount::kib(22_600),
            },
            EqualThroughput::About {
                memory: ByteCount::mib(31),
            },
            EqualThroughput::AboveLargest { ratio: BELOW },
        ])
        .map(|(((page_size, own), (_, other)), equal)| BufferFinding {
            page_size,
            small,
            large,
            small_over_large: geometric_interval(&ratios(&own, &other), Confidence::family(5)).map(
                |interval| Interval {
                    // Some spread of its own: both memories share the noise.
                    low: interval.low * 0.93,
                    high: interval.high * 1.07,
                    ..interval
                },
            ),
            equal_to_reference: if rounds == 0 {
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
    }
}

/// A device like a virtual disk.
pub(crate) fn profile() -> Profile {
    let file = ByteCount::mib(512);
    let point = |mix, bytes: u32, depth: u16, iops: u64, durability| {
        let spec = PointSpec {
            mix,
            pattern: Pattern::Random,
            request_size: RequestSize::new(bytes).expect("a request size of the fixture"),
            depth: QueueDepth::new(depth).expect("a depth of the fixture"),
            range: file,
            durability,
        };
        let iops = Iops::over(iops, Duration::from_secs(1));
        let mean = f64::from(depth) / iops.get() * 1e6;
        Point {
            spec,
            iops,
            bytes_per_second: iops.throughput(spec.request_size),
            requests: (iops.get() * 0.5) as u64,
            duration_s: 0.5,
            cpu_us_per_request: 6.0,
            in_flight: f64::from(depth),
            rounds: 5,
            steady_round: Some(5),
            latency: Latency {
                us_mean: mean,
                us_p50: mean * 0.9,
                us_p99: mean * 2.1,
                us_p999: mean * 4.0,
                us_max: mean * 9.0,
            },
            read_latency: None,
            write_latency: None,
            passes: None,
        }
    };
    let mut points = Vec::new();
    for (bytes, read_1, read_32, write_32) in [
        (2048, 15_900, 70_000, 33_500),
        (4096, 15_700, 69_000, 33_000),
        (8192, 14_000, 55_000, 33_000),
        (16384, 13_500, 40_000, 29_000),
        (65536, 7_200, 14_000, 22_000),
    ] {
        points.push(point(Mix::READ, bytes, 1, read_1, Durability::Device));
        points.push(point(Mix::READ, bytes, 32, read_32, Durability::Device));
        points.push(point(Mix::WRITE, bytes, 32, write_32, Durability::Device));
    }
    for (depth, read, write) in [
        (2, 25_000, 17_000),
        (4, 39_000, 24_000),
        (8, 52_000, 29_000),
    ] {
        points.push(point(Mix::READ, 4096, depth, read, Durability::Device));
        points.push(point(Mix::WRITE, 4096, depth, write, Durability::Device));
    }
    points.push(point(Mix::WRITE, 4096, 1, 2_900, Durability::Synced));
    Profile {
        format: FORMAT,
        date: Some(
            "2026-03-01T11:58:00Z"
                .parse()
                .expect("a time of the fixture"),
        ),
        octavo: "0.1.0".into(),
        kernel: Some("Linux 6.18".into()),
        preset: Some(Preset::Brief),
        seed: Seed::new(1),
        engine: Means::Ring,
        engine_reason: None,
        access: Access::Direct,
        alignment_bytes: 512,
        file_bytes: file,
        preconditioning: "written once".into(),
        duration_s: 15.2,
        storage: StorageFacts {
            file_system: Some("ext4".into()),
            device: Some("vda".into()),
            ..StorageFacts::default()
        },
        points,
    }
}

#[cfg(test)]
struct Quiet;

#[cfg(test)]
impl Observer for Quiet {
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
        };
        octavo_experiment::bench::bench(settings, &Quiet)
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
        order_of_first_round: (0..cells.len()).rev().collect(),
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
        runs_done: 0,
        rounds: None,
        rounds_that_fit_about: Some(2),
        run_length: None,
        calibrate: true,
        budget: Some(Duration::from_secs(600)),
        making: Duration::from_secs(60),
        run: Duration::from_secs(40),
        round: Duration::from_secs(200),
        whole: None,
        time_min: Duration::from_secs(300),
        plan,
    }
}
