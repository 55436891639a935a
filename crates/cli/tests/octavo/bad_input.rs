//! Bad input is refused with exit code 2 and one line that names it, and
//! nothing is changed.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt, path::Path};

use crate::{complaint, octavo, refused};

#[test]
fn impossible_values_are_named() {
    let parent = tempfile::tempdir().unwrap();
    let new = parent.path().join("new");
    for (arguments, named) in [
        (
            &["advise", "--page-sizes=5000"][..],
            &["5000", "power of two"][..],
        ),
        (&["advise", "--page-sizes=128K"], &["128K", "65536"]),
        (&["advise", "--memory=0"], &["memory", "0 B"]),
        (
            &["advise", "--memory=8MiB", "--cache=16MiB"],
            &["16 MiB", "8 MiB"],
        ),
        (&["advise", "--budget=soon"], &["soon", "5m"]),
        (&["advise", "--budget=5s"], &["budget", "5 s"]),
        (
            &["advise", "--budget=1,500s"],
            &["1,500s", "comma", "1500ms"],
        ),
        (&["bench", "--duration=1,5s"], &["1,5s", "comma"]),
        (&["advise", "--memory=1,024MiB"], &["024MiB", "1024MiB"]),
        (
            &["advise", "--clients=0"],
            &["--clients must be from 1 to 100000, not 0"],
        ),
        (&["advise", "--warehouses=0"], &["warehouses", "not 0"]),
        (&["advise", "--passes=0"], &["passes"]),
        (
            &["advise", "--transactions=0"],
            &["--transactions must be from 1 to 1000000, not 0"],
        ),
        (&["advise", "--margin=0"], &["--margin must be above 0"]),
        (
            &["advise", "--memory=1TiB", "--passes=1"],
            &["free", "but needs"],
        ),
        (
            &["advise", "--memory=3TiB", "--page-sizes=4K"],
            &["3072 GiB", "at most 2047 GiB", "cache_size"],
        ),
        // A billion pages are the most, too.
        (
            &["predict", "--memory=3TiB", "--device=ec"],
            &["3072 GiB", "2 KiB a page", "at most 1907 GiB", "cache_size"],
        ),
        (&["advise", "--no-such-flag"], &["--no-such-flag"]),
        (
            &["advise", "--budget", "-5s"],
            &["-5s is negative; give --budget a positive one"],
        ),
        (&["calibrate"], &["is not a directory"]),
        (&["report"], &["does not exist"]),
    ] {
        refused(arguments, &new, named);
        assert!(!new.exists(), "{arguments:?} left {}", new.display());
    }
}

#[test]
fn directories_with_too_long_names_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let long = parent.path().join("a".repeat(256));
    for arguments in [
        &["predict", "--device=ec"][..],
        &["advise"],
        &["bench"],
        &["load"],
        &["check"],
    ] {
        refused(arguments, &long, &["File name too long"]);
    }
}

#[test]
fn what_no_prediction_can_have_is_refused_with_the_remedy() {
    let parent = tempfile::tempdir().unwrap();
    let new = parent.path().join("new");
    let predict = |more: &[&'static str]| -> Vec<&'static str> {
        [&["predict", "--device=instant"], more].concat()
    };
    let rows = ["--workload=ycsb-c", "--records=1000"];
    for (arguments, named) in [
        (
            predict(&["--clients=4294967296"]),
            &["--clients must be from 1 to 100000"][..],
        ),
        (
            vec!["bench", "--clients=4294967296"],
            &["--clients must be from 1 to 100000"],
        ),
        (
            predict(&["--warm-up=1000000000000000000"]),
            &["--warm-up must be from 0 to 1000000000"],
        ),
        (
            predict(&["--workload=ycsb-c", "--memory=4TiB", "--database=mariadb"]),
            &[
                "4096 GiB",
                "1000000000 records",
                "give less memory",
                "how many",
            ],
        ),
        (
            predict(&["--memory=4TiB", rows[0], rows[1]]),
            &["at most 1907 GiB", "give no more"],
        ),
        (
            predict(&["--database=postgres", "--memory=8TiB", rows[0], rows[1]]),
            &[
                "1,073,741,823 pages",
                "shared_buffers",
                "give at most 4681 GiB",
            ],
        ),
    ] {
        refused(&arguments, &new, named);
        assert!(!new.exists(), "{arguments:?} left {}", new.display());
    }
}

#[test]
fn directories_whose_names_are_not_utf_8_are_used_or_refused() {
    let parent = tempfile::tempdir().unwrap();
    let new = parent.path().join(OsStr::from_bytes(b"new\xff"));
    refused(
        &["advise", "--no-calibrate", "--budget=20s"],
        &new,
        &["is not UTF-8", "name another directory"],
    );
    assert!(!new.exists());
    let load = ["load", "--workload=ycsb-c", "--records=100"];
    let bench = ["bench", "--transactions=20"];
    let predict = [
        "predict",
        "--device=instant",
        "--warehouses=1",
        "--memory=2MiB",
        "--passes=8",
        "--transactions=2",
        "--warm-up=10",
    ];
    for arguments in [&predict[..], &["report"], &load, &bench, &["check"]] {
        let directory = match arguments[0] {
            "predict" | "report" => new.clone(),
            _ => parent.path().join(OsStr::from_bytes(b"rows\xff")),
        };
        let output = octavo()
            .arg(arguments[0])
            .arg(&directory)
            .args(&arguments[1..])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            complaint(&output)
        );
        let said = String::from_utf8_lossy(&output.stdout);
        if ["predict", "load"].contains(&arguments[0]) {
            assert!(said.contains("\\377'"), "what to type next: {said}");
        }
    }
    let output = octavo().arg("compare").args([&new, &new]).output().unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let output = octavo()
        .args(["devices", "show"])
        .arg(OsStr::from_bytes(b"ec\xff"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        complaint(&output).contains("$'ec\\377' is not UTF-8"),
        "{}",
        complaint(&output)
    );
}

#[test]
fn memory_is_not_calibrated_as_a_disk() {
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        println!("skipped: no /dev/shm here");
        return;
    };
    let output = octavo()
        .arg("calibrate")
        .arg(memory.path())
        .args([
            "--size=64MiB",
            "--point=random read 4K, depth 1, range 1MiB",
        ])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).replace('\u{a0}', " ");
    assert!(output.status.success(), "{}", complaint(&output));
    assert!(said.contains("I/O to MEMORY and no disk"), "{said}");
    assert!(!said.contains("direct I/O"), "{said}");
}

#[test]
fn a_calibration_larger_than_the_disk_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    refused(
        &["calibrate", "--size=1000TiB"],
        parent.path(),
        &["free", "needs"],
    );
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
}

#[test]
fn a_directory_with_foreign_files_is_left_alone() {
    let parent = tempfile::tempdir().unwrap();
    fs::write(parent.path().join("app.db"), "precious").unwrap();
    refused(&["advise"], parent.path(), &["app.db"]);
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 1);
    assert_eq!(fs::read(parent.path().join("app.db")).unwrap(), b"precious");
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    // Not even root may make directories here.
    refused(&["advise"], Path::new("/proc/octavo"), &["/proc/octavo"]);
}

#[test]
fn other_stores_are_left_alone() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("advice");
    let store = directory.join("octavo.db");
    let output = octavo()
        .arg("advise")
        .arg(&directory)
        .args(SMALLEST)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", complaint(&output));
    let whole = fs::read(&store).unwrap();

    refused(
        &[&["advise"], SMALLEST, &["--seed=2"]].concat(),
        &directory,
        &["seed", "1", "2"],
    );
    refused(
        &SMALLEST
            .iter()
            .map(|flag| {
                if flag.starts_with("--transactions") {
                    "--transactions=20"
                } else {
                    flag
                }
            })
            .fold(vec!["advise"], |mut flags, flag| {
                flags.push(flag);
                flags
            }),
        &directory,
        &["slices of 10 transactions", "20 transactions"],
    );
    assert_eq!(fs::read(&store).unwrap(), whole);

    let photograph = parent.path().join("photograph");
    fs::write(&photograph, [0xff, 0xd8, 0xff, 0xe0]).unwrap();
    let name = photograph.to_str().unwrap();
    refused(&["report", "--html", name], &directory, &[name]);
    refused(&["calibrate", "--output", name], parent.path(), &[name]);
    assert_eq!(fs::read(&photograph).unwrap(), [0xff, 0xd8, 0xff, 0xe0]);

    let broken: [(&str, Vec<u8>, &str); 3] = [
        ("truncated", whole[..whole.len() / 2].to_vec(), "octavo.db"),
        (
            "of another program",
            b"hello, this is not a database at all".repeat(40),
            "not an Octavo result store",
        ),
        (
            "of another version",
            {
                let mut bytes = whole.clone();
                // The schema's user_version (SQLite file format, offset 60).
                bytes[60..64].copy_from_slice(&99u32.to_be_bytes());
                bytes
            },
            "version 99",
        ),
    ];
    for (what, bytes, named) in broken {
        fs::write(&store, &bytes).unwrap();
        refused(&[&["advise"], SMALLEST].concat(), &directory, &[named]);
        refused(&["report"], &directory, &[named]);
        assert_eq!(
            fs::read(&store).unwrap(),
            bytes,
            "a store {what} was changed"
        );
    }
}

const SMALLEST: &[&str] = &[
    "--warehouses=1",
    "--memory=4MiB",
    "--page-sizes=4K",
    "--passes=1",
    "--transactions=10",
    "--no-calibrate",
];

#[test]
fn a_servers_address_is_no_directory_and_its_password_is_not_repeated() {
    let parent = tempfile::tempdir().unwrap();
    let output = octavo()
        .args(["bench", "postgres://me:s3cret@127.0.0.1/db"])
        .current_dir(parent.path())
        .output()
        .unwrap();
    let complaint = complaint(&output);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("octavo bench --url"), "{complaint}");
    assert!(!complaint.contains("s3cret"), "{complaint}");
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
}

#[test]
fn names_and_values_cannot_act_on_the_terminal() {
    const HOSTILE: &str = "a\u{1b}[2J\u{9b}31m\u{202e}b";
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join(HOSTILE);
    let plan = parent.path().join("plan.toml");
    fs::write(&plan, format!("format = 1\n[cells]\n\"{HOSTILE}\" = 1\n")).unwrap();
    let foreign = parent.path().join("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join(HOSTILE), "precious").unwrap();
    let small = crate::tiny_advise(&directory).output().unwrap();
    assert!(small.status.success(), "{}", complaint(&small));
    let mut outputs = vec![small];
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let (work, missing) = (path(&directory), path(&directory.join("x")));
    for arguments in [
        &["report", &work][..],
        &["report", &work, "--json"],
        &["report", &work, "--verbose"],
        &["run", &path(&plan)],
        &["advise", &path(&foreign)],
        &["advise", "--database", HOSTILE],
        &["check", &missing],
    ] {
        outputs.push(octavo().args(arguments).output().unwrap());
    }
    for output in outputs {
        for text in [&output.stdout, &output.stderr] {
            let text = str::from_utf8(text).unwrap();
            let acts = text.chars().find(|&c| {
                (c.is_control() && c != '\n' && c != '\t') || ('\u{202a}'..='\u{202e}').contains(&c)
            });
            assert_eq!(acts, None, "{text}");
        }
    }
}

#[test]
fn a_directory_that_leads_somewhere_else_is_refused_and_nothing_is_written_there() {
    let parent = tempfile::tempdir().unwrap();
    let outside = parent.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let work = parent.path().join("work");
    let made = crate::tiny_advise(&work)
        .arg("--keep-data")
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", complaint(&made));
    let data = work.join("data");
    let link = |to: &Path, at: &Path| std::os::unix::fs::symlink(to, at).unwrap();
    let again = |named: &str| {
        let output = crate::tiny_advise(&work).output().unwrap();
        let complaint = complaint(&output);
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert!(complaint.contains(named), "{complaint}");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    };
    fs::create_dir(data.join("mine")).unwrap();
    again("data/mine");
    fs::remove_dir(data.join("mine")).unwrap();
    fs::remove_dir_all(data.join("run")).unwrap();
    link(&outside, &data.join("run"));
    again("data/run");
    fs::remove_dir_all(&data).unwrap();
    link(&outside, &data);
    again("/data");
    fs::remove_file(&data).unwrap();
    let store = work.join("octavo.db");
    fs::rename(&store, parent.path().join("elsewhere.db")).unwrap();
    link(&parent.path().join("elsewhere.db"), &store);
    again("octavo.db");
}

#[test]
fn a_file_size_limit_is_an_error_with_a_reason() {
    let parent = tempfile::tempdir().unwrap();
    let output = std::process::Command::new("sh")
        .args([
            "-c",
            "ulimit -f 2000; exec \"$0\" load \"$1\" --warehouses 1",
        ])
        .arg(env!("CARGO_BIN_EXE_octavo"))
        .arg(parent.path().join("new"))
        .output()
        .unwrap();
    let complaint = complaint(&output);
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(complaint.contains("octavo: "), "{complaint}");
    assert!(!parent.path().join("new").exists());
}

/// All that read a file which somebody names, but for stores, which are read in parts.
const READ_A_TEXT: [&[&str]; 14] = [
    &["advise", "new", "--device", FILE],
    &["run", FILE],
    &["run", "plan.toml", "--device", FILE],
    &["run", "stored.toml"],
    &["predict", "--device", FILE],
    &["predict", "--device", "ec", "--machine", FILE],
    &["reproduce", "petrov-2010", "--html", FILE],
    &["value", "--prices", FILE],
    &["value", "--device", FILE_AND_PRICE],
    &["calibrate", "--device", FILE],
    &["devices", "show", FILE],
    &["devices", "fit", FILE],
    &["calibrate", ".", "--output", FILE],
    &["emulate", FILE, "--backing", "new", "--mount", "mount"],
];

const READ_A_STORE: [&[&str]; 4] = [
    &["report", FILE],
    &["compare", FILE, FILE],
    &["value", FILE, "--memory-price=5/GiB"],
    &["predict", "--calibrated-by", FILE],
];

const PLAN: &str = r#"format = 1
[experiment]
passes = 1
[workload]
name = "tpcc"
warehouses = 1
[cells]
page-size = ["4K", "8K"]
memory = "4MiB"
"#;

const FILE: &str = "FILE";
const FILE_AND_PRICE: &str = "FILE=5";

#[test]
fn what_is_no_file_or_too_long_is_refused_at_once_wherever_it_is_named() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let node = |name: &str, kind, device| {
        rustix::fs::mknodat(rustix::fs::CWD, at(name), kind, mode, device)
    };
    node("pipe.toml", rustix::fs::FileType::Fifo, 0).unwrap();
    fs::write(at("plan.toml"), PLAN).unwrap();
    let long = fs::File::create(at("long.toml")).unwrap();
    long.set_len(8 << 30).unwrap();
    // That of the first disk, which is asked nothing.
    let has_disk = node("disk.toml", rustix::fs::FileType::BlockDevice, 254 << 8).is_ok();
    let run = |arguments: &[&str], file: &str| {
        let stored = format!("{PLAN}storage = \"device:{file}\"\n");
        fs::write(at("stored.toml"), stored).unwrap();
        let arguments = arguments.iter().map(|word| word.replace(FILE, file));
        let output = std::process::Command::new("timeout")
            .args(["20", "sh", "-c", "ulimit -v 4000000; exec \"$0\" \"$@\""])
            .arg(env!("CARGO_BIN_EXE_octavo"))
            .args(arguments.clone())
            .current_dir(parent.path())
            .output()
            .unwrap();
        let complaint = complaint(&output);
        let command = arguments.collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(2), "{command}: {complaint}");
        assert!(complaint.contains(file), "{command}: {complaint}");
        assert!(!at("new").exists(), "{command}");
        complaint
    };
    for arguments in READ_A_TEXT {
        let is_output = arguments.contains(&"--html") || arguments.contains(&"--output");
        for (file, named) in [
            ("./pipe.toml", "write its output to a file first"),
            ("/dev/zero", "name a text file"),
            ("./long.toml", "MiB, which is too long"),
        ] {
            let complaint = run(arguments, file);
            let is_named = match is_output {
                true => complaint.contains("name a new one") || complaint.contains("name another"),
                false => complaint.contains(named),
            };
            assert!(is_named, "{arguments:?}: {complaint}");
        }
        if has_disk && arguments.contains(&"--device") && !arguments.contains(&"--machine") {
            let complaint = run(arguments, "./disk.toml");
            assert!(complaint.contains("octavo calibrate DIR"), "{complaint}");
        }
    }
    for arguments in READ_A_STORE {
        for file in ["./pipe.toml", "/dev/zero", "/proc/kmsg"] {
            let complaint = run(arguments, file);
            assert!(complaint.contains("name the octavo.db"), "{complaint}");
        }
    }
}

#[test]
fn more_sessions_than_files_may_be_open_are_refused_before_anything_is_changed() {
    let parent = tempfile::tempdir().unwrap();
    for (limit, arguments, needed) in [
        (
            64,
            "bench DIRECTORY --clients 40 --warehouses 1 --duration 1s",
            152,
        ),
        (
            32,
            "bench --url postgres://me@127.0.0.1:1/none --clients 40",
            72,
        ),
        (8, "advise DIRECTORY --warehouses 1 --passes 1", 47),
    ] {
        let directory = parent.path().join("new");
        let output = std::process::Command::new("sh")
            .arg("-c")
            .arg(format!("ulimit -n {limit}; exec \"$0\" \"$@\""))
            .arg(env!("CARGO_BIN_EXE_octavo"))
            .args(arguments.split(' ').map(|word| match word {
                "DIRECTORY" => directory.to_str().unwrap(),
                word => word,
            }))
            .output()
            .unwrap();
        let complaint = complaint(&output);
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        let named = format!(
            "{needed} files are open at a time, but this process may have {limit}: use fewer \
             clients, or raise the limit with ulimit -n"
        );
        assert!(complaint.contains(&named), "{complaint}");
        assert!(!directory.exists());
    }
}
