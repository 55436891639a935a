//! Finding the server's programs, and what version they are of.

use std::{
    collections::HashSet,
    env,
    path::{Path, PathBuf},
};

use super::Flavour;
use crate::{
    DatabaseError, Result,
    files::named,
    server::version::{answer as version_answer, no_version},
};

/// Where distributions and MySQL's own archives put servers, besides `PATH`.
const DIRECTORIES: [&str; 6] = [
    "/usr/sbin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/local/mysql/bin",
    "/usr/local/mariadb/bin",
];

/// A server's version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// As the server writes it, without what a distribution adds.
    pub(crate) text: String,
    /// Which server it is.
    pub(crate) flavour: Flavour,
    /// Major, minor and patch.
    pub(crate) number: (u32, u32, u32),
}

impl Version {
    /// Reads what a server answers to `--version`, such as
    /// `mariadbd  Ver 10.11.6-MariaDB-0+deb12u1 for debian-linux-gnu on …`.
    pub(crate) fn parse(answer: &str) -> Option<Self> {
        let (_, rest) = answer.split_once(" Ver ")?;
        let word = rest.split_whitespace().next()?;
        let digits = word
            .find(|character: char| character != '.' && !character.is_ascii_digit())
            .unwrap_or(word.len());
        let mut parts = word[..digits].split('.').map(|part| part.parse().ok());
        let number = (
            parts.next()??,
            parts.next()??,
            parts.next().flatten().unwrap_or(0),
        );
        let flavour = match answer.contains("MariaDB") {
            true => Flavour::Mariadb,
            false => Flavour::Mysql,
        };
        let text = match flavour {
            Flavour::Mariadb => format!("{}-MariaDB", &word[..digits]),
            Flavour::Mysql => word[..digits].to_owned(),
        };
        Some(Self {
            text,
            flavour,
            number,
        })
    }
}

/// The programs of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Programs {
    /// `mariadbd` or `mysqld`.
    pub(crate) server: PathBuf,
    /// MariaDB's script that makes a data directory; MySQL's server does that
    /// itself.
    pub(crate) install: Option<PathBuf>,
    /// The installation that they belong to, unless they are found where they
    /// were built for.
    pub(crate) base: Option<PathBuf>,
    /// The server's version.
    pub(crate) version: Version,
}

impl Programs {
    /// Finds them: in `given`, which is a directory or the server itself, or
    /// else on `PATH` and in the usual directories. Fails with
    /// [`DatabaseError::Missing`].
    pub(crate) fn find(flavour: Flavour, given: Option<&Path>) -> Result<Self> {
        // Servers work in directories of their own.
        let given = given.map(|path| std::path::absolute(path).map_err(named("find", path)));
        let given = given.transpose()?;
        let given = given.as_deref();
        let (candidates, base) = match given {
            Some(path) if path.is_dir() => (in_directory(flavour, path), installation(path)),
            Some(path) => {
                let directory = path.parent().unwrap_or(Path::new("."));
                (vec![path.to_owned()], installation(directory))
            }
            None => {
                let path = env::var_os("PATH").unwrap_or_default();
                let directories = env::split_paths(&path).chain(DIRECTORIES.map(PathBuf::from));
                let found = directories.flat_map(|path| in_directory(flavour, &path));
                (found.collect(), None)
            }
        };
        let mut others = Vec::new();
        let mut known = HashSet::new();
        for server in candidates.iter().filter(|path| path.is_file()) {
            // One directory may be there under several names.
            if !known.insert(server.canonicalize().unwrap_or_else(|_| server.clone())) {
                continue;
            }
            match version_of(server) {
                Ok(version) if version.flavour == flavour => {
                    let install = match flavour {
                        Flavour::Mariadb => Some(install_program(server, base.as_deref())?),
                        Flavour::Mysql => None,
                    };
                    return Ok(Self {
                        server: server.clone(),
                        install,
                        base,
                        version,
                    });
                }
                Ok(version) => others.push(format!("{} is {}", server.display(), version.text)),
                // It is the one that was meant: all else is another server, if any.
                Err(error @ DatabaseError::Missing { .. }) if given.is_some() => return Err(error),
                Err(error) => others.push(error.to_string()),
            }
        }
        let place = match given {
            Some(path) => format!(" in {}", path.display()),
            None => String::new(),
        };
        let found = match others.is_empty() {
            true => String::new(),
            false => format!(" ({})", others.join(", ")),
        };
        Err(DatabaseError::Missing {
            what: format!(
                "no server program of {} was found{place}{found}",
                flavour.kind().title
            ),
            remedy: format!(
                "install {}, or name the directory of its programs with the option bin",
                match flavour {
                    Flavour::Mariadb => "the package mariadb-server",
                    Flavour::Mysql => "the package mysql-server",
                }
            ),
        })
    }
}

/// The names that a server may have.
fn in_directory(flavour: Flavour, directory: &Path) -> Vec<PathBuf> {
    let names: &[&str] = match flavour {
        Flavour::Mariadb => &["mariadbd", "mysqld"],
        Flavour::Mysql => &["mysqld"],
    };
    names.iter().map(|name| directory.join(name)).collect()
}

/// The installation around a directory of programs, if it looks like one.
fn installation(programs: &Path) -> Option<PathBuf> {
    let base = programs.canonicalize().ok()?.parent()?.to_owned();
    base.join("share").is_dir().then_some(base)
}

fn version_of(server: &Path) -> Result<Version> {
    let answer = version_answer(server, &["--no-defaults", "--version"])?;
    Version::parse(&answer).ok_or_else(|| no_version(server, &answer))
}

/// The script beside the server, in its installation, or on `PATH`.
fn install_program(server: &Path, base: Option<&Path>) -> Result<PathBuf> {
    let beside = server.parent().map(Path::to_owned);
    let within = base
        .into_iter()
        .flat_map(|base| ["bin", "scripts", "sbin"].map(|name| base.join(name)));
    let path = env::var_os("PATH").unwrap_or_default();
    let usual = env::split_paths(&path).chain(["/usr/bin", "/usr/local/bin"].map(PathBuf::from));
    beside
        .into_iter()
        .chain(within)
        .chain(usual)
        .flat_map(|path| ["mariadb-install-db", "mysql_install_db"].map(|name| path.join(name)))
        .find(|program| program.is_file())
        .ok_or_else(|| DatabaseError::Missing {
            what: format!(
                "mariadb-install-db, which makes data directories, was not found for {}",
                server.display()
            ),
            remedy: "install the package mariadb-server, or name the directory of the programs \
                     with the option bin"
                .into(),
        })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A version as `--version` tells it.
    pub(crate) fn version(text: &str) -> Version {
        Version::parse(&format!("mysqld  Ver {text} for Linux on x86_64")).unwrap()
    }

    #[test]
    fn versions_are_read() {
        let debian = "mariadbd  Ver 10.11.6-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64";
        let found = Version::parse(debian).unwrap();
        assert_eq!(found.text, "10.11.6-MariaDB");
        assert_eq!(found.number, (10, 11, 6));
        let mysql = "/usr/sbin/mysqld  Ver 8.0.36-0ubuntu0.22.04.1 for Linux on x86_64 ((Ubuntu))";
        let found = Version::parse(mysql).unwrap();
        assert_eq!((found.text.as_str(), found.number), ("8.0.36", (8, 0, 36)));
        assert_eq!(found.flavour, Flavour::Mysql);
        assert_eq!(version("9.1.0").number, (9, 1, 0));
        for other in ["", "mysqld  Ver", "x Ver y", "x Ver 9"] {
            assert_eq!(Version::parse(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_server_under_two_names_is_told_once() {
        use std::{fs, os::unix::fs::PermissionsExt};
        let directory = crate::scratch::directory();
        let (server, link) = (directory.path().join("mariadbd"), "mysqld");
        let answer = "echo 'mysqld  Ver 9.7.4 for Linux on x86_64'";
        fs::write(&server, format!("#!/bin/sh\n{answer}\n")).unwrap();
        fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink(&server, directory.path().join(link)).unwrap();
        let error = Programs::find(Flavour::Mariadb, Some(directory.path())).unwrap_err();
        let error = error.to_string();
        assert_eq!(error.matches("is 9.7.4").count(), 1, "{error}");
        // Servers work elsewhere than where their programs were named.
        let up: PathBuf = env::current_dir()
            .unwrap()
            .components()
            .skip(1)
            .map(|_| "..")
            .collect();
        let relative = up.join(directory.path().strip_prefix("/").unwrap());
        let found = Programs::find(Flavour::Mysql, Some(&relative)).unwrap();
        assert!(found.server.is_absolute(), "{found:?}");
    }

    #[test]
    fn an_unreachable_server_is_refused_with_a_remedy() {
        let directory = crate::scratch::directory();
        for flavour in [Flavour::Mysql, Flavour::Mariadb] {
            let error = Programs::find(flavour, Some(directory.path())).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(flavour.kind().title), "{error}");
            assert!(error.contains("option bin"), "{error}");
        }
    }
}
