//! The shared memory that a killed server leaves outside of its directory.
//!
//! Beside its memory, a server has a System V segment of a few bytes by which
//! another one notices that it runs (`sysv_shmem.c`). It stays when the server is
//! killed, until another one starts on the same cluster; a copy that is thrown
//! away has no other. `postmaster.pid` has the server's process in its first line,
//! negative where `initdb` runs it, and the segment's key and number in its seventh
//! (`pidfile.h`). The segment begins with a header that leads to files in
//! `/dev/shm`, where the server that `initdb` runs has its dynamic memory.

#![expect(unsafe_code, reason = "no safe form of shmctl(2) and shmat(2)")]

use std::{fs, path::Path, ptr};

/// Frees the segments of servers that are gone and whose clusters lie below
/// `directory`. What cannot be read or freed stays.
pub(crate) fn free_below(directory: &Path) {
    if let Ok(text) = fs::read_to_string(directory.join("postmaster.pid")) {
        if let Some(segment) = Segment::parse(&text) {
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
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.lines().nth(6)?.split_whitespace();
        // Printed as an unsigned long.
        let key: u64 = words.next()?.parse().ok()?;
        Some(Self {
            maker: text
                .lines()
                .next()?
                .trim()
                .trim_start_matches('-')
                .parse()
                .ok()?,
            key: key as libc::key_t,
            number: words.next()?.parse().ok()?,
        })
    }

    /// Frees it, if it is still the one that this server made, and the server is
    /// gone (shmctl(2)): nobody has attached it, which a server that waits to be
    /// reaped has not either, or those who have are other processes of it, which
    /// end soon and keep it until then.
    fn free(&self) {
        // SAFETY: a value of numbers alone.
        let mut about: libc::shmid_ds = unsafe { std::mem::zeroed() };
        // SAFETY: the call writes to a value of the size that it expects.
        let found = unsafe { libc::shmctl(self.number, libc::IPC_STAT, &mut about) };
        let is_own = (key(&about.shm_perm), about.shm_cpid) == (self.key, self.maker);
        let is_gone =
            about.shm_nattch == 0 || !Path::new(&format!("/proc/{}", self.maker)).exists();
        if found == 0 && is_own && is_gone {
            if about.shm_segsz >= HEADER_BYTES {
                self.remove_dynamic(Path::new("/dev/shm"));
            }
            // SAFETY: the call takes no memory.
            unsafe { libc::shmctl(self.number, libc::IPC_RMID, ptr::null_mut()) };
        }
    }

    /// Removes the files of dynamic memory that it leads to.
    fn remove_dynamic(&self, directory: &Path) {
        // SAFETY: the kernel chooses the place, and nobody else's memory changes.
        let start = unsafe { libc::shmat(self.number, ptr::null(), libc::SHM_RDONLY) };
        if start.addr() == usize::MAX {
            return;
        }
        // SAFETY: the segment has at least so many bytes, which are numbers.
        let header = unsafe { start.cast::<[u8; HEADER_BYTES]>().read_unaligned() };
        // SAFETY: attached just now, and no reference into it is left.
        unsafe { libc::shmdt(start) };
        let file = |handle| directory.join(format!("PostgreSQL.{handle}"));
        let control = match dynamic_control(&header) {
            Some(handle) => file(handle),
            None => return,
        };
        let Ok(items) = fs::read(&control) else {
            return;
        };
        for handle in dynamic_items(&items) {
            // One that is gone already is as wanted.
            let _gone = fs::remove_file(file(handle));
        }
        let _gone = fs::remove_file(control);
    }
}

/// Bytes of a segment's header up to what is read of it.
const HEADER_BYTES: usize = 28;

/// The number at a place, if there is one.
fn number_at(bytes: &[u8], place: usize) -> Option<u32> {
    let number = bytes.get(place..place + 4)?.try_into().ok()?;
    Some(u32::from_ne_bytes(number))
}

/// The handle of the control segment of dynamic memory, from the header of a
/// server's segment (`PGShmemHeader` in `pg_shmem.h`: magic, process, two sizes,
/// handle; 9.4 and later).
fn dynamic_control(header: &[u8]) -> Option<u32> {
    const MAGIC: u32 = 679_834_894;
    (number_at(header, 0)? == MAGIC)
        .then(|| number_at(header, 24))
        .flatten()
        .filter(|&handle| handle != 0)
}

/// The handles of the segments that a control segment names (`dsm_control_header`
/// in `dsm.c`: magic, items in use, items at most, and for each a handle and how
/// many use it, in 40 bytes).
fn dynamic_items(control: &[u8]) -> Vec<u32> {
    const MAGIC: u32 = 0x9a50_3d32;
    if number_at(control, 0) != Some(MAGIC) {
        return Vec::new();
    }
    let used = number_at(control, 4).unwrap_or_default() as usize;
    let items = control.get(16..).unwrap_or_default().chunks_exact(40);
    items
        .take(used)
        .filter(|item| number_at(item, 4) != Some(0))
        .filter_map(|item| number_at(item, 0))
        .collect()
}

/// The key, the number and the maker of each segment (proc_sysvipc(5)).
/// The key, which C libraries name each in their own way.
fn key(of: &libc::ipc_perm) -> libc::key_t {
    #[cfg(target_env = "musl")]
    let key = of.__ipc_perm_key;
    #[cfg(not(target_env = "musl"))]
    let key = of.__key;
    key
}

#[cfg(test)]
pub(super) fn segments() -> Vec<(libc::key_t, libc::c_int, libc::pid_t)> {
    let table = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    let lines = table.lines().skip(1).map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |place: usize| words[place].parse::<i32>().unwrap();
        (number(0), number(1), number(4))
    });
    lines.collect()
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
            assert_eq!(Segment::parse(&text(maker, key, number)), Some(segment));
        }
        for damaged in ["", "1\n/\n1\n1\n\n\n\n", "1\n2\n3\n4\n5\n6\nx y\n"] {
            assert_eq!(Segment::parse(damaged), None);
        }
    }

    #[test]
    fn a_server_of_initdb_writes_its_process_as_negative() {
        let segment = Segment::parse(&text(-20_009, 5, 4)).unwrap();
        assert_eq!(segment.maker, 20_009);
    }

    #[test]
    fn dynamic_memory_is_found_through_the_segments_header() {
        let mut header = vec![0; HEADER_BYTES];
        assert_eq!(dynamic_control(&header), None);
        header[..4].copy_from_slice(&679_834_894_u32.to_ne_bytes());
        assert_eq!(dynamic_control(&header), None, "it has none");
        header[24..].copy_from_slice(&77_u32.to_ne_bytes());
        assert_eq!(dynamic_control(&header), Some(77));
        assert_eq!(dynamic_control(&header[..20]), None);

        let mut control = vec![0; 16 + 3 * 40];
        assert!(dynamic_items(&control).is_empty());
        control[..4].copy_from_slice(&0x9a50_3d32_u32.to_ne_bytes());
        control[4..8].copy_from_slice(&2_u32.to_ne_bytes());
        for (item, handle, users) in [(0, 5_u32, 3_u32), (1, 6, 0), (2, 7, 1)] {
            let place = 16 + item * 40;
            control[place..place + 4].copy_from_slice(&handle.to_ne_bytes());
            control[place + 4..place + 8].copy_from_slice(&users.to_ne_bytes());
        }
        assert_eq!(
            dynamic_items(&control),
            [5],
            "in use, and no more than said"
        );
        control[4..8].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert_eq!(dynamic_items(&control), [5, 7]);
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
