"""Measures the emulator with fio; see emulate.sh."""

import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

binaries, folder, device, place, seconds = sys.argv[1:]
seconds = float(seconds)
RANGE = 256 << 20


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


def fio(directory, kind, size, depth, ramp=0.5, direct=1):
    """fio's IOPS and mean latency in us; the file is written beforehand."""
    path = directory + "/fio.bin"
    if not os.path.exists(path):
        with open(path, "wb") as file:
            for _ in range(RANGE >> 20):
                file.write(os.urandom(1 << 20))
            os.fsync(file.fileno())
    out = subprocess.run(
        ["fio", "--name=x", "--filename=" + path, f"--rw=rand{kind}", f"--bs={size}", f"--iodepth={depth}",
         f"--ioengine={'psync' if depth == 1 else 'libaio'}", f"--direct={direct}", f"--size={RANGE}",
         "--time_based", f"--runtime={seconds}", f"--ramp_time={ramp}", "--norandommap", "--randrepeat=0",
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
                    print("%s depth %d: bare %.0f IOPS %.1f us, through %.0f IOPS %.1f us" % tuple(rows[-1]))
    with open(folder + "/overhead.csv", "w") as file:
        writer = csv.writer(file)
        writer.writerow(["kind", "depth", "bare_iops", "bare_us", "through_iops", "through_us"])
        writer.writerows(rows)


def accuracy():
    rows, paces = [], []
    for kind in ("read", "write"):
        for size in (2048, 4096, 8192, 16384, 65536):
            for depth in (1, 32):
                point = "random %s %d, depth %d, range %d" % (kind, size, depth, RANGE)
                profile = json.loads(subprocess.run(
                    [binaries + "/octavo", "calibrate", "--device", device, "--point", point, "--json"],
                    check=True, capture_output=True, text=True).stdout)
                simulated = profile["points"][0]
                more = ["--precondition", str(size), "--precondition-range", str(RANGE)] if kind == "write" else []
                with Emulator(device, *more) as emulator:
                    iops, mean = fio(emulator.mount, kind, size, depth)
                error = iops / simulated["iops"] - 1
                rows.append([kind, size, depth, simulated["iops"], iops, error, simulated["latency"]["us_mean"], mean,
                             emulator.said["pace"]["kept"], emulator.said["pace"]["late_us_p99"]])
                paces.append(emulator.said)
                print("%s %d depth %d: simulated %.1f IOPS, through %.1f, %+.2f %%, kept pace %.4f"
                      % (kind, size, depth, simulated["iops"], iops, error * 100, emulator.said["pace"]["kept"]))
    with open(folder + f"/accuracy-{os.path.basename(device).removesuffix('.toml')}.csv", "w") as file:
        writer = csv.writer(file)
        writer.writerow(["kind", "request_size", "depth", "simulated_iops", "fio_iops", "error",
                         "simulated_us_mean", "fio_us_mean", "pace_kept", "late_us_p99"])
        writer.writerows(rows)
    print("largest error %.2f %%" % (100 * max(abs(row[5]) for row in rows)))


overhead()
accuracy()
