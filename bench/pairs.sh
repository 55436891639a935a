#!/bin/sh
# Whether a change made the driver slower: two builds of octavo in turn, on one
# core, against a database that answers at once.
#
#   bench/pairs.sh BEFORE AFTER [PAIRS]
#
# BEFORE and AFTER are the two programs. About 40 s a pair; five unless told.
# Prints a line a workload: the ratio after/before of each pair, and the median.
set -eu
cd "$(dirname "$0")/.."
before=$1 after=$2 pairs=${3:-5}
folder="bench/runs/$(date -u +%Y-%m-%d)-pairs"
mkdir -p "$folder"
{
    uname -srm
    grep -m1 'model name' /proc/cpuinfo
    nproc
    cat /proc/loadavg
} > "$folder/machine.txt"

one() { # label, program, workload
    taskset -c 0 "$2" bench --database noop --workload "$3" --duration 3s --warm-up-time 500ms \
        --json | python3 -c 'import json, sys
r = json.load(sys.stdin)
print(json.dumps({"build": sys.argv[1], "workload": r["workload"],
                  "transactions_per_second": r["transactions_per_second"],
                  "steal": r["machine"]["steal"], "others": r["machine"]["others"]}))' "$1"
}

for _ in $(seq "$pairs"); do
    for workload in tpcc ycsb-a ycsb-c pgbench pgbench-select-only; do
        one before "$before" "$workload"
        one after "$after" "$workload"
    done
done | tee "$folder/runs.jsonl"

python3 - "$folder/runs.jsonl" <<'EOF' | tee "$folder/summary.txt"
import json, statistics, sys
runs = [json.loads(line) for line in open(sys.argv[1])]
for workload in dict.fromkeys(run["workload"] for run in runs):
    of = lambda build: [run["transactions_per_second"] for run in runs
                        if (run["workload"], run["build"]) == (workload, build)]
    ratios = [after / before for before, after in zip(of("before"), of("after"))]
    print(f"{workload}: after/before {' '.join(f'{r:.3f}' for r in ratios)}, "
          f"median {statistics.median(ratios):.3f}")
EOF
