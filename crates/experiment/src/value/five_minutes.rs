//! The five-minute rule: how often a page has to be read to belong in memory.
//!
//! Jim Gray and Franco Putzolu, "The 5 Minute Rule for Trading Memory for Disc Accesses and
//! the 10 Byte Rule for Trading Memory for CPU Time", SIGMOD 1987; in the form of Jim Gray and
//! Goetz Graefe, "The Five-Minute Rule Ten Years Later, and Other Computer Storage Rules of
//! Thumb", SIGMOD Record 26(4), 1997:
//!
//! ```text
//! break-even interval = pages per MB of RAM      price per disk
//!                       ------------------- x ------------------
//!                       accesses per second   price per MB of RAM
//! ```
//!
//! A page that is read once in that time costs as much in memory as its share of the disk's
//! accesses. One that is read more often is cheaper to keep in memory.

use octavo_device::{
    Device, DeviceError,
    point::{Durability, PointSpec},
    probe::{self, Effort},
    request::{Mix, Pattern},
};
use octavo_units::{ByteCount, PageSize, QueueDepth, RequestSize, Seed};
use schemars::JsonSchema;
use serde::Serialize;

/// Bytes of a GiB.
const GIB: f64 = (1u64 << 30) as f64;

/// The requests in flight with which a storage is asked. Its price buys all the accesses that
/// it can do, not those of a program that waits for each; 32 is what SATA's queue holds.
pub const DEPTH: u16 = 32;

/// The most bytes over which a storage is asked, as `octavo calibrate --device` does.
pub const RANGE_MAX: ByteCount = ByteCount::mib(16 << 10);

/// The break-even interval in seconds: of pages of so many bytes, on a storage that does so
/// many random reads of that size a second for this price, with memory at this price per GiB.
/// `None` where a figure is not above 0 and finite, or the result is not.
pub fn break_even_s(
    page_bytes: u32,
    reads_per_s: f64,
    storage_price: f64,
    memory_price_per_gib: f64,
) -> Option<f64> {
    let pages_per_gib = GIB / f64::from(page_bytes);
    let found = pages_per_gib / reads_per_s * (storage_price / memory_price_per_gib);
    let is_positive = |value: f64| value.is_finite() && value > 0.0;
    [reads_per_s, storage_price, memory_price_per_gib, found]
        .into_iter()
        .all(is_positive)
        .then_some(found)
}

/// What a storage does of random reads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RandomReads {
    /// Bytes of each.
    pub page_size: PageSize,
    /// How many a second.
    pub per_s: f64,
    /// Requests in flight.
    pub depth: u16,
    /// They lie in this many first bytes.
    pub range: ByteCount,
}

/// Asks a device, which is at rest, for its rate of random reads of a page size, in its own
/// time: with [`DEPTH`] requests in flight, or as many as it takes, over [`RANGE_MAX`] or all
/// of a smaller one.
///
/// # Errors
/// A page size that does not fit the device.
pub fn random_reads<D: Device + ?Sized>(
    device: &mut D,
    page_size: PageSize,
    seed: Seed,
) -> Result<RandomReads, DeviceError> {
    let geometry = device.geometry();
    let range = RANGE_MAX.min(geometry.capacity);
    let request_size = RequestSize::new(page_size.get()).map_err(|_| DeviceError::Range {
        length: page_size.get(),
        range,
    })?;
    let depth = DEPTH.min(geometry.queue.get());
    let spec = PointSpec {
        mix: Mix::READ,
        pattern: Pattern::Random,
        request_size,
        depth: QueueDepth::new(depth).unwrap_or(QueueDepth::ONE),
        range,
        durability: Durability::Device,
        shift: ByteCount::ZERO,
    };
    let point = probe::measure(device, &spec, Effort::default(), seed)?;
    Ok(RandomReads {
        page_size,
        per_s: point.iops.get(),
        depth,
        range,
    })
}

#[cfg(test)]
mod tests {
    use octavo_device::catalog;

    use super::*;

    fn off(found: Option<f64>, published: f64) -> f64 {
        (found.unwrap() / published - 1.0).abs()
    }

    /// Gray and Graefe 1997: 8 KB pages (128 a MB), 64 accesses a second and disk, 2000 $ a
    /// disk, 15 $ a MB.
    #[test]
    fn figures_of_1997_give_266_seconds() {
        let found = break_even_s(8192, 64.0, 2000.0, 15.0 * 1024.0);
        assert!(off(found, 128.0 / 64.0 * (2000.0 / 15.0)) < 1e-12);
        assert_eq!(found.unwrap() as u32, 266);
    }

    /// Gray and Putzolu 1987: an access a second costs 2000 $, a KB of memory 5 $; records of
    /// 1 KB. "Five minutes" is what they rounded 400 seconds to.
    #[test]
    fn figures_of_1987_give_400_seconds() {
        let found = break_even_s(1024, 1.0, 2000.0, 5.0 * 1024.0 * 1024.0);
        assert!(off(found, 400.0) < 1e-12);
    }

    #[test]
    fn unknown_figures_give_nothing() {
        for (reads, storage, memory) in [
            (0.0, 1.0, 1.0),
            (f64::NAN, 1.0, 1.0),
            (1.0, -1.0, 1.0),
            (1.0, 1.0, 0.0),
            (f64::INFINITY, 1.0, 1.0),
            (1e-300, 1e300, 1e-300),
        ] {
            assert_eq!(break_even_s(4096, reads, storage, memory), None);
        }
    }

    #[test]
    fn a_disk_reads_small_pages_hardly_faster_than_large_ones() {
        let entry = catalog::find("st373455ss").unwrap();
        let seed = Seed::new(1);
        let reads = |kib| {
            let mut device = entry.open(seed);
            random_reads(&mut *device, PageSize::kib(kib), seed).unwrap()
        };
        let (small, large) = (reads(4), reads(64));
        assert_eq!((small.depth, small.range), (DEPTH, RANGE_MAX));
        assert!((100.0..1000.0).contains(&small.per_s), "{small:?}");
        assert!(small.per_s > large.per_s && small.per_s < 1.3 * large.per_s);
        // So a page of 4 KiB has to be wanted far less often than one of 64 KiB.
        let interval = |of: RandomReads| break_even_s(of.page_size.get(), of.per_s, 1.0, 1.0);
        let ratio = interval(small).unwrap() / interval(large).unwrap();
        assert!((12.0..16.0).contains(&ratio), "{ratio}");
    }
}
