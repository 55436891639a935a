//! What the kernel's page cache holds of a file.

#![expect(unsafe_code, reason = "asks the kernel what is in memory")]

use std::{fs::File, os::fd::AsRawFd, path::Path, ptr};

/// How many memory pages of a file the kernel holds.
pub(crate) fn resident_pages(path: &Path) -> usize {
    let file = File::open(path).expect("the file is there");
    let length = file.metadata().expect("it is open").len() as usize;
    // SAFETY: maps a file that stays open until after munmap; nothing is read
    // through the map, and the vector has a byte for each memory page.
    unsafe {
        let map = libc::mmap(
            ptr::null_mut(),
            length,
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        );
        assert_ne!(map, libc::MAP_FAILED);
        let mut pages = vec![0u8; length.div_ceil(4096)];
        assert_eq!(libc::mincore(map, length, pages.as_mut_ptr()), 0);
        libc::munmap(map, length);
        pages.iter().filter(|&&page| page & 1 == 1).count()
    }
}
