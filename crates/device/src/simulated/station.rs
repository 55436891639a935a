//! A queueing station: what remains of a device when its inside is not known.
//!
//! A request passes a host, a link and one of several servers, in this order,
//! then waits for a fixed delay:
//!
//! 1. **host**: one at a time, `host_us + host_us_per_kib` of its size; the
//!    path through the kernel, copies, a virtual machine's queue, or a limit of
//!    requests per second;
//! 2. **link**: one at a time, `link_us_per_kib`; a bus, or a limit of bytes
//!    per second;
//! 3. **servers**: `servers` at a time, shared by reads and writes, each
//!    `service_us + service_us_per_kib` of its size;
//! 4. **delay**: `delay_us`, any number at once.
//!
//! One at a time a request takes the sum of the four; many at once complete at
//! the rate of the slowest of the first three; in between the spread of
//! times softens the knee. Requests in sequence take `sequential`
//! times `host_us` and `service_us`. The times of one request are spread
//! together around their mean as `p50`, `p99` and `p999` say.
//!
//! That is the closed network of queues with a think time that the mean value
//! analysis of Reiser and Lavenberg (J. ACM 27(2), 1980) solves for exponential
//! service; here it is simulated, so that times can have any spread.
//! Stages are in the order in which nothing overtakes before the servers, so
//! that one pass of availability times is exact.
//!
//! Not covered: seeks (the offset does not matter: rotating disks want the
//! disk model), write caches that fill, and cleaning of flash.

use std::{cmp::Reverse, collections::BinaryHeap};

use octavo_units::{ByteCount, Moment, QueueDepth, Seed};
use rand_pcg::Pcg64Mcg;

use super::foreseen::{Foreseen, Foresight};
use crate::{
    Geometry, Request,
    profiled::spread::Spread,
    request::{Command, Operation, Pattern},
    sequential::Streams,
    sourced::{Impossible, Sourced, parameters, require},
};

parameters! {
    /// Parameters of a [`Station`].
    pub struct Parameters {
        /// Bytes that it holds.
        pub capacity_bytes: Sourced<u64>,
        /// Requests begin and end at multiples of this.
        pub sector_bytes: Sourced<u64> = 512..=1 << 20,
        /// Requests that are served at once, at most [`SERVERS_MAX`].
        pub servers: Sourced<u32> = 1..=SERVERS_MAX,
        /// Microseconds that a flush takes, any number at once.
        pub flush_us: Sourced<f64> = 0.0..=US_MAX,
        /// What reads take.
        pub read: Times,
        /// What writes take.
        pub write: Times,
    }
}

parameters! {
    /// What requests of one operation take.
    pub struct Times {
        /// Microseconds of the host for each request, one at a time.
        pub host_us: Sourced<f64> = 0.0..=US_MAX,
        /// Microseconds of the host for each KiB, one at a time.
        pub host_us_per_kib: Sourced<f64> = 0.0..=US_MAX,
        /// Microseconds of the link for each KiB, one at a time.
        pub link_us_per_kib: Sourced<f64> = 0.0..=US_MAX,
        /// Microseconds of a server for each request.
        pub service_us: Sourced<f64> = 0.0..=US_MAX,
        /// Microseconds of a server for each KiB.
        pub service_us_per_kib: Sourced<f64> = 0.0..=US_MAX,
        /// Microseconds that each request takes beside, any number at once.
        pub delay_us: Sourced<f64> = 0.0..=US_MAX,
        /// What requests in sequence take of `host_us` and `service_us`, as a share
        /// of what random ones do.
        pub sequential: Sourced<f64> = 0.0..=SHARE_MAX,
        /// Half of the requests take at most this share of the mean.
        pub p50: Sourced<f64> = 0.0..=SHARE_MAX,
        /// 99 % take at most this share of the mean.
        pub p99: Sourced<f64> = 0.0..=SHARE_MAX,
        /// 99.9 % take at most this share of the mean.
        pub p999: Sourced<f64> = 0.0..=SHARE_MAX,
    }
}

/// The most servers that a station may have: more than any device has dies.
pub const SERVERS_MAX: u32 = 1 << 16;

/// The longest time, in microseconds: 1000 s.
const US_MAX: f64 = 1e9;

/// The largest of what is given as a share.
const SHARE_MAX: f64 = 1e6;

impl Parameters {
    pub(crate) fn check(&self) -> Result<(), Impossible> {
        self.check_bounds()?;
        require(
            *self.capacity_bytes >= *self.sector_bytes,
            "capacity_bytes",
            *self.capacity_bytes,
            "a device holds at least a sector",
        )?;
        let read = self.read.check_bounds();
        read.map_err(|impossible| impossible.within("read"))?;
        let write = self.write.check_bounds();
        write.map_err(|impossible| impossible.within("write"))
    }

    pub(crate) fn open(&self, seed: Seed) -> Station {
        let sector = *self.sector_bytes;
        let geometry = Geometry {
            capacity: ByteCount::new(*self.capacity_bytes / sector * sector),
            sector: ByteCount::new(sector),
            // Its stages hold what waits, as many as come.
            queue: QueueDepth::new(u16::MAX).expect("is not 0"),
        };
        let stages = Stages {
            paths: [Path::new(&self.read), Path::new(&self.write)],
            flush_ns: (*self.flush_us * 1e3) as u64,
            host_free: Moment::START,
            link_free: Moment::START,
            servers_free: (0..*self.servers).map(|_| Reverse(Moment::START)).collect(),
            generator: seed.derive("station", 0).generator(),
        };
        Station::unlimited(geometry, stages)
    }
}

/// A queueing station as a [`Device`](crate::Device).
pub type Station = Foreseen<Stages>;

/// The foresight of a [`Station`].
#[derive(Clone, Debug)]
pub struct Stages {
    paths: [Path; 2],
    flush_ns: u64,
    host_free: Moment,
    link_free: Moment,
    servers_free: BinaryHeap<Reverse<Moment>>,
    generator: Pcg64Mcg,
}

/// Times of one operation in nanoseconds, and its streams.
#[derive(Clone, Debug)]
struct Path {
    host_ns: f64,
    host_ns_per_byte: f64,
    link_ns_per_byte: f64,
    service_ns: f64,
    service_ns_per_byte: f64,
    delay_ns: f64,
    sequential: f64,
    spread: Spread,
    streams: Streams,
}

impl Path {
    fn new(times: &Times) -> Self {
        Self {
            host_ns: *times.host_us * 1e3,
            host_ns_per_byte: *times.host_us_per_kib * 1e3 / 1024.0,
            link_ns_per_byte: *times.link_us_per_kib * 1e3 / 1024.0,
            service_ns: *times.service_us * 1e3,
            service_ns_per_byte: *times.service_us_per_kib * 1e3 / 1024.0,
            delay_ns: *times.delay_us * 1e3,
            sequential: *times.sequential,
            spread: Spread::of_shares(*times.p50, *times.p99, *times.p999),
            streams: Streams::default(),
        }
    }
}

impl Stages {
    /// When a read or write ends that is submitted at `at`.
    fn pass(&mut self, at: Moment, operation: Operation, request: Request) -> Moment {
        let path = &mut self.paths[operation as usize];
        let bytes = f64::from(request.length);
        let share = match path.streams.note(request) {
            Pattern::Random => 1.0,
            Pattern::Sequential => path.sequential,
        };
        let work = path.spread.draw(&mut self.generator);
        let host = (path.host_ns * share + path.host_ns_per_byte * bytes) * work;
        self.host_free = at.max(self.host_free).after(host as u64);
        let link = path.link_ns_per_byte * bytes * work;
        self.link_free = self.host_free.max(self.link_free).after(link as u64);
        let service = (path.service_ns * share + path.service_ns_per_byte * bytes) * work;
        let mut server = self.servers_free.peek_mut().expect("there is a server");
        server.0 = self.link_free.max(server.0).after(service as u64);
        server.0.after((path.delay_ns * work) as u64)
    }
}

impl Foresight for Stages {
    #[inline]
    fn end(&mut self, at: Moment, request: Request) -> Moment {
        match request.command {
            Command::Read => self.pass(at, Operation::Read, request),
            Command::Write => self.pass(at, Operation::Write, request),
            Command::Flush => at.after(self.flush_ns),
            // Assumed: nothing was measured of it.
            Command::Trim => at,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use octavo_units::RequestSize;

    use super::*;
    use crate::{
        point::{Durability, PointSpec},
        probe::{self, Effort},
        request::Mix,
    };

    pub(crate) fn parameters() -> Parameters {
        fn sourced<T>(value: T) -> Sourced<T> {
            Sourced::new(value, "test")
        }
        let times = Times {
            host_us: sourced(9.0),
            host_us_per_kib: sourced(0.125),
            link_us_per_kib: sourced(1.0),
            service_us: sourced(60.0),
            service_us_per_kib: sourced(0.5),
            delay_us: sourced(20.0),
            sequential: sourced(0.5),
            p50: sourced(1.0),
            p99: sourced(1.0),
            p999: sourced(1.0),
        };
        Parameters {
            capacity_bytes: sourced(1 << 30),
            sector_bytes: sourced(512),
            servers: sourced(4),
            flush_us: sourced(500.0),
            read: times.clone(),
            write: times,
        }
    }

    fn rate(parameters: &Parameters, mix: Mix, pattern: Pattern, bytes: u32, depth: u16) -> f64 {
        let spec = PointSpec {
            mix,
            pattern,
            request_size: RequestSize::new(bytes).unwrap(),
            depth: QueueDepth::new(depth).unwrap(),
            range: ByteCount::mib(1024),
            durability: Durability::Device,
            shift: ByteCount::ZERO,
        };
        let mut device = parameters.open(Seed::new(1));
        let effort = Effort {
            ramp: 1000,
            requests: 1000,
            rounds_max: 5,
        };
        let point = probe::measure(&mut device, &spec, effort, Seed::new(2)).unwrap();
        point.iops.get()
    }

    #[test]
    fn rates_are_those_of_the_slowest_stage_and_of_the_sum() {
        let mut parameters = parameters();
        for (pattern, bytes, depth, us) in [
            // 9 + 1 + 8 + 60 + 4 + 20.
            (Pattern::Random, 8192, 1, 102.0),
            // Four servers at 64 us; the host takes 10, the link 8.
            (Pattern::Random, 8192, 64, 16.0),
            // The link: 128 us; the servers take 124 / 4.
            (Pattern::Random, 131_072, 64, 128.0),
            // 4.5 + 1 + 8 + 30 + 4 + 20, and four servers at 34 us.
            (Pattern::Sequential, 8192, 1, 67.5),
            (Pattern::Sequential, 8192, 64, 8.5),
        ] {
            let rate = rate(&parameters, Mix::READ, pattern, bytes, depth);
            let share = rate * us / 1e6;
            assert!(
                (share - 1.0).abs() < 0.01,
                "{pattern} {bytes} {depth}: {share}"
            );
        }
        // A limit of 5,000 requests a second, whatever they are.
        parameters.read.host_us.value = 200.0;
        parameters.write.host_us.value = 200.0;
        let limited = rate(&parameters, Mix::READ_50, Pattern::Random, 4096, 32);
        assert!((limited / 5_000.0 - 1.0).abs() < 0.01, "{limited}");
    }

    #[test]
    fn a_spread_lowers_rates_near_saturation_only() {
        let sharp = parameters();
        let mut soft = parameters();
        soft.read.p50.value = 0.7;
        soft.read.p99.value = 5.0;
        soft.read.p999.value = 8.0;
        let share = |depth| {
            let rate = |parameters| rate(parameters, Mix::READ, Pattern::Random, 8192, depth);
            rate(&soft) / rate(&sharp)
        };
        assert!((share(1) - 1.0).abs() < 0.05, "{}", share(1));
        assert!((share(256) - 1.0).abs() < 0.05, "{}", share(256));
        assert!(share(5) < 0.93, "{}", share(5));
    }

    #[test]
    fn impossible_values_are_named() {
        type Change = (&'static str, fn(&mut Parameters));
        let changes: [Change; 8] = [
            ("capacity_bytes", |p| p.capacity_bytes.value = 0),
            ("sector_bytes", |p| p.sector_bytes.value = 0),
            ("servers", |p| p.servers.value = u32::MAX),
            ("flush_us", |p| p.flush_us.value = f64::NAN),
            ("read.host_us", |p| p.read.host_us.value = -1.0),
            ("write.host_us", |p| p.write.host_us.value = f64::INFINITY),
            ("read.p50", |p| p.read.p50.value = f64::NAN),
            ("write.sequential", |p| p.write.sequential.value = -0.1),
        ];
        assert_eq!(parameters().check(), Ok(()));
        for (key, change) in changes {
            let mut parameters = parameters();
            change(&mut parameters);
            let impossible = parameters.check().unwrap_err();
            assert!(impossible.key.ends_with(key), "{impossible:?}");
        }
    }
}
