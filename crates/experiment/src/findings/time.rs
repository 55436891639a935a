//! Where a transaction's time goes, and what the slowest wait for.

use std::time::Duration;

use octavo_database::Counters;
use octavo_driver::{KindCounts, P99Between};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    lockstep::{SessionTime, Slice},
    record::Figures,
    waits::{Parts, WaitTimes, Waits},
};

/// Where a transaction's time goes, in microseconds: means over all
/// transactions, of the time that a session spends on one. The whole follows from the
/// cell's throughput and so stands to those of other cells as throughputs do, though some
/// were measured in other minutes; its parts are shares of it. A part that nothing times is
/// `None`, and in the rest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TransactionTime {
    /// All of it.
    pub total_us: f64,
    /// Reading pages.
    pub read_us: Option<f64>,
    /// Writing the log.
    pub log_write_us: Option<f64>,
    /// Flushing the log.
    pub log_sync_us: Option<f64>,
    /// Writing and flushing data files, at checkpoints or at each commit.
    pub checkpoint_us: Option<f64>,
    /// Of this, flushing them; `None` where that is not timed apart.
    pub checkpoint_sync_us: Option<f64>,
    /// On a CPU in user mode, database and client. `None` also where all of it was too short
    /// for the clock that counts it.
    pub cpu_us: Option<f64>,
    /// The share of CPU time in user mode that [`Self::cpu_us`] leaves out: requests were
    /// timed with it.
    #[serde(skip)]
    pub cpu_in_requests: f64,
    /// What it waits for that others have or do, where that is known: of predicted cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<WaitTimes>,
    /// The rest, 0 or more: the kernel's work besides the above, waiting for a CPU, for locks
    /// and for other sessions, and parts that nothing times.
    pub other_us: f64,
}

impl TransactionTime {
    /// All but the whole and the rest.
    pub fn parts(&self) -> [Option<f64>; 5] {
        [
            self.read_us,
            self.log_write_us,
            self.log_sync_us,
            self.checkpoint_us,
            self.cpu_us,
        ]
    }

    /// Its parts, where it is known what it waits for.
    pub(crate) fn bounded(&self) -> Option<Parts> {
        let of = |part: Option<f64>| part.unwrap_or(0.0);
        Some(Parts {
            total_us: self.total_us,
            cpu_us: of(self.cpu_us),
            read_us: of(self.read_us),
            checkpoint_us: of(self.checkpoint_us),
            log_us: of(self.log_write_us) + of(self.log_sync_us),
            waits: self.waits?,
        })
    }

    /// Whether every part is timed.
    pub fn is_whole(&self) -> bool {
        self.parts().iter().all(Option::is_some)
    }
}

/// Latencies of all transactions together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Tail {
    /// Median, in microseconds.
    pub p50_us: u64,
    /// 95th percentile.
    pub p95_us: u64,
    /// 99th percentile.
    pub p99_us: u64,
    /// Between what that lies at 95%.
    pub p99_between: P99Between,
    /// 99.9th percentile.
    pub p999_us: u64,
    /// Mean time of a checkpoint that a session makes, in microseconds; `None`
    /// where sessions make none.
    pub checkpoint_us: Option<f64>,
    /// Checkpoints a transaction; `None` where none was counted.
    pub checkpoints: Option<f64>,
}

impl Tail {
    /// Whether the 99th percentile is the time of checkpoints: at least one in
    /// a hundred transactions makes one, and it takes at least half as long.
    pub fn is_checkpoints(&self) -> bool {
        self.checkpoints.is_some_and(|of| of >= 0.01)
            && self
                .checkpoint_us
                .is_some_and(|mean| mean >= 0.5 * self.p99_us as f64)
    }
}

/// Where the time of so many sessions went, whose transactions end `apart_us` from each
/// other: each part has the share of it that it had of slices, in which a byte of log
/// stands for so many seconds of checkpoints. Parts are timed apart, so
/// they may come to more than the whole by a little: then the CPU's is smaller, which is
/// known the least, or all are where that is not enough. A part that nothing times is a part
/// of the rest. `sync_share` is the share of flushes in what data files take ([`sync_share`]).
/// `others` are waits for them of all transactions, those of passes that do not count among them.
pub(super) fn transaction_time(
    slices: &[&Slice],
    is_checkpoint_timed: bool,
    checkpoint_cost: Option<f64>,
    sync_share: Option<f64>,
    sessions: u32,
    apart_us: f64,
    others: Option<&Waits>,
) -> Option<TransactionTime> {
    // Sessions that wait until their transactions are due have no whole to be parts of.
    if slices.iter().any(|slice| slice.response.is_some()) {
        return None;
    }
    let spent: Vec<SessionTime> = slices.iter().filter_map(|slice| slice.spent).collect();
    let seconds = |of: fn(&Slice) -> Duration| {
        let times = slices.iter().map(|slice| of(slice).as_secs_f64());
        times.sum::<f64>()
    };
    // As throughput is made: those of the slices may be more or fewer than their part.
    let of_slices = seconds(|slice| slice.checkpoint().unwrap_or_default());
    let log_bytes: f64 = slices
        .iter()
        .map(|slice| slice.log_bytes.get() as f64)
        .sum();
    let checkpoints = checkpoint_cost.map_or(of_slices, |cost| cost * log_bytes);
    let sessions = f64::from(sessions);
    let whole = sessions * (seconds(|slice| slice.elapsed) - of_slices + checkpoints);
    if spent.len() < slices.len() || whole <= 0.0 || !apart_us.is_finite() {
        return None;
    }
    let share = |part: fn(&SessionTime) -> Option<Duration>| {
        let times: Vec<Duration> = spent.iter().filter_map(part).collect();
        let time: f64 = times.iter().map(Duration::as_secs_f64).sum();
        (!times.is_empty()).then(|| time / whole)
    };
    // Older stores have 0 for what was not timed.
    let timed = |share: Option<f64>, is_done: bool| share.filter(|of| *of > 0.0 || !is_done);
    let is_missed = slices.iter().any(|slice| slice.misses > 0);
    let is_logged = slices.iter().any(|slice| slice.log_bytes.get() > 0);
    let read = timed(share(|spent| spent.read), is_missed);
    let log = [
        share(|spent| spent.log_write),
        share(|spent| spent.log_sync),
    ];
    let is_log_timed = log.iter().flatten().sum::<f64>() > 0.0 || !is_logged;
    let [log_write, log_sync] = log.map(|share| share.filter(|_| is_log_timed));
    // A database that times no writes of its log times none of its data files.
    let are_writes_timed = log_write.is_some() || log_sync.is_some();
    let checkpoint = timed(
        Some(checkpoints / whole),
        !are_writes_timed || !is_checkpoint_timed,
    );
    let waits = [read, log_write, log_sync, checkpoint];
    let waited: f64 = waits.iter().flatten().sum();
    let all_cpu = timed(share(|spent| Some(spent.cpu)), true);
    // A model times none of it twice. What was under way when the first slice began is in the
    // time of transactions, and not in that of slices: all parts are too long by as much.
    let fitting = match others {
        Some(_) => (waited + all_cpu.unwrap_or(0.0)).max(1.0),
        None => waited.max(1.0),
    };
    let waited = waited / fitting;
    let cpu = all_cpu.map(|cpu| match others {
        Some(_) => cpu / fitting,
        None => cpu.min((1.0 - waited).max(0.0)),
    });
    let all_cpu = all_cpu.map(|cpu| match others {
        Some(_) => cpu / fitting,
        None => cpu,
    });
    let in_requests = all_cpu.zip(cpu).map(|(all, beside)| 1.0 - beside / all);
    let total_us = sessions * apart_us;
    let [read_us, log_write_us, log_sync_us, checkpoint_us] =
        waits.map(|share| Some(share? / fitting * total_us));
    let rest_us = rest(1.0 - waited.min(1.0) - cpu.unwrap_or(0.0)) * total_us;
    let others = others.map(|waits| waits.times(total_us).within(rest_us));
    Some(TransactionTime {
        total_us,
        read_us,
        log_write_us,
        log_sync_us,
        checkpoint_us,
        checkpoint_sync_us: checkpoint_us
            .zip(sync_share)
            .map(|(all, share)| all * share),
        cpu_us: cpu.map(|cpu| cpu * total_us),
        cpu_in_requests: in_requests.map_or(0.0, rest),
        waits: others,
        other_us: rest(rest_us / total_us - others.map_or(0.0, |of| of.all_us() / total_us))
            * total_us,
    })
}

/// What parts leave of a whole of 1. Where nothing is left, sums of fractions may miss by a
/// hair.
fn rest(share: f64) -> f64 {
    if share < 1e-9 { 0.0 } else { share }
}

pub(super) fn tail(runs: &[&Figures], kinds: &[KindCounts]) -> Option<Tail> {
    let mut all = kinds.first()?.latencies.clone();
    for kind in &kinds[1..] {
        all.add(&kind.latencies);
    }
    let executed = runs.iter().map(|run| run.load.transactions());
    let transactions = executed.fold(0, u64::saturating_add);
    if transactions == 0 {
        return None;
    }
    let percentiles = all.percentiles();
    let counters = || runs.iter().map(|run| &run.load.counters);
    let checkpoints = counters()
        .map(|of| of.checkpoints)
        .fold(0, u64::saturating_add);
    let time = counters()
        .map(|of| of.checkpoint_time)
        .fold(Duration::ZERO, Duration::saturating_add);
    Some(Tail {
        p50_us: percentiles.p50_us,
        p95_us: percentiles.p95_us,
        p99_us: percentiles.p99_us,
        p99_between: all.p99_between(),
        p999_us: percentiles.p999_us,
        checkpoint_us: (checkpoints > 0 && !time.is_zero())
            .then(|| time.as_secs_f64() * 1e6 / checkpoints as f64),
        checkpoints: (checkpoints > 0).then(|| checkpoints as f64 / transactions as f64),
    })
}

/// Which share of the time that sessions spend in writing and flushing data files the flushes have;
/// `None` where neither is timed.
pub(super) fn sync_share(runs: &[&Figures]) -> Option<f64> {
    let counters = || runs.iter().map(|run| &run.load.counters);
    let sum = |of: fn(&Counters) -> Duration| {
        counters()
            .map(of)
            .map(|time| time.as_secs_f64())
            .sum::<f64>()
    };
    let sync = sum(|of| of.sync_time.saturating_sub(of.log_sync_time));
    let write = sum(|of| of.write_time.saturating_sub(of.log_write_time));
    (sync + write > 0.0).then(|| sync / (sync + write))
}

/// Whether the time of checkpoints is known: all the time of some is no time only where none
/// was made.
pub(super) fn is_checkpoint_timed(runs: &[&Figures]) -> bool {
    let mut counters = runs.iter().map(|run| &run.load.counters);
    counters.all(|of| of.checkpoints == 0)
        || runs
            .iter()
            .any(|run| !run.load.counters.checkpoint_time.is_zero())
}
