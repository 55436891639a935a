//! A directory with one loaded database, described in a file beside it, so
//! that any number of benches run on copies of the same rows.

use std::{
    fs::{self, File},
    io::Write,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use octavo_database::{Database, DatabaseError, LoadReport};
use octavo_storage::text;
use octavo_units::{ByteCount, PageSize, Seed};
use octavo_workload::{DataSpec, Workload, shape::Shape, user::CopyOf};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    causes::with_causes,
    directory::{DATA, DirectoryError, MANIFEST, STORE, WorkDirectory, directory_size, free_space},
    observer::Observer,
};

/// The form of [`MANIFEST`] that this version writes and reads.
pub(crate) const FORMAT: u32 = 3;

/// Below `data/`: the rows as loaded, never written again.
const BASE: &str = "base";

/// Below `data/`: the user's rows at the page size that they have, while another is made.
const ORIGINAL: &str = "original";

/// Below `data/`: the copy that the last bench worked on.
const COPY: &str = "run";

/// Below `data/`: the mix of that bench, which its conditions depend on.
const MIX: &str = "run.mix";

/// What was loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// The form of this manifest.
    pub format: u32,
    /// The version of Octavo that loaded it.
    pub octavo: String,
    /// When.
    pub loaded_at: Timestamp,
    /// The database's short name.
    pub database: String,
    /// The version that loaded it.
    pub database_version: String,
    /// Options of the database by name, as [`octavo_database::choose`] takes
    /// them.
    #[serde(default)]
    pub options: Vec<(String, String)>,
    /// The page size.
    pub page_size: PageSize,
    /// Which rows.
    pub data: DataSpec,
    /// Whose they are, where they are not Octavo's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<CopyOf>,
    /// The tables and operations that describe them, where that is no part of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Arc<Shape>>,
    /// Origin of their random values.
    pub seed: Seed,
    /// Rows in all tables.
    pub rows: u64,
    /// Bytes of the base.
    pub size: ByteCount,
    /// Time until all of it was durable.
    pub elapsed: Duration,
}

/// Why a directory cannot be loaded, or what it holds cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The directory cannot be worked in.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The database refused.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// It holds results.
    #[error("{} holds results of octavo advise: name another directory", path.display())]
    Advice {
        /// The directory.
        path: PathBuf,
    },
    /// Nothing was loaded there.
    #[error("{} holds no loaded database: run 'octavo load' first", path.display())]
    Nothing {
        /// The directory.
        path: PathBuf,
    },
    /// Something else was loaded there.
    #[error(
        "{} holds {found}, not {wanted}: name another directory, or delete this one",
        path.display()
    )]
    Other {
        /// The directory.
        path: PathBuf,
        /// What it holds.
        found: String,
        /// What was asked for.
        wanted: String,
    },
    /// The manifest cannot be read.
    #[error(
        "{} does not describe a loaded database ({reason}): delete the directory and load again",
        path.display()
    )]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Too little space is free.
    #[error(
        "{} has {available} free, and loading and a copy to run on need about {needed}: choose a \
         smaller scale or another directory",
        path.display()
    )]
    Space {
        /// The directory.
        path: PathBuf,
        /// Space needed.
        needed: ByteCount,
        /// Space there.
        available: ByteCount,
    },
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

impl LoadError {
    /// Whether the caller gave something that cannot be done, and nothing was
    /// changed.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Directory(error) => error.is_bad_input(),
            Self::Database(error) => matches!(error, DatabaseError::Setting { .. }),
            Self::Stopped => false,
            _ => true,
        }
    }
}

/// What to load.
pub struct LoadSettings<'a> {
    /// Where: new, empty or Octavo's own.
    pub directory: &'a Path,
    /// The database.
    pub database: &'a dyn Database,
    /// What it was made with.
    pub options: &'a [(String, String)],
    /// Its page size.
    pub page_size: PageSize,
    /// Whose rows.
    pub workload: &'a dyn Workload,
    /// The seed that the workload was made with.
    pub seed: Seed,
    /// The version of Octavo.
    pub octavo_version: &'a str,
}

impl LoadSettings<'_> {
    fn wanted(&self) -> String {
        words(
            self.database.name(),
            self.page_size,
            self.workload.data_spec(),
            self.workload.copy_of(),
            self.seed,
        )
    }
}

fn words(
    database: &str,
    page_size: PageSize,
    data: DataSpec,
    copy_of: Option<&CopyOf>,
    seed: Seed,
) -> String {
    match copy_of {
        // Two states of one file differ in nothing else that can be said.
        Some(copy) => format!(
            "{} ({}, state {:x}) in {database} with {page_size} pages",
            copy.title(),
            copy.size,
            copy.state
        ),
        None => format!("{data} (seed {seed}) in {database} with {page_size} pages"),
    }
}

/// A directory with a loaded database, locked as long as this lives.
#[derive(Debug)]
pub struct Dataset {
    directory: WorkDirectory,
    manifest: Manifest,
}

impl Dataset {
    /// Reads what a directory holds, without locking or changing it; `None`
    /// when it does not exist, is empty, or has an unfinished load.
    ///
    /// # Errors
    /// When the directory holds results or other files, or a manifest that cannot
    /// be read.
    pub fn examine(path: &Path) -> Result<Option<Manifest>, LoadError> {
        if !WorkDirectory::examine(path)? {
            return Ok(None);
        }
        if path.join(STORE).exists() {
            return Err(LoadError::Advice {
                path: path.to_owned(),
            });
        }
        let file = path.join(MANIFEST);
        let text = match text::read(&file, text::WRITTEN_MAX) {
            Ok(text) => text,
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => {
                return Err(LoadError::Manifest {
                    path: file,
                    reason: with_causes(&error),
                });
            }
        };
        let refused = |reason: String| LoadError::Manifest {
            path: file.clone(),
            reason,
        };
        let manifest: Manifest =
            serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
        if manifest.format != FORMAT {
            return Err(refused(format!(
                "its form is {}, this version of octavo knows {FORMAT}",
                manifest.format
            )));
        }
        Ok(Some(manifest))
    }

    /// Opens what was loaded.
    ///
    /// # Errors
    /// When nothing was loaded there, another process has locked it, or as
    /// [`Self::examine`].
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        let Some(manifest) = Self::examine(path)? else {
            return Err(LoadError::Nothing {
                path: path.to_owned(),
            });
        };
        Ok(Self {
            directory: open(path)?,
            manifest,
        })
    }

    /// Opens what the settings want, loading it first where it is not there
    /// yet. Anything else in the directory is refused. An earlier load that
    /// did not come to its end is taken away.
    ///
    /// # Errors
    /// When the directory holds anything else, has too little space or cannot be
    /// written, or the database refuses; [`LoadError::Stopped`] when the observer
    /// wants it.
    pub fn open_or_load(
        settings: &LoadSettings<'_>,
        observer: &dyn Observer,
    ) -> Result<Self, LoadError> {
        if let Some(manifest) = Self::examine(settings.directory)? {
            manifest.accept(settings)?;
            prepare(settings, observer)?;
            return Self::open(settings.directory);
        }
        settings.database.accept_workload(settings.workload)?;
        let page_sizes = &settings.database.kind().page_sizes;
        if !page_sizes.contains(settings.page_size) {
            let reason = format!("choose {page_sizes}");
            let kind = settings.database.kind();
            return Err(kind.refuse("page size", settings.page_size, reason).into());
        }
        let size = settings
            .database
            .estimate(settings.workload, settings.page_size);
        check_space(settings.directory, size, settings.database.logs())?;
        let directory = open(settings.directory)?;
        // Another octavo may have loaded before we had the lock.
        if let Some(manifest) = Self::examine(settings.directory)? {
            manifest.accept(settings)?;
            return Ok(Self {
                directory,
                manifest,
            });
        }
        let manifest = load(&directory, settings, observer).inspect_err(|_| {
            // What the first error left is of no use; it is the one to tell.
            let _removed = directory.remove_data();
        });
        match manifest {
            Ok(manifest) => Ok(Self {
                directory,
                manifest,
            }),
            Err(error) => {
                let _abandoned = directory.abandon();
                Err(error)
            }
        }
    }

    /// What was loaded.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The directory of the rows as loaded.
    pub fn base(&self) -> PathBuf {
        self.directory.data(BASE)
    }

    /// The directory of the copy that the last run worked on, if there is one.
    pub fn last_copy(&self) -> Option<PathBuf> {
        let copy = self.directory.data(COPY);
        let mut entries = fs::read_dir(&copy).ok()?;
        entries.next().map(|_| copy)
    }

    /// The directory for a copy to run on with this mix, made where it is
    /// missing. Until the next run it holds what the last one left.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn copy(&self, mix: &str) -> Result<PathBuf, LoadError> {
        let copy = self.directory.data(COPY);
        create(&copy)?;
        let file = self.directory.data(MIX);
        fs::write(&file, mix).map_err(DirectoryError::io("write", &file))?;
        Ok(copy)
    }

    /// The mix of the last run, as it was given to [`Self::copy`].
    pub fn last_mix(&self) -> Option<String> {
        text::read(&self.directory.data(MIX), text::WRITTEN_MAX).ok()
    }
}

impl Manifest {
    /// Refuses settings that want other rows.
    fn accept(&self, settings: &LoadSettings<'_>) -> Result<(), LoadError> {
        let same = self.database == settings.database.name()
            && self.page_size == settings.page_size
            && self.data == settings.workload.data_spec()
            // The user's rows are no seed's.
            && (self.copy_of.is_some() || self.seed == settings.seed);
        if same {
            return Ok(());
        }
        Err(LoadError::Other {
            path: settings.directory.to_owned(),
            found: self.to_string(),
            wanted: settings.wanted(),
        })
    }
}

impl std::fmt::Display for Manifest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&words(
            &self.database,
            self.page_size,
            self.data,
            self.copy_of.as_ref(),
            self.seed,
        ))
    }
}

fn check_space(directory: &Path, size: ByteCount, logs: ByteCount) -> Result<(), LoadError> {
    // The base and a copy, and a tenth more for estimates that are off. What
    // an unfinished load left will be taken away.
    let needed = ByteCount::new(size.saturating_mul(22).get() / 10).saturating_add(logs);
    let available = free_space(directory)?.saturating_add(directory_size(&directory.join(DATA)));
    if available < needed {
        return Err(LoadError::Space {
            path: directory.to_owned(),
            needed,
            available,
        });
    }
    Ok(())
}

fn load(
    directory: &WorkDirectory,
    settings: &LoadSettings<'_>,
    observer: &dyn Observer,
) -> Result<Manifest, LoadError> {
    directory.remove_data()?;
    let base = directory.data(BASE);
    create(&base)?;
    prepare(settings, observer)?;
    let loaded = match settings.workload.copy_of() {
        Some(copy) => copied(directory, &base, copy, settings, observer),
        None => {
            let now = format!("loading {}", settings.wanted());
            let mut report = loading(now, settings.workload, observer);
            let (database, page_size) = (settings.database, settings.page_size);
            let loaded = database.load(&base, page_size, settings.workload, &mut report);
            loaded.map_err(stopped)
        }
    }?;
    let manifest = Manifest {
        format: FORMAT,
        octavo: settings.octavo_version.into(),
        loaded_at: Timestamp::now(),
        database: settings.database.name().into(),
        database_version: settings.database.version(),
        options: settings.options.to_vec(),
        page_size: settings.page_size,
        data: settings.workload.data_spec(),
        copy_of: settings.workload.copy_of().cloned(),
        shape: settings.workload.shape().cloned(),
        seed: settings.seed,
        rows: loaded.rows,
        size: loaded.size,
        elapsed: loaded.elapsed,
    };
    write(&directory.path().join(MANIFEST), &manifest)?;
    Ok(manifest)
}

/// Copies the user's rows, and makes a copy of the page size where that takes a step of its own.
fn copied(
    directory: &WorkDirectory,
    base: &Path,
    copy: &CopyOf,
    settings: &LoadSettings<'_>,
    observer: &dyn Observer,
) -> Result<LoadReport, LoadError> {
    let LoadSettings {
        database,
        page_size,
        workload,
        ..
    } = *settings;
    let begin = Instant::now();
    let mut report = |done: u64| {
        let spent = begin.elapsed();
        let share = done.max(1) as f64 / copy.size.get().max(1) as f64;
        let now = format!("copying {}", copy.name);
        observer.progress(&now, spent, spent.div_f64(share.min(1.0)));
        observer.flow()
    };
    if let Some(copies) = database.copies_own() {
        copies.make_private(&directory.data(""))?;
    }
    let Some(derivation) = database.derivation(workload) else {
        let loaded = database.load(base, page_size, workload, &mut report);
        return loaded.map_err(stopped);
    };
    let original = directory.data(ORIGINAL);
    create(&original)?;
    let first = database.load(&original, page_size, workload, &mut report);
    let first = first.map_err(stopped)?;
    let made = derivation.derive(&original, base, page_size, &mut report);
    let made = made.map_err(stopped)?;
    fs::remove_dir_all(&original).map_err(DirectoryError::io("delete", &original))?;
    Ok(LoadReport {
        elapsed: first.elapsed + made.elapsed,
        ..made
    })
}

/// Gets what the database needs at the page size.
fn prepare(settings: &LoadSettings<'_>, observer: &dyn Observer) -> Result<(), LoadError> {
    let begin = Instant::now();
    settings
        .database
        .prepare(&[settings.page_size], &mut |step| {
            observer.progress(step, begin.elapsed(), begin.elapsed());
            observer.flow()
        })
        .map_err(stopped)
}

/// Shows how far loading has come since now, and tells whether to stop.
pub(crate) fn loading(
    now: String,
    workload: &dyn Workload,
    observer: &dyn Observer,
) -> impl FnMut(u64) -> ControlFlow<()> {
    let rows_about = rows_about(workload);
    let begin = Instant::now();
    move |rows| {
        let spent = begin.elapsed();
        let share = rows.max(1) as f64 / rows_about.max(1) as f64;
        observer.progress(&now, spent, spent.div_f64(share.min(1.0)));
        observer.flow()
    }
}

/// About how many rows a workload begins with.
pub(crate) fn rows_about(workload: &dyn Workload) -> u64 {
    let partitions = workload.population().partitions();
    partitions.iter().map(|part| part.rows_about).sum()
}

fn stopped(error: DatabaseError) -> LoadError {
    match error {
        DatabaseError::Stopped => LoadError::Stopped,
        error => error.into(),
    }
}

/// Writes the manifest whole or not at all: without it the rows count as
/// not loaded.
fn write(path: &Path, manifest: &Manifest) -> Result<(), DirectoryError> {
    let text = serde_json::to_string_pretty(manifest).expect("a manifest has a JSON form");
    let unfinished = path.with_extension("unfinished");
    File::create(&unfinished)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            fs::rename(&unfinished, path)
        })
        .inspect_err(|_| {
            // It is ours, and of no use; the first error is the one to tell.
            let _removed = fs::remove_file(&unfinished);
        })
        .map_err(DirectoryError::io("write", path))
}

fn open(path: &Path) -> Result<WorkDirectory, DirectoryError> {
    WorkDirectory::open(path, &[BASE, ORIGINAL, COPY, MIX].map(str::to_owned))
}

fn create(path: &Path) -> Result<(), DirectoryError> {
    fs::create_dir_all(path).map_err(DirectoryError::io("create directory", path))
}
