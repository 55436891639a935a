"""Predicts parts of a plan on one and on two processors, in turn, and says what each took.

measure.py OCTAVO PLAN SCRATCH OUT PARTS FIRST LAST [FLAG...]: parts FIRST to LAST of PARTS. The odd
ones begin with one processor, the others with two. A line of CSV for each. The stores stay in SCRATCH.
Each run has a high priority (in a session of its own: setsid), and holds the file LOCK, if that is set, so that no build is beside it.
"""
import csv
import fcntl
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

octavo, plan, scratch, out, parts, first, last, *flags = sys.argv[1:]
scratch = pathlib.Path(scratch)
lock = open(os.environ.get("LOCK", os.devnull))


# Others in sessions of their own have their share of processors else (sched(7), autogroup).
try:
    pathlib.Path("/proc/self/autogroup").write_text("-15")
except OSError:
    pass


def ticks():
    fields = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, fields[:8])
    return user + nice + system + irq + softirq, idle + iowait, steal


def look(pid, seen):
    """Notes what each thread ran and waited for a processor, in ns."""
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            ran, waited, _ = map(int, task.read_text().split())
        except (OSError, ValueError):
            continue
        seen[task.parent.name] = (ran, waited)


def run(part, processors):
    into = scratch / "into"
    shutil.rmtree(into, ignore_errors=True)
    fcntl.flock(lock, fcntl.LOCK_EX)
    before, used = ticks(), resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    done = subprocess.Popen(
        ["nice", "-n", "-15", "taskset", "-c", "0" if processors == 1 else "0,1", octavo, "predict", plan,
         f"--shard={part}/{parts}", "--into", into, "--quiet", *flags],
        stdout=subprocess.PIPE)
    seen = {}
    while done.poll() is None:
        look(done.pid, seen)
        time.sleep(0.05)
    wall = time.monotonic() - begun
    waited = sum(waited for _, waited in seen.values()) / 1e9
    assert done.returncode == 0
    fcntl.flock(lock, fcntl.LOCK_UN)
    after, using = ticks(), resource.getrusage(resource.RUSAGE_CHILDREN)
    own = using.ru_utime + using.ru_stime - used.ru_utime - used.ru_stime
    busy, idle, steal = (b - a for a, b in zip(before, after))
    hz = os.sysconf("SC_CLK_TCK")
    said = json.loads(done.stdout.read())
    store = pathlib.Path(said["store"])
    name = f"{pathlib.Path(plan).stem}-{part}-of-{parts}-{processors}.db"
    shutil.copy(store, scratch / name)
    return {
        "part": f"{part}/{parts}", "processors": processors, "cells": said["cells"],
        "wall_s": round(wall, 2), "cpu_s": round(own, 2), "waited_s": round(waited, 2),
        "others_cpu_s": round(busy / hz - own, 2), "steal_s": round(steal / hz, 2),
        "load_1m": round(os.getloadavg()[0], 1),
    }


path = pathlib.Path(out)
is_new = not path.exists()
with path.open("a") as file:
    for part in range(int(first), int(last) + 1):
        for processors in (1, 2) if part % 2 else (2, 1):
            row = run(part, processors)
            writer = csv.DictWriter(file, row.keys())
            if is_new:
                writer.writeheader()
                is_new = False
            writer.writerow(row)
            file.flush()
            print(row, flush=True)
