//! What random reads of pages take, by page size.

use std::{num::NonZeroU32, path::Path};

use octavo_device::{
    catalog::Entry,
    point::{Durability, PointSpec},
    preset::Preset,
    probe::{self, Effort},
    profile::Point,
    request::{Mix, Pattern},
};
use octavo_storage::calibrate::{self, calibrate};
use octavo_units::{ByteCount, PageSize, QueueDepth, RequestSize, Seed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{causes::with_causes, directory::existing, error::CampaignError, observer::Observer};

/// How long a random read of a page takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReadTime {
    /// Bytes of the page.
    pub page_size: PageSize,
    /// Mean microseconds, with a read of each client in flight.
    pub us: f64,
}

/// The file that storage is asked with. It only has to be larger than what storage keeps of itself. Chosen.
const FILE: ByteCount = ByteCount::mib(256);

/// The median of so many passes counts: storage that others use differs from one second to the next.
const PASSES: NonZeroU32 = NonZeroU32::new(3).expect("not 0");

/// More clients wait for each other. Chosen.
const DEPTH_MAX: u16 = 256;

fn points(sizes: &[PageSize], clients: u32, range: ByteCount, depth_max: u16) -> Vec<PointSpec> {
    let depth = u16::try_from(clients)
        .unwrap_or(u16::MAX)
        .min(depth_max.min(DEPTH_MAX));
    let point = |size: &PageSize| {
        Some(PointSpec {
            mix: Mix::READ,
            pattern: Pattern::Random,
            request_size: RequestSize::new(size.get()).ok()?,
            depth: QueueDepth::new(depth).unwrap_or(QueueDepth::ONE),
            range,
            durability: Durability::Device,
            shift: ByteCount::ZERO,
        })
    };
    sizes.iter().filter_map(point).collect()
}

fn times(sizes: &[PageSize], points: &[Point]) -> Vec<ReadTime> {
    let all = sizes.iter().zip(points);
    all.map(|(&page_size, point)| ReadTime {
        page_size,
        us: f64::from(point.spec.depth.get()) / point.iops.get() * 1e6,
    })
    .collect()
}

/// Asks a model of a device, over so many bytes of it.
///
/// # Errors
/// A page size that it does not read.
pub fn read_times_of(
    entry: &Entry,
    sizes: &[PageSize],
    clients: u32,
    data: ByteCount,
    seed: Seed,
) -> Result<Vec<ReadTime>, CampaignError> {
    let geometry = entry.open(seed).geometry();
    let range = data.clamp(FILE, geometry.capacity.max(FILE));
    let specs = points(sizes, clients, range, geometry.queue.get());
    let measured = specs.iter().map(|spec| {
        // At rest: no size profits from what was read before.
        let mut device = entry.open(seed);
        probe::measure(device.as_mut(), spec, Effort::default(), seed)
    });
    let measured: Result<Vec<Point>, _> = measured.collect();
    let measured = measured.map_err(|error| {
        CampaignError::Setting(format!("{} cannot be asked: {error}", entry.name))
    })?;
    Ok(times(sizes, &measured))
}

/// Measures the storage under a directory, which need not be there yet.
///
/// # Errors
/// When it cannot be measured, or the observer stops it.
pub fn read_times_here(
    directory: &Path,
    sizes: &[PageSize],
    clients: u32,
    seed: Seed,
    observer: &dyn Observer,
) -> Result<Vec<ReadTime>, CampaignError> {
    let settings = calibrate::Settings {
        preset: Preset::Brief,
        file_size: Some(FILE),
        points: Some(points(sizes, clients, FILE, u16::MAX)),
        passes: PASSES,
        engine: None,
        seed,
    };
    let measured = calibrate(&existing(directory), &settings, &mut |step| {
        let now = format!("ask the storage: {}", step.name);
        observer.progress(&now, step.done, step.total);
        observer.flow()
    });
    let profile = measured.map_err(|error| match error {
        _ if observer.interrupted() => CampaignError::Stopped,
        error => CampaignError::Setting(format!(
            "random reads for sizes of tables: {}. Name another directory, or --device",
            with_causes(&error)
        )),
    })?;
    Ok(times(sizes, &profile.points))
}

#[cfg(test)]
mod tests {
    use octavo_device::catalog;

    use super::*;

    #[test]
    fn a_disk_takes_about_as_long_for_any_page_and_flash_does_not() {
        let sizes = [4, 64].map(PageSize::kib);
        let ratio = |name| {
            let entry = catalog::find(name).unwrap();
            let data = ByteCount::mib(300);
            let times = read_times_of(&entry, &sizes, 1, data, Seed::new(1)).unwrap();
            assert_eq!(times[1].page_size, sizes[1]);
            times[1].us / times[0].us
        };
        let (disk, flash) = (ratio("st373455ss"), ratio("ec"));
        assert!((1.0..1.4).contains(&disk), "{disk}");
        assert!(flash > 1.5, "{flash}");
    }
}
