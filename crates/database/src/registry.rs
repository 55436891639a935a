//! All databases that there are.
//!
//! A new one is a directory beside this file, its `mod` in lib.rs, and one line
//! in [`STANDARD`]: its description, from which flags, plans, help, refusals,
//! advice and the conformance suite take everything else.

use std::ffi::OsStr;

use crate::{
    Database, DatabaseError, Result,
    database::DatabaseKind,
    external::{ExternalServer, Protocol, Url},
    mysql,
    options::{OptionKind, Options, nearest},
    postgres, sqlite,
};

/// The databases, in the order in which they are listed. The first is the
/// default.
static STANDARD: &[&DatabaseKind] = &[
    &sqlite::KIND,
    &postgres::KIND,
    &mysql::MARIADB,
    &mysql::MYSQL,
    #[cfg(feature = "libmdbx")]
    &crate::libmdbx::KIND,
    #[cfg(feature = "lmdb")]
    &crate::lmdb::KIND,
    #[cfg(feature = "rocksdb")]
    &crate::rocksdb::KIND,
];

/// Databases that features of cargo add, and whether this program has them.
const FEATURES: [(&str, bool); 3] = [
    ("libmdbx", cfg!(feature = "libmdbx")),
    ("lmdb", cfg!(feature = "lmdb")),
    ("rocksdb", cfg!(feature = "rocksdb")),
];

/// Databases that features of cargo add, and that this program was built without.
pub fn left_out() -> Vec<&'static str> {
    let left_out = FEATURES.into_iter().filter(|(_, is_there)| !is_there);
    left_out.map(|(name, _)| name).collect()
}

/// Databases that can be chosen by name.
#[derive(Clone, Debug)]
pub struct Registry {
    kinds: Vec<&'static DatabaseKind>,
}

impl Registry {
    /// All databases that can be measured.
    pub fn standard() -> Self {
        Self {
            kinds: STANDARD.to_vec(),
        }
    }

    /// With one more database.
    #[must_use]
    pub fn with(mut self, kind: &'static DatabaseKind) -> Self {
        self.kinds.push(kind);
        self
    }

    /// The databases, the default first.
    pub fn iter(&self) -> impl Iterator<Item = &'static DatabaseKind> {
        self.kinds.iter().copied()
    }

    /// The database that is taken when none is named.
    pub fn default_kind(&self) -> &'static DatabaseKind {
        self.kinds[0]
    }

    /// The database of a name or alias.
    ///
    /// # Errors
    /// [`DatabaseError::Unknown`] if there is none.
    pub fn find(&self, name: &str) -> Result<&'static DatabaseKind> {
        self.iter()
            .find(|kind| kind.name == name || kind.aliases.contains(&name))
            .ok_or_else(|| {
                let known: Vec<&str> = self.iter().map(|kind| kind.name).collect();
                DatabaseError::Unknown {
                    name: name.to_owned(),
                    instead: match nearest(name, known.iter().copied()) {
                        Some(near) => format!("did you mean {near}?"),
                        None => format!("choose {}", known.join(", ")),
                    },
                }
            })
    }

    /// The database of a source that a user names: a server's by what stands before `://`, or
    /// the default one of a file.
    ///
    /// # Errors
    /// [`DatabaseError::Unknown`] for a URL of another kind.
    pub fn of_source(&self, source: &OsStr) -> Result<&'static DatabaseKind> {
        match source.to_str().and_then(|text| text.split_once("://")) {
            Some((scheme, _)) => self.find(scheme),
            None => Ok(self.default_kind()),
        }
    }

    /// The options of all databases, each name once, with the databases that
    /// have it and what each says of it.
    pub fn options(&self) -> Vec<SharedOption> {
        let mut options: Vec<SharedOption> = Vec::new();
        for kind in self.iter() {
            for option in kind.options {
                let entry = (kind, option);
                match options.iter_mut().find(|known| known.name == option.name) {
                    Some(known) => known.of.push(entry),
                    None => options.push(SharedOption {
                        name: option.name,
                        of: vec![entry],
                    }),
                }
            }
        }
        options
    }
}

/// An option that one database has, or several.
#[derive(Clone, Debug)]
pub struct SharedOption {
    /// Its name.
    pub name: &'static str,
    /// The databases with their descriptions of it, at least one.
    pub of: Vec<(&'static DatabaseKind, &'static OptionKind)>,
}

/// A database with its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseSpec {
    kind: &'static DatabaseKind,
    options: Options,
}

impl DatabaseSpec {
    /// A database with options, as names and values. Options that are
    /// conditions of figures are added with their defaults, so that they are
    /// written down.
    ///
    /// # Errors
    /// As [`DatabaseKind::read`].
    pub fn new(kind: &'static DatabaseKind, mut options: Vec<(String, String)>) -> Result<Self> {
        for option in kind.options.iter().filter(|option| option.is_condition) {
            let is_given = options.iter().any(|(name, _)| name == option.name);
            if let (false, Some(default)) = (is_given, option.default) {
                options.push((option.name.into(), default.into()));
            }
        }
        let options = kind.read(&options)?;
        Ok(Self { kind, options })
    }

    /// The description of the database.
    pub fn kind(&self) -> &'static DatabaseKind {
        self.kind
    }

    /// Its options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Makes the database.
    ///
    /// # Errors
    /// [`DatabaseError`] where an option names something that is not there,
    /// such as programs.
    pub fn make(&self) -> Result<Box<dyn Database>> {
        (self.kind.make)(&self.options)
    }
}

impl FromIterator<&'static DatabaseKind> for Registry {
    /// These databases, the default first: at least one.
    fn from_iter<I: IntoIterator<Item = &'static DatabaseKind>>(kinds: I) -> Self {
        Self {
            kinds: kinds.into_iter().collect(),
        }
    }
}

/// Makes the database `name` with `options`, which are names and values such
/// as `journal-mode` and `wal`; an option that is not named has its default.
///
/// # Errors
/// [`DatabaseError::Unknown`] for an unknown name; else as
/// [`DatabaseKind::read`] and [`DatabaseSpec::make`].
pub fn choose(name: &str, options: &[(String, String)]) -> Result<Box<dyn Database>> {
    let kind = Registry::standard().find(name)?;
    (kind.make)(&kind.read(options)?)
}

/// Connects to a server and takes the lock of its schema. Nothing is changed
/// there.
///
/// # Errors
/// [`DatabaseError::Connection`] for a server that cannot be reached or
/// refuses the login; [`DatabaseError::Missing`] for a version that is too old,
/// and while another Octavo holds the lock.
pub fn connect(url: &Url) -> Result<Box<dyn ExternalServer>, DatabaseError> {
    match url.protocol {
        Protocol::Postgres => Ok(Box::new(postgres::ExternalPostgres::connect(url)?)),
        Protocol::Mysql => Ok(Box::new(mysql::ExternalMysql::connect(url)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ValueKind;

    fn option(name: &str, value: &str) -> Vec<(String, String)> {
        vec![(name.into(), value.into())]
    }

    #[test]
    fn every_database_is_made_by_its_name_and_its_aliases() {
        for kind in Registry::standard().iter() {
            assert_eq!(choose(kind.name, &[]).unwrap().name(), kind.name);
            for alias in kind.aliases {
                assert_eq!(Registry::standard().find(alias).unwrap(), kind);
            }
            assert!(kind.page_sizes.contains(kind.page_sizes.default));
            for size in kind.defaults.page_sizes {
                assert!(kind.page_sizes.contains(*size), "{}: {size}", kind.name);
            }
        }
        choose("sqlite", &option("journal-mode", "persist")).unwrap();
    }

    #[test]
    fn every_option_refuses_a_value_by_its_name() {
        // The path of programs is looked at when they are needed.
        let is_read = |option: &&OptionKind| !matches!(option.values, ValueKind::Text);
        for kind in Registry::standard().iter() {
            for known in kind.options.iter().filter(is_read) {
                let error = choose(kind.name, &option(known.name, "?")).err().unwrap();
                let text = error.to_string();
                assert!(text.starts_with(&format!("{} ?", known.name)), "{text}");
            }
        }
    }

    #[test]
    fn sources_name_their_database() {
        let registry = Registry::standard();
        for (source, wanted) in [
            ("my.db", "sqlite"),
            ("postgresql://a@b/c", "postgres"),
            ("mariadb://a@b/c", "mariadb"),
        ] {
            let kind = registry.of_source(OsStr::new(source)).unwrap();
            assert_eq!(kind.name, wanted, "{source}");
        }
        let error = registry.of_source(OsStr::new("oracle://a")).unwrap_err();
        assert!(error.to_string().contains("'oracle'"), "{error}");
    }

    #[test]
    fn unknown_names_are_refused_with_those_that_are_known() {
        let error = |name: &str, options: &[(String, String)]| {
            choose(name, options).err().unwrap().to_string()
        };
        assert!(error("db2", &[]).contains("'db2'"));
        assert!(error("db2", &[]).contains("choose sqlite, postgres"));
        assert!(error("postgre", &[]).contains("did you mean postgres?"));
        assert!(error("sqlite", &option("journal-mode", "off")).contains("journal-mode off"));
        assert!(error("sqlite", &option("doublewrite", "on")).contains("doublewrite"));
    }

    #[test]
    fn a_spec_has_its_conditions() {
        let kind = Registry::standard().default_kind();
        let spec = DatabaseSpec::new(kind, Vec::new()).unwrap();
        assert_eq!(spec.options().to_vec(), option("journal-mode", "wal"));
    }
}
