#!/bin/sh
# The crates with unsafe code, tested under AddressSanitizer: SQLite's interface in
# C, rings, aligned memory and what servers share. Needs a nightly toolchain.
#
#   bench/sanitize.sh
set -eu
cd "$(dirname "$0")/.."
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=target/sanitize
cargo +nightly test --target "$host" -p octavo-storage --lib
cargo +nightly test --target "$host" -p octavo-device --lib prefetch
exec cargo +nightly test --target "$host" -p octavo-database --lib -- sqlite:: files:: shared_memory server::
