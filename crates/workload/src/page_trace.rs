//! The pages that transactions refer to, recorded while a database executes them: the input of
//! predictions of statements whose rows nobody models.
//!
//! A transaction is one of a client's ([`Client::run`](crate::Client::run)). It has *parts*, the
//! transactions of the database: a script may read outside of any before it begins one.
//!
//! SQLite's log has the pages that a part changes as they are, and no more is to be known of it.
//! The log of a server has records, which a trace has too: how long they are, and which pages they
//! change.

use octavo_units::PageSize;

use crate::Outcome;

/// The pages of one copy of a database with one page size, transaction after transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageTrace {
    page_size: PageSize,
    /// Pages before the first transaction.
    loaded: u32,
    /// Pages that were ever there.
    most: u32,
    /// Those that a server has in its buffer once it has started.
    buffered: Vec<u32>,
    /// Where a server's log is before the first transaction.
    log_begin: u64,
    pages: Vec<TracedPage>,
    records: Vec<LogRecord>,
    logged: Vec<LoggedPage>,
    parts: Vec<Part>,
    transactions: Vec<Transaction>,
}

/// A record of a server's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRecord {
    /// Its bytes without those that its pages have in it.
    pub bytes: u32,
    /// The place of its first page among the trace's.
    first: usize,
    /// How many pages it has.
    count: usize,
}

/// A page in a record of a server's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedPage {
    /// Its number, from 0.
    pub number: u32,
    /// Bytes that tell the change.
    pub data: u32,
    /// Bytes of the whole page, which the log may have in their place.
    pub whole: u32,
    /// What the record does with it.
    pub logged_as: LoggedAs,
}

/// What a record of a server's log does with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedAs {
    /// It changes the page.
    Change,
    /// It has the whole page in any case, or the page had no content: the log never adds the whole
    /// page.
    Whole,
    /// It makes the page, which is not read.
    New,
    /// Likewise, for an undo log.
    NewUndo,
    /// The page is of no use any more, and need not be written.
    Freed,
}

/// A page that is referred to, in 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedPage(u32);

impl TracedPage {
    /// More pages than this have no number: two bits say what is done with one.
    pub const COUNT_MAX: u32 = 1 << 30;

    /// The page with this number, from 0.
    ///
    /// `is_change` says that its part changes it: SQLite's log has the page when the part commits,
    /// and a rollback undoes the change. `is_new` says that it had no content before, and is not
    /// read.
    ///
    /// # Panics
    /// When the number is [`Self::COUNT_MAX`] or larger.
    pub const fn new(number: u32, is_change: bool, is_new: bool) -> Self {
        assert!(number < Self::COUNT_MAX, "a page's number has 30 bits");
        Self(number << 2 | (is_new as u32) << 1 | is_change as u32)
    }

    /// Its number, from 0.
    pub const fn number(self) -> u32 {
        self.0 >> 2
    }

    /// Whether its part changes it.
    pub const fn is_change(self) -> bool {
        self.0 & 1 == 1
    }

    /// Whether it has no content before.
    pub const fn is_new(self) -> bool {
        self.0 & 2 == 2
    }
}

/// How a part of a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartEnd {
    /// Whether it only reads and says so at its begin, so that it waits for nobody who writes.
    pub only_reads: bool,
    /// Whether it commits.
    pub is_committed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    /// Behind its last page.
    pages: usize,
    /// Behind its last record of the log.
    records: usize,
    end: PartEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Transaction {
    /// Behind its last part.
    parts: usize,
    kind: u16,
    outcome: Outcome,
}

/// A transaction of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedTransaction {
    /// Its position in [`Workload::transactions`](crate::Workload::transactions).
    pub kind: usize,
    /// How it ended.
    pub outcome: Outcome,
    /// How many parts it has, at least one.
    pub parts: usize,
    /// The place of the first one among the trace's.
    first: usize,
}

/// A part of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedPart<'t> {
    /// Its pages in the order in which they are referred to, each as often as it is.
    pub pages: &'t [TracedPage],
    /// Its records in the database's log, where the trace has these.
    pub records: &'t [LogRecord],
    /// How it ends.
    pub end: PartEnd,
    /// The trace's.
    logged: &'t [LoggedPage],
}

impl<'t> TracedPart<'t> {
    /// The pages of one of its records.
    ///
    /// # Panics
    /// When the record is of another trace.
    pub fn pages_of(&self, record: &LogRecord) -> &'t [LoggedPage] {
        &self.logged[record.first..][..record.count]
    }
}

impl PageTrace {
    /// Of no transactions yet, on a database with so many pages.
    pub fn new(page_size: PageSize, loaded: u32) -> Self {
        Self {
            page_size,
            loaded,
            most: loaded,
            buffered: Vec::new(),
            log_begin: 0,
            pages: Vec::new(),
            records: Vec::new(),
            logged: Vec::new(),
            parts: Vec::new(),
            transactions: Vec::new(),
        }
    }

    /// With the pages that a server has in its buffer once it has started, the one that was used
    /// last at the end; none unless they are said. Those behind the loaded ones it made itself.
    #[must_use]
    pub fn with_buffered(mut self, pages: Vec<u32>) -> Self {
        for page in &pages {
            self.most = self.most.max(page + 1);
        }
        self.buffered = pages;
        self
    }

    /// With the position of a server's log before the first transaction; 0 unless it is said.
    #[must_use]
    pub fn with_log_begin(mut self, position: u64) -> Self {
        self.log_begin = position;
        self
    }

    /// Adds a page to the part that is open.
    pub fn refer(&mut self, page: TracedPage) {
        self.most = self.most.max(page.number() + 1);
        self.pages.push(page);
    }

    /// Adds a record of the log to the part that is open: its bytes without those of its pages, and
    /// these.
    pub fn log(&mut self, bytes: u32, pages: &[LoggedPage]) {
        for page in pages {
            self.most = self.most.max(page.number + 1);
        }
        self.records.push(LogRecord {
            bytes,
            first: self.logged.len(),
            count: pages.len(),
        });
        self.logged.extend_from_slice(pages);
    }

    /// Ends the open part, and begins another one.
    pub fn end_part(&mut self, end: PartEnd) {
        self.parts.push(Part {
            pages: self.pages.len(),
            records: self.records.len(),
            end,
        });
    }

    /// Ends the open transaction, and begins another one. One that asked nothing of the database
    /// has a part without pages.
    pub fn end_transaction(&mut self, kind: usize, outcome: Outcome) {
        let first = self.transactions.last().map_or(0, |last| last.parts);
        if self.parts.len() == first {
            self.end_part(PartEnd {
                only_reads: true,
                is_committed: false,
            });
        }
        self.transactions.push(Transaction {
            parts: self.parts.len(),
            kind: u16::try_from(kind).expect("there are fewer kinds"),
            outcome,
        });
    }

    /// The page size.
    pub fn page_size(&self) -> PageSize {
        self.page_size
    }

    /// Pages before the first transaction.
    pub fn loaded(&self) -> u32 {
        self.loaded
    }

    /// The pages that a server has in its buffer once it has started, the one that was used last at
    /// the end.
    pub fn buffered(&self) -> &[u32] {
        &self.buffered
    }

    /// Where a server's log is before the first transaction, in bytes.
    pub fn log_begin(&self) -> u64 {
        self.log_begin
    }

    /// Pages that it knows of: a number for each.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// How many transactions it has.
    pub fn transactions(&self) -> usize {
        self.transactions.len()
    }

    /// How many references it has.
    pub fn references(&self) -> usize {
        self.pages.len()
    }

    /// The transaction with this number, from 0.
    pub fn transaction(&self, number: usize) -> Option<TracedTransaction> {
        let found = self.transactions.get(number)?;
        let first = match number.checked_sub(1) {
            Some(before) => self.transactions[before].parts,
            None => 0,
        };
        Some(TracedTransaction {
            kind: found.kind.into(),
            outcome: found.outcome,
            parts: found.parts - first,
            first,
        })
    }

    /// A part of a transaction, from 0.
    ///
    /// # Panics
    /// When the transaction is of another trace, or has no such part.
    pub fn part(&self, transaction: &TracedTransaction, number: usize) -> TracedPart<'_> {
        assert!(number < transaction.parts, "it has no such part");
        let place = transaction.first + number;
        let (begin, first) = match place.checked_sub(1) {
            Some(before) => (self.parts[before].pages, self.parts[before].records),
            None => (0, 0),
        };
        let Part {
            pages,
            records,
            end,
        } = self.parts[place];
        TracedPart {
            pages: &self.pages[begin..pages],
            records: &self.records[first..records],
            end,
            logged: &self.logged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_have_their_parts_and_these_their_pages() {
        let mut trace = PageTrace::new(PageSize::kib(4), 5);
        let reads = PartEnd {
            only_reads: true,
            is_committed: true,
        };
        let writes = PartEnd {
            only_reads: false,
            ..reads
        };
        let page = |number| TracedPage::new(number, false, false);
        let changed = TracedPage::new(7, true, true);
        trace.refer(page(0));
        trace.refer(page(3));
        trace.end_part(reads);
        trace.refer(changed);
        let logged = LoggedPage {
            number: 8,
            data: 30,
            whole: 4000,
            logged_as: LoggedAs::Change,
        };
        trace.log(50, &[logged, logged]);
        trace.log(34, &[]);
        trace.end_part(writes);
        trace.end_transaction(1, Outcome::Committed);
        trace.end_transaction(0, Outcome::RolledBack);
        trace.refer(page(2));
        trace.end_part(reads);
        trace.end_transaction(2, Outcome::Committed);
        assert_eq!((trace.loaded(), trace.most()), (5, 9));
        assert_eq!((trace.transactions(), trace.references()), (3, 4));
        let [first, empty, last] = [0, 1, 2].map(|number| trace.transaction(number).unwrap());
        assert_eq!(trace.transaction(3), None);
        assert_eq!([first.parts, empty.parts, last.parts], [2, 1, 1]);
        assert_eq!((first.kind, empty.kind, last.kind), (1, 0, 2));
        assert_eq!(empty.outcome, Outcome::RolledBack);
        assert_eq!(trace.part(&first, 0).pages, [page(0), page(3)]);
        let second = trace.part(&first, 1);
        assert_eq!((second.pages, second.end), (&[changed][..], writes));
        let [change, commit] = second.records else {
            panic!("{:?}", second.records);
        };
        assert_eq!((change.bytes, commit.bytes), (50, 34));
        assert_eq!(second.pages_of(change), [logged, logged]);
        assert_eq!(second.pages_of(commit), []);
        assert_eq!(trace.part(&first, 0).records, []);
        assert_eq!(trace.part(&last, 0).records, []);
        assert_eq!(trace.part(&empty, 0).pages, []);
        assert_eq!(trace.part(&last, 0).pages, [page(2)]);
        assert_eq!(
            (changed.number(), changed.is_change(), changed.is_new()),
            (7, true, true)
        );
        let most = TracedPage::new(TracedPage::COUNT_MAX - 1, false, true);
        assert_eq!(most.number(), TracedPage::COUNT_MAX - 1);
        assert!(most.is_new() && !most.is_change());
    }
}
