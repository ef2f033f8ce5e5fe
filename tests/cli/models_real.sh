#!/bin/bash
# A real model: llama.cpp's server with a small model. doctor and a whole run call it through
# streaming chat. Skipped (77) without the packages. $KFORGE_TEST_PYTHON names a Python that has
# them, $LLAMA_GGUF another model.
python=${KFORGE_TEST_PYTHON:-python3}
"$python" "$(dirname "$0")/../llm/llama.py" --check || exit 77
source "$(dirname "$0")/lib.sh"
task=$root/tasks/axpy
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$python" "$root/tests/llm/llama.py" "$port" >server.log 2>&1 &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; clean_up' EXIT
for _ in $(seq 300); do grep -q 'running on' server.log && break; kill -0 $server 2>/dev/null || break; sleep 0.1; done
grep -q 'running on' server.log || { cat server.log; fail "the server does not start"; finish; }
spec=smollm@http://127.0.0.1:$port/v1
expect 0 doctor --model "$spec"
says "answered after"
# Short prompts: what a graphics card reads in no time takes a processor a minute.
mkdir prompts
for name in system first_draft improve repair_build repair_wrong; do echo 'Write a CUDA C++ function named {{entry}}.' >prompts/$name.md; done
# The model is far too small to write CUDA: what counts is that every reply is streamed, counted, stored and made the best of.
expect 0 optimize "$task" --workers "$bin/../tests/fake_worker" --model "compatible,max_tokens=120,continue=0,temperature=0.7,price_in=0,price_out=0:$spec" \
    --prompts prompts --budget-requests 2 --store real.db --json
json 'o["model_calls"] == 2 and o["requests"] == 2 and o["tokens"] > 50'
python3 - <<'END' || fail "the calls are not stored as they should be"
import sqlite3
rows = sqlite3.connect("real.db").execute("select model, outcome, seconds, cost_usd, reply is not null from model_call").fetchall()
print(*rows, sep="\n")
assert len(rows) == 2 and all(r[0] == "smollm" and r[1] in ("ok", "truncated") and r[2] > 0 and r[3] == 0 and r[4] for r in rows)
END
finish
