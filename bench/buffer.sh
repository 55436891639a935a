#!/bin/sh
# How fast buffers are simulated on one core, and whether they miss what those of
# libCacheSim miss.
#
#   bench/buffer.sh [ROUNDS [CACHESIM]]
#
# ROUNDS (default 3) runs at 100,000 pages with 20 million references and at 4 million
# pages with 40 million. CACHESIM is the `cachesim` of libCacheSim
# (https://github.com/1a1a11a/libCacheSim): it then reads a trace of 10,000 references
# that was written for it, so that the four digits of its ratios are counts. Writes raw
# output into runs/DATE-buffer/, about two minutes a round on a quiet machine. Ends with
# 1 where a count differs.
set -eu
cd "$(dirname "$0")/.."
rounds=${1:-3}
cachesim=${2:-}
folder=bench/runs/$(date +%F)-buffer
mkdir -p "$folder"
cargo build --release -q -p octavo-buffer --example speed
speed=${CARGO_TARGET_DIR:-target}/release/examples/speed
{ uname -srm; grep -m1 'model name' /proc/cpuinfo; lscpu | grep -E 'L[123].* cache'; git rev-parse HEAD; } > "$folder/machine.txt"
for round in $(seq "$rounds"); do
    "$speed" 100000 20000000 > "$folder/100k-$round.txt"
    "$speed" 4000000 40000000 > "$folder/4m-$round.txt"
done

[ -n "$cachesim" ] || exit 0
# cachesim writes a file of its own where it runs.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trace=$scratch/trace.oracleGeneral.bin
cachesim=$(realpath "$cachesim")
sizes='30 100 300'
# shellcheck disable=SC2086 # a list of sizes
"$speed" misses "$trace" 1000 10000 7 $sizes > "$folder/misses.txt"
for size in $sizes; do
    for pair in lru=lru second-chance=clock 2q=twoq arc=arc s3-fifo=s3fifo opt=belady; do
        ours=$(awk -v p="${pair%=*}" -v s="$size" '$1 == p && $2 == s { print $3 }' "$folder/misses.txt")
        theirs=$(cd "$scratch" && "$cachesim" "$trace" oracleGeneral "${pair#*=}" "$size" --ignore-obj-size 1 2>&1 |
            sed -n 's/.*req, miss ratio \(0\.[0-9]*\),.*/\1/p' | tail -1)
        theirs=$(awk -v r="$theirs" 'BEGIN { printf "%d", r * 10000 + 0.5 }')
        echo "${pair%=*} $size ours $ours libCacheSim $theirs"
    done
done | tee "$folder/libcachesim.txt"
! awk '$4 != $6 { found = 1 } END { exit !found }' "$folder/libcachesim.txt"
