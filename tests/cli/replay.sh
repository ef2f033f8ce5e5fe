#!/bin/bash
# With one worker a run is repeated from what is stored of it, without its models: the same prompts, candidates and verdicts in the same order.
source "$(dirname "$0")/lib.sh"
task=$root/tasks/axpy
fake=$bin/../tests/fake_worker
export FAKE_SLEEP=0.03

# The models take some time, so that the tuner works meanwhile. Their replies are random, so that no
# later call could give the same reply. The first one is a candidate, so that no run ends without.
cat >model.py <<'END'
import os, random, sys, time
prompt = sys.stdin.read()
time.sleep(random.uniform(0, 0.05))
kind = random.random() if os.path.exists("replied") else 1
open("replied", "w").close()
if kind < 0.15: print("I would rather talk about the weather.")
elif kind < 0.3: print(f"```cuda\n#pragma fake: status wrong_result\n#pragma fake: note {random.random()}\nvoid axpy() {{}}\n```")
elif kind < 0.4: sys.exit("no luck today")
else:
    speed, best = random.uniform(1, 2), random.choice([64, 128, 256])
    print(f"```cuda\n#pragma fake: speed {speed:.3f}\n#pragma fake: optimum BLOCK {best}\n// kforge: tune BLOCK 32 64 128 256 512\n"
          f"#ifndef BLOCK\n#define BLOCK 32\n#endif\n#pragma fake: note {random.random()}\nvoid axpy() {{}}\n```")
END
compare() { python3 "$root/tests/cli/same_runs.py" "$@"; }
run_in() { python3 -c 'import json; print(json.load(open("out"))["run"])'; }

# One model, repeated in the same store, where all its candidates are known, from that store into another, and from an exported file.
expect 0 optimize "$task" --workers "$fake" --seed 7 --model "exec:python3 model.py" --candidates 40 --store one.db --json
first=$(run_in)
expect 0 optimize --model "replay:last" --workers "$fake" --store one.db --json
compare one.db "$first" one.db "$(run_in)" || fail "a run repeated in its own store differs"
expect 0 optimize --model "replay,strict=1:$first" --workers "$fake" --store one.db --json
compare one.db "$first" one.db "$(run_in)" || fail "a run repeated with strict=1 differs"
expect 0 optimize "$task" --seed 7 --candidates 40 --model "replay,strict=1:one.db#$first" --workers "$fake" --store two.db --json
compare one.db "$first" two.db "$(run_in)" || fail "a run repeated in another store differs"
expect 0 export --format cassette --run "$first" --store one.db -o run.jsonl
expect 0 optimize "$task" --seed 7 --candidates 40 --model "replay,strict=1:run.jsonl" --workers "$fake" --store three.db --json
compare one.db "$first" three.db "$(run_in)" || fail "a run repeated from its cassette differs"

# Several models, each with what it said itself.
cp model.py other.py
expect 0 optimize "$task" --workers "$fake" --seed 3 --model "exec,weight=2:python3 model.py" --model "fallback:exec:python3 other.py" --candidates 40 --store both.db --json
both=$(run_in)
expect 0 optimize --model "replay,strict=1:$both" --workers "$fake" --store both.db --json
compare both.db "$both" both.db "$(run_in)" || fail "a run of two models differs"

# Killed while the worker and three calls are at work, in the run and in its repetition. By then the store knows most candidates of the second one.
killed() { # killed JOBS ARGUMENT…
    local jobs=$1 process
    shift
    : >killed.log
    FAKE_LOG=killed.log "$program" "$@" >out 2>err </dev/null &
    process=$!
    await eval "[ \$(wc -l <killed.log) -ge $jobs ] || ! kill -0 $process 2>/dev/null"
    kill -9 $process 2>/dev/null
    wait $process 2>/dev/null
}
one=(--workers "FAKE_SLEEP=0.02 exec $fake" --store killed.db --json)
for seed in 5 6; do
    killed 7 optimize "$task" "${one[@]}" --seed $seed --model "exec:python3 model.py" --strategy evolve --calls 3 --candidates 24
    killed 6 optimize --resume last "${one[@]}"
    expect 0 optimize --resume last "${one[@]}"
    first=$(run_in)
    killed 9 optimize --model "replay,strict=1:$first" "${one[@]}"
    killed 2 optimize --resume last "${one[@]}"
    expect 0 optimize --resume last "${one[@]}"
    [ "$first" != "$(run_in)" ] || fail "the repetition was not begun"
    compare killed.db "$first" killed.db "$(run_in)" || fail "seed $seed: a run that was killed differs from its repetition, which was killed, too"
done

# A run that ends while its model is left alone after failures: the replay, which has no more replies, does not ask in its place, and what was asked
# before them is answered when it was. (On a busy machine the run ends later, and repeats itself all the same.)
cat >moody.sh <<'END'
n=0
until mkdir "asked$n" 2>/dev/null; do n=$((n + 1)); done
case $n in
0) sleep 1 ;;
[123]) exit 1 ;;
esac
printf '```cuda\n#pragma fake: speed 0.1\n#pragma fake: note %s\nvoid axpy() {}\n```\n' $n
END
FAKE_SLEEP=0.08 expect 0 optimize "$task" --workers "$fake" --seed 5 --model "exec:sh moody.sh" --calls 2 --candidates 15 --store moody.db --json
moody=$(run_in)
FAKE_SLEEP=0.01 expect 0 optimize --model "replay,strict=1:$moody" --workers "$fake" --store moody.db --json
compare moody.db "$moody" moody.db "$(run_in)" || fail "a run that ended while its model was left alone differs"

# A run of several workers is replayed to its end, in an order of its own. So is a run of three workers that is killed and goes on.
three=(--workers "FAKE_SLEEP=0.01 exec $fake" --workers "FAKE_SLEEP=0.04 exec $fake" --workers "FAKE_SLEEP=0.07 exec $fake" --store three_workers.db --json)
killed 7 optimize "$task" "${three[@]}" --seed 5 --model "exec:python3 model.py" --candidates 24
expect 0 optimize --resume last "${three[@]}"
expect 0 optimize --model "replay:$(run_in)" "${three[@]}"

# A run that can't be repeated gives an error.
expect 2 optimize "$task" --model replay:nosuchrun --workers "$fake" --store one.db
complains "no run nosuchrun"
expect 0 optimize "$task" --workers "$fake" --candidates 3 --store none.db --json
expect 2 optimize --model "replay:$(run_in)" --workers "$fake" --store none.db
complains "has no model calls to replay"
expect 0 optimize "$task" --workers "$fake" --model "exec:python3 model.py" --model "exec:python3 other.py" --candidates 20 --store twins.db --json
# Each of two programs gets its own replies.
twins=$(run_in)
expect 0 optimize --model "replay,strict=1:$twins" --workers "$fake" --store twins.db --json
compare twins.db "$twins" twins.db "$(run_in)" || fail "a run of two models with one name differs"
# Runs from before names had numbers
python3 -c 'import sqlite3
db = sqlite3.connect("twins.db")
db.execute("update model_call set provider = \"exec\"")
db.commit()'
expect 2 optimize --model "replay:$twins" --workers "$fake" --store twins.db
complains "run $twins has two models with the name \"exec\": their replies can't be distinguished"
finish
