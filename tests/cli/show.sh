#!/bin/bash
# list and show on a store that make_store wrote, and on files that are not stores.
source "$(dirname "$0")/lib.sh"

# Without a store at the default path, there are no runs yet. A named store has to exist.
expect 2 list
complains "no store there yet"
store=$KFORGE_STORE
unset KFORGE_STORE
expect 0 list
complains "no runs yet"
expect 0 list --json
json 'o == {"schema": "kforge-runs/1", "runs": []}'
expect 2 show
complains "no runs yet"
export KFORGE_STORE=$store

run=$("$bin/../tests/make_store" "$KFORGE_STORE" "$root/tasks/axpy") || fail make_store
expect 0 list
says "$run"
says "1.84x"
expect 0 list -q
[ "$out" = "$run" ] || fail "ids: $out"
expect 2 list --ids
complains "the option --ids was removed; use --quiet"
expect 0 list --json
json 'o["runs"][0]["id"] == "'"$run"'" and abs(o["runs"][0]["best_speedup"]["value"] - 1.84) < 0.01 and o["runs"][0]["status"] == "finished"'
expect 0 list --task axpy --quiet
[ "$out" = "$run" ] || fail "--task"
expect 2 list --task nothing
complains "no task named nothing"
expect 0 list --tasks --json
json '[t["folder"] for t in o["tasks"] if t["runs"] == 1] == ["'"$(dirname "$bin")"'/share/kforge/tasks/axpy"] and len(o["tasks"]) >= 14'
KFORGE_ROOT=$work/nothing expect 0 list --tasks --json
json '[(t["name"], t["folder"], t["runs"]) for t in o["tasks"]] == [("axpy", None, 1)]'
(cd "$root" && "$program" list --tasks --json) >out
json 'len(o["tasks"]) >= 14 and [t for t in o["tasks"] if t["name"] == "axpy" and t["folder"] == "tasks/axpy" and t["candidates"] == 6]'
mkdir -p tasks/broken && echo '{' >tasks/broken/task.json
expect 0 list --tasks
complains "left out: tasks/broken/task.json"
expect 0 list --tasks -q
[[ -z $err && $(grep -cx axpy out) = 1 && $(wc -w <out) = $(wc -l <out) && $(wc -l <out) -ge 14 ]] || fail "names: $out $err"

# A run, by any name
expect 0 show
says "Run $run of axpy: finished"
whole=$out
for word in latest last "$run" "${run:0:8}"; do
    expect 0 show "$word"
    [ "$out" = "$whole" ] || fail "show $word"
done
says "best      c3, 1.84x [1.83, 1.85] over the baseline, measured again in fresh processes"
says "attempts  7: 6 judged, 1 no_source"
says "verdicts  6 candidates: 3 correct, 1 interference, 1 wrong_result, 1 compile_error"
says "5 calls, 6,000 tokens in, 1,700 out, \$0.05"
says "once      ITEMS=8"
says "the reply holds no code block"
expect 0 show --top 1 --attempts 2 --json
json 'o["best"] == "c3" and o["best_reverified"] and len(o["candidates"]) == 1 and [a["number"] for a in o["latest_attempts"]] == [6, 7]'
json 'o["statuses"]["correct"] == 3 and o["spent"]["calls"] == 5 and o["options"]["model"] == ["exec:./ask"] and o["seed"] == "7"'
json '[p["faster"] for p in o["proposers"] if p["proposer"] == "tuner"] == [1]'

# The names of runs are the same for all commands, also for a run that does not exist.
for word in last latest "${run:0:8}"; do
    expect 0 show c3 --run "$word"
    says "Candidate c3 of axpy"
    expect 0 export --format raw --run "$word"
    [ "$(wc -l <out)" = 7 ] || fail "export --run $word: $(wc -l <out) rows"
    expect 0 export --format raw --run "$word" --output "set_$word"
    grep -q -- "--run $run" "set_$word/README.md" || fail "the card names another run: $(grep -e --run "set_$word/README.md")"
done
"$program" store merge "$KFORGE_STORE" --store copied.db >/dev/null && python3 - <<'END'
import sqlite3
c = sqlite3.connect("copied.db"); [c.execute(f"delete from {t}") for t in ("attempt", "run")]; c.commit()
END
for word in last latest; do
    expect 2 show $word --store copied.db
    complains "no runs"
    expect 2 export --run $word --store copied.db
    complains "no runs"
    expect 2 optimize --model "replay:copied.db#$word" "$root/tasks/axpy"
    complains "give the id of the run"
done

# Words that a reader knows, and the same counts in both views
cp "$KFORGE_STORE" words.db
python3 - <<'END'
import sqlite3
c = sqlite3.connect("words.db")
c.execute("update attempt set step = 'baseline' where number = 1")
c.execute("update attempt set step = 'verify', outcome = 'reverified', proposer = 'judge' where number = 3")
c.execute("update attempt set outcome = 'known' where number = 4")
c.execute("update attempt set outcome = 'same_code' where number = 5")
c.commit()
END
expect 0 show --store words.db
says "attempts  7: 3 judged, 1 judged before, 1 same machine code, 1 measured again, 1 no_source"
case $out in *" seed "* | *" judge "*) fail "a proposer that no reader knows: $out" ;; esac
grep -qE '^baseline +1 +1' out && grep -qE '^measured again +1 +1' out || fail "proposers: $out"
expect 0 watch --terminal --store words.db
says "correct   3 of 6 candidates"
says "results of 6 attempts"
case $out in *" seed "* | *" judge "*) fail "a proposer that no reader knows: $out" ;; esac

# A candidate has one figure in all views, that of its latest measurement. A refuted one is grey there.
# make_run measures candidates again.
"$bin/../tests/make_run" refuted.db "$root/tasks/axpy" 60 >/dev/null || fail make_run
expect 0 show --store refuted.db --top 1000
python3 - out >ranked <<'END'
import re, sys
rows = re.findall(r"(?m)^(c\d+) +([\d.]+x) +\[.*?\] +\d+  (once|twice|not confirmed)", open(sys.argv[1]).read())
print(*(f"{c} {figure}{', not confirmed' * (how == 'not confirmed')}" for c, figure, how in rows), sep="\n")
END
refuted=$(grep -c 'not confirmed' ranked)
[ "$refuted" -ge 2 ] && [ "$(wc -l <ranked)" -ge 20 ] || fail "candidates: $(cat ranked)"
for form in --tree "--format dot"; do
    # shellcheck disable=SC2086
    expect 0 show $form --store refuted.db
    grep -oE 'c[0-9]+ [a-z]+ [0-9.]+x(, not confirmed)?' out | sed -E 's/ [a-z]+ / /' >named
    [ "$(sort ranked)" = "$(sort -u named)" ] || fail "$form: other figures: $(diff <(sort ranked) <(sort -u named))"
done
[ "$(grep -c 'not confirmed.*fillcolor="#dddddd"' out)" = "$refuted" ] || fail "not grey in a picture: $out"
for view in "" --tree; do
    script -qec "stty cols 120; '$program' show $view --store refuted.db --top 1000" /dev/null >screen </dev/null
    [ "$(grep -cE $'\x1b\\[90mc[0-9]+.*not confirmed' screen)" = "$refuted" ] || fail "show $view: not grey: $(cat -v screen)"
    # Colours take no columns.
    sed $'s/\x1b\\[[0-9]*m//g; s/\r//' screen | sed -n '/^BEST/,/^$/p' >plain
    COLUMNS=120 "$program" show $view --store refuted.db --top 1000 | sed -n '/^BEST/,/^$/p' | cmp - plain || fail "show $view: other columns: $(cat plain)"
done

# Candidates
expect 0 show c3
says "Candidate c3 of axpy"
says "correct, 1.84x [1.83, 1.85], faster, measured twice"
case $out in *message*) fail "the same in other digits: $out" ;; esac
says "674 us"
says "user_ns, seccomp"
says "KernelBench would say: correct (5 / 5), 674 us, 1.39x over the eager baseline"
says "the GPU was too hot in 12 of 60 timed batches of workload main; remedy: cool it"
case $out in *suspicious*) fail "throttling is called suspicious: $out" ;; esac
grep -qE '^c2 +correct +1.41x +c3 +base$' out || fail "the row of a child has its ancestor's speedup: $out"
expect 0 show c3 --json
json 'o["id"] == "c3" and o["source"] == "// vectors\n" and o["verdict"]["status"] == "correct" and [a["parent"] for a in o["ancestors"]] == ["c2", "c1"] and o["children"] == ["c4", "c5"]'
hash=$(python3 -c 'import json; print(json.load(open("out"))["hash"])')
expect 0 show "${hash:0:12}"
says "Candidate c3 of axpy"
expect 0 show c3 --source
[ "$out" = "// vectors" ] || fail "source: $out"
expect 0 show c3 --samples
[ "$(grep -c '^main *baseline' <<<"$out")" = 4 ] || fail "samples"
expect 0 show c3 --run "$run"
says "proposed  run $run, attempt 3"
expect 0 show c4
says "4,096    1,048,576  tail from 1044480"
says "wrong_result (output.mismatch)"
expect 0 show c5
says "'idx' was not declared in this scope"
expect 0 show c6
says "fault     the machine's, not the candidate's"

# Tasks
expect 0 show axpy
says 'extern "C" void axpy(const float *x, float *y, float a, int64_t n, cudaStream_t stream)'
stored=$out
expect 0 show "$root/tasks/axpy"
[ "$(tail -n +2 <<<"$out")" = "$(tail -n +2 <<<"$stored")" ] || fail "the stored task differs from the folder"

# Things that do not exist.
expect 2 show c99
complains "no candidate 99"
expect 2 show zzzz
complains "zzzz: no run, candidate or task has this name"
expect 2 show --source
complains "--source is for a candidate, but this is a run"
expect 2 show axpy --samples
complains "this is a task"
expect 2 show ./missing
complains "missing"
expect 2 show c3 --run zzz
complains "no run zzz"

# Files that are not stores, or that block a store's path.
expect 2 list --store missing.db
complains "no store there yet"
echo hello >text.db
expect 2 list --store text.db
complains "not a kforge store"
: >empty.db
expect 2 list --store empty.db
complains "the file is empty"
expect 2 list --store .
complains "is a folder"
cp "$KFORGE_STORE" newer.db
python3 -c 'import sqlite3; c = sqlite3.connect("newer.db"); c.execute("pragma user_version = 999"); c.commit()'
expect 2 show --store newer.db
complains "newer"
head -c 20000 "$KFORGE_STORE" >cut.db
expect 3 show --store cut.db
complains "cut.db"
cp "$KFORGE_STORE" readonly.db
chmod 400 readonly.db
expect 0 show --store readonly.db
says "Run $run"
# A writer does not stop readers.
python3 - "$KFORGE_STORE" "$program" <<'END' || fail "a locked store stops readers"
import sqlite3, subprocess, sys
c = sqlite3.connect(sys.argv[1]); c.execute("begin immediate")
sys.exit(subprocess.run([sys.argv[2], "list", "-q"], stdout=subprocess.DEVNULL).returncode)
END
finish
