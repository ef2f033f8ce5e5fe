#!/bin/bash
# kforge bench on failing machines. After six failed jobs in a row, it ends with one line and keeps
# its verdicts. Another call continues from there. A failing device is left out, and other devices
# take its jobs. The workers are simulated (fake_worker.c).
source "$(dirname "$0")/lib.sh"
fake=$bin/../tests/fake_worker
broken="exec env FAKE_FAULT=$work/fault FAKE_LOG=$work/broken $fake"
touch fault
id() { sed -n 's/^bench \([a-z0-9]*\):.*/\1/p' "$work/err"; }
jobs() { [ ! -e "$1" ] || wc -l <"$1"; }

# Checks the last line: it names the failure, the progress (the argument) and the command to
# continue. There is only one such line.
ends_with() {
    local last
    last=$(tail -n 1 err)
    for part in "kforge: " "the machine failed 6 jobs in a row" "nvcc is on fire" "$1" "kforge bench --resume $(id)"; do
        case $last in *"$part"*) ;; *) fail "the last line does not say \"$part\": $last" ;; esac
    done
    [ "$(grep -c '^kforge: ' err)" = 1 ] || fail "not one line: $(cat err)"
}

# A suite of eight tasks with a solution each, all of other machine code.
mkdir -p suite solutions
for n in 1 2 3 4 5 6 7 8; do
    cp -r "$root/tasks/axpy" "suite/p$n"
    sed -i "s/\"name\": \"axpy\"/\"name\": \"p$n\"/" "suite/p$n/task.json"
    printf '// fake: speed 1.%s\nextern "C" void axpy(const float *x, float *y, float a, long n, void *s) { int n%s; }\n' $n $n >"solutions/p$n.cu"
done

# ---- solutions, one worker: each is tried twice, so that three are enough
export KFORGE_STORE=$work/one.db
expect 3 bench suite --solutions solutions --workers "$broken" --json
ends_with "0 of 8"
[ "$(jobs broken)" = 6 ] || fail "not six jobs: $(jobs broken)"
json 'o["scores"]["solved"] == 0 and all(s["status"] != "correct" for p in o["problems"] for s in p["samples"])'
first=$(id)
expect 3 bench --resume "$first" --workers "$broken" # it is still so
rm fault
expect 0 bench --resume "$first" --workers "$fake" --json
json 'o["scores"]["solved"] == 8 and o["scores"]["void"] == 0'

# ---- in the middle: what was judged is reported, and not judged again
export KFORGE_STORE=$work/middle.db
rm -f broken
mkdir early
cp solutions/p[1-3].cu early
expect 0 bench suite --solutions early --workers "$fake"
touch fault
expect 3 bench suite --solutions solutions --workers "$broken" --html page.html --json
ends_with "3 of 8"
json 'o["scores"]["solved"] == 3'
[ -s page.html ] || fail "no report"
second=$(id)
rm fault broken
expect 0 bench --resume "$second" --workers "exec env FAKE_LOG=$work/again $fake" --json
json 'o["scores"]["solved"] == 8'
[ "$(jobs again)" = 5 ] || fail "judged again: $(jobs again) jobs"

# ---- fewer than six: the bench does the rest, and those are judged when it goes on
export KFORGE_STORE=$work/few.db
touch fault
mkdir few
cp solutions/p[12].cu few
expect 3 bench suite --solutions few --workers "$broken"
case $err in *"continue with: kforge bench --resume $(id)"*) ;; *) fail "does not say how to go on: $err" ;; esac
case $err in *"2 tasks failed"*"nvcc is on fire"*) ;; *) fail "does not say why: $err" ;; esac
rm fault
expect 0 bench --resume "$(id)" --workers "$fake" --json
json 'o["scores"]["solved"] == 2'

# ---- two workers, one of them broken: it is left out, and what it failed with is judged by the other
export KFORGE_STORE=$work/two.db
touch fault
rm -f broken
# The working one starts after the broken one, and leaves it most of the tasks.
cp -r suite many
cp -r solutions many-solutions
for n in {10..17}; do
    sed "s/1\.1/1.$n/; s/int n1/int n$n/" solutions/p1.cu >many-solutions/p$n.cu
    cp -r suite/p1 many/p$n
    sed -i "s/\"name\": \"p1\"/\"name\": \"p$n\"/" many/p$n/task.json
done
expect 0 bench many --solutions many-solutions --workers "$broken" \
    --workers "until [ -s $work/broken ]; do sleep 0.02; done; FAKE_SLEEP=0.2 exec $fake" --json
json 'o["scores"]["solved"] == 16 and o["scores"]["void"] == 0'
[ "$(jobs broken)" = 6 ] || fail "not left out after six jobs: $(jobs broken)"
case $err in *"in a row"*"given up"*) ;; *) fail "does not say that it is left out: $err" ;; esac

# ---- both: it ends
export KFORGE_STORE=$work/both.db
expect 3 bench suite --solutions solutions --workers "$broken" --workers "$broken" --json
ends_with "0 of 8"

# ---- while the best are measured against a further baseline: what was judged is reported
export KFORGE_STORE=$work/against.db
mkdir -p softmax/row_softmax
sed 's/axpy(.*)/row_softmax(int a)/' solutions/p4.cu >softmax/row_softmax/one.cu
rm -f fault
expect 0 bench "$root/tasks" --only row_softmax --solutions softmax --workers "$fake"
expect 3 bench "$root/tasks" --only row_softmax --solutions softmax --workers "[ -e $work/once ] && exit 7; touch $work/once; exec $fake" --against cudnn --anew --json
json 'o["scores"]["solved"] == 1'
case $err in *"status 7"*"1 of 1 solutions are judged"*"kforge bench --resume"*) ;; *) fail "does not say what failed: $err" ;; esac
finish
