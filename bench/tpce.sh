#!/bin/sh
# How fast TPC-E's rows are loaded and its transactions are made, and whether a
# second program finds them as the specification has them.
#
#   bench/tpce.sh DIRECTORY
#
# DIRECTORY is new, on a disk with 3 GB of room. About 4 minutes, with nothing else
# running. Needs PostgreSQL and MariaDB, which ./test installs.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cargo build --release -p octavo-cli --manifest-path "$root/Cargo.toml"
octavo="$root/target/release/octavo"
folder="$root/bench/runs/$(date -u +%Y-%m-%d)-tpce"
mkdir -p "$folder" "$1"
cd "$1"
stolen() { awk '/^cpu /{print $9}' /proc/stat; }
{ uname -srm; grep -m1 'model name' /proc/cpuinfo; nproc; "$octavo" --version; } > "$folder/machine.txt"
begin=$(stolen)

# SQLite on one core, generators and all; servers on both.
for turn in 1 2 3; do
    for database in sqlite postgres mariadb; do
        cores=0
        [ $database = sqlite ] || cores=0,1
        rm -rf $database
        taskset -c $cores "$octavo" load $database --database $database --workload tpce --json |
            python3 -c 'import json, sys
r = json.load(sys.stdin)
r.pop("directory", None)
r.pop("path", None)
print(json.dumps(r))'
    done
done > "$folder/load.jsonl"

# The driver alone, on one core.
for turn in 1 2 3; do
    taskset -c 0 "$octavo" bench --database noop --workload tpce --duration 3s --warm-up-time 500ms --json |
        python3 -c 'import json, sys
r = json.load(sys.stdin)
print(json.dumps({k: r[k] for k in ("workload", "clients", "transactions_per_second", "failed")}))'
done > "$folder/noop.jsonl"

check() { python3 "$root/bench/tpce_check.py" "$@" --customers 1000 --trade-days 5 --scale-factor 500; }
check sqlite/data/base/database.sqlite > "$folder/check-loaded.txt"
"$octavo" bench sqlite --clients 4 --duration 60s > "$folder/bench-sqlite.txt" 2>/dev/null
check sqlite/data/run/database.sqlite --after-run > "$folder/check-after-run.txt"
for database in postgres mariadb; do
    "$octavo" bench $database --clients 4 --duration 60s > "$folder/bench-$database.txt" 2>/dev/null
done
echo "hundredths of a second that the host took: $(($(stolen) - begin))" >> "$folder/machine.txt"
tail -qn 1 "$folder"/check-*.txt
