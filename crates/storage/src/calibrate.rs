//! Measuring the storage under a directory.
//!
//! [`calibrate`] makes an unnamed file there, writes it full, measures the
//! points of a [`Preset`] or of an explicit list on it with direct I/O, and
//! returns a [`Profile`]. The file goes away with the process, however that
//! ends. No privileges are needed, and no setting of the machine is changed.
//!
//! Preconditioning and steady state follow the SNIA Solid State Storage
//! Performance Test Specification as far as one file allows: the file, not
//! the device, is written. With [`Preset::Full`] each point is repeated by itself
//! until it is steady, which is its workload-dependent preconditioning ([`steady`]);
//! points of the short presets take turns, so that they compare though storage that is
//! shared changes its speed by the second.

use std::{
    collections::VecDeque,
    num::NonZeroU32,
    ops::ControlFlow,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use octavo_device::{
    limit::{self, Limit, Trial},
    point::{Durability, PointSpec},
    preset::{Preset, Timing},
    profile::{self, Access, FORMAT, Point, Profile},
    request::{Mix, Pattern},
    steady,
    stream::{Content, Load},
    tally::Tally,
};
use octavo_units::{ByteCount, QueueDepth, RequestSize, Seed};

pub use crate::error::CalibrateError;
use crate::{
    engine::{Engine, EngineError, Stop},
    location::Location,
    target::{self, Target},
};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Decides file size, timing, and the points unless they are listed.
    pub preset: Preset,
    /// The file's size; default: the preset's, or half of the free space
    /// when that is less, but not under 64 MiB.
    pub file_size: Option<ByteCount>,
    /// The points; default: the preset's.
    pub points: Option<Vec<PointSpec>>,
    /// How often all points are measured, 1 by default; the median pass over
    /// each stands in the profile. Storage that others use as well differs from
    /// one minute to the next by more than within one.
    pub passes: NonZeroU32,
    /// The engine; default: io_uring where it is allowed, else threads.
    pub engine: Option<Engine>,
    /// The origin of offsets and content.
    pub seed: Seed,
}

impl Settings {
    /// What `octavo advise` measures: about 18 s.
    pub fn brief(seed: Seed) -> Self {
        Self::preset(Preset::Brief, seed)
    }

    /// The defaults of a preset.
    pub fn preset(preset: Preset, seed: Seed) -> Self {
        Self {
            preset,
            file_size: None,
            points: None,
            passes: NonZeroU32::MIN,
            engine: None,
            seed,
        }
    }
}

/// How far calibrating is.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// What is measured now, like `random read 4 KiB, depth 32, range 1 GiB`.
    pub name: &'a str,
    /// Expected time of what is done.
    pub done: Duration,
    /// Expected time of all.
    pub total: Duration,
}

/// Called about ten times a second, later only while a single request takes
/// longer; a break stops calibrating and leaves nothing behind.
pub type Progress<'a> = dyn FnMut(Step<'_>) -> ControlFlow<()> + 'a;

/// The size of the requests that fill the file (PTS: 128 KiB sequential).
const FILL_BYTES: u32 = 128 << 10;
/// Enough to keep any device busy with them.
const FILL_DEPTH: QueueDepth = match QueueDepth::new(32) {
    Some(depth) => depth,
    None => QueueDepth::ONE,
};
/// The smallest file that is measured when the space decides.
const SHRUNK_MIN: ByteCount = ByteCount::mib(64);
/// The longest load before a round that is not counted, unless a preset has a longer one.
const RAMP_MAX: Duration = Duration::from_secs(1);
/// What is found before the points.
const LIMITS: &str = "limits, after rests";
/// About how long that takes.
const LIMITS_EXPECTED: Duration = Duration::from_millis(2500);
/// The guess of fill speed for time left before anything is known.
const FILL_BYTES_PER_SECOND: u64 = 500 << 20;

/// Measures the storage under `directory`.
///
/// Needs twice the file's size as free space, and write permission. On error
/// or break nothing is left behind.
///
/// # Errors
/// Too little space, a directory that cannot be written to, a point that does
/// not fit the file, storage that fails, or a break of `progress`.
pub fn calibrate(
    directory: &Path,
    settings: &Settings,
    progress: &mut Progress<'_>,
) -> Result<Profile, CalibrateError> {
    let started = Instant::now();
    let date = jiff::Timestamp::now();
    let target = Target::create(directory, file_size(directory, settings)?)?;
    let (engine, engine_reason) = match settings.engine {
        Some(engine) => (engine, Some("asked for".to_owned())),
        None => {
            let (engine, reason) = Engine::best();
            (engine, reason.map(|reason| format!("io_uring: {reason}")))
        }
    };
    let specs = match &settings.points {
        Some(points) => points.clone(),
        None => settings.preset.points(target.size(), target.alignment()),
    };
    for spec in &specs {
        check(spec, &target)?;
    }
    let fills = settings.preset.fills();
    let fill_expected =
        Duration::from_secs_f64(target.size().get() as f64 / FILL_BYTES_PER_SECOND as f64) * fills;
    let expected = |spec: &PointSpec| settings.preset.timing(spec).bounds().0;
    let passes = settings.passes.get();
    let points_expected = specs.iter().map(expected).sum::<Duration>() * passes;
    let limits_expected = match settings.points {
        None => LIMITS_EXPECTED,
        Some(_) => Duration::ZERO,
    };
    let mut done = Duration::ZERO;
    let mut total = fill_expected + limits_expected + points_expected;
    for pass in 1..=fills {
        let name = format!("write the file, pass {pass} of {fills}");
        let seed = settings.seed.derive("fill", u64::from(pass));
        fill(&target, engine, seed, &mut |elapsed| {
            progress(Step {
                name: &name,
                done: done + elapsed,
                total: total.max(done + elapsed + points_expected),
            })
        })?;
        done = started.elapsed();
    }
    // Points that somebody lists are all that is measured.
    let mut limits = None;
    if settings.points.is_none() {
        let before = Instant::now();
        let seed = settings.seed.derive("limit", 0);
        limits = Some(find_limits(&target, engine, seed, &mut |elapsed| {
            let done = done + elapsed;
            progress(Step {
                name: LIMITS,
                done,
                total: total.max(done + points_expected),
            })
        })?);
        done += before.elapsed();
    }
    total = done + points_expected;
    let mut measured = vec![Vec::new(); specs.len()];
    for pass in 1..=passes {
        let mut each: Vec<Measuring<'_>> = Vec::new();
        for (index, spec) in specs.iter().enumerate() {
            let number = u64::from(pass - 1) * specs.len() as u64 + index as u64;
            let seed = settings.seed.derive("point", number);
            let timing = settings.preset.timing(spec);
            each.push(Measuring::new(&target, engine, spec, timing, seed));
        }
        while let Some(next) = next(&each) {
            let point = &mut each[next];
            let name = match passes {
                1 => point.spec.to_string(),
                _ => format!("pass {pass} of {passes}: {}", point.spec),
            };
            let before = Instant::now();
            point.round(&mut |_| {
                let elapsed = before.elapsed();
                progress(Step {
                    name: &name,
                    done: done + elapsed,
                    total: total.max(done + elapsed),
                })
            })?;
            // A round that took longer than expected, or is one more than expected,
            // moves the end, not the share that is done of the others.
            let elapsed = before.elapsed();
            let expected = point.expected_of_last();
            done += elapsed;
            total = (total + elapsed).saturating_sub(expected).max(done);
            if point.is_done() {
                // Its tallies take a megabyte.
                measured[next].push(point.point());
                point.recent.clear();
            }
        }
    }
    let points = measured.into_iter().map(Point::median_of).collect();
    let (shifted, points) = profile::apart(points);
    let system = rustix::system::uname();
    Ok(Profile {
        format: FORMAT,
        date: Some(date),
        octavo: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: Some(format!(
            "{} {}",
            system.sysname().to_string_lossy(),
            system.release().to_string_lossy()
        )),
        preset: settings.points.is_none().then_some(settings.preset),
        seed: settings.seed,
        engine: engine.into(),
        engine_reason,
        access: target.access(),
        alignment_bytes: target.alignment(),
        file_bytes: target.size(),
        preconditioning: format!(
            "file written {} in sequence with random bytes in requests of 128 KiB, fdatasync",
            if fills == 1 { "once" } else { "twice" }
        ),
        duration_s: started.elapsed().as_secs_f64(),
        limits,
        storage: Location::find(directory).facts,
        points,
        shifted,
    })
}

/// The size of the file on which [`limits`] are found. A larger one takes longer to write, and a drive's cache
/// that has all of it serves all trials from there alike: a limit is in front of it.
const LIMITS_BYTES: ByteCount = ByteCount::mib(64);

/// Finds what storage under `directory` is limited to, on a small file there: in about 4 s, of which a
/// volume of 125 MB a second takes half a second to write the file. `hook` is called about ten times a
/// second.
///
/// # Errors
/// As [`calibrate`].
pub fn limits(
    directory: &Path,
    seed: Seed,
    hook: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Vec<Limit>, CalibrateError> {
    let target = Target::create(directory, LIMITS_BYTES)?;
    let (engine, _) = Engine::best();
    fill(&target, engine, seed.derive("fill", 0), &mut |_| hook())?;
    find_limits(&target, engine, seed.derive("limit", 0), &mut |_| hook())
}

/// The longest that a rest goes on before the hook is called again.
const REST_PART: Duration = Duration::from_millis(100);

/// Finds the limits of a file that has been written before; `hook` is called with the time since it began.
/// What goes through the page cache has none.
fn find_limits(
    target: &Target,
    engine: Engine,
    seed: Seed,
    hook: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<Vec<Limit>, CalibrateError> {
    if target.access() != Access::Direct || target.size().get() < u64::from(limit::LARGE_BYTES) {
        return Ok(Vec::new());
    }
    let began = Instant::now();
    let mut number = 0;
    limit::find_all(&mut |size, trial: Trial| {
        number += 1;
        if !size.get().is_multiple_of(target.alignment()) {
            return Ok(Vec::new());
        }
        let mut rest = trial.rest;
        while !rest.is_zero() {
            let part = rest.min(REST_PART);
            thread::sleep(part);
            rest -= part;
            if hook(began.elapsed()).is_break() {
                return Err(CalibrateError::Stopped);
            }
        }
        let load = Load {
            mix: Mix::READ,
            pattern: Pattern::Random,
            request_size: size,
            depth: QueueDepth::new(limit::IN_FLIGHT).unwrap_or(QueueDepth::ONE),
            range_bytes: target.size().get(),
            shift_bytes: 0,
            content: Content::Fresh,
            first: 0,
            seed: seed.derive("trial", number),
        };
        let stop = Stop {
            ramp: Duration::ZERO,
            slice: limit::WINDOW,
            slices: trial.windows,
            requests: u64::MAX,
        };
        let run = engine.run(target.file(), &load, Durability::Device, stop, &mut |_| {
            hook(began.elapsed())
        });
        let run = run.map_err(|error| failure(error, engine, &load))?;
        Ok(run.slices)
    })
}

/// Measures one point on a file that has been written before. `hook` is
/// called about ten times a second with the time since the run began.
///
/// # Errors
/// A point that does not fit the file, an engine that the system does not give,
/// storage that fails, or a break of `hook`.
pub fn measure(
    target: &Target,
    engine: Engine,
    spec: &PointSpec,
    timing: Timing,
    seed: Seed,
    hook: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<Point, CalibrateError> {
    check(spec, target)?;
    let mut measuring = Measuring::new(target, engine, spec, timing, seed);
    while !measuring.is_done() {
        measuring.round(hook)?;
    }
    Ok(measuring.point())
}

/// A point whose rounds are being measured.
struct Measuring<'a> {
    target: &'a Target,
    engine: Engine,
    spec: PointSpec,
    timing: Timing,
    seed: Seed,
    /// Requests a second in each round.
    rates: Vec<f64>,
    /// The last [`steady::WINDOW`] rounds; one sum of all where there are no more.
    recent: VecDeque<Tally>,
}

/// The point whose round is next: the first of those with the fewest where points take
/// turns, else the first that lacks one.
fn next(each: &[Measuring<'_>]) -> Option<usize> {
    let is_open = |index: &usize| !each[*index].is_done();
    let turns = |index: &usize| match each[*index].timing.in_turns {
        true => each[*index].rates.len(),
        false => 0,
    };
    (0..each.len()).filter(is_open).min_by_key(turns)
}

impl<'a> Measuring<'a> {
    fn new(
        target: &'a Target,
        engine: Engine,
        spec: &PointSpec,
        timing: Timing,
        seed: Seed,
    ) -> Self {
        Self {
            target,
            engine,
            spec: *spec,
            timing,
            seed,
            rates: Vec::new(),
            recent: VecDeque::new(),
        }
    }

    fn is_done(&self) -> bool {
        self.rates.len() >= self.timing.rounds_max
            || steady::first_steady_round(&self.rates).is_some()
    }

    /// Whether a round follows another load than the point's own.
    fn is_after_others(&self, round: usize) -> bool {
        round == 0 || self.timing.in_turns
    }

    /// Load before a round. After one of its own the load has paused for milliseconds,
    /// and needs no ramp. After others it needs one that is as long as its requests in
    /// flight take, as far as that is known, or the longest latencies would not be seen.
    fn ramp(&self, round: usize) -> Duration {
        if !self.is_after_others(round) {
            return Duration::ZERO;
        }
        let rates = self.rates[..round].iter();
        let slowest = rates.copied().fold(f64::INFINITY, f64::min);
        let in_flight = f64::from(self.spec.depth.get()) / slowest;
        let lasting = Duration::try_from_secs_f64(in_flight).unwrap_or(RAMP_MAX);
        self.timing.ramp.max(lasting.min(RAMP_MAX))
    }

    fn round(
        &mut self,
        hook: &mut dyn FnMut(Duration) -> ControlFlow<()>,
    ) -> Result<(), CalibrateError> {
        let number = self.rates.len();
        let seed = self.seed.derive("round", number as u64);
        let mut load = Load::from_spec(&self.spec, seed);
        // Else a drive's cache would have what a sequence reads, from the round before.
        load.first = seed.derive("first", 0).get();
        if self.is_after_others(number) {
            settle(self.target)?;
        }
        let stop = Stop {
            ramp: self.ramp(number),
            slice: self.timing.round,
            slices: 1,
            requests: u64::MAX,
        };
        let round = self
            .engine
            .run(self.target.file(), &load, self.spec.durability, stop, hook)
            .map_err(|error| failure(error, self.engine, &load))?;
        self.rates
            .push(round.requests() as f64 / round.elapsed.as_secs_f64());
        match self.recent.front_mut() {
            Some(all) if self.timing.rounds_max <= steady::WINDOW => all.add_round(&round),
            _ => self.recent.push_back(round),
        }
        if self.recent.len() > steady::WINDOW {
            self.recent.pop_front();
        }
        Ok(())
    }

    /// The time that its last round was expected to take: those beyond a window were not.
    fn expected_of_last(&self) -> Duration {
        match self.rates.len() {
            count @ 1..=steady::WINDOW => self.ramp(count - 1) + self.timing.round,
            _ => Duration::ZERO,
        }
    }

    /// What is reported: the window that was found steady, or the last one.
    fn point(&self) -> Point {
        let mut window = Tally::new(0);
        for round in &self.recent {
            window.add_round(round);
        }
        Point::new(self.spec, &window, &self.rates)
    }
}

/// Writes the whole file once with incompressible bytes and syncs it. `hook`
/// is called about ten times a second with the time since it began.
///
/// # Errors
/// An engine that the system does not give, storage that fails, a full disk,
/// or a break of `hook`.
pub fn fill(
    target: &Target,
    engine: Engine,
    seed: Seed,
    hook: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<(), CalibrateError> {
    let size = target.size();
    let load = Load {
        mix: Mix::WRITE,
        pattern: Pattern::Sequential,
        request_size: RequestSize::new(FILL_BYTES).expect("128 KiB is a request size"),
        depth: FILL_DEPTH,
        range_bytes: size.get(),
        shift_bytes: 0,
        content: Content::Fresh,
        first: 0,
        seed,
    };
    let stop = Stop::requests(size.get() / u64::from(FILL_BYTES));
    engine
        .run(target.file(), &load, Durability::Device, stop, hook)
        .map_err(|error| failure(error, engine, &load))?;
    settle(target)
}

fn settle(target: &Target) -> Result<(), CalibrateError> {
    target
        .settle()
        .map_err(|source| CalibrateError::Sync { source })
}

/// The asked or default size, whole fill requests, and for a default no more
/// than fits into half of the free space.
fn file_size(directory: &Path, settings: &Settings) -> Result<ByteCount, CalibrateError> {
    let fill = u64::from(FILL_BYTES);
    let whole = |bytes: u64| ByteCount::new((bytes / fill).max(1) * fill);
    match settings.file_size {
        Some(size) => Ok(whole(size.get())),
        None => {
            let free = target::free_space(directory).map_err(|source| CalibrateError::File {
                action: "ask for free space in",
                directory: directory.to_owned(),
                source,
            })?;
            let size = settings.preset.file_size().get();
            Ok(whole(size.min(free.get() / 2).max(SHRUNK_MIN.get())))
        }
    }
}

fn check(spec: &PointSpec, target: &Target) -> Result<(), CalibrateError> {
    let refused = |reason| {
        Err(CalibrateError::Point {
            point: *spec,
            reason,
        })
    };
    if spec.range > target.size() {
        return refused(format!("exceeds the file of {}", target.size()));
    }
    if spec.least_range() > spec.range {
        return refused("has a range smaller than one request".to_owned());
    }
    let alignment = u64::from(target.alignment());
    let is_allowed = |bytes: ByteCount| bytes.get().is_multiple_of(alignment);
    if !is_allowed(spec.request_size.bytes()) || !is_allowed(spec.shift) {
        return refused(format!(
            "is not allowed here: direct requests are, and begin at, multiples of {alignment} bytes"
        ));
    }
    Ok(())
}

fn failure(error: EngineError, engine: Engine, load: &Load) -> CalibrateError {
    match error {
        EngineError::Stopped => CalibrateError::Stopped,
        EngineError::Request {
            operation,
            offset,
            source,
        } => CalibrateError::Request {
            operation,
            offset,
            length: load.request_size.get(),
            source,
        },
        EngineError::Setup(source) => CalibrateError::Engine {
            engine,
            depth: load.depth,
            request_size: load.request_size,
            source,
        },
    }
}
