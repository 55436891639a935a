#!/usr/bin/env python3
"""A user's own database on a server of MySQL, asked by `octavo advise` in every form.

    own-mysql.py OCTAVO BIN PLACE

BIN has `mysqld`, and the clients are there or in ../bin. PLACE is a directory that every user may
pass through and write to. Makes a server there with a schema of many types, asks about it by a
script, a sample, its logs, its digests and a guess, and prints a line of JSON for each: how it
ended, what it said, and whether what was checked beside it held. Ends with 1 if anything did not.

- Copies have the rows of the original: CHECKSUM TABLE of both, at each page size, and the rows that a
  sample keeps have their parents. (There is no FLOAT: `mysqldump` writes six digits of it.)
- The original is only read: its general log has no statement that begins otherwise than those in READS.
- The functions of a copied schema read no file and no account.
"""
import json, os, pwd, random, shutil, signal, subprocess, sys, tempfile, time

SCHEMA = """
CREATE DATABASE shop CHARACTER SET utf8mb4;
USE shop;
CREATE TABLE customers(id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, email VARCHAR(120) NOT NULL,
  name VARCHAR(80) CHARACTER SET latin1, born DATE, made DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6), flags BIT(12),
  kind ENUM('a','b','c'), tags SET('x','y','z'), extra JSON,
  lower_email VARCHAR(120) GENERATED ALWAYS AS (lower(email)) STORED,
  email_length INT GENERATED ALWAYS AS (char_length(email)) VIRTUAL, unseen INT DEFAULT 7 INVISIBLE,
  UNIQUE KEY(email), KEY(email_length), KEY by_function((upper(name))), CHECK (char_length(email) > 3));
CREATE TABLE orders(id INT AUTO_INCREMENT PRIMARY KEY, customer_id BIGINT UNSIGNED NOT NULL, at TIMESTAMP(3) NULL,
  total DECIMAL(12,2), d DOUBLE, y YEAR, t TIME(2), raw VARBINARY(40),
  uid BINARY(16) DEFAULT (uuid_to_bin(uuid())), note TEXT, KEY(customer_id, at DESC),
  FOREIGN KEY (customer_id) REFERENCES customers(id) ON DELETE CASCADE);
CREATE TABLE lines_of(order_id INT NOT NULL, n SMALLINT NOT NULL, sku CHAR(12), qty MEDIUMINT, price DECIMAL(10,3),
  PRIMARY KEY(order_id, n), KEY(sku), FOREIGN KEY (order_id) REFERENCES orders(id));
CREATE TABLE visits(id BIGINT NOT NULL, day INT NOT NULL, what VARCHAR(200), PRIMARY KEY(id, day))
  PARTITION BY RANGE(day) (PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN MAXVALUE);
CREATE TABLE places(id INT PRIMARY KEY, p POINT NOT NULL SRID 4326, body TEXT, SPATIAL KEY(p), FULLTEXT KEY(body));
CREATE VIEW large AS SELECT id, total FROM orders WHERE total > 100;
SET SESSION cte_max_recursion_depth = 10000000;
INSERT INTO customers(email, name, born, flags, kind, tags, extra)
  WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 30000)
  SELECT concat('User', n, '@Example.org'), concat('J\u00fcrgen ', n), date_add('1950-01-01', interval n % 20000 day),
    n % 4096, elt(n % 3 + 1, 'a', 'b', 'c'), if(n % 2, 'x,z', 'y'),
    json_object('n', n, 's', repeat('\u00e9', n % 30)) FROM s;
INSERT INTO orders(customer_id, at, total, d, y, t, raw, note)
  WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 150000)
  SELECT 1 + n * 7919 % 30000, date_add('2024-01-01', interval n second), n % 1000 / 7, n / 3, 2000 + n % 50,
    sec_to_time(n % 80000), unhex(sha2(n, 256)), if(n % 5 = 0, NULL, repeat('note ', n % 40)) FROM s;
INSERT INTO lines_of WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 449999)
  SELECT n div 3 + 1, n % 3, concat('SKU', n * 31 % 50000), n % 20, n % 500 / 3 FROM s;
INSERT INTO visits WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 50000)
  SELECT n, n % 300, repeat('w', n % 150) FROM s;
INSERT INTO places WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 2000)
  SELECT n, ST_GeomFromText(concat('POINT(', n % 80, ' ', n % 170, ')'), 4326), concat('place number ', n) FROM s;
CREATE FUNCTION reads_file() RETURNS INT READS SQL DATA RETURN load_file('/etc/hostname') IS NOT NULL;
CREATE FUNCTION reads_accounts() RETURNS INT READS SQL DATA RETURN (SELECT count(*) FROM mysql.user);
CREATE TRIGGER before_order BEFORE INSERT ON orders FOR EACH ROW SET NEW.note = coalesce(NEW.note, 'none');
CREATE USER reader@'%' IDENTIFIED BY 'word of a reader';
GRANT SELECT, SHOW VIEW, TRIGGER, EVENT ON shop.* TO reader@'%';
GRANT PROCESS, SHOW_ROUTINE ON *.* TO reader@'%';
GRANT SELECT ON performance_schema.* TO reader@'%';
CREATE USER stranger@'%' IDENTIFIED BY 'word of a reader';
GRANT SELECT, SHOW VIEW, TRIGGER ON shop.* TO stranger@'%';
ANALYZE TABLE customers, orders, lines_of, visits, places;
"""
TABLES = ("customers", "orders", "lines_of", "visits", "places")
SIZES = (4096, 16384)
READS = ("SELECT", "SHOW", "SET SESSION", "SET NAMES", "SET @", "SET SQL_QUOTE", "SET TRANSACTION", "SET TIME_ZONE",
         "SET LOCK_WAIT_TIMEOUT", "START TRANSACTION",
         "USE", "ROLLBACK", "COMMIT", "SAVEPOINT", "RELEASE SAVEPOINT", "/*!", "/*M!", "EXPLAIN", "UNLOCK TABLES", "WITH")

READING = r"""\set c random(1, 30000)
SELECT id, email, extra FROM customers WHERE id = :c;
SELECT count(*), sum(total) FROM orders WHERE customer_id = :c;
"""
CHANGING = READING + r"""\set o random(1, 150000)
BEGIN;
UPDATE orders SET total = total + 1 WHERE id = :o;
INSERT INTO visits(id, day, what) VALUES (1000000 + :o * 1000 + :c, :c % 300, 'hello') ON DUPLICATE KEY UPDATE what = 'again';
COMMIT;
"""
# Scripts that would leave the copy, and what is said of them; nothing of the first, whose transaction
# fails if the file was read.
ESCAPING = {
    "a function that reads a file": ("SELECT reads_file() AS was_read \\gset\n\\if :was_read\n"
                                     "SELECT (SELECT 1 UNION SELECT 2);\n\\endif\n" + READING, None),
    "a function that reads accounts": ("SELECT reads_accounts();\n", "ER_TABLEACCESS_DENIED_ERROR"),
}


class Server:
    """A private server over `data`, with a client as root."""

    def __init__(self, bin_, data, page_size, *arguments):
        self.bin, self.data, self.page_size = bin_, data, page_size
        self.socket = os.path.join(tempfile.mkdtemp(prefix="s", dir=os.path.dirname(data)), "s.sock")
        self.own = ["--user=nobody"] if os.getuid() == 0 else []
        if self.own:
            shutil.chown(os.path.dirname(self.socket), "nobody", pwd.getpwnam("nobody").pw_gid)
        self.words = [os.path.join(bin_, "mysqld"), "--no-defaults", "--datadir=" + data, "--secure-file-priv=NULL",
                      f"--innodb-page-size={page_size}", *self.own]
        base = os.path.dirname(os.path.abspath(bin_))
        if os.path.isdir(os.path.join(base, "share")):
            self.words.insert(2, "--basedir=" + base)
        self.arguments = arguments

    def make(self):
        subprocess.run([*self.words, "--initialize-insecure"], check=True, stderr=subprocess.DEVNULL)
        return self

    def __enter__(self):
        self.process = subprocess.Popen(
            [*self.words, "--socket=" + self.socket, "--mysqlx=OFF", "--disable-log-bin", "--pid-file=" + self.socket + ".pid",
             *self.arguments], stderr=subprocess.DEVNULL)
        for _ in range(600):
            if subprocess.run([*self.client(), "-e", "SELECT 1"], capture_output=True).returncode == 0:
                return self
            time.sleep(0.1)
        sys.exit(f"{self.words[0]} does not start on {self.data}")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def client(self):
        beside = os.path.join(self.bin, "mysql")
        program = beside if os.path.exists(beside) else os.path.join(self.bin, "../bin/mysql")
        return [program, "--no-defaults", "-N", "-u", "root", "-S", self.socket, "--default-character-set=utf8mb4"]

    def ask(self, sql):
        answer = subprocess.run(self.client(), input=sql, check=True, stdout=subprocess.PIPE, text=True)
        return [line.split("\t") for line in answer.stdout.splitlines()]

    def checksums(self):
        return {name: value for name, value in self.ask(f"USE shop; CHECKSUM TABLE {', '.join(TABLES)};")}


def kept(directory):
    """The data directories of copies, by page size as the server's own files say."""
    found = {}
    for folder, _, files in os.walk(directory):
        if "ibdata1" in files:
            with open(os.path.join(folder, "ibdata1"), "rb") as file:
                # The flags of a tablespace, in its first page: bits 6 to 9 are log2 of the page size minus 9.
                shift = int.from_bytes(file.read(58)[54:58], "big") >> 6 & 15
            found[512 << shift if shift else 16384] = folder
    return found


def use(server, seed):
    """Statements of a program, of which the logs tell."""
    draw = random.Random(seed)
    lines = ["USE shop;"]
    for number in range(1500):
        customer, order = draw.randint(1, 30000), draw.randint(1, 150000)
        lines.append(f"SELECT count(*), sum(total) FROM orders WHERE customer_id = {customer};")
        if number % 3 == 0:
            lines.append(f"BEGIN; UPDATE orders SET total = total + 1 WHERE id = {order}; COMMIT;")
    subprocess.run(server.client(), input="\n".join(lines), check=True, stdout=subprocess.DEVNULL, text=True)


class Asking:
    """Octavo beside what is checked of it."""

    def __init__(self, octavo, bin_, place, socket):
        self.octavo, self.bin, self.place, self.socket = octavo, bin_, place, socket
        self.failed = False

    def advise(self, form, words, checked=None, refused=None, user="reader"):
        into = os.path.join(self.place, "asked")
        shutil.rmtree(into, ignore_errors=True)
        environment = dict(os.environ, MYSQL_PWD="word of a reader")
        answer = subprocess.run(
            [self.octavo, "advise", into, "--copy-of", f"mysql://{user}@localhost/shop?socket={self.socket}",
             "--bin", self.bin, "--page-sizes", ",".join(f"{size >> 10}K" for size in SIZES), "--memory", "24MiB",
             "--budget", "2m", "--progress", "0", "--no-calibrate", "--keep-data", "--json", *words],
            env=environment, capture_output=True, text=True)
        line = {"form": form, "exit": answer.returncode}
        held = (answer.returncode != 0) == (refused is not None)
        if answer.returncode == 0:
            found = json.loads(answer.stdout)
            line["cells"] = [{key: cell.get(key) for key in ("page_size", "throughput", "ratio", "result")}
                             for group in found["groups"] for cell in group["cells"]]
            if checked:
                line["checked"] = checked(into, found)
                held &= all(line["checked"].values())
        else:
            line["said"] = answer.stderr.strip().splitlines()
            held &= refused is not None and refused in answer.stderr
        line["held"] = held
        self.failed |= not held
        print(json.dumps(line), flush=True)
        shutil.rmtree(into, ignore_errors=True)


def main(octavo, bin_, place):
    place = tempfile.mkdtemp(prefix="own-mysql-", dir=place)
    os.chmod(place, 0o755)
    data = os.path.join(place, "data")
    log = os.path.join(data, "general.log")
    os.mkdir(data)
    if os.getuid() == 0:
        shutil.chown(data, "nobody", pwd.getpwnam("nobody").pw_gid)
    server = Server(bin_, data, 16384, "--bind-address=127.0.0.1", "--port=0", "--general-log=ON",
                    "--general-log-file=" + log, "--slow-query-log=ON", "--long-query-time=0",
                    "--slow-query-log-file=" + os.path.join(data, "slow.log"))
    with server.make():
        server.ask(SCHEMA)
        original = server.checksums()
        read_from = os.path.getsize(log)
        asking = Asking(octavo, bin_, place, server.socket)

        def script(text):
            path = os.path.join(place, "mix.sql")
            with open(path, "w") as file:
                file.write(text)
            return ["--script", path]

        def same_rows(into, _):
            copies = kept(into)
            same = {"every page size was kept": set(copies) == set(SIZES)}
            for size, folder in copies.items():
                with Server(bin_, folder, size, "--skip-networking", "--skip-grant-tables") as copy:
                    same[f"rows at {size}"] = copy.checksums() == original
            return same

        def whole_families(into, _):
            whole = {}
            for size, folder in kept(into).items():
                with Server(bin_, folder, size, "--skip-networking", "--skip-grant-tables") as copy:
                    [[orphans]] = copy.ask(
                        "USE shop; SELECT (SELECT count(*) FROM orders LEFT JOIN customers c ON c.id = customer_id "
                        "WHERE c.id IS NULL) + (SELECT count(*) FROM lines_of LEFT JOIN orders o ON o.id = order_id "
                        "WHERE o.id IS NULL);")
                    [[lines]] = copy.ask("USE shop; SELECT count(*) FROM lines_of;")
                    whole[f"parents at {size}"] = orphans == "0"
                    # Lines follow their orders, and these their customers: 30,000 draws of one in ten.
                    whole[f"a tenth at {size}"] = 0.08 < int(lines) / 450000 < 0.12
            return whole

        asking.advise("script", script(READING), same_rows)
        asking.advise("script that changes rows", script(CHANGING))
        asking.advise("sample", [*script(READING), "--sample", "10%"], whole_families)
        # An account that may not see digests.
        asking.advise("guess", [], user="stranger")
        for seed in range(3):
            use(server, seed)
        asking.advise("digests", ["--digests"])
        for name in ("general.log", "slow.log"):
            copy = os.path.join(place, name)
            shutil.copyfile(os.path.join(data, name), copy)
            asking.advise(name, ["--recording", copy])
        server.ask("TRUNCATE performance_schema.events_statements_summary_by_digest;")
        for name, (text, refused) in ESCAPING.items():
            asking.advise(name, script(text), refused=refused)
        with open(log, errors="replace") as file:
            file.seek(read_from)
            sent = {line.split("\t", 2)[2].strip() for line in file if "\tQuery\t" in line or " Query\t" in line}
        # And what this script sent itself.
        own = ("BEGIN", "COMMIT", "TRUNCATE PERFORMANCE_SCHEMA", "UPDATE ORDERS SET TOTAL = TOTAL + 1 WHERE ID = ")
        unexpected = sorted(text for text in sent if not text.upper().startswith(READS + own))
        asking.failed |= bool(unexpected)
        print(json.dumps({"form": "what the server was sent", "statements": len(sent), "unexpected": unexpected[:20]}))
    shutil.rmtree(place)
    sys.exit(1 if asking.failed else 0)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
