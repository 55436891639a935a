#!/bin/bash
# 6 sittings of /tmp/octavo-hyperqueue.kagm356_/plan.toml on HyperQueue, printed by octavo fleet script.
# Start: bash FILE, with hq server and workers started
# Then: octavo merge all /tmp/octavo-hyperqueue.kagm356_/out/*/octavo.db && octavo report all
# The plan names no storage, so the one below /tmp/octavo-hyperqueue.kagm356_/out is measured.
hq submit --name=octavo-plan --array=0-5 --cpus=all --crash-limit=3 \
  -- env OCTAVO_PARTS=6 timeout --foreground --kill-after=120 240 "${OCTAVO:-octavo}" run /tmp/octavo-hyperqueue.kagm356_/plan.toml --sitting auto --into /tmp/octavo-hyperqueue.kagm356_/out
