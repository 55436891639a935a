//! How fast each cell of a group was from the begin of its warm-up on.

use std::{collections::HashSet, time::Duration};

use crate::{
    lockstep::{Group, GroupJudgement, ScreenedPass, Slice, WarmUpBlock},
    plan::Cell,
};

/// Points of a cell in a warm-up, and in the passes of a sitting, at most: as many as can be told
/// apart in a chart. Chosen.
const POINTS_MAX: u64 = 50;

/// Transactions that a cell executed one after another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// The sitting, from 0.
    pub sitting: u32,
    /// Whether it is part of the figures.
    pub part: Part,
    /// Transactions that the cells of the group had been given when it began, those of earlier
    /// sittings included.
    pub begin: u64,
    /// … and when it ended.
    pub end: u64,
    /// Of them, those that did not end as the workload wants.
    pub failed: u64,
    /// Counted commits a minute.
    pub per_minute: f64,
    /// The mean response time in milliseconds: of the counted ones where transactions have times of
    /// their own, else of all, which one after the other fill the clients' time. `None` without any.
    pub response_ms: Option<f64>,
}

/// What transactions are part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The warm-up.
    WarmUp,
    /// The figures.
    Figures,
    /// Neither: their passes are left out.
    LeftOut,
}

/// Blocks or slices that are added up.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    begin: u64,
    sent: u64,
    ended: u64,
    counted: u64,
    elapsed: Duration,
    response: Option<Duration>,
}

impl Sum {
    fn of_block(block: &WarmUpBlock, begin: u64) -> Self {
        Self {
            begin,
            sent: block.sent,
            ended: block.transactions,
            counted: block.counted,
            elapsed: block.elapsed,
            response: block.response,
        }
    }

    fn of_slice(slice: &Slice, begin: u64, sent: u64) -> Self {
        Self {
            begin,
            sent,
            ended: slice.transactions,
            counted: slice.counted,
            elapsed: slice.elapsed,
            response: slice.response,
        }
    }

    fn end(&self) -> u64 {
        self.begin.saturating_add(self.sent)
    }

    fn add(&mut self, next: &Self) {
        self.sent = next.end().saturating_sub(self.begin);
        self.ended = self.ended.saturating_add(next.ended);
        self.counted = self.counted.saturating_add(next.counted);
        self.elapsed = self.elapsed.saturating_add(next.elapsed);
        let both = self.response.zip(next.response);
        self.response = both.map(|(one, two)| one.saturating_add(two));
    }

    fn stretch(&self, sitting: u32, part: Part, clients: u32) -> Stretch {
        let counted = self.counted as f64;
        let (all, number) = match self.response {
            Some(response) => (response, self.counted),
            None => (self.elapsed.saturating_mul(clients.max(1)), self.ended),
        };
        Stretch {
            sitting,
            part,
            begin: self.begin,
            end: self.end(),
            failed: self.sent.saturating_sub(self.ended),
            per_minute: counted * 60.0 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE),
            response_ms: (number > 0).then(|| all.as_secs_f64() * 1e3 / number as f64),
        }
    }
}

/// Neighbors added up until each has so many transactions, the last one aside.
fn joined(parts: impl Iterator<Item = Sum>, at_least: u64) -> Vec<Sum> {
    let mut all: Vec<Sum> = Vec::new();
    for part in parts {
        match all.last_mut() {
            // What was missed in between is in no sum.
            Some(last) if last.sent < at_least && last.end() == part.begin => last.add(&part),
            _ => all.push(part),
        }
    }
    all
}

/// What a store has of transactions one after another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Executed<'a> {
    pub(super) cells: &'a [Cell],
    pub(super) warm_ups: &'a [WarmUpBlock],
    pub(super) slices: &'a [Slice],
    /// How many a slice was given.
    pub(super) slice_transactions: Option<u64>,
    /// Passes that are left out of figures.
    pub(super) screened: &'a [ScreenedPass],
}

/// What the transactions of a group's cells took, a list a cell in the group's order; empty lists
/// where it is not known how many a slice was given.
pub(super) fn timelines(
    executed: Executed<'_>,
    group: &Group,
    judged: &GroupJudgement,
) -> Vec<Vec<Stretch>> {
    let Executed {
        cells,
        warm_ups,
        slices,
        slice_transactions,
        screened,
    } = executed;
    let mut all = vec![Vec::new(); group.cells.len()];
    let Some(given) = slice_transactions else {
        return all;
    };
    let left_out: HashSet<(u32, u32)> = screened
        .iter()
        .map(|pass| (pass.sitting, pass.pass))
        .collect();
    let young = judged.young.map_or(0, |young| young.from);
    let is_own = |cell: usize| group.cells.contains(&cell);
    let slices: Vec<&Slice> = slices.iter().filter(|of| is_own(of.key.cell)).collect();
    let mut sittings: Vec<u32> = slices.iter().map(|slice| slice.key.sitting).collect();
    sittings.dedup();
    let mut begun = 0_u64;
    for sitting in sittings {
        let here: Vec<&Slice> = slices
            .iter()
            .filter(|slice| slice.key.sitting == sitting)
            .copied()
            .collect();
        let passes = here.iter().map(|slice| u64::from(slice.key.pass) + 1).max();
        let passes = passes.unwrap_or(0);
        let blocks = |cell: usize| {
            let own = move |of: &&WarmUpBlock| (of.sitting, of.cell) == (sitting, cell);
            warm_ups.iter().filter(own)
        };
        let warm_up = group.cells.iter().map(|&cell| {
            let sent = blocks(cell).map(|block| block.sent);
            sent.fold(0_u64, u64::saturating_add)
        });
        let warm_up = warm_up.max().unwrap_or(0);
        let measured = begun.saturating_add(warm_up);
        for (place, &cell) in group.cells.iter().enumerate() {
            let clients = cells[cell].clients;
            let mut at = begun;
            let warming = blocks(cell).map(|block| {
                let sum = Sum::of_block(block, at);
                at = sum.end();
                sum
            });
            let warming = joined(warming, warm_up.div_ceil(POINTS_MAX));
            let stretches = warming.iter();
            all[place].extend(stretches.map(|sum| sum.stretch(sitting, Part::WarmUp, clients)));
            let part = |pass: u32| match left_out.contains(&(sitting, pass)) || pass < young {
                true => Part::LeftOut,
                false => Part::Figures,
            };
            let own = here.iter().filter(|slice| slice.key.cell == cell);
            let own: Vec<&&Slice> = own.collect();
            for alike in own.chunk_by(|one, next| part(one.key.pass) == part(next.key.pass)) {
                let sums = alike.iter().map(|slice| {
                    let own = u64::from(slice.key.pass).saturating_mul(given);
                    let begin = measured.saturating_add(own);
                    Sum::of_slice(slice, begin, given)
                });
                let wanted = passes.div_ceil(POINTS_MAX).saturating_mul(given);
                let of = part(alike[0].key.pass);
                let sums = joined(sums, wanted);
                all[place].extend(sums.iter().map(|sum| sum.stretch(sitting, of, clients)));
            }
        }
        begun = measured.saturating_add(passes.saturating_mul(given));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        lockstep::{Screened, slice::tests::slice},
        plan::tests::plan,
    };

    fn block(sitting: u32, cell: usize, number: u32, sent: u64) -> WarmUpBlock {
        WarmUpBlock {
            elapsed: Duration::from_secs(1),
            ..WarmUpBlock::new(number, sent, &slice(sitting, 0, cell))
        }
    }

    fn two() -> Group {
        Group {
            cells: vec![0, 1],
            reference: 0,
        }
    }

    fn judged() -> GroupJudgement {
        GroupJudgement {
            candidates: Vec::new(),
            finished: false,
            young: None,
        }
    }

    #[test]
    fn warm_ups_and_passes_of_all_sittings_follow_each_other() {
        let warm_ups = [
            block(0, 0, 0, 64),
            block(0, 0, 1, 36),
            block(0, 1, 0, 64),
            block(1, 0, 0, 100),
        ];
        let mut slices = Vec::new();
        for (sitting, pass, cell) in [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0), (1, 0, 1)] {
            slices.push(slice(sitting, pass, cell));
        }
        slices[2].transactions = 47;
        let left_out = [ScreenedPass {
            sitting: 0,
            pass: 1,
            why: Screened::Slow,
        }];
        let cells = plan().cells();
        let executed = Executed {
            cells: &cells,
            warm_ups: &warm_ups,
            slices: &slices,
            slice_transactions: Some(50),
            screened: &left_out,
        };
        let all = timelines(executed, &two(), &judged());
        let words = |cell: usize| -> Vec<_> {
            let all = all[cell].iter();
            all.map(|of| (of.sitting, of.part, of.begin, of.end, of.failed))
                .collect()
        };
        use Part::{Figures, LeftOut, WarmUp};
        assert_eq!(
            words(0),
            [
                // 50 of 64 ended, and 50 of 36: tests' slices have no other figure.
                (0, WarmUp, 0, 64, 14),
                (0, WarmUp, 64, 100, 0),
                (0, Figures, 100, 150, 0),
                (0, LeftOut, 150, 200, 3),
                (1, WarmUp, 200, 300, 50),
                (1, Figures, 300, 350, 0),
            ]
        );
        assert_eq!(
            words(1),
            [
                (0, WarmUp, 0, 64, 14),
                (0, Figures, 100, 150, 0),
                (1, Figures, 300, 350, 0)
            ]
        );
        // 22 counted commits in 75 ms.
        assert!((all[1][1].per_minute - 22.0 * 60.0 / 0.075).abs() < 1e-6);
        // One client, whose 50 transactions took 75 ms.
        assert!((all[1][1].response_ms.unwrap() - 1.5).abs() < 1e-9);
        let unknown = Executed {
            slice_transactions: None,
            ..executed
        };
        let unknown = timelines(unknown, &two(), &judged());
        assert!(unknown.iter().all(Vec::is_empty));
    }

    #[test]
    fn many_passes_are_added_up() {
        let slices: Vec<Slice> = (0..1000).map(|pass| slice(0, pass, 0)).collect();
        let cells = plan().cells();
        let executed = |slices| Executed {
            cells: &cells,
            warm_ups: &[],
            slices,
            slice_transactions: Some(50),
            screened: &[],
        };
        let all = timelines(executed(&slices), &two(), &judged());
        let points = all[0].len() as u64;
        assert!((POINTS_MAX / 2..=POINTS_MAX).contains(&points), "{points}");
        assert!(all[0].windows(2).all(|of| of[0].end == of[1].begin));
        assert_eq!(all[0].last().unwrap().end, 50_000);
        // A cell that came back after passes that it missed.
        let gap = [slices[0], slices[1], slices[900]];
        let all = timelines(executed(&gap), &two(), &judged());
        assert_eq!(all[0].len(), 2);
        assert_eq!(all[0][0].end, 100);
    }
}
