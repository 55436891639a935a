//! A plan with everything that it names: the databases, the workloads, and the
//! directories where data lies.

use std::{
    collections::{HashMap, hash_map::Entry},
    path::{Path, PathBuf},
    sync::Arc,
};

use octavo_database::Database;
use octavo_units::ByteCount;
use octavo_workload::{DataSpec, Workload};

use crate::{
    directory::{DATA, MANIFEST, STORE, WorkDirectory},
    error::CampaignError,
    mounted::{Mountable, WantedMount},
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
        match (storage, storage.backing(self.directory)) {
            (Storage::FileSystem { on, .. }, Some(backing)) if on.device().is_none() => {
                (self.directory(on), backing)
            }
            // What lies on a device is in what that holds.
            (_, Some(_)) => {
                let device = storage.ground().backing(self.directory);
                (self.directory.to_owned(), device.unwrap_or_default())
            }
            (_, None) => (self.directory(storage), self.data(storage)),
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
    pub(crate) fn devices(&self) -> Vec<WantedMount> {
        let mut devices: Vec<WantedMount> = Vec::new();
        for storage in self.plan().storages.iter().map(Storage::ground) {
            let (Some(device), Some(backing)) = (storage.device(), storage.backing(self.directory))
            else {
                continue;
            };
            // Several file systems may be made on one.
            if devices.iter().any(|other| other.backing == backing) {
                continue;
            }
            let seed = self.plan().seed.derive("device", devices.len() as u64);
            devices.push(WantedMount {
                what: Mountable::Device {
                    device: device.to_owned(),
                    seed,
                },
                backing,
                mount: storage.path(self.directory),
            });
        }
        devices
    }

    /// The file systems that are to be made, in the plan's order, each for what lies on it.
    pub(crate) fn file_systems(&self) -> Vec<WantedMount> {
        let storages = self.plan().storages.iter();
        let systems = storages.filter_map(|storage| {
            let system = storage.file_system()?.clone();
            let size = system.size_for(self.needed(storage));
            Some(WantedMount {
                what: Mountable::FileSystem { system, size },
                backing: storage.backing(self.directory)?,
                mount: storage.path(self.directory),
            })
        });
        systems.collect()
    }

    /// About the bytes of each snapshot that is to be made.
    pub(crate) fn snapshot_sizes(&self) -> Vec<(SnapshotKey, ByteCount)> {
        let snapshots = self.plan().snapshots().into_iter();
        let sizes = snapshots.map(|key| {
            let database = self.database(&key.database);
            let size = database.estimate(self.workload(key.data), key.page_size);
            (key, size)
        });
        sizes.collect()
    }

    /// About the bytes that the databases of a storage take at most at a time: all snapshots, the copies
    /// that are open together, what they are derived from, and logs.
    pub(crate) fn needed(&self, storage: &Storage) -> ByteCount {
        let plan = self.plan();
        let sizes = self.snapshot_sizes();
        let sizes = || {
            let own = sizes.iter().filter(|(key, _)| key.storage == *storage);
            own.map(|&(_, size)| size)
        };
        let largest = sizes().max().unwrap_or_default();
        let copies = largest.saturating_mul(1 + plan.open_together() as u64);
        let all = sizes().fold(copies, ByteCount::saturating_add);
        let databases = plan.databases.iter();
        let logs = databases.map(|spec| self.database(spec).logs()).max();
        // A tenth more for the store and estimates that are off.
        let all = all.get() / 10 * 11;
        ByteCount::new(all).saturating_add(logs.unwrap_or_default())
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
            if storage.device().is_some() {
                continue;
            }
            let path = self.directory(storage.ground());
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
