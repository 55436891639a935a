//! Advice on a copy of the user's own database: the file stays as it is, the answer is of its
//! own page size, and what cannot be used is told before anything is made.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use rusqlite::Connection;

use crate::{complaint, octavo};

/// What stands in rows and statements, and must be nowhere else.
pub(crate) const PRIVATE: &str = "mettwurst";

/// A file of an application, with pages of 8 KiB.
pub(crate) fn application(path: &Path, journal_mode: &str) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(&format!(
            "PRAGMA page_size=8192; PRAGMA journal_mode={journal_mode}; PRAGMA user_version=77; PRAGMA application_id=0x47504b47;
             CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT NOT NULL, visits INTEGER, seen REAL);
             CREATE INDEX by_name ON customer(name);
             CREATE TABLE note(customer INTEGER, text TEXT);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
             INSERT INTO customer SELECT i, '{PRIVATE} ' || i, 0, 1.5 FROM n;
             ANALYZE;"
        ))
        .unwrap();
    connection
}

const SCRIPT: &str = "\\set id random_zipfian(1, 20000, 1.3)
\\set seen random(1, 100) / 7.0
SELECT name, visits AS before FROM customer WHERE id = :id \\gset
BEGIN;
UPDATE customer SET visits = visits + 1, seen = :seen WHERE id = :id;
INSERT INTO note VALUES (:id, 'mettwurst of :name: ' || :before);
END;
";

/// A scratch directory with a file of an application and a script.
pub(crate) struct Home {
    pub(crate) directory: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = Self { directory };
        fs::create_dir(home.path("app")).unwrap();
        fs::write(home.path("mix.sql"), SCRIPT).unwrap();
        home
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn advise(&self, arguments: &[&str]) -> Command {
        let mut command = octavo();
        command
            .current_dir(self.directory.path())
            .args(["advise", "work"])
            .args(arguments);
        command
    }

    /// A small advise on the application's file.
    fn small(&self) -> Command {
        self.advise(&[
            "--copy-of=app/my.db",
            "--script=mix.sql@2",
            "--page-sizes=4K",
            "--memory=1MiB",
            "--passes=8",
            "--transactions=40",
            "--warm-up=100",
            "--no-calibrate",
        ])
    }

    /// The names and contents of the application's files.
    pub(crate) fn files(&self) -> Vec<(String, Vec<u8>)> {
        let entries = fs::read_dir(self.path("app")).unwrap();
        let mut files: Vec<(String, Vec<u8>)> = entries
            .map(|entry| {
                let entry = entry.unwrap();
                let name = entry.file_name().into_string().unwrap();
                (name, fs::read(entry.path()).unwrap())
            })
            .collect();
        files.sort();
        files
    }
}

pub(crate) fn contains(haystack: &[u8], needle: &str) -> bool {
    haystack
        .windows(needle.len())
        .any(|part| part == needle.as_bytes())
}

#[test]
fn a_copy_is_measured_beside_its_present_page_size() {
    let home = Home::new();
    drop(application(&home.path("app/my.db"), "delete"));
    let before = home.files();
    let output = home.small().arg("--json").output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(
        home.files(),
        before,
        "nothing of it changed, and nothing is beside it"
    );
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells = findings["groups"][0]["cells"].as_array().unwrap();
    let page_sizes: Vec<u64> = cells
        .iter()
        .map(|cell| cell["cell"]["page_size"].as_u64().unwrap())
        .collect();
    assert_eq!(page_sizes, [4096, 8192]);
    assert_eq!(
        findings["plan"]["reference"]["page_size"], 8192,
        "the user's"
    );
    let own = &findings["plan"]["own"];
    assert_eq!(own["copy"]["name"], "my.db");
    assert_eq!(own["scripts"][0]["name"], "mix.sql");
    assert_eq!(own["scripts"][0]["weight"], 2);
    let limits = own["limits"].as_array().unwrap();
    assert_eq!(limits.len(), 1);
    let what = limits[0]["what"].as_str().unwrap();
    assert!(what.starts_with("The file is a GeoPackage"), "{what}");
    for cell in cells {
        assert!(cell["per_transaction"]["transactions"].as_u64().unwrap() >= 8 * 40);
    }
    let rows: Vec<u64> = findings["snapshots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|snapshot| snapshot["rows"].as_u64().unwrap())
        .collect();
    assert_eq!(rows, [20_000, 20_000]);

    let mut left: Vec<String> = fs::read_dir(home.path("work"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["OCTAVO", "octavo.db", "report.html"]);
    for name in left {
        let bytes = fs::read(home.path("work").join(&name)).unwrap();
        assert!(
            !contains(&bytes, PRIVATE),
            "{name} has a value of a row or statement"
        );
        assert!(
            !contains(&bytes, "UPDATE customer"),
            "{name} has a statement"
        );
    }

    // The store alone is enough to report, without the scripts and the file.
    fs::remove_file(home.path("mix.sql")).unwrap();
    let report = octavo()
        .arg("report")
        .arg(home.path("work"))
        .output()
        .unwrap();
    assert!(report.status.success(), "{}", complaint(&report));
    let text = String::from_utf8(report.stdout).unwrap();
    assert!(text.contains("mix.sql on a copy of my.db"), "{text}");
    assert!(text.contains("present"), "{text}");
    assert!(!text.contains("default"), "{text}");
}

#[test]
fn the_same_command_answers_again_and_another_file_does_not() {
    let home = Home::new();
    let application = application(&home.path("app/my.db"), "delete");
    let output = home.small().output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let store = fs::read(home.path("work/octavo.db")).unwrap();
    let output = home.small().output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(
        fs::read(home.path("work/octavo.db")).unwrap().len(),
        store.len()
    );
    // Another state of the file, or another script, is another experiment.
    application
        .execute_batch("DELETE FROM note; INSERT INTO note VALUES (1, 'x')")
        .unwrap();
    let output = home.small().output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", complaint(&output));
    let said = complaint(&output);
    assert!(
        said.contains("was made with my.db, which has changed since: name another"),
        "{said}"
    );
    fs::remove_dir_all(home.path("work")).unwrap();
    let output = home.small().output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    fs::write(home.path("mix.sql"), "SELECT 1").unwrap();
    let output = home.small().output().unwrap();
    let said = complaint(&output);
    assert!(
        said.contains("was made with mix.sql (or a -D), which has changed"),
        "{said}"
    );
}

#[test]
fn a_script_that_failed_is_mended_and_measured_in_the_same_directory() {
    let home = Home::new();
    let _application = application(&home.path("app/my.db"), "delete");
    fs::write(
        home.path("mix.sql"),
        "INSERT INTO customer SELECT * FROM customer",
    )
    .unwrap();
    let output = home.small().output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", complaint(&output));
    assert!(home.path("work/octavo.db").exists());
    fs::write(home.path("mix.sql"), "SELECT count(*) FROM note").unwrap();
    let output = home.small().output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    fs::write(home.path("mix.sql"), "SELECT 1").unwrap();
    let output = home.small().output().unwrap();
    assert!(
        complaint(&output).contains("has changed since"),
        "it has results now"
    );
}

#[test]
fn changes_that_are_only_in_the_log_are_copied_and_the_log_stays() {
    let home = Home::new();
    let application = application(&home.path("app/my.db"), "wal");
    // What the script reads is only there.
    application
        .execute_batch(
            "PRAGMA wal_autocheckpoint=0; CREATE TABLE late(x); INSERT INTO late VALUES (3)",
        )
        .unwrap();
    fs::write(
        home.path("mix.sql"),
        "SELECT x FROM late \\gset\nUPDATE late SET x = :x + 1;",
    )
    .unwrap();
    let content = |home: &Home| -> Vec<_> {
        let files = home.files().into_iter();
        files.filter(|(name, _)| !name.ends_with("-shm")).collect()
    };
    let before = content(&home);
    assert_eq!(before.len(), 2, "the file and its log");
    let output = home.small().arg("--keep-data").output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let copies = fs::metadata(home.path("work/data")).unwrap();
    assert_eq!(
        copies.permissions().mode() & 0o777,
        0o700,
        "nobody else may read copies"
    );
    assert_eq!(content(&home), before);
    let x: i64 = application
        .query_row("SELECT x FROM late", [], |row| row.get(0))
        .unwrap();
    assert_eq!(x, 3);

    // Closed, it has no log: none is made beside it.
    drop(application);
    fs::remove_dir_all(home.path("work")).unwrap();
    let before = home.files();
    assert_eq!(before.len(), 1);
    let output = home.small().output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(home.files(), before);
}

#[test]
fn without_a_script_statements_are_guessed() {
    let home = Home::new();
    drop(application(&home.path("app/my.db"), "delete"));
    let before = home.files();
    let guess = home
        .advise(&["--copy-of=app/my.db", "--show-script"])
        .output()
        .unwrap();
    assert!(guess.status.success(), "{}", complaint(&guess));
    assert!(!home.path("work").exists(), "nothing was measured");
    let script = String::from_utf8(guess.stdout).unwrap();
    assert!(
        script.contains("SELECT * FROM \"customer\" WHERE \"id\" >= :key"),
        "{script}"
    );
    let measured = |arguments: &[&str]| {
        let small = home.small();
        let small = small
            .get_args()
            .skip(2)
            .filter(|word| !word.to_str().unwrap().contains("script"));
        let mut command = home.advise(&[]);
        let output = command.args(small).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", complaint(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = measured(&[]);
    assert!(
        text.contains("guessed statements on a copy of my.db"),
        "{text}"
    );
    assert!(
        text.contains("are a guess from the schema of my.db"),
        "{text}"
    );
    assert!(text.contains("CONFIDENCE LOW"), "{text}");
    // Given as a file it is no guess.
    fs::remove_dir_all(home.path("work")).unwrap();
    fs::write(home.path("guess.sql"), script).unwrap();
    let text = measured(&["--script=guess.sql"]);
    assert!(!text.contains("are a guess"), "{text}");
    assert_eq!(home.files(), before);
}

/// Runs advise, which has to refuse with exit code 2 and these words, and make nothing.
#[track_caller]
fn refused(home: &Home, arguments: &[&str], words: &[&str]) {
    let files = home.files();
    let output = home.advise(arguments).output().unwrap();
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{word} in: {said}");
    }
    assert!(
        !home.path("work").exists(),
        "{arguments:?} made its directory"
    );
    assert_eq!(home.files(), files, "{arguments:?} changed a file");
}

#[test]
fn a_statement_that_never_ends_is_given_up() {
    let home = Home::new();
    drop(application(&home.path("app/my.db"), "delete"));
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                   SELECT count(*) FROM n;";
    fs::write(home.path("mix.sql"), endless).unwrap();
    let arguments = ["--copy-of=app/my.db", "--script=mix.sql", "--no-calibrate"];
    let cells = ["--page-sizes=4K", "--memory=1MiB", "--budget=9s"];
    let output = home.advise(&arguments).args(cells).output().unwrap();
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let last = said.lines().last().unwrap();
    let words = "the budget of 9 s was used up before anything could be measured: repeat";
    assert!(last.contains(words), "{said}");
    assert!(!home.path("work/data").exists());
}

#[test]
fn a_row_that_is_refused_has_a_reason_without_its_values() {
    let home = Home::new();
    drop(application(&home.path("app/my.db"), "delete"));
    let again = format!("INSERT INTO customer VALUES (1, '{PRIVATE}', 0, 0);");
    fs::write(home.path("mix.sql"), again).unwrap();
    let output = home.small().output().unwrap();
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    // Of the first page size, and for the end.
    let why = "there is a row with this key already: a script's statements have to work";
    assert_eq!(said.matches(why).count(), 2, "{said}");
    assert!(
        said.contains("gave no figures for the same reason"),
        "{said}"
    );
    assert!(
        !said.contains(PRIVATE) && !said.contains("Error code"),
        "{said}"
    );
}

#[test]
fn clients_share_a_connection_and_its_last_row() {
    let home = Home::new();
    drop(application(&home.path("app/my.db"), "delete"));
    let script = "INSERT INTO note VALUES (1, 'x');\nSELECT last_insert_rowid() AS id \\gset\n";
    fs::write(home.path("mix.sql"), script).unwrap();
    let arguments = ["--copy-of=app/my.db", "--script=mix.sql", "--clients=2"];
    refused(
        &home,
        &arguments,
        &["last_insert_rowid()", "put BEGIN and END"],
    );
    fs::write(home.path("mix.sql"), format!("BEGIN;\n{script}END;")).unwrap();
    let output = home
        .small()
        .args(["--clients=2", "--memory=4MiB"])
        .output()
        .unwrap();
    assert!(
        !complaint(&output).contains("BEGIN"),
        "{}",
        complaint(&output)
    );
}

#[test]
fn a_link_leads_to_the_file_with_its_log() {
    let home = Home::new();
    let application = application(&home.path("app/my.db"), "wal");
    application
        .execute_batch(
            "PRAGMA wal_autocheckpoint=0; CREATE TABLE late(x); INSERT INTO late VALUES (3)",
        )
        .unwrap();
    std::os::unix::fs::symlink(home.path("app/my.db"), home.path("link.db")).unwrap();
    fs::write(
        home.path("mix.sql"),
        "SELECT x FROM late \\gset\nUPDATE late SET x = :x",
    )
    .unwrap();
    let small = home.small();
    let others = small.get_args().skip(3);
    let output = home
        .advise(&["--copy-of=link.db"])
        .args(others)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
}

#[test]
fn what_stands_beside_a_file_is_looked_at_first() {
    let home = Home::new();
    // A log that the header does not know, and a journal beside a log.
    for (name, mode, end, content, said) in [
        (
            "log.db",
            "delete",
            "-wal",
            &b"junk"[..],
            "log.db-wal is a log, and the header says",
        ),
        (
            "hot.db",
            "wal",
            "-journal",
            b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7",
            "hot.db-journal has a transaction that has to be rolled back first",
        ),
    ] {
        drop(application(&home.path(&format!("app/{name}")), mode));
        fs::write(home.path(&format!("app/{name}{end}")), content).unwrap();
        let of = format!("--copy-of=app/{name}");
        refused(&home, &[&of, "--script=mix.sql"], &[said]);
    }
    // A pipe, which nobody writes into.
    drop(application(&home.path("app/pipe.db"), "delete"));
    let pipe = home.path("app/pipe.db-journal");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let arguments = ["--copy-of=app/pipe.db", "--script=mix.sql"];
    let output = home.advise(&arguments).output().unwrap();
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("pipe.db-journal is no file: move it away"),
        "{said}"
    );
}

#[test]
fn files_that_cannot_be_copied_are_told_in_one_line() {
    let home = Home::new();
    let application = application(&home.path("app/my.db"), "delete");
    let of = |name: &str| format!("--copy-of=app/{name}");
    fs::write(home.path("app/text.db"), "x".repeat(5000)).unwrap();
    fs::write(home.path("app/empty.db"), "").unwrap();
    fs::write(home.path("app/short.db"), "SQLite format 3\0").unwrap();
    let mut damaged = fs::read(home.path("app/my.db")).unwrap();
    damaged[8192..40_000].fill(0xff);
    damaged[100..200].fill(0xff);
    fs::write(home.path("app/damaged.db"), &damaged).unwrap();
    for (name, words) in [
        ("none.db", &["open app/none.db", "No such file"][..]),
        ("", &["app/ is no file"]),
        (
            "text.db",
            &["app/text.db is no SQLite database, or is encrypted"],
        ),
        ("empty.db", &["app/empty.db is empty"]),
        ("short.db", &["app/short.db is no SQLite database"]),
        ("damaged.db", &["app/damaged.db is damaged"]),
    ] {
        refused(&home, &[&of(name), "--script=mix.sql"], words);
    }

    // A page is missing, or a part of one.
    let whole = fs::read(home.path("app/my.db")).unwrap();
    for (missing, words) in [
        (
            8192,
            "app/cut.db is damaged (database disk image is malformed): restore",
        ),
        (100, "app/cut.db is damaged (it ends after "),
    ] {
        fs::write(home.path("app/cut.db"), &whole[..whole.len() - missing]).unwrap();
        refused(&home, &[&of("cut.db"), "--script=mix.sql"], &[words]);
    }
    // A page stands where another one was: it can be read, and is not the right one.
    let is_found = |page: &usize| {
        let mut mixed = whole.clone();
        mixed.copy_within(page * 8192..(page + 1) * 8192, (page + 1) * 8192);
        fs::write(home.path("app/mixed.db"), &mixed).unwrap();
        let mixed = Connection::open(home.path("app/mixed.db")).unwrap();
        let query = |sql: &str| mixed.query_row(sql, [], |row| row.get::<_, String>(0));
        let check = query("PRAGMA quick_check(1)");
        check.is_ok_and(|said| said != "ok")
            && query("SELECT sum(visits) || '' FROM customer").is_ok()
    };
    assert!((2..whole.len() / 8192 - 1).any(|page| is_found(&page)));
    let output = home
        .advise(&[&of("mixed.db"), "--script=mix.sql"])
        .output()
        .unwrap();
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("app/mixed.db is damaged ("), "{said}");
    assert!(!said.contains("condition"), "{said}");
    fs::remove_dir_all(home.path("work")).unwrap();

    // Damage that only those who read its rows find has the same sentence.
    let mut worn = fs::read(home.path("app/my.db")).unwrap();
    let rows = worn.len() / 2;
    worn[rows..].fill(0xff);
    fs::write(home.path("app/worn.db"), &worn).unwrap();
    let output = home
        .advise(&[&of("worn.db"), "--script=mix.sql"])
        .output()
        .unwrap();
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let last = said.lines().last().unwrap();
    assert!(
        last.contains("app/worn.db is damaged (database disk image is malformed): restore it"),
        "{said}"
    );
    assert!(!last.contains("Error code"), "{said}");
    fs::remove_dir_all(home.path("work")).unwrap();

    fs::write(home.path("draws.sql"), "\\set id random(1, 10)\n").unwrap();
    refused(
        &home,
        &[
            "--copy-of=app/my.db",
            "--script=draws.sql",
            "--script=mix.sql@0",
        ],
        &["there is no SQL statement in draws.sql, so there is nothing to measure"],
    );
    refused(
        &home,
        &["--copy-of=app/my.db", "--script=mix.sql@-1"],
        &[
            "cannot read mix.sql@-1",
            "as a weight if it is a whole number up to 10000",
        ],
    );

    let other = Connection::open(home.path("app/other.db")).unwrap();
    other.execute_batch("PRAGMA user_version=1").unwrap();
    refused(
        &home,
        &[&of("other.db"), "--script=mix.sql"],
        &["has no table"],
    );
    // A collation of a program's own, as the schema has it.
    other
        .execute_batch(
            "CREATE TABLE a(b TEXT); CREATE INDEX c ON a(b COLLATE NOCASE);
             PRAGMA writable_schema=ON;
             UPDATE sqlite_schema SET sql = replace(sql, 'NOCASE', 'HUMAN')",
        )
        .unwrap();
    refused(
        &home,
        &[&of("other.db"), "--script=mix.sql"],
        &["the index c", "no such collation sequence: HUMAN"],
    );

    // Whoever reads a file that the same process has open loses the locks, so its content is
    // not compared here.
    application.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let copy_of = of("my.db");
    let output = home
        .advise(&[&copy_of, "--script=mix.sql"])
        .output()
        .unwrap();
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("app/my.db is locked by another program"),
        "{said}"
    );
    application.execute_batch("ROLLBACK").unwrap();

    // A program was killed, and somebody took the file and its log elsewhere.
    let logged = self::application(&home.path("app/logged.db"), "wal");
    fs::copy(home.path("app/logged.db"), home.path("app/taken.db")).unwrap();
    fs::copy(
        home.path("app/logged.db-wal"),
        home.path("app/taken.db-wal"),
    )
    .unwrap();
    refused(
        &home,
        &[&of("taken.db"), "--script=mix.sql"],
        &["app/taken.db is used by a program", "taken.db-wal"],
    );
    drop(logged);
}

#[test]
fn scripts_that_cannot_run_are_told_with_their_place() {
    let home = Home::new();
    drop(application(&home.path("app/my.db"), "delete"));
    for (script, words) in [
        (
            "SELECT 1;\n\\set x 1 +",
            &["mix.sql:2:11", "a value is expected here"][..],
        ),
        (
            "SELECT *\n  FROM nobody;",
            &["mix.sql:2:8", "no such table: nobody"],
        ),
        (
            "SELECT nowhere FROM customer",
            &["mix.sql:1:8", "no such column: nowhere"],
        ),
        ("SELEC 1", &["mix.sql:1:1", "syntax error"]),
        ("SELECT :who", &["mix.sql:1:8", "who is not set", "-D who="]),
        (
            "ATTACH 'x' AS y",
            &["mix.sql:1:1", "ATTACH is not supported"],
        ),
        (
            "EXPLAIN PRAGMA synchronous=OFF",
            &["PRAGMA synchronous is not supported"],
        ),
        ("SAVEPOINT s; SELECT 1", &["SAVEPOINT is not supported"]),
        (
            "SELECT 1;\nSELECT ?",
            &["mix.sql:2:1", "none of the script's variables"],
        ),
        ("UPDATE note SET text='' \\gset", &["no rows for \\gset"]),
        ("", &["this script does nothing"]),
        (
            "BEGIN;\nSELECT 1",
            &["mix.sql:1:1", "ends within this transaction"],
        ),
        (
            "\\if 1\nSELECT 1;",
            &["mix.sql:1:1", "this \\if has no \\endif"],
        ),
    ] {
        fs::write(home.path("mix.sql"), script).unwrap();
        refused(&home, &["--copy-of=app/my.db", "--script=mix.sql"], words);
    }
    fs::write(home.path("mix.sql"), b"SELECT '\xff'").unwrap();
    refused(
        &home,
        &["--copy-of=app/my.db", "--script=mix.sql"],
        &["mix.sql", "UTF-8"],
    );
    fs::write(home.path("mix.sql"), "SELECT :who").unwrap();
    for (arguments, words) in [
        (&["--script=mix.sql"][..], &["--copy-of"][..]),
        (&["--show-script"], &["--copy-of"]),
        (&["--copy-of=app/my.db", "--script=none.sql"], &["none.sql"]),
        (&["--copy-of=app/my.db", "--script=mix.sql@0"], &["weights"]),
        (
            &["--copy-of=app/my.db", "--script=mix.sql", "-D=who"],
            &["name=value"],
        ),
        (
            &["--copy-of=app/my.db", "--script=mix.sql", "--workload=tpcc"],
            &["--workload"],
        ),
        (
            &["--copy-of=app/my.db", "--script=mix.sql", "--warehouses=1"],
            &["--warehouses is of Octavo's own rows"],
        ),
        (
            &[
                "--copy-of=app/my.db",
                "--script=mix.sql",
                "--database=postgres",
            ],
            &["--copy-of names a database of SQLite"],
        ),
    ] {
        refused(&home, arguments, words);
    }
}

#[test]
fn a_statement_that_fails_later_is_told_with_its_script() {
    let home = Home::new();
    drop(application(&home.path("app/my.db"), "delete"));
    for (script, words) in [
        (
            "SELECT 0 AS none \\gset\n\\set x 1 / :none\nSELECT :x",
            "division by zero",
        ),
        (
            "SELECT id FROM customer WHERE id = :zero \\gset",
            "\\gset wants one row, and there were 0",
        ),
        (
            "SELECT 1;\nINSERT INTO customer(id, name) VALUES (1, 'mettwurst')",
            "mix.sql, line 2: run a statement",
        ),
        (
            "SELECT json_extract('{}', name) FROM customer WHERE id = 1",
            "mix.sql, line 1: run a statement",
        ),
        (
            "SELECT x'ff' AS x \\gset",
            "is a BLOB or no UTF-8 text: take hex() of it",
        ),
    ] {
        fs::write(home.path("mix.sql"), script).unwrap();
        let definitions = ["-D", "zero=0", "-D", "what=mettwurst"];
        let output = home.small().args(definitions).output().unwrap();
        assert!(!output.status.success(), "{script}");
        let store = fs::read(home.path("work/octavo.db")).unwrap();
        assert!(!contains(&output.stderr, PRIVATE), "{}", complaint(&output));
        assert!(!contains(&store, PRIVATE), "{script}");
        assert!(!home.path("work/data").exists(), "no copy stays");
        let said = complaint(&output);
        assert!(said.contains(words), "{words} in: {said}");
        let _none = fs::remove_dir_all(home.path("work"));
    }
}

#[test]
fn what_a_script_makes_again_or_changes_through_a_view_is_measured_privately() {
    let home = Home::new();
    let connection = application(&home.path("app/my.db"), "wal");
    connection
        .execute_batch(
            "CREATE VIEW seen AS SELECT id, visits FROM customer;
             CREATE TRIGGER see INSTEAD OF UPDATE ON seen BEGIN
               UPDATE customer SET visits = new.visits WHERE id = old.id;
             END;",
        )
        .unwrap();
    drop(connection);
    let script = format!(
        "\\set id random(1, 20000)
UPDATE seen SET visits = visits + 1 WHERE id = :id;
DROP TABLE IF EXISTS made;
CREATE TABLE made AS SELECT '{PRIVATE}' AS text, 1 AS one;
"
    );
    fs::write(home.path("mix.sql"), script).unwrap();
    // Each copy is checked at last, when there is such a table already.
    let output = home.small().output().unwrap();
    let [said, answer] = [&output.stderr, &output.stdout].map(|of| String::from_utf8_lossy(of));
    assert!(output.status.success(), "{said}");
    assert!(
        !said.contains(PRIVATE) && !answer.contains("changed no row"),
        "{said}{answer}"
    );
    let kept = fs::read(home.path("work/octavo.db")).unwrap();
    assert!(!contains(&kept, PRIVATE));
}

#[test]
fn traced_statements_run_on_a_copy() {
    let home = Home::new();
    drop(application(&home.path("app/my.db"), "wal"));
    // Two connections, one with times, as the shell writes them.
    let mut traces = [String::new(), String::new()];
    for (connection, trace) in traces.iter_mut().enumerate() {
        let time = ["", " -- 20000 ns"][connection];
        trace.push_str("PRAGMA journal_mode=wal;\n");
        // One has three times as much as the other.
        for transaction in 1..=30 * (1 + 2 * connection) {
            let id = transaction * 100 + connection;
            *trace += &format!(
                "BEGIN;\nSELECT name FROM customer WHERE id={id};{time}\n\
                 UPDATE customer SET visits = visits + 1, seen = {id}.5 WHERE id = {id};{time}\n\
                 INSERT INTO note VALUES({id}, 'mettwurst\n''{id}''');{time}\nCOMMIT;\n\
                 SELECT count(*) FROM note WHERE text = x'{id:04}';{time}\n"
            );
        }
        // One that fails on the copy: its row is there.
        *trace += "INSERT INTO customer(id, name) VALUES(1, 'x');\nSELECT nosuch FROM customer;\n";
        fs::write(home.path(&format!("{connection}.trace")), &*trace).unwrap();
    }
    let before = home.files();
    let output = home
        .advise(&[
            "--copy-of=app/my.db",
            "--recording=0.trace",
            "--recording=1.trace",
            "--clients=2",
            "--page-sizes=4K",
            "--memory=4MiB",
            "--passes=8",
            "--transactions=60",
            "--warm-up=40",
            "--no-calibrate",
            "--json",
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(home.files(), before);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let recording = &found["plan"]["own"]["recording"];
    assert_eq!(
        recording["files"],
        serde_json::json!(["0.trace", "1.trace"])
    );
    assert_eq!(recording["sessions"], 2);
    assert_eq!(recording["transactions"], 120 * 2 + 2);
    assert_eq!(recording["statements"], 120 * 4 + 2);
    assert_eq!(recording["recorded"], 120 * 4 + 6);
    assert_eq!(
        recording["left"],
        serde_json::json!([
            {"reason": "PRAGMA", "statements": 2},
            {"reason": "that the copy refuses", "statements": 2},
        ])
    );
    assert_eq!(found["plan"]["clients"], serde_json::json!([2]));
    let caveats = found["caveats"].as_array().unwrap();
    let caveat = |name: &str| caveats.iter().find(|caveat| caveat["caveat"] == name);
    let failed = caveat("recorded_failed").unwrap();
    assert_eq!(failed["most"], "0.trace, line 212", "{failed}");
    // At least 40 + 8 * 60 transactions of both clients, of 242 that they have. Each has its share.
    let again = caveat("recorded_again").unwrap();
    assert!(again["rounds"].as_f64().unwrap() > 2.0, "{again}");
    let rounds = &found["audit"]["rounds"];
    let [least, most] = ["least", "most"].map(|end| rounds[end].as_f64().unwrap());
    assert!(most - least < 0.05, "{rounds}");
    for entry in fs::read_dir(home.path("work")).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        assert!(!contains(&bytes, PRIVATE) && !contains(&bytes, "UPDATE customer"));
    }
    // Read again without the recording.
    fs::remove_file(home.path("0.trace")).unwrap();
    // A busy machine has warnings of its own, which may come before those of the recording.
    let mut report = octavo();
    report.args(["report", "--verbose"]).arg(home.path("work"));
    let text = String::from_utf8(report.output().unwrap().stdout).unwrap();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let title = "2 recordings on a copy of my.db, 99.2% of its statements, 1.1 MiB of data";
    assert!(text.contains(title), "{text}");
    assert!(
        text.contains("can be sent again. Left out: 2 that the copy refuses and 2 PRAGMA"),
        "{text}"
    );
}

#[test]
fn recordings_that_cannot_run_are_told() {
    let home = Home::new();
    drop(application(&home.path("app/my.db"), "delete"));
    for (text, words) in [
        ("", &["no.trace has no statement"][..]),
        (
            "SELECT nosuch FROM customer;",
            &["no statement of no.trace", "line 1: SQLite: no such column"],
        ),
        (
            "\n\nSELECT a FROM t WHERE b = ?;",
            &[
                "no statement of no.trace",
                "1 whose values were not recorded",
            ],
        ),
        (
            "BEGIN; SELECT 1",
            &["there are 1 of transactions that the recording has in part"],
        ),
        ("\u{1f600}\0'", &["no statement"]),
    ] {
        fs::write(home.path("no.trace"), text).unwrap();
        refused(
            &home,
            &["--copy-of=app/my.db", "--recording=no.trace", "--budget=9s"],
            words,
        );
    }
    refused(
        &home,
        &["--copy-of=app/my.db", "--recording=none.trace"],
        &["none.trace", "No such file"],
    );
}

/// A plan of the application's file.
const PLAN: &str = r#"format = 1
[experiment]
passes = 8
compare = "journal-mode"
[run]
transactions = 20
warm-up = 40
[workload]
copy-of = "app/my.db"
script = ["mix.sql@2", "one.sql"]
define = "first=7"
[cells]
memory = "2MiB"
journal-mode = ["wal", "delete"]
"#;

#[test]
fn a_plan_compares_options_with_the_users_own_statements() {
    let home = Home::new();
    drop(application(&home.path("app/my.db"), "delete"));
    fs::write(
        home.path("one.sql"),
        "SELECT name FROM customer WHERE id = :first;",
    )
    .unwrap();
    fs::write(home.path("plan.toml"), PLAN).unwrap();
    let before = home.files();
    let run = || {
        let mut run = octavo();
        run.current_dir(home.directory.path())
            .args(["run", "plan.toml", "work", "--json"]);
        run.output().unwrap()
    };
    let output = run();
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(home.files(), before);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let plan = &found["plan"];
    assert_eq!(plan["own"]["copy"]["name"], "my.db");
    assert_eq!(plan["own"]["scripts"][0]["weight"], 2);
    // The present one, as the plan has none.
    assert_eq!(plan["page_sizes"], serde_json::json!([8192]));
    assert_eq!(plan["compare"], "database");
    let cells = found["groups"][0]["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    for (text, other, words) in [
        (
            "[cells]",
            "[cells]\npage-size = [\"4K\", \"16K\"]",
            &[
                "plan.toml:13",
                "page-size has to have the present one, 8 KiB",
            ][..],
        ),
        ("app/my.db", "app/none.db", &["plan.toml:9", "none.db"]),
        ("one.sql", "none.sql", &["plan.toml:10", "none.sql"]),
        (
            "first=7",
            "first",
            &["plan.toml:11", "like \"rows=300000\""],
        ),
        ("first=7", "second=7", &["one.sql:1:38", "first is not set"]),
        (
            "define",
            "sample = \"0%\"\ndefine",
            &["plan.toml:11", "'0%' must be from 0.0001% to 100%"],
        ),
        (
            "define",
            "sample = 0.1\ndefine",
            &["plan.toml:9", "no sample is made yet"],
        ),
        (
            "define",
            "pace = \"recorded\"\ndefine",
            &["plan.toml:11", "name that with recording"],
        ),
        (
            "define",
            "pace = \"fast\"\ndefine",
            &["plan.toml:11", "must be recorded, or a speed"],
        ),
        (
            "define",
            "copy-rate = 0\ndefine",
            &["plan.toml:11", "copy-rate must be more than 0"],
        ),
        (
            "copy-of = \"app/my.db\"",
            "copy-rate = \"1MiB\"\nname = \"pgbench\"",
            &["plan.toml:9", "name that with copy-of"],
        ),
        (
            "copy-of",
            "name = \"tpcc\"\ncopy-of",
            &["plan.toml:9", "of Octavo's own rows"],
        ),
        (
            "copy-of = \"app/my.db\"",
            "name = \"pgbench\"\nscale = 1",
            &["plan.toml:11", "name that with copy-of"],
        ),
        (
            "define",
            "recording = \"a.trace\"\ndefine",
            &["plan.toml:11", "exclude each other"],
        ),
        (
            "\nscript = [\"mix.sql@2\", \"one.sql\"]\ndefine = \"first=7\"",
            "\nrecording = \"mix.sql\"",
            &["plan.toml:10", "no statement of mix.sql"],
        ),
    ] {
        assert!(PLAN.contains(text), "{text}");
        fs::write(home.path("plan.toml"), PLAN.replace(text, other)).unwrap();
        let output = run();
        let said = complaint(&output);
        assert_eq!(output.status.code(), Some(2), "{other}: {said}");
        for word in words {
            assert!(said.contains(word), "{word} in: {said}");
        }
    }
}

#[test]
fn a_single_run_uses_the_users_own_rows_and_statements() {
    let home = Home::new();
    drop(application(&home.path("app/my.db"), "wal"));
    let before = fs::read(home.path("app/my.db")).unwrap();
    let octavo = |arguments: &[&str]| {
        let mut command = octavo();
        command.current_dir(home.directory.path()).args(arguments);
        let output = command.output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(!contains(out.as_bytes(), PRIVATE) && !contains(err.as_bytes(), PRIVATE));
        (output.status.code(), out, err)
    };
    // Another page size than the file has takes a step of its own.
    let (code, loaded, _) = octavo(&["load", "work", "--copy-of=app/my.db", "--page-size=2K"]);
    assert_eq!(code, Some(0));
    assert!(loaded.contains("in sqlite with 2 KiB pages"), "{loaded}");
    assert!(loaded.contains("Next: octavo bench work --copy-of app/my.db --script FILE"));
    let mode = fs::metadata(home.path("work/data")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o700);
    let copy = Connection::open(home.path("work/data/base/database.sqlite")).unwrap();
    let number = |pragma: &str| -> i64 {
        copy.pragma_query_value(None, pragma, |row| row.get(0))
            .unwrap()
    };
    assert_eq!((number("page_size"), number("user_version")), (2048, 77));
    drop(copy);
    assert!(!home.path("work/data/original").exists());
    // The rows alone say nothing of statements.
    let (code, _, refused) = octavo(&["bench", "work", "--transactions=10"]);
    assert_eq!(code, Some(2));
    assert!(
        refused.contains("a copy of my.db: name it again with --copy-of"),
        "{refused}"
    );
    let own = [
        "--copy-of=app/my.db",
        "--script=mix.sql",
        "--transactions=50",
    ];
    let (code, json, error) = octavo(&[&["bench", "work", "--json"], &own[..]].concat());
    assert_eq!(code, Some(0), "{error}");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["subject"]["page_size"], 2048);
    assert_eq!(json["kinds"][0]["committed"], 50);
    assert_eq!(json["own"]["copy"]["name"], "my.db");
    // Inputs of another seed are of the same rows; flags of other rows are refused.
    let (code, _, error) = octavo(&[&["bench", "work", "--seed=2"], &own[..]].concat());
    assert_eq!(code, Some(0), "{error}");
    for command in ["bench", "load"] {
        let (code, _, refused) = octavo(&[command, "work", "--copy-of=app/my.db", "--scale=3"]);
        assert_eq!(code, Some(2));
        assert!(
            refused.contains("--scale is of Octavo's own rows"),
            "{refused}"
        );
    }
    // What the run left has a row for each of its transactions, those of the warm-up too.
    let left = Connection::open(home.path("work/data/run/database.sqlite")).unwrap();
    let notes: i64 = left
        .query_row("SELECT count(*) FROM note", [], |row| row.get(0))
        .unwrap();
    assert_eq!(notes, 55);
    drop(left);
    let (code, checked, _) = octavo(&["check", "work"]);
    assert_eq!(code, Some(0));
    assert!(checked.contains("pages and indexes are sound"), "{checked}");
    assert!(!checked.contains("seed"), "{checked}");
    assert!(
        checked.contains("Rows of a copy are not compared"),
        "{checked}"
    );
    // The writer's connection is one that has never read.
    fs::write(
        home.path("read.sql"),
        "SELECT name FROM customer WHERE id = 7;\n",
    )
    .unwrap();
    let reads = ["--copy-of=app/my.db", "--script=read.sql", "--clients=2"];
    let few = ["--memory=1MiB", "--transactions=50"];
    let (code, _, error) = octavo(&[&["bench", "work"], &reads[..], &few[..]].concat());
    assert_eq!(code, Some(0), "{error}");
    // Other rows than those that were loaded.
    application_changed(&home.path("app/my.db"));
    let (code, _, refused) = octavo(&[&["bench", "work"], &own[..]].concat());
    assert_eq!(code, Some(2));
    assert!(refused.contains("work holds a copy of my.db"), "{refused}");
    // A broken page is found.
    let base = home.path("work/data/base/database.sqlite");
    let mut bytes = fs::read(&base).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 64].fill(0xff);
    fs::write(&base, bytes).unwrap();
    assert_eq!(octavo(&["check", "work"]).0, Some(1));
    assert_ne!(before, fs::read(home.path("app/my.db")).unwrap());
}

/// Changes a row of the file, as its application would.
fn application_changed(path: &Path) {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "UPDATE customer SET visits = 1 WHERE id = 1; PRAGMA wal_checkpoint(TRUNCATE);",
        )
        .unwrap();
}
