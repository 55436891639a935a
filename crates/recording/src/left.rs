//! Why a recorded statement is not sent again.

use std::fmt;

/// The reason.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Left {
    /// It begins with this word: it changes settings or definitions, or moves data in another way.
    Word(&'static str),
    /// It failed when it was recorded.
    Failed,
    /// Its transaction began before the recording or ended after it.
    Cut,
    /// It was sent to another database.
    OtherDatabase,
    /// It was sent by a tool that dumps or maintains the database.
    Tool,
    /// Its values are not in the recording.
    NoValues,
    /// It is cut off: a quote or comment has no end.
    NoEnd,
    /// A savepoint was rolled back to that stood before it.
    Undone,
    /// It locks something for the rest of its session.
    SessionLock,
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
    /// It is a digest with a value that is compared with no column, so that nobody knows what it
    /// may be.
    NoColumn,
    /// It is a digest that inserts or sets a key, for which no new value can be made.
    NewKey,
    /// It is a digest with a list of values that was shortened, of unknown length.
    Shortened,
    /// It is a digest whose text the account may not read.
    Hidden,
}

impl fmt::Display for Left {
    /// As behind a number: "3 whose values were not recorded".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Word(word) => word,
            Self::Failed => "that failed when they were recorded",
            Self::Cut => "of transactions that the recording has in part",
            Self::OtherDatabase => "of other databases",
            Self::Tool => "of tools that dump or maintain the database",
            Self::NoValues => "whose values were not recorded",
            Self::NoEnd => "that are cut off",
            Self::Undone => "that a savepoint undid",
            Self::SessionLock => "that lock for their whole session",
            Self::NoText => "with bytes that are no text",
            Self::ManyValues => "with too many values",
            Self::Rare => "of rare forms",
            Self::Long => "behind what fits into memory",
            Self::Refused => "that the copy refuses",
            Self::NoColumn => "with a value that is compared with no column",
            Self::NewKey => "with a key that cannot be made up",
            Self::Shortened => "with a list of unknown length",
            Self::Hidden => "that your account may not read",
        })
    }
}

/// Words that statements begin with, of all databases whose recordings are read. What is none of
/// them may be a part of a value in a damaged recording, and is not told.
const WORDS: [&str; 61] = [
    "ALTER",
    "ANALYZE",
    "ATTACH",
    "BINLOG",
    "CACHE",
    "CALL",
    "CHANGE",
    "CHECK",
    "CHECKPOINT",
    "CHECKSUM",
    "CLONE",
    "CLOSE",
    "CLUSTER",
    "COMMENT",
    "COPY",
    "CREATE",
    "DEALLOCATE",
    "DECLARE",
    "DESC",
    "DESCRIBE",
    "DETACH",
    "DISCARD",
    "DO",
    "DROP",
    "EXECUTE",
    "EXPLAIN",
    "FETCH",
    "FLUSH",
    "GRANT",
    "HANDLER",
    "IMPORT",
    "INSTALL",
    "KILL",
    "LISTEN",
    "LOAD",
    "LOCK",
    "MOVE",
    "NOTIFY",
    "OPTIMIZE",
    "PRAGMA",
    "PREPARE",
    "PURGE",
    "REASSIGN",
    "REFRESH",
    "REINDEX",
    "RELEASE",
    "RENAME",
    "REPAIR",
    "RESET",
    "REVOKE",
    "ROLLBACK",
    "SAVEPOINT",
    "SECURITY",
    "SET",
    "SHOW",
    "SHUTDOWN",
    "TRUNCATE",
    "UNINSTALL",
    "UNLOCK",
    "USE",
    "VACUUM",
];

impl Left {
    /// Of the first word of a statement, in capitals.
    pub(crate) fn of_word(word: &str) -> Self {
        let known = WORDS.iter().find(|known| **known == word);
        Self::Word(known.copied().unwrap_or("of other kinds"))
    }
}
