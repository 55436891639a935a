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
