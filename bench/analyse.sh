#!/bin/sh
# How long analysing a store of 10,000 runs takes: the runs of a real store are
# repeated, with other throughputs, in a copy.
#
#   bench/analyse.sh STORE
set -eu
cd "$(dirname "$0")/.."
folder=bench/runs/$(date +%F)-analyse
mkdir -p "$folder"
cargo build --release -p octavo-experiment --example analyse
{ uname -srm; grep -m1 'model name' /proc/cpuinfo; nproc; git rev-parse HEAD; } > "$folder/machine.txt"
"${CARGO_TARGET_DIR:-target}/release/examples/analyse" "$1" 10000 | tee "$folder/raw.txt"
