//! Facts about the CPUs.
//!
//! Sources: `Documentation/ABI/testing/sysfs-devices-system-cpu`,
//! `Documentation/admin-guide/pm/cpufreq.rst`, `…/pm/intel_pstate.rst` and
//! `Documentation/admin-guide/cputopology.rst` of the kernel,
//! proc_cpuinfo(5), proc_pid_status(5).

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    thread,
};

use super::source::{Fact, cpuinfo, plural, text};

const CPUS: &str = "sys/devices/system/cpu";

pub(super) fn facts(root: &Path) -> Vec<Fact> {
    let online = text(root, &format!("{CPUS}/online")).and_then(|list| CpuList::parse(&list));
    let info = text(root, "proc/cpuinfo").unwrap_or_default();
    let count = online
        .as_ref()
        .map(CpuList::len)
        .or_else(|| match cpuinfo(&info, "processor").count() {
            0 => None,
            count => u64::try_from(count).ok(),
        })
        .unwrap_or_else(|| thread::available_parallelism().map_or(1, |count| count.get() as u64));
    let cpus = directories(root);
    let mut facts = vec![("cpu", format!("{count} x {}", model(&info)))];
    let mut add = |name, value: Option<String>| facts.extend(value.map(|value| (name, value)));
    add("cpu topology", topology(&cpus));
    let allowed = text(root, "proc/self/status")
        .and_then(|status| Some(status.lines().find_map(allowed_list)?.to_owned()))
        .and_then(|list| CpuList::parse(&list));
    add(
        "cpus allowed",
        online.zip(allowed).and_then(|(online, allowed)| {
            let usable = online.and(&allowed);
            (usable.len() < online.len())
                .then(|| format!("{} of {}: {usable}", usable.len(), online.len()))
        }),
    );
    add("cpu governor", settings(&cpus, "scaling_governor"));
    add(
        "cpu energy preference",
        settings(&cpus, "energy_performance_preference"),
    );
    add("cpu frequency driver", settings(&cpus, "scaling_driver"));
    add("cpu boost", boost(root, &cpus));
    add("cpu frequency", frequency(&cpus));
    facts
}

/// What names the CPU: `model name` on x86, `cpu` on POWER, implementer and
/// part (by number) on ARM.
fn model(info: &str) -> String {
    let value = |name| cpuinfo(info, name).find(|value| !value.is_empty());
    value("model name")
        .or_else(|| value("cpu"))
        .map(str::to_owned)
        .or_else(|| {
            Some(format!(
                "implementer {} part {}",
                value("CPU implementer")?,
                value("CPU part")?
            ))
        })
        .unwrap_or_else(|| "unknown model".into())
}

fn allowed_list(line: &str) -> Option<&str> {
    line.strip_prefix("Cpus_allowed_list:").map(str::trim)
}

/// The directories of the single CPUs, `cpu0` and so on.
fn directories(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root.join(CPUS)) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name()
                .and_then(|name| name.to_str()?.strip_prefix("cpu")?.parse::<u32>().ok())
                .is_some()
        })
        .collect()
}

fn topology(cpus: &[PathBuf]) -> Option<String> {
    let mut sockets = BTreeSet::new();
    let mut cores = BTreeSet::new();
    let mut threads = 0;
    // A CPU that is offline has no topology.
    for cpu in cpus {
        let Some(socket) = text(cpu, "topology/physical_package_id") else {
            continue;
        };
        // The name before Linux 5.3 was thread_siblings_list.
        let core = text(cpu, "topology/core_cpus_list")
            .or_else(|| text(cpu, "topology/thread_siblings_list"))?;
        cores.insert(core);
        sockets.insert(socket);
        threads += 1;
    }
    (threads > 0).then(|| {
        format!(
            "{}, {}, {}",
            plural(sockets.len(), "socket"),
            plural(cores.len(), "core"),
            plural(threads, "thread")
        )
    })
}

/// The value that all CPUs have in a file of cpufreq, or how many have which.
fn settings(cpus: &[PathBuf], file: &str) -> Option<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for value in cpus
        .iter()
        .filter_map(|cpu| text(&cpu.join("cpufreq"), file))
    {
        *counts.entry(value).or_default() += 1;
    }
    if counts.len() <= 1 {
        return counts.into_keys().next();
    }
    let parts: Vec<String> = counts
        .into_iter()
        .map(|(value, count)| format!("{value} on {}", plural(count, "CPU")))
        .collect();
    Some(parts.join(", "))
}

/// Whether the CPUs may run above their nominal frequency.
fn boost(root: &Path, cpus: &[PathBuf]) -> Option<String> {
    let named = |value: &str| match value {
        "0" => Some("off".to_owned()),
        "1" => Some("on".to_owned()),
        _ => None,
    };
    // intel_pstate has its own file, which tells the opposite.
    match text(root, &format!("{CPUS}/intel_pstate/no_turbo")).as_deref() {
        Some("0") => return named("1"),
        Some("1") => return named("0"),
        _ => {}
    }
    text(root, &format!("{CPUS}/cpufreq/boost"))
        .and_then(|value| named(&value))
        .or_else(|| match settings(cpus, "boost")?.as_str() {
            "0" | "1" => named(&settings(cpus, "boost")?),
            _ => Some("not the same on all CPUs".into()),
        })
}

/// The frequencies of the hardware and, where narrower, those allowed.
fn frequency(cpus: &[PathBuf]) -> Option<String> {
    let all = |file: &str| -> Vec<u64> {
        cpus.iter()
            .filter_map(|cpu| text(&cpu.join("cpufreq"), file)?.parse().ok())
            .collect()
    };
    let range = |least: &str, most: &str| {
        Some((all(least).into_iter().min()?, all(most).into_iter().max()?))
    };
    // cpufreq counts in kHz.
    let named = |(least, most): (u64, u64)| format!("{} to {} MHz", least / 1000, most / 1000);
    let hardware = range("cpuinfo_min_freq", "cpuinfo_max_freq")?;
    let allowed = range("scaling_min_freq", "scaling_max_freq").filter(|range| *range != hardware);
    Some(match allowed {
        Some(allowed) => format!("{}, allowed are {}", named(hardware), named(allowed)),
        None => named(hardware),
    })
}

/// Numbers of CPUs or nodes as the kernel lists them, `0-3,8`: ranges, first and last
/// included, for a damaged file may name thousands of millions.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CpuList(Vec<(u32, u32)>);

impl CpuList {
    /// `None` when it is empty or not such a list.
    pub(super) fn parse(list: &str) -> Option<Self> {
        let ranges = list
            .trim()
            .split(',')
            .map(|part| {
                let (first, last) = part.split_once('-').unwrap_or((part, part));
                let (first, last) = (first.parse().ok()?, last.parse().ok()?);
                (first <= last).then_some((first, last))
            })
            .collect::<Option<Vec<_>>>()?;
        (!ranges.is_empty()).then_some(Self(ranges))
    }

    pub(super) fn len(&self) -> u64 {
        self.0
            .iter()
            .map(|(first, last)| u64::from(last - first) + 1)
            .sum()
    }

    /// What both have.
    fn and(&self, other: &Self) -> Self {
        let mut ranges = Vec::new();
        for &(first, last) in &self.0 {
            for &(other_first, other_last) in &other.0 {
                let both = (first.max(other_first), last.min(other_last));
                if both.0 <= both.1 {
                    ranges.push(both);
                }
            }
        }
        Self(ranges)
    }
}

impl std::fmt::Display for CpuList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, (first, last)) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_parsed_and_intersected() {
        let list = |text| CpuList::parse(text).unwrap();
        assert_eq!(list("0-3,8,10-11\n").len(), 7);
        assert_eq!(list("0-4294967295").len(), 1 << 32);
        // Cpus_allowed_list names CPUs that the board could take, too.
        assert_eq!(list("0-7").and(&list("0-127")).to_string(), "0-7");
        assert_eq!(list("0-7").and(&list("2-3,6,9")).to_string(), "2-3,6");
        for odd in ["", "-", "3-1", "a", "0,,1", "0-", "99999999999"] {
            assert_eq!(CpuList::parse(odd), None, "{odd}");
        }
    }

    #[test]
    fn the_model_is_named_on_several_architectures() {
        assert_eq!(
            model("processor\t: 0\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC 7R13\n"),
            "AMD EPYC 7R13"
        );
        assert_eq!(
            model("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"),
            "implementer 0x41 part 0xd0c"
        );
        assert_eq!(
            model("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n"),
            "POWER9, altivec supported"
        );
        assert_eq!(model(""), "unknown model");
    }
}
