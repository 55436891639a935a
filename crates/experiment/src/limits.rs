//! What storage is limited to, and what it serves beyond that after a rest: of cells that take turns, one
//! that wants more than the limit lives on credit at the beginning of each slice, which it would not have
//! alone.
//!
//! How wrong a figure may be by that follows from the length of slices alone. Say a credit is made up for in
//! a time `c`, and a slice takes the time `t`. Alone the cell begins with what it left itself, at worst
//! nothing. If it waited for `c` first, it would begin with all the credit, as in the slice, and take `t`.
//! Waiting cannot make it faster. So alone it takes at most `t + c`, and it is measured at most `c / t` too
//! fast, whatever it does in the slice and whatever others did before. Where others left nothing, it is
//! measured too slow by no more than that.
//!
//! To leave out what is done first in each slice, until the credit is used up, would not better that bound.
//! Who wants a little more than the limit uses up the credit slowly: with a part `l` left out, and `t`
//! counted, one is found that is `c / (l + t)` too fast, which is what a slice of the whole length gives. And
//! to drain the credit with requests of our own before each slice would slow down cells that come in bursts
//! and have it when they are alone. So slices are made longer.

use std::time::Duration;

use octavo_device::limit::Limit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    plan::Storage,
    record::DeviceUse,
    store::{Store, StoreError},
};

/// What a storage of the plan is limited to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StorageLimits {
    /// Which storage.
    pub storage: Storage,
    /// Its limits: of an emulated device those of its model, of others what was found. Empty where it was
    /// found to have none.
    pub limits: Vec<Limit>,
}

/// Under which topic a store keeps them, by the storage.
const TOPIC: &str = "limits";

impl StorageLimits {
    /// Keeps the limits of a storage.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub(crate) fn keep(&self, store: &mut Store) -> Result<(), StoreError> {
        let kept = serde_json::to_string(&self.limits).ok();
        let fact = kept.map(|kept| (self.storage.to_string(), kept));
        store.put_facts(TOPIC, fact.as_slice())
    }

    /// What a store has of a plan's storages, without what is damaged.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(crate) fn all(store: &Store) -> Result<Vec<Self>, StoreError> {
        let facts = store.facts(TOPIC)?.into_iter();
        let limits = facts.filter_map(|(storage, kept)| {
            Some(Self {
                storage: Storage::from(storage),
                limits: serde_json::from_str(&kept).ok()?,
            })
        });
        Ok(limits.collect())
    }

    /// The limits of a storage; none where they are not known.
    pub(crate) fn of<'l>(all: &'l [Self], storage: &Storage) -> &'l [Limit] {
        let mut all = all.iter();
        let found = all.find(|limits| limits.storage == *storage);
        found.map_or(&[], |found| &found.limits)
    }
}

/// The share of a limit from which on a cell is held up by it. One that takes less on average does so in
/// bursts at most, and has made up for them when the next one comes: alone it has the credit, too. Chosen:
/// SQLite under TPC-C takes 0.6 of 3,000 requests a second with one client, which no limit holds up, and 0.9
/// with four, which one does.
const NEAR: f64 = 0.7;

/// The largest share of a slice's time that a credit may be worth. Chosen: below the 3% that do not matter
/// unless a plan says otherwise, so that of two equal cells none is called faster for it. Half of that would
/// take slices of twice the length, and leave half as many passes.
pub(crate) const CREDIT_SHARE: f64 = 0.025;

/// Slices are not made longer for a credit that takes longer to make up for: it would take slices of more
/// than 40 s. Bursts of gp2 are thirty minutes.
const REFILL_MAX_S: f64 = 1.0;

/// What a cell asked of its storage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// In so many transactions.
    pub(crate) transactions: u64,
    /// In this time.
    pub(crate) elapsed: Duration,
    /// So much; `None` where that is not counted.
    pub(crate) device: Option<DeviceUse>,
}

impl Asked {
    /// The share of a limit that it took, as much as there is where that is not known.
    fn share(&self, limit: &Limit) -> f64 {
        let Some(device) = self.device else {
            return 1.0;
        };
        let seconds = self.elapsed.as_secs_f64().max(1e-9);
        let bytes = device.read_bytes.saturating_add(device.written_bytes);
        let requests = device.reads.saturating_add(device.writes);
        limit.share(requests as f64 / seconds, bytes.get() as f64 / seconds)
    }

    /// The limits that hold it up.
    fn held_by<'l>(&self, limits: &'l [Limit]) -> impl Iterator<Item = &'l Limit> {
        limits.iter().filter(|limit| self.share(limit) >= NEAR)
    }

    /// Seconds that a transaction takes without credit.
    pub(crate) fn transaction_s(&self, limits: &[Limit]) -> f64 {
        let most = limits.iter().map(|limit| self.share(limit));
        let over = most.fold(1.0, f64::max);
        self.elapsed.as_secs_f64() * over / self.transactions.max(1) as f64
    }

    /// The fewest transactions of a slice in which credits are worth no more than [`CREDIT_SHARE`] of its
    /// time; `None` where none is worth anything, or too much for any slice.
    pub(crate) fn transactions_wanted(&self, limits: &[Limit]) -> Option<f64> {
        let short = self.held_by(limits).map(|limit| limit.refill_s);
        let longest_s = short
            .filter(|refill_s| *refill_s <= REFILL_MAX_S)
            .fold(0.0, f64::max);
        let each_s = self.transaction_s(limits);
        (longest_s > 0.0 && each_s > 0.0).then(|| longest_s / CREDIT_SHARE / each_s)
    }

    /// How much too fast it is at most, as a share, where its slices take `slice_s` and it then rests for
    /// `rest_s`, in which no more credit comes together than in that time. With the limit that it is from.
    pub(crate) fn too_fast<'l>(
        &self,
        limits: &'l [Limit],
        slice_s: f64,
        rest_s: f64,
    ) -> Option<(f64, &'l Limit)> {
        let bounds = self
            .held_by(limits)
            .map(|limit| (limit.refill_s.min(rest_s) / slice_s, limit));
        bounds.max_by(|(one, _), (other, _)| one.total_cmp(other))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use octavo_device::limit::Quantity;
    use octavo_units::ByteCount;

    use super::*;

    /// What a cell asked whose transactions take 10 ms and so many requests of 4 KiB.
    pub(crate) fn asked(requests: u64) -> Asked {
        Asked {
            transactions: 100,
            elapsed: Duration::from_secs(1),
            device: Some(DeviceUse {
                reads: 60 * requests,
                read_bytes: ByteCount::kib(240 * requests),
                writes: 40 * requests,
                written_bytes: ByteCount::kib(160 * requests),
                energy: None,
            }),
        }
    }

    /// 3,000 requests and 125 MiB a second, each with a credit of 50 ms.
    pub(crate) fn limits() -> Vec<Limit> {
        vec![
            Limit::with_credit(Quantity::Requests, 3_000, 150),
            Limit::with_credit(Quantity::Bytes, 125 << 20, 6_553_600),
        ]
    }

    #[test]
    fn a_slice_is_as_long_as_a_credit_is_small_in_it() {
        // 2,900 of 3,000 requests a second: 50 ms are 2.5% of 2 s.
        assert!((asked(29).transactions_wanted(&limits()).unwrap() - 200.0).abs() < 1e-6);
        // 6,000 of 3,000, half of them from the credit: a transaction takes 20 ms without.
        assert!((asked(60).transactions_wanted(&limits()).unwrap() - 100.0).abs() < 1e-6);
        // Not held up by it, and no limit.
        assert_eq!(asked(15).transactions_wanted(&limits()), None);
        assert_eq!(asked(60).transactions_wanted(&[]), None);
        let bytes = Limit {
            of: Quantity::Bytes,
            per_second: 4096.0 * 1500.0,
            refill_s: 0.1,
        };
        assert!((asked(15).transactions_wanted(&[bytes]).unwrap() - 400.0).abs() < 1e-6);
        // Where nobody counts, as if it took all.
        let uncounted = Asked {
            device: None,
            ..asked(15)
        };
        assert!((uncounted.transactions_wanted(&limits()).unwrap() - 200.0).abs() < 1e-6);
    }

    #[test]
    fn credits_of_minutes_are_bounded_by_the_rest() {
        let burst = [Limit::with_credit(Quantity::Requests, 300, 5_400_000)];
        let few = asked(3);
        assert_eq!(few.transactions_wanted(&burst), None);
        let (too_fast, limit) = few.too_fast(&burst, 2.0, 6.0).unwrap();
        assert_eq!((too_fast, limit.per_second), (3.0, 300.0));
        let (too_fast, _) = asked(29).too_fast(&limits(), 2.0, 6.0).unwrap();
        assert!((too_fast - 0.025).abs() < 1e-9);
    }

    /// A token bucket in continuous time that serves `rate` a second with at most `credit` beyond it, and a
    /// cell that would ask for `wanted` a second: how long it takes for `requests`, and what is saved up then.
    pub(crate) fn served(rate: f64, wanted: f64, requests: f64, credit: f64) -> (f64, f64) {
        let until_empty = match wanted > rate {
            true => credit / (wanted - rate),
            false => f64::INFINITY,
        };
        let quick = requests / wanted;
        match quick <= until_empty {
            true => (quick, credit - quick * (wanted - rate)),
            false => {
                let rest = requests - wanted * until_empty;
                (until_empty + rest / rate, 0.0)
            }
        }
    }

    #[test]
    fn in_turns_no_cell_is_too_fast_by_more_than_is_said() {
        let (rate, full) = (3000.0, 150.0);
        let all = limits();
        for hunger in [1.05, 1.2, 2.0, 5.0] {
            let wanted = hunger * rate;
            for slice in [100.0, 1000.0, 6000.0, 20_000.0] {
                // Others rest the bucket, so that each slice begins with all of it.
                let (slice_s, _) = served(rate, wanted, slice, full);
                let alone_s = slice / rate;
                let asked = Asked {
                    transactions: 1,
                    elapsed: Duration::from_secs_f64(slice_s),
                    device: Some(DeviceUse {
                        reads: slice as u64,
                        read_bytes: ByteCount::new(0),
                        writes: 0,
                        written_bytes: ByteCount::new(0),
                        energy: None,
                    }),
                };
                let (bound, _) = asked.too_fast(&all, slice_s, 10.0).unwrap();
                let is = alone_s / slice_s - 1.0;
                assert!(is <= bound + 1e-9, "{hunger} {slice}: {is} {bound}");
                // Of as many as are wanted the error is below 2.5%, of those that 75 ms take it is not.
                let wanted = asked.transactions_wanted(&all).unwrap() * slice;
                let (long_s, _) = served(rate, hunger * rate, wanted, full);
                assert!(wanted / rate / long_s - 1.0 < CREDIT_SHARE * 1.03);
            }
        }
        let (short_s, _) = served(rate, 2.0 * rate, 0.075 * 2.0 * rate, full);
        assert!(0.075 * 2.0 / short_s > 1.4, "half as fast again as alone");
    }
}
