//! How far the time of transactions follows what it is made from.

use std::collections::BTreeMap;

use crate::{
    error::PredictError,
    io::Purpose,
    system::{Slowness, System},
};

/// How far the time of transactions follows what processors take, reads, and what is
/// written: the change of its logarithm over that of the other's. 0 is not at all, 1 as
/// much. Together about 1, more or less where transactions wait for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sensitivity {
    /// What processors take for a transaction.
    pub processor: f64,
    /// How long a read takes.
    pub reads: f64,
    /// How long writing and flushing takes, log and pages.
    pub writes: f64,
}

/// How many times as long each takes. Chosen: enough to stand out from what transactions
/// differ by.
const LONGER: f64 = 1.5;

/// Transactions with the same times in all, at least, and in how many rounds: so that what
/// changes meanwhile, as a cache that fills, changes all alike.
const TRANSACTIONS: u64 = 1500;
const ROUNDS: u64 = 5;

/// What transactions with the same times gave: by their kind, how many there were and how
/// long they took; and the time in which none was under way.
#[derive(Default)]
struct Taken {
    kinds: BTreeMap<usize, (f64, f64)>,
    idle_ns: f64,
    transactions: f64,
}

impl System {
    /// Has the next transactions take longer of one thing after the other, in runs of
    /// `slice`, and takes that back.
    ///
    /// # Errors
    /// What [`Self::run`] refuses.
    pub fn sensitivity(&mut self, slice: u64) -> Result<Sensitivity, PredictError> {
        let (cpu, slowness) = self.times();
        let cpu_longer = cpu.times(LONGER);
        let mut reads_longer = slowness;
        reads_longer.0[Purpose::Read as usize] *= LONGER;
        // What is written in the background has the device's pace alone.
        let storage_longer = Slowness(slowness.0.map(|one| one * LONGER));
        let times = [
            (cpu, slowness),
            (cpu_longer, slowness),
            (cpu, reads_longer),
            (cpu, storage_longer),
        ];
        let mut taken: [Taken; 4] = Default::default();
        for round in 0..ROUNDS as usize {
            for place in 0..times.len() {
                let place = (place + round) % times.len();
                self.set_times(times[place].0, times[place].1);
                self.add_to(&mut taken[place], slice.max(1))?;
            }
        }
        self.set_times(cpu, slowness);
        let [usual, processor, reads, storage] = &taken;
        let reads = reads.follows(usual);
        Ok(Sensitivity {
            processor: processor.follows(usual),
            reads,
            writes: (storage.follows(usual) - reads).max(0.0),
        })
    }

    /// Executes a round's transactions.
    fn add_to(&mut self, taken: &mut Taken, slice: u64) -> Result<(), PredictError> {
        let clients = self.clients() as f64;
        for _ in 0..(TRANSACTIONS / ROUNDS).div_ceil(slice) {
            let mut at_work_ns = 0.0;
            let elapsed_ns = self.run(slice, &mut |done| {
                let (count, ns) = taken.kinds.entry(done.kind).or_default();
                *count += 1.0;
                *ns += done.elapsed_ns as f64;
                at_work_ns += done.elapsed_ns as f64;
                taken.transactions += 1.0;
            })?;
            taken.idle_ns += (elapsed_ns as f64 * clients - at_work_ns).max(0.0);
        }
        Ok(())
    }
}

impl Taken {
    /// How far their time follows what took longer for them than usual. Kinds of
    /// transactions weigh the same in both, whatever chance had in each.
    fn follows(&self, usual: &Self) -> f64 {
        let mut ns = [
            self.idle_ns / self.transactions,
            usual.idle_ns / usual.transactions,
        ];
        for (kind, (count, own_ns)) in &self.kinds {
            if let Some((usual_count, usual_ns)) = usual.kinds.get(kind) {
                let weight = (count + usual_count) / (self.transactions + usual.transactions);
                ns[0] += weight * own_ns / count;
                ns[1] += weight * usual_ns / usual_count;
            }
        }
        let [own_ns, usual_ns] = ns;
        let follows = (own_ns / usual_ns).ln() / LONGER.ln();
        match follows.is_finite() {
            true => follows.max(0.0),
            false => 0.0,
        }
    }
}
