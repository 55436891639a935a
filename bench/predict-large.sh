#!/usr/bin/env bash
# Predictions beside 4 GiB of TPC-C on emulated devices, for 8 and 32 clients and buffers of a 64th
# and an eighth of the data: predict-large.sh DATABASE DIRECTORY [BUDGET [WARM_UP]]. About an hour
# for each database, of which loading and copying take a third; 50 GiB of room. Nothing calibrates
# the predictions; the processor's time is the catalog's.
#
# What is measured executes 6,000 transactions before any counts, unless it is told otherwise, and so does
# what is predicted. A budget that is too small cuts the measured ones short, which no store says: look at
# the progress.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
database=$1
directory=$2
budget=${3:-60m}
warm_up=${4:-6000}
octavo=$(dirname "$here")/target/release/octavo
second=16K
[ "$database" = postgres ] && second=8K
mkdir -p "$directory"
cd "$directory"
cat >"$database.toml" <<PLAN
format = 1
name = "TPC-C of 45 warehouses on $database, measured and predicted"

[experiment]
design = "full"
passes = 12
compare = "page-size"
budget = "$budget"

[run]
transactions = 300
warm-up = $warm_up

[workload]
name = "tpcc"
warehouses = 45

[cells]
database = "$database"
page-size = ["4K", "$second"]
memory = ["64MiB", "512MiB"]
clients = [8, 32]
storage = ["device:gp3-3000", "device:sata-tlc"]
PLAN
# Another budget goes on with what is there.
"$octavo" run "$database.toml" "measured-$database" --budget "$budget" >"measured-$database.txt"
python3 "$here/predict-large.py" "measured-$database/octavo.db" --octavo "$octavo" --warm-up "$warm_up" \
    --into "predicted-$database" | tee "compared-$database.txt"
