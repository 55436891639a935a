//! Rates between measured points: IOPS over request size and queue depth.
//!
//! A profile measures some rows and columns of the grid of sizes and depths: a
//! few sizes at all depths, all sizes at a few depths. [`Surface`] completes
//! the grid once and interpolates within it, linearly in the logarithms of all
//! three. A missing cell takes the *shape* of the nearest size's curve over
//! depths: between two measured depths it lies at the same share of the way
//! from the lower to the upper rate, beyond the last at the same ratio to it.

use std::collections::BTreeSet;

use super::logarithm::{exp2, log2};

/// IOPS over request sizes and depths of one operation and order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Surface {
    /// Ascending; not empty.
    sizes: Vec<u32>,
    /// Ascending; not empty.
    depths: Vec<u16>,
    /// log2 of IOPS, by size, then by depth.
    rates: Vec<Vec<f64>>,
}

impl Surface {
    /// From measured `(size, depth, IOPS)`, all positive; `None` when there
    /// are none. Depths that only `fallback` has are completed by its shape:
    /// of sequential requests by that of random ones.
    pub(super) fn new(measured: &[(u32, u16, f64)], fallback: Option<&Self>) -> Option<Self> {
        let sizes: Vec<u32> = distinct(measured.iter().map(|(size, ..)| *size));
        let mut depths: BTreeSet<u16> = measured.iter().map(|(_, depth, _)| *depth).collect();
        if sizes.is_empty() {
            return None;
        }
        if let Some(fallback) = fallback {
            depths.extend(&fallback.depths);
        }
        let depths: Vec<u16> = depths.into_iter().collect();
        let cells: Vec<Vec<Option<f64>>> = sizes
            .iter()
            .map(|size| {
                depths
                    .iter()
                    .map(|depth| {
                        let cell = measured.iter().find(|(s, d, _)| s == size && d == depth);
                        cell.map(|(.., iops)| log2(*iops))
                    })
                    .collect()
            })
            .collect();
        let rates = sizes
            .iter()
            .enumerate()
            .map(|(row, size)| {
                (0..depths.len())
                    .map(|column| {
                        cells[row][column].unwrap_or_else(|| {
                            complete(&sizes, &depths, &cells, row, column, |depth| {
                                fallback.map(|surface| log2(surface.iops(*size, depth)))
                            })
                        })
                    })
                    .collect()
            })
            .collect();
        Some(Self {
            sizes,
            depths,
            rates,
        })
    }

    /// Requests per second of this size and depth. Depths outside of the
    /// measured ones give the rate of the nearest, and sizes below the smallest its
    /// rate. What a request has beyond the largest size takes the time that it takes at
    /// the greatest depth: it is one request, whose parts wait for nothing.
    pub(super) fn iops(&self, size: u32, depth: u16) -> f64 {
        let largest = self.sizes[self.sizes.len() - 1];
        let Some(beyond) = size.checked_sub(largest).filter(|beyond| *beyond > 0) else {
            return self.interpolated(size, depth);
        };
        let bytes_per_s = self.interpolated(largest, self.depth_max()) * f64::from(largest);
        1.0 / (1.0 / self.interpolated(largest, depth) + f64::from(beyond) / bytes_per_s)
    }

    fn interpolated(&self, size: u32, depth: u16) -> f64 {
        let (row, across) = place(&self.sizes, size);
        let (column, along) = place(&self.depths, depth);
        let at = |row: usize| {
            let rates = &self.rates[row];
            let next = rates[(column + 1).min(rates.len() - 1)];
            rates[column] + (next - rates[column]) * along
        };
        let next = at((row + 1).min(self.rates.len() - 1));
        exp2(at(row) + (next - at(row)) * across)
    }

    /// The sizes that were measured, ascending.
    pub(super) fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// The greatest depth that was measured.
    pub(super) fn depth_max(&self) -> u16 {
        self.depths[self.depths.len() - 1]
    }
}

fn distinct(values: impl Iterator<Item = u32>) -> Vec<u32> {
    values.collect::<BTreeSet<u32>>().into_iter().collect()
}

/// The index of the greatest of `values` that is not above `value`, and how
/// far `value` lies towards the next, in logarithms, from 0 to 1.
fn place<T: Copy + PartialOrd + Into<f64>>(values: &[T], value: T) -> (usize, f64) {
    let index = values.iter().filter(|known| **known <= value).count();
    if index == 0 {
        return (0, 0.0);
    }
    let index = index - 1;
    let Some(next) = values.get(index + 1) else {
        return (index, 0.0);
    };
    let low = log2(values[index].into());
    let share = (log2(value.into()) - low) / (log2((*next).into()) - low);
    (index, share)
}

/// The rate of a cell that was not measured, as the module says. `fallback`
/// gives the rate at a depth of a surface with another order of requests.
fn complete(
    sizes: &[u32],
    depths: &[u16],
    cells: &[Vec<Option<f64>>],
    row: usize,
    column: usize,
    fallback: impl Fn(u16) -> Option<f64>,
) -> f64 {
    let known = &cells[row];
    let below = (0..column).rev().find(|index| known[*index].is_some());
    let above = (column + 1..known.len()).find(|index| known[*index].is_some());
    let far = |other: &usize| {
        let (a, b) = (f64::from(sizes[row]), f64::from(sizes[*other]));
        if a > b { a / b } else { b / a }
    };
    let mut others: Vec<usize> = (0..sizes.len()).filter(|other| *other != row).collect();
    others.sort_by(|a, b| far(a).total_cmp(&far(b)));
    // A curve that has this depth and the measured ones next to it.
    let needed: Vec<usize> = [below, Some(column), above].into_iter().flatten().collect();
    let shape: Option<Vec<f64>> = others
        .iter()
        .map(|other| needed.iter().map(|index| cells[*other][*index]).collect())
        .find(|curve: &Option<Vec<f64>>| curve.is_some())
        .unwrap_or_else(|| {
            needed
                .iter()
                .map(|index| fallback(depths[*index]))
                .collect()
        });
    let value = |index: usize| known[index].expect("was found to be measured");
    match (below, above, shape) {
        (Some(low), Some(high), shape) => {
            let share = match shape.as_deref() {
                // A flat curve has no shape to follow.
                Some(&[l, at, h]) if (h - l).abs() > 0.01 => ((at - l) / (h - l)).clamp(0.0, 1.0),
                _ => {
                    let log = |index: usize| log2(f64::from(depths[index]));
                    (log(column) - log(low)) / (log(high) - log(low))
                }
            };
            value(low) + (value(high) - value(low)) * share
        }
        (Some(low), None, Some(shape)) => value(low) + shape[1] - shape[0],
        (None, Some(high), Some(shape)) => value(high) + shape[0] - shape[1],
        (Some(near), None, None) | (None, Some(near), None) => value(near),
        (None, None, _) => unreachable!("a size is known by a measured point"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates that a device would have whose requests take a microsecond for
    /// each KiB beside 100, and of which it serves four at once.
    fn rate(size: u32, depth: u16) -> f64 {
        1e6 / (100.0 + f64::from(size) / 1024.0) * f64::from(depth.min(4))
    }

    fn cross() -> Vec<(u32, u16, f64)> {
        let mut measured = Vec::new();
        for size in [4096, 16384, 65536] {
            for depth in [1, 32] {
                measured.push((size, depth, rate(size, depth)));
            }
        }
        for depth in [2, 4, 8, 64] {
            measured.push((16384, depth, rate(16384, depth)));
        }
        measured
    }

    #[test]
    fn measured_cells_are_exact_and_missing_ones_follow_the_nearest_curve() {
        let surface = Surface::new(&cross(), None).unwrap();
        for (size, depth, iops) in cross() {
            assert!((surface.iops(size, depth) / iops - 1.0).abs() < 1e-12);
        }
        for size in [4096, 65536] {
            for depth in [2, 4, 8, 64] {
                let share = surface.iops(size, depth) / rate(size, depth);
                assert!((share - 1.0).abs() < 1e-9, "{size} {depth} {share}");
            }
        }
        // Half way in the logarithm of the size: the geometric mean.
        let between = surface.iops(8192, 1);
        let mean = (rate(4096, 1) * rate(16384, 1)).sqrt();
        assert!((between / mean - 1.0).abs() < 1e-12);
    }

    #[test]
    fn outside_of_the_grid_the_nearest_cell_holds() {
        let surface = Surface::new(&cross(), None).unwrap();
        assert_eq!(surface.iops(512, 1), surface.iops(4096, 1));
        assert_eq!(surface.iops(4096, 500), surface.iops(4096, 64));
        // The second half takes what all 64 KiB take at the greatest depth.
        let time = |size, depth| 1.0 / surface.iops(size, depth);
        let beyond = time(131_072, 1) - time(65_536, 1);
        assert!((beyond / time(65_536, 64) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn one_order_takes_the_shape_of_the_other() {
        let random = Surface::new(&cross(), None).unwrap();
        let sequential = Surface::new(&[(16384, 32, 80_000.0)], Some(&random)).unwrap();
        // Depth 1 has a quarter of the rate of depth 32.
        assert!((sequential.iops(16384, 1) / 20_000.0 - 1.0).abs() < 1e-9);
        assert_eq!(sequential.depth_max(), 64);
        assert!(Surface::new(&[], Some(&random)).is_none());
    }
}
