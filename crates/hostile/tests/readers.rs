//! Input that somebody damaged or made up is read or refused, without a panic, a
//! hang, or a character that acts on a terminal.
//!
//! Each case changes sound input at random, by a number that is the origin of
//! everything in it: what a failure names can be repeated. `OCTAVO_HOSTILE_CASES`
//! is how many cases each reader has, `OCTAVO_HOSTILE_FIRST` the number of the
//! first (bench/hostile.sh tries many). With a server's socket as
//! `OCTAVO_RECORD`, such as `/tmp/x/.s.PGSQL.5432`, what it says is recorded
//! again.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    time::{Duration, Instant},
};

use octavo_hostile::{READERS, Reader, damage::Damage};

/// A case that takes longer hangs, as far as its user can tell.
const PATIENCE: Duration = Duration::from_secs(20);

/// Cases of a reader of cost 1.
const CASES: u64 = 400;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a number"))
}

fn survives(name: &str) {
    let Reader {
        sound, read, cost, ..
    } = READERS.iter().find(|reader| reader.name == name).unwrap();
    let sound = sound();
    for input in &sound {
        assert!(read(input), "sound input of {name} is accepted");
    }
    let first = number("OCTAVO_HOSTILE_FIRST", 0);
    let cases = number("OCTAVO_HOSTILE_CASES", CASES / cost);
    let mut accepted = 0;
    for case in first..first + cases {
        let mut damage = Damage::new(case);
        let original = damage.one_of(&sound);
        let bytes = damage.bytes(original, &sound);
        let began = Instant::now();
        let found = catch_unwind(AssertUnwindSafe(|| read(&bytes)));
        assert!(found.is_ok(), "case {case} of {name} panics");
        assert!(began.elapsed() < PATIENCE, "case {case} of {name} hangs");
        accepted += u64::from(found.is_ok_and(|accepted| accepted));
    }
    assert!(accepted > 0, "not every damage of {name} is one");
    let peak = peak_kib();
    assert!(peak < 1 << 20, "{name} took {peak} KiB");
    println!("{name}: {cases} cases, {accepted} accepted, {peak} KiB at most");
}

/// The most memory that this process ever had (`VmHWM`, proc_pid_status(5)).
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kib.expect("a peak").parse().unwrap()
}

fn record_where_wanted() {
    if let Ok(socket) = std::env::var("OCTAVO_RECORD") {
        octavo_hostile::record(Path::new(&socket)).unwrap();
    }
}

#[test]
fn plans_are_read_or_refused() {
    survives("plan");
}

#[test]
fn device_entries_are_read_or_refused() {
    survives("entry");
}

#[test]
fn machine_entries_are_read_or_refused() {
    survives("machine");
}

#[test]
fn device_profiles_are_read_or_refused() {
    survives("profile");
}

#[test]
fn stores_with_damaged_bytes_are_read_or_refused() {
    survives("store");
}

#[test]
fn stores_with_hostile_values_are_read_or_refused() {
    survives("store-values");
}

#[test]
fn texts_of_others_act_neither_on_a_screen_nor_on_a_page() {
    survives("text");
}

#[test]
fn files_of_requests_are_read_or_refused() {
    survives("trace");
}

#[test]
fn answers_of_postgres_are_understood_or_refused() {
    record_where_wanted();
    survives("postgres");
}

#[test]
fn answers_of_mariadb_are_understood_or_refused() {
    record_where_wanted();
    survives("mariadb");
}

#[test]
fn scripts_are_read_or_refused() {
    survives("script");
}

#[test]
fn files_of_users_are_read_or_refused_and_stay_as_they_are() {
    survives("own-file");
}

#[test]
fn recordings_are_read_or_refused() {
    survives("recording");
}
