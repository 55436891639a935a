#!/usr/bin/env bash
# Predictions beside measurements of the same plans on this machine: predict.sh DATABASE
# DIRECTORY [WORKLOAD...]; CLIENTS=8 for more than one. About three minutes a workload. The
# processor's time comes from the database's default page size of the measurement; all else
# from models and the calibrated storage.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
database=$1
directory=$2
shift 2
workloads=("${@:-tpcc ycsb-a pgbench-simple-update}")
case $database in
sqlite) cells=(--page-sizes 2K,4K,8K,16K,64K --memory 8MiB,32MiB) calibrating=4096 ;;
postgres) cells=(--page-sizes 4K,8K,16K --memory 48MiB) calibrating=8192 ;;
mariadb) cells=(--page-sizes 4K,16K,64K --memory 48MiB) calibrating=16384 ;;
*) echo "predict.sh knows sqlite, postgres and mariadb" >&2 && exit 2 ;;
esac
octavo=$root/target/release/octavo
mkdir -p "$directory"
# shellcheck disable=SC2048 # a list of names
for workload in ${workloads[*]}; do
    plan=(--database "$database" --workload "$workload" "${cells[@]}")
    plan+=(--transactions 100 --warm-up "${WARM_UP:-2000}" --clients "${CLIENTS:-1}")
    measured=$directory/measured-$workload
    predicted=$directory/predicted-$workload
    [ -e "$measured.txt" ] || "$octavo" advise "$measured" "${plan[@]}" --budget 3m \
        >"$measured.txt"
    stores=()
    for passes in $(python3 "$root/bench/predict.py" "$measured/octavo.db"); do
        "$octavo" predict "$predicted-$passes" "${plan[@]}" \
            --passes "$passes" --calibrated-by "$measured/octavo.db" >"$predicted-$passes.txt"
        stores+=("$predicted-$passes/octavo.db")
    done
    echo "$workload"
    python3 "$root/bench/predict.py" "$measured/octavo.db" "$calibrating" "${stores[@]}"
done
