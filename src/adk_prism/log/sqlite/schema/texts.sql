CREATE TABLE piece_sessions (
    number  INTEGER PRIMARY KEY,
    app     TEXT NOT NULL,
    user    TEXT NOT NULL,
    session TEXT NOT NULL,
    bytes   INTEGER NOT NULL DEFAULT 0,
    UNIQUE (app, user, session)
);
CREATE TABLE pieces (
    number  INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL,
    digest  BLOB NOT NULL,
    payload BLOB NOT NULL
);
CREATE UNIQUE INDEX pieces_by_digest ON pieces (session, digest);
