//! The keys of each section, apart from those that registries describe.

use std::{collections::BTreeMap, ops::Range, time::Duration};

use octavo_database::Isolation;
use octavo_driver::ClientSteps;
use octavo_storage::file_system::FileSystem;
use octavo_units::{ByteCount, PageSize};
use octavo_workload::shape::Shape;
use serde::Deserialize;

use super::value::{
    Clients, Count, DeferredValue, List, Paced, Sampled, Share, SpannedValue, Whole,
};
use crate::plan::{Design, Storage};

/// The version of the format that this reads.
pub const FORMAT: u64 = 1;

/// What stands before all sections.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct TopLevelKeys {
    pub(super) format: Option<SpannedValue<Whole<0, { u64::MAX }>>>,
    pub(super) name: Option<SpannedValue<String>>,
}

/// `[experiment]`: how it is compared.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Experiment {
    pub(super) seed: Option<SpannedValue<Whole<0, { u64::MAX }>>>,
    pub(super) margin: Option<SpannedValue<Share>>,
    pub(super) design: Option<SpannedValue<Design>>,
    pub(super) budget: Option<SpannedValue<Duration>>,
    pub(super) passes: Option<SpannedValue<Count<1_000_000>>>,
    pub(super) compare: Option<SpannedValue<String>>,
    pub(super) reference: Option<SpannedValue<DeferredValue>>,
    pub(super) copies: Option<SpannedValue<Count<100>>>,
}

/// `[run]`: how long slices and warm-ups are.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RunKeys {
    pub(super) transactions: Option<SpannedValue<Count<1_000_000>>>,
    pub(super) warm_up: Option<SpannedValue<Whole<0, 1_000_000_000>>>,
}

/// How many operations a transaction of tables of keys and values has.
pub(super) type Operations = Count<{ Shape::OPERATIONS_MAX as u64 }>;

/// `[workload]`: what is run, beside the parameters of its rows.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct WorkloadKeys {
    pub(super) name: Option<SpannedValue<String>>,
    pub(super) mix: Option<SpannedValue<String>>,
    pub(super) distribution: Option<SpannedValue<String>>,
    /// A file with tables of keys and values.
    pub(super) shape: Option<SpannedValue<String>>,
    /// Of a transaction, where the plan has such tables itself.
    pub(super) operations: Option<SpannedValue<Operations>>,
    /// The user's own database, in place of a name.
    pub(super) copy_of: Option<SpannedValue<String>>,
    /// Which part of its rows.
    pub(super) sample: Option<SpannedValue<Sampled>>,
    /// Bytes a second.
    pub(super) copy_rate: Option<SpannedValue<ByteCount>>,
    pub(super) script: List<String>,
    pub(super) recording: List<String>,
    /// At which recorded transactions are sent.
    pub(super) pace: Option<SpannedValue<Paced>>,
    /// Whether the server's digests are to run.
    pub(super) digests: Option<SpannedValue<bool>>,
    /// Variables of the scripts: `NAME=VALUE`.
    pub(super) define: List<String>,
}

/// The keys of `[workload]` whose values are lists, beside those of rows.
pub(super) const WORKLOAD_LISTS: [&str; 3] = ["script", "recording", "define"];

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
    pub(super) file_system: List<Option<FileSystem>>,
    pub(super) isolation: Option<SpannedValue<Isolation>>,
}

/// `[clients]`: clients that begin step by step.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ClientKeys {
    pub(super) ramp: Option<SpannedValue<ClientSteps>>,
    pub(super) step: Option<SpannedValue<Duration>>,
}

/// The keys of `[cells]` whose values are lists.
pub(super) const LISTS: [&str; 7] = [
    "database",
    "page-size",
    "memory",
    "clients",
    "cpus",
    "storage",
    "file-system",
];

/// Where the value of each section and key is, in bytes.
pub(super) type Places = BTreeMap<String, Range<usize>>;
