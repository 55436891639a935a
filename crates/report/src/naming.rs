//! What the parts of a plan are called: groups, levels, the reference,
//! throughput. Sentences, tables and charts all take their names from here.

use octavo_experiment::{
    findings::{CellFindings, Findings, GroupFindings},
    plan::{Cell, Factor, Level, Plan, Storage, TestedDatabase},
};
use octavo_units::PageSize;
use octavo_workload::WorkloadName;

use octavo_experiment::statistics::Interval;

use crate::number::{distinct, list};

/// The directory that the experiment works in has no name of its own.
const WORKING_DIRECTORY: &str = "working directory";

/// The groups in the order in which they are shown: the plan's, but the
/// largest memory first where groups differ in nothing else.
pub(crate) fn groups(findings: &Findings) -> Vec<&GroupFindings> {
    let mut groups: Vec<&GroupFindings> = findings.groups.iter().collect();
    if findings.plan.varied() == [Factor::Memory] {
        groups.sort_by_key(|group| {
            std::cmp::Reverse(group.cells.first().map(|cell| cell.cell.memory))
        });
    }
    groups
}

/// The cells of all groups.
pub(crate) fn cells(findings: &Findings) -> impl Iterator<Item = &CellFindings> {
    findings.groups.iter().flat_map(|group| &group.cells)
}

/// Whether checkpoints were made whose time is known, so that it can be set aside.
pub(crate) fn times_checkpoints(findings: &Findings) -> bool {
    let mut times = cells(findings).filter_map(|cell| cell.time?.checkpoint_us);
    times.any(|checkpoint_us| checkpoint_us > 0.0)
}

/// What writing and flushing data files is called: without a checkpoint it is done at each commit.
pub(crate) fn of_data_files(findings: &Findings) -> &'static str {
    let is_counted = |cell: &CellFindings| cell.tail.is_some_and(|tail| tail.checkpoints.is_some());
    match times_checkpoints(findings) && !cells(findings).any(is_counted) {
        true => "data files",
        false => "checkpoint",
    }
}

/// The cell that the others of a group are compared with.
pub(crate) fn reference_cell(group: &GroupFindings) -> Option<&CellFindings> {
    group.cells.iter().find(|cell| cell.reference)
}

/// A group's name where it stands alone, as in headings and legends.
pub(crate) fn group(group: &GroupFindings) -> &str {
    if group.name.is_empty() {
        "all"
    } else {
        &group.name
    }
}

/// A group's name after a comma, with the comma; empty when there is one
/// group.
pub(crate) fn in_group(group: &GroupFindings) -> String {
    if group.name.is_empty() {
        String::new()
    } else {
        format!(", {}", group.name)
    }
}

/// What a sentence of one group begins with, where there are several.
pub(crate) fn with(group: &str, sentence: &str) -> String {
    if group.is_empty() {
        capital(sentence)
    } else {
        format!("With {group}: {sentence}")
    }
}

/// The level of a cell, alone: in a table's first column, at an axis.
pub(crate) fn cell(findings: &Findings, cell: &CellFindings) -> String {
    level_alone(&findings.plan, &cell.cell)
}

/// The level of a plan's cell, alone.
pub(crate) fn level_alone(plan: &Plan, cell: &Cell) -> String {
    match plan.level(cell, plan.compare) {
        Level::PageSize(size) => size.to_string(),
        Level::Storage(Storage::Own) => WORKING_DIRECTORY.into(),
        level => level.to_string(),
    }
}

/// A level in a sentence: page sizes alone, since there the sentence says what
/// they are, others with their noun.
pub(crate) fn level(level: &Level) -> String {
    match level {
        Level::PageSize(size) => size.to_string(),
        Level::MixedSizes(_) => "mixed".into(),
        other => other.with_noun(),
    }
}

/// Levels as a sentence lists them.
pub(crate) fn levels(levels: &[Level], last: &str) -> String {
    list(levels.iter().map(level), last)
}

/// The level of a cell among those that are compared.
pub(crate) fn own_level(findings: &Findings, cell: &CellFindings) -> Level {
    findings.plan.level(&cell.cell, findings.plan.compare)
}

/// The factor of a level.
pub(crate) fn factor(level: &Level) -> Factor {
    match level {
        Level::Database(_) => Factor::Database,
        Level::Rows(_) => Factor::Rows,
        Level::Storage(_) => Factor::Storage,
        Level::Cpus(_) => Factor::Cpus,
        Level::Clients(_) => Factor::Clients,
        Level::Memory(_) => Factor::Memory,
        Level::PageSize(_) | Level::MixedSizes(_) => Factor::PageSize,
        Level::Copy(_) => Factor::Copy,
    }
}

/// What is compared, over a table's first column.
pub(crate) fn column(findings: &Findings) -> &'static str {
    match findings.plan.compare {
        Factor::PageSize => "page",
        other => other.noun(),
    }
}

/// The levels that are compared, as labels of an axis.
pub(crate) fn places(findings: &Findings) -> Vec<String> {
    findings
        .groups
        .first()
        .map(|group| group.cells.iter().map(|of| cell(findings, of)).collect())
        .unwrap_or_default()
}

/// The level that the others of a group are compared with.
pub(crate) fn reference(findings: &Findings, group: &GroupFindings) -> Option<Level> {
    Some(own_level(findings, reference_cell(group)?))
}

/// The default page size, if that is a group's reference.
pub(crate) fn default_page_size(findings: &Findings, group: &GroupFindings) -> Option<PageSize> {
    let cell = &reference_cell(group)?.cell;
    (findings.plan.compare == Factor::PageSize && cell.page_size == cell.database.default_page_size)
        .then_some(cell.page_size)
}

/// What the page size is to the reader that others are compared with, before it.
fn usual(findings: &Findings) -> &'static str {
    match findings.plan.own {
        Some(_) => "your present",
        None => "the default",
    }
}

/// The same behind it.
pub(crate) fn as_usual(findings: &Findings) -> &'static str {
    match findings.plan.own {
        Some(_) => "your present size",
        None => "the default",
    }
}

/// The reference as the object of a sentence.
pub(crate) fn reference_in_full(findings: &Findings, group: &GroupFindings) -> String {
    match default_page_size(findings, group) {
        Some(size) => format!("{} {size}", usual(findings)),
        None => reference(findings, group)
            .map_or_else(|| "the reference".into(), |level| level.with_noun()),
    }
}

/// What people call a database: "SQLite".
pub(crate) fn database(of: &TestedDatabase) -> String {
    let kind = of.kind();
    kind.map_or_else(|_| of.name.clone(), |kind| kind.title.to_owned())
}

/// A database with its version, which may end with its name: "MariaDB 10.11.6" where that is
/// "10.11.6-MariaDB". A prediction needs no server, and there may be no version.
pub(crate) fn with_version(database: &str, version: &str) -> String {
    if version.is_empty() {
        return database.to_owned();
    }
    let plain = version.strip_suffix(database);
    let plain = plain.map_or(version, |plain| plain.trim_end_matches('-'));
    format!("{database} {plain}")
}

/// What people call a workload: "YCSB A" of `ycsb-a`. One that this version does not know
/// keeps its name.
pub(crate) fn workload(name: &str) -> String {
    let known: Result<WorkloadName, _> = name.parse();
    known.map_or_else(|_| name.to_owned(), |known| known.title().to_owned())
}

/// What the reference of all groups is called in headers and captions: their
/// page sizes are the defaults or the user's own, or not.
pub(crate) fn reference_word(findings: &Findings) -> &'static str {
    let defaults = findings
        .groups
        .iter()
        .all(|group| default_page_size(findings, group).is_some());
    match (defaults, &findings.plan.own) {
        (true, Some(_)) => "present",
        (true, None) => "default",
        (false, _) => "reference",
    }
}

/// The time in which counted transactions of a bench are told, and its seconds: TPC-E counts
/// by the second, and so does whoever counts all that runs.
pub(crate) fn counted_by(counted_name: &str, are_all_counted: bool) -> (&'static str, f64) {
    match are_all_counted || counted_name == "trade results" {
        true => ("second", 1.0),
        false => ("minute", 60.0),
    }
}

/// Whether new orders are counted.
pub(crate) fn has_nopm(findings: &Findings) -> bool {
    findings.counted_name == "new orders"
}

/// The unit of throughput in a sentence: "new orders per minute".
pub(crate) fn rate(findings: &Findings) -> String {
    format!("{} per minute", findings.counted_name)
}

/// What is shown of each cell: its throughput, or at a pace its mean response time.
pub(crate) struct Shown {
    /// What it is, at the beginning of a title: "Throughput".
    pub(crate) what: &'static str,
    /// What ratios are of, at the beginning of a title.
    pub(crate) compared: &'static str,
    /// Its unit in full: "new orders per minute (NOPM)".
    pub(crate) in_full: String,
    /// Its unit where there is little room: "orders/min".
    pub(crate) in_short: String,
    is_time: bool,
}

/// What findings show of each cell.
pub(crate) fn shown(findings: &Findings) -> Shown {
    match findings.plan.pace() {
        Some(_) => Shown {
            what: "Mean response time",
            compared: "Speed",
            in_full: "milliseconds".into(),
            in_short: "mean ms".into(),
            is_time: true,
        },
        None => Shown {
            what: "Throughput",
            compared: "Throughput",
            in_full: match has_nopm(findings) {
                true => format!("{} (NOPM)", rate(findings)),
                false => rate(findings),
            },
            in_short: per_minute(&findings.counted_name),
            is_time: false,
        },
    }
}

impl Shown {
    /// The caption of a table of it.
    pub(crate) fn caption(&self) -> String {
        match self.is_time {
            true => format!("{} in {}", self.what, self.in_full),
            false => capital(&self.in_full),
        }
    }

    /// The header of ratios, of which larger ones are better: those of times are the other way
    /// round.
    pub(crate) fn header(&self, compared: &str) -> String {
        match self.is_time {
            true => format!("speed {compared}"),
            false => compared.into(),
        }
    }

    /// It of a cell, if that has a throughput.
    pub(crate) fn of(&self, cell: &CellFindings) -> Option<Interval> {
        match self.is_time {
            true => cell.mean_response_ms,
            false => cell.throughput,
        }
    }
}

/// The unit of throughput in a sentence, from the name of counted transactions.
pub(crate) fn per_minute(counted_name: &str) -> String {
    let last = counted_name.rsplit(' ').next();
    format!("{}/min", last.unwrap_or(counted_name))
}

/// What varies, in a sentence: of one database with several options the names of these.
pub(crate) fn varying(findings: &Findings, factor: Factor) -> String {
    let databases = &findings.plan.databases;
    let first = &databases[0];
    let is_one = databases.iter().all(|other| other.name == first.name);
    if factor != Factor::Database || !is_one {
        return factor.noun().into();
    }
    let differs = |name: &str| {
        let value = |of: &TestedDatabase| of.option(name).map(str::to_owned);
        databases.iter().any(|other| value(other) != value(first))
    };
    let given = databases.iter().flat_map(|database| &database.options);
    let names = given.filter(|(name, _)| differs(name));
    let names = distinct(names.map(|(name, _)| name.clone()));
    match names.is_empty() {
        true => factor.noun().into(),
        false => list(&names, "and"),
    }
}

/// The text, with a capital at its beginning.
pub(crate) fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(rest).collect()
    })
}

/// Whether replacement policies are compared: nobody can choose one of them.
pub(crate) fn is_of_policies(findings: &Findings) -> bool {
    let mut databases = findings.plan.databases.iter();
    findings.plan.compare == Factor::Database && databases.any(|of| of.replacement().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_largest_memory_comes_first_where_nothing_else_varies() {
        let findings = fixture::findings();
        let names = |findings: &Findings| -> Vec<String> {
            groups(findings)
                .iter()
                .map(|of| group(of).to_owned())
                .collect()
        };
        assert_eq!(names(&findings), ["32 MiB of memory", "8 MiB of memory"]);
        assert_eq!(names(&fixture::one_memory()), ["all"]);
        assert_eq!(
            names(&fixture::clients())[..2],
            ["4 KiB pages", "64 KiB pages"]
        );
    }

    #[test]
    fn trade_results_are_counted_by_the_second() {
        assert_eq!(counted_by("trade results", false), ("second", 1.0));
        assert_eq!(counted_by("new orders", false), ("minute", 60.0));
        assert_eq!(counted_by("operations", true), ("second", 1.0));
    }

    #[test]
    fn only_new_orders_are_nopm() {
        assert_eq!(shown(&fixture::findings()).in_short, "orders/min");
        assert_eq!(
            shown(&fixture::findings()).in_full,
            "new orders per minute (NOPM)"
        );
        assert_eq!(shown(&fixture::clients()).in_short, "operations/min");
        assert_eq!(shown(&fixture::clients()).in_full, "operations per minute");
    }

    #[test]
    fn page_size_that_is_no_default_is_a_reference() {
        let mut findings = fixture::findings();
        assert_eq!(reference_word(&findings), "default");
        fixture::change_database(&mut findings, |database| {
            database.default_page_size = PageSize::MIN;
        });
        assert_eq!(reference_word(&findings), "reference");
        assert_eq!(reference_word(&fixture::clients()), "reference");
    }

    #[test]
    fn capitals_begin_texts() {
        assert_eq!(capital("use"), "Use");
        assert_eq!(capital(""), "");
    }
}
