//! Looks at what the slices say, and who leaves when.

use std::{collections::BTreeSet, time::Duration};

use super::{
    Batch, Candidate, Departure, DepartureReason, Group, GroupJudgement, Horizon, Judgement, Rules,
    Screened, ScreenedPass, Slice, Young,
    batch::{Batches, PASSES, Series},
    link::levels,
    movement::Movement,
    screen::{Pass, passes},
};
use crate::statistics::{
    BatchMean, Decision, Estimate, Interval, decision, horizon::AlphaSpending, mean,
};

/// The two-sided error of all intervals of a group at all looks together.
const ERROR: f64 = 0.05;

/// Shares of the horizon at which there is a look.
const LOOKS: [f64; 11] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// Fewer batches than this have no spread to speak of.
const BATCHES_MIN: usize = 4;

/// A cell leaves that has no result in so many passes in which others of its
/// group have …
const ABSENT_PASSES: u32 = 8;

/// … or in so many sittings.
const ABSENT_SITTINGS: u32 = 2;

/// … unless it had so many batches before: it left under another horizon then,
/// and has to be looked at again.
const KNOWN_BATCHES: u32 = 2;

/// Beyond this multiple of what was measured, nobody can tell how much more is
/// needed.
const MORE_MAX: f64 = 100.0;

/// Sittings with the cells that took no part in them: nothing was tried, so nothing failed.
pub type Unseated = BTreeSet<(u32, usize)>;

/// What the slices say of each group.
///
/// The slices are in the order of sitting, pass and position, and end with a
/// pass; those of cells that are not below `cells` are not seen. Who left is
/// found by replaying: each look sees the slices until then and no others, so
/// the same slices always say the same, and more slices never change who left
/// before them.
///
/// The checkpoint time of a slice is taken for a part of its elapsed time, so
/// of several sessions it has to be that of one.
///
/// A cell that was never seated has not left, and a group is finished without it.
///
/// # Panics
/// If a group has a cell that is not below `cells`.
pub fn judge(
    rules: &Rules,
    plan_groups: &[Group],
    cells: usize,
    slices: &[Slice],
    unseated: &Unseated,
) -> Judgement {
    let mut passes = passes(slices);
    let mut groups: Vec<GroupStanding<'_>> = plan_groups.iter().map(GroupStanding::new).collect();
    // Passes until the look that finished the last group.
    let mut decided = None;
    let mut absences = vec![Absence::default(); cells];
    let mut measured = Duration::ZERO;
    let mut looks = LOOKS.iter().peekable();
    let mut share: f64 = 0.0;
    let mut looked = false;
    for (count, pass) in (1..).zip(&passes) {
        measured = measured.saturating_add(pass.measured());
        share = rules.horizon.share(measured, count);
        let mut due = false;
        while looks.next_if(|&&look| look <= share).is_some() {
            due = true;
        }
        let moment = PassEnd {
            sitting: pass.sitting,
            pass: pass.pass,
            measured,
            share,
        };
        for group in &mut groups {
            group.miss(pass, unseated, &mut absences, &moment);
        }
        looked = false;
        if due {
            let batches = Batches::divide(&passes[..count], cells, rules.screen);
            if batches.count(0) >= BATCHES_MIN {
                looked = true;
                for group in &mut groups {
                    group.look(rules, &batches, &absences, &moment);
                }
            }
        }
        let is_finished = groups.iter().all(|group| group.finished);
        decided = is_finished.then(|| decided.unwrap_or(count));
    }
    // A sitting ends some passes after the last decision: fewer than a batch. These are of no
    // ratio, so they are of no throughput either.
    let all = passes.len();
    let mut late = Vec::new();
    if let Some(decided) = decided {
        let (before, after) = passes.split_at(decided);
        let sitting = before.last().map(|pass| pass.sitting);
        if after.len() < PASSES && after.iter().all(|pass| Some(pass.sitting) == sitting) {
            late.extend(after.iter().map(|pass| ScreenedPass {
                sitting: pass.sitting,
                pass: pass.pass,
                why: Screened::Decided,
            }));
            passes.truncate(decided);
        }
    }
    let mut batches = Batches::divide(&passes, cells, rules.screen);
    batches.screened.extend(late);
    // Between looks, what the next one will ask for.
    let ahead = match looks.peek() {
        Some(&&next) if !looked => Some(next),
        _ => None,
    };
    let multiple = ahead.map_or(1.0, |next| next / share.max(1e-9));
    let mut judged: Vec<GroupJudgement> = groups
        .iter()
        .map(|group| {
            // All that come until then count.
            let more = batches.count(0) as f64 * (multiple - 1.0);
            let information = batches.count(group.from()) as f64 + more;
            let level = group.spending.level(information, ahead.unwrap_or(1.0));
            group.judgement(rules, &batches, level, measured)
        })
        .collect();
    let until_then: Vec<Vec<Option<BatchMean>>> = groups
        .iter()
        .map(|group| {
            group
                .last
                .iter()
                .map(|last| Some(last.as_ref()?.ratio.clone()))
                .collect()
        })
        .collect();
    let from: Vec<u32> = groups.iter().map(GroupStanding::from).collect();
    let levels = levels(plan_groups, &from, &until_then, &batches);
    for (group, judged) in plan_groups.iter().zip(&mut judged) {
        for (&cell, candidate) in group.cells.iter().zip(&mut judged.candidates) {
            candidate.throughput = levels.throughput(cell, ERROR);
        }
    }
    Judgement {
        passes: all,
        measured,
        groups: judged,
        screened: batches.screened,
        levels,
    }
}

impl Horizon {
    /// How far it is there, as a share.
    fn share(&self, measured: Duration, passes: usize) -> f64 {
        match self {
            Self::Time { measured: all } => measured.as_secs_f64() / all.as_secs_f64(),
            Self::Passes { passes: all } => passes as f64 / f64::from(*all),
        }
    }
}

/// The end of a pass.
struct PassEnd {
    sitting: u32,
    pass: u32,
    measured: Duration,
    share: f64,
}

impl PassEnd {
    fn left(&self, why: DepartureReason) -> Departure {
        Departure {
            sitting: self.sitting,
            pass: self.pass,
            measured: self.measured,
            why,
        }
    }
}

/// What is missing of a cell.
#[derive(Clone, Copy, Default)]
struct Absence {
    /// Passes and whole sittings without it, in a row.
    passes: u32,
    sittings: u32,
    /// The sitting of the last pass, and its passes with the cell.
    sitting: Option<u32>,
    present: u32,
    /// Batches that it had in all sittings.
    batches: u32,
}

impl Absence {
    fn see(&mut self, sitting: u32, present: bool) {
        if self.sitting != Some(sitting) {
            if self.sitting.is_some() && self.present == 0 {
                self.sittings += 1;
            }
            (self.sitting, self.present) = (Some(sitting), 0);
        }
        if present {
            (self.passes, self.sittings) = (0, 0);
            self.present += 1;
            let full = PASSES as u32;
            if self.present == 1 || (self.present > full && self.present.is_multiple_of(full)) {
                self.batches += 1;
            }
        } else {
            self.passes += 1;
        }
    }

    /// Whether it will hardly come again.
    fn is_gone(&self) -> bool {
        self.passes >= ABSENT_PASSES || self.sittings >= ABSENT_SITTINGS
    }

    fn gives_nothing(&self) -> bool {
        self.batches < KNOWN_BATCHES && self.is_gone()
    }
}

/// What an interval at a look said of a candidate.
#[derive(Clone, Copy)]
struct LookResult {
    mean: f64,
    interval: Interval,
    decision: Decision,
}

impl LookResult {
    fn new(rules: &Rules, estimate: &Estimate, level: f64) -> Self {
        let interval = estimate.interval(level);
        Self {
            mean: estimate.mean,
            interval,
            decision: decision(&interval, rules.margin),
        }
    }
}

/// What was said last of a candidate.
struct PreviousLook {
    result: LookResult,
    /// The mean of its ratio to the reference, with the batches until then.
    ratio: BatchMean,
    /// The ratio within each sitting until then.
    by_sitting: Vec<(u32, Interval)>,
    /// How it moved until then.
    moved: Option<Movement>,
    autocorrelation: Option<f64>,
    /// The cell's batches until then, and the reference's.
    batches: [Vec<Batch>; 2],
    /// The first pass of each sitting that these are of.
    from: u32,
    /// Sitting and pass of the look.
    at: (u32, u32),
}

/// A group between looks.
struct GroupStanding<'a> {
    group: &'a Group,
    spending: AlphaSpending,
    left: Vec<Option<Departure>>,
    /// Those that were seated so far.
    seated: Vec<bool>,
    /// Of those that are not measured any more.
    last: Vec<Option<PreviousLook>>,
    finished: bool,
    young: Option<Young>,
}

impl<'a> GroupStanding<'a> {
    fn new(group: &'a Group) -> Self {
        let candidates = group.cells.len();
        let rivals = candidates.saturating_sub(1).max(1);
        Self {
            group,
            spending: AlphaSpending::new(ERROR / rivals as f64),
            left: vec![None; candidates],
            seated: vec![false; candidates],
            last: (0..candidates).map(|_| None).collect(),
            finished: false,
            young: None,
        }
    }

    /// The first pass of each sitting that counts.
    fn from(&self) -> u32 {
        self.young.map_or(0, |young| young.from)
    }

    fn live_rivals(&self) -> Vec<usize> {
        (0..self.left.len())
            .filter(|&place| place != self.group.reference && self.left[place].is_none())
            .collect()
    }

    fn series(&self, batches: &Batches, place: usize, other: usize) -> Series {
        let cells = &self.group.cells;
        batches.series(cells[place], Some(cells[other]), self.from())
    }

    /// Takes the older half of all for what counts, if a ratio moves in what did so far and that half
    /// tells something of every ratio.
    fn leave_out_young(&mut self, batches: &Batches) {
        let reference = self.group.reference;
        let written = |place: usize| batches.has_written(self.group.cells[place]);
        let rivals = self.live_rivals();
        let moved = rivals.iter().filter_map(|&place| {
            let movement = self.series(batches, place, reference).movement()?;
            (written(place) || written(reference)).then_some((place, movement))
        });
        let far = |movement: &Movement| (movement.last / movement.first).ln().abs();
        let moved = moved.max_by(|(_, one), (_, other)| far(one).total_cmp(&far(other)));
        let halves = rivals.iter().filter(|&&place| self.seated[place]);
        let halves: Option<Vec<u32>> = halves
            .map(|&place| self.series(batches, place, reference).older_half())
            .collect();
        // The half of the cell with the fewest passes tells something of the others as well.
        let from = halves.and_then(|halves| halves.into_iter().min());
        let (Some((place, movement)), Some(from)) = (moved, from) else {
            return;
        };
        if from <= self.from() {
            return;
        }
        let found = Young {
            from,
            cell: self.group.cells[place],
            movement,
        };
        // What was found first: a line through later passes has other ends.
        self.young = Some(Young {
            from,
            ..self.young.unwrap_or(found)
        });
        self.spending.begin_again();
    }

    /// Notes which cells a pass has none of.
    fn miss(
        &mut self,
        pass: &Pass<'_>,
        unseated: &Unseated,
        absences: &mut [Absence],
        moment: &PassEnd,
    ) {
        let present = |cell: usize| pass.slices.iter().any(|slice| slice.key.cell == cell);
        let group = self.group;
        if !group.cells.iter().any(|&cell| present(cell)) {
            return;
        }
        let is_seated = |cell: usize| present(cell) || !unseated.contains(&(pass.sitting, cell));
        if self.finished {
            // What was decided without a cell is compared with it once it comes.
            let mut cells = group.cells.iter().zip(&self.seated);
            let is_late = cells.any(|(&cell, seated)| !seated && is_seated(cell));
            if !is_late || self.left[group.reference].is_some() {
                return;
            }
            self.finished = false;
            for place in self.live_rivals() {
                self.last[place] = None;
            }
            // It is as young as the others were.
            if self.young.take().is_some() {
                self.spending.begin_again();
            }
        }
        for (place, &cell) in group.cells.iter().enumerate() {
            if !is_seated(cell) {
                continue;
            }
            self.seated[place] = true;
            absences[cell].see(pass.sitting, present(cell));
            if self.left[place].is_none() && absences[cell].gives_nothing() {
                self.left[place] = Some(moment.left(DepartureReason::NoResult));
                // Nothing can be compared without the reference.
                self.finished |= place == self.group.reference;
            }
        }
    }

    fn look(&mut self, rules: &Rules, batches: &Batches, absences: &[Absence], moment: &PassEnd) {
        if self.finished {
            return;
        }
        if rules.drop && self.left.len() > 1 && self.live_rivals().is_empty() {
            // The last of them gave no figures.
            self.finished = true;
            return;
        }
        if rules.grows_older {
            self.leave_out_young(batches);
        }
        let from = self.from();
        let level = self.spending.look(batches.count(from) as f64, moment.share);
        let read = |place: usize, other: usize| -> Option<LookResult> {
            let estimate = self.series(batches, place, other).estimate()?;
            Some(LookResult::new(rules, &estimate, level))
        };
        let results: Vec<(usize, Option<LookResult>)> = self
            .live_rivals()
            .into_iter()
            .map(|place| (place, read(place, self.group.reference)))
            .collect();
        let leader = results
            .iter()
            .filter_map(|(place, result)| Some((*place, (*result)?)))
            .filter(|(_, result)| result.decision == Decision::Better)
            .max_by(|a, b| a.1.mean.total_cmp(&b.1.mean))
            .map(|(place, _)| place);
        let to_reference = |place: usize| self.series(batches, place, self.group.reference);
        let is_read_only = |place: usize| {
            let cells = [place, self.group.reference].map(|at| self.group.cells[at]);
            !cells.into_iter().any(|cell| batches.has_written(cell))
        };
        // Whether all that was said holds at the horizon too, if ratios go on as they do.
        let lasts = |place: usize| {
            let own = results.iter().find(|(own, _)| *own == place);
            let said = own.and_then(|(_, result)| *result);
            let later = to_reference(place).at_age(moment.share.recip().max(1.0));
            said.zip(later).is_none_or(|(said, later)| {
                is_read_only(place) || said.decision.holds_at(later, rules.margin)
            })
        };
        // More time would not help where a cell gives no more results, or where nobody changes its copy.
        let is_settled = |place: usize| {
            let is_level = to_reference(place).is_level() && lasts(place);
            absences[self.group.cells[place]].is_gone() || is_read_only(place) || is_level
        };
        let leads_for_good = leader.filter(|&place| is_settled(place));
        // The ratio that an answer stands on is measured until it is known to be level: the
        // leader's, or without one that of the nearest rival, which may have left before.
        let left = (0..self.left.len()).filter(|&place| self.left[place].is_some());
        let left = left.filter_map(|place| Some((place, self.last[place].as_ref()?.result.mean)));
        let nearest = results
            .iter()
            .filter_map(|(place, result)| Some((*place, (*result)?.mean)))
            .chain(left)
            .max_by(|one, other| one.1.total_cmp(&other.1))
            .map(|(place, _)| place)
            .filter(|&place| leader.is_none() && !is_settled(place));
        let leaving: Vec<(usize, DepartureReason)> = results
            .iter()
            .filter_map(|&(place, result)| {
                let why = match (result?.decision, leader) {
                    (Decision::Worse, _) => DepartureReason::Slower,
                    (Decision::Equivalent, _) => DepartureReason::Equal,
                    (_, Some(leader)) if leader != place => {
                        let ahead = read(place, leader)?.interval.high < 1.0 + rules.margin;
                        let is_behind = ahead && leads_for_good == Some(leader);
                        is_behind.then_some(DepartureReason::Behind { leader })?
                    }
                    _ => return None,
                };
                // Older copies may have another ratio.
                let moves = to_reference(place).movement().is_some() || !lasts(place);
                (nearest != Some(place) && !moves).then_some((place, why))
            })
            .collect();
        if rules.drop && results.iter().any(|(_, result)| result.is_some()) {
            for &(place, why) in &leaving {
                self.left[place] = Some(moment.left(why));
            }
            let live = self.live_rivals();
            let mut known = live.iter().filter(|&&place| self.seated[place]);
            self.finished = known.all(|&place| Some(place) == leads_for_good);
            for (place, result) in results {
                if self.finished || !live.contains(&place) {
                    let series = self.series(batches, place, self.group.reference);
                    self.last[place] = result.map(|result| PreviousLook {
                        result,
                        ratio: series.mean(),
                        by_sitting: by_sitting(&series),
                        moved: series.movement(),
                        autocorrelation: series.estimate().map(|of| of.autocorrelation),
                        at: (moment.sitting, moment.pass),
                        batches: [place, self.group.reference].map(|place| {
                            let own = batches.series(self.group.cells[place], None, from);
                            own.batches
                        }),
                        from,
                    });
                }
            }
        }
    }

    fn judgement(
        &self,
        rules: &Rules,
        batches: &Batches,
        level: f64,
        measured: Duration,
    ) -> GroupJudgement {
        GroupJudgement {
            candidates: (0..self.group.cells.len())
                .map(|place| self.candidate(rules, batches, place, level, measured))
                .collect(),
            finished: self.finished,
            young: self.young,
        }
    }

    fn candidate(
        &self,
        rules: &Rules,
        batches: &Batches,
        place: usize,
        level: f64,
        measured: Duration,
    ) -> Candidate {
        let cells = &self.group.cells;
        let last = self.last[place].as_ref();
        let [own, beside] = match last {
            Some(last) => last.batches.clone(),
            None => {
                let own = batches.series(cells[place], None, self.from());
                [own.batches, Vec::new()]
            }
        };
        let alone = Candidate {
            left: self.left[place],
            from: last.map_or(self.from(), |last| last.from),
            batches: own,
            reference_batches: beside,
            until: last.map(|last| last.at),
            checkpoint_cost: batches.cost(cells[place]),
            ..Candidate::default()
        };
        if place == self.group.reference {
            return alone;
        }
        let series = self.series(batches, place, self.group.reference);
        let estimate = series.estimate();
        let now = estimate.map(|estimate| LookResult::new(rules, &estimate, level));
        let said = last.map(|last| last.result).or(now);
        let decision = said.map_or(Decision::Open, |said| said.decision);
        let open = self.left[place].is_none() && decision == Decision::Open;
        let counted = batches.count(self.from()) as f64 / batches.count(0).max(1) as f64;
        let counted_s = measured.as_secs_f64() * counted;
        let young_s = measured.as_secs_f64() - counted_s;
        Candidate {
            ratio: said.map(|said| said.interval),
            decision: Some(decision),
            likely: estimate.filter(|_| open).and_then(|of| likely(rules, &of)),
            by_sitting: last.map_or_else(|| by_sitting(&series), |last| last.by_sitting.clone()),
            autocorrelation: match last {
                Some(last) => last.autocorrelation,
                None => estimate.map(|estimate| estimate.autocorrelation),
            },
            moved: last.map_or_else(|| series.movement(), |last| last.moved),
            more: estimate
                .filter(|_| open)
                .and_then(|of| more(&of, rules.margin, level, [counted_s, young_s])),
            ..alone
        }
    }
}

/// What the interval would say if nobody had looked before and there were no
/// other rivals.
fn likely(rules: &Rules, estimate: &Estimate) -> Option<Decision> {
    let alone = LookResult::new(rules, estimate, ERROR).decision;
    matches!(alone, Decision::Better | Decision::Worse).then_some(alone)
}

/// What each sitting says alone: its interval is of this candidate and this sitting.
fn by_sitting(series: &Series) -> Vec<(u32, Interval)> {
    series
        .sittings()
        .map(|(sitting, own)| {
            let interval = match own.estimate() {
                Some(estimate) => estimate.interval(ERROR),
                None => Interval::of_logs(mean(&own.logs), f64::INFINITY, own.logs.len()),
            };
            (sitting, interval)
        })
        .collect()
}

/// An open interval settles when it leaves 1 outside or stays within the
/// margin, whichever is nearer; its width falls with the root of time.
///
/// Fresh copies have to grow as old again, in about the time that does not count.
fn more(
    estimate: &Estimate,
    margin: f64,
    level: f64,
    [counted_s, young_s]: [f64; 2],
) -> Option<Duration> {
    let distance = estimate.mean.abs();
    let room = distance.max(margin.ln_1p() - distance);
    let multiple = (estimate.half_width(level) / room).powi(2) - 1.0;
    (multiple <= MORE_MAX)
        .then(|| Duration::try_from_secs_f64(multiple.max(0.0) * counted_s + young_s).ok())
        .flatten()
}
