//! Throughput of a bench by second, with what was left out and what went wrong.

use octavo_driver::{Load, Sample, steady::Outage};
use octavo_experiment::bench::BenchResult;

use super::{
    plot::{Area, LegendKey, Mark, Plot},
    scale::{Round, Scale},
};
use crate::{
    document::Figure,
    number::{count, counted, number, plain, seconds},
    svg::Series,
};

/// The rate of a shorter time is wild, s.
const SECOND_MIN_S: f64 = 0.1;

/// More seconds are drawn as a line without dots.
const DOTS_MAX: usize = 120;

/// `per` makes what a second has the unit of the chart. `None` of a run without two
/// seconds.
pub(super) fn draw(result: &BenchResult, unit: &str, per: f64) -> Option<Figure> {
    let load = &result.figures.load;
    let whole = |sample: &&Sample| sample.length.as_secs_f64() >= SECOND_MIN_S;
    let samples: Vec<&Sample> = load.series.iter().filter(whole).collect();
    if samples.len() < 2 {
        return None;
    }
    let middle =
        |sample: &Sample| (sample.at.as_secs_f64() - sample.length.as_secs_f64() / 2.0).max(0.0);
    let rate = |sample: &Sample| sample.counted as f64 / sample.length.as_secs_f64() * per;
    let y = Scale::from_zero(samples.iter().map(|of| rate(of)), Round::Tens, plain);
    let end_s = load.series.iter().map(|of| of.at.as_secs_f64());
    let x = Scale::from_zero(end_s, Round::Tens, plain);
    let top = y.high();
    let area = |class, from_s: f64, to_s: f64, tip: String| {
        Mark::Area(Area {
            class,
            from: (from_s, 0.0),
            to: (to_s, top),
            opacity: 1.0,
            text: String::new(),
            tip,
        })
    };
    let warm_up_s = load.warm_up.as_secs_f64();
    let figures_s = warm_up_s + load.steadiness.cut_s;
    let mut marks = vec![area("left-out", 0.0, figures_s, "warm-up".into())];
    let mut legend = vec![
        (LegendKey::Series(Series(0)), "throughput".to_owned()),
        (LegendKey::Area("left-out"), "warm-up, left out".to_owned()),
    ];
    for Outage { begin_s, length_s } in &load.outages {
        let tip = format!("outage: nothing committed for {}", seconds(*length_s));
        marks.push(area("outage", *begin_s, begin_s + length_s, tip));
    }
    if !load.outages.is_empty() {
        legend.push((LegendKey::Area("outage"), "outage".to_owned()));
    }
    if let Load::Ramp(ramp) = result.load {
        let step_s = ramp.step.as_secs_f64();
        let steps = 1..ramp.clients.count();
        let begins = steps.map(|step| warm_up_s + f64::from(step) * step_s);
        let ends_s = samples.last().map_or(0.0, |last| last.at.as_secs_f64());
        marks.extend(begins.filter(|at| *at < ends_s).map(Mark::Rule));
    }
    let line = samples.iter().map(|of| (middle(of), rate(of)));
    marks.push(Mark::Curve(Series(0), line.collect()));
    let is_failed = |sample: &&&Sample| sample.failed > 0;
    let dots = samples.len() <= DOTS_MAX;
    for sample in samples.iter().filter(|of| dots || is_failed(of)) {
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
    let with_failures = samples.iter().filter(is_failed).count();
    if with_failures > 0 {
        let name = format!("{} with failures", counted(with_failures, "second"));
        legend.push((LegendKey::Series(Series(1)), name));
    }
    let steps = match result.load {
        Load::Ramp(_) => " Vertical lines are where more clients begin.",
        _ => "",
    };
    let plot = Plot {
        title: format!("Throughput by second, in {unit}"),
        caption: format!("Time is since the clients began.{steps}"),
        x: (x, "s".into()),
        y: (y, unit.into()),
        legend,
        marks,
    };
    plot.draw()
}
