//! Latencies drawn from a table of quantiles.

use octavo_units::Moment;
use rand::Rng;
use rand_pcg::Pcg64Mcg;

use crate::sourced::Impossible;

/// Latencies between those of a table: uniform between neighbours, in whole
/// numbers, so that a seed gives the same on every machine.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    /// Requests in a million that are faster, and the nanoseconds.
    quantiles: Vec<(u64, u64)>,
}

const MILLION: u64 = 1_000_000;

impl Spread {
    /// From pairs of requests in a million that are faster and microseconds.
    pub(super) fn new(table: &[(u32, f64)]) -> Self {
        Self {
            quantiles: table
                .iter()
                .map(|&(faster, us)| (u64::from(faster), (us * 1e3).round() as u64))
                .collect(),
        }
    }

    /// Refuses tables that do not go from 0 to a million, or fall.
    pub(super) fn check(key: &str, table: &[(u32, f64)]) -> Result<(), Impossible> {
        let refused = |reason: &str| Impossible::new(key, format!("{table:?}"), reason);
        let (Some(first), Some(last)) = (table.first(), table.last()) else {
            return Err(refused("a table has at least two rows"));
        };
        if table.len() < 2 || first.0 != 0 || u64::from(last.0) != MILLION {
            return Err(refused("a table goes from 0 to 1000000 in a million"));
        }
        if !table.iter().all(|(_, us)| (0.0..=1e9).contains(us)) {
            return Err(refused("a latency is from 0 to 10^9 microseconds"));
        }
        if !table.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1) {
            return Err(refused("rows ascend"));
        }
        Ok(())
    }

    pub(super) fn draw(&self, at: Moment, random: &mut Pcg64Mcg) -> Moment {
        // Uniform below 10^6 x 2^32, by multiplication (Lemire, "Fast random
        // integer generation in an interval", 2019, without rejection).
        let span = u128::from(MILLION) << 32;
        let point = ((u128::from(random.next_u64()) * span) >> 64) as u64;
        let upper = self
            .quantiles
            .partition_point(|(faster, _)| faster << 32 <= point);
        let (low, low_ns) = self.quantiles[upper - 1];
        let (high, high_ns) = self.quantiles[upper];
        let along = u128::from(point - (low << 32)) * u128::from(high_ns - low_ns);
        at.after(low_ns + (along / u128::from((high - low) << 32)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;

    #[test]
    fn draws_have_the_quantiles_of_the_table() {
        let table = [
            (0, 100.0),
            (500_000, 300.0),
            (990_000, 800.0),
            (1_000_000, 5_000.0),
        ];
        Spread::check("read_us", &table).unwrap();
        let spread = Spread::new(&table);
        let mut random = Seed::new(5).generator();
        let mut draws: Vec<u64> = (0..200_000)
            .map(|_| spread.draw(Moment::START, &mut random).get())
            .collect();
        draws.sort_unstable();
        let quantile = |share: f64| draws[(share * draws.len() as f64) as usize] as f64;
        for (share, ns) in [(0.25, 200e3), (0.5, 300e3), (0.745, 550e3), (0.99, 800e3)] {
            assert!((quantile(share) / ns - 1.0).abs() < 0.02, "{share}");
        }
        assert!(draws[0] >= 100_000 && draws[draws.len() - 1] < 5_000_000);
        // By trapezia: 0.5 x 200 + 0.49 x 550 + 0.01 x 2900 us.
        let mean = draws.iter().sum::<u64>() as f64 / draws.len() as f64;
        assert!((mean / 398.5e3 - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn bad_tables_are_refused() {
        for table in [
            &[][..],
            &[(0, 1.0)],
            &[(0, 1.0), (999_999, 2.0)],
            &[(1, 1.0), (1_000_000, 2.0)],
            &[(0, 1.0), (500_000, 3.0), (1_000_000, 2.0)],
            &[(0, 1.0), (0, 1.0), (1_000_000, 2.0)],
            &[(0, -1.0), (1_000_000, 2.0)],
            &[(0, f64::NAN), (1_000_000, 2.0)],
        ] {
            let error = Spread::check("read_us", table).unwrap_err();
            assert_eq!(error.key, "read_us");
        }
    }
}
