#!/bin/bash
# Files of kforge: names with odd characters in printed commands, modes, symbolic links, file limits. And a terminal that closes.
source "$(dirname "$0")/lib.sh"
fake=$bin/../tests/fake_worker
task=$root/tasks/axpy
kforge() { "$program" "$@"; }
# Runs the command that a line of the output gives, in bash.
paste() { # LABEL ARGUMENT…
    local line
    line=$(sed -n "s/^$1 .*\(kforge .*\)/\1/p" out)
    [ -n "$line" ] || fail "no command behind $1: $out"
    shift
    [ $# = 0 ] || line+=$(printf ' %q' "$@")
    eval "$line" >pasted 2>&1 </dev/null || fail "$line: exit status $?; $(cat pasted)"
}

# A printed command can be pasted, whatever the store's name.
mkdir names
for name in 'a b' "it's" '"$HOME" `id` \n' $'two\nlines' $'tab\tand\x1b[2J' '-dash.db' '=ls' 'größe' $'u202e\u202e' $'byte\xff' $'style\uf8f1' '~' '*' ';'; do
    case $name in -*) store=$name option=--store=$name ;; *) store=names/$name option="--store $name" ;; esac
    expect 0 optimize "$task" --workers "$fake" --candidates 3 --store="$store"
    [ "$(grep -c '^resume ' out)" = 1 ] && [ "$(grep -c '^candidate ' out)" = 1 ] || fail "$name: not a line each: $out"
    tail -n 1 out | grep -q '^resume ' || fail "$name: the command has several lines: $out"
    paste candidate
    paste resume --workers "$fake"
    [ -e "$store" ] || fail "$name: no store of this name"
done
[ "$(find names -type f ! -name '*-wal' ! -name '*-shm' -printf . | wc -c)" = 13 ] || fail "other stores: $(ls -b names)"
expect 0 task new "new' folder/mine"
line=$(sed -n 's/.*"\(kforge task .*\)" lists.*/\1/p' out)
eval "${line/lint/show}" >pasted 2>&1 || fail "$line: $(cat pasted)"

# Whatever the umask is, files that kforge names are the user's alone. Files that the user names get the user's umask.
mode() { stat -c %a "$1" 2>/dev/null; }
umask 000
mkdir wide
cd wide || exit 1
export XDG_CACHE_HOME=$work/wide/cache
expect 0 optimize "$task" --workers "$fake" --candidates 3 --store data/deep/wide.db
run=$(sed -n 's/^source *\(.*\)\/best.cu/\1/p' "$work/out")
for place in kforge-out kforge-out/axpy "$run" data data/deep; do
    [ "$(mode "$place")" = 700 ] || fail "$place has mode $(mode "$place")"
done
for place in "$run/best.cu" data/deep/wide.db; do
    [ "$(mode "$place")" = 600 ] || fail "$place has mode $(mode "$place")"
done
expect 0 store backup copy.db --store data/deep/wide.db
[ "$(mode copy.db)" = 600 ] || fail "a copy has mode $(mode copy.db)"
expect 0 optimize "$task" --workers "$fake" --candidates 3 --store data/deep/wide.db --output mine.cu
[ "$(mode mine.cu)" = 666 ] || fail "--output has mode $(mode mine.cu)"
expect 0 export --store data/deep/wide.db --format raw -o raw.jsonl
[ "$(mode raw.jsonl)" = 666 ] || fail "an export has mode $(mode raw.jsonl)"
# While a run writes, log and index have the store's mode.
"$program" optimize "$task" --workers "$fake" --time 100s --model 'exec:touch up; sleep 100' --store live.db >/dev/null 2>&1 &
pid=$!
await [ -e up ]
for place in live.db live.db-wal live.db-shm; do
    [ "$(mode $place)" = 600 ] || fail "$place has mode $(mode $place)"
done
kill -TERM $pid; kill -TERM $pid 2>/dev/null
wait $pid
expect_judged 0 eval "$task" "$task/baseline.cu" --device cpu --no-keep
[ "$(mode cache/kforge)" = 700 ] || fail "the cache has mode $(mode cache/kforge): $(ls -l cache)"
umask 022
cd "$work" || exit 1

# A symbolic link below the working folder is not followed, wherever it is, and also when it appears during the run.
mkdir links elsewhere
cd links || exit 1
unwritten() {
    [ -z "$(ls -A ../elsewhere)" ] || fail "$1: written through a link: $(find ../elsewhere)"
}
refused() {
    expect 2 optimize "$task" --workers "$fake" --candidates 3 --store links.db
    cp "$work/err" err
    complains "symbolic link"
    complains "--output"
    unwritten "$1"
}
ln -s ../elsewhere kforge-out
refused "kforge-out"
rm kforge-out
mkdir kforge-out
ln -s ../../elsewhere kforge-out/axpy
refused "kforge-out/TASK"
ln -sfn ../../nowhere kforge-out/axpy
refused "a link to nothing"
rm kforge-out/axpy
"$program" optimize "$task" --workers "touch up; while [ ! -e go ]; do sleep 0.05; done; exec $fake" --candidates 3 --store links.db >out 2>err &
pid=$!
await [ -e up ]
ln -s ../../elsewhere kforge-out/axpy
touch go
wait $pid
[ $? = 2 ] || fail "a link that appeared: exit status $?: $(cat err)"
unwritten "a link that appeared"
rm kforge-out/axpy
# best.cu itself: the link is replaced, and the file behind it stays.
expect 0 optimize "$task" --workers "$fake" --candidates 3 --store links.db
best=$(sed -n 's/^source *//p' "$work/out") run=$(basename "$(dirname "$best")")
echo mine >../mine
ln -sf "$work/mine" "$best"
expect 0 optimize --resume "$run" --workers "$fake" --candidates 4 --store links.db
[ "$(cat ../mine)" = mine ] && [ ! -L "$best" ] || fail "best.cu: written through a link"
# With --output the user decides.
ln -s ../elsewhere mine
expect 0 optimize "$task" --workers "$fake" --candidates 3 --store links.db --output mine/best.cu
[ -s ../elsewhere/best.cu ] || fail "--output: a link of the user is not followed"
cd "$work" || exit 1

# A limit on the size of files is an error with a message, not a death by signal, and the store stays good.
expect 0 optimize "$task" --workers "$fake" --candidates 3 --store limited.db
for limit in 0 1 40 100 300; do
    (
        ulimit -f $limit
        "$program" optimize "$task" --workers "$fake" --time 100s --model 'exec:head -c 20000 /dev/urandom | base64 -w 0' --calls 2 --store limited.db 2>&1 >/dev/null | cat >&3
        exit "${PIPESTATUS[0]}"
    ) 3>&1 | cat >limited.err
    status=${PIPESTATUS[0]}
    [ "$status" = 3 ] || fail "ulimit -f $limit: exit status $status: $(cat limited.err)"
    grep -q '^kforge: ' limited.err || fail "ulimit -f $limit: no message: $(cat limited.err)"
done
expect 0 store check --store limited.db

# A terminal that closes: the state is stored, nothing is left running, and more than one signal comes.
has_ended() { case $(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null) in '' | Z | X) ;; *) return 1 ;; esac }
rm -f up
FAKE_LOG=$work/jobs "$program" optimize "$task" --workers "$fake" --model 'exec:echo $$ >up; sleep 300' --time 300s --store hung.db >out 2>err &
pid=$!
await [ -s up ]
await [ -s jobs ]
for _ in 1 2 3 4 5; do kill -HUP $pid 2>/dev/null; done
wait $pid
[ $? = 130 ] || fail "SIGHUP: exit status $?: $(cat err)"
grep -q '^resume ' out || fail "SIGHUP: no result: $(cat out err)"
for child in $(cat up) $(awk '{print $3}' jobs | sort -u); do await has_ended "$child"; done
expect 0 optimize --resume last --workers "$fake" --model none --store hung.db --candidates 4
# nohup ignores it.
rm -f up
nohup "$program" optimize "$task" --workers "$fake" --model 'exec:echo $$ >up; sleep 300' --time 300s --store nohup.db >out 2>err &
pid=$!
await [ -s up ]
kill -HUP $pid
sleep 0.3
has_ended $pid && fail "nohup: it ended: $(cat err)"
kill -TERM $pid; kill -TERM $pid 2>/dev/null
wait $pid
finish
