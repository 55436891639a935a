//! TPC-C at one scale.

use octavo_units::Seed;

use super::{inputs, random::Constants};
use crate::{DataError, Mix, Parameter, Unit};

pub(super) const WAREHOUSES: Parameter = Parameter {
    name: "warehouses",
    unit: Unit::Count,
    help: "TPC-C warehouses, about 75 MB each",
    noun: Some("warehouse"),
    label: ", warehouses: ",
    default: |_| 2,
    min: |_| 1,
    max: Tpcc::WAREHOUSES_MAX as u64,
    multiple_of: 1,
};

/// TPC-C at one scale: 10 terminals, about 499,000 rows and 75 MB a
/// warehouse, and 100,000 items.
#[derive(Clone, Debug)]
pub struct Tpcc {
    pub(super) warehouses: u32,
    pub(super) seed: Seed,
    pub(super) constants: Constants,
    pub(super) mix: Mix,
    pub(super) has_reports: bool,
}

impl Tpcc {
    /// The largest scale, about 75 TB: a guard against mistyped flags rather
    /// than a limit of the specification.
    pub const WAREHOUSES_MAX: u32 = 1_000_000;

    /// TPC-C with `warehouses` warehouses, 1 to [`Self::WAREHOUSES_MAX`].
    /// `seed` determines the population and the constants of the non-uniform
    /// draws.
    ///
    /// # Errors
    /// [`DataError::Range`] of `warehouses`.
    pub fn new(warehouses: u32, seed: Seed) -> Result<Self, DataError> {
        WAREHOUSES.check(warehouses.into(), 0)?;
        Ok(Self {
            warehouses,
            seed,
            constants: Constants::new(seed),
            mix: Mix::new(&inputs::CARDS),
            has_reports: false,
        })
    }

    /// The same with reports, which TPC-C does not have: 3% of all transactions are long ones.
    #[must_use]
    pub fn with_reports(self) -> Self {
        Self {
            mix: Mix::new(&inputs::CARDS_WITH_REPORTS),
            has_reports: true,
            ..self
        }
    }

    /// The same with another mix than the specification's smallest deck. Its
    /// weights are the cards of each client's deck.
    pub fn with_mix(self, mix: Mix) -> Self {
        Self { mix, ..self }
    }

    /// The same with all customer and item numbers equally likely, against the specification.
    /// Surnames stay non-uniform.
    ///
    /// Hammerora and HammerDB do so: their New-Order draws both by `RandomNumber`.
    pub fn with_uniform_numbers(self) -> Self {
        Self {
            constants: self.constants.with_uniform_numbers(),
            ..self
        }
    }

    /// The scale.
    pub fn warehouses(&self) -> u32 {
        self.warehouses
    }
}
