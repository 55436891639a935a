#!/usr/bin/env bash
# Runs a plan's sittings on Slurm with the script that `octavo fleet script --for slurm` prints:
# munged, slurmctld and three slurmd on this host, as root, without systemd and cgroups. One
# slurmd is killed with all that runs below it, as a host would be lost; its sitting is queued
# again. Then the stores are merged and reported. Also measures what Slurm adds to a sitting.
#
# Everything is in one directory, which is removed. Each slurmd has a process namespace of its
# own, which ends with it. Three sittings share this host, so their figures mean nothing.
#
#   apt-get install slurmctld slurmd slurm-client munge
#   bench/fleet-slurm.sh [OUT]     # OUT: where to leave raw output
#
# OCTAVO is the program [target/release/octavo], SITTINGS how many [6].
set -euo pipefail
cd "$(dirname "$0")/.."
octavo=$(realpath "${OCTAVO:-target/release/octavo}")
sittings=${SITTINGS:-6}
out=$(realpath -m "${1:-/dev/null}")
[ "$(id -u)" = 0 ] || { echo "needs root, for namespaces and munged" >&2; exit 2; }
PATH=$PATH:/usr/sbin
for program in munged slurmctld slurmd sbatch unshare; do
  command -v $program >/dev/null || { echo "no $program: see the head of $0" >&2; exit 2; }
done

work=$(mktemp -d "${TMPDIR:-/tmp}/octavo-slurm.XXXXXX")
declare -A started=() # name -> process id

# Ends one of the processes that were started here, with SIGTERM and then SIGKILL.
end() {
  local pid=${started[$1]:-}
  [ -n "$pid" ] || return 0
  unset "started[$1]"
  kill -TERM "$pid" 2>/dev/null || true
  for _ in $(seq 50); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  kill -KILL "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
}

# Ends a slurmd with all below it at once: the first process of its namespace.
lose() {
  local outer=${started[$1]}
  kill -KILL "$(cat "/proc/$outer/task/$outer/children" | tr -d ' ')"
  wait "$outer" 2>/dev/null || true
  unset "started[$1]"
}

finish() {
  local code=$?
  for name in n1 n2 n3; do [ -z "${started[$name]:-}" ] || lose $name; done
  for name in slurmctld munged; do end $name; done
  if [ $code != 0 ]; then tail -n 5 "$work"/*.log >&2 || true; fi
  if [ "$out" != /dev/null ]; then
    mkdir -p "$out"
    for file in "$work"/keep/*; do [ ! -e "$file" ] || cp -r "$file" "$out"/; done
  fi
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

mkdir -p "$work"/{state,keep}
chmod 755 "$work"
export SLURM_CONF=$work/slurm.conf
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
cat >"$SLURM_CONF" <<CONF
ClusterName=octavo
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool-%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SlurmdTimeout=10
ReturnToService=2
NodeName=n[1-3] NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=$(free_port),$(free_port),$(free_port) CPUs=$(nproc) RealMemory=500
PartitionName=all Nodes=ALL Default=YES State=UP
CONF

start() { # name, command...
  local name=$1
  shift
  "$@" >"$work/$name.log" 2>&1 &
  started[$name]=$!
}
head -c 1024 /dev/urandom >"$work/munge.key"
chmod 400 "$work/munge.key"
start munged munged --foreground --socket "$work/munge.socket" --key-file "$work/munge.key" \
  --pid-file "$work/munged.pid" --seed-file "$work/munge.seed" --log-file "$work/munge.log"
for _ in $(seq 50); do [ -S "$work/munge.socket" ] && break; sleep 0.1; done
start slurmctld slurmctld -D
for node in n1 n2 n3; do
  start $node unshare --pid --fork --kill-child --mount-proc slurmd -D -N $node
done
idle() { sinfo -h -t idle -o %D 2>/dev/null | paste -sd+ | bc; }
for _ in $(seq 100); do [ "$(idle)" = 3 ] && break; sleep 0.2; done
[ "$(idle)" = 3 ] || { echo "the nodes did not come up" >&2; exit 1; }
echo "$(slurmctld -V): $(sinfo -h -o '%D nodes %t: %N')"

queue() { squeue -h -r -o '%i %T %N %r' | sort; }
# Waits until no task is left; calls $2 with each state of the queue.
wait_for() {
  local deadline=$((SECONDS + $1))
  while [ -n "$(squeue -h)" ]; do
    [ $SECONDS -lt $deadline ] || { echo "not done after $1 s:" >&2; queue >&2; exit 1; }
    sleep 0.2
    "${2:-:}"
  done
}

# 1. What Slurm adds: a command that takes a fixed time, in an array and alone.
cat >"$work/plan.toml" <<PLAN
format = 1
name = "Three hosts"

[experiment]
budget = "1m"
passes = 100
compare = "page-size"

[workload]
name = "ycsb-a"
records = 10000

[cells]
page-size = ["4K", "8K"]
memory = "1MiB"
clients = 1

[run]
transactions = 20
warm-up = 50
PLAN
cat >"$work/sleeper" <<'SLEEP'
#!/bin/bash
date +%s.%N >>"$0.begin"
sleep 3
SLEEP
chmod +x "$work/sleeper"
"$octavo" fleet script "$work/plan.toml" --for slurm --sittings 12 --into "$work/none" >"$work/sleep.sbatch"
cd "$work"
begin=$(date +%s.%N)
OCTAVO=$work/sleeper sbatch --parsable sleep.sbatch >/dev/null
wait_for 120
end=$(date +%s.%N)
count=$(wc -l <sleeper.begin)
python3 - "$begin" "$end" "$count" <<'FIGURES' | tee keep/overhead.txt
import sys
begin, end, count = float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
rounds = count / 3
print(f"{count} tasks of 3 s on 3 nodes: {end - begin:.1f} s, {(end - begin) / rounds - 3:.2f} s beyond each task")
FIGURES
[ "$count" = 12 ]

# 2. A sitting is asked to end before its time limit: SIGTERM comes to the command itself.
cat >"$work/asked" <<'ASKED'
#!/bin/bash
begin=$SECONDS
trap 'echo "SIGTERM after $((SECONDS - begin)) s" >"$0.txt"; exit 3' TERM
while sleep 0.2; do :; done
ASKED
chmod +x asked
OCTAVO=$work/asked sbatch --parsable --array=0 --time=3 sleep.sbatch >/dev/null
wait_for 240
echo "time limit of 180 s: $(cat asked.txt)" | tee keep/time-limit.txt

# 3. The sittings, from exactly what is printed.
"$octavo" fleet script plan.toml --for slurm --sittings "$sittings" --into "$work/out" >keep/plan.sbatch
lost=
lose_one() {
  # n2, a second after a sitting began there.
  [ -z "$lost" ] || return 0
  local task
  task=$(squeue -h -r -w n2 -t R -o '%i' | head -1)
  [ -n "$task" ] || return 0
  sleep 1
  queue >keep/queue-before.txt
  lose n2
  lost=$task
  echo "n2 lost with task $task"
}
# Octavo lets one sitting at a time measure in a network namespace, so each node needs one.
printf '#!/bin/sh\nexec unshare --net %s "$@"\n' "$octavo" >octavo
chmod +x octavo
begin=$SECONDS
job=$(OCTAVO=$work/octavo sbatch --parsable keep/plan.sbatch)
wait_for 300 lose_one
echo "$sittings sittings in $((SECONDS - begin)) s, one node lost"
[ -n "$lost" ] || { echo "n2 never ran a sitting" >&2; exit 1; }
scontrol show job "${lost/\[*\]/}" 2>/dev/null | grep -E "JobState|Restarts|ExitCode|NodeList" | tee keep/lost-task.txt
cat slurm-"$job"_*.out >keep/sittings.txt
grep -hE "JobId=${job}_|requeue|not responding|DOWN" slurmctld.log | head -40 >keep/slurmctld.txt || true

# 4. Merged.
for store in out/*/octavo.db; do echo "$store"; done >keep/stores.txt
"$octavo" merge all out/*/octavo.db | tee keep/merge.txt
"$octavo" report all | tee keep/report.txt | head -12
