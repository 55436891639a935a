#!/usr/bin/env python3
"""The file and statements of predict-own.sh, and what it compares."""

import random
import sqlite3
import statistics
import sys
from pathlib import Path

ROWS = 300_000

READ = """\\set id random_zipfian(1, 300000, 1.05)
\\set owner random(0, 29999)
SELECT name, price, body FROM item WHERE id = :id;
SELECT count(*), sum(price) FROM item WHERE owner = :owner;
SELECT at, note FROM play WHERE item = :id;
"""

WRITE = """\\set id random(1, 300000)
\\set price random(1, 1000)
BEGIN;
UPDATE item SET price = :price WHERE id = :id;
INSERT INTO play(item, at, note) VALUES (:id, '2026-02-01', 'visit :id of somebody');
END;
"""

ADD = """\\set owner random(0, 29999)
\\set price random(1, 1000)
\\set item random(1, 300000)
BEGIN;
INSERT INTO item(name, owner, price, body) VALUES ('new :price of :owner', :owner, :price, hex(zeroblob(100)));
UPDATE play SET note = 'changed :price' WHERE item = :item;
END;
"""


def make(path):
    """A file of two tables with an index each, 106 MiB in pages of 4 KiB."""
    for name, text in (("read.sql", READ), ("write.sql", WRITE), ("add.sql", ADD)):
        Path(path).with_name(name).write_text(text)
    draw = random.Random(1)
    rows = range(1, ROWS + 1)
    file = sqlite3.connect(path)
    file.execute("PRAGMA page_size=4096")
    file.execute("PRAGMA journal_mode=WAL")
    file.executescript(
        "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, owner INTEGER, price INTEGER,"
        " body TEXT);"
        "CREATE TABLE play(id INTEGER PRIMARY KEY, item INTEGER, at TEXT, note TEXT);"
    )
    item = lambda i: (
        i, f"item {i}", draw.randrange(ROWS // 10), draw.randrange(1000),
        "x" * draw.randrange(100, 400),
    )
    play = lambda i: (
        i, draw.randrange(1, ROWS + 1), f"2026-01-{i % 28 + 1:02}", "y" * draw.randrange(10, 60),
    )
    file.executemany("INSERT INTO item VALUES(?,?,?,?,?)", map(item, rows))
    file.executemany("INSERT INTO play VALUES(?,?,?,?)", map(play, rows))
    file.executescript(
        "CREATE INDEX item_owner ON item(owner); CREATE INDEX play_item ON play(item); ANALYZE;"
    )
    file.commit()
    file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file.close()


def cells(store):
    """Of each cell, by memory and page size, what each pass gave."""
    store = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    rows = store.execute(
        """SELECT memory_bytes, page_size_bytes, pass, buffer_misses, log_written_bytes,
                  slice.elapsed_s, slice.transactions
           FROM slice JOIN run USING (run) JOIN cell USING (cell)"""
    )
    found = {}
    for memory, size, number, misses, log, elapsed, transactions in rows:
        passes = found.setdefault((memory, size), {})
        passes[number] = [figure / transactions for figure in (misses, log, elapsed * 1e6)]
    return found


def compare(measured, predicted):
    """The same passes of both: means of reads and bytes of the log, medians of time."""
    print(f"{measured}: measured, predicted")
    was, this = cells(measured), cells(predicted)
    for memory, size in sorted(was):
        both = [of[memory, size] for of in (was, this)]
        passes = set(both[0]) & set(both[1])
        line = f"{memory >> 20:4} MiB {size >> 10:2} KiB"
        for place, (name, middle) in enumerate(
            (("reads", statistics.mean), ("log bytes", statistics.mean), ("us", statistics.median))
        ):
            one, other = (middle(of[number][place] for number in passes) for of in both)
            line += f"  {name} {one:.2f} {other:.2f} {(other / one - 1) * 100:+.1f}%"
        print(line)


if __name__ == "__main__":
    {"make": make, "compare": compare}[sys.argv[1]](*sys.argv[2:])
