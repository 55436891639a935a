//! A bench by second: throughput, response times and errors, with what was left out and what went
//! wrong.

use octavo_driver::{Load, Sample, steady::Outage};
use octavo_experiment::bench::BenchResult;

use super::{
    plot::{LegendKey, Mark, Plot},
    scale::{Round, Scale},
};
use crate::{
    document::Figure,
    number::{count, counted, number, plain, plain_time, seconds, time},
    svg::Series,
};

/// The rate of a shorter time is wild, s.
const SECOND_MIN_S: f64 = 0.1;

/// More seconds are drawn as a line without dots.
const DOTS_MAX: usize = 120;

/// What a line of a chart is called, and what it has of each second.
type Line = (&'static str, fn(&Sample) -> u64);

/// What all charts of one bench share.
struct Seconds<'a> {
    result: &'a BenchResult,
    samples: Vec<&'a Sample>,
    x: Scale,
}

/// The charts. `per` makes what a second has the unit of throughput. Empty of a run without two
/// seconds.
pub(super) fn draw(result: &BenchResult, unit: &str, per: f64) -> Vec<Figure> {
    let load = &result.figures.load;
    let whole = |sample: &&Sample| sample.length.as_secs_f64() >= SECOND_MIN_S;
    let samples: Vec<&Sample> = load.series.iter().filter(whole).collect();
    if samples.len() < 2 {
        return Vec::new();
    }
    let end_s = load.series.iter().map(|of| of.at.as_secs_f64());
    let of = Seconds {
        result,
        samples,
        x: Scale::from_zero(end_s, Round::Tens, plain),
    };
    let charts = [of.throughput(unit, per), of.response_times(), of.errors()];
    charts.into_iter().flatten().collect()
}

impl Seconds<'_> {
    fn throughput(&self, unit: &str, per: f64) -> Option<Figure> {
        let rate = |sample: &Sample| sample.counted as f64 / sample.length.as_secs_f64() * per;
        let rates = self.samples.iter().map(|of| rate(of));
        let y = Scale::from_zero(rates, Round::Tens, plain);
        let mut legend = vec![(LegendKey::Series(Series(0)), "throughput".to_owned())];
        let mut marks = self.ground(&mut legend);
        let line = self.samples.iter().map(|of| (middle(of), rate(of)));
        marks.push(Mark::Curve(Series(0), line.collect()));
        let is_failed = |sample: &&&Sample| sample.failed > 0;
        let dots = self.samples.len() <= DOTS_MAX;
        for sample in self.samples.iter().filter(|of| dots || is_failed(of)) {
            let failed = match sample.failed {
                0 => String::new(),
                failed => format!(", {} failed", count(failed)),
            };
            let tip = format!(
                "{}: {} {unit}{failed}",
                seconds(sample.at.as_secs_f64()),
                number(rate(sample))
            );
            let series = Series(usize::from(sample.failed > 0));
            marks.push(Mark::Dot(series, (middle(sample), rate(sample)), tip));
        }
        let with_failures = self.samples.iter().filter(is_failed).count();
        if with_failures > 0 {
            let name = format!("{} with failures", counted(with_failures, "second"));
            legend.push((LegendKey::Series(Series(1)), name));
        }
        let steps = match self.result.load {
            Load::Ramp(_) => " Vertical lines are where more clients begin.",
            _ => "",
        };
        let plot = Plot {
            title: format!("Throughput by second, in {unit}"),
            caption: format!("Time is since the clients began.{steps}"),
            x: (self.x.clone(), "s".into()),
            y: (y, unit.into()),
            legend,
            marks,
        };
        plot.draw()
    }

    /// Percentiles of each second in which anything ended.
    fn response_times(&self) -> Option<Figure> {
        let lines: [Line; 3] = [
            ("p50", |of| of.p50_us),
            ("p99", |of| of.p99_us),
            ("longest", |of| of.max_us),
        ];
        let ended = self.samples.iter().filter(|of| of.max_us > 0);
        let ended: Vec<&Sample> = ended.copied().collect();
        let values = ended.iter().flat_map(|of| lines.map(|(_, us)| us(of)));
        let values: Vec<f64> = values.map(|us| us.max(1) as f64).collect();
        if values.is_empty() {
            return None;
        }
        let y = Scale::logarithmic(values, Round::Tens, plain_time);
        let mut legend = named(&lines);
        let mut marks = self.ground(&mut legend);
        for (place, (name, us)) in lines.into_iter().enumerate() {
            let at = |of: &Sample| (middle(of), us(of).max(1) as f64);
            let points = ended.iter().map(|of| at(of));
            marks.push(Mark::Curve(Series(place), points.collect()));
            if ended.len() <= DOTS_MAX {
                marks.extend(ended.iter().map(|of| {
                    let said = time(us(of) as f64);
                    let tip = format!("{}: {name} {said}", seconds(of.at.as_secs_f64()));
                    Mark::Dot(Series(place), at(of), tip)
                }));
            }
        }
        let plot = Plot {
            title: "Response times by second".into(),
            caption: "Of the transactions that ended in each second, on a logarithmic scale."
                .into(),
            x: (self.x.clone(), "s".into()),
            y: (y, String::new()),
            legend,
            marks,
        };
        plot.draw()
    }

    /// Retries and failed transactions; `None` without any.
    fn errors(&self) -> Option<Figure> {
        let lines: [Line; 2] = [("retries", |of| of.retries), ("failed", |of| of.failed)];
        let rate = |sample: &Sample, number: u64| number as f64 / sample.length.as_secs_f64();
        let values = self.samples.iter();
        let values = values.flat_map(|of| lines.map(|(_, number)| rate(of, number(of))));
        let values: Vec<f64> = values.collect();
        if values.iter().all(|value| *value == 0.0) {
            return None;
        }
        let y = Scale::from_zero(values, Round::Tens, plain);
        let mut legend = named(&lines);
        let mut marks = self.ground(&mut legend);
        for (place, (_, number)) in lines.into_iter().enumerate() {
            let points = self.samples.iter();
            let points = points.map(|of| (middle(of), rate(of, number(of))));
            marks.push(Mark::Curve(Series(place), points.collect()));
        }
        let plot = Plot {
            title: "Retries and failed transactions by second".into(),
            caption: "Failed are those that were given up, timed out, or lost their connection."
                .into(),
            x: (self.x.clone(), "s".into()),
            y: (y, "per second".into()),
            legend,
            marks,
        };
        plot.draw()
    }

    /// What lies behind the lines: what is left out, outages, and where a ramp's steps begin.
    fn ground(&self, legend: &mut Vec<(LegendKey, String)>) -> Vec<Mark> {
        let load = &self.result.figures.load;
        let warm_up_s = load.warm_up.as_secs_f64();
        let figures_s = warm_up_s + load.steadiness.cut_s;
        let mut marks = vec![Mark::upright("left-out", 0.0, figures_s, "warm-up".into())];
        legend.push((LegendKey::Area("left-out"), "warm-up, left out".to_owned()));
        for Outage { begin_s, length_s } in &load.outages {
            let tip = format!("outage: nothing committed for {}", seconds(*length_s));
            marks.push(Mark::upright("outage", *begin_s, begin_s + length_s, tip));
        }
        if !load.outages.is_empty() {
            legend.push((LegendKey::Area("outage"), "outage".to_owned()));
        }
        if let Load::Ramp(ramp) = self.result.load {
            let step_s = ramp.step.as_secs_f64();
            let steps = 1..ramp.clients.count();
            let begins = steps.map(|step| warm_up_s + f64::from(step) * step_s);
            let ends_s = self
                .samples
                .last()
                .map_or(0.0, |last| last.at.as_secs_f64());
            marks.extend(begins.filter(|at| *at < ends_s).map(Mark::Rule));
        }
        marks
    }
}

/// What lines of a chart are called.
fn named(lines: &[Line]) -> Vec<(LegendKey, String)> {
    let names = lines.iter().enumerate();
    names
        .map(|(place, (name, _))| (LegendKey::Series(Series(place)), (*name).to_owned()))
        .collect()
}

/// The middle of a second, s.
fn middle(sample: &Sample) -> f64 {
    (sample.at.as_secs_f64() - sample.length.as_secs_f64() / 2.0).max(0.0)
}
