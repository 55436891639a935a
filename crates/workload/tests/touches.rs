//! What the transactions of every workload touch, as a checksum each: predictions follow
//! from these rows, so that one that changes changes predictions.

use octavo_units::{Seed, mix};
use octavo_workload::{
    Registry, WorkloadSpec,
    touch::{Action, By, Touch},
};

/// Workload, rows, mix, and the checksum of 5,000 transactions from one seed. TPC-E has more
/// rows than in its trial, for an account to have more than a few trades, and once a mix in
/// which every kind is frequent.
const CHECKSUMS: &[(&str, Data, Option<&str>, u64)] = &[
    ("tpcc", &[("warehouses", 2)], None, 0xb7e5_eba1_3d19_495d),
    ("tpce", TPCE, None, 0xee37_3ea4_8857_0a5c),
    ("tpce", TPCE, Some(MAINTAINED), 0x8052_4f8a_0954_72a6),
    ("ycsb-a", YCSB, None, 0xdcf0_37ee_a360_63f8),
    ("ycsb-b", YCSB, None, 0xbb77_5f66_7eb1_98fe),
    ("ycsb-c", YCSB, None, 0x260d_e1a3_6d2b_e192),
    ("ycsb-d", YCSB, None, 0x27f1_f43d_c0b0_afad),
    ("ycsb-e", YCSB, None, 0x4422_af3a_759e_f0d4),
    ("ycsb-f", YCSB, None, 0x6429_3445_5e96_9f59),
    ("pgbench", PGBENCH, None, 0xa42c_b20c_8d38_8dc0),
    (
        "pgbench-simple-update",
        PGBENCH,
        None,
        0x1409_7c62_6f6c_2f24,
    ),
    ("pgbench-select-only", PGBENCH, None, 0x9322_55fb_d40f_39b1),
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
        By::Key => 0,
        By::Entry => 1,
        By::Index(index) => 2 + index as u64,
    };
    let action = match touch.action {
        Action::Read => 0,
        Action::Insert => 1,
        Action::Delete => 2,
        Action::Update { grows } => 3 + u64::from(grows),
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
        let mut pretence = workload.pretence();
        let mut sum = 0;
        for _ in 0..5000 {
            client.draw();
            client.run(&mut pretence).unwrap();
            sum = pretence.touches().iter().fold(sum, checksum);
            pretence.forget();
        }
        (name, data, mix, sum)
    });
    assert_eq!(found.collect::<Vec<_>>(), CHECKSUMS);
}
