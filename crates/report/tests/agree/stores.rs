//! Stores of many kinds, as experiments leave them: cells in lockstep on machines that drift,
//! with storms, and in minutes that are not alike; who is decided leaves.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use octavo_database::{Counters, StoragePath};
use octavo_driver::{Counts, KindCounts, Latencies, Measurement, WarmUpTotals};
use octavo_experiment::{
    findings::Findings,
    lockstep::{BATCH_PASSES, Horizon, Rules, SessionTime, Slice, SliceKey, Unseated, judge},
    machine::MachineUse,
    plan::{Cell, Design, Factor, Plan, SliceLength, Storage, TestedDatabase},
    record::{DeviceUse, Figures, RunKey, RunRecord, Source},
    store::{Store, StoredSnapshot},
};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::WorkloadName;
use rand::{Rng, RngExt};

/// A store with what it says.
pub(crate) struct Made {
    pub(crate) name: &'static str,
    pub(crate) findings: Findings,
    _directory: tempfile::TempDir,
}

/// Transactions of a slice, and how many of these are counted.
const TRANSACTIONS: u64 = 50;
const COUNTED: u64 = 22;

/// An experiment on a simulated machine.
struct Scenario {
    name: &'static str,
    workload: &'static str,
    database: &'static str,
    page_sizes: &'static [u32],
    memories: &'static [u64],
    clients: &'static [u32],
    copies: u32,
    design: Design,
    compare: Factor,
    source: Source,
    /// Passes of each sitting, at most.
    sittings: &'static [u32],
    /// Passes of the horizon: as many as that comes to, unless it is more.
    horizon: u32,
    /// How many times as long as the default with the first memory a cell's slices take.
    slowness: fn(&Cell) -> f64,
    /// How many times as long a pass takes, and whether that is for small memories alone.
    moment: fn(u32) -> (f64, bool),
    /// How many times as long a cell's slices take in a sitting.
    placement: fn(&Cell, u32) -> f64,
    /// Standard deviation of a slice's own noise.
    noise: f64,
    /// Whether a cell has no figures, in this sitting.
    fails: fn(&Cell, u32) -> bool,
}

const USUAL: Scenario = Scenario {
    name: "two memories",
    workload: "tpcc",
    database: "sqlite",
    page_sizes: &[2, 4, 8, 16, 64],
    memories: &[8, 32],
    clients: &[1],
    copies: 1,
    design: Design::Race,
    compare: Factor::PageSize,
    source: Source::Measured,
    sittings: &[60, 60, 60],
    horizon: 0,
    slowness: usual,
    moment: |_| (1.0, false),
    placement: |_, _| 1.0,
    noise: 0.04,
    fails: |_, _| false,
};

/// 2 KiB a little faster, others slower, and all slower with less memory.
fn usual(cell: &Cell) -> f64 {
    let own = match cell.page_size.get() {
        2048 => 0.92,
        4096 => 1.0,
        8192 => 1.08,
        16384 => 1.2,
        _ => 1.9,
    };
    own * (ByteCount::mib(32).get() as f64 / cell.memory.get() as f64).powf(0.4)
}

fn scenarios() -> Vec<Scenario> {
    vec![
        USUAL,
        Scenario {
            name: "minutes that are not alike",
            moment: |pass| (if pass < 20 { 1.0 } else { 2.5 }, true),
            sittings: &[60, 40],
            ..USUAL
        },
        Scenario {
            name: "few passes",
            sittings: &[8],
            noise: 0.1,
            ..USUAL
        },
        Scenario {
            name: "one pass",
            sittings: &[1],
            ..USUAL
        },
        Scenario {
            name: "five passes",
            sittings: &[5],
            ..USUAL
        },
        Scenario {
            name: "one sitting, all equal",
            sittings: &[240],
            slowness: |_| 1.0,
            noise: 0.02,
            ..USUAL
        },
        Scenario {
            name: "a sitting against the others",
            memories: &[32],
            design: Design::Full,
            // 4.5% more in three sittings, and 3.6% less in a short one.
            slowness: |cell| match cell.page_size.get() {
                2048 => 1.0 / 1.045,
                4096 => 1.0,
                _ => 1.9,
            },
            placement: |cell, sitting| match (cell.page_size.get(), sitting) {
                (2048, 3) => 1.095,
                _ => 1.0,
            },
            sittings: &[120, 120, 120, 24],
            noise: 0.005,
            ..USUAL
        },
        Scenario {
            name: "most passes screened",
            moment: |pass| (if pass % 5 < 2 { 4.0 } else { 1.0 }, false),
            noise: 0.08,
            ..USUAL
        },
        Scenario {
            name: "all but one pass screened",
            sittings: &[8],
            moment: |pass| {
                (
                    if pass == 3 {
                        1.0
                    } else {
                        3.0 + 3.0 * f64::from(pass % 2)
                    },
                    false,
                )
            },
            ..USUAL
        },
        Scenario {
            name: "noise without an end",
            sittings: &[30],
            noise: 0.6,
            ..USUAL
        },
        Scenario {
            name: "one memory",
            memories: &[32],
            ..USUAL
        },
        Scenario {
            name: "one cell",
            page_sizes: &[4],
            memories: &[32],
            ..USUAL
        },
        Scenario {
            name: "four memories",
            memories: &[8, 16, 32, 64],
            ..USUAL
        },
        Scenario {
            name: "nothing measured",
            sittings: &[],
            ..USUAL
        },
        Scenario {
            name: "all failed",
            fails: |_, _| true,
            ..USUAL
        },
        Scenario {
            name: "no reference",
            fails: |cell, _| cell.page_size.get() == 4096,
            ..USUAL
        },
        Scenario {
            name: "one cell failed once",
            fails: |cell, sitting| cell.page_size.get() == 8192 && sitting == 1,
            ..USUAL
        },
        Scenario {
            name: "predicted",
            source: Source::Predicted,
            sittings: &[40],
            noise: 0.005,
            ..USUAL
        },
        Scenario {
            name: "one cell predicted",
            source: Source::Predicted,
            page_sizes: &[4],
            memories: &[32],
            sittings: &[40],
            noise: 0.005,
            ..USUAL
        },
        Scenario {
            name: "nothing predicted",
            source: Source::Predicted,
            sittings: &[],
            ..USUAL
        },
        Scenario {
            name: "a server with eight clients",
            database: "postgres",
            workload: "ycsb-a",
            page_sizes: &[4, 8, 16],
            clients: &[8],
            ..USUAL
        },
        Scenario {
            name: "a server that times nothing",
            database: "mariadb",
            workload: "pgbench",
            page_sizes: &[4, 16, 64],
            clients: &[8],
            ..USUAL
        },
        Scenario {
            name: "TPC-E",
            workload: "tpce",
            memories: &[32],
            ..USUAL
        },
        Scenario {
            name: "clients compared",
            page_sizes: &[4],
            memories: &[32],
            clients: &[1, 4, 8],
            compare: Factor::Clients,
            slowness: |cell| 1.0 / f64::from(cell.clients).sqrt(),
            ..USUAL
        },
        Scenario {
            name: "copies",
            page_sizes: &[4],
            memories: &[32],
            copies: 3,
            compare: Factor::Copy,
            ..USUAL
        },
        Scenario {
            name: "memories compared",
            page_sizes: &[4],
            memories: &[8, 16, 32],
            compare: Factor::Memory,
            ..USUAL
        },
    ]
}

pub(crate) fn all() -> Vec<Made> {
    scenarios().into_iter().map(|of| of.make()).collect()
}

impl Scenario {
    fn plan(&self) -> Plan {
        let workload: WorkloadName = self.workload.parse().expect("a workload");
        let database = TestedDatabase {
            name: self.database.into(),
            version: "1.2.3".into(),
            options: Vec::new(),
            default_page_size: PageSize::kib(match self.database {
                "postgres" => 8,
                "mariadb" => 16,
                _ => 4,
            }),
        };
        Plan {
            name: None,
            workload,
            mix: None,
            distribution: None,
            own: None,
            shape: None,
            isolation: None,
            seed: Seed::new(1),
            margin: 0.03,
            design: self.design,
            databases: vec![Arc::new(database)],
            data: vec![workload.data_spec(&[]).expect("default rows")],
            storages: vec![Storage::Own],
            page_sizes: self
                .page_sizes
                .iter()
                .map(|&kib| PageSize::kib(kib))
                .collect(),
            mixed: Vec::new(),
            memories: self
                .memories
                .iter()
                .map(|&mib| ByteCount::mib(mib))
                .collect(),
            cpus: vec![None],
            clients: self.clients.to_vec(),
            ramp: None,
            copies: self.copies,
            compare: self.compare,
            reference: None,
        }
    }

    fn make(&self) -> Made {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("octavo.db");
        let mut store = Store::open_or_create(&path).expect("a store");
        let plan = self.plan();
        store
            .adopt(&plan, SliceLength::default(), "0")
            .expect("a plan");
        store.set_command("octavo advise here").expect("a command");
        let passes = self.sittings.iter().sum::<u32>().max(self.horizon).max(1);
        let horizon = Horizon::Passes { passes };
        if self.source != Source::Predicted {
            for key in plan.snapshots() {
                // Copies with larger pages are larger.
                let larger = u64::from(key.page_size.get() / 2048);
                let snapshot = StoredSnapshot {
                    made_by: "load".into(),
                    rows: 1_500_000,
                    size: ByteCount::mib(600 + 10 * larger),
                    elapsed_s: 7.4,
                    log: None,
                    origin: None,
                    key,
                };
                store.put_snapshot(&snapshot).expect("a snapshot");
            }
        }
        let session = store.begin_session().expect("a session");
        let mut machine = Machine::new(self, plan.cells());
        let mut slices = Vec::new();
        for (sitting, &most) in (0..).zip(self.sittings) {
            store.set_horizon(horizon).expect("a horizon");
            let new = machine.sitting(&plan, horizon, sitting, most, &slices);
            for (number, cell) in plan.cells().iter().enumerate() {
                let own: Vec<Slice> = new
                    .iter()
                    .filter(|of| of.key.cell == number)
                    .copied()
                    .collect();
                let fails = (self.fails)(cell, sitting);
                if own.is_empty() && !fails {
                    continue;
                }
                let record = RunRecord {
                    source: self.source,
                    key: RunKey {
                        sitting,
                        cell: number,
                    },
                    started_at: Timestamp::UNIX_EPOCH,
                    result: match fails {
                        true => Err("the server ended".into()),
                        false => Ok(Box::new(figures(&plan, &own))),
                    },
                };
                store.put_runs(session, &[&record], &own).expect("a run");
            }
            slices.extend(new);
            let spent: Duration = slices.iter().map(|slice: &Slice| slice.elapsed).sum();
            store
                .extend_session(session, spent.mul_f64(1.4))
                .expect("a session");
        }
        if self.source == Source::Predicted {
            for number in 0..plan.cells().len() {
                let follows = format!("{:.3} 0.500 0.010", 0.2 + 0.05 * (number % 5) as f64);
                let facts = [("processor", follows)];
                store
                    .put_facts(&format!("inputs {number}"), &facts)
                    .expect("facts");
            }
        }
        Made {
            name: self.name,
            findings: Findings::read(&store).expect("readable").expect("a plan"),
            _directory: directory,
        }
    }
}

/// What slices take.
struct Machine<'a> {
    scenario: &'a Scenario,
    cells: Vec<Cell>,
    generator: Box<dyn Rng>,
}

impl<'a> Machine<'a> {
    fn new(scenario: &'a Scenario, cells: Vec<Cell>) -> Self {
        Self {
            scenario,
            cells,
            generator: Box::new(Seed::new(7).derive(scenario.name, 0).generator()),
        }
    }

    /// Box and Muller's normal number.
    fn normal(&mut self) -> f64 {
        let (u, v): (f64, f64) = (self.generator.random(), self.generator.random());
        (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// The slices of a sitting of cells that are not decided by those before.
    fn sitting(
        &mut self,
        plan: &Plan,
        horizon: Horizon,
        sitting: u32,
        most: u32,
        before: &[Slice],
    ) -> Vec<Slice> {
        let rules = Rules {
            margin: plan.margin,
            drop: plan.design == Design::Race && plan.count(plan.compare) > 1,
            screen: self.scenario.source != Source::Predicted,
            grows_older: self.scenario.source != Source::Predicted
                && matches!(horizon, Horizon::Time { .. }),
            horizon,
        };
        let groups = plan.groups();
        let mut all = before.to_vec();
        let mut live: Vec<usize> = Vec::new();
        for pass in 0..most {
            if (pass as usize).is_multiple_of(BATCH_PASSES) {
                let judged = judge(&rules, &groups, self.cells.len(), &all, &Unseated::new());
                let of_groups = groups.iter().zip(&judged.groups);
                live = of_groups
                    .filter(|(_, judged)| !judged.finished)
                    .flat_map(|(group, judged)| group.cells.iter().zip(&judged.candidates))
                    .filter(|(_, candidate)| candidate.left.is_none())
                    .map(|(&cell, _)| cell)
                    .filter(|&cell| !(self.scenario.fails)(&self.cells[cell], sitting))
                    .collect();
            }
            for (position, &cell) in (0..).zip(&live) {
                let key = SliceKey {
                    sitting,
                    pass,
                    position,
                    cell,
                };
                let slice = self.slice(key);
                all.push(slice);
            }
        }
        all.split_off(before.len())
    }

    fn slice(&mut self, key: SliceKey) -> Slice {
        let noise = (self.scenario.noise * self.normal()).exp();
        let cell = &self.cells[key.cell];
        let (moment, is_small_alone) = (self.scenario.moment)(key.pass);
        let is_small = Some(&cell.memory)
            == self
                .scenario
                .memories
                .iter()
                .map(|&mib| ByteCount::mib(mib))
                .min()
                .as_ref();
        let moment = if is_small_alone && !is_small {
            1.0
        } else {
            moment
        };
        let placement = (self.scenario.placement)(cell, key.sitting);
        let elapsed = 0.075 * (self.scenario.slowness)(cell) * placement * moment * noise;
        let sessions = f64::from(cell.clients);
        let part = |share: f64| Duration::from_secs_f64(elapsed * sessions * share);
        let is_timed = self.scenario.database != "mariadb";
        let timed = |share: f64| is_timed.then(|| part(share));
        Slice {
            key,
            transactions: TRANSACTIONS,
            // Mixes of passes are not alike, so that those of cells that left are not.
            counted: COUNTED + u64::from(key.pass % 4),
            elapsed: Duration::from_secs_f64(elapsed),
            spent: Some(SessionTime {
                read: timed(0.4),
                log_write: timed(0.1),
                log_sync: timed(0.1),
                // A server writes its checkpoints beside the sessions.
                checkpoint: match self.scenario.database {
                    "postgres" => Duration::ZERO,
                    _ => timed(0.1).unwrap_or_default(),
                },
                cpu: part(0.2),
            }),
            misses: 300,
            log_bytes: ByteCount::kib(90),
            response: None,
            foreign_bytes: Some(ByteCount::kib(4)),
        }
    }
}

/// The figures of a run with these slices.
fn figures(plan: &Plan, slices: &[Slice]) -> Figures {
    let workload = plan.workload(plan.data[0]).expect("a workload");
    let kinds = workload.transactions();
    let mut counts = Counts::new(kinds);
    let transactions: u64 = slices.iter().map(|slice| slice.transactions).sum();
    let elapsed: Duration = slices.iter().map(|slice| slice.elapsed).sum();
    let mean_us = elapsed.as_secs_f64() * 1e6 / transactions as f64;
    for (place, kind) in kinds.iter().enumerate() {
        let mut latencies = Latencies::default();
        let own = transactions / kinds.len() as u64;
        for number in 0..own {
            latencies.record((mean_us * (0.5 + number as f64 / own as f64)) as f32);
        }
        counts.kinds[place] =
            KindCounts::with_outcomes(kind, [own, 0, 0, 0, 0, 0, 0, 0], latencies);
    }
    counts.changed_bytes = 200 * transactions;
    let misses: u64 = slices.iter().map(|slice| slice.misses).sum();
    let counters = Counters {
        buffer_hits: 20 * misses,
        buffer_misses: misses,
        reads: misses,
        read_bytes: ByteCount::new(4096 * misses),
        read_time: Duration::from_micros(90 * misses),
        data_writes: transactions,
        log_writes: transactions,
        log_written_bytes: ByteCount::new(2048 * transactions),
        syncs: transactions,
        sync_time: Duration::from_micros(120 * transactions),
        checkpoints: u64::from(plan.databases[0].name == "postgres"),
        ..Counters::default()
    };
    let warm_up = WarmUpTotals {
        elapsed: Duration::from_secs(2),
        misses: 10_000,
        is_full: true,
        failed: 0,
    };
    Figures {
        load: Measurement::without_series(warm_up, elapsed, counts, counters),
        overhead: Duration::from_secs(1),
        restored_by: None,
        trees: Vec::new(),
        storage_path: Some(StoragePath::Direct),
        device: Some(DeviceUse {
            reads: misses,
            read_bytes: ByteCount::new(4096 * misses),
            writes: transactions,
            written_bytes: ByteCount::new(4096 * transactions),
            energy: None,
        }),
        machine: MachineUse::default(),
        conditions: vec![("synchronous".into(), "full".into())],
        checks: Vec::new(),
        unchecked: None,
    }
}
