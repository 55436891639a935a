//! What the kernel's page cache holds of a file.

#![expect(unsafe_code, reason = "asks the kernel what is in memory")]

use std::{fs::File, io, os::fd::AsRawFd, path::Path, ptr};

/// The share of a file's memory pages that the kernel holds, 0 to 1; 1 of an empty file.
///
/// # Errors
/// When the file cannot be opened or mapped.
pub(crate) fn share(path: &Path) -> io::Result<f64> {
    let pages = in_memory(path)?;
    match pages.len() {
        0 => Ok(1.0),
        all => Ok(count(&pages) as f64 / all as f64),
    }
}

/// How many memory pages of a file the kernel holds.
#[cfg(test)]
pub(crate) fn resident_pages(path: &Path) -> usize {
    count(&in_memory(path).expect("the file is there"))
}

fn count(pages: &[u8]) -> usize {
    pages.iter().filter(|&&page| page & 1 == 1).count()
}

/// A byte for each memory page, whose last bit says that the kernel holds it (mincore(2)).
fn in_memory(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    if length == 0 {
        return Ok(Vec::new());
    }
    let mut pages = vec![0u8; length.div_ceil(rustix::param::page_size())];
    // SAFETY: maps a file that stays open until after munmap; nothing is read
    // through the map, and the vector has a byte for each memory page.
    let asked = unsafe {
        let map = libc::mmap(
            ptr::null_mut(),
            length,
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        );
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let asked = match libc::mincore(map, length, pages.as_mut_ptr()) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        };
        libc::munmap(map, length);
        asked
    };
    asked.map(|()| pages)
}
