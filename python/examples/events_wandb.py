"""Sends kforge's events to Weights & Biases (pip install wandb).

    kforge optimize gemv --events fd:3 3> >(python3 events_wandb.py kforge)
    WANDB_MODE=offline python3 events_wandb.py kforge events.jsonl

The argument is the project. Each run of kforge becomes a run with the same id.
"""
import json
import sys

import wandb


def convert(lines, project):
    runs = {}
    for line in lines:
        event = json.loads(line)
        kind, key = event["event"], event["run"]
        if kind == "run.start" and key not in runs:
            runs[key] = wandb.init(project=project, id=key, name=event.get("task") or key,
                                   config=event, resume="allow", reinit="create_new")
            runs[key].define_metric("*", step_metric="step")
        elif kind == "run.end" and key in runs:
            run = runs.pop(key)
            run.summary.update(event)
            run.finish(exit_code=int(event["end"] in ("failed", "stopped")))
        elif key in runs:
            fields = {f"{kind}/{name}": value for name, value in event.items()
                      if type(value) in (int, float) and name not in ("t", "seq", "step")}
            if event.get("speedup"):
                fields[f"{kind}/speedup"] = event["speedup"][0]
            runs[key].log({"step": event["step"], **fields})
    for run in runs.values():
        run.finish(exit_code=1)


if __name__ == "__main__":
    convert(open(sys.argv[2]) if len(sys.argv) > 2 else sys.stdin, sys.argv[1])
