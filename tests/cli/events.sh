#!/bin/bash
# --events of optimize, bench and worker: each line fits the schema of the documentation, and no
# disk, pipe or reader stops a run. The workers judge by the candidate's text (fake_worker.c).
source "$(dirname "$0")/lib.sh"
fake=$bin/../tests/fake_worker
task=$root/tasks/axpy
schema=$root/docs/reference/kforge-event.schema.json
trace=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
python=python3
$python -c 'import jsonschema' 2>/dev/null || python=/usr/bin/python3
$python -c 'import jsonschema' 2>/dev/null || { echo "the package python3-jsonschema is missing"; exit 1; }
# check FILE… EVENT…: the lines are valid, and have these kinds; events PYTHON: of the lines `e`.
check() { $python "$root/tests/python/check_events.py" "$schema" "$@" >kinds 2>&1 || fail "$(cat kinds)"; }
events() {
    python3 -c "import json; e = [json.loads(l) for l in open('$1')]; assert $2" 2>py.err || fail "$2: $(tail -n 1 py.err); $(cut -c 1-300 "$1")"
}
run=(optimize "$task" --workers "$fake" --model "replay:$root/tests/replay/axpy.jsonl")

# A whole run
export TRACEPARENT=$trace
expect 0 "${run[@]}" --candidates 7 --store a.db --events a.jsonl --json
unset TRACEPARENT
check a.jsonl run.start call attempt best verify budget worker run.end
[ "$(stat -c %a a.jsonl)" = 600 ] || fail "mode $(stat -c %a a.jsonl)"
events a.jsonl '[x["seq"] for x in e] == list(range(1, len(e) + 1))'
events a.jsonl "e[0]['event'] == 'run.start' and e[0]['traceparent'] == '$trace' and e[0]['task'] == 'axpy' and e[-1]['event'] == 'run.end'"
# Every attempt and call of the store is there, with the same figures.
id=$(python3 -c 'import json; print(json.load(open("out"))["run"])')
cp out result.json
expect 0 show "$id" --store a.db --json
cp out show.json
python3 - <<'END' 2>py.err || fail "$(tail -n 3 py.err)"
import json
events = [json.loads(line) for line in open("a.jsonl")]
result, shown = json.load(open("result.json")), json.load(open("show.json"))
tried = [e for e in events if e["event"] in ("attempt", "verify")]
end = events[-1]
assert [e["attempt"] for e in tried] == list(range(1, result["attempts"] + 1))
assert {e["run"] for e in events} == {result["run"]}
assert sum(e["event"] == "call" for e in events) == result["model_calls"] == end["calls"]
assert end["step"] == result["judged"] and end["end"] == result["end"] and end["reason"] == result["reason"]
assert end["best"]["speedup"][0] == result["best"]["speedup"]["value"]
assert [e for e in events if e["event"] == "best"][-1]["speedup"] == end["best"]["speedup"]
latest = {a["number"]: a for a in shown["latest_attempts"]}
for e in tried:
    a = latest.get(e["attempt"])
    if a: assert a["outcome"] == e["outcome"] and a["status"] in (e["status"], None, ""), (a, e)
assert shown["options"]["traceparent"].startswith("00-4bf9"), shown["options"]
END

# A resumed run appends to the file, and keeps its first trace.
expect 0 optimize --resume "$id" --workers "$fake" --candidates 9 --store a.db --events b.jsonl
check b.jsonl run.start attempt run.end
events b.jsonl 'e[0]["resumed"] and e[0]["traceparent"] == "" and e[1]["event"] == "best" and e[1]["seq"] == 2'
cp a.jsonl both.jsonl
expect 0 optimize --resume "$id" --workers "$fake" --candidates 11 --store a.db --events both.jsonl
events both.jsonl "len(e) > $(wc -l <a.jsonl) and sum(x['event'] == 'run.start' for x in e) == 2"

# Nothing stops a run: a full disk, a pipe without a reader, readers that leave, a slow reader.
expect 0 "${run[@]}" --candidates 6 --store c.db
cp out expected
lost() { # lost WORDS: one message, and the same run
    [ "$(grep -c -e '--events' err)" = 1 ] || fail "not one message of events: $err"
    case $err in *"$1"*) ;; *) fail "no \"$1\": $err" ;; esac
    grep -q '^best ' out || fail "no best: $out"
}
expect 0 "${run[@]}" --candidates 6 --store d.db --events /dev/full
lost "the disk is full"
mkfifo pipe
expect 0 "${run[@]}" --candidates 6 --store e.db --events pipe
lost "no reader"
closed() { # descriptor 7 is a pipe without a reader
    python3 - "$program" "$@" >out 2>err <<'END'
import os, subprocess, sys
reader, writer = os.pipe()
os.dup2(writer, 7)
os.close(reader)
os.close(writer)
sys.exit(subprocess.run(sys.argv[1:], pass_fds=[7], stdin=subprocess.DEVNULL).returncode)
END
    status=$? out=$(cat out) err=$(cat err)
    [ $status = 0 ] || fail "$*: exit status $status; $err"
}
closed "${run[@]}" --candidates 6 --store f.db --events fd:7
lost "the reader has ended"
"$program" "${run[@]}" --candidates 6 --store g.db --events fd:9 9> >(head -n 1 >first.jsonl) >out 2>err || fail "a reader that leaves: $(cat err)"
"$program" "${run[@]}" --candidates 6 --store h.db --events fd:9 9>fd.jsonl >out 2>err || fail "a descriptor: $(cat err)"
check fd.jsonl run.start run.end
expect 2 "${run[@]}" --events fd:9
complains "not open for writing"
expect 2 "${run[@]}" --events missing/e.jsonl
complains "cannot write there"

# bench: searches of several processes, and existing solutions
mkdir suite
cp -r "$root/tasks/axpy" "$root/tasks/gemv" suite
expect 0 bench suite --workers "$fake*2" --candidates 4 --store i.db --events bench.jsonl
check bench.jsonl run.start attempt best budget run.end
events bench.jsonl '[x["kind"] for x in e if x["event"] == "run.start"] == ["bench", "search", "search"] and len({x["run"] for x in e}) == 3'
events bench.jsonl 'e[-1]["event"] == "run.end" and e[-1]["finished"] == 2 and {x["bench"] for x in e if x.get("kind") == "search"} == {e[0]["run"]}'
mkdir solutions
printf '#pragma fake: speed 3\nextern "C" void axpy() {}\n' >solutions/axpy.cu
printf '#pragma fake: status wrong_result\nextern "C" void gemv() {}\n' >solutions/gemv.cu
expect 0 bench suite --solutions solutions --workers "$fake" --store j.db --events solutions.jsonl
check solutions.jsonl run.start attempt run.end
events solutions.jsonl 'sorted(x["proposer"] for x in e if x["event"] == "attempt") == ["axpy.cu", "gemv.cu"] and sum(x["event"] == "run.end" for x in e) == 3'
expect 0 bench suite --workers "$fake*2" --candidates 4 --store k.db --events /dev/full
[ "$(grep -c -e '--events' err)" = 1 ] || fail "not one message of events: $err"

# worker
expect 2 worker --events fd:1
complains "standard output has the verdicts"
expect 0 worker --device cpu --events worker.jsonl
check worker.jsonl run.start run.end
FAKE_EVENTS=$work/verdicts.jsonl expect 0 optimize "$task" --workers "$fake" --candidates 3 --store l.db --events l.jsonl
check verdicts.jsonl attempt
python3 - <<'END' 2>py.err || fail "$(tail -n 1 py.err)"
import json
load = lambda name: [json.loads(line) for line in open(name)]
agent, worker = ([e["speedup"] for e in load(n) if e["event"] in ("attempt", "verify") and e["status"] == "correct"] for n in ("l.jsonl", "verdicts.jsonl"))
assert agent == worker and [e["step"] for e in load("verdicts.jsonl")] == list(range(1, len(load("verdicts.jsonl")) + 1)), (agent, worker)
assert all(e["job"] and e["task"] == "axpy" for e in load("verdicts.jsonl"))
END
events worker.jsonl 'e[0]["kind"] == "worker" and len(e) == 2 and e[1]["end"] == "finished"'
finish
