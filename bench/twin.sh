#!/bin/sh
# How near a fitted twin comes to this machine's storage: to the profile that it
# was fitted to, and to a calibration that it never saw.
#
#   bench/twin.sh [DIRECTORY] [PASSES]
#
# DIRECTORY (default: .) is on the storage; PASSES (default 5) make the profile.
# One more calibration follows. About 50 s a pass; nothing else should run.
set -eu
cd "$(dirname "$0")/.."
directory=${1:-.}
cargo build --release -p octavo-cli
octavo=${CARGO_TARGET_DIR:-target}/release/octavo
folder="bench/runs/$(date +%F)-twin"
mkdir -p "$folder"
{ uname -srm; grep -m1 'model name' /proc/cpuinfo; nproc; git rev-parse HEAD; cat /proc/loadavg; } > "$folder/machine.txt"
"$octavo" calibrate "$directory" --passes "${2:-5}" --seed 1 --output "$folder/profile.toml" > "$folder/profile.txt"
"$octavo" calibrate "$directory" --seed 2 --output "$folder/later.toml" > "$folder/later.txt"
"$octavo" devices fit "$folder/profile.toml" --output "$folder/twin.toml" --json > "$folder/fit.json"
exec python3 bench/twin.py "$folder" | tee "$folder/errors.txt"
