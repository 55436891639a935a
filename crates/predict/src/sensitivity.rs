//! How far the time of transactions follows what it is made from.

use std::collections::BTreeMap;

use crate::{
    error::PredictError,
    io::Purpose,
    system::{Done, System},
    waits::Wait,
};

/// How far the time of transactions follows what processors take, reads, and what is
/// written: the change of its logarithm over that of the other's. 0 is not at all, 1 as
/// much; together 1.
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
const TRANSACTIONS: u64 = 4000;
const ROUNDS: u64 = 5;

/// From this one on, writing takes longer in the runs that are compared.
const WRITES_LONGER: usize = 3;

/// What transactions with the same times gave: by their kind, how many there were and how
/// long they took without checkpoints; the time in which none was under way; and the
/// checkpoints that they made.
#[derive(Clone, Default)]
struct Taken {
    kinds: BTreeMap<usize, (f64, f64)>,
    idle_ns: f64,
    transactions: f64,
    checkpoints: f64,
    checkpoint_ns: f64,
    spent: Spent,
}

/// What the time of transactions went into, in nanoseconds.
#[derive(Clone, Default)]
struct Spent {
    cpu_ns: f64,
    /// Reads, and what they wrote and flushed.
    asked_ns: [f64; 2],
    /// Waiting for others.
    waited_ns: f64,
}

/// What reruns say together has to come to this, of 1. Chosen.
const TOLD_MIN: f64 = 0.5;

impl Spent {
    fn see(&mut self, done: &Done) {
        self.cpu_ns += done.cpu_ns as f64;
        for purpose in Purpose::ALL {
            let part = usize::from(purpose != Purpose::Read);
            self.asked_ns[part] += done.asked(purpose).waited_ns as f64;
        }
        self.waited_ns += Wait::ALL
            .map(|wait| done.waited.ns(wait) as f64)
            .iter()
            .sum::<f64>();
    }

    /// How far time follows the processor, reads and writes, without what reruns scatter: each
    /// by no more than its share and all that waits for others, who may wait for the same; and
    /// together by 1, since where everything takes twice as long, transactions do.
    fn limit(&self, follows: [f64; 3]) -> [f64; 3] {
        let own_ns = [self.cpu_ns, self.asked_ns[0], self.asked_ns[1]];
        let all_ns = own_ns.iter().sum::<f64>() + self.waited_ns;
        let limited: [f64; 3] =
            std::array::from_fn(|of| follows[of].min((own_ns[of] + self.waited_ns) / all_ns));
        // Where reruns say of nothing that time follows it, they are all scatter.
        let told = match limited.iter().sum::<f64>() < TOLD_MIN {
            true => own_ns,
            false => limited,
        };
        let all: f64 = told.iter().sum();
        told.map(|of| if all > 0.0 { of / all } else { 0.0 })
    }
}

impl Sensitivity {
    /// Transactions that [`System::sensitivity`] executes in runs of `slice`.
    pub fn transactions(slice: u64) -> u64 {
        let slice = slice.max(1);
        let times = 5;
        (TRANSACTIONS / ROUNDS).div_ceil(slice) * slice * ROUNDS * times
    }
}

impl System {
    /// How far the time of the next transactions follows each part, in runs of `slice`: of one
    /// client from the parts' shares. Several clients wait for each other, so they have one
    /// part after the other take longer, and take that back.
    ///
    /// # Errors
    /// What [`Self::run`] refuses.
    pub fn sensitivity(&mut self, slice: u64) -> Result<Sensitivity, PredictError> {
        let slice = slice.max(1);
        match self.clients() {
            1 => self.shares(slice),
            _ => self.responses(slice),
        }
    }

    /// The time of one client is a sum, and follows each part by that part's share of it.
    fn shares(&mut self, slice: u64) -> Result<Sensitivity, PredictError> {
        let (mut spent, mut elapsed_ns) = (Spent::default(), 0.0);
        let before_ns = self.occupied_ns();
        for _ in 0..Sensitivity::transactions(slice) / slice {
            elapsed_ns += self.run(slice, &mut |done| spent.see(done))? as f64;
        }
        let occupied_ns = self.occupied_since(before_ns);
        let share = |ns: f64| {
            if elapsed_ns > 0.0 {
                ns / elapsed_ns
            } else {
                0.0
            }
        };
        let processor = share(spent.cpu_ns);
        let [reads, writes] = parts(1.0 - processor, spent.asked_ns.map(share), occupied_ns);
        Ok(Sensitivity {
            processor,
            reads,
            writes,
        })
    }

    /// How long the device was at work for reads and for what is written since then.
    fn occupied_since(&self, before_ns: [f64; 2]) -> [f64; 2] {
        let after_ns = self.occupied_ns();
        [0, 1].map(|kind| after_ns[kind] - before_ns[kind])
    }

    /// What the time of several clients does when a part takes longer.
    fn responses(&mut self, slice: u64) -> Result<Sensitivity, PredictError> {
        let (cpu, slowness) = self.times();
        let longer = |of: &dyn Fn(Purpose) -> bool| {
            let mut slowness = slowness;
            for purpose in Purpose::ALL.into_iter().filter(|purpose| of(*purpose)) {
                slowness.0[purpose as usize] *= LONGER;
            }
            slowness
        };
        let is_read = |purpose| purpose == Purpose::Read;
        let times = [
            (cpu, slowness),
            (cpu.times(LONGER), slowness),
            (cpu, longer(&is_read)),
            (cpu, longer(&|purpose| !is_read(purpose))),
            (cpu, longer(&|_| true)),
        ];
        let mut taken: [Taken; 5] = Default::default();
        let before_ns = self.occupied_ns();
        for round in 0..ROUNDS as usize {
            for place in 0..times.len() {
                let place = (place + round) % times.len();
                self.set_times(times[place].0, times[place].1);
                self.add_to(&mut taken[place], slice)?;
            }
        }
        self.set_times(cpu, slowness);
        let occupied_ns = self.occupied_since(before_ns);
        spread_checkpoints(&mut taken);
        let [usual, processor, others @ ..] = &taken;
        let [reads, writes, storage] = others.each_ref().map(|taken| taken.follows(usual));
        let [reads, writes] = parts(storage, [reads, writes], occupied_ns);
        let [processor, reads, writes] =
            usual.spent.limit([processor.follows(usual), reads, writes]);
        Ok(Sensitivity {
            processor,
            reads,
            writes,
        })
    }

    /// Executes a round's transactions.
    fn add_to(&mut self, taken: &mut Taken, slice: u64) -> Result<(), PredictError> {
        let clients = self.clients() as f64;
        for _ in 0..(TRANSACTIONS / ROUNDS).div_ceil(slice) {
            let mut at_work_ns = 0.0;
            let elapsed_ns = self.run(slice, &mut |done| {
                let checkpoint = done.asked[Purpose::Checkpoint as usize];
                let checkpoint_ns = checkpoint.waited_ns.min(done.elapsed_ns);
                let (count, ns) = taken.kinds.entry(done.kind).or_default();
                *count += 1.0;
                *ns += (done.elapsed_ns - checkpoint_ns) as f64;
                at_work_ns += done.elapsed_ns as f64;
                taken.spent.see(done);
                taken.transactions += 1.0;
                taken.checkpoints += f64::from(checkpoint.requests > 0);
                taken.checkpoint_ns += checkpoint_ns as f64;
            })?;
            taken.idle_ns += (elapsed_ns as f64 * clients - at_work_ns).max(0.0);
        }
        Ok(())
    }
}

/// Gives the usual runs and those in which one thing or another takes longer the same
/// number of checkpoints for each transaction, which is that of all together: one that is
/// made every few thousand transactions falls into one of them by chance. It takes as long
/// as a mean one of those in which writing takes as long, and where none of these has one,
/// as much longer as writing does.
fn spread_checkpoints(taken: &mut [Taken; 5]) {
    let sum = |runs: &[Taken], of: fn(&Taken) -> f64| runs.iter().map(of).sum::<f64>();
    let checkpoints = sum(&taken[..], |of| of.checkpoints);
    let each = checkpoints / sum(&taken[..], |of| of.transactions);
    let (as_usual, longer) = taken.split_at_mut(WRITES_LONGER);
    let mean_ns = |runs: &[Taken]| {
        let count = sum(runs, |of| of.checkpoints);
        (count > 0.0).then(|| sum(runs, |of| of.checkpoint_ns) / count)
    };
    let means = match (mean_ns(as_usual), mean_ns(longer)) {
        (Some(usual), Some(longer)) => [usual, longer],
        (Some(usual), None) => [usual, usual * LONGER],
        (None, Some(longer)) => [longer / LONGER, longer],
        (None, None) => return,
    };
    for (runs, mean) in [as_usual, longer].into_iter().zip(means) {
        for run in runs {
            run.checkpoint_ns = run.transactions * each * mean;
        }
    }
}

/// What of how far time follows all of storage is for reads, and what for what is written.
///
/// `alone` is how far it follows each when its requests take longer once they are over: that
/// has none of how long others wait in the device meanwhile, and nothing of what is written
/// in the background, which has the device's pace alone. This remainder is shared as the
/// device is occupied.
fn parts(storage: f64, alone: [f64; 2], occupied_ns: [f64; 2]) -> [f64; 2] {
    let all_ns = occupied_ns[0] + occupied_ns[1];
    let shares = occupied_ns.map(|ns| if all_ns > 0.0 { ns / all_ns } else { 0.0 });
    // What never asks the device for anything follows it by chance.
    let alone = [0, 1].map(|kind| if shares[kind] > 0.0 { alone[kind] } else { 0.0 });
    let remainder = (storage - alone[0] - alone[1]).max(0.0);
    [0, 1].map(|kind| alone[kind] + remainder * shares[kind])
}

impl Taken {
    /// How far their time follows what took longer for them than usual. Kinds of
    /// transactions weigh the same in both, whatever chance had in each.
    fn follows(&self, usual: &Self) -> f64 {
        let mut ns = [
            (self.idle_ns + self.checkpoint_ns) / self.transactions,
            (usual.idle_ns + usual.checkpoint_ns) / usual.transactions,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_follows_no_more_than_its_parts_and_what_waits_for_others() {
        let spent = Spent {
            cpu_ns: 20.0,
            asked_ns: [35.0, 5.0],
            waited_ns: 40.0,
        };
        let near = |found: [f64; 3], expected: [f64; 3]| {
            let off = [0, 1, 2].map(|of| (found[of] - expected[of]).abs());
            assert!(off.iter().all(|off| *off < 1e-12), "{found:?}");
        };
        // 0.6 and 0.75 at most.
        let all = 0.6 + 0.75 + 0.01;
        near(
            spent.limit([0.9, 1.6, 0.01]),
            [0.6, 0.75, 0.01].map(|of| of / all),
        );
        near(
            spent.limit([0.0, 0.1, 0.0]),
            [20.0, 35.0, 5.0].map(|of| of / 60.0),
        );
        near(Spent::default().limit([0.0; 3]), [0.0; 3]);
    }

    #[test]
    fn storage_is_shared_as_it_is_occupied_by_hand() {
        let near = |found: [f64; 2], expected: [f64; 2]| {
            let off = [0, 1].map(|kind| (found[kind] - expected[kind]).abs());
            assert!(off.iter().all(|off| *off < 1e-12), "{found:?}");
        };
        // Reads alone, which wait for each other.
        near(parts(0.9, [0.3, 0.02], [7.0, 0.0]), [0.9, 0.0]);
        // Nor is there anything of what is not asked for at all.
        near(parts(0.1, [0.1, 0.1], [0.0, 0.0]), [0.0, 0.0]);
        // One client, whose requests follow one another.
        near(parts(0.8, [0.3, 0.5], [3.0, 5.0]), [0.3, 0.5]);
        // 0.4 are waits in the device, of which a quarter is for reads.
        near(parts(0.8, [0.3, 0.1], [1.0, 3.0]), [0.4, 0.4]);
        // Both together are less than the one and the other.
        near(parts(0.7, [0.3, 0.5], [1.0, 1.0]), [0.3, 0.5]);
    }
}
