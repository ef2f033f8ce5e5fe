-- The store's schema as numbered migrations. The build compiles this file in. Opening a store for
-- writing applies the migrations above its PRAGMA user_version (store/migrate.c). Never change a
-- released migration: add a new one at the end.
--
-- Conventions. `id` is the number of a row within this file and means nothing outside it. Content
-- hashes, run keys and texts name things in all stores, so that stores can be merged. A hash is a
-- SHA-256 in hexadecimal, except in blob.hash. Times are seconds since 1970. Enums (status, outcome,
-- …) are stored as texts. NULL means not known. (size, codec, data) is a packed text: its bytes
-- before packing, how it is packed (3: a zstd frame with a checksum, store/blob.c; 0 to 2:
-- store/old_codecs.c), and the packed bytes.

-- migration 1: tasks, runs, attempts, candidates, verdicts, model calls

CREATE TABLE blob (
    id    INTEGER PRIMARY KEY,
    hash  BLOB NOT NULL UNIQUE, -- 32 bytes, of the uncompressed content
    size  INTEGER NOT NULL,
    codec INTEGER NOT NULL,
    data  BLOB NOT NULL
) STRICT;

CREATE TABLE task (
    id         INTEGER PRIMARY KEY,
    hash       TEXT NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    bundle     INTEGER NOT NULL REFERENCES blob,
    created    REAL NOT NULL,
    candidates INTEGER NOT NULL DEFAULT 0 -- counted here: counting a million takes a tenth of a second
) STRICT;
CREATE INDEX task_name ON task (name);

-- Hardware, with a name that is the same on each machine of its kind.
CREATE TABLE device (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE run (
    id       INTEGER PRIMARY KEY,
    key      TEXT NOT NULL UNIQUE, -- what users see: 10 characters, sorts by start
    task     INTEGER NOT NULL REFERENCES task,
    device   INTEGER NOT NULL REFERENCES device,
    options  TEXT NOT NULL,
    seed     TEXT NOT NULL, -- 64 bits, hexadecimal
    status   TEXT NOT NULL,
    host     TEXT NOT NULL, -- where its owner runs
    owner    TEXT NOT NULL, -- "PID START": process and its start time in clock ticks since boot
    started  REAL NOT NULL,
    updated  REAL NOT NULL,
    ended    REAL,
    attempts INTEGER NOT NULL DEFAULT 0,
    judged   INTEGER NOT NULL DEFAULT 0, -- members of its population
    correct  INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX run_task ON run (task, started);
CREATE INDEX run_started ON run (started);

-- Apart from `run`, because it changes with every attempt and may be large.
CREATE TABLE run_state (
    run   INTEGER PRIMARY KEY REFERENCES run,
    size  INTEGER NOT NULL,
    codec INTEGER NOT NULL,
    data  BLOB NOT NULL
) STRICT;

CREATE TABLE candidate (
    id       INTEGER PRIMARY KEY,
    task     INTEGER NOT NULL REFERENCES task,
    hash     TEXT NOT NULL, -- of source and flags
    source   INTEGER NOT NULL REFERENCES blob,
    flags    TEXT NOT NULL, -- JSON array
    tunables TEXT,          -- JSON
    features TEXT,          -- JSON
    created  REAL NOT NULL,
    UNIQUE (task, hash)
) STRICT;

CREATE TABLE verdict (
    id            INTEGER PRIMARY KEY,
    candidate     INTEGER NOT NULL REFERENCES candidate,
    task          INTEGER NOT NULL REFERENCES task, -- the candidate's, for verdict_best
    device        INTEGER NOT NULL REFERENCES device,
    status        TEXT NOT NULL,
    blame         TEXT NOT NULL,
    speedup       REAL, -- with its 95 % interval; only where status is correct
    low           REAL,
    high          REAL,
    reverified    INTEGER NOT NULL,
    standing      INTEGER NOT NULL, -- 1: the one that counts among all on this candidate and device
    binary_hash   TEXT,
    code_hash     TEXT, -- machine code without symbols
    message       TEXT NOT NULL,
    build_seconds REAL,
    judge_seconds REAL,
    created       REAL NOT NULL
) STRICT;
CREATE INDEX verdict_candidate ON verdict (candidate);
CREATE INDEX verdict_code ON verdict (code_hash) WHERE code_hash IS NOT NULL;
CREATE INDEX verdict_best ON verdict (task, device, reverified, speedup DESC, candidate)
    WHERE standing = 1 AND speedup IS NOT NULL;

-- The verdict as the judge wrote it. Apart from `verdict`, so that queries over columns read few pages.
CREATE TABLE verdict_json (
    verdict INTEGER PRIMARY KEY REFERENCES verdict,
    size    INTEGER NOT NULL,
    codec   INTEGER NOT NULL,
    data    BLOB NOT NULL
) STRICT;

-- Raw timings of all workloads in columns (store/sample.c), for statistics without parsing JSON.
CREATE TABLE sample (
    verdict INTEGER PRIMARY KEY REFERENCES verdict,
    count   INTEGER NOT NULL,
    size    INTEGER NOT NULL,
    codec   INTEGER NOT NULL,
    data    BLOB NOT NULL
) STRICT;

CREATE TABLE model_call (
    id                INTEGER PRIMARY KEY,
    run               INTEGER REFERENCES run,
    provider          TEXT NOT NULL,
    model             TEXT NOT NULL,
    purpose           TEXT NOT NULL,
    settings          TEXT, -- JSON
    system            INTEGER REFERENCES blob,
    prompt            INTEGER NOT NULL REFERENCES blob,
    reply             INTEGER REFERENCES blob,
    outcome           TEXT NOT NULL,
    message           TEXT NOT NULL,
    prompt_tokens     INTEGER,
    completion_tokens INTEGER,
    cost_usd          REAL,
    seconds           REAL,
    created           REAL NOT NULL
) STRICT;
CREATE INDEX model_call_run ON model_call (run);

-- All attempts of a run in order, with any outcome.
CREATE TABLE attempt (
    run        INTEGER NOT NULL REFERENCES run,
    number     INTEGER NOT NULL, -- 1, 2, … without gaps
    outcome    TEXT NOT NULL,
    message    TEXT NOT NULL,
    proposer   TEXT NOT NULL,
    strategy   TEXT NOT NULL,
    step       TEXT NOT NULL,
    island     INTEGER NOT NULL,
    model_call INTEGER REFERENCES model_call,
    candidate  INTEGER REFERENCES candidate,
    verdict    INTEGER REFERENCES verdict,
    created    REAL NOT NULL,
    PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE lineage (
    run     INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    ordinal INTEGER NOT NULL, -- 0: the first parent
    child   INTEGER NOT NULL REFERENCES candidate,
    parent  INTEGER NOT NULL REFERENCES candidate,
    role    TEXT NOT NULL,
    PRIMARY KEY (run, attempt, ordinal),
    FOREIGN KEY (run, attempt) REFERENCES attempt
) STRICT, WITHOUT ROWID;
CREATE INDEX lineage_child ON lineage (child);
CREATE INDEX lineage_parent ON lineage (parent);

-- The population of a run: its judged candidates with their standing verdicts. Positions within
-- (run, island, bucket) are dense from 0 to tally.count - 1, so that a uniform draw is one look-up.
CREATE TABLE member (
    run        INTEGER NOT NULL REFERENCES run,
    candidate  INTEGER NOT NULL REFERENCES candidate,
    verdict    INTEGER NOT NULL REFERENCES verdict,
    attempt    INTEGER NOT NULL, -- that brought it in
    island     INTEGER NOT NULL,
    cell       TEXT,
    bucket     INTEGER NOT NULL,
    position   INTEGER NOT NULL,
    score      REAL, -- speedup of the verdict
    reverified INTEGER NOT NULL,
    PRIMARY KEY (run, candidate)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX member_position ON member (run, island, bucket, position);
CREATE INDEX member_best ON member (run, island, reverified, score DESC, candidate) WHERE score IS NOT NULL;
CREATE INDEX member_cell ON member (run, cell, score DESC, candidate)
    WHERE cell IS NOT NULL AND score IS NOT NULL;

CREATE TABLE tally (
    run    INTEGER NOT NULL REFERENCES run,
    island INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    count  INTEGER NOT NULL,
    PRIMARY KEY (run, island, bucket)
) STRICT, WITHOUT ROWID;

-- migration 2: counters, device ceilings and notes

CREATE TABLE counters (
    candidate INTEGER NOT NULL REFERENCES candidate,
    device    INTEGER NOT NULL REFERENCES device,
    size      INTEGER NOT NULL,
    codec     INTEGER NOT NULL,
    data      BLOB NOT NULL, -- JSON
    created   REAL NOT NULL,
    PRIMARY KEY (candidate, device)
) STRICT, WITHOUT ROWID;

CREATE TABLE ceiling (
    device   INTEGER NOT NULL REFERENCES device,
    name     TEXT NOT NULL,
    value    REAL NOT NULL,
    measured REAL NOT NULL,
    PRIMARY KEY (device, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE note (
    id        INTEGER PRIMARY KEY,
    task      INTEGER REFERENCES task,
    run       INTEGER REFERENCES run,
    device    INTEGER REFERENCES device,
    candidate INTEGER REFERENCES candidate,
    kind      TEXT NOT NULL,
    text      TEXT NOT NULL,
    effect    REAL, -- new over old speedup
    created   REAL NOT NULL
) STRICT;
CREATE INDEX note_task ON note (task);

-- migration 3: find candidates that differ only in names and layout

ALTER TABLE candidate ADD COLUMN form TEXT; -- hash of canonical source and flags
CREATE INDEX candidate_form ON candidate (task, form) WHERE form IS NOT NULL;

-- migration 4: verdicts and counters in codec 2, which older versions can't read

-- migration 5: a killed run resumes its pending work: when attempts began, and the prompts of
-- pending calls

ALTER TABLE attempt ADD COLUMN began INTEGER; -- the number that the next attempt of the run had then
CREATE TABLE asked (
    run   INTEGER NOT NULL REFERENCES run,
    tag   INTEGER NOT NULL, -- of the call, as in the run's state
    size  INTEGER NOT NULL,
    codec INTEGER NOT NULL,
    data  BLOB NOT NULL, -- the prompt
    PRIMARY KEY (run, tag)
) STRICT, WITHOUT ROWID;

-- migration 6: texts get a checksum (codec 3). From here to migration 7 store/migrate.c re-encodes
-- them, and a store may hold old and new codecs.

-- migration 7: all texts are re-encoded

-- migration 8: verdicts that older versions took from another text. Their hash of machine code left
-- out parts of the file, and a canonical source counted without its binary. The attempts keep the
-- verdict's id, and no query counts it.

-- 1: the verdict is another text's
ALTER TABLE attempt ADD COLUMN unverified INTEGER NOT NULL DEFAULT 0;
CREATE TABLE first_use AS SELECT candidate, min(created) AS created FROM attempt
    WHERE candidate IS NOT NULL GROUP BY candidate;
CREATE UNIQUE INDEX first_use_candidate ON first_use (candidate);
UPDATE attempt SET unverified = 1,
    message = 'its verdict is that of another text: an older kforge compared less than the whole binary'
    WHERE verdict IS NOT NULL AND (outcome = 'same_code'
        OR (model_call IS NOT NULL AND outcome IN ('judged', 'known') AND EXISTS
            (SELECT 1 FROM candidate c JOIN first_use f ON f.candidate = c.id
                WHERE c.id = attempt.candidate AND c.form IS NOT NULL
                AND (f.created < attempt.created OR c.created < attempt.created - 1))));
DROP TABLE first_use;
UPDATE member SET score = NULL WHERE score IS NOT NULL
    AND candidate <> (SELECT candidate FROM verdict WHERE id = member.verdict);

-- migration 9: sums over the rows of each table (store/row_sums.c), which store/migrate.c fills

CREATE TABLE table_sum (
    name TEXT PRIMARY KEY, -- of the table
    rows INTEGER NOT NULL,
    sum  INTEGER NOT NULL -- of the hashes of its rows, modulo 2^64
) STRICT, WITHOUT ROWID;
