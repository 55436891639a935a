#!/usr/bin/env python3
"""Disturbs the server under `octavo bench --url`, and looks whether its outputs agree.

    bench/outages.py DIRECTORY [MOMENTS [SEED]]

DIRECTORY is new, on a disk with 1 GB of room. At each of MOMENTS (default 100) moments
of a bench of 3 s sessions are ended, or the server is frozen, stopped, killed or
started again; half of the moments each on PostgreSQL and MariaDB. Then the text or
JSON (by turns), the CSV and the page have to tell the same errors, retries and
outages, an outage has to be as long as it was, and a bench that has begun has to
write its files. Prints a line of JSON a moment, ends with 1 after a failure.

Needs root, and the servers that ./test installs. OCTAVO names the program.
"""

import csv
import html
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import mariadb_server
import postgres_server

ROOT = pathlib.Path(__file__).resolve().parent.parent
OCTAVO = os.environ.get("OCTAVO", str(ROOT / "target/release/octavo"))
CLIENTS = 4
WARM_UP_S = 0.5
DURATION_S = 3.0
# As long as clients try to connect again, and the check after them.
GONE_S = 33.0


class Postgres:
    module = postgres_server
    sessions = ("SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' "
                "AND pid <> pg_backend_pid()")

    def url(self, socket):
        return f"postgres://postgres@/postgres?host={socket}"

    def end(self, session):
        return f"SELECT pg_terminate_backend({session})"

    # A fast stop, one at once, and one that takes the server's processes with it.
    stops = [signal.SIGINT, signal.SIGQUIT, signal.SIGKILL]


class Mariadb:
    module = mariadb_server
    sessions = "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user <> 'system user'"

    def url(self, socket):
        return f"mysql://root@localhost?socket={socket}"

    def end(self, session):
        return f"KILL CONNECTION {session}"

    stops = [signal.SIGTERM, signal.SIGKILL]


class Server:
    """A server whose data stays, started and stopped as often as one likes."""

    def __init__(self, kind, place):
        self.kind, self.home = kind, kind.module.template(place)
        self.process = None
        self.start()

    def start(self):
        self.process, self.socket = self.kind.module.serve(self.home + "/data", self.home)
        for _ in range(100):
            if self.process:
                return
            # Shared memory of one that was killed is freed in a moment.
            time.sleep(0.2)
            self.process, self.socket = self.kind.module.serve(self.home + "/data", self.home)
        sys.exit("the server does not start: " + open(self.home + "/log").read()[-2000:])

    def stop(self, how):
        self.process.send_signal(how)
        self.process.wait()
        # Children of a killed postmaster end by themselves.
        for _ in range(200):
            if not family(self.home):
                return
            time.sleep(0.02)

    def sessions(self):
        found = self.kind.module.query(self.socket, self.kind.sessions).stdout
        return [int(word) for word in found.split()]

    def end(self, sessions):
        for session in sessions:
            self.kind.module.query(self.socket, self.kind.end(session))

    def signal(self, which):
        for pid in family(self.home):
            try:
                os.kill(pid, which)
            except ProcessLookupError:
                pass


def family(home):
    """The processes of the server that works in a directory of ours."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.readlink(entry / "cwd").startswith(home):
                    words = (entry / "cmdline").read_bytes()
                    if b"postgres" in words or b"mariadbd" in words:
                        found.append(int(entry.name))
            except OSError:
                pass
    return found


def disturb(server, generator, begin, log):
    """One disturbance; when the server was away, since the clients began."""
    ways = ["end some", "end all", "freeze", "freeze and end", "restart", "away", "away at the end"]
    way = generator.choice(ways)
    at = generator.uniform(0, WARM_UP_S + DURATION_S)
    length = generator.choice([0.2, 1.0, 1.5, 2.5, 4.0])
    if way == "away at the end":
        at = WARM_UP_S + DURATION_S - generator.uniform(0, 0.5)
        # One in eight does not come back in time.
        length = GONE_S if generator.randrange(8) == 0 else length
    log.update(way=way, at=round(at, 3), length=length)
    time.sleep(max(0.0, begin + at - time.monotonic()))
    away = []

    def leave():
        away.append([time.monotonic() - begin, None])

    def back():
        away[-1][1] = time.monotonic() - begin

    if way.startswith("end"):
        sessions = server.sessions()
        if way == "end some":
            sessions = generator.sample(sessions, min(len(sessions), 2))
        server.end(sessions)
        log["ended"] = len(sessions)
    elif way == "freeze":
        server.signal(signal.SIGSTOP)
        leave()
        time.sleep(length)
        back()
        server.signal(signal.SIGCONT)
    elif way == "freeze and end":
        for _ in range(2):
            server.signal(signal.SIGSTOP)
            leave()
            time.sleep(length / 2)
            back()
            server.signal(signal.SIGCONT)
            server.end(server.sessions())
    else:
        how = generator.choice(server.kind.stops)
        log["signal"] = how.name
        leave()
        server.stop(how)
        if way != "restart":
            time.sleep(length)
        # Clients come in some time before this says so.
        back()
        server.start()
    log["away"] = [[round(at, 3) for at in span] for span in away]


def bench(server, place, is_json, disturbance):
    """Runs a bench with something happening to its server."""
    files = {kind: place / f"bench.{kind}" for kind in ("csv", "html")}
    for path in files.values():
        path.unlink(missing_ok=True)
    command = [OCTAVO, "bench", "--url", server.kind.url(server.socket), "--clients", str(CLIENTS),
               "--duration", f"{DURATION_S}s", "--warm-up-time", f"{WARM_UP_S}s",
               "--csv", str(files["csv"]), "--html", str(files["html"])]
    child = subprocess.Popen(command + ["--json"] * is_json, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, cwd=place)
    # Those of the clients, the lock's and the monitor's.
    while len(server.sessions()) < CLIENTS + 2 and child.poll() is None:
        time.sleep(0.005)
    begin = time.monotonic()
    worker = threading.Thread(target=disturbance, args=(begin,))
    worker.start()
    try:
        output, complaint = child.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        child.kill()
        output, complaint = child.communicate()
        complaint = "HUNG " + complaint
    worker.join()
    texts = {kind: path.read_text() if path.exists() else "" for kind, path in files.items()}
    return child.returncode, output, complaint, texts


def number(text):
    return int(text.replace(",", ""))


def of_words(words):
    """What a text says of errors and outages."""
    errors = re.search(r"errors\s+(\d[\d,]*)(?:(?<=,) and (\d[\d,]*) more in the warm-up)?", words)
    lost = re.search(r"(\d+) connections? w(?:as|ere) lost", words)
    gap = re.search(r"longest gap\s+([\d.]+\s(?:s|ms|µs))", words)
    committed = re.search(r"Nothing was committed for ([^.]*(?:\.\d[^.]*)*)\. Throughput", words)
    return {"failed": number(errors[1]), "warm_up_failed": number(errors[2] or "0"),
            "lost": int(lost[1]) if lost else 0, "gap": gap[1] if gap else None,
            "outages": len(re.findall(r" at ", committed[1])) if committed else 0,
            "lost_database": "was lost and did not come back" in words,
            "unchecked": "rows were not checked" in words}


def squeezed(text):
    return " ".join(text.replace("\N{NO-BREAK SPACE}", " ").split())


def compare(code, output, complaint, texts, is_json, log):
    """What does not agree."""
    faults = []
    page = texts["html"]
    main = page[page.index("<body>"):]
    shown = re.sub(r"<svg.*?</svg>", " ", re.sub(r"<script.*?</script>", " ", main, flags=re.S), flags=re.S)
    told = of_words(squeezed(html.unescape(re.sub(r"<[^>]+>", " ", shown))))
    drawn = len(re.findall(r'<rect class="outage"', main))
    # The legend has one more.
    drawn = max(0, drawn - 1)
    if drawn != told["outages"]:
        faults.append(f"the chart has {drawn} outages, the page {told['outages']}")
    if not is_json:
        words = of_words(squeezed(output))
        if words != told:
            faults.append(f"the terminal says {words}, the page {told}")
    lines = list(csv.DictReader(texts["csv"].splitlines()))
    since = [line for line in lines if line["measured"] == "1" or line["cut"] == "1"]
    before = [line for line in lines if line not in since]

    def total(some, column):
        return sum(float(line[column]) for line in some)

    if total(since, "failed") != told["failed"] or total(before, "failed") != told["warm_up_failed"]:
        faults.append(f"CSV has {total(since, 'failed')} failed and {total(before, 'failed')} in the warm-up")
    outage_s = total(lines, "outage_s")
    log.update(told=told, outage_s=round(outage_s, 3), lines=len(lines))
    if is_json:
        value = json.loads(output)
        lengths = [outage["length_s"] for outage in value["outages"]]
        kinds = value["kinds"]
        log.update(outages=value["outages"], label=value["steadiness"]["label"], cut_s=value["steadiness"]["cut_s"])
        for name, found, wanted in [
                ("failed", value["failed"], told["failed"]),
                ("failed in the warm-up", value["warm_up_failed"], told["warm_up_failed"]),
                ("lost", sum(kind["lost"] for kind in kinds), told["lost"]),
                ("failed by kind", sum(kind["lost"] + kind["gave_up"] + kind["timed_out"] for kind in kinds),
                 told["failed"]),
                ("retries", value["retries"], total(since, "retries")),
                ("retries by kind", sum(kind["retries"] for kind in kinds), value["retries"]),
                ("outages", len(lengths), told["outages"]),
                ("database lost", value["lost"] is not None, told["lost_database"]),
                ("unchecked", value["unchecked"] is not None, told["unchecked"]),
                ("checked", bool(value["checks"]), not told["unchecked"])]:
            if found != wanted:
                faults.append(f"{name}: JSON {found}, others {wanted}")
        if abs(sum(lengths) - outage_s) > 0.002 * (len(lines) + 1):
            faults.append(f"outages of {lengths} s, in CSV {outage_s} s")
        gap = value["stability"]["longest_stall_s"]
        if lengths and abs(max(lengths) - gap) > 1e-6:
            faults.append(f"the longest gap is {gap} s, the longest outage {max(lengths)} s")
    wanted = 1 if told["unchecked"] or told["lost_database"] or "no transaction ended" in complaint else 0
    if code != wanted:
        faults.append(f"exit code {code}, not {wanted}")
    # What was away for long after the warm-up is an outage of at least that length. Some
    # time passes until signals arrive.
    end_s = max(float(line["at_s"]) for line in lines)
    # The warm-up waits for the end of a checkpoint.
    warm_up_s = max((float(line["at_s"]) for line in before), default=0.0)
    for begin, end in log.get("away", []):
        span = min(end, end_s) - max(begin, warm_up_s)
        # What would have had fewer than 50 commits is a gap by definition (driver/steady/stall.rs),
        # and a fault here all the same: the rate tells which of the two it was.
        usual = total(since, "counted") / max(total(since, "length_s") - max(span, 0.0), 0.1)
        if span > 1.3 and outage_s < span - 0.3:
            faults.append(f"away for {span:.2f} s, outages of {outage_s:.2f} s, {usual:.0f} commits a second")
    return faults


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    place = pathlib.Path(sys.argv[1]).resolve()
    place.mkdir()
    place.chmod(0o755)
    moments = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    servers = [Server(Postgres(), place), Server(Mariadb(), place)]
    failures = 0
    try:
        for server in servers:
            subprocess.run([OCTAVO, "bench", "--url", server.kind.url(server.socket), "--workload", "pgbench",
                            "--scale", "1", "--duration", "1s"], check=True, capture_output=True)
        for moment in range(moments):
            generator = random.Random(f"{seed}.{moment}")
            server = servers[moment % len(servers)]
            is_json = moment // len(servers) % 2 == 0
            log = {"moment": moment, "server": server.kind.module.__name__.removesuffix("_server"), "json": is_json}
            code, output, complaint, texts = bench(
                server, place, is_json, lambda begin: disturb(server, generator, begin, log))
            log.update(code=code, complaint=complaint.strip()[-400:])
            if not texts["csv"] or not texts["html"]:
                faults = ["no files were written"]
            else:
                faults = compare(code, output, complaint, texts, is_json, log)
            log["faults"] = faults
            failures += bool(faults)
            print(json.dumps(log), flush=True)
    finally:
        for server in servers:
            server.signal(signal.SIGCONT)
            server.stop(signal.SIGQUIT if isinstance(server.kind, Postgres) else signal.SIGKILL)
    shutil.rmtree(place)
    print(f"{moments} moments, {failures} with faults", file=sys.stderr)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
