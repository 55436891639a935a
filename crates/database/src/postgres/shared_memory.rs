//! The shared memory that a killed server leaves outside of its directory.
//!
//! Beside its memory, a server has a System V segment of a few bytes by which
//! another one notices that it runs (`sysv_shmem.c`). It stays when the server is
//! killed, until another one starts on the same cluster; a copy that is thrown
//! away has no other. `postmaster.pid` has the server's process in its first line
//! and the segment's key and number in its seventh (`pidfile.h`).

#![expect(unsafe_code, reason = "no safe form of shmctl(2)")]

use std::{fs, path::Path};

/// Frees the segments of servers that are gone and whose clusters lie below
/// `directory`. What cannot be read or freed stays.
pub(crate) fn free_below(directory: &Path) {
    if let Ok(text) = fs::read_to_string(directory.join("postmaster.pid")) {
        if let Some(segment) = Segment::of(&text) {
            segment.free();
        }
        return;
    }
    // Other directories of a cluster hold none.
    if directory.join("PG_VERSION").exists() {
        return;
    }
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            free_below(&entry.path());
        }
    }
}

/// What a server wrote down of its segment.
#[derive(Debug, PartialEq)]
struct Segment {
    maker: libc::pid_t,
    key: libc::key_t,
    number: libc::c_int,
}

impl Segment {
    fn of(text: &str) -> Option<Self> {
        let mut words = text.lines().nth(6)?.split_whitespace();
        // Printed as an unsigned long.
        let key: u64 = words.next()?.parse().ok()?;
        Some(Self {
            maker: text.lines().next()?.trim().parse().ok()?,
            key: key as libc::key_t,
            number: words.next()?.parse().ok()?,
        })
    }

    /// Frees it, if it is still the one that this server made, and the server is
    /// gone (shmctl(2)). Its other processes, which end soon, keep it until then.
    fn free(&self) {
        // SAFETY: a value of numbers alone.
        let mut about: libc::shmid_ds = unsafe { std::mem::zeroed() };
        // SAFETY: the call writes to a value of the size that it expects.
        let found = unsafe { libc::shmctl(self.number, libc::IPC_STAT, &mut about) };
        let is_own = (about.shm_perm.__key, about.shm_cpid) == (self.key, self.maker);
        let is_gone = !Path::new(&format!("/proc/{}", self.maker)).exists();
        if found == 0 && is_own && is_gone {
            // SAFETY: the call takes no memory.
            unsafe { libc::shmctl(self.number, libc::IPC_RMID, std::ptr::null_mut()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn text(maker: libc::pid_t, key: libc::key_t, number: libc::c_int) -> String {
        let key = i64::from(key) as u64;
        format!("{maker}\n/data\n1763834935\n5432\n.\n\n{key:9} {number:9}\nready   \n")
    }

    #[test]
    fn a_segment_is_read_from_the_servers_file() {
        for (maker, key, number) in [(20_009, 9_977_906, 4), (1, -1, 0)] {
            let segment = Segment { maker, key, number };
            assert_eq!(Segment::of(&text(maker, key, number)), Some(segment));
        }
        for damaged in ["", "1\n/\n1\n1\n\n\n\n", "1\n2\n3\n4\n5\n6\nx y\n"] {
            assert_eq!(Segment::of(damaged), None);
        }
    }

    /// The key, the number and the maker of each segment (proc_sysvipc(5)).
    fn segments() -> Vec<(libc::key_t, libc::c_int, libc::pid_t)> {
        let table = fs::read_to_string("/proc/sysvipc/shm").unwrap();
        let lines = table.lines().skip(1).map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |place: usize| words[place].parse::<i32>().unwrap();
            (number(0), number(1), number(4))
        });
        lines.collect()
    }

    #[test]
    fn the_segment_of_a_dead_server_is_freed_and_no_other() {
        let Ok(made) = Command::new("ipcmk").args(["-M", "56"]).output() else {
            eprintln!("skipped: ipcmk is not installed");
            return;
        };
        let said = String::from_utf8(made.stdout).unwrap();
        let number: libc::c_int = said.rsplit(' ').next().unwrap().trim().parse().unwrap();
        let found = || segments().into_iter().find(|segment| segment.1 == number);
        let (key, _, maker) = found().unwrap();
        let place = crate::scratch::directory();
        let cluster = place.path().join("run/1/cluster");
        fs::create_dir_all(&cluster).unwrap();
        for (maker, key, stays) in [
            (maker, key.wrapping_add(1), true),
            (std::process::id() as libc::pid_t, key, true),
            (maker, key, false),
        ] {
            fs::write(cluster.join("postmaster.pid"), text(maker, key, number)).unwrap();
            free_below(place.path());
            assert_eq!(found().is_some(), stays);
        }
    }
}
