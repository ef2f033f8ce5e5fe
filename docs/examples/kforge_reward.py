"""Rewards for trainers: completions in, numbers out, judged by `kforge eval`. Standard library only.

TRL's GRPO:    GRPOTrainer(..., reward_funcs=[kforge_reward], train_dataset=...)   rows carry a column "task"
verl:          custom_reward_function.path=kforge_reward.py custom_reward_function.name=compute_score

A device judges one candidate at a time, so a batch is spread over JUDGE_DEVICES ("cuda:0,cuda:1"; default "cpu"). JUDGE_TASKS is the folder of the
tasks. The judge runs candidates in a sandbox and times them from outside; what blames the machine gives None (TRL leaves such rewards out).
"""
import json
import os
import queue
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

DEVICES = os.environ.get("JUDGE_DEVICES", "cpu").split(",")
TASKS = os.environ.get("JUDGE_TASKS", "tasks")
KFORGE = os.environ.get("JUDGE_PROGRAM", "kforge")
free = queue.Queue()
for device in DEVICES:
    free.put(device)


def code_of(completion):
    """The last fenced block of a reply, which is text or a list of messages."""
    text = completion if isinstance(completion, str) else completion[-1]["content"]
    blocks = re.findall(r"```[a-z+]*\n(.*?)```", text, re.DOTALL)
    return blocks[-1] if blocks else None


def verdict_of(task, source):
    device = free.get()
    try:
        with tempfile.NamedTemporaryFile("w", suffix=".cu") as file:
            file.write(source)
            file.flush()
            command = [KFORGE, "eval", os.path.join(TASKS, task), file.name, "--device", device, "--json", "--no-keep"]
            done = subprocess.run(command, capture_output=True, text=True)
        return json.loads(done.stdout) if done.stdout else None
    finally:
        free.put(device)


def kevin(verdict):
    """0.3 for being correct, plus the speedup (Kevin-32B); as `kforge export --reward kevin`."""
    if verdict is None or verdict["blame"] in ("machine", "task", "judge"):
        return None
    if verdict["status"] != "correct":
        return 0.0
    speedup = verdict["speedup"]["value"]
    low, high = verdict["speedup"]["low"], verdict["speedup"]["high"]
    numbers = all(isinstance(x, (int, float)) for x in (speedup, low, high))  # "nan" is a string in JSON
    return 0.3 + (speedup if numbers and not low <= 1 <= high else 1.0)


def score(task, completion):
    source = code_of(completion)
    return 0.0 if source is None else kevin(verdict_of(task, source))


def kforge_reward(completions, task, **columns):
    """TRL: one number a completion; `task` is the column of that name."""
    with ThreadPoolExecutor(len(DEVICES)) as pool:
        return list(pool.map(score, task, completions))


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    """verl: one number for one solution; ground_truth is the name of the task."""
    return score(ground_truth, solution_str) or 0.0
