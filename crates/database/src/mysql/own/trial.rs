//! A server with the schema of the user's database and no rows: what it takes is known before
//! rows are copied, and statements are tried there instead of on the user's server.

use octavo_script::{Described, Part, words};
use octavo_units::PageSize;
use octavo_workload::{ConnectionError, user::OwnStatement};
use tempfile::TempDir;

use super::{
    super::{
        ddl::DATABASE, failure::ServerError, instance::Instance, layout::Layout, load,
        programs::Programs, session::Session,
    },
    original::Original,
    restore::Dump,
};
use crate::{
    DatabaseError, OwnError, Result, files,
    own::{
        NO_VARIABLE, Refused, Runnable, Shown, Statements, first_word, make_private, numbered,
        on_server, preparation::prepare,
    },
    server::account::Account,
};

/// Statements that would change what is measured, reach files, answer more than once, or leave
/// something behind in a session that serves many transactions.
const REFUSED: [&str; 22] = [
    "ANALYZE",
    "BINLOG",
    "CALL",
    "CHANGE",
    "DEALLOCATE",
    "EXECUTE",
    "FLUSH",
    "HANDLER",
    "INSTALL",
    "KILL",
    "LOAD",
    "LOCK",
    "OPTIMIZE",
    "PREPARE",
    "PURGE",
    "REPAIR",
    "RESET",
    "SHUTDOWN",
    "UNINSTALL",
    "UNLOCK",
    "USE",
    "XA",
];

/// The page size of the trial: the default, which takes what every smaller one does.
const PAGE_SIZE: PageSize = PageSize::kib(16);

pub(super) struct Trial {
    // Fields drop in this order: the server before its directory.
    session: Session,
    /// What its makers call the server.
    title: &'static str,
    _server: Instance,
    _home: TempDir,
}

impl Trial {
    /// Makes the schema anew.
    pub(super) fn begin(programs: &Programs, original: &Original) -> Result<Self> {
        let above = std::env::temp_dir();
        let home = TempDir::with_prefix("octavo-")
            .map_err(files::named("create a directory in", &above))?;
        let account = Account::of_servers()?;
        let account = account.as_ref();
        make_private(home.path(), account)?;
        let layout = Layout::resolve(home.path())?;
        let dump = Dump::in_directory(home.path())?;
        original.dump_schema(&dump)?;
        dump.prepare(&layout)?;
        let (server, mut session) =
            load::start(programs, &layout, PAGE_SIZE, account, &mut || false)?;
        let restored = dump.restore(original.tools(), &layout, &mut session, &mut || false);
        restored.map_err(|error| match error {
            DatabaseError::Rows { reason } => original.refuse(format!(
                "has what the server to be measured does not take: {reason}"
            )),
            other => other,
        })?;
        // As the sessions of clients will be.
        let setup = layout.own_setup()?;
        Ok(Self {
            session: server.owner_session(DATABASE, &setup)?,
            title: programs.version.flavour.kind().title,
            _server: server,
            _home: home,
        })
    }

    /// Tries statements, without running them.
    pub(super) fn prepare(mut self, statements: Statements<'_>) -> Result<Runnable, OwnError> {
        prepare(statements, None, &mut |shown| self.describe(shown))
    }

    fn describe(&mut self, shown: &Shown<'_>) -> Result<(OwnStatement, Described), Refused> {
        let sql = numbered(shown.parts, '?');
        if let Some(reason) = forbidden(&sql) {
            return Err(Refused::whole(reason));
        }
        let marks = shown.parts.iter();
        let marks = marks
            .filter(|part| matches!(part, Part::Parameter(_)))
            .count();
        let (parameters, found) = match self.session.describe(&sql) {
            Ok(described) => described,
            Err(ConnectionError::Other { context, source }) => {
                let Some(said) = source.downcast_ref::<ServerError>() else {
                    let error = ConnectionError::Other { context, source };
                    return Err(Refused::Database(error.into()));
                };
                return Err(Refused::Statement {
                    message: format!("{}: {}", self.title, said.message),
                    at: stopped_at(&said.message).map(str::to_owned),
                });
            }
            Err(other) => return Err(Refused::Database(other.into())),
        };
        if parameters != marks {
            return Err(Refused::whole(NO_VARIABLE));
        }
        let mut columns = Vec::new();
        for (name, column) in found {
            if let Some(reason) = column.unlike_variables().filter(|_| shown.wants_columns) {
                return Err(Refused::whole(format!("the column {name} {reason}")));
            }
            columns.push(name);
        }
        on_server(shown, sql, columns)
    }
}

/// What a message says that the server stopped at: behind `near '`, or the name in the first
/// quotes, without the tables and databases in front of it.
fn stopped_at(message: &str) -> Option<&str> {
    if let Some((_, behind)) = message.split_once("near '") {
        return Some(first_word(behind));
    }
    let name = message.split('\'').nth(1)?;
    name.rsplit('.').next()
}

/// Why a statement is not run, if it is not.
fn forbidden(sql: &str) -> Option<String> {
    let words = words(sql);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let word = match words.as_slice() {
        [first, ..] if REFUSED.contains(first) => *first,
        ["SET", rest @ ..]
            if rest
                .iter()
                .any(|word| matches!(*word, "GLOBAL" | "PERSIST" | "AUTOCOMMIT" | "SQL_MODE")) =>
        {
            "SET of this"
        }
        ["SELECT" | "WITH" | "TABLE" | "VALUES", rest @ ..]
            if rest
                .iter()
                .any(|word| matches!(*word, "OUTFILE" | "DUMPFILE")) =>
        {
            "INTO a file"
        }
        _ => return None,
    };
    Some(format!("{word} is not supported in a script"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_the_server_is_refused() {
        for sql in [
            "flush tables",
            "CALL p()",
            "SELECT 1 INTO OUTFILE '/x'",
            "SET GLOBAL sync_binlog = 0",
            "set @@autocommit = 0",
            "/*! FLUSH TABLES */",
        ] {
            assert!(forbidden(sql).is_some(), "{sql}");
        }
        for sql in [
            "SELECT 'flush'",
            "SET @a = 1",
            "SAVEPOINT a",
            "REPLACE INTO a VALUES (1)",
            "",
        ] {
            assert_eq!(forbidden(sql), None, "{sql}");
        }
    }

    #[test]
    fn messages_tell_where_the_server_stopped() {
        for (message, wanted) in [
            (
                "You have an error in your SQL syntax; check the manual ... near 'FORM t' at line 1",
                Some("FORM"),
            ),
            ("Unknown column 't.nosuch' in 'field list'", Some("nosuch")),
            ("Table 'octavo.nosuch' doesn't exist", Some("nosuch")),
            ("Something else", None),
        ] {
            assert_eq!(stopped_at(message), wanted, "{message}");
        }
    }
}
