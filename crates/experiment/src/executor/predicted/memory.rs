//! Whether this machine has the memory that a prediction takes: models keep something of
//! every page, and all cells of a sitting are there at the same time.

use std::fs;

use octavo_units::{ByteCount, PageSize};
use rustix::process::{Resource, getrlimit};

/// What every model keeps of a page at least: its place in the buffer.
const PAGE_BYTES: u64 = 4;

/// What models keep of a page in the buffer, with what they know of those beside it: 1.3 KB
/// (InnoDB, TPC-C, 16 KiB pages alone) to 1.6 KB (all page sizes from 4 KiB on) were seen.
const FRAME_BYTES: u64 = 1536;

/// About the memory that the cells of a prediction take.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Needs {
    cells: u64,
    data: ByteCount,
    /// Address space of all cells, and what of it is written to.
    reserved: ByteCount,
    touched: ByteCount,
}

impl Needs {
    /// A cell with so much data.
    pub(super) fn add(&mut self, data: ByteCount, memory: ByteCount, page_size: PageSize) {
        let pages = |bytes: ByteCount| bytes.get() / u64::from(page_size.get());
        let frames = pages(memory.min(data));
        let pages = pages(data).saturating_mul(PAGE_BYTES);
        let pages = ByteCount::new(pages.saturating_add(frames.saturating_mul(FRAME_BYTES)));
        self.cells += 1;
        self.data = self.data.saturating_add(data);
        self.reserved = self.reserved.saturating_add(pages);
        self.touched = self.touched.saturating_add(pages);
    }

    /// A device of this capacity for each cell, which takes so much address space at rest.
    pub(super) fn add_devices(&mut self, device: ByteCount, capacity: ByteCount) {
        self.reserved = self
            .reserved
            .saturating_add(device.saturating_mul(self.cells));
        // It maps what was written to it.
        let written = self.data.get() as f64 / capacity.get().max(1) as f64;
        let mapped = device.get() as f64 * written.min(self.cells as f64);
        self.touched = self.touched.saturating_add(ByteCount::new(mapped as u64));
    }

    /// Refuses what this machine, or the limit of this process, has not.
    pub(super) fn check(&self) -> Result<(), String> {
        let limit = getrlimit(Resource::As).current;
        let limit = limit.map(|limit| ByteCount::new(limit).saturating_sub(used()));
        self.check_against(available(), limit)
    }

    fn check_against(
        &self,
        available: Option<ByteCount>,
        limit: Option<ByteCount>,
    ) -> Result<(), String> {
        let remedy = "name a smaller --memory, fewer page sizes, or fewer rows, or see --part";
        match (available, limit) {
            (Some(available), _) if self.touched > available => Err(format!(
                "predicting so much data takes about {} of memory, and this machine has \
                 {available} available: {remedy}",
                self.touched
            )),
            (_, Some(limit)) if self.reserved > limit => Err(format!(
                "predicting so much data takes about {} of address space, and the limit of \
                 this process (ulimit -v) leaves {limit}: raise it, or {remedy}",
                self.reserved
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
        let mut needs = Needs::default();
        for _ in 0..2 {
            // 125 Mi pages of 4 bytes each.
            needs.add(gib(500), ByteCount::ZERO, PageSize::new(4096).unwrap());
        }
        let mut buffered = Needs::default();
        buffered.add(gib(500), gib(32), PageSize::new(4096).unwrap());
        let error = buffered.check_against(Some(gib(8)), None).unwrap_err();
        assert!(error.contains("about 12.5 GiB of memory"), "{error}");
        assert!(needs.check_against(Some(gib(1)), Some(gib(1))).is_ok());
        // Half of each device's map.
        needs.add_devices(gib(2), gib(1000));
        let refused = |available, limit| needs.check_against(available, limit).unwrap_err();
        assert!(needs.check_against(None, None).is_ok());
        assert!(needs.check_against(Some(gib(4)), Some(gib(6))).is_ok());
        let error = refused(Some(gib(2)), None);
        assert!(error.contains("this machine has 2 GiB"), "{error}");
        assert!(error.contains("name a smaller --memory"), "{error}");
        let error = refused(Some(gib(4)), Some(gib(4)));
        assert!(error.contains("ulimit -v"), "{error}");
        assert!(used() > ByteCount::ZERO);
        assert!(available().is_some_and(|bytes| bytes > ByteCount::ZERO));
    }
}
