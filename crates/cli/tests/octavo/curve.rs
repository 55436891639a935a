//! `octavo curve`: files of requests, what is printed of them, and what is refused.

use std::{fs, path::Path, process::Output};

use serde_json::Value;

use crate::{complaint, octavo};

fn curve(home: &Path, arguments: &[&str]) -> Output {
    let mut command = octavo();
    command.arg("curve").args(arguments).current_dir(home);
    command.output().unwrap()
}

fn json(home: &Path, arguments: &[&str]) -> Value {
    let output = curve(home, &[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{}", complaint(&output));
    crate::schema::conforms("curve", &output.stdout);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Belady's string, a request of one block of 4 KiB each.
const STRING: [u64; 12] = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5];

/// The string in every format.
fn write_all(home: &Path) -> [&'static str; 5] {
    let lines = |line: fn(u64) -> String| STRING.map(line).concat();
    let lis = lines(|block| format!("{} 8 0 0\r\n", block * 8));
    let csv = lines(|block| format!("0,{block},4096\n"));
    let msr = lines(|block| format!("1,usr,0,Read,{},4096,1\n", block * 4096));
    let blkparse = lines(|block| format!("  8,0 1 1 0.0 7 Q R {} + 8 [x]\n", block * 8));
    let records: Vec<u8> = STRING
        .into_iter()
        .flat_map(|block| {
            let mut record = vec![0; 4];
            record.extend(block.to_le_bytes());
            record.extend(4096_u32.to_le_bytes());
            record.extend((-1_i64).to_le_bytes());
            record
        })
        .collect();
    fs::write(home.join("a.lis"), lis).unwrap();
    fs::write(home.join("a.csv"), format!("time,id,size\n{csv}")).unwrap();
    fs::write(home.join("a.msr"), msr).unwrap();
    fs::write(home.join("a.blkparse"), blkparse).unwrap();
    fs::write(home.join("a.bin"), records).unwrap();
    ["a.lis", "a.csv", "a.msr", "a.blkparse", "a.bin"]
}

#[test]
fn every_format_of_one_string_has_the_misses_that_belady_counted() {
    let home = tempfile::tempdir().unwrap();
    for name in write_all(home.path()) {
        let found = json(home.path(), &[name, "--memory=12K,16K", "--policy=opt,lru"]);
        let size = &found["page_sizes"][0];
        assert_eq!(
            (&size["references"], &size["pages"]),
            (&12.into(), &5.into()),
            "{name}"
        );
        // By hand: with three frames OPT misses 7 and LRU 10, with four 6 and 8.
        for (policy, misses) in [(0, [7.0, 6.0]), (1, [10.0, 8.0])] {
            for (place, misses) in misses.into_iter().enumerate() {
                let point = &size["policies"][policy]["points"][place];
                assert_eq!(point["miss_ratio"], misses / 12.0, "{name}");
            }
        }
        let curve = size["lru"].as_array().unwrap();
        let ratios = curve
            .iter()
            .map(|point| point["miss_ratio"].as_f64().unwrap());
        let misses: Vec<f64> = ratios.map(|ratio| (ratio * 12.0).round()).collect();
        assert_eq!(misses, [12.0, 12.0, 10.0, 8.0, 5.0], "{name}");
    }
}

#[test]
fn several_files_are_one_trace_and_page_sizes_share_neighbors() {
    let home = tempfile::tempdir().unwrap();
    write_all(home.path());
    let found = json(home.path(), &["a.lis", "a.lis", "--page-sizes=8K,4K"]);
    assert_eq!(found["requested"]["requests"], 24);
    // Blocks 1 to 5 are on three pages of 8 KiB.
    assert_eq!(found["page_sizes"][0]["pages"], 5);
    assert_eq!(found["page_sizes"][1]["pages"], 3);
    let page = home.path().join("x.html");
    let output = curve(home.path(), &["a.lis", "--html=x.html", "--verbose"]);
    assert!(output.status.success(), "{}", complaint(&output));
    assert!(fs::read_to_string(page).unwrap().contains("<svg"));
}

#[test]
fn a_sample_that_fits_is_all_of_it() {
    let home = tempfile::tempdir().unwrap();
    write_all(home.path());
    let all = json(home.path(), &["a.bin"]);
    assert_eq!(json(home.path(), &["a.bin", "--sample=auto"]), all);
    assert!(all["page_sizes"][0]["sample"].is_null());
    // Each page twice.
    let lines: Vec<String> = (0..8000)
        .map(|at| format!("{} 8 0 {at}\n", at % 4000 * 8))
        .collect();
    fs::write(home.path().join("many.lis"), lines.concat()).unwrap();
    let half = json(home.path(), &["many.lis", "--sample=0.5"]);
    assert_eq!(half["page_sizes"][0]["sample"]["rate"], 0.5);
}

#[test]
fn what_is_no_trace_is_refused_with_its_place_and_a_remedy() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name);
    write_all(home.path());
    fs::write(path("empty"), "").unwrap();
    fs::write(path("bad.lis"), "1 8 0 0\n1 eight 0 1\n").unwrap();
    fs::write(path("zst"), b"\x28\xb5\x2f\xfd\0").unwrap();
    let records = fs::read(path("a.bin")).unwrap();
    fs::write(path("cut.bin"), &records[..records.len() - 1]).unwrap();
    fs::write(path("none.csv"), "id,size\n1,0\n").unwrap();
    for (arguments, words) in [
        (&["empty"][..], &["empty is empty"][..]),
        (&["bad.lis"], &["bad.lis:2: ", "count 'eight'", "remove"]),
        (&["zst"], &["zst is compressed; unpack it with zstd -d"]),
        (&["cut.bin"], &["record 12", "(head -c 264)"]),
        (&["none.csv"], &["no request with bytes"]),
        (&["a.bin", "--sample=0.5"], &["below 1000", "leave it out"]),
        (
            &["a.bin", "--page-sizes=4K,8K"],
            &["a.bin", "neighbors", "one size"],
        ),
        (&["a.bin", "a.lis"], &["a.bin", "a.lis", "two commands"]),
        (
            &["a.blkparse", "--action=C"],
            &["action C", "Q (12)", "--action"],
        ),
        (
            &["a.lis", "--memory=2K"],
            &["--memory must be at least 4 KiB"],
        ),
        (
            &["a.lis", "--format=msr"],
            &["a.lis:1: ", "7 fields, not 1"],
        ),
        (&["a.lis", "--sample=0"], &["--sample", "auto"]),
        (&["a.lis", "--policy=mru"], &["--policy", "'mru'"]),
        (
            &["a.csv", "--columns=time,size"],
            &["--columns", "time,id,size"],
        ),
        (&["missing"], &["cannot read missing"]),
        (&["/dev/zero"], &["/dev/zero", "not a file"]),
    ] {
        let output = curve(home.path(), arguments);
        let said = complaint(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(output.stdout.is_empty());
        for word in words {
            assert!(said.contains(word), "{arguments:?}: {said}");
        }
    }
    // A page of somebody else is kept.
    fs::write(path("mine.html"), "mine").unwrap();
    let output = curve(home.path(), &["a.lis", "--html=mine.html"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read(path("mine.html")).unwrap(), b"mine");
}
