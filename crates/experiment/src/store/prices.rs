//! Prices in a store: facts that can be given again.

use super::{Store, StoreError};
use crate::prices::Prices;

/// The topic of prices.
const TOPIC: &str = "prices";

impl Store {
    /// Keeps prices instead of those that are there.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn set_prices(&mut self, prices: &Prices) -> Result<(), StoreError> {
        self.replace_facts(TOPIC, &prices.facts())
    }

    /// The prices; what cannot be read is not known.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn prices(&self) -> Result<Prices, StoreError> {
        Ok(Prices::of_facts(self.facts(TOPIC)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_and_replaces_what_was_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("octavo.db");
        let mut prices = Prices {
            currency: "EUR".parse().ok(),
            memory: "0.1/MiB".parse().ok(),
            machine: "2000.5".parse().ok(),
            hosts: vec![("n1".into(), "900".parse().unwrap())],
            storages: vec![("".into(), "0.08/GB for 500GB".parse().unwrap())],
        };
        let store = || Store::open_or_create(&path).unwrap();
        store().set_prices(&prices).unwrap();
        let kept = || Store::open(&path).unwrap().prices().unwrap();
        assert_eq!(kept(), prices);
        prices.machine = None;
        prices.storages[0].0 = "device:ec".into();
        store().set_prices(&prices).unwrap();
        assert_eq!(kept(), prices);
    }
}
