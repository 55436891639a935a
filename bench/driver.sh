#!/bin/sh
# What the driver itself can do and costs: its transactions against a database
# that answers at once, how punctual an open loop is, how fast and how exact
# keys are drawn, what recording takes.
#
#   bench/driver.sh
#
# About 6 minutes, some more with DAY=1, which records a whole day's events to
# see the memory that takes.
set -eu
cd "$(dirname "$0")/.."
cargo build --release -p octavo-cli
cargo build --release -p octavo-workload --example draw -p octavo-driver --example record
folder="bench/runs/$(date -u +%Y-%m-%d)-driver"
mkdir -p "$folder"
octavo=target/release/octavo
{ uname -srm; grep -m1 'model name' /proc/cpuinfo; nproc; "$octavo" --version; } > "$folder/machine.txt"

# One core, three rounds over all workloads.
one_core() {
    for _ in 1 2 3; do
        for workload in tpcc ycsb-a ycsb-b ycsb-c ycsb-d ycsb-e ycsb-f \
            pgbench pgbench-simple-update pgbench-select-only; do
            taskset -c 0 "$octavo" bench --database noop --workload "$workload" \
                --duration 3s --warm-up-time 500ms --json |
                python3 -c 'import json, sys
r = json.load(sys.stdin)
print(json.dumps({k: r[k] for k in ("workload", "clients", "transactions_per_second", "failed")}))'
        done
    done
}

# Two connections on two cores, three rounds over both processes.
punctual() {
    for _ in 1 2 3; do
        for arrivals in constant poisson; do
            "$octavo" bench --database noop --workload ycsb-a --clients 2 --rate 50000 \
                --arrivals "$arrivals" --duration 10s --warm-up-time 1s --json |
                python3 -c 'import json, sys
r = json.load(sys.stdin)
print(json.dumps({k: r[k] for k in ("load", "clients", "transactions_per_second", "late_us", "backlog", "saturated")}))'
        done
    done
}

one_core | tee "$folder/one-core.jsonl"
punctual | tee "$folder/open-loop.jsonl"
for _ in 1 2 3; do taskset -c 0 target/release/examples/draw; done | tee "$folder/draws.txt"
taskset -c 0 target/release/examples/draw --exactness | tee "$folder/exactness.txt"
for _ in 1 2 3; do taskset -c 0 target/release/examples/record 20; done | tee "$folder/record.jsonl"
if [ "${DAY:-0}" = 1 ]; then
    taskset -c 0 target/release/examples/record 86400 100000 | tee "$folder/record-day.jsonl"
fi
