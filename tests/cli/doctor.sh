#!/bin/bash
# doctor: it tells of every part, keeps secrets, and its exit status says whether anything can judge.
source "$(dirname "$0")/lib.sh"

expect 0 doctor
for subject in cpu g++ nvcc gpu judge sandbox store disk cache models settings; do
    grep -q "^\(ok\|missing\|fault\) *$subject " <<<"$out" || fail "nothing on $subject"
done
says "can judge kernels"
OPENAI_API_KEY=sk-secret-value expect 0 doctor
says "set: OPENAI_API_KEY"
[[ $out$err == *sk-secret* ]] && fail "the key is shown"
expect 0 doctor --json
json 'o["can_judge"] is True and o["judges"][0]["name"].startswith("cpu") and {f["state"] for f in o["facts"]} <= {"ok", "missing", "fault"}'
json 'all(f["hint"] for f in o["facts"] if f["state"] == "missing" and f["subject"] in ("gpu", "nvcc", "g++", "models"))'
# Without compilers
PATH=/nonexistent CUDA_HOME=/nonexistent "$program" doctor --json >out
json '[f for f in o["facts"] if f["subject"] == "g++" and f["state"] == "missing" and "apt install g++" in f["hint"]]'
# Stores
echo hello >text.db
expect 0 doctor --store text.db
grep -q '^fault *store .*not a kforge store' <<<"$out" || fail "text.db: $out"
"$bin/../tests/make_store" "$KFORGE_STORE" "$root/tasks/axpy" >/dev/null || fail make_store
expect 0 doctor --full
says "checked completely"
python3 - "$KFORGE_STORE" <<'END'
import sqlite3, sys
c = sqlite3.connect(sys.argv[1]); c.execute("pragma foreign_keys = off"); c.execute("delete from blob where id = (select source from candidate limit 1)"); c.commit()
END
expect 0 doctor --full
grep -q '^fault *store' <<<"$out" || fail "a damaged store: $out"
expect 2 doctor extra
complains "unexpected argument"
finish
