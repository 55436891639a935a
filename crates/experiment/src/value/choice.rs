//! More buffer or another storage: the cheapest way to a throughput.

use octavo_units::{ByteCount, PageSize};
use schemars::JsonSchema;
use serde::Serialize;

/// A machine that can be bought, and what it reaches.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Configuration {
    /// The storage's name.
    pub storage: String,
    /// The memory that may hold data.
    pub memory: ByteCount,
    /// The page size.
    pub page_size: PageSize,
    /// Counted transactions a minute.
    pub throughput: f64,
    /// Machine, memory and storage together.
    pub cost: f64,
}

/// What another storage is worth, and whether memory does the same for less.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Choice {
    /// What one begins with: of the cheapest configurations the fastest.
    pub from: Configuration,
    /// The other storage, with as little memory.
    pub storage: Configuration,
    /// What more memory on the first storage does instead.
    pub memory: MemoryInstead,
}

/// What more memory does instead of another storage.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "memory", rename_all = "snake_case")]
pub enum MemoryInstead {
    /// The cheapest memory that reaches as much.
    Reaches {
        /// With it.
        with: Configuration,
        /// Whether it costs less than the other storage.
        cheaper: bool,
    },
    /// No memory reaches as much; the one that reaches most.
    FallsShort {
        /// With it.
        with: Configuration,
    },
    /// There is no other memory on the first storage.
    Untried,
}

/// What each storage but the cheapest is worth, in the order in which they are named first.
/// Differences of throughput up to the share `margin` do not matter. Configurations without a
/// throughput and a cost that are finite and above 0 do not count.
pub fn choices(all: &[Configuration], margin: f64) -> Vec<Choice> {
    let known: Vec<&Configuration> = all.iter().filter(|of| is_known(of)).collect();
    let cheapest = |of: &dyn Fn(&Configuration) -> bool| {
        let candidates = known.iter().copied().filter(|one| of(one));
        candidates.min_by(|one, other| {
            let by_cost = one.cost.total_cmp(&other.cost);
            by_cost.then(other.throughput.total_cmp(&one.throughput))
        })
    };
    let Some(from) = cheapest(&|_| true) else {
        return Vec::new();
    };
    let mut storages: Vec<&str> = Vec::new();
    for one in &known {
        if one.storage != from.storage && !storages.contains(&one.storage.as_str()) {
            storages.push(&one.storage);
        }
    }
    let choice = |storage: &str| {
        let other = cheapest(&|one| one.storage == storage)?;
        let is_more = |one: &Configuration| one.storage == from.storage && one.memory > from.memory;
        let wanted = other.throughput * (1.0 - margin);
        let memory = match cheapest(&|one| is_more(one) && one.throughput >= wanted) {
            Some(with) => MemoryInstead::Reaches {
                cheaper: with.cost < other.cost,
                with: with.clone(),
            },
            None => {
                let more = known.iter().copied().filter(|one| is_more(one));
                match more.max_by(|one, other| one.throughput.total_cmp(&other.throughput)) {
                    Some(with) => MemoryInstead::FallsShort { with: with.clone() },
                    None => MemoryInstead::Untried,
                }
            }
        };
        Some(Choice {
            from: from.clone(),
            storage: other.clone(),
            memory,
        })
    };
    storages.into_iter().filter_map(choice).collect()
}

/// The configurations that nothing beats for its money: from the cheapest on, each costs more
/// and reaches more than the one before. The cheapest way to a throughput is the first that
/// reaches it.
pub fn frontier(all: &[Configuration]) -> Vec<&Configuration> {
    let mut known: Vec<&Configuration> = all.iter().filter(|of| is_known(of)).collect();
    known.sort_by(|one, other| {
        let by_cost = one.cost.total_cmp(&other.cost);
        by_cost.then(other.throughput.total_cmp(&one.throughput))
    });
    let mut most = 0.0;
    known.retain(|one| {
        let is_more = one.throughput > most;
        most = one.throughput.max(most);
        is_more
    });
    known
}

fn is_known(of: &Configuration) -> bool {
    let is_positive = |value: f64| value.is_finite() && value > 0.0;
    is_positive(of.throughput) && is_positive(of.cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(storage: &str, gib: u64, throughput: f64, cost: f64) -> Configuration {
        Configuration {
            storage: storage.into(),
            memory: ByteCount::mib(gib << 10),
            page_size: PageSize::kib(8),
            throughput,
            cost,
        }
    }

    /// Memory for 10 a GiB, a disk for 100, an SSD for 600.
    fn both() -> Vec<Configuration> {
        vec![
            one("ssd", 1, 2000.0, 610.0),
            one("disk", 1, 1000.0, 110.0),
            one("disk", 2, 1100.0, 120.0),
            one("disk", 5, 1980.0, 150.0),
            one("disk", 9, 2500.0, 190.0),
            one("ssd", 5, 4000.0, 650.0),
        ]
    }

    #[test]
    fn memory_is_preferred_where_it_reaches_as_much_for_less() {
        let found = choices(&both(), 0.03);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].from, one("disk", 1, 1000.0, 110.0));
        assert_eq!(found[0].storage, one("ssd", 1, 2000.0, 610.0));
        // 1980 is within 3% of 2000.
        let reaches = MemoryInstead::Reaches {
            with: one("disk", 5, 1980.0, 150.0),
            cheaper: true,
        };
        assert_eq!(found[0].memory, reaches);
        // Without any margin it takes 9 GiB.
        let MemoryInstead::Reaches { with, .. } = &choices(&both(), 0.0)[0].memory else {
            panic!("9 GiB reach it");
        };
        assert_eq!(with.memory, ByteCount::mib(9 << 10));
    }

    #[test]
    fn memory_that_falls_short_or_costs_more_is_told() {
        let mut all = both();
        all[0].throughput = 9000.0;
        let found = choices(&all, 0.03);
        let short = MemoryInstead::FallsShort {
            with: one("disk", 9, 2500.0, 190.0),
        };
        assert_eq!(found[0].memory, short);
        let mut all = both();
        all[0].cost = 140.0;
        let found = choices(&all, 0.03);
        assert!(matches!(
            found[0].memory,
            MemoryInstead::Reaches { cheaper: false, .. }
        ));
        let found = choices(&both()[..2], 0.03);
        assert_eq!(found[0].memory, MemoryInstead::Untried);
        assert!(choices(&both()[1..4], 0.03).is_empty());
        assert!(choices(&[], 0.03).is_empty());
        assert!(choices(&[one("disk", 1, f64::NAN, 1.0)], 0.03).is_empty());
    }

    #[test]
    fn the_frontier_leaves_out_what_is_beaten() {
        let all = both();
        let costs: Vec<f64> = frontier(&all).iter().map(|of| of.cost).collect();
        // The SSD with 1 GiB is beaten by the disk with 9.
        assert_eq!(costs, [110.0, 120.0, 150.0, 190.0, 650.0]);
        let odd = [one("a", 1, 1.0, 0.0), one("a", 1, f64::INFINITY, 1.0)];
        assert!(frontier(&odd).is_empty());
    }
}
