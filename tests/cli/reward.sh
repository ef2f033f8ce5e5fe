#!/bin/bash
# python/kforge_client with the real `kforge serve`, which it starts: rewards of good, wrong,
# cheating and broken replies.
source "$(dirname "$0")/lib.sh"
mkdir -m 700 run
export PYTHONPATH=$root/python PYTHONDONTWRITEBYTECODE=1
export PATH=$bin:$PATH XDG_RUNTIME_DIR=$work/run KFORGE_DEVICE=cpu
mkdir tasks
cp -r "$root/tasks/axpy" "$root/tests/selftest/vecadd" tasks
python3 - "$root" >log 2>&1 <<'END' || fail "$(tail -5 log) $(cat run/kforge/*.log)"
import sys
import kforge_client as k
root = sys.argv[1]
good = open(root + "/tasks/axpy/baseline.cu").read()
wrong = good.replace("a * x[i] + y[i]", "a * x[i]")
assert wrong != good
cheat = open(root + "/tests/hostile/vecadd/oversized_answer.cu").read()
wrap = lambda code: "First\n```cpp\nint no;\n```\nSo:\n```cuda\n" + code + "```\nDone."
replies = [("axpy", wrap(good)), ("axpy", wrap(wrong)), ("vecadd", wrap(cheat)),
           ("axpy", wrap("int x = ;\n")), ("axpy", "no code"), ("axpy", ""),
           ("axpy", wrap(good) + " " * 300000)]
shape = {"correct": 1, "wrong_result": 0.05, "cheating": -1, "no_source": -0.5}
results = k.judge_batch(
    {"task": t, "reply": r, "mode": "check", "shape": shape} for t, r in replies)
for result in results:
    print(result.status, result.reward, result.summary)
failures = ["wrong_result", "cheating", "compile_error", "no_source", "no_source", "no_source"]
assert [r.status for r in results] == ["correct"] + failures
assert [r.reward for r in results] == [1, 0.05, -1, 0, -0.5, -0.5, -0.5]
assert [r.cheating for r in results].index(True) == 2 and results[0].correct and results[0].scorable
assert k.judge("axpy", good, mode="check", shape=shape).cached
# The same text without a fence, with what C's strings can't hold
odd = good + "// \ud800 \U0001f680"
assert k.judge("axpy", reply=odd, mode="check", shape=shape).reward == 1
assert k.judge("axpy", good + "// \0", mode="check").correct
for wrong in ({"task": "nonesuch"}, {"task": "axpy", "mode": "chek"}):
    try:
        k.judge(source=good, **wrong)
        sys.exit("a wrong call has a result")
    except k.RequestError as error:
        assert error.status in (400, 404), error
        assert "nonesuch" in str(error) or "mode" in str(error), error
assert {"axpy", "vecadd"} <= {task["name"] for task in k.tasks()}
assert "axpy" in k.task("axpy")["prompt"] and k.health()["status"] == "healthy"
END
# The command line, and the end of the server with its last user
python3 -m kforge_client judge axpy "$root/tasks/axpy/baseline.cu" --mode check --reward kevin \
    >out 2>err || fail "python -m kforge_client: $(cat out err)"
grep -q '^reward 0.3$' out || fail "the reward: $(cat out)"
ended() { ! grep -q . run/kforge/*.address; }
await ended
finish
