//! Several hosts: what would the next one say?
//!
//! Hosts are the blocks. Each sitting is judged by itself, with its own slices, its own screening and its
//! own cost of checkpoints: its ratios are those of its own store. Of a cell a host gives one number, the
//! mean over its sittings of the logarithm of the ratio to the reference. These numbers are a sample in the textbook's sense, and Student's
//! t says the rest, with one degree of freedom fewer than there are hosts. More passes or sittings
//! on a host make its number steadier and do not replace hosts: all batches in one pool, whose
//! neighbors hang together within a sitting, give an interval of another question.
//! `examples/hosts.rs` simulates both.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    Group, Judgement, Levels, Rules, Slice, Unseated,
    host_levels::{HOSTS_MIN, HostLevels, SittingLevels, interval, over},
    judge,
};
use crate::statistics::{
    Decision, Interval, critical_t, decision, error_of_one, mean, standard_deviation,
};

/// The fewest hosts whose figures are to be quoted: with 5 degrees of freedom Student's t is 1.3 times
/// what it is with many, with 2 it is 2.2 times, and s itself is hardly known. Chosen.
pub const HOSTS_QUOTED: usize = 6;

/// Of more hosts than this nobody can tell how many decide something. Chosen.
const MORE_MAX: usize = 100;

/// What the hosts said of a cell beside its group's reference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellOfHost {
    /// The logarithm of the ratio, by host.
    pub logs: BTreeMap<usize, f64>,
}

/// What each host said by itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostRatios {
    /// By cell; nothing of a reference.
    pub cells: BTreeMap<usize, CellOfHost>,
    /// The logarithm of the throughput a minute, by cell and host.
    pub throughputs: BTreeMap<usize, BTreeMap<usize, f64>>,
    /// The passes of each host that are not left out, all its sittings together: of its cells that took part
    /// in any, those of the one with fewest.
    pub passes: BTreeMap<usize, usize>,
}

impl HostRatios {
    /// Whether there are enough hosts for intervals over them.
    pub fn says_of_hosts(&self) -> bool {
        let hosts: BTreeSet<&usize> = self.throughputs.values().flat_map(BTreeMap::keys).collect();
        hosts.len() >= HOSTS_MIN
    }
}

impl CellOfHost {
    /// How far hosts are apart: the standard deviation of the logarithms, which for small ones is
    /// that of the ratios. `None` of fewer than two.
    pub fn deviation(&self) -> Option<f64> {
        let logs = self.all();
        (logs.len() > 1).then(|| standard_deviation(&logs))
    }

    /// Between what the ratio on one more host like these lies, at 95% for all of so many
    /// comparisons: t · s · √(1 + 1/k) around their mean. `None` of fewer than two.
    pub fn next(&self, comparisons: usize) -> Option<Interval> {
        let logs = self.all();
        let deviation = self.deviation()?;
        let count = logs.len() as f64;
        let half = critical_t(error_of_one(comparisons), count - 1.0)
            * deviation
            * (1.0 + 1.0 / count).sqrt();
        Some(Interval::of_logs(mean(&logs), half, logs.len()))
    }

    /// How many more hosts would decide it that have the same mean and are as far apart: the fewest with whom
    /// the interval over all would not be open. `None` where it is decided, of fewer than [`HOSTS_MIN`], and
    /// beyond 100 hosts.
    pub fn more(&self, comparisons: usize, margin: f64) -> Option<usize> {
        let logs = self.all();
        let deviation = self.deviation().filter(|_| logs.len() >= HOSTS_MIN)?;
        let is_decided = |hosts: &usize| {
            let of_all = interval(mean(&logs), deviation, *hosts, error_of_one(comparisons));
            decision(&of_all, margin) != Decision::Open
        };
        let hosts = (logs.len()..=MORE_MAX).find(is_decided)?;
        Some(hosts - logs.len()).filter(|more| *more > 0)
    }

    /// The hosts whose ratio is on the other side of 1 than the mean of all, by more than the margin.
    pub fn against(&self, margin: f64) -> Vec<usize> {
        let center = mean(&self.all());
        let edge = margin.ln_1p();
        let logs = self.logs.iter();
        logs.filter(|(_, log)| center.abs() > 0.0 && **log * center.signum() < -edge)
            .map(|(host, _)| *host)
            .collect()
    }

    /// The hosts on the side of 1 that has fewer of them: what keeps a cell open. Of sides with as many that
    /// which the mean is not on.
    pub fn fewer(&self) -> Vec<usize> {
        let side = |is_above: bool| -> Vec<usize> {
            let logs = self.logs.iter();
            let of_side = logs.filter(|(_, log)| **log != 0.0 && (**log > 0.0) == is_above);
            of_side.map(|(host, _)| *host).collect()
        };
        let [above, below] = [true, false].map(side);
        let is_above = match above.len().cmp(&below.len()) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => mean(&self.all()) < 0.0,
        };
        if is_above { above } else { below }
    }

    /// The host that alone keeps it open: the others decide it, and what it says lies outside of what these say of
    /// the next host, at 95% for each of them and of so many comparisons (the outlier test by externally
    /// studentized residuals with Bonferroni's bound: Cook and Weisberg, Residuals and Influence in
    /// Regression, 1982, 2.2.2). `None` where it is decided, where no host or several do that, and of
    /// fewer than [`HOSTS_MIN`] others.
    pub fn odd(&self, comparisons: usize, margin: f64) -> Option<usize> {
        let is_open = |logs: &[f64]| {
            decision(&over(logs, error_of_one(comparisons)), margin) == Decision::Open
        };
        let count = self.logs.len();
        if count <= HOSTS_MIN || !is_open(&self.all()) {
            return None;
        }
        // Whoever is farthest from the others is the lowest or the highest.
        let mut ends: Vec<(&usize, &f64)> = self.logs.iter().collect();
        ends.sort_by(|(_, one), (_, other)| one.total_cmp(other));
        ends.drain(1..count - 1);
        let is_odd = |(host, log): &(&usize, &f64)| {
            let others = Self {
                logs: self
                    .logs
                    .iter()
                    .filter(|(of, _)| of != host)
                    .map(|(of, log)| (*of, *log))
                    .collect(),
            };
            let next = others.next(comparisons.max(1) * count);
            let is_outside = next.is_some_and(|next| !(next.low..=next.high).contains(&log.exp()));
            is_outside && !is_open(&others.all())
        };
        let mut odd = ends.into_iter().filter(is_odd).map(|(host, _)| *host);
        odd.next().filter(|_| odd.next().is_none())
    }

    fn all(&self) -> Vec<f64> {
        self.logs.values().copied().collect()
    }
}

/// Has a judgement of all slices say of ratios and throughputs what the hosts say, each being one
/// of a sample. `host_of` has the host of each sitting. Answers what each of them said. With fewer
/// hosts than [`HOSTS_MIN`] the judgement stays as it is, of the sittings at hand, but for the ratio within
/// each sitting: of several hosts it is that of the sitting alone, of which the host's figure is made.
pub fn over_hosts(
    judgement: &mut Judgement,
    rules: &Rules,
    (groups, cells): (&[Group], usize),
    slices: &[Slice],
    unseated: &Unseated,
    host_of: &BTreeMap<u32, usize>,
) -> HostRatios {
    let mut own: BTreeMap<u32, (Vec<Slice>, Unseated)> = BTreeMap::new();
    for slice in slices {
        own.entry(slice.key.sitting).or_default().0.push(*slice);
    }
    for of in unseated {
        own.entry(of.0).or_default().1.insert(*of);
    }
    let mut sittings_of: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for (sitting, host) in host_of {
        sittings_of.entry(*host).or_default().push(*sitting);
    }
    let alone = sittings_of.into_iter().map(|(host, sittings)| {
        let own = sittings.iter().filter_map(|sitting| own.get(sitting));
        let judged = own.map(|(slices, unseated)| judge(rules, groups, cells, slices, unseated));
        (host, judged.filter(|judged| judged.passes > 0).collect())
    });
    let alone: Vec<(usize, Vec<Judgement>)> = alone
        .filter(|(_, sittings): &(_, Vec<_>)| !sittings.is_empty())
        .collect();
    let sittings = || alone.iter().flat_map(|(_, sittings)| sittings);
    let levels = host_levels(groups, &alone);
    let mut ratios = ratios(&levels, groups);
    let screened = sittings().flat_map(|judged| &judged.screened);
    let screened = screened.map(|of| (of.sitting, of.pass)).collect();
    ratios.passes = passes(slices, &screened, host_of);
    if alone.len() > 1 {
        let apart: Vec<&Judgement> = sittings().collect();
        take_sittings(judgement, &apart);
    }
    if alone.len() < HOSTS_MIN {
        return ratios;
    }
    judgement.levels = Levels::Hosts(levels);
    let levels = &judgement.levels;
    for (group, judged) in groups.iter().zip(&mut judgement.groups) {
        let rivals = group.cells.len().saturating_sub(1);
        let reference = group.reference_cell();
        for (&cell, candidate) in group.cells.iter().zip(&mut judged.candidates) {
            candidate.throughput = levels.throughput(cell, error_of_one(1));
            candidate.decision = None;
            candidate.ratio = None;
            candidate.likely = None;
            // Of hosts there is no order in time, and more time would not replace them. Parts measure all
            // cells to the end: one without results on a host is open on the others.
            candidate.left = None;
            candidate.autocorrelation = None;
            candidate.more = None;
            if cell == reference {
                continue;
            }
            candidate.ratio = levels.ratio(cell, reference, error_of_one(rivals));
            // What few hosts say is not decided by them; of what no host says nothing is open.
            let is_known = ratios.cells.contains_key(&cell);
            candidate.decision = match &candidate.ratio {
                Some(ratio) => Some(decision(ratio, rules.margin)),
                None => is_known.then_some(Decision::Open),
            };
            let one = levels.ratio(cell, reference, error_of_one(1));
            candidate.likely = one
                .filter(|_| candidate.decision == Some(Decision::Open))
                .map(|one| decision(&one, rules.margin))
                .filter(|likely| matches!(likely, Decision::Better | Decision::Worse));
        }
    }
    ratios
}

/// Has the ratios within sittings be those that were found apart.
fn take_sittings(judgement: &mut Judgement, apart: &[&Judgement]) {
    for (place, group) in judgement.groups.iter_mut().enumerate() {
        for (own, candidate) in group.candidates.iter_mut().enumerate() {
            let found = apart.iter().filter_map(|judged| {
                let group = judged.groups.get(place)?;
                Some(&group.candidates.get(own)?.by_sitting)
            });
            candidate.by_sitting = found.flatten().copied().collect();
            candidate.by_sitting.sort_by_key(|(sitting, _)| *sitting);
        }
    }
}

/// The passes of each host that are not left out: of its cells that took part in any, those of the one with
/// fewest.
fn passes(
    slices: &[Slice],
    screened: &BTreeSet<(u32, u32)>,
    host_of: &BTreeMap<u32, usize>,
) -> BTreeMap<usize, usize> {
    let mut by_cell: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for slice in slices {
        if let Some(&host) = host_of.get(&slice.key.sitting) {
            let of_cell = by_cell.entry((host, slice.key.cell)).or_default();
            *of_cell += usize::from(!screened.contains(&(slice.key.sitting, slice.key.pass)));
        }
    }
    let mut fewest: BTreeMap<usize, usize> = BTreeMap::new();
    for ((host, _), passes) in by_cell {
        let of_host = fewest.entry(host).or_insert(passes);
        *of_host = passes.min(*of_host);
    }
    fewest
}

/// What the hosts say, by the judgements of their sittings.
fn host_levels(groups: &[Group], alone: &[(usize, Vec<Judgement>)]) -> HostLevels {
    let hosts = alone.iter().map(|(host, sittings)| {
        let sittings = sittings.iter().map(|judged| sitting_levels(groups, judged));
        (*host, sittings.collect())
    });
    // References first.
    let references = groups.iter().map(Group::reference_cell);
    let all = references.chain(groups.iter().flat_map(|group| group.cells.iter().copied()));
    HostLevels::new(hosts.collect(), &all.collect::<Vec<usize>>())
}

/// What a sitting says of its cells, by its judgement.
fn sitting_levels(groups: &[Group], judged: &Judgement) -> SittingLevels {
    let Levels::Batches(levels) = &judged.levels else {
        return SittingLevels::default();
    };
    let level = |cell| {
        let throughput = judged.levels.throughput(cell, error_of_one(1))?;
        Some((throughput.estimate.ln(), levels.anchor(cell)?))
    };
    let groups = groups.iter().zip(&judged.groups);
    let cells = groups.flat_map(|(group, judged)| {
        let reference = group.reference_cell();
        let cells = group.cells.iter().zip(&judged.candidates);
        cells.filter_map(move |(&cell, candidate)| {
            let own = candidate.by_sitting.first().filter(|_| cell != reference);
            // Of a cell with a ratio the throughput that this ratio makes of the reference's.
            match own.and_then(|(_, own)| Some((level(reference)?, own.estimate.ln()))) {
                Some(((of_reference, anchor), own)) => Some((cell, (of_reference + own, anchor))),
                None => Some((cell, level(cell)?)),
            }
        })
    });
    SittingLevels {
        cells: cells.collect(),
    }
}

/// What each host says of each cell. Passes are not known of levels.
fn ratios(levels: &HostLevels, groups: &[Group]) -> HostRatios {
    let mut ratios = HostRatios::default();
    for group in groups {
        let reference = group.reference_cell();
        for &cell in &group.cells {
            let throughputs = levels.throughputs(cell);
            if !throughputs.is_empty() {
                ratios.throughputs.insert(cell, throughputs);
            }
            let logs = levels.by_host(&[(cell, 1.0), (reference, -1.0)]);
            if cell != reference && !logs.is_empty() {
                ratios.cells.insert(cell, CellOfHost { logs });
            }
        }
    }
    ratios
}

#[cfg(test)]
mod tests {
    use octavo_units::{ByteCount, Seed};
    use rand::RngExt;

    use super::*;
    use crate::lockstep::{
        Horizon, SessionTime,
        simulated::{Machine, QUIET, normal},
    };

    /// A cell beside its reference, on every host.
    const GROUP: &[usize] = &[0, 1];

    fn groups() -> Vec<Group> {
        vec![Group {
            cells: GROUP.to_vec(),
            reference: 0,
        }]
    }

    const RULES: Rules = Rules {
        margin: 0.03,
        drop: false,
        screen: true,
        grows_older: false,
        horizon: Horizon::Passes { passes: u32::MAX },
    };

    /// A fleet of so many hosts between whom the ratio deviates by `between`: its slices, and whose
    /// sittings they are. Each host has one to three sittings, of 16 passes.
    fn fleet(
        hosts: usize,
        effect: f64,
        between: f64,
        seed: Seed,
    ) -> (Vec<Slice>, BTreeMap<u32, usize>) {
        let mut generator = seed.generator();
        let mut slices = Vec::new();
        let mut host_of = BTreeMap::new();
        let mut sitting = 0;
        for host in 0..hosts {
            let own = effect + between * normal(&mut generator);
            for _ in 0..generator.random_range(1..=3) {
                let seed = seed.derive("sitting", u64::from(sitting));
                let mut machine = Machine::new(QUIET, &[0.0, own], seed);
                for pass in 0..16 {
                    slices.extend(machine.pass(sitting, pass, GROUP.to_vec()));
                }
                host_of.insert(sitting, host);
                sitting += 1;
            }
        }
        (slices, host_of)
    }

    fn ratio(fleet: &(Vec<Slice>, BTreeMap<u32, usize>), is_pooled: bool) -> (Interval, Decision) {
        let groups = groups();
        let (slices, host_of) = fleet;
        let seated = Unseated::new();
        let mut judgement = judge(&RULES, &groups, 2, slices, &seated);
        if !is_pooled {
            over_hosts(
                &mut judgement,
                &RULES,
                (&groups, 2),
                slices,
                &seated,
                host_of,
            );
        }
        let candidate = &judgement.groups[0].candidates[1];
        (candidate.ratio.unwrap(), candidate.decision.unwrap())
    }

    #[test]
    fn one_number_a_host_covers_what_many_hosts_would_say() {
        let covers = |hosts: usize, between: f64| {
            let trials = 100;
            let covered = (0..trials).filter(|&trial| {
                let seed = Seed::new(11)
                    .derive("fleet", trial)
                    .derive("hosts", hosts as u64);
                let (ratio, _) = ratio(&fleet(hosts, 0.02, between, seed), false);
                (ratio.low..=ratio.high).contains(&0.02f64.exp())
            });
            covered.count()
        };
        // Of 100 intervals that cover in 95%, 88 and fewer do with a probability of 0.4%.
        for (hosts, between) in [(3, 0.05), (6, 0.0), (6, 0.05)] {
            let covered = covers(hosts, between);
            assert!(covered >= 89, "{hosts} hosts, {between}: {covered}");
        }
    }

    #[test]
    fn equal_cells_hardly_ever_win_on_a_fleet() {
        let wrong = (0..100).filter(|&trial| {
            let seed = Seed::new(12).derive("fleet", trial);
            let (_, decision) = ratio(&fleet(4, 0.0, 0.02, seed), false);
            matches!(decision, Decision::Better | Decision::Worse)
        });
        assert!(wrong.count() <= 11);
    }

    fn cell(logs: &[f64]) -> CellOfHost {
        CellOfHost {
            logs: logs.iter().copied().enumerate().collect(),
        }
    }

    #[test]
    fn the_interval_of_the_next_host_is_the_textbook_one() {
        // Mean 0.1, deviation 0.1, t(0.975, 2) = 4.302653, √(1 + 1/3) = 1.154701.
        let next = cell(&[0.0, 0.1, 0.2]).next(1).unwrap();
        let half = 4.302_653 * 0.1 * 1.154_701;
        assert!((next.low.ln() - (0.1 - half)).abs() < 1e-5, "{next:?}");
        assert!((next.high.ln() - (0.1 + half)).abs() < 1e-5, "{next:?}");
        assert_eq!(cell(&[0.1]).next(1), None);
        assert!((cell(&[0.0, 0.1, 0.2]).deviation().unwrap() - 0.1).abs() < 1e-12);
    }

    #[test]
    fn as_many_hosts_are_said_to_be_missing_as_decide_it() {
        let three = cell(&[0.0, 0.05, 0.1]);
        // ±t(0.975, n - 1) · 0.05 / √n around 0.05: 0.124 with 3, 0.0796 with 4, 0.0621 with 5, 0.0525 with 6
        // and 0.0462 with 7, of which the last one alone is below 0.05.
        assert_eq!(three.more(1, 0.03), Some(4));
        // Two comparisons take longer.
        assert!(three.more(2, 0.03) > three.more(1, 0.03));
        // 4.303 · 0.01 / √3 is 0.0248.
        let level = cell(&[-0.01, 0.0, 0.01]);
        assert!(level.more(1, 0.03).is_none(), "±2.5% of 3% is decided");
        assert_eq!(cell(&[0.1, 0.1001, 0.0999]).more(1, 0.03), None);
        assert_eq!(cell(&[0.0, 0.1]).more(1, 0.03), None);
        assert_eq!(cell(&[-1.0, 0.0, 1.03]).more(1, 0.03), None);
    }

    #[test]
    fn a_host_that_alone_keeps_a_cell_open_is_found() {
        let near = [0.068, 0.069, 0.07, 0.071, 0.072];
        let with = |odd: f64| {
            let mut logs = near.to_vec();
            logs.insert(4, odd);
            cell(&logs)
        };
        assert_eq!(with(-0.5).odd(1, 0.03), Some(4));
        // It is decided with it.
        assert_eq!(with(0.07).odd(1, 0.03), None);
        // Two of them: without either it is as open.
        let two = cell(&[0.07, 0.07, 0.071, 0.069, -0.5, -0.5]);
        assert_eq!(two.odd(1, 0.03), None);
        // Hosts that are apart anyway: the lowest alone keeps it open, and is no stranger to the others.
        let apart = cell(&[0.04, 0.06, 0.1, 0.12, -0.01]);
        assert!(apart.more(1, 0.0).is_some());
        let others = cell(&[0.04, 0.06, 0.1, 0.12]);
        assert_eq!(others.more(1, 0.0), None, "the others decide it");
        assert_eq!(apart.odd(1, 0.0), None);
        // Of three hosts two would have to decide.
        assert_eq!(cell(&[0.07, 0.0701, -0.5]).odd(1, 0.03), None);
    }

    #[test]
    fn hosts_that_say_the_opposite_are_named() {
        assert_eq!(cell(&[0.2, 0.2, -0.1, -0.01]).against(0.03), [2]);
        assert_eq!(cell(&[-0.2, -0.2, 0.1]).against(0.03), [2]);
        assert_eq!(cell(&[0.2, 0.1]).against(0.03), [] as [usize; 0]);
        // Where a cell is open, small ratios count. Of equal sides it is the one that the mean is not on.
        assert_eq!(cell(&[0.2, 0.2, -0.1, -0.01]).fewer(), [2, 3]);
        assert_eq!(cell(&[-0.2, -0.2, 0.1, 0.01]).fewer(), [2, 3]);
        // One slow host pulls the mean of five that are faster below 1: it is the one.
        assert_eq!(cell(&[0.07, 0.07, 0.07, 0.07, -0.5, 0.07]).fewer(), [4]);
    }

    /// The ratio in a sitting as that one's own store has it.
    fn alone(slices: &[Slice], sitting: u32) -> Interval {
        let own = slices.iter().filter(|slice| slice.key.sitting == sitting);
        let own: Vec<Slice> = own.copied().collect();
        let judged = judge(&RULES, &groups(), 2, &own, &Unseated::new());
        judged.groups[0].candidates[1].by_sitting[0].1
    }

    #[test]
    fn ratios_of_sittings_are_those_of_their_own_stores_and_make_the_figure_of_their_host() {
        for hosts in [2, 4] {
            let (mut slices, host_of) = fleet(hosts, 0.1, 0.03, Seed::new(8));
            // Checkpoints cost other times on each host, and are not in every sitting.
            for slice in &mut slices {
                let sitting = slice.key.sitting;
                slice.log_bytes = ByteCount::new(1000 * (1 + slice.key.cell as u64));
                let share = match slice.key.pass % 4 {
                    0 => 0.1 * f64::from(sitting % 3),
                    _ => 0.0,
                };
                slice.spent = Some(SessionTime {
                    checkpoint: slice.elapsed.mul_f64(share),
                    ..SessionTime::default()
                });
            }
            let seated = Unseated::new();
            let (groups, mut judgement) = (groups(), judge(&RULES, &groups(), 2, &slices, &seated));
            let pooled = judgement.groups[0].candidates[1].by_sitting.clone();
            let of_plan = (&*groups, 2);
            let ratios = over_hosts(&mut judgement, &RULES, of_plan, &slices, &seated, &host_of);
            let by_sitting = &judgement.groups[0].candidates[1].by_sitting;
            assert_ne!(*by_sitting, pooled);
            assert_eq!(by_sitting.len(), host_of.len());
            for (sitting, ratio) in by_sitting {
                assert_eq!(*ratio, alone(&slices, *sitting), "sitting {sitting}");
            }
            for (host, log) in &ratios.cells[&1].logs {
                let own = by_sitting.iter().filter(|(of, _)| host_of[of] == *host);
                let own: Vec<f64> = own.map(|(_, ratio)| ratio.estimate.ln()).collect();
                assert!((mean(&own) - log).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn what_two_of_four_hosts_say_is_open_and_what_none_says_is_not_measured() {
        let (mut slices, host_of) = fleet(4, 0.1, 0.0, Seed::new(5));
        let of = |slices: &[Slice]| {
            let mut judgement = judge(&RULES, &groups(), 2, slices, &Unseated::new());
            let of_plan = (&*groups(), 2);
            over_hosts(
                &mut judgement,
                &RULES,
                of_plan,
                slices,
                &Unseated::new(),
                &host_of,
            );
            let candidate = &judgement.groups[0].candidates[1];
            (candidate.ratio, candidate.decision)
        };
        slices.retain(|of| of.key.cell == 0 || host_of[&of.key.sitting] < 2);
        assert_eq!(of(&slices), (None, Some(Decision::Open)));
        slices.retain(|of| of.key.cell == 0);
        assert_eq!(of(&slices), (None, None));
    }

    #[test]
    fn levels_are_compared_on_the_hosts_that_have_both() {
        // The second and the third cell gain more on each further host, and the third is 5% ahead of the
        // second on every one; it failed on the last three, where both gain most.
        let groups = vec![Group {
            cells: vec![0, 1, 2],
            reference: 0,
        }];
        let mut slices = Vec::new();
        for host in 0..6 {
            let own = 0.1 * f64::from(host);
            let cells = [0.0, own, own + 0.05];
            let mut machine = Machine::new(QUIET, &cells, Seed::new(u64::from(host)));
            let measured = if host < 3 { 0..3 } else { 0..2 };
            for pass in 0..32 {
                slices.extend(machine.pass(host, pass, measured.clone().collect()));
            }
        }
        let host_of = (0..6).map(|host| (host, host as usize)).collect();
        let seated = Unseated::new();
        let mut judgement = judge(&RULES, &groups, 3, &slices, &seated);
        let of_plan = (&*groups, 3);
        let ratios = over_hosts(&mut judgement, &RULES, of_plan, &slices, &seated, &host_of);
        let direct = judgement.levels.ratio(2, 1, error_of_one(1)).unwrap();
        assert_eq!(direct.batches, 3);
        let of_host = |host: usize| ratios.cells[&2].logs[&host] - ratios.cells[&1].logs[&host];
        let within = mean(&[0, 1, 2].map(of_host));
        assert!((direct.estimate.ln() - within).abs() < 1e-12);
        assert!((within - 0.05).abs() < 0.02, "{within}");
        // The quotient of both ratios to the first cell is of other hosts.
        let both = [1, 2].map(|cell| judgement.groups[0].candidates[cell].ratio.unwrap());
        assert_eq!(both.map(|ratio| ratio.batches), [6, 3]);
        assert!(both[1].estimate < both[0].estimate);
        let itself = judgement.levels.ratio(2, 2, error_of_one(1)).unwrap();
        assert_eq!((itself.low, itself.high), (1.0, 1.0));
    }

    /// Levels of six hosts with two sittings each, whose cells gain `effects` of host and sitting, without those
    /// that `is_missing` says.
    fn levels_of(
        cells: usize,
        effect: impl Fn(u32, usize) -> f64,
        is_missing: impl Fn(u32, usize) -> bool,
    ) -> (Judgement, HostRatios) {
        let groups = vec![Group {
            cells: (0..cells).collect(),
            reference: 0,
        }];
        let mut slices = Vec::new();
        for sitting in 0..12 {
            let effects: Vec<f64> = (0..cells).map(|cell| effect(sitting, cell)).collect();
            let mut machine = Machine::new(QUIET, &effects, Seed::new(u64::from(sitting)));
            let there = (0..cells).filter(|&cell| !is_missing(sitting, cell));
            let there: Vec<usize> = there.collect();
            for pass in 0..24 {
                slices.extend(machine.pass(sitting, pass, there.clone()));
            }
        }
        let host_of = (0..12)
            .map(|sitting| (sitting, sitting as usize / 2))
            .collect();
        let seated = Unseated::new();
        let mut judgement = judge(&RULES, &groups, cells, &slices, &seated);
        let of_plan = (&*groups, cells);
        let ratios = over_hosts(&mut judgement, &RULES, of_plan, &slices, &seated, &host_of);
        (judgement, ratios)
    }

    #[test]
    fn levels_are_compared_in_the_sittings_that_have_both() {
        // In second sittings all are faster beside the reference, and the third cell failed: it is 3% ahead of the
        // second one wherever both are.
        let effect = |sitting: u32, cell: usize| match cell {
            0 => 0.0,
            cell => 0.1 * f64::from(sitting % 2) + 0.03 * (cell - 1) as f64,
        };
        let (judgement, _) = levels_of(3, effect, |sitting, cell| sitting % 2 == 1 && cell == 2);
        let direct = judgement.levels.ratio(2, 1, error_of_one(1)).unwrap();
        assert_eq!(direct.batches, 6);
        assert!((direct.estimate.ln() - 0.03).abs() < 0.015, "{direct:?}");
    }

    #[test]
    fn levels_are_compared_where_the_reference_failed() {
        let effect = |_, cell: usize| 0.05 * cell as f64;
        let (judgement, ratios) = levels_of(3, effect, |sitting, cell| sitting > 3 && cell == 0);
        let candidates = &judgement.groups[0].candidates;
        // Two hosts have the reference.
        assert_eq!(candidates[2].ratio, None);
        assert_eq!(ratios.cells[&2].logs.len(), 2);
        let direct = judgement.levels.ratio(2, 1, error_of_one(1)).unwrap();
        assert_eq!(direct.batches, 6);
        assert!((direct.estimate.ln() - 0.05).abs() < 0.02, "{direct:?}");
    }

    #[test]
    fn throughputs_of_a_level_that_some_hosts_lack_compare_as_its_ratio_does() {
        // The last four sittings, where the second cell failed, are four times as slow.
        let effect = |sitting: u32, cell: usize| {
            let own = if sitting > 7 { -1.4 } else { 0.0 };
            own + 0.05 * cell as f64
        };
        let (judgement, _) = levels_of(2, effect, |sitting, cell| sitting > 7 && cell == 1);
        let [reference, own] = [0, 1].map(|cell| judgement.groups[0].candidates[cell].clone());
        let ratio = own.ratio.unwrap();
        let [reference, own] = [reference, own].map(|of| of.throughput.unwrap());
        assert_eq!((ratio.batches, own.batches, reference.batches), (4, 4, 6));
        let quotient = own.estimate / reference.estimate;
        assert!(
            (quotient / ratio.estimate - 1.0).abs() < 1e-9,
            "{quotient} {ratio:?}"
        );
        // It is as uncertain as that of all hosts, which are far apart.
        assert!(own.high / own.low > reference.high / reference.low);
    }

    #[test]
    fn two_hosts_leave_the_answer_of_the_sittings_at_hand() {
        let fleet = fleet(2, 0.1, 0.0, Seed::new(3));
        assert_eq!(ratio(&fleet, false), ratio(&fleet, true));
    }

    #[test]
    fn an_interval_over_hosts_is_students_over_their_means() {
        let (slices, host_of) = fleet(5, 0.1, 0.03, Seed::new(4));
        let groups = groups();
        let seated = Unseated::new();
        let mut judgement = judge(&RULES, &groups, 2, &slices, &seated);
        let of_plan = (&*groups, 2);
        let ratios = over_hosts(&mut judgement, &RULES, of_plan, &slices, &seated, &host_of);
        // By hand, from the slices of each sitting.
        let logs: Vec<f64> = (0..5)
            .map(|host| {
                let own = host_of.iter().filter(|(_, of)| **of == host);
                let by_sitting: Vec<f64> = own
                    .map(|(sitting, _)| alone(&slices, *sitting).estimate.ln())
                    .collect();
                mean(&by_sitting)
            })
            .collect();
        let half = 2.776_445 * standard_deviation(&logs) / 5f64.sqrt();
        let ratio = judgement.groups[0].candidates[1].ratio.unwrap();
        assert!((ratio.estimate.ln() - mean(&logs)).abs() < 1e-12);
        assert!((ratio.low.ln() - (mean(&logs) - half)).abs() < 1e-5);
        assert_eq!(ratio.batches, 5);
        assert_eq!(ratios.cells[&1].logs.len(), 5);
        // The throughput of a cell over another's is that ratio, wherever it is said.
        let both = [0, 1].map(|cell| judgement.groups[0].candidates[cell].throughput.unwrap());
        let quotient = both[1].estimate / both[0].estimate;
        assert!((quotient - ratio.estimate).abs() < 1e-9);
        for host in 0..5 {
            let between = ratios.throughputs[&1][&host] - ratios.throughputs[&0][&host];
            assert!((between - ratios.cells[&1].logs[&host]).abs() < 1e-12);
        }
    }
}
