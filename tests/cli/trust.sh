#!/bin/bash
# Commands of a project's kforge.json and of somebody else's store run only after `kforge trust`.
source "$(dirname "$0")/lib.sh"
fake=$bin/../tests/fake_worker
unset KFORGE_CONFIG # it would be the user's own choice of a file
cp -r "$root/tasks/axpy" axpy
cat >ask.sh <<'END'
#!/bin/bash
cat >/dev/null
echo asked >>"$(dirname "$0")/asked"
printf '```cuda\n#pragma fake: speed 1.5\nextern "C" void axpy(int n) {}\n```\n'
END
cat >work.sh <<END
#!/bin/bash
echo worked >>$work/worked
exec $fake
END
chmod +x ask.sh work.sh
ran() { [ -e "$1" ] && rm -f "$1"; }

# ---- a project
mkdir -p project/.git project/deep
cat >project/kforge.json <<END
{"workers": ["$work/work.sh"], "model": "exec:$work/ask.sh", "seed": 7, "store": "here.db"}
END
project() { (cd project/deep && env -u KFORGE_STORE "$program" "$@" >"$work/out" 2>"$work/err" </dev/null); }
project optimize "$work/axpy" --candidates 40 --time 20s --workers "$fake"
err=$(cat err)
case $err in *"project/kforge.json: model is ignored"*"$work/ask.sh"*"kforge trust $work/project"*) ;; *) fail "does not say that the model is ignored: $err" ;; esac
ran asked && fail "a command of a project ran: the model"
[ -e project/here.db ] || fail "the other settings do not count"
ran worked && fail "a command of a project ran: the worker"
rm -f project/here.db*
expect 0 trust project
says "allowed  exec:$work/ask.sh"
says "allowed  $work/work.sh"
project optimize "$work/axpy" --candidates 40 --time 20s || fail "trusted: $(cat err)"
ran asked || fail "the allowed model did not run: $(cat err)"
ran worked || fail "the allowed worker did not run: $(cat err)"
# another command asks again
rm -f project/here.db*
sed -i 's/ask.sh/.\/ask.sh/' project/kforge.json
project optimize "$work/axpy" --candidates 40 --time 20s
grep -q "model is ignored" err || fail "a changed command: $(cat err)"
ran asked && fail "a changed command ran"
rm -f kforge.db*
# what the user gives on the command line, in the environment or in his own file needs no permission
(cd project/deep && KFORGE_MODEL="exec:$work/ask.sh" "$program" optimize "$work/axpy" --candidates 40 --time 20s --workers "$fake") >out 2>err </dev/null
ran asked || fail "a command of the environment did not run: $(cat err)"
mkdir -p home/.config/kforge
rm -f kforge.db*
echo "{\"model\": \"exec:$work/ask.sh\"}" >home/.config/kforge/kforge.json
expect 0 optimize axpy --candidates 40 --time 20s --workers "$fake"
ran asked || fail "a command of the user's own file did not run: $err"
rm home/.config/kforge/kforge.json
[ "$(stat -c %a home/.config/kforge/trusted)" = 600 ] || fail "the list is open to others"

# ---- a file that other users may change
chmod o+w project/kforge.json
expect 2 trust project
complains "chmod o-w"
chmod o-w project/kforge.json
expect 2 trust nothing
complains "nothing"

# ---- a store: one's own runs are resumed, runs of a store from elsewhere are not
export KFORGE_CONFIG=none KFORGE_STORE=$work/own.db
expect 0 optimize axpy --model "exec:$work/ask.sh" --candidates 40 --time 20s --workers "$fake"
run=$(sed -n 's/^run \([a-z0-9]*\) .*/\1/p' err)
ran asked
expect 0 optimize --resume "$run" --candidates 50 --time 20s --workers "$fake"
mv own.db theirs.db # as if it came from another machine
export KFORGE_STORE=$work/theirs.db
ran asked
expect 2 optimize --resume "$run" --candidates 60 --time 20s --workers "$fake"
complains "kforge trust $work/theirs.db"
ran asked && fail "a command of somebody else's store ran"
expect 0 optimize --resume "$run" --model none --candidates 51 --time 20s --workers "$fake"
expect 0 trust theirs.db
says "allowed  exec:$work/ask.sh"
expect 0 optimize --resume "$run" --model "exec:$work/ask.sh" --candidates 60 --time 20s --workers "$fake"

# ---- and so a bench
mkdir suite && cp -r axpy suite
expect 0 bench suite --model "exec:$work/ask.sh" --samples 1 --workers "$fake" --store bench.db
bench=$(sed -n 's/^bench \([a-z0-9]*\):.*/\1/p' err)
mv bench.db moved.db
expect 2 bench --resume "$bench" --time 5s --workers "$fake" --store moved.db
complains "kforge trust ./moved.db"
expect 0 trust moved.db
expect 0 bench --resume "$bench" --time 5s --workers "$fake" --store moved.db
finish
