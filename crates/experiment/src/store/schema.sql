-- The result store, version 13. docs/store.md describes it.
CREATE TABLE plan (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    octavo    TEXT NOT NULL,
    created   TEXT NOT NULL,
    plan      TEXT NOT NULL,
    slice_transactions INTEGER,
    horizon   TEXT
) STRICT;

CREATE TABLE fact (
    topic TEXT NOT NULL,
    name  TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (topic, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE calibration (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    profile TEXT NOT NULL
) STRICT;

CREATE TABLE snapshot (
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
    PRIMARY KEY (database, data, storage, page_size_bytes)
) STRICT, WITHOUT ROWID;

CREATE TABLE cell (
    cell            INTEGER PRIMARY KEY,
    name            TEXT NOT NULL,
    database        TEXT NOT NULL,
    data            TEXT NOT NULL,
    storage         TEXT NOT NULL,
    page_size_bytes INTEGER NOT NULL,
    memory_bytes    INTEGER NOT NULL,
    cpus            INTEGER,
    clients         INTEGER NOT NULL,
    copy            INTEGER NOT NULL
) STRICT;

CREATE TABLE session (
    session   INTEGER PRIMARY KEY,
    started   TEXT NOT NULL,
    elapsed_s REAL NOT NULL
) STRICT;

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

CREATE TABLE run (
    run          INTEGER PRIMARY KEY,
    session      INTEGER NOT NULL REFERENCES session,
    set_aside    INTEGER NOT NULL DEFAULT 0,
    source       TEXT NOT NULL CHECK (source IN ('measured', 'predicted')),
    sitting      INTEGER NOT NULL,
    cell         INTEGER NOT NULL REFERENCES cell,
    started      TEXT NOT NULL,
    failure      TEXT,
    warm_up_s    REAL,
    warm_up_misses INTEGER,
    buffer_filled INTEGER,
    measured_s   REAL,
    interrupted  INTEGER,
    overhead_s   REAL,
    transactions INTEGER,
    counted      INTEGER,
    changed_bytes INTEGER,
    late         BLOB,
    backlog      TEXT,
    restored_by  TEXT,
    storage_path TEXT,
    counters     TEXT,
    device       TEXT,
    machine      TEXT,
    steady       INTEGER,
    steadiness   TEXT,
    stability    TEXT,
    warm_up_failed INTEGER,
    ended_early  TEXT,
    unchecked    TEXT,
    UNIQUE (source, sitting, cell, set_aside)
) STRICT;

CREATE INDEX run_session ON run (session);

CREATE TABLE slice (
    run          INTEGER NOT NULL REFERENCES run,
    pass         INTEGER NOT NULL,
    position     INTEGER NOT NULL,
    transactions INTEGER NOT NULL,
    counted      INTEGER NOT NULL,
    elapsed_s    REAL NOT NULL,
    read_s       REAL,
    log_write_s  REAL,
    log_sync_s   REAL,
    checkpoint_s REAL,
    cpu_s        REAL,
    buffer_misses INTEGER NOT NULL,
    log_written_bytes INTEGER NOT NULL,
    foreign_bytes INTEGER,
    response_s   REAL,
    PRIMARY KEY (run, pass)
) STRICT, WITHOUT ROWID;

CREATE TABLE warm_up (
    run          INTEGER NOT NULL REFERENCES run,
    block        INTEGER NOT NULL,
    sent         INTEGER NOT NULL,
    transactions INTEGER NOT NULL,
    counted      INTEGER NOT NULL,
    elapsed_s    REAL NOT NULL,
    buffer_misses INTEGER NOT NULL,
    response_s   REAL,
    PRIMARY KEY (run, block)
) STRICT, WITHOUT ROWID;

CREATE TABLE step (
    run          INTEGER NOT NULL REFERENCES run,
    clients      INTEGER NOT NULL,
    measured_s   REAL NOT NULL,
    transactions INTEGER NOT NULL,
    counted      INTEGER NOT NULL,
    failed       INTEGER NOT NULL,
    buffer_misses INTEGER NOT NULL,
    read_bytes   INTEGER NOT NULL,
    written_bytes INTEGER NOT NULL,
    batches      TEXT NOT NULL,
    histogram    BLOB NOT NULL,
    PRIMARY KEY (run, clients)
) STRICT, WITHOUT ROWID;

CREATE TABLE latency (
    run         INTEGER NOT NULL REFERENCES run,
    kind        INTEGER NOT NULL,
    name        TEXT NOT NULL,
    committed   INTEGER NOT NULL,
    rolled_back INTEGER NOT NULL,
    deadlocks   INTEGER NOT NULL,
    serialization_failures INTEGER NOT NULL,
    lock_timeouts INTEGER NOT NULL,
    gave_up     INTEGER NOT NULL,
    timed_out   INTEGER NOT NULL,
    lost        INTEGER NOT NULL,
    retries     INTEGER NOT NULL,
    histogram   BLOB NOT NULL,
    PRIMARY KEY (run, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE consistency (
    run             INTEGER NOT NULL REFERENCES run,
    clause          TEXT NOT NULL,
    checked         INTEGER NOT NULL,
    violations      INTEGER NOT NULL,
    first_violation TEXT,
    PRIMARY KEY (run, clause)
) STRICT, WITHOUT ROWID;

CREATE TABLE tree (
    run        INTEGER NOT NULL REFERENCES run,
    name       TEXT NOT NULL,
    calls      INTEGER NOT NULL,
    hits       INTEGER NOT NULL,
    reads      INTEGER NOT NULL,
    read_bytes INTEGER NOT NULL,
    PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    run    INTEGER PRIMARY KEY REFERENCES run,
    audit  TEXT NOT NULL
) STRICT;

CREATE TABLE figures (
    group_name                    TEXT,
    cell                          TEXT,
    is_reference                  INTEGER,
    source                        TEXT,
    database                      TEXT,
    options                       TEXT,
    workload                      TEXT,
    data                          TEXT,
    storage                       TEXT,
    page_size_bytes               INTEGER,
    memory_bytes                  INTEGER,
    cpus                          INTEGER,
    clients                       INTEGER,
    copy                          INTEGER,
    throughput_per_minute         REAL,
    throughput_low                REAL,
    throughput_high               REAL,
    ratio                         REAL,
    ratio_low                     REAL,
    ratio_high                    REAL,
    decision                      TEXT,
    passes_counted                INTEGER,
    p50_us                        INTEGER,
    p99_us                        INTEGER,
    hit_ratio                     REAL,
    misses_per_transaction        REAL,
    read_bytes_per_transaction    REAL,
    written_bytes_per_transaction REAL,
    log_bytes_per_transaction     REAL,
    syncs_per_transaction         REAL,
    device_reads_per_read         REAL,
    mean_response_ms              REAL,
    statements                    TEXT,
    margin                        REAL,
    created                       TEXT,
    octavo                        TEXT,
    p95_us                        INTEGER,
    p999_us                       INTEGER,
    cell_number                   INTEGER,
    reads_per_transaction         REAL,
    writes_per_transaction        REAL,
    storage_path                  TEXT,
    confidence                    TEXT,
    warnings                      TEXT
) STRICT;
