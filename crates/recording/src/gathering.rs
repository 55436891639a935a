//! Statements by session become transactions, and their texts become forms.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use octavo_script::{Access, Control, PARAMETERS_MAX, Part, StatementKind, statement_kind, words};

use crate::{
    dialect::{Dialect, Mark, Type},
    form::{Cut, cut, split, unquoted},
    left::Left,
    recording::{End, Form, Held, Recording, Step, Transaction, place},
};

/// The most bytes of statements and values that are held in memory. Chosen: some millions of
/// statements.
pub const HELD_MAX: usize = 384 << 20;

/// The most forms that are sent again, as each is prepared in each session. Chosen: programs have
/// some hundreds.
pub const FORMS_MAX: usize = 400;

/// Statements that are sent again, by their first word.
const SENT: [&str; 9] = [
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
    mark: Mark,
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
        if let Some(session) = self.sessions.get_mut(session)
            && let Some(open) = session.open.take()
        {
            self.transactions.push(Begun {
                end: End::Rollback,
                ..open
            });
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
        for range in split(text, self.dialect) {
            self.run_one(session, line, &text[range], bound);
        }
        if let Some(took) = took {
            self.took(session, took);
        }
    }

    fn run_one(&mut self, session: &str, line: u64, text: &str, bound: Option<&[Option<&str>]>) {
        let cut = cut(text, self.dialect);
        let plain = whole(text, &cut);
        match statement_kind(&plain) {
            StatementKind::Begin(access) => {
                let session = self.session(session);
                session.last = Last::Control;
                session.alone.clear();
                session.is_whole = true;
                let new = Begun {
                    session: session.number,
                    steps: Vec::new(),
                    access,
                    end: End::Commit,
                };
                // Servers commit what is open.
                if let Some(open) = session.open.replace(new) {
                    self.transactions.push(open);
                }
            }
            StatementKind::End(control) => self.end(session, control),
            StatementKind::Statement => {
                let words = words(&plain);
                self.run(
                    session,
                    &words,
                    Told {
                        line,
                        text,
                        plain,
                        cut,
                        bound: bound.unwrap_or_default(),
                    },
                );
            }
        }
    }

    fn end(&mut self, session: &str, control: Control) {
        let has_autocommit = self.dialect.has_autocommit;
        let known = self.session(session);
        known.last = Last::Control;
        let alone = std::mem::take(&mut known.alone);
        let is_whole = std::mem::replace(&mut known.is_whole, true);
        if let Some(open) = known.open.take() {
            let end = match (control, open.end) {
                (Control::Commit, End::Commit) => End::Commit,
                _ => End::Rollback,
            };
            self.transactions.push(Begun { end, ..open });
        } else if !is_whole {
            // Its beginning is not here, and what was taken for transactions of one statement may
            // be a part of it.
            for position in alone {
                let steps = std::mem::take(&mut self.transactions[position].steps);
                self.leave(&Left::Cut, steps.len() as u64);
            }
        } else if has_autocommit
            && known.autocommit != Some(true)
            && let [first, others @ ..] = &alone[..]
        {
            // The session begins transactions by itself.
            known.autocommit = Some(false);
            for other in others {
                let steps = std::mem::take(&mut self.transactions[*other].steps);
                self.transactions[*first].steps.extend(steps);
            }
            self.transactions[*first].end = match control {
                Control::Commit => End::Commit,
                _ => End::Rollback,
            };
        }
    }

    fn leave(&mut self, reason: &Left, statements: u64) {
        if statements > 0 {
            *self.left.entry(reason.clone()).or_default() += statements;
        }
    }

    /// Counts a statement that is not sent again.
    pub fn left(&mut self, session: &str, reason: &Left, took: Option<Duration>) {
        self.statements += 1;
        self.session(session).last = Last::Other;
        self.leave(reason, 1);
        if let Some(took) = took {
            self.took(session, took);
        }
    }

    fn run(&mut self, session: &str, words: &[String], told: Told<'_>) {
        let first = words.first().map(String::as_str).unwrap_or_default();
        if first == "SET" && self.dialect.has_autocommit {
            // Behind "SESSION" and the like.
            let setting = words.iter().position(|word| word == "AUTOCOMMIT");
            if let Some(value) = setting.and_then(|position| words.get(position + 1)) {
                let session = self.session(session);
                session.autocommit = Some(!matches!(value.as_str(), "0" | "OFF" | "FALSE"));
            }
        }
        if !SENT.contains(&first) {
            self.left(session, &Left::Word(first.to_owned()), None);
            return;
        }
        let step = match self.step(told) {
            Ok(step) => step,
            Err(reason) => return self.left(session, &reason, None),
        };
        self.statements += 1;
        let next = self.transactions.len();
        let has_autocommit = self.dialect.has_autocommit;
        let known = self.session(session);
        let number = known.number;
        let begin = |end| Begun {
            session: number,
            steps: vec![step],
            access: None,
            end,
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
        if cut.has_parameters && bound.is_empty() {
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
                has_parameters: true,
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
            let held = self.datum(written, literal.class, literal.mark.is_real);
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
        })
    }

    fn form(&mut self, line: u64, text: &str, cut: &Cut, bound: usize) -> usize {
        let mut key = String::new();
        for (position, piece) in cut.texts.iter().enumerate() {
            key.push_str(piece);
            if let Some(literal) = cut.literals.get(position) {
                let Mark { before, behind, .. } = &literal.mark;
                key.extend(["\u{0}", before, "\u{1}", behind, "\u{0}"]);
            }
        }
        if let Some(known) = self.by_key.get(&key) {
            return *known;
        }
        let slots = cut.literals.iter().map(|literal| Slot {
            mark: literal.mark.clone(),
            written: text[literal.range.clone()].to_owned(),
            differs: false,
        });
        self.held += 3 * text.len() + 200;
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

    fn datum(&mut self, written: &str, class: Type, is_real: bool) -> Held {
        // Between a sign and its number there may be white space.
        let number = || written.split_whitespace().collect::<String>();
        match class {
            Type::Text => {
                let text = unquoted(written, self.dialect);
                self.hold(&text)
            }
            Type::Bytes => self.hold(&written[2..written.len() - 1]),
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
        let steps = match session.last {
            Last::Open => session.open.as_mut().map(|open| &mut open.steps),
            Last::Alone(position) => Some(&mut self.transactions[position].steps),
            Last::Other => None,
            // What is no statement is not counted as one.
            Last::None | Last::Control => return,
        };
        self.took = Some(self.took.unwrap_or_default() + took);
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
        if let Some(open) = &mut known.open {
            open.end = End::Rollback;
        }
        if !was_told {
            self.statements += 1;
            self.leave(&Left::Failed, 1);
            return;
        }
        let step = match last {
            Last::Open => known.open.as_mut().and_then(|open| open.steps.pop()),
            Last::Alone(position) => self.transactions[position].steps.pop(),
            Last::None | Last::Other | Last::Control => None,
        };
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
            forms: self.forms.iter().map(Growing::finish).collect(),
            ..Recording::default()
        };
        for begun in &self.transactions {
            let begin = place(recording.steps.len());
            for step in &begun.steps {
                let form = &self.forms[step.form as usize];
                let first = step.values as usize;
                let values = place(recording.values.len());
                let slots = form.slots.iter().enumerate();
                let differing = slots.filter(|(_, slot)| slot.differs);
                let differing = differing.map(|(position, _)| first + position);
                let bound = first + form.slots.len();
                let kept = differing.chain(bound..bound + form.bound);
                recording.values.extend(kept.map(|at| self.values[at]));
                recording.steps.push(Step { values, ..*step });
            }
            recording.transactions.push(Transaction {
                session: begun.session,
                steps: begin..place(recording.steps.len()),
                access: begun.access,
                end: begun.end,
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
            frequent[form] = true;
        }
        recording.retain(&frequent, &Left::Rare);
        recording
    }
}

impl Growing {
    /// With parameters where values differ.
    fn finish(&self) -> Form {
        let mut parts: Vec<Part> = Vec::new();
        let mut text = String::new();
        let mut parameters = 0;
        for (position, piece) in self.texts.iter().enumerate() {
            text.push_str(piece);
            match self.slots.get(position) {
                Some(slot) if slot.differs => {
                    text.push_str(&slot.mark.before);
                    parts.push(Part::Text(std::mem::take(&mut text)));
                    parts.push(Part::Parameter(parameters));
                    parameters += 1;
                    text.push_str(&slot.mark.behind);
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
