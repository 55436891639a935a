//! The keys of `[prices]`, and how each price is written.

use std::{collections::BTreeMap, str::FromStr};

use serde::Deserialize;

use super::value::{Scalar, SpannedValue, Written, given, text_of};
use crate::prices::{Currency, MemoryPrice, Price, PriceError, Prices, StoragePrice};

/// `[prices]`, in which everything may be missing.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PriceKeys {
    currency: Option<SpannedValue<Currency>>,
    memory: Option<SpannedValue<MemoryPrice>>,
    machine: Option<SpannedValue<Price>>,
    host: BTreeMap<String, SpannedValue<Price>>,
    storage: BTreeMap<String, SpannedValue<StoragePrice>>,
}

impl PriceKeys {
    pub(super) fn prices(&self) -> Prices {
        let storages = self.storage.iter();
        let hosts = self.host.iter();
        Prices {
            currency: given(&self.currency),
            memory: given(&self.memory),
            machine: given(&self.machine),
            hosts: hosts
                .map(|(name, price)| (name.clone(), price.value))
                .collect(),
            storages: storages
                .map(|(name, price)| (name.clone(), price.value.clone()))
                .collect(),
        }
    }
}

/// A price that may be written as a number or a text.
fn read<T: FromStr<Err = PriceError>>(
    scalar: Scalar<'_>,
    of_number: impl Fn(f64) -> Result<T, PriceError>,
) -> Option<Result<T, String>> {
    let price = match scalar {
        Scalar::Text(text) => text.parse(),
        Scalar::Whole(number) => of_number(number as f64),
        Scalar::Fraction(number) => of_number(number),
        Scalar::Truth(_) => return None,
    };
    Some(price.map_err(text_of))
}

impl Written for Currency {
    const FORMS: &'static str = "a text such as \"EUR\"";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        match scalar {
            Scalar::Text(text) => Some(text.parse().map_err(text_of)),
            Scalar::Whole(_) | Scalar::Fraction(_) | Scalar::Truth(_) => None,
        }
    }
}

impl Written for Price {
    const FORMS: &'static str = "a number such as 2000";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        read(scalar, Self::new)
    }
}

impl Written for MemoryPrice {
    const FORMS: &'static str = "a price such as \"5/GiB\"";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        let without_unit = |number: f64| number.to_string().parse();
        read(scalar, without_unit)
    }
}

impl Written for StoragePrice {
    const FORMS: &'static str = "a price such as 600 or \"0.08/GB for 500GB\"";

    fn read(scalar: Scalar<'_>) -> Option<Result<Self, String>> {
        read(scalar, Self::whole)
    }
}
