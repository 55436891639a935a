#!/usr/bin/env python3
"""YCSB C and A on RocksDB by `octavo bench`, in turn with a loop of C over the same library.

  rocksdb.py OCTAVO DIRECTORY [PAIRS] > runs.jsonl

OCTAVO is a release build; the loop (rocksdb_plain.c) is linked with the distribution's library. Both run
on copies of the same files, with keys drawn uniformly and 48 MiB of memory, or 1 GiB, which holds all.
A line for each run; the last lines are ratios, Octavo's over the loop's.
"""
import glob, json, os, shutil, subprocess, sys

from mapped import SECONDS, compare

# Updates flush the log: they would take minutes to have read all into the larger memory.
CASES = [("c", page, memory) for page in (4, 16) for memory in (48, 1024)] + [("a", 4, 48), ("a", 16, 48)]


def warm(memory):
    return 8 if memory < 1024 else 25


def main(octavo, directory, pairs=5):
    os.makedirs(directory, exist_ok=True)
    program = os.path.join(directory, "plain")
    here = os.path.dirname(os.path.abspath(__file__))
    subprocess.run(["cc", "-O3", f"{here}/rocksdb_plain.c", "-lrocksdb", "-o", program], check=True)

    def run(data, workload, page, memory, pair):
        loaded = glob.glob(f"{data}/data/base/rocksdb")[0]
        copy = os.path.join(directory, "copy")
        shutil.copytree(loaded, copy)
        subprocess.run(["sync"])
        try:
            out = subprocess.run([program, copy, workload, str(SECONDS), str(warm(memory)), str(pair), str(memory),
                                  str(page)], check=True, capture_output=True, text=True)
        finally:
            shutil.rmtree(copy)
        return json.loads(out.stdout)

    compare(octavo, directory, pairs, "rocksdb", run, CASES, warm)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:4]))
