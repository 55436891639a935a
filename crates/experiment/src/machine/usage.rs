//! What the machine did while a run was measured.

use serde::{Deserialize, Serialize};

use super::read;

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

    /// The counters now, for parts of a run; `None` without /proc. It reads a
    /// few small files and keeps nothing.
    pub fn reading(&self) -> Option<Reading> {
        Reading::now()
    }
}

/// The counters at one point in time: clock ticks since boot, of all CPUs
/// together and of this process.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
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
