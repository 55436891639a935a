//! What was chosen before anything was measured, and what it was chosen by.

use octavo_units::{ByteCount, PageSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ReadTime;
use crate::{
    plan::{MixedSizes, Plan},
    store::{Store, StoreError},
};

/// Where these are in a store, and by which name.
const TOPIC: &str = "own sizes";
const NAME: &str = "chosen";

/// Page sizes of tables and indexes that are predicted to read least.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChosenSizes {
    /// What random reads take on the storage.
    pub read_times: Vec<ReadTime>,
    /// Memory for pages.
    pub room: ByteCount,
    /// Transactions whose references were counted.
    pub transactions: u64,
    /// Whether these are too few to fill so much memory: more is predicted to be missed than in the long run.
    #[serde(default)]
    pub are_few: bool,
    /// What reads take with each single page size.
    pub single: Vec<SingleSize>,
    /// The single size that is predicted to be the best.
    pub best_single: PageSize,
    /// What reads of a transaction take with the chosen sizes, in microseconds.
    pub reads_us: f64,
    /// The chosen sizes, where any table or index has one of its own.
    pub mixed: Option<MixedSizes>,
    /// What each table and index has, in the order of the workload.
    pub trees: Vec<ChosenTree>,
}

/// What a single page size is predicted to do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SingleSize {
    /// The page size.
    pub page_size: PageSize,
    /// Microseconds of a transaction's reads.
    pub reads_us: f64,
    /// Pages that a transaction misses.
    pub misses: f64,
}

/// What is predicted of one table or index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChosenTree {
    /// What the database calls it.
    pub name: String,
    /// About how many bytes it has after loading.
    #[serde(rename = "size_about")]
    pub size: ByteCount,
    /// The chosen page size.
    pub page_size: PageSize,
    /// Pages that a transaction misses with the chosen sizes.
    pub misses: f64,
    /// Reads of one page for these.
    pub reads: f64,
    /// Reads of several pages that follow each other.
    pub reads_ahead: f64,
    /// Microseconds that all these reads take.
    pub reads_us: f64,
    /// Bytes of memory that it holds then.
    pub held: ByteCount,
    /// Pages that a transaction misses with each single size, in the order of
    /// [`ChosenSizes::single`].
    pub misses_single: Vec<f64>,
    /// Reads of one page for these.
    pub reads_single: Vec<f64>,
    /// Reads of several pages that follow each other.
    pub reads_ahead_single: Vec<f64>,
    /// Microseconds that their reads take.
    pub reads_us_single: Vec<f64>,
}

impl ChosenSizes {
    /// Has a plan measure them, and compare with the best single size.
    pub fn add_to(&self, plan: &mut Plan) {
        plan.mixed = self.mixed.clone().into_iter().collect();
    }

    /// Whether a plan has them.
    pub fn is_of(&self, plan: &Plan) -> bool {
        self.mixed.iter().eq(&plan.mixed)
    }

    /// How much less of the time of reads they are predicted to take than with one size for all; `None` for
    /// one that was not in question.
    pub fn saves_over(&self, single: PageSize) -> Option<f64> {
        let mut sizes = self.single.iter();
        let single = sizes.find(|of| of.page_size == single)?;
        (single.reads_us > 0.0).then(|| 1.0 - self.reads_us / single.reads_us)
    }

    /// What a store has of them.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something else.
    pub fn of_store(store: &Store) -> Result<Option<Self>, StoreError> {
        let facts = store.facts(TOPIC)?;
        let mut facts = facts.into_iter().filter(|(name, _)| name == NAME);
        let text = facts.next().map(|(_, value)| value);
        let chosen = text.map(|text| serde_json::from_str(&text)).transpose();
        chosen.map_err(|error| store.damaged(TOPIC, error))
    }

    /// Refuses a fact that is to say them and cannot be read; others are not looked at.
    pub(crate) fn check_fact(
        topic: &str,
        name: &str,
        value: &str,
    ) -> Result<(), serde_json::Error> {
        match (topic, name) {
            (TOPIC, NAME) => serde_json::from_str::<Self>(value).map(drop),
            _ => Ok(()),
        }
    }

    /// Keeps them in a store.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn keep(&self, store: &mut Store) -> Result<(), StoreError> {
        let text = serde_json::to_string(self).map_err(|error| store.damaged(TOPIC, error))?;
        store.replace_facts(TOPIC, &[(NAME.to_owned(), text)])
    }
}
