//! The cells of stores with what they cost.

use octavo_units::{ByteCount, PageSize};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    choice::Configuration,
    load::LoadPoint,
    money::{Bill, per_thousand},
    results::{Results, ValueError},
};
use crate::{
    confidence::advised,
    findings::{CellFindings, Findings},
    plan::{Cell, Factor, Plan, Storage},
    prediction::PagesElsewhere,
    prices::{Prices, plain},
    ramp::StepFinding,
    record::Source,
    statistics::{Decision, Interval, critical_t, decision, error_of_one},
};

/// A storage of the cells.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ValuedStorage {
    /// What it is called here: the device, the path, or the results that it is under.
    pub name: String,
    /// What it costs, where it has a price.
    pub price: Option<f64>,
    /// A device of the catalog or of a file.
    #[serde(skip)]
    pub(super) device: Option<String>,
    /// The results that it was found in first.
    #[serde(skip)]
    pub(super) results: usize,
}

/// A cell with what it costs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ValuedCell {
    /// What sets it apart beside memory, page size and storage, as after "with"; may be
    /// empty.
    pub setting: String,
    /// The results that it is of, as a place in [`Value::results`](super::Value::results).
    pub result: usize,
    /// The storage's name.
    pub storage: String,
    /// The page size.
    pub page_size: PageSize,
    /// The memory that is bought and may hold data.
    pub memory: ByteCount,
    /// The memory that its throughput was found with.
    pub tested_memory: ByteCount,
    /// How its throughput came about.
    pub source: Source,
    /// Whether it is what another disk would change, which was predicted from measured
    /// results.
    pub elsewhere: bool,
    /// Counted transactions a minute, with the interval of the cell alone; of a ramp those of
    /// its best step.
    pub throughput: Interval,
    /// What it did under each load that was tried: a ramp has one for each step.
    #[serde(skip)]
    pub(super) loads: Vec<LoadPoint>,
    /// What its parts cost.
    pub bill: Bill,
    /// What is paid for it; `None` where nothing has a price, or its storage has none while
    /// another has.
    pub cost: Option<f64>,
    /// Counted transactions a minute per 1000 of the currency.
    pub per_thousand: Option<f64>,
}

impl ValuedCell {
    /// The machine that it needs; `None` where its cost is not known.
    pub fn configuration(&self) -> Option<Configuration> {
        Some(Configuration {
            storage: self.storage.clone(),
            memory: self.memory,
            page_size: self.page_size,
            throughput: self.throughput.estimate,
            cost: self.cost?,
        })
    }
}

/// A cell before it has a price.
struct UnpricedCell {
    results: usize,
    cell: Cell,
    storage: String,
    device: Option<String>,
    throughput: Interval,
    loads: Vec<LoadPoint>,
    source: Source,
    elsewhere: bool,
    setting: String,
}

/// The storages and cells of results, at these prices.
///
/// # Errors
/// Results without any throughput, and a nameless price where there are several storages.
pub(super) fn valued(
    results: &[Results<'_>],
    prices: &Prices,
    scale: f64,
) -> Result<(Vec<ValuedStorage>, Vec<ValuedCell>), ValueError> {
    let mut found = Vec::new();
    for (number, of) in results.iter().enumerate() {
        if of.findings.plan.pace().is_some() {
            return Err(ValueError::Paced {
                name: of.name.to_owned(),
            });
        }
        let before = found.len();
        collect(number, of, &mut found);
        if found.len() == before {
            return Err(ValueError::NoThroughput {
                name: of.name.to_owned(),
            });
        }
    }
    elsewhere(results, prices, &mut found);
    name_settings(results, &mut found);
    let mut storages: Vec<ValuedStorage> = Vec::new();
    for one in &found {
        if !storages.iter().any(|of| of.name == one.storage) {
            storages.push(ValuedStorage {
                name: one.storage.clone(),
                price: None,
                device: one.device.clone(),
                results: one.results,
            });
        }
    }
    price(&mut storages, results, prices)?;
    let are_some_priced = storages.iter().any(|of| of.price.is_some());
    let machines = results.iter().map(|of| of.machine_price(prices));
    let machines: Vec<Option<f64>> = machines.collect::<Result<_, _>>()?;
    let are_some_machines_priced = machines.iter().any(Option::is_some);
    let valued = |one: UnpricedCell| {
        let storage = storages.iter().find(|of| of.name == one.storage);
        let storage_price = storage.and_then(|of| of.price);
        let tested_memory = one.cell.memory;
        let bytes = tested_memory.get() as f64 * scale;
        let gib = bytes / (1u64 << 30) as f64;
        let bill = Bill {
            machine: machines[one.results],
            memory: prices.memory.map(|of| of.get() * gib),
            storage: storage_price,
        };
        // Beside storages and machines with a price, one without would look free.
        let is_known = (storage_price.is_some() || !are_some_priced)
            && (bill.machine.is_some() || !are_some_machines_priced);
        let cost = bill.total().filter(|_| is_known);
        ValuedCell {
            setting: one.setting,
            result: one.results,
            storage: one.storage,
            page_size: one.cell.page_size,
            // As large as a number of bytes can be, at most.
            memory: ByteCount::new(bytes.round() as u64),
            tested_memory,
            source: one.source,
            elsewhere: one.elsewhere,
            bill,
            cost,
            per_thousand: cost.and_then(|cost| per_thousand(one.throughput.estimate, cost)),
            throughput: one.throughput,
            loads: one.loads,
        }
    };
    let cells = found.into_iter().map(valued).collect();
    Ok((storages, cells))
}

fn collect(number: usize, of: &Results<'_>, found: &mut Vec<UnpricedCell>) {
    let findings = of.findings;
    let one = |cell: &Cell, throughput: Interval, loads: Vec<LoadPoint>| UnpricedCell {
        results: number,
        storage: storage_name(&cell.storage, of.name),
        device: cell.storage.device().map(str::to_owned),
        cell: cell.clone(),
        throughput,
        loads,
        source: findings.source,
        elsewhere: false,
        setting: String::new(),
    };
    let places = findings.groups.iter().enumerate().flat_map(|(group, of)| {
        let cells = of.cells.iter().enumerate();
        cells.map(move |(place, cell)| (group, place, cell))
    });
    // A policy that only a model can have is for no money.
    let cells = places.filter(|(_, _, cell)| cell.cell.database.replacement().is_none());
    // Over hosts a level may have more throughput than the one to use, and be behind it where both are.
    let is_behind = |group: usize, cell: &CellFindings| {
        let over = cell.over_advised.filter(|_| findings.is_over_hosts());
        let winner = advised(&findings.groups[group]).and_then(|of| of.throughput);
        let more = cell.throughput.zip(winner);
        more.is_some_and(|(own, winner)| own.estimate >= winner.estimate)
            && over.is_some_and(|over| decision(&over, findings.plan.margin) == Decision::Worse)
    };
    let cells = cells.filter(|(group, _, cell)| !is_behind(*group, cell));
    found.extend(cells.filter_map(|(group, place, cell)| {
        let is_known = |of: &Interval| of.estimate.is_finite() && of.estimate > 0.0;
        let throughput = cell.throughput.filter(is_known)?;
        let tail = cell.tail.as_ref();
        let ms = |us: u64| us as f64 / 1e3;
        let load = LoadPoint {
            clients: cell.cell.clients,
            // As wide as the next host, around the figure that is said of the cell.
            throughput: of
                .next_host(group, place)
                .map_or(throughput, |next| next.around(throughput.estimate)),
            all_passes: cell.all_passes,
            p99_ms: tail.map(|tail| ms(tail.p99_us)),
            p99_low_ms: tail.map(|tail| ms(tail.p99_between.low_us)),
            p99_high_ms: tail.and_then(|tail| tail.p99_between.high_us.map(ms)),
            hosts: findings.fleet.as_ref().map(|_| of.hosts_of(group, place)),
        };
        Some(one(&cell.cell, throughput, vec![load]))
    }));
    let ramps = findings.ramps.iter();
    found.extend(ramps.filter_map(|ramp| {
        let loads: Vec<LoadPoint> = ramp.found.steps.iter().filter_map(of_step).collect();
        let best = loads.iter().max_by(|one, other| {
            let rate = |of: &LoadPoint| of.throughput.estimate;
            rate(one).total_cmp(&rate(other))
        })?;
        Some(one(&ramp.cell, best.throughput, loads.clone()))
    }));
}

/// What a step of a ramp did, at 95%.
fn of_step(step: &StepFinding) -> Option<LoadPoint> {
    let (rate, error) = (step.counted_per_second, step.counted_error);
    let half = critical_t(error_of_one(1), step.counted_freedom) * error;
    (rate.is_finite() && rate > 0.0).then(|| LoadPoint {
        clients: step.clients,
        throughput: Interval {
            estimate: 60.0 * rate,
            low: 60.0 * (rate - half).max(0.0),
            high: 60.0 * (rate + half),
            // As many as leave these degrees of freedom.
            batches: step.counted_freedom as usize + 1,
        },
        all_passes: None,
        p99_ms: Some(step.latency.p99_us as f64 / 1e3),
        p99_low_ms: Some(step.p99_between.low_us as f64 / 1e3),
        p99_high_ms: step.p99_between.high_us.map(|us| us as f64 / 1e3),
        hosts: None,
    })
}

/// What other disks that have a price would change, which was predicted from measured
/// results: with the default page size, and with the one to use there.
fn elsewhere(results: &[Results<'_>], prices: &Prices, found: &mut Vec<UnpricedCell>) {
    for (number, of) in results.iter().enumerate() {
        for one in &of.findings.elsewhere {
            let is_priced = |(name, _): &(String, _)| plain(name) == one.device;
            let is_there = found.iter().any(|of| of.storage == one.device);
            let Some(here) = default_cell(of.findings, one.memory) else {
                continue;
            };
            if is_there || !prices.storages.iter().any(is_priced) {
                continue;
            }
            let (cell, throughput) = here;
            let mut add = |page_size: PageSize, throughput: Interval| {
                found.push(UnpricedCell {
                    results: number,
                    storage: one.device.clone(),
                    device: Some(one.device.clone()),
                    cell: Cell {
                        page_size,
                        storage: Storage::Device(one.device.clone()),
                        ..cell.clone()
                    },
                    throughput,
                    loads: vec![LoadPoint {
                        clients: cell.clients,
                        throughput,
                        all_passes: None,
                        p99_ms: None,
                        p99_low_ms: None,
                        p99_high_ms: None,
                        hosts: None,
                    }],
                    source: one.source,
                    elsewhere: true,
                    setting: String::new(),
                });
            };
            let default = cell.page_size;
            // How well the throughput here is known is a part of how well its ratio is.
            let there = one.over_here.around(throughput * one.over_here.estimate);
            add(default, there);
            if let PagesElsewhere::Use {
                page_size,
                over_default,
            } = &one.pages
            {
                add(*page_size, there.times(over_default));
            }
        }
    }
}

/// The cell with the default page size and so much memory, with its throughput.
fn default_cell(findings: &Findings, memory: ByteCount) -> Option<(&Cell, f64)> {
    let mut cells = findings.groups.iter().flat_map(|group| &group.cells);
    let cell = cells.find(|of| {
        of.cell.memory == memory && of.cell.page_size == of.cell.database.default_page_size
    })?;
    Some((&cell.cell, cell.throughput?.estimate))
}

/// The factors that set settings apart.
const FACTORS: [Factor; 5] = [
    Factor::Database,
    Factor::Rows,
    Factor::Cpus,
    Factor::Clients,
    Factor::Copy,
];

/// Names what sets cells apart beside memory, page size and storage.
fn name_settings(results: &[Results<'_>], found: &mut [UnpricedCell]) {
    let mut names: Vec<Vec<String>> = vec![Vec::new(); found.len()];
    for factor in FACTORS {
        let level = |one: &UnpricedCell| one.cell.level(factor).with_noun();
        let first = found.first().map(level);
        if found.iter().all(|one| Some(level(one)) == first) {
            continue;
        }
        for (one, names) in found.iter().zip(&mut names) {
            let plan = &results[one.results].findings.plan;
            names.push(match factor_varies(plan, factor) {
                // By what sets databases of a plan apart.
                true => plan.level(&one.cell, factor).with_noun(),
                false => level(one),
            });
        }
    }
    let system = |one: &UnpricedCell| match one.cell.storage.file_system() {
        Some(system) => format!("file system {system}"),
        None => "the file system that is there".to_owned(),
    };
    let first = found.first().map(system);
    if found.iter().any(|one| Some(system(one)) != first) {
        for (one, names) in found.iter().zip(&mut names) {
            names.push(system(one));
        }
    }
    // Classes of hosts of merged results.
    let are_classes = results.iter().any(|of| of.findings.fleet.is_some()) && results.len() > 1;
    for (one, names) in found.iter().zip(&mut names) {
        if are_classes {
            names.extend(results[one.results].hosts_in_words(results));
        }
    }
    for (one, names) in found.iter_mut().zip(names) {
        one.setting = names.join(", ");
    }
}

fn factor_varies(plan: &Plan, factor: Factor) -> bool {
    plan.count(factor) > 1
}

/// What a storage is called: the directory that an experiment works in by the results.
fn storage_name(storage: &Storage, results: &str) -> String {
    match storage {
        Storage::Own => plain(results).to_owned(),
        Storage::Directory(path) => plain(&path.to_string_lossy()).to_owned(),
        Storage::Device(device) => device.clone(),
        // Whatever file system is made on it, it is what is paid for.
        Storage::FileSystem { on, .. } => storage_name(on, results),
    }
}

/// Gives storages their prices.
fn price(
    storages: &mut [ValuedStorage],
    results: &[Results<'_>],
    prices: &Prices,
) -> Result<(), ValueError> {
    for (name, price) in &prices.storages {
        let place = match plain(name) {
            "" | "." => Some(nameless(storages, results)?),
            name => storages.iter().position(|of| plain(&of.name) == name),
        };
        if let Some(place) = place {
            storages[place].price = Some(price.get());
        }
    }
    Ok(())
}

/// The only storage, or the only directory that an experiment works in.
fn nameless(storages: &[ValuedStorage], results: &[Results<'_>]) -> Result<usize, ValueError> {
    let is_own =
        |of: &ValuedStorage| of.device.is_none() && plain(results[of.results].name) == of.name;
    let mut own = (0..storages.len()).filter(|&place| is_own(&storages[place]));
    match (storages.len(), own.next(), own.next()) {
        (1, _, _) => Ok(0),
        (_, Some(own), None) => Ok(own),
        _ => Err(ValueError::Nameless {
            known: storages.iter().map(|of| of.name.clone()).collect(),
        }),
    }
}
