"""Runs a plan's sittings on HyperQueue, with what `octavo fleet script --for hyperqueue` prints.

HyperQueue's wheel has a server and workers inside one process and no `hq` command, so a program of
that name stands in for it: it takes the options of the printed script and hands the command
to the wheel's client as an array of tasks. What is tried with it is HyperQueue itself: its
variables (HQ_TASK_ID), the request for all CPUs of a worker, and failures of tasks. What is not tried is
the real `hq submit`, several hosts, and workers that are lost (the wheel cannot end one).

    pip install hyperqueue==0.27
    python3 bench/fleet-hyperqueue.py [OUT]     # OUT: where to leave raw output

OCTAVO is the program [target/release/octavo], SITTINGS how many [6].
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from hyperqueue import Job
from hyperqueue.cluster import LocalCluster, WorkerConfig
from hyperqueue.ffi.protocol import ResourceRequest

PLAN = """format = 1
name = "Hosts"

[experiment]
budget = "1m"
passes = 100
compare = "page-size"

[workload]
name = "ycsb-a"
records = 10000

[cells]
page-size = ["4K", "8K"]
memory = "1MiB"
clients = 1

[run]
transactions = 20
warm-up = 50
"""

WORKERS = 3


def submitted(script, octavo, home):
    """The options and the command that a script gives `hq submit`."""
    programs = home / "programs"
    programs.mkdir()
    hq = programs / "hq"
    hq.write_text(f'#!/bin/bash\nprintf "%s\\0" "$@" >{home}/words\n')
    hq.chmod(0o755)
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "OCTAVO": str(octavo)}
    subprocess.run(["bash", script], env=environment, cwd=home, check=True)
    words = (home / "words").read_text().split("\0")[:-1]
    assert words[0] == "submit", words
    place = words.index("--")
    options = dict(word.removeprefix("--").split("=", 1) for word in words[1:place])
    assert set(options) == {"name", "array", "cpus", "crash-limit"}, options
    return options, words[place + 1 :]


def array(client, options, command, home):
    """Submits tasks as `hq submit --array` does, with the ids that it gives them."""
    first, last = map(int, options["array"].split("-"))
    job = Job(home, max_fails=None, name=options["name"])
    for task in range(first, last + 1):
        assert len(job.tasks) == task, "the client numbers tasks from 0"
        job.program(
            command,
            stdout=home / f"{task}.stdout",
            stderr=home / f"{task}.stderr",
            resources=ResourceRequest(cpus=options["cpus"]),
            crash_limit=int(options["crash-limit"]),
        )
    begin = time.monotonic()
    client.wait_for_jobs([client.submit(job)], raise_on_error=False)
    return time.monotonic() - begin, last + 1 - first


def main():
    octavo = pathlib.Path(os.environ.get("OCTAVO", "target/release/octavo")).resolve()
    sittings = os.environ.get("SITTINGS", "6")
    with tempfile.TemporaryDirectory(prefix="octavo-hyperqueue.") as directory:
        home = pathlib.Path(directory)
        (home / "plan.toml").write_text(PLAN)
        printed = subprocess.run(
            [octavo, "fleet", "script", "plan.toml", "--for", "hyperqueue", "--sittings", sittings]
            + ["--into", "out"],
            cwd=home,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        (home / "plan.sh").write_text(printed)
        # Octavo lets one sitting at a time measure in a network namespace, so each worker needs one.
        alone = home / "octavo"
        alone.write_text(f'#!/bin/sh\nexec unshare --map-root-user --net {octavo} "$@"\n')
        alone.chmod(0o755)
        options, command = submitted(home / "plan.sh", alone, home)
        lines = []
        # The cluster leaves directories of its server and workers behind.
        os.environ["TMPDIR"] = directory
        with LocalCluster() as cluster:
            for _ in range(WORKERS):
                cluster.start_worker(WorkerConfig(cores=2))
            client = cluster.client()
            # What HyperQueue adds, and whether a worker has one task at a time.
            seen = home / "seen"
            seen.mkdir()
            sleep = ["bash", "-c", f"date +%s.%N >{seen}/$HQ_TASK_ID; sleep 2; date +%s.%N >>{seen}/$HQ_TASK_ID"]
            took, count = array(client, options | {"array": "0-8"}, sleep, home)
            spans = sorted(tuple(map(float, path.read_text().split())) for path in seen.iterdir())
            assert sorted(path.name for path in seen.iterdir()) == sorted(map(str, range(9)))
            at_once = max(sum(b <= begin < e for b, e in spans) for begin, _ in spans)
            assert at_once <= WORKERS, f"{at_once} tasks at once"
            lines.append(
                f"{count} tasks of 2 s on {WORKERS} workers: {took:.1f} s, "
                f"{took / (count / WORKERS) - 2:.2f} s beyond each task, at most {at_once} at once"
            )
            took, count = array(client, options, command, home)
            lines.append(f"{count} sittings in {took:.0f} s")
        said = [(home / f"{task}.stdout").read_text() for task in range(count)]
        errors = [(home / f"{task}.stderr").read_text() for task in range(count)]
        numbers = [json.loads(text.splitlines()[-1])["sitting"] for text in said if text]
        print("\n".join(lines))
        assert numbers == list(range(count)), (numbers, errors)
        stores = sorted((home / "out").glob("*/octavo.db"))
        merge = [octavo, "merge", "all", *(store.relative_to(home) for store in stores)]
        merged = subprocess.run(merge, cwd=home, check=True, capture_output=True, text=True).stdout
        report = [octavo, "report", "all"]
        report = subprocess.run(report, cwd=home, check=True, capture_output=True, text=True).stdout
        print(merged + "\n".join(report.splitlines()[:12]))
        if len(sys.argv) > 1:
            out = pathlib.Path(sys.argv[1])
            out.mkdir(parents=True, exist_ok=True)
            (out / "plan.sh").write_text(printed)
            (out / "overhead.txt").write_text("\n".join(lines) + "\n")
            (out / "sittings.txt").write_text("".join(said))
            (out / "merge.txt").write_text(merged)
            (out / "report.txt").write_text(report)


main()
