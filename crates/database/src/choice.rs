//! Databases by name: what plans choose from.

use crate::{Database, DatabaseError, JournalMode, Sqlite, sqlite};

/// The databases that can be chosen.
pub const NAMES: [&str; 1] = [sqlite::NAME];

/// Makes the database `name` with `options`, which are names and values such
/// as `journal-mode` and `wal`; what is not named is the database's default.
///
/// SQLite has `journal-mode`: `wal`, `delete`, `truncate` or `persist`.
pub fn choose(
    name: &str,
    options: &[(String, String)],
) -> Result<Box<dyn Database>, DatabaseError> {
    if name != sqlite::NAME {
        return Err(DatabaseError::Unknown {
            name: name.to_owned(),
        });
    }
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
