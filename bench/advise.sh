#!/bin/sh
# The main job with its defaults: does it keep its budget and its memory, and
# did its reads reach the device?
#
#   bench/advise.sh [DIRECTORY]
#
# DIRECTORY (default: target/bench-advise) must not exist; it is on the storage
# to measure, and is removed. About 5 minutes. Needs GNU time.
set -eu
cd "$(dirname "$0")/.."
cargo build --release
folder="bench/runs/$(date -u +%Y-%m-%d)-advise"
mkdir -p "$folder"
work=${1:-target/bench-advise}
/usr/bin/time -v -o "$folder/time.txt" target/release/octavo advise "$work" > "$folder/terminal.txt"
cp "$work/octavo.db" "$work/report.html" "$folder/"
rm -r "$work"
grep -E 'Elapsed|Maximum resident' "$folder/time.txt"
cat "$folder/terminal.txt"
