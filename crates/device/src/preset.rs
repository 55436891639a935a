//! Which points are measured, and for how long.

use std::time::Duration;

use octavo_units::{ByteCount, QueueDepth, RequestSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    point::{Durability, PointSpec},
    request::{Mix, Pattern},
    steady,
};

/// How thoroughly the storage is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// What `octavo advise` needs: 22 points on 512 MiB, about 15 s.
    Brief,
    /// All tables at a few depths on 1 GiB, under a minute.
    Quick,
    /// Every request size at every depth on 8 GiB, preconditioned, writes
    /// until they are steady: hours.
    Full,
}

impl std::fmt::Display for Preset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Brief => "brief",
            Self::Quick => "quick",
            Self::Full => "full",
        })
    }
}

/// How long one point is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Load before a measured round that follows another load, not counted.
    pub ramp: Duration,
    /// One round: a fifth of the measured time for points with a fixed
    /// number of rounds.
    pub round: Duration,
    /// Rounds at most: 5 always measures 5; more ends with the first steady
    /// window of 5.
    pub rounds_max: usize,
    /// Whether points take turns by rounds, so that storage whose speed changes by the
    /// second is as fast for one as for another. Else a point has all of its rounds
    /// before the next, as writes need that are to become steady.
    pub in_turns: bool,
}

impl Timing {
    /// The shortest and longest time that a point takes.
    pub fn bounds(&self) -> (Duration, Duration) {
        let rounds = |count: usize| {
            let ramps = if self.in_turns { count as u32 } else { 1 };
            self.ramp * ramps + self.round * count as u32
        };
        (rounds(steady::WINDOW), rounds(self.rounds_max))
    }
}

/// `least` and its doubles, up to `most`.
fn doubles(least: u32, most: u32) -> impl Iterator<Item = u32> + Clone {
    std::iter::successors(Some(least), |value| value.checked_mul(2))
        .take_while(move |value| *value <= most)
}

/// Every power of two that is a request size, in bytes.
fn all_sizes() -> impl Iterator<Item = u32> {
    doubles(512, 1 << 20)
}

fn all_depths() -> impl Iterator<Item = u16> {
    doubles(1, 64).map(|depth| depth as u16)
}

impl Preset {
    /// The file's size when none is asked for.
    pub const fn file_size(self) -> ByteCount {
        match self {
            Self::Brief => ByteCount::mib(512),
            Self::Quick => ByteCount::mib(1024),
            Self::Full => ByteCount::mib(8192),
        }
    }

    /// How long one point is measured. Only writes of [`Preset::Full`] take
    /// more rounds than one window.
    pub fn timing(self, spec: &PointSpec) -> Timing {
        let (ramp_ms, round_ms) = match self {
            Self::Brief => (20, 100),
            Self::Quick => (20, 120),
            Self::Full => (500, 1000),
        };
        Timing {
            ramp: Duration::from_millis(ramp_ms),
            round: Duration::from_millis(round_ms),
            rounds_max: match self {
                Self::Full if spec.mix.writes() => steady::ROUNDS_MAX,
                _ => steady::WINDOW,
            },
            in_turns: self != Self::Full,
        }
    }

    /// How many times the whole file is written before measuring. The
    /// specification asks for twice.
    pub const fn fills(self) -> u32 {
        match self {
            Self::Brief | Self::Quick => 1,
            Self::Full => 2,
        }
    }

    /// The points, reads before writes of the same kind, for a file of
    /// `file_size` bytes and requests of multiples of `alignment` bytes.
    pub fn points(self, file_size: ByteCount, alignment: u32) -> Vec<PointSpec> {
        let mut grid = Grid {
            points: Vec::new(),
            file_size,
            alignment,
        };
        match self {
            Self::Brief => grid.brief(),
            Self::Quick => grid.quick(),
            Self::Full => grid.full(),
        }
        grid.points
    }
}

/// Collects points, leaving out repetitions and requests that cannot be made.
struct Grid {
    points: Vec<PointSpec>,
    file_size: ByteCount,
    alignment: u32,
}

impl Grid {
    fn brief(&mut self) {
        self.random(&[4 << 10, 8 << 10, 16 << 10, 64 << 10]);
        for depth in [2, 4, 8, 16, 64] {
            self.add(Mix::READ, Pattern::Random, 4 << 10, depth, 1);
        }
        self.add_commit();
    }

    fn quick(&mut self) {
        let sizes: Vec<u32> = all_sizes()
            .filter(|bytes| *bytes == 512 || (4 << 10..=128 << 10).contains(bytes))
            .collect();
        self.random(&sizes);
        for mix in [Mix::READ, Mix::WRITE] {
            for bytes in [8 << 10, 64 << 10, 128 << 10, 512 << 10, 1 << 20] {
                self.add(mix, Pattern::Sequential, bytes, 32, 1);
            }
        }
        for mix in [Mix::READ_75, Mix::READ_50] {
            for bytes in [4 << 10, 16 << 10] {
                self.add(mix, Pattern::Random, bytes, 32, 1);
            }
        }
        self.curves(8 << 10);
        self.shifted(&[8 << 10]);
        self.add_commit();
    }

    fn full(&mut self) {
        for (mix, pattern) in [
            (Mix::READ, Pattern::Random),
            (Mix::READ, Pattern::Sequential),
            (Mix::WRITE, Pattern::Sequential),
            (Mix::WRITE, Pattern::Random),
            (Mix::READ_75, Pattern::Random),
            (Mix::READ_50, Pattern::Random),
        ] {
            for bytes in all_sizes() {
                for depth in all_depths() {
                    self.add(mix, pattern, bytes, depth, 1);
                }
            }
        }
        for bytes in [4 << 10, 8 << 10, 16 << 10] {
            self.curves(bytes);
        }
        self.shifted(&[4 << 10, 8 << 10, 16 << 10]);
        self.add_commit();
    }

    /// Random reads and writes of these sizes, alone and 32 at a time.
    fn random(&mut self, sizes: &[u32]) {
        for mix in [Mix::READ, Mix::WRITE] {
            for depth in [1, 32] {
                for bytes in sizes {
                    self.add(mix, Pattern::Random, *bytes, depth, 1);
                }
            }
        }
    }

    /// lee-2009's curves: over depths on the whole file, and at depth 32 over
    /// ranges from a 32nd of the file to all of it.
    fn curves(&mut self, bytes: u32) {
        for mix in [Mix::READ, Mix::WRITE] {
            for depth in all_depths() {
                self.add(mix, Pattern::Random, bytes, depth, 1);
            }
            for parts in [32, 16, 8, 4, 2, 1] {
                self.add(mix, Pattern::Random, bytes, 32, parts);
            }
        }
    }

    /// The points with these sizes, alone and 32 at a time, with requests that begin 512 bytes past
    /// a multiple of their size, or half of it.
    fn shifted(&mut self, sizes: &[u32]) {
        let is_shifted = |point: &&PointSpec| {
            point.pattern == Pattern::Random
                && point.mix.only().is_some()
                && sizes.contains(&point.request_size.get())
                && [1, 32].contains(&point.depth.get())
                && point.range == self.file_size
        };
        let usual: Vec<PointSpec> = self.points.iter().filter(is_shifted).copied().collect();
        for point in usual {
            for shift in [512, point.request_size.get() / 2] {
                let shift = ByteCount::new(u64::from(shift));
                let shifted = PointSpec { shift, ..point };
                let is_allowed = shift.get().is_multiple_of(u64::from(self.alignment));
                if is_allowed && shifted.least_range() <= point.range {
                    self.push(shifted);
                }
            }
        }
    }

    fn add(&mut self, mix: Mix, pattern: Pattern, bytes: u32, depth: u16, parts: u64) {
        let (Ok(request_size), Some(depth)) = (RequestSize::new(bytes), QueueDepth::new(depth))
        else {
            return;
        };
        let range = self.file_size.get() / parts;
        if !bytes.is_multiple_of(self.alignment) || u64::from(bytes) > range {
            return;
        }
        self.push(PointSpec {
            mix,
            pattern,
            request_size,
            depth,
            range: ByteCount::new(range),
            durability: Durability::Device,
            shift: ByteCount::ZERO,
        });
    }

    /// A commit: 4 KiB written in sequence, as a log is, each made durable.
    fn add_commit(&mut self) {
        if let Ok(request_size) = RequestSize::new(4096.max(self.alignment)) {
            self.push(PointSpec {
                mix: Mix::WRITE,
                pattern: Pattern::Sequential,
                request_size,
                depth: QueueDepth::ONE,
                range: self.file_size,
                durability: Durability::Synced,
                shift: ByteCount::ZERO,
            });
        }
    }

    fn push(&mut self, point: PointSpec) {
        if !self.points.contains(&point) {
            self.points.push(point);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longest(preset: Preset) -> Duration {
        preset
            .points(preset.file_size(), 512)
            .iter()
            .map(|spec| preset.timing(spec).bounds().1)
            .sum()
    }

    #[test]
    fn presets_finish_within_their_stated_time() {
        assert!(longest(Preset::Brief) < Duration::from_secs(16));
        // Leaves 10 s for the fill.
        assert!(longest(Preset::Quick) < Duration::from_secs(50));
    }

    #[test]
    fn every_point_is_possible_and_listed_once() {
        for preset in [Preset::Brief, Preset::Quick, Preset::Full] {
            for alignment in [512, 4096] {
                let size = ByteCount::mib(16);
                let points = preset.points(size, alignment);
                let mut distinct = std::collections::HashSet::new();
                for point in &points {
                    assert!(distinct.insert(*point), "{point} twice");
                    assert!(point.request_size.get().is_multiple_of(alignment));
                    assert!(point.least_range() <= point.range);
                    assert!(point.range <= size);
                    assert!(point.shift.get().is_multiple_of(u64::from(alignment)));
                    let usual = PointSpec {
                        shift: ByteCount::ZERO,
                        ..*point
                    };
                    assert!(
                        points.contains(&usual),
                        "{point} has nothing to compare with"
                    );
                }
                let small = points.iter().any(|point| point.request_size.get() == 512);
                assert_eq!(small, alignment == 512 && preset != Preset::Brief);
            }
        }
    }

    #[test]
    fn the_full_grid_has_every_size_at_every_depth() {
        let points = Preset::Full.points(ByteCount::mib(8192), 512);
        let whole = points
            .iter()
            .filter(|point| point.range == ByteCount::mib(8192))
            .filter(|point| point.durability == Durability::Device)
            .filter(|point| point.shift == ByteCount::ZERO)
            .count();
        assert_eq!(whole, 6 * 12 * 7);
    }
}
