//! Which program this is, so that what another build found is not taken for its own.

use std::{env, fs, io, os::unix::fs::MetadataExt as _};

/// Its version, its length and when it was written.
///
/// # Errors
/// When its file is gone.
pub(crate) fn identity(octavo_version: &str) -> io::Result<String> {
    let program = fs::metadata(env::current_exe()?)?;
    Ok(format!(
        "{octavo_version}, {} bytes, {}.{:09}",
        program.len(),
        program.mtime(),
        program.mtime_nsec()
    ))
}
