//! Two stores beside each other: the same cells on two machines, two versions
//! or two days.

use std::collections::BTreeSet;

use octavo_units::{ByteCount, PageSize};
use octavo_workload::{
    DataSpec, WorkloadName,
    user::{OwnScript, Pace},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    findings::{CellFindings, Findings},
    plan::{Cell, Plan, Storage},
    record::Source,
    statistics::{Decision, Interval, decision},
    verdict::Verdict,
};

/// What two stores say of the same cells.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Comparison {
    /// How the figures of the first and of the second came about.
    pub sources: [Source; 2],
    /// Cells that both have runs of.
    pub cells: Vec<CellComparison>,
    /// Cells of the first that the second has no runs of.
    pub only_first: Vec<String>,
    /// Cells of the second that the first has no runs of.
    pub only_second: Vec<String>,
    /// Cells of either that have no figures in the one nor in the other.
    pub neither: Vec<String>,
    /// Whether both are of one experiment: a store and itself, or what it was when less had been
    /// measured.
    pub is_same_experiment: bool,
    /// What was not the same: name, value in the first and in the second,
    /// empty where it is not known.
    pub differences: Vec<Difference>,
    /// Groups of cells that both judged, with what each found.
    pub verdicts: Vec<(String, Verdict, Verdict)>,
    /// Ratios within this share of 1 make no difference: the first's margin.
    pub margin: f64,
    /// Whether cells have mean response times in milliseconds rather than throughputs: both stores
    /// are of statements at the pace at which they were recorded.
    pub in_response_ms: bool,
}

/// A condition that was not the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// The condition.
    pub name: String,
    /// Its value in the first store.
    pub first: String,
    /// Its value in the second.
    pub second: String,
}

/// A cell that both have.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CellComparison {
    /// The cell in words.
    pub name: String,
    /// Throughput a minute in the first store, or its mean response time
    /// ([`Comparison::in_response_ms`]), with an interval of its own.
    pub first: Interval,
    /// … and in the second.
    pub second: Interval,
    /// The second's throughput over the first's, or the first's response time over the second's, 95% for all cells together
    /// (Bonferroni), as wide as both throughputs make it. They share no time, so
    /// what changed on the machine between them is part of the ratio.
    pub ratio: Interval,
    /// What the interval says of the second.
    pub decision: Decision,
}

/// What makes two cells of different plans the same.
#[derive(PartialEq)]
struct Identity {
    workload: WorkloadName,
    mix: Option<String>,
    distribution: Option<String>,
    /// Throughput is another figure at a recording's pace.
    pace: Option<Pace>,
    /// Its database, with the options; versions may differ.
    database: String,
    /// Where a plan has several storages; one alone is whatever it is.
    storage: Option<Storage>,
    levels: (DataSpec, PageSize, ByteCount, Option<u32>, u32, u32),
}

impl Identity {
    fn of_cell(plan: &Plan, cell: &Cell) -> Self {
        Self {
            workload: plan.workload,
            mix: plan.mix.clone(),
            distribution: plan.distribution.clone(),
            pace: plan.pace(),
            database: cell.database.to_string(),
            storage: (plan.storages.len() > 1).then(|| cell.storage.clone()),
            levels: (
                cell.data,
                cell.page_size,
                cell.memory,
                cell.cpus,
                cell.clients,
                cell.copy,
            ),
        }
    }
}

/// Compares two stores' findings.
pub fn compare(first: &Findings, second: &Findings) -> Comparison {
    let measured = |findings: &Findings| -> Vec<(Identity, String, CellFindings)> {
        findings
            .groups
            .iter()
            .flat_map(|group| &group.cells)
            .filter(|cell| cell.throughput.is_some())
            .map(|found| {
                let plan = &findings.plan;
                (
                    Identity::of_cell(plan, &found.cell),
                    plan.cell_name(&found.cell),
                    found.clone(),
                )
            })
            .collect()
    };
    let (ours, theirs) = (measured(first), measured(second));
    let pairs: Vec<(&String, &CellFindings, &CellFindings)> = ours
        .iter()
        .filter_map(|(identity, name, cell)| {
            let (_, _, other) = theirs.iter().find(|(other, _, _)| other == identity)?;
            Some((name, cell, other))
        })
        .collect();
    let alone = |of: &[(Identity, String, CellFindings)],
                 others: &[(Identity, String, CellFindings)]| {
        of.iter()
            .filter(|(identity, _, _)| others.iter().all(|(other, _, _)| other != identity))
            .map(|(_, name, _)| name.clone())
            .collect()
    };
    let silent = [(first, &theirs), (second, &ours)];
    let silent = silent.into_iter().flat_map(|(findings, others)| {
        let cells = findings.groups.iter().flat_map(|group| &group.cells);
        let silent = cells.filter(|cell| cell.throughput.is_none());
        silent.filter_map(|cell| {
            let identity = Identity::of_cell(&findings.plan, &cell.cell);
            let is_other = |(other, _, _): &(Identity, String, CellFindings)| *other == identity;
            (!others.iter().any(is_other)).then(|| (identity, findings.plan.cell_name(&cell.cell)))
        })
    });
    let mut neither: Vec<(Identity, String)> = Vec::new();
    for (identity, name) in silent {
        if neither.iter().all(|(known, _)| *known != identity) {
            neither.push((identity, name));
        }
    }
    let margin = first.plan.margin;
    // Cells at a pace are like no others.
    let in_response_ms = first.plan.pace().is_some() && second.plan.pace().is_some();
    Comparison {
        sources: [first.source, second.source],
        cells: pairs
            .iter()
            .filter_map(|(name, cell, other)| {
                let (first, second) = match in_response_ms {
                    true => (cell.mean_response_ms?, other.mean_response_ms?),
                    false => (cell.throughput?, other.throughput?),
                };
                let ratio = match in_response_ms {
                    true => first.over(&second),
                    false => second.over(&first),
                };
                let ratio = ratio.one_of(pairs.len());
                Some(CellComparison {
                    name: (*name).clone(),
                    first,
                    second,
                    ratio,
                    decision: decision(&ratio, margin),
                })
            })
            .collect(),
        only_first: alone(&ours, &theirs),
        only_second: alone(&theirs, &ours),
        neither: neither.into_iter().map(|(_, name)| name).collect(),
        // Merged stores have the begin of their earliest part, and may share that one alone.
        is_same_experiment: (&first.created, &first.plan) == (&second.created, &second.plan)
            && parts(first) == parts(second),
        differences: differences(first, second),
        verdicts: verdicts(first, second),
        margin,
        in_response_ms,
    }
}

/// The parts that were carried out on each host, by its name.
fn parts(findings: &Findings) -> Vec<(&str, &[u32])> {
    let fleet = findings.fleet.iter();
    let hosts = fleet
        .flat_map(|fleet| &fleet.classes)
        .flat_map(|class| &class.hosts);
    hosts
        .map(|of| (of.host.name.as_str(), &*of.parts))
        .collect()
}

/// The groups of which both have a cell in common, with their verdicts.
fn verdicts(first: &Findings, second: &Findings) -> Vec<(String, Verdict, Verdict)> {
    if first.plan.compare != second.plan.compare {
        return Vec::new();
    }
    first
        .groups
        .iter()
        .filter_map(|group| {
            let identities: Vec<Identity> = group
                .cells
                .iter()
                .map(|cell| Identity::of_cell(&first.plan, &cell.cell))
                .collect();
            let other = second.groups.iter().find(|other| {
                other
                    .cells
                    .iter()
                    .any(|cell| identities.contains(&Identity::of_cell(&second.plan, &cell.cell)))
            })?;
            Some((
                group.name.clone(),
                group.verdict.clone(),
                other.verdict.clone(),
            ))
        })
        .collect()
}

fn listed<T: ToString>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(T::to_string).collect();
    items.join(", ")
}

/// How large the loaded copies are; empty where nothing was loaded.
fn data(findings: &Findings) -> String {
    let sizes = || findings.snapshots.iter().map(|of| of.size);
    match (sizes().min(), sizes().max()) {
        (Some(least), Some(most)) => least.up_to(most),
        _ => String::new(),
    }
}

/// The user's own statements, where it has any.
fn statements(plan: &Plan) -> String {
    let Some(own) = &plan.own else {
        return String::new();
    };
    let named = |script: &OwnScript| format!("{} ({:08x})", script.name, script.fingerprint);
    match (&own.recording, &own.digests) {
        (Some(recording), _) => {
            let pace = recording.pace.map(|pace| format!(", at {pace}"));
            let files = recording.files.join(", ");
            format!("recorded in {files}{}", pace.unwrap_or_default())
        }
        (None, Some(digests)) => format!("{} digests of the server", digests.digests),
        (None, None) => own.scripts.iter().map(named).collect::<Vec<_>>().join(", "),
    }
}

/// The conditions that are not the same, in the order of the first's.
fn differences(first: &Findings, second: &Findings) -> Vec<Difference> {
    let facts = |findings: &Findings| -> Vec<(String, String)> {
        let plan = &findings.plan;
        let versions: BTreeSet<String> = plan
            .databases
            .iter()
            .map(|database| format!("{} {}", database.name, database.version))
            .collect();
        let mut facts = vec![
            ("octavo".to_owned(), findings.octavo.clone()),
            (
                "databases".to_owned(),
                versions.into_iter().collect::<Vec<_>>().join(", "),
            ),
            ("workload".to_owned(), plan.workload.title().to_owned()),
            ("mix".to_owned(), plan.mix.clone().unwrap_or_default()),
            (
                "keys".to_owned(),
                plan.distribution.clone().unwrap_or_default(),
            ),
            ("statements".to_owned(), statements(plan)),
            (
                "isolation".to_owned(),
                plan.isolation.map_or_else(String::new, |of| of.to_string()),
            ),
            ("rows".to_owned(), listed(&plan.data)),
            ("data".to_owned(), data(findings)),
            ("storage".to_owned(), listed(&plan.storages)),
            ("page sizes".to_owned(), listed(&plan.page_sizes)),
            ("memory".to_owned(), listed(&plan.memories)),
            ("clients".to_owned(), listed(&plan.clients)),
            ("seed".to_owned(), plan.seed.to_string()),
            (
                "warm-up".to_owned(),
                findings.warm_up.clone().unwrap_or_default(),
            ),
            (
                "transactions a slice".to_owned(),
                findings
                    .slice_transactions
                    .map_or_else(String::new, |count| count.to_string()),
            ),
        ];
        for (topic, of_topic) in [
            ("machine", &findings.machine),
            ("storage", &findings.storage),
            ("database", &findings.database),
        ] {
            facts.extend(
                of_topic
                    .iter()
                    .map(|(name, value)| (format!("{topic}: {name}"), value.clone())),
            );
        }
        facts
    };
    let (ours, theirs) = (facts(first), facts(second));
    let value = |facts: &[(String, String)], name: &str| {
        facts
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, value)| value.clone())
            .unwrap_or_default()
    };
    let only_theirs = theirs
        .iter()
        .filter(|(name, _)| ours.iter().all(|(other, _)| other != name));
    ours.iter()
        .chain(only_theirs)
        .map(|(name, _)| Difference {
            name: name.clone(),
            first: value(&ours, name),
            second: value(&theirs, name),
        })
        .filter(|difference| difference.first != difference.second)
        .collect()
}
