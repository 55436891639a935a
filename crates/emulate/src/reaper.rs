//! Takes the mount away when this process no longer can.
//!
//! A process that is killed leaves its mount in the table, dead: whatever
//! touches it gets an error until somebody unmounts it. So a shell waits at the
//! end of a pipe. It is told the mount's device number, and when the emulator
//! ends in order, that too, and leaves; when the pipe just ends, it unmounts. It
//! has a process group of its own, so that Ctrl-C does not reach it, and does
//! nothing unless the mount is still the one that it was told of.

use std::{
    io::{self, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::stale;

/// The waiting shell.
#[derive(Debug)]
pub(crate) struct Reaper {
    shell: Child,
}

/// `$1` is where the mount is. A process that was killed before it told the
/// number left a mount that answers nothing, or none.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
if read -r number; then
    read -r word && exit
    grep -q "^[0-9]* [0-9]* $number " /proc/self/mountinfo || exit
else
    stat -f "$1" >/dev/null 2>&1 && exit
fi
fusermount3 -uqz "$1" 2>/dev/null || fusermount -uqz "$1" 2>/dev/null || umount -l "$1"
"#;

impl Reaper {
    pub(crate) fn start(mount: &Path) -> io::Result<Self> {
        let shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "octavo-reaper"])
            .arg(mount)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Self { shell })
    }

    /// Tells which mount it is. The mount itself is not asked: see
    /// [`Lead::measure_with`](crate::lead::Lead::measure_with).
    pub(crate) fn mounted(&mut self, mount: &Path) -> io::Result<()> {
        let found = stale::mount_at(mount)?
            .ok_or_else(|| io::Error::other("it is not in the table of mounts"))?;
        match &mut self.shell.stdin {
            Some(pipe) => pipe.write_all(format!("{}\n", found.device).as_bytes()),
            None => Ok(()),
        }
    }
}

impl Drop for Reaper {
    /// Lets the shell go; what had to be unmounted is.
    fn drop(&mut self) {
        if let Some(mut pipe) = self.shell.stdin.take() {
            // Twice, for one that was told no number. A shell that somebody
            // killed needs no word.
            let _gone = pipe.write_all(b"done\ndone\n");
        }
        let _reaped = self.shell.wait();
    }
}
