#!/usr/bin/env python3
"""YCSB C and A on libmdbx or LMDB by `octavo bench`, in turn with a loop of C over the same library.

  mapped.py libmdbx|lmdb OCTAVO DIRECTORY [PAIRS] > runs.jsonl

OCTAVO is a release build; the loop (mapped_plain.c) is built with the library's source from cargo's
registry, with the flags that the crate uses. Both run on copies of the same file, with keys drawn
uniformly and 48 MiB of page cache, or 1 GiB, which holds all. As root: memory is limited by a
control group (version 1). A line for each run; the last lines are ratios, Octavo's over the loop's.
"""
import glob, json, math, os, shutil, statistics, subprocess, sys

RECORDS, SECONDS, WARM = 300_000, 8, 8
CASES = [(workload, page, memory) for workload in "ca" for page in (4, 16) for memory in (48, 1024)]


# By store: its sources in cargo's registry and how they are compiled, its file, and the end of its lock's name.
STORES = {
    "libmdbx": ("signet-mdbx-sys-*/libmdbx", ["mdbx.c"],
                ["-DMDBX_DEBUG=0", "-DMDBX_TXN_CHECKOWNER=0", '-DMDBX_BUILD_FLAGS="plain"'],
                "database.mdbx", "-lck"),
    "lmdb": ("lmdb-master3-sys-*/lmdb/libraries/liblmdb", ["mdb.c", "midl.c"],
             ["-DLMDB", "-DMDB_IDL_LOGN=16"], "database.mdb", "-lock"),
}


def build(store, directory):
    place, files, flags, *_ = STORES[store]
    source = sorted(glob.glob(os.path.expanduser(f"~/.cargo/registry/src/*/{place}")))[-1]
    plain = os.path.join(directory, "plain")
    here = os.path.dirname(os.path.abspath(__file__))
    subprocess.run(["cc", "-O3", "-DNDEBUG", *flags, "-Wno-all", f"-I{source}", f"{here}/mapped_plain.c",
                    *(f"{source}/{file}" for file in files), "-lpthread", "-o", plain], check=True)
    return plain


def ours(octavo, data, workload, memory, warm, options):
    out = subprocess.run(
        [octavo, "bench", data, "--workload", f"ycsb-{workload}", "--distribution", "uniform",
         "--memory", f"{memory}MiB", "--warm-up-time", f"{warm}s", "--duration", f"{SECONDS}s",
         "--json", *options], check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(out)


def plain(program, file, lock_end, workload, memory, seed):
    run = file + "-plain"
    shutil.copy(file, run)
    subprocess.run(["sync"])
    with open(run) as opened:
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    group = f"/sys/fs/cgroup/memory/octavo-plain-{os.getpid()}"
    os.makedirs(group)
    try:
        # The loop's own pages are next to nothing.
        with open(f"{group}/memory.limit_in_bytes", "w") as limit:
            limit.write(str(memory << 20))
        out = subprocess.run([program, file, run, workload, str(SECONDS), str(WARM), str(seed),
                              f"{group}/cgroup.procs"], check=True, capture_output=True, text=True)
    finally:
        with open(f"{group}/memory.force_empty", "w") as force:
            force.write("0")
        os.rmdir(group)
        os.remove(run)
        for lock in (run + lock_end, file + lock_end):
            if os.path.exists(lock):
                os.remove(lock)
    return json.loads(out.stdout)


def compare(octavo, directory, pairs, database, run, cases=CASES, warm=lambda memory: WARM, options=()):
    """Runs all cases in turn with `run(data, workload, page_kib, memory_mib, pair)`, the loop's; both warm up
    for as many seconds as `warm` says of the memory. `options` are those of the database."""
    ratios = {}
    for workload, page, memory in cases:
        data = os.path.join(directory, f"data-{page}")
        if not os.path.exists(data):
            subprocess.run([octavo, "load", data, "--database", database, "--workload", "ycsb-c",
                            "--records", str(RECORDS), "--page-size", f"{page}K"],
                           check=True, capture_output=True)
        for pair in range(pairs):
            for who in ("octavo", "plain") if pair % 2 == 0 else ("plain", "octavo"):
                if who == "plain":
                    line = run(data, workload, page, memory, pair)
                    line["cpu_us"] = line["cpu_s"] / line["operations"] * 1e6
                    line["per_s"] = line["operations"] / line["seconds"]
                else:
                    line = figures(ours(octavo, data, workload, memory, warm(memory), options))
                case = {"workload": workload, "page_kib": page, "memory_mib": memory}
                print(json.dumps({"who": who, "pair": pair, **case, **line}), flush=True)
                ratios.setdefault((workload, page, memory, pair), {})[who] = line["per_s"]
    for workload, page, memory in cases:
        logs = [math.log(of["octavo"] / of["plain"]) for (*case, _), of in ratios.items()
                if tuple(case) == (workload, page, memory)]
        mean, half = statistics.mean(logs), 0
        if len(logs) > 1:
            half = statistics.stdev(logs) / math.sqrt(len(logs))
        print(json.dumps({"ratio": round(math.exp(mean), 4), "standard_error": round(half, 4),
                          "workload": workload, "page_kib": page, "memory_mib": memory}), flush=True)


def main(store, octavo, directory, pairs=5):
    os.makedirs(directory, exist_ok=True)
    program = build(store, directory)
    *_, name, lock_end = STORES[store]

    def run(data, workload, _, memory, pair):
        file = glob.glob(f"{data}/**/{name}", recursive=True)[0]
        return plain(program, file, lock_end, workload, memory, pair)

    # The loop asks for no read-ahead.
    compare(octavo, directory, pairs, store, run, options=("--readahead", "off"))


def figures(found):
    counters, seconds = found["counters"], found["measured_s"]
    done = found["transactions"]
    return {"operations": done, "seconds": seconds, "per_s": done / seconds,
            "read": counters["read_bytes"], "written": counters["data_written_bytes"],
            "log_written": counters["log_written_bytes"], "faults": counters["reads"], "syncs": counters["syncs"],
            "device": found["device"], "storage_path": found["storage_path"]}


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in STORES:
        sys.exit(__doc__)
    main(*sys.argv[1:4], *map(int, sys.argv[4:5]))
