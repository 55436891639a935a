//! What throughput is worth: per money, of more memory, of another storage, and how often a
//! page has to be read to belong in memory.
//!
//! The figures are pure functions of plain numbers: [`per_thousand`], [`knee()`],
//! [`choices`], [`frontier`], [`break_even_s`]; [`random_reads`] asks a device in virtual time.
//! [`Value`] puts them together for the cells of one store or several, at [`Prices`].
//! `docs/value.md` has the formulas and their sources.
//!
//! Not covered: what power, space and people cost, and what prices become.

mod break_even;
mod cells;
mod choice;
mod demand;
mod five_minutes;
mod knee;
mod load;
mod money;
mod results;

use octavo_device::catalog::Entry;
use octavo_units::{ByteCount, PageSize};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    confidence::{ConfidenceLevel, confidence},
    plan::Plan,
    prices::Prices,
    record::Source,
};
use results::{SCALE_MAX, SCALE_MIN};

pub use break_even::{BreakEven, BreakEvenLacks, BreakEvenPage, RateSource};
pub use cells::{ValuedCell, ValuedStorage};
pub use choice::{Choice, Configuration, MemoryInstead, choices, frontier};
pub use demand::{CellHolds, Demand, Demanded, Holds};
pub use five_minutes::{DEPTH, RANGE_MAX, RandomReads, break_even_s, random_reads};
pub use knee::{BufferPoint, Knee, KneeLacks, KneePlace, MEMORIES_MIN, MemoryStep, knee};
pub use load::LoadPoint;
pub use money::{Bill, PER, per_thousand};
pub use results::{Results, ValueError};

/// What stores are worth at prices.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Value {
    /// The prices.
    pub prices: Prices,
    /// The results.
    pub results: Vec<ResultOrigin>,
    /// The workload and its rows.
    pub workload: String,
    /// What counted transactions are called in the plural.
    pub counted_name: String,
    /// Differences up to this share do not matter.
    pub margin: f64,
    /// How many times the memory that cells were found with is bought: they stand for
    /// machines with as many times the memory and data.
    pub scale: f64,
    /// The storages of the cells, the first as it is named first.
    pub storages: Vec<ValuedStorage>,
    /// All cells with a throughput.
    pub cells: Vec<ValuedCell>,
    /// The cell with the most throughput per money, as a place in `cells`.
    pub best: Option<usize>,
    /// Cells with as much throughput per money within the margin.
    pub as_good: Vec<usize>,
    /// What holds a wanted throughput, where one is wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demand: Option<Demanded>,
    /// What each cell's group says whose cells differ in memory, page size and storage alone.
    pub settings: Vec<Setting>,
    /// How often pages have to be read to belong in memory.
    pub break_even: Vec<BreakEven>,
    /// Prices of what is neither a storage of the cells nor a device.
    pub unused: Vec<String>,
    /// Prices of hosts that are not here.
    pub unused_hosts: Vec<String>,
}

/// Where results are, and how they came about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ResultOrigin {
    /// The directory as the user named it.
    pub name: String,
    /// How their figures came about.
    pub source: Source,
    /// How far their own answer can be trusted, where they have one.
    pub confidence: Option<ConfidenceLevel>,
    /// The hosts that they are of, where they were merged: of one class.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// What these are called beside those of other results: "hosts like n1".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts_in_words: Option<String>,
}

/// Cells that differ in memory, page size and storage alone.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Setting {
    /// What sets them apart from others, as after "with"; empty where there are no others.
    pub name: String,
    /// How much memory is worth its money, of each storage and page size.
    pub curves: Vec<BufferCurve>,
    /// What other storages are worth.
    pub choices: Vec<Choice>,
    /// The cheapest ways to more and more throughput.
    pub frontier: Vec<Configuration>,
}

/// Cells that differ in memory alone.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BufferCurve {
    /// The storage's name.
    pub storage: String,
    /// The page size.
    pub page_size: PageSize,
    /// The memories, in ascending order.
    pub memories: Vec<ByteCount>,
    /// The knee.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knee: Option<Knee>,
    /// Why nothing is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacks: Option<KneeLacks>,
}

impl Value {
    /// What the cells of `results` are worth at `prices`. `devices` are those whose names in
    /// the prices are not to be looked up. Of `scale` times the memory that they were found
    /// with, 1 for that memory, their throughput is taken to be the same: data grows as much.
    ///
    /// # Errors
    /// Without any price or throughput, and of results that are not of the same workload.
    pub fn of_results(
        results: &[Results<'_>],
        prices: Prices,
        devices: &[(String, Entry)],
        scale: f64,
        demand: Option<Demand>,
    ) -> Result<Self, ValueError> {
        if prices.is_empty() {
            return Err(ValueError::NoPrice);
        }
        if !(SCALE_MIN..=SCALE_MAX).contains(&scale) {
            return Err(ValueError::Scale { scale });
        }
        let (first, others) = results.split_first().ok_or(ValueError::NoResults)?;
        for other in others {
            if let Some(what) = difference(&first.findings.plan, &other.findings.plan) {
                return Err(ValueError::Different {
                    first: first.name.to_owned(),
                    second: other.name.to_owned(),
                    what,
                });
            }
        }
        let (storages, cells) = cells::valued(results, &prices, scale)?;
        let plan = &first.findings.plan;
        let margin = plan.margin;
        let best = (0..cells.len())
            .filter(|&place| cells[place].per_thousand.is_some())
            // The first of equal ones.
            .reduce(
                |best, place| match cells[place].per_thousand > cells[best].per_thousand {
                    true => place,
                    false => best,
                },
            );
        let rate = |place: usize| cells[place].per_thousand;
        let most = best.and_then(rate);
        let is_as_good = |&place: &usize| {
            let as_much = most.zip(rate(place));
            Some(place) != best && as_much.is_some_and(|(most, own)| own * (1.0 + margin) >= most)
        };
        let title = plan.workload_title();
        let data: Vec<String> = plan.data.iter().map(|of| of.of_workload(&title)).collect();
        let (break_even, unused) = break_even::all(results, &storages, &prices, devices, plan.seed);
        let is_here = |host: &String| results.iter().any(|of| of.has_host(host));
        let hosts = prices.hosts.iter().map(|(host, _)| host);
        let unused_hosts: Vec<String> = hosts.filter(|host| !is_here(host)).cloned().collect();
        if cells.iter().all(|cell| cell.cost.is_none()) {
            if prices.storages.is_empty() {
                return Err(ValueError::NoHost {
                    unknown: unused_hosts,
                    known: Results::hosts_of_classes(results),
                });
            }
            return Err(ValueError::NoCost {
                priced: prices.storages.into_iter().map(|(name, _)| name).collect(),
                known: storages.into_iter().map(|of| of.name).collect(),
            });
        }
        Ok(Self {
            results: results
                .iter()
                .map(|of| ResultOrigin {
                    name: of.name.to_owned(),
                    source: of.findings.source,
                    confidence: confidence(of.findings).map(|found| found.trust),
                    hosts: of.hosts().iter().map(|of| of.host.name.clone()).collect(),
                    hosts_in_words: of.hosts_in_words(results),
                })
                .collect(),
            workload: data.join("; "),
            counted_name: first.findings.counted_name.clone(),
            margin,
            scale,
            as_good: (0..cells.len()).filter(is_as_good).collect(),
            best,
            demand: demand.map(|demand| demand.of(&cells)),
            settings: settings(&cells, &prices, margin),
            break_even,
            unused,
            unused_hosts,
            prices,
            storages,
            cells,
        })
    }

    /// The setting of a cell.
    pub fn setting(&self, cell: &ValuedCell) -> Option<&Setting> {
        self.settings.iter().find(|of| of.name == cell.setting)
    }
}

/// In what two plans differ that are to be compared by money.
fn difference(one: &Plan, other: &Plan) -> Option<&'static str> {
    let differences = [
        (one.workload != other.workload, "workload"),
        (one.data != other.data, "rows"),
        (one.mix != other.mix, "mix of transactions"),
        (
            one.distribution != other.distribution,
            "distribution of keys",
        ),
        (one.isolation != other.isolation, "isolation level"),
    ];
    let mut found = differences.into_iter().filter(|(differs, _)| *differs);
    found.next().map(|(_, what)| what)
}

fn settings(cells: &[ValuedCell], prices: &Prices, margin: f64) -> Vec<Setting> {
    let mut names: Vec<&str> = Vec::new();
    for cell in cells {
        if !names.contains(&cell.setting.as_str()) {
            names.push(&cell.setting);
        }
    }
    let setting = |name: &str| {
        let own: Vec<&ValuedCell> = cells.iter().filter(|of| of.setting == name).collect();
        let configurations: Vec<Configuration> =
            own.iter().filter_map(|cell| cell.configuration()).collect();
        Setting {
            name: name.to_owned(),
            curves: curves(&own, prices),
            // Without a price of memory, more of it would look free.
            choices: match prices.memory {
                Some(_) => choices(&configurations, margin),
                None => Vec::new(),
            },
            frontier: frontier(&configurations).into_iter().cloned().collect(),
        }
    };
    names.into_iter().map(setting).collect()
}

fn curves(cells: &[&ValuedCell], prices: &Prices) -> Vec<BufferCurve> {
    let mut kinds: Vec<(&str, PageSize)> = Vec::new();
    // What another disk would change is one point, and no curve.
    let cells = cells.iter().filter(|cell| !cell.elsewhere);
    for cell in cells.clone() {
        let kind = (cell.storage.as_str(), cell.page_size);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let curve = |(storage, page_size): (&str, PageSize)| {
        let own = cells
            .clone()
            .filter(|cell| cell.storage == storage && cell.page_size == page_size);
        let points: Vec<BufferPoint> = own
            .clone()
            .filter_map(|cell| {
                Some(BufferPoint {
                    memory: cell.memory,
                    throughput: cell.throughput.estimate,
                    cost: cell.cost?,
                })
            })
            .collect();
        let mut memories: Vec<ByteCount> = own.clone().map(|cell| cell.memory).collect();
        memories.sort_unstable();
        memories.dedup();
        let found = match prices.memory {
            None => Err(KneeLacks::Price),
            // Beside storages with a price, one without has no costs.
            Some(_) if own.clone().any(|cell| cell.cost.is_none()) => Err(KneeLacks::StoragePrice),
            Some(_) => knee(&points),
        };
        BufferCurve {
            storage: storage.to_owned(),
            page_size,
            memories,
            lacks: found.as_ref().err().copied(),
            knee: found.ok(),
        }
    };
    kinds.into_iter().map(curve).collect()
}

#[cfg(test)]
mod tests;
