//! A row of table `part` with its session's time.

use std::fmt;

use jiff::Timestamp;
use rusqlite::Row;

use super::{damage, seconds};
use crate::part::{Host, PARTS_MAX, PartKind, PartOutcome, StoredPart};

/// What [`stored`] reads, `FROM part JOIN session USING (session)`.
pub(super) const STORED: &str = "part, session, kind, number, parts, host, host_name, octavo, part.started, outcome, set_aside, elapsed_s";

/// What is printed as a name, which could be lines of its own.
fn name(row: &Row<'_>, column: &str) -> rusqlite::Result<String> {
    let name: String = row.get(column)?;
    match Host::is_name(&name) {
        true => Ok(name),
        false => Err(damage(column, NotAName(&name))),
    }
}

/// A text that cannot be a name, as one line.
struct NotAName<'a>(&'a str);

impl fmt::Display for NotAName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let begin: String = self.0.chars().take(40).collect();
        write!(f, "{begin:?}")?;
        match self.0.chars().count() {
            ..=40 => Ok(()),
            more => write!(f, "... ({more} characters)"),
        }
    }
}

/// Reads one; what no part can be is damage.
pub(super) fn stored(row: &Row<'_>) -> rusqlite::Result<StoredPart> {
    let kind: String = row.get("kind")?;
    let outcome: Option<String> = row.get("outcome")?;
    let outcome = outcome.map(|name| {
        let mut known = PartOutcome::ALL.into_iter().filter(|of| of.name() == name);
        known.next().ok_or_else(|| damage("outcome", name))
    });
    let known = PartKind::ALL.into_iter().find(|of| of.name() == kind);
    let count = |name: &str| -> rusqlite::Result<u32> {
        let count: u32 = row.get(name)?;
        match count < PARTS_MAX {
            true => Ok(count),
            false => Err(damage(name, count)),
        }
    };
    let parts: Option<i64> = row.get("parts")?;
    let parts = parts.map(|_| count("parts")).transpose()?;
    let number = count("number")?;
    let kind = known.ok_or_else(|| damage("kind of part", kind))?;
    let is_division = match (kind, parts) {
        (PartKind::Sitting, parts) => parts != Some(0),
        (PartKind::Shard, parts) => parts.is_some_and(|parts| number < parts),
    };
    if !is_division {
        let parts = parts.map_or_else(|| "an unknown number".to_owned(), |parts| parts.to_string());
        return Err(damage("number of a part", format!("{number} of {parts}")));
    }
    let started: String = row.get("started")?;
    if let Err(error) = started.parse::<Timestamp>() {
        return Err(damage("begin of a part", error));
    }
    Ok(StoredPart {
        id: name(row, "part")?,
        session: row.get("session")?,
        kind,
        number,
        parts,
        host: Host {
            id: row.get("host")?,
            name: name(row, "host_name")?,
        },
        octavo: name(row, "octavo")?,
        started,
        outcome: outcome.transpose()?,
        set_aside: row.get("set_aside")?,
        spent_s: seconds(row, "elapsed_s")?.as_secs_f64(),
    })
}
