//! What a request costs one part of a device: a time, and a time a byte.

/// A fixed time and a time in proportion to the bytes, in whole nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    command_ns: u64,
    /// Per MiB rather than per byte, so that integers are fine enough: at
    /// 7 GB/s a byte takes 0.14 ns.
    mib_ns: u64,
}

impl Cost {
    /// `us` microseconds, and `us_per_kib` more for each KiB.
    ///
    /// Within the bounds of [`COMMAND_US_MAX`] and [`KIB_US_MAX`] nothing
    /// overflows for up to 4 GiB.
    pub(crate) fn new(us: f64, us_per_kib: f64) -> Self {
        Self {
            command_ns: (us * 1e3).round() as u64,
            mib_ns: (us_per_kib * 1e3 * 1024.0).round() as u64,
        }
    }

    /// A transfer at this many MB/s, of 10^6 bytes.
    pub(crate) fn bandwidth(mb_per_s: f64) -> Self {
        Self::new(0.0, 1024.0 / mb_per_s)
    }

    /// Nanoseconds for this many bytes.
    #[inline]
    pub(crate) fn ns(self, bytes: impl Into<u64>) -> u64 {
        self.command_ns + ((bytes.into() * self.mib_ns) >> 20)
    }
}

/// The longest time a command that [`Cost`] takes, in microseconds: 1000 s.
pub(crate) const COMMAND_US_MAX: f64 = 1e9;

/// The longest time a KiB that [`Cost`] takes, in microseconds: 1 MB/s.
pub(crate) const KIB_US_MAX: f64 = 1e3;

/// The rates that [`Cost::bandwidth`] takes, in MB/s: the least is
/// [`KIB_US_MAX`].
pub(crate) const MB_PER_S_MIN: f64 = 1.024;
pub(crate) const MB_PER_S_MAX: f64 = 1e9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_add_up_and_stay_in_range() {
        let cost = Cost::new(16.5, 0.5);
        assert_eq!(cost.ns(0u32), 16_500);
        assert_eq!(cost.ns(8u32 << 10), 20_500);
        // 1350 MB/s: a MB takes 740.7 us.
        let link = Cost::bandwidth(1350.0);
        assert!(link.ns(1_000_000u32).abs_diff(740_741) <= 1, "{link:?}");
        let dearest = Cost::new(COMMAND_US_MAX, KIB_US_MAX);
        assert_eq!(
            dearest.ns(1u32 << 30),
            1_000_000_000_000 + (1 << 20) * 1_000_000
        );
        assert_eq!(
            dearest.ns(1u64 << 32),
            1_000_000_000_000 + (1 << 22) * 1_000_000
        );
    }
}
