//! A started copy.

use std::{collections::HashMap, time::Duration};

use octavo_units::ByteCount;
use octavo_workload::{Connection, Workload, connection::Statement};

use super::{
    Doublewrite, Flavour, Mysql,
    arguments::{Background, LRU_SCAN_DEPTH_WORDS, Purpose},
    ddl,
    instance::{Instance, session_setup},
    layout::Layout,
    old_blocks::OldBlocks,
    programs::Programs,
    session::Session,
    status,
};
use crate::{
    Counters, DatabaseError, Isolation, Result, Running, Settings, StoragePath,
    server::{account::Account, monitor::Monitor, write_back::WriteBack},
};

/// A client's statement that takes longer is given up. No statement of a
/// workload takes a second on a server that works.
const STATEMENT_LIMIT: Duration = Duration::from_secs(120);

/// How files are opened where the file system refuses direct I/O: the server
/// falls back by itself.
const WITHOUT_DIRECT_IO: &str =
    "through the page cache, which has no limit: the file system has no direct I/O";

/// What conditions are made of, as the server has it in force.
const VARIABLES: [&str; 14] = [
    "version",
    "innodb_flush_log_at_trx_commit",
    "innodb_doublewrite",
    "innodb_use_atomic_writes",
    "innodb_flush_method",
    "innodb_adaptive_hash_index",
    "innodb_purge_threads",
    "innodb_flush_neighbors",
    "innodb_lock_wait_timeout",
    "innodb_redo_log_capacity",
    "innodb_log_file_size",
    "innodb_log_files_in_group",
    "log_bin",
    "innodb_buffer_pool_size",
];

/// Variables that change figures and whose defaults differ between versions. Those that
/// the server has become conditions of the run.
const DEFAULTS: [&str; 9] = [
    "innodb_data_file_buffering",
    "innodb_log_file_buffering",
    "innodb_use_fdatasync",
    "innodb_log_buffer_size",
    "innodb_log_writer_threads",
    "innodb_change_buffering",
    "innodb_max_dirty_pages_pct",
    "innodb_max_dirty_pages_pct_lwm",
    "innodb_snapshot_isolation",
];

/// A server on a run directory.
pub(super) struct RunningMysql {
    flavour: Flavour,
    /// Before the server, which waits for its sessions when it stops.
    monitor: Monitor,
    /// Likewise.
    old_blocks: Option<OldBlocks>,
    instance: Instance,
    statements: &'static [Statement],
    own_setup: Vec<String>,
    settings: Settings,
    storage_path: StoragePath,
    /// Where the page cache is on the way.
    write_back: Option<WriteBack>,
    conditions: Vec<(&'static str, String)>,
}

impl RunningMysql {
    /// Starts it.
    pub(super) fn start(
        mysql: &Mysql,
        programs: &Programs,
        layout: &Layout,
        settings: &Settings,
        workload: &dyn Workload,
    ) -> Result<Self> {
        let account = Account::of_servers()?;
        let purpose = Purpose::Run {
            buffer: whole_mib(settings.memory),
            redo: mysql.redo,
            clients: settings.clients,
            doublewrite: mysql.doublewrite,
        };
        layout.check()?;
        let (storage_path, access) = match layout.has_direct_io() {
            true => (StoragePath::Direct, None),
            // A memory limit would have to have room for the buffer pool,
            // which the page cache takes until the pool is full.
            false => (StoragePath::PageCache, Some(WITHOUT_DIRECT_IO)),
        };
        let (instance, mut session) = Instance::start(
            programs,
            layout,
            settings.page_size,
            &purpose,
            account.as_ref(),
        )?;
        let names = VARIABLES.iter().chain(&DEFAULTS);
        let names: Vec<String> = names.map(|name| format!("'{name}'")).collect();
        let names = names.join(", ");
        let variables = status::pairs(session.texts(&format!(
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})"
        ))?);
        check_pool(&variables, whole_mib(settings.memory), programs)?;
        let user = account.map_or("the one that runs octavo".into(), |account| account.name);
        let background = Background::for_version(&programs.version);
        let conditions = conditions(mysql, &variables, settings, background, access, user);
        Ok(Self {
            flavour: mysql.flavour,
            monitor: status::monitor(session, Some(instance.process().pid()))?,
            old_blocks: OldBlocks::read(instance.session(None, &[])?)?,
            instance,
            statements: workload.statements(),
            own_setup: layout.own_setup()?,
            settings: settings.clone(),
            storage_path,
            write_back: (storage_path != StoragePath::Direct)
                .then(|| WriteBack::new(layout.data.clone())),
            conditions,
        })
    }
}

/// A session of a client: with these settings of the user's own data, and with its statements
/// prepared.
pub(super) fn client_session(
    instance: &Instance,
    flavour: Flavour,
    isolation: Option<Isolation>,
    own_setup: Vec<String>,
    statements: &'static [Statement],
) -> Result<Session> {
    let setup = session_setup(flavour, isolation_level(isolation), STATEMENT_LIMIT);
    let session = instance.statement_session(ddl::DATABASE, setup, own_setup)?;
    let mut session = session.at_level(isolation.unwrap_or(Isolation::RepeatableRead));
    session.prepare_all(statements)?;
    Ok(session)
}

/// Buffer pools are counted in MiB.
fn whole_mib(memory: ByteCount) -> ByteCount {
    ByteCount::mib(memory.get() >> 20)
}

/// Refuses a server that took another buffer than it was given.
fn check_pool(
    variables: &HashMap<String, String>,
    wanted: ByteCount,
    programs: &Programs,
) -> Result<()> {
    match variables.get("innodb_buffer_pool_size") {
        Some(size) if size.parse() != Ok(wanted.get()) => Err(DatabaseError::Program {
            action: "start the server",
            program: programs.server.clone(),
            reason: format!(
                "it has a buffer pool of {size} bytes instead of {}; choose a memory that is a \
                 multiple of 128 MiB, or of 1 MiB below that",
                wanted.get()
            ),
        }),
        _ => Ok(()),
    }
}

/// The server's name of a level; its default is REPEATABLE READ.
pub(super) fn isolation_level(isolation: Option<Isolation>) -> &'static str {
    match isolation {
        Some(Isolation::ReadCommitted) => "READ COMMITTED",
        None | Some(Isolation::RepeatableRead) => "REPEATABLE READ",
        Some(Isolation::Serializable) => "SERIALIZABLE",
    }
}

/// All of the redo log: one capacity of MySQL since 8.0.30, which has a file
/// size as well that is of no account then; files of a size before, and in
/// MariaDB, where it is one.
fn redo_log(variables: &HashMap<String, String>) -> String {
    let number = |name: &str| variables.get(name)?.parse::<u64>().ok();
    let capacity = number("innodb_redo_log_capacity").or_else(|| {
        let files = number("innodb_log_files_in_group").unwrap_or(1);
        Some(number("innodb_log_file_size")?.saturating_mul(files))
    });
    capacity.map_or("not told".into(), |bytes| ByteCount::new(bytes).to_string())
}

fn conditions(
    mysql: &Mysql,
    variables: &HashMap<String, String>,
    settings: &Settings,
    background: Background,
    access: Option<&str>,
    user: String,
) -> Vec<(&'static str, String)> {
    let value = |name: &str| {
        let value = variables.get(name).map(String::as_str);
        value.unwrap_or("not told").to_ascii_lowercase()
    };
    let isolation = settings.isolation.unwrap_or(Isolation::RepeatableRead);
    let default = match settings.isolation {
        None => ", the default; transactions may ask for more",
        Some(_) => "",
    };
    let atomic = match (
        mysql.doublewrite,
        value("innodb_use_atomic_writes").as_str(),
    ) {
        (Doublewrite::Detect, "on" | "1") => {
            ", left out by the server on devices that write pages whole"
        }
        _ => "",
    };
    let protection = match value("innodb_doublewrite").as_str() {
        "off" | "0" => "none: no doublewrite".into(),
        "on" | "1" => format!("doublewrite on{atomic}"),
        on => format!("doublewrite {on}{atomic}"),
    };
    let mut conditions = vec![
        ("version", value("version")),
        (
            "memory",
            "all in one buffer pool (innodb_buffer_pool_size)".into(),
        ),
        (
            "innodb_flush_log_at_trx_commit",
            value("innodb_flush_log_at_trx_commit"),
        ),
        ("torn_page_protection", protection),
        ("redo_log", redo_log(variables)),
        (
            "innodb_flush_method",
            access.map_or_else(|| value("innodb_flush_method"), str::to_owned),
        ),
        ("isolation", format!("{isolation}{default} (InnoDB)")),
        ("binary_log", value("log_bin")),
        (
            "innodb_adaptive_hash_index",
            value("innodb_adaptive_hash_index"),
        ),
        ("innodb_purge_threads", value("innodb_purge_threads")),
        ("innodb_flush_neighbors", value("innodb_flush_neighbors")),
        // Not their values: conditions are the same at all page sizes.
        (
            "innodb_old_blocks_time",
            "the default, in the server's own time where it stands still between slices".into(),
        ),
        ("innodb_io_capacity", background.words()),
        ("innodb_lru_scan_depth", LRU_SCAN_DEPTH_WORDS.into()),
        (
            "innodb_lock_wait_timeout",
            format!("{} s", value("innodb_lock_wait_timeout")),
        ),
        ("server_user", user),
    ];
    let defaults = DEFAULTS.into_iter();
    let told = defaults.filter(|&name| variables.contains_key(name));
    conditions.extend(told.map(|name| (name, value(name))));
    conditions
}

impl Running for RunningMysql {
    fn connect(&self, client: u32) -> Result<Box<dyn Connection + Send>> {
        assert!(
            client < self.settings.clients,
            "client {client} is too many"
        );
        let session = client_session(
            &self.instance,
            self.flavour,
            self.settings.isolation,
            self.own_setup.clone(),
            self.statements,
        )?;
        Ok(Box::new(session))
    }

    fn counters(&self) -> Counters {
        self.monitor.counters()
    }

    fn conditions(&self) -> Vec<(&'static str, String)> {
        self.conditions.clone()
    }

    fn storage_path(&self) -> StoragePath {
        self.storage_path
    }

    fn death(&self) -> Option<String> {
        self.instance.death()
    }

    fn freeze(&self) -> Result<()> {
        self.monitor.pause(true);
        if let Some(old_blocks) = &self.old_blocks {
            old_blocks.freeze();
        }
        let frozen = self.instance.process().freeze();
        if frozen.is_err() {
            self.monitor.pause(false);
        }
        frozen
    }

    fn thaw(&self) -> Result<()> {
        self.instance.process().thaw()?;
        self.monitor.pause(false);
        if let Some(old_blocks) = &self.old_blocks {
            old_blocks.thaw()?;
        }
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        self.write_back.as_ref().map_or(Ok(()), WriteBack::wait)
    }

    fn stop(self: Box<Self>) -> Result<()> {
        let Self {
            monitor,
            old_blocks,
            instance,
            ..
        } = *self;
        drop((monitor, old_blocks));
        instance.stop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_redo_log_is_what_the_server_says() {
        for (told, wanted) in [
            (&[("innodb_log_file_size", "8388608")][..], "8 MiB"),
            (
                &[
                    ("innodb_log_file_size", "8388608"),
                    ("innodb_log_files_in_group", "2"),
                ],
                "16 MiB",
            ),
            (
                &[
                    ("innodb_redo_log_capacity", "536870912"),
                    ("innodb_log_file_size", "50331648"),
                    ("innodb_log_files_in_group", "2"),
                ],
                "512 MiB",
            ),
            (&[("innodb_log_file_size", "many")], "not told"),
            (&[], "not told"),
        ] {
            let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
            let variables = told.iter().map(own).collect();
            assert_eq!(redo_log(&variables), wanted, "{told:?}");
        }
    }
}
