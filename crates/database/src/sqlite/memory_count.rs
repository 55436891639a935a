//! What SQLite counts of its memory.

#![expect(unsafe_code, reason = "SQLite is a library of C")]

use rusqlite::ffi;

/// Has SQLite not count how much memory it has in use in this process: it does that behind one lock for all
/// connections, so that threads with files of their own wait for each other
/// (<https://www.sqlite.org/malloc.html#memory_statistics>). What is measured is counted, as it is everywhere.
///
/// Without effect where SQLite was used before.
pub fn leave_memory_uncounted() {
    // SAFETY: this option takes an integer, and SQLite refuses it once it is initialised.
    let _refused = unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_MEMSTATUS, 0) };
}
