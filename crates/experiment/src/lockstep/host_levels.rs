//! The throughput of every cell beside every other's, host by host.

use std::collections::BTreeMap;

use crate::statistics::{Interval, critical_t, mean, standard_deviation};

/// The fewest hosts over which there is an interval: the degrees of freedom of two would make it
/// tens of percent wide whatever they say.
pub const HOSTS_MIN: usize = 3;

/// What the throughput of every cell is beside every other's, host by host. A ratio is over the hosts that have
/// all its cells, and of a host over the sittings that have them: what another host does, or the same one on
/// another day, is no measure of what is missing.
#[derive(Clone, Debug, PartialEq)]
pub struct HostLevels {
    /// The sittings of each host.
    hosts: BTreeMap<usize, Vec<SittingLevels>>,
    /// The cell that most hosts have, whose throughput others are told by.
    base: Option<usize>,
}

/// What a sitting says of its cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SittingLevels {
    /// The logarithm of the throughput a minute, by cell, and what it stands on: cells that stand on others
    /// were not open together.
    pub(super) cells: BTreeMap<usize, (f64, usize)>,
}

impl SittingLevels {
    /// The logarithm of the product of cells' throughputs to these powers, if all were open together.
    fn product(&self, powers: &[(usize, f64)]) -> Option<f64> {
        let (first, _) = powers.first()?;
        let (_, anchor) = self.cells.get(first)?;
        let logs = powers.iter().map(|(cell, power)| {
            let (log, on) = self.cells.get(cell)?;
            (on == anchor).then_some(power * log)
        });
        logs.sum()
    }
}

impl HostLevels {
    /// Of hosts by their sittings. Of the cells that most hosts have the first of `cells` is that by which
    /// others are told.
    pub(super) fn new(hosts: BTreeMap<usize, Vec<SittingLevels>>, cells: &[usize]) -> Self {
        let mut levels = Self { hosts, base: None };
        let count = |cell: &usize| levels.by_host(&[(*cell, 1.0)]).len();
        levels.base = cells.iter().copied().rev().max_by_key(count);
        levels
    }

    /// What hosts say of a product of cells' throughputs: of each that has all of them in a sitting the mean
    /// over such sittings.
    pub(super) fn by_host(&self, powers: &[(usize, f64)]) -> BTreeMap<usize, f64> {
        let hosts = self.hosts.iter().filter_map(|(host, sittings)| {
            let logs = sittings.iter().filter_map(|of| of.product(powers));
            let logs: Vec<f64> = logs.collect();
            (!logs.is_empty()).then(|| (*host, mean(&logs)))
        });
        hosts.collect()
    }

    /// As [`Levels::product`], with Student's t over the hosts: `None` of fewer than [`HOSTS_MIN`] that
    /// have all these cells.
    pub(super) fn product(&self, powers: &[(usize, f64)], error: f64) -> Option<Interval> {
        let logs: Vec<f64> = self.by_host(powers).into_values().collect();
        (logs.len() >= HOSTS_MIN).then(|| over(&logs, error))
    }

    /// As [`Levels::throughput`]: what all hosts do with the cell that most of them have, times the ratio of the
    /// hosts that have both, so that throughputs compare as ratios do. `None` as for a ratio.
    pub(super) fn throughput(&self, cell: usize, error: f64) -> Option<Interval> {
        let own = [(cell, 1.0)];
        let base = self.base?;
        let of_base = self.by_host(&[(base, 1.0)]);
        let ratio = self.by_host(&[(cell, 1.0), (base, -1.0)]);
        if ratio.len() < HOSTS_MIN || cell == base {
            return self.product(&own, error);
        }
        let values = |of: &BTreeMap<usize, f64>| of.values().copied().collect::<Vec<f64>>();
        let means = [&of_base, &ratio].map(|of| mean(&values(of)));
        // What each host adds to the sum of both means, corrected so that squares come to s²/k of one mean.
        let share = |host: &usize| -> f64 {
            let parts = [&of_base, &ratio]
                .into_iter()
                .zip(means)
                .filter_map(|(of, mean)| {
                    let count = of.len() as f64;
                    Some((of.get(host)? - mean) / (count * (count - 1.0)).sqrt())
                });
            parts.sum()
        };
        let squares = of_base.keys().map(|host| share(host).powi(2));
        let half = critical_t(error, ratio.len() as f64 - 1.0) * squares.sum::<f64>().sqrt();
        Some(Interval::of_logs(means.iter().sum(), half, ratio.len()))
    }

    /// The logarithm of the throughput that a host has of a cell: as [`Self::throughput`], over its sittings.
    pub(super) fn throughputs(&self, cell: usize) -> BTreeMap<usize, f64> {
        let own = self.by_host(&[(cell, 1.0)]);
        let Some(base) = self.base else { return own };
        let of_base = self.by_host(&[(base, 1.0)]);
        let ratio = self.by_host(&[(cell, 1.0), (base, -1.0)]);
        let of_host = |(host, own): (usize, f64)| {
            let both = of_base.get(&host).zip(ratio.get(&host));
            (host, both.map_or(own, |(base, ratio)| base + ratio))
        };
        own.into_iter().map(of_host).collect()
    }
}

/// Student's interval of what these logarithms of hosts are of, at a two-sided error.
pub(super) fn over(logs: &[f64], error: f64) -> Interval {
    interval(mean(logs), standard_deviation(logs), logs.len(), error)
}

/// … of so many hosts with this mean and deviation.
pub(super) fn interval(center: f64, deviation: f64, hosts: usize, error: f64) -> Interval {
    let count = hosts as f64;
    let half = critical_t(error, count - 1.0) * deviation / count.sqrt();
    Interval::of_logs(center, half, hosts)
}
