//! What a reader must know before believing an experiment's figures.

use octavo_device::limit::Limit;
use octavo_units::{ByteCount, PageSize};
use octavo_workload::user::{LeftOut, SampledTable, Share};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

pub use crate::budget::OverBudget;
use crate::{
    lockstep::HOSTS_MIN,
    lockstep::Movement,
    machine::{Cause, Disturbance},
    part::PartKind,
    plan::{Cell, Storage},
    record::Figures,
};

/// A statement that often found or changed no row.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MissedStatement {
    /// Where it stands.
    pub name: String,
    /// The share of its runs that found none.
    pub share: f64,
}

/// Page sizes below the blocks of a storage's file system.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BelowBlock {
    /// Where.
    pub storage: Storage,
    /// A block.
    pub block: ByteCount,
    /// The page sizes that are smaller.
    pub page_sizes: Vec<PageSize>,
}

/// A cell whose ratio moved.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MovedRatio {
    /// Which.
    pub cell: Cell,
    /// From what to what.
    #[serde(flatten)]
    pub movement: Movement,
}

/// Passes at the beginning of each sitting that do not count for a group: copies were young, and a
/// ratio moved.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct YoungPasses {
    /// How many of each.
    pub passes: u32,
    /// How many of all sittings together, without those that are left out for another reason.
    pub all_passes: usize,
    /// The ratio that was found to move first, of several the one that moved most, until then.
    #[serde(flatten)]
    pub moved: MovedRatio,
}

/// What a caveat does to the verdict; the worst is the greatest. docs/verdicts.md has which
/// caveat is what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Nothing: something could not be checked, or a few passes were left out.
    Note,
    /// How much, not which: all cells are off alike, or fewer figures stand behind it.
    Amount,
    /// Which: cells may be off by different amounts, so another may be the best.
    Choice,
    /// All of it: the figures are of something else than was asked, or there are none.
    Void,
}

/// Share of a resource that others have to use, in at least half of the runs, for the balance
/// of processor and storage to be another one. Chosen.
const OTHER_BALANCE: f64 = 0.25;

/// One reason to doubt figures. Shares are 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "caveat", rename_all = "snake_case")]
pub enum Caveat {
    /// A build without optimization measured, so figures are too low.
    DebugBuild,
    /// Nothing was measured: models say all of it.
    Predicted,
    /// Nor was any database like this one, with its title.
    NeverCompared {
        /// As its makers' is written.
        database: String,
    },
    /// Not all that statements do could be recorded.
    NotRecorded {
        /// What, and why, as half a sentence.
        what: String,
    },
    /// The processor's time of statements was measured while others used the processors.
    TimedBeside {
        /// With which page sizes.
        page_sizes: String,
        /// Whether an interval is as wide as it is for that reason more than for others.
        decides: bool,
    },
    /// Databases have replacement policies that are not their own.
    ReplacedPolicy {
        /// Whether one of them knows the future.
        is_bound: bool,
    },
    /// Predicted transactions insert rows, so no state lasts.
    Grows {
        /// Rows a transaction, at most of all cells.
        rows: f64,
    },
    /// The user's statements were guessed from the schema.
    Guessed {
        /// What was copied.
        of: String,
        /// What the guess leaves out.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        without: Vec<String>,
        /// Why the server's digests were not used, where it could have some.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        without_digests: Option<String>,
    },
    /// The statements are digests of the user's server.
    Digested {
        /// How many digests ran.
        digests: u64,
        /// Runs on the server that they stand for.
        calls: u64,
        /// Of how many.
        of_calls: u64,
        /// The share of the time of all that the former took, 0 to 1, where it is known.
        time: Option<f64>,
        /// Statements that began and ended transactions, which are none of these.
        ends: u64,
        /// The others.
        left: Vec<LeftOut>,
    },
    /// Digests failed on the copy.
    DigestsFailed {
        /// How many runs.
        failed: u64,
        /// Of how many.
        of: u64,
        /// The one that failed most often.
        most: String,
    },
    /// The copy has a part of the rows.
    Sampled {
        /// Which part.
        share: Share,
        /// The bytes that these have there.
        bytes: ByteCount,
        /// The size of the user's database.
        of: ByteCount,
        /// Whether the buffer has as large a part of each memory here as of the memory that it
        /// stands for.
        in_step: bool,
    },
    /// Tables of a sample have far more or fewer rows than were asked for.
    SampledUnevenly {
        /// These tables.
        tables: Vec<SampledTable>,
    },
    /// The copy is not in everything as the user's database.
    CopyUnlike {
        /// In what, each as half a sentence.
        how: Vec<String>,
    },
    /// Statements of the user's never found or changed a row, or in at most one of a thousand runs.
    FoundNothing {
        /// Where they stand.
        statements: Vec<String>,
        /// Statements that ran, those among them.
        of: usize,
    },
    /// No statement of the user's scripts was sent: their conditions never held.
    NothingSent,
    /// A script of the user's ran so seldom that what it costs is hardly in what is compared.
    RareScript {
        /// Its name.
        script: String,
        /// How often it ran in the cell where it ran least, in all passes.
        runs: u64,
    },
    /// Statements of the user's often found or changed no row of a sample.
    SampleMissed {
        /// Where they stand, those that missed most first.
        statements: Vec<MissedStatement>,
    },
    /// A statement of the user's found or changed other rows in other cells.
    FoundOther {
        /// Where it stands.
        statement: String,
        /// The fewest rows a run of it in a cell.
        least: f64,
        /// The most.
        most: f64,
    },
    /// Not all statements of a recording were sent again.
    RecordedInPart {
        /// Those that were sent again.
        statements: u64,
        /// Those that were recorded.
        recorded: u64,
        /// The share of the time of all that the former took, 0 to 1, where it was recorded.
        time: Option<f64>,
        /// The others.
        left: Vec<LeftOut>,
    },
    /// Recorded statements failed on the copy.
    RecordedFailed {
        /// How many.
        failed: u64,
        /// Of how many that ran.
        of: u64,
        /// Where the one stands that failed most often.
        most: String,
    },
    /// A recording was sent more than once in a run.
    RecordedAgain {
        /// How often, at most.
        rounds: f64,
    },
    /// Not all of a recording was sent.
    RecordedBeginning {
        /// Which part of it, 0 to 1.
        share: f64,
    },
    /// Transactions of a recording began later than they were due in a cell, most of them by a time
    /// that nobody would call the clock's.
    PaceNotKept {
        /// The cell's page size.
        page_size: PageSize,
        /// How late half of them began, or later, in milliseconds.
        late_p50_ms: f64,
        /// How late the latest one began, in milliseconds.
        late_max_ms: f64,
    },
    /// A part of rows, buffer and log was predicted in place of all.
    InPart {
        /// Which part, such as "1/8".
        part: String,
    },
    /// Cells that were to be predicted before they were measured were not.
    NotPredicted {
        /// Why the last of them was not.
        reason: String,
    },
    /// The machine was not the same in all sessions.
    MachineChanged {
        /// The fact's name.
        name: String,
        /// How it changed.
        change: String,
    },
    /// Reads went through the kernel's page cache without a limit.
    PageCache {
        /// In how many runs.
        runs: usize,
        /// … of how many.
        of: usize,
    },
    /// Fewer of the buffer's misses than
    /// [`MISSES_AT_DEVICE_WANTED`](crate::findings::MISSES_AT_DEVICE_WANTED)
    /// reached the device.
    MissesNotAtDevice {
        /// The share that did in the worst cell.
        share: f64,
    },
    /// No block device's counters were found under the data.
    NoDeviceCounters,
    /// The reference of a group has no figure, so nothing can be compared
    /// with it.
    NoReference {
        /// The reference.
        cell: Cell,
    },
    /// The machine disturbed runs.
    Disturbed(Disturbance),
    /// The warm-up did not fill the buffer.
    BufferNotFilled {
        /// In these cells.
        cells: Vec<UnfilledCell>,
        /// In so many runs of all cells.
        runs: usize,
        /// Of so many.
        of: usize,
    },
    /// Copies share blocks with the loaded data, so that the first write of
    /// each block also allocates.
    SharedBlocks,
    /// Pages are smaller than the file system's blocks.
    PageBelowBlock {
        /// Where, and which.
        storages: Vec<BelowBlock>,
    },
    /// The file system begins where no block of its device does.
    Misaligned {
        /// How far into the device.
        offset: ByteCount,
        /// A multiple of which it should be.
        block: ByteCount,
        /// Where.
        storage: Storage,
    },
    /// The device read more than the buffer missed.
    ReadsPerMiss {
        /// The cell where it did most.
        cell: Cell,
        /// Reads of the device a miss.
        reads: f64,
    },
    /// Many passes were left out.
    Screened {
        /// Those that took much longer than others.
        slow: usize,
        /// Those in which other programs used the device.
        foreign_traffic: usize,
        /// Of so many.
        of: usize,
    },
    /// The sittings of a cell do not agree: there are two whose intervals do not overlap.
    SittingsApart {
        /// The cell.
        cell: Cell,
        /// The largest of its ratios to the reference in sittings over the smallest.
        factor: f64,
    },
    /// Misses became fewer while cells were measured: their caches were not warm.
    StillWarming {
        /// These cells, the one where they fell most first.
        cells: Vec<Cell>,
        /// By this share there, from the first half of its sittings to the second.
        fall: f64,
        /// Whether those of others it is compared with fell less.
        apart: bool,
    },
    /// Misses became more while cells were measured: their data grew, or more of it was used.
    MissesRose {
        /// These cells, the one where they rose most first.
        cells: Vec<Cell>,
        /// So many times as many there in the second half of its sittings; `None` if there were
        /// none in the first.
        factor: Option<f64>,
        /// Whether those of others it is compared with rose less.
        apart: bool,
    },
    /// A cell that an answer stands on met no checkpoint, so that writing changed pages back is in no
    /// figure of it.
    NoCheckpoint {
        /// This cell.
        cell: Cell,
        /// The most that it wrote into its log in a sitting.
        log: ByteCount,
        /// The share that would add to the time of a transaction, if every page of the log was written
        /// back by itself.
        share: f64,
    },
    /// A cell that an answer stands on filled few of its write buffers, so that its figures know little of
    /// writing and merging files, and of what more files cost reads.
    HardlyMerged {
        /// This cell.
        cell: Cell,
        /// How many files of write buffers it wrote, all sittings together.
        files: u64,
    },
    /// The ratios of cells to the reference moved while the copies grew older.
    RatioMoved {
        /// These cells, the one that moved most first.
        cells: Vec<MovedRatio>,
        /// Transactions of each copy within which they did: the last ones, where the beginning of
        /// sittings does not count.
        transactions: u64,
    },
    /// What groups have at the beginning of sittings does not count: ratios moved in it.
    Young {
        /// Of each group that has such passes.
        groups: Vec<YoungPasses>,
    },
    /// Over all its time a cell's ratio to the reference is not what it is in the mean of its
    /// batches: work is uneven, and what is rare weighs more.
    Uneven {
        /// The cell.
        cell: Cell,
        /// All its counted commits over all its time, over the same of the reference.
        ratio: f64,
        /// Whether one of them is faster and the other slower.
        is_reverse: bool,
    },
    /// The reference of a group was much faster in one part of the experiment than in another.
    PaceChanged {
        /// The reference.
        cell: Cell,
        /// So many times as fast.
        factor: f64,
    },
    /// Much of the data fits in the buffer.
    SmallData {
        /// Size of the smallest data of a reference.
        data: ByteCount,
        /// The largest memory.
        memory: ByteCount,
    },
    /// Runs ended early because their database was lost, or it was gone at their end.
    RunsLost {
        /// So many.
        runs: usize,
        /// Of these, so many whose rows could not be checked.
        unchecked: usize,
        /// Of so many.
        of: usize,
        /// Why, of the last of them.
        reason: String,
    },
    /// The user's rows do not fit in pages of these sizes.
    DoNotFit {
        /// The sizes.
        page_sizes: Vec<PageSize>,
        /// What the database says, the same of all of them.
        reason: String,
    },
    /// The fewest passes that compare anything took longer than the budget.
    OverBudget(OverBudget),
    /// A plan that was divided was carried out on few hosts.
    FewHosts {
        /// How many.
        hosts: usize,
    },
    /// Hosts with these names were one machine, or copies of one.
    OneMachine {
        /// Their names.
        hosts: Vec<String>,
    },
    /// Hosts say the opposite of what is decided, by more than the margin.
    HostsAgainst {
        /// In which group; empty when there is one.
        group: String,
        /// Of which level.
        level: String,
        /// Which hosts.
        hosts: Vec<String>,
        /// Of how many.
        of: usize,
    },
    /// Hosts count as much as others though they have fewer passes than a sitting that was cut off needs.
    HostsShort {
        /// Which hosts.
        hosts: Vec<String>,
        /// Of how many.
        of: usize,
        /// The passes that a sitting needs that was cut off.
        wanted: usize,
    },
    /// Hosts have exactly the same ratios, as copies of a store do.
    SameFigures {
        /// Which hosts.
        hosts: Vec<String>,
    },
    /// A level gave figures on some hosts alone, so that nothing is said of it.
    LevelOnFewHosts {
        /// In which group; empty when there is one.
        group: String,
        /// Which.
        level: String,
        /// On how many.
        hosts: usize,
        /// Of how many.
        of: usize,
    },
    /// A level gave figures in some sittings of its hosts alone, so that its ratio to the default is of other
    /// sittings than those of other levels.
    LevelInFewSittings {
        /// In which group; empty when there is one.
        group: String,
        /// Which.
        level: String,
        /// In how many.
        sittings: usize,
        /// Of how many in which some level did.
        of: usize,
    },
    /// Parts of the plan are missing.
    PartsMissing {
        /// What a part is.
        kind: PartKind,
        /// How many.
        missing: usize,
        /// Of how many.
        of: u32,
        /// On which hosts attempts at them were lost.
        on: Vec<String>,
    },
    /// Parts count that were cut off, or are still under way.
    PartsCutOff {
        /// What a part is.
        kind: PartKind,
        /// How many.
        cut_off: usize,
        /// Of how many that count.
        of: usize,
    },
    /// Other hosts are of other classes, which do not contradict.
    OtherClasses {
        /// Hosts of the class that figures are of.
        hosts: usize,
        /// Those of the others alone.
        others: usize,
        /// Hosts of the first class that have parts in others, too.
        changed: usize,
    },
    /// Hosts of classes that are too small to say anything of others have another answer of their own.
    SmallClassAgainst {
        /// Which hosts.
        hosts: Vec<String>,
    },
    /// Classes of hosts have other verdicts.
    ClassesDiffer {
        /// How many classes there are with enough hosts to say something of others.
        classes: usize,
        /// How many there are in all.
        of: usize,
    },
    /// Storage serves more at once after a rest than in the long run, and a cell that it holds up had that
    /// in each slice.
    Credit {
        /// The cell that may be too fast by most.
        cell: Cell,
        /// How much too fast, as a share: at most. Where the credit takes longer to make up for than the
        /// other cells have their slices, it may be more at the beginning.
        share: f64,
        /// The limit that it is from.
        limit: Limit,
        /// Seconds that its slices take.
        slice_s: f64,
        /// Transactions of slices in which it would be little; `None` where no slice is that long.
        transactions: Option<u64>,
    },
    /// Other runs gave no result.
    RunsFailed {
        /// So many.
        runs: usize,
    },
}

/// A cell with runs whose warm-up did not fill the buffer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UnfilledCell {
    /// The cell.
    pub cell: Cell,
    /// So many of its runs.
    pub runs: usize,
    /// Of so many.
    pub of: usize,
}

impl UnfilledCell {
    /// Whether it misses more than when warm in at least half of its runs.
    pub fn is_mostly(&self) -> bool {
        mostly(self.runs, self.of)
    }
}

/// More than one host in so many that says the opposite, or lacks a level, makes the choice uncertain. Chosen.
const AGAINST_MOST: usize = 4;

/// Whether so many of all are at least half of them.
fn mostly(part: usize, of: usize) -> bool {
    2 * part >= of.max(1)
}

/// The share of recorded statements, and of their time, below which the others may want another
/// page size. Chosen.
const RECORDED_WANTED: f64 = 0.9;

impl Caveat {
    /// That runs lost their database, if any did.
    pub(crate) fn lost(runs: &[&Figures]) -> Option<Self> {
        let reason = |run: &&Figures| run.load.lost.clone().or(run.unchecked.clone());
        let reasons: Vec<String> = runs.iter().filter_map(reason).collect();
        Some(Self::RunsLost {
            runs: reasons.len(),
            unchecked: runs.iter().filter(|run| run.unchecked.is_some()).count(),
            of: runs.len(),
            reason: reasons.last()?.clone(),
        })
    }

    /// What it does to the verdict.
    pub fn severity(&self) -> Severity {
        match self {
            Self::DebugBuild
            | Self::NothingSent
            | Self::PageCache { .. }
            | Self::MissesNotAtDevice { .. }
            | Self::NoReference { .. }
            | Self::ReadsPerMiss { .. } => Severity::Void,
            Self::SmallData { data, memory } if data <= memory => Severity::Void,
            Self::PartsMissing { missing, of, .. } if u32::try_from(*missing) == Ok(*of) => {
                Severity::Void
            }
            // Which are lost is no accident: slow hosts fail more often.
            Self::PartsMissing { missing, of, .. } if mostly(*missing, *of as usize) => {
                Severity::Choice
            }
            Self::HostsShort { hosts, of, .. } if mostly(hosts.len(), *of) => Severity::Choice,
            Self::LevelOnFewHosts { hosts, of, .. } => match (of - hosts) * AGAINST_MOST > *of {
                true => Severity::Choice,
                false => Severity::Amount,
            },
            Self::LevelInFewSittings { sittings, of, .. } => {
                match (of - sittings) * AGAINST_MOST > *of {
                    true => Severity::Choice,
                    false => Severity::Amount,
                }
            }
            // Of many hosts some are always against it.
            Self::HostsAgainst { hosts, of, .. } => match hosts.len() * AGAINST_MOST > *of {
                true => Severity::Choice,
                false => Severity::Amount,
            },
            Self::RecordedInPart {
                statements,
                recorded,
                time,
                ..
            } => {
                let share = *statements as f64 / (*recorded).max(1) as f64;
                match share.min(time.unwrap_or(1.0)) < RECORDED_WANTED {
                    true => Severity::Choice,
                    false => Severity::Note,
                }
            }
            Self::RecordedFailed { failed, of, .. } | Self::DigestsFailed { failed, of, .. } => {
                match *failed as f64 > (1.0 - RECORDED_WANTED) * *of as f64 {
                    true => Severity::Choice,
                    false => Severity::Note,
                }
            }
            Self::Predicted
            | Self::Guessed { .. }
            | Self::Digested { .. }
            | Self::Sampled { .. }
            | Self::SampledUnevenly { .. }
            | Self::CopyUnlike { .. }
            | Self::FoundNothing { .. }
            | Self::RareScript { .. }
            | Self::SampleMissed { .. }
            | Self::FoundOther { .. }
            | Self::RecordedAgain { .. }
            | Self::PaceNotKept { .. }
            | Self::RecordedBeginning { .. }
            | Self::NeverCompared { .. }
            | Self::NoCheckpoint { .. }
            | Self::Misaligned { .. }
            | Self::ClassesDiffer { .. }
            | Self::SmallClassAgainst { .. }
            | Self::OneMachine { .. }
            | Self::SameFigures { .. }
            | Self::FewHosts { hosts: ..HOSTS_MIN }
            | Self::Credit { .. }
            | Self::HardlyMerged { .. }
            | Self::SittingsApart { .. }
            | Self::RatioMoved { .. }
            | Self::Uneven {
                is_reverse: true, ..
            }
            | Self::TimedBeside { decides: true, .. }
            | Self::MissesRose { apart: true, .. }
            | Self::StillWarming { apart: true, .. } => Severity::Choice,
            Self::Disturbed(Disturbance {
                cause,
                runs,
                of,
                worst,
            }) => {
                // Swapping is in pages: any that counts may have been the cache.
                let is_much = *cause == Cause::Swapping || *worst >= OTHER_BALANCE;
                match is_much && mostly(*runs, *of) {
                    true => Severity::Choice,
                    false => Severity::Amount,
                }
            }
            // Large pages fill a cache sooner, so one cell is off where others are not.
            Self::BufferNotFilled { cells, .. } if cells.iter().any(UnfilledCell::is_mostly) => {
                Severity::Choice
            }
            Self::Screened {
                slow,
                foreign_traffic,
                of,
            } if mostly(slow + foreign_traffic, *of) => Severity::Choice,
            Self::MachineChanged { .. }
            | Self::NotRecorded { .. }
            | Self::BufferNotFilled { .. }
            | Self::StillWarming { .. }
            | Self::MissesRose { .. }
            | Self::Uneven { .. }
            | Self::PaceChanged { .. }
            | Self::ReplacedPolicy { .. }
            | Self::SharedBlocks
            | Self::SmallData { .. }
            | Self::RunsLost { .. }
            | Self::DoNotFit { .. }
            | Self::FewHosts { .. }
            | Self::HostsShort { .. }
            | Self::PartsMissing { .. }
            | Self::PartsCutOff { .. }
            | Self::RunsFailed { .. } => Severity::Amount,
            Self::Screened { .. }
            | Self::NoDeviceCounters
            | Self::PageBelowBlock { .. }
            | Self::TimedBeside { .. }
            | Self::Grows { .. }
            | Self::Young { .. }
            | Self::InPart { .. }
            | Self::OverBudget(_)
            | Self::OtherClasses { .. }
            | Self::NotPredicted { .. } => Severity::Note,
        }
    }
}

/// The worst first; those that are as bad stay in their order.
pub(crate) fn sort(caveats: &mut [Caveat]) {
    caveats.sort_by_key(|caveat| std::cmp::Reverse(caveat.severity()));
}

/// A caveat as JSON has it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Rated<'a> {
    #[serde(flatten)]
    caveat: &'a Caveat,
    severity: Severity,
}

/// Caveats with their severity.
///
/// # Errors
/// The serializer's.
pub(crate) fn with_severity<S: Serializer>(
    caveats: &[Caveat],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(caveats.iter().map(|caveat| Rated {
        caveat,
        severity: caveat.severity(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell() -> Cell {
        let kind = octavo_database::Registry::standard().default_kind();
        let spec = octavo_database::DatabaseSpec::new(kind, Vec::new()).unwrap();
        let database = crate::plan::TestedDatabase::new(&spec).unwrap();
        let plan = crate::advise::plan(database, "ycsb-a".parse().unwrap()).unwrap();
        plan.cells().remove(0)
    }

    fn others(runs: usize, of: usize, worst: f64) -> Caveat {
        Caveat::Disturbed(Disturbance {
            cause: Cause::OtherPrograms,
            runs,
            of,
            worst,
        })
    }

    #[test]
    fn the_worst_come_first() {
        let screened = |slow, of| Caveat::Screened {
            slow,
            foreign_traffic: 0,
            of,
        };
        let mut all = vec![
            Caveat::NoDeviceCounters,
            screened(7, 57),
            Caveat::RunsFailed { runs: 1 },
            others(10, 10, 0.7),
            Caveat::SharedBlocks,
            Caveat::PageCache { runs: 4, of: 12 },
            screened(32, 57),
        ];
        sort(&mut all);
        assert_eq!(
            all,
            [
                Caveat::PageCache { runs: 4, of: 12 },
                others(10, 10, 0.7),
                screened(32, 57),
                Caveat::RunsFailed { runs: 1 },
                Caveat::SharedBlocks,
                Caveat::NoDeviceCounters,
                screened(7, 57),
            ]
        );
    }

    #[test]
    fn what_most_runs_meet_may_change_the_choice() {
        assert_eq!(others(1, 10, 0.7).severity(), Severity::Amount);
        assert_eq!(others(10, 10, 0.11).severity(), Severity::Amount);
        assert_eq!(others(5, 10, 0.25).severity(), Severity::Choice);
        let swapped = Caveat::Disturbed(Disturbance {
            cause: Cause::Swapping,
            runs: 1,
            of: 1,
            worst: 257.0,
        });
        assert_eq!(swapped.severity(), Severity::Choice);
        // One cell of five, in so many of its four runs.
        let unfilled = |runs| Caveat::BufferNotFilled {
            cells: vec![UnfilledCell {
                cell: cell(),
                runs,
                of: 4,
            }],
            runs,
            of: 20,
        };
        assert_eq!(unfilled(1).severity(), Severity::Amount);
        assert_eq!(unfilled(2).severity(), Severity::Choice);
        let small = |mib| Caveat::SmallData {
            data: ByteCount::mib(mib),
            memory: ByteCount::mib(32),
        };
        assert_eq!(small(32).severity(), Severity::Void);
        assert_eq!(small(33).severity(), Severity::Amount);
        let short = |hosts: usize| Caveat::HostsShort {
            hosts: vec!["h".into(); hosts],
            of: 5,
            wanted: 8,
        };
        assert_eq!(short(2).severity(), Severity::Amount);
        assert_eq!(short(3).severity(), Severity::Choice);
        let missing = |missing| Caveat::PartsMissing {
            kind: PartKind::Sitting,
            missing,
            of: 3,
            on: Vec::new(),
        };
        assert_eq!(missing(1).severity(), Severity::Amount);
        assert_eq!(missing(2).severity(), Severity::Choice);
        assert_eq!(missing(3).severity(), Severity::Void);
    }
}
