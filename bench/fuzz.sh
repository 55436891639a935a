#!/bin/sh
# Fuzzers, which look for new ways through the readers, with AddressSanitizer.
#
#   bench/fuzz.sh [SECONDS [READER...]]
#
# SECONDS (default 600) for each of the readers of crates/hostile that are named
# (default: all). What they found interesting is minimized at the end and kept in
# fuzz/corpus, an archive for each; a fault ends it with 1, and its input is in
# fuzz/artifacts. Needs a nightly toolchain, cargo-fuzz and xz.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-600}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- plan entry profile store store-values text script own-file postgres mariadb
folder="bench/runs/$(date -u +%Y-%m-%d)-fuzz"
mkdir -p "$folder"
{ uname -srm; grep -m1 'model name' /proc/cpuinfo; git rev-parse HEAD; } > "$folder/machine.txt"
for reader in "$@"; do
    corpus="fuzz/target/corpus/$reader"
    archive="fuzz/corpus/$reader.tar.xz"
    rm -rf "$corpus"
    mkdir -p "$corpus" fuzz/corpus
    [ ! -e "$archive" ] || tar -xJf "$archive" -C "$corpus"
    # What is sound to begin with.
    case $reader in
        plan) seeds=plans ;;
        entry) seeds=crates/device/catalog ;;
        profile) seeds=bench/runs/2026-11-22-twin ;;
        store) seeds=crates/experiment/tests/stores ;;
        postgres | mariadb) seeds=crates/hostile/conversations ;;
        *) seeds= ;;
    esac
    # No input may take 1 GiB, or 20 s. What threads that are just ending still
    # hold is no leak.
    # shellcheck disable=SC2086 # no seeds are no word
    cargo +nightly fuzz run "$reader" "$corpus" $seeds -- -max_total_time="$seconds" \
        -rss_limit_mb=1024 -timeout=20 -detect_leaks=0 -max_len=262144 -print_final_stats=1 \
        > "$folder/$reader.log" 2>&1 || { cut -c 1-200 "$folder/$reader.log" | tail -40; exit 1; }
    cargo +nightly fuzz cmin "$reader" "$corpus" >> "$folder/$reader.log" 2>&1
    tar -cJf "$archive" --sort=name --mtime=@0 --owner=0 --group=0 -C "$corpus" .
    grep -E 'stat::(number_of_executed_units|peak_rss_mb)' "$folder/$reader.log" > "$folder/$reader.txt"
    sed "s/^/$reader /" "$folder/$reader.txt"
    rm "$folder/$reader.log"
done
