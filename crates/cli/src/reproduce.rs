//! `octavo reproduce`: published studies, predicted, and measured where that is asked for.

use std::{path::Path, sync::Mutex, time::Instant};

use anyhow::Context;
use octavo_experiment::{
    campaign::{CampaignSettings, campaign},
    directory::STORE,
    findings::Findings,
    plan::file::{PlanFile, Registries},
    store::Store,
};
use octavo_report::Reproduction;
use octavo_study::{
    Study, StudyError,
    measured::{measured, set_scale},
    predict, score, sensitivity,
};

use crate::{
    failure::Failure,
    flags::{ALL_STUDIES, ReproduceFlags},
    host::program,
    interrupt::Interrupt,
    outcome, print,
    progress::Progress,
    watcher::Watcher,
};

pub(crate) fn reproduce(flags: ReproduceFlags) -> Result<(), Failure> {
    let names: Vec<&str> = match flags.study.as_str() {
        ALL_STUDIES => octavo_study::names().collect(),
        name => vec![name],
    };
    let studies: Result<Vec<Study>, StudyError> =
        names.into_iter().map(octavo_study::find).collect();
    let studies = studies.map_err(Failure::input)?;
    flags.page.check()?;
    if flags.measure
        && let [study] = &studies[..]
        && octavo_study::plan_text(study).is_none()
    {
        return Err(Failure::Input(anyhow::anyhow!(
            "{} cannot be measured here: its database is only modeled; leave --measure out",
            study.name
        )));
    }
    let mut all = Vec::new();
    for study in studies {
        all.push(repeat(study, &flags)?);
    }
    print::result(
        flags.print,
        || octavo_report::reproduction_json(&all),
        || octavo_report::reproduction(&all),
    )?;
    flags.page.write(|| octavo_report::reproduction(&all))?;
    if let Some(page) = &flags.page.html
        && !flags.print.format.json
    {
        print::text(&format!("Report: {}\n", page.display()))?;
    }
    Ok(())
}

fn repeat(study: Study, flags: &ReproduceFlags) -> Result<Reproduction, Failure> {
    let directory = flags.directory.join(&study.name);
    let plan = octavo_study::plan_text(&study).filter(|_| flags.measure);
    let found = match plan {
        Some(plan) => Some(measure(&study, plan, &directory, flags)?),
        None => kept(&directory)?,
    };
    let measured_in = found.as_ref().map(|_| directory.display().to_string());
    let measured = found.map_or_else(Vec::new, |findings| measured(&study, &findings));
    let interrupt = Interrupt::listen()?;
    let progress = Mutex::new(Progress::new(flags.progress));
    let began = Mutex::new(Instant::now());
    let step = |done: usize, total: usize, name: &str| {
        if let (Ok(progress), Ok(mut began)) = (progress.lock(), began.lock()) {
            // Each constant that is moved begins anew.
            if done == 0 {
                *began = Instant::now();
            }
            let spent = began.elapsed();
            let whole = total as f64 / (done as f64).max(0.5);
            let name = format!("{}: {name}", study.name);
            progress.show(&name, spent, spent.mul_f64(whole));
        }
        !interrupt.is_set()
    };
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    let result = predict(&study, threads, &step).and_then(|predicted| {
        let constants = match flags.sensitivity {
            true => sensitivity(&study, &predicted, threads, &step)?,
            false => Vec::new(),
        };
        let charts: Result<Vec<_>, StudyError> = study
            .charts
            .iter()
            .map(|chart| study.draw(chart, &predicted))
            .collect();
        Ok((
            score(&study, &predicted, &measured)?,
            charts?,
            predicted,
            constants,
        ))
    });
    if let Ok(progress) = progress.into_inner() {
        progress.finish();
    }
    let (score, charts, predicted, constants) = result.map_err(|error| match error {
        StudyError::Stopped => Failure::Interrupted(match &measured_in {
            Some(directory) => {
                format!("the same command makes its predictions anew; what was measured stays in {directory}")
            }
            None => "the same command makes its predictions anew".into(),
        }),
        error => {
            // What the program itself has is sound.
            let is_own =
                octavo_study::names().any(|name| name == flags.study) || flags.study == ALL_STUDIES;
            Failure::classified(anyhow::Error::from(error), !is_own)
        }
    })?;
    Ok(Reproduction {
        title: study.title.clone(),
        question: study.question.clone(),
        answer: study.answer.clone(),
        citation: study.citation.clone(),
        study,
        score,
        charts,
        predicted,
        constants,
        measured_in,
    })
}

/// What was measured earlier.
fn kept(directory: &Path) -> Result<Option<Findings>, Failure> {
    let store = directory.join(STORE);
    if !store.is_file() {
        return Ok(None);
    }
    let store = Store::open(&store).with_context(|| format!("read {}", store.display()))?;
    let findings = Findings::read(&store).with_context(|| "read the measurements of a study")?;
    Ok(findings)
}

/// Carries out the plan of a study, or what is left of it.
fn measure(
    study: &Study,
    text: &str,
    directory: &Path,
    flags: &ReproduceFlags,
) -> Result<Findings, Failure> {
    let mut file =
        PlanFile::parse(&study.name, text, &Registries::standard()).map_err(Failure::input)?;
    if let Some(scale) = flags.measured_scale {
        set_scale(&mut file.plan, scale).map_err(|reason| {
            Failure::Input(anyhow::anyhow!(
                "--measured-scale for {}: {reason}",
                study.name
            ))
        })?;
    }
    file.budget = flags.campaign.budget.or(file.budget);
    file.check(directory).map_err(Failure::input)?;
    let settings = CampaignSettings {
        prediction: None,
        directory: directory.to_owned(),
        plan: file.plan.clone(),
        budget: file.budget,
        passes: file.passes,
        slices: file.slices,
        calibrate: false,
        predict_first: false,
        chosen_sizes: None,
        program: program()?,
        keep_data: flags.campaign.keep_data,
        until: None,
        part: None,
        later: Vec::new(),
        command: Some(outcome::command()),
        octavo_version: env!("CARGO_PKG_VERSION"),
    };
    let watcher = Watcher::new(flags.progress)?;
    let result = campaign(&settings, &watcher);
    watcher.finish();
    result.map_err(|error| outcome::failure(error, &settings.directory))
}
