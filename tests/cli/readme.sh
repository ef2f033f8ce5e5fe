#!/bin/bash
# The commands of README.md, in its order, in a new folder of a new user. Simulated workers judge, and a
# script stands for the models. The first run has the lines that README shows.
source "$(dirname "$0")/lib.sh"
export KFORGE_WORKERS=$bin/../tests/fake_worker KFORGE_CANDIDATES=4
unset KFORGE_STORE KFORGE_CONFIG
cp -r "$root/tasks" .
cat >model.sh <<'END'
name=$(sed -n 's/.*extern "C" void \([a-z_0-9]*\)(.*/\1/p' | head -1)
printf '{"text": "```cuda\\n#pragma fake: speed 1.%d\\nvoid %s() {}\\n```", "cost_usd": 0.01}\n' "$((RANDOM % 90 + 10))" "$name"
END

sed -n '/^```sh$/,/^```$/p' "$root/README.md" | sed 's/ *#.*//' | grep -E '^(kforge|\./run) ' >commands
[ "$(wc -l <commands)" -ge 15 ] || fail "README has other commands: $(cat commands)"

# Starts a line of README as its user does. Another program, a server without end, a build, and files
# that a user has and this test has not, are left out.
play() {
    local line=$1
    case $line in
    "kforge serve" | "kforge import sol-execbench "*) return ;;
    "kforge import kernelbench "* | "kforge bench kb "*) [ "$torch" ] || return ;;
    "kforge watch") line+=" --terminal" ;;
    *" mine.cu") cp tasks/my_kernel/baseline.cu mine.cu ;;
    "kforge task lint "*) line="KFORGE_WORKERS= $line" ;;
    esac
    line=${line/#.\/run/kforge}
    line=${line/anthropic:MODEL/"'exec:bash $work/model.sh'"}
    line=${line/MODEL@http:\/\/127.0.0.1:8000\/v1/"'exec:bash $work/model.sh'"}
    eval "$line" >out 2>err </dev/null || fail "$1: exit status $?: $(tail -3 out) $(tail -3 err)"
    played=$((played + 1))
}
played=0 torch=$(torch_python)
ln -s "$root/tests/kernelbench" "$HOME/KernelBench"
while read -r line; do
    play "$line"
    case $line in
    *"--html "*) [ -s "${line##*--html }" ] || fail "$line: no page" ;;
    "kforge export "*) [ -s "${line##*-o }/README.md" ] || fail "$line: no data set" ;;
    esac
done <commands
[ $played -ge $((11 ${torch:+ + 2})) ] || fail "only $played commands were played"

# The first run: the same labels in the same order.
labels() { sed -n 's/^\([a-z]*\) \{2,\}[^ ].*/\1/p; s/^\(candidate\) .*/\1/p'; }
shown=$(sed -n '/^\$ \.\/run optimize/,/^```$/p' "$root/README.md" | labels | xargs)
expect 0 optimize tasks/row_softmax --store first.db
[ "$(labels <out | grep -vx 'noise\|flags' | xargs)" = "$shown" ] || fail "README shows $shown: $out"
finish
