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

use super::{Cache, Workplace, is_tarball, numbers};
use crate::{
    DatabaseError,
    files::named,
    postgres::build::require,
    server::process::{Launch, run_tool},
};

/// Debian's releases and the PostgreSQL that each has. Debian's mirrors carry
/// them all, whichever of them a system uses.
const DEBIAN_SUITES: [&str; 5] = ["bullseye", "bookworm", "trixie", "forky", "sid"];

/// Keys that sign all of them.
const DEBIAN_KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

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
) -> Result<(), DatabaseError> {
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
        entries.push(Entry::debian(mirror));
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
    fn update(&mut self, entries: &[Entry]) -> Result<Vec<Package>, DatabaseError> {
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
        let text: String = entries.iter().map(Entry::stanza).collect();
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
    fn fetch_newest(&mut self, there: &[Package], major: u32) -> Result<PathBuf, DatabaseError> {
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

    fn fetch(&mut self, package: &Package, attempt: usize) -> Result<PathBuf, DatabaseError> {
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
    ) -> Result<(), DatabaseError> {
        let mut all: Vec<OsString> = vec!["-c".into(), self.directory.join("apt.conf").into()];
        all.extend(arguments.iter().map(Into::into));
        let environment = PASSED_ON
            .iter()
            .filter_map(|name| Some(((*name).into(), env::var_os(name)?)))
            .collect();
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
            remedy: "choose another version, or give a tarball or directory of the source \
                     (--source) or built servers (--bin)"
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

/// An archive as apt is configured with it (sources.list(5)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entry {
    uris: Vec<String>,
    suites: Vec<String>,
    components: Vec<String>,
    /// Other fields that matter for sources, as they were written.
    fields: Vec<String>,
    is_off: bool,
}

impl Entry {
    /// All of Debian's releases on a mirror.
    fn debian(mirror: String) -> Self {
        let keys = Path::new(DEBIAN_KEYRING)
            .exists()
            .then(|| format!("Signed-By: {DEBIAN_KEYRING}"));
        Self {
            uris: vec![mirror],
            suites: DEBIAN_SUITES.map(String::from).into(),
            components: vec!["main".into()],
            fields: keys.into_iter().collect(),
            is_off: false,
        }
    }

    /// The entry for sources. PostgreSQL is in `main` everywhere.
    fn stanza(&self) -> String {
        let fields: String = self.fields.iter().map(|f| format!("{f}\n")).collect();
        format!(
            "Types: deb-src\nURIs: {}\nSuites: {}\nComponents: main\n{fields}\n",
            self.uris.join(" "),
            self.suites.join(" ")
        )
    }

    /// Whether it is an archive of Debian or Ubuntu, or PostgreSQL's own:
    /// others have no source of it.
    fn is_archive(&self) -> bool {
        let is_known = |uri: &String| {
            let path = uri.trim_end_matches('/');
            let name = path.rsplit('/').next().unwrap_or_default();
            name.starts_with("debian") || name.starts_with("ubuntu")
        };
        !self.is_off
            && self.components.iter().any(|name| name == "main")
            && (self.uris.iter().any(is_known)
                || self.suites.iter().any(|suite| suite.ends_with("-pgdg")))
    }

    /// A line of `sources.list`.
    fn of_line(line: &str) -> Option<Self> {
        let line = line.split('#').next()?.trim();
        let rest = line
            .strip_prefix("deb-src")
            .or_else(|| line.strip_prefix("deb"))
            .filter(|rest| rest.starts_with(char::is_whitespace))?
            .trim_start();
        let (options, rest) = match rest.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => ("", rest),
        };
        let mut words = rest.split_whitespace().map(String::from);
        let mut entry = Self {
            uris: vec![words.next()?],
            suites: vec![words.next()?],
            components: words.collect(),
            ..Self::default()
        };
        for option in options.split_whitespace() {
            let (name, value) = option.split_once('=')?;
            entry.add_field(name, &value.replace(',', " "), &format!("{name}: {value}"));
        }
        Some(entry)
    }

    /// A stanza of a `.sources` file.
    fn of_stanza(stanza: &str) -> Self {
        let mut entry = Self::default();
        let mut fields: Vec<String> = Vec::new();
        for line in stanza.lines().filter(|line| !line.starts_with('#')) {
            match fields.last_mut() {
                Some(field) if line.starts_with([' ', '\t']) => {
                    field.push('\n');
                    field.push_str(line);
                }
                _ => fields.push(line.to_owned()),
            }
        }
        for field in fields {
            if let Some((name, value)) = field.split_once(':') {
                entry.add_field(name, value, &field);
            }
        }
        entry
    }

    fn add_field(&mut self, name: &str, value: &str, written: &str) {
        let words = || value.split_whitespace().map(String::from).collect();
        match name.to_ascii_lowercase().as_str() {
            "uris" => self.uris = words(),
            "suites" => self.suites = words(),
            "components" => self.components = words(),
            "enabled" => self.is_off = matches!(value.trim(), "no" | "false" | "0"),
            "signed-by" | "trusted" | "allow-insecure" | "allow-weak" | "check-valid-until"
            | "check-date" | "by-hash" | "snapshot" => self.fields.push(written.to_owned()),
            // Which binary packages, and the like.
            _ => {}
        }
    }
}

/// The archives that apt is configured with in `/etc/apt`.
fn configured(etc: &Path) -> Vec<Entry> {
    let mut files = vec![etc.join("sources.list")];
    let mut parts: Vec<PathBuf> = fs::read_dir(etc.join("sources.list.d"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    parts.sort();
    files.append(&mut parts);
    let mut entries: Vec<Entry> = Vec::new();
    for path in files {
        // A file that is not there or not for us has no mirror to offer.
        let text = fs::read_to_string(&path).unwrap_or_default();
        let found: Vec<Entry> = match path.extension().and_then(|e| e.to_str()) {
            Some("list") => text.lines().filter_map(Entry::of_line).collect(),
            Some("sources") => stanzas(&text).map(|s| Entry::of_stanza(&s)).collect(),
            _ => Vec::new(),
        };
        for entry in found.into_iter().filter(Entry::is_archive) {
            // Lines for binaries and for sources are often side by side.
            if !entries
                .iter()
                .any(|known| known.uris == entry.uris && known.suites == entry.suites)
            {
                entries.push(entry);
            }
        }
    }
    entries
}

/// The paragraphs of a text.
fn stanzas(text: &str) -> impl Iterator<Item = String> {
    let mut stanzas = vec![String::new()];
    for line in text.lines() {
        if line.trim().is_empty() {
            stanzas.push(String::new());
        } else if let Some(stanza) = stanzas.last_mut() {
            stanza.push_str(line);
            stanza.push('\n');
        }
    }
    stanzas.into_iter().filter(|stanza| !stanza.is_empty())
}

/// A mirror of Debian among the entries.
fn debian_mirror(entries: &[Entry]) -> Option<String> {
    entries
        .iter()
        .flat_map(|entry| &entry.uris)
        .find(|uri| uri.trim_end_matches('/').ends_with("/debian"))
        .cloned()
}

/// The archive of a distribution that is configured with none, by the text of
/// `/etc/os-release`.
fn usual(release: &str) -> Option<Entry> {
    let field = |name: &str| {
        release
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
            .map(|value| value.trim_matches('"').to_owned())
    };
    let uri = match field("ID")?.as_str() {
        "debian" => "http://deb.debian.org/debian",
        "ubuntu" => "http://archive.ubuntu.com/ubuntu",
        _ => return None,
    };
    Some(Entry {
        uris: vec![uri.into()],
        suites: vec![field("VERSION_CODENAME")?],
        components: vec!["main".into()],
        ..Entry::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_stanzas_are_read() {
        let scratch = crate::scratch::directory();
        let parts = scratch.path().join("sources.list.d");
        fs::create_dir(&parts).unwrap();
        fs::write(
            scratch.path().join("sources.list"),
            "# deb http://old/debian buster main\n\
             deb [arch=amd64,arm64 signed-by=/k/u.gpg] http://mirror/ubuntu/ noble main universe # x\n\
             deb-src http://mirror/ubuntu/ noble main\n\
             deb https://packages.example.com/apt tool main\n\
             debug http://mirror/debian x main\n",
        )
        .unwrap();
        fs::write(
            parts.join("debian.sources"),
            "Types: deb\n# comment\nURIs: http://deb/debian\nSuites: bookworm\n bookworm-updates\n\
             Components: main\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n\n\n\
             Enabled: no\nTypes: deb\nURIs: http://off/debian\nSuites: sid\nComponents: main\n",
        )
        .unwrap();
        fs::write(parts.join("x.disabled"), "deb http://d/debian sid main\n").unwrap();
        fs::write(
            parts.join("pgdg.list"),
            "deb http://apt.postgresql.org/pub/repos/apt bookworm-pgdg main\n",
        )
        .unwrap();
        let entries = configured(scratch.path());
        let stanzas: Vec<String> = entries.iter().map(Entry::stanza).collect();
        assert_eq!(
            stanzas,
            [
                "Types: deb-src\nURIs: http://mirror/ubuntu/\nSuites: noble\nComponents: main\n\
                 signed-by: /k/u.gpg\n\n",
                "Types: deb-src\nURIs: http://deb/debian\nSuites: bookworm bookworm-updates\n\
                 Components: main\nSigned-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n\n",
                "Types: deb-src\nURIs: http://apt.postgresql.org/pub/repos/apt\n\
                 Suites: bookworm-pgdg\nComponents: main\n\n",
            ]
        );
        assert_eq!(debian_mirror(&entries).unwrap(), "http://deb/debian");
        assert_eq!(debian_mirror(&entries[..1]), None);
        assert_eq!(configured(&scratch.path().join("absent")), []);
    }

    #[test]
    fn a_system_without_sources_has_its_usual_ones() {
        let entry = usual("NAME=x\nID=debian\nVERSION_CODENAME=trixie\n").unwrap();
        assert!(entry.is_archive());
        assert_eq!(entry.suites, ["trixie"]);
        assert_eq!(usual("ID=\"fedora\"\n"), None);
        assert_eq!(usual(""), None);
    }

    #[test]
    fn packages_are_told_apart() {
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
