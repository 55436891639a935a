#!/usr/bin/env bash
# Repeats the published studies: measured where a database runs here, predicted, and with
# each constant moved. Writes what they say to the directory that is named.
#
#   bench/studies.sh bench/runs/DATE-studies [BUDGET of each measured study; 0 measures none]
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:?name a directory for the results}
budget=${2:-35m}
mkdir -p "$out"
cargo build --release --quiet
octavo=$PWD/target/release/octavo
studies=$(mktemp -d)
trap 'rm -rf "$studies"' EXIT

{
    date --utc +%FT%TZ
    git rev-parse HEAD
    uname -r
    nproc
    grep -m1 'model name' /proc/cpuinfo || true
} > "$out/machine.txt"

measured=(petrov-2010 coelho-2014)
if [[ $budget == 0 ]]; then measured=(); fi
for study in "${measured[@]}"; do
    head -1 /proc/stat >> "$out/machine.txt"
    "$octavo" reproduce "$study" --directory "$studies" --measure --budget "$budget" \
        --progress 0 > /dev/null
    head -1 /proc/stat >> "$out/machine.txt"
    "$octavo" report "$studies/$study" --verbose > "$out/measured-$study.txt"
done

head -1 /proc/stat >> "$out/machine.txt"
/usr/bin/env time -f '%e s, %M KiB' -o "$out/time.txt" \
    "$octavo" reproduce all --directory "$studies" --verbose --progress 0 > "$out/all.txt"

head -1 /proc/stat >> "$out/machine.txt"

for study in coelho-2014 cubrid-ssd pure-2012 lee-2009 petrov-2010; do
    "$octavo" reproduce "$study" --sensitivity --json --progress 0 |
        python3 -c '
import json, sys
print("constant\tof\tvalue\tmean error\tsmaller\tlarger\tnear\tsmaller\tlarger")
for c in json.load(sys.stdin)["studies"][0]["constants"]:
    error, held = c["mean_error_moved"], c["held_moved"]
    print(c["name"], "+".join(c["experiments"]), "%g %s" % (c["value"][0], c["unit"]),
          "%.3f" % c["mean_error"], "%.3f" % error[0], "%.3f" % error[1],
          c["held"], held[0], held[1], sep="\t")
' > "$out/constants-$study.tsv"
done
