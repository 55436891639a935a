//! A device whose time passes at another pace than the system's.

use octavo_device::{Counters, Device, DeviceError, Request, Tag};
use octavo_units::Moment;

/// A device that takes `pace` times as long for everything as it says.
pub(crate) struct Paced {
    device: Box<dyn Device + Send>,
    pace: f64,
    /// A moment in the device's time and in the system's, since which it has this pace.
    since: [Moment; 2],
}

impl Paced {
    /// From now on, which is `now` in the system's time.
    pub(crate) fn new(device: Box<dyn Device + Send>, pace: f64, now: Moment) -> Self {
        Self {
            since: [device.now(), now],
            pace: possible(pace),
            device,
        }
    }

    pub(crate) fn pace(&self) -> f64 {
        self.pace
    }

    /// Has it another pace from now on, also for what is in flight.
    pub(crate) fn set_pace(&mut self, pace: f64) {
        self.since = [self.device.now(), self.now()];
        self.pace = possible(pace);
    }

    /// What it has done since it was opened. Times are its own.
    pub(crate) fn counters(&self) -> Counters {
        self.device.counters()
    }

    /// The present, in the system's time.
    pub(crate) fn now(&self) -> Moment {
        self.to_system(self.device.now())
    }

    /// Asks for the whole sectors in which a request is.
    pub(crate) fn submit(
        &mut self,
        now: Moment,
        tag: Tag,
        request: Request,
    ) -> Result<(), DeviceError> {
        let request = whole_sectors(self.device.as_ref(), request);
        // Rounding does not take it back before what it has said.
        let at = self.to_device(now).max(self.device.now());
        self.device.submit(at, tag, request)
    }

    /// What it completes next, if it does by `until`.
    pub(crate) fn next(&mut self, until: Moment) -> Result<Option<(Moment, Tag)>, DeviceError> {
        let done = self.device.next(self.to_device(until))?;
        Ok(done.map(|done| (self.to_system(done.at), done.tag)))
    }

    fn to_device(&self, at: Moment) -> Moment {
        let [device, system] = self.since;
        match at {
            Moment::NEVER => at,
            _ => device.after(scaled(at.since(system), 1.0 / self.pace)),
        }
    }

    fn to_system(&self, at: Moment) -> Moment {
        let [device, system] = self.since;
        system.after(scaled(at.since(device), self.pace))
    }
}

/// Not by way of floating point where nothing changes: that has 53 bits.
fn scaled(ns: u64, by: f64) -> u64 {
    match by == 1.0 {
        true => ns,
        false => (ns as f64 * by) as u64,
    }
}

fn possible(pace: f64) -> f64 {
    match pace.is_finite() && pace > 0.0 {
        true => pace,
        false => 1.0,
    }
}

/// The whole sectors in which a request is.
pub(crate) fn whole_sectors(device: &dyn Device, request: Request) -> Request {
    let sector = device.geometry().sector.get();
    let begin = request.offset / sector * sector;
    Request {
        offset: begin,
        length: (request.end().next_multiple_of(sector) - begin) as u32,
        ..request
    }
}

#[cfg(test)]
mod tests {
    use octavo_device::simulated::Constant;
    use octavo_units::ByteCount;

    use super::*;

    #[test]
    fn everything_takes_so_many_times_as_long() {
        for (pace, takes) in [(1.0, 1000), (0.5, 500), (3.0, 3000)] {
            let device = Constant::new(ByteCount::mib(1), 1000);
            let mut paced = Paced::new(Box::new(device), pace, Moment::START);
            let mut now = paced.now();
            for number in 0..5 {
                paced
                    .submit(now, Tag(number), Request::read(0, 512))
                    .unwrap();
                let early = now.after(takes - 10);
                assert_eq!(paced.next(early).unwrap(), None);
                let (at, tag) = paced.next(Moment::NEVER).unwrap().unwrap();
                assert_eq!(tag, Tag(number));
                assert!(
                    at.since(now).abs_diff(takes) <= 2,
                    "{pace}: {}",
                    at.since(now)
                );
                now = at.after(777);
            }
        }
    }
    #[test]
    fn another_pace_is_for_what_comes_then() {
        let device = Constant::new(ByteCount::mib(1), 1000);
        let mut paced = Paced::new(Box::new(device), 2.0, Moment::START);
        let mut now = paced.now();
        for (pace, takes) in [(2.0, 2000), (0.5, 500), (4.0, 4000), (1.0, 1000)] {
            paced.set_pace(pace);
            assert!(paced.now().since(now) <= 1 || now >= paced.now());
            paced.submit(now, Tag(0), Request::read(0, 512)).unwrap();
            let (at, _) = paced.next(Moment::NEVER).unwrap().unwrap();
            assert!(
                at.since(now).abs_diff(takes) <= 2,
                "{pace}: {}",
                at.since(now)
            );
            now = at;
        }
        assert_eq!(paced.counters().reads, 4);
    }
}
