//! Rows in Octavo's schema of a server that the user runs: what is there,
//! loading them, and a run on them.
//!
//! No copy is made, so a run begins with what the ones before it left. The
//! note beside the rows counts them and names the kinds of transactions that
//! they had: some conditions do not hold after some kinds, and YCSB's inserts
//! would find their keys taken.

use std::collections::BTreeSet;

use jiff::Timestamp;
use octavo_database::{
    DatabaseError, ExternalServer, Isolation, LoadReport, RestoreMethod, Running, SCHEMA,
};
use octavo_units::Seed;
use octavo_workload::{Condition, DataSpec, Registry, Workload, WorkloadSpec};
use serde::{Deserialize, Serialize};

use super::result::TestedSystem;
use crate::{
    dataset::{FORMAT, Manifest, loading},
    observer::Observer,
    run::Subject,
};

/// YCSB's kind of transaction that cannot be repeated on the rows it left.
const INSERT: &str = "Insert";

/// What the note beside the rows says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Note {
    #[serde(flatten)]
    loaded: Manifest,
    /// How many benches have begun to run on the rows.
    benches: u64,
    /// The kinds of transactions that they had.
    kinds: BTreeSet<String>,
}

impl Note {
    fn text(&self) -> String {
        serde_json::to_string(self).expect("a note has a JSON form")
    }
}

/// Why rows on a server cannot be loaded or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalError {
    /// The server refused.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The note beside the rows cannot be read.
    #[error("what {SCHEMA} of {place} holds is unknown ({reason})")]
    Note {
        /// The server.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Other rows are there.
    #[error("{SCHEMA} of {place} holds {found}, not {wanted}")]
    Other {
        /// The server.
        place: String,
        /// What is there.
        found: String,
        /// What was asked for.
        wanted: String,
    },
    /// An earlier run has inserted what this one would insert.
    #[error(
        "an earlier bench has inserted the keys that this one would insert into {SCHEMA} of \
         {place}"
    )]
    Inserted {
        /// The server.
        place: String,
    },
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
}

impl ExternalError {
    /// Whether the caller gave something that cannot be done, and nothing was
    /// changed.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Database(error) => matches!(error, DatabaseError::Setting { .. }),
            Self::Stopped => false,
            _ => true,
        }
    }
}

/// What to do with rows that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// Use them; refuse others than those that are wanted.
    Wanted,
    /// Take them away, whichever they are, and load.
    Never,
}

/// What to load on a server.
pub struct ExternalSettings<'a> {
    /// Whose rows.
    pub workload: &'a dyn Workload,
    /// The seed that the workload was made with.
    pub seed: Seed,
    /// What to do with those that are there.
    pub reuse: Reuse,
    /// The version of Octavo.
    pub octavo_version: &'a str,
}

/// Rows in Octavo's schema of a server.
pub struct ExternalRows<'a> {
    server: &'a dyn ExternalServer,
    note: Note,
}

impl<'a> ExternalRows<'a> {
    /// What was loaded on a server; `None` when there is nothing, or loading
    /// did not come to its end.
    ///
    /// # Errors
    /// When the server refuses, or the note beside the rows cannot be read.
    pub fn examine(server: &dyn ExternalServer) -> Result<Option<Manifest>, ExternalError> {
        Ok(read(server)?.map(|note| note.loaded))
    }

    /// The rows that the settings want, loaded first where they are not there
    /// yet. Refuses to run twice what would insert the same keys twice.
    ///
    /// # Errors
    /// When the server refuses, its schema holds other rows or keys that this run
    /// would insert; [`ExternalError::Stopped`] when the observer wants it.
    pub fn open_or_load(
        server: &'a dyn ExternalServer,
        settings: &ExternalSettings<'_>,
        observer: &dyn Observer,
    ) -> Result<Self, ExternalError> {
        let found = match settings.reuse {
            Reuse::Wanted => read(server)?,
            Reuse::Never => {
                server.rehearse(settings.workload)?;
                server.remove()?;
                None
            }
        };
        let Some(note) = found else {
            let note = load(server, settings, observer)?;
            return Ok(Self { server, note });
        };
        let wanted = (settings.workload.data_spec(), settings.seed);
        if (note.loaded.data, note.loaded.seed) != wanted {
            return Err(ExternalError::Other {
                place: server.address(),
                found: words(note.loaded.data, note.loaded.seed),
                wanted: words(wanted.0, wanted.1),
            });
        }
        let inserts = |kinds: &BTreeSet<String>| kinds.contains(INSERT);
        if inserts(&note.kinds) && inserts(&kinds(settings.workload)) {
            return Err(ExternalError::Inserted {
                place: server.address(),
            });
        }
        Ok(Self { server, note })
    }

    /// What was loaded.
    pub fn manifest(&self) -> &Manifest {
        &self.note.loaded
    }

    /// The note once a bench has begun: before it does, since rows that an
    /// interrupted one left are changed as well.
    fn note_with(&self, workload: &dyn Workload) -> Note {
        let mut note = self.note.clone();
        note.benches += 1;
        note.kinds.append(&mut kinds(workload));
        note
    }

    /// The server, for the result.
    pub(super) fn tested_system(&self) -> TestedSystem {
        TestedSystem {
            database: self.server.name().into(),
            version: self.server.version(),
            server: Some(self.server.address()),
            page_size: Some(self.server.page_size()),
            memory: None,
            size: Some(self.note.loaded.size),
        }
    }
}

fn words(data: DataSpec, seed: Seed) -> String {
    format!("{data} (seed {seed})")
}

fn read(server: &dyn ExternalServer) -> Result<Option<Note>, ExternalError> {
    let Some(text) = server.found()? else {
        return Ok(None);
    };
    let refused = |reason: String| ExternalError::Note {
        place: server.address(),
        reason,
    };
    // The form first: another may lack what this one has.
    let form = serde_json::from_str::<serde_json::Value>(&text)
        .map_err(|error| refused(error.to_string()))?["format"]
        .as_u64();
    if form != Some(u64::from(FORMAT)) {
        let form = form.map_or("not told".into(), |form| form.to_string());
        return Err(refused(format!(
            "its form is {form}, this version of octavo knows {FORMAT}"
        )));
    }
    let note = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
    Ok(Some(note))
}

fn load(
    server: &dyn ExternalServer,
    settings: &ExternalSettings<'_>,
    observer: &dyn Observer,
) -> Result<Note, ExternalError> {
    let workload = settings.workload;
    let now = format!(
        "loading {} on {}",
        words(workload.data_spec(), settings.seed),
        server.address()
    );
    let mut report = loading(now, workload, observer);
    let note = |loaded: &LoadReport| Note {
        loaded: Manifest {
            format: FORMAT,
            octavo: settings.octavo_version.into(),
            loaded_at: Timestamp::now(),
            database: server.name().into(),
            database_version: server.version(),
            options: Vec::new(),
            page_size: server.page_size(),
            copy_of: None,
            shape: workload.shape().cloned(),
            data: workload.data_spec(),
            seed: settings.seed,
            rows: loaded.rows,
            size: loaded.size,
            elapsed: loaded.elapsed,
        },
        benches: 0,
        kinds: BTreeSet::new(),
    };
    let loaded = server.load(workload, &|loaded| note(loaded).text(), &mut report);
    match loaded {
        Ok(loaded) => Ok(note(&loaded)),
        Err(DatabaseError::Stopped) => Err(ExternalError::Stopped),
        Err(error) => Err(error.into()),
    }
}

/// The kinds of transactions that a workload's mix has.
fn kinds(workload: &dyn Workload) -> BTreeSet<String> {
    let weights = workload.mix().weights();
    let used = workload.transactions().iter().zip(weights);
    used.filter(|(_, weight)| **weight > 0)
        .map(|(kind, _)| kind.name.to_owned())
        .collect()
}

/// The workload with all kinds that ever ran on its rows: its conditions are
/// those that hold after all of them. `None` when nothing but the workload
/// itself has run.
fn of_all_kinds(workload: &dyn Workload, note: &Note) -> Option<Box<dyn Workload>> {
    if note.kinds == kinds(workload) {
        return None;
    }
    let name = Registry::standard().first_on(note.loaded.data)?;
    let parts: Vec<String> = workload
        .transactions()
        .iter()
        .filter(|kind| note.kinds.contains(kind.name))
        .map(|kind| format!("{}=1", kind.name))
        .collect();
    let spec = WorkloadSpec {
        mix: Some(parts.join(",")),
        ..WorkloadSpec::new(name, note.loaded.data, note.loaded.seed)
    };
    // The workload could be made of the same, so this can.
    spec.build().ok()
}

/// The server runs on whatever is there, and its device is not known.
impl Subject for ExternalRows<'_> {
    fn start(
        &self,
        workload: &dyn Workload,
        isolation: Option<Isolation>,
    ) -> Result<(Box<dyn Running>, Option<RestoreMethod>), DatabaseError> {
        let running = self.server.start(isolation, workload)?;
        self.server.set_note(&self.note_with(workload).text())?;
        Ok((running, None))
    }

    fn conditions(&self) -> Vec<(String, String)> {
        let rows = match self.note.benches {
            0 => "as loaded".into(),
            1 => "as one earlier bench left them".into(),
            earlier => format!("as {earlier} earlier benches left them"),
        };
        vec![("rows".into(), rows)]
    }

    fn check(&self, workload: &dyn Workload) -> Result<Vec<Condition>, DatabaseError> {
        let checked = of_all_kinds(workload, &self.note_with(workload));
        let checked = checked.as_deref().unwrap_or(workload);
        let mut connection = self.server.inspect(checked)?;
        Ok(checked.check(connection.as_mut())?)
    }

    fn may_return(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use octavo_database::LoadReport;
    use octavo_units::{ByteCount, PageSize};
    use octavo_workload::{Pgbench, ycsb::Core};

    use super::*;

    fn note(workload: &dyn Workload) -> Note {
        let LoadReport {
            rows,
            size,
            log: _,
            elapsed,
        } = LoadReport {
            rows: 7,
            size: ByteCount::mib(3),
            log: None,
            elapsed: std::time::Duration::from_millis(1500),
        };
        Note {
            loaded: Manifest {
                copy_of: None,
                shape: None,
                format: FORMAT,
                octavo: "1".into(),
                loaded_at: Timestamp::UNIX_EPOCH,
                database: "postgres".into(),
                database_version: "15".into(),
                options: Vec::new(),
                page_size: PageSize::new(8192).unwrap(),
                data: workload.data_spec(),
                seed: Seed::new(u64::MAX),
                rows,
                size,
                elapsed,
            },
            benches: 2,
            kinds: kinds(workload),
        }
    }

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let ycsb = octavo_workload::Ycsb::new(1000, Seed::new(1)).unwrap();
        let note = note(&ycsb);
        let read: Note = serde_json::from_str(&note.text()).unwrap();
        assert_eq!(read, note);
    }

    #[test]
    fn conditions_are_those_after_all_kinds_that_ran() {
        let tpcb = Pgbench::new(1, Seed::new(1)).unwrap();
        let mut note = note(&tpcb);
        assert!(of_all_kinds(&tpcb, &note).is_none());
        note.kinds.insert("simple-update".into());
        let all = of_all_kinds(&tpcb, &note).unwrap();
        assert_eq!(kinds(all.as_ref()), note.kinds);
        assert_eq!(all.data_spec(), tpcb.data_spec());
    }

    #[test]
    fn inserts_are_known_by_their_name() {
        let with = |core| {
            let ycsb = octavo_workload::Ycsb::new(1000, Seed::new(1)).unwrap();
            kinds(&ycsb.with_core(core)).contains(INSERT)
        };
        assert!(with(Core::D) && with(Core::E));
        assert!(!with(Core::A) && !with(Core::F));
    }
}
