#!/bin/bash
# kforge bench with a model on failing machines. Failures are counted across tasks. No reply is
# wasted: a resumed bench judges the replies it has. A failing device is left out, and its tasks go
# to the others.
source "$(dirname "$0")/lib.sh"
fake=$bin/../tests/fake_worker
broken="exec env FAKE_FAULT=$work/fault FAKE_LOG=$work/broken $fake"
touch fault
id() { sed -n 's/^bench \([a-z0-9]*\):.*/\1/p' "$work/err"; }
jobs() { [ ! -e "$1" ] || wc -l <"$1"; }
mkdir suite
for n in 1 2 3 4 5 6 7 8; do
    cp -r "$root/tasks/axpy" "suite/p$n"
    sed -i "s/\"name\": \"axpy\"/\"name\": \"p$n\"/" "suite/p$n/task.json"
done
cat >ask.sh <<'END'
#!/bin/bash
cat >/dev/null
echo "$1" >>asked
printf '{"text": "```cuda\\n#pragma fake: speed 1.5\\nextern \\"C\\" void axpy(int %s) {}\\n```", "cost_usd": 0.01}\n' "$1"
END
chmod +x ask.sh

ends_with() {
    local last
    last=$(tail -n 1 err)
    for part in "kforge: " "the machine failed " "nvcc is on fire" "kforge bench --resume $(id)" "$@"; do
        case $last in *"$part"*) ;; *) fail "the last line does not say \"$part\": $last" ;; esac
    done
    [ "$(grep -c '^kforge: ' err)" = 1 ] || fail "not one line: $(cat err)"
}

# ---- one worker
expect 3 bench suite --model 'exec:./ask.sh {task}' --workers "$broken" --json
ends_with " 6 jobs in a row" "0 of 8"
[ "$(jobs broken)" = 6 ] || fail "not six jobs: $(jobs broken)"
[ "$(jobs asked)" -le 4 ] || fail "asked for nothing: $(jobs asked) replies"
json 'o["scores"]["solved"] == 0'
first=$(id)
rm fault
expect 0 bench --resume "$first" --workers "$fake" --json
json 'o["scores"]["solved"] == 8 and o["scores"]["void"] == 0'
[ "$(jobs asked)" = 8 ] || fail "$(jobs asked) replies for eight samples"

# ---- two, one of them broken
export KFORGE_STORE=$work/two.db
touch fault
rm -f broken asked
expect 0 bench suite --model 'exec:./ask.sh {task}' --workers "$broken" --workers "$fake" --json
json 'o["scores"]["solved"] == 8 and o["scores"]["void"] == 0'
[ "$(jobs broken)" -le 6 ] || fail "not left out after six jobs: $(jobs broken)"
[ "$(jobs asked)" = 8 ] || fail "$(jobs asked) replies for eight samples"

# ---- the slow one is broken: the quick one has ended when it gets the task, and starts again with
# descriptors that the other's had
export KFORGE_STORE=$work/again.db
rm -f broken asked
expect 0 bench suite --only p1 --only p2 --model 'exec:./ask.sh {task}' --workers "$fake" \
    --workers "FAKE_SLEEP=2 $broken" --json
json 'o["scores"]["solved"] == 2 and o["scores"]["void"] == 0'
case $err in *"its process ended"*) fail "a report is lost: $err" ;; esac

# ---- both: ended by six of one of them, or by tasks in a row that neither could judge, whichever comes first
export KFORGE_STORE=$work/both.db
rm -f broken
expect 3 bench suite --model 'exec:./ask.sh {task}' --workers "$broken*2"
ends_with "0 of 8"
[ "$(jobs broken)" -le 12 ] || fail "more than six jobs each: $(jobs broken)"

# ---- each task loses its worker once, and each loss is printed
mkdir pair
cp -r suite/p1 suite/p2 pair
cat >die.sh <<'END'
#!/bin/bash
cat >/dev/null
printf '```cuda\n#pragma fake: worker die\n#pragma fake: once %s\nextern "C" void axpy(int %s) {}\n```' "$PWD/died.$1" "$1"
END
chmod +x die.sh
expect 0 bench pair --model 'exec:./die.sh {task}' --workers "$fake" --store losses.db
[ "$(grep -c "it ended with status 3; started again" err)" = 2 ] || fail "not two losses: $err"
finish
