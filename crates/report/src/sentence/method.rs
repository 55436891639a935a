//! How figures were measured, and what they do not claim.

use octavo_experiment::{
    confidence::MEDIUM_STAKE,
    findings::{CellFindings, ClassFindings, Findings},
    plan::{Design, Factor},
    record::Source,
};

use super::{place, settle::named};
use crate::{naming, number::percent, parts};

/// What latencies are, and sizes.
const UNITS: &str =
    "Page sizes, KiB, MiB and GiB are powers of two. MB/s are 10⁶ bytes per second.";

/// What latencies are where nothing has a time of its own.
const CLOSED: &str = "Latencies start at submission. When the database stalls, clients wait and do not queue, \
    so percentiles are lower than with a fixed arrival rate.";

/// What is compared where transactions have times of their own.
const PACED: &str = "Transactions were sent when they were due, so all cells had the throughput of the \
    recording, and response times are compared: each from when its transaction was due to its end, \
    without what its session waited in it as recorded. Ratios are of \
    transactions over the sum of their response times: 2x is half the mean response time. Between slices the clock of a cell stands still; a session that is late \
    at a slice's end is as late when the next one begins.";

/// The method, a paragraph each.
pub(crate) fn method(findings: &Findings) -> Vec<String> {
    if findings.plan.ramp.is_some() {
        return of_ramps(findings);
    }
    let is_predicted = findings.source == Source::Predicted;
    let mut paragraphs = Vec::new();
    if is_predicted {
        let what = match findings.plan.own {
            Some(_) => REPLAYED,
            None => PLACED,
        };
        paragraphs.push(format!("{what} {PREDICTED}"));
    }
    paragraphs.extend([
        turns(findings, is_predicted),
        beginning(findings).into(),
        batches(findings),
        match is_predicted {
            true => "No pass is left out: nothing but the model makes one slow.".into(),
            false => passes_left_out(findings),
        },
        ratios(findings),
        words_of_ratios(findings),
        confidence(findings),
        not_claimed(findings),
        match findings.plan.pace() {
            Some(_) => PACED.into(),
            None => format!("{CLOSED} {UNITS}"),
        },
    ]);
    paragraphs
}

/// Where the pages of a prediction come from.
const PLACED: &str = "Nothing was measured: rows are placed on pages as the database would, and the same \
    transactions as a measurement's refer to them.";

/// Likewise of the user's own statements.
const REPLAYED: &str = "No throughput was measured: your statements ran on a copy with each page size, \
    where Octavo recorded which pages they refer to and how long the processor took, and the model \
    replays these references.";

/// How a prediction comes about, and what its intervals hold.
const PREDICTED: &str = "The database's cache, log and checkpoints \
    decide what a model of the storage is asked, in virtual time. What follows says how \
    such slices are compared; they come about as measured ones do. Their intervals are \
    wider by what is not known of the processor's time and the storage, not by how far \
    models may be off: of 48 ratios that were measured and predicted from calibrated \
    storage, 44 were within them. \
    docs/predictions.md has the models and how far they are from measurements.";

/// How cells take turns.
fn turns(findings: &Findings, is_predicted: bool) -> String {
    let slice = match findings.slice_transactions {
        Some(count) => format!("the next {count} transactions"),
        None => "the next transactions".into(),
    };
    format!(
        "{} {} execute the same transactions in turn{}. A slice is {slice} of one cell. A pass \
         is one slice of every open cell, in balanced order.{}",
        cells(findings),
        match (is_predicted, findings.groups.len()) {
            (true, 0 | 1) => "All cells",
            (true, _) => "The cells of a group",
            (false, 0 | 1) => "All cells stay open and",
            (false, _) => {
                "Groups are open together as far as memory and disk have room. The cells of \
                 a group stay open and"
            }
        },
        match findings.plan.clients.iter().any(|clients| *clients > 1) {
            true => {
                " (each client its own; how many each gets of them follows from how long \
                 others take)"
            }
            false => "",
        },
        match is_predicted {
            true => "",
            false => " So what is open meets the same machine at nearly the same time.",
        }
    )
}

/// What a sitting, or a predicted cell, begins with.
fn beginning(findings: &Findings) -> &'static str {
    match findings.source {
        Source::Measured if !findings.warmed => {
            "A sitting begins with fresh copies of the same rows, all made the same way. The \
             budget left no time for warm-ups. Several sittings show what placement and \
             start-up are worth."
        }
        Source::Measured => {
            "A sitting begins with fresh copies of the same rows, all made the same way, and \
             a warm-up until cache misses are level, or twice as long as the cache took to \
             fill, unless --warm-up says how long. It takes a quarter of what is left of a budget \
             at most. \
             Several sittings show what placement and \
             start-up are worth."
        }
        Source::Predicted => {
            "A cell begins with the rows as they were loaded, and a warm-up until its cache \
             was full for as long as filling took, or hardly misses, and misses fall no more, \
             unless --warm-up says how long. Where that takes more than 100 million page references, there is no answer."
        }
    }
}

/// The class that figures are of, where they are over its hosts.
fn over_hosts(findings: &Findings) -> Option<&ClassFindings> {
    let classes = findings.fleet.iter().flat_map(|fleet| &fleet.classes);
    classes.take(1).find(|class| class.is_over_hosts)
}

/// What a batch is, and the throughput that follows from batches.
fn batches(findings: &Findings) -> String {
    let reference = naming::reference_word(findings);
    let (unit, throughput) = match over_hosts(findings) {
        Some(_) => (
            "of which the ratios of a sitting are made",
            "geometric mean of hosts, with Student's t over them: that of a cell is the reference's times its \
             ratio. Each host weighs the same, whatever it did in its sittings",
        ),
        None => (
            "the unit of statistics",
            "geometric mean of batches, so that cells stand to each other as in the same minutes. Where \
             the machine changes its pace, it differs from transactions divided by time",
        ),
    };
    format!(
        "Four or more passes of a sitting form a batch, {unit}; a sitting of \
         fewer is one. Seconds are never counted as samples. A throughput is the {throughput}.{}{}",
        match naming::cells(findings).any(|cell| cell.left.is_some() && cell.ratio.is_some()) {
            true => format!(
                " A cell that was decided keeps its ratio of that moment, and its throughput \
                 is that of the {reference} times this ratio."
            ),
            false => String::new(),
        },
        match naming::times_checkpoints(findings) {
            true => {
                " The time of checkpoints is spread over the bytes of the log, so that a batch \
                 with one more does not look slower."
            }
            false => "",
        }
    )
}

/// Which measured passes do not count.
fn passes_left_out(findings: &Findings) -> String {
    format!(
        "{}A pass is left out when it takes more than 1.5 times as long as its work does{}, else \
         when other programs move more than 1.25 times as many bytes of the disk as usual in that time \
         and 1 MiB a second more. Its work is what is usual, and what it did beyond that on processors, \
         reads and the log. What is usual is the sum of its cells' medians in the passes around it. The rule \
         was fixed beforehand and does not know who leads.",
        match findings.groups.iter().any(|group| group.young.is_some()) {
            true => {
                "Where a ratio moves while copies grow older, passes before half of the longest sitting do \
                 not count for its group: looks at the ratio itself decide that. "
            }
            false => "",
        },
        match naming::times_checkpoints(findings) {
            true => ", checkpoints aside",
            false => "",
        }
    )
}

/// What a ratio compares, and how sure it is.
fn ratios(findings: &Findings) -> String {
    if let Some(class) = over_hosts(findings) {
        return format!(
            "A ratio compares a cell with the {} of its group within batches, and each of {} is one \
             figure. Its interval is Student's t over these, and holds at 95% for all cells of the group \
             at one look. Who looks again after each host, and stops when it is decided, is wrong more \
             often: decide beforehand how many hosts there are to be.",
            naming::reference_word(findings),
            parts::compared_hosts(class),
        );
    }
    format!(
        "A ratio compares a cell with the {} of its group within batches. Its interval \
         holds at 95% for all cells of the group and all looks together. Check any time: the \
         error rate stays at 5%. {}",
        naming::reference_word(findings),
        match findings.plan.design {
            Design::Race if naming::cells(findings).any(place::is_out) => {
                "Cells that are decided are dropped: out after so much time of measuring all \
                 cells, without copies and warm-ups. One that the answer stands on is measured until \
                 its ratio is level."
            }
            Design::Race => {
                "Cells that are decided are dropped. One that the answer stands on is measured until \
                 its ratio is level."
            }
            Design::Full => "Cells that are decided go on to the end.",
        }
    )
}

/// When a ratio is called faster, slower, no difference or likely.
fn words_of_ratios(findings: &Findings) -> String {
    let margin = percent(findings.plan.margin);
    format!(
        "No difference has an interval wholly within {margin} of 1. Else, faster and slower have \
         one wholly above or below 1. Likely means that the interval is open, and would not be \
         for this cell and one look alone. docs/verdicts.md has the rules, their sources and simulations."
    )
}

/// That these figures are of all passes, where some were left out of others: which, in the
/// plural. Cells that were decided early have theirs of fewer passes.
pub(crate) fn all_passes(findings: &Findings, figures: &str) -> Option<String> {
    passes_of(findings, figures, "their figures are of other minutes")
}

/// The same of counts beside the parts of a transaction's time, which add up to what its
/// throughput says.
pub(crate) fn all_passes_but_time(findings: &Findings) -> Option<String> {
    let early = "counts are of other minutes, and times are scaled to those of all";
    passes_of(findings, "Figures per transaction", early)
}

fn passes_of(findings: &Findings, figures: &str, early: &str) -> Option<String> {
    // Passes are left out of all cells, and after its decision of one.
    let has_more =
        |cell: &CellFindings| cell.throughput.is_some() && cell.passes > cell.passes_counted;
    let all = naming::cells(findings).any(has_more).then(|| {
        format!(
            "{figures} are of all passes that a cell took part in, with those that throughput and \
             times leave out."
        )
    });
    let few = named(findings, |cell| {
        cell.throughput.is_some() && cell.passes < findings.passes
    });
    let early = (!few.is_empty()).then(|| format!("{few} took part in fewer: {early}."));
    let said: Vec<String> = all.into_iter().chain(early).collect();
    (!said.is_empty()).then(|| said.join(" "))
}

/// Whether a cell was dropped while others were measured on, so that its figures are of
/// other minutes than theirs.
pub(crate) fn left_early(cell: &CellFindings) -> bool {
    cell.throughput.is_some() && cell.passes_missed > 0
}

/// What the levels of confidence are.
fn confidence(findings: &Findings) -> String {
    let (margin, medium) = (findings.plan.margin, MEDIUM_STAKE.max(findings.plan.margin));
    let (margin, medium) = (percent(margin), percent(medium));
    match findings.source {
        Source::Predicted => {
            "Confidence says what you risk by following the answer: of a prediction as much as \
             models are off, which intervals do not show (docs/verdicts.md)."
                .into()
        }
        Source::Measured => format!(
            "Confidence says what you risk by following the answer. High: at most {margin}. \
             Medium: at most {medium}, or that the gain is not as large as said. Low: more, or \
             nobody knows how much, since figures are missing or a warning may change the \
             answer (docs/verdicts.md)."
        ),
    }
}

/// The same of cells that are ramps.
fn of_ramps(findings: &Findings) -> Vec<String> {
    vec![
        "Each cell runs by itself, one after the other in a drawn order, on a fresh copy of the \
         rows and a database that keeps running. Clients begin with their step and stay. All \
         cells are given the same inputs. The warm-up has the clients of the first step: at \
         least a step long, until the cache is full, at most as long as all steps."
            .into(),
        "The first tenth of each step does not count. How far up to ten batches of each step \
         scatter, all steps together, gives the error of each. Steps follow each other on data \
         that grows, so a later one meets more of it than an earlier one."
            .into(),
        "The knee is the peak of the universal scalability law (Gunther 2007) that fits the \
         steps by least squares. Its interval and those of contention and coherence hold at 95% \
         as far as steps scatter. docs/bench.md has the rules."
            .into(),
        "Cells run at different times, so what changed on the machine between them is part of \
         how they differ. To compare cells, give numbers of clients in [cells] instead."
            .into(),
        not_claimed(findings),
        UNITS.into(),
    ]
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

fn not_claimed(findings: &Findings) -> String {
    // A prediction's may be as large as any.
    let small = match findings.source {
        Source::Predicted => "",
        Source::Measured if findings.plan.own.is_some() => "",
        Source::Measured => ", and the data is small",
    };
    let workload = match naming::has_nopm(findings) {
        true => format!(
            "the workload follows TPC-C's transactions and data, but it is not audited: terminals \
             neither key nor think{small}. NOPM must not be compared with published tpmC."
        ),
        false if findings.plan.pace().is_some() => "response times are those at the pace of the \
            recording, with the sessions that it has."
            .to_owned(),
        false => format!(
            "clients do not think{small}, so throughput must not be compared with published \
             figures."
        ),
    };
    let machine = match findings.source {
        Source::Predicted => "",
        Source::Measured if findings.is_over_hosts() => "class of hosts, their ",
        Source::Measured => "machine, ",
    };
    format!(
        "Limits: {workload} Results hold only for this {machine}storage, mix and these sizes. \
         Other mixes, above all range scans, can reverse them."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn what_did_not_happen_is_not_explained() {
        let mut findings = fixture::findings();
        let has = |findings: &Findings, words: &str| method(findings).join(" ").contains(words);
        let words = [
            "checkpoints aside",
            "bytes of the log",
            "out after",
            "keeps its ratio",
        ];
        assert!(words.iter().all(|words| has(&findings, words)));
        for cell in findings.groups.iter_mut().flat_map(|of| &mut of.cells) {
            cell.left = None;
            if let Some(time) = &mut cell.time {
                time.checkpoint_us = None;
            }
        }
        assert!(!words.iter().any(|words| has(&findings, words)));
    }
}
