//! Slices of cells in lockstep on a machine that drifts, has moods and storms.
//!
//! The constants are those of a 2-core machine with SQLite, TPC-C and 50
//! transactions a slice, where they are known from there.

use std::{f64::consts::TAU, time::Duration};

use octavo_units::{ByteCount, Seed};
use rand::{RngExt, seq::SliceRandom};
use rand_pcg::Pcg64Mcg;

use crate::lockstep::{SessionTime, Slice, SliceKey};

/// What the machine does to slices. Deviations are of logarithms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions {
    /// A slice's own deviation: of ratios of neighbors it is √2 times as much.
    pub(crate) own: f64,
    /// The deviation of the level that all cells share, and the seconds in
    /// which it forgets.
    pub(crate) drift: (f64, f64),
    /// The same of each cell by itself.
    pub(crate) mood: (f64, f64),
    /// A checkpoint's own deviation.
    pub(crate) checkpoint: f64,
    /// Transactions from one checkpoint to the next, and the share of time that they take.
    pub(crate) checkpoints: (f64, f64),
    /// Seconds between the machine's regimes, whose levels lie within a factor
    /// of 1.9.
    pub(crate) regime: f64,
    /// Seconds between storms, in which slices take 2 to 6 times as long.
    pub(crate) storm: f64,
}

/// A quiet machine: ratios of neighboring slices scatter by 4.6%, of slices 44
/// s apart by 14%.
pub(crate) const QUIET: Conditions = Conditions {
    own: 0.0325,
    drift: (0.1, 22.0),
    mood: (0.006, 30.0),
    checkpoint: 0.2,
    checkpoints: (80.0, 0.3),
    regime: 180.0,
    storm: f64::INFINITY,
};

/// Transactions of a slice.
pub(crate) const SLICE: u64 = 50;

/// Seconds a transaction, without checkpoints.
const TRANSACTION: f64 = 0.0012;

/// Bytes of log a transaction.
const LOG: f64 = 50e3;

/// A machine at a moment.
pub(crate) struct Machine {
    conditions: Conditions,
    generator: Pcg64Mcg,
    /// Seconds since the start.
    now: f64,
    drift: f64,
    regime: f64,
    storm_until: f64,
    cells: Vec<Cell>,
}

struct Cell {
    /// The logarithm of its speed, in truth.
    effect: f64,
    mood: f64,
    /// Bytes of log since its last checkpoint.
    log: f64,
}

impl Machine {
    /// With the logarithm of each cell's speed.
    pub(crate) fn new(conditions: Conditions, effects: &[f64], seed: Seed) -> Self {
        let mut generator = seed.generator();
        let cells = effects
            .iter()
            .map(|&effect| Cell {
                effect,
                mood: conditions.mood.0 * normal(&mut generator),
                log: conditions.checkpoints.0 * LOG * generator.random::<f64>(),
            })
            .collect();
        Self {
            drift: conditions.drift.0 * normal(&mut generator),
            conditions,
            generator,
            now: 0.0,
            regime: 0.0,
            storm_until: 0.0,
            cells,
        }
    }

    /// Slices of passes of a sitting until they have taken this long.
    pub(crate) fn sitting(&mut self, sitting: u32, measured: Duration) -> Vec<Slice> {
        let end = self.now + measured.as_secs_f64();
        let mut slices = Vec::new();
        let mut pass = 0;
        while self.now < end {
            let cells: Vec<usize> = (0..self.cells.len()).collect();
            slices.extend(self.pass(sitting, pass, cells));
            pass += 1;
        }
        slices
    }

    /// A slice of each of these cells, in random order.
    pub(crate) fn pass(&mut self, sitting: u32, pass: u32, mut cells: Vec<usize>) -> Vec<Slice> {
        cells.shuffle(&mut self.generator);
        // What the transactions happen to be.
        let length = (0.05 * normal(&mut self.generator)).exp();
        (0..)
            .zip(cells)
            .map(|(position, cell)| {
                let key = SliceKey {
                    sitting,
                    pass,
                    position,
                    cell,
                };
                self.slice(key, length)
            })
            .collect()
    }

    fn slice(&mut self, key: SliceKey, length: f64) -> Slice {
        let conditions = self.conditions;
        let generator = &mut self.generator;
        let cell = &mut self.cells[key.cell];
        let stormy = self.now < self.storm_until;
        let storm = if stormy {
            generator.random_range(2.0..6.0)
        } else {
            1.0
        };
        let level = storm * (self.drift + self.regime - cell.effect - cell.mood).exp();
        let own = (conditions.own * normal(generator)).exp();
        let clean = SLICE as f64 * TRANSACTION * length * own * level;
        let log = SLICE as f64 * LOG * length;
        cell.log += log;
        let mut checkpoint = 0.0;
        let (apart, share) = conditions.checkpoints;
        while cell.log >= apart * LOG {
            cell.log -= apart * LOG;
            let own = (conditions.checkpoint * normal(generator)).exp();
            checkpoint += apart * TRANSACTION * share / (1.0 - share) * own * level;
        }
        // A journal commit now and then, and what a storm is made of.
        let foreign = if generator.random_bool(0.02) { 200 } else { 8 };
        let elapsed = clean + checkpoint;
        self.go_on(elapsed);
        Slice {
            key,
            transactions: SLICE,
            counted: SLICE * 9 / 20,
            elapsed: Duration::from_secs_f64(elapsed),
            spent: Some(SessionTime {
                checkpoint: Duration::from_secs_f64(checkpoint),
                ..SessionTime::default()
            }),
            misses: 0,
            log_bytes: ByteCount::new(log as u64),
            response: None,
            foreign_bytes: Some(ByteCount::kib(foreign)),
        }
    }

    fn go_on(&mut self, seconds: f64) {
        self.now += seconds;
        let generator = &mut self.generator;
        let mut forget = |value: &mut f64, (deviation, time): (f64, f64)| {
            let kept = (-seconds / time).exp();
            *value = *value * kept + deviation * (1.0 - kept * kept).sqrt() * normal(generator);
        };
        forget(&mut self.drift, self.conditions.drift);
        for cell in &mut self.cells {
            forget(&mut cell.mood, self.conditions.mood);
        }
        if generator.random::<f64>() < seconds / self.conditions.regime {
            self.regime = generator.random_range(0.0..1.9f64.ln());
        }
        if generator.random::<f64>() < seconds / self.conditions.storm {
            self.storm_until = self.now + generator.random_range(0.5..4.0);
        }
    }
}

/// Box and Muller's normal number.
pub(crate) fn normal(generator: &mut Pcg64Mcg) -> f64 {
    let (u, v): (f64, f64) = (generator.random(), generator.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (TAU * v).cos()
}
