//! Devices whose parameters lie at the ends of what numbers can be: each is refused, with
//! its key, or simulates requests at both ends of the device, without a panic or a hang.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use octavo_device::{
    Device, Request, Tag,
    catalog::{self, Entry},
};
use octavo_units::{Moment, Seed};

/// Ends of whole numbers, and what lies beside them.
const WHOLE: &[&str] = &[
    "-1",
    "0",
    "1",
    "2",
    "3",
    "7",
    "511",
    "512",
    "513",
    "4096",
    "65535",
    "65536",
    "1048576",
    "16777217",
    "2147483647",
    "2147483648",
    "4294966784",
    "4294967295",
    "4294967296",
    "4294967297",
    "1099511627776",
    "1152921504606846976",
    "9223372036854775807",
    "9223372036854775808",
];

/// Ends of fractions, and what parameters have as their bounds.
const FRACTIONS: &[&str] = &[
    "-1.0", "-0.0", "0.0", "5e-324", "1e-300", "1e-9", "0.001", "0.5", "0.999999", "1.0", "1.024",
    "16.0", "1e3", "1e6", "1e9", "1e12", "4.3e9", "1.9e19", "1e300", "1.8e308", "inf", "-inf",
    "nan",
];

/// Flash of more than this takes seconds and gigabytes to set up.
const FLASH_BYTES_MAX: u64 = 64 << 30;

/// A case that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The lines of an entry in which a value with a source stands, with its key.
fn parameters(text: &str) -> Vec<(usize, String, String)> {
    let mut table = String::new();
    let mut found = Vec::new();
    for (line, content) in text.lines().enumerate() {
        if let Some(name) = content.strip_prefix('[') {
            table = name.trim_end_matches(']').to_owned();
        } else if let Some((key, pair)) = content.split_once(" = [")
            && let Some((value, _)) = pair.split_once(',')
            && value.parse::<f64>().is_ok()
        {
            found.push((line, format!("{table}.{key}"), value.to_owned()));
        }
    }
    found
}

fn replaced(text: &str, line: usize, value: &str) -> String {
    let put = |(number, content): (usize, &str)| match content.split_once(" = [") {
        Some((key, _)) if number == line => format!("{key} = [{value}, \"test\"]\n"),
        _ => format!("{content}\n"),
    };
    text.lines().enumerate().map(put).collect()
}

/// Requests at both ends of a device, small and large ones, each waited for.
fn load(device: &mut dyn Device) {
    let geometry = device.geometry();
    let (sector, capacity) = (geometry.sector.get(), geometry.capacity.get());
    let last = capacity / sector - 1;
    for (offset, length) in [
        (0, 1),
        (last, 1),
        (0, 128),
        (last.saturating_sub(2047), 2048),
    ] {
        let offset = offset * sector;
        let length = (length * sector).min(capacity - offset).min(1 << 20) / sector * sector;
        let length = u32::try_from(length).unwrap();
        for request in [
            Request::write(offset, length),
            Request::write(offset, length),
            Request::read(offset, length),
            Request::FLUSH,
            Request::trim(offset, length),
            Request::read(offset, length),
        ] {
            if device.submit(device.now(), Tag(1), request).is_ok() {
                let completed = device.next(Moment::NEVER).expect("it completes");
                assert!(completed.is_some(), "{request:?}");
            }
        }
    }
    let done = device.counters();
    assert!(done.reads > 0 && done.read_bytes <= 64 << 20, "{done:?}");
}

/// Whether the entry was accepted.
fn survives(text: &str, key: &str, value: &str) -> bool {
    let entry = match Entry::from_toml(text) {
        Ok(entry) => entry,
        Err(error) => {
            let said = error.to_string();
            // What it does not go with may be named instead.
            let name = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
            let mut names = parameters(text).into_iter().map(|(_, key, _)| name(&key));
            let is_told = said.contains("line ") || names.any(|name| said.contains(&name));
            assert!(is_told, "{key} = {value}: {said}");
            return false;
        }
    };
    let is_large = |parameter: &catalog::Parameter| {
        parameter.key.ends_with("flash.capacity_bytes")
            && parameter
                .value
                .parse::<u64>()
                .is_ok_and(|bytes| bytes > FLASH_BYTES_MAX)
    };
    if !entry.parameters().iter().any(is_large) {
        load(&mut *entry.open(Seed::new(1)));
    }
    true
}

#[test]
fn parameters_at_the_ends_of_numbers_are_refused_or_simulated() {
    let (mut cases, mut accepted) = (0u32, 0u32);
    let mut failed = Vec::new();
    for name in catalog::names() {
        let text = catalog::find(name).unwrap().to_toml();
        for (line, key, old) in parameters(&text) {
            let is_fraction = old.contains('.') || old.contains('e');
            let values = if is_fraction { FRACTIONS } else { WHOLE };
            for value in values {
                let began = Instant::now();
                let changed = replaced(&text, line, value);
                let found = catch_unwind(AssertUnwindSafe(|| survives(&changed, &key, value)));
                cases += 1;
                match found {
                    Ok(is_accepted) => accepted += u32::from(is_accepted),
                    Err(_) => failed.push(format!("{name}: {key} = {value} panics")),
                }
                if began.elapsed() > PATIENCE {
                    failed.push(format!("{name}: {key} = {value} hangs"));
                }
            }
        }
    }
    println!("{cases} cases, {accepted} accepted");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(accepted > 0 && accepted < cases);
}
