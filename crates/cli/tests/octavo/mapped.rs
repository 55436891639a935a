//! Stores that map their file, and files that are damaged.

use std::{fs, os::unix::fs::FileExt as _, path::Path};

use octavo_hostile::damage::Damage;

use crate::{complaint, octavo};

const PAGE: usize = 4096;

/// Pages with the metas, which a store refuses to open when they are damaged.
const METAS: usize = 3;

/// Changes three of ten pages.
fn damaged(whole: &[u8], case: u64, change: impl Fn(&mut [u8], &mut Damage)) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let mut damage = Damage::new(case);
    for page in bytes.chunks_exact_mut(PAGE).skip(METAS) {
        if damage.below(10) < 3 {
            change(page, &mut damage);
        }
    }
    bytes
}

/// `octavo check` ends with exit code 1 and says that the store is damaged.
fn is_found(directory: &Path, of: &str) {
    let output = octavo().arg("check").arg(directory).output().unwrap();
    let complaint = complaint(&output);
    assert_eq!(output.status.code(), Some(1), "{of}: {complaint}");
    let said = ["is not sound", "is damaged", "could not be read"];
    let is_said = said.iter().any(|words| complaint.contains(words));
    assert!(is_said, "{of}: {complaint}");
    assert!(!complaint.contains("ssertion"), "{of}: {complaint}");
}

#[test]
fn damaged_files_are_found() {
    let parent = tempfile::tempdir().unwrap();
    for (store, name) in [("lmdb", "database.mdb"), ("libmdbx", "database.mdbx")] {
        let directory = parent.path().join(store);
        let mut load = octavo();
        load.arg("load")
            .arg(&directory)
            .arg("--database")
            .arg(store);
        let loaded = load.args(["--workload=ycsb-a", "--records=1000"]).output();
        assert!(loaded.unwrap().status.success(), "{store}");
        let path = directory.join("data/base").join(name);
        let whole = fs::read(&path).unwrap();
        let write = |bytes: &[u8]| {
            let file = fs::File::create(&path).unwrap();
            file.write_all_at(bytes, 0).unwrap();
        };
        for (cut, case) in (0..8).enumerate() {
            let of = format!("{store} {case}");
            let header = |page: &mut [u8], damage: &mut Damage| damage.fill(&mut page[8..24]);
            write(&damaged(&whole, case, header));
            is_found(&directory, &format!("{of}, headers"));
            write(&damaged(&whole, case, |page, _| page.fill(0)));
            is_found(&directory, &format!("{of}, zeros"));
            write(&damaged(&whole, case, |page, damage| damage.fill(page)));
            is_found(&directory, &format!("{of}, random"));
            // libmdbx makes its file larger than its pages.
            write(&whole[..whole.len() / 20 * (cut + 1)]);
            is_found(&directory, &format!("{of}, cut"));
        }
        write(&whole);
        let output = octavo().arg("check").arg(&directory).output().unwrap();
        assert!(output.status.success(), "{store}: {}", complaint(&output));
    }
}
