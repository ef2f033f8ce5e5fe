#!/bin/bash
# Runs of several workers whose speeds are drawn anew for every job, and what is recorded of them repeated by workers of other speeds: the same prompts,
# candidates and verdicts in the same order, however it was that things happened to meet. $REPLAYS: rounds, each a run of every kind below. What happens is
# drawn, kills of the run among it, so it is a search for faults, not a check that comes out the same each time: without $REPLAYS it is skipped. What it found is in replay.sh.
[ -n "${REPLAYS-}" ] || { echo "skipped: set REPLAYS to a number of rounds"; exit 77; }
source "$(dirname "$0")/lib.sh"
task=$root/tasks/axpy
fake=$bin/../tests/fake_worker
rounds=$REPLAYS
seed=${SEED:-$RANDOM}

# A model that thinks for some hundredths of a second and says anything: nothing of use, code that is wrong, known, or of the same machine code as other
# code, diagnoses where it is asked for them, moves that become notes, and often nothing but words, after which it is asked again at once.
cat >model.sh <<'MODEL'
prompt=$(cat)
printf -v nap '0.%03d' $((RANDOM % 60))
sleep $nap
kind=$((RANDOM % 100))
case $prompt in *'JSON object'*) [ $kind -lt 20 ] || { echo "{\"paid\": [\"$RANDOM\"], \"did_not_pay\": [], \"bottleneck\": \"$RANDOM\"}"; exit; } ;; esac
code() { printf 'Move: did %s\n' "$2"; printf '```cuda\n%s\n#pragma fake: note %s\nvoid axpy() {}\n```\n' "$1" "$2"; }
if [ $kind -lt 25 ]; then echo "I would rather talk about the weather."
elif [ $kind -lt 32 ]; then echo "no luck today" >&2; exit 1
elif [ $kind -lt 37 ]; then :
elif [ $kind -lt 50 ]; then code "#pragma fake: status wrong_result" $RANDOM$RANDOM
elif [ $kind -lt 60 ]; then code "#pragma fake: speed 1.1" $((RANDOM % 2))
elif [ $kind -lt 64 ]; then code $'#pragma fake: speed 1.1\n#pragma fake: code A' $RANDOM$RANDOM
else
    code "#pragma fake: speed 1.$((100 + RANDOM % 900))
#pragma fake: optimum BLOCK $((64 << RANDOM % 3))
// kforge: tune BLOCK 32 64 128 256 512
#ifndef BLOCK
#define BLOCK 32
#endif" $RANDOM$RANDOM
fi
MODEL
cp model.sh other.sh
# The worker dies after so many thousandths of a second, and once more takes its time to come up.
cat >mortal.sh <<'MORTAL'
(sleep "0.$1"; kill -9 $$) 2>/dev/null &
exec "$2"
MORTAL

workers() { # workers MOST-JOBS [mortal]
    workers=()
    for i in 1 2 3; do
        local start="exec $fake"
        [ $i = 3 ] && [ -n "${2-}" ] && start="exec sh mortal.sh $((300 + RANDOM % 600)) $fake"
        local pace="FAKE_SEED=$((seed + i)) FAKE_JITTER=0.0$((10 + RANDOM % 80)) FAKE_SLEEP=0.0$((RANDOM % 30)) FAKE_JOBS=$((1 + RANDOM % $1))"
        workers+=(--workers "export $pace; $start")
    done
}
run_in() { python3 -c 'import json; print(json.load(open("out"))["run"])'; }

# Every third run, and every third repetition, is killed some tenths of a second after it began, and goes on.
perhaps_killed() { # perhaps_killed ARGUMENT…
    if [ $((RANDOM % 3)) = 0 ]; then
        "$program" "$@" >out 2>err </dev/null &
        sleep "0.$((2 + RANDOM % 8))"
        kill -9 $! 2>/dev/null
        wait $! 2>/dev/null
        [ ! -s out ] || return 0
        "$program" optimize --resume last "${workers[@]}" --store run.db --json >out 2>err </dev/null
        local status=$?
        grep -q "no unfinished run\|no store there" err || return $status # not begun, or just ended
    fi
    "$program" "$@" >out 2>err </dev/null
}

# repeats NAME MOST-JOBS MORTAL ARGUMENT…
repeats() {
    local name=$1 jobs=$2 mortal=$3 first
    shift 3
    rm -f run.db*
    workers "$jobs" "$mortal"
    attempt=(optimize "$task" "${workers[@]}" --seed $((seed++)) "$@" --candidates 24 --store run.db --json)
    : >out
    perhaps_killed "${attempt[@]}"
    local status=$?
    # A model that says nothing three times in a row ends its run, and that of its repetition.
    [ $status = 0 ] || [ $status = 3 ] || fail "${attempt[*]}: exit status $status; $(cat err)"
    first=$(run_in)
    workers 1
    : >out
    perhaps_killed optimize --model "replay,strict=1:$first" "${workers[@]}" --store run.db --json
    [ $? = $status ] || fail "$name: the repetition ended otherwise: $(cat err)"
    python3 "$root/tests/cli/same_runs.py" run.db "$first" run.db "$(run_in)" || fail "$name, seed $((seed - 1)): the repetition differs"
}
one=(--model "exec:bash model.sh")
two=(--model "exec,role=proposer:bash model.sh" --model "fallback,weight=2:exec:bash other.sh")
critic=(--model "exec,role=proposer:bash model.sh" --model "fallback,role=critic:exec:bash other.sh")
for ((round = 0; round < rounds; round++)); do
    repeats evolve 1 "" "${one[@]}" --strategy evolve
    repeats auto 1 "" "${one[@]}" --strategy auto
    repeats contrast 2 "" "${one[@]}" --strategy contrast
    repeats "fsr, four calls" 3 "" "${one[@]}" --strategy fsr --calls 4
    repeats "evolve, two models" 1 "" "${two[@]}" --strategy evolve
    repeats "auto, two models" 1 "" "${two[@]}" --strategy auto
    repeats "critic, two models" 1 "" "${critic[@]}" --strategy critic
    repeats "critic, a worker dies" 1 mortal "${one[@]}" --strategy critic
    repeats "evolve, a worker dies" 1 mortal "${one[@]}" --strategy evolve
    repeats "auto, a worker dies" 2 mortal "${two[@]}" --strategy auto
done
finish
