#!/usr/bin/env python3
"""Ten databases after public projects, asked by `octavo advise` and measured by hand.

  own-databases.py make DIRECTORY [NAME...]
  own-databases.py ask|ask-long OCTAVO DIRECTORY [NAME...]
  own-databases.py by-hand|by-hand-long|turns PLAIN DIRECTORY [NAME...]

`make` writes NAME.db with 4 KiB pages and scripts: tables, keys and indexes that the named
project has for its main statements, in as few columns as these need, with made-up rows of
usual lengths. The others print a line of JSON for each: 16 over 4 KiB pages as Octavo answers
(`--os-cache whole`), and by hand: PLAIN (own_plain.c) on copies that VACUUM INTO wrote, in turn,
with all of the copy in the OS's memory. `ask` gives Octavo 35 s and `by-hand` takes a minute, with a
fresh copy for each run; with `-long` it is five minutes, and ten for each cell by hand, on one copy
each that grows older from run to run. `turns` has two copies take turns by hand for eleven minutes, in slices of
0.3 and of 20 s: does what one does to the disk slow down the other?
"""
import json, math, os, random, shutil, sqlite3, statistics, string, subprocess, sys
from typing import NamedTuple

SEED = 1
SIZES = (4096, 16384)
CACHE_KIB = 2000


class Length(NamedTuple):
    """How long is measured, by hand and by Octavo."""
    pairs: int
    warm_s: int
    run_s: int
    budget: str
    is_fresh: bool


SHORT, LONG = Length(4, 2, 4, "35s", True), Length(8, 5, 70, "5m", False)


def text(draw, least, most):
    return "".join(draw.choices(string.ascii_lowercase + " ", k=draw.randint(least, most)))


def identity(number):
    """A text that spreads over its index, which a script finds from a number too."""
    return f"{number * 2654435761 % 4294967296:08x}-{number:012x}"


# The same in SQL.
IDENTITY = "printf('%08x-%012x', :{0} * 2654435761 % 4294967296, :{0})"


def chinook(draw):
    """https://github.com/lerocha/chinook-database"""
    yield """CREATE TABLE Track(TrackId INTEGER PRIMARY KEY, Name NVARCHAR(200), AlbumId INTEGER,
        Composer NVARCHAR(220), UnitPrice NUMERIC(10,2));
      CREATE TABLE Invoice(InvoiceId INTEGER PRIMARY KEY, CustomerId INTEGER NOT NULL,
        InvoiceDate DATETIME NOT NULL, BillingAddress NVARCHAR(70), Total NUMERIC(10,2));
      CREATE TABLE InvoiceLine(InvoiceLineId INTEGER PRIMARY KEY, InvoiceId INTEGER NOT NULL,
        TrackId INTEGER NOT NULL, UnitPrice NUMERIC(10,2), Quantity INTEGER);"""
    yield "Track", ((i, text(draw, 8, 40), i // 10, text(draw, 5, 60), 0.99) for i in range(1, 3504))
    yield "Invoice", ((i, draw.randint(1, 53100), "2026-11-27", text(draw, 15, 40), 5.94)
                      for i in range(1, 370801))
    yield "InvoiceLine", ((i, draw.randint(1, 370800), draw.randint(1, 3503), 0.99, 1)
                          for i in range(1, 2016001))
    yield """CREATE INDEX IFK_InvoiceCustomerId ON Invoice(CustomerId);
      CREATE INDEX IFK_InvoiceLineInvoiceId ON InvoiceLine(InvoiceId);
      CREATE INDEX IFK_InvoiceLineTrackId ON InvoiceLine(TrackId);"""


CHINOOK = {"sale@1": r"""\set c random(1, 53100)
\set t random(1, 3503)
\set i random(1, 370800)
SELECT InvoiceId, Total FROM Invoice WHERE CustomerId = :c;
SELECT l.TrackId, l.Quantity, t.Name FROM InvoiceLine AS l JOIN Track AS t ON t.TrackId = l.TrackId WHERE l.InvoiceId = :i;
BEGIN;
INSERT INTO Invoice(CustomerId, InvoiceDate, Total) VALUES (:c, '2026-11-27', 3.96);
INSERT INTO InvoiceLine(InvoiceId, TrackId, UnitPrice, Quantity) VALUES (last_insert_rowid(), :t, 0.99, 1);
UPDATE Invoice SET Total = Total + 1 WHERE InvoiceId = :i;
END;
"""}


def sakila(draw):
    """https://github.com/jOOQ/sakila"""
    yield """CREATE TABLE inventory(inventory_id INTEGER PRIMARY KEY, film_id INT, store_id INT,
        last_update TIMESTAMP);
      CREATE TABLE rental(rental_id INTEGER PRIMARY KEY, rental_date TIMESTAMP, inventory_id INT,
        customer_id INT, return_date TIMESTAMP, staff_id INT, last_update TIMESTAMP);
      CREATE TABLE payment(payment_id INTEGER PRIMARY KEY, customer_id INT, staff_id INT, rental_id INT,
        amount DECIMAL(5,2), payment_date TIMESTAMP, last_update TIMESTAMP);"""
    now = "2026-11-27 10:00:00"
    yield "inventory", ((i, draw.randint(1, 20000), i % 2 + 1, now) for i in range(1, 92001))
    yield "rental", ((i, now, draw.randint(1, 92000), draw.randint(1, 12000), now, i % 2 + 1, now)
                     for i in range(1, 640001))
    yield "payment", ((i, draw.randint(1, 12000), i % 2 + 1, draw.randint(1, 640000), 2.99, now, now)
                      for i in range(1, 640001))
    yield """CREATE INDEX idx_fk_film_id ON inventory(film_id);
      CREATE INDEX idx_rental_fk_inventory_id ON rental(inventory_id);
      CREATE INDEX idx_rental_fk_customer_id ON rental(customer_id);
      CREATE INDEX idx_fk_customer_id ON payment(customer_id);"""


SAKILA = {"rent@2": r"""\set c random(1, 12000)
\set i random(1, 92000)
SELECT count(*) FROM rental WHERE inventory_id = :i AND return_date IS NULL;
BEGIN;
INSERT INTO rental(rental_date, inventory_id, customer_id, staff_id) VALUES ('2026-11-27 10:00:00', :i, :c, 1);
INSERT INTO payment(customer_id, staff_id, rental_id, amount) VALUES (:c, 1, last_insert_rowid(), 4.99);
END;
""", "customer@3": r"""\set c random(1, 12000)
SELECT sum(amount), count(*) FROM payment WHERE customer_id = :c;
SELECT r.rental_id, i.film_id FROM rental AS r JOIN inventory AS i ON i.inventory_id = r.inventory_id WHERE r.customer_id = :c ORDER BY r.rental_id DESC LIMIT 10;
"""}


def vaultwarden(draw):
    """https://github.com/dani-garcia/vaultwarden"""
    yield """CREATE TABLE ciphers(uuid TEXT NOT NULL PRIMARY KEY, created_at DATETIME, updated_at DATETIME,
        user_uuid TEXT, organization_uuid TEXT, atype INTEGER, name TEXT, notes TEXT, data TEXT);
      CREATE TABLE folders_ciphers(cipher_uuid TEXT NOT NULL, folder_uuid TEXT NOT NULL,
        PRIMARY KEY (cipher_uuid, folder_uuid));"""
    now = "2026-11-27 10:00:00"
    yield "ciphers", ((identity(i), now, now, identity(i % 1500), None, 1, text(draw, 80, 120),
                       None, text(draw, 300, 900)) for i in range(200000))
    yield "folders_ciphers", ((identity(i), identity(i % 9000)) for i in range(0, 200000, 2))
    yield "CREATE INDEX ciphers_user ON ciphers(user_uuid);"


VAULTWARDEN = {"open@6": rf"""\set c random(0, 199999)
SELECT uuid, name, data FROM ciphers WHERE uuid = {IDENTITY.format("c")};
SELECT folder_uuid FROM folders_ciphers WHERE cipher_uuid = {IDENTITY.format("c")};
""", "save@3": rf"""\set c random(0, 199999)
\set t random(0, 86399)
UPDATE ciphers SET updated_at = printf('2026-11-27 %08d', :t), name = name WHERE uuid = {IDENTITY.format("c")};
""", "sync@1": rf"""\set u random(0, 1499)
SELECT uuid, name, data FROM ciphers WHERE user_uuid = {IDENTITY.format("u")};
"""}


def atuin(draw):
    """https://github.com/atuinsh/atuin"""
    yield """CREATE TABLE history(id TEXT PRIMARY KEY, timestamp INTEGER NOT NULL, duration INTEGER NOT NULL,
        exit INTEGER NOT NULL, command TEXT NOT NULL, cwd TEXT NOT NULL, session TEXT NOT NULL,
        hostname TEXT NOT NULL, UNIQUE(timestamp, cwd, command));"""
    yield "history", ((identity(i), i * 1000, 5, 0, text(draw, 5, 60), text(draw, 10, 40),
                       identity(i // 50), "host:user") for i in range(500000))
    yield """CREATE INDEX idx_history_timestamp ON history(timestamp);
      CREATE INDEX idx_history_command ON history(command);"""


ATUIN = {"command@1": rf"""\set i random(600000, 999999999)
BEGIN;
INSERT OR IGNORE INTO history(id, timestamp, duration, exit, command, cwd, session, hostname) VALUES ({IDENTITY.format("i")}, :i * 1000, -1, -1, 'cargo test ' || :i, '/home/user', 'session', 'host:user');
END;
BEGIN;
UPDATE history SET duration = 12, exit = 0 WHERE id = {IDENTITY.format("i")};
END;
""", "search@2": r"""\set t random(0, 499999)
SELECT id, command, cwd FROM history WHERE timestamp < :t * 1000 ORDER BY timestamp DESC LIMIT 40;
"""}


def ntfy(draw):
    """https://github.com/binwiederhier/ntfy"""
    yield """CREATE TABLE messages(id INTEGER PRIMARY KEY AUTOINCREMENT, mid TEXT NOT NULL, time INT NOT NULL,
        topic TEXT NOT NULL, message TEXT NOT NULL, title TEXT NOT NULL, tags TEXT NOT NULL,
        published INT NOT NULL);"""
    yield "messages", ((i, identity(i), i, f"topic-{draw.randint(1, 3000)}", text(draw, 30, 200),
                        text(draw, 5, 30), "warning", 1) for i in range(1, 450001))
    yield """CREATE INDEX idx_mid ON messages(mid);
      CREATE INDEX idx_time ON messages(time);
      CREATE INDEX idx_topic ON messages(topic);"""


NTFY = {"publish@1": rf"""\set m random(500000, 999999999)
\set t random_zipfian(1, 3000, 1.1)
INSERT INTO messages(mid, time, topic, message, title, tags, published) VALUES ({IDENTITY.format("m")}, :m, 'topic-' || :t, 'backup of the database has ended without an error after some minutes', 'backup', 'ok', 1);
""", "poll@4": r"""\set t random_zipfian(1, 3000, 1.1)
\set since random(1, 450000)
SELECT mid, time, message, title FROM messages WHERE topic = 'topic-' || :t AND time >= :since AND published = 1 ORDER BY time, id LIMIT 20;
""", "one@4": rf"""\set m random(1, 450000)
SELECT mid, time, topic, message FROM messages WHERE mid = {IDENTITY.format("m")};
"""}


def places(draw):
    """https://searchfox.org/mozilla-central/source/toolkit/components/places"""
    yield """CREATE TABLE moz_places(id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR,
        rev_host LONGVARCHAR, visit_count INTEGER DEFAULT 0, frecency INTEGER DEFAULT -1,
        last_visit_date INTEGER, guid TEXT, url_hash INTEGER DEFAULT 0);
      CREATE TABLE moz_historyvisits(id INTEGER PRIMARY KEY, from_visit INTEGER, place_id INTEGER,
        visit_date INTEGER, visit_type INTEGER);"""
    yield "moz_places", ((i, "https://" + text(draw, 30, 120), text(draw, 20, 70), text(draw, 10, 20), 3,
                          draw.randint(1, 30000), i, identity(i), i * 2654435761 % 4294967296)
                         for i in range(1, 300001))
    yield "moz_historyvisits", ((i, 0, draw.randint(1, 300000), i, 1) for i in range(1, 900001))
    yield """CREATE INDEX moz_places_url_hashindex ON moz_places(url_hash);
      CREATE INDEX moz_places_frecencyindex ON moz_places(frecency);
      CREATE INDEX moz_places_lastvisitdateindex ON moz_places(last_visit_date);
      CREATE UNIQUE INDEX moz_places_guid_uniqueindex ON moz_places(guid);
      CREATE INDEX moz_historyvisits_placedateindex ON moz_historyvisits(place_id, visit_date);
      CREATE INDEX moz_historyvisits_dateindex ON moz_historyvisits(visit_date);"""


PLACES = {"visit@1": r"""\set p random_zipfian(1, 300000, 1.05)
SELECT id, guid FROM moz_places WHERE url_hash = :p * 2654435761 % 4294967296;
BEGIN;
INSERT INTO moz_historyvisits(from_visit, place_id, visit_date, visit_type) VALUES (0, :p, 1000000 + :p, 1);
UPDATE moz_places SET visit_count = visit_count + 1, last_visit_date = 1000000 + :p, frecency = frecency + 1 WHERE id = :p;
END;
""", "suggest@2": r"""\set f random(1, 30000)
SELECT id, url, title FROM moz_places WHERE frecency <= :f ORDER BY frecency DESC LIMIT 20;
""", "visits@2": r"""\set p random(1, 300000)
SELECT p.url, v.visit_date FROM moz_places AS p JOIN moz_historyvisits AS v ON v.place_id = p.id WHERE p.id = :p ORDER BY v.visit_date DESC;
"""}


def home_assistant(draw):
    """https://github.com/home-assistant/core/blob/dev/homeassistant/components/recorder/db_schema.py"""
    yield """CREATE TABLE states(state_id INTEGER PRIMARY KEY, state VARCHAR(255), metadata_id INTEGER,
        attributes_id INTEGER, last_updated_ts FLOAT, old_state_id INTEGER);
      CREATE TABLE state_attributes(attributes_id INTEGER PRIMARY KEY, hash INTEGER, shared_attrs TEXT);"""
    yield "states", ((i, f"{draw.random() * 30:.1f}", draw.randint(1, 400), draw.randint(1, 20000),
                      1700000000.0 + i, i - 400) for i in range(1, 1500001))
    yield "state_attributes", ((i, i * 2654435761 % 4294967296, text(draw, 100, 500))
                               for i in range(1, 20001))
    yield """CREATE INDEX ix_states_metadata_id_last_updated_ts ON states(metadata_id, last_updated_ts);
      CREATE INDEX ix_states_last_updated_ts ON states(last_updated_ts);
      CREATE INDEX ix_states_old_state_id ON states(old_state_id);
      CREATE INDEX ix_states_attributes_id ON states(attributes_id);
      CREATE INDEX ix_state_attributes_hash ON state_attributes(hash);"""


HOME_ASSISTANT = {"record@4": r"""\set m random(1, 400)
\set a random_zipfian(1, 20000, 1.1)
\set t random(1, 1000000)
SELECT attributes_id FROM state_attributes WHERE hash = :a * 2654435761 % 4294967296;
BEGIN;
INSERT INTO states(state, metadata_id, attributes_id, last_updated_ts, old_state_id) VALUES ('21.5', :m, :a, 1702000000.0 + :t, 1);
INSERT INTO states(state, metadata_id, attributes_id, last_updated_ts, old_state_id) VALUES ('21.6', :m + 1, :a, 1702000000.5 + :t, 2);
END;
""", "history@1": r"""\set m random(1, 400)
\set t random(1, 1400000)
SELECT state, last_updated_ts FROM states WHERE metadata_id = :m AND last_updated_ts > 1700000000.0 + :t AND last_updated_ts < 1700086400.0 + :t ORDER BY last_updated_ts;
"""}


def anki(draw):
    """https://github.com/ankitects/anki/blob/main/rslib/src/storage/schema11.sql"""
    yield """CREATE TABLE notes(id INTEGER PRIMARY KEY, guid TEXT NOT NULL, mid INTEGER, mod INTEGER, usn INTEGER,
        tags TEXT, flds TEXT NOT NULL, sfld INTEGER NOT NULL, csum INTEGER NOT NULL);
      CREATE TABLE cards(id INTEGER PRIMARY KEY, nid INTEGER NOT NULL, did INTEGER NOT NULL, mod INTEGER, usn INTEGER,
        type INTEGER, queue INTEGER NOT NULL, due INTEGER NOT NULL, ivl INTEGER, factor INTEGER, reps INTEGER);
      CREATE TABLE revlog(id INTEGER PRIMARY KEY, cid INTEGER NOT NULL, usn INTEGER NOT NULL, ease INTEGER,
        ivl INTEGER, lastIvl INTEGER, factor INTEGER, time INTEGER, type INTEGER);"""
    yield "notes", ((i, identity(i), 1, i, -1, "", text(draw, 60, 600), text(draw, 5, 30), i)
                    for i in range(1, 120001))
    yield "cards", ((i, (i + 1) // 2, i % 20, i, -1, 2, 2, draw.randint(1, 3000), 30, 2500, 7)
                    for i in range(1, 240001))
    yield "revlog", ((i * 10, draw.randint(1, 240000), -1, 3, 30, 20, 2500, 8000, 1)
                     for i in range(1, 1200001))
    yield """CREATE INDEX ix_notes_usn ON notes(usn);
      CREATE INDEX ix_cards_usn ON cards(usn);
      CREATE INDEX ix_revlog_usn ON revlog(usn);
      CREATE INDEX ix_cards_nid ON cards(nid);
      CREATE INDEX ix_cards_sched ON cards(did, queue, due);
      CREATE INDEX ix_revlog_cid ON revlog(cid);
      CREATE INDEX ix_notes_csum ON notes(csum);"""


ANKI = {"review@1": r"""\set c random(1, 240000)
\set d random(1, 3000)
SELECT c.id, c.due, n.flds FROM cards AS c JOIN notes AS n ON n.id = c.nid WHERE c.id = :c;
SELECT ease, ivl FROM revlog WHERE cid = :c;
BEGIN;
UPDATE cards SET mod = mod + 1, due = :d, ivl = ivl + 1, reps = reps + 1 WHERE id = :c;
INSERT INTO revlog(cid, usn, ease, ivl, lastIvl, factor, time, type) VALUES (:c, -1, 3, 31, 30, 2500, 9000, 1);
END;
""", "queue@1": r"""\set deck random(0, 19)
\set d random(1, 3000)
SELECT id, nid, due FROM cards WHERE did = :deck AND queue = 2 AND due <= :d ORDER BY due DESC LIMIT 50;
"""}


def freshrss(draw):
    """https://github.com/FreshRSS/FreshRSS/blob/edge/app/SQL/install.sql.sqlite.php"""
    yield """CREATE TABLE entry(id BIGINT NOT NULL, guid VARCHAR(767) NOT NULL, title VARCHAR(8192) NOT NULL,
        author VARCHAR(1024), content TEXT, link VARCHAR(16383), date INT, lastSeen BIGINT DEFAULT 0,
        hash BINARY(16), is_read BOOLEAN NOT NULL DEFAULT 0, is_favorite BOOLEAN NOT NULL DEFAULT 0,
        id_feed INTEGER, PRIMARY KEY (id), UNIQUE (id_feed, guid));"""
    yield "entry", ((i, identity(i), text(draw, 20, 100), text(draw, 5, 20), text(draw, 200, 6000),
                     "https://" + text(draw, 30, 90), i, 0, b"0" * 16, draw.randint(0, 3) > 0, 0, i % 150)
                    for i in range(1, 50001))
    yield """CREATE INDEX entry_is_favorite_index ON entry(is_favorite);
      CREATE INDEX entry_is_read_index ON entry(is_read);
      CREATE INDEX entry_lastSeen_index ON entry(lastSeen);
      CREATE INDEX entry_feed_read_index ON entry(id_feed, is_read);"""


FRESHRSS = {"read@3": r"""\set e random(1, 50000)
SELECT id, title, content FROM entry WHERE id = :e;
UPDATE entry SET is_read = 1 - is_read WHERE id = :e;
""", "list@1": r"""\set f random(0, 149)
SELECT id, title, author, link FROM entry WHERE id_feed = :f ORDER BY id DESC LIMIT 20;
""", "fetch@1": rf"""\set i random(100000, 999999999)
\set f random(0, 149)
INSERT OR IGNORE INTO entry(id, guid, title, content, link, date, id_feed) VALUES (:i, {IDENTITY.format("i")}, 'A title of usual length for an entry', hex(zeroblob(1200)), 'https://example.org/entry', :i, :f);
"""}


def nostr(draw):
    """https://github.com/scsibug/nostr-rs-relay/blob/master/src/repo/sqlite_migration.rs"""
    yield """CREATE TABLE event(id INTEGER PRIMARY KEY, event_hash BLOB NOT NULL, first_seen INTEGER NOT NULL,
        created_at INTEGER NOT NULL, author BLOB NOT NULL, kind INTEGER NOT NULL, hidden INTEGER,
        content TEXT NOT NULL);
      CREATE TABLE tag(id INTEGER PRIMARY KEY, event_id INTEGER NOT NULL, name TEXT, value TEXT,
        created_at INTEGER NOT NULL, kind INTEGER NOT NULL);"""
    yield "event", ((i, identity(i), i, i, identity(draw.randint(1, 5000)), draw.randint(0, 7), 0,
                     text(draw, 300, 700)) for i in range(1, 180001))
    yield "tag", ((i, (i + 2) // 3, "e", identity(draw.randint(1, 180000)), i // 3, 1)
                  for i in range(1, 540001))
    yield """CREATE UNIQUE INDEX event_hash_index ON event(event_hash);
      CREATE INDEX author_index ON event(author);
      CREATE INDEX kind_created_at_index ON event(kind, created_at);
      CREATE INDEX tag_val_index ON tag(value);
      CREATE INDEX tag_event_index ON tag(event_id);"""


NOSTR = {"publish@1": rf"""\set i random(1000000, 999999999)
\set a random_zipfian(1, 5000, 1.2)
\set e random(1, 180000)
BEGIN;
INSERT OR IGNORE INTO event(event_hash, first_seen, created_at, author, kind, hidden, content) VALUES ({IDENTITY.format("i")}, :i, 200000, {IDENTITY.format("a")}, 1, 0, hex(zeroblob(220)));
INSERT INTO tag(event_id, name, value, created_at, kind) VALUES (last_insert_rowid(), 'e', {IDENTITY.format("e")}, 200000, 1);
INSERT INTO tag(event_id, name, value, created_at, kind) VALUES (last_insert_rowid(), 'p', {IDENTITY.format("a")}, 200000, 1);
END;
""", "thread@3": rf"""\set e random(1, 180000)
SELECT e.content FROM event AS e WHERE e.id IN (SELECT event_id FROM tag WHERE value = {IDENTITY.format("e")}) ORDER BY e.created_at DESC LIMIT 50;
""", "feed@1": r"""\set k random(0, 7)
\set t random(1, 180000)
SELECT content FROM event WHERE kind = :k AND created_at <= :t ORDER BY created_at DESC LIMIT 30;
"""}

DATABASES = {
    "chinook": (chinook, CHINOOK), "sakila": (sakila, SAKILA), "vaultwarden": (vaultwarden, VAULTWARDEN),
    "atuin": (atuin, ATUIN), "ntfy": (ntfy, NTFY), "places": (places, PLACES),
    "home-assistant": (home_assistant, HOME_ASSISTANT), "anki": (anki, ANKI),
    "freshrss": (freshrss, FRESHRSS), "nostr": (nostr, NOSTR),
}


def make(folder, names):
    for name in names:
        rows, scripts = DATABASES[name]
        draw = random.Random(SEED)
        path = os.path.join(folder, name + ".db")
        if os.path.exists(path):
            continue
        database = sqlite3.connect(path + ".part")
        database.executescript("PRAGMA page_size=4096; PRAGMA synchronous=OFF;")
        for part in rows(draw):
            if isinstance(part, str):
                database.executescript(part)
                continue
            table, values = part
            width = len(database.execute(f"PRAGMA table_info({table})").fetchall())
            database.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * width)})", values)
            database.commit()
        database.executescript("ANALYZE; PRAGMA journal_mode=WAL;")
        database.close()
        os.rename(path + ".part", path)
        for script, content in scripts.items():
            with open(os.path.join(folder, f"{name}-{script.split('@')[0]}.sql"), "w") as file:
                file.write(content)
        print(name, os.path.getsize(path) >> 20, "MiB")


def scripts_of(folder, name):
    for script in DATABASES[name][1]:
        file, weight = script.split("@")
        yield f"{os.path.join(folder, f'{name}-{file}.sql')}@{weight}"


def octavo_ratio(octavo, folder, name, budget):
    into = os.path.join(folder, name + "-octavo")
    shutil.rmtree(into, ignore_errors=True)
    words = [octavo, "advise", into, "--copy-of", os.path.join(folder, name + ".db"), "--page-sizes", "4K,16K",
             "--memory", f"{CACHE_KIB}KiB", "--os-cache", "whole", "--budget", budget, "--progress", "0",
             "--no-calibrate", "--json"]
    for script in scripts_of(folder, name):
        words += ["--script", script]
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)


def remove_database(path):
    for end in ("", "-wal", "-shm"):
        if os.path.exists(path + end):
            os.remove(path + end)


def write_copies(folder, name, ending):
    """The files that VACUUM INTO writes, by page size."""
    copies = {}
    for size in SIZES:
        copies[size] = os.path.join(folder, f"{name}-{size}.{ending}")
        remove_database(copies[size])
        database = sqlite3.connect(os.path.join(folder, name + ".db"))
        database.execute(f"PRAGMA page_size={size}")
        database.execute("VACUUM INTO ?", [copies[size]])
        database.close()
    return copies


def hold_in_memory(path):
    """As far as the OS keeps what was read."""
    os.sync()
    with open(path, "rb") as file:
        while file.read(1 << 20):
            pass


def by_hand(plain, folder, name, length):
    """Transactions a second of each pair, 4 and 16 KiB pages."""
    copies = write_copies(folder, name, "copy")
    runs = {size: os.path.join(folder, f"{name}-{size}.run") for size in SIZES}
    pairs = []
    for pair in range(length.pairs):
        rates = {}
        for size in SIZES if pair % 2 == 0 else reversed(SIZES):
            run = runs[size]
            if length.is_fresh or pair == 0:
                remove_database(run)
                shutil.copyfile(copies[size], run)
            hold_in_memory(run)
            words = [plain, run, str(CACHE_KIB), str(length.warm_s), str(length.run_s), str(pair + 1)]
            answer = subprocess.run(words + list(scripts_of(folder, name)), check=True, stdout=subprocess.PIPE)
            rates[size] = float(answer.stdout)
        pairs.append((rates[4096], rates[16384]))
    for path in [*copies.values(), *runs.values()]:
        remove_database(path)
    return pairs


# Student's t, two-sided 95%, by degrees of freedom.
T = {2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365}


def ask(octavo, folder, name, length):
    answer = octavo_ratio(octavo, folder, name, length.budget)
    with open(os.path.join(folder, name + ".json"), "w") as file:
        json.dump(answer, file)
    cells = [cell for group in answer["groups"] for cell in group["cells"]]
    other = next(cell for cell in cells if not cell["reference"])
    return {"octavo": other["ratio"], "moved": other.get("moved")}


def compare_by_hand(plain, folder, name, length):
    pairs = by_hand(plain, folder, name, length)
    logs = [math.log(large / small) for small, large in pairs]
    mean, half = statistics.mean(logs), T[len(logs) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
    return {"by_hand": {"ratio": math.exp(mean), "low": math.exp(mean - half), "high": math.exp(mean + half),
                        "pairs": pairs}}


def take_turns(plain, folder, name, length):
    copies = write_copies(folder, name, "run")
    for path in copies.values():
        hold_in_memory(path)
    words = [plain, "turns", *copies.values(), str(CACHE_KIB), "0.3,20", str(length.pairs * length.run_s + 100), "7"]
    answer = subprocess.run(words + list(scripts_of(folder, name)), check=True, stdout=subprocess.PIPE, text=True)
    for path in copies.values():
        remove_database(path)
    blocks = [[float(word) for word in line.split()] for line in answer.stdout.splitlines()]
    return {"turns": {slice_s: [[small, large] for own, small, large in blocks if own == slice_s]
                      for slice_s in sorted({block[0] for block in blocks})}}


STEPS = {"turns": (take_turns, LONG), "ask": (ask, SHORT), "ask-long": (ask, LONG),
         "by-hand": (compare_by_hand, SHORT), "by-hand-long": (compare_by_hand, LONG)}

if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "make":
        os.makedirs(sys.argv[2], exist_ok=True)
        make(sys.argv[2], sys.argv[3:] or DATABASES)
    elif len(sys.argv) > 3 and sys.argv[1] in STEPS:
        step, length = STEPS[sys.argv[1]]
        program, folder = sys.argv[2:4]
        for name in sys.argv[4:] or DATABASES:
            print(json.dumps({"database": name, **step(program, folder, name, length)}), flush=True)
    else:
        sys.exit(__doc__)
