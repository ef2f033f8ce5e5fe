#!/bin/bash
# Keys: one test for each place that they must not be in (docs/guide/models.md, "Keys", has the table). usage: secrets.sh BIN CLAIM
# Every claim runs kforge with a key against a server on this machine. The server receives the key. The
# claim then searches for it in one place.
source "$(dirname "$0")/lib.sh"
fake=$bin/../tests/fake_worker
task=$root/tasks/axpy
key=sk-secret-0123456789abcdef
coproc SERVER { exec python3 "$root/tests/llm/server.py" 600; }
read -r port _ <&"${SERVER[0]}" || fail "the server does not start"
at() { echo "http://127.0.0.1:$port/$1/v1"; }
got_key() { # the server at the path has received it
    python3 -c 'import json, sys, urllib.request as u
log = json.load(u.build_opener(u.ProxyHandler({})).open(sys.argv[1])); sys.exit(not any(sys.argv[2] in r["headers"].get("authorization", "") for r in log))' \
        "http://127.0.0.1:$port/log/$1" $key
}
asked() { # the key has really been sent
    got_key "$1" || fail "the server at $1 did not get the key: the test shows nothing"
}
nowhere() { # no such file holds the key
    [ $# -gt 0 ] || fail "nothing to look into"
    for file in "$@"; do
        [ -s "$file" ] || fail "$file is empty: the test shows nothing"
        grep -qa -e "$key" "$file" && fail "the key is in $file"
    done
}
export KFORGE_API_KEY=$key
# A run that waits for its model, in the background.
begin_waiting() {
    "$program" optimize "$task" --workers "env >worker.env; exec $fake" --model "m@$(at silent)" --model 'exec:env >exec.env; sleep 200' --store silent.db --time 300s --calls 2 >out 2>err &
    pid=$!
    await [ -s worker.env ]
    await [ -s exec.env ]
    await got_key silent
}
end_waiting() {
    interrupt $pid
    interrupt $pid 2>/dev/null
    wait $pid
}

argv() {
    begin_waiting
    tr '\0' ' ' <"/proc/$pid/cmdline" >cmdline
    for child in $(cat "/proc/$pid/task/$pid/children"); do tr '\0' ' ' <"/proc/$child/cmdline"; done >children
    end_waiting
    nowhere cmdline children
}

environment_of_children() {
    begin_waiting
    for child in $(cat "/proc/$pid/task/$pid/children"); do cat "/proc/$child/environ"; done >children
    end_waiting
    nowhere worker.env exec.env children
}

own_environment() { # /proc/PID/environ can be read by the same user until the first request
    echo '{"schema": "kforge-cassette/1", "source": "this test", "model": "none"}' >none.jsonl
    "$program" optimize "$task" --workers "touch up; sleep 100; exec $fake" --model replay:none.jsonl --time 200s --store environ.db >out 2>err &
    pid=$!
    await [ -e up ] # settings have been read by then
    cat "/proc/$pid/environ" >environ
    end_waiting
    nowhere environ
}

logs() { # the output of a run, during it and at its end
    expect 0 optimize "$task" --workers "$fake" --model "compatible,price_in=1,price_out=2:m@$(at echo)" --budget-requests 2 --store log.db
    asked echo
    cp out log.out
    cp err log.err
    nowhere log.out log.err
    expect 0 optimize "$task" --workers "$fake" --model "m@$(at echo)" --budget-requests 2 --store log.db --json
    nowhere out
    expect 0 show --store log.db
    nowhere out
    expect 0 doctor --model "m@$(at echo)"
    nowhere out
    expect 0 doctor --model "m@$(at echo)" --json
    nowhere out
}

errors() { # servers repeat what they refuse
    expect 3 optimize "$task" --workers "$fake" --model "m@$(at unauthorized)" --time 300s --store refused.db
    case $err in *"status 401"*"[key]"*) ;; *) fail "$err" ;; esac
    asked unauthorized
    cp err first.err
    nowhere first.err
    expect 3 doctor --model "m@$(at unauthorized)"
    nowhere out
    expect 2 optimize "$task" --workers "$fake" --model "m@http://user:$key@127.0.0.1:$port/x/v1" --store refused.db
    case $err in *"must not hold a user or password"*) ;; *) fail "$err" ;; esac
    nowhere err
}

store() { # of a model that repeats its input, of a server that refuses, of a killed run
    command -v zstd >/dev/null || { echo "zstd is not installed: packed texts can't be looked into"; exit 77; }
    expect 0 optimize "$task" --workers "$fake" --model "m@$(at echo)" --budget-requests 2 --store run.db
    expect 3 optimize "$task" --workers "$fake" --model "m@$(at unauthorized)" --time 300s --store run.db
    asked echo
    asked unauthorized
    # Texts are compressed: the test reads each, and finds one with a redacted key.
    python3 - "$root" run.db >texts <<'END' || fail "can't read the store"
import json, subprocess, sqlite3, sys
db = sqlite3.connect(sys.argv[2])
for table, in db.execute("select name from sqlite_master where type = 'table'").fetchall():
    for row in db.execute(f"select * from {table}"):
        for value in row:
            if isinstance(value, bytes) and value[:4] == b"\x28\xb5\x2f\xfd":
                value = subprocess.run(["zstd", "-dcq"], input=value, stdout=subprocess.PIPE, check=True).stdout
            sys.stdout.write((value.decode(errors="replace") if isinstance(value, bytes) else str(value)) + "\n")
END
    grep -q "I was asked with Bearer \[key\]" texts || fail "no reply with the key struck out: the test shows nothing"
    nowhere texts run.db
}

recorded_files() {
    expect 0 optimize "$task" --workers "$fake" --model "m@$(at echo)" --budget-requests 2 --store run.db
    asked echo
    expect 0 list --store run.db -q
    run=$(head -1 <<<"$out")
    for format in cassette raw sft; do
        expect 0 export --store run.db --format $format --run "$run" -o $format.jsonl
        nowhere $format.jsonl
    done
    grep -q "\[key\]" cassette.jsonl || fail "the cassette has no reply with the key struck out: the test shows nothing"
}

exec_commands() { # a new run refuses a command that holds a key; runs of older stores are shown without it
    local -x SOME_TOKEN=precious-0123456789 KFORGE_KEY_FILE=$work/keys
    echo "DEEPSEEK_API_KEY=deep-$key-deep" >keys
    chmod 600 keys
    printf '{"model": "exec:./ask --key sk-proj-ABCDEFGHIJ0123456789"}' >with-key.json
    for secret in "$key" "deep-$key-deep" precious-0123456789 sk-proj-ABCDEFGHIJ0123456789 "Bearer abcdefgh0123456789"; do
        for spec in "exec:./ask '$secret'" "exec,timeout=5:A=$secret ./ask" "fallback:replay:$root/tests/replay/axpy.jsonl then exec:./ask $secret"; do
            expect 2 optimize "$task" --workers "$fake" --model "$spec" --store none.db
            complains "[key]"
            complains "into a file"
            [[ $err != *"$secret"* ]] || fail "printed: $err"
            expect 2 bench "$task" --workers "$fake" --model "$spec" --store none.db
            [[ $err$out != *"$secret"* ]] || fail "printed: $err"
        done
    done
    KFORGE_CONFIG=with-key.json expect 2 optimize "$task" --workers "$fake" --store none.db
    complains "[key]"
    [ ! -e none.db ] || nowhere none.db
    # A command without a key stays as it is, with its paths.
    expect 0 optimize "$task" --workers "$fake" --model "exec:false /home/jane/sk-learn-is-a-library-of-python" --candidates 2 --store old.db
    expect 0 show latest --json --store old.db
    says '"exec:false /home/jane/sk-learn-is-a-library-of-python"'
    # As an older version stored it.
    python3 -c 'import sqlite3, sys
db = sqlite3.connect("old.db")
with db: assert db.execute("UPDATE run SET options = replace(options, ?, ?)", ("/home/jane/sk-learn-is-a-library-of-python", sys.argv[1])).rowcount == 1' "$key" || fail "can't change the store"
    for view in "show latest" "show latest --json" "list" "list --json" "export --format raw" "export --format sft" "store stats"; do
        expect 0 $view --store old.db
        [[ $out$err != *"$key"* ]] || fail "kforge $view prints the key"
    done
    expect 3 store check --store old.db # changed by another program
    [[ $out$err != *"$key"* ]] || fail "kforge store check prints the key"
    expect 0 list --store old.db -q
    run=$(head -n 1 <<<"$out")
    HOME=$work/elsewhere expect 2 optimize --resume "$run" --workers "$fake" --store old.db --candidates 9
    complains "[key]"
    [[ $err != *"$key"* ]] || fail "printed: $err"
    expect 0 trust old.db
    [[ $out != *"$key"* ]] || fail "kforge trust prints the key"
    says "[key]"
}

worker_commands() { # refused, and shown without the key
    local -x KFORGE_EXEC_TIMEOUT=20
    local at secret=horse-battery-9 spec
    for spec in "ssh host env HF_TOKEN=$secret $fake" "kubectl --token $secret exec -i pod -- $fake" "curl -sNT - https://me:$secret@127.0.0.1/" \
        "curl -u me:$secret http://127.0.0.1/" "curl -H 'Authorization: Basic $secret' http://127.0.0.1/" "sshpass -p $secret ssh host $fake" "A=$key $fake"; do
        for at in "optimize $task --model none" "bench $task --model none" "eval $task $task/baseline.cu" "optimize $task --model none --json"; do
            expect 2 $at --workers "$spec" --store none.db
            complains "[key]"
            complains "into a file"
            [[ $err$out != *"$secret"* && $err$out != *"$key"* ]] || fail "printed: $err"
        done
    done
    [ ! -e none.db ] || nowhere none.db
    # of the environment, of one's own file, and of a project, which may not run at all
    KFORGE_WORKERS="curl http://me:$secret@127.0.0.1/" expect 2 optimize "$task" --model none --store none.db
    complains "[key]"
    printf '{"workers": ["curl http://me:%s@127.0.0.1/"]}' "$secret" >own.json
    KFORGE_CONFIG=own.json expect 2 optimize "$task" --model none --store none.db
    complains "[key]"
    mkdir -p project/.git && mv own.json project/kforge.json
    (cd project && env -u KFORGE_CONFIG "$program" optimize "$task" --model none --candidates 1 --workers "$fake" --store "$work/run.db") >out 2>err </dev/null
    grep -q "workers is ignored.*\[key\]" err || fail "ignored: $(cat err)"
    cat out >>err
    expect 0 trust project
    says "[key]"
    grep -q "$secret" err out && fail "printed: $(cat err) $out"
    # A program repeats the secret that it reads from a file.
    echo "cannot log in with PASSWORD=$secret" >said
    "$program" optimize "$task" --model none --time 60s --workers "cat said >&2; exit 7" --store run.db >out 2>err </dev/null
    grep -q "PASSWORD=\[key\]" err || fail "what the worker said: $(cat err)"
    grep -qa "$secret" err out run.db && fail "printed or stored: $(cat err out)"
}

core_dumps() {
    pattern=$(cat /proc/sys/kernel/core_pattern)
    case $pattern in
    \|* | /*) echo "core dumps go to $pattern here: not looked for"; exit 77 ;;
    esac
    if grep -qa __asan_init "$program"; then echo "AddressSanitizer allows no core dumps"; exit 77; fi
    ulimit -c unlimited || { echo "no core dumps allowed"; exit 77; }
    # Before the first request a core exists, without the pages of the keys.
    echo '{"schema": "kforge-cassette/1", "source": "this test", "model": "none"}' >none.jsonl
    "$program" optimize "$task" --workers "touch up; sleep 100; exec $fake" --model replay:none.jsonl --time 200s --store core.db >out 2>err &
    pid=$!
    await [ -e up ]
    kill -ABRT $pid
    wait $pid 2>/dev/null
    cat core* >dumped 2>/dev/null
    if [ ! -s dumped ]; then echo "this machine writes no core"; exit 77; fi
    grep -qa "KFORGE_STORE" dumped || fail "the core holds no environment: the test shows nothing"
    nowhere dumped
    rm -f core* dumped
    # From the first request on there is no core.
    begin_waiting
    kill -ABRT $pid
    wait $pid 2>/dev/null
    ls core* 2>/dev/null | grep -q . && fail "a core was written while a key was in use"
}

claim=$2
case $claim in argv | environment_of_children | own_environment | logs | errors | store | recorded_files | exec_commands | worker_commands | core_dumps) $claim ;; *) fail "no test $claim" ;; esac
finish
