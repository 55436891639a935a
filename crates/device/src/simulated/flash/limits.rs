//! What the times and rates of a drive may be, and their units.

/// Times that no device exceeds, in microseconds: an hour.
pub(super) const US_MAX: f64 = 3.6e9;

/// Rates of buses, in MB/s: up to 1 TB/s.
pub(super) const MB_PER_S_MIN: f64 = 0.001;
pub(super) const MB_PER_S_MAX: f64 = 1e6;

/// Whole nanoseconds.
pub(super) fn ns(us: f64) -> u64 {
    (us * 1e3).round() as u64
}

/// Picoseconds a byte.
pub(super) fn ps_per_byte(mb_per_s: f64) -> u64 {
    (1e6 / mb_per_s).round() as u64
}
