//! A column of a row, as it was read from a key or a value.

/// A column of a row that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Null,
    Integer(i64),
    /// Bytes of the key or of the value.
    Text {
        in_key: bool,
        start: u32,
        end: u32,
    },
}

impl Field {
    pub(super) fn in_key(start: usize, end: usize) -> Option<Self> {
        Self::text(true, start, end)
    }

    pub(super) fn text(in_key: bool, start: usize, end: usize) -> Option<Self> {
        Some(Self::Text {
            in_key,
            start: u32::try_from(start).ok()?,
            end: u32::try_from(end).ok()?,
        })
    }
}
