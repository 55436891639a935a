//! The description of PostgreSQL, and how it is made of its options.

use std::{path::PathBuf, time::Duration};

use octavo_units::{ByteCount, PageSize};

use super::{
    configured::{DIRECT_IO_MAJOR, Postgres},
    programs::{Programs, major_of},
    refusal::NAME,
    shares::Shares,
    source::Source,
};
use crate::{
    Advice, Change, ChangeLine, ChangePlace, Cost, DatabaseKind, Defaults, OptionKind, Options,
    PageSizes, Rebuild, Result, ValueKind,
};

/// Source of page sizes and advice:
/// <https://www.postgresql.org/docs/current/install-make.html> (the block size
/// is that of the build, and the cluster has to be made anew by its own
/// initdb).
pub static KIND: DatabaseKind = DatabaseKind {
    name: NAME,
    aliases: &["postgresql"],
    title: "PostgreSQL",
    is_server: true,
    has_threads: false,
    merges_files: false,
    writes_between_checkpoints: true,
    own_sizes: None,
    options: &[
        OptionKind {
            value_name: "PATHS",
            ..OptionKind::new(
                "bin",
                ValueKind::Text,
                None,
                "directories with the programs of page sizes, or the installed server, such as \
                 4K=/opt/pg4k/bin,8K=installed",
            )
        },
        OptionKind {
            excludes: Some("pg-version"),
            ..OptionKind::new(
                "source",
                ValueKind::Text,
                None,
                "its source, a tarball or a directory, which is built for each page size \
                 [default: the source package of the distribution]",
            )
        },
        OptionKind::new(
            "pg-version",
            ValueKind::Number(14..=18),
            None,
            "the major version whose source package is built, 14 to 18 [default: the \
             distribution's]",
        ),
        OptionKind::new(
            "wal-block-size",
            ValueKind::PageSize(PageSize::kib(1)..=PageSize::kib(64)),
            Some("8K"),
            "block size of the write-ahead log, 1K to 64K",
        ),
        OptionKind {
            is_of_runs: true,
            ..OptionKind::new(
                "full-page-writes",
                ValueKind::Switch,
                Some("on"),
                "on or off; off leaves pages unprotected from being torn",
            )
        },
        // Ranges of the parameters, without the first half minute
        // (<https://www.postgresql.org/docs/current/runtime-config-wal.html>).
        // The server's own defaults are 1 GiB and 5 minutes; cells are measured
        // for less, and have to have several whole cycles.
        OptionKind {
            is_of_runs: true,
            ..OptionKind::new(
                "max-wal-size",
                ValueKind::Bytes(ByteCount::mib(32)..=ByteCount::mib(1 << 20)),
                Some("256MiB"),
                "log at which checkpoints aim: one begins about each half of it, at least 32MiB",
            )
        },
        OptionKind {
            is_of_runs: true,
            ..OptionKind::new(
                "checkpoint-timeout",
                ValueKind::Duration(Duration::from_secs(30)..=Duration::from_hours(24)),
                Some("24h"),
                "longest time between checkpoints, at least 30s",
            )
        },
        OptionKind {
            is_of_runs: true,
            ..OptionKind::new(
                "direct-io",
                ValueKind::Switch,
                Some("on"),
                "on or off, from version 16 on; off holds buffer and page cache under one memory \
             limit, as with earlier versions",
            )
        },
    ],
    page_sizes: PageSizes {
        smallest: PageSize::kib(1),
        largest: PageSize::kib(32),
        default: PageSize::kib(8),
    },
    defaults: Defaults::of_server(&[
        PageSize::kib(4),
        PageSize::kib(8),
        PageSize::kib(16),
        PageSize::kib(32),
    ]),
    advice: Advice {
        page_size: Change {
            place: ChangePlace::Shell,
            lines: &[
                ChangeLine::always("./configure --with-blocksize={kib}"),
                ChangeLine::always("pg_dumpall > everything.sql"),
            ],
            costs: &[Cost::Build, Cost::NewDataDirectory, Cost::DumpAndRestore],
        },
        buffer: Change {
            place: ChangePlace::Configuration {
                file: "postgresql.conf",
                section: None,
            },
            lines: &[ChangeLine::always("shared_buffers = {kib}kB")],
            costs: &[Cost::LittlePageCache],
        },
        buffer_size,
        session_buffers: None,
        rebuild: Some(REBUILD),
    },
    make: |options| Ok(Box::new(make(options)?)),
};

/// The old server stays. Sources:
/// <https://www.postgresql.org/docs/current/install-make.html>,
/// <https://www.postgresql.org/docs/current/upgrading.html#UPGRADING-VIA-PGDUMPALL>.
const REBUILD: Rebuild = Rebuild {
    steps: &[
        ChangeLine::always(
            "./configure --prefix=/opt/pg{kib}k --with-blocksize={kib} && make install",
        ),
        ChangeLine::always(
            "/opt/pg{kib}k/bin/initdb -D NEW   # its settings; start it with -p 5433",
        ),
        ChangeLine::always("# Stop all that writes to the old server."),
        ChangeLine::always("pg_dumpall > everything.sql"),
        ChangeLine::always(
            "/opt/pg{kib}k/bin/psql -p 5433 -d postgres -f everything.sql 2> errors.txt   # read it",
        ),
        ChangeLine::always("/opt/pg{kib}k/bin/vacuumdb -p 5433 --all --analyze"),
        ChangeLine::always("# To go back: have clients use the old server, which is as it was."),
        ChangeLine::always("# POINT OF NO RETURN: the first client that writes to the new server."),
        ChangeLine::always("# To go back after that: these steps with the old page size."),
    ],
    copying: "pg_restore -j 2, fsync=off, wal_level=minimal, VACUUM ANALYZE",
    waiting: "writers, from the dump until clients use the new server",
    log: "",
};

/// The server's buffer of a memory, which it shares with the page cache where it has no direct
/// I/O. Of a prediction no version is known.
fn buffer_size(memory: ByteCount, options: &Options, facts: &[(String, String)]) -> ByteCount {
    let mut facts = facts.iter();
    let version = facts.find(|(name, _)| name == "server_version");
    let major = version.and_then(|(_, version)| major_of(version));
    let can = major.is_none_or(|major| major >= DIRECT_IO_MAJOR);
    Shares::divide(memory, can && options.get::<bool>("direct-io")).buffer
}

/// Makes PostgreSQL with options.
fn make(options: &Options) -> Result<Postgres> {
    let mut programs = match options.given_value::<String>("bin") {
        Some(text) => Programs::given(&text)?,
        None => Programs::default(),
    };
    let source = options.given_value::<String>("source");
    let major = options.given_value::<u64>("pg-version");
    if let Some(path) = source {
        programs.source = Some(source_at(path)?);
    } else if let Some(major) = major {
        programs.source = Some(Source::Distribution {
            major: major as u32,
        });
    }
    // Now rather than after the plan was adopted.
    programs.version()?;
    Ok(Postgres {
        programs,
        wal_block_size: options.get("wal-block-size"),
        full_page_writes: options.get("full-page-writes"),
        max_wal_size: options.get("max-wal-size"),
        checkpoint_timeout: options.get("checkpoint-timeout"),
        direct_io: options.get("direct-io"),
    })
}

fn source_at(value: String) -> Result<Source> {
    let path = PathBuf::from(&value);
    if path.is_dir() {
        return Ok(Source::Directory(path));
    }
    if path.is_file() {
        return Ok(Source::Tarball(path));
    }
    Err(KIND.refuse(
        "source",
        value,
        "it is no file or directory: name PostgreSQL's source, such as postgresql-17.4.tar.bz2",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(options: &[(String, String)]) -> Result<Postgres> {
        make(&KIND.read(options)?)
    }

    fn chosen(option: &str, value: &str) -> Result<Postgres> {
        choose(&[
            ("pg-version".into(), "15".into()),
            (option.into(), value.into()),
        ])
    }

    #[test]
    fn options_set_what_they_name() {
        assert!(!chosen("full-page-writes", "off").unwrap().full_page_writes);
        assert!(!chosen("direct-io", "off").unwrap().direct_io);
        let postgres = chosen("wal-block-size", "64K").unwrap();
        assert_eq!(postgres.wal_block_size.get(), 65536);
        let postgres = chosen("checkpoint-timeout", "5m").unwrap();
        assert_eq!(postgres.checkpoint_timeout, Duration::from_mins(5));
        let postgres = chosen("max-wal-size", "1G").unwrap();
        assert_eq!(postgres.max_wal_size, ByteCount::mib(1024));
        assert_eq!(
            postgres.programs.source,
            Some(Source::Distribution { major: 15 })
        );
        assert_eq!(postgres.programs.version().unwrap(), "15");
    }

    #[test]
    fn only_page_sizes_that_can_be_built_are_accepted() {
        let mut settings = crate::Settings {
            page_size: PageSize::kib(1),
            memory: octavo_units::ByteCount::mib(32),
            clients: 1,
            isolation: None,
        };
        KIND.check(&settings).unwrap();
        for size in [PageSize::MIN, PageSize::kib(64)] {
            settings.page_size = size;
            let error = KIND.check(&settings).unwrap_err().to_string();
            assert!(error.contains("choose 1 KiB, 2 KiB"), "{error}");
            assert!(error.contains("or 32 KiB"), "{error}");
        }
    }

    #[test]
    fn impossible_values_are_refused_with_what_is_possible() {
        for (option, value, part) in [
            ("full-page-writes", "maybe", "choose on or off"),
            ("wal-block-size", "128K", "1 KiB to 64 KiB"),
            ("wal-block-size", "3K", "1 KiB to 64 KiB"),
            ("checkpoint-timeout", "1s", "choose 30s"),
            ("pg-version", "15", "given twice"),
            ("version", "15", "did you mean pg-version?"),
            ("source", "/nonexistent", "not both"),
            ("doublewrite", "on", "it has only bin, source"),
        ] {
            let error = chosen(option, value).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let error = choose(&[("pg-version".into(), "9".into())]).unwrap_err();
        assert!(error.to_string().contains("14 to 18"), "{error}");
        let error = choose(&[("source".into(), "/nonexistent".into())]).unwrap_err();
        assert!(
            error.to_string().contains("no file or directory"),
            "{error}"
        );
    }
}
