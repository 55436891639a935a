//! What differs among databases that change rows where they are.

use octavo_buffer::Frames;
use octavo_workload::schema::Column;

use crate::{packed::Room, replacement::Buffer, sample::Field, tree::Growth};

/// What a statement does to a row or to an index, as far as logs go. All are bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Change {
    /// A new row.
    Insert {
        /// The row.
        row: u32,
    },
    /// A row that stays.
    Update {
        /// The row.
        row: u32,
        /// Of it, values that are replaced.
        changed: u32,
    },
    /// A row that goes.
    Delete {
        /// The row.
        row: u32,
    },
    /// An entry that comes into an index, or goes from it.
    Entry {
        /// The entry.
        bytes: u32,
        /// Whether the index is that of the table's key.
        is_of_key: bool,
        /// Whether it comes.
        is_new: bool,
    },
}

/// The pages of an index. All are bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct IndexPages {
    /// Room for entries.
    pub(super) room: u32,
    /// Room that entries leave free when an index is made of sorted ones.
    pub(super) reserve: u32,
    /// What becomes of pages that are full.
    pub(super) growth: Growth,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogFormat {
    /// Bytes of a block, of which nothing smaller is written.
    pub(super) block: u64,
    /// Of these, the block's header.
    pub(super) header: u64,
    /// Whether the block that is not full is written again with what comes next; else the
    /// rest of it is lost.
    pub(super) rewrites: bool,
    /// Whether the first of several blocks is written last, once the others are durable.
    pub(super) first_last: bool,
    /// Bytes of all of it, after which it begins anew.
    pub(super) size: u64,
    /// Bytes of it after which pages are written that have been dirty for so long.
    pub(super) checkpoint: u64,
    /// Whether it is on another device, with undo: there it asks nothing of this one, and
    /// takes no time.
    pub(super) is_elsewhere: bool,
    /// Whether the device is to make pages durable that a checkpoint wrote.
    pub(super) flushes_pages: bool,
    /// Of the record of a commit.
    pub(super) commit: u32,
}

/// Where records go that take changes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UndoFormat {
    /// Of an undo page, what is no room for records.
    pub(super) overhead: u32,
    /// Segments that transactions take in turn.
    pub(super) segments: u32,
    /// How long pages are kept from being used again, in nanoseconds.
    pub(super) retention_ns: u64,
}

/// What differs among them.
pub(super) trait Rules: Send + Sync {
    /// A page of a table.
    fn heap(&self, page: u32) -> Room;

    /// Free bytes from which on a page takes rows again.
    fn emptied_from(&self, page: u32) -> u32;

    /// Whether a page that counts free room changes with each row that comes in.
    fn counts_room(&self) -> bool;

    /// A row's bytes.
    fn row(&self, columns: &[Column], fields: &[Field]) -> u32;

    /// Whether a row grows with its numbers and dates.
    fn grows(&self) -> bool;

    /// A page of an index.
    fn index(&self, page: u32) -> IndexPages;

    /// An entry's bytes, with what points to it.
    fn entry(&self, columns: &[Column], fields: &[Field], is_unique: bool) -> u32;

    /// The bytes by which a page above has what is in one below.
    fn pointer(&self, columns: &[Column], fields: &[Field]) -> u32;

    /// What the log takes for a change.
    fn logged(&self, change: Change, is_first: bool) -> u32;

    /// How it is written.
    fn log(&self, page: u32) -> LogFormat;

    /// Where undo records go; `None` where the log has them.
    fn undo(&self, page: u32) -> Option<UndoFormat>;

    /// The undo record of a change.
    fn undone(&self, change: Change, is_first: bool) -> u32;

    /// An empty buffer.
    fn buffer(&self, pages: u32, frames: Frames) -> Buffer;
}
