CREATE TABLE par(id int PRIMARY KEY, pad text) ENGINE=InnoDB;
INSERT INTO par SELECT seq, REPEAT('x', 50) FROM seq_1_to_20000;
CREATE TABLE hot(id int PRIMARY KEY, par int NOT NULL, pad text, FOREIGN KEY (par) REFERENCES par(id)) ENGINE=InnoDB;
INSERT INTO hot SELECT seq, seq % 3 + 1, REPEAT('x', 50) FROM seq_1_to_50000;
CREATE TABLE list(id int PRIMARY KEY, pad text, prev int, FOREIGN KEY (prev) REFERENCES list(id)) ENGINE=InnoDB;
INSERT INTO list SELECT seq, REPEAT('x', 100), NULLIF(seq - 1, 0) FROM seq_1_to_20000;
ANALYZE TABLE par, hot, list;
