//! The order of the work: calibrating, then sittings until there is enough,
//! and clearing up.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    time::Duration,
};

use jiff::Timestamp;
use octavo_device::profile::Profile;

use super::{
    session::Session,
    settings::CampaignSettings,
    warm_up::{WarmUp, WarmUpEnd},
};
use crate::{
    budget,
    causes::with_causes,
    error::CampaignError,
    executor::{Executor, Sitting},
    findings::Findings,
    inputs::Input,
    lockstep::{
        BATCH_PASSES, Group, GroupJudgement, Horizon, Judgement, Slice, SliceKey, Unseated,
        judge_seated,
    },
    monitor::Monitor,
    plan::{Cell, Plan, SnapshotKey},
    prediction::{Expected, expect},
    record::{RunKey, RunRecord, Source, UNFINISHED},
    resolved::ResolvedPlan,
    run::RunError,
    store::{Store, StoreError},
};

/// Sittings in which a budget is spent, so that what copying and starting
/// left is not taken for the page size. Chosen.
pub const SITTINGS_WANTED: u32 = 3;

/// Share of the remaining time that further sittings may take to begin and to
/// end. Chosen.
const BEGINNING_SHARE: f64 = 0.25;

/// Share of the remaining time that the warm-up of a sitting may take: beyond
/// it measuring begins all the same. Chosen.
const WARM_UP_SHARE: f64 = 0.25;

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
        let slices = store.slices()?;
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
        let around = store.time_spent()?.saturating_sub(measured);
        let beginning = slices
            .last()
            .map_or(Duration::ZERO, |last| around / 2 / (last.key.sitting + 1));
        Ok(Self {
            settings,
            source,
            cells: settings.plan.cells(),
            first: store.next_sitting()?,
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
        executor: &mut dyn Executor,
    ) -> Result<Findings, CampaignError> {
        let result = self.work(executor);
        self.session.end(result, executor)
    }

    fn plan(&self) -> &'a Plan {
        &self.settings.plan
    }

    fn work(&mut self, executor: &mut dyn Executor) -> Result<(), CampaignError> {
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
            let turn = self.turn(executor, live)?;
            self.sit(executor, &turn)?;
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
            let resolved = ResolvedPlan::of(self.plan(), &self.settings.directory)?;
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
        judge_seated(
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
                || self.has_enough(&self.groups[number], judgement);
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
        if cells.is_empty() {
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
        let wanted = wanted.saturating_add(budget::elsewhere(wanted.mul_f64(1.1)));
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
    fn has_enough(&self, group: &Group, judgement: &Judgement) -> bool {
        let enough = |wanted| has_passes(group, &self.slices, judgement, wanted);
        self.settings.passes.is_some_and(enough)
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
        executor: &mut dyn Executor,
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
        executor: &dyn Executor,
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

    /// One sitting of some groups.
    fn sit(
        &mut self,
        executor: &mut dyn Executor,
        turn: &[(usize, Vec<usize>)],
    ) -> Result<(), CampaignError> {
        let number = self.session.store.next_sitting()?;
        let begun = self.monitor.spent();
        let cells = self.cells.clone();
        let mut records = BTreeMap::new();
        let mut seated = Vec::new();
        let mut tried = BTreeSet::new();
        let mut closing = Duration::ZERO;
        for &cell in turn.iter().flat_map(|(_, cells)| cells) {
            let mut record = RunRecord {
                source: self.source,
                key: RunKey {
                    sitting: number,
                    cell,
                },
                started_at: Timestamp::now(),
                result: Err(UNFINISHED.to_owned()),
            };
            if let Some(reason) = executor.unavailable(&cells[cell]) {
                record.result = Err(reason.to_owned());
                tried.insert(cell);
                self.session.put_runs(&[&record], &[])?;
                continue;
            }
            closing += executor.closing(&cells[cell]);
            seated.push((cell, &cells[cell]));
            records.insert(cell, record);
            tried.insert(cell);
        }
        let untried = |cell: &usize| !tried.contains(cell) && !self.left_out.contains(cell);
        let untried: Vec<usize> = (0..cells.len()).filter(untried).collect();
        self.unseated
            .extend(untried.into_iter().map(|cell| (number, cell)));
        let seed = self.plan().inputs_seed(number);
        let mut sitting = OpenSitting {
            number,
            seats: executor.sit(&seated, seed, self.monitor)?,
            open: seated.iter().map(|&(cell, _)| cell).collect(),
            records,
            kept: self.slices.len(),
            failure: None,
        };
        for &(cell, _) in &seated {
            if let Some(error) = sitting.seats.failure(cell) {
                self.fail(&mut sitting, cell, error)?;
            }
        }
        let measured = self.warm_up(&mut sitting, turn, closing).and_then(|()| {
            let spent = self.monitor.spent();
            self.beginning = spent.saturating_sub(begun);
            let until = self.plan_time(turn.len(), closing)?;
            self.measure(&mut sitting, turn, until)
        });
        if let Err(error) = measured {
            // What was measured stays, though nothing was checked.
            self.keep(&mut sitting)?;
            return Err(error);
        }
        for cell in sitting.open.clone() {
            self.leave(&mut sitting, cell)?;
        }
        for &(group, _) in turn {
            self.sittings[group] += 1;
            let mut cells = self.groups[group].cells.iter();
            if !cells.any(|&cell| self.has_slices(number, cell)) {
                self.given_up.insert(group);
            }
        }
        self.sittings_left = self.sittings_left.saturating_sub(1);
        self.session.note_time()?;
        let mut measured = self.slices.iter().map(|slice| slice.key.sitting);
        match sitting.failure {
            Some(reason) if !measured.any(|sitting| sitting >= self.first) => {
                Err(CampaignError::AllFailed(reason))
            }
            _ => Ok(()),
        }
    }

    /// Warms up each group by itself, its cells in turn.
    fn warm_up(
        &mut self,
        sitting: &mut OpenSitting<'_>,
        turn: &[(usize, Vec<usize>)],
        closing: Duration,
    ) -> Result<(), CampaignError> {
        let left = self.budget().map(|budget| {
            let left = budget.saturating_sub(self.monitor.spent() + closing);
            left.mul_f64(WARM_UP_SHARE) / turn.len().max(1) as u32
        });
        for (group, cells) in turn {
            let name = match self.plan().group_name(&self.cells[cells[0]]) {
                name if name.is_empty() => "warm up".to_owned(),
                name => format!("warm up {name}"),
            };
            let end = left.map(|left| self.monitor.spent() + left);
            let is_modeled = self.settings.prediction.is_some();
            let mut warm_up = WarmUp::new(match self.settings.slices.warm_up {
                Some(transactions) => WarmUpEnd::Transactions(transactions),
                None if is_modeled => WarmUpEnd::Full,
                None => WarmUpEnd::Level,
            });
            let open = |sitting: &OpenSitting<'_>| -> Vec<usize> {
                let open = cells.iter().filter(|cell| sitting.open.contains(cell));
                open.copied().collect()
            };
            for cell in open(sitting) {
                warm_up.expect(cell, sitting.seats.frames(cell));
            }
            while let Some(transactions) = warm_up.next() {
                if end.is_some_and(|end| self.monitor.spent() >= end) {
                    break;
                }
                self.monitor
                    .progress(&format!("{name}: {}", warm_up.progress()));
                for cell in open(sitting) {
                    self.monitor.stop_if_interrupted()?;
                    let key = SliceKey {
                        sitting: sitting.number,
                        pass: 0,
                        position: 0,
                        cell,
                    };
                    match sitting.seats.slice(key, transactions) {
                        Ok(slice) => warm_up.see(&slice),
                        Err(error @ CampaignError::Run(_)) => {
                            self.fail(sitting, cell, error)?;
                            warm_up.forget(cell);
                        }
                        Err(error) => return Err(error),
                    }
                }
            }
            let reference = self.groups[*group].cells[self.groups[*group].reference];
            if self.settings.slices.transactions.is_none()
                && self.session.store.slice_transactions()?.is_none()
                && let Some(rate) = warm_up.rate(reference)
            {
                let cell = &self.cells[reference];
                let is_server = cell.database.kind()?.is_server;
                let wanted = slice_transactions(rate, is_server, cell.clients);
                let decided = match self.settings.budget {
                    None => wanted,
                    Some(budget) => {
                        let left = budget.saturating_sub(self.monitor.spent() + closing);
                        let cells: usize = turn.iter().map(|(_, cells)| cells.len()).sum();
                        let slices = (cells * FEWEST_PASSES).max(1) as u32;
                        within(wanted, rate, left / slices, cell.clients)
                    }
                };
                self.session.store.set_slice_transactions(decided)?;
            }
            for cell in open(sitting) {
                let failed = sitting.seats.end_warm_up(cell);
                if failed > 0 {
                    let name = self.plan().cell_name(&self.cells[cell]);
                    self.monitor.note(&format!(
                        "{name}: {failed} transactions failed in the warm-up, and count nowhere"
                    ));
                }
            }
        }
        Ok(())
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
            let sittings = (1..=SITTINGS_WANTED).rev().find(affordable).unwrap_or(1);
            self.sittings_left = turns * sittings;
            let measured: Duration = self.slices.iter().map(|slice| slice.elapsed).sum();
            let horizon = left.saturating_sub(around * (self.sittings_left - 1) + closing);
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

    /// Passes until all is decided, there are enough, or the time is over.
    fn measure(
        &mut self,
        sitting: &mut OpenSitting<'_>,
        turn: &[(usize, Vec<usize>)],
        until: Option<Duration>,
    ) -> Result<(), CampaignError> {
        let decided = match self.settings.slices.transactions {
            None => self.session.store.slice_transactions()?,
            given => given,
        };
        let transactions = decided.unwrap_or(SLICE_TRANSACTIONS_MIN);
        self.session.store.set_slice_transactions(transactions)?;
        // An answer with wide intervals is better than none.
        let fewest = if self.slices.is_empty() {
            FEWEST_PASSES
        } else {
            0
        };
        for pass in 0.. {
            if (pass as usize).is_multiple_of(BATCH_PASSES) {
                self.keep(sitting)?;
                let judgement = self.judge();
                self.monitor.standings(self.plan(), &judgement);
                let live = self.live(&judgement);
                let goes_on = |cell: &usize| live.iter().any(|(_, cells)| cells.contains(cell));
                for cell in sitting.open.clone() {
                    if !goes_on(&cell) {
                        self.leave(sitting, cell)?;
                    }
                }
            }
            let over =
                pass as usize >= fewest && until.is_some_and(|until| self.monitor.spent() >= until);
            let enough = self.may_have_enough(turn) && {
                let judgement = self.judge();
                let mut groups = turn.iter().map(|&(group, _)| &self.groups[group]);
                groups.all(|group| self.has_enough(group, &judgement))
            };
            if over || enough || sitting.open.is_empty() {
                break;
            }
            let live: Vec<Vec<usize>> = turn
                .iter()
                .map(|(_, cells)| {
                    let open = cells.iter().filter(|cell| sitting.open.contains(cell));
                    open.copied().collect()
                })
                .collect();
            let order = self.plan().order(sitting.number, pass, &live);
            for (position, cell) in (0..).zip(order) {
                let key = SliceKey {
                    sitting: sitting.number,
                    pass,
                    position,
                    cell,
                };
                let slice = self
                    .monitor
                    .stop_if_interrupted()
                    .and_then(|()| sitting.seats.slice(key, transactions));
                match slice {
                    Ok(slice) => self.slices.push(slice),
                    Err(CampaignError::Run(error))
                        if error.is_lost() && self.has_slices(sitting.number, cell) =>
                    {
                        self.lose(sitting, cell, &error)?;
                    }
                    Err(error @ CampaignError::Run(_)) => self.fail(sitting, cell, error)?,
                    Err(error) => {
                        // A pass that was cut short compares nothing.
                        self.slices.retain(|slice| {
                            (slice.key.sitting, slice.key.pass) != (sitting.number, pass)
                        });
                        return Err(error);
                    }
                }
            }
        }
        self.keep(sitting)
    }

    /// Whether a cell has slices of a sitting; what it did before is its
    /// warm-up.
    fn has_slices(&self, sitting: u32, cell: usize) -> bool {
        let own = |slice: &Slice| (slice.key.sitting, slice.key.cell) == (sitting, cell);
        self.slices.iter().any(own)
    }

    /// Commits what is new.
    fn keep(&mut self, sitting: &mut OpenSitting<'_>) -> Result<(), CampaignError> {
        for &cell in &sitting.open {
            if self.has_slices(sitting.number, cell)
                && let (Some(record), Some(figures)) =
                    (sitting.records.get_mut(&cell), sitting.seats.figures(cell))
            {
                record.result = Ok(Box::new(figures));
            }
        }
        let new = &self.slices[sitting.kept..];
        let records: Vec<&RunRecord> = sitting
            .open
            .iter()
            .filter_map(|cell| sitting.records.get(cell))
            .filter(|record| record.result.is_ok())
            .collect();
        self.session.put_runs(&records, new)?;
        sitting.kept = self.slices.len();
        self.session.note_time()?;
        Ok(())
    }

    /// Stops and checks a cell. What it left has to be sound for its slices to
    /// count.
    fn leave(&mut self, sitting: &mut OpenSitting<'_>, cell: usize) -> Result<(), CampaignError> {
        let name = self.plan().cell_name(&self.cells[cell]);
        self.monitor.progress(&format!("check {name}"));
        if self.has_slices(sitting.number, cell) {
            let inputs = sitting.seats.inputs(cell)?;
            if !inputs.is_empty() {
                Input::put(&mut self.session.store, cell, &inputs)?;
            }
        }
        match sitting.seats.leave(cell) {
            Ok(figures) => {
                let conditions = &figures.conditions;
                self.session.put_conditions(&self.cells[cell], conditions)?;
                sitting.open.retain(|&open| open != cell);
                let Some(record) = sitting.records.get_mut(&cell) else {
                    return Ok(());
                };
                // One that ended before its first slice says nothing.
                if self.has_slices(sitting.number, cell) {
                    record.result = Ok(Box::new(figures));
                    self.session.put_runs(&[record], &[])?;
                }
                Ok(())
            }
            Err(error) if error.is_stop() => Err(CampaignError::Stopped),
            Err(error) => self.fail(sitting, cell, CampaignError::Run(error)),
        }
    }

    /// A cell's database was lost: the slices before count, and its rows are checked
    /// where it is still there.
    fn lose(
        &mut self,
        sitting: &mut OpenSitting<'_>,
        cell: usize,
        error: &RunError,
    ) -> Result<(), CampaignError> {
        let reason = with_causes(error);
        let mut figures = match sitting.seats.leave(cell) {
            Ok(figures) => figures,
            Err(error) if error.is_stop() => return Err(CampaignError::Stopped),
            Err(error) => return self.fail(sitting, cell, CampaignError::Run(error)),
        };
        let name = self.plan().cell_name(&self.cells[cell]);
        self.monitor.note(&format!(
            "{name} ended early: {reason}; what was measured before counts"
        ));
        let conditions = &figures.conditions;
        self.session.put_conditions(&self.cells[cell], conditions)?;
        figures.load.lost = Some(reason);
        sitting.open.retain(|&open| open != cell);
        if let Some(record) = sitting.records.get_mut(&cell) {
            record.result = Ok(Box::new(figures));
            self.session.put_runs(&[record], &[])?;
        }
        Ok(())
    }

    /// A cell gives no figures in this sitting.
    fn fail(
        &mut self,
        sitting: &mut OpenSitting<'_>,
        cell: usize,
        error: CampaignError,
    ) -> Result<(), CampaignError> {
        let CampaignError::Run(error) = error else {
            return Err(error);
        };
        let reason = with_causes(&error);
        let name = self.plan().cell_name(&self.cells[cell]);
        self.monitor
            .note(&format!("{name} gave no figures: {reason}"));
        sitting.open.retain(|&open| open != cell);
        let stays = |slice: &Slice| (slice.key.sitting, slice.key.cell) != (sitting.number, cell);
        // What is not in the store yet comes after what is.
        let kept = self.slices.iter().take(sitting.kept);
        sitting.kept = kept.filter(|slice| stays(slice)).count();
        self.slices.retain(stays);
        if let Some(record) = sitting.records.get_mut(&cell) {
            record.result = Err(reason.clone());
            self.session.put_runs(&[record], &[])?;
        }
        sitting.failure = Some(reason);
        Ok(())
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

/// A sitting under way.
struct OpenSitting<'s> {
    number: u32,
    seats: Box<dyn Sitting + 's>,
    /// Cells that go on.
    open: Vec<usize>,
    records: BTreeMap<usize, RunRecord>,
    /// How many of all slices are in the store.
    kept: usize,
    failure: Option<String>,
}

/// The fewest transactions of a slice.
const SLICE_TRANSACTIONS_MIN: u64 = 10;

/// The fewest passes of the first sitting, whatever the budget.
const FEWEST_PASSES: usize = 2 * BATCH_PASSES;

/// How many transactions take about 75 ms, or 1.5 s where processes are frozen
/// between slices: 10, 25, 50, 100, 200 and so on, and at least 10 a client.
/// Shorter slices pay more for turning from one to the next, longer ones let
/// the storage change meanwhile: 25 to 50 transactions of TPC-C on SQLite
/// compared best, and 1 s on PostgreSQL.
fn slice_transactions(a_second: f64, is_server: bool, clients: u32) -> u64 {
    let length_s = if is_server { 1.5 } else { 0.075 };
    at_least((a_second * length_s) as u64 * 3 / 4, clients)
}

/// The first step with so many transactions, and 10 a client.
fn at_least(transactions: u64, clients: u32) -> u64 {
    let fewest = transactions.max(SLICE_TRANSACTIONS_MIN * u64::from(clients));
    slice_steps().find(|&step| step >= fewest).unwrap_or(fewest)
}

fn slice_steps() -> impl Iterator<Item = u64> {
    let steps = (0..).map(|power| 25_u64.saturating_mul(1 << power.min(32)));
    [SLICE_TRANSACTIONS_MIN].into_iter().chain(steps)
}

/// At most as many transactions as take `left` at half of `a_second`, which is
/// of a moment when nothing else was done: shorter slices pay more, but the
/// budget holds.
fn within(wanted: u64, a_second: f64, left: Duration, clients: u32) -> u64 {
    let most = (left.as_secs_f64() * a_second / 2.0) as u64;
    let fitting = slice_steps().take_while(|&step| step <= most).last();
    wanted.min(at_least(fitting.unwrap_or_default(), clients))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_take_about_the_same_time_on_any_database() {
        assert_eq!(slice_transactions(666.0, false, 1), 50);
        assert_eq!(slice_transactions(420.0, false, 1), 25);
        assert_eq!(slice_transactions(20_000.0, false, 1), 1600);
        assert_eq!(slice_transactions(2_000.0, true, 4), 3200);
        // A slow disk.
        assert_eq!(slice_transactions(9.0, false, 1), 10);
        assert_eq!(slice_transactions(9.0, true, 8), 100);
    }

    #[test]
    fn slices_are_shorter_where_the_budget_has_no_room_for_the_fewest_passes() {
        // 5 cells with 8 passes in 200 s, then in 40 s and in 1 s.
        for (left_s, transactions) in [(200, 400), (40, 100), (1, 10)] {
            let left = Duration::from_secs(left_s) / 40;
            assert_eq!(within(400, 250.0, left, 1), transactions, "{left_s}");
        }
        // Never longer than they should be, nor without 10 a client.
        assert_eq!(within(50, 1e6, Duration::from_secs(60), 1), 50);
        assert_eq!(within(10, 1.0, Duration::ZERO, 1), 10);
        assert_eq!(within(400, 1.0, Duration::ZERO, 8), 100);
    }
}
