//! Points in time of a device or of a simulation.

use std::{
    fmt,
    ops::{Add, Sub},
    time::Duration,
};

/// Nanoseconds since a device was opened or a simulation began.
///
/// Of a device this is virtual time, which no clock moves. It is a whole number
/// of nanoseconds in 64 bits: 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// The beginning.
    pub const START: Self = Self(0);
    /// Later than every event.
    pub const NEVER: Self = Self(u64::MAX);

    /// This many nanoseconds after the beginning.
    pub const fn nanoseconds(count: u64) -> Self {
        Self(count)
    }

    /// Nanoseconds since the beginning.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// This many nanoseconds later; [`Moment::NEVER`] when that is too late.
    #[inline]
    pub const fn after(self, nanoseconds: u64) -> Self {
        Self(self.0.saturating_add(nanoseconds))
    }

    /// This many nanoseconds earlier; [`Moment::START`] when that is too early.
    /// [`Moment::NEVER`] stays.
    #[inline]
    pub const fn before(self, nanoseconds: u64) -> Self {
        match self {
            Self::NEVER => Self::NEVER,
            Self(moment) => Self(moment.saturating_sub(nanoseconds)),
        }
    }

    /// Nanoseconds from `earlier` until this moment; 0 when it is later.
    #[inline]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        self.after(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Sub for Moment {
    type Output = Duration;

    /// The time between; zero when `earlier` is later.
    fn sub(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.since(earlier))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.9} s", self.0 as f64 / 1e9))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_stay_within_time() {
        let moment = Moment::nanoseconds(1_500);
        assert_eq!(moment.after(500).get(), 2_000);
        assert_eq!(Moment::NEVER.after(1), Moment::NEVER);
        assert_eq!(Moment::START + Duration::MAX, Moment::NEVER);
        assert_eq!(moment.before(500).get(), 1_000);
        assert_eq!(moment.before(2_000), Moment::START);
        assert_eq!(Moment::NEVER.before(1), Moment::NEVER);
        assert_eq!(Moment::START.since(moment), 0);
        assert_eq!(moment - Moment::START, Duration::from_nanos(1_500));
        assert_eq!(moment.to_string(), "0.000001500 s");
    }
}
