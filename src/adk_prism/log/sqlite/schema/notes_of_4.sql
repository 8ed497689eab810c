CREATE TABLE notes (
    owner TEXT NOT NULL,
    kind  TEXT NOT NULL,
    key   TEXT NOT NULL,
    time  REAL NOT NULL,
    value BLOB NOT NULL,
    is_of_session INTEGER NOT NULL,
    PRIMARY KEY (owner, kind, key)
) WITHOUT ROWID;
