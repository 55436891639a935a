//! Brings the stores of parts together.

use std::{
    collections::BTreeSet,
    fmt, fs,
    num::NonZero,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
};

use octavo_workload::TransactionKind;
use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;

#[cfg(test)]
mod tests;

use crate::{
    directory::{DirectoryError, MARKER, REPORT, STORE, WorkDirectory},
    findings::{ClassParts, missing_parts},
    lockstep::Group,
    own_sizes::ChosenSizes,
    part::{PartKind, StoredPart},
    plan::Plan,
    store::{PartPlan, PartRows, PutRows, RowsRead, Store, StoreError, Tables, plan_difference},
};

/// What a merge did.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Merged {
    /// Where the merged store is.
    pub store: PathBuf,
    /// Stores that were read, each once.
    pub stores: usize,
    /// Attempts at parts that were new, or of which there was less before.
    pub taken: usize,
    /// All attempts that it has now, those too that do not count.
    pub parts: Vec<StoredPart>,
    /// The numbers of parts of which no attempt counts, from 0, as far as it is known how many there are.
    pub missing: Vec<u32>,
    /// Stores that were left out, with the reason: what they have is missing.
    pub unread: Vec<Unread>,
}

/// A store that was left out.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Unread {
    /// Which.
    pub store: PathBuf,
    /// Why.
    pub reason: String,
}

/// A store that is of another plan than the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offender {
    /// Which.
    pub store: PathBuf,
    /// In what it differs: "seed 2, not 1".
    pub difference: String,
}

/// Stores that are named of many that are of another plan.
const OFFENDERS_NAMED: usize = 3;

/// Stores that are of other plans, as a sentence.
struct Offenders<'a>(&'a [Offender]);

impl fmt::Display for Offenders<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.0 {
            let store = only.store.display();
            return write!(
                f,
                "{store} is of another plan ({}): leave it out, or merge it apart",
                only.difference
            );
        }
        for (place, offender) in self.0.iter().take(OFFENDERS_NAMED).enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            let store = offender.store.display();
            write!(f, "{separator}{store} ({})", offender.difference)?;
        }
        if let more @ 1.. = self.0.len().saturating_sub(OFFENDERS_NAMED) {
            write!(f, " and {more} more")?;
        }
        f.write_str(" are of other plans: leave them out, or merge them apart")
    }
}

/// Why stores are not merged. Then nothing is taken of any of them.
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
    /// Stores are of another plan than the others, or of another division of it.
    #[error("{}", Offenders(.offenders))]
    OtherPlans {
        /// All of them, at least one.
        offenders: Vec<Offender>,
    },
    /// The directory has results that were not merged.
    #[error(
        "{} has results of its own, which were not merged: name a new directory before the stores, as in \
         'octavo merge all STORE...'", .directory.display()
    )]
    NotMerged {
        /// Which.
        directory: PathBuf,
    },
    /// A store is not there.
    #[error("{} does not exist: name {}", .store.display(), match .below {
        Some(directory) => format!("the directories below, {}/*", directory.display()),
        None => "stores of parts, or their directories".to_owned(),
    })]
    Missing {
        /// Which.
        store: PathBuf,
        /// The directory that was named, where there are stores one level below.
        below: Option<PathBuf>,
    },
    /// It was asked to stop.
    #[error("stopped before all was merged")]
    Stopped,
    /// The merged store cannot be made there.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The merged store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl MergeError {
    /// Whether other input would do.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::NoParts { .. }
            | Self::OtherPlans { .. }
            | Self::NotMerged { .. }
            | Self::Missing { .. } => true,
            Self::Stopped => false,
            Self::Directory(error) => error.is_bad_input(),
            Self::Store(error) => error.is_bad_input(),
        }
    }
}

/// Brings the stores `inputs`, or the stores in these directories, together in the directory
/// `into`, which is new, empty, or has the merged store of the same plan. Whatever their order, and
/// however often that is repeated, the result is the same.
///
/// All of it is one transaction, so that an end at any moment leaves what there was. A store that
/// cannot be read, or does not go with the others, is left out, so that one that a full disk or a kill
/// damaged does not hold up all others. Stores stay as they are.
///
/// # Errors
/// When a store is of another plan or has no parts, the merged one cannot be written, or `flow`, which is
/// asked before each store, says to stop. Then nothing is taken.
pub fn merge(
    into: &Path,
    inputs: &[PathBuf],
    flow: &dyn Fn() -> ControlFlow<()>,
) -> Result<Merged, MergeError> {
    // Nothing is made or taken where a name is wrong.
    let inputs: Vec<Input> = inputs.iter().map(|input| Input::of(input)).collect();
    for input in &inputs {
        input.check()?;
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
    store.begin_merge()?;
    let mut merged = Merged {
        store: directory.store(),
        stores: 0,
        taken: 0,
        parts: Vec::new(),
        missing: Vec::new(),
        unread: Vec::new(),
    };
    let done = store.wholly(|store| -> Result<(), MergeError> {
        store.forget_idle_plan()?;
        take_all(store, inputs, &mut merged, flow)?;
        // Though nothing is new: an earlier version may have been killed before it decided.
        settle(store)?;
        merged.parts = store.parts()?;
        let groups = store.plan()?.map_or(0, |plan| plan.groups().len());
        merged.missing = missing_parts(&merged.parts, groups);
        Ok(())
    });
    if store.plan().is_ok_and(|plan| plan.is_none()) {
        drop(store);
        Store::remove(&directory.store())?;
        directory.abandon()?;
        return done.map(|()| merged);
    }
    done?;
    store.end_merge()?;
    Ok(merged)
}

/// Stores that each reader is ahead of the one that is taken: each is open.
const AHEAD: usize = 8;

/// A store that is to be merged.
struct Input {
    /// What was named.
    named: PathBuf,
    /// The store, or the place where it would be.
    store: PathBuf,
    /// What it is known by, whatever leads there.
    file: Option<PathBuf>,
    /// Why there is nothing to be read, where a sitting was begun.
    nothing: Option<String>,
}

impl Input {
    /// The store at `input`, or in that directory.
    fn of(input: &Path) -> Self {
        let store = match input.is_dir() {
            true => input.join(STORE),
            false => input.to_owned(),
        };
        // A sitting that was killed before it had a store leaves such a directory.
        let is_begun = !store.exists() && input.join(MARKER).exists();
        let nothing = is_begun.then(|| match input.join(REPORT).exists() {
            true => format!("there is a report beside it, and no {STORE}"),
            false => "nothing was kept there yet".to_owned(),
        });
        Self {
            named: input.to_owned(),
            file: store.canonicalize().ok(),
            store,
            nothing,
        }
    }

    fn check(&self) -> Result<(), MergeError> {
        if self.store.exists() || self.nothing.is_some() {
            return Ok(());
        }
        let below = fs::read_dir(&self.named).into_iter().flatten();
        let has_stores = below
            .flatten()
            .any(|entry| entry.path().join(STORE).exists());
        Err(MergeError::Missing {
            store: self.store.clone(),
            below: has_stores.then(|| self.named.clone()),
        })
    }
}

fn take_all(
    store: &mut Store,
    inputs: Vec<Input>,
    merged: &mut Merged,
    flow: &dyn Fn() -> ControlFlow<()>,
) -> Result<(), MergeError> {
    let tables = Tables::of(store)?;
    let own = store.path().canonicalize().ok();
    let mut known: BTreeSet<PathBuf> = own.into_iter().collect();
    let mut paths = Vec::new();
    for input in inputs {
        if let Some(reason) = input.nothing {
            let store = input.store;
            merged.unread.push(Unread { store, reason });
        } else if input.file.is_none_or(|file| known.insert(file)) {
            // One that is named twice is one, and so is the merged one itself.
            paths.push(input.store);
        }
    }
    let mut plans = Plans::new(store)?;
    // Reading one takes longer than writing another. They are taken in their order, which decides how
    // rows are numbered.
    let readers = thread::available_parallelism().map_or(1, NonZero::get);
    let is_refused = AtomicBool::new(false);
    thread::scope(|scope| {
        let receivers: Vec<_> = (0..readers)
            .map(|number| {
                let (sender, receiver) = mpsc::sync_channel(AHEAD);
                let own = paths.iter().skip(number).step_by(readers);
                let mut reader = Reader::new(&tables, &is_refused);
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
            has_plan: false,
        };
        for (path, receiver) in paths.iter().zip(receivers.iter().cycle()) {
            if flow().is_break() {
                return Err(MergeError::Stopped);
            }
            // A reader that ended without an answer has panicked, and so does the scope.
            let Ok(found) = receiver.recv() else { break };
            let taken = match found {
                Ok(found) => {
                    plans.add(path, &found);
                    if plans.differ() {
                        // Who else differs is all that is still of interest.
                        is_refused.store(true, Ordering::Relaxed);
                        continue;
                    }
                    taker.take(found)
                }
                Err(error) => Err(error),
            };
            match taken {
                Ok(taken) => {
                    merged.taken += taken;
                    merged.stores += 1;
                }
                // Whatever is wrong with one of them is not to hold up the others.
                Err(Refused::LeftOut(reason)) => merged.unread.push(Unread {
                    store: path.clone(),
                    reason,
                }),
                Err(Refused::All(error)) => return Err(error),
            }
        }
        plans.check()
    })
}

/// Why a store is not taken.
enum Refused {
    /// It alone is not, for this reason.
    LeftOut(String),
    /// Nothing is.
    All(MergeError),
}

/// An error of the merged store, unless something else is known.
impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::All(error.into())
    }
}

impl Refused {
    /// Of an error of the store that was read.
    fn reading(error: StoreError) -> Self {
        Self::LeftOut(error.to_string())
    }
}

/// The plans of the stores so far: those that are the same together.
struct Plans {
    all: Vec<SamePlan>,
    /// Whether the first one is that of the merged store.
    is_first_merged: bool,
}

/// Stores of the same plan, which is divided in the same way.
struct SamePlan {
    plan: Arc<ReadPlan>,
    division: String,
    stores: Vec<PathBuf>,
}

impl Plans {
    /// With that of the merged store, if it has parts.
    fn new(store: &Store) -> Result<Self, StoreError> {
        let own = store.first_part()?.map(|first| division(&first));
        let mut all = Vec::new();
        if let (Some(division), Some((text, _)), Some(plan)) =
            (own, store.plan_text()?, store.plan()?)
        {
            let plan = ReadPlan::new(text, plan, store)?;
            all.push(SamePlan {
                plan: Arc::new(plan),
                division,
                stores: Vec::new(),
            });
        }
        Ok(Self {
            is_first_merged: !all.is_empty(),
            all,
        })
    }

    fn add(&mut self, path: &Path, found: &Examined) {
        let is_same = |same: &&mut SamePlan| {
            same.division == found.division && same.plan.difference(&found.plan).is_none()
        };
        match self.all.iter_mut().find(is_same) {
            Some(same) => same.stores.push(path.to_owned()),
            None => self.all.push(SamePlan {
                plan: found.plan.clone(),
                division: found.division.clone(),
                stores: vec![path.to_owned()],
            }),
        }
    }

    fn differ(&self) -> bool {
        self.all.len() > 1
    }

    /// Refuses stores of other plans than that of the merged store, or else of most of them.
    fn check(&self) -> Result<(), MergeError> {
        if !self.differ() {
            return Ok(());
        }
        let most = match self.is_first_merged {
            true => self.all.first(),
            // Of plans with as many stores that of the first one by name, whatever the order.
            false => self.all.iter().max_by(|one, other| {
                let stores = |same: &SamePlan| same.stores.len();
                let name = |same: &SamePlan| same.stores.iter().min().cloned();
                stores(one)
                    .cmp(&stores(other))
                    .then(name(other).cmp(&name(one)))
            }),
        };
        let Some(most) = most else { return Ok(()) };
        let mut offenders = Vec::new();
        for same in self.all.iter().filter(|same| !std::ptr::eq(*same, most)) {
            let difference = match most.plan.difference(&same.plan) {
                Some((setting, wanted, found)) => format!("{setting} {found}, not {wanted}"),
                None => format!("{}, not {}", same.division, most.division),
            };
            offenders.extend(same.stores.iter().map(|store| Offender {
                store: store.clone(),
                difference: difference.clone(),
            }));
        }
        offenders.sort_by(|one, other| one.store.cmp(&other.store));
        Err(MergeError::OtherPlans { offenders })
    }
}

/// How a plan is divided: shards of so many, or sittings.
fn division(part: &StoredPart) -> String {
    match (part.kind, part.parts) {
        (PartKind::Shard, Some(parts)) => format!("shards of {parts}"),
        (kind, _) => format!("{}s", kind.name()),
    }
}

/// A store whose parts can be taken.
struct Examined {
    plan: Arc<ReadPlan>,
    division: String,
    /// The version of Octavo that made it.
    octavo: String,
    rows: Rows,
}

/// The rows of a store's parts.
enum Rows {
    /// Of its only part.
    One(Box<PartRows>),
    /// To be read one after the other.
    Many(Box<Store>, Vec<StoredPart>),
    /// Not wanted any more.
    None,
}

/// A plan as stores have it.
struct ReadPlan {
    text: String,
    plan: Plan,
    kinds: &'static [TransactionKind],
    groups: Vec<Group>,
}

impl ReadPlan {
    fn new(text: String, plan: Plan, store: &Store) -> Result<Self, StoreError> {
        let workload = plan
            .workload(plan.data[0])
            .map_err(|error| store.damaged("plan", error))?;
        Ok(Self {
            text,
            kinds: workload.transactions(),
            groups: plan.groups(),
            plan,
        })
    }

    /// What parts are of.
    fn of_parts(&self) -> PartPlan<'_> {
        PartPlan {
            kinds: self.kinds,
            groups: &self.groups,
            has_ramps: self.plan.ramp.is_some(),
            check_fact: ChosenSizes::check_fact,
        }
    }

    /// The first setting in which another one differs, with both values. Comparing plans takes longer than
    /// comparing their texts, which are nearly always the same.
    fn difference(&self, other: &Self) -> Option<(&'static str, String, String)> {
        match self.text == other.text {
            true => None,
            false => plan_difference(&self.plan, &other.plan),
        }
    }
}

/// Reads stores of parts.
struct Reader<'a> {
    tables: &'a Tables,
    /// Whether all are refused, so that rows are not wanted any more.
    is_refused: &'a AtomicBool,
    /// The last plan: nearly always that of the next store, too.
    plan: Option<Arc<ReadPlan>>,
}

impl<'a> Reader<'a> {
    fn new(tables: &'a Tables, is_refused: &'a AtomicBool) -> Self {
        Self {
            tables,
            is_refused,
            plan: None,
        }
    }

    /// The store at `path`, all of which can be read.
    fn examined(&mut self, path: &Path) -> Result<Examined, Refused> {
        let nothing = || {
            Refused::LeftOut(
                "nothing was kept in it yet; if its sitting ran, copy octavo.db-wal with it".into(),
            )
        };
        let other = match Store::open_as_guest(path) {
            Err(StoreError::Foreign { .. }) if Store::is_nothing_yet(path) => {
                return Err(nothing());
            }
            opened => opened.map_err(Refused::reading)?,
        };
        other.hold_still().map_err(Refused::reading)?;
        let parts = other.parts().map_err(Refused::reading)?;
        let Some(first) = parts.first() else {
            if other.has_parts().map_err(Refused::reading)? {
                let error = other.damaged("part", "it has no session");
                return Err(Refused::reading(error));
            }
            if !other.has_sessions().map_err(Refused::reading)? {
                return Err(nothing());
            }
            return Err(Refused::All(MergeError::NoParts {
                store: path.to_owned(),
            }));
        };
        let division = division(first);
        self.read(other, division, parts).map_err(Refused::reading)
    }

    /// Reads and checks all rows of these parts.
    fn read(
        &mut self,
        other: Store,
        division_of_first: String,
        parts: Vec<StoredPart>,
    ) -> Result<Examined, StoreError> {
        if let Some(part) = parts
            .iter()
            .find(|part| division(part) != division_of_first)
        {
            let found = format!("{} beside {division_of_first}", division(part));
            return Err(other.damaged("part", found));
        }
        let (plan, octavo) = self.plan(&other)?;
        let examined = |rows| Examined {
            plan: plan.clone(),
            division: division_of_first,
            octavo,
            rows,
        };
        if self.is_refused.load(Ordering::Relaxed) {
            return Ok(examined(Rows::None));
        }
        let mut last = None;
        let mut read = RowsRead::default();
        for part in &parts {
            let rows = PartRows::read(&other, part, self.tables, plan.of_parts())?;
            read.add(&rows);
            last = Some(rows);
        }
        read.check(&other)?;
        // Of many parts no more than one is in memory.
        Ok(examined(match last {
            Some(only) if parts.len() == 1 => Rows::One(Box::new(only)),
            _ => Rows::Many(Box::new(other), parts),
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
        let plan = Arc::new(ReadPlan::new(text, plan, other)?);
        self.plan = Some(plan.clone());
        Ok((plan, octavo))
    }
}

/// Puts parts into the merged store.
struct Taker<'a> {
    store: &'a mut Store,
    tables: &'a Tables,
    /// Whether the merged store has the plan, which is that of all.
    has_plan: bool,
}

impl Taker<'_> {
    /// Takes the parts of a store, all or none; how many.
    fn take(&mut self, other: Examined) -> Result<usize, Refused> {
        let (tables, has_plan) = (self.tables, self.has_plan);
        let taken = self.store.wholly(|own| -> Result<usize, Refused> {
            if !has_plan {
                own.take_plan(&other.plan.plan, &other.octavo)?;
            }
            match other.rows {
                Rows::One(rows) => put(own, tables, *rows),
                Rows::Many(store, parts) => {
                    let mut taken = 0;
                    for part in &parts {
                        let rows = PartRows::read(&store, part, tables, other.plan.of_parts());
                        taken += put(own, tables, rows.map_err(Refused::reading)?)?;
                    }
                    Ok(taken)
                }
                Rows::None => Ok(0),
            }
        });
        self.has_plan |= taken.is_ok();
        taken
    }
}

/// Puts a part into the merged store, unless it has as much of it; how many were.
fn put(store: &mut Store, tables: &Tables, rows: PartRows) -> Result<usize, Refused> {
    match rows.put(store, tables) {
        Ok(PutRows::Taken) => Ok(1),
        Ok(PutRows::Known) => Ok(0),
        Ok(PutRows::Other(other)) => Err(Refused::LeftOut(format!(
            "its attempt {} is another one than that which was merged before, {other} of {} from {}: \
             one of both is damaged",
            other.id, other.host.name, other.started
        ))),
        Err(error) if error.is_of_rows() => Err(Refused::LeftOut(format!(
            "it does not go with what was merged before: {error}"
        ))),
        Err(error) => Err(error.into()),
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
