//! Rows of the market's tables and of those that all refer to: clauses 2.2.7 and 2.2.8.

use std::{fmt::Write, ops::ControlFlow};

use super::{Rows, of_unit};
use crate::{
    random::{Draws, fill_distinct},
    tpce::{
        calendar::{self, DAY, MARKET_DAYS, civil, market_day},
        ids::ident,
        industries::{INDUSTRIES, SECTORS, industry_id, industry_sector, push_industry_name},
        keyed_draws::{Attribute, KeyedDraws},
        people::{Person, surname},
        places::{TaxRate, ZIP_CODES, Zip, push_street},
        prices,
        scaled::{COMPANIES, EXCHANGES, SECURITIES, Scale},
        schema::{NEWS_BYTES, RATE_SCALE},
        securities::{Exchange, Symbol, company, issue, push_company_name, push_security_name},
        trade_kind::TradeKind,
    },
};

/// Kinds of trades in the order of their ids.
const KINDS_BY_ID: [TradeKind; 5] = [
    TradeKind::LimitBuy,
    TradeKind::LimitSell,
    TradeKind::MarketBuy,
    TradeKind::MarketSell,
    TradeKind::StopLoss,
];
const EXCHANGES_BY_ID: [Exchange; 4] = [
    Exchange::Amex,
    Exchange::Nasdaq,
    Exchange::Nyse,
    Exchange::Pcx,
];

impl Rows<'_> {
    pub(super) fn status_types(&mut self) -> ControlFlow<()> {
        for (id, name) in [
            ("ACTV", "Active"),
            ("CMPT", "Completed"),
            ("CNCL", "Canceled"),
            ("PNDG", "Pending"),
            ("SBMT", "Submitted"),
        ] {
            self.text(id);
            self.text(name);
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    pub(super) fn trade_types(&mut self) -> ControlFlow<()> {
        for kind in KINDS_BY_ID {
            self.text(kind.id());
            self.text(kind.name());
            self.integer(kind.is_sell().into());
            self.integer(kind.is_market().into());
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    pub(super) fn tax_rates(&mut self) -> ControlFlow<()> {
        for rate in TaxRate::all() {
            self.text(&rate.id());
            self.text(&rate.name());
            self.batch.push_decimal(rate.rate(), RATE_SCALE);
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    pub(super) fn zip_codes(&mut self) -> ControlFlow<()> {
        let scale = self.scale;
        for zip in (0..ZIP_CODES).map(Zip::at) {
            self.batch.push_text(|text| zip.push_code(text));
            self.batch.push_text(|text| zip.push_town(&scale, text));
            self.text(zip.division_name());
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    /// Part 0 has the exchanges', as many as there are load units the companies', and the
    /// others the customers'.
    pub(super) fn addresses(&mut self, part: i64) -> ControlFlow<()> {
        let units = self.scale.load_units();
        if part == 0 {
            return (0..EXCHANGES).try_for_each(|exchange| self.address(exchange, false));
        }
        if part <= units {
            return of_unit(part - 1, COMPANIES).try_for_each(|company| {
                let address = self.scale.company_address(company);
                self.address(address, false)
            });
        }
        of_unit(part - 1 - units, crate::tpce::ids::LOAD_UNIT).try_for_each(|customer| {
            let address = self.scale.customer_address(customer);
            self.address(address, true)
        })
    }

    fn address(&mut self, address: i64, is_customer: bool) -> ControlFlow<()> {
        let mut draws = KeyedDraws::new(self.scale.seed, Attribute::Address, address);
        self.integer(ident(address));
        self.batch.push_text(|text| push_street(&mut draws, text));
        let kind = draws.uniform(1, 100);
        self.batch.push_text(|text| {
            let _infallible = match kind {
                _ if !is_customer => Ok(()),
                ..=60 => Ok(()),
                61..=90 => write!(text, "Apt. {}", draws.uniform(1, 1000)),
                _ => write!(text, "Suite {}", draws.uniform(1, 500)),
            };
        });
        let zip = Zip::of_address(&self.scale, address);
        self.batch.push_text(|text| zip.push_code(text));
        self.text(zip.country());
        self.end_row()
    }

    pub(super) fn sectors(&mut self) -> ControlFlow<()> {
        for (id, name) in SECTORS {
            self.text(id);
            self.text(name);
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    pub(super) fn industries(&mut self) -> ControlFlow<()> {
        for industry in 0..INDUSTRIES {
            self.text(&industry_id(industry));
            self.batch
                .push_text(|text| push_industry_name(text, industry));
            self.text(SECTORS[industry_sector(industry)].0);
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    pub(super) fn exchanges(&mut self) -> ControlFlow<()> {
        for exchange in EXCHANGES_BY_ID {
            self.text(exchange.id());
            self.text(match exchange {
                Exchange::Nyse => "New York Stock Exchange",
                Exchange::Nasdaq => "NASDAQ Stock Market",
                Exchange::Amex => "American Stock Exchange",
                Exchange::Pcx => "Pacific Exchange",
            });
            self.integer(exchange.securities(self.scale.load_units()));
            self.integer(930);
            self.integer(1600);
            self.text("Trades common and preferred shares of companies from nine thirty to four");
            self.integer(ident(exchange as i64));
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    pub(super) fn companies(&mut self, unit: i64) -> ControlFlow<()> {
        let seed = self.scale.seed;
        for company in of_unit(unit, COMPANIES) {
            self.integer(ident(company));
            self.text("ACTV");
            self.batch
                .push_text(|text| push_company_name(text, company));
            let industry = industry_of(&self.scale, company);
            self.text(&industry_id(industry));
            let rating = self.draws.uniform(0, 38);
            self.batch.push_text(|text| push_rating(text, rating));
            let head = Person::new(seed, 1000 * ident(company));
            self.batch.push_text(|text| head.push_name(text));
            self.integer(ident(self.scale.company_address(company)));
            self.batch.push_text(|text| {
                push_company_name(text, company);
                text.push_str(" works in ");
                push_industry_name(text, industry);
                text.push_str(", for customers at home and abroad");
            });
            let opened = self.day(civil(1800, 1, 1), civil(2000, 1, 2));
            self.time(opened);
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    /// A date between two, both included.
    fn day(&mut self, first: i64, last: i64) -> i64 {
        first + self.draws.uniform(0, (last - first) / DAY) * DAY
    }

    pub(super) fn competitors(&mut self, unit: i64) -> ControlFlow<()> {
        for company in of_unit(unit, COMPANIES) {
            let mut others = [0; 3];
            fill_distinct(&mut others, || {
                loop {
                    let other = self.draws.uniform(0, self.scale.companies() - 1);
                    if other != company {
                        break other;
                    }
                }
            });
            others.sort_unstable();
            for other in others {
                self.integer(ident(company));
                self.integer(ident(other));
                // What they compete in is the line of either.
                let of = if self.draws.percent(50) {
                    company
                } else {
                    other
                };
                self.text(&industry_id(industry_of(&self.scale, of)));
                self.end_row()?;
            }
        }
        ControlFlow::Continue(())
    }

    pub(super) fn financials(&mut self, unit: i64) -> ControlFlow<()> {
        const DOLLARS: i64 = 100;
        for company in of_unit(unit, COMPANIES) {
            let draws = &mut self.draws;
            let mut revenue = draws.uniform(100_000, 16_000_000_000) * DOLLARS;
            let most = revenue.min(3_000_000_000 * DOLLARS);
            let mut earnings = draws.uniform(-300_000_000 * DOLLARS, most);
            let mut shares = draws.uniform(400_000, 9_500_000_000);
            let mut inventory = draws.uniform(0, 2_000_000_000) * DOLLARS;
            let mut assets = draws.uniform(100_000, 65_000_000_000) * DOLLARS;
            let mut liabilities = draws.uniform(100_000, 35_000_000_000) * DOLLARS;
            for quarter in 0..20 {
                for value in [
                    &mut revenue,
                    &mut earnings,
                    &mut shares,
                    &mut inventory,
                    &mut assets,
                    &mut liabilities,
                ] {
                    grow(&mut self.draws, value);
                }
                if earnings >= revenue {
                    earnings = earnings * 9 / 10;
                }
                let (year, of_year) = (2000 + quarter / 4, quarter % 4);
                let diluted = shares * 11 / 10;
                self.integer(ident(company));
                self.integer(year);
                self.integer(of_year + 1);
                self.time(civil(year, of_year * 3 + 1, 1));
                self.money(revenue);
                self.money(earnings);
                self.money(rounded(earnings, shares));
                self.money(rounded(earnings, diluted));
                self.money(rounded(100 * earnings, revenue));
                self.money(inventory);
                self.money(assets);
                self.money(liabilities);
                self.integer(shares);
                self.integer(diluted);
                self.end_row()?;
            }
        }
        ControlFlow::Continue(())
    }

    pub(super) fn securities(&mut self, unit: i64) -> ControlFlow<()> {
        let end = civil(2005, 1, 3);
        for security in of_unit(unit, SECURITIES) {
            let symbol = Symbol::new(&self.scale, security);
            self.text(symbol.as_str());
            self.text(issue(security));
            self.text("ACTV");
            self.batch
                .push_text(|text| push_security_name(text, security));
            self.text(Exchange::listing(security).id());
            self.integer(ident(company(security)));
            let shares = self.draws.uniform(4_000_000, 9_500_000_000);
            self.integer(shares);
            let last = civil(2000, 1, 2);
            let started = self.day(civil(1900, 1, 1), last);
            let listed = self.day(started, last);
            self.time(started);
            self.time(listed);
            let ratio = self.draws.uniform(100, 12_000);
            self.money(ratio);
            let high = self.draws.uniform(2500, 3000);
            self.money(high);
            let of_high = self.day(end - 364 * DAY, end);
            self.time(of_high);
            let low = self.draws.uniform(2000, high);
            self.money(low);
            let of_low = self.day(end - 364 * DAY, end);
            self.time(of_low);
            let (dividend, rate) = match self.draws.percent(60) {
                true => {
                    let rate = self.draws.uniform(1, 12_000);
                    let share = self.draws.uniform(20, 30);
                    (rounded(rate * share, 100), rate)
                }
                false => (0, 0),
            };
            self.money(dividend);
            self.money(rate);
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    pub(super) fn daily_market(&mut self, unit: i64) -> ControlFlow<()> {
        for security in of_unit(unit, SECURITIES) {
            let symbol = Symbol::new(&self.scale, security);
            for day in 0..MARKET_DAYS {
                let close = self.draws.uniform(prices::LOWEST, prices::HIGHEST);
                self.time(market_day(day));
                self.text(symbol.as_str());
                self.money(close);
                self.money(rounded(close * 105, 100));
                self.money(rounded(close * 92, 100));
                let volume = self.draws.uniform(1000, 10_000);
                self.integer(volume);
                self.end_row()?;
            }
        }
        ControlFlow::Continue(())
    }

    pub(super) fn last_trades(&mut self, unit: i64) -> ControlFlow<()> {
        let end = self.scale.end();
        for security in of_unit(unit, SECURITIES) {
            self.text(Symbol::new(&self.scale, security).as_str());
            self.time(calendar::date(end));
            let price = prices::at(security, end);
            self.money(price);
            self.money(price);
            self.integer(0);
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    pub(super) fn news_items(&mut self, unit: i64) -> ControlFlow<()> {
        let end = calendar::date(self.scale.end());
        let mut item = String::with_capacity(NEWS_BYTES + 64);
        for news in of_unit(unit, 2 * COMPANIES) {
            let number = self.draws.uniform(0, i64::MAX - 1);
            let mut words = KeyedDraws::new(self.scale.seed, Attribute::Company, number);
            item.clear();
            while item.len() < NEWS_BYTES {
                item.push_str(surname(&mut words).as_str());
                item.push(' ');
            }
            self.integer(ident(news));
            self.text(&item[..80]);
            self.text(&item[..255]);
            self.text(&item[..NEWS_BYTES]);
            let days = self.draws.uniform(0, 50);
            let rest = self.draws.uniform(0, 86_400_000) * 1000;
            self.time(end - days * DAY - rest);
            self.text(surname(&mut words).as_str());
            self.text(surname(&mut words).as_str());
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    pub(super) fn news_references(&mut self, unit: i64) -> ControlFlow<()> {
        for news in of_unit(unit, 2 * COMPANIES) {
            self.integer(ident(news));
            self.integer(ident(news / 2));
            self.end_row()?;
        }
        ControlFlow::Continue(())
    }

    pub(super) fn charges(&mut self) -> ControlFlow<()> {
        for kind in KINDS_BY_ID {
            for tier in 1..=3 {
                self.text(kind.id());
                self.integer(tier as i64);
                self.money(prices::charge(kind, tier));
                self.end_row()?;
            }
        }
        ControlFlow::Continue(())
    }

    pub(super) fn commission_rates(&mut self) -> ControlFlow<()> {
        for tier in 1..=3 {
            for kind in KINDS_BY_ID {
                for exchange in EXCHANGES_BY_ID {
                    for (range, (from, to)) in prices::COMMISSION_QUANTITIES.iter().enumerate() {
                        self.integer(tier as i64);
                        self.text(kind.id());
                        self.text(exchange.id());
                        self.integer(*from);
                        self.integer(*to);
                        self.money(prices::commission_rate(tier, exchange, range));
                        self.end_row()?;
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// The industry of a company, by its place.
fn industry_of(scale: &Scale, company: i64) -> i64 {
    KeyedDraws::new(scale.seed, Attribute::Company, company).uniform(0, INDUSTRIES - 1)
}

/// One of 39: one to three letters of A, B and C.
fn push_rating(text: &mut String, rating: i64) {
    let (length, rest) = match rating {
        ..3 => (1, rating),
        3..12 => (2, rating - 3),
        _ => (3, rating - 12),
    };
    let mut left = rest;
    for _ in 0..length {
        text.push(char::from(b'A' + (left % 3) as u8));
        left /= 3;
    }
}

/// From one quarter to the next: times 0.90 to 1.15.
fn grow(draws: &mut Draws, value: &mut i64) {
    *value = rounded(*value * draws.uniform(9000, 11_500), 10_000);
}

/// A quotient, rounded.
fn rounded(value: i64, divisor: i64) -> i64 {
    (value + divisor / 2).div_euclid(divisor)
}
