//! What was recorded, ready to be sent again.

use std::{collections::BTreeMap, ops::Range, time::Duration};

use octavo_script::{Access, Part};

use crate::left::Left;

/// Statements of sessions, by transactions.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Statements that differ in values alone, in the order in which they first stand.
    pub forms: Vec<Form>,
    /// In the order in which they began.
    pub transactions: Vec<Transaction>,
    /// How many sessions have transactions here.
    pub sessions: u32,
    /// How many statements were recorded, but for those that begin and end transactions.
    pub statements: u64,
    /// Of these the ones that are not sent again.
    pub left: BTreeMap<Left, u64>,
    /// How long all statements took, where that was recorded.
    pub took: Option<Duration>,
    pub(crate) steps: Vec<Step>,
    pub(crate) values: Vec<Held>,
    pub(crate) texts: String,
}

/// A statement with its values taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// Its SQL.
    pub parts: Vec<Part>,
    /// How many parameters it has.
    pub parameters: usize,
    /// Whether its program sent the values apart from the text.
    pub is_bound: bool,
    /// The line of the recording in which it first stands, from 1.
    pub line: u64,
    /// The position of that line's file, from 0.
    pub file: usize,
}

/// A transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The number of its session, from 0.
    pub session: u32,
    pub(crate) steps: Range<u32>,
    /// What it says of itself where it begins; `None` where it has no beginning or says nothing.
    pub access: Option<Access>,
    /// How it ends.
    pub end: End,
    /// When it began, since the first one of the recording; `None` where no times were recorded.
    pub begun: Option<Duration>,
    /// The pause before its COMMIT or ROLLBACK.
    pub last_pause: Pause,
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It is one statement that commits by itself.
    Alone,
    /// It is committed.
    Commit,
    /// It is rolled back.
    Rollback,
}

/// A statement of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The position of its form.
    pub form: u32,
    /// Where its values begin.
    pub(crate) values: u32,
    /// How long it took in microseconds, where that is known.
    pub(crate) took_us: Option<u32>,
    /// The pause before it.
    pub pause: Pause,
}

/// What a session waited by itself, between two statements of a transaction: zero where no times
/// were recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pause {
    /// Microseconds; at most 71 minutes.
    us: u32,
    /// Whether it is counted from the beginning of the statement before, because it was not recorded
    /// when that one ended.
    pub is_from_begin: bool,
}

impl Pause {
    pub(crate) fn new(time: Duration, is_from_begin: bool) -> Self {
        Self {
            us: u32::try_from(time.as_micros()).unwrap_or(u32::MAX),
            is_from_begin: is_from_begin && !time.is_zero(),
        }
    }

    /// How long.
    pub fn time(self) -> Duration {
        Duration::from_micros(self.us.into())
    }

    /// Both, one after the other.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            us: self.us.saturating_add(other.us),
            is_from_begin: self.is_from_begin || other.is_from_begin,
        }
    }
}

/// A value, with its text elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Held {
    Null,
    Integer(i64),
    Real(f64),
    Text { begin: u32, length: u32 },
}

/// A value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Datum<'r> {
    /// NULL.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number with double precision.
    Real(f64),
    /// A text.
    Text(&'r str),
}

impl Recording {
    /// The statements of a transaction.
    pub fn steps(&self, transaction: &Transaction) -> &[Step] {
        &self.steps[transaction.steps.start as usize..transaction.steps.end as usize]
    }

    /// The values of a statement, by position.
    ///
    /// # Panics
    /// For a statement of another recording.
    pub fn values(&self, step: &Step) -> impl ExactSizeIterator<Item = Datum<'_>> {
        let begin = step.values as usize;
        let count = self.forms[step.form as usize].parameters;
        self.values[begin..begin + count]
            .iter()
            .map(|held| match *held {
                Held::Null => Datum::Null,
                Held::Integer(number) => Datum::Integer(number),
                Held::Real(number) => Datum::Real(number),
                Held::Text { begin, length } => {
                    let begin = begin as usize;
                    Datum::Text(&self.texts[begin..begin + length as usize])
                }
            })
    }

    /// What tells it from others: a hash (FNV-1a, 64 bits) of forms, values and transactions.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Fnv::default();
        for form in &self.forms {
            for part in &form.parts {
                match part {
                    Part::Text(text) => hash.bytes(text.as_bytes()),
                    Part::Parameter(position) => hash.number(*position as u64),
                }
            }
        }
        for transaction in &self.transactions {
            hash.number(u64::from(transaction.session));
            hash.number(transaction.end as u64);
            for step in self.steps(transaction) {
                hash.number(u64::from(step.form));
                for value in self.values(step) {
                    match value {
                        Datum::Null => hash.number(0),
                        Datum::Integer(number) => hash.number(number.cast_unsigned()),
                        Datum::Real(number) => hash.number(number.to_bits()),
                        Datum::Text(text) => hash.bytes(text.as_bytes()),
                    }
                }
            }
        }
        hash.value()
    }

    /// The longest time in which no transaction begins, and when it ends, since the first one.
    pub fn longest_pause(&self) -> (Duration, Duration) {
        let mut begun: Vec<Duration> = self.transactions.iter().filter_map(|of| of.begun).collect();
        begun.sort_unstable();
        let pauses = begun.windows(2).map(|two| (two[1] - two[0], two[1]));
        pauses.max().unwrap_or_default()
    }

    /// How many statements are sent again.
    pub fn kept(&self) -> u64 {
        let steps = self.transactions.iter().map(|of| of.steps.len() as u64);
        steps.sum()
    }

    /// How long those took that are sent again, out of all; `None` where that was not recorded.
    pub fn share_of_time(&self) -> Option<f64> {
        let all = self.took?.as_secs_f64();
        let kept = self.transactions.iter().flat_map(|of| self.steps(of));
        let kept: f64 = kept
            .filter_map(|step| step.took_us)
            .map(|took| f64::from(took) * 1e-6)
            .sum();
        (all > 0.0).then(|| (kept / all).min(1.0))
    }

    /// Leaves out the forms that are not `wanted`, by position, and transactions without any
    /// other statement.
    ///
    /// # Panics
    /// When there are not as many as forms.
    pub fn retain(&mut self, wanted: &[bool], reason: &Left) {
        assert_eq!(wanted.len(), self.forms.len(), "one answer a form");
        let mut places = Vec::new();
        let mut next = 0u32;
        for wanted in wanted {
            places.push(wanted.then_some(next));
            next += u32::from(*wanted);
        }
        let mut steps = Vec::with_capacity(self.steps.len());
        let mut left = 0u64;
        for transaction in &mut self.transactions {
            let begin = steps.len();
            let range = transaction.steps.start as usize..transaction.steps.end as usize;
            // What is left out was waited before all the same.
            let mut before = Pause::default();
            for step in &self.steps[range] {
                let pause = before.plus(step.pause);
                match places[step.form as usize] {
                    Some(form) => {
                        steps.push(Step {
                            form,
                            pause,
                            ..*step
                        });
                        before = Pause::default();
                    }
                    None => {
                        left += 1;
                        before = pause;
                    }
                }
            }
            transaction.last_pause = before.plus(transaction.last_pause);
            transaction.steps = place(begin)..place(steps.len());
        }
        self.steps = steps;
        let mut position = 0;
        self.forms.retain(|_| {
            position += 1;
            wanted[position - 1]
        });
        self.transactions.retain(|of| !of.steps.is_empty());
        if left > 0 {
            *self.left.entry(reason.clone()).or_default() += left;
        }
        self.number_sessions();
    }

    /// Numbers the sessions that have transactions from 0, in the order of their first ones.
    pub(crate) fn number_sessions(&mut self) {
        let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
        for transaction in &mut self.transactions {
            let next = place(numbers.len());
            transaction.session = *numbers.entry(transaction.session).or_insert(next);
        }
        self.sessions = place(numbers.len());
    }

    /// Whether it was recorded when each transaction began.
    pub fn has_times(&self) -> bool {
        self.transactions.iter().all(|of| of.begun.is_some())
    }

    /// The transactions of each of so many clients, in their order. A session's are all of one
    /// client, which is the one with the fewest before; sessions of one client take turns as they
    /// did when they were recorded.
    pub fn by_client(&self, clients: u32) -> Vec<Vec<u32>> {
        let mut counts = vec![0u64; self.sessions as usize];
        for transaction in &self.transactions {
            counts[transaction.session as usize] += 1;
        }
        // The largest first, so that the last ones even out.
        let mut sessions: Vec<usize> = (0..counts.len()).collect();
        sessions.sort_by_key(|session| std::cmp::Reverse(counts[*session]));
        let mut loads = vec![0u64; clients as usize];
        let mut client_of = vec![0; counts.len()];
        for session in sessions {
            let least = (0..loads.len()).min_by_key(|client| loads[*client]);
            let Some(client) = least else { break };
            loads[client] += counts[session];
            client_of[session] = client;
        }
        let mut of_clients = vec![Vec::new(); clients as usize];
        for (position, transaction) in self.transactions.iter().enumerate() {
            let client = client_of[transaction.session as usize];
            if let Some(of_client) = of_clients.get_mut(client) {
                of_client.push(place(position));
            }
        }
        of_clients
    }
}

/// A position among held items. [`crate::HELD_MAX`] keeps it below 2^32.
pub(crate) fn place(position: usize) -> u32 {
    u32::try_from(position).expect("what is held has its limit")
}

/// FNV-1a with 64 bits (<http://www.isthe.com/chongo/tech/comp/fnv/>): the same on every machine.
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    pub(crate) fn value(&self) -> u64 {
        self.0
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        // Keeps texts apart.
        self.0 = (self.0 ^ 0xff).wrapping_mul(0x0100_0000_01b3);
    }

    fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }
}
