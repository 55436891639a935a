//! A twin of a measured device: the parameters of a simulated
//! [`Station`](crate::simulated::Station) that come nearest to a [`Profile`].
//!
//! The parameters of reads are fitted to the points that only read, those of
//! writes to those that only write, for several numbers of servers: first by
//! mean value analysis, then, for the best two, by simulation. The cost is the
//! mean error in logarithms, in absolute value so that a few points that were
//! disturbed do not draw the rest away.
//!
//! Every third of the points that lie between others (in size, depth or range)
//! is held out of the fit, and so are all mixes: they say how far the twin can
//! be trusted where it was not told. Nothing is said of places beyond the
//! measured ones. The figures of the result are measured on the finished entry
//! by [`probe`].
//!
//! A twin answers for sizes, depths, orders and mixes. It knows no range: the
//! smaller rates of a disk over a greater range, or of flash behind a cache,
//! are errors that the table shows.

mod bound;
mod error;
mod search;
mod side;
mod trials;

use std::ops::ControlFlow;

use octavo_units::{Iops, Seed};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    catalog::Entry,
    point::{Durability, PointSpec},
    probe::{self, Effort},
    profile::Profile,
    profiled::{self, ProfiledError},
    request::Mix,
    simulated::station::Parameters,
    sourced::Sourced,
};
pub use error::{FitError, Step};
use side::{Side, median, rounded};
use trials::{TRIALS, Trials};

/// A twin, and how near it comes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Fit {
    /// The twin, to be kept as a file with [`Entry::to_toml`].
    pub entry: Entry,
    /// All points of the profile in its order.
    pub points: Vec<FitPoint>,
    /// The median of the absolute errors of all points.
    pub median_error: f64,
    /// The median of the absolute errors of points that the fit did not see;
    /// `None` when there are none.
    pub held_out_median_error: Option<f64>,
    /// How far the profile's own passes lie apart,
    /// [`Profile::passes_apart`]: what it is fitted to, a twin cannot be
    /// expected to meet more closely than that meets itself.
    pub passes_apart: Option<f64>,
}

/// A point of the profile and of its twin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FitPoint {
    /// How the device was loaded.
    pub spec: PointSpec,
    /// What the profile says.
    pub measured_iops: Iops,
    /// What the twin does.
    pub twin_iops: Iops,
    /// How far the twin is off, as a share: 0.1 is 10 % too fast.
    pub error: f64,
    /// Whether the fit did not see the point.
    pub held_out: bool,
}

/// Numbers of servers that are tried: powers of two, as channels, dies and
/// queues come.
const SERVERS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Numbers of servers that are simulated.
const FINALISTS: usize = 2;
/// Offsets do not matter to a station, so that it can hold any database.
const CAPACITY_BYTES: u64 = 1 << 40;

/// Fits a twin called `name` to `profile`. `progress` hears after each trial
/// how many are done; its break stops the fit. The same profile and seed give
/// the same twin.
///
/// # Errors
/// A profile without random reads and writes of two sizes at two depths and a
/// synced write, points that no device can have, or a break of `progress`.
pub fn fit(
    profile: &Profile,
    name: &str,
    seed: Seed,
    progress: &mut dyn FnMut(Step) -> ControlFlow<()>,
) -> Result<Fit, FitError> {
    profiled::check(profile)?;
    let commit = profile
        .commit()
        .ok_or(ProfiledError::Lacks("synced write"))?;
    let mut trials = Trials {
        seed: seed.derive("fit", 0),
        done: 0,
        total: 2 * FINALISTS * TRIALS,
        progress,
    };
    let sides = [
        Side::new(profile, Mix::READ, "reads")?,
        Side::new(profile, Mix::WRITE, "writes")?,
    ];
    let source = describe(profile);
    let mut parameters = Parameters {
        capacity_bytes: Sourced::new(
            CAPACITY_BYTES,
            "assumed: offsets do not matter to a station, so that it can be larger than the measured file",
        ),
        sector_bytes: Sourced::new(
            u64::from(profile.alignment_bytes).max(512),
            format!("measured: alignment of direct I/O, {source}"),
        ),
        servers: Sourced::new(1, format!("fitted to {source}")),
        flush_us: Sourced::new(
            0.0,
            format!("calculated: a synced write less a write, {source}"),
        ),
        read: sides[0].times(&source),
        write: sides[1].times(&source),
    };
    let mut candidates = Vec::new();
    for servers in SERVERS {
        let read = trials.calculate(&sides[0], servers)?;
        let write = trials.calculate(&sides[1], servers)?;
        candidates.push((read.1 + write.1, servers, [read.0, write.0]));
    }
    // Stable, so that of equals the fewest servers are taken.
    candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut best: Option<(f64, Parameters)> = None;
    for (_, servers, places) in &candidates[..FINALISTS] {
        parameters.servers.value = *servers;
        let mut cost = 0.0;
        for (side, place) in sides.iter().zip(places) {
            cost += trials.simulate(side, &mut parameters, place)?;
        }
        if best.as_ref().is_none_or(|(known, _)| cost < *known) {
            best = Some((cost, parameters.clone()));
        }
    }
    let (_, mut parameters) = best.expect("several numbers of servers were tried");
    let write = PointSpec {
        durability: Durability::Device,
        ..commit.spec
    };
    let write_us = 1e6 / trials.rate(&parameters, &write)?;
    parameters.flush_us.value = rounded((1e6 / commit.iops.get() - write_us).max(0.0));
    let entry = Entry::station(name, format!("twin of {source}"), parameters);
    let points = compare(profile, &entry, &sides, seed)?;
    let error = |point: &FitPoint| point.error.abs();
    let held_out = points.iter().filter(|point| point.held_out).map(error);
    Ok(Fit {
        median_error: median(points.iter().map(error).collect()).unwrap_or(0.0),
        held_out_median_error: median(held_out.collect()),
        passes_apart: profile.passes_apart(),
        entry,
        points,
    })
}

/// The profile that is fitted, in a few words: which storage, and when.
fn describe(profile: &Profile) -> String {
    let storage = &profile.storage;
    let what = [&storage.model, &storage.device, &storage.file_system]
        .into_iter()
        .flatten()
        .next()
        .map_or("storage", String::as_str);
    match profile.date {
        Some(date) => format!("{what}, measured {}", date.strftime("%Y-%m-%d")),
        None => what.to_owned(),
    }
}

/// Measures all points of the profile on the finished twin.
fn compare(
    profile: &Profile,
    entry: &Entry,
    sides: &[Side<'_>; 2],
    seed: Seed,
) -> Result<Vec<FitPoint>, FitError> {
    let effort = Effort {
        ramp: 1_000,
        requests: 1_000,
        rounds_max: 5,
    };
    let seed = seed.derive("compare", 0);
    let mut points = Vec::with_capacity(profile.points.len());
    for point in &profile.points {
        let mut twin = entry.open(seed);
        let again = probe::measure(&mut *twin, &point.spec, effort, seed);
        let again = again.map_err(|source| FitError::Point {
            point: point.spec,
            source,
        })?;
        let synced = point.spec.durability == Durability::Synced;
        let seen = sides
            .iter()
            .any(|side| side.train.iter().any(|train| std::ptr::eq(*train, point)));
        points.push(FitPoint {
            spec: point.spec,
            measured_iops: point.iops,
            twin_iops: again.iops,
            error: again.iops.get() / point.iops.get() - 1.0,
            held_out: !seen && !synced,
        });
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use octavo_units::ByteCount;

    use super::*;
    use crate::{preset::Preset, probe::ProfileSettings, profile::Point, simulated::station};

    /// The profile of a station that is known.
    fn profile(parameters: &Parameters) -> Profile {
        let range = ByteCount::mib(1024);
        let settings = ProfileSettings {
            limits: Vec::new(),
            name: "known".into(),
            title: "known".into(),
            points: (Preset::Quick.points(range, 512), Some(Preset::Quick)),
            range,
            effort: Effort {
                ramp: 500,
                requests: 400,
                rounds_max: 5,
            },
            seed: Seed::new(3),
        };
        let mut device = parameters.open(Seed::new(4));
        probe::profile(
            &mut device,
            &settings,
            &mut |_, _| ControlFlow::Continue(()),
        )
        .unwrap()
    }

    #[test]
    fn fitting_a_station_finds_its_rates_again() {
        let known = station::tests::parameters();
        let mut profile = profile(&known);
        // On part of the points, for time.
        profile.points.retain(|Point { spec, .. }| {
            spec.range == profile.file_bytes
                && (4 << 10..=64 << 10).contains(&spec.request_size.get())
                && [1, 4, 32].contains(&spec.depth.get())
        });
        let mut last = 0;
        let twin = fit(&profile, "twin", Seed::new(1), &mut |step| {
            assert!(step.done >= last && step.done <= step.total);
            last = step.done;
            ControlFlow::Continue(())
        });
        let twin = twin.unwrap();
        assert_eq!(last, 2 * FINALISTS * TRIALS);
        assert!(twin.median_error < 0.03, "{}", twin.median_error);
        assert!(twin.held_out_median_error.unwrap() < 0.05);
        // Of each operation two of seven inner points, and four mixes.
        let held_out = twin.points.iter().filter(|point| point.held_out);
        assert_eq!(held_out.count(), 8);
        let again = Entry::from_toml(&twin.entry.to_toml()).unwrap();
        assert_eq!(again, twin.entry);
        // 500 us of the commit are the flush's.
        let commit = twin.points.last().unwrap();
        assert_eq!(commit.spec.durability, Durability::Synced);
        assert!(commit.error.abs() < 0.03, "{commit:?}");
    }

    #[test]
    fn stopping_and_lacking_points_are_told() {
        let profile = profile(&station::tests::parameters());
        let stopped = fit(&profile, "x", Seed::new(1), &mut |_| ControlFlow::Break(()));
        assert!(matches!(stopped, Err(FitError::Stopped)));
        let go_on = &mut |_| ControlFlow::Continue(());
        let without = |keep: fn(&PointSpec) -> bool| {
            let mut profile = profile.clone();
            profile.points.retain(|point| keep(&point.spec));
            profile
        };
        for (lacking, named) in [
            (without(|spec| spec.mix != Mix::READ), "random reads"),
            (
                without(|spec| spec.mix != Mix::WRITE || spec.depth.get() == 32),
                "synced write",
            ),
            (
                without(|spec| {
                    spec.mix != Mix::WRITE
                        || spec.depth.get() == 32
                        || spec.durability == Durability::Synced
                }),
                "at two depths",
            ),
        ] {
            let error = fit(&lacking, "x", Seed::new(1), go_on).unwrap_err();
            assert!(error.to_string().contains(named), "{error}");
        }
        let mut profile = without(|_| true);
        profile.points[0].spec.range = ByteCount::new(1);
        let error = fit(&profile, "x", Seed::new(1), go_on).unwrap_err();
        assert!(error.to_string().contains("range 1"), "{error}");
    }
}
