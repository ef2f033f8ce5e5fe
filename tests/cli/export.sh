#!/bin/bash
# kforge export: what is in the rows of each format, labels, splits, leaks, files and their failures.
source "$(dirname "$0")/lib.sh"
"$bin/../tests/make_dataset" d.db "$root/tasks" >/dev/null || fail make_dataset
export KFORGE_STORE=$work/d.db

# rows NAME EXPRESSION: python on the rows of NAME as `r`.
rows() {
    python3 -c 'import json, sys; r = [json.loads(l) for l in open(sys.argv[1])]; sys.exit(0 if eval(sys.argv[2]) else 1)' "$1" "$2" || fail "not so: $2 of $1"
}
for format in raw sft dpo kto grpo contrast multiturn cassette; do
    expect 0 export --format $format -o $format.jsonl
    # One type a field, no nulls, no empty lists, the same fields in every row: what schema inference needs
    [ $format = cassette ] || rows $format.jsonl 'len(r) > 0 and len({tuple(x) for x in r}) == 1'
    [ $format = cassette ] || rows $format.jsonl 'all(type(v) is type(r[0][k]) and v is not None and v != [] for x in r for k, v in x.items())'
    # Secrets and places
    if grep -q "sk-proj\|jane\|secret-host" $format.jsonl; then fail "$format holds a secret: $(grep -o 'sk-proj.....\|.....jane' $format.jsonl | head -1)"; fi
done

# raw: everything that happened, also what failed, cheated or blames the machine
rows raw.jsonl 'len(r) == 3 * 14'
rows raw.jsonl 'sum(x["status"] == "cheating" for x in r) == 3'
rows raw.jsonl 'all(not x["labelled"] for x in r if x["status"] in ("interference", ""))'
rows raw.jsonl 'all(json.loads(x["verdict"])["workloads"][0]["samples"]["side"] == "bcbc" for x in r if x["status"] and x["run"])'
rows raw.jsonl 'all(json.loads(x["verdict"])["flags"][0] == "sandbox.denied:fork" for x in r if x["status"] and x["run"])'
rows raw.jsonl 'all(json.loads(x["counters"]) == {"registers": 32} for x in r if x["source"] and x["run"])'
rows raw.jsonl 'sum(not x["run"] for x in r) == 3 and all(x["source"] == "// evaluated\n" for x in r if not x["run"])'
rows raw.jsonl '[json.loads(x["parents"])[0]["candidate"] for x in r if x["attempt"] == 5] == [x["candidate"] for x in r if x["attempt"] == 2]'
rows raw.jsonl '[x["reply"] for x in r if x["outcome"] == "no_source"][0] == "no code: \ufffd \ufffd\ufffd \ufffd\ufffd\ufffd \U0001f680 \x1b[31m \"quoted\\\" \r\n"'
rows raw.jsonl 'all("/home/user/work/candidate.cu:3" in x["verdict"] and "[path]/notes.txt" in x["verdict"] for x in r if x["run"] and x["status"])'
rows raw.jsonl 'all(x["settings"] == "{\"temperature\":0.7}" and x["model"] == "ask-1" and x["prompt_tokens"] == 100 for x in r if x["prompt"])'
# Rewards are recomputed from the figures
for reward in speedup cuda_l1 kevin milestones log; do expect 0 export --reward $reward -o $reward.jsonl --no-significant; done
rows speedup.jsonl 'all(x["reward"] == x["speedup"] for x in r if x["labelled"])'
rows kevin.jsonl 'all(abs(x["reward"] - 0.3 - x["speedup"]) < 1e-9 for x in r if x["status"] == "correct")'
rows milestones.jsonl '{x["reward"] for x in r if x["status"] == "cheating"} == {-1.0} and max(x["reward"] for x in r) == 2'

# Filters
for only in correct faster failed cheating; do expect 0 export --only $only -o only-$only.jsonl; done
rows only-correct.jsonl 'len(r) == 24 and {x["status"] for x in r} == {"correct"}'
rows only-faster.jsonl 'len(r) == 18 and all(x["speedup_low"] > 1 for x in r)'
rows only-failed.jsonl '{x["status"] for x in r} == {"wrong_result", "compile_error", "cheating"}'
rows only-cheating.jsonl 'len(r) == 3'
expect 0 export --task gemv -o task.jsonl
rows task.jsonl '{x["task"] for x in r} == {"gemv"} and len(r) == 14'
expect 0 export --task gemv -o task.jsonl --force --quiet
[ -z "$out$err" ] || fail "--quiet: $out $err"
expect 2 export --task nonesuch
complains "no task named nonesuch"
expect 2 export --run 0000
complains "no run"

# The last line says why attempts were left out, and what was removed from texts.
expect 0 export --format sft --only faster -o faster.jsonl
grep -qE "^[0-9]+ rows; left out: [0-9]+ not faster, [0-9]+ without a prompt, [0-9]+ without a label.*; removed from texts: [0-9]+ secrets, [0-9]+ paths$" err || fail "$err"
expect 0 export --format grpo --only correct --least-group 1000 -o small.jsonl
grep -qE "^kforge: the data set has no rows: [0-9]+ not correct, [0-9]+ in groups of fewer than 1000, .*; it took --only correct; try without --only correct; " err && grep -qx "0 rows" err || fail "$err"
expect 0 export --format grpo -o card
grep -q "0.3 + speedup; .*; a speedup counts as 1 if its interval contains 1 |" card/README.md || fail "$(cat card/README.md)"
python3 -c 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute("update attempt set model_call = null where number = 2"); c.commit(); assert c.total_changes' "$(cp d.db tuner.db && echo tuner.db)"
expect 0 export --store tuner.db --format sft -o tuner.jsonl --json
json 'o["unprompted"] == 6 and o["secrets"] > 0 and o["paths"] > 0 and o["filtered"] > 0'

# Near-duplicates: attempt 12 is attempt 5 in another layout
expect 0 export --dedup on -o dedup.jsonl
rows dedup.jsonl 'len(r) == 3 * 14 - 3 - 3 and not any(x["attempt"] == 12 for x in r)'
rows sft.jsonl '{x["status"] for x in r} == {"correct"} and [m["role"] for m in r[0]["messages"]] == ["system", "user", "assistant"]'

# Preferences: none between overlapping intervals, correct over failed, the margin
rows dpo.jsonl 'all(x["chosen_status"] == "correct" for x in r)'
rows dpo.jsonl 'all(x["rejected_status"] != "correct" or x["chosen_speedup_low"] > x["rejected_speedup_high"] for x in r)'
rows dpo.jsonl 'all(x["same_prompt"] for x in r) and not any((x["chosen_speedup"], x["rejected_speedup"]) == (1.505, 1.5) for x in r)'
expect 0 export --format dpo --no-significant --margin 1 --pairs 100 -o loose.jsonl
rows loose.jsonl 'any((x["chosen_speedup"], x["rejected_speedup"]) == (1.505, 1.5) for x in r)'
expect 0 export --format dpo --margin 5 --pairs 100 -o strict.jsonl
rows strict.jsonl 'not any(x["rejected_status"] == "correct" for x in r)'
expect 0 export --format dpo --group task --pairs 100 -o across.jsonl
rows across.jsonl 'any(not x["same_prompt"] for x in r)'
expect 2 export --format dpo --margin 0.5
rows kto.jsonl '{(x["label"], x["status"] == "correct" and x["speedup"] > 1) for x in r} == {(True, True), (False, False)}'

# Groups
rows grpo.jsonl 'all(len(x["completions"]) == len(x["rewards"]) == len(x["advantages"]) == x["group"] >= 2 for x in r)'
rows grpo.jsonl 'all(abs(sum(x["advantages"])) < 1e-9 and abs(sum(a * a for a in x["advantages"]) / x["group"] - 1) < 1e-9 for x in r)'
rows contrast.jsonl 'all([e["role"] for e in x["exemplars"]] == ["base", "exemplar"] and x["target"] for x in r)'
rows contrast.jsonl 'all(e["speedup"] > 0 and e["status"] == "correct" and e["source"] for x in r for e in x["exemplars"])'
# Discounted returns
rows multiturn.jsonl 'any(x["turns"] == 3 for x in r)'
rows multiturn.jsonl 'all(abs(x["returns"][i] - sum(0.4 ** (j - i) * x["rewards"][j] for j in range(i, x["turns"]))) < 1e-9 for x in r for i in range(x["turns"]))'
rows multiturn.jsonl 'all([m["role"] for m in x["messages"]] == ["system"] + ["user", "assistant"] * x["turns"] for x in r)'

# A cassette replays
run=$("$program" list -q --store d.db | head -1)
expect 0 export --format cassette --run "$run" -o run.jsonl --force
rows run.jsonl 'r[0]["schema"] == "kforge-cassette/1" and len(r) == 13'
rows run.jsonl 'len(r[1]["match"]) == 64 and len({tuple(x) for x in r[1:]}) == 1 and all(type(v) is type(r[1][k]) for x in r[1:] for k, v in x.items())'
rows run.jsonl '{x["cost_usd"] for x in r[1:]} == {0.01, -1.0} and {x["tokens"]["completion"] for x in r[1:]} == {200, -1} and {x["error"] for x in r[1:]} == {"", "timeout"}'

sed -n 1p cassette.jsonl >first.json
sed -n 2p cassette.jsonl >second.json
for key in $(python3 -c 'import json; print(*json.load(open("first.json")), *json.load(open("second.json")))'); do
    grep -q "\`$key\`" "$root/docs/reference/replay-format.md" || fail "replay-format.md lacks $key"
done

# Splits by family, held-out tasks, leaks: a prompt on gemv shows row_softmax's code
expect 0 export --format sft --test-family reduction -o split --as jsonl --license MIT
ls split | grep -q . || fail "no folder"
rows split/train-00000.jsonl '"reduction" not in {x["family"] for x in r}'
rows split/test-00000.jsonl '{x["family"] for x in r} == {"reduction"}'
rows split/train-00000.jsonl 'len(r) == 9 and not any("row_softmax" in json.dumps(x["messages"]) for x in r)'
[[ $err == *"1 with code of test or held-out tasks"* ]] || fail "leak: $err"
expect 0 export --format sft --held-out row_softmax -o held.jsonl
rows held.jsonl '"row_softmax" not in json.dumps(r)'
[[ $err != *"does nothing"* ]] || fail "held out: $err"
# A name that nothing has may be one to come, but a misspelt one must not hold out nothing in silence.
expect 0 export --format sft --held-out row_sofmax --test-family reduktion -o typo --as jsonl --license MIT
[[ $err == *'--held-out "row_sofmax" has no effect: no task or family of the store has this name; did you mean row_softmax?'* ]] || fail "typo: $err"
[[ $err == *'--test-family "reduktion" has no effect: no family of the store has this name; did you mean reduction?'* ]] || fail "typo: $err"
expect 0 export --format sft --held-out row_softmax --keep-leaks -o kept.jsonl
rows kept.jsonl 'len(r) == 10 and "row_softmax" not in {x["task"] for x in r}'
expect 2 export --format sft --test-family reduction -o one.jsonl
complains "needs a folder"
for format in raw dpo kto grpo contrast multiturn; do
    expect 0 export --format $format --held-out row_softmax -o x.jsonl --force
    rows x.jsonl 'len(r) > 0 and "row_softmax" not in json.dumps(r)'
done
# The same code in the system text of all calls on gemv
cp d.db system.db
python3 -c 'import sqlite3; c = sqlite3.connect("system.db"); c.execute("UPDATE model_call SET system = (SELECT prompt FROM model_call WHERE run = 2 ORDER BY id LIMIT 1) WHERE run = 2"); c.commit(); assert c.total_changes > 5'
for format in sft raw dpo kto grpo contrast multiturn; do
    expect 0 export --store system.db --format $format --held-out row_softmax -o x.jsonl --force
    rows x.jsonl 'len(r) > 0 and "row_softmax" not in json.dumps(r)'
done

# The card
python3 - <<'END' || fail "card"
import hashlib, json
text = open("split/README.md").read()
assert text.startswith("---\nlicense: MIT\n") and "split: test" in text and "dtype: float64" in text
for name in ("train-00000.jsonl", "test-00000.jsonl"):
    assert hashlib.sha256(open("split/" + name, "rb").read()).hexdigest() in text
for field in json.loads(open("split/train-00000.jsonl").readline()): assert "| `%s` |" % field in text, field
END

# docs/reference/datasets.md has every field of every format: in the format's own list, or in one of those that its section links to
has_field() { sed -n "/^## $1$/,/^## /p" "$root/docs/reference/datasets.md" | grep -q "^- [^(]*\`$2\`"; }
for format in raw sft dpo kto grpo contrast multiturn; do
    section=$(sed -n "/^## $format$/,/^## /p" "$root/docs/reference/datasets.md")
    for field in $(python3 -c 'import json, sys; print(*json.loads(open(sys.argv[1]).readline()))' $format.jsonl); do
        has_field $format "$field" && continue
        found=
        for shared in "all formats" "one result" "one reply" "several replies"; do
            grep -q "(#fields-of-${shared// /-})" <<<"$section" || continue
            has_field "Fields of $shared" "$field" && found=1
            [ $format = dpo ] && has_field "Fields of $shared" "$(sed 's/^\(chosen\|rejected\)_//' <<<"$field")" && found=1
        done
        [ -n "$found" ] || fail "docs/reference/datasets.md: $format has no $field"
    done
done

# Compression, shards
expect 0 export -o raw.jsonl.gz
gzip -dc raw.jsonl.gz | cmp -s - raw.jsonl || fail gzip
if command -v zstd >/dev/null; then
    expect 0 export -o raw.jsonl.zst
    zstd -dcq raw.jsonl.zst | cmp -s - raw.jsonl || fail zstd
fi
expect 0 export -o shards --as jsonl --shard-rows 10
[ "$(ls shards | tr '\n' ' ')" = "README.md train-00000.jsonl train-00001.jsonl train-00002.jsonl train-00003.jsonl train-00004.jsonl " ] || fail "$(ls shards)"
cat shards/train-*.jsonl | cmp -s - raw.jsonl || fail "shards differ"
"$program" export 2>/dev/null | cmp -s - raw.jsonl || fail "standard output differs"

# Several stores are read as one. The same store twice counts once.
cp d.db e.db
expect 0 export d.db e.db -o two.jsonl
cmp -s two.jsonl raw.jsonl || fail "a store and its copy are not the store"

# Existing files stay without --force. No partial file stays.
expect 2 export -o raw.jsonl
complains "exists already"
expect 2 export -o shards
complains "exists already"
expect 0 export -o shards --as jsonl --force
[ "$(ls shards | wc -l)" = 2 ] || fail "forced: $(ls shards)"
expect 2 export -o sft.jsonl/
expect 3 export -o none/x.jsonl
complains "none/x.jsonl"
expect 2 export -o ''
expect 2 export -o - --as parquet
"$program" export 2>head.err | head -1 >/dev/null
[ ! -s head.err ] || fail "a reader that left: $(cat head.err)"
"$program" export >/dev/full 2>full.err
[ $? = 3 ] || fail "/dev/full: $?"
mkdir small
if unshare -rm mount -t tmpfs -o size=16k none small 2>/dev/null; then
    for name in x.jsonl folder; do
        unshare -rm bash -c 'mount -t tmpfs -o size=16k none small; "$0" export --as jsonl -o "small/$1"; echo "status $?"; ls -A small' "$program" $name >out 2>err
        out=$(cat out) err=$(cat err)
        complains "the disk is full"
        [ "$out" = "status 3" ] || fail "full disk: $out"
    done
fi
[ -z "$(compgen -G '*.part-*')" ] || fail "left over: $(compgen -G '*.part-*')"

# Bad stores
echo hello >text.db
expect 2 export text.db
complains "not a kforge store"
cp d.db newer.db
python3 -c 'import sqlite3; c = sqlite3.connect("newer.db"); c.execute("pragma user_version = 999"); c.commit()'
expect 2 export newer.db -o n.jsonl
complains newer
cp d.db hurt.db
python3 -c 'import sqlite3; c = sqlite3.connect("hurt.db"); c.execute("update blob set data = zeroblob(length(data)) where id = (select max(source) from candidate)"); c.commit()'
expect 3 export hurt.db -o n.jsonl
complains damaged
# Pages in the middle overwritten, as by a bad disk: said, by exports as by checks, or of no consequence for what is read, but never a crash
size=$(stat -c %s d.db)
for part in 2 3 4 5 6 7; do
    cp d.db page.db
    python3 -c 'import random, sys; sys.stdout.buffer.write(random.Random(int(sys.argv[1])).randbytes(8192))' $part |
        dd of=page.db bs=4096 seek=$((size / 4096 * part / 8)) conv=notrunc iflag=fullblock status=none
    "$program" export page.db -o page.jsonl --force >out 2>err
    status=$? err=$(cat err)
    [ $status = 3 ] && complains page.db
    [ $status = 3 ] || { [ $status = 0 ] && cmp -s page.jsonl raw.jsonl; } || fail "a damaged page $part: status $status, $err"
    expect 3 store check --store page.db
    rm -f page.jsonl
done
head -c 100000 d.db >cut.db
expect 3 export cut.db -o n.jsonl
complains cut.db
[ ! -e n.jsonl ] || fail "a failed export left its file"

# Secrets of the environment
SOME_API_KEY="Here it is" "$program" export --format sft -o env.jsonl 2>/dev/null
rows env.jsonl 'all("Here it is" not in x["messages"][2]["content"] and "[key]" in x["messages"][2]["content"] for x in r)'

# Parquet through pyarrow, or a word on what is missing. python BODY: what stands in for Python.
python() {
    printf '#!/bin/sh\n%s\n' "$1" >python
    chmod +x python
}
export KFORGE_PYTHON=$work/python
for body in 'exit 1' 'echo "missing No module named pyarrow"' 'echo; cat >/dev/null' 'kill -9 $$'; do
    python "$body"
    expect 3 export -o p.parquet
    complains "pip install pyarrow"
done
# The writer imports nothing from the current folder.
mkdir elsewhere
echo 'open("imported", "w")' >elsewhere/json.py
(cd elsewhere && KFORGE_PYTHON=$(command -v python3) "$program" export -o p.parquet >out 2>&1)
[ -e elsewhere/imported ] && fail "json.py of the current folder was imported"
KFORGE_PYTHON=$work/none expect 3 export -o p.parquet
complains "$work/none of KFORGE_PYTHON does not run: run \"$work/none -m pip install pyarrow\""
# Without KFORGE_PYTHON each Python is tried, those of an active environment first. The error names
# them, and installs into the first one.
mkdir -p lacking/bin having/bin
printf '#!/bin/sh\necho "missing No module named pyarrow"\n' >lacking/bin/python3
printf '#!/bin/sh\necho ready; grep -q "^<"; echo failed Error: in having\n' >having/bin/python3
chmod +x lacking/bin/python3 having/bin/python3
unpicked() { # WORDS PATH: the export fails with these words
    env -u KFORGE_PYTHON "VIRTUAL_ENV=$PWD/lacking" "PATH=$2" "$program" export -o p.parquet >out 2>err
    err=$(cat err)
    complains "$1"
}
unpicked "writing Parquet: Error: in having" "$PWD/having/bin:$PATH"
if ! /usr/bin/python3 -c 'import pyarrow' 2>/dev/null; then
    unpicked "$PWD/lacking/bin/python3 of VIRTUAL_ENV lacks it (No module named pyarrow)" /usr/bin:/bin
    unpicked "run \"$PWD/lacking/bin/python3 -m pip install pyarrow\"" /usr/bin:/bin
fi
# … or on how the writer ended: at the first row, in the middle, at the end
for body in 'echo ready; kill -9 $$' 'echo ready; head -c 3000 >/dev/null; kill -9 $$' 'echo ready; grep -q "^<"; kill -9 $$'; do
    python "$body"
    expect 3 export -o p.parquet
    complains "p.parquet: "
    complains "killed by signal 9"
done
python 'echo ready; grep -q "^<"; echo full'
expect 3 export -o p.parquet
complains "p.parquet: the disk is full"
python 'echo ready; head -c 100 >/dev/null; echo failed ArrowInvalid: what happened'
expect 3 export -o p.parquet
complains "p.parquet: writing Parquet: ArrowInvalid: what happened"
python 'echo ready; grep -q "^<"; echo memory'
expect 3 export -o folder.out --as parquet
complains "out of memory"
python 'echo ready; grep -q "^<"'
expect 3 export -o p.parquet
complains "ended too early"
[ -z "$(compgen -G '*.part-*')" ] && [ ! -e p.parquet ] && [ ! -e folder.out ] || fail "left over: $(ls)"
# The exporter is killed in the middle of a file: its writer, the real program on a pyarrow that only counts, sees that and takes the file away.
gone() { ! kill -0 "$1"; }
mkdir -p counting/pyarrow
cat >counting/pyarrow/__init__.py <<'END'
def kind(*_): return None
string = float64 = int64 = bool_ = list_ = struct = kind
class schema:
    def __init__(self, fields): self.names = [name for name, _ in fields]
END
cat >counting/pyarrow/parquet.py <<'END'
class ParquetWriter:
    def __init__(self, file, schema, compression): self.file = file
    def write_table(self, table): self.file.write(table.block)
    def close(self): pass
END
cat >counting/pyarrow/json.py <<'END'
class table:
    def __init__(self, block): self.block = block
    def select(self, names): return self
    def cast(self, schema): return self
def ParseOptions(**_): return None
def ReadOptions(**_): return None
def read_json(file, *_): return table(file.read())
END
# Its input is a small pipe. It reads the start of the file and a row. Then it waits until the
# exporter is gone.
cat >counting/sitecustomize.py <<'END'
import fcntl, os, sys, time
if os.environ.get("WAITS"):
    class Lines:
        def __iter__(self):
            exporter = os.getppid()
            for i, line in enumerate(open(0, "rb", buffering=1024)):
                yield line
                if i == 1:
                    open("writer.tmp", "w").write(str(os.getpid()))
                    os.rename("writer.tmp", "writer")
                    while os.getppid() == exporter: time.sleep(0.02)
    class Input: buffer = Lines()
    fcntl.fcntl(0, 1031, 4096) # F_SETPIPE_SZ
    sys.stdin = Input()
END
python 'exec env PYTHONPATH=counting python3 "$@"'
expect 0 export -o p.parquet
cmp -s p.parquet raw.jsonl || fail "the counting writer did not get all rows"
rm p.parquet
for place in "-o p.parquet" "-o folder.out --as parquet"; do
    WAITS=1 "$program" export $place >out 2>err &
    exporter=$!
    await [ -e writer ] || fail "the writer has not begun: $(cat err)"
    [ -n "$(compgen -G '*.part-*')" ] || fail "no file is being written"
    kill -9 "$exporter"
    wait "$exporter" 2>/dev/null
    writer=$(cat writer)
    await gone "$writer"
    [ ! -e p.parquet ] && [ ! -e folder.out ] || fail "half-written under the final name: $(ls)"
    [ -z "$(find . -path './*.part-*' -type f)" ] || fail "the writer left its file: $(find . -path './*.part-*')"
    rm -rf writer ./*.part-*
done
unset KFORGE_PYTHON
# The same without a writer. Whenever that is, the name is all of it or nothing, and what was left does not stand in the way of the next.
cp d.db large.db
python3 - <<'END'
import hashlib, random, sqlite3
c = sqlite3.connect("large.db")
text = ("// %s\n" % random.Random(1).randbytes(50).hex() * 200000).encode()
c.execute("update blob set data = ?, size = ?, codec = 0, hash = ? where id = (select min(source) from candidate)", (text, len(text), hashlib.sha256(text).digest()))
c.commit()
END
expect 0 export large.db -o large.jsonl.zst
for _ in 1 2 3; do
    "$program" export large.db -o killed.jsonl.zst >out 2>err &
    exporter=$!
    until [ -n "$(compgen -G 'killed.jsonl.zst.part-*')" ] || [ -e killed.jsonl.zst ]; do :; done
    kill -9 "$exporter" 2>/dev/null
    wait "$exporter" 2>/dev/null
    [ ! -e killed.jsonl.zst ] || cmp -s killed.jsonl.zst large.jsonl.zst || fail "half of an export under its final name"
    rm -f killed.jsonl.zst
done
expect 0 export large.db -o killed.jsonl.zst
cmp -s killed.jsonl.zst large.jsonl.zst || fail "the export after killed ones differs"
# The next export to the same name clears away what killed ones left, of files and folders, and nothing else.
echo mine >killed.jsonl.zst.part-1
for name in killed.jsonl.zst killed.folder; do
    "$program" export large.db -o $name --force >out 2>err &
    exporter=$!
    for _ in $(seq 1000); do [ -n "$(compgen -G "$name.part-kforge-*")" ] && break; done
    kill -9 "$exporter" 2>/dev/null
    wait "$exporter" 2>/dev/null
    expect 0 export -o $name --force
done
[ "$(ls -d killed.* | tr '\n' ' ')" = "killed.folder killed.jsonl.zst killed.jsonl.zst.part-1 " ] || fail "left over: $(compgen -G 'killed.*')"
rm -f ./*.part-*
if python3 -c 'import pyarrow' 2>/dev/null; then
    expect 0 export -o p.parquet
    python3 -c 'import pyarrow.parquet as p, json; r = p.read_table("p.parquet").to_pylist(); assert r == [json.loads(l) for l in open("raw.jsonl")]' || fail "parquet differs"
fi
finish
