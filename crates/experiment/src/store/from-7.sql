ALTER TABLE slice ADD COLUMN response_s REAL;
