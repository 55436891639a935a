//! The report as one HTML page that opens offline: style, charts and the
//! small script for hovering are all inside it.

use octavo_device::profile;
use octavo_experiment::{
    findings::{Findings, GroupFindings},
    plan::{Factor, Storage},
};
use octavo_units::PageSize;

use crate::{
    chart::{self, Figure},
    naming,
    number::held,
    sentence,
    svg::escape,
    table::{self, Detail, Table},
};

const STYLE: &str = include_str!("style.css");
const HOVER: &str = include_str!("hover.js");

/// The report as an HTML page. It loads nothing from anywhere, reads without
/// JavaScript (which adds tooltips alone), on paper and on a phone. Every
/// text that came from the machine or the database is escaped.
pub fn html(findings: &Findings) -> String {
    let mut page = String::with_capacity(256 * 1024);
    let title = title(findings);
    page.push_str(&format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{0}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>{0}</h1>\n<p class=\"origin\">Measured by Octavo {1}, begun {2}.</p>\n",
        escape(&title),
        escape(&findings.octavo),
        escape(&findings.created),
    ));
    answer(&mut page, findings);
    contents(&mut page, findings);
    comparison(&mut page, findings);
    interactions(&mut page, findings);
    stability(&mut page, findings);
    storage(&mut page, findings);
    diagnostics(&mut page, findings);
    conditions(&mut page, findings);
    method(&mut page, findings);
    page.push_str(&format!(
        "</main>\n<script>\n{HOVER}</script>\n</body>\n</html>\n"
    ));
    page
}

/// The user's name for the experiment, else what it asks.
fn title(findings: &Findings) -> String {
    let plan = &findings.plan;
    if let Some(name) = &plan.name {
        return name.clone();
    }
    let mut databases: Vec<&str> = Vec::new();
    for database in &plan.databases {
        if !databases.contains(&database.name.as_str()) {
            databases.push(&database.name);
        }
    }
    match plan.compare {
        Factor::Database => format!("Database under {}", plan.workload),
        Factor::Copy => format!(
            "Equal cells of {} under {}",
            databases.join(", "),
            plan.workload
        ),
        factor => format!(
            "{} for {} under {}",
            naming::capital(factor.noun()),
            databases.join(", "),
            plan.workload
        ),
    }
}

fn answer(page: &mut String, findings: &Findings) {
    page.push_str("<section id=\"answer\">\n<h2>Answer</h2>\n");
    for group in naming::groups(findings) {
        page.push_str(&format!(
            "<div class=\"answer\"><p class=\"verdict\">{}</p>\n",
            escape(&held(&sentence::answer(findings, group)))
        ));
        for command in sentence::commands(findings, group) {
            page.push_str(&format!(
                "<p class=\"purpose\">Type this {}:</p>\n<pre tabindex=\"0\"><code>{}</code></pre>\n",
                escape(&command.purpose),
                escape(&command.statements.join("\n"))
            ));
        }
        page.push_str("</div>\n");
    }
    if let Some(saved) = sentence::saved(findings) {
        page.push_str(&format!("<p>{}</p>\n", escape(&held(&saved))));
    }
    if !findings.warnings.is_empty() {
        page.push_str("<div class=\"warnings\" role=\"note\"><h3>Warnings</h3>\n");
        list(page, &findings.warnings);
        page.push_str("</div>\n");
    }
    page.push_str("<h3>What to do next</h3>\n");
    list(page, &sentence::next_steps(findings));
    page.push_str("</section>\n");
}

fn contents(page: &mut String, findings: &Findings) {
    page.push_str("<nav aria-label=\"Contents\"><ul>\n");
    for (target, name) in [
        ("answer", "Answer"),
        ("comparison", "Comparison"),
        ("interactions", "Interactions"),
        ("stability", "Stability"),
        ("storage", "Storage"),
        ("diagnostics", "Diagnostics"),
        ("conditions", "Conditions"),
        ("method", "Method"),
    ] {
        if target == "interactions" && findings.interactions.is_empty() {
            continue;
        }
        page.push_str(&format!("<li><a href=\"#{target}\">{name}</a></li>\n"));
    }
    if !findings.runs_failed.is_empty() {
        page.push_str("<li><a href=\"#failed\">Failed runs</a></li>\n");
    }
    page.push_str("</ul></nav>\n");
}

fn comparison(page: &mut String, findings: &Findings) {
    page.push_str("<section id=\"comparison\">\n<h2>Comparison</h2>\n");
    let figures = chart::comparison(findings);
    if figures.is_empty() {
        page.push_str("<p>No run has a result yet, so there is nothing to draw.</p>\n");
    }
    draw(page, &figures);
    for group in naming::groups(findings) {
        of_group(page, findings, group);
    }
    let buffers = sentence::buffers(findings);
    if !buffers.is_empty() {
        page.push_str("<h3>What the buffer's size is worth</h3>\n");
        list(page, &buffers);
    }
    page.push_str("</section>\n");
}

fn of_group(page: &mut String, findings: &Findings, group: &GroupFindings) {
    // Headings begin with the name where there is one, with a capital where
    // there is none.
    let named = |rest: &str| {
        escape(&if group.name.is_empty() {
            naming::capital(rest)
        } else {
            format!("{}: {rest}", group.name)
        })
    };
    page.push_str(&format!("<h3>{}</h3>\n", named("figures")));
    grid(
        page,
        &format!(
            "{}, geometric mean over its own runs, and its ratio to the {} within rounds (what left \
             early ran in other rounds: compare by the ratio)",
            naming::capital(&naming::rate_in_full(findings)),
            naming::reference_word(findings)
        ),
        &table::throughput(findings, group, Detail::Full),
    );
    grid(
        page,
        &table::costs_words(findings),
        &table::costs(findings, group),
    );
    page.push_str(&format!(
        "<details><summary>{}</summary>\n",
        named("latencies of every kind of transaction")
    ));
    for cell in &group.cells {
        let level = findings.plan.level(&cell.cell, findings.plan.compare);
        let title = format!("{}, all runs together", level.with_noun());
        if cell.kinds.is_empty() {
            page.push_str(&format!("<p>{}: no run.</p>\n", escape(&title)));
        } else {
            grid(page, &title, &table::latencies(cell));
        }
    }
    page.push_str("</details>\n");
}

fn interactions(page: &mut String, findings: &Findings) {
    if findings.interactions.is_empty() {
        return;
    }
    page.push_str("<section id=\"interactions\">\n<h2>Interactions</h2>\n");
    for sentence in sentence::interactions(findings) {
        page.push_str(&format!("<p>{}</p>\n", escape(&held(&sentence))));
    }
    grid(
        page,
        &format!(
            "How many times its ratio to the {} the ratio of each level is where another factor \
             has another level, within rounds; 95 % for all of these together (Bonferroni)",
            naming::reference_word(findings)
        ),
        &table::interactions(findings),
    );
    page.push_str("</section>\n");
}

fn stability(page: &mut String, findings: &Findings) {
    page.push_str("<section id=\"stability\">\n<h2>Stability</h2>\n");
    for sentence in sentence::stability(findings) {
        page.push_str(&format!("<p>{}</p>\n", escape(&held(&sentence))));
    }
    page.push_str(&format!("<p>{}.</p>\n", escape(table::STABILITY)));
    for group in naming::groups(findings) {
        grid(
            page,
            &naming::capital(naming::group(group)),
            &table::stability(findings, group, Detail::Full),
        );
    }
    page.push_str("</section>\n");
}

fn storage(page: &mut String, findings: &Findings) {
    page.push_str("<section id=\"storage\">\n<h2>Storage</h2>\n<h3>Was the storage seen?</h3>\n");
    for sentence in sentence::evidence(findings) {
        page.push_str(&format!("<p>{}</p>\n", escape(&sentence)));
    }
    for group in naming::groups(findings) {
        page.push_str(&format!(
            "<details><summary>{}: reads, flushes and CPU by {}</summary>\n",
            escape(&naming::capital(naming::group(group))),
            findings.plan.compare.noun()
        ));
        grid(
            page,
            "Flushes per transaction; times are means; CPU cores are used by all programs \
             together",
            &table::storage(findings, group),
        );
        page.push_str("</details>\n");
    }
    energy(page, findings);
    if let Some(profile) = &findings.calibration {
        page.push_str(&format!(
            "<h3>The device by itself{}</h3>\n<p>{}</p>\n",
            match findings.plan.storages.as_slice() {
                [Storage::Own, _, ..] => ": the working directory's".to_owned(),
                [first, _, ..] => format!(": that of {}", escape(&first.to_string())),
                _ => String::new(),
            },
            escape(&crate::device::summary(profile))
        ));
        draw(page, &chart::device(findings));
        page.push_str("<details><summary>The device's figures as tables</summary>\n");
        for table in profile::table::all(profile) {
            grid(
                page,
                &table.title,
                &Table {
                    header: table.header,
                    rows: table.rows,
                },
            );
        }
        page.push_str("</details>\n");
    }
    page.push_str("</section>\n");
}

/// Silent where no device's power is known.
fn energy(page: &mut String, findings: &Findings) {
    let sentences = sentence::energy(findings);
    if sentences.is_empty() {
        return;
    }
    page.push_str("<h3>Energy</h3>\n");
    for sentence in sentences {
        page.push_str(&format!("<p>{}</p>\n", escape(&held(&sentence))));
    }
    for group in naming::groups(findings) {
        if let Some(table) = table::energy(findings, group) {
            let name = naming::capital(naming::group(group));
            grid(page, &format!("{name}: {}", table::ENERGY), &table);
        }
    }
}

fn diagnostics(page: &mut String, findings: &Findings) {
    page.push_str("<section id=\"diagnostics\">\n<h2>Diagnostics</h2>\n");
    draw(page, &chart::seconds(findings));
    page.push_str("<h3>Generated load against the specification</h3>\n");
    grid(
        page,
        "Shares over the longest run of each round, warm-up included",
        &table::audit(findings),
    );
    if !findings.audit.distributions.is_empty() {
        grid(
            page,
            "Distribution of drawn values: chi-square is about as large as the degrees of freedom \
             when draws follow the specification",
            &table::distributions(findings),
        );
    }
    if !findings.runs_failed.is_empty() {
        page.push_str("<h3 id=\"failed\">Failed runs</h3>\n");
        grid(page, "Runs without a result", &table::failed(findings));
    }
    page.push_str("</section>\n");
}

fn conditions(page: &mut String, findings: &Findings) {
    page.push_str("<section id=\"conditions\">\n<h2>Conditions</h2>\n<dl>\n");
    for (name, value) in sentence::conditions(findings) {
        page.push_str(&format!(
            "<div><dt>{}</dt><dd>{}</dd></div>\n",
            escape(&name),
            escape(&value)
        ));
    }
    page.push_str("</dl>\n");
    if !findings.snapshots.is_empty() {
        grid(
            page,
            "The loaded data, of which every run starts with a fresh copy",
            &table::snapshots(findings),
        );
    }
    page.push_str("</section>\n");
}

fn method(page: &mut String, findings: &Findings) {
    page.push_str("<section id=\"method\">\n<h2>Method</h2>\n");
    for paragraph in sentence::method(findings) {
        page.push_str(&format!("<p>{}</p>\n", escape(&paragraph)));
    }
    page.push_str(&format!(
        "<p>Page sizes from {} to {} bytes are powers of two; KiB, MiB and GiB are powers of two \
         as well; MB/s are 10⁶ bytes a second.</p>\n</section>\n",
        PageSize::MIN.get(),
        PageSize::MAX.get()
    ));
}

fn draw(page: &mut String, figures: &[Figure]) {
    for figure in figures {
        page.push_str(&figure.html());
    }
}

fn list(page: &mut String, items: &[String]) {
    page.push_str("<ul>\n");
    for item in items {
        page.push_str(&format!("<li>{}</li>\n", escape(&held(item))));
    }
    page.push_str("</ul>\n");
}

fn grid(page: &mut String, caption: &str, table: &Table) {
    page.push_str(&format!(
        "<p class=\"caption\">{}</p>\n<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr>",
        escape(caption)
    ));
    // Words read from the left, figures from the right.
    let words: Vec<bool> = (0..table.header.len())
        .map(|column| {
            table
                .rows
                .iter()
                .all(|row| row[column].starts_with(char::is_alphabetic))
        })
        .collect();
    for (name, words) in table.header.iter().zip(&words) {
        let class = if *words { " class=\"words\"" } else { "" };
        page.push_str(&format!("<th scope=\"col\"{class}>{}</th>", escape(name)));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        page.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            let class = match cell.as_str() {
                "better" | "worse" | "open" => format!(" class=\"words {cell}\""),
                _ if words[index] => " class=\"words\"".into(),
                _ => String::new(),
            };
            if index == 0 {
                page.push_str(&format!("<th scope=\"row\">{}</th>", escape(cell)));
            } else {
                page.push_str(&format!("<td{class}>{}</td>", escape(cell)));
            }
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

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
    fn energy_is_told_where_it_is_known() {
        let mut findings = fixture::findings();
        assert!(!html(&findings).contains("<h3>Energy</h3>"));
        fixture::give_energy(&mut findings);
        let page = html(&findings);
        assert_well_formed(&page);
        assert!(page.contains("<h3>Energy</h3>") && page.contains("energy that the device alone"));
    }

    fn pages() -> Vec<String> {
        [
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
        .iter()
        .map(html)
        .collect()
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
    fn facts_cannot_inject() {
        let page = &pages()[0];
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
        assert_eq!(page.matches("<script>").count(), 1);
    }

    #[test]
    fn no_figure_is_infinite() {
        for page in pages() {
            for forbidden in ["NaN", "\"inf\"", "inf,", "inf "] {
                assert!(!page.contains(forbidden), "{forbidden}");
            }
        }
        assert!(pages()[1].contains("one round"));
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
    fn the_page_says_what_the_terminal_says() {
        let findings = fixture::findings();
        let page = html(&findings);
        for sentence in sentence::all(&findings) {
            assert!(page.contains(&escape(&held(&sentence))), "{sentence}");
        }
        let all = html(&fixture::many_groups());
        for group in &fixture::many_groups().groups {
            assert!(all.contains(&escape(&group.name)), "{}", group.name);
        }
        assert!(page.contains("the disk is full"));
    }
}
