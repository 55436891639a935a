//! Zip codes, towns, streets and tax rates: lists of our own, as long as the
//! specification's.

use std::fmt::Write;

use super::{
    keyed_draws::{Attribute, KeyedDraws},
    people,
    scaled::Scale,
};

/// Rows of ZIP_CODE (clause 2.6.1.7).
pub(super) const ZIP_CODES: i64 = 14_741;
/// Canada's among them, which come after the others. Our choice.
const CANADIAN: i64 = 741;
const AMERICAN: i64 = ZIP_CODES - CANADIAN;

/// States and the federal district, then provinces and territories: 64.
const DIVISIONS: [&str; 64] = [
    "AL", "AK", "AZ", "AR", "CA", "CO", "CT", "DE", "DC", "FL", "GA", "HI", "ID", "IL", "IN", "IA",
    "KS", "KY", "LA", "ME", "MD", "MA", "MI", "MN", "MS", "MO", "MT", "NE", "NV", "NH", "NJ", "NM",
    "NY", "NC", "ND", "OH", "OK", "OR", "PA", "RI", "SC", "SD", "TN", "TX", "UT", "VT", "VA", "WA",
    "WV", "WI", "WY", "AB", "BC", "MB", "NB", "NL", "NS", "NT", "NU", "ON", "PE", "QC", "SK", "YT",
];
/// Of these those of the United States.
const STATES: usize = 51;

/// Tax rates of all divisions: 311 (clause 2.6.1.7 has 320 with the countries').
const BRACKETS: i64 = 311;

/// Rates of countries in hundred-thousandths, by TX_ID (flat file of EGen, TAXRATE).
const COUNTRY_RATES: [(&str, i64); 9] = [
    ("CN1", 16_000),
    ("CN2", 22_000),
    ("CN3", 26_000),
    ("CN4", 29_000),
    ("US1", 15_000),
    ("US2", 27_500),
    ("US3", 30_500),
    ("US4", 35_500),
    ("US5", 39_100),
];

/// A zip code by its place in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Zip(i64);

impl Zip {
    pub(super) fn at(place: i64) -> Self {
        Self(place)
    }

    /// The zip code of an address. Some towns have many more addresses than others: in a
    /// random order, the first n have the square root of n's share. Our choice.
    pub(super) fn of_address(scale: &Scale, address: i64) -> Self {
        let fraction = KeyedDraws::new(scale.seed, Attribute::Zip, address).fraction();
        let turn = (fraction * fraction * ZIP_CODES as f64) as i64;
        // 14,741 is prime: each place comes once.
        Self((turn * 6151 + 97) % ZIP_CODES)
    }

    pub(super) fn is_canadian(self) -> bool {
        self.0 >= AMERICAN
    }

    /// ZC_CODE.
    pub(super) fn push_code(self, text: &mut String) {
        let _infallible = match self.is_canadian() {
            false => write!(text, "{:05}", 501 + self.0 * 7),
            true => {
                let place = self.0 - AMERICAN;
                let letter = |number: i64| char::from(b'A' + (number % 20) as u8);
                let (first, rest) = (place / 40, place % 40);
                let (third, digit) = (letter(rest / 2), rest % 2);
                write!(text, "{}1{third} {digit}B1", letter(first))
            }
        };
    }

    /// ZC_TOWN.
    pub(super) fn push_town(self, scale: &Scale, text: &mut String) {
        let mut draws = KeyedDraws::new(scale.seed, Attribute::Zip, -1 - self.0);
        text.push_str(people::surname(&mut draws).as_str());
        text.push_str(["ville", "ton", " Falls", " City"][draws.uniform(0, 3) as usize]);
    }

    fn division(self) -> usize {
        let all = DIVISIONS.len() as i64;
        let states = STATES as i64;
        let division = match self.is_canadian() {
            false => self.0 * states / AMERICAN,
            true => states + (self.0 - AMERICAN) * (all - states) / CANADIAN,
        };
        division as usize
    }

    /// ZC_DIV.
    pub(super) fn division_name(self) -> &'static str {
        DIVISIONS[self.division()]
    }

    /// AD_CTRY.
    pub(super) fn country(self) -> &'static str {
        if self.is_canadian() { "CANADA" } else { "USA" }
    }
}

/// A tax rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaxRate {
    /// A country's, by its place among them.
    Country(usize),
    /// A division's, by its place and the bracket from 1.
    Division(usize, i64),
}

/// Brackets of a division: five, and four of nine of them.
fn brackets(division: usize) -> i64 {
    let short = (DIVISIONS.len() as i64) * 5 - BRACKETS;
    5 - i64::from((division as i64) < short * 7 && division.is_multiple_of(7))
}

impl TaxRate {
    /// All, in the order of their TX_ID.
    pub(super) fn all() -> Vec<Self> {
        let countries = (0..COUNTRY_RATES.len()).map(Self::Country);
        let divisions = (0..DIVISIONS.len()).flat_map(|division| {
            (1..=brackets(division)).map(move |bracket| Self::Division(division, bracket))
        });
        let mut all: Vec<Self> = countries.chain(divisions).collect();
        all.sort_by_key(|rate| rate.id());
        all
    }

    /// The two of a customer: his country's and his division's.
    pub(super) fn of_customer(scale: &Scale, customer: i64) -> [Self; 2] {
        let zip = Zip::of_address(scale, scale.customer_address(customer));
        let mut draws = KeyedDraws::new(scale.seed, Attribute::TaxRates, customer);
        let country = match zip.is_canadian() {
            true => draws.uniform(0, 3),
            false => draws.uniform(4, 8),
        };
        let division = zip.division();
        [
            Self::Country(country as usize),
            Self::Division(division, draws.uniform(1, brackets(division))),
        ]
    }

    /// TX_ID.
    pub(super) fn push_id(self, text: &mut String) {
        let _infallible = match self {
            Self::Country(country) => text.write_str(COUNTRY_RATES[country].0),
            Self::Division(division, bracket) => write!(text, "{}{bracket}", DIVISIONS[division]),
        };
    }

    /// TX_ID as a new string.
    pub(super) fn id(self) -> String {
        let mut text = String::new();
        self.push_id(&mut text);
        text
    }

    /// TX_NAME.
    pub(super) fn name(self) -> String {
        match self {
            Self::Country(_) => format!("{} Income Tax for Nation", self.id()),
            Self::Division(..) => format!("{} Income Tax for Division", self.id()),
        }
    }

    /// TX_RATE in hundred-thousandths; a division's is chosen, 0 to 8% in the United
    /// States and 9 to 17% in Canada.
    pub(super) fn rate(self) -> i64 {
        match self {
            Self::Country(country) => COUNTRY_RATES[country].1,
            Self::Division(division, bracket) => {
                let step = 1000 + 100 * (division as i64 % 7);
                let first = if division < STATES { 0 } else { 9000 };
                first + step * (bracket - 1)
            }
        }
    }
}

/// AD_LINE1: a house and a street.
pub(super) fn push_street(draws: &mut KeyedDraws, text: &mut String) {
    let _infallible = write!(text, "{} ", draws.uniform(100, 25_000));
    text.push_str(people::surname(draws).as_str());
    text.push(' ');
    text.push_str(SUFFIXES[draws.uniform(0, SUFFIXES.len() as i64 - 1) as usize]);
}

/// Kinds of streets, each as likely as another: 17.
const SUFFIXES: [&str; 17] = [
    "Alley",
    "Avenue",
    "Boulevard",
    "Circle",
    "Court",
    "Crescent",
    "Drive",
    "Highway",
    "Lane",
    "Parkway",
    "Place",
    "Road",
    "Row",
    "Square",
    "Street",
    "Terrace",
    "Way",
];

#[cfg(test)]
mod tests {
    use octavo_units::Seed;

    use super::*;

    #[test]
    fn zip_codes_are_in_order_and_in_all_divisions() {
        let mut last = String::new();
        let mut divisions = std::collections::HashSet::new();
        for place in 0..ZIP_CODES {
            let mut code = String::new();
            Zip::at(place).push_code(&mut code);
            assert!(last < code && code.len() <= 12, "{last} {code}");
            assert_eq!(
                code.as_bytes()[0].is_ascii_digit(),
                !Zip::at(place).is_canadian()
            );
            last = code;
            divisions.insert(Zip::at(place).division());
        }
        assert_eq!(divisions.len(), DIVISIONS.len());
    }

    #[test]
    fn rates_are_320_of_other_names_each() {
        let all = TaxRate::all();
        assert_eq!(all.len(), 320);
        let ids: Vec<String> = all.iter().map(|rate| rate.id()).collect();
        assert!(ids.is_sorted_by(|one, other| one < other));
        assert!(all.iter().all(|rate| (0..=48_640).contains(&rate.rate())));
        let scale = Scale::new(Seed::new(1), 1000, 1, 500).unwrap();
        for customer in 0..1000 {
            let rates = TaxRate::of_customer(&scale, customer);
            assert!(rates.iter().all(|rate| all.contains(rate)));
        }
    }
}
