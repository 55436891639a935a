//! `octavo docs`: the pages of docs/, which are part of the program, so that what reports
//! cite is at hand wherever it is installed, and the schema of what `--json` prints.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use octavo_device::{fit::Fit, profile::Profile};
use octavo_emulate::Statistics;
use octavo_experiment::{
    check::CheckResult, dataset::Manifest, forecast::Forecast, merge::Merged, part::EndedPart,
};
use octavo_report::Schemas;

use crate::{failure::Failure, print};

/// A page of docs/.
#[derive(Debug)]
pub(crate) struct Page {
    /// Its file's name without the ending.
    name: &'static str,
    /// Other ways to name it: as a link does, and as reports do.
    aliases: [&'static str; 2],
    text: &'static str,
}

macro_rules! pages {
    ($($name:literal)*) => {
        &[$(Page {
            name: $name,
            aliases: [concat!($name, ".md"), concat!("docs/", $name, ".md")],
            text: include_str!(concat!("../../../docs/", $name, ".md")),
        }),*]
    };
}

/// All pages, in the order of the table that leads to them.
static PAGES: &[Page] = pages! {
    "how-to" "own" "own-servers" "recordings" "cli" "plans" "fleet" "servers" "libmdbx" "lmdb" "rocksdb" "key-value" "per-table" "file-systems" "bench" "verdicts" "tpce" "steady-state" "results" "metrics" "store" "devices"
    "energy" "device-profile" "emulation" "buffers" "predictions" "value" "studies" "glossary"
    "ARCHITECTURE"
};

/// No page, but printed like one: the schema of results for programs.
const SCHEMA: &str = "json-schema";

/// What can be printed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Document {
    /// A page of docs/.
    Page(&'static Page),
    /// The schema of what `--json` prints.
    Schema,
}

/// The documents by all their names, as a flag.
pub(crate) fn documents() -> impl TypedValueParser<Value = Document> {
    let names = PAGES
        .iter()
        .map(|page| PossibleValue::new(page.name).aliases(page.aliases));
    let names = names.chain([PossibleValue::new(SCHEMA)]);
    PossibleValuesParser::new(names).try_map(|given| {
        let page = PAGES.iter().find(|page| page.is_named(&given));
        match page {
            Some(page) => Ok(Document::Page(page)),
            None if given == SCHEMA => Ok(Document::Schema),
            None => Err("no such page"),
        }
    })
}

impl Page {
    fn is_named(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    /// Its heading.
    fn title(&self) -> &'static str {
        let first = self.text.lines().next().unwrap_or_default();
        first.trim_start_matches("# ")
    }
}

/// Prints a document, or what there are.
pub(crate) fn docs(document: Option<Document>) -> Result<(), Failure> {
    match document {
        Some(Document::Page(page)) => return print::text(page.text),
        Some(Document::Schema) => return print::text(&format!("{}\n", schema())),
        None => {}
    }
    let lines = PAGES
        .iter()
        .map(|page| format!("{:<14} {}\n", page.name, page.title()));
    let list: String = lines.collect();
    print::text(&format!(
        "{list}{SCHEMA:<14} What --json prints, as JSON Schema\n\nTo read one: octavo docs NAME\n"
    ))
}

/// The schema of all that commands print with `--json`.
fn schema() -> String {
    Schemas::of_reports()
        .with_format::<Forecast>("dry-run", "advise --dry-run and run --dry-run")
        .with_format::<CheckResult>("check", "check")
        .with_format::<Merged>("merge", "merge")
        .with_format::<Fit>("devices-fit", "devices fit")
        .with_format::<Statistics>("emulate", "emulate")
        .without_format::<EndedPart>("part", "run --sitting and predict --shard")
        .without_format::<Manifest>("load", "load")
        .without_format::<Profile>("calibrate", "calibrate")
        .to_json()
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        fs,
        path::{Path, PathBuf},
    };

    use super::*;
    use crate::guide;

    fn repository() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn all_pages_are_listed() {
        let entries = fs::read_dir(repository().join("docs")).unwrap();
        let files = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let found: BTreeSet<String> = files
            .filter_map(|name| name.strip_suffix(".md").map(str::to_owned))
            .filter(|name| name != "README")
            .collect();
        let listed: BTreeSet<String> = PAGES.iter().map(|page| page.name.to_owned()).collect();
        assert_eq!(listed, found);
    }

    /// The pages that a text names by their paths.
    fn cited(text: &str) -> impl Iterator<Item = &str> {
        text.match_indices("docs/").filter_map(|(place, _)| {
            let end = text[place..].find(".md")? + 3;
            let name = &text[place..place + end];
            let is_name = |c: char| c.is_ascii_alphanumeric() || "-/.".contains(c);
            name.chars().all(is_name).then_some(name)
        })
    }

    fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }

    #[test]
    fn every_page_that_outputs_cite_can_be_printed() {
        let mut files = Vec::new();
        for entry in fs::read_dir(repository().join("crates")).unwrap() {
            sources(&entry.unwrap().path().join("src"), &mut files);
        }
        let mut count = 0;
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            // Comments that no flag shows are read in the repository.
            let lines = text.lines().map(str::trim_start);
            let lines = lines.filter(|line| !line.starts_with("//!") && !line.starts_with("// "));
            for line in lines {
                for name in cited(line).filter(|name| !name.starts_with("docs/decisions/")) {
                    let is_page = PAGES.iter().any(|page| page.is_named(name));
                    assert!(is_page, "{}: {name} is no page", file.display());
                    count += 1;
                }
            }
        }
        assert!(count >= 8, "{count} found");
        for guide in guide::all() {
            let (what, _, notes) = guide.parts();
            let text = guide::plain(&format!("{what} {notes}"));
            for name in cited(&text) {
                let is_page = PAGES.iter().any(|page| page.is_named(name));
                assert!(
                    is_page,
                    "octavo {} --help: {name} is no page",
                    guide.command
                );
            }
        }
    }
}
