//! Mixes: the shares of a workload's kinds of transactions, and a deck of cards with exactly
//! these shares.

use std::fmt;

use crate::{random::Draws, transaction::TransactionKind};

/// The weight of each kind of transaction, in the order of
/// [`crate::Workload::transactions`]. A kind's share is its weight out of
/// their sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix {
    weights: Vec<u32>,
}

/// Why a mix was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MixError {
    /// A part is not a name and a weight.
    #[error("mix '{0}' is not possible: write it like {1}")]
    Form(String, String),
    /// No kind has this name.
    #[error("mix '{0}' is not possible: the kinds of transactions are {1}")]
    UnknownKind(String, String),
    /// A kind is named twice.
    #[error("mix '{0}' is not possible: name {1} once")]
    Twice(String, String),
    /// It has only kinds that follow from others.
    #[error("mix '{0}' is not possible: name a kind that does not follow from others, such as {1}")]
    Follows(String, String),
    /// All weights are zero, or they are too large together.
    #[error("mix '{0}' is not possible: the weights must sum to 1 to {max}", max = Mix::SUM_MAX)]
    Sum(String),
}

impl Mix {
    /// The largest sum of weights: enough for hundredths of a percent.
    pub const SUM_MAX: u32 = 10_000;

    /// The mix with these weights, one a kind.
    ///
    /// # Panics
    /// When they do not sum to 1 to [`Self::SUM_MAX`].
    pub fn new(weights: &[u32]) -> Self {
        let mix = Self {
            weights: weights.to_vec(),
        };
        assert!(mix.is_possible(), "the weights {weights:?} sum badly");
        mix
    }

    /// The mix with these weights, which may come from anywhere; `None` where they sum badly.
    pub(crate) fn of_weights(weights: Vec<u32>) -> Option<Self> {
        Some(Self { weights }).filter(Self::is_possible)
    }

    /// Reads `name=weight,name=weight`; kinds that are not named have weight
    /// 0. Names are those of `kinds` in any case.
    ///
    /// # Errors
    /// When it is not of this form, names a kind twice or one that there is
    /// not, or the weights do not sum to 1 to [`Self::SUM_MAX`].
    pub fn parse(text: &str, kinds: &[TransactionKind]) -> Result<Self, MixError> {
        let names = || {
            let names: Vec<String> = kinds.iter().map(|kind| flag_name(kind.name)).collect();
            names.join(", ")
        };
        let form = || {
            let example: Vec<String> = kinds
                .iter()
                .take(2)
                .map(|kind| format!("{}=50", flag_name(kind.name)))
                .collect();
            MixError::Form(text.into(), example.join(","))
        };
        let mut weights = vec![None; kinds.len()];
        for part in text.split(',') {
            let (name, weight) = part.split_once('=').ok_or_else(form)?;
            let name = flag_name(name.trim());
            let kind = kinds
                .iter()
                .position(|kind| flag_name(kind.name) == name)
                .ok_or_else(|| MixError::UnknownKind(text.into(), names()))?;
            let weight = weight.trim().parse().map_err(|_| form())?;
            if weights[kind].replace(weight).is_some() {
                return Err(MixError::Twice(text.into(), name));
            }
        }
        let mix = Self {
            weights: weights.into_iter().map(Option::unwrap_or_default).collect(),
        };
        if mix.is_possible() {
            Ok(mix)
        } else {
            Err(MixError::Sum(text.into()))
        }
    }

    fn is_possible(&self) -> bool {
        let sum: u64 = self.weights.iter().map(|weight| u64::from(*weight)).sum();
        (1..=u64::from(Self::SUM_MAX)).contains(&sum)
    }

    /// The weights in the order of the kinds.
    pub fn weights(&self) -> &[u32] {
        &self.weights
    }

    /// The sum of all weights.
    pub fn sum(&self) -> u32 {
        self.weights.iter().sum()
    }

    /// The share of a kind, 0 to 1.
    pub fn share(&self, kind: usize) -> f64 {
        f64::from(self.weights[kind]) / f64::from(self.sum())
    }

    /// A kind, drawn independently of those before.
    #[inline]
    pub(crate) fn draw(&self, draws: &mut Draws) -> usize {
        let point = draws.uniform(0, i64::from(self.sum()) - 1);
        self.kind_at(point)
    }

    /// The kind that `point`, below [`Self::sum`], falls on.
    fn kind_at(&self, mut point: i64) -> usize {
        for (kind, &weight) in self.weights.iter().enumerate() {
            let weight = i64::from(weight);
            if point < weight {
                return kind;
            }
            point -= weight;
        }
        unreachable!("the point is below the sum")
    }

    /// The mix as [`Self::parse`] reads it.
    pub fn describe(&self, kinds: &[TransactionKind]) -> impl fmt::Display {
        let parts: Vec<String> = kinds
            .iter()
            .zip(&self.weights)
            .filter(|(_, weight)| **weight > 0)
            .map(|(kind, weight)| format!("{}={weight}", flag_name(kind.name)))
            .collect();
        parts.join(",")
    }
}

/// A kind's name as flags write it: lower case, a dash for each blank.
fn flag_name(name: &str) -> String {
    name.to_ascii_lowercase().replace([' ', '_'], "-")
}

/// Cards that are dealt one by one and shuffled again when they run out, so that as many
/// transactions as there are cards have the mix exactly (TPC-C, clause 5.2.4.2).
#[derive(Debug)]
pub(crate) struct Deck<K> {
    cards: Vec<K>,
    next: usize,
}

impl<K: Copy> Deck<K> {
    /// A deck with as many cards of each of `kinds` as the mix gives weight.
    pub(crate) fn new(kinds: &[K], mix: &Mix) -> Self {
        let cards: Vec<K> = kinds
            .iter()
            .zip(mix.weights())
            .flat_map(|(kind, weight)| std::iter::repeat_n(*kind, *weight as usize))
            .collect();
        Self {
            next: cards.len(),
            cards,
        }
    }

    pub(crate) fn deal(&mut self, draws: &mut Draws) -> K {
        if self.next == self.cards.len() {
            draws.shuffle(&mut self.cards);
            self.next = 0;
        }
        let card = self.cards[self.next];
        self.next += 1;
        card
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [TransactionKind; 3] = [
        TransactionKind::plain("New-Order"),
        TransactionKind::plain("Stock Level"),
        TransactionKind::plain("c"),
    ];

    #[test]
    fn mixes_are_read_by_name_and_written_back() {
        let mix = Mix::parse("stock-level=1, NEW-ORDER=3", &KINDS).unwrap();
        assert_eq!(mix.weights(), [3, 1, 0]);
        assert_eq!(mix.share(0), 0.75);
        let text = mix.describe(&KINDS).to_string();
        assert_eq!(text, "new-order=3,stock-level=1");
        assert_eq!(Mix::parse(&text, &KINDS), Ok(mix));
    }

    #[test]
    fn refusals_say_what_is_possible() {
        for (text, reason) in [
            (
                "d=1",
                "the kinds of transactions are new-order, stock-level, c",
            ),
            ("c", "write it like new-order=50,stock-level=50"),
            ("c=-1", "write it like"),
            ("c=1,New-Order=2,c=1", "name c once"),
            ("c=0,c=0", "name c once"),
            ("c=0", "must sum to 1 to 10000"),
            ("c=4294967295,new-order=1", "must sum to 1 to 10000"),
        ] {
            let error = Mix::parse(text, &KINDS).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn every_point_falls_on_its_kind() {
        let mix = Mix::new(&[2, 0, 1]);
        let kinds: Vec<usize> = (0..i64::from(mix.sum()))
            .map(|point| mix.kind_at(point))
            .collect();
        assert_eq!(kinds, [0, 0, 2]);
    }
}
