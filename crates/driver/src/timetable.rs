//! Transactions with times of their own, in slices.
//!
//! A slice is a stretch of the timetable, whose clock stands still between slices. It lasts until its
//! transactions have ended and the first one of the next slice is due. So all cells of an
//! experiment have the same transactions in it, and the slices together last as long as the
//! timetable.
//!
//! Where the last transactions of a slice end after the next one is due, that one would be late for
//! no reason but the end of the slice. So the clock of a slice begins when its first transaction is
//! due, and each session is ready when its last transaction ended by the clock of the slice before:
//! who is late stays late, and holds up nobody else.

use std::time::Duration;

use octavo_workload::Dues;

/// When the transactions of all sessions are due, and how far they are.
#[derive(Debug)]
pub(crate) struct Timetable {
    sessions: Vec<SessionTimes>,
}

#[derive(Debug)]
struct SessionTimes {
    dues: Dues,
    /// The number of its next transaction.
    next: u64,
    /// When its last one ended.
    ready: Duration,
}

/// A slice.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// The time with which its clock begins.
    pub(crate) begin: Duration,
    /// When the first transaction of the next slice is due.
    pub(crate) end: Duration,
    /// The transactions of each session.
    pub(crate) transactions: Vec<u64>,
}

impl Timetable {
    /// Of sessions, all of which have one. `None` without any.
    pub(crate) fn new(dues: Vec<Dues>) -> Option<Self> {
        let sessions: Vec<SessionTimes> = dues
            .into_iter()
            .map(|dues| SessionTimes {
                dues,
                next: 0,
                ready: Duration::ZERO,
            })
            .collect();
        (!sessions.is_empty()).then_some(Self { sessions })
    }

    /// The next so many transactions of all sessions, in the order in which they are due.
    pub(crate) fn slice(&mut self, transactions: u64) -> Stretch {
        let mut begin: Option<Duration> = None;
        let mut of_sessions = vec![0; self.sessions.len()];
        for _ in 0..transactions {
            let place = self.first();
            let session = &mut self.sessions[place];
            let due = session.dues.of(session.next);
            if of_sessions[place] == 0 {
                let may = due.max(session.ready);
                begin = Some(begin.map_or(may, |begin| begin.min(may)));
            }
            session.next += 1;
            of_sessions[place] += 1;
        }
        let end = self.first();
        let end = &self.sessions[end];
        let end = end.dues.of(end.next);
        Stretch {
            begin: begin.unwrap_or(end),
            end,
            transactions: of_sessions,
        }
    }

    /// The session whose next transaction is due first.
    fn first(&self) -> usize {
        let due = |place: &usize| {
            let session = &self.sessions[*place];
            session.dues.of(session.next)
        };
        let first = (0..self.sessions.len()).min_by_key(due);
        first.unwrap_or_default()
    }

    /// A session's last transaction of a slice ended at this time of the slice's clock.
    pub(crate) fn ended(&mut self, session: usize, at: Duration) {
        let ready = &mut self.sessions[session].ready;
        *ready = at.max(*ready);
    }

    /// Before which time of the clock a session's next transaction cannot begin.
    pub(crate) fn ready(&self, session: usize) -> Duration {
        self.sessions[session].ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    fn timetable(sessions: &[&[u64]], round: u64) -> Timetable {
        let dues = sessions.iter().map(|times| {
            let times = times.iter().map(|time| ms(*time));
            Dues::new(times.collect(), ms(round)).unwrap()
        });
        Timetable::new(dues.collect()).unwrap()
    }

    fn stretch(begin: u64, end: u64, transactions: &[u64]) -> Stretch {
        Stretch {
            begin: ms(begin),
            end: ms(end),
            transactions: transactions.to_vec(),
        }
    }

    #[test]
    fn slices_have_what_is_due_first_and_go_through_the_timetable() {
        let mut times = timetable(&[&[0, 10, 20], &[5, 50, 60]], 100);
        assert_eq!(times.slice(3), stretch(0, 20, &[2, 1]));
        assert_eq!(times.slice(2), stretch(20, 60, &[1, 1]));
        // Behind the last one all are due again.
        assert_eq!(times.slice(3), stretch(60, 110, &[1, 2]));
        assert_eq!(times.slice(0), stretch(110, 110, &[0, 0]));
    }

    #[test]
    fn the_end_of_a_slice_makes_nobody_late() {
        let mut times = timetable(&[&[0, 100], &[8, 108]], 1000);
        assert_eq!(times.slice(1), stretch(0, 8, &[1, 0]));
        // It took longer than to the next session's time, which its own session is ready for.
        times.ended(0, ms(30));
        assert_eq!(times.slice(1), stretch(8, 100, &[0, 1]));
        assert_eq!((times.ready(0), times.ready(1)), (ms(30), ms(0)));
    }

    #[test]
    fn who_is_late_stays_late_and_holds_up_nobody() {
        let mut times = timetable(&[&[0, 10, 20], &[5, 15, 25]], 1000);
        assert_eq!(times.slice(2).transactions, [1, 1]);
        times.ended(0, ms(500));
        times.ended(1, ms(6));
        assert_eq!(times.slice(2), stretch(15, 20, &[1, 1]));
        assert_eq!((times.ready(0), times.ready(1)), (ms(500), ms(6)));
        // Both: nobody waits for a time at which nobody could begin.
        times.ended(0, ms(700));
        times.ended(1, ms(600));
        assert_eq!(times.slice(2).begin, ms(600));
    }
}
