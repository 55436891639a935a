ALTER TABLE snapshot ADD COLUMN log_bytes INTEGER;
ALTER TABLE snapshot ADD COLUMN origin_bytes INTEGER;
ALTER TABLE snapshot ADD COLUMN origin_s REAL;
