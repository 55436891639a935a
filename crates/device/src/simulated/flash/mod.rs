//! Solid-state drives: chips, a translation layer, a controller and a link.
//!
//! [`Parameters`] are the `[flash]` table of a catalog entry: `[flash.host]`,
//! `[flash.nand]`, and one table of the translation layer, which is named after
//! it. The frame that all drives share is `ssd.rs`, the chips are `nand.rs`,
//! and what firmware does with them is behind the trait of `translation.rs`.
//!
//! Not covered: read disturb, retention and errors; the time of single-,
//! multi- and triple-level pages of one cell (programs take their mean);
//! compression; temperature.

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
use serde::{Deserialize, Serialize};

use crate::{
    Device, Geometry,
    sourced::{Impossible, Sourced, parameters, require},
};
use limits::{MB_PER_S_MAX, MB_PER_S_MIN, US_MAX, ns, ps_per_byte};
use nand::{Nand, Shape};
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
        /// Bytes that the drive reads ahead into its memory once reads come in
        /// sequence, at most [`READ_AHEAD_BYTES_MAX`]. Default: 0.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub read_ahead_bytes: Option<Sourced<u32>> = ..=READ_AHEAD_BYTES_MAX,
    }
}

/// The most that a drive reads ahead: 1 GiB.
pub const READ_AHEAD_BYTES_MAX: u32 = 1 << 30;

/// Whether both directions of a link can be used at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
        /// Microseconds that sensing a flash page takes (tR).
        pub read_us: Sourced<f64> = 0.0..=US_MAX,
        /// Microseconds that programming a flash page takes (tPROG).
        pub program_us: Sourced<f64> = 0.0..=US_MAX,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
            (None, Some(superblock)) => superblock.check(capacity, sector, &self.shape()),
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

    pub(crate) fn geometry(&self) -> Geometry {
        Geometry {
            capacity: ByteCount::new(self.capacity_bytes.value),
            sector: ByteCount::new(u64::from(self.sector_bytes.value)),
            queue: QueueDepth::new(self.host.queue.value).unwrap_or(QueueDepth::ONE),
        }
    }

    pub(crate) fn front(&self) -> Front {
        let host = &self.host;
        let ahead = host.read_ahead_bytes.as_ref();
        let ps_of_kib = |us: f64| (us * 1e6 / 1024.0).round() as u64;
        Front {
            read_ns: ns(host.read_command_us.value),
            write_ns: ns(host.write_command_us.value),
            read_ps_per_byte: ps_of_kib(host.read_us_per_kib.value),
            write_ps_per_byte: ps_of_kib(host.write_us_per_kib.value),
            latency_ns: ns(host.latency_us.value),
            link_ns: host.link_command_us.as_ref().map_or(0, |us| ns(us.value)),
            link_ps_per_byte: ps_per_byte(host.link_mb_per_s.value),
            duplex: host.link.value == Link::FullDuplex,
            ahead_bytes: ahead.map_or(0, |bytes| bytes.value),
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
            read_ns: ns(nand.read_us.value),
            program_ns: ns(nand.program_us.value),
            erase_ns: ns(nand.erase_us.value),
            channel_ps_per_byte: ps_per_byte(nand.channel_mb_per_s.value * f64::from(ganged)),
            suspend_ns: nand.suspend_us.as_ref().map(|us| ns(us.value)),
            gang: nand.planes.value * ganged,
        }
    }
}

/// 16 TB: more than any drive that is simulated here, and no number overflows.
const CAPACITY_MAX: u64 = 16_000_000_000_000;
