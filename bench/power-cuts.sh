#!/bin/sh
# Whether databases survive power cuts of an emulated device, and whether a
# device that lies is found out.
#
#   bench/power-cuts.sh [CUTS [DIRECTORY [NAME]]]
#
# CUTS (default 100) of SQLite with each kind of journal, and of MariaDB and
# PostgreSQL with and without torn writes; half as many of these with all writes
# torn; a fifth as many with a lying device; then torn-page.py. DIRECTORY
# (default: /dev/shm) is where files are stored. With NAME only what begins with
# it. Needs /dev/fuse, python3, mariadb-server and postgresql; as root. 30
# minutes.
set -eu
export PYTHONDONTWRITEBYTECODE=1
cd "$(dirname "$0")/.."
cargo build --release -p octavo-cli
folder="bench/runs/$(date +%F)-emulate"
mkdir -p "$folder"
target=${CARGO_TARGET_DIR:-target}
{ uname -srm; git rev-parse HEAD; mariadbd --version; python3 -c 'import sqlite3; print("SQLite", sqlite3.sqlite_version)'; } > "$folder/cuts-machine.txt"
python3 bench/power-cuts.py "$target/release/octavo" "$folder" "${1:-100}" "${2:-/dev/shm}" "${3:-}"
exec python3 bench/torn-page.py "${2:-/dev/shm}" > "$folder/torn-page.txt"
