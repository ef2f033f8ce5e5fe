#!/bin/bash
# Models over the network: a run against a server on this machine, its budgets, and its key.
source "$(dirname "$0")/lib.sh"
task=$root/tasks/axpy
fake=$bin/../tests/fake_worker
key=sk-secret-0123456789abcdef

openssl req -x509 -newkey rsa:2048 -nodes -keyout tls.key -out tls.pem -days 2 -subj /CN=model.test -addext subjectAltName=DNS:model.test,IP:127.0.0.1 2>openssl.log ||
    fail "no certificate: $(cat openssl.log)"
coproc SERVER { exec python3 "$root/tests/llm/server.py" 600 tls.pem tls.key; }
server_in=${SERVER[1]}
read -r port port6 port_tls port_proxy <&"${SERVER[0]}"
trap 'exec {server_in}>&-; clean_up' EXIT
at() { echo "http://127.0.0.1:$port/$1/v1"; }
requests() { python3 -c 'import json, sys, urllib.request as u; print(len(json.load(u.build_opener(u.ProxyHandler({})).open(sys.argv[1]))))' "http://127.0.0.1:$port/log/$1"; }

# A whole run. Only the environment of kforge holds the key: no argument, child, output or store does.
export KFORGE_API_KEY=$key
expect 0 doctor --model "m@$(at plain)"
says "served-1 answered after"
says "11 + 7 tokens"
KFORGE_API_KEY=$key "$program" optimize "$task" --workers "env > worker.env; exec $fake" --model "m@$(at silent)" --store silent.db --time 60s >out 2>err &
pid=$!
asked_once() { [ "$(requests silent)" = 1 ]; }
await asked_once
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

# One rule for models that fail: at once if the failure stays, otherwise after 8 calls in a row
# without a candidate. The run ends with its last model, in words, with status 3.
rule() {
    local calls=$1 words=$2 spec=$3
    rm -f rule.db*
    expect 3 optimize "$task" --workers "$fake" --strategy sample --model "$spec" --time 300s \
        --store rule.db
    case $err in *"$words"*) ;; *) fail "$spec: $err" ;; esac
    case $calls:$err in
    [89]:*"8 calls in a row without a candidate"* | 1:*"gets no more calls"*) ;;
    *) fail "$spec: $err" ;;
    esac
    python3 - "$calls" <<'END' || fail "$spec: not $calls calls: $err"
import sqlite3, sys
count = sqlite3.connect("rule.db").execute("select count(*) from model_call").fetchone()[0]
sys.exit(count != int(sys.argv[1]))
END
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
rule 8 "status 7" "exec:exit 7"
rule 8 "no reply within" "exec,timeout=0.05:sleep 100"
rule 8 "empty" "exec:true"
# A server that fails or hangs is asked less and less often. Its first failure is shown at once, and
# a run without any reply ends with status 3.
for server in status-500 "silent-x"; do
    expect 3 optimize "$task" --workers "$fake" --strategy sample --time 1s \
        --model "$quick,first_byte=0.05:m@$(at $server)"
    case $err in
    *"a call failed"*"status 500"* | *"a call failed"*"no reply within"*) ;;
    *) fail "$server: $err" ;;
    esac
done
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
[ "$(cat count)" = 8 ] && [ "$(grep -c "a call failed" <<<"$err")" = 2 ] || fail "not 2 lines: $err"
# The user hears of silence before a call ends, and of a failure before it is tried again. --time
# ends both.
again=compatible,parallel=1,backoff=0.001
while IFS='|' read -r options words; do
    expect 3 optimize "$task" --workers "$fake" --strategy sample --time 3s --store silence.db \
        --model "$again,$options:m@$(at silent-y)"
    case $err in *"$words"*) ;; *) fail "$options: $err" ;; esac
    says "; no model has replied"
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
