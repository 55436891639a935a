//! Results that are valued together, and why they cannot be.

use crate::{
    findings::{Findings, HostFindings, HostSummary},
    lockstep::{CellOfHost, HOSTS_MIN},
    prices::{Price, Prices},
    statistics::Interval,
};

/// A store's results, and where they are.
#[derive(Clone, Copy, Debug)]
pub struct Results<'a> {
    /// The directory as the user named it: what the storage under it is called.
    pub name: &'a str,
    /// What the store says; of one that was merged, what the hosts of a class say.
    pub findings: &'a Findings,
}

/// Hosts of a class that are named. Chosen.
const HOSTS_NAMED: usize = 8;

impl Results<'_> {
    /// The hosts of each class, as what may be named: half a sentence.
    pub fn hosts_of_classes(all: &[Self]) -> String {
        let classes = all.iter().filter_map(|of| {
            let class = of.findings.fleet.as_ref()?.classes.first()?;
            let names = class.hosts.iter().map(|of| of.host.name.as_str());
            let mut named = names.take(HOSTS_NAMED).collect::<Vec<_>>().join(", ");
            if let Some(more @ 1..) = class.hosts.len().checked_sub(HOSTS_NAMED) {
                named += &format!(" and {more} more");
            }
            Some(format!("{named} ({})", class.class))
        });
        let classes: Vec<String> = classes.collect();
        match classes.is_empty() {
            true => {
                "these results are of no hosts that have names, so write the price alone".to_owned()
            }
            false => format!("name one of {}", classes.join("; or of ")),
        }
    }

    /// The hosts whose figures these are: of the first class.
    pub(super) fn hosts(&self) -> &[HostSummary] {
        let fleet = self.findings.fleet.as_ref();
        let class = fleet.and_then(|fleet| fleet.classes.first());
        class.map_or(&[], |class| &class.hosts)
    }

    /// Whether these are figures of a host with this name.
    pub fn has_host(&self, name: &str) -> bool {
        self.hosts().iter().any(|of| of.host.name == name)
    }

    /// What the throughput of a cell would be on one more host like these, of three hosts or more: Student's t
    /// over their logarithms, as [`CellOfHost::next`] has it for ratios. Of a cell that some hosts do not have
    /// it is that of the one which most have: those that are missing may be the ones that differ.
    pub(super) fn next_host(&self, group: usize, place: usize) -> Option<Interval> {
        let class = self.findings.fleet.as_ref()?.classes.first()?;
        let cells = &class.groups.get(group)?.cells;
        let own = known_hosts(cells.get(place)?);
        let most = cells.iter().max_by_key(|cell| known_hosts(cell))?;
        let cell = match known_hosts(most) > own {
            true => most,
            false => cells.get(place)?,
        };
        let logs = cell.by_host.iter().enumerate();
        let logs = logs.filter_map(|(host, of)| Some((host, of.throughput?.ln())));
        let of = CellOfHost {
            logs: logs.collect(),
        };
        let next = of.next(1).filter(|_| class.is_over_hosts);
        next.filter(|_| of.logs.len() >= HOSTS_MIN)
    }

    /// How many of its hosts a cell has figures of.
    pub(super) fn hosts_of(&self, group: usize, place: usize) -> usize {
        let fleet = self.findings.fleet.iter();
        let classes = fleet.flat_map(|fleet| fleet.classes.first());
        let cells = classes.filter_map(|class| class.groups.get(group)?.cells.get(place));
        cells.map(known_hosts).sum()
    }

    /// What its hosts are called among these results; `None` where it was not merged.
    pub(super) fn hosts_in_words(&self, all: &[Self]) -> Option<String> {
        let class = self.findings.fleet.as_ref()?.classes.first()?;
        let first = class.hosts.first()?;
        let is_other = |of: &&Self| !std::ptr::eq(of.findings, self.findings);
        let shared = all
            .iter()
            .filter(is_other)
            .any(|of| of.has_host(&first.host.name));
        let many = match class.hosts.as_slice() {
            [one] => format!("host {} alone", one.host.name),
            _ => format!("hosts like {}", first.host.name),
        };
        Some(match shared {
            true => format!("{many} ({})", class.class),
            false => many,
        })
    }

    /// The price of the machine, which is that of any of its hosts.
    ///
    /// # Errors
    /// [`ValueError::HostPrices`] where two of them have other ones.
    pub(super) fn machine_price(&self, prices: &Prices) -> Result<Option<f64>, ValueError> {
        let own = prices.hosts.iter().filter(|(host, _)| self.has_host(host));
        let own: Vec<&(String, Price)> = own.collect();
        let Some((first, price)) = own.first() else {
            return Ok(prices.machine.map(Price::get));
        };
        match own.iter().find(|(_, other)| other != price) {
            None => Ok(Some(price.get())),
            Some((other, _)) => Err(ValueError::HostPrices {
                first: first.clone(),
                second: other.clone(),
            }),
        }
    }
}

/// How many hosts a cell has figures of.
fn known_hosts(cell: &HostFindings) -> usize {
    let known = cell.by_host.iter().filter(|of| of.throughput.is_some());
    known.count()
}

/// Why stores have no value together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// Nothing was asked.
    #[error("there are no results")]
    NoResults,
    /// No cell has a throughput.
    #[error("{name} has no cell with a throughput: repeat the command that made it")]
    NoThroughput {
        /// Which results.
        name: String,
    },
    /// All cells had the throughput of a recording.
    #[error(
        "{name} has what was recorded at its pace, which has the same throughput everywhere: measure \
         without --pace"
    )]
    Paced {
        /// Which results.
        name: String,
    },
    /// The results are of different experiments.
    #[error(
        "{first} and {second} differ in {what}: throughput per money compares only the same \
         {what}"
    )]
    Different {
        /// Some results.
        first: String,
        /// Others.
        second: String,
        /// In what.
        what: &'static str,
    },
    /// Nothing has a price.
    #[error("nothing has a price")]
    NoPrice,
    /// Only storages have prices that are not in the results.
    #[error(
        "no cell has a price: no storage here is named {}; name {}, or give memory or the machine \
         a price",
        priced.join(" or "),
        known.join(" or ")
    )]
    NoCost {
        /// The storages with a price.
        priced: Vec<String>,
        /// The storages that there are.
        known: Vec<String>,
    },
    /// A scale that no machine can be of.
    #[error("times {scale} must be from {SCALE_MIN} to {SCALE_MAX}")]
    Scale {
        /// What was asked.
        scale: f64,
    },
    /// Only hosts have prices that are not in the results.
    #[error("no cell has a price: no host here is called {}; {known}", unknown.join(" or "))]
    NoHost {
        /// The hosts with a price.
        unknown: Vec<String>,
        /// [`Results::hosts_of_classes`].
        known: String,
    },
    /// Hosts of one class with other prices.
    #[error("{first} and {second} are hosts of one class and have two prices: give one of them")]
    HostPrices {
        /// A host.
        first: String,
        /// Another one.
        second: String,
    },
    /// A storage's price names none where there are several.
    #[error("a price of storage has no name: write NAME=PRICE, with NAME one of {}", known.join(", "))]
    Nameless {
        /// The storages that there are.
        known: Vec<String>,
    },
}

/// The smallest scale: between a small test and a large machine. Chosen.
pub(super) const SCALE_MIN: f64 = 1e-3;
/// The largest one. Chosen.
pub(super) const SCALE_MAX: f64 = 1e6;
