//! Kinds of transactions as cards that are dealt.

use crate::{mix::Mix, random::Draws};

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
