//! What is to be measured: the cells, their order, and how long a run is.

use std::{fmt, time::Duration};

use octavo_units::{ByteCount, PageSize, Seed};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

/// An experiment, complete before its first run: the same plan always gives
/// the same cells in the same order with the same inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The database's short name.
    pub database: String,
    /// The version that is measured.
    pub database_version: String,
    /// How the database writes (SQLite: its journal mode).
    pub journal_mode: String,
    /// The workload's short name.
    pub workload: String,
    /// The workload's scale.
    pub warehouses: u32,
    /// Origin of everything random.
    pub seed: Seed,
    /// Page sizes, ascending; the reference is among them.
    pub page_sizes: Vec<PageSize>,
    /// What every other page size is compared with: the database's default.
    pub reference: PageSize,
    /// Buffer sizes, ascending.
    pub memories: Vec<ByteCount>,
    /// Sessions at the same time.
    pub clients: u32,
    /// Ratios within this share of 1 make no difference to the user.
    pub margin: f64,
}

/// One combination that is measured. Numbered by its place in
/// [`Plan::cells`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// The page size.
    pub page_size: PageSize,
    /// The buffer size.
    pub memory: ByteCount,
}

/// How long one run is. The same for every cell of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum RunLength {
    /// By the clock.
    Time {
        /// The warm-up lasts at least this long, and until as many pages were
        /// read as the buffer has frames.
        warm_up_min: Duration,
        /// … but not longer than this.
        warm_up_max: Duration,
        /// What is measured after it.
        measured: Duration,
    },
    /// By the number of transactions that each client finishes: no clock
    /// decides anything, so that with one client a run's counts replay.
    Transactions {
        /// Before measuring.
        warm_up: u64,
        /// Measured.
        measured: u64,
    },
}

impl fmt::Display for RunLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time { measured, .. } => write!(f, "{:.2} s", measured.as_secs_f64()),
            Self::Transactions { measured, .. } => write!(f, "{measured} transactions"),
        }
    }
}

impl Plan {
    /// All cells, by memory and then by page size.
    pub fn cells(&self) -> Vec<Cell> {
        self.memories
            .iter()
            .flat_map(|&memory| {
                self.page_sizes
                    .iter()
                    .map(move |&page_size| Cell { page_size, memory })
            })
            .collect()
    }

    /// The cells' numbers in the order in which round `round` (from 0) runs
    /// them, from the plan's seed: the memories are shuffled, and within each
    /// the page sizes. Page sizes are compared at one memory, so the runs that
    /// are compared stay close together in time.
    pub fn order(&self, round: u32) -> Vec<usize> {
        let mut generator = self.seed.derive("order", u64::from(round)).generator();
        let mut memories: Vec<usize> = (0..self.memories.len()).collect();
        memories.shuffle(&mut generator);
        let mut order = Vec::with_capacity(self.cells().len());
        for memory in memories {
            let first = memory * self.page_sizes.len();
            let mut cells: Vec<usize> = (first..first + self.page_sizes.len()).collect();
            cells.shuffle(&mut generator);
            order.extend(cells);
        }
        order
    }

    /// The seed of the transactions' inputs in a round. All cells of a round
    /// are given the same inputs, so that their ratio carries less noise.
    pub fn inputs_seed(&self, round: u32) -> Seed {
        self.seed.derive("inputs", u64::from(round))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn plan() -> Plan {
        Plan {
            database: "sqlite".into(),
            database_version: "3.50.0".into(),
            journal_mode: "wal".into(),
            workload: "tpcc".into(),
            warehouses: 1,
            seed: Seed::new(1),
            page_sizes: [4096, 8192, 65536]
                .map(|b| PageSize::new(b).unwrap())
                .to_vec(),
            reference: PageSize::new(4096).unwrap(),
            memories: vec![ByteCount::mib(2), ByteCount::mib(8)],
            clients: 1,
            margin: 0.03,
        }
    }

    #[test]
    fn every_round_runs_every_cell_once_in_its_own_order() {
        let plan = plan();
        let orders: Vec<_> = (0..20).map(|round| plan.order(round)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..6).collect::<Vec<_>>());
            let memory = |cell: &usize| plan.cells()[*cell].memory;
            assert!(
                order[..3]
                    .iter()
                    .all(|cell| memory(cell) == memory(&order[0]))
            );
        }
        assert_eq!(orders[3], plan.order(3));
        let distinct: std::collections::HashSet<_> = orders.iter().collect();
        assert!(
            distinct.len() > 15,
            "{} orders of 20 differ",
            distinct.len()
        );
    }
}
