#!/usr/bin/env python3
"""How often does `octavo ab` call a difference of equal versions, and find one of 10%, on a loaded machine?

  ab.py OCTAVO DIRECTORY equal|planted COUNT BUDGET [--quiet]

Each of COUNT comparisons is a new one in DIRECTORY, of SQLite under TPC-C with 1 warehouse. `equal`: memories
that are the same number of pages (8 MiB, and a byte more). `planted`: 4 against 8 KiB pages with 16 MiB,
which a long comparison (`COUNT` 1 and a large BUDGET) says the truth of. Beside them two programs work, unless
`--quiet`: one computes half of the time of a processor, one writes and flushes 1 MiB five times a second. A line of
JSON for each.
"""
import json, os, shutil, subprocess, sys, time

BUSY = """
import hashlib, time
block = bytes(1 << 20)
while True:
    begin = time.monotonic()
    while time.monotonic() - begin < 0.05:
        hashlib.sha256(block)
    time.sleep(0.05)
"""
WRITING = """
import os, sys, time
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY, 0o600)
while True:
    os.pwrite(file, os.urandom(1 << 20), 0)
    os.fsync(file)
    time.sleep(0.2)
"""
VERSIONS = {
    "equal": ["--a", "memory=8388608", "--b", "memory=8388609"],
    "planted": ["--a", "page-size=4K", "--b", "page-size=8K", "--memory", "16MiB"],
}


def stolen():
    with open("/proc/stat") as file:
        fields = [int(field) for field in file.readline().split()[1:9]]
    return fields[7], sum(fields)


def main():
    octavo, folder, what, count, budget = sys.argv[1:6]
    os.makedirs(folder, exist_ok=True)
    load = []
    if "--quiet" not in sys.argv:
        load = [subprocess.Popen([sys.executable, "-c", BUSY]),
                subprocess.Popen([sys.executable, "-c", WRITING, os.path.join(folder, "load")])]
    try:
        for number in range(int(count)):
            into = os.path.join(folder, f"{what}-{number}")
            shutil.rmtree(into, ignore_errors=True)
            before, begin = stolen(), time.monotonic()
            words = [octavo, "ab", into, *VERSIONS[what], "--warehouses", "1", "--seed", str(number + 1),
                     "--budget", budget, "--fail-if", "slower", "--progress", "0", "--json"]
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            after = stolen()
            line = {"code": done.returncode, "seconds": round(time.monotonic() - begin, 1),
                    "stolen": round((after[0] - before[0]) / max(1, after[1] - before[1]), 4),
                    "load_average": os.getloadavg()[0]}
            if done.stdout:
                answer = json.loads(done.stdout)
                line |= {key: answer[key] for key in ("decision", "ratio", "a_a_decision", "a_a_ratio")}
            else:
                line["said"] = done.stderr[-300:]
            print(json.dumps(line), flush=True)
            shutil.rmtree(into, ignore_errors=True)
    finally:
        for process in load:
            process.kill()
            process.wait()


main()
