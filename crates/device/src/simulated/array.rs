//! A flash array: controllers that deduplicate and compress, mirrored NVRAM
//! that acknowledges writes, and drives that are written in large segments.
//!
//! The array addresses 512-byte sectors and packs what remains of them after
//! reduction one after the other, so that a read fetches what it asks for and
//! nothing is written around (Colgrove et al., "Purity: building fast,
//! highly-available enterprise flash storage from commodity components",
//! SIGMOD 2015). A request passes a core of the controllers and the link; a
//! write then the NVRAM, which acknowledges it; a read the drive that holds
//! its fragment. When the NVRAM holds enough for a segment, that is written
//! over all drives, and its room is free when the last drive has it.
//!
//! Times are computed when a request is submitted, from the moments at which
//! each part is free; parts serve in the order of submission. Not covered:
//! reads that the controllers' memory answers; cleaning of segments; reads of
//! drives that are being written, which such an array rebuilds from others
//! rather than waiting.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use octavo_units::{ByteCount, Moment, QueueDepth, Seed};

use super::{
    cost::{COMMAND_US_MAX, Cost, KIB_US_MAX, MB_PER_S_MAX, MB_PER_S_MIN},
    foreseen::{Foreseen, Foresight},
};
use crate::{
    Command, Counters, Geometry, Request,
    sourced::{Impossible, Sourced, parameters, require},
};

parameters! {
    /// Parameters of an [`Array`].
    pub struct Parameters {
        /// Bytes that the host sees.
        pub capacity_bytes: Sourced<u64> = 512..=1 << 60,
        /// Requests that the array holds; more wait in the host.
        pub queue: Sourced<u16> = 1..,
        /// Cores of all controllers, each with one request at a time.
        pub cores: Sourced<u32> = 1..=PARTS_MAX,
        /// Microseconds of a core for a request.
        pub command_us: Sourced<f64> = 0.0..=COMMAND_US_MAX,
        /// Microseconds of a core for each KiB.
        pub command_us_per_kib: Sourced<f64> = 0.0..=KIB_US_MAX,
        /// Microseconds that a request takes besides, others going on.
        pub latency_us: Sourced<f64> = 0.0..=COMMAND_US_MAX,
        /// MB/s (10^6 bytes) to the host, each way.
        pub link_mb_per_s: Sourced<f64> = MB_PER_S_MIN..=MB_PER_S_MAX,
        /// Microseconds until a write is in both mirrors of the NVRAM.
        pub nvram_us: Sourced<f64> = 0.0..=COMMAND_US_MAX,
        /// MB/s (10^6 bytes) into the NVRAM.
        pub nvram_mb_per_s: Sourced<f64> = MB_PER_S_MIN..=MB_PER_S_MAX,
        /// Bytes of the NVRAM, counted once.
        pub nvram_bytes: Sourced<u64> = 512..=1 << 40,
        /// Bytes that the host writes for each byte that is not there yet.
        pub deduplication: Sourced<f64> = 1.0..=1000.0,
        /// Bytes before for each byte after compression.
        pub compression: Sourced<f64> = 1.0..=1000.0,
        /// Drives.
        pub drives: Sourced<u32> = 1..=PARTS_MAX,
        /// Of these, as many as hold parity in each segment.
        pub parity_drives: Sourced<u32>,
        /// Bytes of a segment on all drives, without parity.
        pub segment_bytes: Sourced<u64> = 4096..=1 << 32,
        /// Bytes of the host's addresses that lie together on one drive.
        pub fragment_bytes: Sourced<u32> = 512..,
        /// Microseconds of a drive for a read: reads wait for each other.
        pub drive_command_us: Sourced<f64> = 0.0..=COMMAND_US_MAX,
        /// Microseconds of a drive for each KiB read.
        pub drive_command_us_per_kib: Sourced<f64> = 0.0..=KIB_US_MAX,
        /// Microseconds that a read of a drive takes besides.
        pub drive_latency_us: Sourced<f64> = 0.0..=COMMAND_US_MAX,
        /// MB/s (10^6 bytes) of large writes to a drive.
        pub drive_write_mb_per_s: Sourced<f64> = MB_PER_S_MIN..=MB_PER_S_MAX,
    }
}

/// Cores, and drives, of which a moment each is kept.
const PARTS_MAX: u32 = 4096;

impl Parameters {
    pub(crate) fn check(&self) -> Result<(), Impossible> {
        self.check_bounds()?;
        require(
            *self.parity_drives < *self.drives,
            "parity_drives",
            *self.parity_drives,
            "at least one drive of each segment holds data",
        )?;
        require(
            self.fragment_bytes.is_multiple_of(512),
            "fragment_bytes",
            *self.fragment_bytes,
            "fragments are whole sectors of 512 bytes",
        )
    }

    pub(crate) fn open(&self, seed: Seed) -> Array {
        let data_drives = u64::from(*self.drives - *self.parity_drives);
        let shard_bytes = self.segment_bytes.div_ceil(data_drives);
        let per_million = |ratio: f64| (1e6 / ratio).round() as u64;
        let geometry = Geometry {
            capacity: ByteCount::new(*self.capacity_bytes),
            sector: ByteCount::new(512),
            queue: QueueDepth::new(*self.queue).unwrap_or(QueueDepth::ONE),
        };
        let inside = Inside {
            core: Cost::new(*self.command_us, *self.command_us_per_kib),
            cores: vec![Reverse(Moment::START); *self.cores as usize].into(),
            latency: Cost::new(*self.latency_us, 0.0),
            link: Cost::bandwidth(*self.link_mb_per_s),
            read_link_free: Moment::START,
            write_link_free: Moment::START,
            nvram: Nvram {
                latency: Cost::new(*self.nvram_us, 0.0),
                transfer: Cost::bandwidth(*self.nvram_mb_per_s),
                free: Moment::START,
                capacity: *self.nvram_bytes,
                used: 0,
                open_bytes: 0,
                open_reduced: 0,
                written: VecDeque::new(),
            },
            reduced_per_million: per_million(*self.deduplication * *self.compression),
            compressed_per_million: per_million(*self.compression),
            segment_bytes: *self.segment_bytes,
            stored_bytes: shard_bytes * u64::from(*self.drives),
            shard_ns: Cost::bandwidth(*self.drive_write_mb_per_s).ns(shard_bytes),
            fragment_bytes: u64::from(*self.fragment_bytes),
            drive: Cost::new(*self.drive_command_us, *self.drive_command_us_per_kib),
            drive_latency: Cost::new(*self.drive_latency_us, 0.0),
            drives: vec![Moment::START; *self.drives as usize],
            segments_free: Moment::START,
            places: seed.derive("places", 0),
            media_read_bytes: 0,
            media_written_bytes: 0,
        };
        Array::limited(geometry, inside)
    }
}

/// A flash array.
pub type Array = Foreseen<Inside>;

/// The foresight of an [`Array`].
pub struct Inside {
    core: Cost,
    /// When each core is free.
    cores: BinaryHeap<Reverse<Moment>>,
    latency: Cost,
    link: Cost,
    read_link_free: Moment,
    write_link_free: Moment,
    nvram: Nvram,
    reduced_per_million: u64,
    compressed_per_million: u64,
    segment_bytes: u64,
    /// Bytes of a segment on the drives, parity included.
    stored_bytes: u64,
    /// What each drive takes to write its part of a segment.
    shard_ns: u64,
    fragment_bytes: u64,
    drive: Cost,
    drive_latency: Cost,
    /// When each drive is free to read.
    drives: Vec<Moment>,
    /// When the last segment is on all drives.
    segments_free: Moment,
    places: Seed,
    media_read_bytes: u64,
    media_written_bytes: u64,
}

struct Nvram {
    latency: Cost,
    transfer: Cost,
    free: Moment,
    capacity: u64,
    /// Bytes that are not on the drives yet.
    used: u64,
    /// Of these, those that no segment has been filled with, as they came.
    open_bytes: u64,
    /// And as they will be stored, in millionths of a byte.
    open_reduced: u64,
    /// When the bytes of each segment are on the drives.
    written: VecDeque<(Moment, u64)>,
}

impl Nvram {
    /// Frees what is on the drives at `at`.
    fn release(&mut self, at: Moment) {
        while let Some(&(written, bytes)) = self.written.front()
            && written <= at
        {
            self.used -= bytes;
            self.written.pop_front();
        }
    }
}

impl Inside {
    fn read(&mut self, at: Moment, request: Request) -> Moment {
        let mut fetched = at;
        let mut offset = request.offset;
        while offset < request.end() {
            let fragment = offset / self.fragment_bytes;
            let end = request.end().min((fragment + 1) * self.fragment_bytes);
            // Compressed, in whole sectors.
            let stored = ((end - offset) * self.compressed_per_million).div_ceil(1_000_000);
            let stored = stored.next_multiple_of(512);
            let drive = self.places.derive("drive", fragment).get() % self.drives.len() as u64;
            let free = &mut self.drives[drive as usize];
            *free = at.max(*free).after(self.drive.ns(stored));
            fetched = fetched.max(free.after(self.drive_latency.ns(0u32)));
            self.media_read_bytes += stored;
            offset = end;
        }
        let sent = fetched
            .max(self.read_link_free)
            .after(self.link.ns(request.length));
        self.read_link_free = sent;
        sent
    }

    fn write(&mut self, at: Moment, request: Request) -> Moment {
        let bytes = u64::from(request.length);
        let sent = at
            .max(self.write_link_free)
            .after(self.link.ns(request.length));
        self.write_link_free = sent;
        let mut begins = sent.max(self.nvram.free);
        self.nvram.release(begins);
        while self.nvram.used > 0 && self.nvram.used + bytes > self.nvram.capacity {
            if self.nvram.written.is_empty() {
                // All that it holds is the beginning of a segment.
                self.write_segment(begins);
            }
            if let Some(&(written, _)) = self.nvram.written.front() {
                begins = begins.max(written);
                self.nvram.release(begins);
            }
        }
        self.nvram.free = begins.after(self.nvram.transfer.ns(request.length));
        self.nvram.used += bytes;
        self.nvram.open_bytes += bytes;
        self.nvram.open_reduced += bytes * self.reduced_per_million;
        while self.nvram.open_reduced >= self.segment_bytes * 1_000_000 {
            self.write_segment(self.nvram.free);
        }
        self.nvram.free.after(self.nvram.latency.ns(0u32))
    }

    /// Writes what waits for a segment to the drives, which takes what a drive
    /// takes for its part, since all write at once.
    fn write_segment(&mut self, at: Moment) {
        let nvram = &mut self.nvram;
        let written = at.max(self.segments_free).after(self.shard_ns);
        self.segments_free = written;
        nvram.open_reduced = nvram
            .open_reduced
            .saturating_sub(self.segment_bytes * 1_000_000);
        nvram.written.push_back((written, nvram.open_bytes));
        nvram.open_bytes = 0;
        self.media_written_bytes += self.stored_bytes;
    }
}

impl Foresight for Inside {
    fn end(&mut self, at: Moment, request: Request) -> Moment {
        let core = self.cores.pop().map_or(at, |Reverse(free)| free);
        let computed = at.max(core).after(self.core.ns(request.length));
        self.cores.push(Reverse(computed));
        match request.command {
            Command::Read => self.read(computed, request),
            Command::Write => self.write(computed, request),
            // What is in the NVRAM is durable, and a trim changes tables only.
            // Writes before it may still be on their way there.
            Command::Flush => computed.max(self.nvram.free.after(self.nvram.latency.ns(0u32))),
            Command::Trim => computed,
        }
        .after(self.latency.ns(0u32))
    }

    fn add_media(&self, counters: &mut Counters) {
        counters.media_read_bytes += self.media_read_bytes;
        counters.media_written_bytes += self.media_written_bytes;
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::RequestSize;

    use super::*;
    use crate::{
        Device, Tag,
        catalog::{self, Entry},
        point::{Durability, PointSpec},
        probe::{self, Effort},
        request::{Mix, Pattern},
    };

    fn measure(device: &mut dyn Device, mix: Mix, size: u32, depth: u16) -> (f64, f64) {
        let spec = PointSpec {
            mix,
            pattern: Pattern::Random,
            request_size: RequestSize::new(size).unwrap(),
            depth: QueueDepth::new(depth).unwrap(),
            range: ByteCount::mib(8192),
            durability: Durability::Device,
            shift: ByteCount::ZERO,
        };
        let point = probe::measure(device, &spec, Effort::default(), Seed::new(2)).unwrap();
        (point.iops.get(), point.latency.us_mean)
    }

    fn open() -> Box<dyn Device + Send> {
        catalog::find("flasharray-2012").unwrap().open(Seed::new(1))
    }

    #[test]
    fn page_sizes_make_no_difference() {
        // Twice pure-2012's users, each with one read or write at a time.
        for mix in [Mix::READ, Mix::READ_75] {
            let at = |size| measure(&mut *open(), mix, size, 60);
            let (small, small_us) = at(4096);
            for size in [8192, 16384, 32768] {
                let (iops, us) = at(size);
                assert!(
                    (us - small_us).abs() < 1_000.0,
                    "{size}: {us} and {small_us}"
                );
                assert!(iops / small > 0.7, "{size}: {iops} and {small}");
            }
        }
    }

    #[test]
    fn an_array_moves_no_neighboring_sectors() {
        let mut device = open();
        for size in [512u32, 1536, 4096, 32768] {
            let before = device.counters();
            device
                .submit(
                    device.now(),
                    Tag(0),
                    Request::read(u64::from(size) * 3, size),
                )
                .unwrap();
            device.next(Moment::NEVER).unwrap().unwrap();
            let read = device.counters().since(&before);
            assert!(read.media_read_bytes <= read.read_bytes, "{read:?}");
        }
        // Written bytes are reduced by 1.5 x 2 and grow by parity, 22 / 20;
        // small random writes are not amplified. 820 MB make 32.6 segments.
        let before = device.counters();
        for index in 0..200_000u64 {
            let offset = index.wrapping_mul(7_919) % 1_000_003 * 4096;
            let at = device.now();
            device
                .submit(at, Tag(0), Request::write(offset, 4096))
                .unwrap();
            device.next(Moment::NEVER).unwrap().unwrap();
        }
        let amplified = device.counters().since(&before).write_amplification();
        let expected = 22.0 / 20.0 / 3.0;
        assert!(
            (amplified.unwrap() / expected - 1.0).abs() < 0.05,
            "{amplified:?}"
        );
    }

    /// The array with other values of some parameters.
    fn changed(values: &[(&str, u64)]) -> Box<dyn Device + Send> {
        let text = catalog::find("flasharray-2012").unwrap().to_toml();
        let lines = text.lines().map(|line| {
            let key = line.split_once(" = ").map_or("", |(key, _)| key);
            match values.iter().find(|(changed, _)| *changed == key) {
                Some((key, value)) => format!("{key} = [{value}, \"test\"]\n"),
                None => format!("{line}\n"),
            }
        });
        let text: String = lines.collect();
        Entry::from_toml(&text).unwrap().open(Seed::new(1))
    }

    #[test]
    fn the_largest_segment_on_one_drive_takes_its_time() {
        let iops = |segment_bytes| {
            let mut device = changed(&[
                ("segment_bytes", segment_bytes),
                ("drives", 1),
                ("parity_drives", 0),
                ("drive_write_mb_per_s", 2),
            ]);
            measure(&mut *device, Mix::WRITE, 32768, 32).0
        };
        let (largest, less) = (iops(1 << 32), iops((1 << 32) - 1));
        assert!((largest / less - 1.0).abs() < 0.01, "{largest} and {less}");
    }

    #[test]
    fn a_full_nvram_waits_for_the_drives() {
        let mut device = changed(&[("drive_write_mb_per_s", 2), ("nvram_bytes", 64 << 20)]);
        // Twenty drives of data at 2 MB/s store 40 MB/s, which are 120 MB/s of
        // the host's.
        let (iops, _) = measure(&mut *device, Mix::WRITE, 32768, 32);
        let rate = iops * 32768.0 / 1e6;
        assert!((rate / 120.0 - 1.0).abs() < 0.05, "{rate}");
    }

    #[test]
    fn bad_arrays_are_named() {
        let text = catalog::find("flasharray-2012").unwrap().to_toml();
        for (key, value) in [
            ("cores", "0"),
            ("drives", "1000000"),
            ("parity_drives", "22"),
            ("compression", "0.5"),
            ("deduplication", "nan"),
            ("nvram_bytes", "0"),
            ("segment_bytes", "0"),
            ("fragment_bytes", "100"),
            ("link_mb_per_s", "-1"),
            ("nvram_us", "-1"),
            ("queue", "0"),
        ] {
            let bad: String = text
                .lines()
                .map(|line| match line.split_once(" = ") {
                    Some((name, _)) if name == key => format!("{key} = [{value}, \"test\"]\n"),
                    _ => format!("{line}\n"),
                })
                .collect();
            let error = Entry::from_toml(&bad).unwrap_err();
            assert!(error.to_string().contains(key), "{key}: {error}");
        }
    }
}
