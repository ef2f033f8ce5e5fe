#!/bin/bash
# A scripted agent with a real judge, on the CPU device: it gets a verified speedup, and its device
# time is limited.
source "$(dirname "$0")/lib.sh"
"$program" doctor 2>&1 | tr '\n' ' ' | grep -q 'user_ns pid_ns.*mount_ns.*seccomp' || { echo "skipped: this machine has no namespaces for a jail"; exit 77; }
cp -r "$root/tasks/axpy" slow
mkdir agents
# A baseline that reads each element many times.
sed -i 's|if (i < n) y\[i\] = a \* x\[i\] + y\[i\];|if (i < n) { float v = 0; const volatile float *p = x; for (int k = 0; k < 40; k++) v = p[i]; y[i] = a * v + y[i]; }|' slow/baseline.cu
sed -i '/"seeds"/d' slow/task.json
cp "$root/tasks/axpy/baseline.cu" agents/fast.cu
echo '{"like": "agent", "tune": 0}' >only.json
cat >agents/run <<'END'
cp "$AGENTS/fast.cu" try.cu
sed 's/y\[i\] = /y[i] = 1 + /' try.cu >wrong.cu
sed 's/int64_t i = /int64_t i = undeclared + /' try.cu >broken.cu
sed 's/if (i < n)/if (i < n \&\& n != 77)/' try.cu >hidden.cu # the hidden workload has 77 elements
kforge check hidden.cu
kforge check try.cu --brief | sed 's/^/checked: /'
kforge check broken.cu --brief
kforge check wrong.cu --brief
for _ in 1 2 3 4 5 6; do # a busy machine may disturb a measurement
    kforge submit try.cu --brief && break
done
kforge eval --brief
kforge eval --brief
END
export AGENTS=$work/agents
expect 0 optimize slow --device cpu --strategy only.json --budget-requests 1 --json --model "agent,evals=13,device=1h,timeout=18m,env=AGENTS,read=$work/agents:sh $work/agents/run"
json 'o["best"]["reverified"] and o["best"]["faster"] and o["best"]["speedup"]["low"] > 1.5'
"$program" export --format cassette | python3 -c 'import json, sys; print(json.loads(sys.stdin.readlines()[-1])["reply"])' >out
out=$(cat out)
says '"status":"compile_error"'
says "undeclared"
says '"line":8,"col":17'
says '"status":"wrong_result"'
says "a shape that is not shown"
grep -q unseen out && fail "a hidden workload was named: $out"
grep -q 'checked: .*"ok":true,"speedup":null' out || fail "no check without times: $out"
grep -q '"ok":true.*"do":"submit"' out || fail "no submission: $out"
# The device's time is used up by the first candidate.
expect 4 optimize slow --device cpu --strategy only.json --budget-requests 1 --json --store limited.db --model "agent,device=0.01,env=AGENTS,read=$work/agents:sh $work/agents/run"
"$program" export --store limited.db --format cassette | python3 -c 'import json, sys; print(json.loads(sys.stdin.readlines()[-1])["reply"])' >out
out=$(cat out)
says "s of the device are used"
finish
