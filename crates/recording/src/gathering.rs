//! Statements by session become transactions, and their texts become forms.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
    time::Duration,
};

use octavo_script::{Access, Control, PARAMETERS_MAX, Part, StatementKind, statement_kind, words};

use crate::{
    dialect::{Dialect, Mark, Type},
    form::{Cut, cut, has_no_end, mark, split, unquoted},
    left::Left,
    recording::{End, Form, Held, Pause, Recording, Step, Transaction, place},
};

/// The most bytes of statements and values that are held in memory. Chosen: some millions of
/// statements.
pub const HELD_MAX: usize = 384 << 20;

/// The most forms that are sent again, as each is prepared in each session. Chosen: programs have
/// some hundreds.
pub const FORMS_MAX: usize = 400;

/// Statements that are sent again, by their first word.
pub(crate) const SENT: [&str; 9] = [
    "SELECT", "WITH", "VALUES", "TABLE", "INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE",
];

/// Collects what was recorded.
#[derive(Debug)]
pub struct Gathering {
    dialect: &'static Dialect,
    file: usize,
    sessions: HashMap<String, Session>,
    forms: Vec<Growing>,
    by_key: HashMap<String, usize>,
    transactions: Vec<Begun>,
    left: BTreeMap<Left, u64>,
    statements: u64,
    took: Option<Duration>,
    /// When the statements that follow began, where that is known.
    now: Option<Duration>,
    /// Values of all statements, literals that do not differ among them.
    values: Vec<Held>,
    texts: String,
    held: usize,
}

/// A form while statements are still found.
#[derive(Debug)]
struct Growing {
    texts: Vec<String>,
    slots: Vec<Slot>,
    /// Parameters that the statement has itself.
    bound: usize,
    line: u64,
    file: usize,
    runs: u64,
}

/// The place of a literal.
#[derive(Debug)]
struct Slot {
    class: Type,
    /// As it was written first.
    written: String,
    differs: bool,
}

#[derive(Debug, Default)]
struct Session {
    number: u32,
    /// Whether it is known that no transaction was open before the statements that follow.
    is_whole: bool,
    /// Whether each statement outside of a transaction is one, where that is known.
    autocommit: Option<bool>,
    open: Option<Begun>,
    last: Last,
    /// What was taken for transactions of one statement since the last one that was begun or
    /// ended.
    alone: Vec<usize>,
    /// Savepoints of the open transaction: their names, and how many statements it had.
    savepoints: Vec<(String, usize)>,
    /// The savepoint that began the open transaction, where one did.
    outer: Option<String>,
    /// Whether the open transaction is that of one text.
    is_of_text: bool,
    /// Whether the open transaction failed, so that it cannot be committed.
    has_failed: bool,
    /// When its last statement ended, or began.
    last_seen: Option<Duration>,
    /// Whether the last statement has an end in [`Self::last_seen`].
    has_end: bool,
    /// What it waited since the last statement that is sent again.
    waited: Pause,
}

impl Session {
    /// A statement begins.
    fn arrives(&mut self, now: Duration) {
        // Clocks are set back, and logs are joined.
        let since = self
            .last_seen
            .map_or(Duration::ZERO, |last| now.saturating_sub(last));
        self.waited = self.waited.plus(Pause::new(since, !self.has_end));
        self.last_seen = self.last_seen.max(Some(now));
        self.has_end = false;
    }

    /// The last statement has ended.
    fn is_answered(&mut self, took: Duration) {
        if let Some(last) = &mut self.last_seen
            && !self.has_end
        {
            // A log may say anything.
            *last = last.saturating_add(took);
            self.has_end = true;
        }
    }
}

/// The statement before, which may turn out to have failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    #[default]
    None,
    /// Of the open transaction.
    Open,
    /// One by itself: the position of its transaction.
    Alone(usize),
    /// The last one of a text that is a transaction by itself: the position of that.
    Text(usize),
    /// One that is not sent again.
    Other,
    /// One that begins or ends a transaction.
    Control,
}

#[derive(Clone, Debug)]
struct Begun {
    session: u32,
    steps: Vec<Step>,
    access: Option<Access>,
    end: End,
    begun: Option<Duration>,
    /// Whether its first statement began it.
    is_begun_by_first: bool,
    last_pause: Pause,
}

/// A statement that may be sent again.
struct Told<'t> {
    line: u64,
    text: &'t str,
    /// Without comments.
    plain: String,
    cut: Cut,
    bound: &'t [Option<&'t str>],
}

impl Gathering {
    /// Nothing yet.
    pub fn new(dialect: &'static Dialect) -> Self {
        Self {
            dialect,
            file: 0,
            sessions: HashMap::new(),
            forms: Vec::new(),
            by_key: HashMap::new(),
            transactions: Vec::new(),
            left: BTreeMap::new(),
            statements: 0,
            took: None,
            now: None,
            values: Vec::new(),
            texts: String::new(),
            held: 0,
        }
    }

    /// What follows is of the next file.
    pub fn next_file(&mut self) {
        self.file += 1;
    }

    fn session(&mut self, name: &str) -> &mut Session {
        if !self.sessions.contains_key(name) {
            let session = Session {
                number: place(self.sessions.len()),
                ..Session::default()
            };
            self.sessions.insert(name.to_owned(), session);
        }
        self.sessions.get_mut(name).expect("it is there now")
    }

    /// A session begins.
    pub fn began(&mut self, session: &str) {
        self.ended(session);
        let number = place(self.sessions.len());
        let new = Session {
            number,
            is_whole: true,
            autocommit: Some(true),
            ..Session::default()
        };
        if let Some(before) = self.sessions.insert(session.to_owned(), new) {
            // Another one with the same name.
            let name = format!("{session}\u{0}{}", before.number);
            self.sessions.insert(name, before);
        }
    }

    /// A session ends, and what it has begun is undone.
    pub fn ended(&mut self, session: &str) {
        self.close(session, End::Rollback);
    }

    /// All sessions end, as when a server starts again.
    pub fn restarted(&mut self) {
        let mut names: Vec<String> = self.sessions.keys().cloned().collect();
        names.sort_unstable();
        for name in names {
            self.ended(&name);
            if let Some(before) = self.sessions.remove(&name) {
                self.sessions
                    .insert(format!("{name}\u{0}{}", before.number), before);
            }
        }
    }

    /// Ends the session's open transaction, if there is one.
    fn close(&mut self, session: &str, end: End) -> bool {
        let Some(known) = self.sessions.get_mut(session) else {
            return false;
        };
        known.savepoints.clear();
        known.outer = None;
        known.is_of_text = false;
        let has_failed = std::mem::take(&mut known.has_failed);
        let Some(open) = known.open.take() else {
            return false;
        };
        let end = if has_failed { End::Rollback } else { end };
        let last_pause = std::mem::take(&mut known.waited);
        self.transactions.push(Begun {
            end,
            last_pause,
            ..open
        });
        true
    }

    /// Opens a transaction of the session's.
    fn open(&mut self, session: &str, access: Option<Access>) {
        // Servers commit what is open.
        self.close(session, End::Commit);
        let has_time = self.now.is_some();
        let known = self.session(session);
        let begun = known.last_seen.filter(|_| has_time);
        known.alone.clear();
        known.is_whole = true;
        known.waited = Pause::default();
        known.open = Some(Begun {
            session: known.number,
            steps: Vec::new(),
            access,
            end: End::Commit,
            begun,
            is_begun_by_first: false,
            last_pause: Pause::default(),
        });
    }

    /// The statements that follow began at this time, in any time zone that all have; `None` where
    /// that was not recorded.
    pub fn at(&mut self, now: Option<Duration>) {
        self.now = now;
    }

    fn arrives(&mut self, session: &str) {
        if let Some(now) = self.now {
            self.session(session).arrives(now);
        }
    }

    /// A statement, or several with semicolons between them, in this `line` of the file. `bound`
    /// are the values of its own parameters, as texts. `took` is the time of all of them.
    pub fn statement(
        &mut self,
        session: &str,
        line: u64,
        text: &str,
        bound: Option<&[Option<&str>]>,
        took: Option<Duration>,
    ) {
        self.arrives(session);
        // Where its statements end is not known then.
        if self.dialect.has_whole_texts && has_no_end(text, self.dialect) {
            self.left_out(session, &Left::NoEnd);
            return took.map_or((), |took| self.took(session, took));
        }
        let ranges = split(text, self.dialect);
        let is_open = |of: &Self| of.sessions.get(session).is_some_and(|of| of.open.is_some());
        if ranges.len() > 1 && self.dialect.has_text_transactions && !is_open(self) {
            self.open(session, None);
            self.session(session).is_of_text = true;
        }
        for range in ranges {
            self.run_one(session, line, &text[range], bound);
        }
        if self.session(session).is_of_text && self.close(session, End::Commit) {
            let closed = self.transactions.len() - 1;
            self.session(session).last = Last::Text(closed);
        }
        if let Some(took) = took {
            self.took(session, took);
        }
    }

    fn run_one(&mut self, session: &str, line: u64, text: &str, bound: Option<&[Option<&str>]>) {
        let cut = cut(text, self.dialect);
        if cut.has_no_end {
            return self.left_out(session, &Left::NoEnd);
        }
        let plain = whole(text, &cut);
        let words = words(&plain);
        let of: Vec<&str> = words.iter().map(String::as_str).collect();
        match (&of[..], statement_kind(&plain)) {
            (_, StatementKind::Begin(access)) => self.begin(session, access),
            (["XA", "START" | "BEGIN", ..], _) => self.begin(session, None),
            (["XA", "PREPARE" | "COMMIT", ..] | ["PREPARE", "TRANSACTION", ..], _) => {
                self.end(session, Control::Commit);
            }
            (["XA", "ROLLBACK", ..], _) => self.end(session, Control::Rollback),
            (["XA", ..], _) => {}
            (_, StatementKind::End(control)) => {
                let access = self.session(session).open.as_ref().map(|open| open.access);
                self.end(session, control);
                let chain = of.iter().position(|word| *word == "CHAIN");
                let is_chained = chain.is_some_and(|at| at == 0 || of[at - 1] != "NO");
                if let Some(access) = access.filter(|_| is_chained) {
                    self.open(session, access);
                }
            }
            (["SAVEPOINT", ..], _) => {
                self.savepoint(session, &plain);
                self.left_out(session, &Left::of_word(&words[0]));
            }
            (["RELEASE", ..], _) => {
                let name = last_name(&plain);
                let is_outer = self.session(session).outer.as_ref() == Some(&name);
                self.left_out(session, &Left::of_word(&words[0]));
                if is_outer {
                    self.end(session, Control::Commit);
                }
            }
            (["ROLLBACK", ..], _) => {
                self.roll_back_to(session, &last_name(&plain));
                self.left_out(session, &Left::of_word(&words[0]));
            }
            _ => {
                let bound = bound.unwrap_or_default();
                let told = Told {
                    line,
                    text,
                    plain,
                    cut,
                    bound,
                };
                self.run(session, &of, told);
            }
        }
    }

    fn begin(&mut self, session: &str, access: Option<Access>) {
        let known = self.session(session);
        // What stands before it in the same text belongs to it.
        if std::mem::take(&mut known.is_of_text) && known.open.is_some() {
            known.last = Last::Control;
            return;
        }
        self.open(session, access);
        self.session(session).last = Last::Control;
    }

    fn savepoint(&mut self, session: &str, text: &str) {
        let name = last_name(text);
        let begins = self.dialect.has_outer_savepoints;
        if self.session(session).open.is_none() && begins {
            self.open(session, None);
            self.session(session).outer = Some(name.clone());
        }
        let known = self.session(session);
        if let Some(open) = &known.open {
            known.savepoints.push((name, open.steps.len()));
        }
    }

    /// Leaves out what ran since a savepoint.
    fn roll_back_to(&mut self, session: &str, name: &str) {
        let known = self.session(session);
        let place = known
            .savepoints
            .iter()
            .rposition(|(known, _)| known == name);
        let (Some(place), Some(open)) = (place, &mut known.open) else {
            return;
        };
        let begin = known.savepoints[place].1.min(open.steps.len());
        let undone = open.steps.len() - begin;
        let pauses = open.steps.drain(begin..).map(|step| step.pause);
        known.waited = pauses.fold(known.waited, Pause::plus);
        known.savepoints.truncate(place + 1);
        // It can be committed again.
        known.has_failed = false;
        self.leave(&Left::Undone, undone as u64);
    }

    fn end(&mut self, session: &str, control: Control) {
        let end = match control {
            Control::Commit => End::Commit,
            _ => End::Rollback,
        };
        let has_autocommit = self.dialect.has_autocommit;
        let known = self.session(session);
        known.last = Last::Control;
        let alone = std::mem::take(&mut known.alone);
        let is_whole = std::mem::replace(&mut known.is_whole, true);
        let autocommit = known.autocommit;
        if self.close(session, end) {
            return;
        }
        if !is_whole {
            // Its beginning is not here, and what was taken for transactions of one statement may
            // be a part of it.
            for position in alone {
                let steps = std::mem::take(&mut self.transactions[position].steps);
                self.leave(&Left::Cut, steps.len() as u64);
            }
        } else if has_autocommit
            && autocommit != Some(true)
            && let [first, others @ ..] = &alone[..]
        {
            // The session begins transactions by itself.
            self.session(session).autocommit = Some(false);
            let last_pause = std::mem::take(&mut self.session(session).waited);
            for other in others {
                let steps = std::mem::take(&mut self.transactions[*other].steps);
                self.transactions[*first].steps.extend(steps);
            }
            self.transactions[*first].end = end;
            self.transactions[*first].last_pause = last_pause;
        }
    }

    fn leave(&mut self, reason: &Left, statements: u64) {
        if statements > 0 {
            *self.left.entry(reason.clone()).or_default() += statements;
        }
    }

    /// Counts a statement that is not sent again.
    pub fn left(&mut self, session: &str, reason: &Left, took: Option<Duration>) {
        self.arrives(session);
        self.left_out(session, reason);
        if let Some(took) = took {
            self.took(session, took);
        }
    }

    fn left_out(&mut self, session: &str, reason: &Left) {
        self.statements += 1;
        self.session(session).last = Last::Other;
        self.leave(reason, 1);
    }

    fn run(&mut self, session: &str, words: &[&str], told: Told<'_>) {
        let first = words.first().copied().unwrap_or_default();
        if first == "SET" && self.dialect.has_autocommit {
            // Behind "SESSION" and the like.
            let setting = words.iter().position(|word| *word == "AUTOCOMMIT");
            if let Some(value) = setting.and_then(|position| words.get(position + 1)) {
                let is_on = !matches!(*value, "0" | "OFF" | "FALSE");
                if is_on {
                    self.close(session, End::Commit);
                }
                self.session(session).autocommit = Some(is_on);
            }
        }
        if !SENT.contains(&first) {
            return self.left_out(session, &Left::of_word(first));
        }
        let is_of_session = |word: &&str| self.dialect.session_functions.contains(word);
        if words.iter().any(is_of_session) {
            return self.left_out(session, &Left::SessionLock);
        }
        let mut step = match self.step(told) {
            Ok(step) => step,
            Err(reason) => return self.left_out(session, &reason),
        };
        let has_time = self.now.is_some();
        self.statements += 1;
        let next = self.transactions.len();
        let has_autocommit = self.dialect.has_autocommit;
        let known = self.session(session);
        let number = known.number;
        step.pause = std::mem::take(&mut known.waited);
        // Not before the one before ended, however logs are rounded.
        let begun = known.last_seen.filter(|_| has_time);
        let begin = |end| Begun {
            session: number,
            steps: vec![step],
            access: None,
            end,
            begun,
            is_begun_by_first: true,
            last_pause: Pause::default(),
        };
        if let Some(open) = &mut known.open {
            open.steps.push(step);
            known.last = Last::Open;
        } else if known.autocommit == Some(false) {
            known.open = Some(begin(End::Commit));
            known.last = Last::Open;
        } else {
            known.last = Last::Alone(next);
            let may_be_one = has_autocommit && known.autocommit.is_none();
            if !known.is_whole || may_be_one {
                known.alone.push(next);
            }
            self.transactions.push(begin(End::Alone));
        }
    }

    /// The step of a statement.
    fn step(&mut self, told: Told<'_>) -> Result<Step, Left> {
        let Told {
            line,
            text,
            plain,
            mut cut,
            bound,
        } = told;
        if self.held > HELD_MAX {
            return Err(Left::Long);
        }
        if cut.parameters > bound.len() {
            return Err(Left::NoValues);
        }
        if bound.len() > PARAMETERS_MAX {
            return Err(Left::ManyValues);
        }
        if !bound.is_empty() {
            // Its literals are those that its program always sends.
            cut = Cut {
                texts: vec![plain],
                literals: Vec::new(),
                ..cut
            };
        }
        let form = self.form(line, text, &cut, bound.len());
        let values = place(self.values.len());
        let growing = &mut self.forms[form];
        growing.runs += 1;
        for (slot, literal) in growing.slots.iter_mut().zip(&cut.literals) {
            let written = &text[literal.range.clone()];
            slot.differs |= slot.written != written;
        }
        for literal in &cut.literals {
            let written = &text[literal.range.clone()];
            let held = self.datum(written, literal.class);
            self.values.push(held);
        }
        for value in bound {
            let held = match value {
                Some(text) => self.hold(text),
                None => Held::Null,
            };
            self.values.push(held);
        }
        let count = cut.literals.len() + bound.len();
        self.held += size_of::<Step>() + size_of::<Begun>() + count * size_of::<Held>();
        Ok(Step {
            form: place(form),
            values,
            took_us: None,
            pause: Pause::default(),
        })
    }

    fn form(&mut self, line: u64, text: &str, cut: &Cut, bound: usize) -> usize {
        let mut key = String::new();
        for (position, piece) in cut.texts.iter().enumerate() {
            key.push_str(piece);
            if let Some(literal) = cut.literals.get(position) {
                let _infallible = write!(key, "\u{0}{:?}\u{0}", literal.class);
            }
        }
        // As many values as its program gave.
        let _infallible = write!(key, "\u{0}{bound}");
        if let Some(known) = self.by_key.get(&key) {
            return *known;
        }
        let slots = cut.literals.iter().map(|literal| Slot {
            class: literal.class,
            written: text[literal.range.clone()].to_owned(),
            differs: false,
        });
        // Its text, its key and its slots.
        self.held += 4 * text.len() + cut.literals.len() * 2 * size_of::<Slot>() + 256;
        self.forms.push(Growing {
            texts: cut.texts.clone(),
            slots: slots.collect(),
            bound,
            line,
            file: self.file,
            runs: 0,
        });
        self.by_key.insert(key, self.forms.len() - 1);
        self.forms.len() - 1
    }

    fn hold(&mut self, text: &str) -> Held {
        let begin = place(self.texts.len());
        self.texts.push_str(text);
        self.held += text.len();
        Held::Text {
            begin,
            length: place(text.len()),
        }
    }

    fn datum(&mut self, written: &str, class: Type) -> Held {
        let is_real = mark(class, self.dialect).is_some_and(|mark| mark.is_real);
        // Between a sign and its number there may be white space.
        let number = || written.split_whitespace().collect::<String>();
        match class {
            Type::Text => {
                let text = unquoted(written, self.dialect);
                self.hold(&text)
            }
            Type::Bytes => self.hold(&written[2..written.len() - 1]),
            Type::Null => Held::Null,
            _ if is_real => number().parse().map_or(Held::Null, Held::Real),
            Type::Integer | Type::Long => number().parse().map_or(Held::Null, Held::Integer),
            Type::Decimal { .. } | Type::Double => self.hold(&number()),
        }
    }

    /// How long the session's last statement took.
    pub fn took(&mut self, session: &str, took: Duration) {
        let Some(session) = self.sessions.get_mut(session) else {
            return;
        };
        session.is_answered(took);
        let steps = match session.last {
            Last::Open => session.open.as_mut().map(|open| &mut open.steps),
            Last::Alone(position) | Last::Text(position) => {
                Some(&mut self.transactions[position].steps)
            }
            Last::Other => None,
            // What is no statement is not counted as one.
            Last::None | Last::Control => return,
        };
        self.took = Some(self.took.unwrap_or_default().saturating_add(took));
        if let Some(step) = steps.and_then(|steps| steps.last_mut()) {
            step.took_us = Some(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
        }
    }

    /// A statement of the session failed. It is the last one if that `was_told`; else it was not
    /// told of.
    pub fn failed(&mut self, session: &str, was_told: bool) {
        let known = self.session(session);
        let last = std::mem::replace(&mut known.last, Last::Other);
        // Servers that tell of failures end the transaction with them.
        known.has_failed = known.open.is_some();
        if !was_told {
            self.statements += 1;
            self.leave(&Left::Failed, 1);
            return;
        }
        let step = match last {
            Last::Open => known.open.as_mut().and_then(|open| open.steps.pop()),
            Last::Alone(position) | Last::Text(position) => self.transactions[position].steps.pop(),
            Last::None | Last::Other | Last::Control => None,
        };
        if let Some(step) = &step {
            let known = self.session(session);
            known.waited = step.pause.plus(known.waited);
        }
        if let Last::Text(position) = last {
            // All of the text was rolled back.
            self.transactions[position].end = End::Rollback;
        }
        self.leave(&Left::Failed, u64::from(step.is_some()));
    }

    /// What was found: transactions that have no end are left out, and forms beyond
    /// [`FORMS_MAX`].
    pub fn finish(mut self) -> Recording {
        let open: Vec<usize> = self
            .sessions
            .values_mut()
            .filter_map(|session| session.open.take())
            .map(|open| open.steps.len())
            .collect();
        for steps in open {
            self.leave(&Left::Cut, steps as u64);
        }
        let places = self.join_forms();
        let wide = |form: &Growing| {
            let slots = form.slots.iter().filter(|slot| slot.differs).count();
            slots + form.bound <= PARAMETERS_MAX
        };
        let wide: Vec<bool> = self.forms.iter().map(wide).collect();
        let mut recording = Recording {
            statements: self.statements,
            took: self.took,
            left: std::mem::take(&mut self.left),
            texts: std::mem::take(&mut self.texts),
            forms: self
                .forms
                .iter()
                .map(|form| form.finish(self.dialect))
                .collect(),
            ..Recording::default()
        };
        let begins = self.transactions.iter().filter(|of| !of.steps.is_empty());
        let first = begins.filter_map(|of| of.begun).min().unwrap_or_default();
        for begun in &self.transactions {
            let begin = place(recording.steps.len());
            for (position, step) in begun.steps.iter().enumerate() {
                // What was waited before a transaction is no part of it.
                let pause = match begun.is_begun_by_first && position == 0 {
                    true => Pause::default(),
                    false => step.pause,
                };
                let joined = places[step.form as usize];
                let form = &self.forms[joined as usize];
                let first = step.values as usize;
                let values = place(recording.values.len());
                let slots = form.slots.iter().enumerate();
                let differing = slots.filter(|(_, slot)| slot.differs);
                let differing = differing.map(|(position, _)| first + position);
                let bound = first + form.slots.len();
                let kept = differing.chain(bound..bound + form.bound);
                recording.values.extend(kept.map(|at| self.values[at]));
                recording.steps.push(Step {
                    form: joined,
                    values,
                    pause,
                    ..*step
                });
            }
            recording.transactions.push(Transaction {
                session: begun.session,
                steps: begin..place(recording.steps.len()),
                access: begun.access,
                end: begun.end,
                begun: begun.begun.map(|begun| begun.saturating_sub(first)),
                last_pause: begun.last_pause,
            });
        }
        // What is left out at all counts too, so that the shares are of what was recorded.
        recording.retain(&wide, &Left::ManyValues);
        let runs = self.forms.iter().zip(&wide).filter(|(_, wide)| **wide);
        let runs: Vec<u64> = runs.map(|(form, _)| form.runs).collect();
        let mut order: Vec<usize> = (0..runs.len()).collect();
        order.sort_by_key(|form| std::cmp::Reverse(runs[*form]));
        let mut frequent = vec![false; runs.len()];
        for form in order.into_iter().take(FORMS_MAX) {
            frequent[form] = runs[form] > 0;
        }
        recording.retain(&frequent, &Left::Rare);
        recording
    }
}

impl Gathering {
    /// Joins forms that differ in NULLs and the sizes of numbers alone. Answers the place of each
    /// one, where it is itself unless it was joined to another.
    fn join_forms(&mut self) -> Vec<u32> {
        let mut places: Vec<u32> = (0..self.forms.len()).map(place).collect();
        let mut alike: HashMap<Vec<&str>, Vec<usize>> = HashMap::new();
        for (position, form) in self.forms.iter().enumerate() {
            if !form.slots.is_empty() {
                let texts = form.texts.iter().map(String::as_str).collect();
                alike.entry(texts).or_default().push(position);
            }
        }
        let mut groups: Vec<Vec<usize>> = alike.into_values().filter(|of| of.len() > 1).collect();
        groups.sort_unstable();
        for mut group in groups {
            // Those that are sure of most types first.
            let nulls = |form: &Growing| {
                let slots = form.slots.iter();
                slots.filter(|slot| slot.class == Type::Null).count()
            };
            group.sort_by_key(|form| (nulls(&self.forms[*form]), *form));
            let mut kept: Vec<usize> = Vec::new();
            for form in group {
                let joined = kept.iter().find_map(|&other| {
                    let classes = self.forms[other].joined(&self.forms[form], self.dialect)?;
                    Some((other, classes))
                });
                let Some((other, classes)) = joined else {
                    kept.push(form);
                    continue;
                };
                let from = std::mem::take(&mut self.forms[form].slots);
                // What was joined has no runs of its own.
                let runs = std::mem::take(&mut self.forms[form].runs);
                let into = &mut self.forms[other];
                for ((slot, from), class) in into.slots.iter_mut().zip(&from).zip(classes) {
                    slot.differs |= from.differs || slot.written != from.written;
                    slot.class = class;
                }
                into.runs += runs;
                places[form] = place(other);
            }
        }
        places
    }
}

impl Growing {
    /// The types of the slots of both, if one parameter can stand for both.
    fn joined(&self, other: &Self, dialect: &Dialect) -> Option<Vec<Type>> {
        if self.bound != other.bound {
            return None;
        }
        let slots = self.slots.iter().zip(&other.slots);
        slots
            .map(|(one, other)| {
                let class = one.class.join(other.class)?;
                mark(class, dialect).map(|_| class)
            })
            .collect()
    }

    /// With parameters where values differ.
    fn finish(&self, dialect: &Dialect) -> Form {
        let mut parts: Vec<Part> = Vec::new();
        let mut text = String::new();
        let mut parameters = 0;
        for (position, piece) in self.texts.iter().enumerate() {
            text.push_str(piece);
            match self.slots.get(position) {
                Some(slot) if slot.differs => {
                    let mark = mark(slot.class, dialect).unwrap_or(Mark::PLAIN);
                    text.push_str(&mark.before);
                    parts.push(Part::Text(std::mem::take(&mut text)));
                    parts.push(Part::Parameter(parameters));
                    parameters += 1;
                    text.push_str(&mark.behind);
                }
                Some(slot) => text.push_str(&slot.written),
                None => {}
            }
        }
        parts.push(Part::Text(text));
        parts.retain(|part| *part != Part::Text(String::new()));
        Form {
            parts,
            parameters: parameters + self.bound,
            is_bound: self.bound > 0,
            line: self.line,
            file: self.file,
        }
    }
}

/// The name at the end of a savepoint's statement, without quotes.
fn last_name(text: &str) -> String {
    let text = text.trim_end();
    let name = match text.chars().next_back() {
        Some(quote @ ('"' | '`' | '\'' | ']')) => {
            let begin = if quote == ']' { '[' } else { quote };
            let inner = &text[..text.len() - 1];
            inner.rfind(begin).map_or(inner, |at| &inner[at + 1..])
        }
        _ => text.rsplit(char::is_whitespace).next().unwrap_or(text),
    };
    name.to_lowercase()
}

/// A statement as it is written, without comments.
fn whole(text: &str, cut: &Cut) -> String {
    let mut whole = String::new();
    for (position, piece) in cut.texts.iter().enumerate() {
        whole.push_str(piece);
        if let Some(literal) = cut.literals.get(position) {
            whole.push_str(&text[literal.range.clone()]);
        }
    }
    whole
}
