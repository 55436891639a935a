//! How long a request takes on its way through the kernel, there and back.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
    time::{Duration, Instant},
};

/// The name of a file in the root that is there while this measures.
pub(super) const PROBE: &str = ".octavo-lead";

/// Reads that are timed, after as many that are not.
const READS: usize = 200;

/// The median time of a direct read of 4 KiB that no device takes part in.
///
/// The median is what a request can count on; that others take longer, because
/// cores were busy or asleep, is told as being late.
pub(super) fn measure(mount: &Path) -> io::Result<Duration> {
    let path = mount.join(PROBE);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(libc::O_DIRECT)
        .open(&path)?;
    // Aligned to nothing: FUSE takes any buffer for direct I/O.
    let mut data = [0; 4096];
    let written = file.write_all(&data);
    let mut times = Vec::with_capacity(READS);
    let mut result = written;
    for index in 0..2 * READS {
        let began = Instant::now();
        if let Err(error) = file.read_exact_at(&mut data, 0) {
            result = Err(error);
            break;
        }
        if index >= READS {
            times.push(began.elapsed());
        }
    }
    std::fs::remove_file(&path)?;
    result?;
    times.sort();
    Ok(times[times.len() / 2])
}
