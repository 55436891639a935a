//! Requests that wait for the arm, and which of them it serves next.

use octavo_units::Moment;

use super::{
    layout::Spot,
    mechanism::{Arm, Mechanism, Motion},
};

/// A request that waits for the arm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// Which request this is, counted from the first.
    pub(super) order: u64,
    pub(super) tag: u32,
    /// When it was submitted.
    pub(super) since: Moment,
    /// From when on it can be served; never before that of the one before it.
    pub(super) ready: u64,
    /// Its first sector, and where that lies.
    pub(super) first: u64,
    pub(super) spot: Spot,
    pub(super) sectors: u32,
    pub(super) motion: Motion,
}

impl Waiting {
    pub(super) const fn end(&self) -> u64 {
        self.first + self.sectors as u64
    }
}

/// Requests in the order in which they came. What choosing needs lies in
/// columns of its own, so that the loop over all of them stays in registers.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    requests: Vec<Waiting>,
    cylinders: Vec<u32>,
    /// With [`WRITES`] for writes.
    heads: Vec<u32>,
    angles_ns: Vec<u32>,
    /// When each came, in the time by which waiting counts.
    since_aged_ns: Vec<u64>,
    /// By how many powers of two waiting counts less here.
    patience: u32,
    /// Of [`Queue::nearest`], kept for their memory.
    moving_ns: Vec<i32>,
    least_ns: Vec<i32>,
}

/// Positioning takes less than this by far: an arm moves for 0.1 s at most, and
/// a revolution takes 0.06 s (`Parameters::check`). So a request that came so
/// much later than another, in the time by which waiting counts, is not served
/// before it, and all sums fit 31 bits.
const LATE_NS: u64 = 1 << 30;

/// Marks the head of a write; there are never so many heads.
const WRITES: u32 = 1 << 31;

impl Queue {
    /// An empty queue of requests whose waiting counts so many powers of two less than
    /// a command's.
    pub(super) fn patient(patience: u32) -> Self {
        Self {
            patience,
            ..Self::default()
        }
    }

    /// A moment, in the time by which waiting counts here.
    #[inline]
    fn aged_ns(&self, at: u64, mechanism: &Mechanism) -> u64 {
        mechanism.aged_ns(at) >> self.patience
    }

    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    /// The one that came first.
    #[inline]
    pub(super) fn oldest(&self) -> Option<&Waiting> {
        self.requests.first()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.requests.iter()
    }

    pub(super) fn add(&mut self, request: Waiting, mechanism: &Mechanism) {
        debug_assert!(
            self.requests
                .last()
                .is_none_or(|last| last.ready <= request.ready)
        );
        self.cylinders.push(request.spot.cylinder);
        self.heads.push(match request.motion {
            Motion::Read => request.spot.head,
            Motion::Write => request.spot.head | WRITES,
        });
        self.angles_ns.push(mechanism.layout.angle_ns(request.spot));
        self.since_aged_ns
            .push(self.aged_ns(request.since.get(), mechanism));
        self.requests.push(request);
    }

    pub(super) fn remove(&mut self, index: usize) -> Waiting {
        self.cylinders.remove(index);
        self.heads.remove(index);
        self.angles_ns.remove(index);
        self.since_aged_ns.remove(index);
        self.requests.remove(index)
    }

    /// How many can be served at `at`: the first ones, as they become ready in
    /// the order in which they came.
    #[inline]
    pub(super) fn ready(&self, at: u64) -> usize {
        let late = self.requests.iter().rev().take_while(|r| r.ready > at);
        self.requests.len() - late.count()
    }

    /// Which of the first `ready` is served next: that over which the heads are
    /// soonest, when a share of the time that it waited is taken off. This is
    /// aged shortest positioning time first (Jacobson and Wilkes, "Disk
    /// scheduling algorithms based on rotational position", HP Laboratories
    /// report HPL-CSP-91-7, 1991; Seltzer, Chen and Ousterhout, "Disk scheduling
    /// revisited", USENIX Winter 1990). Of several as good, the oldest.
    ///
    /// Also tells by how much it is worse than one that comes at `at` and is under the
    /// heads, so that two queues can be compared.
    #[inline]
    pub(super) fn nearest(
        &mut self,
        ready: usize,
        arm: Arm,
        at: u64,
        mechanism: &Mechanism,
    ) -> Option<(i64, usize)> {
        if ready == 0 {
            return None;
        }
        // First a bound of each one's time, from the least seek of about its
        // distance: the table of these fits the processor's first cache, which
        // that of all seeks does not.
        let oldest = self.since_aged_ns[0];
        let phase_ns = mechanism.phase_ns(at);
        // One simple loop after the other, each without a division or a
        // branch, for the sake of vector units, of which the oldest compare
        // signed numbers alone.
        self.moving_ns.clear();
        let tracks = self.cylinders[..ready].iter().zip(&self.heads);
        self.moving_ns.extend(tracks.map(|(&cylinder, &head)| {
            let motion = match head & WRITES {
                0 => Motion::Read,
                _ => Motion::Write,
            };
            let distance = arm.cylinder.abs_diff(cylinder);
            let seek = mechanism
                .seeks
                .least_ns(mechanism.seek_base(motion), distance);
            let switch = mechanism.head_switch_ns(motion);
            let other = head & !WRITES != arm.head;
            seek.max(if other { switch } else { 0 }) as i32
        }));
        // The angle comes by within the first revolution, and again after
        // each.
        let revolution = mechanism.layout.revolution_ns() as i32;
        let turn = revolution - phase_ns as i32;
        self.least_ns.clear();
        let angles = self.angles_ns[..ready].iter();
        self.least_ns.extend(angles.map(|&angle| {
            let first = angle as i32 + turn;
            first - if first >= revolution { revolution } else { 0 }
        }));
        for _ in 0..mechanism.turns_max {
            for (passes, &moving) in self.least_ns.iter_mut().zip(&self.moving_ns) {
                *passes += if *passes < moving { revolution } else { 0 };
            }
        }
        let times = self.least_ns.iter_mut().zip(&self.since_aged_ns);
        if self.since_aged_ns[ready - 1] - oldest < LATE_NS {
            for (time, &since) in times {
                *time += (since as i32).wrapping_sub(oldest as i32);
            }
        } else {
            for (time, &since) in times {
                *time += late_ns(since, oldest);
            }
        }
        // Most often the least bound is the time itself, and then no other
        // can be less.
        loop {
            let least = self.least_ns.iter().copied().min()?;
            let index = self.least_ns.iter().position(|&time| time == least)?;
            let Waiting { spot, motion, .. } = self.requests[index];
            let positioning_ns = mechanism.positioning_ns(arm, phase_ns, spot, motion);
            let time = positioning_ns as i32 + late_ns(self.since_aged_ns[index], oldest);
            if time == least {
                let waited_ns = self.aged_ns(at, mechanism) - oldest;
                return Some((i64::from(least) - waited_ns as i64, index));
            }
            debug_assert!(time > least, "{least} is a bound of {time}");
            self.least_ns[index] = time;
        }
    }
}

/// By how much one came later than the oldest, if that matters.
#[inline]
fn late_ns(since: u64, oldest: u64) -> i32 {
    (since - oldest).min(LATE_NS) as i32
}
