//! What servers are started with that record or are timed.

use crate::PagesWanted;

/// Pages of the buffer while statements are recorded. A server has 16 at least; a statement holds
/// two for each table that it joins, and a few in an index. A measured server has 80 at least.
pub(super) const BUFFER_PAGES: u32 = 32;

/// What servers are started with that record or are timed.
pub(super) fn parameters(
    wanted: &PagesWanted<'_>,
    buffer_pages: u64,
) -> Vec<(&'static str, String)> {
    vec![
        // Without a unit these are pages.
        ("shared_buffers", buffer_pages.to_string()),
        (
            "effective_cache_size",
            format!("{}kB", wanted.memory.get() >> 10),
        ),
        ("huge_pages", "off".into()),
        ("max_connections", "16".into()),
        // Nothing of it is wanted afterwards.
        ("fsync", "off".into()),
        // The model adds whole pages where a checkpoint makes them due.
        ("full_page_writes", "off".into()),
        ("wal_compression", "off".into()),
        ("wal_buffers", "4MB".into()),
        ("max_wal_size", "1TB".into()),
        ("min_wal_size", "32MB".into()),
        ("checkpoint_timeout", "1d".into()),
        ("bgwriter_lru_maxpages", "0".into()),
        ("autovacuum", "off".into()),
        // Plans stay as they are, and the session's own process does all of them.
        ("max_parallel_workers", "0".into()),
        ("log_min_messages", "log".into()),
    ]
}
