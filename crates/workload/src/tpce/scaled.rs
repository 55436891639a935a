//! TPC-E-like data at one scale.

use octavo_units::Seed;

use super::{
    calendar::{self, SECOND},
    ids::{BEGUN, LOAD_UNIT},
};
use crate::{DataError, Parameter, Unit};

pub(super) const CUSTOMERS: Parameter = Parameter {
    name: "customers",
    unit: Unit::Count,
    help: "TPC-E customers, about 250 MB a thousand in SQLite and 450 MB in servers",
    noun: Some("customer"),
    label: ", customers: ",
    default: |_| 1000,
    min: |_| 1000,
    max: 5_000_000,
    multiple_of: LOAD_UNIT as u64,
};

/// Days of initial trades. The specification has 300 (clause 2.6.1.6).
pub(super) const TRADE_DAYS: Parameter = Parameter {
    name: "trade-days",
    unit: Unit::Count,
    help: "Days of trades that TPC-E begins with; the specification has 300",
    noun: Some("day of trades"),
    label: ", days of trades: ",
    default: |_| 5,
    min: |_| 1,
    max: 1000,
    multiple_of: 1,
};

/// Customers for each trade a second. The specification has 500 (clause 2.6.1.4).
pub(super) const SCALE_FACTOR: Parameter = Parameter {
    name: "scale-factor",
    unit: Unit::Count,
    help: "Customers for each trade a second that TPC-E begins with; the specification has 500",
    noun: None,
    label: ", scale factor: ",
    default: |_| 500,
    min: |_| 10,
    max: 10_000,
    multiple_of: 10,
};

/// The specification's values (clause 2.6.1).
pub(super) const SPECIFIED_CUSTOMERS: i64 = 5000;
pub(super) const SPECIFIED_DAYS: i64 = 300;
pub(super) const SPECIFIED_SCALE_FACTOR: i64 = 500;

/// Companies of a load unit, and securities (clause 2.6.1.7).
pub(super) const COMPANIES: i64 = 500;
pub(super) const SECURITIES: i64 = 685;
/// Brokers of a load unit.
pub(super) const BROKERS: i64 = 10;
/// Accounts of a load unit.
pub(super) const ACCOUNTS: i64 = 5000;
/// Addresses of exchanges, which come first.
pub(super) const EXCHANGES: i64 = 4;

/// The scale of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    pub(super) seed: Seed,
    pub(super) customers: i64,
    pub(super) trade_days: i64,
    pub(super) scale_factor: i64,
}

impl Scale {
    /// # Errors
    /// [`DataError::Range`] of one of them.
    pub(super) fn new(
        seed: Seed,
        customers: u64,
        trade_days: u64,
        scale_factor: u64,
    ) -> Result<Self, DataError> {
        CUSTOMERS.check(customers, 0)?;
        TRADE_DAYS.check(trade_days, customers)?;
        SCALE_FACTOR.check(scale_factor, customers)?;
        // The largest ones are far below 2^63.
        Ok(Self {
            seed,
            customers: customers as i64,
            trade_days: trade_days as i64,
            scale_factor: scale_factor as i64,
        })
    }

    pub(super) fn load_units(&self) -> i64 {
        self.customers / LOAD_UNIT
    }

    pub(super) fn companies(&self) -> i64 {
        self.load_units() * COMPANIES
    }

    pub(super) fn securities(&self) -> i64 {
        self.load_units() * SECURITIES
    }

    pub(super) fn brokers(&self) -> i64 {
        self.load_units() * BROKERS
    }

    /// Trades of a load unit that were done before the first run: as many as are done in
    /// these days at the nominal rate (clause 2.6.1.6), rounded down to hundreds.
    pub(super) fn trades_of_unit(&self) -> i64 {
        let seconds = self.trade_days * calendar::TRADING_DAY / SECOND;
        seconds * LOAD_UNIT / self.scale_factor / 100 * 100
    }

    /// Trades of a load unit that were begun: one of 101 was thrown away.
    pub(super) fn begun_of_unit(&self) -> i64 {
        self.trades_of_unit() / 100 * BEGUN
    }

    /// Trades of all that were begun: run time's have later places.
    pub(super) fn begun(&self) -> i64 {
        self.load_units() * self.begun_of_unit()
    }

    /// The moment when initial trading ends.
    pub(super) fn end(&self) -> i64 {
        calendar::moment(self.trade_days * calendar::TRADING_DAY)
    }

    /// From one transaction of all clients to the next at the nominal rate, in
    /// microseconds: of a thousand transactions a hundred complete trades, and customers
    /// complete one a second for each scale factor of them.
    pub(super) fn tick(&self) -> i64 {
        (SECOND / 10 * self.scale_factor / self.customers).max(1)
    }

    /// The ordinal of an address.
    pub(super) fn company_address(&self, company: i64) -> i64 {
        EXCHANGES + company
    }

    /// The ordinal of a customer's address.
    pub(super) fn customer_address(&self, customer: i64) -> i64 {
        EXCHANGES + self.companies() + customer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_specification() {
        let scale = Scale::new(Seed::new(1), 5000, 300, 500).unwrap();
        assert_eq!(scale.load_units() * scale.trades_of_unit(), 86_400_000);
        assert_eq!(scale.begun(), 87_264_000);
        assert_eq!(scale.securities(), 3425);
        assert_eq!(scale.brokers(), 50);
        // 10 trade results a second, one of ten transactions.
        assert_eq!(scale.tick(), 10_000);
        let odd = Scale::new(Seed::new(1), 1000, 1, 700).unwrap();
        assert_eq!(odd.trades_of_unit(), 41_100);
        assert!(Scale::new(Seed::new(1), 1500, 1, 500).is_err());
    }
}
