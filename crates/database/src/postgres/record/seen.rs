//! What was seen of a server's process and its log, put together to transactions and their pages.

use std::{
    collections::{HashMap, HashSet},
    io,
};

use octavo_workload::{
    Outcome, PageTrace,
    page_trace::{LoggedPage, PartEnd, TracedPage},
};

use super::{
    log::{LogReader, LoggedBlock, Record},
    relations::Relations,
};

/// What happens to a page, in 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event(TracedPage);

impl Event {
    /// It is read.
    pub(super) const fn read(page: u32) -> Self {
        Self(TracedPage::new(page, false, false))
    }

    /// It comes to the end of its file.
    pub(super) const fn made(page: u32) -> Self {
        Self(TracedPage::new(page, false, true))
    }

    /// It is written because it was changed.
    pub(super) const fn written(page: u32) -> Self {
        Self(TracedPage::new(page, true, false))
    }

    const fn is_written(self) -> bool {
        self.0.is_change()
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Seen {
    parts: Vec<Part>,
    transactions: Vec<Transaction>,
}

/// A transaction of the database.
struct Part {
    /// Events up to its end.
    events: usize,
    /// The log's position at its end.
    log: u64,
    records: Vec<Record>,
}

struct Transaction {
    /// Behind its last part.
    parts: usize,
    kind: usize,
    outcome: Outcome,
}

impl Seen {
    /// A transaction of the database has ended, when so many events were seen and the log had come
    /// so far.
    pub(super) fn end_part(&mut self, events: usize, log: u64) {
        self.parts.push(Part {
            events,
            log,
            records: Vec::new(),
        });
    }

    /// A client's transaction has ended.
    pub(super) fn end_transaction(&mut self, kind: usize, outcome: Outcome) {
        self.transactions.push(Transaction {
            parts: self.parts.len(),
            kind,
            outcome,
        });
    }

    /// How many events and how much of the log there were at the end of the last part.
    pub(super) fn last(&self) -> (usize, u64) {
        self.parts
            .last()
            .map_or((0, 0), |part| (part.events, part.log))
    }

    /// Gives each part its records.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub(super) fn read(&mut self, mut log: LogReader) -> io::Result<()> {
        let (_, end) = self.last();
        let mut parts = self.parts.iter_mut();
        let Some(mut part) = parts.next() else {
            return Ok(());
        };
        while let Some((begin, record)) = log.next(end)? {
            while begin >= part.log {
                match parts.next() {
                    Some(next) => part = next,
                    None => return Ok(()),
                }
            }
            part.records.push(record);
        }
        Ok(())
    }

    /// Adds all of it to a trace without transactions. `whole` answers how many bytes the log has
    /// of a whole page.
    pub(super) fn into_trace(
        self,
        mut trace: PageTrace,
        events: &[Event],
        relations: &mut Relations,
        whole: &mut dyn FnMut(&LoggedBlock) -> u32,
    ) -> PageTrace {
        let mut logged = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let of_part = part.records.iter().map(|record| -> (u32, Vec<LoggedPage>) {
                let pages = record.pages.iter().filter_map(|page| {
                    Some(LoggedPage {
                        number: relations.page(page.relation, page.block)?,
                        data: page.data,
                        whole: whole(page),
                        is_never_whole: page.is_never_whole,
                    })
                });
                (record.bytes, pages.collect())
            });
            logged.push(of_part.collect::<Vec<_>>());
        }
        let ends: Vec<usize> = self.parts.iter().map(|part| part.events).collect();
        let referred = refer(events, &ends, &logged);
        let mut begin = 0;
        let mut parts = self.parts.iter().zip(logged).zip(referred);
        for transaction in &self.transactions {
            for _ in begin..transaction.parts {
                let Some(((part, records), pages)) = parts.next() else {
                    break;
                };
                for page in pages {
                    trace.refer(page);
                }
                for (bytes, pages) in &records {
                    trace.log(*bytes, pages);
                }
                let is_committed = part.records.iter().any(|record| record.is_commit);
                trace.end_part(PartEnd {
                    // Who changed nothing has nothing to flush.
                    only_reads: !is_committed,
                    is_committed: is_committed || records.is_empty(),
                });
            }
            begin = transaction.parts;
            trace.end_transaction(transaction.kind, transaction.outcome);
        }
        trace
    }
}

/// The pages that parts refer to. Those that their log has are changed. A page that is written
/// although the log had no change of it since was changed when it was last read, by bits of which
/// the log hears nothing.
fn refer(
    events: &[Event],
    ends: &[usize],
    logged: &[Vec<(u32, Vec<LoggedPage>)>],
) -> Vec<Vec<TracedPage>> {
    let mut parts: Vec<Vec<TracedPage>> = Vec::with_capacity(ends.len());
    // By page: where it was last referred to, as the number of a part and a place in that.
    let mut last: HashMap<u32, (usize, usize)> = HashMap::new();
    // Pages that the log changed, and that were not written since.
    let mut dirty: HashSet<u32> = HashSet::new();
    let mut begin = 0;
    for (part, (end, records)) in ends.iter().zip(logged).enumerate() {
        let changes = records.iter().flat_map(|(_, pages)| pages);
        let changed: HashSet<u32> = changes.map(|page| page.number).collect();
        let mut pages = Vec::new();
        let mut referred = HashSet::new();
        for event in &events[begin..*end] {
            let page = event.0.number();
            if !event.is_written() {
                last.insert(page, (part, pages.len()));
                referred.insert(page);
                pages.push(TracedPage::new(
                    page,
                    changed.contains(&page),
                    event.0.is_new(),
                ));
            } else if !dirty.remove(&page)
                && !changed.contains(&page)
                && let Some((of, place)) = last.get(&page).copied()
            {
                let reference = match of == part {
                    true => &mut pages[place],
                    false => &mut parts[of][place],
                };
                *reference = TracedPage::new(page, true, reference.is_new());
            }
        }
        begin = *end;
        // The buffer had these, and any larger one has.
        let mut found: Vec<u32> = changed.difference(&referred).copied().collect();
        found.sort_unstable();
        for page in found {
            last.insert(page, (part, pages.len()));
            pages.push(TracedPage::new(page, true, false));
        }
        dirty.extend(changed);
        parts.push(pages);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_changed_by_the_log_and_by_hints() {
        let logged = |number| LoggedPage {
            number,
            data: 10,
            whole: 100,
            is_never_whole: false,
        };
        let events = [
            // The first part reads 1 and 2.
            Event::read(1),
            Event::read(2),
            // The second reads 3 and makes 9; 1 is written, whose hints were set.
            Event::read(3),
            Event::made(9),
            Event::written(1),
            // The third reads 4; 3 is written, which the log had changed, and 4 is again.
            Event::read(4),
            Event::written(3),
            Event::written(4),
            Event::read(3),
            // The fourth does not change it a second time by what the log said before.
            Event::written(3),
        ];
        let records = [
            vec![],
            vec![(50, vec![logged(3), logged(9)]), (34, vec![])],
            // 2 is still in the buffer.
            vec![(50, vec![logged(2)])],
            vec![],
        ];
        let parts = refer(&events, &[2, 5, 9, 10], &records);
        let read = |page| TracedPage::new(page, false, false);
        let changed = |page| TracedPage::new(page, true, false);
        assert_eq!(parts[0], [changed(1), read(2)]);
        assert_eq!(parts[1], [changed(3), TracedPage::new(9, true, true)]);
        assert_eq!(parts[2], [changed(4), changed(3), changed(2)]);
        assert_eq!(parts[3], []);
    }
}
