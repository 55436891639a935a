//! What the transactions of every workload touch, as a checksum each: predictions follow
//! from these rows, so that one that changes changes predictions.

use octavo_units::{Seed, mix};
use octavo_workload::{
    Registry, WorkloadSpec,
    touch::{AccessPath, Action, Cursor, Touch},
};

/// Workload, rows, mix, and the checksum of 5,000 transactions from one seed. TPC-E has more
/// rows than in its trial, for an account to have more than a few trades, and once a mix in
/// which every kind is frequent.
const CHECKSUMS: &[(&str, Data, Option<&str>, u64)] = &[
    ("tpcc", &[("warehouses", 2)], None, 0x2278_26b4_ca51_acd5),
    ("tpce", TPCE, None, 0x3b1d_4f37_cf8f_b334),
    ("tpce", TPCE, Some(MAINTAINED), 0xb17f_f4db_1890_4199),
    ("ycsb-a", YCSB, None, 0x4c00_8eb4_f0fc_4e04),
    ("ycsb-b", YCSB, None, 0x14e4_2077_d542_cb9b),
    ("ycsb-c", YCSB, None, 0xf58d_15ef_815d_c321),
    ("ycsb-d", YCSB, None, 0x681b_bc64_5610_2528),
    ("ycsb-e", YCSB, None, 0xfd07_3699_8188_d1d1),
    ("ycsb-f", YCSB, None, 0xaf3d_a151_578e_193c),
    ("pgbench", PGBENCH, None, 0xbee8_da76_57c5_5d2d),
    (
        "pgbench-simple-update",
        PGBENCH,
        None,
        0xc909_6bf0_4e31_843a,
    ),
    ("pgbench-select-only", PGBENCH, None, 0x42ce_b23f_83de_a61b),
];

type Data = &'static [(&'static str, u64)];

const TPCE: Data = &[
    ("customers", 1000),
    ("trade-days", 5),
    ("scale-factor", 500),
];
const YCSB: Data = &[("records", 10_000)];
const PGBENCH: Data = &[("scale", 2)];
const MAINTAINED: &str = "broker-volume=1,customer-position=1,market-watch=1,security-detail=1,\
     trade-lookup=1,trade-order=1,trade-status=1,trade-update=1,data-maintenance=4";

fn checksum(sum: u64, touch: &Touch) -> u64 {
    let by = match touch.by {
        AccessPath::Key => 0,
        AccessPath::Entry => 1,
        AccessPath::Index(index) => 2 + index as u64,
    };
    let action = match touch.action {
        Action::Read => 0,
        Action::Insert => 1,
        Action::Delete => 2,
        Action::Update { grows } => 3 + u64::from(grows),
    };
    let cursor = match touch.cursor {
        Cursor::New => 0,
        Cursor::Seeks => 1,
        Cursor::Continues => 2,
    };
    let columns = (0..64).fold(0, |bits, column| {
        bits | u64::from(touch.columns.has(column)) << column
    });
    let fields = [
        touch.table.0 as u64,
        by,
        touch.first.initial,
        touch.first.later,
        touch.rows.into(),
        action,
        columns,
        touch.changed.into(),
        cursor,
        touch.begins.into(),
    ];
    fields.into_iter().fold(sum, |sum, field| mix(sum ^ field))
}

#[test]
fn transactions_touch_the_rows_that_they_did() {
    let registry = Registry::standard();
    let found = CHECKSUMS.iter().map(|&(name, data, mix, _)| {
        let known = registry.find(name).unwrap();
        let spec = WorkloadSpec {
            mix: mix.map(str::to_owned),
            ..WorkloadSpec::new(known, known.data_spec(data).unwrap(), Seed::new(1))
        };
        let workload = spec.build().unwrap();
        let mut client = workload.clients(Seed::new(2), 1).remove(0);
        let mut tracer = workload.touch_tracer();
        let mut sum = 0;
        for _ in 0..5000 {
            client.draw();
            client.run(&mut tracer).unwrap();
            sum = tracer.touches().iter().fold(sum, checksum);
            tracer.forget();
        }
        (name, data, mix, sum)
    });
    assert_eq!(found.collect::<Vec<_>>(), CHECKSUMS);
}
