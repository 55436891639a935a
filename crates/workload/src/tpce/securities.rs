//! Securities and the companies that they are of: names of our own, each as in the
//! specification's lists one for a number.

use std::fmt::Write;

use super::scaled::{COMPANIES, SECURITIES, Scale};

/// An exchange (clause 2.2.7.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    Nyse,
    Nasdaq,
    Amex,
    Pcx,
}

impl Exchange {
    #[cfg(test)]
    const ALL: [Self; 4] = [Self::Nyse, Self::Nasdaq, Self::Amex, Self::Pcx];

    /// EX_ID.
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::Nyse => "NYSE",
            Self::Nasdaq => "NASDAQ",
            Self::Amex => "AMEX",
            Self::Pcx => "PCX",
        }
    }

    /// The exchange that lists a security, by its ordinal.
    pub(super) fn listing(security: i64) -> Self {
        let unit = security.div_euclid(SECURITIES);
        let place = (389 * security.rem_euclid(SECURITIES) + 17) % SECURITIES;
        let [nyse, nasdaq, amex, _] = of_unit(unit);
        match place {
            place if place < nyse => Self::Nyse,
            place if place < nyse + nasdaq => Self::Nasdaq,
            place if place < nyse + nasdaq + amex => Self::Amex,
            _ => Self::Pcx,
        }
    }

    /// How many securities are traded there, of so many load units.
    pub(super) fn securities(self, load_units: i64) -> i64 {
        (0..load_units)
            .map(|unit| of_unit(unit)[self as usize])
            .sum()
    }
}

/// Securities at each exchange up to the n-th load unit, of ten (EGen's flat file Exchange).
const CUMULATIVE: [[i64; 4]; 10] = [
    [153, 173, 189, 170],
    [307, 344, 360, 359],
    [491, 498, 534, 532],
    [688, 658, 714, 680],
    [859, 848, 875, 843],
    [1028, 1006, 1023, 1053],
    [1203, 1191, 1174, 1227],
    [1360, 1402, 1342, 1376],
    [1532, 1572, 1507, 1554],
    [1704, 1749, 1666, 1731],
];

/// Securities of a load unit at each exchange.
fn of_unit(unit: i64) -> [i64; 4] {
    let turn = unit.rem_euclid(10) as usize;
    let before = match turn {
        0 => [0; 4],
        _ => CUMULATIVE[turn - 1],
    };
    std::array::from_fn(|exchange| CUMULATIVE[turn][exchange] - before[exchange])
}

/// A security's symbol: letters, in the order of ordinals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Symbol {
    letters: [u8; Self::LETTERS_MAX],
    length: u8,
}

impl Symbol {
    const LETTERS_MAX: usize = 5;
    /// Four letters name as many.
    const OF_FOUR: i64 = 26 * 26 * 26 * 26;

    /// The symbol of the security with this ordinal.
    pub(super) fn new(scale: &Scale, security: i64) -> Self {
        let length = if scale.securities() <= Self::OF_FOUR {
            4
        } else {
            5
        };
        let mut letters = [0; Self::LETTERS_MAX];
        let mut left = security;
        for letter in letters[..length].iter_mut().rev() {
            *letter = b'A' + left.rem_euclid(26) as u8;
            left = left.div_euclid(26);
        }
        Self {
            letters,
            length: length as u8,
        }
    }

    /// The ordinal of the security with this symbol, if there is one.
    pub(super) fn security(scale: &Scale, symbol: &str) -> Option<i64> {
        let mut security = 0;
        for letter in symbol.bytes() {
            if !letter.is_ascii_uppercase() {
                return None;
            }
            security = security * 26 + i64::from(letter - b'A');
            if security >= scale.securities() {
                return None;
            }
        }
        Some(security)
    }

    pub(super) fn as_str(&self) -> &str {
        str::from_utf8(&self.letters[..usize::from(self.length)]).unwrap_or_default()
    }
}

/// The company of a security: the first ones of a load unit are the companies' common
/// shares, the others preferred shares of some.
pub(super) const fn company(security: i64) -> i64 {
    let (unit, place) = (
        security.div_euclid(SECURITIES),
        security.rem_euclid(SECURITIES),
    );
    let company = match place {
        ..COMPANIES => place,
        _ => (place - COMPANIES) * COMPANIES / (SECURITIES - COMPANIES),
    };
    unit * COMPANIES + company
}

/// S_ISSUE.
pub(super) const fn issue(security: i64) -> &'static str {
    match security.rem_euclid(SECURITIES) {
        ..COMPANIES => "COMMON",
        _ => "PERF_A",
    }
}

/// CO_NAME of a company by its ordinal.
pub(super) fn push_company_name(text: &mut String, company: i64) {
    const NAMES: i64 = (FIRST.len() * SECOND.len() * THIRD.len()) as i64;
    let (again, name) = (
        company.div_euclid(NAMES),
        company.rem_euclid(NAMES) as usize,
    );
    let first = FIRST[name % FIRST.len()];
    let second = SECOND[name / FIRST.len() % SECOND.len()];
    let third = THIRD[name / (FIRST.len() * SECOND.len())];
    let _infallible = write!(text, "{first} {second} {third}");
    if again > 0 {
        let _infallible = write!(text, " #{again}");
    }
}

/// S_NAME.
pub(super) fn push_security_name(text: &mut String, security: i64) {
    text.push_str(issue(security));
    text.push_str(" of ");
    push_company_name(text, company(security));
}

const FIRST: [&str; 25] = [
    "Amber", "Beacon", "Cedar", "Delta", "Eastern", "Falcon", "Granite", "Harbor", "Iron",
    "Juniper", "Keystone", "Lakeside", "Meridian", "Northern", "Orchard", "Pioneer", "Quarry",
    "Ridge", "Southern", "Timber", "Union", "Valley", "Western", "Yarrow", "Zenith",
];
const SECOND: [&str; 20] = [
    "Air",
    "Bearings",
    "Chemical",
    "Dairy",
    "Energy",
    "Foods",
    "Glass",
    "Health",
    "Insurance",
    "Logistics",
    "Machines",
    "Networks",
    "Optics",
    "Paper",
    "Rail",
    "Software",
    "Textiles",
    "Tools",
    "Water",
    "Wire",
];
const THIRD: [&str; 10] = [
    "Company",
    "Corporation",
    "Group",
    "Holdings",
    "Incorporated",
    "Industries",
    "International",
    "Limited",
    "Partners",
    "Works",
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use octavo_units::Seed;

    use super::*;

    #[test]
    fn symbols_are_in_the_order_of_securities() {
        for customers in [1000, 12_000] {
            let scale = Scale::new(Seed::new(1), customers, 1, 500).unwrap();
            let mut last = None;
            for security in 0..scale.securities() {
                let symbol = Symbol::new(&scale, security);
                assert!(last < Some(symbol));
                assert_eq!(Symbol::security(&scale, symbol.as_str()), Some(security));
                last = Some(symbol);
            }
            for unknown in ["ZZZZ", "x", "AAAÄ", "xxxxxxxxxxxxxxx"] {
                assert_eq!(Symbol::security(&scale, unknown), None);
            }
        }
        let large = Scale::new(Seed::new(1), 5_000_000, 1, 500).unwrap();
        let last = Symbol::new(&large, large.securities() - 1);
        assert_eq!(last.as_str().len(), 5);
    }

    #[test]
    fn companies_have_names_and_shares_of_their_own() {
        let name = |company| {
            let mut text = String::new();
            push_company_name(&mut text, company);
            text
        };
        let names: HashSet<String> = (0..12_000).map(name).collect();
        assert_eq!(names.len(), 12_000);
        assert!(names.iter().all(|name| name.len() <= 60));
        let issues: HashSet<(i64, &str)> = (0..2 * SECURITIES)
            .map(|security| (company(security), issue(security)))
            .collect();
        assert_eq!(issues.len() as i64, 2 * SECURITIES);
        assert_eq!(company(SECURITIES), COMPANIES);
    }

    #[test]
    fn exchanges_have_as_many_securities_as_they_say() {
        for units in [1, 3, 10, 11] {
            let mut counts = [0; 4];
            for security in 0..units * SECURITIES {
                counts[Exchange::listing(security) as usize] += 1;
            }
            assert_eq!(
                counts,
                Exchange::ALL.map(|exchange| exchange.securities(units))
            );
        }
        assert_eq!(Exchange::Pcx.securities(11), 1731 + 170);
    }
}
