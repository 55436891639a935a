//! A price that a flag gives a storage or device.

use std::str::FromStr;

use octavo_experiment::prices::{PriceError, StoragePrice};

/// A storage or device with its price.
#[derive(Clone, Debug)]
pub(crate) struct NamedPrice {
    /// Empty where none is given.
    pub(crate) name: String,
    /// What it costs.
    pub(crate) price: StoragePrice,
}

impl FromStr for NamedPrice {
    type Err = PriceError;

    /// Reads `NAME=PRICE` or `PRICE`; a path may have `=` in it, a price not.
    fn from_str(text: &str) -> Result<Self, PriceError> {
        let (name, price) = text.rsplit_once('=').unwrap_or(("", text));
        Ok(Self {
            name: name.trim().to_owned(),
            price: price.parse()?,
        })
    }
}
