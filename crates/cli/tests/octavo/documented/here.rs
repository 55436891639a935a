//! How documented commands are run here: what takes the place of what cannot be on every
//! machine, and what makes a long command short.

/// What is typed instead, and why. All words of the left side are replaced, where they stand
/// in this order.
pub(super) const INSTEAD: &[(&str, &str, &str)] = &[
    ("COMMAND", "advise", "stands for each command"),
    ("DEVICE", "ec", "stands for each device"),
    ("show NAME", "show sm863", "stands for each device"),
    ("show ec", "show sm863", "fills a flash drive for a minute"),
    ("NAME", "ec", "stands for each device"),
    ("STUDY", "pure-2012", "stands for each study"),
    ("PROFILE", "profile.toml", "stands for a file"),
    ("PLAN.toml", "plan.toml", "stands for a file"),
    ("octavo-PLAN", "octavo-plan", "follows from the plan's name"),
    (
        "--backing DIR",
        "--backing backing",
        "stands for a directory",
    ),
    ("--mount DIR", "--mount mount", "stands for a directory"),
    ("calibrate DIR", "calibrate .", "stands for a directory"),
    ("--records 1000000", "--records 2000", "loads for a minute"),
    ("--scale 50", "--scale 1", "loads for a minute"),
    ("--customers 5000", "--customers 1000", "loads for minutes"),
    ("--trade-days 20", "--trade-days 1", "loads for minutes"),
    ("--ramp 5..60/5", "--ramp 1..2", "12 steps of a minute"),
    ("--data 20GiB", "--data 64MiB", "predicts for a minute"),
    ("--memory 1GiB", "--memory 8MiB", "predicts for a minute"),
    (
        "out/sitting-*",
        "out/sitting-0 out/sitting-1",
        "shells have it stand for them",
    ),
];

/// Where pages have their directories: a scratch directory takes its place.
pub(super) const STORAGE: &str = "/mnt/data";

/// The server's addresses on pages: one that the test starts takes their place.
pub(super) const POSTGRES: &str = "postgres://USER:PASSWORD@HOST:PORT/DATABASE";
pub(super) const MYSQL: &str = "mysql://USER:PASSWORD@HOST:PORT";

/// Options that make a command short, where it has no such option itself. Behind the command
/// are words that have to be among its own.
pub(super) const SHORT: &[(&str, &[&str])] = &[
    (
        "advise --per-table",
        &[
            "--memory=4MiB",
            "--page-sizes=4K,16K",
            "--passes=8",
            "--transactions=20",
            "--warm-up=50",
            "--no-calibrate",
        ],
    ),
    (
        "advise",
        &[
            "--memory=1MiB,4MiB",
            "--page-sizes=4K,16K",
            "--passes=8",
            "--transactions=20",
            "--warm-up=50",
            "--no-calibrate",
        ],
    ),
    ("predict plan.toml", &["--passes=8"]),
    ("predict space.toml", &["--passes=8"]),
    (
        "predict --replacement",
        &[
            "--memory=8MiB",
            "--page-sizes=8K",
            "--passes=8",
            "--transactions=20",
            "--warm-up=200",
        ],
    ),
    (
        "predict",
        &[
            "--memory=8MiB",
            "--page-sizes=4K,8K",
            "--passes=8",
            "--transactions=20",
            "--warm-up=200",
        ],
    ),
    ("run plan.toml", &["--passes=8"]),
    (
        "ab",
        &[
            "--memory=1MiB",
            "--passes=8",
            "--transactions=20",
            "--warm-up=50",
        ],
    ),
    ("bench --ramp", &["--step=5s"]),
    ("bench --url", &["--workload=pgbench", "--scale=1"]),
    ("bench", &["--duration=5s", "--warm-up-time=0s"]),
    // The smallest range that a device is measured over.
    ("calibrate --device", &["--size=256MiB"]),
    ("calibrate", &["--size=64MiB", "--quick"]),
];

/// Commands that calibrate all the same: their profile is used by others.
pub(super) const CALIBRATED: &[&str] = &["octavo advise --passes 8", "octavo advise --budget 2m"];

/// The workload of commands that name none and have no option of the default one: its rows are loaded in
/// a moment, and are more than the memory of [`SHORT`] holds. TPC-C is loaded by other tests.
pub(super) const WORKLOAD: &[&str] = &["--workload=ycsb-a", "--records=10000"];

/// Options that only some workloads have.
pub(super) const OF_WORKLOADS: &[&str] = &[
    "--warehouses",
    "--customers",
    "--records",
    "--scale",
    "--mix",
];

/// The least rows of each workload, for commands that load some.
pub(super) const ROWS: &[(&str, &[&str])] = &[
    ("tpcc", &["--warehouses=1"]),
    ("tpce", &["--customers=1000", "--trade-days=1"]),
    ("ycsb", &["--records=2000"]),
    ("pgbench", &["--scale=1"]),
];

/// Commands that have no option to be short. They are begun and ended by Ctrl-C, which has to
/// be a clean end.
pub(super) const BEGUN: &[(&str, &str)] = &[
    (
        "octavo emulate DEVICE --backing DIR --mount DIR",
        "works until it is interrupted",
    ),
    (
        "octavo calibrate /mnt/data",
        "measures for a minute; with --output it is run whole",
    ),
    (
        "octavo calibrate DIR --output PROFILE",
        "measures for a minute; /mnt/data in its place is run whole",
    ),
    ("octavo reproduce petrov-2010", "predicts for a minute"),
    (
        "octavo bench --cpu-catalog cpu.toml --database postgres",
        "measures for minutes",
    ),
    (
        "octavo bench --cpu-catalog cpu.toml --shape shape.toml",
        "measures for a minute; a test of shapes runs it with a smaller file",
    ),
    ("octavo reproduce all", "predicts for minutes"),
    (
        "octavo reproduce all --html studies.html",
        "predicts for minutes",
    ),
    (
        "octavo reproduce STUDY --sensitivity --verbose",
        "predicts for minutes",
    ),
    (
        "octavo reproduce lee-2009 --sensitivity --verbose",
        "predicts for an hour",
    ),
];

/// Commands of which only the words are read, with the reason.
pub(super) const READ: &[(&str, &str)] = &[
    (
        "octavo reproduce coelho-2014 --measure",
        "downloads and builds PostgreSQL three times; bench/studies.sh runs it",
    ),
    (
        "octavo advise /mnt/data/pg --database postgres --clients 16",
        "downloads and builds PostgreSQL; servers.rs runs such a command",
    ),
    (
        "octavo advise /mnt/data/own --copy-of postgres://anna@db.example/shop --script mix.sql",
        "needs a server of the reader's, and builds PostgreSQL; own_servers.rs runs such a command",
    ),
    (
        "octavo advise /mnt/data/own --copy-of postgres://anna@db.example/shop --recording postgresql.csv",
        "needs a server of the reader's, and builds PostgreSQL; own_servers.rs runs such a command",
    ),
    (
        "octavo predict elsewhere --copy-of postgres://anna@db.example/shop --script mix.sql --device gp3-3000",
        "needs a server of the reader's; own_servers.rs runs such a command",
    ),
    (
        "octavo predict elsewhere --copy-of postgres://anna@db.example/shop --script mix.sql --device nvme-tlc --memory 1GiB,4GiB --page-sizes 4K,8K --bin 8K=installed",
        "needs a server of the reader's, and builds PostgreSQL; own_servers.rs runs such a command",
    ),
    (
        "octavo advise /mnt/data/own --copy-of postgres://anna@db.example/shop --digests",
        "needs a server of the reader's, and builds PostgreSQL; own_servers.rs runs such a command",
    ),
    (
        "octavo advise /mnt/data/own --copy-of postgres://anna@db.example/shop --recording postgresql.csv --pace recorded",
        "needs a server of the reader's, and builds PostgreSQL; own_servers.rs runs such a command",
    ),
    (
        "octavo bench /mnt/data/one --copy-of postgres://anna@db.example/shop --recording postgresql.csv --pace 2x --clients 8",
        "needs a server of the reader's, and builds PostgreSQL; own_servers.rs runs such a command",
    ),
    (
        "octavo predict elsewhere --copy-of mariadb://anna@db.example/shop --script mix.sql --device nvme-tlc --memory 1GiB,4GiB",
        "needs a server of the reader's; own_servers.rs runs such a command",
    ),
    (
        "octavo advise /mnt/data/own --copy-of mariadb://anna@db.example/shop --script mix.sql",
        "needs a server of the reader's; own_servers.rs runs such a command",
    ),
    (
        "octavo ab builds --database postgres --a bin=main/bin --b bin=patch/bin",
        "needs two builds of the reader's",
    ),
    (
        "octavo emulate gp3-3000 --backing files --mount cloud",
        "needs FUSE; docs/emulation.md has one that is run",
    ),
    (
        "octavo emulate ec --backing files --mount disk --faults 'cut=5000,lose=1/2'",
        "needs FUSE; emulate.rs runs such a command",
    ),
];

/// Other commands in shell blocks, with the reason why they are not run.
pub(super) const OTHERS: &[(&str, &str)] = &[
    ("cargo install --path crates/cli", "builds all for minutes"),
    (
        "cargo run --release -- advise",
        "builds all for minutes; advise itself is run",
    ),
    ("./test", "runs this test"),
    ("sudo chmod", "changes settings of the machine"),
    ("python3 bench/tpce_check.py", "bench/tpce.sh runs it"),
];

/// Options in pages that are those of other programs.
pub(super) const FOREIGN: &[(&str, &str)] = &[
    ("--path", "cargo install"),
    ("--release", "cargo run"),
    ("--after-run", "bench/tpce_check.py"),
    ("--single-transaction", "mariadb-dump"),
    ("--profile", ".trace of SQLite's shell"),
    ("--cap-add", "docker run"),
    ("--me", "squeue"),
    ("--array", "sbatch"),
    ("--exclusive", "sbatch"),
    ("--requeue", "sbatch"),
    ("--signal", "sbatch"),
    ("--mem", "sbatch"),
    ("--partition", "sbatch"),
    ("--constraint", "sbatch"),
    ("--filter", "hq job"),
];
