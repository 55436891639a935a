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


TOOLS = {"octavo": octavo, "fio": fio, "control": fio}


def main():
    directory, seconds, pairs, slices = sys.argv[1], *map(int, sys.argv[2:5])
    now = datetime.datetime.now(datetime.timezone.utc)
    folder = f"bench/runs/{now:%Y-%m-%d}-calibrate-vs-fio"
    os.makedirs(folder, exist_ok=True)
    rows = []
    with tempfile.NamedTemporaryFile(dir=directory, prefix="calibrate-vs-fio-") as file:
        path = file.name
        run(["fio", "--name=fill", f"--filename={path}", "--size=1g", "--rw=write", "--bs=128k",
             "--direct=1", "--ioengine=io_uring", "--iodepth=32", "--refill_buffers", "--end_fsync=1"])
        points = [(mix, size, depth) for mix in ["read", "write"] for size in SIZES for depth in DEPTHS]
        # The points take turns: a bad minute of the machine hits one pair of
        # each rather than all pairs of one.
        for pair in range(pairs):
            for mix, size, depth in points:
                for slice_ in range(slices):
                    # A B C, C B A, B C A, ...: drift favours nobody.
                    names = list(TOOLS)
                    turn = pair * slices + slice_
                    names = names[turn % 3:] + names[:turn % 3]
                    for name in names if turn % 2 == 0 else names[::-1]:
                        seed = turn + 1
                        iops, cpu, latency = TOOLS[name](path, mix, size, depth, seconds, seed)
                        rows.append([mix, size, depth, pair + 1, slice_ + 1, name, f"{iops:.1f}",
                                     f"{cpu:.3f}", f"{latency:.2f}", f"{os.getloadavg()[0]:.2f}"])
                        print(*rows[-1], flush=True)
    header = ["mix", "request_size", "depth", "pair", "slice", "tool", "iops", "cpu_us_per_request",
              "latency_us_mean", "load_1min"]
    with open(f"{folder}/raw.csv", "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    write_readme(folder, now, directory, seconds, pairs, slices, rows)


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


def write_readme(folder, now, directory, seconds, pairs, slices, rows):
    lines = [
        "# calibrate against fio", "",
        f"Measured {now:%Y-%m-%d %H:%M} UTC with `bench/calibrate-vs-fio.sh`: random requests over a",
        "file of 1 GiB that fio wrote before, io_uring and direct I/O in all,",
        f"{pairs} pairs, each of {slices} slices of {seconds} s after {RAMP_S} s of ramp in which octavo, fio",
        "and fio once more (the control) take turns in changing order. A pair's figure is the mean of its",
        "slices. All slices: [raw.csv](raw.csv).",
        "", "| | |", "|---|---|",
    ]
    lines += [f"| {name} | {value} |" for name, value in facts(directory)]
    lines += ["", "fio's options: `" + " ".join(fio_command("FILE", "MIX", "SIZE", "DEPTH", seconds)) + "`", "",
              "Ratios are to fio: the median of the pairs, with the smallest and largest pair. What the control",
              "differs from 1 is the machine's, not a tool's.", "",
              "| mix | request | depth | octavo IOPS | fio IOPS | ratio of IOPS | control's | octavo CPU us "
              "| fio CPU us | ratio of CPU | control's |", "|---|---|---|---|---|---|---|---|---|---|---|"]
    keys = dict.fromkeys(tuple(row[:3]) for row in rows)
    for key in keys:
        def by_pair(tool, column):
            return [statistics.mean(float(row[column]) for row in rows
                                    if tuple(row[:3]) == key and row[3] == pair + 1 and row[5] == tool)
                    for pair in range(pairs)]

        def median(tool, column):
            return statistics.median(by_pair(tool, column))

        def ratio(tool, column):
            ratios = [a / b for a, b in zip(by_pair(tool, column), by_pair("fio", column))]
            return f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"

        lines.append(
            f"| {key[0]} | {key[1]} | {key[2]} | {median('octavo', 6):.0f} | {median('fio', 6):.0f} "
            f"| {ratio('octavo', 6)} | {ratio('control', 6)} | {median('octavo', 7):.1f} | {median('fio', 7):.1f} "
            f"| {ratio('octavo', 7)} | {ratio('control', 7)} |")
    with open(f"{folder}/README.md", "w") as out:
        out.write("\n".join(lines) + "\n")
    print("\n".join(lines))


main()
