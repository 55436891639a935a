//! `octavo bench`: flags to settings, the call, and what is printed.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

use anyhow::{Context, anyhow};
use octavo_database::{Isolation, Sqlite};
use octavo_experiment::{
    bench::{BenchError, BenchResult, BenchSettings, Target, automatic_warm_up, bench as run},
    drive::{ArrivalProcess, Load},
    loaded::{Description, Loaded},
    plan::RunLength,
};
use octavo_workload::Workload;

use crate::{
    Failure,
    flags::{ArrivalsName, BenchDatabase, BenchFlags, IsolationName, PaceName, WarmUp},
    load, report,
    watcher::Watcher,
    workload::Choice,
};

/// How an HdrHistogram log of ours begins.
const HDR_LOG_HEAD: &str = "#octavo bench";

pub(crate) fn bench(flags: BenchFlags) -> Result<(), Failure> {
    let found = match flags.database {
        BenchDatabase::Noop => None,
        BenchDatabase::Sqlite => Loaded::examine(&flags.directory).map_err(load::failure)?,
    };
    let choice = Choice::of(&flags.data, found.as_ref())?;
    let workload = choice.build(flags.mix.as_deref(), flags.distribution)?;
    let load = way(&flags, workload.as_ref())?;
    let length = length(&flags, load)?;
    for (file, what, head) in [
        (&flags.csv, "a series of Octavo", "at_s,length_s,"),
        (&flags.hdr_log, "a log of Octavo", HDR_LOG_HEAD),
    ] {
        if let Some(file) = file {
            report::keep_foreign(file, what, |text| text.starts_with(head))?;
        }
    }
    let mut hdr_log = flags.hdr_log.as_deref().map(create).transpose()?;
    let watcher = Watcher::new()?;
    let database = Sqlite {
        journal_mode: flags.journal_mode.into(),
        ..Sqlite::default()
    };
    let loaded = match flags.database {
        BenchDatabase::Noop => None,
        BenchDatabase::Sqlite => Some(open(
            &flags,
            found.as_ref(),
            &database,
            &choice,
            workload.as_ref(),
            &watcher,
        )?),
    };
    let target = loaded
        .as_ref()
        .map_or(Target::Noop, |loaded| Target::Loaded {
            loaded,
            database: &database,
            memory: flags.memory,
        });
    let settings = BenchSettings {
        target,
        workload: workload.as_ref(),
        seed: choice.seed,
        clients: flags.clients,
        load,
        retries: flags.retries,
        isolation: flags.isolation.map(isolation),
        length,
        hdr_log: hdr_log.as_mut().map(|file| file as &mut dyn Write),
        octavo_version: env!("CARGO_PKG_VERSION"),
    };
    let result = run(settings, &watcher);
    watcher.finish();
    let result = result.map_err(failure)?;
    if let Some(mut log) = hdr_log {
        log.flush()
            .context("write the log of latencies")
            .map_err(Failure::Fault)?;
    }
    show(&flags, &result)
}

/// Prints the result and writes what was asked for.
fn show(flags: &BenchFlags, result: &BenchResult) -> Result<(), Failure> {
    if let Some(csv) = &flags.csv {
        report::write(csv, &octavo_report::bench_csv(result))?;
    }
    report::print(&if flags.json {
        format!("{}\n", octavo_report::bench_json(result))
    } else {
        let (width, colour) = report::screen();
        octavo_report::bench(result, width, colour)
    })?;
    if result.interrupted {
        return Err(Failure::Interrupted(
            "what was measured before is shown".into(),
        ));
    }
    Ok(())
}

/// Opens the rows to run on, loading them where they are missing.
fn open(
    flags: &BenchFlags,
    found: Option<&Description>,
    database: &Sqlite,
    choice: &Choice,
    workload: &dyn Workload,
    watcher: &Watcher,
) -> Result<Loaded, Failure> {
    let settings = load::settings(
        &flags.directory,
        &flags.data,
        found,
        database,
        choice,
        workload,
    );
    // Before minutes of loading.
    octavo_database::Database::accept(
        database,
        &octavo_database::Settings {
            page_size: settings.page_size,
            memory: flags.memory,
            clients: flags.clients,
            isolation: flags.isolation.map(isolation),
        },
    )
    .map_err(|error| Failure::Input(error.into()))?;
    Loaded::open_or_load(&settings, watcher).map_err(load::failure)
}

/// How transactions come to the connections.
fn way(flags: &BenchFlags, workload: &dyn Workload) -> Result<Load, Failure> {
    if let Some(rate) = flags.rate {
        return Ok(Load::Open {
            rate,
            arrivals: match flags.arrivals {
                ArrivalsName::Constant => ArrivalProcess::Constant,
                ArrivalsName::Poisson => ArrivalProcess::Poisson,
            },
        });
    }
    if let Some(PaceName::Spec) = flags.pace {
        let specified = workload.terminals().ok_or_else(|| {
            Failure::Input(anyhow!(
                "--pace spec is not possible with {}: it has no keying and think times; give a \
                 --rate instead",
                workload.name()
            ))
        })?;
        return Ok(Load::Paced {
            terminals: flags.terminals.unwrap_or(specified),
        });
    }
    let terminals = flags.terminals.unwrap_or(flags.clients);
    if terminals < flags.clients {
        return Err(Failure::Input(anyhow!(
            "--terminals {terminals} is less than --clients {}: a connection without a terminal \
             would have nothing to do",
            flags.clients
        )));
    }
    Ok(Load::Closed { terminals })
}

fn length(flags: &BenchFlags, load: Load) -> Result<RunLength, Failure> {
    if let Some(measured) = flags.transactions {
        if load
            != (Load::Closed {
                terminals: flags.clients,
            })
        {
            return Err(Failure::Input(anyhow!(
                "--transactions needs as many --terminals as --clients: it counts by client"
            )));
        }
        return Ok(RunLength::Transactions {
            warm_up: measured / 10,
            measured,
        });
    }
    Ok(match flags.warm_up {
        WarmUp::Auto => automatic_warm_up(flags.duration),
        WarmUp::Time(time) => RunLength::Time {
            warm_up_min: time,
            warm_up_max: time,
            measured: flags.duration,
        },
    })
}

fn isolation(name: IsolationName) -> Isolation {
    match name {
        IsolationName::ReadCommitted => Isolation::ReadCommitted,
        IsolationName::RepeatableRead => Isolation::RepeatableRead,
        IsolationName::Serializable => Isolation::Serializable,
    }
}

fn create(path: &Path) -> Result<BufWriter<File>, Failure> {
    let file = File::create(path)
        .with_context(|| format!("create {}", path.display()))
        .map_err(Failure::Fault)?;
    Ok(BufWriter::new(file))
}

fn failure(error: BenchError) -> Failure {
    if error.is_stop() {
        Failure::Interrupted("nothing was measured yet; the loaded rows are kept".into())
    } else if error.is_bad_input() {
        Failure::Input(error.into())
    } else {
        Failure::Fault(error.into())
    }
}
