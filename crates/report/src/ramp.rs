//! What a ramp says: the answer, its steps, and a chart.

use octavo_experiment::{
    bench::BenchResult,
    ramp::{RampFinding, StepFinding},
    statistics::scalability::{FitEstimate, Fitted, Peak},
};

use crate::{
    chart,
    document::{Block, Figure, Section, Table},
    naming,
    number::{bytes, count, counted, number, percent, percent_fine, plain},
    table::ms,
};

/// Throughputs that differ by this share count as equal.
const AS_GOOD: f64 = 0.03;

/// A fit with a larger mean error than this says little.
const FAR: f64 = 0.1;

/// The unit in which counted transactions of a ramp are told.
pub(crate) struct Rate {
    /// Such as "new orders per minute".
    pub(crate) unit: String,
    /// How many of it a transaction each second makes.
    per: f64,
}

impl Rate {
    /// The unit for transactions with this name.
    pub(crate) fn new(counted_name: &str, ramp: &RampFinding) -> Self {
        let is_all = |step: &StepFinding| step.counted_per_second == step.transactions_per_second;
        let (unit, per) = naming::counted_by(counted_name, ramp.steps.iter().all(is_all));
        Self {
            unit: format!("{counted_name} per {unit}"),
            per,
        }
    }

    /// A rate per second in this unit.
    pub(crate) fn format(&self, per_second: f64) -> String {
        number(per_second * self.per)
    }
}

/// The step with the most throughput.
fn best(ramp: &RampFinding) -> Option<&StepFinding> {
    let steps = ramp.steps.iter();
    steps.max_by(|one, other| one.counted_per_second.total_cmp(&other.counted_per_second))
}

/// The fewest clients that reach about as much as any number of them.
pub(crate) fn enough(ramp: &RampFinding) -> Option<&StepFinding> {
    let most = best(ramp)?.counted_per_second;
    let mut steps = ramp.steps.iter();
    steps.find(|step| step.counted_per_second >= most * (1.0 - AS_GOOD))
}

/// The main result, in one sentence. With `larger` people try more clients; `None` where they
/// need not, because more steps are to come.
pub(crate) fn answer(rate: &Rate, ramp: &RampFinding, larger: Option<&str>) -> Option<String> {
    let enough = enough(ramp)?;
    let reached = format!(
        "{} {} with {}",
        rate.format(enough.counted_per_second),
        rate.unit,
        counted(enough.clients, "client")
    );
    let [first, last] = [ramp.steps.first()?, ramp.steps.last()?].map(|step| step.clients);
    if enough.clients < last {
        let little = percent(AS_GOOD);
        return Some(format!(
            "{reached}. More, up to {last}, gain less than {little}."
        ));
    }
    let tried = match first == last {
        true => "the only number that was tried",
        false => "the most that were tried; fewer reach less",
    };
    let more = larger.map_or_else(String::new, |larger| format!(" Try more with {larger}."));
    Some(format!("{reached}, {tried}.{more}"))
}

/// Where throughput is highest by the law, of a ramp up to so many clients.
pub(crate) fn knee(peak: &Peak, last: f64) -> String {
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

/// A share and where it lies.
pub(crate) fn between(of: FitEstimate) -> String {
    let [estimate, low, high] = [of.estimate, of.low, of.high].map(percent_fine);
    format!("{estimate} ({low} to {high})")
}

/// What the steps say together.
fn law(fitted: &Fitted, last: f64) -> Vec<(&'static str, String)> {
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

/// The section of a bench; nothing without a ramp.
pub(crate) fn section(result: &BenchResult) -> Section {
    let mut section = Section::new("ramp", "Clients");
    if let Some(ramp) = &result.ramp {
        let rate = Rate::new(&result.counted_name, ramp);
        section.push(Block::Table(steps(ramp, &rate, String::new())));
        section.extend(below(ramp));
        section.extend(figure(ramp, &rate, "").map(Block::Figure));
    }
    section
}

/// The steps of a ramp, `of` the cell that it is, if there are several.
pub(crate) fn steps(ramp: &RampFinding, rate: &Rate, of: String) -> Table {
    let most = best(ramp).map_or(1.0, |best| best.counted_per_second);
    let caption = match of.is_empty() {
        true => "Steps, without the first tenth of each but for what failed".to_owned(),
        false => format!("{of}: steps, without the first tenth of each but for what failed"),
    };
    Table::with_rows(caption, &ramp.steps)
        .label("clients", |step| count(step.clients.into()))
        .figure(rate.unit.as_str(), |step| {
            rate.format(step.counted_per_second)
        })
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
        .figure(("failed", 8), |step| count(step.failed))
        .build()
}

/// The law below the steps, or why there is none.
pub(crate) fn below(ramp: &RampFinding) -> Option<Block> {
    let Some(last) = ramp.steps.last() else {
        return Some(Block::Paragraph(
            "No step has ended, so there is nothing to say of clients.".into(),
        ));
    };
    let law = law(ramp.law.as_ref()?, f64::from(last.clients));
    let values = law.into_iter().map(|(name, value)| (name.into(), value));
    Some(Block::Values(values.collect()))
}

/// The chart of the cell `of`, if there are several.
pub(crate) fn figure(ramp: &RampFinding, rate: &Rate, of: &str) -> Option<Figure> {
    chart::ramp(ramp, of, &rate.unit, rate.per)
}

/// What it was over time.
pub(crate) fn over_time(ramp: &RampFinding, rate: &Rate, of: &str) -> impl Iterator<Item = Figure> {
    chart::ramp_over_time(ramp, of, &rate.unit, rate.per)
}

/// A share of the most, in characters.
pub(crate) fn bar(share: f64) -> String {
    const CELLS: usize = 16;
    let full = (share * CELLS as f64).round() as usize;
    "█".repeat(full.min(CELLS)) + &"·".repeat(CELLS.saturating_sub(full))
}
