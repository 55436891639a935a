#!/usr/bin/env python3
"""Puts predicted cells beside measured ones: predict.py MEASURED.db PREDICTED.db CALIBRATING

For each cell in both: transactions a second, reads a transaction, bytes written a
transaction (log and database), each measured, predicted and the error; then where a
transaction's time goes, in microseconds, measured/predicted. Last the median and the
largest absolute error of each figure, without the page size that calibrated the
prediction, and for each memory the best page size of both and what the predicted one has
of the measured best's throughput.
"""
import json
import sqlite3
import statistics
import sys

# The page size that --calibrated-by takes times from.
CALIBRATING = int(sys.argv[3])
PARTS = ("read", "log write", "log sync", "checkpoint")


def cells(path):
    store = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    found = {}
    for row in store.execute(
        """SELECT memory_bytes, page_size_bytes, sum(slice.transactions), sum(elapsed_s),
                  sum(log_written_bytes), sum(read_s), sum(log_write_s), sum(log_sync_s),
                  sum(checkpoint_s), counters
           FROM slice JOIN run USING (run) JOIN cell USING (cell)
           WHERE failure IS NULL GROUP BY cell"""
    ):
        memory, page, count, elapsed, log = row[:5]
        counters = json.loads(row[9])
        waits = [part / count * 1e6 for part in row[5:9]]
        found[memory, page] = {
            "transactions/s": count / elapsed,
            "reads": counters["reads"] / count,
            "bytes written": (log + counters["data_written_bytes"]) / count,
            "waits": waits,
            "other": elapsed / count * 1e6 - sum(waits),
        }
    return found


def main():
    measured, predicted = (cells(path) for path in sys.argv[1:3])
    figures = ("transactions/s", "reads", "bytes written")
    errors = {figure: [] for figure in figures}
    both = sorted(set(measured) & set(predicted))
    for key in both:
        memory, page = key
        line = f"{memory >> 20:4} MiB {page / 1024:4g} KiB"
        for figure in figures:
            was, is_ = measured[key][figure], predicted[key][figure]
            error = (is_ / was - 1) * 100
            if page != CALIBRATING:
                errors[figure].append(abs(error))
            line += f" | {figure} {was:9.2f} {is_:9.2f} {error:+6.1f}%"
        print(line)
        pairs = zip(measured[key]["waits"], predicted[key]["waits"])
        times = [f"{name} {was:.0f}/{is_:.0f}" for name, (was, is_) in zip(PARTS, pairs)]
        times.append(f"other {measured[key]['other']:.0f}/{predicted[key]['other']:.0f}")
        print(" " * 14, "us:", ", ".join(times))
    for figure, found in errors.items():
        print(f"{figure}: median error {statistics.median(found):.1f}%, largest {max(found):.1f}%")
    for memory in sorted({memory for memory, _ in both}):
        pages = [page for of, page in both if of == memory]
        best = max(pages, key=lambda page: measured[memory, page]["transactions/s"])
        named = max(pages, key=lambda page: predicted[memory, page]["transactions/s"])
        share = measured[memory, named]["transactions/s"] / measured[memory, best]["transactions/s"]
        print(
            f"{memory >> 20} MiB: best {best} measured, {named} predicted, "
            f"which has {share * 100:.0f}% of it"
        )


main()
