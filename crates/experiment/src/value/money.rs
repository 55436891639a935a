//! What a cell costs, and its throughput per money.

use schemars::JsonSchema;
use serde::Serialize;

/// Throughput is told by this much money.
pub const PER: f64 = 1000.0;

/// Throughput per 1000 of the currency; `None` without a cost above 0, and of figures that
/// are not finite.
pub fn per_thousand(throughput: f64, cost: f64) -> Option<f64> {
    let found = throughput / cost * PER;
    (cost > 0.0 && throughput >= 0.0 && found.is_finite()).then_some(found)
}

/// What the parts cost that a cell needs; `None` of a part without a price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Bill {
    /// The machine without memory and storage.
    pub machine: Option<f64>,
    /// The memory that may hold data.
    pub memory: Option<f64>,
    /// The storage.
    pub storage: Option<f64>,
}

impl Bill {
    /// All parts that have a price; `None` where none has.
    pub fn total(&self) -> Option<f64> {
        let parts = [self.machine, self.memory, self.storage];
        parts.into_iter().flatten().reduce(|sum, part| sum + part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_told_by_a_thousand() {
        // 3000 a minute for 2500: 1200 for each 1000.
        assert_eq!(per_thousand(3000.0, 2500.0), Some(1200.0));
        for (throughput, cost) in [
            (3000.0, 0.0),
            (3000.0, -1.0),
            (f64::NAN, 1.0),
            (3000.0, f64::NAN),
            (f64::INFINITY, 1.0),
            (-1.0, 1.0),
        ] {
            assert_eq!(per_thousand(throughput, cost), None, "{throughput} {cost}");
        }
    }

    #[test]
    fn a_bill_is_the_sum_of_what_has_a_price() {
        assert_eq!(Bill::default().total(), None);
        let mut bill = Bill {
            memory: Some(5.0),
            ..Bill::default()
        };
        assert_eq!(bill.total(), Some(5.0));
        bill.machine = Some(2000.0);
        bill.storage = Some(600.0);
        assert_eq!(bill.total(), Some(2605.0));
    }
}
