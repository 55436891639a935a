//! Advice on a copy of a database that the user's server has: it is only read, its rows and the
//! password go nowhere else, and what cannot be asked is told before anything is copied.

use std::{
    fs,
    path::Path,
    process::Output,
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::{complaint, external::UsersServer, octavo};

/// What stands in rows and statements, and must be nowhere else.
const PRIVATE: &str = "mettwurst";

/// Functions that tell when they run with a superuser's rights on a server of Octavo's, and one that
/// a superuser alone may make.
const HOSTILE: &str = "\
    CREATE FUNCTION shop.harm(value text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN \
      IF (SELECT rolsuper AND rolname LIKE 'octavo%' FROM pg_roles WHERE rolname = current_user) \
      THEN RAISE 'harm is done'; END IF; RETURN value; END $$; \
    CREATE FUNCTION shop.harm_by_trigger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
      new.body := shop.harm(new.body); RETURN new; END $$; \
    CREATE FUNCTION shop.harm_by_operator(a float8, b int) RETURNS float8 LANGUAGE sql AS \
      $$ SELECT length(shop.harm('x')) * 1.0::float8 $$; \
    CREATE OPERATOR public.* (LEFTARG = float8, RIGHTARG = int, FUNCTION = shop.harm_by_operator); \
    CREATE FUNCTION shop.pg_wal_lsn_diff(a pg_lsn, b text) RETURNS numeric LANGUAGE sql AS \
      $$ SELECT length(shop.harm('x'))::numeric $$; \
    CREATE FUNCTION shop.bytes(value text) RETURNS int IMMUTABLE STRICT LANGUAGE internal \
      AS 'textoctetlen';";

/// A small advise on a database, with a script.
fn advise(home: &Path, url: &str, arguments: &[&str]) -> Output {
    octavo()
        .current_dir(home)
        .args(["advise", "work", "--script=mix.sql@2", "--copy-of", url])
        .args([
            "--clients=2",
            "--passes=8",
            "--transactions=40",
            "--warm-up=50",
            "--no-calibrate",
        ])
        .args(arguments)
        .output()
        .unwrap()
}

/// The script that is guessed for a database. It finds rows when it runs.
#[track_caller]
fn guessed(home: &Path, url: &str, arguments: &[&str]) -> String {
    let show = ["advise", "none", "--show-script", "--copy-of", url];
    let output = octavo().current_dir(home).args(show).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    assert!(!home.join("none").exists());
    let script = String::from_utf8(output.stdout).unwrap();
    let output = octavo()
        .current_dir(home)
        .args(["advise", "work", "--clients=2", "--passes=8"])
        .args(["--transactions=40", "--warm-up=50", "--no-calibrate"])
        .args(["--copy-of", url])
        .args(arguments)
        .output()
        .unwrap();
    let found = findings(home, &output);
    fs::remove_dir_all(home.join("work")).unwrap();
    let caveats = found["caveats"].as_array().unwrap();
    let has = |name: &str| caveats.iter().any(|caveat| caveat["caveat"] == name);
    assert!(has("guessed") && !has("found_nothing"), "{caveats:?}");
    script
}

/// Runs advise, which has to refuse with exit code 2, one line and these words, and make nothing.
#[track_caller]
fn refused(home: &Path, url: &str, script: &str, arguments: &[&str], words: &[&str]) {
    fs::write(home.join("mix.sql"), script).unwrap();
    let output = advise(home, url, arguments);
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(2), "{script}: {said}");
    for word in words {
        assert!(said.contains(word), "{word} in: {said}");
    }
    assert!(!said.contains("s3cret"), "{said}");
    assert!(!home.join("work").exists(), "{script} made the directory");
}

/// What was found, with nothing private in what is left.
#[track_caller]
fn findings(home: &Path, output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", complaint(output));
    let mut left: Vec<String> = fs::read_dir(home.join("work"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["OCTAVO", "octavo.db", "report.html"]);
    let files = left
        .iter()
        .map(|name| fs::read(home.join("work").join(name)).unwrap());
    let said = [output.stdout.clone(), output.stderr.clone()];
    for bytes in files.chain(said) {
        for secret in [PRIVATE, "s3cret", "UPDATE customer"] {
            let mut parts = bytes.windows(secret.len());
            assert!(!parts.any(|part| part == secret.as_bytes()), "{secret}");
        }
    }
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_database_of_postgres_is_copied_and_its_server_only_read() {
    let mut server = UsersServer::postgres();
    let rows = |server: &UsersServer, sql: &str| server.rows(sql);
    for set in [
        "logging_collector = on",
        "wal_level = logical",
        "log_statement = 'all'",
        "log_directory = '..'",
        "log_filename = 'said'",
    ] {
        rows(&server, &format!("ALTER SYSTEM SET {set}"));
    }
    rows(
        &server,
        "CREATE SCHEMA shop; ALTER ROLE anna SET search_path = shop, public;",
    );
    rows(
        &server,
        &format!(
            "CREATE TYPE shop.mood AS ENUM ('well', 'ill'); \
             {HOSTILE} \
             CREATE TABLE shop.customer(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, \
               name text NOT NULL UNIQUE, visits int NOT NULL DEFAULT 0, mood shop.mood, \
               paid numeric(10, 2), seen timestamptz, more jsonb, \
               initial text GENERATED ALWAYS AS (left(name, 1)) STORED); \
             CREATE TABLE shop.note(customer bigint REFERENCES shop.customer, \
               body text CHECK (shop.harm(body) > '')) \
               PARTITION BY RANGE (customer); \
             CREATE TABLE shop.note_1 PARTITION OF shop.note FOR VALUES FROM (0) TO (5000); \
             CREATE TABLE shop.note_2 PARTITION OF shop.note DEFAULT; \
             CREATE INDEX ON shop.customer(shop.bytes(name), shop.harm(name)); \
             CREATE TRIGGER harms BEFORE INSERT ON shop.note FOR EACH ROW \
               EXECUTE FUNCTION shop.harm_by_trigger(); \
             CREATE POLICY mine ON shop.note USING (true); \
             CREATE EXTENSION postgres_fdw; \
             CREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1'); \
             CREATE USER MAPPING FOR anna SERVER elsewhere OPTIONS (user 'anna'); \
             CREATE FOREIGN TABLE shop.remote(id bigint) SERVER elsewhere; \
             INSERT INTO shop.customer(name, mood, paid, seen, more) SELECT '{PRIVATE} ' || i, \
               'well', i / 7.0, now(), '{{\"a\": 1}}' FROM generate_series(1, 10000) AS i; \
             INSERT INTO shop.note SELECT i, repeat('x', 20) FROM generate_series(1, 10000) AS i"
        ),
    );
    server.restart_after(Duration::ZERO);
    let since = Instant::now();
    while server.rows("SELECT 1") != ["1"] {
        assert!(
            since.elapsed() < Duration::from_mins(1),
            "it does not start"
        );
        thread::sleep(Duration::from_millis(50));
    }
    rows(
        &server,
        "SELECT pg_create_logical_replication_slot('feed', 'pgoutput')",
    );
    rows(&server, "CREATE DATABASE other");
    let log = server.directory.path().join("said");
    fs::write(&log, "").unwrap();
    let script = format!(
        "\\set id random_zipfian(1, 10000, 1.3)\n\
         SELECT name, paid AS before, more ? 'a' AS has FROM customer WHERE id = :id \\gset\n\
         \\if :has\n\
         BEGIN;\n\
         UPDATE customer SET visits = visits + 1, paid = :before + 0.01 WHERE name = :name;\n\
         INSERT INTO note VALUES (:id, '{PRIVATE} of :name');\n\
         END;\n\
         \\endif\n"
    );
    let home = TempDir::new().unwrap();
    let home = home.path();
    fs::write(home.join("mix.sql"), &script).unwrap();
    let arguments = [
        "--bin=8K=installed",
        "--page-sizes=8K",
        "--memory=16MiB",
        "--json",
    ];
    let found = findings(home, &advise(home, &server.url, &arguments));

    assert_eq!(found["plan"]["reference"]["page_size"], 8192);
    let own = &found["plan"]["own"];
    assert_eq!(own["copy"]["name"], "postgres");
    let snapshot = &found["snapshots"][0];
    assert_eq!(snapshot["rows"], 20_000);
    assert!(snapshot["log"].as_u64().unwrap() > 0, "{snapshot}");
    assert!(
        snapshot["origin"]["size"].as_u64().unwrap() > 0,
        "{snapshot}"
    );
    let limits = own["limits"].as_array().unwrap();
    let told = |part: &str| {
        limits
            .iter()
            .any(|limit| limit["what"].as_str().unwrap().contains(part))
    };
    for part in [
        "extensions: postgres_fdw",
        "pg_upgrade refuses",
        "1 logical slot:",
        "restart)",
        "1 other database would move",
    ] {
        // Logical replication is set up, so it needs no restart.
        assert_eq!(told(part), part != "restart)", "{part}: {limits:#?}");
    }
    let cell = &found["groups"][0]["cells"][0];
    assert!(cell["per_transaction"]["transactions"].as_u64().unwrap() >= 8 * 40);
    assert_eq!(rows(&server, "SELECT sum(visits) FROM customer"), ["0"]);

    // All that the server was asked.
    let asked = fs::read_to_string(&log).unwrap();
    let statements: Vec<&str> = asked
        .lines()
        .filter_map(|line| Some(line.split_once("LOG:  statement: ")?.1))
        .filter(|statement| !statement.contains("sum(visits)"))
        .collect();
    assert!(statements.len() > 50, "{asked}");
    for statement in statements {
        let reads = statement.starts_with("SELECT")
            || statement.starts_with("COPY shop.") && statement.ends_with(" TO stdout;")
            || statement.starts_with("LOCK TABLE ") && statement.ends_with(" IN ACCESS SHARE MODE")
            || ["BEGIN", "COMMIT", "SET ", "WITH ", "PREPARE ", "EXECUTE "]
                .iter()
                .any(|word| statement.starts_with(word));
        assert!(reads, "{statement}");
    }

    fs::remove_dir_all(home.join("work")).unwrap();
    for (script, words) in [
        (
            "SELECT 1;\nSELECT nosuch FROM customer",
            &["mix.sql:2:8", "column \"nosuch\" does not exist"][..],
        ),
        (
            "SELECT name FORM customer",
            &["mix.sql:1:18", "syntax error"],
        ),
        ("SELECT $1 + 1", &["none of the script's variables"]),
        ("DELETE FROM note \\gset", &["no rows for \\gset"]),
        ("VACUUM customer", &["VACUUM is not supported"]),
        // It would lead to the user's own server.
        (
            "SELECT * FROM remote",
            &["relation \"remote\" does not exist"],
        ),
        ("/*+ x */ CHECKPOINT", &["CHECKPOINT is not supported"]),
    ] {
        refused(home, &server.url, script, &arguments[..3], words);
    }
    let script = guessed(home, &server.url, &arguments);
    for part in [
        "SELECT * FROM shop.customer WHERE id >= :key",
        "UPDATE shop.customer SET visits = CASE WHEN visits > 100",
        "SELECT * FROM shop.customer WHERE name =",
    ] {
        assert!(script.contains(part), "{part} in {script}");
    }
    // What is unique is not inserted again.
    assert!(!script.contains("INSERT"), "{script}");
    let (server_of, _) = server.url.rsplit_once('/').unwrap();
    rows(&server, "CREATE DATABASE bare");
    for (name, words) in [
        ("nosuch", "database \"nosuch\" does not exist"),
        ("bare", "/bare has no table"),
    ] {
        let url = format!("{server_of}/{name}");
        refused(home, &url, "SELECT 1", &arguments[..3], &[words]);
    }
}

#[test]
fn a_database_of_mariadb_is_copied_and_pages_that_are_too_small_are_left_out() {
    let server = UsersServer::mariadb();
    server.rows("CREATE DATABASE octavo DEFAULT CHARACTER SET latin1");
    let wide: Vec<String> = (0..10)
        .map(|number| format!("w{number} CHAR(200)"))
        .collect();
    server.rows(&format!(
        "USE octavo; SET sql_mode='ANSI_QUOTES,STRICT_TRANS_TABLES'; \
         CREATE TABLE customer(id INT UNSIGNED PRIMARY KEY AUTO_INCREMENT, name VARCHAR(60) \
           CHARACTER SET utf8mb4, paid DECIMAL(10, 2), seen DATETIME, photo BLOB, KEY(name)); \
         CREATE TABLE wide({}) ROW_FORMAT=DYNAMIC; \
         CREATE TABLE audit(amount DECIMAL(10, 2)); \
         CREATE TRIGGER paying AFTER UPDATE ON customer FOR EACH ROW \
           INSERT INTO audit VALUES (NEW.paid); \
         CREATE TABLE seen(id INT PRIMARY KEY AUTO_INCREMENT, note VARCHAR(9), at DATETIME, \
           next INT AS (at IS NULL) VIRTUAL); \
         INSERT INTO seen(note, at) SELECT CONCAT('n', seq), NOW() FROM seq_1_to_50; \
         CREATE TABLE quick(a INT) ENGINE=MEMORY; \
         CREATE TABLE zipped(id INT PRIMARY KEY, body TEXT) ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4; \
         CREATE VIEW who AS SELECT id, name FROM customer; \
         CREATE FUNCTION twice(a INT) RETURNS INT DETERMINISTIC RETURN a * 2; \
         CREATE VIEW whose AS SELECT twice(id) AS two, name FROM who; \
         CREATE FUNCTION harm() RETURNS INT READS SQL DATA SQL SECURITY INVOKER \
           RETURN (SELECT COUNT(*) FROM mysql.global_priv); \
         CREATE FUNCTION harm_of_root() RETURNS INT READS SQL DATA RETURN harm(); \
         INSERT INTO customer(name, paid, seen, photo) SELECT CONCAT('{PRIVATE} \u{e4}', seq), \
           seq / 7, NOW(), UNHEX('ff00fe') FROM seq_1_to_5000;",
        wide.join(", ")
    ));
    let url = server.url.replacen("mysql://", "mariadb://", 1) + "/octavo";
    let script = "\\set id random_zipfian(1, 5000, 1.3)\n\
        SELECT name, paid AS cost FROM customer WHERE id = :id \\gset\n\
        BEGIN;\n\
        UPDATE customer SET paid = :cost + 0.01 WHERE id = :id;\n\
        COMMIT;\n\
        SELECT * FROM who WHERE name = :name LIMIT :client_id, 3;\n";
    let home = TempDir::new().unwrap();
    let home = home.path();
    fs::write(home.join("mix.sql"), script).unwrap();
    let arguments = ["--page-sizes=4K,8K,16K,64K", "--memory=24MiB", "--json"];
    let output = advise(home, &url, &arguments);
    let found = findings(home, &output);
    let caveats = found["caveats"].as_array().unwrap();
    let does_not_fit: Vec<_> = caveats
        .iter()
        .filter(|caveat| caveat["caveat"] == "do_not_fit")
        .map(|caveat| caveat["page_sizes"].clone())
        .collect();
    assert_eq!(
        does_not_fit,
        [serde_json::json!([4096]), serde_json::json!([65536])]
    );
    let limits = found["plan"]["own"]["limits"].as_array().unwrap();
    for (part, forbids) in [
        ("zipped has ROW_FORMAT=COMPRESSED", true),
        ("FLUSH TABLES ... FOR EXPORT", false),
        ("log_bin is OFF", false),
    ] {
        let mut limits = limits.iter();
        let limit = limits.find(|limit| limit["what"].as_str().unwrap().contains(part));
        assert_eq!(limit.unwrap()["forbids"], forbids, "{part}");
    }
    let unlike = caveats
        .iter()
        .find(|caveat| caveat["caveat"] == "copy_unlike");
    assert_eq!(
        unlike.unwrap()["how"],
        serde_json::json!(["tables with the engine MEMORY are empty"])
    );
    let failed = found["runs_failed"].as_array().unwrap();
    let left_out = |page_size| {
        let mut failed = failed.iter();
        failed
            .find(|run| run["cell"]["page_size"] == page_size)
            .unwrap()
    };
    // Its schema says so, before its rows are tried.
    let reason = left_out(65536)["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("it does not take your data: zipped has ROW_FORMAT=COMPRESSED"),
        "{reason}"
    );
    let left_out = left_out(4096);
    let reason = left_out["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("it does not take your data: Row size too large (> 1982)"),
        "{reason}"
    );
    let cells = found["groups"][0]["cells"].as_array().unwrap();
    let page_sizes: Vec<u64> = cells
        .iter()
        .map(|cell| cell["cell"]["page_size"].as_u64().unwrap())
        .collect();
    assert_eq!(page_sizes, [4096, 8192, 16384, 65536]);
    assert_eq!(cells[0]["per_transaction"], serde_json::Value::Null);
    assert_eq!(found["plan"]["reference"]["page_size"], 16384);
    for snapshot in found["snapshots"].as_array().unwrap() {
        assert_eq!(snapshot["rows"], 5050);
        assert!(snapshot["log"].as_u64().unwrap() > 0, "{snapshot}");
    }
    assert_eq!(server.rows("SELECT COUNT(*) FROM octavo.audit"), ["0"]);

    fs::remove_dir_all(home.join("work")).unwrap();
    for (script, words) in [
        (
            "SELECT 1;\nSELECT nosuch FROM customer",
            &["mix.sql:2:8: MariaDB: Unknown column 'nosuch'"][..],
        ),
        (
            "SELECT name FORM customer",
            &["mix.sql:1:18", "near 'customer'"],
        ),
        ("SELECT seen FROM customer \\gset", &["CAST(... AS CHAR)"]),
        ("SELECT photo FROM customer \\gset", &["HEX(...)"]),
        ("SELECT ? + 1", &["none of the script's variables"]),
        ("CALL nosuch()", &["CALL is not supported"]),
    ] {
        refused(home, &url, script, &arguments[..2], words);
    }
    let arguments = ["--page-sizes=16K", "--memory=8MiB", "--json"];
    // Neither statements nor what root made on the user's server may do everything here.
    for (function, code) in [("harm", "1142"), ("harm_of_root", "1142")] {
        fs::write(home.join("mix.sql"), format!("SELECT {function}()")).unwrap();
        let output = advise(home, &url, &arguments);
        let said = complaint(&output);
        assert!(!output.status.success() && said.contains(code), "{said}");
        fs::remove_dir_all(home.join("work")).unwrap();
    }
    let script = guessed(home, &url, &arguments);
    for part in [
        "SELECT * FROM `customer` WHERE `id` >= :key",
        "INSERT INTO `seen`(`note`, `at`)",
        "UPDATE `seen` SET `note` = CONCAT(",
    ] {
        assert!(script.contains(part), "{part} in {script}");
    }
    // A trigger says what becomes of its rows.
    assert!(!script.contains("UPDATE `customer`"), "{script}");
    let wrong = url.replace("s3cret", "s3cret-not");
    refused(
        home,
        &wrong,
        "SELECT 1",
        &arguments[..2],
        &["Access denied"],
    );
    let other = url.replacen("mariadb://", "mysql://", 1);
    let both = ["--database=postgres"];
    refused(home, &other, "SELECT 1", &both, &["--database postgres"]);
}

/// A small advise on a database, with a recording, which has to work.
#[track_caller]
fn replay(home: &Path, url: &str, recording: &str, arguments: &[&str]) -> serde_json::Value {
    let output = octavo()
        .current_dir(home)
        .args(["advise", "work", "--json", "--recording", recording])
        .args(["--copy-of", url, "--passes=8", "--transactions=10"])
        .args(["--warm-up=20", "--no-calibrate"])
        .args(arguments)
        .output()
        .unwrap();
    let found = findings(home, &output);
    fs::remove_dir_all(home.join("work")).unwrap();
    // Each session may have reads alone, or changes.
    let lines = found["audit"]["lines"].as_array().unwrap();
    let count = |line: &serde_json::Value, name: &str| line[name].as_u64().unwrap();
    let all: u64 = lines.iter().map(|line| count(line, "count")).sum();
    for line in lines {
        assert_eq!(count(line, "total"), all, "{lines:?}");
    }
    found
}

/// The reasons why recorded statements do not run, with how many.
fn left_out(found: &serde_json::Value) -> Vec<(String, u64)> {
    let left = found["plan"]["own"]["recording"]["left"].as_array();
    let of = |left: &serde_json::Value| {
        let reason = left["reason"].as_str().unwrap().to_owned();
        (reason, left["statements"].as_u64().unwrap())
    };
    left.into_iter().flatten().map(of).collect()
}

#[test]
fn statements_that_mariadb_logged_run_on_a_copy() {
    let server = UsersServer::mariadb_with_logs();
    let logs = ["general.log", "slow.log"];
    let rows = format!(
        "CREATE DATABASE octavo; USE octavo; \
         CREATE TABLE customer(id INT PRIMARY KEY, name VARCHAR(60), paid DECIMAL(10, 2)); \
         CREATE TABLE note(id INT PRIMARY KEY AUTO_INCREMENT, body TEXT); \
         INSERT INTO customer SELECT seq, CONCAT('{PRIVATE} ', seq), seq / 7 FROM seq_1_to_5000;"
    );
    server.logged(&logs, &rows);
    let before = logs.map(|name| server.file(name).len());
    // Two sessions with 40 transactions of two statements each, and others.
    for session in 0..2 {
        let mut sql = String::from("USE octavo; SET @a = 1; SET NAMES utf8mb4; ");
        for transaction in 1..=40 {
            let id = transaction * 50 + session;
            sql += &format!(
                "BEGIN; SELECT name FROM customer WHERE id = {id}; \
                 UPDATE customer SET paid = paid + {transaction}.25, name = '{PRIVATE}\\'s\n{id}' \
                 WHERE id = {id} AND paid < 1e9; COMMIT; "
            );
        }
        sql += "INSERT INTO note(body) VALUES ('one'), ('two'); SELECT max(id) FROM note; \
                SET autocommit = 0; SELECT 1; DELETE FROM note WHERE id > 1; ROLLBACK";
        server.logged(&logs, &sql);
    }
    // More forms than a number of one byte has.
    let forms: Vec<String> = (0..260)
        .map(|form| format!("SELECT 1 AS c{form}"))
        .collect();
    server.logged(&logs, &forms.join(";"));
    server.logged(
        &logs,
        "CREATE TABLE octavo.later(id INT); SELECT * FROM octavo.later",
    );
    server.logged(&logs, "DROP TABLE octavo.later");
    let url = server.url.replacen("mysql://", "mariadb://", 1) + "/octavo";
    let home = TempDir::new().unwrap();
    let home = home.path();
    for (name, before) in logs.into_iter().zip(before) {
        fs::write(home.join(name), &server.file(name)[before..]).unwrap();
    }
    for name in logs {
        let found = replay(home, &url, name, &["--page-sizes=16K", "--memory=8MiB"]);
        let recording = &found["plan"]["own"]["recording"];
        // Two of it have a database in the statement, and the client asks which one it has.
        assert_eq!(recording["files"], serde_json::json!([name]));
        let statements = recording["statements"].as_u64().unwrap();
        let asked = statements - 2 * (40 * 2 + 4) - 260;
        assert!((2..=4).contains(&asked), "{recording}");
        assert_eq!(
            recording["time"].is_number(),
            name == "slow.log",
            "{recording}"
        );
        let left = left_out(&found);
        let of = |reason: &str| {
            left.iter()
                .find(|(of, _)| of == reason)
                .map(|(_, count)| *count)
        };
        assert_eq!(of("SET"), Some(6), "{left:?}");
        assert_eq!(of("CREATE"), Some(1), "{left:?}");
        assert_eq!(of("DROP"), Some(1), "{left:?}");
        // A table that is gone.
        assert_eq!(of("that the copy refuses"), Some(1), "{left:?}");
        let counted: u64 = left.iter().map(|(_, count)| count).sum();
        assert_eq!(recording["recorded"], statements + counted);
        let caveats = found["caveats"].as_array().unwrap();
        let has = |name: &str| caveats.iter().any(|caveat| caveat["caveat"] == name);
        assert!(
            has("recorded_in_part") && !has("found_nothing"),
            "{caveats:?}"
        );
        assert!(!has("recorded_failed") && !has("guessed"), "{caveats:?}");
    }
    // At its pace response times are compared. A part of a log may begin without a time.
    fs::write(home.join("whole.log"), server.file("general.log")).unwrap();
    let arguments = ["--page-sizes=16K", "--memory=8MiB", "--pace=2x"];
    let found = replay(home, &url, "whole.log", &arguments);
    assert_eq!(found["plan"]["own"]["recording"]["pace"], 2.0);
    let time = &found["groups"][0]["cells"][0]["mean_response_ms"]["estimate"];
    assert!(
        time.as_f64().is_some_and(|ms| ms > 0.0 && ms < 5000.0),
        "{time}"
    );
    // There are no more sessions than that to be kept in their order.
    let output = octavo()
        .current_dir(home)
        .args(["advise", "work", "--recording=slow.log", "--clients=9"])
        .args(["--copy-of", &url])
        .output()
        .unwrap();
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--clients 9 is more than"), "{said}");
    fs::write(home.join("no.log"), "2026 this is no log\n").unwrap();
    let output = octavo()
        .current_dir(home)
        .args(["advise", "work", "--recording=no.log", "--copy-of", &url])
        .output()
        .unwrap();
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("no.log has no statement: log with"), "{said}");
    assert!(!home.join("work").exists());
}

#[test]
fn a_sample_is_told_as_one_and_is_the_same_when_it_is_resumed() {
    let server = UsersServer::postgres();
    server.rows(&format!(
        "CREATE TABLE customer(id int PRIMARY KEY, name text); \
         CREATE TABLE invoice(id int PRIMARY KEY, customer int NOT NULL REFERENCES customer, \
           body text); \
         INSERT INTO customer SELECT i, '{PRIVATE} ' || i FROM generate_series(1, 20000) AS i; \
         INSERT INTO invoice SELECT i, (i - 1) % 20000 + 1, repeat('x', 50) \
           FROM generate_series(1, 40000) AS i; ANALYZE"
    ));
    let home = TempDir::new().unwrap();
    let home = home.path();
    let script = "\\set id random(1, 20000)\n\
        SELECT name FROM customer WHERE id >= :id ORDER BY id LIMIT 1;\n";
    fs::write(home.join("mix.sql"), script).unwrap();
    let usual = [
        "--bin=8K=installed",
        "--page-sizes=8K",
        "--memory=16MiB",
        "--copy-rate=50MiB",
        "--json",
    ];
    let sampled = |share: &str, more: &[&str]| {
        let share = format!("--sample={share}");
        let arguments: Vec<&str> = usual.iter().chain(more).copied().collect();
        let arguments: Vec<&str> = arguments.into_iter().chain([share.as_str()]).collect();
        advise(home, &server.url, &arguments)
    };
    let found = findings(home, &sampled("10%", &[]));
    let copy = &found["plan"]["own"]["copy"];
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let (share, of) = (
        number(&copy["sample"]["share"]),
        number(&copy["sample"]["of"]),
    );
    assert!((share - 0.1).abs() < 1e-9, "{copy}");
    assert!(
        (0.09..0.11).contains(&(number(&copy["size"]) / of)),
        "{copy}"
    );
    let rows = found["snapshots"][0]["rows"].as_u64().unwrap();
    let customers =
        server.rows("SELECT count(*) FROM customer WHERE left(md5('1:' || id), 8) < '1999999a'");
    // Each with its two invoices.
    assert_eq!(rows, 3 * customers[0].parse::<u64>().unwrap());
    let caveats = found["caveats"].as_array().unwrap();
    let told = caveats.iter().find(|caveat| caveat["caveat"] == "sampled");
    let told = told.expect("a caveat");
    assert_eq!(number(&told["of"]), of);
    assert_eq!(number(&told["bytes"]), number(&copy["size"]));

    // The heading says so.
    let report = octavo()
        .current_dir(home)
        .args(["report", "work"])
        .output()
        .unwrap();
    let said = String::from_utf8(report.stdout).unwrap();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("mix.sql on 10% of the rows of postgres"),
        "{said}"
    );
    assert!(said.contains("1 MiB of memory here stands for"), "{said}");

    // A directory keeps its sample. The same one goes on, another is refused.
    for share in ["20%", "100%"] {
        let output = sampled(share, &[]);
        assert_eq!(output.status.code(), Some(2), "{}", complaint(&output));
        assert!(
            complaint(&output).contains("sample"),
            "{}",
            complaint(&output)
        );
    }
    let again = octavo()
        .current_dir(home)
        .args([
            "advise",
            "work",
            "--script=mix.sql@2",
            "--copy-of",
            &server.url,
        ])
        .args([
            "--clients=2",
            "--passes=12",
            "--transactions=40",
            "--warm-up=50",
        ])
        .args(["--no-calibrate", "--sample=0.1"])
        .args(usual)
        .output()
        .unwrap();
    let again = findings(home, &again);
    assert_eq!(again["snapshots"][0]["rows"].as_u64().unwrap(), rows);

    fs::remove_dir_all(home.join("work")).unwrap();
    for (arguments, words) in [
        (["--sample=0"], "'0' must be from 0.0001% to 100%"),
        (["--sample=101%"], "'101%' must be from 0.0001% to 100%"),
        (["--sample=some"], "'some' must be from"),
        (["--copy-rate=0"], "it must be more than 0"),
    ] {
        refused(home, &server.url, script, &arguments, &[words]);
    }
}

/// A small advise without a script.
fn unscripted(home: &Path, url: &str, arguments: &[&str]) -> serde_json::Value {
    let output = octavo()
        .current_dir(home)
        .args(["advise", "work", "--clients=2", "--passes=8"])
        .args([
            "--transactions=60",
            "--warm-up=50",
            "--no-calibrate",
            "--json",
        ])
        .args(["--copy-of", url])
        .args(arguments)
        .output()
        .unwrap();
    let found = findings(home, &output);
    fs::remove_dir_all(home.join("work")).unwrap();
    found
}

/// The warning of this name.
fn caveat<'f>(found: &'f serde_json::Value, name: &str) -> Option<&'f serde_json::Value> {
    let caveats = found["caveats"].as_array().unwrap();
    caveats.iter().find(|caveat| caveat["caveat"] == name)
}

/// What runs of digests say: how many of the server's, and that all of them ran.
#[track_caller]
fn ran(found: &serde_json::Value, digests: u64, calls: u64) {
    let digested = caveat(found, "digested").expect("digests run");
    assert_eq!(digested["digests"], digests, "{digested}");
    assert_eq!(digested["calls"], calls, "{digested}");
    for name in ["guessed", "digests_failed", "found_nothing"] {
        assert!(caveat(found, name).is_none(), "{:?}", caveat(found, name));
    }
}

/// Statements with values of their own: `{}` is their number, from 1 to `count`.
fn repeated(statement: &str, count: usize) -> String {
    let numbered = (1..=count).map(|number| statement.replace("{}", &number.to_string()) + ";");
    numbered.collect()
}

#[test]
fn extensions_are_there_at_another_page_size() {
    let server = UsersServer::postgres();
    server.rows(
        "CREATE EXTENSION bloom; CREATE EXTENSION btree_gin; CREATE EXTENSION btree_gist; \
         CREATE EXTENSION citext; CREATE EXTENSION cube; CREATE EXTENSION earthdistance; \
         CREATE EXTENSION fuzzystrmatch; CREATE EXTENSION hstore; CREATE EXTENSION intarray; \
         CREATE EXTENSION isn; CREATE EXTENSION lo; CREATE EXTENSION ltree; \
         CREATE EXTENSION pg_trgm; CREATE EXTENSION seg; CREATE EXTENSION tablefunc; \
         CREATE EXTENSION unaccent; \
         CREATE TABLE customer(id int PRIMARY KEY, name citext UNIQUE, more hstore); \
         CREATE INDEX ON customer USING gin (name gin_trgm_ops); \
         INSERT INTO customer SELECT i, 'Name ' || i, hstore('a', i::text) \
           FROM generate_series(1, 3000) AS i",
    );
    let home = TempDir::new().unwrap();
    let home = home.path();
    fs::write(
        home.join("mix.sql"),
        "\\set id random(1, 3000)\n\
         SELECT id, more -> 'a' FROM customer WHERE name = ('nAME ' || :id)::citext;\n",
    )
    .unwrap();
    let sizes = [
        "--bin=8K=installed",
        "--page-sizes=4K,8K",
        "--memory=16MiB",
        "--json",
    ];
    let found = findings(home, &advise(home, &server.url, &sizes));
    let snapshots = found["snapshots"].as_array().unwrap();
    assert_eq!(snapshots.len(), 2, "{snapshots:?}");
    assert!(snapshots.iter().all(|snapshot| snapshot["rows"] == 3000));
    let caveats = found["caveats"].as_array().unwrap();
    // Every run finds its row, without regard to capitals.
    let is_empty = |caveat: &serde_json::Value| caveat["caveat"] == "found_nothing";
    assert!(!caveats.iter().any(is_empty), "{caveats:?}");
}

#[test]
fn digests_of_postgres_run_where_no_statements_are_given() {
    let mut server = UsersServer::postgres();
    server.rows("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'");
    server.restart_after(Duration::ZERO);
    let since = Instant::now();
    while server.rows("SELECT 1") != ["1"] {
        assert!(
            since.elapsed() < Duration::from_mins(1),
            "it does not start"
        );
        thread::sleep(Duration::from_millis(50));
    }
    server.rows(&format!(
        "CREATE TABLE customer(id uuid PRIMARY KEY DEFAULT gen_random_uuid(), \
           name text NOT NULL UNIQUE, born date, more jsonb, tags text[]); \
         CREATE TABLE line(customer text REFERENCES customer(name), number int, note text, \
           PRIMARY KEY (customer, number)) PARTITION BY HASH (customer); \
         CREATE TABLE line_0 PARTITION OF line FOR VALUES WITH (MODULUS 2, REMAINDER 0); \
         CREATE TABLE line_1 PARTITION OF line FOR VALUES WITH (MODULUS 2, REMAINDER 1); \
         INSERT INTO customer(name, born, more, tags) SELECT '{PRIVATE} ' || i, \
           date '1990-01-01' + i, '{{\"a\": 1}}', array['{PRIVATE} ' || i] \
           FROM generate_series(1, 2000) AS i; \
         INSERT INTO line SELECT '{PRIVATE} ' || i, j, 'x' FROM generate_series(1, 2000) AS i, \
           generate_series(1, 3) AS j; \
         CREATE TABLE visit(id int PRIMARY KEY, path text); \
         INSERT INTO visit SELECT i, '{PRIVATE}' FROM generate_series(1, 2000) AS i"
    ));
    let home = TempDir::new().unwrap();
    let home = home.path();
    let bin = ["--bin=8K=installed", "--page-sizes=8K", "--memory=16MiB"];
    let found = unscripted(home, &server.url, &bin);
    let why = &caveat(&found, "guessed").expect("a guess is made")["without_digests"];
    assert!(why.as_str().unwrap().contains("CREATE EXTENSION"), "{why}");

    server.rows("CREATE EXTENSION pg_stat_statements");
    for (statement, count) in [
        (
            "SELECT * FROM line JOIN customer AS c ON c.name = line.customer \
          WHERE c.name = 'mettwurst {}' AND number IN (1, 2) LIMIT 5",
            400,
        ),
        (
            "SELECT id FROM customer WHERE born BETWEEN date '1990-01-01' AND '1990-02-01' \
          AND more @> '{\"a\": {}}'",
            100,
        ),
        (
            "SELECT 1 FROM customer WHERE '{}' = ANY(tags) OR id = '6ecd8c99-4036-403d-bf84-cf8400f67836'",
            100,
        ),
        (
            "UPDATE customer SET born = '1990-01-01', more = '{\"b\": {}}' WHERE name = 'mettwurst {}'",
            300,
        ),
        ("INSERT INTO line VALUES ('mettwurst {}', 1{}, 'y')", 200),
        (
            "DELETE FROM line WHERE customer = 'mettwurst {}' AND number = 3",
            100,
        ),
        ("SELECT * FROM customer WHERE more ->> 'a' = '{}'", 10),
    ] {
        server.rows(&repeated(statement, count));
    }
    let found = unscripted(home, &server.url, &bin);
    // And the SELECT 1 that waited for the server.
    ran(&found, 7, 1201);
    let own = &found["plan"]["own"];
    let left: Vec<&str> = own["digests"]["left"]
        .as_array()
        .unwrap()
        .iter()
        .map(|left| left["reason"].as_str().unwrap())
        .collect();
    assert!(
        left.contains(&"with a value that is compared with no column"),
        "{left:?}"
    );
    // 600 of 1,201 change rows.
    let weight = |kind: usize| own["scripts"][kind]["weight"].as_u64().unwrap();
    assert_eq!((weight(0), weight(1)), (601, 600), "{own}");

    let show = [
        "advise",
        "none",
        "--show-script",
        "--digests",
        "--copy-of",
        &server.url,
    ];
    let output = octavo().current_dir(home).args(show).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let script = String::from_utf8(output.stdout).unwrap();
    assert!(
        script.contains(":p1 is of public.customer.name, row 1"),
        "{script}"
    );
    assert!(!script.contains(PRIVATE), "{script}");
}

#[test]
fn digests_of_mariadb_run_and_are_refused_where_there_are_none() {
    let server = UsersServer::mariadb_with_digests();
    server.rows(&format!(
        "CREATE DATABASE octavo; USE octavo; \
         CREATE TABLE customer(id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(60) UNIQUE, \
           hash BINARY(16), at DATETIME, visits INT); \
         CREATE TABLE line(customer INT, number INT, note TEXT, PRIMARY KEY (customer, number), \
           FOREIGN KEY (customer) REFERENCES customer(id)); \
         INSERT INTO customer(name, hash, at, visits) SELECT CONCAT('{PRIVATE} ', seq), \
           UNHEX(MD5(seq)), NOW() - INTERVAL seq HOUR, seq FROM seq_1_to_2000; \
         INSERT INTO line SELECT 1 + seq MOD 2000, 1 + seq DIV 2000, 'x' FROM seq_0_to_5999;"
    ));
    let url = server.url.replacen("mysql://", "mariadb://", 1) + "/octavo";
    let home = TempDir::new().unwrap();
    let home = home.path();
    let sizes = ["--page-sizes=16K", "--memory=24MiB"];
    let digests = ["advise", "work", "--digests", "--copy-of"];
    let mariadb_none = UsersServer::mariadb();
    mariadb_none.rows("CREATE DATABASE octavo; USE octavo; CREATE TABLE t(id INT)");
    let none = mariadb_none.url.replacen("mysql://", "mariadb://", 1) + "/octavo";
    let output = octavo()
        .current_dir(home)
        .args(digests)
        .arg(none)
        .output()
        .unwrap();
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("performance_schema is off"), "{said}");

    for (statement, count) in [
        ("SELECT name FROM customer WHERE id = {}", 400),
        (
            "SELECT COUNT(*) FROM customer WHERE hash = X'00ff' AND id IN (1, {}, 3)",
            100,
        ),
        (
            "SELECT c.name, l.note FROM customer AS c JOIN line AS l ON l.customer = c.id \
          WHERE c.name = 'mettwurst {}' ORDER BY l.number LIMIT 0, 10",
            200,
        ),
        (
            "UPDATE customer SET visits = visits + 1, at = '2020-01-01' WHERE id = {}",
            300,
        ),
        ("INSERT INTO line VALUES ({}, 10, 'y'), ({}, 11, NULL)", 200),
        (
            "INSERT INTO customer(name, visits) VALUES ('mettwurst of {}', -{})",
            200,
        ),
    ] {
        server.rows(&format!("USE octavo; {}", repeated(statement, count)));
    }
    ran(&unscripted(home, &url, &sizes), 6, 1400);
}

#[test]
fn statements_on_postgres_are_predicted_and_no_copy_is_left() {
    let server = UsersServer::postgres();
    server.rows(
        "CREATE TABLE item(id int PRIMARY KEY, visits int NOT NULL, note text); \
         INSERT INTO item SELECT i, 0, repeat('x', 200) FROM generate_series(1, 40000) AS i; \
         CREATE TABLE play(item int, note text)",
    );
    let here = ["--bin=8K=installed", "--page-sizes=8K", "--memory=8MiB"];
    let Some([reads, log]) = predicted(&server.url, &here) else {
        return;
    };
    // A row of every second page or so is not in the buffer; a quarter of transactions write.
    assert!((0.3..1.5).contains(&reads), "{reads}");
    assert!((50.0..4000.0).contains(&log), "{log}");
}

#[test]
fn statements_on_mariadb_are_predicted_and_no_copy_is_left() {
    let server = UsersServer::mariadb();
    server.rows(
        "CREATE DATABASE octavo; USE octavo; \
         CREATE TABLE item(id INT PRIMARY KEY, visits INT NOT NULL, note TEXT); \
         INSERT INTO item SELECT seq, 0, REPEAT('x', 900) FROM seq_1_to_40000; \
         CREATE TABLE play(item INT, note TEXT)",
    );
    let url = server.url.replacen("mysql://", "mariadb://", 1) + "/octavo";
    let here = ["--page-sizes=16K", "--memory=16MiB"];
    let Some([reads, log]) = predicted(&url, &here) else {
        return;
    };
    // A third of 40 MiB of rows is in the pool.
    assert!((0.3..1.5).contains(&reads), "{reads}");
    assert!((50.0..4000.0).contains(&log), "{log}");
}

/// Predicts a mix of reads and writes on a copy: misses and bytes of the log of each transaction.
/// `None` where no process may be followed.
#[track_caller]
fn predicted(url: &str, arguments: &[&str]) -> Option<[f64; 2]> {
    let home = TempDir::new().unwrap();
    let script = |name: &str, text: &str| fs::write(home.path().join(name), text).unwrap();
    script(
        "read.sql",
        "\\set id random(1, 40000)\nSELECT note FROM item WHERE id = :id;",
    );
    script(
        "write.sql",
        &format!(
            "\\set id random(1, 40000)\nBEGIN;\n\
             UPDATE item SET visits = visits + 1 WHERE id = :id;\n\
             INSERT INTO play VALUES (:id, '{PRIVATE}');\nEND;"
        ),
    );
    let output = octavo()
        .current_dir(home.path())
        .args(["predict", "work", "--copy-of", url])
        .args(["--script=read.sql@3", "--script=write.sql", "--device=ec"])
        .args(arguments)
        .args([
            "--warm-up=3000",
            "--passes=8",
            "--transactions=40",
            "--json",
        ])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("ptrace") {
        // Who may not follow a process is told what it takes.
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("CAP_SYS_PTRACE"), "{said}");
        return None;
    }
    assert!(output.status.success(), "{said}");
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["source"], "predicted");
    let of = |name: &str| found["groups"][0]["cells"][0]["per_transaction"][name].as_f64();
    // Neither the copy nor a statement stays.
    assert!(!home.path().join("work/data").exists());
    for entry in fs::read_dir(home.path().join("work")).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        let is_there = bytes
            .windows(PRIVATE.len())
            .any(|part| part == PRIVATE.as_bytes());
        assert!(!is_there);
    }
    Some(["buffer_misses", "log_written_bytes"].map(|name| of(name).unwrap()))
}
