//! What is done with keys.

/// An operation on a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads a key.
    Get,
    /// Looks for a key that was never there.
    GetAbsent,
    /// Writes a new value of a key that is there.
    Put,
    /// Writes a new key.
    Insert,
    /// Removes the oldest key.
    Delete,
    /// Reads keys beside each other.
    Range,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Get,
        Self::GetAbsent,
        Self::Put,
        Self::Insert,
        Self::Delete,
        Self::Range,
    ];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::GetAbsent => "get-absent",
            Self::Put => "put",
            Self::Insert => "insert",
            Self::Delete => "delete",
            Self::Range => "range",
        }
    }

    /// Whether it only reads.
    pub(crate) const fn reads(self) -> bool {
        matches!(self, Self::Get | Self::GetAbsent | Self::Range)
    }
}
