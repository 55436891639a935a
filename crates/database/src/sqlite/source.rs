//! A file of the user's: opened for reading alone, so that nothing of it changes.
//!
//! SQLite's locks are respected. While a file is copied, programs that use a write-ahead log
//! go on writing; with a rollback journal they wait.
//!
//! A database with a write-ahead log needs care. SQLite makes `-wal` and `-shm` beside one that
//! nobody has open, even for who only reads, and the last connection to close copies the log
//! into the file. So a file without a log is opened as one that nobody changes, and looked at
//! again afterwards. With a log, `-shm` is only read (`readonly_shm`,
//! <https://www.sqlite.org/wal.html#read_only_databases>), and no connection of ours copies it.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::Read,
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::user::{CopyOf, Copying, FileIdentity};
use rusqlite::{
    Connection, ErrorCode, OpenFlags,
    backup::{Backup, StepResult},
    config::DbConfig,
};

use super::{
    JournalMode,
    failure::{REPAIR, sort},
    inspect::{beside, uri},
    load::{BUFFER, count_rows, create, finish, note_rows},
    page_limits::{Facts, limits},
    temporary::Unmeasured,
};
use crate::{
    DatabaseError, LoadReport, Progress, Result,
    error::{on_one_line, unless_stopped},
    files,
    own::Own,
    server::pace::{Pace, sleep},
};

/// The header of a database file
/// (<https://www.sqlite.org/fileformat2.html#the_database_header>).
struct Header([u8; 100]);

impl Header {
    const MAGIC: &[u8] = b"SQLite format 3\0";

    fn read(path: &Path) -> Result<Self> {
        let named = files::named("open", path);
        let mut file = File::open(path).map_err(named)?;
        let mut header = [0; 100];
        match file.read_exact(&mut header) {
            Ok(()) if header.starts_with(Self::MAGIC) => Ok(Self(header)),
            Ok(()) => Err(DatabaseError::source(
                path,
                "is no SQLite database, or is encrypted",
            )),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Err(
                DatabaseError::source(path, "is no SQLite database: it has less than 100 bytes"),
            ),
            Err(error) => Err(files::named("read", path)(error)),
        }
    }

    fn number(&self, at: usize) -> u32 {
        u32::from_be_bytes([0, 1, 2, 3].map(|byte| self.0[at + byte]))
    }

    fn page_size(&self, path: &Path) -> Result<PageSize> {
        // 65,536 does not fit into two bytes and is written as 1.
        let bytes = match u16::from_be_bytes([self.0[16], self.0[17]]) {
            1 => 65_536,
            bytes => u32::from(bytes),
        };
        PageSize::new(bytes).map_err(|_| {
            DatabaseError::source(
                path,
                format!("is damaged: its header says pages of {bytes} bytes"),
            )
        })
    }

    fn has_log(&self) -> bool {
        self.0[19] == 2
    }

    fn facts(&self) -> Facts {
        Facts {
            application_id: self.number(68),
            has_log: self.has_log(),
            is_auto_vacuumed: self.number(52) != 0,
        }
    }

    /// The cache that connections have: pages, which a `PRAGMA default_cache_size` left here,
    /// or else 2,000 KiB (<https://www.sqlite.org/pragma.html#pragma_cache_size>).
    fn cache(&self, page_size: PageSize) -> ByteCount {
        match self.number(48) {
            0 => ByteCount::kib(2000),
            pages => ByteCount::new(
                u64::from(pages.cast_signed().unsigned_abs()) * u64::from(page_size.get()),
            ),
        }
    }
}

/// What tells one state of a file from another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    file: FileIdentity,
    length: u64,
    modified: (i64, i64),
    /// Length and time of the log, if there is one.
    log: Option<(u64, i64, i64)>,
}

impl State {
    fn of(path: &Path) -> Result<Self> {
        let status = fs::metadata(path).map_err(files::named("open", path))?;
        if !status.is_file() {
            return Err(DatabaseError::source(path, "is no file"));
        }
        let log = fs::metadata(beside(path, "-wal"))
            .ok()
            .filter(|log| log.len() > 0);
        Ok(Self {
            file: FileIdentity {
                schema: 0,
                device: status.dev(),
                inode: status.ino(),
                made: status.created().ok(),
            },
            length: status.len(),
            modified: (status.mtime(), status.mtime_nsec()),
            log: log.map(|log| (log.len(), log.mtime(), log.mtime_nsec())),
        })
    }

    /// A number for it, of 52 bits, so that every reader of JSON keeps it. Each transaction with
    /// a rollback journal moves the header's change counter. With a log none does, so that times
    /// have to tell.
    fn fingerprint(&self, path: &Path, header: &Header) -> u64 {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let (seconds, nanoseconds) = match header.has_log() {
            true => self.modified,
            false => (0, 0),
        };
        let words = [
            self.length,
            u64::from(header.number(24)),
            seconds.cast_unsigned(),
            nanoseconds.cast_unsigned(),
            self.log.map_or(0, |log| {
                log.0 ^ log.1.cast_unsigned() ^ log.2.cast_unsigned()
            }),
        ];
        let begin = Seed::new(0).derive(&path.to_string_lossy(), 0);
        let seed = words
            .into_iter()
            .fold(begin, |seed, word| seed.derive("state", word));
        seed.get() >> 12
    }
}

/// How a rollback journal begins that has something to roll back
/// (<https://www.sqlite.org/fileformat2.html#the_rollback_journal>).
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// Refuses a file beside which something stands that SQLite would wait for, overlook or not name.
fn check_beside(path: &Path, header: &Header, state: &State) -> Result<()> {
    let refuse = |end: &str, what: &str| {
        let reason = format!("cannot be copied: {} {what}", beside(path, end).display());
        Err(DatabaseError::source(path, reason))
    };
    for end in ["-wal", "-shm", "-journal"] {
        // A pipe would be opened, and never answer.
        if fs::metadata(beside(path, end)).is_ok_and(|of| !of.is_file()) {
            return refuse(end, "is no file: move it away");
        }
    }
    if state.log.is_some() && !header.has_log() {
        let what = "is a log, and the header says that the file has none: open the file once with the \
                    program that uses it, or with sqlite3";
        return refuse("-wal", what);
    }
    // With a log SQLite was told that nothing has to be looked for.
    let mut begin = [0; 8];
    let journal = File::open(beside(path, "-journal"));
    let is_hot = journal.is_ok_and(|journal| {
        journal.read_exact_at(&mut begin, 0).is_ok() && begin == JOURNAL_MAGIC
    });
    if is_hot && header.has_log() {
        let what = "has a transaction that has to be rolled back first: open the file once with the program \
                    that uses it, or with sqlite3";
        return refuse("-journal", what);
    }
    Ok(())
}

/// Refuses a file whose end is missing, which a transaction that is open keeps others from writing. A
/// log has pages that are not in the file yet. SQLite itself refuses one that lacks whole pages.
fn check_length(path: &Path, connection: &Connection, page_size: PageSize) -> Result<()> {
    let state = State::of(path)?;
    let pages: u32 = connection
        .query_row("PRAGMA page_count", [], |row| row.get(0))
        .map_err(|failure| refusal(path, &failure))?;
    let whole = u64::from(pages) * u64::from(page_size.get());
    if state.length >= whole || state.log.is_some() {
        return Ok(());
    }
    let said = format!("it ends after {} of {whole} bytes", state.length);
    Err(DatabaseError::damaged_source(path, &said, REPAIR))
}

/// A source that is open for reading.
pub(super) struct Source {
    /// As the user names it.
    path: PathBuf,
    /// Where it really is.
    file: PathBuf,
    header: Header,
    state: State,
    /// Whether SQLite was told that nobody changes the file, so that we have to look.
    is_unlocked: bool,
    connection: Unmeasured,
}

/// How often a file is opened or read that a program changes meanwhile, and how long apart. Chosen.
const ATTEMPTS: u32 = 10;

/// See [`ATTEMPTS`].
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(50);

impl Source {
    /// Opens a file, whose schema is that of one state. SQLite has read all of it then.
    pub(super) fn open(given: &Path) -> Result<Self> {
        // SQLite finds a log beside the file that a link leads to, and so do we.
        let file = fs::canonicalize(given).map_err(files::named("open", given))?;
        let named = |error| match error {
            DatabaseError::Source { reason, .. } => DatabaseError::source(given, reason),
            other => other,
        };
        let mut attempts = 0;
        loop {
            attempts += 1;
            let begin = Instant::now();
            let before = State::of(&file).map_err(named)?;
            let error = match Self::open_file(&file, given, before.clone()) {
                Ok(source) => return Ok(source),
                Err(error) => error,
            };
            // A program that opens it for each change and closes it again has its log and its index
            // come and go between two looks.
            let comes_and_goes = before.log.is_some() || beside(&file, "-shm").exists();
            let may_pass = comes_and_goes || State::of(&file).map_err(named)? != before;
            // SQLite itself tries for ten seconds to read a log's index that nobody keeps.
            let is_patient = begin.elapsed() > ATTEMPTS * BETWEEN_ATTEMPTS;
            if attempts == ATTEMPTS || is_patient || !may_pass {
                return Err(named(error));
            }
            thread::sleep(BETWEEN_ATTEMPTS);
        }
    }

    fn open_file(path: &Path, given: &Path, state: State) -> Result<Self> {
        if state.length == 0 {
            return Err(DatabaseError::source(path, "is empty"));
        }
        let header = Header::read(path)?;
        check_beside(path, &header, &state)?;
        // Who has it open has both.
        let has_index = ["-shm", "-wal"]
            .iter()
            .all(|end| beside(path, end).exists());
        let is_unlocked = header.has_log() && state.log.is_none() && !has_index;
        if header.has_log() && state.log.is_some() && !has_index {
            let reason = format!(
                "is used by a program that locks it for itself, or was not closed and has its last \
                 changes in {} alone: end that program, or open the file once with it or with \
                 sqlite3",
                beside(path, "-wal").display()
            );
            return Err(DatabaseError::source(path, reason));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        let name = uri(
            path,
            if is_unlocked {
                "?immutable=1"
            } else {
                "?mode=ro&readonly_shm=1"
            },
        );
        let open = || -> rusqlite::Result<Unmeasured> {
            let connection = Unmeasured::open_foreign(OsStr::new(&name), flags)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
            connection.execute_batch(&format!(
                "PRAGMA query_only=ON; PRAGMA cache_size=-{}; BEGIN",
                BUFFER.get() / 1024
            ))?;
            // The first read begins the snapshot.
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
            Ok(connection)
        };
        let connection = open().map_err(|failure| refusal(path, &failure))?;
        check_length(path, &connection, header.page_size(path)?)?;
        let source = Self {
            path: given.to_owned(),
            file: path.to_owned(),
            header,
            state,
            is_unlocked,
            connection,
        };
        source.check_unchanged()?;
        Ok(source)
    }

    /// What it is called: its name without its directory.
    pub(super) fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        on_one_line(&name.to_string_lossy())
    }

    /// Why it could not be read.
    pub(super) fn refusal(&self, failure: &rusqlite::Error) -> DatabaseError {
        refusal(&self.path, failure)
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// What tells it from other files.
    fn identity(&self) -> Result<FileIdentity> {
        let schema = self
            .connection
            .query_row("PRAGMA schema_version", [], |row| row.get(0))
            .map_err(|failure| self.refusal(&failure))?;
        Ok(FileIdentity {
            schema,
            ..self.state.file
        })
    }

    /// What is known of it, once all that a copy needs was found to be there.
    fn facts(&self) -> Result<Own> {
        self.check_schema()?;
        let page_size = self.header.page_size(&self.path)?;
        let pages: u32 = self
            .connection
            .query_row("PRAGMA page_count", [], |row| row.get(0))
            .map_err(|failure| refusal(&self.path, &failure))?;
        let journal_mode = match self.header.has_log() {
            true => JournalMode::Wal,
            false => JournalMode::Delete,
        };
        Ok(Own {
            copy: CopyOf {
                state: self.state.fingerprint(&self.path, &self.header),
                file: Some(self.identity()?),
                ..CopyOf::whole(
                    &self.name(),
                    ByteCount::new(u64::from(pages) * u64::from(page_size.get())),
                    page_size,
                    self.path.clone().into_os_string(),
                )
            },
            limits: limits(self.header.facts(), page_size),
            options: vec![("journal-mode".into(), journal_mode.name().into())],
            cache: self.header.cache(page_size),
            uneven: Vec::new(),
        })
    }

    /// Refuses a schema that needs modules, functions or collations of a program, by making it
    /// in memory: VACUUM would need them too.
    fn check_schema(&self) -> Result<()> {
        let refused = |failure: rusqlite::Error| refusal(&self.path, &failure);
        // What a virtual table keeps its rows in comes with it.
        let query = "SELECT s.type, s.name, s.sql FROM sqlite_schema AS s
             LEFT JOIN pragma_table_list AS t ON t.schema = 'main' AND t.name = s.name
             WHERE s.sql LIKE 'CREATE %' AND s.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
             AND coalesce(t.type, '') <> 'shadow' AND s.type IN ('table', 'index')
             ORDER BY s.type = 'index', s.rowid";
        let mut statement = self.connection.prepare(query).map_err(refused)?;
        let found: Vec<(String, String, String)> = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .and_then(Iterator::collect)
            .map_err(refused)?;
        if !found.iter().any(|(kind, ..)| kind == "table") {
            return Err(DatabaseError::source(&self.path, "has no table"));
        }
        let empty = Connection::open_in_memory().map_err(refused)?;
        for (kind, name, sql) in found {
            let made = empty
                .prepare(&sql)
                .and_then(|mut create| create.raw_execute());
            if let Err(failure) = made {
                let reason = format!(
                    "has the {kind} {name}, which Octavo's SQLite cannot make ({}): what a program \
                     adds to SQLite is not here",
                    message(&failure)
                );
                return Err(DatabaseError::source(&self.path, reason));
            }
        }
        Ok(())
    }

    /// Refuses what was read so far if the file was changed meanwhile by a program that could not see
    /// our lock.
    fn check_unchanged(&self) -> Result<()> {
        match self.is_unlocked && State::of(&self.file)? != self.state {
            true => Err(DatabaseError::source(
                &self.path,
                "was changed while it was read: try again",
            )),
            false => Ok(()),
        }
    }

    /// Copies all pages to `target`, durably.
    fn copy(
        &self,
        target: &Path,
        rate: Option<ByteCount>,
        progress: &mut Progress<'_>,
    ) -> Result<()> {
        /// The most pages between two looks at the clock and the keyboard.
        const STEP_MAX: usize = 2048;
        let failed = |failure: rusqlite::Error| match failure.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt) => self.refusal(&failure),
            _ => sort(failure, || {
                format!("copy {} to {}", self.path.display(), target.display())
            })
            .into(),
        };
        let page_size = self
            .header
            .page_size(&self.path)
            .unwrap_or(PageSize::kib(4));
        let mut connection = create(target, page_size).map_err(failed)?;
        let (begin, mut pace) = (Instant::now(), rate.map(Pace::new));
        let page_bytes = u64::from(page_size.get());
        let at_once = |pace: &Pace| pace.bytes_max() / page_size.get() as usize;
        let step = pace.as_ref().map_or(STEP_MAX, at_once);
        let step_pages = step.clamp(1, STEP_MAX) as i32;
        {
            let mut before = 0;
            let backup =
                Backup::new(&self.connection, connection.connection_mut()).map_err(failed)?;
            loop {
                let step = backup.step(step_pages).map_err(failed)?;
                let done = backup.progress();
                let copied = (done.pagecount - done.remaining).unsigned_abs();
                unless_stopped(progress(u64::from(copied) * page_bytes))?;
                if let Some(pace) = &mut pace {
                    let read = u64::from(copied.saturating_sub(before)) * page_bytes;
                    let wait = pace.wait(read, begin.elapsed());
                    let done = u64::from(copied) * page_bytes;
                    if !sleep(wait, &mut || progress(done).is_continue()) {
                        return Err(DatabaseError::Stopped);
                    }
                }
                before = copied;
                match step {
                    StepResult::Done => break,
                    StepResult::More => {}
                    // The source's snapshot is ours, and the target nobody else's.
                    _ => thread::sleep(Duration::from_millis(5)),
                }
            }
        }
        close(connection).map_err(failed)?;
        Ok(())
    }
}

/// Opens a source and reads it with `work`; again where a program changed it meanwhile that could not
/// see our lock: what was read, or is said to be damaged, is of two states then.
pub(super) fn read<T, E: From<DatabaseError>>(
    path: &Path,
    mut work: impl FnMut(&Source) -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let source = Source::open(path)?;
        let read = work(&source);
        match source.check_unchanged() {
            Ok(()) => return read,
            Err(error) if attempts == ATTEMPTS => return Err(error.into()),
            Err(_) => thread::sleep(BETWEEN_ATTEMPTS),
        }
    }
}

fn close(connection: Unmeasured) -> rusqlite::Result<()> {
    let (connection, _temporary) = connection.into_parts();
    connection.close().map_err(|(_, failure)| failure)
}

/// Makes a snapshot of the user's own database, with its page size.
pub(super) fn load(
    copy: &CopyOf,
    target: &Path,
    progress: &mut Progress<'_>,
) -> Result<LoadReport> {
    let start = Instant::now();
    let path = Path::new(&copy.source);
    let (mut is_again, mut is_stopped) = (false, false);
    let copied = read(path, |source| {
        if is_stopped {
            return Err(DatabaseError::Stopped);
        }
        if is_again && target.exists() {
            fs::remove_file(target).map_err(files::named("delete", target))?;
        }
        is_again = true;
        check_same(source, copy)?;
        let copied = source.copy(target, copy.rate, progress);
        is_stopped = matches!(copied, Err(DatabaseError::Stopped));
        copied
    });
    if is_stopped {
        return Err(DatabaseError::Stopped);
    }
    copied.map_err(|error| match path.exists() {
        true => error,
        false => DatabaseError::source(path, "was removed after it was looked at"),
    })?;
    // Written with a log, a file says so in its header, and readers would make files beside it.
    forget_log(target)?;
    let size = finish(target)?;
    let rows = count_rows(target)?;
    note_rows(target, rows)?;
    Ok(LoadReport {
        rows,
        size,
        log: None,
        elapsed: start.elapsed(),
    })
}

/// Refuses another file than the one that was looked at. If a program has written since, the copy has a
/// later state, which is fine.
fn check_same(source: &Source, copy: &CopyOf) -> Result<()> {
    let found = source.identity()?;
    let same_but = |schema| copy.file == Some(FileIdentity { schema, ..found });
    let schema = copy.file.map_or(found.schema, |file| file.schema);
    let reason = if copy.file.is_some() && !same_but(schema) {
        "is another file than when it was looked at: name another directory"
    } else if schema != found.schema {
        "has other tables than when it was looked at: name another directory"
    } else if source.header.page_size(&source.path)? != copy.page_size {
        "has another page size than when it was looked at: name another directory"
    } else {
        return Ok(());
    };
    Err(DatabaseError::source(&source.path, reason))
}

/// Bytes 18 and 19 say whether a file is used with a log: 2, or 1 without.
fn forget_log(database: &Path) -> Result<()> {
    let named = || files::named("write", database);
    let file = File::options()
        .write(true)
        .open(database)
        .map_err(named())?;
    file.write_all_at(&[1, 1], 18).map_err(named())
}

/// A name in SQL.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// What SQLite says, without what it was asked.
pub(super) fn message(failure: &rusqlite::Error) -> String {
    match failure {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}

/// Why a source cannot be read.
pub(super) fn refusal(path: &Path, failure: &rusqlite::Error) -> DatabaseError {
    let said = message(failure);
    let reason = match failure.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => "is no SQLite database, or is encrypted".into(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "is locked by another program: end what it is doing, and try again".into()
        }
        Some(ErrorCode::DatabaseCorrupt) => return DatabaseError::damaged_source(path, &said, REPAIR),
        Some(ErrorCode::ReadOnly) => {
            "was not closed, and its last transaction has to be rolled back first: open it once with \
             the program that uses it, or with sqlite3"
                .into()
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            format!("cannot be read ({said}): Octavo needs to read the file and the files beside it")
        }
        Some(ErrorCode::FileLockingProtocolFailed) => {
            "has a log or a log's index (-wal, -shm) that is damaged, or that another program begins anew \
             all the time: end all programs that use the file, and open it once with sqlite3"
                .into()
        }
        _ => format!("cannot be read: {said}"),
    };
    DatabaseError::source(path, reason)
}

/// What is known of the user's file.
pub(super) fn examine(path: &Path, copying: &Copying) -> Result<Own> {
    read(path, Source::facts)?.copied(copying, |_| {
        let reason = "is a file, of which no sample is made yet: leave --sample out";
        Err(DatabaseError::source(path, reason))
    })
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;

    #[test]
    fn a_file_that_took_the_place_of_another_is_not_copied() {
        let home = tempfile::tempdir().unwrap();
        let [first, second] = ["my.db", "other.db"].map(|name| {
            let path = home.path().join(name);
            let connection = Connection::open(&path).unwrap();
            connection.execute_batch("CREATE TABLE a(b)").unwrap();
            path
        });
        let found = examine(&first, &Copying::WHOLE).unwrap();
        let copied = |name: &str| {
            let target = home.path().join(name);
            load(&found.copy, &target, &mut |_| ControlFlow::Continue(()))
        };
        assert_eq!(copied("whole.db").unwrap().rows, 0);
        // Its program wrote meanwhile: that is a later state of the same.
        let connection = Connection::open(&first).unwrap();
        connection
            .execute_batch("INSERT INTO a VALUES (1)")
            .unwrap();
        drop(connection);
        assert_eq!(copied("later.db").unwrap().rows, 1);
        // Another one is written over it.
        let copy = fs::read(&first).unwrap();
        Connection::open(&second)
            .unwrap()
            .execute_batch("CREATE TABLE c(d)")
            .unwrap();
        fs::write(&first, fs::read(&second).unwrap()).unwrap();
        let other = copied("none.db").unwrap_err().to_string();
        assert!(other.contains("my.db has other tables than"), "{other}");
        fs::write(&first, copy).unwrap();
        assert_eq!(copied("again.db").unwrap().rows, 1);
        // A number may be used again at once.
        fs::remove_file(&first).unwrap();
        fs::copy(&second, &first).unwrap();
        let refused = |name: &str| copied(name).unwrap_err().to_string();
        let words = "my.db is another file than when it was looked at";
        assert!(refused("none.db").contains(words));
        fs::rename(&second, &first).unwrap();
        assert!(refused("none.db").contains(words));
        fs::remove_file(&first).unwrap();
        assert!(refused("none.db").contains("my.db was removed after it was looked at"));
        let odd = examine(&home.path().join("a\nb.db"), &Copying::WHOLE);
        assert!(!odd.unwrap_err().to_string().contains('\n'));
    }

    #[test]
    fn an_index_of_a_log_that_is_not_there_belongs_to_nobody() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("my.db");
        let connection = Connection::open(&path).unwrap();
        let made = "PRAGMA journal_mode=WAL; CREATE TABLE a(b); INSERT INTO a VALUES (1)";
        connection.execute_batch(made).unwrap();
        connection.close().unwrap();
        assert!(!beside(&path, "-wal").exists());
        fs::write(beside(&path, "-shm"), [0; 32_768]).unwrap();
        assert_eq!(
            examine(&path, &Copying::WHOLE).unwrap().copy.size.get(),
            8192
        );
        assert_eq!(fs::read(beside(&path, "-shm")).unwrap(), [0; 32_768]);
    }

    #[test]
    fn a_program_that_opens_the_file_for_each_change_is_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("my.db");
        let change = |sql: &str| {
            let connection = Connection::open(&path).unwrap();
            connection.busy_timeout(Duration::from_secs(30)).unwrap();
            connection.execute_batch(sql).unwrap();
        };
        change("PRAGMA journal_mode=WAL; CREATE TABLE a(b)");
        let found = examine(&path, &Copying::WHOLE).unwrap();
        let is_over = std::sync::atomic::AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    change("INSERT INTO a VALUES (zeroblob(10000))");
                    thread::sleep(Duration::from_millis(100));
                }
            });
            for copy in 0..5 {
                let target = home.path().join(format!("copy{copy}.db"));
                let go_on = &mut |_| ControlFlow::Continue(());
                let copied = load(&found.copy, &target, go_on);
                let examined = examine(&path, &Copying::WHOLE);
                let proposed = read(&path, super::super::propose::propose);
                is_over.store(
                    copy == 4 || copied.is_err() || examined.is_err() || proposed.is_err(),
                    std::sync::atomic::Ordering::Relaxed,
                );
                copied.unwrap();
                examined.unwrap();
                proposed.unwrap();
            }
        });
    }
}
