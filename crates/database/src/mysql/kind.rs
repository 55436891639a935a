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
    PageSizes, ValueKind, description::buffer_is_all,
};

/// The least redo log that all versions take: 8 MiB of MySQL since 8.0.30.
const REDO_MIN: ByteCount = REST_REDO;

/// MariaDB.
pub static MARIADB: DatabaseKind = DatabaseKind {
    name: "mariadb",
    title: "MariaDB",
    make: |options| Ok(Box::new(make(Flavour::Mariadb, options))),
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
        copying: "the statements of a dump, and new statistics; the dump comes on top",
    },
    make: |options| Ok(Box::new(make(Flavour::Mysql, options))),
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
