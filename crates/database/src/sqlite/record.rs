//! Recording which pages transactions refer to.
//!
//! All clients take turns on one connection, so that transactions follow each other as they do in
//! the trace. Which of them would go to a reader is known from how they begin, as
//! [`super::connection`] has it.

#![expect(unsafe_code, reason = "SQLite is a library of C")]

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use octavo_units::ByteCount;
use octavo_workload::{
    ConnectionError, PageTrace, Result as Answer,
    connection::{Access, Connection, RowVisitor, StatementId, Value},
    page_trace::{PartEnd, TracedPage},
};

use super::{
    FILE, KIND, OsCache, Sqlite, page_watch, page_watch::PageWatch, session::Session, storage_cpu,
    tally::Tally, vfs::DirectVfs,
};
use crate::{
    DatabaseError, PagesWanted, Progress, RecordPages, RecordedPages, Result,
    error::unless_stopped, files, turns::ClientTurns,
};

/// The buffer while transactions are recorded. Which pages they refer to does not depend on it.
const BUFFER: ByteCount = ByteCount::mib(256);

/// How long transactions are timed, on a processor, and how many of them at most. Chosen.
const TIMED: Duration = Duration::from_secs(2);
const TIMED_MAX: u64 = 20_000;

/// Transactions that are executed before any is timed, so that code and pages are at hand.
const TIMED_AFTER: u64 = 50;

impl RecordPages for Sqlite {
    fn watch(&self) -> Result<()> {
        page_watch::install().map_err(|reason| DatabaseError::Unrecorded { reason })
    }

    fn record(
        &self,
        run: &Path,
        wanted: &PagesWanted<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<RecordedPages> {
        self.watch()?;
        let database = run.join(FILE);
        let vfs = DirectVfs::register(&database, OsCache::None, Arc::<Tally>::default())
            .map_err(files::named("open", &database))?;
        let watch = PageWatch::begin();
        let session = Session::recorded(&database, &vfs, BUFFER, wanted.workload.statements())?;
        let count = |name: &str| -> Answer<u32> {
            let sql = format!("PRAGMA {name}");
            let connection = session.connection();
            let found = connection.query_row(&sql, [], |row| row.get(0));
            let context = || format!("examine {}", database.display());
            found.map_err(|failure| super::failure::sort(failure, context))
        };
        let (page_bytes, pages) = (count("page_size")?, count("page_count")?);
        if page_bytes != wanted.page_size.get() {
            let reason = format!("the copy has pages of {page_bytes} bytes");
            return Err(KIND.refuse("page size", wanted.page_size, reason));
        }
        if pages > TracedPage::COUNT_MAX / 2 {
            let reason = format!("{pages} pages are more than can be recorded: name larger ones");
            return Err(KIND.refuse("page size", wanted.page_size, reason));
        }
        let trace = PageTrace::new(wanted.page_size, pages);
        let mut connection = Watching::new(session, watch, trace);
        let mut turns = ClientTurns::new(wanted);
        connection.note();
        let begin = Instant::now();
        for number in 0..wanted.transactions {
            unless_stopped(progress(number))?;
            let (kind, outcome) = turns.next(&mut connection)?;
            connection.trace.end_transaction(kind, outcome);
            let is_full = connection.trace.references() >= wanted.references_max;
            if is_full || wanted.is_late(number + 1, begin.elapsed()) {
                break;
            }
        }
        let audit = turns.audit();
        connection.pause();
        let kinds = wanted.workload.transactions().len();
        let processor = time(kinds, &mut turns, &mut connection, progress, wanted)?;
        Ok(RecordedPages {
            trace: connection.trace,
            processor,
            audit,
            missing: None,
        })
    }
}

/// What further transactions take of a processor, by their kinds.
fn time(
    kinds: usize,
    turns: &mut ClientTurns,
    connection: &mut Watching,
    progress: &mut Progress<'_>,
    wanted: &PagesWanted<'_>,
) -> Result<Vec<Option<Duration>>> {
    let mut taken = vec![(Duration::ZERO, 0u32); kinds];
    storage_cpu::begin();
    let timed = time_each(&mut taken, turns, connection, progress, wanted);
    storage_cpu::end();
    timed?;
    let mean = |(time, count): (Duration, u32)| (count > 0).then(|| time / count);
    Ok(taken.into_iter().map(mean).collect())
}

/// Adds up what transactions take, and counts them.
fn time_each(
    taken: &mut [(Duration, u32)],
    turns: &mut ClientTurns,
    connection: &mut Watching,
    progress: &mut Progress<'_>,
    wanted: &PagesWanted<'_>,
) -> Result<()> {
    let look = storage_cpu::look();
    let (begin, began) = (storage_cpu::thread_time(), Instant::now());
    for number in 0..TIMED_MAX {
        let is_over =
            storage_cpu::thread_time() - begin >= TIMED || began.elapsed() >= wanted.time_max;
        if number > TIMED_AFTER && is_over {
            break;
        }
        unless_stopped(progress(wanted.transactions))?;
        storage_cpu::take();
        let before = storage_cpu::thread_time();
        let (kind, _) = match turns.next(connection) {
            Ok(ran) => ran,
            // The prediction has all that it needs: rows of later ones may run out.
            Err(_) if number > TIMED_AFTER => break,
            Err(error) => return Err(error),
        };
        let all = storage_cpu::thread_time() - before;
        let storage = storage_cpu::take();
        // Each pair of looks has one inside; those at storage are outside of what it takes.
        let looks = look * (1 + storage.calls as u32);
        let own = all.saturating_sub(storage.time).saturating_sub(looks);
        if number >= TIMED_AFTER {
            taken[kind].0 += own;
            taken[kind].1 += 1;
        }
    }
    Ok(())
}

/// A connection whose pages are watched. It drops before the watch.
struct Watching {
    session: Session,
    watch: PageWatch,
    trace: PageTrace,
    is_noting: bool,
    /// Of the open transaction, whether it only reads.
    open: Option<bool>,
}

impl Watching {
    fn new(session: Session, watch: PageWatch, trace: PageTrace) -> Self {
        Self {
            session,
            watch,
            trace,
            is_noting: false,
            open: None,
        }
    }

    fn note(&mut self) {
        // SAFETY: the watch uses the handle as long as this has the connection.
        let connection = unsafe { self.session.connection().handle() };
        self.watch.note(connection);
        self.is_noting = true;
    }

    fn pause(&mut self) {
        self.watch.pause();
        self.is_noting = false;
    }

    /// A transaction of the database has ended.
    fn end(&mut self, only_reads: bool) {
        if !self.is_noting {
            return;
        }
        let seen = self.watch.take();
        let changed = seen.pages.iter().any(|page| page.is_change());
        for page in seen.pages {
            self.trace.refer(page);
        }
        self.trace.end_part(PartEnd {
            only_reads,
            is_committed: seen.logged > 0 || !changed,
        });
    }

    /// Runs a statement, which outside of a transaction is one of its own.
    fn with_session<R>(
        &mut self,
        only_reads: bool,
        work: impl FnOnce(&mut Session) -> Answer<R>,
    ) -> Answer<R> {
        let result = work(&mut self.session);
        if self.open.is_none() {
            self.end(only_reads);
        }
        result
    }
}

impl Connection for Watching {
    fn begin(&mut self, access: Access) -> Answer<()> {
        if self.open.is_some() {
            return Err(ConnectionError::other(
                "begin a transaction",
                "the one before was neither committed nor rolled back",
            ));
        }
        self.session.begin(access)?;
        self.open = Some(access == Access::Read);
        Ok(())
    }

    fn commit(&mut self) -> Answer<()> {
        self.session.commit()?;
        if let Some(only_reads) = self.open.take() {
            self.end(only_reads);
        }
        Ok(())
    }

    fn rollback(&mut self) -> Answer<()> {
        self.session.rollback()?;
        if let Some(only_reads) = self.open.take() {
            self.end(only_reads);
        }
        Ok(())
    }

    fn execute(&mut self, statement: StatementId, parameters: &[Value<'_>]) -> Answer<u64> {
        self.with_session(false, |session| session.execute(statement, parameters))
    }

    fn query(
        &mut self,
        statement: StatementId,
        parameters: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Answer<u64> {
        self.with_session(true, |session| session.query(statement, parameters, visit))
    }
}
