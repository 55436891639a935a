//! A large database in small: rows, buffer and log all divided by one number.
//!
//! Where rows are used alike part by part (TPC-C's warehouses, pgbench's accounts), an eighth of
//! the frames misses as often over an eighth of the rows. Waldspurger, Saemundsson, Ahmad and
//! Park show it of many policies (Cache Modeling and Optimization using Miniature Simulations,
//! USENIX ATC 2017, <https://www.usenix.org/conference/atc17/technical-sessions/presentation/waldspurger>),
//! there with sampled references, here with fewer rows.
//!
//! All stocks are divided: rows, frames, the log between two checkpoints, what a page cleaner
//! writes at once. Rates stay: transactions, requests, and how long each takes. So what a
//! database does by its clock comes as many times sooner, such as the second after which a page
//! becomes young in InnoDB's list. Pages, transactions and clients stay as they are.

use octavo_units::{ByteCount, Moment};

/// What is next to each other on a device stays so in pieces of this size, and pieces are as
/// far apart as they are numbered: a disk's arm moves as far as over all of the data. What a
/// checkpoint writes is in order, so pieces hold many of its pages (with 16 MiB a disk was 6%
/// slower than under the whole, with this 0.1%).
const PIECE: u64 = 256 << 20;

/// By what rows, buffer and log are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Miniature(u32);

impl Miniature {
    /// Nothing is divided.
    pub const WHOLE: Self = Self(1);

    /// All stocks are divided by this; by 1 for 0.
    pub const fn new(divisor: u32) -> Self {
        match divisor {
            0 => Self::WHOLE,
            divisor => Self(divisor),
        }
    }

    /// By what.
    pub const fn divisor(self) -> u32 {
        self.0
    }

    /// Whether anything is divided.
    pub const fn is_small(self) -> bool {
        self.0 > 1
    }

    /// What is left of a stock of the whole: at least one.
    pub(crate) fn share(self, of: u64) -> u64 {
        (of / u64::from(self.0)).max(1)
    }

    /// What the whole would have.
    pub(crate) fn whole(self, of: ByteCount) -> ByteCount {
        of.saturating_mul(u64::from(self.0))
    }

    /// A moment by the clock of the small database.
    pub(crate) fn clock(self, now: Moment) -> Moment {
        Moment::nanoseconds(now.get().saturating_mul(u64::from(self.0)))
    }

    /// Where on the device of the whole a byte is.
    pub(crate) fn place(self, offset: u64) -> u64 {
        offset / PIECE * PIECE * u64::from(self.0) + offset % PIECE
    }
}

impl Default for Miniature {
    fn default() -> Self {
        Self::WHOLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_spread_over_the_whole_by_hand() {
        let eighth = Miniature::new(8);
        assert_eq!(eighth.place(5), 5);
        assert_eq!(eighth.place(PIECE - 1), PIECE - 1);
        assert_eq!(eighth.place(3 * PIECE + 7), 24 * PIECE + 7);
        assert_eq!(Miniature::WHOLE.place(3 * PIECE + 7), 3 * PIECE + 7);
        // The last byte of the small is inside of the whole.
        let size = 5 * PIECE + 100;
        assert!(eighth.place(size - 1) < eighth.whole(ByteCount::new(size)).get());
    }

    #[test]
    fn stocks_are_divided_and_time_runs_faster() {
        let eighth = Miniature::new(8);
        assert_eq!(
            (eighth.share(80), eighth.share(7), eighth.share(0)),
            (10, 1, 1)
        );
        assert_eq!(
            eighth.clock(Moment::nanoseconds(125)),
            Moment::nanoseconds(1000)
        );
        assert_eq!(Miniature::new(0), Miniature::WHOLE);
        assert!(eighth.is_small() && !Miniature::WHOLE.is_small());
    }
}
