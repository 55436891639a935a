//! Making a file system in a file, on a loop device with direct I/O, and mounting it.

use std::{
    env,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use octavo_units::ByteCount;
use rustix::{fs::OFlags, process::geteuid};

use super::FileSystem;
use crate::{aligned::AlignedBuffer, direct::DirectIo};

/// Why a file system is not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileSystemError {
    /// Loop devices and mounts are root's.
    #[error(
        "making a file system takes root's rights: run octavo as root, or leave file systems out"
    )]
    NotRoot,
    /// A program is not installed.
    #[error("{program} is not installed: it is in the package {package}")]
    Missing {
        /// Which.
        program: String,
        /// Where it is.
        package: &'static str,
    },
    /// A program, or the kernel below it, refused.
    #[error("cannot {action} file system {file_system}: {said}")]
    Refused {
        /// A verb.
        action: &'static str,
        /// Which file system.
        file_system: String,
        /// What was said.
        said: String,
    },
    /// A file could not be made or read.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// A verb.
        action: &'static str,
        /// Which.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

impl FileSystemError {
    /// Whether other input, or another machine, would do.
    pub fn is_of_input(&self) -> bool {
        !matches!(self, Self::Io { .. } | Self::Stopped)
    }
}

/// Why a loop device is of no use.
const CACHED: &str = "the storage below would hold its file in memory, as it has no direct I/O for it: name \
                      another storage, or an offset that is a multiple of its blocks";

/// The file that a file system is in, in its directory, and while it is not whole.
const IMAGE: &str = "image";
const UNFINISHED: &str = "image.unfinished";

/// Deletes the file that a file system is in, and its directory unless something else is in it. What
/// cannot be deleted stays.
pub fn remove_file_system(directory: &Path) {
    for name in [IMAGE, UNFINISHED] {
        // One that is mounted stays until it no longer is.
        detach_left(&directory.join(name));
        let _may_be_missing = fs::remove_file(directory.join(name));
    }
    let _unless_used = fs::remove_dir(directory);
}

/// How long users of a file system may take to leave it.
const UNMOUNT_MAX: Duration = Duration::from_secs(20);

/// A file system that is mounted, until it is unmounted or dropped. Its loop device is gone with the
/// mount, however that ends.
#[derive(Debug)]
pub struct MountedFileSystem {
    mount: PathBuf,
    /// Until the mount is gone.
    _held: File,
}

impl MountedFileSystem {
    /// Mounts the file system in `directory` at `mount`, which is made. Where the directory has none
    /// it is made first, of `size`: all of its file is written, so that nothing below has to find room
    /// for it later.
    ///
    /// # Errors
    /// Without root's rights or the programs, when the kernel does not have the file system, or the
    /// file cannot be made; [`FileSystemError::Stopped`] when `interrupted` says so meanwhile.
    pub fn mount(
        system: &FileSystem,
        directory: &Path,
        size: ByteCount,
        mount: &Path,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Self, FileSystemError> {
        if !geteuid().is_root() {
            return Err(FileSystemError::NotRoot);
        }
        // Before a large file is written.
        for (name, package) in [
            (system.making().0.program, system.making().0.package),
            ("losetup", "mount"),
            ("mount", "mount"),
        ] {
            if find(name).is_none() {
                return Err(FileSystemError::Missing {
                    program: name.to_owned(),
                    package,
                });
            }
        }
        let held = hold_alone(directory, interrupted)?;
        let image = directory.join(IMAGE);
        let unfinished = directory.join(UNFINISHED);
        detach_left(&image);
        detach_left(&unfinished);
        if !image.exists() {
            fill(
                &unfinished,
                size.saturating_add(system.offset()),
                interrupted,
            )?;
            let device = LoopDevice::attach(system, &unfinished)?;
            let (kind, arguments) = system.making();
            let mut make = program(kind.program);
            let made = said(make.args(arguments).arg(&device.path), kind.package)?;
            made.map_err(|said| refused("make", system, said))?;
            drop(device);
            fs::rename(&unfinished, &image).map_err(failed("rename", &unfinished))?;
        }
        fs::create_dir_all(mount).map_err(failed("create directory", mount))?;
        let device = LoopDevice::attach(system, &image)?;
        let mut command = program("mount");
        command.args(["-t", system.kind()]);
        let options = system.mount_options();
        if !options.is_empty() {
            command.args(["-o", &options]);
        }
        let mounted = said(command.arg(&device.path).arg(mount), "mount")?;
        if let Err(said) = mounted {
            // What is not mounted leaves no place to mount at.
            let _gone = fs::remove_dir(mount);
            return Err(refused("mount", system, said));
        }
        // From now on the device is in use, and goes when that ends.
        drop(device);
        // ext4 makes a directory for its own repairs, which only an empty one is without.
        let _where_there_is_one = fs::remove_dir(mount.join("lost+found"));
        Ok(Self {
            mount: mount.to_owned(),
            _held: held,
        })
    }

    /// Unmounts, once nothing uses it any more; where something still does after 20 s, as soon as that
    /// ends.
    fn unmount(&self) {
        let deadline = Instant::now() + UNMOUNT_MAX;
        loop {
            let unmounted = program("umount").arg(&self.mount).output();
            // Where somebody deleted the place, the mount went with it.
            let is_gone = !self.mount.exists();
            if is_gone || unmounted.is_ok_and(|output| output.status.success()) {
                break;
            }
            if Instant::now() >= deadline {
                let _at_last = program("umount").arg("--lazy").arg(&self.mount).output();
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
        let _place = fs::remove_dir(&self.mount);
    }
}

impl Drop for MountedFileSystem {
    fn drop(&mut self) {
        self.unmount();
    }
}

/// Locks the directory of a file system. A process whose experiment was killed may still be making or
/// unmounting it there, and what that does last would take the new mount away: it is waited for.
fn hold_alone(directory: &Path, interrupted: &dyn Fn() -> bool) -> Result<File, FileSystemError> {
    let held = File::open(directory).map_err(failed("open", directory))?;
    loop {
        match held.try_lock() {
            Ok(()) => return Ok(held),
            Err(TryLockError::WouldBlock) if interrupted() => return Err(FileSystemError::Stopped),
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(20)),
            Err(TryLockError::Error(error)) => return Err(failed("lock", directory)(error)),
        }
    }
}

/// A loop device over a file. When this is dropped it is given back, or, where it is mounted, gives
/// itself back when it no longer is (loop(4), `LO_FLAGS_AUTOCLEAR`).
struct LoopDevice {
    path: PathBuf,
}

impl LoopDevice {
    fn attach(system: &FileSystem, file: &Path) -> Result<Self, FileSystemError> {
        let offset = system.offset().get().to_string();
        let mut command = program("losetup");
        command
            .args(["--find", "--show", "--direct-io=on", "--offset", &offset])
            .arg(file);
        let attached = said(&mut command, "mount")?;
        let path = attached.map_err(|said| refused("attach", system, said))?;
        let device = Self {
            path: PathBuf::from(path.trim()),
        };
        // losetup succeeds without direct I/O, and ext4 with data=journal caches in spite of it.
        let cached = matches!(DirectIo::of_path(file), DirectIo::Cached | DirectIo::Memory);
        match device.is_direct() && !cached {
            true => Ok(device),
            false => Err(refused("use", system, CACHED.to_owned())),
        }
    }

    /// Whether the kernel passes requests on past the page cache (Documentation/ABI/stable/sysfs-block,
    /// `loop/dio`).
    fn is_direct(&self) -> bool {
        let name = self.path.file_name().unwrap_or_default();
        let dio = Path::new("/sys/block").join(name).join("loop/dio");
        // Where /sys is not there, losetup is believed.
        fs::read_to_string(dio).map_or(true, |text| text.trim() == "1")
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        detach(&self.path);
    }
}

fn detach(device: &Path) {
    let _detached = program("losetup").arg("--detach").arg(device).output();
}

/// Gives back the devices of a file that a process held which was killed.
fn detach_left(file: &Path) {
    if !file.exists() {
        return;
    }
    let listed = program("losetup")
        .args(["--list", "--noheadings", "--output", "NAME", "--associated"])
        .arg(file)
        .output();
    let Ok(listed) = listed else { return };
    for device in String::from_utf8_lossy(&listed.stdout).lines() {
        detach(Path::new(device.trim()));
    }
}

/// Writes all of a file, with direct I/O where that is possible.
fn fill(
    path: &Path,
    size: ByteCount,
    interrupted: &dyn Fn() -> bool,
) -> Result<(), FileSystemError> {
    const PART: usize = 1 << 20;
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(failed("delete", path)(error));
        }
        _ => {}
    }
    let open = |flags: OFlags| -> io::Result<File> {
        // The flags are small positive numbers.
        let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .custom_flags(flags)
            .open(path)
    };
    let mut file = open(OFlags::DIRECT)
        .or_else(|_| open(OFlags::empty()))
        .map_err(failed("create", path))?;
    let zeros = AlignedBuffer::new(PART);
    let mut left = size.get();
    while left > 0 {
        if interrupted() {
            return Err(FileSystemError::Stopped);
        }
        let part = usize::try_from(left).map_or(PART, |left| left.min(PART));
        // Only the last part is shorter, and its length may be no multiple of a block.
        if part < PART {
            file = OpenOptions::new()
                .append(true)
                .open(path)
                .map_err(failed("open", path))?;
        }
        file.write_all(&zeros[..part])
            .map_err(failed("write", path))?;
        left -= part as u64;
    }
    file.sync_all().map_err(failed("sync", path))
}

/// Where a program of the system is, which may lie where only root looks.
fn find(name: &str) -> Option<PathBuf> {
    let usual = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    let named = env::var_os("PATH").unwrap_or_default();
    let all = usual.into_iter().chain(env::split_paths(&named));
    all.map(|directory| directory.join(name))
        .find(|path| path.exists())
}

fn program(name: &str) -> Command {
    let mut command = Command::new(find(name).unwrap_or_else(|| PathBuf::from(name)));
    command.env("LC_ALL", "C").stdin(Stdio::null());
    command
}

/// What a program prints, or what it complains of.
fn said(
    command: &mut Command,
    package: &'static str,
) -> Result<Result<String, String>, FileSystemError> {
    let name = PathBuf::from(command.get_program());
    let output = command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => FileSystemError::Missing {
            program: name.display().to_string(),
            package,
        },
        _ => failed("start", &name)(error),
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(Ok(text(&output.stdout)));
    }
    let complaint = text(&output.stderr);
    // The first line says what, and what follows how to ask for help.
    let first = complaint.lines().next().unwrap_or_default();
    Ok(Err(match first.is_empty() {
        true => format!("{} ended with {}", name.display(), output.status),
        false => first.to_owned(),
    }))
}

fn refused(action: &'static str, system: &FileSystem, said: String) -> FileSystemError {
    FileSystemError::Refused {
        action,
        file_system: system.to_string(),
        said,
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileSystemError {
    let path = path.to_owned();
    move |source| FileSystemError::Io {
        action,
        path,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Kind, *};
    use crate::{location::Location, namespace::mount_apart};

    /// Whether loop devices can be had here.
    fn can_mount() -> bool {
        let can = geteuid().is_root() && Path::new("/dev/loop-control").exists();
        if !can {
            println!("skipped: no loop devices here, or not root");
        }
        can
    }

    fn loops_of(directory: &Path) -> String {
        let listed = program("losetup").args(["--list", "--noheadings"]).output();
        let listed = String::from_utf8_lossy(&listed.unwrap().stdout).into_owned();
        let of = listed
            .lines()
            .filter(|line| line.contains(&*directory.to_string_lossy()));
        of.collect()
    }

    #[test]
    fn a_file_system_is_made_once_and_keeps_what_is_in_it() {
        if !can_mount() {
            return;
        }
        let home = tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap();
        let home_path = home.path().to_owned();
        // A thread of its own: mounts of others stay as they are.
        thread::spawn(move || {
            mount_apart();
            let (directory, at) = (home_path.join("made"), home_path.join("at"));
            fs::create_dir(&directory).unwrap();
            let system: FileSystem = "ext4:1K,noatime,offset=512".parse().unwrap();
            let size = system.size_for(ByteCount::ZERO);
            let mount = |interrupted: &dyn Fn() -> bool| {
                MountedFileSystem::mount(&system, &directory, size, &at, interrupted)
            };
            assert!(matches!(mount(&|| true), Err(FileSystemError::Stopped)));
            let none = FileSystem {
                kind: Box::leak(Box::new(Kind {
                    program: "mkfs.none",
                    ..super::super::KINDS[0]
                })),
                ..system.clone()
            };
            let missing = MountedFileSystem::mount(&none, &directory, size, &at, &|| true);
            assert!(
                matches!(missing, Err(FileSystemError::Missing { .. })),
                "{missing:?}"
            );
            // Memory has no direct I/O, whatever losetup says of it.
            let memory = tempfile::tempdir_in("/dev/shm").unwrap();
            let held = MountedFileSystem::mount(&system, memory.path(), size, &at, &|| false);
            assert!(
                matches!(held, Err(FileSystemError::Refused { action: "use", .. })),
                "{held:?}"
            );
            assert_eq!(loops_of(memory.path()), "");
            let mounted = mount(&|| false).unwrap();
            assert_eq!(fs::read_dir(&at).unwrap().count(), 0);
            let facts = Location::find(&at).facts;
            assert_eq!(facts.file_system.as_deref(), Some("ext4"));
            assert_eq!(facts.file_system_block_bytes, Some(1024));
            assert_eq!(facts.offset_bytes, Some(512));
            assert!(facts.mount_options.unwrap().contains("noatime"));
            fs::write(at.join("kept"), "as it was").unwrap();
            drop(mounted);
            assert!(!at.exists());
            assert_eq!(loops_of(&directory), "");
            let mounted = mount(&|| false).unwrap();
            assert_eq!(fs::read_to_string(at.join("kept")).unwrap(), "as it was");
            // Another process waits for this one, which would take its mount away.
            assert!(matches!(mount(&|| true), Err(FileSystemError::Stopped)));
            assert!(at.join("kept").exists());
            drop(mounted);
            assert_eq!(loops_of(&directory), "");
        })
        .join()
        .unwrap();
    }
}
