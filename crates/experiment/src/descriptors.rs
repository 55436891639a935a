//! Whether this process may have as many files open as sessions need.

use rustix::process::{Resource, getrlimit};

/// What is open beside sessions: the store, the terminal, counters of the
/// machine, directories.
const OWN: u64 = 32;

/// More files would be open than this process may have.
#[derive(Debug, thiserror::Error)]
#[error("{needed} files are open at a time, but this process may have {allowed}")]
pub struct TooManyFiles {
    /// Files that would be open.
    needed: u64,
    /// The limit (RLIMIT_NOFILE, getrlimit(2)).
    allowed: u64,
}

/// Refuses more files than this process may have open, before a session in the
/// middle fails.
///
/// # Errors
/// When the files of all sessions, and a few beside them, are above the limit.
pub fn check(of_sessions: u64) -> Result<(), TooManyFiles> {
    // None is no limit.
    let allowed = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let needed = of_sessions.saturating_add(OWN);
    if needed > allowed {
        return Err(TooManyFiles { needed, allowed });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_files_than_allowed_are_refused_with_both_numbers() {
        check(1).unwrap();
        let Some(allowed) = getrlimit(Resource::Nofile).current else {
            return;
        };
        check(allowed - OWN).unwrap();
        let refused = check(allowed - OWN + 1).unwrap_err().to_string();
        assert_eq!(
            refused,
            format!(
                "{} files are open at a time, but this process may have {allowed}",
                allowed + 1
            )
        );
    }
}
