//! Parameters of an array and of its controller: the `[raid]` table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    simulated::cost::{COMMAND_US_MAX, KIB_US_MAX, MB_PER_S_MAX, MB_PER_S_MIN},
    sourced::{Impossible, Sourced, parameters, require},
};

/// How data lie on the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Striped over the members, each byte once.
    Raid0,
    /// Striped over pairs of members, each byte on both of a pair. Of two
    /// members this is RAID-1.
    Raid10,
}

impl Level {
    /// Members that hold a byte.
    pub fn mirrors(self) -> u32 {
        match self {
            Self::Raid0 => 1,
            Self::Raid10 => 2,
        }
    }
}

parameters! {
    /// Parameters of a [`Raid`](super::Raid). What describes a member is for whoever
    /// opens members.
    pub struct Parameters<Member> {
        /// How data lie on the members.
        pub level: Sourced<Level>,
        /// How many members.
        pub members: Sourced<u32>,
        /// Bytes that lie in one member before the next one's turn.
        pub stripe_unit_bytes: Sourced<u64> = STRIPE_UNIT_BYTES_MIN..=1 << 30,
        /// What each member is.
        pub member: Member,
        /// What lies between the host and the members.
        pub controller: Controller,
    }
}

parameters! {
    /// Parameters of the controller of a [`Raid`](super::Raid).
    pub struct Controller {
        /// Commands that it holds; more wait in the host.
        pub queue: Sourced<u16> = 1..,
        /// Microseconds of its processor for a command: commands wait for each
        /// other.
        pub command_us: Sourced<f64> = 0.0..=COMMAND_US_MAX,
        /// Microseconds of its processor for each KiB.
        pub command_us_per_kib: Sourced<f64> = 0.0..=KIB_US_MAX,
        /// Microseconds that a command takes besides, others going on.
        pub latency_us: Sourced<f64> = 0.0..=COMMAND_US_MAX,
        /// MB/s (10^6 bytes) between host and controller, each way.
        pub link_mb_per_s: Sourced<f64> = MB_PER_S_MIN..=MB_PER_S_MAX,
        /// Microseconds for each KiB of a write besides, others going on: copies
        /// inside of the controllers, such as to a mirror of the cache.
        pub write_latency_us_per_kib: Sourced<f64> = 0.0..=KIB_US_MAX,
        /// Bytes of battery-backed write-back cache; 0 without. With it, writes
        /// are complete when they are in the cache, and flushes at once.
        pub cache_bytes: Sourced<u64> = ..=CACHE_BYTES_MAX,
        /// Writes that the cache keeps in flight to a member.
        pub destage_depth: Sourced<u16> = 1..,
        /// Bytes of dirty neighbours that it writes at once.
        pub destage_bytes_max: Sourced<u32> = 1..,
    }
}

/// The largest cache that is simulated: 1 TiB; what it costs in memory is an
/// entry for each dirty extent.
const CACHE_BYTES_MAX: u64 = 1 << 40;

/// Stripe units are whole ones of the largest sectors that disks and SSDs have.
const STRIPE_UNIT_BYTES_MIN: u64 = 4096;

impl<Member> Parameters<Member> {
    /// Refuses what no array can have; members are not looked at.
    pub(crate) fn check(&self) -> Result<(), Impossible> {
        self.check_bounds()?;
        require(
            self.members.is_multiple_of(self.level.mirrors()),
            "members",
            *self.members,
            "RAID-10 has pairs of members",
        )?;
        let unit = *self.stripe_unit_bytes;
        require(
            unit.is_multiple_of(STRIPE_UNIT_BYTES_MIN),
            "stripe_unit_bytes",
            unit,
            "a stripe unit is a multiple of 4096 bytes",
        )?;
        let controller = self.controller.check(unit);
        controller.map_err(|impossible| impossible.within("controller"))
    }
}

impl Controller {
    fn check(&self, unit: u64) -> Result<(), Impossible> {
        self.check_bounds()?;
        let destage = u64::from(*self.destage_bytes_max);
        require(
            destage.is_multiple_of(unit) || unit.is_multiple_of(destage),
            "destage_bytes_max",
            destage,
            "writes to members are whole stripe units, or whole parts of one",
        )
    }
}
