//! How fast TPC-C goes into SQLite, and from there to other page sizes and
//! copies.
//!
//! ```text
//! load DIRECTORY WAREHOUSES PAGE_SIZE [inline] [derive=PAGE_SIZE]... [restores=N]
//! ```
//!
//! Makes subdirectories of the existing DIRECTORY, which must not be there
//! yet, and leaves them. Prints one JSON object a step. For the figure of one
//! processor, run it under `taskset -c 0`; with one processor rows are
//! generated inline anyway.

#![expect(unsafe_code, reason = "asks the system for the peak of memory")]

use std::{
    env, fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use octavo_database::{Database, Derive, LoadThreads, Sqlite};
use octavo_units::{PageSize, Seed};
use octavo_workload::Tpcc;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [directory, warehouses, page_size, options @ ..] = &arguments[..] else {
        return Err("usage: load DIRECTORY WAREHOUSES PAGE_SIZE [inline] [derive=PAGE_SIZE]... [restores=N]".into());
    };
    let directory = Path::new(directory);
    let workload = Tpcc::new(warehouses.parse()?, Seed::new(1))?;
    let page_size: PageSize = page_size.parse()?;
    let inline = options.iter().any(|option| option == "inline");
    let sqlite = Sqlite {
        load_threads: if inline {
            LoadThreads::Inline
        } else {
            LoadThreads::Available
        },
        ..Sqlite::default()
    };
    let mut go_on = |_| ControlFlow::Continue(());

    let snapshot = subdirectory(directory, "snapshot")?;
    let (before, start) = (processor_time()?, Instant::now());
    let loaded = sqlite.load(&snapshot, page_size, &workload, &mut go_on)?;
    let processor = (processor_time()? - before).as_secs_f64();
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{{\"step\":\"load\",\"warehouses\":{warehouses},\"page_bytes\":{},\"threads\":\"{:?}\",\
         \"rows\":{},\"bytes\":{},\"estimate_bytes\":{},\"seconds\":{seconds:.2},\
         \"processor_seconds\":{processor:.2},\"rows_per_second\":{:.0},\
         \"rows_per_processor_second\":{:.0},\"resident_kib_max\":{}}}",
        page_size.get(),
        sqlite.load_threads,
        loaded.rows,
        loaded.size.get(),
        sqlite.estimate(&workload, page_size).get(),
        loaded.rows as f64 / seconds,
        loaded.rows as f64 / processor,
        resident_kib_max()?,
    );

    for option in options {
        if let Some(other) = option.strip_prefix("derive=") {
            let other: PageSize = other.parse()?;
            let to = subdirectory(directory, &format!("derived-{}", other.get()))?;
            let derived = sqlite.derive(&snapshot, &to, other, &mut go_on)?;
            println!(
                "{{\"step\":\"derive\",\"page_bytes\":{},\"rows\":{},\"bytes\":{},\
                 \"estimate_bytes\":{},\"seconds\":{:.2}}}",
                other.get(),
                derived.rows,
                derived.size.get(),
                sqlite.estimate(&workload, other).get(),
                derived.elapsed.as_secs_f64(),
            );
        } else if let Some(restores) = option.strip_prefix("restores=") {
            let run = subdirectory(directory, "run")?;
            for _ in 0..restores.parse()? {
                let start = Instant::now();
                let method = sqlite.restore(&snapshot, &run)?;
                let seconds = start.elapsed().as_secs_f64();
                println!(
                    "{{\"step\":\"restore\",\"method\":\"{method:?}\",\"bytes\":{},\
                     \"seconds\":{seconds:.3},\"bytes_per_second\":{:.0}}}",
                    loaded.size.get(),
                    loaded.size.get() as f64 / seconds,
                );
            }
        }
    }
    Ok(())
}

fn subdirectory(directory: &Path, name: &str) -> Result<PathBuf, Failure> {
    let path = directory.join(name);
    fs::create_dir(&path).map_err(|error| format!("create {}: {error}", path.display()))?;
    Ok(path)
}

/// The user and system time of this process and its threads.
fn processor_time() -> Result<Duration, Failure> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the place for the answer outlives the call.
    if unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) } != 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    Ok(Duration::new(
        time.tv_sec.try_into()?,
        time.tv_nsec.try_into()?,
    ))
}

/// The most memory this process had, from proc_pid_status(5).
fn resident_kib_max() -> Result<u64, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .ok_or("the kernel tells no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
