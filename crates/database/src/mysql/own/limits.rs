//! What a server's schema and settings say of another page size.

use std::collections::BTreeMap;

use octavo_units::PageSize;
use octavo_workload::Limit;
use serde::Deserialize;

use super::{
    super::{Flavour, MARIADB},
    original::Original,
};
use crate::Result;

/// What the server is asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    tables: Vec<Table>,
    keys: Vec<Key>,
    /// Names in small letters.
    settings: BTreeMap<String, String>,
    counts: Counts,
}

/// A table with options.
#[derive(Clone, Debug, Deserialize)]
struct Table {
    name: String,
    row_format: Option<String>,
    options: Option<String>,
}

/// An index whose entries may be long.
#[derive(Clone, Debug, Deserialize)]
struct Key {
    table: String,
    name: String,
    is_unique: u64,
    parts: u64,
    /// Parts that have the beginning of a column alone.
    prefixes: u64,
    /// The most bytes of an entry, without those of some short columns.
    bytes: u64,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Counts {
    /// Other databases of the server that the account may see.
    databases: u64,
    /// Replicas that are connected, as far as the account may know.
    replicas: u64,
}

#[derive(Clone, Debug, Deserialize)]
struct Setting {
    name: String,
    value: Option<String>,
}

const TABLES: &str = "\
    SELECT JSON_OBJECT('name', TABLE_NAME, 'row_format', ROW_FORMAT, 'options', CREATE_OPTIONS) \
    FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND ENGINE = 'InnoDB' \
    AND (ROW_FORMAT = 'Compressed' OR CREATE_OPTIONS <> '') ORDER BY TABLE_NAME";

/// Of columns whose bytes depend on the version the least are counted.
const KEYS: &str = "\
    SELECT JSON_OBJECT('table', TABLE_NAME, 'name', INDEX_NAME, 'is_unique', is_unique, \
      'parts', parts, 'prefixes', prefixes, 'bytes', bytes) FROM ( \
      SELECT s.TABLE_NAME, s.INDEX_NAME, 1 - MAX(s.NON_UNIQUE) AS is_unique, COUNT(*) AS parts, \
        COUNT(s.SUB_PART) AS prefixes, \
        CAST(SUM(CASE \
          WHEN c.DATA_TYPE IN ('enum', 'set') THEN 1 \
          WHEN s.SUB_PART IS NOT NULL AND c.CHARACTER_SET_NAME IS NOT NULL THEN s.SUB_PART * \
            (SELECT MAXLEN FROM information_schema.CHARACTER_SETS AS m \
              WHERE m.CHARACTER_SET_NAME = c.CHARACTER_SET_NAME) \
          WHEN s.SUB_PART IS NOT NULL THEN s.SUB_PART \
          WHEN c.CHARACTER_OCTET_LENGTH IS NOT NULL THEN c.CHARACTER_OCTET_LENGTH \
          WHEN c.DATA_TYPE IN ('bigint', 'double') THEN 8 \
          WHEN c.DATA_TYPE = 'datetime' THEN 5 \
          WHEN c.DATA_TYPE IN ('int', 'float', 'timestamp') THEN 4 \
          WHEN c.DATA_TYPE IN ('mediumint', 'date', 'time') THEN 3 \
          WHEN c.DATA_TYPE = 'smallint' THEN 2 \
          ELSE 1 END) AS UNSIGNED) AS bytes \
      FROM information_schema.STATISTICS AS s JOIN information_schema.COLUMNS AS c \
      ON c.TABLE_SCHEMA = s.TABLE_SCHEMA AND c.TABLE_NAME = s.TABLE_NAME \
        AND c.COLUMN_NAME = s.COLUMN_NAME \
      JOIN information_schema.TABLES AS t \
      ON t.TABLE_SCHEMA = s.TABLE_SCHEMA AND t.TABLE_NAME = s.TABLE_NAME \
      WHERE s.TABLE_SCHEMA = DATABASE() AND t.ENGINE = 'InnoDB' \
        AND s.INDEX_TYPE NOT IN ('FULLTEXT', 'SPATIAL', 'HASH') \
      GROUP BY s.TABLE_NAME, s.INDEX_NAME) AS found \
    WHERE bytes > 768 ORDER BY bytes DESC, TABLE_NAME, INDEX_NAME LIMIT 1000";

const SETTINGS: &str = "\
    SELECT JSON_OBJECT('name', LOWER(VARIABLE_NAME), 'value', VARIABLE_VALUE) FROM VARIABLES \
    WHERE LOWER(VARIABLE_NAME) IN ('group_replication_group_name', 'innodb_doublewrite', \
      'innodb_encrypt_tables', 'log_bin', 'wsrep_on')";

/// Without the right to see all sessions, an account sees no replica of MySQL.
const COUNTS: &str = "\
    SELECT JSON_OBJECT( \
      'databases', (SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME NOT IN \
        ('information_schema', 'mysql', 'performance_schema', 'sys', DATABASE())), \
      'replicas', (SELECT COUNT(*) FROM information_schema.PROCESSLIST \
        WHERE COMMAND LIKE 'Binlog Dump%') MORE)";

/// MariaDB tells all accounts.
const MORE: &str = "\
    + (SELECT CASE WHEN found > 0 THEN 0 ELSE connected END FROM (SELECT \
      (SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%') AS found, \
      (SELECT CAST(VARIABLE_VALUE AS UNSIGNED) FROM information_schema.GLOBAL_STATUS \
        WHERE VARIABLE_NAME = 'SLAVES_CONNECTED') AS connected) AS replicas)";

impl Facts {
    pub(super) fn ask(original: &Original) -> Result<Self> {
        let (variables, more) = match original.tools().flavour {
            Flavour::Mariadb => ("information_schema.GLOBAL_VARIABLES", MORE),
            Flavour::Mysql => ("performance_schema.global_variables", ""),
        };
        let settings: Vec<Setting> =
            original.ask(&SETTINGS.replace("VARIABLES ", &format!("{variables} ")))?;
        let settings = settings.into_iter();
        let counts: Vec<Counts> = original.ask(&COUNTS.replace("MORE", more))?;
        Ok(Self {
            tables: original.ask(TABLES)?,
            keys: original.ask(KEYS)?,
            settings: settings
                .map(|setting| (setting.name, setting.value.unwrap_or_default()))
                .collect(),
            counts: counts.into_iter().next().unwrap_or_default(),
        })
    }

    fn is_on(&self, name: &str) -> bool {
        let value = self.settings.get(name).map(String::as_str);
        matches!(value, Some("ON" | "1" | "FORCE"))
    }

    fn is_off(&self, name: &str) -> bool {
        let value = self.settings.get(name).map(String::as_str);
        matches!(value, Some("OFF" | "0"))
    }
}

impl Table {
    /// The value of an option, as in ``row_format=COMPRESSED key_block_size=8`` and
    /// `` `page_compressed`='1' ``.
    fn option(&self, name: &str) -> Option<String> {
        let options = self
            .options
            .as_deref()?
            .to_lowercase()
            .replace(['`', '\'', '"'], "");
        let mut options = options.split_whitespace();
        options.find_map(|option| Some(option.strip_prefix(name)?.strip_prefix('=')?.to_owned()))
    }

    fn is_compressed(&self) -> bool {
        let format = self.row_format.as_deref();
        format.is_some_and(|format| format.eq_ignore_ascii_case("compressed"))
    }

    /// `PAGE_COMPRESSED` of MariaDB, `COMPRESSION` of MySQL.
    fn punches_holes(&self) -> bool {
        let is_on = |value: String| !matches!(value.as_str(), "0" | "off" | "none" | "");
        let options = ["page_compressed", "compression"].map(|name| self.option(name));
        options.into_iter().flatten().any(is_on)
    }

    fn is_encrypted(&self) -> bool {
        let options = ["encrypted", "encryption"].map(|name| self.option(name));
        let is_on = |value: String| matches!(value.as_str(), "yes" | "on" | "1" | "y");
        options.into_iter().flatten().any(is_on)
    }
}

/// The longest entry of an index, in bytes. MariaDB takes 1,173 with 4 KiB pages, so that its own
/// tables of statistics can be made (`max_supported_key_length` in
/// `storage/innobase/handler/ha_innodb.cc`; tried with 10.11), and MySQL 768.
fn key_max(flavour: Flavour, page_size: PageSize) -> u64 {
    match (page_size.get(), flavour) {
        (..=4096, Flavour::Mariadb) => 1173,
        (..=4096, Flavour::Mysql) => 768,
        (..=8192, _) => 1536,
        _ => 3072,
    }
}

/// What forbids a page size, and what has to be known before one is changed.
///
/// | rule | source |
/// |---|---|
/// | `ROW_FORMAT=COMPRESSED` has no pages of 32 and 64 KiB, and its blocks are no larger than a page | <https://dev.mysql.com/doc/refman/8.4/en/innodb-compression-usage.html>, <https://mariadb.com/kb/en/innodb-compressed-row-format/> |
/// | The longest key | <https://dev.mysql.com/doc/refman/8.4/en/innodb-limits.html> |
/// | A unique key that is too long becomes a hash index | <https://mariadb.com/kb/en/getting-started-with-indexes/#unique-index> |
/// | Page compression frees blocks of the file system | <https://dev.mysql.com/doc/refman/8.4/en/innodb-page-compression.html> |
/// | Galera keeps its position behind the first 4 KiB of a page | <https://github.com/codership/galera/issues/398> |
/// | Cloning needs the same page size | <https://dev.mysql.com/doc/refman/8.4/en/clone-plugin-remote.html> |
/// | A page size is that of all InnoDB files of a server | <https://dev.mysql.com/doc/refman/8.4/en/innodb-parameters.html#sysvar_innodb_page_size> |
/// | Exported tablespaces need the same page size | <https://dev.mysql.com/doc/refman/8.4/en/innodb-table-import.html> |
pub(super) fn limits(facts: &Facts, flavour: Flavour, present: PageSize) -> Vec<Limit> {
    let mut limits = compression(facts, present);
    limits.extend(keys(facts, flavour, present));
    limits.extend(servers(facts, flavour, present));
    limits.retain(|limit| !limit.page_sizes.is_empty());
    limits
}

/// That they could not be asked for.
pub(super) fn unknown(reason: &str, present: PageSize) -> Limit {
    Limit::new(
        others(present),
        format!("Your server did not tell what limits its page size: {reason}"),
        "https://dev.mysql.com/doc/refman/8.4/en/information-schema.html",
    )
}

fn others(present: PageSize) -> impl Iterator<Item = PageSize> {
    MARIADB
        .page_sizes
        .iter()
        .filter(move |size| *size != present)
}

/// Of tables that are compressed or encrypted.
fn compression(facts: &Facts, present: PageSize) -> Vec<Limit> {
    const FORMAT: &str = "https://dev.mysql.com/doc/refman/8.4/en/innodb-compression-usage.html";
    let mut limits = Vec::new();
    let compressed: Vec<&Table> = facts
        .tables
        .iter()
        .filter(|of| of.is_compressed())
        .collect();
    if !compressed.is_empty() {
        limits.push(
            Limit::new(
                others(present).filter(|size| *size > PageSize::kib(16)),
                format!(
                    "{} ROW_FORMAT=COMPRESSED, which pages of 32 KiB and more do not have",
                    named(compressed.iter().map(|of| of.name.as_str()), "has", "have")
                ),
                FORMAT,
            )
            .forbidding(),
        );
    }
    for kib in [16, 8] {
        let block = |of: &&&Table| {
            let size = of.option("key_block_size")?;
            size.parse::<u32>().ok().filter(|size| *size == kib)
        };
        let with: Vec<&&Table> = compressed.iter().filter(|of| block(of).is_some()).collect();
        if !with.is_empty() {
            limits.push(
                Limit::new(
                    others(present).filter(|size| *size < PageSize::kib(kib)),
                    format!(
                        "{} KEY_BLOCK_SIZE={kib}, which is larger than such a page",
                        named(with.iter().map(|of| of.name.as_str()), "has", "have")
                    ),
                    FORMAT,
                )
                .forbidding(),
            );
        }
    }
    let punched = facts.tables.iter().filter(|of| of.punches_holes());
    let punched: Vec<&str> = punched.map(|of| of.name.as_str()).collect();
    if !punched.is_empty() {
        limits.push(Limit::new(
            others(present).filter(|size| *size <= PageSize::kib(4)),
            format!(
                "{} page compression, which saves nothing where file systems have blocks of 4 KiB",
                named(punched.into_iter(), "has", "have")
            ),
            "https://dev.mysql.com/doc/refman/8.4/en/innodb-page-compression.html",
        ));
    }
    let encrypted = facts.tables.iter().any(Table::is_encrypted);
    if encrypted || facts.is_on("innodb_encrypt_tables") {
        limits.push(Limit::new(
            others(present),
            "Tables are encrypted: a dump is not, and the new server needs their key service",
            "https://dev.mysql.com/doc/refman/8.4/en/innodb-data-encryption.html",
        ));
    }
    limits
}

/// Of indexes whose entries are longer than pages allow.
fn keys(facts: &Facts, flavour: Flavour, present: PageSize) -> Vec<Limit> {
    let mut limits = Vec::new();
    for page_size in others(present) {
        let most = key_max(flavour, page_size);
        let too_long: Vec<&Key> = facts.keys.iter().filter(|key| key.bytes > most).collect();
        let becomes_hash =
            |key: &Key| key.is_unique > 0 && key.name != "PRIMARY" && flavour == Flavour::Mariadb;
        // One column's prefix is made shorter, with a note.
        let is_shortened = |key: &Key| key.is_unique == 0 && key.prefixes > 0 && key.parts == 1;
        let told = |of: &dyn Fn(&Key) -> bool| {
            let keys = too_long.iter().filter(|key| of(key));
            let names: Vec<String> = keys
                .map(|key| format!("{}.{}", key.table, key.name))
                .collect();
            (!names.is_empty()).then_some(names)
        };
        // What several columns with prefixes become is left to the server.
        let is_refused = |key: &Key| !becomes_hash(key) && key.prefixes == 0;
        if let Some(names) = told(&is_refused) {
            let longest = too_long
                .iter()
                .filter(|key| is_refused(key))
                .map(|key| key.bytes)
                .max();
            limits.push(
                Limit::new(
                    [page_size],
                    format!(
                        "{} up to {} bytes a key, and {page_size} pages take {most}",
                        named(names.iter().map(String::as_str), "has", "have"),
                        longest.unwrap_or_default(),
                    ),
                    "https://dev.mysql.com/doc/refman/8.4/en/innodb-limits.html",
                )
                .forbidding(),
            );
        }
        if let Some(names) = told(&becomes_hash) {
            limits.push(Limit::new(
                [page_size],
                format!(
                    "{} more than {most} bytes a key: a hash index then, without order and ranges",
                    named(names.iter().map(String::as_str), "has", "have")
                ),
                "https://mariadb.com/kb/en/getting-started-with-indexes/#unique-index",
            ));
        }
        if let Some(names) = told(&is_shortened) {
            limits.push(Limit::new(
                [page_size],
                format!(
                    "{} a prefix of more than {most} bytes, which is made shorter",
                    named(names.iter().map(String::as_str), "has", "have")
                ),
                "https://dev.mysql.com/doc/refman/8.4/en/innodb-limits.html",
            ));
        }
    }
    limits
}

/// Of the server and those that follow it.
fn servers(facts: &Facts, flavour: Flavour, present: PageSize) -> Vec<Limit> {
    let mut limits = Vec::new();
    let usual = MARIADB.page_sizes.default;
    if facts.is_on("wsrep_on") {
        limits.push(Limit::new(
            others(present).filter(|size| *size != usual),
            format!(
                "Galera is tried with {usual}: nodes with 4 KiB crashed at a restart (codership/galera#398)"
            ),
            "https://github.com/codership/galera/issues/398",
        ));
        limits.push(Limit::new(
            others(present),
            "All nodes of a cluster need the same page size: a node that joins gets files",
            "https://mariadb.com/kb/en/introduction-to-state-snapshot-transfers-ssts/",
        ));
    }
    let group = facts.settings.get("group_replication_group_name");
    if group.is_some_and(|name| !name.is_empty()) {
        limits.push(Limit::new(
            others(present),
            "Members of Group Replication that are cloned need the page size of the others",
            "https://dev.mysql.com/doc/refman/8.4/en/group-replication-cloning.html",
        ));
    }
    if facts.counts.replicas > 0 {
        let (replicas, keep) = match facts.counts.replicas {
            1 => ("1 replica".to_owned(), "may keep its"),
            replicas => (format!("{replicas} replicas"), "may keep their"),
        };
        limits.push(Limit::new(
            others(present),
            format!("{replicas} {keep} page size, but cannot be made of the new server's files"),
            "https://dev.mysql.com/doc/refman/8.4/en/clone-plugin-remote.html",
        ));
    }
    let backup = match flavour {
        Flavour::Mariadb => "mariadb-backup",
        Flavour::Mysql => "XtraBackup, CLONE",
    };
    limits.push(Limit::new(
        others(present),
        format!(
            "Copies of files ({backup}, FLUSH TABLES ... FOR EXPORT) do not fit the new server"
        ),
        "https://dev.mysql.com/doc/refman/8.4/en/innodb-table-import.html",
    ));
    limits.push(Limit::new(
        others(present),
        match facts.is_on("log_bin") {
            true => "Writers stop until the switch, or for seconds if the new server is a replica first",
            false => "Writers stop until the switch, or seconds by a replica first (log_bin is OFF: restart)",
        },
        "https://dev.mysql.com/doc/refman/8.4/en/replication-howto.html",
    ));
    if facts.counts.databases > 0 {
        let databases = match facts.counts.databases {
            1 => "1 other database".to_owned(),
            databases => format!("{databases} other databases"),
        };
        limits.push(Limit::new(
            others(present),
            format!("A page size is of the whole server: {databases} would move too"),
            "https://dev.mysql.com/doc/refman/8.4/en/innodb-parameters.html#sysvar_innodb_page_size",
        ));
    }
    if facts.is_off("innodb_doublewrite") {
        limits.push(Limit::new(
            others(present).filter(|size| *size > present),
            "innodb_doublewrite is off: a crash can tear larger pages that are written in parts",
            "https://dev.mysql.com/doc/refman/8.4/en/innodb-doublewrite-buffer.html",
        ));
    }
    limits
}

/// Names with their verb: "item has", "item, note and 3 more have".
fn named<'n>(names: impl Iterator<Item = &'n str>, one: &str, several: &str) -> String {
    const NAMED_MAX: usize = 2;
    let names: Vec<&str> = names.collect();
    let more = names.len().saturating_sub(NAMED_MAX);
    match names.as_slice() {
        [name] => format!("{name} {one}"),
        [first, second] => format!("{first} and {second} {several}"),
        [first, second, ..] => format!("{first}, {second} and {more} more {several}"),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, row_format: &str, options: &str) -> Table {
        Table {
            name: name.into(),
            row_format: Some(row_format.into()),
            options: Some(options.into()),
        }
    }

    fn key(name: &str, is_unique: u64, prefixes: u64, bytes: u64) -> Key {
        Key {
            table: "item".into(),
            name: name.into(),
            is_unique,
            parts: 1,
            prefixes,
            bytes,
        }
    }

    /// What is said of a page size, and whether it is forbidden.
    fn said(facts: &Facts, flavour: Flavour, page_size: u32) -> (Vec<String>, bool) {
        let present = PageSize::kib(16);
        let limits = limits(facts, flavour, present);
        assert!(limits.iter().all(|limit| !limit.is_of(present)));
        // Each is a line of a terminal.
        assert!(
            limits.iter().all(|limit| limit.what.chars().count() < 98),
            "{limits:#?}"
        );
        let of: Vec<&Limit> = limits
            .iter()
            .filter(|limit| limit.is_of(PageSize::kib(page_size)))
            .collect();
        let forbids = of.iter().any(|limit| limit.forbids);
        (of.iter().map(|limit| limit.what.clone()).collect(), forbids)
    }

    #[test]
    fn compressed_tables_forbid_what_their_blocks_do_not_fit_in() {
        let facts = Facts {
            tables: vec![
                table("a", "Compressed", "row_format=COMPRESSED key_block_size=8"),
                table("b", "Compressed", "row_format=COMPRESSED"),
                table("c", "Dynamic", "`page_compressed`='1' `encrypted`='YES'"),
                table("d", "Dynamic", "COMPRESSION=\"zlib\" ENCRYPTION='N'"),
                table("e", "Dynamic", "`page_compressed`=0 stats_persistent=1"),
            ],
            ..Facts::default()
        };
        for (size, forbidden) in [(4, true), (8, false), (32, true), (64, true)] {
            let (found, forbids) = said(&facts, Flavour::Mariadb, size);
            assert_eq!(forbids, forbidden, "{size}: {found:?}");
        }
        let (found, _) = said(&facts, Flavour::Mariadb, 32);
        assert!(
            found[0].starts_with("a and b have ROW_FORMAT=COMPRESSED"),
            "{found:?}"
        );
        let (found, _) = said(&facts, Flavour::Mariadb, 4);
        assert!(found[0].starts_with("a has KEY_BLOCK_SIZE=8"), "{found:?}");
        assert!(
            found[1].starts_with("c and d have page compression"),
            "{found:?}"
        );
        assert!(found[2].starts_with("Tables are encrypted"), "{found:?}");
    }

    #[test]
    fn keys_that_are_too_long_forbid_small_pages() {
        let of = |key: Key| Facts {
            keys: vec![key],
            ..Facts::default()
        };
        for (bytes, flavour, forbidden) in [
            (1173, Flavour::Mariadb, vec![]),
            (1174, Flavour::Mariadb, vec![4]),
            (769, Flavour::Mysql, vec![4]),
            (1536, Flavour::Mysql, vec![4]),
            (1537, Flavour::Mariadb, vec![4, 8]),
            (3072, Flavour::Mariadb, vec![4, 8]),
        ] {
            let facts = of(key("name", 0, 0, bytes));
            let found: Vec<u32> = [4, 8, 32, 64]
                .into_iter()
                .filter(|size| said(&facts, flavour, *size).1)
                .collect();
            assert_eq!(found, forbidden, "{bytes}");
        }
        let (found, _) = said(&of(key("name", 0, 0, 2000)), Flavour::Mariadb, 8);
        assert_eq!(
            found[0],
            "item.name has up to 2000 bytes a key, and 8 KiB pages take 1536"
        );
        // What MariaDB makes of them instead.
        let (found, forbids) = said(&of(key("mail", 1, 0, 1200)), Flavour::Mariadb, 4);
        assert!(
            !forbids && found[0].contains("a hash index then"),
            "{found:?}"
        );
        assert!(said(&of(key("PRIMARY", 1, 0, 1200)), Flavour::Mariadb, 4).1);
        assert!(said(&of(key("mail", 1, 0, 1200)), Flavour::Mysql, 4).1);
        let (found, forbids) = said(&of(key("text", 0, 1, 1200)), Flavour::Mariadb, 4);
        assert!(
            !forbids && found[0].contains("is made shorter"),
            "{found:?}"
        );
    }

    #[test]
    fn what_follows_the_server_is_told() {
        let (found, forbids) = said(&Facts::default(), Flavour::Mariadb, 32);
        assert!(!forbids && found.len() == 2, "{found:?}");
        assert!(found[1].contains("log_bin is OFF"), "{found:?}");
        let settings = [
            ("wsrep_on", "ON"),
            ("innodb_doublewrite", "OFF"),
            ("innodb_encrypt_tables", "FORCE"),
            ("log_bin", "ON"),
            ("group_replication_group_name", "a-b"),
        ];
        let facts = Facts {
            settings: settings
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            counts: Counts {
                databases: 2,
                replicas: 1,
            },
            ..Facts::default()
        };
        let (found, forbids) = said(&facts, Flavour::Mysql, 32);
        assert!(!forbids);
        for part in [
            "encrypted",
            "codership/galera#398",
            "All nodes",
            "Group Replication",
            "1 replica may keep its page size",
            "XtraBackup",
            "is a replica first",
            "2 other databases would",
            "can tear larger pages",
        ] {
            assert!(
                found.iter().any(|line| line.contains(part)),
                "{part}: {found:#?}"
            );
        }
    }
}
