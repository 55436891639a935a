//! Brings the stores of parts together.

use std::{
    collections::BTreeSet,
    num::NonZero,
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread,
};

use octavo_workload::TransactionKind;
use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;

#[cfg(test)]
mod tests;

use crate::{
    directory::{DirectoryError, MARKER, STORE, WorkDirectory},
    findings::ClassParts,
    part::{PartKind, StoredPart},
    plan::Plan,
    store::{PartRows, Store, StoreError, Tables},
};

/// What a merge did.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Merged {
    /// Where the merged store is.
    pub store: PathBuf,
    /// Stores that were read.
    pub stores: usize,
    /// Parts that were new, or of which there was less before.
    pub taken: usize,
    /// All parts that it has now, those too that do not count.
    pub parts: Vec<StoredPart>,
    /// Stores that could not be read, with the reason: what they have is missing.
    pub unread: Vec<Unread>,
}

/// A store that could not be read.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Unread {
    /// Which.
    pub store: PathBuf,
    /// Why.
    pub reason: String,
}

/// Why stores are not merged.
#[derive(Debug, Error)]
pub enum MergeError {
    /// A store has no parts.
    #[error(
        "{} was not made by octavo run --sitting or octavo predict --shard: leave it out", .store.display()
    )]
    NoParts {
        /// Which.
        store: PathBuf,
    },
    /// A store has parts of another kind, or of another division.
    #[error(
        "{} has {found}, and the others {others}: merge them apart", .store.display()
    )]
    OtherParts {
        /// Which.
        store: PathBuf,
        /// What it has.
        found: String,
        /// What the others have.
        others: String,
    },
    /// The directory is a part's, not one of merged ones.
    #[error(
        "{} is where a part of a plan was carried out: name a new directory before the stores, as in \
         'octavo merge all STORE...'", .directory.display()
    )]
    NotMerged {
        /// Which.
        directory: PathBuf,
    },
    /// A store is not there.
    #[error("{} does not exist: name stores of parts, or their directories", .store.display())]
    Missing {
        /// Which.
        store: PathBuf,
    },
    /// The merged store cannot be made there.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// A store cannot be read or written, or is of another plan.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl MergeError {
    /// Whether other input would do.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::NoParts { .. }
            | Self::OtherParts { .. }
            | Self::NotMerged { .. }
            | Self::Missing { .. } => true,
            Self::Directory(error) => error.is_bad_input(),
            Self::Store(error) => error.is_bad_input(),
        }
    }
}

/// Brings the stores `inputs`, or the stores in these directories, together in the directory
/// `into`, which is new, empty, or has the merged store of the same plan. Whatever their order, and
/// however often that is repeated, the result is the same.
///
/// Each part is one transaction. A store that cannot be read is left out, so that one that a
/// full disk or a kill damaged does not hold up all others.
///
/// # Errors
/// When a store is of another plan or has no parts, or the merged one cannot be written. What
/// was taken before stays.
pub fn merge(into: &Path, inputs: &[PathBuf]) -> Result<Merged, MergeError> {
    // Nothing is made or taken where a name is wrong.
    let paths: Vec<PathBuf> = inputs.iter().filter_map(|input| store_of(input)).collect();
    if let Some(missing) = paths.iter().find(|path| !path.exists()) {
        return Err(MergeError::Missing {
            store: missing.clone(),
        });
    }
    let directory = WorkDirectory::open(into, &[])?;
    let mut store = match Store::open_or_create(&directory.store()) {
        Ok(store) => store,
        Err(error) => {
            directory.abandon()?;
            return Err(error.into());
        }
    };
    if !store.is_for_merging()? {
        return Err(MergeError::NotMerged {
            directory: into.to_owned(),
        });
    }
    store.relax()?;
    let mut merged = Merged {
        store: directory.store(),
        stores: 0,
        taken: 0,
        parts: Vec::new(),
        unread: Vec::new(),
    };
    let taken = take_all(&mut store, &paths, &mut merged);
    if merged.taken == 0 && store.plan()?.is_none() {
        drop(store);
        Store::remove(&directory.store())?;
        directory.abandon()?;
        taken?;
        return Ok(merged);
    }
    // What was taken counts though a later one is refused.
    settle(&mut store)?;
    taken?;
    merged.parts = store.parts()?;
    store.make_durable()?;
    Ok(merged)
}

/// Stores that each reader is ahead of the one that is taken: each is open.
const AHEAD: usize = 8;

/// The store at `input`, or in that directory; `None` where a sitting was killed before it had one.
fn store_of(input: &Path) -> Option<PathBuf> {
    if !input.is_dir() {
        return Some(input.to_owned());
    }
    let store = input.join(STORE);
    let is_begun = input.join(MARKER).exists() && !store.exists();
    (!is_begun).then_some(store)
}

fn take_all(store: &mut Store, paths: &[PathBuf], merged: &mut Merged) -> Result<(), MergeError> {
    let tables = Tables::of(store)?;
    let own = store.path().canonicalize().ok();
    let is_own = |path: &PathBuf| own.is_some() && path.canonicalize().ok() == own;
    let paths: Vec<&PathBuf> = paths.iter().filter(|path| !is_own(path)).collect();
    // Reading one takes longer than writing another. They are taken in their order, which decides how
    // rows are numbered.
    let readers = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let receivers: Vec<_> = (0..readers)
            .map(|number| {
                let (sender, receiver) = mpsc::sync_channel(AHEAD);
                let own = paths.iter().skip(number).step_by(readers);
                let mut reader = Reader::new(&tables);
                scope.spawn(move || {
                    for path in own {
                        if sender.send(reader.examined(path)).is_err() {
                            return;
                        }
                    }
                });
                receiver
            })
            .collect();
        let mut taker = Taker {
            store,
            tables: &tables,
            plan: None,
        };
        for (path, receiver) in paths.iter().zip(receivers.iter().cycle()) {
            // A reader that ended without an answer has panicked, and so does the scope.
            let Ok(found) = receiver.recv() else { break };
            let taken = found.and_then(|found| match found {
                Some(found) => taker.take(path, found).map(Some),
                None => Ok(None),
            });
            match taken {
                Ok(None) => {}
                Ok(Some(taken)) => {
                    merged.taken += taken;
                    merged.stores += 1;
                }
                // Whatever is wrong with one of them is not to hold up the others.
                Err(MergeError::Store(error)) if is_of_one(&error) => merged.unread.push(Unread {
                    store: path.to_path_buf(),
                    reason: error.to_string(),
                }),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    })
}

/// Whether an error is of the store that is read.
fn is_of_one(error: &StoreError) -> bool {
    !matches!(
        error,
        StoreError::Missing { .. }
            | StoreError::OtherPlan { .. }
            | StoreError::Full { .. }
            | StoreError::Busy { .. }
    )
}

/// A store whose parts can be taken.
struct Examined {
    plan: Arc<ReadPlan>,
    /// The version of Octavo that made it.
    octavo: String,
    first: StoredPart,
    rows: Rows,
}

/// The rows of a store's parts.
enum Rows {
    /// Of its only part.
    One(Box<PartRows>),
    /// To be read one after the other.
    Many(Box<Store>, Vec<StoredPart>),
}

/// A plan as stores have it.
struct ReadPlan {
    text: String,
    plan: Plan,
    kinds: &'static [TransactionKind],
}

/// Reads stores of parts.
struct Reader<'a> {
    tables: &'a Tables,
    /// The last plan: nearly always that of the next store, too.
    plan: Option<Arc<ReadPlan>>,
}

impl<'a> Reader<'a> {
    fn new(tables: &'a Tables) -> Self {
        Self { tables, plan: None }
    }

    /// The store at `path`, all of which can be read; `None` where nothing was kept in it yet, as by a
    /// sitting that was killed in its first moment.
    fn examined(&mut self, path: &Path) -> Result<Option<Examined>, MergeError> {
        let other = match Store::open(path) {
            Err(StoreError::Foreign { .. }) if Store::is_nothing_yet(path) => return Ok(None),
            opened => opened?,
        };
        other.leave_log()?;
        other.hold_still()?;
        let parts = other.parts()?;
        let Some(first) = parts.first().cloned() else {
            if other.has_parts()? {
                return Err(other.damaged("part", "it has no session").into());
            }
            if !other.has_sessions()? {
                return Ok(None);
            }
            return Err(MergeError::NoParts {
                store: path.to_owned(),
            });
        };
        let (plan, octavo) = self.plan(&other)?;
        let mut last = None;
        for part in &parts {
            last = Some(PartRows::read(&other, part, self.tables, plan.kinds)?);
        }
        // Of many parts no more than one is in memory.
        let rows = match last {
            Some(only) if parts.len() == 1 => Rows::One(Box::new(only)),
            _ => Rows::Many(Box::new(other), parts),
        };
        Ok(Some(Examined {
            plan,
            octavo,
            first,
            rows,
        }))
    }

    /// The plan of a store, with the version of Octavo that made it.
    fn plan(&mut self, other: &Store) -> Result<(Arc<ReadPlan>, String), StoreError> {
        let none = || other.damaged("plan", "there is none of its parts");
        let (text, octavo) = other.plan_text()?.ok_or_else(none)?;
        if let Some(last) = &self.plan
            && last.text == text
        {
            return Ok((last.clone(), octavo));
        }
        let plan = other.plan()?.ok_or_else(none)?;
        let workload = plan
            .workload(plan.data[0])
            .map_err(|error| other.damaged("plan", error))?;
        let plan = Arc::new(ReadPlan {
            text,
            kinds: workload.transactions(),
            plan,
        });
        self.plan = Some(plan.clone());
        Ok((plan, octavo))
    }
}

/// Puts parts into the merged store.
struct Taker<'a> {
    store: &'a mut Store,
    tables: &'a Tables,
    /// The last plan that was that of the merged store.
    plan: Option<Arc<ReadPlan>>,
}

impl Taker<'_> {
    /// Takes the parts of the store at `path`; how many.
    fn take(&mut self, path: &Path, other: Examined) -> Result<usize, MergeError> {
        check_division(self.store, &other.first, path)?;
        // Nearly always, and comparing plans takes longer than comparing their texts.
        if self.plan.as_ref().map(|plan| &plan.text) != Some(&other.plan.text) {
            self.store.take_plan(&other.plan.plan, &other.octavo)?;
            self.plan = Some(other.plan.clone());
        }
        let mut taken = 0;
        let mut take = |rows: PartRows| -> Result<(), StoreError> {
            taken += usize::from(rows.put(self.store, self.tables)?);
            Ok(())
        };
        match other.rows {
            Rows::One(rows) => take(*rows)?,
            Rows::Many(store, parts) => {
                for part in &parts {
                    take(PartRows::read(&store, part, self.tables, other.plan.kinds)?)?;
                }
            }
        }
        Ok(taken)
    }
}

/// Refuses shards of another division than those that are there, and shards beside sittings.
fn check_division(store: &Store, first: &StoredPart, path: &Path) -> Result<(), MergeError> {
    let Some(own) = store.first_part()? else {
        return Ok(());
    };
    let said = |part: &StoredPart| match (part.kind, part.parts) {
        (PartKind::Shard, Some(parts)) => format!("shards of {parts}"),
        (kind, _) => format!("{}s", kind.name()),
    };
    let (found, others) = (said(first), said(&own));
    match found == others {
        true => Ok(()),
        false => Err(MergeError::OtherParts {
            store: path.to_owned(),
            found,
            others,
        }),
    }
}

/// Decides what counts. What that says is for reports to find out.
fn settle(store: &mut Store) -> Result<(), StoreError> {
    store.rank_parts()?;
    let parts = store.parts()?;
    let classes = store.classes(&parts)?;
    let main = ClassParts::of(&parts, &classes).into_iter().next();
    let counting: BTreeSet<&str> = main
        .iter()
        .flat_map(|main| &main.parts)
        .map(|part| part.id.as_str())
        .collect();
    store.keep_once(|part| counting.contains(part.id.as_str()))
}
