#!/bin/bash
# A run is repeated from what is stored of it, without its models: the same prompts, candidates and verdicts in the same order.
source "$(dirname "$0")/lib.sh"
task=$root/tasks/axpy
fake=$bin/../tests/fake_worker
export FAKE_SLEEP=0.03

# Models that think for a while, so that the tuner works meanwhile; what they say depends on chance, so that nobody could say it again.
cat >model.py <<'END'
import random, sys, time
prompt = sys.stdin.read()
time.sleep(random.uniform(0, 0.05))
kind = random.random()
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

# Several workers, whose speeds are the other way round the second time: with the tuner, and with little but calls of the model, three at a time. The first
# time one of them comes up when the search is on its way, and another ends in the middle for good; the second time all are there all the time.
cat >late.sh <<'END'
until [ $(wc -l <"$1.log") -gt "$2" ]; do sleep 0.02; done 2>/dev/null
exec "$3"
END
cat >leaving.sh <<'END'
[ ! -e "$1.begun" ] || exit 1
: >"$1.begun"
until [ $(wc -l <"$1.log") -gt "$2" ]; do sleep 0.02; done 2>/dev/null && kill $$ &
exec "$3"
END
three_workers() {
    FAKE_LOG=$1.log expect 0 optimize "$task" --workers "FAKE_SLEEP=0.01 exec $fake" --workers "FAKE_SLEEP=0.04 exec sh leaving.sh $1 20 $fake" \
        --workers "FAKE_SLEEP=0.07 exec sh late.sh $1 8 $fake" --seed 5 --model "exec:python3 model.py" --candidates 40 --strategy "$1" --store "$1.db" --json
    three=$(run_in)
    expect 0 optimize --model "replay,strict=1:$three" --workers "FAKE_SLEEP=0.07 exec $fake" --workers "FAKE_SLEEP=0.03 exec $fake" --workers "FAKE_SLEEP=0.01 exec $fake" --store "$1.db" --json
    compare "$1.db" "$three" "$1.db" "$(run_in)"
}
for strategy in auto evolve; do
    three_workers $strategy || fail "two runs of three workers with $strategy differ"
done

# Killed while workers and models are at work, in the run and in its repetition; by then the store knows most of what the second one tries.
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
several=(--workers "FAKE_SLEEP=0.02 exec $fake" --workers "FAKE_SLEEP=0.05 exec $fake" --workers "FAKE_SLEEP=0.03 exec $fake" --store killed.db --json)
for seed in 5 6; do
    killed 7 optimize "$task" "${several[@]}" --seed $seed --model "exec:python3 model.py" --strategy evolve --candidates 24
    killed 6 optimize --resume last "${several[@]}"
    expect 0 optimize --resume last "${several[@]}"
    first=$(run_in)
    killed 9 optimize --model "replay,strict=1:$first" "${several[@]}"
    killed 2 optimize --resume last "${several[@]}"
    expect 0 optimize --resume last "${several[@]}"
    [ "$first" != "$(run_in)" ] || fail "the repetition was not begun"
    compare killed.db "$first" killed.db "$(run_in)" || fail "seed $seed: a run that was killed differs from its repetition, which was killed, too"
done

# A reply that holds no code makes room for another call at once, not after the verdict under way, which in the replay is there already.
cat >useless.sh <<'END'
cat >/dev/null
n=1
until mkdir "call$n" 2>/dev/null; do n=$((n + 1)); done
case $n in
1) echo "#pragma fake: until $PWD/go" >until ;;
2) sleep 0.5; echo no code; exit ;; # the first one's candidate is being judged by then
3) touch go; sleep 0.3 ;;
esac
printf '```cuda\n#pragma fake: speed 0.1\n#pragma fake: note %s\n%s\nvoid axpy() {}\n```\n' $n "$([ $n = 1 ] && cat until)"
END
FAKE_SLEEP=0 expect 0 optimize "$task" --workers "$fake*2" --seed 5 --model "exec:sh useless.sh" --candidates 6 --strategy sample --store useless.db --json
useless=$(run_in)
FAKE_SLEEP=0 expect 0 optimize --model "replay,strict=1:$useless" --workers "$fake*2" --store useless.db --json
compare useless.db "$useless" useless.db "$(run_in)" || fail "a run with a reply without code differs"
python3 - <<'END' || fail "after a reply without code a call was begun at another point"
import sqlite3, sys
calls = sqlite3.connect("useless.db").execute("select run, json_extract(settings, '$.asked') from model_call where json_extract(settings, '$.after') < 1 << 50 order by id").fetchall()
first, again = ([asked for of, asked in calls if of == run] for run in sorted({of for of, _ in calls}))
print(first, again)
sys.exit(first != again)
END

# Two calls bring the same source and are both being judged; the first verdict is there when a third brings it, which is known then. The second verdict
# keeps its place before that on another source.
cat >thrice.sh <<'END'
cat >/dev/null
n=1
until mkdir "same$n" 2>/dev/null; do n=$((n + 1)); done
source=$'#pragma fake: speed 0.5\n#pragma fake: sleep 0.2'
case $n in
[12]) ;;
3) sleep 0.5 ;;
4) sleep 0.8; source=$'#pragma fake: speed 0.6\n#pragma fake: sleep 0.6' ;;
5) sleep 1.2; touch go_on; sleep 0.9; source="#pragma fake: speed 0.7" ;;
*) sleep 9 ;;
esac
printf '```cuda\n%s\nvoid axpy() {}\n```\n' "$source"
END
: >thrice.log
FAKE_SLEEP=0 FAKE_LOG=thrice.log FAKE_FREE=3 FAKE_GO=$work/go_on expect 0 optimize "$task" --workers "$fake*3" --seed 5 --model "exec:bash thrice.sh" \
    --calls 5 --candidates 6 --strategy sample --store thrice.db --json
thrice=$(run_in)
FAKE_SLEEP=0 expect 0 optimize --model "replay,strict=1:$thrice" --workers "$fake*3" --store thrice.db --json
compare thrice.db "$thrice" thrice.db "$(run_in)" || fail "a run in which three calls brought one source differs"

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
FAKE_SLEEP=0.15 expect 0 optimize "$task" --workers "$fake" --workers "$fake" --seed 5 --model "exec:sh moody.sh" --candidates 15 --store moody.db --json
moody=$(run_in)
FAKE_SLEEP=0.01 expect 0 optimize --model "replay,strict=1:$moody" --workers "$fake" --workers "$fake" --store moody.db --json
compare moody.db "$moody" moody.db "$(run_in)" || fail "a run that ended while its model was left alone differs"

# What can't be repeated says so.
expect 2 optimize "$task" --model replay:nosuchrun --workers "$fake" --store one.db
complains "no run nosuchrun"
expect 0 optimize "$task" --workers "$fake" --candidates 3 --store none.db --json
expect 2 optimize --model "replay:$(run_in)" --workers "$fake" --store none.db
complains "has no model calls to replay"
expect 0 optimize "$task" --workers "$fake" --model "exec:python3 model.py" --model "exec:python3 other.py" --candidates 3 --store twins.db --json
expect 2 optimize --model "replay:$(run_in)" --workers "$fake" --store twins.db
complains "two models with the name"
finish
