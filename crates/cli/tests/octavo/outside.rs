//! No command opens for writing, makes, renames or deletes anything outside of
//! its directory. strace(1) tells what the processes really do, those of servers
//! included.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::{Component, Path, PathBuf},
    process::{Command, Stdio},
};

/// What is outside, and why it is touched all the same. A directory ends with a
/// slash.
const ALLOWED: [(&str, &str); 8] = [
    ("/dev/null", "where output goes that nobody reads"),
    ("/dev/tty", "of a shell"),
    ("/dev/fuse", "an emulated device"),
    (
        "/dev/cpu_dma_latency",
        "keeps cores awake for an emulated device",
    ),
    (
        "/dev/shm/PostgreSQL.",
        "PostgreSQL's shared memory, which ends with it",
    ),
    ("/dev/zero", "PostgreSQL's memory"),
    ("/sys/fs/cgroup/", "the control group of a server's memory"),
    ("/proc/", "settings of a process of its own"),
];

/// Calls whose first path is changed, and those whose second one is.
const CHANGES: [&str; 14] = [
    "creat",
    "link",
    "linkat",
    "mkdir",
    "mkdirat",
    "mknod",
    "mknodat",
    "rename",
    "renameat",
    "renameat2",
    "rmdir",
    "symlinkat",
    "truncate",
    "unlink",
];

/// The lines of strace's with the two halves of each call together, where its result
/// came, because another process's came between them. A call that never ended is last.
fn whole(text: &str) -> Vec<String> {
    let mut begun = HashMap::new();
    let mut lines = Vec::new();
    for line in text.lines() {
        let process = line.split(' ').next().unwrap_or_default();
        if let Some(first) = line.strip_suffix("<unfinished ...>") {
            begun.insert(process, first);
        } else if let Some((_, resumed)) = line.split_once("<... ")
            && let Some((_, rest)) = resumed.split_once(" resumed>")
            && let Some(first) = begun.remove(process)
        {
            lines.push(format!("{first}{rest}"));
        } else {
            lines.push(line.to_owned());
        }
    }
    lines.extend(begun.into_values().map(str::to_owned));
    lines
}

/// Where each process works, by its number.
struct Places(HashMap<u32, PathBuf>, PathBuf);

impl Places {
    /// Takes a line into account that starts a process or has one go somewhere
    /// else.
    fn follow(&mut self, line: &str) {
        let Some((process, rest)) = line.split_once(' ') else {
            return;
        };
        let process: u32 = process.parse().unwrap_or_default();
        let result = rest.rsplit_once(" = ").map(|(_, result)| result);
        let place = self.of(process);
        if rest.contains("clone") || rest.contains("fork") {
            if let Some(child) = result.and_then(|child| child.parse().ok()) {
                self.0.insert(child, place);
            }
        } else if let Some((_, path)) = rest.split_once("chdir(\"")
            && result.is_none_or(|result| result.starts_with('0'))
            && let Some((path, _)) = path.split_once('"')
        {
            self.0.insert(process, plain(&place.join(path)));
        }
    }

    fn of(&self, process: u32) -> PathBuf {
        self.0.get(&process).unwrap_or(&self.1).clone()
    }
}

/// A call of a line of strace's: its name, and the paths that it names.
fn call<'l>(line: &'l str, places: &Places) -> Option<(&'l str, Vec<PathBuf>)> {
    // `PID  name(arguments) = result`, of an unfinished call without result.
    let (process, line) = line.split_once(' ')?;
    let (name, rest) = line.trim_start().split_once('(')?;
    let failed = rest
        .rsplit_once(" = ")
        .is_some_and(|(_, result)| result.starts_with('-'));
    let writes = match name {
        "open" | "openat" | "openat2" => ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"]
            .iter()
            .any(|flag| rest.contains(flag)),
        "unlinkat" | "symlink" => true,
        name => CHANGES.contains(&name),
    };
    if failed || !writes {
        return None;
    }
    // Relative paths follow the directory that -y shows as `FD</directory>`.
    let mut paths = Vec::new();
    let mut directory = places.of(process.parse().ok()?);
    let mut rest = rest;
    loop {
        let (quote, bracket) = (rest.find('"'), rest.find('<'));
        match (quote, bracket) {
            (quote, Some(at)) if quote.is_none_or(|quote| at < quote) => {
                let end = rest[at..].find('>')? + at;
                directory = PathBuf::from(&rest[at + 1..end]);
                rest = &rest[end + 1..];
            }
            (Some(at), _) => {
                let end = rest[at + 1..].find('"')? + at + 1;
                paths.push(plain(&directory.join(&rest[at + 1..end])));
                rest = &rest[end + 1..];
            }
            _ => return Some((name, paths)),
        }
    }
}

/// Without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// What a command changed outside of `home`.
fn outside(home: &Path, arguments: &[&str]) -> BTreeSet<String> {
    let log = home.join("strace.log");
    let output = Command::new("strace")
        .args([
            "-f",
            "-y",
            "-qq",
            "-s",
            "4096",
            "-e",
            "trace=%file,%process,fchdir",
            "-o",
        ])
        .arg(&log)
        .arg(env!("CARGO_BIN_EXE_octavo"))
        .args(arguments)
        .current_dir(home)
        // What the driver costs is kept there, the first time.
        .env("OCTAVO_CACHE", home.join("cache"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {complaint}");
    let text = fs::read(&log).unwrap();
    fs::remove_file(&log).unwrap();
    let home = home.canonicalize().unwrap();
    let is_allowed = |path: &Path| {
        let text = path.to_string_lossy();
        let known = |(allowed, _): &(&str, &str)| {
            *text == **allowed || (text.starts_with(allowed) && allowed.ends_with(['/', '.']))
        };
        path.starts_with(&home) || ALLOWED.iter().any(known)
    };
    let mut calls = 0;
    let mut found = BTreeSet::new();
    let mut places = Places(HashMap::new(), home.clone());
    for line in whole(&String::from_utf8_lossy(&text)) {
        places.follow(&line);
        let Some((name, paths)) = call(&line, &places) else {
            continue;
        };
        calls += 1;
        for path in paths.iter().filter(|path| !is_allowed(path)) {
            found.insert(format!("{name} {}", path.display()));
        }
    }
    assert!(calls > 0, "{arguments:?} changes nothing at all");
    found
}

/// Whether processes can be traced here; says so where not.
fn can_trace() -> bool {
    let traced = Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "true"])
        .status();
    let can = traced.is_ok_and(|status| status.success());
    if !can {
        eprintln!("skipped: strace cannot trace processes here");
    }
    can
}

#[track_caller]
fn nothing_outside(home: &Path, commands: &[&[&str]]) {
    for arguments in commands {
        assert_eq!(outside(home, arguments), BTreeSet::new(), "{arguments:?}");
    }
}

/// A directory that the servers' user may pass through.
fn home() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    home
}

#[test]
fn halves_of_calls_are_put_together() {
    let text = "12 unlink(\"/a\" <unfinished ...>\n13 mkdir(\"/b\" <unfinished ...>\n\
                13 <... mkdir resumed>, 0700) = 0\n12 <... unlink resumed>) = -1 ENOENT (No)\n\
                14 rmdir(\"/c\" <unfinished ...>\n15 +++ exited with 0 +++\n";
    let wanted = [
        "13 mkdir(\"/b\" , 0700) = 0",
        "12 unlink(\"/a\" ) = -1 ENOENT (No)",
        "15 +++ exited with 0 +++",
        "14 rmdir(\"/c\" ",
    ];
    assert_eq!(whole(text), wanted);
}

#[test]
fn what_a_process_does_outside_is_seen() {
    let path = |text: &str| PathBuf::from(text);
    let mut places = Places(HashMap::new(), path("/home"));
    places.follow("12 chdir(\"/data\") = 0");
    places.follow("12 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID) = 13");
    places.follow("13 chdir(\"below\") = 0");
    for (line, seen) in [
        (
            "12 openat(AT_FDCWD</home/me>, \"../x\", O_WRONLY|O_CREAT, 0666) = 3</home/x>",
            Some(("openat", vec![path("/home/x")])),
        ),
        (
            "12 openat(AT_FDCWD</a>, \"x\", O_RDONLY|O_CLOEXEC) = 3</a/x>",
            None,
        ),
        (
            "12 unlink(\"/a\") = -1 ENOENT (No such file or directory)",
            None,
        ),
        (
            "12 renameat2(3</a>, \"b\", 4</c>, \"d\"",
            Some(("renameat2", vec![path("/a/b"), path("/c/d")])),
        ),
        (
            "11 mkdir(\"x\", 0700) = 0",
            Some(("mkdir", vec![path("/home/x")])),
        ),
        (
            "12 mkdir(\"x\", 0700) = 0",
            Some(("mkdir", vec![path("/data/x")])),
        ),
        (
            "13 rmdir(\"x\") = 0",
            Some(("rmdir", vec![path("/data/below/x")])),
        ),
        ("12 +++ exited with 0 +++", None),
    ] {
        assert_eq!(call(line, &places), seen, "{line}");
    }
}

#[test]
fn commands_on_sqlite_change_nothing_outside_their_directory() {
    if !can_trace() {
        return;
    }
    let home = home();
    nothing_outside(
        home.path(),
        &[
            &[
                "advise",
                "work",
                "--warehouses=1",
                "--memory=1MiB",
                "--page-sizes=4K,16K",
                "--passes=4",
                "--transactions=20",
                "--warm-up=40",
                "--no-calibrate",
            ],
            &["report", "work", "--html", "page.html"],
            &["load", "bench", "--workload=pgbench", "--scale=1"],
            &[
                "bench",
                "bench",
                "--duration=3s",
                "--csv=series.csv",
                "--hdr-log=log",
            ],
            &["check", "bench"],
            &[
                "calibrate",
                ".",
                "--point=random read 4K, depth 1, range 16MiB",
                "--size=16MiB",
                "--output=profile.toml",
            ],
        ],
    );
}

/// The user's file is in a directory of its own, open in another program, with changes that
/// are only in its log.
#[test]
fn the_user_s_own_file_is_only_read() {
    if !can_trace() {
        return;
    }
    let (home, elsewhere) = (home(), tempfile::tempdir().unwrap());
    let file = elsewhere.path().join("my.db");
    let application = rusqlite::Connection::open(&file).unwrap();
    application
        .execute_batch("PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES (1)")
        .unwrap();
    fs::write(home.path().join("mix.sql"), "UPDATE t SET x = x + 1;").unwrap();
    let copy_of = format!("--copy-of={}", file.display());
    let command = [
        "advise",
        "work",
        &copy_of,
        "--script=mix.sql",
        "--memory=1MiB",
        "--page-sizes=4K,16K",
        "--passes=4",
        "--transactions=20",
        "--warm-up=40",
        "--no-calibrate",
    ];
    nothing_outside(home.path(), &[&command]);
}

#[test]
fn servers_change_nothing_outside_their_directory() {
    if !can_trace() {
        return;
    }
    for options in [
        &["--database=postgres", "--bin=8K=installed"][..],
        &["--database=mariadb"],
    ] {
        let home = home();
        let mut bench = vec![
            "bench",
            "bench",
            "--workload=pgbench",
            "--scale=1",
            "--duration=3s",
        ];
        bench.extend(options);
        nothing_outside(home.path(), &[&bench]);
    }
}
