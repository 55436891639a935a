//! A load in slices: its sessions stay open and stand still between slices, so
//! that several databases can execute the same next transactions in turn.

use std::{
    fs, mem,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use octavo_database::Running;
use octavo_units::Seed;
use octavo_workload::{Audit, Client, Dues, Workload};

use crate::{
    counts::{Counts, Event},
    error::DriverError,
    metered::Metered,
    recorder::{Recorder, lock},
    run_state::POLL_INTERVAL,
    timetable::{Stretch, Timetable},
    wait,
    worker::{FOREVER, Session},
};

/// Settings of a load in slices.
#[derive(Clone, Copy)]
pub struct SliceSettings<'a> {
    /// The workload.
    pub workload: &'a dyn Workload,
    /// Random seed of the inputs.
    pub seed: Seed,
    /// Sessions, each with a terminal of its own that submits as soon as it has
    /// its answer.
    pub connections: u32,
    /// Retries of a transaction after conflicts.
    pub retries: u32,
}

/// What the sessions did in a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadSlice {
    /// From letting the sessions go to the end of the last one's transaction. Where transactions have
    /// times, at least until the next one is due.
    pub elapsed: Duration,
    /// Transactions that ended as the workload wants.
    pub transactions: u64,
    /// Of these, commits of the counted kinds.
    pub counted: u64,
    /// Where transactions have times, the response times of the counted ones together: each from when
    /// it was due to its end, without what its session waited in it as recorded.
    pub response: Option<Duration>,
    /// Time of the sessions' threads on a CPU in user mode. Where the database
    /// runs in them, that is in it. In steps of 10 ms, whose sum over slices is
    /// true.
    pub cpu: Duration,
}

/// Sessions with their terminals, at work only within slices.
///
/// All sessions take their transactions from one count, so a slice ends when
/// the last of so many transactions does. With one session the same seed
/// therefore gives the same transactions in each slice, whatever the speed. Where clients have
/// [shares](Client::share), each session has a count of its own. Where transactions have times
/// ([`Client::dues`]), a slice has those that are due first, and each session as many of them as are
/// its own: nobody's time is the end of somebody else's transaction.
pub struct SlicedLoad {
    shared: Arc<Shared>,
    workers: Vec<(Sender<Turn>, JoinHandle<Audit>)>,
    done: Receiver<Result<SessionEnd, DriverError>>,
    /// Spare buffer for emptying the recorders.
    spare: Vec<Event>,
    /// Where transactions have times.
    timetable: Option<Timetable>,
    /// The share of each session, where clients have any.
    shares: Vec<u64>,
    /// Transactions of all slices so far.
    asked: u64,
    /// Of these, those of each session that has a share.
    given: Vec<u64>,
}

struct Shared {
    /// Transactions of the slice that nobody has taken yet: one count for all sessions, or one for
    /// each.
    left: Vec<AtomicU64>,
    /// Whether to begin no further transaction.
    halted: AtomicBool,
    counts: Mutex<Counts>,
    recorders: Vec<Recorder>,
}

impl Shared {
    fn take_one(&self, session: u32) -> bool {
        let one_less = |left: u64| left.checked_sub(1);
        let left = &self.left[session as usize % self.left.len()];
        !self.halted.load(Ordering::Acquire)
            && left
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less)
                .is_ok()
    }
}

/// The end of a session's part of a slice.
struct SessionEnd {
    session: usize,
    at: Instant,
    cpu: Duration,
    response: Duration,
}

/// A session's part of a slice begins.
#[derive(Clone, Copy)]
struct Turn {
    /// Where transactions have times.
    clock: Option<SliceClock>,
    /// The time of the clock before which the session begins none.
    ready: Duration,
}

/// The clock of a slice.
#[derive(Clone, Copy)]
struct SliceClock {
    origin: Instant,
    /// Its time at the origin.
    begin: Duration,
}

impl SliceClock {
    /// When it shows this time; its origin where no clock goes back so far.
    fn instant(&self, time: Duration) -> Instant {
        let instant = match time.checked_sub(self.begin) {
            Some(ahead) => self.origin.checked_add(ahead.min(FOREVER)),
            None => self.origin.checked_sub(self.begin.saturating_sub(time)),
        };
        instant.unwrap_or(self.origin)
    }

    fn time(&self, instant: Instant) -> Duration {
        self.begin + instant.saturating_duration_since(self.origin)
    }
}

impl SlicedLoad {
    /// Opens the sessions.
    ///
    /// # Errors
    /// When the database refuses a session, or the system a thread.
    pub fn open(database: &dyn Running, settings: SliceSettings<'_>) -> Result<Self, DriverError> {
        let connections = settings.connections.max(1);
        let kinds = settings.workload.transactions();
        let statements = settings.workload.statements();
        let clients = settings.workload.clients(settings.seed, connections);
        let shares: Option<Vec<u64>> = clients.iter().map(|client| client.share()).collect();
        let shares = shares.unwrap_or_default();
        let dues: Option<Vec<Dues>> = clients.iter().map(|client| client.dues()).collect();
        let timetable = dues.and_then(Timetable::new);
        let counts = match timetable {
            Some(_) => clients.len(),
            None => shares.len().max(1),
        };
        let shared = Arc::new(Shared {
            left: (0..counts).map(|_| AtomicU64::new(0)).collect(),
            halted: AtomicBool::new(false),
            counts: Mutex::new(Counts::new(kinds)),
            recorders: (0..connections).map(|_| Recorder::new()).collect(),
        });
        let (sender, done) = mpsc::channel();
        let mut load = Self {
            shared,
            workers: Vec::new(),
            done,
            spare: Recorder::spare(),
            given: vec![0; shares.len()],
            timetable,
            shares,
            asked: 0,
        };
        for (index, client) in (0..connections).zip(clients) {
            let connection = database.connect(index)?;
            let shared = Arc::clone(&load.shared);
            let (commands, begin) = mpsc::channel();
            let sender = sender.clone();
            let work = move || {
                let session = Session {
                    index,
                    connection: Metered::new(connection, statements, &shared.halted),
                    lasting: None,
                    kinds,
                    statements,
                    retries: settings.retries,
                    recorder: &shared.recorders[index as usize],
                    counts: &shared.counts,
                };
                work(client, session, &shared, &begin, &sender)
            };
            let thread = thread::Builder::new().spawn(work);
            let thread = thread.map_err(|source| DriverError::Thread {
                connections,
                source,
            })?;
            load.workers.push((commands, thread));
        }
        Ok(load)
    }

    /// Executes the next `transactions`. Checks `interrupted` several times a second; once it
    /// is true, no further transaction begins.
    ///
    /// # Errors
    /// When a transaction fails in a way that is not counted, or the caller
    /// wants to stop. The load is of no further use then.
    pub fn slice(
        &mut self,
        transactions: u64,
        interrupted: &(dyn Fn() -> bool + Sync),
    ) -> Result<LoadSlice, DriverError> {
        let before = self.ended();
        let stretch = self.give(transactions);
        let begin = Instant::now();
        let clock = stretch.as_ref().map(|stretch| SliceClock {
            origin: begin,
            begin: stretch.begin,
        });
        for (session, (commands, _)) in self.workers.iter().enumerate() {
            let ready = self.timetable.as_ref().map(|times| times.ready(session));
            let ready = ready.unwrap_or_default();
            // A thread that is gone panicked; that it never answers is seen
            // below.
            let _gone = commands.send(Turn { clock, ready });
        }
        let mut slice = LoadSlice {
            response: clock.map(|_| Duration::ZERO),
            ..LoadSlice::default()
        };
        let mut end = begin;
        let mut failure = None;
        let mut is_ended = false;
        let mut working = self.workers.len();
        while working > 0 {
            match self.done.recv_timeout(POLL_INTERVAL) {
                Ok(Ok(done)) => {
                    end = end.max(done.at);
                    slice.cpu += done.cpu;
                    if let Some(response) = &mut slice.response {
                        *response += done.response;
                    }
                    if let (Some(times), Some(clock), Some(stretch)) =
                        (&mut self.timetable, clock, &stretch)
                        && stretch.transactions[done.session] > 0
                    {
                        times.ended(done.session, clock.time(done.at));
                    }
                    working -= 1;
                }
                Ok(Err(error)) => {
                    self.halt();
                    // What was ended from here has failed for that.
                    if !is_ended {
                        failure.get_or_insert(error);
                    }
                    working -= 1;
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    // They end by a panic alone, a bug of ours.
                    let gone = |(_, thread): &(_, JoinHandle<_>)| thread.is_finished();
                    assert!(
                        !self.workers.iter().any(gone),
                        "a session's thread panicked"
                    );
                    if !is_ended && interrupted() {
                        is_ended = true;
                        self.halt();
                    }
                }
            }
        }
        if let Some(error) = failure {
            return Err(error);
        }
        if let (Some(clock), Some(stretch)) = (clock, &stretch) {
            let next = clock.instant(stretch.end);
            if !wait::until(next, wait::watch(Duration::MAX), interrupted) {
                self.halt();
            }
            end = end.max(next);
        }
        if self.shared.halted.load(Ordering::Acquire) {
            return Err(DriverError::Stopped);
        }
        for recorder in &self.shared.recorders {
            recorder.drain(&self.shared.counts, &mut self.spare);
        }
        let after = self.ended();
        slice.elapsed = end - begin;
        slice.transactions = after.0 - before.0;
        slice.counted = after.1 - before.1;
        Ok(slice)
    }

    /// Tells each session how many transactions it has. Answers the slice where transactions have
    /// times.
    fn give(&mut self, transactions: u64) -> Option<Stretch> {
        self.asked += transactions;
        if let Some(times) = &mut self.timetable {
            let stretch = times.slice(transactions);
            for (wanted, left) in stretch.transactions.iter().zip(&self.shared.left) {
                left.store(*wanted, Ordering::Release);
            }
            return Some(stretch);
        }
        if self.shares.is_empty() {
            self.shared.left[0].store(transactions, Ordering::Release);
        }
        let wanted = divided(self.asked, &self.shares);
        for ((wanted, given), left) in wanted.iter().zip(&mut self.given).zip(&self.shared.left) {
            left.store(wanted.saturating_sub(*given), Ordering::Release);
            *given = (*given).max(*wanted);
        }
        None
    }

    /// Takes the counts since the last call.
    pub fn take_counts(&mut self) -> Counts {
        let mut counts = lock(&self.shared.counts);
        let mut empty = counts.clone();
        empty.clear();
        mem::replace(&mut counts, empty)
    }

    /// Closes the sessions. Returns the audit of what was generated.
    pub fn close(mut self) -> Audit {
        let mut audit = Audit::default();
        for (commands, thread) in mem::take(&mut self.workers) {
            drop(commands);
            audit.merge(&thread.join().expect("a session's thread does not panic"));
        }
        audit
    }

    fn halt(&self) {
        self.shared.halted.store(true, Ordering::Release);
    }

    /// Transactions and counted ones since the counts were taken.
    fn ended(&self) -> (u64, u64) {
        let counts = lock(&self.shared.counts);
        (counts.transactions(), counts.counted())
    }
}

impl Drop for SlicedLoad {
    fn drop(&mut self) {
        self.halt();
        for (commands, thread) in mem::take(&mut self.workers) {
            drop(commands);
            let _audit = thread.join();
        }
    }
}

/// A whole number divided by shares, those with the largest rests rounded up.
fn divided(whole: u64, shares: &[u64]) -> Vec<u64> {
    let sum = shares
        .iter()
        .map(|share| u128::from(*share))
        .sum::<u128>()
        .max(1);
    let exact = |share: u64| u128::from(whole) * u128::from(share);
    let mut parts: Vec<u64> = shares
        .iter()
        .map(|share| u64::try_from(exact(*share) / sum).unwrap_or(u64::MAX))
        .collect();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by_key(|position| std::cmp::Reverse(exact(shares[*position]) % sum));
    let rest = whole.saturating_sub(parts.iter().sum());
    for position in order.into_iter().take(usize::try_from(rest).unwrap_or(0)) {
        parts[position] += 1;
    }
    parts
}

/// Executes slices until there are no more.
fn work(
    mut client: Box<dyn Client>,
    mut session: Session<'_>,
    shared: &Shared,
    begin: &Receiver<Turn>,
    done: &Sender<Result<SessionEnd, DriverError>>,
) -> Audit {
    let dues = client.dues();
    let mut number = 0;
    if dues.is_some() {
        wait::ask_for_punctual_waking();
    }
    while let Ok(turn) = begin.recv() {
        let before = user_time();
        let mut response = Duration::ZERO;
        let result = loop {
            if !shared.take_one(session.index) {
                break Ok(());
            }
            let (since, late) = match (&dues, turn.clock) {
                (Some(dues), Some(clock)) => {
                    let due = dues.of(number);
                    number += 1;
                    let stopped = || shared.halted.load(Ordering::Acquire);
                    let begin = clock.instant(due.max(turn.ready));
                    if !wait::until(begin, wait::watch(Duration::MAX), stopped) {
                        break Ok(());
                    }
                    let due = clock.instant(due);
                    (due, due.elapsed())
                }
                _ => (Instant::now(), Duration::ZERO),
            };
            // What is drawn runs.
            let kind = client.draw();
            match session.transact(client.as_mut(), kind, since, late) {
                Ok(took) => response += took.unwrap_or_default(),
                Err(error) => break Err(error),
            }
        };
        let end = SessionEnd {
            session: session.index as usize,
            at: Instant::now(),
            cpu: user_time().saturating_sub(before),
            response,
        };
        if done.send(result.map(|()| end)).is_err() {
            break;
        }
    }
    client.audit()
}

/// Time of this thread in user mode: field 14 of proc_pid_stat(5), in clock
/// ticks, of which Linux tells programs 100 a second. Zero where it is not
/// known.
fn user_time() -> Duration {
    const TICK: Duration = Duration::from_millis(10);
    let ticks = fs::read_to_string("/proc/thread-self/stat")
        .ok()
        .and_then(|stat| {
            // The name, in parentheses, may have blanks.
            let (_, fields) = stat.rsplit_once(')')?;
            fields.split_whitespace().nth(11)?.parse::<u32>().ok()
        });
    ticks.map_or(Duration::ZERO, |ticks| TICK * ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_goes_on_where_it_stood() {
        let ms = Duration::from_millis;
        let origin = Instant::now() + ms(10_000);
        let clock = SliceClock {
            origin,
            begin: ms(500),
        };
        assert_eq!(clock.instant(ms(700)), origin + ms(200));
        // What was due before the slice began is late by that, too.
        assert_eq!(clock.instant(ms(450)), origin.checked_sub(ms(50)).unwrap());
        assert_eq!(clock.time(origin + ms(200)), ms(700));
        let _is_no_panic = clock.instant(Duration::MAX);
    }

    #[test]
    fn shares_have_their_parts() {
        for (whole, shares, parts) in [
            (10, &[1, 1][..], &[5, 5][..]),
            (10, &[2, 1], &[7, 3]),
            (11, &[2, 1, 1], &[5, 3, 3]),
            (3, &[1, 1, 1, 1], &[1, 1, 1, 0]),
            (0, &[3], &[0]),
            (7, &[], &[]),
        ] {
            assert_eq!(divided(whole, shares), parts, "{whole} {shares:?}");
        }
    }
}
