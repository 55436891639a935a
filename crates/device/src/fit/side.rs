//! One operation of a profile: the points that the fit sees, the parameters of
//! its path, and what a choice of them costs.

use super::{bound, error::FitError};
use crate::{
    point::{Durability, PointSpec},
    profile::{Latency, Point, Profile},
    profiled::{
        ProfiledError,
        logarithm::{exp2, log2},
    },
    request::{Mix, Pattern},
    simulated::station::{Parameters, Times},
    sourced::Sourced,
};

/// Which share of a lone request's time the servers have where a search
/// begins, and the host and link of what the fastest point allows.
pub(super) const STARTS: [(f64, f64); 3] = [(0.6, 0.5), (0.2, 0.9), (0.8, 0.2)];
/// Every how many-th inner point is held out.
const HELD_OUT: usize = 3;
/// What a factor of two away from the start costs, squared: enough to keep
/// parameters in sight that no point tells, a tenth of a percent.
const DRIFT: f64 = 1e-3;

/// One operation: its points, and where its parameters are.
pub(super) struct Side<'a> {
    mix: Mix,
    /// All points of this operation alone, synced ones excepted.
    points: Vec<&'a Point>,
    /// Those that the fit sees.
    pub(super) train: Vec<&'a Point>,
    /// Whether the fit sees sequential points.
    sequential: bool,
}

impl<'a> Side<'a> {
    pub(super) fn new(
        profile: &'a Profile,
        mix: Mix,
        name: &'static str,
    ) -> Result<Self, FitError> {
        let points: Vec<&Point> = profile
            .points
            .iter()
            .filter(|point| point.spec.mix == mix && point.spec.durability == Durability::Device)
            .collect();
        let mut inner = 0;
        let train: Vec<&Point> = points
            .iter()
            .filter(|point| {
                inner += usize::from(is_inner(point, &points));
                !is_inner(point, &points) || inner % HELD_OUT != 0
            })
            .copied()
            .collect();
        let random = || {
            train
                .iter()
                .map(|point| point.spec)
                .filter(|spec| spec.pattern == Pattern::Random)
        };
        let first = random().next();
        let several = |differ: fn(&PointSpec, &PointSpec) -> bool| {
            first.is_some_and(|first| random().any(|spec| differ(&spec, &first)))
        };
        if !several(|a, b| a.depth != b.depth) || !several(|a, b| a.request_size != b.request_size)
        {
            return Err(ProfiledError::Lacks(match name {
                "reads" => "random reads of two sizes and at two depths",
                _ => "random writes of two sizes and at two depths",
            })
            .into());
        }
        let sequential = train
            .iter()
            .any(|point| point.spec.pattern == Pattern::Sequential);
        Ok(Self {
            mix,
            points,
            train,
            sequential,
        })
    }

    /// The parameters before the fit: the spread is measured, not fitted.
    pub(super) fn times(&self, source: &str) -> Times {
        let fitted = || Sourced::new(0.0, format!("fitted to {source}"));
        let sequential = match self.sequential {
            true => fitted(),
            false => Sourced::new(1.0, "assumed: no requests in sequence were measured"),
        };
        // Alone on the device a request's latency is its own.
        let alone = self.points.iter().map(|point| point.spec.depth).min();
        let share = |quantile: fn(&Latency) -> f64| {
            let shares = self
                .points
                .iter()
                .filter(|point| Some(point.spec.depth) == alone)
                .map(|point| quantile(&point.latency) / point.latency.us_mean)
                .filter(|share| (0.0..=1e3).contains(share));
            let value = median(shares.collect()).unwrap_or(1.0);
            Sourced::new(
                rounded(value),
                format!("measured: median of the points at the least depth, {source}"),
            )
        };
        Times {
            host_us: fitted(),
            host_us_per_kib: fitted(),
            link_us_per_kib: fitted(),
            service_us: fitted(),
            service_us_per_kib: fitted(),
            delay_us: fitted(),
            sequential,
            p50: share(|latency| latency.us_p50),
            p99: share(|latency| latency.us_p99),
            p999: share(|latency| latency.us_p999),
        }
    }

    /// Where a search begins, in logarithms, of [`STARTS`].
    pub(super) fn start(&self, (lone, shared): (f64, f64)) -> Vec<f64> {
        let least = |value: fn(&Point) -> f64| {
            let values = self.train.iter().map(|point| value(point));
            values.fold(f64::INFINITY, f64::min)
        };
        let interval = least(|point| 1e6 / point.iops.get());
        let alone = least(|point| 1e6 * f64::from(point.spec.depth.get()) / point.iops.get());
        let per_kib = least(|point| 1e6 / point.iops.get() / kib(&point.spec));
        let mut start = vec![
            interval * shared,
            per_kib * shared * 0.5,
            per_kib * 0.9,
            alone * lone,
            per_kib * 0.5,
            alone * (1.0 - lone) * 0.8,
        ];
        if self.sequential {
            start.push(1.0);
        }
        start.iter().map(|value| log2(*value)).collect()
    }

    /// Requests per second by mean value analysis at a place of the search.
    pub(super) fn calculated(&self, place: &[f64], servers: u32, spec: &PointSpec) -> f64 {
        let us = |index: usize| exp2(place[index].clamp(-20.0, 20.0));
        let share = match spec.pattern {
            Pattern::Sequential if self.sequential => us(6),
            _ => 1.0,
        };
        let kib = kib(spec);
        let host = us(0) * share + us(1) * kib;
        let service = us(3) * share + us(4) * kib;
        1e6 * bound::rate(
            spec.depth.get(),
            [host, us(2) * kib],
            service,
            servers,
            us(5),
        )
    }

    /// The mean error in logarithms of what `rate` says of the points, and a
    /// little for being far from where the search began.
    pub(super) fn cost(
        &self,
        start: &[f64],
        place: &[f64],
        mut rate: impl FnMut(&PointSpec) -> Result<f64, FitError>,
    ) -> Result<f64, FitError> {
        let mut sum = 0.0;
        for point in &self.train {
            sum += (log2(rate(&point.spec)?) - log2(point.iops.get())).abs();
        }
        let drift = start
            .iter()
            .zip(place)
            .map(|(start, at)| (start - at) * (start - at));
        Ok(sum / self.train.len() as f64 + DRIFT * drift.sum::<f64>())
    }

    /// Sets the parameters to a place of the search, rounded as they will be
    /// written.
    pub(super) fn set(&self, parameters: &mut Parameters, place: &[f64]) {
        let times = match self.mix.writes() {
            false => &mut parameters.read,
            true => &mut parameters.write,
        };
        let values = [
            &mut times.host_us,
            &mut times.host_us_per_kib,
            &mut times.link_us_per_kib,
            &mut times.service_us,
            &mut times.service_us_per_kib,
            &mut times.delay_us,
            &mut times.sequential,
        ];
        for (value, logarithm) in values.into_iter().zip(place) {
            // Below a picosecond nothing changes, above a second nothing fits.
            value.value = rounded(exp2(logarithm.clamp(-20.0, 20.0)));
        }
    }
}

fn kib(spec: &PointSpec) -> f64 {
    f64::from(spec.request_size.get()) / 1024.0
}

/// Whether others lie on both sides of a point along its size, depth or range.
fn is_inner(point: &Point, points: &[&Point]) -> bool {
    let at = point.spec;
    let between = |key: fn(&PointSpec) -> u64, along: fn(PointSpec, PointSpec) -> PointSpec| {
        // Points that differ from this one along the axis alone.
        let keys = || {
            points
                .iter()
                .filter(|other| along(at, other.spec) == other.spec)
                .map(|other| key(&other.spec))
        };
        keys().any(|other| other < key(&at)) && keys().any(|other| other > key(&at))
    };
    between(
        |spec| u64::from(spec.request_size.get()),
        |at, other| PointSpec {
            request_size: other.request_size,
            ..at
        },
    ) || between(
        |spec| u64::from(spec.depth.get()),
        |at, other| PointSpec {
            depth: other.depth,
            ..at
        },
    ) || between(
        |spec| spec.range.get(),
        |at, other| PointSpec {
            range: other.range,
            ..at
        },
    )
}

/// Four significant digits: more than any measurement has, few enough to read.
pub(super) fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// The median: of an even number the mean of the two central values.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        count if count % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}
