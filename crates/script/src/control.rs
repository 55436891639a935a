//! Transactions, as scripts begin and end them.

/// How a transaction wants to be kept apart from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It only reads.
    Read,
    /// It may write.
    Write,
    /// It may write, and what it has read stays so.
    WriteRepeatable,
    /// It may write, as if it were alone.
    WriteSerializable,
}

/// What begins or ends a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// BEGIN.
    Begin(Access),
    /// COMMIT or END.
    Commit,
    /// ROLLBACK or ABORT.
    Rollback,
}
