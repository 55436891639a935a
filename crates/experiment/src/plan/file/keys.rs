//! The keys of each section, apart from those that registries describe.

use std::{collections::BTreeMap, ops::Range, time::Duration};

use octavo_database::Isolation;
use octavo_driver::ClientSteps;
use octavo_units::{ByteCount, PageSize};
use serde::Deserialize;

use super::value::{Clients, Count, DeferredValue, Entry, List, Share, Whole};
use crate::plan::{Design, Storage};

/// The version of the format that this reads.
pub const FORMAT: u64 = 1;

/// What stands before all sections.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TopLevelKeys {
    pub(super) format: Option<Entry<Whole<0, { u64::MAX }>>>,
    pub(super) name: Option<Entry<String>>,
}

/// `[experiment]`: how it is compared.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Experiment {
    pub(super) seed: Option<Entry<Whole<0, { u64::MAX }>>>,
    pub(super) margin: Option<Entry<Share>>,
    pub(super) design: Option<Entry<Design>>,
    pub(super) budget: Option<Entry<Duration>>,
    pub(super) passes: Option<Entry<Count<1_000_000>>>,
    pub(super) compare: Option<Entry<String>>,
    pub(super) reference: Option<Entry<DeferredValue>>,
    pub(super) copies: Option<Entry<Count<100>>>,
}

/// `[run]`: how long slices and warm-ups are.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RunKeys {
    pub(super) transactions: Option<Entry<Count<1_000_000>>>,
    pub(super) warm_up: Option<Entry<Whole<0, 1_000_000_000>>>,
}

/// `[workload]`: what is run, beside the parameters of its rows.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct WorkloadKeys {
    pub(super) name: Option<Entry<String>>,
    pub(super) mix: Option<Entry<String>>,
    pub(super) distribution: Option<Entry<String>>,
}

/// `[cells]`: what varies, beside the options of databases. A list that the file
/// does not have is empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Cells {
    pub(super) database: List<String>,
    pub(super) page_size: List<PageSize>,
    pub(super) memory: List<ByteCount>,
    pub(super) clients: List<Clients>,
    pub(super) cpus: List<Option<u32>>,
    pub(super) storage: List<Storage>,
    pub(super) isolation: Option<Entry<Isolation>>,
}

/// `[clients]`: clients that begin step by step.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ClientKeys {
    pub(super) ramp: Option<Entry<ClientSteps>>,
    pub(super) step: Option<Entry<Duration>>,
}

/// The keys of `[cells]` whose values are lists.
pub(super) const LISTS: [&str; 6] = [
    "database",
    "page-size",
    "memory",
    "clients",
    "cpus",
    "storage",
];

/// Where the value of each section and key is, in bytes.
pub(super) type Places = BTreeMap<String, Range<usize>>;
