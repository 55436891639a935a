//! Rows that trades leave: clause 2.2.6, and holdings of clause 2.2.5.

use std::ops::ControlFlow;

use super::Rows;
use crate::tpce::{
    calendar::{DAY, date, day_of},
    ids::ident,
    people::Person,
    securities::{Symbol, push_security_name},
    trade_kind::TradeKind,
    trading::{Trade, Trading},
};

impl Rows<'_> {
    /// Each trade of a load unit, in the order of T_ID.
    fn each(
        &mut self,
        unit: i64,
        mut row: impl FnMut(&mut Self, &Trade) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut trading = Trading::new(&self.scale, unit);
        while let Some(trade) = trading.next() {
            row(self, &trade)?;
        }
        ControlFlow::Continue(())
    }

    pub(super) fn trades(&mut self, unit: i64) -> ControlFlow<()> {
        self.each(unit, |rows, trade| {
            rows.integer(trade.id);
            rows.time(date(trade.done));
            rows.text("CMPT");
            rows.text(trade.kind.id());
            rows.integer(trade.is_cash.into());
            rows.text(Symbol::new(&rows.scale, trade.security).as_str());
            rows.integer(trade.quantity);
            rows.money(trade.bid);
            rows.integer(trade.account);
            let owner = Person::new(rows.scale.seed, ident(trade.customer));
            rows.batch.push_text(|text| owner.push_name(text));
            rows.money(trade.price);
            rows.money(trade.charge);
            rows.money(trade.commission);
            rows.money(trade.tax);
            rows.integer(trade.is_lifo.into());
            rows.end_row()
        })
    }

    pub(super) fn trade_history(&mut self, unit: i64) -> ControlFlow<()> {
        self.each(unit, |rows, trade| {
            // In the order of the key.
            let pending = (!trade.kind.is_market()).then_some(("PNDG", trade.ordered));
            let done = ("CMPT", trade.done);
            let submitted = ("SBMT", trade.submitted);
            for (status, moment) in [Some(done), pending, Some(submitted)].into_iter().flatten() {
                rows.integer(trade.id);
                rows.time(date(moment));
                rows.text(status);
                rows.end_row()?;
            }
            ControlFlow::Continue(())
        })
    }

    pub(super) fn settlements(&mut self, unit: i64) -> ControlFlow<()> {
        self.each(unit, |rows, trade| {
            rows.integer(trade.id);
            rows.text(if trade.is_cash {
                "Cash Account"
            } else {
                "Margin"
            });
            rows.time(day_of(date(trade.done)) + 2 * DAY);
            rows.money(trade.settled());
            rows.end_row()
        })
    }

    pub(super) fn cash_transactions(&mut self, unit: i64) -> ControlFlow<()> {
        self.each(unit, |rows, trade| {
            if !trade.is_cash {
                return ControlFlow::Continue(());
            }
            rows.integer(trade.id);
            rows.time(date(trade.done));
            rows.money(trade.settled());
            let (kind, quantity, security) = (trade.kind, trade.quantity, trade.security);
            rows.batch.push_text(|text| {
                push_cash_name(text, kind, quantity);
                push_security_name(text, security);
            });
            rows.end_row()
        })
    }

    pub(super) fn holding_history(&mut self, unit: i64) -> ControlFlow<()> {
        let mut changes = Vec::new();
        self.each(unit, |rows, trade| {
            changes.clear();
            changes.extend_from_slice(trade.effect.changed());
            changes.sort_unstable_by_key(|changed| changed.lot);
            for changed in &changes {
                rows.integer(changed.lot);
                rows.integer(trade.id);
                rows.integer(changed.before);
                rows.integer(changed.after);
                rows.end_row()?;
            }
            ControlFlow::Continue(())
        })
    }

    pub(super) fn holding_summaries(&mut self, unit: i64) -> ControlFlow<()> {
        let trading = self.all_done(unit);
        for (account, security, lots) in trading.holdings() {
            self.integer(account);
            self.text(Symbol::new(&self.scale, security).as_str());
            self.integer(lots.iter().map(|lot| lot.quantity).sum());
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    pub(super) fn holdings(&mut self, unit: i64) -> ControlFlow<()> {
        for (account, security, lot) in self.all_done(unit).lots() {
            self.integer(lot.trade);
            self.integer(account);
            self.text(Symbol::new(&self.scale, security).as_str());
            self.time(date(lot.moment));
            self.money(lot.price);
            self.integer(lot.quantity);
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    fn all_done(&self, unit: i64) -> Trading {
        let mut trading = Trading::new(&self.scale, unit);
        while trading.next().is_some() {}
        trading
    }
}

/// CT_NAME up to the security's name.
fn push_cash_name(text: &mut String, kind: TradeKind, quantity: i64) {
    use std::fmt::Write;
    let _infallible = write!(text, "{} {quantity} shares of ", kind.name());
}
