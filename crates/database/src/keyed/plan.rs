//! What statements do to trees, worked out once: from the tables, paths and columns that they
//! declare, and from [`Keyed`].

use octavo_workload::{
    ConnectionError, Result, Workload,
    connection::{Path, Statement, StatementId, TableAccess, Verb},
    keyed::{Answer, Change, Comparison, KeyPart, Keyed, Relation, Wanted},
    schema::ColumnKind,
};

use super::{
    TreeId,
    aggregate::Value,
    layout::{IndexLayout, Layout, TableLayout},
};

/// The plans of a workload's statements, by their positions.
#[derive(Debug)]
pub(crate) struct Plans(Vec<Plan>);

/// What one statement does.
#[derive(Debug)]
pub(super) struct Plan {
    /// Its text, for errors.
    pub(super) sql: &'static str,
    /// The position of its first table.
    pub(super) table: usize,
    pub(super) work: Work,
    /// How it writes where nothing has to be looked up before.
    pub(super) blind: Option<Blind>,
}

/// How a row is written without looking.
#[derive(Debug)]
pub(super) struct Blind {
    /// By the table's columns, the parameter of each.
    pub(super) columns: Vec<Option<usize>>,
    /// Whether the row is put. It is removed otherwise.
    pub(super) puts: bool,
}

impl Plan {
    /// Whether it reads by a single call of the engine.
    pub(super) fn is_one_call(&self) -> bool {
        match &self.work {
            Work::Query(_, Reply::Matches { .. }) => false,
            Work::Query(find, _) => match &find.way {
                Way::Point(_) => true,
                Way::Part(part) => part.index.is_none() || part.is_covered,
            },
            Work::Insert(_) | Work::Update(..) | Work::Delete(_) => false,
        }
    }
}

#[derive(Debug)]
pub(super) enum Work {
    /// Adds a row: by the table's columns, the parameter of each, or NULL.
    Insert(Vec<Option<usize>>),
    /// Changes columns of rows.
    Update(Find, Vec<Set>),
    /// Removes rows.
    Delete(Find),
    /// Answers.
    Query(Find, Reply),
}

/// A column that is changed, by a parameter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Set {
    pub(super) column: usize,
    pub(super) change: Change,
    pub(super) parameter: usize,
}

/// How rows are found.
#[derive(Debug)]
pub(super) struct Find {
    pub(super) way: Way,
    /// A row has to pass one of these lists of tests; all do where there is none.
    pub(super) tests: Vec<Vec<Test>>,
}

#[derive(Debug)]
pub(super) enum Way {
    /// By the whole key: the parameters of its columns.
    Point(Vec<usize>),
    /// By a part of a tree.
    Part(Part),
}

/// A part of a tree: keys that begin alike.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) tree: TreeId,
    /// Of an index: its position in the table.
    pub(super) index: Option<usize>,
    /// Whether the index has all that the statement reads.
    pub(super) is_covered: bool,
    /// The parameters that the key's first columns equal.
    pub(super) equal: Vec<usize>,
    /// The parameter that the next column is at least.
    pub(super) from: Option<usize>,
    /// The parameter that the next column is at most or, where not `inclusive`, below.
    pub(super) to: Option<End>,
    pub(super) limit: Limit,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) parameter: usize,
    pub(super) inclusive: bool,
}

/// How many rows are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    All,
    /// As many as a parameter says.
    Parameter(usize),
    First,
    Last,
}

/// A comparison that is made of each row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    pub(super) column: usize,
    pub(super) relation: Relation,
    pub(super) parameter: usize,
}

/// What a query makes of rows.
#[derive(Debug)]
pub(super) enum Reply {
    /// These columns of each.
    Columns(Vec<usize>),
    /// One row of values.
    Values(Vec<Value>),
    /// A row for each value of a column.
    ValuesBy(usize, Vec<Value>),
    /// One row of values over rows of another table.
    Matches {
        table: usize,
        key: Vec<MatchKey>,
        keep: Test,
        values: Vec<Value>,
    },
}

/// A part of another table's key.
#[derive(Clone, Copy, Debug)]
pub(super) enum MatchKey {
    Parameter(usize),
    Column(usize),
}

impl Plans {
    /// Of a workload's statements.
    ///
    /// # Errors
    /// When nothing but SQL says what a statement does.
    pub(crate) fn new(workload: &dyn Workload, layout: &Layout) -> Result<Self> {
        let statements = workload.statements().iter().enumerate();
        let plan = |(position, statement): (usize, &Statement)| {
            let keyed = workload.keyed(StatementId(position));
            let plan = keyed.and_then(|keyed| plan(statement, &keyed, layout));
            plan.ok_or_else(|| {
                let why = "only SQL says what it does, or it changes columns of a key";
                ConnectionError::other(format!("prepare {}", statement.sql), why)
            })
        };
        Ok(Self(statements.map(plan).collect::<Result<_>>()?))
    }

    pub(super) fn of(&self, statement: StatementId) -> &Plan {
        &self.0[statement.0]
    }
}

fn plan(statement: &Statement, keyed: &Keyed, layout: &Layout) -> Option<Plan> {
    let access = statement.tables.first()?;
    let table = layout.table(access.table)?;
    let work = match access.verb {
        Verb::Insert => Work::Insert(insert(statement, keyed, access, table)?),
        Verb::Update => Work::Update(
            find(statement, keyed, access, table)?,
            changes(statement, keyed, access, table)?,
        ),
        Verb::Delete => Work::Delete(find(statement, keyed, access, table)?),
        Verb::Read => Work::Query(
            find(statement, keyed, access, table)?,
            reply(statement, keyed, access, layout)?,
        ),
    };
    Some(Plan {
        sql: statement.sql,
        table: table.tree.0,
        blind: blind(keyed, &work, table),
        work,
    })
}

/// `None` where a row has to be looked at: it has entries in indexes, is not found by its key, or keeps
/// columns.
fn blind(keyed: &Keyed, work: &Work, table: &TableLayout) -> Option<Blind> {
    if !keyed.is_blind || !table.indexes.is_empty() || !table.has_key() {
        return None;
    }
    let of_key = |find: &Find| {
        let Way::Point(key) = &find.way else {
            return None;
        };
        let mut columns = vec![None; table.names.len()];
        for (column, parameter) in table.columns.in_key.iter().zip(key) {
            columns[*column] = Some(*parameter);
        }
        Some(columns)
    };
    let (columns, puts) = match work {
        Work::Insert(columns) => (columns.clone(), true),
        Work::Delete(find) => (of_key(find)?, false),
        Work::Update(find, sets) => {
            let mut columns = of_key(find)?;
            for set in sets.iter().filter(|set| set.change == Change::Set) {
                columns[set.column] = Some(set.parameter);
            }
            if columns.contains(&None) {
                return None;
            }
            (columns, true)
        }
        Work::Query(..) => return None,
    };
    Some(Blind { columns, puts })
}

fn insert(
    statement: &Statement,
    keyed: &Keyed,
    access: &TableAccess,
    table: &TableLayout,
) -> Option<Vec<Option<usize>>> {
    let mut parameters = vec![None; table.names.len()];
    let is_given = |name: &&&'static str| !keyed.nulls.contains(*name);
    for (parameter, name) in access.writes.iter().filter(is_given).enumerate() {
        let column = table.column(name)?;
        fits(statement, parameter, table, column)?;
        parameters[column] = Some(parameter);
    }
    Some(parameters)
}

/// `None` also where it changes a column that a key has: its row would have to move.
fn changes(
    statement: &Statement,
    keyed: &Keyed,
    access: &TableAccess,
    table: &TableLayout,
) -> Option<Vec<Set>> {
    let set = |(parameter, name): (usize, &&'static str)| {
        let column = table.column(name)?;
        fits(statement, parameter, table, column)?;
        let indexes = table.indexes.iter();
        let mut keys = indexes
            .map(|index| &index.in_key)
            .chain([&table.columns.in_key]);
        if keys.any(|key| key.contains(&column)) {
            return None;
        }
        let declared = match access.reads.contains(name) {
            true => Change::Add,
            false => Change::Set,
        };
        Some(Set {
            column,
            change: keyed.changes.get(parameter).copied().unwrap_or(declared),
            parameter,
        })
    };
    access.writes.iter().enumerate().map(set).collect()
}

/// The comparisons that decide which rows are taken. All those of one list have to hold.
fn wanted(
    statement: &Statement,
    keyed: &Keyed,
    access: &TableAccess,
) -> Option<Vec<Vec<Comparison>>> {
    Some(match keyed.wanted {
        Wanted::All(comparisons) => vec![comparisons.to_vec()],
        Wanted::Any(lists) => lists.iter().map(|list| list.to_vec()).collect(),
        Wanted::Declared => {
            let set = access.writes.len();
            let count = statement.parameters.len().checked_sub(set)?;
            let first = access.reads.len().checked_sub(count)?;
            let equal = access.reads[first..].iter().enumerate();
            let equal = equal.map(|(place, column)| Comparison {
                column,
                relation: Relation::Equal,
                parameter: set + place,
            });
            vec![equal.collect()]
        }
    })
}

fn find(
    statement: &Statement,
    keyed: &Keyed,
    access: &TableAccess,
    table: &TableLayout,
) -> Option<Find> {
    let lists = wanted(statement, keyed, access)?;
    let test = |of: &Comparison| {
        let column = table.column(of.column)?;
        fits(statement, of.parameter, table, column)?;
        Some(Test {
            column,
            relation: of.relation,
            parameter: of.parameter,
        })
    };
    let lists: Vec<Vec<Test>> = lists
        .iter()
        .map(|list| list.iter().map(test).collect())
        .collect::<Option<_>>()?;
    let index = match access.paths.first()? {
        Path::Index(name) => Some(table.indexes.iter().position(|own| own.name == *name)?),
        Path::Key | Path::Entry => None,
    };
    // One list can say where in the tree its rows are, and then has fewer tests left.
    let (mut part, tests) = match <[Vec<Test>; 1]>::try_from(lists) {
        Ok([mut list]) => {
            let part = Part::of(table, index, &mut list);
            (
                part,
                if list.is_empty() {
                    Vec::new()
                } else {
                    vec![list]
                },
            )
        }
        Err(lists) => (Part::of(table, index, &mut Vec::new()), lists),
    };
    // NULL comes before all values, and SQL would not find it.
    if part.to.is_some() && part.from.is_none() {
        return None;
    }
    if let Some(index) = index {
        part.is_covered = is_covered(&table.indexes[index], access, table)?;
    }
    let has_whole_key = part.equal.len() == table.columns.in_key.len() && table.has_key();
    if index.is_none() && has_whole_key && tests.is_empty() {
        return Some(Find {
            way: Way::Point(part.equal),
            tests,
        });
    }
    part.limit = match keyed.answer {
        Answer::FirstRows(parameter) => Limit::Parameter(parameter),
        Answer::LastRow => Limit::Last,
        // The first key has the least value of the column behind those that are equal.
        Answer::Values([octavo_workload::keyed::Aggregate::Least(column)])
            if tests.is_empty() && part.next_column(table) == table.column(column) =>
        {
            Limit::First
        }
        _ => Limit::All,
    };
    // The last of a part whose end is a value is looked for from that value's end.
    let is_bounded = part.from.is_some() || part.to.is_some();
    if part.limit == Limit::Last && (is_bounded || !tests.is_empty()) {
        return None;
    }
    Some(Find {
        way: Way::Part(part),
        tests,
    })
}

/// Whether a parameter is what a column holds: numbers are stored and compared as they are, so decimals need
/// the same scale.
fn fits(statement: &Statement, parameter: usize, table: &TableLayout, column: usize) -> Option<()> {
    let given = *statement.parameters.get(parameter)?;
    let fits = match (given, table.columns.kinds[column]) {
        (ColumnKind::Decimal { scale: given, .. }, ColumnKind::Decimal { scale, .. }) => {
            given == scale
        }
        (
            ColumnKind::Char(_) | ColumnKind::Varchar(_),
            ColumnKind::Char(_) | ColumnKind::Varchar(_),
        )
        | (
            ColumnKind::Integer | ColumnKind::Integer32,
            ColumnKind::Integer | ColumnKind::Integer32,
        )
        | (ColumnKind::Timestamp, ColumnKind::Timestamp) => true,
        _ => false,
    };
    fits.then_some(())
}

fn is_covered(index: &IndexLayout, access: &TableAccess, table: &TableLayout) -> Option<bool> {
    let mut columns = access.reads.iter().map(|name| table.column(name));
    columns.try_fold(access.verb == Verb::Read, |is_covered, column| {
        Some(is_covered & index.in_key.contains(&column?))
    })
}

impl Part {
    /// What tests say of a tree's keys; these leave the list.
    fn of(table: &TableLayout, index: Option<usize>, tests: &mut Vec<Test>) -> Self {
        let (tree, columns) = match index {
            Some(index) => (table.indexes[index].tree, &table.indexes[index].in_key),
            None => (table.tree, &table.columns.in_key),
        };
        let mut take = |column: usize, relation: Relation| {
            let place = tests
                .iter()
                .position(|test| (test.column, test.relation) == (column, relation))?;
            Some(tests.remove(place).parameter)
        };
        let mut equal = Vec::new();
        let mut columns = columns.iter();
        let mut next = columns.next();
        while let Some(parameter) = next.and_then(|column| take(*column, Relation::Equal)) {
            equal.push(parameter);
            next = columns.next();
        }
        let mut next = |relation| next.and_then(|column| take(*column, relation));
        let from = next(Relation::AtLeast);
        let to = |parameter, inclusive| End {
            parameter,
            inclusive,
        };
        let to = match next(Relation::Below) {
            Some(parameter) => Some(to(parameter, false)),
            None => next(Relation::AtMost).map(|parameter| to(parameter, true)),
        };
        Self {
            tree,
            index,
            is_covered: false,
            equal,
            from,
            to,
            limit: Limit::All,
        }
    }

    /// The column behind those that are equal, where nothing else is said of it.
    fn next_column(&self, table: &TableLayout) -> Option<usize> {
        let columns = match self.index {
            Some(index) => &table.indexes[index].in_key,
            None => &table.columns.in_key,
        };
        columns.get(self.equal.len()).copied()
    }
}

fn reply(
    statement: &Statement,
    keyed: &Keyed,
    access: &TableAccess,
    layout: &Layout,
) -> Option<Reply> {
    let table = layout.table(access.table)?;
    let values = |table: &TableLayout, values: &[octavo_workload::keyed::Aggregate]| {
        let values = values
            .iter()
            .map(|of| Value::new(of, |name| table.column(name)));
        values.collect::<Option<Vec<Value>>>()
    };
    Some(match keyed.answer {
        Answer::Rows | Answer::FirstRows(_) | Answer::LastRow => {
            let names = access.reads.get(..statement.result.len())?;
            let columns = names.iter().map(|name| table.column(name));
            Reply::Columns(columns.collect::<Option<_>>()?)
        }
        Answer::Values(of) => Reply::Values(values(table, of)?),
        Answer::ValuesBy(by, of) => Reply::ValuesBy(table.column(by)?, values(table, of)?),
        Answer::Matches {
            key,
            keep,
            values: of,
        } => {
            let other = layout.table(statement.tables.get(1)?.table)?;
            let part = |part: &KeyPart| {
                Some(match part {
                    KeyPart::Parameter(parameter) => MatchKey::Parameter(*parameter),
                    KeyPart::Column(name) => MatchKey::Column(table.column(name)?),
                })
            };
            Reply::Matches {
                table: other.tree.0,
                key: key.iter().map(part).collect::<Option<_>>()?,
                keep: Test {
                    column: other.column(keep.column)?,
                    relation: keep.relation,
                    parameter: keep.parameter,
                },
                values: values(other, of)?,
            }
        }
    })
}
