"""Sends kforge's events to MLflow (pip install mlflow).

    kforge optimize gemv --events fd:3 3> >(python3 events_mlflow.py kforge)
    MLFLOW_TRACKING_URI=sqlite:///mlflow.db python3 events_mlflow.py kforge events.jsonl

The argument is the experiment. Each run of kforge becomes a run with the tag kforge.run.
"""
import json
import sys

from mlflow.tracking import MlflowClient


def convert(lines, experiment):
    client, runs = MlflowClient(), {}
    found = client.get_experiment_by_name(experiment)
    where = found.experiment_id if found else client.create_experiment(experiment)
    for line in lines:
        event = json.loads(line)
        kind, key, time = event["event"], event["run"], int(event["t"] * 1000)
        if kind == "run.start" and key not in runs:
            runs[key] = client.create_run(where, time, {"kforge.run": key}).info.run_id
            for name in ("task", "device", "strategy", "seed", "models", "traceparent"):
                if name in event:
                    client.log_param(runs[key], name, event[name])
        elif kind == "run.end" and key in runs:
            failed = event["end"] in ("failed", "stopped")
            client.set_terminated(runs.pop(key), "FAILED" if failed else "FINISHED", time)
        elif key in runs:
            fields = {name: value for name, value in event.items()
                      if type(value) in (int, float) and name not in ("t", "seq", "step")}
            if event.get("speedup"):
                fields["speedup"] = event["speedup"][0]
            for name, value in fields.items():
                client.log_metric(runs[key], f"{kind}.{name}", value, time, event["step"])
    for run in runs.values():
        client.set_terminated(run, "KILLED")


if __name__ == "__main__":
    convert(open(sys.argv[2]) if len(sys.argv) > 2 else sys.stdin, sys.argv[1])
