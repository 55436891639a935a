//! How a server's memory is divided between its buffer and the page cache.

use octavo_units::{ByteCount, PageSize};

use crate::Settings;

/// The page cache may have one in so many bytes of memory where there is no direct I/O. It
/// only holds pages that are being written.
const CACHE_PART: u64 = 8;

/// Less page cache makes the server wait for its own writes.
pub(super) const CACHE_MIN: ByteCount = ByteCount::mib(4);

/// Pages that a server needs in its buffer for itself, and for each client: a
/// b-tree's split and a scan hold fewer than this.
const PAGES_MIN: u64 = 64;
const PAGES_EACH: u64 = 16;

/// The most pages of `shared_buffers` (`INT_MAX / 2` in guc_tables.c).
const BUFFERS_MAX: u64 = i32::MAX as u64 / 2;

/// How the memory is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shares {
    /// `shared_buffers`.
    pub(super) buffer: ByteCount,
    /// Left to the page cache; nothing with direct I/O.
    pub(super) cache: ByteCount,
}

impl Shares {
    pub(super) fn divide(memory: ByteCount, direct: bool) -> Self {
        let cache = if direct {
            ByteCount::ZERO
        } else {
            ByteCount::new(memory.get() / CACHE_PART).max(CACHE_MIN)
        };
        Self {
            buffer: ByteCount::new(memory.get().saturating_sub(cache.get())),
            cache,
        }
    }

    /// The most memory of which the buffer can have all pages.
    pub(super) fn most(page_size: PageSize, direct: bool) -> ByteCount {
        let buffer = BUFFERS_MAX * u64::from(page_size.get());
        if direct {
            return ByteCount::new(buffer);
        }
        ByteCount::new(buffer / (CACHE_PART - 1) * CACHE_PART)
    }

    /// The least memory for these clients and pages.
    pub(super) fn least(settings: &Settings, direct: bool) -> ByteCount {
        let pages = PAGES_MIN + PAGES_EACH * u64::from(settings.clients);
        let buffer = ByteCount::new(pages * u64::from(settings.page_size.get()));
        if direct {
            return buffer;
        }
        // The cache is an eighth of all, so a seventh of the buffer.
        let cache = ByteCount::new(buffer.get().div_ceil(CACHE_PART - 1)).max(CACHE_MIN);
        buffer.saturating_add(cache)
    }
}
