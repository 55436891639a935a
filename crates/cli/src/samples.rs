//! Plans to begin with, which are part of the program.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A plan of plans/.
#[derive(Debug)]
pub(crate) struct Sample {
    /// Its file's name without the ending.
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

macro_rules! plans {
    ($($name:literal)*) => {
        &[$(Sample {
            name: $name,
            text: include_str!(concat!("../../../plans/", $name, ".toml")),
        }),*]
    };
}

/// All of them, the most wanted first.
pub(crate) static SAMPLES: &[Sample] = plans! {
    "page-size" "page-size-and-buffer" "own" "key-value" "row-width" "journal-mode" "clients" "ramp" "torn-pages" "a-a"
};

/// The plans by their names, as a flag.
pub(crate) fn samples() -> impl TypedValueParser<Value = &'static Sample> {
    let names = SAMPLES.iter().map(|sample| PossibleValue::new(sample.name));
    PossibleValuesParser::new(names).try_map(|given| {
        let found = SAMPLES.iter().find(|sample| sample.name == given);
        found.ok_or("no such plan")
    })
}

impl Sample {
    /// What it asks: the first sentence of its comment.
    pub(crate) fn question(&self) -> String {
        let lines = self.text.lines().map_while(|line| line.strip_prefix("# "));
        let comment = lines.collect::<Vec<_>>().join(" ");
        let end = comment.find(['.', '?', ':']);
        let sentence = end.map_or(&comment[..], |end| &comment[..=end]);
        sentence.trim_end_matches(['.', ':']).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    #[test]
    fn all_plans_are_listed_with_their_questions() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
        let entries = fs::read_dir(directory).unwrap();
        let files = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let found: BTreeSet<String> = files
            .filter_map(|name| name.strip_suffix(".toml").map(str::to_owned))
            .collect();
        let listed: BTreeSet<String> = SAMPLES.iter().map(|of| of.name.to_owned()).collect();
        assert_eq!(listed, found);
        for sample in SAMPLES {
            let question = sample.question();
            assert!(
                (10..=78 - 22).contains(&question.len()),
                "{}: {question}",
                sample.name
            );
        }
    }
}
