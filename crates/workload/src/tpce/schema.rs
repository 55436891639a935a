//! The 33 tables of clause 2.2, with their keys, references and checks.
//!
//! Names are the specification's in lower case. Dates are times at midnight. Of keys of
//! several columns, which the specification leaves in any order, those come first by which
//! rows are looked for and made: a security's before a date's, a customer's before a tax
//! rate's, a company's before a news item's, and of holdings' history the trade's that
//! changed them. Further indexes are those that the transactions need. Tables stand behind
//! those that they refer to.

use std::sync::LazyLock;

use crate::{
    money::CENTS,
    schema::{
        ColumnKind::{self, Char, Varchar},
        Table, tables,
    },
};

const fn money(precision: u8) -> ColumnKind {
    ColumnKind::Decimal {
        precision,
        scale: CENTS,
    }
}

/// IDENT_T and TRADE_T, whose numbers are shifted, and S_COUNT_T (clause 2.2.2).
const IDENT: ColumnKind = ColumnKind::Integer;
const TRADE: ColumnKind = ColumnKind::Integer;
const COUNT: ColumnKind = ColumnKind::Integer;
/// S_QTY_T, and all other whole numbers, of which none has more than nine digits.
const INTEGER: ColumnKind = ColumnKind::Integer32;
/// BOOLEAN: 0 or 1.
const BOOLEAN: ColumnKind = ColumnKind::Integer32;
/// S_PRICE_T, VALUE_T, BALANCE_T and FIN_AGG_T.
const PRICE: ColumnKind = money(8);
const VALUE: ColumnKind = money(10);
const BALANCE: ColumnKind = money(12);
const AGGREGATE: ColumnKind = money(15);
const TIME: ColumnKind = ColumnKind::Timestamp;
const DATE: ColumnKind = ColumnKind::Timestamp;
const SYMBOL: ColumnKind = Varchar(15);
/// TX_RATE.
pub(super) const RATE: ColumnKind = ColumnKind::Decimal {
    precision: 6,
    scale: RATE_SCALE,
};
pub(super) const RATE_SCALE: u8 = 5;

/// Positions of the tables in [`TABLES`].
pub(super) const STATUS_TYPE: usize = 0;
pub(super) const TRADE_TYPE: usize = 1;
pub(super) const TAXRATE: usize = 2;
pub(super) const ZIP_CODE: usize = 3;
pub(super) const ADDRESS: usize = 4;
pub(super) const SECTOR: usize = 5;
pub(super) const INDUSTRY: usize = 6;
pub(super) const EXCHANGE: usize = 7;
pub(super) const COMPANY: usize = 8;
pub(super) const COMPANY_COMPETITOR: usize = 9;
pub(super) const FINANCIAL: usize = 10;
pub(super) const SECURITY: usize = 11;
pub(super) const DAILY_MARKET: usize = 12;
pub(super) const LAST_TRADE: usize = 13;
pub(super) const NEWS_ITEM: usize = 14;
pub(super) const NEWS_XREF: usize = 15;
pub(super) const CHARGE: usize = 16;
pub(super) const COMMISSION_RATE: usize = 17;
pub(super) const BROKER: usize = 18;
pub(super) const CUSTOMER: usize = 19;
pub(super) const CUSTOMER_TAXRATE: usize = 20;
pub(super) const CUSTOMER_ACCOUNT: usize = 21;
pub(super) const ACCOUNT_PERMISSION: usize = 22;
pub(super) const WATCH_LIST: usize = 23;
pub(super) const WATCH_ITEM: usize = 24;
pub(super) const TRADES: usize = 25;
pub(super) const TRADE_HISTORY: usize = 26;
pub(super) const SETTLEMENT: usize = 27;
pub(super) const CASH_TRANSACTION: usize = 28;
pub(super) const HOLDING_SUMMARY: usize = 29;
pub(super) const HOLDING: usize = 30;
pub(super) const HOLDING_HISTORY: usize = 31;
pub(super) const TRADE_REQUEST: usize = 32;

/// Characters of NI_ITEM (clause 2.2.7.11).
pub(super) const NEWS_BYTES: usize = 100_000;

/// All tables, in the order in which they are created and loaded.
///
/// Mean bytes of a row count texts by their mean length and every other value as 8 bytes,
/// as [`crate::connection::Value::byte_length`] does; a test compares them with generated
/// rows.
pub(super) static TABLES: LazyLock<[Table; 33]> = LazyLock::new(|| {
    tables! {
        status_type(12) key [st_id] {
            st_id: Char(4),
            st_name: Varchar(10),
        }
        trade_type(29) key [tt_id] check "tt_is_sell IN (0, 1)" check "tt_is_mrkt IN (0, 1)" {
            tt_id: Char(3),
            tt_name: Varchar(12),
            tt_is_sell: BOOLEAN, tt_is_mrkt: BOOLEAN,
        }
        taxrate(38) key [tx_id] check "tx_rate >= 0" {
            tx_id: Varchar(4),
            tx_name: Varchar(50),
            tx_rate: RATE,
        }
        zip_code(17) key [zc_code] {
            zc_code: Varchar(12),
            zc_town: Varchar(80), zc_div: Varchar(80),
        }
        address(37) key [ad_id] references [ad_zc_code] zip_code {
            ad_id: IDENT,
            ad_line1 nullable: Varchar(80), ad_line2 nullable: Varchar(80),
            ad_zc_code: Varchar(12),
            ad_ctry nullable: Varchar(80),
        }
        sector(14) key [sc_id] index sector_by_name [sc_name] {
            sc_id: Char(2),
            sc_name: Varchar(30),
        }
        industry(25) key [in_id]
        index industry_by_name [in_name] index industry_by_sector [in_sc_id]
        references [in_sc_id] sector {
            in_id: Char(2),
            in_name: Varchar(50),
            in_sc_id: Char(2),
        }
        exchange(128) key [ex_id] references [ex_ad_id] address {
            ex_id: Varchar(6),
            ex_name: Varchar(100),
            ex_num_symb: INTEGER, ex_open: INTEGER, ex_close: INTEGER,
            ex_desc nullable: Varchar(150),
            ex_ad_id: IDENT,
        }
        company(152) key [co_id]
        index company_by_name [co_name] index company_by_industry [co_in_id, co_id]
        references [co_st_id] status_type references [co_in_id] industry
        references [co_ad_id] address {
            co_id: IDENT,
            co_st_id: Char(4),
            co_name: Varchar(60),
            co_in_id: Char(2),
            co_sp_rate: Varchar(4),
            co_ceo: Varchar(46),
            co_ad_id: IDENT,
            co_desc: Varchar(150),
            co_open_date: DATE,
        }
        company_competitor(18) key [cp_co_id, cp_comp_co_id, cp_in_id]
        references [cp_co_id] company references [cp_comp_co_id] company
        references [cp_in_id] industry {
            cp_co_id: IDENT, cp_comp_co_id: IDENT,
            cp_in_id: Char(2),
        }
        financial(112) key [fi_co_id, fi_year, fi_qtr] references [fi_co_id] company
        check "fi_qtr IN (1, 2, 3, 4)" {
            fi_co_id: IDENT, fi_year: INTEGER, fi_qtr: INTEGER,
            fi_qtr_start_date: DATE,
            fi_revenue: AGGREGATE, fi_net_earn: AGGREGATE,
            fi_basic_eps: VALUE, fi_dilut_eps: VALUE, fi_margin: VALUE,
            fi_inventory: AGGREGATE, fi_assets: AGGREGATE, fi_liability: AGGREGATE,
            fi_out_basic: COUNT, fi_out_dilut: COUNT,
        }
        security(138) key [s_symb] index security_by_company [s_co_id, s_issue]
        references [s_st_id] status_type references [s_ex_id] exchange
        references [s_co_id] company {
            s_symb: SYMBOL,
            s_issue: Varchar(6),
            s_st_id: Char(4),
            s_name: Varchar(70),
            s_ex_id: Varchar(6),
            s_co_id: IDENT,
            s_num_out: COUNT,
            s_start_date: DATE, s_exch_date: DATE,
            s_pe: VALUE,
            s_52wk_high: PRICE, s_52wk_high_date: DATE,
            s_52wk_low: PRICE, s_52wk_low_date: DATE,
            s_dividend: VALUE, s_yield: money(5),
        }
        daily_market(44) key [dm_s_symb, dm_date] references [dm_s_symb] security {
            dm_date: DATE,
            dm_s_symb: SYMBOL,
            dm_close: PRICE, dm_high: PRICE, dm_low: PRICE,
            dm_vol: COUNT,
        }
        last_trade(36) key [lt_s_symb] references [lt_s_symb] security {
            lt_s_symb: SYMBOL,
            lt_dts: TIME,
            lt_price: PRICE, lt_open_price: PRICE,
            lt_vol: COUNT,
        }
        news_item(100362) key [ni_id] {
            ni_id: IDENT,
            ni_headline: Varchar(80),
            ni_summary: Varchar(255),
            ni_item: Varchar(NEWS_BYTES as u32),
            ni_dts: TIME,
            ni_source: Varchar(30),
            ni_author nullable: Varchar(30),
        }
        news_xref(16) key [nx_co_id, nx_ni_id]
        references [nx_ni_id] news_item references [nx_co_id] company {
            nx_ni_id: IDENT, nx_co_id: IDENT,
        }
        charge(19) key [ch_tt_id, ch_c_tier] references [ch_tt_id] trade_type
        check "ch_c_tier IN (1, 2, 3)" check "ch_chrg >= 0" {
            ch_tt_id: Char(3),
            ch_c_tier: INTEGER,
            ch_chrg: VALUE,
        }
        commission_rate(39) key [cr_c_tier, cr_tt_id, cr_ex_id, cr_from_qty]
        references [cr_tt_id] trade_type references [cr_ex_id] exchange
        check "cr_c_tier IN (1, 2, 3)" check "cr_from_qty >= 0"
        check "cr_to_qty > cr_from_qty" check "cr_rate >= 0" {
            cr_c_tier: INTEGER,
            cr_tt_id: Char(3),
            cr_ex_id: Varchar(6),
            cr_from_qty: INTEGER, cr_to_qty: INTEGER,
            cr_rate: money(5),
        }
        broker(42) key [b_id] index broker_by_name [b_name] references [b_st_id] status_type {
            b_id: IDENT,
            b_st_id: Char(4),
            b_name: Varchar(49),
            b_num_trades: INTEGER,
            b_comm_total: BALANCE,
        }
        customer(144) key [c_id] index customer_by_tax_id [c_tax_id]
        references [c_st_id] status_type references [c_ad_id] address
        check "c_tier IN (1, 2, 3)" check "c_gndr IN ('M', 'F')" {
            c_id: IDENT,
            c_tax_id: Varchar(20),
            c_st_id: Char(4),
            c_l_name: Varchar(25), c_f_name: Varchar(20), c_m_name nullable: Char(1),
            c_gndr nullable: Char(1),
            c_tier: INTEGER,
            c_dob: DATE,
            c_ad_id: IDENT,
            c_ctry_1 nullable: Varchar(3), c_area_1 nullable: Varchar(3),
            c_local_1 nullable: Varchar(10), c_ext_1 nullable: Varchar(5),
            c_ctry_2 nullable: Varchar(3), c_area_2 nullable: Varchar(3),
            c_local_2 nullable: Varchar(10), c_ext_2 nullable: Varchar(5),
            c_ctry_3 nullable: Varchar(3), c_area_3 nullable: Varchar(3),
            c_local_3 nullable: Varchar(10), c_ext_3 nullable: Varchar(5),
            c_email_1 nullable: Varchar(50), c_email_2 nullable: Varchar(50),
        }
        customer_taxrate(11) key [cx_c_id, cx_tx_id]
        references [cx_tx_id] taxrate references [cx_c_id] customer {
            cx_tx_id: Varchar(4),
            cx_c_id: IDENT,
        }
        customer_account(66) key [ca_id] index customer_account_by_customer [ca_c_id, ca_id]
        references [ca_b_id] broker references [ca_c_id] customer
        check "ca_tax_st IN (0, 1, 2)" {
            ca_id: IDENT, ca_b_id: IDENT, ca_c_id: IDENT,
            ca_name nullable: Varchar(50),
            ca_tax_st: INTEGER,
            ca_bal: BALANCE,
        }
        account_permission(36) key [ap_ca_id, ap_tax_id]
        references [ap_ca_id] customer_account {
            ap_ca_id: IDENT,
            ap_acl: Char(4),
            ap_tax_id: Varchar(20),
            ap_l_name: Varchar(25), ap_f_name: Varchar(20),
        }
        watch_list(16) key [wl_id] index watch_list_by_customer [wl_c_id]
        references [wl_c_id] customer {
            wl_id: IDENT, wl_c_id: IDENT,
        }
        watch_item(12) key [wi_wl_id, wi_s_symb]
        references [wi_wl_id] watch_list references [wi_s_symb] security {
            wi_wl_id: IDENT,
            wi_s_symb: SYMBOL,
        }
        trade(110) key [t_id]
        index trade_by_account [t_ca_id, t_dts] index trade_by_security [t_s_symb, t_dts]
        references [t_st_id] status_type references [t_tt_id] trade_type
        references [t_s_symb] security references [t_ca_id] customer_account
        check "t_is_cash IN (0, 1)" check "t_lifo IN (0, 1)" check "t_qty > 0"
        check "t_bid_price > 0" check "t_chrg >= 0" check "t_comm >= 0" check "t_tax >= 0" {
            t_id: TRADE,
            t_dts: TIME,
            t_st_id: Char(4),
            t_tt_id: Char(3),
            t_is_cash: BOOLEAN,
            t_s_symb: SYMBOL,
            t_qty: INTEGER,
            t_bid_price: PRICE,
            t_ca_id: IDENT,
            t_exec_name: Varchar(49),
            t_trade_price nullable: PRICE,
            t_chrg: VALUE, t_comm: VALUE, t_tax: VALUE,
            t_lifo: BOOLEAN,
        }
        trade_history(20) key [th_t_id, th_st_id]
        references [th_t_id] trade references [th_st_id] status_type {
            th_t_id: TRADE,
            th_dts: TIME,
            th_st_id: Char(4),
        }
        settlement(36) key [se_t_id] references [se_t_id] trade {
            se_t_id: TRADE,
            se_cash_type: Varchar(40),
            se_cash_due_date: DATE,
            se_amt: VALUE,
        }
        cash_transaction(83) key [ct_t_id] references [ct_t_id] trade {
            ct_t_id: TRADE,
            ct_dts: TIME,
            ct_amt: VALUE,
            ct_name nullable: Varchar(100),
        }
        holding_summary(20) key [hs_ca_id, hs_s_symb]
        references [hs_ca_id] customer_account references [hs_s_symb] security {
            hs_ca_id: IDENT,
            hs_s_symb: SYMBOL,
            hs_qty: INTEGER,
        }
        holding(44) key [h_t_id] index holding_by_account [h_ca_id, h_s_symb, h_dts]
        references [h_t_id] trade references [h_ca_id, h_s_symb] holding_summary
        check "h_price > 0" {
            h_t_id: TRADE,
            h_ca_id: IDENT,
            h_s_symb: SYMBOL,
            h_dts: TIME,
            h_price: PRICE,
            h_qty: INTEGER,
        }
        holding_history(32) key [hh_t_id, hh_h_t_id]
        index holding_history_by_lot [hh_h_t_id, hh_t_id]
        references [hh_h_t_id] trade references [hh_t_id] trade {
            hh_h_t_id: TRADE, hh_t_id: TRADE,
            hh_before_qty: INTEGER, hh_after_qty: INTEGER,
        }
        trade_request(39) key [tr_t_id]
        index trade_request_by_security [tr_s_symb, tr_t_id]
        index trade_request_by_broker [tr_b_id, tr_s_symb]
        references [tr_t_id] trade references [tr_tt_id] trade_type
        references [tr_s_symb] security references [tr_b_id] broker
        check "tr_qty > 0" check "tr_bid_price > 0" {
            tr_t_id: TRADE,
            tr_tt_id: Char(3),
            tr_s_symb: SYMBOL,
            tr_qty: INTEGER,
            tr_bid_price: PRICE,
            tr_b_id: IDENT,
        }
    }
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_stand_where_their_positions_say() {
        for (position, name) in [
            (STATUS_TYPE, "status_type"),
            (TRADE_TYPE, "trade_type"),
            (TAXRATE, "taxrate"),
            (ZIP_CODE, "zip_code"),
            (ADDRESS, "address"),
            (SECTOR, "sector"),
            (INDUSTRY, "industry"),
            (EXCHANGE, "exchange"),
            (COMPANY, "company"),
            (COMPANY_COMPETITOR, "company_competitor"),
            (FINANCIAL, "financial"),
            (SECURITY, "security"),
            (DAILY_MARKET, "daily_market"),
            (LAST_TRADE, "last_trade"),
            (NEWS_ITEM, "news_item"),
            (NEWS_XREF, "news_xref"),
            (CHARGE, "charge"),
            (COMMISSION_RATE, "commission_rate"),
            (BROKER, "broker"),
            (CUSTOMER, "customer"),
            (CUSTOMER_TAXRATE, "customer_taxrate"),
            (CUSTOMER_ACCOUNT, "customer_account"),
            (ACCOUNT_PERMISSION, "account_permission"),
            (WATCH_LIST, "watch_list"),
            (WATCH_ITEM, "watch_item"),
            (TRADES, "trade"),
            (TRADE_HISTORY, "trade_history"),
            (SETTLEMENT, "settlement"),
            (CASH_TRANSACTION, "cash_transaction"),
            (HOLDING_SUMMARY, "holding_summary"),
            (HOLDING, "holding"),
            (HOLDING_HISTORY, "holding_history"),
            (TRADE_REQUEST, "trade_request"),
        ] {
            assert_eq!(TABLES[position].name, name);
        }
    }

    #[test]
    fn keys_indexes_and_references_name_columns() {
        for (position, table) in TABLES.iter().enumerate() {
            let indexed = table.indexes.iter().flat_map(|index| index.columns);
            let referring = table
                .references
                .iter()
                .flat_map(|reference| reference.columns);
            for key in table.primary_key.iter().chain(indexed).chain(referring) {
                assert!(
                    table.columns.iter().any(|column| column.name == *key),
                    "{} has no column {key}",
                    table.name
                );
            }
            for reference in table.references {
                let mut before = TABLES[..position].iter();
                let other = before.find(|other| other.name == reference.table);
                let other = other.unwrap_or_else(|| panic!("{}", reference.table));
                assert_eq!(other.primary_key.len(), reference.columns.len());
            }
        }
    }
}
