ALTER TABLE figures ADD COLUMN reads_per_transaction  REAL;
ALTER TABLE figures ADD COLUMN writes_per_transaction REAL;
ALTER TABLE figures ADD COLUMN storage_path           TEXT;
ALTER TABLE figures ADD COLUMN confidence             TEXT;
ALTER TABLE figures ADD COLUMN warnings               TEXT;
