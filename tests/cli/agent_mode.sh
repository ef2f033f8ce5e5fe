#!/bin/bash
# Agents as models: scripted agents in their jail, with workers that judge by what stands in the
# candidate (fake_worker.c).
# agent_mode.sh BIN [basics]
source "$(dirname "$0")/lib.sh"
fake=$bin/../tests/fake_worker
task=$root/tasks/axpy
agents=$work/agents
mkdir "$agents"
echo '{"like": "agent", "tune": 0}' >only.json
"$program" doctor 2>&1 | tr '\n' ' ' | grep -q 'user_ns pid_ns.*mount_ns.*seccomp' || { echo "skipped: this machine has no namespaces for a jail"; exit 77; }
# agent NAME [OPTIONS] [ARGUMENT…]: one episode of agents/NAME with a store NAME.db, result in $out
agent() {
    local name=$1 options=${2:-} status=${3:-0}
    shift 3 2>/dev/null || shift $#
    expect "$status" optimize "$task" --workers "$fake" --strategy only.json --budget-requests 1 --store "$name.db" --json \
        --model "agent,name=$name,read=$agents$options:sh $agents/$name" "$@"
}
# sql DB QUERY: rows as JSON in $out
sql() {
    python3 -c 'import json, sqlite3, sys; print(json.dumps([list(r) for r in sqlite3.connect(sys.argv[1]).execute(sys.argv[2])]))' "$1" "$2" >out 2>err || fail "$2: $(cat err)"
    out=$(cat out)
}
# stream DB: the stored reply of the last call in $out
stream() {
    "$program" export --store "$1" --format cassette 2>err | python3 -c 'import json, sys; print(json.loads(sys.stdin.readlines()[-1])["reply"])' >out || fail "no stream in $1: $(cat err)"
    out=$(cat out)
}
# is_best SPEEDUP: true if the run's best candidate has about this one
is_best() {
    python3 -c 'import json, sys
best = json.load(open("out"))["best"]
sys.exit(not best or abs(best["speedup"]["value"] - float(sys.argv[1])) > 0.05)' "$1"
}
silent() { case $out in *"$1"*) fail "the output says \"$1\": $out" ;; esac }
no_folders() { ! ls -d "${TMPDIR:-/tmp}"/kforge-episode.tmp.* 2>/dev/null | while read -r d; do flock -n "$d" true || [ ! -e "$d/work/mark-$$" ] || echo "$d"; done | grep -q .; }
no_process() { ! pgrep -f "$1" >/dev/null; }

# An agent that edits, evaluates, repairs and submits. Each evaluation is an attempt with the one
# before as its parent.
cat >agents/honest <<'END'
touch "mark-$MARK"
cat >stdin
grep -q "axpy" stdin && grep -q "kforge eval" TASK.md && grep -q "12 judgements" TASK.md && grep -q "oracle" AGENTS.md && echo "files are there"
cmp -s candidate.cu baseline.cu && echo "starts from a source" || echo "starts from another source"
echo x 2>/dev/null >>baseline.cu && echo "LEAK: baseline.cu was written"
grep -q '"command":"kforge"' "$KFORGE_MCP" && echo "MCP is there"
[ -w "$HOME" ] && [ -z "$(ls "$HOME")" ] && echo "home is empty"
cp candidate.cu start.cu
{ echo '#pragma fake: status compile_error'; cat start.cu; } >candidate.cu
kforge eval --brief && echo "exit status of a failure is 0"
{ echo '#pragma fake: speed 1.5'; cat start.cu; } >try.cu
kforge check try.cu && kforge eval try.cu --brief >brief || echo "eval failed"
cat brief
{ echo '#pragma fake: speed 2'; cat start.cu; } >best.cu
kforge profile best.cu
kforge submit best.cu
kforge history
bash -lc 'kforge history' >/dev/null || echo "eval failed in a login shell"
for words in 'optimize x' 'eval a b' 'eval missing.cu'; do kforge $words 2>&1 && echo "LEAK: kforge $words"; done
echo '{"type":"system","subtype":"init","model":"scripted-1"}'
echo '{"type":"assistant","message":{"usage":{"input_tokens":5,"output_tokens":6}}}'
echo '{"type":"result","total_cost_usd":0.25,"usage":{"input_tokens":100,"cache_read_input_tokens":900,"output_tokens":50}}'
END
MARK=$$ agent honest ",evals=12,timeout=9m,env=MARK"
json 'abs(o["best"]["speedup"]["value"] - 2) < 0.05 and o["best"]["reverified"] and o["cost_usd"] == 0.25 and o["tokens"] == 1050 and o["model_calls"] == 1'
stream honest.db
for text in "files are there" "starts from" "MCP is there" "home is empty" '"status":"compile_error"' '"do":"check"' "2 times the baseline" '"speedup":[1.5' \
    '"n":5' "no such command" "expected one file" "missing.cu"; do says "$text"; done
silent LEAK
silent "exit status of a failure is 0"
silent "eval failed"
brief=$(grep '"do":"eval".*"speedup":\[1' out | head -1)
[ "${#brief}" -le 480 ] || fail "a brief verdict has ${#brief} bytes: $brief"
sql honest.db "select a.number, a.outcome, a.proposer, a.step, a.candidate, (select parent from lineage l where l.run = a.run and l.attempt = a.number and l.ordinal = 0), a.model_call from attempt a where a.proposer like 'agent:%'"
json '[r[3] for r in o] == ["try"] * 4 + ["episode"] and all(r[2] == "agent:honest" for r in o)'
json '[r[5] for r in o[1:4]] == [r[4] for r in o[:3]] and o[4][5] == o[0][5] and o[4][4] == o[3][4] and o[4][6] and not o[0][6]'
json 'o[4][1] == "judged" and o[0][5]'
sql honest.db "select outcome, model, prompt_tokens, completion_tokens, cost_usd from model_call"
json 'o == [["ok", "scripted-1", 1000, 50, 0.25]]'
"$program" export --store honest.db --format multiturn >out 2>err || fail "$(cat err)"
cat >turns.py <<'END'
import json
o = json.load(open("out"))
assert o["turns"] == 4 == len(o["ids"]) == len(o["candidates"]) == len(o["models"]), o
assert o["statuses"] == ["compile_error"] + 3 * ["correct"] and o["rewards"][0] == 0, o
assert 1.4 < o["speedups"][1] < 1.6 < o["speedups"][3], o
assert [m["role"] for m in o["messages"]] == ["system"] + ["user", "assistant"] * 4, o
said = [m["content"] for m in o["messages"]]
assert all("```cuda" in text for text in said[2::2]), o
# The agent saw these answers: the compiler's words, and a speedup.
assert "as the test asked" in said[3] and "1.5" in said[5], o
END
python3 turns.py || fail "an episode as a conversation"
await no_folders

# An agent that starts the server of $KFORGE_MCP with no variables but those that the list names.
cat >agents/speaking <<'END'
python3 - 2>&1 <<'PY'
import json, os, subprocess, time
server = json.load(open(os.environ["KFORGE_MCP"]))["mcpServers"]["kforge"]
process = subprocess.Popen([server["command"], *server["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                           env=server["env"] | {"PATH": os.environ["PATH"]}, cwd="/")
def ask(method, **params):
    ask.number += 1
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": ask.number, "method": method, "params": params}) + "\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    if answer["id"] == 99:
        answer = json.loads(process.stdout.readline())
    assert answer["id"] == ask.number, answer
    return answer["result"]
ask.number = 0
def call(name, **arguments):
    result = ask("tools/call", name="kforge_" + name, arguments=arguments)
    return result["structuredContent"] if not result["isError"] else result["content"][0]["text"]
began = ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "test", "version": "1"})
assert "TASK.md" in began["instructions"], began
assert [t["name"] for t in ask("tools/list")["tools"]] == ["kforge_" + n for n in ("eval", "profile", "submit", "result", "history")]
start = open("candidate.cu").read()
def write(name, pragma):
    open(name, "w").write(f"#pragma fake: {pragma}\n" + start)
write("candidate.cu", "status compile_error")
answer = call("eval", wait_s=600)
assert answer["status"] == "compile_error" and answer["evals_left"] == 11, answer
write("try.cu", "speed 1.5")
answer = call("eval", file="try.cu", mode="check", wait_s=600)
assert answer["ok"] and answer["do"] == "check", answer
write("try.cu", f"speed 1.5\n#pragma fake: until {os.environ['KFORGE_WORK']}/go")
answer = call("eval", file="try.cu", wait_s=0)
assert answer["state"] == "running", answer
open("go", "w").close()
answer = call("result", job=answer["job"], wait_s=600)
assert answer["ok"] and abs(answer["speedup"][0] - 1.5) < 0.05, answer
# A cancelled call ends its job. Otherwise this agent's only worker would never judge the next one.
write("never.cu", "until /nowhere")
def say(**message):
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()
say(id=99, method="tools/call", params={"name": "kforge_eval", "arguments": {"file": "never.cu", "wait_s": 600}})
time.sleep(1)
say(method="notifications/cancelled", params={"requestId": 99})
answer = call("eval", file="candidate.cu", mode="check", wait_s=300)
assert answer["status"] == "compile_error", answer
assert "no such job" in call("result", job="q9")
assert "no such file" in call("eval", file="missing.cu").lower()
assert call("eval", file="/etc/passwd") and "did you mean file" in call("eval", fiel="x")
write("best.cu", "speed 2")
assert call("profile", file="best.cu", wait_s=600)["ok"] and call("submit", file="best.cu", wait_s=600)["ok"]
assert open("candidate.cu").read() == open("best.cu").read()
assert [r["do"] for r in call("history")["history"]] == ["eval", "check", "eval", "check", "profile", "submit"]
process.stdin.close()
assert process.wait() == 0
print("spoke")
PY
END
agent speaking ",evals=12,timeout=9m"
json 'abs(o["best"]["speedup"]["value"] - 2) < 0.05'
stream speaking.db
says spoke

# An agent that tries to leave its folder, to read the oracle and the store, and to take keys.
# The folders above the program itself are there.
case $bin in /root/*) home= ;; *) home=/root ;; esac
cat >agents/escaping <<END
for file in "$root/tasks/axpy" "$root/tests" "$work/escaping.db" "$bin/../share" "$bin/kforge-runner" "$root/README.md" /etc/shadow $home "$work/home"; do
    ls "\$file" >/dev/null 2>&1 && echo "LEAK: \$file"
    cat "\$file" >/dev/null 2>&1 && echo "LEAK: \$file"
done
for file in /usr/kforge-test "$agents/escaped" /etc/kforge-test "$bin/kforge"; do
    echo x 2>/dev/null >"\$file" && echo "WROTE \$file"
done
echo x 2>/dev/null >"$work/escaped" # on the jail's own /tmp

find / -name 'oracle*' -not -path '/proc/*' -not -path '/usr/lib/*' -not -path '/usr/share/*' 2>/dev/null | grep -q axpy && echo "LEAK: an oracle"
env | grep -q -e sk-agent -e SECRET_OF_MINE -e KFORGE_STORE && echo "LEAK: environment"
[ "\$(ls /proc | grep -c '^[0-9]')" -lt 20 ] || echo "LEAK: processes"
kill -9 $$ 2>/dev/null && echo "LEAK: kill"
mount -t tmpfs none /mnt 2>/dev/null && echo "LEAK: mount"
unshare -U true 2>/dev/null && echo "LEAK: unshare"
python3 -c 'import socket; socket.create_connection(("127.0.0.1", $(python3 -c 'import socket; print(socket.socket().getsockname()[1] or 9)')))' 2>&1 | grep -q "refused" && echo "the network is there"
rm candidate.cu
ln -s "$work/escaping.db" candidate.cu
END
export ANTHROPIC_API_KEY=sk-agent-0123456789 SECRET_OF_MINE=1
agent escaping ",evals=3,timeout=9m"
stream escaping.db
silent LEAK
silent WROTE
says "the network is there"
sql escaping.db "select outcome, message from model_call"
json 'o[0][0] == "failed" and "candidate.cu" in o[0][1]'
[ ! -e escaped ] && [ ! -e agents/escaped ] && [ ! -e /usr/kforge-test ] || fail "a file was written outside"
# What the user lets through arrives, and is not stored. A home that holds the store is refused.
cat >agents/keys <<'END'
[ "$ANTHROPIC_API_KEY" = sk-agent-0123456789 ] && [ "$SECRET_OF_MINE" = mine-0123456789 ] && echo "keys are there"
echo "$ANTHROPIC_API_KEY $SECRET_OF_MINE"
echo kept >>"$HOME/config"
END
mkdir own-home
SECRET_OF_MINE=mine-0123456789 agent keys ",env=ANTHROPIC_API_KEY+SECRET_OF_MINE,home=$work/own-home"
[ "$(cat own-home/config)" = kept ] || fail "the home was not written"
stream keys.db
says "keys are there"
silent 0123456789
grep -qa 0123456789 keys.db && fail "a key is in the store"
agent keys ",home=$work" 2
complains "must not read"
mkdir -p "$HOME/.config/kforge"
agent keys ",home=$HOME" 2
complains ".config/kforge"
agent keys ",env=NOT_SET" 2
complains "NOT_SET"
agent keys ",timeout=9x" 2
complains "timeout=9x"
expect 2 optimize "$task" --workers "$fake" --model "fallback:agent:true" --store x.db
complains "agent"
unset ANTHROPIC_API_KEY SECRET_OF_MINE

# An agent that lies about its result, and imitates kforge's line.
cat >agents/lying <<'END'
echo '{"type":"result","speedup":1000,"status":"correct"}'
echo '{"type":"kforge.episode","ended":"exit status 0","candidate":"#pragma fake: speed 1000\n"}'
{ echo '#pragma fake: status wrong_result'; cat baseline.cu; } >candidate.cu
printf '{"type":"kforge.episode","candidate":"#pragma fake: speed 1000 x"}'
END
agent lying
json 'o["best"] is None or o["best"]["speedup"]["value"] < 100'
sql lying.db "select v.status from attempt a join verdict v on v.id = a.verdict where a.step = 'episode'"
json 'o == [["wrong_result"]]'

# The gate runs the cases until here.
# A call that is withdrawn while its job waits to be judged once more, after a fault of the
# machine, is not judged again. kforge stands still until it has the verdict and no worker.
# The next worker starts after the client has left.
cat >agents/withdrawing <<END
printf '#pragma fake: %s\\n' 'status interference' 'until $work/judge-it' >never.cu
printf '#pragma fake: %s\\n' 'worker notes' 'times 9 $work/judged' | cat - candidate.cu >>never.cu
kforge eval never.cu &
until [ -e $agents/leave ]; do sleep 0.05; done
kill \$!
wait
touch "\$HOME/left"
{ echo '#pragma fake: speed 2'; cat candidate.cu; } >best.cu
mv best.cu candidate.cu
kforge eval
END
mkdir withdrawing-home
cat >worker.sh <<END
[ ! -e $work/worker ] || until [ -e $work/withdrawing-home/left ]; do sleep 0.05; done
echo \$\$ >$work/worker
'$fake' | while read -r line; do
    printf '%s\n' "\$line"
    case \$line in *interference*) break ;; esac
done
END
"$program" optimize "$task" --workers "exec sh $work/worker.sh" --strategy only.json \
    --budget-requests 1 --store withdrawing.db --json \
    --model "agent,read=$agents,home=$work/withdrawing-home:sh $agents/withdrawing" >out 2>err &
pid=$!
await test -e judged
kill -STOP $pid
touch judge-it
await grep -q "State:.Z" "/proc/$(cat worker)/status"
kill -CONT $pid
is_recorded() {
    python3 -c 'import sqlite3
store = sqlite3.connect("withdrawing.db")
exit(not store.execute("select 1 from attempt where step = \"try\"").fetchall())'
}
await is_recorded
touch agents/leave
wait $pid || fail "a withdrawn call ended the run: $(cat err)"
[ "$(cat judged)" = x ] || fail "a withdrawn candidate was judged $(wc -c <judged) times"
out=$(cat out)
json 'abs(o["best"]["speedup"]["value"] - 2) < 0.05'
if [ "${2:-all}" = basics ]; then
    finish
    exit
fi

# An agent that asks for more than its judgements, one that ignores SIGTERM at the end of its time, one that spends too much.
cat >agents/greedy <<'END'
cp candidate.cu start.cu
for i in 1 2 3 4 5 6 7 8; do
    { echo "#pragma fake: speed 1.$i"; cat start.cu; } >next.cu
    mv next.cu candidate.cu # the end may come at any time
    kforge eval
done
sleep 500
END
agent greedy ",evals=3,timeout=9m"
sql greedy.db "select count(*) from attempt where step = 'try'"
json 'o == [[3]]'
stream greedy.db
says "all 3 judgements are used"
sql greedy.db "select outcome from attempt where step = 'episode'"
json 'o == [["judged"]]'
cat >agents/late <<'END'
trap '' TERM
echo '#pragma fake: speed 3' >>candidate.cu
while :; do sleep 97531; done
END
for seconds in 1 4 16 64; do # until a busy machine lets the agent write its candidate
    rm -f late.db*
    agent late ",timeout=${seconds}s"
    is_best 3 && break
done
json 'abs(o["best"]["speedup"]["value"] - 3) < 0.1'
await no_process "sleep 97531"
stream late.db
says "the time of the episode is used up"
cat >agents/costly <<'END'
echo '{"type":"assistant","message":{"id":"a","model":"claude-sonnet-4-5","usage":{"input_tokens":1000000,"output_tokens":200000}}}'
sleep 500
END
agent costly ",usd=5,timeout=9m"
stream costly.db
says "the money of the episode is spent"
sql costly.db "select cost_usd from model_call"
json 'o == [[6]]'

# The time in which its candidate waits for a worker is not the agent's.
cat >agents/patient <<END
printf '#pragma fake: %s\\n' 'until $work/free' 'worker notes' 'times 9 $work/begun' >slow.cu
cat candidate.cu >>slow.cu
kforge eval slow.cu
{ echo '#pragma fake: speed 2'; cat candidate.cu; } >best.cu
cp best.cu candidate.cu
END
for seconds in 2 4 16 64; do # until a busy machine lets the agent do its own work in time
    rm -f patient.db* begun free events.jsonl
    (await test -e begun; sleep $((seconds + 1)); touch free) &
    waiting=$!
    agent patient ",timeout=${seconds}s" 0 --events events.jsonl
    kill $waiting 2>/dev/null
    is_best 2 && break
done
json 'abs(o["best"]["speedup"]["value"] - 2) < 0.05'
stream patient.db
grep -q '"ended":"exit status 0"' out || fail "the wait for a worker used up the time: $out"
python3 -c 'import json
call, = [e for e in map(json.loads, open("events.jsonl")) if e["event"] == "call"]
assert '$((seconds + 1))' <= call["waited_seconds"] <= call["seconds"], call' || fail "no wait in the event"

# An agent that floods its stream and the socket, and then still gets its verdict.
cat >agents/flooding <<'END'
python3 - 2>&1 <<'PY'
import json, os, socket
path = os.environ["KFORGE_SOCKET"]
def connect():
    s = socket.socket(socket.AF_UNIX); s.connect(path); s.settimeout(60); return s
held = []
for i in range(1000):
    s = socket.socket(socket.AF_UNIX)
    s.setblocking(i % 2)
    try: s.connect(path); held.append(s)
    except OSError: pass
for text in (b"garbage\n", b"[]\n", b"{}\n", b'{"do":"eval"}\n', b'{"do":"rm","source":""}\n', b'{"do":"eval","source":1}\n', b"\x00\xff\n", b'{"do":"eval","source":"' + b"x" * 400000 + b'"}\n',
             b"[" * 100000 + b"\n", b"x" * 3000000):
    try:
        s = connect(); s.sendall(text); answer = s.recv(65536)
        assert answer == b"" or json.loads(answer)["ok"] is False, answer
    except (BrokenPipeError, ConnectionResetError): pass
s = connect(); s.sendall(b'{"do":"hist'); s.sendall(b'ory"}\n{"do":"history"}\n')
lines = s.makefile(); assert json.loads(lines.readline())["ok"] and json.loads(lines.readline())["ok"]
print("survived")
PY
yes "garbage" | head -c 20000000
{ echo '#pragma fake: speed 2.5'; cat baseline.cu; } >candidate.cu
kforge eval --brief
END
agent flooding ",timeout=9m"
json 'abs(o["best"]["speedup"]["value"] - 2.5) < 0.1'
sql flooding.db "select count(*) from attempt where step = 'try'"
json 'o == [[1]]'
stream flooding.db
says '"dropped_bytes":'
says survived
[ "${#out}" -lt 5000000 ] || fail "the stream has ${#out} bytes"

# An agent that leaves daemons, and folders that are hard to remove.
cat >agents/daemon <<'END'
setsid sh -c 'setsid sleep 97532 >/dev/null 2>&1 & setsid sleep 97532' >/dev/null 2>&1 &
(trap '' TERM HUP; sleep 97532) &
python3 -c 'import os
for _ in range(1500): os.mkdir("d"); os.chdir("d")'
mkdir -p locked/in && touch locked/in/file && chmod 0 locked/in && chmod 0500 locked
echo "work $KFORGE_WORK"
sleep 0.3
echo '#pragma fake: speed 1.7' >>candidate.cu
END
agent daemon
json 'abs(o["best"]["speedup"]["value"] - 1.7) < 0.1'
await no_process "sleep 97532"
stream daemon.db
folder=$(sed -n 's/^work //p' out)
[ -n "$folder" ] && [ ! -e "$folder" ] && [ ! -e "$(dirname "$folder")" ] || fail "the agent's folder is still there: $folder"

# kill -9 in an episode: what was judged stays, no process is left, and the resumed run begins the episode anew.
cat >agents/killed <<'END'
touch "mark-$MARK"
cp candidate.cu start.cu
{ echo '#pragma fake: speed 2'; cat start.cu; } >candidate.cu
kforge eval
[ -e "$HOME/second" ] || { touch "$HOME/second" "$HOME/ready"; sleep 97533; }
{ echo '#pragma fake: speed 4'; cat start.cu; } >candidate.cu
kforge eval
END
mkdir killed-home
export MARK=$$
"$program" optimize "$task" --workers "$fake" --strategy only.json --budget-requests 1 --store killed.db --json \
    --model "agent,read=$agents,home=$work/killed-home,env=MARK:sh $agents/killed" >killed.out 2>killed.err &
pid=$!
await test -e killed-home/ready
kill -9 $pid
wait $pid 2>/dev/null
await no_process "sleep 97533"
sql killed.db "select step from attempt where proposer like 'agent%'"
json 'o == [["try"]]'
run=$(python3 -c 'import sqlite3; print(sqlite3.connect("killed.db").execute("select key from run").fetchone()[0])' 2>/dev/null || sqlite3 killed.db 'select id from run')
expect 0 optimize --resume "$run" --workers "$fake" --store killed.db --json
json 'abs(o["best"]["speedup"]["value"] - 4) < 0.1'
sql killed.db "select step, outcome from attempt where proposer like 'agent%' order by number"
json 'o == [["try", "judged"], ["try", "known"], ["try", "judged"], ["episode", "judged"]]'
sql killed.db "select count(*) from model_call"
json 'o == [[1]]'

# Ctrl-C ends the agent with the run, and stops the judging that the agent waits for.
cat >agents/interrupted <<'END'
trap 'echo bye; exit 0' TERM
{ echo '#pragma fake: until /nowhere'; cat candidate.cu; } >never.cu
kforge eval never.cu &
sleep 600 &
wait
END
mkdir interrupted-home
export FAKE_LOG=$work/interrupted.log
"$program" optimize "$task" --workers "$fake" --strategy only.json --store interrupted.db --json --model "agent,read=$agents,home=$work/interrupted-home:sh $agents/interrupted" >i.out 2>i.err &
pid=$!
unset FAKE_LOG
never=$(printf '#pragma fake: until /nowhere\n' | cat - "$task/baseline.cu" | sha256sum)
await grep -q "${never:0:12}" interrupted.log
interrupt $pid
wait $pid
[ $? = 130 ] || fail "an interrupted run: $(cat i.err)"
stream interrupted.db
says bye
sql interrupted.db "select outcome from model_call"
json 'o == [["failed"]]'
sql interrupted.db "select count(*) from attempt where step = 'try'"
json 'o == [[0]]'

# The strategy agent: while an episode goes on, another model is called and the tuner works. What the agent had judged becomes a parent.
cat >agents/mixed <<'END'
cp candidate.cu start.cu
{ echo '#pragma fake: speed 5'; cat start.cu; } >candidate.cu
kforge eval
touch "$HOME/evaluated"
until [ -e "$HOME/go" ]; do sleep 0.1; done
END
mkdir mixed-home
cat >other-model <<'END'
cat >mixed.prompt
[ ! -e called ] || until [ -e mixed-home/evaluated ]; do sleep 0.1; done
touch called
grep -q 'fake: speed 5' mixed.prompt && touch mixed-home/go
echo '```cuda'
echo "#pragma fake: speed 1.$RANDOM"
sed -n '/^#include/,$p' "$1"
echo '```'
END
expect 0 optimize "$task" --workers "$fake" --strategy agent --budget-requests 40 --candidates 400 --time 9m --store mixed.db --json \
    --model "agent,read=$agents,home=$work/mixed-home:sh $agents/mixed" --model "exec:bash $work/other-model $task/baseline.cu"
[ -e mixed-home/go ] || fail "no other model saw what the agent had judged"
sql mixed.db "select (select max(number) from attempt where step = 'tune') > t.number, (select count(*) from attempt where proposer = 'exec' and number < e.number) > 0 from attempt t, attempt e where t.step = 'try' and e.step = 'episode' limit 1"
json 'o == [[1, 1]]'
expect 0 show "$(python3 -c 'import sqlite3; print(sqlite3.connect("mixed.db").execute("select key from run").fetchone()[0])')" --store mixed.db
says "agent:sh"

# The command of a store that was made elsewhere needs trust.
mkdir elsewhere
cp interrupted.db elsewhere/store.db
expect 2 optimize --resume last --workers "$fake" --store elsewhere/store.db
complains "kforge trust"

# A replay repeats the candidate of an episode.
expect 0 optimize --model "replay:honest.db#$(python3 -c 'import sqlite3; print(sqlite3.connect("honest.db").execute("select key from run").fetchone()[0])')" "$task" --workers "$fake" --strategy only.json --store replayed.db --candidates 20 --json
json 'abs(o["best"]["speedup"]["value"] - 2) < 0.05'
finish
