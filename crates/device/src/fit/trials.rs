//! Searching the parameters of one operation: by mean value analysis, then by
//! simulation.

use std::ops::ControlFlow;

use octavo_units::{Moment, Seed};

use super::{
    error::{FitError, Step},
    search,
    side::{STARTS, Side},
};
use crate::{
    Device, DeviceError, Tag,
    point::PointSpec,
    simulated::station::{Parameters, Station},
    stream::{Load, Stream},
};

/// Calculated trials of each operation with each number of servers, from each
/// start.
const CALCULATED_TRIALS: usize = 700;
/// Simulated trials of each operation, with each of the finalists.
pub(super) const TRIALS: usize = 250;
/// Requests of a trial of a point: their mean is known to 2 % for a standard
/// deviation as great as the mean, and all trials draw the same.
const REQUESTS: u32 = 2_000;

/// Trials of parameters, counted.
pub(super) struct Trials<'a> {
    pub(super) seed: Seed,
    pub(super) done: usize,
    pub(super) total: usize,
    pub(super) progress: &'a mut dyn FnMut(Step) -> ControlFlow<()>,
}

impl Trials<'_> {
    /// The best place by mean value analysis, and its cost.
    pub(super) fn calculate(
        &mut self,
        side: &Side<'_>,
        servers: u32,
    ) -> Result<(Vec<f64>, f64), FitError> {
        let mut best: Option<(Vec<f64>, f64)> = None;
        for start in STARTS {
            let start = side.start(start);
            self.tell()?;
            let found = search::minimise(&start, 1.0, CALCULATED_TRIALS, &mut |place| {
                side.cost(&start, place, |spec| {
                    Ok(side.calculated(place, servers, spec))
                })
            })?;
            if best.as_ref().is_none_or(|(_, known)| found.1 < *known) {
                best = Some(found);
            }
        }
        Ok(best.expect("there are several starts"))
    }

    /// Goes on from `start` by simulation, leaves the best parameters and gives
    /// their cost.
    pub(super) fn simulate(
        &mut self,
        side: &Side<'_>,
        parameters: &mut Parameters,
        start: &[f64],
    ) -> Result<f64, FitError> {
        let end = self.done + TRIALS;
        let (place, cost) = search::minimise(start, 0.3, TRIALS, &mut |place| {
            side.set(parameters, place);
            let cost = side.cost(start, place, |spec| self.rate(parameters, spec));
            self.done = (self.done + 1).min(end);
            self.tell()?;
            cost
        })?;
        self.done = end;
        side.set(parameters, &place);
        Ok(cost)
    }

    fn tell(&mut self) -> Result<(), FitError> {
        let step = Step {
            done: self.done,
            total: self.total,
        };
        match (self.progress)(step) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(FitError::Stopped),
        }
    }

    /// What [`crate::probe::measure`] finds, without latencies and rounds: a search
    /// asks for it a hundred thousand times.
    pub(super) fn rate(&self, parameters: &Parameters, spec: &PointSpec) -> Result<f64, FitError> {
        let mut station = parameters.open(self.seed);
        closed_loop(&mut station, spec, self.seed).map_err(|source| FitError::Point {
            point: *spec,
            source,
        })
    }
}

/// Requests per second of a closed loop, its beginning not counted.
fn closed_loop(station: &mut Station, spec: &PointSpec, seed: Seed) -> Result<f64, DeviceError> {
    let mut stream = Stream::new(&Load::from_spec(spec, seed), 0, 1);
    let mut begin = |station: &mut Station, at: Moment| {
        let (_, request) = stream.next_request();
        station.submit(at, Tag(0), request)
    };
    let depth = u32::from(spec.depth.get());
    for _ in 0..depth {
        begin(station, Moment::START)?;
    }
    let mut turn = |station: &mut Station| -> Result<Moment, DeviceError> {
        let ended = station.next(Moment::NEVER)?.expect("some are in flight");
        begin(station, ended.at)?;
        Ok(ended.at)
    };
    let mut began = Moment::START;
    for _ in 0..4 * depth {
        began = turn(station)?;
    }
    let mut ended = began;
    for _ in 0..REQUESTS {
        ended = turn(station)?;
    }
    let seconds = (ended - began).as_secs_f64();
    Ok(f64::from(REQUESTS) / seconds.max(1e-9))
}
