//! What servers are started with, by their versions. Everything that is not
//! named here is the server's own default.

use std::{ffi::OsString, path::Path};

use octavo_units::{ByteCount, PageSize};

use super::{
    Doublewrite, Flavour,
    layout::{Layout, PID_FILE, SOCKET},
    programs::{Programs, Version},
};

/// Seconds after which a statement that waits for a row is given up. With the
/// default of 50, each statement of a batch behind one that gave up could keep
/// its client for as long again.
const LOCK_WAIT_SECONDS: u32 = 10;

/// What a server may write of pages in the background, in bytes a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Background {
    usual: ByteCount,
    /// Where it is behind.
    most: ByteCount,
}

impl Background {
    /// The version's default with pages of 16 KiB: 200 of them and at most
    /// 2000 (<https://mariadb.com/kb/en/innodb-system-variables/#innodb_io_capacity>),
    /// of MySQL since 8.4 10,000 and 20,000
    /// (<https://dev.mysql.com/doc/refman/8.4/en/innodb-parameters.html#sysvar_innodb_io_capacity>).
    pub(crate) fn for_version(version: &Version) -> Self {
        let (usual, most) = match version.flavour {
            Flavour::Mysql if version.number >= (8, 4, 0) => (10_000, 20_000),
            Flavour::Mysql | Flavour::Mariadb => (200, 2000),
        };
        Self {
            usual: ByteCount::kib(usual * 16),
            most: ByteCount::kib(most * 16),
        }
    }

    fn pages(bytes: ByteCount, page_size: PageSize) -> u64 {
        (bytes.get() / u64::from(page_size.get())).max(PAGES_MIN)
    }

    /// What `innodb_io_capacity` is in every run, for its conditions: the
    /// number of pages is another at each page size.
    pub(crate) fn words(self) -> String {
        let largest = PageSize::kib(64);
        let at_largest = Self::pages(self.usual, largest) * u64::from(largest.get());
        let exception = match at_largest > self.usual.get() {
            true => format!(
                " (64K pages: {}/s, the least that it takes)",
                ByteCount::new(at_largest)
            ),
            false => String::new(),
        };
        format!(
            "{}/s of pages{exception}, at most {}/s: the default with 16K pages",
            self.usual, self.most
        )
    }
}

/// The least number of pages that servers take for each of
/// `innodb_io_capacity`, `innodb_io_capacity_max` and `innodb_lru_scan_depth`.
const PAGES_MIN: u64 = 100;

/// What `innodb_lru_scan_depth` is in every run, for its conditions.
pub(crate) const LRU_SCAN_DEPTH_WORDS: &str = "a tenth of the buffer pool's pages, at least 100";

/// Sessions besides those of clients: the monitor's, and a reserve.
const OTHER_SESSIONS: u32 = 10;

/// What a server is started for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To be filled: nothing has to survive a crash.
    Load {
        /// The buffer pool.
        buffer: ByteCount,
        /// The redo log.
        redo: ByteCount,
    },
    /// To be measured.
    Run {
        /// The buffer pool.
        buffer: ByteCount,
        /// The redo log.
        redo: ByteCount,
        /// Sessions of clients.
        clients: u32,
        /// How torn pages are guarded against.
        doublewrite: Doublewrite,
    },
    /// To have its reads followed, or to be timed: the copy is of no use afterwards.
    Record {
        /// The buffer pool.
        buffer: ByteCount,
        /// The redo log.
        redo: ByteCount,
    },
    /// To be read, or to be left as small as it can be.
    Rest,
}

impl Purpose {
    fn buffer(&self) -> ByteCount {
        match self {
            Self::Load { buffer, .. } | Self::Run { buffer, .. } | Self::Record { buffer, .. } => {
                *buffer
            }
            Self::Rest => REST_BUFFER,
        }
    }

    fn redo(&self) -> ByteCount {
        match self {
            Self::Load { redo, .. } | Self::Run { redo, .. } | Self::Record { redo, .. } => *redo,
            Self::Rest => REST_REDO,
        }
    }
}

/// The buffer of a server that only looks: its joins go over all data once or
/// twice.
const REST_BUFFER: ByteCount = ByteCount::mib(128);

/// The redo log that a snapshot keeps, since every copy carries it: the least that
/// MySQL 8.0.30 takes, and twice the least of the others.
pub(crate) const REST_REDO: ByteCount = ByteCount::mib(8);

/// All arguments of a server that works in `layout`.
pub(crate) fn of_server(
    programs: &Programs,
    layout: &Layout,
    page_size: PageSize,
    purpose: &Purpose,
) -> Vec<OsString> {
    let mut arguments = common(programs, layout);
    // Relative to the data directory: a socket's path is short.
    let mut add = |text: String| arguments.push(text.into());
    add(format!("--socket={SOCKET}"));
    add(format!("--pid-file={PID_FILE}"));
    for argument in settings(&programs.version, page_size, purpose) {
        add(argument);
    }
    arguments
}

/// Where the server's files are. `--no-defaults` has to be the first, so that
/// nothing of the system's own configuration holds.
pub(crate) fn common(programs: &Programs, layout: &Layout) -> Vec<OsString> {
    let path = |name: &str, path: &Path| {
        let mut argument = OsString::from(name);
        argument.push(path);
        argument
    };
    let mut arguments = vec!["--no-defaults".into()];
    if let Some(base) = &programs.base {
        arguments.push(path("--basedir=", base));
    }
    arguments.push(path("--datadir=", &layout.data));
    arguments.push(path("--tmpdir=", &layout.temporary));
    // Routines of a copy reach no other files.
    arguments.push(path("--secure-file-priv=", &layout.temporary));
    if layout.has_small_letters() {
        arguments.push("--lower-case-table-names=1".into());
    }
    arguments
}

/// What InnoDB and the server around it are told.
fn settings(version: &Version, page_size: PageSize, purpose: &Purpose) -> Vec<String> {
    let mut all = vec![
        "--skip-networking".to_owned(),
        "--skip-name-resolve".into(),
        "--performance-schema=OFF".into(),
        "--default-time-zone=+00:00".into(),
        "--event-scheduler=OFF".into(),
        format!("--innodb-page-size={}", page_size.get()),
        format!("--innodb-buffer-pool-size={}", purpose.buffer().get()),
        "--innodb-use-native-aio=ON".into(),
        // What an earlier run had in its buffer is nobody's business.
        "--innodb-buffer-pool-dump-at-shutdown=OFF".into(),
        "--innodb-buffer-pool-load-at-startup=OFF".into(),
        // Plans stay as they were loaded, and nothing is read to renew them.
        "--innodb-stats-persistent=ON".into(),
        "--innodb-stats-auto-recalc=OFF".into(),
    ];
    all.extend(pool(version, purpose.buffer()));
    all.extend(redo(version, purpose.redo()));
    match version.flavour {
        Flavour::Mariadb => {
            all.push("--query-cache-size=0".into());
            // On by default since 11.6, where REPEATABLE READ refuses rows
            // that others changed meanwhile, which most transactions of
            // workloads then begin again for. As MySQL and earlier versions
            // (<https://mariadb.com/kb/en/innodb-system-variables/#innodb_snapshot_isolation>).
            all.push("--loose-innodb-snapshot-isolation=OFF".into());
        }
        Flavour::Mysql if version.number >= (8, 0, 11) => {
            all.push("--disable-log-bin".into());
            all.push("--mysqlx=OFF".into());
        }
        Flavour::Mysql if version.number < (8, 0, 0) => all.push("--query-cache-size=0".into()),
        Flavour::Mysql => all.push("--disable-log-bin".into()),
    }
    let (flushed, guarded, sessions) = match purpose {
        Purpose::Load { .. } => {
            all.push("--local-infile=ON".into());
            // The system's file, which has the undo logs, never shrinks, and
            // every copy carries it: by default it grows by 64 MiB at once.
            all.push("--innodb-autoextend-increment=1".into());
            // The default of 200 is for spinning disks.
            all.push("--innodb-io-capacity=10000".into());
            all.push("--innodb-io-capacity-max=20000".into());
            (0, Doublewrite::Off, 200)
        }
        Purpose::Run {
            clients,
            doublewrite,
            ..
        } => {
            all.extend(background(version, page_size, purpose.buffer()));
            all.push(format!("--innodb-lock-wait-timeout={LOCK_WAIT_SECONDS}"));
            (1, *doublewrite, *clients)
        }
        Purpose::Record { .. } => {
            all.extend(recorded());
            // Commits write the log, and nothing is flushed.
            (2, Doublewrite::Off, 1)
        }
        Purpose::Rest => (1, Doublewrite::On, 1),
    };
    let sessions = sessions.saturating_add(OTHER_SESSIONS);
    all.push(format!("--innodb-flush-log-at-trx-commit={flushed}"));
    all.extend(doublewrite(version, guarded));
    all.push(format!("--max-connections={sessions}"));
    // One that records knows by its thread when a session has ended.
    let threads = match purpose {
        Purpose::Record { .. } => 0,
        _ => sessions.min(16_384),
    };
    all.push(format!("--thread-cache-size={threads}"));
    let method = match purpose {
        // Reads that the page cache answers are seen as well.
        Purpose::Record { .. } => "fsync",
        _ => "O_DIRECT",
    };
    all.push(format!("--innodb-flush-method={method}"));
    // A table that is open in each session, for ten tables.
    let tables = sessions.saturating_mul(12).clamp(2000, 500_000);
    all.push(format!("--table-open-cache={tables}"));
    // Each session has at most some hundred statements prepared.
    let statements = sessions.saturating_mul(200).clamp(16_382, 1_048_576);
    all.push(format!("--max-prepared-stmt-count={statements}"));
    all
}

/// Servers round the buffer pool up to whole chunks in each instance
/// (<https://dev.mysql.com/doc/refman/8.4/en/innodb-buffer-pool-resize.html>).
/// Chunks are such that it is what was asked for, in MiB, with at most a
/// thousand of them.
fn pool(version: &Version, buffer: ByteCount) -> Vec<String> {
    const CHUNKS_MAX: u64 = 1000;
    let size = (buffer.get() >> 20).max(1);
    let least = size.div_ceil(CHUNKS_MAX);
    let chunk = (least..=size)
        .find(|chunk| size.is_multiple_of(*chunk))
        .unwrap_or(size);
    let chunk = format!("--innodb-buffer-pool-chunk-size={}", chunk << 20);
    match version.flavour {
        Flavour::Mysql => vec![chunk, "--innodb-buffer-pool-instances=1".into()],
        // One instance alone since 10.5. Chunks are of no account in later
        // versions, which warn of it.
        Flavour::Mariadb => vec![chunk],
    }
}

/// What servers do in the background, which they count in pages: a number that
/// is the same at all page sizes would let a server with pages of 64 KiB write
/// 16 times the bytes of one with 4 KiB, and keep 16 times the share of its
/// buffer pool free.
///
/// 64 KiB pages cannot be written as slowly as the others by most versions:
/// the least that servers take is twice as much.
fn background(version: &Version, page_size: PageSize, buffer: ByteCount) -> [String; 3] {
    let pages = |bytes| Background::pages(bytes, page_size);
    let Background { usual, most } = Background::for_version(version);
    [
        format!("--innodb-io-capacity={}", pages(usual)),
        format!("--innodb-io-capacity-max={}", pages(most)),
        // The default is 1536 pages, which may be all that the pool has
        // (<https://mariadb.com/kb/en/innodb-system-variables/#innodb_lru_scan_depth>).
        format!(
            "--innodb-lru-scan-depth={}",
            pages(ByteCount::new(buffer.get() / 10))
        ),
    ]
}

/// MariaDB's buffer pool as a list by last use: pages come to its front when they are read, and
/// nothing is read ahead. The log goes through the page cache, where it is read meanwhile.
fn recorded() -> [String; 7] {
    [
        "--innodb-read-ahead-threshold=0",
        "--innodb-old-blocks-pct=95",
        "--innodb-old-blocks-time=0",
        "--loose-innodb-log-file-buffering=ON",
        "--innodb-io-capacity=10000",
        "--innodb-io-capacity-max=20000",
        // So many frames are kept free at most.
        "--innodb-lru-scan-depth=100",
    ]
    .map(str::to_owned)
}

/// MySQL knows one capacity since 8.0.30
/// (<https://dev.mysql.com/doc/refman/8.4/en/innodb-redo-log.html>), two files
/// before; MariaDB has one file.
fn redo(version: &Version, redo: ByteCount) -> Vec<String> {
    match version.flavour {
        Flavour::Mariadb => vec![format!("--innodb-log-file-size={}", redo.get())],
        Flavour::Mysql if version.number >= (8, 0, 30) => {
            vec![format!("--innodb-redo-log-capacity={}", redo.get())]
        }
        Flavour::Mysql => vec![
            "--innodb-log-files-in-group=2".into(),
            format!("--innodb-log-file-size={}", redo.get() / 2),
        ],
    }
}

/// MariaDB leaves the doublewrite out on devices that it knows to write pages
/// whole (`innodb_use_atomic_writes`), which only [`Doublewrite::Detect`]
/// lets it do.
fn doublewrite(version: &Version, doublewrite: Doublewrite) -> Vec<String> {
    let switch = |on: bool| if on { "ON" } else { "OFF" };
    let is_on = doublewrite != Doublewrite::Off;
    let mut all = vec![format!("--innodb-doublewrite={}", switch(is_on))];
    // Gone in MariaDB 12, where an unknown option would end the server.
    if version.flavour == Flavour::Mariadb {
        let detects = doublewrite == Doublewrite::Detect;
        all.push(format!(
            "--loose-innodb-use-atomic-writes={}",
            switch(detects)
        ));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{super::programs::tests::version, *};

    fn run(text: &str, mib: u64) -> Vec<String> {
        let purpose = Purpose::Run {
            buffer: ByteCount::mib(mib),
            redo: ByteCount::mib(512),
            clients: 8,
            doublewrite: Doublewrite::Off,
        };
        settings(&version(text), PageSize::new(4096).unwrap(), &purpose)
    }

    fn has(arguments: &[String], wanted: &str) -> bool {
        arguments.iter().any(|argument| argument == wanted)
    }

    fn names(arguments: &[String], wanted: &str) -> bool {
        arguments.iter().any(|argument| argument.contains(wanted))
    }

    #[test]
    fn arguments_follow_the_version() {
        for (text, redo, has_binlog, has_mysqlx, has_query_cache) in [
            (
                "5.7.44",
                "--innodb-log-file-size=268435456",
                false,
                false,
                true,
            ),
            (
                "8.0.20",
                "--innodb-log-file-size=268435456",
                true,
                true,
                false,
            ),
            (
                "8.4.2",
                "--innodb-redo-log-capacity=536870912",
                true,
                true,
                false,
            ),
            (
                "10.11.6-MariaDB",
                "--innodb-log-file-size=536870912",
                false,
                false,
                true,
            ),
        ] {
            let arguments = run(text, 64);
            assert!(has(&arguments, redo), "{text} {arguments:?}");
            assert_eq!(names(&arguments, "log-bin"), has_binlog, "{text}");
            assert_eq!(names(&arguments, "mysqlx"), has_mysqlx, "{text}");
            assert_eq!(names(&arguments, "query-cache"), has_query_cache, "{text}");
            assert!(has(&arguments, "--innodb-doublewrite=OFF"), "{text}");
            assert!(has(&arguments, "--innodb-page-size=4096"), "{text}");
            let is_mariadb = text.contains("MariaDB");
            assert_eq!(names(&arguments, "pool-instances"), !is_mariadb, "{text}");
            assert_eq!(names(&arguments, "atomic-writes"), is_mariadb, "{text}");
            assert_eq!(
                names(&arguments, "files-in-group"),
                redo.contains("268435456")
            );
        }
    }

    #[test]
    fn the_buffer_pool_is_as_large_as_was_asked_for() {
        for (mib, chunk) in [
            (1, 1),
            (7, 1),
            (1000, 1),
            (1001, 7),
            (1009, 1009),
            (4096, 8),
        ] {
            let arguments = run("8.4.2", mib);
            let wanted = format!("--innodb-buffer-pool-chunk-size={}", chunk << 20);
            assert!(has(&arguments, &wanted), "{mib} {arguments:?}");
            assert_eq!(mib % chunk, 0);
        }
    }

    #[test]
    fn background_work_is_the_same_in_bytes_at_all_page_sizes() {
        for (page_size, mib, old, new, depth) in [
            (4096, 400, (800, 8000), (40_000, 80_000), 10_240),
            (8192, 400, (400, 4000), (20_000, 40_000), 5120),
            (16_384, 400, (200, 2000), (10_000, 20_000), 2560),
            (32_768, 400, (100, 1000), (5000, 10_000), 1280),
            (65_536, 400, (100, 500), (2500, 5000), 640),
            (65_536, 32, (100, 500), (2500, 5000), 100),
        ] {
            let purpose = Purpose::Run {
                buffer: ByteCount::mib(mib),
                redo: ByteCount::mib(512),
                clients: 8,
                doublewrite: Doublewrite::On,
            };
            for (text, (capacity, capacity_max)) in [
                ("8.0.36", old),
                ("8.4.2", new),
                ("9.7.4", new),
                ("10.11.6-MariaDB", old),
                ("11.8.9-MariaDB", old),
            ] {
                let page_size = PageSize::new(page_size).unwrap();
                let arguments = settings(&version(text), page_size, &purpose);
                for wanted in [
                    format!("--innodb-io-capacity={capacity}"),
                    format!("--innodb-io-capacity-max={capacity_max}"),
                    format!("--innodb-lru-scan-depth={depth}"),
                    "--innodb-lock-wait-timeout=10".into(),
                ] {
                    assert!(has(&arguments, &wanted), "{wanted} {arguments:?}");
                }
            }
        }
    }

    #[test]
    fn background_work_is_told_as_it_is_set() {
        for (text, wanted) in [
            (
                "8.0.36",
                "3.1 MiB/s of pages (64K pages: 6.2 MiB/s, the least that it takes), at most \
                 31.2 MiB/s: the default with 16K pages",
            ),
            (
                "9.7.4",
                "156.2 MiB/s of pages, at most 312.5 MiB/s: the default with 16K pages",
            ),
        ] {
            assert_eq!(
                Background::for_version(&version(text)).words(),
                wanted,
                "{text}"
            );
        }
    }

    #[test]
    fn rows_are_read_in_the_same_way_by_all_versions() {
        for (text, is_set) in [
            ("11.8.9-MariaDB", true),
            ("10.11.6-MariaDB", true),
            ("9.7.4", false),
        ] {
            let arguments = run(text, 64);
            let found = has(&arguments, "--loose-innodb-snapshot-isolation=OFF");
            assert_eq!(found, is_set, "{text}");
        }
    }

    #[test]
    fn loading_and_inspecting_have_settings_of_their_own() {
        let page_size = PageSize::new(16384).unwrap();
        let load = Purpose::Load {
            buffer: ByteCount::mib(1024),
            redo: ByteCount::mib(1024),
        };
        let load = settings(&version("10.11.6-MariaDB"), page_size, &load);
        assert!(has(&load, "--innodb-flush-log-at-trx-commit=0"));
        let rest = settings(&version("8.4.2"), page_size, &Purpose::Rest);
        assert!(has(&rest, "--innodb-flush-log-at-trx-commit=1"));
        assert!(has(&rest, "--innodb-redo-log-capacity=8388608"));
        assert!(!names(&rest, "local-infile"));
    }
}
