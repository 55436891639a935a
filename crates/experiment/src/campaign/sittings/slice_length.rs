//! How many transactions a slice has.

use std::time::Duration;

use octavo_device::limit::Limit;

use crate::{limits::Asked, lockstep::BATCH_PASSES};

/// The fewest transactions of a slice.
const SLICE_TRANSACTIONS_MIN: u64 = 10;

/// How many transactions take about 75 ms, or 1.5 s where processes are frozen
/// between slices: 10, 25, 50, 100, 200 and so on, and at least 10 a client.
/// Shorter slices pay more for turning from one to the next, longer ones let
/// the storage change meanwhile: 25 to 50 transactions of TPC-C on SQLite
/// compared best, and 1 s on PostgreSQL.
pub(super) fn slice_transactions(a_second: f64, is_server: bool, clients: u32) -> u64 {
    let length_s = if is_server { 1.5 } else { 0.075 };
    at_least((a_second * length_s) as u64 * 3 / 4, clients)
}

/// The fewest transactions of a slice: 10 a client, since those that have none left wait for
/// the last one, which is no transaction's time.
pub(super) fn fewest(clients: u32) -> u64 {
    at_least(0, clients)
}

/// The first step with so many transactions, and 10 a client.
fn at_least(transactions: u64, clients: u32) -> u64 {
    let fewest = transactions.max(SLICE_TRANSACTIONS_MIN * u64::from(clients));
    slice_steps().find(|&step| step >= fewest).unwrap_or(fewest)
}

fn slice_steps() -> impl Iterator<Item = u64> {
    let steps = (0..).map(|power| 25_u64.saturating_mul(1 << power.min(32)));
    [SLICE_TRANSACTIONS_MIN].into_iter().chain(steps)
}

/// At most `most` transactions, in the steps of slices; the fewest all the same.
pub(super) fn at_most(wanted: u64, most: u64, clients: u32) -> u64 {
    let fitting = slice_steps().take_while(|&step| step <= most).last();
    wanted.min(at_least(fitting.unwrap_or_default(), clients))
}

/// So many passes are to fit into a budget though slices are longer for a credit: 8 batches, without which
/// nobody is asked whether a ratio moved, and intervals are wide for want of batches alone.
const CREDIT_PASSES: usize = 8 * BATCH_PASSES;

/// The fewest transactions in which what storage serves at once after a rest is worth little to any of the
/// cells of a pass, with the limits of their storage; 0 where no credit is worth anything to them. No more
/// than passes have in the time that is `left`.
pub(super) fn beyond_credit(
    cells: &[(&[Limit], Asked)],
    left: Option<Duration>,
    clients: u32,
) -> u64 {
    let wanted = cells
        .iter()
        .filter_map(|(limits, asked)| asked.transactions_wanted(limits))
        .fold(0.0, f64::max);
    if wanted == 0.0 {
        return 0;
    }
    let wanted = at_least(wanted.ceil() as u64, clients);
    let Some(left) = left else {
        return wanted;
    };
    let each = cells
        .iter()
        .map(|(limits, asked)| asked.transaction_s(limits));
    let pass_s = each.sum::<f64>() * CREDIT_PASSES as f64;
    at_most(wanted, (left.as_secs_f64() / pass_s) as u64, clients)
}

/// At most as many transactions as take `left` at half of `a_second`, which is
/// of a moment when nothing else was done: shorter slices pay more, but the
/// budget holds.
pub(super) fn within(wanted: u64, a_second: f64, left: Duration, clients: u32) -> u64 {
    let most = (left.as_secs_f64() * a_second / 2.0) as u64;
    at_most(wanted, most, clients)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::tests::{asked, limits};

    #[test]
    fn slices_are_longer_where_a_credit_would_be_much_of_them() {
        let limits = limits();
        let hungry = (&limits[..], asked(29));
        let light = (&limits[..], asked(10));
        // 200 transactions of 10 ms are 2 s.
        assert_eq!(beyond_credit(&[light, hungry], None, 1), 200);
        assert_eq!(beyond_credit(&[light], None, 1), 0);
        assert_eq!(beyond_credit(&[(&[], asked(29))], None, 1), 0);
        // 32 passes of two cells, as long as the budget has room for them.
        for (left_s, transactions) in [(128, 200), (127, 100), (40, 50), (1, 10)] {
            let left = Some(Duration::from_secs(left_s));
            let found = beyond_credit(&[light, hungry], left, 1);
            assert_eq!(found, transactions, "{left_s}");
        }
        assert_eq!(beyond_credit(&[hungry], None, 40), 400);
    }

    #[test]
    fn slices_take_about_the_same_time_on_any_database() {
        assert_eq!(slice_transactions(666.0, false, 1), 50);
        assert_eq!(slice_transactions(420.0, false, 1), 25);
        assert_eq!(slice_transactions(20_000.0, false, 1), 1600);
        assert_eq!(slice_transactions(2_000.0, true, 4), 3200);
        // A slow disk.
        assert_eq!(slice_transactions(9.0, false, 1), 10);
        assert_eq!(slice_transactions(9.0, true, 8), 100);
        assert_eq!([1, 8].map(fewest), [10, 100]);
    }

    #[test]
    fn slices_are_shorter_where_the_budget_has_no_room_for_the_fewest_passes() {
        // 5 cells with 8 passes in 200 s, then in 40 s and in 1 s.
        for (left_s, transactions) in [(200, 400), (40, 100), (1, 10)] {
            let left = Duration::from_secs(left_s) / 40;
            assert_eq!(within(400, 250.0, left, 1), transactions, "{left_s}");
        }
        // Never longer than they should be, nor without 10 a client.
        assert_eq!(within(50, 1e6, Duration::from_secs(60), 1), 50);
        assert_eq!(within(10, 1.0, Duration::ZERO, 1), 10);
        assert_eq!(within(400, 1.0, Duration::ZERO, 8), 100);
    }
}
