#!/usr/bin/env bash
# Predictions beside 4 GiB of TPC-C on an emulated device, from cold buffers of a 64th and an
# eighth of it: predict-large.sh DIRECTORY [CLIENTS [DEVICE]]. About an hour: loading takes most
# of it. Nothing calibrates the predictions; the processor's time is the catalog's.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
directory=$1
clients=${2:-8}
device=${3:-gp3-3000}
octavo=$root/target/release/octavo
mkdir -p "$directory"
one() { # database, page sizes
    local cells=(--database "$1" --clients "$clients" --device "$device" --page-sizes "$2")
    cells+=(--memory 64MiB,512MiB --warehouses 45)
    # Both have executed as many transactions: rows and buffers are as old.
    local slices=(--warm-up 600 --transactions 100 --passes 16)
    local measured=$directory/measured-$1 predicted=$directory/predicted-$1
    [ -e "$measured.txt" ] || "$octavo" advise "$measured" "${cells[@]}" "${slices[@]}" \
        --no-calibrate --budget 40m >"$measured.txt"
    "$octavo" predict "$predicted" "${cells[@]}" "${slices[@]}" \
        --cpus "$(nproc)" >"$predicted.txt"
    echo "$1"
    python3 "$root/bench/predict-large.py" "$measured/octavo.db" "$predicted/octavo.db"
}
one mariadb 4K,16K
one sqlite 4K,16K
one postgres 4K,8K
