//! What attempts that were killed left of their databases.

use std::{fs, path::Path};

use super::{Host, PartKind};
use crate::{
    directory::{STORE, WorkDirectory},
    store::Store,
};

/// Deletes the databases of sittings below `into` that were killed on this host: their results stay.
/// What cannot be read or deleted stays too, and so does what is under way, which has its directory locked.
pub fn clear_abandoned(into: &Path, host: &Host) {
    let prefix = format!("{}-", PartKind::Sitting.name());
    let entries = fs::read_dir(into).into_iter().flatten().flatten();
    for entry in entries {
        let is_sitting = entry.file_name().to_string_lossy().starts_with(&prefix);
        if is_sitting
            && is_killed(&entry.path(), host)
            && let Ok(directory) = WorkDirectory::open(&entry.path(), &[])
        {
            let _stays = directory.remove_data();
        }
    }
}

/// Whether nothing is known of the end of what was carried out there last, on this host.
fn is_killed(directory: &Path, host: &Host) -> bool {
    let parts = Store::open(&directory.join(STORE)).and_then(|store| store.parts());
    let parts = parts.unwrap_or_default();
    let last = parts
        .iter()
        .max_by(|one, other| one.started.cmp(&other.started));
    last.is_some_and(|last| last.host == *host && last.outcome.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::{Part, PartOutcome};

    #[test]
    fn databases_of_killed_attempts_on_this_host_go_and_results_stay() {
        let into = tempfile::tempdir().unwrap();
        let [here, there] = ["here", "there"].map(Host::named);
        let attempt = |name: &str, host: &Host, outcome: Option<PartOutcome>| {
            let path = into.path().join(name);
            let directory = WorkDirectory::open(&path, &["sqlite".into()]).unwrap();
            let part = Part::new(PartKind::Sitting, 0, None, host.clone());
            let mut store = Store::open_or_create(&directory.store()).unwrap();
            let session = store.begin_part(&part, "0").unwrap();
            if let Some(outcome) = outcome {
                store.end_part(session, outcome).unwrap();
            }
            let data = directory.data("sqlite");
            fs::create_dir_all(&data).unwrap();
            fs::write(data.join("main.db"), "rows").unwrap();
            (directory, data)
        };
        let (killed, of_killed) = attempt("sitting-0-a", &here, None);
        drop(killed);
        let (other, of_other) = attempt("sitting-0-b", &there, None);
        drop(other);
        let (_under_way, of_under_way) = attempt("sitting-1-a", &here, None);
        let (kept, of_kept) = attempt("sitting-2-a", &here, Some(PartOutcome::Done));
        drop(kept);
        clear_abandoned(into.path(), &here);
        assert!(!of_killed.exists());
        assert!(into.path().join("sitting-0-a").join(STORE).exists());
        for stays in [of_other, of_under_way, of_kept] {
            assert!(stays.join("main.db").exists(), "{}", stays.display());
        }
    }
}
