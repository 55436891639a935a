//! Volumes of a cloud: storage over a network that is sold by operations and
//! bytes a second.
//!
//! A request is complete when its latency has passed, and when the buckets of
//! operations and of bytes have had the tokens that it takes. It takes a token
//! of operations for each 256 KiB (`operation_bytes`) or part of that. With
//! `merges`, a request that goes on where the one before ended, in the same
//! direction and while that is in flight, joins its operation until that is
//! full. Credits are a third bucket: full, it lasts for a burst; in the long
//! run operations come at the rate at which it fills.
//!
//! The rules are those of Amazon EBS ("Amazon EBS volume types" and "Amazon
//! EBS I/O characteristics and monitoring" in its user guide). Where inside of
//! a second a volume counts is not published, hence `bucket_ms`. Not covered:
//! the limits of the instance that a volume is attached to, volumes made from
//! snapshots, whose first reads are slow, and neighbours.

mod bucket;
mod spread;

use octavo_units::{ByteCount, Moment, QueueDepth, Seed};
use rand_pcg::Pcg64Mcg;

use self::{bucket::TokenBucket, spread::Spread};
use super::{
    cost::{Cost, KIB_US_MAX},
    foreseen::{Foreseen, Foresight},
};
use crate::{
    Command, Geometry, Request,
    limit::{Limit, Quantity},
    sourced::{Impossible, Sourced, parameters, require},
};

parameters! {
    /// Parameters of a [`Volume`].
    pub struct Parameters {
        /// Bytes that it holds.
        pub capacity_bytes: Sourced<u64> = 4096..,
        /// Requests that the host has in flight to it; more wait.
        pub queue: Sourced<u16> = 1..,
        /// Operations a second, of a burst if there are credits.
        pub iops: Sourced<u64> = 1..=TOKENS_MAX,
        /// Bytes of one operation; larger requests are several.
        pub operation_bytes: Sourced<u32> = 1..,
        /// Whether contiguous requests in flight are one operation.
        pub merges: Sourced<bool>,
        /// Bytes a second.
        pub bytes_per_s: Sourced<u64> = 1..=TOKENS_MAX,
        /// Milliseconds of operations and of bytes that a volume at rest serves at
        /// once.
        pub bucket_ms: Sourced<u32> = 1..,
        /// Operations beyond the lasting rate that a burst may take, when it has
        /// rested long enough; 0 if the rate is the same always.
        pub credits: Sourced<u64> = ..=TOKENS_MAX,
        /// Credits gained a second: operations a second in the long run.
        pub credits_per_s: Sourced<u64> = ..=TOKENS_MAX,
        /// Latencies of the smallest reads: pairs of reads in a million that are
        /// faster, ascending from 0 to 1000000, and microseconds.
        pub read_us: Sourced<Vec<(u32, f64)>>,
        /// The same of writes.
        pub write_us: Sourced<Vec<(u32, f64)>>,
        /// Microseconds more for each KiB.
        pub us_per_kib: Sourced<f64> = 0.0..=KIB_US_MAX,
    }
}

/// The most tokens, and tokens a second, of a bucket: beyond them its level
/// would not be exact in 128 bits.
const TOKENS_MAX: u64 = 1 << 50;

impl Parameters {
    pub(crate) fn check(&self) -> Result<(), Impossible> {
        self.check_bounds()?;
        require(
            *self.credits == 0 || *self.credits_per_s > 0,
            "credits_per_s",
            0,
            "a volume without credits would stand still; without bursts set credits to 0",
        )?;
        Spread::check("read_us", &self.read_us)?;
        Spread::check("write_us", &self.write_us)
    }

    /// Tokens of a full bucket that gains so many a second.
    fn full(&self, rate: u64) -> u64 {
        let tokens = u128::from(rate) * u128::from(*self.bucket_ms) / 1000;
        u64::try_from(tokens).unwrap_or(u64::MAX).max(1)
    }

    /// Its limits, as its buckets keep them.
    pub(crate) fn limits(&self) -> Vec<Limit> {
        let limit = |of, rate: u64| Limit::with_credit(of, rate, self.full(rate));
        let mut limits = vec![
            limit(Quantity::Requests, *self.iops),
            limit(Quantity::Bytes, *self.bytes_per_s),
        ];
        if *self.credits > 0 {
            let (gained, most) = (*self.credits_per_s, *self.credits);
            limits.push(Limit::with_credit(Quantity::Requests, gained, most));
        }
        limits
    }

    pub(crate) fn open(&self, seed: Seed) -> Volume {
        let bucket = |rate: u64| TokenBucket::new(rate, self.full(rate));
        let geometry = Geometry {
            capacity: ByteCount::new(*self.capacity_bytes),
            sector: ByteCount::new(512),
            queue: QueueDepth::new(*self.queue).unwrap_or(QueueDepth::ONE),
        };
        let limits = Limits {
            operations: bucket(*self.iops),
            bytes: bucket(*self.bytes_per_s),
            credits: (*self.credits > 0)
                .then(|| TokenBucket::new(*self.credits_per_s, *self.credits)),
            operation_bytes: *self.operation_bytes,
            merges: *self.merges,
            open: None,
            read: Spread::new(&self.read_us),
            write: Spread::new(&self.write_us),
            transfer: Cost::new(0.0, *self.us_per_kib),
            random: seed.derive("latency", 0).generator(),
            writes_done: Moment::START,
        };
        Volume::limited(geometry, limits)
    }
}

/// A volume with buckets of operations, bytes and credits.
pub type Volume = Foreseen<Limits>;

/// The foresight of a [`Volume`].
pub struct Limits {
    operations: TokenBucket,
    bytes: TokenBucket,
    credits: Option<TokenBucket>,
    operation_bytes: u32,
    merges: bool,
    open: Option<Operation>,
    read: Spread,
    write: Spread,
    transfer: Cost,
    random: Pcg64Mcg,
    writes_done: Moment,
}

/// The last operation, which a contiguous request may join.
#[derive(Clone, Copy)]
struct Operation {
    command: Command,
    end: u64,
    bytes: u32,
    done: Moment,
}

impl Limits {
    /// Operations that this request begins.
    fn operations(&mut self, at: Moment, request: Request) -> u64 {
        let size = self.operation_bytes;
        let joins = self.open.is_some_and(|open| {
            self.merges
                && open.command == request.command
                && open.end == request.offset
                && open.done > at
        });
        let room = match self.open {
            Some(open) if joins => size - open.bytes,
            _ => 0,
        };
        let rest = request.length.saturating_sub(room);
        let begun = rest.div_ceil(size);
        let bytes = match (rest, self.open) {
            (0, Some(open)) if joins => open.bytes + request.length,
            (0, _) => size,
            _ => rest - (begun - 1) * size,
        };
        self.open = Some(Operation {
            command: request.command,
            end: request.end(),
            bytes,
            done: Moment::START,
        });
        // An empty request is an operation as well.
        u64::from(if request.length == 0 { 1 } else { begun })
    }
}

impl Foresight for Limits {
    fn end(&mut self, at: Moment, request: Request) -> Moment {
        let spread = match request.command {
            Command::Read => &self.read,
            Command::Write => &self.write,
            // Writes are durable when they are complete: a flush waits for
            // those before it, and a trim for nothing.
            Command::Flush => return at.max(self.writes_done),
            Command::Trim => return at,
        };
        let latency = spread
            .draw(at, &mut self.random)
            .after(self.transfer.ns(request.length));
        let operations = self.operations(at, request);
        let mut done = latency
            .max(self.operations.take(at, operations))
            .max(self.bytes.take(at, u64::from(request.length)));
        if let Some(credits) = &mut self.credits {
            done = done.max(credits.take(at, operations));
        }
        if let Some(open) = &mut self.open {
            open.done = done;
        }
        if request.command == Command::Write {
            self.writes_done = self.writes_done.max(done);
        }
        done
    }

    /// After a load that has lasted, a volume has no credits left.
    fn precondition(&mut self) {
        if let Some(credits) = &mut self.credits {
            credits.drain();
        }
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::RequestSize;

    use super::*;
    use crate::{
        Completion, Device, Tag,
        catalog::{self, Entry, EntryError},
        point::{Durability, PointSpec},
        probe::{self, Effort},
        request::{Mix, Pattern},
    };

    fn rate(device: &mut dyn Device, mix: Mix, pattern: Pattern, size: u32, depth: u16) -> f64 {
        let spec = PointSpec {
            mix,
            pattern,
            request_size: RequestSize::new(size).unwrap(),
            depth: QueueDepth::new(depth).unwrap(),
            range: ByteCount::mib(8192),
            durability: Durability::Device,
            shift: ByteCount::ZERO,
        };
        probe::measure(device, &spec, Effort::default(), Seed::new(2))
            .unwrap()
            .iops
            .get()
    }

    /// An entry of the catalog with another value.
    fn replaced(name: &str, key: &str, value: &str) -> Result<Entry, EntryError> {
        let text = catalog::find(name)?.to_toml();
        let begins = text.find(&format!("\n{key} = ")).expect("the key is there") + 1;
        let ends = begins + text[begins..].find('\n').expect("lines end");
        let (before, after) = (&text[..begins], &text[ends..]);
        Entry::from_toml(&format!("{before}{key} = [{value}, \"test\"]{after}"))
    }

    fn close(found: f64, expected: f64) {
        assert!(
            (found / expected - 1.0).abs() < 0.01,
            "{found} for {expected}"
        );
    }

    #[test]
    fn a_gp3_volume_has_the_rate_that_it_is_sold_with() {
        for (name, iops, bytes) in [("gp3-3000", 3e3, 125.0), ("gp3-16000", 16e3, 1000.0)] {
            let entry = catalog::find(name).unwrap();
            let bytes = bytes * 1048576.0;
            let open = || entry.open(Seed::new(4));
            close(
                rate(&mut *open(), Mix::READ, Pattern::Random, 4096, 64),
                iops,
            );
            close(
                rate(&mut *open(), Mix::READ_75, Pattern::Random, 16384, 64),
                iops,
            );
            let size = 256 << 10;
            let large = rate(&mut *open(), Mix::WRITE, Pattern::Random, size, 64);
            close(large, bytes / f64::from(size));
            // 1 MiB is four operations, whatever the buckets make of it.
            let size = 1 << 20;
            let large = rate(&mut *open(), Mix::READ, Pattern::Random, size, 64);
            close(large, (bytes / f64::from(size)).min(iops / 4.0));
            // Sequential requests of 16 KiB in flight are merged, so that the
            // bytes are the limit.
            let merged = rate(&mut *open(), Mix::READ, Pattern::Sequential, 16384, 64);
            assert!(merged > 1.5 * iops, "{merged}");
        }
    }

    #[test]
    fn credits_last_for_two_thousand_seconds() {
        // Bytes are not to be the limit: each request stands for 64
        // operations of 256 KiB.
        let entry = replaced("gp2-100", "bytes_per_s", "1000000000000").unwrap();
        let mut device = entry.open(Seed::new(4));
        let request = Request::read(0, 64 * (256 << 10));
        for tag in 0..32 {
            device.submit(Moment::START, Tag(tag), request).unwrap();
        }
        let mut done = Vec::new();
        while device.now() < Moment::nanoseconds(3_000_000_000_000) {
            let Completion { tag, at } = device.next(Moment::NEVER).unwrap().unwrap();
            done.push(at);
            device.submit(at, tag, request).unwrap();
        }
        // 300 credits a second are gained and 3,000 spent: 5.4 million last
        // for 2,000 s.
        let within = |from: u64, to: u64| {
            let seconds = |s: u64| Moment::nanoseconds(s * 1_000_000_000);
            done.iter()
                .filter(|at| (seconds(from)..seconds(to)).contains(at))
                .count() as f64
                * 64.0
                / (to - from) as f64
        };
        close(within(0, 1_000), 3_000.0);
        close(within(1_000, 1_990), 3_000.0);
        close(within(2_010, 3_000), 300.0);
        // Preconditioning empties the bucket at once.
        let mut device = entry.open(Seed::new(4));
        close(
            rate(&mut *device, Mix::WRITE, Pattern::Random, 4096, 8),
            300.0,
        );
    }

    #[test]
    fn flushes_wait_for_writes_and_queues_for_room() {
        let entry = catalog::find("io2").unwrap();
        let mut device = entry.open(Seed::new(1));
        let at = Moment::START;
        for tag in 0..8 {
            device
                .submit(at, Tag(tag), Request::write(u64::from(tag) << 20, 4096))
                .unwrap();
        }
        device.submit(at, Tag(8), Request::FLUSH).unwrap();
        let mut last = Moment::START;
        for _ in 0..8 {
            last = device.next(Moment::NEVER).unwrap().unwrap().at;
        }
        let flush = device.next(Moment::NEVER).unwrap().unwrap();
        assert_eq!((flush.tag, flush.at), (Tag(8), last));
        assert_eq!(device.next(Moment::NEVER).unwrap(), None);
        assert_eq!(device.counters().busy_ns, last.get());
    }

    #[test]
    fn bad_volumes_are_named() {
        for (key, value) in [
            ("iops", "0"),
            ("queue", "0"),
            ("operation_bytes", "0"),
            ("bytes_per_s", "9223372036854775807"),
            ("credits_per_s", "0"),
            ("us_per_kib", "-0.1"),
            ("us_per_kib", "nan"),
            ("read_us", "[[0, 1.0]]"),
            ("capacity_bytes", "0"),
        ] {
            let error = replaced("gp2-100", key, value).unwrap_err();
            assert!(error.to_string().contains(key), "{key}: {error}");
        }
    }
}
