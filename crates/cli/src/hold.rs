//! A process of Octavo's own that has a file system mounted for an experiment, which is held to its
//! directories and may not unmount.

use std::{
    io::{self, Read},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use octavo_storage::file_system::{FileSystemError, MountedFileSystem};

use crate::{failure::Failure, flags::HoldFlags, interrupt::Interrupt, print};

/// How often signals are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Makes the file system where there is none, and has it mounted until a signal comes, or standard input
/// ends, as that of an experiment does which is killed.
pub(crate) fn hold(flags: &HoldFlags) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let (ended, input) = mpsc::channel();
    thread::spawn(move || {
        let _read = io::stdin().lock().read_to_end(&mut Vec::new());
        let _nobody_waits_any_more = ended.send(());
    });
    let is_over = || interrupt.is_set() || input.try_recv().is_ok();
    let mounted = MountedFileSystem::mount(
        &flags.file_system,
        &flags.backing,
        flags.size,
        &flags.mount,
        &is_over,
    );
    let mounted = mounted.map_err(failure)?;
    print::aside(&format!(
        "{} is mounted at {}",
        flags.file_system,
        flags.mount.display()
    ));
    while !interrupt.is_set() {
        match input.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    drop(mounted);
    Ok(())
}

/// How a file system that is not there ends a command.
pub(crate) fn failure(error: FileSystemError) -> Failure {
    match error {
        FileSystemError::Stopped => Failure::Interrupted("stopped".into()),
        error if error.is_of_input() => Failure::input(error),
        error => Failure::Fault(error.into()),
    }
}
