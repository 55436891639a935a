//! Databases by name: what plans and flags choose from.

use crate::{Database, DatabaseError, JournalMode, Sqlite, mysql, postgres, sqlite};

/// The databases that can be chosen.
pub const NAMES: [&str; 4] = [sqlite::NAME, postgres::NAME, mysql::MARIADB, mysql::MYSQL];

/// The names of the options of a database; none for a name that is not known.
pub fn options(name: &str) -> &'static [&'static str] {
    match name {
        sqlite::NAME => &["journal-mode"],
        postgres::NAME => &postgres::OPTIONS,
        mysql::MARIADB | mysql::MYSQL => &mysql::OPTIONS,
        _ => &[],
    }
}

/// Makes the database `name` with `options`, which are names and values such
/// as `journal-mode` and `wal`; what is not named is the database's default.
///
/// SQLite has `journal-mode`: `wal`, `delete`, `truncate` or `persist`.
///
/// PostgreSQL has `bin` (`4K=DIRECTORY,8K=installed`: where the programs of
/// page sizes are), `source` (a tarball or directory) or `version` (14 to 18)
/// of what is built for the others, `wal-block-size`, `full-page-writes`
/// (`on`, `off`), `checkpoint-timeout` and `direct-io` (`on`, `off`).
///
/// MySQL and MariaDB have `bin` (a directory or the server), `doublewrite`
/// (`on`, `off`, `detect`) and `redo` (the size of the redo log).
pub fn choose(
    name: &str,
    options: &[(String, String)],
) -> Result<Box<dyn Database>, DatabaseError> {
    match name {
        sqlite::NAME => sqlite(options),
        postgres::NAME => Ok(Box::new(postgres::choose(options)?)),
        mysql::MARIADB | mysql::MYSQL => Ok(Box::new(mysql::choose(name, options)?)),
        _ => Err(DatabaseError::Unknown {
            name: name.to_owned(),
        }),
    }
}

fn sqlite(options: &[(String, String)]) -> Result<Box<dyn Database>, DatabaseError> {
    let mut database = Sqlite::default();
    for (option, value) in options {
        match option.as_str() {
            "journal-mode" => {
                database.journal_mode = JournalMode::ALL
                    .into_iter()
                    .find(|mode| mode.name() == value)
                    .ok_or_else(|| {
                        refuse(
                            "journal-mode",
                            value,
                            "choose wal, delete, truncate or persist".into(),
                        )
                    })?;
            }
            _ => {
                return Err(refuse("option", option, "it has only journal-mode".into()));
            }
        }
    }
    Ok(Box::new(database))
}

fn refuse(setting: &'static str, value: &str, reason: String) -> DatabaseError {
    DatabaseError::Setting {
        database: sqlite::NAME,
        setting,
        value: value.to_owned(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(name: &str, value: &str) -> Vec<(String, String)> {
        vec![(name.into(), value.into())]
    }

    #[test]
    fn what_is_chosen_is_made() {
        for name in NAMES {
            assert_eq!(choose(name, &[]).unwrap().name(), name);
        }
        choose("sqlite", &option("journal-mode", "persist")).unwrap();
        for name in NAMES {
            // What is listed is known: it is the value that is refused.
            // A path is looked at when it is needed.
            let named = |option: &&&str| **option != "bin";
            for option_name in options(name).iter().filter(named) {
                let error = choose(name, &option(option_name, "?")).err().unwrap();
                let text = error.to_string();
                assert!(text.starts_with(&format!("{option_name} ?")), "{text}");
            }
        }
    }

    #[test]
    fn what_there_is_not_is_refused_by_name() {
        let error = |name: &str, options: &[(String, String)]| {
            choose(name, options).err().unwrap().to_string()
        };
        assert!(error("oracle", &[]).contains("'oracle'"));
        assert!(error("sqlite", &option("journal-mode", "off")).contains("journal-mode off"));
        assert!(error("sqlite", &option("doublewrite", "on")).contains("doublewrite"));
    }
}
