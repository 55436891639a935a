//! How often transactions pin the pages that they refer to.
//!
//! Each pin of a page counts for the clock that evicts pages, five at most (`PinBuffer` in
//! bufmgr.c): an UPDATE by key and a SELECT of that row pin the index's page two or three times and
//! the row's twice. Pages that lie in the recording's small buffer are found there the second time,
//! which nothing shows. So some more transactions run in a buffer that evicts nothing, and behind
//! each of them `pg_buffercache` tells the counts of the pages that came with it.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    time::{Duration, Instant},
};

use octavo_workload::ConnectionError;

use super::{
    super::{configured::Postgres, session::Session},
    answers::number,
    asking::open,
    relations::{OF_DATABASE, Relation},
    settings::parameters,
};
use crate::{Missing, PagesWanted, Progress, Result, error::unless_stopped, turns::ClientTurns};

/// Pages of the buffer: all are looked at behind each transaction. Chosen.
const BUFFER_PAGES: u32 = 4096;

/// How many transactions are looked at. Chosen: one look takes some milliseconds.
const TRANSACTIONS_MAX: u32 = 300;
/// For how long at most, where they take long themselves. Chosen.
const TIME_MAX: Duration = Duration::from_secs(20);

/// Whether the server's programs have the extension.
const AVAILABLE: &str =
    "SELECT count(*) FROM pg_catalog.pg_available_extensions WHERE name = 'pg_buffercache'";
/// All frames that have pages.
const FRAMES: &str = "SELECT reldatabase, relfilenode, relforknumber, relblocknumber, usagecount \
                      FROM public.pg_buffercache WHERE relfilenode IS NOT NULL";

/// Misses that were predicted without pins were 13% (18.4) and 17% (15.18) too many where an UPDATE
/// and a SELECT by key met a buffer of 64 MiB, and 3% for YCSB F.
const UNCOUNTED: Missing = Missing {
    what: "how often transactions pin pages, since the server's programs lack the extension \
           pg_buffercache",
    misses_off: 0.15,
};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pins {
    /// By kinds of transactions and relations: pins of pages that came, and how many these are.
    found: HashMap<(usize, Relation), (u32, u32)>,
    /// Whether the server tells them.
    are_told: bool,
}

/// A page in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Framed {
    relation: Relation,
    block: u32,
    pins: u32,
}

impl Pins {
    /// Counts those of further transactions; none where the server's programs lack the extension.
    ///
    /// # Errors
    /// [`DatabaseError::Stopped`](crate::DatabaseError::Stopped) when `progress` stopped it, and
    /// when the server does not do what it is asked.
    pub(super) fn count(
        postgres: &Postgres,
        run: &Path,
        turns: &mut ClientTurns,
        progress: &mut Progress<'_>,
        wanted: &PagesWanted<'_>,
    ) -> Result<Self> {
        let server = postgres.cluster(run, wanted.page_size)?;
        let server = server.start(&parameters(wanted, BUFFER_PAGES.into()), None)?;
        let mut pins = Self::default();
        // The user's database may have the extension, or something of its name.
        let mut looking = server.connect_to_template()?;
        if number::<u32>(&mut looking, AVAILABLE)? > 0 {
            pins.are_told = true;
            looking.simple("CREATE EXTENSION pg_buffercache SCHEMA public")?;
            let mut beside = server.connect_beside()?;
            let database = number(&mut beside, OF_DATABASE)?;
            let mut session = open(&server, wanted)?;
            // The prediction has what it needs: rows of later transactions may run out.
            let mut run = || {
                unless_stopped(progress(wanted.transactions))?;
                Ok(turns.next(&mut session).ok().map(|(kind, _)| kind))
            };
            let mut look = || frames(&mut looking);
            pins.see(database, wanted.time_max, &mut run, &mut look)?;
        }
        drop(looking);
        server.stop()?;
        Ok(pins)
    }

    /// Runs transactions until there are no more, and looks at the buffer after each. `run` answers
    /// the kind of its transaction.
    fn see(
        &mut self,
        database: u32,
        time_max: Duration,
        run: &mut dyn FnMut() -> Result<Option<usize>>,
        look: &mut dyn FnMut() -> Result<Vec<Framed>>,
    ) -> Result<()> {
        let page_of = |framed: &Framed| (framed.relation, framed.block);
        let mut seen: HashSet<(Relation, u32)> = look()?.iter().map(page_of).collect();
        let begun = Instant::now();
        for _ in 0..TRANSACTIONS_MAX {
            let Some(kind) = run()? else {
                break;
            };
            let framed = look()?;
            // Some may have been evicted, and counts of others are lower then.
            if framed.len() >= BUFFER_PAGES as usize {
                break;
            }
            for of in &framed {
                if seen.insert(page_of(of)) && of.relation.is_of(database) {
                    let (pins, pages) = self.found.entry((kind, of.relation)).or_default();
                    *pins += of.pins;
                    *pages += 1;
                }
            }
            if begun.elapsed() >= TIME_MAX.min(time_max) {
                break;
            }
        }
        Ok(())
    }

    /// Says that the server does not tell them.
    pub(super) fn missing(&self) -> Option<Missing> {
        (!self.are_told).then_some(UNCOUNTED)
    }

    /// How often a transaction of this kind pins a page of a relation that it refers to, in the
    /// mean; 0 where that is not known.
    pub(super) fn mean(&self, kind: usize, relation: Relation) -> f64 {
        let found = self.found.get(&(kind, relation));
        found.map_or(0.0, |(pins, pages)| f64::from(*pins) / f64::from(*pages))
    }
}

/// What the buffer has.
fn frames(session: &mut Session) -> Result<Vec<Framed>> {
    let strange = || ConnectionError::other(FRAMES, "the answer is no list of frames");
    let rows = session.texts(FRAMES)?;
    let framed = rows.iter().map(|row| {
        let values: Option<Vec<u32>> = row
            .iter()
            .map(|value| value.as_deref()?.parse().ok())
            .collect();
        let [database, number, fork, block, pins] = *values.as_deref()? else {
            return None;
        };
        Some(Framed {
            relation: Relation {
                database,
                number,
                fork: u8::try_from(fork).ok()?,
            },
            block,
            pins,
        })
    });
    let framed: Option<Vec<Framed>> = framed.collect();
    Ok(framed.ok_or_else(strange)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_count_when_they_come() {
        let at = |database, number, block, pins| Framed {
            relation: Relation {
                database,
                number,
                fork: 0,
            },
            block,
            pins,
        };
        let mut looks = vec![
            // What the session has read before.
            vec![at(5, 1, 0, 3)],
            vec![
                at(5, 1, 0, 5),
                at(5, 1, 1, 2),
                at(5, 2, 0, 1),
                at(1, 2, 7, 4),
            ],
            vec![
                at(5, 1, 0, 5),
                at(5, 1, 1, 4),
                at(5, 1, 2, 3),
                at(0, 9, 0, 1),
            ],
            // The buffer is full.
            (0..BUFFER_PAGES).map(|block| at(5, 2, block, 1)).collect(),
        ]
        .into_iter();
        let mut kinds = [0, 0, 1].into_iter();
        let mut pins = Pins::default();
        pins.see(5, Duration::MAX, &mut || Ok(kinds.next()), &mut || {
            Ok(looks.next().unwrap())
        })
        .unwrap();
        let mean = |kind, of: Framed| pins.mean(kind, of.relation);
        assert_eq!(mean(0, at(5, 1, 0, 0)), 2.5);
        assert_eq!(mean(0, at(5, 2, 0, 0)), 1.0);
        assert_eq!(mean(0, at(0, 9, 0, 0)), 1.0);
        // Another database's, and what was not looked at.
        assert_eq!(mean(0, at(1, 2, 0, 0)), 0.0);
        assert_eq!(mean(1, at(5, 2, 0, 0)), 0.0);
    }
}
