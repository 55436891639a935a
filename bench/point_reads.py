"""Point reads of SQLite through `octavo bench` and in a loop of C; see point-reads.sh."""

import json
import os
import statistics
import subprocess
import sys
import tempfile

folder, loop, *programs = sys.argv[1:]
PAIRS = int(os.environ.get("PAIRS", 7))
SECONDS = os.environ.get("SECONDS_EACH", "3")
MEMORY_MIB = 200
WORKLOADS = {
    "ycsb-c": ["--records", "20000"],
    "pgbench-select-only": ["--scale", "2"],
}


def run(*command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def octavo(program, directory, workload):
    """Processor time of a transaction in us: of the whole process while it measures."""
    even = ["--distribution", "uniform"] if workload.startswith("ycsb") else []
    result = run(program, "bench", directory, "--workload", workload, *even, "--memory", f"{MEMORY_MIB}MiB",
                 "--warm-up-time", "2s", "--duration", SECONDS + "s", "--json")
    misses = result["counters"]["buffer_misses"]
    if misses * 1000 > result["transactions"]:
        sys.exit(f"{misses} misses of the buffer: warm up for longer")
    return result["machine"]["client_cpu_s"] * 1e6 / result["transactions"]


def in_c(database, workload, *more):
    result = run(loop, database, workload, SECONDS, str(MEMORY_MIB * 1024), *more)
    return result["cpu_s"] * 1e6 / result["transactions"]


rows = []
with tempfile.TemporaryDirectory() as home:
    for workload, size in WORKLOADS.items():
        directory = f"{home}/{workload}"
        subprocess.run([programs[0], "load", directory, "--workload", workload, *size], check=True,
                       capture_output=True)
        database = f"{directory}/data/base/database.sqlite"
        copy = f"{home}/{workload}.sqlite"
        subprocess.run(["cp", database, copy], check=True)
        ways = {"C": lambda: in_c(copy, workload), "C with a second thread": lambda: in_c(copy, workload, "thread")}
        for program in programs:
            ways[os.path.basename(program)] = lambda program=program: octavo(program, directory, workload)
        for _ in range(PAIRS):
            row = {name: way() for name, way in ways.items()}
            rows.append({"workload": workload, **row})
            print(rows[-1], flush=True)
        mine = [row for row in rows if row["workload"] == workload]
        for name in ways:
            times = [row[name] for row in mine]
            others = ["C", "C with a second thread"]
            ratios = [statistics.median(row[c] / row[name] for row in mine) for c in others]
            best = [min(row[c] for row in mine) / min(times) for c in others]
            print("%s, %s: %.2f us of processor a transaction (median), %.2f (least); of the rate of C %.3f (median of "
                  "pairs), %.3f (least by least); of that with a second thread %.3f, %.3f"
                  % (workload, name, statistics.median(times), min(times), ratios[0], best[0], ratios[1], best[1]),
                  flush=True)
with open(f"{folder}/pairs.jsonl", "w") as file:
    file.writelines(json.dumps(row) + "\n" for row in rows)
