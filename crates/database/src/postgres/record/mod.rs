//! Recording which pages statements refer to, and what they log.
//!
//! Octavo's own server has a buffer of a few pages, and the process that serves the session is
//! followed ([`crate::recorded`]). Pages that change are in the log, and those that change
//! by hint bits alone are written without a record.
//!
//! | file | what |
//! |---|---|
//! | relations | which page a part of a file is |
//! | log | the records of the log |
//! | pins | how often pages are pinned |
//! | settings | what servers are started with |
//! | asking | a session of the user's statements |
//! | answers | questions to a server |

mod answers;
mod asking;
mod log;
mod pins;
mod relations;
mod settings;

use std::{
    fs,
    path::{Path, PathBuf},
};

use octavo_workload::{ConnectionError, PageTrace, Result as Answer, page_trace::LoggedPage};

use super::{cluster, configured::Postgres, kind::KIND, programs::major_of, session::Session};
use crate::{
    PagesWanted, Progress, RecordPages, RecordedPages, Result, files,
    recorded::{
        Event, LoggedRecord, Marks, PartSeen, Seen, Watched, Watching, follow,
        processor::{self, buffer_pages},
    },
    server::file_calls,
    turns::ClientTurns,
};
use answers::number;
use asking::open;
use log::{LogReader, Record, Wholes};
use pins::Pins;
use relations::{OF_DATABASE, Relation, Relations};
use settings::{BUFFER_PAGES, parameters};

impl RecordPages for Postgres {
    fn watch(&self) -> Result<()> {
        file_calls::ready();
        Ok(())
    }

    fn record(
        &self,
        run: &Path,
        wanted: &PagesWanted<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<RecordedPages> {
        let found = cluster::page_size_of(run)?;
        if found != wanted.page_size {
            let reason = format!("the copy has pages of {found}");
            return Err(KIND.refuse("page size", wanted.page_size, reason));
        }
        let mut turns = ClientTurns::new(wanted);
        let recorded = record(self, run, &mut turns, wanted, progress)?;
        let audit = turns.audit();
        let recorded = recorded.put_together(wanted)?;
        // Before rows are older: behind the timing, whose updates leave room on pages, fewer pins were
        // counted, and misses of YCSB F came out 2.5% too many.
        let pins = Pins::count(self, run, &mut turns, progress, wanted)?;
        let server = self.cluster(run, found)?;
        let pages = buffer_pages(wanted, recorded.most).max(BUFFER_PAGES.into());
        let server = server.start(&parameters(wanted, pages), None)?;
        let mut session = open(&server, wanted)?;
        let pid = number(&mut session, "SELECT pg_backend_pid()")?;
        let processor = processor::time(&mut session, pid, &mut turns, progress, wanted);
        let processor = processor.map_err(|error| server.process().or_out_of_space(error))?;
        drop(session);
        server.stop()?;
        let trace = recorded.into_trace(wanted, &pins);
        Ok(RecordedPages {
            trace,
            processor,
            audit,
            missing: pins.missing(),
        })
    }
}

/// What is recorded of a server, and what is needed to read it.
struct Recorded {
    cluster: PathBuf,
    /// Pages before the first transaction.
    loaded: u32,
    /// Where the log was then.
    begin: u64,
    watched: Watched<Relations>,
    seen: Seen,
    /// By parts.
    records: Vec<Vec<Record>>,
}

fn record(
    postgres: &Postgres,
    run: &Path,
    turns: &mut ClientTurns,
    wanted: &PagesWanted<'_>,
    progress: &mut Progress<'_>,
) -> Result<Recorded> {
    let cluster = postgres.cluster(run, wanted.page_size)?;
    let mut parameters = parameters(wanted, BUFFER_PAGES.into());
    // The process reads for itself.
    if major_of(&postgres.programs.version()?).is_some_and(|major| major >= 18) {
        parameters.push(("io_method", "sync".into()));
    }
    let server = cluster.start(&parameters, None)?;
    let path = server.path();
    let path = fs::canonicalize(&path).map_err(files::named("find", &path))?;
    let mut marks = server.connect_beside()?;
    let database = number(&mut marks, OF_DATABASE)?;
    marks.simple("CHECKPOINT")?;
    let relations = Relations::find(&path, database, wanted.page_size)?;
    let loaded = relations.numbers.check_loaded(&KIND, wanted.page_size)?;
    let mut session = open(&server, wanted)?;
    let pid: i32 = number(&mut session, "SELECT pg_backend_pid()")?;
    let watched = Watched::new(relations);
    let begin = end_of_log(&mut marks)?;
    let followed = follow(pid, &path, &watched)?;
    let mut connection = Watching::new(session, LogEnd(marks), &watched);
    let recorded = connection.record(turns, begin, wanted, progress);
    recorded.map_err(|error| server.process().or_out_of_space(error))?;
    // Its process ends.
    let (LogEnd(mut marks), seen) = connection.close();
    followed.wait();
    // All of the log is in its files then.
    marks.simple("SELECT pg_switch_wal()")?;
    let watched = Watched::take(watched)?;
    let mut log = LogReader::new(&path, postgres.wal_block_size, begin);
    let records = seen
        .by_parts(|end| log.next(end))
        .map_err(files::named("read the log of", &path))?;
    drop(marks);
    server.stop()?;
    Ok(Recorded {
        cluster: path,
        loaded,
        begin,
        watched,
        seen,
        records,
    })
}

impl Recorded {
    /// With the numbers of all pages, which the log's are looked up among.
    fn put_together(self, wanted: &PagesWanted<'_>) -> Result<Numbered> {
        let Watched {
            files: mut relations,
            events,
        } = self.watched;
        let mut wholes = Wholes::default();
        let mut logged = |record: Record| {
            let pages = record.pages.iter().filter_map(|page| {
                Some(LoggedPage {
                    number: relations.numbers.page(page.relation, page.block)?,
                    data: page.data,
                    whole: wholes.of(&self.cluster, page, wanted.page_size),
                    logged_as: page.logged_as,
                })
            });
            LoggedRecord {
                bytes: record.bytes,
                is_commit: record.is_commit,
                pages: pages.collect(),
            }
        };
        let of_part = |records: Vec<Record>| records.into_iter().map(&mut logged).collect();
        let logged: Vec<Vec<LoggedRecord>> = self.records.into_iter().map(of_part).collect();
        relations.numbers.check(&KIND, wanted.page_size)?;
        let files = relations.numbers.files();
        Ok(Numbered {
            loaded: self.loaded,
            most: relations.numbers.count(),
            begin: self.begin,
            files,
            seen: self.seen,
            events,
            logged,
        })
    }
}

/// What is recorded, with the numbers of its pages.
struct Numbered {
    loaded: u32,
    /// Pages that have numbers.
    most: u32,
    begin: u64,
    /// By pages.
    files: Vec<Option<Relation>>,
    seen: Seen,
    events: Vec<Event>,
    /// By parts.
    logged: Vec<Vec<LoggedRecord>>,
}

impl Numbered {
    fn into_trace(self, wanted: &PagesWanted<'_>, pins: &Pins) -> PageTrace {
        let files = self.files;
        let uses = |kind, page: u32| match files.get(page as usize) {
            Some(Some(relation)) => pins.mean(kind, *relation),
            _ => 0.0,
        };
        let trace = PageTrace::new(wanted.page_size, self.loaded).with_log_begin(self.begin);
        self.seen
            .into_trace(trace, &self.events, &self.logged, &uses)
    }
}

/// Where the next record of the log will begin.
fn end_of_log(session: &mut Session) -> Answer<u64> {
    let sql = "SELECT pg_current_wal_insert_lsn()";
    let answer = session.one(sql)?;
    let position = answer.as_deref().and_then(log::position);
    position.ok_or_else(|| ConnectionError::other(sql, "the answer is no position"))
}

/// Asks where the log ends. Commits are in its records.
struct LogEnd(Session);

impl Marks for LogEnd {
    type Files = Relations;

    fn end_part(&mut self, _: &mut Watched<Relations>) -> Answer<PartSeen> {
        Ok(PartSeen {
            log: end_of_log(&mut self.0)?,
            has_committed: false,
        })
    }
}
