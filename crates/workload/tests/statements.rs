//! What every workload declares of its statements, compared with their SQL.

use octavo_units::Seed;
use octavo_workload::{
    Registry, Workload,
    connection::{Path, Statement, TableAccess, Verb},
    schema::Table,
    touch::check_declaration,
};

fn each_statement(mut check: impl FnMut(&Statement, &dyn Workload)) {
    for family in Registry::standard().families() {
        let workload = family.trial(Seed::new(1)).unwrap();
        for statement in workload.statements() {
            check(statement, &*workload);
        }
    }
}

/// Words of SQL without its texts, in their order.
fn words(sql: &str) -> Vec<&str> {
    let without_texts = sql.split('\'').step_by(2);
    without_texts
        .flat_map(|part| part.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .filter(|word| !word.is_empty())
        .collect()
}

/// Parts between commas that are in no parentheses.
fn parts(list: &str) -> Vec<&str> {
    let mut depth = 0;
    list.split(|c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    })
    .collect()
}

/// The columns of a table that SQL names, sorted.
fn named<'a>(sql: &'a str, table: &Table) -> Vec<&'a str> {
    let mut columns = words(sql);
    columns.retain(|word| table.columns.iter().any(|column| column.name == *word));
    columns.sort_unstable();
    columns.dedup();
    columns
}

fn sorted<'a>(columns: &[&'a str]) -> Vec<&'a str> {
    let mut columns = columns.to_vec();
    columns.sort_unstable();
    columns
}

/// What an UPDATE sets: columns, and what their new values are made of.
fn assignments(sql: &str) -> (Vec<&str>, String) {
    let (_, rest) = sql.split_once(" SET ").unwrap();
    let (set, condition) = rest.split_once(" WHERE ").unwrap();
    let set = parts(set)
        .into_iter()
        .map(|one| one.split_once(" = ").unwrap());
    let (columns, values): (Vec<_>, Vec<_>) = set.unzip();
    let columns = columns.into_iter().map(str::trim).collect();
    (columns, format!("{} {condition}", values.join(" ")))
}

#[test]
fn tables_and_columns_are_those_that_the_sql_names() {
    each_statement(|statement, workload| {
        let Statement { sql, tables, .. } = statement;
        assert!(!tables.is_empty(), "{sql}");
        let mut found = 0;
        for table in workload.tables() {
            let mut declared = tables.iter().filter(|access| access.table == table.name);
            let access = declared.next();
            assert!(declared.next().is_none(), "{}: {sql}", table.name);
            let is_named = words(sql).contains(&table.name);
            assert_eq!(access.is_some(), is_named, "{}: {sql}", table.name);
            found += usize::from(access.is_some());
            let Some(TableAccess {
                verb,
                reads,
                writes,
                ..
            }) = access
            else {
                continue;
            };
            let (wanted_reads, wanted_writes) = match verb {
                Verb::Read | Verb::Delete => (named(sql, table), Vec::new()),
                Verb::Insert => (Vec::new(), named(sql, table)),
                Verb::Update => {
                    let (columns, rest) = assignments(sql);
                    assert_eq!(sorted(reads), named(&rest, table), "{sql}");
                    (sorted(reads), sorted(&columns))
                }
            };
            assert_eq!(sorted(reads), wanted_reads, "{sql}");
            assert_eq!(sorted(writes), wanted_writes, "{sql}");
        }
        assert_eq!(found, tables.len(), "{sql}");
    });
}

#[test]
fn declared_tables_indexes_and_columns_are_those_of_the_workload() {
    each_statement(|statement, workload| {
        let declared = check_declaration(statement, workload.tables());
        assert_eq!(declared, Ok(()), "{}", statement.sql);
    });
}

#[test]
fn the_first_table_is_the_one_that_is_changed() {
    each_statement(|statement, _| {
        let Statement { sql, tables, .. } = statement;
        let verbs: Vec<Verb> = tables.iter().map(|access| access.verb).collect();
        let (first, joined) = verbs.split_first().unwrap();
        let wanted = match words(sql)[0] {
            "SELECT" => Verb::Read,
            "UPDATE" => Verb::Update,
            "INSERT" => Verb::Insert,
            "DELETE" => Verb::Delete,
            other => panic!("{other}: {sql}"),
        };
        assert_eq!(*first, wanted, "{sql}");
        assert!(joined.iter().all(|verb| *verb == Verb::Read), "{sql}");
    });
}

#[test]
fn entries_are_of_an_index_of_the_table() {
    each_statement(|statement, workload| {
        for access in statement.tables {
            let mut tables = workload.tables().iter();
            let table = tables.find(|table| table.name == access.table).unwrap();
            let mut has_index = false;
            for path in access.paths {
                match path {
                    Path::Key => {}
                    Path::Index(name) => {
                        has_index = true;
                        let mut indexes = table.indexes.iter();
                        assert!(indexes.any(|index| index.name == *name), "{name}");
                    }
                    Path::Entry => assert!(has_index, "{}", statement.sql),
                }
            }
        }
    });
}

#[test]
fn parameters_are_numbered_by_first_appearance_and_new_values_come_first() {
    let marks = |sql: &str| -> Vec<usize> {
        let marks = sql.split('?').skip(1).map(|rest| {
            let digits = rest.find(|c: char| !c.is_ascii_digit());
            rest[..digits.unwrap_or(rest.len())].parse().unwrap()
        });
        marks.collect()
    };
    each_statement(|statement, _| {
        let sql = statement.sql;
        let mut first = Vec::new();
        for mark in marks(sql) {
            if !first.contains(&mark) {
                first.push(mark);
            }
        }
        let wanted: Vec<usize> = (1..=statement.parameters.len()).collect();
        assert_eq!(first, wanted, "{sql}");
        let changed = match statement.tables[0].verb {
            Verb::Insert => statement.parameters.len(),
            Verb::Update => {
                let (set, _) = sql.split_once(" WHERE ").unwrap();
                marks(set).into_iter().max().unwrap()
            }
            Verb::Read | Verb::Delete => 0,
        };
        assert_eq!(statement.changed_parameters, changed, "{sql}");
    });
}

#[test]
fn results_have_the_columns_that_are_declared() {
    each_statement(|statement, _| {
        let select = statement.sql.strip_prefix("SELECT ");
        let columns = select.map_or(0, |select| {
            let (list, _) = select.split_once(" FROM ").unwrap();
            parts(list).len()
        });
        assert_eq!(columns, statement.result.len(), "{}", statement.sql);
    });
}
