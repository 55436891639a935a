//! Customers: their tiers, accounts and what these trade, and who is chosen how often.
//!
//! All of it follows from numbers (EGen 1.14, `CustomerSelection.cpp`,
//! `CustomerAccountsAndPermissionsTable.h`, `HoldingsAndTradesTable.h`).

use super::{
    ids::{ACCOUNTS_MAX, IDENT_SHIFT, LOAD_UNIT, account, owner},
    keyed_draws::{Attribute, KeyedDraws},
    scaled::{BROKERS, Scale},
};
use crate::random::{Draws, fill_distinct};

/// The most securities that an account trades.
pub(super) const BASKET_MAX: usize = 18;

/// The load unit of a customer by his ordinal, as it enters the formulas: with what numbers
/// are shifted by.
const fn unit(customer: i64) -> i64 {
    IDENT_SHIFT / LOAD_UNIT + customer.div_euclid(LOAD_UNIT)
}

/// The place of a customer in the order of how often he is chosen within his tier.
pub(super) const fn place(customer: i64) -> i64 {
    (613 * (customer.rem_euclid(LOAD_UNIT) - 33 * (unit(customer) + 1))).rem_euclid(LOAD_UNIT)
}

/// The customer of a load unit, from 0, at a place: the inverse of [`place`].
pub(super) const fn at_place(load_unit: i64, place: i64) -> i64 {
    let first = load_unit * LOAD_UNIT;
    first + (677 * place + 33 * (unit(first) + 1)).rem_euclid(LOAD_UNIT)
}

/// A customer's tier, 1 to 3.
pub(super) const fn tier(customer: i64) -> usize {
    match place(customer) {
        ..200 => 1,
        200..800 => 2,
        _ => 3,
    }
}

/// How many accounts a customer has: 1 to 10, and 5,000 in each load unit.
pub(super) const fn accounts(customer: i64) -> i64 {
    let (place, unit) = (place(customer), unit(customer));
    match tier(customer) {
        1 => (3 * place + unit + 1).rem_euclid(200) % 4 + 1,
        2 => ((59 * place + 47 * (unit + 1)).rem_euclid(600) + 1) % 7 + 2,
        _ => ((23 * place + 17 * (unit + 1)).rem_euclid(200) + 2) % 6 + 5,
    }
}

/// The place of a customer within his load unit by chance: a tenth of all choices falls on
/// the fifth of the first tier, three tenths on that of the third, and within a tier later
/// places are chosen more often.
pub(super) fn choose_place(draws: &mut Draws) -> i64 {
    // From 0.0001 to 2000 in steps of 1e-9.
    let point = draws.uniform(100_000, 2_000_000_000_000) as f64 * 1e-9;
    let place = if point <= 200.0 {
        (22_500.0 + 500.0 * point).sqrt() - 151.0
    } else if point <= 1400.0 {
        (290_000.0 + 1000.0 * point).sqrt() - 501.0
    } else {
        149.0 + (500.0 * point - 277_500.0).sqrt()
    };
    (place.ceil() as i64).clamp(0, LOAD_UNIT - 1)
}

/// The exact share of choices that fall on a place, of 1,000 places.
pub(super) fn place_share(place: i64) -> f64 {
    let weight = match place {
        ..200 => (2 * place + 301) as f64 / 500.0,
        200..800 => (2 * place + 1001) as f64 / 1000.0,
        _ => (2 * place - 299) as f64 / 500.0,
    };
    weight / 2000.0
}

/// A broker of an account, by his ordinal: one of the load unit's.
pub(super) fn broker(scale: &Scale, account: i64) -> i64 {
    let (customer, _) = owner(account);
    let mut draws = KeyedDraws::new(scale.seed, Attribute::Account, account);
    customer.div_euclid(LOAD_UNIT) * BROKERS + draws.uniform(0, BROKERS - 1)
}

/// CA_TAX_ST: not taxed, taxed and withheld, taxed and not withheld.
pub(super) fn tax_status(scale: &Scale, account: i64) -> i64 {
    let mut draws = KeyedDraws::new(scale.seed, Attribute::Account, account);
    let _broker = draws.uniform(0, BROKERS - 1);
    match draws.uniform(1, 100) {
        ..=20 => 0,
        21..=70 => 1,
        _ => 2,
    }
}

/// Who else may trade with an account: none, one or two persons by their numbers.
pub(super) fn permitted(scale: &Scale, account: i64) -> ([i64; 2], usize) {
    let mut draws = KeyedDraws::new(scale.seed, Attribute::Permissions, account);
    let count = match draws.uniform(1, 100) {
        ..=60 => 0,
        61..=98 => 1,
        _ => 2,
    };
    let first = draws.uniform(1, PERSONS_MAX);
    let mut second = draws.uniform(1, PERSONS_MAX);
    while second == first {
        second = draws.uniform(1, PERSONS_MAX);
    }
    ([first, second], count)
}

/// Persons that are no customers have numbers up to this, below all of customers.
const PERSONS_MAX: i64 = 4024 << 20;

/// How many securities an account trades at least and at most, by its owner's tier and
/// accounts: ten on average.
const fn basket_sizes(tier: usize, accounts: i64) -> (i64, i64) {
    match (tier, accounts) {
        (1, 1) => (6, 14),
        (1, 2) => (4, 16),
        (1, _) => (2, 18),
        (2, ..=2) => (7, 13),
        (2, 3) => (5, 15),
        (2, 4) => (4, 16),
        (2, 5) => (3, 17),
        (2, _) => (2, 18),
        (_, ..=6) => (4, 16),
        (_, 7 | 8) => (3, 17),
        _ => (2, 18),
    }
}

/// The securities that an account trades: by their ordinals, others each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Basket {
    securities: [u32; BASKET_MAX],
    count: u8,
}

impl Basket {
    pub(super) fn new(scale: &Scale, customer: i64, place: i64) -> Self {
        let number = account(customer, place);
        let mut draws = KeyedDraws::new(scale.seed, Attribute::Basket, number);
        let (low, high) = basket_sizes(tier(customer), accounts(customer));
        let count = draws.uniform(low, high) as usize;
        let mut securities = [0; BASKET_MAX];
        fill_distinct(&mut securities[..count], || {
            draws.uniform(0, scale.securities() - 1) as u32
        });
        Self {
            securities,
            count: count as u8,
        }
    }

    pub(super) fn securities(&self) -> &[u32] {
        &self.securities[..usize::from(self.count)]
    }

    /// One of them, by its place.
    pub(super) fn choose(&self, draws: &mut Draws) -> usize {
        draws.position(0, self.securities().len() - 1)
    }
}

/// The customer of a watch list, by their ordinals (EGen 1.14,
/// `WatchListsAndItemsTable.h`, which numbers a customer's list 631 c + 97).
pub(super) const fn of_watch_list(list: i64) -> i64 {
    let first = list.div_euclid(LOAD_UNIT) * LOAD_UNIT;
    // 271 × 631 leaves 1 when divided by 1,000.
    first + (271 * (list.rem_euclid(LOAD_UNIT) - 97)).rem_euclid(LOAD_UNIT)
}

/// The ordinals of all accounts' numbers of a load unit, those that nobody has as well.
pub(super) const ACCOUNT_NUMBERS: i64 = LOAD_UNIT * ACCOUNTS_MAX;

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;

    #[test]
    fn each_load_unit_has_its_tiers_and_accounts() {
        for load_unit in [0, 1, 2, 9, 77, 4999] {
            let mut tiers = [0; 4];
            let mut of_tiers = [0; 4];
            for place in 0..LOAD_UNIT {
                let customer = at_place(load_unit, place);
                assert_eq!(super::place(customer), place);
                assert_eq!(customer.div_euclid(LOAD_UNIT), load_unit);
                tiers[tier(customer)] += 1;
                let accounts = accounts(customer);
                assert!((1..=ACCOUNTS_MAX).contains(&accounts));
                of_tiers[tier(customer)] += accounts;
            }
            assert_eq!(tiers, [0, 200, 600, 200]);
            assert_eq!(of_tiers, [0, 500, 3000, 1500]);
        }
    }

    #[test]
    fn chosen_places_follow_the_exact_shares() {
        let sum: f64 = (0..LOAD_UNIT).map(place_share).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        let mut draws = Draws::new(Seed::new(5));
        let mut counts = vec![0u32; LOAD_UNIT as usize];
        const N: u32 = 1_000_000;
        for _ in 0..N {
            counts[choose_place(&mut draws) as usize] += 1;
        }
        let chi_square: f64 = counts
            .iter()
            .zip(0..)
            .map(|(count, place)| {
                let wanted = place_share(place) * f64::from(N);
                (f64::from(*count) - wanted).powi(2) / wanted
            })
            .sum();
        // 999 degrees of freedom: above 1,170 once in 10,000 seeds.
        assert!(chi_square < 1170.0, "{chi_square}");
    }

    #[test]
    fn baskets_have_ten_securities_on_average() {
        let scale = Scale::new(Seed::new(1), 1000, 1, 500).unwrap();
        let (mut all, mut count, mut owned) = (0, 0, [0; 3]);
        for customer in 0..LOAD_UNIT {
            for place in 0..accounts(customer) {
                let basket = Basket::new(&scale, customer, place);
                let (low, high) = basket_sizes(tier(customer), accounts(customer));
                let mut securities = basket.securities().to_vec();
                assert!((low..=high).contains(&(securities.len() as i64)));
                securities.sort_unstable();
                securities.dedup();
                assert_eq!(securities.len(), basket.securities().len());
                all += securities.len();
                count += 1;
                owned[tax_status(&scale, account(customer, place)) as usize] += 1;
            }
        }
        assert_eq!(count, 5000);
        // 50,000, standard deviation about 300.
        assert!((48_800..51_200).contains(&all), "{all}");
        // 1,000, 2,500 and 1,500.
        assert!((880..1120).contains(&owned[0]), "{owned:?}");
        assert!((2350..2650).contains(&owned[1]), "{owned:?}");
    }
}
