//! An account's holding of a security: lots of shares, bought or sold short.

/// Shares left of one trade; negative when sold short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lot {
    /// H_T_ID.
    pub(super) trade: i64,
    pub(super) quantity: i64,
    /// In cents.
    pub(super) price: i64,
    /// H_DTS, in whatever time its owner counts.
    pub(super) moment: i64,
}

/// A lot that a trade changed: a row of HOLDING_HISTORY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LotChange {
    /// HH_H_T_ID.
    pub(super) lot: i64,
    pub(super) before: i64,
    pub(super) after: i64,
}

/// Lots that a trade changes at most: quantities are hundreds, and none is larger than 800.
pub(super) const CHANGED_MAX: usize = 9;

/// The effect of a trade on lots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Effect {
    changed: [LotChange; CHANGED_MAX],
    count: u8,
    /// What was paid for shares that are gone, and what was got for them, in cents.
    pub(super) bought: i64,
    pub(super) sold: i64,
}

impl Effect {
    pub(super) fn changed(&self) -> &[LotChange] {
        &self.changed[..usize::from(self.count)]
    }

    pub(super) fn push(&mut self, changed: LotChange) {
        if let Some(place) = self.changed.get_mut(usize::from(self.count)) {
            *place = changed;
            self.count += 1;
        }
    }

    /// Shares of a lot go, for `price` each.
    pub(super) fn close(&mut self, is_sell: bool, quantity: i64, lot_price: i64, price: i64) {
        let (bought, sold) = match is_sell {
            true => (lot_price, price),
            false => (price, lot_price),
        };
        self.bought += quantity * bought;
        self.sold += quantity * sold;
    }

    /// The profit, at least 0.
    pub(super) fn profit(&self) -> i64 {
        (self.sold - self.bought).max(0)
    }
}

/// Does a trade: it closes lots of the other sign, the newest first when `is_lifo` and else
/// the oldest, and what is left over is a new lot (clause 3.3.8).
pub(super) fn trade(lots: &mut Vec<Lot>, new: Lot, is_sell: bool, is_lifo: bool) -> Effect {
    let mut effect = Effect::default();
    let mut needed = new.quantity;
    while needed > 0 {
        let at = if is_lifo {
            lots.len().wrapping_sub(1)
        } else {
            0
        };
        let Some(lot) = lots.get_mut(at) else {
            break;
        };
        if (lot.quantity > 0) != is_sell {
            break;
        }
        let closed = needed.min(lot.quantity.abs());
        let after = lot.quantity - lot.quantity.signum() * closed;
        effect.push(LotChange {
            lot: lot.trade,
            before: lot.quantity,
            after,
        });
        effect.close(is_sell, closed, lot.price, new.price);
        needed -= closed;
        lot.quantity = after;
        if after == 0 {
            lots.remove(at);
        }
    }
    if needed > 0 {
        let quantity = if is_sell { -needed } else { needed };
        effect.push(LotChange {
            lot: new.trade,
            before: 0,
            after: quantity,
        });
        lots.push(Lot { quantity, ..new });
    }
    effect
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lot(trade: i64, quantity: i64, price: i64) -> Lot {
        Lot {
            trade,
            quantity,
            price,
            moment: trade,
        }
    }

    #[test]
    fn lots_are_closed_from_either_end_and_turned_into_debts() {
        let mut lots = Vec::new();
        trade(&mut lots, lot(1, 100, 2000), false, false);
        trade(&mut lots, lot(2, 400, 2100), false, true);
        trade(&mut lots, lot(3, 200, 2200), false, false);
        assert_eq!(
            lots,
            [lot(1, 100, 2000), lot(2, 400, 2100), lot(3, 200, 2200)]
        );
        // The oldest first.
        let effect = trade(&mut lots, lot(4, 200, 2500), true, false);
        assert_eq!(lots, [lot(2, 300, 2100), lot(3, 200, 2200)]);
        assert_eq!(effect.profit(), 100 * 500 + 100 * 400);
        // The newest first, and more than there is.
        let effect = trade(&mut lots, lot(5, 800, 2000), true, true);
        assert_eq!(lots, [lot(5, -300, 2000)]);
        assert_eq!(effect.profit(), 0);
        let changes: Vec<(i64, i64, i64)> = (effect.changed().iter())
            .map(|changed| (changed.lot, changed.before, changed.after))
            .collect();
        assert_eq!(changes, [(3, 200, 0), (2, 300, 0), (5, 0, -300)]);
        // A debt that is paid back for less is a profit.
        let effect = trade(&mut lots, lot(6, 100, 1900), false, false);
        assert_eq!(effect.profit(), 100 * 100);
        assert_eq!(lots, [lot(5, -200, 2000)]);
    }
}
