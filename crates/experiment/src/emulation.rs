//! Devices that are emulated for an experiment: one `octavo emulate` each, a
//! process of its own.
//!
//! Not in this process, because a file system that a process mounts and uses
//! itself cannot be left: a process that is killed closes its files one after
//! the other, and closing one on that file system waits for the answer of
//! threads that are gone.

use std::{
    fs,
    io::{self, BufRead, BufReader},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use octavo_units::Seed;
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;

/// What an experiment needs to know to have a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EmulatedDevice {
    /// A name of the catalog or the path of a file.
    pub(crate) device: String,
    /// Where what it holds is kept.
    pub(crate) backing: PathBuf,
    /// Where it is mounted.
    pub(crate) mount: PathBuf,
}

/// Why a device could not be emulated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmulationError {
    /// It was refused.
    #[error("device {device} is not emulated: {reason}")]
    Refused {
        /// Which.
        device: String,
        /// What the emulator said.
        reason: String,
        /// Whether other input would do.
        input: bool,
    },
    /// The caller asked to stop while it started; nothing of it is left.
    #[error("stopped")]
    Stopped,
    /// It is not there in time.
    #[error("device {device} was not mounted at {} in {START_MAX:?}", mount.display())]
    Late {
        /// Which.
        device: String,
        /// Where.
        mount: PathBuf,
    },
    /// The emulator could not be started, or its directories not be made.
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

/// How often the interrupt is looked at while a device is mounted.
const LOOK: Duration = Duration::from_millis(20);

/// Devices are as long use left them: full, and overwritten at random where the
/// data will lie, which is from the device's beginning on.
const PRECONDITION: [&str; 2] = ["--precondition", "8K"];

/// After this, an emulator that was asked to end is killed. Its watcher
/// unmounts.
const END_MAX: Duration = Duration::from_secs(30);

/// How long the watcher of an emulator that was killed may take.
const UNMOUNT_MAX: Duration = Duration::from_secs(5);

/// A device of which less than this share of requests was answered in time was
/// not what was measured.
const KEPT_MIN: f64 = 0.9;

/// A mounted device. It is unmounted when this is dropped.
#[derive(Debug)]
pub(crate) struct Emulation {
    child: Child,
    device: String,
    backing: PathBuf,
    mount: PathBuf,
    /// Whether it was not there before.
    created: bool,
}

impl Emulation {
    /// Has `program` (octavo itself) mount a device, and waits until it is, or
    /// until `interrupted`.
    pub(crate) fn start(
        program: &Path,
        wanted: &EmulatedDevice,
        seed: Seed,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Self, EmulationError> {
        let EmulatedDevice {
            device,
            backing,
            mount,
        } = wanted;
        let created = !backing.exists();
        // The emulator makes the place to mount at: where one was killed, it is
        // not to be touched.
        fs::create_dir_all(backing).map_err(failed("create directory", backing))?;
        let child = Command::new(program)
            .arg("emulate")
            .arg(device)
            .arg("--backing")
            .arg(backing)
            .arg("--mount")
            .arg(mount)
            .args(["--seed", &seed.to_string(), "--end-with-parent"])
            .args(PRECONDITION)
            // The data are made again for each experiment.
            .args(["--volatile-backing", "--json"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for octavo, which unmounts when nothing uses the
            // device any more.
            .process_group(0)
            .spawn()
            .map_err(failed("start", program))?;
        let mut emulation = Self {
            child,
            device: device.clone(),
            backing: backing.clone(),
            mount: mount.clone(),
            created,
        };
        match emulation.first_line(interrupted) {
            Ok(line) if line.contains(MOUNTED) => Ok(emulation),
            Ok(line) => {
                let status = emulation
                    .child
                    .wait()
                    .map_err(failed("wait for", program))?;
                let refusal = EmulationError::Refused {
                    device: device.clone(),
                    reason: match line.strip_prefix("octavo: ") {
                        Some(reason) => reason.to_owned(),
                        None => format!("the emulator ended with {status} {line}"),
                    },
                    input: status.code() == Some(2),
                };
                // What was refused is worth more than what stays.
                let _abandoned = emulation.abandon();
                Err(refusal)
            }
            Err(unmounted) => {
                let _abandoned = emulation.abandon();
                Err(unmounted)
            }
        }
    }

    /// The first line that the emulator writes, when it is mounted or why it is
    /// not; empty when it ends without.
    fn first_line(&mut self, interrupted: &dyn Fn() -> bool) -> Result<String, EmulationError> {
        let Some(said) = self.child.stderr.take().map(lines) else {
            return Ok(String::new());
        };
        let began = Instant::now();
        while began.elapsed() < START_MAX {
            match said.recv_timeout(LOOK) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Disconnected) => return Ok(String::new()),
                Err(RecvTimeoutError::Timeout) if interrupted() => {
                    return Err(EmulationError::Stopped);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        Err(EmulationError::Late {
            device: self.device.clone(),
            mount: self.mount.clone(),
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
                "device {}: only {:.0} % of its requests were answered within 50 us of its model, \
                 the others up to {:.1} ms later, because this machine or its storage is too slow or \
                 too busy for it{}: figures are worse than the device's",
                self.device,
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
    pub(crate) fn abandon(self) -> Result<(), EmulationError> {
        if self.created { self.remove() } else { Ok(()) }
    }

    /// Unmounts, and deletes what the device held.
    pub(crate) fn remove(mut self) -> Result<(), EmulationError> {
        self.terminate();
        let (backing, mount) = (&self.backing, &self.mount);
        let deadline = Instant::now() + UNMOUNT_MAX;
        loop {
            match fs::remove_dir(mount) {
                // Where the emulator was killed, its watcher unmounts soon.
                Err(error)
                    if error.kind() == io::ErrorKind::ResourceBusy && Instant::now() < deadline =>
                {
                    thread::sleep(Duration::from_millis(5));
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed("delete", mount)(error));
                }
                // The emulator takes it away as a rule.
                _ => break,
            }
        }
        fs::remove_dir_all(backing).map_err(failed("delete", backing))?;
        if let Some(devices) = mount.parent()
            && fs::read_dir(devices).is_ok_and(|mut left| left.next().is_none())
        {
            fs::remove_dir(devices).map_err(failed("delete", devices))?;
        }
        Ok(())
    }

    /// Asks the emulator to unmount and end, and waits until it has.
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

impl Drop for Emulation {
    fn drop(&mut self) {
        self.terminate();
    }
}

/// What the emulator's first line says when the device can be used.
const MOUNTED: &str = " is mounted at ";

/// The lines that the emulator writes, read to the end so that it never waits
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

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> EmulationError {
    let path = path.to_owned();
    move |source| EmulationError::Io {
        action,
        path,
        source,
    }
}
