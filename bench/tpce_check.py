#!/usr/bin/env python3
"""Checks a TPC-E-like database in an SQLite file: tpce_check.py FILE --customers 1000 ...

    bench/tpce_check.py FILE --customers 1000 --trade-days 5 --scale-factor 500
    bench/tpce_check.py FILE --customers 1000 --trade-days 5 --scale-factor 500 --after-run

Shares no code with the crates: it is written from the published rules of the tables, of the
initial population and of the transactions, and is a second opinion on what they make.

Without --after-run the file holds a fresh load. Checked are the tables, columns, keys and
cardinalities, the rules of the values, the initial trades one by one (ids, times, prices on
the price curve, commission, charge, tax, settlement, cash, history, lots of holdings), how
customers were picked, the three consistency conditions, foreign keys and check constraints.
With --after-run transactions have run on the file since, and checked is what they keep.

The file is opened for reading only. SQLite's folder for temporary files, SQLITE_TMPDIR, needs
room to sort the trades and the history of the holdings. The file's encoding: names of the
specification in lower case; decimals are whole numbers of their unscaled digits (cents; tx_rate
has 5 decimals, cr_rate and s_yield 2); dates and times are whole microseconds since
1970-01-01T00:00:00Z; booleans are 0 or 1; ids are shifted by 4,300,000,000 and trade ids by
200,000,000,000,000.

Prints a line for each check, `ok    NAME: value` or `WRONG NAME: found X, wanted Y`, and the
number of each at the end. Shares of random values may be 5 standard deviations off. Sums of
chi-square are bounded by their quantile of probability 1 - 1e-4. Exit code: 0 when all checks
hold, 1 when one does not, 2 for bad arguments or an unreadable file.
"""
import argparse
import datetime
import itertools
import math
import os
import re
import sqlite3
import sys
import urllib.parse

SHIFT = 4_300_000_000
TRADE_SHIFT = 200_000_000_000_000
UNIT = 1000  # customers of a load unit
SECOND = 1_000_000
DAY = 86_400 * SECOND
OPEN = 9 * 3600 * SECOND
WORK = 8 * 3600 * SECOND


def midnight(year, month, day):
    """Microseconds since 1970 of a date."""
    return (datetime.date(year, month, day) - datetime.date(1970, 1, 1)).days * DAY


BASE = midnight(2005, 1, 3)  # a Monday; trading starts at 09:00
DAILY_FIRST, DAILY_LAST = midnight(2000, 1, 3), midnight(2004, 12, 31)
DAILY_ROWS = 1305

# Tables with their columns. ID and the other capitals are the specification's types, cN is
# text of at most N characters, nN a number of at most N digits (the unscaled ones of a
# decimal), ? a column that may be null. In brackets stands the primary key.
TABLES = """
account_permission(ap_ca_id ap_tax_id): ap_ca_id ID, ap_acl c4, ap_tax_id c20, ap_l_name c25,
    ap_f_name c20
customer(c_id): c_id ID, c_tax_id c20, c_st_id c4, c_l_name c25, c_f_name c20, c_m_name c1?,
    c_gndr c1?, c_tier n1, c_dob date, c_ad_id ID, c_ctry_1 c3?, c_area_1 c3?, c_local_1 c10?,
    c_ext_1 c5?, c_ctry_2 c3?, c_area_2 c3?, c_local_2 c10?, c_ext_2 c5?, c_ctry_3 c3?,
    c_area_3 c3?, c_local_3 c10?, c_ext_3 c5?, c_email_1 c50?, c_email_2 c50?
customer_account(ca_id): ca_id ID, ca_b_id ID, ca_c_id ID, ca_name c50?, ca_tax_st n1,
    ca_bal BALANCE
customer_taxrate(cx_c_id cx_tx_id): cx_tx_id c4, cx_c_id ID
holding(h_t_id): h_t_id TRADE, h_ca_id ID, h_s_symb c15, h_dts time, h_price PRICE, h_qty QTY
holding_history(hh_h_t_id hh_t_id): hh_h_t_id TRADE, hh_t_id TRADE, hh_before_qty QTY,
    hh_after_qty QTY
holding_summary(hs_ca_id hs_s_symb): hs_ca_id ID, hs_s_symb c15, hs_qty QTY
watch_item(wi_wl_id wi_s_symb): wi_wl_id ID, wi_s_symb c15
watch_list(wl_id): wl_id ID, wl_c_id ID
broker(b_id): b_id ID, b_st_id c4, b_name c49, b_num_trades n9, b_comm_total BALANCE
cash_transaction(ct_t_id): ct_t_id TRADE, ct_dts time, ct_amt VALUE, ct_name c100?
charge(ch_tt_id ch_c_tier): ch_tt_id c3, ch_c_tier n1, ch_chrg VALUE
commission_rate(cr_c_tier cr_tt_id cr_ex_id cr_from_qty): cr_c_tier n1, cr_tt_id c3,
    cr_ex_id c6, cr_from_qty QTY, cr_to_qty QTY, cr_rate n5
settlement(se_t_id): se_t_id TRADE, se_cash_type c40, se_cash_due_date date, se_amt VALUE
trade(t_id): t_id TRADE, t_dts time, t_st_id c4, t_tt_id c3, t_is_cash bool, t_s_symb c15,
    t_qty QTY, t_bid_price PRICE, t_ca_id ID, t_exec_name c49, t_trade_price PRICE?,
    t_chrg VALUE, t_comm VALUE, t_tax VALUE, t_lifo bool
trade_history(th_t_id th_st_id): th_t_id TRADE, th_dts time, th_st_id c4
trade_request(tr_t_id): tr_t_id TRADE, tr_tt_id c3, tr_s_symb c15, tr_qty QTY,
    tr_bid_price PRICE, tr_b_id ID
trade_type(tt_id): tt_id c3, tt_name c12, tt_is_sell bool, tt_is_mrkt bool
company(co_id): co_id ID, co_st_id c4, co_name c60, co_in_id c2, co_sp_rate c4, co_ceo c46,
    co_ad_id ID, co_desc c150, co_open_date date
company_competitor(cp_co_id cp_comp_co_id cp_in_id): cp_co_id ID, cp_comp_co_id ID, cp_in_id c2
daily_market(dm_s_symb dm_date): dm_date date, dm_s_symb c15, dm_close PRICE, dm_high PRICE,
    dm_low PRICE, dm_vol COUNT
exchange(ex_id): ex_id c6, ex_name c100, ex_num_symb n6, ex_open n4, ex_close n4, ex_desc c150?,
    ex_ad_id ID
financial(fi_co_id fi_year fi_qtr): fi_co_id ID, fi_year n4, fi_qtr n1, fi_qtr_start_date date,
    fi_revenue FIN, fi_net_earn FIN, fi_basic_eps VALUE, fi_dilut_eps VALUE, fi_margin VALUE,
    fi_inventory FIN, fi_assets FIN, fi_liability FIN, fi_out_basic COUNT, fi_out_dilut COUNT
industry(in_id): in_id c2, in_name c50, in_sc_id c2
last_trade(lt_s_symb): lt_s_symb c15, lt_dts time, lt_price PRICE, lt_open_price PRICE,
    lt_vol COUNT
news_item(ni_id): ni_id ID, ni_headline c80, ni_summary c255, ni_item lob, ni_dts time,
    ni_source c30, ni_author c30?
news_xref(nx_ni_id nx_co_id): nx_ni_id ID, nx_co_id ID
sector(sc_id): sc_id c2, sc_name c30
security(s_symb): s_symb c15, s_issue c6, s_st_id c4, s_name c70, s_ex_id c6, s_co_id ID,
    s_num_out COUNT, s_start_date date, s_exch_date date, s_pe VALUE, s_52wk_high PRICE,
    s_52wk_high_date date, s_52wk_low PRICE, s_52wk_low_date date, s_dividend VALUE, s_yield n5
address(ad_id): ad_id ID, ad_line1 c80?, ad_line2 c80?, ad_zc_code c12, ad_ctry c80?
status_type(st_id): st_id c4, st_name c10
taxrate(tx_id): tx_id c4, tx_name c50, tx_rate n6
zip_code(zc_code): zc_code c12, zc_town c80, zc_div c80
"""

# Digits of the specification's types of numbers
DIGITS = {
    "ID": 11, "TRADE": 15, "COUNT": 12, "QTY": 6,
    "PRICE": 8, "VALUE": 10, "BALANCE": 12, "FIN": 15,
}

FOREIGN_KEYS = """
account_permission.ap_ca_id -> customer_account.ca_id
customer.c_st_id -> status_type.st_id
customer.c_ad_id -> address.ad_id
customer_account.ca_b_id -> broker.b_id
customer_account.ca_c_id -> customer.c_id
customer_taxrate.cx_tx_id -> taxrate.tx_id
customer_taxrate.cx_c_id -> customer.c_id
holding.h_t_id -> trade.t_id
holding.h_ca_id,h_s_symb -> holding_summary.hs_ca_id,hs_s_symb
holding_history.hh_h_t_id -> trade.t_id
holding_history.hh_t_id -> trade.t_id
holding_summary.hs_ca_id -> customer_account.ca_id
holding_summary.hs_s_symb -> security.s_symb
watch_item.wi_wl_id -> watch_list.wl_id
watch_item.wi_s_symb -> security.s_symb
watch_list.wl_c_id -> customer.c_id
broker.b_st_id -> status_type.st_id
cash_transaction.ct_t_id -> trade.t_id
charge.ch_tt_id -> trade_type.tt_id
commission_rate.cr_tt_id -> trade_type.tt_id
commission_rate.cr_ex_id -> exchange.ex_id
settlement.se_t_id -> trade.t_id
trade.t_st_id -> status_type.st_id
trade.t_tt_id -> trade_type.tt_id
trade.t_s_symb -> security.s_symb
trade.t_ca_id -> customer_account.ca_id
trade_history.th_t_id -> trade.t_id
trade_history.th_st_id -> status_type.st_id
trade_request.tr_t_id -> trade.t_id
trade_request.tr_tt_id -> trade_type.tt_id
trade_request.tr_s_symb -> security.s_symb
trade_request.tr_b_id -> broker.b_id
company.co_st_id -> status_type.st_id
company.co_in_id -> industry.in_id
company.co_ad_id -> address.ad_id
company_competitor.cp_co_id -> company.co_id
company_competitor.cp_comp_co_id -> company.co_id
company_competitor.cp_in_id -> industry.in_id
daily_market.dm_s_symb -> security.s_symb
exchange.ex_ad_id -> address.ad_id
financial.fi_co_id -> company.co_id
industry.in_sc_id -> sector.sc_id
last_trade.lt_s_symb -> security.s_symb
news_xref.nx_ni_id -> news_item.ni_id
news_xref.nx_co_id -> company.co_id
security.s_st_id -> status_type.st_id
security.s_ex_id -> exchange.ex_id
security.s_co_id -> company.co_id
address.ad_zc_code -> zip_code.zc_code
"""

CHECK_CONSTRAINTS = """
customer: c_tier IN (1, 2, 3)
customer: c_gndr IS NULL OR c_gndr IN ('M', 'F')
customer_account: ca_tax_st IN (0, 1, 2)
holding: h_price > 0
charge: ch_c_tier IN (1, 2, 3)
charge: ch_chrg >= 0
commission_rate: cr_c_tier IN (1, 2, 3)
commission_rate: cr_from_qty >= 0
commission_rate: cr_to_qty > cr_from_qty
commission_rate: cr_rate >= 0
trade: t_is_cash IN (0, 1) AND t_lifo IN (0, 1)
trade: t_qty > 0
trade: t_bid_price > 0
trade: t_chrg >= 0 AND t_comm >= 0 AND t_tax >= 0
trade_request: tr_qty > 0
trade_request: tr_bid_price > 0
trade_type: tt_is_sell IN (0, 1) AND tt_is_mrkt IN (0, 1)
financial: fi_qtr IN (1, 2, 3, 4)
taxrate: tx_rate >= 0
"""

STATUS_TYPES = {
    "CMPT": "Completed", "ACTV": "Active", "SBMT": "Submitted",
    "PNDG": "Pending", "CNCL": "Canceled",
}
# Name, is a sell, is a market order, charges of tier 1, 2, 3, percent of the trades
TRADE_TYPES = {
    "TMB": ("Market-Buy", 0, 1, (500, 450, 250), 30),
    "TMS": ("Market-Sell", 1, 1, (500, 450, 250), 30),
    "TSL": ("Stop-Loss", 1, 0, (650, 550, 350), 10),
    "TLS": ("Limit-Sell", 1, 0, (600, 500, 300), 10),
    "TLB": ("Limit-Buy", 0, 0, (600, 500, 300), 20),
}
# From quantity, to quantity, rates of tier 1, 2, 3 in hundredths of a percent; PCX takes 8 more.
COMMISSIONS = (
    (1, 200, (40, 36, 32)),
    (201, 500, (36, 32, 28)),
    (501, 2000, (32, 28, 24)),
    (2001, 999_999, (20, 16, 12)),
)
COUNTRY_RATES = {
    "US1": 15000, "US2": 27500, "US3": 30500, "US4": 35500, "US5": 39100,
    "CN1": 16000, "CN2": 22000, "CN3": 26000, "CN4": 29000,
}
# Securities of an exchange in the first 1, 2, ... 10 load units
EXCHANGES = {
    "NYSE": (153, 307, 491, 688, 859, 1028, 1203, 1360, 1532, 1704),
    "NASDAQ": (173, 344, 498, 658, 848, 1006, 1191, 1402, 1572, 1749),
    "AMEX": (189, 360, 534, 714, 875, 1023, 1174, 1342, 1507, 1666),
    "PCX": (170, 359, 532, 680, 843, 1053, 1227, 1376, 1554, 1731),
}
# Most securities of an account's basket: {tier: (accounts of the first, most of each)}
BASKETS = {
    1: (1, (14, 16, 18, 18)),
    2: (2, (13, 15, 16, 17, 18, 18, 18)),
    3: (5, (16, 16, 17, 17, 18, 18)),
}
# Youngest age of a bracket and percent of the customers; the last bracket ends before 100.
AGES = ((10, 5), (19, 16), (25, 17), (35, 19), (45, 16), (55, 11), (65, 8), (75, 7), (85, 1))
QUANTITIES = (100, 200, 400, 800)
TAX_ID = "[0-9]" * 3 + "[A-Z]" * 2 + "[0-9]" * 4 + "[A-Z]" * 2 + "[0-9]" * 3


def number(value):
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"


def quantile(freedom):
    """Chi-square that is passed with probability 1e-4, by Wilson and Hilferty."""
    part = 2 / (9 * freedom)
    return freedom * (1 - part + 3.719016 * math.sqrt(part)) ** 3


class Report:
    """Prints a line for each check, and counts."""

    def __init__(self):
        self.right = self.wrong = 0

    def say(self, name, holds, found, wanted):
        if holds:
            self.right += 1
            print(f"ok    {name}: {found}", flush=True)
        else:
            self.wrong += 1
            print(f"WRONG {name}: found {found}, wanted {wanted}", flush=True)

    def equal(self, name, found, wanted):
        shown = (number(found), number(wanted)) if isinstance(found, int) else (found, wanted)
        self.say(name, found == wanted, *shown)

    def within(self, name, found, low, high):
        holds = found is not None and low <= found <= high
        shown = "nothing" if found is None else number(found)
        bounds = f"{number(low)} to {number(high)}"
        self.say(name, holds, f"{shown} ({bounds})" if holds else shown, bounds)

    def mean(self, name, found, mean, deviation):
        """Within 5 standard deviations."""
        self.within(name, found, mean - 5 * deviation, mean + 5 * deviation)

    def share(self, name, found, of, probability):
        """A binomial count as percent, within 5 standard deviations."""
        if not of:
            self.say(name, False, "nothing to count", f"{100 * probability:g} %")
            return
        deviation = math.sqrt(probability * (1 - probability) / of)
        low, high = (100 * (probability + sign * 5 * deviation) for sign in (-1, 1))
        share = 100 * (found or 0) / of
        bounds = f"{low:.3f} to {high:.3f}"
        holds = low <= share <= high
        self.say(name, holds, f"{share:.3f} %" + (f" ({bounds})" if holds else ""), bounds)

    def chi_square(self, name, cells, freedom=None):
        """Cells are pairs of a found count and a wanted one."""
        cells = list(cells)
        if any(not wanted for _, wanted in cells) or not cells:
            self.say(name, False, "cells that nothing is wanted of", "counts")
            return
        freedom = freedom or len(cells) - 1
        found = sum((count - wanted) ** 2 / wanted for count, wanted in cells)
        bound = quantile(freedom)
        self.say(
            name,
            found <= bound,
            f"chi-square {found:.1f} of {freedom} degrees of freedom, bound {bound:.1f}",
            "less than the bound",
        )

    def none(self, name, count, of=None, example=None):
        """No row breaks a rule."""
        shown = f"{number(count or 0)} rows breaking it"
        if of is not None:
            shown += f" of {number(of)}"
        if count and example is not None:
            shown += f", one is {example}"
        self.say(name, not count, shown, "none")


class Database:
    """The file and what its load was asked for."""

    def __init__(self, path, customers, days, scale, after_run):
        where = urllib.parse.quote(os.path.abspath(path))
        self.db = sqlite3.connect(f"file:{where}?mode=ro", uri=True)
        self.db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        self.db.execute("PRAGMA cache_size = -262144")
        self.report = Report()
        self.customers, self.days, self.scale = customers, days, scale
        self.after_run = after_run
        self.units = customers // UNIT
        self.companies, self.securities = self.units * 500, self.units * 685
        self.brokers, self.accounts = self.units * 10, self.units * 5000
        # Trades, ids (one in 101 is a hole) of a load unit, and ids of its day
        self.unit_trades = days * 8 * 3600 * UNIT // scale
        self.unit_ids = self.unit_trades * 101 // 100
        self.day_ids = 8 * 3600 * UNIT // scale * 101 // 100
        self.trades = self.unit_trades * self.units
        self.end = BASE + (days // 5 * 7 + days % 5) * DAY + OPEN

    def rows(self, query, *values):
        return self.db.execute(query, values)

    def row(self, query, *values):
        return self.db.execute(query, values).fetchone()

    def value(self, query, *values):
        return self.db.execute(query, values).fetchone()[0]

    def counts(self, query, *values):
        """First column to second"""
        return dict(self.db.execute(query, values))

    def hold(self, source, rules, key=None):
        """Each rule, {name: condition}, holds for all rows of the source, in one pass.

        A condition that is null does not hold. The key names an example when one does not.
        """
        parts = ["count(*)"]
        for condition in rules.values():
            parts.append(f"sum(CASE WHEN {condition} THEN 0 ELSE 1 END)")
            parts.append(f"min(CASE WHEN {condition} THEN NULL ELSE {key or 'NULL'} END)")
        rows, *found = self.row(f"SELECT {', '.join(parts)} FROM {source}")
        for name, count, example in zip(rules, found[::2], found[1::2]):
            self.report.none(name, count, rows, example)

    def uniform(self, name, source, value, low, high, parts=20):
        """A whole number is uniform from low to high, both included."""
        size = high - low + 1
        parts = min(parts, size)
        found = self.counts(
            f"SELECT (({value}) - {low}) * {parts} / {size}, count(*) FROM {source} GROUP BY 1"
        )
        total = sum(found.values())
        edges = [-(-part * size // parts) for part in range(parts + 1)]
        strays = sum(count for part, count in found.items() if part not in range(parts))
        if strays:
            self.report.none(name + " (range)", strays, total)
        self.report.chi_square(
            name,
            (
                (found.get(part, 0), total * (edges[part + 1] - edges[part]) / size)
                for part in range(parts)
            ),
        )


def tables():
    """{table: (primary key, {column: type})}"""
    found = {}
    for name, key, columns in re.findall(
        r"^(\w+)\(([\w ]+)\):((?:.|\n )*)$", TABLES, re.MULTILINE
    ):
        found[name] = key.split(), dict(column.split() for column in columns.split(","))
    return found


def ordinals(customer):
    """Load unit with the shift, and the ordinal that is picked by weight, of a customer."""
    unit, low = divmod(customer - 1, UNIT)
    return unit, 613 * (low - 33 * (unit + 1)) % 1000


def tier(ordinal):
    return 1 if ordinal < 200 else 2 if ordinal < 800 else 3


def accounts_of(customer):
    """Number of accounts of a customer"""
    unit, ordinal = ordinals(customer)
    if ordinal < 200:
        return (3 * ordinal + unit + 1) % 200 % 4 + 1
    if ordinal < 800:
        return ((59 * ordinal + 47 * (unit + 1)) % 600 + 1) % 7 + 2
    return ((23 * ordinal + 17 * (unit + 1)) % 200 + 2) % 6 + 5


def weight(ordinal):
    """Probability that a customer of this ordinal is picked in his load unit"""
    if ordinal < 200:
        return (2 * ordinal + 301) / 500 / 2000
    if ordinal < 800:
        return (2 * ordinal + 1001) / 1000 / 2000
    return (2 * ordinal - 299) / 500 / 2000


# --- Tables, columns, keys and cardinalities


def check_tables(data):
    """Whether all are there, so that the other checks can be made."""
    found = {
        name: {row[1].lower() for row in data.rows(f"PRAGMA table_info({name})")}
        for name, in data.rows(
            "SELECT lower(name) FROM sqlite_master"
            " WHERE type = 'table' OR type = 'view' AND lower(name) = 'holding_summary'"
        )
        if re.fullmatch(r"\w+", name)
    }
    wanted = tables()
    missing = sorted(set(wanted) - set(found))
    data.report.say(
        "tables", not missing, f"{len(wanted) - len(missing)} of 33"
        + (f", not {', '.join(missing)}" if missing else ""), "all",
    )
    complete = not missing
    differing = []
    for name, (_, columns) in wanted.items():
        if name in found and found[name] != set(columns):
            differing.append(f"{name}: {' '.join(sorted(found[name] ^ set(columns)))}")
            complete = complete and set(columns) <= found[name]
    data.report.say(
        "columns", not differing, "; ".join(differing) or "those of the specification",
        "exactly those of the specification",
    )
    return complete


def check_keys(data):
    """Primary keys: by a declared key or unique index, else by counting."""
    counted = []
    for name, (key, _) in tables().items():
        declared = [{row[1] for row in data.rows(f"PRAGMA table_info({name})") if row[5]}]
        for index in data.rows(f"PRAGMA index_list({name})").fetchall():
            if index[2] and not index[4]:
                declared.append({row[2] for row in data.rows(f"PRAGMA index_info('{index[1]}')")})
        if set(key) in declared:
            continue
        columns = ", ".join(key)
        twice = data.value(
            f"SELECT count(*) FROM (SELECT 1 FROM {name} GROUP BY {columns} HAVING count(*) > 1)"
        )
        counted.append(name)
        data.report.none(f"primary key {name}({columns}), by counting", twice)
    data.report.say(
        "primary keys", True, f"{33 - len(counted)} declared, {len(counted)} counted", "33"
    )


def domain(column, kind):
    """The condition that a value is one of its type."""
    if kind.endswith("?"):
        return f"({column} IS NULL OR {domain(column, kind[:-1])})"
    if kind == "lob":
        return f"(typeof({column}) IN ('text', 'blob') AND length({column}) <= 100000)"
    if kind[0] == "c":
        return f"(typeof({column}) = 'text' AND length({column}) <= {kind[1:]})"
    condition = f"typeof({column}) = 'integer'"
    if kind == "bool":
        condition += f" AND {column} IN (0, 1)"
    elif kind == "date":
        condition += f" AND {column} % {DAY} = 0"
    elif kind != "time":
        limit = 10 ** (DIGITS.get(kind) or int(kind[1:]))
        condition += f" AND abs({column}) < {limit}"
        if kind in ("ID", "TRADE", "COUNT"):
            condition += f" AND {column} >= 0"
    return f"({condition})"


def check_domains(data):
    """Types, null, lengths of texts, digits of numbers, dates at midnight"""
    for name, (_, columns) in tables().items():
        rules = [domain(*column) for column in columns.items()]
        rows, *broken = data.row(
            f"SELECT count(*), {', '.join(f'total(NOT {rule})' for rule in rules)} FROM {name}"
        )
        wrong = [f"{column} {int(count):,}" for column, count in zip(columns, broken) if count]
        data.report.say(
            f"values of {name} are of their types",
            not wrong,
            f"rows breaking it: {', '.join(wrong)}" if wrong else f"{rows:,} rows",
            "none breaking it",
        )


def check_fixed_and_scaling(data):
    """Cardinalities of the tables that transactions do not make larger"""
    customers, report = data.customers, data.report
    for name, wanted in {
        "exchange": 4, "industry": 102, "sector": 12, "status_type": 5, "trade_type": 5,
        "charge": 15, "commission_rate": 240, "taxrate": 320, "zip_code": 14_741,
        "customer": customers,
        "customer_taxrate": 2 * customers,
        "customer_account": data.accounts,
        "address": customers + data.companies + 4,
        "broker": data.brokers,
        "company": data.companies,
        "company_competitor": 3 * data.companies,
        "security": data.securities,
        "last_trade": data.securities,
        "daily_market": DAILY_ROWS * data.securities,
        "financial": 20 * data.companies,
        "news_item": 2 * data.companies,
        "news_xref": 2 * data.companies,
        "watch_list": customers,
    }.items():
        report.equal(f"rows of {name}", data.value(f"SELECT count(*) FROM {name}"), wanted)
    # 38 % of the accounts have one more permission and 2 % two more: mean 0.42, mean of the
    # square 0.46, so a variance of 0.46 - 0.42 * 0.42.
    report.mean(
        "rows of account_permission",
        data.value("SELECT count(*) FROM account_permission"),
        1.42 * data.accounts,
        math.sqrt((0.46 - 0.42**2) * data.accounts),
    )
    # 101 lengths of equal probability
    report.mean(
        "rows of watch_item",
        data.value("SELECT count(*) FROM watch_item"),
        100 * customers,
        math.sqrt((101**2 - 1) / 12 * customers),
    )


def check_growing(data):
    """Cardinalities of the other tables after load"""
    count = {
        name: data.value(f"SELECT count(*) FROM {name}")
        for name in "trade settlement trade_request trade_history cash_transaction "
        "holding holding_history holding_summary".split()
    }
    report, trades = data.report, data.trades
    report.equal("rows of trade", count["trade"], trades)
    report.equal("rows of settlement", count["settlement"], trades)
    report.equal("rows of trade_request", count["trade_request"], 0)
    # 2 rows of a market order, 3 of the other 40 %
    report.mean(
        "rows of trade_history", count["trade_history"], 2.4 * trades,
        math.sqrt(0.4 * 0.6 * trades),
    )
    # All but the 16 % of the buys, half of all, that are on margin
    report.mean(
        "rows of cash_transaction", count["cash_transaction"], 0.92 * trades,
        math.sqrt(0.92 * 0.08 * trades),
    )
    # A trade ends with at most one row that opens a lot or that closes one in part, and lots
    # are closed in full at most as often as opened: 1 to 2 rows a trade. How many lots stay is
    # at most one a trade. Which pairs of account and security have a summary is derived from
    # the trades, below.
    report.within("rows of holding_history", count["holding_history"], trades, 2 * trades)
    report.within("rows of holding", count["holding"], 0, trades)
    report.within("rows of holding_summary", count["holding_summary"], 0, count["holding"])
    if data.days == 300 and data.scale == 500:
        # The specification's ratios are measured ones of many load units. Their digits and
        # the spread of the sizes of baskets (5 standard deviations of the mean of 5,000 are
        # about 3 %) allow for 0.5 %, 8 % and 4 %.
        for name, ratio, base, slack in (
            ("holding_history", 1.340, trades, 0.005),
            ("holding", 0.051, trades, 0.08),
            ("holding_summary", 9.956, data.accounts, 0.04),
        ):
            low, high = ((1 + sign * slack) * ratio for sign in (-1, 1))
            report.within(f"ratio of {name}", count[name] / base, low, high)


def check_foreign_keys(data):
    for line in FOREIGN_KEYS.strip().splitlines():
        child, columns, parent, keys = re.fullmatch(r"(\w+)\.(\S+) -> (\w+)\.(\S+)", line).groups()
        match = " AND ".join(
            f"p.{key} = c.{column}" for key, column in zip(keys.split(","), columns.split(","))
        )
        orphans = data.value(
            f"SELECT count(*) FROM {child} c LEFT JOIN {parent} p ON {match}"
            f" WHERE p.{keys.split(',')[0]} IS NULL"
        )
        data.report.none(f"foreign key {line}", orphans)


def check_constraints(data):
    for table, lines in itertools.groupby(
        CHECK_CONSTRAINTS.strip().splitlines(), lambda line: line.split(":")[0]
    ):
        conditions = [line.split(": ")[1] for line in lines]
        data.hold(table, {f"check {table}: {condition}": condition for condition in conditions})


# --- Rules of the values after load


def check_fixed_values(data):
    report = data.report
    found = data.counts("SELECT st_id, st_name FROM status_type")
    report.say("status types", found == STATUS_TYPES, found, STATUS_TYPES)
    found = {
        row[0]: row[1:]
        for row in data.rows("SELECT tt_id, tt_name, tt_is_sell, tt_is_mrkt FROM trade_type")
    }
    wanted = {name: row[:3] for name, row in TRADE_TYPES.items()}
    report.say("trade types", found == wanted, found, wanted)
    charges = {
        (name, tier_id): charge
        for name, row in TRADE_TYPES.items()
        for tier_id, charge in zip((1, 2, 3), row[3])
    }
    found = {
        row[:2]: row[2] for row in data.rows("SELECT ch_tt_id, ch_c_tier, ch_chrg FROM charge")
    }
    report.none("charges", sum(found.get(key) != charge for key, charge in charges.items()), 15)
    rates = {
        (tier_id, name, exchange, low): (high, rate + (8 if exchange == "PCX" else 0))
        for low, high, of_tier in COMMISSIONS
        for tier_id, rate in zip((1, 2, 3), of_tier)
        for name in TRADE_TYPES
        for exchange in EXCHANGES
    }
    found = {
        row[:4]: row[4:]
        for row in data.rows(
            "SELECT cr_c_tier, cr_tt_id, cr_ex_id, cr_from_qty, cr_to_qty, cr_rate"
            " FROM commission_rate"
        )
    }
    report.none("commission rates", sum(found.get(key) != row for key, row in rates.items()), 240)
    rates = data.counts("SELECT tx_id, tx_rate FROM taxrate")
    found = {name: rate for name, rate in rates.items() if name[:2] in ("US", "CN")}
    report.say("tax rates of countries", found == COUNTRY_RATES, found, COUNTRY_RATES)
    data.hold(
        "taxrate",
        {
            "tx_id is 2 letters and 1 or 2 digits":
                "tx_id GLOB '[A-Z][A-Z][0-9]' OR tx_id GLOB '[A-Z][A-Z][0-9][0-9]'",
            "tax rates of divisions are at most 0.4864, with 4 decimals":
                "substr(tx_id, 1, 2) IN ('US', 'CN') OR tx_rate <= 48640 AND tx_rate % 10 = 0",
        },
        "tx_id",
    )
    divisions = data.counts(
        "SELECT substr(tx_id, 1, 2), count(*) FROM taxrate"
        " WHERE substr(tx_id, 1, 2) NOT IN ('US', 'CN') GROUP BY 1"
    )
    report.equal("divisions with tax rates", len(divisions), 64)
    report.none(
        "1 to 10 tax rates a division", sum(not 1 <= n <= 10 for n in divisions.values()), 64
    )
    data.hold(
        "(SELECT sc_id, count(in_id) AS industries FROM sector LEFT JOIN industry"
        " ON in_sc_id = sc_id GROUP BY sc_id)",
        {
            "sc_id is 2 letters": "sc_id GLOB '[A-Z][A-Z]'",
            "a sector has industries": "industries > 0",
        },
        "sc_id",
    )
    data.hold("industry", {"in_id is 2 letters": "in_id GLOB '[A-Z][A-Z]'"}, "in_id")
    data.hold(
        "zip_code",
        {
            "zip code, town and division have text":
                "zc_code <> '' AND zc_town <> '' AND zc_div <> ''",
        },
        "zc_code",
    )


def check_id_ranges(data):
    """Ids follow one another without holes."""
    for table, column, count in (
        ("customer", "c_id", data.customers),
        ("broker", "b_id", data.brokers),
        ("company", "co_id", data.companies),
        ("address", "ad_id", 4 + data.companies + data.customers),
        ("news_item", "ni_id", 2 * data.companies),
        ("watch_list", "wl_id", data.customers),
    ):
        low, high, distinct = data.row(
            f"SELECT min({column}), max({column}), count(DISTINCT {column}) FROM {table}"
        )
        data.report.say(
            f"ids {column}",
            (low, high, distinct) == (SHIFT + 1, SHIFT + count, count),
            f"{low} to {high}, {distinct} of them",
            f"{SHIFT + 1} to {SHIFT + count}, {count} of them",
        )


def check_customers(data):
    report = data.report
    found = {}
    wrong = 0
    for customer, of_tier in data.rows("SELECT c_id, c_tier FROM customer"):
        wrong += of_tier != tier(ordinals(customer)[1])
        unit = found.setdefault((customer - SHIFT - 1) // UNIT, {1: 0, 2: 0, 3: 0})
        unit[of_tier] = unit.get(of_tier, 0) + 1
    report.none("c_tier of the permutation", wrong, data.customers)
    report.none(
        "200, 600 and 200 customers of tier 1, 2, 3 in each load unit",
        sum(unit != {1: 200, 2: 600, 3: 200} for unit in found.values()), len(found),
    )
    first, last = midnight(1905, 1, 3), midnight(1995, 1, 3)
    rules = {
        "c_tax_id is nnnaannnnaannn": f"c_tax_id GLOB '{TAX_ID}'",
        "c_st_id is ACTV": "c_st_id = 'ACTV'",
        "names of customers": "c_l_name <> '' AND c_f_name <> '' AND c_m_name GLOB '[A-Z]'",
        "c_gndr is M or F": "c_gndr IN ('M', 'F')",
        # Ages of 10 to 99; a day of grace as to which end of a bracket counts
        "c_dob": f"c_dob BETWEEN {first - DAY} AND {last + DAY}",
        "c_ad_id follows from c_id": f"c_ad_id = c_id + 4 + {data.companies}",
        "e-mail domains differ":
            "substr(c_email_1, instr(c_email_1, '@')) <> substr(c_email_2, instr(c_email_2, '@'))",
    }
    for k in (1, 2, 3):
        rules[f"phone {k}"] = (
            f"c_ctry_{k} = '011' AND c_area_{k} GLOB '{'[0-9]' * 3}'"
            f" AND c_local_{k} GLOB '{'[0-9]' * 7}'"
            f" AND (coalesce(c_ext_{k}, '') = '' OR c_ext_{k} GLOB '{'[0-9]' * 3}')"
        )
    for k in (1, 2):
        rules[f"e-mail {k} is of the name"] = (
            f"instr(lower(c_email_{k}), lower(substr(c_f_name, 1, 1) || c_l_name || '@')) = 1"
            f" AND instr(c_email_{k}, '@') < length(c_email_{k})"
        )
    data.hold("customer", rules, "c_id")
    report.equal(
        "different c_tax_id", data.value("SELECT count(DISTINCT c_tax_id) FROM customer"),
        data.customers,
    )
    domains = data.value(
        "SELECT count(DISTINCT lower(substr(mail, instr(mail, '@')))) FROM"
        " (SELECT c_email_1 AS mail FROM customer UNION ALL SELECT c_email_2 FROM customer)"
    )
    report.equal("e-mail domains", domains, 6)
    count = data.customers
    report.share(
        "c_gndr is M", data.value("SELECT count(*) FROM customer WHERE c_gndr = 'M'"), count, 0.49
    )
    for k, share in ((1, 0.25), (2, 0.15), (3, 0.05)):
        with_extension = data.value(f"SELECT count(*) FROM customer WHERE c_ext_{k} <> ''")
        report.share(f"phone {k} has an extension", with_extension, count, share)
    letters = data.counts("SELECT c_m_name, count(*) FROM customer GROUP BY 1")
    report.chi_square(
        "c_m_name is uniform",
        ((letters.get(chr(65 + letter), 0), count / 26) for letter in range(26)),
    )
    found = [0] * len(AGES)
    for born, in data.rows("SELECT c_dob FROM customer"):
        older = sum(born <= midnight(2005 - age, 1, 3) for age, _ in AGES)
        found[max(older, 1) - 1] += 1
    report.chi_square(
        "brackets of ages", ((n, count * share / 100) for n, (_, share) in zip(found, AGES))
    )


def check_customer_taxrates(data):
    """One rate of the country and one of the division that the address is in"""
    data.hold(
        "(SELECT c_id, max(ad_ctry) AS country, count(cx_tx_id) AS n,"
        " count(CASE WHEN substr(cx_tx_id, 1, 2) = 'US' THEN 1 END) AS us,"
        " count(CASE WHEN substr(cx_tx_id, 1, 2) = 'CN' THEN 1 END) AS cn"
        " FROM customer LEFT JOIN address ON ad_id = c_ad_id"
        " LEFT JOIN customer_taxrate ON cx_c_id = c_id GROUP BY c_id)",
        {
            "a tax rate of the country and one of the division":
                "n = 2 AND us = (country = 'USA') AND cn = (country = 'CANADA')",
        },
        "c_id",
    )
    data.hold(
        "(SELECT zc_div, count(DISTINCT substr(cx_tx_id, 1, 2)) AS prefixes"
        " FROM customer_taxrate JOIN customer ON c_id = cx_c_id JOIN address ON ad_id = c_ad_id"
        " JOIN zip_code ON zc_code = ad_zc_code"
        " WHERE substr(cx_tx_id, 1, 2) NOT IN ('US', 'CN') GROUP BY zc_div)",
        {"customers of a division have its tax rates": "prefixes = 1"},
        "zc_div",
    )
    found = data.counts("SELECT cx_tx_id, count(*) FROM customer_taxrate GROUP BY 1")
    for country, rates in (("US", 5), ("CN", 4)):
        of_country = [found.get(f"{country}{rate}", 0) for rate in range(1, rates + 1)]
        if sum(of_country):
            data.report.chi_square(
                f"tax rates of {country} are uniform",
                ((count, sum(of_country) / rates) for count in of_country),
            )


def check_accounts(data):
    report = data.report
    low = data.value("SELECT min(ca_id) FROM customer_account")
    # (C_ID - 1) * 10 + 1 with the shifted C_ID, or with the shift added to the account's id
    base = 10 * SHIFT if low and low > 10 * SHIFT else SHIFT
    found, tiers = {}, {}
    for account, customer in data.rows("SELECT ca_id, ca_c_id FROM customer_account"):
        found.setdefault(customer, set()).add(account)
    wrong = 0
    for customer in range(SHIFT + 1, SHIFT + data.customers + 1):
        first = base + (customer - SHIFT - 1) * 10 + 1
        count = accounts_of(customer)
        wrong += found.get(customer) != set(range(first, first + count))
        unit, ordinal = ordinals(customer)
        key = unit, tier(ordinal)
        tiers[key] = tiers.get(key, 0) + len(found.get(customer, ()))
    report.say("ids of accounts", base + 1 == low, f"from {low}", f"from {base + 1}")
    report.none("number and ids of the accounts of a customer", wrong, data.customers)
    report.none(
        "500, 3000 and 1500 accounts of tier 1, 2, 3 in each load unit",
        sum(count != (500, 3000, 1500)[key[1] - 1] for key, count in tiers.items()), len(tiers),
    )
    data.hold(
        "customer_account LEFT JOIN customer ON c_id = ca_c_id",
        {
            "brokers of accounts are of the load unit":
                f"(ca_b_id - {SHIFT} - 1) / 10 = (ca_c_id - {SHIFT} - 1) / {UNIT}",
            "ca_name begins with the owner":
                "instr(ca_name, c_f_name || ' ' || c_l_name || ' ') = 1"
                " AND length(ca_name) > length(c_f_name) + length(c_l_name) + 2",
            "ca_bal": "abs(ca_bal) <= 999999999",
        },
        "ca_id",
    )
    brokers = data.counts("SELECT ca_b_id, count(*) FROM customer_account GROUP BY 1")
    report.chi_square(
        "accounts of brokers are uniform",
        ((brokers.get(SHIFT + broker, 0), 500) for broker in range(1, data.brokers + 1)),
        9 * data.units,
    )
    statuses = data.counts("SELECT ca_tax_st, count(*) FROM customer_account GROUP BY 1")
    report.chi_square(
        "tax status shares",
        ((statuses.get(k, 0), share * data.accounts) for k, share in enumerate((0.2, 0.5, 0.3))),
    )
    report.share(
        "ca_bal is negative",
        data.value("SELECT count(*) FROM customer_account WHERE ca_bal < 0"), data.accounts, 0.2,
    )
    data.uniform("ca_bal, positive", "customer_account WHERE ca_bal >= 0", "ca_bal", 0, 999_999_999)
    data.uniform("ca_bal, negative", "customer_account WHERE ca_bal < 0", "-ca_bal", 1, 999_999_999)
    # The type of an account is picked by the id, from 11 names when it is not taxed, else
    # from 13. A name as long as the column may be cut.
    for taxed, size in ((0, 11), (1, 13)):
        source = (
            "SELECT ca_id, substr(ca_name, length(c_f_name) + length(c_l_name) + 3) AS type"
            " FROM customer_account JOIN customer ON c_id = ca_c_id"
            f" WHERE (ca_tax_st <> 0) = {taxed} AND length(ca_name) < 50"
        )
        report.equal(
            "names of types of accounts that are " + ("taxed" if taxed else "not taxed"),
            data.value(f"SELECT count(DISTINCT type) FROM ({source})"), size,
        )
        data.hold(
            f"(SELECT ca_id % {size} AS part, count(DISTINCT type) AS types FROM ({source})"
            " GROUP BY 1)",
            {f"type of account by the id's remainder of {size}": "types = 1"},
            "part",
        )


def check_permissions(data):
    report = data.report
    data.hold(
        "account_permission LEFT JOIN customer_account ON ca_id = ap_ca_id"
        " LEFT JOIN customer ON c_id = ca_c_id",
        {
            "ap_tax_id is nnnaannnnaannn": f"ap_tax_id GLOB '{TAX_ID}'",
            "names of permissions": "ap_l_name <> '' AND ap_f_name <> ''",
            "permission 0000 is the owner's, and only that":
                "(ap_acl = '0000') = (ap_tax_id = c_tax_id)",
            "names of owners": "ap_acl <> '0000' OR ap_l_name = c_l_name AND ap_f_name = c_f_name",
        },
        "ap_ca_id",
    )
    kinds = data.counts(
        "SELECT acls, count(*) FROM (SELECT ap_ca_id, group_concat(ap_acl) AS acls FROM"
        " (SELECT ap_ca_id, ap_acl FROM account_permission ORDER BY ap_ca_id, ap_acl)"
        " GROUP BY ap_ca_id) GROUP BY acls"
    )
    wanted = {"0000": 0.6, "0000,0001": 0.38, "0000,0001,0011": 0.02}
    report.none(
        "permissions are 0000, or also 0001, or also 0011",
        sum(count for kind, count in kinds.items() if kind not in wanted), data.accounts,
    )
    report.chi_square(
        "shares of accounts with 1, 2, 3 permissions",
        ((kinds.get(kind, 0), share * data.accounts) for kind, share in wanted.items()),
    )


def check_brokers(data):
    data.hold(
        "broker",
        {"b_st_id is ACTV": "b_st_id = 'ACTV'", "b_name": "b_name GLOB '?* [A-Z]. ?*'"},
        "b_id",
    )
    data.hold(
        f"(SELECT (b_id - {SHIFT} - 1) / 10 AS unit, sum(b_num_trades) AS trades FROM broker"
        " GROUP BY 1)",
        {"trades of the brokers of a load unit": f"trades = {data.unit_trades}"},
        "unit",
    )


def check_addresses(data):
    own = SHIFT + 4 + data.companies
    customers = f"ad_id > {own}"
    data.hold(
        "address",
        {
            "ad_line1 begins with 100 to 25000":
                "CAST(ad_line1 AS INTEGER) BETWEEN 100 AND 25000 AND ad_line1 GLOB '[1-9]* ?* ?*'",
            "ad_line2 of exchanges and companies is empty":
                f"{customers} OR coalesce(ad_line2, '') = ''",
            "ad_line2 of customers": "coalesce(ad_line2, '') = ''"
                " OR ad_line2 GLOB 'Apt. [1-9]*' AND CAST(substr(ad_line2, 6) AS INTEGER) <= 1000"
                " OR ad_line2 GLOB 'Suite [1-9]*' AND CAST(substr(ad_line2, 7) AS INTEGER) <= 500",
            "ad_ctry follows from the zip code":
                "ad_ctry = CASE WHEN ad_zc_code GLOB '[0-9]*' THEN 'USA' ELSE 'CANADA' END",
        },
        "ad_id",
    )
    found = data.counts(
        f"SELECT coalesce(substr(ad_line2, 1, 1), ''), count(*) FROM address"
        f" WHERE {customers} GROUP BY 1"
    )
    data.report.chi_square(
        "shares of ad_line2 that are empty, Apt., Suite",
        ((found.get(k, 0), p * data.customers) for k, p in (("", 0.6), ("A", 0.3), ("S", 0.1))),
    )
    data.report.within(
        "zip codes that addresses use",
        data.value("SELECT count(DISTINCT ad_zc_code) FROM address"), 2, 14_741,
    )


def check_exchanges(data):
    report = data.report
    data.hold(
        "exchange",
        {
            "exchanges": f"ex_id IN {tuple(EXCHANGES)}",
            "ex_open and ex_close": "ex_open = 930 AND ex_close = 1600",
            "ex_ad_id is one of the first 4": f"ex_ad_id BETWEEN {SHIFT + 1} AND {SHIFT + 4}",
        },
        "ex_id",
    )
    addresses = data.value("SELECT count(DISTINCT ex_ad_id) FROM exchange")
    report.equal("different ex_ad_id", addresses, 4)
    told = data.counts("SELECT ex_id, ex_num_symb FROM exchange")
    found = data.counts("SELECT s_ex_id, count(*) FROM security GROUP BY 1")
    report.say("ex_num_symb is the number of securities", told == found, told, found)
    wanted = {
        name: counts[-1] * (data.units // 10) + (0, *counts)[data.units % 10]
        for name, counts in EXCHANGES.items()
    }
    report.say("securities of exchanges", found == wanted, found, wanted)


def check_companies(data):
    report = data.report
    own = SHIFT + 4
    data.hold(
        "company",
        {
            "co_st_id is ACTV": "co_st_id = 'ACTV'",
            "co_sp_rate is 1 to 3 of A, B, C":
                "co_sp_rate GLOB '[ABC]' OR co_sp_rate GLOB '[ABC][ABC]'"
                " OR co_sp_rate GLOB '[ABC][ABC][ABC]'",
            "co_ceo is a first and a last name": "co_ceo GLOB '?* ?*'",
            "co_name and co_desc have text": "co_name <> '' AND co_desc <> ''",
            "co_ad_id is one of a company":
                f"co_ad_id BETWEEN {own + 1} AND {own + data.companies}",
            "co_open_date":
                f"co_open_date BETWEEN {midnight(1800, 1, 1)} AND {midnight(2000, 1, 2)}",
        },
        "co_id",
    )
    for column in ("co_ad_id", "co_name"):
        report.equal(
            f"different {column}", data.value(f"SELECT count(DISTINCT {column}) FROM company"),
            data.companies,
        )
    codes = [
        "".join(letters)
        for size in (1, 2, 3)
        for letters in itertools.product("ABC", repeat=size)
    ]
    found = data.counts("SELECT co_sp_rate, count(*) FROM company GROUP BY 1")
    report.chi_square(
        "co_sp_rate is uniform", ((found.get(code, 0), data.companies / 39) for code in codes)
    )
    data.uniform(
        "co_open_date is uniform", "company", f"co_open_date / {DAY}",
        midnight(1800, 1, 1) // DAY, midnight(2000, 1, 2) // DAY,
    )
    data.hold(
        "(SELECT co_id, count(cp_co_id) AS n, total(cp_comp_co_id = co_id) AS own"
        " FROM company LEFT JOIN company_competitor ON cp_co_id = co_id GROUP BY co_id)",
        {"3 competitors a company": "n = 3", "a company does not compete with itself": "own = 0"},
        "co_id",
    )


def check_securities(data):
    report = data.report
    crash = midnight(2005, 1, 3)
    data.hold(
        "security LEFT JOIN company ON co_id = s_co_id",
        {
            "s_symb has text": "trim(s_symb) <> ''",
            "s_issue is COMMON or PERF_A": "s_issue IN ('COMMON', 'PERF_A')",
            "s_st_id is ACTV": "s_st_id = 'ACTV'",
            "s_name is the issue of the company": "s_name = s_issue || ' of ' || co_name",
            "s_num_out": "s_num_out BETWEEN 4000000 AND 9500000000",
            "s_start_date and s_exch_date":
                f"s_start_date BETWEEN {midnight(1900, 1, 1)} AND s_exch_date"
                f" AND s_exch_date <= {midnight(2000, 1, 2)}",
            "s_pe": "s_pe BETWEEN 100 AND 12000",
            "s_52wk_high and s_52wk_low":
                "s_52wk_high BETWEEN 2500 AND 3000 AND s_52wk_low BETWEEN 2000 AND s_52wk_high",
            "dates of s_52wk_high and s_52wk_low":
                f"s_52wk_high_date BETWEEN {crash - 364 * DAY} AND {crash}"
                f" AND s_52wk_low_date BETWEEN {crash - 364 * DAY} AND {crash}",
            # A cent for either way of rounding
            "s_dividend is 0.20 to 0.30 of s_yield": "s_yield = 0 AND s_dividend = 0"
                " OR s_yield BETWEEN 1 AND 12000"
                " AND s_dividend * 100 BETWEEN s_yield * 20 - 100 AND s_yield * 30 + 100",
        },
        "s_symb",
    )
    data.hold(
        "(SELECT co_id, count(CASE WHEN s_issue = 'COMMON' THEN 1 END) AS common,"
        " count(s_symb) AS n FROM company LEFT JOIN security ON s_co_id = co_id GROUP BY co_id)",
        {"a company has a COMMON and at most one more": "common = 1 AND n <= 2"},
        "co_id",
    )
    data.hold(
        f"(SELECT (s_co_id - {SHIFT} - 1) / 500 AS unit, count(*) AS n FROM security GROUP BY 1)",
        {"685 securities a load unit": "n = 685"},
        "unit",
    )
    report.equal(
        "different s_symb", data.value("SELECT count(DISTINCT s_symb) FROM security"),
        data.securities,
    )
    report.share(
        "securities with s_yield", data.value("SELECT count(*) FROM security WHERE s_yield > 0"),
        data.securities, 0.6,
    )
    data.uniform("s_num_out is uniform", "security", "s_num_out", 4_000_000, 9_500_000_000)
    data.uniform("s_pe is uniform", "security", "s_pe", 100, 12_000)
    data.uniform("s_52wk_high is uniform", "security", "s_52wk_high", 2500, 3000)


def triangle(where):
    """Price curve, where it is `where` microseconds into its period of 900 s.

    In 1/450000 cents, of which it moves one a microsecond, counted from 20.00.
    """
    where %= 900 * SECOND
    return min(where, 900 * SECOND - where)


def phase(index):
    """Where in its period the curve of a security starts, in microseconds"""
    return (556_237 * index + 253_791) % 900_000 * 1000


def number_securities(data):
    """The temporary table sec: each security with its place in the price curve.

    Each trading day is a multiple of the curve's period, and so is 09:00 since 1970: the place
    follows from the time of day. Which index a security has is not told by the specification
    of the columns: of the likely orders it is the one that explains most last prices.
    """
    prices = data.counts("SELECT lt_s_symb, lt_price FROM last_trade")
    curve = [triangle(data.end + phase(index)) for index in range(data.securities)]
    # As a multiset the prices are known whatever the order is. Half a cent may go up or down.
    apart = max(
        abs((price - 2000) * 450_000 - exact)
        for price, exact in zip(sorted(prices.values()), sorted(curve))
    )
    data.report.within("last prices, sorted, are the curve's: cents off", apart / 450_000, 0, 0.5)
    best = -1, "", []
    for name, order in (
        ("order of the rows", "rowid"),
        ("company and issue", "s_co_id, s_issue"),
        ("load unit, issue and company", f"(s_co_id - {SHIFT} - 1) / 500, s_issue, s_co_id"),
        ("issue and company", "s_issue, s_co_id"),
        ("symbol", "s_symb"),
    ):
        try:
            found = data.rows(
                f"SELECT s_symb, s_ex_id, s_name FROM security ORDER BY {order}"
            ).fetchall()
        except sqlite3.OperationalError:
            continue  # a table without rowid
        right = sum(
            abs((prices.get(row[0], 0) - 2000) * 450_000 - exact) <= 225_000
            for row, exact in zip(found, curve)
        )
        if right > best[0]:
            best = right, name, found
    right, name, found = best
    data.report.none(
        f"lt_price is the curve's at the end of trading, securities by {name}",
        len(found) - right, len(found),
    )
    data.rows(
        "CREATE TEMP TABLE sec (symb TEXT PRIMARY KEY, off INTEGER, ex TEXT, name TEXT)"
        " WITHOUT ROWID"
    )
    data.db.executemany(
        "INSERT OR IGNORE INTO temp.sec VALUES (?, ?, ?, ?)",
        ((row[0], phase(index), *row[1:]) for index, row in enumerate(found)),
    )


def check_last_trade(data):
    data.hold(
        "last_trade",
        {
            "lt_dts is the end of trading": f"lt_dts = {data.end}",
            "lt_open_price is lt_price": "lt_open_price = lt_price",
            "lt_vol is 0": "lt_vol = 0",
        },
        "lt_s_symb",
    )


def check_daily_market(data):
    rules = {
        "dm_date is Monday to Friday":
            f"dm_date BETWEEN {DAILY_FIRST} AND {DAILY_LAST} AND (dm_date / {DAY} + 3) % 7 < 5",
        "dm_close": "dm_close BETWEEN 2000 AND 3000",
        "dm_high is 1.05 of dm_close, to a cent": "abs(dm_high * 100 - dm_close * 105) <= 100",
        "dm_low is 0.92 of dm_close, to a cent": "abs(dm_low * 100 - dm_close * 92) <= 100",
    }
    if not data.after_run:
        rules["dm_vol"] = "dm_vol BETWEEN 1000 AND 10000"
    data.hold("daily_market", rules, "dm_s_symb")
    data.hold(
        "(SELECT s_symb, count(dm_date) AS n, count(DISTINCT dm_date) AS days FROM security"
        " LEFT JOIN daily_market ON dm_s_symb = s_symb GROUP BY s_symb)",
        {"1305 days a security": f"n = {DAILY_ROWS} AND days = {DAILY_ROWS}"},
        "s_symb",
    )
    if not data.after_run:
        data.uniform("dm_close is uniform", "daily_market", "dm_close", 2000, 3000)
        data.uniform("dm_vol is uniform", "daily_market", "dm_vol", 1000, 10_000)


def check_financial(data):
    quarters = ", ".join(
        f"({year}, {quarter}, {midnight(year, 3 * quarter - 2, 1)})"
        for year in range(2000, 2005)
        for quarter in (1, 2, 3, 4)
    )
    data.hold(
        f"financial LEFT JOIN (SELECT column1 AS y, column2 AS q, column3 AS starts"
        f" FROM (VALUES {quarters})) ON y = fi_year AND q = fi_qtr",
        {
            "fi_qtr_start_date is the first day of the quarter": "fi_qtr_start_date = starts",
            "fi_out_dilut is 1.1 of fi_out_basic":
                "abs(fi_out_dilut * 10 - fi_out_basic * 11) <= 20",
            # A cent for either way of rounding
            "fi_basic_eps": "abs(fi_basic_eps * fi_out_basic - fi_net_earn) <= fi_out_basic",
            "fi_dilut_eps": "abs(fi_dilut_eps * fi_out_dilut - fi_net_earn) <= fi_out_dilut",
            "fi_margin": "abs(fi_margin * fi_revenue - fi_net_earn * 100) <= fi_revenue",
        },
        "fi_co_id",
    )
    data.hold(
        "(SELECT co_id, count(fi_year) AS n, count(DISTINCT fi_year * 4 + fi_qtr) AS quarters"
        " FROM company LEFT JOIN financial ON fi_co_id = co_id GROUP BY co_id)",
        {"20 quarters a company": "n = 20 AND quarters = 20"},
        "co_id",
    )
    # The starting values, each multiplied by 0.90 to 1.15 once a quarter, the first included
    starts = {
        "fi_revenue": (100_000_00, 16_000_000_000_00),
        "fi_out_basic": (400_000, 9_500_000_000),
        "fi_inventory": (0, 2_000_000_000_00),
        "fi_assets": (100_000_00, 65_000_000_000_00),
        "fi_liability": (100_000_00, 35_000_000_000_00),
    }
    data.hold(
        "financial WHERE fi_year = 2000 AND fi_qtr = 1",
        {
            f"{column} of the first quarter":
                f"{column} BETWEEN {low * 90 // 100 - 1} AND {high * 115 // 100 + 1}"
            for column, (low, high) in starts.items()
        } | {
            "fi_net_earn of the first quarter":
                f"fi_net_earn BETWEEN {-345_000_000_00 - 1} AND {3_450_000_000_00 + 1}",
        },
        "fi_co_id",
    )
    source = "SELECT fi_co_id, " + ", ".join(
        f"{column} AS {column}, lag({column}) OVER w AS old_{column}"
        for column in (*starts, "fi_net_earn")
    ) + " FROM financial WINDOW w AS (PARTITION BY fi_co_id ORDER BY fi_year, fi_qtr)"
    # Bounds are 2 units wider, as both values are rounded. Earnings not below the revenue
    # are multiplied by 0.9 once more.
    data.hold(
        f"({source}) WHERE old_fi_revenue IS NOT NULL",
        {
            f"{column} is 0.90 to 1.15 of the quarter before":
                f"{column} * 100 BETWEEN old_{column} * 90 - 200 AND old_{column} * 115 + 200"
            for column in starts
        } | {
            "fi_net_earn is 0.81 to 1.15 of the quarter before": "CASE WHEN old_fi_net_earn < 0"
                " THEN fi_net_earn * 100 BETWEEN old_fi_net_earn * 115 - 200"
                " AND old_fi_net_earn * 81 + 200"
                " ELSE fi_net_earn * 100 BETWEEN old_fi_net_earn * 81 - 200"
                " AND old_fi_net_earn * 115 + 200 END",
        },
        "fi_co_id",
    )


def check_news(data):
    last = data.value("SELECT max(ni_dts) FROM news_item") or 0
    # Counted back from the end of trading, or from that of 300 days
    end = data.end if last <= data.end else midnight(2006, 2, 27) + OPEN
    data.hold(
        "(SELECT *, CAST(ni_item AS TEXT) AS text FROM news_item)",
        {
            "ni_item has 100,000 characters": "length(text) = 100000",
            "ni_item has words": "instr(text, ' ') > 1",
            "ni_headline is its first 80": "ni_headline = substr(text, 1, 80)",
            "ni_summary is its first 255": "ni_summary = substr(text, 1, 255)",
            "ni_source and ni_author have text": "ni_source <> '' AND ni_author <> ''",
            "ni_dts is at most 51 days before "
            + ("the end of trading" if end == data.end else "2006-02-27"):
                f"ni_dts BETWEEN {end - 51 * DAY} AND {end}",
        },
        "ni_id",
    )
    check_news_of_companies(data)


def check_news_of_companies(data):
    data.hold(
        "(SELECT co_id, count(nx_ni_id) AS n FROM company LEFT JOIN news_xref ON nx_co_id = co_id"
        " GROUP BY co_id)",
        {"2 news items a company": "n = 2"},
        "co_id",
    )
    data.report.equal(
        "news items of companies", data.value("SELECT count(DISTINCT nx_ni_id) FROM news_xref"),
        2 * data.companies,
    )


def check_watch_lists(data):
    wrong = 0
    for watch, customer in data.rows("SELECT wl_id, wl_c_id FROM watch_list"):
        low = customer - SHIFT - 1
        wrong += watch != SHIFT + low // UNIT * UNIT + (631 * low + 97) % 1000 + 1
    data.report.none("wl_id follows from wl_c_id", wrong, data.customers)
    data.report.equal(
        "customers with a watch list", data.value("SELECT count(DISTINCT wl_c_id) FROM watch_list"),
        data.customers,
    )
    sizes = (
        "(SELECT wl_id, count(wi_s_symb) AS n, count(DISTINCT wi_s_symb) AS symbols"
        " FROM watch_list LEFT JOIN watch_item ON wi_wl_id = wl_id GROUP BY wl_id)"
    )
    data.hold(
        sizes, {"50 to 150 different items": "n BETWEEN 50 AND 150 AND symbols = n"}, "wl_id"
    )
    data.uniform("lengths of watch lists are uniform", sizes, "n", 50, 150)
    if not data.after_run:
        found = data.counts("SELECT wi_s_symb, count(*) FROM watch_item GROUP BY 1")
        share = sum(found.values()) / data.securities
        data.report.chi_square(
            "securities of watch lists are uniform",
            ((found.get(symbol, 0), share) for symbol, in data.rows("SELECT s_symb FROM security")),
        )


# --- Trades

# Times are compared to 2 ms: those of trades are whole milliseconds or microseconds of
# instants that need not be.
GRACE = 2000


def prepare(data):
    """Temporary tables that the checks of trades join.

    acct: accounts; fee: commission rate and charge by tier, exchange, type and quantity;
    pair: trades of account and security; closed: lots that a trade closed or opened.
    """
    data.rows(
        "CREATE TEMP TABLE acct AS SELECT ca_id AS id, ca_c_id AS customer,"
        f" (ca_c_id - {SHIFT} - 1) / {UNIT} AS unit, c_tier AS tier, ca_tax_st AS tax_status,"
        " ca_b_id AS broker, c_f_name || ' ' || c_l_name AS owner,"
        # The sum of both rates, of 5 decimals, rounded to 4
        " (SELECT (sum(tx_rate) + 5) / 10 FROM customer_taxrate JOIN taxrate ON tx_id = cx_tx_id"
        "  WHERE cx_c_id = c_id) AS tax_rate"
        " FROM customer_account JOIN customer ON c_id = ca_c_id"
    )
    data.rows("CREATE UNIQUE INDEX temp.acct_id ON acct (id)")
    data.rows(
        "CREATE TEMP TABLE fee (tier, ex, type, qty, rate, charge,"
        " PRIMARY KEY (tier, ex, type, qty)) WITHOUT ROWID"
    )
    for quantity in QUANTITIES:
        data.rows(
            "INSERT OR IGNORE INTO temp.fee SELECT cr_c_tier, cr_ex_id, cr_tt_id, ?, cr_rate,"
            " ch_chrg FROM commission_rate JOIN charge ON ch_tt_id = cr_tt_id"
            " AND ch_c_tier = cr_c_tier WHERE ? BETWEEN cr_from_qty AND cr_to_qty",
            quantity, quantity,
        )
    data.rows(
        "CREATE TEMP TABLE pair AS SELECT t_ca_id AS account, t_s_symb AS symb,"
        " count(*) AS trades, sum(t_st_id = 'CMPT') AS completed,"
        " sum(CASE WHEN t_st_id = 'CMPT' THEN t_comm ELSE 0 END) AS commission,"
        " sum(CASE WHEN t_st_id <> 'CMPT' THEN 0 WHEN t_tt_id IN ('TMB', 'TLB') THEN t_qty"
        " ELSE -t_qty END) AS net"
        " FROM trade GROUP BY t_ca_id, t_s_symb"
    )
    data.rows("CREATE UNIQUE INDEX temp.pair_key ON pair (account, symb)")
    # The gain is what was received for the closed lots above what was paid. A closed lot's
    # quantity is positive before a sell and negative before a buy, so one formula is right.
    data.rows(
        "CREATE TEMP TABLE closed AS SELECT hh_t_id AS id, count(*) AS parts,"
        " sum(hh_after_qty - hh_before_qty) AS net,"
        " sum(hh_h_t_id = hh_t_id) AS opened,"
        " sum(CASE WHEN hh_h_t_id = hh_t_id THEN 0 ELSE (hh_before_qty - hh_after_qty)"
        " * (t.t_trade_price - lot.t_trade_price) END) AS gain"
        " FROM holding_history LEFT JOIN trade t ON t.t_id = hh_t_id"
        " LEFT JOIN trade lot ON lot.t_id = hh_h_t_id GROUP BY hh_t_id"
    )
    data.rows("CREATE UNIQUE INDEX temp.closed_id ON closed (id)")


def check_trade_ids(data):
    unit, place = (
        f"((t_id - {TRADE_SHIFT} - 1) {operator} {data.unit_ids})" for operator in "/%"
    )
    low, high = data.row("SELECT min(t_id), max(t_id) FROM trade")
    data.report.within("t_id, least", low, TRADE_SHIFT + 1, TRADE_SHIFT + 1)
    last = TRADE_SHIFT + data.unit_ids * data.units
    data.report.within("t_id, most", high, last, last)
    data.hold(
        "trade LEFT JOIN temp.acct ON id = t_ca_id",
        {
            "no t_id is 51 of 101": f"(t_id - {TRADE_SHIFT}) % 101 <> 51",
            "t_id is of the customer's load unit": f"{unit} = unit",
        },
        "t_id",
    )
    data.hold(
        f"(SELECT {unit} AS unit, count(*) AS n, max({place}) AS most FROM trade GROUP BY 1)",
        {"trades of a load unit": f"n = {data.unit_trades} AND most = {data.unit_ids - 1}"},
        "unit",
    )


def check_trade_values(data):
    data.hold(
        "trade LEFT JOIN temp.acct ON id = t_ca_id",
        {
            "t_st_id is CMPT": "t_st_id = 'CMPT'",
            "t_qty is 100, 200, 400 or 800": f"t_qty IN {QUANTITIES}",
            "t_bid_price is 20.00 to 30.00": "t_bid_price BETWEEN 2000 AND 3000",
            "t_trade_price is 20.00 to 30.00": "t_trade_price BETWEEN 2000 AND 3000",
            "t_trade_price is not above the limit of a buy nor below that of a sell":
                "CASE t_tt_id WHEN 'TLB' THEN t_trade_price <= t_bid_price"
                " WHEN 'TLS' THEN t_trade_price >= t_bid_price ELSE 1 END",
            "sells are for cash": "t_is_cash OR t_tt_id IN ('TMB', 'TLB')",
            "t_exec_name is the owner": "t_exec_name = owner",
        },
        "t_id",
    )


def check_trade_shares(data):
    report = data.report
    count = data.value("SELECT count(*) FROM trade")
    found = data.counts("SELECT t_tt_id, count(*) FROM trade GROUP BY 1")
    report.chi_square(
        "shares of types of trades",
        ((found.get(name, 0), count * row[4] / 100) for name, row in TRADE_TYPES.items()),
    )
    found = data.counts("SELECT t_qty, count(*) FROM trade GROUP BY 1")
    report.chi_square(
        "shares of quantities", ((found.get(quantity, 0), count / 4) for quantity in QUANTITIES)
    )
    lifo, buys, margin = data.row(
        "SELECT total(t_lifo), total(t_tt_id IN ('TMB', 'TLB')), total(NOT t_is_cash) FROM trade"
    )
    report.share("t_lifo", lifo, count, 0.35)
    report.share("buys on margin", margin, buys, 0.16)
    data.uniform(
        "limits are uniform", "trade WHERE t_tt_id NOT IN ('TMB', 'TMS')", "t_bid_price", 2000, 3000
    )


def check_picks(data):
    """Customers by weight, accounts of a customer uniformly, securities of a basket"""
    report = data.report
    # An unused account or customer counts as 0.
    found, of_customer = {}, {}
    for account, customer, count, symbols in data.rows(
        "SELECT id, customer, coalesce(sum(trades), 0), count(symb) FROM temp.acct"
        " LEFT JOIN temp.pair ON account = id GROUP BY id"
    ):
        found[account] = count, symbols
        of_customer.setdefault(customer, []).append(account)
    parts = 20
    size = UNIT // parts
    ranges, wanted, above = [0] * parts, [0.0] * parts, 0
    accounts, freedom = [], 0
    for customer, own in of_customer.items():
        total = sum(found[account][0] for account in own)
        ordinal = ordinals(customer)[1]
        ranges[ordinal // size] += total
        wanted[ordinal // size] += weight(ordinal) * data.unit_trades
        if total and len(own) > 1:
            accounts += [(found[account][0], total / len(own)) for account in own]
            freedom += len(own) - 1
        first, most = BASKETS[tier(ordinal)]
        for account in own:
            place = len(own) - first
            above += not 0 <= place < len(most) or found[account][1] > most[place]
    report.chi_square(f"customers are picked by weight, {parts} ranges", zip(ranges, wanted))
    report.chi_square("accounts of a customer are picked uniformly", accounts, freedom)
    report.none("securities of an account are at most those of a basket", above, len(found))


def working(column):
    """SQL of a time: days since the first trading day, microseconds since 09:00, trading days"""
    days = f"({column} / {DAY} - {BASE // DAY})"
    return days, f"({column} % {DAY} - {OPEN})", f"({days} / 7 * 5 + {days} % 7)"


def curve(column):
    """SQL of the price curve as of `triangle`, but counted from 0"""
    where = f"(({column} + off) % {900 * SECOND})"
    return f"({900 * SECOND} + min({where}, {900 * SECOND} - {where}))"


# A trade with the times of its history
TIMES = (
    "trade LEFT JOIN trade_history p ON p.th_t_id = t_id AND p.th_st_id = 'PNDG'"
    " LEFT JOIN trade_history s ON s.th_t_id = t_id AND s.th_st_id = 'SBMT'"
    " LEFT JOIN trade_history c ON c.th_t_id = t_id AND c.th_st_id = 'CMPT'"
)


def check_trade_times(data):
    """History, working hours, and the order time that follows from the id"""
    source = (
        "(SELECT t_id, t_dts, t_tt_id IN ('TMB', 'TMS') AS market, p.th_dts AS pending,"
        " s.th_dts AS submitted, c.th_dts AS completed, coalesce(p.th_dts, s.th_dts) AS ordered"
        f" FROM {TIMES})"
    )
    order_days, order_clock, order_index = working("ordered")
    submit_days, submit_clock, submit_index = working("submitted")
    complete_days, complete_clock, _ = working("completed")
    moved = f"({submit_index} - {order_index})"
    # Orders of a day are evenly spaced and then late by less than the space, less 1 ms.
    place = f"((t_id - {TRADE_SHIFT} - 1) % {data.unit_ids})"
    space = data.scale * 100_000 // 101
    late = f"({order_clock} - {place} % {data.day_ids} * {data.scale * 100_000} / 101)"
    data.hold(
        source,
        {
            "history of a market order is SBMT, CMPT, else PNDG, SBMT, CMPT":
                "(pending IS NULL) = market AND submitted IS NOT NULL AND completed IS NOT NULL",
            "history's CMPT is t_dts": "completed = t_dts",
            "times of history are ascending": "ordered <= submitted AND submitted < completed",
            "order day is that of t_id":
                f"{order_days} % 7 < 5 AND {order_index} = {place} / {data.day_ids}",
            "order time is that of t_id": f"{late} BETWEEN {-GRACE} AND {space - 1000 + GRACE}",
            "orders are of 09:00 to 17:00": f"{order_clock} BETWEEN 0 AND {WORK}",
            "submissions are of 09:00 to 17:00":
                f"{submit_days} % 7 < 5 AND {submit_clock} BETWEEN 0 AND {WORK}",
            "submissions are of the day of the order, else before 09:16 of the next":
                f"{moved} = 0 OR {moved} = 1 AND {submit_clock} <= {960 * SECOND}",
            # 1 s after a delay of at most 5 s
            "completions are 1 to 6 s after the submission":
                f"completed - submitted BETWEEN {SECOND - GRACE} AND {6 * SECOND + GRACE}",
            "completions are of 09:00 to 17:00, or at most 6 s after":
                f"{complete_days} % 7 < 5 AND {complete_clock} BETWEEN 0"
                f" AND {WORK + 6 * SECOND + GRACE}",
            "completions are at most 15 min 6 s after the end of trading":
                f"completed <= {data.end + 906 * SECOND + GRACE}",
        },
        "t_id",
    )
    data.report.equal(
        "rows of trade_history for the types of orders",
        data.value("SELECT count(*) FROM trade_history"),
        data.value("SELECT sum(CASE WHEN t_tt_id IN ('TMB', 'TMS') THEN 2 ELSE 3 END) FROM trade"),
    )
    # Mean and variance of an exponential of mean 1 that is cut at 5
    cut = math.exp(-5)
    mean = 1 - cut
    deviation = math.sqrt(2 * (1 - 6 * cut) - mean**2)
    data.report.mean(
        "mean delay of completions beyond the submission, s",
        data.value(f"SELECT avg(completed - submitted) FROM {source}") / SECOND - 1,
        mean, deviation / math.sqrt(data.trades) + 0.0002,
    )


def check_prices(data):
    """Prices on the curve, and when it reaches a limit"""
    source = (
        "(SELECT *, submitted - ordered - CASE WHEN submitted / {day} = ordered / {day} THEN 0"
        # Nights and weekends do not count: as many hours as from 17:00 to 09:00
        " ELSE (submitted / {day} - ordered / {day}) * {day} - {work} END AS delay,"
        " CASE WHEN (ordered + off) % {period} < {period} / 2 THEN 1 ELSE 0 END AS rising"
        " FROM (SELECT t_id, t_tt_id AS type, t_bid_price AS bid, t_trade_price AS price,"
        " t_bid_price * 450000 AS bound, off, s.th_dts AS submitted,"
        " coalesce(p.th_dts, s.th_dts) AS ordered, t_dts - {second} AS executed,"
        " {ordered} AS now, {executed} AS later"
        " FROM {times} LEFT JOIN temp.sec ON symb = t_s_symb))"
    ).format(
        day=DAY, work=WORK, period=900 * SECOND, second=SECOND, times=TIMES,
        ordered=curve("coalesce(p.th_dts, s.th_dts)"), executed=curve(f"(t_dts - {SECOND})"),
    )
    # In units of the curve: it moves one a microsecond, and 450000 are a cent.
    half = 225_000 + GRACE
    low, high = 2000 * 450_000, 3000 * 450_000
    market = "type IN ('TMB', 'TMS')"
    beyond = "CASE type WHEN 'TLS' THEN bound - now ELSE now - bound END"
    # Time until the curve is at a limit that is above (limit sell) or below (the others)
    walk = (
        f"CASE WHEN type = 'TLS' THEN CASE WHEN rising THEN bound - now"
        f" ELSE now - {low} + bound - {low} END"
        f" ELSE CASE WHEN rising THEN {high} - now + {high} - bound ELSE now - bound END END"
    )
    at_once = f"delay BETWEEN {SECOND // 2 - GRACE} AND {3 * SECOND // 2 + GRACE}"
    # The walk may be reckoned from the price in cents, half a cent off.
    walked = f"abs(delay - ({walk})) <= 500000"
    data.hold(
        source,
        {
            "t_bid_price of a market order is on the curve at order time":
                f"NOT {market} OR abs(bid * 450000 - now) <= {half}",
            "t_trade_price is on the curve 1 s before t_dts, or the limit when that is worse":
                f"abs(price * 450000 - later) <= {half}"
                f" OR type = 'TLB' AND price = bid AND later >= bound - {half}"
                f" OR type = 'TLS' AND price = bid AND later <= bound + {half}",
            "market orders are submitted at once": f"NOT {market} OR delay = 0",
            # Whether a limit within a cent is reached already depends on rounding.
            "limits that are reached already are submitted after 0.5 to 1.5 s":
                f"{market} OR {beyond} > -450000 OR {at_once}",
            "other limits are submitted when the curve reaches them":
                f"{market} OR {beyond} < 450000 OR {walked}",
            "limits that are nearly the price are submitted at either time":
                f"{market} OR NOT ({beyond} > -450000 AND {beyond} < 450000)"
                f" OR ({at_once}) OR {walked}",
            "submissions on the next day are of times after 17:00":
                f"submitted / {DAY} = ordered / {DAY}"
                f" OR ordered % {DAY} - {OPEN} + delay >= {WORK - GRACE}",
        },
        "t_id",
    )


# Amounts, in cents
GROSS = "t_qty * t_trade_price"
IS_BUY = "t_tt_id IN ('TMB', 'TLB')"
AMOUNT = (
    f"CASE WHEN {IS_BUY} THEN -({GROSS} + t_chrg + t_comm) ELSE {GROSS} - t_chrg - t_comm END"
    " - CASE WHEN tax_status = 1 THEN t_tax ELSE 0 END"
)


def check_money(data):
    """Commission, charge, tax, settlement and cash transaction of each trade"""
    done = "t_st_id = 'CMPT'"
    names = (
        "ct_name IN (tt_name || ' ' || t_qty || ' shares of ' || name"
        + (", tt_name || ' ' || t_qty || ' Shares of ' || name)" if data.after_run else ")")
    )
    kinds = "CASE WHEN t_is_cash THEN se_cash_type IN {} ELSE se_cash_type IN {} END".format(
        *(("('Cash Account', 'Cash')", "('Margin', 'Margin Account')") if data.after_run
          else ("('Cash Account')", "('Margin')"))
    )
    # Rounding may go up or down at half a cent.
    commission = f"t_qty * CASE WHEN {done} THEN t_trade_price ELSE t_bid_price END * rate"
    rules = {
        "t_chrg is of charge": "t_chrg = charge",
        "t_comm is of commission_rate": f"abs(t_comm * 10000 - {commission}) <= 5000",
        "t_tax is 0 when the account is not taxed": "tax_status IN (1, 2) OR t_tax = 0",
        "t_tax is 0 when the closed lots won nothing, else not":
            "tax_status = 0 OR (t_tax > 0) = (coalesce(gain, 0) > 0)",
        "a settlement for a completed trade, and only for that":
            f"(se_t_id IS NOT NULL) = ({done})",
        "se_amt": f"NOT {done} OR se_amt = {AMOUNT}",
        "se_cash_type": f"NOT {done} OR {kinds}",
        "se_cash_due_date is 2 days after t_dts":
            f"NOT {done} OR se_cash_due_date = (t_dts / {DAY} + 2) * {DAY}",
        "a cash transaction for a completed trade for cash, and only for that":
            f"(ct_t_id IS NOT NULL) = ({done} AND t_is_cash)",
        "ct_amt is se_amt, ct_dts is t_dts":
            "ct_t_id IS NULL OR ct_amt = se_amt AND ct_dts = t_dts",
        "ct_name": f"ct_t_id IS NULL OR {names}",
        "history of holdings of a completed trade, and only of that":
            f"(parts IS NOT NULL) = ({done})",
        "holding_history adds up to the quantity":
            f"NOT {done} OR net = CASE WHEN {IS_BUY} THEN t_qty ELSE -t_qty END",
        # Quantities are 100 to 800, so 8 lots and a rest of none is the most.
        "1 to 8 rows of holding_history, at most one of them a new lot":
            f"NOT {done} OR parts BETWEEN 1 AND 8 AND opened <= 1",
    }
    if not data.after_run:
        # The closed lots' gain by both tax rates. Rounding is not told: less than a cent off.
        rules["t_tax is the gain by the tax rates"] = (
            "tax_status = 0 OR abs(t_tax * 10000 - max(coalesce(gain, 0), 0) * tax_rate) < 10000"
        )
    data.hold(
        "trade LEFT JOIN temp.acct a ON a.id = t_ca_id"
        " LEFT JOIN temp.sec ON symb = t_s_symb"
        " LEFT JOIN temp.fee f ON f.tier = a.tier AND f.ex = sec.ex AND f.type = t_tt_id"
        " AND f.qty = t_qty"
        " LEFT JOIN trade_type ON tt_id = t_tt_id"
        " LEFT JOIN settlement ON se_t_id = t_id"
        " LEFT JOIN cash_transaction ON ct_t_id = t_id"
        " LEFT JOIN temp.closed ON closed.id = t_id",
        rules,
        "t_id",
    )


def check_holdings(data):
    """Lots against their trades, their history and the summary"""
    data.hold(
        "holding LEFT JOIN trade ON t_id = h_t_id"
        " LEFT JOIN holding_history ON hh_h_t_id = h_t_id AND hh_t_id = h_t_id",
        {
            "h_price, h_dts, h_ca_id, h_s_symb are the trade's":
                "h_price = t_trade_price AND h_dts = t_dts AND h_ca_id = t_ca_id"
                " AND h_s_symb = t_s_symb",
            "h_qty is positive for a buy and negative for a sell":
                f"CASE WHEN {IS_BUY} THEN h_qty > 0 ELSE h_qty < 0 END",
            "h_qty is of hundreds, and not above what the trade opened":
                "h_qty % 100 = 0 AND abs(h_qty) <= abs(hh_after_qty)"
                " AND abs(hh_after_qty) <= t_qty",
        },
        "h_t_id",
    )
    # Along the history of a lot the quantity shrinks, and each row goes on from the one before.
    data.hold(
        "(SELECT *, lag(hh_after_qty, 1, 0) OVER w AS old, lag(t_dts) OVER w AS old_dts,"
        " row_number() OVER w AS step"
        " FROM holding_history LEFT JOIN trade ON t_id = hh_t_id"
        " WINDOW w AS (PARTITION BY hh_h_t_id ORDER BY abs(hh_after_qty) DESC))",
        {
            "a lot's history begins with its trade":
                "(step = 1) = (hh_h_t_id = hh_t_id) AND (step = 1) = (hh_before_qty = 0)",
            "a lot's history has no gap": "hh_before_qty = old",
            "a lot shrinks down to 0":
                "CASE WHEN step = 1 THEN hh_after_qty <> 0"
                " ELSE abs(hh_after_qty) < abs(hh_before_qty)"
                " AND hh_after_qty * hh_before_qty >= 0 END",
            # Transactions of a run at one time may take their times in another order.
            "a lot's history is of ascending times":
                f"step = 1 OR t_dts >= old_dts OR {int(data.after_run)}",
        },
        "hh_h_t_id",
    )
    data.hold(
        "(SELECT hh_h_t_id AS lot, min(abs(hh_after_qty)) AS rest FROM holding_history"
        " GROUP BY hh_h_t_id) LEFT JOIN holding ON h_t_id = lot",
        {"holding is what its history leaves": "rest = coalesce(abs(h_qty), 0)"},
        "lot",
    )
    lots = (
        "(SELECT h_ca_id, h_s_symb, sum(h_qty) AS total, min(h_qty) AS least, max(h_qty) AS most"
        " FROM holding GROUP BY h_ca_id, h_s_symb)"
    )
    data.hold(
        lots, {"lots of an account and security are of one sign": "least > 0 OR most < 0"},
        "h_ca_id",
    )
    data.hold(
        "holding_summary LEFT JOIN temp.pair ON account = hs_ca_id AND symb = hs_s_symb",
        {
            "hs_qty is not 0": "hs_qty <> 0",
            "hs_qty is the sum of the completed trades": "hs_qty = net",
        },
        "hs_ca_id",
    )
    data.report.equal(
        "accounts and securities with a summary are those whose trades leave something",
        data.value("SELECT count(*) FROM holding_summary"),
        data.value("SELECT count(*) FROM temp.pair WHERE net <> 0"),
    )
    # Rows that are opened and closed balance: the lots that are left.
    opened, ended = data.row(
        "SELECT sum(hh_h_t_id = hh_t_id), sum(hh_after_qty = 0) FROM holding_history"
    )
    data.report.equal(
        "rows of holding are the lots opened and not closed",
        data.value("SELECT count(*) FROM holding"), (opened or 0) - (ended or 0),
    )


def replay(trades):
    """What the trades of an account and a security, ordered by time, make of its lots.

    Returns the rows of holding_history and of holding, both as sets.
    """
    lots, history = [], set()  # lots: [trade, quantity], oldest first, all of one sign
    for _, _, _, trade, quantity, lifo in trades:
        left = quantity
        while left and lots and (lots[0][1] > 0) != (left > 0):
            lot = lots[-1 if lifo else 0]
            part = min(abs(left), abs(lot[1])) * (1 if left > 0 else -1)
            history.add((lot[0], trade, lot[1], lot[1] + part))
            lot[1] += part
            left -= part
            if not lot[1]:
                lots.remove(lot)
        if left:
            history.add((trade, trade, 0, left))
            lots.append([trade, left])
    return history, {(trade, quantity) for trade, quantity in lots}


def check_replay(data):
    """Lots and their history, by making them again from the trades"""
    def groups(query):
        for key, rows in itertools.groupby(data.rows(query), lambda row: row[:2]):
            yield key, list(rows)

    trades = groups(
        f"SELECT t_ca_id, t_s_symb, t_dts, t_id, CASE WHEN {IS_BUY} THEN t_qty ELSE -t_qty END,"
        " t_lifo FROM trade ORDER BY t_ca_id, t_s_symb, t_dts, t_id"
    )
    histories = groups(
        "SELECT t_ca_id, t_s_symb, hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty"
        " FROM holding_history CROSS JOIN trade ON t_id = hh_t_id ORDER BY t_ca_id, t_s_symb"
    )
    holdings = groups(
        "SELECT h_ca_id, h_s_symb, h_t_id, h_qty FROM holding ORDER BY h_ca_id, h_s_symb"
    )
    history, holding = next(histories, None), next(holdings, None)
    count = wrong_history = wrong_holding = tied = 0
    example = None
    for key, rows in trades:
        count += 1
        wanted_history, wanted_holding = replay(rows)
        found_history, found_holding = set(), set()
        while history and history[0] <= key:
            if history[0] == key:
                found_history = {row[2:] for row in history[1]}
            history = next(histories, None)
        while holding and holding[0] <= key:
            if holding[0] == key:
                found_holding = {row[2:] for row in holding[1]}
            holding = next(holdings, None)
        if (found_history, found_holding) == (wanted_history, wanted_holding):
            continue
        if len({row[2] for row in rows}) < len(rows):
            tied += 1  # Trades of the same time may have been finished in either order.
            continue
        wrong_history += found_history != wanted_history
        wrong_holding += found_holding != wanted_holding
        example = example or f"account {key[0]}, security {key[1]}"
    wrong = "{} of an account and security are what its trades make, LIFO or FIFO"
    data.report.none(wrong.format("lots"), wrong_holding, count, example)
    data.report.none(wrong.format("histories"), wrong_history, count, example)
    data.report.within("accounts and securities left out for equal times", tied, 0, count // 1000)


# --- Consistency, after load and after a run


def check_consistency(data):
    found = {
        row[0]: row[1:]
        for row in data.rows(
            "SELECT broker, sum(completed), sum(commission) FROM temp.pair"
            " JOIN temp.acct ON id = account GROUP BY broker"
        )
    }
    trades = commission = 0
    for broker, number_told, total_told in data.rows(
        "SELECT b_id, b_num_trades, b_comm_total FROM broker"
    ):
        told = found.get(broker, (0, 0))
        trades += number_told != told[0]
        commission += total_told != told[1]
    data.report.none("consistency 1: b_num_trades", trades, data.brokers)
    data.report.none("consistency 2: b_comm_total", commission, data.brokers)
    sums = "(SELECT h_ca_id, h_s_symb, sum(h_qty) AS n FROM holding GROUP BY h_ca_id, h_s_symb)"
    match = "hs_ca_id = h_ca_id AND hs_s_symb = h_s_symb"
    data.hold(
        f"holding_summary LEFT JOIN {sums} ON {match}",
        {"consistency 3: hs_qty is the sum of the lots": "hs_qty = coalesce(n, 0)"},
        "hs_ca_id",
    )
    data.hold(
        f"{sums} LEFT JOIN holding_summary ON {match}",
        {"consistency 3: lots have a summary": "hs_qty = n"},
        "h_ca_id",
    )


def check_trades_after_run(data):
    """States of trades, their requests and their history"""
    last = TRADE_SHIFT + data.unit_ids * data.units
    market = "t_tt_id IN ('TMB', 'TMS')"
    data.hold(
        f"trade WHERE t_id <= {last}",
        {
            "loaded trades are CMPT": "t_st_id = 'CMPT'",
            "no t_id that was loaded is 51 of 101": f"(t_id - {TRADE_SHIFT}) % 101 <> 51",
        },
        "t_id",
    )
    loaded = data.value("SELECT count(*) FROM trade WHERE t_id <= ?", last)
    data.report.equal("loaded trades", loaded, data.trades)
    data.report.say(
        "trades of the run by status", True,
        data.counts("SELECT t_st_id, count(*) FROM trade WHERE t_id > ? GROUP BY 1", last), "",
    )
    data.hold(
        "trade LEFT JOIN trade_request ON tr_t_id = t_id"
        " LEFT JOIN temp.acct ON id = t_ca_id",
        {
            "t_st_id is CMPT, SBMT, PNDG or CNCL": "t_st_id IN ('CMPT', 'SBMT', 'PNDG', 'CNCL')",
            "market orders are not PNDG": f"NOT ({market} AND t_st_id = 'PNDG')",
            "t_qty is 100, 200, 400 or 800": f"t_qty IN {QUANTITIES}",
            "t_bid_price is 20.00 to 30.00": "t_bid_price BETWEEN 2000 AND 3000",
            "t_trade_price is 20.00 to 30.00 when completed, else null":
                "CASE WHEN t_st_id = 'CMPT' THEN t_trade_price BETWEEN 2000 AND 3000"
                " ELSE t_trade_price IS NULL END",
            "t_trade_price is not above the limit of a buy nor below that of a sell":
                "t_st_id <> 'CMPT' OR CASE t_tt_id WHEN 'TLB' THEN t_trade_price <= t_bid_price"
                " WHEN 'TLS' THEN t_trade_price >= t_bid_price ELSE 1 END",
            "t_tax is 0 before completion": "t_st_id = 'CMPT' OR t_tax = 0",
            "sells are for cash": "t_is_cash OR t_tt_id IN ('TMB', 'TLB')",
            "a request for each PNDG trade, and only for that":
                "(t_st_id = 'PNDG') = (tr_t_id IS NOT NULL)",
            "requests are of their trades": "tr_t_id IS NULL OR tr_tt_id = t_tt_id"
                " AND tr_s_symb = t_s_symb AND tr_qty = t_qty AND tr_bid_price = t_bid_price"
                " AND tr_b_id = broker",
            # Trade-Update writes an X between the names, and takes it out again.
            "t_exec_name is the owner or has a permission":
                "replace(t_exec_name, ' X ', ' ') = owner OR EXISTS (SELECT 1"
                " FROM account_permission WHERE ap_ca_id = t_ca_id"
                " AND ap_f_name || ' ' || ap_l_name = replace(t_exec_name, ' X ', ' '))",
            "loaded trades are executed by the owner":
                f"t_id > {last} OR replace(t_exec_name, ' X ', ' ') = owner",
        },
        "t_id",
    )
    data.hold(
        "(SELECT t_st_id, t_dts, t_tt_id IN ('TMB', 'TMS') AS market, t_id, p.th_dts AS pending,"
        " s.th_dts AS submitted, c.th_dts AS completed, x.th_dts AS canceled"
        f" FROM {TIMES}"
        " LEFT JOIN trade_history x ON x.th_t_id = t_id AND x.th_st_id = 'CNCL')",
        {
            "history has PNDG for all but market orders": "(pending IS NULL) = market",
            "history has SBMT for all that are not PNDG":
                "(submitted IS NULL) = (t_st_id = 'PNDG')",
            "history has CMPT for the completed": "(completed IS NOT NULL) = (t_st_id = 'CMPT')",
            "history has CNCL for the canceled": "(canceled IS NOT NULL) = (t_st_id = 'CNCL')",
            "history's time of the status is t_dts": "t_dts = CASE t_st_id WHEN 'PNDG' THEN pending"
                " WHEN 'SBMT' THEN submitted WHEN 'CMPT' THEN completed ELSE canceled END",
            "times of history are ascending":
                "coalesce(pending, submitted) <= coalesce(submitted, pending)"
                " AND coalesce(submitted, t_dts) <= t_dts",
        },
        "t_id",
    )
    # With the rules above this tells that there are no other rows.
    data.report.equal(
        "rows of trade_history for the types and states",
        data.value("SELECT count(*) FROM trade_history"),
        data.value(
            f"SELECT sum(CASE WHEN {market} THEN 0 ELSE 1 END"
            " + CASE t_st_id WHEN 'PNDG' THEN 0 WHEN 'SBMT' THEN 1 ELSE 2 END) FROM trade"
        ),
    )
    for table, wanted in (
        ("settlement", "t_st_id = 'CMPT'"),
        ("cash_transaction", "t_st_id = 'CMPT' AND t_is_cash"),
        ("trade_request", "t_st_id = 'PNDG'"),
    ):
        data.report.equal(
            f"rows of {table}",
            data.value(f"SELECT count(*) FROM {table}"),
            data.value(f"SELECT count(*) FROM trade WHERE {wanted}"),
        )


def check_values_after_run(data):
    """What Data-Maintenance leaves or may have changed"""
    data.hold(
        "(SELECT ca_id, count(*) AS n, count(CASE WHEN ap_tax_id = c_tax_id THEN 1 END) AS own,"
        " count(CASE WHEN ap_acl NOT IN ('0000', '0001', '0011', '1111') THEN 1 END) AS strange"
        " FROM customer_account JOIN customer ON c_id = ca_c_id"
        " LEFT JOIN account_permission ON ap_ca_id = ca_id GROUP BY ca_id)",
        {
            "1 to 3 permissions an account, one of them the owner's":
                "n BETWEEN 1 AND 3 AND own = 1",
            "ap_acl is 0000, 0001, 0011 or 1111": "strange = 0",
        },
        "ca_id",
    )
    data.hold(
        "last_trade",
        {
            "lt_price is 20.00 to 30.00": "lt_price BETWEEN 2000 AND 3000",
            "lt_vol is not negative": "lt_vol >= 0",
        },
        "lt_s_symb",
    )
    data.hold(
        "financial",
        {
            "fi_qtr_start_date is day 1 or 2 of the quarter":
                f"date(fi_qtr_start_date / {SECOND}, 'unixepoch') IN ("
                "printf('%04d-%02d-01', fi_year, fi_qtr * 3 - 2),"
                " printf('%04d-%02d-02', fi_year, fi_qtr * 3 - 2))",
        },
        "fi_co_id",
    )


def number_names(data):
    """The temporary table sec after a run, when prices do not tell the place in the curve"""
    data.rows(
        "CREATE TEMP TABLE sec (symb TEXT PRIMARY KEY, off INTEGER, ex TEXT, name TEXT)"
        " WITHOUT ROWID"
    )
    data.rows("INSERT INTO temp.sec SELECT s_symb, NULL, s_ex_id, s_name FROM security")


BOTH = [check_keys, check_domains, check_fixed_and_scaling, check_foreign_keys, check_constraints]
AFTER_LOAD = BOTH + [
    check_growing, check_fixed_values, check_id_ranges, check_customers, check_customer_taxrates,
    check_accounts, check_permissions, check_brokers, check_addresses, check_exchanges,
    check_companies, check_securities, check_daily_market, check_last_trade, check_financial,
    check_news, check_watch_lists, number_securities, prepare, check_trade_ids,
    check_trade_values, check_trade_shares, check_picks, check_trade_times, check_prices,
    check_money, check_holdings, check_replay, check_consistency,
]
AFTER_RUN = BOTH + [
    check_id_ranges, check_values_after_run, check_daily_market, check_watch_lists,
    check_news_of_companies, number_names, prepare, check_trades_after_run, check_money,
    check_holdings, check_consistency,
]


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file")
    parser.add_argument("--customers", type=int, required=True)
    parser.add_argument("--trade-days", type=int, required=True)
    parser.add_argument("--scale-factor", type=int, required=True)
    parser.add_argument("--after-run", action="store_true")
    given = parser.parse_args()
    if given.customers < UNIT or given.customers % UNIT:
        parser.error("--customers has to be a multiple of 1000")
    if given.trade_days < 1:
        parser.error("--trade-days has to be at least 1")
    # Else a day has no whole number of trades and of ids that are not used.
    if given.scale_factor < 1 or 8 * 36_000 % given.scale_factor:
        parser.error("--scale-factor has to divide 288000")
    return given


def main():
    given = arguments()
    try:
        data = Database(
            given.file, given.customers, given.trade_days, given.scale_factor, given.after_run
        )
        if check_tables(data):
            for check in AFTER_RUN if given.after_run else AFTER_LOAD:
                try:
                    check(data)
                except (sqlite3.OperationalError, TypeError, ValueError, KeyError) as error:
                    data.report.say(f"{check.__name__} can be made", False, repr(error), "no error")
    except (sqlite3.Error, OSError) as error:
        print(f"{given.file}: {error}", file=sys.stderr)
        return 2
    report = data.report
    print(f"{report.right + report.wrong} checks, {report.wrong} wrong")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
