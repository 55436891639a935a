//! One run of a bench on whatever target: flags to settings, the call, and the
//! output.

use std::{io::Write, path::Path};

use anyhow::{Context, anyhow, ensure};
use octavo_driver::{ArrivalProcess, Load, Ramp, RunLength};
use octavo_experiment::{
    bench::{
        Baseline, BenchError, BenchSettings, Benched, Target, WantedCell, automatic_warm_up,
        bench as run,
    },
    dataset::Manifest,
};
use octavo_workload::{Workload, WorkloadSpec, user::Pace};

use crate::{
    failure::Failure,
    flags::{ArrivalsName, BenchFlags, PaceName, WarmUp},
    outcome,
    output::{self, Unfinished},
    print,
    watcher::Watcher,
    workload,
};

/// How an HdrHistogram log of ours begins.
const HDR_LOG_HEAD: &str = "#octavo bench";

/// The run that the flags ask for.
pub(super) struct RequestedRun {
    pub(super) spec: WorkloadSpec,
    pub(super) workload: Box<dyn Workload>,
    load: Load,
    length: RunLength,
}

impl RequestedRun {
    pub(super) fn from_flags(
        flags: &BenchFlags,
        found: Option<&Manifest>,
    ) -> Result<Self, Failure> {
        let spec = WorkloadSpec {
            mix: flags.mix.mix.clone(),
            distribution: flags.mix.distribution,
            ..flags.data.spec(found)?
        };
        Self::new(flags, spec)
    }

    /// The same of a workload that is known.
    pub(super) fn new(flags: &BenchFlags, spec: WorkloadSpec) -> Result<Self, Failure> {
        let workload = workload::build(&spec)?;
        let load = way(flags, workload.as_ref()).map_err(Failure::Input)?;
        Ok(Self {
            spec,
            load,
            length: length(flags, load).map_err(Failure::Input)?,
            workload,
        })
    }
}

/// Makes the run, prints what it found and writes the files.
pub(super) fn measure(
    flags: &BenchFlags,
    wanted: &RequestedRun,
    target: Target<'_>,
    baseline: Option<Baseline>,
    watcher: Watcher,
) -> Result<(), Failure> {
    // Before minutes of measuring.
    let system = target.tested_system(env!("CARGO_PKG_VERSION"));
    let baseline = baseline.map(|baseline| {
        let wanted = WantedCell {
            workload: wanted.workload.as_ref(),
            system: &system,
            clients: flags.connections(),
        };
        baseline.like(&wanted).context("--baseline")
    });
    let baseline = baseline.transpose().map_err(Failure::Input)?;
    let hdr_log = flags.hdr_log.as_deref();
    let create =
        |path: &Path| Unfinished::create(path).with_context(|| format!("write {}", path.display()));
    let mut hdr_log = hdr_log.map(create).transpose()?;
    let caches = octavo_storage::cache::directory();
    let settings = BenchSettings {
        target,
        workload: wanted.workload.as_ref(),
        seed: wanted.spec.seed,
        clients: flags.connections(),
        load: wanted.load,
        retries: flags.retries,
        isolation: flags.isolation.level(),
        length: wanted.length,
        hdr_log: hdr_log.as_mut().map(|log| log as &mut dyn Write),
        octavo_version: env!("CARGO_PKG_VERSION"),
        caches: caches.as_deref(),
    };
    let result = run(settings, &watcher);
    watcher.finish();
    let Benched {
        mut result,
        hdr_log: logged,
    } = result.map_err(failure)?;
    match baseline
        .map(|baseline| baseline.beside(&result))
        .transpose()
    {
        Ok(beside) => result.beside = beside,
        Err(why) => print::aside(&format!("octavo: not compared with the baseline: {why}")),
    }
    // The result first: what goes wrong with files must not cost it.
    print::result(
        flags.format,
        || octavo_report::bench_json(&result),
        || octavo_report::bench(&result),
    )?;
    flags.page.write(|| octavo_report::bench(&result))?;
    if let Some(csv) = &flags.csv {
        output::write(csv, &octavo_report::bench_csv(&result))?;
    }
    if let Some(log) = hdr_log {
        logged.map_err(anyhow::Error::from)?;
        log.finish().context("write the log of latencies")?;
    }
    if result.figures.load.interrupted {
        return Err(Failure::Interrupted(
            "what was measured before is shown".into(),
        ));
    }
    if let Some(shortfall) = result.shortfall() {
        return Err(Failure::Fault(anyhow!(shortfall)));
    }
    let Some(condition) = &flags.fail_if.condition else {
        return Ok(());
    };
    let case = octavo_report::bench_case(condition, &result);
    let outcome = case.outcome.clone();
    let created = result.started_at.to_string();
    flags.fail_if.write(&created, &[case])?;
    outcome::judged(outcome)
}

/// What the run is set beside, read before anything is loaded.
pub(super) fn baseline(flags: &BenchFlags) -> Result<Option<Baseline>, Failure> {
    let read = |path: &Path| Baseline::read(path).context("--baseline");
    flags
        .baseline
        .as_deref()
        .map(read)
        .transpose()
        .map_err(Failure::Input)
}

/// The flags that were given of those that say how a database is set up.
pub(super) fn settings_given(flags: &BenchFlags) -> Vec<String> {
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
pub(super) fn check_files(flags: &BenchFlags) -> Result<(), Failure> {
    output::keep_apart(&[
        ("--html", flags.page.html.as_deref()),
        ("--csv", flags.csv.as_deref()),
        ("--hdr-log", flags.hdr_log.as_deref()),
        ("--junit", flags.fail_if.junit.as_deref()),
        ("--baseline", flags.baseline.as_deref()),
    ])?;
    flags.page.check()?;
    flags.fail_if.check()?;
    for (file, what, head) in [
        (&flags.csv, "a series of Octavo", "at_s,length_s,"),
        (&flags.hdr_log, "a log of Octavo", HDR_LOG_HEAD),
    ] {
        if let Some(file) = file {
            // Nothing is lost with an empty file.
            output::keep_foreign(file, what, |text| text.is_empty() || text.starts_with(head))?;
            output::probe(file)?;
        }
    }
    Ok(())
}

/// How transactions come to the connections.
fn way(flags: &BenchFlags, workload: &dyn Workload) -> anyhow::Result<Load> {
    if let Some(rate) = flags.rate {
        return Ok(Load::Open {
            rate,
            arrivals: match flags.arrivals {
                ArrivalsName::Constant => ArrivalProcess::Constant,
                ArrivalsName::Poisson => ArrivalProcess::Poisson,
            },
        });
    }
    if let Some(clients) = flags.ramp {
        let ramp = Ramp::new(clients, flags.step).map_err(|error| anyhow!("--{error}"))?;
        return Ok(Load::Ramp(ramp));
    }
    if let Some(PaceName::Spec) = flags.pace {
        let specified = workload.terminals().with_context(|| {
            format!(
                "--pace spec is not possible with {}: it has no keying and think times; give a \
                 --rate instead",
                workload.name()
            )
        })?;
        return Ok(Load::Paced {
            terminals: enough(flags.terminals.unwrap_or(specified), flags.clients)?,
        });
    }
    if let Some(PaceName::Recorded(pace)) = flags.pace {
        ensure!(
            workload.own().is_some_and(|own| own.recording.is_some()),
            "--pace {} needs a --recording, whose times it keeps",
            if pace == Pace::RECORDED {
                "recorded"
            } else {
                "with a speed"
            }
        );
        ensure!(
            flags.terminals.is_none(),
            "--terminals is not possible at the pace of a recording, whose sessions are the terminals"
        );
        return Ok(Load::Recorded { pace });
    }
    let terminals = flags.terminals.unwrap_or(flags.clients);
    Ok(Load::Closed {
        terminals: enough(terminals, flags.clients)?,
    })
}

/// Refuses less terminals than connections.
fn enough(terminals: u32, clients: u32) -> anyhow::Result<u32> {
    ensure!(
        terminals >= clients,
        "--terminals must be at least --clients ({clients}), not {terminals}"
    );
    Ok(terminals)
}

fn length(flags: &BenchFlags, load: Load) -> anyhow::Result<RunLength> {
    if let Some(measured) = flags.transactions {
        ensure!(
            matches!(load, Load::Closed { terminals } if terminals == flags.clients),
            "--transactions needs as many --terminals as --clients: it counts by client"
        );
        return Ok(RunLength::Transactions {
            warm_up: measured / 10,
            measured,
        });
    }
    let measured = match load {
        Load::Ramp(ramp) => ramp.length(),
        _ => flags.duration,
    };
    Ok(match (flags.warm_up_time, load) {
        (WarmUp::Auto, Load::Ramp(ramp)) => RunLength::for_ramp(ramp),
        (WarmUp::Auto, _) => automatic_warm_up(measured),
        (WarmUp::Time(time), _) => RunLength::Time {
            warm_up_min: time,
            warm_up_max: time,
            measured,
        },
    })
}

pub(super) fn failure(error: BenchError) -> Failure {
    if error.is_stop() {
        Failure::Interrupted("nothing was measured yet; the loaded rows are kept".into())
    } else {
        let is_bad_input = error.is_bad_input();
        Failure::classified(error, is_bad_input)
    }
}
