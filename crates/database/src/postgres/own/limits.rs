//! What a server's schema and settings say of another page size.

use octavo_units::PageSize;
use octavo_workload::Limit;
use serde::Deserialize;

use super::super::KIND;

/// What the server is asked.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Facts {
    /// Extensions of the database but those that come with every server.
    extensions: Vec<String>,
    /// Other databases of the server.
    databases: u64,
    /// Servers that are sent its log.
    receivers: u64,
    physical_slots: u64,
    logical_slots: u64,
    archive_mode: String,
    wal_level: String,
    full_page_writes: String,
    /// Whether the server follows another one.
    is_standby: bool,
    /// Tables that have values out of line.
    toasted: u64,
}

/// As a part of a question. `pg_stat_replication` shows to everybody that there are rows, though
/// not what is in them, and all other views and settings here are for everybody.
pub(super) const QUESTION: &str = "\
    (SELECT json_build_object( \
      'extensions', (SELECT coalesce(json_agg(extname ORDER BY extname), '[]') FROM pg_extension \
        WHERE extname <> 'plpgsql'), \
      'databases', (SELECT count(*) FROM pg_database \
        WHERE datallowconn AND NOT datistemplate AND datname <> current_database()), \
      'receivers', (SELECT count(*) FROM pg_stat_replication), \
      'physical_slots', (SELECT count(*) FROM pg_replication_slots WHERE slot_type = 'physical'), \
      'logical_slots', (SELECT count(*) FROM pg_replication_slots WHERE slot_type = 'logical'), \
      'archive_mode', current_setting('archive_mode'), \
      'wal_level', current_setting('wal_level'), \
      'full_page_writes', current_setting('full_page_writes'), \
      'is_standby', pg_is_in_recovery(), \
      'toasted', (SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n \
        ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND c.relpersistence <> 't' \
        AND n.nspname NOT IN ('pg_catalog', 'information_schema') \
        AND c.reltoastrelid <> 0 AND pg_relation_size(c.reltoastrelid) > 0)))";

/// Extensions that a sentence names.
const NAMED_MAX: usize = 3;

/// What has to be known before the page size is changed. What forbids one is found when rows are
/// restored: rows and index entries that are too long for a page.
///
/// | rule | source |
/// |---|---|
/// | The block size is the build's, and extensions are built for it | <https://www.postgresql.org/docs/current/install-make.html#CONFIGURE-OPTION-WITH-BLOCKSIZE> |
/// | `pg_upgrade` refuses another one | `check_control_data` in `src/bin/pg_upgrade/controldata.c` |
/// | A server starts on no files of another one, so neither do standbys and base backups | `ReadControlFile` in `src/backend/access/transam/xlog.c` |
/// | Logical replication sends rows, not pages | <https://www.postgresql.org/docs/current/logical-replication.html> |
/// | Rows of more than about a quarter of a page have values out of line | `TOAST_TUPLE_THRESHOLD` in `src/include/access/heaptoast.h` |
pub(super) fn limits(facts: &Facts, present: PageSize) -> Vec<Limit> {
    let sizes: Vec<PageSize> = KIND
        .page_sizes
        .iter()
        .filter(|size| *size != present)
        .collect();
    let others = || sizes.iter().copied();
    let usual = KIND.page_sizes.default;
    let mut limits = Vec::new();
    if facts.is_standby {
        limits.push(Limit::new(
            others(),
            "This server is a standby: it has the page size of its primary, which has to change",
            "src/backend/access/transam/xlog.c (ReadControlFile)",
        ));
    }
    let named = named(&facts.extensions);
    let built = match named.is_empty() {
        true => String::new(),
        false => format!(", and extensions: {named}"),
    };
    limits.push(Limit::new(
        others().filter(|size| *size != usual),
        format!("Packages have {usual} pages: build each update yourself{built}"),
        "https://www.postgresql.org/docs/current/install-make.html#CONFIGURE-OPTION-WITH-BLOCKSIZE",
    ));
    if present != usual && !named.is_empty() {
        limits.push(Limit::new(
            [usual],
            format!("Extensions are to be installed for {usual} pages: {named}"),
            "https://www.postgresql.org/docs/current/install-make.html#CONFIGURE-OPTION-WITH-BLOCKSIZE",
        ));
    }
    limits.push(Limit::new(
        others(),
        "pg_upgrade refuses another page size: dump and restore, or logical replication",
        "src/bin/pg_upgrade/controldata.c (check_control_data)",
    ));
    if let Some(following) = following(facts) {
        limits.push(Limit::new(
            others(),
            format!("{following}: physical standbys are to be made anew from the new server"),
            "src/backend/access/transam/xlog.c (ReadControlFile)",
        ));
    }
    if facts.logical_slots > 0 {
        let slots = counted(facts.logical_slots, "logical slot");
        limits.push(Limit::new(
            others(),
            format!("{slots}: subscribers need new ones, and may keep their page size"),
            "https://www.postgresql.org/docs/current/logical-replication.html",
        ));
    }
    if !matches!(facts.archive_mode.as_str(), "off" | "") {
        limits.push(Limit::new(
            others(),
            "archive_mode is on: neither old base backups nor archived log fit the new server",
            "https://www.postgresql.org/docs/current/continuous-archiving.html",
        ));
    }
    limits.push(Limit::new(
        others(),
        match facts.wal_level.as_str() {
            "logical" => {
                "Writers stop until the switch, or for seconds by logical replication".into()
            }
            level => format!(
                "Writers stop until the switch, or seconds by logical replication (wal_level={level}: \
 restart)"
            ),
        },
        "https://www.postgresql.org/docs/current/logical-replication-config.html",
    ));
    if facts.databases > 0 {
        let databases = counted(facts.databases, "other database");
        limits.push(Limit::new(
            others(),
            format!("A page size is of the whole server: {databases} would move too"),
            "https://www.postgresql.org/docs/current/app-initdb.html",
        ));
    }
    if facts.full_page_writes == "off" {
        limits.push(Limit::new(
            others().filter(|size| *size > present),
            "full_page_writes is off: a crash can tear larger pages that are written in parts",
            "https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-FULL-PAGE-WRITES",
        ));
    }
    if facts.toasted > 0 {
        let tables = counted(facts.toasted, "table");
        let has = if facts.toasted == 1 { "has" } else { "have" };
        let now = bytes(toast_threshold(present));
        limits.extend(others().map(|size| {
            let then = bytes(toast_threshold(size));
            Limit::new(
                [size],
                format!(
                    "{tables} {has} values out of line: those of rows above {then} bytes, now {now}"
                ),
                "https://www.postgresql.org/docs/current/storage-toast.html",
            )
        }));
    }
    limits.retain(|limit| !limit.page_sizes.is_empty());
    limits
}

/// Who is sent the log as it is.
fn following(facts: &Facts) -> Option<String> {
    match (facts.receivers, facts.physical_slots) {
        (0, 0) => None,
        (0, slots) => Some(counted(slots, "physical slot")),
        (1, _) => Some("1 server receives the log".into()),
        (receivers, _) => Some(format!("{receivers} servers receive the log")),
    }
}

/// Names, or the first of them and how many more.
fn named(extensions: &[String]) -> String {
    let mut names: Vec<String> = extensions.iter().take(NAMED_MAX).cloned().collect();
    if extensions.len() > NAMED_MAX {
        names.push(format!("{} more", extensions.len() - NAMED_MAX));
    }
    names.join(", ")
}

fn counted(number: u64, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    }
}

/// The bytes of a row from which on values of it are stored out of line, so that four rows fit in a
/// page: its header has 24 bytes, and four pointers to rows 16 (`MaximumBytesPerTuple`).
fn toast_threshold(page_size: PageSize) -> u32 {
    (page_size.get() - 40) / 4 / 8 * 8
}

/// As in "2,032".
fn bytes(number: u32) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", number / 1000, number % 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Facts {
        Facts {
            archive_mode: "off".into(),
            wal_level: "replica".into(),
            full_page_writes: "on".into(),
            ..Facts::default()
        }
    }

    fn said(facts: &Facts, present: u32, wanted: u32) -> Vec<String> {
        let limits = limits(facts, PageSize::kib(present));
        assert!(
            limits
                .iter()
                .all(|limit| !limit.is_of(PageSize::kib(present)))
        );
        assert!(limits.iter().all(|limit| !limit.forbids));
        // Each is a line of a terminal.
        assert!(
            limits.iter().all(|limit| limit.what.chars().count() < 98),
            "{limits:#?}"
        );
        let of = limits
            .into_iter()
            .filter(|limit| limit.is_of(PageSize::kib(wanted)));
        of.map(|limit| limit.what).collect()
    }

    #[test]
    fn a_server_of_packages_has_to_be_built() {
        let found = said(&plain(), 8, 16);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(
            found[0].ends_with("build each update yourself"),
            "{found:?}"
        );
        assert!(found[2].contains("wal_level=replica"), "{found:?}");
        // The way back to what packages have needs no build.
        assert!(said(&plain(), 16, 8)[0].starts_with("pg_upgrade"));
        let facts = Facts {
            extensions: ["a", "b", "c", "d", "e"].map(Into::into).to_vec(),
            ..plain()
        };
        assert!(said(&facts, 8, 16)[0].ends_with("extensions: a, b, c, 2 more"));
        assert!(said(&facts, 16, 8)[0].ends_with("for 8 KiB pages: a, b, c, 2 more"));
    }

    #[test]
    fn what_follows_the_server_is_told() {
        let facts = Facts {
            receivers: 2,
            physical_slots: 1,
            logical_slots: 1,
            archive_mode: "always".into(),
            wal_level: "logical".into(),
            databases: 1,
            full_page_writes: "off".into(),
            is_standby: true,
            toasted: 3,
            ..plain()
        };
        let found = said(&facts, 8, 16);
        for part in [
            "is a standby",
            "2 servers receive the log",
            "1 logical slot:",
            "archive_mode is on",
            "for seconds by logical replication",
            "1 other database would",
            "can tear larger pages",
            "3 tables have values out of line: those of rows above 4,080 bytes, now 2,032",
        ] {
            assert!(
                found.iter().any(|line| line.contains(part)),
                "{part}: {found:#?}"
            );
        }
        // Smaller pages are not torn more.
        assert!(!said(&facts, 8, 4).iter().any(|line| line.contains("tear")));
        let facts = Facts {
            physical_slots: 1,
            ..plain()
        };
        assert!(
            said(&facts, 8, 16)
                .iter()
                .any(|line| line.starts_with("1 physical slot:"))
        );
    }
}
