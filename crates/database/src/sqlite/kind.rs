//! The description of SQLite.

use std::time::Duration;

use octavo_units::{ByteCount, PageSize};

use super::{JournalMode, Sqlite};
use crate::{
    Advice, Change, ChangeLine, ChangePlace, Cost, DatabaseKind, Defaults, OptionKind, PageSizes,
    ValueKind, description::buffer_is_all,
};

/// Sources: <https://www.sqlite.org/pragma.html#pragma_page_size> (the page
/// size of a database that exists changes with the next `VACUUM`, and not in
/// WAL mode) and <https://www.sqlite.org/pragma.html#pragma_cache_size>
/// (negative: KiB; for the connection alone). The default page size is that
/// since SQLite 3.12 (<https://www.sqlite.org/pgszchng2016.html>).
pub static KIND: DatabaseKind = DatabaseKind {
    name: "sqlite",
    aliases: &["sqlite3"],
    title: "SQLite",
    is_server: false,
    options: &[OptionKind {
        value_name: "MODE",
        is_condition: true,
        ..OptionKind::new(
            "journal-mode",
            ValueKind::Word(&JournalMode::NAMES),
            Some("wal"),
            "wal, delete, truncate or persist",
        )
    }],
    page_sizes: PageSizes {
        smallest: PageSize::MIN,
        largest: PageSize::MAX,
        default: PageSize::kib(4),
    },
    defaults: Defaults {
        budget: Duration::from_mins(5),
        memories: &[ByteCount::mib(8), ByteCount::mib(32)],
        page_sizes: &[
            PageSize::kib(2),
            PageSize::kib(4),
            PageSize::kib(8),
            PageSize::kib(16),
            PageSize::kib(64),
        ],
        clients: 1,
    },
    advice: Advice {
        page_size: Change {
            place: ChangePlace::OneSession,
            lines: &[
                ChangeLine {
                    text: "PRAGMA journal_mode = DELETE;",
                    only_with: Some(("journal-mode", "wal")),
                },
                ChangeLine::always("PRAGMA page_size = {bytes}; VACUUM;"),
                ChangeLine {
                    text: "PRAGMA journal_mode = WAL;",
                    only_with: Some(("journal-mode", "wal")),
                },
            ],
            costs: &[
                Cost::ExclusiveAccess,
                Cost::RoomForTwoCopies,
                Cost::LeaveWal,
            ],
        },
        buffer: Change {
            place: ChangePlace::EverySession,
            lines: &[ChangeLine::always("PRAGMA cache_size = -{kib};")],
            costs: &[Cost::DividedBySessions],
        },
        buffer_size: buffer_is_all,
        copying: "VACUUM INTO; a VACUUM in place writes them twice, and a journal",
    },
    make: |options| {
        let word: &str = options.get("journal-mode");
        let journal_mode = JournalMode::ALL
            .into_iter()
            .find(|mode| mode.name() == word);
        Ok(Box::new(Sqlite {
            journal_mode: journal_mode.unwrap_or_default(),
            ..Sqlite::default()
        }))
    },
};
