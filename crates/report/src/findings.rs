//! The report of an experiment.

use octavo_device::profile::Profile;
use octavo_experiment::{
    findings::{Findings, GroupFindings},
    plan::{Factor, Storage},
};

use crate::{
    chart,
    document::{Block, Document, Figure, Section},
    naming,
    number::distinct,
    profile, sentence, table,
};

/// The report of an experiment.
pub fn findings(findings: &Findings) -> Document {
    let mut document = Document::new(title(findings));
    document.origin = format!(
        "Measured by Octavo {}, started {}.",
        findings.octavo, findings.created
    );
    for section in [
        answer,
        comparison,
        interactions,
        stability,
        storage,
        diagnostics,
        conditions,
        method,
    ] {
        document.push(section(findings));
    }
    document
}

/// The user's name for the experiment, else what it asks.
fn title(findings: &Findings) -> String {
    let plan = &findings.plan;
    if let Some(name) = &plan.name {
        return name.clone();
    }
    let databases = plan.databases.iter().map(|database| database.name.clone());
    let databases = distinct(databases).join(", ");
    match plan.compare {
        Factor::Database => format!("Database under {}", plan.workload),
        Factor::Copy => format!("Equal cells of {databases} under {}", plan.workload),
        factor => format!(
            "{} for {databases} under {}",
            naming::capital(factor.noun()),
            plan.workload
        ),
    }
}

fn paragraphs(sentences: Vec<String>) -> impl Iterator<Item = Block> {
    sentences.into_iter().map(Block::Paragraph)
}

fn figures(figures: Vec<Figure>) -> impl Iterator<Item = Block> {
    figures.into_iter().map(Block::Figure)
}

fn answer(findings: &Findings) -> Section {
    let mut section = Section::new("answer", "Answer");
    for group in naming::groups(findings) {
        let answer = sentence::answer(findings, group);
        section.push(Block::Decision {
            what: answer.what,
            why: answer.why,
        });
        section.extend(sentence::commands(findings, group));
    }
    section.extend(sentence::saved(findings).map(Block::Paragraph));
    section.push(Block::Warnings(sentence::caveats(findings)));
    section.heading("Next");
    section.push(Block::List(sentence::next_steps(findings)));
    section
}

fn comparison(findings: &Findings) -> Section {
    let mut section = Section::new("comparison", "Comparison");
    let charts = chart::comparison(findings);
    if charts.is_empty() {
        section.paragraph("No run has a result yet.");
    } else {
        let conditions = vec![Block::Paragraph(sentence::caption(findings))];
        section.extend(figures(charts));
        section.details("Conditions of all charts", conditions);
    }
    for group in naming::groups(findings) {
        section.heading(naming::capital(naming::group(group)));
        section.push(Block::Table(table::throughput(findings, group)));
        section.push(Block::Table(table::costs(findings, group)));
        section.details(
            format!("Latencies of every transaction{}", naming::in_group(group)),
            latencies(findings, group),
        );
    }
    let buffers = sentence::buffers(findings);
    if !buffers.is_empty() {
        section.heading("Cache size");
        section.push(Block::List(buffers));
    }
    section
}

fn latencies(findings: &Findings, group: &GroupFindings) -> Vec<Block> {
    let tables = group.cells.iter().map(|cell| {
        let level = findings.plan.level(&cell.cell, findings.plan.compare);
        table::latencies(naming::capital(&level.with_noun()), cell)
    });
    tables.map(Block::Table).collect()
}

fn interactions(findings: &Findings) -> Section {
    let mut section = Section::new("interactions", "Interactions");
    section.extend(paragraphs(sentence::interactions(findings)));
    let table = table::interactions(findings);
    section.details("All interactions", vec![Block::Table(table)]);
    section
}

fn stability(findings: &Findings) -> Section {
    let mut section = Section::new("stability", "Stability");
    section.extend(paragraphs(sentence::stability(findings)));
    for group in naming::groups(findings) {
        section.push(Block::Table(table::stability(findings, group)));
    }
    let meaning = "Variation is the standard deviation of throughput ÷ its mean over windows of \
                   this length, the median over runs. The longest gap is between two counted \
                   commits of any run. Runs that are not steady are left out of all figures.";
    section.details(
        "What the columns mean",
        vec![Block::Paragraph(meaning.into())],
    );
    section
}

fn storage(findings: &Findings) -> Section {
    let mut section = Section::new("storage", "Storage");
    section.extend(paragraphs(sentence::evidence(findings)));
    for group in naming::groups(findings) {
        section.details(
            format!("Reads, fsyncs and CPU{}", naming::in_group(group)),
            vec![Block::Table(table::storage(findings, group))],
        );
    }
    let energy = sentence::energy(findings);
    if !energy.is_empty() {
        section.heading("Energy");
        section.extend(paragraphs(energy));
        for group in naming::groups(findings) {
            section.push(Block::Table(table::energy(findings, group)));
        }
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
    section.extend(figures(chart::device(findings)));
    section.details("The device's figures as tables", profile::tables(profile));
}

fn diagnostics(findings: &Findings) -> Section {
    let mut section = Section::new("diagnostics", "Diagnostics");
    section.extend(figures(chart::seconds(findings)));
    section.heading("Generated load");
    section.push(Block::Table(table::audit(findings)));
    let distributions = table::distributions(findings);
    section.details("Distributions", vec![Block::Table(distributions)]);
    if !findings.runs_failed.is_empty() {
        section.heading("Failed runs");
        section.push(Block::Table(table::failed(findings)));
    }
    section
}

fn conditions(findings: &Findings) -> Section {
    let mut section = Section::new("conditions", "Conditions");
    section.push(Block::Values(sentence::conditions(findings)));
    let snapshots = table::snapshots(findings);
    section.details("Loaded data", vec![Block::Table(snapshots)]);
    section
}

fn method(findings: &Findings) -> Section {
    let mut section = Section::new("method", "Method");
    section.details(
        "How figures come about, and their limits",
        paragraphs(sentence::method(findings)).collect(),
    );
    section
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn all() -> Vec<Findings> {
        vec![
            fixture::findings(),
            fixture::one_round(),
            fixture::one_memory(),
            fixture::empty(),
            fixture::full(),
            fixture::clients(),
            fixture::systems(),
            fixture::copies(),
            fixture::many_groups(),
        ]
    }

    fn pages() -> Vec<String> {
        all().iter().map(|of| findings(of).html()).collect()
    }

    fn text(of: &Findings, width: usize) -> String {
        findings(of).terminal(width, false)
    }

    /// Without line breaks and unbreakable blanks.
    fn words(text: &str) -> String {
        let text = text.replace('\u{a0}', " ");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
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
    fn nothing_is_wider_than_the_terminal() {
        for of in all() {
            for width in [40, 60, 80, 100, 200] {
                let text = text(&of, width);
                for line in text.lines() {
                    assert!(line.chars().count() <= width, "{width}: {line}");
                }
            }
        }
    }

    #[test]
    fn the_answer_comes_first_and_tables_follow() {
        let text = text(&fixture::findings(), 100);
        let expected = "\
With 32\u{a0}MiB of memory: use 8\u{a0}KiB pages.
  12% more new orders per minute than the default 4\u{a0}KiB (95% CI 9% to 15%, 5 fresh rounds).
  Run once, for 8\u{a0}KiB pages (needs all other connections closed and space for a second copy of the
  database):
    PRAGMA journal_mode = DELETE;
    PRAGMA page_size = 8192; VACUUM;
    PRAGMA journal_mode = WAL;
  Run on every connection, for 32\u{a0}MiB of cache:
    PRAGMA cache_size = -32768;
";
        assert!(text.starts_with(expected), "{text}");
        let table = "\
  page   NOPM  vs default (95% CI)     0.74        1        1.35  result
 2 KiB  5,570  0.851 (0.830 to 0.873)  ·····├●┤···:│:···········  slower, out after 5 rounds
 4 KiB  6,550  1                       ···········:●:···········  default
 8 KiB  7,340  1.121 (1.090 to 1.153)  ···········:│:·├─●┤······  faster, winner
";
        assert!(text.contains(table), "{text}");
        let costs = "\
 2 KiB           93.7%    5.95  11.9 KiB  10.9 KiB      63.6%         17.4    4.50    15.0
";
        assert!(text.contains(costs), "{text}");
        assert!(text.contains("\n! 1 run failed.\n"), "{text}");
        // Pages have charts.
        assert!(!pages()[0].contains("├─●┤"));
    }

    #[test]
    fn energy_has_its_place_where_it_is_known() {
        let mut of = fixture::findings();
        assert!(!text(&of, 100).contains("Energy"));
        fixture::give_energy(&mut of);
        let said = words(&text(&of, 100));
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
        let text = text(&fixture::clients(), 100);
        assert!(text.contains(" operations/min "), "{text}");
        assert!(text.contains("latency of READ"), "{text}");
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
        assert!(pages()[1].contains("from 1 round"));
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
    fn the_page_and_the_terminal_say_the_same() {
        let of = fixture::findings();
        let page = words(&findings(&of).html());
        let terminal = words(&text(&of, 100)).replace("- ", "");
        for answer in sentence::answers(&of) {
            for said in [answer.what, answer.why] {
                assert!(page.contains(&said), "{said}");
                assert!(terminal.contains(&said), "{said}: {terminal}");
            }
        }
        for said in sentence::interactions(&of)
            .iter()
            .chain(&sentence::stability(&of))
        {
            assert!(page.contains(said), "{said}");
            assert!(terminal.contains(said), "{said}: {terminal}");
        }
        assert!(page.contains("the disk is full") && terminal.contains("the disk is full"));
    }
}
