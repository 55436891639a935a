//! What a disk is made of, as data sheets tell it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    layout::{Layout, Shape},
    mechanism::Mechanism,
    seek::{SeekCurve, SeekTable, SeekTimes},
};
use crate::sourced::{Impossible, Sourced, parameters, require};

parameters! {
    /// Parameters of a [`Disk`](super::Disk).
    pub struct Parameters {
        /// Bytes that it holds.
        pub capacity_bytes: Sourced<u64> = 1 << 20..=1 << 50,
        /// Bytes of a sector.
        pub sector_bytes: Sourced<u32> = 512..=65_536,
        /// Bytes of a sector on the media, where that is larger (512e): a write of a part reads
        /// it first, and comes a revolution later.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        pub physical_sector_bytes: Option<Sourced<u32>> = 512..=65_536,
        /// Surfaces that hold data.
        pub heads: Sourced<u32> = 1..=64,
        /// Revolutions per minute.
        pub rpm: Sourced<u32> = 1_000..=100_000,
        /// Zones of equal recording; they differ in equal steps.
        pub zones: Sourced<u32> = 1..=1_024,
        /// Sustained rate of the outermost zone, where sector 0 is, in MB/s of
        /// 10^6 bytes.
        pub outer_mb_per_s: Sourced<f64> = 0.1..=1e4,
        /// Sustained rate of the innermost zone.
        pub inner_mb_per_s: Sourced<f64> = 0.1..=1e4,
        /// Milliseconds to the next cylinder to read, settling included.
        pub seek_track_read_ms: Sourced<f64> = 0.001..=100.0,
        /// Milliseconds to the next cylinder to write.
        pub seek_track_write_ms: Sourced<f64> = 0.001..=100.0,
        /// Milliseconds to which seeks of more than one cylinder to read tend as
        /// they become short: what the square root of the distance is added to.
        /// Seeks to write take as much longer as they do on average.
        pub seek_short_read_ms: Sourced<f64> = 0.001..=100.0,
        /// Milliseconds of the average seek to read, over all pairs of cylinders.
        pub seek_average_read_ms: Sourced<f64> = 0.001..=100.0,
        /// Milliseconds of the average seek to write.
        pub seek_average_write_ms: Sourced<f64> = 0.001..=100.0,
        /// Milliseconds over all cylinders to read.
        pub seek_full_read_ms: Sourced<f64> = 0.001..=100.0,
        /// Milliseconds over all cylinders to write.
        pub seek_full_write_ms: Sourced<f64> = 0.001..=100.0,
        /// Milliseconds between heads of one cylinder to read.
        pub head_switch_read_ms: Sourced<f64> = 0.001..=100.0,
        /// Milliseconds between heads of one cylinder to write.
        pub head_switch_write_ms: Sourced<f64> = 0.001..=100.0,
        /// Microseconds from a command's arrival until the arm can serve it.
        pub command_us: Sourced<f64> = 0.0..=1e5,
        /// Microseconds of a command that memory serves, without the transfer.
        pub memory_us: Sourced<f64> = 0.0..=1e5,
        /// Rate between memory and host in MB/s.
        pub interface_mb_per_s: Sourced<f64> = 0.1..=1e6,
        /// Commands that the drive holds and reorders.
        pub queue: Sourced<u16> = 1..=4_096,
        /// Which share of the time that a command waited is taken off its
        /// positioning time when the next is chosen: 0 serves the nearest, however
        /// long others wait, and 1 nearly in order.
        pub age_share: Sourced<f64> = 0.0..=1.0,
        /// Bytes of memory for reads, shared by the segments; 0 for none.
        pub read_buffer_bytes: Sourced<u64> = ..=1 << 40,
        /// Reads that memory keeps apart, each with what was read ahead of it.
        pub read_segments: Sourced<u16> = 1..=4_096,
        /// Whether writes are complete once they are in memory.
        pub write_cache: Sourced<WriteCache>,
        /// Writes that memory holds at most with a write cache.
        pub write_cache_commands: Sourced<u16> = 1..=4_096,
    }
}

/// When a write is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteCache {
    /// When it is on the media.
    Off,
    /// When it is in the drive's memory: flush to make it durable.
    On,
}

/// Cylinders at most, for the sake of memory: 8 bytes each are 32 MB. Drives of
/// 2025 have about half a million.
const CYLINDERS_MAX: u32 = 4_000_000;

impl Parameters {
    pub(crate) fn check(&self) -> Result<(), Impossible> {
        self.check_bounds()?;
        let sector = u64::from(*self.sector_bytes);
        require(
            sector.is_power_of_two() && self.capacity_bytes.is_multiple_of(sector),
            "sector_bytes",
            sector,
            "it is a power of two that divides capacity_bytes",
        )?;
        let physical = self.physical_sector();
        require(
            physical.is_power_of_two() && self.capacity_bytes.is_multiple_of(physical),
            "physical_sector_bytes",
            physical,
            "it is a power of two that divides capacity_bytes",
        )?;
        require(
            physical >= sector,
            "physical_sector_bytes",
            physical,
            format!("it is at least sector_bytes, which is {sector}"),
        )?;
        macro_rules! at_most {
            ($($less:ident <= $more:ident,)*) => {$(
                let most = *self.$more;
                let reason = concat!("it is at most ", stringify!($more));
                let reason = format!("{reason}, which is {most}");
                require(*self.$less <= most, stringify!($less), *self.$less, reason)?;
            )*};
        }
        at_most! {
            inner_mb_per_s <= outer_mb_per_s,
            outer_mb_per_s <= interface_mb_per_s,
            seek_average_read_ms <= seek_average_write_ms,
            seek_track_read_ms <= seek_track_write_ms,
            head_switch_read_ms <= head_switch_write_ms,
        }
        self.build().map(drop)
    }

    /// Bytes of a sector on the media.
    pub(super) fn physical_sector(&self) -> u64 {
        let given = self.physical_sector_bytes.as_ref();
        u64::from(given.map_or(*self.sector_bytes, |of| of.value))
    }

    pub(super) fn build(&self) -> Result<Mechanism, Impossible> {
        let head_switch_ns = [&self.head_switch_read_ms, &self.head_switch_write_ms]
            .map(|switch| (**switch * 1e6) as u32);
        let shape = Shape {
            capacity_bytes: *self.capacity_bytes,
            sector_bytes: *self.sector_bytes,
            heads: *self.heads,
            zones: *self.zones,
            revolution_ns: (60_000_000_000 / u64::from(*self.rpm)) as u32,
            outer_rate: *self.outer_mb_per_s * 1e6,
            inner_rate: *self.inner_mb_per_s * 1e6,
            // Long enough for writes, which settle longest.
            head_skew_ns: head_switch_ns[1],
            cylinder_skew_ns: (*self.seek_track_write_ms * 1e6) as u32,
        };
        let impossible =
            |reason: String| Impossible::new("capacity_bytes", *self.capacity_bytes, reason);
        let cylinders = shape.cylinders().unwrap_or(u32::MAX);
        if !(3..=CYLINDERS_MAX).contains(&cylinders) {
            return Err(impossible(format!(
                "these rates, rpm, heads and zones make {cylinders} cylinders of it: 3 to \
                 {CYLINDERS_MAX} will do"
            )));
        }
        let layout =
            Layout::new(&shape).ok_or_else(|| impossible("a track holds nothing".into()))?;
        let settle_ms = *self.seek_average_write_ms - *self.seek_average_read_ms;
        let read = SeekTimes {
            track_ns: *self.seek_track_read_ms * 1e6,
            short_ns: *self.seek_short_read_ms * 1e6,
            average_ns: *self.seek_average_read_ms * 1e6,
            full_ns: *self.seek_full_read_ms * 1e6,
        };
        let write = SeekTimes {
            track_ns: *self.seek_track_write_ms * 1e6,
            short_ns: (*self.seek_short_read_ms + settle_ms) * 1e6,
            average_ns: *self.seek_average_write_ms * 1e6,
            full_ns: *self.seek_full_write_ms * 1e6,
        };
        let curve = |key, times: SeekTimes| {
            SeekCurve::fit(&times, cylinders).map_err(|unfit| {
                let (least, most) = (unfit.least_ns / 1e6, unfit.most_ns / 1e6);
                let reason = format!(
                    "between its shortest and its full seek, an arm has an average from \
                     {least:.3} to {most:.3}"
                );
                Impossible::new(key, times.average_ns / 1e6, reason)
            })
        };
        let read = curve("seek_average_read_ms", read)?;
        let write = curve("seek_average_write_ms", write)?;
        let seeks = SeekTable::new(&read, &write, cylinders);
        let longest_ns = seeks.longest_ns().max(head_switch_ns[1]);
        Ok(Mechanism {
            turns_max: longest_ns.div_ceil(shape.revolution_ns),
            age_share: (*self.age_share * 65_536.0) as u64,
            layout,
            seeks,
            head_switch_ns,
        })
    }
}
