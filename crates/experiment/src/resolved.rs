//! A plan with everything that it names: the databases, the workloads, and the
//! directories where data lies.

use std::{
    collections::{HashMap, hash_map::Entry},
    path::{Path, PathBuf},
    sync::Arc,
};

use octavo_database::Database;
use octavo_workload::{DataSpec, Workload};

use crate::{
    directory::{DATA, MANIFEST, STORE, WorkDirectory},
    emulation::EmulatedDevice,
    error::CampaignError,
    plan::{Cell, Plan, SnapshotKey, Storage, TestedDatabase},
};

/// The name of what copies that are run on lie in.
const COPIES: &str = "run";

/// How the name of rows goes on that snapshots are made from.
const LOADED: &str = "-loaded";

/// A plan whose databases and workloads are made, to be looked up by what a
/// cell says of them.
pub(crate) struct ResolvedPlan<'a> {
    plan: &'a Plan,
    /// Where the experiment works.
    directory: &'a Path,
    databases: HashMap<Arc<TestedDatabase>, Box<dyn Database>>,
    workloads: HashMap<DataSpec, Box<dyn Workload>>,
}

impl<'a> ResolvedPlan<'a> {
    /// Makes a plan's databases and workloads.
    ///
    /// # Errors
    /// When the plan names a database or workload that there is not, or one
    /// with options that it does not have.
    pub(crate) fn new(plan: &'a Plan, directory: &'a Path) -> Result<Self, CampaignError> {
        let mut databases = HashMap::new();
        // Those of cells with mixed page sizes are none of the plan's list.
        let of_cells = plan.cells().into_iter().map(|cell| cell.database);
        for spec in plan.databases.iter().cloned().chain(of_cells) {
            for spec in [spec.clone(), spec.of_rows()] {
                if let Entry::Vacant(vacant) = databases.entry(spec) {
                    let database = vacant.key().make()?;
                    vacant.insert(database);
                }
            }
        }
        let mut workloads = HashMap::new();
        for &data in &plan.data {
            workloads.insert(data, plan.workload(data)?);
        }
        Ok(Self {
            plan,
            directory,
            databases,
            workloads,
        })
    }

    /// Where the experiment works.
    pub(crate) fn own_directory(&self) -> &'a Path {
        self.directory
    }

    pub(crate) fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// # Panics
    /// When the plan does not have this database, nor one whose rows it loads.
    pub(crate) fn database(&self, spec: &TestedDatabase) -> &dyn Database {
        self.databases[spec].as_ref()
    }

    /// # Panics
    /// When the plan does not have these rows.
    pub(crate) fn workload(&self, data: DataSpec) -> &dyn Workload {
        self.workloads[&data].as_ref()
    }

    /// Where the data of a storage lies.
    pub(crate) fn directory(&self, storage: &Storage) -> PathBuf {
        storage.path(self.directory)
    }

    /// Where the data of each storage lies, in the plan's order.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        let storages = self.plan().storages.iter();
        storages.map(|storage| self.directory(storage)).collect()
    }

    /// Where the databases of a storage lie.
    pub(crate) fn data(&self, storage: &Storage) -> PathBuf {
        self.directory(storage).join(DATA)
    }

    /// The directory whose file system has to have room for the databases of a
    /// storage, and what takes that room. Not where a device is mounted: that may
    /// be of an emulator that was killed.
    pub(crate) fn room(&self, storage: &Storage) -> (PathBuf, PathBuf) {
        match storage.backing(self.directory) {
            Some(backing) => (self.directory.to_owned(), backing),
            None => (self.directory(storage), self.data(storage)),
        }
    }

    /// Where the copies lie that are run on.
    pub(crate) fn copies(&self, storage: &Storage) -> PathBuf {
        self.data(storage).join(COPIES)
    }

    /// Where the copy of a cell lies, `number` of the plan.
    pub(crate) fn copy(&self, number: usize, cell: &Cell) -> PathBuf {
        self.copies(&cell.storage).join(number.to_string())
    }

    /// Where the rows lie that snapshots are made from.
    pub(crate) fn loaded(&self, key: &SnapshotKey) -> PathBuf {
        self.data(&key.storage)
            .join(self.snapshot_name(key) + LOADED)
    }

    /// Where a snapshot lies.
    pub(crate) fn snapshot(&self, key: &SnapshotKey) -> PathBuf {
        self.data(&key.storage).join(self.snapshot_name(key))
    }

    /// The names of all that is made where the databases of a storage lie.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = vec![COPIES.to_owned()];
        for key in self.plan().snapshots() {
            let name = self.snapshot_name(&key);
            names.push(name.clone() + LOADED);
            names.push(name);
        }
        names.sort();
        names.dedup();
        names
    }

    fn snapshot_name(&self, key: &SnapshotKey) -> String {
        let plan = self.plan();
        let mut name = String::from("snapshot");
        for (count, place) in [
            (
                plan.databases.len(),
                plan.databases
                    .iter()
                    .position(|of| of.of_rows() == key.database),
            ),
            (
                plan.data.len(),
                plan.data.iter().position(|of| *of == key.data),
            ),
        ] {
            if count > 1 {
                name += &format!("-{}", place.unwrap_or_default());
            }
        }
        let mut mixed = plan.mixed.iter();
        let own = key.database.own_sizes();
        let mixed = mixed.position(|of| Some(&of.own) == own.as_ref());
        let mixed = mixed.map_or_else(String::new, |place| format!("-mixed-{place}"));
        format!("{name}-{}{mixed}", key.page_size.get())
    }

    /// The devices that are to be emulated, in the plan's order.
    pub(crate) fn devices(&self) -> Vec<EmulatedDevice> {
        let directory = self.directory;
        let storages = self.plan().storages.iter();
        storages
            .filter_map(|storage| match storage {
                Storage::Device(device) => Some(EmulatedDevice {
                    device: device.clone(),
                    backing: storage.backing(directory)?,
                    mount: storage.path(directory),
                }),
                Storage::Own | Storage::Directory(_) => None,
            })
            .collect()
    }

    /// Refuses directories that are somebody else's, without changing
    /// anything.
    ///
    /// # Errors
    /// When a directory was not made by Octavo, cannot be read, or holds
    /// another experiment or what `octavo load` keeps.
    pub(crate) fn examine(&self) -> Result<(), CampaignError> {
        for storage in &self.plan().storages {
            // What is mounted there may be of an emulator that was killed: the
            // next one looks.
            if matches!(storage, Storage::Device(_)) {
                continue;
            }
            let path = self.directory(storage);
            WorkDirectory::examine(&path)?;
            if path != self.directory && path.join(STORE).exists() {
                return Err(CampaignError::Setting(format!(
                    "{} is where another experiment works: name another storage",
                    path.display()
                )));
            }
            if path.join(MANIFEST).exists() {
                return Err(CampaignError::Setting(format!(
                    "{} holds rows that octavo load or octavo bench keeps: name another directory",
                    path.display()
                )));
            }
        }
        Ok(())
    }
}
