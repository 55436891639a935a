//! How long requests take on their way through the kernel, there and back.

use std::{
    fs::File,
    io,
    os::{fd::OwnedFd, unix::fs::FileExt},
    path::Path,
    process::{self, Stdio},
    time::{Duration, Instant},
};

use octavo_device::{Command, simulated::Constant};
use octavo_units::ByteCount;
use rustix::fs::{AtFlags, Mode, OFlags, fstatfs, open, openat, unlinkat};
use serde::{Deserialize, Serialize};

/// The name of a file in the root that is there while this measures.
pub(crate) const PROBE: &str = ".octavo-lead";

/// `f_type` of FUSE in statfs(2).
const FUSE_MAGIC: i64 = 0x6573_5546;

/// Requests of each kind and size that are timed, after half as many that are
/// not.
const TIMED: usize = 150;

/// What the device that is there while this measures takes, in real time: as
/// long as SSDs do, so that threads sleep and memory cools as they will.
const LATENCY: Duration = Duration::from_micros(400);

/// No more is taken for the way. One that was measured to be longer is of a
/// machine that had something else to do, and may not have soon; and a device is
/// moved on by the longest lead in flight, before which nothing else begins.
const LEAD_MAX: Duration = Duration::from_micros(100);

/// The sizes that are measured: between them, and beyond, the way is taken to
/// be linear in the bytes that are copied on it.
const SHORT: usize = 4 << 10;
const LONG: usize = 64 << 10;

/// By how much answers are sent before the model's moment, so that they arrive
/// at it.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Lead {
    read: Way,
    write: Way,
}

/// The way of requests of one kind.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Way {
    /// Of one of [`SHORT`].
    short_ns: u64,
    /// Of one of [`LONG`].
    long_ns: u64,
}

impl Way {
    fn ns(self, bytes: u64) -> u64 {
        let copying_ns = self.long_ns.saturating_sub(self.short_ns);
        let further_bytes = bytes.saturating_sub(SHORT as u64);
        let ns = self.short_ns + copying_ns * further_bytes / (LONG - SHORT) as u64;
        ns.min(LEAD_MAX.as_nanos() as u64)
    }
}

impl Lead {
    /// For a request of so many bytes. Those that carry none are taken for short
    /// reads.
    pub(crate) fn for_request(&self, command: Command, bytes: u64) -> Duration {
        Duration::from_nanos(match command {
            Command::Write => self.write.ns(bytes),
            Command::Read | Command::Flush | Command::Trim => self.read.ns(bytes),
        })
    }

    /// Has `program lead mount process` measure it, where `process` is this one.
    ///
    /// Not this process, which answers: killed while it waits for itself, it
    /// would wait for ever, as the kernel waits for the answer before it closes
    /// the files of who was killed, and with them the device.
    pub(crate) fn measure_with(program: &Path, mount: &Path) -> io::Result<Self> {
        let measured = process::Command::new(program)
            .arg("lead")
            .arg(mount)
            .arg(process::id().to_string())
            .stdin(Stdio::null())
            .output()?;
        let said = String::from_utf8_lossy(&measured.stdout);
        toml::from_str(&said).map_err(|_| {
            io::Error::other(format!(
                "the way of requests was not measured ({}): {}",
                measured.status,
                String::from_utf8_lossy(&measured.stderr).trim()
            ))
        })
    }

    /// Measures it on what is mounted with [`device`] behind it; `root` is its root.
    fn measure(root: &OwnedFd) -> io::Result<Self> {
        // Of a measurement that was killed.
        let _none_as_a_rule = unlinkat(root, PROBE, AtFlags::empty());
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::DIRECT | OFlags::CLOEXEC;
        let file = File::from(openat(root, PROBE, flags, Mode::RUSR | Mode::WUSR)?);
        // Aligned to nothing: FUSE takes any buffer for direct I/O.
        let mut data = vec![0; LONG];
        let write = |bytes: usize| excess(|| file.write_all_at(&data[..bytes], 0));
        // The file is LONG from now on.
        let written = write(LONG).and_then(|long_ns| {
            Ok(Way {
                short_ns: write(SHORT)?,
                long_ns,
            })
        });
        let mut read = |bytes: usize| excess(|| file.read_exact_at(&mut data[..bytes], 0));
        let lead = written.and_then(|write| {
            Ok(Self {
                read: Way {
                    short_ns: read(SHORT)?,
                    long_ns: read(LONG)?,
                },
                write,
            })
        });
        unlinkat(root, PROBE, AtFlags::empty())?;
        lead
    }
}

/// How long requests take to what is mounted at `mount` and back, as text that
/// the process which mounted it reads.
///
/// `is_wanted` says whether that process is still there. If so, it is its mount that
/// was opened before: what is mounted or unmounted at that place later is not touched.
///
/// # Errors
/// When no device is mounted there any more, or a file there cannot be written and
/// read.
pub fn lead(mount: &Path, is_wanted: impl FnOnce() -> bool) -> io::Result<String> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = open(mount, flags, Mode::empty())?;
    if !is_wanted() || fstatfs(&root)?.f_type != FUSE_MAGIC {
        return Err(io::Error::other("who mounted it has ended"));
    }
    let lead = Lead::measure(&root)?;
    toml::to_string(&lead).map_err(io::Error::other)
}

/// The device to measure with, where a second of devices takes `scale`
/// seconds.
pub(crate) fn device(scale: f64) -> Constant {
    let latency_ns = LATENCY.as_nanos() as f64 / scale;
    Constant::new(ByteCount::mib(1), latency_ns as u64)
}

/// By how many nanoseconds the median request takes longer than the device.
///
/// The median is what a request can count on; that others take longer, because
/// cores were busy or asleep, is told as being late.
fn excess(mut request: impl FnMut() -> io::Result<()>) -> io::Result<u64> {
    let mut times = Vec::with_capacity(TIMED);
    for index in 0..TIMED + TIMED / 2 {
        let began = Instant::now();
        request()?;
        if index >= TIMED / 2 {
            times.push(began.elapsed());
        }
    }
    times.sort();
    Ok(times[times.len() / 2].saturating_sub(LATENCY).as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_grows_with_the_bytes() {
        let lead = Lead {
            read: Way {
                short_ns: 10_000,
                long_ns: 40_000,
            },
            write: Way {
                short_ns: 20_000,
                // Measured shorter, by chance.
                long_ns: 19_000,
            },
        };
        let us = |command, bytes| lead.for_request(command, bytes).as_nanos() / 1000;
        assert_eq!(us(Command::Read, 512), 10);
        assert_eq!(us(Command::Read, 4 << 10), 10);
        assert_eq!(us(Command::Read, 34 << 10), 25);
        assert_eq!(us(Command::Read, 64 << 10), 40);
        assert_eq!(us(Command::Read, 124 << 10), 70);
        assert_eq!(us(Command::Read, 1 << 20), 100);
        assert_eq!(us(Command::Write, 1 << 20), 20);
        assert_eq!(us(Command::Flush, 0), 10);
    }
}
