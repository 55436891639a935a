#!/usr/bin/env python3
"""Predicts the measured cells of a store and puts both beside each other:
predict-large.py MEASURED.db --octavo OCTAVO --into DIRECTORY

Each group of page sizes (one device, number of clients and memory) is predicted with as many
transactions counted as it was measured with, and --warm-up before. For each cell: transactions a second, misses,
bytes written and flushes a transaction, measured, predicted and the error. Then the ratio of the first page
size to the second. Means over all slices.
"""
import argparse
import json
import os
import sqlite3
import statistics
import subprocess
from collections import defaultdict

CELLS = """SELECT cell.storage, cell.clients, cell.memory_bytes, cell.page_size_bytes,
                  sum(slice.transactions) / sum(slice.elapsed_s),
                  1.0 * sum(slice.buffer_misses) / sum(slice.transactions),
                  run.counters, sum(slice.transactions), max(slice.pass) + 1
           FROM slice JOIN run ON slice.run = run.run JOIN cell ON run.cell = cell.cell
           WHERE run.failure IS NULL GROUP BY run.run"""


def cells(path):
    """By cell: transactions a second; misses, bytes written and flushes of each; passes."""
    store = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    found = {}
    for storage, clients, memory, page, rate, misses, counters, done, passes in store.execute(CELLS):
        counted = json.loads(counters)
        written = counted["data_written_bytes"] + counted["log_written_bytes"]
        key = storage.removeprefix("device:"), clients, memory, page
        found[key] = rate, misses, written / done, counted["syncs"] / done, passes
    return found


def plan(path):
    store = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    (text, slices), = store.execute("SELECT plan, slice_transactions FROM plan")
    return json.loads(text), slices


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("measured")
    arguments.add_argument("--octavo", required=True)
    arguments.add_argument("--into", required=True)
    arguments.add_argument("--warm-up", type=int, default=6000)
    given = arguments.parse_args()
    measured = cells(given.measured)
    of, slices = plan(given.measured)
    database = of["databases"][0]["name"]
    groups = defaultdict(dict)
    for (device, clients, memory, page), figures in measured.items():
        groups[device, clients, memory][page] = figures
    errors = defaultdict(list)
    for (device, clients, memory), sizes in sorted(groups.items()):
        directory = os.path.join(given.into, f"{device}-{clients}-{memory >> 20}")
        os.makedirs(given.into, exist_ok=True)
        passes = max(figures[4] for figures in sizes.values())
        subprocess.run(
            [given.octavo, "predict", directory, "--database", database, "--workload", "tpcc",
             "--warehouses", "45", "--clients", str(clients), "--device", device,
             "--page-sizes", ",".join(f"{page >> 10}K" for page in sorted(sizes)),
             "--memory", f"{memory >> 20}MiB", "--cache", f"{memory >> 20}MiB",
             "--warm-up", str(given.warm_up), "--transactions", str(slices),
             "--passes", str(max(passes, 8)), "--cpus", str(os.cpu_count())],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        predicted = cells(os.path.join(directory, "octavo.db"))
        for page, was in sorted(sizes.items()):
            is_ = predicted[next(key for key in predicted if key[3] == page)]
            print(f"{device:9} {clients:2} clients {memory >> 20:4} MiB {page >> 10:2} KiB"
                  f"  {was[0]:6.1f} {is_[0]:6.1f} tps {is_[0] / was[0] - 1:+5.0%}"
                  f"  {was[1]:5.1f} {is_[1]:5.1f} misses {is_[1] / was[1] - 1:+5.0%}"
                  f"  {was[2] / 1024:6.1f} {is_[2] / 1024:6.1f} KiB written {is_[2] / was[2] - 1:+5.0%}"
                  f"  {was[3]:4.2f} {is_[3]:4.2f} flushes")
            for name, place in (("throughput", 0), ("misses", 1), ("bytes written", 2)):
                errors[name].append(abs(is_[place] / was[place] - 1))
        if len(sizes) == 2:
            small, large = sorted(sizes)
            by = {key[3]: figures for key, figures in predicted.items()}
            print(f"{device:9} {clients:2} clients {memory >> 20:4} MiB {small >> 10} over {large >> 10} KiB"
                  f"  {sizes[small][0] / sizes[large][0]:.2f} {by[small][0] / by[large][0]:.2f}")
    for name, all_ in errors.items():
        print(f"{name}: median {statistics.median(all_):.1%}, at worst {max(all_):.0%} of {len(all_)} cells")


main()
