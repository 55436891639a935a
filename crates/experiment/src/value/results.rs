//! Results that are valued together, and why they cannot be.

use crate::{
    findings::{Findings, HostSummary},
    prices::{Price, Prices},
};

/// A store's results, and where they are.
#[derive(Clone, Copy, Debug)]
pub struct Results<'a> {
    /// The directory as the user named it: what the storage under it is called.
    pub name: &'a str,
    /// What the store says; of one that was merged, what the hosts of a class say.
    pub findings: &'a Findings,
}

impl Results<'_> {
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
