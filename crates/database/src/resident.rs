//! What the kernel's page cache holds of a file.

#![expect(unsafe_code, reason = "asks the kernel what is in memory")]

use std::{fs::File, io, os::fd::AsRawFd, ptr};

/// The share of a file's memory pages that the kernel holds, 0 to 1; 1 of an empty file. The file is
/// one that stays open: to close it would drop all locks that this process has on it (fcntl(2)).
///
/// # Errors
/// When the file cannot be mapped.
pub(crate) fn share(file: &File) -> io::Result<f64> {
    let pages = in_memory(file)?;
    match pages.len() {
        0 => Ok(1.0),
        all => Ok(count(&pages) as f64 / all as f64),
    }
}

/// How many memory pages of a file the kernel holds.
#[cfg(test)]
pub(crate) fn resident_pages(path: &std::path::Path) -> usize {
    let file = File::open(path).expect("the file is there");
    count(&in_memory(&file).expect("it can be mapped"))
}

fn count(pages: &[u8]) -> usize {
    pages.iter().filter(|&&page| page & 1 == 1).count()
}

/// A byte for each memory page, whose last bit says that the kernel holds it (mincore(2)).
fn in_memory(file: &File) -> io::Result<Vec<u8>> {
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
