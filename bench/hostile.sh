#!/bin/sh
# Damaged and made-up input by the million: plans, device entries, profiles,
# stores, traces and answers of servers, read and rendered in every form. Prints the number
# of a case that panics or hangs.
#
#   bench/hostile.sh [TIMES [FIRST]]
#
# Ten million cases by default, TIMES as many otherwise, from the number FIRST on
# (default 1000000). A reader has as many as its time allows: one of a plan takes
# 15 us, one of a store that is reported on 16 ms. About 70 minutes for each of
# TIMES, on one core.
set -eu
cd "$(dirname "$0")/.."
times=${1:-1}
export OCTAVO_HOSTILE_FIRST="${2:-1000000}"
folder="bench/runs/$(date -u +%Y-%m-%d)-hostile"
mkdir -p "$folder"
{
    uname -srm
    grep -m1 'model name' /proc/cpuinfo
    git rev-parse HEAD
    echo "$times times, from $OCTAVO_HOSTILE_FIRST"
} > "$folder/machine.txt"
: > "$folder/result.txt"
cargo test --release -p octavo-hostile --test readers --no-run
while read -r reader cases; do
    OCTAVO_HOSTILE_CASES=$((cases * times)) \
        cargo test --release -p octavo-hostile --test readers -- --nocapture "$reader" \
        >> "$folder/result.txt" 2>&1 < /dev/null || { tail -20 "$folder/result.txt"; exit 1; }
    grep ' cases, ' "$folder/result.txt" | tail -1
done <<LIST
plans 8000000
device_entries 1000000
device_profiles 600000
damaged_bytes 200000
hostile_values 50000
texts_of 30000
files_of_requests 100000
postgres 100000
mariadb 100000
LIST
