//! A started PostgreSQL server.

use std::{collections::HashMap, sync::Arc, time::Duration};

use octavo_storage::direct::DirectIo;
use octavo_units::{ByteCount, PageSize};
use octavo_workload::{Connection, Workload, connection::Statement};

use super::{
    Postgres,
    cluster::{Cluster, Role, Started},
    programs::major_of,
    refusal::refuse,
    reporting::{self, Sessions},
    session::Session,
    shares::{CACHE_MIN, Shares},
    statistics::{Checkpointer, Statistics},
};
use crate::{
    Counters, Isolation, Result, Running, Settings, StoragePath,
    server::{
        memory::MemoryGroup, memory_limiter::MemoryLimiter, monitor::Monitor, write_back::WriteBack,
    },
};

/// What the server's processes may take in all, besides so much for each session.
const PRIVATE_MAX: ByteCount = ByteCount::mib(256);
const SESSION_PRIVATE_MAX: ByteCount = ByteCount::mib(32);

/// What all of it may take between two looks at it.
const HEADROOM: ByteCount = ByteCount::mib(64);

/// What memory lacks where files take O_DIRECT and go through the page cache.
const WITHOUT_DIRECT_IO: &str = "the page cache has no limit: the file system has no direct I/O";

/// What the background writer may write in one of its rounds.
const BGWRITER_BYTES: u64 = 100 * 8192;

/// Sessions besides the clients': ours that reads statistics, and those that
/// a server keeps for superusers.
const SESSIONS_BESIDE: u32 = 10;

/// A statement that takes longer ends in an error.
const STATEMENT_LIMIT: Duration = Duration::from_secs(60);

pub(super) struct RunningPostgres {
    // Fields drop in this order: the limiter and sessions before the server,
    // the server before its group.
    limiter: Option<MemoryLimiter>,
    monitor: Monitor,
    checkpointer: Option<Arc<Checkpointer>>,
    /// `None` where the version's sessions cannot be asked to report.
    sessions: Option<Sessions>,
    /// `None` with direct I/O.
    write_back: Option<WriteBack>,
    server: Started,
    group: Option<Arc<MemoryGroup>>,
    /// Of the clients' sessions.
    role: Role,
    options: Vec<(&'static str, String)>,
    level: Isolation,
    statements: &'static [Statement],
    conditions: Vec<(&'static str, String)>,
    storage_path: StoragePath,
    memory: ByteCount,
}

/// What the server's processes may take for themselves.
fn private_max(settings: &Settings) -> ByteCount {
    // A session that has touched all of the buffer has 8 bytes of page
    // tables for each of its 4 KiB.
    let tables = ByteCount::new(settings.memory.get() / 512);
    let sessions = SESSION_PRIVATE_MAX
        .saturating_add(tables)
        .saturating_mul(u64::from(settings.clients));
    PRIVATE_MAX.saturating_add(sessions)
}

impl RunningPostgres {
    pub(super) fn start(
        postgres: &Postgres,
        cluster: Cluster,
        settings: &Settings,
        workload: &dyn Workload,
    ) -> Result<Self> {
        let direct = postgres.is_direct()?;
        let shares = Shares::divide(settings.memory, direct);
        let (group, why_none) = if direct {
            (None, None)
        } else {
            match MemoryGroup::create() {
                Ok(group) => (Some(Arc::new(group)), None),
                Err(reason) => (None, Some(reason)),
            }
        };
        let mut parameters = parameters(postgres, settings, shares, direct);
        if workload.copy_of().is_some() {
            // Errors of statements may have the user's values in them.
            parameters.push(("log_min_messages", "log".into()));
        }
        // The limit comes once the server is up: what it takes at its start
        // is not known before, and no data is read by it.
        let server = cluster.start(&parameters, group.as_deref())?;
        let mut monitor = server.connect_beside()?;
        let about = About::read(&mut monitor)?;
        if about.page_size != Some(settings.page_size) {
            return Err(refuse(
                "page size",
                settings.page_size,
                "the server was built for another",
            ));
        }
        let major = major_of(&about.version).unwrap_or(0);
        let statistics = Statistics::for_version(major, settings.page_size);
        // A server on files that only take O_DIRECT starts all the same.
        let bypasses = DirectIo::of_path(&server.path().join("PG_VERSION")).is_possible();
        let pid = server.process().pid();
        let checkpointer = Checkpointer::find(pid, major, &mut monitor);
        let (mut options, isolation) = session_options(settings.isolation);
        let mut conditions = about.conditions();
        let mut statements = workload.statements().iter();
        if statements.any(|statement| statement.is_planned_by_values) {
            // Else the sixth run of a statement would have a plan for any values.
            let setting = ("plan_cache_mode", "force_custom_plan");
            options.push((setting.0, setting.1.into()));
            conditions.push((setting.0, setting.1.into()));
        }
        conditions.push((
            "memory",
            match (&group, &why_none) {
                // The same words for every memory and page size.
                (Some(group), _) => format!(
                    "shared_buffers, and an eighth but at least {CACHE_MIN} of page cache, held \
                     to that by a control group ({}), besides what the server takes for itself \
                     and what is being written",
                    group.kind(),
                ),
                (None, None) if !bypasses => format!("all in shared_buffers; {WITHOUT_DIRECT_IO}"),
                (None, None) => "all in shared_buffers".into(),
                (None, Some(reason)) => format!(
                    "shared_buffers, seven eighths of it; the page cache has no limit: {reason}"
                ),
            },
        ));
        conditions.push(("programs", postgres.programs.to_string()));
        conditions.push(("isolation", isolation));
        if let Some(user) = server.user() {
            conditions.push(("server's user", user.to_owned()));
        }
        Ok(Self {
            level: settings.isolation.unwrap_or(Isolation::ReadCommitted),
            limiter: group.as_ref().map(|group| {
                let (memory, cache) = (settings.memory, shares.cache);
                let private_max = private_max(settings);
                MemoryLimiter::start(Arc::clone(group), memory, cache, private_max, HEADROOM)
            }),
            monitor: statistics.monitor(monitor, Some(pid), checkpointer.clone()),
            checkpointer,
            sessions: (major >= reporting::MAJOR_MIN).then(Sessions::default),
            write_back: (!direct).then(|| WriteBack::new(server.path())),
            server,
            storage_path: match (&group, direct) {
                (_, true) if bypasses => StoragePath::Direct,
                (_, true) => StoragePath::PageCache,
                (Some(_), false) => StoragePath::Limited,
                (None, false) => StoragePath::PageCache,
            },
            group,
            role: Role::of(workload),
            options,
            statements: workload.statements(),
            conditions,
            memory: settings.memory,
        })
    }
}

impl RunningPostgres {
    /// Whether those who look after the server leave it alone.
    fn pause(&self, paused: bool) {
        self.monitor.pause(paused);
        if let Some(limiter) = &self.limiter {
            limiter.pause(paused);
        }
    }
}

/// The parameters of a client's session, and its isolation level in words.
pub(super) fn session_options(
    isolation: Option<Isolation>,
) -> (Vec<(&'static str, String)>, String) {
    let level = isolation.unwrap_or(Isolation::ReadCommitted);
    let options = vec![
        ("default_transaction_isolation", level.to_string()),
        (
            "statement_timeout",
            format!("{}s", STATEMENT_LIMIT.as_secs()),
        ),
        ("client_min_messages", "error".into()),
    ];
    let words = match isolation {
        Some(_) => level.to_string(),
        None => format!("{level} (the default; transactions may ask for more)"),
    };
    (options, words)
}

/// What the server is started with besides what all are.
fn parameters(
    postgres: &Postgres,
    settings: &Settings,
    shares: Shares,
    direct: bool,
) -> Vec<(&'static str, String)> {
    let on = |is_on: bool| if is_on { "on" } else { "off" }.to_owned();
    let kilobytes = |bytes: ByteCount| format!("{}kB", bytes.get() >> 10);
    let mut parameters = vec![
        ("shared_buffers", kilobytes(shares.buffer)),
        ("effective_cache_size", kilobytes(settings.memory)),
        ("huge_pages", "off".into()),
        (
            "max_connections",
            (settings.clients + SESSIONS_BESIDE).to_string(),
        ),
        ("fsync", on(true)),
        ("synchronous_commit", on(true)),
        ("full_page_writes", on(postgres.full_page_writes)),
        // Its default follows shared_buffers; the memory alone should differ.
        ("wal_buffers", "4MB".into()),
        // Counted in pages: the same bytes at every page size, those of the
        // default 100 at 8 KiB.
        (
            "bgwriter_lru_maxpages",
            (BGWRITER_BYTES / u64::from(settings.page_size.get())).to_string(),
        ),
        // What is evicted is soon written, instead of staying in the page
        // cache as long as the kernel likes.
        ("backend_flush_after", "256kB".into()),
        ("bgwriter_flush_after", "256kB".into()),
        ("checkpoint_flush_after", "256kB".into()),
        ("max_wal_size", kilobytes(postgres.max_wal_size)),
        ("min_wal_size", "32MB".into()),
        (
            "checkpoint_timeout",
            format!("{}s", postgres.checkpoint_timeout.as_secs()),
        ),
        ("checkpoint_completion_target", "0.9".into()),
        // Copies live for one run, too short for it to come in every one.
        ("autovacuum", on(false)),
        ("track_io_timing", on(true)),
        ("track_wal_io_timing", on(true)),
    ];
    if direct {
        parameters.push(("debug_io_direct", "data".into()));
    }
    parameters
}

/// What a server says of itself.
pub(super) struct About {
    pub(super) version: String,
    pub(super) page_size: Option<PageSize>,
    settings: Vec<(&'static str, String)>,
}

impl About {
    /// The parameters that a reader of figures has to know, as in force.
    /// A version has most of them; their defaults differ between versions.
    const SHOWN: [&'static str; 23] = [
        "server_version",
        "block_size",
        "wal_block_size",
        "data_checksums",
        "fsync",
        "synchronous_commit",
        "wal_sync_method",
        "full_page_writes",
        "wal_level",
        "wal_compression",
        "wal_buffers",
        "commit_delay",
        "checkpoint_timeout",
        "max_wal_size",
        "checkpoint_completion_target",
        "autovacuum",
        "jit",
        "huge_pages",
        "debug_io_direct",
        "io_method",
        "io_workers",
        "effective_io_concurrency",
        "track_io_timing",
    ];

    pub(super) fn read(session: &mut Session) -> Result<Self> {
        let mut about = Self {
            version: String::new(),
            page_size: None,
            settings: Vec::new(),
        };
        let names = Self::SHOWN.map(|name| format!("'{name}'")).join(", ");
        let rows = session.texts(&format!(
            "SELECT name, current_setting(name) FROM pg_settings WHERE name IN ({names})"
        ))?;
        let mut values: HashMap<String, String> = rows
            .into_iter()
            .filter_map(|row| <[_; 2]>::try_from(row).ok())
            .filter_map(|[name, value]| Some((name?, value?)))
            .collect();
        for name in Self::SHOWN {
            let Some(value) = values.remove(name) else {
                continue;
            };
            match name {
                "server_version" => about.version.clone_from(&value),
                "block_size" => {
                    about.page_size = value.parse().ok().and_then(|b| PageSize::new(b).ok());
                }
                _ => {}
            }
            about.settings.push((name, value));
        }
        Ok(about)
    }

    pub(super) fn conditions(&self) -> Vec<(&'static str, String)> {
        self.settings
            .iter()
            // Those of the page size are the cell's.
            .filter(|(name, _)| *name != "block_size")
            .map(|(name, value)| match *name {
                // Without the package that it came in.
                "server_version" => (*name, value.split(' ').take(1).collect()),
                _ => (*name, value.clone()),
            })
            .collect()
    }
}

impl Running for RunningPostgres {
    fn connect(&self, _client: u32) -> Result<Box<dyn Connection + Send>> {
        let session = self.server.connect_as(self.role, &self.options)?;
        let mut session = session.at_level(self.level);
        session.prepare_all(self.statements)?;
        Ok(match &self.sessions {
            Some(sessions) => Box::new(sessions.share(session)),
            None => Box::new(session),
        })
    }

    fn counters(&self) -> Counters {
        self.monitor.counters()
    }

    fn conditions(&self) -> Vec<(&'static str, String)> {
        self.conditions.clone()
    }

    /// As it was planned, unless the page cache was not held.
    fn storage_path(&self) -> StoragePath {
        match &self.limiter {
            Some(limiter) if !limiter.held() => StoragePath::PageCache,
            _ => self.storage_path,
        }
    }

    fn death(&self) -> Option<String> {
        // The postmaster survives when the kernel ends one of its processes,
        // but not what the sessions were at.
        let killed = self.group.as_ref().map_or(0, |group| group.kills());
        if killed > 0 {
            return Some(format!(
                "the kernel ended {killed} of the server's processes for want of memory under \
                 the limit of {}; the server's last lines: {}",
                self.memory,
                self.server.last_words()
            ));
        }
        self.server.death()
    }

    fn freeze(&self) -> Result<()> {
        self.pause(true);
        let frozen = self.server.process().freeze();
        if frozen.is_err() {
            self.pause(false);
        }
        frozen
    }

    fn thaw(&self) -> Result<()> {
        self.server.process().thaw()?;
        self.pause(false);
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        if let Some(sessions) = &self.sessions {
            sessions.report()?;
        }
        if let Some(checkpointer) = &self.checkpointer {
            checkpointer.wake();
        }
        self.write_back.as_ref().map_or(Ok(()), WriteBack::wait)
    }

    fn stop(self: Box<Self>) -> Result<()> {
        let Self {
            limiter,
            monitor,
            server,
            group,
            ..
        } = *self;
        drop(limiter);
        drop(monitor);
        let stopped = server.stop();
        drop(group);
        stopped
    }
}
