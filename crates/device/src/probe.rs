//! Measuring any [`Device`] by a closed loop of requests, in the device's own
//! time: what calibrating does to a directory.

use std::{ops::ControlFlow, time::Duration};

use octavo_units::{ByteCount, Moment, Seed};

use crate::{
    Completion, Device, DeviceError, Request, Tag,
    facts::StorageFacts,
    limit::Limit,
    point::{Durability, PointSpec},
    preset::Preset,
    profile::{self, Access, FORMAT, Means, Point, Profile},
    request::Operation,
    steady::{self, WINDOW},
    stream::{Load, Stream},
    tally::Tally,
};

/// How long a point is measured: rounds of `requests` until five successive
/// ones are steady, at most `rounds_max` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Requests before the first round, which are not counted.
    pub ramp: u64,
    /// Requests a round.
    pub requests: u64,
    /// Rounds at most, at least [`WINDOW`].
    pub rounds_max: usize,
}

impl Default for Effort {
    /// 4,000 requests, then rounds of 4,000: the mean of a uniform random
    /// quantity over five of them is known to 0.4 % (one standard deviation).
    fn default() -> Self {
        Self {
            ramp: 4_000,
            requests: 4_000,
            rounds_max: steady::ROUNDS_MAX,
        }
    }
}

/// Measures one point: `depth` requests are kept in flight, the next being
/// submitted at the moment at which one completes. Points that write have the
/// device [preconditioned](Device::precondition) first. Synced points are
/// followed by a flush each.
///
/// # Errors
/// A request that does not fit the device.
pub fn measure<D: Device + ?Sized>(
    device: &mut D,
    spec: &PointSpec,
    effort: Effort,
    seed: Seed,
) -> Result<Point, DeviceError> {
    // What does not fit is refused before a stream is made of it.
    let geometry = device.geometry();
    let length = spec.request_size.get();
    if spec.range < spec.least_range() {
        return Err(DeviceError::Range {
            length,
            range: spec.range,
        });
    }
    let last = spec.range.get() - u64::from(length);
    geometry.check(Request::read(last - last % geometry.sector.get(), length))?;
    geometry.check(Request::read(spec.shift.get(), length))?;
    if spec.mix.writes() {
        device.precondition(spec, seed.derive("precondition", 0))?;
    }
    let mut run = Loop {
        stream: Stream::new(&Load::from_spec(spec, seed), 0, 1),
        synced: spec.durability == Durability::Synced,
        lanes: Vec::new(),
        now: device.now(),
    };
    for lane in 0..u32::from(spec.depth.get()) {
        run.lanes.push(Lane::IDLE);
        run.begin(device, Tag(lane))?;
    }
    for _ in 0..effort.ramp {
        run.complete(device)?;
    }
    let mut rounds: Vec<Tally> = Vec::new();
    let mut rates = Vec::new();
    while rounds.len() < effort.rounds_max.max(WINDOW) {
        let mut tally = Tally::new(1);
        let began = run.now;
        for _ in 0..effort.requests {
            let (operation, latency_ns) = run.complete(device)?;
            tally.record(operation, latency_ns, 0);
        }
        tally.elapsed = run.now - began;
        rates.push(effort.requests as f64 / tally.elapsed.as_secs_f64().max(1e-9));
        rounds.push(tally);
        if rates.len() >= WINDOW && steady::is_steady(&rates[rates.len() - WINDOW..]) {
            break;
        }
    }
    let mut window = rounds.split_off(rounds.len() - WINDOW);
    let mut sum = window.remove(0);
    for round in &window {
        sum.add_round(round);
    }
    sum.cpu = Duration::ZERO;
    run.drain(device)?;
    Ok(Point::new(*spec, &sum, &rates))
}

/// What to measure of a device in [`profile()`].
#[derive(Clone, Debug)]
pub struct ProfileSettings {
    /// What the device is called.
    pub name: String,
    /// What it is.
    pub title: String,
    /// What its model limits.
    pub limits: Vec<Limit>,
    /// The points, and which preset they are.
    pub points: (Vec<PointSpec>, Option<Preset>),
    /// The largest range: what a calibrated directory has as file size.
    pub range: ByteCount,
    /// How long each point is measured.
    pub effort: Effort,
    /// The origin of offsets, and of what the device draws before.
    pub seed: Seed,
}

/// Why a device was not measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// A request that does not fit.
    #[error("point '{point}' cannot be measured")]
    Point {
        /// Which.
        point: PointSpec,
        /// Why.
        #[source]
        source: DeviceError,
    },
    /// The progress function stopped it.
    #[error("measuring was stopped")]
    Stopped,
}

/// Measures points on a device, one after the other, into the same form as
/// that of a calibrated directory. `progress` hears before each point which
/// one it is and how many are done.
///
/// # Errors
/// A point that does not fit the device, or a break of `progress`.
pub fn profile<D: Device + ?Sized>(
    device: &mut D,
    settings: &ProfileSettings,
    progress: &mut dyn FnMut(&PointSpec, usize) -> ControlFlow<()>,
) -> Result<Profile, ProfileError> {
    let (specs, preset) = &settings.points;
    let began = device.now();
    let mut points = Vec::with_capacity(specs.len());
    for (index, spec) in specs.iter().enumerate() {
        if progress(spec, index).is_break() {
            return Err(ProfileError::Stopped);
        }
        let seed = settings.seed.derive("point", index as u64);
        let point =
            measure(device, spec, settings.effort, seed).map_err(|source| ProfileError::Point {
                point: *spec,
                source,
            })?;
        points.push(point);
    }
    let (shifted, points) = profile::apart(points);
    Ok(Profile {
        format: FORMAT,
        date: None,
        octavo: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: None,
        preset: *preset,
        seed: settings.seed,
        engine: Means::Simulation,
        engine_reason: None,
        access: Access::Direct,
        alignment_bytes: u32::try_from(device.geometry().sector.get()).unwrap_or(u32::MAX),
        file_bytes: settings.range,
        preconditioning: "before each point that writes, until cleaning is steady".into(),
        duration_s: (device.now() - began).as_secs_f64(),
        limits: Some(settings.limits.clone()),
        storage: StorageFacts {
            device: Some(settings.name.clone()),
            model: Some(settings.title.clone()),
            ..StorageFacts::default()
        },
        points,
        shifted,
    })
}

/// A closed loop; a lane is one request in flight, then its flush.
struct Loop {
    stream: Stream,
    synced: bool,
    lanes: Vec<Lane>,
    now: Moment,
}

#[derive(Clone, Copy)]
struct Lane {
    operation: Operation,
    began: Moment,
    flushing: bool,
}

impl Lane {
    const IDLE: Self = Self {
        operation: Operation::Read,
        began: Moment::START,
        flushing: false,
    };
}

impl Loop {
    fn begin<D: Device + ?Sized>(&mut self, device: &mut D, tag: Tag) -> Result<(), DeviceError> {
        let (operation, request) = self.stream.next_request();
        self.lanes[tag.0 as usize] = Lane {
            operation,
            began: self.now,
            flushing: false,
        };
        device.submit(self.now, tag, request)
    }

    /// Waits for one request to end and begins the next in its place.
    fn complete<D: Device + ?Sized>(
        &mut self,
        device: &mut D,
    ) -> Result<(Operation, u64), DeviceError> {
        loop {
            let Completion { tag, at } = device
                .next(Moment::NEVER)?
                .expect("requests are in flight, so that one of them ends");
            self.now = at;
            let lane = &mut self.lanes[tag.0 as usize];
            if self.synced && !lane.flushing && lane.operation == Operation::Write {
                lane.flushing = true;
                device.submit(at, tag, Request::FLUSH)?;
                continue;
            }
            let done = (lane.operation, at.since(lane.began));
            self.begin(device, tag)?;
            return Ok(done);
        }
    }

    /// Waits for everything that is in flight.
    fn drain<D: Device + ?Sized>(&mut self, device: &mut D) -> Result<(), DeviceError> {
        while device.next(Moment::NEVER)?.is_some() {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::{ByteCount, QueueDepth, RequestSize};

    use super::*;
    use crate::{
        request::{Mix, Pattern},
        simulated::Constant,
    };

    #[test]
    fn a_constant_device_has_the_rate_that_follows_from_its_latency() {
        let mut device = Constant::new(ByteCount::mib(64), 50_000);
        let mut spec = PointSpec {
            mix: Mix::READ_75,
            pattern: Pattern::Random,
            request_size: RequestSize::new(4096).unwrap(),
            depth: QueueDepth::new(8).unwrap(),
            range: ByteCount::mib(64),
            durability: Durability::Device,
            shift: ByteCount::ZERO,
        };
        let seed = Seed::new(1);
        let point = measure(&mut device, &spec, Effort::default(), seed).unwrap();
        // 8 in flight, 50 us each.
        assert!((point.iops.get() / 160_000.0 - 1.0).abs() < 1e-3);
        assert!((point.latency.us_p50 / 50.0 - 1.0).abs() < 1e-3);
        assert!(point.is_steady());

        // The same device goes on from where it is; a commit is two requests.
        spec.mix = Mix::WRITE;
        spec.durability = Durability::Synced;
        let point = measure(&mut device, &spec, Effort::default(), seed).unwrap();
        assert!((point.iops.get() / 80_000.0 - 1.0).abs() < 1e-3);

        for range in [ByteCount::mib(65), ByteCount::kib(2), ByteCount::ZERO] {
            spec.range = range;
            assert!(measure(&mut device, &spec, Effort::default(), seed).is_err());
        }
    }
}
