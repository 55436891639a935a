//! Files that a command writes: whole or not at all, and never over somebody
//! else's.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use clap::Args;
use octavo_report::Document;
use octavo_storage::text::{self, TextError};

use crate::failure::Failure;

/// Where a plan's results go when nobody says: `octavo-` and the plan's name.
pub(crate) fn directory_of(plan: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from("octavo-");
    name.push(plan.file_stem().unwrap_or_default());
    name.into()
}

/// Refuses two outputs, each with its flag, that are one file: the second would replace
/// the first.
pub(crate) fn keep_apart(outputs: &[(&str, Option<&Path>)]) -> Result<(), Failure> {
    let mut seen: Vec<(&str, PathBuf)> = Vec::new();
    for (flag, path) in outputs {
        let Some(place) = path.map(place) else {
            continue;
        };
        if let Some((other, _)) = seen.iter().find(|(_, other)| *other == place) {
            return Err(Failure::Input(anyhow!(
                "{other} and {flag} name the same file, {}; name two",
                place.display()
            )));
        }
        seen.push((flag, place));
    }
    Ok(())
}

/// The one name of a file that may not exist yet, without links.
fn place(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let parent = path.parent().filter(|of| !of.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    match (parent.canonicalize(), path.file_name()) {
        (Ok(real), Some(name)) => real.join(name),
        _ => path.to_owned(),
    }
}

/// Refuses to overwrite an existing file unless it is `ours`, which is `what`.
pub(crate) fn keep_foreign(
    path: &Path,
    what: &str,
    ours: impl FnOnce(&str) -> bool,
) -> Result<(), Failure> {
    if path == Path::new("-") {
        return Err(Failure::Input(anyhow!(
            "- is no file, and the standard output has the answer; name a file"
        )));
    }
    // A file would take its place, also of /dev/stdout.
    if path.is_symlink() {
        return Err(Failure::Input(anyhow!(
            "{} is a link; name a file itself",
            path.display()
        )));
    }
    let found = match text::begin(path, text::MADE_MAX) {
        Err(error) if error.is_missing() => return Ok(()),
        // A device would be replaced by a file.
        Err(TextError::NotAFile { .. }) => {
            return Err(Failure::Input(anyhow!(
                "{} is not a file; name a new one",
                path.display()
            )));
        }
        found => found,
    };
    // What cannot be read, or is no text, is somebody else's.
    if found.is_ok_and(|bytes| beginning(&bytes).is_some_and(ours)) {
        return Ok(());
    }
    Err(Failure::Input(anyhow!(
        "{} exists and is not {what}; name another file",
        path.display()
    )))
}

/// The text that begins with `bytes`, whose last character may not be whole.
fn beginning(bytes: &[u8]) -> Option<&str> {
    match str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => {
            str::from_utf8(&bytes[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}

/// A report as a page.
#[derive(Debug, Args)]
pub(crate) struct PageFlag {
    /// Write the report to this file as well, a page that needs no network
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

impl PageFlag {
    /// Refuses a page that could not be written, or that Octavo did not make.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let Some(path) = &self.html else {
            return Ok(());
        };
        keep_foreign(path, "a report of Octavo", |found| {
            let ours = [
                "name=\"generator\" content=\"Octavo\"",
                "Measured by Octavo",
            ];
            found.starts_with("<!DOCTYPE html>") && ours.iter().any(|ours| found.contains(ours))
        })?;
        probe(path)
    }

    /// Writes the page where one was asked for.
    pub(crate) fn write(&self, document: impl FnOnce() -> Document) -> Result<(), Failure> {
        match &self.html {
            Some(path) => write(path, &document().html()),
            None => Ok(()),
        }
    }
}

/// Writes a file whole or not at all.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = Unfinished::create(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.finish()
    });
    Ok(written.with_context(|| format!("write {}", path.display()))?)
}

/// Refuses a file that could not be written.
pub(crate) fn probe(path: &Path) -> Result<(), Failure> {
    Unfinished::create(path).map(drop).map_err(|error| {
        Failure::Input(anyhow!(
            "{} cannot be written: {error}; name a file in a directory that can be written",
            path.display()
        ))
    })
}

/// A file beside its place until it is whole; without its end nothing is left
/// of it.
pub(crate) struct Unfinished {
    path: PathBuf,
    unfinished: PathBuf,
    file: BufWriter<File>,
}

impl Unfinished {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(format!(".octavo-{}", std::process::id()));
        let unfinished = PathBuf::from(unfinished);
        // Of one that was killed and had our number: where processes are
        // numbered anew, as in containers, it may come every time.
        let _left = fs::remove_file(&unfinished);
        let file = BufWriter::new(File::create_new(&unfinished)?);
        Ok(Self {
            path: path.to_owned(),
            unfinished,
            file,
        })
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.file.flush()?;
        fs::rename(&self.unfinished, &self.path)
    }
}

impl Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After `finish` it has its name, and nothing is here to remove.
        let _removed = fs::remove_file(&self.unfinished);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_of_this_number_left_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.html");
        let left = directory
            .path()
            .join(format!("report.html.octavo-{}", std::process::id()));
        fs::write(left, "half").unwrap();
        probe(&path).unwrap();
        write(&path, "whole").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn two_outputs_are_two_files() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::create_dir(path("real")).unwrap();
        std::os::unix::fs::symlink(path("real"), path("link")).unwrap();
        fs::write(path("real/there"), "").unwrap();
        std::os::unix::fs::symlink(path("real/there"), path("other")).unwrap();
        let refused = |first: &str, second: &str| {
            let (first, second) = (path(first), path(second));
            let outputs = [
                ("--html", Some(first.as_path())),
                ("--hdr-log", None),
                ("--csv", Some(second.as_path())),
            ];
            keep_apart(&outputs).is_err()
        };
        for (first, second) in [
            ("new", "new"),
            ("real/new", "link/new"),
            ("real/new", "real/../link/./new"),
            ("real/there", "other"),
            ("none/new", "none/new"),
        ] {
            assert!(refused(first, second), "{first} {second}");
        }
        assert!(!refused("new", "real/new"));
        let relative = [
            ("--html", Some(Path::new("x"))),
            ("--csv", Some(Path::new("./x"))),
        ];
        assert!(keep_apart(&relative).is_err());
    }

    #[test]
    fn pipes_and_devices_are_not_replaced() {
        let refused = |path: &Path| keep_foreign(path, "a page", |_| true).is_err();
        assert!(refused(Path::new("/dev/null")));
        assert!(refused(Path::new("/")));
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(refused(&pipe));
        assert!(!refused(&directory.path().join("new")));
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(directory.path().join("nowhere"), &link).unwrap();
        assert!(refused(&link));
        fs::write(directory.path().join("nowhere"), "").unwrap();
        assert!(refused(&link), "of an empty file, which could be ours");
    }

    #[test]
    fn a_file_that_is_not_finished_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bench.hlog");
        fs::write(&path, "before").unwrap();
        let mut file = Unfinished::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"before");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn results_go_beside_no_matter_where_the_plan_is() {
        assert_eq!(
            directory_of(Path::new("plans/a b.toml")),
            Path::new("octavo-a b")
        );
        assert_eq!(directory_of(Path::new("plan")), Path::new("octavo-plan"));
    }
}
