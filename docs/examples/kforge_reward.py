"""Rewards for trainers: completions in, numbers out, judged by `kforge eval`. Standard library only.

TRL's GRPO:    GRPOTrainer(..., reward_funcs=[kforge_reward], train_dataset=...)   rows carry a column "task"
verl:          custom_reward_function.path=kforge_reward.py custom_reward_function.name=compute_score
               … name=compute_scores with reward_model.reward_manager=batch: a whole batch at once, over all devices

The judge finds the source in a reply as the search does: the block that defines the entry, fenced or not. JUDGE_TASKS is the folder of the tasks, JUDGE_DEVICES the devices ("cuda:0,cuda:1"; default "cpu"): one judges one candidate at a time, so a batch is spread
over them. The judge runs candidates in a sandbox and times them from outside.

What blames the machine, the task or the judge says nothing of the completion and is never a reward. It is judged again, JUDGE_TRIES times in all with
pauses of JUDGE_PAUSE seconds and more. If that does not help, TRL gets None, which it leaves out. verl puts what it gets into a tensor and has no word for
"no reward" (0 would teach that the code is bad), so Unjudged is raised. What is wrong with the call itself, as a task that is not there, raises ValueError.
"""
import json
import os
import queue
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

DEVICES = os.environ.get("JUDGE_DEVICES", "cpu").split(",")
TASKS = os.environ.get("JUDGE_TASKS", "tasks")
KFORGE = os.environ.get("JUDGE_PROGRAM", "kforge")
TRIES = int(os.environ.get("JUDGE_TRIES", "3"))
PAUSE = float(os.environ.get("JUDGE_PAUSE", "2"))
free = queue.Queue()
for device in DEVICES:
    free.put(device)


class Unjudged(RuntimeError):
    """No verdict on the completion could be had: the machine's, the task's or the judge's fault."""


def verdict_of(task, completion):
    """The judge's verdict, a kforge-verdict/1, or {"status": "no_source", ...} for a reply without code; None and a text without one."""
    text = completion if isinstance(completion, str) else completion[-1]["content"]
    device = free.get()
    try:
        with tempfile.NamedTemporaryFile("w", suffix=".md", encoding="utf-8", errors="replace", newline="") as file:
            file.write(text)
            file.flush()
            command = [KFORGE, "eval", os.path.join(TASKS, task), "--reply", file.name, "--device", device, "--json", "--no-keep"]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    finally:
        free.put(device)
    if done.stdout.strip():
        return json.loads(done.stdout), ""
    if done.returncode == 2:
        raise ValueError(done.stderr.strip())
    return None, done.stderr.strip() or "kforge eval ended with status %d" % done.returncode


def kevin(verdict):
    """0.3 for being correct, plus the speedup (Kevin-32B); as `kforge export --reward kevin`. None: no reward, good or bad."""
    if verdict is not None and verdict["status"] == "no_source":
        return 0.0
    if verdict is None or verdict["blame"] in ("machine", "task", "judge"):
        return None
    if verdict["status"] != "correct":
        return 0.0
    value, low, high = (verdict["speedup"][key] for key in ("value", "low", "high"))
    number = lambda x: isinstance(x, (int, float))  # "nan" is a string in JSON
    if not number(value):
        return 0.3  # correct, and not timed
    differs = (number(low) and low > 1) or (number(high) and high < 1)
    return 0.3 + (value if differs else 1.0)


def score(task, completion, needed=False):
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE * 2 ** (attempt - 1))
        verdict, message = verdict_of(task, completion)
        reward = kevin(verdict)
        if reward is not None:
            return reward
        if verdict is not None:
            message = "%s: %s" % (verdict["status"], verdict.get("message", ""))
    if needed:
        raise Unjudged("%s: no verdict on a completion in %d tries: %s" % (task, TRIES, message))
    return None


def kforge_reward(completions, task, **columns):
    """TRL: one number a completion, None where there is none; `task` is the column of that name."""
    with ThreadPoolExecutor(len(DEVICES)) as pool:
        return list(pool.map(score, task, completions))


def compute_score(data_source, solution_str, ground_truth, extra_info=None, **settings):
    """verl: one number for one solution; ground_truth is the name of the task."""
    return score(ground_truth, solution_str, needed=True)


def compute_scores(data_sources, solution_strs, ground_truths, extra_infos=None, **settings):
    """verl's batch manager: one number a solution."""
    with ThreadPoolExecutor(len(DEVICES)) as pool:
        return list(pool.map(lambda task, solution: score(task, solution, needed=True), ground_truths, solution_strs))
