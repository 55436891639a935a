//! How the figures came about and what they do not claim.

use octavo_driver::steady;
use octavo_experiment::{
    findings::Findings, plan::Factor, race::FINALS_MAX, statistics::bootstrap::BOOTSTRAP_MIN,
};

use crate::{naming, number::percent};

/// The method, a paragraph each.
pub(crate) fn method(findings: &Findings) -> Vec<String> {
    let mut paragraphs = if naming::is_race(findings) {
        of_race(findings)
    } else {
        of_full_factorial(findings)
    };
    let margin = percent(findings.plan.margin);
    paragraphs.push(format!(
        "How to read the decisions: faster and slower have an interval wholly above or below 1. \
         No difference has one wholly within {margin} of 1. Undecided is neither and needs more \
         rounds. Keeping the {} is an answer: nothing gains more than {margin}.",
        naming::reference_word(findings)
    ));
    paragraphs.push(format!(
        "A run counts when it is steady. MSER-5 finds the end of its warm-up in throughput and in \
         the cache's miss rate, and the later of the two holds. The rest must not rise, fall or \
         jump by more than {} of its mean ({} after a cut warm-up). Other runs are left out, with \
         the reason. A run that rises and falls periodically counts. docs/steady-state.md has the \
         rules and their sources.",
        percent(steady::MATTERS),
        percent(steady::WARMING_MATTERS)
    ));
    paragraphs.push(not_claimed(findings));
    paragraphs.push(
        "Latencies start at submission in a closed loop. When the database stalls, clients wait \
         and do not queue, so percentiles are lower than with a fixed arrival rate."
            .into(),
    );
    if !findings.buffers.is_empty() {
        paragraphs.push(
            "The memory at which a page size equals the default is interpolated between measured \
             sizes and has no interval."
                .into(),
        );
    }
    paragraphs.push(
        "Page sizes, KiB, MiB and GiB are powers of two. MB/s are 10⁶ bytes per second.".into(),
    );
    paragraphs
}

/// What a cell is.
fn cells(findings: &Findings) -> String {
    let plan = &findings.plan;
    let mut factors: Vec<Factor> = plan.varied();
    factors.push(plan.compare);
    let nouns: Vec<&str> = factors.into_iter().map(Factor::noun).collect();
    match nouns.as_slice() {
        [one] => format!("Each value of {one} is a cell."),
        [most @ .., last] => format!(
            "Each combination of {} and {last} is a cell. Cells that differ only in {last} form a \
             group.",
            most.join(", "),
        ),
        [] => String::new(),
    }
}

/// What both designs have in common.
const RUNS: &str = "Each run starts on a fresh copy of the same rows, with the same inputs for all \
    cells of the round. The run is the unit: seconds within a run are never counted as samples.";

fn of_race(findings: &Findings) -> Vec<String> {
    let margin = percent(findings.plan.margin);
    let reference = naming::reference_word(findings);
    let error = percent(0.05 / 2.0);
    vec![
        format!(
            "{} A round runs every undecided cell once, in an order shuffled by the seed (two \
             cells alternate). {RUNS}",
            cells(findings)
        ),
        format!(
            "A cell is compared with the {reference} of its group by the logarithm of the ratio \
             of their throughputs within each round. This removes what the whole round had in \
             common, such as a machine that was slow for a while. Looks are planned at 3, 4, 5, 6, \
             8, 10, 13 rounds and so on. The error of 5% is spent over all looks and all \
             comparisons of a group: the intervals are repeated confidence intervals, valid at \
             every look. Before the first look there is none."
        ),
        format!(
            "A cell stops when its interval lies wholly below 1 (slower) or wholly within \
             {margin} of 1 (no difference, two one-sided tests), or when it cannot beat the \
             leader by more than the margin. Laxer intervals find the leader and prove nothing. \
             The leader, the runner-up and the {reference} then run a final in fresh rounds, \
             whose number is fixed beforehand, in the order A B B A, so that drift of the machine \
             cancels. The final is looked at once, and the figure in the answer comes from it \
             alone, free of selection bias. A leader that its finals do not confirm stops."
        ),
        format!(
            "A group has at most {FINALS_MAX} finals, each of which names a wrong winner with a \
             probability of at most {error}. Where there is no difference, at most {FINALS_MAX} x \
             {error} of races name a winner. docs/verdicts.md has the rules and their simulations."
        ),
    ]
}

fn of_full_factorial(findings: &Findings) -> Vec<String> {
    let plan = &findings.plan;
    let comparisons = plan.count(plan.compare).saturating_sub(1);
    vec![
        format!(
            "{} A round runs every cell once, in a seeded random order. {RUNS}",
            cells(findings)
        ),
        format!(
            "A cell is compared with the {} of its group by the logarithm of the ratio of their \
             throughputs within each round. This removes what the whole round had in common, such \
             as a machine that was slow for a while. The interval is Student's t over these \
             logarithms, from {BOOTSTRAP_MIN} rounds on widened by the bootstrap-t, at 95% for \
             all {comparisons} comparisons of a group and all looks together ({} so far, \
             Bonferroni). One round gives no interval. A winner's figure is the one that selected \
             it, so it is slightly too good. A race measures it again.",
            naming::reference_word(findings),
            findings.looks
        ),
    ]
}

fn not_claimed(findings: &Findings) -> String {
    let tpcc = naming::rate_in_short(findings) == "NOPM";
    let workload = if tpcc {
        "the workload follows TPC-C's transactions and data, but it is not audited, terminals \
         neither key nor think, and the data is small. NOPM must not be compared with published \
         tpmC."
    } else {
        "clients do not think, and the data is small, so throughput must not be compared with \
         published figures."
    };
    format!(
        "Limits: {workload} Results hold only for this machine, storage, mix and these sizes. \
         Other mixes, above all range scans, can reverse them."
    )
}
