//! The statements of a script and of a recording, beside what pgbench sends.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use octavo_script::{Definitions, Script};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{
    Workload, WorkloadSpec, own,
    user::{CopyOf, Own, OwnScript, Prepared},
};

use super::{
    super::{
        cluster::{Cluster, DATABASE, USER},
        programs::installed,
        session::Session,
    },
    recording,
};
use crate::own::{Statements, numbered, on_server, preparation::prepare};

/// All kinds of values, and none of chance.
const SCRIPT: &str = "\\set aid 3 * 4
\\set delta -7.0 / 4
\\set flag :aid > 5
SELECT abalance, filler AS \"text\" FROM accounts WHERE aid = :aid \\gset
\\if :flag
BEGIN;
UPDATE accounts SET abalance = abalance + :delta WHERE aid = :aid;
INSERT INTO history (aid, delta, note) VALUES (:aid, :delta::numeric, :text);
SELECT count(*) FROM accounts WHERE aid BETWEEN :abalance::numeric AND :aid;
END;
\\else
SELECT 'never';
\\endif
\\set aid :aid + 1
UPDATE accounts SET filler = :text WHERE aid = :aid;
";

const TABLES: &str = "CREATE TABLE accounts(aid int PRIMARY KEY, abalance numeric, filler text);
    CREATE TABLE history(aid int, delta numeric, note text);
    INSERT INTO accounts SELECT i, i % 9, 'it''s ' || i FROM generate_series(1, 100) AS i;";

/// The statements of a server's log with their parameters, from a place on.
fn logged(log: &Path, from: usize) -> Vec<String> {
    let text = fs::read_to_string(log).unwrap();
    let mut all: Vec<String> = Vec::new();
    for line in text[from..].lines() {
        if let Some((_, statement)) = line.split_once("LOG:  execute ") {
            let (_, statement) = statement.split_once(": ").unwrap();
            // A \gset leaves a blank behind in pgbench.
            let statement = statement.trim_end_matches([';', ' ']);
            all.push(match statement {
                "END" => "COMMIT".into(),
                other => other.into(),
            });
        } else if let Some((_, parameters)) = line.split_once("DETAIL:  parameters: ") {
            let last = all.last_mut().unwrap();
            last.push_str(" <- ");
            last.push_str(parameters);
        }
    }
    all
}

#[test]
fn a_script_gives_the_statements_that_pgbench_gives() {
    let Some((_, programs)) = installed() else {
        eprintln!("skipped: PostgreSQL is not installed");
        return;
    };
    let home = tempfile::tempdir().unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let cluster = Cluster::new(home.path(), programs.clone()).unwrap();
    cluster.create(PageSize::kib(8), &mut || false).unwrap();
    let server = cluster
        .start(
            &[("log_statement", "all".into()), ("fsync", "off".into())],
            None,
        )
        .unwrap();
    let mut session = server.connect(&[]).unwrap();
    session.simple(TABLES).unwrap();
    let log = home.path().join("server.log");

    // pgbench, whose variables are parameters with -M prepared.
    let file = home.path().join("mix.sql");
    fs::write(&file, SCRIPT).unwrap();
    let from = fs::read(&log).unwrap().len();
    let done = Command::new(programs.join("pgbench"))
        .args([
            "-n",
            "-M",
            "prepared",
            "-t",
            "2",
            "-h",
            "/proc/self/cwd",
            "-U",
            USER,
            "-f",
        ])
        .arg(&file)
        .arg(DATABASE)
        .current_dir(server.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    let wanted = logged(&log, from);
    assert_eq!(wanted.len(), 14, "{wanted:#?}");

    // Ours, on the same rows.
    session
        .simple(&format!("DROP TABLE accounts, history; {TABLES}"))
        .unwrap();
    let script = Script::parse("mix.sql", SCRIPT, &Definitions::default()).unwrap();
    let scripts = [script];
    let prepared = prepare(Statements::Scripts(&scripts), None, &mut |shown| {
        let sql = numbered(shown.parts, '$');
        let description = session.describe(&sql).unwrap();
        let columns = description.columns.into_iter();
        on_server(shown, sql, columns.map(|column| column.name).collect())
    })
    .unwrap();
    let workload = workload(prepared.prepared);
    let mut session = server.connect(&[]).unwrap();
    session.prepare_all(workload.statements()).unwrap();
    let from = fs::read(&log).unwrap().len();
    let mut clients = workload.clients(Seed::new(1), 1);
    for _ in 0..2 {
        clients[0].draw();
        clients[0].run(&mut session).unwrap();
    }
    assert_eq!(logged(&log, from), wanted);
}

fn workload(prepared: Prepared) -> Box<dyn Workload> {
    let own = Own {
        prepared: Some(prepared),
        ..Own::new(
            copy(),
            vec![OwnScript {
                name: "mix.sql".into(),
                weight: 1,
                fingerprint: 0,
            }],
        )
    };
    WorkloadSpec {
        own: Some(Arc::new(own.clone())),
        ..WorkloadSpec::new(own::name(), own::data(&own), Seed::new(1))
    }
    .build()
    .unwrap()
}

fn copy() -> CopyOf {
    CopyOf::whole(
        DATABASE,
        ByteCount::mib(1),
        PageSize::kib(8),
        "postgres://a@b/c",
    )
}

/// Values that differ from run to run.
const DRAWN: &str = "\\set aid random(1, 100)
\\set delta random(-5000000000, 5000000000)
\\set part random(1, 9) / 4.0
SELECT abalance, filler AS \"text\" FROM accounts WHERE aid = :aid;
BEGIN;
UPDATE accounts SET abalance = abalance + :delta, filler = 'of ''' WHERE aid = :aid;
INSERT INTO history (aid, delta, note) VALUES (:aid, :part, 'it''s :aid');
END;
DELETE FROM history WHERE aid = :aid - 200 OR note IN ('it''s :delta', 'other');
";

/// The statements of a server's log with the values of parameters in their places, without the
/// casts that a recording adds.
fn written(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in text.lines() {
        let plain = line.split_once("LOG:  statement: ").map(|(_, text)| text);
        let execute = line.split_once("LOG:  execute ");
        let execute = execute.and_then(|(_, text)| Some(text.split_once(": ")?.1));
        if let Some(text) = plain.or(execute) {
            let text = text.trim_end_matches([';', ' ']);
            all.push(if text == "END" { "COMMIT" } else { text }.to_owned());
        } else if let Some((_, values)) = line.split_once("DETAIL:  parameters: ") {
            let last = all.last_mut().unwrap();
            for value in values.split(", $").collect::<Vec<_>>().into_iter().rev() {
                let (number, value) = value.trim_start_matches('$').split_once(" = ").unwrap();
                for cast in ["int4", "int8", "numeric"] {
                    let bare = value.trim_matches('\'');
                    *last = last.replace(&format!("${number}::{cast}"), bare);
                }
                *last = last.replace(&format!("${number}"), value);
            }
        }
    }
    all
}

/// Logs that a process of the server's writes when it comes to it.
struct Logs {
    paths: [PathBuf; 3],
    marks: usize,
}

impl Logs {
    /// Puts a mark behind all that was logged so far, and answers what each log has between it and
    /// the mark before.
    fn mark(&mut self, session: &mut Session) -> [String; 3] {
        let mark = |number: usize| format!("mark {number} of the test");
        self.marks += 1;
        let (before, this) = (mark(self.marks - 1), mark(self.marks));
        session.simple(&format!("SELECT '{this}'")).unwrap();
        self.paths.each_ref().map(|path| {
            loop {
                let text = fs::read_to_string(path).unwrap_or_default();
                if let Some(end) = text.find(&this) {
                    let end = text[..end].rfind('\n').map_or(0, |end| end + 1);
                    let begin = text.find(&before).map_or(0, |begin| {
                        begin + text[begin..].find('\n').unwrap_or_default() + 1
                    });
                    return text[begin..end].to_owned();
                }
                thread::sleep(Duration::from_millis(10));
            }
        })
    }
}

#[test]
fn a_recording_gives_the_statements_that_were_recorded() {
    let Some((_, programs)) = installed() else {
        eprintln!("skipped: PostgreSQL is not installed");
        return;
    };
    let home = tempfile::tempdir().unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let cluster = Cluster::new(home.path(), programs.clone()).unwrap();
    cluster.create(PageSize::kib(8), &mut || false).unwrap();
    let server = cluster
        .start(
            &[
                ("log_statement", "all".into()),
                ("log_duration", "on".into()),
                ("log_connections", "on".into()),
                ("logging_collector", "on".into()),
                ("log_destination", "stderr,csvlog,jsonlog".into()),
                ("log_directory", home.path().display().to_string()),
                ("log_filename", "said".into()),
                ("fsync", "off".into()),
            ],
            None,
        )
        .unwrap();
    let file = home.path().join("drawn.sql");
    let mut logs = Logs {
        paths: ["said", "said.csv", "said.json"].map(|name| home.path().join(name)),
        marks: 0,
    };
    for mode in ["simple", "prepared"] {
        let mut session = server.connect(&[]).unwrap();
        let anew = format!("DROP TABLE IF EXISTS accounts, history; {TABLES}");
        session.simple(&anew).unwrap();
        logs.mark(&mut session);
        // With -M prepared no text may have a variable in it.
        let script = match mode {
            "prepared" => DRAWN
                .replace("it''s :aid", "it''s")
                .replace("it''s :delta", "it''s"),
            _ => DRAWN.to_owned(),
        };
        fs::write(&file, script).unwrap();
        let done = Command::new(programs.join("pgbench"))
            .args(["-n", "-M", mode, "-t", "20", "-h", "/proc/self/cwd"])
            .args(["-U", USER, "-f"])
            .arg(&file)
            .arg(DATABASE)
            .current_dir(server.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
        let [said, recorded @ ..] = logs.mark(&mut session);
        let wanted = written(&said);
        assert_eq!(wanted.len(), 20 * 6, "{wanted:#?}");

        // Each kind of log, on the same rows.
        for text in recorded {
            let part = home.path().join("part");
            fs::write(&part, &text).unwrap();
            let recording = recording::read(&copy(), &[part]).unwrap();
            assert_eq!(recording.left, BTreeMap::new());
            assert_eq!(recording.kept(), 20 * 4);
            assert!((recording.share_of_time().unwrap() - 1.0).abs() < 1e-3);
            session.simple(&anew).unwrap();
            let statements = Statements::Recorded(recording, &["part".into()]);
            let prepared = prepare(statements, None, &mut |shown| {
                let sql = numbered(shown.parts, '$');
                let description = session.describe(&sql).unwrap();
                let columns = description.columns.into_iter();
                on_server(shown, sql, columns.map(|column| column.name).collect())
            })
            .unwrap();
            let prepared = prepared.prepared;
            let count = prepared.recording().unwrap().transactions.len();
            let workload = workload(prepared);
            let mut session = server.connect(&[]).unwrap();
            session.prepare_all(workload.statements()).unwrap();
            logs.mark(&mut session);
            let mut clients = workload.clients(Seed::new(1), 1);
            for _ in 0..count {
                clients[0].draw();
                clients[0].run(&mut session).unwrap();
            }
            let [said, ..] = logs.mark(&mut session);
            assert_eq!(written(&said), wanted, "{mode}");
        }
    }
}
