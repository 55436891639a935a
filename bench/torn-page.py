"""Whether MariaDB restores torn pages from its doublewrite buffer.

    bench/torn-page.py [DIRECTORY]

No emulator takes part: a server at work on DIRECTORY (default: /dev/shm) is
killed, which leaves every write whole. Then, in copies of what it left, the last
8 bytes of one page are zeroed as a torn write might leave them, of a page whose
intact copy is in the doublewrite buffer and newer than the checkpoint: once of
the file's first page, once of the page with the newest copy. The server then
recovers. Killed until there were three such first pages.
"""

import random
import shutil
import subprocess
import sys
import tempfile

import innodb_files
import mariadb_server

place = sys.argv[1] if len(sys.argv) > 1 else "/dev/shm"
FILE = "/t/filler.ibd"
TRIALS_MAX = 40


def killed_at_work(template, trial):
    generator = random.Random(trial)
    home = tempfile.mkdtemp(dir=place)
    shutil.copytree(template + "/data", home + "/data")
    server, socket = mariadb_server.serve(home + "/data", home)
    commits = 180 + generator.randrange(100)
    work = "".join(mariadb_server.transaction(generator) for _ in range(commits))
    subprocess.run(["mariadb", "--no-defaults", "--socket=" + socket, "t"], input=work, text=True, check=True)
    server.kill()
    server.wait()
    return home, commits


def restorable(data):
    """Numbers of pages that are in the file as the doublewrite buffer has them,
    and may be restored; the newest last."""
    space = innodb_files.space(innodb_files.read_page(data + FILE, 1))
    oldest = innodb_files.checkpoint(data)
    copies = innodb_files.doublewrite(data, space)
    return sorted((number for number, copy in copies.items()
                   if innodb_files.lsn(copy) >= oldest and innodb_files.read_page(data + FILE, number) == copy),
                  key=lambda number: innodb_files.lsn(copies[number]))


def recovered(home, number, commits):
    """What comes of the data with this page torn; None tears none."""
    torn = tempfile.mkdtemp(dir=place)
    shutil.copytree(home + "/data", torn + "/data")
    if number is not None:
        innodb_files.write(torn + "/data" + FILE, (number + 1) * innodb_files.PAGE - 8, bytes(8))
    verdict, _ = mariadb_server.verdict(torn + "/data", torn, commits)
    shutil.rmtree(torn)
    return verdict


def main():
    template = mariadb_server.template(place)
    first_pages = 0
    for trial in range(TRIALS_MAX):
        home, commits = killed_at_work(template, trial)
        pages = restorable(home + "/data")
        if 0 in pages and len(pages) > 1:
            first_pages += 1
            other = [number for number in pages if number != 0][-1]
            for torn in [None, other, 0]:
                print("seed %d, %d commits, torn page %s: %s" % (trial, commits, torn, recovered(home, torn, commits)),
                      flush=True)
        shutil.rmtree(home)
        if first_pages == 3:
            break
    shutil.rmtree(template)


main()
