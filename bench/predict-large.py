#!/usr/bin/env python3
"""Puts predicted cells beside measured ones: predict-large.py MEASURED.db PREDICTED.db

For each cell: transactions a second and misses a transaction, measured, predicted and the
error. Then the ratio of the first page size to the second for each memory, measured and
predicted. Means over all slices.
"""
import sqlite3
import sys


def cells(path):
    store = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    rows = store.execute(
        """SELECT cell.memory_bytes, cell.page_size_bytes,
                  sum(slice.transactions) / sum(slice.elapsed_s),
                  1.0 * sum(slice.buffer_misses) / sum(slice.transactions)
           FROM slice JOIN run ON slice.run = run.run JOIN cell ON run.cell = cell.cell
           WHERE run.failure IS NULL GROUP BY 1, 2"""
    )
    return {(memory, page): figures for memory, page, *figures in rows}


measured, predicted = cells(sys.argv[1]), cells(sys.argv[2])
for memory, page in sorted(measured):
    (rate, misses), (own, own_misses) = measured[memory, page], predicted[memory, page]
    print(
        f"{memory >> 20:4} MiB {page >> 10:2} KiB  {rate:6.1f} {own:6.1f} tps {own / rate - 1:+5.0%}"
        f"  {misses:5.1f} {own_misses:5.1f} misses {own_misses / misses - 1:+5.0%}"
    )
for memory in sorted({memory for memory, _ in measured}):
    one, other = sorted(page for own, page in measured if own == memory)
    ratio = measured[memory, one][0] / measured[memory, other][0]
    own = predicted[memory, one][0] / predicted[memory, other][0]
    print(f"{memory >> 20:4} MiB {one >> 10} over {other >> 10} KiB  {ratio:.2f} {own:.2f}")
