//! Gives the program the name of its commit, where git knows it.

use std::{path::Path, process::Command};

fn main() {
    let answer = Command::new("git")
        .args([
            "describe",
            "--always",
            "--dirty",
            "--abbrev=12",
            "--exclude=*",
        ])
        .output();
    let commit = answer.ok().filter(|answer| answer.status.success());
    let commit = commit.and_then(|answer| String::from_utf8(answer.stdout).ok());
    let commit = commit.map_or_else(|| "unknown".to_owned(), |name| name.trim().to_owned());
    println!("cargo::rustc-env=OCTAVO_COMMIT={commit}");
    // It grows with each commit.
    let log = "../../.git/logs/HEAD";
    if Path::new(log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
