use std::{fs, time::Duration};

use octavo_database::{Isolation, made_up::TOY};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{WorkloadName, made_up::TALLY};

use super::*;
use crate::plan::{Design, Factor, Level};

/// A sound plan; the tests replace single lines.
const SOUND: &str = r#"format = 1
name = "Page size and buffer"

[experiment]
seed = 7
margin = "2.5 %"
design = "full"
budget = "2h"
passes = 200
compare = "page-size"
reference = 8192
copies = 1

[run]
transactions = 50
warm-up = 2000

[workload]
name = "ycsb-b"
records = 1_000_000
row-bytes = [1000, "200"]
mix = "read=80,update=20"
distribution = "zipfian:0.9"

[cells]
database = "sqlite"
journal-mode = ["wal", "delete"]
page-size = ["4K", "8K"]
memory = ["128MiB", "512MiB"]
clients = "5..16 step 5"
cpus = [1, "all"]
storage = ["", "/mnt/hdd/octavo"]
isolation = "serializable"
"#;

fn parse(text: &str) -> Result<PlanFile, Refused> {
    parse_with(text, &Registries::standard())
}

fn parse_with(text: &str, known: &Registries) -> Result<PlanFile, Refused> {
    PlanFile::parse("plan.toml", text, known).map_err(|error| match error {
        PlanFileError::Refused(refused) => *refused,
        PlanFileError::Read { .. } => panic!("nothing is read: {error}"),
    })
}

/// The sound plan with its line that begins with `old` replaced.
fn with(old: &str, new: &str) -> (String, usize) {
    let line = SOUND
        .lines()
        .position(|line| line.starts_with(old))
        .unwrap_or_else(|| panic!("{old} is in the plan"));
    let text = SOUND
        .lines()
        .enumerate()
        .map(|(number, text)| if number == line { new } else { text })
        .fold(String::new(), |text, line| text + line + "\n");
    (text, line + 1)
}

/// Replacing the line that begins with `old` is refused in that line, with
/// carets below `place` and all the `words`.
#[track_caller]
fn refused(old: &str, new: &str, place: &str, words: &[&str]) {
    let (text, line) = with(old, new);
    refused_text(&text, line, place, words);
}

#[track_caller]
fn refused_text(text: &str, line: usize, place: &str, words: &[&str]) {
    let refused = parse(text).expect_err("the plan cannot be");
    assert_eq!(refused.line, line, "{refused}");
    let below: String = refused
        .text
        .chars()
        .skip(refused.column)
        .take(refused.width)
        .collect();
    assert_eq!(below, place, "{refused}");
    for word in words {
        assert!(refused.reason.contains(word), "{word} in: {refused}");
    }
}

#[test]
fn the_users_own_workload_is_no_name() {
    let text = "format = 1\n[workload]\nname = \"own\"\n[cells]\nmemory = \"8MiB\"\n";
    let error = PlanFile::parse("plan.toml", text, &Registries::standard()).unwrap_err();
    assert!(
        error.to_string().contains("workload 'own' is not known"),
        "{error}"
    );
}

#[test]
fn every_key_is_read() {
    let file = parse(SOUND).unwrap();
    let plan = &file.plan;
    assert_eq!(file.budget, Some(Duration::from_secs(7200)));
    assert_eq!(file.passes, Some(200));
    let slices = SliceLength {
        transactions: Some(50),
        warm_up: Some(2000),
    };
    assert_eq!(file.slices, slices);
    assert_eq!(plan.name.as_deref(), Some("Page size and buffer"));
    assert_eq!(plan.seed, Seed::new(7));
    assert_eq!(plan.margin, 0.025);
    assert_eq!(plan.design, Design::Full);
    assert_eq!(plan.compare, Factor::PageSize);
    let page = |bytes| PageSize::new(bytes).unwrap();
    assert_eq!(plan.reference, Some(Level::PageSize(page(8192))));
    assert_eq!(plan.page_sizes, [page(4096), page(8192)]);
    assert_eq!(plan.memories, [ByteCount::mib(128), ByteCount::mib(512)]);
    assert_eq!(plan.clients, [5, 10, 15]);
    assert_eq!(plan.cpus, [Some(1), None]);
    assert_eq!(
        plan.storages,
        [Storage::Own, Storage::Directory("/mnt/hdd/octavo".into())]
    );
    assert_eq!(plan.isolation, Some(Isolation::Serializable));
    let modes: Vec<_> = plan
        .databases
        .iter()
        .map(|s| s.option("journal-mode"))
        .collect();
    assert_eq!(modes, [Some("wal"), Some("delete")]);
    let rows = |row| {
        let given = [("records", 1_000_000), ("row-bytes", row)];
        plan.workload.data_spec(&given).unwrap()
    };
    assert_eq!(plan.data, [rows(1000), rows(200)]);
    assert_eq!(plan.workload.name(), "ycsb-b");
    assert_eq!(plan.mix.as_deref(), Some("read=80,update=20"));
    assert_eq!(plan.distribution.as_deref(), Some("zipfian:0.9"));
    assert_eq!(plan.cells().len(), 2 * 2 * 2 * 2 * 3 * 2 * 2);
    for group in plan.groups() {
        assert_eq!(group.reference, 1);
    }
}

#[test]
fn omitted_keys_have_defaults() {
    let file = parse(
        "format = 1\nworkload = {name = \"tpcc\", warehouses = 2}\n\
         cells = {memory = [1048576, \"8MiB\"]}\n",
    )
    .unwrap();
    let plan = &file.plan;
    assert_eq!(
        (file.budget, file.passes, file.slices),
        (None, None, SliceLength::default())
    );
    assert_eq!(plan.workload, WorkloadName::default());
    let rows = plan.workload.data_spec(&[("warehouses", 2)]).unwrap();
    assert_eq!(plan.data, [rows]);
    assert_eq!(plan.seed, Seed::new(1));
    assert_eq!(plan.margin, 0.03);
    assert_eq!(plan.design, Design::Race);
    assert_eq!(plan.compare, Factor::Memory);
    assert_eq!(plan.reference, None);
    assert_eq!(plan.page_sizes, [PageSize::new(4096).unwrap()]);
    assert_eq!(plan.databases[0].option("journal-mode"), Some("wal"));
    assert_eq!(plan.storages, [Storage::Own]);
    assert_eq!((&plan.clients[..], &plan.cpus[..]), (&[1][..], &[None][..]));
    assert_eq!(plan.copies, 1);
}

#[test]
fn equal_forms_give_equal_plans() {
    let mut text = SOUND.to_owned();
    for (old, new) in [
        ("\"2.5 %\"", "0.025"),
        ("\"4K\", \"8K\"", "4096, \"8 KiB\""),
        ("\"5..16 step 5\"", "[5, \"10..15 step 5\"]"),
        ("1_000_000", "1000000"),
        ("reference = 8192", "reference = \"8K\""),
    ] {
        assert!(text.contains(old));
        text = text.replace(old, new);
    }
    assert_eq!(parse(&text).unwrap().plan, parse(SOUND).unwrap().plan);
}

#[test]
fn syntax_is_refused_at_its_line() {
    let (text, line) = with("seed", "seed = ");
    assert_eq!(parse(&text).unwrap_err().line, line);
    let (text, line) = with("seed", "seed = 1\nseed = 2");
    let refused = parse(&text).unwrap_err();
    assert_eq!(refused.line, line + 1, "{refused}");
    assert!(refused.reason.contains("duplicate key"), "{refused}");
    let (text, line) = with("memory", "memory = [\"8MiB\"");
    assert!(parse(&text).unwrap_err().line >= line);
    let (text, line) = with("name = \"ycsb", "name = \"ycsb-b");
    let refused = parse(&text).unwrap_err();
    assert_eq!(refused.line, line);
    assert!(!refused.reason.contains('\n'), "{refused}");
}

#[test]
fn another_format_is_refused_first() {
    refused("format", "format = 2", "2", &["format 2", "format 1"]);
    refused("format", "format = \"1\"", "\"1\"", &["whole number"]);
    let refused = parse("[cells]\nnonsense = 1\n").unwrap_err();
    assert_eq!(refused.line, 1);
    assert!(refused.reason.contains("format = 1"), "{refused}");
    let text = format!("{SOUND}whatever = 1\n").replace("format = 1", "format = 99");
    refused_text(&text, 1, "99", &["format 99"]);
}

#[test]
fn unknown_keys_get_a_suggestion() {
    refused(
        "page-size",
        "page-sizes = [\"4K\"]",
        "page-sizes",
        &["[cells]", "did you mean page-size?"],
    );
    refused(
        "seed",
        "colour = 1",
        "colour",
        &["[experiment]", "seed, margin"],
    );
    refused("[run]", "[runs]", "runs", &["did you mean run?"]);
    refused(
        "records",
        "record = 5",
        "record",
        &["did you mean records?"],
    );
    refused(
        "transactions",
        "transaction = 50",
        "transaction",
        &["did you mean transactions?"],
    );
    refused(
        "name = \"Page",
        "title = \"x\"",
        "title",
        &["a plan has no 'title'"],
    );
}

#[test]
fn wrong_types_are_refused_with_the_possible_forms() {
    refused(
        "seed",
        "seed = \"one\"",
        "\"one\"",
        &["string", "a whole number"],
    );
    refused("seed", "seed = -1", "-1", &["from 0"]);
    refused("margin", "margin = true", "true", &["`true`", "0.03"]);
    refused("budget", "budget = 300", "300", &["a time in quotes", "5m"]);
    refused(
        "memory",
        "memory = 1.5",
        "1.5",
        &["floating point", "32MiB"],
    );
    refused("design", "design = 1", "1", &["\"race\"", "\"full\""]);
    refused(
        "database",
        "database = [[\"sqlite\"]]",
        "[\"sqlite\"]",
        &["list", "a text in quotes"],
    );
    refused("clients", "clients = {}", "{}", &["table", "5..60 step 5"]);
    refused(
        "name = \"Page",
        "name = 1979-05-27",
        "1979-05-27",
        &["a text in quotes"],
    );
    refused("cpus", "cpus = 1.0", "1.0", &["\"all\""]);
    let text = SOUND
        .replace("[run]\n", "")
        .replace("transactions = 50\nwarm-up = 2000\n", "");
    let text = text.replace("format = 1\n", "format = 1\nrun = 5\n");
    refused_text(&text, 2, "5", &["write [run]"]);
}

#[test]
fn impossible_values_are_refused_with_the_possible_ones() {
    for (old, new, place, words) in [
        (
            "page-size",
            "page-size = [\"4K\", 5000]",
            "5000",
            &["power of two"][..],
        ),
        ("page-size", "page-size = \"128K\"", "\"128K\"", &["65536"]),
        (
            "memory",
            "memory = [\"8MiB\", \"lots\"]",
            "\"lots\"",
            &["64MiB"],
        ),
        ("margin", "margin = \"0 %\"", "\"0 %\"", &["above 0"]),
        ("margin", "margin = 3", "3", &["below 1", "3 %"]),
        ("margin", "margin = nan", "nan", &["above 0"]),
        (
            "design",
            "design = \"rase\"",
            "\"rase\"",
            &["did you mean race?"],
        ),
        ("budget", "budget = \"soon\"", "\"soon\"", &["5m"]),
        ("budget", "budget = \"0s\"", "\"0s\"", &["no time at all"]),
        ("budget", "budget = \"9000h\"", "\"9000h\"", &["a year"]),
        (
            "passes",
            "passes = 0",
            "0",
            &["0 is not possible", "from 1"],
        ),
        ("copies", "copies = 0", "0", &["0 is not possible"]),
        ("transactions", "transactions = 0", "0", &["from 1"]),
        (
            "name = \"ycsb",
            "name = \"ycsb-z\"",
            "\"ycsb-z\"",
            &["did you mean ycsb-"],
        ),
        (
            "name = \"ycsb",
            "name = \"tpch\"",
            "\"tpch\"",
            &["did you mean tpcc?"],
        ),
        ("records", "records = 0", "0", &["records", "1 to"]),
        ("records", "warehouses = 1", "1", &["YCSB", "records"]),
        (
            "row-bytes",
            "row-bytes = [1000, 7]",
            "7",
            &["row-bytes", "multiple of 10"],
        ),
        (
            "mix",
            "mix = \"read=80,brew=20\"",
            "\"read=80,brew=20\"",
            &["read, update"],
        ),
        (
            "distribution",
            "distribution = \"zipf\"",
            "\"zipf\"",
            &["zipfian"],
        ),
        (
            "distribution",
            "distribution = \"zipfian:2\"",
            "\"zipfian:2\"",
            &["theta '2'"],
        ),
        (
            "database",
            "database = \"sqlight\"",
            "\"sqlight\"",
            &["did you mean sqlite?"],
        ),
        (
            "journal-mode",
            "journal-mode = [\"wal\", \"off\"]",
            "\"off\"",
            &["truncate"],
        ),
        ("clients", "clients = [1, 0]", "0", &["0 is not possible"]),
        ("cpus", "cpus = [\"some\"]", "\"some\"", &["\"all\""]),
        (
            "isolation",
            "isolation = \"snapshot\"",
            "\"snapshot\"",
            &["serializable"],
        ),
        // What the database refuses.
        (
            "memory",
            "memory = [\"128MiB\", \"64K\"]",
            "\"64K\"",
            &["memory 64 KiB", "at least"],
        ),
        (
            "isolation",
            "isolation = \"read-committed\"",
            "\"read-committed\"",
            &["serializable"],
        ),
    ] {
        refused(old, new, place, words);
    }
}

#[test]
fn lists_have_each_entry_once() {
    refused("memory", "memory = []", "[]", &["empty", "at least one"]);
    refused(
        "page-size",
        "page-size = [\"4K\", 4096]",
        "4096",
        &["twice"],
    );
    refused(
        "storage",
        "storage = [\"a\", \"b\", \"a\"]",
        "\"a\"",
        &["twice"],
    );
    refused("clients", "clients = [5, \"1..5\"]", "\"1..5\"", &["twice"]);
}

/// A sound plan of ramps; nothing has to say when it ends.
const RAMPS: &str = r#"format = 1
[experiment]
seed = 7
[workload]
name = "tpcc"
warehouses = 2
[cells]
page-size = ["4K", "8K"]
memory = ["64MiB", "128MiB"]
[clients]
ramp = "5..62/5"
step = "90s"
"#;

#[test]
fn cells_with_a_schedule_of_clients_are_ramps() {
    let file = parse(RAMPS).unwrap();
    let ramp = file.plan.ramp.unwrap();
    assert_eq!(ramp.clients.to_string(), "5..60/5");
    assert_eq!(ramp.step, Duration::from_secs(90));
    // Sessions are those of the last step, and no list has to be compared.
    assert_eq!(file.plan.clients, [60]);
    assert_eq!(file.plan.cells().len(), 4);
    assert_eq!((file.budget, file.passes), (None, None));
    file.check(Path::new("/nonexistent/octavo")).unwrap();
    let mut order = file.plan.order_of_ramps();
    order.sort_unstable();
    assert_eq!(order, [0, 1, 2, 3]);
    let minute = parse(&RAMPS.replace("step = \"90s\"\n", "")).unwrap();
    assert_eq!(minute.plan.ramp.unwrap().step, Duration::from_secs(60));
    // A single cell is enough.
    let one = RAMPS.replace("[\"4K\", \"8K\"]", "\"8K\"");
    let one = one.replace("[\"64MiB\", \"128MiB\"]", "\"64MiB\"");
    assert_eq!(parse(&one).unwrap().plan.cells().len(), 1);
    // What is kept of a plan is the same plan, and of others as it was.
    let text = serde_json::to_string(&file.plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), file.plan);
    let lockstep = serde_json::to_string(&parse(SOUND).unwrap().plan).unwrap();
    assert!(!lockstep.contains("ramp"), "{lockstep}");
}

#[test]
fn ramps_that_cannot_be_are_refused_at_their_key() {
    let refused = |old: &str, new: &str, line: usize, place: &str, words: &[&str]| {
        assert!(RAMPS.contains(old));
        refused_text(&RAMPS.replacen(old, new, 1), line, place, words);
    };
    let ramp = "\"5..62/5\"";
    for (new, words) in [
        ("\"60..5/5\"", "to more clients, not 60..5/5"),
        ("\"0..5\"", "at least 1 client"),
        ("\"5..60 step 5\"", "write FIRST..LAST/BY, such as 5..60/5"),
        ("\"1..900000/5\"", "at most 100000 clients, not 900000"),
        ("\"1..100000\"", "choose fewer or shorter ones"),
        ("[5, 10]", "a ramp in quotes such as"),
    ] {
        let place = if new == "[5, 10]" { "[5, 10]" } else { new };
        let text = RAMPS.replace("90s", "1h");
        refused_text(&text.replace(ramp, new), 11, place, &[words]);
    }
    refused(
        "\"90s\"",
        "\"4s\"",
        12,
        "\"4s\"",
        &["step must be at least 5s"],
    );
    refused(
        "step =",
        "steps =",
        12,
        "steps",
        &["[clients]", "did you mean step?"],
    );
    let missing = "ramp = \"5..62/5\"\n";
    refused(
        missing,
        "",
        10,
        "[clients]",
        &["ramp is missing in [clients]"],
    );
    refused(
        "[clients]",
        "clients = 4\n[clients]",
        10,
        "4",
        &["clients in [cells] and ramp in [clients]", "remove one"],
    );
    for (line, key) in [
        ("passes = 3", "passes"),
        ("design = \"full\"", "design"),
        ("margin = 0.05", "margin"),
        ("compare = \"memory\"", "compare"),
        ("reference = \"4K\"", "reference"),
    ] {
        let value = line.split_once("= ").unwrap().1;
        let words = [&format!("remove {key} or [clients]")[..], "lockstep"];
        refused("seed = 7", line, 3, value, &words);
    }
    for key in ["transactions", "warm-up"] {
        let words = [&format!("remove {key} or [clients]")[..]];
        refused(
            "[workload]",
            &format!("[run]\n{key} = 9\n[workload]"),
            5,
            "9",
            &words,
        );
    }
    // Sessions need memory: those of the last step.
    refused(
        "\"64MiB\"",
        "\"4MiB\"",
        9,
        "\"4MiB\"",
        &["60 clients", "at least"],
    );
}

#[test]
fn ranges_have_both_ends_where_the_step_fits() {
    let clients = |range: &str| {
        let (text, _) = with("clients", &format!("clients = \"{range}\""));
        parse(&text).unwrap().plan.clients
    };
    assert_eq!(clients("5..60 step 5").len(), 12);
    assert_eq!(clients("5..60 step 5").last(), Some(&60));
    assert_eq!(clients("1..10 step 4"), [1, 5, 9]);
    assert_eq!(clients("2..4"), [2, 3, 4]);
    assert_eq!(clients("3 .. 3 step 9"), [3]);
    for (range, word) in [
        ("60..5 step 5", "backwards"),
        ("5..60 step 0", "never ends"),
        ("5..60 by 5", "5..60 step 5"),
        ("0..4", "from 1"),
        ("1..4000000000", "from 1"),
        ("1..5000", "1000 entries"),
        ("many", "not a range"),
        ("..", "not a range"),
    ] {
        let place = format!("\"{range}\"");
        refused("clients", &format!("clients = {place}"), &place, &[word]);
    }
}

#[test]
fn an_unclear_comparison_is_refused() {
    refused(
        "compare",
        "compare = \"pagesize\"",
        "\"pagesize\"",
        &["did you mean page-size?"],
    );
    let (text, _) = with("page-size", "page-size = \"8K\"");
    let line = line_of(&text, "compare");
    refused_text(
        &text,
        line,
        "\"page-size\"",
        &["one page-size", "at least two"],
    );
}

/// The plan without a key.
fn without(text: &str, key: &str) -> String {
    text.lines()
        .filter(|line| !line.starts_with(key))
        .fold(String::new(), |text, line| text + line + "\n")
}

fn line_of(text: &str, begin: &str) -> usize {
    1 + text
        .lines()
        .position(|line| line.starts_with(begin))
        .unwrap()
}

#[test]
fn several_lists_without_page_sizes_need_compare() {
    let open = without(&without(SOUND, "compare"), "reference");
    assert_eq!(parse(&open).unwrap().plan.compare, Factor::PageSize);
    let text = without(&open, "page-size");
    let line = line_of(&text, "journal-mode");
    refused_text(
        &text,
        line,
        "[\"wal\", \"delete\"]",
        &[
            "journal-mode, row-bytes, storage, cpus, clients, memory",
            "compare = \"journal-mode\"",
        ],
    );
    let mut one = text;
    for key in ["journal-mode", "row-bytes", "storage", "cpus", "clients"] {
        one = without(&one, key);
    }
    assert_eq!(parse(&one).unwrap().plan.compare, Factor::Memory);
    let single = one.replace("[\"128MiB\", \"512MiB\"]", "\"8MiB\"");
    let line = line_of(&single, "[cells]");
    refused_text(
        &single,
        line,
        "[cells]",
        &["nothing to compare", "octavo bench"],
    );
    let copies = single.replace("copies = 1", "copies = 3");
    assert_eq!(parse(&copies).unwrap().plan.compare, Factor::Copy);
}

#[test]
fn references_are_found_in_every_list() {
    for (compare, reference, place) in [
        ("page-size", "\"8K\"", 1),
        ("memory", "\"0.5 GiB\"", 1),
        ("storage", "\"/mnt/hdd/octavo\"", 1),
        ("clients", "15", 2),
        ("cpus", "\"all\"", 1),
        ("row-bytes", "200", 1),
        ("journal-mode", "\"delete\"", 1),
        ("database", "\"delete\"", 1),
    ] {
        let text = SOUND
            .replace(
                "compare = \"page-size\"",
                &format!("compare = \"{compare}\""),
            )
            .replace("reference = 8192", &format!("reference = {reference}"));
        let plan = parse(&text).unwrap_or_else(|error| panic!("{error}")).plan;
        assert!(
            plan.groups().iter().all(|group| group.reference == place),
            "{compare}"
        );
    }
    refused(
        "reference",
        "reference = \"16K\"",
        "\"16K\"",
        &["choose 4096, 8192"],
    );
    refused("reference", "reference = true", "true", &["compared list"]);
    let text = SOUND
        .replace("compare = \"page-size\"", "compare = \"journal-mode\"")
        .replace("reference = 8192", "reference = \"sqlite\"");
    let line = line_of(&text, "reference");
    refused_text(&text, line, "\"sqlite\"", &["several"]);
    let text = SOUND.replace("copies = 1", "copies = 3");
    let text = text.replace("compare = \"page-size\"", "compare = \"copies\"");
    let text = text.replace("reference = 8192", "reference = 3");
    assert_eq!(parse(&text).unwrap().plan.reference, Some(Level::Copy(3)));
    let text = text.replace("reference = 3", "reference = 4");
    let line = line_of(&text, "reference");
    refused_text(&text, line, "4", &["choose 1, 2, 3"]);
}

#[test]
fn missing_keys_are_refused_at_their_section() {
    for (key, section, words) in [
        ("records", "[workload]", &["records", "how much data"][..]),
        (
            "name = \"ycsb-b\"",
            "[workload]",
            &["name = \"tpcc\"", "pgbench"],
        ),
        ("memory", "[cells]", &["memory is missing"]),
    ] {
        let text = without(SOUND, key);
        let line = line_of(&text, section);
        refused_text(&text, line, section, words);
    }
    let refused = parse("format = 1\n").unwrap_err();
    assert_eq!(refused.line, 1);
    let text = SOUND
        .replace("ycsb-b", "tpcc")
        .replace("records", "warehouses");
    let line = line_of(&text, "row-bytes");
    refused_text(&text, line, "1000", &["TPC-C"]);
    let text = without(&text, "row-bytes");
    let line = line_of(&text, "mix");
    refused_text(
        &without(&text, "distribution"),
        line,
        "\"read=80,update=20\"",
        &["new-order"],
    );
    let text = without(&text, "mix");
    let line = line_of(&text, "distribution");
    refused_text(&text, line, "\"zipfian:0.9\"", &["TPC-C"]);
}

#[test]
fn too_many_cells_are_refused() {
    let (text, _) = with("clients", "clients = \"1..1000\"");
    let refused = parse(&text).unwrap_err();
    assert!(refused.reason.contains("64000 cells"), "{refused}");
}

#[test]
fn a_plan_without_an_end_is_refused() {
    let check = |keys: &[&str]| {
        let text = keys
            .iter()
            .fold(without(SOUND, "cpus"), |text, key| without(&text, key));
        match parse(&text)
            .unwrap()
            .check(Path::new("/nonexistent/octavo"))
        {
            Ok(()) => None,
            Err(error) => Some(error.to_string()),
        }
    };
    assert_eq!(check(&[]), None);
    assert_eq!(check(&["passes"]), None);
    assert_eq!(check(&["budget"]), None);
    let refusal = check(&["budget", "passes"]).unwrap();
    assert!(refusal.contains("when to end"), "{refusal}");
    assert!(refusal.starts_with("plan.toml:1: "), "{refusal}");
}

#[test]
fn storages_can_be_emulated_devices() {
    let (text, _) = with("storage", "storage = [\"\", \"device:instant\"]");
    assert_eq!(
        parse(&text).unwrap().plan.storages,
        [Storage::Own, Storage::Device("instant".into())]
    );
    let (text, line) = with("storage", "storage = [\"device:instnat\"]");
    let refusal = parse(&text).unwrap_err().to_string();
    assert!(
        refusal.starts_with(&format!("plan.toml:{line}: "))
            && refusal.contains("did you mean instant?"),
        "{refusal}"
    );
}

#[test]
fn equal_storages_and_missing_cpus_are_refused() {
    let check = |old: &str, new: &str, directory: &str| {
        let (text, line) = with(old, new);
        let text = if old == "cpus" {
            text
        } else {
            text.replace("[1, \"all\"]", "1")
        };
        let refusal = parse(&text)
            .unwrap()
            .check(Path::new(directory))
            .unwrap_err()
            .to_string();
        assert!(
            refusal.starts_with(&format!("plan.toml:{line}: ")),
            "{refusal}"
        );
        refusal
    };
    let refusal = check("storage", "storage = [\"\", \"/x/y\"]", "/x/y");
    assert!(refusal.contains("'/x/y'"), "{refusal}");
    check("storage", "storage = [\"/\", \"/../\"]", "elsewhere");
    let refusal = check("cpus", "cpus = [1, 1_000_000]", "elsewhere");
    assert!(refusal.contains("1000000 CPUs"), "{refusal}");
}

#[test]
fn no_text_makes_reading_panic() {
    for end in 0..SOUND.len() {
        let _any = parse(&SOUND[..end]);
    }
    for (at, _) in SOUND.char_indices() {
        let mut text = SOUND.to_owned();
        text.remove(at);
        let _any = parse(&text);
    }
}

#[test]
fn the_sample_plans_are_read() {
    let plans = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
    let mut compared = Vec::new();
    for entry in fs::read_dir(plans).unwrap() {
        let file = PlanFile::read(&entry.unwrap().path(), &Registries::standard()).unwrap();
        file.check(Path::new("/nonexistent/octavo")).unwrap();
        compared.push(file.plan.compare);
    }
    for factor in [Factor::PageSize, Factor::Database, Factor::Copy] {
        assert!(compared.contains(&factor), "{factor}");
    }
}

#[test]
fn the_refusal_in_the_documentation_is_the_one_that_is_shown() {
    let documentation = include_str!("../../../../../docs/plans.md");
    let mut blocks = documentation.split("```");
    let plan = blocks
        .find_map(|block| block.strip_prefix("toml\n"))
        .unwrap();
    parse(plan).unwrap();
    let line = "page-size = [\"4K\", \"8K\", \"16K\"]";
    assert!(plan.contains(line));
    let refused = parse(&plan.replace(line, "page-size = [\"4K\", 5000]")).unwrap_err();
    assert!(
        documentation.contains(&format!("```\noctavo: {refused}\n```")),
        "{refused}"
    );
}

#[test]
fn every_key_is_documented() {
    let documentation = include_str!("../../../../../docs/plans.md");
    let mut count = 0;
    // The keys of a section are those that an unknown one is refused with.
    for section in [
        "",
        "[experiment]\n",
        "[run]\n",
        "[workload]\n",
        "[cells]\n",
        "[clients]\n",
    ] {
        let refused = parse(&format!("format = 1\n{section}quite-unknown = 1\n")).unwrap_err();
        let (_, keys) = refused.reason.split_once("choose ").unwrap();
        for key in keys.split(", ") {
            let is_section = section::SECTIONS.contains(&key);
            let row = if is_section {
                format!("`[{key}]`")
            } else {
                format!("| `{key}` |")
            };
            assert!(documentation.contains(&row), "{key}");
            count += 1;
        }
    }
    assert!(count > 35, "{count}");
    for (name, _) in build::factors(&Registries::standard()) {
        assert!(documentation.contains(&format!("`\"{name}\"`")), "{name}");
    }
}

fn with_made_up() -> Registries {
    let Registries {
        databases,
        workloads,
    } = Registries::standard();
    Registries {
        databases: databases.with(&TOY),
        workloads: workloads.with(&TALLY),
    }
}

const MADE_UP: &str = "format = 1
[workload]
name = \"tally\"
counters = 7
[cells]
database = \"toy\"
color = [\"red\", \"blue\"]
memory = \"8MiB\"
";

#[test]
fn a_registered_database_and_workload_have_their_plan_keys() {
    let plan = parse_with(MADE_UP, &with_made_up()).unwrap().plan;
    assert_eq!(plan.workload.name(), "tally");
    assert_eq!(plan.data[0].to_string(), "Tally, counters: 7");
    assert_eq!(plan.compare, Factor::Database);
    let colors: Vec<Option<&str>> = plan
        .databases
        .iter()
        .map(|database| database.option("color"))
        .collect();
    assert_eq!(colors, [Some("red"), Some("blue")]);
}

#[test]
fn a_registered_database_and_workload_refuse_values_in_their_lines() {
    for (old, new, line, part) in [
        ("counters = 7", "counters = 1001", 4, "1000"),
        ("counters = 7", "warehouses = 1", 4, "warehouses"),
        ("\"blue\"", "\"green\"", 7, "choose red or blue"),
        ("color =", "colour =", 7, "did you mean color?"),
        ("\"toy\"", "\"toi\"", 6, "did you mean toy?"),
    ] {
        let refused = parse_with(&MADE_UP.replace(old, new), &with_made_up()).unwrap_err();
        assert_eq!(refused.line, line, "{refused}");
        assert!(refused.reason.contains(part), "{refused}");
    }
    // Without their lines in the registries there are no such names and keys.
    let refused = parse(MADE_UP).unwrap_err();
    assert!(refused.reason.contains("counters"), "{refused}");
}
