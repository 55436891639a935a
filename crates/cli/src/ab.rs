//! `octavo ab`: two versions beside each other, after one beside itself.

use std::{
    fs,
    panic::resume_unwind,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    thread,
    time::Duration,
};

use anyhow::{Context, anyhow, bail, ensure};
use octavo_database::DatabaseSpec;
use octavo_experiment::{
    campaign::{CampaignError, CampaignSettings, Until, campaign, ratios_elsewhere},
    directory::STORE,
    findings::Findings,
    forecast::Forecast,
    plan::{Design, Factor, Level, Plan, Storage, TestedDatabase},
};
use octavo_report::ab::{Forecasts, Versions};

use crate::{
    advise::{plan_of, plan_of_own, show_script},
    devices::storage,
    failure::Failure,
    flags::{AbFlags, CellFlags, Setting},
    host::program,
    outcome,
    print::{self, PrintFlags},
    watcher::Watcher,
};

/// The total time that is taken where none is given.
const BUDGET: Duration = Duration::from_secs(600);

pub(crate) fn ab(mut flags: Box<AbFlags>) -> Result<(), Failure> {
    if flags.own.show_script {
        let given = flags.database.given.as_deref();
        return show_script(&flags.own, given, &flags.cells.system);
    }
    keep_foreign(&flags.directory)?;
    flags.fail_if.check()?;
    let watcher = Watcher::answering(flags.progress, flags.metrics)?;
    let (a, b) = (flags.a.clone(), flags.b.clone());
    let plan = plan(&mut flags, &a, &b, &watcher).map_err(Failure::of_plan)?;
    let budget = flags.campaign.budget.unwrap_or(BUDGET);
    let condition = flags.fail_if.condition;
    let mut noise = CampaignSettings {
        directory: flags.directory.join(PARTS[0]),
        plan: beside_itself(&plan),
        prediction: None,
        budget: Some(budget / 3),
        until: None,
        passes: flags.passes,
        slices: flags.slices.into(),
        calibrate: false,
        predict_first: false,
        chosen_sizes: None,
        program: program()?,
        keep_data: flags.campaign.keep_data,
        part: None,
        later: Vec::new(),
        // Their budgets are parts of one.
        command: None,
        octavo_version: env!("CARGO_PKG_VERSION"),
    };
    let mut both = CampaignSettings {
        directory: flags.directory.join(PARTS[1]),
        // What processors take for servers and for several clients is fitted on calibrated storage.
        calibrate: plan.is_predictable_elsewhere()
            && (plan.databases[0].kind().map_err(Failure::input)?.is_server
                || plan.clients.first().is_some_and(|clients| *clients > 1)),
        plan,
        budget: Some(budget - budget / 3),
        until: Some(condition.map_or(Until::Decided, Until::Told)),
        ..noise.clone()
    };
    if flags.dry_run.is_dry {
        watcher.finish();
        return forecast(&noise, &both, budget, flags.print);
    }
    noise.later = places(&flags.directory, &both.plan).map_err(Failure::Input)?;
    both.later.clone_from(&noise.later);
    fs::create_dir_all(&flags.directory)
        .with_context(|| format!("create {}", flags.directory.display()))
        .map_err(Failure::Input)?;
    let found = measure(&noise, &mut both, budget, &watcher);
    let found = found.map_err(|(error, directory)| {
        // Nothing is left where nothing was made.
        let _not_empty = fs::remove_dir(&flags.directory);
        failure(error, &directory)
    });
    // What was measured is there, whatever comes of these.
    let predicted = match &found {
        Ok(_) => ratios_elsewhere(&both, PREDICTION_MAX, &watcher),
        Err(_) => Ok(Vec::new()),
    };
    watcher.finish();
    let [noise, findings] = found?;
    let is_interrupted = matches!(predicted, Err(CampaignError::Stopped));
    let elsewhere = predicted.unwrap_or_else(|error| {
        print::aside(&format!("octavo: other disks were not predicted: {error}"));
        Vec::new()
    });
    let versions = Versions {
        names: [&a, &b].map(|of| format!("{}={}", of.key, of.value)),
        noise: &noise,
        findings: &findings,
        elsewhere: &elsewhere,
        condition,
    };
    print::result(
        flags.print,
        || octavo_report::ab::json(&versions),
        || octavo_report::ab::document(&versions),
    )?;
    flags.fail_if.write(&findings.created, &versions.cases())?;
    if is_interrupted {
        return Err(Failure::Interrupted("what was measured is shown".into()));
    }
    versions.outcome().map_or(Ok(()), outcome::judged)
}

/// What the comparison in `directory` that ended without findings comes to.
fn failure(error: CampaignError, directory: &Path) -> Failure {
    match error {
        CampaignError::Budget { .. } | CampaignError::UsedUp { .. } => {
            outcome::with_remedy(&error, "use a larger --budget")
        }
        error => outcome::failure(error, directory),
    }
}

/// Prints what both comparisons would take. What would be refused ends like the refusal itself.
fn forecast(
    noise: &CampaignSettings,
    both: &CampaignSettings,
    budget: Duration,
    flags: PrintFlags,
) -> Result<(), Failure> {
    let estimate = |settings: &CampaignSettings| {
        let found = Forecast::estimate(settings);
        found
            .map(|(forecast, _)| forecast)
            .map_err(|error| failure(error, &settings.directory))
    };
    let forecasts = Forecasts {
        a_a: estimate(noise)?,
        a_b: estimate(both)?,
    };
    print::result(
        flags,
        || octavo_report::json(&forecasts),
        || forecasts.document(),
    )?;
    check_both(noise, both, budget).map_err(|(error, directory)| failure(error, &directory))
}

/// Time for predicting other disks, at most, beyond the budget. Chosen.
const PREDICTION_MAX: Duration = Duration::from_secs(60);

/// Where A beside itself and B beside A are, in the directory.
const PARTS: [&str; 2] = ["a-a", "a-b"];

/// Refuses a directory that is neither new nor of such a comparison.
fn keep_foreign(directory: &Path) -> Result<(), Failure> {
    let refused = |why: &str| {
        let name = directory.display();
        Err(Failure::Input(anyhow!(
            "'{name}' {why}: name a new directory"
        )))
    };
    if directory.as_os_str().is_empty() {
        return refused("is no name");
    }
    if !directory.exists() && !directory.is_symlink() {
        return Ok(());
    }
    if !directory.is_dir() {
        return refused("is no directory");
    }
    let entries =
        fs::read_dir(directory).with_context(|| format!("open {}", directory.display()))?;
    for entry in entries {
        let name = entry.context("read a directory")?.file_name();
        if !PARTS.iter().any(|part| name == *part) {
            return refused("has other files");
        }
    }
    Ok(())
}

/// A beside itself, and then B beside A in all the time that is left. What fails has its directory.
fn measure(
    noise: &CampaignSettings,
    both: &mut CampaignSettings,
    budget: Duration,
    watcher: &Watcher,
) -> Result<[Findings; 2], (CampaignError, PathBuf)> {
    // What cannot be is refused before A is measured.
    check_both(noise, both, budget)?;
    let carried = |settings: &CampaignSettings| {
        // A thread is held to what it may change for good, and the next comparison and files come after.
        let found = thread::scope(|scope| scope.spawn(|| campaign(settings, watcher)).join());
        let found = found.unwrap_or_else(|panic| resume_unwind(panic));
        found.map_err(|error| (error, settings.directory.clone()))
    };
    let noise = carried(noise)?;
    let spent = Duration::try_from_secs_f64(noise.spent_s).unwrap_or_default();
    both.budget = Some(budget.saturating_sub(spent));
    Ok([noise, carried(both)?])
}

/// Refuses what cannot be measured, or not within the budget of both. What fails has its directory.
fn check_both(
    noise: &CampaignSettings,
    both: &CampaignSettings,
    budget: Duration,
) -> Result<(), (CampaignError, PathBuf)> {
    // A third of it, and the rest: what a part needs is so much of the whole.
    for (settings, (times, parts)) in [(noise, (3, 1)), (both, (3, 2))] {
        check(settings).map_err(|error| {
            // Users gave the whole budget, not this part of it.
            let error = match error {
                CampaignError::Budget {
                    cells,
                    data,
                    needed_s,
                    ..
                } => CampaignError::Budget {
                    cells,
                    data,
                    needed_s: needed_s.saturating_mul(times).div_ceil(parts),
                    budget_s: budget.as_secs(),
                },
                error => error,
            };
            (error, settings.directory.clone())
        })?;
    }
    Ok(())
}

/// Directories that both comparisons write to: the process is held to those of the first otherwise.
fn places(directory: &Path, plan: &Plan) -> anyhow::Result<Vec<PathBuf>> {
    let mut places = vec![directory.to_owned()];
    for database in &plan.databases {
        let programs = database.make()?.programs_directory(&plan.page_sizes)?;
        if let Some(programs) = programs {
            // What cannot be made is refused with its reason by who builds.
            let _made_later = fs::create_dir_all(&programs);
            places.push(programs);
        }
    }
    Ok(places)
}

/// Refuses what cannot be measured, or not within its budget, and a store of another plan: before
/// anything is measured.
fn check(settings: &CampaignSettings) -> Result<(), CampaignError> {
    let (_, requirements) = Forecast::estimate(settings)?;
    match requirements.check(settings) {
        // What is left to do may be nothing.
        Err(CampaignError::Space { .. }) if settings.directory.join(STORE).exists() => Ok(()),
        checked => checked,
    }
}

/// A and B, A as the reference.
fn plan(flags: &mut AbFlags, a: &Setting, b: &Setting, watcher: &Watcher) -> anyhow::Result<Plan> {
    ensure!(
        a.key == b.key,
        "--a is of {} and --b of {}: one key with two values is compared",
        a.key,
        b.key
    );
    ensure!(
        a.value != b.value,
        "--a and --b are the same: A beside itself is measured anyway"
    );
    let cells = &mut flags.cells;
    for (name, count) in [
        ("page-sizes", cells.page_sizes.len()),
        ("memory", cells.memory.len()),
        ("cache", cells.cache.len()),
    ] {
        ensure!(
            count <= 1,
            "--{name} has several values: name one, and with --a and --b what is compared"
        );
    }
    let compare = factor(&a.key);
    match compare {
        Factor::PageSize => {
            ensure!(
                cells.page_sizes.is_empty(),
                "--page-sizes is of both, and --a and --b are page sizes: leave one out"
            );
            cells.page_sizes = both(a, b)?;
        }
        Factor::Memory => {
            ensure!(
                cells.memory.is_empty() && cells.cache.is_empty(),
                "--memory and --cache are of both, and --a and --b are memories: leave one out"
            );
            cells.memory = both(a, b)?;
        }
        Factor::Clients => ensure!(
            cells.clients.is_none(),
            "--clients is of both, and --a and --b are numbers of clients: leave one out"
        ),
        _ => ensure!(
            !cells.system.names().contains(&format!("--{}", a.key)),
            "--{0} is of both, and --a and --b are of {0}: leave one out",
            a.key
        ),
    }
    let mut plan = plan_of_both(flags, watcher)?;
    let first = plan.databases[0].clone();
    plan.compare = compare;
    // What is measured behind a decision counts for the condition.
    plan.design = Design::Full;
    let reference = match compare {
        Factor::PageSize => {
            plan.page_sizes = both(a, b)?;
            let first = plan.page_sizes[0];
            if let Some(present) = plan.own.as_ref().map(|own| own.copy.page_size) {
                ensure!(
                    first == present,
                    "your file has pages of {present}, which others are compared with: give that as --a"
                );
            }
            Level::PageSize(first)
        }
        Factor::Memory => {
            plan.memories = both(a, b)?;
            Level::Memory(plan.memories[0])
        }
        Factor::Clients => {
            plan.clients = both(a, b)?;
            Level::Clients(plan.clients[0])
        }
        _ => {
            plan.databases = vec![with_option(&first, a)?, with_option(&first, b)?];
            Level::Database(plan.databases[0].to_string())
        }
    };
    let levels: Vec<Level> = plan
        .cells()
        .iter()
        .map(|cell| cell.level(compare))
        .collect();
    ensure!(
        levels.iter().any(|level| *level != reference),
        "--a and --b are the same: A beside itself is measured anyway"
    );
    plan.reference = Some(reference);
    if compare != Factor::PageSize {
        let present = first.default_page_size;
        let given = flags.cells.page_sizes.first().copied();
        plan.page_sizes = vec![given.unwrap_or(present)];
    }
    if compare != Factor::Memory {
        let largest = plan.memories.iter().copied().max();
        plan.memories = largest.into_iter().collect();
    }
    Ok(plan)
}

fn plan_of_both(flags: &AbFlags, watcher: &Watcher) -> anyhow::Result<Plan> {
    let place = match &flags.device.name {
        Some(device) => Storage::Device(storage(device)?),
        None => Storage::Own,
    };
    let cells: &CellFlags = &flags.cells;
    let Some(own) = flags.own.settings(cells.random.seed, cells.clients) else {
        return plan_of(flags.database.name(), cells, place);
    };
    let database = flags.own.database(flags.database.given.as_deref())?;
    let stopped = || watcher.is_interrupted();
    plan_of_own(database, &own, cells, place, false, &stopped)
}

/// What a key is of.
fn factor(key: &str) -> Factor {
    match key {
        "page-size" => Factor::PageSize,
        "memory" => Factor::Memory,
        "clients" => Factor::Clients,
        _ => Factor::Database,
    }
}

/// The two values.
fn both<T: FromStr<Err: std::fmt::Display>>(a: &Setting, b: &Setting) -> anyhow::Result<Vec<T>> {
    [a, b]
        .into_iter()
        .map(|setting| {
            let parsed = setting.value.parse();
            parsed.map_err(|error| anyhow!("{}={}: {error}", setting.key, setting.value))
        })
        .collect()
}

/// The database with an option.
fn with_option(
    database: &Arc<TestedDatabase>,
    setting: &Setting,
) -> anyhow::Result<Arc<TestedDatabase>> {
    let kind = database.kind()?;
    if kind.option(&setting.key).is_none() {
        let mut keys: Vec<&str> = kind.options.iter().map(|option| option.name).collect();
        keys.extend(["page-size", "memory", "clients"]);
        bail!(
            "{} has no option '{}': --a and --b are of {}",
            kind.title,
            setting.key,
            octavo_report::number::list(
                keys.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "or"
            )
        );
    }
    let mut options = database.options.clone();
    options.retain(|(name, _)| *name != setting.key);
    options.push((setting.key.clone(), setting.value.clone()));
    let spec = DatabaseSpec::new(kind, options)?;
    Ok(Arc::new(TestedDatabase {
        default_page_size: database.default_page_size,
        ..TestedDatabase::new(&spec)?
    }))
}

/// A twice, under two names.
fn beside_itself(plan: &Plan) -> Plan {
    let first = plan.cells().into_iter().next();
    let mut plan = plan.clone();
    plan.databases.truncate(1);
    plan.page_sizes.truncate(1);
    plan.memories.truncate(1);
    plan.clients.truncate(1);
    if let Some(first) = first {
        plan.page_sizes = vec![first.page_size];
        plan.memories = vec![first.memory];
    }
    plan.copies = 2;
    plan.design = Design::Race;
    plan.compare = Factor::Copy;
    plan.reference = Some(Level::Copy(1));
    plan
}
