//! What customers ask for (clause 6.4.1; EGen 1.14, `CETxnInputGenerator.cpp` and
//! `DriverParamSettings.h`), and what is maintained in turn (`DM.cpp`).

use super::{
    calendar::{self, MARKET_DAYS, TRADING_DAY},
    customers::{Basket, accounts, at_place, choose_place, permitted},
    ids::{self, account, ident, is_thrown_away},
    industries::INDUSTRIES,
    nurand::NuRnd,
    places::TaxRate,
    prices,
    scaled::Scale,
    statements::BROKERS_MAX,
    trade_kind::{QUANTITIES, TradeKind},
};
use crate::random::{Draws, fill_distinct};

/// Trades that a Trade-Lookup or Trade-Update looks at.
pub(super) const LOOKED_AT: usize = 20;

/// Brokers and a sector.
#[derive(Clone, Copy, Debug)]
pub(super) struct BrokerVolume {
    pub(super) brokers: [i64; BROKERS_MAX],
    pub(super) count: usize,
    pub(super) sector: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct CustomerPosition {
    pub(super) customer: i64,
    pub(super) by_tax_id: bool,
    /// The place of an account among the customer's by what they are worth, for its
    /// history.
    pub(super) history: Option<usize>,
}

/// Whose securities a Market-Watch is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchedSecurities {
    /// Of an industry, and of companies up to the second ordinal.
    Industry(i64, [i64; 2]),
    /// Of a customer's list.
    List(i64),
    /// Of an account, by its number.
    Account(i64),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct MarketWatch {
    pub(super) watched: WatchedSecurities,
    pub(super) day: i64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct SecurityDetail {
    pub(super) security: i64,
    pub(super) with_whole_news: bool,
    pub(super) days: i64,
    pub(super) first_day: i64,
}

/// Which trades a Trade-Lookup or Trade-Update reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TradeSelection {
    /// Those with these numbers.
    Trades([i64; LOOKED_AT]),
    /// Those of an account from a time on.
    Account { account: i64, from: i64 },
    /// Those of a security from a time on.
    Security { security: i64, from: i64 },
    /// The first of an account from a time on, with what became of its shares.
    First { account: i64, from: i64 },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct TradeOrder {
    pub(super) customer: i64,
    pub(super) account: i64,
    /// Who orders, by number.
    pub(super) executor: i64,
    pub(super) has_others: bool,
    pub(super) security: i64,
    pub(super) by_company_name: bool,
    pub(super) kind: TradeKind,
    pub(super) quantity: i64,
    /// In cents; of no account at the market's price.
    pub(super) limit: i64,
    pub(super) on_margin: bool,
    pub(super) is_lifo: bool,
    pub(super) rolls_back: bool,
}

/// A task of Data-Maintenance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MaintenanceTask {
    Permission {
        account: i64,
    },
    CustomerAddress {
        customer: i64,
    },
    CompanyAddress {
        company: i64,
    },
    Company {
        company: i64,
    },
    Customer {
        customer: i64,
    },
    CustomerTaxRate {
        customer: i64,
    },
    DailyMarket {
        security: i64,
        day_of_month: i64,
        more: i64,
    },
    Exchange,
    Financial {
        company: i64,
    },
    News {
        company: i64,
    },
    Security {
        security: i64,
    },
    TaxRate {
        rate: TaxRate,
    },
    WatchItem {
        customer: i64,
    },
}

/// Tables that are maintained in turn.
const TURNS: u64 = 12;

#[derive(Debug)]
pub(super) struct Inputs {
    pub(super) draws: Draws,
    pub(super) scale: Scale,
    divisions: Vec<TaxRate>,
}

impl Inputs {
    pub(super) fn new(draws: Draws, scale: Scale) -> Self {
        let is_division = |rate: &TaxRate| matches!(rate, TaxRate::Division(..));
        Self {
            draws,
            scale,
            divisions: TaxRate::all().into_iter().filter(is_division).collect(),
        }
    }

    fn customer(&mut self) -> i64 {
        choose_customer(&self.scale, &mut self.draws)
    }

    fn account(&mut self) -> i64 {
        choose_account(&self.scale, &mut self.draws)
    }

    fn security(&mut self) -> i64 {
        self.draws.uniform(0, self.scale.securities() - 1)
    }

    pub(super) fn broker_volume(&mut self) -> BrokerVolume {
        let all = self.scale.brokers();
        let count = self.draws.uniform(20, BROKERS_MAX as i64).min(all) as usize;
        let mut brokers = [0; BROKERS_MAX];
        fill_distinct(&mut brokers[..count], || self.draws.uniform(0, all - 1));
        BrokerVolume {
            brokers,
            count,
            sector: self.draws.position(0, 11),
        }
    }

    pub(super) fn customer_position(&mut self) -> CustomerPosition {
        let customer = self.customer();
        let by_tax_id = self.draws.percent(50);
        let with_history = self.draws.percent(50);
        let place = self.draws.uniform(0, accounts(customer) - 1) as usize;
        CustomerPosition {
            customer,
            by_tax_id,
            history: with_history.then_some(place),
        }
    }

    pub(super) fn market_watch(&mut self) -> MarketWatch {
        let watched = match self.draws.uniform(1, 100) {
            ..=5 => {
                // At most 5,000 companies.
                let most = 5000.min(self.scale.companies());
                let first = self.draws.uniform(0, self.scale.companies() - most);
                let industry = self.draws.uniform(0, INDUSTRIES - 1);
                WatchedSecurities::Industry(industry, [first, first + most - 1])
            }
            6..=65 => WatchedSecurities::List(self.customer()),
            _ => WatchedSecurities::Account(self.account()),
        };
        let week = NuRnd {
            low: 0,
            high: 255,
            ones: 255,
            shift: 0,
        }
        .draw(&mut self.draws)
            + 5;
        let weekday = match self.draws.uniform(1, 100) {
            ..=20 => 0,
            21..=27 => 1,
            28..=33 => 2,
            34..=40 => 3,
            _ => 4,
        };
        MarketWatch {
            watched,
            day: calendar::market_date(week * 7 + weekday),
        }
    }

    pub(super) fn security_detail(&mut self) -> SecurityDetail {
        let security = self.security();
        let with_whole_news = self.draws.percent(1);
        let days = self.draws.uniform(5, 20);
        let first = self.draws.uniform(0, MARKET_DAYS - days);
        SecurityDetail {
            security,
            with_whole_news,
            days,
            first_day: calendar::market_date(first),
        }
    }

    pub(super) fn trade_lookup(&mut self) -> TradeSelection {
        match self.draws.uniform(1, 100) {
            ..=30 => self.trades(),
            31..=60 => self.of_account(),
            61..=90 => self.of_security(),
            _ => {
                let account = self.account();
                let from = self.from(BEFORE_FIRST);
                TradeSelection::First { account, from }
            }
        }
    }

    pub(super) fn trade_update(&mut self) -> TradeSelection {
        match self.draws.uniform(1, 100) {
            ..=33 => self.trades(),
            34..=66 => self.of_account(),
            _ => self.of_security(),
        }
    }

    fn trades(&mut self) -> TradeSelection {
        let of = trade_numbers(&self.scale);
        let mut trades = [0; LOOKED_AT];
        fill_distinct(&mut trades, || {
            let place = of.draw(&mut self.draws) - 1;
            ids::trade(place + i64::from(is_thrown_away(place)))
        });
        TradeSelection::Trades(trades)
    }

    fn of_account(&mut self) -> TradeSelection {
        let account = self.account();
        let from = self.from(BEFORE_OF_ACCOUNT);
        TradeSelection::Account { account, from }
    }

    fn of_security(&mut self) -> TradeSelection {
        let security = self.security();
        let from = self.from(BEFORE_OF_SECURITY);
        TradeSelection::Security { security, from }
    }

    /// A date of the initial trades, not in the last ones of them.
    fn from(&mut self, before_end: i64) -> i64 {
        let milliseconds = moments(&self.scale, before_end).draw(&mut self.draws);
        calendar::date(calendar::moment(milliseconds * 1000))
    }

    pub(super) fn trade_order(&mut self) -> TradeOrder {
        let customer = self.customer();
        let place = self.draws.uniform(0, accounts(customer) - 1);
        let account = account(customer, place);
        let basket = Basket::new(&self.scale, customer, place);
        let chosen = basket.choose(&mut self.draws);
        let (others, count) = permitted(&self.scale, account);
        let owner_orders = self.draws.percent(75);
        let executor = match count {
            0 => ident(customer),
            _ if owner_orders => ident(customer),
            count => others[count - 1],
        };
        let by_company_name = self.draws.percent(40);
        let quantity = QUANTITIES[self.draws.position(0, 3)];
        let limit = self.draws.uniform(prices::LOWEST, prices::HIGHEST);
        let kind = TradeKind::at(self.draws.uniform(1, 100));
        let on_margin = self.draws.percent(16) && !kind.is_sell();
        TradeOrder {
            customer,
            account,
            executor,
            has_others: count > 0,
            security: i64::from(basket.securities()[chosen]),
            by_company_name,
            kind,
            quantity,
            limit,
            on_margin,
            is_lifo: self.draws.percent(35),
            rolls_back: self.draws.uniform(1, ids::BEGUN) == 1,
        }
    }

    /// The account of a Trade-Status.
    pub(super) fn trade_status(&mut self) -> i64 {
        self.account()
    }

    /// What is maintained in a turn, by draws of its own.
    pub(super) fn maintained(&self, turn: u64, draws: &mut Draws) -> MaintenanceTask {
        let customer = draws.uniform(0, self.scale.customers - 1);
        let company = draws.uniform(0, self.scale.companies() - 1);
        let security = draws.uniform(0, self.scale.securities() - 1);
        match turn % TURNS {
            0 => MaintenanceTask::Permission {
                account: choose_account(&self.scale, draws),
            },
            1 if draws.percent(67) => MaintenanceTask::CustomerAddress { customer },
            1 => MaintenanceTask::CompanyAddress { company },
            2 => MaintenanceTask::Company { company },
            3 => MaintenanceTask::Customer { customer },
            4 => MaintenanceTask::CustomerTaxRate { customer },
            5 => MaintenanceTask::DailyMarket {
                security,
                day_of_month: draws.uniform(1, 31),
                more: match draws.uniform(-2, 3) {
                    0 => -3,
                    more => more,
                },
            },
            6 => MaintenanceTask::Exchange,
            7 => MaintenanceTask::Financial { company },
            8 => MaintenanceTask::News { company },
            9 => MaintenanceTask::Security { security },
            10 => {
                let chosen = draws.position(0, self.divisions.len() - 1);
                MaintenanceTask::TaxRate {
                    rate: self.divisions[chosen],
                }
            }
            _ => MaintenanceTask::WatchItem { customer },
        }
    }
}

/// A customer, by tier.
fn choose_customer(scale: &Scale, draws: &mut Draws) -> i64 {
    let unit = draws.uniform(0, scale.load_units() - 1);
    at_place(unit, choose_place(draws))
}

/// The number of one of a customer's accounts.
fn choose_account(scale: &Scale, draws: &mut Draws) -> i64 {
    let customer = choose_customer(scale, draws);
    account(customer, draws.uniform(0, accounts(customer) - 1))
}

/// How long before the end of initial trading times are, in microseconds of trading: of
/// those from which on an account's trades are looked at, a security's, and an account's
/// first one.
const BEFORE_OF_ACCOUNT: i64 = 4 * TRADING_DAY;
const BEFORE_OF_SECURITY: i64 = 200 * 60 * calendar::SECOND;
const BEFORE_FIRST: i64 = 500 * 60 * calendar::SECOND;

/// Trades by their places from 1.
pub(super) fn trade_numbers(scale: &Scale) -> NuRnd {
    NuRnd {
        low: 1,
        high: scale.begun(),
        ones: 65_535,
        shift: 7,
    }
}

/// Milliseconds of initial trading: where there are too few days for such a time before the
/// end, half of what there is.
fn moments(scale: &Scale, before_end: i64) -> NuRnd {
    let all = scale.trade_days * TRADING_DAY;
    let high = if all > before_end {
        all - before_end
    } else {
        all / 2
    };
    NuRnd {
        low: 1,
        high: high / 1000,
        ones: 4095,
        shift: 16,
    }
}

/// The end of what Trade-Lookups look at: a quarter of an hour after initial trading.
pub(super) fn lookup_end(scale: &Scale) -> i64 {
    calendar::date(scale.end() + prices::PERIOD)
}
