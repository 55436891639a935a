#!/bin/sh
# What racing does on machines that drift: how often it calls a winner where
# there is none, how often it finds 5 %, in how many runs beside the full
# factorial, and whether its intervals cover. A simulation: it needs no quiet
# machine.
#
#   bench/race.sh [RACES [RECORDING]]
#
# RACES (default 2000) of each kind, about 5 minutes on two cores. RECORDING is
# what bench/aa.sh keeps of a real experiment of identical cells: one run a line
# in the order of time, "round cell throughput".
set -eu
cd "$(dirname "$0")/.."
folder=bench/runs/2026-11-21-race
mkdir -p "$folder"
cargo build --release -p octavo-experiment --example race
recorded=${2:-}
"${CARGO_TARGET_DIR:-target}/release/examples/race" "${1:-2000}" ${recorded:+"$recorded"} > "$folder/raw.txt"
{ uname -srm; grep -m1 'model name' /proc/cpuinfo; nproc; git rev-parse HEAD; } > "$folder/machine.txt"
cat "$folder/raw.txt"
