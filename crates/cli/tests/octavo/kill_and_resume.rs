//! An advise that is killed anywhere and repeated ends with the store that an
//! undisturbed one makes.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{complaint, small_advise};
use rusqlite::Connection;

/// Everything in a store that does not depend on a clock, as text.
fn content(directory: &Path) -> Vec<String> {
    let store = Connection::open(directory.join("octavo.db")).unwrap();
    let check: String = store
        .pragma_query_value(None, "integrity_check", |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
    let counters = [
        "buffer_hits",
        "buffer_misses",
        "buffer_spills",
        "reads",
        "read_bytes",
        "data_writes",
        "data_written_bytes",
        "log_writes",
        "log_written_bytes",
        "syncs",
    ]
    .map(|name| format!("json_extract(counters, '$.{name}')"))
    .join(", ");
    [
        "SELECT plan, length FROM plan".to_owned(),
        "SELECT page_size_bytes, made_by, row_count, size_bytes FROM snapshot ORDER BY 1"
            .to_owned(),
        "SELECT * FROM cell ORDER BY cell".to_owned(),
        format!(
            "SELECT source, round, position, cell, failure, transactions, counted, changed_bytes,
             {counters} FROM run ORDER BY round, position"
        ),
        "SELECT round, run.cell, kind, name, committed, rolled_back, retries
         FROM latency JOIN run USING (run) ORDER BY 1, 2, 3"
            .to_owned(),
        "SELECT round, run.cell, clause, checked, violations
         FROM consistency JOIN run USING (run) ORDER BY 1, 2, 3"
            .to_owned(),
        "SELECT round, run.cell, audit FROM audit JOIN run USING (run) ORDER BY 1, 2".to_owned(),
    ]
    .iter()
    .flat_map(|query| rows(&store, query))
    .collect()
}

fn rows(store: &Connection, query: &str) -> Vec<String> {
    let mut statement = store.prepare(query).unwrap();
    let columns = statement.column_count();
    statement
        .query_map([], |row| {
            let values: Vec<String> = (0..columns)
                .map(|column| {
                    format!(
                        "{:?}",
                        row.get::<_, rusqlite::types::Value>(column).unwrap()
                    )
                })
                .collect();
            Ok(values.join("|"))
        })
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

fn quiet(mut command: Command) -> Command {
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Delays from a linear congruential generator (Knuth's MMIX constants): the
/// kills' moments need no more randomness.
struct Moments(u64);

impl Moments {
    fn share(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / f64::from(1 << 24)
    }
}

#[test]
fn twenty_kills_change_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let undisturbed = parent.path().join("undisturbed");
    let begin = Instant::now();
    let output = small_advise(&undisturbed).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let whole = begin.elapsed();
    let wanted = content(&undisturbed);
    assert_eq!(
        wanted
            .iter()
            .filter(|line| line.starts_with("Text(\"measured\")"))
            .count(),
        8,
        "4 cells in 2 rounds"
    );

    let mut moments = Moments(20_261_121);
    let mut kills = 0;
    let mut finished = 0;
    while kills < 20 {
        let directory = parent.path().join(format!("disturbed-{finished}"));
        loop {
            let mut child = quiet(small_advise(&directory)).spawn().unwrap();
            if kills < 20 {
                let moment: Duration = whole.mul_f64(moments.share() * 0.7);
                thread::sleep(moment);
                // SIGKILL: nothing can be cleaned up.
                child.kill().unwrap();
                if child.wait().unwrap().code().is_none() {
                    kills += 1;
                    continue;
                }
                break;
            }
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", complaint(&output));
            break;
        }
        let found = content(&directory);
        for (wanted, found) in wanted.iter().zip(&found) {
            assert_eq!(wanted, found, "after {kills} kills");
        }
        assert_eq!(wanted.len(), found.len());
        assert!(!directory.join("data").exists(), "the data was removed");
        finished += 1;
    }
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("advice");
    let mut child = quiet(small_advise(&directory)).spawn().unwrap();
    // Wait for the first finished run, however long it takes here.
    let store = directory.join("octavo.db");
    let deadline = Instant::now() + Duration::from_secs(600);
    let runs = || {
        Connection::open(&store)
            .and_then(|store| {
                store.busy_timeout(Duration::from_secs(5))?;
                store.query_row("SELECT count(*) FROM run", [], |row| row.get::<_, i64>(0))
            })
            .unwrap_or(0)
    };
    while !store.exists() || runs() == 0 {
        assert!(Instant::now() < deadline, "no run was finished");
        thread::sleep(Duration::from_millis(20));
    }
    let pid = rustix::process::Pid::from_child(&child);
    // It may have finished everything by now, on a fast machine.
    let _gone = rustix::process::kill_process(pid, rustix::process::Signal::INT);
    let output = loop {
        if child.try_wait().unwrap().is_some() {
            break child.wait_with_output().unwrap();
        }
        assert!(Instant::now() < deadline, "it did not stop");
        thread::sleep(Duration::from_millis(20));
    };
    if output.status.code() == Some(130) {
        assert!(
            complaint(&output).contains("repeat the command"),
            "{}",
            complaint(&output)
        );
    } else {
        assert!(output.status.success(), "{}", complaint(&output));
    }
    let kept = runs();
    assert!(kept >= 1);
    let output = small_advise(&directory).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(runs(), 8);
    assert!(fs::exists(directory.join("report.html")).unwrap());
}
