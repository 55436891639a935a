//! The rate of a station without simulating it: mean value analysis of a
//! closed network (Reiser and Lavenberg, J. ACM 27(2), 1980), exact for
//! exponential times. Several servers count as one that is as many times
//! faster, and a delay for the rest (Seidmann, Schweitzer and Shalev-Oren,
//! Large Scale Systems 12, 1987).
//!
//! A hundred times faster than a simulation and near it, so that the search
//! begins here.

/// Requests per microsecond of a closed loop of `depth` requests that take
/// `one_at_a_time` of stages with a queue, `service` of one of `servers`, and
/// `delay` of nothing that others use; all in microseconds.
pub(super) fn rate(
    depth: u16,
    one_at_a_time: [f64; 2],
    service: f64,
    servers: u32,
    delay: f64,
) -> f64 {
    let servers = f64::from(servers);
    let demands = [one_at_a_time[0], one_at_a_time[1], service / servers];
    let delay = delay + service * (servers - 1.0) / servers;
    let mut waiting = [0.0; 3];
    let mut rate = 0.0;
    for requests in 1..=depth {
        let residence: [f64; 3] =
            std::array::from_fn(|stage| demands[stage] * (1.0 + waiting[stage]));
        rate = f64::from(requests) / (delay + residence.iter().sum::<f64>());
        waiting = residence.map(|residence| rate * residence);
    }
    rate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_small_networks_are_those_by_hand() {
        // Alone: the sum.
        assert_eq!(rate(1, [2.0, 3.0], 4.0, 2, 1.0), 0.1);
        // Two balanced stages, two requests: each stage is busy with
        // probability 2/3.
        assert!((rate(2, [1.0, 1.0], 0.0, 1, 0.0) - 2.0 / 3.0).abs() < 1e-12);
        // Many: the slowest stage.
        assert!((rate(500, [2.0, 1.0], 6.0, 4, 50.0) - 0.5).abs() < 1e-6);
    }
}
