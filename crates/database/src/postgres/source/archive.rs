//! Sources from the distribution's archives, by an apt configuration of our
//! own: the system's mirrors and keys, and none of its lists, caches or
//! sources are changed.

use std::{
    cmp::Reverse,
    collections::BTreeSet,
    env,
    ffi::OsString,
    fmt::Write,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::process::Signal;

use super::{
    Cache, Workplace,
    configured::{AptArchive, configured, debian_mirror, usual},
    version::{is_tarball, numbers},
};
use crate::{
    DatabaseError, Result,
    files::named,
    postgres::cache::require,
    server::process::{Launch, run_tool},
};

/// Major versions that are asked for.
const MAJORS: std::ops::RangeInclusive<u32> = 10..=30;

/// A slow mirror's lists and 25 MB of source.
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(3600);

/// What apt needs of our environment, for those behind a proxy.
const PASSED_ON: [&str; 9] = [
    "APT_CONFIG",
    "http_proxy",
    "https_proxy",
    "ftp_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "all_proxy",
];

/// Downloads the source package of a major version into the cache.
///
/// Fails with [`DatabaseError::Missing`] and the versions that there are when
/// the archives do not have it.
pub(super) fn download(
    major: u32,
    cache: &Cache,
    workplace: &Workplace,
    log: &Path,
    step: &mut dyn FnMut(&str) -> ControlFlow<()>,
) -> Result<()> {
    require("download PostgreSQL's source", &[("apt-get", "apt")])?;
    let mut entries = configured(Path::new("/etc/apt"));
    let debian = debian_mirror(&entries);
    if entries.is_empty() {
        let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        entries.extend(usual(&release));
    }
    let mut apt = Apt {
        directory: workplace.directory("apt")?,
        log,
        what: format!("get the source of PostgreSQL {major}"),
        step,
    };
    let mut there = apt.update(&entries)?;
    if !has(&there, major)
        && let Some(mirror) = debian.or_else(|| debian_mirror(&entries))
    {
        let others = AptArchive::debian(mirror, &entries);
        entries.push(others);
        there = apt.update(&entries)?;
    }
    if !has(&there, major) {
        return Err(apt.not_there(major, &there));
    }
    let tarball = apt.fetch_newest(&there, major)?;
    let kept = Cache::sources(cache.root()).join(tarball.file_name().unwrap_or_default());
    fs::rename(&tarball, &kept).map_err(named("move to", &kept))
}

/// A run of apt with its own directories.
struct Apt<'a> {
    directory: PathBuf,
    log: &'a Path,
    what: String,
    step: &'a mut dyn FnMut(&str) -> ControlFlow<()>,
}

impl Apt<'_> {
    /// Fetches the lists of these archives, and returns the packages of
    /// PostgreSQL in them.
    fn update(&mut self, entries: &[AptArchive]) -> Result<Vec<Package>> {
        let parts = self.directory.join("parts");
        for needed in [
            "parts",
            "state/lists/partial",
            "cache/archives/partial",
            "log",
        ] {
            let path = self.directory.join(needed);
            fs::create_dir_all(&path).map_err(named("create", &path))?;
        }
        let text: String = entries.iter().map(AptArchive::stanza).collect();
        for (path, text) in [
            (parts.join("octavo.sources"), text),
            (self.directory.join("apt.conf"), settings(&self.directory)),
        ] {
            fs::write(&path, text).map_err(named("write", &path))?;
        }
        let directory = self.directory.clone();
        let update = ["update"];
        self.run(
            "apt-get",
            &update,
            &directory,
            "update the lists of packages",
            "lists",
        )?;
        let names: Vec<String> = MAJORS.map(|major| format!("postgresql-{major}")).collect();
        let mut arguments = vec!["showsrc"];
        arguments.extend(names.iter().map(String::as_str));
        let start = fs::metadata(self.log).map_or(0, |about| about.len());
        let looked = self.run(
            "apt-cache",
            &arguments,
            &directory,
            "look for sources",
            "lists",
        );
        match looked {
            Err(DatabaseError::Stopped) => return Err(DatabaseError::Stopped),
            // It fails where it finds nothing.
            _found_or_not => {}
        }
        let told = fs::read(self.log).map_err(named("read", self.log))?;
        let told = told.get(start as usize..).unwrap_or_default();
        Ok(packages_in(&String::from_utf8_lossy(told)))
    }

    /// Downloads the tarball of the newest package that can be: lists of
    /// mirrors name files now and then that are not there yet.
    fn fetch_newest(&mut self, there: &[Package], major: u32) -> Result<PathBuf> {
        let mut packages: Vec<&Package> = there.iter().filter(|p| p.major == major).collect();
        packages.sort_by_key(|package| Reverse(numbers(&package.version)));
        let mut first_failure = None;
        for (attempt, package) in packages.into_iter().enumerate() {
            match self.fetch(package, attempt) {
                Err(DatabaseError::Program {
                    action,
                    program,
                    reason,
                }) => {
                    first_failure.get_or_insert(DatabaseError::Program {
                        action,
                        program,
                        reason,
                    });
                }
                done => return done,
            }
        }
        Err(first_failure.unwrap_or_else(|| self.not_there(major, there)))
    }

    fn fetch(&mut self, package: &Package, attempt: usize) -> Result<PathBuf> {
        let directory = self.directory.join(format!("download-{attempt}"));
        fs::create_dir_all(&directory).map_err(named("create", &directory))?;
        let wanted = format!("postgresql-{}={}", package.major, package.version);
        let arguments = ["source", "--download-only", "--only-source", &wanted];
        let action = "download PostgreSQL's source";
        let phase = format!("download {}", package.version);
        self.run("apt-get", &arguments, &directory, action, &phase)?;
        let is_wanted = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.contains(".orig.tar.") && is_tarball(&name)
        };
        fs::read_dir(&directory)
            .map_err(named("list", &directory))?
            .flatten()
            .map(|entry| entry.path())
            .find(is_wanted)
            .ok_or_else(|| DatabaseError::Program {
                action,
                program: "apt-get".into(),
                reason: format!("the package {wanted} has no .orig.tar file"),
            })
    }

    fn run(
        &mut self,
        program: &str,
        arguments: &[&str],
        directory: &Path,
        action: &'static str,
        phase: &str,
    ) -> Result<()> {
        let mut all: Vec<OsString> = vec!["-c".into(), self.directory.join("apt.conf").into()];
        all.extend(arguments.iter().map(Into::into));
        let passed_on = PASSED_ON.iter();
        let mut environment: Vec<(OsString, OsString)> = passed_on
            .filter_map(|name| Some(((*name).into(), env::var_os(name)?)))
            .collect();
        // Keys of archives are checked with files there, and a process that is held to its
        // directories may write nowhere else.
        environment.push(("TMPDIR".into(), self.directory.clone().into()));
        let since = Instant::now();
        let Self { what, step, .. } = self;
        run_tool(
            action,
            &Launch {
                program: Path::new(program),
                arguments: all,
                directory,
                log: self.log,
                account: None,
                group: None,
                on_death: Signal::TERM,
                input: None,
                environment,
            },
            DOWNLOAD_LIMIT,
            &mut || step(&format!("{what}: {phase}, {} s", since.elapsed().as_secs())).is_break(),
        )
    }

    fn not_there(&self, major: u32, there: &[Package]) -> DatabaseError {
        let majors: BTreeSet<u32> = there.iter().map(|package| package.major).collect();
        let versions: Vec<String> = majors.iter().map(u32::to_string).collect();
        let mut what = format!("the distribution's archives have no source of PostgreSQL {major}");
        // Writing to a string cannot fail.
        let _infallible = match versions.split_last() {
            None => write!(what, ", nor of any other version"),
            Some((last, [])) => write!(what, ", only of {last}"),
            Some((last, others)) => write!(what, ", only of {} and {last}", others.join(", ")),
        };
        // Mirrors that could not be reached explain what is not there.
        let told = fs::read(self.log).unwrap_or_default();
        if let Some(line) = String::from_utf8_lossy(&told)
            .lines()
            .find(|line| line.starts_with("W: Failed to fetch") || line.starts_with("Err:"))
        {
            let _infallible = write!(what, " ({})", line.trim());
        }
        DatabaseError::Missing {
            what,
            remedy: "choose another version, or give a tarball or directory of the source, or \
                     the directories of built servers"
                .into(),
        }
    }
}

/// Our own directories, and no hooks: some systems empty their cache after
/// every update.
fn settings(directory: &Path) -> String {
    let directory = directory.display();
    format!(
        "#clear APT::Update::Pre-Invoke;\n\
         #clear APT::Update::Post-Invoke;\n\
         #clear APT::Update::Post-Invoke-Success;\n\
         Dir::State \"{directory}/state\";\n\
         Dir::State::lists \"lists\";\n\
         Dir::State::status \"/dev/null\";\n\
         Dir::Cache \"{directory}/cache\";\n\
         Dir::Log \"{directory}/log\";\n\
         Dir::Etc::SourceList \"/dev/null\";\n\
         Dir::Etc::SourceParts \"{directory}/parts\";\n\
         Dir::Etc::Preferences \"/dev/null\";\n\
         Dir::Etc::PreferencesParts \"/dev/null\";\n\
         // The user that apt downloads as may not reach our directory.\n\
         APT::Sandbox::User \"root\";\n\
         Acquire::Languages \"none\";\n\
         Acquire::Retries \"3\";\n"
    )
}

/// A source package of PostgreSQL.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Package {
    major: u32,
    /// The package's own version, such as `15.18-0+deb12u1`.
    version: String,
}

fn has(packages: &[Package], major: u32) -> bool {
    packages.iter().any(|package| package.major == major)
}

/// The packages that `apt-cache showsrc` tells of.
fn packages_in(told: &str) -> Vec<Package> {
    let mut packages = Vec::new();
    let mut major = None;
    for line in told.lines() {
        if let Some(name) = line.strip_prefix("Package: ") {
            major = name
                .strip_prefix("postgresql-")
                .and_then(|digits| digits.trim().parse().ok());
        } else if let Some(version) = line.strip_prefix("Version: ")
            && let Some(major) = major.take()
        {
            packages.push(Package {
                major,
                version: version.trim().to_owned(),
            });
        }
    }
    packages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_source_packages_of_postgresql_are_found() {
        let told = "Package: postgresql-17\nBinary: x\nVersion: 17.1-1\n\n\
                    W: Unable to locate package postgresql-16\n\
                    Package: postgresql-15\nVersion: 15.18-0+deb12u1\n\n\
                    Package: postgresql-common\nVersion: 250\nBinary: postgresql-18\n";
        let package = |major, version: &str| Package {
            major,
            version: version.into(),
        };
        let packages = packages_in(told);
        assert_eq!(
            packages,
            [package(17, "17.1-1"), package(15, "15.18-0+deb12u1")]
        );
        assert!(has(&packages, 15) && !has(&packages, 16));
        assert_eq!(packages_in(""), []);
    }
}
