//! The order of the work: calibrating, then sittings until there is enough,
//! and clearing up.

mod open;
mod slice_length;

use std::{
    collections::{BTreeSet, HashSet},
    time::Duration,
};

use octavo_device::profile::Profile;

use super::{session::Session, settings::CampaignSettings};
use crate::{
    budget,
    error::CampaignError,
    executor::SittingExecutor,
    findings::Findings,
    lockstep::{self, Group, GroupJudgement, Horizon, Judgement, Slice, Unseated},
    monitor::Monitor,
    plan::{Cell, Plan, SnapshotKey},
    prediction::{Expected, expect},
    record::Source,
    resolved::ResolvedPlan,
    store::{Store, StoreError},
};

/// Sittings in which a budget is spent, so that what copying and starting
/// left is not taken for the page size. Chosen.
pub const SITTINGS_WANTED: u32 = 3;

/// Share of the remaining time that further sittings may take to begin and to
/// end. Chosen.
const BEGINNING_SHARE: f64 = 0.25;

/// A session in which cells are compared in lockstep.
pub(super) struct Campaign<'a> {
    settings: &'a CampaignSettings,
    source: Source,
    session: Session<'a>,
    cells: Vec<Cell>,
    groups: Vec<Group>,
    /// The first sitting of this session.
    first: u32,
    monitor: &'a Monitor<'a>,
    /// All slices so far, in order.
    slices: Vec<Slice>,
    /// Over what the error is spent; `None` until that is known.
    horizon: Option<Horizon>,
    /// In how many sittings each group was.
    sittings: Vec<u32>,
    /// Groups that gave nothing in a sitting of this session.
    given_up: BTreeSet<usize>,
    /// Cells that are not measured: they are predicted to be slow.
    left_out: BTreeSet<usize>,
    /// Cells that took no part in sittings, those that are left out aside.
    unseated: Unseated,
    /// Sittings that there will be in this session, the one under way
    /// included; 0 until that is decided.
    sittings_left: u32,
    /// What beginning a sitting takes: copies, starts and warm-up.
    beginning: Duration,
    /// What the slices of the last sitting took, if it ended where the recording did.
    recorded: Option<Duration>,
    /// What is kept of the budget for what comes after.
    kept: Duration,
}

impl<'a> Campaign<'a> {
    /// Begins a session of the experiment in `store`.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub(super) fn new(
        settings: &'a CampaignSettings,
        store: Store,
        source: Source,
        monitor: &'a Monitor<'a>,
    ) -> Result<Self, CampaignError> {
        let groups = settings.plan.groups();
        // A part is by itself, whatever others are in the same store.
        let slices = match settings.part {
            Some(_) => Vec::new(),
            None => store.slices()?,
        };
        let sittings = groups
            .iter()
            .map(|group| {
                let own = slices
                    .iter()
                    .filter(|slice| group.cells.contains(&slice.key.cell));
                let sittings: BTreeSet<u32> = own.map(|slice| slice.key.sitting).collect();
                sittings.len() as u32
            })
            .collect();
        // Of earlier sessions it is not known how much of the rest was loading.
        let measured: Duration = slices.iter().map(|slice| slice.elapsed).sum();
        let around = match settings.part {
            Some(_) => Duration::ZERO,
            None => store.time_spent()?.saturating_sub(measured),
        };
        let beginning = slices
            .last()
            .map_or(Duration::ZERO, |last| around / 2 / (last.key.sitting + 1));
        Ok(Self {
            settings,
            source,
            cells: settings.plan.cells(),
            first: match &settings.part {
                Some(part) => part.number,
                None => store.next_sitting()?,
            },
            horizon: settings.passes.map(|passes| Horizon::Passes { passes }),
            session: Session::begin(settings, store, monitor)?,
            monitor,
            slices,
            groups,
            sittings,
            given_up: BTreeSet::new(),
            left_out: BTreeSet::new(),
            unseated: Unseated::new(),
            sittings_left: 0,
            beginning,
            recorded: None,
            kept: Duration::ZERO,
        })
    }

    /// The same with so much of the budget kept for what comes after.
    pub(super) fn keeping(self, kept: Duration) -> Self {
        Self { kept, ..self }
    }

    /// The number of its session in the store.
    pub(super) fn session(&self) -> i64 {
        self.session.number()
    }

    /// The time in which it is to end.
    fn budget(&self) -> Option<Duration> {
        let budget = self.settings.budget?;
        Some(budget.saturating_sub(self.kept))
    }

    /// Works until there is enough, the budget is spent, or the observer wants
    /// to stop.
    ///
    /// # Errors
    /// As [`campaign`](super::campaign).
    pub(super) fn carry_out(
        mut self,
        executor: &mut dyn SittingExecutor,
    ) -> Result<Findings, CampaignError> {
        let result = self.work(executor);
        self.session.end(result, executor)
    }

    fn plan(&self) -> &'a Plan {
        &self.settings.plan
    }

    fn work(&mut self, executor: &mut dyn SittingExecutor) -> Result<(), CampaignError> {
        self.session.look_around(executor)?;
        if self.settings.predict_first {
            self.predict_first()?;
        }
        if self.horizon.is_none() {
            self.horizon = self.session.store.horizon()?;
        }
        self.unseated = Expected::unseated(&self.session.store, self.cells.len())?;
        loop {
            let live = self.live(&self.judge());
            if live.is_empty() || self.is_over() {
                return match (self.slices.is_empty(), self.settings.budget) {
                    (true, Some(budget)) if !live.is_empty() => Err(CampaignError::UsedUp {
                        budget_s: budget.as_secs(),
                    }),
                    _ => self.explain_nothing(&live),
                };
            }
            self.prepare(executor, &live)?;
            // There are figures, and loading left no time for more.
            if !self.slices.is_empty() && self.is_over() {
                return self.explain_nothing(&live);
            }
            // Without what there was no time to load.
            let due = live;
            let live = self.live(&self.judge());
            if live.is_empty() {
                return self.explain_nothing(&due);
            }
            let groups = live.len();
            let turn = self.turn(executor, live)?;
            if self.settings.part.is_some() {
                if turn.len() < groups {
                    return Err(CampaignError::Setting(format!(
                        "a sitting has all cells of a plan at the same time, and this machine has room \
                         for {} of {groups} groups: make a plan for each group",
                        turn.len()
                    )));
                }
                self.sittings_left = 1;
            }
            match self.sit(executor, &turn) {
                Err(CampaignError::UsedUp { budget_s }) if !self.slices.is_empty() => {
                    self.monitor.note(&format!(
                        "a slice of transactions was ended that took as long as the budget of {budget_s} s: \
                         the answer is of the passes before"
                    ));
                    return Ok(());
                }
                sat => sat?,
            }
            if self.settings.part.is_some() {
                return Ok(());
            }
        }
    }

    /// The number of the sitting that comes next.
    fn next_sitting(&self) -> Result<u32, StoreError> {
        match &self.settings.part {
            Some(part) => Ok(part.number),
            None => self.session.store.next_sitting(),
        }
    }

    /// Predicts the cells unless that was done before; those that are predicted to be slow
    /// stay out.
    fn predict_first(&mut self) -> Result<(), CampaignError> {
        let mut expected = Expected::all(&self.session.store)?;
        let profile = self.session.store.calibration()?;
        let profile = profile.and_then(|text| Profile::from_toml(&text).ok());
        if expected.is_empty() && self.slices.is_empty() {
            let Some(profile) = profile else {
                let reason = "the storage was not calibrated";
                Expected::keep_missing(&mut self.session.store, Some(reason))?;
                return Ok(());
            };
            let resolved = ResolvedPlan::new(self.plan(), &self.settings.directory)?;
            expect(&resolved, &profile, &mut self.session.store, self.monitor)?;
            expected = Expected::all(&self.session.store)?;
            self.session.note_time()?;
        }
        let left_out = expected.iter().filter(|(_, expected)| expected.is_left_out);
        self.left_out = left_out.map(|(cell, _)| *cell).collect();
        Ok(())
    }

    fn judge(&self) -> Judgement {
        let horizon = self.horizon.unwrap_or(Horizon::Passes { passes: u32::MAX });
        lockstep::judge(
            &self.plan().rules(horizon, self.source),
            &self.groups,
            self.cells.len(),
            &self.slices,
            &self.unseated,
        )
    }

    /// The cells that go on, by group.
    fn live(&self, judgement: &Judgement) -> Vec<(usize, Vec<usize>)> {
        let of_group = |(number, judged): (usize, &GroupJudgement)| {
            let cells: Vec<usize> = self.groups[number]
                .cells
                .iter()
                .zip(&judged.candidates)
                .filter(|(cell, candidate)| {
                    candidate.left.is_none()
                        && !self.left_out.contains(cell)
                        && !self.session.is_left_out(&self.cells[**cell])
                })
                .map(|(&cell, _)| cell)
                .collect();
            // Those that no earlier session had the time for come now.
            let is_new = |&cell: &usize| never_seated(cell, &self.slices, &self.unseated);
            let ended = cells.is_empty()
                || (judged.finished && !cells.iter().any(is_new))
                || self.given_up.contains(&number)
                || self.has_passes(&self.groups[number], judgement)
                || self.is_settled(judged);
            (!ended).then_some((number, cells))
        };
        let groups = judgement.groups.iter().enumerate();
        groups.filter_map(of_group).collect()
    }

    /// Whether the budget is used up: a sitting that is hardly begun when it
    /// has to end is worth nothing.
    fn is_over(&self) -> bool {
        match (self.settings.passes, self.budget()) {
            (None, Some(budget)) => self.monitor.spent() + self.beginning.mul_f64(1.5) >= budget,
            _ => false,
        }
    }

    /// Says so where this session measured nothing though cells are due: a budget that is too
    /// short for a sitting looks as if it did nothing.
    fn explain_nothing(&self, due: &[(usize, Vec<usize>)]) -> Result<(), CampaignError> {
        let mut sittings = self.slices.iter().map(|slice| slice.key.sitting);
        let is_measured = sittings.any(|sitting| sitting >= self.first);
        let (None, Some(budget), false) = (self.settings.passes, self.settings.budget, is_measured)
        else {
            return Ok(());
        };
        let cells: Vec<&Cell> = due
            .iter()
            .flat_map(|(_, cells)| cells)
            .map(|&cell| &self.cells[cell])
            .collect();
        if cells.is_empty() || self.settings.command.is_none() {
            return Ok(());
        }
        let known = self.session.store.snapshots()?;
        let size = known.iter().map(|made| made.size).max().unwrap_or_default();
        // The data of earlier sessions may be gone.
        let longest_s = known.iter().map(|made| made.elapsed_s).fold(0.0, f64::max);
        let due: HashSet<SnapshotKey> = cells.iter().map(|cell| cell.snapshot()).collect();
        let loads_s = due.iter().map(|key| {
            let made = known.iter().find(|made| made.key == *key);
            made.map_or(longest_s, |made| made.elapsed_s)
        });
        let loads = Duration::try_from_secs_f64(loads_s.sum()).unwrap_or_default();
        let sitting = self
            .beginning
            .mul_f64(1.5)
            .max(budget::sitting(size, cells.len()))
            .saturating_add(loads);
        let wanted = self.monitor.spent().saturating_add(sitting);
        let wanted = match self.kept.is_zero() {
            true => wanted,
            false => wanted.saturating_add(budget::elsewhere(wanted.mul_f64(1.1))),
        };
        let left = budget.saturating_sub(self.monitor.spent());
        self.monitor.note(&format!(
            "nothing more was measured: {} s are left of the budget of {} s, too little for \
             another sitting; --budget {}m would do",
            left.as_secs(),
            budget.as_secs(),
            wanted.as_secs() / 60 + 1
        ));
        Ok(())
    }

    /// Whether a group has all the passes that it is to have.
    fn has_passes(&self, group: &Group, judgement: &Judgement) -> bool {
        let enough = |wanted| has_passes(group, &self.slices, judgement, wanted);
        self.settings.passes.is_some_and(enough)
    }

    /// Whether all is known of a group that is to be, and does not change while copies grow older.
    fn is_settled(&self, judged: &GroupJudgement) -> bool {
        let Some(until) = self.settings.until else {
            return false;
        };
        let mut known = judged.candidates.iter().filter_map(|candidate| {
            let ratio = candidate.ratio?;
            Some(until.is_known(&ratio, candidate.decision) && candidate.moved.is_none())
        });
        known
            .next()
            .is_some_and(|first| first && known.all(|of| of))
    }

    /// Whether groups have all their passes if none of them is left out: which are takes longer
    /// to find out.
    fn may_have_enough(&self, turn: &[(usize, Vec<usize>)]) -> bool {
        let made = |group: &Group| passes_of(group, &self.slices).len();
        self.settings.passes.is_some_and(|wanted| {
            let mut groups = turn.iter().map(|&(group, _)| &self.groups[group]);
            groups.all(|group| made(group) >= wanted as usize)
        })
    }

    /// Gets what cells need: what others are derived from first.
    fn prepare(
        &mut self,
        executor: &mut dyn SittingExecutor,
        live: &[(usize, Vec<usize>)],
    ) -> Result<(), CampaignError> {
        let numbers = live.iter().flat_map(|(_, cells)| cells);
        let due: Vec<&Cell> = numbers.map(|&cell| &self.cells[cell]).collect();
        let missing = match self.session.prepare(executor, &due) {
            // There are figures, and no time for more.
            Err(CampaignError::UsedUp { .. }) if !self.slices.is_empty() => return Ok(()),
            prepared => prepared?,
        };
        match missing {
            Some(reason) if self.slices.is_empty() => Err(CampaignError::AllFailed(reason)),
            _ => Ok(()),
        }
    }

    /// The groups that sit next: all, or as many as fit, those first that had
    /// the fewest sittings.
    fn turn(
        &self,
        executor: &dyn SittingExecutor,
        mut live: Vec<(usize, Vec<usize>)>,
    ) -> Result<Vec<(usize, Vec<usize>)>, CampaignError> {
        live.sort_by_key(|&(group, _)| (self.sittings[group], group));
        let mut turn: Vec<(usize, Vec<usize>)> = Vec::new();
        for group in live {
            let cells: Vec<&Cell> = turn
                .iter()
                .chain([&group])
                .flat_map(|(_, cells)| cells)
                .map(|&cell| &self.cells[cell])
                .collect();
            // One alone has to fit, or its databases say that it does not.
            if turn.is_empty() || executor.fits(&cells)? {
                turn.push(group);
            }
        }
        turn.sort_by_key(|&(group, _)| group);
        Ok(turn)
    }

    /// Plans the time of this sitting and of those that may follow; when it
    /// ends, `None` where passes decide that.
    fn plan_time(
        &mut self,
        groups: usize,
        closing: Duration,
    ) -> Result<Option<Duration>, CampaignError> {
        let turns = (self.live(&self.judge()).len().div_ceil(groups.max(1)) as u32).max(1);
        if let (Some(passes), 0) = (self.settings.passes, self.sittings_left) {
            self.sittings_left = turns;
            let made = self.judge().passes as u32;
            self.horizon = Some(Horizon::Passes {
                passes: passes.saturating_mul(turns).max(made),
            });
        }
        let (None, Some(budget)) = (self.settings.passes, self.budget()) else {
            self.keep_horizon()?;
            return Ok(None);
        };
        let spent = self.monitor.spent();
        let left = budget.saturating_sub(spent);
        let around = self.beginning + closing;
        if self.sittings_left == 0 {
            let affordable =
                |sittings: &u32| around * (turns * sittings - 1) <= left.mul_f64(BEGINNING_SHARE);
            let measured: Duration = self.slices.iter().map(|slice| slice.elapsed).sum();
            let horizon = match self.recorded {
                // Each takes as long as the last one.
                Some(recorded) => {
                    let one = (around + recorded).as_secs_f64().max(f64::MIN_POSITIVE);
                    let fitting = (left.as_secs_f64() / one) as u32;
                    self.sittings_left = fitting.max(1);
                    recorded * self.sittings_left
                }
                None => {
                    let sittings = (1..=SITTINGS_WANTED).rev().find(affordable).unwrap_or(1);
                    self.sittings_left = turns * sittings;
                    left.saturating_sub(around * (self.sittings_left - 1) + closing)
                }
            };
            self.horizon = Some(Horizon::Time {
                measured: measured + horizon,
            });
        }
        self.keep_horizon()?;
        let others = self.sittings_left.saturating_sub(1);
        let own = left.saturating_sub(around * others + closing) / (others + 1);
        Ok(Some(spent + own))
    }

    fn keep_horizon(&self) -> Result<(), StoreError> {
        self.horizon
            .map_or(Ok(()), |horizon| self.session.store.set_horizon(horizon))
    }
}

/// Whether a cell was never seated, though others were.
fn never_seated(cell: usize, slices: &[Slice], unseated: &Unseated) -> bool {
    let mut slices = slices.iter();
    !slices.any(|slice| slice.key.cell == cell || !unseated.contains(&(slice.key.sitting, cell)))
}

/// Whether each cell of a group was seated.
pub(super) fn is_complete(group: &Group, slices: &[Slice], unseated: &Unseated) -> bool {
    let mut cells = group.cells.iter();
    !cells.any(|&cell| never_seated(cell, slices, unseated))
}

/// The passes of a group, by sitting and number.
fn passes_of(group: &Group, slices: &[Slice]) -> BTreeSet<(u32, u32)> {
    let of_group = |slice: &&Slice| group.cells.contains(&slice.key.cell);
    let own = slices.iter().filter(of_group);
    own.map(|slice| (slice.key.sitting, slice.key.pass))
        .collect()
}

/// Passes may be left out, so that more are needed than are wanted: at most so many times as
/// many, since a storm may not end. Chosen.
const PASSES_OVER_WANTED: usize = 2;

/// Whether a group has as many passes that count as are wanted, or more passes than are worth
/// while.
pub(super) fn has_passes(
    group: &Group,
    slices: &[Slice],
    judgement: &Judgement,
    wanted: u32,
) -> bool {
    let passes = passes_of(group, slices);
    let screened = judgement.screened.iter();
    let screened = screened.filter(|pass| passes.contains(&(pass.sitting, pass.pass)));
    let wanted = wanted as usize;
    passes.len() - screened.count() >= wanted || passes.len() >= PASSES_OVER_WANTED * wanted
}
