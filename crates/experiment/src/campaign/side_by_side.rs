//! Groups of cells that all processors work on.
//!
//! The cells of a group take each step side by side, and the next one when all of them have
//! taken it. A thread that finds nothing to do in the groups at work begins another, where
//! there is room for it. So at most as many groups are at work as there are threads, and
//! memory is bounded by them. What a step gives must depend on its cell alone: then nothing
//! depends on which thread takes it, and when.

use std::{
    collections::BTreeMap,
    panic::resume_unwind,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use crate::error::CampaignError;

/// How often progress is shown.
const SHOWN_EVERY: Duration = Duration::from_millis(200);

/// What is done with groups of cells.
pub(super) trait Work: Sync {
    /// What is known of a group at work.
    type Group: Send;
    /// A cell behind its first step.
    type Cell: Send;
    /// What the cells of a group do next.
    type Step: Copy + Send;

    /// Begins a group: what is known of it, the number of its cells, and their first step.
    fn begin(&self, group: usize) -> (Self::Group, usize, Self::Step);

    /// Takes a step with a cell, which is at this place in its group. There is none yet in the
    /// first.
    ///
    /// # Errors
    /// What ends the work on all groups.
    fn step(
        &self,
        at: (usize, usize),
        cell: Option<Self::Cell>,
        step: Self::Step,
    ) -> Result<Self::Cell, CampaignError>;

    /// The step that comes next, now that all cells of a group have taken the last one; `None`
    /// at its end.
    fn next(&self, group: &mut Self::Group, cells: &mut [Self::Cell]) -> Option<Self::Step>;

    /// Whether there is room for a group beside those at work.
    fn fits(&self, at_work: &[usize], group: usize) -> bool;

    /// How far a group is whose cells take a step, so many of them having taken it.
    fn words(&self, group: &Self::Group, step: Self::Step, taken: (usize, usize)) -> String;
}

/// What is made of the work.
pub(super) trait Receiver<C> {
    /// Takes the cells of a group at its end. Groups come in their order, but for those that
    /// had ended before an error.
    ///
    /// # Errors
    /// What ends the work.
    fn take(&mut self, group: usize, cells: Vec<C>) -> Result<(), CampaignError>;

    /// Shows how far it is: groups that have ended, and the first one at work.
    fn show(&mut self, ended: usize, words: &str);
}

/// Works on so many groups with so many threads.
///
/// # Errors
/// The first error of a step or of the receiver.
pub(super) fn side_by_side<W: Work>(
    work: &W,
    groups: usize,
    threads: usize,
    receiver: &mut dyn Receiver<W::Cell>,
) -> Result<(), CampaignError> {
    let shared = Shared {
        work,
        groups,
        state: Mutex::new(State {
            begun: 0,
            at_work: Vec::new(),
            ended: BTreeMap::new(),
            ended_count: 0,
            error: None,
            is_over: false,
        }),
        changed: Condvar::new(),
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1))
            .map(|_| scope.spawn(|| shared.work()))
            .collect();
        let received = shared.receive(receiver);
        shared.end();
        for worker in workers {
            worker.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        received?;
        let mut state = shared.lock();
        // What had ended is kept.
        while let Some((group, cells)) = state.ended.pop_first() {
            receiver.take(group, cells)?;
        }
        state.error.take().map_or(Ok(()), Err)
    })
}

struct Shared<'w, W: Work> {
    work: &'w W,
    groups: usize,
    state: Mutex<State<W>>,
    changed: Condvar,
}

struct State<W: Work> {
    /// How many groups have begun.
    begun: usize,
    /// In their order.
    at_work: Vec<AtWork<W>>,
    /// Groups that were not received yet.
    ended: BTreeMap<usize, Vec<W::Cell>>,
    ended_count: usize,
    /// The first one.
    error: Option<CampaignError>,
    /// Whether nothing more is to be done.
    is_over: bool,
}

/// A group at work.
struct AtWork<W: Work> {
    group: usize,
    known: W::Group,
    count: usize,
    step: W::Step,
    /// Places in the group and cells that are to take the step, the next one last.
    due: Vec<(usize, Option<W::Cell>)>,
    taken: Vec<(usize, W::Cell)>,
}

/// A cell's step, which a thread has taken on.
struct Job<W: Work> {
    at: (usize, usize),
    cell: Option<W::Cell>,
    step: W::Step,
}

impl<W: Work> State<W> {
    /// The next step of a group at work, or the first one of another.
    fn job(&mut self, work: &W, groups: usize) -> Option<Job<W>> {
        for of in &mut self.at_work {
            if let Some((place, cell)) = of.due.pop() {
                return Some(Job {
                    at: (of.group, place),
                    cell,
                    step: of.step,
                });
            }
        }
        let at_work: Vec<usize> = self.at_work.iter().map(|of| of.group).collect();
        let group = self.begun;
        // One alone has to fit.
        if group == groups || !(at_work.is_empty() || work.fits(&at_work, group)) {
            return None;
        }
        let (known, count, step) = work.begin(group);
        self.begun += 1;
        self.at_work.push(AtWork {
            group,
            known,
            count,
            step,
            due: (0..count).rev().map(|place| (place, None)).collect(),
            taken: Vec::new(),
        });
        self.job(work, groups)
    }

    /// Takes back a cell; its group goes on when all are back.
    fn put(&mut self, work: &W, (group, place): (usize, usize), cell: W::Cell) {
        let Some(at) = self.at_work.iter().position(|of| of.group == group) else {
            return;
        };
        let of = &mut self.at_work[at];
        of.taken.push((place, cell));
        if of.taken.len() < of.count {
            return;
        }
        of.taken.sort_unstable_by_key(|&(place, _)| place);
        let mut cells: Vec<W::Cell> = of.taken.drain(..).map(|(_, cell)| cell).collect();
        match work.next(&mut of.known, &mut cells) {
            Some(step) => {
                of.step = step;
                let due = cells.into_iter().map(Some).enumerate();
                of.due = due.rev().collect();
            }
            None => {
                self.at_work.remove(at);
                self.ended.insert(group, cells);
                self.ended_count += 1;
            }
        }
    }

    fn words(&self, work: &W) -> Option<String> {
        let first = self.at_work.first()?;
        let taken = (first.taken.len(), first.count);
        Some(work.words(&first.known, first.step, taken))
    }
}

impl<W: Work> Shared<'_, W> {
    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has threads do nothing more.
    fn end(&self) {
        self.lock().is_over = true;
        self.changed.notify_all();
    }

    /// What a thread does.
    fn work(&self) {
        // Others would wait for what a thread that panics leaves.
        let _ended = EndOnPanic(self);
        let mut state = self.lock();
        loop {
            if state.is_over {
                return;
            }
            let Some(Job { at, cell, step }) = state.job(self.work, self.groups) else {
                if state.begun == self.groups && state.at_work.is_empty() {
                    return;
                }
                let waited = self.changed.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            let stepped = self.work.step(at, cell, step);
            state = self.lock();
            match stepped {
                Ok(cell) => state.put(self.work, at, cell),
                Err(error) => {
                    state.error.get_or_insert(error);
                    state.is_over = true;
                }
            }
            self.changed.notify_all();
        }
    }

    /// Takes groups as they end, in their order, until all have ended, or an error.
    fn receive(&self, receiver: &mut dyn Receiver<W::Cell>) -> Result<(), CampaignError> {
        for group in 0..self.groups {
            let cells = loop {
                let mut state = self.lock();
                if let Some(cells) = state.ended.remove(&group) {
                    break cells;
                }
                if state.is_over {
                    return Ok(());
                }
                let (ended, words) = (state.ended_count, state.words(self.work));
                drop(state);
                if let Some(words) = words {
                    receiver.show(ended, &words);
                }
                let state = self.lock();
                let is_waiting =
                    |state: &mut State<W>| !state.is_over && !state.ended.contains_key(&group);
                let waited = self
                    .changed
                    .wait_timeout_while(state, SHOWN_EVERY, is_waiting);
                drop(waited.unwrap_or_else(PoisonError::into_inner));
            };
            receiver.take(group, cells)?;
        }
        Ok(())
    }
}

/// Ends the work if its thread panics.
struct EndOnPanic<'s, 'w, W: Work>(&'s Shared<'w, W>);

impl<W: Work> Drop for EndOnPanic<'_, '_, W> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Groups of cells that count their steps: so many as the group's number and a few more.
    #[derive(Default)]
    struct Counting {
        /// How many groups fit beside each other.
        room: usize,
        /// The group and place whose step fails, or panics.
        failing: Option<(usize, usize)>,
        panics: bool,
        open: AtomicUsize,
        most_open: AtomicUsize,
    }

    const CELLS: usize = 3;

    impl Work for Counting {
        type Group = (usize, u64);
        type Cell = Vec<u64>;
        type Step = u64;

        fn begin(&self, group: usize) -> (Self::Group, usize, u64) {
            let open = self.open.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_open.fetch_max(open, Ordering::SeqCst);
            ((group, 0), CELLS, 0)
        }

        fn step(
            &self,
            at: (usize, usize),
            cell: Option<Vec<u64>>,
            step: u64,
        ) -> Result<Vec<u64>, CampaignError> {
            if self.failing == Some(at) && step == 1 {
                assert!(!self.panics, "planned");
                return Err(CampaignError::Setting("planned".into()));
            }
            assert_eq!(cell.is_none(), step == 0);
            thread::sleep(Duration::from_micros(50 * (at.0 + at.1) as u64));
            let mut cell = cell.unwrap_or_default();
            cell.push(1000 * at.0 as u64 + 10 * at.1 as u64 + step);
            Ok(cell)
        }

        fn next(&self, (group, step): &mut (usize, u64), cells: &mut [Vec<u64>]) -> Option<u64> {
            *step += 1;
            assert!(cells.iter().all(|cell| cell.len() as u64 == *step));
            let goes_on = *step < 2 + *group as u64 % 4;
            if !goes_on {
                self.open.fetch_sub(1, Ordering::SeqCst);
            }
            goes_on.then_some(*step)
        }

        fn fits(&self, at_work: &[usize], _group: usize) -> bool {
            at_work.len() < self.room
        }

        fn words(&self, _: &(usize, u64), _: u64, (taken, count): (usize, usize)) -> String {
            format!("{taken} of {count}")
        }
    }

    #[derive(Default)]
    struct Received {
        groups: Vec<(usize, Vec<Vec<u64>>)>,
        shown: usize,
    }

    impl Receiver<Vec<u64>> for Received {
        fn take(&mut self, group: usize, cells: Vec<Vec<u64>>) -> Result<(), CampaignError> {
            self.groups.push((group, cells));
            Ok(())
        }

        fn show(&mut self, ended: usize, words: &str) {
            assert!(ended <= 20 && words.ends_with("of 3"), "{ended} {words}");
            self.shown += 1;
        }
    }

    fn done(work: &Counting, threads: usize) -> (Received, Result<(), CampaignError>) {
        let mut received = Received::default();
        let result = side_by_side(work, 20, threads, &mut received);
        (received, result)
    }

    #[test]
    fn any_number_of_threads_gives_the_same_in_the_same_order() {
        let roomy = || Counting {
            room: usize::MAX,
            ..Counting::default()
        };
        let (alone, result) = done(&roomy(), 1);
        result.unwrap();
        let order: Vec<usize> = alone.groups.iter().map(|(group, _)| *group).collect();
        assert_eq!(order, (0..20).collect::<Vec<_>>());
        assert_eq!(alone.groups[3].1[2], [3020, 3021, 3022, 3023, 3024]);
        assert!(alone.shown > 0);
        for threads in [2, 3, 16, 100] {
            let (several, result) = done(&roomy(), threads);
            result.unwrap();
            assert_eq!(several.groups, alone.groups, "{threads} threads");
        }
    }

    #[test]
    fn no_more_groups_are_at_work_than_fit_and_than_there_are_threads() {
        for (room, threads, most) in [(1, 8, 1), (3, 8, 3), (100, 4, 4), (0, 2, 1), (100, 1, 1)] {
            let work = Counting {
                room,
                ..Counting::default()
            };
            done(&work, threads).1.unwrap();
            let open = work.most_open.into_inner();
            assert!((1..=most).contains(&open), "{open} of {most}");
        }
    }

    #[test]
    fn an_error_ends_it_and_what_had_ended_is_received() {
        for threads in [1, 4] {
            let work = Counting {
                room: 100,
                failing: Some((10, 1)),
                ..Counting::default()
            };
            let (received, result) = done(&work, threads);
            let error = result.unwrap_err().to_string();
            assert_eq!(error, "planned");
            let groups: Vec<usize> = received.groups.iter().map(|(group, _)| *group).collect();
            assert!(!groups.contains(&10));
            if threads == 1 {
                assert_eq!(groups, (0..10).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_panic_is_passed_on_and_nobody_waits() {
        let work = Counting {
            room: 100,
            failing: Some((10, 1)),
            panics: true,
            ..Counting::default()
        };
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| done(&work, 4)));
        assert!(ended.is_err());
    }
}
