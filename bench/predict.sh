#!/usr/bin/env bash
# Predictions beside measurements of the same plans on this machine: predict.sh DIRECTORY
# [WORKLOAD...]. About five minutes a workload. The processor's time comes from the
# database's default page size of the measurement; all else from models and the
# calibrated storage.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
directory=$1
shift
workloads=("${@:-tpcc ycsb-a pgbench-simple-update}")
octavo=$root/target/release/octavo
mkdir -p "$directory"
# shellcheck disable=SC2048 # a list of names
for workload in ${workloads[*]}; do
    cells=(--workload "$workload" --page-sizes 2K,4K,8K,16K,64K --memory 8MiB,32MiB)
    slices=(--passes 40 --transactions 100 --warm-up 3000)
    measured=$directory/measured-$workload
    predicted=$directory/predicted-$workload
    "$octavo" advise "$measured" "${cells[@]}" "${slices[@]}" >"$measured.txt"
    "$octavo" predict "$predicted" "${cells[@]}" "${slices[@]}" \
        --calibrated-by "$measured/octavo.db" >"$predicted.txt"
    echo "$workload"
    python3 "$root/bench/predict.py" "$measured/octavo.db" "$predicted/octavo.db"
done
