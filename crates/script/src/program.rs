//! A script with its variables in their places, and how it runs.

use std::{collections::BTreeSet, time::Duration};

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;

use crate::{
    PARAMETERS_MAX,
    control::{Access, Control},
    error::{RunError, SyntaxError},
    evaluate::{Known, evaluate},
    expression::{self, DEFAULT_SEED, Expression, Named},
    random::Random,
    split::{Meta, Piece, split},
    sql::{self, Given, Joint, Kind, Part, Template},
    value::{Parameter, Value},
    variables::{Definitions, Slot, Variables, is_name},
};

/// What a program runs against.
pub trait Host: Random {
    /// Why the database refuses.
    type Error: std::error::Error + 'static;

    /// Begins or ends a transaction.
    ///
    /// # Errors
    /// When the database refuses.
    fn control(&mut self, control: Control) -> Result<(), Self::Error>;

    /// Runs a statement, by its position in [`Script::statements`], and hands over each
    /// column of each row: its position, from 0 for a new row, and value.
    ///
    /// # Errors
    /// When the database refuses.
    fn statement(
        &mut self,
        statement: usize,
        parameters: &[Parameter<'_>],
        column: &mut dyn FnMut(usize, Parameter<'_>),
    ) -> Result<(), Self::Error>;

    /// Waits, for `\sleep`.
    fn sleep(&mut self, time: Duration);
}

/// A statement of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementText {
    /// Its SQL.
    pub parts: Vec<Part>,
    /// How many parameters it has.
    pub parameters: usize,
    /// Whether it may run outside of a transaction.
    pub is_alone: bool,
    /// Whether its columns become variables (`\gset` and `\aset`), so that [`Script::compile`]
    /// has to know them.
    pub wants_columns: bool,
    /// Where it begins in the script, for [`Script::error`].
    pub offset: usize,
    /// The number of that line, from 1.
    pub line: usize,
}

/// What a database says of a statement that it was shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Described {
    /// The names of its columns, where these become variables.
    pub columns: Vec<String>,
    /// Whether a transaction with such statements alone is better begun as one that only reads.
    pub reads: bool,
}

/// A script that was read.
#[derive(Clone, Debug)]
pub struct Script {
    name: String,
    source: String,
    /// Where its lines end.
    line_ends: Vec<usize>,
    commands: Vec<Command>,
    statements: Vec<StatementText>,
    definitions: Definitions,
}

/// The most bytes of a script. Chosen: far beyond what people write.
const SOURCE_MAX: usize = 1 << 20;

#[derive(Clone, Debug)]
struct Command {
    /// Where it begins in the script.
    offset: usize,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    /// BEGIN; where it says nothing, what follows is looked at.
    Begin(Option<Access>),
    End(Control),
    Statement {
        statement: usize,
        given: Vec<Given<(String, usize)>>,
        into: Option<Into>,
    },
    Set(String, Expression<Named>),
    If(Expression<Named>),
    Elif(Expression<Named>),
    Else,
    EndIf,
    Sleep(Expression<Named>, Duration),
}

/// `\gset` and `\aset`.
#[derive(Clone, Debug)]
struct Into {
    prefix: String,
    /// `\gset` wants exactly one row; `\aset` takes the last one, if any.
    is_one: bool,
}

/// Variables that pgbench sets itself. `scale` is 1 unless a definition says otherwise.
const OWN: [&str; 4] = ["client_id", "random_seed", DEFAULT_SEED, "scale"];

impl Script {
    /// Reads a script. `name` is what its user calls it.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(name: &str, source: &str, definitions: &Definitions) -> Result<Self, SyntaxError> {
        if let Some(offset) = source.find('\0') {
            return Err(SyntaxError::at(
                name,
                source,
                offset,
                "there is a NUL byte here",
            ));
        }
        if source.len() > SOURCE_MAX {
            let message = format!(
                "a script has at most {SOURCE_MAX} bytes, this one {}",
                source.len()
            );
            return Err(SyntaxError::at(name, "", 0, message));
        }
        let mut script = Self {
            name: name.to_owned(),
            source: source.to_owned(),
            line_ends: source.match_indices('\n').map(|(end, _)| end).collect(),
            commands: Vec::new(),
            statements: Vec::new(),
            definitions: definitions.clone(),
        };
        let pieces = split(name, source)?;
        let set: BTreeSet<String> = pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Meta(meta) if meta.name == "set" => {
                    let words = source[meta.arguments.clone()].split_whitespace();
                    words.into_iter().next().map(str::to_owned)
                }
                _ => None,
            })
            .collect();
        // What columns are called is not known yet: any name may be one.
        let prefixes: Vec<&str> = pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Meta(meta) if matches!(meta.name.as_str(), "gset" | "aset") => {
                    Some(source[meta.arguments.clone()].trim())
                }
                _ => None,
            })
            .collect();
        let may_be_set = |name: &str| {
            set.contains(name)
                || definitions.contains(name)
                || OWN.contains(&name)
                || prefixes.iter().any(|prefix| name.starts_with(prefix))
        };
        for piece in &pieces {
            match piece {
                Piece::Meta(meta) => script.meta(meta)?,
                Piece::Sql(sql) => {
                    let begin = sql.text.len() - sql.text.trim_start().len();
                    let offset = sql.offset(begin);
                    let template = sql::template(sql, &may_be_set);
                    let what = script.sql(&sql.text, template, offset)?;
                    script.commands.push(Command { offset, what });
                }
            }
        }
        if script.commands.is_empty() {
            return Err(script.error(0, "this script does nothing"));
        }
        script.check_branches()?;
        script.check_transactions()?;
        Ok(script)
    }

    fn sql(&mut self, text: &str, template: Template, offset: usize) -> Result<What, SyntaxError> {
        Ok(match sql::kind(text) {
            Kind::Begin(access) => What::Begin(access),
            Kind::End(control) => What::End(control),
            Kind::Statement => {
                let parameters = template.given.len();
                if parameters > PARAMETERS_MAX {
                    let message = format!("a statement has at most {PARAMETERS_MAX} variables");
                    return Err(self.error(offset, message));
                }
                let mut parts = template.parts;
                trim(&mut parts);
                self.statements.push(StatementText {
                    parts,
                    parameters,
                    is_alone: true,
                    wants_columns: false,
                    offset,
                    line: self.line(offset),
                });
                What::Statement {
                    statement: self.statements.len() - 1,
                    given: template.given,
                    into: None,
                }
            }
        })
    }

    fn meta(&mut self, meta: &Meta) -> Result<(), SyntaxError> {
        let offset = meta.offset;
        let arguments = &self.source[meta.arguments.clone()];
        let first = arguments.len() - arguments.trim_start().len();
        let first = meta.arguments.start + first;
        let words: Vec<&str> = arguments.split_whitespace().collect();
        let expression =
            |from: usize| expression::parse(&self.name, &self.source, from..meta.arguments.end);
        let at_most = |count: usize| match words.len() <= count {
            true => Ok(()),
            false => Err(self.error(
                first,
                format!("\\{} takes at most {count} of these", meta.name),
            )),
        };
        let what = match meta.name.as_str() {
            "set" => {
                let Some(name) = words.first().copied() else {
                    return Err(self.error(offset, "\\set NAME EXPRESSION: the name is missing"));
                };
                if !is_name(name) {
                    return Err(self.error(
                        first,
                        "a variable's name has letters, digits and underscores",
                    ));
                }
                What::Set(name.to_owned(), expression(first + name.len())?)
            }
            "if" => What::If(expression(first)?),
            "elif" => What::Elif(expression(first)?),
            "else" | "endif" => {
                at_most(0)?;
                if meta.name == "else" {
                    What::Else
                } else {
                    What::EndIf
                }
            }
            "sleep" => {
                at_most(2)?;
                let (time, glued) = match words.first() {
                    None => {
                        return Err(
                            self.error(offset, "\\sleep NUMBER us|ms|s: the number is missing")
                        );
                    }
                    Some(word) => {
                        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
                        if word.starts_with(':') {
                            word.split_at(word.len())
                        } else {
                            word.split_at(digits)
                        }
                    }
                };
                let unit = match (glued, words.get(1).copied()) {
                    ("", unit) => unit.unwrap_or("s"),
                    (unit, None) => unit,
                    (_, Some(_)) => return Err(self.error(first, "\\sleep has two units")),
                };
                let unit = match unit.to_ascii_lowercase().as_str() {
                    "us" => Duration::from_micros(1),
                    "ms" => Duration::from_millis(1),
                    "s" => Duration::from_secs(1),
                    _ => return Err(self.error(first, "\\sleep has the units us, ms and s")),
                };
                let time = expression::parse(&self.name, &self.source, first..first + time.len())?;
                What::Sleep(time, unit)
            }
            "gset" | "aset" => {
                at_most(1)?;
                let name = meta.name.as_str();
                let message = format!("\\{name} must stand behind a statement that has none yet");
                let is_one = name == "gset";
                let prefix = words.first().copied().unwrap_or_default();
                if !prefix.is_empty() && !is_name(prefix) {
                    return Err(self.error(
                        first,
                        "a variable's name has letters, digits and underscores",
                    ));
                }
                let prefix = prefix.to_owned();
                let error = self.error(offset, message);
                return match self.commands.last_mut() {
                    Some(Command {
                        what:
                            What::Statement {
                                statement,
                                into: into @ None,
                                ..
                            },
                        ..
                    }) => {
                        *into = Some(Into { prefix, is_one });
                        self.statements[*statement].wants_columns = true;
                        Ok(())
                    }
                    _ => Err(error),
                };
            }
            // Statements of a pipeline are sent before the first is answered. Each is run in
            // its turn all the same, so nothing has to be done here.
            "startpipeline" | "syncpipeline" | "endpipeline" => return at_most(0),
            "shell" | "setshell" => {
                let message = format!(
                    "\\{} is not supported: octavo runs no programs of scripts",
                    meta.name
                );
                return Err(self.error(offset, message));
            }
            other => {
                return Err(self.error(offset, format!("\\{other} is no command of pgbench's")));
            }
        };
        self.commands.push(Command { offset, what });
        Ok(())
    }

    fn check_branches(&self) -> Result<(), SyntaxError> {
        // Where each open \if is, and whether its \else was there.
        let mut open: Vec<(usize, bool)> = Vec::new();
        for Command { offset, what } in &self.commands {
            match (what, open.last_mut()) {
                (What::If(_), _) => open.push((*offset, false)),
                (What::Elif(_) | What::Else | What::EndIf, None) => {
                    return Err(self.error(*offset, "there is no \\if before this"));
                }
                (What::Elif(_) | What::Else, Some((_, true))) => {
                    return Err(self.error(*offset, "this stands behind \\else"));
                }
                (What::Else, Some((_, has_else))) => *has_else = true,
                (What::EndIf, Some(_)) => {
                    open.pop();
                }
                _ => {}
            }
        }
        match open.pop() {
            Some((offset, _)) => Err(self.error(offset, "this \\if has no \\endif")),
            None => Ok(()),
        }
    }

    /// Refuses transactions that begin twice, end without a beginning, or stay open, whatever
    /// conditions come to. What only some branches do is found when the script runs.
    fn check_transactions(&mut self) -> Result<(), SyntaxError> {
        /// Whether a transaction may be open, and whether none may be.
        #[derive(Clone, Copy)]
        struct State {
            open: bool,
            closed: bool,
        }
        let mut state = State {
            open: false,
            closed: true,
        };
        // Of each \if: the state before it, what its branches led to, and whether one is taken in
        // any case.
        let mut branches: Vec<(State, State, bool)> = Vec::new();
        let either = |one: State, other: State| State {
            open: one.open || other.open,
            closed: one.closed || other.closed,
        };
        let mut begun = 0;
        for Command { offset, what } in &self.commands {
            match what {
                What::Begin(_) if !state.closed => {
                    return Err(self.error(*offset, "a transaction begins within another one"));
                }
                What::End(_) if !state.open => {
                    return Err(self.error(*offset, "there is no transaction to end"));
                }
                What::Begin(_) | What::End(_) => {
                    let open = matches!(what, What::Begin(_));
                    state = State {
                        open,
                        closed: !open,
                    };
                    begun = *offset;
                }
                What::If(_) => {
                    let none = State {
                        open: false,
                        closed: false,
                    };
                    branches.push((state, none, false));
                }
                What::Elif(_) | What::Else => {
                    let (before, after, is_taken) =
                        branches.last_mut().expect("branches were checked");
                    *after = either(*after, state);
                    *is_taken = matches!(what, What::Else);
                    state = *before;
                }
                What::EndIf => {
                    let (before, after, is_taken) = branches.pop().expect("branches were checked");
                    state = either(state, after);
                    if !is_taken {
                        state = either(state, before);
                    }
                }
                What::Statement { statement, .. } => {
                    self.statements[*statement].is_alone = state.closed;
                }
                What::Set(..) | What::Sleep(..) => {}
            }
        }
        match state.closed {
            true => Ok(()),
            false => {
                let message =
                    "the script ends within this transaction: end it with COMMIT or ROLLBACK";
                Err(self.error(begun, message))
            }
        }
    }

    /// What its user calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Its statements, in their order.
    pub fn statements(&self) -> &[StatementText] {
        &self.statements
    }

    /// The line that a byte of its text is in, from 1.
    fn line(&self, offset: usize) -> usize {
        self.line_ends.partition_point(|&end| end < offset) + 1
    }

    /// An error at a byte of its text.
    pub fn error(&self, offset: usize, message: impl std::convert::Into<String>) -> SyntaxError {
        SyntaxError::at(&self.name, &self.source, offset, message)
    }

    /// Gives variables their places, and transactions that say nothing of themselves their
    /// access: one that writes if any statement does up to the next BEGIN. `described` are the
    /// statements, in their order.
    ///
    /// # Errors
    /// A variable that nothing sets, and an expression without a value before anything depends on what
    /// the database answers.
    ///
    /// # Panics
    /// When not all statements are described.
    pub fn compile(&self, described: &[Described]) -> Result<Program, SyntaxError> {
        let mut inferred = self.inferred(described);
        let mut names: Vec<String> = OWN.iter().map(|&name| name.to_owned()).collect();
        let mut add = |name: &str| {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        };
        for (name, _) in self.definitions.iter() {
            add(name);
        }
        let mut answers = 0;
        for Command { what, .. } in &self.commands {
            match what {
                What::Set(name, _) => add(name),
                What::Statement {
                    statement,
                    into: Some(into),
                    ..
                } => {
                    let columns = &described[*statement].columns;
                    answers = answers.max(columns.len());
                    for column in columns {
                        add(&format!("{}{column}", into.prefix));
                    }
                }
                _ => {}
            }
        }
        let place = |name: &str| names.iter().position(|known| known == name).map(Slot);
        let unknown = |name: &str, offset: usize| {
            let message = format!("{name} is not set: put \\set {name} before, or give -D {name}=");
            self.error(offset, message)
        };
        let resolve = |expression: &Expression<Named>| {
            expression.resolve(&mut |named: &Named| -> Result<Known, SyntaxError> {
                match place(&named.name) {
                    Some(slot) => Ok((slot, named.name.as_str().into())),
                    None => Err(unknown(&named.name, named.offset)),
                }
            })
        };
        let mut steps = Vec::new();
        // Of each open \if: the step that jumps if its condition does not hold, and those that
        // jump to its end.
        let mut open: Vec<(Option<usize>, Vec<usize>)> = Vec::new();
        for Command { offset, what } in &self.commands {
            let step = match what {
                What::Begin(access) => {
                    let inferred = inferred.pop().expect("each BEGIN was looked at");
                    Do::Control(Control::Begin(access.unwrap_or(inferred)))
                }
                What::End(control) => Do::Control(*control),
                What::Set(name, expression) => {
                    let slot = place(name).expect("the name of a \\set was added");
                    Do::Set(slot, resolve(expression)?)
                }
                What::Sleep(time, unit) => Do::Sleep(resolve(time)?, *unit),
                What::Statement {
                    statement,
                    given,
                    into,
                } => {
                    let known = |(name, offset): &(String, usize)| -> Result<Known, SyntaxError> {
                        let slot = place(name).ok_or_else(|| unknown(name, *offset))?;
                        Ok((slot, name.as_str().into()))
                    };
                    // In quotes a colon may be one.
                    let joint = |piece: &Joint<(String, usize)>| match piece {
                        Joint::Text(text) => Joint::Text(text.clone()),
                        Joint::Variable(named) => match known(named) {
                            Ok(known) => Joint::Variable(known),
                            Err(_) => Joint::Text(format!(":{}", named.0)),
                        },
                    };
                    let parameters = given.iter().map(|given| {
                        Ok(match given {
                            Given::Variable(named) => Given::Variable(known(named)?),
                            Given::Joined(pieces) => {
                                Given::Joined(pieces.iter().map(joint).collect())
                            }
                        })
                    });
                    let into = into.as_ref().map(|into| Answer {
                        slots: described[*statement]
                            .columns
                            .iter()
                            .map(|column| format!("{}{column}", into.prefix))
                            .map(|name| place(&name).expect("the columns' names were added"))
                            .collect(),
                        is_one: into.is_one,
                    });
                    Do::Statement {
                        statement: *statement,
                        parameters: parameters.collect::<Result<_, SyntaxError>>()?,
                        into,
                    }
                }
                What::If(condition) => {
                    open.push((Some(steps.len()), Vec::new()));
                    Do::JumpUnless(resolve(condition)?, usize::MAX)
                }
                What::Elif(_) | What::Else => {
                    let (unless, ends) = open.last_mut().expect("branches were checked");
                    ends.push(steps.len());
                    steps.push(self.step(*offset, Do::Jump(usize::MAX)));
                    let here = steps.len();
                    if let Some(unless) = unless.take() {
                        target(&mut steps[unless], here);
                    }
                    let What::Elif(condition) = what else {
                        continue;
                    };
                    *unless = Some(here);
                    Do::JumpUnless(resolve(condition)?, usize::MAX)
                }
                What::EndIf => {
                    let (unless, ends) = open.pop().expect("branches were checked");
                    let here = steps.len();
                    for step in unless.into_iter().chain(ends) {
                        target(&mut steps[step], here);
                    }
                    continue;
                }
            };
            steps.push(self.step(*offset, step));
        }
        let program = Program {
            name: self.name.clone(),
            definitions: self.definitions.clone(),
            steps,
            names,
            answers,
        };
        self.rehearse(&program)?;
        Ok(program)
    }

    /// Finds what every run would end with: the expressions up to the first one that needs an
    /// answer of the database's, with draws of a fixed seed.
    fn rehearse(&self, program: &Program) -> Result<(), SyntaxError> {
        let mut variables = program.state(0, 0).variables;
        let mut random = Rehearsed(Pcg64Mcg::new(1));
        // Up to the first branch each command is a step.
        for (command, step) in self.commands.iter().zip(&program.steps) {
            let refuse = |message: String| self.error(command.offset, message);
            match &step.what {
                Do::Set(slot, expression) => {
                    let value = evaluate(expression, &variables, &mut random).map_err(refuse)?;
                    variables.set(*slot, value);
                }
                Do::Sleep(time, _) => {
                    evaluate(time, &variables, &mut random)
                        .and_then(Value::integer)
                        .map_err(refuse)?;
                }
                Do::Control(_) => {}
                Do::Statement {
                    parameters,
                    into: None,
                    ..
                } => {
                    for parameter in parameters {
                        if let Given::Variable((slot, name)) = parameter {
                            variables.parameter(*slot, name).map_err(refuse)?;
                        }
                    }
                }
                Do::Statement { into: Some(_), .. } | Do::Jump(_) | Do::JumpUnless(..) => break,
            }
        }
        Ok(())
    }

    /// What each BEGIN would be by what follows, the first one last.
    fn inferred(&self, described: &[Described]) -> Vec<Access> {
        let mut accesses = Vec::new();
        let mut access = Access::Read;
        for Command { what, .. } in self.commands.iter().rev() {
            match what {
                What::Statement { statement, .. } if !described[*statement].reads => {
                    access = Access::Write;
                }
                What::Begin(_) => accesses.push(std::mem::replace(&mut access, Access::Read)),
                _ => {}
            }
        }
        accesses
    }

    fn step(&self, offset: usize, what: Do) -> Step {
        Step {
            line: self.line(offset),
            what,
        }
    }
}

/// What a rehearsal draws.
struct Rehearsed(Pcg64Mcg);

impl Random for Rehearsed {
    fn uniform(&mut self, low: i64, high: i64) -> i64 {
        self.0.random_range(low..=high)
    }

    fn fraction(&mut self) -> f64 {
        self.0.random()
    }
}

/// Takes the white space around a statement away.
fn trim(parts: &mut [Part]) {
    if let Some(Part::Text(text)) = parts.first_mut() {
        *text = text.trim_start().to_owned();
    }
    if let Some(Part::Text(text)) = parts.last_mut() {
        *text = text.trim_end().to_owned();
    }
}

fn target(step: &mut Step, to: usize) {
    match &mut step.what {
        Do::Jump(place) | Do::JumpUnless(_, place) => *place = to,
        _ => unreachable!("only jumps have a target"),
    }
}

/// A script that can run.
#[derive(Clone, Debug)]
pub struct Program {
    name: String,
    definitions: Definitions,
    steps: Vec<Step>,
    /// The variables, by their places.
    names: Vec<String>,
    /// The most columns that become variables.
    answers: usize,
}

#[derive(Clone, Debug)]
struct Step {
    line: usize,
    what: Do,
}

#[derive(Clone, Debug)]
enum Do {
    Control(Control),
    Set(Slot, Expression<Known>),
    Statement {
        statement: usize,
        parameters: Vec<Given<Known>>,
        into: Option<Answer>,
    },
    Jump(usize),
    JumpUnless(Expression<Known>, usize),
    Sleep(Expression<Known>, Duration),
}

#[derive(Clone, Debug)]
struct Answer {
    slots: Vec<Slot>,
    is_one: bool,
}

/// The variables of one client, and the columns of the last row that was asked for.
#[derive(Debug)]
pub struct State {
    variables: Variables,
    answer: Variables,
    /// Quoted texts with variables in them, of one statement.
    texts: Vec<String>,
}

/// Parameters up to this many are put together without clearing room for all that a statement
/// can have.
const FEW: usize = 16;

impl State {
    /// Makes the quoted texts of a statement, one after the other.
    fn join(&mut self, parameters: &[Given<Known>]) -> Result<(), String> {
        let mut count = 0;
        for parameter in parameters {
            let Given::Joined(pieces) = parameter else {
                continue;
            };
            if self.texts.len() == count {
                self.texts.push(String::new());
            }
            let text = &mut self.texts[count];
            text.clear();
            for piece in pieces {
                match piece {
                    Joint::Text(part) => text.push_str(part),
                    Joint::Variable((slot, name)) => self.variables.append(*slot, name, text)?,
                }
            }
            count += 1;
        }
        Ok(())
    }
}

impl Program {
    /// Whether it waits by itself, with `\sleep`.
    pub fn sleeps(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.any(|step| matches!(step.what, Do::Sleep(..)))
    }

    /// The variables of a client before its first run.
    pub fn state(&self, client: u32, seed: i64) -> State {
        let mut variables = Variables::new(self.names.len());
        for (slot, name) in self.names.iter().enumerate() {
            let slot = Slot(slot);
            let text = self.definitions.iter().find(|(defined, _)| defined == name);
            match (name.as_str(), text) {
                (_, Some((_, text))) => variables.give(slot, text),
                ("client_id", _) => variables.set(slot, Value::Integer(client.into())),
                ("random_seed" | DEFAULT_SEED, _) => variables.set(slot, Value::Integer(seed)),
                ("scale", _) => variables.set(slot, Value::Integer(1)),
                _ => {}
            }
        }
        State {
            variables,
            answer: Variables::new(self.answers),
            texts: Vec::new(),
        }
    }

    /// Runs it once. Variables keep their values for the next run, as in pgbench. Answers
    /// whether its last transaction was committed, not rolled back.
    ///
    /// # Errors
    /// The host's; an expression without a value; `\gset` behind a query that has not one row;
    /// a transaction that is begun twice, or open at the end. The transaction is then open and
    /// has to be rolled back.
    pub fn run<H: Host>(
        &self,
        state: &mut State,
        host: &mut H,
    ) -> Result<bool, RunError<H::Error>> {
        let mut at = 0;
        let mut is_open = false;
        let mut is_committed = true;
        while let Some(step) = self.steps.get(at) {
            at += 1;
            let refuse = |message: String| self.refuse(step.line, message);
            let host_refused = |error| RunError::Host {
                script: self.name.clone(),
                line: step.line,
                error,
            };
            match &step.what {
                Do::Control(control) => {
                    match control {
                        Control::Begin(_) if is_open => {
                            return Err(refuse("a transaction begins within another one".into()));
                        }
                        Control::Commit | Control::Rollback if !is_open => {
                            return Err(refuse("there is no transaction to end".into()));
                        }
                        _ => {}
                    }
                    host.control(*control).map_err(host_refused)?;
                    is_open = matches!(control, Control::Begin(_));
                    is_committed = *control != Control::Rollback;
                }
                Do::Set(slot, expression) => {
                    let value = evaluate(expression, &state.variables, host).map_err(refuse)?;
                    state.variables.set(*slot, value);
                }
                Do::Jump(to) => at = *to,
                Do::JumpUnless(condition, to) => {
                    if !evaluate(condition, &state.variables, host)
                        .map_err(refuse)?
                        .holds()
                    {
                        at = *to;
                    }
                }
                Do::Sleep(time, unit) => {
                    let time = evaluate(time, &state.variables, host).and_then(Value::integer);
                    let times = u32::try_from(time.map_err(refuse)?.max(0)).unwrap_or(u32::MAX);
                    host.sleep(unit.saturating_mul(times));
                }
                Do::Statement {
                    statement,
                    parameters,
                    into,
                } => {
                    let mut few = [Parameter::Value(Value::Null); FEW];
                    let mut many;
                    let given = if parameters.len() <= FEW {
                        &mut few[..parameters.len()]
                    } else {
                        many = [Parameter::Value(Value::Null); PARAMETERS_MAX];
                        &mut many[..parameters.len()]
                    };
                    state.join(parameters).map_err(refuse)?;
                    let mut texts = state.texts.iter();
                    for (given, parameter) in given.iter_mut().zip(parameters) {
                        *given = match parameter {
                            Given::Variable((slot, name)) => {
                                state.variables.parameter(*slot, name).map_err(refuse)?
                            }
                            Given::Joined(_) => {
                                Parameter::Text(texts.next().map_or("", String::as_str))
                            }
                        };
                    }
                    let mut rows = 0u64;
                    let answer = &mut state.answer;
                    let mut column = |position: usize, value: Parameter<'_>| {
                        rows += u64::from(position == 0);
                        if into
                            .as_ref()
                            .is_some_and(|into| position < into.slots.len())
                        {
                            match value {
                                Parameter::Value(value) => answer.set(Slot(position), value),
                                Parameter::Text(text) => {
                                    answer.set_text(Slot(position), |own| own.push_str(text));
                                }
                            }
                        }
                    };
                    host.statement(*statement, given, &mut column)
                        .map_err(host_refused)?;
                    if let Some(into) = into {
                        if into.is_one && rows != 1 {
                            return Err(refuse(format!(
                                "\\gset wants one row, and there were {rows}"
                            )));
                        }
                        if rows > 0 {
                            for (position, slot) in into.slots.iter().enumerate() {
                                state.variables.copy(*slot, &state.answer, Slot(position));
                            }
                        }
                    }
                }
            }
        }
        match is_open {
            true => Err(self.refuse(
                self.steps.last().map_or(1, |step| step.line),
                "the script ends within a transaction: end it with COMMIT or ROLLBACK".into(),
            )),
            false => Ok(is_committed),
        }
    }

    fn refuse<E: std::error::Error + 'static>(&self, line: usize, message: String) -> RunError<E> {
        RunError::Script {
            script: self.name.clone(),
            line,
            message,
        }
    }
}
