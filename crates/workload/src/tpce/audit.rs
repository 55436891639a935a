//! Audit of what customers asked for, counted at the first attempt.

use super::{
    customers::place_share,
    ids::{LOAD_UNIT, TRADE_SHIFT},
    inputs::{
        CustomerPosition, MarketWatch, SecurityDetail, TradeOrder, TradeSelection,
        WatchedSecurities, trade_numbers,
    },
    kinds::{KINDS, Kind, TRANSACTIONS},
    nurand::NuRnd,
    scaled::Scale,
    trade_kind::{QUANTITIES, TradeKind},
};
use crate::{
    Audit, AuditDistribution, AuditLine, AuditRule, Mix,
    audit::{range_of, range_shares},
};

/// Ranges of customers by how often they are chosen, and of securities.
const RANGES: usize = 20;

/// A property of inputs: its name, its count, and the share that the specification wants.
type Property = (&'static str, u64, f64);

/// Counts of one client.
#[derive(Debug, Default)]
pub(super) struct Counts {
    ran: [u64; KINDS],
    positions_by_tax_id: u64,
    positions_with_history: u64,
    /// By industry, by list and by account.
    watches: [u64; 3],
    whole_news: u64,
    lookups: [u64; 4],
    updates: [u64; 3],
    orders_of_shared: u64,
    orders_by_others: u64,
    orders_by_company: u64,
    orders_on_margin: u64,
    orders_lifo: u64,
    rolled_back: u64,
    kinds: [u64; 5],
    quantities: [u64; 4],
    customers: [u64; RANGES],
    securities: [u64; RANGES],
    trades: [u64; NuRnd::BINS],
}

impl Counts {
    /// A transaction of any kind; its inputs are counted beside it.
    pub(super) fn ran(&mut self, kind: Kind) {
        self.ran[kind as usize] += 1;
    }

    fn customer(&mut self, customer: i64) {
        self.customers[range_of_place(super::customers::place(customer))] += 1;
    }

    pub(super) fn customer_position(&mut self, input: &CustomerPosition) {
        self.positions_by_tax_id += u64::from(input.by_tax_id);
        self.positions_with_history += u64::from(input.history.is_some());
        self.customer(input.customer);
    }

    pub(super) fn market_watch(&mut self, input: &MarketWatch) {
        self.watches[match input.watched {
            WatchedSecurities::Industry(..) => 0,
            WatchedSecurities::List(_) => 1,
            WatchedSecurities::Account(_) => 2,
        }] += 1;
    }

    pub(super) fn security_detail(&mut self, scale: &Scale, input: &SecurityDetail) {
        self.whole_news += u64::from(input.with_whole_news);
        let all = scale.securities().unsigned_abs();
        self.securities[range_of(input.security.unsigned_abs(), all, RANGES as u64)] += 1;
    }

    pub(super) fn trade_lookup(&mut self, scale: &Scale, selection: &TradeSelection) {
        self.lookups[self.frame(scale, selection)] += 1;
    }

    pub(super) fn trade_update(&mut self, scale: &Scale, selection: &TradeSelection) {
        let frame = self.frame(scale, selection);
        self.updates[frame.min(2)] += 1;
    }

    fn frame(&mut self, scale: &Scale, selection: &TradeSelection) -> usize {
        match selection {
            TradeSelection::Trades(trades) => {
                let of = trade_numbers(scale);
                // The first one was drawn without regard to others.
                self.trades[of.bin(trades[0] - TRADE_SHIFT)] += 1;
                0
            }
            TradeSelection::Account { .. } => 1,
            TradeSelection::Security { .. } => 2,
            TradeSelection::First { .. } => 3,
        }
    }

    pub(super) fn trade_order(&mut self, input: &TradeOrder) {
        let owner = super::ids::ident(input.customer);
        self.orders_of_shared += u64::from(input.has_others);
        self.orders_by_others += u64::from(input.executor != owner);
        self.orders_by_company += u64::from(input.by_company_name);
        self.orders_on_margin += u64::from(input.on_margin);
        self.orders_lifo += u64::from(input.is_lifo);
        self.rolled_back += u64::from(input.rolls_back);
        self.kinds[input.kind as usize] += 1;
        let quantity = QUANTITIES
            .iter()
            .position(|quantity| *quantity == input.quantity);
        self.quantities[quantity.unwrap_or_default()] += 1;
        self.customer(input.customer);
    }

    /// The audit of these counts. `due` orders were to be completed: fewer than the mix has
    /// until the first limits are reached, which takes 900 s at the nominal rate.
    pub(super) fn audit(&self, scale: &Scale, mix: &Mix, due: u64, trade_shares: &[f64]) -> Audit {
        let mut lines = self.mix_lines(mix, due);
        lines.extend(self.input_lines());
        Audit {
            lines,
            distributions: self.distributions(scale, trade_shares),
            ..Audit::default()
        }
    }

    /// How often each kind of transaction ran, in relation to all that customers ask for.
    fn mix_lines(&self, mix: &Mix, due: u64) -> Vec<AuditLine> {
        let ran = |kind: Kind| self.ran[kind as usize];
        let asked = Kind::ALL.into_iter().filter(|kind| kind.is_of_customers());
        let all: u64 = asked.clone().map(ran).sum();
        let sum: f64 = asked.clone().map(|kind| mix.share(kind as usize)).sum();
        let mut lines: Vec<AuditLine> = asked
            .map(|kind| {
                let name = TRANSACTIONS[kind as usize].name;
                let name = format!("{name} among what customers ask for");
                AuditLine::independent(&name, ran(kind), all, mix.share(kind as usize) / sum)
            })
            .collect();
        let results = ran(Kind::TradeResult);
        for (name, count, wanted) in [
            (
                "Trade-Results, for orders that are due",
                results,
                due as f64,
            ),
            (
                "Market-Feeds, for ten results each",
                ran(Kind::MarketFeed),
                results as f64 / 10.0,
            ),
        ] {
            let wanted = if all == 0 { 0.0 } else { wanted / all as f64 };
            lines.push(AuditLine::independent(name, count, all, wanted));
        }
        lines
    }

    /// How often transactions had each property that inputs draw.
    fn input_lines(&self) -> Vec<AuditLine> {
        let [by_industry, by_list, by_account] = self.watches;
        let properties: [(Kind, &str, &[Property]); 6] = [
            (
                Kind::CustomerPosition,
                "Customer-Positions",
                &[
                    ("by tax number", self.positions_by_tax_id, 0.5),
                    ("with history", self.positions_with_history, 0.5),
                ],
            ),
            (
                Kind::MarketWatch,
                "Market-Watches",
                &[
                    ("of an industry", by_industry, 0.05),
                    ("of a list", by_list, 0.6),
                    ("of an account", by_account, 0.35),
                ],
            ),
            (
                Kind::SecurityDetail,
                "Security-Details",
                &[("with whole news", self.whole_news, 0.01)],
            ),
            (
                Kind::TradeLookup,
                "Trade-Lookups",
                &[
                    ("of known trades", self.lookups[0], 0.3),
                    ("of an account", self.lookups[1], 0.3),
                    ("of a security", self.lookups[2], 0.3),
                    ("of a first trade", self.lookups[3], 0.1),
                ],
            ),
            (
                Kind::TradeUpdate,
                "Trade-Updates",
                &[
                    ("of known trades", self.updates[0], 0.33),
                    ("of an account", self.updates[1], 0.33),
                    ("of a security", self.updates[2], 0.34),
                ],
            ),
            (
                Kind::TradeOrder,
                "Trade-Orders",
                &[
                    ("rolled back", self.rolled_back, 1.0 / 101.0),
                    ("by company and issue", self.orders_by_company, 0.4),
                    ("on margin", self.orders_on_margin, 0.08),
                    ("that sell the newest first", self.orders_lifo, 0.35),
                    ("by others", self.orders_by_others, 0.1),
                ],
            ),
        ];
        let mut lines: Vec<AuditLine> = properties
            .into_iter()
            .flat_map(|(kind, called, properties)| {
                let total = self.ran[kind as usize];
                properties.iter().map(move |(property, count, wanted)| {
                    AuditLine::independent(&format!("{called} {property}"), *count, total, *wanted)
                })
            })
            .collect();
        if let Some(by_others) = lines.last_mut() {
            // A quarter of those of accounts that two of five have shared with others: who
            // has, is the same in all of a run.
            by_others.rule = AuditRule::Dispersed(4.0);
        }
        lines.push(AuditLine::independent(
            "Trade-Orders by others of shared accounts",
            self.orders_by_others,
            self.orders_of_shared,
            0.25,
        ));
        lines
    }

    fn distributions(&self, scale: &Scale, trade_shares: &[f64]) -> Vec<AuditDistribution> {
        let distribution = |name: &str, counts: &[u64], wanted: Vec<f64>| AuditDistribution {
            name: name.into(),
            counts: counts.to_vec(),
            wanted,
        };
        let mut places = vec![0.0; RANGES];
        for place in 0..LOAD_UNIT {
            places[range_of_place(place)] += place_share(place);
        }
        let of_kinds = TradeKind::PERCENT.map(|percent| percent as f64 / 100.0);
        let of_securities = range_shares(scale.securities().unsigned_abs(), RANGES as u64);
        vec![
            distribution("kinds of trades", &self.kinds, of_kinds.to_vec()),
            AuditDistribution::uniform("shares of an order", &self.quantities),
            distribution(
                "customers by how often they are chosen",
                &self.customers,
                places,
            ),
            distribution("securities", &self.securities, of_securities.collect()),
            distribution(
                "known trades, NURnd(65535, 7)",
                &self.trades,
                trade_shares.to_vec(),
            ),
        ]
    }
}

/// The range that counts a customer with this place in his load unit.
fn range_of_place(place: i64) -> usize {
    range_of(
        place.unsigned_abs(),
        LOAD_UNIT.unsigned_abs(),
        RANGES as u64,
    )
}
