#!/bin/bash
# tests/bench/campaign: a recorded model, cells and parts that are cut and killed, a winner that fails its verification, losses, bad specs. The last cells are judged for real.
source "$(dirname "$0")/lib.sh"
fake=$bin/../tests/fake_worker
script=$root/tests/bench/campaign/campaign.py
export PYTHONDONTWRITEBYTECODE=1
campaign() { # campaign STATUS ARGUMENT…
    local status=$1 got
    shift
    python3 "$script" "$@" >out 2>err </dev/null
    got=$? out=$(cat out) err=$(cat err)
    [ $got = "$status" ] || fail "campaign.py $*: exit status $got, expected $status; $out $err"
}
spec() { # spec FILE PYTHON: a specification, changed by a statement about `s`
    python3 - "$1" "$program" "$fake" "$root" "$2" <<'END'
import json, sys
path, program, fake, root, change = sys.argv[1:]
recorded = {"name": "recorded", "spec": f"replay:{root}/tests/replay/axpy.jsonl", "answered_by": "a <recording>"}
s = {"kforge": program, "problems": [{"task": "axpy", "level": "1"}, {"task": "gemv", "level": "2"}], "models": [recorded],
     "budget": {"evals": 5}, "arguments": ["--workers", fake], "eval_arguments": ["--workers", fake],
     "notes": {"axpy.recorded.auto.1": "It says a|b & <script>."}}
exec(change)
json.dump(s, open(path, "w"))
END
}
holds() { # holds FILE PYTHON: the expression is true of the JSON document `d`
    python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' "$1" "$2" || fail "$1: not true: $2"
}
complains_of() { case $err in *"$1"*) ;; *) fail "no \"$1\": $err" ;; esac; }

spec all.json ''
campaign 2 table all.json all
complains_of "no cell is done"
campaign 0 check all.json all
says "2 of 2 problems are ready"
campaign 0 run all.json all
says "4 of 4 cells are done, 0 are left"
before=$(cat all/cells/*/result.json | sha256sum)
campaign 0 run all.json all
[ "$(cat all/cells/*/result.json | sha256sum)" = "$before" ] || fail "a finished cell ran again"
campaign 0 table all.json all
says "geometric mean – of 0 pairs"
says "not verified: 4"
campaign 0 verify all.json all --as first
campaign 0 table all.json all
says "of 2 pairs"
holds all/table.json 'all("first" in p["times"] and p["times"]["first"]["own"] > 0 for p in d["problems"].values())'
# A second verification, in which one winner is wrong: it counts as unsolved.
printf '\n#pragma fake: status wrong_result\n' >>all/cells/gemv.recorded.sample.1/best.cu
printf '\n#pragma fake: speed 0.5\n' >>all/cells/gemv.recorded.auto.1/best.cu
campaign 1 verify all.json all --as second
says "gemv.recorded.sample.1: baseline: wrong_result"
campaign 0 table all.json all
says "of 1 pairs"
says "auto alone verified 1"
says "refuted: 1"
says "loss: "
grep -q '^| gemv | 2 | recorded | sample | 1 | refuted: wrong_result | .* | wrong_result | ' all/table.md || fail "$(cat all/table.md)"
grep -q '^| gemv | 2 | recorded | auto | 1 | loss | .* | 0.5 \[' all/table.md || fail "$(cat all/table.md)"
# The exact intervals of 0 and 1 of 1, and of 1 of 2.
grep -q '^| 2 | recorded | sample | 0 of 1: 0 % \[0, 97\] ' all/table.md || fail "$(cat all/table.md)"
grep -q '^| 1 | recorded | auto | 1 of 1: 100 % \[3, 100\] ' all/table.md || fail "$(cat all/table.md)"
grep -q '^| 1 and 2 | recorded | sample | 1 of 2: 50 % \[1, 99\] ' all/table.md || fail "$(cat all/table.md)"
holds all/table.json '[c["speedup"][0] for c in d["cells"] if c["cell"] == "gemv.recorded.auto.1"] == [0.5]'
grep -qF 'It says a\|b &amp; &lt;script>.' all/table.md || fail "a note is not escaped in table.md"
[ "$(ls all/kernels)" = "$(printf '%s\n' {axpy,gemv}.recorded.{auto,sample}.1.cu)" ] || fail "$(ls all/kernels)"
[ "$(ls all/pages)" = "$(printf '%s\n' {axpy,gemv}.recorded.{auto,sample}.1.html)" ] || fail "$(ls all/pages)"

# A part that ends, an interrupt and a kill lose no verdict.
spec slow.json 's["problems"] = s["problems"][:1]; s["strategies"] = ["sample"]; s["budget"] = {"evals": 6}'
judged() { python3 -c 'import sqlite3, sys; print(sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True).execute("select count(*) from verdict").fetchone()[0])' slow/cells/axpy.recorded.sample.1/kforge.db 2>/dev/null || echo 0; }
has_judged() { [ "$(judged)" -ge "$1" ]; }
campaign 5 run slow.json slow --minutes 0
says "0 of 1 cells are done, 1 are left"
export FAKE_FREE=1 FAKE_GO=$work/go FAKE_LOG=$work/slow1
python3 "$script" run slow.json slow >cut 2>&1 &
await has_judged 1
kill -TERM $!
await grep -q 'campaign.py: interrupted' slow/cells/axpy.recorded.sample.1/log # kforge waits for a verdict
touch go
wait $!
[ $? = 5 ] || fail "an interrupted part: $(cat cut)"
first=$(judged)
export FAKE_GO=$work/never FAKE_LOG=$work/slow2
python3 "$script" run slow.json slow >cut 2>&1 &
process=$!
await has_judged $((first + 1))
child=$(pgrep -P $process -f 'optimize')
kill -9 $process $child
wait $process 2>/dev/null
second=$(judged)
[ "$second" -gt "$first" ] || fail "$second verdicts after $first"
unset FAKE_FREE FAKE_GO FAKE_LOG
campaign 0 run slow.json slow
[ "$(judged)" -ge "$second" ] || fail "verdicts are lost"
holds slow/cells/axpy.recorded.sample.1/result.json 'd["judged"] == 6'

# Jobs that are carried to another folder. The first part is cut while it works, and the search is killed meanwhile. No verdict is made twice.
cat >worker_program <<'END'
#!/bin/sh
# kforge worker [--spool DIR --once --cache DIR]
[ "${2:-}" = --spool ] && exec "$FAKE" --spool "$3" --once
exec "$FAKE"
END
chmod +x worker_program
export FAKE=$fake KFORGE=$work/worker_program FAKE_LOG=$work/judged
spec far.json 's["arguments"] = s["eval_arguments"] = []; s["jobs"] = {"sample": 4, "auto": 2}'
search() { python3 "$script" run far.json far --carried >far.out 2>&1 & search=$!; }
carry() { # carry NAME [OPTION…]: a part with all jobs that wait
    local name=$1
    shift
    campaign 0 pack far.json far "$name" "$@"
    sh "$name/work.sh" 600 >work.out 2>&1 || fail "work.sh: $(cat work.out)"
    campaign 0 unpack far.json far "$name/results"
}
wait_jobs() { [ "$(find far/spool/*/*/jobs -name '*.json' 2>/dev/null | wc -l)" -ge "$1" ]; }
# Carries parts until the command ends. Each part is unpacked twice, which is as good as once.
carry_all() { # carry_all NAME [OPTION…]
    local name=$1 number=0
    shift
    while [ $number -lt 60 ]; do
        await more || return
        over && break
        carry "$name$((number += 1))" "$@"
        campaign 0 unpack far.json far "$name$number/results"
    done
    wait $search || fail "status $?: $(cat far.out)"
}
over() { ! kill -0 $search 2>/dev/null; }
more() { over || wait_jobs 1; }
search
await test -d far/spool/search/gemv.recorded.auto.1/jobs
campaign 2 run far.json far --carried
complains_of "another"
carry hello
says "0 verdicts for waiting jobs, 0 kept"
await wait_jobs 6
campaign 0 pack far.json far cut_part
FAKE_FREE=2 FAKE_GO=$work/never sh cut_part/work.sh 600 >work.out 2>&1 &
worker=$!
cut_there() { [ "$(find cut_part/results/verdicts -name '*.json' | wc -l)" = 2 ] && [ "$(wc -l <judged)" = 3 ]; }
await cut_there
kill -9 "$(pgrep -P "$(pgrep -P $worker)")" # work.sh, timeout, worker
wait $worker
killed=$(pgrep -P $search -f optimize)
kill -9 $search $killed
wait $search 2>/dev/null
campaign 0 unpack far.json far cut_part/results
search
# Two devices: their workers share the verdicts, and each takes all jobs of a task.
cat >two_devices <<'END'
#!/bin/sh
# kforge worker [--device DEVICE [--spool DIR --once]]
[ "$4" = --spool ] || exec "$FAKE"
[ "$3" != broken ] || exit 3
cat "$5"/jobs/*.json | grep -oE 'axpy|gemv' | sort -u >"$LANES/$3"
exec "$FAKE" --spool "$5" --once
END
chmod +x two_devices
mkdir lanes
# A job with a kept verdict is answered at once, and is not packed.
packs_a_job() { rm -rf probe && campaign 0 pack far.json far probe && [ -n "$(ls probe/jobs)" ]; }
await packs_a_job
LANES=$work/lanes KFORGE=$work/two_devices DEVICES="one two" carry devices
[ -s lanes/one ] && [ -e lanes/two ] && [ -z "$(comm -12 lanes/one lanes/two)" ] ||
    fail "devices and their tasks: $(head lanes/*)"
# A device that works judges the jobs of one that fails.
cp -r devices broken_device
rm -r broken_device/results
sed 's/^cat .*//' two_devices >one_device
chmod +x one_device
FAKE_LOG='' KFORGE=$work/one_device DEVICES="broken one" sh broken_device/work.sh 600 >work.out 2>&1 || fail "work.sh: $(cat work.out)"
grep -q "one judges [1-9][0-9]* jobs of devices that failed" work.out || fail "$(cat work.out)"
[ "$(ls broken_device/results/verdicts)" = "$(ls broken_device/jobs)" ] || fail "jobs of a broken device are left: $(cat work.out)"
rm broken_device/tasks.txt
FAKE_LOG='' DEVICES=one sh broken_device/work.sh 600 >work.out 2>&1 && fail "no tasks: $(cat work.out)"
grep -q "tasks.txt is missing; pack this part again" work.out || fail "$(cat work.out)"
carry_all part
grep -q '4 of 4 cells are done' far.out || fail "$(cat far.out)"
# The verdicts of the cut part are in the stores, or kept for a job that never came. No later part made them again.
python3 - "$program" far cut_part/results part*/results <<'END' || fail "verdicts are lost, or made twice"
import glob, json, os, subprocess, sys
def key(v): return json.dumps([v[k] for k in ("task", "source_hash", "flags", "status", "reverified", "speedup")])
program, out, cut, *later = sys.argv[1:]
stored = set()
for store in glob.glob(out + "/cells/*/kforge.db"):
    rows = subprocess.run([program, "export", "--format", "raw", "--store", store], capture_output=True, text=True, check=True)
    stored |= {key(json.loads(row["verdict"])) for row in map(json.loads, rows.stdout.splitlines()) if row["verdict"]}
stored |= {key(json.load(open(path))["verdict"]) for path in glob.glob(out + "/spool/search/*/kept/*.json")}
def made(folder):
    jobs = json.load(open(folder + "/index.json"))["jobs"]
    return {tuple(jobs[os.path.basename(path)[:-5]]): key(json.load(open(path))) for path in glob.glob(folder + "/verdicts/*.json")}
first = made(cut)
assert len(first) == 2, first
assert set(first.values()) <= stored, (first, stored)
for folder in later: assert not set(made(folder)) & set(first), (folder, first)
END
# A part leaves out a job that is about to be answered with a kept verdict, and takes its twin.
python3 - "$root" <<'END'
import json, os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + "/tests/bench/campaign")
import campaign_carry as carry
spool = carry.Spool("answered", "search", "cell")
for name, source in {"a": "ab", "b": "ab", "c": "c", "d": "de", "e": "de"}.items():
    carry.write_whole(spool.path("jobs", name + ".json"), json.dumps({"id": name, "source": source}))
for source in ("ab", "de"):
    carry.keep(spool.folder, source, carry.digest({"source": source}), {"id": source, "blame": "candidate"})
carry.write_whole(spool.path("verdicts", "d.json"), "{}") # given just now, and its kept verdict is about to be removed
os.symlink("removed", spool.path("kept", "removed.json"))
END
campaign 0 pack far.json answered answered_part
[ "$(ls answered_part/jobs)" = "$(printf '%s\n' b.json c.json e.json)" ] || fail "a job with a kept verdict is packed: $(ls answered_part/jobs)"
# Another card is refused for this search, and may verify it.
export FAKE_CONDITIONS="another card"
python3 "$script" verify far.json far --carried --as other >far.out 2>&1 &
search=$!
await test -d far/spool/other/gemv.recorded.auto.1.baseline/jobs
carry other --as other
carry_all other --as other
campaign 0 pack far.json far wrong
sh wrong/work.sh 60 >work.out 2>&1
campaign 2 unpack far.json far wrong/results
complains_of "another card"
unset FAKE_CONDITIONS FAKE_LOG
# A result of KernelBench's evaluator
mkdir -p other/kernelbench/axpy.recorded.auto.1
touch other/kernelbench/axpy.recorded.auto.1/{problem,solution}.py
printf '#!/bin/sh\necho "kforge: {\\"correctness\\": true, \\"timed\\": [{\\"median_ms\\": 2}]}"\n' >python_stub
chmod +x python_stub
KFORGE_PYTHON=$work/python_stub sh other/work.sh 60 >work.out 2>&1 || fail "$(cat work.out)"
campaign 0 unpack far.json far other/results
campaign 0 table far.json far
holds far/table.json 'len(d["cells"]) == 4 and all(c["judged"] == 5 and c["verified"]["other"][0] == "correct" for c in d["cells"])'
holds far/table.json '[c["kernelbench"]["other"]["correct"] for c in d["cells"] if c["kernelbench"]] == [True]'

# Input
for change in 's["problem"] = []' 's["problems"] = []' 's["budget"] = {"candidates": 1}' 's["models"] = [{"name": "x"}]' 's["problems"].append({"name": "x"})' \
    's["problems"] *= 2' 's["kforge"] = "/no/kforge"' 's["models"] = 3' 's["problems"] = [{"import": "torch x.py"}]' 's["problems"] = [{"name": "x", "import": "torch {mine}/x.py"}]'; do
    spec bad.json "$change"
    campaign 2 run bad.json bad
    [ "$(grep -c '^campaign.py: ' err)" = 1 ] || fail "$change: $err"
done
echo '{' >bad.json
campaign 2 run bad.json bad
campaign 2 run missing.json bad
campaign 2 run all.json all --only 'nothing*'
campaign 2 verify all.json all --as ../x
campaign 2 pack all.json all all
spec bad.json 's["problems"] = ["no_such_task"]'
campaign 1 run bad.json bad
says "no_such_task"
spec bad.json 's["problems"].append({"name": "x", "import": "torch {mine}/x.py"})'
campaign 1 check bad.json bad --folder mine=nowhere
says "2 of 3 problems are ready"
campaign 1 run bad.json bad --folder mine=nowhere
campaign 5 table bad.json bad
grep -q '^| x | – | recorded | auto | 1 | no task: ' bad/table.md || fail "$(cat bad/table.md)"

# The judge itself, through parts
unset KFORGE
spec far.json 's["problems"] = ["axpy"]; s["strategies"] = ["auto"]; s["budget"] = {"evals": 3}; s["arguments"] = s["eval_arguments"] = ["--seconds", "0.05"]'
export DEVICES=cpu KFORGE=$program
rm -rf far
search
await test -d far/spool/search/axpy.recorded.auto.1/jobs
carry real
carry_all real
campaign 0 table far.json far
grep -q '^| axpy | – | recorded | auto | 1 | not verified | ' far/table.md || fail "$(cat far/table.md)"
finish
