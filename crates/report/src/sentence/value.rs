//! What throughput is worth, in words.

use std::collections::BTreeSet;

use octavo_experiment::{
    confidence::ConfidenceLevel,
    record::Source,
    value::{
        BreakEven, BreakEvenLacks, BreakEvenPage, BufferCurve, Choice, Configuration, Demanded,
        KneeLacks, KneePlace, LoadPoint, MEMORIES_MIN, MemoryInstead, MemoryStep, PER, RateSource,
        Setting, Value, ValuedCell,
    },
};
use octavo_units::ByteCount;

use super::Answer;
use crate::{
    naming::{self, per_minute},
    number::{
        count, counted, distinct, ends, factor, join, list, number, percent, plain_time, seconds,
        time,
    },
};

/// Cells that are named beside the best one. A table has the others.
const AS_GOOD_MAX: usize = 3;

/// Storages of which something is said in a sentence. Tables have the others.
const STORAGES_MAX: usize = 3;

/// An amount of money: a sign before the figure, a name behind it. Costs of cells may differ
/// little, so hundredths are told, where there are any.
pub(crate) fn money(value: &Value, amount: f64) -> String {
    let amount = match amount {
        large if large >= 10_000.0 => count(large.round() as u64),
        usual if usual >= 0.995 => {
            let hundredths = (usual * 100.0).round() as u64;
            match hundredths % 100 {
                0 => count(hundredths / 100),
                rest => format!("{}.{rest:02}", count(hundredths / 100)),
            }
        }
        small => number(small),
    };
    match &value.prices.currency {
        None => amount,
        Some(currency) => {
            let currency = currency.to_string();
            match currency.starts_with(char::is_alphanumeric) {
                true => format!("{amount} {currency}"),
                false => format!("{currency}{amount}"),
            }
        }
    }
}

/// The unit of throughput per money: "per 1,000 EUR".
pub(crate) fn per_money(value: &Value) -> String {
    let spent = match value.prices.currency {
        Some(_) => "",
        None => " spent",
    };
    format!("per {}{spent}", money(value, PER))
}

/// The unit of throughput.
pub(crate) fn rate(value: &Value) -> String {
    per_minute(&value.counted_name)
}

/// Whether all figures are predicted.
pub(crate) fn is_predicted(value: &Value) -> bool {
    value.cells.iter().all(|of| of.source == Source::Predicted)
}

/// A cell as after "with" and "on".
fn cell(of: &ValuedCell) -> String {
    let setting = match of.setting.as_str() {
        "" => String::new(),
        setting => format!(", {setting}"),
    };
    format!(
        "{} pages with {} of memory on {}{setting}",
        of.page_size, of.memory, of.storage
    )
}

/// What to buy, and what each part of it is worth.
pub(crate) fn answers(value: &Value) -> Vec<Answer> {
    let mut answers: Vec<Answer> = demanded(value).into_iter().chain(best(value)).collect();
    let best = value.best.map(|place| &value.cells[place]);
    let setting = match best {
        Some(best) => value.setting(best),
        None => value.settings.first(),
    };
    if let Some(setting) = setting {
        let curves = curves(value, setting);
        answers.extend(
            curves
                .into_iter()
                .filter_map(|curve| knee(value, setting, curve))
                .take(STORAGES_MAX),
        );
        let choices = setting.choices.iter().take(STORAGES_MAX);
        answers.extend(choices.map(|of| choice(value, of)));
    }
    let rules = value.break_even.iter().filter_map(|of| rule(value, of));
    answers.extend(rules.take(STORAGES_MAX));
    answers
}

/// All that is said.
pub(crate) fn sentences(value: &Value) -> Vec<String> {
    let text = |of: Answer| format!("{} {}", of.what, of.why);
    answers(value).into_iter().map(text).collect()
}

/// What is to be held, as after "holds".
pub(crate) fn demand(value: &Value, of: &Demanded) -> String {
    let rate = format!("{} {} a second", number(of.per_second), value.counted_name);
    match of.p99_ms {
        None => rate,
        Some(p99) => format!("{rate} with a p99 of at most {}", plain_time(p99 * 1e3)),
    }
}

/// What a cell does under the load at which it is judged.
pub(crate) fn does(of: &LoadPoint) -> String {
    let a_second = |a_minute: f64| number(a_minute / 60.0);
    let ms = |ms: f64| time(ms * 1e3);
    let p99 = match (of.p99_ms, of.p99_low_ms, of.p99_high_ms) {
        (Some(p99), Some(low), Some(high)) => {
            format!("p99 {} ({} to {})", ms(p99), ms(low), ms(high))
        }
        (Some(p99), ..) => format!("p99 {} (of too few to know)", ms(p99)),
        (None, ..) => "p99 not known".to_owned(),
    };
    let next = match of.hosts {
        Some(1) => " on 1 host alone".to_owned(),
        Some(2) => " on 2 hosts alone".to_owned(),
        Some(_) => " on one more host".to_owned(),
        None => String::new(),
    };
    let all = match of.all_passes {
        Some(all) if all < of.throughput.low => {
            format!(", {} with the passes that are left out", a_second(all))
        }
        _ => String::new(),
    };
    format!(
        "{} a second ({}{next}){all}, {p99}, with {}",
        a_second(of.throughput.estimate),
        ends(&of.throughput, a_second),
        counted(of.clients as usize, "client")
    )
}

/// The cheapest that holds what is wanted.
fn demanded(value: &Value) -> Option<Answer> {
    let found = value.demand.as_ref()?;
    let wanted = demand(value, found);
    let at = |place: usize| (&value.cells[place], &found.cells[place].at);
    let cost = |of: &ValuedCell| of.cost.map_or_else(String::new, |cost| money(value, cost));
    let some = |places: &[usize], words: &dyn Fn(usize) -> String| {
        let named = join(
            places.iter().take(AS_GOOD_MAX).map(|&place| words(place)),
            "; ",
        );
        match places.len().saturating_sub(AS_GOOD_MAX) {
            0 => named,
            more => format!("{named}, and {more} more"),
        }
    };
    let mut others = String::new();
    if !found.cheaper_open.is_empty() {
        let than = match found.cheapest {
            Some(_) => "Cheaper, but not",
            None => "Not",
        };
        let open = some(&found.cheaper_open, &|place| {
            let (of, load) = at(place);
            format!("{} for {} ({})", cell(of), cost(of), does(load))
        });
        others += &format!(" {than} decided: {open}.");
    }
    if !found.without_price.is_empty() {
        let hosts = |of: &ValuedCell| {
            let result = value.results.get(of.result)?;
            let is_unpriced = !value.prices.hosts.is_empty() && of.bill.machine.is_none();
            result.hosts_in_words.clone().filter(|_| is_unpriced)
        };
        let unpriced = some(&found.without_price, &|place| {
            let (of, load) = at(place);
            // It is their machine that lacks one.
            let named = match hosts(of) {
                Some(hosts) => format!("{} pages on {hosts}", of.page_size),
                None => cell(of),
            };
            format!("{named} ({})", does(load))
        });
        others += &format!(" It is held by what has no price, too: {unpriced}. Add their prices.");
    }
    let predicted = |of: &ValuedCell| match of.source {
        Source::Predicted => ", as predicted",
        Source::Measured => "",
    };
    let (what, why) = match found.cheapest {
        Some(place) => {
            let (of, load) = at(place);
            (
                format!(
                    "The cheapest that holds {wanted}{}: {}.",
                    predicted(of),
                    cell(of)
                ),
                format!("It costs {} and does {}.{others}", cost(of), does(load)),
            )
        }
        None if !others.is_empty() => (
            format!("Nothing with a price holds {wanted} for sure."),
            others.trim_start().to_owned(),
        ),
        None => {
            let load = |place: usize| at(place).1;
            let p99 = |place: usize| load(place).p99_ms.unwrap_or(f64::INFINITY);
            let rate = |place: usize| load(place).throughput.estimate;
            let is_quick = |place: &usize| found.p99_ms.is_none_or(|wanted| p99(*place) <= wanted);
            let places = || 0..value.cells.len();
            let quick = places().filter(is_quick);
            let most = quick.max_by(|&one, &other| rate(one).total_cmp(&rate(other)));
            let quickest = || places().min_by(|&one, &other| p99(one).total_cmp(&p99(other)));
            let most = most.or_else(quickest)?;
            let (of, load) = at(most);
            (
                format!("Nothing here holds {wanted}."),
                format!("The nearest is {} ({}).", cell(of), does(load)),
            )
        }
    };
    Some(Answer { what, why })
}

fn best(value: &Value) -> Option<Answer> {
    let best = &value.cells[value.best?];
    let (rate, money) = (rate(value), |amount| money(value, amount));
    let predicted = match best.source {
        Source::Predicted => " (predicted)",
        Source::Measured => "",
    };
    let mut why = format!(
        "{} {rate} {}. It reaches {} {rate}{predicted} and costs {}.",
        number(best.per_thousand?),
        per_money(value),
        number(best.throughput.estimate),
        money(best.cost?)
    );
    let as_good: Vec<String> = value
        .as_good
        .iter()
        .take(AS_GOOD_MAX)
        .map(|&place| cell(&value.cells[place]))
        .collect();
    if !as_good.is_empty() {
        let more = value.as_good.len() - as_good.len();
        let more = match more {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        why += &format!(
            " Within {} of it: {}{more}.",
            percent(value.margin),
            join(as_good, "; ")
        );
    }
    Some(Answer {
        what: format!("Most throughput for the money: {}.", cell(best)),
        why,
    })
}

/// One curve for each storage: that of the page size which has the most throughput for the
/// money there, or else the most throughput.
fn curves<'a>(value: &Value, setting: &'a Setting) -> Vec<&'a BufferCurve> {
    let storages = value.storages.iter();
    let of_storage = |name: &str| {
        let cells = value.cells.iter();
        let own = cells.filter(|of| of.setting == setting.name && of.storage == name);
        let best = own.max_by(|a, b| {
            let rate = |of: &ValuedCell| of.per_thousand.unwrap_or(0.0);
            let by_money = rate(a).total_cmp(&rate(b));
            by_money.then(a.throughput.estimate.total_cmp(&b.throughput.estimate))
        })?;
        let mut curves = setting.curves.iter();
        curves.find(|of| of.storage == name && of.page_size == best.page_size)
    };
    storages.filter_map(|of| of_storage(&of.name)).collect()
}

/// How much memory is worth its money.
fn knee(value: &Value, setting: &Setting, curve: &BufferCurve) -> Option<Answer> {
    let (storage, pages) = (&curve.storage, curve.page_size);
    let Some(knee) = &curve.knee else {
        return match curve.lacks? {
            KneeLacks::Memories { found } => Some(Answer {
                what: format!("On {storage}, the knee of memory is not known yet."),
                why: format!(
                    "Only {} of {pages} pages {} a price and a throughput, and a knee needs at \
                     least {MEMORIES_MIN}. Give three sizes to octavo advise or predict with \
                     --cache, or to memory in a plan.",
                    counted(found, "cache size"),
                    if found == 1 { "has" } else { "have" }
                ),
            }),
            KneeLacks::StoragePrice => Some(Answer {
                what: format!("On {storage}, the knee of memory is not known yet."),
                why: format!("{storage} has no price: add --storage-price {storage}=PRICE."),
            }),
            // A warning says so of all together.
            _ => None,
        };
    };
    let step = |is_wanted: &dyn Fn(&MemoryStep) -> bool| {
        let step = knee.steps.iter().find(|step| is_wanted(step))?;
        step_in_words(value, setting, curve, step)
    };
    let onwards = || step(&|step| step.from == knee.memory);
    let what = match knee.place {
        KneePlace::Inside => format!("On {storage}, stop at {} of memory.", knee.memory),
        KneePlace::Largest => {
            format!("On {storage}, more than {} of memory may pay.", knee.memory)
        }
        KneePlace::Smallest => {
            format!("On {storage}, no more than {} of memory pays.", knee.memory)
        }
    };
    let (said, end) = match knee.place {
        KneePlace::Inside => (onwards()?, ""),
        KneePlace::Largest => (
            step(&|step| step.to == knee.memory)?,
            " Larger memories were not tried.",
        ),
        KneePlace::Smallest => (onwards()?, " Smaller memories were not tried."),
    };
    Some(Answer {
        what,
        why: format!("With {pages} pages {said}.{end}"),
    })
}

/// `the step from 8 MiB to 32 MiB gives 12% more throughput for 1.5% more money`.
pub(crate) fn step_in_words(
    value: &Value,
    setting: &Setting,
    curve: &BufferCurve,
    step: &MemoryStep,
) -> Option<String> {
    let (throughput, cost) = before(value, setting, curve, step.from)?;
    let gain = step.gain / throughput;
    let gain = match gain < 0.0 {
        true => format!("{} less", percent(-gain)),
        false => format!("{} more", percent(gain)),
    };
    Some(format!(
        "the step from {} to {} gives {gain} throughput for {} more money",
        step.from,
        step.to,
        share(step.cost / cost)
    ))
}

/// A share that may be much smaller than a percent.
pub(crate) fn share(value: f64) -> String {
    match value.abs() < 0.0095 && value != 0.0 {
        true => format!("{:.1$}%", value * 100.0, decimals(value.abs() * 100.0)),
        false => percent(value),
    }
}

/// Decimals that leave two digits of a number below 1.
fn decimals(value: f64) -> usize {
    (1.0 - value.log10().floor()).clamp(0.0, 9.0) as usize
}

/// Throughput and cost of a memory.
pub(crate) fn before(
    value: &Value,
    setting: &Setting,
    curve: &BufferCurve,
    memory: ByteCount,
) -> Option<(f64, f64)> {
    let mut cells = value.cells.iter();
    let cell = cells.find(|of| {
        !of.elsewhere
            && of.memory == memory
            && of.setting == setting.name
            && of.storage == curve.storage
            && of.page_size == curve.page_size
    })?;
    Some((cell.throughput.estimate, cell.cost?))
}

/// What another storage costs and gives, and what more memory does instead.
fn choice(value: &Value, choice: &Choice) -> Answer {
    let (from, other) = (&choice.from, &choice.storage);
    let gain = |of: &Configuration| of.throughput / from.throughput;
    let extra = |of: &Configuration| match of.cost > from.cost {
        true => format!("costs {} more", money(value, of.cost - from.cost)),
        false => "costs as much".into(),
    };
    let storage = &other.storage;
    let offer = |of: &Configuration| {
        let memory = match of.memory == from.memory {
            true => String::new(),
            false => format!(" with {} of memory", of.memory),
        };
        format!(
            "{}{memory} {} and gives {}",
            of.storage,
            extra(of),
            factor(gain(of))
        )
    };
    let more_memory = |with: &Configuration, most: &str| {
        format!(
            "{} more memory {} and gives {most}{}",
            with.memory.saturating_sub(from.memory),
            extra(with),
            factor(gain(with))
        )
    };
    let begin = format!(
        "From {} pages with {} of memory on {} ({} {}):",
        from.page_size,
        from.memory,
        from.storage,
        number(from.throughput),
        rate(value)
    );
    let is_faster = gain(other) > 1.0 + value.margin;
    let rather = format!("Buy {storage} rather than more memory.");
    let (what, why) = match &choice.memory {
        _ if !is_faster => (
            format!("{storage} is not worth its price."),
            format!("{begin} {}.", offer(other)),
        ),
        MemoryInstead::Reaches { with, cheaper } => (
            match cheaper {
                true => format!("Buy more memory rather than {storage}."),
                false => rather,
            },
            format!("{begin} {}; {}.", more_memory(with, ""), offer(other)),
        ),
        MemoryInstead::FallsShort { with } => {
            // Which of them gains more for what it costs more.
            let own = (with.throughput - from.throughput) * (other.cost - from.cost);
            let others = (other.throughput - from.throughput) * (with.cost - from.cost);
            (
                match own > others {
                    true => format!("Buy more memory first, then {storage}."),
                    false => rather,
                },
                format!(
                    "{begin} {}; {}.",
                    more_memory(with, "at most "),
                    offer(other)
                ),
            )
        }
        MemoryInstead::Untried => (
            format!("Whether more memory does as much as {storage} is not known."),
            format!("{begin} {}. More memory was not tried.", offer(other)),
        ),
    };
    Answer { what, why }
}

/// The five-minute rule of a storage: of the smallest page, and how it is of others.
fn rule(value: &Value, of: &BreakEven) -> Option<Answer> {
    let (first, others) = of.pages.split_first()?;
    let memory = value.prices.memory?;
    let interval = |page: &BreakEvenPage| {
        let (time, size) = (seconds(page.interval_s), page.reads.page_size);
        format!("{time} for {size}")
    };
    let others: Vec<String> = others.iter().map(interval).collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => format!("Larger pages: {}. ", list(&others, "and")),
    };
    let asked = match first.rate {
        RateSource::Calibrated => "calibrated",
        RateSource::Interpolated => "interpolated from the calibration",
        RateSource::Model => "by its model",
    };
    Some(Answer {
        what: format!(
            "On {}, keep a {} page in memory if it is read every {} or more often.",
            of.storage,
            first.reads.page_size,
            seconds(first.interval_s)
        ),
        why: format!(
            "That is the five-minute rule. {others}{} costs {} and does {} random reads of {} a second ({asked}, queue depth \
             {}); memory costs {} per GiB.",
            of.storage,
            money(value, of.price),
            number(first.reads.per_s),
            first.reads.page_size,
            first.reads.depth,
            money(value, memory.get())
        ),
    })
}

/// What a reader must know before believing the figures.
pub(crate) fn warnings(value: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    if is_predicted(value) {
        warnings.push(
            "Predicted, not measured: all throughput is of models. Measure before you buy: octavo \
             advise"
                .into(),
        );
    }
    let doubted = value.results.iter();
    let doubted = doubted.filter(|of| of.confidence == Some(ConfidenceLevel::Low));
    // Of merged results that of each class is another one.
    let doubted = doubted.map(|of| {
        let name = &of.name;
        match &of.hosts_in_words {
            Some(hosts) => format!(
                "The answer of {name} for {hosts} has low confidence, and so have these figures: octavo report \
                 {name} --verbose says why."
            ),
            None => format!(
                "The answer of {name} has low confidence, and so have these figures: octavo report {name} says \
                 why."
            ),
        }
    });
    warnings.extend(distinct(doubted));
    if value.demand.is_some() {
        warnings.push(
            "Clients waited for each answer before they asked again. Where requests come at random, they \
             also wait for each other: keep room above the rate."
                .into(),
        );
    }
    if value.scale != 1.0 {
        warnings.push(format!(
            "Each cell stands for {} times its memory and data (--times). That throughput stays \
             the same is assumed, not tested.",
            number_of_times(value.scale)
        ));
    }
    if is_memory_negligible(value) {
        let remedy = match value.scale == 1.0 {
            true => " If each MiB here stands for a GiB, add --times 1024",
            false => "",
        };
        warnings.push(format!(
            "Memory is less than 1% of every cost, so more of it always looks worth it.{remedy}"
        ));
    }
    if value.prices.memory.is_none() {
        warnings.push(
            "Memory has no price, so more of it looks free, and there is no knee and no \
             five-minute rule: add --memory-price 5/GiB"
                .into(),
        );
    }
    if value.cells.iter().any(|cell| cell.bill.machine.is_none()) {
        let unpriced = unpriced_hosts(value);
        let (names, first): (Vec<String>, Vec<String>) = unpriced.into_iter().unzip();
        let favors = "no price, which favors small memories and cheap storage: add --machine-price";
        warnings.push(match first.first() {
            Some(host) => format!(
                "{} have {favors} {host}=2000",
                naming::capital(&list(&names, "and"))
            ),
            None => format!("The machine has {favors} 2000"),
        });
    }
    let (known, unknown): (Vec<_>, Vec<_>) =
        value.storages.iter().partition(|of| of.price.is_some());
    let names: Vec<&str> = unknown.iter().map(|of| of.name.as_str()).collect();
    if let Some(first) = names.first() {
        let what = match (known.is_empty(), names.len()) {
            (true, 1) => format!("{first} has no price, so costs are without storage"),
            (true, _) => "No storage has a price, so costs are without storage".into(),
            (false, _) => format!(
                "{} {} no price and {} left out of throughput per money",
                list(&names, "and"),
                if names.len() == 1 { "has" } else { "have" },
                if names.len() == 1 { "is" } else { "are" }
            ),
        };
        warnings.push(format!("{what}: add --storage-price {first}=PRICE"));
    }
    for of in &value.break_even {
        let why = match &of.lacks {
            None => continue,
            Some(BreakEvenLacks::Calibration) => {
                "it was not calibrated: octavo advise does that, and octavo run --calibrate".into()
            }
            Some(BreakEvenLacks::Buffered) => {
                "its calibration did not bypass the page cache: use a file system with direct I/O"
                    .into()
            }
            Some(BreakEvenLacks::Device { reason }) => reason.clone(),
            Some(_) => "it is not known".to_owned(),
        };
        warnings.push(format!(
            "No five-minute rule of {} {}: {why}",
            of.storage,
            match of.pages.is_empty() {
                true => "at all",
                false => "for some page sizes",
            }
        ));
    }
    if !value.unused.is_empty() {
        warnings.push(format!(
            "Prices of {} are not used: no storage here and no device of octavo devices has such \
             a name",
            list(&value.unused, "and")
        ));
    }
    if !value.unused_hosts.is_empty() {
        warnings.push(format!(
            "Prices of {} are not used: there is no such host (octavo report DIR --verbose lists them)",
            list(&value.unused_hosts, "and")
        ));
    }
    warnings
}

/// Classes of hosts without a price, where others have one: what they are called, and a host of each.
fn unpriced_hosts(value: &Value) -> Vec<(String, String)> {
    let cells = value.cells.iter();
    let unpriced =
        cells.filter(|cell| !value.prices.hosts.is_empty() && cell.bill.machine.is_none());
    let places: BTreeSet<usize> = unpriced.map(|cell| cell.result).collect();
    let results = places
        .into_iter()
        .filter_map(|place| value.results.get(place));
    results
        .filter_map(|of| Some((of.hosts_in_words.clone()?, of.hosts.first()?.clone())))
        .collect()
}

fn number_of_times(scale: f64) -> String {
    match scale.fract() == 0.0 {
        true => count(scale as u64),
        false => number(scale),
    }
}

/// Share of a cost below which memory hardly counts. Chosen.
const NEGLIGIBLE: f64 = 0.01;

fn is_memory_negligible(value: &Value) -> bool {
    let share = |cell: &ValuedCell| Some(cell.bill.memory? / cell.cost?);
    let mut shares = value.cells.iter().filter_map(share).peekable();
    shares.peek().is_some() && shares.all(|share| share < NEGLIGIBLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_shares_keep_two_digits() {
        for (value, text) in [
            (0.5, "50%"),
            (0.0, "0%"),
            (0.0521, "5.2%"),
            (0.009, "0.90%"),
            (0.000_28, "0.028%"),
            (1e-12, "0.000000000%"),
        ] {
            assert_eq!(share(value), text);
        }
    }
}
