#!/usr/bin/env python3
"""Octavo against pgbench on one server, and TPC-C on servers of its own.

    bench/servers.py pgbench FOLDER   pairs of pgbench and octavo, by turns
    bench/servers.py tpcc FOLDER      loading and TPC-C at two page sizes, by turns

Writes one line of JSON a run to FOLDER/*.jsonl. Run it through bench/servers.sh.
"""
import glob, json, os, pwd, re, resource, shutil, signal, subprocess, sys, tempfile, time

OCTAVO = os.path.abspath("target/release/octavo")
PAIRS = int(os.environ.get("PAIRS", 7))
SECONDS = int(os.environ.get("SECONDS", 8))


def as_nobody():
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    return {}


def timed(command, **keywords):
    """Standard output, and the CPU seconds of the command alone."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = subprocess.run(command, check=True, capture_output=True, text=True, **keywords)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return result.stdout, cpu


class Cluster:
    """A private cluster of the installed PostgreSQL, warm and without a limit."""

    def __enter__(self):
        self.bin = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.place = tempfile.mkdtemp(prefix="octavo-bench-", dir=os.environ.get("PLACE"))
        os.chmod(self.place, 0o755)
        self.data = os.path.join(self.place, "data")
        os.mkdir(self.data, 0o700)
        if os.getuid() == 0:
            shutil.chown(self.data, "nobody", pwd.getpwnam("nobody").pw_gid)
        run = dict(cwd=self.data, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_nobody())
        subprocess.run([f"{self.bin}/initdb", "-D", self.data, "-U", "bench", "-A", "trust"],
                       check=True, **run)
        self.server = subprocess.Popen(
            [f"{self.bin}/postgres", "-D", self.data, "-c", "listen_addresses=",
             "-c", f"unix_socket_directories={self.place}/data", "-c", "shared_buffers=512MB",
             "-c", "autovacuum=off", "-c", "max_wal_size=8GB", "-c", "checkpoint_timeout=1h"], **run)
        self.environment = dict(os.environ, PGHOST=self.data, PGUSER="bench", PGDATABASE="postgres")
        for _ in range(200):
            if subprocess.run(["psql", "-c", "select 1"], env=self.environment,
                              capture_output=True).returncode == 0:
                break
            time.sleep(0.1)
        self.url = f"postgres://bench@/postgres?host={self.data}"
        return self

    def __exit__(self, *_):
        self.server.send_signal(signal.SIGINT)
        self.server.wait()
        shutil.rmtree(self.place)


def pgbench(cluster, script, clients):
    command = ["pgbench", "-n", "-M", "prepared", "-c", str(clients), "-j", str(clients),
               "-T", str(SECONDS), script]
    text, cpu = timed(command, env=cluster.environment)
    transactions = int(re.search(r"actually processed: (\d+)", text).group(1))
    tps = float(re.search(r"tps = ([\d.]+) \(without", text).group(1))
    return {"tool": "pgbench", "tps": tps, "client_us": cpu / transactions * 1e6}


def octavo(cluster, script, clients):
    workload = {"-S": "pgbench-select-only", "-N": "pgbench-simple-update"}[script]
    text, _ = timed([OCTAVO, "bench", "--url", cluster.url, "--workload", workload, "--clients",
                     str(clients), "--duration", f"{SECONDS}s", "--warm-up-time", "500ms", "--json"])
    result = json.loads(text)
    transactions = result["transactions_per_second"] * result["measured_s"]
    return {"tool": "octavo", "tps": result["transactions_per_second"],
            "client_us": result["machine"]["client_cpu_s"] / transactions * 1e6}


def against_pgbench(folder):
    with Cluster() as cluster, open(f"{folder}/pgbench.jsonl", "w") as out:
        subprocess.run(["pgbench", "-i", "-q", "-s", "10"], env=cluster.environment, check=True,
                       capture_output=True)
        timed([OCTAVO, "bench", "--url", cluster.url, "--workload", "pgbench-select-only",
               "--scale", "10", "--duration", "5s"])
        for pair in range(PAIRS):
            for script in ("-S", "-N"):
                for clients in (1, 8):
                    order = (pgbench, octavo) if pair % 2 == 0 else (octavo, pgbench)
                    for tool in order:
                        line = {"pair": pair, "script": script, "clients": clients}
                        line.update(tool(cluster, script, clients))
                        print(json.dumps(line), file=out, flush=True)


def tpcc(folder):
    place = tempfile.mkdtemp(prefix="octavo-bench-", dir=os.environ.get("PLACE"))
    os.chmod(place, 0o755)
    warehouses, rounds = os.environ.get("WAREHOUSES", "12"), int(os.environ.get("ROUNDS", 3))
    cells = [("mariadb", "16K", []), ("mariadb", "4K", []), ("postgres", "8K", ["--bin", "8K=installed"])]
    try:
        with open(f"{folder}/tpcc.jsonl", "w") as out:
            for database, page_size, options in cells:
                where = f"{place}/{database}-{page_size}"
                text, _ = timed([OCTAVO, "load", where, "--database", database, "--page-size",
                                 page_size, "--warehouses", warehouses, "--json", *options])
                loaded = json.loads(text)
                seconds = loaded["elapsed"]["secs"] + loaded["elapsed"]["nanos"] / 1e9
                line = {"load": database, "page_size": page_size, "rows": loaded["rows"],
                        "rows_per_second": loaded["rows"] / seconds}
                print(json.dumps(line), file=out, flush=True)
            for round_ in range(rounds):
                for database, page_size, _ in cells:
                    text, _ = timed([OCTAVO, "bench", f"{place}/{database}-{page_size}", "--clients",
                                     "8", "--memory", "64MiB", "--duration", f"{SECONDS}s", "--json"])
                    result = json.loads(text)
                    n = result["transactions_per_second"] * result["measured_s"]
                    line = {"round": round_, "database": database, "page_size": page_size,
                            "nopm": result["counted_per_second"] * 60,
                            "client_ms": result["machine"]["client_cpu_s"] / n * 1e3,
                            "misses": result["counters"]["buffer_misses"] / n,
                            "device_reads_per_miss": result["device"]["reads"]
                            / max(result["counters"]["buffer_misses"], 1),
                            "steal": result["machine"]["steal"], "others": result["machine"]["others"]}
                    print(json.dumps(line), file=out, flush=True)
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    {"pgbench": against_pgbench, "tpcc": tpcc}[sys.argv[1]](sys.argv[2])
