//! `octavo value`: what predicted results are worth at prices.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use serde_json::Value;

use crate::{complaint, octavo, refused};

/// Results of three caches and two page sizes on a device.
fn predicted(home: &Path, device: &str, caches: &str) -> PathBuf {
    predicted_in(home, device, caches, 8)
}

/// The same, of so many passes.
fn predicted_in(home: &Path, device: &str, caches: &str, passes: u32) -> PathBuf {
    let directory = home.join(device);
    let output = octavo()
        .arg("predict")
        .arg(&directory)
        .args([
            &format!("--device={device}"),
            &format!("--cache={caches}"),
            "--memory=8MiB",
            "--warehouses=1",
            "--page-sizes=4K,16K",
            &format!("--passes={passes}"),
            "--transactions=40",
            "--warm-up=2000",
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    directory
}

fn value(directories: &[&Path], arguments: &[&str]) -> Output {
    octavo()
        .arg("value")
        .args(directories)
        .args(arguments)
        .output()
        .unwrap()
}

fn text(output: Output) -> String {
    assert!(output.status.success(), "{}", complaint(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

fn json(output: Output) -> Value {
    assert!(output.status.success(), "{}", complaint(&output));
    crate::schema::conforms("value", &output.stdout);
    serde_json::from_slice(&output.stdout).unwrap()
}

const PRICES: [&str; 3] = [
    "--memory-price=5/GiB",
    "--machine-price=1",
    "--currency=EUR",
];

#[test]
fn predictions_of_two_devices_are_compared_by_money() {
    let home = tempfile::tempdir().unwrap();
    let disk = predicted(home.path(), "st373455ss", "1MiB,2MiB,8MiB");
    let flash = predicted(home.path(), "sata-tlc", "1MiB,2MiB,8MiB");
    let both = [disk.as_path(), flash.as_path()];
    let storages = ["--storage-price=st373455ss=2", "--device=sata-tlc=3"];
    let mut arguments = [&PRICES[..], &storages].concat();
    let said = text(value(&both, &arguments));
    for wanted in [
        "Most throughput for the money: ",
        "pages with 8 MiB of memory on sata-tlc",
        "On st373455ss, ",
        "From ",
        "sata-tlc",
        "On st373455ss, keep a 4 KiB page in memory if it is read every",
        "Predicted, not measured",
        "Best page size of each storage and memory (predicted)",
        "████",
    ] {
        assert!(said.contains(wanted), "{wanted} in {said}");
    }
    let page = home.path().join("value.html");
    let html = format!("--html={}", page.display());
    arguments.extend(["--json", &html]);
    let found = json(value(&both, &arguments));
    assert_eq!(found["format"], 3);
    assert_eq!(found["prices"]["memory"], 5.0);
    assert_eq!(found["prices"]["storages"]["st373455ss"], 2.0);
    assert_eq!(found["results"][1]["source"], "predicted");
    let cells = found["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2 * 3 * 2);
    for cell in cells {
        let figure = |value: &Value| value.as_f64().unwrap();
        let gib = figure(&cell["memory"]) / f64::from(1 << 30);
        let storage = if cell["storage"] == "sata-tlc" {
            3.0
        } else {
            2.0
        };
        let cost = 1.0 + 5.0 * gib + storage;
        assert!((figure(&cell["cost"]) - cost).abs() < 1e-9, "{cell}");
        let rate = figure(&cell["throughput"]["estimate"]) / cost * 1000.0;
        assert!((figure(&cell["per_thousand"]) / rate - 1.0).abs() < 1e-9);
    }
    let best = &cells[found["best"].as_u64().unwrap() as usize];
    assert_eq!(best["storage"], "sata-tlc");
    let setting = &found["settings"][0];
    assert_eq!(setting["curves"].as_array().unwrap().len(), 4);
    assert_eq!(setting["curves"][0]["knee"]["steps"][1]["to"], 8 << 20);
    assert_eq!(setting["choices"][0]["storage"]["storage"], "sata-tlc");
    // Gray and Graefe's formula, from what is said beside it.
    for rule in found["break_even"].as_array().unwrap() {
        let price = rule["price"].as_f64().unwrap();
        for page in rule["pages"].as_array().unwrap() {
            let figure = |name: &str| page[name].as_f64().unwrap();
            let per_gib = f64::from(1 << 30) / figure("page_size");
            let by_hand = per_gib / figure("per_s") * (price / 5.0);
            assert!(
                (figure("interval_s") / by_hand - 1.0).abs() < 1e-9,
                "{page}"
            );
        }
    }
    assert!(
        found["sentences"][0]
            .as_str()
            .unwrap()
            .starts_with("Most throughput")
    );
    let page = fs::read_to_string(page).unwrap();
    assert_eq!(page.matches("<svg").count(), 3);
    assert!(page.contains("(predicted)"));
}

#[test]
fn the_cheapest_that_holds_a_rate_is_as_by_hand() {
    let home = tempfile::tempdir().unwrap();
    let disk = predicted_in(home.path(), "st373455ss", "1MiB,2MiB", 32);
    let flash = predicted_in(home.path(), "sata-tlc", "1MiB,2MiB", 32);
    let both = [disk.as_path(), flash.as_path()];
    let storages = ["--storage-price=st373455ss=2", "--storage-price=sata-tlc=3"];
    let with = |hold: &str| {
        let hold = format!("--hold={hold}");
        [&PRICES[..], &storages, &[&hold, "--json"]]
            .concat()
            .iter()
            .map(|of| (*of).to_owned())
            .collect::<Vec<_>>()
    };
    let found = |hold: &str| {
        let arguments = with(hold);
        json(value(
            &both,
            &arguments.iter().map(String::as_str).collect::<Vec<_>>(),
        ))
    };
    let figure = |value: &Value| value.as_f64().unwrap();
    let any = found("1/s");
    let rates: Vec<f64> = any["cells"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| figure(&of["throughput"]["estimate"]) / 60.0)
        .collect();
    // Halfway between two cells, each rate has another answer.
    let mut halves = rates;
    halves.sort_by(f64::total_cmp);
    for pair in halves.windows(2) {
        let rate = (pair[0] + pair[1]) / 2.0;
        let found = found(&format!("{rate}/s"));
        let cells = found["cells"].as_array().unwrap();
        let demand = &found["demand"];
        let holds =
            |place: usize| figure(&demand["cells"][place]["throughput"]["low"]) / 60.0 >= rate;
        let cost = |place: usize| figure(&cells[place]["cost"]);
        let by_hand = (0..cells.len())
            .filter(|&place| holds(place))
            .map(cost)
            .reduce(f64::min);
        let said = demand["cheapest"]
            .as_u64()
            .map(|place| cost(place as usize));
        assert_eq!(said, by_hand, "{rate}");
        // The interval of a cell among others is wider than its own.
        for (cell, of) in cells.iter().zip(demand["cells"].as_array().unwrap()) {
            assert_eq!(of["throughput"]["estimate"], cell["throughput"]["estimate"]);
            assert!(figure(&of["throughput"]["low"]) <= figure(&cell["throughput"]["low"]));
        }
    }
    // Nothing is as quick as this.
    assert_eq!(found("1/s,1us")["demand"]["cheapest"], Value::Null);
    let mut arguments = [&PRICES[..], &storages].concat();
    arguments.push("--hold=1/s");
    let said = text(value(&both, &arguments));
    let wanted = "The cheapest that holds 1.00 new orders a second, as predicted: 4 KiB pages";
    assert!(said.contains(wanted), "{said}");
    for (hold, words) in [("5x", "rate '5x'"), ("5/s,fast", "fast"), ("0", "rate '0'")] {
        refused(
            &["value", "--machine-price=1", &format!("--hold={hold}")],
            &disk,
            &[words],
        );
    }
    refused(&["value", "--machine-price=n1=5"], &disk, &["no host 'n1'"]);
}

#[test]
fn prices_come_from_a_file_and_flags_go_before() {
    let home = tempfile::tempdir().unwrap();
    let one = predicted(home.path(), "ec", "8MiB");
    let file = home.path().join("prices.toml");
    fs::write(
        &file,
        "[prices]\ncurrency = \"$\"\nmemory = \"5/GiB\"\nmachine = 2000\n\
         [prices.storage]\n\"device:ec\" = \"2/GB for 300GB\"\nnone = 5\n",
    )
    .unwrap();
    let file = format!("--prices={}", file.display());
    // A single cache gives no knee, and says what is missing.
    let said = text(value(&[&one], &[&file, "--machine-price=1400"]));
    for wanted in [
        "Most throughput for the money: ",
        "per $1,000. It reaches",
        "and costs $2,000.04.",
        "On ec, the knee of memory is not known yet.",
        "Only 1 cache size",
        "Prices of none are not used",
    ] {
        assert!(said.contains(wanted), "{wanted} in {said}");
    }
    // The store alone, and from where it is.
    let store = one.join("octavo.db");
    let said = text(value(&[&store], &["--storage-price=600"]));
    assert!(said.contains("costs 600."), "{said}");
    // A test of 8 MiB that stands for 8 GiB.
    let said = text(value(&[&one], &[&file, "--times=1024"]));
    for wanted in [
        "with 8 GiB of memory on ec",
        "and costs $2,640.",
        "stands for 1,024 times its memory",
    ] {
        assert!(said.contains(wanted), "{wanted} in {said}");
    }
}

#[test]
fn bad_prices_are_refused_with_a_remedy() {
    let home = tempfile::tempdir().unwrap();
    let one = predicted(home.path(), "ec", "8MiB");
    for (arguments, named) in [
        (&["value"][..], &["--memory-price 5/GiB", "--prices"][..]),
        (&["value", "--memory-price=5"], &["--memory-price", "5/GiB"]),
        (&["value", "--memory-price", "-5/GiB"], &["-5", "above 0"]),
        (&["value", "--memory-price=nan/GiB"], &["above 0"]),
        (
            &["value", "--machine-price=0"],
            &["--machine-price", "above 0"],
        ),
        (&["value", "--machine-price=cheap"], &["cheap", "2000"]),
        (&["value", "--storage-price=ec=inf"], &["inf", "above 0"]),
        (&["value", "--storage-price=ec=1/GB"], &["for 500GB"]),
        (
            &["value", "--storage-price=/mnt/none=5"],
            &["--storage-price", "'/mnt/none'", "ec", "octavo devices"],
        ),
        (&["value", "--device=ecc=5"], &["ecc", "did you mean"]),
        (&["value", "--device=5"], &["--device nvme-tlc=120"]),
        (&["value", "--currency="], &["--currency", "EUR"]),
        (
            &["value", "--memory-price=5/GiB", "--times=0"],
            &["--times 0", "0.001"],
        ),
        (
            &["value", "--memory-price=5/GiB", "--times", "-1"],
            &["--times -1"],
        ),
        (
            &["value", "--memory-price=5/GiB", "--times=NaN"],
            &["--times NaN"],
        ),
        (&["value", "--prices=/nowhere.toml"], &["/nowhere.toml"]),
    ] {
        refused(arguments, &one, named);
    }
    let file = home.path().join("prices.toml");
    fs::write(&file, "[prices]\nstorage = { bogus = 100 }\n").unwrap();
    let file = format!("--prices={}", file.display());
    for (arguments, named) in [
        (
            &["value", "--machine-price=1e300"][..],
            &["'1e300'", "1e15"][..],
        ),
        (
            &["value", "--storage-price=ec=1", "--storage-price=ec=2"],
            &["'ec' has two prices, 1 and 2"],
        ),
        (
            &["value", "--device=hdd-7200=5", "--device=hdd-7200=7"],
            &["two prices, 5 and 7"],
        ),
        (&["value", &file], &["no storage here is named bogus", "ec"]),
        (
            &["value", "--memory-price=5/GiB", "--html=/none/x.html"],
            &["/none/x.html", "name a file"],
        ),
        (
            &["report", "--html=/none/x.html"],
            &["/none/x.html", "name a file"],
        ),
    ] {
        refused(arguments, &one, named);
    }
    let output = value(&[&one, &one.join("octavo.db")], &["--memory-price=5/GiB"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(complaint(&output).contains("is given twice"));
    let prices = "--memory-price=5/GiB";
    let none = home.path().join("none");
    refused(&["value", prices], &none, &["does not exist"]);
    refused(&["value", prices], home.path(), &["does not exist"]);
    // Of another workload.
    let other = home.path().join("other");
    let output = octavo()
        .arg("predict")
        .arg(&other)
        .args(["--device=ec", "--workload=ycsb-b", "--records=5000"])
        .args([
            "--memory=1MiB",
            "--page-sizes=4K",
            "--passes=8",
            "--transactions=40",
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let output = value(&[&one, &other], &[prices]);
    assert_eq!(output.status.code(), Some(2));
    assert!(complaint(&output).contains("differ in workload"));
}
