//! The boundary to stores: trees of keys, in transactions.

use std::ops::ControlFlow;

use octavo_workload::{Result, connection::Access};

/// The position of a tree in [`super::Layout::trees`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TreeId(pub(crate) usize);

/// In which order keys come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// From the first that is not before a key.
    Rising,
    /// From the last that is before a key.
    Falling,
}

/// Receives keys and values one by one, and says whether it wants more.
pub(crate) type Visit<'v> = dyn FnMut(&[u8], &[u8]) -> ControlFlow<()> + 'v;

/// One client's handle of a store. What reads and writes is called within a transaction.
pub(crate) trait Engine: Send {
    /// Begins a transaction.
    fn begin(&mut self, access: Access) -> Result<()>;

    /// Begins one that reads by a single call of [`Self::get`] or [`Self::range`].
    fn begin_call(&mut self) -> Result<()> {
        self.begin(Access::Read)
    }

    /// Makes it durable.
    fn commit(&mut self) -> Result<()>;

    /// Undoes it; harmless when none is open.
    fn rollback(&mut self) -> Result<()>;

    /// Hands over a key's value, if it is there.
    fn get<R>(&self, tree: TreeId, key: &[u8], take: impl FnOnce(&[u8]) -> R) -> Result<Option<R>>;

    /// Hands over keys and values in their order.
    fn range(&self, tree: TreeId, from: &[u8], order: Order, visit: &mut Visit<'_>) -> Result<()>;

    /// Adds a key, unless it is there; answers whether it was added.
    fn insert(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool>;

    /// Adds a key, or replaces its value.
    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()>;

    /// Removes a key that is there.
    fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<()>;
}
