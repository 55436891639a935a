//! Every SQL statement of the transactions and the checks, in the subset that SQLite,
//! PostgreSQL, MySQL and MariaDB share.
//!
//! Arithmetic on columns is adding values of one scale and multiplying decimals by whole
//! numbers, so that it is the same on exact decimals and on whole numbers of cents. What
//! transactions read before they change it is kept by their isolation level.

use crate::{
    connection::statements,
    money::CENTS,
    schema::ColumnKind::{self, Char, Varchar},
};

use super::schema::RATE;

const I: ColumnKind = ColumnKind::Integer;
const T: ColumnKind = ColumnKind::Timestamp;
/// Prices and amounts are narrower, but all have cents.
const MONEY: ColumnKind = ColumnKind::Decimal {
    precision: 18,
    scale: CENTS,
};
const SYMBOL: ColumnKind = Varchar(15);
const STATUS: ColumnKind = Char(4);
const KIND: ColumnKind = Char(3);
const EXCHANGE: ColumnKind = Varchar(6);

/// Names of brokers in a Broker-Volume.
pub(super) const BROKERS_MAX: usize = 40;

statements! {
    /// Broker-Volume (clause 3.3.1).
    BrokerVolume {
        BROKER_VOLUME: [Varchar(49); BROKERS_MAX + 1] -> [Varchar(49), MONEY] =
            "SELECT b_name, SUM(tr_qty * tr_bid_price) FROM trade_request, broker, security, \
             company, industry, sector WHERE tr_b_id = b_id AND tr_s_symb = s_symb \
             AND s_co_id = co_id AND co_in_id = in_id AND in_sc_id = sc_id \
             AND b_name IN (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40) AND sc_name = ?41 GROUP BY b_name ORDER BY 2 DESC"
            reads trade_request by [trade_request_by_broker, key] of [tr_qty, tr_bid_price, tr_b_id,
                tr_s_symb],
            reads broker by [broker_by_name] of [b_name, b_id],
            reads security of [s_symb, s_co_id],
            reads company of [co_id, co_in_id],
            reads industry of [in_id, in_sc_id],
            reads sector of [sc_id, sc_name];
    }
    /// Customer-Position (clause 3.3.2).
    CustomerPosition {
        CUSTOMER_BY_TAX_ID: [Varchar(20)] -> [I] = "SELECT c_id FROM customer WHERE c_tax_id = ?1"
            reads customer by [customer_by_tax_id, entry] of [c_id, c_tax_id];
        CUSTOMER: [I] -> [
            Char(4), Varchar(25), Varchar(20), Char(1), Char(1), I, T, I, Varchar(3), Varchar(3),
            Varchar(10), Varchar(5), Varchar(3), Varchar(3), Varchar(10), Varchar(5), Varchar(3),
            Varchar(3), Varchar(10), Varchar(5), Varchar(50), Varchar(50)
        ] =
            "SELECT c_st_id, c_l_name, c_f_name, c_m_name, c_gndr, c_tier, c_dob, c_ad_id, \
             c_ctry_1, c_area_1, c_local_1, c_ext_1, c_ctry_2, c_area_2, c_local_2, c_ext_2, \
             c_ctry_3, c_area_3, c_local_3, c_ext_3, c_email_1, c_email_2 \
             FROM customer WHERE c_id = ?1"
            reads customer of [c_st_id, c_l_name, c_f_name, c_m_name, c_gndr, c_tier, c_dob, c_ad_id,
                c_ctry_1, c_area_1, c_local_1, c_ext_1, c_ctry_2, c_area_2, c_local_2, c_ext_2,
                c_ctry_3, c_area_3, c_local_3, c_ext_3, c_email_1, c_email_2, c_id];
        CUSTOMER_ASSETS: [I] -> [I, MONEY, MONEY] =
            "SELECT ca_id, ca_bal, COALESCE(SUM(hs_qty * lt_price), 0) FROM customer_account \
             LEFT JOIN holding_summary ON hs_ca_id = ca_id \
             LEFT JOIN last_trade ON lt_s_symb = hs_s_symb \
             WHERE ca_c_id = ?1 GROUP BY ca_id, ca_bal ORDER BY 3, 1 LIMIT 10"
            reads customer_account by [customer_account_by_customer, entry] of [ca_id, ca_bal,
                ca_c_id],
            reads holding_summary of [hs_qty, hs_ca_id, hs_s_symb],
            reads last_trade of [lt_price, lt_s_symb];
        LATEST_HISTORY: [I] -> [I, SYMBOL, I, Varchar(10), T] =
            "SELECT t_id, t_s_symb, t_qty, st_name, th_dts FROM \
             (SELECT t_id, t_s_symb, t_qty FROM trade WHERE t_ca_id = ?1 \
             ORDER BY t_dts DESC LIMIT 10) AS latest, trade_history, status_type \
             WHERE th_t_id = t_id AND st_id = th_st_id ORDER BY th_dts DESC LIMIT 30"
            reads trade by [trade_by_account, entry] of [t_id, t_s_symb, t_qty, t_ca_id, t_dts],
            reads trade_history of [th_dts, th_t_id, th_st_id],
            reads status_type of [st_name, st_id];
    }
    /// Market-Watch (clause 3.3.4).
    MarketWatch {
        WATCH_BY_LIST: [I, T] -> [MONEY, MONEY] =
            "SELECT SUM(s_num_out * lt_price), SUM(s_num_out * dm_close) \
             FROM watch_list, watch_item, security, last_trade, daily_market \
             WHERE wl_c_id = ?1 AND wi_wl_id = wl_id AND s_symb = wi_s_symb \
             AND lt_s_symb = s_symb AND dm_s_symb = s_symb AND dm_date = ?2"
            reads watch_list by [watch_list_by_customer] of [wl_c_id, wl_id],
            reads watch_item of [wi_wl_id, wi_s_symb],
            reads security of [s_num_out, s_symb],
            reads last_trade of [lt_price, lt_s_symb],
            reads daily_market of [dm_close, dm_s_symb, dm_date];
        WATCH_BY_ACCOUNT: [I, T] -> [MONEY, MONEY] =
            "SELECT SUM(s_num_out * lt_price), SUM(s_num_out * dm_close) \
             FROM holding_summary, security, last_trade, daily_market \
             WHERE hs_ca_id = ?1 AND s_symb = hs_s_symb \
             AND lt_s_symb = s_symb AND dm_s_symb = s_symb AND dm_date = ?2"
            reads holding_summary of [hs_ca_id, hs_s_symb],
            reads security of [s_num_out, s_symb],
            reads last_trade of [lt_price, lt_s_symb],
            reads daily_market of [dm_close, dm_s_symb, dm_date];
        WATCH_BY_INDUSTRY: [Varchar(50), I, I, T] -> [MONEY, MONEY] =
            "SELECT SUM(s_num_out * lt_price), SUM(s_num_out * dm_close) \
             FROM industry, company, security, last_trade, daily_market \
             WHERE in_name = ?1 AND co_in_id = in_id AND co_id >= ?2 AND co_id <= ?3 \
             AND s_co_id = co_id AND lt_s_symb = s_symb AND dm_s_symb = s_symb AND dm_date = ?4"
            reads industry of [in_name, in_id],
            reads company by [company_by_industry] of [co_in_id, co_id],
            reads security by [security_by_company, key] of [s_num_out, s_co_id, s_symb],
            reads last_trade of [lt_price, lt_s_symb],
            reads daily_market of [dm_close, dm_s_symb, dm_date];
    }
    /// Security-Detail (clause 3.3.5).
    SecurityDetail {
        SECURITY_DETAIL: [SYMBOL] -> [
            Varchar(70), I, Varchar(60), Varchar(4), Varchar(46), Varchar(150), T, Char(4),
            Varchar(80), Varchar(80), Varchar(80), Varchar(80), Varchar(12), Varchar(80),
            I, T, T, MONEY, MONEY, T, MONEY, T, MONEY, MONEY,
            Varchar(80), Varchar(80), Varchar(80), Varchar(80), Varchar(12), Varchar(80),
            I, Varchar(150), Varchar(100), I, I
        ] =
            "SELECT s_name, co_id, co_name, co_sp_rate, co_ceo, co_desc, co_open_date, co_st_id, \
             ca.ad_line1, ca.ad_line2, cz.zc_town, cz.zc_div, ca.ad_zc_code, ca.ad_ctry, \
             s_num_out, s_start_date, s_exch_date, s_pe, s_52wk_high, s_52wk_high_date, \
             s_52wk_low, s_52wk_low_date, s_dividend, s_yield, \
             ea.ad_line1, ea.ad_line2, ez.zc_town, ez.zc_div, ea.ad_zc_code, ea.ad_ctry, \
             ex_close, ex_desc, ex_name, ex_num_symb, ex_open \
             FROM security, company, address ca, zip_code cz, exchange, address ea, zip_code ez \
             WHERE s_symb = ?1 AND co_id = s_co_id AND ca.ad_id = co_ad_id \
             AND cz.zc_code = ca.ad_zc_code AND ex_id = s_ex_id AND ea.ad_id = ex_ad_id \
             AND ez.zc_code = ea.ad_zc_code"
            reads security of [s_name, s_num_out, s_start_date, s_exch_date, s_pe, s_52wk_high,
                s_52wk_high_date, s_52wk_low, s_52wk_low_date, s_dividend, s_yield, s_symb, s_co_id,
                s_ex_id],
            reads company of [co_id, co_name, co_sp_rate, co_ceo, co_desc, co_open_date, co_st_id,
                co_ad_id],
            reads address of [ad_line1, ad_line2, ad_zc_code, ad_ctry, ad_id],
            reads zip_code of [zc_town, zc_div, zc_code],
            reads exchange of [ex_close, ex_desc, ex_name, ex_num_symb, ex_open, ex_id, ex_ad_id];
        COMPETITORS: [I] -> [Varchar(60), Varchar(50)] =
            "SELECT co_name, in_name FROM company_competitor, company, industry \
             WHERE cp_co_id = ?1 AND co_id = cp_comp_co_id AND in_id = cp_in_id LIMIT 3"
            reads company_competitor of [cp_co_id, cp_comp_co_id, cp_in_id],
            reads company of [co_name, co_id],
            reads industry of [in_name, in_id];
        FINANCIALS: [I] -> [I, I, T, MONEY, MONEY, MONEY, MONEY, MONEY, MONEY, MONEY, MONEY, I, I] =
            "SELECT fi_year, fi_qtr, fi_qtr_start_date, fi_revenue, fi_net_earn, fi_basic_eps, \
             fi_dilut_eps, fi_margin, fi_inventory, fi_assets, fi_liability, fi_out_basic, \
             fi_out_dilut FROM financial WHERE fi_co_id = ?1 ORDER BY fi_year, fi_qtr LIMIT 20"
            reads financial of [fi_year, fi_qtr, fi_qtr_start_date, fi_revenue, fi_net_earn,
                fi_basic_eps, fi_dilut_eps, fi_margin, fi_inventory, fi_assets, fi_liability,
                fi_out_basic, fi_out_dilut, fi_co_id];
        DAYS: [SYMBOL, T, I] -> [T, MONEY, MONEY, MONEY, I] =
            "SELECT dm_date, dm_close, dm_high, dm_low, dm_vol FROM daily_market \
             WHERE dm_s_symb = ?1 AND dm_date >= ?2 ORDER BY dm_date LIMIT ?3"
            reads daily_market of [dm_date, dm_close, dm_high, dm_low, dm_vol, dm_s_symb];
        LAST_PRICES: [SYMBOL] -> [MONEY, MONEY, I] =
            "SELECT lt_price, lt_open_price, lt_vol FROM last_trade WHERE lt_s_symb = ?1"
            reads last_trade of [lt_price, lt_open_price, lt_vol, lt_s_symb];
        NEWS_WHOLE: [I] -> [Varchar(100_000), T, Varchar(30), Varchar(30)] =
            "SELECT ni_item, ni_dts, ni_source, ni_author FROM news_xref, news_item \
             WHERE nx_co_id = ?1 AND ni_id = nx_ni_id LIMIT 2"
            reads news_xref of [nx_co_id, nx_ni_id],
            reads news_item of [ni_item, ni_dts, ni_source, ni_author, ni_id];
        NEWS: [I] -> [T, Varchar(30), Varchar(30), Varchar(80), Varchar(255)] =
            "SELECT ni_dts, ni_source, ni_author, ni_headline, ni_summary FROM news_xref, news_item \
             WHERE nx_co_id = ?1 AND ni_id = nx_ni_id LIMIT 2"
            reads news_xref of [nx_co_id, nx_ni_id],
            reads news_item of [ni_dts, ni_source, ni_author, ni_headline, ni_summary, ni_id];
    }
    /// Trade-Lookup and Trade-Update (clauses 3.3.6 and 3.3.10).
    TradeLookup {
        TRADE_BY_ID: [I] -> [MONEY, Varchar(49), I, I, MONEY] =
            "SELECT t_bid_price, t_exec_name, t_is_cash, tt_is_mrkt, t_trade_price \
             FROM trade, trade_type WHERE t_id = ?1 AND tt_id = t_tt_id"
            reads trade of [t_bid_price, t_exec_name, t_is_cash, t_trade_price, t_id, t_tt_id],
            reads trade_type of [tt_is_mrkt, tt_id];
        TRADES_OF_ACCOUNT: [I, T, T] -> [I, I, MONEY, Varchar(49), MONEY] =
            "SELECT t_id, t_is_cash, t_bid_price, t_exec_name, t_trade_price FROM trade \
             WHERE t_ca_id = ?1 AND t_dts >= ?2 AND t_dts <= ?3 ORDER BY t_dts LIMIT 20"
            reads trade by [trade_by_account, entry] of [t_id, t_is_cash, t_bid_price, t_exec_name,
                t_trade_price, t_ca_id, t_dts];
        TRADES_OF_SECURITY: [SYMBOL, T, T] -> [I, I, I, Varchar(49), MONEY, I, T, KIND] =
            "SELECT t_id, t_is_cash, t_ca_id, t_exec_name, t_trade_price, t_qty, t_dts, t_tt_id \
             FROM trade WHERE t_s_symb = ?1 AND t_dts >= ?2 AND t_dts <= ?3 \
             ORDER BY t_dts LIMIT 20"
            reads trade by [trade_by_security, entry] of [t_id, t_is_cash, t_ca_id, t_exec_name,
                t_trade_price, t_qty, t_dts, t_tt_id, t_s_symb];
        TRADES_WITH_NAMES: [SYMBOL, T, T]
            -> [I, I, I, Varchar(49), MONEY, I, T, KIND, Varchar(70), Varchar(12)] =
            "SELECT t_id, t_is_cash, t_ca_id, t_exec_name, t_trade_price, t_qty, t_dts, t_tt_id, \
             s_name, tt_name FROM trade, trade_type, security \
             WHERE t_s_symb = ?1 AND t_dts >= ?2 AND t_dts <= ?3 \
             AND tt_id = t_tt_id AND s_symb = t_s_symb ORDER BY t_dts LIMIT 20"
            reads trade by [trade_by_security, entry] of [t_id, t_is_cash, t_ca_id, t_exec_name,
                t_trade_price, t_qty, t_dts, t_tt_id, t_s_symb],
            reads trade_type of [tt_name, tt_id],
            reads security of [s_name, s_symb];
        SETTLEMENT: [I] -> [MONEY, T, Varchar(40)] =
            "SELECT se_amt, se_cash_due_date, se_cash_type FROM settlement WHERE se_t_id = ?1"
            reads settlement of [se_amt, se_cash_due_date, se_cash_type, se_t_id];
        CASH_TRANSACTION: [I] -> [MONEY, T, Varchar(100)] =
            "SELECT ct_amt, ct_dts, ct_name FROM cash_transaction WHERE ct_t_id = ?1"
            reads cash_transaction of [ct_amt, ct_dts, ct_name, ct_t_id];
        HISTORY: [I] -> [T, STATUS] =
            "SELECT th_dts, th_st_id FROM trade_history WHERE th_t_id = ?1 ORDER BY th_dts LIMIT 3"
            reads trade_history of [th_dts, th_st_id, th_t_id];
        FIRST_TRADE: [I, T] -> [I] =
            "SELECT t_id FROM trade WHERE t_ca_id = ?1 AND t_dts >= ?2 ORDER BY t_dts LIMIT 1"
            reads trade by [trade_by_account, entry] of [t_id, t_ca_id, t_dts];
        HOLDING_HISTORY: [I] -> [I, I, I, I] =
            "SELECT hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty FROM holding_history \
             WHERE hh_h_t_id IN (SELECT hh_h_t_id FROM holding_history WHERE hh_t_id = ?1) LIMIT 20"
            reads holding_history by [key, holding_history_by_lot, entry] of [hh_h_t_id, hh_t_id,
                hh_before_qty, hh_after_qty];
        EXEC_NAME: [I] -> [Varchar(49)] = "SELECT t_exec_name FROM trade WHERE t_id = ?1"
            reads trade of [t_exec_name, t_id];
        SET_EXEC_NAME: [Varchar(49), I] =
            "UPDATE trade SET t_exec_name = ?1 WHERE t_id = ?2"
            updates trade of [t_id] sets [t_exec_name];
        CASH_TYPE: [I] -> [Varchar(40)] = "SELECT se_cash_type FROM settlement WHERE se_t_id = ?1"
            reads settlement of [se_cash_type, se_t_id];
        SET_CASH_TYPE: [Varchar(40), I] =
            "UPDATE settlement SET se_cash_type = ?1 WHERE se_t_id = ?2"
            updates settlement of [se_t_id] sets [se_cash_type];
        CASH_NAME: [I] -> [Varchar(100)] =
            "SELECT ct_name FROM cash_transaction WHERE ct_t_id = ?1"
            reads cash_transaction of [ct_name, ct_t_id];
        SET_CASH_NAME: [Varchar(100), I] =
            "UPDATE cash_transaction SET ct_name = ?1 WHERE ct_t_id = ?2"
            updates cash_transaction of [ct_t_id] sets [ct_name];
    }
    /// Trade-Status (clause 3.3.9).
    TradeStatus {
        LATEST_TRADES: [I]
            -> [I, T, Varchar(10), Varchar(12), SYMBOL, I, Varchar(49), MONEY, Varchar(70), Varchar(100)] =
            "SELECT t_id, t_dts, st_name, tt_name, t_s_symb, t_qty, t_exec_name, t_chrg, s_name, \
             ex_name FROM trade, status_type, trade_type, security, exchange \
             WHERE t_ca_id = ?1 AND st_id = t_st_id AND tt_id = t_tt_id AND s_symb = t_s_symb \
             AND ex_id = s_ex_id ORDER BY t_dts DESC LIMIT 50"
            reads trade by [trade_by_account, entry] of [t_id, t_dts, t_s_symb, t_qty, t_exec_name,
                t_chrg, t_ca_id, t_st_id, t_tt_id],
            reads status_type of [st_name, st_id],
            reads trade_type of [tt_name, tt_id],
            reads security of [s_name, s_symb, s_ex_id],
            reads exchange of [ex_name, ex_id];
        ACCOUNT_PEOPLE: [I] -> [Varchar(25), Varchar(20), Varchar(49)] =
            "SELECT c_l_name, c_f_name, b_name FROM customer_account, customer, broker \
             WHERE ca_id = ?1 AND c_id = ca_c_id AND b_id = ca_b_id"
            reads customer_account of [ca_id, ca_c_id, ca_b_id],
            reads customer of [c_l_name, c_f_name, c_id],
            reads broker of [b_name, b_id];
    }
    /// Trade-Order (clause 3.3.7).
    TradeOrder {
        ACCOUNT: [I] -> [Varchar(50), I, I, I] =
            "SELECT ca_name, ca_b_id, ca_c_id, ca_tax_st FROM customer_account WHERE ca_id = ?1"
            reads customer_account of [ca_name, ca_b_id, ca_c_id, ca_tax_st, ca_id];
        CUSTOMER_NAMES: [I] -> [Varchar(20), Varchar(25), I, Varchar(20)] =
            "SELECT c_f_name, c_l_name, c_tier, c_tax_id FROM customer WHERE c_id = ?1"
            reads customer of [c_f_name, c_l_name, c_tier, c_tax_id, c_id];
        BROKER_NAME: [I] -> [Varchar(49)] = "SELECT b_name FROM broker WHERE b_id = ?1"
            reads broker of [b_name, b_id];
        PERMISSION: [I, Varchar(20), Varchar(25), Varchar(20)] -> [Char(4)] =
            "SELECT ap_acl FROM account_permission WHERE ap_ca_id = ?1 AND ap_f_name = ?2 \
             AND ap_l_name = ?3 AND ap_tax_id = ?4"
            reads account_permission of [ap_acl, ap_ca_id, ap_f_name, ap_l_name, ap_tax_id];
        COMPANY_BY_NAME: [Varchar(60)] -> [I] = "SELECT co_id FROM company WHERE co_name = ?1"
            reads company by [company_by_name, entry] of [co_id, co_name];
        SECURITY_OF_COMPANY: [I, Varchar(6)] -> [EXCHANGE, Varchar(70), SYMBOL] =
            "SELECT s_ex_id, s_name, s_symb FROM security WHERE s_co_id = ?1 AND s_issue = ?2"
            reads security by [security_by_company, entry] of [s_ex_id, s_name, s_symb, s_co_id,
                s_issue];
        SECURITY: [SYMBOL] -> [I, EXCHANGE, Varchar(70)] =
            "SELECT s_co_id, s_ex_id, s_name FROM security WHERE s_symb = ?1"
            reads security of [s_co_id, s_ex_id, s_name, s_symb];
        COMPANY_NAME: [I] -> [Varchar(60)] = "SELECT co_name FROM company WHERE co_id = ?1"
            reads company of [co_name, co_id];
        LAST_PRICE: [SYMBOL] -> [MONEY] = "SELECT lt_price FROM last_trade WHERE lt_s_symb = ?1"
            reads last_trade of [lt_price, lt_s_symb];
        TRADE_TYPE: [KIND] -> [I, I] =
            "SELECT tt_is_mrkt, tt_is_sell FROM trade_type WHERE tt_id = ?1"
            reads trade_type of [tt_is_mrkt, tt_is_sell, tt_id];
        HELD: [I, SYMBOL] -> [I] =
            "SELECT hs_qty FROM holding_summary WHERE hs_ca_id = ?1 AND hs_s_symb = ?2"
            reads holding_summary of [hs_qty, hs_ca_id, hs_s_symb];
        NEWEST_HOLDINGS: [I, SYMBOL] -> [I, I, MONEY] =
            "SELECT h_t_id, h_qty, h_price FROM holding WHERE h_ca_id = ?1 AND h_s_symb = ?2 \
             ORDER BY h_dts DESC, h_t_id DESC"
            reads holding by [holding_by_account, entry] of [h_t_id, h_qty, h_price, h_ca_id,
                h_s_symb, h_dts];
        OLDEST_HOLDINGS: [I, SYMBOL] -> [I, I, MONEY] =
            "SELECT h_t_id, h_qty, h_price FROM holding WHERE h_ca_id = ?1 AND h_s_symb = ?2 \
             ORDER BY h_dts, h_t_id"
            reads holding by [holding_by_account, entry] of [h_t_id, h_qty, h_price, h_ca_id,
                h_s_symb, h_dts];
        TAX_RATE: [I] -> [RATE] =
            "SELECT SUM(tx_rate) FROM customer_taxrate, taxrate WHERE cx_c_id = ?1 AND tx_id = cx_tx_id"
            reads customer_taxrate of [cx_c_id, cx_tx_id],
            reads taxrate of [tx_rate, tx_id];
        COMMISSION_RATE: [I, KIND, EXCHANGE, I] -> [MONEY] =
            "SELECT cr_rate FROM commission_rate WHERE cr_c_tier = ?1 AND cr_tt_id = ?2 \
             AND cr_ex_id = ?3 AND cr_from_qty <= ?4 AND cr_to_qty >= ?4"
            reads commission_rate of [cr_rate, cr_c_tier, cr_tt_id, cr_ex_id, cr_from_qty, cr_to_qty];
        CHARGE: [I, KIND] -> [MONEY] =
            "SELECT ch_chrg FROM charge WHERE ch_c_tier = ?1 AND ch_tt_id = ?2"
            reads charge of [ch_chrg, ch_c_tier, ch_tt_id];
        BALANCE: [I] -> [MONEY] = "SELECT ca_bal FROM customer_account WHERE ca_id = ?1"
            reads customer_account of [ca_bal, ca_id];
        HOLDINGS_VALUE: [I] -> [MONEY] =
            "SELECT COALESCE(SUM(hs_qty * lt_price), 0) FROM holding_summary, last_trade \
             WHERE hs_ca_id = ?1 AND lt_s_symb = hs_s_symb"
            reads holding_summary of [hs_qty, hs_ca_id, hs_s_symb],
            reads last_trade of [lt_price, lt_s_symb];
        INSERT_TRADE: [
            I, T, STATUS, KIND, I, SYMBOL, I, MONEY, I, Varchar(49), MONEY, MONEY, MONEY, I
        ] =
            "INSERT INTO trade (t_id, t_dts, t_st_id, t_tt_id, t_is_cash, t_s_symb, t_qty, \
             t_bid_price, t_ca_id, t_exec_name, t_trade_price, t_chrg, t_comm, t_tax, t_lifo) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, NULL, ?11, ?12, ?13, ?14)"
            inserts trade sets [t_id, t_dts, t_st_id, t_tt_id, t_is_cash, t_s_symb, t_qty,
                t_bid_price, t_ca_id, t_exec_name, t_trade_price, t_chrg, t_comm, t_tax, t_lifo];
        INSERT_REQUEST: [I, KIND, SYMBOL, I, MONEY, I] =
            "INSERT INTO trade_request (tr_t_id, tr_tt_id, tr_s_symb, tr_qty, tr_bid_price, tr_b_id) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
            inserts trade_request sets [tr_t_id, tr_tt_id, tr_s_symb, tr_qty, tr_bid_price, tr_b_id];
        INSERT_HISTORY: [I, T, STATUS] =
            "INSERT INTO trade_history (th_t_id, th_dts, th_st_id) VALUES (?1, ?2, ?3)"
            inserts trade_history sets [th_t_id, th_dts, th_st_id];
    }
    /// Trade-Result (clause 3.3.8).
    TradeResult {
        TRADE_TO_DO: [I] -> [I, KIND, SYMBOL, I, MONEY, I, I, STATUS] =
            "SELECT t_ca_id, t_tt_id, t_s_symb, t_qty, t_chrg, t_lifo, t_is_cash, t_st_id \
             FROM trade WHERE t_id = ?1"
            reads trade of [t_ca_id, t_tt_id, t_s_symb, t_qty, t_chrg, t_lifo, t_is_cash, t_st_id,
                t_id];
        TRADE_TYPE_NAME: [KIND] -> [Varchar(12), I, I] =
            "SELECT tt_name, tt_is_sell, tt_is_mrkt FROM trade_type WHERE tt_id = ?1"
            reads trade_type of [tt_name, tt_is_sell, tt_is_mrkt, tt_id];
        INSERT_SUMMARY: [I, SYMBOL, I] =
            "INSERT INTO holding_summary (hs_ca_id, hs_s_symb, hs_qty) VALUES (?1, ?2, ?3)"
            inserts holding_summary sets [hs_ca_id, hs_s_symb, hs_qty];
        UPDATE_SUMMARY: [I, I, SYMBOL] =
            "UPDATE holding_summary SET hs_qty = ?1 WHERE hs_ca_id = ?2 AND hs_s_symb = ?3"
            updates holding_summary of [hs_ca_id, hs_s_symb] sets [hs_qty];
        DELETE_SUMMARY: [I, SYMBOL] =
            "DELETE FROM holding_summary WHERE hs_ca_id = ?1 AND hs_s_symb = ?2"
            deletes holding_summary of [hs_ca_id, hs_s_symb];
        INSERT_HOLDING_HISTORY: [I, I, I, I] =
            "INSERT INTO holding_history (hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty) \
             VALUES (?1, ?2, ?3, ?4)"
            inserts holding_history sets [hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty];
        INSERT_HOLDING: [I, I, SYMBOL, T, MONEY, I] =
            "INSERT INTO holding (h_t_id, h_ca_id, h_s_symb, h_dts, h_price, h_qty) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
            inserts holding sets [h_t_id, h_ca_id, h_s_symb, h_dts, h_price, h_qty];
        UPDATE_HOLDING: [I, I] = "UPDATE holding SET h_qty = ?1 WHERE h_t_id = ?2"
            updates holding of [h_t_id] sets [h_qty];
        DELETE_HOLDING: [I] = "DELETE FROM holding WHERE h_t_id = ?1"
            deletes holding of [h_t_id];
        SET_TAX: [MONEY, I] = "UPDATE trade SET t_tax = ?1 WHERE t_id = ?2"
            updates trade of [t_id] sets [t_tax];
        SECURITY_NAME: [SYMBOL] -> [EXCHANGE, Varchar(70)] =
            "SELECT s_ex_id, s_name FROM security WHERE s_symb = ?1"
            reads security of [s_ex_id, s_name, s_symb];
        TIER: [I] -> [I] = "SELECT c_tier FROM customer WHERE c_id = ?1"
            reads customer of [c_tier, c_id];
        COMPLETE_TRADE: [MONEY, T, STATUS, MONEY, I] =
            "UPDATE trade SET t_comm = ?1, t_dts = ?2, t_st_id = ?3, t_trade_price = ?4 \
             WHERE t_id = ?5"
            updates trade of [t_id] sets [t_comm, t_dts, t_st_id, t_trade_price];
        PAY_BROKER: [MONEY, I, I] =
            "UPDATE broker SET b_comm_total = b_comm_total + ?1, b_num_trades = b_num_trades + ?2 \
             WHERE b_id = ?3"
            updates broker of [b_comm_total, b_num_trades, b_id] sets [b_comm_total, b_num_trades];
        INSERT_SETTLEMENT: [I, Varchar(40), T, MONEY] =
            "INSERT INTO settlement (se_t_id, se_cash_type, se_cash_due_date, se_amt) \
             VALUES (?1, ?2, ?3, ?4)"
            inserts settlement sets [se_t_id, se_cash_type, se_cash_due_date, se_amt];
        CHANGE_BALANCE: [MONEY, I] =
            "UPDATE customer_account SET ca_bal = ca_bal + ?1 WHERE ca_id = ?2"
            updates customer_account of [ca_bal, ca_id] sets [ca_bal];
        INSERT_CASH: [I, T, MONEY, Varchar(100)] =
            "INSERT INTO cash_transaction (ct_t_id, ct_dts, ct_amt, ct_name) \
             VALUES (?1, ?2, ?3, ?4)"
            inserts cash_transaction sets [ct_t_id, ct_dts, ct_amt, ct_name];
    }
    /// Market-Feed (clause 3.3.3).
    MarketFeed {
        SET_LAST_TRADE: [MONEY, I, T, SYMBOL] =
            "UPDATE last_trade SET lt_price = ?1, lt_vol = lt_vol + ?2, lt_dts = ?3 \
             WHERE lt_s_symb = ?4"
            updates last_trade of [lt_vol, lt_s_symb] sets [lt_price, lt_vol, lt_dts];
        REQUESTS: [SYMBOL, MONEY] -> [I, MONEY, KIND, I] =
            "SELECT tr_t_id, tr_bid_price, tr_tt_id, tr_qty FROM trade_request \
             WHERE tr_s_symb = ?1 AND ((tr_tt_id = 'TSL' AND tr_bid_price >= ?2) \
             OR (tr_tt_id = 'TLS' AND tr_bid_price <= ?2) \
             OR (tr_tt_id = 'TLB' AND tr_bid_price >= ?2)) ORDER BY tr_t_id"
            reads trade_request by [trade_request_by_security, entry] of [tr_t_id, tr_bid_price,
                tr_tt_id, tr_qty, tr_s_symb];
        DELETE_REQUEST: [I] = "DELETE FROM trade_request WHERE tr_t_id = ?1"
            deletes trade_request of [tr_t_id];
        SET_STATUS: [STATUS, T, I] =
            "UPDATE trade SET t_st_id = ?1, t_dts = ?2 WHERE t_id = ?3"
            updates trade of [t_id] sets [t_st_id, t_dts];
    }
    /// Data-Maintenance (clause 3.3.11).
    DataMaintenance {
        RIGHTS: [I] -> [Char(4)] =
            "SELECT ap_acl FROM account_permission WHERE ap_ca_id = ?1 ORDER BY ap_acl DESC LIMIT 1"
            reads account_permission of [ap_acl, ap_ca_id];
        SET_RIGHTS: [Char(4), I, Char(4)] =
            "UPDATE account_permission SET ap_acl = ?1 WHERE ap_ca_id = ?2 AND ap_acl = ?3"
            updates account_permission of [ap_ca_id, ap_acl] sets [ap_acl];
        CUSTOMER_ADDRESS: [I] -> [I, Varchar(80)] =
            "SELECT ad_id, ad_line2 FROM customer, address WHERE c_id = ?1 AND ad_id = c_ad_id"
            reads customer of [c_id, c_ad_id],
            reads address of [ad_id, ad_line2];
        COMPANY_ADDRESS: [I] -> [I, Varchar(80)] =
            "SELECT ad_id, ad_line2 FROM company, address WHERE co_id = ?1 AND ad_id = co_ad_id"
            reads company of [co_id, co_ad_id],
            reads address of [ad_id, ad_line2];
        SET_ADDRESS: [Varchar(80), I] = "UPDATE address SET ad_line2 = ?1 WHERE ad_id = ?2"
            updates address of [ad_id] sets [ad_line2];
        RATING: [I] -> [Varchar(4)] = "SELECT co_sp_rate FROM company WHERE co_id = ?1"
            reads company of [co_sp_rate, co_id];
        SET_RATING: [Varchar(4), I] = "UPDATE company SET co_sp_rate = ?1 WHERE co_id = ?2"
            updates company of [co_id] sets [co_sp_rate];
        MAIL: [I] -> [Varchar(50)] = "SELECT c_email_2 FROM customer WHERE c_id = ?1"
            reads customer of [c_email_2, c_id];
        SET_MAIL: [Varchar(50), I] = "UPDATE customer SET c_email_2 = ?1 WHERE c_id = ?2"
            updates customer of [c_id] sets [c_email_2];
        COUNTRY_RATE: [I] -> [Varchar(4)] =
            "SELECT cx_tx_id FROM customer_taxrate WHERE cx_c_id = ?1 \
             AND (cx_tx_id LIKE 'US%' OR cx_tx_id LIKE 'CN%')"
            reads customer_taxrate of [cx_tx_id, cx_c_id];
        SET_COUNTRY_RATE: [Varchar(4), I, Varchar(4)] =
            "UPDATE customer_taxrate SET cx_tx_id = ?1 WHERE cx_c_id = ?2 AND cx_tx_id = ?3"
            updates customer_taxrate of [cx_c_id, cx_tx_id] sets [cx_tx_id];
        ADD_VOLUME: [I, SYMBOL, T] =
            "UPDATE daily_market SET dm_vol = dm_vol + ?1 WHERE dm_s_symb = ?2 AND dm_date = ?3"
            updates daily_market of [dm_vol, dm_s_symb, dm_date] sets [dm_vol];
        EXCHANGES: [] -> [EXCHANGE, Varchar(150)] =
            "SELECT ex_id, ex_desc FROM exchange ORDER BY ex_id"
            reads exchange of [ex_id, ex_desc];
        SET_EXCHANGE: [Varchar(150), EXCHANGE] =
            "UPDATE exchange SET ex_desc = ?1 WHERE ex_id = ?2"
            updates exchange of [ex_id] sets [ex_desc];
        QUARTERS: [I] -> [I, I, T] =
            "SELECT fi_year, fi_qtr, fi_qtr_start_date FROM financial WHERE fi_co_id = ?1 \
             ORDER BY fi_year, fi_qtr"
            reads financial of [fi_year, fi_qtr, fi_qtr_start_date, fi_co_id];
        SET_QUARTER: [T, I, I, I] =
            "UPDATE financial SET fi_qtr_start_date = ?1 \
             WHERE fi_co_id = ?2 AND fi_year = ?3 AND fi_qtr = ?4"
            updates financial of [fi_co_id, fi_year, fi_qtr] sets [fi_qtr_start_date];
        NEWS_DATES: [I] -> [I, T] =
            "SELECT ni_id, ni_dts FROM news_xref, news_item WHERE nx_co_id = ?1 AND ni_id = nx_ni_id"
            reads news_xref of [nx_co_id, nx_ni_id],
            reads news_item of [ni_id, ni_dts];
        SET_NEWS_DATE: [T, I] = "UPDATE news_item SET ni_dts = ?1 WHERE ni_id = ?2"
            updates news_item of [ni_id] sets [ni_dts];
        LISTED: [SYMBOL] -> [T] = "SELECT s_exch_date FROM security WHERE s_symb = ?1"
            reads security of [s_exch_date, s_symb];
        SET_LISTED: [T, SYMBOL] = "UPDATE security SET s_exch_date = ?1 WHERE s_symb = ?2"
            updates security of [s_symb] sets [s_exch_date];
        RATE_NAME: [Varchar(4)] -> [Varchar(50)] = "SELECT tx_name FROM taxrate WHERE tx_id = ?1"
            reads taxrate of [tx_name, tx_id];
        SET_RATE_NAME: [Varchar(50), Varchar(4)] =
            "UPDATE taxrate SET tx_name = ?1 WHERE tx_id = ?2"
            updates taxrate of [tx_id] sets [tx_name];
        WATCHED: [I] -> [I, SYMBOL] =
            "SELECT wi_wl_id, wi_s_symb FROM watch_list, watch_item \
             WHERE wl_c_id = ?1 AND wi_wl_id = wl_id ORDER BY wi_s_symb"
            reads watch_list by [watch_list_by_customer] of [wl_c_id, wl_id],
            reads watch_item of [wi_wl_id, wi_s_symb];
        NOT_WATCHED: [SYMBOL, I] -> [SYMBOL] =
            "SELECT s_symb FROM security WHERE s_symb > ?1 AND s_symb NOT IN \
             (SELECT wi_s_symb FROM watch_item WHERE wi_wl_id = ?2) ORDER BY s_symb LIMIT 1"
            reads security of [s_symb],
            reads watch_item of [wi_s_symb, wi_wl_id];
        SET_WATCHED: [SYMBOL, I, SYMBOL] =
            "UPDATE watch_item SET wi_s_symb = ?1 WHERE wi_wl_id = ?2 AND wi_s_symb = ?3"
            updates watch_item of [wi_wl_id, wi_s_symb] sets [wi_s_symb];
    }
    /// What a run begins with, and Trade-Cleanup (clause 3.3.12).
    Begin {
        LAST_TRADE_ID: [] -> [I] = "SELECT MAX(t_id) FROM trade"
            reads trade of [t_id];
        LAST_TIME: [] -> [T] = "SELECT MAX(lt_dts) FROM last_trade"
            reads last_trade of [lt_dts];
        ALL_REQUESTS: [] -> [I] = "SELECT tr_t_id FROM trade_request ORDER BY tr_t_id"
            reads trade_request of [tr_t_id];
        SUBMITTED: [I, STATUS] -> [I] =
            "SELECT t_id FROM trade WHERE t_id >= ?1 AND t_st_id = ?2 ORDER BY t_id"
            reads trade of [t_id, t_st_id];
    }
    /// The conditions of clause 7.3, and those beyond them.
    Checks {
        CHECK_BROKERS: [] -> [I, I, MONEY] =
            "SELECT b_id, b_num_trades, b_comm_total FROM broker ORDER BY b_id"
            reads broker of [b_id, b_num_trades, b_comm_total];
        /// All of them, since a sum of each broker's may need more memory than there is.
        CHECK_COMPLETED: [STATUS] -> [I, MONEY] =
            "SELECT ca_b_id, t_comm FROM trade, customer_account \
             WHERE t_st_id = ?1 AND ca_id = t_ca_id"
            reads trade of [t_comm, t_st_id, t_ca_id],
            reads customer_account of [ca_b_id, ca_id];
        CHECK_SUMMARIES: [I, I] -> [I, SYMBOL, I] =
            "SELECT hs_ca_id, hs_s_symb, hs_qty FROM holding_summary \
             WHERE hs_ca_id >= ?1 AND hs_ca_id <= ?2 ORDER BY hs_ca_id, hs_s_symb"
            reads holding_summary of [hs_ca_id, hs_s_symb, hs_qty];
        CHECK_HOLDINGS: [I, I] -> [I, SYMBOL, I] =
            "SELECT h_ca_id, h_s_symb, SUM(h_qty) FROM holding \
             WHERE h_ca_id >= ?1 AND h_ca_id <= ?2 GROUP BY h_ca_id, h_s_symb \
             ORDER BY h_ca_id, h_s_symb"
            reads holding by [holding_by_account, entry] of [h_ca_id, h_s_symb, h_qty];
        CHECK_STATUSES: [] -> [I, I, I, I, I, I] =
            "SELECT COUNT(*), COALESCE(SUM(CASE WHEN t_st_id = 'CMPT' THEN 1 ELSE 0 END), 0), \
             COALESCE(SUM(CASE WHEN t_st_id = 'CMPT' THEN t_is_cash ELSE 0 END), 0), \
             COALESCE(SUM(CASE WHEN t_st_id = 'PNDG' THEN 1 ELSE 0 END), 0), \
             COALESCE(SUM(CASE WHEN t_st_id = 'CNCL' THEN 1 ELSE 0 END), 0), \
             COALESCE(SUM(CASE WHEN t_tt_id = 'TMB' THEN 0 WHEN t_tt_id = 'TMS' THEN 0 ELSE 1 END), 0) \
             FROM trade"
            reads trade of [t_st_id, t_is_cash, t_tt_id];
        CHECK_HISTORY: [] -> [I, I, I, I] =
            "SELECT COALESCE(SUM(CASE WHEN th_st_id = 'CMPT' THEN 1 ELSE 0 END), 0), \
             COALESCE(SUM(CASE WHEN th_st_id = 'CNCL' THEN 1 ELSE 0 END), 0), \
             COALESCE(SUM(CASE WHEN th_st_id = 'PNDG' THEN 1 ELSE 0 END), 0), \
             COALESCE(SUM(CASE WHEN th_st_id = 'SBMT' THEN 1 ELSE 0 END), 0) FROM trade_history"
            reads trade_history of [th_st_id];
        CHECK_CASH: [] -> [I, MONEY] =
            "SELECT COUNT(*), COALESCE(SUM(ct_amt), 0) FROM cash_transaction"
            reads cash_transaction of [ct_amt];
        CHECK_SETTLED_CASH: [] -> [I, MONEY] =
            "SELECT COUNT(*), COALESCE(SUM(se_amt), 0) FROM trade, settlement \
             WHERE se_t_id = t_id AND t_is_cash = 1"
            reads trade of [t_id, t_is_cash],
            reads settlement of [se_amt, se_t_id];
        CHECK_CHANGES: [] -> [I, I] =
            "SELECT COUNT(*), COALESCE(SUM(hh_after_qty - hh_before_qty), 0) FROM holding_history"
            reads holding_history of [hh_after_qty, hh_before_qty];
        CHECK_SHARES: [STATUS] -> [I] =
            "SELECT COALESCE(SUM(CASE WHEN tt_is_sell = 1 THEN -t_qty ELSE t_qty END), 0) \
             FROM trade, trade_type WHERE tt_id = t_tt_id AND t_st_id = ?1"
            reads trade of [t_qty, t_tt_id, t_st_id],
            reads trade_type of [tt_is_sell, tt_id];
        COUNT_SETTLEMENTS: [] -> [I] = "SELECT COUNT(*) FROM settlement"
            reads settlement;
        COUNT_REQUESTS: [] -> [I] = "SELECT COUNT(*) FROM trade_request"
            reads trade_request;
        COUNT_CUSTOMERS: [] -> [I] = "SELECT COUNT(*) FROM customer"
            reads customer;
        COUNT_ACCOUNTS: [] -> [I] = "SELECT COUNT(*) FROM customer_account"
            reads customer_account;
        COUNT_BROKERS: [] -> [I] = "SELECT COUNT(*) FROM broker"
            reads broker;
        COUNT_SECURITIES: [] -> [I] = "SELECT COUNT(*) FROM security"
            reads security;
        COUNT_LAST_TRADES: [] -> [I] = "SELECT COUNT(*) FROM last_trade"
            reads last_trade;
        COUNT_DAYS: [] -> [I] = "SELECT COUNT(*) FROM daily_market"
            reads daily_market;
        COUNT_COMPANIES: [] -> [I] = "SELECT COUNT(*) FROM company"
            reads company;
        COUNT_NEWS: [] -> [I] = "SELECT COUNT(*) FROM news_item"
            reads news_item;
        COUNT_WATCH_LISTS: [] -> [I] = "SELECT COUNT(*) FROM watch_list"
            reads watch_list;
    }
}
