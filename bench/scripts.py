#!/usr/bin/env python3
"""Scripts by Octavo and by pgbench on one PostgreSQL server's programs, rows and settings.

    bench/scripts.py FOLDER

A source has pgbench's tables (scale 10). Octavo copies them once. Then pairs, by turns: `octavo
bench` with a script on a fresh copy, and pgbench with the same file and `-M prepared` on the server
that another `octavo bench` has on a fresh copy, while that sends one transaction in ten seconds. So
both meet the same programs, settings and rows. Writes one line of JSON a run to
FOLDER/scripts.jsonl, and prints ratios of pairs. A directory of PLACE holds all of it.
"""
import glob, json, math, os, re, shutil, signal, statistics, subprocess, sys, tempfile, time

from servers import OCTAVO, Cluster, timed

PAIRS = int(os.environ.get("PAIRS", 7))
SECONDS = int(os.environ.get("SECONDS", 8))
WARM_UP = 2
ONLY = os.environ.get("SCRIPTS")
CLIENTS = [int(clients) for clients in os.environ.get("CLIENTS", "1,4").split(",")]

SELECT = r"""\set aid random(1, 100000 * 10)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
"""
UPDATE = r"""\set aid random(1, 100000 * 10)
\set bid random(1, 1 * 10)
\set tid random(1, 10 * 10)
\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
%sINSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
"""
TPCB = """UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
"""
TWELVE = r"""\set aid random_zipfian(1, 100000 * 10, 1.1)
\set other permute(:aid, 100000 * 10) + 1
\set third 1 + abs(:aid * 7919 + hash(:other) %% 1000) %% (100000 * 10)
\set low greatest(1, least(:aid, 100000 * 10 - 20))
\set share pow(random(1, 100) / 100.0, 2) * sqrt(:low)
BEGIN;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid \gset
\if :abalance > 0 and :share > 0
\set delta -(:abalance / 2)
\else
\set delta case when :other %% 2 = 0 then 10 else 20 end
\endif
SELECT bid AS bid FROM pgbench_accounts WHERE aid = :other \gset
SELECT count(*) AS tellers FROM pgbench_tellers WHERE bid = :bid \gset
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
UPDATE pgbench_accounts SET abalance = abalance - :delta WHERE aid = :other;
SELECT sum(abalance) FROM pgbench_accounts WHERE aid BETWEEN :low AND :low + 20;
SELECT abalance FROM pgbench_accounts WHERE aid = :third;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tellers, :bid, :aid, :delta, CURRENT_TIMESTAMP);
SELECT filler FROM pgbench_accounts WHERE aid = :other;
SELECT max(tbalance) FROM pgbench_tellers WHERE bid = :bid;
END;
""".replace("%%", "%")
SCRIPTS = {"-S": SELECT, "-N": UPDATE % "", "tpcb-like": UPDATE % TPCB, "twelve": TWELVE}
if ONLY:
    SCRIPTS = {name: SCRIPTS[name] for name in ONLY.split(",")}


def bench(cluster, place, script, more):
    return [OCTAVO, "bench", f"{place}/copy", "--copy-of", cluster.url, "--script", f"{place}/{script}.sql",
            "--bin", "8K=installed", "--memory", "1GiB", "--json", *more]


def octavo(cluster, place, script, clients):
    text, _ = timed(bench(cluster, place, script, ["--clients", str(clients), "--duration", f"{SECONDS}s",
                                                   "--warm-up-time", f"{WARM_UP}s"]))
    result = json.loads(text)
    transactions = result["transactions_per_second"] * result["measured_s"]
    return {"tool": "octavo", "tps": result["transactions_per_second"],
            "client_us": result["machine"]["client_cpu_s"] / transactions * 1e6,
            "steal": result["machine"]["steal"], "others": result["machine"]["others"]}


def pgbench(cluster, place, script, clients):
    holder = subprocess.Popen(
        bench(cluster, place, script, ["--clients", str(clients), "--duration", "600s", "--warm-up-time", "1s",
                                       "--rate", "0.1", "--arrivals", "constant"]),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        sockets = []
        while not sockets:
            if holder.poll() is not None:
                sys.exit(holder.stderr.read().decode())
            time.sleep(0.2)
            sockets = glob.glob(f"{place}/copy/data/run/cluster/.s.PGSQL.5432")
        environment = dict(os.environ, PGHOST="/proc/self/cwd", PGUSER="octavo_owner", PGDATABASE="postgres")
        where = dict(env=environment, cwd=os.path.dirname(sockets[0]))
        # The copy is set up, and its warm-up over.
        time.sleep(4)
        command = ["pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", str(clients), "-P", "1",
                   "-f", f"{place}/{script}.sql", "-T", str(WARM_UP + SECONDS)]
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **where)
        progress = iter(running.stderr.readline, "")
        seconds = (line for line in progress if "progress:" in line)
        for _ in range(WARM_UP):
            next(seconds, None)
        before = processor(running.pid)
        # The last second may be without a line.
        rates = [float(re.search(r"([\d.]+) tps", line).group(1)) for _, line in zip(range(SECONDS - 1), seconds)]
        cpu = processor(running.pid) - before
        _, rest = running.communicate()
        if running.returncode or not rates:
            sys.exit(f"pgbench failed: {rest}")
    finally:
        holder.send_signal(signal.SIGINT)
        holder.wait()
    return {"tool": "pgbench", "tps": statistics.mean(rates), "client_us": cpu / sum(rates) * 1e6}


def processor(pid):
    """Seconds that a process has had of processors."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interval(ratios):
    """Of a geometric mean, by Student's t."""
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.mean(logs)
    t = {2: 12.7, 3: 4.30, 4: 3.18, 5: 2.78, 6: 2.57, 7: 2.45, 8: 2.36, 9: 2.31, 10: 2.26}.get(len(logs), 2.2)
    half = t * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else float("inf")
    return "%.3f (%.3f to %.3f)" % tuple(math.exp(mean + side * half) for side in (0, -1, 1))


def main(folder):
    place = tempfile.mkdtemp(prefix="octavo-bench-", dir=os.environ.get("PLACE"))
    os.chmod(place, 0o755)
    lines = []
    try:
        for name, text in SCRIPTS.items():
            with open(f"{place}/{name}.sql", "w") as file:
                file.write(text)
        with Cluster() as cluster, open(f"{folder}/scripts.jsonl", "w") as out:
            subprocess.run(["pgbench", "-i", "-q", "-s", "10"], env=cluster.environment, check=True,
                           capture_output=True)
            for pair in range(PAIRS):
                for script in SCRIPTS:
                    for clients in CLIENTS:
                        line = {"pair": pair, "script": script, "clients": clients}
                        order = (pgbench, octavo) if pair % 2 == 0 else (octavo, pgbench)
                        for tool in order:
                            lines.append({**line, **tool(cluster, place, script, clients)})
                            print(json.dumps(lines[-1]), file=out, flush=True)
    finally:
        shutil.rmtree(place)
    for script in SCRIPTS:
        for clients in CLIENTS:
            of = {tool: [line for line in lines if (line["script"], line["clients"], line["tool"])
                         == (script, clients, tool)] for tool in ("octavo", "pgbench")}
            ratios = {figure: interval([ours[figure] / theirs[figure] for ours, theirs
                                        in zip(of["octavo"], of["pgbench"])]) for figure in ("tps", "client_us")}
            print(f"{script} with {clients} clients: {ratios['tps']} of pgbench's throughput, "
                  f"{ratios['client_us']} of its CPU time")


if __name__ == "__main__":
    main(sys.argv[1])
