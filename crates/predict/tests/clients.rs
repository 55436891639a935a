//! Several clients of one modeled database, beside what is known without a model: capacity
//! bounds, Little's law, and what a row that all want allows.

use std::time::Duration;

use octavo_device::simulated::Constant;
use octavo_predict::{
    CpuCost, Done, Latched, Miniature, Model, Purpose, Sensitivity, Setup, Slowness, System, Wait,
    Windows, model_of,
};
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{Pgbench, Workload, Ycsb, pgbench::Script};

const TRANSACTIONS: u64 = 2000;

/// What transactions took in all, and together.
struct Ran {
    elapsed_ns: f64,
    responses_ns: f64,
    flushes: u64,
    each: Vec<Done>,
}

impl Ran {
    fn a_second(&self) -> f64 {
        TRANSACTIONS as f64 / (self.elapsed_ns / 1e9)
    }
}

fn model(database: &str) -> Model {
    model_of(database, &[], false).unwrap()
}

/// A workload by so many clients on a database and 2 processors: each transaction takes
/// `cpu_ns` of these, each request `request_ns`. The caches are empty.
fn cold(
    model: Model,
    workload: &dyn Workload,
    clients: u32,
    cpu_ns: f64,
    request_ns: u64,
) -> System {
    let device = Constant::new(ByteCount::mib(4096), request_ns);
    System::new(workload, &setup(model, clients, cpu_ns), Box::new(device)).unwrap()
}

fn setup(model: Model, clients: u32, cpu_ns: f64) -> Setup {
    Setup {
        model,
        miniature: Miniature::WHOLE,
        page_size: PageSize::kib(8),
        memory: ByteCount::mib(16),
        clients,
        processors: 2,
        seed: Seed::new(3),
        cpu: CpuCost {
            transaction_ns: cpu_ns,
            ..CpuCost::default()
        },
        weights: Vec::new(),
        slowness: Slowness::default(),
    }
}

/// Likewise on PostgreSQL, with warm caches.
fn system(workload: &dyn Workload, clients: u32, cpu_ns: f64, request_ns: u64) -> System {
    let mut system = cold(model("postgres"), workload, clients, cpu_ns, request_ns);
    system.run(TRANSACTIONS, &mut |_| ()).unwrap();
    system
}

/// What transactions then take.
fn run(workload: &dyn Workload, clients: u32, cpu_ns: f64, request_ns: u64) -> Ran {
    let mut system = system(workload, clients, cpu_ns, request_ns);
    let mut each = Vec::new();
    let elapsed_ns = system.run(TRANSACTIONS, &mut |done| each.push(*done));
    Ran {
        elapsed_ns: elapsed_ns.unwrap() as f64,
        responses_ns: each.iter().map(|done| done.elapsed_ns as f64).sum(),
        flushes: each
            .iter()
            .map(|done| done.asked(Purpose::LogSync).flushes)
            .sum(),
        each,
    }
}

fn simple_update() -> Pgbench {
    Pgbench::new(2, Seed::new(1))
        .unwrap()
        .with_script(Script::SimpleUpdate)
}

#[test]
fn what_one_client_waits_for_is_under_way_though_the_device_is_done() {
    // Reads take three times as long as the device says, so that it is idle for most of that.
    let mut slowness = Slowness::default();
    slowness.0[Purpose::Read as usize] = 3.0;
    for database in ["sqlite", "postgres"] {
        let setup = Setup {
            slowness,
            ..setup(model(database), 1, 1e5)
        };
        let device = Constant::new(ByteCount::mib(4096), 100_000);
        let mut system = System::new(&simple_update(), &setup, Box::new(device)).unwrap();
        let mut read_ns = 0;
        let see = &mut |done: &Done| read_ns += done.asked(Purpose::Read).waited_ns;
        system.run(200, see).unwrap();
        let [under_way, occupied] = [system.under_way_ns(), system.occupied_ns()].map(|of| of[0]);
        let part = |ns: f64| ns / read_ns as f64;
        assert!((part(under_way) - 1.0).abs() < 0.01, "{}", part(under_way));
        assert!(part(occupied) < 0.4, "{}", part(occupied));
    }
}

#[test]
fn processors_bound_throughput() {
    for clients in [2, 8] {
        let ran = run(&simple_update(), clients, 1e6, 1);
        assert!(
            (ran.a_second() / 2000.0 - 1.0).abs() < 0.01,
            "{}",
            ran.a_second()
        );
    }
    let ran = run(&simple_update(), 1, 1e6, 1);
    assert!(
        (ran.a_second() / 1000.0 - 1.0).abs() < 0.01,
        "{}",
        ran.a_second()
    );
}

#[test]
fn what_is_latched_has_one_processor() {
    // Half of a transaction's millisecond is under the latch: two processors make 2,000 a
    // second of it, as of work that is not; four make no more.
    let throughput = |processors, latched| {
        let setup = Setup {
            processors,
            cpu: CpuCost {
                transaction_ns: 1e6 - latched,
                latched: Latched {
                    transaction_ns: latched,
                    ..Latched::default()
                },
                ..CpuCost::default()
            },
            ..setup(model("postgres"), 8, 0.0)
        };
        let workload = simple_update();
        let device = Constant::new(ByteCount::mib(4096), 1);
        let mut system = System::new(&workload, &setup, Box::new(device)).unwrap();
        system.run(TRANSACTIONS, &mut |_| ()).unwrap();
        let elapsed_ns = system.run(TRANSACTIONS, &mut |_| ()).unwrap();
        TRANSACTIONS as f64 / (elapsed_ns as f64 / 1e9)
    };
    let near = |found: f64, expected: f64| {
        assert!((found / expected - 1.0).abs() < 0.03, "{found}, {expected}");
    };
    near(throughput(1, 5e5), 1000.0);
    near(throughput(4, 0.0), 4000.0);
    near(throughput(4, 5e5), 2000.0);
    near(throughput(2, 8e5), 1250.0);
}

#[test]
fn one_clients_time_is_the_sum_of_what_it_waits_for() {
    let ran = run(&simple_update(), 1, 2e5, 1_000_000);
    let sum = |done: &Done| {
        let waited = done.asked.iter().map(|asked| asked.waited_ns);
        done.cpu_ns + waited.sum::<u64>()
    };
    assert!(ran.each.iter().all(|done| done.elapsed_ns == sum(done)));
    assert_eq!(ran.elapsed_ns, ran.responses_ns);
    assert_eq!(ran.flushes, TRANSACTIONS);
}

/// Each part by itself: nothing is left that nobody names.
#[test]
fn all_of_a_transactions_time_has_a_name() {
    let latched = Latched {
        transaction_ns: 30_000.0,
        ..Latched::default()
    };
    let mut waited_for = [0; Wait::ALL.len()];
    for database in [
        "sqlite",
        "postgres",
        "mariadb",
        "oracle-like",
        "cubrid-like",
    ] {
        let mut setup = setup(model(database), 8, 100_000.0);
        setup.cpu.latched = latched;
        let device = Constant::new(ByteCount::mib(4096), 100_000);
        let workload = simple_update();
        let mut system = System::new(&workload, &setup, Box::new(device)).unwrap();
        let check = &mut |done: &Done| {
            let asked: u64 = Purpose::ALL.map(|of| done.asked(of).waited_ns).iter().sum();
            let waited: u64 = Wait::ALL.map(|of| done.waited.ns(of)).iter().sum();
            assert_eq!(done.cpu_ns + asked + waited, done.elapsed_ns, "{done:?}");
            for of in Wait::ALL {
                waited_for[of as usize] += done.waited.ns(of);
            }
        };
        system.run(TRANSACTIONS, check).unwrap();
    }
    assert!(waited_for.iter().all(|ns| *ns > 0), "{waited_for:?}");
}

/// Two processors with work of 1 ms for eight clients: each waits 3 ms for its turn.
#[test]
fn what_transactions_wait_for_by_hand() {
    let ran = run(&simple_update(), 8, 1e6, 1);
    let mean_ms = |of: fn(&Done) -> u64| {
        let all: u64 = ran.each.iter().map(of).sum();
        all as f64 / ran.each.len() as f64 / 1e6
    };
    let processor_ms = mean_ms(|done| done.waited.ns(Wait::Processor));
    assert!((processor_ms - 3.0).abs() < 0.05, "{processor_ms}");
    let one = run(&simple_update(), 1, 1e6, 1000);
    let waits = |done: &Done| Wait::ALL.map(|of| done.waited.ns(of));
    assert!(one.each.iter().all(|done| waits(done) == [0; 5]));
}

#[test]
fn clients_are_always_at_work() {
    // Little's law: clients = throughput times mean response time; a few are idle at the
    // end of all.
    for (clients, cpu_ns, request_ns) in [(8, 1e6, 1), (8, 1e5, 1_000_000), (32, 2e5, 200_000)] {
        let ran = run(&simple_update(), clients, cpu_ns, request_ns);
        let working = ran.responses_ns / ran.elapsed_ns;
        assert!(
            (working / f64::from(clients) - 1.0).abs() < 0.02,
            "{working} of {clients}"
        );
    }
}

#[test]
fn those_who_commit_at_once_share_a_flush() {
    let (one, many) = (
        run(&simple_update(), 1, 1e4, 1_000_000),
        run(&simple_update(), 16, 1e4, 1_000_000),
    );
    // A batch takes two requests, at most all clients are in one, and each has reads of its
    // own before it.
    assert!(many.flushes < TRANSACTIONS / 3, "{}", many.flushes);
    assert!(many.flushes >= TRANSACTIONS / 16, "{}", many.flushes);
    assert!(many.a_second() > 5.0 * one.a_second());
    assert!(many.a_second() < 16.0 * 1e9 / 2e6);
}

#[test]
fn a_row_that_all_want_admits_one_at_a_time() {
    let branch = Pgbench::new(1, Seed::new(1)).unwrap();
    let [one, many] = [1, 8].map(|clients| run(&branch, clients, 1e5, 1_000_000));
    assert!((many.a_second() / one.a_second() - 1.0).abs() < 0.02);
    let free = run(&simple_update(), 8, 1e5, 1_000_000);
    assert!(free.a_second() > 3.0 * many.a_second());
}

#[test]
fn a_page_that_many_want_is_read_once_and_waited_for_by_all() {
    let workload = simple_update();
    let mut system = cold(model("postgres"), &workload, 8, 1e4, 1_000_000);
    let mut each = Vec::new();
    system
        .run(TRANSACTIONS, &mut |done| each.push(*done))
        .unwrap();
    let reads = |done: &Done| done.asked(Purpose::Read);
    let read: u64 = each.iter().map(|done| reads(done).requests).sum();
    let missed: u64 = each
        .iter()
        .map(|done| done.referred.misses - done.referred.made)
        .sum();
    assert_eq!(read, missed);
    // All begin at once with the same root of an index, which one of them reads, and nobody
    // gets on before that.
    let own = |done: &Done| reads(done).requests * 1_000_000;
    for done in &each[..8] {
        assert!(
            done.elapsed_ns >= 1_000_000 && reads(done).waited_ns >= own(done),
            "{done:?}"
        );
    }
    let others = |done: &&Done| {
        let waited: u64 = done.asked.iter().map(|asked| asked.waited_ns).sum();
        done.elapsed_ns > waited + done.cpu_ns + 900_000
    };
    assert!(each[..8].iter().filter(others).count() > 4);
    // Who waits for a page does not move its bytes.
    assert!(each.iter().all(|done| done.cpu_ns == each[0].cpu_ns));
}

#[test]
fn sqlite_has_one_writer_at_a_time_and_many_readers() {
    let each_of = |workload: &dyn Workload, clients| {
        let mut system = cold(model("sqlite"), workload, clients, 1e5, 1_000_000);
        system.run(TRANSACTIONS, &mut |_| ()).unwrap();
        let mut each = Vec::new();
        let elapsed_ns = system
            .run(TRANSACTIONS, &mut |done| each.push(*done))
            .unwrap();
        (each, elapsed_ns as f64)
    };
    let ((_, one_ns), (_, many_ns)) = (each_of(&simple_update(), 1), each_of(&simple_update(), 8));
    // The writer's cache is an eighth smaller.
    assert!((many_ns / one_ns - 1.0).abs() < 0.05, "{one_ns} {many_ns}");
    let selects = Pgbench::new(2, Seed::new(1))
        .unwrap()
        .with_script(Script::SelectOnly);
    let ((_, one_ns), (_, many_ns)) = (each_of(&selects, 1), each_of(&selects, 8));
    assert!(many_ns < one_ns, "{one_ns} {many_ns}");
    // Each commit empties the readers' caches: root and leaf are read again.
    let ycsb = Ycsb::new(20_000, Seed::new(1)).unwrap();
    let (each, _) = each_of(&ycsb, 8);
    let only_reads = each.iter().filter(|done| done.changed_bytes == 0);
    let (count, misses) = only_reads.fold((0, 0), |(count, misses), done| {
        (count + 1, misses + done.referred.misses)
    });
    assert!(misses > 2 * count, "{misses} {count}");
}

/// Slices of twenty transactions by eight clients: without waiting for the last of each, two
/// processors are busy all the time, and Little's law holds of all slices together.
#[test]
fn clients_go_on_from_one_slice_to_the_next() {
    let mut system = system(&simple_update(), 8, 1e6, 1);
    let (mut elapsed_ns, mut responses_ns, mut count) = (0, 0, 0);
    for _ in 0..100 {
        let each = &mut |done: &Done| {
            responses_ns += done.elapsed_ns;
            count += 1;
        };
        elapsed_ns += system.go_on_for(20, each).unwrap();
    }
    assert_eq!(count, 2000);
    let a_second = f64::from(count) / (elapsed_ns as f64 / 1e9);
    assert!((a_second / 2000.0 - 1.0).abs() < 0.002, "{a_second}");
    let under_way = responses_ns as f64 / elapsed_ns as f64;
    assert!((under_way / 8.0 - 1.0).abs() < 0.01, "{under_way}");
    // Those that had begun end, and others begin anew.
    system.settle().unwrap();
    let mut after = 0;
    system.run(40, &mut |_| after += 1).unwrap();
    assert_eq!(after, 40);
    system.settle().unwrap();
}

#[test]
fn one_seed_gives_one_result() {
    let both = [(), ()].map(|()| run(&simple_update(), 8, 1e5, 50_000));
    assert!(both[0].each == both[1].each && both[0].elapsed_ns == both[1].elapsed_ns);
}

#[test]
fn time_follows_what_takes_it() {
    let workload = simple_update();
    // Of one client's time each has its share: 400 µs of a processor, and what is asked of
    // storage, 100 µs each.
    let ran = run(&workload, 1, 400_000.0, 100_000);
    let share = |ns: f64| ns / ran.elapsed_ns;
    let waited = |purpose: Purpose| {
        let each = ran.each.iter().map(|done| done.asked(purpose).waited_ns);
        share(each.sum::<u64>() as f64)
    };
    let shares = [
        share(400_000.0 * TRANSACTIONS as f64),
        waited(Purpose::Read),
        waited(Purpose::LogWrite) + waited(Purpose::LogSync),
    ];
    let found = system(&workload, 1, 400_000.0, 100_000)
        .sensitivity(100)
        .unwrap();
    let near = |found: f64, share: f64| (found - share).abs() < 0.03;
    assert!(near(found.processor, shares[0]), "{found:?} {shares:?}");
    assert!(near(found.reads, shares[1]), "{found:?} {shares:?}");
    assert!(near(found.writes, shares[2]), "{found:?} {shares:?}");
    let sum = found.processor + found.reads + found.writes;
    assert!((sum - 1.0).abs() < 1e-9, "{found:?}");

    // Eight clients that have nothing but processors to wait for.
    let found = system(&workload, 8, 4_000_000.0, 1_000)
        .sensitivity(100)
        .unwrap();
    assert!((found.processor - 1.0).abs() < 0.03, "{found:?}");
    assert!(found.reads < 0.03 && found.writes < 0.03, "{found:?}");
    // And eight that have storage alone.
    let found = system(&workload, 8, 1_000.0, 1_000_000)
        .sensitivity(100)
        .unwrap();
    let storage = found.reads + found.writes;
    assert!(
        found.processor < 0.03 && (storage - 1.0).abs() < 0.05,
        "{found:?}"
    );
}

#[test]
fn what_only_reads_does_not_follow_writes() {
    let workload = Pgbench::new(2, Seed::new(1))
        .unwrap()
        .with_script(Script::SelectOnly);
    // One client, and eight that wait for each other in a device which serves two at once.
    for (database, clients) in [("sqlite", 1), ("sqlite", 8), ("postgres", 8)] {
        let device = octavo_device::catalog::find("gp3-3000").unwrap();
        let setup = Setup {
            memory: ByteCount::mib(4),
            ..setup(model(database), clients, 100_000.0)
        };
        let mut system = System::new(&workload, &setup, device.open(Seed::new(1))).unwrap();
        system.run(TRANSACTIONS, &mut |_| ()).unwrap();
        let found = system.sensitivity(100).unwrap();
        assert_eq!(found.writes, 0.0, "{database} {clients}");
        assert!(found.reads > 0.7, "{database} {clients}: {found:?}");
    }
}

#[test]
fn how_far_time_follows_inputs_hangs_on_no_checkpoint() {
    // A checkpoint each few thousand transactions: none, one or two fall into the runs that
    // are compared.
    let workload = Ycsb::new(200_000, Seed::new(1)).unwrap();
    for (clients, sums) in [(1, 1.0 - 1e-9..1.0 + 1e-9), (2, 0.8..1.25)] {
        let found = [1500, 2000, 2500, 3000, 3500].map(|warm_up| {
            let device = octavo_device::catalog::find("nvme-tlc").unwrap();
            let setup = Setup {
                page_size: PageSize::kib(4),
                memory: ByteCount::mib(8),
                ..setup(model("sqlite"), clients, 30_000.0)
            };
            let mut system = System::new(&workload, &setup, device.open(Seed::new(1))).unwrap();
            system.run(warm_up, &mut |_| ()).unwrap();
            system.sensitivity(100).unwrap()
        });
        for of in &found {
            let sum = of.processor + of.reads + of.writes;
            assert!(sums.contains(&sum), "{clients}: {found:?}");
        }
        for part in [
            |of: &Sensitivity| of.processor,
            |of: &Sensitivity| of.reads,
            |of: &Sensitivity| of.writes,
        ] {
            let parts = found.each_ref().map(part);
            let least = parts.iter().copied().fold(f64::MAX, f64::min);
            let most = parts.iter().copied().fold(0.0, f64::max);
            assert!(most - least < 0.25, "{clients}: {found:?}");
        }
    }
}

#[test]
fn checkpoints_that_no_session_makes_are_counted() {
    // Each update has a page in the log: 128 MiB of them are a checkpoint, which has ended when
    // nine tenths of as much have followed.
    let workload = Ycsb::new(200_000, Seed::new(1)).unwrap();
    let mut system = cold(model("postgres"), &workload, 1, 10_000.0, 1_000);
    let (mut checkpoints, mut logged, mut flushes) = (0, 0, 0);
    system
        .run(120_000, &mut |done| {
            checkpoints += done.referred.checkpoints;
            logged += done.referred.logged;
            flushes += done.asked(Purpose::Checkpoint).flushes;
        })
        .unwrap();
    let due = logged / (128 << 20);
    assert!(due >= 2, "{} MiB of log", logged >> 20);
    assert!((1..=due).contains(&checkpoints), "{checkpoints} of {due}");
    assert_eq!(flushes, 0);
}

#[test]
fn times_are_taken_back() {
    let workload = simple_update();
    let mut system = system(&workload, 2, 400_000.0, 100_000);
    let usual = system.run(500, &mut |_| ()).unwrap() as f64;
    system.sensitivity(50).unwrap();
    let again = system.run(500, &mut |_| ()).unwrap() as f64;
    assert!((again / usual - 1.0).abs() < 0.1, "{usual} {again}");
}

#[test]
fn fewer_clients_of_one_database_take_as_long_as_if_there_were_no_others() {
    let workload = simple_update();
    let mut stepped = system(&workload, 8, 1e6, 1);
    for (clients, a_second) in [(1, 1000.0), (2, 2000.0), (8, 2000.0), (1, 1000.0)] {
        stepped.set_clients(clients);
        let mut most = 0;
        let mut count = 0;
        let elapsed_ns = stepped.run(TRANSACTIONS, &mut |done| {
            most = most.max(done.elapsed_ns);
            count += 1;
        });
        let ran = TRANSACTIONS as f64 / (elapsed_ns.unwrap() as f64 / 1e9);
        assert_eq!(count, TRANSACTIONS);
        assert!((ran / a_second - 1.0).abs() < 0.01, "{clients}: {ran}");
        // Whoever has a processor for itself waits for nobody.
        assert_eq!(most < 1_100_000, clients <= 2, "{clients}: {most}");
    }
    // As many as there are, and one at least.
    stepped.set_clients(0);
    stepped.run(10, &mut |_| ()).unwrap();
    stepped.set_clients(1000);
    stepped.run(10, &mut |_| ()).unwrap();
}

#[test]
fn another_device_has_the_same_buffer_in_front_of_it() {
    let read = |system: &mut System| {
        let (mut reads, mut waited_ns) = (0, 0);
        let each = &mut |done: &Done| {
            reads += done.asked(Purpose::Read).requests;
            waited_ns += done.asked(Purpose::Read).waited_ns;
        };
        system.run(TRANSACTIONS, each).unwrap();
        (reads, waited_ns)
    };
    let workload = Ycsb::new(40_000, Seed::new(1)).unwrap();
    let mut exchanged = cold(model("postgres"), &workload, 1, 1e5, 1000);
    let mut kept = cold(model("postgres"), &workload, 1, 1e5, 1000);
    assert_eq!(read(&mut exchanged), read(&mut kept));
    let slow = |bytes| Box::new(Constant::new(bytes, 1_000_000));
    let too_small = exchanged.exchange_device(slow(ByteCount::mib(1)));
    assert!(too_small.is_err());
    exchanged
        .exchange_device(slow(ByteCount::mib(4096)))
        .unwrap();
    assert_eq!(exchanged.device_counters().reads, 0);
    let ((reads, waited_ns), (as_many, fast_ns)) = (read(&mut exchanged), read(&mut kept));
    assert!(reads > 100);
    assert_eq!(reads, as_many);
    assert_eq!(exchanged.device_counters().reads, reads);
    let longer = waited_ns as f64 / fast_ns as f64;
    assert!((longer / 1000.0 - 1.0).abs() < 0.01, "{longer}");
}

#[test]
fn a_system_runs_for_a_time() {
    // Each transaction takes a processor for 1 ms, of which there are 2: 2000 a second.
    let mut system = system(&simple_update(), 8, 1e6, 1);
    let second = Duration::from_secs(1);
    let (mut ended, mut late, mut latest) = (0, 0, Duration::ZERO);
    let took = system.run_for(second, &mut |after, _| {
        assert!(after >= latest, "in the order in which they end");
        latest = after;
        ended += u64::from(after < second);
        late += u64::from(after >= second);
    });
    assert!((1980..=2000).contains(&ended), "{ended}");
    // Those that were under way: one a client.
    assert!((1..=8).contains(&late), "{late}");
    assert!(Duration::from_nanos(took.unwrap()) >= latest);
}

#[test]
fn throughput_is_even_where_processors_bound_it() {
    let windows = Windows {
        count: 20,
        length: Duration::from_millis(250),
    };
    let workload = simple_update();
    let kinds = workload.transactions();
    let mut even = system(&workload, 8, 1e6, 1);
    let spread = even.spread(windows, &mut |done| done.is_counted(kinds));
    let spread = spread.unwrap().unwrap();
    assert_eq!((spread.windows, spread.window_s), (20, 0.25));
    assert!((spread.mean / 2000.0 - 1.0).abs() < 0.01, "{spread:?}");
    assert!(spread.variation < 0.01, "{spread:?}");
    // Of 500 transactions in a window, all count in two windows and none in the next two: the
    // mean is half, and as much the standard deviation.
    let mut ended = 0;
    let by_turns = even.spread(windows, &mut |_| {
        ended += 1;
        ended / 1000 % 2 == 0
    });
    let by_turns = by_turns.unwrap().unwrap();
    assert!((by_turns.mean / 1000.0 - 1.0).abs() < 0.1, "{by_turns:?}");
    assert!((0.9..1.1).contains(&by_turns.variation), "{by_turns:?}");
    // Nothing counts.
    assert_eq!(even.spread(windows, &mut |_| false).unwrap(), None);
}
