\set c random(1, 53100)
\set t random(1, 3503)
\set i random(1, 370800)
SELECT InvoiceId, Total FROM Invoice WHERE CustomerId = :c;
SELECT l.TrackId, l.Quantity, t.Name FROM InvoiceLine AS l JOIN Track AS t ON t.TrackId = l.TrackId WHERE l.InvoiceId = :i;
BEGIN;
INSERT INTO Invoice(CustomerId, InvoiceDate, Total) VALUES (:c, '2026-11-27', 3.96);
INSERT INTO InvoiceLine(InvoiceId, TrackId, UnitPrice, Quantity) VALUES (last_insert_rowid(), :t, 0.99, 1);
UPDATE Invoice SET Total = Total + 1 WHERE InvoiceId = :i;
END;
