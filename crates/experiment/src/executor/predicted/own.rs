//! The user's own statements: the pages that they refer to are recorded on private copies, one page
//! size after the other, and what is predicted replays them.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use octavo_database::{DatabaseError, Missing, PagesWanted, RecordedPages};
use octavo_storage::confine::confine;
use octavo_units::{PageSize, Seed};
use octavo_workload::{Audit, PageTrace, Workload, user::Own};

use super::super::{
    SPARE,
    snapshots::{Snapshots, remove},
};
use crate::{
    directory::{WorkDirectory, free_space},
    error::CampaignError,
    machine::{MachineUse, MachineWatch, OTHERS_TOLERATED},
    monitor::Monitor,
    plan::{Level, Plan, SnapshotKey, Storage},
    prediction::{Cpu, PredictedDevice},
    resolved::ResolvedPlan,
    store::StoredSnapshot,
};

/// References that are recorded with one page size, at most: 256 MiB of memory. Chosen.
const REFERENCES_MAX: usize = 1 << 26;

/// How long transactions of one page size are recorded, at most, beyond those that were asked for.
/// Chosen.
const TIME_MAX: Duration = Duration::from_secs(180);

/// How often progress is shown.
const SHOWN_EVERY: Duration = Duration::from_millis(200);

/// What was recorded of the user's statements with one page size.
pub(super) struct OwnPages {
    /// It replays them.
    pub(super) workload: Box<dyn Workload>,
    /// What they take of a processor.
    pub(super) cpu: Cpu,
    /// What they found.
    pub(super) audit: Audit,
    /// What could not be recorded.
    pub(super) missing: Option<Missing>,
    /// Whether they had the processors for themselves when they were timed.
    pub(super) is_timed_alone: bool,
    /// The copy that they were recorded on, which is gone.
    pub(super) snapshot: StoredSnapshot,
}

/// What was recorded, by page size; nothing for other workloads.
pub(super) type OwnPagesBySize = BTreeMap<PageSize, OwnPages>;

/// How many transactions are to be recorded, and from which inputs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Random seed of the inputs.
    pub(crate) seed: Seed,
    /// Clients that take turns.
    pub(crate) clients: u32,
    /// How many.
    pub(crate) transactions: u64,
    /// How many of them however long they take.
    pub(crate) needed: u64,
}

/// Records the pages of the user's statements on copies in `directory`, of which nothing is left.
/// Answers how many transactions there are with every page size.
pub(super) fn record(
    resolved: &ResolvedPlan<'_>,
    own: &Own,
    device: &PredictedDevice,
    directory: &WorkDirectory,
    wanted: &Wanted,
    monitor: &Monitor<'_>,
) -> Result<(OwnPagesBySize, u64), CampaignError> {
    // What a killed one left.
    directory.remove_data()?;
    check_room(resolved, own)?;
    confine(&allowed(resolved)?)?;
    let recorded = record_all(resolved, own, device, wanted, monitor);
    let removed = directory.remove_data();
    let recorded = recorded.map_err(|error| match error {
        CampaignError::Database(DatabaseError::Stopped) => CampaignError::Stopped,
        CampaignError::Database(error) if error.is_full() => CampaignError::Full {
            path: resolved.own_directory().to_owned(),
        },
        error => error,
    })?;
    removed?;
    let fewest = recorded.values().map(|pages| {
        let trace = pages.workload.page_trace();
        trace.map_or(0, |trace| trace.transactions() as u64)
    });
    let fewest = fewest.min().unwrap_or(0);
    Ok((recorded, fewest))
}

/// Directories where files may be made: those of copies, and of programs that are built.
fn allowed(resolved: &ResolvedPlan<'_>) -> Result<Vec<PathBuf>, CampaignError> {
    let mut allowed = vec![resolved.own_directory().to_owned()];
    let plan = resolved.plan();
    for database in &plan.databases {
        let programs = resolved.database(database);
        if let Some(programs) = programs.programs_directory(&plan.page_sizes)? {
            // What cannot be made is refused with its reason by who builds.
            let _made_later = fs::create_dir_all(&programs);
            allowed.push(programs);
        }
    }
    Ok(allowed)
}

/// Refuses a file system without room for the rows twice, with what the statements add.
fn check_room(resolved: &ResolvedPlan<'_>, own: &Own) -> Result<(), CampaignError> {
    let path = resolved.own_directory();
    let needed = own.copy.size.saturating_mul(2).saturating_add(SPARE);
    let available = free_space(path)?;
    match available < needed {
        true => Err(CampaignError::Space {
            path: path.to_owned(),
            needed,
            available,
        }),
        false => Ok(()),
    }
}

fn record_all(
    resolved: &ResolvedPlan<'_>,
    own: &Own,
    device: &PredictedDevice,
    wanted: &Wanted,
    monitor: &Monitor<'_>,
) -> Result<OwnPagesBySize, CampaignError> {
    // Copies are in the directory itself, whatever storage is predicted.
    let plan = Plan {
        storages: vec![Storage::Own],
        ..resolved.plan().clone()
    };
    let resolved = &ResolvedPlan::new(&plan, resolved.own_directory())?;
    let mut keys = plan.snapshots();
    // What is compared with comes first: others have no more transactions than it has.
    keys.sort_by_key(|key| plan.reference != Some(Level::PageSize(key.page_size)));
    check_memories(resolved, &keys)?;
    let mut snapshots = Snapshots::default();
    let mut recorded = OwnPagesBySize::new();
    let mut transactions = wanted.transactions;
    for key in &keys {
        monitor.stop_if_interrupted()?;
        if recorded.contains_key(&key.page_size) {
            continue;
        }
        let database = resolved.database(&key.database);
        database.prepare(&[key.page_size], &mut |step| {
            monitor.progress(step);
            monitor.flow()
        })?;
        let Some(snapshot) = snapshots.make(key, resolved, monitor)? else {
            continue;
        };
        let wanted = Wanted {
            transactions,
            ..*wanted
        };
        let mut during = MachineWatch::default();
        let pages = record_one(resolved, key, &wanted, &mut during, monitor)?;
        remove(&resolved.snapshot(key))?;
        transactions = transactions.min(pages.trace.transactions() as u64).max(1);
        let RecordedPages {
            trace,
            processor,
            audit,
            missing,
        } = pages;
        let is_calibrated = matches!(device, PredictedDevice::Profile(_));
        let cpu = Cpu::of_own(&processor, &trace, is_calibrated);
        let workload = replayed(resolved, own, trace, key)?;
        recorded.insert(
            key.page_size,
            OwnPages {
                workload,
                cpu,
                audit,
                missing,
                is_timed_alone: is_timed_alone(&during.result(), key.page_size, monitor),
                snapshot,
            },
        );
    }
    Ok(recorded)
}

/// Whether nobody else used the processors in a time; tells of it otherwise. Time on a processor is what
/// counts, in which others are not: they matter by what they push out of its caches, and the hypervisor's
/// guests as other programs do.
fn is_timed_alone(during: &MachineUse, page_size: PageSize, monitor: &Monitor<'_>) -> bool {
    let others = [
        ("the hypervisor took", during.steal),
        ("other programs used", during.others),
    ];
    let found = others
        .into_iter()
        .find(|(_, share)| *share > OTHERS_TOLERATED);
    let Some((who, share)) = found else {
        return true;
    };
    monitor.note(&format!(
        "{who} {:.0}% of the processors' time while your statements were timed on {page_size} pages: what \
         they take there is known less well; predict again when the machine is quiet",
        100.0 * share
    ));
    false
}

/// Refuses memories that recorded pages do not stand for.
fn check_memories(resolved: &ResolvedPlan<'_>, keys: &[SnapshotKey]) -> Result<(), CampaignError> {
    for key in keys {
        let database = resolved.database(&key.database);
        let least = database.records_pages()?.memory_min(key.page_size);
        let mut memories = resolved.plan().memories.iter();
        if let Some(memory) = memories.find(|memory| **memory < least) {
            let page_size = key.page_size;
            return Err(CampaignError::Setting(format!(
                "a memory of {memory} is too small to be predicted with {page_size} pages, which \
                 are recorded through half of the least: --memory must be at least {least}"
            )));
        }
    }
    Ok(())
}

/// The workload with pages to replay.
fn replayed(
    resolved: &ResolvedPlan<'_>,
    own: &Own,
    trace: PageTrace,
    key: &SnapshotKey,
) -> Result<Box<dyn Workload>, CampaignError> {
    let prepared = own.prepared.clone();
    let mut plan = resolved.plan().clone();
    plan.own = Some(Arc::new(Own {
        prepared: prepared.map(|prepared| prepared.with_trace(Arc::new(trace))),
        ..own.clone()
    }));
    Ok(plan.workload(key.data)?)
}

fn record_one(
    resolved: &ResolvedPlan<'_>,
    key: &SnapshotKey,
    wanted: &Wanted,
    during: &mut MachineWatch,
    monitor: &Monitor<'_>,
) -> Result<RecordedPages, CampaignError> {
    let database = resolved.database(&key.database);
    let records = database.records_pages()?;
    let (begun, mut shown) = (Instant::now(), Instant::now());
    let (mut is_told, mut is_timed) = (false, false);
    let report = &mut |done: u64| {
        // All are recorded: they are timed now.
        if done >= wanted.transactions && !std::mem::replace(&mut is_timed, true) {
            during.begin();
        }
        if shown.elapsed() >= SHOWN_EVERY {
            shown = Instant::now();
            let percent = done * 100 / wanted.transactions.max(1);
            let page_size = key.page_size;
            if !is_told && begun.elapsed() >= TIME_MAX && done < wanted.needed {
                is_told = true;
                let all = begun
                    .elapsed()
                    .mul_f64(wanted.needed as f64 / done.max(1) as f64);
                monitor.note(&format!(
                    "your statements take long: the {} transactions that are needed take about {} min \
                     for each page size; fewer --passes, --transactions or --warm-up take less",
                    wanted.needed,
                    all.as_secs().div_ceil(60)
                ));
            }
            monitor.progress(&format!(
                "record your statements on {page_size} pages: {percent}%"
            ));
            return monitor.flow();
        }
        std::ops::ControlFlow::Continue(())
    };
    let settings = PagesWanted {
        workload: resolved.workload(key.data),
        page_size: key.page_size,
        memory: resolved
            .plan()
            .memories
            .iter()
            .copied()
            .max()
            .unwrap_or_default(),
        isolation: resolved.plan().isolation,
        seed: wanted.seed,
        clients: wanted.clients,
        transactions: wanted.transactions,
        references_max: REFERENCES_MAX,
        needed: wanted.needed,
        time_max: TIME_MAX,
    };
    let recorded = records.record(&resolved.snapshot(key), &settings, report)?;
    during.end();
    Ok(recorded)
}
