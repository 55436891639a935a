//! `octavo fleet script`: what is printed is short, a shell reads it, and it starts what it should.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;

use crate::{complaint, octavo};

const PLAN: &str = "format = 1\nname = \"x\"\n[experiment]\nbudget = \"1h\"\ncompare = \"page-size\"\n\
                    [workload]\nname = \"ycsb-a\"\nrecords = 1000\n[cells]\npage-size = [\"4K\", \"8K\"]\n\
                    memory = \"1MiB\"\nclients = 1\n";

/// A directory whose name a shell reads otherwise, with a plan and hosts in it.
struct Place {
    home: TempDir,
    directory: PathBuf,
}

impl Place {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("it's $(touch here) \"&\"; # x");
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("a plan.toml"), PLAN).unwrap();
        fs::write(directory.join("hosts"), "n1\nn2\nroot@n3\n").unwrap();
        Self { home, directory }
    }

    fn script(&self, options: &[&str]) -> Output {
        let path = self.directory.join("a plan.toml");
        let before = fs::read_to_string(&path).unwrap();
        // Only devices are predicted.
        if options.contains(&"--shards") {
            let device = "[cells]\nstorage = \"device:nvme-tlc\"\n";
            fs::write(&path, before.replace("[cells]\n", device)).unwrap();
        }
        let output = self.script_as_it_is(options);
        fs::write(&path, before).unwrap();
        output
    }

    fn script_as_it_is(&self, options: &[&str]) -> Output {
        let mut command = octavo();
        command.current_dir(&self.directory);
        command
            .args(["fleet", "script", "a plan.toml"])
            .args(options);
        command.output().unwrap()
    }

    /// What is printed, in a file.
    fn printed(&self, options: &[&str]) -> (String, PathBuf) {
        let output = self.script(options);
        assert!(output.status.success(), "{}", complaint(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        let path = self.home.path().join("script");
        fs::write(&path, &text).unwrap();
        (text, path)
    }

    /// The words that a program is given, once for each time that a script starts it.
    fn words_given(&self, script: &Path, program: &str, body: &str) -> Vec<String> {
        let programs = self.home.path().join("programs");
        fs::create_dir_all(&programs).unwrap();
        let path = programs.join(program);
        fs::write(&path, format!("#!/bin/bash\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let search = std::env::var("PATH").unwrap();
        let output = Command::new("bash")
            .arg(script)
            .current_dir(self.home.path())
            .env("PATH", format!("{}:{search}", programs.display()))
            .env("SLURMD_NODENAME", "node 1")
            .env("PARALLEL_SSHHOST", "node 1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", complaint(&output));
        assert!(
            !self.home.path().join("here").exists(),
            "the name of a directory was run"
        );
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn path(&self, name: &str) -> String {
        self.directory.join(name).to_str().unwrap().to_owned()
    }
}

const WORDS: &str = "printf '%s\\n' \"$@\"";

#[test]
fn scripts_are_short_and_read_by_a_shell() {
    let place = Place::new();
    for parts in [&["--sittings", "12"][..], &["--shards", "100"], &[]] {
        for scheduler in ["slurm", "parallel", "hyperqueue", "kubernetes"] {
            let mut options = vec!["--for", scheduler];
            options.extend(parts);
            if scheduler != "slurm" {
                options.extend(["--hosts", "hosts"]);
            }
            let (text, path) = place.printed(&options);
            assert!(text.lines().count() < 30, "{text}");
            if scheduler != "kubernetes" {
                let read = Command::new("bash").arg("-n").arg(&path).output().unwrap();
                assert!(read.status.success(), "{}:\n{text}", complaint(&read));
            }
            // Two sittings on each of three hosts, where nobody says how many.
            let count = parts
                .get(1)
                .unwrap_or(if scheduler == "slurm" { &"12" } else { &"6" });
            assert!(text.contains(&format!("{count} s")), "{text}");
        }
    }
    let mut left: Vec<_> = fs::read_dir(&place.directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["a plan.toml", "hosts"], "nothing is changed");
}

#[test]
fn a_batch_script_becomes_the_sitting() {
    let place = Place::new();
    let (text, path) = place.printed(&["--for", "slurm", "--into", "my results"]);
    // Twice an hour, in minutes.
    assert!(text.contains("\n#SBATCH --time=120\n"), "{text}");
    let (plan, into) = (place.path("a plan.toml"), place.path("my results"));
    assert_eq!(
        place.words_given(&path, "octavo", WORDS),
        [
            "run",
            &plan,
            "--sitting",
            "auto",
            "--into",
            &into,
            "--host",
            "node 1"
        ]
    );
}

#[test]
fn parallel_is_given_one_command() {
    let place = Place::new();
    let (_, path) = place.printed(&[
        "--for",
        "parallel",
        "--hosts",
        "hosts",
        "--into",
        "my results",
    ]);
    // It gives its last word to a shell on the host, where the directory is not known.
    let run =
        "for last; do :; done; octavo() { printf '%s\\n' \"$@\"; }; timeout() { shift 3; \"$@\"; }
               export -f octavo timeout; bash -c \"${last//\\{\\}/7}\"";
    assert_eq!(
        place.words_given(&path, "parallel", run),
        [
            "run",
            "a plan.toml",
            "--sitting",
            "7/6",
            "--into",
            "part-7",
            "--host",
            "node 1"
        ]
    );
    let words = place.words_given(&path, "parallel", WORDS);
    let has = |pair: [&str; 2]| words.windows(2).any(|words| words == pair);
    assert!(has(["--workdir", &place.path("my results")]), "{words:?}");
    assert!(
        has(["--basefile", &place.path("./a plan.toml")]),
        "{words:?}"
    );
    assert!(has(["--sshloginfile", &place.path("hosts")]), "{words:?}");
    assert!(has(["--jobs", "1"]), "{words:?}");
}

#[test]
fn hyperqueue_is_given_words() {
    let place = Place::new();
    let (_, path) = place.printed(&["--for", "hyperqueue", "--into", "my results"]);
    let words = place.words_given(&path, "hq", WORDS);
    let (own, command) = words.split_at(words.iter().position(|word| word == "--").unwrap());
    assert!(
        own.contains(&"--cpus=all".into()) && own.contains(&"--array=0-11".into()),
        "{own:?}"
    );
    let (plan, into) = (place.path("a plan.toml"), place.path("my results"));
    let expected = [
        "--",
        "env",
        "OCTAVO_PARTS=12",
        "timeout",
        "--foreground",
        "--kill-after=120",
        "7080",
        "octavo",
        "run",
        &plan,
        "--sitting",
        "auto",
        "--into",
        &into,
    ];
    assert_eq!(command, expected);
}

#[test]
fn a_bad_plan_and_bad_hosts_are_refused() {
    let place = Place::new();
    for (options, why) in [
        (
            &["--for", "parallel"][..],
            "--for parallel needs --hosts FILE",
        ),
        (
            &["--for", "slurm", "--hosts", "hosts"],
            "is not for slurm, which knows its hosts",
        ),
        (&["--for", "kubernetes", "--hosts", "none"], "none"),
        (
            &["--for", "slurm", "--shards", "2", "--sittings", "2"],
            "exclude each other",
        ),
        (&["--for", "slurm", "--sittings", "0"], "--sittings"),
    ] {
        let output = place.script(options);
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        assert!(complaint(&output).contains(why), "{}", complaint(&output));
    }
    // What octavo predict would refuse on each node is refused here.
    let output = place.script_as_it_is(&["--for", "slurm", "--shards", "2"]);
    assert_eq!(output.status.code(), Some(2));
    let said = complaint(&output);
    assert!(said.contains("[\"device:NAME\"]"), "{said}");
    fs::write(
        place.directory.join("a plan.toml"),
        PLAN.replace("\"8K\"", "5000"),
    )
    .unwrap();
    let output = place.script(&["--for", "slurm"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        complaint(&output).contains("a plan.toml:10:"),
        "{}",
        complaint(&output)
    );
}
