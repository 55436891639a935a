//! Where one factor changes what another is worth.

use octavo_experiment::{
    findings::Findings, plan::Level, statistics::Standing, verdict::Interaction,
};

use crate::{
    naming,
    number::{is_bounded, list, percent, ratio, rounds},
};

/// The interactions that matter, or that none does. Empty with one group.
pub(crate) fn interactions(findings: &Findings) -> Vec<String> {
    let all = &findings.interactions;
    if all.is_empty() {
        return Vec::new();
    }
    let with = |wanted: &[Standing]| all.iter().filter(|i| wanted.contains(&i.standing)).count();
    let matter: Vec<String> = all
        .iter()
        .filter(|i| matches!(i.standing, Standing::Better | Standing::Worse))
        .map(|interaction| matters(findings, interaction))
        .collect();
    if !matter.is_empty() {
        return matter;
    }
    let mut others: Vec<String> = Vec::new();
    for interaction in all {
        let noun = naming::factor(&interaction.at).noun().to_owned();
        if !others.contains(&noun) {
            others.push(noun);
        }
    }
    let (compared, others) = (findings.plan.compare.noun(), list(&others, "or"));
    let margin = percent(findings.plan.margin);
    vec![match with(&[Standing::Open]) {
        0 => format!(
            "No interaction between {compared} and {others}: what a level is worth changes by \
             less than the margin of {margin}."
        ),
        open => format!(
            "No interaction larger than the margin of {margin} was shown between {compared} and \
             {others}; of {} that were looked at, {open} {} undecided.",
            all.len(),
            if open == 1 { "is" } else { "are" }
        ),
    }]
}

fn matters(findings: &Findings, interaction: &Interaction) -> String {
    let within = if interaction.within.is_empty() {
        String::new()
    } else {
        format!(", {}", interaction.within)
    };
    format!(
        "What {} is worth depends on {}: its ratio to the {} is {} times with {}{within} of what \
         it is with {}{within} ({}).",
        interaction.level.with_noun(),
        naming::factor(&interaction.at).noun(),
        naming::reference_word(findings),
        two_decimals(interaction.ratio.estimate),
        interaction.at.with_noun(),
        interaction.against.with_noun(),
        interval(interaction),
    )
}

fn interval(interaction: &Interaction) -> String {
    let interval = &interaction.ratio;
    if is_bounded(interval) {
        format!(
            "{} to {}, {}",
            two_decimals(interval.low),
            two_decimals(interval.high),
            rounds(interval.rounds)
        )
    } else {
        format!("interval not known from {}", rounds(interval.rounds))
    }
}

/// A ratio with two decimals; with three where two would say 1.
fn two_decimals(value: f64) -> String {
    if value.is_finite() && value.abs() < 9.995 && (value - 1.0).abs() >= 0.005 {
        format!("{value:.2}")
    } else {
        ratio(value)
    }
}

/// What an interaction's standing is called: not better or worse, since
/// neither level is.
pub(crate) fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::Better => "worth more",
        Standing::Worse => "worth less",
        Standing::Equivalent => "no interaction",
        Standing::Open => "open",
    }
}

/// `8 MiB of memory against 32 MiB of memory`.
pub(crate) fn contrast(at: &Level, against: &Level) -> String {
    format!("{} against {}", at.with_noun(), against.with_noun())
}
