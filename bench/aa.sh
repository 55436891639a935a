#!/bin/sh
# What a real experiment says of identical cells: plans/a-a.toml, the same cell
# under three names. It has to end "equivalent". Takes up to 40 minutes; take a
# quiet machine.
#
#   bench/aa.sh DIRECTORY
#
# DIRECTORY is new or empty, on the storage in question. Keeps the report, and
# the throughput of each run in the order of time, which bench/race.sh replays.
set -eu
cd "$(dirname "$0")/.."
folder=bench/runs/$(date +%F)-aa
mkdir -p "$folder"
cargo build --release -p octavo
target=${CARGO_TARGET_DIR:-target}
"$target/release/octavo" run plans/a-a.toml "$1" > "$folder/terminal.txt"
"$target/release/octavo" report "$1" --json > "$folder/findings.json"
python3 - "$1/octavo.db" > "$folder/recorded.txt" <<'PY'
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute(
    "SELECT round, cell, counted * 60 / measured_s FROM run WHERE failure IS NULL ORDER BY round, position")
for row in rows:
    print("%d %d %.3f" % row)
PY
cat "$folder/terminal.txt"
