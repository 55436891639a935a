//! What time an experiment takes, judged before anything is known of the
//! machine.

use std::time::Duration;

use octavo_units::ByteCount;

/// The least time within slices that is worth an experiment, a cell.
const MEASURED_MIN: Duration = Duration::from_secs(3);

/// The shortest warm-up of a cell.
const WARM_UP_MIN: Duration = Duration::from_millis(500);

/// The least time in which a plan makes sense.
pub(crate) fn shortest(
    data: ByteCount,
    snapshots: usize,
    cells: usize,
    calibrate: bool,
) -> Duration {
    let sitting = beginning(data, cells).saturating_add(MEASURED_MIN * cells as u32);
    making(data, snapshots, calibrate).saturating_add(sitting)
}

/// About the time of calibrating and of making snapshots of at most `data`: a
/// slow disk's 60 MB/s.
pub(crate) fn making(data: ByteCount, snapshots: usize, calibrate: bool) -> Duration {
    const BYTES_PER_SECOND: f64 = 60e6;
    let snapshots = data.get() as f64 * snapshots as f64 / BYTES_PER_SECOND;
    let calibration = if calibrate { 20.0 } else { 0.0 };
    Duration::from_secs_f64(calibration + snapshots)
}

/// About the time in which a sitting begins: copies, made in large requests,
/// several times as fast as loading on a slow disk, and warm-ups.
pub(crate) fn beginning(data: ByteCount, cells: usize) -> Duration {
    const BYTES_PER_SECOND: f64 = 360e6;
    let copy = Duration::from_secs_f64(data.get() as f64 / BYTES_PER_SECOND);
    (copy + WARM_UP_MIN).saturating_mul(u32::try_from(cells).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_data_and_cells_take_longer() {
        let small = shortest(ByteCount::mib(256), 5, 10, true);
        assert!(
            small < Duration::from_mins(5),
            "the defaults fit into five minutes: {small:?}"
        );
        assert!(shortest(ByteCount::mib(2560), 5, 10, true) > small);
        assert!(shortest(ByteCount::mib(256), 5, 40, true) > small);
    }
}
