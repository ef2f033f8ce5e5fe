#!/bin/bash
# Commands that write, on stores that can't be written: they say why, at once, and leave what is there alone.
source "$(dirname "$0")/lib.sh"
export KFORGE_STORE_PATIENCE=1
task=$root/tasks/axpy
try() { expect "$1" optimize "$task" --device cpu --time 1s --output "$work/best.cu" --store "$2"; }

echo hello >text.db
try 2 text.db
complains "not a kforge store"
[ "$(cat text.db)" = hello ] || fail "text.db was changed"
python3 -c 'import sqlite3; c = sqlite3.connect("other.db"); c.execute("create table t (x)"); c.commit()'
try 2 other.db
complains "another program's database"
try 2 .
complains "is a folder"
try 3 /proc/none/x.db
complains "/proc/none"

"$bin/../tests/make_store" good.db "$task" >/dev/null || fail make_store
cp good.db newer.db
python3 -c 'import sqlite3; c = sqlite3.connect("newer.db"); c.execute("pragma user_version = 999"); c.commit()'
try 2 newer.db
complains "newer"
head -c 20000 good.db >cut.db
try 3 cut.db
complains "cut.db"

# Deleting a run takes with it what no other run uses, and leaves a sound store. The other run, and
# candidates that both judged, stay.
delete_fake=$bin/../tests/fake_worker
expect 0 optimize "$task" --workers "$delete_fake" --candidates 4 --store delete.db --output a.cu --json
json 'o["judged"] == 4'
expect 0 list --store delete.db -q
first=$out
expect 0 store stats --store delete.db --digest --json
before=$(python3 -c 'import json; print(json.load(open("out"))["digest"])')
expect 0 optimize "$task" --workers "$delete_fake" --candidates 4 --model "replay:$root/tests/replay/axpy.jsonl" --store delete.db --output b.cu --json
json 'o["known"] >= 2 and o["model_calls"] > 0'
second=$(python3 -c 'import json; print(json.load(open("out"))["run"])')
expect 2 store delete last --store delete.db
complains "give the id"
expect 2 store delete zzzz --store delete.db
complains "no run zzzz"
expect 2 store delete "$second" --store delete.db
complains "--yes"
# on_terminal ANSWER STATUS: the same on a pseudo terminal
on_terminal() {
    local command="'$program' store delete $second --store delete.db"
    printf '%s' "$1" | timeout 60 script -qec "$command" /dev/null >out 2>&1
    [ "${PIPESTATUS[1]}" = "$2" ] || fail "answer \"$1\": $(cat out)"
    out=$(cat out)
}
for answer in $'n\n' $'\n' $'maybe\n' $'\004'; do
    on_terminal "$answer" 1
    says "Delete run $second of axpy"
    says "nothing was deleted"
done
expect 0 store backup asked.db --store delete.db
on_terminal $'yes\n' 0
says "run $second of axpy is deleted"
mv asked.db delete.db
rm -f delete.db-*
expect 0 store delete "$second" --yes --store delete.db
says "run $second of axpy is deleted"
expect 0 store check --store delete.db
expect 0 list --store delete.db -q
[ "$out" = "$first" ] || fail "left: $out, not $first"
# As if the second run had never been, except for what vacuum clears.
expect 0 store stats --store delete.db --digest --json
json "o['runs'] == 1 and o['model_calls'] == 0 and o['digest'] == '$before'"
expect 0 store repair --store delete.db
says "nothing to repair"
expect 0 store delete "$first" --store delete.db --yes
expect 0 store check --store delete.db
expect 0 store stats --store delete.db --json
json 'o["runs"] == 0 and o["candidates"] == 0 and o["verdicts"] == 0 and o["tasks"] == 1'

# Another process holds the write lock for longer than the timeout.
python3 - good.db <<'END' &
import sqlite3, sys, time
c = sqlite3.connect(sys.argv[1]); c.execute("begin immediate"); open("locked", "w").close()
while True: time.sleep(0.1)
END
locker=$!
await [ -e locked ]
try 3 good.db
[[ $err == *"kforge: good.db"* || $err == *"kforge: "*"good.db"* ]] || fail "locked: $err"
kill "$locker"
wait "$locker" 2>/dev/null

# A store that is deleted, or replaced, while a run writes to it
fake=$bin/../tests/fake_worker
has_attempts() {
    python3 -c 'import sqlite3, sys; c = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
assert c.execute("select count(*) from attempt").fetchone()[0]' "$1"
}
for how in "rm -f" "cp --remove-destination good.db"; do
    FAKE_SLEEP=0.2 "$program" optimize "$task" --workers "$fake" --time 60s --store gone.db \
        --output "$work/gone.cu" >"$work/out" 2>"$work/err" </dev/null &
    run=$!
    await has_attempts gone.db
    $how gone.db
    wait $run
    [ $? = 3 ] || fail "$how: $(cat "$work/err")"
    grep -q "^kforge: .*deleted or replaced" "$work/err" || fail "$how: $(cat "$work/err")"
    grep -q "all results are stored" "$work/err" && fail "$how: $(cat "$work/err")"
    rm -f gone.db*
done

# A disk that is full, one that is read-only
mkdir small
if unshare -rm mount -t tmpfs -o size=16k none small 2>/dev/null; then
    unshare -rm bash -c 'mount -t tmpfs -o size=16k none small; head -c 100k /dev/zero >small/fill 2>/dev/null
                         "$0" optimize "$1" --device cpu --time 1s --store small/x.db; echo "status $?"; ls -A small' "$program" "$task" >out 2>err
    out=$(cat out) err=$(cat err)
    complains "the disk is full"
    [ "$(head -1 out)" = "status 3" ] || fail "full disk: $out"
    cp good.db small.db
    unshare -rm bash -c 'mount -t tmpfs none small; cp small.db small/x.db; mount -o remount,ro small
                         "$0" optimize "$1" --device cpu --time 1s --store small/x.db; echo "status $?"; "$0" list -q --store small/x.db' "$program" "$task" >out 2>err
    out=$(cat out) err=$(cat err)
    complains "read-only"
    [ "$(head -1 out)" = "status 3" ] || fail "read-only: $out"
    [ "$(wc -l <out)" = 2 ] || fail "list does not read a read-only store: $out"
fi
finish
