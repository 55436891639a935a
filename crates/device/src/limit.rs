//! What storage may do in a second, and what it serves at once after a rest.
//!
//! Volumes of clouds are sold by requests and bytes a second, and hypervisors hold virtual disks to
//! such rates. The means is a bucket of tokens that gains the rate: what is not used is kept, up to a
//! credit, and served at once later. The credit is given here as the time in which the rate makes it
//! up, which is what matters to those who take turns: whose turn comes after a rest is served so much
//! sooner than in the long run, and never more.
//!
//! Of models it is known ([`Entry::limits`](crate::catalog::Entry::limits)). Of storage it is [found](find):
//! after a rest more requests are kept in flight than it may serve, and the first moments are compared with
//! the later ones. Not covered: credits of minutes, such as bursts of gp2 or of small instances. No rest
//! and no load of seconds shows them.

use std::time::Duration;

use octavo_units::RequestSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a limit is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Requests.
    Requests,
    /// Bytes that requests move.
    Bytes,
}

/// One limit of storage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// What it is of.
    pub of: Quantity,
    /// Requests or bytes a second in the long run.
    pub per_second: f64,
    /// Seconds of that rate which are served at once after a rest: the credit makes up for itself in
    /// this time.
    pub refill_s: f64,
}

impl Limit {
    /// A limit with a credit of so many requests or bytes.
    pub fn with_credit(of: Quantity, per_second: u64, credit: u64) -> Self {
        Self {
            of,
            per_second: per_second as f64,
            refill_s: credit as f64 / per_second.max(1) as f64,
        }
    }

    /// Requests or bytes that are served at once after a rest, beyond the rate.
    pub fn credit(&self) -> f64 {
        self.per_second * self.refill_s
    }

    /// The share of this limit that requests and bytes a second take: 1 is all of it, and more is only
    /// to be had from the credit.
    pub fn share(&self, requests_per_second: f64, bytes_per_second: f64) -> f64 {
        let asked = match self.of {
            Quantity::Requests => requests_per_second,
            Quantity::Bytes => bytes_per_second,
        };
        asked / self.per_second
    }
}

/// A rest, and a load that follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// How long nothing is asked of the storage.
    pub rest: Duration,
    /// How many times [`WINDOW`] the load lasts.
    pub windows: usize,
}

/// Completions are counted in windows of this length. A burst of 50 ms is over within the first one where
/// storage is much faster than its limit.
pub const WINDOW: Duration = Duration::from_millis(10);

/// What is tried first: credits of hypervisors and of models are 50 to 100 ms.
const SHORT: Trial = Trial {
    rest: Duration::from_millis(250),
    windows: 35,
};

/// What is tried then, where a credit was found that the rest may have been too short for.
const LONG: Trial = Trial {
    rest: Duration::from_secs(1),
    windows: 140,
};

/// Share of the rest of a trial from which on a credit may be larger than was earned in it.
const EARNED: f64 = 0.7;

/// The first windows have so many times as many completions as nine of ten later ones, or there is no
/// burst: what is not limited is as fast at any time, but for what else the machine does. Chosen.
const BURST_MIN: f64 = 1.25;

/// And so many standard deviations more than there are later, where completions come by chance: a rotating
/// disk has two in a window. Chosen.
const DEVIATIONS_MIN: f64 = 5.0;

/// How fast the load is served in the long run, and what it was served beyond that.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Burst {
    /// Completions a window.
    lasting: f64,
    /// Windows of these.
    windows: f64,
}

/// The burst with which a load begins; `None` where it does not.
fn burst(counts: &[u64]) -> Option<Burst> {
    let (early, later) = counts.split_at(counts.len() / 2);
    let mut sorted = later.to_vec();
    sorted.sort_unstable();
    let high = *sorted.get(sorted.len() * 9 / 10)? as f64;
    let lasting = later.iter().sum::<u64>() as f64 / later.len() as f64;
    // The load may begin within the first window.
    let first = early.iter().take(2).copied().max()? as f64;
    let is_faster = first >= BURST_MIN * high;
    let is_chance = first - lasting < DEVIATIONS_MIN * lasting.sqrt();
    if lasting == 0.0 || !is_faster || is_chance {
        return None;
    }
    let beyond = early.iter().sum::<u64>() as f64 - lasting * early.len() as f64;
    (beyond > 0.0).then_some(Burst {
        lasting,
        windows: beyond / lasting,
    })
}

/// The limit that a load meets of requests of one size. `drive` carries out a [`Trial`] and answers how many
/// requests were complete in each window of its load.
///
/// Two of two or three trials have to agree, so that one that the machine disturbed decides nothing. It
/// takes 1.2 to 1.8 s, and 2.4 s more where the credit is longer than a short rest earns. A credit beyond
/// about a second is found to be that.
///
/// # Errors
/// Those of `drive`.
pub fn find<E>(
    of: Quantity,
    request_size: RequestSize,
    drive: &mut dyn FnMut(Trial) -> Result<Vec<u64>, E>,
) -> Result<Option<Limit>, E> {
    let mut found = Vec::new();
    let mut without = 0;
    while found.len() < 2 {
        match burst(&drive(SHORT)?) {
            Some(burst) => found.push(burst),
            None => without += 1,
        }
        if without == 2 {
            return Ok(None);
        }
    }
    let mean = |of: fn(&Burst) -> f64| found.iter().map(of).sum::<f64>() / found.len() as f64;
    let mut lasting = mean(|burst| burst.lasting);
    let mut refill_s = mean(|burst| burst.windows) * WINDOW.as_secs_f64();
    if refill_s > EARNED * SHORT.rest.as_secs_f64()
        && let Some(burst) = burst(&drive(LONG)?)
    {
        lasting = burst.lasting;
        refill_s = burst.windows * WINDOW.as_secs_f64();
    }
    let requests = lasting / WINDOW.as_secs_f64();
    let per_second = match of {
        Quantity::Requests => requests,
        Quantity::Bytes => requests * f64::from(request_size.get()),
    };
    Ok(Some(Limit {
        of,
        per_second,
        refill_s,
    }))
}

/// Size of the requests that meet a limit of requests, where direct requests may be that small.
pub const SMALL_BYTES: u32 = 4 << 10;

/// Size of those that meet one of bytes. Larger ones may be several to the volume, and of smaller ones 3,000
/// or 16,000 a second move fewer bytes than are sold with them.
pub const LARGE_BYTES: u32 = 128 << 10;

/// Requests in flight: more than any limit that is sold lets through, at a latency below a millisecond.
pub const IN_FLIGHT: u16 = 64;

/// Rates of small and of large requests that are this close are one limit of requests.
const SAME: f64 = 1.2;

/// Both limits of storage, those that there are. `drive` as in [`find`], with requests of a size.
///
/// # Errors
/// Those of `drive`.
pub fn find_all<E>(
    drive: &mut dyn FnMut(RequestSize, Trial) -> Result<Vec<u64>, E>,
) -> Result<Vec<Limit>, E> {
    let mut limits = Vec::new();
    for (of, bytes) in [
        (Quantity::Requests, SMALL_BYTES),
        (Quantity::Bytes, LARGE_BYTES),
    ] {
        let size = RequestSize::new(bytes).expect("both are request sizes");
        limits.extend(find(of, size, &mut |trial| drive(size, trial))?);
    }
    if let [requests, bytes] = limits[..] {
        let large = bytes.per_second / f64::from(LARGE_BYTES);
        if large * SAME > requests.per_second {
            limits.truncate(1);
        }
    }
    Ok(limits)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use octavo_units::{ByteCount, Moment, QueueDepth, Seed};
    use rand::{Rng, RngExt};

    use super::*;
    use crate::{
        Device, Request, Tag,
        catalog::{self, Entry},
        request::{Mix, Pattern},
        stream::{Content, Load, Stream},
    };

    /// Carries out trials on a simulated device, in its own time.
    fn limits_of(entry: &Entry) -> Vec<Limit> {
        let mut device = entry.open(Seed::new(7));
        let mut count = 0;
        let found = find_all(&mut |size, trial| {
            count += 1;
            Ok::<_, Infallible>(drive(&mut *device, size, trial, count))
        });
        let Ok(found) = found;
        found
    }

    fn drive(device: &mut dyn Device, size: RequestSize, trial: Trial, number: u64) -> Vec<u64> {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap();
        let mut stream = Stream::new(
            &Load {
                mix: Mix::READ,
                pattern: Pattern::Random,
                request_size: size,
                depth: QueueDepth::new(IN_FLIGHT).unwrap(),
                range_bytes: ByteCount::mib(512).get(),
                shift_bytes: 0,
                content: Content::Fresh,
                first: 0,
                seed: Seed::new(number),
            },
            0,
            1,
        );
        let begin = device.now().after(ns(trial.rest));
        for tag in 0..u32::from(IN_FLIGHT) {
            let (_, request) = stream.next_request();
            device.submit(begin, Tag(tag), request).unwrap();
        }
        let mut counts = vec![0; trial.windows];
        while let Some(done) = device.next(Moment::NEVER).unwrap() {
            let window = done.at.since(begin) / ns(WINDOW);
            // What is in flight in the end is waited for.
            let Some(count) = counts.get_mut(window as usize) else {
                continue;
            };
            *count += 1;
            let (_, request): (_, Request) = stream.next_request();
            device.submit(done.at, done.tag, request).unwrap();
        }
        counts
    }

    /// A device of the catalog with another value of a key.
    fn with(name: &str, key: &str, value: &str) -> Entry {
        let mut table: toml::Table = catalog::find(name).unwrap().to_toml().parse().unwrap();
        let number: i64 = value.parse().unwrap();
        table["volume"][key] = toml::Value::Array(vec![number.into(), "a test".into()]);
        Entry::from_toml(&toml::to_string(&table).unwrap()).unwrap()
    }

    fn close(found: &[Limit], expected: &[Limit], what: &str) {
        assert_eq!(found.len(), expected.len(), "{what}: {found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found.of, expected.of, "{what}");
            let rate = found.per_second / expected.per_second;
            assert!((0.95..1.05).contains(&rate), "{what}: {found:?}");
            let refill = found.refill_s / expected.refill_s;
            assert!((0.85..1.15).contains(&refill), "{what}: {found:?}");
        }
    }

    #[test]
    fn the_credit_of_a_volume_is_what_its_model_has() {
        for name in ["gp3-3000", "gp3-16000"] {
            let entry = catalog::find(name).unwrap();
            let limits = entry.limits();
            assert_eq!(limits.len(), 2, "{name}");
            assert!(limits.iter().all(|limit| limit.refill_s == 0.05), "{name}");
            close(&limits_of(&entry), &limits, name);
        }
        for ms in ["20", "100", "400"] {
            let entry = with("gp3-3000", "bucket_ms", ms);
            close(&limits_of(&entry), &entry.limits(), ms);
        }
        // A credit of seconds is found to be as long as the rest at least.
        let entry = with("gp3-3000", "bucket_ms", "10000");
        let found = limits_of(&entry);
        assert!(found.iter().all(|limit| limit.refill_s > 0.2), "{found:?}");
    }

    #[test]
    fn what_has_no_limit_is_found_to_have_none() {
        for name in ["nvme-tlc", "sata-tlc", "hdd-7200", "pm1725"] {
            let entry = catalog::find(name).unwrap();
            assert_eq!(entry.limits(), []);
            assert_eq!(limits_of(&entry), [], "{name}");
        }
    }

    #[test]
    fn a_busy_machine_is_no_limit() {
        // Windows of 300, of which some are stolen, whole or in part, and moods of half a second.
        for seed in 0..200 {
            let mut random = Seed::new(seed).generator();
            let found = find(
                Quantity::Requests,
                RequestSize::new(4096).unwrap(),
                &mut |trial| {
                    let mut mood = 1.0;
                    let counts = (0..trial.windows).map(|window| {
                        if window % 50 == 0 {
                            mood = 0.7 + 0.3 * random.random::<f64>();
                        }
                        let left = if random.next_u32().is_multiple_of(4) {
                            random.random::<f64>()
                        } else {
                            1.0
                        };
                        (300.0 * mood * left) as u64
                    });
                    Ok::<_, Infallible>(counts.collect())
                },
            );
            assert_eq!(found, Ok(None), "seed {seed}");
        }
    }

    #[test]
    fn a_disturbed_trial_decides_nothing() {
        let limited = |first: u64| [vec![first], vec![30; 34]].concat();
        let mut trials = [limited(180), limited(0), limited(180)].into_iter();
        let size = RequestSize::new(4096).unwrap();
        let found = find(Quantity::Requests, size, &mut |_| {
            Ok::<_, Infallible>(trials.next().unwrap())
        });
        let Ok(Some(found)) = found else {
            panic!("{found:?}")
        };
        assert_eq!((found.per_second, found.refill_s), (3000.0, 0.05));
        assert_eq!(found.credit(), 150.0);
    }

    #[test]
    fn credits_of_minutes_are_limits_too() {
        let limits = catalog::find("gp2-100").unwrap().limits();
        let lasting = limits.iter().find(|limit| limit.per_second == 300.0);
        assert_eq!(lasting.unwrap().refill_s, 18_000.0);
        assert_eq!(lasting.unwrap().share(150.0, 1e9), 0.5);
    }
}
