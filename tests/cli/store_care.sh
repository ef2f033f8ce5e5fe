#!/bin/bash
# kforge store merge, check, stats, backup, vacuum, migrate.
source "$(dirname "$0")/lib.sh"
task=$root/tasks/axpy
make() { "$bin/../tests/make_store" "$1" "$2" >/dev/null || fail "make_store $1"; }
make a.db "$task"
make b.db "$task"
make c.db "$root/tasks/gemv"
digest() { "$program" store stats --digest --json --store "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["digest"])'; }

expect 0 store merge a.db b.db c.db --store abc.db --json
json 'o["runs"] == 3 and o["tasks"] == 2 and o["attempts"] == 3 * 7'
json 'o["candidates"] == 6 + 6'
json 'o["verdicts"] == 3 * 6'
expect 0 store merge c.db a.db abc.db b.db a.db --store cab.db
says "3 runs"
[ "$(digest abc.db)" = "$(digest cab.db)" ] || fail "the order matters"
expect 0 store merge abc.db a.db --store cab.db --json
json 'all(v == 0 for k, v in o.items() if k != "schema")'
expect 0 store merge cab.db --store cab.db
[[ $err == *"is the target store itself"* ]] || fail "itself: $err"
for store in abc.db cab.db; do
    expect 0 store check --store $store
    says sound
done
expect 0 list --store abc.db -q
[ "$(wc -l <<<"$out")" = 3 ] || fail "list: $out"

# Tasks of one name and another content
cp -r "$task" other
python3 - <<'END'
import json
t = json.load(open("other/task.json")); t["description"] += " Another."; json.dump(t, open("other/task.json", "w"))
END
make d.db other
expect 0 store merge d.db --store abc.db
says "1 task names now have several contents"

expect 0 store backup copy.db --store abc.db
[ "$(digest abc.db)" = "$(digest copy.db)" ] || fail "the backup differs"
[ -z "$(compgen -G 'copy.db?*')" ] || fail "left over: $(ls)"
expect 2 store backup copy.db --store abc.db
complains "exists already"
expect 3 store backup none/copy.db --store abc.db
complains "none/copy.db"

# The next backup removes the parts of killed ones, but not those of running ones.
mkdir copies
for delay in 0 0.003 0.01; do
    "$program" store backup copies/killed.db --store abc.db >/dev/null 2>&1 &
    sleep $delay
    kill -9 $!
    wait $! 2>/dev/null
    rm -f copies/killed.db
done
echo old >copies/.kforge-backup-00000001
echo busy >copies/.kforge-backup-00000002
exec 9<copies/.kforge-backup-00000002
flock 9
expect 0 store backup copies/whole.db --store abc.db
[ "$(ls -A copies | xargs)" = ".kforge-backup-00000002 whole.db" ] || fail "left over: $(ls -A copies)"
exec 9<&-
expect 0 store check --store copies/whole.db
[ "$(stat -c %a copies/whole.db)" = 600 ] || fail "others can read the backup"
expect 2 store backup copies/whole.db --store abc.db
rm copies/whole.db
expect 0 store backup copies/whole.db --store abc.db
[ "$(ls -A copies)" = whole.db ] || fail "left over: $(ls -A copies)"

# A label of an older version that a signal from outside caused: check names it, repair re-opens it.
"$bin/../tests/make_store" woken.db "$task" woken >/dev/null || fail "make_store woken"
labels() {
    "$program" export --format raw --store woken.db -o - --force |
        python3 -c 'import json, sys; print(*sorted(json.loads(l)["status"] for l in sys.stdin))'
}
[[ $(labels) == *cheating* ]] || fail "no cheating: $(labels)"
expect 0 store check --store woken.db
says "verdict 4 of axpy: cheating"
says "store repair"
expect 0 store repair --store woken.db
says "1 verdicts re-opened"
expect 0 store repair --store woken.db
says "nothing to repair"
expect 0 store check --store woken.db
[[ $out != *cheating* ]] || fail "still named: $out"
[[ $(labels) != *cheating* ]] || fail "still exported: $(labels)"
expect 0 show latest --store woken.db
# Other labels stay as they are.
expect 0 store check --store a.db
[[ $out == *sound && $out != *repair* ]] || fail "check: $out"
before=$(digest a.db)
expect 0 store repair --store a.db
[ "$(digest a.db)" = "$before" ] || fail "repair changed other verdicts"

expect 0 store vacuum --drop-samples --older-than 0s --store copy.db
says "raw timings of"
expect 0 store check --store copy.db
expect 0 show latest --store copy.db
expect 0 store migrate --store copy.db
says "up to date"
python3 - <<'END'
import sqlite3
c = sqlite3.connect("copy.db"); c.executescript("drop table note; drop table ceiling; drop table counters; drop index candidate_form; alter table candidate drop column form; drop table asked; drop table table_sum; alter table attempt drop column began; alter table attempt drop column unverified; pragma user_version = 1"); c.commit()
END
expect 2 list --store copy.db
complains "kforge store migrate"
expect 2 store merge copy.db --store abc.db
complains "copy.db: written by an older kforge"
expect 0 store migrate --store copy.db
says "from schema 1"
expect 0 list --store copy.db

# Sources that are no stores: they say so, and the target stays as it was
before=$(digest abc.db)
echo hello >text.db
expect 2 store merge text.db --store abc.db
complains "text.db: not a kforge store"
expect 2 store merge none.db --store abc.db
complains "none.db"
cp a.db newer.db
python3 -c 'import sqlite3; c = sqlite3.connect("newer.db"); c.execute("pragma user_version = 999"); c.commit()'
expect 2 store merge newer.db --store abc.db
complains "newer"
make e.db "$root/tasks/gemm"
head -c 60000 e.db >cut.db
expect 3 store merge cut.db --store abc.db
complains "cut.db"
python3 - <<'END'
import sqlite3
c = sqlite3.connect("e.db"); c.execute("update blob set data = zeroblob(length(data)) where id = (select bundle from task)"); c.commit()
END
expect 3 store merge e.db --store abc.db
complains "e.db"
expect 3 store check --store e.db
complains "checksum is wrong in blob "
[ "$(digest abc.db)" = "$before" ] || fail "a refused source changed the store"
# A failed merge makes no new store: neither if a source can't be opened, which is checked first,
# nor if a source turns out to be damaged.
for bad in none.db text.db newer.db cut.db e.db; do
    "$program" store merge $bad --store fresh.db >out 2>err </dev/null && fail "merged $bad"
    err=$(cat err)
    complains "$bad"
    "$program" store merge a.db $bad --store fresh/in/here.db >out 2>err </dev/null && fail "merged $bad"
    [ $bad = e.db ] || [ ! -e fresh ] || fail "a new store of a.db and $bad: $(find fresh)"
done
[ -z "$(find . -name 'fresh.db*')" ] || fail "left behind: $(ls)"
[ "$(digest fresh/in/here.db)" = "$(digest a.db)" ] || fail "what was merged before the damage is gone"
expect 0 store merge a.db --store fresh.db
[ "$(digest fresh.db)" = "$(digest a.db)" ] || fail "a new store of a.db alone differs"
expect 3 store merge e.db --store fresh.db
[ "$(digest fresh.db)" = "$(digest a.db)" ] || fail "a store that was there is gone"
expect 2 store merge a.db --store
expect 2 store stats --store none.db
complains "no store there"
finish
