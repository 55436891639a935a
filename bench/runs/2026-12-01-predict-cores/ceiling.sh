# Two processes, each on a processor of its own, beside one alone: ceiling.sh OCTAVO SCRATCH
octavo=$1 scratch=$2
run() { rm -rf "$scratch"/c$1; /usr/bin/time -f "$2 cpu $1: %e wall %U user %S sys" taskset -c $1 "$octavo" predict space.toml --shard 1/40 --into "$scratch"/c$1 --quiet >/dev/null; }
echo -15 > /proc/self/autogroup
for i in 1 2; do run 0 alone; run 1 together & run 0 together; wait; done
rm -rf "$2"/c2; /usr/bin/time -f "threads on both: %e wall %U user %S sys" taskset -c 0,1 "$1" predict space.toml --shard 1/40 --into "$2"/c2 --quiet >/dev/null
