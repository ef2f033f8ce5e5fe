#!/bin/bash
# kforge export, what a trainer relies on: near-duplicates never displace a label, several stores in any order give the same rows, nothing of held-out tasks
# is in training rows, a run that writes meanwhile does not show, the card makes the data set again.
source "$(dirname "$0")/lib.sh"
data=$bin/../tests/make_dataset
"$data" d.db "$root/tasks" >/dev/null || fail make_dataset
export KFORGE_STORE=$work/d.db

# rows NAME EXPRESSION: python on the rows of NAME as `r`.
rows() {
    python3 -c 'import json, sys; r = [json.loads(l) for l in open(sys.argv[1])]; sys.exit(0 if eval(sys.argv[2]) else 1)' "$1" "$2" || fail "not so: $2 of $1"
}
# sql STORE STATEMENT…
sql() {
    python3 -c 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); [c.execute(s) for s in sys.argv[2:]]; c.commit(); assert c.total_changes > 0' "$@" || fail "sql: $*"
}

# ---- near-duplicates: attempt 12 is attempt 5 in another layout, with machine code of the same hash ----
fifth="select verdict from attempt where number = 5"
kept() { # kept STORE FORMAT OPTION…: is attempt 12 in the rows of each task?
    local store=$1 format=$2
    shift 2
    expect 0 export --store "$store" --format "$format" --dedup on "$@" -o kept.jsonl --force
    rows kept.jsonl 'len({x["task"] for x in r if "/12\"" in json.dumps([x.get("ids"), x.get("chosen_id"), x.get("run") + "/%d" % x["attempt"]])}) == 3'
}
# … of which 5 is the machine's fault
cp d.db fault.db
sql fault.db "update verdict set status = 'interference', blame = 'machine', speedup = null, low = null, high = null where id in ($fifth)"
for format in sft kto contrast multiturn raw; do kept fault.db $format; done
kept fault.db dpo --group task --pairs 100
kept fault.db grpo --group task
# … of which 5 is filtered
cp d.db slow.db
sql slow.db "update verdict set speedup = 0.9, low = 0.8, high = 1.1 where id in ($fifth)"
for format in sft kto contrast multiturn raw; do kept slow.db $format --only faster; done
kept slow.db dpo --group task --only faster --margin 1 --pairs 100
kept slow.db grpo --group task --only faster
# … of which 5 shows code of a held-out task
cp d.db leak.db
sql leak.db "update model_call set prompt = (select p.prompt from attempt a join model_call p on p.id = a.model_call join run r on r.id = a.run join task t on
    t.id = r.task where a.number = 2 and t.name = 'gemv') where id in (select model_call from attempt where number = 5)"
held() {
    local format=$1
    shift
    expect 0 export --store leak.db --format "$format" --dedup on --held-out row_softmax "$@" -o kept.jsonl --force
    rows kept.jsonl 'len({x["task"] for x in r if "/12\"" in json.dumps([x.get("ids"), x.get("chosen_id"), x.get("run") + "/%d" % x["attempt"]])}) == 2'
}
for format in sft kto contrast multiturn raw; do held $format; done
held dpo --group task --pairs 100
held grpo --group task
# … of which 5 was judged on other hardware, where its label is another one
cp d.db other.db
sql other.db "insert into device (name) values ('cuda Other GPU')" "update verdict set device = (select max(id) from device) where id in ($fifth)"
kept other.db sft
# … in a group that is no row: alone with its prompt, it takes no place in the group of 12
cp d.db alone.db
sql alone.db "update model_call set prompt = (select max(id) from blob) where id in (select model_call from attempt where number = 5)" \
    "update model_call set prompt = (select m.prompt from attempt a join model_call m on m.id = a.model_call where a.number = 12 and a.run = model_call.run)
     where id in (select model_call from attempt where number in (9, 10))"
for format in dpo grpo; do kept alone.db $format; done

# ---- labels ----
# What another run, an eval or another store found out of a candidate stands everywhere
cp d.db convict.db
sql convict.db "insert into verdict (candidate, task, device, status, blame, reverified, standing, message, created)
    select candidate, task, device, 'cheating', 'candidate', 0, 1, 'found out', created + 1000 from verdict where id in ($fifth)" \
    "update verdict set standing = 0 where id in ($fifth)"
expect 0 export --store convict.db --format kto -o convict.jsonl
rows convict.jsonl 'sum(x["attempt"] == 5 for x in r) == 3 and all(x["status"] == "cheating" and not x["label"] for x in r if x["attempt"] == 5)'
expect 0 export --store convict.db --format contrast -o convict.jsonl --force
rows convict.jsonl '{e["status"] for x in r if x["attempt"] == 9 for e in x["exemplars"] if e["role"] == "base"} == {"cheating"}'
# A reply that was cut off is nothing to imitate, whatever its code is worth
cp d.db cut.db
sql cut.db "update model_call set outcome = 'truncated' where id in (select model_call from attempt where number = 9)"
for format in sft kto; do
    expect 0 export --store cut.db --format $format -o cut.jsonl --force
    rows cut.jsonl 'len(r) > 0 and not any(x["attempt"] == 9 for x in r)'
done
expect 0 export --store cut.db --format dpo --group task --pairs 100 -o cut.jsonl --force
rows cut.jsonl 'len(r) > 0 and not any(x["chosen_id"].endswith("/9") for x in r)'
# Replies without a significant difference have no advantage over each other. Results from different
# hardware are not compared.
expect 0 export --format grpo --only correct -o noise.jsonl
rows noise.jsonl 'any(x["speedups"] == [1.5, 1.505] for x in r) and all(x["advantages"] == [0, 0] for x in r if x["speedups"] == [1.5, 1.505])'
expect 0 export --format grpo --only correct --no-significant -o noise.jsonl --force
rows noise.jsonl 'all(abs(x["advantages"][1] - 1) < 1e-6 for x in r if x["speedups"] == [1.5, 1.505])'
for format in dpo grpo; do
    expect 0 export --store other.db --format $format --group task --pairs 100 -o two.jsonl --force
    rows two.jsonl 'len(r) > 0 and not any("/5\"" in json.dumps([x.get("ids"), x.get("chosen_id"), x.get("rejected_id")]) for x in r)'
done
# A turn without a label does not count: the chain begins after it, and its parent is a leaf again.
expect 0 export --store fault.db --format multiturn -o chain.jsonl
rows chain.jsonl 'not {5, 11} & {int(i.split("/")[1]) for x in r for i in x["ids"]}'
rows chain.jsonl '{x["attempt"]: x["turns"] for x in r} == {3: 1, 4: 1, 6: 2, 7: 1, 8: 1, 9: 1, 10: 1, 12: 1}'
cp d.db leaf.db
sql leaf.db "update verdict set status = 'interference', blame = 'machine', speedup = null, low = null, high = null where id in (select verdict from attempt where number in (6, 8, 9, 10, 12))"
expect 0 export --store leaf.db --format multiturn -o chain.jsonl --force
rows chain.jsonl '{x["attempt"]: x["turns"] for x in r} == {3: 1, 4: 1, 5: 2, 7: 1}'

# ---- several stores ----
"$data" a.db "$root/tasks" axpy gemv >/dev/null
"$data" b.db "$root/tasks" row_softmax gemv axpy >/dev/null
cp -r "$root/tasks/axpy" axpy # a task of the same name and another content
python3 -c 'import json; t = json.load(open("axpy/task.json")); t["description"] += " Another."; json.dump(t, open("axpy/task.json", "w"))'
ln -s "$root/tasks/row_softmax" row_softmax
"$data" c.db "$work" axpy >/dev/null
for format in raw sft dpo kto grpo contrast multiturn cassette "raw --dedup on" "dpo --group task" "grpo --group task"; do
    # shellcheck disable=SC2086
    expect 0 export --format $format a.db b.db c.db -o one.jsonl --force
    # shellcheck disable=SC2086
    expect 0 export --format $format c.db b.db a.db b.db -o two.jsonl --force
    [ -s one.jsonl ] && cmp -s one.jsonl two.jsonl || fail "$format depends on the order of the stores"
done
expect 0 export a.db c.db -o clash.jsonl
rows clash.jsonl 'len({x["task_hash"] for x in r if x["task"] == "axpy"}) == 2'
for order in "a.db c.db" "c.db a.db"; do
    # shellcheck disable=SC2086
    expect 0 export --task axpy $order -o "clash-${order%% *}.jsonl"
done
cmp -s clash-a.db.jsonl clash-c.db.jsonl || fail "the task that a name means depends on the order"
rows clash-a.db.jsonl 'len({x["task_hash"] for x in r}) == 1'
hash=$(python3 -c 'import sqlite3; print(sqlite3.connect("a.db").execute("select hash from task where name = \"axpy\"").fetchone()[0])')
expect 0 export --task "$hash" a.db c.db -o clash.jsonl --force
rows clash.jsonl '{x["task_hash"] for x in r} == {"'"$hash"'"} and len(r) > 0'

# ---- held-out tasks ----
# Not its baseline but a candidate of it, with its own lines, in a prompt on another task
cp d.db candidate.db
python3 - <<'END'
import hashlib, sqlite3
c = sqlite3.connect("candidate.db")
def blob(text):
    c.execute("insert into blob (hash, size, codec, data) values (?, ?, 0, ?)", (hashlib.sha256(text).digest(), len(text), text))
    return c.execute("select last_insert_rowid()").fetchone()[0]
own = b"".join(b"    float mine_%d = shared_%d[threadIdx.x] * 0.25f + other[%d];\n" % (i, i, i) for i in range(8))
(soft,) = c.execute("select c.id from candidate c join task t on t.id = c.task join attempt a on a.candidate = c.id where t.name = 'row_softmax' and a.number = 9").fetchone()
c.execute("update candidate set source = ? where id = ?", (blob(b"// another way\n" + own), soft))
(call,) = c.execute("select a.model_call from attempt a join run r on r.id = a.run join task t on t.id = r.task where t.name = 'axpy' and a.number = 3").fetchone()
c.execute("update model_call set prompt = ? where id = ?", (blob(b"What helped elsewhere:\n" + own.replace(b"    ", b"\t") + b"Try it.\n"), call))
# … and in the source of an edit, which neither prompt nor reply holds
(edit,) = c.execute("select c.id from candidate c join task t on t.id = c.task join attempt a on a.candidate = c.id where t.name = 'axpy' and a.number = 10").fetchone()
c.execute("update candidate set source = ? where id = ?", (blob(b"// edited\n" + own), edit))
c.commit()
END
for format in sft raw "dpo --group task --pairs 100" contrast; do
    # shellcheck disable=SC2086
    expect 0 export --store candidate.db --format $format -o x.jsonl --force
    rows x.jsonl '"mine_3" in json.dumps([x for x in r if x["task"] == "axpy"])'
    # shellcheck disable=SC2086
    expect 0 export --store candidate.db --format $format --held-out row_softmax -o x.jsonl --force
    rows x.jsonl 'len(r) > 0 and "mine_3" not in json.dumps(r) and "row_softmax" not in json.dumps(r)'
    [[ $err == *"with code of test or held-out tasks"* ]] || fail "$format: $err"
done
# Tasks that say so themselves
mkdir own
cp -r "$root"/tasks/{axpy,gemv,row_softmax} own
python3 -c 'import json; t = json.load(open("own/row_softmax/task.json")); t["held_out"] = True; json.dump(t, open("own/row_softmax/task.json", "w"))'
"$data" own.db own >/dev/null || fail "make_dataset: held_out"
for format in raw sft dpo; do
    expect 0 export --store own.db --format $format -o x.jsonl --force
    rows x.jsonl 'len(r) > 0 and "row_softmax" not in json.dumps(r)'
    expect 0 export --store own.db --format $format --include-held-out --as jsonl -o held-$format
    rows held-$format/test-00000.jsonl 'len(r) > 0 and {x["task"] for x in r} == {"row_softmax"}'
    rows held-$format/train-00000.jsonl 'len(r) > 0 and "row_softmax" not in json.dumps(r)'
done
expect 0 export --store own.db --format sft --include-held-out --held-out row_softmax --as jsonl -o held-both
[ ! -e held-both/test-00000.jsonl ] || fail "--held-out does not overrule --include-held-out"
expect 2 export --store own.db --include-held-out -o x.jsonl --force
complains "needs a folder"

# ---- the card ----
"$program" eval "$root/tasks/axpy" "$root/tasks/axpy/baseline.cu" --device cpu --seconds 0.05 --store d.db >/dev/null 2>&1 # a verdict as the judge writes it
card() { # card FOLDER ARGUMENT…: exports, then again with the card's command, elsewhere
    local folder=$1
    shift
    (cd cards && "$program" export "$@" -o "$folder" >/dev/null 2>err) || fail "$*: $(cat cards/err)"
    # shellcheck disable=SC2016
    sed -n '/^````*sh$/,/^````*$/p' "cards/$folder/README.md" | sed '1d;$d' >command
    [ -s command ] || fail "no command in the card"
    (cd again && kforge() { "$program" "$@"; } && . ../command 2>err) || fail "$(cat command): $(cat again/err)"
    diff -r "cards/$folder" "again/$folder" >/dev/null || fail "$(cat command) gives something else: $(diff -rq "cards/$folder" "again/$folder")"
}
mkdir cards again cards/sub
for place in cards cards/sub again; do cp d.db "$place/a store's.db"; cp b.db "$place/b.db"; done
unset KFORGE_STORE
card "it's \$(odd) | here" "a store's.db" --format dpo --group task --margin 1.17 --pairs 2 --reward cuda_l1 --no-significant --test-family 'not there' --test-family \
    reduction --held-out 'a b' --held-out gemv --shard-rows 3 --as jsonl --license 'MIT OR Apache-2.0' --only all --keep-leaks
card plain --format raw --store "a store's.db" --shard-rows 7
card two "sub/a store's.db" b.db --format multiturn --discount 0.123456789012345 --test-share 0.6 --run "$("$program" list -q --store b.db | head -1)" --task gemv ||
    true
card groups --format grpo --least-group 1 --dedup off --only correct b.db
python3 - "$("$program" --version 2>/dev/null | head -1)" <<'END' || fail "card"
import hashlib, json, pathlib, re, sys
folder = pathlib.Path("cards/it's $(odd) | here")
text = (folder / "README.md").read_text()
assert text.startswith('---\nlicense: "MIT OR Apache-2.0"\n'), text[:60]
assert "/sub/" not in pathlib.Path("cards/two/README.md").read_text()
head, body = text[4:].split("---\n\n", 1)
version = re.search(r"\d+\.\d+\.\d+", sys.argv[1]).group()
assert "| made by | kforge %s |" % version in body
assert "| licence | MIT OR Apache-2.0 |" in body
assert re.search(r"^\| store \| content [0-9a-f]{64} \|$", body, re.M)
assert "| reward | cuda_l1: " in body
files = sorted(folder.glob("*.jsonl"))
assert len(files) > 3
rows = {"train": [], "test": []}
for file in files:
    mine = [json.loads(line) for line in file.open()]
    split = file.name.split("-")[0]
    rows[split] += mine
    line = "| %s | %s | %d | %d | %s |" % (file.name, split, len(mine), file.stat().st_size, hashlib.sha256(file.read_bytes()).hexdigest())
    assert line in body, line
assert "| rows | %d, %d of them to train and %d to test;" % (len(rows["train"] + rows["test"]), len(rows["train"]), len(rows["test"])) in body
assert re.search(r"left out \| \d+ filtered, \d+ without a label, \d+ duplicates, 0 with code of test or held-out tasks, (?!0 )\d+ of held-out tasks", body), body
kinds = {str: ("string", "string"), float: ("float", "float64"), int: ("integer", "int64"), bool: ("boolean", "bool")}
names = []
for name, value in rows["train"][0].items():
    names.append(name)
    if type(value) is list:
        assert "| `%s` | list of messages | " % name in body and "  - name: %s\n    list:\n" % name in head, name
    else:
        assert "| `%s` | %s | " % (name, kinds[type(value)][0]) in body, name
        assert "  - name: %s\n    dtype: %s\n" % (name, kinds[type(value)][1]) in head, name
assert re.findall(r"^\| `(\w+)` \|", body, re.M) == names
for field in ("completions` | list of strings", "rewards` | list of floats", "prompt_tokens` | list of integers"):
    assert field in pathlib.Path("cards/groups/README.md").read_text(), field
# Compares each pair with the two verdicts that it names.
pairs = len(rows["train"] + rows["test"])
judged = sum(x["rejected_status"] != "no_source" for x in rows["train"] + rows["test"]) + pairs
for tool in ("kforge | 0.0.9", "device | Test GPU", "driver | 570.1", "CUDA of the driver | 12.8", "NVRTC of the toolkit | 12.4", "toolchain | cuda sm_90 [path]/nvcc 17 18",
             "PyTorch | 2.9.1", "Python | 3.11.7"):
    assert "| %s | %d |" % (tool, judged) in body, (tool, judged, body)
raw = pathlib.Path("cards/plain/README.md").read_text()
assert "| kforge | %s | 1 |" % version in raw and "| kforge | 0.0.9 | 3" in raw, raw
assert re.search(r"^\| toolchain \| cpu [^|]*kforge-cpucc[^|]* \| 1 \|$", raw, re.M), raw
assert "jane" not in text + raw and "secret-host" not in text + raw
END
export KFORGE_STORE=$work/d.db

# ---- odd replies, bad stores ----
# NUL, bytes that are no UTF-8, a surrogate, line separators, directions, what looks like JSON: one line a row, the same text in every format
cp d.db odd.db
python3 - <<'END'
import hashlib, sqlite3
c = sqlite3.connect("odd.db")
text = b"odd: \0 \xff \xed\xa0\x80 \xe2\x80\xa8 \xc2\x85 \xe2\x80\xae \xf0\x9f\x9a\x80 e\xcc\x81 \x7f \x1b \"}\\u0000\n\r\n\t```cuda\nx\n```"
c.execute("insert into blob (hash, size, codec, data) values (?, ?, 0, ?)", (hashlib.sha256(text).digest(), len(text), text))
c.execute("update model_call set reply = last_insert_rowid(), prompt = case when id % 2 then prompt else last_insert_rowid() end where id in (select model_call from attempt where number in (5, 9, 10))")
c.commit()
END
for format in sft kto "dpo --group task --pairs 100" "grpo --group task" contrast multiturn raw cassette; do
    # shellcheck disable=SC2086
    expect 0 export --store odd.db --format $format -o x.jsonl --force
    python3 - <<'END' || fail "odd text in $format"
import json
expected = "odd: \ufffd \ufffd \ufffd\ufffd\ufffd \u2028 \x85 \u202e \U0001f680 e\u0301 \x7f \x1b \"}\\u0000\n\r\n\t```cuda\nx\n```"
found = 0
def walk(x):
    global found
    for y in x.values() if isinstance(x, dict) else x if isinstance(x, list) else ():
        walk(y)
    if isinstance(x, str) and x.startswith("odd: "):
        assert x == expected, x
        found += 1
lines = open("x.jsonl", "rb").read().split(b"\n")
assert lines.pop() == b""
for line in lines:
    walk(json.loads(line.decode()))
assert found > 0
END
done
# A bad store among several, or under a learning format: it is named, nothing is left, neither here nor in the folder for what is merged
mkdir temporary
cp d.db newer.db
sql newer.db "update task set name = name"
python3 -c 'import sqlite3; c = sqlite3.connect("newer.db"); c.execute("pragma user_version = 999"); c.commit()'
head -c 100000 d.db >half.db
cp d.db hurt.db
sql hurt.db "update blob set data = zeroblob(length(data)) where id in (select m.reply from attempt a join model_call m on m.id = a.model_call where a.number = 9)"
for bad in "2 newer.db newer" "3 half.db half.db" "3 hurt.db hurt.db"; do
    read -r status store words <<<"$bad"
    for format in sft dpo; do
        TMPDIR=$work/temporary expect "$status" export --format $format -o bad.jsonl a.db "$store" b.db
        complains "$words"
        expect "$status" export --format $format --group task -o bad.jsonl "$store"
        complains "$words"
    done
done
TMPDIR=$work/temporary expect 2 export --format sft -o bad.jsonl a.db none.db
complains none.db
TMPDIR=$work/temporary expect 0 export --format sft -o good.jsonl a.db ./a.db a.db
expect 0 export --format sft -o once.jsonl a.db
cmp -s good.jsonl once.jsonl || fail "a store and itself are not the store"
TMPDIR=$work/none expect 3 export a.db b.db -o bad.jsonl
complains "$work/none"
mkdir small
if unshare -rm mount -t tmpfs -o size=64k none small 2>/dev/null; then
    TMPDIR=$work/small unshare -rm bash -c 'mount -t tmpfs -o size=64k none small; "$0" export a.db b.db -o bad.jsonl; echo "status $?"; ls -A small' "$program" >out 2>err
    out=$(cat out) err=$(cat err)
    complains "the disk is full"
    [ "$out" = "status 3" ] || fail "a full disk for what is merged: $out"
fi
[ ! -e bad.jsonl ] && [ -z "$(ls -A temporary)" ] && [ -z "$(compgen -G '.*part*' || compgen -G '*.part*')" ] || fail "left over: $(ls -A . temporary)"

# ---- while a run writes ----
cp d.db live.db
cat >writer.py <<'END'
import os, sqlite3, time
test = os.getppid()
c = sqlite3.connect("live.db", timeout=60)
c.execute("pragma journal_mode = wal")
(run, last) = c.execute("select id, attempts from run order by id limit 1").fetchone()
columns = "outcome, message, proposer, strategy, step, island, model_call, candidate, verdict, created"
n = last
while os.getppid() == test:
    for _ in range(10):
        n += 1
        c.execute(f"insert into attempt (run, number, {columns}) select run, ?, {columns} from attempt where run = ? and number = 5", (n, run))
    c.execute("update run set attempts = ?, updated = updated + 1 where id = ?", (n, run))
    c.commit()
    open("count.tmp", "w").write(str(n - last))
    os.rename("count.tmp", "count")
    time.sleep(0.05)
END
whole=$("$program" export 2>/dev/null | wc -l)
python3 writer.py &
writer=$!
await [ -e count ]
before=0
for i in 1 2 3 4; do
    expect 0 export --store live.db --format sft --dedup off -o "sft-$i.jsonl"
    least=$(cat count)
    expect 0 export --store live.db -o "live-$i.jsonl"
    count=$(($(wc -l <"live-$i.jsonl") - whole))
    [ "$count" -ge "$before" ] && [ "$count" -ge "$least" ] || fail "export $i has $count more rows, the one before $before, written were $least"
    [ $((count % 10)) = 0 ] || fail "export $i has seen half of what was written at once: $count"
    before=$count
done
[ "$before" -gt 0 ] || fail "nothing was written meanwhile"
kill -0 "$writer" 2>/dev/null || fail "the writer has failed"
kill "$writer"
wait "$writer" 2>/dev/null
for i in 1 2 3 4; do rows "live-$i.jsonl" 'len({x["id"] for x in r}) == len(r)'; done
finish
