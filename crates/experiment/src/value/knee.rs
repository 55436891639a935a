//! The knee of the buffer curve: how much memory is worth its money.
//!
//! Throughput per money is highest where the next step of memory gives less throughput for
//! its own money than all that was bought before it gives for all of its money: a step whose
//! marginal rate is above the average raises the average, and one below it lowers it.

use octavo_units::ByteCount;
use schemars::JsonSchema;
use serde::Serialize;

use super::money::per_thousand;

/// Memories that a knee needs at least: two steps, of which one can pay and the other not.
pub const MEMORIES_MIN: usize = 3;

/// What an amount of memory reaches, and what everything costs with it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BufferPoint {
    /// The memory that may hold data.
    pub memory: ByteCount,
    /// Counted transactions a minute.
    pub throughput: f64,
    /// Machine, memory and storage together.
    pub cost: f64,
}

/// How much memory is worth its money.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Knee {
    /// The memory with the highest throughput per money.
    pub memory: ByteCount,
    /// Counted transactions a minute per 1000 of the currency there.
    pub per_thousand: f64,
    /// Where it is among the memories.
    pub place: KneePlace,
    /// What each step of memory gives, in ascending order.
    pub steps: Vec<MemoryStep>,
}

/// Where a knee is among the memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KneePlace {
    /// No step pays: with less memory it may be higher still.
    Smallest,
    /// Less and more memory are both worth less.
    Inside,
    /// More memory may pay still.
    Largest,
}

/// From one memory to the next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MemoryStep {
    /// From this memory.
    pub from: ByteCount,
    /// To this.
    pub to: ByteCount,
    /// What it costs.
    pub cost: f64,
    /// What it gains, in counted transactions a minute; negative where it loses.
    pub gain: f64,
    /// The same per 1000 of the currency.
    pub per_thousand: f64,
    /// Whether that is at least as much as everything before gives for its money.
    pub pays: bool,
}

/// Why nothing is known of a knee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, thiserror::Error, JsonSchema)]
#[serde(tag = "lacks", rename_all = "snake_case")]
#[non_exhaustive]
pub enum KneeLacks {
    /// Too few memories.
    #[error("a knee needs at least {MEMORIES_MIN} memories, and there are {found}")]
    Memories {
        /// How many there are.
        found: usize,
    },
    /// The storage has no price, while another one has.
    #[error("the storage has no price")]
    StoragePrice,
    /// More memory does not cost more: memory has no price.
    #[error("memory has no price")]
    Price,
}

/// The knee of a buffer curve whose points differ in nothing but memory, in whatever order.
/// Of equal memories the one with the most throughput counts; points without a throughput
/// and a cost that are finite do not.
///
/// # Errors
/// Fewer than three memories, or memory that costs nothing.
pub fn knee(points: &[BufferPoint]) -> Result<Knee, KneeLacks> {
    let is_known = |point: &&BufferPoint| {
        per_thousand(point.throughput, point.cost).is_some_and(|of| of > 0.0)
    };
    let mut points: Vec<BufferPoint> = points.iter().filter(is_known).copied().collect();
    points.sort_by(|one, other| {
        let by_memory = one.memory.cmp(&other.memory);
        by_memory.then(other.throughput.total_cmp(&one.throughput))
    });
    points.dedup_by_key(|point| point.memory);
    if points.len() < MEMORIES_MIN {
        return Err(KneeLacks::Memories {
            found: points.len(),
        });
    }
    let mut steps = Vec::with_capacity(points.len() - 1);
    for pair in points.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let cost = to.cost - from.cost;
        if cost <= 0.0 {
            return Err(KneeLacks::Price);
        }
        let gain = to.throughput - from.throughput;
        steps.push(MemoryStep {
            from: from.memory,
            to: to.memory,
            cost,
            gain,
            per_thousand: gain / cost * super::money::PER,
            // gain / cost >= throughput / cost, without dividing by small differences.
            pays: gain * from.cost >= from.throughput * cost,
        });
    }
    let rate = |point: &BufferPoint| point.throughput / point.cost;
    // The first of equal ones, which is the cheapest.
    let best = (1..points.len()).fold(0, |best, place| {
        match rate(&points[place]) > rate(&points[best]) {
            true => place,
            false => best,
        }
    });
    Ok(Knee {
        memory: points[best].memory,
        per_thousand: rate(&points[best]) * super::money::PER,
        place: match best {
            0 => KneePlace::Smallest,
            last if last == points.len() - 1 => KneePlace::Largest,
            _ => KneePlace::Inside,
        },
        steps,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(of: &[(u64, f64, f64)]) -> Vec<BufferPoint> {
        of.iter()
            .map(|&(gib, throughput, cost)| BufferPoint {
                memory: ByteCount::mib(gib << 10),
                throughput,
                cost,
            })
            .collect()
    }

    /// A machine for 100, memory for 10 a GiB. Per 1000: 1000 / 110 = 9091, 2000 / 120 =
    /// 16,667, 2800 / 140 = 20,000, 3000 / 180 = 16,667.
    const CURVE: [(u64, f64, f64); 4] = [
        (1, 1000.0, 110.0),
        (2, 2000.0, 120.0),
        (4, 2800.0, 140.0),
        (8, 3000.0, 180.0),
    ];

    #[test]
    fn the_knee_is_where_throughput_per_money_is_highest() {
        let mut shuffled = points(&CURVE);
        shuffled.rotate_left(2);
        let found = knee(&shuffled).unwrap();
        assert_eq!(found.memory, ByteCount::mib(4 << 10));
        assert!((found.per_thousand - 20_000.0).abs() < 1e-9);
        assert_eq!(found.place, KneePlace::Inside);
        // Marginal: 1000 for 10, 800 for 20, 200 for 40, against averages of 9091, 16,667
        // and 20,000.
        let marginal: Vec<f64> = found.steps.iter().map(|step| step.per_thousand).collect();
        assert_eq!(marginal, [100_000.0, 40_000.0, 5000.0]);
        let pays: Vec<bool> = found.steps.iter().map(|step| step.pays).collect();
        assert_eq!(pays, [true, true, false]);
    }

    #[test]
    fn a_knee_at_an_end_is_told() {
        let found = knee(&points(&CURVE[..3])).unwrap();
        assert_eq!(found.place, KneePlace::Largest);
        let flat = points(&[(1, 1000.0, 110.0), (2, 1000.0, 120.0), (4, 990.0, 140.0)]);
        let found = knee(&flat).unwrap();
        assert_eq!(found.place, KneePlace::Smallest);
        assert_eq!(found.memory, ByteCount::mib(1 << 10));
        assert!(found.steps.iter().all(|step| !step.pays));
        assert_eq!(found.steps[1].gain, -10.0);
        // Without a machine's price twice the memory has to give twice the throughput, which
        // is as much for the money: the smaller one then.
        let linear = points(&[(1, 10.0, 1.0), (2, 20.0, 2.0), (4, 40.0, 4.0)]);
        let found = knee(&linear).unwrap();
        assert_eq!(found.place, KneePlace::Smallest);
        assert!(found.steps.iter().all(|step| step.pays));
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(
            knee(&points(&CURVE[..2])),
            Err(KneeLacks::Memories { found: 2 })
        );
        assert_eq!(knee(&[]), Err(KneeLacks::Memories { found: 0 }));
        let free = points(&[(1, 10.0, 100.0), (2, 20.0, 100.0), (4, 40.0, 100.0)]);
        assert_eq!(knee(&free), Err(KneeLacks::Price));
        // Of equal memories one counts, and unknown figures are none.
        let mut odd = points(&[(1, 10.0, 100.0), (1, 20.0, 100.0), (2, 20.0, 200.0)]);
        odd.extend(points(&[(4, f64::NAN, 400.0), (8, 1.0, f64::INFINITY)]));
        assert_eq!(knee(&odd), Err(KneeLacks::Memories { found: 2 }));
    }
}
