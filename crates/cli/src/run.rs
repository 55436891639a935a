//! `octavo run`: a plan in a file to settings, the call, and what is printed.

use std::path::{Path, PathBuf};

use octavo_experiment::{
    campaign::{CampaignError, CampaignSettings, Requirements, campaign},
    directory::{STORE, free_space},
    plan::{
        Cell, Design, LiveGroup, Plan, RunLength, Storage,
        file::{PlanFile, PlanFileError},
    },
    store::{Store, StoreError},
};
use octavo_units::ByteCount;
use serde_json::json;
use std::time::Duration;

use crate::{
    Failure,
    devices::{emulator, storage},
    flags::RunFlags,
    outcome, report,
    watcher::Watcher,
};

pub(crate) fn run(flags: RunFlags) -> Result<(), Failure> {
    let mut file = PlanFile::read(&flags.plan).map_err(refused)?;
    file.budget = flags.budget.or(file.budget);
    file.rounds = flags.rounds.or(file.rounds);
    if let Some(device) = &flags.device {
        emulate(&mut file, device)?;
    }
    let directory = flags
        .directory
        .clone()
        .unwrap_or_else(|| directory_of(&flags.plan));
    file.check(&directory).map_err(refused)?;
    let settings = CampaignSettings {
        directory,
        plan: file.plan.clone(),
        budget: file.budget,
        rounds: file.rounds,
        run_length: file.run_length,
        calibrate: flags.calibrate,
        emulator: emulator()?,
        keep_data: flags.keep_data,
        octavo_version: env!("CARGO_PKG_VERSION"),
    };
    let failure = |error| failure(error, &file, &flags, &settings);
    if flags.dry_run {
        let outlook = Outlook::of(&settings).map_err(failure)?;
        report::print(&if flags.json {
            format!("{:#}\n", outlook.json())
        } else {
            outlook.text()
        })?;
        // What would be refused ends like the refusal itself.
        return outlook.needs.check(&settings).map_err(failure);
    }
    let watcher = Watcher::new()?;
    let result = campaign(&settings, &watcher);
    watcher.finish();
    let findings = result.map_err(failure)?;
    outcome::publish(&findings, &settings.directory, flags.json)
}

/// Puts a device in the place of the storage that a plan does not name.
fn emulate(file: &mut PlanFile, device: &str) -> Result<(), Failure> {
    if file.has("storage") {
        return Err(refused(file.refuse(
            "storage",
            "--device is for plans that name no storages: write \"device:NAME\" here instead",
        )));
    }
    file.set_storage(Storage::Device(storage(device)?));
    Ok(())
}

/// Where a plan's results go when nobody says: `octavo-` and the plan's name.
fn directory_of(plan: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from("octavo-");
    name.push(plan.file_stem().unwrap_or_default());
    name.into()
}

fn refused(error: PlanFileError) -> Failure {
    Failure::Input(error.into())
}

/// Points at the line of the plan that a refusal is about, where there is one.
fn failure(
    error: CampaignError,
    file: &PlanFile,
    flags: &RunFlags,
    settings: &CampaignSettings,
) -> Failure {
    let (key, remedy) = match &error {
        CampaignError::Budget { .. } => (
            Some("budget").filter(|_| flags.budget.is_none()),
            "give a larger budget, shorter lists or less data",
        ),
        CampaignError::TooSlow { .. } => (None, "repeat the command with a larger budget"),
        CampaignError::Space { .. } => (
            Some("storage").filter(|key| file.has(key)),
            "name a directory on a larger file system, or choose less data or fewer page sizes",
        ),
        _ => return outcome::failure(error, &settings.directory),
    };
    match key {
        Some(key) => refused(file.refuse(key, format!("{error}: {remedy}"))),
        None => outcome::with_remedy(&error, remedy),
    }
}

/// What carrying out a plan takes, before anything is changed.
struct Outlook<'a> {
    settings: &'a CampaignSettings,
    needs: Requirements,
    /// Free space, in the order of [`Requirements::space`].
    free: Vec<ByteCount>,
    cells: Vec<Cell>,
    /// Cells in the order of the first round.
    order: Vec<usize>,
    /// Runs that are in the store already.
    runs_done: usize,
}

impl<'a> Outlook<'a> {
    fn of(settings: &'a CampaignSettings) -> Result<Self, CampaignError> {
        let plan = &settings.plan;
        let needs = Requirements::estimate(settings)?;
        let free = needs
            .space
            .iter()
            .map(|(path, _)| free_space(path))
            .collect::<Result<_, _>>()?;
        let all: Vec<LiveGroup> = plan
            .groups()
            .into_iter()
            .map(|group| LiveGroup {
                cells: group.cells,
                mirrored: false,
                rounds_before: 0,
            })
            .collect();
        Ok(Self {
            settings,
            needs,
            free,
            cells: plan.cells(),
            order: plan.order(0, &all),
            runs_done: runs_done(settings)?,
        })
    }

    /// About the time of a round of all cells.
    fn round(&self) -> Duration {
        self.needs.run.saturating_mul(self.cells.len() as u32)
    }

    /// About how many whole rounds the budget has room for; `None` without a
    /// budget.
    fn rounds_that_fit(&self) -> Option<u64> {
        let budget = self.settings.budget?;
        let remaining = budget.saturating_sub(self.needs.making).as_secs_f64();
        Some((remaining / self.round().as_secs_f64()) as u64)
    }

    /// About the time of the wanted number of rounds, with what comes before;
    /// `None` without such a number.
    fn whole(&self) -> Option<Duration> {
        let rounds = self.round().saturating_mul(self.settings.rounds?);
        Some(self.needs.making.saturating_add(rounds))
    }

    fn plan(&self) -> &Plan {
        &self.settings.plan
    }

    fn text(&self) -> String {
        let plan = self.plan();
        let mut lines = Vec::new();
        let mut line = |line: String| lines.push(line);
        if let Some(name) = &plan.name {
            line(name.clone());
            line(String::new());
        }
        line(format!("Workload:  {}, {}", plan.workload, self.data()));
        line(format!(
            "Compared:  {}, {}, differences up to {} % do not matter",
            plan.compare,
            match plan.design {
                Design::Race => "in a race: what is decided is measured no further",
                Design::Full => "each cell in each round",
            },
            // A margin of 3 % is 0.03, whose product with 100 is not 3.
            (plan.margin * 1e8).round() / 1e6
        ));
        line(format!("Directory: {}", self.settings.directory.display()));
        if self.runs_done > 0 {
            line(format!(
                "           {} are there already and stay; what follows is the whole plan",
                counted(self.runs_done, "run")
            ));
        }
        line(String::new());
        let groups = plan.groups();
        line(match groups.len() {
            1 => format!("{}:", counted(self.cells.len(), "cell")),
            several => format!(
                "{} in {}:",
                counted(self.cells.len(), "cell"),
                counted(several, "group")
            ),
        });
        for group in groups {
            let name = plan.group_name(&self.cells[group.cells[0]]);
            if !name.is_empty() {
                line(format!("  With {name}:"));
            }
            for (place, &cell) in group.cells.iter().enumerate() {
                let level = plan.level(&self.cells[cell], plan.compare).with_noun();
                let reference = if place == group.reference {
                    " (reference)"
                } else {
                    ""
                };
                line(format!("  {:>4}  {level}{reference}", cell + 1));
            }
        }
        line(String::new());
        let order: Vec<String> = self.order.iter().map(|c| (c + 1).to_string()).collect();
        line(format!("Order of the first round: {}", order.join(", ")));
        line(String::new());
        line(format!(
            "{} to make:",
            counted(self.needs.snapshots.len(), "snapshot")
        ));
        for (key, size) in &self.needs.snapshots {
            let mut parts = vec![format!("{} pages", key.page_size)];
            if plan.databases.len() > 1 {
                parts.insert(0, key.database.to_string());
            }
            if plan.data.len() > 1 {
                parts.push(key.data.to_string());
            }
            if plan.storages.len() > 1 {
                let path = key.storage.path(&self.settings.directory);
                parts.push(format!("in {}", path.display()));
            }
            line(format!("  about {size}: {}", parts.join(", ")));
        }
        line(String::new());
        line("Space, with the copy that runs change:".into());
        for ((path, needed), free) in self.needs.space.iter().zip(&self.free) {
            let verdict = if free < needed { ": does not fit" } else { "" };
            line(format!(
                "  {}: about {needed} needed, {free} free{verdict}",
                path.display()
            ));
        }
        line(String::new());
        self.add_times(&mut lines);
        lines.push(String::new());
        lines.join("\n")
    }

    fn data(&self) -> String {
        let data: Vec<String> = self.plan().data.iter().map(ToString::to_string).collect();
        data.join("; ")
    }

    fn add_times(&self, lines: &mut Vec<String>) {
        let mut line = |line: String| lines.push(line);
        line(
            "Time (estimates: of sizes, at a slow disk's 60 MB/s for making snapshots and 360 MB/s \
             for copying them; nothing was measured):"
                .into(),
        );
        let calibration = if self.settings.calibrate {
            "calibrating and "
        } else {
            ""
        };
        line(format!(
            "  {calibration}making the snapshots: about {}",
            time(self.needs.making)
        ));
        let run = time(self.needs.run);
        line(match (self.settings.run_length, self.settings.budget) {
            (
                Some(RunLength::Time {
                    warm_up_max,
                    warm_up_min,
                    ..
                }),
                _,
            ) => format!(
                "  a run: about {run}, up to {} more where the buffer fills slowly",
                time(warm_up_max.saturating_sub(warm_up_min))
            ),
            (Some(RunLength::Transactions { measured, .. }), _) => format!(
                "  a run: at least {run}; how long {} take is not known",
                counted(measured, "transaction")
            ),
            (None, _) => {
                format!("  a run: about {run}; decided from the budget, once a run has been tried")
            }
        });
        line(format!(
            "  a round of {}: about {}",
            counted(self.cells.len(), "run"),
            time(self.round())
        ));
        if let (Some(rounds), Some(whole)) = (self.settings.rounds, self.whole()) {
            line(format!(
                "  {} with everything: about {}",
                counted(rounds, "round"),
                time(whole)
            ));
        }
        if let (Some(budget), Some(fit)) = (self.settings.budget, self.rounds_that_fit()) {
            let budget_time = time(budget);
            line(match self.settings.rounds {
                None if self.needs.time_min > budget => format!(
                    "  the budget of {budget_time} does not fit: at least {} are needed",
                    time(self.needs.time_min)
                ),
                None => format!(
                    "  the budget of {budget_time} has room for about {}",
                    counted(fit, "round")
                ),
                Some(_) if self.whole() > Some(budget) => format!(
                    "  the budget of {budget_time} does not fit: it has room for about {}; the \
                     rounds are made all the same",
                    counted(fit, "round")
                ),
                Some(_) => format!("  the budget of {budget_time} is enough"),
            });
        }
    }

    fn json(&self) -> serde_json::Value {
        let plan = self.plan();
        let groups = plan.groups();
        let cell = |number: usize| {
            let group = groups.iter().find(|group| group.cells.contains(&number));
            let cell = &self.cells[number];
            json!({
                "cell": number,
                "name": plan.cell_name(cell),
                "level": plan.level(cell, plan.compare).to_string(),
                "group": plan.group_name(cell),
                "reference": group.is_some_and(|g| g.cells[g.reference] == number),
            })
        };
        let snapshots = self.needs.snapshots.iter().map(|(key, size)| {
            json!({
                "database": key.database.to_string(),
                "rows": key.data.to_string(),
                "directory": key.storage.path(&self.settings.directory),
                "page_size_bytes": key.page_size.get(),
                "size_bytes_about": size.get(),
            })
        });
        let space = self
            .needs
            .space
            .iter()
            .zip(&self.free)
            .map(|((path, needed), free)| {
                json!({
                    "directory": path,
                    "needed_bytes_about": needed.get(),
                    "free_bytes": free.get(),
                })
            });
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        json!({
            "plan": plan,
            "directory": self.settings.directory,
            "compared": plan.compare,
            "cells": (0..self.cells.len()).map(cell).collect::<Vec<_>>(),
            "order_of_first_round": self.order,
            "snapshots": snapshots.collect::<Vec<_>>(),
            "space": space.collect::<Vec<_>>(),
            "runs_done": self.runs_done,
            "rounds": self.settings.rounds,
            "rounds_that_fit_about": self.rounds_that_fit(),
            "budget_s": seconds(self.settings.budget),
            "making_s_about": seconds(Some(self.needs.making)),
            "run_s_about": seconds(Some(self.needs.run)),
            "round_s_about": seconds(Some(self.round())),
            "whole_s_about": seconds(self.whole()),
            "time_s_min": seconds(Some(self.needs.time_min)),
        })
    }
}

/// How many runs an earlier session left, which has to be of the same plan.
fn runs_done(settings: &CampaignSettings) -> Result<usize, StoreError> {
    let path = settings.directory.join(STORE);
    if !path.exists() {
        return Ok(0);
    }
    let mut store = Store::open(&path)?;
    // A store with a plan is compared with it and not changed.
    if store.plan()?.is_some() {
        store.adopt(&settings.plan, settings.run_length, settings.octavo_version)?;
    }
    Ok(store.outcomes()?.len())
}

/// A number with its noun.
fn counted(number: impl TryInto<u64>, noun: &str) -> String {
    match number.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    }
}

/// A time that is an estimate: no more digits than make sense.
fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let whole = seconds.round() as u64;
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..120 => format!("{whole} s"),
        120..7200 => format!("{} min", whole.saturating_add(30) / 60),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_have_few_digits() {
        for (seconds, text) in [
            (0.0, "0.0 s"),
            (2.34, "2.3 s"),
            (9.7, "10 s"),
            (96.4, "96 s"),
            (150.0, "3 min"),
            (7199.0, "120 min"),
            (9000.0, "2.5 h"),
        ] {
            assert_eq!(time(Duration::from_secs_f64(seconds)), text);
        }
        assert_eq!(counted(1_usize, "run"), "1 run");
        assert_eq!(counted(0_u32, "run"), "0 runs");
    }

    #[test]
    fn results_go_beside_no_matter_where_the_plan_is() {
        assert_eq!(
            directory_of(Path::new("plans/a b.toml")),
            Path::new("octavo-a b")
        );
        assert_eq!(directory_of(Path::new("plan")), Path::new("octavo-plan"));
    }
}
