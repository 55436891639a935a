//! What the kernel still has to write of a server's files.

use std::{
    fs::File,
    io,
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use super::tree;
use crate::{
    Result,
    files::{self, named},
};

/// Files carry the time of the kernel's last tick before they were changed.
const SLACK: Duration = Duration::from_millis(100);

/// A directory whose files are written through the page cache.
pub(crate) struct WriteBack {
    path: PathBuf,
    /// What was changed before was written.
    since: Mutex<SystemTime>,
}

impl WriteBack {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            since: Mutex::new(SystemTime::UNIX_EPOCH),
        }
    }

    /// Waits until the kernel has written the files that were changed since the
    /// last time, without flushing the device and the file system's own log: who
    /// needs these asks for them, as servers do of all that has to survive. The
    /// flush of a file costs one of the device also where nothing was changed.
    pub(crate) fn wait(&self) -> Result<()> {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let now = SystemTime::now();
        tree::each_file(&self.path, &mut |path, about| {
            if about.modified().is_ok_and(|changed| changed < *since) {
                return Ok(());
            }
            let file = match File::open(path) {
                // Servers remove some of their files.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                opened => opened.map_err(named("open", path))?,
            };
            files::write_back(&file).map_err(named("write back", path))
        })?;
        *since = now - SLACK;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Instant};

    use super::*;

    /// Memory pages of the page cache, of all files, that wait to be written.
    fn unwritten(path: &std::path::Path) -> bool {
        // Clean pages leave when they are asked to, dirty ones stay.
        let file = File::open(path).unwrap();
        files::forget(&file);
        crate::resident::resident_pages(path) > 0
    }

    #[test]
    fn files_that_were_changed_are_written() {
        let scratch = crate::scratch::directory();
        let directory = scratch.path().join("data");
        fs::create_dir_all(directory.join("below")).unwrap();
        let file = directory.join("below/file");
        let changed = WriteBack::new(directory.clone());
        let since = Instant::now();
        for round in 0..3 {
            fs::write(&file, vec![round; 300_000]).unwrap();
            changed.wait().unwrap();
            assert!(!unwritten(&file), "round {round}");
        }
        eprintln!("{:?}", since.elapsed());
        changed.wait().unwrap();
        fs::remove_dir_all(&directory).unwrap();
        let error = changed.wait().unwrap_err().to_string();
        assert!(error.contains("data"), "{error}");
    }
}
