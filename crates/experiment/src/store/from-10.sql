CREATE TABLE tree (
    run        INTEGER NOT NULL REFERENCES run,
    name       TEXT NOT NULL,
    calls      INTEGER NOT NULL,
    hits       INTEGER NOT NULL,
    reads      INTEGER NOT NULL,
    read_bytes INTEGER NOT NULL,
    PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;
