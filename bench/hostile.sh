#!/bin/sh
# Damaged and made-up input by the million: plans, device entries, profiles,
# stores and answers of servers, read and rendered in every form. Prints the number
# of a case that panics or hangs.
#
#   bench/hostile.sh [CASES [FIRST]]
#
# CASES of each kind of text (default 1000000; stores and servers have half of that), from
# the number FIRST on (default 1000000). About 15 minutes a million.
set -eu
cd "$(dirname "$0")/.."
folder="bench/runs/$(date -u +%Y-%m-%d)-hostile"
mkdir -p "$folder"
{
    uname -srm
    grep -m1 'model name' /proc/cpuinfo
    git rev-parse HEAD
    echo "cases ${1:-1000000} from ${2:-1000000}"
} > "$folder/machine.txt"
export OCTAVO_HOSTILE_CASES="${1:-1000000}" OCTAVO_HOSTILE_FIRST="${2:-1000000}"
# No case may take a GiB.
ulimit -v 4194304
cargo test --release -p octavo-hostile --test readers -- --nocapture 2>&1 | tee "$folder/result.txt"
