//! Throughput by clients of a ramp, and the law that fits it.

use octavo_experiment::ramp::{RampFinding, StepFinding};

use super::{
    plot::{LegendKey, Mark, Plot},
    scale::{Round, Scale},
};
use crate::{
    document::Figure,
    number::{counted, number, plain},
    svg::Series,
};

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
