//! What attempts that were killed left of their databases.

use std::{fs, path::Path};

use octavo_storage::file_system::remove_file_system;

use crate::{
    directory::WorkDirectory,
    part::{Host, PartKind},
    plan::{BACKING, FILE_SYSTEMS},
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
            remove_file_systems(&entry.path().join(FILE_SYSTEMS));
        }
    }
}

/// Deletes the file systems that were made for an attempt. Links are not followed.
fn remove_file_systems(below: &Path) {
    if !fs::symlink_metadata(below).is_ok_and(|about| about.is_dir()) {
        return;
    }
    for entry in fs::read_dir(below).into_iter().flatten().flatten() {
        let path = entry.path();
        match (path.extension(), entry.file_type()) {
            (Some(extension), Ok(kind)) if extension == BACKING && kind.is_dir() => {
                remove_file_system(&path);
            }
            // Where one was mounted.
            _ => {
                let _unless_used = fs::remove_dir(&path);
            }
        }
    }
    let _unless_used = fs::remove_dir(below);
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
        let systems = into.join("sitting-0-a").join(FILE_SYSTEMS);
        let image = systems.join("ext4-1K.backing/image");
        fs::create_dir_all(systems.join("ext4-1K")).unwrap();
        fs::create_dir_all(image.parent().unwrap()).unwrap();
        fs::write(&image, "a file system").unwrap();
        fs::create_dir_all(systems.join("xfs.backing")).unwrap();
        fs::write(systems.join("xfs.backing/theirs"), "x").unwrap();
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
        assert!(!image.exists() && !systems.join("ext4-1K").exists());
        assert!(systems.join("xfs.backing/theirs").exists());
        for stays in [of_other, of_under_way, of_kept, linked, of_another_name] {
            assert!(stays.join("main.db").exists(), "{}", stays.display());
        }
    }
}
