//! Outcomes and latencies of transactions over some time.

use std::{borrow::Cow, time::Duration};

use octavo_workload::{Outcome, TransactionKind, connection::Conflict};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::latency::{Latencies, Percentiles};

/// How a transaction, or a try of one, ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TryOutcome {
    Committed,
    RolledBack,
    /// A try ended in a conflict; another one may follow.
    Conflicted(Conflict),
    /// No further try after a conflict.
    GaveUp,
    TimedOut,
    Lost,
}

/// Number of outcomes.
const OUTCOMES: usize = 8;

impl TryOutcome {
    const fn position(self) -> usize {
        match self {
            Self::Committed => 0,
            Self::RolledBack => 1,
            Self::Conflicted(Conflict::Deadlock) => 2,
            Self::Conflicted(Conflict::Serialisation) => 3,
            Self::Conflicted(Conflict::LockTimeout) => 4,
            Self::GaveUp => 5,
            Self::TimedOut => 6,
            Self::Lost => 7,
        }
    }

    /// Whether the transaction was done as the workload wants it.
    const fn is_success(self) -> bool {
        matches!(self, Self::Committed | Self::RolledBack)
    }
}

impl TryOutcome {
    /// Whether a transaction that ended so is part of the throughput.
    pub(crate) fn is_counted(self, kind: &TransactionKind) -> bool {
        match self {
            Self::Committed => kind.counts(Outcome::Committed),
            Self::RolledBack => kind.counts(Outcome::RolledBack),
            _ => false,
        }
    }
}

impl From<Outcome> for TryOutcome {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Committed => Self::Committed,
            Outcome::RolledBack => Self::RolledBack,
        }
    }
}

/// One outcome, in 16 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) kind: u8,
    pub(crate) outcome: TryOutcome,
    pub(crate) changed_bytes: u32,
    latency_us: f32,
    late_us: f32,
}

impl Event {
    /// An outcome of a transaction of `kind` after `latency`, begun `late`
    /// after its schedule.
    pub(crate) fn new(
        kind: usize,
        outcome: TryOutcome,
        changed_bytes: u64,
        latency: Duration,
        late: Duration,
    ) -> Self {
        Self {
            kind: u8::try_from(kind).unwrap_or(u8::MAX),
            outcome,
            changed_bytes: u32::try_from(changed_bytes).unwrap_or(u32::MAX),
            latency_us: microseconds(latency),
            late_us: microseconds(late),
        }
    }
}

/// Seven significant digits: nanoseconds up to some milliseconds.
fn microseconds(time: Duration) -> f32 {
    (time.as_secs_f64() * 1e6) as f32
}

/// Count of each outcome, in the order of [`KindCounts::OUTCOMES`].
pub type Outcomes = [u64; OUTCOMES];

/// What one kind of transaction did: the one shape that is recorded, stored,
/// and reported. As JSON it has the outcomes by name, `latency_us` with its
/// percentiles, and `response_time` where the specification has a limit.
#[derive(Clone, Debug)]
pub struct KindCounts {
    /// The kind's name.
    pub name: Cow<'static, str>,
    /// Whether its commits are the workload's throughput.
    pub counted: bool,
    /// Whether its rollbacks are, too.
    counts_rollbacks: bool,
    /// Within which time 90% have to be answered, where the specification
    /// says so.
    pub response_limit: Option<Duration>,
    outcomes: Outcomes,
    /// Latencies of what committed or rolled back as the specification wants.
    pub latencies: Latencies,
}

/// A limit of response times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ResponseTime {
    /// 90% have to be answered within this many seconds.
    pub limit_s: f64,
    /// Whether they were; true without transactions.
    pub kept: bool,
}

impl KindCounts {
    /// The names of [`Self::outcomes`], as columns of the result store.
    pub const OUTCOMES: [&'static str; OUTCOMES] = [
        "committed",
        "rolled_back",
        "deadlocks",
        "serialization_failures",
        "lock_timeouts",
        "gave_up",
        "timed_out",
        "lost",
    ];

    /// Empty counts.
    pub fn new(kind: &TransactionKind) -> Self {
        Self::with_outcomes(kind, [0; OUTCOMES], Latencies::default())
    }

    /// Counts with stored outcomes and latencies.
    pub fn with_outcomes(kind: &TransactionKind, outcomes: Outcomes, latencies: Latencies) -> Self {
        Self {
            name: Cow::Borrowed(kind.name),
            counted: kind.counted,
            counts_rollbacks: kind.counts_rollbacks,
            response_limit: kind.response_limit,
            outcomes,
            latencies,
        }
    }

    /// Count of each outcome.
    pub fn outcomes(&self) -> &Outcomes {
        &self.outcomes
    }

    fn count(&self, outcome: TryOutcome) -> u64 {
        self.outcomes[outcome.position()]
    }

    /// Committed.
    pub fn committed(&self) -> u64 {
        self.count(TryOutcome::Committed)
    }

    /// Rolled back as the specification wants.
    pub fn rolled_back(&self) -> u64 {
        self.count(TryOutcome::RolledBack)
    }

    /// Attempts that ended in this conflict, repeated or not.
    pub fn conflicts(&self, conflict: Conflict) -> u64 {
        self.count(TryOutcome::Conflicted(conflict))
    }

    /// Retries after conflicts.
    pub fn retries(&self) -> u64 {
        let conflicts = [
            Conflict::Deadlock,
            Conflict::Serialisation,
            Conflict::LockTimeout,
        ];
        total(conflicts.map(|conflict| self.conflicts(conflict)))
            // The last conflict is counted together with giving up; a damaged store may
            // hold anything.
            .saturating_sub(self.gave_up())
    }

    /// Transactions given up when their last retry ended in a conflict.
    pub fn gave_up(&self) -> u64 {
        self.count(TryOutcome::GaveUp)
    }

    /// Transactions with a statement above the database's time limit.
    pub fn timed_out(&self) -> u64 {
        self.count(TryOutcome::TimedOut)
    }

    /// Transactions whose connection was lost: committed or not, nobody
    /// knows.
    pub fn lost(&self) -> u64 {
        self.count(TryOutcome::Lost)
    }

    /// Transactions that failed in any way.
    pub fn failed(&self) -> u64 {
        total([self.gave_up(), self.timed_out(), self.lost()])
    }

    /// Whether no transaction of the kind was even tried.
    pub fn is_idle(&self) -> bool {
        self.outcomes.iter().all(|&count| count == 0)
    }

    /// The limit of response times and whether it was kept.
    pub fn response_time(&self) -> Option<ResponseTime> {
        self.response_limit.map(|limit| ResponseTime {
            limit_s: limit.as_secs_f64(),
            kept: u128::from(self.latencies.percentiles().p90_us) <= limit.as_micros(),
        })
    }

    /// Adds what the same kind did elsewhere.
    pub fn add(&mut self, other: &Self) {
        for (own, count) in self.outcomes.iter_mut().zip(other.outcomes) {
            *own = own.saturating_add(count);
        }
        self.latencies.add(&other.latencies);
    }

    /// Adds conflicts and failures of the same kind elsewhere, without its successes.
    fn add_troubles(&mut self, other: &Self) {
        let first = TryOutcome::Conflicted(Conflict::Deadlock).position();
        let others = &other.outcomes[first..];
        for (own, count) in self.outcomes[first..].iter_mut().zip(others) {
            *own = own.saturating_add(*count);
        }
    }

    fn clear(&mut self) {
        self.outcomes = [0; OUTCOMES];
        self.latencies.clear();
    }
}

impl Serialize for KindCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("KindCounts", OUTCOMES + 4)?;
        object.serialize_field("name", &self.name)?;
        for (name, count) in Self::OUTCOMES.into_iter().zip(self.outcomes) {
            object.serialize_field(name, &count)?;
        }
        object.serialize_field("retries", &self.retries())?;
        object.serialize_field("latency_us", &self.latencies)?;
        object.serialize_field("response_time", &self.response_time())?;
        object.end()
    }
}

impl JsonSchema for KindCounts {
    fn schema_name() -> Cow<'static, str> {
        "KindCounts".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let count = generator.subschema_for::<u64>();
        let mut properties = serde_json::Map::new();
        for name in Self::OUTCOMES.into_iter().chain(["retries"]) {
            properties.insert(name.into(), count.clone().to_value());
        }
        for (name, schema) in [
            ("name", generator.subschema_for::<String>()),
            ("latency_us", generator.subschema_for::<Percentiles>()),
            (
                "response_time",
                generator.subschema_for::<Option<ResponseTime>>(),
            ),
        ] {
            properties.insert(name.into(), schema.to_value());
        }
        let required: Vec<String> = properties.keys().cloned().collect();
        json_schema!({ "type": "object", "properties": properties, "required": required })
    }
}

/// The sum, or the largest number where that is less: a damaged store may hold
/// any counts.
fn total(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// What all connections did in some time. As JSON it has `kinds` without those
/// that were never tried, the sums over them (`transactions`, `failed`,
/// `retries`, `counted`), and `latency_us`, of all kinds together.
#[derive(Clone, Debug)]
pub struct Counts {
    /// One entry a kind of transaction.
    pub kinds: Vec<KindCounts>,
    /// How much later than due transactions began; all 0 in a closed loop with
    /// as many terminals as connections.
    pub late: Latencies,
    /// Bytes of the column values that committed transactions set or
    /// inserted.
    pub changed_bytes: u64,
}

impl Counts {
    /// Empty counts of transactions of these kinds.
    pub fn new(kinds: &[TransactionKind]) -> Self {
        Self {
            kinds: kinds.iter().map(KindCounts::new).collect(),
            late: Latencies::default(),
            changed_bytes: 0,
        }
    }

    /// Counts a transaction that took so long.
    ///
    /// # Panics
    /// When there is no kind at this position.
    pub fn count(&mut self, kind: usize, outcome: Outcome, latency: Duration) {
        let kind = &mut self.kinds[kind];
        kind.outcomes[TryOutcome::from(outcome).position()] += 1;
        kind.latencies.record(microseconds(latency));
    }

    /// Transactions that ended as the workload wants.
    pub fn transactions(&self) -> u64 {
        let ended = |kind: &KindCounts| [kind.committed(), kind.rolled_back()];
        total(self.kinds.iter().flat_map(ended))
    }

    /// Commits of the kinds that count, and rollbacks of those whose rollbacks do.
    pub fn counted(&self) -> u64 {
        let counted = self.kinds.iter().filter(|kind| kind.counted);
        total(counted.flat_map(|kind| {
            let rolled_back = match kind.counts_rollbacks {
                true => kind.rolled_back(),
                false => 0,
            };
            [kind.committed(), rolled_back]
        }))
    }

    /// Transactions that failed.
    pub fn failed(&self) -> u64 {
        total(self.kinds.iter().map(KindCounts::failed))
    }

    /// Retries after conflicts.
    pub fn retries(&self) -> u64 {
        total(self.kinds.iter().map(KindCounts::retries))
    }

    /// The latencies of all kinds together.
    pub fn latencies(&self) -> Latencies {
        let mut all = Latencies::default();
        for kind in &self.kinds {
            all.add(&kind.latencies);
        }
        all
    }

    /// Percentiles of the latencies of all kinds together.
    pub fn percentiles(&self) -> Percentiles {
        self.latencies().percentiles()
    }

    /// Counts the events of a buffer, which is empty then.
    pub(crate) fn take(&mut self, events: &mut Vec<Event>) {
        for event in events.drain(..) {
            let kind = &mut self.kinds[usize::from(event.kind)];
            kind.outcomes[event.outcome.position()] += 1;
            if event.outcome.is_success() {
                kind.latencies.record(event.latency_us);
                self.late.record(event.late_us);
            }
            if event.outcome == TryOutcome::Committed {
                self.changed_bytes += u64::from(event.changed_bytes);
            }
        }
    }

    /// Adds what was done at another time.
    pub fn add(&mut self, other: &Self) {
        for (own, kind) in self.kinds.iter_mut().zip(&other.kinds) {
            own.add(kind);
        }
        self.late.add(&other.late);
        self.changed_bytes += other.changed_bytes;
    }

    /// Adds conflicts and failures at another time, whose throughput and
    /// latencies do not count.
    pub(crate) fn add_troubles(&mut self, other: &Self) {
        for (own, kind) in self.kinds.iter_mut().zip(&other.kinds) {
            own.add_troubles(kind);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.kinds.iter_mut().for_each(KindCounts::clear);
        self.late.clear();
        self.changed_bytes = 0;
    }
}

/// [`Counts`] as JSON.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Counts")]
struct CountsFields<'a> {
    transactions: u64,
    failed: u64,
    retries: u64,
    counted: u64,
    latency_us: Percentiles,
    kinds: Vec<&'a KindCounts>,
    changed_bytes: u64,
}

impl Serialize for Counts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kinds = self.kinds.iter().filter(|kind| !kind.is_idle());
        let fields = CountsFields {
            transactions: self.transactions(),
            failed: self.failed(),
            retries: self.retries(),
            counted: self.counted(),
            latency_us: self.percentiles(),
            kinds: kinds.collect(),
            changed_bytes: self.changed_bytes,
        };
        fields.serialize(serializer)
    }
}

impl JsonSchema for Counts {
    fn schema_name() -> Cow<'static, str> {
        CountsFields::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        CountsFields::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rollbacks_of_scripts_count_and_others_do_not() {
        let counted = |kind: TransactionKind| {
            let mut counts = Counts::new(&[kind]);
            counts.count(0, Outcome::Committed, Duration::ZERO);
            counts.count(0, Outcome::RolledBack, Duration::ZERO);
            let event = TryOutcome::from(Outcome::RolledBack);
            assert_eq!(counts.counted() == 2, event.is_counted(&kind));
            assert!(!TryOutcome::TimedOut.is_counted(&kind));
            counts.counted()
        };
        assert_eq!(counted(TransactionKind::PLAIN), 1);
        assert_eq!(counted(TransactionKind::script("mine")), 2);
        let counts_nothing = TransactionKind {
            counted: false,
            ..TransactionKind::script("mine")
        };
        assert_eq!(counted(counts_nothing), 0);
    }

    #[test]
    fn outcomes_are_counted_apart() {
        let mut counts = Counts::new(&[TransactionKind::PLAIN; 2]);
        let outcomes = [
            TryOutcome::Committed,
            TryOutcome::RolledBack,
            TryOutcome::Conflicted(Conflict::Deadlock),
            TryOutcome::Conflicted(Conflict::Serialisation),
            TryOutcome::Conflicted(Conflict::LockTimeout),
            TryOutcome::GaveUp,
            TryOutcome::TimedOut,
            TryOutcome::Lost,
        ];
        for (times, outcome) in (1..).zip(outcomes) {
            let late = Duration::from_micros(3);
            let event = Event::new(1, outcome, 10, Duration::from_secs(100_000), late);
            counts.take(&mut vec![event; times]);
        }
        let kind = &counts.kinds[1];
        assert_eq!((kind.committed(), kind.rolled_back()), (1, 2));
        assert_eq!(kind.conflicts(Conflict::Serialisation), 4);
        assert_eq!(kind.retries(), 3 + 4 + 5 - 6);
        assert_eq!(kind.failed(), 6 + 7 + 8);
        // Only what succeeded has a latency, cut at 10 minutes.
        assert_eq!(kind.latencies.count(), 3);
        assert!(kind.latencies.percentiles().max_us >= 599_000_000);
        let mut sum = counts.clone();
        sum.add(&counts);
        assert_eq!((sum.transactions(), sum.failed()), (6, 42));
        let mut troubles = Counts::new(&[TransactionKind::PLAIN; 2]);
        troubles.add_troubles(&sum);
        assert_eq!((troubles.transactions(), troubles.failed()), (0, 42));
        assert_eq!(troubles.retries(), sum.retries());
        assert_eq!(troubles.latencies().count(), 0);
        sum.clear();
        assert_eq!((sum.transactions(), sum.percentiles().max_us), (0, 0));
    }

    #[test]
    fn counts_of_a_damaged_store_do_not_overflow() {
        let kind = KindCounts::with_outcomes(
            &TransactionKind::PLAIN,
            [u64::MAX; OUTCOMES],
            Latencies::default(),
        );
        let mut counts = Counts::new(&[]);
        counts.kinds = vec![kind.clone(), kind];
        assert_eq!(counts.transactions(), u64::MAX);
        assert_eq!((counts.counted(), counts.failed()), (u64::MAX, u64::MAX));
        assert_eq!(counts.retries(), 0);
        let twice = counts.clone();
        counts.add(&twice);
        assert_eq!(counts.kinds[0].committed(), u64::MAX);
    }
}
