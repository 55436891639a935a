-- Rows that lie at odds with their foreign keys.
CREATE TABLE par(id int PRIMARY KEY, pad text);
INSERT INTO par SELECT i, repeat('x', 50) FROM generate_series(1, 20000) i;
CREATE TABLE hot(id int PRIMARY KEY, par int NOT NULL REFERENCES par, pad text);
INSERT INTO hot SELECT i, i % 3 + 1, repeat('x', 50) FROM generate_series(1, 50000) i;
CREATE TABLE list(id int PRIMARY KEY, pad text, prev int REFERENCES list);
INSERT INTO list SELECT i, repeat('x', 100), nullif(i - 1, 0) FROM generate_series(1, 20000) i;
