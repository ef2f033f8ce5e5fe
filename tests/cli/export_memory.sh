#!/bin/bash
# kforge export --check-memory: a reply that reads beyond a buffer is no row, though it was correct.
source "$(dirname "$0")/lib.sh"
"$bin/../tests/make_dataset" d.db "$root/tasks" axpy >/dev/null || fail make_dataset
export KFORGE_STORE=$work/d.db
# The candidate with mark 2 reads one element too far. That with mark 3 needs a GPU.
python3 - "$root/tasks/axpy" <<'END' || fail "changing sources"
import hashlib, sqlite3, sys
folder = sys.argv[1]
baseline = open(folder + "/baseline.cu").read()
line = "    if (i < n) y[i] = a * x[i] + y[i];\n"
assert line in baseline
far = "    if (i == n - 1) (void)*(volatile const float *)(x + n);\n"
c = sqlite3.connect("d.db")
for number, more in ((2, far), (3, '    asm volatile("nanosleep.u32 20;");\n')):
    text = baseline.replace(line, line + more).encode()
    c.execute("update blob set data = ?, size = ?, codec = 0, hash = ? where id = (select source from candidate where id = ?)",
              (text, len(text), hashlib.sha256(text).digest(), number))
c.commit()
END
expect 0 export --format sft --only faster -o all.jsonl --json
json 'o["rows"] == 4 and o["memory_errors"] == 0'
expect 0 export --format sft --only faster --check-memory -o checked.jsonl --json
json 'o["rows"] == 3 and o["memory_errors"] == 1 and o["unchecked"] == 1'
python3 -c 'import json; names = lambda f: [json.loads(l)["attempt"] for l in open(f)]; assert (names("all.jsonl"), names("checked.jsonl")) == ([2, 3, 5, 9], [3, 5, 9]), (names("all.jsonl"), names("checked.jsonl"))' 2>py.err || fail "$(tail -n 1 py.err)"
finish
