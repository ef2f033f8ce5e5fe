#!/bin/bash
# tests/bench/campaign: a recorded model, cells that are cut and killed, a winner that fails its verification, bad specs. The last cell is judged for real.
source "$(dirname "$0")/lib.sh"
fake=$bin/../tests/fake_worker
campaign() { # campaign STATUS ARGUMENT…
    local status=$1 got
    shift
    python3 "$root/tests/bench/campaign/campaign.py" "$@" >out 2>err </dev/null
    got=$? out=$(cat out) err=$(cat err)
    [ $got = "$status" ] || fail "campaign.py $*: exit status $got, expected $status; $out $err"
}
spec() { # spec FILE PYTHON: a specification, changed by a statement about `s`
    python3 - "$1" "$program" "$fake" "$root" "$2" <<'END'
import json, sys
path, program, fake, root, change = sys.argv[1:]
recorded = {"name": "recorded", "spec": f"replay:{root}/tests/replay/axpy.jsonl", "answered_by": "a <recording>"}
s = {"kforge": program, "problems": [{"task": "axpy", "level": "1"}, {"task": "gemv", "level": "2"}], "models": [recorded],
     "budget": {"candidates": 5}, "arguments": ["--workers", fake], "eval_arguments": ["--workers", fake],
     "notes": {"axpy.recorded.auto.1": "It says a|b & <script>."}}
exec(change)
json.dump(s, open(path, "w"))
END
}

spec all.json ''
campaign 2 report all.json all
complains_of() { case $err in *"$1"*) ;; *) fail "no \"$1\": $err" ;; esac; }
complains_of "no cell is done"
campaign 0 run all.json all
says "4 of 4 cells are done, 0 are left"
before=$(cat all/cells/*/result.json | sha256sum)
campaign 0 run all.json all
[ "$(cat all/cells/*/result.json | sha256sum)" = "$before" ] || fail "a finished cell ran again"
campaign 0 report all.json all
says "auto over sample: geometric mean nan of 0 pairs"
campaign 0 verify all.json all --as first
campaign 0 report all.json all
says "of 2 pairs"
# A second verification, in which one winner is wrong: it counts as unsolved.
printf '\n#pragma fake: status wrong_result\n' >>all/cells/gemv.recorded.sample.1/best.cu
campaign 1 verify all.json all --as second
says "gemv.recorded.sample.1: baseline: wrong_result"
campaign 0 report all.json all
says "of 1 pairs"
says "auto alone verified 1"
grep -q '^| gemv | 2 | recorded | sample | 1 | .* | wrong_result | ' all/table.md || fail "$(cat all/table.md)"
grep -q '^| 2 | sample | 1 | 0 % \[0, 79\] ' all/table.md || fail "$(cat all/table.md)"
grep -q '^| 1 | auto | 1 | 100 % \[21, 100\] ' all/table.md || fail "$(cat all/table.md)"
grep -qF 'It says a\|b & <script>.' all/table.md || fail "a note is not escaped in table.md"
grep -qF 'It says a|b &amp; &lt;script&gt;.' all/table.html && grep -qF 'a &lt;recording&gt;' all/table.html || fail "table.html is not escaped"
[ "$(ls all/kernels)" = "$(printf '%s\n' {axpy,gemv}.recorded.{auto,sample}.1.cu)" ] || fail "$(ls all/kernels)"

# A part that ends, an interrupt and a kill lose no verdict.
spec slow.json 's["problems"] = s["problems"][:1]; s["strategies"] = ["sample"]; s["budget"] = {"candidates": 6}'
judged() { python3 -c 'import sqlite3, sys; print(sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True).execute("select count(*) from verdict").fetchone()[0])' slow/cells/axpy.recorded.sample.1/kforge.db 2>/dev/null || echo 0; }
has_judged() { [ "$(judged)" -ge "$1" ]; }
export FAKE_SLEEP=0.4
campaign 5 run slow.json slow --minutes 0
says "0 of 1 cells are done, 1 are left"
python3 "$root/tests/bench/campaign/campaign.py" run slow.json slow >cut 2>&1 &
await has_judged 1
kill -TERM $!
wait $!
[ $? = 5 ] || fail "an interrupted part: $(cat cut)"
first=$(judged)
python3 "$root/tests/bench/campaign/campaign.py" run slow.json slow >cut 2>&1 &
process=$!
await has_judged $((first + 1))
child=$(pgrep -P $process -f 'optimize')
kill -9 $process $child
wait $process 2>/dev/null
second=$(judged)
[ "$second" -gt "$first" ] || fail "$second verdicts after $first"
export FAKE_SLEEP=0
campaign 0 run slow.json slow
[ "$(judged)" -ge "$second" ] || fail "verdicts are lost"
python3 -c 'import json; r = json.load(open("slow/cells/axpy.recorded.sample.1/result.json")); assert r["judged"] == 6, r' || fail "the resumed cell"

# Input
for change in 's["problem"] = []' 's["problems"] = []' 's["budget"] = {"candidate": 1}' 's["models"] = [{"name": "x"}]' 's["problems"].append({"name": "x"})' \
    's["problems"] *= 2' 's["models"] = 3'; do
    spec bad.json "$change"
    campaign 2 run bad.json bad
    [ "$(grep -c '^campaign.py: ' err)" = 1 ] || fail "$change: $err"
done
echo '{' >bad.json
campaign 2 run bad.json bad
campaign 2 run missing.json bad
campaign 2 run all.json all --only 'nothing*'
campaign 2 verify all.json all --as ../x
spec bad.json 's["problems"] = ["no_such_task"]'
campaign 1 run bad.json bad
says "no_such_task"

# The judge itself
spec real.json 's["problems"] = ["axpy"]; s["strategies"] = ["auto"]; s["budget"] = {"candidates": 3}; s["arguments"] = ["--device", "cpu", "--seconds", "0.05"]; s["eval_arguments"] = ["--device", "cpu", "--seconds", "0.05"]'
campaign 0 run real.json real
campaign 0 verify real.json real
campaign 0 report real.json real
# On a busy machine no candidate may be faster, so there is no winner to verify.
grep -q '^| – | auto | 1 | 100 % ' real/table.md && grep -q '^| axpy | – | recorded | auto | 1 | ' real/table.md || fail "$(cat real/table.md)"
finish
