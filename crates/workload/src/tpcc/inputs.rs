//! Inputs of the transactions, as terminals enter them, and the decks that deal them.

use super::{
    random::Constants,
    schema::{CUSTOMERS, DISTRICTS, ITEMS},
};
use crate::random::Draws;

/// An item that does not exist, for New-Orders that are rolled back (clause 2.4.1.5).
pub(super) const UNUSED_ITEM: i64 = ITEMS + 1;

/// The smallest deck of clause 5.2.4.2: ten New-Orders, ten Payments and one
/// of each other.
pub(super) const CARDS: [u32; 5] = [10, 10, 1, 1, 1];

/// The shares of a mix with 3% of long reports, in percent: of all kinds that have a least share
/// (clause 5.2.3) that one.
pub(super) const CARDS_WITH_REPORTS: [u32; 7] = [42, 43, 4, 4, 4, 0, 3];

/// Orders of a report and of a long one: 1,500 and 13,000 order lines on average, about 120 kB and 1 MB.
pub(super) const REPORT_ORDERS: i64 = 150;
pub(super) const LONG_REPORT_ORDERS: i64 = 1300;

/// The place of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terminal {
    /// Its home warehouse, for all transactions (clause 2.4.1.1).
    pub(super) warehouse: i64,
    /// Its district, for Stock-Level alone (clause 2.8.1.1).
    pub(super) district: i64,
}

impl Terminal {
    /// The terminal of an index: ten a warehouse, each with a district of its
    /// own.
    pub(super) fn at(index: u64) -> Self {
        let districts = DISTRICTS.unsigned_abs();
        Self {
            warehouse: (index / districts) as i64 + 1,
            district: (index % districts) as i64 + 1,
        }
    }
}

/// How a customer is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Customer {
    /// By C_ID.
    Number(i64),
    /// By the surname of this number, 0 to 999.
    Surname(i64),
}

/// Inputs of New-Order (clause 2.4.1).
#[derive(Debug, Default)]
pub(super) struct NewOrder {
    pub(super) warehouse: i64,
    pub(super) district: i64,
    pub(super) customer: i64,
    /// 5 to 15 lines in the order in which their stock is taken: by supplying
    /// warehouse and item, the same for all transactions, so that two of them
    /// cannot wait for each other's rows. An unused item stays the last line.
    pub(super) lines: Vec<Line>,
    /// O_ENTRY_D.
    pub(super) date: i64,
}

/// One line of a [`NewOrder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// OL_NUMBER, as drawn.
    pub(super) number: i64,
    pub(super) item: i64,
    pub(super) supply_warehouse: i64,
    pub(super) quantity: i64,
}

/// Inputs of Payment (clause 2.5.1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Payment {
    pub(super) warehouse: i64,
    pub(super) district: i64,
    pub(super) customer_warehouse: i64,
    pub(super) customer_district: i64,
    pub(super) customer: Customer,
    /// H_AMOUNT in cents.
    pub(super) amount: i64,
    /// H_DATE.
    pub(super) date: i64,
}

/// Inputs of Order-Status (clause 2.6.1).
#[derive(Clone, Copy, Debug)]
pub(super) struct OrderStatus {
    pub(super) warehouse: i64,
    pub(super) district: i64,
    pub(super) customer: Customer,
}

/// Inputs of Delivery (clause 2.7.1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    pub(super) warehouse: i64,
    pub(super) carrier: i64,
    /// OL_DELIVERY_D, the date of queueing.
    pub(super) date: i64,
}

/// Inputs of Stock-Level (clause 2.8.1).
#[derive(Clone, Copy, Debug)]
pub(super) struct StockLevel {
    pub(super) warehouse: i64,
    pub(super) district: i64,
    pub(super) threshold: i64,
}

/// Inputs of a report: orders that follow each other, of any district, as loaded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Report {
    pub(super) warehouse: i64,
    pub(super) district: i64,
    /// The number of the first order.
    pub(super) first: i64,
    /// How many there are.
    pub(super) orders: i64,
}

/// Draws inputs.
#[derive(Debug)]
pub(super) struct Inputs {
    pub(super) draws: Draws,
    pub(super) constants: Constants,
    pub(super) warehouses: i64,
}

impl Inputs {
    pub(super) fn new_order(&mut self, home: Terminal, date: i64, input: &mut NewOrder) {
        let draws = &mut self.draws;
        input.warehouse = home.warehouse;
        input.district = draws.uniform(1, DISTRICTS);
        input.customer = draws.nurand(&self.constants.customer);
        input.date = date;
        let count = draws.uniform(5, 15);
        let rollback = draws.percent(1);
        input.lines.clear();
        for number in 1..=count {
            let item = draws.nurand(&self.constants.item);
            let remote = draws.percent(1);
            let supply_warehouse = match remote && self.warehouses > 1 {
                true => other_warehouse(draws, home.warehouse, self.warehouses),
                false => home.warehouse,
            };
            input.lines.push(Line {
                number,
                item,
                supply_warehouse,
                quantity: draws.uniform(1, 10),
            });
        }
        let sorted = match (rollback, input.lines.split_last_mut()) {
            (true, Some((last, others))) => {
                last.item = UNUSED_ITEM;
                others
            }
            _ => &mut input.lines[..],
        };
        sorted.sort_unstable_by_key(|line| (line.supply_warehouse, line.item, line.number));
    }

    pub(super) fn payment(&mut self, home: Terminal, date: i64) -> Payment {
        let district = self.draws.uniform(1, DISTRICTS);
        let remote = !self.draws.percent(85) && self.warehouses > 1;
        let (customer_warehouse, customer_district) = match remote {
            true => (
                other_warehouse(&mut self.draws, home.warehouse, self.warehouses),
                self.draws.uniform(1, DISTRICTS),
            ),
            false => (home.warehouse, district),
        };
        Payment {
            warehouse: home.warehouse,
            district,
            customer_warehouse,
            customer_district,
            customer: self.customer(),
            amount: self.draws.uniform(100, 500_000),
            date,
        }
    }

    pub(super) fn order_status(&mut self, home: Terminal) -> OrderStatus {
        OrderStatus {
            warehouse: home.warehouse,
            district: self.draws.uniform(1, DISTRICTS),
            customer: self.customer(),
        }
    }

    pub(super) fn delivery(&mut self, home: Terminal, date: i64) -> Delivery {
        Delivery {
            warehouse: home.warehouse,
            carrier: self.draws.uniform(1, 10),
            date,
        }
    }

    pub(super) fn stock_level(&mut self, home: Terminal) -> StockLevel {
        StockLevel {
            warehouse: home.warehouse,
            district: home.district,
            threshold: self.draws.uniform(10, 20),
        }
    }

    /// Of any warehouse and district, each part of its orders as likely as another.
    pub(super) fn report(&mut self, orders: i64) -> Report {
        Report {
            warehouse: self.draws.uniform(1, self.warehouses),
            district: self.draws.uniform(1, DISTRICTS),
            first: self.draws.uniform(1, CUSTOMERS - orders + 1),
            orders,
        }
    }

    /// By surname in 60 of 100 cases, else by number.
    fn customer(&mut self) -> Customer {
        match self.draws.percent(60) {
            true => Customer::Surname(self.draws.nurand(&self.constants.surname)),
            false => Customer::Number(self.draws.nurand(&self.constants.customer)),
        }
    }
}

/// Any warehouse but `home`, each as likely as another.
fn other_warehouse(draws: &mut Draws, home: i64, warehouses: i64) -> i64 {
    let drawn = draws.uniform(1, warehouses - 1);
    drawn + i64::from(drawn >= home)
}

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;
    use crate::{Mix, mix::Deck, tpcc::kinds::Kind};

    fn inputs(warehouses: i64) -> Inputs {
        Inputs {
            draws: Draws::new(Seed::new(5)),
            constants: Constants::new(Seed::new(5)),
            warehouses,
        }
    }

    #[test]
    fn every_deck_holds_the_same_cards_in_another_order() {
        let mut draws = Draws::new(Seed::new(1));
        let mut deck = Deck::new(&Kind::ALL, &Mix::new(&CARDS));
        // Those without a card are not dealt.
        let mut orders = Vec::new();
        for _ in 0..50 {
            let dealt: Vec<Kind> = (0..23).map(|_| deck.deal(&mut draws)).collect();
            for (kind, count) in Kind::ALL.into_iter().zip(CARDS) {
                let found = dealt.iter().filter(|card| **card == kind).count();
                assert_eq!(found, count as usize);
            }
            orders.push(dealt);
        }
        orders.dedup();
        assert_eq!(orders.len(), 50);
    }

    #[test]
    fn other_warehouses_are_equally_likely() {
        let mut draws = Draws::new(Seed::new(2));
        for home in 1..=4 {
            let mut counts = [0i32; 5];
            for _ in 0..3000 {
                counts[other_warehouse(&mut draws, home, 4) as usize] += 1;
            }
            assert_eq!(counts[home as usize] + counts[0], 0);
            for other in (1..=4).filter(|other| *other != home) {
                // Standard deviation 26.
                assert!((counts[other as usize] - 1000).abs() < 130, "{counts:?}");
            }
        }
    }

    #[test]
    fn new_orders_keep_their_rules() {
        let mut inputs = inputs(3);
        let home = Terminal::at(14);
        assert_eq!((home.warehouse, home.district), (2, 5));
        let mut input = NewOrder::default();
        let mut rolled_back = 0;
        for _ in 0..20_000 {
            inputs.new_order(home, 7, &mut input);
            assert_eq!(input.warehouse, 2);
            assert!((1..=10).contains(&input.district));
            assert!((5..=15).contains(&input.lines.len()));
            let mut numbers: Vec<i64> = input.lines.iter().map(|line| line.number).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (1..=input.lines.len() as i64).collect::<Vec<_>>());
            let (last, others) = input.lines.split_last().unwrap();
            let key = |line: &Line| (line.supply_warehouse, line.item);
            assert!(others.is_sorted_by_key(key));
            if last.item == UNUSED_ITEM {
                rolled_back += 1;
                assert_eq!(last.number, input.lines.len() as i64);
            } else {
                assert!(input.lines.is_sorted_by_key(key));
            }
            for line in &input.lines {
                assert!((1..=10).contains(&line.quantity));
                assert!((1..=3).contains(&line.supply_warehouse));
                assert!((1..=UNUSED_ITEM).contains(&line.item));
            }
            assert!(others.iter().all(|line| line.item <= ITEMS));
        }
        // 200 wanted, standard deviation 14.
        assert!((130..270).contains(&rolled_back), "{rolled_back}");
    }

    #[test]
    fn payments_to_other_warehouses_choose_any_district() {
        let mut inputs = inputs(3);
        let home = Terminal::at(0);
        let mut other_districts = 0;
        let mut remote = 0;
        for _ in 0..20_000 {
            let input = inputs.payment(home, 7);
            assert!((100..=500_000).contains(&input.amount));
            if input.customer_warehouse == home.warehouse {
                assert_eq!(input.customer_district, input.district);
            } else {
                remote += 1;
                other_districts += i32::from(input.customer_district != input.district);
            }
        }
        // 3,000 wanted, standard deviation 50; nine in ten in another district.
        assert!((2750..3250).contains(&remote), "{remote}");
        let share = f64::from(other_districts) / f64::from(remote);
        assert!((0.87..0.93).contains(&share), "{share}");
    }

    #[test]
    fn a_single_warehouse_has_no_remote_one() {
        let mut inputs = inputs(1);
        let home = Terminal::at(3);
        let mut input = NewOrder::default();
        for _ in 0..2000 {
            inputs.new_order(home, 7, &mut input);
            assert!(input.lines.iter().all(|line| line.supply_warehouse == 1));
            assert_eq!(inputs.payment(home, 7).customer_warehouse, 1);
        }
    }

    #[test]
    fn thresholds_and_carriers_stay_in_range() {
        let mut inputs = inputs(2);
        let home = Terminal::at(19);
        for _ in 0..1000 {
            let stock_level = inputs.stock_level(home);
            assert_eq!((stock_level.warehouse, stock_level.district), (2, 10));
            assert!((10..=20).contains(&stock_level.threshold));
            assert!((1..=10).contains(&inputs.delivery(home, 7).carrier));
            assert!((1..=10).contains(&inputs.order_status(home).district));
            let report = inputs.report(LONG_REPORT_ORDERS);
            assert!((1..=2).contains(&report.warehouse) && (1..=10).contains(&report.district));
            assert!(report.first >= 1 && report.first + report.orders - 1 <= CUSTOMERS);
        }
    }
}
