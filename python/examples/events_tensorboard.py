"""Writes kforge's events for TensorBoard (pip install tensorboard).

    kforge optimize gemv --events fd:3 3> >(python3 events_tensorboard.py logs)
    python3 events_tensorboard.py logs events.jsonl; tensorboard --logdir logs

Each run gets a folder. The axis is the number of judged candidates.
"""
import json
import sys

from tensorboard.summary import Writer


def figures(event):
    """Yields (name, number) of an event."""
    for key, value in event.items():
        if key == "speedup" and value:
            yield from zip(("speedup", "speedup_low", "speedup_high"), value)
        elif key == "spent":
            yield from value.items()
        elif type(value) in (int, float) and key not in ("t", "seq", "step", "call", "attempt"):
            yield key, value


def convert(lines, folder):
    writers = {}
    for line in lines:
        event = json.loads(line)
        writer = writers.setdefault(event["run"], None) or Writer(f"{folder}/{event['run']}")
        writers[event["run"]] = writer
        if "step" in event:
            for name, number in figures(event):
                writer.add_scalar(f"{event['event']}/{name}", number, event["step"],
                                  wall_time=event["t"])
        writer.flush()
    for writer in writers.values():
        writer.close()


if __name__ == "__main__":
    convert(open(sys.argv[2]) if len(sys.argv) > 2 else sys.stdin, sys.argv[1])
