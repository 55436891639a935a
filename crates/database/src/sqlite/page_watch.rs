//! Which pages a connection refers to: a layer between SQLite and its page cache.
//!
//! SQLite asks its cache for each page that it refers to, whether the cache has it or not
//! (<https://www.sqlite.org/c3ref/pcache_methods2.html>). The layer passes that on to SQLite's own
//! cache and notes it for the connection that the thread has under watch. The pages that a commit
//! writes to the log are in the headers of its frames (<https://www.sqlite.org/walformat.html>),
//! which pass through [`super::vfs`].
//!
//! What the cache is not told follows from what SQLite counts. A page that it counts neither as
//! found nor as read has no content yet: it is new, or its content was given up. Pages that are
//! only looked for (`createFlag` 0) are no references.
//!
//! The layer is put in before SQLite is initialised, and there it stays; connections that nobody
//! watches pay for a look at a thread's variable.

#![expect(unsafe_code, reason = "SQLite is a library of C")]

use std::{
    cell::RefCell,
    ffi::{c_int, c_uint},
    ptr,
    sync::OnceLock,
};

use octavo_workload::page_trace::TracedPage;
use rusqlite::ffi;

/// The methods of SQLite's own cache.
struct Methods(ffi::sqlite3_pcache_methods2);

// SAFETY: they are functions, and an argument that SQLite's own cache does not use.
unsafe impl Send for Methods {}
// SAFETY: as above; nothing changes them.
unsafe impl Sync for Methods {}

/// SQLite's own cache, once the layer is above it.
static OWN: OnceLock<Methods> = OnceLock::new();

thread_local! {
    /// The connection that this thread has under watch.
    static WATCHED: RefCell<Option<Watched>> = const { RefCell::new(None) };
}

/// What is known of a connection under watch.
struct Watched {
    /// The cache of its database. Those of temporary tables are in memory and not purgeable.
    cache: *mut ffi::sqlite3_pcache,
    /// `None` until it is open.
    connection: Option<*mut ffi::sqlite3>,
    fetched: Vec<Fetched>,
    /// The pages of frames that were written to the log, from 1.
    logged: Vec<u32>,
    /// Pages whose content was dropped from the cache.
    dropped: Vec<*mut ffi::sqlite3_pcache_page>,
}

/// A page that the cache was asked for.
struct Fetched {
    page: *mut ffi::sqlite3_pcache_page,
    /// From 1.
    number: u32,
    /// References that SQLite had counted before.
    before: c_int,
    /// Whether it counted this one.
    is_counted: bool,
}

/// What a connection did to pages within a transaction of the database.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Each reference, in order.
    pub(super) pages: Vec<TracedPage>,
    /// Pages that were written to the log.
    pub(super) logged: usize,
}

/// Puts the layer in.
///
/// # Errors
/// When SQLite was initialised before.
pub(super) fn install() -> Result<(), &'static str> {
    // Who comes second waits, and does not open a database in between.
    static INSTALLED: OnceLock<Result<(), &'static str>> = OnceLock::new();
    *INSTALLED.get_or_init(install_once)
}

fn install_once() -> Result<(), &'static str> {
    // SAFETY: all fields may be zero; SQLite fills them in.
    let mut own: ffi::sqlite3_pcache_methods2 = unsafe { std::mem::zeroed() };
    // SAFETY: this option takes a place for the methods.
    let asked = unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_GETPCACHE2, &raw mut own) };
    if asked != ffi::SQLITE_OK || own.xFetch.is_none() {
        return Err("SQLite was used before its cache could be watched");
    }
    let mut layer = ffi::sqlite3_pcache_methods2 {
        xCreate: Some(create),
        xFetch: Some(fetch),
        xUnpin: Some(unpin),
        ..own
    };
    // Before the methods below are called.
    let _first = OWN.set(Methods(own));
    // SAFETY: this option takes methods, which SQLite copies.
    let set = unsafe { ffi::sqlite3_config(ffi::SQLITE_CONFIG_PCACHE2, &raw mut layer) };
    match set {
        ffi::SQLITE_OK => Ok(()),
        _ => Err("SQLite was used before its cache could be watched"),
    }
}

/// A watch over what the connection does that this thread opens next. One thread has one at a
/// time.
pub(super) struct PageWatch;

impl PageWatch {
    /// Begins it, before the connection is opened.
    ///
    /// # Panics
    /// When the thread has another one.
    pub(super) fn begin() -> Self {
        WATCHED.with_borrow_mut(|watched| {
            assert!(watched.is_none(), "a thread has one watch at a time");
            *watched = Some(Watched {
                cache: ptr::null_mut(),
                connection: None,
                fetched: Vec::new(),
                logged: Vec::new(),
                dropped: Vec::new(),
            });
        });
        Self
    }

    /// Notes what is done from now on through a connection that was opened since the watch began,
    /// and is open as long as this notes.
    pub(super) fn note(&self, connection: *mut ffi::sqlite3) {
        with_watched(|watched| watched.connection = Some(connection));
    }

    /// Notes nothing any more.
    pub(super) fn pause(&self) {
        with_watched(|watched| watched.connection = None);
    }

    /// What was done since the last call: within a transaction that has ended.
    pub(super) fn take(&self) -> Seen {
        let mut seen = Seen::default();
        with_watched(|watched| watched.take(&mut seen));
        seen
    }
}

impl Drop for PageWatch {
    fn drop(&mut self) {
        WATCHED.set(None);
    }
}

/// Notes a write to the log: a frame has its header alone, and its page behind it.
pub(super) fn note_log_write(bytes: &[u8], offset: u64) {
    const HEADER: u64 = 32;
    const FRAME_HEADER: usize = 24;
    if bytes.len() == FRAME_HEADER && offset >= HEADER {
        with_watched(|watched| {
            if watched.connection.is_some() {
                let number = [bytes[0], bytes[1], bytes[2], bytes[3]];
                watched.logged.push(u32::from_be_bytes(number));
            }
        });
    }
}

fn with_watched(work: impl FnOnce(&mut Watched)) {
    WATCHED.with_borrow_mut(|watched| {
        if let Some(watched) = watched {
            work(watched);
        }
    });
}

impl Watched {
    /// References that SQLite has counted: pages found and pages read.
    fn counted(&self) -> c_int {
        let Some(connection) = self.connection else {
            return 0;
        };
        let count = |operation| {
            let (mut current, mut highest) = (0, 0);
            // SAFETY: the connection is open as long as it is noted, and used by this thread;
            // both places are valid. The question reads two counters and calls no cache.
            unsafe {
                ffi::sqlite3_db_status(
                    connection,
                    operation,
                    &raw mut current,
                    &raw mut highest,
                    0,
                );
            }
            current
        };
        // Both wrap.
        count(ffi::SQLITE_DBSTATUS_CACHE_HIT).wrapping_add(count(ffi::SQLITE_DBSTATUS_CACHE_MISS))
    }

    /// Learns whether the last reference was counted; the count.
    fn settle(&mut self) -> c_int {
        let counted = self.counted();
        if let Some(last) = self.fetched.last_mut() {
            last.is_counted |= last.before != counted;
        }
        counted
    }

    fn take(&mut self, seen: &mut Seen) {
        self.settle();
        self.logged.sort_unstable();
        self.logged.dedup();
        self.dropped.sort_unstable();
        let pages = self.fetched.drain(..).map(|fetched| {
            let is_change = self.logged.binary_search(&fetched.number).is_ok()
                || self.dropped.binary_search(&fetched.page).is_ok();
            TracedPage::new(fetched.number - 1, is_change, !fetched.is_counted)
        });
        seen.pages = pages.collect();
        seen.logged = self.logged.len();
        // All that is logged was asked for before; if ever not, it is still written.
        let mut referred: Vec<u32> = seen.pages.iter().map(|page| page.number() + 1).collect();
        referred.sort_unstable();
        let missing = self.logged.iter();
        let missing = missing.filter(|number| referred.binary_search(number).is_err());
        let missing = missing.map(|number| TracedPage::new(number - 1, true, false));
        seen.pages.extend(missing);
        self.logged.clear();
        self.dropped.clear();
    }
}

/// A method of SQLite's own cache.
macro_rules! own {
    ($method:ident ( $($argument:expr),* )) => {
        match OWN.get().and_then(|own| own.0.$method) {
            Some(method) => method($($argument),*),
            None => unreachable!("the layer is put in above a cache that has all methods"),
        }
    };
}

unsafe extern "C" fn create(
    page_bytes: c_int,
    extra_bytes: c_int,
    purgeable: c_int,
) -> *mut ffi::sqlite3_pcache {
    // SAFETY: the arguments go on unchanged.
    let cache = unsafe { own!(xCreate(page_bytes, extra_bytes, purgeable)) };
    if purgeable != 0 {
        // The last one counts: a database whose page size was not the expected one gets another.
        with_watched(|watched| watched.cache = cache);
    }
    cache
}

unsafe extern "C" fn fetch(
    cache: *mut ffi::sqlite3_pcache,
    number: c_uint,
    create_flag: c_int,
) -> *mut ffi::sqlite3_pcache_page {
    let mut before = None;
    with_watched(|watched| {
        if watched.cache == cache && watched.connection.is_some() && create_flag != 0 {
            before = Some(watched.settle());
        }
    });
    // SAFETY: the arguments go on unchanged.
    let page = unsafe { own!(xFetch(cache, number, create_flag)) };
    // Without a page SQLite makes room and asks again.
    if let Some(before) = before
        && !page.is_null()
    {
        with_watched(|watched| {
            watched.fetched.push(Fetched {
                page,
                number,
                before,
                is_counted: false,
            });
        });
    }
    page
}

unsafe extern "C" fn unpin(
    cache: *mut ffi::sqlite3_pcache,
    page: *mut ffi::sqlite3_pcache_page,
    discard: c_int,
) {
    if discard != 0 {
        with_watched(|watched| {
            if watched.cache == cache && watched.connection.is_some() {
                watched.dropped.push(page);
            }
        });
    }
    // SAFETY: the arguments go on unchanged.
    unsafe { own!(xUnpin(cache, page, discard)) }
}
