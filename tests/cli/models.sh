#!/bin/bash
# Models over the network: a run against a server on this machine, its budgets, and its key.
source "$(dirname "$0")/lib.sh"
task=$root/tasks/axpy
fake=$bin/../tests/fake_worker
key=sk-secret-0123456789abcdef

openssl req -x509 -newkey rsa:2048 -nodes -keyout tls.key -out tls.pem -days 2 -subj /CN=model.test -addext subjectAltName=DNS:model.test,IP:127.0.0.1 2>openssl.log ||
    fail "no certificate: $(cat openssl.log)"
coproc SERVER { exec python3 "$root/tests/llm/server.py" 1200 tls.pem tls.key; }
server_in=${SERVER[1]}
read -r port port6 port_tls port_proxy <&"${SERVER[0]}"
trap 'exec {server_in}>&-; clean_up' EXIT
at() { echo "http://127.0.0.1:$port/$1/v1"; }
# Requests to a model, or with METHOD GET for a list of models.
requests() { # SCENARIO [METHOD]
    python3 -c 'import json, sys, urllib.request as u
log = json.load(u.build_opener(u.ProxyHandler({})).open(sys.argv[1]))
print(sum(isinstance(r, str) or r["method"] == sys.argv[2] for r in log))' "http://127.0.0.1:$port/log/$1" "${2-POST}"
}

# A whole run. Only the environment of kforge holds the key: no argument, child, output or store does.
export KFORGE_API_KEY=$key
expect 0 doctor --model "m@$(at plain)"
says "served-1 answered after"
says "11 + 7 tokens"
KFORGE_API_KEY=$key "$program" optimize "$task" --workers "env > worker.env; exec $fake" --model "m@$(at silent)" --store silent.db --time 60s >out 2>err &
pid=$!
was_asked() { [ "$(requests silent)" -ge 1 ]; }
await was_asked
tr '\0' ' ' <"/proc/$pid/cmdline" >cmdline
cat "/proc/$pid/environ" >environ 2>/dev/null
for child in $(cat "/proc/$pid/task/$pid/children" 2>/dev/null); do cat "/proc/$child/environ"; done >children 2>/dev/null
interrupt $pid
wait $pid
expect 0 optimize "$task" --workers "$fake" --model "compatible,price_in=1,price_out=2:m@$(at run)" --model 'exec:env >exec.env; echo "${KFORGE_API_KEY-none}"' --budget-requests 4 --store run.db --json
json 'o["requests"] == 4 and o["tokens"] >= 18 and o["cost_usd"] > 0'
python3 - <<'END' || fail "settings of the calls: $("$program" export --store run.db --format raw | head -c 3000)"
import json, sqlite3
calls = [(p, json.loads(s)) for p, s in sqlite3.connect("run.db").execute("select provider, settings from model_call")]
assert any(p.startswith("compatible") for p, _ in calls)
for provider, settings in calls:
    assert {"asked", "after"} <= set(settings) and (settings.get("max_tokens", 0) > 0) == provider.startswith("compatible"), (provider, settings)
END
expect 3 optimize "$task" --workers "$fake" --model "m@$(at unauthorized)" --time 300s --store refused.db
case $err in *"status 401"*"[key]"*"KFORGE_API_KEY"*) ;; *) fail "$err" ;; esac
echo "$out$err" >said
# Replies without a source: the first is shown when it comes, and a run without another ends so.
# If the tuner finds a faster candidate, the run has succeeded.
cp -r "$task" slow
printf '// fake: speed 0.9\n' >>slow/seed_vector.cu
expect 3 optimize slow --workers "$fake" --model "exec:echo sorry" --replies 2 --store sorry.db --quiet
says "ended     all model replies of the budget have come; no model reply held a usable source"
expect 0 optimize "$task" --workers "$fake" --model "exec:echo sorry" --replies 2 --store fast.db
says "2 model replies (2 without code)"
expect 3 optimize slow --workers "$fake" --model "exec:echo sorry" --replies 2 --store sorrier.db
[ "$(grep -c "a reply could not be used" err)" = 1 ] || fail "$err"
says "2 model replies (2 without code)"
says "no model reply held a usable source"
# The processes of a bench have the key, too, and each reason is printed once.
expect 3 bench "$root/tasks" --only axpy --only gemm --workers "$fake" --model "m@$(at unauthorized)" --samples 2 --store refused.db
echo "$out$err" >>said
[ "$(cat out err | grep -c "status 401.*\[key\].*check the key in KFORGE_API_KEY")" = 1 ] || fail "$(cat out err)"
[ -s worker.env ] || fail "the worker did not run"
[ "$(requests silent)" -ge 1 ] || fail "the model was not asked"
[ -s exec.env ] || fail "the command did not run"
[ -s cmdline ] || fail "no command line was seen"
for file in $(find . -type f); do
    grep -qa -e "$key" "$file" && fail "the key is in $file"
done
"$program" show "$(sqlite3 run.db 'select id from run' 2>/dev/null || python3 -c 'import sqlite3; print(sqlite3.connect("run.db").execute("select id from run").fetchone()[0])')" --store run.db >shown 2>&1
grep -q "$key" shown && fail "show shows the key"
grep -q 'replies .* ok (cost unknown)' shown || fail "show does not say how the calls ended: $(cat shown)"
grep -q "^compatible:m@http" shown || fail "show does not name the model without its prices: $(cat shown)"

# A refusal ends the run while its first job goes on for ever. It needs no call and no reply.
endless() {
    local status=$1
    shift
    rm -f early.db*
    FAKE_LOG=$work/endless.log FAKE_FREE=0 FAKE_GO=$work/never expect "$status" optimize "$task" \
        --workers "$fake" --store early.db "$@"
}
said() { grep -q "$@" err; }
sql() {
    python3 -c 'import sqlite3, sys
print(*sum(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]), ()))' "$@"
}
calls_of() { sql "$1" "select count(*) from model_call"; }
named=
while IFS='|' read -r model words; do
    GEMINI_API_KEY=$key endless 3 --time 300s --model "$model"
    case $err in *"$words"*"no more calls"*) ;; *) fail "$model: $err" ;; esac
    [ "$(cat out err | grep -cF -- "$words")" = 1 ] || fail "$model: the reason is not there once: $out$err"
    says "no correct candidate: see the reason above"
    # It has nothing to resume, and the list of runs does not show it.
    [ "$(calls_of early.db) $(sql early.db "select count(*) from run")" = "0 0" ] || fail "$model: a run was stored"
    case $out in *resume*) fail "$model: $out" ;; esac
    id=$(sed -n 's/^run \([^ ]*\) on .*/\1/p' err)
    [ -z "$id" ] || said "nothing was judged, so run $id is not stored" || fail "$model: $err"
    [ -z "$id" ] || named=yes
done <<END
m@$(at unauthorized-early)|status 401: Incorrect API key provided: Bearer [key]; check the key in
m@$(at status-403)|status 403: as the test asked; check the key in KFORGE_API_KEY
m@$(at no_model)|status 404: The model \`m\` does not exist; check the model's name and the address
gemini:m@$(at gemini_key)|status 400: API key not valid; check the key in GEMINI_API_KEY
m@$(at wrong_name)|status 400: Model Not Exist; check the model's name and the address http
n@http://127.0.0.1:$port|model n@http://127.0.0.1:$port: n: status 404: Not Found; check the model's name and the address http://127.0.0.1:$port; most servers need http://127.0.0.1:$port/v1
m@http://127.0.0.1:1/v1|check the address http://127.0.0.1:1/v1, and that its server runs
m@https://no.such.host.invalid/v1|check the address https://no.such.host.invalid/v1
fallback:m@$(at no_model) then m@$(at status-403)|status 403
END
[ "$named" ] || fail "no run was named before its refusal"
# Without a run its result has none.
endless 3 --time 300s --json --model "m@$(at status-403)"
json 'o["run"] is None and o["resume"] is None and "status 403" in o["reason"]'
# With a limit of requests the list of models is asked for first, and the question only if the server
# refuses the list.
endless 3 --time 300s --budget-requests 5 --model "m@$(at unauthorized-listed)"
case $err in *"status 401"*"check the key in KFORGE_API_KEY"*"no more calls"*) ;; *) fail "$err" ;; esac
[ "$(requests unauthorized-listed)" = 1 ] || fail "$(requests unauthorized-listed) requests"
# A server that can't be asked now, and one that refuses the small question only, are asked later.
# Of several models the others go on.
asked() { [ "$(requests "$1")" = 1 ]; }
later() { # SERVER OPTION…: runs until the server was asked and the baseline is judged
    local server=$1 pid
    shift
    rm -f early.db* go
    FAKE_LOG=$work/endless.log FAKE_FREE=0 FAKE_GO=$work/go "$program" optimize "$task" \
        --workers "$fake" --store early.db --time 300s --candidates 1 "$@" >out 2>err &
    pid=$!
    await asked "$server"
    case $server in *401 | unauthorized*) await said "gets no more calls" ;; esac
    touch go
    wait $pid
    case $?:$* in 4:* | 0:*next.sh*) ;; *) fail "$server: $(cat err)" ;; esac
}
for server in status-500 wait_an_hour old-small silent-early; do
    later $server --model "m@$(at $server)"
    said "no more calls" && fail "$server: $(cat err)"
    asked $server || fail "$server: $(requests $server) requests"
done
# The list costs no request, whether the server has one, has none, or refuses it to this key.
listed() { # SERVER QUESTIONS: runs until the list and so many questions were asked
    local server=$1 questions=$2 pid
    rm -f early.db* go
    FAKE_LOG=$work/endless.log FAKE_FREE=0 FAKE_GO=$work/go "$program" optimize "$task" \
        --workers "$fake" --store early.db --time 300s --candidates 1 --budget-requests 9 --json \
        --model "m@$(at "$server")" >out 2>err &
    pid=$!
    listed_now() { [ "$(requests "$server" GET)-$(requests "$server")" = "1-$questions" ]; }
    await listed_now
    touch go
    wait $pid
    case $? in 0 | 4) ;; *) fail "$server: $(cat err)" ;; esac
    said "no more calls" && fail "$server: $(cat err)"
    listed_now || fail "$server: $(requests "$server") questions"
    json "o[\"requests\"] == $questions and o[\"replies\"] == 0"
}
listed plain-listed 0
listed unlisted-404 0
listed unlisted-500 0
listed unlisted-403 1
# Its first member may take the next request, so one refusal is not the last word.
later no_model-then --model "fallback:m@$(at status-503) then m@$(at no_model-then)"
said "no more calls" && fail "$(cat err)"
for try in 1 2 3 4 5; do # until its reply comes before the end of the run
    later "affordable-$try" --cost 1 --json \
        --model "compatible,price_in=1,price_out=2:m@$(at "affordable-$try")"
    grep -q '"tokens": *0[,}]' out || break
done
json 'o["requests"] == 1 and o["replies"] == 0 and 0 < o["tokens"] < 99 and 0 < o["cost_usd"] < 1'
later status-401 --model "m@$(at status-402)" --model "m@$(at status-401)" --events early.jsonl
said "model m@http://.*status-401/v1: m: status 401" || fail "$(cat err)"
grep -q '"call".*status 401' early.jsonl || fail "no event: $(cat early.jsonl)"
python=python3
$python -c 'import jsonschema' 2>/dev/null || python=/usr/bin/python3
$python "$root/tests/python/check_events.py" "$root/docs/reference/kforge-event.schema.json" \
    early.jsonl run.start call run.end >kinds 2>&1 || fail "$(cat kinds)"
# Its replay knows that it was not asked.
cat >next.sh <<'END'
cat >/dev/null
number=$(($(cat number 2>/dev/null || echo 0) + 1))
echo $number >number
printf '```cuda\n#pragma fake: speed 1.%d\nvoid axpy() {}\n```' $number
END
later unauthorized-two --store two.db --candidates 6 --strategy sample --model "m@$(at unauthorized-two)" \
    --model "exec:bash $work/next.sh"
expect 0 optimize --workers "$fake" --store two.db --model replay:last
ids=$(sql two.db "select key from run order by id")
python3 "$root/tests/cli/same_runs.py" two.db "${ids% *}" two.db "${ids#* }" >same 2>&1
grep -q ' [1-9][0-9]* calls, all the same' same || fail "$(cat same)"
# A command gets no question. Limits hold.
while IFS='|' read -r model limit; do
    expect 4 optimize "$task" --workers "$fake" --store early.db --anew --candidates 1 \
        --model "$model" ${limit:+"$limit"}
done <<END
exec:touch $work/asked
m@$(at limited)|--budget-requests=1
compatible,price_in=1,price_out=2:m@$(at limited)|--cost=0.0001
END
[ -e asked ] && fail "the command was asked before the baseline was judged"
[ "$(requests limited)" = 0 ] || fail "$(requests limited) requests against the budget"

# One rule for models that fail: at once if the failure stays, after 3 failed calls in a row while the
# run has no reply, otherwise after 8 calls in a row without a candidate. The run ends with its last
# model, in words, with status 3.
rule() {
    local calls=$1 words=$2 spec=$3
    rm -f rule.db*
    expect 3 optimize "$task" --workers "$fake" --strategy sample --model "$spec" --time 300s \
        --store rule.db
    case $err in *"$words"*) ;; *) fail "$spec: $err" ;; esac
    case $calls:$err in
    3:*"3 calls in a row failed, and no reply has come; the last: "*"; check it with kforge doctor --model. It gets no more calls"*) ;;
    [89]:*"8 calls in a row without a candidate"* | 1:*"gets no more calls"*) ;;
    *) fail "$spec: $err" ;;
    esac
    # The small question before the first call may have been refused.
    case $calls:$(calls_of rule.db) in
    1:0 | "$calls:$calls") ;;
    *) fail "$spec: $(calls_of rule.db) calls instead of $calls: $err" ;;
    esac
}
quick=compatible,retries=0
rule 1 "status 401" "$quick:m@$(at status-401)"
rule 1 "status 403" "$quick:m@$(at status-403)"
rule 1 "status 404" "$quick:m@$(at status-404)"
rule 1 "m@https://no.such.host.invalid" "$quick:m@https://no.such.host.invalid/v1"
rule 1 "m@http://127.0.0.1:1/" "$quick:m@http://127.0.0.1:1/v1"
expect 2 optimize "$task" --workers "$fake" --model "exec:no-such-command-here" --store rule.db
rule 8 "empty" "$quick:m@$(at empty)"
rule 8 "code" "$quick:m@$(at talk)"
rule 3 "status 7" "exec:exit 7"
rule 3 "status 500: as the test asked" "$quick:m@$(at status-500)"
rule 3 "check it with" "$quick:m@$(at closed)"
# Each of them has all its retries. The small question before the first call has none.
rule 3 "status 502: as the test asked" "compatible,retries=2,backoff=0.001:m@$(at status-502)"
case $(requests status-502) in 9 | 10) ;; *) fail "$(requests status-502) requests for 3 calls" ;; esac
rule 3 "no reply within" "exec,timeout=0.05:sleep 100"
rule 8 "empty" "exec:true"
# A server that fails or hangs is asked less and less often. Its first failure is shown at once, and
# a run without any reply ends with status 3.
# The time of a run doubles while a busy machine needs it all.
shown_in() { # SECONDS PATTERN ARGUMENT…: a run that ends with its time shows this
    local seconds=$1 pattern=$2 status
    shift 2
    while [ "$seconds" -lt 60 ]; do
        "$program" optimize "$task" --workers "$fake" --strategy sample \
            --time "${seconds}s" "$@" >out 2>err </dev/null
        status=$? out=$(cat out) err=$(cat err)
        # shellcheck disable=SC2254
        case $status:$err in 3:*$pattern*) return ;; esac
        seconds=$((2 * seconds))
    done
    fail "status $status, no $pattern: $err"
}
shown_in 1 "a call failed*status 500" --model "$quick,first_byte=0.05:m@$(at status-500)"
shown_in 1 "a call failed*no reply within" --model "$quick,first_byte=0.05:m@$(at silent-x)"
# Each kind of failure is one line, whatever numbers and ids a server puts into its words.
cat >words.sh <<'END'
cat >/dev/null
count=$(cat count 2>/dev/null) count=$((count + 1))
echo $count >count
[ $((count % 2)) = 0 ] && echo "no memory for request $count" >&2 && exit 1
echo "overloaded (request req-$count-$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')) at $(date +%T)" >&2
exit 1
END
expect 3 optimize "$task" --workers "$fake" --strategy sample --time 300s --store words.db \
    --model "exec:sh $work/words.sh"
[ "$(cat count)" = 3 ] && [ "$(grep -c "a call failed" <<<"$err")" = 2 ] || fail "not 2 lines: $err"
# The user hears of silence before a call ends, and of a failure before it is tried again. --time
# ends both.
again=compatible,parallel=1,backoff=0.001
while IFS='|' read -r options words; do
    shown_in 3 "$words" --store silence.db --model "$again,$options:m@$(at silent-y)"
    says "; no model has replied: m: no reply"
done <<END
first_byte=2,retries=0|: no reply yet from http://
first_byte=0.2,retries=100|: no reply within 0.2 s; it is asked again
END
# After an answer a refusal counts like any other failure: servers start again.
cat >once.sh <<'END'
cat >/dev/null
[ -e answered ] && exit 127
touch answered
printf '```cuda\n#pragma fake: speed 1.1\nvoid axpy() {}\n```'
END
rule 9 "status 127" "exec:bash $work/once.sh"

# Places where kforge finds keys.
unset KFORGE_API_KEY
printf '# keys\nexport KFORGE_API_KEY="%s"\n' "$key" >.env
expect 3 optimize "$task" --workers "$fake" --model "compatible,retries=0:m@$(at unauthorized-env)" --time 300s --store refused.db
case $err in *"Bearer [key]"*) ;; *) fail ".env: $err" ;; esac
rm .env
echo "KFORGE_API_KEY = $key" >keys
chmod 644 keys
KFORGE_KEY_FILE=$work/keys expect 2 optimize "$task" --workers "$fake" --model "m@$(at plain)" --store refused.db
complains "chmod 600"
chmod 600 keys
KFORGE_KEY_FILE=$work/keys expect 3 optimize "$task" --workers "$fake" --model "compatible,retries=0:m@$(at unauthorized-file)" --time 300s --store refused.db
case $err in *"Bearer [key]"*) ;; *) fail "key file: $err" ;; esac

# Budgets. An unknown price is an error. A request that could exceed the budget is not sent. A spent
# budget ends the run.
expect 2 optimize "$task" --workers "$fake" --model "m@$(at unpriced)" --cost 1 --store budget.db
complains "price_in=USD,price_out=USD"
[ "$(requests unpriced)" = 0 ] || fail "a request left without a price"
expect 0 optimize "$task" --workers "$fake" --model "m@$(at counted)" --budget-requests 3 --store counted.db --json
json 'o["requests"] == 3 and o["end"] == "spent"'
[ "$(requests counted)" = 3 ] || fail "$(requests counted) requests instead of 3"
expect 0 optimize "$task" --workers "$fake" --model "compatible,price_in=1,price_out=2,max_tokens=1000:m@$(at priced)" --cost 0.0001 --store priced.db --json
json 'o["requests"] == 0 and o["end"] == "spent" and "may cost" in o["reason"]'
[ "$(requests priced)" = 0 ] || fail "a request left that might overspend"
expect 0 optimize "$task" --workers "$fake" --model "compatible,max_tokens=1000:m@$(at heavy)" --tokens 9000 --calls 8 --store tokens.db --json
json 'o["tokens"] <= 9000 and o["requests"] >= 1 and o["end"] == "spent"'
# Device time: a job in flight counts as long as the others took. A resumed run has the rest.
FAKE_SLEEP=0.05 expect 0 optimize "$task" --workers "$fake*2" --gpu-seconds 1 --store device.db --json
json 'o["end"] == "spent" and "device" in o["reason"] and 0.8 <= o["gpu_seconds"] < 1.6 and 8 <= o["judged"] <= 24'
json '"--gpu-seconds 2" in o["resume"]'
run=$(python3 -c 'import json; print(json.load(open("out"))["run"])')
expect 0 show "$run" --store device.db --json
json '0.8 <= o["spent"]["gpu_seconds"] < 1.6'
expect 0 show "$run" --store device.db
says "judging   1"
python3 -c 'import sqlite3; db = sqlite3.connect("device.db"); db.execute("update run set status = \"interrupted\""); db.commit()'
FAKE_SLEEP=0.05 expect 0 optimize --resume "$run" --workers "$fake" --store device.db --json
json 'o["end"] == "spent" and o["gpu_seconds"] < 2.2'
# A run stores its prices.
python3 - <<'END' || fail "no prices in the run's options"
import json, sqlite3, sys
(options,) = sqlite3.connect("priced.db").execute("select options from run").fetchone()
sys.exit("price_in=1" not in (options if isinstance(options, str) else options.decode()))
END
# It also stores the prices of a table. A resumed run keeps them even if the table has changed.
prices() { echo "{\"schema\": \"kforge-prices/1\", \"prices\": [{\"provider\": \"compatible\", \"model\": \"m\", \"date\": \"2026-01-01\", \"input\": $1, \"output\": $2}]}" >prices.json; }
export KFORGE_PRICES=$work/prices.json
prices 1 2
expect 0 optimize "$task" --workers "$fake" --model "m@$(at table)" --cost 1 --budget-requests 2 --store table.db --json
json 'o["requests"] == 2 and abs(o["cost_usd"] - 2 * 25e-6) < 1e-9'
run=$(python3 -c 'import json; print(json.load(open("out"))["run"])')
prices 100 200
python3 -c 'import sqlite3; db = sqlite3.connect("table.db"); db.execute("update run set status = \"interrupted\""); db.commit()'
expect 0 optimize --resume "$run" --workers "$fake" --budget-requests 4 --store table.db --json
json 'o["requests"] == 4 and abs(o["cost_usd"] - 4 * 25e-6) < 1e-9'
unset KFORGE_PRICES
# A list of models: if the first fails, the second answers.
expect 0 optimize "$task" --workers "$fake" --model "fallback:compatible,retries=0:m@$(at fails-9999) then m@$(at second)" --budget-requests 4 --store fallback.db --json
[ "$(requests second)" -ge 1 ] || fail "the second model was not asked"

# Certificates are checked. KFORGE_CA_FILE adds an authority. A proxy is used for other machines only.
expect 3 doctor --model "compatible,retries=0:m@https://127.0.0.1:$port_tls/tls/v1"
says "the server's certificate is not accepted"
KFORGE_CA_FILE=$work/tls.pem expect 0 doctor --model "m@https://127.0.0.1:$port_tls/tls/v1"
says "served-1 answered after"
[ "$(requests proxy)" = 0 ] || fail "the proxy was asked too early"
HTTPS_PROXY=http://127.0.0.1:$port_proxy KFORGE_CA_FILE=$work/tls.pem expect 0 doctor --model "m@https://model.test/proxied/v1"
says "served-1 answered after"
[ "$(requests proxy)" = 1 ] || fail "the proxy was not asked"
HTTPS_PROXY=http://127.0.0.1:$port_proxy KFORGE_CA_FILE=$work/tls.pem expect 0 doctor --model "m@https://127.0.0.1:$port_tls/tls/v1"
[ "$(requests proxy)" = 1 ] || fail "the proxy was asked for this machine"
HTTPS_PROXY=http://127.0.0.1:$port_proxy KFORGE_CA_FILE=$work/tls.pem expect 3 doctor --model "compatible,retries=0:m@https://other.test/tls/v1"
says "the server's certificate is not accepted"
# A server gets only the key that is named after its domain.
sent() { python3 -c 'import json, sys, urllib.request as u; print(json.load(u.build_opener(u.ProxyHandler({})).open(sys.argv[1]))[-1]["headers"].get("authorization"))' "http://127.0.0.1:$port/log/$1"; }
HTTPS_PROXY=http://127.0.0.1:$port_proxy KFORGE_CA_FILE=$work/tls.pem KFORGE_API_KEY=$key MODEL_API_KEY=sk-of-that-domain expect 0 doctor --model "m@https://model.test/domain/v1"
[ "$(sent domain)" = "Bearer sk-of-that-domain" ] || fail "another machine was sent $(sent domain)"
HTTPS_PROXY=http://127.0.0.1:$port_proxy KFORGE_CA_FILE=$work/tls.pem KFORGE_API_KEY=$key expect 0 doctor --model "m@https://model.test/foreign/v1"
[ "$(sent foreign)" = None ] || fail "another machine was sent $(sent foreign)"
if [ "$port6" != 0 ]; then
    expect 0 doctor --model "m@http://[::1]:$port6/six/v1"
    says "served-1 answered after"
fi
finish
