//! The statements of a script, beside what pgbench sends of it.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
};

use octavo_script::{Definitions, Script};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{
    WorkloadSpec, own,
    user::{CopyOf, Own, OwnScript},
};

use super::super::{
    cluster::{Cluster, DATABASE, USER},
    programs::installed,
};
use crate::own::{numbered, on_server, prepare_each};

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
    let prepared = prepare_each(&[script], None, &mut |_, statement| {
        let sql = numbered(&statement.parts, '$');
        let description = session.describe(&sql).unwrap();
        let columns = description.columns.into_iter();
        let columns = columns.map(|column| column.name).collect();
        Ok(on_server(statement, sql, columns).unwrap())
    })
    .unwrap();
    let own = Own {
        copy: CopyOf {
            name: "postgres".into(),
            size: ByteCount::mib(1),
            page_size: PageSize::kib(8),
            state: 0,
            sorts_by_bytes: false,
            source: "postgres://a@b/c".into(),
        },
        scripts: vec![OwnScript {
            name: "mix.sql".into(),
            weight: 1,
            fingerprint: 0,
        }],
        unlike: Vec::new(),
        is_guess: false,
        prepared: Some(prepared),
    };
    let workload = WorkloadSpec {
        own: Some(Arc::new(own.clone())),
        ..WorkloadSpec::new(own::name(), own::data(&own), Seed::new(1))
    }
    .build()
    .unwrap();
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
