"""Measures the emulator with fio; see emulate.sh."""

import csv
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

binaries, folder, device, place, seconds = sys.argv[1:]
seconds = float(seconds)
RANGE = 256 << 20
REPEATS = 3


class Emulator:
    def __init__(self, device, *more):
        self.home = tempfile.mkdtemp(prefix="octavo-bench-", dir=place)
        self.mount = self.home + "/mount"
        self.process = subprocess.Popen(
            [binaries + "/octavo", "emulate", device, "--json", "--backing", self.home + "/backing",
             "--mount", self.mount, *more],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        if "is mounted" not in line:
            sys.exit(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.said = json.loads(self.process.communicate()[0])
        subprocess.run(["rm", "-r", self.home], check=True)


def fio(directory, kind, size, depth, direct=1):
    """fio's IOPS and mean latency in us; the file is written beforehand. No ramp:
    fio 3.33 takes part of it into the time that it divides by."""
    path = directory + "/fio.bin"
    if not os.path.exists(path):
        with open(path, "wb") as file:
            for _ in range(RANGE >> 20):
                file.write(os.urandom(1 << 20))
            os.fsync(file.fileno())
    out = subprocess.run(
        ["fio", "--name=x", "--filename=" + path, f"--rw=rand{kind}", f"--bs={size}", f"--iodepth={depth}",
         f"--ioengine={'psync' if depth == 1 else 'libaio'}", f"--direct={direct}", f"--size={RANGE}",
         "--time_based", f"--runtime={seconds}", "--norandommap", "--randrepeat=0",
         "--output-format=json"], check=True, capture_output=True, text=True).stdout
    job = json.loads(out[out.index("{"):])["jobs"][0][kind]
    return job["iops"], job["lat_ns"]["mean"] / 1e3


def overhead():
    """The instant device against the backing file system itself, alternating."""
    rows = []
    for _ in range(3):
        with tempfile.TemporaryDirectory(dir=place) as directory, Emulator("instant") as emulator:
            for kind in ("read", "write"):
                for depth in (1, 32):
                    # The backing storage cached, as the emulator has it.
                    bare = fio(directory, kind, 4096, depth, direct=0)
                    through = fio(emulator.mount, kind, 4096, depth)
                    rows.append([kind, depth, *bare, *through])
                    print("%s depth %d: bare %.0f IOPS %.1f us, through %.0f IOPS %.1f us" % tuple(rows[-1]), flush=True)
    with open(folder + "/overhead.csv", "w") as file:
        writer = csv.writer(file)
        writer.writerow(["kind", "depth", "bare_iops", "bare_us", "through_iops", "through_us"])
        writer.writerows(rows)


def accuracy():
    """Each point REPEATS times; the errors are of the medians."""
    rows, errors = [], []
    for kind in ("read", "write"):
        for size in (2048, 4096, 8192, 16384, 65536):
            for depth in (1, 32):
                point = "random %s %d, depth %d, range %d" % (kind, size, depth, RANGE)
                profile = json.loads(subprocess.run(
                    [binaries + "/octavo", "calibrate", "--device", device, "--point", point, "--json"],
                    check=True, capture_output=True, text=True).stdout)
                simulated = profile["points"][0]
                more = ["--precondition", str(size), "--precondition-range", str(RANGE)] if kind == "write" else []
                runs = []
                for _ in range(REPEATS):
                    with Emulator(device, *more) as emulator:
                        runs.append(fio(emulator.mount, kind, size, depth))
                    pace = emulator.said["pace"]
                    rows.append([kind, size, depth, simulated["iops"], simulated["latency"]["us_mean"], *runs[-1],
                                 pace["kept"], pace["late_us_p99"], pace["lead_us"], pace["cores_awake"]])
                iops = statistics.median(run[0] for run in runs)
                mean = statistics.median(run[1] for run in runs)
                errors.append(iops / simulated["iops"] - 1)
                print("%s %d depth %d: simulated %.1f IOPS %.1f us, through %.1f IOPS %.1f us: %+.1f %%, latency %+.1f %%"
                      % (kind, size, depth, simulated["iops"], simulated["latency"]["us_mean"], iops, mean,
                         errors[-1] * 100, 100 * (mean / simulated["latency"]["us_mean"] - 1)), flush=True)
    with open(folder + f"/accuracy-{os.path.basename(device).removesuffix('.toml')}.csv", "w") as file:
        writer = csv.writer(file)
        writer.writerow(["kind", "request_size", "depth", "simulated_iops", "simulated_us_mean", "fio_iops",
                         "fio_us_mean", "pace_kept", "late_us_p99", "lead_us", "cores_awake"])
        writer.writerows(rows)
    print("largest error of IOPS %.1f %%" % (100 * max(map(abs, errors))))


overhead()
accuracy()
