//! The report of an experiment.

use octavo_device::profile::Profile;
use octavo_experiment::{
    caveats::Severity,
    findings::{CellFindings, Findings, GroupFindings},
    plan::{Factor, Storage},
    record::Source,
    verdict::Verdict,
};

use crate::{
    chart,
    document::{Block, Depth, Document, Figure, Section},
    fleet, naming,
    number::{clock, distinct, join},
    profile,
    sentence::{self, Answer},
    table,
};

/// Rows of tables that the first screen has room for, headings included. What
/// does not fit follows below.
pub(crate) const FIRST_ROWS: usize = 14;

/// Ranks of blocks that the first screen can drop, the highest first. Answers, settings to
/// type, and warnings that may change the answer always stay.
mod spare {
    pub(super) const LIMITS: u8 = 1;
    pub(super) const CHANGE: u8 = 2;
    pub(super) const COST: u8 = 3;
    pub(super) const SETTLE: u8 = 4;
    pub(super) const MORE_GROUPS: u8 = 5;
    pub(super) const AMOUNTS: u8 = 6;
    pub(super) const WHY: u8 = 7;
    pub(super) const ELSEWHERE: u8 = 8;
    pub(super) const BEYOND: u8 = 9;
    pub(super) const NOTES: u8 = 10;
    pub(super) const PASSED: u8 = 11;
}

/// The report of an experiment whose cells are compared.
pub(crate) fn document(findings: &Findings) -> Document {
    let groups = naming::groups(findings);
    let (first, rest) = groups.split_at(fitting(&groups));
    let begin = [summary(findings, first, rest.len()), more(findings, rest)];
    let others = [
        throughput,
        fleet::section,
        over_time,
        io,
        latency,
        stability,
        disk,
        load,
        setup,
        method,
    ];
    let others = others.map(|section| section(findings));
    let mut document = Document {
        origin: origin(findings),
        ..Document::new(title(findings), begin.into_iter().chain(others))
    };
    if findings.source == Source::Predicted {
        // Somebody may copy one table, or one chart. Copies of the user's rows were made.
        document.title.push_str(" (predicted)");
        document.mark("predicted", &["setup"]);
    }
    document
}

/// How many of the groups the first screen has room for: at least one.
fn fitting(groups: &[&GroupFindings]) -> usize {
    let mut rows = 0;
    let fits = groups.iter().take_while(|group| {
        rows += group.cells.len() + 2;
        rows <= FIRST_ROWS
    });
    fits.count().max(groups.len().min(1))
}

/// The user's name for the experiment, else what it asks, where and when.
pub(crate) fn title(findings: &Findings) -> String {
    let plan = &findings.plan;
    if let Some(name) = &plan.name {
        return name.clone();
    }
    let compared = match plan.compare {
        _ if plan.ramp.is_some() => Factor::Clients.noun(),
        Factor::Copy => "equal cells",
        Factor::Database => "options",
        factor => factor.noun(),
    };
    let databases = distinct(plan.databases.iter().map(|of| naming::database(of)));
    let date = findings.created.split('T').next().unwrap_or_default();
    let parts = [
        format!("{} {compared}", databases.join(", ")),
        device_name(findings),
        date.to_owned(),
    ];
    joined(parts)
}

/// What was measured, on one line.
pub(crate) fn origin(findings: &Findings) -> String {
    let plan = &findings.plan;
    let databases = plan.databases.iter();
    let databases =
        distinct(databases.map(|of| naming::with_version(&naming::database(of), &of.version)));
    let title = plan.workload_title() + &sentence::part_of_recording(findings);
    let workload = match sentence::data(findings) {
        Some(size) => format!("{title}, {size} of data"),
        None => title,
    };
    let device = device_name(findings);
    let file_system = match fact(&findings.storage, "file_system") {
        _ if emulated(findings).is_some() => String::new(),
        name if name.is_empty() => name,
        name if device.is_empty() => name,
        name => format!(" ({name})"),
    };
    joined([
        "Octavo".into(),
        databases.join(", "),
        workload,
        format!("{device}{file_system}"),
        clock(findings.spent_s),
        match findings.source {
            Source::Predicted => "predicted, not measured".into(),
            Source::Measured => String::new(),
        },
    ])
}

/// The disk under the data, or what stood in for it.
fn device_name(findings: &Findings) -> String {
    emulated(findings).unwrap_or_else(|| fact(&findings.storage, "device"))
}

/// The devices that were emulated, where something was measured on them.
fn emulated(findings: &Findings) -> Option<String> {
    let storages = findings.plan.storages.iter();
    let mut devices: Vec<&str> = storages.filter_map(Storage::device).collect();
    devices.dedup();
    let devices = join(
        devices.iter().map(|device| format!("{device} (emulated)")),
        ", ",
    );
    let is_measured = findings.source != Source::Predicted;
    (is_measured && !devices.is_empty()).then_some(devices)
}

fn fact(facts: &[(String, String)], name: &str) -> String {
    let found = facts.iter().find(|(other, _)| other == name);
    found.map_or_else(String::new, |(_, value)| value.clone())
}

fn joined(parts: impl IntoIterator<Item = String>) -> String {
    join(parts.into_iter().filter(|part| !part.is_empty()), " · ")
}

fn paragraphs(sentences: impl IntoIterator<Item = String>) -> impl Iterator<Item = Block> {
    sentences.into_iter().map(Block::Paragraph)
}

fn figures(figures: impl IntoIterator<Item = Figure>) -> impl Iterator<Item = Block> {
    figures.into_iter().map(Block::Figure)
}

/// Adds the warnings that may change the answer; they stand right below it.
pub(crate) fn warn_first(section: &mut Section, findings: &Findings) {
    let warnings = sentence::caveats(findings);
    let worst = warnings.filter(|(severity, _)| *severity >= Severity::Choice);
    section.push(Block::Warnings(worst.map(|(_, text)| text).collect()));
}

/// Adds the other warnings, and what was checked and holds.
pub(crate) fn warn_last(section: &mut Section, findings: &Findings) {
    for (severity, text) in sentence::caveats(findings) {
        let rank = match severity {
            Severity::Void | Severity::Choice => continue,
            Severity::Amount => spare::AMOUNTS,
            Severity::Note => spare::NOTES,
        };
        section.spare(rank, [Block::Warnings(vec![text])]);
    }
    let passed = sentence::passed(findings);
    section.spare(spare::PASSED, [Block::Passed(passed)]);
}

/// What to do, what says so, what to type, and what to know before.
fn summary(findings: &Findings, groups: &[&GroupFindings], more: usize) -> Section {
    let mut section = Section::new("answer", "Summary");
    let answers = sentence::answers(findings).into_iter().take(groups.len());
    let answers = answers.chain(sentence::memory(findings));
    let answers = answers.chain(sentence::own_sizes(findings));
    section.extend(decisions(answers.chain(sentence::confidence(findings))));
    warn_first(&mut section, findings);
    let charts = [
        chart::forest::draw(findings, groups),
        chart::breakdown::draw(findings, groups),
    ];
    section.push(Block::Columns(
        figures(charts.into_iter().flatten()).collect(),
    ));
    // Of all groups the first that is to change something.
    let change = groups.iter().position(|group| is_change(group));
    for (place, group) in groups.iter().enumerate() {
        let table = Block::Brief(table::brief(findings, group));
        match place {
            0 => section.push(table),
            _ if Some(place) == change => section.spare(spare::CHANGE, [table]),
            _ => section.spare(spare::MORE_GROUPS, [table]),
        }
    }
    let change = change.map(|place| groups[place]);
    if more > 0 {
        let follow = if more == 1 {
            "group follows"
        } else {
            "groups follow"
        };
        section.paragraph(format!(
            "{more} more {follow} (in a terminal with --verbose)."
        ));
    }
    section.spare(spare::WHY, paragraphs(sentence::why_so(findings)));
    if let Some(group) = change {
        section.spare(spare::LIMITS, sentence::before_change(findings, group));
    }
    if let Some(first) = sentence::to_follow(findings, groups) {
        section.extend(sentence::commands(findings, first));
        // Where the first keeps what it has, another may have to change.
        if let Some(group) = change.filter(|_| !is_change(first)) {
            section.spare(spare::CHANGE, sentence::commands(findings, group));
        }
    }
    if let Some(group) = change {
        section.spare(spare::COST, sentence::cost(findings, group));
    }
    if let Some((purpose, command)) = sentence::to_settle(findings) {
        let command = Block::Commands {
            purpose,
            statements: vec![command],
        };
        section.spare(spare::SETTLE, [command]);
    }
    let class = findings
        .fleet
        .iter()
        .find_map(|fleet| fleet.classes.first());
    let odd = class.map(|class| sentence::odd_hosts(findings, class));
    section.extend(odd.into_iter().flatten().map(Block::Paragraph));
    let more_hosts = class.and_then(|class| sentence::more_hosts(findings, class));
    let more_hosts = more_hosts.into_iter();
    section.spare(spare::SETTLE, more_hosts.map(Block::Paragraph));
    if let Some(heading) = sentence::elsewhere_heading(findings) {
        let lines = Block::Values(sentence::elsewhere(findings));
        section.spare(spare::ELSEWHERE, [Block::Paragraph(heading), lines]);
    }
    section.spare(spare::BEYOND, paragraphs(sentence::beyond_range(findings)));
    warn_last(&mut section, findings);
    section
}

/// Whether the answer is to change something.
fn is_change(group: &GroupFindings) -> bool {
    matches!(group.verdict, Verdict::Use { .. })
}

fn decisions(answers: impl Iterator<Item = Answer>) -> impl Iterator<Item = Block> {
    answers.map(|answer| Block::Decision {
        what: answer.what,
        why: answer.why,
    })
}

/// Groups that the first screen has no room for.
fn more(findings: &Findings, groups: &[&GroupFindings]) -> Section {
    let mut section = Section::new("more", "More groups").at(Depth::Evidence);
    if !groups.is_empty() {
        let shown = findings.groups.len() - groups.len();
        section.extend(decisions(
            sentence::answers(findings).into_iter().skip(shown),
        ));
        section.extend(figures(chart::forest::draw(findings, groups)));
        section.extend(figures(chart::breakdown::draw(findings, groups)));
    }
    for group in groups {
        section.push(Block::Brief(table::brief(findings, group)));
        section.extend(sentence::commands(findings, group));
    }
    section
}

fn throughput(findings: &Findings) -> Section {
    let section = match findings.plan.pace() {
        Some(_) => Section::new("throughput", "Mean response time"),
        None => Section::new("throughput", "Throughput"),
    };
    let mut section = section.at(Depth::Evidence);
    section.extend(figures(chart::throughput(findings)));
    for group in naming::groups(findings) {
        section.push(Block::Table(table::throughput(findings, group)));
    }
    let buffers = sentence::buffers(findings);
    if !buffers.is_empty() {
        section.heading("Cache size");
        section.push(Block::List(buffers));
    }
    section.extend(paragraphs(sentence::interactions(findings)));
    let table = table::interactions(findings);
    section.details("All interactions", vec![Block::Table(table)]);
    section.push(Block::List(sentence::next_steps(findings)));
    section
}

/// What figures were while they were measured, warm-ups included.
fn over_time(findings: &Findings) -> Section {
    let mut section = Section::new("time", "Over time").at(Depth::Evidence);
    let throughput = chart::throughput_over_time(findings);
    let response = chart::response_over_time(findings);
    if throughput.is_empty() {
        section.extend(figures(response));
        return section;
    }
    section.extend(figures(throughput));
    section.details("Mean response times over time", figures(response).collect());
    section
}

fn io(findings: &Findings) -> Section {
    let mut section = Section::new("io", "I/O").at(Depth::Evidence);
    section.extend(paragraphs(sentence::all_passes_but_time(findings)));
    section.extend(paragraphs(sentence::cpu_in_requests(findings)));
    section.extend(figures(chart::bytes(findings)));
    for group in naming::groups(findings) {
        section.push(Block::Table(table::costs(findings, group)));
        section.push(Block::Table(table::times(findings, group)));
    }
    if let Some(chosen) = &findings.chosen_sizes {
        section.heading("Tables and indexes");
        section.paragraph(sentence::about_own_sizes(chosen));
        let cells: Vec<&CellFindings> = naming::cells(findings).collect();
        section.push(Block::Table(table::own_sizes(
            &findings.plan,
            chosen,
            &cells,
        )));
    }
    let energy = sentence::energy(findings);
    if !energy.is_empty() {
        section.heading("Energy");
        section.extend(paragraphs(energy));
        section.extend(paragraphs(sentence::all_passes(findings, "Energies")));
        for group in naming::groups(findings) {
            section.push(Block::Table(table::energy(findings, group)));
            section.push(Block::Table(table::machine_energy(findings, group)));
        }
    }
    let inputs = sentence::inputs(findings);
    if !inputs.is_empty() {
        section.heading("What it is predicted from");
        section.extend(paragraphs(inputs));
        for group in naming::groups(findings) {
            section.push(Block::Table(table::inputs(findings, group)));
        }
    }
    section
}

fn latency(findings: &Findings) -> Section {
    let mut section = Section::new("latency", "Latency").at(Depth::Evidence);
    section.extend(paragraphs(sentence::all_passes(findings, "Latencies")));
    section.extend(paragraphs(sentence::tails(findings)));
    for group in naming::groups(findings) {
        section.push(Block::Table(table::tails(findings, group)));
        // Of one kind it is all of it.
        if group.cells.iter().any(|cell| cell.kinds.len() > 1) {
            section.details(
                format!("Every kind of transaction{}", naming::in_group(group)),
                latencies(findings, group),
            );
        }
    }
    section
}

fn latencies(findings: &Findings, group: &GroupFindings) -> Vec<Block> {
    let tables = group.cells.iter().map(|cell: &CellFindings| {
        let level = naming::own_level(findings, cell);
        table::latencies(naming::capital(&level.with_noun()), cell)
    });
    tables.map(Block::Table).collect()
}

fn stability(findings: &Findings) -> Section {
    let mut section = Section::new("stability", "Stability").at(Depth::Evidence);
    section.extend(paragraphs(sentence::stability(findings)));
    section.extend(paragraphs(sentence::screened(findings)));
    section.extend(paragraphs(sentence::all_passes(
        findings,
        "Slowest transactions and misses of halves",
    )));
    section.extend(paragraphs(sentence::saved(findings)));
    for group in naming::groups(findings) {
        section.push(Block::Table(table::stability(findings, group)));
    }
    section
}

pub(crate) fn disk(findings: &Findings) -> Section {
    let mut section = Section::new("disk", "Disk").at(Depth::Evidence);
    section.extend(paragraphs(sentence::evidence(findings)));
    for group in naming::groups(findings) {
        let said = paragraphs(sentence::all_passes(findings, "These figures"));
        let table = Block::Table(table::storage(findings, group));
        section.details(
            format!("Reads and fsyncs{}", naming::in_group(group)),
            said.chain([table]).collect(),
        );
    }
    if let Some(profile) = &findings.calibration {
        device(&mut section, findings, profile);
    }
    section
}

fn device(section: &mut Section, findings: &Findings, profile: &Profile) {
    section.heading(match findings.plan.storages.as_slice() {
        [Storage::Own, _, ..] => "Device of the working directory".into(),
        [first, _, ..] => format!("Device of {first}"),
        _ => "Device".to_owned(),
    });
    section.extend(profile::summary(profile));
    section.details(
        "The device's curves",
        figures(chart::device(findings)).collect(),
    );
    section.details("The device's figures as tables", profile::tables(profile));
}

/// The load that was generated, and runs that failed.
pub(crate) fn load(findings: &Findings) -> Section {
    let mut section = Section::new("load", "Load").at(Depth::Method);
    section.push(Block::Table(table::audit(findings)));
    let distributions = table::distributions(findings);
    section.details("Distributions", vec![Block::Table(distributions)]);
    if !findings.runs_failed.is_empty() {
        section.heading("Failed runs");
        section.push(Block::Table(table::failed(
            findings,
            findings.fleet.as_ref(),
        )));
    }
    section
}

pub(crate) fn setup(findings: &Findings) -> Section {
    let mut section = Section::new("setup", "Setup").at(Depth::Method);
    section.paragraph(format!(
        "{} by Octavo {}, started {}.",
        naming::capital(findings.source.name()),
        findings.octavo,
        findings.created
    ));
    section.push(Block::Values(sentence::conditions(findings)));
    let snapshots = table::snapshots(findings);
    section.details("Loaded data", vec![Block::Table(snapshots)]);
    let limits = Block::Table(table::limits(findings));
    section.details("Your other page sizes", vec![limits]);
    section
}

pub(crate) fn method(findings: &Findings) -> Section {
    let mut section = Section::new("method", "Method").at(Depth::Method);
    section.extend(paragraphs(sentence::method(findings)));
    section
}

#[cfg(test)]
mod tests {
    use octavo_experiment::caveats::Caveat;

    use super::*;
    use crate::{
        experiment::findings,
        fixture::{self, words},
    };

    fn all() -> Vec<Findings> {
        let all = fixture::stores::all().into_iter();
        all.map(|(_, findings)| findings).collect()
    }

    fn pages() -> Vec<String> {
        all().iter().map(|of| findings(of).html()).collect()
    }

    fn text(of: &Findings, width: usize) -> String {
        findings(of).terminal(width, false)
    }

    /// Names of the elements that HTML never closes.
    const VOID: [&str; 4] = ["meta", "br", "hr", "link"];

    /// Panics unless every tag that is opened is closed in order.
    fn assert_well_formed(page: &str) {
        let mut open: Vec<String> = Vec::new();
        let mut rest = page;
        while let Some(start) = rest.find('<') {
            rest = &rest[start + 1..];
            let end = rest.find('>').expect("every < has its >");
            let tag = &rest[..end];
            rest = &rest[end + 1..];
            let name: String = tag
                .trim_start_matches('/')
                .chars()
                .take_while(char::is_ascii_alphanumeric)
                .collect();
            if tag.starts_with('!') || tag.ends_with('/') || VOID.contains(&name.as_str()) {
                continue;
            }
            if tag.starts_with('/') {
                assert_eq!(open.pop().as_deref(), Some(name.as_str()), "</{name}>");
            } else {
                // The content of these is no markup.
                if name == "style" || name == "script" {
                    let close = format!("</{name}>");
                    rest = &rest[rest.find(&close).expect("closed")..];
                }
                open.push(name);
            }
        }
        assert!(open.is_empty(), "never closed: {open:?}");
    }

    #[test]
    fn at_a_pace_response_times_are_shown_and_no_throughput() {
        let of = fixture::stores::paced();
        let cell = &of.groups[0].cells[0];
        let (time, rate) = (cell.mean_response_ms.unwrap(), cell.throughput.unwrap());
        // Four transactions of 15 s each are in a minute of response times.
        assert!((time.estimate * rate.estimate / 60_000.0 - 1.0).abs() < 1e-9);
        assert!(time.low < time.estimate && time.estimate < time.high);
        let page = findings(&of).html();
        let both = words(&findings(&of).verbose(120, false)) + &words(&page);
        for shown in ["mean ms", "speed vs", "Mean response time in milliseconds"] {
            assert!(both.contains(shown), "{shown}");
        }
        assert!(both.contains(&crate::number::number(time.estimate)));
        for hidden in ["orders/min", "per minute", "Throughput against"] {
            assert!(!both.contains(hidden), "{hidden}: {both}");
        }
    }

    #[test]
    fn nothing_is_wider_than_the_terminal() {
        for of in all() {
            for width in [40, 60, 80, 100, 200] {
                let text = findings(&of).verbose(width, false);
                for line in text.lines().filter(|line| !is_typed(line)) {
                    assert!(line.chars().count() <= width, "{width}: {line}");
                }
            }
        }
    }

    /// Whether a line is to be typed in a shell as it stands.
    fn is_typed(line: &str) -> bool {
        ["  # ", "  sqlite3 ", "  cp ", "  mv ", "  rm "]
            .iter()
            .any(|begin| line.starts_with(begin))
    }

    #[test]
    fn an_emulated_device_is_in_the_heading() {
        let mut findings = fixture::one_memory();
        assert!(origin(&findings).contains("vda (ext4)"));
        findings.plan.storages = vec![Storage::Device("nvme-tlc".into())];
        let said = origin(&findings);
        assert!(
            said.contains(" · nvme-tlc (emulated) · ") && !said.contains("vda"),
            "{said}"
        );
        // What was predicted names its device itself.
        findings.source = Source::Predicted;
        assert!(!origin(&findings).contains("emulated"));
    }

    #[test]
    fn short_text_has_at_most_forty_lines() {
        let closing = vec![
            "Report: a-directory/of-some-length/report.html".to_owned(),
            "All tables: octavo report a-directory/of-some-length --verbose".to_owned(),
        ];
        let mut full = fixture::findings();
        fixture::stores::tell_elsewhere(&mut full);
        full.caveats = vec![
            Caveat::SharedBlocks,
            Caveat::NoDeviceCounters,
            Caveat::RunsFailed { runs: 1 },
        ];
        let all = fixture::stores::all().into_iter();
        for (name, of) in all.chain([("everything", full)]) {
            for width in [80, 100, 200] {
                let document = findings(&of).closing(closing.clone());
                let text = document.terminal(width, false);
                let lines = text.lines().count();
                assert!(
                    lines <= 40,
                    "{name}, {width} columns, {lines} lines:\n{text}"
                );
                assert!(text.contains(&closing[0]), "{name}: {text}");
            }
        }
    }

    #[test]
    fn warnings_that_may_change_the_answer_are_never_left_out() {
        let of = fixture::stores::screened();
        let said: Vec<String> = sentence::caveats(&of).map(|(_, text)| text).collect();
        let worst = words(&format!("! {} ! {}", said[0], said[1]));
        assert!(worst.contains("up to 70% of the CPU in 10 of 10 runs"));
        let short = words(&text(&of, 80));
        assert!(short.contains(&worst), "{short}");
        // Right below the answers.
        let confidence = short.find("CONFIDENCE LOW").unwrap();
        assert!(confidence < short.find(&worst).unwrap(), "{short}");
        for of in [of, fixture::stores::warned()] {
            let short = words(&text(&of, 80));
            let all = sentence::caveats(&of);
            let hidden = all.filter(|(severity, text)| {
                let is_shown = short.contains(&words(text));
                assert!(is_shown || *severity < Severity::Choice, "{text}: {short}");
                !is_shown
            });
            let hidden = hidden.count();
            // In two places, without gaps.
            assert!(text(&of, 80).matches("\n\n! ").count() <= 2);
            let more = format!("! {hidden} more warning");
            assert_eq!(hidden > 0, short.contains(&more), "{more}: {short}");
        }
    }

    #[test]
    fn pages_have_all_warnings_where_paper_has_them() {
        for (name, of) in fixture::stores::all() {
            let page = findings(&of).html();
            let (_, answer) = page
                .split_once("<section id=\"answer\" class=\"first\">")
                .unwrap();
            let (answer, _) = answer.split_once("</section>").unwrap();
            // Print hides these.
            assert!(!answer.contains("<details"), "{name}");
            for (_, text) in sentence::caveats(&of) {
                let said = words(answer).contains(&words(&markup(&text)));
                assert!(said, "{name}: {text}");
            }
        }
        // What paper leaves out.
        let style = include_str!("style.css");
        let (_, print) = style.split_once("@media print {").unwrap();
        for rule in print.split('}') {
            if let Some((selectors, declarations)) = rule.split_once('{')
                && declarations.contains("display: none")
            {
                let hides = |of: &str| selectors.split(',').any(|selector| selector.trim() == of);
                for shown in ["ul", ".checks", ".warning", "section", ".first", "#answer"] {
                    assert!(!hides(shown), "{shown}: {rule}");
                }
            }
        }
    }

    /// As a page has it.
    fn markup(text: &str) -> String {
        crate::markup::tag("p").text(text).as_str()["<p>".len()..]
            .trim_end_matches("</p>")
            .to_owned()
    }

    #[test]
    fn sentences_have_no_figures_that_are_none() {
        for (name, of) in fixture::stores::all() {
            for said in crate::experiment::sentences(&of) {
                for none in ["\u{2013}", "0.00x", "NaN", "inf ", " 0 more", "(0% to 0%)"] {
                    assert!(!said.contains(none), "{name}: {said}");
                }
            }
        }
    }

    #[test]
    fn predictions_claim_nothing_measured() {
        // What says so, and what is of other results.
        let allowed = [
            "not measured",
            "nothing was measured",
            "nothing here was measured",
            "from measurements",
            "as a measurement's",
            "that were measured and predicted",
            "come about as measured ones do",
        ];
        for (name, of) in fixture::stores::all() {
            if of.source != Source::Predicted {
                continue;
            }
            let mut said = words(&findings(&of).verbose(100, false)).to_lowercase();
            for allowed in allowed {
                said = said.replace(allowed, "");
            }
            // Nor what is of experiments alone.
            for other in [
                "not loaded yet",
                "no run yet",
                "are dropped",
                "is left out when",
            ] {
                assert!(!said.contains(other), "{name}: {other}");
            }
            if let Some(at) = said.find("measure") {
                let from = at.saturating_sub(60);
                panic!("{name}: …{}", &said[said.floor_char_boundary(from)..]);
            }
        }
    }

    #[test]
    fn without_a_comparison_nothing_is_advised() {
        for (name, of) in fixture::stores::all() {
            let is_compared =
                |group: &GroupFindings| group.cells.iter().any(|cell| cell.ratio.is_some());
            for group in naming::groups(&of) {
                let commands = sentence::commands(&of, group);
                assert!(is_compared(group) || commands.is_empty(), "{name}");
            }
            if !of.groups.iter().any(is_compared) {
                let short = words(&text(&of, 100));
                assert!(
                    !short.contains("KEEP") && !short.contains("USE "),
                    "{name}: {short}"
                );
            }
        }
    }

    #[test]
    fn decision_comes_first_and_evidence_follows() {
        let text = text(&fixture::findings(), 100);
        let expected = "\
Octavo · SQLite 3.50.0 · TPC-C, 290\u{a0}MiB of data · vda (ext4) · 5m 0s

  With 32\u{a0}MiB of memory, USE 8\u{a0}KiB PAGES: 12% more new orders per minute than the default 4\u{a0}KiB (95%
  CI 9% to 15%).
";
        assert!(text.starts_with(expected), "{text}");
        let table = "\
32\u{a0}MiB of memory (11% of the data)
  page  orders/min  vs 4 KiB  0.62x     1x     1.6x  result
 2 KiB       5,570      -15%  ······├●·:│:·········  slower, out after 40 s
 4 KiB       6,550            ·········:●:·········  default
";
        assert!(text.contains(table), "{text}");
        let pragmas = "PRAGMA journal_mode = DELETE; PRAGMA page_size = 8192; VACUUM;";
        assert!(text.contains(pragmas), "{text}");
        assert!(text.contains("--budget 8m"), "{text}");
        assert!(text.contains("\n! 1 run failed"), "{text}");
        assert!(text.contains("\n✓ At least 99.7% of each cell's"), "{text}");
        // What few people want is in the long text alone, and all of the short
        // text is in the long one.
        assert!(!text.contains("log share"), "{text}");
        let long = findings(&fixture::findings()).verbose(100, false);
        assert!(long.starts_with(&text), "{long}");
        assert!(long.contains("log share"), "{long}");
        // Pages have charts.
        assert!(!pages()[0].contains("├●"));
    }

    #[test]
    fn what_the_first_screen_has_no_room_for_follows() {
        let of = fixture::many_groups();
        let short = text(&of, 100);
        assert!(short.contains("10 more groups follow"), "{short}");
        let long = words(&findings(&of).verbose(100, false));
        for group in &of.groups {
            assert!(long.contains(&words(&group.name)), "{}: {long}", group.name);
        }
    }

    #[test]
    fn predicted_cells_tell_what_they_follow() {
        let mut of = fixture::findings();
        let long = |of: &Findings| words(&findings(of).verbose(100, false));
        assert!(!long(&of).contains("What it is predicted from"));
        fixture::predict(&mut of);
        let said = long(&of);
        assert!(said.contains("2 KiB 0.25 0.50 0.25"), "{said}");
    }

    #[test]
    fn energy_has_its_place_where_it_is_known() {
        let mut of = fixture::findings();
        let long = |of: &Findings| words(&findings(of).verbose(100, false));
        assert!(!long(&of).contains("Energy"));
        fixture::give_energy(&mut of);
        let said = long(&of);
        assert!(
            said.contains("Energy With 32 MiB of memory: the device alone took the least"),
            "{said}"
        );
        assert!(
            said.contains("2 KiB 123 mJ 100 mJ 25.0% 0.851 (0.830 to 0.873)"),
            "{said}"
        );
        let page = findings(&of).html();
        assert_well_formed(&page);
        assert!(page.contains("<h3>Energy</h3>"));
    }

    #[test]
    fn throughput_of_other_workloads_is_no_nopm() {
        let text = findings(&fixture::clients()).verbose(100, false);
        assert!(text.contains(" operations/min "), "{text}");
        assert!(
            !text.contains("NOPM") && !text.contains("new orders"),
            "{text}"
        );
    }

    #[test]
    fn every_tag_is_closed() {
        for page in pages() {
            assert_well_formed(&page);
        }
    }

    #[test]
    #[should_panic(expected = "</p>")]
    fn the_check_of_tags_sees_errors() {
        assert_well_formed("<p><b>x</p></b>");
    }

    #[test]
    fn nothing_is_loaded() {
        for page in pages() {
            let without_names = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
            for forbidden in ["http://", "https://", "src=", "@import", "url(", "<link"] {
                assert!(!without_names.contains(forbidden), "{forbidden}");
            }
        }
    }

    #[test]
    fn hostile_names_stay_text() {
        const HOSTILE: &str = "<script>alert('1')</script>\" onload=\"x\u{1b}[2J&";
        let mut of = fixture::many_groups();
        let plan = &mut of.plan;
        plan.name = Some(HOSTILE.into());
        plan.storages[1] = Storage::Directory(HOSTILE.into());
        fixture::change_database(&mut of, |database| {
            database.options = vec![(HOSTILE.into(), HOSTILE.into())];
            database.version = HOSTILE.into();
        });
        (of.octavo, of.created) = (HOSTILE.into(), HOSTILE.into());
        of.runs_failed[0].reason = HOSTILE.into();
        for facts in [
            &mut of.machine,
            &mut of.storage,
            &mut of.database,
            &mut of.changed,
        ] {
            facts.push((HOSTILE.into(), HOSTILE.into()));
        }
        for group in &mut of.groups {
            group.name = HOSTILE.into();
            group.cells[0].kinds[0].name = HOSTILE.into();
            for cell in &mut group.cells {
                if cell.cell.storage != Storage::Own {
                    cell.cell.storage = Storage::Directory(HOSTILE.into());
                }
            }
        }
        of.audit.lines[0].name = HOSTILE.into();
        of.snapshots[0].made_by = HOSTILE.into();
        of.counted_name = HOSTILE.into();
        let profile = of.calibration.as_mut().unwrap();
        profile.storage.device = Some(HOSTILE.into());
        profile.storage.model = Some(HOSTILE.into());
        let page = findings(&of).html();
        assert_well_formed(&page);
        assert_eq!(page.matches("<script>").count(), 1);
        assert!(!page.contains("\" onload=\""));
        assert!(!page.contains('\x1b'));
        assert!(page.contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot; onload="));
        assert!(!text(&of, 100).contains('\x1b'));
    }

    #[test]
    fn no_figure_is_infinite() {
        for page in pages() {
            for forbidden in ["NaN", "\"inf\"", "inf,", "inf "] {
                assert!(!page.contains(forbidden), "{forbidden}");
            }
        }
        let one = findings(&fixture::one_pass()).html();
        assert!(one.contains("no interval yet"));
    }

    #[test]
    fn every_link_has_its_target() {
        for page in pages() {
            for link in page.split("href=\"#").skip(1) {
                let target = link.split('"').next().unwrap();
                assert!(page.contains(&format!("id=\"{target}\"")), "#{target}");
            }
        }
    }

    #[test]
    fn page_and_terminal_say_the_same() {
        let of = fixture::findings();
        let page = words(&findings(&of).html());
        let terminal = words(&findings(&of).verbose(100, false));
        let answers = sentence::answers(&of).into_iter();
        let answers = answers.chain(sentence::confidence(&of));
        let answers = answers.flat_map(|answer| [answer.what, naming::capital(&answer.why)]);
        let all = answers
            .chain(sentence::interactions(&of))
            .chain(sentence::stability(&of))
            .chain(sentence::why_so(&of))
            .chain(sentence::tails(&of));
        for said in all {
            assert!(page.contains(&said), "{said}");
            let said = said.to_lowercase();
            assert!(
                terminal.to_lowercase().contains(&said),
                "{said}: {terminal}"
            );
        }
        assert!(page.contains("the disk is full") && terminal.contains("the disk is full"));
    }

    /// The relative luminance of `#rrggbb` (WCAG 2.2).
    fn luminance(color: &str) -> f64 {
        let part = |at: usize| {
            let hex = color.trim_start_matches('#');
            let (at, width) = if hex.len() == 3 { (at, 1) } else { (at * 2, 2) };
            let digits = hex[at..at + width].repeat(2 / width);
            let share = f64::from(u8::from_str_radix(&digits, 16).unwrap()) / 255.0;
            if share <= 0.040_45 {
                share / 12.92
            } else {
                ((share + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * part(0) + 0.7152 * part(1) + 0.0722 * part(2)
    }

    #[test]
    fn text_contrasts_with_what_is_below_it() {
        let style = include_str!("style.css");
        // Light, dark, paper.
        for theme in style.split(":root {").skip(1) {
            let theme = &theme[..theme.find('}').unwrap()];
            let color = |name: &str| {
                let (_, rest) = theme.split_once(&format!("--{name}: ")).unwrap();
                luminance(rest.split(';').next().unwrap())
            };
            for text in ["ink", "soft", "accent", "good", "bad", "warn"] {
                for below in ["paper", "panel"] {
                    let (one, other) = (color(text), color(below));
                    let contrast = (one.max(other) + 0.05) / (one.min(other) + 0.05);
                    assert!(contrast >= 4.5, "{text} on {below}: {contrast:.2}");
                }
            }
        }
    }
}
