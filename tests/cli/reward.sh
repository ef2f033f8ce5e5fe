#!/bin/bash
# docs/examples/kforge_reward.py: the rewards that a trainer would get, of TRL's and of verl's functions.
source "$(dirname "$0")/lib.sh"
export PYTHONPATH=$root/docs/examples PYTHONDONTWRITEBYTECODE=1
# With the judge itself: correct, wrong, cheating, not compiling, no code
JUDGE_PROGRAM=$program JUDGE_TASKS=$root JUDGE_PAUSE=0.5 python3 - "$root" >log 2>&1 <<'END' || fail "$(tail -5 log)"
import sys
import kforge_reward as k
root = sys.argv[1]
good = open(root + "/tasks/axpy/baseline.cu").read()
wrong = good.replace("a * x[i] + y[i]", "a * x[i]")
assert wrong != good
cheat = open(root + "/tests/hostile/vecadd/oversized_answer.cu").read()
wrap = lambda code: [{"role": "assistant", "content": "First\n```cpp\nint no;\n```\nSo:\n```cuda\n" + code + "```\nUse it so:\n```cpp\nint main() { axpy(x, y, 2.0f, n, 0); }\n```\n"}]
completions = [wrap(good), wrap(wrong), wrap(cheat), wrap("int x = ;\n"), [{"role": "assistant", "content": "no code"}]]
tasks = ["tasks/axpy", "tasks/axpy", "tests/selftest/vecadd", "tasks/axpy", "tasks/axpy"]
verdict, _ = k.verdict_of(tasks[2], completions[2])
assert verdict["status"] == "cheating", verdict["status"]
rewards = k.kforge_reward(completions, tasks, prompts=None)
print(rewards)
# None or 0.3: the machine is busy, and there is no verdict or no speed
assert rewards[0] is None or rewards[0] >= 0.3, (rewards, "again it is " + k.verdict_of(tasks[0], completions[0])[0]["message"])
assert rewards[1:] == [0.0, 0.0, 0.0, 0.0], rewards
assert k.verdict_of(tasks[4], "no code")[0]["status"] == "no_source"
assert k.verdict_of(tasks[0], "~~~cuda\n" + good)[0]["status"] in ("correct", "interference") # unclosed, other fences
assert k.compute_score("kforge", completions[3][0]["content"], "tasks/axpy", {}) == 0.0
assert k.compute_scores(["kforge"] * 2, [c[0]["content"] for c in completions[3:]], tasks[3:], [{}, {}]) == [0.0, 0.0]
try:
    k.compute_score("kforge", completions[0][0]["content"], "tasks/nonesuch")
    sys.exit("a task that is not there has a reward")
except ValueError as error:
    assert "nonesuch" in str(error)
END
# With a fake judge that takes its answer from the source: "say WORD…" gives the first word at the
# first try, and so on.
cat >judge <<'END'
#!/usr/bin/env python3
import json, os, re, sys
found = re.search(r"say (.*)", open(sys.argv[sys.argv.index("--reply") + 1]).read())
if not found:
    print(json.dumps({"status": "no_source", "ok": False}))
    sys.exit(5)
words = found.group(1).split()
name = "tries-" + re.sub(r"\W", "_", "_".join(words))
tries = len(open(name).read()) if os.path.exists(name) else 0
open(name, "a").write("x")
word = words[min(tries, len(words) - 1)]
if word == "nothing":
    sys.exit("kforge: eval: the device is gone")
said = {"fault": ("interference", "machine"), "task": ("judge_error", "task"), "judge": ("judge_error", "judge"), "cheats": ("cheating", "candidate")}
status, blame = said.get(word, ("correct", "nobody"))
value = float(word) if status == "correct" else 0
print(json.dumps({"status": status, "blame": blame, "message": "what happened", "speedup": {"value": value, "low": value * 0.99, "high": value * 1.01}}))
END
chmod +x judge
JUDGE_PROGRAM=$work/judge JUDGE_DEVICES=one,two JUDGE_PAUSE=0.01 JUDGE_TASKS=. python3 - >log 2>&1 <<'END' || fail "$(tail -5 log)"
import os
import kforge_reward as k
say = lambda words: "```cuda\n// say %s\n```" % words
tries = lambda words: len(open("tries-" + "_".join(words.split()).replace(".", "_")).read())
# TRL: jobs with a machine's fault are judged again, then left out. The others keep their places.
words = ["2.0", "fault fault 3.0", "fault", "cheats", "nothing 1.5", "task", "judge", "1.0"]
assert k.kforge_reward([say(w) for w in words], ["t"] * len(words)) == [2.3, 3.3, None, 0.0, 1.8, None, None, 1.3]
assert [tries(w) for w in words] == [1, 3, 3, 1, 2, 3, 3, 1]
# verl: a number or an error, never 0 for what is not the candidate's fault
assert k.compute_score("kforge", say("4.0"), "t", extra_info=None, reward_router_address="x") == 4.3
assert k.compute_score(data_source="kforge", solution_str=say("fault 2.5"), ground_truth="t") == 2.8
assert k.compute_score("kforge", "nothing here", "t") == 0.0
for words in ("fault fault fault 9.0", "nothing nothing nothing", "task task task", "judge judge judge"):
    try:
        got = k.compute_score("kforge", say(words), "t")
        raise SystemExit("%s became %s" % (words, got))
    except k.Unjudged as error:
        assert "t: no verdict" in str(error) and "in 3 tries" in str(error), error
assert k.compute_scores(data_sources=["kforge"] * 3, solution_strs=[say("5.0"), "no", say("fault 6.0")], ground_truths=["t"] * 3, extra_infos=[{}] * 3) == [5.3, 0.0, 6.3]
try:
    k.compute_scores(["kforge"] * 2, [say("7.0"), say("fault fault fault fault")], ["t"] * 2)
    raise SystemExit("a batch with a fault has rewards")
except k.Unjudged:
    pass
assert k.kevin({"status": "correct", "blame": "nobody", "speedup": {"value": 1.1, "low": 0.9, "high": 1.2}}) == 1.3
assert k.kevin({"status": "correct", "blame": "nobody", "speedup": {"value": "nan", "low": "nan", "high": "nan"}}) == 0.3
# Any text of a model is a source.
assert k.kforge_reward([say("8.0 \ud800 \0 \U0001f680")], ["t"]) == [8.3]
assert sorted(k.free.queue) == ["one", "two"]
END
finish
