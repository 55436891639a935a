//! Who has a file open in this process.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Condvar, Mutex, PoisonError},
};

/// The turn of one environment at a file: the libraries forbid a second one in the same process, whose
/// closing would give up the locks of the first (fcntl(2)).
pub(crate) struct Turn(PathBuf);

static OPEN: (Mutex<BTreeSet<PathBuf>>, Condvar) = (Mutex::new(BTreeSet::new()), Condvar::new());

impl Turn {
    /// Waits until nobody has the file open.
    pub(crate) fn take(path: &Path) -> Self {
        let (open, closed) = &OPEN;
        let open = open.lock().unwrap_or_else(PoisonError::into_inner);
        let is_open = |open: &mut BTreeSet<PathBuf>| open.contains(path);
        let mut open = closed
            .wait_while(open, is_open)
            .unwrap_or_else(PoisonError::into_inner);
        open.insert(path.to_owned());
        Self(path.to_owned())
    }

    /// The file.
    pub(crate) fn file(&self) -> &Path {
        &self.0
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (open, closed) = &OPEN;
        let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
        open.remove(&self.0);
        closed.notify_all();
    }
}
