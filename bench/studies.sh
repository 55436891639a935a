#!/usr/bin/env bash
# Repeats the five published studies: predicted, with each constant moved, and measured where
# a database runs here. Writes what they say to the directory that is named.
#
#   bench/studies.sh bench/runs/DATE-studies [BUDGET of each measured study]
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:?name a directory for the results}
budget=${2:-35m}
mkdir -p "$out"
cargo build --release --quiet
octavo=$PWD/target/release/octavo
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

{
    date --utc +%FT%TZ
    git rev-parse HEAD
    uname -r
    nproc
    grep -m1 'model name' /proc/cpuinfo || true
    head -1 /proc/stat
} > "$out/machine.txt"

# Two runs of the predictions give the same bytes.
for again in 1 2; do
    /usr/bin/env time -f '%e s, %M KiB' -o "$out/predicted-time-$again.txt" \
        "$octavo" reproduce all --directory "$work/none" --json --progress 0 > "$work/$again.json"
done
cmp "$work/1.json" "$work/2.json"
"$octavo" reproduce all --directory "$work/none" --verbose --progress 0 > "$out/predicted.txt"
for study in petrov-2010 lee-2009 cubrid-ssd pure-2012 coelho-2014; do
    "$octavo" reproduce "$study" --directory "$work/none" --sensitivity --verbose --progress 0 \
        | sed -n '/^Constants, and/,/^$/p' > "$out/sensitivity-$study.txt"
done

for study in petrov-2010 coelho-2014; do
    "$octavo" reproduce "$study" --directory "$work/studies" --measure --budget "$budget" \
        --progress 0 > "$out/measured-$study.txt"
    "$octavo" report "$work/studies/$study" --verbose > "$out/measured-$study-report.txt"
done
head -1 /proc/stat >> "$out/machine.txt"
