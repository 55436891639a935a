//! Filling a database with rows, or with those of another one.

use std::{ops::ControlFlow, path::Path, sync::Arc, time::Instant};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{Result as Answer, Workload};

use super::{
    library::Library,
    store::{Batch, Format, Handle, Purpose, Store},
};
use crate::{
    LoadReport, Progress, Result,
    error::unless_stopped,
    keyed::{
        Layout, Order, TreeId,
        fill::{self, Sink},
        layout::has_rows,
    },
    server::tree,
};

impl Sink for Batch<'_> {
    fn add(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Answer<()> {
        self.put(tree, key, value)
    }

    /// Write buffers have a limit of their own.
    fn settle(&mut self) -> Answer<()> {
        self.write()
    }
}

/// Makes a database durable that was filled, with one level of files a tree.
fn finish(store: Store, path: &Path) -> Result<ByteCount> {
    store.settle()?;
    drop(store);
    tree::sync(path)?;
    tree::forget(path)?;
    tree::size(path)
}

/// As [`crate::Database::load`].
pub(super) fn load(
    library: &'static Library,
    path: &Path,
    (format, page_size): (&Format, PageSize),
    workload: &dyn Workload,
    progress: &mut Progress<'_>,
) -> Result<LoadReport> {
    let start = Instant::now();
    let layout = Layout::new(workload);
    let purpose = Purpose::Fill(format, page_size);
    let store = Store::open(library, path, purpose, layout.trees())?;
    let mut batch = Batch::new(&store);
    let rows = fill::fill(workload, &layout, &mut batch, progress)?;
    drop(batch);
    Ok(LoadReport {
        rows,
        size: finish(store, path)?,
        log: None,
        elapsed: start.elapsed(),
    })
}

/// As [`crate::Derive::derive`].
pub(super) fn derive(
    library: &'static Library,
    from: &Path,
    to: &Path,
    (format, page_size): (&Format, PageSize),
    progress: &mut Progress<'_>,
) -> Result<LoadReport> {
    let start = Instant::now();
    let trees = Store::trees(library, from)?;
    let source = Store::open(library, from, Purpose::Inspect, &trees)?;
    let source = Handle::new(Arc::new(source), false);
    let target = Store::open(library, to, Purpose::Fill(format, page_size), &trees)?;
    let mut batch = Batch::new(&target);
    let (mut rows, mut bytes) = (0, 0);
    for (position, name) in trees.iter().enumerate() {
        let tree = TreeId(position);
        let counted = u64::from(has_rows(name));
        let mut result = Ok(());
        source.range(tree, &[], Order::Rising, &mut |key, value| {
            rows += counted;
            bytes += (key.len() + value.len()) as u64;
            let put = batch.put(tree, key, value).map_err(Into::into);
            result = put.and_then(|()| unless_stopped(progress(bytes)));
            match result {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        result?;
    }
    batch.write()?;
    drop(batch);
    drop(source);
    tree::forget(from)?;
    Ok(LoadReport {
        rows,
        size: finish(target, to)?,
        log: None,
        elapsed: start.elapsed(),
    })
}
