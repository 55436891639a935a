//! Which table and which index should have which page size, in a database that gives them sizes of their
//! own.
//!
//! The rows that transactions touch are known beforehand, and so are the pages that these are on, with each
//! size. [`References`] counts after which time pages of each tree are referred to again. From that follows
//! what any assignment of sizes reads ([`octavo_buffer::reuse`]): trees share a buffer, so a tree's size
//! also decides what is left for others. [`choose`] looks for the assignment that costs the least.

mod pages;
mod references;
mod search;

pub use pages::{TreePage, TreePages};
pub use references::{References, ReferencesError, Watch};
pub use search::{Assignment, Choice, ReadCost, TreeReads, WORTH_IT, choose};
