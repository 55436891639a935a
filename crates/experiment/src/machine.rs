//! The machine that measures: what it is, and what else used it meanwhile.

use std::{fs, thread};

use serde::{Deserialize, Serialize};

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

/// How the CPUs were used while a run was measured: shares of all the time of
/// all CPUs, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineUse {
    /// In programs.
    pub user: f64,
    /// In the kernel.
    pub system: f64,
    /// Idle, storage awaited or not.
    pub idle: f64,
    /// Taken away by the hypervisor.
    pub steal: f64,
    /// In programs and kernel, but not for this process: somebody else's.
    pub others: f64,
    /// CPUs that the shares are of: all of the machine's.
    pub cpus: f64,
}

/// Reads the CPU counters at two points in time. Without /proc all shares
/// are 0.
#[derive(Debug, Default)]
pub struct MachineWatch {
    before: Option<Reading>,
    after: Option<Reading>,
}

impl MachineWatch {
    /// The first reading.
    pub fn begin(&mut self) {
        self.before = Reading::now();
    }

    /// The second reading.
    pub fn end(&mut self) {
        self.after = Reading::now();
    }

    /// What happened between the two.
    pub fn result(&self) -> MachineUse {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => after.since(before),
            _ => MachineUse::default(),
        }
    }
}

/// Clock ticks since boot, of all CPUs together and of this process.
#[derive(Clone, Debug, PartialEq)]
struct Reading {
    /// user, nice, system, idle, iowait, irq, softirq, steal (proc_stat(5)).
    cpus: [u64; 8],
    own: u64,
    count: u32,
}

impl Reading {
    fn now() -> Option<Self> {
        Self::parse(&read("/proc/stat")?, &read("/proc/self/stat")?)
    }

    fn parse(stat: &str, own: &str) -> Option<Self> {
        let mut fields = stat
            .lines()
            .next()?
            .strip_prefix("cpu ")?
            .split_whitespace();
        let mut cpus = [0; 8];
        for value in &mut cpus {
            *value = fields.next()?.parse().ok()?;
        }
        // The second field, the program's name, may hold spaces; what follows
        // it begins with the third. utime and stime are fields 14 and 15.
        let own: Vec<&str> = own.rsplit_once(')')?.1.split_whitespace().collect();
        let own = own.get(11)?.parse::<u64>().ok()? + own.get(12)?.parse::<u64>().ok()?;
        let count = stat
            .lines()
            .filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "))
            .count();
        Some(Self {
            cpus,
            own,
            count: u32::try_from(count).unwrap_or(u32::MAX),
        })
    }

    fn since(&self, before: &Self) -> MachineUse {
        let ticks: Vec<f64> = self
            .cpus
            .iter()
            .zip(before.cpus)
            .map(|(after, before)| after.saturating_sub(before) as f64)
            .collect();
        let total = ticks.iter().sum::<f64>().max(1.0);
        let busy = total - ticks[3] - ticks[4] - ticks[7];
        let own = self.own.saturating_sub(before.own) as f64;
        MachineUse {
            user: (ticks[0] + ticks[1]) / total,
            system: (ticks[2] + ticks[5] + ticks[6]) / total,
            idle: (ticks[3] + ticks[4]) / total,
            steal: ticks[7] / total,
            others: (busy - own).max(0.0) / total,
            cpus: f64::from(self.count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_follow_from_ticks() {
        let own = |user: u64, system: u64| {
            format!("42 (a) name) S 1 1 1 0 -1 4194304 90 0 0 0 {user} {system} 0 0 20 0")
        };
        let before = Reading::parse("cpu  100 0 50 800 50 0 0 0 0 0\n", &own(10, 5)).unwrap();
        let after = Reading::parse(
            "cpu  160 0 70 880 70 0 0 20 0 0\ncpu0 1\ncpu1 1\nintr 5\n",
            &own(50, 15),
        )
        .unwrap();
        let used = after.since(&before);
        assert_eq!(used.user, 0.3);
        assert_eq!(used.system, 0.1);
        assert_eq!(used.idle, 0.5);
        assert_eq!(used.steal, 0.1);
        assert_eq!(used.cpus, 2.0);
        // 80 busy ticks, 50 of them ours.
        assert!((used.others - 0.15).abs() < 1e-12);
    }

    #[test]
    fn odd_proc_files_are_no_reading() {
        assert_eq!(Reading::parse("", ""), None);
        assert_eq!(Reading::parse("cpu  1 2 3", "1 (x) S"), None);
    }
}
