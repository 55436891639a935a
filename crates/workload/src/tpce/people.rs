//! Persons by number: their names, sex and tax numbers.
//!
//! The specification's names are lists with frequencies, which may not be copied. Here as
//! many names are spelled from syllables, and the n-th most frequent one is as frequent as
//! 1 / (n + 8), which is chosen: the first surname has 1.3%, the first hundred 28%.

use std::fmt::Write;

use octavo_units::Seed;

use super::keyed_draws::{Attribute, KeyedDraws};

/// Surnames of EGen 1.14.
const SURNAMES: u32 = 88_799;
/// Names of women and of men there.
const FEMALE_NAMES: u32 = 4275;
const MALE_NAMES: u32 = 1219;

/// What the frequency of a name falls from.
const RANK_OFFSET: f64 = 8.0;

/// A name as it is spelled: no memory is needed for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    letters: [u8; Self::LETTERS_MAX],
    length: u8,
}

impl Name {
    const LETTERS_MAX: usize = 16;

    pub(super) fn as_str(&self) -> &str {
        // Made of the letters below alone.
        str::from_utf8(&self.letters[..usize::from(self.length)]).unwrap_or_default()
    }

    /// The name of this rank, from 0: other ranks are spelled in other ways.
    fn of_rank(rank: u32, endings: &[&str]) -> Self {
        let mut name = Self {
            letters: [0; Self::LETTERS_MAX],
            length: 0,
        };
        let endings_count = endings.len() as u32;
        let (mut left, ending) = (rank / endings_count, rank % endings_count);
        loop {
            let onset = ONSETS[(left % ONSETS.len() as u32) as usize];
            left /= ONSETS.len() as u32;
            let vowel = VOWELS[(left % VOWELS.len() as u32) as usize];
            left /= VOWELS.len() as u32;
            name.push(onset);
            name.push(vowel);
            if left == 0 {
                break;
            }
            left -= 1;
        }
        name.push(endings[ending as usize]);
        name.letters[0] = name.letters[0].to_ascii_uppercase();
        name
    }

    fn push(&mut self, part: &str) {
        for letter in part.bytes() {
            self.letters[usize::from(self.length)] = letter;
            self.length += 1;
        }
    }
}

const ONSETS: [&str; 16] = [
    "b", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w",
];
const VOWELS: [&str; 5] = ["a", "e", "i", "o", "u"];
const SURNAME_ENDINGS: [&str; 8] = ["n", "ll", "rd", "sson", "ck", "mer", "nt", "s"];
const FEMALE_ENDINGS: [&str; 4] = ["na", "lia", "tte", "ra"];
const MALE_ENDINGS: [&str; 4] = ["n", "rt", "c", "ld"];

/// A rank from 0 of `ranks`, with the frequencies of the module.
fn rank(draws: &mut KeyedDraws, ranks: u32) -> u32 {
    // The inverse of the integral of 1 / (rank + offset).
    let span = ((f64::from(ranks) + RANK_OFFSET) / RANK_OFFSET).ln();
    let rank = RANK_OFFSET * (draws.fraction() * span).exp() - RANK_OFFSET;
    (rank as u32).min(ranks - 1)
}

/// A surname.
pub(super) fn surname(draws: &mut KeyedDraws) -> Name {
    Name::of_rank(rank(draws, SURNAMES), &SURNAME_ENDINGS)
}

/// A person's names and sex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Person {
    number: i64,
    seed: Seed,
    pub(super) is_male: bool,
    pub(super) first: Name,
    pub(super) last: Name,
    pub(super) middle: u8,
}

impl Person {
    /// The person with this number, a customer or another.
    pub(super) fn new(seed: Seed, number: i64) -> Self {
        let mut draws = KeyedDraws::new(seed, Attribute::Person, number);
        let is_male = draws.percent(49);
        let last = surname(&mut draws);
        let first = match is_male {
            true => Name::of_rank(rank(&mut draws, MALE_NAMES), &MALE_ENDINGS),
            false => Name::of_rank(rank(&mut draws, FEMALE_NAMES), &FEMALE_ENDINGS),
        };
        Self {
            number,
            seed,
            is_male,
            first,
            last,
            middle: b'A' + draws.uniform(0, 25) as u8,
        }
    }

    /// First name, blank, last name.
    pub(super) fn push_name(&self, text: &mut String) {
        text.push_str(self.first.as_str());
        text.push(' ');
        text.push_str(self.last.as_str());
    }

    /// The tax number: digits, and letters at five places (EGen 1.14, `Person.h`:
    /// `nnnaannnnaannn`).
    pub(super) fn push_tax_ident(&self, text: &mut String) {
        let mut draws = KeyedDraws::new(self.seed, Attribute::TaxIdent, self.number);
        for form in "nnnaannnnaannn".chars() {
            text.push(match form {
                'n' => char::from(b'0' + draws.uniform(0, 9) as u8),
                _ => char::from(b'A' + draws.uniform(0, 25) as u8),
            });
        }
    }

    /// A mail address at one of six hosts.
    pub(super) fn push_mail(&self, text: &mut String, host: usize) {
        let initial = &self.first.as_str()[..1];
        let _infallible = write!(text, "{initial}{}@{}", self.last.as_str(), MAIL_HOSTS[host]);
    }
}

/// Where customers get their mail: of the second address Data-Maintenance changes the host
/// to one of the last two.
pub(super) const MAIL_HOSTS: [&str; 6] = [
    "alpha.example",
    "bravo.example",
    "charlie.example",
    "delta.example",
    "earthlink.com",
    "mindspring.com",
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_of_ranks_differ_and_fit_their_columns() {
        for (ranks, endings, max) in [
            (SURNAMES, &SURNAME_ENDINGS[..], 25),
            (FEMALE_NAMES, &FEMALE_ENDINGS[..], 20),
            (MALE_NAMES, &MALE_ENDINGS[..], 20),
        ] {
            let names: HashSet<String> = (0..ranks)
                .map(|rank| Name::of_rank(rank, endings).as_str().to_owned())
                .collect();
            assert_eq!(names.len(), ranks as usize);
            assert!(names.iter().all(|name| (2..=max).contains(&name.len())));
        }
    }

    #[test]
    fn the_first_names_are_as_frequent_as_said() {
        let mut counts = vec![0u32; SURNAMES as usize];
        let mut draws = KeyedDraws::new(Seed::new(1), Attribute::Person, 0);
        for _ in 0..100_000 {
            counts[rank(&mut draws, SURNAMES) as usize] += 1;
        }
        // 1.2% of 100,000, standard deviation 35.
        assert!((1050..1420).contains(&counts[0]), "{}", counts[0]);
        let first_hundred: u32 = counts[..100].iter().sum();
        assert!((27_000..29_000).contains(&first_hundred), "{first_hundred}");
    }

    #[test]
    fn a_person_is_always_the_same() {
        let seed = Seed::new(3);
        let (one, again) = (Person::new(seed, 7), Person::new(seed, 7));
        assert_eq!(one, again);
        let mut tax = String::new();
        one.push_tax_ident(&mut tax);
        let form: String = tax
            .chars()
            .map(|c| if c.is_ascii_digit() { 'n' } else { 'a' })
            .collect();
        assert_eq!(form, "nnnaannnnaannn");
        let males = (0..10_000).filter(|number| Person::new(seed, *number).is_male);
        // 4,900, standard deviation 50.
        assert!((4700..5100).contains(&males.count()));
    }
}
