#!/bin/bash
# Counters reach the prompts that ask for a faster candidate.
source "$(dirname "$0")/lib.sh"
task=$root/tasks/axpy
fake=$bin/../tests/fake_worker
cat >model.py <<'END'
import random, sys
open("prompts.txt", "a").write(sys.stdin.read())
print(f"```cuda\n#pragma fake: speed {random.uniform(1, 2):.3f}\n#pragma fake: counters yes\nvoid axpy() {{}}\n```")
END
expect 0 optimize "$task" --workers "$fake" --model "exec:python3 model.py" --candidates 16 --seed 1 --strategy evolve --store run.db --counters all
grep -q "bound by DRAM bandwidth: 88 % of its peak" prompts.txt || fail "no counters in $(grep -c . prompts.txt) lines of prompts"
python3 -c 'import sqlite3; assert sqlite3.connect("run.db").execute("SELECT count(*) FROM counters").fetchone()[0] > 3' || fail "no counters in the store"
rm prompts.txt
expect 0 optimize "$task" --workers "$fake" --model "exec:python3 model.py" --candidates 16 --seed 1 --strategy evolve --store other.db
grep -q "bound by DRAM" prompts.txt && fail "counters that nobody asked for"
expect 2 optimize "$task" --workers "$fake" --counters 'a;b' --store other.db
complains "--counters: \"a;b\" is no list of names"

# The records that a runner in Python sends are those that the call has filled
python3 - "$root/evaluator/torch" <<'END' || fail "records of a call in Python"
import sys
sys.path.insert(0, sys.argv[1])
import gpu
class Library:
    @staticmethod
    def kf_torch_count(function, records):
        function(None)
        records[0:3] = b"abc"
        return 3
place, calls = gpu.Place.__new__(gpu.Place), []
place.library, place.torch = Library, None
assert place.count(lambda _: calls.append(1)) == b"abc" and calls == [1]
END

# The origin of the device time: figures and a rule of a bench, a filter of exports
export KFORGE_STORE=$work/origin.db
mkdir runs
printf '#pragma fake: speed 3\n#pragma fake: counters 0.2\nvoid a() {}\n' >runs/axpy.cu
mkdir runs/row_softmax
printf '#pragma fake: speed 2\n#pragma fake: counters 0.9\nvoid a() {}\n' >runs/row_softmax/own.cu
printf '#pragma fake: speed 4\n#pragma fake: counters 0.4\nvoid b() {}\n' >runs/row_softmax/library.cu
printf '#pragma fake: speed 5\nvoid c() {}\n' >runs/row_softmax/unknown.cu
tasks=(--only axpy --only row_softmax)
expect 0 bench "$root/tasks" "${tasks[@]}" --solutions runs --workers "$fake" --counters all \
    --csv all.csv --html all.html
says "own work"
says "device time"
grep -q "60 % own kernels" out && fail "the mean counts a candidate without counters"
expect 0 bench report last --json
python3 - out <<'END' || fail "parts of the device time in the JSON of a bench"
import json, sys
rows = {row["task"]: row for row in json.load(open(sys.argv[1]))["problems"]}
parts = {"own": 0.2, "library": 0.8, "framework": 0, "copies": 0}
assert rows["axpy"]["best"]["work"] == parts, rows["axpy"]["best"]
samples = {s["label"]: s for s in rows["row_softmax"]["samples"]}
assert any("work" not in s for s in samples.values())
END
head -1 all.csv | grep -q ",own_work,library_work,framework_work,copies_work," || fail "no columns in CSV"
grep -q "device time: 90 % own kernels, 10 % cuBLAS" all.html || fail "no device time in the page"
expect 0 bench report last --own-work 0.5 --json
python3 - out <<'END' || fail "the rule of a bench"
import json, sys
rows = {row["task"]: row for row in json.load(open(sys.argv[1]))["problems"]}
assert rows["axpy"]["best"] is None
assert "20 % of its device time" in rows["axpy"]["samples"][0]["text"]
assert rows["row_softmax"]["best"]["speedup"]["value"] == 2, rows["row_softmax"]["best"]
unknown = [s for s in rows["row_softmax"]["samples"] if "not measured" in s.get("text", "")]
assert len(unknown) == 1 and not unknown[0]["counts"]
END
expect 2 bench report last --own-work 2
expect 0 export --only correct -o all.jsonl
expect 0 export --only correct --own-work 0.5 -o own.jsonl
[ "$(grep -c . all.jsonl)" -gt "$(grep -c . own.jsonl)" ] || fail "--own-work leaves nothing out"
grep -c "void a()" own.jsonl | grep -qx 1 || fail "$(grep -c . own.jsonl) rows with work of their own"
expect 2 export --format cassette --own-work 0.5 -o none.jsonl
finish
