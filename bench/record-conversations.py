#!/usr/bin/env python3
"""Records again what PostgreSQL and MariaDB say to Octavo, for crates/hostile.

    bench/record-conversations.py

Needed once Octavo asks something else: the test that nothing damaged is accepted
then fails. Needs the servers that ./test installs; as root.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile

import mariadb_server
import postgres_server

ROOT = pathlib.Path(__file__).resolve().parent.parent

with tempfile.TemporaryDirectory() as place:
    os.chmod(place, 0o755)
    for server, module, name in [("postgres", postgres_server, ".s.PGSQL.5432"), ("mariadb", mariadb_server, "socket")]:
        home = module.template(place)
        process, _ = module.serve(home + "/data", home)
        path = pathlib.Path(home, name)
        try:
            subprocess.run(["cargo", "test", "-q", "-p", "octavo-hostile", "--test", "readers", f"answers_of_{server}"],
                           cwd=ROOT, env={**os.environ, "OCTAVO_RECORD": str(path)}, check=True)
        finally:
            process.terminate()
            process.wait()
        shutil.rmtree(home)
