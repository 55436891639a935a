//! The result of calibrating: conditions and points, written as TOML. The
//! format is documented in docs/device-profile.md.

pub mod table;

use std::time::Duration;

use hdrhistogram::Histogram;
use octavo_units::{ByteCount, BytesPerSecond, Iops, QueueDepth, Seed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    facts::StorageFacts,
    limit::Limit,
    point::{Durability, PointSpec},
    preset::Preset,
    request::{Mix, Pattern},
    steady,
    tally::Tally,
};

/// The version of the format that this code writes and reads.
pub const FORMAT: u32 = 1;

/// What a storage device does, with the conditions it was measured under.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The version of the format: [`FORMAT`].
    pub format: u32,
    /// When measuring began; `None` of a simulation, which reads no clock.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub date: Option<jiff::Timestamp>,
    /// The version of Octavo.
    pub octavo: String,
    /// The kernel's name and release; `None` of a simulation.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kernel: Option<String>,
    /// Which points were chosen; `None` for an explicit list.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub preset: Option<Preset>,
    /// The origin of offsets and content.
    #[serde(with = "seed_text")]
    #[schemars(with = "String")]
    pub seed: Seed,
    /// How requests were submitted.
    pub engine: Means,
    /// Why the engine is not io_uring, when it is not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub engine_reason: Option<String>,
    /// Whether requests bypassed the page cache.
    pub access: Access,
    /// Requests are multiples of this many bytes.
    pub alignment_bytes: u32,
    /// The size of the measured file.
    pub file_bytes: ByteCount,
    /// What was written before measuring.
    pub preconditioning: String,
    /// Seconds from start to end; of a simulation those of its own time.
    pub duration_s: f64,
    /// What it was found to be limited to, and what it serves beyond that after a rest; empty where it
    /// was found to have no limit, `None` where nobody looked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub limits: Option<Vec<Limit>>,
    /// The file system and block device; of a simulation `device` is the
    /// entry's name and `model` its title.
    pub storage: StorageFacts,
    /// The measured points in the order of measuring.
    #[serde(default)]
    pub points: Vec<Point>,
    /// Points whose requests are shifted, which say what alignment is worth. They are apart, as
    /// all that is made of a profile is made of the others.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub shifted: Vec<Point>,
}

/// Points of shifted requests, and the others.
pub fn apart(points: Vec<Point>) -> (Vec<Point>, Vec<Point>) {
    points
        .into_iter()
        .partition(|point| point.spec.shift != ByteCount::ZERO)
}

/// How the requests of a profile were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Means {
    /// By io_uring, on a file.
    #[serde(rename = "io_uring")]
    Ring,
    /// By `pread` and `pwrite` on a file, one thread for each request in
    /// flight.
    #[serde(rename = "threads")]
    Threads,
    /// By [`probe`](crate::probe), of a simulated device in its own time.
    #[serde(rename = "simulation")]
    Simulation,
}

impl std::fmt::Display for Means {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Ring => "io_uring",
            Self::Threads => "threads",
            Self::Simulation => "simulation",
        })
    }
}

/// Whether requests reach the device or may end in the kernel's page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// `O_DIRECT`: every request reaches the device.
    Direct,
    /// The file system has no direct I/O: figures may show memory.
    Buffered,
    /// The file system is in memory, and figures are of that.
    Memory,
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Direct => "direct I/O",
            Self::Buffered => "BUFFERED I/O, figures may show memory",
            Self::Memory => "I/O to MEMORY and no disk",
        })
    }
}

/// What was measured of one [`PointSpec`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// What was asked.
    #[serde(flatten)]
    pub spec: PointSpec,
    /// Completed requests per second.
    pub iops: Iops,
    /// Bytes moved per second.
    pub bytes_per_second: BytesPerSecond,
    /// Requests that the figures are over.
    pub requests: u64,
    /// Seconds that the figures are over.
    pub duration_s: f64,
    /// User and system time of the process per request, in microseconds.
    pub cpu_us_per_request: f64,
    /// Requests in flight on average (Little's law: IOPS times latency).
    pub in_flight: f64,
    /// Rounds that were measured; figures are over the last 5.
    pub rounds: u32,
    /// Half of the 95% confidence interval of `iops` over the last 5 rounds, as a share of
    /// it; `None` where it is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub iops_margin: Option<f64>,
    /// The first round that ended a steady window, if one did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steady_round: Option<u32>,
    /// Latencies of all requests.
    pub latency: Latency,
    /// Latencies of reads, in a mix.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub read_latency: Option<Latency>,
    /// Latencies of writes, in a mix.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub write_latency: Option<Latency>,
    /// All passes over this point, of which the other figures are one; `None`
    /// if there was no other.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub passes: Option<Passes>,
}

/// How the same point came out again and again, minutes apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Passes {
    /// How many, 2 or more.
    pub count: u32,
    /// Requests per second of the slowest.
    pub iops_min: Iops,
    /// Requests per second of the fastest.
    pub iops_max: Iops,
}

/// Latencies in microseconds from submission to completion.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// The mean.
    pub us_mean: f64,
    /// Half of the requests took at most this.
    pub us_p50: f64,
    /// 99 % took at most this.
    pub us_p99: f64,
    /// 99.9 % took at most this.
    pub us_p999: f64,
    /// The longest.
    pub us_max: f64,
}

/// Why a text is not a profile.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// Not TOML, or an entry is missing or wrong; the text names it.
    #[error("device profile is not valid, calibrate again or correct the entry: {0}")]
    Entry(#[from] toml::de::Error),
    /// Written by another version of the format.
    #[error(
        "entry 'format' of the device profile is {found}, this Octavo reads {FORMAT}: \
         calibrate again"
    )]
    Format {
        /// The version found.
        found: i64,
    },
    /// A shifted point among the others, one without a shift among the shifted, or a shift of a
    /// request or more.
    #[error(
        "the device profile's point '{0}' stands in the wrong place: points in [[shifted]] have a \
         shift that is less than their request, those in [[points]] none; calibrate again or \
         correct it"
    )]
    Shift(Box<PointSpec>),
}

impl Profile {
    /// The profile as TOML.
    ///
    /// # Panics
    /// Never for a profile that was measured or read: TOML can hold every
    /// field (the seed, which may exceed TOML's integers, is text).
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("every field of a profile has a TOML form")
    }

    /// Reads what [`Profile::to_toml`] wrote.
    ///
    /// # Errors
    /// Which entry is missing or wrong, or that the format is another one.
    pub fn from_toml(text: &str) -> Result<Self, ProfileError> {
        // The version first: other entries may mean something else there.
        #[derive(Deserialize)]
        struct Versioned {
            format: i64,
        }
        let Versioned { format } = toml::from_str(text)?;
        if format != i64::from(FORMAT) {
            return Err(ProfileError::Format { found: format });
        }
        let profile: Self = toml::from_str(text)?;
        let is_out_of_place = |point: &Point, is_shifted: bool| {
            let PointSpec {
                shift,
                request_size,
                ..
            } = point.spec;
            (shift != ByteCount::ZERO) != is_shifted || shift >= request_size.bytes()
        };
        let points = profile.points.iter().map(|point| (point, false));
        let shifted = profile.shifted.iter().map(|point| (point, true));
        match points
            .chain(shifted)
            .find(|(of, is)| is_out_of_place(of, *is))
        {
            Some((point, _)) => Err(ProfileError::Shift(Box::new(point.spec))),
            None => Ok(profile),
        }
    }

    /// All points, shifted ones last.
    pub fn every_point(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().chain(&self.shifted)
    }

    /// Whether a point was not steady. Of rounds that are too short to say it is not said,
    /// but [`Self::margin`] is.
    pub fn is_unsteady(&self, point: &Point) -> bool {
        !point.is_steady() && self.has_long_rounds(point)
    }

    /// Half of the 95% confidence interval of a point's rate, as a share of it, where its
    /// rounds are too short to be called steady or not.
    pub fn margin(&self, point: &Point) -> Option<f64> {
        point.iops_margin.filter(|_| !self.has_long_rounds(point))
    }

    /// A simulation's time has no other load in it.
    fn has_long_rounds(&self, point: &Point) -> bool {
        let round_s = point.duration_s / steady::WINDOW as f64;
        self.engine == Means::Simulation || round_s >= steady::ROUND_S_MIN
    }

    /// The first point of this kind whose range is the whole file and whose
    /// writes are not synced.
    pub fn point(
        &self,
        mix: Mix,
        pattern: Pattern,
        request_bytes: u32,
        depth: u16,
    ) -> Option<&Point> {
        let depth = QueueDepth::new(depth)?;
        self.points.iter().find(|point| {
            point.spec.mix == mix
                && point.spec.pattern == pattern
                && point.spec.request_size.get() == request_bytes
                && point.spec.depth == depth
                && point.spec.range == self.file_bytes
                && point.spec.durability == Durability::Device
        })
    }

    /// How far the passes over a point lie apart, the fastest above the slowest
    /// as a share: the median over all points. `None` of a single pass.
    pub fn passes_apart(&self) -> Option<f64> {
        let passes = self.every_point().filter_map(|point| point.passes);
        let mut apart: Vec<f64> = passes
            .map(|passes| passes.iops_max.get() / passes.iops_min.get() - 1.0)
            .collect();
        apart.sort_by(f64::total_cmp);
        apart.get(apart.len() / 2).copied()
    }

    /// What a commit costs: a small write and `fdatasync`, one at a time.
    pub fn commit(&self) -> Option<&Point> {
        self.points
            .iter()
            .find(|point| point.spec.durability == Durability::Synced)
    }
}

impl Point {
    /// Whether the rates of the last 5 rounds are steady.
    pub fn is_steady(&self) -> bool {
        self.steady_round.is_some()
    }

    /// A point as it was counted: `window` is over the last rounds, `rates` are
    /// those of all, in requests per second.
    pub fn new(spec: PointSpec, window: &Tally, rates: &[f64]) -> Self {
        let requests = window.requests();
        let iops = Iops::over(requests, window.elapsed);
        let latency = Latency::from_histogram(&window.latencies());
        let part = |histogram: &Histogram<u64>| {
            (spec.mix.only().is_none() && !histogram.is_empty())
                .then(|| Latency::from_histogram(histogram))
        };
        let cpu_us = window.cpu.as_secs_f64() * 1e6;
        Self {
            spec,
            iops,
            bytes_per_second: iops.throughput(spec.request_size),
            requests,
            duration_s: window.elapsed.as_secs_f64(),
            cpu_us_per_request: if requests == 0 {
                0.0
            } else {
                cpu_us / requests as f64
            },
            in_flight: iops.get() * latency.us_mean / 1e6,
            rounds: rates.len() as u32,
            iops_margin: steady::margin(rates),
            steady_round: steady::first_steady_round(rates).map(|round| round as u32),
            latency,
            read_latency: part(&window.reads),
            write_latency: part(&window.writes),
            passes: None,
        }
    }

    /// Of passes over one point, the one with the median rate (of an even
    /// number the slower of two), with what is to be said of all.
    ///
    /// # Panics
    /// Without any.
    pub fn median_of(mut passes: Vec<Self>) -> Self {
        passes.sort_by(|a, b| a.iops.get().total_cmp(&b.iops.get()));
        let all = (passes.len() > 1).then(|| Passes {
            count: passes.len() as u32,
            iops_min: passes[0].iops,
            iops_max: passes[passes.len() - 1].iops,
        });
        Self {
            passes: all,
            ..passes.swap_remove((passes.len() - 1) / 2)
        }
    }

    /// The time that the figures are over.
    pub fn duration(&self) -> Duration {
        Duration::try_from_secs_f64(self.duration_s).unwrap_or_default()
    }
}

impl Latency {
    fn from_histogram(nanoseconds: &Histogram<u64>) -> Self {
        let us = |nanoseconds: u64| nanoseconds as f64 / 1e3;
        Self {
            us_mean: nanoseconds.mean() / 1e3,
            us_p50: us(nanoseconds.value_at_quantile(0.50)),
            us_p99: us(nanoseconds.value_at_quantile(0.99)),
            us_p999: us(nanoseconds.value_at_quantile(0.999)),
            us_max: us(nanoseconds.max()),
        }
    }
}

/// TOML integers are signed, seeds are not.
mod seed_text {
    use octavo_units::Seed;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(seed: &Seed, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(seed)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Seed, D::Error> {
        let text = String::deserialize(from)?;
        text.parse()
            .map_err(|error| D::Error::custom(format!("seed '{text}': {error}")))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use octavo_units::RequestSize;

    use super::*;
    use crate::limit::Quantity;

    /// A point with the given rate and a mean latency that follows from it.
    pub(crate) fn point(spec: PointSpec, iops: f64) -> Point {
        let mut tally = Tally::new(5);
        let latency_ns = (f64::from(spec.depth.get()) / iops * 1e9) as u64;
        for index in 0..100 {
            let operation = spec.mix.only().unwrap_or(if index % 4 == 0 {
                crate::request::Operation::Write
            } else {
                crate::request::Operation::Read
            });
            tally.record(operation, latency_ns, index % 5);
        }
        tally.elapsed = Duration::from_secs_f64(100.0 / iops);
        tally.cpu = Duration::from_micros(500);
        Point::new(spec, &tally, &[iops; 5])
    }

    pub(crate) fn spec(mix: Mix, pattern: Pattern, bytes: u32, depth: u16) -> PointSpec {
        PointSpec {
            mix,
            pattern,
            request_size: RequestSize::new(bytes).unwrap(),
            depth: QueueDepth::new(depth).unwrap(),
            range: ByteCount::mib(1024),
            durability: Durability::Device,
            shift: ByteCount::ZERO,
        }
    }

    pub(crate) fn profile(points: Vec<Point>) -> Profile {
        Profile {
            format: FORMAT,
            date: Some("2026-03-01T12:00:00Z".parse().unwrap()),
            octavo: "0.1.0".into(),
            kernel: Some("Linux 6.1".into()),
            preset: Some(Preset::Quick),
            seed: Seed::new(u64::MAX),
            engine: Means::Threads,
            engine_reason: Some("Operation not permitted".into()),
            access: Access::Direct,
            alignment_bytes: 512,
            file_bytes: ByteCount::mib(1024),
            preconditioning: "written once".into(),
            duration_s: 48.5,
            limits: Some(Vec::new()),
            storage: StorageFacts {
                file_system: Some("ext4".into()),
                ..StorageFacts::default()
            },
            points,
            shifted: Vec::new(),
        }
    }

    #[test]
    fn shifted_points_are_apart_and_refused_elsewhere() {
        let usual = point(spec(Mix::READ, Pattern::Random, 8192, 1), 10_000.0);
        let with_shift = |bytes| {
            let mut shifted = usual.clone();
            shifted.spec.shift = ByteCount::new(bytes);
            shifted
        };
        let of = |points: &[&Point], shifted: &[&Point]| Profile {
            shifted: shifted.iter().map(|point| (*point).clone()).collect(),
            ..profile(points.iter().map(|point| (*point).clone()).collect())
        };
        let shifted = with_shift(512);
        let good = of(&[&usual], &[&shifted]);
        assert_eq!(Profile::from_toml(&good.to_toml()).unwrap(), good);
        let (shifted_points, points) = apart(vec![usual.clone(), shifted.clone()]);
        assert_eq!((points, shifted_points), (good.points, good.shifted));
        for bad in [
            of(&[&usual, &shifted], &[]),
            of(&[&usual], &[&usual]),
            of(&[&usual], &[&with_shift(8192)]),
            of(&[&usual], &[&with_shift(i64::MAX as u64)]),
        ] {
            let error = Profile::from_toml(&bad.to_toml()).unwrap_err();
            assert!(error.to_string().contains("[[shifted]]"), "{error}");
        }
    }

    #[test]
    fn a_profile_survives_being_written() {
        let mixed = spec(Mix::READ_75, Pattern::Random, 8192, 32);
        let mut commit = spec(Mix::WRITE, Pattern::Sequential, 4096, 1);
        commit.durability = Durability::Synced;
        let mut profile = profile(vec![point(mixed, 32_000.0), point(commit, 700.0)]);
        assert!(profile.points[0].read_latency.is_some());
        assert!(profile.commit().is_some());
        let limit = Limit::with_credit(Quantity::Requests, 3_000, 150);
        // None were looked for by older versions.
        for limits in [Some(vec![limit]), Some(Vec::new()), None] {
            profile.limits = limits;
            let text = profile.to_toml();
            assert_eq!(Profile::from_toml(&text).unwrap(), profile, "{text}");
            assert_eq!(text.contains("limits"), profile.limits.is_some());
        }
    }

    #[test]
    fn errors_name_the_entry() {
        let text = profile(vec![point(spec(Mix::READ, Pattern::Random, 4096, 1), 1e4)]).to_toml();
        for (from, to, name) in [
            ("engine = \"threads\"", "engine = \"magic\"", "engine"),
            (
                "alignment_bytes = 512",
                "alignment_bytes = -1",
                "alignment_bytes",
            ),
            ("mix = \"read\"", "mix = \"75/20\"", "75/20"),
            ("kernel = ", "colonel = ", "colonel"),
            (
                "seed = \"18446744073709551615\"",
                "seed = \"x\"",
                "seed 'x'",
            ),
            (
                "format = 1",
                "format = 9",
                "'format' of the device profile is 9",
            ),
        ] {
            assert!(text.contains(from), "{from} in {text}");
            let error = Profile::from_toml(&text.replace(from, to)).unwrap_err();
            assert!(error.to_string().contains(name), "{name}: {error}");
        }
    }

    #[test]
    fn the_median_pass_stands_for_all() {
        let spec = spec(Mix::READ, Pattern::Random, 4096, 1);
        let pass = |iops| point(spec, iops);
        assert_eq!(Point::median_of(vec![pass(9e3)]), pass(9e3));
        let median = Point::median_of(vec![pass(9e3), pass(2e3), pass(4e3), pass(5e3)]);
        let all = median.passes.unwrap();
        assert_eq!(all.count, 4);
        for (iops, expected) in [(median.iops, 4e3), (all.iops_min, 2e3), (all.iops_max, 9e3)] {
            assert!((iops.get() - expected).abs() < 1.0, "{iops:?}");
        }
        assert_eq!(median.latency, pass(4e3).latency);
        let profile = profile(vec![median, pass(1e3)]);
        assert_eq!(Profile::from_toml(&profile.to_toml()).unwrap(), profile);
        assert!((profile.passes_apart().unwrap() - 3.5).abs() < 0.01);
    }

    #[test]
    fn figures_follow_from_counts() {
        let point = point(spec(Mix::READ, Pattern::Random, 4096, 32), 32_000.0);
        assert!((point.iops.get() - 32_000.0).abs() < 1.0);
        assert!((point.in_flight - 32.0).abs() < 0.1);
        assert_eq!(point.cpu_us_per_request, 5.0);
        assert_eq!(point.steady_round, Some(5));
        assert!(point.read_latency.is_none());
        assert!((point.latency.us_p50 - 1000.0).abs() <= 1.0);
    }
}
