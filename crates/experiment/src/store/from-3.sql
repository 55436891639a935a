ALTER TABLE plan ADD COLUMN slice_transactions INTEGER;
ALTER TABLE plan ADD COLUMN horizon TEXT;
ALTER TABLE plan DROP COLUMN length;

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
    PRIMARY KEY (run, pass)
) STRICT, WITHOUT ROWID;

INSERT INTO slice
SELECT run, 0, position, transactions, counted, measured_s,
       NULL, NULL, NULL, NULL, NULL,
       coalesce(json_extract(counters, '$.buffer_misses'), 0),
       coalesce(json_extract(counters, '$.log_written_bytes'), 0), NULL
FROM run WHERE set_aside = 0 AND steady = 1 AND measured_s > 0;

ALTER TABLE run DROP COLUMN position;
ALTER TABLE run DROP COLUMN phase;
ALTER TABLE run RENAME COLUMN round TO sitting;

DROP TABLE sample;
