//! What is added in one place is known in one place, as the table "Where to add what" of
//! docs/ARCHITECTURE.md says.
//!
//! Names of databases, workloads, devices and studies stand in their directories, in the
//! line of their registry and nowhere else: code that knows one of them by name would have
//! to be changed for the next one. A flag is declared once, and what renders reports knows
//! no section. This reads the sources of all crates; comments, tests and what is for tests
//! alone are left out.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fs,
    path::{Path, PathBuf},
};

use octavo_device::catalog;
use octavo_predict::Registry as ModeledRegistry;
use octavo_workload::Registry as WorkloadRegistry;

/// Things of one sort that are added by one directory or file, and one line.
struct Addition {
    noun: &'static str,
    names: BTreeSet<String>,
    /// Whether only texts count, because the names are words that code has too.
    is_in_texts: bool,
    /// Where their names may stand: directories, registries, and the lines of `mod`.
    rooms: &'static [&'static str],
    /// Files elsewhere that name some of them, and why the next one need not be there.
    elsewhere: &'static [(&'static str, &'static str)],
}

fn additions() -> [Addition; 4] {
    let registry = ModeledRegistry::standard();
    let databases = registry.all();
    let databases = databases.iter().flat_map(|kind| {
        let aliases = kind.aliases.iter().copied();
        aliases.chain([kind.name, kind.title])
    });
    let workloads = WorkloadRegistry::standard();
    let workloads = workloads.names().flat_map(|workload| {
        let family = workload.family().data.name;
        [workload.name(), workload.title(), family]
    });
    [
        Addition {
            noun: "database",
            names: lower(databases.chain(["innodb", "cubrid"])),
            is_in_texts: false,
            rooms: &[
                "database/src/lib.rs",
                "database/src/libmdbx/",
                "database/src/lmdb/",
                "database/src/mysql/",
                "database/src/postgres/",
                "database/src/registry.rs",
                "database/src/rocksdb/",
                "database/src/sqlite/",
                "predict/src/in_place/",
                "predict/src/innodb/",
                "predict/src/lib.rs",
                "predict/src/postgres/",
                "predict/src/registry.rs",
                "predict/src/sqlite/",
            ],
            elsewhere: &[
                (
                    "buffer/src/clock.rs",
                    "rules of a policy, named after a database",
                ),
                (
                    "buffer/src/midpoint.rs",
                    "rules of a policy, named after a database",
                ),
                ("buffer/src/named.rs", "policies, named after databases"),
                ("cli/src/documents.rs", "a page of docs/"),
                (
                    "cli/src/flags/bench.rs",
                    "the default, and an example of a URL",
                ),
                (
                    "database/src/external/url.rs",
                    "protocols of servers, not databases",
                ),
                (
                    "experiment/src/plan/mod.rs",
                    "the database of plans before there was a choice",
                ),
                (
                    "experiment/src/store/error.rs",
                    "the format of the result store",
                ),
                (
                    "experiment/src/store/mod.rs",
                    "the format of the result store",
                ),
                (
                    "recording/src/digest/tables.rs",
                    "schemas of servers' own, of which one is named as the server",
                ),
                ("report/src/sentence/caveat.rs", "an example of compression"),
                ("workload/src/tpce/scaled.rs", "examples of what rows take"),
            ],
        },
        Addition {
            noun: "workload",
            names: lower(workloads),
            is_in_texts: false,
            rooms: &[
                "workload/src/key_value/",
                "workload/src/lib.rs",
                "workload/src/pgbench/",
                "workload/src/registry.rs",
                "workload/src/tpcc/",
                "workload/src/tpce/",
                "workload/src/ycsb/",
            ],
            elsewhere: &[
                ("cli/src/documents.rs", "a page of docs/"),
                ("cli/src/samples.rs", "a plan of plans/"),
                ("cli/src/workload.rs", "a page of docs/"),
                (
                    "script/src/expression.rs",
                    "the language of scripts, which a workload's program reads too",
                ),
                (
                    "script/src/program.rs",
                    "the language of scripts, which a workload's program reads too",
                ),
                (
                    "cli/src/flags/bench.rs",
                    "the distribution of keys, which can be chosen",
                ),
                (
                    "experiment/src/advise.rs",
                    "the distribution of keys, which plans can vary",
                ),
                (
                    "experiment/src/plan/file/build.rs",
                    "an example, and the distribution of keys",
                ),
                (
                    "predict/src/innodb/kind.rs",
                    "times that were measured of it",
                ),
                (
                    "predict/src/postgres/kind.rs",
                    "times that were measured of it",
                ),
                (
                    "predict/src/sqlite/kind.rs",
                    "times that were measured of it",
                ),
                (
                    "report/src/sentence/caveat.rs",
                    "deviations from published specifications",
                ),
                ("report/src/sentence/method.rs", "a published specification"),
                (
                    "study/src/cell_figures.rs",
                    "TPC-C as a study ran it: with uniform numbers",
                ),
                (
                    "study/src/experiment.rs",
                    "TPC-C as a study ran it: with uniform numbers",
                ),
                (
                    "workload/src/keys/distribution.rs",
                    "a constant of Zipf's distribution",
                ),
                (
                    "workload/src/keys/zipf.rs",
                    "a constant of Zipf's distribution",
                ),
            ],
        },
        Addition {
            noun: "device",
            names: lower(catalog::names()),
            is_in_texts: true,
            rooms: &["device/src/catalog/texts.rs"],
            elsewhere: &[
                ("cli/src/value.rs", "an example"),
                (
                    "experiment/src/prediction/elsewhere.rs",
                    "one disk of each medium, which stands for it",
                ),
                ("study/src/catalog.rs", "a study of the same name"),
            ],
        },
        Addition {
            noun: "study",
            names: lower(octavo_study::names()),
            is_in_texts: true,
            rooms: &["study/src/catalog.rs"],
            elsewhere: &[(
                "device/src/catalog/texts.rs",
                "devices and machines of the same name",
            )],
        },
    ]
}

#[test]
fn what_is_added_in_one_place_is_named_in_one_place() {
    let sources = sources();
    let mut faults = Vec::new();
    for addition in additions() {
        let mut met: BTreeMap<&str, String> = BTreeMap::new();
        for (file, code) in &sources {
            let code = match addition.is_in_texts {
                true => texts(code),
                false => code.clone(),
            };
            let named = words(&code).find(|word| addition.names.contains(word));
            let (false, Some(name)) = (
                addition.rooms.iter().any(|room| file.starts_with(room)),
                named,
            ) else {
                continue;
            };
            met.insert(file, name);
        }
        for (file, name) in &met {
            if !addition.elsewhere.iter().any(|(known, _)| known == file) {
                faults.push(format!("crates/{file} knows the {} {name}", addition.noun));
            }
        }
        for (file, why) in addition.elsewhere {
            if !met.contains_key(file) {
                faults.push(format!(
                    "crates/{file} names no {} any more ({why})",
                    addition.noun
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_flag_is_declared_once() {
    let mut declared = HashSet::new();
    let mut faults = Vec::new();
    for (file, text) in rust_files() {
        if !file.starts_with("cli/src/flags/") {
            continue;
        }
        let mut help = String::new();
        for line in without_tests(&text).lines().map(str::trim) {
            if let Some(more) = line.strip_prefix("/// ") {
                help.push_str(more);
            } else if let Some(field) = line.strip_prefix("pub(crate) ") {
                if let Some((name, _)) = field.split_once(": ")
                    && !help.is_empty()
                    && !declared.insert((name.to_owned(), help.clone()))
                {
                    faults.push(format!("crates/{file} declares {name} again: {help}"));
                }
                help.clear();
            } else if line.is_empty() || line == "}" {
                help.clear();
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn renderers_know_no_section() {
    let sources = sources();
    let mut sections = BTreeSet::new();
    for (file, code) in &sources {
        let new = code.split("Section::new(").skip(1);
        let titles = new.filter_map(|call| call.split('"').nth(3));
        if file.starts_with("report/src/") {
            sections.extend(titles.filter(|title| !title.is_empty()));
        }
    }
    assert!(sections.contains("Throughput"), "{sections:?}");
    let mut faults = Vec::new();
    for (file, code) in &sources {
        if ["terminal", "html", "document"]
            .iter()
            .any(|name| *file == format!("report/src/{name}.rs"))
        {
            let known = sections
                .iter()
                .filter(|title| code.contains(&format!("\"{title}\"")));
            faults.extend(known.map(|title| format!("crates/{file} knows the section {title}")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_table_of_additions_names_files_that_there_are() {
    let root = crates().join("..");
    let text = fs::read_to_string(root.join("docs/ARCHITECTURE.md")).expect("the page");
    let table = text
        .split("\n## Where to add what\n")
        .nth(1)
        .expect("the section");
    let table = table.split("\n## ").next().expect("a part");
    let rows: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("| "))
        .collect();
    let quoted = rows
        .iter()
        .flat_map(|row| row.split('`').skip(1).step_by(2));
    let paths = quoted.filter(|text| text.starts_with("crates/") || text.starts_with("studies/"));
    let paths: Vec<&str> = paths
        .map(|path| path.split("NAME").next().unwrap_or(path))
        .collect();
    assert!(paths.len() > 12, "{paths:?}");
    for path in paths {
        assert!(
            root.join(path).exists(),
            "docs/ARCHITECTURE.md: {path} is not there"
        );
    }
    for noun in [
        "database",
        "workload",
        "device",
        "study",
        "flag",
        "section of reports",
    ] {
        let row = format!("| a {noun} |");
        assert!(
            rows.iter().any(|line| line.starts_with(&row)),
            "no row {row}"
        );
    }
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Sources of all crates but `hostile`, which is for tests, by their paths from crates/.
fn rust_files() -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut open = vec![crates()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).expect("a directory of sources") {
            let path = entry.expect("a source").path();
            let relative = path.strip_prefix(crates()).expect("it is below");
            let relative = relative.to_str().expect("ASCII names").to_owned();
            if path.is_dir() {
                open.push(path);
            } else if relative.ends_with(".rs") && relative.contains("/src/") {
                files.push((
                    relative,
                    fs::read_to_string(path).expect("sources are UTF-8"),
                ));
            }
        }
    }
    assert!(files.len() > 300, "{} sources", files.len());
    files.retain(|(file, _)| {
        let names: Vec<&str> = file.trim_end_matches(".rs").split('/').collect();
        let for_tests = ["hostile", "fixture", "tests", "made_up", "testing"];
        !names.iter().any(|name| for_tests.contains(name))
    });
    files.sort();
    files
}

/// The code of [`rust_files`]: no comments, and no tests.
fn sources() -> Vec<(String, String)> {
    let code = |text: &str| {
        let lines = without_tests(text).lines();
        let lines = lines.filter(|line| !line.trim_start().starts_with("//"));
        lines
            .map(|line| line.split(" // ").next().unwrap_or(line))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let files = rust_files().into_iter();
    files
        .map(|(file, text)| {
            let code = code(&text);
            (file, code)
        })
        .collect()
}

/// A file without its module of tests, which is the last item.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or(text)
}

/// What stands between quotation marks.
fn texts(code: &str) -> String {
    let code = code.replace("\\\"", "").replace("'\"'", "");
    code.split('"')
        .skip(1)
        .step_by(2)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The words of code in small letters; names have hyphens, and paths end a word.
fn words(code: &str) -> impl Iterator<Item = String> {
    let words =
        code.split(|letter: char| !letter.is_ascii_alphanumeric() && !"-_".contains(letter));
    words
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
}

fn lower<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_ascii_lowercase).collect()
}
