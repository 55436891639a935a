//! Directories for tests, beside the test program: on a real file system more
//! often than the system's directory for temporary files.

use tempfile::TempDir;

/// A fresh directory, removed when dropped.
pub(crate) fn directory() -> TempDir {
    let program = std::env::current_exe().expect("a test program has a path");
    let parent = program.parent().expect("and lies in a directory");
    tempfile::tempdir_in(parent)
        .or_else(|_| tempfile::tempdir())
        .expect("one of the two can be written")
}
