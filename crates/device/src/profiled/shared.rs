//! Processor sharing in virtual time: requests of several classes are worked
//! on at once, each at a rate that depends on its class and on how many
//! requests are in flight.
//!
//! Each class has a clock of work done for each of its requests; a request
//! ends when the clock has moved on by its work. The clocks of all classes
//! move at each event alone, so that an event costs a step for each class and
//! a heap operation.

use std::{cmp::Reverse, collections::BinaryHeap};

use octavo_units::Moment;

use crate::Tag;

#[derive(Clone, Debug)]
pub(super) struct Shared {
    classes: Vec<Class>,
    queue: usize,
    in_flight: usize,
    steady_in_flight: usize,
    /// A factor of all rates but the steady ones.
    pace: f64,
    now: Moment,
    /// What ends at the present moment, kept for its memory.
    ended: Vec<(u64, Tag)>,
}

#[derive(Clone, Debug)]
struct Class {
    /// Work per nanosecond by requests in flight less one; a single one for a
    /// steady class.
    rates: Vec<f64>,
    /// Slowed down by nothing, and slowing nothing down.
    steady: bool,
    /// Work that each request has had since the clock was at 0.
    clock: f64,
    /// The clock at which requests end (positive, so that their bits are in
    /// order), then their order of submission.
    ends: BinaryHeap<Reverse<(u64, u64, u32)>>,
}

/// Clocks are set back before the spacing of floating-point numbers there
/// exceeds 10^-9 of a request's work.
const CLOCK_MAX: f64 = (1 << 22) as f64;

impl Shared {
    pub(super) fn new(queue: usize) -> Self {
        Self {
            classes: Vec::new(),
            queue,
            in_flight: 0,
            steady_in_flight: 0,
            pace: 1.0,
            now: Moment::START,
            ended: Vec::new(),
        }
    }

    /// Adds a class with its rates at 1, 2, ... requests in flight.
    pub(super) fn add_class(&mut self, rates: Vec<f64>) -> usize {
        assert_eq!(rates.len(), self.queue);
        self.classes.push(Class {
            rates,
            steady: false,
            clock: 0.0,
            ends: BinaryHeap::new(),
        });
        self.classes.len() - 1
    }

    /// Adds a steady class, of which a request ends after its work divided by
    /// the rate whatever else is in flight.
    pub(super) fn add_steady(&mut self, rate: f64) -> usize {
        self.classes.push(Class {
            rates: vec![rate],
            steady: true,
            clock: 0.0,
            ends: BinaryHeap::new(),
        });
        self.classes.len() - 1
    }

    pub(super) fn now(&self) -> Moment {
        self.now
    }

    /// Requests that share, those of steady classes not counted.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(super) fn is_idle(&self) -> bool {
        self.in_flight == 0 && self.steady_in_flight == 0
    }

    /// Makes all rates but the steady ones this many times what they are.
    pub(super) fn set_pace(&mut self, pace: f64) {
        self.pace = pace;
    }

    /// Begins a request at the present moment.
    pub(super) fn add(&mut self, class: usize, work: f64, order: u64, tag: Tag) {
        let steady = self.classes[class].steady;
        let class = &mut self.classes[class];
        class.set_back();
        let end = class.clock + work;
        class.ends.push(Reverse((end.to_bits(), order, tag.0)));
        if steady {
            self.steady_in_flight += 1;
        } else {
            self.in_flight += 1;
            assert!(self.in_flight <= self.queue);
        }
    }

    /// When the next request ends, as things are.
    pub(super) fn next(&self) -> Option<Moment> {
        self.earliest().map(|(at, _)| at)
    }

    /// When, and of which class.
    fn earliest(&self) -> Option<(Moment, usize)> {
        let mut earliest: Option<(Moment, usize)> = None;
        for (index, class) in self.classes.iter().enumerate() {
            let Some(Reverse((end, ..))) = class.ends.peek() else {
                continue;
            };
            let rest = f64::from_bits(*end) - class.clock;
            let nanoseconds = (rest / self.rate(index)).ceil().max(0.0);
            // As a cast saturates, what takes longer than time ends never.
            let at = self.now.after(nanoseconds as u64);
            if earliest.is_none_or(|(known, _)| at < known) {
                earliest = Some((at, index));
            }
        }
        earliest
    }

    /// Goes on to the next end and gives what ends then, in the order of
    /// submission.
    pub(super) fn end(&mut self) -> Option<(Moment, impl Iterator<Item = Tag> + '_)> {
        let (at, next) = self.earliest()?;
        self.pass(at);
        for (index, class) in self.classes.iter_mut().enumerate() {
            // What was found to end now does so even if rounding left its
            // clock a hair before it.
            let mut must = index == next;
            while let Some(Reverse((end, order, tag))) = class.ends.peek().copied()
                && (must || f64::from_bits(end) <= class.clock)
            {
                must = false;
                class.ends.pop();
                self.ended.push((order, Tag(tag)));
                if class.steady {
                    self.steady_in_flight -= 1;
                } else {
                    self.in_flight -= 1;
                }
            }
        }
        self.ended.sort_unstable();
        Some((at, self.ended.drain(..).map(|(_, tag)| tag)))
    }

    /// Goes on to `at`, before which nothing ends.
    pub(super) fn pass(&mut self, at: Moment) {
        let nanoseconds = at.since(self.now) as f64;
        if nanoseconds > 0.0 {
            for index in 0..self.classes.len() {
                if !self.classes[index].ends.is_empty() {
                    let rate = self.rate(index);
                    self.classes[index].clock += rate * nanoseconds;
                }
            }
        }
        self.now = self.now.max(at);
    }

    #[inline]
    fn rate(&self, class: usize) -> f64 {
        let class = &self.classes[class];
        if class.steady {
            class.rates[0]
        } else {
            class.rates[self.in_flight - 1] * self.pace
        }
    }
}

impl Class {
    /// Sets the clock to 0 when nothing refers to it or it has gone too far.
    fn set_back(&mut self) {
        if self.ends.is_empty() {
            self.clock = 0.0;
        } else if self.clock > CLOCK_MAX {
            let clock = self.clock;
            self.ends = self
                .ends
                .drain()
                .map(|Reverse((end, order, tag))| {
                    let end = (f64::from_bits(end) - clock).max(0.0);
                    Reverse((end.to_bits(), order, tag))
                })
                .collect();
            self.clock = 0.0;
        }
    }
}
