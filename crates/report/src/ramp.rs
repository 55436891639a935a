//! What a ramp says: the answer, its steps, and a chart.

use octavo_experiment::{
    bench::BenchResult,
    ramp::{RampFinding, StepFinding},
    statistics::scalability::{Between, Fitted, Peak},
};

use crate::{
    chart,
    document::{Block, Section, Table},
    number::{bytes, count, number, percent, percent_fine, plain},
    table::ms,
};

/// Throughput that is this share below another one is as good.
const AS_GOOD: f64 = 0.03;

/// A law that is further from its steps than this on average says little.
const FAR: f64 = 0.1;

/// The unit in which counted transactions are told, and how many of it a second has.
fn rate(result: &BenchResult) -> (String, f64) {
    let name = &result.counted_name;
    match result.figures.load.counted() == result.figures.load.transactions() {
        true => (format!("{name} per second"), 1.0),
        false => (format!("{name} per minute"), 60.0),
    }
}

/// The step with the most throughput.
fn best(ramp: &RampFinding) -> Option<&StepFinding> {
    let steps = ramp.steps.iter();
    steps.max_by(|one, other| one.counted_per_second.total_cmp(&other.counted_per_second))
}

/// The sentence that people came for.
pub(crate) fn answer(result: &BenchResult, ramp: &RampFinding) -> Option<String> {
    let (unit, per) = rate(result);
    let best = best(ramp)?;
    let enough = ramp
        .steps
        .iter()
        .find(|step| step.counted_per_second >= best.counted_per_second * (1.0 - AS_GOOD))?;
    let reached = format!(
        "{} {unit} with {} clients",
        number(enough.counted_per_second * per),
        enough.clients
    );
    let is_last = enough.clients == ramp.steps.last()?.clients;
    Some(match is_last {
        true => {
            format!("{reached}, the most that were tried; fewer reach less. Try more with --ramp.")
        }
        false => format!(
            "{reached}. More, up to {}, gain less than {}.",
            ramp.steps.last()?.clients,
            percent(AS_GOOD)
        ),
    })
}

/// Where throughput is highest by the law, of a ramp up to so many clients.
fn knee(peak: &Peak, last: f64) -> String {
    let Some(clients) = peak.clients else {
        return "none: throughput levels off, and does not fall".into();
    };
    let low = peak.low.map_or("?".into(), number);
    let high = peak.high.map_or("no end".into(), number);
    let beyond = match clients > last {
        true => ", beyond what was tried",
        false => "",
    };
    format!("{} clients ({low} to {high}){beyond}", number(clients))
}

/// What the steps say together.
fn law(fitted: &Fitted, last: f64) -> Vec<(&'static str, String)> {
    let between = |of: Between| {
        let [estimate, low, high] = [of.estimate, of.low, of.high].map(percent_fine);
        format!("{estimate} ({low} to {high})")
    };
    let mut values = vec![
        ("knee", knee(&fitted.peak, last)),
        (
            "contention",
            between(fitted.contention) + " of a transaction is done by one client at a time",
        ),
        (
            "coherence",
            between(fitted.coherence) + " of a transaction more for each other client",
        ),
        ("off by", format!("{} on average", percent_fine(fitted.off))),
    ];
    if fitted.off > FAR {
        values.push((
            "note",
            "The steps do not follow the universal scalability law: read them, not the knee."
                .into(),
        ));
    }
    values
}

/// Steps and chart; nothing without a ramp.
pub(crate) fn section(result: &BenchResult) -> Section {
    let mut section = Section::new("ramp", "Clients");
    let Some(ramp) = &result.ramp else {
        return section;
    };
    let (unit, per) = rate(result);
    let most = best(ramp).map_or(1.0, |best| best.counted_per_second);
    let table = Table::of("Steps, without the first tenth of each", &ramp.steps)
        .label("clients", |step| count(step.clients.into()))
        .figure(unit.as_str(), |step| number(step.counted_per_second * per))
        .drawing("", |step| bar(step.counted_per_second / most))
        .figure(("+-", 6), |step| {
            percent(1.96 * step.counted_error / step.counted_per_second)
        })
        .figure("p50 ms", |step| ms(step.latency.p50_us))
        .figure("p99 ms", |step| ms(step.latency.p99_us))
        .figure(("read/s", 4), |step| bytes(step.read_bytes_per_second))
        .figure(("written/s", 5), |step| {
            bytes(step.written_bytes_per_second)
        })
        .figure(("misses", 7), |step| plain(step.misses_per_transaction))
        .figure(("failed", 8), |step| count(step.failed));
    section.push(Block::Table(table.build()));
    if ramp.steps.is_empty() {
        section.paragraph("No step has ended, so there is nothing to say of clients.");
    }
    if let Some(fitted) = &ramp.law {
        let last = ramp
            .steps
            .last()
            .map_or(0.0, |step| f64::from(step.clients));
        section.values(law(fitted, last));
    }
    section.extend(chart::ramp(ramp, &unit, per).map(Block::Figure));
    section
}

/// A share of the most, in characters.
fn bar(share: f64) -> String {
    const CELLS: usize = 16;
    let full = (share * CELLS as f64).round() as usize;
    "█".repeat(full.min(CELLS)) + &"·".repeat(CELLS.saturating_sub(full))
}
