//! Holding a process to its directories (landlock(7)): what it, and all that it
//! starts, then tries to change elsewhere, the kernel refuses.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus,
    path_beneath_rules,
};

/// What every process may write: what keeps nothing, settings of processes and
/// their control groups, and memory that is shared under a name, which servers
/// try for. Those that are not there are passed over.
const SHARED: [&str; 6] = [
    "/dev/null",
    "/dev/zero",
    "/dev/tty",
    "/dev/shm",
    "/proc",
    "/sys/fs/cgroup",
];

/// Lets the calling thread, and the threads and processes that it starts from
/// now on, change files only below `directories`, which exist. Reading stays as
/// it is, and what other threads do. Mounting is refused too. Answers whether
/// the kernel does it: Linux 5.13 does, from 5.19 on with renames between
/// directories allowed, and 6.2 also keeps files from being cut.
///
/// # Errors
/// When the kernel has Landlock, but refuses the rules.
pub fn confine(directories: &[PathBuf]) -> Result<bool, ConfineError> {
    let changes = AccessFs::from_write(ABI::V3);
    let shared = SHARED.iter().map(Path::new);
    let own = directories.iter().map(PathBuf::as_path);
    let status = Ruleset::default()
        .handle_access(changes)?
        .create()?
        .add_rules(path_beneath_rules(shared.chain(own), changes))?
        .restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

/// The kernel has Landlock, but refuses the rules.
#[derive(Debug, thiserror::Error)]
#[error("hold the process to its directories: {0}")]
pub struct ConfineError(#[from] RulesetError);

#[cfg(test)]
mod tests {
    use std::{fs, io::ErrorKind, process::Command, thread};

    use super::*;

    #[test]
    fn files_elsewhere_can_be_read_but_not_changed_by_threads_and_programs() {
        let home = tempfile::tempdir().unwrap();
        let own = home.path().join("own");
        let outside = home.path().join("precious");
        fs::create_dir(&own).unwrap();
        fs::write(&outside, "as it was").unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                if !confine(std::slice::from_ref(&own)).unwrap() {
                    eprintln!("skipped: this kernel has no Landlock");
                    return;
                }
                let refused = |result: std::io::Result<()>| {
                    assert_eq!(result.unwrap_err().kind(), ErrorKind::PermissionDenied);
                };
                refused(fs::write(&outside, "changed"));
                refused(fs::write(home.path().join("new"), "made"));
                refused(fs::remove_file(&outside));
                refused(fs::rename(&outside, own.join("taken")));
                refused(fs::create_dir(home.path().join("made")));
                fs::write(own.join("file"), "within").unwrap();
                fs::create_dir(own.join("below")).unwrap();
                fs::rename(own.join("file"), own.join("below/file")).unwrap();
                fs::write("/dev/null", "gone").unwrap();
                let child = Command::new("sh")
                    .args(["-c", "echo changed > \"$0\""])
                    .arg(&outside)
                    .output()
                    .unwrap();
                assert!(!child.status.success());
                assert_eq!(fs::read_to_string(&outside).unwrap(), "as it was");
            });
        });
        // Threads that did not come from that one are as free as before.
        fs::write(&outside, "changed").unwrap();
    }
}
