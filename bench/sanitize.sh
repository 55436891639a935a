#!/bin/sh
# The crates that have `unsafe` code, tested with AddressSanitizer: what reads or
# frees memory that is not its own ends a test.
#
#   bench/sanitize.sh [TESTS]
#
# TESTS: only those whose name has it. SQLite is built with it too. Needs a nightly
# toolchain. 8 minutes on two busy processors once it is compiled.
set -eu
cd "$(dirname "$0")/.."
target=$(rustc -vV | sed -n 's/^host: //p')
# Leaks are not looked for: libraries keep what they have until the process ends.
# SQLite is linked twice into a test.
export ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0
RUSTFLAGS=-Zsanitizer=address cargo +nightly test --target "$target" --target-dir target/sanitize \
    -p octavo-device -p octavo-storage -p octavo-database -p octavo-driver --no-fail-fast "$@"
