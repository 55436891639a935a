//! Throughput by clients of a ramp, and the law that fits it.

use octavo_driver::Ramp;
use octavo_experiment::ramp::{RampFinding, StepFinding};

use super::{
    plot::{LegendKey, Mark, Plot},
    scale::{Round, Scale},
};
use crate::{
    document::Figure,
    number::{counted, number, plain, plain_time, time},
    svg::Series,
};

/// Throughput while the steps followed each other; `None` without batches.
pub(super) fn over_time(ramp: &RampFinding, of: &str, unit: &str, per: f64) -> Option<Figure> {
    let step_s = ramp.step.as_secs_f64();
    let rates = ramp.batches.iter().flatten().map(|rate| rate * per);
    let y = Scale::from_zero(rates, Round::Tens, plain);
    let end_s = step_s * ramp.steps.len() as f64;
    let mut marks = Vec::new();
    for (number, (step, batches)) in ramp.steps.iter().zip(&ramp.batches).enumerate() {
        let begin_s = step_s * number as f64;
        let counted_s = begin_s + Ramp::SETTLING * step_s;
        let tip = format!("{} begin", counted(step.clients, "client"));
        marks.push(Mark::upright("left-out", begin_s, counted_s, tip));
        let part_s = (1.0 - Ramp::SETTLING) * step_s / batches.len().max(1) as f64;
        let point =
            |(part, rate): (usize, &f64)| (counted_s + (part as f64 + 0.5) * part_s, rate * per);
        marks.push(Mark::Curve(
            Series(0),
            batches.iter().enumerate().map(point).collect(),
        ));
        if step.failed > 0 {
            let tip = format!("{} failed", counted(step.failed, "transaction"));
            marks.push(Mark::upright("outage", counted_s, begin_s + step_s, tip));
        }
    }
    let mut legend = vec![
        (LegendKey::Series(Series(0)), "throughput".to_owned()),
        (
            LegendKey::Area("left-out"),
            "clients begin, left out".to_owned(),
        ),
    ];
    let failed: u64 = ramp.steps.iter().map(|step| step.failed).sum();
    if failed > 0 {
        let name = format!("steps with {}", counted(failed, "failed transaction"));
        legend.push((LegendKey::Area("outage"), name));
    }
    let plot = Plot {
        title: titled(of, &format!("Throughput over time, in {unit}")),
        caption: "Each part of the line is one number of clients, which grows from the left."
            .into(),
        x: (Scale::from_zero([end_s], Round::Tens, plain), "s".into()),
        y: (y, unit.into()),
        legend,
        marks,
    };
    ramp.batches
        .iter()
        .any(|of| !of.is_empty())
        .then(|| plot.draw())?
}

/// What a line of a chart is called, and what it has of each step.
type Line = (&'static str, fn(&StepFinding) -> u64);

/// Response times by clients, of all kinds of transactions.
pub(super) fn response_times(ramp: &RampFinding, of: &str) -> Option<Figure> {
    let lines: [Line; 3] = [
        ("p50", |step| step.latency.p50_us),
        ("p95", |step| step.latency.p95_us),
        ("p99", |step| step.latency.p99_us),
    ];
    let values = ramp
        .steps
        .iter()
        .flat_map(|step| lines.map(|(_, us)| us(step)));
    let y = Scale::logarithmic(values.map(|us| us as f64), Round::Tens, plain_time);
    let (mut marks, mut legend) = (Vec::new(), Vec::new());
    for (number, (name, us)) in lines.into_iter().enumerate() {
        let series = Series(number);
        let ended = ramp
            .steps
            .iter()
            .enumerate()
            .filter(|(_, step)| us(step) > 0);
        let points = ended.map(|(place, step)| (place as f64, us(step) as f64));
        let points: Vec<(f64, f64)> = points.collect();
        marks.extend(
            points
                .iter()
                .map(|&at| Mark::Dot(series, at, format!("{name} {}", time(at.1)))),
        );
        marks.push(Mark::Curve(series, points));
        legend.push((LegendKey::Series(series), name.to_owned()));
    }
    let clients = ramp.steps.iter().map(|step| step.clients.to_string());
    let plot = Plot {
        title: titled(of, "Response times by clients"),
        caption: "Of all kinds of transactions, on a logarithmic scale.".into(),
        x: (Scale::places(clients.collect()), "clients".into()),
        y: (y, String::new()),
        legend,
        marks,
    };
    plot.draw()
}

/// A title with the cell that it is of, if there are several.
fn titled(of: &str, title: &str) -> String {
    match of.is_empty() {
        true => title.to_owned(),
        false => format!("{title}, {of}"),
    }
}

/// Places at which the law is drawn between two steps.
const BETWEEN: usize = 8;

/// `per` makes what a second has the unit of the chart.
pub(super) fn draw(ramp: &RampFinding, of: &str, unit: &str, per: f64) -> Option<Figure> {
    let clients: Vec<f64> = ramp
        .steps
        .iter()
        .map(|step| f64::from(step.clients))
        .collect();
    let (steps, law) = (Series(0), Series(1));
    let highest = |step: &StepFinding| step.counted_per_second + 1.96 * step.counted_error;
    let values = ramp.steps.iter().map(|step| highest(step) * per);
    let mut marks = Vec::new();
    let mut legend = vec![(
        LegendKey::Series(steps),
        "measured, with the 95% interval".to_owned(),
    )];
    if let Some(fitted) = &ramp.law {
        let place = |at: usize| {
            let (step, part) = (at / BETWEEN, (at % BETWEEN) as f64 / BETWEEN as f64);
            let next = clients.get(step + 1).unwrap_or(&clients[step]);
            let number = clients[step] + part * (next - clients[step]);
            (step as f64 + part, fitted.law.throughput(number) * per)
        };
        let places = (0..=(clients.len() - 1) * BETWEEN).map(place);
        marks.push(Mark::Curve(law, places.collect()));
        legend.push((
            LegendKey::Series(law),
            "universal scalability law".to_owned(),
        ));
    }
    for (place, step) in ramp.steps.iter().enumerate() {
        let x = place as f64;
        let value = step.counted_per_second * per;
        let half = 1.96 * step.counted_error * per;
        marks.push(Mark::Interval(steps, (x, value - half), (x, value + half)));
        let tip = format!(
            "{}: {} {unit}",
            counted(step.clients, "client"),
            number(value)
        );
        marks.push(Mark::Dot(steps, (x, value), tip));
    }
    let plot = Plot {
        title: match of.is_empty() {
            true => format!("Throughput by clients, in {unit}"),
            false => format!("Throughput by clients with {of}, in {unit}"),
        },
        caption: "Each dot is one step of the ramp, without its first tenth.".into(),
        x: (
            Scale::places(
                ramp.steps
                    .iter()
                    .map(|step| step.clients.to_string())
                    .collect(),
            ),
            "clients".into(),
        ),
        y: (Scale::from_zero(values, Round::Tens, plain), unit.into()),
        legend,
        marks,
    };
    plot.draw()
}
