//! Digests of a server as statements, with the queries that their values come from.

use std::collections::{BTreeMap, BTreeSet};

use octavo_recording::{
    Dialect, Left,
    digest::{Catalog, Class, Digest, Draw, Expression, Planned, Style, Table, plan},
};
use octavo_script::{Part, StatementKind, statement_kind, words};

/// Rows of a table whose values are drawn. Chosen: a key drawn from so many is found in a cache
/// more easily than one drawn from all only where the cache is smaller than their pages.
pub(crate) const ROWS: usize = 50_000;

/// What a server has counted.
#[derive(Debug)]
pub enum FoundDigests {
    /// Digests.
    Usable(Digests),
    /// None, for a reason that its user may change: half a sentence.
    None(String),
    /// None: databases of this kind count none.
    Never,
}

/// The digests of a server.
#[derive(Debug)]
pub struct Digests {
    pub(crate) digests: Vec<Digest>,
    /// Statements that the server had no room to count apart; of all databases.
    pub(crate) lost: u64,
    pub(crate) catalog: Catalog,
    pub(crate) dialect: &'static Dialect,
    pub(crate) style: Style,
    /// What the server gives in the place of a text that the account may not read.
    pub(crate) hidden: Option<&'static str>,
    /// A query for the values of a table.
    pub(crate) query: fn(&Table, &Wanted) -> String,
    /// What stands around a parameter of a class of values.
    pub(crate) around: fn(Class) -> Option<(&'static str, &'static str)>,
}

/// What is wanted of a table's rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// Columns, with what of them.
    pub(crate) columns: BTreeSet<(usize, Expression)>,
    /// Columns whose largest values are wanted.
    pub(crate) largest: BTreeSet<usize>,
}

impl Wanted {
    pub(super) fn add(&mut self, other: &Self) {
        self.columns.extend(&other.columns);
        self.largest.extend(&other.largest);
    }
}

/// The columns that rows are put into a fixed order by: those of the first unique key, or else
/// all that is wanted of them.
pub(crate) fn order<'t>(table: &'t Table, wanted: &Wanted) -> Vec<&'t str> {
    let columns: Vec<usize> = match table.keys.first() {
        Some(key) => key.clone(),
        None => wanted.columns.iter().map(|(column, _)| *column).collect(),
    };
    columns
        .into_iter()
        .map(|column| table.columns[column].sql.as_str())
        .collect()
}

impl Digests {
    /// All digests, those that ran most often first.
    pub(super) fn sorted(&self) -> Vec<&Digest> {
        let mut sorted: Vec<&Digest> = self.digests.iter().collect();
        sorted.sort_by(|one, other| (other.calls, &one.text).cmp(&(one.calls, &other.text)));
        sorted
    }

    /// How often all of a program's ran that do not begin or end transactions.
    pub fn calls(&self) -> u64 {
        let of_programs =
            |digest: &&Digest| is_program_s(&digest.text) && self.plan(digest) != Err(Left::Tool);
        let statements = self.digests.iter().filter(of_programs);
        statements.map(|digest| digest.calls).sum()
    }

    /// The statement of a digest.
    pub(super) fn plan(&self, digest: &Digest) -> Result<Planned, Left> {
        if self.hidden == Some(digest.text.as_str()) {
            return Err(Left::Hidden);
        }
        plan(digest, self.dialect, self.style, &self.catalog)
    }

    /// What the values of a statement need of each table.
    pub(super) fn wanted(&self, planned: &Planned) -> BTreeMap<usize, Wanted> {
        let mut all: BTreeMap<usize, Wanted> = BTreeMap::new();
        for row in &planned.rows {
            all.entry(row.table).or_default();
        }
        for draw in &planned.draws {
            match *draw {
                Draw::Column {
                    row,
                    column,
                    expression,
                }
                | Draw::Next {
                    row,
                    column,
                    expression,
                } => {
                    let table = planned.rows[row].table;
                    let wanted = all.entry(table).or_default();
                    wanted.columns.insert((column, expression));
                }
                Draw::Several { table, column, .. } => {
                    let wanted = all.entry(table).or_default();
                    wanted.columns.insert((column, Expression::Value));
                }
                Draw::New { table, column } => {
                    all.entry(table).or_default().largest.insert(column);
                }
                Draw::Amount | Draw::Whole(_) | Draw::Word(_) => {}
            }
        }
        all
    }

    /// A statement's text with what its values need around them.
    pub(super) fn parts(&self, planned: &Planned) -> Vec<Part> {
        let mut parts = Vec::new();
        for part in &planned.parts {
            let around = match part {
                Part::Parameter(position) => self.around_draw(planned, &planned.draws[*position]),
                Part::Text(_) => None,
            };
            match around {
                Some((before, behind)) => parts.extend([
                    Part::Text(before.to_owned()),
                    part.clone(),
                    Part::Text(behind.to_owned()),
                ]),
                None => parts.push(part.clone()),
            }
        }
        parts
    }

    fn around_draw(&self, planned: &Planned, draw: &Draw) -> Option<(&'static str, &'static str)> {
        let (Draw::Column { row, column, .. } | Draw::Next { row, column, .. }) = *draw else {
            return None;
        };
        let table = &self.catalog.tables[planned.rows[row].table];
        (self.around)(table.columns[column].class)
    }

    /// The statements as they stand, with how often they ran, for somebody to read.
    pub fn shown(&self) -> String {
        let all = self.calls();
        let mut text = String::from(
            "-- Digests of the server. Set the values of :p1 and so on, put each statement that you want into a\n\
             -- file of its own, and give these with --script FILE@WEIGHT.\n",
        );
        for digest in self.sorted() {
            let one_line = digest.text.replace(char::is_control, " ");
            let calls = match digest.calls {
                1 => "1 call".to_owned(),
                calls => format!("{calls} calls"),
            };
            // Of what the heading of an answer counts.
            let share = match is_program_s(&digest.text) {
                true => format!(" ({:.2}%)", digest.calls as f64 * 100.0 / all.max(1) as f64),
                false => String::new(),
            };
            let head = format!("\n-- {}: {calls}{share}", digest.name());
            match self.plan(digest) {
                Ok(planned) => {
                    let sql: String = planned
                        .parts
                        .iter()
                        .map(|part| match part {
                            Part::Text(text) => text.replace(char::is_control, " "),
                            Part::Parameter(position) => format!(":p{}", position + 1),
                        })
                        .collect();
                    let draws = planned.draws.iter().enumerate().map(|(position, draw)| {
                        format!("--   :p{} {}\n", position + 1, self.told(&planned, draw))
                    });
                    text += &format!("{head}\n{}{};\n", draws.collect::<String>(), sql.trim());
                }
                Err(_) if is_end(&digest.text) => {
                    text +=
                        &format!("{head}, left out: begins or ends a transaction\n-- {one_line}\n");
                }
                // What is no query may hold a password: ALTER ROLE ... PASSWORD is kept whole.
                Err(left @ Left::Word(_)) => {
                    let first = words(&digest.text).into_iter().next().unwrap_or_default();
                    text += &format!("{head}, left out: {left}\n-- {first} ...\n");
                }
                Err(left) => text += &format!("{head}, left out: {left}\n-- {one_line}\n"),
            }
        }
        text
    }

    /// What a value is drawn from.
    fn told(&self, planned: &Planned, draw: &Draw) -> String {
        let name = |table: usize, column: usize| {
            let table = &self.catalog.tables[table];
            format!("{}.{}", table.sql, table.columns[column].sql).replace(char::is_control, " ")
        };
        match *draw {
            Draw::Column { row, column, .. } => {
                format!(
                    "is of {}, row {}",
                    name(planned.rows[row].table, column),
                    row + 1
                )
            }
            Draw::Next { row, column, .. } => {
                let table = planned.rows[row].table;
                format!(
                    "is the next one of {}, row {}",
                    name(table, column),
                    row + 1
                )
            }
            Draw::Several {
                table,
                column,
                count,
            } => format!("is an array of {count} of {}", name(table, column)),
            Draw::New { table, column } => format!("is new in {}", name(table, column)),
            Draw::Amount => "is a number from 1 to 25".into(),
            Draw::Whole(number) => format!("is {number}"),
            Draw::Word(word) => format!("is {word}"),
        }
    }
}

/// Whether a statement may be one of a program's, and begins or ends no transaction. What copies and
/// tunes is a tool's: pg_dump's COPY, LOCK and SET, Octavo's own copies among them.
pub(super) fn is_program_s(text: &str) -> bool {
    const OF_TOOLS: [&str; 8] = [
        "COPY",
        "LOCK",
        "SET",
        "SHOW",
        "RESET",
        "USE",
        "SAVEPOINT",
        "RELEASE",
    ];
    let words = words(text);
    let word = |place: usize| words.get(place).map_or("", String::as_str);
    let is_undone = word(0) == "ROLLBACK" && [word(1), word(2)].contains(&"TO");
    !is_end(text) && !is_undone && !OF_TOOLS.contains(&word(0))
}

/// Whether a statement begins or ends a transaction.
pub(super) fn is_end(text: &str) -> bool {
    matches!(
        statement_kind(text),
        StatementKind::Begin(_) | StatementKind::End(_)
    )
}
