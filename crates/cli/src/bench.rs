//! `octavo bench`: flags to settings, the call, and what is printed.

mod served;

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};
use octavo_driver::{ArrivalProcess, Load};
use octavo_experiment::{
    bench::{BenchError, BenchSettings, Benched, Target, automatic_warm_up, bench as run},
    dataset::{Dataset, Manifest},
    plan::RunLength,
};
use octavo_units::ByteCount;
use octavo_workload::{Workload, WorkloadSpec};

use crate::{
    Failure,
    flags::{ArrivalsName, BenchFlags, NOOP, PaceName, WarmUp},
    load::{self, Chosen},
    report,
    watcher::Watcher,
    workload,
};

/// All memory that may hold data, when nobody says.
const MEMORY: ByteCount = ByteCount::mib(32);

/// How an HdrHistogram log of ours begins.
const HDR_LOG_HEAD: &str = "#octavo bench";

pub(crate) fn bench(flags: BenchFlags) -> Result<(), Failure> {
    if let Some(url) = &flags.url {
        return served::bench(url, &flags);
    }
    let is_noop = flags.database.as_deref() == Some(NOOP);
    let found = if is_noop {
        None
    } else {
        Dataset::examine(&flags.directory).map_err(load::failure)?
    };
    let wanted = Wanted::of(&flags, found.as_ref())?;
    if is_noop {
        refuse_for_noop(&flags)?;
    }
    check_files(&flags)?;
    let watcher = Watcher::new()?;
    let on = if is_noop {
        None
    } else {
        let chosen = Chosen::of(flags.database.as_deref(), &flags.system, found.as_ref())?;
        let loaded = open(
            &flags,
            found.as_ref(),
            &chosen,
            &wanted.spec,
            wanted.workload.as_ref(),
            &watcher,
        )?;
        Some((loaded, chosen))
    };
    let target = on
        .as_ref()
        .map_or(Target::Noop, |(loaded, chosen)| Target::Dataset {
            loaded,
            database: chosen.database.as_ref(),
            memory: flags.memory.unwrap_or(MEMORY),
        });
    measure(&flags, &wanted, target, watcher)
}

/// What the flags want to be run, on whatever it is.
struct Wanted {
    spec: WorkloadSpec,
    workload: Box<dyn Workload>,
    load: Load,
    length: RunLength,
}

impl Wanted {
    fn of(flags: &BenchFlags, found: Option<&Manifest>) -> Result<Self, Failure> {
        let spec = WorkloadSpec {
            mix: flags.mix.clone(),
            distribution: flags.distribution,
            ..workload::spec(&flags.data, found)?
        };
        let workload = workload::build(&spec)?;
        let load = way(flags, workload.as_ref())?;
        Ok(Self {
            spec,
            load,
            length: length(flags, load)?,
            workload,
        })
    }
}

/// Makes the run, prints what it found and writes the files.
fn measure(
    flags: &BenchFlags,
    wanted: &Wanted,
    target: Target<'_>,
    watcher: Watcher,
) -> Result<(), Failure> {
    let mut hdr_log = flags.hdr_log.as_deref().map(HdrFile::create).transpose()?;
    let settings = BenchSettings {
        target,
        workload: wanted.workload.as_ref(),
        seed: wanted.spec.seed,
        clients: flags.clients,
        load: wanted.load,
        retries: flags.retries,
        isolation: flags.isolation.map(Into::into),
        length: wanted.length,
        hdr_log: hdr_log.as_mut().map(|log| &mut log.file as &mut dyn Write),
        octavo_version: env!("CARGO_PKG_VERSION"),
    };
    let result = run(settings, &watcher);
    watcher.finish();
    let Benched {
        result,
        hdr_log: logged,
    } = result.map_err(failure)?;
    // The result first: what goes wrong with files must not cost it.
    report::show(
        flags.json,
        || octavo_report::bench_json(&result),
        || octavo_report::bench(&result),
    )?;
    if let Some(csv) = &flags.csv {
        report::write(csv, &octavo_report::bench_csv(&result))?;
    }
    if let Some(log) = hdr_log {
        logged.map_err(|error| Failure::Fault(error.into()))?;
        log.finish()?;
    }
    if result.figures.load.interrupted {
        return Err(Failure::Interrupted(
            "what was measured before is shown".into(),
        ));
    }
    Ok(())
}

/// The no-op database has nothing that these would change.
fn refuse_for_noop(flags: &BenchFlags) -> Result<(), Failure> {
    let isolation = flags.isolation.map(|_| "--isolation".to_owned());
    match settings_given(flags).into_iter().chain(isolation).next() {
        None => Ok(()),
        Some(flag) => Err(Failure::Input(anyhow!(
            "{flag} is not possible with --database noop, which stores nothing"
        ))),
    }
}

/// The flags that were given of those that say how a database is set up.
fn settings_given(flags: &BenchFlags) -> Vec<String> {
    let mut given = Vec::new();
    for (is_given, flag) in [
        (flags.memory.is_some(), "--memory"),
        (flags.data.page_size.is_some(), "--page-size"),
    ] {
        if is_given {
            given.push(flag.to_owned());
        }
    }
    given.extend(flags.system.names());
    given
}

/// Refuses files that are somebody else's or cannot be written, before minutes
/// of measuring.
fn check_files(flags: &BenchFlags) -> Result<(), Failure> {
    if flags.csv.is_some() && flags.csv == flags.hdr_log {
        return Err(Failure::Input(anyhow!(
            "--csv and --hdr-log name the same file: name two"
        )));
    }
    for (file, what, head) in [
        (&flags.csv, "a series of Octavo", "at_s,length_s,"),
        (&flags.hdr_log, "a log of Octavo", HDR_LOG_HEAD),
    ] {
        if let Some(file) = file {
            // Nothing is lost with an empty file.
            report::keep_foreign(file, what, |text| text.is_empty() || text.starts_with(head))?;
            report::probe(file)?;
        }
    }
    Ok(())
}

/// The log of latencies, beside its place until it is whole.
struct HdrFile {
    path: PathBuf,
    unfinished: PathBuf,
    file: BufWriter<File>,
}

impl HdrFile {
    fn create(path: &Path) -> Result<Self, Failure> {
        let unfinished = report::unfinished(path);
        let file = File::create_new(&unfinished)
            .with_context(|| format!("create {}", unfinished.display()))
            .map_err(Failure::Fault)?;
        Ok(Self {
            path: path.to_owned(),
            unfinished,
            file: BufWriter::new(file),
        })
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.file
            .flush()
            .and_then(|()| fs::rename(&self.unfinished, &self.path))
            .with_context(|| format!("write {}", self.path.display()))
            .map_err(Failure::Fault)
    }
}

impl Drop for HdrFile {
    fn drop(&mut self) {
        // After `finish` it has its name, and nothing is here to remove.
        let _removed = fs::remove_file(&self.unfinished);
    }
}

/// Opens the rows to run on, loading them where they are missing.
fn open(
    flags: &BenchFlags,
    found: Option<&Manifest>,
    chosen: &Chosen,
    spec: &WorkloadSpec,
    workload: &dyn Workload,
    watcher: &Watcher,
) -> Result<Dataset, Failure> {
    let settings = load::settings(&flags.directory, &flags.data, found, chosen, spec, workload);
    // Before minutes of loading.
    let accepted = chosen.database.accept(&octavo_database::Settings {
        page_size: settings.page_size,
        memory: flags.memory.unwrap_or(MEMORY),
        clients: flags.clients,
        isolation: flags.isolation.map(Into::into),
    });
    accepted.map_err(|error| Failure::Input(error.into()))?;
    Dataset::open_or_load(&settings, watcher).map_err(load::failure)
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
            terminals: enough(flags.terminals.unwrap_or(specified), flags.clients)?,
        });
    }
    let terminals = flags.terminals.unwrap_or(flags.clients);
    Ok(Load::Closed {
        terminals: enough(terminals, flags.clients)?,
    })
}

/// Refuses less terminals than connections.
fn enough(terminals: u32, clients: u32) -> Result<u32, Failure> {
    if terminals < clients {
        return Err(Failure::Input(anyhow!(
            "{terminals} terminals are less than --clients {clients}: a connection without a \
             terminal would have nothing to do"
        )));
    }
    Ok(terminals)
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

fn failure(error: BenchError) -> Failure {
    if error.is_stop() {
        Failure::Interrupted("nothing was measured yet; the loaded rows are kept".into())
    } else if matches!(error, BenchError::NothingMeasured(_)) {
        Failure::Fault(anyhow!("{error}: give a longer --duration or a lower load"))
    } else if error.is_bad_input() {
        Failure::Input(error.into())
    } else {
        Failure::Fault(error.into())
    }
}
