#!/usr/bin/env bash
# Runs a plan's sittings with GNU parallel over ssh on three hosts, with the script that `octavo
# fleet script --for parallel` prints. The hosts are network namespaces of this one, each with an
# sshd of its own. One is lost in the middle, with everything on it. Then the script is typed again,
# and the stores are merged and reported.
#
# Keys, configurations and files are in one directory, which is removed with the namespaces. The three
# share the file system: what is measured means nothing, and files that are returned are there already
# unless each host works in a directory of its own, which a mount in its namespace gives it.
#
#   apt-get install parallel openssh-server rsync iproute2
#   bench/fleet-parallel.sh [OUT]     # OUT: where to leave raw output
#
# OCTAVO is the program [target/release/octavo], SITTINGS how many [6].
set -euo pipefail
cd "$(dirname "$0")/.."
octavo=$(realpath "${OCTAVO:-target/release/octavo}")
sittings=${SITTINGS:-6}
out=$(realpath -m "${1:-/dev/null}")
[ "$(id -u)" = 0 ] || { echo "needs root, for namespaces" >&2; exit 2; }
PATH=$PATH:/usr/sbin
for program in parallel sshd ssh-keygen rsync ip unshare; do
  command -v $program >/dev/null || { echo "no $program: see the head of $0" >&2; exit 2; }
done

work=$(mktemp -d "${TMPDIR:-/tmp}/octavo-parallel.XXXXXX")
prefix=oct$$ # of namespaces and devices: names of devices have at most 15 letters
declare -A started=()
made_run_sshd=
script=

# Ends a host with all that runs on it: the first process of its process namespace.
lose() {
  local outer=${started[$1]:-}
  [ -n "$outer" ] || return 0
  unset "started[$1]"
  kill -KILL "$(tr -d ' ' <"/proc/$outer/task/$outer/children")" 2>/dev/null || true
  wait "$outer" 2>/dev/null || true
}

finish() {
  local code=$?
  if [ -n "$script" ]; then
    for pid in $(pgrep -P "$script" -x parallel) $script; do
      kill -TERM "$pid" 2>/dev/null || true
      kill -KILL "$pid" 2>/dev/null || true
    done
  fi
  for host in n1 n2 n3; do
    lose $host
    ip link del "$prefix$host" 2>/dev/null || true
    ip netns del $prefix-$host 2>/dev/null || true
  done
  [ -z "$made_run_sshd" ] || rmdir /run/sshd 2>/dev/null || true
  if [ "$out" != /dev/null ]; then
    mkdir -p "$out"
    for file in "$work"/keep/*; do [ ! -e "$file" ] || cp -r "$file" "$out"/; done
  fi
  if [ $code != 0 ]; then tail -n 5 "$work"/*.log >&2 || true; fi
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

mkdir -p "$work"/keep
chmod 755 "$work"
# Where sshd puts itself before somebody is let in, a path that was compiled in.
if [ ! -d /run/sshd ]; then
  mkdir -m 755 /run/sshd
  made_run_sshd=yes
fi
ssh-keygen -q -t ed25519 -N '' -f "$work/key"
ssh-keygen -q -t ed25519 -N '' -f "$work/host-key"
cp "$work/key.pub" "$work/authorized"
chmod 600 "$work/authorized"
port=2222
start_host() { # name, number
  local host=$1 net=$((240 + $2))
  ip netns add $prefix-$host
  ip link add "$prefix$host" type veth peer name eth0 netns $prefix-$host
  ip addr add "10.213.$net.1/30" dev "$prefix$host"
  ip link set "$prefix$host" up
  ip -n $prefix-$host addr add "10.213.$net.2/30" dev eth0
  ip -n $prefix-$host link set eth0 up
  ip -n $prefix-$host link set lo up
  cat >"$work/sshd-$host" <<CONF
Port $port
ListenAddress 10.213.$net.2
HostKey $work/host-key
AuthorizedKeysFile $work/authorized
PidFile none
UsePAM no
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
SetEnv OCTAVO=$octavo
CONF
  mkdir -p "$work/disk-$host" "$work/data"
  # Its own disk, its own processes.
  ip netns exec $prefix-$host unshare --pid --fork --kill-child --mount --mount-proc \
    bash -c "mount --bind '$work/disk-$host' '$work/data' && exec $(command -v sshd) -D -e -f '$work/sshd-$host'" \
    >>"$work/$host.log" 2>&1 &
  started[$host]=$!
}
for number in 1 2 3; do start_host n$number $number; done
# What a user has in ~/.ssh, which is not touched here.
mkdir "$work/bin"
cat >"$work/bin/ssh" <<SSH
#!/bin/sh
exec $(command -v ssh) -i '$work/key' -p $port -o UserKnownHostsFile='$work/known' \
  -o StrictHostKeyChecking=accept-new -o ConnectTimeout=5 -o BatchMode=yes "\$@"
SSH
chmod +x "$work/bin/ssh"
PATH=$work/bin:$PATH
for number in 1 2 3; do echo "root@10.213.$((240 + number)).2"; done >"$work/hosts.txt"
while read -r host; do
  for _ in $(seq 50); do
    ssh -n "$host" true 2>/dev/null && break
    sleep 0.1
  done
  ssh -n "$host" true
done <"$work/hosts.txt"
parallel --version | head -1

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
cd "$work"
export HOME=$work PARALLEL_HOME=$work/.parallel OCTAVO=$octavo
mkdir -p "$PARALLEL_HOME"
touch "$PARALLEL_HOME/will-cite"
# 1. What GNU parallel and ssh add: a command of 3 s in place of a sitting, with a file to return.
cat >sleeper <<'SLEEP'
#!/bin/bash
while [ "$1" != --into ]; do shift; done
mkdir -p "$2" && head -c 100000 /dev/zero >"$2/octavo.db"
echo "$PARALLEL_SEQ" >"$2/number"
sleep 3
SLEEP
chmod +x sleeper
"$octavo" fleet script plan.toml --for parallel --hosts hosts.txt --sittings 9 --into "$work/data" >sleep.sh
sed -i "s,\"\${OCTAVO:-octavo}\",$work/sleeper," sleep.sh
begin=$(date +%s.%N)
bash sleep.sh
end=$(date +%s.%N)
python3 - "$begin" "$end" data/joblog <<'FIGURES' | tee keep/overhead.txt
import sys
begin, end = map(float, sys.argv[1:3])
rows = [line.split("\t") for line in open(sys.argv[3])][1:]
first, last = min(float(row[2]) for row in rows), max(float(row[2]) + float(row[3]) for row in rows)
assert len(rows) == 9 and all(row[6] == "0" for row in rows), rows
print(f"9 tasks of 3 s on 3 hosts: {end - begin:.1f} s. {first - begin:.1f} s to look at the hosts, and then "
      f"{(last - first) / 3 - 3:.2f} s beyond each task")
FIGURES
[ "$(cat data/part-?/octavo.db | wc -c)" = 900000 ]
for part in $(seq 0 8); do [ "$(cat data/part-$part/number)" = $((part + 1)) ]; done
rm -rf data/joblog data/part-* disk-n?/part-*

# 2. The sittings, from exactly what is printed.
"$octavo" fleet script plan.toml --for parallel --hosts hosts.txt --sittings "$sittings" --into "$work/data" \
  >keep/plan.sh
# n2 is lost while it works; what it had begun is tried on the others.
begin=$SECONDS
bash keep/plan.sh >keep/first.txt 2>keep/first-errors.txt &
script=$!
for _ in $(seq 300); do
  compgen -G "disk-n2/part-*/*" >/dev/null && break
  sleep 0.1
done
sleep 1
(cd disk-n2 && ls -d part-*/*) | tee keep/n2-when-lost.txt
# Its connections are cut and nobody says so.
ip -n $prefix-n2 link set eth0 down
lose n2
# The script itself is ended when half is done: twice, so that it does not wait for what runs.
done_count() { tail -n +2 data/joblog 2>/dev/null | wc -l; }
for _ in $(seq 1200); do
  [ "$(done_count)" -ge $((sittings / 2)) ] && break
  sleep 0.1
done
parallel=$(pgrep -P $script -x parallel)
kill -TERM "$parallel"
sleep 1
kill -TERM "$parallel" 2>/dev/null || true
code=0
wait $script || code=$?
script=
echo "$(done_count) of $sittings sittings in $((SECONDS - begin)) s, one host lost, ended with exit code $code"
# What ran on the other hosts ends as its connection does.
sleep 3
for number in 1 3; do
  ssh -n "root@10.213.$((240 + number)).2" 'pgrep -a -f "run [p]lan.toml" || echo nothing runs there'
done | tee keep/after-the-end.txt
# Typed once more, with the host back: what is not done.
ip link del "$prefix"n2
ip netns del $prefix-n2
start_host n2 2
sleep 1
begin=$SECONDS
bash keep/plan.sh >keep/second.txt 2>keep/second-errors.txt || echo "the second time ended with exit code $?"
echo "once more: $((SECONDS - begin)) s, $(done_count) done"
begin=$SECONDS
bash keep/plan.sh >keep/third.txt 2>&1
echo "and with nothing to do: $((SECONDS - begin)) s"
[ ! -s keep/third.txt ]
cut -f1,2,4,7,8 data/joblog >keep/joblog.txt
# What was returned is gone from the hosts.
find disk-n? -name octavo.db >keep/left-on-hosts.txt
for store in data/*/*/octavo.db; do echo "$store"; done >keep/stores.txt
"$octavo" merge all data/*/*/octavo.db | tee keep/merge.txt
"$octavo" report all | tee keep/report.txt | head -12
