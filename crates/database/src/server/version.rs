//! Asking a server's program for its version, which is also the first sign of
//! whether it can be run at all.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use crate::{DatabaseError, Result};

/// What the program answers to `arguments`.
///
/// Fails with [`DatabaseError::Missing`] for a program that lacks a shared
/// library, and with [`DatabaseError::Program`] for one that cannot be run or
/// fails.
pub(crate) fn answer(program: &Path, arguments: &[&str]) -> Result<String> {
    let failed = |reason: String| DatabaseError::Program {
        action: "ask for the version",
        program: program.to_owned(),
        reason,
    };
    let output = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    if let Some(library) = words.lines().find_map(missing_library) {
        return Err(DatabaseError::Missing {
            what: format!("{} needs {library}, which is not there", program.display()),
            remedy: format!(
                "install the package that has it (apt-file search {library}), or name its \
                 directory in LD_LIBRARY_PATH"
            ),
        });
    }
    let last = words.trim().lines().last().unwrap_or_default();
    Err(failed(match last {
        "" => output.status.to_string(),
        last => format!("{} ({last})", output.status),
    }))
}

/// The library that the dynamic linker does not find, by its words:
/// `mysqld: error while loading shared libraries: libaio.so.1: cannot open shared object file`.
fn missing_library(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("error while loading shared libraries: ")?;
    let (library, why) = rest.split_once(": ")?;
    why.starts_with("cannot open shared object file")
        .then_some(library)
}

/// The failure of a program whose answer has no version in it.
pub(crate) fn no_version(program: &Path, answer: &str) -> DatabaseError {
    DatabaseError::Program {
        action: "ask for the version",
        program: program.to_owned(),
        reason: format!("it answers '{}'", answer.trim()),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

    use super::*;

    fn script(directory: &Path, text: &str) -> PathBuf {
        let path = directory.join("server");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_missing_library_is_named() {
        let place = tempfile::tempdir().unwrap();
        let path = script(
            place.path(),
            "echo \"$0: error while loading shared libraries: libicudata.so.78: cannot open shared \
             object file: No such file or directory\" >&2; exit 127",
        );
        let error = answer(&path, &["--version"]).unwrap_err();
        assert!(matches!(error, DatabaseError::Missing { .. }), "{error:?}");
        let error = error.to_string();
        for part in [
            "needs libicudata.so.78",
            "install the package",
            "LD_LIBRARY_PATH",
        ] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_program_that_fails_says_why() {
        let place = tempfile::tempdir().unwrap();
        let path = script(place.path(), "echo 'no such option' >&2; exit 3");
        let error = answer(&path, &[]).unwrap_err().to_string();
        assert!(error.contains("exit status: 3 (no such option)"), "{error}");
        let path = script(place.path(), "echo \"server $1\"");
        assert_eq!(answer(&path, &["--version"]).unwrap(), "server --version\n");
    }
}
