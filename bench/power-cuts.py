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
import time

octavo, folder, cuts, place = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]


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
        return "the power was cut" in said


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


def sqlite_cut(journal, number, more):
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


SERVER = ["mariadbd", "--no-defaults", "--user=root", "--skip-networking", "--skip-grant-tables",
          "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M", "--innodb-flush-log-at-trx-commit=1",
          "--innodb-flush-method=O_DIRECT", "--innodb-doublewrite=ON"]


def serve(data, home):
    socket = home + "/socket"
    if os.path.exists(socket):
        os.remove(socket)
    server = subprocess.Popen(SERVER + ["--datadir=" + data, "--socket=" + socket, "--pid-file=" + home + "/pid"],
                              stdout=subprocess.DEVNULL, stderr=open(home + "/log", "a"))
    for _ in range(600):
        if server.poll() is not None:
            return None, socket
        if os.path.exists(socket) and query(socket, "SELECT 1").returncode == 0:
            return server, socket
        time.sleep(0.05)
    server.kill()
    server.wait()
    return None, socket


def query(socket, text):
    return subprocess.run(["mariadb", "--no-defaults", "-N", "--socket=" + socket, "-e", text],
                          capture_output=True, text=True)


def mariadb_template():
    home = tempfile.mkdtemp(dir=place)
    subprocess.run(["mariadb-install-db", "--no-defaults", "--user=root", "--datadir=" + home + "/data",
                    "--auth-root-authentication-method=normal", "--skip-test-db",
                    "--innodb-log-file-size=8M"], check=True, stdout=subprocess.DEVNULL)
    server, socket = serve(home + "/data", home)
    done = query(socket, """CREATE DATABASE t; CREATE TABLE t.counter (n INT) ENGINE=InnoDB;
        INSERT INTO t.counter VALUES (0);
        CREATE TABLE t.filler (n INT PRIMARY KEY, text VARCHAR(2000)) ENGINE=InnoDB;
        SET GLOBAL innodb_fast_shutdown=1""")
    if done.returncode:
        sys.exit(done.stderr)
    server.terminate()
    server.wait()
    return home


def mariadb_cut(template, number, more):
    generator = random.Random(number)
    cut = generator.randrange(1000, 6000)
    home = tempfile.mkdtemp(dir=place)
    files = marked(home)
    subprocess.run(["cp", "-a", template + "/data", files + "/data"], check=True)
    emulator = Emulator(home, f"cut={cut}{more}", number)
    server, socket = serve(emulator.mount + "/data", home)
    acknowledged = 0
    if server:
        client = subprocess.Popen(["mariadb", "--no-defaults", "-N", "-n", "--unbuffered", "--socket=" + socket, "t"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            # One transaction at a time: its answer acknowledges it.
            while True:
                rows = ",".join("(%d,'%s')" % (generator.randrange(5000), "x" * generator.randrange(1900))
                                for _ in range(20))
                client.stdin.write("BEGIN; UPDATE counter SET n = n + 1; REPLACE INTO filler VALUES %s; COMMIT;"
                                   " SELECT n FROM counter;\n" % rows)
                client.stdin.flush()
                line = client.stdout.readline()
                if not line:
                    break
                acknowledged = int(line)
        except BrokenPipeError:
            pass
        client.kill()
        client.wait()
        server.kill()
        server.wait()
    was_cut = emulator.end()
    server, socket = serve(files + "/data", home)
    found = 0
    if server is None:
        verdict = "does not start"
    else:
        check = query(socket, "CHECK TABLE t.counter, t.filler EXTENDED")
        counter = query(socket, "SELECT n FROM t.counter")
        states = [line.split("\t")[-1] for line in check.stdout.splitlines()]
        if check.returncode or states != ["OK", "OK"]:
            verdict = "check: " + " ".join((check.stdout + check.stderr).split())
        else:
            found = int(counter.stdout)
            verdict = "ok" if acknowledged <= found <= acknowledged + 1 else "commits lost"
        server.kill()
        server.wait()
    shutil.rmtree(home)
    return cut, was_cut, acknowledged, found, verdict


def main():
    template = mariadb_template()
    rows = []
    for database, count, more, cut in [
        ("SQLite WAL", cuts, "", lambda n, more: sqlite_cut("WAL", n, more)),
        ("SQLite rollback journal", cuts, "", lambda n, more: sqlite_cut("DELETE", n, more)),
        ("MariaDB", cuts, "", lambda n, more: mariadb_cut(template, n, more)),
        ("SQLite WAL, lying device", cuts // 5, ",lie", lambda n, more: sqlite_cut("WAL", n, more)),
        ("SQLite rollback journal, lying device", cuts // 5, ",lie", lambda n, more: sqlite_cut("DELETE", n, more)),
        ("MariaDB, lying device", cuts // 5, ",lie", lambda n, more: mariadb_cut(template, n, more)),
    ]:
        own = [[database, n, *cut(n, more)] for n in range(1, count + 1)]
        rows += own
        print("%s: %d of %d cuts survived, %d with the power really cut, %d commits acknowledged"
              % (database, sum(row[6] == "ok" for row in own), len(own), sum(row[3] for row in own),
                 sum(row[4] for row in own)), flush=True)
    shutil.rmtree(template)
    with open(folder + "/cuts.csv", "w") as file:
        writer = csv.writer(file)
        writer.writerow(["database", "seed", "cut", "power_cut", "acknowledged", "found", "verdict"])
        writer.writerows(rows)


main()
