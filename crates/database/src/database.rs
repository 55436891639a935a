//! A kind of database: its description, and what can be done with it.

use std::{
    fmt,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::Workload;

use crate::{
    Advice, CopyOwn, Counters, DatabaseError, Defaults, Inspection, LoadReport, OwnSizes,
    PageSizes, Progress, RecordPages, RestoreMethod, Result, Running, Settings,
    options::{self, OptionKind, Options},
    snapshot::Derive,
};

/// A kind of database.
///
/// A *snapshot* is a directory with a loaded database at rest; it is never
/// written again. A *run directory* holds the copy that one run changes.
pub trait Database: Send + Sync {
    /// Its description.
    fn kind(&self) -> &'static DatabaseKind;

    /// Its short name, as plans and stores write it.
    fn name(&self) -> &'static str {
        self.kind().name
    }

    /// The version that is measured.
    fn version(&self) -> String;

    /// The page size that users have when they chose none.
    fn default_page_size(&self) -> PageSize {
        self.kind().page_sizes.default
    }

    /// Refuses what the database cannot do.
    ///
    /// # Errors
    /// [`DatabaseError::Setting`] for a page size that it cannot have, a buffer
    /// too small to work, no clients, or an isolation level that it does not have;
    /// [`DatabaseError::Missing`] where its version has to be known and is not.
    fn accept(&self, settings: &Settings) -> Result<()>;

    /// Refuses a workload whose statements it cannot execute.
    ///
    /// # Errors
    /// [`DatabaseError::Setting`] that says which ones it can.
    fn accept_workload(&self, _workload: &dyn Workload) -> Result<()> {
        Ok(())
    }

    /// About how many bytes a snapshot of this workload has at this page size.
    fn estimate(&self, workload: &dyn Workload, page_size: PageSize) -> ByteCount;

    /// About how many bytes of these are rows and their indexes, without what the
    /// database has when it is empty.
    fn estimate_rows(&self, workload: &dyn Workload, page_size: PageSize) -> ByteCount {
        self.estimate(workload, page_size)
    }

    /// About how long a load takes whose snapshot has this many bytes, before
    /// anything is known of the machine: the 60 MB/s of a slow disk.
    fn load_time(&self, snapshot: ByteCount) -> Duration {
        at_rate(60, snapshot)
    }

    /// Looks for the programs, as far as that can be done at once and changes
    /// nothing.
    ///
    /// # Errors
    /// [`DatabaseError::Missing`] and [`DatabaseError::Program`] for programs
    /// that are not there or cannot be run.
    fn find_programs(&self) -> Result<()> {
        Ok(())
    }

    /// How much of a memory is the database's own buffer.
    ///
    /// # Errors
    /// [`DatabaseError::Missing`] where its version decides and is not known.
    fn buffer(&self, memory: ByteCount) -> Result<ByteCount> {
        Ok(memory)
    }

    /// How much of a memory can hold pages that were read.
    fn holds(&self, memory: ByteCount) -> ByteCount {
        memory
    }

    /// About how many bytes a load or a run needs beside the data, for logs.
    fn logs(&self) -> ByteCount {
        ByteCount::ZERO
    }

    /// Files that this process has open for each session: one for a connection
    /// to a server.
    fn files_a_session(&self) -> u64 {
        1
    }

    /// The directory outside of those given that [`Self::prepare`] writes to,
    /// where it has to for these page sizes.
    ///
    /// # Errors
    /// [`DatabaseError::Missing`] where there is none to be had.
    fn programs_directory(&self, _page_sizes: &[PageSize]) -> Result<Option<PathBuf>> {
        Ok(None)
    }

    /// Gets the programs that are needed to run with these page sizes, and
    /// builds them where necessary. `step` is told the current phase again and
    /// again and may stop it.
    ///
    /// # Errors
    /// [`DatabaseError::Stopped`] when `step` stopped it;
    /// [`DatabaseError::Missing`] for programs or sources that cannot be had;
    /// [`DatabaseError::Program`] for a build that fails.
    fn prepare(
        &self,
        _page_sizes: &[PageSize],
        _step: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<()> {
        Ok(())
    }

    /// Creates the workload's tables in the empty directory `snapshot` and fills
    /// them, durably. `progress` is told the rows loaded so far and may stop
    /// the load. After an error a part of the snapshot may be there, which the
    /// caller removes.
    ///
    /// # Errors
    /// [`DatabaseError::Stopped`] when `progress` stopped it;
    /// [`DatabaseError::File`], [`DatabaseError::Program`] and
    /// [`DatabaseError::Connection`] for what the system, a server or the
    /// database refuses, a full disk included.
    fn load(
        &self,
        snapshot: &Path,
        page_size: PageSize,
        workload: &dyn Workload,
        progress: &mut Progress<'_>,
    ) -> Result<LoadReport>;

    /// How a workload's snapshots at other page sizes are made of a loaded one, where
    /// that is cheaper than loading again, or is not to be done twice.
    fn derivation(&self, _workload: &dyn Workload) -> Option<&dyn Derive> {
        None
    }

    /// How the user's own databases are copied, where that can be done.
    fn copies_own(&self) -> Option<&dyn CopyOwn> {
        None
    }

    /// How the pages that statements refer to are recorded.
    ///
    /// # Errors
    /// [`DatabaseError::Unrecorded`] with the reason where they cannot be.
    fn records_pages(&self) -> Result<&dyn RecordPages> {
        Err(DatabaseError::Unrecorded {
            reason: "it does not tell which pages these are",
        })
    }

    /// Makes `run` a fresh copy of `snapshot`, replacing what an earlier run left
    /// there, durable and out of the page cache. Returns how it copied.
    ///
    /// # Errors
    /// [`DatabaseError::File`] for a file that cannot be read, written or
    /// flushed.
    fn restore(&self, snapshot: &Path, run: &Path) -> Result<RestoreMethod>;

    /// Starts the copy in `run`.
    ///
    /// # Errors
    /// As [`Self::accept`]; also when the copy has another page size, is not
    /// there, or when a server does not start.
    fn start(
        &self,
        run: &Path,
        settings: &Settings,
        workload: &dyn Workload,
    ) -> Result<Box<dyn Running>>;

    /// Opens a database at rest for reading alone, outside of any limit or
    /// count, to check it. Leaves nothing in the page cache once dropped. A
    /// server keeps books of its own meanwhile; the rows stay as they are.
    ///
    /// # Errors
    /// As [`Self::start`], settings aside.
    fn inspect(&self, directory: &Path, workload: &dyn Workload) -> Result<Box<dyn Inspection>>;
}

/// How long so many bytes take at a rate of `mb` million bytes a second.
pub(crate) fn at_rate(mb: u32, bytes: ByteCount) -> Duration {
    Duration::from_secs_f64(bytes.get() as f64 / (f64::from(mb) * 1e6))
}

/// The description of one database: everything outside its own directory that
/// differs from other databases is read from here.
pub struct DatabaseKind {
    /// The short name in plans, stores and on the command line.
    pub name: &'static str,
    /// Other names that are understood.
    pub aliases: &'static [&'static str],
    /// The name as its makers write it.
    pub title: &'static str,
    /// Whether it runs in processes of its own.
    pub is_server: bool,
    /// Whether threads of its own work in the process that starts it, which nobody can hold still: where
    /// several take turns, each is in a process of its own.
    pub has_threads: bool,
    /// Whether it changes no page: it writes files of rows when its write buffers are full, and merges
    /// these. A checkpoint is such a file.
    pub merges_files: bool,
    /// Whether it writes changed pages into its data files between checkpoints too, and counts these.
    pub writes_between_checkpoints: bool,
    /// How its tables and indexes get page sizes of their own; `None` where all have the same.
    pub own_sizes: Option<&'static OwnSizes>,
    /// Its options, each name once.
    pub options: &'static [OptionKind],
    /// The page sizes it can have.
    pub page_sizes: PageSizes,
    /// What `advise` measures unless told otherwise.
    pub defaults: Defaults,
    /// How to change page size and buffer size of a database in use.
    pub advice: Advice,
    /// Makes it with options.
    pub make: fn(&Options) -> Result<Box<dyn Database>>,
}

impl DatabaseKind {
    /// The description of an option, if it has one of this name.
    pub fn option(&self, name: &str) -> Option<&'static OptionKind> {
        options::find(self.options, name)
    }

    /// Whether changed pages were still to be written to the data files, all of them or what a
    /// checkpoint writes, at the end of what these counters are of. It is also true of what
    /// changed nothing.
    pub fn met_no_checkpoint(&self, counters: &Counters) -> bool {
        let is_written = counters.data_writes > 0 && !self.writes_between_checkpoints;
        counters.checkpoints == 0 && !is_written
    }

    /// Whether options, as names and values, have the OS hold all files in memory.
    pub fn is_held_by_os(&self, options: &[(String, String)]) -> bool {
        let is_held = |(option, value): (&str, &str)| {
            let mut given = options.iter();
            given.any(|(name, of)| (name.as_str(), of.as_str()) == (option, value))
        };
        self.defaults.held_by_os.is_some_and(is_held)
    }

    /// Reads options, as names and values.
    ///
    /// # Errors
    /// [`DatabaseError::Setting`] for an option that the database does not
    /// have, a value that it cannot have, and options that exclude each other or are
    /// given twice.
    pub fn read(&self, options: &[(String, String)]) -> Result<Options> {
        Options::read(self.name, self.options, options)
    }

    /// Refuses what no database of this kind can do, whatever its options.
    pub(crate) fn check(&self, settings: &Settings) -> Result<()> {
        if settings.clients == 0 {
            return Err(self.refuse("clients", 0, "at least one client has to work"));
        }
        if !self.page_sizes.contains(settings.page_size) {
            let reason = format!("choose {}", self.page_sizes);
            return Err(self.refuse("page size", settings.page_size, reason));
        }
        Ok(())
    }

    /// The refusal of a setting's value.
    pub fn refuse(
        &self,
        setting: &'static str,
        value: impl ToString,
        reason: impl Into<String>,
    ) -> DatabaseError {
        DatabaseError::Setting {
            database: self.name,
            setting,
            value: value.to_string(),
            reason: reason.into(),
        }
    }
}

impl fmt::Debug for DatabaseKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DatabaseKind").field(&self.name).finish()
    }
}

/// Descriptions are the same when their names are: a registry has each name
/// once.
impl PartialEq for DatabaseKind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for DatabaseKind {}
