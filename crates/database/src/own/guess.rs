//! A script for a database whose user has none: a guess from its schema.
//!
//! Most requests of most programs read one row by its key; some follow an index, read rows that
//! lie beside each other, change a row, or add one. Shares are chosen, and so is that a table's
//! share grows with the square root of its rows.

use std::fmt::Write as _;

/// What is done, with its share in percent.
const OPERATIONS: [(Operation, u32); 5] = [
    (Operation::ReadKey, 55),
    (Operation::ReadIndex, 15),
    (Operation::ReadRange, 10),
    (Operation::Update, 12),
    (Operation::Insert, 8),
];

/// Tables that are used at most, those with the most rows.
const TABLES_MAX: usize = 6;

/// Rows of a range, and of an index, at most.
const ROWS: u32 = 50;

/// Rows that an experiment may add to a table, at most. Chosen: 8% of 100 million transactions.
const INSERTS_MAX: u64 = 10_000_000;

/// Digits before the point that a number needs so that an update leaves it in its range: it adds up to
/// 25 to what is not above 100.
pub(crate) const DIGITS_MIN: i32 = 3;

/// Whether a table's numbers go on from the `last` one for as long as an experiment adds rows, with
/// steps between them up to the highest one that its key can have.
pub(crate) fn has_room(last: i64, step: u64, highest: i64) -> bool {
    let room = highest.max(last).abs_diff(last);
    room / step.max(1) >= INSERTS_MAX
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    ReadKey,
    ReadIndex,
    ReadRange,
    Update,
    Insert,
}

impl Operation {
    /// What a script without it leaves out.
    fn named(self) -> &'static str {
        match self {
            Self::ReadKey => "reads by key",
            Self::ReadIndex => "reads by an index",
            Self::ReadRange => "reads of ranges",
            Self::Update => "updates",
            Self::Insert => "inserts",
        }
    }

    /// What a script leaves out that does it to other tables and not to this one, if it is a loss.
    fn named_of(self, table: &str) -> Option<String> {
        match self {
            Self::Update => Some(format!("updates of {table}")),
            Self::Insert => Some(format!("inserts into {table}")),
            Self::ReadKey | Self::ReadIndex | Self::ReadRange => None,
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::ReadKey => "Read a row by its key.",
            Self::ReadIndex => "Follow an index.",
            Self::ReadRange => "Read rows beside each other.",
            Self::Update => "Change a row.",
            Self::Insert => "Add a row like another one.",
        }
    }
}

/// What a script needs to know of a table.
#[derive(Debug)]
pub(crate) struct Table {
    /// Its name in SQL.
    pub(crate) name: String,
    /// The column that numbers its rows, in SQL.
    pub(crate) key: String,
    /// The primary key's columns where it is another one.
    pub(crate) own_key: Vec<String>,
    pub(crate) first: i64,
    pub(crate) last: i64,
    /// The first columns of its indexes, those with the most values first.
    pub(crate) indexed: Vec<String>,
    /// What an update sets, by `:step` of 1 to 25: a column that no index and no computed column reads.
    pub(crate) change: Option<String>,
    /// Whether an UPDATE of this database takes ORDER BY and LIMIT.
    pub(crate) limits_updates: bool,
    /// What an insert sets; none where another row's values would not be unique, or where the key
    /// may find no next number.
    pub(crate) inserted: Option<Vec<String>>,
}

impl Table {
    /// What is done to it, unless that is not possible.
    fn statements(&self, operation: Operation) -> Option<String> {
        let Self { name, key, .. } = self;
        let draw = format!("\\set key random({}, {})\n", self.first, self.last);
        let row = format!("{key} >= :key ORDER BY {key} LIMIT 1");
        let sql = match operation {
            Operation::ReadKey if self.own_key.is_empty() => {
                format!("SELECT * FROM {name} WHERE {row};\n")
            }
            Operation::ReadKey => {
                let columns = self.own_key.join(", ");
                format!(
                    "SELECT * FROM {name} WHERE ({columns}) =\n  (SELECT {columns} FROM {name} WHERE {row});\n"
                )
            }
            Operation::ReadIndex => {
                let column = self.indexed.first()?;
                format!(
                    "SELECT * FROM {name} WHERE {column} =\n  (SELECT {column} FROM {name} WHERE {row}) \
                     LIMIT {ROWS};\n"
                )
            }
            Operation::ReadRange => {
                format!("SELECT * FROM {name} WHERE {key} >= :key ORDER BY {key} LIMIT {ROWS};\n")
            }
            Operation::Update => {
                let change = self.change.as_ref()?;
                // MySQL and MariaDB would compare each row with a subquery of the same table.
                let row = match self.limits_updates {
                    true => row,
                    false => format!("{key} =\n  (SELECT {key} FROM {name} WHERE {row})"),
                };
                format!("\\set step random(1, 25)\nUPDATE {name} SET {change}\n  WHERE {row};\n")
            }
            Operation::Insert => {
                let columns = self.inserted.as_ref()?.join(", ");
                format!(
                    "INSERT INTO {name}({columns})\n  SELECT {columns} FROM {name} WHERE {row};\n"
                )
            }
        };
        Some(draw + &sql)
    }

    pub(crate) fn weight(&self) -> f64 {
        (self.last.abs_diff(self.first) as f64 + 1.0).sqrt()
    }
}

/// Statements with their table's weight.
type Weighted = (f64, String);

/// Statements that were guessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guess {
    /// The script, in pgbench's language.
    pub script: String,
    /// What it leaves out: tables with rows, as SQL names them, what is done to none, and what is
    /// done to some only.
    pub without: Vec<String>,
}

/// A guess for a database; `None` where it has no table that rows can be drawn from. Of these
/// `tables` those with the most rows are used; `all` are those that have rows.
pub(crate) fn guess(name: &str, mut tables: Vec<Table>, all: Vec<String>) -> Option<Guess> {
    tables.sort_by(|one, other| other.weight().total_cmp(&one.weight()));
    tables.truncate(TABLES_MAX);
    let mut without = all;
    without.retain(|name| tables.iter().all(|table| table.name != *name));
    let mut parts: Vec<(u32, Operation, Vec<Weighted>)> = Vec::new();
    for (operation, share) in OPERATIONS {
        let of_tables: Vec<Weighted> = tables
            .iter()
            .filter_map(|table| Some((table.weight(), table.statements(operation)?)))
            .collect();
        if of_tables.is_empty() {
            without.push(operation.named().into());
        } else {
            let lacking = tables
                .iter()
                .filter(|table| table.statements(operation).is_none());
            without.extend(lacking.filter_map(|table| operation.named_of(&table.name)));
            parts.push((share, operation, of_tables));
        }
    }
    without.push("deletes".into());
    let all: u32 = parts.iter().map(|(share, ..)| share).sum();
    if all == 0 {
        return None;
    }
    let in_line = |text: &str| text.replace(['\n', '\r'], " ");
    let mut text = format!(
        "-- A guess from the schema of {}: edit what your program does otherwise.\n\
         -- Left out: {}.\n\
         \\set what random(1, {all})\n",
        in_line(name),
        in_line(&without.join(", "))
    );
    let mut end = 0;
    for (share, operation, of_tables) in &parts {
        let word = if end == 0 { "if" } else { "elif" };
        end += share;
        let _ = writeln!(text, "\\{word} :what <= {end}\n  -- {}", operation.about());
        choose(&mut text, of_tables);
    }
    text.push_str("\\endif\n");
    Some(Guess {
        script: text,
        without,
    })
}

/// One of several tables, by their weights in thousandths.
fn choose(text: &mut String, of_tables: &[Weighted]) {
    let indented = |text: &mut String, lines: &str, depth: usize| {
        for line in lines.lines() {
            let _ = writeln!(text, "{:depth$}{line}", "");
        }
    };
    if let [(_, only)] = of_tables {
        return indented(text, only, 2);
    }
    let sum: f64 = of_tables.iter().map(|(weight, _)| weight).sum();
    text.push_str("  \\set table random(1, 1000)\n");
    let mut below = 0.0;
    for (place, (weight, statements)) in of_tables.iter().enumerate() {
        below += weight;
        let end = (below / sum * 1000.0).round();
        match place {
            0 => writeln!(text, "  \\if :table <= {end}"),
            _ if place + 1 < of_tables.len() => writeln!(text, "  \\elif :table <= {end}"),
            _ => writeln!(text, "  \\else"),
        }
        .unwrap_or_default();
        indented(text, statements, 4);
    }
    text.push_str("  \\endif\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, limits_updates: bool) -> Table {
        Table {
            name: name.into(),
            key: "id".into(),
            own_key: Vec::new(),
            first: 1,
            last: 100,
            indexed: Vec::new(),
            change: Some("n = n + :step".into()),
            limits_updates,
            inserted: None,
        }
    }

    /// MariaDB read all of 200,000 rows to change one whose key a subquery of the same table names.
    #[test]
    fn updates_find_their_row_by_its_key() {
        let update = |limits| table("t", limits).statements(Operation::Update).unwrap();
        assert_eq!(
            update(true),
            "\\set key random(1, 100)\n\\set step random(1, 25)\n\
             UPDATE t SET n = n + :step\n  WHERE id >= :key ORDER BY id LIMIT 1;\n"
        );
        assert_eq!(
            update(false),
            "\\set key random(1, 100)\n\\set step random(1, 25)\n\
             UPDATE t SET n = n + :step\n  WHERE id =\n  \
             (SELECT id FROM t WHERE id >= :key ORDER BY id LIMIT 1);\n"
        );
    }

    #[test]
    fn numbers_that_end_soon_have_no_room() {
        assert!(has_room(5, 1, i64::from(i32::MAX)));
        assert!(!has_room(5, 1000, i64::from(i32::MAX)));
        assert!(!has_room(5, 1, i64::from(i16::MAX)));
        assert!(has_room(i64::MIN, 0, i64::MAX));
        assert!(!has_room(i64::MAX, 1, 5));
    }

    #[test]
    fn a_guess_says_which_tables_are_not_changed() {
        let free = Table {
            inserted: Some(vec!["n".into()]),
            ..table("free", true)
        };
        let only_read = Table {
            change: None,
            ..table("only_read", true)
        };
        let guess = guess("my.db", vec![free, only_read], Vec::new()).unwrap();
        let without = [
            "reads by an index",
            "updates of only_read",
            "inserts into only_read",
            "deletes",
        ];
        assert_eq!(guess.without, without);
    }

    #[test]
    fn a_guess_says_what_it_leaves_out() {
        let tables = vec![table("t", false)];
        let all = vec!["t".into(), "many\nlines".into()];
        let guess = guess("my.db", tables, all).unwrap();
        let without = ["many\nlines", "reads by an index", "inserts", "deletes"];
        assert_eq!(guess.without, without);
        assert!(guess.script.starts_with(
            "-- A guess from the schema of my.db: edit what your program does otherwise.\n\
             -- Left out: many lines, reads by an index, inserts, deletes.\n\\set what"
        ));
    }
}
