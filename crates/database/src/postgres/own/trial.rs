//! A server with the schema of the user's database and no rows: what it takes is known before
//! rows are copied, and statements are tried there instead of on the user's server.

use octavo_script::{Described, words};
use octavo_workload::{ConnectionError, user::OwnStatement};
use tempfile::TempDir;

use super::{
    super::{
        KIND,
        cluster::{Cluster, Role, Started},
        configured::Postgres,
        failure::ServerError,
        load,
        session::Session,
    },
    original::Original,
    restore::Dump,
};
use crate::{
    DatabaseError, OwnError, Result, Tried, files,
    own::{
        NO_VARIABLE, Refused, Shown, Statements, first_word, make_private, numbered, on_server,
        preparation::prepare,
    },
    server::account::Account,
};

/// Statements that would change what is measured, reach other files, or leave something behind
/// in a session that serves many transactions.
const REFUSED: [&str; 14] = [
    "CHECKPOINT",
    "CLUSTER",
    "COPY",
    "DEALLOCATE",
    "DISCARD",
    "EXECUTE",
    "LISTEN",
    "LOAD",
    "PREPARE",
    "REINDEX",
    "TABLESPACE",
    "UNLISTEN",
    "VACUUM",
    "SYSTEM",
];

pub(super) struct Trial {
    // Fields drop in this order: the server before its directory.
    session: Session,
    _server: Started,
    /// The order of texts that the server here does not have.
    by_bytes: Option<String>,
    _home: TempDir,
}

impl Trial {
    /// Makes the schema anew.
    pub(super) fn begin(postgres: &Postgres, original: &Original) -> Result<Self> {
        let home = TempDir::with_prefix("octavo-")
            .map_err(files::named("create a directory in", &std::env::temp_dir()))?;
        make_private(home.path(), Account::of_servers()?.as_ref())?;
        let (page_size, programs) = postgres
            .programs
            .any(KIND.page_sizes.default, postgres.wal_block_size)?;
        let cluster = Cluster::new(home.path(), programs)?;
        cluster.create(page_size, &mut || false)?;
        let server = cluster.start(&load::parameters(), None)?;
        let dump = Dump::in_directory(home.path())?;
        let setup = original.setup();
        let by_bytes = match setup.apply(&server) {
            Ok(()) => None,
            Err(_) => Some(setup.order().to_owned()),
        };
        let setup = match by_bytes {
            Some(_) => setup.by_bytes(),
            None => setup,
        };
        original.dump_schema(&dump, &setup)?;
        dump.restore(original.tools(), &server, &mut || false)
            .map_err(|error| match error {
                DatabaseError::Rows { reason } => original.refuse(format!(
                    "has what the server to be measured does not take: {reason}"
                )),
                other => other,
            })?;
        Ok(Self {
            session: server.connect_as(Role::Owner, &[])?,
            _server: server,
            by_bytes,
            _home: home,
        })
    }

    /// Tries statements, without running them. `unlike` is in what copies are not as the original
    /// besides.
    pub(super) fn prepare(
        mut self,
        statements: Statements<'_>,
        mut unlike: Vec<String>,
    ) -> Result<Tried, OwnError> {
        let runnable = prepare(statements, None, &mut |shown| self.describe(shown))?;
        if let Some(order) = &self.by_bytes {
            unlike.push(format!(
                "the servers here cannot sort texts as {order}, so LIKE and ranges of texts may be \
                 planned in another way"
            ));
        }
        Ok(Tried {
            prepared: runnable.prepared,
            digests: runnable.digests,
            unlike,
            sorts_by_bytes: self.by_bytes.is_some(),
        })
    }

    fn describe(&mut self, shown: &Shown<'_>) -> Result<(OwnStatement, Described), Refused> {
        let sql = numbered(shown.parts, '$');
        if let Some(reason) = forbidden(&sql) {
            return Err(Refused::whole(reason));
        }
        let description = match self.session.describe(&sql) {
            Ok(description) => description,
            Err(ConnectionError::Other { context, source }) => {
                let Some(said) = source.downcast_ref::<ServerError>() else {
                    let error = ConnectionError::Other { context, source };
                    return Err(Refused::Database(error.into()));
                };
                let at = said.position.and_then(|position| {
                    let (start, _) = sql.char_indices().nth(position.checked_sub(1)?)?;
                    Some(first_word(&sql[start..]).to_owned())
                });
                let hint = match said.hint.as_str() {
                    "" => String::new(),
                    hint => format!(" ({hint})"),
                };
                return Err(Refused::Statement {
                    message: format!("PostgreSQL: {}{hint}", said.message),
                    at,
                });
            }
            Err(other) => return Err(Refused::Database(other.into())),
        };
        if description.parameters.len() != shown.parameters {
            return Err(Refused::whole(NO_VARIABLE));
        }
        let columns = description.columns.into_iter();
        on_server(shown, sql, columns.map(|column| column.name).collect())
    }
}

/// Why a statement is not run, if it is not.
fn forbidden(sql: &str) -> Option<String> {
    let mut words = words(sql).into_iter();
    let mut first = words.next()?;
    if matches!(first.as_str(), "ALTER" | "CREATE" | "DROP") {
        first = words
            .next()
            .filter(|next| matches!(next.as_str(), "SYSTEM" | "TABLESPACE"))?;
    }
    REFUSED
        .contains(&first.as_str())
        .then(|| format!("{first} is not supported in a script"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_the_server_is_refused() {
        for sql in [
            "vacuum a",
            "COPY a TO PROGRAM 'x'",
            "alter system set a = 1",
            "CREATE TABLESPACE a LOCATION '/x'",
            "checkpoint",
        ] {
            assert!(forbidden(sql).is_some(), "{sql}");
        }
        for sql in [
            "ALTER TABLE a ADD b int",
            "SELECT 'vacuum'",
            "SAVEPOINT a",
            "SET LOCAL work_mem = '1MB'",
            "",
        ] {
            assert_eq!(forbidden(sql), None, "{sql}");
        }
    }
}
