//! Stores of results: damaged bytes, values that the schema lets in, and texts.

use std::{fs, path::Path};

use octavo_experiment::{findings::Findings, store::Store};
use octavo_report::visible;
use rusqlite::{Connection, types::Value};
use tempfile::TempDir;

use crate::{
    damage::Damage,
    files::files,
    reader::{Reader, as_text, refuse, render},
};

pub(crate) const BYTES: Reader = Reader {
    name: "store",
    sound,
    read: read_bytes,
    cost: 2,
};

/// The input is the seed of the damage.
pub(crate) const VALUES: Reader = Reader {
    name: "store-values",
    sound: || vec![vec![0; 8]],
    read: read_values,
    cost: 2,
};

/// The input becomes the foreign texts of a store.
pub(crate) const TEXT: Reader = Reader {
    name: "text",
    sound: || vec![b"Linux 6.1, \"fast\" <disk> & 'more'".to_vec()],
    read: read_text,
    cost: 2,
};

fn sound() -> Vec<Vec<u8>> {
    files("../experiment/tests/stores", "db")
}

/// A directory, and in it a store of these bytes.
fn stored(bytes: &[u8]) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("octavo.db"), bytes).expect("room for a store");
    directory
}

/// Reads a store as `octavo report` does, and prints it in all its forms.
fn report(directory: &Path) -> Option<String> {
    let path = directory.join("octavo.db");
    let findings = match Store::open(&path).and_then(|store| Findings::read(&store)) {
        Ok(Some(findings)) => findings,
        Ok(None) => return None,
        Err(error) => {
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
            refuse(&error);
            return None;
        }
    };
    let document = octavo_report::findings(&findings);
    render(&document);
    let json = octavo_report::findings_json(&findings);
    assert_eq!(visible(&json), json);
    Some(document.html())
}

fn read_bytes(bytes: &[u8]) -> bool {
    report(stored(bytes).path()).is_some()
}

fn read_values(bytes: &[u8]) -> bool {
    let mut number = [0; 8];
    let given = bytes.len().min(8);
    number[..given].copy_from_slice(&bytes[..given]);
    let mut damage = Damage::new(u64::from_le_bytes(number));
    let directory = stored(damage.one_of::<Vec<u8>>(&sound()));
    let connection = open(directory.path());
    for _ in 0..=damage.below(3) {
        change_a_value(&connection, &mut damage);
    }
    drop(connection);
    report(directory.path()).is_some()
}

fn read_text(bytes: &[u8]) -> bool {
    let text = as_text(bytes);
    let directory = stored(&sound()[0]);
    let connection = open(directory.path());
    for change in [
        "UPDATE fact SET value = ?1",
        "UPDATE run SET failure = ?1 WHERE failure IS NOT NULL",
        "UPDATE plan SET octavo = ?1",
    ] {
        let _kept_where_refused = connection.execute(change, [&text]);
    }
    drop(connection);
    let Some(page) = report(directory.path()) else {
        return false;
    };
    // No tag of it is one of the page's.
    let opens_a_tag = |text: &str| {
        let next = text.as_bytes().get(1);
        next.is_some_and(|next| next.is_ascii_alphabetic() || b"/!?".contains(next))
    };
    if let Some(at) = text.find('<').filter(|&at| opens_a_tag(&text[at..])) {
        let tag: String = text[at..].chars().take(24).collect();
        assert!(
            tag.len() < 12 || !page.contains(&tag),
            "{tag:?} is in the page as it was"
        );
    }
    true
}

fn open(directory: &Path) -> Connection {
    let connection = Connection::open(directory.join("octavo.db")).expect("a sound store");
    let fast = connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY");
    fast.expect("a sound store");
    connection
}

/// Gives one column of one row, or of all, another value; where the schema lets
/// it.
fn change_a_value(connection: &Connection, damage: &mut Damage) {
    let names = |sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).expect("a query of the schema");
        let names = statement.query_map([], |row| row.get(0)).expect("names");
        names.map(|name| name.expect("a name")).collect()
    };
    let tables =
        names("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'");
    let table = damage.one_of(&tables);
    let columns = names(&format!("SELECT name FROM pragma_table_info('{table}')"));
    let column = damage.one_of(&columns);
    let old: Option<Value> = connection
        .query_row(
            &format!("SELECT \"{column}\" FROM \"{table}\" ORDER BY 1 LIMIT 1"),
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
        0 => String::new(),
        _ => format!("WHERE \"{column}\" = (SELECT max(\"{column}\") FROM \"{table}\")"),
    };
    let _kept_where_refused = connection.execute(
        &format!("UPDATE \"{table}\" SET \"{column}\" = ?1 {rows}"),
        [new],
    );
}
