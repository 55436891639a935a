//! Files that somebody damaged or made up are read and reported without a
//! panic, a hang or a character that acts on a terminal.
//!
//! Each case changes a sound file at random, by a number that is the origin of
//! everything in it: what a failure names can be repeated. `OCTAVO_HOSTILE_CASES`
//! is how many cases each kind of file has, `OCTAVO_HOSTILE_FIRST` the number of
//! the first (bench/hostile.sh tries many).

mod damage;

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use damage::Damage;
use octavo_device::{catalog::Entry, profile::Profile};
use octavo_experiment::{
    findings::Findings,
    plan::file::{Known, PlanFile},
    store::Store,
};
use octavo_report::{Document, visible};
use rusqlite::{Connection, types::Value};

/// A case that takes longer hangs, as far as its user can tell.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is read in another way than as text, or takes longer, has fewer cases.
const CASES: u64 = 400;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a number"))
}

/// Tries `read` on as many damaged forms of each of `sound`; returns how many
/// were still accepted.
fn try_all(sound: &[Vec<u8>], share: u64, read: impl Fn(&[u8]) -> bool) -> u64 {
    let first = number("OCTAVO_HOSTILE_FIRST", 0);
    let cases = number("OCTAVO_HOSTILE_CASES", CASES) / share;
    let mut accepted = 0;
    for case in first..first + cases {
        let mut damage = Damage::new(case);
        let original = damage.one_of(sound);
        let bytes = damage.bytes(original, sound);
        let began = Instant::now();
        let found = catch_unwind(AssertUnwindSafe(|| read(&bytes)));
        assert!(found.is_ok(), "case {case} panics");
        assert!(began.elapsed() < PATIENCE, "case {case} hangs");
        accepted += u64::from(found.is_ok_and(|accepted| accepted));
    }
    accepted
}

/// The files of a directory of this project with such an ending.
fn files(directory: &str, ending: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let mut paths: Vec<PathBuf> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{}", directory.display());
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Renders everything, and checks that nothing in it acts on a screen.
fn render(document: &Document) {
    for text in [
        document.terminal(80, false),
        document.verbose(200, false),
        document.html(),
    ] {
        assert_eq!(visible(&text), text);
    }
}

/// As `octavo` prints a reason, which is made safe there.
fn refuse(error: &dyn std::error::Error) -> bool {
    let text = error.to_string();
    assert!(!visible(&text).is_empty());
    false
}

fn as_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn plans_are_read_or_refused() {
    let known = Known::standard();
    let accepted = try_all(
        &files("../../plans", "toml"),
        1,
        |bytes| match PlanFile::parse("plan.toml", &as_text(bytes), &known) {
            Ok(file) => {
                assert!(!file.plan.cells().is_empty());
                let _fits_here_or_not = file.check(Path::new("/nowhere"));
                true
            }
            Err(error) => refuse(&error),
        },
    );
    assert!(accepted > 0, "not every damage is one");
}

#[test]
fn device_entries_are_read_or_refused() {
    let accepted = try_all(
        &files("../device/catalog", "toml"),
        1,
        |bytes| match Entry::from_toml(&as_text(bytes)) {
            Ok(entry) => {
                render(&octavo_report::described(&entry, &[]));
                render(&octavo_report::devices(std::slice::from_ref(&entry)));
                assert!(
                    Entry::from_toml(&entry.to_toml()).is_ok(),
                    "it is read again"
                );
                true
            }
            Err(error) => refuse(&error),
        },
    );
    assert!(accepted > 0, "not every damage is one");
}

#[test]
fn device_profiles_are_read_or_refused() {
    let sound =
        vec![include_bytes!("../../../../bench/runs/2026-11-22-twin/profile.toml").to_vec()];
    let accepted = try_all(&sound, 1, |bytes| {
        match Profile::from_toml(&as_text(bytes)) {
            Ok(profile) => {
                render(&octavo_report::profile(&profile));
                true
            }
            Err(error) => refuse(&error),
        }
    });
    assert!(accepted > 0, "not every damage is one");
}

/// Reads the store at `path` as `octavo report` does, and in all its forms.
fn report(path: &Path) -> bool {
    let findings = match Store::open(path).and_then(|store| Findings::of(&store)) {
        Ok(Some(findings)) => findings,
        Ok(None) => return false,
        Err(error) => {
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
            return refuse(&error);
        }
    };
    render(&octavo_report::findings(&findings));
    let json = octavo_report::findings_json(&findings);
    assert_eq!(visible(&json), json);
    true
}

#[test]
fn stores_with_damaged_bytes_are_read_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("octavo.db");
    let accepted = try_all(&files("../experiment/tests/stores", "db"), 2, |bytes| {
        for entry in fs::read_dir(directory.path()).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        fs::write(&path, bytes).unwrap();
        report(&path)
    });
    assert!(accepted > 0, "not every damage is one");
}

#[test]
fn stores_with_hostile_values_are_read_or_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("octavo.db");
    let sound = files("../experiment/tests/stores", "db");
    let first = number("OCTAVO_HOSTILE_FIRST", 0);
    let mut accepted = 0;
    for case in first..first + number("OCTAVO_HOSTILE_CASES", CASES) / 2 {
        let mut damage = Damage::new(case);
        fs::write(&path, damage.one_of(&sound)).unwrap();
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch("PRAGMA synchronous = OFF")
            .unwrap();
        for _ in 0..=damage.below(3) {
            change_a_value(&connection, &mut damage);
        }
        drop(connection);
        let began = Instant::now();
        let found = catch_unwind(AssertUnwindSafe(|| report(&path)));
        assert!(found.is_ok(), "case {case} panics");
        assert!(began.elapsed() < PATIENCE, "case {case} hangs");
        accepted += u64::from(found.is_ok_and(|accepted| accepted));
    }
    assert!(accepted > 0, "not every value matters");
}

/// Gives one column of one row, or of all, another value; where the schema lets
/// it.
fn change_a_value(connection: &Connection, damage: &mut Damage) {
    let names = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        let names = statement.query_map([], |row| row.get(0)).unwrap();
        names.map(Result::unwrap).collect()
    };
    let tables =
        names("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'");
    let table = damage.one_of(&tables);
    let columns = names(&format!("SELECT name FROM pragma_table_info('{table}')"));
    let column = damage.one_of(&columns);
    let old: Option<Value> = connection
        .query_row(
            &format!("SELECT \"{column}\" FROM \"{table}\" ORDER BY random() LIMIT 1"),
            [],
            |row| row.get(0),
        )
        .ok();
    let new = match old {
        Some(Value::Text(text)) if damage.below(4) > 0 => {
            let bytes = text.into_bytes();
            Value::Text(as_text(&damage.bytes(&bytes, std::slice::from_ref(&bytes))))
        }
        _ => match damage.below(4) {
            0 => Value::Null,
            1 => Value::Integer(damage.integer()),
            2 => Value::Real(damage.real()),
            _ => Value::Text(as_text(damage.token())),
        },
    };
    let rows = match damage.below(2) {
        0 => "",
        _ => "WHERE rowid = (SELECT max(rowid) FROM ",
    };
    let rows = match rows {
        "" => String::new(),
        rows => format!("{rows}\"{table}\")"),
    };
    let _kept_where_refused = connection.execute(
        &format!("UPDATE \"{table}\" SET \"{column}\" = ?1 {rows}"),
        [new],
    );
}
