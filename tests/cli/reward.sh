#!/bin/bash
# docs/examples/kforge_reward.py: the rewards that a trainer would get.
source "$(dirname "$0")/lib.sh"
export JUDGE_PROGRAM=$program JUDGE_TASKS=$root/tasks
PYTHONPATH=$root/docs/examples PYTHONDONTWRITEBYTECODE=1 python3 - "$root/tasks/axpy/baseline.cu" >log 2>&1 <<'END' || fail "$(tail -5 log)"
import sys
import kforge_reward as k
good = open(sys.argv[1]).read()
wrong = good.replace("a * x[i] + y[i]", "a * x[i]")
assert wrong != good
wrap = lambda code: [{"role": "assistant", "content": "So:\n```cuda\n" + code + "```\nDone."}]
for attempt in range(4):  # a busy machine may be blamed, or a time be impossible
    rewards = k.kforge_reward([wrap(good), wrap(wrong), wrap("int x = ;\n"), [{"role": "assistant", "content": "no code"}]], ["axpy"] * 4, prompts=None)
    print(rewards)
    if rewards[0]: break
assert rewards[0] > 0.5, rewards
assert rewards[1:] == [0.0, 0.0, 0.0], rewards
assert k.compute_score("kforge", "```cuda\nint x = ;\n```", "axpy") == 0.0
assert k.kevin({"status": "interference", "blame": "machine"}) is None
assert k.kevin({"status": "correct", "blame": "nobody", "speedup": {"value": 2.0, "low": 1.9, "high": 2.1}}) == 2.3
assert k.kevin({"status": "correct", "blame": "nobody", "speedup": {"value": 1.1, "low": 0.9, "high": 1.2}}) == 1.3
END
finish
