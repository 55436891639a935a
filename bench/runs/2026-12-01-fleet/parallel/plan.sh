#!/bin/bash
# 6 sittings of /tmp/octavo-parallel.8YVBvl/plan.toml on GNU parallel, printed by octavo fleet script.
# Start: bash FILE, and again to resume
# Then: octavo merge all /tmp/octavo-parallel.8YVBvl/data/*/*/octavo.db && octavo report all
# The plan names no storage, so the one below /tmp/octavo-parallel.8YVBvl/data is measured.
set -eu
mkdir -p /tmp/octavo-parallel.8YVBvl/data && cd /tmp/octavo-parallel.8YVBvl/data
seq 0 5 | parallel --sshloginfile /tmp/octavo-parallel.8YVBvl/hosts.txt --jobs 1 --retries 3 \
  --joblog joblog --resume-failed --filter-hosts --ssh 'ssh -o ServerAliveInterval=15' \
  --basefile /tmp/octavo-parallel.8YVBvl/./plan.toml --workdir /tmp/octavo-parallel.8YVBvl/data \
  --return part-{} \
  'timeout --foreground --kill-after=120 240 "${OCTAVO:-octavo}" run plan.toml --sitting {}/6 --into part-{} --host "$PARALLEL_SSHHOST"'
