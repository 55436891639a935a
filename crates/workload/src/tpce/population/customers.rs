//! Rows of customers, their accounts and brokers: clauses 2.2.5 and 2.2.6.

use std::{fmt::Write, ops::ControlFlow};

use super::{Rows, of_unit};
use crate::{
    random::fill_distinct,
    tpce::{
        calendar::{DAY, civil, year_month_day},
        customers::{self, accounts, broker, permitted, tax_status, tier},
        ids::{LOAD_UNIT, account, ident},
        people::{MAIL_HOSTS, Person},
        places::TaxRate,
        scaled::BROKERS,
        securities::Symbol,
        trading::Trading,
    },
};

/// Of a hundred customers those of these ages on 2005-01-03, the youngest and oldest
/// included (EGen 1.14, `CustomerTable.cpp`).
const AGES: [(i64, i64, i64); 9] = [
    (5, 10, 18),
    (16, 19, 24),
    (17, 25, 34),
    (19, 35, 44),
    (16, 45, 54),
    (11, 55, 64),
    (8, 65, 74),
    (7, 75, 84),
    (1, 85, 99),
];

/// What accounts are for: not taxed, and taxed.
const UNTAXED: [&str; 11] = [
    "Traditional IRA",
    "Roth IRA",
    "College Savings",
    "Education Fund",
    "Health Savings",
    "Joint Pension",
    "Municipal Trust",
    "Pension Plan",
    "Rollover IRA",
    "Simple IRA",
    "Trust Fund",
];
const TAXED: [&str; 13] = [
    "Business Account",
    "Dividend Account",
    "Emergency Fund",
    "Family Account",
    "Growth Account",
    "House Fund",
    "Income Account",
    "Joint Account",
    "New Car Account",
    "Play Money",
    "Savings Account",
    "Single Account",
    "Vacation Account",
];

impl Rows<'_> {
    pub(super) fn brokers(&mut self, unit: i64) -> ControlFlow<()> {
        let mut totals = [(0, 0); BROKERS as usize];
        let mut trading = Trading::new(&self.scale, unit);
        while let Some(trade) = trading.next() {
            let broker = broker(&self.scale, trade.account).rem_euclid(BROKERS);
            let (trades, commissions) = &mut totals[broker as usize];
            *trades += 1;
            *commissions += trade.commission;
        }
        for (number, (trades, commissions)) in of_unit(unit, BROKERS).zip(totals) {
            self.integer(ident(number));
            self.text("ACTV");
            let seed = self.scale.seed;
            self.batch
                .push_text(|text| push_broker_name(seed, text, number));
            self.integer(trades);
            self.money(commissions);
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    pub(super) fn customers(&mut self, unit: i64) -> ControlFlow<()> {
        for customer in of_unit(unit, LOAD_UNIT) {
            let person = Person::new(self.scale.seed, ident(customer));
            self.integer(ident(customer));
            self.batch.push_text(|text| person.push_tax_ident(text));
            self.text("ACTV");
            self.text(person.last.as_str());
            self.text(person.first.as_str());
            self.batch
                .push_text(|text| text.push(char::from(person.middle)));
            self.text(if person.is_male { "M" } else { "F" });
            self.integer(tier(customer) as i64);
            let born = self.born();
            self.time(born);
            self.integer(ident(self.scale.customer_address(customer)));
            for extension in [25, 15, 5] {
                self.text("011");
                let area = self.draws.uniform(201, 989);
                self.batch.push_text(|text| {
                    let _infallible = write!(text, "{area}");
                });
                let draws = &mut self.draws;
                self.batch.push_text(|text| draws.n_string(text, 7));
                let has_extension = draws.percent(extension);
                self.batch.push_text(|text| {
                    if has_extension {
                        draws.n_string(text, 3);
                    }
                });
            }
            let hosts = MAIL_HOSTS.len();
            let first = self.draws.position(0, hosts - 1);
            let second = (first + self.draws.position(1, hosts - 1)) % hosts;
            self.batch.push_text(|text| person.push_mail(text, first));
            self.batch.push_text(|text| person.push_mail(text, second));
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    fn born(&mut self) -> i64 {
        let mut point = self.draws.uniform(1, 100);
        let mut brackets = AGES.into_iter();
        let bracket = brackets.find(|(percent, ..)| {
            point -= percent;
            point <= 0
        });
        let (_, youngest, oldest) = bracket.unwrap_or(AGES[0]);
        let (year, month, day) = year_month_day(civil(2005, 1, 3));
        let first = civil(year - oldest - 1, month, day) + DAY;
        let last = civil(year - youngest, month, day);
        first + self.draws.uniform(0, (last - first) / DAY) * DAY
    }

    pub(super) fn customer_tax_rates(&mut self, unit: i64) -> ControlFlow<()> {
        for customer in of_unit(unit, LOAD_UNIT) {
            let mut rates = TaxRate::of_customer(&self.scale, customer).map(TaxRate::id);
            rates.sort_unstable();
            for rate in rates {
                self.text(&rate);
                self.integer(ident(customer));
                self.end_row()?;
            }
        }
        ControlFlow::Continue(())
    }

    pub(super) fn accounts(&mut self, unit: i64) -> ControlFlow<()> {
        for customer in of_unit(unit, LOAD_UNIT) {
            let person = Person::new(self.scale.seed, ident(customer));
            for place in 0..accounts(customer) {
                let number = account(customer, place);
                let status = tax_status(&self.scale, number);
                self.integer(number);
                self.integer(ident(broker(&self.scale, number)));
                self.integer(ident(customer));
                let purposes = if status == 0 {
                    &UNTAXED[..]
                } else {
                    &TAXED[..]
                };
                let purpose = purposes[number.unsigned_abs() as usize % purposes.len()];
                self.batch.push_text(|text| {
                    person.push_name(text);
                    text.push(' ');
                    text.push_str(purpose);
                });
                self.integer(status);
                let amount = self.draws.uniform(0, 999_999_999);
                let is_debt = self.draws.percent(20);
                self.money(if is_debt { -amount } else { amount });
                self.end_row()?;
            }
        }
        ControlFlow::Continue(())
    }

    pub(super) fn permissions(&mut self, unit: i64) -> ControlFlow<()> {
        let seed = self.scale.seed;
        for customer in of_unit(unit, LOAD_UNIT) {
            for place in 0..accounts(customer) {
                let number = account(customer, place);
                let ([first, second], others) = permitted(&self.scale, number);
                let mut rows = [(ident(customer), "0000"), (first, "0001"), (second, "0011")].map(
                    |(person, rights)| {
                        let person = Person::new(seed, person);
                        let mut tax = String::new();
                        person.push_tax_ident(&mut tax);
                        (tax, rights, person)
                    },
                );
                let rows = &mut rows[..=others];
                rows.sort_by(|one, other| one.0.cmp(&other.0));
                for (tax, rights, person) in rows {
                    self.integer(number);
                    self.text(rights);
                    self.text(tax);
                    self.text(person.last.as_str());
                    self.text(person.first.as_str());
                    self.end_row()?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    pub(super) fn watch_lists(&mut self, unit: i64) -> ControlFlow<()> {
        for list in of_unit(unit, LOAD_UNIT) {
            self.integer(ident(list));
            self.integer(ident(customers::of_watch_list(list)));
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    pub(super) fn watch_items(&mut self, unit: i64) -> ControlFlow<()> {
        let mut watched = Vec::new();
        for list in of_unit(unit, LOAD_UNIT) {
            let count = self.draws.position(50, 150);
            watched.resize(count, 0);
            fill_distinct(&mut watched, || {
                self.draws.uniform(0, self.scale.securities() - 1)
            });
            watched.sort_unstable();
            for security in &watched {
                self.integer(ident(list));
                self.text(Symbol::new(&self.scale, *security).as_str());
                self.end_row()?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// B_NAME of a broker by his ordinal.
pub(in crate::tpce) fn push_broker_name(seed: octavo_units::Seed, text: &mut String, broker: i64) {
    let person = Person::new(seed, ident(broker) + 1_000_000);
    let middle = char::from(person.middle);
    let (first, last) = (person.first.as_str(), person.last.as_str());
    let _infallible = write!(text, "{first} {middle}. {last}");
}
