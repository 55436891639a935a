CREATE TABLE part (
    part      TEXT PRIMARY KEY,
    session   INTEGER NOT NULL UNIQUE REFERENCES session,
    kind      TEXT NOT NULL CHECK (kind IN ('sitting', 'shard')),
    number    INTEGER NOT NULL,
    parts     INTEGER,
    host      TEXT NOT NULL,
    host_name TEXT NOT NULL,
    octavo    TEXT NOT NULL,
    started   TEXT NOT NULL,
    outcome   TEXT CHECK (outcome IN ('done', 'incomplete')),
    set_aside INTEGER NOT NULL DEFAULT 0,
    created   TEXT,
    slice_transactions INTEGER,
    horizon   TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX part_number ON part (kind, number);

CREATE TABLE part_fact (
    part  TEXT NOT NULL REFERENCES part,
    topic TEXT NOT NULL,
    name  TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (part, topic, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE part_calibration (
    part    TEXT PRIMARY KEY REFERENCES part,
    profile TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE part_snapshot (
    part            TEXT NOT NULL REFERENCES part,
    database        TEXT NOT NULL,
    data            TEXT NOT NULL,
    storage         TEXT NOT NULL,
    page_size_bytes INTEGER NOT NULL,
    made_by         TEXT NOT NULL,
    row_count       INTEGER NOT NULL,
    size_bytes      INTEGER NOT NULL,
    elapsed_s       REAL NOT NULL,
    log_bytes       INTEGER,
    origin_bytes    INTEGER,
    origin_s        REAL,
    PRIMARY KEY (part, database, data, storage, page_size_bytes)
) STRICT, WITHOUT ROWID;

CREATE INDEX run_session ON run (session);
