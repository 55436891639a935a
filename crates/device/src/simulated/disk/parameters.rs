//! What a disk is made of, as data sheets tell it.

use serde::{Deserialize, Serialize};

use super::{
    layout::{Layout, Shape},
    mechanism::Mechanism,
    seek::{SeekCurve, SeekTable, SeekTimes},
};
use crate::sourced::{Impossible, Sourced};

/// Parameters of a [`Disk`](super::Disk).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Bytes that it holds.
    pub capacity_bytes: Sourced<u64>,
    /// Bytes of a sector.
    pub sector_bytes: Sourced<u32>,
    /// Surfaces that hold data.
    pub heads: Sourced<u32>,
    /// Revolutions per minute.
    pub rpm: Sourced<u32>,
    /// Zones of equal recording; they differ in equal steps.
    pub zones: Sourced<u32>,
    /// Sustained rate of the outermost zone, where sector 0 is, in MB/s of
    /// 10^6 bytes.
    pub outer_mb_per_s: Sourced<f64>,
    /// Sustained rate of the innermost zone.
    pub inner_mb_per_s: Sourced<f64>,
    /// Milliseconds to the next cylinder to read, settling included.
    pub seek_track_read_ms: Sourced<f64>,
    /// Milliseconds to the next cylinder to write.
    pub seek_track_write_ms: Sourced<f64>,
    /// Milliseconds to which seeks of more than one cylinder to read tend as
    /// they become short: what the square root of the distance is added to.
    /// Seeks to write take as much longer as they do on average.
    pub seek_short_read_ms: Sourced<f64>,
    /// Milliseconds of the average seek to read, over all pairs of cylinders.
    pub seek_average_read_ms: Sourced<f64>,
    /// Milliseconds of the average seek to write.
    pub seek_average_write_ms: Sourced<f64>,
    /// Milliseconds over all cylinders to read.
    pub seek_full_read_ms: Sourced<f64>,
    /// Milliseconds over all cylinders to write.
    pub seek_full_write_ms: Sourced<f64>,
    /// Milliseconds between heads of one cylinder to read.
    pub head_switch_read_ms: Sourced<f64>,
    /// Milliseconds between heads of one cylinder to write.
    pub head_switch_write_ms: Sourced<f64>,
    /// Microseconds from a command's arrival until the arm can serve it.
    pub command_us: Sourced<f64>,
    /// Microseconds of a command that memory serves, without the transfer.
    pub memory_us: Sourced<f64>,
    /// Rate between memory and host in MB/s.
    pub interface_mb_per_s: Sourced<f64>,
    /// Commands that the drive holds and reorders.
    pub queue: Sourced<u16>,
    /// Which share of the time that a command waited is taken off its
    /// positioning time when the next is chosen: 0 serves the nearest, however
    /// long others wait, and 1 nearly in order.
    pub age_share: Sourced<f64>,
    /// Bytes of memory for reads, shared by the segments; 0 for none.
    pub read_buffer_bytes: Sourced<u64>,
    /// Reads that memory keeps apart, each with what was read ahead of it.
    pub read_segments: Sourced<u16>,
    /// Whether writes are complete once they are in memory.
    pub write_cache: Sourced<WriteCache>,
    /// Writes that memory holds at most with a write cache.
    pub write_cache_commands: Sourced<u16>,
}

/// When a write is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
const CAPACITY_BYTES_MAX: u64 = 1 << 50;

impl Parameters {
    pub(crate) fn check(&self) -> Result<(), Impossible> {
        self.check_ranges()?;
        self.check_order()?;
        self.build().map(drop)
    }

    /// Every value by itself; NaN lies in no range.
    fn check_ranges(&self) -> Result<(), Impossible> {
        let whole = [
            (
                "disk.capacity_bytes",
                *self.capacity_bytes,
                1 << 20,
                CAPACITY_BYTES_MAX,
            ),
            (
                "disk.sector_bytes",
                u64::from(*self.sector_bytes),
                512,
                65_536,
            ),
            ("disk.heads", u64::from(*self.heads), 1, 64),
            ("disk.rpm", u64::from(*self.rpm), 1_000, 100_000),
            ("disk.zones", u64::from(*self.zones), 1, 1_024),
            ("disk.queue", u64::from(*self.queue), 1, 4_096),
            (
                "disk.read_segments",
                u64::from(*self.read_segments),
                1,
                4_096,
            ),
            (
                "disk.read_buffer_bytes",
                *self.read_buffer_bytes,
                0,
                1 << 40,
            ),
            (
                "disk.write_cache_commands",
                u64::from(*self.write_cache_commands),
                1,
                4_096,
            ),
        ];
        for (key, value, least, most) in whole {
            if !(least..=most).contains(&value) {
                let reason = format!("it is from {least} to {most}");
                return Err(Impossible::new(key, value, reason));
            }
        }
        let measured = [
            ("disk.outer_mb_per_s", *self.outer_mb_per_s, 0.1, 1e4),
            ("disk.inner_mb_per_s", *self.inner_mb_per_s, 0.1, 1e4),
            (
                "disk.seek_track_read_ms",
                *self.seek_track_read_ms,
                0.001,
                100.0,
            ),
            (
                "disk.seek_track_write_ms",
                *self.seek_track_write_ms,
                0.001,
                100.0,
            ),
            (
                "disk.seek_short_read_ms",
                *self.seek_short_read_ms,
                0.001,
                100.0,
            ),
            (
                "disk.seek_average_read_ms",
                *self.seek_average_read_ms,
                0.001,
                100.0,
            ),
            (
                "disk.seek_average_write_ms",
                *self.seek_average_write_ms,
                0.001,
                100.0,
            ),
            (
                "disk.seek_full_read_ms",
                *self.seek_full_read_ms,
                0.001,
                100.0,
            ),
            (
                "disk.seek_full_write_ms",
                *self.seek_full_write_ms,
                0.001,
                100.0,
            ),
            (
                "disk.head_switch_read_ms",
                *self.head_switch_read_ms,
                0.001,
                100.0,
            ),
            (
                "disk.head_switch_write_ms",
                *self.head_switch_write_ms,
                0.001,
                100.0,
            ),
            ("disk.command_us", *self.command_us, 0.0, 1e5),
            ("disk.memory_us", *self.memory_us, 0.0, 1e5),
            (
                "disk.interface_mb_per_s",
                *self.interface_mb_per_s,
                0.1,
                1e6,
            ),
            ("disk.age_share", *self.age_share, 0.0, 1.0),
        ];
        for (key, value, least, most) in measured {
            if !(least..=most).contains(&value) {
                let reason = format!("it is from {least} to {most}");
                return Err(Impossible::new(key, value, reason));
            }
        }
        Ok(())
    }

    /// Values against each other.
    fn check_order(&self) -> Result<(), Impossible> {
        let sector = u64::from(*self.sector_bytes);
        if !sector.is_power_of_two() || !self.capacity_bytes.is_multiple_of(sector) {
            return Err(Impossible::new(
                "disk.sector_bytes",
                sector,
                "it is a power of two that divides capacity_bytes",
            ));
        }
        let ordered = [
            (
                "disk.inner_mb_per_s",
                *self.inner_mb_per_s,
                "outer_mb_per_s",
                *self.outer_mb_per_s,
            ),
            (
                "disk.outer_mb_per_s",
                *self.outer_mb_per_s,
                "interface_mb_per_s",
                *self.interface_mb_per_s,
            ),
            (
                "disk.seek_average_read_ms",
                *self.seek_average_read_ms,
                "seek_average_write_ms",
                *self.seek_average_write_ms,
            ),
            (
                "disk.seek_track_read_ms",
                *self.seek_track_read_ms,
                "seek_track_write_ms",
                *self.seek_track_write_ms,
            ),
            (
                "disk.head_switch_read_ms",
                *self.head_switch_read_ms,
                "head_switch_write_ms",
                *self.head_switch_write_ms,
            ),
        ];
        for (key, value, bound, most) in ordered {
            if value > most {
                let reason = format!("it is at most {bound}, which is {most}");
                return Err(Impossible::new(key, value, reason));
            }
        }
        Ok(())
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
            |reason: String| Impossible::new("disk.capacity_bytes", *self.capacity_bytes, reason);
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
        let read = curve("disk.seek_average_read_ms", read)?;
        let write = curve("disk.seek_average_write_ms", write)?;
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
