//! A commit that returned survives: in the files as they are at any moment,
//! and when the process is killed.

mod support;

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use octavo_database::{JournalMode, Sqlite};
use octavo_units::ByteCount;
use octavo_workload::{
    Connection,
    connection::{Access, Value},
};
use support::*;

const ACCOUNTS: u32 = 500;

/// Adds one to the balance of account 1 and changes others along with it.
fn count_up(connection: &mut dyn Connection, turn: i64) {
    connection.begin(Access::Write).unwrap();
    connection
        .execute(ADD, &[money(1), Value::Integer(1)])
        .unwrap();
    for step in 0..6 {
        let account = (turn * 37 + step * 71) % i64::from(ACCOUNTS) + 1;
        let text = "y".repeat((turn * 13 + step) as usize % 400);
        connection
            .execute(FILL, &[Value::Text(&text), Value::Integer(account)])
            .unwrap();
    }
    connection.commit().unwrap();
}

fn balance_of_account_1(file: &Path) -> i64 {
    dump(file);
    rusqlite::Connection::open(file)
        .unwrap()
        .query_row("SELECT balance FROM account WHERE id = 1", [], |row| {
            row.get(0)
        })
        .unwrap()
}

#[test]
fn the_files_hold_every_commit_at_any_moment() {
    for page_bytes in [512, 4096, 16384] {
        let bank = Bank { accounts: ACCOUNTS };
        let directory = directory();
        prepare(Sqlite::default(), directory.path(), page_bytes, &bank);
        let memory = ByteCount::new(u64::from(page_bytes + 256) * 20);
        let settings = settings(page_bytes, memory, 1);
        let running = start(Sqlite::default(), directory.path(), &settings, &bank);
        let mut connection = running.connect(0).unwrap();
        for turn in 1..=400 {
            count_up(&mut *connection, turn);
            // Often around the first generations of the log.
            if turn % 50 == 0 || (turn < 100 && turn % 9 == 0) {
                let copy = directory.path().join("copy.sqlite");
                let log = directory.path().join("copy.sqlite-wal");
                let original = database_file(directory.path(), "run");
                fs::copy(&original, &copy).unwrap();
                fs::copy(original.with_extension("sqlite-wal"), &log).unwrap();
                assert_eq!(balance_of_account_1(&copy), 10_000 + turn, "{page_bytes}");
                fs::remove_file(&copy).unwrap();
            }
        }
        drop(connection);
        running.stop().unwrap();
    }
}

const CHILD: &str = "OCTAVO_TEST_COUNT_UP_IN";

/// Not a test of its own: what the next one kills.
#[test]
fn child_that_counts_up() {
    let Some(place) = env::var_os(CHILD) else {
        return;
    };
    let bank = Bank { accounts: ACCOUNTS };
    let (place, journal_mode) = match place
        .to_str()
        .and_then(|place| place.strip_prefix("delete:"))
    {
        Some(place) => (place.to_owned(), JournalMode::Delete),
        None => (place.into_string().unwrap(), JournalMode::Wal),
    };
    let sqlite = Sqlite {
        journal_mode,
        ..Sqlite::default()
    };
    let settings = settings(1024, ByteCount::kib(64), 1);
    let running = start(sqlite, Path::new(&place), &settings, &bank);
    let mut connection = running.connect(0).unwrap();
    for turn in 1.. {
        count_up(&mut *connection, turn);
        println!("\ncommitted {turn}");
    }
}

#[test]
fn a_killed_process_lost_no_commit() {
    for (round, lines) in [1, 7, 60, 333].into_iter().enumerate() {
        for journal in ["", "delete:"] {
            let bank = Bank { accounts: ACCOUNTS };
            let directory = directory();
            prepare(Sqlite::default(), directory.path(), 1024, &bank);
            let place = format!("{journal}{}", directory.path().display());
            let mut child = Command::new(env::current_exe().unwrap())
                .args(["--exact", "child_that_counts_up", "--nocapture"])
                .env(CHILD, place)
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let output = BufReader::new(child.stdout.take().unwrap());
            let mut last = 0;
            let mut killed = false;
            // What it still wrote between the signal and its end counts too.
            for line in output.lines() {
                if let Some(turn) = line.unwrap().strip_prefix("committed ") {
                    last = turn.parse().unwrap();
                }
                if last >= lines && !killed {
                    child.kill().unwrap();
                    killed = true;
                }
            }
            child.wait().unwrap();
            assert!(killed, "the child ended by itself after {last} commits");
            let found = balance_of_account_1(&database_file(directory.path(), "run")) - 10_000;
            // One more may have been committed and not yet told.
            assert!(
                found == last || found == last + 1,
                "round {round}: told {last}, found {found}"
            );
        }
    }
}
