//! What findings themselves say against believing them.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use octavo_database::{REFUSES_ROWS, Registry, RestoreMethod, StoragePath};
use octavo_device::{
    facts::misaligned_block,
    request::{Mix, Pattern},
};
use octavo_units::{ByteCount, PageSize};
use octavo_workload::Audit;

use super::{
    ClassFindings, Findings, Fleet,
    age::MissChange,
    cell::{ByCell, CellFindings, GroupFindings},
    own_rows::{found_other, of_own},
    per_transaction::PerTransaction,
};
use crate::{
    caveats::{BelowBlock, Caveat, MovedRatio, YoungPasses},
    inputs::{Input, InputName},
    limits::{CREDIT_SHARE, StorageLimits},
    lockstep::{Batch, HOSTS_QUOTED, Movement},
    machine,
    part::PartKind,
    plan::{Cell, Plan, Storage},
    record::{Figures, Source},
    statistics::Decision,
    store::{CUT_OFF_PASSES, NOT_RECORDED, PART, TIMED_BESIDE},
    verdict::Verdict,
};

/// Rows a transaction from which on data grow within what a prediction counts: one in a
/// hundred. Chosen.
const INSERTED_MIN: f64 = 0.01;

/// The share of misses below which the storage was not seen.
pub const MISSES_AT_DEVICE_WANTED: f64 = 0.95;

/// Reads of the device a miss above which something else than misses reads:
/// read-ahead, or what was pushed out of the page cache.
pub const READS_A_MISS_TOLERATED: f64 = 1.5;

/// Share of passes that may be left out. Chosen.
pub const SCREENED_TOLERATED: f64 = 0.1;

/// How far the ratios of two sittings whose intervals do not overlap may lie apart: as far as
/// placement and start-up are worth more than what intervals show. Chosen.
pub const SITTINGS_TOLERATED: f64 = 0.1;

/// How late half of the transactions of a recording may begin. Chosen: threads begin some tenths of a
/// millisecond late, and a session that waits for its own last transaction at times is no queue.
const LATE_TOLERATED: Duration = Duration::from_millis(10);

/// The cell that was latest, where the pace of a recording was not kept.
fn not_paced(findings: &Findings, by_cell: &ByCell<'_>) -> Option<Caveat> {
    findings.plan.pace()?;
    let cells = findings.plan.cells();
    let runs = cells.iter().zip(&by_cell.figures);
    let late = runs.flat_map(|(cell, runs)| {
        let late = runs.values().map(|run| run.load.counts.late.percentiles());
        late.map(|late| (cell.page_size, late))
    });
    let (page_size, late) = late.max_by_key(|(_, late)| late.p50_us)?;
    (u128::from(late.p50_us) > LATE_TOLERATED.as_micros()).then(|| Caveat::PaceNotKept {
        page_size,
        late_p50_ms: late.p50_us as f64 / 1e3,
        late_max_ms: late.max_us as f64 / 1e3,
    })
}

/// Whether what a cell's processor takes makes its ratio more uncertain than all else that it was
/// predicted from.
fn is_processor_known_least(cell: &CellFindings) -> bool {
    let own = |input: &Input| (input.follows * input.uncertainty.own).powi(2);
    let of = |is_meant: fn(InputName) -> bool| -> f64 {
        let meant = cell.inputs.iter().filter(|input| is_meant(input.name));
        meant.map(own).sum()
    };
    of(|name| name == InputName::Processor) > of(|name| name != InputName::Processor)
}

/// Microseconds that writing one page back takes, if the storage was not calibrated: a random write of
/// an SSD. Chosen.
const PAGE_WRITE_US: f64 = 100.0;

/// Files of write buffers that a cell has to write before its answer knows what merging costs: RocksDB
/// merges four at a time (`level0_file_num_compaction_trigger`), and one merge is no more than a sample.
const FILES_WANTED: u64 = 8;

/// The cell that met no checkpoint and may miss most by that, of those that the answers stand on: the
/// reference, and what is advised or open. What is slower without any would be slower still.
fn no_checkpoint(findings: &Findings, by_cell: &ByCell<'_>) -> Option<Caveat> {
    let cells = findings.plan.cells();
    let runs_of = |of: &CellFindings| {
        let index = cells.iter().position(|cell| *cell == of.cell);
        let runs = index.and_then(|index| by_cell.figures.get(index));
        runs.into_iter().flat_map(|runs| runs.values())
    };
    let profile = findings.calibration.as_ref();
    let written = profile.and_then(|of| of.point(Mix::WRITE, Pattern::Random, 4096, 1));
    // Each page of the log is written back once at most, each by itself.
    let share = |of: &CellFindings| {
        let per = of.per_transaction?;
        let pages = per.log_written_bytes / f64::from(of.cell.page_size.get());
        let write_us = match written {
            Some(point) => 1e6 / point.iops.get(),
            None => PAGE_WRITE_US.max(per.read_us_mean),
        };
        // Sessions have one storage.
        let apart_us = of.time?.total_us / f64::from(of.cell.clients.max(1));
        Some(pages * write_us / apart_us)
    };
    let merges = |of: &CellFindings| of.cell.database.kind().is_ok_and(|kind| kind.merges_files);
    let met_none = |of: &CellFindings| {
        let kind = of.cell.database.kind();
        kind.is_ok_and(|kind| runs_of(of).all(|run| kind.met_no_checkpoint(&run.load.counters)))
    };
    let stand = findings.groups.iter().flat_map(|group| {
        let advised = match &group.verdict {
            Verdict::Use { level, .. } => Some(level.to_string()),
            _ => None,
        };
        let stands_on = move |of: &&CellFindings| {
            let is_open = of.left.is_none() && of.decision == Some(Decision::Open);
            of.reference || is_open || advised.as_ref() == Some(&of.level)
        };
        group.cells.iter().filter(stands_on)
    });
    let stand: Vec<&CellFindings> = stand.collect();
    let writes = |of: &CellFindings| {
        let log = of.per_transaction.map(|per| per.log_written_bytes);
        log.is_some_and(|log| log > 0.0)
    };
    let files =
        |of: &CellFindings| -> u64 { runs_of(of).map(|run| run.load.counters.checkpoints).sum() };
    let merging = stand.iter().filter(|of| merges(of) && writes(of));
    let fewest = merging
        .map(|of| (files(of), of))
        .min_by_key(|(files, _)| *files);
    if let Some((files, of)) = fewest.filter(|(files, _)| *files < FILES_WANTED) {
        return Some(Caveat::HardlyMerged {
            cell: of.cell.clone(),
            files,
        });
    }
    let missing = stand.into_iter().filter(|of| !merges(of) && met_none(of));
    let missing = missing.filter_map(|of| Some((share(of)?, of)));
    let (share, of) = missing.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    let logs = runs_of(of).map(|run| run.load.counters.log_written_bytes);
    (share > findings.plan.margin).then(|| Caveat::NoCheckpoint {
        cell: of.cell.clone(),
        log: logs.max().unwrap_or_default(),
        share,
    })
}

/// Whether a reason to doubt figures is about the course of one machine: it compares sittings, or minutes, that
/// were on several hosts.
pub(super) fn is_of_one_course(caveat: &Caveat) -> bool {
    matches!(
        caveat,
        Caveat::SittingsApart { .. } | Caveat::PaceChanged { .. } | Caveat::Uneven { .. }
    )
}

/// Reasons to doubt what the parts of a plan say.
pub(super) fn of_fleet(fleet: &Fleet) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let hosts = fleet.hosts();
    // Where nothing counts, all parts are missing.
    let speaking = fleet.hosts_with_figures();
    if fleet.kind == PartKind::Sitting && (1..HOSTS_QUOTED).contains(&speaking) {
        caveats.push(Caveat::FewHosts { hosts: speaking });
    }
    caveats.extend(fleet.one_machine.iter().map(|hosts| Caveat::OneMachine {
        hosts: hosts.clone(),
    }));
    let several = fleet.classes.first().filter(|class| class.hosts.len() > 1);
    caveats.extend(several.iter().flat_map(|class| same_figures(class)));
    let main = fleet.classes.first().filter(|class| class.is_over_hosts);
    let short: Vec<String> = main
        .iter()
        .flat_map(|class| &class.hosts)
        .filter(|host| (1..CUT_OFF_PASSES).contains(&host.passes))
        .map(|host| host.host.name.clone())
        .collect();
    if !short.is_empty() {
        caveats.push(Caveat::HostsShort {
            hosts: short,
            of: hosts,
            wanted: CUT_OFF_PASSES,
        });
    }
    // Also where so few have figures that these are of the sittings at hand.
    let groups = several.iter().flat_map(|class| &class.groups);
    for (group, cell) in groups.flat_map(|group| group.cells.iter().map(|cell| (&group.name, cell)))
    {
        let is_decided = matches!(cell.decision, Some(Decision::Better | Decision::Worse));
        if is_decided && !cell.against.is_empty() {
            caveats.push(Caveat::HostsAgainst {
                group: group.clone(),
                level: cell.level.clone(),
                hosts: cell.against.clone(),
                of: cell.by_host.iter().filter(|of| of.ratio.is_some()).count(),
            });
        }
        let of_cell = cell
            .by_host
            .iter()
            .filter(|of| of.throughput.is_some())
            .count();
        // That all failed is said of runs.
        if (1..hosts).contains(&of_cell) {
            caveats.push(Caveat::LevelOnFewHosts {
                group: group.clone(),
                level: cell.level.clone(),
                hosts: of_cell,
                of: hosts,
            });
        }
    }
    if !fleet.missing.is_empty() {
        let mut on: Vec<String> = fleet
            .lost
            .iter()
            .filter(|lost| !lost.has_another)
            .map(|lost| lost.host.name.clone())
            .collect();
        on.sort();
        on.dedup();
        caveats.push(Caveat::PartsMissing {
            kind: fleet.kind,
            missing: fleet.missing.len(),
            of: fleet.wanted,
            on,
        });
    }
    if !fleet.cut_off.is_empty() {
        caveats.push(Caveat::PartsCutOff {
            kind: fleet.kind,
            cut_off: fleet.cut_off.len(),
            of: fleet.counted,
        });
    }
    if fleet.kind == PartKind::Sitting && fleet.classes.len() > 1 && fleet.agree != Some(false) {
        caveats.push(Caveat::OtherClasses {
            hosts,
            others: fleet.other_hosts,
            changed: fleet.changed_hosts,
        });
    }
    if !fleet.small_against.is_empty() {
        caveats.push(Caveat::SmallClassAgainst {
            hosts: fleet.small_against.clone(),
        });
    }
    if fleet.agree == Some(false) {
        caveats.push(Caveat::ClassesDiffer {
            classes: fleet.classes.len() - fleet.classes_too_small,
            of: fleet.classes.len(),
        });
    }
    caveats
}

/// Levels that gave figures on all hosts, and not in all of their sittings.
pub(super) fn in_few_sittings(findings: &Findings, fleet: &Fleet) -> Vec<Caveat> {
    let class = fleet.classes.first().filter(|class| class.is_over_hosts);
    let groups = class.into_iter().flat_map(|class| &class.groups);
    let groups = findings.groups.iter().zip(groups);
    let levels = groups.flat_map(|(group, of_hosts)| {
        let most = group.cells.iter().map(|cell| cell.by_sitting.len()).max();
        let of = most.unwrap_or_default();
        let cells = group.cells.iter().zip(&of_hosts.cells);
        let few = cells.filter(move |(cell, of_cell)| {
            let is_on_all = of_cell.by_host.iter().all(|of| of.ratio.is_some());
            !cell.reference && is_on_all && cell.by_sitting.len() < of
        });
        few.map(move |(cell, _)| Caveat::LevelInFewSittings {
            group: group.name.clone(),
            level: cell.level.clone(),
            sittings: cell.by_sitting.len(),
            of,
        })
    });
    levels.collect()
}

/// A fact of a plan's storage that is a number.
fn number_of(findings: &Findings, storage: &Storage, name: &str) -> Option<u64> {
    let name = match storage {
        Storage::Own => name.to_owned(),
        other => format!("{other}: {name}"),
    };
    let mut facts = findings.storage.iter();
    facts.find(|(of, _)| *of == name)?.1.parse().ok()
}

/// The storages whose blocks are larger than pages.
pub(super) fn page_below_block(findings: &Findings) -> Option<Caveat> {
    let plan = &findings.plan;
    let storages = plan.storages.iter().filter_map(|storage| {
        let block = number_of(findings, storage, "file_system_block_bytes")?;
        let block = ByteCount::new(block);
        let below = plan.page_sizes.iter().filter(|size| size.bytes() < block);
        let page_sizes: Vec<PageSize> = below.copied().collect();
        (!page_sizes.is_empty()).then(|| BelowBlock {
            storage: storage.clone(),
            block,
            page_sizes,
        })
    });
    let storages: Vec<BelowBlock> = storages.collect();
    (!storages.is_empty()).then_some(Caveat::PageBelowBlock { storages })
}

/// The first storage whose file system begins off the blocks of its device, unless the plan wants that.
pub(super) fn misaligned(findings: &Findings) -> Option<Caveat> {
    let plan = &findings.plan;
    // Also what file systems are made on.
    let given = plan.storages.iter().flat_map(|of| [of, of.ground()]);
    let given = given.filter(|of| {
        of.file_system()
            .is_none_or(|of| of.offset() == ByteCount::ZERO)
    });
    let found = given.filter_map(|storage| {
        let bytes = |name| number_of(findings, storage, name).map(ByteCount::new);
        let offset = bytes("offset_bytes")?;
        let block = misaligned_block(offset, bytes("physical_block_bytes"))?;
        Some(Caveat::Misaligned {
            offset,
            block,
            storage: storage.clone(),
        })
    });
    found.into_iter().next()
}

/// Hosts of a class with exactly the same ratios in all cells: measured, no two are.
fn same_figures(class: &ClassFindings) -> Vec<Caveat> {
    let mut hosts: BTreeMap<Vec<Option<u64>>, Vec<String>> = BTreeMap::new();
    for (place, host) in class.hosts.iter().enumerate() {
        let cells = class.groups.iter().flat_map(|group| &group.cells);
        let ratios = cells.map(|cell| Some(cell.by_host.get(place)?.ratio?.to_bits()));
        let ratios: Vec<Option<u64>> = ratios.collect();
        if ratios.iter().any(Option::is_some) {
            let same = hosts.entry(ratios).or_default();
            same.push(host.host.name.clone());
        }
    }
    let same = hosts.into_values().filter(|hosts| hosts.len() > 1);
    same.map(|hosts| Caveat::SameFigures { hosts }).collect()
}

/// The cell that may be too fast by most for what its storage served after rests, if that is more than does
/// not matter.
fn credit(findings: &Findings, by_cell: &ByCell<'_>) -> Option<Caveat> {
    let cells = findings.plan.cells();
    let slice_s: Vec<f64> = (0..cells.len()).map(|cell| by_cell.slice_s(cell)).collect();
    let all_s: f64 = slice_s.iter().sum();
    let too_fast = cells.iter().enumerate().filter_map(|(number, cell)| {
        let limits = StorageLimits::of(&findings.limits, &cell.storage);
        let slice_s = slice_s[number];
        let asked = by_cell.asked(number)?;
        let (share, limit) = asked.too_fast(limits, slice_s, all_s - slice_s)?;
        // Of this limit: another one may want longer slices, which would not help here.
        let transactions = asked.transactions_wanted(std::slice::from_ref(limit));
        Some(Caveat::Credit {
            cell: cell.clone(),
            share,
            limit: *limit,
            slice_s,
            transactions: transactions.map(|wanted| wanted.ceil() as u64),
        })
    });
    let share = |caveat: &Caveat| match caveat {
        Caveat::Credit { share, .. } => *share,
        _ => 0.0,
    };
    let most = too_fast.max_by(|one, other| share(one).total_cmp(&share(other)))?;
    (share(&most) > findings.plan.margin.max(CREDIT_SHARE)).then_some(most)
}

pub(super) fn found_caveats(
    findings: &Findings,
    by_cell: &ByCell<'_>,
    statements: &BTreeMap<usize, Audit>,
) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let runs: Vec<&Figures> = by_cell.all().collect();
    let of = runs.len();
    let cells = || findings.groups.iter().flat_map(|group| &group.cells);
    let built = (machine::BUILD, machine::DEBUG_BUILD);
    let mut facts = findings.machine.iter();
    if facts.any(|(name, value)| (name.as_str(), value.as_str()) == built) {
        caveats.push(Caveat::DebugBuild);
    }
    let changed = findings.changed.iter().cloned();
    caveats.extend(changed.map(|(name, change)| Caveat::MachineChanged { name, change }));
    let cached = runs
        .iter()
        .filter(|run| run.storage_path == Some(StoragePath::PageCache));
    match cached.count() {
        0 => {}
        runs => caveats.push(Caveat::PageCache { runs, of }),
    }
    let is_measured = findings.source == Source::Measured;
    // A model has no other cache, and counts pages as misses that are new and never read.
    let share = findings.misses_at_device_min().filter(|_| is_measured);
    if let Some(share) = share.filter(|share| *share < MISSES_AT_DEVICE_WANTED) {
        caveats.push(Caveat::MissesNotAtDevice { share });
    }
    if !is_measured {
        let mut kinds = cells().filter_map(|cell| cell.cell.database.kind().ok());
        let measurable = Registry::standard();
        caveats.push(
            match kinds.find(|kind| measurable.find(kind.name).is_err()) {
                Some(kind) => Caveat::NeverCompared {
                    database: kind.title.to_owned(),
                },
                None => Caveat::Predicted,
            },
        );
    }
    let mut facts = findings.storage.iter();
    let missing = facts.find(|(name, _)| name == NOT_RECORDED);
    caveats.extend(missing.map(|(_, what)| Caveat::NotRecorded { what: what.clone() }));
    let mut facts = findings.storage.iter();
    let beside = facts.find(|(name, _)| name == TIMED_BESIDE);
    caveats.extend(beside.map(|(_, page_sizes)| Caveat::TimedBeside {
        page_sizes: page_sizes.clone(),
        decides: cells().any(|cell| !cell.reference && is_processor_known_least(cell)),
    }));
    let rows = cells().filter_map(|cell| cell.inserted).fold(0.0, f64::max);
    if rows >= INSERTED_MIN {
        caveats.push(Caveat::Grows { rows });
    }
    caveats.extend(not_paced(findings, by_cell));
    caveats.extend(no_checkpoint(findings, by_cell));
    caveats.extend(credit(findings, by_cell));
    let own = findings.plan.own.iter();
    caveats.extend(own.flat_map(|own| of_own(own, statements)));
    caveats.extend(sampled(findings));
    caveats.extend(found_other(&findings.plan, statements));
    let part = findings.storage.iter().find(|(name, _)| name == PART);
    caveats.extend(part.map(|(_, part)| Caveat::InPart { part: part.clone() }));
    let databases = &findings.plan.databases;
    if databases.iter().any(|of| of.replacement().is_some()) {
        let is_bound = databases.iter().any(|of| of.is_bound());
        caveats.push(Caveat::ReplacedPolicy { is_bound });
    }
    if is_measured && !runs.is_empty() && runs.iter().all(|run| run.device.is_none()) {
        caveats.push(Caveat::NoDeviceCounters);
    }
    if !runs.is_empty() && findings.ramps.is_empty() {
        caveats.extend(findings.groups.iter().filter_map(|group| {
            let mut cells = group.cells.iter();
            let silent = cells.find(|cell| cell.reference && cell.throughput.is_none())?;
            Some(Caveat::NoReference {
                cell: silent.cell.clone(),
            })
        }));
    }
    let reads =
        cells().filter_map(|cell| Some((cell, cell.per_transaction?.device_reads_a_miss()?)));
    // With direct I/O nothing reads but misses, and other programs; from memory nothing does.
    let is_read_ahead = |cell: &CellFindings| {
        let path = cell.storage_path;
        path.is_some_and(|path| !matches!(path, StoragePath::Direct | StoragePath::Resident))
    };
    let reads = reads.filter(|(cell, _)| is_read_ahead(cell));
    let most = reads.max_by(|(_, one), (_, other)| one.total_cmp(other));
    let most = most.filter(|(_, reads)| *reads > READS_A_MISS_TOLERATED);
    if let Some((cell, reads)) = most {
        caveats.push(Caveat::ReadsPerMiss {
            cell: cell.cell.clone(),
            reads,
        });
    }
    let left_out = findings.screened;
    if left_out.disturbed() as f64 > SCREENED_TOLERATED * findings.passes as f64 {
        caveats.push(Caveat::Screened {
            slow: left_out.slow,
            foreign_traffic: left_out.foreign_traffic,
            of: findings.passes,
        });
    }
    caveats.extend(sittings_apart(&findings.groups));
    caveats.extend(still_warming(&findings.groups));
    caveats.extend(misses_rose(&findings.groups));
    caveats.extend(ratio_moved(&findings.groups));
    caveats.extend(young(&findings.groups));
    caveats.extend(uneven(&findings.groups));
    caveats.extend(changed_pace(&findings.groups));
    let machines = runs
        .iter()
        .map(|run| run.machine.apart_from_limit(run.storage_path));
    let disturbances = machine::disturbances(&machines.collect::<Vec<_>>());
    caveats.extend(disturbances.into_iter().map(Caveat::Disturbed));
    // What goes on as it was had all that is wanted, though there was room for more.
    let is_level = |cell: &Cell| {
        let mut all = findings.groups.iter().flat_map(|group| &group.cells);
        let found = all.find(|found| found.cell == *cell);
        found.is_some_and(|found| is_in_cache(found) || trend(found).is_some_and(|of| of >= LEVEL))
    };
    let mut cells = by_cell.unfilled();
    // A model's misses are level long before its buffer is full.
    cells.retain(|unfilled| !is_measured || !is_level(&unfilled.cell));
    if !cells.is_empty() {
        let runs = cells.iter().map(|cell| cell.runs).sum();
        caveats.push(Caveat::BufferNotFilled { cells, runs, of });
    }
    let is_shared = |run: &&Figures| run.restored_by == Some(RestoreMethod::Reflink);
    if runs.iter().any(is_shared) {
        caveats.push(Caveat::SharedBlocks);
    }
    if is_measured {
        caveats.extend(page_below_block(findings));
        caveats.extend(misaligned(findings));
    }
    // The OS's memory has all of the data, whatever the database's has.
    let reads_disk = |run: &&Figures| run.storage_path != Some(StoragePath::Resident);
    // The user's own data, all of it, has the size that it has.
    let own = findings.plan.own.as_ref();
    let is_whole = own.is_some_and(|own| own.copy.sample.is_none());
    let least = if is_whole { 1 } else { 8 };
    // It does not fit for long.
    let grows = caveats
        .iter()
        .any(|caveat| matches!(caveat, Caveat::Grows { .. }));
    if let (Some(data), Some(&memory)) = (data_min(findings), findings.plan.memories.iter().max())
        && data < memory.saturating_mul(least)
        && (runs.is_empty() || runs.iter().any(reads_disk))
        && !(is_whole && grows)
    {
        caveats.push(Caveat::SmallData { data, memory });
    }
    caveats.extend(Caveat::lost(&runs));
    let refused = findings.runs_failed.iter();
    let refused: Vec<(PageSize, &str)> = refused
        .filter_map(|run| Some((run.cell.page_size, run.reason.strip_prefix(REFUSES_ROWS)?)))
        .collect();
    let mut by_reason: BTreeMap<&str, BTreeSet<PageSize>> = BTreeMap::new();
    for (page_size, reason) in &refused {
        by_reason.entry(reason).or_default().insert(*page_size);
    }
    let mut by_reason: Vec<_> = by_reason.into_iter().collect();
    // The smallest pages first.
    by_reason.sort_by(|(_, one), (_, other)| one.cmp(other));
    let does_not_fit = by_reason
        .into_iter()
        .map(|(reason, sizes)| Caveat::DoNotFit {
            page_sizes: sizes.into_iter().collect(),
            reason: reason.to_owned(),
        });
    caveats.extend(does_not_fit);
    let failed = findings.runs_failed.len() - refused.len();
    if failed > 0 {
        caveats.push(Caveat::RunsFailed { runs: failed });
    }
    caveats
}

/// Size of the smallest data of the references, of which reports tell how large data is:
/// those of other page sizes are a little larger or smaller. Of all where no reference has
/// any.
fn data_min(findings: &Findings) -> Option<ByteCount> {
    let of = |cell: &CellFindings| {
        let mut snapshots = findings.snapshots.iter();
        Some(snapshots.find(|of| of.key == cell.cell.snapshot())?.size)
    };
    let cells = findings.groups.iter().flat_map(|group| &group.cells);
    let references = cells.filter(|cell| cell.reference).filter_map(of).min();
    references.or_else(|| findings.snapshots.iter().map(|of| of.size).min())
}

/// Misses in the second half of the sittings, as a share of those in the first, below which
/// the cache was not warm. Chosen.
pub const WARM: f64 = 0.9;

/// From here on a cell misses as it will go on to, though its cache is not full. Chosen.
const LEVEL: f64 = 0.95;

/// Misses from which on such a fall is no chance: counts of a thousand are within 3%.
const MISSES_MIN: f64 = 1000.0;

/// Misses a transaction below which all that is used is in the cache, however full that is.
/// Chosen.
const MISSES_OF_CACHED: f64 = 0.005;

/// Whether a cell found what it used in its cache.
fn is_in_cache(cell: &CellFindings) -> bool {
    let is_known = cell.batches.len() >= BATCHES_MIN;
    let few = |per: PerTransaction| {
        per.buffer_misses == 0.0 || (is_known && per.buffer_misses < MISSES_OF_CACHED)
    };
    cell.per_transaction.is_some_and(few)
}

/// Batches from which on kinds of transactions are mixed well enough to compare halves. Chosen.
const BATCHES_MIN: usize = 8;

/// How the misses of a cell changed while it was measured, as a share of those before; `None`
/// where few misses, or the kinds of few transactions, decide that, and of what missed passes
/// and met other parts of the sittings.
fn trend(cell: &CellFindings) -> Option<f64> {
    let per = cell.per_transaction?;
    let age = cell.age?;
    let is_enough = per.buffer_misses * per.transactions as f64 >= MISSES_MIN;
    let is_known = is_enough && cell.batches.len() >= BATCHES_MIN && cell.passes_missed == 0;
    age.miss_trend.filter(|_| is_known)
}

/// The cells whose misses fell while they were measured, the one where they fell most first.
fn still_warming(groups: &[GroupFindings]) -> Option<Caveat> {
    let cells = groups.iter().flat_map(|group| &group.cells);
    let cells = cells.filter(|cell| misses_changed(cell) == MissChange::Fell);
    let falling = cells.filter_map(|cell| Some((trend(cell)?, cell.cell.clone())));
    let mut falling: Vec<_> = falling.filter(|(trend, _)| *trend < WARM).collect();
    falling.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let is_apart = |group: &GroupFindings| {
        let trends = || group.cells.iter().filter_map(trend);
        let least = trends().fold(f64::INFINITY, f64::min);
        least < WARM && least < WARM * trends().fold(0.0, f64::max)
    };
    Some(Caveat::StillWarming {
        fall: 1.0 - falling.first()?.0,
        cells: falling.into_iter().map(|(_, cell)| cell).collect(),
        apart: groups.iter().any(is_apart),
    })
}

fn misses_changed(cell: &CellFindings) -> MissChange {
    cell.age.map(|age| age.misses_changed).unwrap_or_default()
}

/// The cell whose sittings differ most, of those with two that chance does not explain.
pub(super) fn sittings_apart(groups: &[GroupFindings]) -> Option<Caveat> {
    let is_apart = |cell: &&CellFindings| {
        let apart = cell.sittings_apart();
        apart.is_some_and(|apart| apart > 1.0 + SITTINGS_TOLERATED)
    };
    let cells = groups.iter().flat_map(|group| &group.cells);
    let apart = cells
        .filter(is_apart)
        .filter_map(|cell| Some((cell, cell.sittings_spread()?)));
    let (cell, factor) = apart.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    Some(Caveat::SittingsApart {
        cell: cell.cell.clone(),
        factor,
    })
}

/// The cells whose misses rose while they were measured, the one where they rose most first.
pub(super) fn misses_rose(groups: &[GroupFindings]) -> Option<Caveat> {
    let rise = |cell: &CellFindings| {
        let per = cell.per_transaction?;
        let is_enough = per.buffer_misses * per.transactions as f64 >= MISSES_MIN;
        if !is_enough || cell.batches.len() < BATCHES_MIN || cell.passes_missed > 0 {
            return None;
        }
        let trend = cell.age.and_then(|age| age.miss_trend);
        Some(match misses_changed(cell) {
            // Misses that there were none of before.
            MissChange::Rose => trend.unwrap_or(f64::INFINITY),
            _ => 1.0,
        })
    };
    let cells = groups.iter().flat_map(|group| &group.cells);
    let rising = cells.filter_map(|cell| Some((rise(cell)?, cell.cell.clone())));
    let mut rising: Vec<_> = rising.filter(|(rise, _)| *rise > 1.0 / WARM).collect();
    rising.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let is_apart = |group: &GroupFindings| {
        let rises = || group.cells.iter().filter_map(rise);
        let most = rises().fold(1.0, f64::max);
        most > 1.0 / WARM && most > rises().fold(f64::INFINITY, f64::min) / WARM
    };
    Some(Caveat::MissesRose {
        factor: Some(rising.first()?.0).filter(|factor| factor.is_finite()),
        cells: rising.into_iter().map(|(_, cell)| cell).collect(),
        apart: groups.iter().any(is_apart),
    })
}

/// What does not count because copies were young, if anything.
fn young(groups: &[GroupFindings]) -> Option<Caveat> {
    let young = groups.iter().filter_map(|group| group.young.clone());
    let groups: Vec<YoungPasses> = young.collect();
    (!groups.is_empty()).then_some(Caveat::Young { groups })
}

/// The cells whose ratio moved while the copies grew older, the one that moved most first.
fn ratio_moved(groups: &[GroupFindings]) -> Option<Caveat> {
    let cells = groups.iter().flat_map(|group| &group.cells);
    let moved = cells.filter_map(|cell| Some((cell.age?.counted_transactions, cell.moved?, cell)));
    let mut moved: Vec<_> = moved.collect();
    let far = |of: &Movement| (of.last / of.first).ln().abs();
    moved.sort_by(|(_, one, _), (_, other, _)| far(other).total_cmp(&far(one)));
    Some(Caveat::RatioMoved {
        transactions: moved.iter().map(|(transactions, ..)| *transactions).max()?,
        cells: moved
            .into_iter()
            .map(|(_, movement, cell)| MovedRatio {
                cell: cell.cell.clone(),
                movement,
            })
            .collect(),
    })
}

/// The cell whose ratio over all its time is farthest outside of the interval of its ratio in
/// the mean of batches, if one is.
fn uneven(groups: &[GroupFindings]) -> Option<Caveat> {
    let outside = groups.iter().flat_map(|group| {
        let mut references = group.cells.iter().filter(|cell| cell.reference);
        let reference = references.next().map_or(&[][..], |cell| &cell.batches);
        group.cells.iter().filter_map(move |cell| {
            let ratio = cell.ratio?;
            let of_all = ratio_of_times(cell, reference)?;
            let beyond = (of_all / ratio.high).max(ratio.low / of_all);
            let is_reverse = (of_all > 1.0) != (ratio.estimate > 1.0);
            (beyond > 1.0).then_some((is_reverse, beyond, of_all, cell))
        })
    });
    // One that is reversed before one that is farther off.
    let (is_reverse, _, ratio, cell) =
        outside.max_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)))?;
    Some(Caveat::Uneven {
        cell: cell.cell.clone(),
        ratio,
        is_reverse,
    })
}

/// The time of the reference over that of a cell, in the batches that both have: these have the same
/// transactions.
fn ratio_of_times(cell: &CellFindings, reference: &[Batch]) -> Option<f64> {
    let beside = match cell.reference_batches.is_empty() {
        // One that is still live, or has the reference's own looks.
        true => reference,
        false => &cell.reference_batches,
    };
    let beside: BTreeMap<(u32, u32), f64> = beside
        .iter()
        .map(|of| ((of.sitting, of.pass), of.throughput))
        .collect();
    let both = cell.batches.iter().filter_map(|of| {
        let other = beside.get(&(of.sitting, of.pass))?;
        Some((1.0 / other, 1.0 / of.throughput))
    });
    let (count, of_reference, own) = both.fold((0, 0.0, 0.0), |(count, one, two), both| {
        (count + 1, one + both.0, two + both.1)
    });
    (count >= BATCHES_MIN).then_some(of_reference / own)
}

/// How many times as fast as another one part has to be for it to matter. Chosen.
const OTHER_PACE: f64 = 1.5;

/// The reference whose pace changed most, if one did.
fn changed_pace(groups: &[GroupFindings]) -> Option<Caveat> {
    let references = groups.iter().flat_map(|group| &group.cells);
    let references = references.filter(|cell| cell.reference);
    let changes = references.filter_map(|cell| Some((cell.age?.pace_change?, cell)));
    let (factor, cell) = changes.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (factor >= OTHER_PACE).then(|| Caveat::PaceChanged {
        cell: cell.cell.clone(),
        factor,
    })
}

/// Whether the databases' buffers have as large a part of each memory as of one that is to it as all
/// bytes are to those of a sample. PostgreSQL leaves more than their share of small memories to the page
/// cache.
fn buffers_in_step(plan: &Plan, bytes: ByteCount, of: ByteCount) -> bool {
    /// What is no difference. Chosen.
    const TOLERATED: f64 = 0.03;
    let factor = (of.get() / bytes.get().max(1)).max(1);
    plan.databases.iter().all(|database| {
        let part = |memory: ByteCount| -> Option<f64> {
            let buffer = database.make().ok()?.buffer(memory).ok()?;
            Some(buffer.get() as f64 / memory.get().max(1) as f64)
        };
        plan.memories.iter().all(|memory| {
            let parts = part(*memory).zip(part(memory.saturating_mul(factor)));
            parts.is_some_and(|(here, there)| (there - here).abs() <= TOLERATED)
        })
    })
}

/// That the copy has a part of the rows, and which part of the database's bytes these are. The files
/// of a copy say nothing of it: fresh ones are denser, and have other free room.
fn sampled(findings: &Findings) -> Option<Caveat> {
    let copy = &findings.plan.own.as_ref()?.copy;
    let sample = copy.sample?;
    Some(Caveat::Sampled {
        share: sample.share,
        bytes: copy.size,
        of: sample.of,
        in_step: buffers_in_step(&findings.plan, copy.size, sample.of),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use octavo_database::DatabaseSpec;

    use super::*;
    use crate::plan::{TestedDatabase, tests::plan};

    #[test]
    fn small_memories_of_postgres_are_out_of_step() {
        let mut plan = plan();
        let spec = |name: &str| {
            let kind = Registry::standard().find(name).unwrap();
            DatabaseSpec::new(kind, Vec::new()).unwrap()
        };
        for (name, memory, wanted) in [
            ("postgres", 64, true),
            ("postgres", 32, true),
            ("postgres", 12, false),
            ("mariadb", 12, true),
        ] {
            let Ok(database) = TestedDatabase::new(&spec(name)) else {
                eprintln!("skipped: {name} is not installed");
                continue;
            };
            plan.databases = vec![Arc::new(database)];
            plan.memories = vec![ByteCount::mib(memory)];
            let (bytes, of) = (ByteCount::mib(100), ByteCount::mib(1000));
            assert_eq!(
                buffers_in_step(&plan, bytes, of),
                wanted,
                "{name}, {memory} MiB"
            );
        }
    }
}
