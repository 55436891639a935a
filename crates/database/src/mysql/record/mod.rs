//! Recording which pages statements refer to, and what they log, on MariaDB since 10.8.
//!
//! Octavo's own server has the smallest buffer pool that its page size allows, and the thread that
//! serves the session is followed ([`crate::recorded`]). The pool is a list by last use, and
//! nothing is read ahead.
//!
//! Such a pool has some hundred pages. Those that are always in use never leave it, so they are never
//! read, and a larger pool would seem to have room for others in their place. So the server is asked
//! now and then which pages its pool has. One that was last read longer ago than the pool keeps a
//! page was referred to meanwhile, and is noted once more.
//!
//! What it has when it has started, any server has: the pages of its rollback segments are young
//! in larger pools.
//!
//! Pages that change are in the log, with what the purge of old versions changes. A thread that
//! commits writes the log itself, which its calls show.
//!
//! | file | what |
//! |---|---|
//! | spaces | which page a part of a file is |
//! | log | the mini-transactions of the log |
//! | crc | the check of each |

mod crc;
mod log;
mod spaces;

use std::{collections::HashMap, fs, path::Path};

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{
    ConnectionError, PageTrace, Result as Answer,
    page_trace::{LoggedAs, LoggedPage},
};

use super::{
    arguments::Purpose, configured::Mysql, instance::Instance, layout::Layout,
    running::client_session, session::Session,
};
use crate::{
    DatabaseError, PagesWanted, Progress, RecordPages, RecordedPages, Result,
    files::named,
    recorded::{
        Event, LoggedRecord, Marks, PartSeen, Seen, Watched, Watching, follow,
        processor::{self, buffer_pages},
    },
    server::{account::Account, file_calls},
    turns::ClientTurns,
};
use log::{MiniTransaction, RedoLog};
use spaces::Spaces;

/// The first version with the log that is read.
const VERSION_MIN: (u32, u32, u32) = (10, 8, 0);

/// Why statements on MySQL are not predicted.
pub(super) const NOT_OF_MYSQL: &str = "the pages that they change are read from the log, and MySQL's \
    has another format than MariaDB's";

/// How many times as large as the pool of a recording one has to be that is predicted. Chosen.
const LARGER: u64 = 2;

impl RecordPages for Mysql {
    fn watch(&self) -> Result<()> {
        if self.programs()?.version.number < VERSION_MIN {
            return Err(DatabaseError::Unrecorded {
                reason: "changed pages are read from the log, whose format is that of MariaDB 10.8 \
                    and later: name a later server with --bin",
            });
        }
        file_calls::ready();
        Ok(())
    }

    fn memory_min(&self, page_size: PageSize) -> ByteCount {
        let pool = self.flavour.buffer_min(page_size);
        ByteCount::new(pool.get() * LARGER)
    }

    fn record(
        &self,
        run: &Path,
        wanted: &PagesWanted<'_>,
        progress: &mut Progress<'_>,
    ) -> Result<RecordedPages> {
        let kind = self.flavour.kind();
        let layout = Layout::resolve(run)?;
        let found = layout.page_size()?;
        if found != wanted.page_size {
            let reason = format!("the copy has pages of {found}");
            return Err(kind.refuse("page size", wanted.page_size, reason));
        }
        let mut turns = ClientTurns::new(wanted);
        let recorded = record(self, &layout, &mut turns, wanted, progress)?;
        let audit = turns.audit();
        let trace = recorded.put_together(self, wanted)?;
        let page = u64::from(wanted.page_size.get());
        // With what describes the frames.
        let pool = buffer_pages(wanted, trace.most()) * (page + page / 16);
        let pool = pool.max(self.flavour.buffer_min(found).get());
        let pool = ByteCount::mib(pool.div_ceil(1 << 20));
        let (instance, mut session) = start(self, &layout, wanted, pool)?;
        let thread = thread(&mut session)?;
        let processor = processor::time(&mut session, thread, &mut turns, progress, wanted);
        let processor = processor.map_err(|error| instance.process().or_out_of_space(error))?;
        drop(session);
        instance.stop()?;
        Ok(RecordedPages {
            trace,
            processor,
            audit,
            missing: None,
        })
    }
}

/// A server with such a buffer pool, and a session of the user's statements as measured ones are.
fn start(
    mysql: &Mysql,
    layout: &Layout,
    wanted: &PagesWanted<'_>,
    buffer: ByteCount,
) -> Result<(Instance, Session)> {
    let account = Account::of_servers()?;
    let purpose = Purpose::Record {
        buffer,
        redo: mysql.redo,
    };
    let programs = mysql.programs()?;
    let page_size = wanted.page_size;
    let started = Instance::start(programs, layout, page_size, &purpose, account.as_ref())?;
    let (instance, first) = started;
    drop(first);
    let own_setup = layout.own_setup()?;
    let session = client_session(
        &instance,
        mysql.flavour,
        wanted.isolation,
        own_setup,
        wanted.workload.statements(),
    )?;
    Ok((instance, session))
}

/// The thread that serves a session.
fn thread(session: &mut Session) -> Answer<i32> {
    let sql = "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()";
    number(session, sql, 0)
}

/// Where the next record of the log will begin.
fn end_of_log(session: &mut Session) -> Answer<u64> {
    number(session, "SHOW GLOBAL STATUS LIKE 'Innodb_lsn_current'", 1)
}

/// A number in the first row of an answer.
fn number<T: std::str::FromStr>(session: &mut Session, sql: &str, column: usize) -> Answer<T> {
    let rows = session.texts(sql)?;
    let text = rows.first().and_then(|row| row.get(column)?.as_deref());
    let number = text.and_then(|text| text.parse().ok());
    number.ok_or_else(|| ConnectionError::other(sql, "the answer is no number"))
}

/// What is recorded of a server, and what is needed to read it.
struct Recorded {
    /// Pages before the first transaction.
    loaded: u32,
    /// Those that the server has read when it has started.
    buffered: Vec<u32>,
    watched: Watched<Spaces>,
    seen: Seen,
    /// By parts.
    records: Vec<Vec<MiniTransaction>>,
}

fn record(
    mysql: &Mysql,
    layout: &Layout,
    turns: &mut ClientTurns,
    wanted: &PagesWanted<'_>,
    progress: &mut Progress<'_>,
) -> Result<Recorded> {
    let memory = mysql.flavour.buffer_min(wanted.page_size);
    let (instance, mut session) = start(mysql, layout, wanted, memory)?;
    let data = fs::canonicalize(&layout.data).map_err(named("find", &layout.data))?;
    let mut spaces = Spaces::find(&data, wanted.page_size)?;
    let kind = mysql.flavour.kind();
    let loaded = spaces.numbers.check_loaded(kind, wanted.page_size)?;
    let thread = thread(&mut session)?;
    let mut marks = instance.session(None, &[])?;
    let frames = number(
        &mut marks,
        "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_total'",
        1,
    )?;
    // Pages of the temporary tablespace, which the server made when it started, have numbers behind
    // those of all files.
    let started = pool(&mut marks)?.into_iter();
    let buffered = started.filter_map(|(space, page)| spaces.numbers.page(space, page));
    let buffered = buffered.collect();
    let begin = end_of_log(&mut marks)?;
    let log = RedoLog::open(&data, begin).map_err(named("read", &data.join(log::FILE)))?;
    let watched = Watched::new(spaces);
    let followed = follow(thread, &data, &watched)?;
    let marks = PoolAndLog {
        session: marks,
        log,
        resident: Resident::new(frames),
        end: begin,
        log_writes: 0,
    };
    let mut connection = Watching::new(session, marks, &watched);
    let recorded = connection.record(turns, begin, wanted, progress);
    recorded.map_err(|error| instance.process().or_out_of_space(error))?;
    // Its thread ends.
    let (marks, seen) = connection.close();
    followed.wait();
    let PoolAndLog {
        mut session,
        mut log,
        ..
    } = marks;
    session.simple("FLUSH ENGINE LOGS")?;
    let (_, end) = seen.last();
    let read = log.read_to(end);
    read.map_err(named("read", log.path()))?;
    drop(session);
    instance.stop()?;
    let records = seen
        .by_parts(|end| Ok(log.next(end)))
        .map_err(named("read", log.path()))?;
    Ok(Recorded {
        loaded,
        buffered,
        watched: Watched::take(watched)?,
        seen,
        records,
    })
}

impl Recorded {
    /// All that was seen as a trace.
    fn put_together(self, mysql: &Mysql, wanted: &PagesWanted<'_>) -> Result<PageTrace> {
        let Watched {
            files: mut spaces,
            events,
        } = self.watched;
        let mut logged = |record: MiniTransaction| {
            let pages = record.pages.iter().filter_map(|page| {
                Some(LoggedPage {
                    number: spaces.numbers.page(page.space, page.page)?,
                    data: 0,
                    whole: 0,
                    logged_as: match page.logged_as {
                        LoggedAs::New => spaces.made(page.space),
                        logged_as => logged_as,
                    },
                })
            });
            LoggedRecord {
                bytes: record.bytes,
                is_commit: false,
                pages: pages.collect(),
            }
        };
        let of_part = |records: Vec<_>| records.into_iter().map(&mut logged).collect();
        let logged: Vec<Vec<_>> = self.records.into_iter().map(of_part).collect();
        spaces
            .numbers
            .check(mysql.flavour.kind(), wanted.page_size)?;
        let trace = PageTrace::new(wanted.page_size, self.loaded).with_buffered(self.buffered);
        // A list by last use is the same whether a page is used once or twice.
        Ok(self.seen.into_trace(trace, &events, &logged, &|_, _| 0.0))
    }
}

/// Asks behind each transaction where the log ends, and now and then what is in the pool.
struct PoolAndLog {
    session: Session,
    log: RedoLog,
    resident: Resident,
    /// Where the log ended behind the last transaction, and how often the thread that is followed had
    /// written it.
    end: u64,
    log_writes: u64,
}

impl Marks for PoolAndLog {
    type Files = Spaces;

    fn end_part(&mut self, watched: &mut Watched<Spaces>) -> Answer<PartSeen> {
        let log = end_of_log(&mut self.session)?;
        let Watched { files, events } = watched;
        let before = std::mem::replace(&mut self.log_writes, files.log_writes);
        let has_committed = files.log_writes > before;
        // Who commits writes all that was logged before.
        if has_committed {
            let read = self.log.read_to(self.end);
            read.map_err(|error| {
                let path = self.log.path().display().to_string();
                ConnectionError::other(format!("read {path}"), error.to_string())
            })?;
        }
        self.end = log;
        if self.resident.is_due(events) {
            let pages = pool(&mut self.session)?;
            let numbers = pages.into_iter().filter(|(space, _)| *space != TEMPORARY);
            let numbers = numbers.filter_map(|(space, page)| files.numbers.page(space, page));
            self.resident.note(numbers, events);
        }
        Ok(PartSeen { log, has_committed })
    }
}

/// The number of the temporary tablespace (`SRV_TMP_SPACE_ID`).
const TEMPORARY: u32 = 0xffff_fffe;

/// The pages in the pool, each by its file and its place there, the one that was used last at the end:
/// positions count from the end of the list (`i_s_innodb_fill_buffer_lru`; on MariaDB 10.11 a page that
/// was just read has the last one).
fn pool(session: &mut Session) -> Answer<Vec<(u32, u32)>> {
    let sql = "SELECT SPACE, PAGE_NUMBER FROM information_schema.INNODB_BUFFER_PAGE_LRU \
        WHERE (SPACE < 4294967280 OR SPACE = 4294967294) AND PAGE_TYPE <> 'UNKNOWN' \
        ORDER BY LRU_POSITION";
    let rows = session.texts(sql)?;
    let number = |text: &Option<String>| text.as_ref()?.parse().ok();
    let pages = rows.iter().map(|row| match row.as_slice() {
        [space, page] => number(space).zip(number(page)),
        _ => None,
    });
    let pages: Option<Vec<(u32, u32)>> = pages.collect();
    pages.ok_or_else(|| ConnectionError::other(sql, "the answer names no pages"))
}

/// Which pages are in the pool without having been read lately.
struct Resident {
    /// Frames of the pool.
    frames: usize,
    /// By page, behind its last reference among the events.
    last: HashMap<u32, usize>,
    /// Events that were looked at, and those when the pool was.
    seen: usize,
    asked: usize,
}

impl Resident {
    fn new(frames: usize) -> Self {
        Self {
            frames,
            last: HashMap::new(),
            seen: 0,
            asked: 0,
        }
    }

    /// Whether a quarter of the pool was read since it was looked at.
    fn is_due(&self, events: &[Event]) -> bool {
        events.len() - self.asked >= self.frames / 4
    }

    /// Notes those pages of the pool that were last referred to longer ago than the pool keeps one:
    /// the one that was used last comes last.
    fn note(&mut self, pool: impl Iterator<Item = u32>, events: &mut Vec<Event>) {
        for (at, event) in events.iter().enumerate().skip(self.seen) {
            self.last.insert(event.page(), at + 1);
        }
        let now = events.len();
        let kept: Vec<u32> = pool
            .filter(|page| {
                let last = self.last.get(page).copied().unwrap_or(0);
                last + self.frames <= now
            })
            .collect();
        for page in kept {
            events.push(Event::read(page));
            self.last.insert(page, events.len());
        }
        (self.seen, self.asked) = (events.len(), events.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_stay_in_the_pool_are_in_use() {
        let mut resident = Resident::new(8);
        let mut events: Vec<Event> = (0..8).map(Event::read).collect();
        assert!(resident.is_due(&events) && !resident.is_due(&events[..1]));
        // All of it was read within the last eight.
        resident.note([1, 2, 3, 4, 5, 6, 7].into_iter(), &mut events);
        assert_eq!(events.len(), 8);
        events.extend((10..16).map(Event::read));
        resident.note([7, 6, 12, 0, 13, 14, 15, 1].into_iter(), &mut events);
        // 0 and 1 would have left.
        assert_eq!(events[14..], [0, 1].map(Event::read));
        assert!(!resident.is_due(&events));
        events.extend((20..24).map(Event::read));
        resident.note([6, 0, 1].into_iter(), &mut events);
        assert_eq!(events[20..], [6].map(Event::read));
    }
}
