//! Means and spreads of series: pure functions over slices.

pub use octavo_units::spread::{mean, standard_deviation};

/// Means of `batch` values each; what is left at the end is left out.
pub(crate) fn batch_means(values: &[f64], batch: usize) -> Vec<f64> {
    values.chunks_exact(batch.max(1)).map(mean).collect()
}

/// A straight line over places 0, 1, 2, …
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    origin: f64,
    pub(crate) slope: f64,
}

impl Line {
    pub(crate) fn at(&self, place: f64) -> f64 {
        self.origin + self.slope * place
    }
}

/// The line of the least squares.
pub(crate) fn line(values: &[f64]) -> Line {
    let count = values.len() as f64;
    let middle = (count - 1.0) / 2.0;
    let centre = mean(values);
    let products: f64 = (0u32..)
        .zip(values)
        .map(|(index, value)| (f64::from(index) - middle) * (value - centre))
        .sum();
    let squares = count * (count * count - 1.0) / 12.0;
    let slope = if squares > 0.0 {
        products / squares
    } else {
        0.0
    };
    Line {
        origin: centre - slope * middle,
        slope,
    }
}
