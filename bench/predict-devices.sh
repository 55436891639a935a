#!/usr/bin/env bash
# Predictions beside SQLite on emulated devices: predict-devices.sh DIRECTORY
# About five minutes; the processor's time comes from the measurement's 4 KiB pages.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
directory=$1
octavo=$root/target/release/octavo
mkdir -p "$directory"
one() { # device, workload, its scale, transactions of the warm-up
    local cells=(--workload "$2" "$3" --page-sizes 4K,16K --memory 8MiB)
    local slices=(--passes 12 --transactions 50 --warm-up "$4")
    local measured=$directory/emulated-$1 predicted=$directory/emulated-$1-predicted
    "$octavo" advise "$measured" --device "$1" "${cells[@]}" "${slices[@]}" \
        --no-calibrate >"$measured.txt"
    "$octavo" predict "$predicted" --device "$1" "${cells[@]}" "${slices[@]}" \
        --calibrated-by "$measured/octavo.db" >"$predicted.txt"
    echo "$1 $2"
    python3 "$root/bench/predict.py" "$measured/octavo.db" 4096 "$predicted/octavo.db"
}
one ec tpcc --warehouses=2 600
one gp3-3000 tpcc --warehouses=2 600
one st373455ss ycsb-a --records=200000 1200
