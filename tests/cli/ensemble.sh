#!/bin/bash
# Several models: the number of calls of each, their roles and temperatures, and the output of show.
source "$(dirname "$0")/lib.sh"
task=$root/tasks/axpy
fake=$bin/../tests/fake_worker
coproc SERVER { exec python3 "$root/tests/llm/server.py" 600; }
server_in=${SERVER[1]}
read -r port _ <&"${SERVER[0]}"
trap 'exec {server_in}>&-; clean_up' EXIT

# Recorded models of three kinds: good for a cent, as good for ten, useless for a cent.
python3 - <<'END'
import json
def cassette(name, count, text, cost):
    with open(name + ".jsonl", "w") as file:
        print(json.dumps({"schema": "kforge-cassette/1", "source": "written by tests/cli/ensemble.sh", "model": name}), file=file)
        for i in range(count):
            source = f"```cuda\n#pragma fake: {text(i)}\n#pragma fake: note {name} {i}\nvoid axpy() {{}}\n```\n"
            print(json.dumps({"reply": source, "cost_usd": cost, "tokens": {"prompt": 100, "completion": 50}}), file=file)
cassette("cheap", 200, lambda i: f"speed {1.2 + i / 100:.2f}", 0.01)
cassette("dear", 200, lambda i: f"speed {1.2 + i / 100:.2f}", 0.10)
cassette("useless", 200, lambda i: "status wrong_result", 0.01)
END
calls() { python3 - "$1" "$2" <<'END'
import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("select count(*) from model_call where provider like '%' || ? || '%'", (sys.argv[2],)).fetchone()[0])
END
}
optimize() { store=$1; shift; expect 0 optimize "$task" --workers "$fake" --store "$store" --json "$@"; }

# The bandit: a model with more success for its cost gets more calls, and each model gets some.
optimize bandit.db --candidates 60 --model replay:useless.jsonl --model replay:cheap.jsonl --model replay:dear.jsonl
cheap=$(calls bandit.db cheap) dear=$(calls bandit.db dear) useless=$(calls bandit.db useless)
echo "calls: cheap $cheap, dear $dear, useless $useless"
[ "$cheap" -gt $((3 * dear)) ] || fail "the bandit asked cheap $cheap times and dear $dear times"
[ "$cheap" -gt $((2 * useless)) ] || fail "the bandit asked cheap $cheap times and useless $useless times"
[ "$dear" -ge 1 ] && [ "$useless" -ge 1 ] || fail "a model was never asked: dear $dear, useless $useless"
# The same again: the same choices.
optimize again.db --candidates 60 --model replay:useless.jsonl --model replay:cheap.jsonl --model replay:dear.jsonl
python3 - <<'END' || fail "the same seed asked other models"
import sqlite3, sys
one, two = ([row[0] for row in sqlite3.connect(name).execute("select provider from model_call order by id")] for name in ("bandit.db", "again.db"))
print(*one)
sys.exit(one != two)
END
# The cost and the gain of each model, by name.
run=$(python3 -c 'import sqlite3; print(sqlite3.connect("bandit.db").execute("select key from run").fetchone()[0])')
expect 0 show "$run" --store bandit.db --json
json 'sorted(p["proposer"].split(":")[1].split(".")[0] for p in o["proposers"] if p["calls"]) == ["cheap", "dear", "useless"]'
json 'all(abs(p["cost_usd"] - p["calls"] * (0.1 if "dear" in p["proposer"] else 0.01)) < 1e-9 for p in o["proposers"] if p["calls"])'
json 'abs(sum(p["cost_usd"] for p in o["proposers"]) - o["spent"]["cost_usd"]) < 1e-9'
json '[p["cost_per_faster"] for p in o["proposers"] if "useless" in p["proposer"]] == [None]'
json '[p["cost_per_faster"] for p in o["proposers"] if "cheap" in p["proposer"]] == [p["cost_usd"] / p["faster"] for p in o["proposers"] if "cheap" in p["proposer"] and p["faster"] > 1]'
json 'list(o["spent"]["outcomes"]) == ["ok"] and abs(o["spent"]["outcomes"]["ok"]["cost_usd"] - o["spent"]["cost_usd"]) < 1e-9'
json 'o["spent"]["outcomes"]["ok"]["calls"] == sum(p["calls"] for p in o["proposers"])'

# Shares: three calls to one.
optimize share.db --candidates 42 --ensemble share --model replay,weight=3:cheap.jsonl --model replay:dear.jsonl
cheap=$(calls share.db cheap) dear=$(calls share.db dear)
[ $((cheap - 3 * dear)) -ge -3 ] && [ $((cheap - 3 * dear)) -le 3 ] || fail "shares of 3 to 1 gave $cheap and $dear calls"

# A critic proposes no candidates if another model can.
optimize role.db --candidates 12 --model replay:cheap.jsonl --model replay,role=critic:dear.jsonl
[ "$(calls role.db dear)" = 0 ] || fail "a critic was asked for candidates"
optimize alone.db --candidates 6 --model replay,role=critic:dear.jsonl
[ "$(calls alone.db dear)" -ge 1 ] || fail "a critic alone was not asked"

# It diagnoses, where the strategy asks for that, and the other writes the code.
python3 - <<'END'
import json
with open("doctor.jsonl", "w") as file:
    print(json.dumps({"schema": "kforge-cassette/1", "source": "written by tests/cli/ensemble.sh", "model": "doctor"}), file=file)
    for i in range(100): print(json.dumps({"reply": json.dumps({"bottleneck": f"memory {i}", "advice": "wider loads"}), "cost_usd": 0.01}), file=file)
END
optimize critic.db --strategy critic --candidates 12 --model replay:cheap.jsonl --model replay,role=critic:doctor.jsonl
python3 - <<'END' || fail "a critic and a proposer did each other's work"
import collections, sqlite3, sys
asked = collections.Counter(("doctor" in provider, purpose.startswith("critic")) for provider, purpose in sqlite3.connect("critic.db").execute("select provider, purpose from model_call"))
print(dict(asked))
sys.exit(not (asked[True, True] >= 2 and asked[False, False] >= 2 and not asked[True, False] and not asked[False, True]))
END

# A model that says the same for ever is not paid for ever.
python3 - <<'END'
import json
with open("same.jsonl", "w") as file:
    print(json.dumps({"schema": "kforge-cassette/1", "source": "written by tests/cli/ensemble.sh", "model": "same"}), file=file)
    for i in range(200): print(json.dumps({"reply": "```cuda\n#pragma fake: speed 1.3\nvoid axpy() {}\n```\n", "cost_usd": 0.01}), file=file)
END
optimize same.db --candidates 1000 --model replay:same.jsonl
json 'o["end"] == "converged" and "had been judged before" in o["reason"]'
[ "$(calls same.db same)" -le 50 ] || fail "the same was paid for $(calls same.db same) times"

# A schedule of temperatures, sent and stored.
optimize heat.db --budget-requests 4 --model "compatible,temperature_from=1,temperature_to=0.25,temperature_calls=4:m@http://127.0.0.1:$port/heat/v1"
python3 - "$port" <<'END' || fail "the temperatures are not those of the schedule"
import json, sqlite3, sys, urllib.request as u
log = json.load(u.build_opener(u.ProxyHandler({})).open(f"http://127.0.0.1:{sys.argv[1]}/log/heat"))
sent = [request["json"].get("temperature") for request in log if request["method"] == "POST"]
stored = [json.loads(row[0])["temperature"] for row in sqlite3.connect("heat.db").execute("select settings from model_call order by id")]
print(sent, stored)
sys.exit(not (sent == [1, 0.75, 0.5, 0.25] and stored == sent))
END
# Models with one name are numbered, in the order of the command line: in the store, in events and in the report of a bench.
for name in one two; do
    cat >$name.sh <<'END'
cat >/dev/null
printf '```cuda\n#pragma fake: note %s %s\nvoid axpy() {}\n```' "$0" "$(date +%N)"
END
done
optimize twins.db --replies 6 --strategy sample --ensemble share --model "exec:sh $work/one.sh" --model "exec:sh $work/two.sh" --events twins.jsonl
run=$("$program" list -q --store twins.db)
expect 0 show "$run" --store twins.db --json
json 'sorted((p["proposer"], p["calls"]) for p in o["proposers"] if p["calls"]) == [("exec", 3), ("exec (2)", 3)]'
grep -q '"models":\["exec","exec (2)"\]' twins.jsonl || fail "events: $(head -1 twins.jsonl)"
expect 0 bench "$root/tasks" --only axpy --samples 2 --workers "$fake" --store pair.db --model "exec:sh $work/one.sh" --model "exec:sh $work/two.sh"
grep -q 'exec, exec (2)' out || fail "the report of a bench: $out"

# A list in kforge.json.
echo '{"model": ["replay:cheap.jsonl", "replay:dear.jsonl"], "ensemble": "share"}' >kforge.json
export KFORGE_CONFIG=$work/kforge.json
optimize config.db --candidates 12
[ "$(calls config.db cheap)" -ge 2 ] && [ "$(calls config.db dear)" -ge 2 ] || fail "a list of models in kforge.json was not used"
finish
