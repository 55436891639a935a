//! How many cells fit into the memory of this machine: models keep something of every page, and
//! all cells of a group are open at the same time.

use std::fs;

use octavo_units::{ByteCount, PageSize};
use rustix::process::{Resource, getrlimit};

/// What every model keeps of a page at least: its place in the buffer.
const PAGE_BYTES: u64 = 4;

/// What models keep of a page in the buffer, with what they know of those beside it: 1.3 KB
/// (InnoDB, TPC-C, 16 KiB pages alone) to 1.6 KB (all page sizes from 4 KiB on) were seen.
const FRAME_BYTES: u64 = 1536;

/// About the memory that cells take which are open at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Address space, and what of it is written to.
    reserved: ByteCount,
    touched: ByteCount,
}

/// A device at rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceSize {
    /// Address space that it takes.
    pub(super) reserved: ByteCount,
    pub(super) capacity: ByteCount,
}

impl Needs {
    /// Of a cell with so much data, on a device of its own.
    pub(super) fn of_cell(
        data: ByteCount,
        memory: ByteCount,
        page_size: PageSize,
        device: &DeviceSize,
    ) -> Self {
        let pages = |bytes: ByteCount| bytes.get() / u64::from(page_size.get());
        let frames = pages(memory.min(data));
        let pages = pages(data).saturating_mul(PAGE_BYTES);
        let pages = ByteCount::new(pages.saturating_add(frames.saturating_mul(FRAME_BYTES)));
        // It maps what was written to it.
        let written = data.get() as f64 / device.capacity.get().max(1) as f64;
        let mapped = device.reserved.get() as f64 * written.min(1.0);
        Self {
            reserved: pages.saturating_add(device.reserved),
            touched: pages.saturating_add(ByteCount::new(mapped as u64)),
        }
    }

    /// Both at the same time.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            reserved: self.reserved.saturating_add(other.reserved),
            touched: self.touched.saturating_add(other.touched),
        }
    }
}

/// Cells that are open together take at most this share of the memory that was available: what
/// they take is estimated. Chosen. One group alone may take all of it.
const SHARE: f64 = 0.875;

/// The memory that there is for cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    available: Option<ByteCount>,
    /// What the limit of this process leaves.
    addresses: Option<ByteCount>,
}

impl Room {
    /// That of this machine now.
    pub(super) fn here() -> Self {
        let limit = getrlimit(Resource::As).current;
        Self {
            available: available(),
            addresses: limit.map(|limit| ByteCount::new(limit).saturating_sub(used())),
        }
    }

    /// So much memory.
    #[cfg(test)]
    pub(super) fn of(available: ByteCount) -> Self {
        Self {
            available: Some(available),
            addresses: None,
        }
    }

    /// Whether some cells fit beside others that are open. What others on this machine have taken
    /// meanwhile is not there.
    pub(super) fn fits(&self, open: Needs, more: Needs) -> bool {
        let all = open.and(more);
        let within = |needs: ByteCount, room: Option<ByteCount>| {
            room.is_none_or(|room| needs.get() as f64 <= SHARE * room.get() as f64)
        };
        within(all.touched, self.available)
            && within(all.reserved, self.addresses)
            && available().is_none_or(|now| more.touched <= now)
    }

    /// Refuses a group of cells that takes more than there is.
    pub(super) fn check(&self, needs: Needs) -> Result<(), String> {
        let remedy = "name a smaller --memory, fewer page sizes, or fewer rows, or see --part";
        match (self.available, self.addresses) {
            (Some(available), _) if needs.touched > available => Err(format!(
                "predicting so much data takes about {} of memory, and this machine has \
                 {available} available: {remedy}",
                needs.touched
            )),
            (_, Some(limit)) if needs.reserved > limit => Err(format!(
                "predicting so much data takes about {} of address space, and the limit of \
                 this process (ulimit -v) leaves {limit}: raise it, or {remedy}",
                needs.reserved
            )),
            _ => Ok(()),
        }
    }
}

/// What the system could give without swapping (proc_meminfo(5)).
fn available() -> Option<ByteCount> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(ByteCount::new(kib.saturating_mul(1024)))
}

/// Address space of this process (proc_pid_statm(5)); 0 where it is not known.
pub(super) fn used() -> ByteCount {
    let pages = fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    let page = rustix::param::page_size() as u64;
    ByteCount::new(pages.unwrap_or_default().saturating_mul(page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prediction_without_memory_for_it_is_refused_with_the_remedy() {
        let gib = |count: u64| ByteCount::mib(count << 10);
        let size = PageSize::new(4096).unwrap();
        let needs = |data, memory, device| {
            let device = DeviceSize {
                reserved: device,
                capacity: gib(1000),
            };
            Needs::of_cell(data, memory, size, &device)
        };
        let room = |available, addresses| Room {
            available,
            addresses,
        };
        // 125 Mi pages of 4 bytes each, and 8 Mi frames of 1,536 bytes.
        let buffered = needs(gib(500), gib(32), ByteCount::ZERO);
        let error = room(Some(gib(8)), None).check(buffered).unwrap_err();
        assert!(error.contains("about 12.5 GiB of memory"), "{error}");
        let one = needs(gib(500), ByteCount::ZERO, ByteCount::ZERO);
        let two = one.and(one);
        assert!(room(Some(gib(1)), Some(gib(1))).check(two).is_ok());
        // Half of each device's map.
        let one = needs(gib(500), ByteCount::ZERO, gib(2));
        let two = one.and(one);
        let refused = |available, limit| room(available, limit).check(two).unwrap_err();
        assert!(room(None, None).check(two).is_ok());
        assert!(room(Some(gib(4)), Some(gib(6))).check(two).is_ok());
        let error = refused(Some(gib(2)), None);
        assert!(error.contains("this machine has 2 GiB"), "{error}");
        assert!(error.contains("name a smaller --memory"), "{error}");
        let error = refused(Some(gib(4)), Some(gib(4)));
        assert!(error.contains("ulimit -v"), "{error}");
        assert!(used() > ByteCount::ZERO);
        assert!(available().is_some_and(|bytes| bytes > ByteCount::ZERO));
    }

    #[test]
    fn cells_fit_beside_others_while_an_eighth_of_the_memory_stays() {
        let needs = |mib| Needs {
            reserved: ByteCount::mib(2 * mib),
            touched: ByteCount::mib(mib),
        };
        let room = Room::of(ByteCount::mib(8));
        for (open, more, fits) in [(0, 7, true), (4, 3, true), (4, 4, false), (8, 0, false)] {
            assert_eq!(room.fits(needs(open), needs(more)), fits, "{open} {more}");
        }
        let limited = Room {
            available: None,
            addresses: Some(ByteCount::mib(16)),
        };
        assert!(limited.fits(needs(4), needs(3)));
        assert!(!limited.fits(needs(4), needs(4)));
        // More than this machine has now.
        let all = Room {
            available: None,
            addresses: None,
        };
        assert!(!all.fits(needs(0), needs(1 << 40)));
    }
}
