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
finish
