//! `octavo predict`: flags to a plan and what to predict from, the call, and what is
//! printed.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use anyhow::{Context, bail};
use octavo_buffer::NamedPolicy;
use octavo_database::{DatabaseError, Settings};
use octavo_device::catalog::Entry;
use octavo_experiment::{
    advise::plan,
    campaign::{CampaignError, CampaignSettings, campaign},
    directory::STORE,
    plan::{Design, Factor, OwnSettings, Plan, SliceLength, Storage},
    prediction::{
        Calibrated, Cpu, CpuCatalog, PREDICTED_SLICE, PredictedDevice, Prediction, Slowness,
    },
    record::Source,
    store::Store,
};
use octavo_predict::ModeledKind;
use octavo_report::number::list;
use octavo_storage::{entry, text};
use octavo_workload::{Workload, user::Prepared};

use crate::{
    advise::{plan_of, plan_of_own, show_script},
    devices,
    failure::Failure,
    flags::{CellFlags, PredictFlags},
    outcome, print, report,
    system::recorded_titles,
    watcher::Watcher,
};

pub(crate) fn predict(flags: PredictFlags) -> Result<(), Failure> {
    if flags.own.is_given() {
        // Before anything else is opened in this process.
        watch_pages(&flags).map_err(Failure::Input)?;
    }
    if flags.own.show_script {
        let given = flags.database.given.as_deref();
        return show_script(&flags.own, given, &flags.cells.system);
    }
    let settings = settings(&flags).map_err(Failure::Input)?;
    let replaced = replaced_command(&settings);
    let watcher = Watcher::new(flags.progress)?;
    let result = campaign(&settings, &watcher);
    watcher.finish();
    let findings = result.map_err(|error| match error {
        // What there is of it is not gone on with.
        CampaignError::Stopped => Failure::Interrupted(
            "the prediction is not finished; repeat the command to begin anew".into(),
        ),
        error => outcome::failure(error, &flags.directory),
    })?;
    outcome::publish(&findings, &flags.directory, flags.print)?;
    if let Some(command) = replaced {
        print::aside(&format!(
            "octavo: this replaced another prediction in {}; to have that again in another \
             directory, add one to: {command}",
            flags.directory.display()
        ));
    }
    Ok(())
}

/// Has this process watch the pages of the user's own database.
fn watch_pages(flags: &PredictFlags) -> anyhow::Result<()> {
    let name = flags.own.database(flags.database.given.as_deref())?;
    let database = flags.cells.system.spec(name)?.make()?;
    let pages = match database.records_pages() {
        Ok(pages) => pages,
        Err(DatabaseError::Unrecorded { reason }) => bail!(
            "statements of your own are predicted on {} alone, not on {}: {reason}; octavo advise \
             --copy-of measures them",
            list(recorded_titles(), "and"),
            database.kind().title
        ),
        Err(error) => return Err(error.into()),
    };
    Ok(pages.watch()?)
}

/// The plan for the user's own data and statements.
fn own_plan(flags: &PredictFlags, own: &OwnSettings, storage: Storage) -> anyhow::Result<Plan> {
    let database = flags.own.database(flags.database.given.as_deref())?;
    // What is predicted is looked at without reading its rows.
    let plan = plan_of_own(database, own, &flags.cells, storage, false, &|| false)?;
    let prepared = plan.own.as_ref().and_then(|own| own.prepared.as_ref());
    if let Some(script) = prepared.and_then(Prepared::sleeps) {
        bail!(
            "{script} waits with \\sleep, which is not modeled: leave it out, or measure with \
             octavo advise"
        );
    }
    Ok(plan)
}

/// The command of an earlier prediction in the directory, where that was made from something
/// else: its results are about to be replaced.
fn replaced_command(settings: &CampaignSettings) -> Option<String> {
    let store = Store::open(&settings.directory.join(STORE)).ok()?;
    let is_prediction = store.source().ok()? == Some(Source::Predicted);
    let is_same = match store.inputs().ok()? {
        Some(inputs) => Some(inputs) == settings.inputs(),
        None => store.plan().ok()? == Some(settings.plan.clone()),
    };
    let is_other = is_prediction && !is_same;
    is_other.then(|| store.command().ok().flatten()).flatten()
}

/// Refuses memory that the database cannot have, before rows are chosen for it: that takes
/// many seconds for data of many TiB.
fn check_memory(flags: &PredictFlags) -> anyhow::Result<()> {
    let cells = &flags.cells;
    let plan = plan(
        cells.system.database(flags.database.name())?,
        cells.workload.name()?,
    )?;
    let database = plan.databases[0].make()?;
    let given = |sizes: &[_], defaults: &[_]| match sizes {
        [] => defaults.to_vec(),
        sizes => sizes.to_vec(),
    };
    let page_sizes = match flags.replacement.is_empty() {
        true => plan.page_sizes.clone(),
        // Policies are compared with one.
        false => vec![plan.databases[0].default_page_size],
    };
    for page_size in given(&cells.page_sizes, &page_sizes) {
        for &memory in cells.memory.iter().chain(&cells.cache) {
            database.accept(&Settings {
                page_size,
                memory,
                clients: cells.clients.unwrap_or(plan.clients[0]),
                isolation: cells.isolation.level(),
            })?;
        }
    }
    Ok(())
}

/// Has a plan compare replacement policies with the database's own, where there are any.
fn compare_policies(plan: &mut Plan, flags: &PredictFlags) -> anyhow::Result<()> {
    if flags.replacement.is_empty() {
        return Ok(());
    }
    let own = plan.databases[0].clone();
    plan.page_sizes = match flags.cells.page_sizes[..] {
        [] => vec![own.default_page_size],
        [size] => vec![size],
        _ => bail!("--replacement compares policies with one page size: give --page-sizes one"),
    };
    if flags.cells.memory.len().max(flags.cells.cache.len()) > 1 {
        let flag = match flags.cells.cache.len() > 1 {
            true => "--cache",
            false => "--memory",
        };
        bail!("--replacement compares policies in one memory: give {flag} one size");
    }
    let largest = plan.memories.iter().max();
    plan.memories = largest.copied().into_iter().collect();
    let clients = plan.clients[0];
    if flags.replacement.contains(&NamedPolicy::Opt) && clients > 1 {
        bail!(
            "opt has to know which page is next, and with {clients} clients that depends on time: \
             use --clients 1, or leave opt out"
        );
    }
    plan.compare = Factor::Database;
    for &policy in &flags.replacement {
        let other = Arc::new(own.with_replacement(policy.name()));
        if !plan.databases.contains(&other) {
            plan.databases.push(other);
        }
    }
    Ok(())
}

/// Has a plan take from results what is not typed, each by itself; what it took, in words. What is
/// of another database or workload is refused by who reads its costs.
fn adopt_measured(
    plan: &mut Plan,
    flags: &CellFlags,
    results: &Path,
) -> anyhow::Result<Vec<&'static str>> {
    let mut taken = Vec::new();
    let Some(measured) = Store::open(results)?.plan()? else {
        return Ok(taken);
    };
    let database = &plan.databases[0].name;
    let is_same = measured.workload == plan.workload
        && measured.own.is_none()
        && measured.databases.iter().any(|of| of.name == *database);
    if !is_same {
        return Ok(taken);
    }
    if flags.page_sizes.is_empty() {
        plan.page_sizes.clone_from(&measured.page_sizes);
        taken.push("page sizes");
    }
    if flags.memory.is_empty() && flags.cache.is_empty() {
        plan.memories.clone_from(&measured.memories);
        taken.push("memories");
    }
    if let ([data], None, true) = (
        &measured.data[..],
        flags.data,
        flags.workload.rows().is_empty(),
    ) {
        plan.data = vec![*data];
        taken.push("rows");
    }
    if flags.mix.mix.is_none() && flags.mix.distribution.is_none() {
        plan.mix.clone_from(&measured.mix);
        plan.distribution.clone_from(&measured.distribution);
        taken.push("mix");
    }
    if let (None, [clients], None) = (flags.clients, &measured.clients[..], measured.ramp) {
        plan.clients = vec![*clients];
        taken.push("clients");
    }
    Ok(taken)
}

/// A device that holds a plan's data, if its drives can be doubled; its title says that.
fn enlarged(entry: Entry, plan: &Plan) -> anyhow::Result<Entry> {
    let workload = plan.workload(plan.data[0])?;
    let database = plan.databases[0].make()?;
    let sizes = plan.page_sizes.iter();
    let sizes = sizes.map(|&size| database.estimate(workload.as_ref(), size));
    let data = sizes.max().unwrap_or_default();
    let mut larger = entry.clone().holding(data);
    if larger != entry {
        larger.title += &format!(", drives enlarged to hold {data}");
    }
    Ok(larger)
}

/// What transactions take of processors by a file, and how many there were.
fn of_file(file: &Path, kind: &ModeledKind, workload: &dyn Workload) -> anyhow::Result<(Cpu, u32)> {
    let text = text::read(file, text::WRITTEN_MAX)?;
    let catalog = CpuCatalog::from_toml(&text)?;
    catalog.check(kind.database.name)?;
    let cpu = Cpu::of_file(&catalog, workload, &file.display().to_string())?;
    Ok((cpu, catalog.processors))
}

/// The processors of this machine.
fn processors_here() -> u32 {
    thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

fn settings(flags: &PredictFlags) -> anyhow::Result<CampaignSettings> {
    let storage = match &flags.device.name {
        Some(device) => Storage::Device(devices::storage(device)?),
        None => Storage::Own,
    };
    let own = flags
        .own
        .settings(flags.cells.random.seed, flags.cells.clients);
    let mut told = None;
    let mut plan = match &own {
        Some(own) => own_plan(flags, own, storage)?,
        None => {
            check_memory(flags)?;
            let mut plan = plan_of(flags.database.name(), &flags.cells, storage)?;
            if let Some(results) = &flags.calibrated_by {
                let results = report::store_at(results);
                let taken = adopt_measured(&mut plan, &flags.cells, &results)
                    .with_context(|| format!("--calibrated-by {}", results.display()))?;
                told = (!taken.is_empty()).then(|| {
                    let taken = list(&taken, "and");
                    format!("octavo: {taken} are those of {}", results.display())
                });
            }
            plan
        }
    };
    compare_policies(&mut plan, flags)?;
    // All cells to the end: it takes no storage's time.
    plan.design = Design::Full;
    let kind = plan.databases[0].modeled()?;
    if flags.calibrated_by.is_some() && !kind.is_measurable() {
        bail!(
            "--calibrated-by takes what was measured of the same database, and of {} there is \
             only a model: leave it out",
            flags.database.name()
        );
    }
    let calibrated = match &flags.calibrated_by {
        Some(store) => Some(
            match &own {
                Some(_) => Calibrated::storage_by(&report::store_at(store)),
                None => Calibrated::by(&report::store_at(store), &plan),
            }
            .with_context(|| format!("--calibrated-by {}", store.display()))?,
        ),
        None => None,
    };
    let (cpu, processors, storage) = match calibrated {
        Some(Calibrated {
            cpu,
            processors,
            storage,
        }) => (cpu, processors, storage),
        // They are timed here.
        None if own.is_some() => (None, processors_here(), None),
        None => {
            let data = plan.data[0];
            let workload = plan.workload(data)?;
            let (cpu, processors) = match &flags.cpu {
                Some(file) => of_file(file, kind, workload.as_ref())
                    .with_context(|| format!("--cpu {}", file.display()))?,
                None => (
                    Cpu::of_catalog(kind, workload.as_ref())?,
                    Cpu::CATALOG_PROCESSORS,
                ),
            };
            (Some(cpu), processors, None)
        }
    };
    let machine = match &flags.machine {
        Some(machine) => Some(entry::named_machine(machine)?),
        None => None,
    };
    let processors = machine.as_ref().map_or(processors, |of| *of.processors);
    let processors = flags.cpus.unwrap_or(processors);
    let (device, slowness) = match (&flags.device.name, storage) {
        (Some(device), _) => {
            let entry = match flags.enlarge {
                true => enlarged(devices::named(device)?, &plan)?,
                false => devices::named(device)?,
            };
            (PredictedDevice::Entry(Box::new(entry)), Slowness::default())
        }
        (None, Some((profile, slowness))) => (PredictedDevice::Profile(profile), slowness),
        (None, None) => bail!(
            "the results of --calibrated-by have no calibrated storage: name a --device, or \
             repeat octavo advise without --no-calibrate"
        ),
    };
    if let Some(told) = told {
        print::aside(&told);
    }
    Ok(CampaignSettings {
        directory: flags.directory.clone(),
        plan,
        prediction: Some(Prediction {
            device,
            cpu,
            processors,
            slowness,
            measured_own: match flags.device.name {
                Some(_) => None,
                None => flags.calibrated_by.as_deref().map(report::store_at),
            },
            machine,
            warm_up_max: None,
            ends_slices: flags.slices.transactions.is_some(),
            in_part: flags.part,
        }),
        budget: None,
        passes: Some(flags.passes),
        slices: SliceLength {
            transactions: flags.slices.transactions.or(Some(PREDICTED_SLICE)),
            ..flags.slices.into()
        },
        calibrate: false,
        predict_first: false,
        chosen_sizes: None,
        program: PathBuf::new(),
        keep_data: false,
        until: None,
        part: None,
        later: Vec::new(),
        command: Some(outcome::command()),
        octavo_version: env!("CARGO_PKG_VERSION"),
    })
}
