//! A database for tests, which no registry has by itself.

use std::time::Duration;

use octavo_units::PageSize;

use crate::{
    Advice, Change, ChangePlace, DatabaseKind, Defaults, OptionKind, PageSizes, Sqlite, ValueKind,
    description::buffer_is_all,
};

/// SQLite by another name, with options of its own that change nothing.
pub static TOY: DatabaseKind = DatabaseKind {
    name: "toy",
    aliases: &["toydb"],
    title: "ToyDB",
    is_server: false,
    has_threads: false,
    merges_files: false,
    writes_between_checkpoints: false,
    own_sizes: None,
    options: &[
        OptionKind {
            is_condition: true,
            ..OptionKind::new(
                "color",
                ValueKind::Word(&["red", "blue"]),
                Some("red"),
                "red or blue",
            )
        },
        OptionKind::new("redo", ValueKind::Switch, Some("off"), "on or off"),
    ],
    page_sizes: PageSizes {
        smallest: PageSize::MIN,
        largest: PageSize::MAX,
        default: PageSize::kib(4),
    },
    defaults: Defaults {
        budget: Duration::from_mins(1),
        memories: &[],
        page_sizes: &[],
        clients: 2,
        held_by_os: None,
    },
    advice: Advice {
        page_size: NO_CHANGE,
        buffer: NO_CHANGE,
        buffer_size: buffer_is_all,
        session_buffers: None,
        rebuild: None,
    },
    make: |_| Ok(Box::new(Sqlite::default())),
};

const NO_CHANGE: Change = Change {
    place: ChangePlace::Shell,
    lines: &[],
    costs: &[],
};
