#!/usr/bin/env python3
"""Kills octavo at random moments, and looks what is left.

    bench/kills.py DIRECTORY [KILLS [SEED [NAME...]]]

DIRECTORY is new, on a disk with 5 GB of room. As root it works in namespaces of
its own for processes, mounts and shared memory, so that others at work on the
machine are neither seen nor met. KILLS (default 100) are spread
over the commands below in turn, or over those that are named. OCTAVO in the
environment is a program to use instead of a release build. The data is larger than
every buffer, those of loading and of checks too, so that all of them spill.
A kill is SIGKILL to octavo alone, to all of its
processes at once, or to one of those that it started, or an interrupt (SIGINT) to
octavo. After each, within 20 s: no process or mount of it is left. Once a command was killed five times it is let
go on to its end and has to succeed; then no shared memory and no control group is
left either, and its store has to be sound and to hold all passes, and of SQLite the
same first sitting, to the count, as one that was not disturbed.
Prints a line a kill, ends with 1 after a failure.

Needs the servers that ./test installs; a command whose needs are not there is
left out, and named.
"""

import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
OCTAVO = pathlib.Path(os.environ.get("OCTAVO", ROOT / "target/release/octavo")).resolve()
PASSES = 12
PLAN = """format = 1
[experiment]
passes = 12
design = "full"
[run]
transactions = 100
warm-up = 200
[workload]
name = "pgbench"
scale = 5
[cells]
{cells}
"""
SQLITE = 'page-size = ["4K", "64K"]\nmemory = "4MiB"'
POSTGRES = 'database = "postgres"\nbin = "8K=installed"\nclients = [1, 2]\nmemory = "32MiB"'
MARIADB = 'database = "mariadb"\npage-size = "16K"\nclients = [1, 2]\nmemory = "32MiB"'
DEVICE = SQLITE + '\nstorage = "device:instant"'
BENCH = ["--workload", "pgbench", "--scale", "5", "--duration", "2s"]
# A command goes on where it was killed, so that all of it is hit in the end.
LONGEST = 10
SERVERS = {"postgres": "/usr/lib/postgresql", "mariadb": "/usr/sbin/mariadbd"}


def scenes(home):
    """Names, commands, and the directory that each works in."""
    for name, cells in [
        ("run-sqlite", SQLITE),
        ("run-device", DEVICE),
        ("run-postgres", POSTGRES),
        ("run-mariadb", MARIADB),
    ]:
        plan = home / f"{name}.toml"
        plan.write_text(PLAN.format(cells=cells))
        yield name, ["run", str(plan), str(home / name)]
    yield "run-advise", ["advise", str(home / "run-advise"), "--passes", "12", "--transactions", "100",
                         "--warm-up", "200", "--workload", "ycsb-a", "--records", "50000", "--no-calibrate",
                         "--page-sizes", "4K,64K", "--memory", "4MiB"]
    yield "load", ["load", str(home / "load"), "--warehouses", "1"]
    yield "bench", ["bench", str(home / "bench"), *BENCH]
    for server in SERVERS:
        # Not one that would be built first.
        installed = ["--bin", "8K=installed"] if server == "postgres" else []
        yield f"bench-{server}", ["bench", str(home / f"bench-{server}"), "--database", server, *installed, *BENCH]
    yield "calibrate", ["calibrate", str(home), "--quick"]


def possible(name):
    if "device" in name:
        return os.access("/dev/fuse", os.R_OK | os.W_OK)
    return all(os.path.exists(path) for server, path in SERVERS.items() if server in name)


def processes(home):
    """Those that work in the directory, by their command line or their place."""
    found = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) in (os.getpid(), os.getppid()):
            continue
        try:
            words = pathlib.Path(entry.path, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            place = os.readlink(entry.path + "/cwd")
            state = pathlib.Path(entry.path, "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if state not in "ZX" and (str(home) in words or place.startswith(str(home))):
            found.append((int(entry.name), state, words.strip()))
    return found


def below(pid):
    """A process's descendants."""
    parents = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                rest = pathlib.Path(entry.path, "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents.setdefault(int(rest[1]), []).append(int(entry.name))
    found, todo = [], [pid]
    while todo:
        for child in parents.get(todo.pop(), []):
            found.append(child)
            todo.append(child)
    return found


def words_of(pid):
    """The command line of a process, on one line."""
    try:
        return " ".join(pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").replace("\0", " ").split())
    except OSError:
        return ""


def tell_what_waits(pids):
    """Where each thread of some processes is in the kernel."""
    for pid in pids:
        print(f"  {pid} {words_of(pid)[:90]}")
        for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
            try:
                print("   ", *((task / of).read_text().strip() for of in ("comm", "wchan", "syscall")))
            except OSError:
                continue


def traces(home, at_the_end):
    """What is there beside files in the directory. Groups and shared memory of
    servers that were killed with octavo are freed by the next command."""
    left = [f"process {pid} ({state}) {words[:80]}" for pid, state, words in processes(home)]
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        if line.split()[4].startswith(str(home)):
            left.append("mount " + line.split()[4])
    if at_the_end:
        left += [f"shared memory {path}" for path in pathlib.Path("/dev/shm").glob("PostgreSQL*")]
        # A group's name says whose processes it is for.
        own = os.stat("/proc/self/ns/pid").st_ino
        # Others' groups may go while they are listed, which a walk passes over.
        groups = (os.path.join(above, name) for above, names, _ in os.walk("/sys/fs/cgroup") for name in names)
        left += [f"control group {path}" for path in groups if os.path.basename(path).startswith(f"octavo-{own}-")]
        segments = pathlib.Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
        left += [f"System V segment {line.split()[1]}" for line in segments]
    return left


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def settle(home, at_the_end=False, limit=20):
    """What is left once there was time to go; nothing as a rule."""
    end = time.monotonic() + limit
    while (left := traces(home, at_the_end)) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def start(command, home):
    log = open(home / "log.txt", "a")
    return subprocess.Popen([OCTAVO, *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")


def slices(store):
    """What each slice counted, by sitting; of what was not finished too."""
    rows = sqlite3.connect(store).execute(
        "SELECT sitting, pass, position, cell, slice.transactions, slice.counted, buffer_misses, log_written_bytes"
        " FROM slice JOIN run USING (run) WHERE failure IS NULL ORDER BY 1, 2, 3")
    return rows.fetchall()


def sound(name, home, undisturbed):
    """Why the store of a finished command is none, or None."""
    store = home / name / "octavo.db"
    if not store.exists():
        return None
    found = sqlite3.connect(store).execute("PRAGMA integrity_check").fetchone()[0]
    if found != "ok":
        return found
    said = subprocess.run([OCTAVO, "report", home / name, "--json"], capture_output=True, text=True)
    if said.returncode != 0:
        return said.stderr
    kept = slices(store)
    if not kept or undisturbed is None:
        undisturbed = kept
    passes = len({row[:2] for row in kept})
    # A server that was killed takes its part of a sitting with it, which the result says.
    whole = not sqlite3.connect(store).execute("SELECT count(*) FROM run WHERE failure IS NOT NULL").fetchone()[0]
    # Slow passes are left out, and made up for.
    if whole and not PASSES <= passes <= 2 * PASSES:
        return f"{passes} passes instead of {PASSES}"
    if name in ("run-sqlite", "run-device", "run-advise"):
        first = [row for row in kept if row[0] == 0]
        shared = min(len(first), len(undisturbed))
        if first[:shared] != undisturbed[:shared]:
            return "the first sitting is not that of an undisturbed run"
    return None


def to_its_end(name, command, home, undisturbed):
    """The seconds that a command takes, and why it is not sound, or None."""
    begun = time.monotonic()
    child = start(command, home)
    try:
        code = child.wait(600)
    except subprocess.TimeoutExpired:
        child.kill()
        code = "none, it hangs"
    why = f"exit {code}" if code else sound(name, home, undisturbed)
    return time.monotonic() - begun, why


def forget(name, home):
    if (home / name).is_dir():
        shutil.rmtree(home / name)


def alone():
    """Begins again in namespaces of its own. What ends there without a parent is
    reaped by the shell, which is the first process."""
    if os.geteuid() != 0 or os.environ.get("ALONE"):
        return
    os.environ["ALONE"] = "yes"
    inside = "mount -t tmpfs tmpfs /dev/shm && python3 \"$@\"; exit $?"
    os.execvp("unshare", ["unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc",
                          "bash", "-c", inside, "bash", *sys.argv])


def main():
    home = pathlib.Path(sys.argv[1]).resolve()
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    chance = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    if "OCTAVO" not in os.environ:
        subprocess.run(["cargo", "build", "--release", "-p", "octavo"], cwd=ROOT, check=True)
    home.mkdir()
    if before := traces(home, True):
        sys.exit("there already: " + ", ".join(before))
    chosen = []
    named = sys.argv[4:]
    for name, command in scenes(home):
        if named and name not in named:
            continue
        if possible(name):
            chosen.append((name, command))
        else:
            print(f"left out: {name}")
    failures = done = 0
    lengths, undisturbed = {}, {}
    for name, command in chosen:
        lengths[name], why = to_its_end(name, command, home, None)
        if why:
            sys.exit(f"{name}, undisturbed: {why}")
        store = home / name / "octavo.db"
        undisturbed[name] = slices(store) if store.exists() else None
        forget(name, home)
        print(f"{name}: {lengths[name]:.1f} s undisturbed", flush=True)
    while done < kills:
        name, command = chosen[done // 5 % len(chosen)]
        for _ in range(5):
            begun = time.monotonic()
            child = start(command, home)
            time.sleep(chance.uniform(0, min(lengths[name], LONGEST)))
            all_below = below(child.pid)
            how = chance.choice(["octavo", "all", "one of its own", "interrupt"])
            if how == "one of its own" and all_below:
                victim = chance.choice(all_below)
                how = words_of(victim)[:70] or how
                kill(victim)
                try:
                    child.wait(300)
                except subprocess.TimeoutExpired:
                    print(f"{name}: hangs after {how} was killed")
                    tell_what_waits([child.pid, *below(child.pid)])
                    failures += 1
                    child.kill()
            elif how == "interrupt" and child.poll() is None:
                child.send_signal(signal.SIGINT)
                try:
                    child.wait(120)
                except subprocess.TimeoutExpired:
                    print(f"{name}: hangs after an interrupt")
                    tell_what_waits([child.pid, *all_below])
                    failures += 1
                    child.kill()
            else:
                targets = [child.pid] + (all_below if how == "all" else [])
                for pid in targets:
                    kill(pid)
            child.wait()
            left = settle(home)
            done += 1
            print(f"{done} {name}: {how}, after {time.monotonic() - begun:.2f} s" + "".join(f"\n  LEFT {of}" for of in left), flush=True)
            failures += bool(left)
            for pid, _, _ in processes(home):
                kill(pid)
        _, why = to_its_end(name, command, home, undisturbed[name])
        left = settle(home, at_the_end=True)
        print(f"{name} to its end: {why or 'sound'}" + "".join(f"\n  LEFT {of}" for of in left), flush=True)
        failures += bool(why) + bool(left)
        forget(name, home)
    unknown = sorted(path.name for path in home.iterdir() if path.suffix != ".toml" and path.name != "log.txt")
    if unknown:
        print("LEFT", *unknown)
        failures += 1
    print(f"{done} kills, {failures} failures")
    sys.exit(failures > 0)


alone()
main()
