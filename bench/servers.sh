#!/bin/sh
# Octavo next to pgbench on one PostgreSQL server, and what TPC-C reaches and
# costs on MariaDB and PostgreSQL.
#
#   bench/servers.sh
#
# About 15 minutes for each of the two, on a machine that has nothing else to
# do. PAIRS, ROUNDS, SECONDS, WAREHOUSES and PLACE (a directory that every user
# may pass through) change what is done.
set -eu
cd "$(dirname "$0")/.."
cargo build --release -p octavo-cli
folder="bench/runs/$(date -u +%Y-%m-%d)-servers"
mkdir -p "$folder"
{
    uname -srm
    grep -m1 'model name' /proc/cpuinfo
    nproc
    target/release/octavo --version
    pgbench --version
    mariadbd --version
} > "$folder/machine.txt"
python3 bench/servers.py pgbench "$folder"
SECONDS="${SECONDS:-60}" python3 bench/servers.py tpcc "$folder"
