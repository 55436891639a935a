//! This process's place in a group whose memory is limited, for a database that runs in it and
//! leaves its pages to the page cache.
//!
//! The kernel charges a page to the group of the process that first needs it, and leaves it there
//! when that process moves on (cgroups(7), memory.move_charge_at_immigrate is 0). So one process
//! can hold the caches of several databases apart: it is in a database's group while that one is at
//! work, and at home otherwise. A move takes some milliseconds (15 and less, Linux 6.18, version 1).

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use super::{cgroup, memory::MemoryGroup};

/// The group that this process is in, where it is not at home.
static PLACE: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Where this process was before it entered any group; `None` where that cannot be told.
static HOME: OnceLock<Option<PathBuf>> = OnceLock::new();

/// A group that this process can be in. Dropping it leaves the group.
#[derive(Debug)]
pub(crate) struct Seat {
    group: Arc<MemoryGroup>,
    home: &'static Path,
}

impl Seat {
    /// In a group of its own. The error says why this process cannot be in one.
    pub(crate) fn new(group: Arc<MemoryGroup>) -> Result<Self, String> {
        let home = HOME.get_or_init(|| cgroup::place_of_this_process(group.root()));
        match home {
            Some(home) => Ok(Self { group, home }),
            None => Err("the group of this process is not among those that it sees".into()),
        }
    }

    /// Moves this process into the group: what it reads from now on is charged there.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn enter(&self) -> io::Result<()> {
        let mut place = place();
        self.group.procs_file()?.write_all(b"0")?;
        *place = Some(self.group.path().to_owned());
        Ok(())
    }

    /// Moves it home, where it is in this group, and with it what it has started there, which would
    /// end with the group.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn leave(&self) -> io::Result<()> {
        let mut place = place();
        let mut home = fs::OpenOptions::new()
            .write(true)
            .open(self.home.join("cgroup.procs"))?;
        if place.as_deref() == Some(self.group.path()) {
            home.write_all(b"0")?;
            *place = None;
        }
        for other in self.group.processes() {
            // It may have ended meanwhile.
            let _moved = home.write_all(other.to_string().as_bytes());
        }
        Ok(())
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // The group stays and is swept by a later Octavo then.
        let _stays = self.leave();
    }
}

fn place() -> MutexGuard<'static, Option<PathBuf>> {
    PLACE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use octavo_units::ByteCount;

    use super::*;

    /// One test, since a process has one place.
    #[test]
    fn what_is_read_is_charged_to_the_group_that_it_is_read_in() {
        let group = || MemoryGroup::create().map(Arc::new);
        let (Ok(first), Ok(second)) = (group(), group()) else {
            eprintln!("skipped: no groups here");
            return;
        };
        let seats = [&first, &second].map(|group| Seat::new(Arc::clone(group)).unwrap());
        let scratch = crate::scratch::directory();
        let file = |name: &str, mib: usize| {
            let path = scratch.path().join(name);
            fs::write(&path, vec![7; mib << 20]).unwrap();
            crate::files::flush_and_forget(&path).unwrap();
            path
        };
        let (small, large) = (file("small", 6), file("large", 20));
        seats[0].enter().unwrap();
        fs::read(&small).unwrap();
        seats[1].enter().unwrap();
        fs::read(&large).unwrap();
        // Not its own: it stays where it is.
        seats[0].leave().unwrap();
        seats[1].leave().unwrap();
        let cache = |group: &MemoryGroup| {
            let held = group.held().unwrap();
            held.all.get() - held.private.get()
        };
        let near = |cache: u64, mib: u64| (mib << 20..(mib + 2) << 20).contains(&cache);
        assert!(near(cache(&first), 6), "{}", cache(&first));
        assert!(near(cache(&second), 20), "{}", cache(&second));
        second
            .shrink(ByteCount::mib(8), ByteCount::mib(64))
            .unwrap();
        assert!(cache(&second) < 9 << 20, "{}", cache(&second));
        let path = first.path().to_owned();
        let [seat, _other] = seats;
        seat.enter().unwrap();
        let mut child = std::process::Command::new("sleep")
            .arg("600")
            .spawn()
            .unwrap();
        // Dropped while it is in there: this process goes on, and the group goes.
        drop((seat, first));
        assert!(!path.exists());
        assert_eq!(
            child.try_wait().unwrap(),
            None,
            "what it started goes on too"
        );
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
