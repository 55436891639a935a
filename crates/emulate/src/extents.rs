//! Where the bytes of files lie on the device.
//!
//! The device's address space is divided into extents of one size. A file is
//! given the lowest free extent when it is first written or allocated at an
//! offset that has none. So what is near in a file is near on the device, files
//! that grow side by side lie interleaved as on any file system, and the same
//! sequence of operations gives the same addresses.

use std::{collections::BTreeSet, sync::Mutex};

use octavo_device::{Command, Geometry, Request};
use octavo_units::ByteCount;

use crate::lock::lock;

/// The device's extents: which are free.
#[derive(Debug)]
pub(crate) struct Space {
    extent_bytes: u64,
    sector_bytes: u64,
    /// Extents that may be used.
    count: u32,
    free: Mutex<Free>,
}

#[derive(Debug, Default)]
struct Free {
    /// Those from here on were never used.
    fresh: u32,
    returned: BTreeSet<u32>,
}

/// No extent is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// The extents of a file, in the order of its bytes; `None` where nothing was
/// ever written.
#[derive(Debug, Default)]
pub(crate) struct Layout(Vec<Option<u32>>);

/// Extents are not smaller, so that requests are rarely cut in two...
const EXTENT_MIN: u64 = 1 << 20;
/// ...nor larger, so that small files do not fill the device,
const EXTENT_MAX: u64 = 64 << 20;
/// and between that a device has this many.
const EXTENTS: u64 = 1 << 14;

impl Space {
    /// The extents of a device, as far as `limit` allows.
    pub(crate) fn new(geometry: Geometry, limit: Option<ByteCount>) -> Self {
        let capacity = geometry.capacity.get();
        let sector_bytes = geometry.sector.get().max(1);
        let usable = limit.map_or(capacity, |limit| limit.get().min(capacity));
        let wanted = (capacity / EXTENTS)
            .checked_next_power_of_two()
            .unwrap_or(EXTENT_MAX)
            .clamp(EXTENT_MIN, EXTENT_MAX);
        // Small limits and devices still have extents to give.
        let wanted = wanted.min((usable / 16).max(sector_bytes));
        let extent_bytes = wanted / sector_bytes * sector_bytes;
        Self {
            extent_bytes,
            sector_bytes,
            count: u32::try_from(usable / extent_bytes).unwrap_or(u32::MAX),
            free: Mutex::default(),
        }
    }

    /// Bytes of all extents.
    pub(crate) fn total_bytes(&self) -> u64 {
        u64::from(self.count) * self.extent_bytes
    }

    /// Bytes of extents that no file has.
    pub(crate) fn free_bytes(&self) -> u64 {
        let free = lock(&self.free);
        (u64::from(self.count - free.fresh) + free.returned.len() as u64) * self.extent_bytes
    }

    fn take(&self) -> Result<u32, Full> {
        let mut free = lock(&self.free);
        if let Some(lowest) = free.returned.pop_first() {
            return Ok(lowest);
        }
        if free.fresh == self.count {
            return Err(Full);
        }
        free.fresh += 1;
        Ok(free.fresh - 1)
    }

    fn give_back(&self, extent: u32) {
        let mut free = lock(&self.free);
        free.returned.insert(extent);
    }
}

impl Layout {
    /// Gives `length` bytes from `offset` on extents where they have none.
    ///
    /// # Errors
    /// [`Full`]; what could be given stays given.
    pub(crate) fn allocate(&mut self, space: &Space, offset: u64, length: u64) -> Result<(), Full> {
        if length == 0 {
            return Ok(());
        }
        let end = offset.checked_add(length).ok_or(Full)?;
        let last = (end - 1) / space.extent_bytes;
        if last >= u64::from(space.count) {
            // A sparse file may be longer than the device. What it holds may
            // not, but its list of extents would be.
            if last >= SPARSE_EXTENTS_MAX {
                return Err(Full);
            }
        }
        let (first, last) = ((offset / space.extent_bytes) as usize, last as usize);
        if self.0.len() <= last {
            self.0.resize(last + 1, None);
        }
        for extent in &mut self.0[first..=last] {
            if extent.is_none() {
                *extent = Some(space.take()?);
            }
        }
        Ok(())
    }

    /// What the device is asked for these bytes of the file: whole sectors, a
    /// request for each run of adjacent extents, none where there are no
    /// extents.
    pub(crate) fn requests(
        &self,
        space: &Space,
        command: Command,
        offset: u64,
        length: u64,
    ) -> Vec<Request> {
        let mut requests: Vec<Request> = Vec::new();
        let end = offset.saturating_add(length);
        let mut at = offset;
        while at < end {
            let index = at / space.extent_bytes;
            let extent_end = (index + 1) * space.extent_bytes;
            let stop = end.min(extent_end);
            if let Some(Some(extent)) = usize::try_from(index)
                .ok()
                .and_then(|index| self.0.get(index))
            {
                let base = u64::from(*extent) * space.extent_bytes;
                let within = at % space.extent_bytes;
                let from = base + within / space.sector_bytes * space.sector_bytes;
                let until = base + (within + (stop - at)).next_multiple_of(space.sector_bytes);
                match requests.last_mut() {
                    Some(last) if last.end() == from => last.length += (until - from) as u32,
                    _ => requests.push(Request {
                        command,
                        offset: from,
                        length: (until - from) as u32,
                    }),
                }
            } else if index as usize >= self.0.len() {
                break;
            }
            at = stop;
        }
        requests
    }

    /// Gives back the extents behind `size` bytes and tells what to trim.
    pub(crate) fn shrink(&mut self, space: &Space, size: u64) -> Vec<Request> {
        let keep = usize::try_from(size.div_ceil(space.extent_bytes)).unwrap_or(usize::MAX);
        if keep >= self.0.len() {
            return Vec::new();
        }
        let gone = self.0.split_off(keep);
        release(space, gone)
    }

    /// Gives back the extents that lie wholly within these bytes.
    pub(crate) fn punch(&mut self, space: &Space, offset: u64, length: u64) -> Vec<Request> {
        let first = usize::try_from(offset.div_ceil(space.extent_bytes)).unwrap_or(usize::MAX);
        let end = offset.saturating_add(length) / space.extent_bytes;
        let end = usize::try_from(end).unwrap_or(usize::MAX).min(self.0.len());
        if first >= end {
            return Vec::new();
        }
        let gone = self.0[first..end].iter_mut().map(Option::take).collect();
        release(space, gone)
    }

    /// Bytes of its extents.
    pub(crate) fn allocated_bytes(&self, space: &Space) -> u64 {
        self.0.iter().flatten().count() as u64 * space.extent_bytes
    }
}

/// Entries of a layout at most: 64 TiB of extents of 64 MiB take 8 MiB of
/// memory.
const SPARSE_EXTENTS_MAX: u64 = 1 << 20;

fn release(space: &Space, extents: Vec<Option<u32>>) -> Vec<Request> {
    extents
        .into_iter()
        .flatten()
        .map(|extent| {
            space.give_back(extent);
            Request::trim(
                u64::from(extent) * space.extent_bytes,
                space.extent_bytes as u32,
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use octavo_units::QueueDepth;

    use super::*;

    fn space(capacity: ByteCount, sector: u64) -> Space {
        let geometry = Geometry {
            capacity,
            sector: ByteCount::new(sector),
            queue: QueueDepth::new(1).unwrap(),
        };
        Space::new(geometry, None)
    }

    #[test]
    fn a_file_lies_in_the_order_of_its_bytes_and_in_whole_sectors() {
        let space = space(ByteCount::mib(64), 4096);
        let (mut one, mut other) = (Layout::default(), Layout::default());
        one.allocate(&space, 0, 2 << 20).unwrap();
        other.allocate(&space, 0, 1).unwrap();
        one.allocate(&space, 2 << 20, 1).unwrap();
        // Extents 0 and 1 are adjacent and one request; 3 is not.
        let requests = one.requests(&space, Command::Read, (1 << 20) - 512, 1024);
        assert_eq!(requests, [Request::read((1 << 20) - 4096, 8192)]);
        let requests = one.requests(&space, Command::Write, (2 << 20) - 4096, 8192);
        assert_eq!(
            requests,
            [
                Request::write((2 << 20) - 4096, 4096),
                Request::write(3 << 20, 4096)
            ]
        );
        // Holes and what lies behind the end take no request.
        assert_eq!(other.requests(&space, Command::Read, 1 << 20, 4096), []);
        let mut sparse = Layout::default();
        sparse.allocate(&space, 5 << 20, 4096).unwrap();
        assert_eq!(
            sparse.requests(&space, Command::Read, 0, 6 << 20),
            [Request::read(4 << 20, 1 << 20)]
        );
    }

    #[test]
    fn space_runs_out_and_comes_back_trimmed() {
        let space = space(ByteCount::mib(64), 512);
        let mut layout = Layout::default();
        assert_eq!(layout.allocate(&space, 0, 65 << 20), Err(Full));
        assert_eq!(space.free_bytes(), 0);
        let trimmed = layout.shrink(&space, (62 << 20) + 1);
        assert_eq!(trimmed, [Request::trim(63 << 20, 1 << 20)]);
        assert_eq!(
            layout.punch(&space, 1, 3 << 20),
            [
                Request::trim(1 << 20, 1 << 20),
                Request::trim(2 << 20, 1 << 20)
            ]
        );
        assert_eq!(space.free_bytes(), 3 << 20);
        assert_eq!(layout.allocated_bytes(&space), 61 << 20);
        // The lowest comes first.
        let mut other = Layout::default();
        other.allocate(&space, 0, 1).unwrap();
        assert_eq!(
            other.requests(&space, Command::Read, 0, 512),
            [Request::read(1 << 20, 512)]
        );
        // Offsets near the end of all numbers are refused, not computed.
        assert_eq!(other.allocate(&space, u64::MAX - 1, 2), Err(Full));
        assert_eq!(other.allocate(&space, 1 << 62, 1), Err(Full));
    }

    #[test]
    fn small_devices_have_extents_too() {
        let space = space(ByteCount::new(16 * 512), 512);
        assert_eq!(space.total_bytes(), 16 * 512);
        let mut layout = Layout::default();
        assert!(layout.allocate(&space, 0, 16 * 512).is_ok());
        assert_eq!(layout.allocate(&space, 16 * 512, 1), Err(Full));
    }
}
