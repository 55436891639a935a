#!/usr/bin/env bash
# Misaligned partitions on emulated devices with blocks of 4 KiB, beside predictions:
# alignment.sh PLANS DIRECTORY. Each plan compares a device with the same from byte 512 on. The
# processor's time comes from SQLite's measurement, of a server from the program's own catalog. Four
# minutes a plan.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
octavo=$root/target/release/octavo
plans=$1
directory=$2
mkdir -p "$directory"
for plan in "$plans"/*.toml; do
    name=$(basename "$plan" .toml)
    if ! [ -e "$directory/$name.db" ]; then
        "$octavo" run "$plan" "$directory/$name" --quiet >/dev/null
        cp "$directory/$name/octavo.db" "$directory/$name.db"
        "$octavo" report "$directory/$name" --verbose >"$directory/$name.txt"
    fi
    # File systems that are made are measured only.
    grep -q file-system "$plan" && continue
    calibrated=()
    grep -q sqlite "$plan" && calibrated=(--calibrated-by "$directory/$name.db")
    "$octavo" predict "$plan" "$directory/$name-predicted" --quiet "${calibrated[@]}" >/dev/null
    "$octavo" report "$directory/$name-predicted" --verbose >"$directory/$name-predicted.txt"
done
