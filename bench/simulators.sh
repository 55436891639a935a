#!/bin/sh
# How fast disks and solid-state drives are simulated on one core.
#
#   bench/simulators.sh [ROUNDS [OTHER]]
#
# ROUNDS (default 5) runs of each point, the points in turn. OTHER is a directory
# with the speed_disk and speed_flash of another version, which then run before
# ours each time. Writes raw output into runs/DATE-simulators/ and prints the
# median of each point. About 25 seconds a round and version, on a quiet
# machine.
#
# The points: 4 KiB random reads of a disk at depth 1 and 32; at depth 32 reads
# over 16 GiB of sata-tlc, and reads, writes and 70/30 over all of a drive like
# it with an eighth of its dies, each an eighth as large, where cleaning moves
# four units for each that is written.
set -eu
cd "$(dirname "$0")/.."
rounds=${1:-5}
other=${2:-}
folder=bench/runs/$(date +%F)-simulators
mkdir -p "$folder"
cargo build --release -p octavo-device --example speed_disk --example speed_flash
ours=${CARGO_TARGET_DIR:-target}/release/examples
{ uname -srm; grep -m1 'model name' /proc/cpuinfo; nproc; git rev-parse HEAD; } > "$folder/machine.txt"
small=$(mktemp --suffix=.toml)
trap 'rm -f "$small"' EXIT
source='calculated: a 64th of sata-tlc'
sed -e 's/^name = .*/name = "sata-tlc-64th"/' \
    -e "s|^capacity_bytes = .*|capacity_bytes = [15003078656, \"$source\"]|" \
    -e "s|^channels = .*|channels = [4, \"$source\"]|" \
    -e "s|^dies_per_channel = .*|dies_per_channel = [1, \"$source\"]|" \
    crates/device/catalog/sata-tlc.toml > "$small"

points() {
    "$1/speed_disk" st373455ss 2000000
    "$1/speed_flash" sata-tlc 16GiB 4 read
    "$1/speed_flash" "$small" all 2 | sed "s|^$small|sata-tlc-64th|"
}

# Speeds of one point in all rounds: its median.
medians() {
    sed -nE 's/^(.*): ([0-9.]+) million.*(checksum .*)$/\2 \1, \3/p' "$1" | sort -k2 -k1,1n |
        awk '{ speed = $1; $1 = ""; if ($0 != point) { show(); point = $0; count = 0 } speeds[++count] = speed }
             END { show() }
             function show(half) {
                 if (!count) return
                 half = int((count + 1) / 2)
                 printf "%.2f million/s (%.2f to %.2f):%s\n",
                     (speeds[half] + speeds[count + 1 - half]) / 2, speeds[1], speeds[count], point
             }'
}

: > "$folder/raw.txt"
[ -z "$other" ] || : > "$folder/raw-other.txt"
round=0
while [ "$round" -lt "$rounds" ]; do
    [ -z "$other" ] || points "$other" >> "$folder/raw-other.txt"
    points "$ours" >> "$folder/raw.txt"
    round=$((round + 1))
done
[ -z "$other" ] || { echo "$other:"; medians "$folder/raw-other.txt"; echo "ours:"; }
medians "$folder/raw.txt"
