#!/bin/sh
# Compares octavo's calibrate with fio on one file: same engine, size, depth,
# alternating. Writes raw.csv and README.md into bench/runs/DATE-calibrate-vs-fio.
#
#   bench/calibrate-vs-fio.sh [DIRECTORY] [SECONDS] [PAIRS] [SLICES]
#
# DIRECTORY (default: target/) is on the storage to measure; a file of 1 GiB is
# made there and removed. Needs fio (tested with 3.33), python3 and cargo. Take
# a quiet machine: 12 points of PAIRS (5) pairs of SLICES (3) slices of SECONDS
# (1) s of octavo, fio and fio as a control, about 17 minutes.
set -eu
cd "$(dirname "$0")/.."
cargo build --release -p octavo-storage --example point
exec python3 bench/calibrate-vs-fio.py "${1:-target}" "${2:-1}" "${3:-5}" "${4:-3}"
