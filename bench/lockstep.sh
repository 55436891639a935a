#!/bin/sh
# What judging cells in lockstep does on machines that drift: how often it
# calls winners among equals, how soon it decides, how wide its intervals are
# and whether they cover. A simulation: it needs no quiet machine.
#
#   bench/lockstep.sh [TRIALS]
#
# TRIALS (default 1000) of each kind, about 10 minutes on two cores.
set -eu
cd "$(dirname "$0")/.."
folder=bench/runs/2026-11-22-lockstep
mkdir -p "$folder"
cargo build --release -p octavo-experiment --example lockstep
"${CARGO_TARGET_DIR:-target}/release/examples/lockstep" "${1:-1000}" > "$folder/raw.txt"
{ uname -srm; grep -m1 'model name' /proc/cpuinfo; nproc; git rev-parse HEAD; } > "$folder/machine.txt"
cat "$folder/raw.txt"
