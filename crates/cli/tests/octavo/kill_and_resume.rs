//! An advise that is killed anywhere and repeated keeps what it measured and
//! ends with as much as an undisturbed one.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{PASSES, PASSES_MADE, complaint, octavo, small_advise};
use octavo_hostile::damage::Damage;
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};

/// What the slices of a sitting counted, as text, in order. Nothing of it
/// depends on a clock.
fn slices(directory: &Path, sitting: u32) -> Vec<String> {
    let store = Connection::open(directory.join("octavo.db")).unwrap();
    let check: String = store
        .pragma_query_value(None, "integrity_check", |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
    rows(
        &store,
        &format!(
            "SELECT pass, position, cell, slice.transactions, slice.counted, buffer_misses,
                    log_written_bytes
             FROM slice JOIN run USING (run) WHERE sitting = {sitting} AND failure IS NULL
             ORDER BY 1, 2"
        ),
    )
}

/// Whether slices are the same up to the end of the shorter list: how many passes make up
/// for slow ones, the machine decides.
fn begin_alike(one: &[String], other: &[String]) -> bool {
    one.iter().zip(other).all(|(one, other)| one == other)
}

/// Passes of all sittings.
fn passes(directory: &Path) -> usize {
    let store = Connection::open(directory.join("octavo.db")).unwrap();
    let distinct = "SELECT DISTINCT sitting, pass FROM slice JOIN run USING (run)";
    rows(&store, distinct).len()
}

/// What is the same however often an experiment was interrupted.
fn plan(directory: &Path) -> Vec<String> {
    let store = Connection::open(directory.join("octavo.db")).unwrap();
    [
        "SELECT plan, slice_transactions FROM plan",
        "SELECT page_size_bytes, made_by, row_count, size_bytes FROM snapshot ORDER BY 1",
        "SELECT * FROM cell ORDER BY cell",
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

/// One that loads in a second, so that kills hit all of it. What derives pages of 64 KiB
/// spills what it may have to take back.
fn advise(directory: &Path) -> Command {
    let mut command = octavo();
    command.arg("advise").arg(directory).args([
        "--workload=pgbench",
        "--scale=1",
        "--memory=2MiB,4MiB",
        "--page-sizes=4K,64K",
        &format!("--passes={PASSES}"),
        "--transactions=40",
        "--warm-up=100",
        "--no-calibrate",
    ]);
    command
}

#[test]
fn after_twenty_kills_every_slice_that_was_kept_is_that_of_an_undisturbed_experiment() {
    let parent = tempfile::tempdir().unwrap();
    let undisturbed = parent.path().join("undisturbed");
    let output = advise(&undisturbed).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let wanted = slices(&undisturbed, 0);
    assert!(passes(&undisturbed) * 4 == wanted.len(), "of 4 cells");
    assert!(PASSES_MADE.contains(&passes(&undisturbed)));
    // Once more, nothing depends on a clock.
    let again = parent.path().join("again");
    let begin = Instant::now();
    let output = advise(&again).output().unwrap();
    // How long one takes from its beginning to its end, which other tests make longer.
    let mut whole = begin.elapsed();
    assert!(output.status.success(), "{}", complaint(&output));
    assert!(begin_alike(&slices(&again, 0), &wanted));

    let mut moments = Damage::new(20_261_121);
    let mut kills = 0;
    let mut finished = 0;
    while kills < 20 {
        let directory = parent.path().join(format!("disturbed-{finished}"));
        loop {
            let begin = Instant::now();
            let is_new = !directory.exists();
            let mut child = quiet(advise(&directory)).spawn().unwrap();
            if kills < 20 {
                let moment = whole * u32::try_from(moments.below(1000)).unwrap() / 1000;
                while begin.elapsed() < moment {
                    if child.try_wait().unwrap().is_some() {
                        if is_new {
                            whole = begin.elapsed();
                        }
                        break;
                    }
                    thread::sleep(Duration::from_millis(5));
                }
                // SIGKILL: nothing can be cleaned up.
                child.kill().unwrap();
            }
            let output = child.wait_with_output().unwrap();
            if output.status.code().is_none() {
                kills += 1;
                continue;
            }
            // It came to its end before the kill, or was let go on.
            assert!(output.status.success(), "{}", complaint(&output));
            break;
        }
        assert_eq!(plan(&directory), plan(&undisturbed), "after {kills} kills");
        let found = slices(&directory, 0);
        assert!(begin_alike(&found, &wanted), "after {kills} kills");
        assert!(PASSES_MADE.contains(&passes(&directory)));
        assert!(!directory.join("data").exists(), "the data was removed");
        finished += 1;
    }
}

/// What is loaded is kept: the same command begins with deriving.
#[test]
fn stopped_between_loading_and_deriving_it_finishes() {
    let parent = tempfile::tempdir().unwrap();
    for signal in [Signal::KILL, Signal::INT] {
        let was_between = (0..10).any(|attempt| {
            let directory = parent.path().join(format!("{attempt}-{}", signal.as_raw()));
            let data = directory.join("data");
            let mut child = quiet(advise(&directory)).spawn().unwrap();
            while !data.join("snapshot-4096-loaded/complete").exists() {
                assert!(child.try_wait().unwrap().is_none(), "it ended before");
                thread::sleep(Duration::from_millis(1));
            }
            kill_process(Pid::from_child(&child), signal).unwrap();
            let output = child.wait_with_output().unwrap();
            assert!(!output.status.success(), "{}", complaint(&output));
            let is_derived = data.join("snapshot-65536/complete").exists();
            let output = advise(&directory).output().unwrap();
            assert!(output.status.success(), "{}", complaint(&output));
            assert!(PASSES_MADE.contains(&passes(&directory)));
            !is_derived
        });
        if !was_between {
            eprintln!("skipped: {signal:?} always came after deriving");
        }
    }
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("advice");
    let mut child = quiet(small_advise(&directory)).spawn().unwrap();
    // Wait for the first passes, however long they take here.
    let store = directory.join("octavo.db");
    let deadline = Instant::now() + Duration::from_secs(600);
    let kept = || {
        Connection::open(&store)
            .and_then(|store| {
                store.busy_timeout(Duration::from_secs(5))?;
                store.query_row("SELECT count(*) FROM slice", [], |row| row.get::<_, i64>(0))
            })
            .unwrap_or(0)
    };
    while !store.exists() || kept() == 0 {
        assert!(Instant::now() < deadline, "no pass was kept");
        thread::sleep(Duration::from_millis(20));
    }
    // It may have finished everything by now, on a fast machine.
    let _gone = kill_process(Pid::from_child(&child), Signal::INT);
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
    let before = kept();
    assert!(before >= 4);
    let output = small_advise(&directory).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    assert!(kept() >= before);
    assert!(PASSES_MADE.contains(&passes(&directory)));
    assert!(fs::exists(directory.join("report.html")).unwrap());
}
