//! The machine that measures: what it is, and what else used it meanwhile.

mod usage;

use std::{fs, thread};

pub use usage::{MachineUse, MachineWatch, Reading};

/// The name of the fact that tells how Octavo was built.
pub const BUILD: &str = "octavo build";

/// The value of [`BUILD`] that makes figures useless.
pub const DEBUG_BUILD: &str = "debug";

/// Facts about the machine, as name and value. What cannot be read is left
/// out.
pub fn describe() -> Vec<(&'static str, String)> {
    let system = rustix::system::uname();
    let mut facts = vec![(
        "kernel",
        format!(
            "{} {} {}",
            system.sysname().to_string_lossy(),
            system.release().to_string_lossy(),
            system.machine().to_string_lossy()
        ),
    )];
    let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        cpuinfo
            .lines()
            .find_map(|line| line.strip_prefix(name)?.trim().strip_prefix(':'))
            .map(|value| value.trim().to_owned())
    };
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let model = field("model name").unwrap_or_else(|| "unknown model".into());
    facts.push(("cpu", format!("{cpus} x {model}")));
    if let Some(governor) = read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") {
        facts.push(("cpu governor", governor.trim().to_owned()));
    }
    if let Some(kib) = read("/proc/meminfo").and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    }) {
        facts.push(("memory", octavo_units::ByteCount::kib(kib).to_string()));
    }
    let virtual_machine =
        field("flags").is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    facts.push((
        "virtual machine",
        if virtual_machine { "yes" } else { "no" }.to_owned(),
    ));
    let build = if cfg!(debug_assertions) {
        DEBUG_BUILD
    } else {
        "release"
    };
    facts.push((BUILD, build.to_owned()));
    facts
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}
