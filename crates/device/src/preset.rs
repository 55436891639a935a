//! Which points are measured, and for how long.

use std::time::Duration;

use octavo_units::{ByteCount, QueueDepth, RequestSize};
use serde::{Deserialize, Serialize};

use crate::{
    point::{Durability, PointSpec},
    request::{Mix, Pattern},
    steady,
};

/// How thoroughly the storage is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// Load before the first measured round, not counted.
    pub ramp: Duration,
    /// One round: a fifth of the measured time for points with a fixed
    /// number of rounds.
    pub round: Duration,
    /// Rounds at most: 5 always measures 5; more ends with the first steady
    /// window of 5.
    pub rounds_max: usize,
}

impl Timing {
    /// The shortest and longest time that a point takes.
    pub fn bounds(&self) -> (Duration, Duration) {
        let rounds = |count: usize| self.ramp + self.round * count as u32;
        (rounds(steady::WINDOW), rounds(self.rounds_max))
    }
}

const RANDOM_SIZES: [u32; 7] = [
    512,
    4 << 10,
    8 << 10,
    16 << 10,
    32 << 10,
    64 << 10,
    128 << 10,
];
const ALL_SIZES: [u32; 12] = [
    512,
    1 << 10,
    2 << 10,
    4 << 10,
    8 << 10,
    16 << 10,
    32 << 10,
    64 << 10,
    128 << 10,
    256 << 10,
    512 << 10,
    1 << 20,
];
const ALL_DEPTHS: [u16; 7] = [1, 2, 4, 8, 16, 32, 64];

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
        let milliseconds = Duration::from_millis;
        match self {
            Self::Brief => Timing {
                ramp: milliseconds(100),
                round: milliseconds(100),
                rounds_max: steady::WINDOW,
            },
            Self::Quick => Timing {
                ramp: milliseconds(100),
                round: milliseconds(120),
                rounds_max: steady::WINDOW,
            },
            Self::Full => Timing {
                ramp: milliseconds(500),
                round: milliseconds(1000),
                rounds_max: if spec.mix.writes() {
                    steady::ROUNDS_MAX
                } else {
                    steady::WINDOW
                },
            },
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
        for mix in [Mix::READ, Mix::WRITE] {
            for depth in [1, 32] {
                for bytes in [4 << 10, 8 << 10, 16 << 10, 64 << 10] {
                    self.add(mix, Pattern::Random, bytes, depth, 1);
                }
            }
        }
        for depth in [2, 4, 8, 16, 64] {
            self.add(Mix::READ, Pattern::Random, 4 << 10, depth, 1);
        }
        self.add_commit();
    }

    fn quick(&mut self) {
        for mix in [Mix::READ, Mix::WRITE] {
            for depth in [1, 32] {
                for bytes in RANDOM_SIZES {
                    self.add(mix, Pattern::Random, bytes, depth, 1);
                }
            }
        }
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
            for bytes in ALL_SIZES {
                for depth in ALL_DEPTHS {
                    self.add(mix, pattern, bytes, depth, 1);
                }
            }
        }
        for bytes in [4 << 10, 8 << 10, 16 << 10] {
            self.curves(bytes);
        }
        self.add_commit();
    }

    /// lee-2009's curves: over depths on the whole file, and at depth 32 over
    /// ranges from a 32nd of the file to all of it.
    fn curves(&mut self, bytes: u32) {
        for mix in [Mix::READ, Mix::WRITE] {
            for depth in ALL_DEPTHS {
                self.add(mix, Pattern::Random, bytes, depth, 1);
            }
            for parts in [32, 16, 8, 4, 2, 1] {
                self.add(mix, Pattern::Random, bytes, 32, parts);
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
    fn presets_keep_their_time() {
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
                    assert!(point.request_size.bytes() <= point.range);
                    assert!(point.range <= size);
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
            .count();
        assert_eq!(whole, 6 * 12 * 7);
    }
}
