//! What to do, from what the batches say: which level of what is compared in
//! each group, what a smaller buffer costs and saves, and where one factor
//! changes what another is worth.

use std::{cmp::Reverse, time::Duration};

use octavo_units::{ByteCount, PageSize};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    inputs::Inputs,
    lockstep::{Candidate, DepartureReason, Group, GroupJudgement, Judgement, Levels},
    plan::{Cell, Factor, Level, Plan},
    statistics::{Decision, Interval, decision, error_of_one, leads},
};

/// What to do in one group of cells.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum Verdict {
    /// Change to this level.
    Use {
        /// What to use.
        level: Level,
        /// Its throughput over the reference's.
        ratio: Interval,
        /// Levels that are better than the reference too, and may be as good as
        /// this one.
        ties: Vec<Level>,
        /// Levels of which that is not known yet.
        open: Vec<Level>,
    },
    /// None is better than the reference by more than the margin.
    Keep {
        /// The reference.
        level: Level,
        /// Levels that make no difference.
        equivalent: Vec<Level>,
        /// Levels that are worse.
        worse: Vec<Level>,
    },
    /// There is nothing to compare: the group has no other level.
    Alone {
        /// The one that it has.
        level: Level,
    },
    /// Predicted with buffers that were not warm: what is fast then may be slow in the long run.
    Cold {
        /// The reference.
        level: Level,
        /// Levels whose buffer was not warm.
        cold: Vec<Level>,
    },
    /// Not decided yet.
    Inconclusive {
        /// Levels that may be better than the reference.
        open: Vec<Level>,
        /// The level that leads, by more than the margin.
        leader: Option<Level>,
        /// How much more measuring would settle it, in seconds within slices of
        /// all cells together, if means and spreads stay as they are; `None`
        /// when that cannot be told.
        more_s: Option<f64>,
    },
}

impl Verdict {
    /// The level that it says to use, be it another one or the same; `None` where it says none.
    pub fn advised(&self) -> Option<&Level> {
        match self {
            Self::Use { level, .. } | Self::Keep { level, .. } | Self::Alone { level } => {
                Some(level)
            }
            Self::Cold { .. } | Self::Inconclusive { .. } => None,
        }
    }
}

/// Puts what is known of a group into the plan's words.
pub(crate) fn verdict(
    plan: &Plan,
    cells: &[Cell],
    group: &Group,
    judged: &GroupJudgement,
    throughputs: &Levels,
) -> Verdict {
    let level = |place: usize| plan.level(&cells[group.cells[place]], plan.compare);
    if group.cells.len() == 1 {
        return Verdict::Alone {
            level: level(group.reference),
        };
    }
    let is_rival =
        |place: usize| place != group.reference && !cells[group.cells[place]].database.is_bound();
    let rivals = || {
        let all = judged.candidates.iter().enumerate();
        all.filter(|&(place, _)| is_rival(place))
    };
    let levels = |wanted: &dyn Fn(&Candidate) -> bool| -> Vec<Level> {
        rivals()
            .filter(|(_, candidate)| wanted(candidate))
            .map(|(place, _)| level(place))
            .collect()
    };
    let estimate = |candidate: &Candidate| candidate.ratio.map_or(0.0, |ratio| ratio.estimate);
    let is_open = |candidate: &Candidate| {
        candidate.left.is_none() && matches!(candidate.decision, None | Some(Decision::Open))
    };
    let is_mixed = |place: usize| matches!(level(place), Level::MixedSizes(_));
    let is_better = |candidate: &Candidate| candidate.decision == Some(Decision::Better);
    let rival_error = error_of_one(group.cells.len().saturating_sub(1));
    let best_of = |wanted: &dyn Fn(usize) -> bool| {
        let better = rivals().filter(|(place, candidate)| is_better(candidate) && wanted(*place));
        let better: Vec<(usize, &Candidate)> = better.collect();
        // Over hosts, ratios to the reference may be over others: those of any two are over hosts that have
        // both. Of levels that are not told apart the one that most hosts have is known best.
        let is_over_hosts = matches!(throughputs, Levels::Hosts(_));
        let rank = |place: usize, candidate: &Candidate| {
            let is_beaten_by = |other: usize| {
                let [one, own] = [other, place].map(|place| group.cells[place]);
                let ratio = throughputs.ratio(one, own, rival_error);
                ratio.is_some_and(|ratio| decision(&ratio, plan.margin) == Decision::Better)
            };
            let beaten = better
                .iter()
                .filter(|(other, _)| is_beaten_by(*other))
                .count();
            let hosts = candidate.ratio.map_or(0, |ratio| ratio.batches);
            match is_over_hosts {
                true => (Reverse(beaten), hosts),
                false => (Reverse(0), 0),
            }
        };
        let of_all = better.iter().copied();
        of_all.max_by(|(place, one), (other_place, other)| {
            let ranks = rank(*place, one).cmp(&rank(*other_place, other));
            ranks.then(estimate(one).total_cmp(&estimate(other)))
        })
    };
    let single = best_of(&|place| !is_mixed(place));
    // Sizes of tables are more to type, and have to be better than any one size.
    let is_needless = |place: usize| {
        let over_single = single.and_then(|(single, _)| {
            throughputs.ratio(group.cells[place], group.cells[single], rival_error)
        });
        let is_worth_it = |ratio: Interval| decision(&ratio, plan.margin) == Decision::Better;
        is_mixed(place) && single.is_some() && !over_single.is_some_and(is_worth_it)
    };
    let best = best_of(&|place| !is_needless(place));
    if let Some((place, best)) = best
        && let Some(ratio) = best.ratio
    {
        let is_behind = |candidate: &Candidate| {
            let why = candidate.left.map(|left| left.why);
            matches!(why, Some(DepartureReason::Behind { .. }))
        };
        let mut ties =
            levels(&|other| other.decision == Some(Decision::Better) && !is_behind(other));
        ties.retain(|tie| *tie != level(place));
        return Verdict::Use {
            level: level(place),
            ratio,
            ties,
            open: levels(&is_open),
        };
    }
    let open = levels(&is_open);
    if open.is_empty() {
        return Verdict::Keep {
            level: level(group.reference),
            equivalent: levels(&|other| other.decision == Some(Decision::Equivalent)),
            worse: levels(&|other| other.decision == Some(Decision::Worse)),
        };
    }
    let leader = rivals()
        .filter(|(_, candidate)| {
            let leads = |ratio: &Interval| leads(ratio, plan.margin);
            is_open(candidate) && candidate.ratio.as_ref().is_some_and(leads)
        })
        .max_by(|(_, one), (_, other)| estimate(one).total_cmp(&estimate(other)));
    let more: Option<Vec<Duration>> = rivals()
        .filter(|(_, candidate)| is_open(candidate))
        .map(|(_, candidate)| candidate.more)
        .collect();
    Verdict::Inconclusive {
        open,
        leader: leader.map(|(place, _)| level(place)),
        more_s: more
            .and_then(|more| more.into_iter().max())
            .map(|more| more.as_secs_f64()),
    }
}

/// How much more, or less, a level is worth where another factor has another
/// level.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Interaction {
    /// The level of what is compared.
    pub level: Level,
    /// The other factor's level.
    pub at: Level,
    /// … and the one that it is compared with, the first of the plan's list.
    pub against: Level,
    /// What else is the same in both; empty when nothing else varies.
    pub within: String,
    /// Its throughput over the reference's at `at`, over the same at
    /// `against`: 95% for all interactions of the plan (Bonferroni).
    pub ratio: Interval,
    /// What the interval says: [`Decision::Better`] and [`Decision::Worse`]
    /// are interactions that matter.
    pub decision: Decision,
}

/// All interactions between what is compared and each other factor: the ratio of the two
/// ratios that the groups say (the 2 x 2 contrast of the factorial experiment: Box, Hunter
/// and Hunter, Statistics for Experimenters, 2nd ed. 2005, ch. 5). Cells that were never open
/// together are left out.
pub(crate) fn interactions(
    plan: &Plan,
    cells: &[Cell],
    groups: &[Group],
    levels: &Levels,
    inputs: &Inputs,
) -> Vec<Interaction> {
    let mut found = Vec::new();
    for factor in plan.varied() {
        for group in groups {
            let Some(first) = first_level_of(plan, cells, groups, group, factor) else {
                continue;
            };
            for (place, &cell) in group.cells.iter().enumerate() {
                let other = first.cells[place];
                if place == group.reference
                    || place == first.reference
                    || cells[group.reference_cell()].level(plan.compare)
                        != cells[first.reference_cell()].level(plan.compare)
                {
                    continue;
                }
                let within: Vec<String> = plan
                    .varied()
                    .into_iter()
                    .filter(|&other| other != factor)
                    .map(|other| plan.level(&cells[cell], other).with_noun())
                    .collect();
                let names = (
                    plan.level(&cells[cell], plan.compare),
                    plan.level(&cells[cell], factor),
                    plan.level(&cells[other], factor),
                );
                let powers = [
                    (cell, 1.0),
                    (group.reference_cell(), -1.0),
                    (other, -1.0),
                    (first.reference_cell(), 1.0),
                ];
                found.push((names, within.join(", "), powers));
            }
        }
    }
    let error = error_of_one(found.len());
    found
        .into_iter()
        .filter_map(|((level, at, against), within, powers)| {
            let ratio = inputs.widen(levels.product(&powers, error)?, &powers, error);
            Some(Interaction {
                level,
                at,
                against,
                within,
                ratio,
                decision: decision(&ratio, plan.margin),
            })
        })
        .collect()
}

/// The group that differs from `group` in nothing but having the first level
/// of `factor`; `None` for that group itself.
fn first_level_of<'a>(
    plan: &Plan,
    cells: &[Cell],
    groups: &'a [Group],
    group: &Group,
    factor: Factor,
) -> Option<&'a Group> {
    let own = &cells[group.cells[0]];
    groups
        .iter()
        .find(|other| {
            let cell = &cells[other.cells[0]];
            plan.varied()
                .into_iter()
                .all(|varied| varied == factor || cell.level(varied) == own.level(varied))
        })
        .filter(|first| *first != group)
}

/// What one page size does with less memory.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BufferFinding {
    /// The page size.
    pub page_size: PageSize,
    /// The smallest memory of the plan.
    pub small: ByteCount,
    /// The largest.
    pub large: ByteCount,
    /// Throughput with the small over that with the large memory.
    pub small_over_large: Option<Interval>,
    /// With how much memory this page size does as much as the default does
    /// with the large one.
    pub equal_to_reference: EqualThroughput,
}

/// The memory at which a page size equals the default's throughput with the
/// largest memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "reached")]
pub enum EqualThroughput {
    /// The smallest that was measured does already.
    BelowSmallest {
        /// Its throughput over the default's with the largest memory.
        ratio: Interval,
    },
    /// About this much: the throughput between two measured memories is taken
    /// as a straight line over the logarithms of both.
    About {
        /// The memory.
        memory: ByteCount,
        /// The memory at the upper ends of the intervals; `None` where the smallest does.
        low: Option<ByteCount>,
        /// … and at the lower ends; `None` where not even the largest does.
        high: Option<ByteCount>,
    },
    /// Not even the largest that was measured does.
    AboveLargest {
        /// Its throughput over the default's with the same memory.
        ratio: Interval,
    },
    /// Not known: a run is missing, or the largest that was measured may do.
    Unknown,
}

/// Compares memories (petrov-2010's claim that a small page needs less
/// buffer). Empty unless memories and page sizes, and nothing else, vary.
pub(crate) fn buffer_findings(
    plan: &Plan,
    cells: &[Cell],
    judgement: &Judgement,
    inputs: &Inputs,
) -> Vec<BufferFinding> {
    if plan.compare != Factor::PageSize || plan.varied() != [Factor::Memory] {
        return Vec::new();
    }
    let mut memories = plan.memories.clone();
    memories.sort_unstable();
    let (small, large) = (memories[0], memories[memories.len() - 1]);
    let groups = plan.groups();
    let reference = cells[groups[0].cells[groups[0].reference]].page_size;
    let find = |page_size, memory| {
        let is_meant = |cell: &Cell| cell.page_size == page_size && cell.memory == memory;
        cells.iter().position(is_meant)
    };
    let ratio = |one: Option<usize>, other: Option<usize>, comparisons| {
        let (one, other) = (one?, other?);
        let error = error_of_one(comparisons);
        let interval = judgement.levels.ratio(one, other, error)?;
        Some(inputs.widen(interval, &[(one, 1.0), (other, -1.0)], error))
    };
    let target = find(reference, large);
    let finding = |&page_size: &PageSize| BufferFinding {
        page_size,
        small,
        large,
        small_over_large: ratio(
            find(page_size, small),
            find(page_size, large),
            plan.page_sizes.len(),
        ),
        equal_to_reference: if page_size == reference {
            EqualThroughput::About {
                memory: large,
                low: Some(large),
                high: Some(large),
            }
        } else {
            // With the same memory, it is the ratio of the group.
            let of_group = |memory: ByteCount| {
                let number = find(page_size, memory).filter(|_| memory == large)?;
                let mut all = groups.iter().zip(&judgement.groups);
                all.find_map(|(group, judged)| {
                    let place = group.cells.iter().position(|&of| of == number)?;
                    judged.candidates[place].ratio
                })
            };
            let point = |&memory: &ByteCount| {
                let single = || ratio(find(page_size, memory), target, 1);
                Some((memory, of_group(memory).or_else(single)?))
            };
            let points: Option<Vec<(ByteCount, Interval)>> = memories.iter().map(point).collect();
            points.map_or(EqualThroughput::Unknown, |points| equal(&points))
        },
    };
    plan.page_sizes.iter().map(finding).collect()
}

/// Where ratios to the reference at ascending memories first reach 1.
fn equal(points: &[(ByteCount, Interval)]) -> EqualThroughput {
    let (_, first) = points[0];
    if first.estimate >= 1.0 {
        return EqualThroughput::BelowSmallest { ratio: first };
    }
    let (_, last) = points[points.len() - 1];
    let at = |of: fn(&Interval) -> f64| {
        let line: Vec<(ByteCount, f64)> = points
            .iter()
            .map(|(memory, ratio)| (*memory, of(ratio)))
            .collect();
        crossing(&line)
    };
    match at(|ratio| ratio.estimate) {
        None if last.high >= 1.0 => EqualThroughput::Unknown,
        None => EqualThroughput::AboveLargest { ratio: last },
        Some(memory) => EqualThroughput::About {
            memory,
            low: at(|ratio| ratio.high).filter(|_| first.high < 1.0),
            high: at(|ratio| ratio.low),
        },
    }
}

/// Where the line through (ln memory, ln ratio) first reaches ratio 1; `None` where it does
/// not. The smallest memory where it begins there.
fn crossing(line: &[(ByteCount, f64)]) -> Option<ByteCount> {
    if line[0].1 >= 1.0 {
        return Some(line[0].0);
    }
    let pair = line.windows(2).find(|pair| pair[1].1 >= 1.0)?;
    let place = |(memory, ratio): (ByteCount, f64)| ((memory.get() as f64).ln(), ratio.ln());
    let ((x0, y0), (x1, y1)) = (place(pair[0]), place(pair[1]));
    // A lower end may be 0, and its logarithm without bound.
    let x = match y0.is_finite() {
        true => x0 + (x1 - x0) * -y0 / (y1 - y0),
        false => x1,
    };
    Some(ByteCount::new(x.exp().round() as u64))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        lockstep::{
            BATCH_PASSES, Horizon, Rules, Slice, Unseated, judge, over_hosts, slice::tests::slice,
        },
        plan::{MixedSizes, tests::plan},
    };

    /// Levels of cells that were measured for so many batches: throughput by page size and
    /// memory with a wobble that all cells of a batch share and a small one of their own.
    fn levels(batches: u32, own: f64, level: impl Fn(&Cell) -> f64) -> Levels {
        judged(&plan(), batches, own, level).levels
    }

    fn judged(plan: &Plan, batches: u32, own: f64, level: impl Fn(&Cell) -> f64) -> Judgement {
        let cells = plan.cells();
        let mut slices = Vec::new();
        for pass in 0..batches * BATCH_PASSES as u32 {
            let batch = pass / BATCH_PASSES as u32;
            for (number, cell) in cells.iter().enumerate() {
                let shared = 1.0 + 0.3 * f64::from(batch % 3);
                let phase = f64::from(batch * 7 + cell.page_size.get() / 512);
                let a_minute = level(cell) * shared * (own * phase.sin()).exp();
                slices.push(Slice {
                    elapsed: Duration::from_secs_f64(60.0 * 22.0 / a_minute),
                    spent: None,
                    response: None,
                    foreign_bytes: None,
                    ..slice(0, pass, number)
                });
            }
        }
        let rules = Rules {
            margin: plan.margin,
            drop: false,
            screen: false,
            grows_older: false,
            horizon: Horizon::Passes { passes: 1000 },
        };
        judge(
            &rules,
            &plan.groups(),
            cells.len(),
            &slices,
            &Unseated::new(),
        )
    }

    #[test]
    fn mixed_sizes_have_to_beat_the_best_single_one() {
        let mut plan = plan();
        let database = Arc::get_mut(&mut plan.databases[0]).unwrap();
        database.name = "rocksdb".into();
        database.options.clear();
        plan.memories.truncate(1);
        plan.mixed = vec![MixedSizes {
            others: size(4096),
            own: "stock=8K".parse().unwrap(),
        }];
        let winner = |over_single: f64| {
            let throughput = |cell: &Cell| match plan.level(cell, Factor::PageSize) {
                Level::MixedSizes(_) => 1100.0 * over_single,
                Level::PageSize(of) if of == size(8192) => 1100.0,
                _ => 1000.0,
            };
            let judged = judged(&plan, 8, 0.001, throughput);
            let (cells, groups) = (plan.cells(), plan.groups());
            let found = verdict(&plan, &cells, &groups[0], &judged.groups[0], &judged.levels);
            match found {
                Verdict::Use { level, ties, .. } => (level, ties),
                other => panic!("{other:?}"),
            }
        };
        let mixed = Level::MixedSizes(plan.mixed[0].clone());
        let single = Level::PageSize(size(8192));
        assert_eq!(winner(1.1), (mixed.clone(), vec![single.clone()]));
        // They are as good, and one size is less to type.
        assert_eq!(winner(1.02), (single, vec![mixed]));
    }

    /// What is advised on six hosts, on which levels have these ratios to the reference; `None` failed.
    fn advised_on_hosts(ratio: impl Fn(u32, u32) -> Option<f64>) -> (Level, f64, f64) {
        let mut plan = plan();
        plan.memories.truncate(1);
        let (cells, groups) = (plan.cells(), plan.groups());
        let mut slices = Vec::new();
        for host in 0..6 {
            for pass in 0..8 * BATCH_PASSES as u32 {
                for (number, cell) in cells.iter().enumerate() {
                    let Some(ratio) = ratio(cell.page_size.get(), host) else {
                        continue;
                    };
                    let noise = f64::from((pass * 7 + host * 3 + number as u32) % 5) / 500.0;
                    slices.push(Slice {
                        elapsed: Duration::from_secs_f64((1.0 + noise) / ratio),
                        spent: None,
                        response: None,
                        foreign_bytes: None,
                        ..slice(host, pass, number)
                    });
                }
            }
        }
        let rules = Rules {
            margin: plan.margin,
            drop: false,
            screen: false,
            grows_older: false,
            horizon: Horizon::Passes { passes: 1000 },
        };
        let seated = Unseated::new();
        let mut judged = judge(&rules, &groups, cells.len(), &slices, &seated);
        let host_of = (0..6).map(|host| (host, host as usize)).collect();
        let of_plan = (&*groups, cells.len());
        over_hosts(&mut judged, &rules, of_plan, &slices, &seated, &host_of);
        let estimate = |bytes| {
            let mut own = groups[0].cells.iter();
            let place = own.position(|&cell| cells[cell].page_size == size(bytes));
            judged.groups[0].candidates[place.unwrap()]
                .ratio
                .unwrap()
                .estimate
        };
        let found = verdict(&plan, &cells, &groups[0], &judged.groups[0], &judged.levels);
        let advised = found.advised().cloned().unwrap();
        (advised, estimate(8192), estimate(65536))
    }

    #[test]
    fn what_another_level_beats_on_the_hosts_that_have_both_is_not_advised() {
        // 64 KiB failed on three hosts. On the others 8 KiB is faster, and gains more than on all six.
        let (advised, small, large) = advised_on_hosts(|bytes, host| match (bytes, host < 3) {
            (8192, true) => Some(1.3),
            (8192, false) => Some(1.06),
            (65536, true) => Some(1.2),
            (65536, false) => None,
            _ => Some(1.0),
        });
        assert!(large > small);
        assert_eq!(advised, Level::PageSize(size(8192)));
    }

    #[test]
    fn of_levels_that_are_not_told_apart_the_one_that_most_hosts_have_is_advised() {
        let (advised, small, large) = advised_on_hosts(|bytes, host| match (bytes, host < 3) {
            (8192, _) => Some(1.2),
            (65536, true) => Some(1.21),
            (65536, false) => None,
            _ => Some(1.0),
        });
        assert!(large > small);
        assert_eq!(advised, Level::PageSize(size(8192)));
        // What surely is better on the hosts that have both is advised, though few do.
        let (advised, ..) = advised_on_hosts(|bytes, host| match (bytes, host < 3) {
            (8192, _) => Some(1.1),
            (65536, true) => Some(1.3),
            (65536, false) => None,
            _ => Some(1.0),
        });
        assert_eq!(advised, Level::PageSize(size(65536)));
    }

    fn size(bytes: u32) -> PageSize {
        PageSize::new(bytes).unwrap()
    }

    #[test]
    fn an_interaction_is_named_where_there_is_one() {
        // 65536 loses half with 8 MiB and a quarter with 2 MiB; 8192 gains a
        // tenth with both.
        let plan = plan();
        let cells = plan.cells();
        let level = |cell: &Cell| match (cell.page_size.get(), cell.memory == ByteCount::mib(2)) {
            (65536, true) => 750.0,
            (65536, false) => 1000.0,
            (8192, true) => 1100.0,
            (8192, false) => 2200.0,
            (_, true) => 1000.0,
            (_, false) => 2000.0,
        };
        let levels = levels(8, 0.001, level);
        let found = interactions(&plan, &cells, &plan.groups(), &levels, &Inputs::default());
        assert_eq!(found.len(), 2);
        let of = |bytes| {
            found
                .iter()
                .find(|i| i.level == Level::PageSize(size(bytes)))
                .unwrap()
        };
        assert_eq!(of(8192).decision, Decision::Equivalent);
        assert_eq!(of(65536).decision, Decision::Worse);
        assert!((of(65536).ratio.estimate - 0.5 / 0.75).abs() < 0.01);
        assert_eq!(of(65536).at, Level::Memory(ByteCount::mib(8)));
        assert_eq!(of(65536).against, Level::Memory(ByteCount::mib(2)));
        assert_eq!(of(65536).within, "");
    }

    #[test]
    fn a_quarter_of_the_buffer_is_found() {
        // 8 KiB pages at 2 MiB do what the default does at 8 MiB.
        let plan = plan();
        let cells = plan.cells();
        let levels = levels(3, 0.0, |cell| {
            let memory: f64 = cell.memory.get() as f64 / f64::from(1 << 20);
            match cell.page_size.get() {
                8192 => 1000.0 * (memory / 4.0),
                65536 => 100.0 * memory,
                _ => 1000.0 * (memory / 8.0).sqrt(),
            }
        });
        let judgement = Judgement {
            passes: 0,
            measured: Duration::ZERO,
            screened: Vec::new(),
            groups: Vec::new(),
            levels,
        };
        let findings = buffer_findings(&plan, &cells, &judgement, &Inputs::default());
        let of = |bytes| {
            findings
                .iter()
                .find(|f| f.page_size == size(bytes))
                .unwrap()
        };
        let EqualThroughput::About { memory, .. } = of(8192).equal_to_reference else {
            panic!("{findings:?}");
        };
        // Between 2 MiB (500) and 8 MiB (2000), 1000 is at 4 MiB.
        assert!((memory.get() as f64 / f64::from(4 << 20) - 1.0).abs() < 1e-6);
        assert!(matches!(
            of(65536).equal_to_reference,
            EqualThroughput::AboveLargest { ratio } if (ratio.estimate - 0.8).abs() < 1e-9
        ));
        let cost = of(4096).small_over_large.unwrap();
        assert!((cost.estimate - 0.5).abs() < 1e-9);
    }
}
