#!/usr/bin/env python3
"""Puts predicted cells beside measured ones: predict.py MEASURED.db CALIBRATING PREDICTED.db...

`predict.py MEASURED.db` prints how many passes its cells have, each number once. The bytes
of data are counted once a run, so each cell is put beside the prediction that has as many
passes: there has to be one for each number.

For each cell in both: transactions a second, reads a transaction, bytes written a
transaction (log and database), each measured, predicted and the error; then where a
transaction's time goes, in microseconds, measured/predicted. Storage and machine change
their speed while cells are measured, so a cell's measured speed is that of the page size
CALIBRATING in all its passes times the ratio of both on the same passes. All but the data's
bytes is of passes that both cells and the prediction have. Last the median and the largest
absolute error of each figure, without the page size that calibrated the prediction; how
many ratios to that page size lie within what is predicted of them at 95%, calculated here
from what each cell follows, with the measurement's own error; and for each memory the best
page size of both and what the predicted one has of the measured best's throughput.
"""
import json
import math
import sqlite3
import statistics
import sys

MEASURED = sys.argv[1]
# The page size that --calibrated-by takes times from.
CALIBRATING = int(sys.argv[2]) if len(sys.argv) > 2 else None
PREDICTED = sys.argv[3:]
PARTS = ("read", "log write", "log sync", "checkpoint")


def runs(path):
    """Passes and bytes of data a transaction: {(memory, page): {sitting: (passes, data)}}"""
    store = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    found = {}
    for run, memory, page, sitting, counters in store.execute(
        """SELECT run, memory_bytes, page_size_bytes, sitting, counters
           FROM run JOIN cell USING (cell) WHERE failure IS NULL"""
    ):
        passes = {
            row[0]: row[1:]
            for row in store.execute(
                """SELECT pass, transactions, elapsed_s, read_s, log_write_s, log_sync_s,
                          checkpoint_s, buffer_misses, log_written_bytes
                   FROM slice WHERE run = ?""",
                (run,),
            )
        }
        data = json.loads(counters)["data_written_bytes"] / sum(p[0] for p in passes.values())
        found.setdefault((memory, page), {})[sitting] = passes, data
    return found


def length(of_cell):
    """Passes of a sitting of a cell."""
    return round(statistics.mean(len(passes) for passes, _ in of_cell.values()))


def nearest(measured, of_each):
    """Of the predictions the one with as many passes, or nearly so, of each cell."""
    found = {}
    for cell in measured:
        wanted = length(measured[cell])
        have = [of for of in of_each if cell in of]
        if have:
            found[cell] = min(have, key=lambda of: abs(length(of[cell]) - wanted))[cell]
    return found


def both_have(measured, calibrating, predicted):
    """Sums over the passes that all have: measured, calibrating, predicted cell."""
    sums = [[0.0] * 8 for _ in range(3)]
    for sitting in sorted(measured.keys() & calibrating.keys()):
        three = measured[sitting][0], calibrating[sitting][0], predicted[0][0]
        for number in three[0].keys() & three[1].keys() & three[2].keys():
            for total, passes in zip(sums, three):
                total[:] = [old + new for old, new in zip(total, passes[number])]
    return sums


def speed(sums):
    return sums[0] / sums[1]


def figures(sums, data):
    count, elapsed = sums[:2]
    waits = [part / count * 1e6 for part in sums[2:6]]
    return {
        "transactions/s": speed(sums),
        "reads": sums[6] / count,
        "bytes written": sums[7] / count + data,
        "waits": waits,
        "other": elapsed / count * 1e6 - sum(waits),
    }


def cells(measured, predicted):
    """Both figures of each cell that both stores have."""
    found = {}
    for memory, page in sorted(measured.keys() & predicted.keys()):
        calibrating = measured[memory, CALIBRATING]
        of_prediction = predicted[memory, page]
        here, there, then = both_have(measured[memory, page], calibrating, of_prediction)
        passes = [each for of_run, _ in calibrating.values() for each in of_run.values()]
        whole = [sum(column) for column in zip(*passes)]
        data = statistics.mean(data for _, data in measured[memory, page].values())
        was = figures(here, data)
        was["transactions/s"] = speed(whole) * speed(here) / speed(there)
        found[memory, page] = was, figures(then, of_prediction[0][1])
    return found


def warm_up(path):
    """Pages read before what counts, in the first sitting: {(memory, page): pages}"""
    store = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    return {
        row[:2]: row[2]
        for row in store.execute(
            """SELECT memory_bytes, page_size_bytes, warm_up_misses
               FROM run JOIN cell USING (cell) WHERE failure IS NULL AND sitting = 0"""
        )
    }


def inputs(path):
    """What predicted cells follow: {(memory, page): {input: (follows, shared, own)}}"""
    store = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    found = {}
    for memory, page, name, words in store.execute(
        """SELECT memory_bytes, page_size_bytes, fact.name, value
           FROM cell JOIN fact ON topic = 'inputs ' || cell"""
    ):
        found.setdefault((memory, page), {})[name] = [float(word) for word in words.split()]
    return found


def deviation(own, reference):
    """Standard deviation of the logarithm of a predicted ratio."""
    variance = 0.0
    for name, (follows, shared, of_size) in own.items():
        others, _, of_reference = reference[name]
        variance += (shared * (follows - others)) ** 2
        variance += (of_size * follows) ** 2 + (of_reference * others) ** 2
    return math.sqrt(variance)


def error_of_ratio(own, reference):
    """Standard error of the logarithm of a ratio of speeds, from passes of both."""
    logs = []
    for sitting in own.keys() & reference.keys():
        one, other = own[sitting][0], reference[sitting][0]
        both = one.keys() & other.keys()
        logs += [math.log(speed(one[number]) / speed(other[number])) for number in both]
    return statistics.stdev(logs) / math.sqrt(len(logs))


def within(found):
    """A line for each predicted ratio, and how many have the measured one within."""
    follows, passes = inputs(PREDICTED[0]), runs(MEASURED)
    inside = total = 0
    for (memory, page), (measured, predicted) in found.items():
        at, reference = (memory, page), (memory, CALIBRATING)
        if page == CALIBRATING or not {at, reference} <= follows.keys():
            continue
        was, is_ = (
            of["transactions/s"] / found[reference][which]["transactions/s"]
            for which, of in enumerate((measured, predicted))
        )
        spread = deviation(follows[at], follows[reference])
        error = error_of_ratio(passes[at], passes[reference])
        is_in = abs(math.log(was / is_)) <= 1.96 * math.hypot(spread, error)
        inside, total = inside + is_in, total + 1
        low, high = (is_ * math.exp(sign * 1.96 * spread) for sign in (-1, 1))
        print(
            f"{memory >> 20:4} MiB {page / 1024:4g} KiB over {CALIBRATING >> 10} KiB: predicted "
            f"{is_:.2f} ({low:.2f} to {high:.2f}), measured {was:.2f} (+-{error * 196:.0f}%): "
            f"{'within' if is_in else 'NOT WITHIN'}"
        )
    if total:
        print(f"ratios within what is predicted: {inside} of {total}")


def main():
    measured = runs(MEASURED)
    if CALIBRATING is None:
        print(*sorted({length(of_cell) for of_cell in measured.values()}), sep="\n")
        return
    predicted = nearest(measured, [runs(path) for path in PREDICTED])
    found = cells(measured, predicted)
    read_before = [warm_up(path) for path in (MEASURED, PREDICTED[0])]
    compared = ("transactions/s", "reads", "bytes written")
    errors = {figure: [] for figure in compared}
    for (memory, page), (was_measured, was_predicted) in found.items():
        line = f"{memory >> 20:4} MiB {page / 1024:4g} KiB"
        for figure in compared:
            was, is_ = was_measured[figure], was_predicted[figure]
            error = (is_ / was - 1) * 100
            if page != CALIBRATING:
                errors[figure].append(abs(error))
            line += f" | {figure} {was:9.2f} {is_:9.2f} {error:+6.1f}%"
        print(line)
        was, is_ = (read[memory, page] for read in read_before)
        if not 0.8 <= is_ / max(was, 1) <= 1.25:
            print(" " * 14, f"OTHER TRANSACTIONS: {was} pages read before, {is_} predicted")
        lengths = [length(of[memory, page]) for of in (measured, predicted)]
        if lengths[0] != lengths[1]:
            print(" " * 14, f"OTHER PASSES: {lengths[0]} measured, {lengths[1]} predicted")
        pairs = zip(was_measured["waits"], was_predicted["waits"])
        times = [f"{name} {was:.0f}/{is_:.0f}" for name, (was, is_) in zip(PARTS, pairs)]
        times.append(f"other {was_measured['other']:.0f}/{was_predicted['other']:.0f}")
        print(" " * 14, "us:", ", ".join(times))
    for figure, errs in errors.items():
        print(f"{figure}: median error {statistics.median(errs):.1f}%, largest {max(errs):.1f}%")
    within(found)
    for memory in sorted({memory for memory, _ in found}):
        pages = [page for of, page in found if of == memory]
        of_measured, of_predicted = (
            {page: found[memory, page][which]["transactions/s"] for page in pages}
            for which in (0, 1)
        )
        best, named = (max(of, key=of.get) for of in (of_measured, of_predicted))
        share = of_measured[named] / of_measured[best]
        print(
            f"{memory >> 20} MiB: best {best} measured, {named} predicted, "
            f"which has {share * 100:.0f}% of it"
        )


main()
