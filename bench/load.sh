#!/bin/sh
# How fast TPC-C is generated and goes into SQLite, on one core and on all,
# and from there to another page size and into copies.
#
#   bench/load.sh [DIRECTORY]
#
# DIRECTORY (default: target/) is on the storage to measure and needs 4 GiB
# free; what is made there is removed. About 2 minutes.
set -eu
cd "$(dirname "$0")/.."
cargo build --release -p octavo-workload --example generate -p octavo-database --example load
folder="bench/runs/$(date -u +%Y-%m-%d)-load"
mkdir -p "$folder"
work=$(mktemp -d "${1:-target}/bench-load-XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM
load() { # pinning, arguments of the example
    pin=$1
    shift
    mkdir "$work/d"
    $pin target/release/examples/load "$work/d" "$@" | sed "s/^{/{\"pinned\":\"${pin:-no}\",/"
    rm -rf "$work/d"
}
{
    for _ in 1 2 3; do load "taskset -c 0" 5 4096 inline; done
    for _ in 1 2 3; do load "" 5 4096 derive=65536 derive=2048 restores=3; done
    load "taskset -c 0" 20 4096 inline
} | tee "$folder/load.jsonl"
for _ in 1 2 3; do
    taskset -c 0 target/release/examples/generate 4 1
done | tee "$folder/generate.txt"
