//! The arm and the platters: how long it takes to get to a sector and past it.

use super::{
    layout::{Layout, Spot},
    seek::{SeekBase, SeekTable},
};

/// The track over which the heads are: a cylinder and the head in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Arm {
    pub(super) cylinder: u32,
    pub(super) head: u32,
}

/// Whether the media is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Motion {
    Read,
    Write,
}

/// The arm at work: it does one thing at a time.
#[derive(Clone, Debug)]
pub(super) struct Mechanism {
    pub(super) layout: Layout,
    pub(super) seeks: SeekTable,
    /// Between heads of one cylinder, to read and to write.
    pub(super) head_switch_ns: [u32; 2],
    /// Revolutions that the longest move lasts, rounded up.
    pub(super) turns_max: u32,
    /// By which share waiting counts, in 2^-16.
    pub(super) age_share: u64,
}

/// Where and when a transfer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    /// Behind the last sector.
    pub(super) spot: Spot,
    pub(super) arm: Arm,
    pub(super) at: u64,
}

impl Mechanism {
    #[inline]
    pub(super) fn seek_base(&self, motion: Motion) -> SeekBase {
        match motion {
            Motion::Read => self.seeks.read(),
            Motion::Write => self.seeks.write(),
        }
    }

    #[inline]
    pub(super) fn head_switch_ns(&self, motion: Motion) -> u32 {
        self.head_switch_ns[motion as usize]
    }

    /// Time, slowed to the share by which waiting counts.
    #[inline]
    pub(super) fn aged_ns(&self, at: u64) -> u64 {
        (at >> 16) * self.age_share + (((at & 0xffff) * self.age_share) >> 16)
    }

    /// The angle under the heads at `at`.
    #[inline]
    pub(super) fn phase_ns(&self, at: u64) -> u32 {
        (at % u64::from(self.layout.revolution_ns())) as u32
    }

    /// Nanoseconds until the heads are over `spot` and its sector begins: the
    /// move, then what is missing to a whole number of revolutions.
    #[inline]
    pub(super) fn positioning_ns(
        &self,
        arm: Arm,
        phase_ns: u32,
        spot: Spot,
        motion: Motion,
    ) -> u32 {
        let revolution = self.layout.revolution_ns();
        let distance = arm.cylinder.abs_diff(spot.cylinder);
        let mut moving = self.seeks.time_ns(self.seek_base(motion), distance);
        if arm.head != spot.head {
            moving = moving.max(self.head_switch_ns(motion));
        }
        let mut ready = self.layout.angle_ns(spot) + revolution - phase_ns;
        if ready >= revolution {
            ready -= revolution;
        }
        if ready < moving {
            ready += (moving - ready).div_ceil(revolution) * revolution;
        }
        ready
    }

    /// Moves from `arm` at `at` to `spot` and passes `sectors`, track by track.
    #[inline]
    pub(super) fn transfer(
        &self,
        arm: Arm,
        at: u64,
        spot: Spot,
        sectors: u32,
        motion: Motion,
    ) -> Passed {
        let mut passed = Passed { spot, arm, at };
        let mut left = sectors;
        while left > 0 {
            let spot = self.layout.onto_track(passed.spot);
            let count = left.min(self.layout.left_on_track(spot));
            let phase = self.phase_ns(passed.at);
            let positioning = self.positioning_ns(passed.arm, phase, spot, motion);
            passed = Passed {
                spot: spot.behind(count),
                arm: Arm {
                    cylinder: spot.cylinder,
                    head: spot.head,
                },
                at: passed.at
                    + u64::from(positioning)
                    + u64::from(self.layout.passing_ns(spot, count)),
            };
            left -= count;
        }
        passed
    }

    /// Reads on from `from`, `sectors` at most and until `until`: how many came
    /// in, and when the last of them had. From there it can go on without loss.
    #[inline]
    pub(super) fn read_on(&self, from: Passed, sectors: u64, until: u64) -> (u64, Passed) {
        let mut passed = from;
        let mut read = 0;
        while read < sectors && passed.at < until {
            let spot = self.layout.onto_track(passed.spot);
            let count = (sectors - read).min(self.layout.left_on_track(spot).into()) as u32;
            let next = self.transfer(passed.arm, passed.at, spot, count, Motion::Read);
            if next.at > until {
                let began = next.at - u64::from(self.layout.passing_ns(spot, count));
                if began < until {
                    let count = self.layout.passed(spot, until - began);
                    read += u64::from(count);
                    passed = Passed {
                        spot: spot.behind(count),
                        arm: next.arm,
                        at: began + u64::from(self.layout.passing_ns(spot, count)),
                    };
                }
                break;
            }
            passed = next;
            read += u64::from(count);
        }
        (read, passed)
    }
}
