//! The file that is measured: made without a name, so that nothing is left
//! behind however the process ends.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::Path,
};

use crate::{aligned::AlignedBuffer, direct::DirectIo, error::CalibrateError};
use octavo_device::profile::Access;
use octavo_units::ByteCount;
use rustix::fs::{Advice, FallocateFlags};

/// An open file to measure on.
#[derive(Debug)]
pub struct Target {
    file: File,
    size: ByteCount,
    access: Access,
    alignment: u32,
}

impl Target {
    /// Makes an unnamed file of `size` bytes in `directory`, allocated but
    /// not yet written. It goes away with this value or the process.
    ///
    /// # Errors
    /// [`CalibrateError::NoSpace`] when less than twice the size is free, and
    /// [`CalibrateError::File`] when the file cannot be made.
    pub fn create(directory: &Path, size: ByteCount) -> Result<Self, CalibrateError> {
        let failed = |action| {
            move |source| CalibrateError::File {
                action,
                directory: directory.to_owned(),
                source,
            }
        };
        let needed = size;
        let free = free_space(directory).map_err(failed("ask for free space in"))?;
        // Half of it stays free: a full file system slows down, and others
        // write too.
        if needed.saturating_mul(2) > free {
            return Err(CalibrateError::NoSpace {
                directory: directory.to_owned(),
                needed: needed.saturating_mul(2),
                free,
            });
        }
        let file = unnamed(directory).map_err(failed("create a file in"))?;
        match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, size.get()) {
            Ok(()) => {}
            Err(rustix::io::Errno::OPNOTSUPP) => file
                .set_len(size.get())
                .map_err(failed("extend a file in"))?,
            Err(errno) => return Err(failed("allocate a file in")(errno.into())),
        }
        Self::over(file).map_err(failed("measure on a file in"))
    }

    /// Measures on a file that is open for reading and writing and whose
    /// content may be overwritten. Switches it to direct I/O where it can.
    ///
    /// # Errors
    /// The system does not tell the file's size or does not let its flags be
    /// set.
    pub fn over(file: File) -> io::Result<Self> {
        let size = ByteCount::new(file.metadata()?.size());
        let direct = DirectIo::of_file(&file);
        let alignment = direct_alignment(&file, direct);
        if alignment.is_none() {
            set_direct(&file, false)?;
            // Read-ahead would make random reads look like something else.
            rustix::fs::fadvise(&file, 0, None, Advice::Random)?;
        }
        Ok(Self {
            file,
            size,
            access: match alignment {
                Some(_) => Access::Direct,
                None if direct == DirectIo::Memory => Access::Memory,
                None => Access::Buffered,
            },
            alignment: alignment.unwrap_or(1),
        })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// The file's size.
    pub fn size(&self) -> ByteCount {
        self.size
    }

    /// Whether requests bypass the page cache.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Offsets and sizes of direct requests are multiples of this, in bytes;
    /// 1 for buffered access.
    pub fn alignment(&self) -> u32 {
        self.alignment
    }

    /// Makes everything written durable and, for buffered access, drops it
    /// from the page cache as far as the kernel follows.
    pub(crate) fn settle(&self) -> io::Result<()> {
        self.file.sync_data()?;
        if self.access != Access::Direct {
            rustix::fs::fadvise(&self.file, 0, None, Advice::DontNeed)?;
        }
        Ok(())
    }
}

/// Bytes that this user may still write under `directory`.
///
/// # Errors
/// A directory that cannot be looked at.
pub fn free_space(directory: &Path) -> io::Result<ByteCount> {
    let space = rustix::fs::statvfs(directory)?;
    Ok(ByteCount::new(
        space.f_bavail.saturating_mul(space.f_frsize),
    ))
}

/// Opens a file that has no name (`O_TMPFILE`), or that loses it at once
/// where the file system cannot make one without.
fn unnamed(directory: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    match options
        .clone()
        .custom_flags(libc::O_TMPFILE)
        .open(directory)
    {
        Err(error)
            if matches!(
                error.raw_os_error(),
                Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL)
            ) => {}
        other => return other,
    }
    let path = directory.join(format!(".octavo-calibrate-{}", std::process::id()));
    let file = options.create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

fn set_direct(file: &File, on: bool) -> io::Result<()> {
    let mut flags = rustix::fs::fcntl_getfl(file)?;
    flags.set(rustix::fs::OFlags::DIRECT, on);
    Ok(rustix::fs::fcntl_setfl(file, flags)?)
}

/// `BTRFS_SUPER_MAGIC` (statfs(2)).
fn is_btrfs(file: &File) -> bool {
    // The field's type differs between architectures, and some extend the sign.
    #[allow(clippy::unnecessary_cast, clippy::cast_lossless)]
    rustix::fs::fstatfs(file).is_ok_and(|about| about.f_type as u32 == 0x9123_683e)
}

/// Switches the file to direct I/O and returns the alignment that requests
/// need, or `None` when it cannot be had.
fn direct_alignment(file: &File, direct: DirectIo) -> Option<u32> {
    let candidates = match direct {
        DirectIo::Aligned { offset, .. } => vec![offset],
        // Takes other offsets through the page cache, and does not say so.
        DirectIo::Untold if is_btrfs(file) => vec![4096],
        DirectIo::Untold => vec![512, 1024, 2048, 4096],
        DirectIo::Cached | DirectIo::Memory => return None,
    };
    set_direct(file, true).ok()?;
    // Some file systems take the flag and refuse the request.
    candidates.into_iter().find(|&alignment| {
        let bytes = alignment as usize;
        let mut buffer = AlignedBuffer::new(bytes);
        file.read_at(&mut buffer, u64::from(alignment)).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_no_name_from_the_start() {
        let directory = tempfile::tempdir().unwrap();
        let target = Target::create(directory.path(), ByteCount::mib(1)).unwrap();
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
        assert_eq!(target.file().metadata().unwrap().nlink(), 0);
        assert_eq!(target.size(), ByteCount::mib(1));
        match target.access() {
            Access::Direct => assert!(target.alignment().is_power_of_two()),
            access => println!("skipped direct I/O: {access} here"),
        }
    }

    #[test]
    fn memory_is_not_measured_as_a_device() {
        let Ok(directory) = tempfile::tempdir_in("/dev/shm") else {
            println!("skipped: no /dev/shm here");
            return;
        };
        let target = Target::create(directory.path(), ByteCount::mib(1)).unwrap();
        assert_eq!((target.access(), target.alignment()), (Access::Memory, 1));
    }

    #[test]
    fn too_little_space_names_both_amounts() {
        let directory = tempfile::tempdir().unwrap();
        let error = Target::create(directory.path(), ByteCount::new(1 << 60)).unwrap_err();
        let CalibrateError::NoSpace { needed, free, .. } = error else {
            panic!("{error}");
        };
        assert_eq!(needed.get(), 1 << 61);
        assert!(free < needed);
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    }
}
