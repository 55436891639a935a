//! Every command in README and docs is run as it stands there, and every option that they
//! name is one.
//!
//! Each page has a directory of its own in which its commands are typed one after the other,
//! as a reader would. [`here`] has what is typed otherwise, and why.

mod example;
mod help;
mod here;
mod page;
mod scene;

use std::{fs, process::Command};

use crate::{complaint, emulate::can_mount, external::UsersServer, file_systems::can_make};
use help::{Help, options_in};
use here::{BEGUN, FOREIGN, INSTEAD, OTHERS, READ};
use page::{page, pages, repository};
use scene::Scene;

/// The pages whose commands are run, each by a test below.
const RUN: [&str; 25] = [
    "README.md",
    "docs/bench.md",
    "docs/buffers.md",
    "docs/cli.md",
    "docs/devices.md",
    "docs/emulation.md",
    "docs/energy.md",
    "docs/file-systems.md",
    "docs/fleet.md",
    "docs/how-to.md",
    "docs/key-value.md",
    "docs/libmdbx.md",
    "docs/lmdb.md",
    "docs/metrics.md",
    "docs/own-servers.md",
    "docs/own.md",
    "docs/per-table.md",
    "docs/plans.md",
    "docs/predictions.md",
    "docs/recordings.md",
    "docs/results.md",
    "docs/rocksdb.md",
    "docs/studies.md",
    "docs/tpce.md",
    "docs/value.md",
];

/// A block of a page by its language and a line that it has.
fn block(name: &str, language: &str, line: &str) -> String {
    let blocks = page(name).blocks().into_iter();
    let mut own = blocks.filter(|block| {
        block.language == language && block.text.lines().any(|own| own.starts_with(line))
    });
    let block = own.next();
    block.unwrap_or_else(|| panic!("no {line} in {name}")).text
}

#[test]
fn readme_works() {
    let scene = Scene::new();
    own_files(&scene);
    scene.types("README.md");
}

#[test]
fn metrics_page_works() {
    Scene::new().types("docs/metrics.md");
}

#[test]
fn libmdbx_page_works() {
    Scene::new().types("docs/libmdbx.md");
}

#[test]
fn lmdb_page_works() {
    Scene::new().types("docs/lmdb.md");
}

#[test]
fn key_value_page_works() {
    let scene = Scene::new();
    let shape = block("docs/key-value.md", "toml", "[tables.accounts]");
    // As many keys as are loaded in a moment.
    let shape = shape
        .replace("_000_000", "_000")
        .replace("_500_000", "_500");
    scene.write("shape.toml", &shape);
    scene.types("docs/key-value.md");
}

#[test]
fn rocksdb_page_works() {
    Scene::new().types("docs/rocksdb.md");
}

#[test]
fn file_systems_page_works() {
    if can_make() {
        Scene::new().types("docs/file-systems.md");
    }
}

#[test]
fn per_table_page_works() {
    Scene::new().types("docs/per-table.md");
}

#[test]
fn bench_page_works() {
    let (postgres, mariadb) = (UsersServer::postgres(), UsersServer::mariadb());
    let mut scene = Scene::new();
    scene.serve(&postgres.url, &mariadb.url);
    scene.types("docs/bench.md");
}

#[test]
fn command_line_page_works() {
    let scene = Scene::new();
    scene.write("prices.toml", &block("docs/value.md", "toml", "[prices]"));
    scene.write("profile.toml", &calibrated());
    scene.write("plan.toml", &small_plan());
    scene.write("hosts.txt", "n1\nn2\nn3\n");
    scene.write("space.toml", &modeled_plan());
    scene.write("devices.toml", &plan_of_devices());
    scene.write("trace.lis", &traced());
    own_files(&scene);
    scene.write("my-study.toml", &written("studies/pure-2012.toml"));
    scene.prepares("octavo advise --no-calibrate");
    scene.prepares("octavo predict on-disk --device st373455ss");
    scene.prepares("octavo predict on-ssd --device sata-tlc");
    scene.sits(0, "out/sitting-0");
    scene.sits(1, "out/sitting-1");
    scene.types("docs/cli.md");
}

#[test]
fn devices_page_works() {
    if !can_mount() {
        return;
    }
    let scene = Scene::new();
    let entry = scene.output("octavo devices show ec --toml").stdout;
    scene.write("mine.toml", &String::from_utf8(entry).unwrap());
    scene.write("profile.toml", &calibrated());
    scene.types("docs/devices.md");
}

#[test]
fn emulation_page_works() {
    if can_mount() {
        Scene::new().types("docs/emulation.md");
    }
}

#[test]
fn energy_page_works() {
    let scene = Scene::new();
    scene.write("mine.toml", &block("docs/energy.md", "toml", "processors"));
    scene.types("docs/energy.md");
}

#[test]
fn fleet_page_works() {
    let scene = Scene::new();
    scene.write("plan.toml", &small_plan());
    scene.write("hosts.txt", "n1\nn2\nn3\n");
    scene.write("devices.toml", &plan_of_devices());
    scene.types("docs/fleet.md");
}

#[test]
fn how_to_page_works() {
    let postgres = UsersServer::postgres();
    let mut scene = Scene::new();
    scene.serve(&postgres.url, "");
    scene.write("profile.toml", &calibrated());
    scene.write("plan.toml", &small_plan());
    scene.write("trace.lis", &traced());
    own_files(&scene);
    scene.prepares("octavo advise --passes 8");
    scene.prepares("octavo advise before --no-calibrate");
    scene.prepares("octavo advise after --no-calibrate");
    scene.types("docs/how-to.md");
}

#[test]
fn own_page_works() {
    let scene = Scene::new();
    own_files(&scene);
    scene.prepares("octavo advise --budget 2m");
    scene.types("docs/own.md");
}

#[test]
fn own_servers_page_works() {
    Scene::new().types("docs/own-servers.md");
}

#[test]
fn recordings_page_works() {
    Scene::new().types("docs/recordings.md");
}

#[test]
fn results_page_draws_what_it_says() {
    let scene = Scene::new();
    scene.types("docs/results.md");
    let store = rusqlite::Connection::open(scene.home().join("pages/octavo.db")).unwrap();
    let mut query = store
        .prepare(&block("docs/results.md", "sql", "FROM figures"))
        .unwrap();
    let cells = query.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let cells: Vec<String> = cells.map(Result::unwrap).collect();
    assert_eq!(cells, ["4 KiB pages", "8 KiB pages", "16 KiB pages"]);
    for (line, made, magic) in [
        ("import sqlite3", "ratios.png", b"\x89PNG"),
        ("import matplotlib", "ratios-duckdb.png", b"\x89PNG"),
        ("duckdb.sql(\"COPY", "pages.parquet", b"PAR1"),
    ] {
        let script = block("docs/results.md", "python", line);
        let output = Command::new("python3")
            .args(["-c", &script])
            .current_dir(scene.home())
            .env("PYTHONPATH", repository().join("target/python"))
            .env("MPLBACKEND", "Agg")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "./test installs what it imports\n{}",
            complaint(&output)
        );
        let made = fs::read(scene.home().join(made)).unwrap();
        assert!(made.starts_with(magic) && made.len() > 3000);
    }
}

/// A reader's own file, the script of docs/own.md, and a trace.
fn own_files(scene: &Scene) {
    let trace = "SELECT title FROM items WHERE id = 7;\nSELECT title FROM items WHERE id = 9;\n";
    scene.write("my.trace", trace);
    scene.write("mix.sql", &block("docs/own.md", "sql", "\\set item"));
    let file = rusqlite::Connection::open(scene.home().join("my.db")).unwrap();
    file.execute_batch(
        "PRAGMA journal_mode=WAL;
         CREATE TABLE items(id INTEGER PRIMARY KEY, title TEXT, path TEXT);
         CREATE TABLE plays(item INTEGER, at TEXT);
         CREATE INDEX plays_item ON plays(item);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
         INSERT INTO items SELECT i, 'title', 'path' FROM n;",
    )
    .unwrap();
}

#[test]
fn plans_page_works_and_a_bad_plan_is_refused_as_it_says() {
    let scene = Scene::new();
    let plan = block("docs/plans.md", "toml", "page-size = [");
    scene.write("plan.toml", &small(&plan));
    scene.types("docs/plans.md");

    let bad = plan.replace("[\"4K\", \"8K\", \"16K\"]", "[\"4K\", 5000]");
    scene.write("plan.toml", &bad);
    let output = scene.output("octavo run plan.toml");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        block("docs/plans.md", "", "octavo: plan.toml:11:")
    );
}

#[test]
fn predictions_page_works() {
    let scene = Scene::new();
    scene.prepares("octavo advise --budget 2m");
    let costs = "bench/runs/2026-11-26-cpu-catalog/cpu-postgres.toml";
    scene.write("cpu.toml", &written(costs));
    scene.write("space.toml", &modeled_plan());
    own_files(&scene);
    scene.types("docs/predictions.md");
}

#[test]
fn studies_page_works() {
    Scene::new().types("docs/studies.md");
}

#[test]
fn tpce_page_works() {
    Scene::new().types("docs/tpce.md");
}

#[test]
fn value_page_prints_what_it_shows() {
    let scene = Scene::new();
    scene.write("prices.toml", &block("docs/value.md", "toml", "[prices]"));
    assert_eq!(
        scene.types_in_full("docs/value.md"),
        block("docs/value.md", "", "on-st373455ss (predicted"),
        "docs/value.md does not show what is printed (left): run docs/example.sh"
    );
}

/// The plan of the command line's page with less data.
fn small_plan() -> String {
    small(&block("docs/cli.md", "toml", "[cells]"))
}

/// The plan of the page of plans with less data, all of which is modeled.
fn modeled_plan() -> String {
    small(&block("docs/plans.md", "toml", "page-size = ["))
}

/// The same, on a device that it names.
fn plan_of_devices() -> String {
    modeled_plan().replace("[cells]\n", "[cells]\nstorage = \"device:nvme-tlc\"\n")
}

/// A plan with rows that are loaded in a moment, a short warm-up and short slices, and little time for
/// predictions of other disks, which have a share of the budget.
fn small(plan: &str) -> String {
    let plan = ["30m", "1h", "2h"]
        .iter()
        .fold(plan.to_owned(), |plan, budget| {
            plan.replace(&format!("budget = \"{budget}\""), "budget = \"2m\"")
        });
    let tpcc = "name = \"tpcc\"\nwarehouses = ";
    let (before, after) = plan.split_once(tpcc).unwrap();
    let (_, after) = after.split_once('\n').unwrap();
    format!(
        "{before}name = \"ycsb-a\"\nrecords = 10000\n{after}\n[run]\ntransactions = 20\nwarm-up = 50\n"
    )
}

#[test]
fn buffers_page_prints_what_it_shows() {
    let scene = Scene::new();
    scene.write("trace.lis", &traced());
    assert_eq!(
        scene.types_in_full("docs/buffers.md"),
        block("docs/buffers.md", "", "trace.lis (lis)"),
        "docs/buffers.md does not show what is printed (left)"
    );
}

/// A small trace.
fn traced() -> String {
    written("docs/example/trace.lis")
}

/// What was calibrated of a disk.
fn calibrated() -> String {
    written("bench/runs/2026-11-22-twin/profile.toml")
}

/// The text of a file of the repository.
fn written(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap()
}

#[test]
fn each_command_of_every_page_is_run() {
    let help = Help::read();
    for page in pages() {
        for command in page.commands() {
            let place = format!("{}:{}: {}", page.name, command.line, command.text);
            let words = &command.words()[1..];
            if let Some(stands_for_all) = words.first()
                && INSTEAD.iter().any(|(old, ..)| old == stands_for_all)
            {
                continue;
            }
            let known = help.command(words);
            let known = known.unwrap_or_else(|| panic!("{place}: no such command"));
            for option in options_in(&command.text) {
                let options = help.options(known);
                assert!(options.contains(&option), "{place}: no {option}");
            }
            assert!(
                command.is_name() || RUN.contains(&page.name.as_str()),
                "{place}: no test here runs it"
            );
        }
        for block in page.blocks().iter().filter(|block| block.language == "sh") {
            for line in block.text.lines() {
                let is_begin = line.starts_with(char::is_alphabetic);
                let is_other = OTHERS.iter().any(|(begin, _)| line.starts_with(begin));
                assert!(
                    !is_begin || is_other || line.starts_with("octavo "),
                    "{}: {line} is neither run nor listed with a reason",
                    page.name
                );
            }
        }
    }
    // Of what is said of other commands in help.
    for (command, text) in help.texts() {
        for (place, _) in text.match_indices("octavo ") {
            let rest = text[place + 7..].lines().next().unwrap_or_default();
            let words: Vec<String> = rest.split_whitespace().map(str::to_owned).collect();
            let Some(named) = help.command(&words) else {
                continue;
            };
            let more = words.iter().skip(named.split(' ').count());
            for option in more.take_while(|word| word.starts_with("--")) {
                let option = option.trim_end_matches(|c: char| !c.is_alphanumeric());
                let options = help.options(named);
                assert!(options.contains(&option), "octavo {command} --help: {rest}");
            }
        }
    }
}

#[test]
fn exceptions_are_those_of_commands_that_are_there() {
    let commands: Vec<String> = pages()
        .iter()
        .flat_map(|page| page.commands())
        .map(|command| command.text)
        .collect();
    for (text, reason) in BEGUN.iter().chain(READ) {
        let is_there = commands.iter().any(|command| command == text);
        assert!(is_there, "{text} ({reason}) is on no page");
    }
    for (old, _, reason) in INSTEAD {
        let is_there = commands.iter().any(|command| command.contains(old));
        assert!(is_there, "{old} ({reason}) is in no command");
    }
    let texts: Vec<String> = pages().iter().map(|page| page.text().to_owned()).collect();
    for (text, reason) in OTHERS.iter().chain(FOREIGN) {
        let is_there = texts.iter().any(|page| page.contains(text));
        assert!(is_there, "{text} ({reason}) is on no page");
    }
}

#[test]
fn options_that_pages_name_are_there() {
    let help = Help::read();
    for page in pages() {
        let inline = page.inline_code().into_iter();
        let blocks = page.blocks().into_iter();
        let blocks = blocks.filter(|block| block.language != "toml");
        let code = inline.chain(blocks.map(|block| (block.line, block.text)));
        for (line, code) in code {
            for option in options_in(&code) {
                let is_foreign = FOREIGN.iter().any(|(name, _)| *name == option);
                assert!(
                    is_foreign || help.has(option),
                    "{}:{line}: no command has {option}",
                    page.name
                );
            }
        }
    }
}

#[test]
fn plans_are_those_that_run_takes() {
    let scene = Scene::new();
    own_files(&scene);
    let mut texts: Vec<(String, String)> = Vec::new();
    for directory in ["plans", "studies"] {
        for entry in fs::read_dir(repository().join(directory)).unwrap() {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            texts.push((path.display().to_string(), text));
        }
    }
    for page in pages() {
        let blocks = page.blocks().into_iter();
        let blocks = blocks.filter(|block| block.language == "toml");
        let named = blocks.map(|block| (format!("{}:{}", page.name, block.line), block.text));
        texts.extend(named);
    }
    let plans = texts
        .iter()
        .filter(|(_, text)| text.lines().any(|line| line == "[cells]"));
    let mut count = 0;
    for (place, text) in plans {
        scene.write("plan.toml", text);
        let output = scene.output("octavo run plan.toml --dry-run");
        // A plan was accepted if only disk space is missing.
        let complaint = complaint(&output);
        let full = complaint.contains(" free, but needs ");
        assert!(output.status.success() || full, "{place}: {complaint}");
        count += 1;
    }
    assert!(count >= 10, "{count} plans");
}
