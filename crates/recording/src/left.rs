//! Why a recorded statement is not sent again.

use std::fmt;

/// The reason.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Left {
    /// It begins with this word, in upper case: it changes settings or definitions, or moves data
    /// in another way.
    Word(String),
    /// It failed when it was recorded.
    Failed,
    /// Its transaction began before the recording or ended after it.
    Cut,
    /// It was sent to another database.
    OtherDatabase,
    /// Its values are not in the recording.
    NoValues,
    /// It has bytes that are no text.
    NoText,
    /// It has more values than a statement can have parameters.
    ManyValues,
    /// Its form is none of the most frequent ones.
    Rare,
    /// The recording is longer than what is held in memory.
    Long,
    /// The copy refuses it.
    Refused,
}

impl fmt::Display for Left {
    /// As behind a number: "3 whose values were not recorded".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Word(word) => word,
            Self::Failed => "that failed when they were recorded",
            Self::Cut => "of transactions that the recording has in part",
            Self::OtherDatabase => "of other databases",
            Self::NoValues => "whose values were not recorded",
            Self::NoText => "with bytes that are no text",
            Self::ManyValues => "with too many values",
            Self::Rare => "of rare forms",
            Self::Long => "behind what fits into memory",
            Self::Refused => "that the copy refuses",
        })
    }
}
