//! What was seen of who serves a session and of the log, put together to transactions and their
//! pages.

use std::{
    collections::{HashMap, HashSet},
    io,
};

use octavo_workload::{
    Outcome, PageTrace,
    page_trace::{LoggedAs, LoggedPage, PartEnd, TracedPage},
};

/// What happens to a page, in 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event(TracedPage);

impl Event {
    /// It is read.
    pub(crate) const fn read(page: u32) -> Self {
        Self(TracedPage::new(page, false, false))
    }

    /// It comes to the end of its file.
    pub(crate) const fn made(page: u32) -> Self {
        Self(TracedPage::new(page, false, true))
    }

    /// It is written because it was changed.
    pub(crate) const fn written(page: u32) -> Self {
        Self(TracedPage::new(page, true, false))
    }

    /// Its number.
    pub(crate) const fn page(self) -> u32 {
        self.0.number()
    }

    const fn is_written(self) -> bool {
        self.0.is_change()
    }
}

/// A record of the log, with the numbers of its pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LoggedRecord {
    /// Its bytes without those of its pages.
    pub(crate) bytes: u32,
    /// Whether it commits a transaction.
    pub(crate) is_commit: bool,
    pub(crate) pages: Vec<LoggedPage>,
}

/// What is known of a transaction of the database when it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartSeen {
    /// The position of the log.
    pub(crate) log: u64,
    /// Whether it has made its commit durable, where that is not in a record of its log.
    pub(crate) has_committed: bool,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Seen {
    parts: Vec<Part>,
    transactions: Vec<Transaction>,
}

/// A transaction of the database.
struct Part {
    /// Events up to its end.
    events: usize,
    seen: PartSeen,
}

struct Transaction {
    /// Behind its last part.
    parts: usize,
    kind: usize,
    outcome: Outcome,
}

impl Seen {
    /// A transaction of the database has ended, when so many events were seen.
    pub(crate) fn end_part(&mut self, events: usize, seen: PartSeen) {
        self.parts.push(Part { events, seen });
    }

    /// A client's transaction has ended.
    pub(crate) fn end_transaction(&mut self, kind: usize, outcome: Outcome) {
        self.transactions.push(Transaction {
            parts: self.parts.len(),
            kind,
            outcome,
        });
    }

    /// How many events and how much of the log there were at the end of the last part.
    pub(crate) fn last(&self) -> (usize, u64) {
        self.parts
            .last()
            .map_or((0, 0), |part| (part.events, part.seen.log))
    }

    /// The records of each part. `next` answers the next one and where it begins, as long as that
    /// is before a position.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub(crate) fn by_parts<R>(
        &self,
        mut next: impl FnMut(u64) -> io::Result<Option<(u64, R)>>,
    ) -> io::Result<Vec<Vec<R>>> {
        let mut records: Vec<Vec<R>> = self.parts.iter().map(|_| Vec::new()).collect();
        let (_, end) = self.last();
        let mut part = 0;
        while let Some((begin, record)) = next(end)? {
            while self.parts.get(part).is_some_and(|of| begin >= of.seen.log) {
                part += 1;
            }
            match records.get_mut(part) {
                Some(of_part) => of_part.push(record),
                None => break,
            }
        }
        Ok(records)
    }

    /// Adds all of it to a trace without transactions. `uses` tells of a transaction's kind and a
    /// page that such a transaction refers to how often it does so in the mean; of this the small
    /// buffer lets a part be seen.
    pub(crate) fn into_trace(
        self,
        mut trace: PageTrace,
        events: &[Event],
        logged: &[Vec<LoggedRecord>],
        uses: &dyn Fn(usize, u32) -> f64,
    ) -> PageTrace {
        let ends: Vec<usize> = self.parts.iter().map(|part| part.events).collect();
        let referred = refer(events, &ends, logged);
        let mut begin = 0;
        let mut parts = self.parts.iter().zip(logged).zip(&referred);
        let mut rounding = Rounding::default();
        for transaction in &self.transactions {
            let own = begin..transaction.parts;
            // By page: how often it was seen.
            let mut seen: HashMap<u32, u32> = HashMap::new();
            for page in referred.get(own.clone()).into_iter().flatten().flatten() {
                *seen.entry(page.number()).or_default() += 1;
            }
            for _ in own {
                let Some(((part, records), pages)) = parts.next() else {
                    break;
                };
                for page in pages {
                    trace.refer(*page);
                    // Right behind the first time, so that no buffer can have lost it.
                    if let Some(seen) = seen.remove(&page.number()) {
                        let unseen = uses(transaction.kind, page.number()) - f64::from(seen);
                        for _ in 0..rounding.round(unseen) {
                            trace.refer(TracedPage::new(page.number(), false, false));
                        }
                    }
                }
                for record in records {
                    trace.log(record.bytes, &record.pages);
                }
                let is_committed =
                    part.seen.has_committed || records.iter().any(|record| record.is_commit);
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

/// Rounds up or down, so that the mean stays what it was: by the fractional parts of multiples of the
/// golden ratio, which fill 0 to 1 evenly.
#[derive(Default)]
struct Rounding(f64);

impl Rounding {
    fn round(&mut self, number: f64) -> u32 {
        if number <= 0.0 {
            return 0;
        }
        self.0 = (self.0 + std::f64::consts::GOLDEN_RATIO).fract();
        // A handful; more than a u32 has would be its most.
        (number + self.0) as u32
    }
}

/// The pages that parts refer to. Those that their log has are changed, but not those that it only
/// gives up. A page that is written although the log had no change of it since was changed when it
/// was last read, by bits of which the log hears nothing.
fn refer(events: &[Event], ends: &[usize], logged: &[Vec<LoggedRecord>]) -> Vec<Vec<TracedPage>> {
    let mut parts: Vec<Vec<TracedPage>> = Vec::with_capacity(ends.len());
    // By page: where it was last referred to, as the number of a part and a place in that.
    let mut last: HashMap<u32, (usize, usize)> = HashMap::new();
    // Pages that the log changed, and that were not written since.
    let mut dirty: HashSet<u32> = HashSet::new();
    let mut begin = 0;
    for (part, (end, records)) in ends.iter().zip(logged).enumerate() {
        // With whether their first change makes them.
        let mut changed: HashMap<u32, bool> = HashMap::new();
        for page in records.iter().flat_map(|record| &record.pages) {
            if page.logged_as != LoggedAs::Freed {
                let is_new = matches!(page.logged_as, LoggedAs::New | LoggedAs::NewUndo);
                changed.entry(page.number).or_insert(is_new);
            }
        }
        let mut pages = Vec::new();
        let mut referred = HashSet::new();
        for event in &events[begin..*end] {
            let page = event.0.number();
            if !event.is_written() {
                last.insert(page, (part, pages.len()));
                referred.insert(page);
                pages.push(TracedPage::new(
                    page,
                    changed.contains_key(&page),
                    event.0.is_new(),
                ));
            } else if !dirty.remove(&page)
                && !changed.contains_key(&page)
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
        // The buffer had these, and any larger one has; or they are new.
        let found = changed.iter().map(|(page, is_new)| (*page, *is_new));
        let mut found: Vec<_> = found.filter(|(page, _)| !referred.contains(page)).collect();
        found.sort_unstable();
        for (page, is_new) in found {
            last.insert(page, (part, pages.len()));
            pages.push(TracedPage::new(page, true, is_new));
        }
        dirty.extend(changed.into_keys());
        parts.push(pages);
    }
    parts
}

#[cfg(test)]
mod tests {
    use octavo_units::PageSize;

    use super::*;

    #[test]
    fn pages_are_changed_by_the_log_and_by_hints() {
        let logged = |number, logged_as| LoggedPage {
            number,
            data: 10,
            whole: 100,
            logged_as,
        };
        let change = |number| logged(number, LoggedAs::Change);
        let record = |pages: &[LoggedPage]| LoggedRecord {
            bytes: 50,
            pages: pages.to_vec(),
            ..LoggedRecord::default()
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
            vec![record(&[change(3), change(9)]), record(&[])],
            // 2 is still in the buffer. 11 comes anew, and 12 goes.
            vec![record(&[
                change(2),
                logged(11, LoggedAs::New),
                change(11),
                logged(12, LoggedAs::Freed),
            ])],
            vec![],
        ];
        let parts = refer(&events, &[2, 5, 9, 10], &records);
        let read = |page| TracedPage::new(page, false, false);
        let changed = |page| TracedPage::new(page, true, false);
        assert_eq!(parts[0], [changed(1), read(2)]);
        assert_eq!(parts[1], [changed(3), TracedPage::new(9, true, true)]);
        let new = TracedPage::new(11, true, true);
        assert_eq!(parts[2], [changed(4), changed(3), changed(2), new]);
        assert_eq!(parts[3], []);
    }

    #[test]
    fn pages_are_used_as_often_as_they_are_in_the_mean() {
        const TRANSACTIONS: usize = 1000;
        // Each reads 1 and 2, the first of them once more in its second part.
        let events: Vec<Event> = [1, 2, 1].map(Event::read).repeat(TRANSACTIONS);
        let mut seen = Seen::default();
        for number in 0..TRANSACTIONS {
            for events in [2, 3] {
                let (log, has_committed) = (0, false);
                seen.end_part(3 * number + events, PartSeen { log, has_committed });
            }
            seen.end_transaction(number % 2, Outcome::Committed);
        }
        let logged = vec![Vec::new(); 2 * TRANSACTIONS];
        let trace = PageTrace::new(PageSize::kib(8), 3);
        let uses = |kind, page| match (kind, page) {
            (0, 1) => 2.25,
            (0, 2) => 3.5,
            _ => 1.0,
        };
        let trace = seen.into_trace(trace, &events, &logged, &uses);
        let mut used = [[0; 3]; 2];
        for number in 0..TRANSACTIONS {
            let transaction = trace.transaction(number).unwrap();
            // What was not seen stands behind what was.
            let pages = trace.part(&transaction, 0).pages;
            assert!(pages.is_sorted_by_key(|page| page.number()), "{pages:?}");
            assert_eq!(trace.part(&transaction, 1).pages.len(), 1);
            for part in 0..2 {
                for page in trace.part(&transaction, part).pages {
                    used[transaction.kind][page.number() as usize] += 1;
                }
            }
        }
        let near = |count: i32, wanted: f64| (f64::from(count) / 500.0 - wanted).abs() < 0.02;
        assert!(near(used[0][1], 2.25) && near(used[0][2], 3.5), "{used:?}");
        // More was seen than is known.
        assert_eq!(used[1], [0, 1000, 500]);
    }

    #[test]
    fn records_belong_to_the_part_before_whose_end_they_begin() {
        let mut seen = Seen::default();
        for log in [100, 100, 180] {
            let has_committed = false;
            seen.end_part(0, PartSeen { log, has_committed });
        }
        let mut log = [80u64, 99, 100, 179, 180].into_iter();
        let next = |end| Ok(log.next().filter(|at| *at < end).map(|at| (at, at)));
        let parts = seen.by_parts(next).unwrap();
        assert_eq!(parts, [vec![80, 99], vec![], vec![100, 179]]);
    }
}
