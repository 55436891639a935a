//! One client's transactions. As in pgbench, each statement is sent alone and its
//! answer awaited, though most need no earlier one.

use std::mem;

use octavo_units::Seed;

use super::{
    audit::Counts,
    schema::{ACCOUNTS_PER_UNIT, TELLERS_PER_UNIT},
    script::{Change, DELTA_MAX, Script},
    statements::{
        INSERT_HISTORY, SELECT_BALANCE, STATEMENTS, UPDATE_ACCOUNT, UPDATE_BRANCH, UPDATE_TELLER,
    },
};
use crate::{
    Audit, Client, Connection, Mix, Outcome, Result,
    answer::{Prepared, integer, transact},
    connection::{Access, Value},
    random::Draws,
};

/// Where a client's clock begins: 2026-01-01T00:00:00Z in microseconds since
/// 1970.
const CLOCK_START: i64 = 1_767_225_600_000_000;

/// Microseconds from one draw of a client to its next on its clock.
const TICK: i64 = 1000;

/// One client.
#[derive(Debug)]
pub(super) struct PgbenchClient {
    scale: i64,
    mix: Mix,
    draws: Draws,
    clock: i64,
    /// The script drawn last, and its inputs.
    drawn: Option<(Script, Change)>,
    /// Whether the transaction drawn last was counted, at its first try.
    is_counted: bool,
    counts: Counts,
}

impl PgbenchClient {
    /// Client `index`, which draws from its own part of `seed`.
    pub(super) fn new(scale: u32, mix: &Mix, seed: Seed, index: u32) -> Self {
        Self {
            scale: i64::from(scale),
            mix: mix.clone(),
            draws: Draws::new(seed.derive("client", u64::from(index))),
            clock: CLOCK_START,
            drawn: None,
            is_counted: false,
            counts: Counts::new(scale),
        }
    }

    /// Draws the inputs of a script.
    fn draw_change(&mut self, script: Script) -> Change {
        let aid = self.draws.uniform(1, ACCOUNTS_PER_UNIT * self.scale);
        if script == Script::SelectOnly {
            return Change {
                aid,
                ..Change::default()
            };
        }
        Change {
            aid,
            bid: self.draws.uniform(1, self.scale),
            tid: self.draws.uniform(1, TELLERS_PER_UNIT * self.scale),
            delta: self.draws.uniform(-DELTA_MAX, DELTA_MAX),
            mtime: self.clock,
        }
    }
}

impl Client for PgbenchClient {
    fn draw(&mut self) -> usize {
        self.clock += TICK;
        let script = Script::ALL[self.mix.draw(&mut self.draws)];
        self.is_counted = false;
        self.drawn = Some((script, self.draw_change(script)));
        script as usize
    }

    /// # Panics
    /// When nothing was drawn.
    fn run(&mut self, connection: &mut dyn Connection) -> Result<Outcome> {
        let (script, change) = self.drawn.expect("a transaction is drawn before it runs");
        if !mem::replace(&mut self.is_counted, true) {
            self.counts.ran(script, &change);
        }
        let integers = [change.aid, change.bid, change.tid, change.delta];
        let [aid, bid, tid, delta] = integers.map(Value::Integer);
        if script == Script::SelectOnly {
            select_balance(&mut Prepared::new(connection, STATEMENTS), aid)?;
            return Ok(Outcome::Committed);
        }
        transact(connection, STATEMENTS, Access::Write, |connection| {
            connection.change_one(UPDATE_ACCOUNT, &[delta, aid])?;
            select_balance(connection, aid)?;
            if script == Script::TpcbLike {
                connection.change_one(UPDATE_TELLER, &[delta, tid])?;
                connection.change_one(UPDATE_BRANCH, &[delta, bid])?;
            }
            let mtime = Value::Timestamp(change.mtime);
            connection.change_one(INSERT_HISTORY, &[tid, bid, aid, delta, mtime])?;
            Ok(Outcome::Committed)
        })
    }

    fn audit(&self) -> Audit {
        self.counts.audit(&self.mix)
    }
}

fn select_balance(connection: &mut Prepared<'_>, aid: Value<'_>) -> Result<()> {
    connection.one(SELECT_BALANCE, &[aid], |row| integer(row, 0).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusing::RefusingConnection;

    fn client(scale: u32, weights: [u32; 3], index: u32) -> PgbenchClient {
        PgbenchClient::new(scale, &Mix::new(&weights), Seed::new(1), index)
    }

    #[test]
    fn runs_follow_the_mix_and_fill_their_ranges_evenly() {
        for scale in [1, 7, 1000, 20_000] {
            let mut audit = Audit::default();
            for index in 0..2 {
                let mut client = client(scale, [2, 1, 1], index);
                for _ in 0..40_000 {
                    client.draw();
                    assert!(client.run(&mut RefusingConnection).is_err());
                }
                audit.merge(&client.audit());
            }
            assert_eq!(audit.lines.len(), 3);
            for line in &audit.lines {
                assert_eq!(line.total, 80_000);
                let expected = line.total as f64 * line.wanted;
                let deviation = (expected * (1.0 - line.wanted)).sqrt();
                let difference = (line.count as f64 - expected).abs();
                assert!(difference < 4.0 * deviation, "{line:?}");
            }
            for distribution in &audit.distributions {
                // At most 15 degrees of freedom: above 44 once in 10,000 seeds.
                let chi_square = distribution.chi_square();
                assert!(chi_square < 44.0, "{scale}: {distribution:?}");
                let sum: f64 = distribution.wanted.iter().sum();
                assert!((sum - 1.0).abs() < 1e-12, "{distribution:?}");
            }
        }
    }

    #[test]
    fn only_what_was_tried_is_counted_and_once() {
        let mut own = client(3, [1, 1, 1], 0);
        for _ in 0..200 {
            own.draw();
        }
        assert_eq!(own.audit(), client(3, [1, 1, 1], 0).audit());
        let mut tried = [0; 3];
        for _ in 0..200 {
            own.draw();
            tried[own.draw()] += 1;
            assert!(own.run(&mut RefusingConnection).is_err());
            let audit = own.audit();
            assert!(own.run(&mut RefusingConnection).is_err());
            assert_eq!(own.audit(), audit);
        }
        let audit = own.audit();
        let counts: Vec<u64> = audit.lines.iter().map(|line| line.count).collect();
        assert_eq!(counts, tried);
        let changes = tried[0] + tried[1];
        for (distribution, count) in audit
            .distributions
            .iter()
            .zip([200, changes, changes, changes])
        {
            assert_eq!(distribution.counts.iter().sum::<u64>(), count);
        }
    }

    #[test]
    fn draws_include_both_ends() {
        let mut client = client(1, [1, 0, 0], 0);
        let (mut aids, mut deltas) = (Vec::new(), Vec::new());
        let mut last = CLOCK_START;
        for _ in 0..1_000_000 {
            client.draw();
            let Some((Script::TpcbLike, change)) = client.drawn else {
                panic!("{:?}", client.drawn);
            };
            assert_eq!(change.bid, 1);
            assert!((1..=10).contains(&change.tid));
            assert_eq!(change.mtime, last + TICK);
            last = change.mtime;
            aids.push(change.aid);
            deltas.push(change.delta);
        }
        // Each account is missed with one seed in e^10, each delta with fewer.
        let ends = |values: &[i64]| (values.iter().copied().min(), values.iter().copied().max());
        assert_eq!(ends(&aids), (Some(1), Some(100_000)));
        assert_eq!(ends(&deltas), (Some(-5000), Some(5000)));
    }

    #[test]
    fn one_seed_gives_one_sequence_and_another_client_another() {
        let sequence = |index| {
            let mut client = client(3, [1, 1, 1], index);
            (0..100)
                .map(|_| (client.draw(), client.drawn))
                .collect::<Vec<_>>()
        };
        assert_eq!(sequence(0), sequence(0));
        assert_ne!(sequence(0), sequence(1));
    }
}
