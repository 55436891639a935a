//! Energy that the processors count themselves (RAPL), through the kernel's powercap.
//!
//! Sources: `Documentation/power/powercap/powercap.rst` and
//! `drivers/powercap/intel_rapl_common.c` of the kernel. Each directory
//! `/sys/class/powercap/intel-rapl:*` is a domain: a package, below it its cores, graphics and
//! memory (`dram`), or the platform (`psys`), which has the packages in it. Cores and graphics
//! are parts of the package and are not added; memory is none and is. The platform is kept
//! apart: what it covers differs from board to board. AMD's packages come under the same
//! names. `intel-rapl-mmio` has the same packages once more and is left out.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use octavo_device::machine::MachineEnergy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::source::text;

const CLASS: &str = "sys/class/powercap";

/// Of what an energy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EnergyScope {
    /// The whole machine with its storage: calculated from watts of a catalog.
    Machine,
    /// The whole machine but its storage, of which no watts are known: calculated.
    MachineWithoutStorage,
    /// Processor packages and memory, which counted it themselves. Not disks, fans, network,
    /// or what the supplies lose.
    PackagesAndMemory,
    /// Processor packages alone, which counted it themselves.
    Packages,
}

impl EnergyScope {
    /// Whether the machine counted it, rather than that it was calculated.
    pub fn is_counted(self) -> bool {
        matches!(self, Self::PackagesAndMemory | Self::Packages)
    }
}

/// What the machine took in the time of the figures: of a cell in lockstep within its
/// slices.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EnergyUse {
    /// Of what it is.
    pub covers: EnergyScope,
    /// Joules in all.
    pub joules: f64,
    /// Seconds.
    pub elapsed_s: f64,
    /// Of the joules, what idle machine and storage would have taken; `None` of what was
    /// counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_joules: Option<f64>,
    /// Of the joules, for processors at work; `None` of what was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_joules: Option<f64>,
    /// Of the joules, the storage's; `None` where its watts are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_joules: Option<f64>,
    /// Of the joules, what memory counted; `None` where it does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_joules: Option<f64>,
    /// What the platform counted, the packages included: never part of the joules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform_joules: Option<f64>,
}

impl EnergyUse {
    /// Both together, one after the other; `None` where they cover different things.
    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        let sum = |part: fn(&Self) -> Option<f64>| Some(part(&self)? + part(&other)?);
        (self.covers == other.covers).then(|| Self {
            covers: self.covers,
            joules: self.joules + other.joules,
            elapsed_s: self.elapsed_s + other.elapsed_s,
            idle_joules: sum(|of| of.idle_joules),
            cpu_joules: sum(|of| of.cpu_joules),
            device_joules: sum(|of| of.device_joules),
            memory_joules: sum(|of| of.memory_joules),
            platform_joules: sum(|of| of.platform_joules),
        })
    }
}

impl From<MachineEnergy> for EnergyUse {
    fn from(energy: MachineEnergy) -> Self {
        Self {
            covers: match energy.device_joules {
                Some(_) => EnergyScope::Machine,
                None => EnergyScope::MachineWithoutStorage,
            },
            joules: energy.joules,
            elapsed_s: energy.elapsed_s,
            idle_joules: Some(energy.idle_joules),
            cpu_joules: Some(energy.cpu_joules),
            device_joules: energy.device_joules,
            memory_joules: None,
            platform_joules: None,
        }
    }
}

/// What a domain is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DomainKind {
    Package,
    Memory,
    Platform,
}

impl DomainKind {
    /// By the directory's name after `intel-rapl:` and the domain's own name.
    fn from_names(place: &str, name: &str) -> Option<Self> {
        let is_within = place.contains(':');
        match name {
            "dram" => Some(Self::Memory),
            "psys" if !is_within => Some(Self::Platform),
            // `package-0`, or `package-0-die-1`.
            _ if !is_within && name.starts_with("package-") => Some(Self::Package),
            _ => None,
        }
    }
}

/// A counter of microjoules.
#[derive(Clone, Debug)]
struct Domain {
    part: DomainKind,
    name: String,
    counter: PathBuf,
    /// It begins again at 0 after this.
    range_uj: Option<u64>,
}

/// The domains from the `sys` of a directory, by their places.
fn domains(root: &Path) -> Vec<Domain> {
    let Ok(entries) = fs::read_dir(root.join(CLASS)) else {
        return Vec::new();
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut places: Vec<String> = names
        .filter_map(|name| Some(name.to_str()?.strip_prefix("intel-rapl:")?.to_owned()))
        .collect();
    places.sort();
    let domain = |place: String| {
        let directory = format!("{CLASS}/intel-rapl:{place}");
        let name = text(root, &format!("{directory}/name"))?;
        Some(Domain {
            part: DomainKind::from_names(&place, &name)?,
            name,
            counter: root.join(&directory).join("energy_uj"),
            range_uj: text(root, &format!("{directory}/max_energy_range_uj"))
                .and_then(|text| text.parse().ok()),
        })
    };
    places.into_iter().filter_map(domain).collect()
}

impl Domain {
    fn read(&self) -> io::Result<u64> {
        let text = fs::read_to_string(&self.counter)?;
        text.trim()
            .parse()
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// What was counted from one reading to the next, between which the counter began again
    /// once at most; `None` where it went back and nothing tells how far it goes.
    fn between(&self, before: u64, after: u64) -> Option<u64> {
        match after.checked_sub(before) {
            Some(counted) => Some(counted),
            None => Some(after.saturating_add(self.range_uj?.checked_sub(before)?)),
        }
    }
}

/// Whether the machine counts its energy, for the facts about it.
pub(super) fn fact(root: &Path) -> String {
    let domains = domains(root);
    let Some(package) = domains
        .iter()
        .find(|domain| domain.part == DomainKind::Package)
    else {
        return "not reported by this machine".into();
    };
    match package.read() {
        Ok(_) => {
            let names: Vec<&str> = domains.iter().map(|domain| &*domain.name).collect();
            format!("RAPL: {}", names.join(", "))
        }
        // Since 2020 (CVE-2020-8694) counters are root's: their changes tell others what a
        // processor computes.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => format!(
            "not readable: {} is for root only. 'sudo chmod a+r /{CLASS}/intel-rapl:*/energy_uj' \
             lets everybody read them until the next boot",
            package.counter.display()
        ),
        Err(error) => format!("not readable: {}: {error}", package.counter.display()),
    }
}

/// Adds up what the machine's counters say.
#[derive(Debug, Default)]
pub(crate) struct EnergyMeter {
    domains: Vec<Domain>,
    last: Option<(Instant, Vec<u64>)>,
    metered: EnergyTotal,
}

/// What a meter has added up so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct EnergyTotal {
    elapsed: Duration,
    packages_uj: u64,
    memory_uj: Option<u64>,
    platform_uj: Option<u64>,
    /// A counter could not be read: nothing is known any more.
    is_broken: bool,
}

impl EnergyMeter {
    /// Of this machine: of nothing, where it does not count or may not be asked.
    pub(crate) fn here() -> Self {
        Self::below(Path::new("/"))
    }

    /// From the `sys` of a directory.
    fn below(root: &Path) -> Self {
        let mut domains = domains(root);
        let is_counted =
            |domain: &Domain| domain.part == DomainKind::Package && domain.read().is_ok();
        if !domains.iter().any(is_counted) {
            domains.clear();
        }
        Self {
            domains,
            ..Self::default()
        }
    }

    /// From now on.
    pub(crate) fn start(&mut self) {
        self.last = self.read();
    }

    /// Adds what was counted since the last call of this or [`Self::start`]. To be called
    /// every few minutes at least: counters begin again at 0 after 65 kJ to 262 kJ.
    pub(crate) fn add(&mut self) {
        let before = self.last.take();
        self.last = self.read();
        if let (Some((since, before)), Some((now, after))) = (&before, &self.last) {
            self.metered.elapsed += now.saturating_duration_since(*since);
            let mut platform_uj: Option<u64> = None;
            for ((domain, before), after) in self.domains.iter().zip(before).zip(after) {
                let Some(counted) = domain.between(*before, *after) else {
                    self.metered.is_broken = true;
                    continue;
                };
                match domain.part {
                    DomainKind::Package => self.metered.packages_uj += counted,
                    DomainKind::Memory => *self.metered.memory_uj.get_or_insert(0) += counted,
                    // Of several packages one has the platform's counter.
                    DomainKind::Platform => platform_uj = platform_uj.max(Some(counted)),
                }
            }
            if let Some(counted) = platform_uj {
                *self.metered.platform_uj.get_or_insert(0) += counted;
            }
        }
    }

    /// All that was added so far; `None` where nothing is counted.
    pub(crate) fn so_far(&self) -> Option<EnergyTotal> {
        (!self.domains.is_empty()).then_some(self.metered)
    }

    fn read(&mut self) -> Option<(Instant, Vec<u64>)> {
        if self.domains.is_empty() {
            return None;
        }
        let read: io::Result<Vec<u64>> = self.domains.iter().map(Domain::read).collect();
        self.metered.is_broken |= read.is_err();
        Some((Instant::now(), read.ok()?))
    }
}

impl EnergyTotal {
    /// What was added since; `None` where a counter failed, or the packages did not move, as
    /// where a hypervisor makes them up.
    pub(crate) fn since(&self, earlier: &Self) -> Option<EnergyUse> {
        let joules = |microjoules: u64| microjoules as f64 / 1e6;
        let packages_uj = self.packages_uj.checked_sub(earlier.packages_uj)?;
        if self.is_broken || packages_uj == 0 {
            return None;
        }
        let grown = |now: Option<u64>, before: Option<u64>| {
            Some(joules(now?.saturating_sub(before.unwrap_or(0))))
        };
        let memory_joules = grown(self.memory_uj, earlier.memory_uj);
        Some(EnergyUse {
            covers: match memory_joules {
                Some(_) => EnergyScope::PackagesAndMemory,
                None => EnergyScope::Packages,
            },
            joules: joules(packages_uj) + memory_joules.unwrap_or(0.0),
            elapsed_s: self.elapsed.saturating_sub(earlier.elapsed).as_secs_f64(),
            idle_joules: None,
            cpu_joules: None,
            device_joules: None,
            memory_joules,
            platform_joules: grown(self.platform_uj, earlier.platform_uj),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const RANGE_UJ: u64 = 262_143_328_850;

    /// A tree of sysfs.
    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(domains: &[(&str, &str, u64)]) -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            for (place, name, counted) in domains {
                fs::create_dir_all(tree.directory(place)).unwrap();
                fs::write(tree.directory(place).join("name"), format!("{name}\n")).unwrap();
                let range = format!("{RANGE_UJ}\n");
                fs::write(tree.directory(place).join("max_energy_range_uj"), range).unwrap();
                tree.count(place, *counted);
            }
            tree
        }

        fn directory(&self, place: &str) -> PathBuf {
            self.0.path().join(CLASS).join(place)
        }

        fn count(&self, place: &str, microjoules: u64) {
            let path = self.directory(place).join("energy_uj");
            fs::write(path, format!("{microjoules}\n")).unwrap();
        }
    }

    /// Two sockets with memory, cores, a platform, and the first package once more.
    fn server() -> Tree {
        Tree::new(&[
            ("intel-rapl:0", "package-0", 1_000_000),
            ("intel-rapl:0:0", "core", 500_000),
            ("intel-rapl:0:1", "dram", 100_000),
            ("intel-rapl:1", "package-1", RANGE_UJ - 2_000_000),
            ("intel-rapl:1:0", "dram", 0),
            ("intel-rapl:2", "psys", 7_000_000),
            ("intel-rapl-mmio:0", "package-0", 1_000_000),
        ])
    }

    #[test]
    fn packages_and_memory_are_added_and_nothing_twice() {
        let tree = server();
        let mut meter = EnergyMeter::below(tree.0.path());
        meter.start();
        let before = meter.so_far().unwrap();
        tree.count("intel-rapl:0", 4_000_000);
        tree.count("intel-rapl:0:0", 3_500_000);
        tree.count("intel-rapl:0:1", 600_000);
        // It begins again: 2 J to the end of its range and 3 J more.
        tree.count("intel-rapl:1", 3_000_000);
        tree.count("intel-rapl:1:0", 250_000);
        tree.count("intel-rapl:2", 27_000_000);
        tree.count("intel-rapl-mmio:0", 4_000_000);
        meter.add();
        let used = meter.so_far().unwrap().since(&before).unwrap();
        assert_eq!(used.covers, EnergyScope::PackagesAndMemory);
        assert!((used.joules - (3.0 + 5.0 + 0.75)).abs() < 1e-9, "{used:?}");
        assert!((used.memory_joules.unwrap() - 0.75).abs() < 1e-9);
        assert!((used.platform_joules.unwrap() - 20.0).abs() < 1e-9);
        assert_eq!(used.idle_joules, None);
    }

    #[test]
    fn what_is_counted_outside_is_left_out() {
        let tree = Tree::new(&[("intel-rapl:0", "package-0", 0)]);
        let mut meter = EnergyMeter::below(tree.0.path());
        for slice in 0..3 {
            // Somebody else's slice, then ours of 2 J.
            tree.count("intel-rapl:0", slice * 12_000_000 + 10_000_000);
            meter.start();
            tree.count("intel-rapl:0", slice * 12_000_000 + 12_000_000);
            meter.add();
        }
        let used = meter
            .so_far()
            .unwrap()
            .since(&EnergyTotal::default())
            .unwrap();
        assert_eq!(used.covers, EnergyScope::Packages);
        assert!((used.joules - 6.0).abs() < 1e-9, "{used:?}");
        assert_eq!((used.memory_joules, used.platform_joules), (None, None));
    }

    #[test]
    fn machines_that_do_not_count_are_silent() {
        let empty = tempfile::tempdir().unwrap();
        let mut meter = EnergyMeter::below(empty.path());
        meter.start();
        meter.add();
        assert_eq!(meter.so_far(), None);
        assert_eq!(fact(empty.path()), "not reported by this machine");
        // A guest whose counter never moves.
        let tree = Tree::new(&[("intel-rapl:0", "package-0", 0)]);
        let mut meter = EnergyMeter::below(tree.0.path());
        meter.start();
        meter.add();
        assert_eq!(meter.so_far().unwrap().since(&EnergyTotal::default()), None);
    }

    #[test]
    fn a_counter_that_fails_tells_nothing() {
        let tree = server();
        let mut meter = EnergyMeter::below(tree.0.path());
        meter.start();
        tree.count("intel-rapl:0", 4_000_000);
        fs::remove_file(tree.directory("intel-rapl:0:1").join("energy_uj")).unwrap();
        meter.add();
        assert_eq!(meter.so_far().unwrap().since(&EnergyTotal::default()), None);
    }

    #[test]
    fn facts_name_domains_or_the_remedy() {
        let tree = server();
        assert_eq!(
            fact(tree.0.path()),
            "RAPL: package-0, dram, package-1, dram, psys"
        );
        for place in ["intel-rapl:0", "intel-rapl:1"] {
            let path = tree.directory(place).join("energy_uj");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
        }
        // Root may read it all the same.
        if !rustix::process::geteuid().is_root() {
            let said = fact(tree.0.path());
            assert!(said.starts_with("not readable: "), "{said}");
            assert!(said.contains("intel-rapl:0/energy_uj"), "{said}");
            assert!(said.contains("sudo chmod a+r"), "{said}");
            assert!(EnergyMeter::below(tree.0.path()).so_far().is_none());
        }
        // Neither is what no number says.
        let odd = Tree::new(&[("intel-rapl:0", "package-0", 0)]);
        fs::write(odd.directory("intel-rapl:0").join("energy_uj"), "odd").unwrap();
        assert!(fact(odd.0.path()).starts_with("not readable: "));
        assert_eq!(EnergyMeter::below(odd.0.path()).so_far(), None);
    }

    #[test]
    fn stored_energy_comes_back() {
        let used = EnergyUse {
            covers: EnergyScope::PackagesAndMemory,
            joules: 12.5,
            elapsed_s: 2.0,
            idle_joules: None,
            cpu_joules: None,
            device_joules: None,
            memory_joules: Some(2.5),
            platform_joules: None,
        };
        let text = serde_json::to_string(&used).unwrap();
        assert_eq!(
            text,
            r#"{"covers":"packages-and-memory","joules":12.5,"elapsed_s":2.0,"memory_joules":2.5}"#
        );
        assert_eq!(serde_json::from_str::<EnergyUse>(&text).unwrap(), used);
        assert_eq!(
            used.plus(EnergyUse {
                covers: EnergyScope::Packages,
                ..used
            }),
            None
        );
    }
}
