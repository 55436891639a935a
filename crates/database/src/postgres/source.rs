//! Where PostgreSQL's source comes from, and which version it is.

mod archive;
mod configured;
mod version;

use std::{
    fmt::Write,
    fs::{self, File},
    io::{BufRead, BufReader, Read},
    ops::ControlFlow,
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use sha2::{Digest, Sha256};

use super::{
    cache::{Cache, Workplace},
    refusal::refuse,
};
use crate::{DatabaseError, Result, files::named};
use version::{is_tarball, is_version, numbers, version_in_name};

/// Where PostgreSQL's source comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A `.tar.gz`, `.tar.bz2` or `.tar.xz`, as PostgreSQL publishes them.
    Tarball(PathBuf),
    /// A directory with `configure`, which is never written to.
    Directory(PathBuf),
    /// The source package of the distribution. It is downloaded once: all
    /// block sizes are built from the same minor version.
    Distribution {
        /// The major version, such as 17.
        major: u32,
    },
}

/// The version of a source, without a network: `17.11`, or `17` for the
/// distribution's, whose minor version is known once it is downloaded.
pub(crate) fn version_of(source: &Source) -> Result<String> {
    match source {
        Source::Distribution { major } => Ok(major.to_string()),
        Source::Directory(path) => {
            let configure = path.join("configure");
            let file = File::open(&configure).map_err(named("open", &configure))?;
            version_in_configure(file)
                .ok_or_else(|| not_postgresql(path, "its configure names no PostgreSQL version"))
        }
        Source::Tarball(path) => {
            // Its name is a hint of what is in it, and saves unpacking it.
            File::open(path).map_err(named("open", path))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            match version_in_name(&name) {
                Some(version) => Ok(version),
                None => version_in_tarball(path),
            }
        }
    }
}

/// A source at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceAtHand {
    /// Its version.
    pub(super) version: String,
    /// Tells it from other sources of the same version.
    pub(super) fingerprint: String,
    /// Where it is.
    pub(super) place: SourceFiles,
}

/// Where a source at hand is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SourceFiles {
    /// To be unpacked.
    Tarball(PathBuf),
    /// To be built from as it is.
    Directory(PathBuf),
}

/// The source where it is at hand; `None` where it has to be downloaded.
/// `cache` is the directory of caches, which need not be there.
pub(super) fn at_hand(source: &Source, cache: &Path) -> Result<Option<SourceAtHand>> {
    let place = match source {
        Source::Tarball(path) => SourceFiles::Tarball(path.clone()),
        Source::Directory(path) => SourceFiles::Directory(path.clone()),
        Source::Distribution { major } => match downloaded(&Cache::sources(cache), *major) {
            Some(path) => SourceFiles::Tarball(path),
            None => return Ok(None),
        },
    };
    let (version, fingerprint) = match &place {
        SourceFiles::Tarball(path) => (
            version_of(&Source::Tarball(path.clone()))?,
            fingerprint_of_tarball(path)?,
        ),
        SourceFiles::Directory(path) => (
            version_of(&Source::Directory(path.clone()))?,
            fingerprint_of_directory(path)?,
        ),
    };
    Ok(Some(SourceAtHand {
        version,
        fingerprint,
        place,
    }))
}

/// The source, downloaded where it is not at hand. `log` takes the words of
/// the programs that do it.
pub(super) fn obtain(
    source: &Source,
    cache: &Cache,
    workplace: &Workplace,
    log: &Path,
    step: &mut dyn FnMut(&str) -> ControlFlow<()>,
) -> Result<SourceAtHand> {
    if let Source::Distribution { major } = source
        && downloaded(&Cache::sources(cache.root()), *major).is_none()
    {
        archive::download(*major, cache, workplace, log, step)?;
    }
    at_hand(source, cache.root())?.ok_or_else(|| DatabaseError::Missing {
        what: format!(
            "the source that was downloaded is no longer in {}",
            Cache::sources(cache.root()).display()
        ),
        remedy: "start again".into(),
    })
}

/// The newest source of a major version among those downloaded.
fn downloaded(sources: &Path, major: u32) -> Option<PathBuf> {
    let prefix = format!("postgresql-{major}_");
    fs::read_dir(sources)
        .ok()?
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = version_in_name(&name)?;
            (name.starts_with(&prefix) && is_tarball(&name)).then(|| (version, entry.path()))
        })
        .max_by_key(|(version, _)| numbers(version))
        .map(|(_, path)| path)
}

/// The version in the text of `configure`, near its beginning.
fn version_in_configure(configure: impl Read) -> Option<String> {
    let mut named_so = false;
    let mut version = None;
    for line in BufReader::new(configure.take(1 << 20)).split(b'\n') {
        let line = line.ok()?;
        let line = String::from_utf8_lossy(&line);
        named_so |= line.trim_end() == "PACKAGE_NAME='PostgreSQL'";
        if let Some(value) = line.strip_prefix("PACKAGE_VERSION=") {
            let value = value.trim().trim_matches('\'');
            // A development version is `19devel`; a plain number is none.
            version = is_version(value).then(|| value.to_owned());
        }
        if named_so && version.is_some() {
            return version;
        }
    }
    None
}

/// The version in the `configure` of a tarball whose name does not tell it.
fn version_in_tarball(path: &Path) -> Result<String> {
    let failed = |error: std::io::Error| DatabaseError::Program {
        action: "read the version of PostgreSQL's source",
        program: "tar".into(),
        reason: error.to_string(),
    };
    let mut tar = Command::new("tar")
        .args(["--extract", "--to-stdout", "--wildcards"])
        .args(["--no-wildcards-match-slash", "--file"])
        .arg(path)
        .args(["configure", "*/configure"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let version = tar.stdout.take().and_then(version_in_configure);
    // Closing its output ends it; what it says then does not matter.
    let _killed = tar.kill();
    tar.wait().map_err(failed)?;
    version.ok_or_else(|| {
        not_postgresql(
            path,
            "neither its name nor a configure in it tells a PostgreSQL version",
        )
    })
}

fn not_postgresql(path: &Path, reason: &str) -> DatabaseError {
    refuse(
        "source",
        path.display(),
        format!(
            "{reason}; give a tarball such as postgresql-17.4.tar.bz2, or the directory that one \
             unpacks to"
        ),
    )
}

/// Compressed archives end with a checksum of their content, so the end and
/// the length tell contents apart without reading all.
fn fingerprint_of_tarball(path: &Path) -> Result<String> {
    const END: u64 = 64 << 10;
    let read = || {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut end = vec![0; length.min(END) as usize];
        file.read_exact_at(&mut end, length.saturating_sub(END))?;
        Ok((length, end))
    };
    let (length, end) = read().map_err(named("read", path))?;
    let mut hash = Sha256::new();
    hash.update(length.to_le_bytes());
    hash.update(&end);
    Ok(short(hash))
}

/// The names, sizes and times of all files, without those of git.
fn fingerprint_of_directory(path: &Path) -> Result<String> {
    fn add(path: &Path, hash: &mut Sha256) -> Result<()> {
        let mut entries = fs::read_dir(path)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(named("list", path))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            if entry.file_name() == ".git" {
                continue;
            }
            let path = entry.path();
            let about = entry.metadata().map_err(named("examine", &path))?;
            hash.update(entry.file_name().as_encoded_bytes());
            if about.is_dir() {
                hash.update(b"/(");
                add(&path, hash)?;
                hash.update(b")/");
            } else {
                hash.update([0]);
                hash.update(about.len().to_le_bytes());
                hash.update(about.mtime().to_le_bytes());
                hash.update(about.mtime_nsec().to_le_bytes());
            }
        }
        Ok(())
    }
    let mut hash = Sha256::new();
    add(path, &mut hash)?;
    Ok(short(hash))
}

/// Twelve digits: enough for the sources of one machine.
pub(super) fn short(hash: Sha256) -> String {
    hash.finalize()
        .iter()
        .take(6)
        .fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _infallible = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIGURE: &str = "\
#! /bin/sh
# Identity of this package.
PACKAGE_NAME='PostgreSQL'
PACKAGE_TARNAME='postgresql'
PACKAGE_VERSION='16.9'
";

    #[test]
    fn names_tell_versions() {
        for (name, version) in [
            ("postgresql-17.4.tar.bz2", Some("17.4")),
            ("postgresql-18beta1.tar.gz", Some("18beta1")),
            ("postgresql-15_15.18.orig.tar.xz", Some("15.18")),
            ("postgresql-17.tar.gz", None),
            ("postgresql-17.4.zip", None),
            ("postgresql-snapshot.tar.gz", None),
            ("postgresql-15_..orig.tar.xz", None),
            ("REL_17_4.tar.gz", None),
        ] {
            assert_eq!(version_in_name(name).as_deref(), version, "{name}");
        }
        assert!(numbers("15.18") > numbers("15.9"));
    }

    #[test]
    fn a_directory_tells_its_version_and_its_changes() {
        let scratch = crate::scratch::directory();
        let source = Source::Directory(scratch.path().into());
        assert!(
            version_of(&source)
                .unwrap_err()
                .to_string()
                .contains("configure")
        );
        let configure = scratch.path().join("configure");
        fs::write(&configure, CONFIGURE.replace("PostgreSQL", "other")).unwrap();
        let error = version_of(&source).unwrap_err().to_string();
        assert!(error.contains("no PostgreSQL version"), "{error}");
        fs::write(&configure, CONFIGURE).unwrap();
        assert_eq!(version_of(&source).unwrap(), "16.9");
        let before = at_hand(&source, Path::new("/absent")).unwrap().unwrap();
        fs::write(scratch.path().join("main.c"), "int x;").unwrap();
        let after = at_hand(&source, Path::new("/absent")).unwrap().unwrap();
        assert_eq!(before.version, after.version);
        assert_ne!(before.fingerprint, after.fingerprint);
        assert_eq!(after.fingerprint.len(), 12);
    }

    #[test]
    fn a_tarball_of_any_name_tells_its_version() {
        let scratch = crate::scratch::directory();
        let tree = scratch.path().join("tree");
        fs::create_dir_all(tree.join("deep/er")).unwrap();
        fs::write(tree.join("configure"), CONFIGURE).unwrap();
        fs::write(tree.join("deep/er/configure"), "another").unwrap();
        let tarball = scratch.path().join("snapshot.tar.gz");
        let packed = Command::new("tar")
            .args(["-C".as_ref(), scratch.path().as_os_str()])
            .args(["-czf".as_ref(), tarball.as_os_str(), "tree".as_ref()])
            .status()
            .unwrap();
        assert!(packed.success());
        let source = Source::Tarball(tarball.clone());
        assert_eq!(version_of(&source).unwrap(), "16.9");
        let found = at_hand(&source, Path::new("/absent")).unwrap().unwrap();
        assert_eq!(found.place, SourceFiles::Tarball(tarball.clone()));
        fs::write(&tarball, "no archive").unwrap();
        let error = version_of(&source).unwrap_err().to_string();
        assert!(error.contains("snapshot.tar.gz"), "{error}");
        let absent = Source::Tarball(scratch.path().join("postgresql-17.4.tar.gz"));
        assert!(version_of(&absent).is_err());
    }

    #[test]
    fn the_newest_download_is_taken() {
        let scratch = crate::scratch::directory();
        let distribution = Source::Distribution { major: 15 };
        assert_eq!(version_of(&distribution).unwrap(), "15");
        assert_eq!(at_hand(&distribution, scratch.path()).unwrap(), None);
        let sources = Cache::sources(scratch.path());
        fs::create_dir(&sources).unwrap();
        for name in [
            "postgresql-15_15.9.orig.tar.bz2",
            "postgresql-15_15.18.orig.tar.bz2",
            "postgresql-15_15.99.orig.tar.bz2.asc",
            "postgresql-17_17.1.orig.tar.bz2",
        ] {
            fs::write(sources.join(name), name).unwrap();
        }
        let found = at_hand(&distribution, scratch.path()).unwrap().unwrap();
        assert_eq!(found.version, "15.18");
    }
}
