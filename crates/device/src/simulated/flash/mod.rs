//! Solid-state drives: chips, a translation layer, a controller and a link.
//!
//! [`Parameters`] are the `[flash]` table of a catalog entry: `[flash.host]`,
//! `[flash.nand]`, and one table of the translation layer, which is named after
//! it. The frame that all drives share is `ssd.rs`, the chips are `nand.rs`,
//! and what firmware does with them is behind the trait of `translation.rs`.
//!
//! Not covered: read disturb, retention and errors; blocks that are written with one
//! bit a cell for a time (models are as they stay under load, when such a cache is
//! full); compression; temperature.

mod ahead;
mod block;
mod blocks;
mod gang;
mod grouping;
mod hybrid;
mod limits;
mod nand;
pub mod page;
mod pool;
mod ssd;
pub mod superblock;
mod timeline;
mod translation;
mod work;

use octavo_units::{ByteCount, QueueDepth};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Device, Geometry,
    sourced::{Impossible, Sourced, parameters, require},
};
use limits::{MB_PER_S_MAX, MB_PER_S_MIN, US_MAX, ns, ps_per_byte};
use nand::{BITS_MAX, Nand, Shape};
use page::PageMapped;
use ssd::{Front, Ssd};

parameters! {
    /// Parameters of a solid-state drive.
    pub struct Parameters {
        /// Bytes that the host sees.
        pub capacity_bytes: Sourced<u64> = 1..=CAPACITY_MAX,
        /// The unit of addressing.
        pub sector_bytes: Sourced<u32> = 512..=65_536,
        /// Queue, link and controller.
        pub host: Host,
        /// The chips.
        pub nand: Chips,
        /// The translation layer, if it maps flash pages.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub page: Option<page::Parameters>,
        /// The translation layer, if it maps superblocks.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub superblock: Option<superblock::Parameters>,
    }
}

parameters! {
    /// Queue, link and controller: `[flash.host]`.
    pub struct Host {
        /// Requests that the drive holds; 1 without native command queueing.
        pub queue: Sourced<u16> = 1..,
        /// MB/s of 10^6 bytes over the link, protocol included.
        pub link_mb_per_s: Sourced<f64> = MB_PER_S_MIN..=MB_PER_S_MAX,
        /// Whether both directions of the link can be used at once.
        pub link: Sourced<Link>,
        /// Microseconds for which each command takes the link besides its data:
        /// frames of commands and states, and turning round. Default: 0.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub link_command_us: Option<Sourced<f64>> = 0.0..=US_MAX,
        /// Microseconds for which a read of any length keeps the controller.
        pub read_command_us: Sourced<f64> = 0.0..=US_MAX,
        /// Microseconds for which a write of any length keeps the controller.
        pub write_command_us: Sourced<f64> = 0.0..=US_MAX,
        /// Microseconds of the controller for each KiB read.
        pub read_us_per_kib: Sourced<f64> = 0.0..=US_MAX,
        /// Microseconds of the controller for each KiB written.
        pub write_us_per_kib: Sourced<f64> = 0.0..=US_MAX,
        /// Microseconds that each request takes besides, next to others: protocol,
        /// interrupts, the host's adapter and driver.
        pub latency_us: Sourced<f64> = 0.0..=US_MAX,
        /// The same for writes, flushes and trims. Default: as of reads.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub write_latency_us: Option<Sourced<f64>> = 0.0..=US_MAX,
        /// Bytes that the drive reads ahead into its memory once reads come in
        /// sequence, at most [`READ_AHEAD_BYTES_MAX`]. Default: 0.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub read_ahead_bytes: Option<Sourced<u32>> = ..=READ_AHEAD_BYTES_MAX,
    }
}

/// The most by which times of a cell's pages differ from their mean.
const SPREAD_MAX: f64 = 0.9;

/// The most that a drive reads ahead: 1 GiB.
pub const READ_AHEAD_BYTES_MAX: u32 = 1 << 30;

/// Whether both directions of a link can be used at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// One direction at a time: SATA.
    HalfDuplex,
    /// Both at once: PCI Express, SAS.
    FullDuplex,
}

parameters! {
    /// The chips: `[flash.nand]`.
    pub struct Chips {
        /// Independent buses between controller and chips.
        pub channels: Sourced<u32> = 1..=256,
        /// Dies that share a channel.
        pub dies_per_channel: Sourced<u32> = 1..=256,
        /// Planes of a die that operate together.
        pub planes: Sourced<u32> = 1..=16,
        /// Flash pages that one plane's block has.
        pub pages_per_block: Sourced<u32> = 1..=16_384,
        /// Bytes of one plane's flash page, without its spare area.
        pub page_bytes: Sourced<u32> = 512..=65_536,
        /// Microseconds that sensing a flash page takes (tR), on average over the
        /// pages of a cell.
        pub read_us: Sourced<f64> = 0.0..=US_MAX,
        /// Microseconds that programming a flash page takes (tPROG), on average over
        /// the pages of a cell.
        pub program_us: Sourced<f64> = 0.0..=US_MAX,
        /// Bits of a cell: successive flash pages of a block are its first, its second
        /// and so on. Default: 1.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub bits_per_cell: Option<Sourced<u32>> = 1..=BITS_MAX as u32,
        /// By what share of `read_us` the first of these pages is read sooner, and the
        /// last one later; those between are evenly spaced. Default: 0.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub read_spread: Option<Sourced<f64>> = 0.0..=SPREAD_MAX,
        /// The same of `program_us`.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub program_spread: Option<Sourced<f64>> = 0.0..=SPREAD_MAX,
        /// The share of the host's reads that has to be repeated with other
        /// thresholds. Default: 0.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub retry_share: Option<Sourced<f64>> = 0.0..=1.0,
        /// Microseconds that repeating it takes in all. Default: 0.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub retry_us: Option<Sourced<f64>> = 0.0..=US_MAX,
        /// Microseconds that erasing a block takes (tBERS).
        pub erase_us: Sourced<f64> = 0.0..=US_MAX,
        /// MB/s of 10^6 bytes over one channel.
        pub channel_mb_per_s: Sourced<f64> = MB_PER_S_MIN..=MB_PER_S_MAX,
        /// Microseconds until a program or an erase makes way for a read; without
        /// it, reads wait until it is over.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub suspend_us: Option<Sourced<f64>> = 0.0..=US_MAX,
        /// What works in parallel.
        pub parallelism: Sourced<Parallelism>,
    }
}

/// What works in parallel inside of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Parallelism {
    /// Successive flash pages lie on successive dies, which work on different
    /// requests at once.
    InterCommand,
    /// All channels work in lock-step on one request: a flash page is as wide
    /// as they are together (a superpage over ganged channels).
    IntraCommand,
}

impl Parameters {
    pub(crate) fn check(&self) -> Result<(), Impossible> {
        self.check_bounds()?;
        let (host, nand) = (self.host.check_bounds(), self.nand.check_bounds());
        host.map_err(|impossible| impossible.within("host"))?;
        nand.map_err(|impossible| impossible.within("nand"))?;
        let (capacity, sector) = (*self.capacity_bytes, *self.sector_bytes);
        let power_of_two = "it is a power of two";
        require(
            sector.is_power_of_two(),
            "sector_bytes",
            sector,
            power_of_two,
        )?;
        let page = *self.nand.page_bytes;
        require(
            page.is_power_of_two(),
            "nand.page_bytes",
            page,
            power_of_two,
        )?;
        let nand = &self.nand;
        for (key, spread) in [
            ("nand.read_spread", &nand.read_spread),
            ("nand.program_spread", &nand.program_spread),
        ] {
            let spread = or_default(spread, 0.0);
            let differ = or_default(&nand.bits_per_cell, 1) > 1;
            let reason = "pages of a cell differ where it has several: give nand.bits_per_cell";
            require(spread == 0.0 || differ, key, spread, reason)?;
        }
        let retries = or_default(&nand.retry_share, 0.0);
        let reason = "reads that are repeated take time: give nand.retry_us as well, or neither";
        let both = nand.retry_share.is_some() == nand.retry_us.is_some();
        require(both, "nand.retry_share", retries, reason)?;
        let whole = capacity.is_multiple_of(u64::from(sector));
        require(
            whole,
            "capacity_bytes",
            capacity,
            "a drive has whole sectors",
        )?;
        let ahead = self.front().ahead_bytes;
        let whole = ahead.is_multiple_of(sector);
        require(
            whole,
            "host.read_ahead_bytes",
            ahead,
            "a drive reads whole sectors ahead",
        )?;
        match (&self.page, &self.superblock) {
            (Some(page), None) => {
                let checked = page.check(capacity, &self.shape());
                checked.map_err(|impossible| impossible.within("page"))
            }
            (None, Some(superblock)) => {
                let bits = or_default(&self.nand.bits_per_cell, 1);
                let reason = "drives that map superblocks have cells of one bit here: leave it out";
                require(bits == 1, "nand.bits_per_cell", bits, reason)?;
                let retries = or_default(&self.nand.retry_share, 0.0);
                let reason = "drives that map superblocks repeat no reads here: leave it out";
                require(retries == 0.0, "nand.retry_share", retries, reason)?;
                superblock.check(capacity, sector, &self.shape())
            }
            _ => Err(Impossible::new(
                "page",
                "none, or not alone",
                "give one table of a translation layer: [flash.page] or [flash.superblock]",
            )),
        }
    }

    /// The drive, full and at rest.
    pub(crate) fn open(&self) -> Box<dyn Device + Send> {
        let shape = self.shape();
        let nand = Nand::new(shape);
        let capacity = self.capacity_bytes.value;
        let (geometry, front) = (self.geometry(), self.front());
        match (&self.page, &self.superblock) {
            (Some(page), None) => {
                let layer = PageMapped::new(page, capacity, &shape);
                Box::new(Ssd::new(geometry, front, nand, layer))
            }
            (None, Some(superblock)) => {
                let layer = superblock.open(capacity, self.sector_bytes.value, &shape);
                Box::new(Ssd::new(geometry, front, nand, layer))
            }
            _ => unreachable!("parameters are checked when they are made"),
        }
    }

    /// A page-mapped drive with as many dies, each with about a `share`th of its blocks
    /// and at least [`PART_BLOCKS_MIN`]; and the share that it is. `None` of drives that
    /// have less than twice as many, and of those that map superblocks.
    pub(crate) fn part(&self, share: u32) -> Option<(Self, u32)> {
        let page = self.page.as_ref()?;
        let shape = self.shape();
        let block = u64::from(shape.page_bytes) * u64::from(shape.pages_per_block);
        let blocks = self.capacity_bytes.value as f64 / (block * u64::from(shape.dies())) as f64;
        let most = share.min((blocks / PART_BLOCKS_MIN) as u32);
        // Dies have whole blocks: of the shares from half as large on, the one whose
        // over-provisioning is the nearest.
        let spare = 1.0 + page.over_provisioning.value;
        let off = |share: u32| {
            let blocks = blocks / f64::from(share);
            ((blocks * spare).round() / blocks - spare).abs()
        };
        let shares = most.div_ceil(2).max(2)..=most;
        let share = shares.min_by(|&one, &other| off(one).total_cmp(&off(other)))?;
        let unit = u64::from(page.unit_bytes.value.max(self.sector_bytes.value));
        let mut part = self.clone();
        part.capacity_bytes.value = self.capacity_bytes.value / u64::from(share) / unit * unit;
        Some((part, share))
    }

    pub(crate) fn geometry(&self) -> Geometry {
        Geometry {
            capacity: ByteCount::new(self.capacity_bytes.value),
            sector: ByteCount::new(u64::from(self.sector_bytes.value)),
            queue: QueueDepth::new(self.host.queue.value).unwrap_or(QueueDepth::ONE),
        }
    }

    pub(crate) fn front(&self) -> Front {
        let host = &self.host;
        let ps_of_kib = |us: f64| (us * 1e6 / 1024.0).round() as u64;
        Front {
            read_ns: ns(host.read_command_us.value),
            write_ns: ns(host.write_command_us.value),
            read_ps_per_byte: ps_of_kib(host.read_us_per_kib.value),
            write_ps_per_byte: ps_of_kib(host.write_us_per_kib.value),
            latency_ns: ns(host.latency_us.value),
            write_latency_ns: ns(host
                .write_latency_us
                .as_ref()
                .unwrap_or(&host.latency_us)
                .value),
            link_ns: ns(or_default(&host.link_command_us, 0.0)),
            link_ps_per_byte: ps_per_byte(host.link_mb_per_s.value),
            duplex: host.link.value == Link::FullDuplex,
            ahead_bytes: or_default(&host.read_ahead_bytes, 0),
        }
    }

    /// The chips as they operate: ganged channels are one that is as wide, and
    /// the planes of a die are one.
    pub(crate) fn shape(&self) -> Shape {
        let nand = &self.nand;
        let ganged = match nand.parallelism.value {
            Parallelism::InterCommand => 1,
            Parallelism::IntraCommand => nand.channels.value,
        };
        Shape {
            channels: nand.channels.value / ganged,
            dies_per_channel: nand.dies_per_channel.value,
            pages_per_block: nand.pages_per_block.value,
            page_bytes: nand.page_bytes.value * nand.planes.value * ganged,
            bits_per_cell: or_default(&nand.bits_per_cell, 1),
            read_ns: by_bit(nand.read_us.value, &nand.read_spread, &nand.bits_per_cell),
            program_ns: by_bit(
                nand.program_us.value,
                &nand.program_spread,
                &nand.bits_per_cell,
            ),
            // Below 2^64, which no hash reaches where each read is repeated.
            retry_below: (or_default(&nand.retry_share, 0.0) * 2_f64.powi(64)) as u64,
            retry_ns: ns(or_default(&nand.retry_us, 0.0)),
            erase_ns: ns(nand.erase_us.value),
            channel_ps_per_byte: ps_per_byte(nand.channel_mb_per_s.value * f64::from(ganged)),
            suspend_ns: nand.suspend_us.as_ref().map(|us| ns(us.value)),
            gang: nand.planes.value * ganged,
        }
    }
}

/// Blocks of a die from which on cleaning does about as on one of thousands: of sata-tlc
/// with 25, 50 and 99 the rates of random writes were 34,800, 36,000 and 34,200 a second.
const PART_BLOCKS_MIN: f64 = 24.0;

/// A parameter that may be left out.
fn or_default<T: Copy>(parameter: &Option<Sourced<T>>, default: T) -> T {
    parameter.as_ref().map_or(default, |sourced| sourced.value)
}

/// The times of a cell's pages around their mean, in nanoseconds.
fn by_bit(
    mean_us: f64,
    spread: &Option<Sourced<f64>>,
    bits: &Option<Sourced<u32>>,
) -> [u64; BITS_MAX] {
    let last = f64::from(or_default(bits, 1) - 1);
    let spread = or_default(spread, 0.0);
    std::array::from_fn(|bit| {
        // From -1 of the first to 1 of the last.
        let place = if last > 0.0 {
            (2.0 * bit as f64 / last - 1.0).min(1.0)
        } else {
            0.0
        };
        ns(mean_us * (1.0 + spread * place))
    })
}

/// 16 TB: more than any drive that is simulated here, and no number overflows.
const CAPACITY_MAX: u64 = 16_000_000_000_000;
