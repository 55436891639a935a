//! What RocksDB refuses, as the errors that workloads and callers act on.

use std::{error::Error, fmt};

use octavo_workload::{ConnectionError, connection::Conflict};

/// What RocksDB said: the kind of its status, a colon, and words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text(pub(super) String);

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.trim_end_matches([' ', ':']))?;
        if self.is_damage() {
            f.write_str(
                ": a file is damaged; delete the directory that you gave to octavo, and load again",
            )?;
        }
        if self.0.contains("not compiled") || self.0.contains("not linked") {
            f.write_str(": this library was built without it; choose another --compression")?;
        }
        Ok(())
    }
}

impl Error for Text {}

impl Text {
    fn is_damage(&self) -> bool {
        self.0.starts_with("Corruption")
    }

    /// What it means. The words are those of `Status::ToString` (RocksDB's `util/status.cc`).
    fn conflict(&self) -> Option<Conflict> {
        let is_busy = self.0.starts_with("Resource busy");
        match () {
            () if self.0.contains("Deadlock") => Some(Conflict::Deadlock),
            () if self.0.starts_with("Operation timed out") => Some(Conflict::LockTimeout),
            // Somebody else wrote the key after the transaction's snapshot, or its history is gone.
            () if is_busy || self.0.starts_with("Operation failed. Try again") => {
                Some(Conflict::Serialisation)
            }
            () => None,
        }
    }

    fn is_full(&self) -> bool {
        self.0.starts_with("IO error: No space left on device")
            || self.0.contains("No space left on device")
            || self.0.contains("Disk quota exceeded")
    }
}

/// What a failed call means.
pub(super) fn sort(text: Text, context: impl FnOnce() -> String) -> ConnectionError {
    if text.is_full() {
        return ConnectionError::Full(Box::new(text));
    }
    match text.conflict() {
        Some(kind) => ConnectionError::Conflict {
            kind,
            source: Box::new(text),
        },
        None => ConnectionError::other(context(), text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(text: &str) -> ConnectionError {
        sort(Text(text.into()), || "write".into())
    }

    #[test]
    fn conflicts_are_known_by_the_words_of_their_status() {
        for (text, wanted) in [
            ("Resource busy: ", Conflict::Serialisation),
            ("Resource busy: Deadlock", Conflict::Deadlock),
            (
                "Operation timed out: Timeout waiting to lock key",
                Conflict::LockTimeout,
            ),
            (
                "Operation failed. Try again.: Transaction could not check for conflicts",
                Conflict::Serialisation,
            ),
        ] {
            assert!(
                matches!(sorted(text), ConnectionError::Conflict { kind, .. } if kind == wanted),
                "{text}"
            );
        }
    }

    #[test]
    fn a_full_disk_and_damage_are_told_as_such() {
        let full = "IO error: No space left on device: While appending to file: 000012.log";
        assert!(matches!(sorted(full), ConnectionError::Full(_)));
        let damaged = sorted("Corruption: block checksum mismatch");
        let why = damaged.source().unwrap().to_string();
        assert!(why.contains("load again"), "{why}");
        assert!(matches!(
            sorted("IO error: x"),
            ConnectionError::Other { .. }
        ));
    }
}
