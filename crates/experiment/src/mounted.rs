//! What is mounted for an experiment: devices that are emulated, and file systems that are made.
//! For each there is a process of its own, `octavo emulate` or `octavo hold`.
//!
//! Not in this process, because a device that a process emulates and uses
//! itself cannot be left: a process that is killed closes its files one after
//! the other, and closing one on that file system waits for the answer of
//! threads that are gone. And one that is held to its directories may not unmount.

use std::{
    fmt, fs,
    io::{self, BufRead, BufReader},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use octavo_storage::file_system::{FileSystem, remove_file_system};
use octavo_units::{ByteCount, Seed};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;

/// What an experiment needs to know to have something mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WantedMount {
    pub(crate) what: Mountable,
    /// Where what it holds is kept.
    pub(crate) backing: PathBuf,
    /// Where it is mounted.
    pub(crate) mount: PathBuf,
}

/// What can be mounted for an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mountable {
    /// An emulated device.
    Device {
        /// A name of the catalog or the path of a file.
        device: String,
        /// Of its randomness.
        seed: Seed,
    },
    /// A file system that is made.
    FileSystem {
        system: FileSystem,
        /// Of its file, where that is not there yet.
        size: ByteCount,
    },
}

impl fmt::Display for Mountable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device { device, .. } => write!(f, "device {device}"),
            Self::FileSystem { system, .. } => write!(f, "file system {system}"),
        }
    }
}

/// Why a device could not be emulated, or a file system not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// It was refused.
    #[error("{what} cannot be had: {reason}")]
    Refused {
        /// Which.
        what: String,
        /// What its process said.
        reason: String,
        /// Whether other input would do.
        input: bool,
    },
    /// The caller asked to stop while it started; nothing of it is left.
    #[error("stopped")]
    Stopped,
    /// It is not there in time.
    #[error("{what} was not mounted at {} in {START_MAX:?}", mount.display())]
    Late {
        /// Which.
        what: String,
        /// Where.
        mount: PathBuf,
    },
    /// Its process could not be started, or its directories not be made.
    #[error("{action} {}", path.display())]
    Io {
        /// A verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// A device is mounted in seconds; a large one is first brought to the state of
/// long use.
const START_MAX: Duration = Duration::from_secs(120);

/// The slowest storage on which the file of a file system is written. Chosen.
const WRITING_MIN: u64 = 10 << 20;

/// How often the interrupt is looked at while a device is mounted.
const LOOK: Duration = Duration::from_millis(20);

/// Devices are as long use left them: full, and overwritten at random where the
/// data will lie, which is from the device's beginning on.
const PRECONDITION: [&str; 2] = ["--precondition", "8K"];

/// After this, a process that was asked to end is killed. An emulator's watcher
/// unmounts.
const END_MAX: Duration = Duration::from_secs(30);

/// How long the watcher of an emulator that was killed may take.
const UNMOUNT_MAX: Duration = Duration::from_secs(5);

/// A device of which less than this share of requests was answered in time was
/// not what was measured.
const KEPT_MIN: f64 = 0.9;

/// What is mounted. It is unmounted when this is dropped.
#[derive(Debug)]
pub(crate) struct Mounted {
    child: Child,
    wanted: WantedMount,
    /// Whether it was not there before.
    created: bool,
}

impl Mounted {
    /// Has `program` (octavo itself) mount something, and waits until it is, or
    /// until `interrupted`.
    pub(crate) fn start(
        program: &Path,
        wanted: &WantedMount,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Self, MountError> {
        let WantedMount {
            what,
            backing,
            mount,
        } = wanted;
        let created = !backing.exists();
        // The process makes the place to mount at: where one was killed, it is
        // not to be touched.
        fs::create_dir_all(backing).map_err(failed("create directory", backing))?;
        let mut command = Command::new(program);
        let mut start_max = START_MAX;
        match what {
            Mountable::Device { device, seed } => {
                command
                    .args(["emulate", device, "--end-with-parent"])
                    .args(["--seed", &seed.to_string()])
                    .args(PRECONDITION)
                    // The data are made again for each experiment.
                    .args(["--volatile-backing", "--json"]);
            }
            Mountable::FileSystem { system, size } => {
                let size = size.get();
                start_max += Duration::from_secs(size / WRITING_MIN);
                command
                    .args(["hold", &system.to_string()])
                    .args(["--size", &size.to_string()]);
            }
        }
        let child = command
            .arg("--backing")
            .arg(backing)
            .arg("--mount")
            .arg(mount)
            // Whoever is held mounted ends with what this says, at the latest when it has ended.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for octavo, which unmounts when nothing uses the
            // device any more.
            .process_group(0)
            .spawn()
            .map_err(failed("start", program))?;
        let mut mounted = Self {
            child,
            wanted: wanted.clone(),
            created,
        };
        match mounted.first_line(start_max, interrupted) {
            Ok(line) if line.contains(MOUNTED) => Ok(mounted),
            Ok(line) => {
                let status = mounted.child.wait().map_err(failed("wait for", program))?;
                let refusal = MountError::Refused {
                    what: what.to_string(),
                    reason: match line.strip_prefix("octavo: ") {
                        Some(reason) => reason.to_owned(),
                        None => format!("its process ended with {status} {line}"),
                    },
                    input: status.code() == Some(2),
                };
                // What was refused is worth more than what stays.
                let _abandoned = mounted.abandon();
                Err(refusal)
            }
            Err(unmounted) => {
                let _abandoned = mounted.abandon();
                Err(unmounted)
            }
        }
    }

    /// The first line that the process writes, when it is mounted or why it is
    /// not; empty when it ends without.
    fn first_line(
        &mut self,
        start_max: Duration,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<String, MountError> {
        let Some(said) = self.child.stderr.take().map(lines) else {
            return Ok(String::new());
        };
        let began = Instant::now();
        while began.elapsed() < start_max {
            match said.recv_timeout(LOOK) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Disconnected) => return Ok(String::new()),
                Err(RecvTimeoutError::Timeout) if interrupted() => {
                    return Err(MountError::Stopped);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        Err(MountError::Late {
            what: self.wanted.what.to_string(),
            mount: self.wanted.mount.clone(),
        })
    }

    /// Unmounts, and tells in a sentence where this machine was too slow to
    /// stand in for the device.
    pub(crate) fn end(&mut self) -> Option<String> {
        #[derive(Deserialize)]
        struct Statistics {
            pace: Punctuality,
        }
        #[derive(Deserialize)]
        struct Punctuality {
            kept: f64,
            late_us_max: f64,
            cores_awake: bool,
        }
        self.terminate();
        // Without what it said, there is nothing to tell.
        let said = self.child.stdout.take()?;
        let Statistics { pace } = serde_json::from_reader(said).ok()?;
        (pace.kept < KEPT_MIN).then(|| {
            format!(
                "{}: only {:.0} % of its requests were answered within 50 us of its model, \
                 the others up to {:.1} ms later, because this machine or its storage is too slow or \
                 too busy for it{}: figures are worse than the device's",
                self.wanted.what,
                pace.kept * 100.0,
                pace.late_us_max / 1e3,
                if pace.cores_awake {
                    ""
                } else {
                    ", or its idle cores wake late (root can keep them awake)"
                }
            )
        })
    }

    /// Unmounts, and takes back what this made.
    pub(crate) fn abandon(self) -> Result<(), MountError> {
        if self.created { self.remove() } else { Ok(()) }
    }

    /// Unmounts, and deletes what it held.
    pub(crate) fn remove(mut self) -> Result<(), MountError> {
        self.terminate();
        let (backing, mount) = (&self.wanted.backing, &self.wanted.mount);
        let deadline = Instant::now() + UNMOUNT_MAX;
        loop {
            match fs::remove_dir(mount) {
                // Where an emulator was killed, its watcher unmounts soon.
                Err(error)
                    if error.kind() == io::ErrorKind::ResourceBusy && Instant::now() < deadline =>
                {
                    thread::sleep(Duration::from_millis(5));
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed("delete", mount)(error));
                }
                // Its process takes it away as a rule.
                _ => break,
            }
        }
        match &self.wanted.what {
            Mountable::Device { .. } => {
                fs::remove_dir_all(backing).map_err(failed("delete", backing))?;
            }
            // Whatever else is there is not ours.
            Mountable::FileSystem { .. } => remove_file_system(backing),
        }
        if let Some(all) = mount.parent()
            && fs::read_dir(all).is_ok_and(|mut left| left.next().is_none())
        {
            fs::remove_dir(all).map_err(failed("delete", all))?;
        }
        Ok(())
    }

    /// Asks the process to unmount and end, and waits until it has.
    fn terminate(&mut self) {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let (Some(id), Ok(None)) = (id, self.child.try_wait()) {
            // It may end by itself at this moment.
            let _asked = kill_process(id, Signal::TERM);
            let deadline = Instant::now() + END_MAX;
            while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
                thread::sleep(Duration::from_millis(5));
            }
        }
        // Without effect on a process that has ended.
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.terminate();
    }
}

/// What the first line of a process says when what it mounts can be used.
const MOUNTED: &str = " is mounted at ";

/// The lines that a process writes, read to the end so that it never waits
/// for a reader.
fn lines(stderr: ChildStderr) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            // Nobody wants more than the first.
            let _received = sender.send(line);
        }
    });
    lines
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> MountError {
    let path = path.to_owned();
    move |source| MountError::Io {
        action,
        path,
        source,
    }
}
