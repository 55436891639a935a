#!/usr/bin/env bash
# Own statements on SQLite, measured and predicted: predict-own.sh OCTAVO DIRECTORY [PLACE...]
#
# Two mixes on a file of 106 MiB, on this storage ("local") and on an emulated device. What is
# printed compares the same passes of both.
set -euo pipefail

octavo=$(realpath "$1")
mkdir -p "$2"
here=$(realpath "$(dirname "$0")")
cd "$2"
shift 2
places=("$@")
[ ${#places[@]} -gt 0 ] || places=(local gp3-3000)

[ -f my.db ] || python3 "$here/predict-own.py" make my.db
cells=(--copy-of my.db --page-sizes 4K,8K,16K --memory "8MiB,32MiB" --clients 1
    --passes 12 --transactions 200 --warm-up 3000 --progress 0)
mostly_reads=(--script read.sql@19 --script write.sql@1)
changes=(--script write.sql@3 --script add.sql@1)

for mix in mostly_reads changes; do
    declare -n scripts=$mix
    for place in "${places[@]}"; do
        on=(--device "$place" --no-calibrate) as=(--device "$place")
        if [ "$place" = local ]; then
            on=() as=(--calibrated-by "measured-$mix-local")
        fi
        "$octavo" advise "measured-$mix-$place" "${cells[@]}" "${scripts[@]}" "${on[@]}" \
            --budget 60m > /dev/null
        "$octavo" predict "predicted-$mix-$place" "${cells[@]}" "${scripts[@]}" "${as[@]}" > /dev/null
        python3 "$here/predict-own.py" compare "measured-$mix-$place/octavo.db" \
            "predicted-$mix-$place/octavo.db"
    done
done
