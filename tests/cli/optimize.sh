#!/bin/bash
# kforge optimize from the outside, with workers that judge by what stands in the candidate (fake_worker.c).
source "$(dirname "$0")/lib.sh"
fake=$bin/../tests/fake_worker
task=$root/tasks/axpy
export FAKE_LOG=$work/jobs
gone() { # every worker that ever logged a job is gone, or soon is
    local pid
    for pid in $(awk '{print $3}' "$FAKE_LOG" | sort -u); do await has_ended "$pid"; done
}
has_ended() {
    case $(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null) in '' | Z | X) ;; *) return 1 ;; esac
}
jobs_begun() { [ "$(wc -l <"$FAKE_LOG")" -ge "$1" ]; }
# round DIR: a worker reads the folder once. asked DIR, filled DIR, replied DIR: true if the model
# was called, if jobs wait there, if its reply is among them.
round() { "$fake" --spool "$1" --once; }
asked() { round "$1" && [ -e "$1.asked" ]; }
filled() { [ "$(find "$1/jobs" -name '*.json' | wc -l)" -ge 2 ]; }
replied() { grep -q 'speed 7' "$1"/jobs/*.json; }
ended() { round "$1" && ! kill -0 "$2"; }

# A whole run: result on stdout, progress on stderr, the best as a file, and the commands that show it and go on.
expect 0 optimize "$task" --workers "$fake" --candidates 6
says "best "
says "measured again in fresh processes"
says "kforge show c"
says "--candidates 12"
case $err in *"new best"*) ;; *) fail "no progress: $err" ;; esac
[ "$(grep -c 'candidate.*: judged' err)" = 0 ] || fail "candidates without --verbose: $err"
source_file=$(sed -n 's/^source  *//p' out)
grep -q 'extern "C" void axpy' "$source_file" || fail "no source in $source_file"
resume=$(sed -n 's/^resume  *[^ ]*kforge //p' out)
# shellcheck disable=SC2086
expect 0 $resume --workers "$fake"
expect 0 show "$(sed -n 's/^candidate \(c[0-9]*\):.*/\1/p' out)"
expect 0 eval "$task" "$source_file" --workers "$fake"
gone

expect 0 optimize "$task" --workers "$fake" --candidates 4 --json --output best.cu --store other.db
json 'o["schema"] == "kforge-result/2" and o["judged"] == 4 and o["end"] == "spent" and o["best"]["reverified"]'
json 'o["best"]["speedup"]["low"] < o["best"]["speedup"]["value"] and o["best"]["source"].endswith("best.cu")'
grep -q axpy best.cu || fail "no best.cu"
# Both commands have one figure for the time of a run, also if it was resumed.
expect 0 optimize --resume "$(sed -n 's/.*"run":[[:space:]]*"\([^"]*\)".*/\1/p' out)" --workers "$fake" --candidates 6 --json --output best.cu --store other.db
seconds=$(python3 -c 'import json; print(json.load(open("out"))["seconds"])')
expect 0 show last --store other.db --json
json "o['seconds'] > 0 and abs(o['seconds'] / $seconds - 1) < 1e-12"  # 15 digits are stored

# --verbose shows each candidate, --quiet the line with the result.
expect 0 optimize "$task" --workers "$fake" --candidates 5 --store loud.db -v
[ "$(grep -cE '^ +[0-9.]+ m?s  (seed|tune|baseline) .*: ' err)" -ge 5 ] || fail "not each candidate: $err"
expect 0 optimize "$task" --workers "$fake" --candidates 5 --store calm.db -q
[[ -z $err && $out == "best "* && $(wc -l <out) = 1 ]] || fail "--quiet: $out $err"

# On a terminal one line is redrawn: candidates, the best, the rate, replies, money, the time left.
cat >answer.sh <<'END'
cat >/dev/null
sleep 0.2
[ -e refused ] || { touch refused; echo '{"text": "Sorry.", "cost_usd": 0.25}'; exit; }
printf '{"text": "```cuda\\n#pragma fake: note %s\\nvoid axpy() {}\\n```", "cost_usd": 0.25}' "$(date +%N)"
END
# A narrow terminal loses the least important parts first: 80 columns have both budgets, replies without code and money.
while IFS='|' read -r columns pattern; do
    rm -f refused terminal.db*
    FAKE_SLEEP=0.1 python3 - "$columns" "$pattern" "$program" optimize "$task" --workers "$fake" --model "exec:sh $work/answer.sh" --time 100s --candidates 900 --replies 800 --store terminal.db <<'END' || fail "the line of progress, $columns columns: $(cat terminal)"
import fcntl, os, pty, re, struct, sys, termios
columns, wanted = int(sys.argv[1]), re.compile(sys.argv[2])
shown, found = "", False
def read(fd):
    global shown, found
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    data = os.read(fd, 4096)
    shown += data.decode(errors="replace")
    if not found and any(map(wanted.fullmatch, re.split(r"[\r\n]|\x1b\[K", shown))):
        found = True
        os.write(fd, b"\3") # Ctrl-C: it has shown what is wanted
    return data
pty.spawn(sys.argv[3:], read, lambda fd: b"")
open("terminal", "w").write(shown)
sys.exit(not found)
END
done <<'END'
160|\d+ of 900 judged, \d+ correct, best \d+\.\d+x\??(, \d+/min)?, \d+ of 800 replies \(1 without code\), \$\d+\.\d\d, [\d.]+ s left
80|\d+/900 judged, best \d+\.\d+x\??, \d+/800 replies \(1 without code\), \$\d+\.\d\d, [\d.]+ s left
40|\d+/900 judged, best \d+\.\d+x\??, [\d.]+ s left
END

# Recorded replies, and a model that fails.
expect 0 optimize "$task" --workers "$fake" --model "replay:$root/tests/replay/axpy.jsonl" --store replay.db --json
json 'o["model_calls"] == 4'
# (By time: the tuner might spend a budget of candidates before the model has failed often enough.)
expect 3 optimize "$task" --workers "$fake" --model 'exec:echo no key >&2; false' --time 300s --store failing.db
says "best "
case $err in *"3 calls in a row failed, and no reply has come"*"no key"*) ;; *) fail "$err" ;; esac

# A budget of money does not bound a command that does not say what it costs: that is said, once, at its first reply.
cat >free.sh <<'END'
cat >/dev/null
printf '```cuda\n#pragma fake: note %s\nvoid axpy() {}\n```' "$(date +%N)"
END
told() { grep -c 'without "cost_usd".*--cost.*--time' err; }
expect 0 optimize "$task" --workers "$fake" --model "exec:sh $work/free.sh" --cost 1 --budget-requests 3 --strategy sample --store free.db
[ "$(told)" = 1 ] || fail "not said once: $err"
expect 0 optimize "$task" --workers "$fake" --model "exec:sh $work/answer.sh" --cost 0.5 --strategy sample --store dear.db --json
json 'o["cost_usd"] >= 0.5 and o["end"] == "spent"'
[ "$(told)" = 0 ] || fail "said of one that says what it costs: $err"
expect 0 optimize "$task" --workers "$fake" --model "exec:sh $work/free.sh" --budget-requests 3 --strategy sample --store free2.db
[ "$(told)" = 0 ] || fail "said without a budget of money: $err"
expect 0 optimize "$task" --workers "$fake" --model "replay:$root/tests/replay/axpy.jsonl" --cost 1 --store replayed.db
[ "$(told)" = 0 ] || fail "said of recorded replies, which cost nothing: $err"

# The example of an exec: program in the guide runs, against a server that stands for a model's.
sed -n '/^### Your own program/,/^### A coding/{/^```python/,/^```$/{/^```/!p}}' "$root/docs/guide/models.md" >ask.py
[ "$(wc -l <ask.py)" -ge 8 ] || fail "no example in the guide"
cat >model.py <<'END'
import http.server, json
class Model(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][0]["content"]
        text = "```cuda\n#pragma fake: speed 2.5\nvoid axpy() {}\n```" if "axpy" in asked else "?"
        body = json.dumps({"model": "m-1", "choices": [{"message": {"content": text}}],
                           "usage": {"prompt_tokens": 11, "completion_tokens": 7}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Model)
print(server.server_port, flush=True)
server.serve_forever()
END
coproc HTTP { exec python3 model.py; }
http_pid=$HTTP_PID
read -r http_port <&"${HTTP[0]}"
sed -i "s/:8080/:$http_port/" ask.py
no_proxy=127.0.0.1 expect 0 optimize "$task" --workers "$fake" --model "exec:python3 ask.py" --replies 1 --strategy sample --store example.db --json
kill "$http_pid"
json 'o["tokens"] == 18 and o["replies"] == 1 and o["best"]["speedup"]["value"] == 2.5'
# A program that is not there is an error before anything is judged.
expect 2 optimize "$task" --workers "$fake" --model "exec:./nowhere.py --fast" --store nowhere.db
complains "there is no program ./nowhere.py"
expect 2 optimize "$task" --workers "$fake" --model "exec:python3 $work/nowhere.py" --store nowhere.db
complains "python3 finds no script $work/nowhere.py: check its path"
[ ! -e nowhere.db ] || fail "a store was made for a missing program"

# Replies with nothing new are counted.
printf 'cat >/dev/null\nprintf "\\140\\140\\140cuda\\n#pragma fake: speed 1.7\\nvoid axpy() {}\\n\\140\\140\\140\\n"\n' >same.sh
expect 0 optimize "$task" --workers "$fake" --model "exec:sh $work/same.sh" --replies 3 --strategy sample --store same.db
says ", 3 model replies (2 judged before), "
# The end says that no model was asked.
expect 4 optimize "$task" --workers "$fake" --model "exec:exit 1" --candidates 1 --store unasked.db
says ", 0 model replies"
says "all candidates of the budget are judged; no model was asked"

# Replies of models are a budget of their own. The summary has them, the time and the cost, and does
# not call an unknown cost $0.00.
expect 0 optimize "$task" --workers "$fake" --model "exec:sh $work/free.sh" --replies 2 --strategy sample --store replies.db --events replies.jsonl
says ", 2 model replies, cost unknown"
says "took "
says "all model replies of the budget have come"
says "--replies 4"
took=$(sed -n 's/^took  *\([^,]*\),.*/\1/p' out)
grep '"run.start"' replies.jsonl | grep -q '"replies": *2' || fail "no limit of replies: $(head -c 600 replies.jsonl)"
grep '"run.end"' replies.jsonl | grep -q '"replies": *2' || fail "no replies in run.end"
expect 0 show last --store replies.db
grep -q "^started .*), took $took$" out || fail "another time than \"$took\": $out"

# Verdicts of an earlier run are counted once, and --anew measures again. A run that has converged is
# not offered for a resume.
expect 0 optimize "$task" --workers "$fake" --store known.db
case $out in *resume*) fail "a resume of what has converged: $out" ;; esac
expect 0 optimize "$task" --workers "$fake" --store known.db --json
json 'o["judged"] == 0 and o["known"] > 3 and o["end"] == "converged" and o["resume"] is None'
[ "$(grep -c 'known from earlier runs' err)" = 1 ] || fail "not said once: $err"
[ "$(grep -c 'new best' err)" = 0 ] || fail "an old verdict as news: $err"
expect 0 optimize "$task" --workers "$fake" --store known.db --anew --json
json 'o["judged"] > 3 and o["known"] == 0'

# A best that is slower than the baseline is no result: nothing is written.
cp -r "$task" slow
python3 - <<'END'
import json
task = json.load(open("slow/task.json"))
task["seeds"] = ["slow.cu"]
json.dump(task, open("slow/task.json", "w"))
open("slow/slow.cu", "w").write("#pragma fake: speed 0.54\n" + open("slow/baseline.cu").read())
END
expect 0 optimize slow --workers "$fake" --flags declared --store slow.db --output slow.cu
says "no candidate is faster than the baseline, so no file is written; the fastest: 0.54x"
[ ! -e slow.cu ] || fail "slow.cu is written"
case $err in *"best"*) fail "it is no best: $err" ;; *"fastest so far: c"*) ;; *) fail "$err" ;; esac
expect 0 optimize slow --workers "$fake" --flags declared --store slow.db --output slow.cu --json
json 'o["best"] is None and o["correct"] == 2'
# A candidate that looked faster once is marked where it stands.
cp slow/slow.cu slow/good.cu
sed -i '1s/.*/#pragma fake: speed 1.5/' slow/good.cu
sed -i '1s/.*/#pragma fake: speed 3\n#pragma fake: disagree/' slow/slow.cu
sed -i 's/"slow.cu"/"slow.cu", "good.cu"/' slow/task.json
expect 0 optimize slow --workers "$fake" --flags declared --store luck.db --output luck.cu
says "best      1.50x [1.48, 1.52] over the baseline, measured again"
case $err in *"c2 not confirmed: two measurements disagree, 3.00x [2.97, 3.03] and 3.00x"*) ;; *) fail "$err" ;; esac
expect 0 show last --store luck.db
python3 - out <<'END' || fail "ranking: $out"
import sys
lines = open(sys.argv[1]).read().split("\n")
at = next(i for i, line in enumerate(lines) if line.startswith("BEST"))
assert lines[at + 1].startswith("c3 ") and "twice" in lines[at + 1], lines[at + 1]
assert any(l.startswith("c2 ") and "not confirmed" in l for l in lines[at + 2 : at + 4])
END
expect 0 show last --tree --store luck.db
says "c2 seed 3.00x, not confirmed"
says "c3 seed 1.50x  best"
expect 0 show last --format dot --store luck.db
says "not confirmed"
expect 0 show c2 --store luck.db
says "two measurements disagree: [2.97, 3.03] at first, [2.97, 3.03] again"
case $out in *verify.disagrees*) fail "an internal name: $out" ;; esac
expect 0 show last --store slow.db
says "no candidate is faster than the baseline; the fastest: c"
expect 0 watch --terminal --store slow.db
says "best      not faster than the baseline: c"

# Impossible requests get an error of one line.
expect 2 optimize
complains "TASK"
expect 2 optimize nowhere
complains "nowhere"
expect 2 optimize "$task" --model gpt
complains "unknown model"
for word in last latest; do
    expect 2 optimize --resume $word --store other.db
    complains "--resume $word: no unfinished run"
done
expect 2 optimize --resume zzzz
complains "no run zzzz"
expect 2 optimize "$task" --workers 'local*0'
complains "local*0"
expect 3 optimize "$task" --workers 'echo broken >&2; exit 9'
case $err in *"kforge: "*"status 9: broken"*) ;; *) fail "$err" ;; esac
# A worker that is given up is asked to end first: srun and ssh then end theirs on the other machine.
expect 2 optimize "$task" --workers 'trap "touch asked-to-end; exit" TERM; yes | head -n 5000; sleep 100 & wait'
[ -e asked-to-end ] || fail "a worker was killed at once"
expect 4 optimize "$task" --workers "$fake" --candidates 1 --store one.db
says "no correct candidate but the baseline"

# An output that can't be written is an error at the start. No model is called, no store is made,
# and existing files stay.
echo mine >kept.cu
mkdir taken
for place in kept.cu/best.cu taken taken/ "kept.cu/more/best.cu" /proc/nowhere/best.cu; do
    expect 2 optimize "$task" --workers "$fake" --model "exec:touch told.asked" --store told.db --output "$place"
    complains "$place"
    complains "with --output"
done
[ ! -e told.asked ] && [ ! -e told.db ] || fail "a model was asked, or a store made, for what can't be written"
mkdir elsewhere
echo >elsewhere/kforge-out
cd elsewhere || exit 1
expect 2 optimize "$task" --workers "$fake" --model "exec:touch told.asked" --store told.db
complains "kforge-out/axpy"
cd ..
# A search without result leaves nothing there.
expect 4 optimize "$task" --workers "$fake" --candidates 1 --store kept.db --output kept.cu
expect 4 optimize "$task" --workers "$fake" --candidates 1 --store none.db --output new/best.cu
run=$(sed -n 's/^resume .*--resume \([a-z0-9]*\).*/\1/p' out)
[ "$(cat kept.cu)" = mine ] || fail "overwritten without a result: $(cat kept.cu)"
[ -z "$(find . -name 'kept.cu?*' -o -name 'new*' -o -name 'taken?*' -o -path './taken/*')" ] || fail "left behind: $(ls)"
expect 2 optimize --resume "$run" --store none.db --workers "$fake" --candidates 4 --output taken
complains "taken"
expect 0 optimize --resume "$run" --store none.db --workers "$fake" --candidates 4 --output new/best.cu
grep -q axpy new/best.cu || fail "no new/best.cu"

# Ctrl-C: the verdict under way is waited for, the run can go on.
export FAKE_FREE=2 FAKE_GO=$work/go-on KFORGE_STORE=$work/interrupted.db
rm "$FAKE_LOG"
"$program" optimize "$task" --workers "$fake" >out 2>err &
pid=$!
await jobs_begun 3
interrupt $pid
touch "$FAKE_GO"
wait $pid
[ $? = 130 ] || fail "exit status not 130: $(cat err)"
out=$(cat out)
says "interrupted"
says "resume    kforge optimize --resume"
expect 0 list
says "interrupted"
[ "$(wc -l <"$FAKE_LOG")" = 3 ] || fail "more work was begun after Ctrl-C"
gone
unset FAKE_FREE FAKE_GO
expect 0 optimize --resume last --workers "$fake" --candidates 6 --json
json 'o["judged"] == 6'

# Twice: at once, whatever the worker does.
export FAKE_FREE=0 FAKE_GO=$work/never KFORGE_STORE=$work/twice.db
rm "$FAKE_LOG"
"$program" optimize "$task" --workers "$fake*2" >out 2>err &
pid=$!
await jobs_begun 2
interrupt $pid
sleep 0.3 # in which it does not end
kill -0 $pid 2>/dev/null || fail "it did not wait for the verdict"
kill -INT $pid
wait $pid # the workers never answer
[ $? = 130 ] || fail "exit status not 130: $(cat err)"
gone

# kill -9: workers don't outlive it.
rm "$FAKE_LOG"
"$program" optimize "$task" --workers "$fake*2" >out 2>err &
pid=$!
await jobs_begun 2
kill -9 $pid
wait $pid 2>/dev/null
gone

unset FAKE_FREE FAKE_GO

# Workers that read a folder, and come later.
(sleep 0.7 && exec "$fake" --spool folder) &
pid=$!
expect 0 optimize "$task" --workers spool:folder --candidates 4 --store folder.db --json
json 'o["judged"] == 4'
kill $pid
wait $pid
[ -z "$(find folder -name '*.json')" ] || fail "left behind: $(find folder)"

# A folder that is read now and then: the tuner's points wait there, and what a model answers meanwhile finds a place among them.
mkdir -p between/workers
echo '{"schema":"kforge-hello/1","device":"cpu","hardware":"cpu test"}' >between/workers/it.json
printf '```cuda\n// fake: speed 7\n#include <stdint.h>\n#include <cuda_runtime.h>\nextern "C" void axpy(const float *x, float *y, float a, int64_t n, cudaStream_t stream) {}\n```\n' >reply
"$program" optimize "$task" --workers "spool:between*4" --model "exec:touch between.asked; while [ ! -e answer ]; do sleep 0.02; done; cat reply" --calls 1 --strategy auto --candidates 90 \
    --store between.db >out 2>err &
pid=$!
await asked between  # baseline and seeds
await filled between # then points, during a slow call
touch answer
await replied between # and does not wait behind the tuner
kill -INT $pid
wait $pid

# The last reply within the budget is judged, however long that takes. Only the tuner's points are
# cancelled.
mkdir -p paid/workers
cp between/workers/it.json paid/workers/ 2>/dev/null || echo '{"schema":"kforge-hello/1","device":"cpu","hardware":"cpu test"}' >paid/workers/it.json
"$program" optimize "$task" --workers "spool:paid*4" --model "exec:touch paid.asked; while [ ! -e pay ]; do sleep 0.02; done; cat reply" --calls 3 --strategy sample \
    --budget-requests 1 --store paid.db --json >out 2>err &
pid=$!
await asked paid
touch pay
await replied paid
sleep 1 # in which it is not thrown away
replied paid || fail "what was paid for is thrown away"
await ended paid $pid
wait $pid
json 'o["model_calls"] == 1 and o["best"]["speedup"]["value"] > 6'

# So is what it left in the folder when it was stopped, once it goes on.
mkdir -p stopped/workers
cp paid/workers/it.json stopped/workers/
"$program" optimize "$task" --workers "spool:stopped*4" --model "exec:touch stopped.asked; while [ ! -e go ]; do sleep 0.02; done; cat reply" --calls 1 \
    --strategy sample --budget-requests 1 --store stopped.db >out 2>err &
pid=$!
await asked stopped
touch go
await replied stopped
kill -INT $pid
wait $pid
[ $? = 130 ] || fail "not interrupted"
[ -z "$(find stopped/jobs -name '*.json')" ] || fail "left behind: $(ls stopped/jobs)"
expect 0 optimize --resume latest --store stopped.db --workers "$fake" --model "exec:exit 1" --budget-requests 1 --json
json 'o["best"]["speedup"]["value"] > 6'

# A full disk: what was stored stays, and the run goes on once there is space.
(trap '' XFSZ && ulimit -f 600 && exec "$program" optimize "$task" --workers "$fake" --store full.db) >out 2>err
[ $? = 3 ] || fail "exit status not 3 on a full disk"
err=$(tail -1 err)
case $err in *"disk is full"*) ;; *) fail "$err" ;; esac
expect 0 optimize --resume last --store full.db --workers "$fake"

# It stays small (a sanitizer's shadow memory is not its own).
grep -q __asan_init "$program" || python3 - "$program" "$task" "$fake" <<'END' || fail "too much memory"
import resource, subprocess, sys
subprocess.run([sys.argv[1], "optimize", sys.argv[2], "--workers", sys.argv[3], "--store", "memory.db"], check=True, capture_output=True)
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
sys.exit(f"{most} KiB" if most > 64 * 1024 else 0)
END
# A run that ended for its time is resumed with more of it, also if measuring the best again took less
# than was kept for it. Each reply is faster, so that the search goes on.
cat >faster.sh <<'END'
cat >/dev/null
number=$(($(cat number 2>/dev/null || echo 1) + 1))
echo $number >number
printf '```cuda\n#pragma fake: speed %d\n#pragma fake: throttled 12:60:heat\nvoid axpy() {}\n```' $number
END
FAKE_SLEEP=0.2 "$program" optimize "$task" --workers "$fake" --model "exec:sh $work/faster.sh" \
    --time 3s --store time.db >out 2>err
out=$(cat out)
says "the time of the budget is used up"
grep -q '^resume .* --time [0-9]' out || fail "no time to resume: $out"
# The best was throttled.
"$program" optimize "$task" --workers "$fake" --model "exec:sh $work/faster.sh" --strategy sample \
    --candidates 8 --store throttled.db >out 2>err
out=$(cat out)
says "the GPU was too hot in 12 of 60 timed batches"
# A baseline that disagrees with itself
cp -r "$root/tasks/axpy" unequal
sed -i '1i // fake: speed 1.7\n// fake: interval 0.6 6.2' unequal/baseline.cu
expect 0 optimize unequal --workers "$fake" --candidates 2 --store unequal.db
says "noise     timing is noisy: the baseline over itself is 1.7x [0.6, 6.2]; remedy: "
# So was the baseline: that is said at the start, when it is measured.
mkdir hot
cp -r "$root/tasks/axpy" hot
echo '#pragma fake: throttled 12:60:heat' >>hot/axpy/baseline.cu
expect 0 optimize hot/axpy --workers "$fake" --candidates 2 --store hot.db
grep -q ' timing is noisy: the GPU was too hot in 12 of 60 timed batches' err || fail "not at the start: $err"
# A run, and a bench, of a task without anything to tune say so, and that they know the baseline.
mkdir plain
cp -r "$root/tasks/axpy" plain
python3 - plain/axpy/task.json <<'END'
import json, sys
task = json.load(open(sys.argv[1]))
del task["seeds"]
json.dump(task, open(sys.argv[1], "w"))
END
expect 1 optimize plain/axpy --workers "$fake" --flags declared --store plain.db
says "no correct candidate but the baseline: this task has nothing to tune"
expect 0 show last --store plain.db
says "best      no correct and timed candidate but the baseline"
expect 0 watch --terminal --store plain.db
says "best      no correct candidate"
case $out in *"candidate yet"*) fail "the run has ended: $out" ;; esac
expect 1 bench plain --workers "$fake" --store plain.db
case $err in *"samples: none, since this task has nothing to tune"*) ;; *) fail "$err" ;; esac
# A budget of nothing is no budget without end, and one of money ends no search that spends none.
for budget in --time --candidates --replies --cost --tokens --budget-requests --gpu-seconds; do
    expect 2 optimize "$task" --workers "$fake" $budget 0
    complains "$budget: 0 is out of range"
done
expect 0 optimize "$task" --workers "$fake" --cost 5 --json --store money.db
expect 0 show latest --json --store money.db
json 'o["options"]["time"] == 40 and o["options"]["cost"] == 5'
# A task that can't be judged ends the run at its first verdict, before a model is asked. The message
# names the fault.
verdicts() {
    python3 -c 'import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("select count(*) from verdict").fetchone()[0])' "$KFORGE_STORE"
}
ends_at_once() {
    export KFORGE_STORE=$work/task.db
    rm -f task.db*
    expect 2 optimize broken --device cpu --time 600s --model "exec:touch $work/asked"
    case $err in *"the task can't be judged: "*"$1"*) ;; *) fail "does not name the fault: $err" ;; esac
    [ ! -e asked ] || fail "a model was asked about a task that can't be judged"
    [ "$(verdicts)" = 1 ] || fail "$(verdicts) verdicts"
}
rm -f asked
cp -r "$root/tasks/axpy" broken
sed -i '1i #error no baseline' broken/baseline.cu
ends_at_once "baseline.cu:1:2: error"
sed -i '1d; s/y\[i\] = a/y[i] = 1.5f + a/' broken/baseline.cu
ends_at_once "baseline disagrees with its oracle"
finish
