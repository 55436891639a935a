//! The five-minute rule of every storage and page size that has prices.

use octavo_device::{
    Device,
    catalog::Entry,
    profile::{Access, Profile},
    profiled::Profiled,
    request::{Mix, Pattern},
};
use octavo_storage::entry;
use octavo_units::{PageSize, Seed};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    cells::ValuedStorage,
    five_minutes::{DEPTH, RANGE_MAX, RandomReads, break_even_s, random_reads},
    results::Results,
};
use crate::{
    causes::with_causes,
    plan::Storage,
    prices::{Prices, plain},
    record::Source,
};

/// How often pages of a storage have to be read to belong in memory.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BreakEven {
    /// The storage's name.
    pub storage: String,
    /// What all of it costs.
    pub price: f64,
    /// Whether its rate was measured, or is that of a model.
    pub source: Source,
    /// Each page size of the plans that it reads.
    pub pages: Vec<BreakEvenPage>,
    /// Why some page size is not among these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacks: Option<BreakEvenLacks>,
}

/// How often a page of one size has to be read to belong in memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BreakEvenPage {
    /// What the storage does of random reads of this size.
    #[serde(flatten)]
    pub reads: RandomReads,
    /// Where that rate is from.
    pub rate: RateSource,
    /// The break-even interval, in seconds: one that is read more often belongs in memory.
    pub interval_s: f64,
}

/// Where a rate of random reads is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateSource {
    /// Reads of this size were calibrated, with as many in flight.
    Calibrated,
    /// It lies between what was calibrated, or beyond: no reads of this size were, or none
    /// with as many in flight.
    Interpolated,
    /// It is that of the device's model.
    Model,
}

/// Why nothing is known of a storage's pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "lacks", rename_all = "snake_case")]
#[non_exhaustive]
pub enum BreakEvenLacks {
    /// It was not calibrated.
    Calibration,
    /// It was calibrated through the page cache, or is memory.
    Buffered,
    /// The device does not read pages of some sizes, or its description cannot be read.
    Device {
        /// Why.
        reason: String,
    },
}

/// The rule for each storage with a price, and the names of prices that are no storage's.
/// Nothing without a price of memory.
pub(super) fn all(
    results: &[Results<'_>],
    storages: &[ValuedStorage],
    prices: &Prices,
    devices: &[(String, Entry)],
    seed: Seed,
) -> (Vec<BreakEven>, Vec<String>) {
    let mut sizes: Vec<PageSize> = Vec::new();
    for of in results {
        sizes.extend(&of.findings.plan.page_sizes);
    }
    sizes.sort_unstable();
    sizes.dedup();
    let mut found = Vec::new();
    let mut unused = Vec::new();
    let rule = |storage: &str, price: f64, asked: Result<RequestedStorage<'_>, BreakEvenLacks>| {
        let memory = prices.memory?.get();
        Some(of_storage(storage, price, memory, &sizes, asked, seed))
    };
    for storage in storages {
        if let Some(price) = storage.price {
            let asked = of_cells(storage, results, devices);
            found.extend(rule(&storage.name, price, asked));
        }
    }
    for (name, price) in &prices.storages {
        let own = plain(name);
        let is_nameless = own.is_empty() || own == ".";
        if is_nameless || storages.iter().any(|of| plain(&of.name) == own) {
            continue;
        }
        match named(own, devices) {
            Ok(entry) => {
                let asked = RequestedStorage::Entry(Box::new(entry));
                found.extend(rule(own, price.get(), Ok(asked)));
            }
            Err(_) => unused.push(name.clone()),
        }
    }
    (found, unused)
}

/// Storage that is asked.
enum RequestedStorage<'a> {
    Entry(Box<Entry>),
    Profile(&'a Profile),
}

impl RequestedStorage<'_> {
    fn open(&self, seed: Seed) -> Result<Box<dyn Device + Send>, BreakEvenLacks> {
        Ok(match self {
            Self::Entry(entry) => entry.open(seed),
            Self::Profile(profile) => {
                let device = Profiled::new(profile, None, seed);
                Box::new(device.map_err(|error| BreakEvenLacks::Device {
                    reason: with_causes(&error),
                })?)
            }
        })
    }

    /// What it does of random reads of this size, and where that is from: what was calibrated
    /// is not simulated again.
    fn reads(
        &self,
        size: PageSize,
        seed: Seed,
    ) -> Result<(RandomReads, RateSource), BreakEvenLacks> {
        // At rest: no size profits from what was read before.
        let mut device = self.open(seed)?;
        let depth = DEPTH.min(device.geometry().queue.get());
        let source = match self {
            Self::Entry(_) => RateSource::Model,
            Self::Profile(profile) => {
                let point = profile.point(Mix::READ, Pattern::Random, size.get(), depth);
                if let Some(point) = point.filter(|of| of.spec.range <= RANGE_MAX) {
                    let reads = RandomReads {
                        page_size: size,
                        per_s: point.iops.get(),
                        depth,
                        range: point.spec.range,
                    };
                    return Ok((reads, RateSource::Calibrated));
                }
                RateSource::Interpolated
            }
        };
        let reads = random_reads(&mut *device, size, seed);
        reads
            .map(|reads| (reads, source))
            .map_err(|error| BreakEvenLacks::Device {
                reason: with_causes(&error),
            })
    }
}

fn named(name: &str, devices: &[(String, Entry)]) -> Result<Entry, BreakEvenLacks> {
    match devices.iter().find(|(known, _)| known == name) {
        Some((_, entry)) => Ok(entry.clone()),
        None => entry::named(name).map_err(|error| BreakEvenLacks::Device {
            reason: with_causes(&error),
        }),
    }
}

/// What a storage of the cells is asked by: its device, or the profile of the results whose
/// first storage it is, which is the one that is calibrated.
fn of_cells<'a>(
    storage: &ValuedStorage,
    results: &[Results<'a>],
    devices: &[(String, Entry)],
) -> Result<RequestedStorage<'a>, BreakEvenLacks> {
    if let Some(device) = &storage.device {
        return named(device, devices).map(|entry| RequestedStorage::Entry(Box::new(entry)));
    }
    let of = results[storage.results];
    let first = match of.findings.plan.storages.first() {
        Some(Storage::Own) => plain(of.name).to_owned(),
        Some(first) => plain(&first.to_string()).to_owned(),
        None => String::new(),
    };
    let profile = of.findings.calibration.as_ref();
    let profile = profile.filter(|_| first == storage.name);
    match profile.ok_or(BreakEvenLacks::Calibration)? {
        cached if cached.access != Access::Direct => Err(BreakEvenLacks::Buffered),
        profile => Ok(RequestedStorage::Profile(profile)),
    }
}

fn of_storage(
    storage: &str,
    price: f64,
    memory: f64,
    sizes: &[PageSize],
    asked: Result<RequestedStorage<'_>, BreakEvenLacks>,
    seed: Seed,
) -> BreakEven {
    let mut found = BreakEven {
        storage: storage.to_owned(),
        price,
        source: match &asked {
            Ok(RequestedStorage::Profile(_)) => Source::Measured,
            _ => Source::Predicted,
        },
        pages: Vec::new(),
        lacks: None,
    };
    let asked = match asked {
        Ok(asked) => asked,
        Err(lacks) => {
            found.lacks = Some(lacks);
            return found;
        }
    };
    for &size in sizes {
        match asked.reads(size, seed) {
            Err(lacks) => found.lacks = Some(lacks),
            Ok((reads, rate)) => {
                let interval = break_even_s(size.get(), reads.per_s, price, memory);
                let page = |interval_s| BreakEvenPage {
                    reads,
                    rate,
                    interval_s,
                };
                found.pages.extend(interval.map(page));
            }
        }
    }
    found
}
