#!/usr/bin/env python3
"""Merges many sittings, and kills the merging.

Usage: bench/merge.py OCTAVO STORE DIR [SITTINGS] [KILLS]

STORE is the octavo.db of one `octavo run --sitting`. DIR, which must not exist, takes SITTINGS
(default 10,000) copies of it as sittings of 500 hosts: another number, id and host, and times that
differ by some percent. They are merged, which is timed, twice; merged again, which takes nothing; and merged
into another directory by a process that is killed KILLS times (default 200) at random moments, from nothing
again whenever all are there, then to its end. In all cases each sitting is there once, and both stores have the same rows.

What it prints: seconds, and what was found after each kill.
"""

import hashlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

HOSTS = 500


def make(store, path, number, generator):
    shutil.copy(store, path)
    made = sqlite3.connect(path)
    part = f"{generator.getrandbits(128):032x}"
    made.execute("PRAGMA synchronous = OFF")
    made.execute(
        "UPDATE part SET part = ?, number = ?, parts = NULL, host = ?, host_name = ?",
        (part, number, f"{number % HOSTS:016x}", f"host-{number % HOSTS}"),
    )
    made.execute("UPDATE run SET sitting = ?", (number,))
    made.execute("UPDATE slice SET elapsed_s = elapsed_s * ?", (1 + 0.05 * generator.random(),))
    # A run has the sum of its slices, and merging compares them.
    made.execute(
        "UPDATE run SET measured_s = (SELECT sum(elapsed_s) FROM slice WHERE slice.run = run.run)"
    )
    made.commit()
    made.close()


# Rows by what they are of, since numbers of sessions and runs depend on the order of merging.
DUMPS = [
    "SELECT part, kind, number, host, started, outcome, set_aside FROM part ORDER BY part",
    "SELECT part, cell, sitting, run.set_aside, failure, counters FROM run JOIN part USING (session)"
    " ORDER BY part, cell",
    "SELECT part, cell, pass, elapsed_s FROM slice JOIN run USING (run) JOIN part USING (session)"
    " ORDER BY part, cell, pass",
    "SELECT part, cell, latency.kind, histogram FROM latency JOIN run USING (run)"
    " JOIN part USING (session) ORDER BY part, cell, latency.kind",
    "SELECT * FROM part_fact ORDER BY part, topic, name",
    "SELECT * FROM fact ORDER BY topic, name",
]


def dump(path):
    store = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    digest = hashlib.sha256()
    for sql in DUMPS:
        for row in store.execute(sql):
            digest.update(repr(row).encode())
    store.close()
    return digest.hexdigest()


def counts(path):
    """Parts, distinct numbers, and runs and slices without a part."""
    store = sqlite3.connect(path)
    check = store.execute("PRAGMA integrity_check").fetchone()[0]
    one = lambda sql: store.execute(sql).fetchone()[0]
    found = (
        one("SELECT count(*) FROM part"),
        one("SELECT count(DISTINCT number) FROM part"),
        one("SELECT count(*) FROM run WHERE session NOT IN (SELECT session FROM part)"),
        one("SELECT count(*) FROM slice WHERE run NOT IN (SELECT run FROM run)"),
    )
    foreign = store.execute("PRAGMA foreign_key_check").fetchall()
    store.close()
    return check, foreign, found


def main():
    octavo, store, scratch = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    sittings = int(sys.argv[4]) if len(sys.argv) > 4 else 10_000
    kills = int(sys.argv[5]) if len(sys.argv) > 5 else 200
    generator = random.Random(43)
    scratch.mkdir()
    parts = scratch / "parts"
    parts.mkdir()
    for number in range(sittings):
        make(store, parts / f"{number}.db", number, generator)
    # All names are more than a command line takes on some systems; Linux takes them.
    names = [str(parts / f"{number}.db") for number in range(sittings)]
    generator.shuffle(names)

    merged = scratch / "all"
    took = {}
    for what, into in [("merge", merged), ("merge elsewhere", scratch / "also"), ("merge again", merged)]:
        begin = time.monotonic()
        subprocess.run([octavo, "merge", into, *names], check=True, stdout=subprocess.DEVNULL)
        took[what] = time.monotonic() - begin
        print(f"{what}: {sittings} sittings in {took[what]:.2f} s", flush=True)
    _, _, found = counts(merged / "octavo.db")
    assert found == (sittings, sittings, 0, 0), found

    killed = scratch / "killed"
    cut = nothing = whole = 0
    for kill in range(kills):
        generator.shuffle(names)
        process = subprocess.Popen(
            [octavo, "merge", killed, *names], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        # By then the stores are in the page cache.
        time.sleep(generator.random() * took["merge elsewhere"])
        process.send_signal(signal.SIGKILL)
        cut += process.wait() == -signal.SIGKILL
        path = killed / "octavo.db"
        if not path.exists() or path.stat().st_size == 0:
            nothing += 1
            continue
        check, foreign, found = counts(path)
        assert check == "ok" and not foreign, (kill, check, foreign)
        # One transaction: all of it or nothing.
        assert found in [(0, 0, 0, 0), (sittings, sittings, 0, 0)], (kill, found)
        if found[0] == 0:
            nothing += 1
        else:
            assert dump(merged / "octavo.db") == dump(path), kill
            whole += 1
            # Again from nothing: later kills have something to cut, too.
            shutil.rmtree(killed)
        if kill % 20 == 0:
            print(f"kill {kill}: {nothing} times nothing, {whole} times all", flush=True)
    subprocess.run([octavo, "merge", killed, *names], check=True, stdout=subprocess.DEVNULL)
    same = dump(merged / "octavo.db") == dump(killed / "octavo.db")
    print(
        f"{kills} kills, {cut} of them before its end: {nothing} times nothing was there, {whole} times all;"
        f" then {counts(killed / 'octavo.db')[2][0]} sittings, same rows: {same}"
    )
    assert same


main()
