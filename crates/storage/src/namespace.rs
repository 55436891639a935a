//! Mounts that only a process and its children see (mount_namespaces(7)).

#![expect(
    unsafe_code,
    reason = "unshare(2) is unsafe in rustix for one of its flags"
)]

use rustix::{
    io,
    mount::{MountPropagationFlags, mount_change},
    thread::{UnshareFlags, unshare_unsafe},
};

/// Lets the calling thread, and the threads and processes that it starts from
/// now on, have mounts of their own: what they mount nobody else sees, and it is
/// gone when the last of them is, however that ends. What others mount and
/// unmount they see as before. Where it is not allowed (it takes
/// `CAP_SYS_ADMIN`), nothing changes.
///
/// Directories that were opened before lead past what is mounted later.
pub fn mount_apart() {
    // SAFETY: only `FILES`, which takes file descriptors from other threads, is
    // not to be given carelessly.
    let apart = unsafe { unshare_unsafe(UnshareFlags::NEWNS) };
    let to_nobody = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    let _where_allowed: io::Result<()> = apart.and_then(|()| mount_change("/", to_nobody));
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command, thread};

    use super::*;

    #[test]
    fn mounts_are_seen_by_children_and_by_nobody_else() {
        let home = tempfile::tempdir().unwrap();
        let table = |whose: &str| fs::read_to_string(format!("/proc/{whose}/mountinfo")).unwrap();
        let point = home.path().to_str().unwrap();
        let mounted = thread::scope(|scope| {
            let apart = scope.spawn(|| {
                mount_apart();
                if !Command::new("mount")
                    .args(["-t", "tmpfs", "octavo-test", point])
                    .status()
                    .is_ok_and(|status| status.success())
                {
                    eprintln!("skipped: mounting is not allowed here");
                    return false;
                }
                let child = Command::new("cat").arg("/proc/self/mountinfo").output();
                assert!(String::from_utf8_lossy(&child.unwrap().stdout).contains(point));
                assert!(table("thread-self").contains(point));
                assert!(!table("self").contains(point));
                true
            });
            apart.join().unwrap()
        });
        assert!(!table("self").contains(point));
        if mounted {
            // The thread was the last: its mount keeps nothing busy.
            fs::remove_dir(point).unwrap();
            fs::create_dir(point).unwrap();
        }
    }
}
