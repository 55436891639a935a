//! What transactions take of a processor when all pages are in memory: the time of the process or
//! thread that serves the session, and of this thread. Writing the log to the page cache at a commit
//! is in it, flushing is not. Commits that do not wait for the log (PostgreSQL's
//! `synchronous_commit` off) would leave out both, but its readers may not note such a commit on rows
//! until the log is written (`SetHintBits` in heapam_visibility.c), and look it up again and again:
//! updates took 290 us so, and 60 to 125 as here.

use std::{
    fs,
    time::{Duration, Instant},
};

use octavo_units::ByteCount;
use octavo_workload::Connection;
use rustix::{
    system::sysinfo,
    time::{ClockId, clock_gettime},
};

use crate::{
    DatabaseError, PagesWanted, Progress, Result, error::unless_stopped, turns::ClientTurns,
};

/// How long transactions run before any is timed, at most: until pages are at hand, as told by looks in
/// which hardly anything was read. How long they are timed, or how many of them at most. Chosen.
const BEFORE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(500);
const READ_MAX: u64 = 512;
const TIMED: Duration = Duration::from_secs(2);
const TIMED_MAX: u64 = 20_000;

/// Transactions that are executed before any is timed, and that are timed, at least.
const LEAST: u64 = 50;

/// Pages of a buffer that has room for so many, but for no more than half of the machine's memory.
pub(crate) fn buffer_pages(wanted: &PagesWanted<'_>, most: u32) -> u64 {
    /// For pages that come later, and for what the server has besides.
    const SPARE: ByteCount = ByteCount::mib(32);
    let about = sysinfo();
    let half = about.totalram.saturating_mul(about.mem_unit.into()) / 2;
    let page = u64::from(wanted.page_size.get());
    let all = u64::from(most) + SPARE.get() / page;
    all.min(half / page)
}

/// What further transactions take of a processor, by their kinds, of this thread and of the process
/// or thread that serves the session.
///
/// # Errors
/// [`DatabaseError::Stopped`] when `progress` stopped it, [`DatabaseError::Unrecorded`] when the
/// kernel does not tell times, and when a transaction fails before enough were timed.
pub(crate) fn time(
    session: &mut dyn Connection,
    pid: i32,
    turns: &mut ClientTurns,
    progress: &mut Progress<'_>,
    wanted: &PagesWanted<'_>,
) -> Result<Vec<Option<Duration>>> {
    let mut taken = vec![(Duration::ZERO, 0u32); wanted.workload.transactions().len()];
    let mut number = 0;
    let mut begun = Instant::now();
    // Without those before.
    let mut timed = None;
    let mut look = Look::begin(pid);
    loop {
        let is_over = match timed {
            None => begun.elapsed() >= BEFORE.min(wanted.time_max) || look.is_warm(pid),
            Some(_) => begun.elapsed() >= TIMED.min(wanted.time_max) || number >= TIMED_MAX,
        };
        if number >= LEAST && is_over {
            if timed.is_some() {
                break;
            }
            (number, begun, timed) = (0, Instant::now(), Some(used(pid)?));
        }
        unless_stopped(progress(wanted.transactions))?;
        let began = thread_time();
        let (kind, _) = match turns.next(session) {
            Ok(ran) => ran,
            // The prediction has all that it needs: rows of later ones may run out.
            Err(_) if timed.is_some() && number >= LEAST => break,
            Err(error) => return Err(error),
        };
        let own = thread_time() - began;
        number += 1;
        look.transactions += 1;
        if let Some(before) = &mut timed {
            // What the process does behind its answer is the next one's.
            let now = used(pid)?;
            taken[kind].0 += own + now.saturating_sub(*before);
            taken[kind].1 += 1;
            *before = now;
        }
    }
    session.rollback()?;
    let mean = |(time, count): (Duration, u32)| (count > 0).then(|| time / count);
    Ok(taken.into_iter().map(mean).collect())
}

/// A while of the warm-up.
struct Look {
    begun: Instant,
    /// Bytes that the process had read.
    read: Option<u64>,
    transactions: u64,
}

impl Look {
    fn begin(pid: i32) -> Self {
        Self {
            begun: Instant::now(),
            read: read(pid),
            transactions: 0,
        }
    }

    /// Whether a while is over in which a transaction read next to nothing in the mean. Another begins
    /// otherwise. Where the kernel does not tell, each while is one.
    fn is_warm(&mut self, pid: i32) -> bool {
        if self.begun.elapsed() < LOOK || self.transactions < LEAST {
            return false;
        }
        let before = std::mem::replace(self, Self::begin(pid));
        let bytes = self.read.zip(before.read);
        bytes.is_none_or(|(now, then)| now.saturating_sub(then) <= READ_MAX * before.transactions)
    }
}

/// Bytes that a process has read from files (`/proc/PID/io`, of all its threads).
fn read(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("rchar: "));
    line?.trim().parse().ok()
}

/// Time of this thread on a processor.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Time of a process on a processor (`/proc/PID/schedstat`, in nanoseconds).
fn used(pid: i32) -> Result<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
    let first = text.split_whitespace().next();
    let ns = first.and_then(|first| first.parse().ok());
    let ns = ns.ok_or(DatabaseError::Unrecorded {
        reason: "the kernel does not say how long a process was on a processor \
            (/proc/PID/schedstat, CONFIG_SCHED_INFO)",
    })?;
    Ok(Duration::from_nanos(ns))
}
