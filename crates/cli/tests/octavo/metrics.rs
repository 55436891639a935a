//! `--metrics`: what Prometheus's own reader makes of the answers, and whether docs/metrics.md and
//! the dashboard have the names that there are.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::{complaint, octavo, small_advise};

/// Reads an answer as Prometheus does; a line of JSON with each sample's name, labels and value.
const READ: &str = r#"
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
for family in text_string_to_metric_families(sys.stdin.read()):
    for of in family.samples:
        print(json.dumps([of.name, of.labels, of.value]))
"#;

/// A sample's name, labels and value.
type Sample = (String, BTreeMap<String, String>, f64);

fn read(text: &str) -> Vec<Sample> {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python");
    let mut python = Command::new("python3")
        .args(["-c", READ])
        .env("PYTHONPATH", packages)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    python
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "./test installs what it imports\n{}\n{text}",
        complaint(&output)
    );
    let said = String::from_utf8(output.stdout).unwrap();
    said.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A command that answers, and where.
struct Answering {
    child: Child,
    address: String,
}

impl Answering {
    fn begin(command: &mut Command) -> Self {
        let mut child = command
            .args(["--metrics=127.0.0.1:0", "--progress=0"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split('/').next());
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { child, address }
    }

    /// What it answers now; `None` once it has ended.
    fn ask(&self) -> Option<String> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer
            .split_once("\r\n\r\n")
            .map(|(_, body)| body.to_owned())
    }

    /// The last answer before it ended, if it has all of these.
    fn last_with(mut self, wanted: &[&str]) -> Vec<Sample> {
        let begin = Instant::now();
        let mut last = String::new();
        while self.child.try_wait().unwrap().is_none() {
            if let Some(text) = self.ask() {
                last = text;
            }
            assert!(begin.elapsed() < Duration::from_secs(300), "{last}");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(self.child.wait().unwrap().success());
        for name in wanted {
            assert!(last.contains(name), "{name} in {last}");
        }
        read(&last)
    }
}

/// The names in a text, as documents and dashboards have them.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words
        .filter(|word| word.starts_with("octavo_"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn prometheus_reads_what_is_answered_and_documents_name_all_of_it() {
    let home = tempfile::tempdir().unwrap();
    let bench = Answering::begin(octavo().current_dir(home.path()).args([
        "bench",
        "--database=noop",
        "--workload=ycsb-c",
        "--warm-up-time=1s",
        "--duration=3s",
        "--rate=2000",
    ]));
    let bench = bench.last_with(&["octavo_transactions_total", "octavo_backlog_transactions"]);
    let one = |name: &str| {
        let mut all = bench
            .iter()
            .filter(|(own, labels, _)| own == name && labels.is_empty());
        all.next().unwrap_or_else(|| panic!("{name}")).2
    };
    // Two to four seconds at that rate, warm-up included.
    let ended = one("octavo_transactions_total");
    assert!((3000.0..=10_000.0).contains(&ended), "{ended}");
    assert_eq!(ended, one("octavo_counted_transactions_total"));
    let quantile = |wanted: &str| {
        let is_it = |(name, labels, _): &&Sample| {
            name == "octavo_response_time_seconds" && labels["quantile"] == wanted
        };
        bench.iter().find(is_it).unwrap().2
    };
    assert!(quantile("0.5") <= quantile("0.99") && quantile("0.99") <= quantile("1"));

    let advise = Answering::begin(&mut small_advise(&home.path().join("advice")));
    let cells = advise.last_with(&["octavo_cell_ratio"]);
    let of = |name: &str| {
        let own = cells.iter().filter(|(own, ..)| own == name);
        own.map(|(_, labels, value)| (labels.clone(), *value))
            .collect::<Vec<_>>()
    };
    // Two memories with two page sizes; those that are no references have a ratio.
    assert_eq!(of("octavo_cell_measured").len(), 4);
    assert_eq!(of("octavo_cell_throughput").len(), 3 * 4);
    let ratios = of("octavo_cell_ratio");
    assert_eq!(ratios.len(), 3 * 2);
    for ends in ratios.chunks(3) {
        let [low, estimate, high] = [0, 1, 2].map(|at| ends[at].1);
        assert!(low <= estimate && estimate <= high, "{ends:?}");
        assert_eq!(ends[0].0["page_size_bytes"], "16384");
    }

    let answered: BTreeSet<String> = bench.iter().chain(&cells).map(|of| of.0.clone()).collect();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = names(&fs::read_to_string(docs.join("metrics.md")).unwrap());
    assert_eq!(page, answered);
    let dashboard = names(&fs::read_to_string(docs.join("grafana.json")).unwrap());
    assert!(
        dashboard.is_subset(&answered),
        "{:?}",
        dashboard.difference(&answered)
    );
    let drawn: BTreeSet<String> = answered.difference(&dashboard).cloned().collect();
    assert_eq!(drawn, BTreeSet::from(["octavo_build_info".to_owned()]));
}

#[test]
fn an_address_that_is_not_ours_is_refused_before_anything_is_done() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let home = tempfile::tempdir().unwrap();
    for (address, said) in [
        (address.as_str(), "as --metrics says"),
        (
            "localhost",
            "--metrics cannot be 'localhost': write an IP address and a port",
        ),
    ] {
        let output = octavo()
            .current_dir(home.path())
            .args([
                "bench",
                "--database=noop",
                "--duration=1s",
                "--metrics",
                address,
            ])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(complaint(&output).contains(said), "{}", complaint(&output));
    }
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}
