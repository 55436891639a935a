//! Octavo's database on a server that is the user's: whose it is, its mark,
//! and how it is made and dropped.

use octavo_workload::{ConnectionError, Result, Workload, schema::Table};

use super::super::{
    ddl::{self, ROW_NUMBER},
    failure::ServerError,
    session::Session,
};
use crate::{
    DatabaseError,
    external::{
        LOADING, MARK, SCHEMA, Url, entangled, foreign, is_own_table, own_position, refused,
    },
};

/// The table with the mark.
const MARK_TABLE: &str = "octavo_mark";

/// The table that is made and dropped to see whether a load can make its own.
const TRIAL_TABLE: &str = "octavo_trial";

/// Errors of an account that lacks a right: ER_DBACCESS_DENIED_ERROR,
/// ER_TABLEACCESS_DENIED_ERROR, ER_SPECIFIC_ACCESS_DENIED_ERROR.
const NO_RIGHT: [u16; 3] = [1044, 1142, 1227];

/// Errors of a table that a foreign key refers to: ER_ROW_IS_REFERENCED,
/// ER_ROW_IS_REFERENCED_2, ER_FK_CANNOT_DROP_PARENT.
const REFERENCED: [u16; 3] = [1217, 1451, 3730];

/// What there is of the database `octavo`.
pub(super) enum State {
    /// There is none.
    Absent,
    /// It has nothing in it and no mark: a load makes it Octavo's.
    Empty,
    /// It has this mark.
    Marked(String),
}

/// The objects in the database.
struct Contents {
    /// Its tables: no views, no sequences.
    tables: Vec<String>,
    /// All else, by name.
    others: Vec<String>,
}

impl Contents {
    fn read(session: &mut Session) -> Result<Self> {
        let (mut tables, mut others) = (Vec::new(), Vec::new());
        let rows = session.texts(&format!(
            "SELECT table_type, table_name FROM information_schema.tables \
             WHERE table_schema = '{SCHEMA}'"
        ))?;
        for row in rows {
            if let [Some(kind), Some(name)] = row.as_slice() {
                match kind.as_str() {
                    "BASE TABLE" => tables.push(name.clone()),
                    _ => others.push(format!("{} {name}", kind.to_ascii_lowercase())),
                }
            }
        }
        // One after the other: servers differ in these columns' collations,
        // which a UNION would have to bring together.
        for (kind, plural) in [
            ("routine", "routines"),
            ("event", "events"),
            ("trigger", "triggers"),
        ] {
            let names = session.texts(&format!(
                "SELECT {kind}_name FROM information_schema.{plural} \
                 WHERE {kind}_schema = '{SCHEMA}'"
            ))?;
            let names = names.into_iter().flatten().flatten();
            others.extend(names.map(|name| format!("{kind} {name}")));
        }
        Ok(Self { tables, others })
    }

    fn has_mark(&self) -> bool {
        self.tables.iter().any(|table| table == MARK_TABLE)
    }

    fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.others.is_empty()
    }
}

/// Views and tables outside of the database that depend on it, as far as the
/// account may see them, and foreign keys between its tables, since Octavo
/// makes none.
fn dependents(session: &mut Session) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for (what, sql) in [
        (
            "foreign key of table",
            format!(
                "SELECT constraint_schema, table_name \
                 FROM information_schema.referential_constraints \
                 WHERE unique_constraint_schema = '{SCHEMA}' \
                 AND constraint_schema <> '{SCHEMA}'"
            ),
        ),
        (
            "view",
            // Servers store definitions with all names in full and in quotes.
            format!(
                "SELECT table_schema, table_name FROM information_schema.views \
                 WHERE table_schema <> '{SCHEMA}' AND view_definition LIKE '%`{SCHEMA}`.`%'"
            ),
        ),
    ] {
        let rows = session.texts(&sql)?;
        all.extend(rows.iter().filter_map(|row| match row.as_slice() {
            [Some(schema), Some(name)] => Some(format!("{what} {schema}.{name}")),
            _ => None,
        }));
    }
    Ok(all)
}

/// The first column of a query's first row; `None` without rows, or for NULL.
pub(super) fn one(session: &mut Session, sql: &str) -> Result<Option<String>> {
    Ok(session.texts(sql)?.into_iter().flatten().next().flatten())
}

/// A text as a literal of SQL.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// Replaces the mark.
pub(super) fn set_mark(session: &mut Session, mark: &str) -> Result<()> {
    session.simple(&format!(
        "UPDATE {SCHEMA}.{MARK_TABLE} SET mark = {}",
        quoted(mark)
    ))
}

/// Octavo's database on one server.
pub(super) struct Schema {
    /// The short name of the server's kind.
    pub(super) server: &'static str,
    /// Where it is.
    pub(super) url: Url,
}

impl Schema {
    /// What there is; refuses what somebody else made.
    pub(super) fn state(&self, session: &mut Session) -> Result<State, DatabaseError> {
        let found = session.texts(&format!(
            "SELECT schema_name FROM information_schema.schemata WHERE schema_name = '{SCHEMA}'"
        ))?;
        if found.is_empty() {
            return Ok(State::Absent);
        }
        let contents = Contents::read(session)?;
        if contents.is_empty() {
            return Ok(State::Empty);
        }
        if !contents.has_mark() {
            return Err(foreign(self.server, &self.url));
        }
        match one(session, &format!("SELECT mark FROM {SCHEMA}.{MARK_TABLE}"))? {
            Some(mark) if mark.starts_with(MARK) => Ok(State::Marked(mark)),
            // Octavo was killed before it could fill the table.
            None if mark_comment(session)?.as_deref() == Some(LOADING) => {
                Ok(State::Marked(LOADING.into()))
            }
            _ => Err(foreign(self.server, &self.url)),
        }
    }

    /// Drops the tables and the database that has this mark. Where there is
    /// something in it or made from it that Octavo did not make, that is named
    /// and nothing is dropped.
    pub(super) fn drop_database(
        &self,
        session: &mut Session,
        mark: &str,
    ) -> Result<(), DatabaseError> {
        let Contents { tables, others } = Contents::read(session)?;
        let (mut own, unknown): (Vec<_>, Vec<_>) = tables
            .into_iter()
            .filter(|name| name != MARK_TABLE)
            .partition(|name| name == TRIAL_TABLE || is_own_table(name));
        // Tables that refer to others go before these.
        own.sort_by_key(|name| std::cmp::Reverse(own_position(name)));
        let dependents = dependents(session)?;
        let mut in_the_way = unknown.into_iter().chain(others).chain(dependents);
        if let Some(what) = in_the_way.next() {
            return Err(entangled(self.server, &self.url, &what));
        }
        // Tables that the account cannot see may refer to these.
        session.simple("SET SESSION foreign_key_checks=1")?;
        // Tables go one by one: of those that are left the mark says that they
        // are of no use.
        set_mark(session, LOADING)?;
        for (dropped, table) in own.iter().enumerate() {
            let sql = format!("DROP TABLE {SCHEMA}.{table}");
            let Err(error) = session.simple(&sql) else {
                continue;
            };
            if dropped == 0 {
                // All rows are still there. The first error is the one to tell.
                let _as_before = set_mark(session, mark);
            }
            return Err(match server_error(&error) {
                Some(server) if REFERENCED.contains(&server.code) => {
                    let what = format!("a foreign key to {table}");
                    entangled(self.server, &self.url, &what)
                }
                _ => error.into(),
            });
        }
        Ok(session.simple(&format!("DROP DATABASE {SCHEMA}"))?)
    }

    /// Makes the database.
    pub(super) fn create_database(&self, session: &mut Session) -> Result<(), DatabaseError> {
        let created = session.simple(&ddl::create_database());
        created.map_err(|error| self.without_right(error))
    }

    /// Marks an empty database as being loaded. The comment does so from the
    /// first moment on: servers older than MySQL 8.0.21 that replicate by GTID
    /// do not make a table with its rows at once.
    pub(super) fn create_mark(&self, session: &mut Session) -> Result<(), DatabaseError> {
        let created = session.simple(&format!(
            "CREATE TABLE {SCHEMA}.{MARK_TABLE} (mark TEXT NOT NULL, \
             {ROW_NUMBER} BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB \
             DEFAULT CHARACTER SET latin1 COLLATE latin1_bin COMMENT={}",
            quoted(LOADING)
        ));
        created.map_err(|error| self.without_right(error))?;
        Ok(session.simple(&format!(
            "INSERT INTO {SCHEMA}.{MARK_TABLE} (mark) VALUES ({})",
            quoted(LOADING)
        ))?)
    }

    /// Drops the database that this session made and could not mark, unless
    /// somebody has put something into it meanwhile.
    pub(super) fn drop_unmarked(&self, session: &mut Session) -> Result<(), DatabaseError> {
        let Contents { tables, others } = Contents::read(session)?;
        if others.is_empty() && tables.iter().all(|table| table == MARK_TABLE) {
            session.simple(&format!("DROP DATABASE {SCHEMA}"))?;
        }
        Ok(())
    }

    /// The refusal to remove a database that has neither a mark nor anything
    /// else in it.
    pub(super) fn refuse_empty(&self) -> DatabaseError {
        refused(
            self.server,
            format!(
                "{} has a {SCHEMA} that is empty and not marked as Octavo's: a bench without \
                 --reload loads into it, and DROP DATABASE {SCHEMA} removes it",
                self.url
            ),
        )
    }

    /// Names the remedy where a right is missing.
    fn without_right(&self, error: ConnectionError) -> DatabaseError {
        match server_error(&error) {
            Some(server) if NO_RIGHT.contains(&server.code) => DatabaseError::Missing {
                what: format!("{} may not make the database {SCHEMA}: {server}", self.url),
                remedy: format!("GRANT ALL ON {SCHEMA}.* to this account"),
            },
            _ => error.into(),
        }
    }
}

/// Makes the workload's tables one by one under another name, in Octavo's
/// database, and drops them: what the server does not take is known before
/// the rows that are there go.
pub(super) fn rehearse(
    session: &mut Session,
    workload: &dyn Workload,
    create_table: impl Fn(&Table) -> String,
) -> Result<(), DatabaseError> {
    let drop_table = format!("DROP TABLE IF EXISTS {TRIAL_TABLE}");
    for table in workload.tables() {
        session.simple(&drop_table)?;
        let trial = Table {
            name: TRIAL_TABLE,
            ..table.clone()
        };
        let made = session.simple(&create_table(&trial));
        // Whatever became of it. The first error is the one to tell.
        let dropped = session.simple(&drop_table);
        made?;
        dropped?;
    }
    Ok(())
}

/// The comment of the table with the mark.
fn mark_comment(session: &mut Session) -> Result<Option<String>> {
    one(
        session,
        &format!(
            "SELECT table_comment FROM information_schema.tables \
             WHERE table_schema = '{SCHEMA}' AND table_name = '{MARK_TABLE}'"
        ),
    )
}

/// What the server answered, when that is the error.
fn server_error(error: &ConnectionError) -> Option<&ServerError> {
    match error {
        ConnectionError::Other { source, .. } => source.downcast_ref(),
        _ => None,
    }
}
