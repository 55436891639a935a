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
