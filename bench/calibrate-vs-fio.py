"""Runs the pairs of bench/calibrate-vs-fio.sh and writes raw.csv and README.md."""

import csv
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile

POINT = "target/release/examples/point"
SIZES = ["4K", "16K", "64K"]
DEPTHS = [1, 32]
RAMP_S = 0.5


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def fio_command(path, mix, size, depth, seconds):
    # Registered file and buffers, and submission and completion in batches up
    # to the depth, are what octavo does; fio's defaults do neither. Latency is
    # kept by both, so no gtod_reduce.
    return [
        "fio", "--name=point", f"--filename={path}", "--ioengine=io_uring", "--direct=1",
        f"--rw=rand{mix}", f"--bs={size}", f"--iodepth={depth}",
        f"--iodepth_batch_submit={depth}", "--iodepth_batch_complete_min=1",
        f"--iodepth_batch_complete_max={depth}", "--fixedbufs=1", "--registerfiles=1",
        "--norandommap", "--randrepeat=0", "--time_based", f"--runtime={seconds}",
        f"--ramp_time={int(RAMP_S * 1000)}ms", "--output-format=json",
    ]


def fio(path, mix, size, depth, seconds, _seed):
    out = run(fio_command(path, mix, size, depth, seconds))
    job = json.loads(out[out.index("{"):])["jobs"][0]
    side = job[mix]
    cpu_us = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] * 1000
    return side["iops"], cpu_us / side["total_ios"], side["lat_ns"]["mean"] / 1000


def octavo(path, mix, size, depth, seconds, seed):
    out = json.loads(run([POINT, path, mix, size, str(depth), str(seconds), str(RAMP_S), str(seed)]))
    if out["access"] != "direct I/O":
        sys.exit("direct I/O is refused here: nothing to compare")
    return out["iops"], out["cpu_us_per_request"], out["latency_us_mean"]


def main():
    directory, seconds, pairs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    now = datetime.datetime.now(datetime.timezone.utc)
    folder = f"bench/runs/{now:%Y-%m-%d}-calibrate-vs-fio"
    os.makedirs(folder, exist_ok=True)
    rows = []
    with tempfile.NamedTemporaryFile(dir=directory, prefix="calibrate-vs-fio-") as file:
        path = file.name
        run(["fio", "--name=fill", f"--filename={path}", "--size=1g", "--rw=write", "--bs=128k",
             "--direct=1", "--ioengine=io_uring", "--iodepth=32", "--refill_buffers", "--end_fsync=1"])
        for mix in ["read", "write"]:
            for size in SIZES:
                for depth in DEPTHS:
                    for pair in range(pairs):
                        # A B, B A, A B, ...: drift favours neither.
                        order = [("octavo", octavo), ("fio", fio)]
                        for name, tool in order if pair % 2 == 0 else order[::-1]:
                            iops, cpu, latency = tool(path, mix, size, depth, seconds, pair + 1)
                            rows.append([mix, size, depth, pair + 1, name, f"{iops:.1f}",
                                         f"{cpu:.3f}", f"{latency:.2f}", f"{os.getloadavg()[0]:.2f}"])
                            print(*rows[-1], flush=True)
    header = ["mix", "request_size", "depth", "pair", "tool", "iops", "cpu_us_per_request",
              "latency_us_mean", "load_1min"]
    with open(f"{folder}/raw.csv", "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    write_readme(folder, now, directory, seconds, pairs, rows)


def facts(directory):
    def read(path):
        try:
            with open(path) as file:
                return file.read().strip()
        except OSError:
            return "unknown"
    number = os.stat(directory).st_dev
    queue = f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/queue/"
    cpu = next((line.split(":")[1].strip() for line in read("/proc/cpuinfo").splitlines()
                if line.startswith("model name")), "unknown")
    mount = run(["findmnt", "-no", "SOURCE,FSTYPE,OPTIONS", "-T", directory]).strip()
    return [
        ("kernel", f"{platform.system()} {platform.release()}"),
        ("CPU", f"{os.cpu_count()} x {cpu}"),
        ("file system", mount),
        ("scheduler", read(queue + "scheduler")),
        ("write cache", read(queue + "write_cache")),
        ("fio", run(["fio", "--version"]).strip()),
        ("commit", run(["git", "rev-parse", "--short", "HEAD"]).strip()),
    ]


def write_readme(folder, now, directory, seconds, pairs, rows):
    lines = [
        "# calibrate against fio", "",
        f"Measured {now:%Y-%m-%d %H:%M} UTC with `bench/calibrate-vs-fio.sh`: random requests over a",
        "file of 1 GiB that fio wrote before, io_uring and direct I/O in both, "
        f"{seconds} s after {RAMP_S} s of ramp,",
        f"{pairs} pairs in alternating order (octavo fio, fio octavo, ...). All runs: [raw.csv](raw.csv).",
        "", "| | |", "|---|---|",
    ]
    lines += [f"| {name} | {value} |" for name, value in facts(directory)]
    lines += ["", "fio's options: `" + " ".join(fio_command("FILE", "MIX", "SIZE", "DEPTH", seconds)) + "`", "",
              "Ratios are octavo over fio: the median of the pairs, with the smallest and largest pair.", "",
              "| mix | request | depth | octavo IOPS | fio IOPS | ratio of IOPS | octavo CPU us | fio CPU us "
              "| ratio of CPU |", "|---|---|---|---|---|---|---|---|---|"]
    keys = dict.fromkeys(tuple(row[:3]) for row in rows)
    for key in keys:
        mine = {row[3]: row for row in rows if tuple(row[:3]) == key and row[4] == "octavo"}
        theirs = {row[3]: row for row in rows if tuple(row[:3]) == key and row[4] == "fio"}

        def median(of, column):
            return statistics.median(float(row[column]) for row in of.values())

        def ratio(column):
            ratios = [float(mine[pair][column]) / float(theirs[pair][column]) for pair in mine]
            return f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"

        lines.append(
            f"| {key[0]} | {key[1]} | {key[2]} | {median(mine, 5):.0f} | {median(theirs, 5):.0f} | {ratio(5)} "
            f"| {median(mine, 6):.1f} | {median(theirs, 6):.1f} | {ratio(6)} |")
    with open(f"{folder}/README.md", "w") as out:
        out.write("\n".join(lines) + "\n")
    print("\n".join(lines))


main()
