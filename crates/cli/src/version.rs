//! `octavo --version --verbose`: what this program is, and what it finds here.

use std::ffi::OsString;

use octavo_database::{Registry, left_out};
use octavo_experiment::{machine, plan::TestedDatabase, store};

use crate::{failure::Failure, print};

/// Whether these arguments, behind the program's name, ask for it.
pub(crate) fn is_wanted(arguments: &[OsString]) -> bool {
    let [one, other] = arguments else {
        return false;
    };
    let is_version = |word: &OsString| word == "--version" || word == "-V";
    (is_version(one) && other == "--verbose") || (one == "--verbose" && is_version(other))
}

/// Prints it, for reports of faults.
pub(crate) fn verbose() -> Result<(), Failure> {
    let registry = Registry::standard();
    let kind = registry.default_kind();
    let spec = octavo_database::DatabaseSpec::new(kind, Vec::new()).map_err(Failure::input)?;
    let database = TestedDatabase::new(&spec).map_err(Failure::input)?;
    let titles: Vec<&str> = registry.iter().map(|kind| kind.title).collect();
    let mut facts = vec![
        ("commit", env!("OCTAVO_COMMIT").to_owned()),
        ("databases", titles.join(", ")),
        ("built in", format!("{} {}", kind.title, database.version)),
        (
            "formats",
            format!("store {}, JSON {}", store::VERSION, octavo_report::FORMAT),
        ),
    ];
    let left_out = left_out();
    if !left_out.is_empty() {
        facts.push(("left out", left_out.join(", ")));
    }
    facts.extend(machine::describe());
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = facts
        .iter()
        .map(|(name, value)| format!("  {name:<width$}  {value}\n"));
    let lines: String = lines.collect();
    print::text(&format!("octavo {}\n{lines}", env!("CARGO_PKG_VERSION")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_asked_for_in_either_order() {
        let is = |words: &[&str]| is_wanted(&words.iter().map(OsString::from).collect::<Vec<_>>());
        assert!(is(&["--version", "--verbose"]) && is(&["--verbose", "-V"]));
        assert!(!is(&["--version"]) && !is(&["--verbose", "--verbose"]));
        assert!(!is(&["report", "--verbose"]));
    }
}
