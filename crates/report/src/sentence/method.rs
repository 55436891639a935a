//! How the figures came about and what they do not claim.

use octavo_experiment::{
    findings::Findings, plan::Factor, race::FINALS_MAX, statistics::bootstrap::BOOTSTRAP_MIN,
    steady,
};

use crate::{naming, number::percent};

/// The method, a paragraph each.
pub(crate) fn method(findings: &Findings) -> Vec<String> {
    let mut paragraphs = if naming::is_race(findings) {
        of_race(findings)
    } else {
        of_full_factorial(findings)
    };
    paragraphs.push(format!(
        "A run counts when it was steady. Its warm-up ends where MSER-5 on throughput and on the \
         buffer's miss ratio says, the later of the two; what is left must neither rise nor fall \
         nor jump by more than {} of its mean ({} where a warm-up was cut off). A run that does is \
         left out with its reason and never made to give a figure; one that rises and falls \
         periodically counts. docs/steady-state.md has the rules with their sources.",
        percent(steady::MATTERS),
        percent(steady::WARMING_MATTERS)
    ));
    paragraphs.push(not_claimed(findings));
    paragraphs.push(
        "Latencies count from submission in a closed loop: when the database stalls, clients wait \
         instead of queueing, so percentiles are kinder than under a fixed rate of arrivals."
            .into(),
    );
    if !findings.buffers.is_empty() {
        paragraphs.push(
            "The memory at which a page size equals the default is read off a line between \
             measured sizes and has no interval."
                .into(),
        );
    }
    paragraphs
}

/// What a cell is and what a round runs.
fn cells(findings: &Findings) -> String {
    let plan = &findings.plan;
    let mut factors: Vec<Factor> = plan.varied();
    factors.push(plan.compare);
    let nouns: Vec<&str> = factors.into_iter().map(Factor::noun).collect();
    match nouns.as_slice() {
        [one] => format!("Each value of {one} is a cell."),
        [most @ .., last] => format!(
            "Each combination of {} and {last} is a cell; cells that differ in {} alone are a \
             group.",
            most.join(", "),
            plan.compare.noun()
        ),
        [] => String::new(),
    }
}

fn of_race(findings: &Findings) -> Vec<String> {
    let margin = percent(findings.plan.margin);
    let reference = naming::reference_word(findings);
    let error = percent(0.05 / 2.0);
    vec![
        format!(
            "{} A round runs every cell that is still in the race once, in an \
             order shuffled by the seed (two cells alone take turns at being first), each run on a fresh copy of the same rows, with the same inputs for all cells of the \
             round. The run is the unit: seconds within a run are diagnostics and never counted.",
            cells(findings)
        ),
        format!(
            "A cell is compared with the {reference} of its group by the logarithm of the ratio of \
             their throughputs within each round, which removes what the whole round had in \
             common, such as a machine that was slow for a while. Looking often finds differences \
             where there are none, so the looks are planned, at 3, 4, 5, 6, 8, 10, 13 rounds and \
             so on, and an error of 5 % is spent over all of them and over all comparisons of a \
             group together: the intervals are repeated confidence intervals, which hold at every \
             look at once. Before the first look there is none."
        ),
        format!(
            "A cell leaves the race when its interval lies wholly below 1 (worse), or wholly \
             within {margin} of 1 (no difference; two one-sided tests), or when it cannot be \
             better than the leader by more than the margin. Who leads is found by laxer intervals \
             and proves nothing: the leader, the runner-up and the {reference} then run a final on \
             fresh rounds, whose number is fixed beforehand, there and back again (A B B A), so \
             that a drift of the machine cancels. The final is looked at once, and the figure in \
             the answer comes from it alone: having been picked as the best does not flatter it. \
             A leader that its finals do not confirm leaves."
        ),
        format!(
            "A group has at most {FINALS_MAX} finals, each of which calls a winner wrongly with at \
             most {error}. So where there is no difference at all, at most {FINALS_MAX} x {error} \
             of races call a winner. docs/verdicts.md has the rules and the simulations that they \
             were tried on."
        ),
        reading(findings),
    ]
}

fn of_full_factorial(findings: &Findings) -> Vec<String> {
    let plan = &findings.plan;
    let comparisons = plan.count(plan.compare).saturating_sub(1);
    vec![
        format!(
            "{} A round runs every cell once, in a seeded random order, each run on a fresh copy \
             of the same rows, with the same inputs for all cells of the round. The run is the \
             unit: seconds within a run are diagnostics and never counted.",
            cells(findings)
        ),
        format!(
            "A cell is compared with the {} of its group by the logarithm of the ratio of their \
             throughputs within each round, which removes what the whole round had in common, such \
             as a machine that was slow for a while. The interval is Student's t over these \
             logarithms, from {BOOTSTRAP_MIN} rounds on stretched by the bootstrap-t over rounds, at \
             95 % for all {comparisons} comparisons of a group together, in this look at the experiment and \
             every earlier one ({} in all; Bonferroni). From one round there is no interval. The \
             figure of a winner is the one by which it was picked, and so is somewhat too good: a \
             race measures it again.",
            naming::reference_word(findings),
            findings.looks
        ),
        reading(findings),
    ]
}

fn reading(findings: &Findings) -> String {
    let margin = percent(findings.plan.margin);
    format!(
        "How to read the verdict: \"better\" and \"worse\" have an interval wholly above or below \
         1; \"no difference\" (equivalent) has one wholly within {margin} of 1; \"open\" is \
         neither, and more rounds are needed. To keep the {} is an answer: nothing gains more than \
         {margin}.",
        naming::reference_word(findings)
    )
}

fn not_claimed(findings: &Findings) -> String {
    let tpcc = naming::rate_in_short(findings) == "NOPM";
    let workload = if tpcc {
        "the workload follows TPC-C's transactions and data, but nothing is audited, terminals \
         neither key nor think, and the data is small. So throughput is called new orders a minute \
         (NOPM) and must not be compared with published tpmC."
    } else {
        "clients neither think nor wait, and the data is small, so throughput must not be compared \
         with what others published."
    };
    format!(
        "What is not claimed: {workload} The answer holds for this machine, this storage, this mix \
         and these sizes; other mixes, range scans above all, can reverse it."
    )
}
