//! Copying and flushing whole files without leaving them in the page cache.

#![expect(unsafe_code, reason = "no safe form of sync_file_range(2)")]

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, Write},
    os::{
        fd::AsRawFd,
        unix::fs::{FileExt, OpenOptionsExt},
    },
    path::Path,
    thread,
};

use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate, ioctl_ficlone};

use octavo_storage::aligned::AlignedBuffer;

use crate::{DatabaseError, RestoreMethod, Result};

/// Bytes of one request of a copy. With [`COPIERS`] it was the fastest of
/// 256 KiB to 4 MiB and one to four copiers, in two passes over 224 MB on a
/// virtio disk under ext4: 1.7 to 2.3 GB/s over an existing file.
const REQUEST_BYTES: usize = 2 << 20;

/// Requests in flight, so that one reads while the other writes.
const COPIERS: u64 = 2;

/// Names the file in an error.
pub(crate) fn named<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> DatabaseError + 'a {
    move |source| DatabaseError::File {
        action,
        path: path.to_owned(),
        source,
    }
}

/// Flushes a file to stable storage and drops it from the page cache.
pub(crate) fn flush_and_forget(path: &Path) -> Result<()> {
    let file = File::open(path).map_err(named("open", path))?;
    file.sync_all().map_err(named("flush", path))?;
    forget(&file);
    Ok(())
}

/// Waits until the kernel has written all changed pages of a file.
pub(crate) fn write_back(file: &File) -> io::Result<()> {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: a descriptor that is open, and numbers; 0 bytes are all.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Reads a file through the page cache, which holds it then, as far as there is memory.
pub(crate) fn read_whole(path: &Path) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    while file.read(&mut buffer)? > 0 {}
    Ok(())
}

/// Drops a clean file's pages from the page cache, as far as the kernel does.
pub(crate) fn forget(file: &File) {
    // Advice: a file system without it keeps the pages, which costs memory
    // and nothing else, since measured reads do not come from there.
    let _advice = fadvise(file, 0, None, Advice::DontNeed);
}

/// Flushes a directory, so that the names in it survive.
pub(crate) fn flush_directory(path: &Path) -> Result<()> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(named("flush", path))
}

/// Whether opening failed because the file system has no direct I/O.
pub(crate) fn refuses_direct(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP))
}

/// Removes a file, if it is there.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(named("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Refuses what is no file: opening a pipe would wait for a program that writes to it.
pub(crate) fn check_is_file(path: &Path) -> Result<()> {
    let kind = fs::metadata(path).map_err(named("open", path))?;
    match kind.is_file() {
        true => Ok(()),
        false => {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "it is no file");
            Err(named("open", path)(error))
        }
    }
}

/// Makes `to` a copy of `from`, durable and out of the page cache: by sharing
/// extents where the file system can, byte by byte otherwise. An existing `to`
/// is overwritten in place, so that its blocks stay where they are from run to
/// run.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<RestoreMethod> {
    check_is_file(from)?;
    let source = File::open(from).map_err(named("open", from))?;
    let size = source.metadata().map_err(named("examine", from))?.len();
    let target = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(to)
        .map_err(named("create", to))?;
    let method = if ioctl_ficlone(&target, &source).is_ok() {
        RestoreMethod::Reflink
    } else {
        let copied = match copy_direct(from, to, size) {
            Err(error) if refuses_direct(&error) => copy_buffered(&source, &target),
            result => result,
        };
        copied.map_err(named("copy the snapshot to", to))?;
        RestoreMethod::Copy
    };
    target.set_len(size).map_err(named("cut", to))?;
    target.sync_all().map_err(named("flush", to))?;
    forget(&target);
    forget(&source);
    Ok(method)
}

fn copy_buffered(mut source: &File, mut target: &File) -> io::Result<()> {
    source.rewind()?;
    target.rewind()?;
    let mut buffer = vec![0; REQUEST_BYTES];
    loop {
        match source.read(&mut buffer)? {
            0 => return Ok(()),
            read => target.write_all(&buffer[..read])?,
        }
    }
}

/// Copies past the page cache; the target ends padded to whole memory pages.
fn copy_direct(from: &Path, to: &Path, size: u64) -> io::Result<()> {
    let source = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECT)
        .open(from)?;
    let target = OpenOptions::new()
        .write(true)
        .custom_flags(libc::O_DIRECT)
        .open(to)?;
    if target.metadata()?.len() < size {
        // Blocks that are there already need no exclusive lock of the file to
        // be written. A file system without this writes all the same, and a
        // full one is told by the write.
        let _faster = fallocate(&target, FallocateFlags::empty(), 0, size);
    }
    let requests = size.div_ceil(REQUEST_BYTES as u64);
    thread::scope(|scope| {
        let copiers: Vec<_> = (0..COPIERS)
            .map(|copier| {
                let (source, target) = (&source, &target);
                scope.spawn(move || {
                    let mut buffer = AlignedBuffer::new(REQUEST_BYTES);
                    (copier..requests)
                        .step_by(COPIERS as usize)
                        .try_for_each(|request| {
                            let offset = request * REQUEST_BYTES as u64;
                            copy_request(source, target, offset, size, &mut buffer)
                        })
                })
            })
            .collect();
        copiers.into_iter().try_for_each(|copier| {
            copier
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}

fn copy_request(
    source: &File,
    target: &File,
    offset: u64,
    size: u64,
    buffer: &mut AlignedBuffer,
) -> io::Result<()> {
    let wanted = (size - offset).min(REQUEST_BYTES as u64) as usize;
    let read = loop {
        match source.read_at(buffer, offset) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => break result?,
        }
    };
    if read < wanted {
        // A snapshot is never written, and a short read elsewhere than at the end
        // means an error below that the next read would report.
        return Err(io::Error::other(format!(
            "{read} of {wanted} bytes could be read at {offset} (descriptor {})",
            source.as_raw_fd()
        )));
    }
    target.write_all_at(
        &buffer[..wanted.next_multiple_of(AlignedBuffer::ALIGNMENT)],
        offset,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_replaces_an_older_file() {
        let directory = crate::scratch::directory();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        for (size, before) in [
            (0usize, 0usize),
            (512, 9000),
            (2 << 20, 0),
            (5_000_192, 6 << 20),
        ] {
            let content: Vec<u8> = (0..size).map(|i| (i / 511) as u8).collect();
            fs::write(&from, &content).unwrap();
            fs::write(&to, vec![0xAA; before]).unwrap();
            let method = copy(&from, &to).unwrap();
            assert!(
                fs::read(&to).unwrap() == content,
                "{size} bytes by {method:?}"
            );
        }
    }

    #[test]
    fn a_pipe_is_no_file() {
        let directory = crate::scratch::directory();
        let from = directory.path().join("pipe");
        let made = rustix::fs::mknodat(
            rustix::fs::CWD,
            &from,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        );
        made.unwrap();
        let error = copy(&from, &directory.path().join("to")).unwrap_err();
        assert!(error.to_string().contains("pipe"), "{error}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let directory = crate::scratch::directory();
        let from = directory.path().join("absent");
        let error = copy(&from, &directory.path().join("to")).unwrap_err();
        assert!(error.to_string().contains("absent"), "{error}");
        remove(&from).unwrap();
    }
}
