//! InnoDB's rule that a page has to be old before it is young, in the server's own time.
//!
//! A page comes to the front of the buffer pool's list only when it is wanted again
//! `innodb_old_blocks_time` after it was read (a second:
//! <https://dev.mysql.com/doc/refman/8.4/en/innodb-performance-midpoint_insertion.html>). The
//! server takes that from a clock, which goes on while it is held still between slices: with
//! three servers in turn pages were young after a third of their second, and TPC-C with 4
//! KiB pages read 9.2 pages a transaction where a server alone reads 11.2. So the time is
//! lengthened by how much longer slices are apart than they last (10.6 to 12.2 then): right
//! on average, and too long for a page that is wanted again in the same long slice.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use octavo_workload::Result;

use super::session::Session;

/// How much of what was before counts in the next slice.
const KEPT: f64 = 0.8;
/// A change of the time that is less than this share is not worth a statement.
const CHANGE_MIN: f64 = 0.1;
/// The longest time, in milliseconds: where one slice is so far from the next that hardly
/// anything was running, an hour is as good as never.
const TIME_MAX: f64 = 3_600_000.0;

/// The variable, kept at so long in the server's own time.
pub(super) struct OldBlocks(Mutex<State>);

struct State {
    session: Session,
    pace: Pace,
    /// The server's own value, in milliseconds.
    wanted: f64,
    /// What it has now.
    set: f64,
}

/// How much longer slices are apart than they last.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// When the slice under way, or the last one, began.
    began: Option<Instant>,
    /// How long the last one lasted; `None` while one is under way.
    lasted: Option<Duration>,
    /// Sums over slices, the last ones counting most, in seconds: from one to the next, and
    /// of their own.
    apart_s: f64,
    own_s: f64,
}

impl Pace {
    fn thaw(&mut self, now: Instant) {
        if let (Some(began), Some(lasted)) = (self.began, self.lasted.take()) {
            self.apart_s = KEPT * self.apart_s + (now - began).as_secs_f64();
            self.own_s = KEPT * self.own_s + lasted.as_secs_f64();
        }
        self.began = Some(now);
    }

    fn freeze(&mut self, now: Instant) {
        self.lasted = self.began.map(|began| now - began);
    }

    /// At least 1.
    fn slower(&self) -> f64 {
        match self.own_s > 0.0 {
            true => (self.apart_s / self.own_s).max(1.0),
            false => 1.0,
        }
    }
}

impl OldBlocks {
    /// Reads the variable through a session of a server that has not been held yet; `None`
    /// where it has no such variable.
    pub(super) fn read(mut session: Session) -> Result<Option<Self>> {
        let rows = session.texts("SELECT @@GLOBAL.innodb_old_blocks_time")?;
        let value = rows
            .first()
            .and_then(|row| row.first()?.as_deref()?.parse().ok());
        // It may be long until the next one is asked for.
        session.simple("SET SESSION wait_timeout = 604800")?;
        Ok(value.map(|wanted| {
            Self(Mutex::new(State {
                session,
                pace: Pace::default(),
                wanted,
                set: wanted,
            }))
        }))
    }

    /// Call before the server is frozen.
    pub(super) fn freeze(&self) {
        self.lock().pace.freeze(Instant::now());
    }

    /// Call after the server was thawed.
    pub(super) fn thaw(&self) -> Result<()> {
        let mut state = self.lock();
        let State {
            session,
            pace,
            wanted,
            set,
        } = &mut *state;
        pace.thaw(Instant::now());
        let time = (*wanted * pace.slower()).min(TIME_MAX).round();
        if (time - *set).abs() > CHANGE_MIN * *set {
            session.simple(&format!("SET GLOBAL innodb_old_blocks_time = {time}"))?;
            *set = time;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_that_are_apart_are_slower() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut pace = Pace::default();
        assert_eq!(pace.slower(), 1.0);
        // Being opened and held before the first slice is none of it.
        pace.freeze(at(0));
        assert_eq!(pace.slower(), 1.0);
        pace.thaw(at(0));
        assert_eq!(pace.slower(), 1.0);
        for slice in 0..50 {
            pace.thaw(at(slice * 1000));
            pace.freeze(at(slice * 1000 + 250));
        }
        pace.thaw(at(50_000));
        assert!((pace.slower() - 4.0).abs() < 1e-9, "{}", pace.slower());
        // The others leave: it comes nearer to 1 with each slice.
        let mut before = pace.slower();
        for slice in 0..20 {
            pace.freeze(at(50_000 + slice * 260 + 250));
            pace.thaw(at(50_000 + slice * 260 + 260));
            assert!(pace.slower() < before);
            before = pace.slower();
        }
        assert!(before < 1.1, "{before}");
    }
}
