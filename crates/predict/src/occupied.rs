//! What the device is at work for: reads, or what is written.

use octavo_units::Moment;

use crate::io::Purpose;

/// How long the device had requests in flight, shared evenly among those of each moment: what
/// waits in a queue has a part of what is before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Occupied {
    in_flight: [u32; 2],
    ns: [f64; 2],
    since: Moment,
}

const READS: usize = 0;
const WRITES: usize = 1;

fn kind(purpose: Purpose) -> usize {
    match purpose {
        Purpose::Read => READS,
        Purpose::LogWrite | Purpose::LogSync | Purpose::Checkpoint | Purpose::Background => WRITES,
    }
}

impl Default for Occupied {
    fn default() -> Self {
        Self {
            in_flight: [0; 2],
            ns: [0.0; 2],
            since: Moment::START,
        }
    }
}

impl Occupied {
    /// A request is given to the device.
    pub(crate) fn begin(&mut self, now: Moment, purpose: Purpose) {
        self.pass(now);
        self.in_flight[kind(purpose)] += 1;
    }

    /// The device has completed one.
    pub(crate) fn end(&mut self, now: Moment, purpose: Purpose) {
        self.pass(now);
        self.in_flight[kind(purpose)] -= 1;
    }

    /// Nanoseconds so far for reads and for what is written.
    pub(crate) fn ns(&self) -> [f64; 2] {
        self.ns
    }

    fn pass(&mut self, now: Moment) {
        let passed_ns = now.since(self.since) as f64;
        let all: u32 = self.in_flight.iter().sum();
        for (ns, own) in self.ns.iter_mut().zip(self.in_flight) {
            // None in flight is none of the time.
            *ns += passed_ns * f64::from(own) / f64::from(all.max(1));
        }
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_share_the_time_by_hand() {
        let mut occupied = Occupied::default();
        let at = |ns| Moment::START.after(ns);
        occupied.begin(at(100), Purpose::Read);
        occupied.begin(at(200), Purpose::Background);
        occupied.begin(at(200), Purpose::Read);
        occupied.end(at(500), Purpose::Read);
        occupied.end(at(600), Purpose::Read);
        occupied.end(at(1000), Purpose::Background);
        occupied.begin(at(3000), Purpose::LogSync);
        occupied.end(at(3010), Purpose::LogSync);
        assert_eq!(
            occupied.ns(),
            [100.0 + 200.0 + 50.0, 100.0 + 50.0 + 400.0 + 10.0]
        );
    }
}
