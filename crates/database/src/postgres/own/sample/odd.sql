-- Rows that lie at odds with their foreign keys.
CREATE TABLE par(id int PRIMARY KEY, pad text);
INSERT INTO par SELECT i, repeat('x', 50) FROM generate_series(1, 20000) i;
CREATE TABLE hot(id int PRIMARY KEY, par int NOT NULL REFERENCES par, pad text);
INSERT INTO hot SELECT i, i % 3 + 1, repeat('x', 50) FROM generate_series(1, 50000) i;
CREATE TABLE list(id int PRIMARY KEY, pad text, prev int REFERENCES list);
INSERT INTO list SELECT i, repeat('x', 100), nullif(i - 1, 0) FROM generate_series(1, 20000) i;
CREATE TABLE orphans(id int PRIMARY KEY, par int NOT NULL, pad text);
INSERT INTO orphans SELECT i, i + (1 - i % 2) * 100000, repeat('x', 50) FROM generate_series(1, 20000) i;
ALTER TABLE orphans ADD FOREIGN KEY (par) REFERENCES par NOT VALID;
CREATE TABLE parts(half int NOT NULL, id int NOT NULL, par int, PRIMARY KEY (half, id)) PARTITION BY LIST (half);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2);
ALTER TABLE parts_1 ALTER par SET NOT NULL, ADD FOREIGN KEY (par) REFERENCES par;
INSERT INTO parts SELECT i % 2 + 1, i, CASE i % 2 WHEN 0 THEN i ELSE 100000 + i END FROM generate_series(1, 20000) i;
