"""A MariaDB server whose transactions count themselves: `t.counter` holds how
many have committed, each of which also replaced 20 rows of `t.filler`."""

import os
import subprocess
import sys
import tempfile
import time

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


def template(place):
    """A directory whose `data` holds two tables, shut down cleanly."""
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


def transaction(generator):
    rows = ",".join("(%d,'%s')" % (generator.randrange(5000), "x" * generator.randrange(1900)) for _ in range(20))
    return "BEGIN; UPDATE counter SET n = n + 1; REPLACE INTO filler VALUES %s; COMMIT;\n" % rows


def verdict(data, home, acknowledged):
    """What comes of the data when a server recovers, and the commits found."""
    server, socket = serve(data, home)
    if server is None:
        return "does not start", 0
    check = query(socket, "CHECK TABLE t.counter, t.filler EXTENDED")
    counter = query(socket, "SELECT n FROM t.counter")
    server.kill()
    server.wait()
    states = [line.split("\t")[-1] for line in check.stdout.splitlines()]
    if check.returncode or counter.returncode or states != ["OK", "OK"]:
        return "check: " + " ".join((check.stdout + check.stderr + counter.stderr).split()), 0
    found = int(counter.stdout)
    return ("ok" if acknowledged <= found <= acknowledged + 1 else "commits lost"), found
