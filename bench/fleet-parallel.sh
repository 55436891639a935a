#!/usr/bin/env bash
# Runs a plan's sittings with GNU parallel over ssh on three hosts, with the script that `octavo
# fleet script --for parallel` prints. The hosts are network namespaces of this one, each with an
# sshd of its own. One is lost in the middle with all that runs on it; the script is typed once more,
# then the stores are merged and reported.
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
  for host in n1 n2 n3; do
    lose $host
    ip netns del $prefix-$host 2>/dev/null || true # with its device and that of this side
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
ssh="ssh -i $work/key -p $port -o UserKnownHostsFile=$work/known -o StrictHostKeyChecking=accept-new -o ConnectTimeout=5 -o BatchMode=yes"
for number in 1 2 3; do echo "1/$ssh root@10.213.$((240 + number)).2"; done >"$work/hosts.txt"
for number in 1 2 3; do
  for _ in $(seq 50); do
    $ssh "root@10.213.$((240 + number)).2" true 2>/dev/null && break
    sleep 0.1
  done
  $ssh "root@10.213.$((240 + number)).2" true
done
parallel --version | head -1

cat >"$work/plan.toml" <<PLAN
format = 1
name = "Three hosts"

[experiment]
budget = "1m"
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
"$octavo" fleet script plan.toml --for parallel --hosts hosts.txt --sittings "$sittings" --into "$work/data" \
  >keep/plan.sh
grep -q . keep/plan.sh

# 1. n2 is lost while it works; what it had begun is tried on the others.
begin=$SECONDS
bash keep/plan.sh >keep/first.txt 2>keep/first-errors.txt &
script=$!
sleep 3
ls disk-n2 >keep/n2-when-lost.txt
lose n2
wait $script || echo "the first time ended with exit code $?"
echo "$sittings sittings in $((SECONDS - begin)) s, one host lost"
cp data/joblog keep/joblog.txt
# 2. Once more: only what is not done.
begin=$SECONDS
bash keep/plan.sh >keep/second.txt 2>keep/second-errors.txt || echo "the second time ended with exit code $?"
echo "once more: $((SECONDS - begin)) s, $(($(wc -l <data/joblog) - $(wc -l <keep/joblog.txt))) new lines in the job log"
for store in data/*/*/octavo.db; do echo "$store"; done >keep/stores.txt
cut -f1,2,4,7,8 data/joblog | sed "s,ssh -i .* root@,," >keep/joblog.txt
"$octavo" merge all data/*/*/octavo.db | tee keep/merge.txt
"$octavo" report all | tee keep/report.txt | head -12
