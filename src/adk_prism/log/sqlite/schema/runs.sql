CREATE TABLE runs (
    number     INTEGER PRIMARY KEY,
    run        TEXT NOT NULL UNIQUE,
    app        TEXT NOT NULL,
    user       TEXT NOT NULL,
    session    TEXT NOT NULL,
    invocation TEXT NOT NULL,
    message    TEXT NOT NULL,
    started    REAL NOT NULL,
    epoch      INTEGER NOT NULL,
    ended      REAL,
    outcome    TEXT,
    cursor     INTEGER NOT NULL DEFAULT 0,
    bytes      INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX runs_by_session ON runs (app, user, session);
