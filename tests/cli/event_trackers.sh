#!/bin/bash
# The examples that send events to trackers, with the real packages: what they wrote is read back.
# Needs PyPI once; the virtual environments stay in the build folder. Status 77: a package could not
# be installed.
source "$(dirname "$0")/lib.sh"
fake=$bin/../tests/fake_worker
skipped=
# have NAME PACKAGE: a virtual environment with the package, in $venv
have() {
    venv=$bin/../tests/tracker-$1-venv
    [ -e "$venv/ready" ] && return 0
    python3 -m venv "$venv" >/dev/null 2>&1 &&
        timeout 180 "$venv/bin/pip" install -q --retries 1 --timeout 20 --no-compile "$2" >pip.log 2>&1 &&
        touch "$venv/ready" && return 0
    skipped="$skipped $1"
    echo "skipped: $2 can't be installed from PyPI: $(tail -n 1 pip.log)"
    return 1
}
cp -r "$root/tasks/axpy" "$root/tasks/gemv" .
mkdir suite
mv axpy gemv suite
expect 0 optimize suite/axpy --workers "$fake" --candidates 4 --events events.jsonl --json
cp out result.json
expect 0 bench suite --workers "$fake*2" --candidates 4 --events events.jsonl
convert() { "$venv/bin/python" "$root/python/examples/events_$1.py" "${@:2}" >"$1.log" 2>&1 || fail "$1: $(tail -n 5 "$1.log")"; }
reads() { "$venv/bin/python" - 2>py.err || fail "$1: $(tail -n 3 py.err)"; }

if have tensorboard tensorboard; then
    convert tensorboard logs events.jsonl
    reads tensorboard <<'END'
import glob, json, os
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = [json.loads(line) for line in open("events.jsonl")]
runs = {e["run"] for e in events}
assert {os.path.basename(f) for f in glob.glob("logs/*")} == runs
seen = 0
for run in runs:
    log = EventAccumulator(f"logs/{run}", size_guidance={"tensors": 0})
    log.Reload()
    for kind in ("attempt", "best", "verify"):
        wanted = [(e["step"], round(e["t"], 3), round(e["speedup"][0], 5)) for e in events
                  if e["run"] == run and e["event"] == kind and e["speedup"]]
        tag = f"{kind}/speedup"
        got = [(t.step, round(t.wall_time, 3), round(t.tensor_proto.float_val[0], 5))
               for t in (log.Tensors(tag) if tag in log.Tags()["tensors"] else [])]
        assert got == wanted, (run, tag, got, wanted)
        seen += len(got)
    if len(log.Tags()["tensors"]):
        spent = [e["spent"]["candidates"] for e in events if e["run"] == run and e["event"] == "budget"]
        assert [t.tensor_proto.float_val[0] for t in log.Tensors("budget/candidates")] == spent
assert seen > 10, seen
END
    # Lines as they come
    convert tensorboard live < <(head -n 5 events.jsonl)
fi
if have wandb wandb; then
    export WANDB_MODE=offline WANDB_DIR=$work
    convert wandb kforge events.jsonl
    for id in $(python3 -c 'import json; print(*{json.loads(l)["run"] for l in open("events.jsonl")})'); do
        cat wandb/offline-run-*-"$id"/*.wandb >record 2>/dev/null || fail "wandb: no run $id"
        case $id in b*) continue ;; esac # a bench has no figures of its own
        grep -aq 'best/speedup' record || fail "wandb: no best/speedup in run $id"
    done
fi
if have mlflow mlflow-skinny; then
    export MLFLOW_ALLOW_FILE_STORE=true MLFLOW_TRACKING_URI=file://$work/mlruns
    convert mlflow kforge events.jsonl
    reads mlflow <<'END'
import json
from mlflow.tracking import MlflowClient
client = MlflowClient()
events = [json.loads(line) for line in open("events.jsonl")]
stored = client.search_runs([client.get_experiment_by_name("kforge").experiment_id])
runs = {run.data.tags["kforge.run"]: run for run in stored}
assert set(runs) == {e["run"] for e in events}
assert all(run.info.status == "FINISHED" for run in stored)
run = json.load(open("result.json"))["run"]
wanted = [(e["step"], e["speedup"][0]) for e in events if e["run"] == run and e["event"] == "best"]
got = client.get_metric_history(runs[run].info.run_id, "best.speedup")
assert [(m.step, m.value) for m in got] == wanted, (got, wanted)
assert runs[run].data.params["task"] == "axpy"
END
fi
[ $failures -gt 0 ] || [ -z "$skipped" ] || exit 77
finish
