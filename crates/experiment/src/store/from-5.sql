ALTER TABLE run ADD COLUMN warm_up_failed INTEGER;
ALTER TABLE run ADD COLUMN ended_early TEXT;
ALTER TABLE run ADD COLUMN unchecked TEXT;
UPDATE run SET warm_up_failed = 0 WHERE failure IS NULL;
