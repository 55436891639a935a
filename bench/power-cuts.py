"""Cuts the power of databases at work; see power-cuts.sh."""

import csv
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import innodb_files
import mariadb_server
import postgres_server

octavo, folder, cuts, place = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]

# A verdict, before what comes of the data when this page is restored by hand.
LEFT_TORN = "first page left torn, with it restored: "


class Emulator:
    def __init__(self, home, faults, seed):
        self.mount = home + "/mount"
        self.process = subprocess.Popen(
            [octavo, "emulate", "instant", "--backing", home + "/backing", "--mount", self.mount,
             "--faults", faults, "--seed", str(seed)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        if "is mounted" not in line:
            sys.exit(line)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        said = self.process.communicate()[0]
        return "power was cut" in said


def marked(home):
    """Has the emulator make a backing directory, to put files into."""
    emulator = Emulator(home, "full=1TiB", 1)
    emulator.end()
    return home + "/backing/files"


def sqlite_work(path, journal):
    acknowledged = 0
    try:
        db = sqlite3.connect(path, isolation_level=None)
        db.executescript(f"""PRAGMA journal_mode={journal}; PRAGMA synchronous=FULL; PRAGMA cache_size=10;
            CREATE TABLE counter (n INTEGER); CREATE TABLE filler (n INTEGER PRIMARY KEY, text TEXT);
            INSERT INTO counter VALUES (0);""")
        generator = random.Random(1)
        while True:
            db.execute("BEGIN")
            db.execute("UPDATE counter SET n = n + 1")
            db.executemany("REPLACE INTO filler VALUES (?, ?)",
                           [(generator.randrange(400), "x" * generator.randrange(1500)) for _ in range(12)])
            db.execute("COMMIT")
            acknowledged += 1
    except sqlite3.Error:
        return acknowledged


def sqlite_verdict(path, acknowledged):
    try:
        db = sqlite3.connect(path)
        check = db.execute("PRAGMA integrity_check").fetchone()[0]
        if check != "ok":
            return "integrity check: " + check.splitlines()[0], 0
        found = 0
        if db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'counter'").fetchone()[0]:
            found = (db.execute("SELECT n FROM counter").fetchone() or [0])[0]
    except sqlite3.Error as error:
        return "error: %s" % error, 0
    return ("ok" if acknowledged <= found <= acknowledged + 1 else "commits lost"), found


def sqlite_cut(journal, more, number):
    cut = random.Random(number).randrange(50, 1500)
    with tempfile.TemporaryDirectory(dir=place) as home:
        emulator = Emulator(home, f"cut={cut}{more}", number)
        # A process of its own, which is killed with what it holds open.
        pid = os.fork()
        if pid == 0:
            with open(home + "/acknowledged", "w") as file:
                file.write(str(sqlite_work(emulator.mount + "/test.db", journal)))
            os._exit(0)
        os.waitpid(pid, 0)
        with open(home + "/acknowledged") as file:
            acknowledged = int(file.read())
        was_cut = emulator.end()
        verdict, found = sqlite_verdict(home + "/backing/files/test.db", acknowledged)
        return cut, was_cut, acknowledged, found, verdict


def commit_until_cut(client, database, generator):
    """Commits one transaction at a time, whose answer acknowledges it; returns how many were."""
    acknowledged = 0
    process = subprocess.Popen(client, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        while True:
            process.stdin.write(database.transaction(generator) + "SELECT n FROM counter;\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if not line:
                break
            acknowledged = int(line)
    except BrokenPipeError:
        pass
    process.kill()
    process.wait()
    return acknowledged


def kill_all(server):
    """Kills a server with its processes: without it, some wait for each other for ever."""
    below = []
    for entry in os.scandir("/proc"):
        try:
            if entry.name.isdigit() and int(open(entry.path + "/stat").read().rsplit(")", 1)[1].split()[1]) == server.pid:
                below.append(int(entry.name))
        except OSError:
            continue
    server.kill()
    for pid in below:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    server.wait()
    # PostgreSQL's lock of its data, which the next one would free.
    for line in open("/proc/sysvipc/shm").read().splitlines()[1:]:
        segment, maker = line.split()[1], line.split()[4]
        if int(maker) == server.pid:
            subprocess.run(["ipcrm", "-m", segment], check=False)


def server_cut(database, client, template, more, number):
    """Cuts the power of a server of the module `database`; the directory with what it left stays."""
    generator = random.Random(number)
    cut = generator.randrange(1000, 6000)
    home = tempfile.mkdtemp(dir=place)
    shutil.copystat(template, home)
    owner = os.stat(template)
    os.chown(home, owner.st_uid, owner.st_gid)
    files = marked(home)
    subprocess.run(["cp", "-a", template + "/data", files + "/data"], check=True)
    emulator = Emulator(home, f"cut={cut}{more}", number)
    server, socket = database.serve(emulator.mount + "/data", home)
    acknowledged = 0
    if server:
        acknowledged = commit_until_cut(client(socket), database, generator)
        kill_all(server)
    return home, files + "/data", cut, emulator.end(), acknowledged


def mariadb_cut(template, more, number):
    def client(socket):
        return ["mariadb", "--no-defaults", "-N", "-n", "--unbuffered", "--socket=" + socket, "t"]

    home, data, cut, was_cut, acknowledged = server_cut(mariadb_server, client, template, more, number)
    left = home + "/left"
    subprocess.run(["cp", "-a", "--sparse=always", data, left], check=True)
    verdict, found = mariadb_server.verdict(data, home, acknowledged)
    if verdict != "ok" and innodb_files.restore_first_page(left, "t/filler.ibd"):
        # See bench/torn-page.py: MariaDB leaves this page alone.
        restored, found = mariadb_server.verdict(left, home, acknowledged)
        verdict = LEFT_TORN + restored
    shutil.rmtree(home)
    return cut, was_cut, acknowledged, found, verdict


def postgres_cut(template, more, number):
    home, data, cut, was_cut, acknowledged = server_cut(
        postgres_server, postgres_server.client, template, more, number)
    # Its other processes end by themselves; until then it does not start.
    verdict, found = postgres_server.verdict(data, home, acknowledged)
    shutil.rmtree(home)
    return cut, was_cut, acknowledged, found, verdict


def series(maria, post):
    """Each series: its name, how many cuts, and what makes one."""
    wal, journal = partial(sqlite_cut, "WAL"), partial(sqlite_cut, "DELETE")
    mariadb = partial(mariadb_cut, maria)
    postgres = partial(postgres_cut, post)
    return [
        ("SQLite WAL", cuts, partial(wal, "")),
        ("SQLite rollback journal", cuts, partial(journal, "")),
        ("MariaDB", cuts, partial(mariadb, "")),
        # Is it torn writes that MariaDB does not survive?
        ("MariaDB, no write torn", cuts, partial(mariadb, ",tear=0/1")),
        ("MariaDB, every write that is not lost torn", cuts // 2, partial(mariadb, ",tear=1/1")),
        ("PostgreSQL", cuts, partial(postgres, "")),
        ("PostgreSQL, no write torn", cuts, partial(postgres, ",tear=0/1")),
        ("PostgreSQL, every write that is not lost torn", cuts // 2, partial(postgres, ",tear=1/1")),
        ("SQLite WAL, lying device", cuts // 5, partial(wal, ",lie")),
        ("SQLite rollback journal, lying device", cuts // 5, partial(journal, ",lie")),
        ("MariaDB, lying device", cuts // 5, partial(mariadb, ",lie")),
        ("PostgreSQL, lying device", cuts // 5, partial(postgres, ",lie")),
    ]


def main():
    wanted = sys.argv[5] if len(sys.argv) > 5 else ""
    maria, post = mariadb_server.template(place), postgres_server.template(place)
    chosen = [one for one in series(maria, post) if one[0].startswith(wanted)]
    with open(folder + "/cuts.csv", "w") as file, ProcessPoolExecutor(os.cpu_count()) as pool:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["database", "seed", "cut", "power_cut", "acknowledged", "found", "verdict"])
        for database, count, cut in chosen:
            own = []
            for seed, row in enumerate(pool.map(cut, range(1, count + 1)), 1):
                own.append([database, seed, *row])
                writer.writerow(own[-1])
            file.flush()
            survived = sum(row[6] == "ok" for row in own)
            left = sum(row[6] == LEFT_TORN + "ok" for row in own)
            print("%s: %d of %d cuts survived%s, %d with the power really cut, %d commits acknowledged"
                  % (database, survived, count, ", %d with a first page left torn" % left if left else "",
                     sum(row[3] for row in own), sum(row[4] for row in own)), flush=True)
    shutil.rmtree(maria)
    shutil.rmtree(post)


if __name__ == "__main__":
    main()
