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
use octavo_workload::{Audit, Client, Workload};

use crate::{
    counts::{Counts, Event},
    error::DriverError,
    metered::Metered,
    recorder::{Recorder, lock},
    run_state::POLL_INTERVAL,
    worker::Session,
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
    /// From letting the sessions go to the end of the last one's transaction.
    pub elapsed: Duration,
    /// Transactions that ended as the workload wants.
    pub transactions: u64,
    /// Of these, commits of the counted kinds.
    pub counted: u64,
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
/// [shares](Client::share), each session has a count of its own.
pub struct SlicedLoad {
    shared: Arc<Shared>,
    workers: Vec<(Sender<()>, JoinHandle<Audit>)>,
    done: Receiver<Result<SessionEnd, DriverError>>,
    /// Spare buffer for emptying the recorders.
    spare: Vec<Event>,
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
    at: Instant,
    cpu: Duration,
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
        let shared = Arc::new(Shared {
            left: (0..shares.len().max(1))
                .map(|_| AtomicU64::new(0))
                .collect(),
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
            shares,
            asked: 0,
        };
        for (index, client) in (0..connections).zip(clients) {
            let connection = Metered::new(database.connect(index)?, statements);
            let shared = Arc::clone(&load.shared);
            let (commands, begin) = mpsc::channel();
            let sender = sender.clone();
            let work = move || {
                let session = Session {
                    index,
                    connection,
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
        self.asked += transactions;
        if self.shares.is_empty() {
            self.shared.left[0].store(transactions, Ordering::Release);
        }
        let wanted = divided(self.asked, &self.shares);
        for ((wanted, given), left) in wanted.iter().zip(&mut self.given).zip(&self.shared.left) {
            left.store(wanted.saturating_sub(*given), Ordering::Release);
            *given = (*given).max(*wanted);
        }
        let begin = Instant::now();
        for (commands, _) in &self.workers {
            // A thread that is gone panicked; that it never answers is seen
            // below.
            let _gone = commands.send(());
        }
        let mut slice = LoadSlice::default();
        let mut end = begin;
        let mut failure = None;
        let mut working = self.workers.len();
        while working > 0 {
            match self.done.recv_timeout(POLL_INTERVAL) {
                Ok(Ok(done)) => {
                    end = end.max(done.at);
                    slice.cpu += done.cpu;
                    working -= 1;
                }
                Ok(Err(error)) => {
                    self.halt();
                    failure.get_or_insert(error);
                    working -= 1;
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    // They end by a panic alone, a bug of ours.
                    let gone = |(_, thread): &(_, JoinHandle<_>)| thread.is_finished();
                    assert!(
                        !self.workers.iter().any(gone),
                        "a session's thread panicked"
                    );
                    if interrupted() {
                        self.halt();
                    }
                }
            }
        }
        if let Some(error) = failure {
            return Err(error);
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
    begin: &Receiver<()>,
    done: &Sender<Result<SessionEnd, DriverError>>,
) -> Audit {
    while begin.recv().is_ok() {
        let before = user_time();
        let result = loop {
            if !shared.take_one(session.index) {
                break Ok(());
            }
            let kind = client.draw();
            let transacted =
                session.transact(client.as_mut(), kind, Instant::now(), Duration::ZERO);
            if transacted.is_err() {
                break transacted;
            }
        };
        let at = Instant::now();
        let cpu = user_time().saturating_sub(before);
        if done.send(result.map(|()| SessionEnd { at, cpu })).is_err() {
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
    use super::divided;

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
