//! One client of RocksDB.

use octavo_workload::{Result, connection::Access};

use super::store::Handle;
use crate::keyed::{Engine, Order, TreeId, Visit};

/// A client, whose reads are of one snapshot in each transaction.
pub(super) struct Client {
    handle: Handle,
}

impl Client {
    pub(super) fn new(handle: Handle) -> Self {
        Self { handle }
    }
}

impl Engine for Client {
    fn begin(&mut self, access: Access) -> Result<()> {
        match access {
            Access::Read => {
                self.handle.begin_read();
                Ok(())
            }
            Access::Write | Access::WriteRepeatable | Access::WriteSerializable => {
                self.handle.begin_write()
            }
        }
    }

    /// A call is of one moment by itself.
    fn begin_call(&mut self) -> Result<()> {
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.handle.commit()
    }

    fn rollback(&mut self) -> Result<()> {
        self.handle.rollback()
    }

    fn get<R>(&self, tree: TreeId, key: &[u8], take: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        self.handle
            .counted(tree, || self.handle.get(tree, key, take))
    }

    fn range(&self, tree: TreeId, from: &[u8], order: Order, visit: &mut Visit<'_>) -> Result<()> {
        let range = || self.handle.range(tree, from, order, visit);
        self.handle.counted(tree, range)
    }

    fn insert(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<bool> {
        let is_there = self.handle.counted(tree, || self.handle.lock(tree, key))?;
        if !is_there {
            self.handle.put(tree, key, value)?;
        }
        Ok(!is_there)
    }

    fn put(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Result<()> {
        self.handle.put(tree, key, value)
    }

    fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<()> {
        self.handle.delete(tree, key)
    }
}
