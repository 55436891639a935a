//! What goes wrong, by a text such as `cut=5000,lose=1/2,tear=1/4`.
//!
//! | item | what happens |
//! |---|---|
//! | `cut=N` | the power is cut at the Nth read, write or flush |
//! | `cut=signal` | it is cut when [`Mounted::cut_power`](crate::Mounted::cut_power) is called, at the command line by SIGUSR1 |
//! | `lose=A/B` | at a cut, a write that was not synced is lost with this probability (default 1/2) |
//! | `tear=A/B` | of those that are not lost, this share is torn: each of its sectors of 512 bytes is kept or lost by itself (default 1/4) |
//! | `lie` | flushes are answered and make nothing durable |
//! | `eio=KIND:N` | the Nth `read`, `write` or `flush` fails with EIO |
//! | `eio=KIND:N:COUNT` | and so do those after it, COUNT in all |
//! | `full=SIZE` | the file system holds no more than this |
//!
//! Items are separated by commas; `eio` may be given several times. All
//! choices come from the emulation's seed.

use std::{
    str::FromStr,
    sync::atomic::{AtomicU64, Ordering},
};

use octavo_device::Command;
use octavo_units::ByteCount;
use rand::Rng;

/// What goes wrong; by default nothing does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    pub(crate) cut: Option<Cut>,
    pub(crate) lose: Option<Ratio>,
    pub(crate) tear: Option<Ratio>,
    pub(crate) lie: bool,
    pub(crate) errors: Vec<InjectedErrors>,
    pub(crate) full: Option<ByteCount>,
}

/// When the power is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// At this request, counted from 1.
    At(u64),
    /// When asked.
    Signal,
}

/// Requests of a kind that fail, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InjectedErrors {
    kind: Command,
    first: u64,
    count: u64,
}

/// A probability, as a ratio of whole numbers so that a seed replays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ratio {
    numerator: u32,
    denominator: u32,
}

/// A text that is not a [`Faults`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fault '{item}': {reason}")]
pub struct ParseFaultsError {
    item: String,
    reason: &'static str,
}

const ITEMS: &str =
    "give cut=N, cut=signal, lose=A/B, tear=A/B, lie, eio=KIND:N[:COUNT] or full=SIZE";

impl Faults {
    /// Whether what is not durable can be lost, so that it has to be kept.
    pub(crate) fn forgets(&self) -> bool {
        self.cut.is_some()
    }

    pub(crate) fn lose(&self) -> Ratio {
        self.lose.unwrap_or(Ratio {
            numerator: 1,
            denominator: 2,
        })
    }

    pub(crate) fn tear(&self) -> Ratio {
        self.tear.unwrap_or(Ratio {
            numerator: 1,
            denominator: 4,
        })
    }
}

impl FromStr for Faults {
    type Err = ParseFaultsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut faults = Self::default();
        for item in text.split(',').map(str::trim) {
            faults.add(item).map_err(|reason| ParseFaultsError {
                item: item.to_owned(),
                reason,
            })?;
        }
        let only_of_cuts = [
            (faults.lose.is_some(), "lose"),
            (faults.tear.is_some(), "tear"),
            (faults.lie, "lie"),
        ];
        if faults.cut.is_none()
            && let Some((_, item)) = only_of_cuts.into_iter().find(|(given, _)| *given)
        {
            return Err(ParseFaultsError {
                item: item.into(),
                reason: "nothing is lost as long as the power is on: give cut=N or cut=signal too",
            });
        }
        Ok(faults)
    }
}

impl Faults {
    fn add(&mut self, item: &str) -> Result<(), &'static str> {
        if item == "lie" {
            self.lie = true;
            return Ok(());
        }
        let (key, value) = item.split_once('=').ok_or(ITEMS)?;
        match key {
            "cut" => put(
                &mut self.cut,
                if value == "signal" {
                    Cut::Signal
                } else {
                    Cut::At(nth(value)?)
                },
            ),
            "lose" => put(&mut self.lose, value.parse()?),
            "tear" => put(&mut self.tear, value.parse()?),
            "full" => put(
                &mut self.full,
                value.parse().map_err(|_| "give a size like 64MiB")?,
            ),
            "eio" => {
                let mut parts = value.splitn(3, ':');
                let kind = match parts.next() {
                    Some("read") => Command::Read,
                    Some("write") => Command::Write,
                    Some("flush") => Command::Flush,
                    _ => return Err("give read, write or flush, like eio=read:100"),
                };
                let first = nth(parts.next().ok_or("say which, like eio=read:100")?)?;
                let count = parts.next().map_or(Ok(1), nth)?;
                self.errors.push(InjectedErrors { kind, first, count });
                Ok(())
            }
            _ => Err(ITEMS),
        }
    }
}

fn put<T>(place: &mut Option<T>, value: T) -> Result<(), &'static str> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err("it is given twice"),
    }
}

fn nth(text: &str) -> Result<u64, &'static str> {
    match text.parse() {
        Ok(0) | Err(_) => Err("requests are counted from 1"),
        Ok(number) => Ok(number),
    }
}

impl FromStr for Ratio {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = "give a probability as a ratio, like 1/4, at most 1/1";
        let (numerator, denominator) = text.split_once('/').ok_or(refused)?;
        let ratio = Self {
            numerator: numerator.parse().map_err(|_| refused)?,
            denominator: denominator.parse().map_err(|_| refused)?,
        };
        if ratio.denominator == 0 || ratio.numerator > ratio.denominator {
            return Err(refused);
        }
        Ok(ratio)
    }
}

impl Ratio {
    /// Whether it is so this time.
    pub(crate) fn draw(self, generator: &mut impl Rng) -> bool {
        let below = (u128::from(generator.next_u64()) * u128::from(self.denominator)) >> 64;
        below < u128::from(self.numerator)
    }
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is carried out.
    Done,
    /// It fails.
    Error,
    /// The power is cut before it.
    Cut,
}

/// Counts requests and says what becomes of each.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    all: AtomicU64,
    by_kind: [AtomicU64; 3],
}

impl Requests {
    pub(crate) fn meet(&self, faults: &Faults, kind: Command) -> Fate {
        let number = self.all.fetch_add(1, Ordering::Relaxed) + 1;
        if faults.cut == Some(Cut::At(number)) {
            return Fate::Cut;
        }
        if faults.errors.is_empty() {
            return Fate::Done;
        }
        let index = match kind {
            Command::Read => 0,
            Command::Write => 1,
            Command::Flush | Command::Trim => 2,
        };
        let number = self.by_kind[index].fetch_add(1, Ordering::Relaxed) + 1;
        let fails = faults.errors.iter().any(|errors| {
            errors.kind == kind && number >= errors.first && number - errors.first < errors.count
        });
        if fails { Fate::Error } else { Fate::Done }
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;

    #[test]
    fn texts_are_read_or_their_bad_item_is_named() {
        let faults: Faults = "cut=5000,lose=1/2, tear=1/4,eio=write:50:3,full=64MiB,lie"
            .parse()
            .unwrap();
        assert_eq!(faults.cut, Some(Cut::At(5000)));
        assert_eq!(faults.full, Some(ByteCount::mib(64)));
        assert!(faults.lie && faults.forgets());
        for (text, named) in [
            ("", "''"),
            ("cut", "'cut'"),
            ("cut=0", "counted from 1"),
            ("cut=5,cut=6", "twice"),
            ("lose=1/2", "cut=N"),
            ("lie", "cut=N"),
            ("cut=5,lose=3/2", "ratio"),
            ("cut=5,lose=0/0", "ratio"),
            ("eio=open:1", "read, write or flush"),
            ("eio=read", "eio=read:100"),
            ("eio=read:1:0", "counted from 1"),
            ("full=big", "64MiB"),
            ("melt=1", "'melt=1'"),
        ] {
            let error = text.parse::<Faults>().unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
        }
    }

    #[test]
    fn faults_hit_requests_by_number() {
        let faults: Faults = "cut=7,eio=write:2:2".parse().unwrap();
        let requests = Requests::default();
        let fates: Vec<Fate> = [
            Command::Write,
            Command::Read,
            Command::Write,
            Command::Write,
            Command::Write,
            Command::Flush,
            Command::Read,
        ]
        .into_iter()
        .map(|kind| requests.meet(&faults, kind))
        .collect();
        use Fate::{Cut, Done, Error};
        assert_eq!(fates, [Done, Done, Error, Error, Done, Done, Cut]);
    }

    #[test]
    fn ratios_are_drawn_as_often_as_they_say() {
        let mut generator = Seed::new(1).generator();
        let mut share = |text: &str| {
            let ratio: Ratio = text.parse().unwrap();
            (0..10_000).filter(|_| ratio.draw(&mut generator)).count()
        };
        assert_eq!(share("0/5"), 0);
        assert_eq!(share("5/5"), 10_000);
        // Four standard deviations of 43.
        assert!((2327..2673).contains(&share("1/4")));
    }
}
