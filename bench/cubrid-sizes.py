#!/usr/bin/env python3
"""Pages of tables and indexes on CUBRID, beside those of Octavo's model: cubrid-sizes.py DIRECTORY

Loads rows of Octavo's workloads into databases of CUBRID with pages of 4, 8 and 16 KiB, by `loaddb` in the order
in which Octavo loads them, with indexes made afterwards, and prints how many pages each has, as CSV. CUBRID names
the server's directory. Nothing runs as a server: everything is done by programs that open the database by
themselves (-S). DIRECTORY has to be new; it is removed at the end.
"""

import csv
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
OCTAVO = HERE.parent / "target/release/octavo"

INT, BIG, TIME = "INT", "BIGINT", "DATETIME"


def text(kind, length):
    return f"{kind}({length})"


def char(length):
    return text("CHAR", length)


def varchar(length):
    return text("VARCHAR", length)


def decimal(precision, scale):
    return f"NUMERIC({precision},{scale})"


# Columns, key and further indexes, as crates/workload has them.
TABLES = {
    "pgbench": {
        "pgbench_branches": (dict(bid=INT, bbalance=INT, filler=char(88)), ["bid"], {}),
        "pgbench_tellers": (dict(tid=INT, bid=INT, tbalance=INT, filler=char(84)), ["tid"], {}),
        "pgbench_accounts": (dict(aid=INT, bid=INT, abalance=INT, filler=char(84)), ["aid"], {}),
    },
    "ycsb-a": {
        "usertable": (
            dict([("ycsb_key", varchar(255))] + [(f"field{i}", varchar(100)) for i in range(10)]),
            ["ycsb_key"],
            {},
        ),
    },
    "tpcc": {
        "item": (
            dict(i_id=INT, i_im_id=INT, i_name=varchar(24), i_price=decimal(5, 2), i_data=varchar(50)),
            ["i_id"],
            {},
        ),
        "stock": (
            dict(
                [("s_i_id", INT), ("s_w_id", INT), ("s_quantity", INT)]
                + [(f"s_dist_{i:02}", char(24)) for i in range(1, 11)]
                + [("s_ytd", INT), ("s_order_cnt", INT), ("s_remote_cnt", INT), ("s_data", varchar(50))]
            ),
            ["s_w_id", "s_i_id"],
            {},
        ),
        "customer": (
            dict(
                c_id=INT, c_d_id=INT, c_w_id=INT,
                c_first=varchar(16), c_middle=char(2), c_last=varchar(16),
                c_street_1=varchar(20), c_street_2=varchar(20), c_city=varchar(20),
                c_state=char(2), c_zip=char(9), c_phone=char(16), c_since=TIME,
                c_credit=char(2), c_credit_lim=decimal(12, 2), c_discount=decimal(4, 4),
                c_balance=decimal(12, 2), c_ytd_payment=decimal(12, 2),
                c_payment_cnt=INT, c_delivery_cnt=INT, c_data=varchar(500),
            ),
            ["c_w_id", "c_d_id", "c_id"],
            {"customer_by_name": ["c_w_id", "c_d_id", "c_last", "c_first", "c_id"]},
        ),
        "history": (
            dict(
                h_c_id=INT, h_c_d_id=INT, h_c_w_id=INT, h_d_id=INT, h_w_id=INT, h_date=TIME,
                h_amount=decimal(6, 2), h_data=varchar(24),
            ),
            [],
            {},
        ),
        "orders": (
            dict(
                o_id=INT, o_d_id=INT, o_w_id=INT, o_c_id=INT, o_entry_d=TIME, o_carrier_id=INT,
                o_ol_cnt=INT, o_all_local=INT,
            ),
            ["o_w_id", "o_d_id", "o_id"],
            {"orders_by_customer": ["o_w_id", "o_d_id", "o_c_id", "o_id"]},
        ),
        "new_order": (dict(no_o_id=INT, no_d_id=INT, no_w_id=INT), ["no_w_id", "no_d_id", "no_o_id"], {}),
        "order_line": (
            dict(
                ol_o_id=INT, ol_d_id=INT, ol_w_id=INT, ol_number=INT, ol_i_id=INT, ol_supply_w_id=INT,
                ol_delivery_d=TIME, ol_quantity=INT, ol_amount=decimal(6, 2), ol_dist_info=char(24),
            ),
            ["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
            {},
        ),
    },
}
ROWS = {
    "pgbench": ["--scale", "5"],
    "ycsb-a": ["--records", "200000"],
    "tpcc": ["--warehouses", "2"],
}


def literal(value, kind):
    if value is None:
        return "NULL"
    if kind == TIME:
        # All rows were made at the same time, and its length is what matters.
        return "datetime'2026-01-01 00:00:00.000'"
    if kind.startswith("NUMERIC"):
        scale = int(kind.rstrip(")").split(",")[1])
        sign = "-" if value < 0 else ""
        whole, part = divmod(abs(value), 10**scale)
        return f"{sign}{whole}.{part:0{scale}}"
    if kind in (INT, BIG):
        return str(value)
    return "'" + value.replace("'", "''") + "'"


class Cubrid:
    def __init__(self, root, home, page):
        self.name = f"sizes{page}"
        self.home = home / self.name
        self.home.mkdir()
        self.environment = dict(
            os.environ,
            CUBRID=str(root),
            CUBRID_DATABASES=str(self.home),
            CUBRID_TMP=str(self.home),
            TMPDIR=str(self.home),
            CUBRID_MSG_LANG="en_US",
            LD_LIBRARY_PATH=f"{root}/lib:{root}/cci/lib",
        )
        (self.home / "databases.txt").touch()
        self.program = root / "bin/cubrid"
        self.csql_program = root / "bin/csql"
        self.run(
            self.program, "createdb", f"--db-page-size={page}", f"--log-page-size={page}",
            "--db-volume-size=64M", "--log-volume-size=128M", "-F", str(self.home), self.name, "en_US.iso88591",
        )

    def run(self, *command):
        done = subprocess.run(
            [str(part) for part in command], env=self.environment, cwd=self.home, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        if done.returncode:
            sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}")
        return done.stdout

    def sql(self, statement):
        return self.run(self.csql_program, "-S", "-u", "dba", "-l", "-c", statement, self.name)

    def figure(self, statement, name):
        for line in self.sql(statement).splitlines():
            label, _, value = line.partition(":")
            if label.strip().strip("<>").strip().lower() == name.lower():
                return int(value)
        sys.exit(f"{statement} says nothing of {name}")

    def load(self, tables, database):
        objects = self.home / "objects"
        with open(objects, "w") as out:
            for table, (columns, _, _) in tables.items():
                declared = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
                self.sql(f'CREATE TABLE "{table}" ({declared})')
                out.write(f"%class {table} ({' '.join(columns)})\n")
                kinds = list(columns.values())
                for row in database.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY rowid"
                                            if has_row_numbers(database, table)
                                            else f"SELECT {', '.join(columns)} FROM {table}"):
                    out.write(" ".join(literal(value, kind) for value, kind in zip(row, kinds)) + "\n")
        self.run(self.program, "loaddb", "-S", "-u", "dba", "-d", objects, "--no-user-specified-name", self.name)
        objects.unlink()
        for table, (_, key, indexes) in tables.items():
            if key:
                self.sql(f"ALTER TABLE {table} ADD CONSTRAINT pk_{table} PRIMARY KEY ({', '.join(key)})")
            for index, columns in indexes.items():
                self.sql(f"CREATE INDEX {index} ON {table} ({', '.join(columns)})")

    def remove(self):
        shutil.rmtree(self.home)


def has_row_numbers(database, table):
    made = database.execute("SELECT sql FROM sqlite_master WHERE name = ?", [table]).fetchone()[0]
    return not made.endswith("WITHOUT ROWID")


def main():
    if len(sys.argv) != 2 or "CUBRID" not in os.environ:
        sys.exit(__doc__)
    root, home = pathlib.Path(os.environ["CUBRID"]).resolve(), pathlib.Path(sys.argv[1]).resolve()
    home.mkdir()
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["workload", "page_bytes", "object", "rows", "pages", "inner_pages"])
    for workload, tables in TABLES.items():
        rows = home / workload
        subprocess.run(
            [OCTAVO, "load", rows, "--workload", workload, *ROWS[workload], "--page-size", "4K"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        database = sqlite3.connect(rows / "data/base/database.sqlite")
        for page in (4096, 8192, 16384):
            server = Cubrid(root, home, page)
            server.load(tables, database)
            for table, (_, key, indexes) in tables.items():
                count = database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                pages = server.figure(f"SHOW HEAP CAPACITY OF {table}", "Num_pages")
                out.writerow([workload, page, table, count, pages, 0])
                keyed = [(f"{table} (key)", f"pk_{table}")] if key else []
                for name, index in keyed + [(index, index) for index in indexes]:
                    statement = f"SHOW INDEX CAPACITY OF {table}.{index}"
                    leaves = server.figure(statement, "Num_leaf_page")
                    inner = server.figure(statement, "Num_non_leaf_page")
                    out.writerow([workload, page, name, count, leaves + inner, inner])
                sys.stdout.flush()
            server.remove()
        database.close()
        shutil.rmtree(rows)
    home.rmdir()


main()
