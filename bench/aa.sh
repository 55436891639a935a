#!/bin/sh
# What real experiments say of identical cells: five copies of SQLite under
# TPC-C in lockstep for ten minutes. No copy leaves. The run is cut into windows
# of passes, and each window is judged by itself: how often is a winner called,
# and do intervals cover 1? Take a quiet machine.
#
#   bench/aa.sh DIRECTORY [BUDGET]
#
# DIRECTORY is new or empty, on the storage in question; BUDGET is 10m.
set -eu
cd "$(dirname "$0")/.."
folder=bench/runs/$(date +%F)-aa
mkdir -p "$folder"
cargo build --release -p octavo-cli
cargo build --release -p octavo-experiment --example windows
target=${CARGO_TARGET_DIR:-target}
cat > "$folder/plan.toml" <<'TOML'
format = 1
name = "A/A"

[experiment]
copies = 5
design = "full"

[run]
transactions = 50

[workload]
name = "tpcc"
warehouses = 4

[cells]
page-size = "4K"
memory = "32MiB"
TOML
"$target/release/octavo" run "$folder/plan.toml" "$1" --budget "${2:-10m}" --verbose > "$folder/terminal.txt"
for passes in 20 40 80; do
    "$target/release/examples/windows" "$1/octavo.db" "$passes"
done > "$folder/windows.txt"
python3 - "$1/octavo.db" > "$folder/slices.csv" <<'PY'
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute(
    "SELECT sitting, pass, slice.position, cell, slice.counted, elapsed_s, checkpoint_s, "
    "log_written_bytes, buffer_misses, foreign_bytes FROM slice JOIN run USING (run) "
    "WHERE failure IS NULL ORDER BY 1, 2, 3")
print("sitting,pass,position,cell,counted,elapsed_s,checkpoint_s,log_bytes,misses,foreign_bytes")
for row in rows:
    print(",".join("%g" % v if isinstance(v, float) else str(v) for v in row))
PY
{ uname -srm; grep -m1 'model name' /proc/cpuinfo; nproc; git rev-parse HEAD; } > "$folder/machine.txt"
cat "$folder/windows.txt"
