//! The numbers of rows.
//!
//! Things have ordinals from 0 here, and numbers in tables: EGen adds a constant to both
//! kinds of them, so that they take the bytes that they would in a large database.

/// What is added to every number but a trade's (EGen 1.14, `MiscConsts.h`).
pub(super) const IDENT_SHIFT: i64 = 4_300_000_000;

/// What is added to a trade's number (the same).
pub(super) const TRADE_SHIFT: i64 = 200_000_000_000_000;

/// Customers that a population is made of at once (clause 2.6.1.2).
pub(super) const LOAD_UNIT: i64 = 1000;

/// Account numbers reserved for each customer.
pub(super) const ACCOUNTS_MAX: i64 = 10;

/// The number of the thing with this ordinal.
pub(super) const fn ident(ordinal: i64) -> i64 {
    IDENT_SHIFT + ordinal + 1
}

/// The number of an account, by its owner's ordinal and its place among his accounts.
pub(super) const fn account(customer: i64, place: i64) -> i64 {
    (IDENT_SHIFT + customer) * ACCOUNTS_MAX + place + 1
}

/// The ordinal of an account's owner, and its place among his accounts.
pub(super) const fn owner(account: i64) -> (i64, i64) {
    let place = account - 1;
    (
        place.div_euclid(ACCOUNTS_MAX) - IDENT_SHIFT,
        place.rem_euclid(ACCOUNTS_MAX),
    )
}

/// A trade by its place among all that were begun, from 0, those that were thrown away as
/// well.
pub(super) const fn trade(place: i64) -> i64 {
    TRADE_SHIFT + place + 1
}

/// Of as many trades begun one is thrown away, as at run time one of as many orders is
/// rolled back.
pub(super) const BEGUN: i64 = 101;

/// Whether the trade at this place was thrown away (EGen 1.14, `TradeGen.cpp`).
pub(super) const fn is_thrown_away(place: i64) -> bool {
    (place + 1).rem_euclid(BEGUN) == 51
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shifted_and_one_trade_of_101_is_missing() {
        assert_eq!(ident(0), 4_300_000_001);
        assert_eq!(account(12, 3), 43_000_000_124);
        assert_eq!(owner(43_000_000_124), (12, 3));
        assert_eq!(owner(43_000_000_130), (12, 9));
        assert_eq!(trade(0), 200_000_000_000_001);
        let missing: Vec<i64> = (0..303).filter(|place| is_thrown_away(*place)).collect();
        assert_eq!(missing, [50, 151, 252]);
    }
}
