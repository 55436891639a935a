//! A flash array: controllers that deduplicate and compress, mirrored NVRAM
//! that acknowledges writes, and drives that are written in large segments.
//!
//! The array addresses blocks and packs what remains of them after reduction
//! one after the other. Where they have 512 bytes, as host sectors do, a read
//! fetches what it asks for and nothing is written around (Colgrove et al.,
//! "Purity: building fast, highly-available enterprise flash storage from
//! commodity components", SIGMOD 2015). Larger blocks are hashed, compressed
//! and stored whole: a request that begins or ends within one is as much work
//! as all of it, and a write has the rest read first, unless the NVRAM has it.
//!
//! A request passes a core of the controllers and the link; a write then the
//! NVRAM, which acknowledges it; a read the drive that holds its fragment. When
//! the NVRAM holds enough for a segment, that is written over all drives, and
//! its room is free when the last drive has it.
//!
//! Times are computed when a request is submitted, from the moments at which
//! each part is free; parts serve in the order of submission, but writes pass
//! one that waits for the rest of its block. Not covered:
//! reads that the controllers' memory answers; cleaning of segments; reads of
//! drives that are being written, which such an array rebuilds from others
//! rather than waiting.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, VecDeque},
    ops::Range,
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
        /// Bytes of a block, which is stored whole; a power of two, 512 without this.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub block_bytes: Option<Sourced<u32>> = 512..,
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

/// Bytes of a sector of the host.
const SECTOR: u32 = 512;

impl Parameters {
    pub(crate) fn check(&self) -> Result<(), Impossible> {
        self.check_bounds()?;
        require(
            *self.parity_drives < *self.drives,
            "parity_drives",
            *self.parity_drives,
            "at least one drive of each segment holds data",
        )?;
        let block = self.block();
        require(
            block.is_power_of_two(),
            "block_bytes",
            block,
            "it is a power of two, at least 512",
        )?;
        require(
            self.fragment_bytes.is_multiple_of(block),
            "fragment_bytes",
            *self.fragment_bytes,
            format!("fragments are whole blocks, of {block} bytes"),
        )?;
        require(
            self.capacity_bytes.is_multiple_of(u64::from(block)),
            "capacity_bytes",
            *self.capacity_bytes,
            format!("an array has whole blocks, of {block} bytes"),
        )
    }

    /// Bytes of a block.
    fn block(&self) -> u32 {
        self.block_bytes.as_ref().map_or(SECTOR, |of| of.value)
    }

    pub(crate) fn open(&self, seed: Seed) -> Array {
        let data_drives = u64::from(*self.drives - *self.parity_drives);
        let shard_bytes = self.segment_bytes.div_ceil(data_drives);
        let per_million = |ratio: f64| (1e6 / ratio).round() as u64;
        let geometry = Geometry {
            capacity: ByteCount::new(*self.capacity_bytes),
            sector: ByteCount::new(u64::from(SECTOR)),
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
                segment: 0,
                blocks: Vec::new(),
                held: HashMap::new(),
            },
            reduced_per_million: per_million(*self.deduplication * *self.compression),
            compressed_per_million: per_million(*self.compression),
            segment_bytes: *self.segment_bytes,
            stored_bytes: shard_bytes * u64::from(*self.drives),
            shard_ns: Cost::bandwidth(*self.drive_write_mb_per_s).ns(shard_bytes),
            fragment_bytes: u64::from(*self.fragment_bytes),
            block_bytes: u64::from(self.block()),
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
    block_bytes: u64,
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
    /// Segments on their way to the drives, the oldest first.
    written: VecDeque<Segment>,
    /// The number of the segment that is filled next.
    segment: u64,
    /// Where the blocks of that segment begin; none of blocks that are sectors, which nobody
    /// writes in part.
    blocks: Vec<u64>,
    /// Where the blocks of all segments begin, each with the last one that has it and when it is
    /// whole there.
    held: HashMap<u64, (u64, Moment)>,
}

/// What goes to the drives together.
struct Segment {
    number: u64,
    /// When it is there.
    written: Moment,
    bytes: u64,
    blocks: Vec<u64>,
}

impl Nvram {
    /// Frees what is on the drives at `at`.
    fn release(&mut self, at: Moment) {
        while let Some(segment) = self.written.front()
            && segment.written <= at
        {
            self.used -= segment.bytes;
            for block in &segment.blocks {
                if self
                    .held
                    .get(block)
                    .is_some_and(|(number, _)| *number == segment.number)
                {
                    self.held.remove(block);
                }
            }
            self.written.pop_front();
        }
    }
}

impl Inside {
    /// The blocks that a request lies in.
    fn blocks(&self, request: Request) -> Range<u64> {
        let block = self.block_bytes;
        request.offset / block * block..request.end().next_multiple_of(block)
    }

    /// When the drives have given all bytes of `blocks`.
    fn fetch(&mut self, at: Moment, blocks: Range<u64>) -> Moment {
        let mut fetched = at;
        let mut offset = blocks.start;
        while offset < blocks.end {
            let fragment = offset / self.fragment_bytes;
            let end = blocks.end.min((fragment + 1) * self.fragment_bytes);
            // Compressed, in whole sectors.
            let stored = ((end - offset) * self.compressed_per_million).div_ceil(1_000_000);
            let stored = stored.next_multiple_of(u64::from(SECTOR));
            let drive = self.places.derive("drive", fragment).get() % self.drives.len() as u64;
            let free = &mut self.drives[drive as usize];
            *free = at.max(*free).after(self.drive.ns(stored));
            fetched = fetched.max(free.after(self.drive_latency.ns(0u32)));
            self.media_read_bytes += stored;
            offset = end;
        }
        fetched
    }

    /// When the array has what a write leaves of its first and last block as it is.
    fn fetch_rest(&mut self, at: Moment, request: Request) -> Moment {
        let Range { start, end } = self.blocks(request);
        let (first, last) = (start, end - self.block_bytes);
        let begins_within = start < request.offset;
        let ends_within = request.end() < end;
        let mut fetched = at;
        if begins_within || ends_within && first == last {
            fetched = self.fetch_block(at, first);
        }
        if ends_within && first != last {
            fetched = fetched.max(self.fetch_block(at, last));
        }
        fetched
    }

    /// The same of one block.
    fn fetch_block(&mut self, at: Moment, begin: u64) -> Moment {
        match self.nvram.held.get(&begin) {
            Some((_, whole)) => at.max(*whole),
            None => self.fetch(at, begin..begin + self.block_bytes),
        }
    }

    /// Notes that the NVRAM has blocks, which are whole from then on.
    fn hold(&mut self, blocks: Range<u64>, whole: Moment) {
        if self.block_bytes == u64::from(SECTOR) {
            return;
        }
        for block in blocks.step_by(self.block_bytes as usize) {
            let held = (self.nvram.segment, whole);
            let before = self.nvram.held.insert(block, held);
            if before.is_none_or(|(number, _)| number < self.nvram.segment) {
                self.nvram.blocks.push(block);
            }
        }
    }

    fn read(&mut self, at: Moment, request: Request) -> Moment {
        let blocks = self.blocks(request);
        let fetched = self.fetch(at, blocks);
        let sent = fetched
            .max(self.read_link_free)
            .after(self.link.ns(request.length));
        self.read_link_free = sent;
        sent
    }

    fn write(&mut self, at: Moment, request: Request) -> Moment {
        let blocks = self.blocks(request);
        let bytes = blocks.end - blocks.start;
        let sent = at
            .max(self.write_link_free)
            .after(self.link.ns(request.length));
        self.write_link_free = sent;
        let mut begins = sent.max(self.nvram.free);
        self.nvram.release(begins);
        let whole = self.fetch_rest(sent, request);
        while self.nvram.used > 0 && self.nvram.used + bytes > self.nvram.capacity {
            if self.nvram.written.is_empty() {
                // All that it holds is the beginning of a segment.
                self.write_segment(begins);
            }
            if let Some(segment) = self.nvram.written.front() {
                begins = begins.max(segment.written);
                self.nvram.release(begins);
            }
        }
        let transfer = self.nvram.transfer.ns(bytes);
        self.nvram.free = begins.after(transfer);
        let taken = self.nvram.free.max(whole.after(transfer));
        self.nvram.used += bytes;
        self.nvram.open_bytes += bytes;
        self.nvram.open_reduced += bytes * self.reduced_per_million;
        self.hold(blocks, whole);
        while self.nvram.open_reduced >= self.segment_bytes * 1_000_000 {
            self.write_segment(self.nvram.free);
        }
        taken.after(self.nvram.latency.ns(0u32))
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
        nvram.written.push_back(Segment {
            number: nvram.segment,
            written,
            bytes: nvram.open_bytes,
            blocks: std::mem::take(&mut nvram.blocks),
        });
        nvram.open_bytes = 0;
        nvram.segment += 1;
        self.media_written_bytes += self.stored_bytes;
    }
}

impl Foresight for Inside {
    fn end(&mut self, at: Moment, request: Request) -> Moment {
        let core = self.cores.pop().map_or(at, |Reverse(free)| free);
        // Nothing of a flush.
        let blocks = self.blocks(request);
        let computed = at.max(core).after(self.core.ns(blocks.end - blocks.start));
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

    /// Microseconds of one request alone, and bytes that the drives read for it.
    fn alone(device: &mut dyn Device, request: Request) -> (f64, u64) {
        let (began, before) = (device.now(), device.counters());
        device.submit(began, Tag(0), request).unwrap();
        let over = device.next(Moment::NEVER).unwrap().unwrap().at;
        let read = device.counters().since(&before).media_read_bytes;
        (over.since(began) as f64 / 1e3, read)
    }

    #[test]
    fn parts_of_large_blocks_are_read_before_they_are_written() {
        // Uncompressed, so that bytes are the host's. A read of 4 KiB takes a drive
        // 15 + 4 x 2 us and 120 more.
        let block = 4096u32;
        let values = [("block_bytes", 4096), ("compression", 1)];
        let cost = 15.0 + 4.0 * 2.0 + 120.0;
        let fragment = 32_768;
        let mut device = changed(&values);
        let (whole_us, read) = alone(&mut *device, Request::write(0, 2 * block));
        assert_eq!(read, 0);
        // Shifted, three blocks are touched and hashed, and the outer two are read: at once, as
        // they lie on different drives or, in one fragment, one after the other.
        let at = 4 * fragment - 4096 + 512;
        let (us, read) = alone(&mut *device, Request::write(at, 2 * block));
        assert_eq!(read, 2 * 4096);
        // A core hashes 4 KiB more, the NVRAM takes 4 KiB more, at 2000 MB/s.
        let more = cost + 4.0 * 1.33 + 4096.0 / 2000.0;
        assert!((us - whole_us - more).abs() < 25.0, "{us} and {whole_us}");
        // What lies in the NVRAM is whole there.
        let (us, read) = alone(&mut *device, Request::write(at, 2 * block));
        assert_eq!(read, 0);
        assert!(us < whole_us + 10.0, "{us} and {whole_us}");
        // A log that grows reads the rest of a block once.
        let log = |sector: u64| Request::write((1 << 30) + sector * 512, 512);
        let reads = (0..16).map(|sector| alone(&mut *device, log(sector)).1);
        assert_eq!(reads.sum::<u64>(), 2 * 4096);
        // Reads are of whole blocks.
        let (_, read) = alone(&mut *device, Request::read(at, block));
        assert_eq!(read, 2 * 4096);
        let mut small = changed(&[("compression", 1)]);
        for request in [Request::read(at, block), Request::write(at, block)] {
            let (_, read) = alone(&mut *small, request);
            assert!(read <= 4096, "{request:?}: {read}");
        }
    }

    #[test]
    fn a_write_waits_for_the_rest_that_another_one_has_asked_for() {
        let mut device = changed(&[("block_bytes", 4096), ("compression", 1)]);
        for tag in 0..2 {
            let request = Request::write(u64::from(tag) * 512, 512);
            device.submit(Moment::START, Tag(tag), request).unwrap();
        }
        let ends: Vec<u64> = std::iter::from_fn(|| device.next(Moment::NEVER).unwrap())
            .map(|completion| completion.at.get())
            .collect();
        assert!(ends[0].abs_diff(ends[1]) < 10_000, "{ends:?}");
        assert_eq!(device.counters().media_read_bytes, 4096);
        // Of a whole block in the NVRAM a part is written without a read.
        alone(&mut *device, Request::write(1 << 20, 4096));
        assert_eq!(alone(&mut *device, Request::write(1 << 20, 512)).1, 0);
    }

    #[test]
    fn the_nvram_forgets_blocks_that_are_on_the_drives() {
        let mut device = changed(&[("block_bytes", 4096), ("compression", 1)]);
        let first = Request::write(512, 512);
        assert_eq!(alone(&mut *device, first).1, 4096);
        assert_eq!(alone(&mut *device, first).1, 0);
        // A segment of 8 MiB and more, of a deduplication of 1.5.
        for block in 1..=4096u64 {
            alone(&mut *device, Request::write(block * 4096, 4096));
        }
        assert_eq!(alone(&mut *device, first).1, 4096);
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
            ("block_bytes", "768"),
            ("block_bytes", "256"),
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
