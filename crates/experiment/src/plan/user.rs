//! What a user names to be measured, before it is looked at.

use std::{ffi::OsString, path::PathBuf};

use octavo_script::Definitions;
use octavo_workload::user::{Copying, Pace};

/// A script that the user names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptFile {
    /// The file.
    pub path: PathBuf,
    /// How often it is drawn, out of the sum of all weights.
    pub weight: u32,
}

impl ScriptFile {
    /// `FILE@WEIGHT`, as pgbench has it: what stands behind the last `@` is a weight if it is a
    /// number, else a part of the name.
    pub fn written(text: &str) -> Self {
        let weighted = text.rsplit_once('@').filter(|(path, _)| !path.is_empty());
        match weighted.map(|(path, weight)| (path, weight.parse())) {
            Some((path, Ok(weight))) => Self {
                path: path.into(),
                weight,
            },
            _ => Self {
                path: text.into(),
                weight: 1,
            },
        }
    }
}

/// Whose rows and statements.
#[derive(Clone, Debug)]
pub struct OwnSettings {
    /// The database: a file, or a server's URL.
    pub source: OsString,
    /// How it is copied.
    pub copying: Copying,
    /// The scripts; without any, one is guessed from the schema.
    pub scripts: Vec<ScriptFile>,
    /// Recordings whose statements run instead of scripts', in their order.
    pub recordings: Vec<PathBuf>,
    /// Whether the server's digests are to run. Without scripts and recordings they run where they
    /// stand for most of what the server did; this refuses to guess.
    pub digests: bool,
    /// The pace at which recorded transactions are sent, or as fast as they are answered.
    pub pace: Option<Pace>,
    /// Variables that are set for all of them.
    pub definitions: Definitions,
    /// How many clients, or as many as the database's description says.
    pub clients: Option<u32>,
}
