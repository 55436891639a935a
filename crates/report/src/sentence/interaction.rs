//! Where one factor changes what another is worth.

use octavo_experiment::{
    findings::Findings, plan::Level, statistics::Decision, verdict::Interaction,
};

use crate::{
    naming,
    number::{distinct, ends, list, percent, ratio},
};

/// The interactions that matter, or that none does. Empty with one group.
pub(crate) fn interactions(findings: &Findings) -> Vec<String> {
    let all = &findings.interactions;
    if all.is_empty() {
        return Vec::new();
    }
    let with = |wanted: &[Decision]| all.iter().filter(|i| wanted.contains(&i.decision)).count();
    let matter: Vec<String> = all
        .iter()
        .filter(|i| matches!(i.decision, Decision::Better | Decision::Worse))
        .map(|interaction| matters(findings, interaction))
        .collect();
    if !matter.is_empty() {
        return matter;
    }
    let others = distinct(
        all.iter()
            .map(|of| naming::varying(findings, naming::factor(&of.at))),
    );
    let (compared, others) = (findings.plan.compare.noun(), list(&others, "or"));
    let margin = percent(findings.plan.margin);
    let mut cells = naming::cells(findings);
    let is_all = !cells.any(|cell| !cell.reference && cell.ratio.is_none());
    vec![match with(&[Decision::Open]) {
        0 if !is_all => {
            format!("Of the ratios that are known none changes with {others} by {margin} or more.")
        }
        0 => format!(
            "The best {compared} does not depend on {others}: ratios change by less than {margin}."
        ),
        open => format!(
            "No ratio of {compared} is known to change by more than {margin} with {others}; \
             {open} of {} {} undecided.",
            all.len(),
            match open {
                1 => "is",
                _ => "are",
            }
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
        "{} depend{} on {}: the ratio to the {} with {}{within} is {} times that with \
         {}{within} ({}).",
        naming::capital(&interaction.level.with_noun()),
        if matches!(interaction.level, Level::PageSize(_)) {
            ""
        } else {
            "s"
        },
        naming::varying(findings, naming::factor(&interaction.at)),
        naming::reference_word(findings),
        interaction.at.with_noun(),
        two_decimals(interaction.ratio.estimate),
        interaction.against.with_noun(),
        ends(&interaction.ratio, two_decimals),
    )
}

/// A ratio with two decimals; with three where two would say 1.
fn two_decimals(value: f64) -> String {
    if value.is_finite() && value.abs() < 9.995 && (value - 1.0).abs() >= 0.005 {
        format!("{value:.2}")
    } else {
        ratio(value)
    }
}

/// What an interaction's decision says of the ratio.
pub(crate) fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Better => "larger",
        Decision::Worse => "smaller",
        Decision::Equivalent => "the same",
        Decision::Open => "undecided",
    }
}

/// `8 MiB of memory against 32 MiB of memory`.
pub(crate) fn contrast(at: &Level, against: &Level) -> String {
    format!("{} against {}", at.with_noun(), against.with_noun())
}
