//! What stores made by hand are worth: two storages, three memories, 4 KiB pages.

use octavo_device::catalog;
use octavo_units::ByteCount;

use super::*;
use crate::{
    findings::Findings,
    plan::{Factor, SliceLength, Storage, tests::plan as some_plan},
    prediction::{OtherDisk, PagesElsewhere},
    statistics::Interval,
    store::Store,
};

/// Throughput a minute with 1, 2 and 4 GiB.
const DISK: [f64; 3] = [1000.0, 2000.0, 2400.0];
const EC: [f64; 3] = [6000.0, 6600.0, 6700.0];

fn plan(storages: &[&str]) -> Plan {
    let mut plan = some_plan();
    plan.page_sizes.truncate(1);
    plan.compare = Factor::Memory;
    plan.memories = [1, 2, 4].map(|gib| ByteCount::mib(gib << 10)).to_vec();
    plan.storages = storages.iter().map(|name| name.parse().unwrap()).collect();
    plan
}

/// What a store of this plan says, with these throughputs.
fn findings(plan: &Plan, throughput: impl Fn(&Storage, usize) -> f64) -> Findings {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("octavo.db");
    let mut store = Store::open_or_create(&path).unwrap();
    store.adopt(plan, SliceLength::default(), "0").unwrap();
    let mut findings = Findings::read(&store).unwrap().unwrap();
    for cell in findings.groups.iter_mut().flat_map(|of| &mut of.cells) {
        let memory = plan.memories.iter().position(|of| *of == cell.cell.memory);
        let estimate = throughput(&cell.cell.storage, memory.unwrap());
        cell.throughput = Some(Interval {
            estimate,
            low: estimate * 0.95,
            high: estimate * 1.05,
            batches: 10,
        });
    }
    findings
}

fn both() -> Findings {
    findings(
        &plan(&["/mnt/disk", "device:ec"]),
        |storage, memory| match storage {
            Storage::Device(_) => EC[memory],
            _ => DISK[memory],
        },
    )
}

fn prices(storages: &[(&str, &str)]) -> Prices {
    Prices {
        memory: Some("10/GiB".parse().unwrap()),
        machine: Some("100".parse().unwrap()),
        storages: storages
            .iter()
            .map(|(name, price)| ((*name).to_owned(), price.parse().unwrap()))
            .collect(),
        ..Prices::default()
    }
}

fn value(findings: &Findings, prices: Prices) -> Value {
    let name = "here";
    Value::of_results(&[Results { name, findings }], prices, &[], 1.0, None).unwrap()
}

#[test]
fn cells_of_several_storages_have_their_throughput_per_money() {
    let findings = both();
    let value = value(&findings, prices(&[("/mnt/disk/", "50"), ("ec", "600")]));
    assert_eq!(value.cells.len(), 6);
    let costs: Vec<f64> = value.cells.iter().filter_map(|cell| cell.cost).collect();
    assert_eq!(costs, [160.0, 170.0, 190.0, 710.0, 720.0, 740.0]);
    // 1000 / 160, 2000 / 170, 2400 / 190 and 6000 / 710, 6600 / 720, 6700 / 740 per 1000:
    // 6250, 11,765, 12,632, 8451, 9167, 9054.
    let best = &value.cells[value.best.unwrap()];
    assert_eq!(best.storage, "/mnt/disk");
    assert_eq!(best.memory, ByteCount::mib(4 << 10));
    assert!((best.per_thousand.unwrap() - 12_631.6).abs() < 0.1);
    assert!(value.as_good.is_empty());
    let [setting] = &value.settings[..] else {
        panic!("one setting: {:?}", value.settings);
    };
    assert_eq!(setting.name, "");
    let knees: Vec<KneePlace> = setting
        .curves
        .iter()
        .filter_map(|curve| Some(curve.knee.as_ref()?.place))
        .collect();
    assert_eq!(knees, [KneePlace::Largest, KneePlace::Inside]);
    // EC with 1 GiB has more than the disk with all the memory there is.
    let [choice] = &setting.choices[..] else {
        panic!("one choice: {:?}", setting.choices);
    };
    assert_eq!(choice.from.cost, 160.0);
    assert_eq!(choice.storage.cost, 710.0);
    assert!(matches!(choice.memory, MemoryInstead::FallsShort { .. }));
    let costs: Vec<f64> = setting.frontier.iter().map(|of| of.cost).collect();
    assert_eq!(costs, [160.0, 170.0, 190.0, 710.0, 720.0, 740.0]);
    // The disk's directory was not calibrated; EC is asked as a model.
    assert_eq!(value.break_even.len(), 2);
    assert_eq!(value.break_even[0].lacks, Some(BreakEvenLacks::Calibration));
    let page = value.break_even[1].pages[0];
    assert_eq!(page.reads.page_size, PageSize::kib(4));
    let by_hand = 262_144.0 / page.reads.per_s * 600.0 / 10.0;
    assert!((page.interval_s / by_hand - 1.0).abs() < 1e-9);
}

#[test]
fn a_storage_without_a_price_does_not_look_free() {
    let findings = both();
    let one = value(&findings, prices(&[("ec", "600")]));
    for cell in &one.cells {
        assert_eq!(
            cell.per_thousand.is_some(),
            cell.storage == "ec",
            "{cell:?}"
        );
    }
    assert!(one.settings[0].choices.is_empty());
    let lacks: Vec<_> = one.settings[0].curves.iter().map(|of| of.lacks).collect();
    assert_eq!(lacks, [Some(KneeLacks::StoragePrice), None]);
    // Where none has a price, all cells count without.
    let none = value(&findings, prices(&[]));
    assert!(none.cells.iter().all(|cell| cell.per_thousand.is_some()));
    assert_eq!(none.cells[0].cost, Some(110.0));
    // Without a price of memory nothing says how much of it is worth it.
    let mut free = prices(&[("/mnt/disk", "50"), ("ec", "600")]);
    free.memory = None;
    let free = value(&findings, free);
    assert!(free.settings[0].choices.is_empty());
    assert!(free.break_even.is_empty());
    let lacks = free.settings[0].curves[0].lacks;
    assert_eq!(lacks, Some(KneeLacks::Price));
}

#[test]
fn one_storage_needs_no_name_and_several_do() {
    let own = findings(&plan(&[""]), |_, memory| DISK[memory]);
    for name in ["", ".", "here", "here/"] {
        let value = value(&own, prices(&[(name, "50")]));
        assert_eq!(value.cells[0].cost, Some(160.0), "{name}");
        assert_eq!(value.cells[0].storage, "here");
        assert!(value.unused.is_empty());
    }
    let results = [Results {
        name: "here",
        findings: &both(),
    }];
    let error = Value::of_results(&results, prices(&[("", "50")]), &[], 1.0, None).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("/mnt/disk, ec"), "{said}");
    // Beside others the directory that the experiment works in is meant.
    let mixed = findings(&plan(&["", "device:ec"]), |_, memory| DISK[memory]);
    let value = value(&mixed, prices(&[("", "50"), ("device:ec", "600")]));
    let costs: Vec<Option<f64>> = value.storages.iter().map(|of| of.price).collect();
    assert_eq!(costs, [Some(50.0), Some(600.0)]);
}

#[test]
fn prices_of_other_devices_give_the_rule_and_unknown_names_are_told() {
    let own = findings(&plan(&["device:ec"]), |_, memory| EC[memory]);
    let mut asked = prices(&[("ec", "600"), ("st373455ss", "100"), ("/mnt/none", "7")]);
    asked.storages.push(("mine".into(), "5".parse().unwrap()));
    let mine = catalog::find("instant").unwrap();
    let results = [Results {
        name: "here",
        findings: &own,
    }];
    let value = Value::of_results(&results, asked, &[("mine".into(), mine)], 1.0, None).unwrap();
    let names: Vec<&str> = value.break_even.iter().map(|of| &*of.storage).collect();
    assert_eq!(names, ["ec", "st373455ss", "mine"]);
    assert_eq!(value.unused, ["/mnt/none"]);
}

#[test]
fn several_results_stand_beside_each_other() {
    let disk = findings(&plan(&["device:st373455ss"]), |_, memory| DISK[memory]);
    let ec = findings(&plan(&["device:ec"]), |_, memory| EC[memory]);
    let of = |findings, name| Results { name, findings };
    let both = [of(&disk, "a"), of(&ec, "b")];
    let storages = [("st373455ss", "50"), ("ec", "600")];
    let value = Value::of_results(&both, prices(&storages), &[], 1.0, None).unwrap();
    assert_eq!(value.cells.len(), 6);
    assert_eq!(value.settings.len(), 1);
    assert_eq!(value.settings[0].choices.len(), 1);
    let mut other = plan(&["device:ec"]);
    other.mix = Some("new-order=100".into());
    let other = findings(&other, |_, memory| EC[memory]);
    let different = [of(&disk, "a"), of(&other, "b")];
    let error = Value::of_results(&different, prices(&storages), &[], 1.0, None).unwrap_err();
    assert!(error.to_string().contains("mix of transactions"), "{error}");
    // Clients are told apart.
    let mut more = plan(&["device:ec"]);
    more.clients = vec![8];
    let more = findings(&more, |_, memory| EC[memory]);
    let apart = [of(&disk, "a"), of(&more, "b")];
    let value = Value::of_results(&apart, prices(&storages), &[], 1.0, None).unwrap();
    let names: Vec<&str> = value.settings.iter().map(|of| &*of.name).collect();
    assert_eq!(names, ["1 client", "8 clients"]);
    assert!(value.settings.iter().all(|of| of.choices.is_empty()));
}

fn interval(low: f64, estimate: f64, high: f64) -> Interval {
    Interval {
        estimate,
        low,
        high,
        batches: 10,
    }
}

#[test]
fn what_another_disk_would_change_is_a_choice_where_it_has_a_price() {
    let mut own = findings(&plan(&[""]), |_, memory| DISK[memory]);
    own.elsewhere = vec![OtherDisk {
        source: Source::Predicted,
        device: "nvme-tlc".into(),
        memory: ByteCount::mib(4 << 10),
        pages: PagesElsewhere::Use {
            page_size: PageSize::kib(16),
            over_default: interval(1.25, 1.5, 1.8),
        },
        over_here: interval(2.0, 4.0, 8.0),
    }];
    assert_eq!(value(&own, prices(&[("", "50")])).cells.len(), 3);
    let value = value(&own, prices(&[("", "50"), ("nvme-tlc", "200")]));
    let predicted: Vec<Interval> = value
        .cells
        .iter()
        .filter(|cell| cell.elsewhere)
        .map(|cell| cell.throughput)
        .collect();
    let estimates: Vec<f64> = predicted.iter().map(|of| of.estimate).collect();
    assert_eq!(estimates, [9600.0, 14_400.0]);
    // As well known as the prediction is.
    assert_eq!((predicted[0].low, predicted[0].high), (4800.0, 19_200.0));
    assert!(predicted[1].low < 7200.0 && predicted[1].high > 28_800.0);
    let choice = &value.settings[0].choices[0];
    assert_eq!(choice.storage.throughput, 14_400.0);
    assert_eq!(choice.storage.cost, 340.0);
    // Its single points are no curve.
    assert_eq!(value.settings[0].curves.len(), 1);
}

#[test]
fn results_without_figures_or_prices_are_refused() {
    let own = findings(&plan(&[""]), |_, _| f64::NAN);
    let results = [Results {
        name: "here",
        findings: &own,
    }];
    let error = Value::of_results(&results, prices(&[]), &[], 1.0, None).unwrap_err();
    assert!(error.to_string().starts_with("here has no cell"), "{error}");
    let error = Value::of_results(&results, Prices::default(), &[], 1.0, None).unwrap_err();
    assert_eq!(error, ValueError::NoPrice);
    let foreign = Prices {
        storages: prices(&[("bogus", "5")]).storages,
        ..Prices::default()
    };
    let named = both();
    let named = [Results {
        name: "here",
        findings: &named,
    }];
    let error = Value::of_results(&named, foreign, &[], 1.0, None)
        .unwrap_err()
        .to_string();
    assert!(error.contains("bogus; name /mnt/disk or ec"), "{error}");
    assert_eq!(
        Value::of_results(&[], prices(&[]), &[], 1.0, None).unwrap_err(),
        ValueError::NoResults
    );
    let single = findings(&plan(&[""]), |_, memory| match memory {
        0 => 10.0,
        _ => f64::NAN,
    });
    let value = value(&single, prices(&[]));
    assert_eq!(value.cells.len(), 1);
    assert_eq!(
        value.settings[0].curves[0].lacks,
        Some(KneeLacks::Memories { found: 1 })
    );
}

#[test]
fn a_small_test_stands_for_a_large_machine() {
    let own = findings(&plan(&["ec"]), |_, memory| DISK[memory]);
    let results = [Results {
        name: "here",
        findings: &own,
    }];
    let of = |scale| Value::of_results(&results, prices(&[("ec", "50")]), &[], scale, None);
    let value = of(16.0).unwrap();
    // Machine, 10 a GiB of 16, 32 and 64 GiB, and the storage.
    let costs: Vec<f64> = value.cells.iter().filter_map(|cell| cell.cost).collect();
    assert_eq!(costs, [310.0, 470.0, 790.0]);
    assert_eq!(value.cells[0].memory, ByteCount::mib(16 << 10));
    assert_eq!(value.cells[0].tested_memory, ByteCount::mib(1 << 10));
    // 1000 / 310, 2000 / 470 and 2400 / 790: the second is worth most.
    let knee = value.settings[0].curves[0].knee.as_ref().unwrap();
    assert_eq!(knee.memory, ByteCount::mib(32 << 10));
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(of(scale), Err(ValueError::Scale { .. })));
    }
}

#[test]
fn the_cheapest_that_holds_a_rate_is_named_and_what_is_cheaper_and_open() {
    let findings = both();
    let results = [Results {
        name: "here",
        findings: &findings,
    }];
    let prices = prices(&[("/mnt/disk/", "50"), ("ec", "600")]);
    let of = |per_minute: f64| {
        let demand = Demand {
            rate: octavo_units::Rate::per_second(per_minute / 60.0).unwrap(),
            p99: None,
        };
        let value = Value::of_results(&results, prices.clone(), &[], 1.0, Some(demand)).unwrap();
        let found = value.demand.unwrap();
        let cost = |place: usize| value.cells[place].cost.unwrap();
        let open: Vec<f64> = found
            .cheaper_open
            .iter()
            .map(|&place| cost(place))
            .collect();
        (found.cheapest.map(cost), open)
    };
    // By hand: the disk with 1, 2 and 4 GiB does 1000, 2000 and 2400 for 160, 170 and 190; EC 6000 and
    // more from 710 on. Each is known to 5% alone, and to about 8% with the five others.
    assert_eq!(of(800.0), (Some(160.0), vec![]));
    assert_eq!(of(1000.0), (Some(170.0), vec![160.0]));
    assert_eq!(of(1500.0), (Some(170.0), vec![]));
    assert_eq!(of(2400.0), (Some(710.0), vec![190.0]));
    assert_eq!(of(3000.0), (Some(710.0), vec![]));
    assert_eq!(of(6700.0), (None, vec![720.0, 740.0]));
    assert_eq!(of(9000.0), (None, vec![]));
}
