//! The description of SQLite.

use std::time::Duration;

use octavo_units::{ByteCount, PageSize};

use super::{JournalMode, OsCache, Sqlite, shares::MemoryShares};
use crate::{
    Advice, Change, ChangeLine, ChangePlace, Cost, DatabaseKind, Defaults, OptionKind, PageSizes,
    Rebuild, SessionBuffer, ValueKind, description::buffer_is_all,
};

/// The option of [`OsCache`].
const OS_CACHE: &str = "os-cache";

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
    has_threads: false,
    merges_files: false,
    writes_between_checkpoints: false,
    own_sizes: None,
    options: &[
        OptionKind {
            value_name: "MODE",
            is_condition: true,
            ..OptionKind::new(
                "journal-mode",
                ValueKind::Word(&JournalMode::NAMES),
                Some("wal"),
                "wal, delete, truncate or persist",
            )
        },
        OptionKind {
            is_of_runs: true,
            phrases: &[
                (
                    OsCache::None.name(),
                    "nothing of the file in the OS's memory",
                ),
                (OsCache::Whole.name(), "the whole file in the OS's memory"),
            ],
            ..OptionKind::new(
                OS_CACHE,
                ValueKind::Word(&OsCache::NAMES),
                Some(OsCache::None.name()),
                "what the OS holds of the file besides SQLite's cache: none or whole",
            )
        },
    ],
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
        held_by_os: Some((OS_CACHE, OsCache::Whole.name())),
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
            costs: &[],
        },
        buffer_size: buffer_is_all,
        session_buffers: Some(session_buffers),
        rebuild: Some(REBUILD),
    },
    make: |options| {
        let word: &str = options.get("journal-mode");
        let mut journal_modes = JournalMode::ALL.into_iter();
        let journal_mode = journal_modes.find(|mode| mode.name() == word);
        let word: &str = options.get(OS_CACHE);
        let os_cache = OsCache::ALL.into_iter().find(|held| held.name() == word);
        Ok(Box::new(Sqlite {
            journal_mode: journal_mode.unwrap_or_default(),
            os_cache: os_cache.unwrap_or_default(),
            ..Sqlite::default()
        }))
    },
};

/// As [`MemoryShares`] divides it.
fn session_buffers(memory: ByteCount, clients: u32) -> Vec<SessionBuffer> {
    let MemoryShares { writer, reader } = MemoryShares::divide(memory, clients);
    let of = |size, whose: &str| SessionBuffer {
        size,
        whose: whose.to_owned(),
    };
    match clients {
        0 | 1 => vec![of(writer, "")],
        _ => vec![
            of(writer, "The one that writes"),
            of(reader, &format!("Each of the {clients} that read")),
        ],
    }
}

/// The old file stays until the last step, so that nothing is lost if one fails. `VACUUM INTO` takes
/// the new page size in WAL mode too, but a log beside the old file would be played into the new one
/// (<https://www.sqlite.org/lang_vacuum.html#vacuuminto>, <https://www.sqlite.org/wal.html>).
const REBUILD: Rebuild = Rebuild {
    steps: &[
        ChangeLine::always("# End all programs that use {name}, and copy it to a backup."),
        ChangeLine {
            text: "sqlite3 {name} 'PRAGMA journal_mode = DELETE'",
            only_with: Some(("journal-mode", "wal")),
        },
        ChangeLine::always("sqlite3 {name} 'PRAGMA page_size = {bytes}' \"VACUUM INTO 'new.db'\""),
        ChangeLine::always("sqlite3 new.db 'PRAGMA integrity_check'"),
        ChangeLine::always("cp --attributes-only --preserve=mode,ownership {name} new.db"),
        ChangeLine::always("mv {name} old.db && mv new.db {name}"),
        ChangeLine {
            text: "sqlite3 {name} 'PRAGMA journal_mode = WAL'",
            only_with: Some(("journal-mode", "wal")),
        },
        ChangeLine::always("# To go back: mv old.db {name}"),
        ChangeLine {
            text: "# and then: sqlite3 {name} 'PRAGMA journal_mode = WAL'",
            only_with: Some(("journal-mode", "wal")),
        },
        ChangeLine::always("# POINT OF NO RETURN: the first program that writes to {name}."),
        ChangeLine::always("rm old.db   # back from here: these steps with the old page size"),
    ],
    copying: "VACUUM INTO",
    waiting: "all programs, until the new file has the old one's name. The check, which may take longer than \
              VACUUM INTO, was not timed; without it",
    log: "none; VACUUM in place writes all of it a second time, to a journal or log",
};
