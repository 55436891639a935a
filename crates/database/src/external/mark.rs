//! Octavo's schema on a server, and the mark that says so.

/// The schema that is Octavo's; for MySQL, where the two are one, the
/// database.
pub const SCHEMA: &str = "octavo";

/// How the mark of the schema begins; what was loaded follows.
pub(crate) const MARK: &str = "octavo: ";

/// The mark while rows are being loaded.
pub(crate) const LOADING: &str = "octavo: loading";

/// The note in a mark; `None` while rows are being loaded.
pub(crate) fn note_of(mark: &str) -> Option<&str> {
    mark.strip_prefix(MARK).filter(|_| mark != LOADING)
}
