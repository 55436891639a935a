//! The machine that measures: what it is, and what else used it meanwhile.
//!
//! Facts ([`describe`]) are what stays as it is while an experiment lasts:
//! the store tells of those that are not the same in a later session. What
//! moves all the time is read with each run ([`MachineWatch`]), and
//! [`disturbances`] says which runs it disturbed.
//!
//! Everything comes from /proc and /sys, and everything may be missing or odd
//! there (containers hide files, other architectures write others): then the
//! fact is left out.

mod cgroup;
mod cpu;
mod disturbances;
mod family;
mod guest;
mod powercap;
mod source;
mod usage;

use std::path::Path;

use octavo_units::ByteCount;

pub use disturbances::{
    Cause, Disturbance, IO_PRESSURE_TOLERATED, MEMORY_PRESSURE_TOLERATED, OTHERS_TOLERATED,
    STEAL_TOLERATED, SWAPPED_TOLERATED, THROTTLED_TOLERATED, disturbances,
};
pub(crate) use powercap::{EnergyMeter, EnergyTotal};
pub use powercap::{EnergyScope, EnergyUse};
use source::{Fact, kib, text};
pub use usage::{MachineUse, MachineWatch, Reading};

/// The name of the fact that tells how Octavo was built.
pub const BUILD: &str = "octavo build";

/// The value of [`BUILD`] that makes figures useless.
pub const DEBUG_BUILD: &str = "debug";

/// Bytes that this process and those that it started have had storage read and write, without
/// those of processes that have ended; `None` where the kernel does not tell.
pub(crate) fn own_io_bytes() -> Option<ByteCount> {
    let used = family::process_use(Path::new("/"))?;
    used.io_bytes.map(ByteCount::new)
}

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
    facts.extend(describe_below(Path::new("/")));
    let build = if cfg!(debug_assertions) {
        DEBUG_BUILD
    } else {
        "release"
    };
    facts.push((BUILD, build.to_owned()));
    facts
}

/// Memory that programs could have without others being swapped out, and no more than the limit
/// of this program's group; `None` where the system does not tell (proc_meminfo(5), MemAvailable).
pub(crate) fn free_memory() -> Option<ByteCount> {
    let limit = cgroup::Limits::read(Path::new("/")).memory;
    let info = text(Path::new("/"), "proc/meminfo")?;
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let free = line
        .trim()
        .strip_suffix("kB")?
        .trim()
        .parse()
        .ok()
        .map(kib)?;
    Some(limit.map_or(free, |limit| limit.min(free)))
}

/// The facts from the `proc` and `sys` of a directory.
fn describe_below(root: &Path) -> Vec<Fact> {
    let mut facts = cpu::facts(root);
    let mut add = |name, value: Option<String>| facts.extend(value.map(|value| (name, value)));
    add(
        "clock source",
        text(
            root,
            "sys/devices/system/clocksource/clocksource0/current_clocksource",
        ),
    );
    add("memory", memory(root));
    add("swap", swap(root));
    add("transparent huge pages", huge_pages(root));
    add("numa nodes", numa_nodes(root));
    add("hardware", guest::hardware(root));
    add("virtual machine", Some(guest::virtual_machine(root)));
    add("container", Some(guest::container(root)));
    add("energy counters", Some(powercap::fact(root)));
    let limits = cgroup::Limits::read(root);
    if limits.known {
        let or_none = |limit: Option<String>| limit.unwrap_or_else(|| "none".into());
        add(
            "cpu limit",
            Some(or_none(limits.cpus.map(|cpus| format!("{cpus:.2} CPUs")))),
        );
        add(
            "memory limit",
            Some(or_none(limits.memory.map(|memory| memory.to_string()))),
        );
    }
    facts
}

fn memory(root: &Path) -> Option<String> {
    let table = text(root, "proc/meminfo")?;
    let total = table.lines().find_map(|line| {
        let value = line.strip_prefix("MemTotal:")?;
        value.split_whitespace().next()?.parse::<u64>().ok()
    })?;
    Some(kib(total).to_string())
}

/// The swap areas with their sizes (proc_swaps(5)).
fn swap(root: &Path) -> Option<String> {
    let table = text(root, "proc/swaps")?;
    let areas: Vec<String> = table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut fields = line.split_whitespace();
            let area = fields.next()?;
            let size = fields.nth(1)?.parse::<u64>().ok()?;
            Some(format!("{} on {area}", kib(size)))
        })
        .collect();
    Some(if areas.is_empty() {
        "none".into()
    } else {
        areas.join(", ")
    })
}

/// The choice in brackets of `always [madvise] never`
/// (`Documentation/admin-guide/mm/transhuge.rst`).
fn huge_pages(root: &Path) -> Option<String> {
    let line = text(root, "sys/kernel/mm/transparent_hugepage/enabled")?;
    let (_, rest) = line.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

fn numa_nodes(root: &Path) -> Option<String> {
    let list = text(root, "sys/devices/system/node/online")?;
    Some(cpu::CpuList::parse(&list)?.len().to_string())
}

#[cfg(test)]
mod tests;
