#!/bin/bash
# kforge bench from the outside: models and solutions, scores, going on after kill -9, reports, comparisons. Mostly with workers that judge by what
# stands in the candidate (fake_worker.c), at the end with the real one.
source "$(dirname "$0")/lib.sh"
fake=$bin/../tests/fake_worker
replay="replay:$root/tests/replay/{task}.jsonl"
suite=(--only axpy --only transpose --only row_softmax)
id() { sed -n 's/^bench \([a-z0-9]*\):.*/\1/p' "$work/err"; }

# ---- samples of a model: scores against an independent computation from the CSV
expect 0 bench "$root/tasks" "${suite[@]}" --model "$replay" --samples 3 --workers "$fake*2" --html page.html --csv rows.csv --md page.md
says "3 of 3 problems"
# The log, the table and the page have the same best and the same counts of samples.
python3 - out err page.html <<'END' || fail "log, table and page differ: $out $err"
import re, sys
table, log, page = (open(name, encoding="utf-8").read() for name in sys.argv[1:])
logged = re.findall(r"(\w+) +best (\S+) (\[[^]]*\]), samples: (.+?)  \(\d of 3\)", log)
assert len(logged) == 3, log
for task, best, interval, samples in logged:
    assert re.search("(?m)^%s  +%s  +%s  +%s  " % tuple(map(re.escape, (task, best, interval, samples))), table), task
    assert ">%s</td>" % samples in page, (task, samples)
for name, words in re.findall(r"(?m)^(samples|compile rate|correctness rate|cheat rate)  +(\d[^[\n%]*)", table):
    assert '<th scope="row">%s</th><td>%s' % (name, words.strip()) in page, (name, words)
assert re.findall(r"(?m)^pass@(\d+)", table) == re.findall(r">pass@(\d+)<", page)
END
whole=$(id)
expect 0 bench report "$whole" --json --fast 0 --fast 1 --fast 1.2 --fast 1.6
cp out whole.json
python3 - whole.json rows.csv <<'END' || fail "scores differ from those computed from the CSV"
import csv, itertools, json, math, statistics, sys
report, rows = json.load(open(sys.argv[1])), list(csv.DictReader(open(sys.argv[2], newline="")))
problems = {}
for row in rows:
    problems.setdefault(row["task"], []).append(float(row["speedup"]) if row["correct"] == "1" else None)
names = [p["task"] for p in report["problems"]]
assert sorted(names) == sorted(problems) == ["axpy", "row_softmax", "transpose"], names
def near(a, b):
    assert abs(a - b) < 1e-6, (a, b)
def at_least_one(values, k, p): # over all subsets of k samples
    k = min(k, len(values))
    sets = list(itertools.combinations(values, k))
    return sum(any(v is not None and (p <= 0 or v > p) for v in s) for s in sets) / len(sets)
scores = report["scores"]
for entry in scores["fast_p"]:
    near(entry["share"]["value"], statistics.mean(at_least_one(v, entry["k"], entry["p"]) for v in problems.values()))
    assert entry["share"]["low"] <= entry["share"]["value"] <= entry["share"]["high"]
for entry in scores["pass_at_k"]:
    near(entry["share"]["value"], statistics.mean(at_least_one(v, entry["k"], 0) for v in problems.values()))
best = [max(v for v in values if v is not None) for values in problems.values()]
near(scores["geometric_mean"]["value"], math.exp(statistics.mean(map(math.log, best))))
near(scores["median"]["value"], statistics.median(best))
every = [v for values in problems.values() for v in values]
near(scores["correctness_rate"]["value"], sum(v is not None for v in every) / len(every))
assert scores["samples"] == len(every) == 8, len(every) # transpose has two replies
END
grep -q '| problem | best |' page.md || fail "no table in Markdown"

# The page: well formed, nothing from elsewhere.
cat >"$work/page.py" <<'END'
import html.parser, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
class Page(html.parser.HTMLParser):
    open_, void, scripts, said = [], {"meta", "input", "br", "img", "link"}, 0, ""
    def handle_starttag(self, tag, attributes):
        self.scripts += tag == "script"
        assert tag not in ("img", "link", "iframe", "object", "b2", "marquee"), tag
        for name, value in attributes:
            assert not name.startswith("on") and name not in ("src", "href", "srcset", "action"), (tag, name)
        if tag not in self.void: self.open_.append(tag)
    def handle_startendtag(self, tag, attributes):
        pass # <path …/> of a chart
    def handle_endtag(self, tag):
        assert self.open_ and self.open_[-1] == tag, (tag, self.open_[-3:])
        self.open_.pop()
    def handle_data(self, data):
        self.said += data
page = Page()
page.feed(text)
page.close()
assert not page.open_, page.open_
assert page.scripts == 1, page.scripts
assert not re.search(r"(?i)https?://|//[a-z0-9-]+\.[a-z]|url\(|@import|{{", text), "refers to something"
for word in sys.argv[2:]:
    assert word in page.said, word
END
python3 page.py page.html axpy transpose row_softmax fast_p "problems solved" || fail "the page is not sound"
[ "$(grep -c '<svg' page.html)" -ge 2 ] || fail "charts are missing"
# Each sample has its candidate, source, change and reply; each problem has its interval.
python3 - page.html <<'END' || fail "the page lacks texts behind its samples"
import re, sys
text = open(sys.argv[1], encoding="utf-8").read()
for word in ("source", "reply", "change from the baseline"):
    assert text.count(f"<summary>{word}</summary>") == 8, (word, text.count(f"<summary>{word}</summary>"))
assert len(set(re.findall(r'<span class="id">c(\d+)</span>', text))) == 8
assert text.count('class="whisker"') == 3
assert re.search(r"0 of 8, 0.0 % <small>95 % \[0, 37\]</small>", text), re.findall(r"cheat rate.{0,90}", text)
END

# ---- kill -9 in the middle: what is there stays, the same attempts are made in the end
export KFORGE_STORE=$work/killed.db FAKE_LOG=$work/jobs
jobs_begun() { [ "$(wc -l <"$FAKE_LOG")" -ge "$1" ]; }
gone() { # a worker of the bench
    case $(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null) in '' | Z | X) ;; *) return 1 ;; esac
}
FAKE_FREE=2 "$program" bench "$root/tasks" "${suite[@]}" --model "$replay" --samples 3 --workers "$fake*2" >/dev/null 2>"$work/killed.err" &
pid=$!
await jobs_begun 4
kill -9 $pid
wait $pid 2>/dev/null
for worker in $(awk '{print $3}' "$FAKE_LOG" | sort -u); do await gone "$worker"; done
unset FAKE_LOG
expect 0 bench report last --json
json 'sum(len(p["samples"]) for p in o["problems"]) < 8'
expect 0 bench --resume last --workers "$fake*2"
expect 0 bench report last --json
cp out resumed.json
python3 - whole.json resumed.json <<'END' || fail "after kill -9 the attempts are not the same"
import json, sys
def attempts(path):
    return {p["task"]: sorted((s["hash"], s["status"], s["speedup"]["value"] if not s["reverified"] else 0) for s in p["samples"]) for p in json.load(open(path))["problems"]}
a, b = (attempts(p) for p in sys.argv[1:])
hashes = lambda x: {t: [s[:2] for s in v] for t, v in x.items()}
assert hashes(a) == hashes(b), (a, b)
END

# ---- Ctrl-C: verdicts under way are waited for; a worker that fails fails its task, and says how to go on
export KFORGE_STORE=$work/interrupted.db
FAKE_LOG=$work/interrupted FAKE_FREE=0 FAKE_GO=$work/go-on "$program" bench "$root/tasks" "${suite[@]}" --model "$replay" --samples 3 --workers "$fake" >out 2>err &
pid=$!
await [ -s interrupted ]
interrupt $pid
touch go-on
wait $pid
[ $? = 130 ] || fail "exit status not 130: $(cat err)"
grep -q "continue with: kforge bench --resume b" err || fail "does not say how to go on: $(cat err)"
expect 3 bench "$root/tasks" --only axpy --model "$replay" --workers 'exit 7' --store failing.db
case $err in *"status 7"*) ;; *) fail "does not say why: $err" ;; esac
# --quiet leaves the reason of a failure, and of a bench without one only the report.
expect 3 bench "$root/tasks" --only axpy --model "$replay" --workers 'exit 7' --store failing.db --quiet
complains "status 7"
expect 0 bench "$root/tasks" --only axpy --model "$replay" --workers "$fake" --store calm.db -q
[[ -z $err && $out == *"1 of 1 problems"* ]] || fail "--quiet: $out $err"

# ---- one machine's figures: where a bench was begun it goes on, and of different workers the first decides
export KFORGE_STORE=$work/machines.db
on() { echo "exec env FAKE_HARDWARE='$1' $fake"; }
expect 1 bench "$root/tasks" "${suite[@]}" --candidates 1 --workers "$(on 'cpu A')"
begun=$(id)
expect 2 bench --resume "$begun" --candidates 6 --time 200s --workers "$(on 'cpu B')" --workers "$(on 'cpu C')" --html page2.html
[ "$(grep -c '^kforge: ' err)" = 1 ] || fail "not one line: $err"
case $(grep '^kforge: ' err) in *"$begun"*" cpu A"*"resume it there, or start another one"*) ;; *) fail "does not say where it began: $err" ;; esac
[ -z "$out" ] && [ ! -e page2.html ] || fail "a report of nothing new: $out"
expect 0 bench --resume "$begun" --candidates 6 --time 200s --workers "$(on 'cpu B')" --workers "$(on 'cpu A')" --json
json 'all(p["state"] == "finished" and p["best"] for p in o["problems"])'
case $err in *"it judges on cpu B"*"left out"*) ;; *) fail "does not say that a worker is left out: $err" ;; esac
mkdir one
cp -r "$root/tasks/axpy" one/
mkdir -p of/axpy
for n in 2 3; do printf '// fake: speed %d\nextern "C" void axpy(const float *x, float *y, float a, long n, void *s) {}\n' $n >of/axpy/$n.cu; done
FAKE_LOG=$work/machine FAKE_FREE=0 FAKE_GO=$work/machine.go "$program" bench one --solutions of --workers "$(on 'cpu A')" --store solved.db >out 2>err &
pid=$!
await [ -s machine ]
interrupt $pid
touch machine.go
wait $pid
err=$(cat err)
expect 2 bench --resume "$(id)" --workers "$(on 'cpu B')" --store solved.db
case $(grep '^kforge: ' err) in *" cpu A"*"resume it there, or start another one"*) ;; *) fail "does not say where it began: $err" ;; esac
# Two kinds from the start, slow enough that both have a task if they are let: runs of one of them alone.
FAKE_SLEEP=0.05 expect 0 bench "$root/tasks" "${suite[@]}" --candidates 4 --time 200s --workers "$(on 'cpu A')" --workers "$(on 'cpu B')" --store two.db
case $err in *"left out"*) ;; *) fail "does not say that a worker is left out: $err" ;; esac
expect 0 list --json --store two.db
json 'len(o["runs"]) == 3 and len({r["device"] for r in o["runs"]}) == 1'

# ---- a lane that is killed costs its task, which can be taken up again
export KFORGE_STORE=$work/lane.db
FAKE_LOG=$work/lane FAKE_FREE=0 FAKE_GO=$work/go-again "$program" bench "$root/tasks" "${suite[@]}" --model "$replay" --samples 2 --workers "$fake" >out 2>err &
pid=$!
await [ -s lane ]
for child in $(cat "/proc/$pid/task/$pid/children"); do kill -9 "$child"; done
touch go-again # the other tasks
wait $pid
[ $? = 3 ] || fail "exit status not 3 after a lane was killed: $(cat err)"
grep -q "signal 9" err || fail "does not say what became of the lane: $(cat err)"
expect 0 bench report last --json
json 'sum(len(p["samples"]) for p in o["problems"]) < 6'
expect 0 bench --resume last --workers "$fake" --json
json '[len(p["samples"]) for p in o["problems"]] == [2, 2, 2] and all(p["state"] == "finished" for p in o["problems"])'

# ---- money: divided among the tasks, never exceeded; what is paid for is judged; with more of it the bench goes on
export KFORGE_STORE=$work/money.db
cat >ask.sh <<'END'
#!/bin/bash
cat >/dev/null
printf '{"text": "```cuda\\nextern \\"C\\" void %s(int a%s_%s) {}\\n```", "cost_usd": 0.01}\n' "$1" $$ $RANDOM
END
chmod +x ask.sh
expect 0 bench "$root/tasks" "${suite[@]}" --model 'exec:./ask.sh {task}' --samples 9 --calls 1 --cost 0.12 --workers "$fake*2" --json
json 'abs(o["cost_usd"] - 0.12) < 1e-9 and o["calls"] == 12 and [len(p["samples"]) for p in o["problems"]] == [4, 4, 4]'
case $err in *"continue with"*) ;; *) fail "does not say that money was short: $err" ;; esac
expect 0 bench --resume last --cost 1 --workers "$fake" --json
json 'abs(o["cost_usd"] - 0.27) < 1e-9 and [len(p["samples"]) for p in o["problems"]] == [9, 9, 9]'

# ---- time: a sample that is cut at its end is judged with more time
cat >endless.sh <<END
cat >/dev/null
echo x >>drawn
printf '\`\`\`cuda\\n#pragma fake: %s\\nvoid axpy(int a%s) {}\\n\`\`\`' "\$([ \$(wc -l <drawn) = 1 ] || echo until $work/time-enough)" \$\$
END
for seconds in 4 16 64; do # until a busy machine judges the first one in time
    rm -f drawn
    export KFORGE_STORE=$work/cut-$seconds.db
    "$program" bench "$root/tasks" --only axpy --model "exec:bash endless.sh" --samples 2 --calls 1 --time "${seconds}s" --workers "$fake" --json >out 2>err
    err=$(cat err)
    [ "$(wc -l <drawn)" = 2 ] && grep -q 'samples: 1 correct' err && break
done
case $err in *"continue with"*) ;; *) fail "does not say that time was short: $err" ;; esac
touch time-enough
expect 0 bench --resume last --time 600s --workers "$fake" --json
json '[s["status"] for s in o["problems"][0]["samples"]] == ["correct", "correct"]'
[ "$(wc -l <drawn)" = 2 ] || fail "$(wc -l <drawn) replies for two samples"

# A command does not report its cost, so the limit has no effect. The warning appears once, not for
# each task.
sed 's/, "cost_usd": 0.01//' ask.sh >free.sh
chmod +x free.sh
expect 0 bench "$root/tasks" "${suite[@]}" --model 'exec:./free.sh {task}' --samples 2 --cost 0.12 --workers "$fake*2" --store free.db
[ "$(grep -c 'without "cost_usd".*--cost.*--time' err)" = 1 ] || fail "not said once: $err"

# ---- a search and a comparison
export KFORGE_STORE=$work/compared.db
expect 0 bench "$root/tasks" "${suite[@]}" --candidates 5 --time 200s --workers "$fake" --name tuned
says "no pass@k"
tuned=$(id)
# One task has no replies: it fails, the others go on.
expect 3 bench "$root/tasks" --only axpy --only transpose --only gemv --model "$replay" --samples 2 --workers "$fake" --store "$work/other.db"
says "2 of 3 problems"
case $err in *"gemv.jsonl"*) ;; *) fail "does not say why gemv failed: $err" ;; esac
expect 3 bench "$root/tasks" --only gemv --model "exec:false" --samples 2 --workers "$fake"
expect 0 bench compare "$tuned" "$work/whole.json"
says "problems in common"
expect 0 bench compare "$work/whole.json" "$work/kforge.db" --json # with itself, from its store: nothing changed
json 'o["problems"] == 3 and o["gained"] == o["lost"] == 0 and abs(o["ratio"]["value"] - 1) < 1e-6 and all(p["change"] == "not_shown_to_differ" for p in o["pairs"])'
expect 0 bench compare "$work/whole.json" "$work/kforge.db"
says "not shown to differ"
# One problem fewer solved: it flips, and its samples say why.
python3 - whole.json worse.json <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
for p in report["problems"]:
    for s in p["samples"] + ([p["best"]] if p["best"] else []):
        if p["task"] == "axpy":
            s.update(status="wrong_result", correct=False, speedup=None, text="element 7 of y is 1, expected 2")
        elif s["speedup"]:
            s["speedup"] = {k: 2 * v for k, v in s["speedup"].items()}
    if p["task"] == "axpy": p.update(best=None, statuses="3 wrong_result")
json.dump(report, open(sys.argv[2], "w"))
END
expect 0 bench compare "$work/whole.json" worse.json --json
json 'o["lost"] == 1 and o["both_solved"] == 2 and abs(o["ratio"]["value"] - 2) < 1e-6 and o["faster"] == 2'
json '[p["after"]["why"] for p in o["pairs"] if p["change"] == "lost"] == ["element 7 of y is 1, expected 2"]'
json 'abs(o["solved_change"]["value"] + 1 / 3) < 1e-9 and o["solved_change"]["low"] < o["solved_change"]["value"] < o["solved_change"]["high"] + 1e-9'
# The same name and another content is another problem.
expect 0 bench compare "$work/whole.json" "$work/whole.json" --json
json 'o["paired_by_name"] == 0 and o["problems"] == 3'
python3 - whole.json other.json <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
assert all(len(p["hash"]) == 64 for p in report["problems"])
report["problems"][0]["hash"] = "0" * 64
json.dump(report, open(sys.argv[2], "w"))
END
expect 0 bench compare "$work/whole.json" other.json
says "1 have the same name and different content"
says "2 problems in common"
expect 0 bench compare "$work/whole.json" other.json --by-name --json
json 'o["problems"] == 3 and o["paired_by_name"] == 1'
expect 2 bench compare "$work/whole.json" nothing
complains "nothing"

# ---- existing solutions, as KernelBench and CUDA-L1 leave them; names that want to be markup
export KFORGE_STORE=$work/solutions.db
mkdir -p 'suite/<b2>broken<script>' runs/axpy
echo '{' >'suite/<b2>broken<script>/task.json'
for n in 1 2; do
    cp -r "$root/tasks/axpy" "suite/${n}_axpy"
    sed -i "s/\"name\": \"axpy\"/\"name\": \"p$n\", \"origin\": {\"suite\": \"kernelbench\", \"level\": 1, \"problem\": $n}/" "suite/${n}_axpy/task.json"
done
source_of() { printf '// fake: %s\n' "$@"; echo 'extern "C" void axpy(const float *x, float *y, float a, long n, void *s) {}'; }
source_of "speed 1.5" >runs/level_1_problem_1_sample_0_kernel.cu
source_of "status wrong_result" >runs/level_1_problem_1_sample_1_kernel.cu
source_of "status cheating" >runs/level_1_problem_2_sample_0_kernel.cu
source_of "speed 3" >runs/level_1_problem_77_sample_0_kernel.cu
printf 'class ModelNew: pass\n' >runs/level_1_problem_2_sample_1_kernel.py
expect 0 bench suite --solutions runs --workers "$fake" --kernelbench scores --html hostile.html --name '<img src=x onerror=alert(1)> & "co"'
case $err in *"level_1_problem_77"*) ;; *) fail "a stranger is not named: $err" ;; esac
case $err in *"broken"*) ;; *) fail "a broken task is not named: $err" ;; esac
says "cheats, and speeds that are impossible"
python3 page.py hostile.html '<b2>broken<script>' '<img src=x onerror=alert(1)> & "co"' p1 cheating || fail "the page with hostile names is not sound"
expect 0 bench report last --json
json 'o["scores"]["problems"] == 3 and o["scores"]["solved"] == 1 and o["scores"]["samples"] == 3 and o["scores"]["void"] == 1 and o["scores"]["cheat_rate"]["value"] == 1 / 3'
json '[s["status"] for p in o["problems"] for s in p["samples"]] == ["correct", "wrong_result", "cheating", "not_judged"]'
python3 - <<'END' || fail "not KernelBench's files: $(cat scores/*.json)"
import json
results, analysis = json.load(open("scores/eval_results.json")), json.load(open("scores/eval_results_analysis.json"))
assert set(results) == {"1", "2"} and [s["sample_id"] for s in results["1"]] == [0, 1]
assert results["1"][0]["correctness"] and results["1"][0]["runtime"] > 0 and not results["1"][1]["correctness"] and results["1"][1]["runtime"] == -1.0
assert {"mean", "std", "min", "max", "num_trials", "hardware", "device"} <= set(results["1"][0]["runtime_stats"])
assert analysis["total_count"] == 2 and analysis["correct_count"] == 1 and analysis["compiled_count"] == 2
assert abs(analysis["geo_mean_speedup"] - 1.5) < 0.1 and analysis["fast_p"] == {"0.0": 0.5, "0.5": 0.5, "0.8": 0.5, "1.0": 0.5, "1.5": analysis["fast_p"]["1.5"], "2.0": 0}
END
expect 0 bench --resume last --workers 'exit 9' # all is judged: no worker does anything
python3 - >cuda_l1.jsonl <<'END'
import json
code = "// fake: speed %s\nextern \"C\" void axpy(const float *x, float *y, float a, long n, void *s) {}\n"
print(json.dumps({"level_id": 1, "task_id": 1, "ref_code": "", "custom_code": code % 1.25, "score_default": 17.7}))
print(json.dumps({"level_id": "1", "task_id": "2", "ref_code": "", "custom_code": None, "score_default": None}))
print(json.dumps({"level_id": 3, "task_id": 9, "ref_code": "", "custom_code": code % 2}))
END
expect 0 bench suite --solutions cuda_l1.jsonl --workers "$fake"
says "17.7x"
says "1.25x"
# The same best against another baseline of its task: a verdict of its own, kept, and not measured again.
mkdir -p softmax/row_softmax
source_of "speed 1.4" | sed 's/axpy(.*)/row_softmax(int a)/' >softmax/row_softmax/one.cu
export FAKE_LOG=$work/against
expect 0 bench "$root/tasks" --only row_softmax --only axpy --solutions softmax --workers "$fake" --against cudnn --json
json '[(a["baseline"], a["known"]) for a in o["against"]] == [("cudnn", 1)] and abs(o["problems"][1]["against"][0]["speedup"]["value"] - 1.4) < 0.1'
[ "$(wc -l <"$FAKE_LOG")" = 2 ] || fail "not two jobs: $(cat "$FAKE_LOG")"
expect 0 bench --resume "$(id)" --workers "$fake" # two benches of one second: which is the last is chance
says "fast_1 against cudnn"
[ "$(wc -l <"$FAKE_LOG")" = 2 ] || fail "measured again: $(cat "$FAKE_LOG")"
unset FAKE_LOG
source_of "speed 2" >'runs/axpy/"><i onmouseover=alert(2)>.cu'
expect 0 bench "$root/tasks" --only axpy --solutions runs --workers "$fake" --html file.html
python3 page.py file.html 'onmouseover=alert(2)' || fail "the page with a hostile file is not sound"

# ---- what can't be done is said in one line
expect 2 bench
complains "SUITE"
expect 2 bench nowhere
complains "nowhere"
expect 2 bench "$root/tasks" --only 'none_of_*'
complains "--only"
expect 2 bench "$root/tasks" --fast -1
complains "--fast"
for nothing in --time --candidates --cost; do # would read as "no limit"
    expect 2 bench "$root/tasks" $nothing 0
    complains "$nothing"
done
expect 2 bench "$root/tasks" --solutions "$root/docs"
complains "no solution"
for word in last latest; do
    expect 0 bench report $word
    expect 0 bench compare $word $word
    expect 2 bench report $word --store copied.db
    complains "no store"
done
expect 2 bench report zzz
complains "no bench"
# An output that can't be written, or a report that can't be made, is an error before the first task
# starts.
echo mine >kept
mkdir taken
for option in --html --csv --md --kernelbench; do
    for place in kept/there /proc/nowhere/there; do
        expect 2 bench suite --only 'p*' --model "exec:touch asked" --workers "$fake" --store early.db $option "$place"
        complains "$place"
        complains "with $option"
    done
    [ $option = --kernelbench ] && continue
    expect 2 bench suite --only 'p*' --model "exec:touch asked" --workers "$fake" --store early.db $option taken
    complains "taken"
done
expect 2 bench suite --only 'p*' --model "exec:touch asked" --workers "$fake" --store early.db --baseline-times nowhere.json
complains "nowhere.json"
expect 2 bench "$root/tasks" --only axpy --model "exec:touch asked" --workers "$fake" --store early.db --kernelbench there
complains "comes from KernelBench"
[ ! -e asked ] && [ ! -e early.db ] && [ ! -e there ] && [ -z "$(ls taken)" ] || fail "begun for nothing: $(ls)"
[ "$(cat kept)" = mine ] || fail "overwritten: $(cat kept)"
expect 1 bench "$root/tasks" --only axpy --candidates 1 --workers "$fake" --store early.db --html pages/of/axpy.html
[ -s pages/of/axpy.html ] || fail "no page in a new folder"

# ---- the real judge: a small task, an honest solution and one that answers zero
export KFORGE_STORE=$work/real.db
mkdir -p real/vecadd
cp "$root/tests/selftest/vecadd/baseline.cu" real/vecadd/same.cu
printf '#include <cuda_runtime.h>\n#include <stdint.h>\n' >real/vecadd/zeros.cu
sed -n 's/.*\(extern "C" void vecadd([^)]*)\).*/\1 {}/p' real/vecadd/same.cu >>real/vecadd/zeros.cu
for _ in {1..10}; do # a call of microseconds has no time at all where the machine is busy with other things
    "$program" bench "$root/tests/selftest" --only vecadd --solutions real --device cpu --seconds 0.05 --anew --json >out 2>err
    status=$?
    grep -q '"best":.*null\|"interference"' out || break
done
[ $status = 0 ] || fail "exit status $status: $(cat err)"
json '[s["status"] for s in o["problems"][0]["samples"]] == ["correct", "wrong_result"]'
json 'o["problems"][0]["samples"][0]["seconds"]["batches"] > 3 and o["problems"][0]["rooflines"][0]["bytes"] > 0 and o["bytes_per_second"] > 0'
finish
