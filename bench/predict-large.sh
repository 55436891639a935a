#!/usr/bin/env bash
# Predictions beside 4 GiB of TPC-C on emulated devices, for 8 and 32 clients and buffers of a 64th
# and an eighth of the data: predict-large.sh DATABASE DIRECTORY [BUDGET [WARM_UP]]. It needs 50 GiB
# and more than an hour for each database: in 55 minutes ten of sixteen cells were measured. Nothing
# calibrates the predictions, and the processor's time is the catalog's.
#
# Measured and predicted cells warm up for WARM_UP transactions, 6,000 by default. If the budget is too
# small, measured ones have fewer, which the store does not say: see the progress.
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
# Repeated with a larger budget, it resumes.
"$octavo" run "$database.toml" "measured-$database" --budget "$budget" >"measured-$database.txt"
python3 "$here/predict-large.py" "measured-$database/octavo.db" --octavo "$octavo" --warm-up "$warm_up" \
    --into "predicted-$database" | tee "compared-$database.txt"
