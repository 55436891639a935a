//! `octavo predict`: flags or a file to a plan and what to predict from, the call, and what is
//! printed.

mod plan_file;
mod shard;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use anyhow::{Context, anyhow, bail};
use octavo_buffer::NamedPolicy;
use octavo_database::{DatabaseError, Settings};
use octavo_device::{catalog::Entry, profile::Profile};
use octavo_experiment::{
    advise::plan,
    campaign::{CampaignError, CampaignSettings, campaign},
    directory::STORE,
    plan::{
        Design, Factor, OwnSettings, Plan, Shard, SliceLength, Storage, TestedDatabase,
        file::PlanFile,
    },
    prediction::{
        Calibrated, Cpu, CpuCatalog, PREDICTED_PASSES, PREDICTED_SLICE, PredictedCpus,
        PredictedDevice, PredictedDevices, Prediction, Slowness,
    },
    record::Source,
    store::Store,
};
use octavo_predict::ModeledKind;
use octavo_report::number::list;
use octavo_storage::{entry, text};
use octavo_units::ByteCount;
use octavo_workload::{Workload, user::Prepared};

use crate::{
    advise::{plan_of, plan_of_own, show_script},
    devices,
    failure::Failure,
    flags::{CellFlags, PredictFlags, ShardFlag},
    outcome,
    print::{self, PrintFlags},
    report, run,
    system::recorded_titles,
    watcher::Watcher,
};

pub(crate) fn predict(flags: PredictFlags) -> Result<(), Failure> {
    if let (Some(part), Some(into)) = (flags.shard, &flags.into) {
        return predict_shard(part, into, &flags);
    }
    if plan_file::is_plan(&flags.directory) {
        let file = plan_file::read(&flags.directory, &flags)?;
        let settings = settings_of_plan(&flags, &file, None).map_err(Failure::Input)?;
        let watcher = Watcher::new(flags.progress)?;
        carry_out(&settings, Some(&file), watcher, flags.print)
    } else {
        predict_flags(flags)
    }
}

/// Predicts a part of a plan.
fn predict_shard(part: ShardFlag, into: &Path, flags: &PredictFlags) -> Result<(), Failure> {
    let shard = shard::resolve(part).map_err(Failure::Input)?;
    // From now on signals leave what there is.
    let watcher = Watcher::new(flags.progress)?;
    let run = shard::begin(shard, into);
    match settings_of_shard(shard, flags) {
        Ok((settings, file)) => {
            let directory = run.directory().to_owned();
            let carried = shard::carry_out(&run, shard, &settings, &watcher);
            watcher.finish();
            run::keep_prices(&file, &directory)?;
            carried
        }
        Err(failure) => {
            watcher.finish();
            Err(run.fail(failure)?)
        }
    }
}

fn settings_of_shard(
    shard: Shard,
    flags: &PredictFlags,
) -> Result<(CampaignSettings, PlanFile), Failure> {
    if !plan_file::is_plan(&flags.directory) {
        return Err(Failure::Input(anyhow!(
            "--shard is for plans, and '{}' is no file: type octavo predict PLAN.toml --shard \
             I/N --into DIR",
            flags.directory.display()
        )));
    }
    let file = plan_file::read(&flags.directory, flags)?;
    let settings = settings_of_plan(flags, &file, Some(shard)).map_err(Failure::Input)?;
    Ok((settings, file))
}

fn predict_flags(flags: PredictFlags) -> Result<(), Failure> {
    if let Some(results) = &flags.results {
        return Err(Failure::Input(anyhow!(
            "'{}' is for the predictions of a plan, and '{}' is no file: name one of them",
            results.display(),
            flags.directory.display()
        )));
    }
    if flags.own.is_given() {
        // Before anything else is opened in this process.
        watch_pages(&flags).map_err(Failure::Input)?;
    }
    if flags.own.show_script {
        let given = flags.database.given.as_deref();
        return show_script(&flags.own, given, &flags.cells.system);
    }
    let settings = settings(&flags).map_err(Failure::Input)?;
    let watcher = Watcher::new(flags.progress)?;
    carry_out(&settings, None, watcher, flags.print)
}

/// Predicts all of it, and prints what was found.
fn carry_out(
    settings: &CampaignSettings,
    file: Option<&PlanFile>,
    watcher: Watcher,
    print: PrintFlags,
) -> Result<(), Failure> {
    let directory = &settings.directory;
    let replaced = replaced_command(settings);
    let result = campaign(settings, &watcher);
    watcher.finish();
    let findings = result.map_err(|error| match error {
        // What there is of it is not gone on with.
        CampaignError::Stopped => Failure::Interrupted(
            "the prediction is not finished; repeat the command to begin anew".into(),
        ),
        error => outcome::failure(error, directory),
    })?;
    if let Some(file) = file {
        run::keep_prices(file, directory)?;
    }
    outcome::publish(&findings, directory, print)?;
    if let Some(command) = replaced {
        print::aside(&format!(
            "octavo: this replaced another prediction in {}; to have that again in another \
             directory, add one to: {command}",
            directory.display()
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
        flags.workload.rows(false).is_empty(),
    ) {
        plan.data = vec![*data];
        plan.shape.clone_from(&measured.shape);
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
    let mut most = ByteCount::ZERO;
    for &data in &plan.data {
        let workload = plan.workload(data)?;
        for database in &plan.databases {
            let database = database.make()?;
            let sizes = plan.page_sizes.iter();
            let sizes = sizes.map(|&size| database.estimate(workload.as_ref(), size));
            most = most.max(sizes.max().unwrap_or_default());
        }
    }
    let mut larger = entry.clone().holding(most);
    if larger != entry {
        larger.title += &format!(", drives enlarged to hold {most}");
    }
    Ok(larger)
}

/// What transactions take of processors by a file, and how many there were.
fn of_file(file: &Path, kind: &ModeledKind, workload: &dyn Workload) -> anyhow::Result<(Cpu, u32)> {
    let text = text::read(file, text::WRITTEN_MAX)?;
    let catalog = CpuCatalog::from_toml(&text)?;
    catalog.check(kind, workload)?;
    let cpu = Cpu::of_file(&catalog, workload, &file.display().to_string())?;
    Ok((cpu, catalog.processors))
}

/// The processors of this machine.
fn processors_here() -> u32 {
    thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

/// What a plan is predicted from.
struct Origins {
    cpu: Option<PredictedCpus>,
    processors: u32,
    /// The storage that was calibrated, and how much slower it was under the database.
    storage: Option<(Box<Profile>, Slowness)>,
}

/// Points at what a fault is about, where there is a plan: at a key of it.
type Refuse<'f> = &'f dyn Fn(&str, anyhow::Error) -> anyhow::Error;

/// What a plan is predicted from, but for the devices that it names.
fn origins(flags: &PredictFlags, plan: &Plan, refuse: Refuse<'_>) -> anyhow::Result<Origins> {
    let is_own = plan.own.is_some();
    if let Some(store) = &flags.calibrated_by {
        check_single(plan, "--calibrated-by", refuse)?;
        let database = &plan.databases[0];
        if !database.modeled()?.is_measurable() {
            bail!(
                "--calibrated-by takes what was measured of the same database, and of {} there is \
                 only a model: leave it out",
                database.name
            );
        }
        let calibrated = match is_own {
            true => Calibrated::storage_by(&report::store_at(store)),
            false => Calibrated::by(&report::store_at(store), plan),
        };
        let calibrated =
            calibrated.with_context(|| format!("--calibrated-by {}", store.display()))?;
        return Ok(Origins {
            cpu: calibrated.cpu.map(PredictedCpus::new),
            processors: calibrated.processors,
            storage: calibrated.storage,
        });
    }
    if is_own {
        // They are timed here.
        return Ok(Origins {
            cpu: None,
            processors: processors_here(),
            storage: None,
        });
    }
    if flags.cpu.is_some() {
        check_single(plan, "--cpu", refuse)?;
    }
    let mut all: Option<PredictedCpus> = None;
    let mut processors = Cpu::CATALOG_PROCESSORS;
    for database in &plan.databases {
        let kind = database
            .modeled()
            .map_err(|error| refuse("database", error.into()))?;
        for &data in &plan.data {
            let workload = plan.workload(data)?;
            let cpu = match &flags.cpu {
                Some(file) => {
                    let (cpu, count) = of_file(file, kind, workload.as_ref())
                        .with_context(|| format!("--cpu {}", file.display()))?;
                    processors = count;
                    cpu
                }
                None => Cpu::of_catalog(kind, workload.as_ref())
                    .map_err(|error| refuse("workload", error.into()))?,
            };
            all = Some(match all {
                None => PredictedCpus::new(cpu),
                Some(all) => all.with(&database.name, data, cpu),
            });
        }
    }
    Ok(Origins {
        cpu: all,
        processors,
        storage: None,
    })
}

/// Refuses a flag that says something of one database for a plan with several.
fn check_single(plan: &Plan, flag: &str, refuse: Refuse<'_>) -> anyhow::Result<()> {
    let is_first = |of: &Arc<TestedDatabase>| of.name == plan.databases[0].name;
    if plan.databases.iter().all(is_first) {
        return Ok(());
    }
    let error = anyhow!("{flag} is of one database: leave it out, or name one database here");
    Err(refuse("database", error))
}

/// The devices of a plan's storages. Where the plan names none, this is the calibrated one.
fn devices_of(
    plan: &Plan,
    enlarges: bool,
    calibrated: Option<(Box<Profile>, Slowness)>,
) -> anyhow::Result<(PredictedDevices, Slowness)> {
    let mut all: Option<PredictedDevices> = None;
    let mut slower = Slowness::default();
    for storage in &plan.storages {
        let device = match (storage, &calibrated) {
            (Storage::Device(device), _) => {
                let entry = match enlarges {
                    true => enlarged(devices::named(device)?, plan)?,
                    false => devices::named(device)?,
                };
                PredictedDevice::Entry(Box::new(entry))
            }
            (_, Some((profile, slowness))) => {
                slower = *slowness;
                PredictedDevice::Profile(profile.clone())
            }
            (_, None) => bail!(
                "the results of --calibrated-by have no calibrated storage: name a --device, or \
                 repeat octavo advise without --no-calibrate"
            ),
        };
        all = Some(match all {
            None => PredictedDevices::new(device),
            Some(all) => all.with(storage.clone(), device),
        });
    }
    let all = all.context("a plan has one storage at least")?;
    Ok((all, slower))
}

/// Refuses a prediction without any storage.
fn check_storage(flags: &PredictFlags, plan: &Plan, refuse: Refuse<'_>) -> anyhow::Result<()> {
    let is_named = plan.storages.iter().all(|of| *of != Storage::Own);
    if is_named || flags.calibrated_by.is_some() {
        return Ok(());
    }
    let error = anyhow!(
        "the plan names no storage: write storage = \"device:NAME\" in [cells], or type \
         --device NAME or --calibrated-by DIR"
    );
    Err(refuse("storage", error))
}

fn settings(flags: &PredictFlags) -> anyhow::Result<CampaignSettings> {
    let storage = match &flags.device.name {
        Some(device) => Storage::Device(devices::storage(device)?),
        None => Storage::Own,
    };
    let as_it_is: Refuse<'_> = &|_, error| error;
    if storage == Storage::Own && flags.calibrated_by.is_none() {
        bail!(
            "--device is missing: type octavo predict --device NAME, of those that octavo devices \
             lists, or --calibrated-by DIR"
        );
    }
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
    let slices = SliceLength::from(flags.slices);
    let passes = flags.passes.unwrap_or(PREDICTED_PASSES);
    let predicted = Predicted {
        directory: flags.directory.clone(),
        plan,
        passes,
        slices,
        shard: None,
    };
    let settings = predicted.settings(flags, as_it_is)?;
    if let Some(told) = told {
        print::aside(&told);
    }
    Ok(settings)
}

/// The settings of a plan from a file, or a part of it.
fn settings_of_plan(
    flags: &PredictFlags,
    file: &PlanFile,
    shard: Option<Shard>,
) -> anyhow::Result<CampaignSettings> {
    let directory = flags.results.clone();
    let predicted = Predicted {
        directory: directory.unwrap_or_else(|| plan_file::directory_of(&flags.directory)),
        plan: file.plan.clone(),
        passes: flags.passes.or(file.passes).unwrap_or(PREDICTED_PASSES),
        slices: file.slices,
        shard,
    };
    let refuse: Refuse<'_> = &|key, error| plan_file::refuse(file, key, &error);
    check_storage(flags, &predicted.plan, refuse)?;
    predicted.settings(flags, refuse)
}

/// What is predicted.
struct Predicted {
    directory: PathBuf,
    plan: Plan,
    passes: u32,
    slices: SliceLength,
    shard: Option<Shard>,
}

impl Predicted {
    fn settings(
        mut self,
        flags: &PredictFlags,
        refuse: Refuse<'_>,
    ) -> anyhow::Result<CampaignSettings> {
        // All cells to the end: it takes no storage's time.
        self.plan.design = Design::Full;
        let Origins {
            cpu,
            processors,
            storage,
        } = origins(flags, &self.plan, refuse)?;
        let machine = match &flags.machine {
            Some(machine) => Some(entry::named_machine(machine)?),
            None => None,
        };
        let processors = machine.as_ref().map_or(processors, |of| *of.processors);
        let processors = flags.cpus.unwrap_or(processors);
        let (devices, slowness) = devices_of(&self.plan, flags.enlarge, storage)?;
        let is_calibrated = self.plan.storages.contains(&Storage::Own);
        let measured_own = flags.calibrated_by.as_deref().filter(|_| is_calibrated);
        Ok(CampaignSettings {
            directory: self.directory,
            plan: self.plan,
            prediction: Some(Prediction {
                devices,
                cpu,
                processors,
                slowness,
                measured_own: measured_own.map(report::store_at),
                machine,
                warm_up_max: None,
                ends_slices: self.slices.transactions.is_some(),
                in_part: flags.part,
                shard: self.shard,
            }),
            budget: None,
            passes: Some(self.passes),
            slices: SliceLength {
                transactions: self.slices.transactions.or(Some(PREDICTED_SLICE)),
                ..self.slices
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
}
