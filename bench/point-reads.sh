#!/bin/sh
# How much processor time a fully cached point read of SQLite takes through `octavo bench`,
# and in a minimal loop of C (point_reads.c) over the same SQLite library.
#
#   bench/point-reads.sh [PROGRAM...]
#
# PROGRAM (default: a release build of this tree) are builds of octavo to compare, in turn
# with the loop. PAIRS (default 7) rounds of SECONDS_EACH (default 3) seconds each, about
# three minutes. Processor time, since wall time is of everybody on the machine. Needs cc.
set -eu
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
folder="bench/runs/$(date -u +%Y-%m-%d)-point-reads"
mkdir -p "$folder"
[ $# -gt 0 ] || { cargo build --release -p octavo; set -- "$target/release/octavo"; }
library=$(ls -t "$target"/release/build/libsqlite3-sys-*/out/libsqlite3.a | head -n 1)
header=$(ls -d "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/libsqlite3-sys-*/sqlite3 | tail -n 1)
loop=$(mktemp)
trap 'rm -f "$loop"' EXIT
cc -O2 -I "$header" -o "$loop" bench/point_reads.c "$library" -lm -lpthread -ldl
{ uname -srm; grep -m1 'model name' /proc/cpuinfo; nproc; git rev-parse HEAD; cc --version | head -n 1; } > "$folder/machine.txt"
python3 bench/point_reads.py "$folder" "$loop" "$@" | tee "$folder/terminal.txt"
