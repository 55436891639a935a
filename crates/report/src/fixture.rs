//! Findings made by hand: two memories, five page sizes, every standing, a
//! failed run, a device's profile. Not measured anywhere.

use std::time::Duration;

use octavo_database::StoragePath;
use octavo_device::{
    calibrate::{Access, Durability, Engine, FORMAT, Latency, Point, PointSpec, Preset, Profile},
    location::Location,
    request::{Mix, Pattern},
};
use octavo_experiment::{
    drive::Sample,
    findings::{CellFindings, FailedRun, Findings, LatencySummary, MemoryFindings, PerTransaction},
    latency::Percentiles,
    plan::{Cell, Plan, RunLength},
    statistics::{Confidence, Interval, geometric_interval, standing},
    store::StoredBase,
    verdict::{BufferFinding, EqualThroughput, MemoryVerdict},
};
use octavo_units::{ByteCount, Iops, PageSize, QueueDepth, RequestSize, Seed};
use octavo_workload::{Audit, AuditDistribution, AuditLine, AuditRule};

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

/// The whole: five rounds.
pub(crate) fn findings() -> Findings {
    build(&[8, 32], 5)
}

/// One round, which gives no interval.
#[cfg(test)]
pub(crate) fn one_round() -> Findings {
    let mut findings = build(&[8, 32], 1);
    for memory in &mut findings.memories {
        memory.verdict = MemoryVerdict::Inconclusive {
            open: vec![page(2048), page(8192), page(16384), page(65536)],
            more_rounds: None,
        };
    }
    findings
}

/// One memory, so that no buffers are compared.
#[cfg(test)]
pub(crate) fn one_memory() -> Findings {
    build(&[32], 5)
}

/// A plan without any run.
#[cfg(test)]
pub(crate) fn empty() -> Findings {
    let mut findings = build(&[8, 32], 0);
    findings.calibration = None;
    findings.run_length = None;
    findings.bases.clear();
    findings.runs_failed.clear();
    findings.warnings.clear();
    findings.audit = Audit::default();
    findings
}

fn build(mib: &[u64], rounds: u32) -> Findings {
    let plan = Plan {
        database: "sqlite".into(),
        database_version: "3.50.0".into(),
        journal_mode: "wal".into(),
        workload: "tpcc".into(),
        warehouses: 3,
        seed: Seed::new(1),
        page_sizes: LEVELS.iter().map(|level| page(level.0)).collect(),
        reference: page(4096),
        memories: mib.iter().map(|&mib| ByteCount::mib(mib)).collect(),
        clients: 1,
        margin: MARGIN,
    };
    let memories: Vec<MemoryFindings> = plan
        .memories
        .iter()
        .rev()
        .map(|&memory| memory_findings(&plan, memory, rounds))
        .collect();
    let buffers = if mib.len() > 1 {
        buffers(rounds)
    } else {
        Vec::new()
    };
    let facts = |facts: &[(&str, &str)]| -> Vec<(String, String)> {
        facts
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    };
    let done = memories
        .iter()
        .flat_map(|memory| &memory.cells)
        .map(|cell| cell.throughput_per_minute.len())
        .sum::<usize>();
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
        rounds: rounds as usize,
        runs_done: done,
        runs_failed: vec![FailedRun {
            round: 6,
            cell: Cell {
                page_size: page(65536),
                memory: plan.memories[0],
            },
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
        bases: LEVELS
            .iter()
            .zip([310, 290, 280, 275, 270])
            .map(|(level, mib)| StoredBase {
                page_size: page(level.0),
                made_by: if level.0 == 4096 { "load" } else { "derive" }.into(),
                rows: 1_500_000,
                size: ByteCount::mib(mib),
                elapsed_s: 7.4,
            })
            .collect(),
        calibration: Some(profile()),
        memories,
        buffers,
        audit: audit(),
        warnings: vec!["1 run gave no result".into()],
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

fn memory_findings(plan: &Plan, memory: ByteCount, rounds: u32) -> MemoryFindings {
    let runs = levels(memory, rounds);
    let reference = runs[1].1.clone();
    let cells: Vec<CellFindings> = runs
        .into_iter()
        .map(|(page_size, own)| cell(Cell { page_size, memory }, own, &reference))
        .collect();
    let verdict = match (rounds, memory == ByteCount::mib(8), cells[2].ratio) {
        (2.., false, Some(ratio)) => MemoryVerdict::Use {
            page_size: page(8192),
            ratio,
            ties: Vec::new(),
        },
        (2.., _, _) => MemoryVerdict::Inconclusive {
            open: vec![page(2048)],
            more_rounds: Some(4),
        },
        _ => MemoryVerdict::Inconclusive {
            open: plan
                .page_sizes
                .iter()
                .copied()
                .filter(|&size| size != plan.reference)
                .collect(),
            more_rounds: None,
        },
    };
    MemoryFindings {
        memory,
        cells,
        verdict,
    }
}

fn cell(cell: Cell, runs: Vec<f64>, reference: &[f64]) -> CellFindings {
    let is_reference = cell.page_size == page(4096);
    let ratio = if is_reference {
        None
    } else {
        geometric_interval(&ratios(&runs, reference), Confidence::family(4))
    };
    let size = f64::from(cell.page_size.get());
    let small = cell.memory == ByteCount::mib(8);
    let misses = (if small { 11.0 } else { 5.0 }) * (4096.0 / size).powf(0.25);
    CellFindings {
        cell,
        reference: is_reference,
        throughput: geometric_interval(&runs, Confidence::family(1)),
        ratio,
        standing: ratio.map(|ratio| standing(&ratio, MARGIN)),
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
        latencies: latencies(&runs),
        series: runs.iter().map(|&level| series(level, small)).collect(),
        buffer_not_filled: 0,
        checkpoints_min: Some(6),
        throughput_per_minute: runs,
    }
}

fn latencies(runs: &[f64]) -> Vec<LatencySummary> {
    if runs.is_empty() {
        return Vec::new();
    }
    let p50 = (24e6 / runs[0]) as u64;
    [
        ("New-Order", 6300, 10),
        ("Payment", 6000, 4),
        ("Order-Status", 560, 3),
        ("Delivery", 560, 31),
        ("Stock-Level", 560, 9),
    ]
    .map(|(name, committed, weight)| LatencySummary {
        transaction: name.into(),
        committed,
        rolled_back: if name == "New-Order" { 61 } else { 0 },
        retries: 0,
        latency: Percentiles {
            mean_us: p50 as f64 * weight as f64 / 9.0,
            p50_us: p50 * weight / 10,
            p90_us: p50 * weight / 6,
            p95_us: p50 * weight / 5,
            p99_us: p50 * weight / 3,
            p999_us: p50 * weight,
            max_us: p50 * weight * 2,
        },
    })
    .into()
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
        date: "2026-03-01T11:58:00Z"
            .parse()
            .expect("a time of the fixture"),
        octavo: "0.1.0".into(),
        kernel: "Linux 6.18".into(),
        preset: Some(Preset::Brief),
        seed: Seed::new(1),
        engine: Engine::Ring,
        engine_reason: None,
        access: Access::Direct,
        alignment_bytes: 512,
        file_bytes: file,
        preconditioning: "written once".into(),
        duration_s: 15.2,
        storage: Location {
            file_system: Some("ext4".into()),
            device: Some("vda".into()),
            ..Location::default()
        },
        points,
    }
}
