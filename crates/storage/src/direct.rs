//! Whether requests to a file get past the page cache.
//!
//! That a file takes O_DIRECT does not say so: tmpfs takes it since Linux 6.6 and is
//! memory, and ext4 with `data=journal`, encrypted and inlined files take it and go through
//! the page cache. Since Linux 6.1 the kernel tells by statx(2), `STATX_DIOALIGN`: an
//! alignment of 0 means that direct I/O is not supported.

use std::{fs::File, path::Path};

use rustix::fs::{AtFlags, StatxFlags, fstatfs, statx};

use crate::aligned::AlignedBuffer;

/// How requests to a file get at its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectIo {
    /// Past the page cache. Offsets and lengths, and addresses in memory, are multiples of
    /// these numbers of bytes, which are powers of two.
    Aligned {
        /// Of offsets and lengths.
        offset: u32,
        /// Of addresses, at most [`AlignedBuffer::ALIGNMENT`].
        memory: u32,
    },
    /// Past the page cache if the file takes O_DIRECT: the kernel or file system does not
    /// tell more.
    Untold,
    /// Through the page cache, even if the file takes O_DIRECT.
    Cached,
    /// There is no device: the file system is in memory.
    Memory,
}

impl DirectIo {
    /// Direct I/O of an open file, opened with O_DIRECT or not.
    pub fn of_file(file: &File) -> Self {
        if is_memory(file) {
            return Self::Memory;
        }
        match statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) {
            Ok(facts) if facts.stx_mask & StatxFlags::DIOALIGN.bits() != 0 => {
                Self::told(facts.stx_dio_offset_align, facts.stx_dio_mem_align)
            }
            _ => Self::Untold,
        }
    }

    /// Direct I/O of the file at `path`; [`Self::Untold`] if it cannot be opened.
    pub fn of_path(path: &Path) -> Self {
        File::open(path).map_or(Self::Untold, |file| Self::of_file(&file))
    }

    /// What the alignments that the kernel tells mean.
    fn told(offset: u32, memory: u32) -> Self {
        let fits = memory as usize <= AlignedBuffer::ALIGNMENT;
        match offset.is_power_of_two() && memory.is_power_of_two() && fits {
            true => Self::Aligned { offset, memory },
            false => Self::Cached,
        }
    }

    /// Whether a file that takes O_DIRECT is read and written past the page cache, as far
    /// as is known.
    pub fn is_possible(self) -> bool {
        matches!(self, Self::Aligned { .. } | Self::Untold)
    }
}

/// `f_type` of file systems in memory, statfs(2): tmpfs, ramfs and hugetlbfs.
const MEMORY_MAGICS: [u32; 3] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6];

fn is_memory(file: &File) -> bool {
    // The field's type differs between architectures, and some extend the sign.
    #[allow(clippy::unnecessary_cast, clippy::cast_lossless)]
    fstatfs(file).is_ok_and(|about| MEMORY_MAGICS.contains(&(about.f_type as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alignment_of_nothing_is_no_direct_io() {
        // As ext4 with data=journal says.
        assert_eq!(DirectIo::told(0, 0), DirectIo::Cached);
        let aligned = DirectIo::told(512, 4);
        assert_eq!(
            aligned,
            DirectIo::Aligned {
                offset: 512,
                memory: 4
            }
        );
        // Nothing that we have is aligned so.
        assert_eq!(DirectIo::told(512, 1 << 30), DirectIo::Cached);
        assert_eq!(DirectIo::told(513, 4), DirectIo::Cached);
    }

    #[test]
    fn memory_is_no_device() {
        let Ok(file) = tempfile::tempfile_in("/dev/shm") else {
            println!("skipped: no /dev/shm here");
            return;
        };
        assert_eq!(DirectIo::of_file(&file), DirectIo::Memory);
        assert!(!DirectIo::Memory.is_possible());
    }
}
