//! The counters of the device and of the machine around a run.

use octavo_device::Counters;
use octavo_driver::{DriverObserver, Second};
use octavo_storage::location::{EmulatedReading, Location};
use octavo_units::ByteCount;

use crate::{
    machine::{EnergyMeter, EnergyTotal, MachineUse, MachineWatch, Reading},
    record::DeviceUse,
};

/// What the device under a database tells of itself.
#[derive(Clone, Copy)]
pub(crate) enum DeviceReading {
    Real(Counters),
    Emulated(EmulatedReading),
}

impl DeviceReading {
    /// Of now; `None` where there is none, or it does not tell.
    pub(crate) fn now(location: &Location) -> Option<Self> {
        if location.is_emulated() {
            location.emulated_reading().map(Self::Emulated)
        } else {
            location.disk_stats().map(Self::Real)
        }
    }

    /// What it did between `earlier` and now.
    pub(crate) fn since(&self, earlier: &Self) -> DeviceUse {
        let used = self.counters().since(&earlier.counters());
        DeviceUse {
            reads: used.reads,
            read_bytes: ByteCount::new(used.read_bytes),
            writes: used.writes,
            written_bytes: ByteCount::new(used.written_bytes),
            energy: match (self, earlier) {
                (Self::Emulated(now), Self::Emulated(earlier)) => now.energy_since(earlier),
                _ => None,
            },
        }
    }

    fn counters(&self) -> Counters {
        match self {
            Self::Real(counters) => *counters,
            Self::Emulated(reading) => reading.counters,
        }
    }
}

/// What is read at one point in time.
struct Readings {
    device: Option<DeviceReading>,
    machine: Option<Reading>,
    energy: Option<EnergyTotal>,
}

/// Reads the machine's counters at each place where the figures may begin or
/// end.
pub(crate) struct Watch<'a> {
    location: Option<&'a Location>,
    observer: &'a mut dyn DriverObserver,
    machine: MachineWatch,
    /// Where the database is on this machine.
    energy: Option<EnergyMeter>,
    /// At the beginning of the measured part, then at each edge.
    readings: Vec<Readings>,
    /// The one with which the figures begin.
    first: usize,
}

impl<'a> Watch<'a> {
    /// Watches the machine and, where there is one, the device.
    pub(crate) fn new(
        location: Option<&'a Location>,
        observer: &'a mut dyn DriverObserver,
    ) -> Self {
        Self {
            location,
            observer,
            machine: MachineWatch::default(),
            energy: location.map(|_| EnergyMeter::here()),
            readings: Vec::new(),
            first: 0,
        }
    }

    fn read(&mut self) {
        self.add_energy();
        self.readings.push(Readings {
            device: self.location.and_then(DeviceReading::now),
            machine: self.machine.reading(),
            energy: self.energy.as_ref().and_then(EnergyMeter::so_far),
        });
    }

    fn add_energy(&mut self) {
        if let Some(meter) = &mut self.energy {
            meter.add();
        }
    }

    fn ends(&self) -> Option<[&Readings; 2]> {
        Some([self.readings.get(self.first)?, self.readings.last()?])
    }

    /// What the device counted in the time of the figures.
    pub(crate) fn device(&self) -> Option<DeviceUse> {
        let [before, after] = self.ends()?;
        Some(after.device?.since(&before.device?))
    }

    /// How the machine was used in the time of the figures.
    pub(crate) fn machine(&self) -> MachineUse {
        let Some([before, after]) = self.ends() else {
            return MachineUse::default();
        };
        let used = match (&before.machine, &after.machine) {
            (Some(before), Some(after)) => MachineUse::between(before, after),
            _ => MachineUse::default(),
        };
        let energy = after.energy.zip(before.energy);
        MachineUse {
            energy: energy.and_then(|(after, before)| after.since(&before)),
            ..used
        }
    }
}

impl DriverObserver for Watch<'_> {
    fn begin(&mut self) {
        self.observer.begin();
        self.read();
    }

    fn edge(&mut self) {
        self.read();
        self.observer.edge();
    }

    fn end(&mut self) {
        self.observer.end();
    }

    fn figures_from(&mut self, edge: usize) {
        self.first = edge;
        self.observer.figures_from(edge);
    }

    fn second(&mut self, second: &Second<'_>) {
        // Counters begin again at 0 after some minutes.
        self.add_energy();
        self.observer.second(second);
    }
}

#[cfg(test)]
mod tests {
    use octavo_device::power::Draw;

    use super::*;

    /// EC, 2.1 W at rest and 6 W at work, for 10 s of which it works for 4:
    /// 21 J at rest and 3.9 W x 4 s more.
    #[test]
    fn energy_is_of_the_time_between_two_readings() {
        let at = |elapsed_s: u64, busy_s: u64, reads| {
            DeviceReading::Emulated(EmulatedReading {
                elapsed_ns: elapsed_s * 1_000_000_000,
                counters: Counters {
                    reads,
                    busy_ns: busy_s * 1_000_000_000,
                    ..Counters::default()
                },
                draw: Some(Draw {
                    idle_w: 2.1,
                    active_w: 6.0,
                }),
            })
        };
        let used = at(17, 9, 1200).since(&at(7, 5, 200));
        assert_eq!(used.reads, 1000);
        let energy = used.energy.unwrap();
        assert!((energy.joules - 36.6).abs() < 1e-9, "{energy:?}");
        assert!((energy.idle_joules - 21.0).abs() < 1e-9, "{energy:?}");
        assert_eq!((energy.elapsed_s, energy.busy_s), (10.0, 4.0));
        // Mounted again meanwhile.
        assert_eq!(at(7, 5, 200).since(&at(17, 9, 1200)).energy, None);
    }

    #[test]
    fn devices_without_known_power_tell_no_energy() {
        let reading = |elapsed_ns| EmulatedReading {
            elapsed_ns,
            counters: Counters::default(),
            draw: None,
        };
        let emulated = DeviceReading::Emulated;
        let real = DeviceReading::Real(Counters::default());
        for (before, after) in [
            (emulated(reading(1)), emulated(reading(2))),
            (real, real),
            (real, emulated(reading(2))),
        ] {
            let used = after.since(&before);
            assert_eq!(used.energy, None);
            // As runs were kept before there was energy.
            let kept = serde_json::to_string(&used).unwrap();
            assert_eq!(
                kept,
                r#"{"reads":0,"read_bytes":0,"writes":0,"written_bytes":0}"#
            );
            assert_eq!(serde_json::from_str::<DeviceUse>(&kept).unwrap(), used);
        }
    }
}
