//! The descriptions of MySQL and MariaDB, and how they are made of their
//! options.

use std::sync::OnceLock;

use octavo_units::{ByteCount, PageSize};

use super::{
    arguments::REST_REDO,
    configured::Mysql,
    flavour::{Doublewrite, Flavour},
};
use crate::{
    Advice, Change, ChangeLine, ChangePlace, Cost, DatabaseKind, Defaults, OptionKind, Options,
    PageSizes, Rebuild, ValueKind, description::buffer_is_all,
};

/// The least redo log that all versions take: 8 MiB of MySQL since 8.0.30.
const REDO_MIN: ByteCount = REST_REDO;

/// MariaDB.
pub static MARIADB: DatabaseKind = DatabaseKind {
    name: "mariadb",
    title: "MariaDB",
    make: |options| Ok(Box::new(make(Flavour::Mariadb, options))),
    advice: Advice {
        rebuild: Some(REBUILD_MARIADB),
        ..MYSQL_LIKE.advice
    },
    ..MYSQL_LIKE
};

/// MySQL.
pub static MYSQL: DatabaseKind = DatabaseKind {
    name: "mysql",
    title: "MySQL",
    make: |options| Ok(Box::new(make(Flavour::Mysql, options))),
    ..MYSQL_LIKE
};

/// What both have in common. Sources of page sizes and advice:
/// <https://mariadb.com/kb/en/innodb-system-variables/#innodb_page_size> and
/// <https://dev.mysql.com/doc/refman/8.4/en/innodb-parameters.html> (the page
/// size is fixed when the data directory is made).
const MYSQL_LIKE: DatabaseKind = DatabaseKind {
    name: "",
    aliases: &[],
    title: "",
    is_server: true,
    has_threads: false,
    merges_files: false,
    writes_between_checkpoints: false,
    own_sizes: None,
    options: &[
        OptionKind::new(
            "bin",
            ValueKind::Text,
            None,
            "the directory of the programs, or the server",
        ),
        OptionKind {
            value_name: "ON|OFF|DETECT",
            ..OptionKind::new(
                "doublewrite",
                ValueKind::Word(&["on", "off", "detect"]),
                Some("on"),
                "on, off or detect; off leaves pages unprotected from being torn",
            )
        },
        OptionKind::new(
            "redo",
            ValueKind::Bytes(REDO_MIN..=ByteCount::new(u64::MAX)),
            Some("512MiB"),
            "size of the redo log",
        ),
    ],
    page_sizes: PageSizes {
        smallest: PageSize::kib(4),
        largest: PageSize::kib(64),
        default: PageSize::kib(16),
    },
    defaults: Defaults::of_server(&[
        PageSize::kib(4),
        PageSize::kib(8),
        PageSize::kib(16),
        PageSize::kib(32),
        PageSize::kib(64),
    ]),
    advice: Advice {
        page_size: Change {
            place: CONFIGURATION,
            lines: &[ChangeLine::always("innodb_page_size = {bytes}")],
            costs: &[Cost::NewDataDirectory, Cost::DumpAndRestore],
        },
        buffer: Change {
            place: CONFIGURATION,
            lines: &[ChangeLine::always("innodb_buffer_pool_size = {bytes}")],
            costs: &[],
        },
        buffer_size: buffer_is_all,
        session_buffers: None,
        rebuild: Some(REBUILD_MYSQL),
    },
    make: |options| Ok(Box::new(make(Flavour::Mysql, options))),
};

const STOP_WRITERS: ChangeLine = ChangeLine::always("# Stop all that writes to the old server.");
const CONFIGURE: ChangeLine = ChangeLine::always(
    "# In my.cnf: datadir = NEW, innodb_page_size = {bytes}; then start the server.",
);
const BACK: ChangeLine =
    ChangeLine::always("# To go back: my.cnf as it was; then start the server.");
const NO_RETURN: ChangeLine =
    ChangeLine::always("# POINT OF NO RETURN: the first client that writes to the new server.");
const BACK_AFTER: ChangeLine =
    ChangeLine::always("# To go back after that: these steps with the old page size.");
/// The old data directory stays. Sources:
/// <https://mariadb.com/kb/en/mariadb-install-db/>, <https://mariadb.com/kb/en/mariadb-dump/>.
const REBUILD_MARIADB: Rebuild = Rebuild {
    steps: &[
        ChangeLine::always(
            "mariadb-install-db --user=mysql --datadir=NEW --innodb-page-size={bytes}",
        ),
        STOP_WRITERS,
        ChangeLine::always(
            "mariadb-dump --all-databases --routines --events --single-transaction > everything.sql",
        ),
        CONFIGURE,
        ChangeLine::always("mariadb < everything.sql && mariadb -e 'FLUSH PRIVILEGES'"),
        ChangeLine::always("mariadb-check --all-databases --analyze"),
        BACK,
        NO_RETURN,
        BACK_AFTER,
    ],
    ..REBUILD_MYSQL
};

/// As above, by <https://dev.mysql.com/doc/refman/8.4/en/data-directory-initialization.html>.
const REBUILD_MYSQL: Rebuild = Rebuild {
    steps: &[
        ChangeLine::always(
            "mysqld --initialize --user=mysql --datadir=NEW --innodb-page-size={bytes}",
        ),
        STOP_WRITERS,
        ChangeLine::always(
            "mysqldump --all-databases --routines --events --single-transaction > everything.sql",
        ),
        CONFIGURE,
        ChangeLine::always("mysql < everything.sql && mysql -e 'FLUSH PRIVILEGES'"),
        ChangeLine::always("mysqlcheck --all-databases --analyze"),
        BACK,
        NO_RETURN,
        BACK_AFTER,
    ],
    copying: "the statements of a dump, then ANALYZE TABLE",
    waiting: "writers, from the dump until clients use the new server",
    log: "",
};

const CONFIGURATION: ChangePlace = ChangePlace::Configuration {
    file: "my.cnf",
    section: Some("[mysqld]"),
};

impl Flavour {
    /// Its description.
    pub(crate) const fn kind(self) -> &'static DatabaseKind {
        match self {
            Self::Mysql => &MYSQL,
            Self::Mariadb => &MARIADB,
        }
    }
}

/// Makes one of the two with options.
pub(super) fn make(flavour: Flavour, options: &Options) -> Mysql {
    Mysql {
        flavour,
        programs: options.given_value::<String>("bin").map(Into::into),
        doublewrite: match options.get("doublewrite") {
            "off" => Doublewrite::Off,
            "detect" => Doublewrite::Detect,
            _ => Doublewrite::On,
        },
        // Redo logs are counted in whole MiB.
        redo: ByteCount::mib(options.get::<ByteCount>("redo").get() >> 20),
        found: OnceLock::new(),
    }
}
