//! How soon pages are referred to again, and how many of them a buffer misses that holds pages of several
//! sizes.
//!
//! The *working set* of a window is the pages referred to within it. A page that is referred to again
//! after a longer time is missed by who keeps just that set, and the set's mean size is the integral of
//! these misses over all shorter windows (Denning and Schwartz, Properties of the Working-Set Model,
//! CACM 15, 1972). LRU in a fixed room is close to it, with the window whose set has the room's size
//! (Fagin, Asymptotic Miss Ratios over Independent References, JCSS 14, 1977). Unlike the distances of a
//! [`Curve`](crate::Curve), windows add up: what one kind of pages does is counted once, and any mix of
//! kinds and sizes follows.

use std::collections::HashMap;

/// Parts of an octave of times, as a power of two: a part is 2.2 to 4.4% wide.
const PART_BITS: u32 = 5;
const PARTS: u64 = 1 << PART_BITS;

/// The times after which pages of one kind are referred to again, while they are counted.
///
/// A time is a number of steps that its user counts, the same for all kinds that share a buffer.
#[derive(Clone, Debug, Default)]
pub struct Reuse {
    /// By [`part_of`] the time since the last reference.
    parts: Vec<Again>,
    /// References whose page was not referred to before.
    first: Again,
    last: HashMap<u64, u64, foldhash::fast::FixedState>,
    /// Steps in which references were counted.
    steps: u64,
}

/// References that are misses if the buffer keeps no longer windows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Again {
    /// Pages.
    pub pages: f64,
    /// Reads of one page.
    pub reads: f64,
    /// Reads of several pages that follow each other.
    pub ahead: f64,
    /// Bytes of these.
    pub ahead_bytes: f64,
}

impl Again {
    /// So many times as much.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self {
            pages: self.pages * factor,
            reads: self.reads * factor,
            ahead: self.ahead * factor,
            ahead_bytes: self.ahead_bytes * factor,
        }
    }
}

impl std::ops::AddAssign for Again {
    fn add_assign(&mut self, other: Self) {
        self.pages += other.pages;
        self.reads += other.reads;
        self.ahead += other.ahead;
        self.ahead_bytes += other.ahead_bytes;
    }
}

/// The part of an octave that a time is in: at most 60 octaves of 32 parts.
fn part_of(time: u64) -> usize {
    let octave = time.max(1).ilog2();
    let part = match octave.checked_sub(PART_BITS) {
        None => time,
        Some(shift) => u64::from(shift + 1) * PARTS + ((time >> shift) & (PARTS - 1)),
    };
    part as usize
}

/// Where a part begins. Times are whole numbers, and each stands for all that is nearer to it than to
/// another one.
fn begin_of(part: usize) -> f64 {
    let part = part as u64;
    let shortest = match (part / PARTS).checked_sub(1) {
        None => part,
        Some(shift) => (PARTS + part % PARTS) << shift,
    };
    shortest as f64 - 0.5
}

impl Reuse {
    /// Counts a reference to a page at step `now`. A miss of it counts as `weight`. Without `is_counted` it
    /// is only remembered: at the beginning nobody knows how long ago pages were referred to.
    pub fn refer(&mut self, page: u64, now: u64, weight: Again, is_counted: bool) {
        let last = self.last.insert(page, now);
        if !is_counted {
            return;
        }
        match last {
            None => self.first += weight,
            // It is at hand.
            Some(last) if last == now => {}
            Some(last) => {
                let part = part_of(now - last);
                if part >= self.parts.len() {
                    self.parts.resize(part + 1, Again::default());
                }
                self.parts[part] += weight;
            }
        }
    }

    /// So many steps were counted, and no more will be.
    pub fn end(&mut self, steps: u64) {
        self.steps = steps;
        self.last = HashMap::default();
    }

    /// What is missed in a step, on average, if pages are kept for `window` steps. Within a part of an
    /// octave times are as if evenly spread.
    pub fn misses(&self, window: f64) -> Again {
        let mut missed = self.first;
        for (part, again) in self.parts.iter().enumerate().rev() {
            let (begin, end) = (begin_of(part), begin_of(part + 1));
            if end <= window {
                break;
            }
            let share = ((end - window) / (end - begin)).min(1.0);
            missed += again.times(share);
        }
        missed.times(1.0 / self.steps.max(1) as f64)
    }

    /// How many pages are referred to within `window` steps, on average: the integral of the misses of
    /// all shorter windows.
    pub fn pages(&self, window: f64) -> f64 {
        let mut pages = self.first.pages * window;
        for (part, again) in self.parts.iter().enumerate() {
            let (begin, end) = (begin_of(part), begin_of(part + 1));
            // All of its times are missed up to `begin`, and none after `end`.
            let within = (window - begin).clamp(0.0, end - begin);
            let missed = window.min(begin) + within - within * within / (2.0 * (end - begin));
            pages += again.pages * missed;
        }
        pages / self.steps.max(1) as f64
    }

    /// The longest time between two references to a page. Nothing is known of longer windows.
    pub fn longest(&self) -> f64 {
        begin_of(self.parts.len())
    }
}

/// A kind of pages in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Kind<'r> {
    /// When they are referred to again.
    pub reuse: &'r Reuse,
    /// Bytes of a page.
    pub bytes: f64,
}

/// How many steps a buffer of so many bytes keeps pages, with these kinds in it; `None` where all fit that
/// were referred to.
pub fn window(kinds: &[Kind<'_>], room: f64) -> Option<f64> {
    let held = |window: f64| -> f64 {
        let each = kinds.iter();
        each.map(|kind| kind.reuse.pages(window) * kind.bytes).sum()
    };
    let longest = kinds.iter().map(|kind| kind.reuse.longest());
    let (mut low, mut high) = (0.0, longest.fold(0.0, f64::max));
    if held(high) <= room {
        return None;
    }
    // Nothing is shorter than a step.
    while high - low > 1e-6 * high && high > 0.5 {
        let middle = 0.5 * (low + high);
        match held(middle) > room {
            true => high = middle,
            false => low = middle,
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::{Curve, Frames, Trace};

    const ONE: Again = Again {
        pages: 1.0,
        reads: 1.0,
        ahead: 0.0,
        ahead_bytes: 0.0,
    };

    #[test]
    fn parts_of_octaves_follow_each_other() {
        let mut last = 0;
        for time in 1..100_000 {
            let part = part_of(time);
            assert!(part == last || part == last + 1, "{time}");
            last = part;
            assert!(begin_of(part) < time as f64 && (time as f64) < begin_of(part + 1));
        }
        assert!(part_of(u64::MAX) < 2000);
    }

    #[test]
    fn by_hand() {
        // Of two pages one is referred to each second step, the other each fourth.
        let mut reuse = Reuse::default();
        for step in 0..4000 {
            let is_counted = step >= 2000;
            if step % 2 == 0 {
                reuse.refer(0, step, ONE, is_counted);
            }
            if step % 4 == 1 {
                reuse.refer(1, step, ONE, is_counted);
            }
        }
        reuse.end(2000);
        let misses = [1.0, 3.0, 5.0].map(|window| reuse.misses(window).pages);
        assert_eq!(misses, [0.75, 0.25, 0.0]);
        // Within one step 0.75 pages, within many both.
        assert_eq!(reuse.pages(1.0), 0.75);
        assert_eq!(reuse.pages(5.0), 2.0);
        let kinds = [Kind {
            reuse: &reuse,
            bytes: 10.0,
        }];
        let found = window(&kinds, 7.5).unwrap();
        assert!((found - 1.0).abs() < 1e-3, "{found}");
        assert_eq!(window(&kinds, 100.0), None);
        assert!(
            window(&kinds, 0.0).unwrap() <= 0.5,
            "without room nothing stays"
        );
    }

    /// Half of the references go to a twentieth of the pages.
    fn skewed(random: &mut Pcg64Mcg, pages: u64) -> u64 {
        match random.random_range(0..10) {
            0..5 => random.random_range(0..pages / 20),
            _ => random.random_range(0..pages),
        }
    }

    #[test]
    fn windows_miss_what_lru_misses() {
        let mut random = Pcg64Mcg::seed_from_u64(5);
        let stream: Vec<u64> = (0..400_000).map(|_| skewed(&mut random, 20_000)).collect();
        let mut reuse = Reuse::default();
        for (step, &page) in (0..).zip(&stream) {
            reuse.refer(page, step, ONE, step >= 200_000);
        }
        reuse.end(200_000);
        let kinds = [Kind {
            reuse: &reuse,
            bytes: 1.0,
        }];
        let half = Curve::exact(&Trace::from(stream[..200_000].to_vec()));
        let all = Curve::exact(&Trace::from(stream.clone()));
        for frames in [200, 1000, 4000, 10_000, 16_000] {
            let window = window(&kinds, f64::from(frames)).unwrap();
            let predicted = reuse.misses(window).pages;
            let frames = Frames::new(frames).unwrap();
            let counted = (all.misses(frames) - half.misses(frames)) as f64 / 200_000.0;
            let error = predicted / counted - 1.0;
            assert!(error.abs() < 0.02, "{frames:?}: {predicted} of {counted}");
        }
    }

    /// Misses of LRU with pages of two sizes: it evicts the oldest pages until there is room.
    fn simulate(stream: &[(u64, u64)], room: u64) -> [f64; 2] {
        let mut ages = std::collections::BTreeMap::new();
        let mut last = HashMap::new();
        let (mut held, mut misses) = (0, [0.0; 2]);
        for (step, &(kind, page)) in stream.iter().enumerate() {
            let bytes = [1, 8][kind as usize];
            match last.insert((kind, page), step) {
                Some(before) if ages.remove(&before).is_some() => {}
                _ => {
                    held += bytes;
                    if step >= stream.len() / 2 {
                        misses[kind as usize] += 2.0 / stream.len() as f64;
                    }
                }
            }
            ages.insert(step, bytes);
            while held > room {
                held -= ages.pop_first().unwrap().1;
            }
        }
        misses
    }

    #[test]
    fn kinds_of_several_sizes_share_a_room_as_in_lru() {
        let mut random = Pcg64Mcg::seed_from_u64(6);
        let stream: Vec<(u64, u64)> = (0..400_000)
            .map(|_| match random.random_range(0..3) {
                0 => (1, skewed(&mut random, 2000)),
                _ => (0, skewed(&mut random, 20_000)),
            })
            .collect();
        let mut reuses = [Reuse::default(), Reuse::default()];
        for (step, &(kind, page)) in (0..).zip(&stream) {
            reuses[kind as usize].refer(page, step, ONE, step >= 200_000);
        }
        for reuse in &mut reuses {
            reuse.end(200_000);
        }
        let kinds = [1.0, 8.0].map(|bytes| Kind {
            reuse: &reuses[usize::from(bytes > 1.0)],
            bytes,
        });
        for room in [1000, 4000, 16_000] {
            let window = window(&kinds, room as f64).unwrap();
            let simulated = simulate(&stream, room);
            for (reuse, simulated) in reuses.iter().zip(simulated) {
                let predicted = reuse.misses(window).pages;
                let error = predicted / simulated - 1.0;
                assert!(error.abs() < 0.03, "{room}: {predicted} of {simulated}");
            }
        }
    }
}
