//! Stores that map their file, and files that are damaged.

use std::{fs, os::unix::fs::FileExt as _, path::Path};

use crate::{complaint, octavo};

const PAGE: usize = 4096;

/// Pages with the metas, which a store refuses to open when they are damaged.
const METAS: usize = 3;

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        // Knuth's multiplier for 64 bits (MMIX).
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        self.0 >> 33
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        bytes.fill_with(|| self.next() as u8);
    }
}

/// Changes three of ten pages.
fn damage(whole: &[u8], seed: u64, change: impl Fn(&mut [u8], &mut Numbers)) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let mut numbers = Numbers(seed);
    for page in bytes.chunks_exact_mut(PAGE).skip(METAS) {
        if numbers.next() % 10 < 3 {
            change(page, &mut numbers);
        }
    }
    bytes
}

/// What is wrong with a store, of which `check` says it with exit code 1, whatever the library makes of it.
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
fn damaged_files_are_found_whatever_their_library_makes_of_them() {
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
        for seed in 0..8 {
            let of = format!("{store} {seed}");
            let header = |page: &mut [u8], numbers: &mut Numbers| numbers.fill(&mut page[8..24]);
            write(&damage(&whole, seed, header));
            is_found(&directory, &format!("{of}, headers"));
            write(&damage(&whole, seed, |page, _| page.fill(0)));
            is_found(&directory, &format!("{of}, zeros"));
            write(&damage(&whole, seed, |page, numbers| numbers.fill(page)));
            is_found(&directory, &format!("{of}, random"));
            // libmdbx makes its file larger than its pages.
            write(&whole[..whole.len() * (seed as usize + 1) / 20]);
            is_found(&directory, &format!("{of}, cut"));
        }
        write(&whole);
        let output = octavo().arg("check").arg(&directory).output().unwrap();
        assert!(output.status.success(), "{store}: {}", complaint(&output));
    }
}
