//! What to do, from the paired rounds: which page size at each memory, and
//! what a smaller buffer costs and saves.

use octavo_units::{ByteCount, PageSize};
use serde::Serialize;

use crate::{
    findings::{ByRound, paired_ratios},
    plan::{Cell, Plan},
    statistics::{Confidence, Interval, Standing, geometric_interval, rounds_to_settle, standing},
};

/// What to do at one memory size.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum MemoryVerdict {
    /// Change to this page size.
    Use {
        /// The page size.
        page_size: PageSize,
        /// Its throughput over the default's.
        ratio: Interval,
        /// Page sizes that may be as good as the one named, or better.
        ties: Vec<PageSize>,
    },
    /// No page size is better than the default by more than the margin.
    KeepDefault {
        /// The default.
        page_size: PageSize,
        /// Page sizes that make no difference.
        equivalent: Vec<PageSize>,
        /// Page sizes that are worse.
        worse: Vec<PageSize>,
    },
    /// Not decided yet.
    Inconclusive {
        /// Page sizes that may be better than the default.
        open: Vec<PageSize>,
        /// How many more rounds would settle it, if the spread stays as it
        /// is; `None` when that cannot be told.
        more_rounds: Option<usize>,
    },
}

/// Decides for one memory. The clean place for racing: this looks once, at
/// the end, at all of the cells.
///
/// `looks` is how often the same experiment has been judged, this time
/// included: whoever looks again after further rounds has more chances to be
/// wrong, so the error is shared out over the looks (Bonferroni).
pub(crate) fn memory_verdict(
    plan: &Plan,
    memory: ByteCount,
    looks: usize,
    throughput: impl Fn(Cell) -> ByRound,
) -> MemoryVerdict {
    let of = |page_size| throughput(Cell { page_size, memory });
    let reference = of(plan.reference);
    let others: Vec<PageSize> = plan
        .page_sizes
        .iter()
        .copied()
        .filter(|&size| size != plan.reference)
        .collect();
    let confidence = Confidence::family(others.len() * looks);
    let candidates: Vec<(PageSize, Vec<f64>, Option<Interval>)> = others
        .into_iter()
        .map(|size| {
            let ratios = paired_ratios(&of(size), &reference);
            let interval = geometric_interval(&ratios, confidence);
            (size, ratios, interval)
        })
        .collect();
    let with = |wanted: Standing| -> Vec<PageSize> {
        candidates
            .iter()
            .filter(|(_, _, interval)| {
                interval.map_or(Standing::Open, |i| standing(&i, plan.margin)) == wanted
            })
            .map(|(size, _, _)| *size)
            .collect()
    };

    let better = with(Standing::Better);
    let best = candidates
        .iter()
        .filter(|(size, _, _)| better.contains(size))
        .filter_map(|(size, _, interval)| Some((*size, (*interval)?)))
        .max_by(|a, b| a.1.estimate.total_cmp(&b.1.estimate));
    if let Some((page_size, ratio)) = best {
        let own = of(page_size);
        let ties = better
            .iter()
            .chain(&with(Standing::Open))
            .copied()
            .filter(|&size| size != page_size)
            .filter(|&size| {
                geometric_interval(&paired_ratios(&of(size), &own), confidence)
                    .is_none_or(|interval| interval.high >= 1.0)
            })
            .collect();
        return MemoryVerdict::Use {
            page_size,
            ratio,
            ties,
        };
    }

    let open = with(Standing::Open);
    if open.is_empty() {
        return MemoryVerdict::KeepDefault {
            page_size: plan.reference,
            equivalent: with(Standing::Equivalent),
            worse: with(Standing::Worse),
        };
    }
    let more_rounds = candidates
        .iter()
        .filter(|(size, _, _)| open.contains(size))
        .map(|(_, ratios, _)| {
            rounds_to_settle(ratios, plan.margin, confidence)
                .map(|rounds| (rounds - ratios.len()).max(1))
        })
        .collect::<Option<Vec<usize>>>()
        .and_then(|rounds| rounds.into_iter().max());
    MemoryVerdict::Inconclusive { open, more_rounds }
}

/// What one page size does with less memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
    },
    /// Not even the largest that was measured does.
    AboveLargest {
        /// Its throughput over the default's with the same memory.
        ratio: Interval,
    },
    /// Not known: a run is missing.
    Unknown,
}

/// Compares memories (petrov-2010's claim that a small page needs less
/// buffer). Empty when the plan has one memory.
pub(crate) fn buffer_findings(
    plan: &Plan,
    throughput: impl Fn(Cell) -> ByRound,
) -> Vec<BufferFinding> {
    let (Some(&small), Some(&large)) = (plan.memories.first(), plan.memories.last()) else {
        return Vec::new();
    };
    if small == large {
        return Vec::new();
    }
    let of = |page_size, memory| throughput(Cell { page_size, memory });
    let target = of(plan.reference, large);
    plan.page_sizes
        .iter()
        .map(|&page_size| BufferFinding {
            page_size,
            small,
            large,
            small_over_large: geometric_interval(
                &paired_ratios(&of(page_size, small), &of(page_size, large)),
                Confidence::family(plan.page_sizes.len()),
            ),
            equal_to_reference: if page_size == plan.reference {
                EqualThroughput::About { memory: large }
            } else {
                let points: Option<Vec<(ByteCount, Interval)>> = plan
                    .memories
                    .iter()
                    .map(|&memory| {
                        let ratios = paired_ratios(&of(page_size, memory), &target);
                        Some((memory, geometric_interval(&ratios, Confidence::family(1))?))
                    })
                    .collect();
                points.map_or(EqualThroughput::Unknown, |points| crossing(&points))
            },
        })
        .collect()
}

/// Where the line through (ln memory, ln ratio) first reaches ratio 1.
fn crossing(points: &[(ByteCount, Interval)]) -> EqualThroughput {
    let (_, first) = points[0];
    if first.estimate >= 1.0 {
        return EqualThroughput::BelowSmallest { ratio: first };
    }
    let (_, last) = points[points.len() - 1];
    points
        .windows(2)
        .find(|pair| pair[1].1.estimate >= 1.0)
        .map_or(EqualThroughput::AboveLargest { ratio: last }, |pair| {
            let place = |(memory, ratio): (ByteCount, Interval)| {
                ((memory.get() as f64).ln(), ratio.estimate.ln())
            };
            let ((x0, y0), (x1, y1)) = (place(pair[0]), place(pair[1]));
            let x = x0 + (x1 - x0) * -y0 / (y1 - y0);
            EqualThroughput::About {
                memory: ByteCount::new(x.exp().round() as u64),
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::plan;

    /// Throughput by page size and memory with a wobble that all cells of a
    /// round share and a small one of their own.
    fn measured(rounds: u32, own: f64, level: impl Fn(Cell) -> f64) -> impl Fn(Cell) -> ByRound {
        move |cell| {
            (0..rounds)
                .map(|round| {
                    let shared = 1.0 + 0.3 * f64::from(round % 3);
                    let phase = f64::from(round * 7 + cell.page_size.get() / 512);
                    (round, level(cell) * shared * (own * phase.sin()).exp())
                })
                .collect()
        }
    }

    fn size(bytes: u32) -> PageSize {
        PageSize::new(bytes).unwrap()
    }

    #[test]
    fn a_better_page_size_is_named_through_shared_drift() {
        let plan = plan();
        let verdict = memory_verdict(
            &plan,
            plan.memories[0],
            1,
            measured(5, 0.01, |cell| match cell.page_size.get() {
                8192 => 1200.0,
                65536 => 500.0,
                _ => 1000.0,
            }),
        );
        let MemoryVerdict::Use {
            page_size,
            ratio,
            ties,
        } = verdict
        else {
            panic!("{verdict:?}");
        };
        assert_eq!(page_size, size(8192));
        assert!((ratio.estimate - 1.2).abs() < 0.02, "{ratio:?}");
        assert!(ties.is_empty());
    }

    #[test]
    fn no_difference_keeps_the_default() {
        let plan = plan();
        let verdict = memory_verdict(
            &plan,
            plan.memories[0],
            1,
            measured(8, 0.002, |cell| {
                if cell.page_size.get() == 65536 {
                    700.0
                } else {
                    1000.0
                }
            }),
        );
        assert_eq!(
            verdict,
            MemoryVerdict::KeepDefault {
                page_size: size(4096),
                equivalent: vec![size(8192)],
                worse: vec![size(65536)],
            }
        );
    }

    #[test]
    fn noise_is_inconclusive_and_says_how_much_more() {
        let plan = plan();
        let verdict = memory_verdict(
            &plan,
            plan.memories[0],
            1,
            measured(3, 0.1, |cell| {
                1000.0 + f64::from(cell.page_size.get()) / 600.0
            }),
        );
        let MemoryVerdict::Inconclusive { open, more_rounds } = verdict else {
            panic!("{verdict:?}");
        };
        assert!(!open.is_empty());
        assert!(more_rounds.unwrap() >= 1);
    }

    #[test]
    fn missing_runs_leave_it_open() {
        let plan = plan();
        let verdict = memory_verdict(&plan, plan.memories[0], 1, |_| ByRound::new());
        assert!(matches!(
            verdict,
            MemoryVerdict::Inconclusive {
                more_rounds: None,
                ..
            }
        ));
    }

    #[test]
    fn a_quarter_of_the_buffer_is_found() {
        // 8 KiB pages at 2 MiB do what the default does at 8 MiB.
        let plan = plan();
        let findings = buffer_findings(
            &plan,
            measured(3, 0.0, |cell| {
                let memory: f64 = cell.memory.get() as f64 / f64::from(1 << 20);
                match cell.page_size.get() {
                    8192 => 1000.0 * (memory / 4.0),
                    65536 => 100.0 * memory,
                    _ => 1000.0 * (memory / 8.0).sqrt(),
                }
            }),
        );
        let of = |bytes| {
            findings
                .iter()
                .find(|f| f.page_size == size(bytes))
                .unwrap()
        };
        let EqualThroughput::About { memory } = of(8192).equal_to_reference else {
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
