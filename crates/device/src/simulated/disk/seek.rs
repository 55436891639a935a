//! How long the arm takes from one cylinder to another.
//!
//! Short seeks accelerate and brake all the way, so that their time grows with
//! the square root of the distance; long ones coast, and grow linearly
//! (Ruemmler and Wilkes, "An Introduction to Disk Drive Modeling", IEEE
//! Computer 27(3), 1994):
//!
//! ```text
//! seek(d) = a + b sqrt(d)   up to the crossover
//!           c + e d         beyond it
//! ```
//!
//! The shortest seek, by one track, is told apart: there the arm hardly
//! accelerates. Where the two laws meet, value and slope agree, so that
//! `e = b / (2 sqrt(x))` and `c = a + b sqrt(x) / 2` at the crossover `x`.
//! What remains, `b` and `x`, follows from the average and the full stroke.

/// Times from which a curve is made, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SeekTimes {
    /// By one cylinder.
    pub(super) track_ns: f64,
    /// What the law of short seeks tends to at distance 0: `a`.
    pub(super) short_ns: f64,
    /// Mean over all pairs of cylinders.
    pub(super) average_ns: f64,
    /// From the first cylinder to the last.
    pub(super) full_ns: f64,
}

/// An average that no curve of this kind has, and between what it may lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unfit {
    pub(super) least_ns: f64,
    pub(super) most_ns: f64,
}

/// The law, in nanoseconds and cylinders.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SeekCurve {
    track: f64,
    a: f64,
    b: f64,
    crossover: f64,
}

impl SeekCurve {
    /// The curve that has these times over `cylinders`, at least 2.
    ///
    /// With the crossover at 0 the curve is a line, and its mean is a third of
    /// the way from `short_ns` to `full_ns`; at the full stroke it is a square
    /// root, and its mean is 8/15 of the way. The mean rises in between, so
    /// that bisection finds the crossover.
    pub(super) fn fit(times: &SeekTimes, cylinders: u32) -> Result<Self, Unfit> {
        let stroke = f64::from(cylinders - 1);
        let rise = times.full_ns - times.short_ns;
        let least_ns = times.short_ns + rise / 3.0;
        let most_ns = times.short_ns + rise * 8.0 / 15.0;
        if rise < 0.0 || times.average_ns < least_ns || times.average_ns > most_ns {
            return Err(Unfit { least_ns, most_ns });
        }
        let curve = |crossover: f64| {
            let root = crossover.sqrt();
            Self {
                track: times.track_ns,
                a: times.short_ns,
                b: 2.0 * rise / (root + stroke / root),
                crossover,
            }
        };
        let (mut low, mut high) = (stroke * 1e-9, stroke);
        // Each step halves the interval: 64 leave less than a millionth of a
        // cylinder.
        for _ in 0..64 {
            let middle = 0.5 * (low + high);
            if curve(middle).mean(stroke) < times.average_ns {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(curve(high))
    }

    /// Nanoseconds for `distance` cylinders.
    pub(super) fn at(&self, distance: u32) -> f64 {
        let root = self.crossover.sqrt();
        match distance {
            0 => 0.0,
            1 => self.track,
            _ if f64::from(distance) <= self.crossover => {
                self.a + self.b * f64::from(distance).sqrt()
            }
            _ => self.a + 0.5 * self.b * (root + f64::from(distance) / root),
        }
    }

    /// The mean over a stroke: distances between two uniform points have the
    /// density 2 (L - x) / L^2.
    fn mean(&self, stroke: f64) -> f64 {
        let (x, l) = (self.crossover, stroke);
        let root = x.sqrt();
        let short = 2.0 / (l * l) * x * root * (2.0 / 3.0 * l - 2.0 / 5.0 * x);
        let long = (1.0 - x / l) * (1.0 - x / l);
        let long_distance = 2.0 / (l * l) * (l * l * l / 6.0 - l * x * x / 2.0 + x * x * x / 3.0);
        self.a + self.b * (short + 0.5 * root * long + 0.5 * long_distance / root)
    }
}

/// Seeks of every distance, to read and to write, in whole nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct SeekTable {
    /// Those to read, then those to write.
    times_ns: Vec<u32>,
    /// The least of each [`BIN`] distances, likewise.
    least_ns: Vec<u32>,
    cylinders: u32,
}

/// Distances of which the least time is kept. Times within a bin differ by a
/// few microseconds but for the shortest distances.
const BIN: u32 = 64;

/// Where the seeks to read and to write begin in a [`SeekTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeekBase {
    time: u32,
    bin: u32,
}

impl SeekTable {
    pub(super) fn new(read: &SeekCurve, write: &SeekCurve, cylinders: u32) -> Self {
        let times_ns: Vec<u32> = [read, write]
            .into_iter()
            .flat_map(|curve| (0..cylinders).map(|distance| curve.at(distance) as u32))
            .collect();
        let least_ns = times_ns
            .chunks(cylinders as usize)
            .flat_map(|times| times.chunks(BIN as usize))
            .map(|bin| bin.iter().copied().min().unwrap_or(0))
            .collect();
        Self {
            times_ns,
            least_ns,
            cylinders,
        }
    }

    /// Where seeks to read begin.
    pub(super) const fn read(&self) -> SeekBase {
        SeekBase { time: 0, bin: 0 }
    }

    /// Where seeks to write begin.
    pub(super) const fn write(&self) -> SeekBase {
        SeekBase {
            time: self.cylinders,
            bin: self.cylinders.div_ceil(BIN),
        }
    }

    /// The longest of all.
    pub(super) fn longest_ns(&self) -> u32 {
        self.times_ns.iter().copied().max().unwrap_or(0)
    }

    /// Nanoseconds for `distance` cylinders.
    #[inline]
    pub(super) fn time_ns(&self, base: SeekBase, distance: u32) -> u32 {
        self.times_ns[(base.time + distance) as usize]
    }

    /// Nanoseconds that no seek by about `distance` cylinders is below.
    #[inline]
    pub(super) fn least_ns(&self, base: SeekBase, distance: u32) -> u32 {
        self.least_ns[(base.bin + distance / BIN) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: SeekTimes = SeekTimes {
        track_ns: 0.2e6,
        short_ns: 0.84e6,
        average_ns: 3.5e6,
        full_ns: 7.1e6,
    };

    #[test]
    fn a_curve_has_the_times_that_it_was_made_of() {
        for cylinders in [1_000, 84_000, 400_000] {
            let curve = SeekCurve::fit(&TIMES, cylinders).unwrap();
            let full = curve.at(cylinders - 1);
            assert!((full / TIMES.full_ns - 1.0).abs() < 1e-9, "{full}");
            assert_eq!(curve.at(1), TIMES.track_ns);
            // The mean summed over all pairs of cylinders, not by the integral.
            let count = f64::from(cylinders);
            let mean: f64 = (2..cylinders)
                .map(|distance| {
                    2.0 * (count - f64::from(distance)) / (count * count) * curve.at(distance)
                })
                .sum();
            assert!((mean / TIMES.average_ns - 1.0).abs() < 5e-3, "{mean}");
        }
    }

    /// The HP 97560 as published: 3.24 + 0.400 sqrt(d) ms below 383
    /// cylinders, 8.00 + 0.008 d from there, 1,962 cylinders (Ruemmler and
    /// Wilkes 1994, table 1).
    #[test]
    fn the_published_curve_of_a_drive_is_found_again() {
        let published = |distance: u32| {
            let d = f64::from(distance);
            1e6 * if distance < 383 {
                3.24 + 0.4 * d.sqrt()
            } else {
                8.0 + 0.008 * d
            }
        };
        let count = 1962.0;
        let average_ns = (1..1962)
            .map(|d| 2.0 * (count - f64::from(d)) / (count * count) * published(d))
            .sum();
        let times = SeekTimes {
            track_ns: published(1),
            short_ns: 3.24e6,
            average_ns,
            full_ns: published(1961),
        };
        let curve = SeekCurve::fit(&times, 1962).unwrap();
        for distance in 1..1962 {
            let error = curve.at(distance) / published(distance) - 1.0;
            assert!(error.abs() < 0.04, "{distance}: {error}");
        }
    }

    #[test]
    fn no_seek_is_below_its_bound_and_some_are_at_it() {
        let curve = SeekCurve::fit(&TIMES, 10_001).unwrap();
        let slower = SeekTimes {
            average_ns: TIMES.average_ns + 0.2e6,
            ..TIMES
        };
        let write = SeekCurve::fit(&slower, 10_001).unwrap();
        let table = SeekTable::new(&curve, &write, 10_001);
        for base in [table.read(), table.write()] {
            let mut exact = 0;
            for distance in 0..10_001 {
                let (time, least) = (
                    table.time_ns(base, distance),
                    table.least_ns(base, distance),
                );
                assert!(least <= time, "{distance}: {least} and {time}");
                assert!(
                    distance < BIN || time - least < 200_000,
                    "{distance}: {least} and {time}"
                );
                exact += u32::from(least == time);
            }
            assert!(exact >= 10_001_u32.div_ceil(BIN), "{exact}");
        }
    }

    #[test]
    fn an_average_that_no_curve_has_is_refused() {
        for average_ns in [2.9e6, 4.2e6] {
            let times = SeekTimes {
                average_ns,
                ..TIMES
            };
            let unfit = SeekCurve::fit(&times, 84_000).unwrap_err();
            assert!(unfit.least_ns > 2.9e6 && unfit.most_ns < 4.2e6, "{unfit:?}");
        }
    }
}
