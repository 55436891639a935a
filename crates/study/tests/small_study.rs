//! A made-up study that takes a second: its cells, its score, and what moves it.

use std::sync::atomic::{AtomicUsize, Ordering};

use octavo_study::{Outcome, Predicted, Study, predict, score, sensitivity};

const STUDY: &str = r#"
format = 1
name = "small"
title = "Reads by several clients"
question = "How fast?"
answer = "as fast as processors are"
not-seen = "Everything else."

[citation]
authors = "A. Author"
title = "How fast"
venue = "nowhere"
url = "https://example.org"

[[experiment]]
name = "reads"
title = "Selects of pgbench"
database = ["postgres", "chosen"]
workload = ["pgbench-select-only", "chosen"]
rows.scale = [1, "chosen"]
page-size = [["4K", "8K"], "chosen"]
memory = [["64MiB"], "chosen: all rows fit"]
cpus = [[2], "chosen"]
clients = [[1, 2, 4], "chosen"]
device = [["ec"], "chosen: its watts are known, and nothing is asked of it"]
is-one-system = "all wait for the same buffer"
machine = ["lee-2009", "chosen"]
warm-up = [20000, "chosen"]
warm-up-fills = [1, "chosen"]
transactions = [1000, "chosen"]

[experiment.cpu]
transaction-us = [1000, "chosen: 1000 a second for each processor"]

[[claim]]
text = "one client"
experiment = "reads"
figure = "tps"
at = { page-size = "8K", clients = 1 }
published = 1000
tolerance = 0.02
source = "by hand"

[[claim]]
text = "two processors serve four clients"
experiment = "reads"
figure = "tps"
at = { page-size = "8K", clients = 4 }
published = 2000
tolerance = 0.02
source = "by hand"

[[claim]]
text = "their response"
experiment = "reads"
figure = "response-s"
at = { page-size = "8K", clients = 4 }
published = 0.002
tolerance = 0.02
source = "Little's law by hand"

[[claim]]
text = "page sizes are the same"
experiment = "reads"
figure = "tps"
shape = "apart"
along = "clients"
published = 0.01
relation = "at-most"
within = 0.0
source = "by hand"

[[claim]]
text = "throughput rises"
experiment = "reads"
figure = "tps"
at = { page-size = "4K" }
shape = "growth"
along = "clients"
published = 2.0
within = 0.02
source = "by hand"

[[claim]]
text = "watts with both processors busy: idle 113.1, 21.9 more, and 2.1 of the device"
experiment = "reads"
figure = "watts"
at = { page-size = "8K", clients = 4 }
published = 137.1
tolerance = 0.02
source = "by hand"

[[claim]]
text = "wrong by a fifth"
experiment = "reads"
figure = "tps"
at = { page-size = "8K", clients = 1 }
published = 1250
tolerance = 0.1
source = "planted"

[[claim]]
text = "fitted"
experiment = "reads"
figure = "tps"
at = { page-size = "4K", clients = 1 }
published = 1
fitted = "nothing"
source = "planted"

[[claim]]
text = "asked"
experiment = "reads"
figure = "tps"
at = { page-size = "4K", clients = 2 }
is-asked = true
source = "planted"

[[claim]]
text = "a peak that is not there"
experiment = "reads"
figure = "tps"
at = { page-size = "4K" }
shape = "peak"
along = "clients"
published = 2.0
within = 1.0
source = "planted"

[[claim]]
text = "not tested"
untested = "it is a wish"
source = "planted"

[[chart]]
title = "Throughput by clients"
experiment = "reads"
figure = "tps"
along = "clients"
lines = "page-size"
"#;

fn study() -> Study {
    Study::from_toml("small", STUDY).unwrap()
}

fn predicted(threads: usize) -> Predicted {
    predict(&study(), threads, &|_, _, _| true).unwrap()
}

#[test]
fn claims_by_hand_hold_and_planted_ones_do_not() {
    let (study, predicted) = (study(), predicted(2));
    let score = score(&study, &predicted, &[]).unwrap();
    let outcomes: Vec<&Outcome> = score.rows.iter().map(|row| &row.outcome).collect();
    for (row, outcome) in score.rows.iter().zip(&outcomes).take(6) {
        assert_eq!(**outcome, Outcome::Holds, "{row:?}");
    }
    assert_eq!(*outcomes[6], Outcome::Off);
    assert!((score.rows[6].error.unwrap() + 0.2).abs() < 0.01);
    let fitted = Outcome::Fitted {
        what: "nothing".into(),
        // It is a thousand times off.
        is_near: false,
    };
    assert_eq!(*outcomes[7], fitted);
    assert_eq!(*outcomes[8], Outcome::Asked);
    let without_peak = &score.rows[9];
    assert_eq!(
        (outcomes[9], without_peak.predicted, without_peak.error),
        (&Outcome::NoShape, None, None)
    );
    assert_eq!(*outcomes[10], Outcome::Untested("it is a wish".into()));
    assert_eq!(score.held(), (6, 8));
    // One row is a fifth off, and the missing peak by all of it. A bound that is met is no
    // distance.
    let near: f64 = score.rows[..6]
        .iter()
        .map(|row| row.error.unwrap().abs())
        .sum();
    let mean = (near + score.rows[6].error.unwrap().abs() + 1.0) / 7.0;
    assert!((score.mean_error().unwrap() - mean).abs() < 1e-12);
    let drawn = study.draw(&study.charts[0], &predicted).unwrap();
    assert_eq!(drawn.places, ["1", "2", "4"]);
    let published: Vec<_> = drawn
        .curves
        .iter()
        .filter(|curve| curve.is_published)
        .collect();
    assert_eq!(published.len(), 2);
    assert_eq!(published[1].points, [(0, 1000.0), (2, 2000.0)]);
}

#[test]
fn threads_change_nothing() {
    let text = |threads| {
        let cells = predicted(threads).cells;
        format!("{cells:?}")
    };
    assert_eq!(text(1), text(3));
}

#[test]
fn a_constant_that_moves_takes_predictions_with_it() {
    let (study, predicted) = (study(), predicted(2));
    let moved = sensitivity(&study, &predicted, 2, &|_, _, _| true).unwrap();
    let [of] = &moved[..] else {
        panic!("one constant: {moved:?}");
    };
    assert_eq!((of.name, of.held), ("transaction-us", 6));
    // A fifth faster meets the planted claim, and neither of the others.
    assert_eq!(of.held_moved[0], 4, "{of:?}");
    assert!(of.held_moved[1] < 6, "{of:?}");
}

#[test]
fn who_asked_can_stop_it() {
    let steps = AtomicUsize::new(0);
    let stopped = predict(&study(), 2, &|_, _, _| {
        steps.fetch_add(1, Ordering::Relaxed) < 1
    });
    assert!(matches!(stopped, Err(octavo_study::StudyError::Stopped)));
}

#[test]
fn what_does_not_fit_together_is_refused_by_name() {
    let refused = |from: &str, to: &str, words: &str| {
        assert!(STUDY.contains(from), "{from}");
        let error = Study::from_toml("small", &STUDY.replacen(from, to, 1)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(words), "{text}");
    };
    refused("format = 1", "format = 2", "format 2 is not supported");
    refused("clients = 1 }", "clients = 3 }", "no clients 3");
    refused(
        "at = { page-size = \"8K\", clients = 1 }",
        "at = { clients = 1 }",
        "which page-size",
    );
    refused("published = 1000", "published = -1", "more than 0");
    refused("published = 1000\n", "", "needs a published figure");
    refused(
        "experiment = \"reads\"\nfigure",
        "experiment = \"x\"\nfigure",
        "no experiment 'x'",
    );
    refused(
        "transaction-us = [1000",
        "transaction-us = [-1",
        "at least 0",
    );
    refused("[[\"4K\", \"8K\"]", "[[\"4K\", \"5K\"]", "5K");
    refused("clients = [[1, 2, 4]", "clients = [[0]", "at least 1");
    refused(
        "clients = [[1, 2, 4], \"chosen\"]",
        "clients = [1, 2, 4]",
        "clients",
    );
}
