//! Reading ahead of SQLite where it goes through a file backwards.
//!
//! SQLite's checks follow a b-tree from its last page to its first one (`checkTreePage`), and rows
//! that were copied by `VACUUM INTO` lie in their order. The kernel reads ahead of nobody who goes
//! backwards, so each page would be a request of its own: 12,000 a second of 4 KiB on the storage
//! that this was found on, and minutes for 10 GB. So what lies before such a page is read in one
//! piece, which leaves it in the page cache.

#![expect(unsafe_code, reason = "SQLite is a library of C")]

use std::ffi::{c_int, c_void};

use rusqlite::ffi;

/// Bytes that are read ahead at once. Chosen: the request takes as long as some twenty single ones.
const AHEAD: usize = 1 << 20;

/// Reads in a row, each of what lies right before the last one, after which there will be more.
/// Chosen.
const STEPS: u32 = 4;

/// How a file is read.
#[derive(Debug, Default)]
struct Direction {
    /// Where the last read began.
    last: i64,
    /// How many reads lay right before the one before them.
    steps: u32,
    /// From where on all up to the last read was read ahead.
    ready: i64,
}

impl Direction {
    /// Notes a read, and answers where to read ahead of it from, up to its begin.
    fn ahead_of(&mut self, offset: i64, amount: i64) -> Option<i64> {
        // Pages of inner nodes lie between the others.
        let is_before = offset < self.last && self.last - offset <= 4 * amount;
        self.last = offset;
        if !is_before {
            (self.steps, self.ready) = (0, offset);
            return None;
        }
        self.steps = self.steps.saturating_add(1);
        if self.steps < STEPS || offset > self.ready {
            return None;
        }
        self.ready = (offset - AHEAD as i64).max(0);
        (self.ready < offset).then_some(self.ready)
    }
}

/// What stands in place of a file's methods. `methods` comes first, so that the pointers are the
/// same.
#[repr(C)]
struct Watched {
    methods: ffi::sqlite3_io_methods,
    own: *const ffi::sqlite3_io_methods,
    direction: Direction,
    buffer: Vec<u8>,
}

/// Has an open file of the "unix" VFS read ahead.
///
/// # Safety
/// The file is open, and SQLite closes it by its methods.
pub(super) unsafe fn read_ahead(file: *mut ffi::sqlite3_file) {
    // SAFETY: methods of an open file live as long as the process.
    let own = unsafe { (*file).pMethods };
    if own.is_null() {
        return;
    }
    let watched = Box::new(Watched {
        methods: ffi::sqlite3_io_methods {
            xRead: Some(read),
            xClose: Some(close),
            // SAFETY: as above.
            ..unsafe { *own }
        },
        own,
        direction: Direction::default(),
        buffer: vec![0; AHEAD],
    });
    // SAFETY: the file is open. `close` takes the box back.
    unsafe { (*file).pMethods = Box::into_raw(watched).cast() };
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    into: *mut c_void,
    amount: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: the file's methods are those that `read_ahead` gave it, which one thread uses at a
    // time. "unix" does not look at a file's methods.
    unsafe {
        let watched = &mut *(*file).pMethods.cast_mut().cast::<Watched>();
        let Some(read) = (*watched.own).xRead else {
            unreachable!("the unix VFS reads");
        };
        if let Some(from) = watched.direction.ahead_of(offset, amount.into()) {
            let length = c_int::try_from(offset - from).unwrap_or(0);
            // Where this fails, so does the read of the page, which tells.
            let _ahead = read(file, watched.buffer.as_mut_ptr().cast(), length, from);
        }
        read(file, into, amount, offset)
    }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: as in `read`; nothing uses the box after this.
    unsafe {
        let watched = Box::from_raw((*file).pMethods.cast_mut().cast::<Watched>());
        (*file).pMethods = watched.own;
        match (*watched.own).xClose {
            Some(close) => close(file),
            None => unreachable!("the unix VFS closes files"),
        }
    }
}

const _: () = assert!(AHEAD <= c_int::MAX as usize);

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, OpenFlags};

    use super::*;
    use crate::{scratch, sqlite::temporary::Unmeasured};

    const PAGE: i64 = 4096;

    #[test]
    fn only_who_goes_backwards_is_read_ahead_of() {
        let far = 3 * AHEAD as i64;
        let mut direction = Direction::default();
        for page in 0..100 {
            assert_eq!(direction.ahead_of(page * PAGE, PAGE), None, "{page}");
        }
        let mut pieces = Vec::new();
        for page in (0..far / PAGE).rev() {
            if let Some(from) = direction.ahead_of(page * PAGE, PAGE) {
                pieces.push((from, page * PAGE));
            }
        }
        // Each piece ends where the one before it began, and the last one is at the file's begin.
        assert!(pieces.len() <= 4, "{pieces:?}");
        for two in pieces.windows(2) {
            assert!(
                two[1].1 >= two[0].0 && two[1].1 - two[0].0 <= PAGE,
                "{pieces:?}"
            );
        }
        assert_eq!(pieces.last().unwrap().0, 0);
        // Somewhere else nothing is, whatever the direction.
        for jump in [90, 10, 70, 30, 50] {
            assert_eq!(direction.ahead_of(jump * far, PAGE), None);
        }
    }

    #[test]
    fn a_file_that_is_read_backwards_has_what_is_in_it() {
        let directory = scratch::directory();
        let database = directory.path().join("data");
        let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000) \
                    INSERT INTO t SELECT i, hex(zeroblob(300)) || i FROM n";
        let sql = format!("CREATE TABLE t(id INTEGER PRIMARY KEY, x); {rows}; VACUUM;");
        Connection::open(&database)
            .and_then(|connection| connection.execute_batch(&sql))
            .unwrap();
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let plain = Unmeasured::open(database.as_os_str(), flags, directory.path()).unwrap();
        plain.execute_batch("PRAGMA cache_size=10").unwrap();
        let said: String = plain
            .query_row("PRAGMA quick_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(said, "ok");
        let mut statement = plain
            .prepare("SELECT id, x FROM t ORDER BY id DESC")
            .unwrap();
        let mut found = statement.query([]).unwrap();
        for id in (1..=9000).rev() {
            let row = found.next().unwrap().unwrap();
            assert_eq!(row.get::<_, i64>(0).unwrap(), id);
            assert!(row.get::<_, String>(1).unwrap().ends_with(&id.to_string()));
        }
    }
}
