#!/bin/sh
# The main job with its defaults: does it decide within its budget, how much of
# that is measured time, and did its reads reach the device?
#
#   bench/advise.sh [TIMES [DIRECTORY]]
#
# TIMES (default 1) of five minutes each. DIRECTORY (default:
# target/bench-advise) must not exist; it is on the storage to measure, and is
# removed. Needs GNU time. Take a quiet machine, and different hours.
set -eu
cd "$(dirname "$0")/.."
cargo build --release
folder="bench/runs/$(date -u +%Y-%m-%d)-advise"
mkdir -p "$folder"
work=${2:-target/bench-advise}
for time in $(seq "${1:-1}"); do
    run="$folder/$(date -u +%H%M)"
    /usr/bin/time -v -o "$run-time.txt" target/release/octavo advise "$work" > "$run-terminal.txt"
    target/release/octavo report "$work" --json > "$run-findings.json"
    cp "$work/octavo.db" "$run.db"
    rm -r "$work"
    grep -E 'Elapsed|Maximum resident' "$run-time.txt"
    cat "$run-terminal.txt"
done
{ uname -srm; grep -m1 'model name' /proc/cpuinfo; nproc; git rev-parse HEAD; } > "$folder/machine.txt"
