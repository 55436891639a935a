//! Filling a file with rows, or with those of another file.

use std::{fs, ops::ControlFlow, path::Path, sync::Arc, time::Instant};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{Result as Answer, Workload};

use super::{
    fatal_signal,
    library::{Library, Purpose, Trees as _},
};
use crate::{
    LoadReport, Progress, Result,
    error::unless_stopped,
    files,
    keyed::{
        Layout, Order, TreeId,
        fill::{self, Sink as _},
        layout::has_rows,
    },
};

/// A file that is being filled. A load that fails is thrown away as a whole, so nothing is flushed
/// before its end.
struct Target<L: Library> {
    own: L::Trees,
    environment: Arc<L::Environment>,
    /// The last key of each tree.
    last: Vec<Vec<u8>>,
}

impl<L: Library> Target<L> {
    fn create(file: &Path, page_size: PageSize, trees: &[String]) -> Result<Self> {
        if file.exists() {
            return Err(files::named("create", file)(
                std::io::ErrorKind::AlreadyExists.into(),
            ));
        }
        let purpose = Purpose::Fill(page_size);
        let environment = Arc::new(L::open(file, purpose, trees)?);
        let mut own = L::trees(&environment)?;
        own.begin_write()?;
        Ok(Self {
            own,
            environment,
            last: vec![Vec::new(); trees.len()],
        })
    }

    /// Commits all, and makes the file durable.
    fn finish(mut self, file: &Path) -> Result<ByteCount> {
        self.own.commit()?;
        L::flush(&self.environment)?;
        drop(self);
        files::flush_and_forget(file)?;
        if let Some(directory) = file.parent() {
            files::flush_directory(directory)?;
        }
        let status = fs::metadata(file).map_err(files::named("examine", file))?;
        Ok(ByteCount::new(status.len()))
    }
}

impl<L: Library> fill::Sink for Target<L> {
    fn add(&mut self, tree: TreeId, key: &[u8], value: &[u8]) -> Answer<()> {
        let last = &mut self.last[tree.0];
        let is_last = key > last.as_slice();
        if is_last {
            last.clear();
            last.extend_from_slice(key);
        }
        let is_new = self.own.insert(tree, key, value, is_last)?;
        debug_assert!(is_new, "rows have different keys");
        Ok(())
    }

    fn settle(&mut self) -> Answer<()> {
        self.own.commit()?;
        self.own.begin_write()
    }
}

/// As [`crate::Database::load`].
pub(super) fn load<L: Library>(
    file: &Path,
    page_size: PageSize,
    workload: &dyn Workload,
    progress: &mut Progress<'_>,
) -> Result<LoadReport> {
    let start = Instant::now();
    let layout = Layout::new(workload);
    let mut target = Target::<L>::create(file, page_size, layout.trees())?;
    let rows = fill::fill(workload, &layout, &mut target, progress)?;
    Ok(LoadReport {
        rows,
        size: target.finish(file)?,
        log: None,
        elapsed: start.elapsed(),
    })
}

/// As [`crate::Derive::derive`]: the trees are copied in the order of their keys, so pages are full.
pub(super) fn derive<L: Library>(
    from: &Path,
    to: &Path,
    page_size: PageSize,
    progress: &mut Progress<'_>,
) -> Result<LoadReport> {
    let start = Instant::now();
    fatal_signal::explain();
    let (source, trees) = L::discover(from)?;
    let mut source = L::trees(&Arc::new(source))?;
    source.begin_read()?;
    let mut target = Target::<L>::create(to, page_size, &trees)?;
    let (mut rows, mut bytes, mut settled) = (0, 0, 0);
    for (position, name) in trees.iter().enumerate() {
        let tree = TreeId(position);
        if has_rows(name) {
            rows += source.entries(tree)?;
        }
        let mut result = Ok(());
        source.range(tree, &[], Order::Rising, &mut |key, value| {
            result = copy(&mut target, tree, key, value, &mut settled).and_then(|()| {
                bytes += (key.len() + value.len()) as u64;
                unless_stopped(progress(bytes))
            });
            match result {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        result?;
    }
    drop(source);
    Ok(LoadReport {
        rows,
        size: target.finish(to)?,
        log: None,
        elapsed: start.elapsed(),
    })
}

fn copy<L: Library>(
    target: &mut Target<L>,
    tree: TreeId,
    key: &[u8],
    value: &[u8],
    settled: &mut usize,
) -> Result<()> {
    target.add(tree, key, value)?;
    *settled += key.len() + value.len();
    if *settled >= fill::BATCH_BYTES {
        target.settle()?;
        *settled = 0;
    }
    Ok(())
}
