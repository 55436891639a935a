//! What a text claims, read as a person reads it: tables by their columns, sentences by their
//! words. Every function answers what contradicts what.

use std::collections::BTreeMap;

use octavo_experiment::{findings::Findings, record::Source};
use serde_json::Value;

use crate::numbers::{Printed, number_and_unit};

/// A table as it is printed.
struct Table {
    /// The line before its header.
    title: String,
    rows: Vec<BTreeMap<String, String>>,
}

/// Parts of a line between two blanks or more, each with its columns.
fn parts(line: &str) -> Vec<(usize, usize, String)> {
    let letters: Vec<char> = line.chars().collect();
    let mut parts = Vec::new();
    let mut at = 0;
    while at < letters.len() {
        if letters[at] == ' ' {
            at += 1;
            continue;
        }
        let begin = at;
        while at < letters.len()
            && !(letters[at] == ' ' && letters.get(at + 1).is_none_or(|next| *next == ' '))
        {
            at += 1;
        }
        parts.push((begin, at, letters[begin..at].iter().collect()));
    }
    parts
}

/// The tables whose header has these words.
fn tables(text: &str, of: &[&str]) -> Vec<Table> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let header = parts(line);
        let has = |wanted: &&str| header.iter().any(|(_, _, name)| name.contains(wanted));
        if header.len() < 3 || !of.iter().all(has) {
            continue;
        }
        let row = |line: &&str| -> BTreeMap<String, String> {
            let cells = parts(line).into_iter();
            cells
                .filter_map(|(begin, end, cell)| {
                    let column = header
                        .iter()
                        .find(|(from, to, _)| begin < *to && *from < end)?;
                    Some((column.2.clone(), cell))
                })
                .collect()
        };
        let rows = lines[at + 1..]
            .iter()
            .take_while(|line| !line.trim().is_empty());
        found.push(Table {
            title: lines[at.saturating_sub(1)].to_owned(),
            rows: rows.map(row).collect(),
        });
    }
    found
}

impl Table {
    /// The cell of a row in the column whose name begins so.
    fn cell<'a>(row: &'a BTreeMap<String, String>, column: &str) -> Option<&'a str> {
        let mut columns = row.iter();
        let found = columns.find(|(name, _)| name.starts_with(column));
        found.map(|(_, cell)| cell.as_str())
    }
}

/// Words of a page or a text with single blanks.
pub(crate) fn words(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    for hidden in ["style", "script"] {
        if let (Some(begin), Some(end)) = (
            rest.find(&format!("<{hidden}")),
            rest.find(&format!("</{hidden}>")),
        ) {
            plain.push_str(&rest[..begin]);
            rest = &rest[end..];
        }
    }
    plain.push_str(rest);
    let mut out = String::new();
    let mut is_tag = false;
    for letter in plain.chars() {
        match letter {
            '<' => is_tag = true,
            // What is within a line stays together.
            '>' if is_tag => {
                is_tag = false;
                out.push(' ');
            }
            _ if is_tag => {}
            '\u{a0}' => out.push(' '),
            other => out.push(other),
        }
    }
    let out = out
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
        .replace("&quot;", "\"")
        .replace("&#39;", "'");
    let words: Vec<&str> = out.split_whitespace().collect();
    words.join(" ")
}

/// Throughput as it is printed, by group and level: the first table that has it.
type Throughputs = BTreeMap<(String, String), (String, Printed)>;

/// The group of a table by its title: `32 MiB of memory`, or nothing.
fn group_of(findings: &Findings, title: &str) -> String {
    let title = title.replace('\u{a0}', " ");
    let names = findings
        .groups
        .iter()
        .map(|group| group.name.replace('\u{a0}', " "));
    let mut named = names.filter(|name| !name.is_empty() && title.contains(name.as_str()));
    named.next().unwrap_or_default()
}

/// All of it, of one experiment's long text.
pub(crate) fn of_text(findings: &Findings, text: &str) -> Vec<String> {
    let text = &text.replace('\u{a0}', " ");
    let said = words(text);
    let mut faults = Vec::new();
    let mut throughputs = Throughputs::new();
    let first_column = |row: &BTreeMap<String, String>| {
        ["page", "memory", "clients", "copy", "options"]
            .into_iter()
            .find_map(|name| Table::cell(row, name).map(str::to_owned))
    };
    let is_reference = |cell: &str| {
        cell.starts_with("default")
            || cell.starts_with("reference")
            || cell.starts_with("compared with")
    };
    let mut references: BTreeMap<String, (String, Printed)> = BTreeMap::new();

    // Brief tables, then those of the throughput's section.
    for (header, ratio_column) in [
        (["/min", "vs ", "result"], "vs "),
        (["/min", "(95% CI)", "batches"], "vs "),
    ] {
        for table in tables(text, &header) {
            let group = group_of(findings, &table.title);
            let rate = |row: &BTreeMap<String, String>| {
                let (_, cell) = row
                    .iter()
                    .find(|(name, _)| name.contains("/min") && !name.contains("CI"))?;
                Some((cell.clone(), Printed::of(cell)?))
            };
            for row in &table.rows {
                let (Some(level), Some((printed, value))) = (first_column(row), rate(row)) else {
                    continue;
                };
                if Table::cell(row, "result").is_some_and(is_reference) {
                    references
                        .entry(group.clone())
                        .or_insert((level.clone(), value));
                }
                let known = throughputs
                    .entry((group.clone(), level.clone()))
                    .or_insert((printed.clone(), value));
                if known.0 != printed {
                    faults.push(format!("{group} {level}: {} and {printed}", known.0));
                }
            }
            for row in &table.rows {
                let (Some(level), Some((_, value)), Some(ratio)) =
                    (first_column(row), rate(row), Table::cell(row, ratio_column))
                else {
                    continue;
                };
                let Some((_, usual)) = references.get(&group) else {
                    continue;
                };
                let beside = value.over(*usual);
                let first = ratio.split(' ').next().unwrap_or_default();
                let claimed = match number_and_unit(first) {
                    Some((number, "%")) => {
                        Printed::of(number).map(|of| of.map(|percent| 1.0 + percent / 100.0))
                    }
                    Some((number, "")) if number != "1" => Printed::of(number),
                    _ => None,
                };
                if claimed.is_some_and(|claimed| !claimed.agrees(beside)) {
                    faults.push(format!(
                        "{group} {level}: {ratio} beside a throughput of {beside:?}"
                    ));
                }
            }
        }
    }

    // Times of a transaction stand to each other as throughputs do.
    for table in tables(text, &["all", "read", "CPU"]) {
        let group = group_of(findings, &table.title);
        let time = |row: &BTreeMap<String, String>| Printed::of(Table::cell(row, "all")?);
        let usual = references.get(&group).and_then(|(level, _)| {
            let row = table
                .rows
                .iter()
                .find(|row| first_column(row).as_ref() == Some(level))?;
            Some((level.clone(), time(row)?))
        });
        for row in &table.rows {
            let (Some(level), Some(own), Some((reference, usual))) =
                (first_column(row), time(row), usual.clone())
            else {
                continue;
            };
            let of = |level: &String| {
                throughputs
                    .get(&(group.clone(), level.clone()))
                    .map(|known| known.1)
            };
            if let (Some(fast), Some(slow)) = (of(&level), of(&reference))
                && findings.plan.compare != octavo_experiment::plan::Factor::Clients
                && !usual.over(own).agrees(fast.over(slow))
            {
                faults.push(format!("{group} {level}: time {own:?}, reference {usual:?}, throughputs {fast:?} and {slow:?}"));
            }
            if row.values().any(|cell| cell.starts_with('-')) {
                faults.push(format!("{group} {level}: a negative time: {row:?}"));
            }
        }
    }

    faults.extend(of_data(&said));
    faults.extend(of_memory(&said, &throughputs));
    faults.extend(of_counts(text, &said));
    if let Some((level, sitting)) = against(findings)
        && said.contains("CONFIDENCE HIGH")
    {
        faults.push(format!(
            "high confidence, and sitting {sitting} is for {level}"
        ));
    }
    faults.extend(of_words(findings, text, &said, &throughputs));
    faults
}

/// Sentences between two others: what stands between `from` and `to`, each time.
fn between<'a>(said: &'a str, from: &str, to: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut rest = said;
    while let Some(at) = rest.find(from) {
        rest = &rest[at + from.len()..];
        if let Some(end) = rest.find(to) {
            found.push(&rest[..end]);
        }
    }
    found
}

/// What sentences say of memory sizes, beside the tables' throughputs.
fn of_memory(said: &str, throughputs: &Throughputs) -> Vec<String> {
    let of = |memory: &str, level: &str| {
        let group = format!("{memory} of memory");
        throughputs
            .get(&(group, level.to_owned()))
            .map(|known| known.1)
    };
    let mut faults = Vec::new();
    // Nobody denies what may be twice as fast.
    for interval in between(said, "MORE CACHE MAY NOT HELP: ", ").") {
        let high = interval.rsplit(' ').next().unwrap_or_default();
        let high = Printed::of(high.trim_end_matches('x'));
        if high.is_some_and(|high| high.low > 1.2) {
            faults.push(format!("more cache may not help: {interval}"));
        }
    }
    // What holds 1 and more than the largest margin around it is no fact.
    for (end, _) in said.match_indices(" of the throughput (") {
        let rest = &said[end + " of the throughput (".len()..];
        let ends = rest.split(')').next().unwrap_or_default();
        let Some((low, high)) = ends.split_once("% to ") else {
            continue;
        };
        let [low, high] = [low, high.trim_end_matches('%')].map(Printed::of);
        let is_open = low.is_some_and(|of| of.high < 90.0) && high.is_some_and(|of| of.low > 110.0);
        let before = said[..end].rsplit(". ").next().unwrap_or_default();
        if is_open && !before.contains(" may keep ") {
            faults.push(format!(
                "{before} of the throughput ({ends}) is said as known"
            ));
        }
    }
    // `8 MiB instead of 32 MiB keep 65% of the throughput`, of so many pages.
    for (sentence, share) in said
        .match_indices(" of the throughput (")
        .filter_map(|(end, _)| {
            let before = &said[..end];
            let begin = before.rfind(" pages with ")?;
            let size: Vec<&str> = before[..begin].rsplitn(3, ' ').collect();
            let sentence = format!("{} {}{}", size.get(1)?, size.first()?, &before[begin..]);
            let share = sentence
                .rsplit(' ')
                .next()?
                .trim_end_matches('%')
                .to_owned();
            Some((sentence, share))
        })
    {
        let words: Vec<&str> = sentence.split(' ').collect();
        let [
            number,
            unit,
            _,
            _,
            small,
            small_unit,
            _,
            _,
            large,
            large_unit,
            ..,
        ] = words[..]
        else {
            continue;
        };
        let level = format!("{number} {unit}");
        let pair = (
            of(&format!("{small} {small_unit}"), &level),
            of(&format!("{large} {large_unit}"), &level),
        );
        if let ((Some(small), Some(large)), Some(share)) = (pair, Printed::of(&share))
            && !share
                .map(|percent| percent / 100.0)
                .agrees(small.over(large))
        {
            faults.push(format!("{sentence}: throughputs {small:?} and {large:?}"));
        }
    }
    // `GIVE IT CACHE: 32 MiB runs 1.8x as fast as 8 MiB`, with the page size to use with most.
    let answers = [
        "GIVE IT CACHE: ",
        "MORE CACHE MAY NOT HELP: ",
        "NOT DECIDED WHETHER MORE CACHE HELPS: ",
    ];
    let sentences = answers
        .iter()
        .flat_map(|answer| between(said, answer, " (95% CI"));
    for sentence in sentences {
        // Of one page size, where others are not decided alike.
        let sentence = sentence.split(" with ").next().unwrap_or(sentence);
        let words: Vec<&str> = sentence.split(' ').collect();
        let [
            large,
            large_unit,
            "runs",
            times,
            "as",
            "fast",
            "as",
            small,
            small_unit,
        ] = words[..]
        else {
            faults.push(format!("a sentence of another shape: {sentence}"));
            continue;
        };
        let memory = format!("{large} {large_unit}");
        let used = between(said, &format!("With {memory} of memory, "), " PAGES")
            .first()
            .map(|what| {
                let words: Vec<&str> = what.split(' ').collect();
                words[words.len().saturating_sub(2)..].join(" ")
            });
        let used = used.or_else(|| {
            let used = between(said, "USE ", " PAGES")
                .first()
                .map(|what| (*what).to_owned());
            used.or_else(|| {
                between(said, "KEEP ", " PAGES")
                    .first()
                    .map(|what| (*what).to_owned())
            })
        });
        let Some(used) = used else {
            continue;
        };
        let pair = (
            of(&memory, &used),
            of(&format!("{small} {small_unit}"), &used),
        );
        if let ((Some(large), Some(small)), Some(times)) =
            (pair, Printed::of(times.trim_end_matches('x')))
            && !times.agrees(large.over(small))
        {
            faults.push(format!(
                "{sentence}: throughputs {large:?} and {small:?} of {used}"
            ));
        }
    }
    faults
}

/// Memory as a share of the data is of the size of data that is named.
fn of_data(said: &str) -> Vec<String> {
    let named = between(said, ", ", " of data ");
    let Some(data) = named.first().and_then(|size| mib(size)) else {
        return Vec::new();
    };
    let mut faults = Vec::new();
    for (at, _) in said.match_indices("% of the data)") {
        let words: Vec<&str> = said[..at].split(' ').collect();
        let [.., number, unit, "of", "memory", share] = words[..] else {
            continue;
        };
        let memory = mib(&format!("{number} {unit}"));
        let share = Printed::of(share.trim_start_matches('('));
        if let (Some(memory), Some(share)) = (memory, share)
            && !share
                .map(|percent| percent / 100.0)
                .agrees(memory.over(data))
        {
            faults.push(format!("{number} {unit} are {share:?}% of {data:?}"));
        }
    }
    faults
}

/// `32 MiB` and `1.5 GiB` in MiB.
fn mib(text: &str) -> Option<Printed> {
    let (number, unit) = text.split_once(' ')?;
    let size = match unit {
        "KiB" => 1.0 / 1024.0,
        "MiB" => 1.0,
        "GiB" => 1024.0,
        _ => return None,
    };
    Some(Printed::of(number)?.map(|value| value * size))
}

/// A level that was better than what is advised by more than the margin in some sitting, from 1.
fn against(findings: &Findings) -> Option<(String, u32)> {
    use octavo_experiment::verdict::Verdict;
    let edge = 1.0 + findings.plan.margin;
    findings.groups.iter().find_map(|group| {
        // Of sittings that say something alone, what is known at least of a level.
        let ratios = |cell: &octavo_experiment::findings::CellFindings| match cell.reference {
            true => None,
            false => {
                let told = cell.by_sitting.iter().filter(|(_, of)| of.batches >= 4);
                Some(told.copied().collect::<BTreeMap<_, _>>())
            }
        };
        let advised = match &group.verdict {
            Verdict::Use { level, .. } => {
                let mut cells = group.cells.iter();
                let cell = cells.find(|cell| cell.level == level.to_string())?;
                ratios(cell)
            }
            _ => None,
        };
        let usual = |sitting: u32| match &advised {
            Some(advised) => advised.get(&sitting).map(|of| (of.estimate, of.high)),
            None => Some((1.0, 1.0)),
        };
        if let Some((&sitting, _)) = advised
            .iter()
            .flatten()
            .find(|(_, of)| of.high < 1.0 && 1.0 / of.estimate > edge)
        {
            return Some(("the reference".into(), sitting + 1));
        }
        group.cells.iter().find_map(|cell| {
            let own = ratios(cell)?;
            let found = own.into_iter().find(|(sitting, of)| {
                let usual = usual(*sitting);
                usual.is_some_and(|(usual, high)| of.low > high && of.estimate / usual > edge)
            });
            Some((cell.level.clone(), found?.0 + 1))
        })
    })
}

/// Passes, sittings and warnings are counted the same way everywhere.
fn of_counts(text: &str, said: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut counted: BTreeMap<&str, String> = BTreeMap::new();
    for (name, from, to) in [
        ("passes and sittings", " measured ", "; "),
        ("passes and sittings", "all decided by ", ","),
    ] {
        for found in between(said, from, to)
            .into_iter()
            .filter(|found| found.contains("passes in") && found.len() < 40)
        {
            let known = counted.entry(name).or_insert(found.to_owned());
            if known != found {
                faults.push(format!("{known} and {found}"));
            }
        }
    }
    // `3 of 40 passes were left out`, and `3 passes left out`.
    let left_out: Vec<&str> = said
        .match_indices(" passes left out")
        .map(|(at, _)| said[..at].rsplit(' ').next().unwrap_or_default())
        .collect();
    for (at, _) in said.match_indices(" passes were left out") {
        let words: Vec<&str> = said[..at].rsplitn(4, ' ').collect();
        let [_, "of", count, _] = words[..] else {
            continue;
        };
        if left_out.iter().any(|other| *other != count) {
            faults.push(format!("{count} passes and {left_out:?} were left out"));
        }
    }
    let warnings = text
        .lines()
        .filter(|line| line.starts_with("! ") && !line.contains("more warning"))
        .count();
    for found in said.match_indices(" below; ").map(|(at, _)| &said[..at]) {
        let count = found
            .rsplit(' ')
            .nth(1)
            .and_then(|count| count.parse::<usize>().ok());
        if count.is_some_and(|count| count != warnings) {
            faults.push(format!(
                "{count:?} warnings are announced, and {warnings} follow"
            ));
        }
    }
    faults
}

/// Words that no output has, or not beside others.
fn of_words(findings: &Findings, text: &str, said: &str, throughputs: &Throughputs) -> Vec<String> {
    let mut faults = Vec::new();
    for never in [
        "other disk traffic",
        "met other programs",
        "(0 slow",
        "1 of 1 are",
        "TPCC",
        "TPCE",
        "PGBENCH",
        "YCSB-A",
        "NaN",
        " inf ",
        "0.00x",
        "(- to",
        "to -)",
        "-0%",
        "-0.0",
    ] {
        if said.contains(never) {
            let at = said.find(never).unwrap_or_default();
            let begin = said[..at]
                .char_indices()
                .rev()
                .nth(60)
                .map_or(0, |(at, _)| at);
            faults.push(format!(
                "it says '{never}': {}",
                &said[begin..at + never.len()]
            ));
        }
    }
    let lower = said.to_lowercase();
    if findings.source == Source::Predicted {
        for never in ["pages was measured", "measured yet", "what was measured"] {
            if let Some(at) = lower.find(never) {
                let begin = lower[..at]
                    .char_indices()
                    .rev()
                    .nth(60)
                    .map_or(0, |(at, _)| at);
                faults.push(format!(
                    "a prediction says '{}'",
                    &lower[begin..at + never.len()]
                ));
            }
        }
    }
    if throughputs.is_empty() && (text.contains("PRAGMA") || said.contains("USE ")) {
        faults.push("settings are advised, and nothing has a throughput".into());
    }
    if !throughputs.is_empty() && lower.contains("nothing was measured yet") {
        faults.push(format!(
            "nothing was measured, and {} cells have a throughput",
            throughputs.len()
        ));
    }
    faults
}

/// The figures of a text with their units, which may be a word of its own: `25 MiB`, `65%`.
fn figures(text: &str) -> Vec<(&str, &str)> {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "µs", "ms", "s"];
    let words: Vec<&str> = text.split(' ').collect();
    let figure = |at: usize| {
        let word: &str = words[at];
        let (number, unit) = number_and_unit(word.trim_start_matches('('))?;
        let next = words
            .get(at + 1)
            .map(|next| next.trim_end_matches([',', '.', ')', ';', ':']));
        let own = next.filter(|next| unit.is_empty() && UNITS.contains(next));
        Some((number, own.unwrap_or(unit)))
    };
    (0..words.len()).filter_map(figure).collect()
}

/// Estimates that stand before `(low to high)` lie between the two.
pub(crate) fn intervals(text: &str) -> Vec<String> {
    let text = words(&text.replace('\u{a0}', " "));
    let mut faults = Vec::new();
    for (at, _) in text.match_indices('(') {
        let Some(end) = text[at..].find(')') else {
            continue;
        };
        let inside = text[at + 1..at + end].trim_start_matches("95% CI ");
        let Some((low, high)) = inside.split_once(" to ") else {
            continue;
        };
        let (low, high) = (figures(low), figures(high));
        let (Some(&(low, unit)), Some(&(high, other))) = (low.first(), high.first()) else {
            continue;
        };
        // The last figure before with the same unit, in the same sentence.
        let before = &text[..at];
        let sentence = before
            .rfind(". ")
            .map_or(before, |stop| &before[stop + 2..]);
        // There it is the margin.
        if unit != other || sentence.contains("No difference above") {
            continue;
        }
        let mut near = figures(sentence).into_iter().rev().take(6);
        // A bare whole number counts something else.
        let Some((estimate, _)) =
            near.find(|(number, own)| *own == unit && (!unit.is_empty() || number.contains('.')))
        else {
            continue;
        };
        let value = |text: &str| Printed::of(text);
        let (Some(low), Some(high), Some(middle)) = (value(low), value(high), value(estimate))
        else {
            continue;
        };
        // `8% fewer (95% CI -10% to -6%)`.
        let is_fewer =
            sentence.contains("fewer") || sentence.contains("less") || sentence.contains("slower");
        let middle = if is_fewer && high.high <= 0.0 {
            middle.map(|value| -value)
        } else {
            middle
        };
        if middle.high < low.low || middle.low > high.high || low.low > high.high {
            faults.push(format!(
                "{estimate} lies outside of ({inside}): {}",
                &sentence[sentence.len().saturating_sub(90)..]
            ));
        }
    }
    faults
}

/// Decisions of the text are those of the page.
pub(crate) fn on_both(text: &str, page: &str) -> Vec<String> {
    let said = words(&text.replace('\u{a0}', " "));
    let mut faults = Vec::new();
    // The page has label and reason apart.
    for reason in between(&said, "CONFIDENCE ", ". ") {
        let reason = reason.split_once(": ").map_or(reason, |(_, reason)| reason);
        // It begins a sentence there.
        let reason = reason.get(1..).unwrap_or_default();
        if !page.contains(reason) {
            faults.push(format!("only the text says: {reason}"));
        }
    }
    for line in text.lines().filter(|line| line.starts_with("! ")) {
        // Long ones go on in the next line.
        let begin: String = words(&line[2..].replace('\u{a0}', " "))
            .chars()
            .take(60)
            .collect();
        if !page.contains(begin.trim()) {
            faults.push(format!("only the text warns: {line}"));
        }
    }
    faults
}

fn near(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() < 1e-6
}

/// The values themselves.
pub(crate) fn of_json(json: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let estimate = |of: &Value| of["estimate"].as_f64();
    let mut throughputs = BTreeMap::new();
    for group in json["groups"].as_array().into_iter().flatten() {
        let cells: Vec<&Value> = group["cells"].as_array().into_iter().flatten().collect();
        let usual = cells.iter().find(|cell| cell["reference"] == true);
        for cell in &cells {
            let name = format!("{} {}", group["name"], cell["level"]);
            let Some(own) = estimate(&cell["throughput"]) else {
                continue;
            };
            let key = (
                cell["cell"]["page_size"].to_string(),
                cell["cell"]["memory"].to_string(),
            );
            throughputs.insert(key, own);
            let Some(reference) = usual.and_then(|usual| estimate(&usual["throughput"])) else {
                continue;
            };
            if estimate(&cell["ratio"]).is_some_and(|ratio| !near(ratio, own / reference)) {
                faults.push(format!(
                    "{name}: ratio {} of {own} and {reference}",
                    cell["ratio"]
                ));
            }
            let time = |cell: &Value| cell["time"]["total_us"].as_f64();
            let clients = |cell: &Value| cell["cell"]["clients"].as_f64().unwrap_or(1.0);
            if let (Some(own_us), Some(usual_us)) = (time(cell), usual.and_then(|cell| time(cell)))
            {
                let sessions = clients(cell) / usual.map_or(1.0, |usual| clients(usual));
                if !near(own_us / usual_us, sessions * reference / own) {
                    faults.push(format!(
                        "{name}: {own_us} and {usual_us} us, {own} and {reference} a minute"
                    ));
                }
            }
            let tail = &cell["tail"];
            let is_untimed =
                tail["checkpoint_us"].is_null() && tail["checkpoints"].as_f64() > Some(0.0);
            if is_untimed && cell["time"]["checkpoint_us"].is_number() {
                faults.push(format!(
                    "{name}: {} us of checkpoints that nothing timed",
                    cell["time"]["checkpoint_us"]
                ));
            }
            if let [(_, only)] = &by_sitting(cell)[..]
                && let Some(ratio) = estimate(&cell["ratio"])
                && !near(*only, ratio)
            {
                faults.push(format!(
                    "{name}: {only} in the only sitting, {ratio} in all"
                ));
            }
            // What batches both have gives the ratio.
            let batches = |of: &Value| -> BTreeMap<(u64, u64), f64> {
                let all = of.as_array().into_iter().flatten();
                all.filter_map(|batch| {
                    let key = (batch["sitting"].as_u64()?, batch["pass"].as_u64()?);
                    Some((key, batch["throughput"].as_f64()?))
                })
                .collect()
            };
            let beside = match &cell["reference_batches"] {
                Value::Null => usual.map_or(&Value::Null, |usual| &usual["batches"]),
                until_then => until_then,
            };
            let beside = batches(beside);
            let logs: Vec<f64> = batches(&cell["batches"])
                .iter()
                .filter_map(|(key, own)| Some((own / beside.get(key)?).ln()))
                .collect();
            let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
            if let Some(ratio) = estimate(&cell["ratio"])
                && !near(mean, ratio)
            {
                faults.push(format!("{name}: ratio {ratio}, of its batches {mean}"));
            }
            // A throughput stands on its ratio, and on what the reference has.
            let count = |of: &str| cell[of]["batches"].as_u64();
            if let (Some(ratio), Some(throughput)) = (count("ratio"), count("throughput"))
                && throughput > ratio
            {
                faults.push(format!(
                    "{name}: a throughput of {throughput} batches, a ratio of {ratio}"
                ));
            }
            let time = cell["time"].as_object();
            let whole = cell["time"]["total_us"].as_f64();
            let all = time.into_iter().flatten();
            // One is a part of a part.
            let is_part = |of: &str| !matches!(of, "total_us" | "checkpoint_sync_us");
            let parts = all.filter(|(part, _)| is_part(part));
            let sum: f64 = parts.filter_map(|(_, value)| value.as_f64()).sum();
            if whole.is_some_and(|whole| !near(sum, whole)) {
                faults.push(format!("{name}: the parts of {whole:?} us come to {sum}"));
            }
            for (part, value) in time.into_iter().flatten() {
                if value.as_f64().is_some_and(|value| value < 0.0) {
                    faults.push(format!("{name}: {part} is {value}"));
                }
            }
        }
    }
    // Times of two groups' references stand to each other as their throughputs do.
    let groups = json["groups"].as_array().into_iter().flatten();
    let references: Vec<(f64, f64)> = groups
        .filter_map(|group| {
            let mut cells = group["cells"].as_array()?.iter();
            let cell = cells.find(|cell| cell["reference"] == true)?;
            let sessions = cell["cell"]["clients"].as_f64()?;
            let time = cell["time"]["total_us"].as_f64()?;
            Some((time / sessions, estimate(&cell["throughput"])?))
        })
        .collect();
    for pair in references.windows(2) {
        let [(one_us, one), (other_us, other)] = pair else {
            continue;
        };
        if !near(one_us / other_us, other / one) {
            faults.push(format!(
                "references of two groups: {one_us} and {other_us} us a session, {one} and {other} \
                 a minute"
            ));
        }
    }
    for buffer in json["buffers"].as_array().into_iter().flatten() {
        let of = |memory: &Value| {
            throughputs.get(&(buffer["page_size"].to_string(), memory.to_string()))
        };
        if let (Some(small), Some(large), Some(said)) = (
            of(&buffer["small"]),
            of(&buffer["large"]),
            estimate(&buffer["small_over_large"]),
        ) && !near(said, small / large)
        {
            faults.push(format!("{buffer}: {small} and {large}"));
        }
    }
    faults
}

fn by_sitting(cell: &Value) -> Vec<(u64, f64)> {
    let all = cell["by_sitting"].as_array().into_iter().flatten();
    all.filter_map(|one| Some((one[0].as_u64()?, one[1]["estimate"].as_f64()?)))
        .collect()
}

/// The ratio of each row is that of its columns.
pub(crate) fn of_comparison(text: &str) -> Vec<String> {
    let text = text.replace('\u{a0}', " ");
    let mut faults = Vec::new();
    for table in tables(&text, &["first", "second", "ratio"]) {
        for row in &table.rows {
            let column = |wanted: &str| {
                let mut columns = row
                    .iter()
                    .filter(|(name, _)| name.starts_with(wanted) && *name != "second is");
                columns
                    .next()
                    .map(|(_, cell)| cell.split(' ').next().unwrap_or_default())
            };
            let value = |name| column(name).and_then(Printed::of);
            if let (Some(first), Some(second), Some(ratio)) =
                (value("first"), value("second"), value("ratio"))
                && !second.over(first).agrees(ratio)
            {
                faults.push(format!("{row:?}"));
            }
        }
    }
    faults
}
