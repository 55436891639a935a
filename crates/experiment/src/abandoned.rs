//! What attempts that were killed left of their databases.

use std::{fs, path::Path};

use crate::{
    directory::WorkDirectory,
    part::{Host, PartKind},
};

/// Deletes the databases of sittings below `into` that were killed on this host: their results stay.
///
/// Whose they are says the file that marks a directory: stores are not opened, since those of other hosts may
/// be under way, with locks that are not seen here. What is under way on this host has its
/// directory locked. What cannot be read or deleted stays, and so does what a link leads to.
pub fn clear_abandoned(into: &Path, host: &Host) {
    let prefix = format!("{}-", PartKind::Sitting.name());
    for entry in fs::read_dir(into).into_iter().flatten().flatten() {
        let is_sitting = entry.file_name().to_string_lossy().starts_with(&prefix)
            && entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_sitting && let Some(directory) = WorkDirectory::open_abandoned(&entry.path(), host) {
            let _stays = directory.remove_data();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn databases_of_killed_attempts_on_this_host_go_and_all_else_stays() {
        let home = tempfile::tempdir().unwrap();
        let into = home.path().join("into");
        let [here, there] = ["here", "there"].map(Host::named);
        let attempt = |path: &Path, host: &Host| {
            let mut directory = WorkDirectory::open(path, &["sqlite".into()]).unwrap();
            directory.note_host(host).unwrap();
            let data = directory.data("sqlite");
            fs::create_dir_all(&data).unwrap();
            fs::write(data.join("main.db"), "rows").unwrap();
            fs::write(directory.store(), "results").unwrap();
            (directory, data)
        };
        let (killed, of_killed) = attempt(&into.join("sitting-0-a"), &here);
        let results = killed.store();
        drop(killed);
        let (_, of_other) = attempt(&into.join("sitting-0-b"), &there);
        let (_under_way, of_under_way) = attempt(&into.join("sitting-1-a"), &here);
        let (mut kept, of_kept) = attempt(&into.join("sitting-2-a"), &here);
        kept.note_kept().unwrap();
        drop(kept);
        let (_, linked) = attempt(&home.path().join("elsewhere"), &here);
        symlink(home.path().join("elsewhere"), into.join("sitting-3-a")).unwrap();
        let (_, of_another_name) = attempt(&into.join("results"), &here);
        // What leads out is not followed, whoever wrote it.
        let outside = home.path().join("outside");
        fs::create_dir(&outside).unwrap();
        for line in [
            "data/../../../outside",
            &format!("data/{}", outside.display()),
        ] {
            let marker = into.join("sitting-0-a").join("OCTAVO");
            let text = fs::read_to_string(&marker).unwrap();
            fs::write(&marker, format!("{text}{line}\n")).unwrap();
        }
        clear_abandoned(&into, &here);
        assert!(!of_killed.exists());
        assert!(results.exists() && outside.exists());
        for stays in [of_other, of_under_way, of_kept, linked, of_another_name] {
            assert!(stays.join("main.db").exists(), "{}", stays.display());
        }
    }
}
