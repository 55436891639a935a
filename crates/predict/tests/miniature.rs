//! A part of rows, buffer and log does what all of them do.

use octavo_device::simulated::Constant;
use octavo_predict::{CpuCost, Done, Miniature, Purpose, Setup, Slowness, System, model_of};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::Pgbench;

const DIVISOR: u32 = 4;
const SEED: Seed = Seed::new(4);
/// Of all rows, in the warm-up and then. A part executes as many for each of its rows.
const TRANSACTIONS: [u64; 2] = [24_000, 24_000];

/// What a transaction does on average: misses, bytes of pages written, and of the log.
type Each = [f64; 3];

/// What transactions do on a part of all rows with the same part of the buffer.
fn each(database: &str, workload: &Pgbench, part: u32, miniature: Miniature) -> Each {
    let options: &[_] = match database {
        "postgres" => &[("max-wal-size".to_owned(), "128MiB".to_owned())],
        _ => &[],
    };
    let setup = Setup {
        model: model_of(database, options, false).unwrap(),
        page_size: PageSize::kib(8),
        memory: ByteCount::mib(64 / u64::from(part)),
        miniature,
        clients: 1,
        processors: 1,
        seed: SEED,
        cpu: CpuCost {
            transaction_ns: 2e5,
            ..CpuCost::default()
        },
        weights: Vec::new(),
        slowness: Slowness::default(),
    };
    let device = Constant::new(ByteCount::mib(1 << 20), 50_000);
    let mut system = System::new(workload, &setup, Box::new(device)).unwrap();
    let [before, counted] = TRANSACTIONS.map(|count| count / u64::from(part));
    system.run(before, &mut |_| {}).unwrap();
    let mut all = [0; 3];
    let mut see = |done: &Done| {
        let pages = [Purpose::Background, Purpose::Checkpoint].map(|of| done.asked(of).bytes);
        let seen = [
            done.referred.misses,
            pages.iter().sum(),
            done.referred.logged,
        ];
        all.iter_mut()
            .zip(seen)
            .for_each(|(all, seen)| *all += seen);
    };
    system.run(counted, &mut see).unwrap();
    all.map(|all| all as f64 / counted as f64)
}

fn pgbench(scale: u32) -> Pgbench {
    Pgbench::new(scale, SEED).unwrap()
}

/// TPC-C has rows that are as many for any number of warehouses, the items, so a part of few
/// warehouses is no part of all.
#[test]
fn a_part_misses_writes_and_logs_as_all_does() {
    for database in ["mariadb", "postgres"] {
        let whole = each(database, &pgbench(32), 1, Miniature::WHOLE);
        let part = pgbench(32 / DIVISOR);
        let small = each(database, &part, DIVISOR, Miniature::new(DIVISOR));
        // With the log and the clock of the whole it does not.
        let undivided = each(database, &part, DIVISOR, Miniature::WHOLE);
        let off = |of: Each| [0, 1, 2].map(|n| of[n] / whole[n] - 1.0);
        let [misses, pages, log] = off(small);
        assert!(misses.abs() < 0.03, "{database}: misses {misses}");
        assert!(pages.abs() < 0.05, "{database}: pages {pages}");
        assert!(log.abs() < 0.02, "{database}: log {log}");
        let most = off(undivided).map(f64::abs).into_iter().fold(0.0, f64::max);
        assert!(most > 0.2, "{database}: {most}");
    }
}
