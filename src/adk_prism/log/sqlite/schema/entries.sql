CREATE TABLE entries (
    run     INTEGER NOT NULL,
    cursor  INTEGER NOT NULL,
    time    REAL NOT NULL,
    kind    TEXT NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (run, cursor)
) WITHOUT ROWID;
CREATE TABLE tombstones (
    number INTEGER PRIMARY KEY,
    run    TEXT NOT NULL UNIQUE
);
