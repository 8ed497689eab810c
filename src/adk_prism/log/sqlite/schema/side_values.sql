CREATE TABLE side_values (
    owner TEXT NOT NULL,
    space TEXT NOT NULL,
    key   TEXT NOT NULL,
    time  REAL NOT NULL,
    value BLOB NOT NULL,
    is_of_session INTEGER NOT NULL,
    PRIMARY KEY (owner, space, key)
) WITHOUT ROWID;
CREATE INDEX session_values_by_space ON side_values (space, owner) WHERE is_of_session;
