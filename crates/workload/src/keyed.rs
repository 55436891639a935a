//! What statements do with rows, for databases that know keys and no SQL: the part that their
//! [accesses](crate::connection::TableAccess) leave open.
//!
//! Most statements need nothing more than their accesses. They then
//!
//! - insert a row, with a parameter for each column set, in their order, and NULL in the others;
//! - or take the rows of the first table whose last columns read equal the last parameters, as
//!   many as there are parameters that are no new values. They delete these rows, set columns of
//!   them, or answer with their first columns read. A column that is read and set is increased.
//!
//! [`Keyed`] says what differs from that.

/// What a statement does besides what its accesses say. Columns are those of its first table, and
/// among the columns read; parameters are counted from 0.
#[derive(Clone, Copy, Debug)]
pub struct Keyed {
    /// Which rows.
    pub wanted: Wanted,
    /// What becomes of the columns set, in their order, each with the parameter at its position;
    /// empty where the accesses say it.
    pub changes: &'static [Change],
    /// The columns set that an insert sets to NULL, without a parameter.
    pub nulls: &'static [&'static str],
    /// What it answers with.
    pub answer: Answer,
    /// Whether who sends it knows that the row is there, or is not there if it inserts it: then it
    /// may be written without looking. Only of a row that is found by its whole key, and of an update
    /// that sets all other columns.
    pub is_blind: bool,
}

impl Keyed {
    /// Nothing differs.
    pub const DECLARED: Self = Self {
        wanted: Wanted::Declared,
        changes: &[],
        nulls: &[],
        answer: Answer::Rows,
        is_blind: false,
    };

    /// Nothing differs, and it is known whether the row is there.
    pub(crate) const BLIND: Self = Self {
        is_blind: true,
        ..Self::DECLARED
    };

    /// Rows that the accesses say, and another answer.
    pub(crate) const fn answering(answer: Answer) -> Self {
        Self {
            answer,
            ..Self::DECLARED
        }
    }

    /// Rows that the accesses say, and other changes.
    pub(crate) const fn changing(changes: &'static [Change]) -> Self {
        Self {
            changes,
            ..Self::DECLARED
        }
    }

    /// A row with NULL in these columns too.
    pub(crate) const fn with_null(nulls: &'static [&'static str]) -> Self {
        Self {
            nulls,
            ..Self::DECLARED
        }
    }

    /// Other rows.
    pub(crate) const fn of(comparisons: &'static [Comparison]) -> Self {
        Self {
            wanted: Wanted::All(comparisons),
            ..Self::DECLARED
        }
    }

    /// The same with another answer.
    pub(crate) const fn and(self, answer: Answer) -> Self {
        Self { answer, ..self }
    }
}

/// Which rows a statement takes.
#[derive(Clone, Copy, Debug)]
pub enum Wanted {
    /// Those whose last columns read equal the last parameters; all where there are none.
    Declared,
    /// Those of which all comparisons hold.
    All(&'static [Comparison]),
    /// Those of which all comparisons of one of these lists hold.
    Any(&'static [&'static [Comparison]]),
}

/// A column compared with a parameter.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// The column.
    pub column: &'static str,
    /// How.
    pub relation: Relation,
    /// The parameter's position.
    pub parameter: usize,
}

impl Comparison {
    pub(crate) const fn new(column: &'static str, relation: Relation, parameter: usize) -> Self {
        Self {
            column,
            relation,
            parameter,
        }
    }
}

/// How a column is compared with a parameter. NULL satisfies none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// It is equal.
    Equal,
    /// It is greater or equal.
    AtLeast,
    /// It is less or equal.
    AtMost,
    /// It is less.
    Below,
}

/// What becomes of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The parameter.
    Set,
    /// The parameter is added. NULL stays so.
    Add,
    /// The parameter is subtracted. NULL stays so.
    Subtract,
    /// The parameter is subtracted, and `by` is added where less than `least` would be left: stock
    /// (TPC-C, clause 2.4.2.2).
    SubtractAndRefill {
        /// What has to be left.
        least: i64,
        /// What is added.
        by: i64,
    },
}

/// What a query answers with.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// The first columns read of each row, as many as the result has, in the order of the path.
    Rows,
    /// The same of as many rows as this parameter says.
    FirstRows(usize),
    /// The same of the last row alone.
    LastRow,
    /// One row of values over all rows.
    Values(&'static [Aggregate]),
    /// For each value of a column, in whose order rows come, a row: of it, and values over its rows.
    ValuesBy(&'static str, &'static [Aggregate]),
    /// One row of values over rows of the statement's second table, each found by its whole key:
    /// by one row of the first table. There may be none.
    Matches {
        /// The columns of that key, in its order.
        key: &'static [KeyPart],
        /// What has to hold of a row found.
        keep: Comparison,
        /// The values, of its columns.
        values: &'static [Aggregate],
    },
}

/// A part of a key.
#[derive(Clone, Copy, Debug)]
pub enum KeyPart {
    /// A parameter.
    Parameter(usize),
    /// A column of the row at hand.
    Column(&'static str),
}

/// A value over rows. All but counts are NULL without a row, and pass over NULL.
#[derive(Clone, Copy, Debug)]
pub enum Aggregate {
    /// How many rows there are.
    Count,
    /// How many rows have a text that begins so, with a number of characters between these two.
    CountTexts {
        /// The column.
        column: &'static str,
        /// How it begins.
        prefix: &'static str,
        /// It has more characters.
        longer_than: usize,
        /// It has fewer characters.
        shorter_than: usize,
    },
    /// How many values a column has.
    Distinct(&'static str),
    /// The sum of a column.
    Sum(&'static str),
    /// The least value of a column.
    Least(&'static str),
    /// Characters of its shortest text.
    Shortest(&'static str),
    /// Characters of its longest text.
    Longest(&'static str),
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;
    use crate::{
        Registry,
        connection::{Statement, StatementId, Verb},
    };

    /// The columns that it names of the statement's first table, and the parameters.
    fn named(keyed: &Keyed) -> (Vec<&'static str>, Vec<usize>) {
        let comparisons: Vec<Comparison> = match keyed.wanted {
            Wanted::Declared => Vec::new(),
            Wanted::All(comparisons) => comparisons.to_vec(),
            Wanted::Any(lists) => lists.concat(),
        };
        let mut columns: Vec<_> = comparisons.iter().map(|of| of.column).collect();
        let mut parameters: Vec<_> = comparisons.iter().map(|of| of.parameter).collect();
        match keyed.answer {
            Answer::Rows | Answer::LastRow => {}
            Answer::FirstRows(limit) => parameters.push(limit),
            Answer::Values(values) => columns.extend(values.iter().filter_map(column)),
            Answer::ValuesBy(by, values) => {
                columns.push(by);
                columns.extend(values.iter().filter_map(column));
            }
            Answer::Matches { key, keep, .. } => {
                parameters.push(keep.parameter);
                for part in key {
                    match part {
                        KeyPart::Parameter(parameter) => parameters.push(*parameter),
                        KeyPart::Column(column) => columns.push(column),
                    }
                }
            }
        }
        (columns, parameters)
    }

    fn column(aggregate: &Aggregate) -> Option<&'static str> {
        match *aggregate {
            Aggregate::Count => None,
            Aggregate::CountTexts { column, .. }
            | Aggregate::Distinct(column)
            | Aggregate::Sum(column)
            | Aggregate::Least(column)
            | Aggregate::Shortest(column)
            | Aggregate::Longest(column) => Some(column),
        }
    }

    /// How many columns it answers with, where that is not the statement's own.
    fn width(keyed: &Keyed) -> Option<usize> {
        match keyed.answer {
            Answer::Rows | Answer::FirstRows(_) | Answer::LastRow => None,
            Answer::Values(values) | Answer::Matches { values, .. } => Some(values.len()),
            Answer::ValuesBy(_, values) => Some(values.len() + 1),
        }
    }

    fn holds(statement: &Statement, keyed: &Keyed) {
        let sql = statement.sql;
        let [first, others @ ..] = statement.tables else {
            panic!("{sql} has no table");
        };
        let (columns, parameters) = named(keyed);
        for column in columns {
            assert!(first.reads.contains(&column), "{sql}: {column}");
        }
        let count = statement.parameters.len();
        assert!(parameters.iter().all(|of| *of < count), "{sql}");
        assert_eq!(
            width(keyed).unwrap_or(statement.result.len()),
            statement.result.len(),
            "{sql}"
        );
        match (keyed.answer, others) {
            (Answer::Matches { keep, values, .. }, [second]) => {
                let columns = values.iter().filter_map(column).chain([keep.column]);
                assert!(
                    columns.into_iter().all(|of| second.reads.contains(&of)),
                    "{sql}"
                );
            }
            (_, others) => assert!(others.is_empty(), "{sql}"),
        }
        let changes = keyed.changes.len();
        assert!(changes == 0 || changes == first.writes.len(), "{sql}");
        // What follows from the accesses alone: the text says the same.
        if first.verb == Verb::Insert {
            assert_eq!(first.writes.len() - keyed.nulls.len(), count, "{sql}");
            assert!(
                keyed.nulls.iter().all(|of| first.writes.contains(of)),
                "{sql}"
            );
        }
        let declared = match (first.verb, keyed.wanted) {
            (Verb::Insert, _) => 0,
            (_, Wanted::Declared) => count - first.writes.len(),
            _ => return,
        };
        for (place, column) in first.reads[first.reads.len() - declared..]
            .iter()
            .enumerate()
        {
            let parameter = first.writes.len() + place + 1;
            let equal = format!("{column} = ?{parameter}");
            assert!(sql.contains(&equal), "{sql}: {equal}");
        }
        for (place, column) in first.writes.iter().enumerate() {
            let parameter = place + 1;
            let change = keyed.changes.get(place).copied();
            let declared = match first.reads.contains(column) {
                true => Change::Add,
                false => Change::Set,
            };
            let text = match (first.verb, change.unwrap_or(declared)) {
                (Verb::Update, Change::Set) => format!("{column} = ?{parameter}"),
                (Verb::Update, Change::Add) => format!("{column} = {column} + ?{parameter}"),
                (Verb::Update, Change::Subtract) => format!("{column} = {column} - ?{parameter}"),
                (Verb::Update, Change::SubtractAndRefill { least, by }) => format!(
                    "{column} = CASE WHEN {column} >= ?{parameter} + {least} THEN {column} - \
                     ?{parameter} ELSE {column} - ?{parameter} + {by} END"
                ),
                _ => continue,
            };
            assert!(sql.contains(&text), "{sql}: {text}");
        }
    }

    #[test]
    fn what_statements_do_is_what_their_text_says() {
        let registry = Registry::standard();
        let mut families = 0;
        for family in registry.families() {
            let workload = family.trial(Seed::new(1)).unwrap();
            let statements = workload.statements();
            let keyed = (0..statements.len()).map(|of| workload.keyed(StatementId(of)));
            let Some(keyed) = keyed.collect::<Option<Vec<Keyed>>>() else {
                continue;
            };
            families += 1;
            for (statement, keyed) in statements.iter().zip(&keyed) {
                holds(statement, keyed);
            }
        }
        assert_eq!(families, 4);
    }
}
