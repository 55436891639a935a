//! The initial rows (clause 2.6, EGen 1.14), a partition a table and load unit.

mod customers;
mod market;
mod trades;

pub(super) use customers::push_broker_name;

use std::ops::ControlFlow;

use super::{
    calendar::MARKET_DAYS,
    ids::LOAD_UNIT,
    places::ZIP_CODES,
    scaled::{ACCOUNTS, BROKERS, COMPANIES, EXCHANGES, SECURITIES, Scale},
    schema::*,
};
use crate::{
    money::CENTS,
    population::{Partition, Population, RowBatch},
    random::Draws,
    schema::TableId,
};

#[derive(Debug)]
pub(super) struct TpcePopulation {
    pub(super) scale: Scale,
}

/// Rows of a table.
enum Count {
    /// All of them in one partition.
    Fixed(i64),
    /// Of each load unit.
    Unit(i64),
}

impl TpcePopulation {
    /// About how many rows a table has.
    fn count(&self, table: usize) -> Count {
        let trades = self.scale.trades_of_unit();
        let held = 10.0 * ACCOUNTS as f64;
        let each = trades as f64 / held;
        let part = |of: f64, share: f64| Count::Unit((of * share) as i64);
        match table {
            STATUS_TYPE | TRADE_TYPE => Count::Fixed(5),
            TAXRATE => Count::Fixed(320),
            ZIP_CODE => Count::Fixed(ZIP_CODES),
            ADDRESS => Count::Unit(COMPANIES + LOAD_UNIT),
            SECTOR => Count::Fixed(12),
            INDUSTRY => Count::Fixed(102),
            EXCHANGE => Count::Fixed(EXCHANGES),
            COMPANY => Count::Unit(COMPANIES),
            COMPANY_COMPETITOR => Count::Unit(3 * COMPANIES),
            FINANCIAL => Count::Unit(20 * COMPANIES),
            SECURITY | LAST_TRADE => Count::Unit(SECURITIES),
            DAILY_MARKET => Count::Unit(MARKET_DAYS * SECURITIES),
            NEWS_ITEM | NEWS_XREF => Count::Unit(2 * COMPANIES),
            CHARGE => Count::Fixed(15),
            COMMISSION_RATE => Count::Fixed(240),
            BROKER => Count::Unit(BROKERS),
            CUSTOMER | WATCH_LIST => Count::Unit(LOAD_UNIT),
            CUSTOMER_TAXRATE => Count::Unit(2 * LOAD_UNIT),
            CUSTOMER_ACCOUNT => Count::Unit(ACCOUNTS),
            ACCOUNT_PERMISSION => Count::Unit(ACCOUNTS * 142 / 100),
            // 50 to 150 a list.
            WATCH_ITEM => Count::Unit(100 * LOAD_UNIT),
            TRADES | SETTLEMENT => Count::Unit(trades),
            // Two for each trade at the market's price, three for others.
            TRADE_HISTORY => Count::Unit(trades * 24 / 10),
            CASH_TRANSACTION => Count::Unit(trades * 92 / 100),
            // Of the trades of a security by an account, ten of which each has, more and more
            // close what others left; what is left over wanders as far as a root has it.
            // Fitted to populations of 1 to 300 days.
            HOLDING_HISTORY => part(trades as f64, 1.0 + 0.34 * each / (each + 3.0)),
            HOLDING => part(held, each.min(0.94 * each.sqrt())),
            HOLDING_SUMMARY => part(held, 1.0 - (-each).exp()),
            _ => Count::Fixed(0),
        }
    }
}

impl Population for TpcePopulation {
    fn partitions(&self) -> Vec<Partition> {
        let units = self.scale.load_units();
        let mut partitions = Vec::new();
        for table in 0..TABLES.len() {
            let mut add = |part: i64, rows: i64| {
                partitions.push(Partition {
                    table: TableId(table),
                    part: part as u32,
                    rows_about: rows.unsigned_abs(),
                });
            };
            match (table, self.count(table)) {
                (TRADE_REQUEST, _) => {}
                // Exchanges', all companies' and then all customers'.
                (ADDRESS, _) => {
                    add(0, EXCHANGES);
                    (1..=units).for_each(|part| add(part, COMPANIES));
                    (units + 1..=2 * units).for_each(|part| add(part, LOAD_UNIT));
                }
                (_, Count::Fixed(rows)) => add(0, rows),
                (_, Count::Unit(rows)) => (0..units).for_each(|unit| add(unit, rows)),
            }
        }
        partitions
    }

    fn generate(
        &self,
        partition: &Partition,
        batch: &mut RowBatch,
        consume: &mut dyn FnMut(&mut RowBatch) -> bool,
    ) {
        let table = &TABLES[partition.table.0];
        batch.reset(partition.table, table.columns.len());
        let unit = i64::from(partition.part);
        let mut rows = Rows {
            scale: self.scale,
            draws: Draws::new(self.scale.seed.derive(table.name, unit.unsigned_abs())),
            batch,
            consume,
        };
        let flow = match partition.table.0 {
            STATUS_TYPE => rows.status_types(),
            TRADE_TYPE => rows.trade_types(),
            TAXRATE => rows.tax_rates(),
            ZIP_CODE => rows.zip_codes(),
            ADDRESS => rows.addresses(unit),
            SECTOR => rows.sectors(),
            INDUSTRY => rows.industries(),
            EXCHANGE => rows.exchanges(),
            COMPANY => rows.companies(unit),
            COMPANY_COMPETITOR => rows.competitors(unit),
            FINANCIAL => rows.financials(unit),
            SECURITY => rows.securities(unit),
            DAILY_MARKET => rows.daily_market(unit),
            LAST_TRADE => rows.last_trades(unit),
            NEWS_ITEM => rows.news_items(unit),
            NEWS_XREF => rows.news_references(unit),
            CHARGE => rows.charges(),
            COMMISSION_RATE => rows.commission_rates(),
            BROKER => rows.brokers(unit),
            CUSTOMER => rows.customers(unit),
            CUSTOMER_TAXRATE => rows.customer_tax_rates(unit),
            CUSTOMER_ACCOUNT => rows.accounts(unit),
            ACCOUNT_PERMISSION => rows.permissions(unit),
            WATCH_LIST => rows.watch_lists(unit),
            WATCH_ITEM => rows.watch_items(unit),
            TRADES => rows.trades(unit),
            TRADE_HISTORY => rows.trade_history(unit),
            SETTLEMENT => rows.settlements(unit),
            CASH_TRANSACTION => rows.cash_transactions(unit),
            HOLDING_SUMMARY => rows.holding_summaries(unit),
            HOLDING => rows.holdings(unit),
            HOLDING_HISTORY => rows.holding_history(unit),
            _ => ControlFlow::Continue(()),
        };
        if flow.is_continue() {
            rows.batch.end(rows.consume);
        }
    }
}

/// Rows on their way into batches, columns in the tables' order.
struct Rows<'a> {
    scale: Scale,
    draws: Draws,
    batch: &'a mut RowBatch,
    consume: &'a mut dyn FnMut(&mut RowBatch) -> bool,
}

impl Rows<'_> {
    #[inline]
    fn end_row(&mut self) -> ControlFlow<()> {
        self.batch.end_row(self.consume)
    }

    #[inline]
    fn integer(&mut self, value: i64) {
        self.batch.push_integer(value);
    }

    #[inline]
    fn money(&mut self, cents: i64) {
        self.batch.push_decimal(cents, CENTS);
    }

    #[inline]
    fn time(&mut self, microseconds: i64) {
        self.batch.push_timestamp(microseconds);
    }

    #[inline]
    fn text(&mut self, text: &str) {
        self.batch.push_text(|own| own.push_str(text));
    }
}

/// The ordinals of a load unit's things, of which each has `count`.
fn of_unit(unit: i64, count: i64) -> std::ops::Range<i64> {
    unit * count..(unit + 1) * count
}
