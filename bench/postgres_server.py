"""A PostgreSQL server whose transactions count themselves: `counter` holds how
many have committed, each of which also replaced 20 rows of `filler`. It runs as
the user postgres, whom the distribution's package makes."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

USER = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
# Checkpoints in between, so that pages are written as well as the log.
SETTINGS = ["listen_addresses=", "shared_buffers=16MB", "max_wal_size=32MB", "min_wal_size=32MB",
            "checkpoint_timeout=30s", "bgwriter_delay=10ms", "fsync=on", "full_page_writes=on",
            # Beside its data, where it goes with them when the server is killed.
            "dynamic_shared_memory_type=mmap"]


def programs():
    """The newest version's, or None."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    return found[-1] if found else None


def serve(data, home):
    """The server and the directory of its socket; no server if it does not start."""
    settings = [word for setting in SETTINGS for word in ("-c", setting)]
    server = subprocess.Popen(USER + [programs() + "/postgres", "-D", data, "-k", home] + settings, cwd=home,
                              stdout=subprocess.DEVNULL, stderr=open(home + "/log", "a"))
    for _ in range(600):
        if server.poll() is not None:
            return None, home
        if query(home, "SELECT 1").returncode == 0:
            return server, home
        time.sleep(0.05)
    server.kill()
    server.wait()
    return None, home


def client(socket):
    return ["psql", "-h", socket, "-U", "postgres", "-d", "postgres", "-qXtA", "-v", "ON_ERROR_STOP=1"]


def query(socket, text):
    return subprocess.run(client(socket) + ["-c", text], capture_output=True, text=True)


def template(place):
    """A directory whose `data` holds two tables, shut down cleanly."""
    home = tempfile.mkdtemp(dir=place)
    shutil.chown(home, "postgres", "postgres")
    subprocess.run(USER + [programs() + "/initdb", "-D", home + "/data", "-U", "postgres", "-A", "trust", "--data-checksums",
                           "--wal-segsize=1", "--no-sync"], check=True, stdout=subprocess.DEVNULL, cwd=home)
    server, socket = serve(home + "/data", home)
    done = query(socket, "CREATE TABLE counter (n int); INSERT INTO counter VALUES (0); "
                         "CREATE TABLE filler (n int PRIMARY KEY, text text); CREATE EXTENSION amcheck;")
    if done.returncode:
        sys.exit(done.stderr)
    server.terminate()
    server.wait()
    return home


def transaction(generator):
    rows = ",".join("(%d,repeat(chr(%d),%d))" % (number, generator.randrange(97, 123), generator.randrange(1900))
                    for number in generator.sample(range(5000), 20))
    return ("BEGIN; UPDATE counter SET n = n + 1; INSERT INTO filler VALUES %s "
            "ON CONFLICT (n) DO UPDATE SET text = excluded.text; COMMIT;\n" % rows)


def verdict(data, home, acknowledged):
    """What comes of the data when a server recovers, and the commits found."""
    server, socket = serve(data, home)
    if server is None:
        return "does not start", 0
    # Every page with its checksum, and each row in its index.
    check = query(socket, "SELECT count(*), sum(length(text)) FROM filler; SELECT bt_index_check('filler_pkey', true)")
    counter = query(socket, "SELECT n FROM counter")
    server.send_signal(3)
    server.wait()
    if check.returncode or counter.returncode:
        return "check: " + " ".join((check.stderr + counter.stderr).split()), 0
    found = int(counter.stdout)
    return ("ok" if acknowledged <= found <= acknowledged + 1 else "commits lost"), found
