//! Where the server programs of a page size come from: directories that the
//! user names, the installed server, or a build from source.

use std::{
    fmt, fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::Command,
};

use octavo_units::PageSize;

use super::{build, refusal::refuse, source::Source};
use crate::{DatabaseError, Result, files::named, server::version};

/// Names the installed server where a directory could be named.
const INSTALLED: &str = "installed";

/// Where Debian and its descendants put servers, by major version.
pub(super) const DISTRIBUTION: &str = "/usr/lib/postgresql";

/// How to come by a server for a page size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Programs {
    /// Directories with `postgres` and `initdb` of a page size.
    pub(super) given: Vec<(PageSize, PathBuf)>,
    /// What the others are built from; the distribution's own version without
    /// one.
    pub(super) source: Option<Source>,
}

impl fmt::Display for Programs {
    /// Where the programs of which page sizes are from.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (page_size, bin) in &self.given {
            write!(f, "{page_size} pages by {}; ", bin.display())?;
        }
        match &self.source {
            None if self.given.is_empty() => {
                f.write_str("built by Octavo from the distribution's source")
            }
            None => f.write_str("no others"),
            Some(_) if self.given.is_empty() => f.write_str("built by Octavo from source"),
            Some(_) => f.write_str(
                "any others built by Octavo from source, which is compiled in another way",
            ),
        }
    }
}

impl Programs {
    /// Reads `4K=/path/bin,8K=installed`. Beside the installed server, that of
    /// another page size is built from the distribution's source.
    pub(super) fn given(text: &str) -> Result<Self> {
        let wrong = |reason: String| refuse("bin", text, reason);
        let mut source = None;
        let given = text
            .split(',')
            .map(|pair| {
                let (size, place) = pair.split_once('=').ok_or_else(|| {
                    wrong("write page sizes and directories, such as 4K=/opt/pg4k/bin".into())
                })?;
                let size: PageSize = size
                    .trim()
                    .parse()
                    .map_err(|error| wrong(format!("{error}")))?;
                let directory = if place.is_empty() {
                    return Err(wrong(format!("a directory is missing behind {size}=")));
                } else if place == INSTALLED {
                    let (major, bin) = installed().ok_or_else(|| {
                        wrong(
                            "no PostgreSQL server is installed: install the package postgresql, \
                             or name a directory"
                                .into(),
                        )
                    })?;
                    source = Some(Source::Distribution { major });
                    bin
                } else {
                    // Servers work in directories of their own.
                    let place = Path::new(place);
                    std::path::absolute(place).map_err(named("find", place))?
                };
                for program in ["postgres", "initdb"] {
                    if !directory.join(program).is_file() {
                        return Err(wrong(format!(
                            "{} has no {program}: name the directory with the server's programs",
                            directory.display()
                        )));
                    }
                }
                Ok((size, directory))
            })
            .collect::<Result<_>>()?;
        Ok(Self { given, source })
    }

    /// The source that is built where nothing is given.
    fn source(&self) -> Result<Source> {
        match &self.source {
            Some(source) => Ok(source.clone()),
            None => distribution_major()
                .map(|major| Source::Distribution { major })
                .ok_or_else(|| DatabaseError::Missing {
                    what: "no version of PostgreSQL is known to this machine".into(),
                    remedy: "give a version, a source or a bin".into(),
                }),
        }
    }

    /// The version, by what can be told without a network.
    pub(super) fn version(&self) -> Result<String> {
        let mut versions = self
            .given
            .iter()
            .map(|(_, bin)| version_of_server(&bin.join("postgres")))
            .collect::<Result<Vec<String>, _>>()?;
        versions.dedup();
        match versions.as_slice() {
            [] => super::source::version_of(&self.source()?),
            [version] => Ok(version.clone()),
            several => Err(refuse(
                "bin",
                several.join(" and "),
                "page sizes can be compared on servers of one version only",
            )),
        }
    }

    /// The directory of the programs for a page size, which
    /// [`Self::prepare`] got before.
    pub(super) fn find(&self, page_size: PageSize, wal_block_size: PageSize) -> Result<PathBuf> {
        if let Some(bin) = self.given_for(page_size) {
            return Ok(bin.to_owned());
        }
        let source = self.source()?;
        build::find(&source, page_size, wal_block_size).ok_or_else(|| DatabaseError::Missing {
            what: format!("no PostgreSQL server with {page_size} pages is built"),
            remedy: "run the same command again, which builds it".into(),
        })
    }

    /// Gets the programs of all page sizes, building those that are missing.
    pub(super) fn prepare(
        &self,
        page_sizes: &[PageSize],
        wal_block_size: PageSize,
        step: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<()> {
        for &page_size in page_sizes {
            if self.given_for(page_size).is_none() {
                build::build(&self.source()?, page_size, wal_block_size, step)?;
            }
        }
        Ok(())
    }

    /// The directory of the programs for any page size, or else `page_size`: given ones, the installed ones where they
    /// are of the version that is measured, or built ones. With their page size.
    pub(super) fn any(
        &self,
        page_size: PageSize,
        wal_block_size: PageSize,
    ) -> Result<(PageSize, PathBuf)> {
        if let Some(given) = self.given.first() {
            return Ok(given.clone());
        }
        if let (Some((major, bin)), Source::Distribution { major: wanted }) =
            (installed(), self.source()?)
            && major == wanted
        {
            return Ok((page_size, bin));
        }
        self.prepare(&[page_size], wal_block_size, &mut |_| {
            ControlFlow::Continue(())
        })?;
        Ok((page_size, self.find(page_size, wal_block_size)?))
    }

    /// Whether programs of one of these are built rather than given.
    pub(super) fn is_built_for(&self, page_sizes: &[PageSize]) -> bool {
        page_sizes
            .iter()
            .any(|&page_size| self.given_for(page_size).is_none())
    }

    fn given_for(&self, page_size: PageSize) -> Option<&Path> {
        self.given
            .iter()
            .find(|(size, _)| *size == page_size)
            .map(|(_, bin)| bin.as_path())
    }

    /// Whether a server for this page size can be had at all.
    pub(super) fn covers(&self, page_size: PageSize) -> bool {
        self.given.is_empty() || self.source.is_some() || self.given_for(page_size).is_some()
    }
}

/// The newest installed server of the distribution: its major version and its
/// programs.
pub(super) fn installed() -> Option<(u32, PathBuf)> {
    fs::read_dir(DISTRIBUTION)
        .ok()?
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let major: u32 = path.file_name()?.to_str()?.parse().ok()?;
            let bin = path.join("bin");
            bin.join("postgres").is_file().then_some((major, bin))
        })
        .max_by_key(|(major, _)| *major)
}

/// The major version that the distribution has: of the installed server, or
/// of the package `postgresql`, whose version begins with it.
fn distribution_major() -> Option<u32> {
    if let Some((major, _)) = installed() {
        return Some(major);
    }
    let output = Command::new("apt-cache")
        .args(["show", "--no-all-versions", "postgresql"])
        .output()
        .ok()?;
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .find_map(|line| line.strip_prefix("Version: "))
        .and_then(|version| version.split(['+', '.', '-']).next()?.parse().ok())
}

/// What a server says of its version: `postgres (PostgreSQL) 15.18 (Debian …)`.
fn version_of_server(postgres: &Path) -> Result<String> {
    let text = version::answer(postgres, &["--version"])?;
    text.split("(PostgreSQL) ")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next())
        .map(str::to_owned)
        .ok_or_else(|| version::no_version(postgres, &text))
}

/// The number before the first point: `15` of `15.18`.
pub(super) fn major_of(version: &str) -> Option<u32> {
    let digits = version.find(|c: char| !c.is_ascii_digit());
    version[..digits.unwrap_or(version.len())].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn majors_are_read() {
        for (version, major) in [("15.18", Some(15)), ("18beta1", Some(18)), ("x", None)] {
            assert_eq!(major_of(version), major, "{version}");
        }
    }

    #[test]
    fn programs_are_found_from_where_servers_work() {
        let directory = crate::scratch::directory();
        for program in ["postgres", "initdb"] {
            fs::write(directory.path().join(program), "").unwrap();
        }
        let here = std::env::current_dir().unwrap();
        let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
        let relative = up.join(directory.path().strip_prefix("/").unwrap());
        let found = Programs::given(&format!("8K={}", relative.display())).unwrap();
        assert!(found.given[0].1.is_absolute(), "{found:?}");
    }

    #[test]
    fn bin_without_programs_is_refused() {
        for (text, part) in [
            ("/usr/bin", "such as 4K="),
            ("5=/usr/bin", "bin 5=/usr/bin is not possible"),
            ("4K=/nonexistent", "has no postgres"),
        ] {
            let error = Programs::given(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
