#!/bin/sh
# What the emulator itself costs, and whether what fio measures through it is
# what the simulator says.
#
#   bench/emulate.sh [DEVICE] [DIRECTORY]
#
# DEVICE (default: ec) is the one whose accuracy is measured. DIRECTORY (default:
# /dev/shm) is where files are stored; it should be faster than the device.
# Needs /dev/fuse, fio and python3. About 8 minutes on a quiet machine.
# SECONDS_EACH (default 3) is how long fio measures a point.
set -eu
cd "$(dirname "$0")/.."
cargo build --release -p octavo-cli
folder="bench/runs/$(date +%F)-emulate"
mkdir -p "$folder"
target=${CARGO_TARGET_DIR:-target}
{ uname -srm; grep -m1 'model name' /proc/cpuinfo; nproc; git rev-parse HEAD; fio --version; } > "$folder/machine.txt"
exec python3 bench/emulate.py "$target/release" "$folder" "${1:-ec}" "${2:-/dev/shm}" "${SECONDS_EACH:-3}"
