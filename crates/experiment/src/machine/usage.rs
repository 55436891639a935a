//! What the machine did while a run was measured.
//!
//! Sources: proc_stat(5), proc_pid_stat(5), proc_pid_io(5), proc_loadavg(5)
//! and `Documentation/accounting/psi.rst` of the kernel.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
    time::{Duration, Instant},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    cgroup, family,
    powercap::EnergyUse,
    source::{sum, text},
};

/// How the CPUs were used while a run was measured: shares of all the time of
/// all CPUs, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineUse {
    /// In programs.
    pub user: f64,
    /// In the kernel.
    pub system: f64,
    /// Idle, storage awaited or not.
    pub idle: f64,
    /// Taken away by the hypervisor.
    pub steal: f64,
    /// In programs and kernel, but not for this process and those that it
    /// started: somebody else's.
    pub others: f64,
    /// CPUs that the shares are of: all of the machine's.
    pub cpus: f64,
    /// Share of the time in which some thread of the machine, this process's
    /// or another's, could run and had no CPU. `None` where the kernel does
    /// not tell (pressure stall information), as in the next two.
    #[serde(default)]
    pub cpu_pressure: Option<f64>,
    /// … waited for storage.
    #[serde(default)]
    pub io_pressure: Option<f64>,
    /// … waited for memory to be freed or read back.
    #[serde(default)]
    pub memory_pressure: Option<f64>,
    /// Share of the periods of this process's CPU limit (100 ms each unless
    /// set otherwise) in which the limit was reached; `None` without a limit.
    #[serde(default)]
    pub throttled: Option<f64>,
    /// Pages of memory that the machine moved to and from swap.
    #[serde(default)]
    pub swapped_pages: Option<u64>,
    /// Bytes that this process and those that it started had storage read and
    /// write.
    #[serde(default)]
    pub own_io_bytes: Option<u64>,
    /// CPU time of this process alone, in seconds: of the clients, and of a
    /// database that is linked into it.
    #[serde(default)]
    pub client_cpu_s: Option<f64>,
    /// Load average over a minute at the beginning: earlier runs are in it.
    #[serde(default)]
    pub load_average_1m: Option<f64>,
    /// What the machine took, where it counts that or was said what it draws.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyUse>,
}

impl MachineUse {
    /// What happened from one reading to a later one.
    pub fn between(before: &Reading, after: &Reading) -> Self {
        after.since(before)
    }
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
            (Some(before), Some(after)) => MachineUse::between(before, after),
            _ => MachineUse::default(),
        }
    }

    /// The counters now, for parts of a run; `None` without /proc. It reads
    /// eight small files (0.2 ms on a busy machine of two CPUs) and keeps
    /// nothing.
    pub fn reading(&self) -> Option<Reading> {
        Reading::now()
    }
}

/// The counters at one point in time.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    at: Instant,
    ticks: Ticks,
    /// Of this process alone.
    client_ticks: u64,
    /// Time that some thread waited for CPU, storage and memory since boot.
    pressure: [Option<Duration>; 3],
    /// Periods of the CPU limit, and those in which it was reached.
    throttling: Option<(u64, u64)>,
    swapped_pages: Option<u64>,
    own_io_bytes: Option<u64>,
    load_average_1m: Option<f64>,
}

impl Reading {
    fn now() -> Option<Self> {
        // A process stays in its group; where that is takes longer to find
        // than all the rest to read.
        static GROUP: OnceLock<Option<PathBuf>> = OnceLock::new();
        let root = Path::new("/");
        let group = GROUP.get_or_init(|| cgroup::narrowest_cpu_group(root));
        Self::below(root, group.as_deref(), Instant::now())
    }

    /// From the `proc` of a directory and a control group with a CPU limit.
    fn below(root: &Path, group: Option<&Path>, at: Instant) -> Option<Self> {
        let pressure = |of: &str| pressure(&text(root, &format!("proc/pressure/{of}"))?);
        let own = family::process_use(root)?;
        Some(Self {
            at,
            ticks: Ticks::parse(&text(root, "proc/stat")?, own.family_ticks)?,
            client_ticks: own.process_ticks,
            pressure: [pressure("cpu"), pressure("io"), pressure("memory")],
            throttling: group.and_then(cgroup::throttling),
            swapped_pages: text(root, "proc/vmstat")
                .and_then(|table| sum(&table, ["pswpin ", "pswpout "])),
            own_io_bytes: own.io_bytes,
            load_average_1m: text(root, "proc/loadavg")
                .and_then(|line| line.split_whitespace().next()?.parse().ok()),
        })
    }

    fn since(&self, before: &Self) -> MachineUse {
        let elapsed = self.at.saturating_duration_since(before.at).as_secs_f64();
        let pressure = |index: usize| {
            let waited = self.pressure[index]?.saturating_sub(before.pressure[index]?);
            (elapsed > 0.0).then(|| (waited.as_secs_f64() / elapsed).min(1.0))
        };
        let grown = |after: Option<u64>, before: Option<u64>| Some(after?.saturating_sub(before?));
        MachineUse {
            cpu_pressure: pressure(0),
            io_pressure: pressure(1),
            memory_pressure: pressure(2),
            throttled: self.throttling.zip(before.throttling).map(
                |((periods, reached), (periods_before, reached_before))| {
                    let periods = periods.saturating_sub(periods_before).max(1) as f64;
                    reached.saturating_sub(reached_before) as f64 / periods
                },
            ),
            swapped_pages: grown(self.swapped_pages, before.swapped_pages),
            own_io_bytes: grown(self.own_io_bytes, before.own_io_bytes),
            client_cpu_s: grown(Some(self.client_ticks), Some(before.client_ticks))
                .map(|ticks| ticks as f64 / family::ticks_per_second()),
            load_average_1m: before.load_average_1m,
            ..self.ticks.since(&before.ticks)
        }
    }
}

/// `total` in microseconds of the line `some` (psi.rst).
fn pressure(table: &str) -> Option<Duration> {
    let some = table.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = some.rsplit_once("total=")?.1;
    Some(Duration::from_micros(total.trim().parse().ok()?))
}

/// Clock ticks since boot, of all CPUs together and of this process with those
/// that it started.
#[derive(Clone, Debug, PartialEq)]
struct Ticks {
    /// user, nice, system, idle, iowait, irq, softirq, steal (proc_stat(5)).
    cpus: [u64; 8],
    own: u64,
    count: u32,
}

impl Ticks {
    fn parse(stat: &str, own: u64) -> Option<Self> {
        let mut fields = stat
            .lines()
            .next()?
            .strip_prefix("cpu ")?
            .split_whitespace();
        let mut cpus = [0; 8];
        for value in &mut cpus {
            *value = fields.next()?.parse().ok()?;
        }
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
            ..MachineUse::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn shares_follow_from_ticks() {
        let before = Ticks::parse("cpu  100 0 50 800 50 0 0 0 0 0\n", 15).unwrap();
        let after = Ticks::parse(
            "cpu  160 0 70 880 70 0 0 20 0 0\ncpu0 1\ncpu1 1\nintr 5\n",
            65,
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
    fn shares_of_time_follow_from_totals() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let begin = Instant::now();
        write("proc/stat", "cpu  1 0 1 1 1 0 0 0 0 0\ncpu0 1\n");
        write(
            "proc/self/stat",
            "42 (a) S 1 1 1 0 -1 0 9 0 0 0 1 1 0 0 20 0",
        );
        assert_eq!(
            Reading::below(root.path(), None, begin)
                .map(|reading| (reading.pressure, reading.throttling)),
            Some(([None; 3], None))
        );
        let pressure = |some: u64| {
            format!(
                "some avg10=0.65 avg60=0.60 avg300=1.20 total={some}\n\
                 full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
            )
        };
        write("proc/pressure/cpu", &pressure(1_000_000));
        write("proc/pressure/io", &pressure(500_000));
        write("proc/loadavg", "1.25 0.23 0.99 1/87 18000\n");
        write("proc/vmstat", "pgpgin 9\npswpin 1\npswpout 2\n");
        write("proc/self/io", "rchar: 9\nread_bytes: 10\nwrite_bytes: 5\n");
        write("group/cpu.stat", "nr_periods 10\nnr_throttled 5\n");
        let group = root.path().join("group");
        let before = Reading::below(root.path(), Some(&group), begin).unwrap();
        write("proc/pressure/cpu", &pressure(1_500_000));
        write("proc/pressure/io", &pressure(499_000));
        write("proc/loadavg", "9.99 0.23 0.99 1/87 18000\n");
        write("proc/vmstat", "pswpin 1\npswpout 4\n");
        write("proc/self/io", "read_bytes: 110\nwrite_bytes: 6\n");
        write("group/cpu.stat", "nr_periods 30\nnr_throttled 15\n");
        let end = begin + Duration::from_secs(2);
        let after = Reading::below(root.path(), Some(&group), end).unwrap();
        let used = MachineUse::between(&before, &after);
        assert_eq!(used.cpu_pressure, Some(0.25));
        // A total that fell counts as none.
        assert_eq!(used.io_pressure, Some(0.0));
        assert_eq!(used.memory_pressure, None);
        assert_eq!(used.load_average_1m, Some(1.25));
        assert_eq!(used.swapped_pages, Some(2));
        assert_eq!(used.own_io_bytes, Some(101));
        assert_eq!(used.throttled, Some(0.5));
        // No time passed: nothing can be a share of it.
        assert_eq!(MachineUse::between(&before, &before).cpu_pressure, None);
    }

    #[test]
    fn a_machine_use_of_an_earlier_version_is_read() {
        let text = r#"{"user":0.5,"system":0.1,"idle":0.4,"steal":0.0,"others":0.0,"cpus":2.0}"#;
        let used: MachineUse = serde_json::from_str(text).unwrap();
        assert_eq!((used.user, used.throttled), (0.5, None));
    }

    #[test]
    fn odd_proc_files_are_no_reading() {
        assert_eq!(Ticks::parse("", 1), None);
        assert_eq!(Ticks::parse("cpu  1 2 3", 1), None);
        assert_eq!(pressure("full avg10=0.00 total=1"), None);
        assert_eq!(pressure("some avg10=0.00 total=-1"), None);
        assert_eq!(sum("pswpin 1\n", ["pswpin ", "pswpout "]), None);
    }
}
