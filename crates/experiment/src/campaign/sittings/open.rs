//! One sitting: its cells are seated, warmed up, measured pass by pass, and leave.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;
use octavo_device::limit::Limit;

use super::{
    Campaign,
    slice_length::{at_most, beyond_credit, fewest, slice_transactions, within},
};
use crate::{
    budget::OverBudget,
    campaign::warm_up::{WarmUp, WarmUpEnd},
    causes::with_causes,
    error::CampaignError,
    executor::{Sitting, SittingExecutor},
    limits::{Asked, StorageLimits},
    lockstep::{BATCH_PASSES, Judgement, Slice, SliceKey, WarmUpBlock},
    monitor::Monitor,
    record::{RunKey, RunRecord, Source, UNFINISHED},
    run::RunError,
};

/// Share of the remaining time that the warm-up of a sitting may take: beyond
/// it measuring begins all the same. Chosen.
const WARM_UP_SHARE: f64 = 0.25;

/// Share of a recording that a warm-up may take. Chosen.
const RECORDED_WARM_UP_SHARE: u64 = 3;

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
    /// How many transactions there are before they begin again: it ends there.
    most: Option<u64>,
    /// Transactions of each cell's warm-up, of the longest one.
    warmed: u64,
    /// What each cell asked of its storage in the last block of its warm-up.
    asked: BTreeMap<usize, Asked>,
    /// Blocks of warm-ups that are not in the store.
    warm_ups: Vec<WarmUpBlock>,
}

/// The fewest passes of the first sitting, whatever the budget.
const FEWEST_PASSES: usize = 2 * BATCH_PASSES;

/// Whether a sitting is to go on instead of others that follow: a ratio moved, and copies that have
/// grown older tell more than fresh ones. Not where cells wait for another one: for their turn, or as
/// they failed in this.
fn wants_older(judgement: &Judgement, live: &[(usize, Vec<usize>)], open: &[usize]) -> bool {
    let is_young = |group: usize| judgement.groups[group].young.is_some();
    let mut cells = live.iter().flat_map(|(_, cells)| cells);
    cells.all(|cell| open.contains(cell)) && live.iter().any(|&(group, _)| is_young(group))
}

/// Has cells execute their next transactions, in this order; none after an error that would come
/// for every cell.
fn slices(
    seats: &mut dyn Sitting,
    keys: &[SliceKey],
    transactions: u64,
    monitor: &Monitor<'_>,
) -> Vec<Result<Slice, CampaignError>> {
    let mut slices = Vec::new();
    for key in keys {
        let slice = monitor.stop_if_interrupted();
        let slice = slice.and_then(|()| seats.slice(*key, transactions));
        let goes_on = matches!(slice, Ok(_) | Err(CampaignError::Run(_)));
        slices.push(slice);
        if !goes_on {
            break;
        }
    }
    slices
}

impl Campaign<'_> {
    /// One sitting of some groups.
    pub(super) fn sit(
        &mut self,
        executor: &mut dyn SittingExecutor,
        turn: &[(usize, Vec<usize>)],
    ) -> Result<(), CampaignError> {
        let number = self.next_sitting()?;
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
            most: self.recorded(turn),
            warmed: 0,
            asked: BTreeMap::new(),
            warm_ups: Vec::new(),
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
            self.measure(&mut sitting, turn, until, closing)
        });
        if let Err(error) = measured {
            // What was measured stays, though nothing was checked.
            self.keep(&mut sitting)?;
            return Err(error);
        }
        let open = sitting.open.clone();
        self.leave_all(&mut sitting, &open)?;
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

    /// How many transactions there are, if they were recorded. `None` where they begin again: they
    /// are fewer than the warm-up and the fewest passes take, or they are modeled, and another
    /// sitting would give the same again.
    fn recorded(&self, turn: &[(usize, Vec<usize>)]) -> Option<u64> {
        if self.source == Source::Predicted {
            return None;
        }
        let all = self.plan().own.as_ref()?.transactions()?;
        let clients = turn.iter().flat_map(|(_, cells)| cells);
        let clients = clients.map(|&cell| self.cells[cell].clients).max();
        let slices = self.settings.slices;
        let warm_up = slices.warm_up.unwrap_or(all / RECORDED_WARM_UP_SHARE);
        let slice = slices.transactions.unwrap_or(fewest(clients.unwrap_or(1)));
        let wanted = slice.saturating_mul(FEWEST_PASSES as u64);
        (warm_up.saturating_add(wanted) <= all).then_some(all)
    }

    /// Warms up each group by itself, its cells in turn.
    fn warm_up(
        &mut self,
        sitting: &mut OpenSitting<'_>,
        turn: &[(usize, Vec<usize>)],
        closing: Duration,
    ) -> Result<(), CampaignError> {
        let given = self.settings.slices.warm_up;
        // Whose counts are all given has the same ones at any speed.
        let is_counted = given.is_some() && self.settings.passes.is_some();
        let budget = self.budget().filter(|_| !is_counted);
        let left = budget.map(|budget| {
            let left = budget.saturating_sub(self.monitor.spent() + closing);
            left.mul_f64(WARM_UP_SHARE / turn.len().max(1) as f64)
        });
        // Seconds that a transaction of each group's reference took.
        let mut took = Vec::new();
        for (group, cells) in turn {
            let name = match self.plan().group_name(&self.cells[cells[0]]) {
                name if name.is_empty() => "warm up".to_owned(),
                name => format!("warm up {name}"),
            };
            let end = left.map(|left| self.monitor.spent() + left);
            let mut warm_up = WarmUp::new(match given {
                Some(transactions) => WarmUpEnd::Transactions(transactions),
                None => WarmUpEnd::Level {
                    most: sitting
                        .most
                        .map_or(u64::MAX, |all| all / RECORDED_WARM_UP_SHARE),
                },
            });
            let open = |sitting: &OpenSitting<'_>| -> Vec<usize> {
                let open = cells.iter().filter(|cell| sitting.open.contains(cell));
                open.copied().collect()
            };
            if end.is_some() {
                warm_up = warm_up.limited();
            }
            for cell in open(sitting) {
                warm_up.expect(cell, sitting.seats.frames(cell));
            }
            let mut blocks = 0;
            while let Some(transactions) = warm_up.next(&|_| true) {
                if end.is_some_and(|end| self.monitor.spent() >= end) {
                    warm_up.leave_out();
                    if let Some(given) = given {
                        self.monitor.note(&format!(
                            "{name}: {} of the {given} transactions were executed, for which a warm-up \
                             takes its share of the budget: use a larger --budget for more",
                            warm_up.done()
                        ));
                    }
                    break;
                }
                self.monitor
                    .progress(&format!("{name}: {}", warm_up.progress()));
                self.monitor.stop_if_interrupted()?;
                let cells = open(sitting);
                let keys: Vec<SliceKey> = cells
                    .iter()
                    .map(|&cell| SliceKey {
                        sitting: sitting.number,
                        pass: 0,
                        position: 0,
                        cell,
                    })
                    .collect();
                let slices = slices(sitting.seats.as_mut(), &keys, transactions, self.monitor);
                for (cell, slice) in cells.into_iter().zip(slices) {
                    match slice {
                        Ok(slice) => {
                            warm_up.see(&slice);
                            let asked = sitting.seats.asked(cell);
                            sitting.asked.extend(asked.map(|asked| (cell, asked)));
                            let block = WarmUpBlock::new(blocks, transactions, &slice);
                            sitting.warm_ups.push(block);
                        }
                        Err(error @ CampaignError::Run(_)) => {
                            self.fail(sitting, cell, error)?;
                            warm_up.forget(cell);
                        }
                        Err(error) => return Err(error),
                    }
                }
                blocks += 1;
            }
            sitting.warmed = sitting.warmed.max(warm_up.done());
            let reference = self.groups[*group].cells[self.groups[*group].reference];
            took.extend(warm_up.rate(reference).map(f64::recip));
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
        if !took.is_empty() {
            let a_second = took.len() as f64 / took.iter().sum::<f64>();
            self.decide_slices(sitting, turn, a_second, closing)?;
        }
        Ok(())
    }

    /// Decides how many transactions a slice of any cell has, unless that is known, from how many
    /// there were in a second: over all groups, so that a pass takes as long as it should though one
    /// of them is much slower than another.
    fn decide_slices(
        &mut self,
        sitting: &OpenSitting<'_>,
        turn: &[(usize, Vec<usize>)],
        a_second: f64,
        closing: Duration,
    ) -> Result<(), CampaignError> {
        if self.settings.slices.transactions.is_some()
            || self.session.store.slice_transactions()?.is_some()
        {
            return Ok(());
        }
        let (mut slices, mut clients, mut is_server) = (0, 1, false);
        for &cell in turn.iter().flat_map(|(_, cells)| cells) {
            let cell = &self.cells[cell];
            slices += FEWEST_PASSES;
            clients = clients.max(cell.clients);
            is_server |= cell.database.kind()?.is_server;
        }
        let wanted = slice_transactions(a_second, is_server, clients);
        let limits = StorageLimits::all(&self.session.store)?;
        let asked = turn.iter().flat_map(|(_, cells)| cells);
        let asked: Vec<(&[Limit], Asked)> = asked
            .filter_map(|cell| {
                let limits = StorageLimits::of(&limits, &self.cells[*cell].storage);
                Some((limits, *sitting.asked.get(cell)?))
            })
            .collect();
        let left = |budget: Duration| budget.saturating_sub(self.monitor.spent() + closing);
        let left = self.settings.budget.map(left);
        let wanted = wanted.max(beyond_credit(&asked, left, clients));
        let wanted = match sitting.most {
            None => wanted,
            Some(all) => {
                let left = all.saturating_sub(sitting.warmed);
                at_most(wanted, left / FEWEST_PASSES as u64, clients)
            }
        };
        let decided = match self.settings.budget {
            None => wanted,
            Some(budget) => {
                let left = budget.saturating_sub(self.monitor.spent() + closing);
                within(
                    wanted,
                    a_second,
                    left.div_f64(slices.max(1) as f64),
                    clients,
                )
            }
        };
        Ok(self.session.store.set_slice_transactions(decided)?)
    }

    /// Passes until all is decided, there are enough, or the time is over.
    fn measure(
        &mut self,
        sitting: &mut OpenSitting<'_>,
        turn: &[(usize, Vec<usize>)],
        mut until: Option<Duration>,
        closing: Duration,
    ) -> Result<(), CampaignError> {
        let decided = match self.settings.slices.transactions {
            None => self.session.store.slice_transactions()?,
            given => given,
        };
        // No warm-up told how fast they are.
        let clients = turn.iter().flat_map(|(_, cells)| cells);
        let clients = clients.map(|&cell| self.cells[cell].clients).max();
        let transactions = decided.unwrap_or_else(|| fewest(clients.unwrap_or(1)));
        self.session.store.set_slice_transactions(transactions)?;
        // An answer with wide intervals is better than none.
        let fewest = if self.slices.is_empty() {
            FEWEST_PASSES
        } else {
            0
        };
        let begun = self.monitor.spent();
        let mut over_budget = None;
        if fewest == 0 {
            OverBudget::keep(&mut self.session.store, None)?;
        }
        for pass in 0.. {
            if (1..fewest).contains(&(pass as usize)) && over_budget.is_none() && until.is_some() {
                over_budget = self.foresee(begun, pass, fewest)?;
                if over_budget.is_some_and(|over| over.is_much()) {
                    // What was measured is kept, for a larger budget.
                    self.given_up.extend(turn.iter().map(|(group, _)| *group));
                    break;
                }
            }
            if (pass as usize).is_multiple_of(BATCH_PASSES) {
                self.keep(sitting)?;
                let judgement = self.judge();
                self.monitor.standings(self.plan(), &judgement);
                let live = self.live(&judgement);
                let is_last = until.is_none() || self.sittings_left <= 1;
                if !is_last && wants_older(&judgement, &live, &sitting.open) {
                    // All the time that is left.
                    until = self.budget().map(|budget| budget.saturating_sub(closing));
                    self.sittings_left = 1;
                }
                let goes_on = |cell: &usize| live.iter().any(|(_, cells)| cells.contains(cell));
                let mut over = sitting.open.clone();
                over.retain(|cell| !goes_on(cell));
                self.leave_all(sitting, &over)?;
            }
            let over =
                pass as usize >= fewest && until.is_some_and(|until| self.monitor.spent() >= until);
            let enough = self.may_have_enough(turn) && {
                let judgement = self.judge();
                let mut groups = turn.iter().map(|&(group, _)| &self.groups[group]);
                groups.all(|group| self.has_passes(group, &judgement))
            };
            let sent = sitting.warmed + u64::from(pass) * transactions;
            let has_ended = sitting.most.is_some_and(|all| sent + transactions > all);
            if has_ended {
                // Others follow, as long as there is time.
                self.sittings_left = 0;
                let slices = self.slices.iter();
                let own = slices.filter(|slice| slice.key.sitting == sitting.number);
                self.recorded = Some(own.map(|slice| slice.elapsed).sum());
            }
            if over || enough || has_ended || sitting.open.is_empty() {
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
            let keys: Vec<SliceKey> = (0..)
                .zip(order)
                .map(|(position, cell)| SliceKey {
                    sitting: sitting.number,
                    pass,
                    position,
                    cell,
                })
                .collect();
            let slices = slices(sitting.seats.as_mut(), &keys, transactions, self.monitor);
            for (SliceKey { cell, .. }, slice) in keys.into_iter().zip(slices) {
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
        if let Some(over) = over_budget {
            // The first of them may have been slow by chance.
            let took_s = self.monitor.spent().as_secs_f64();
            let over = Some(OverBudget { took_s, ..over });
            let over = over.filter(|over| over.took_s > over.budget_s);
            OverBudget::keep(&mut self.session.store, over.as_ref())?;
        }
        self.keep(sitting)
    }

    /// Says so where the fewest passes are going to take longer than the budget, as far as those
    /// tell that were made since measuring `begun`.
    fn foresee(
        &mut self,
        begun: Duration,
        made: u32,
        fewest: usize,
    ) -> Result<Option<OverBudget>, CampaignError> {
        let Some(budget) = self.settings.budget else {
            return Ok(None);
        };
        let so_far = self.monitor.spent().saturating_sub(begun);
        let all = so_far.mul_f64(fewest as f64 / f64::from(made));
        let took = begun.saturating_add(all);
        if took <= budget {
            return Ok(None);
        }
        let over = OverBudget {
            passes: fewest,
            budget_s: budget.as_secs_f64(),
            took_s: took.as_secs_f64(),
        };
        let next = match over.is_much() {
            true => format!(
                "it ends here, and --budget {}m would do",
                took.as_secs() / 60 + 1
            ),
            false => "it goes on until then".to_owned(),
        };
        self.monitor.note(&format!(
            "passes are slow here: the fewest that compare anything, {fewest}, take about {} s in \
             all, more than the budget of {} s: {next}",
            took.as_secs() + 1,
            budget.as_secs()
        ));
        // Who ends it before they are made finds it in the answer, too.
        OverBudget::keep(&mut self.session.store, Some(&over))?;
        Ok(Some(over))
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
        // Who is seated has a run with its first slices, or failed.
        let warm_ups = match new.is_empty() {
            true => Vec::new(),
            false => std::mem::take(&mut sitting.warm_ups),
        };
        self.session.put_sitting(&records, &warm_ups, new)?;
        sitting.kept = self.slices.len();
        self.session.note_time()?;
        Ok(())
    }

    /// Stops and checks cells.
    fn leave_all(
        &mut self,
        sitting: &mut OpenSitting<'_>,
        cells: &[usize],
    ) -> Result<(), CampaignError> {
        cells.iter().try_for_each(|&cell| self.leave(sitting, cell))
    }

    /// Stops and checks a cell. What it left has to be sound for its slices to
    /// count.
    fn leave(&mut self, sitting: &mut OpenSitting<'_>, cell: usize) -> Result<(), CampaignError> {
        let name = self.plan().cell_name(&self.cells[cell]);
        self.monitor.progress(&format!("check {name}"));
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
        self.monitor.note(&match &sitting.failure {
            Some(before) if *before == reason => {
                format!("{name} gave no figures for the same reason")
            }
            _ => format!("{name} gave no figures: {reason}"),
        });
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
