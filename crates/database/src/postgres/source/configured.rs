//! The archives that a system's apt is configured with (sources.list(5)).

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Debian's releases and the PostgreSQL that each has. Debian's mirrors carry
/// them all, whichever of them a system uses.
const DEBIAN_SUITES: [&str; 5] = ["bullseye", "bookworm", "trixie", "forky", "sid"];

/// Keys that sign all of them.
const DEBIAN_KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// An archive as apt is configured with it (sources.list(5)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AptArchive {
    uris: Vec<String>,
    suites: Vec<String>,
    components: Vec<String>,
    /// Other fields that matter for sources, as they were written.
    fields: Vec<String>,
    is_off: bool,
}

impl AptArchive {
    /// Debian's releases on a mirror, without those that are known: apt refuses
    /// to go on with two entries of a release that name different keys.
    pub(super) fn debian(mirror: String, known: &[Self]) -> Self {
        let is_new = |suite: &&str| {
            let mut suites = known.iter().flat_map(|entry| &entry.suites);
            !suites.any(|known| known == suite)
        };
        let keys = Path::new(DEBIAN_KEYRING)
            .exists()
            .then(|| format!("Signed-By: {DEBIAN_KEYRING}"));
        Self {
            uris: vec![mirror],
            suites: DEBIAN_SUITES
                .iter()
                .copied()
                .filter(is_new)
                .map(String::from)
                .collect(),
            components: vec!["main".into()],
            fields: keys.into_iter().collect(),
            is_off: false,
        }
    }

    /// The entry for sources. PostgreSQL is in `main` everywhere.
    pub(super) fn stanza(&self) -> String {
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
pub(super) fn configured(etc: &Path) -> Vec<AptArchive> {
    let mut files = vec![etc.join("sources.list")];
    let mut parts: Vec<PathBuf> = fs::read_dir(etc.join("sources.list.d"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    parts.sort();
    files.append(&mut parts);
    let mut entries: Vec<AptArchive> = Vec::new();
    for path in files {
        // A file that is not there or not for us has no mirror to offer.
        let text = fs::read_to_string(&path).unwrap_or_default();
        let found: Vec<AptArchive> = match path.extension().and_then(|e| e.to_str()) {
            Some("list") => text.lines().filter_map(AptArchive::of_line).collect(),
            Some("sources") => stanzas(&text).map(|s| AptArchive::of_stanza(&s)).collect(),
            _ => Vec::new(),
        };
        for entry in found.into_iter().filter(AptArchive::is_archive) {
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
pub(super) fn debian_mirror(entries: &[AptArchive]) -> Option<String> {
    entries
        .iter()
        .flat_map(|entry| &entry.uris)
        .find(|uri| uri.trim_end_matches('/').ends_with("/debian"))
        .cloned()
}

/// The archive of a distribution that is configured with none, by the text of
/// `/etc/os-release`.
pub(super) fn usual(release: &str) -> Option<AptArchive> {
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
    Some(AptArchive {
        uris: vec![uri.into()],
        suites: vec![field("VERSION_CODENAME")?],
        components: vec!["main".into()],
        ..AptArchive::default()
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
        let stanzas: Vec<String> = entries.iter().map(AptArchive::stanza).collect();
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
        let others = AptArchive::debian("http://deb/debian".into(), &entries);
        assert_eq!(others.suites, ["bullseye", "trixie", "forky", "sid"]);
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
}
