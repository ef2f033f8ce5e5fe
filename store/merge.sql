-- Merging store `src` (attached) into `main`: a union by content, in SQL over maps from ids there to
-- ids here. store/merge.c runs the sections in order, inside one transaction.
-- include/kforge/store_maintenance.h describes the result.
--
-- Each map_… holds (src, dst, fresh). Rows that `main` has already are mapped first. The others get
-- the next free ids, in their own order. Foreign keys are not enforced: every reference goes through
-- a map, and kf_equal fails if a row that a map promises is missing, because then the source is
-- damaged.

-- section maps
DROP TABLE IF EXISTS temp.map_device; DROP TABLE IF EXISTS temp.map_blob; DROP TABLE IF EXISTS temp.map_task;
DROP TABLE IF EXISTS temp.map_candidate; DROP TABLE IF EXISTS temp.map_verdict; DROP TABLE IF EXISTS temp.map_call;
DROP TABLE IF EXISTS temp.map_run; DROP TABLE IF EXISTS temp.known_call;
CREATE TEMP TABLE map_device (src INTEGER PRIMARY KEY, dst INTEGER NOT NULL);
CREATE TEMP TABLE map_blob (src INTEGER PRIMARY KEY, dst INTEGER NOT NULL, fresh INTEGER NOT NULL);
CREATE TEMP TABLE map_task (src INTEGER PRIMARY KEY, dst INTEGER NOT NULL, fresh INTEGER NOT NULL);
CREATE TEMP TABLE map_candidate (src INTEGER PRIMARY KEY, dst INTEGER NOT NULL, fresh INTEGER NOT NULL);
CREATE TEMP TABLE map_verdict (src INTEGER PRIMARY KEY, dst INTEGER NOT NULL, fresh INTEGER NOT NULL);
CREATE TEMP TABLE map_call (src INTEGER PRIMARY KEY, dst INTEGER NOT NULL, fresh INTEGER NOT NULL);
CREATE TEMP TABLE map_run (src INTEGER PRIMARY KEY, dst INTEGER NOT NULL, fresh INTEGER NOT NULL, copy INTEGER NOT NULL);

-- section content
INSERT INTO main.device (name) SELECT name FROM src.device WHERE name NOT IN (SELECT name FROM main.device) ORDER BY name;
INSERT INTO map_device SELECT s.id, m.id FROM src.device s JOIN main.device m ON m.name = s.name;

INSERT INTO map_blob SELECT s.id, m.id, 0 FROM src.blob s JOIN main.blob m ON m.hash = s.hash;
INSERT INTO map_blob SELECT id, (SELECT coalesce(max(id), 0) FROM main.blob) + row_number() OVER (ORDER BY id), 1
  FROM src.blob WHERE id NOT IN (SELECT src FROM map_blob);
INSERT INTO main.blob (id, hash, size, codec, data) SELECT b.dst, s.hash, s.size, s.codec, kf_sound(s.hash, s.size, s.codec, s.data)
  FROM map_blob b CROSS JOIN src.blob s ON s.id = b.src WHERE b.fresh ORDER BY b.src;

INSERT INTO map_task SELECT s.id, m.id, 0 FROM src.task s JOIN main.task m ON m.hash = s.hash;
INSERT INTO map_task SELECT id, (SELECT coalesce(max(id), 0) FROM main.task) + row_number() OVER (ORDER BY id), 1
  FROM src.task WHERE id NOT IN (SELECT src FROM map_task);
INSERT INTO main.task (id, hash, name, bundle, created) SELECT t.dst, s.hash, s.name, b.dst, s.created
  FROM map_task t CROSS JOIN src.task s ON s.id = t.src CROSS JOIN map_blob b ON b.src = s.bundle WHERE t.fresh ORDER BY t.src;
SELECT kf_equal(changes(), (SELECT count(*) FROM map_task WHERE fresh));
UPDATE main.task AS m SET created = min(m.created, s.created), name = min(m.name, s.name) FROM map_task t, src.task s
  WHERE t.dst = m.id AND s.id = t.src AND NOT t.fresh AND (s.created < m.created OR s.name < m.name);

INSERT INTO map_candidate SELECT s.id, m.id, 0 FROM src.candidate s CROSS JOIN map_task t ON t.src = s.task
  CROSS JOIN main.candidate m ON m.task = t.dst AND m.hash = s.hash WHERE NOT t.fresh;
INSERT INTO map_candidate SELECT id, (SELECT coalesce(max(id), 0) FROM main.candidate) + row_number() OVER (ORDER BY id), 1
  FROM src.candidate WHERE id NOT IN (SELECT src FROM map_candidate);
INSERT INTO main.candidate (id, task, hash, source, flags, tunables, features, created, form)
  SELECT c.dst, t.dst, s.hash, b.dst, s.flags, s.tunables, s.features, s.created, s.form FROM map_candidate c CROSS JOIN src.candidate s ON s.id = c.src
  CROSS JOIN map_task t ON t.src = s.task CROSS JOIN map_blob b ON b.src = s.source WHERE c.fresh ORDER BY c.src;
SELECT kf_equal(changes(), (SELECT count(*) FROM map_candidate WHERE fresh));
UPDATE main.candidate AS m SET created = min(m.created, s.created),
    tunables = nullif(max(coalesce(m.tunables, ''), coalesce(s.tunables, '')), ''),
    features = nullif(max(coalesce(m.features, ''), coalesce(s.features, '')), ''),
    form = nullif(max(coalesce(m.form, ''), coalesce(s.form, '')), '')
  FROM map_candidate c, src.candidate s WHERE c.dst = m.id AND s.id = c.src AND NOT c.fresh
  AND (s.created < m.created OR coalesce(s.tunables, '') > coalesce(m.tunables, '') OR coalesce(s.features, '') > coalesce(m.features, '')
  OR coalesce(s.form, '') > coalesce(m.form, ''));
UPDATE main.task AS t SET candidates = candidates + n.more FROM (SELECT m.task AS task, count(*) AS more FROM map_candidate c
  CROSS JOIN main.candidate m ON m.id = c.dst WHERE c.fresh GROUP BY m.task) n WHERE n.task = t.id;

INSERT OR IGNORE INTO map_verdict SELECT s.id, m.id, 0 FROM map_candidate c CROSS JOIN src.verdict s ON s.candidate = c.src
  CROSS JOIN map_device d ON d.src = s.device CROSS JOIN main.verdict m ON m.candidate = c.dst AND m.device = d.dst AND m.created = s.created
  AND m.status = s.status AND m.speedup IS s.speedup AND m.reverified = s.reverified WHERE NOT c.fresh;
INSERT INTO map_verdict SELECT id, (SELECT coalesce(max(id), 0) FROM main.verdict) + row_number() OVER (ORDER BY id), 1
  FROM src.verdict WHERE id NOT IN (SELECT src FROM map_verdict);
INSERT INTO main.verdict (id, candidate, task, device, status, blame, speedup, low, high, reverified, standing, binary_hash, code_hash, message,
    build_seconds, judge_seconds, created)
  SELECT v.dst, c.dst, t.dst, d.dst, s.status, s.blame, s.speedup, s.low, s.high, s.reverified, s.standing AND c.fresh, s.binary_hash, s.code_hash,
    s.message, s.build_seconds, s.judge_seconds, s.created FROM map_verdict v CROSS JOIN src.verdict s ON s.id = v.src
  CROSS JOIN map_candidate c ON c.src = s.candidate CROSS JOIN map_task t ON t.src = s.task CROSS JOIN map_device d ON d.src = s.device
  WHERE v.fresh ORDER BY v.src;
SELECT kf_equal(changes(), (SELECT count(*) FROM map_verdict WHERE fresh));
INSERT INTO main.verdict_json (verdict, size, codec, data) SELECT v.dst, s.size, s.codec, kf_sound(NULL, s.size, s.codec, s.data) FROM map_verdict v
  CROSS JOIN src.verdict_json s ON s.verdict = v.src WHERE v.fresh ORDER BY v.src;
-- One of two copies may have lost its raw samples (vacuum): the fuller one stays.
UPDATE main.verdict_json AS m SET size = s.size, codec = s.codec, data = s.data FROM map_verdict v, src.verdict_json s
  WHERE v.dst = m.verdict AND s.verdict = v.src AND NOT v.fresh AND s.size > m.size;
INSERT OR IGNORE INTO main.sample (verdict, count, size, codec, data) SELECT v.dst, s.count, s.size, s.codec, s.data FROM map_verdict v
  CROSS JOIN src.sample s ON s.verdict = v.src ORDER BY v.src;

INSERT INTO main.counters (candidate, device, size, codec, data, created)
  SELECT c.dst, d.dst, s.size, s.codec, s.data, s.created FROM src.counters s CROSS JOIN map_candidate c ON c.src = s.candidate
  CROSS JOIN map_device d ON d.src = s.device WHERE true
  ON CONFLICT DO UPDATE SET size = excluded.size, codec = excluded.codec, data = excluded.data, created = excluded.created
  WHERE excluded.created > created OR (excluded.created = created AND excluded.data > data);
INSERT INTO main.ceiling (device, name, value, measured) SELECT d.dst, s.name, s.value, s.measured FROM src.ceiling s
  JOIN map_device d ON d.src = s.device WHERE true
  ON CONFLICT DO UPDATE SET value = excluded.value, measured = excluded.measured
  WHERE excluded.measured > measured OR (excluded.measured = measured AND excluded.value > value);

-- section runs
INSERT INTO map_run SELECT s.id, m.id, 0, 0 FROM src.run s JOIN main.run m ON m.key = s.key;
INSERT INTO map_run SELECT id, (SELECT coalesce(max(id), 0) FROM main.run) + row_number() OVER (ORDER BY id), 1, 1
  FROM src.run WHERE id NOT IN (SELECT src FROM map_run);
INSERT INTO main.run (id, key, task, device, options, seed, status, host, owner, started, updated, ended, attempts, judged, correct)
  SELECT r.dst, s.key, t.dst, d.dst, s.options, s.seed, s.status, s.host, s.owner, s.started, s.updated, s.ended, s.attempts, s.judged, s.correct
  FROM map_run r CROSS JOIN src.run s ON s.id = r.src CROSS JOIN map_task t ON t.src = s.task CROSS JOIN map_device d ON d.src = s.device
  WHERE r.fresh ORDER BY r.src;
SELECT kf_equal(changes(), (SELECT count(*) FROM map_run WHERE fresh));

-- section history
CREATE TEMP TABLE known_call AS SELECT m.id, m.run, m.created, m.prompt, m.reply, m.model, m.purpose, m.outcome FROM main.model_call m
  WHERE m.run IN (SELECT dst FROM map_run WHERE NOT fresh) OR m.run IS NULL;
CREATE INDEX temp.known_call_created ON known_call (created, prompt);
INSERT OR IGNORE INTO map_call SELECT s.id, k.id, 0 FROM src.model_call s CROSS JOIN map_blob p ON p.src = s.prompt LEFT JOIN map_run r ON r.src = s.run
  LEFT JOIN map_blob a ON a.src = s.reply CROSS JOIN known_call k ON k.created = s.created AND k.prompt = p.dst AND k.run IS r.dst
  AND k.reply IS a.dst AND k.model = s.model AND k.purpose = s.purpose AND k.outcome = s.outcome;
INSERT INTO map_call SELECT id, (SELECT coalesce(max(id), 0) FROM main.model_call) + row_number() OVER (ORDER BY id), 1
  FROM src.model_call WHERE id NOT IN (SELECT src FROM map_call);
INSERT INTO main.model_call (id, run, provider, model, purpose, settings, system, prompt, reply, outcome, message, prompt_tokens, completion_tokens,
    cost_usd, seconds, created)
  SELECT c.dst, r.dst, s.provider, s.model, s.purpose, s.settings, y.dst, p.dst, a.dst, s.outcome, s.message, s.prompt_tokens, s.completion_tokens,
    s.cost_usd, s.seconds, s.created FROM map_call c CROSS JOIN src.model_call s ON s.id = c.src CROSS JOIN map_blob p ON p.src = s.prompt
  LEFT JOIN map_run r ON r.src = s.run LEFT JOIN map_blob y ON y.src = s.system LEFT JOIN map_blob a ON a.src = s.reply
  WHERE c.fresh ORDER BY c.src;
SELECT kf_equal(changes(), (SELECT count(*) FROM map_call WHERE fresh));

DELETE FROM main.lineage WHERE run IN (SELECT dst FROM map_run WHERE copy AND NOT fresh);
DELETE FROM main.attempt WHERE run IN (SELECT dst FROM map_run WHERE copy AND NOT fresh);
DELETE FROM main.member WHERE run IN (SELECT dst FROM map_run WHERE copy AND NOT fresh);
DELETE FROM main.tally WHERE run IN (SELECT dst FROM map_run WHERE copy AND NOT fresh);
DELETE FROM main.asked WHERE run IN (SELECT dst FROM map_run WHERE copy AND NOT fresh);
DELETE FROM main.run_state WHERE run IN (SELECT dst FROM map_run WHERE copy AND NOT fresh);
UPDATE main.run AS m SET options = s.options, seed = s.seed, status = s.status, host = s.host, owner = s.owner, started = s.started,
    updated = s.updated, ended = s.ended, attempts = s.attempts, judged = s.judged, correct = s.correct
  FROM map_run r, src.run s WHERE r.dst = m.id AND s.id = r.src AND r.copy AND NOT r.fresh;

INSERT INTO main.attempt (run, number, outcome, message, proposer, strategy, step, island, model_call, candidate,
    verdict, began, created, unverified)
  SELECT r.dst, s.number, s.outcome, s.message, s.proposer, s.strategy, s.step, s.island, m.dst, c.dst,
    v.dst, s.began, s.created, s.unverified
  FROM map_run r CROSS JOIN src.attempt s ON s.run = r.src LEFT JOIN map_call m ON m.src = s.model_call
  LEFT JOIN map_candidate c ON c.src = s.candidate LEFT JOIN map_verdict v ON v.src = s.verdict WHERE r.copy ORDER BY r.dst, s.number;
INSERT INTO main.lineage (run, attempt, ordinal, child, parent, role) SELECT r.dst, s.attempt, s.ordinal, c.dst, p.dst, s.role
  FROM map_run r CROSS JOIN src.lineage s ON s.run = r.src CROSS JOIN src.attempt a ON a.run = s.run AND a.number = s.attempt
  CROSS JOIN map_candidate c ON c.src = s.child
  CROSS JOIN map_candidate p ON p.src = s.parent WHERE r.copy ORDER BY r.dst, s.attempt, s.ordinal;
INSERT INTO main.member (run, candidate, verdict, attempt, island, cell, bucket, position, score, reverified)
  SELECT r.dst, c.dst, v.dst, s.attempt, s.island, s.cell, s.bucket, s.position, s.score, s.reverified
  FROM map_run r CROSS JOIN src.member s ON s.run = r.src CROSS JOIN map_candidate c ON c.src = s.candidate
  CROSS JOIN map_verdict v ON v.src = s.verdict WHERE r.copy;
INSERT INTO main.tally (run, island, bucket, count) SELECT r.dst, s.island, s.bucket, s.count FROM map_run r
  CROSS JOIN src.tally s ON s.run = r.src WHERE r.copy;
INSERT INTO main.run_state (run, size, codec, data) SELECT r.dst, s.size, s.codec, s.data FROM map_run r
  CROSS JOIN src.run_state s ON s.run = r.src WHERE r.copy;
INSERT INTO main.asked (run, tag, size, codec, data) SELECT r.dst, s.tag, s.size, s.codec, s.data FROM map_run r
  CROSS JOIN src.asked s ON s.run = r.src WHERE r.copy;

INSERT INTO main.note (task, run, device, candidate, kind, text, effect, created)
  SELECT t.dst, r.dst, d.dst, c.dst, s.kind, s.text, s.effect, s.created FROM src.note s LEFT JOIN map_task t ON t.src = s.task
  LEFT JOIN map_run r ON r.src = s.run LEFT JOIN map_device d ON d.src = s.device LEFT JOIN map_candidate c ON c.src = s.candidate
  WHERE NOT EXISTS (SELECT 1 FROM main.note m WHERE m.task IS t.dst AND m.run IS r.dst AND m.device IS d.dst AND m.candidate IS c.dst
    AND m.kind = s.kind AND m.text = s.text AND m.effect IS s.effect AND m.created = s.created) ORDER BY s.id;
