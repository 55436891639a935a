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
    heads: Vec<u32>,
    angles_ns: Vec<u32>,
    /// When each came, in the time by which waiting counts.
    since_aged_ns: Vec<u64>,
    /// Of [`Queue::nearest`], kept for its memory.
    positioning_ns: Vec<u32>,
}

impl Queue {
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
        self.heads.push(request.spot.head);
        self.angles_ns.push(mechanism.layout.angle_ns(request.spot));
        self.since_aged_ns
            .push(mechanism.aged_ns(request.since.get()));
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
    /// Also tells by how much it is worse than one that came at the moment 0 and
    /// is under the heads, so that two queues can be compared.
    #[inline]
    pub(super) fn nearest(
        &mut self,
        ready: usize,
        arm: Arm,
        phase_ns: u32,
        mechanism: &Mechanism,
    ) -> Option<(u64, usize)> {
        if ready == 0 {
            return None;
        }
        let oldest = self.since_aged_ns[0];
        let revolution = mechanism.layout.revolution_ns();
        self.positioning_ns.clear();
        self.positioning_ns.extend(
            self.requests[..ready]
                .iter()
                .zip(&self.cylinders)
                .zip(&self.heads)
                .map(|((request, &cylinder), &head)| {
                    let distance = arm.cylinder.abs_diff(cylinder);
                    let seek = mechanism
                        .seeks
                        .time_ns(mechanism.seek_base(request.motion), distance);
                    let switch = mechanism.head_switch_ns(request.motion);
                    if head == arm.head {
                        seek
                    } else {
                        seek.max(switch)
                    }
                }),
        );
        // Without a division or a branch, for the sake of vector units: the
        // angle comes by within the first revolution, and again after each.
        let turn = revolution - phase_ns;
        for ((time, &angle), &since) in self
            .positioning_ns
            .iter_mut()
            .zip(&self.angles_ns)
            .zip(&self.since_aged_ns)
        {
            let moving = *time;
            let first = angle + turn;
            let mut passes = if first >= revolution {
                first - revolution
            } else {
                first
            };
            for _ in 0..mechanism.turns_max {
                passes += if passes < moving { revolution } else { 0 };
            }
            // Those that came much later than the oldest are out of question.
            *time = passes.saturating_add((since - oldest).min(u64::from(u32::MAX)) as u32);
        }
        let least = self.positioning_ns.iter().copied().min()?;
        let index = self.positioning_ns.iter().position(|&time| time == least)?;
        Some((oldest + u64::from(least), index))
    }
}
