#!/bin/bash
# Overview, help of every command, version, and what they do with wrong words and broken outputs.
source "$(dirname "$0")/lib.sh"

expect 0
says "Usage: kforge COMMAND"
overview=$out
# Groups hold all commands, and a command comes before those that add a word to its name.
says "Start: kforge optimize row_softmax"
says "Search and judge:"
[[ $out == *Other:* ]] && fail "commands in no group: $out"
[ "$(sed -n 's/^  \(bench[a-z ]*\)   .*/\1/p' <<<"$overview" | sed 's/ *$//' | tr '\n' ,)" = "bench,bench report,bench compare," ] || fail "$overview"
expect 0 --help
[ "$out" = "$overview" ] || fail "--help differs from the overview"
expect 0 help
[ "$out" = "$overview" ] || fail "help differs from the overview"
expect 0 --version
[[ $out =~ ^kforge\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "version: $out"

# Every command explains itself, in both ways, within 80 columns.
commands=$(sed -n '/^  [a-z]/s/^  \([a-z]*\( [a-z]*\)\?\)  .*/\1/p' <<<"$overview")
[ "$(wc -l <<<"$commands")" -ge 6 ] || fail "commands: $commands"
quiet="" verbose=""
while read -r command; do
    # shellcheck disable=SC2086
    expect 0 $command --help
    explained=$out
    says "Usage: kforge $command"
    # shellcheck disable=SC2086
    expect 0 help $command
    [ "$out" = "$explained" ] || fail "help $command differs from $command --help"
    LC_ALL=C.UTF-8 awk 'length > 80 && !/^  kforge|^  source|^Usage/ { exit 1 }' <<<"$out" || fail "help $command is wider than 80 columns"
    # -q and -v are the same options everywhere.
    [ "$(grep -oE '^ +-[qv], --[a-z]+' <<<"$out" | grep -vcE -- '-q, --quiet|-v, --verbose')" = 0 ] || fail "help $command: another -q or -v"
    grep -q -- '--quiet' <<<"$out" && quiet="$quiet$command "
    grep -q -- '-v, --verbose' <<<"$out" && verbose="$verbose$command "
done <<<"$commands"
[ "$quiet/$verbose" = "optimize eval bench list export selftest /optimize eval " ] || fail "-q and -v: $quiet/$verbose"
for words in "help task" "task --help"; do
    # shellcheck disable=SC2086
    expect 0 $words
    says "task new"
    [[ $out == *doctor* ]] && fail "$words lists other commands"
done
expect 0 help settings
says "KFORGE_STORE"
says "KFORGE_ROOT"
expect 0 help strategies
LC_ALL=C.UTF-8 awk 'length > 80 { exit 1 }' <<<"$out" || fail "help strategies is wider than 80 columns"
for word in "auto  " "critic  " "stop_floor      stop if the best" "(rank, power, tournament"; do says "$word"; done
keys=$(sed -n '/^Keys/,$s/^  \([a-z_]\{1,\}\) .*/\1/p' <<<"$out")
[ "$(wc -l <<<"$keys")" -ge 35 ] || fail "keys: $keys"

# Wrong words
expect 2 hepl
complains 'unknown command "hepl"; did you mean "help"?'
expect 2 help hepl
complains 'did you mean "help"?'
expect 2 zzzzzzzzz
complains '"kforge help" lists all'
expect 2 --json list
complains "a command comes first"
expect 2 --verison
complains "did you mean --version?"
expect 2 help setings
complains 'did you mean "kforge help settings"?'
expect 2 bench compre
complains 'did you mean "bench compare"?'
expect 2 lint tasks/axpy
complains 'did you mean "task lint"?'
touch mine.cu
expect 2 eval mine.cu axpy
complains "did you mean: kforge eval axpy mine.cu"

# A word in the wrong place is led to its option, or to the command that was meant.
touch other.py && mkdir -p solutions
while IFS='|' read -r words meant; do
    # shellcheck disable=SC2086
    expect 2 $words
    [[ $err == "kforge: "*"did you mean: kforge $meant" ]] || fail "$words: $err"
done <<'END'
bench axpy gemm|bench tasks --only axpy --only gemm
bench tasks axpy gemm --time 5s|bench tasks --only axpy --only gemm --time 5s
bench tasks openai:gpt-5-mini exec:./ask|bench tasks --model openai:gpt-5-mini --model exec:./ask
bench qwen@http://localhost:1/v1 axpy --samples 2|bench --model qwen@http://localhost:1/v1 axpy --samples 2
bench -k 2 anthropic:claude|bench tasks -k 2 --model anthropic:claude
bench last|bench --resume last
bench axpy mine.cu|eval axpy mine.cu
bench mine.cu|eval TASK mine.cu
bench tasks solutions|bench tasks --solutions solutions
optimize axpy gemm|bench tasks --only axpy --only gemm
optimize axpy openai:gpt-5-mini|optimize axpy --model openai:gpt-5-mini
optimize exec:./ask|optimize TASK --model exec:./ask
optimize axpy cpu|optimize axpy --device cpu
optimize last|optimize --resume last
optimize axpy mine.cu|eval axpy mine.cu
optimize axpy other.py|eval axpy other.py
optimize mine.cu|eval TASK mine.cu
optimize other.py|import torch other.py
optimize tasks|bench tasks
eval axpy cuda:0 mine.cu|eval axpy --device cuda:0 mine.cu
eval axpy openai:gpt-5-mini|optimize axpy --model openai:gpt-5-mini
prompt last|prompt --run last
list axpy|list --task axpy
list tasks|list --tasks
show last c3|show --run last c3
watch c3|show c3
export sft last|export --format sft --run last
selftest hostile/scale|selftest --filter hostile/scale
doctor openai:gpt-5-mini|doctor --model openai:gpt-5-mini
worker cuda|worker --device cuda
serve 8080|serve --port 8080
mcp solutions|mcp --root solutions
import other.py|import torch other.py
task axpy|task show axpy
store my.db|store stats --store my.db
END
for words in "tune optimize" "ls list" "tasks list --tasks" "test selftest" "config help settings" "tsk task" "resume optimize --resume"; do
    expect 2 "${words%% *}" axpy
    complains "did you mean \"${words#* }\"?"
done

# Hints name the program as it was called, if "kforge" alone does not start it.
for name in "./kf orge" ../bin/kforge; do
    PATH=/usr/bin:/bin bash -c 'exec -a "$1" "$2" zzzzzzzzz' - "$name" "$program" 2>err
    case $name:$(cat err) in "./kf orge:"*"\"'./kf orge' help\" lists all" | ../bin/*"\"../bin/kforge help\" lists all") ;; *) fail "called as $name: $(cat err)" ;; esac
done
expect 2 task
complains '"task" takes one of: new, lint, show'
expect 2 task nwe
complains 'did you mean "task new"?'
expect 2 list --jsno
complains "did you mean --json?"
expect 2 list --limit=many
complains "expected an integer"
expect 2 list --limit
complains "a value is missing"
expect 2 list extra
complains 'unexpected argument "extra"'
expect 2 help --completion=fish
complains "bash or zsh"

# Results that can't be written are no success.
"$program" help >/dev/full 2>err
[ $? = 3 ] || fail "/dev/full"
grep -q '^kforge: cannot write the results: No space left on device$' err || fail "/dev/full: $(cat err)"
"$program" help >&- 2>err
[ $? = 3 ] || fail "closed stdout"
# A reader that has left needs no message. (It has when the pipe is broken.)
{ trap '' PIPE; while echo . && sleep 0.02; do :; done 2>/dev/null; trap - PIPE; "$program" help settings 2>err; echo $? >status; } | true
[ "$(cat status)" = 3 ] || fail "broken pipe: status $(cat status)"
[ -s err ] && fail "broken pipe: $(cat err)"
"$program" hepl 2>&-
[ $? = 2 ] || fail "closed stderr"

# Settings from outside: every command but help and doctor refuses a wrong value. Each names an
# unknown variable once.
KFORGE_STROE=x expect 0 task show axpy
complains "unknown variable KFORGE_STROE is ignored; did you mean KFORGE_STORE?"
KFORGE_STROE=x expect 0 help
KFORGE_FOO=x expect 0 task show axpy
[[ $err != *"did you mean"* ]] || fail "no variable is near: $err"
KFORGE_COSTS=3 expect 2 task show axpy
complains "unknown variable KFORGE_COSTS; did you mean KFORGE_COST?"
KFORGE_DEVICE=gpu expect 2 task show axpy
complains 'KFORGE_DEVICE: unknown device "gpu"; did you mean cuda? (cpu, cuda or cuda:N)'
KFORGE_DEVICE=gpu expect 0 help
echo '{"stroe": "x"}' >kforge.json
KFORGE_CONFIG=kforge.json expect 2 list
complains 'kforge.json: stroe: unknown key; did you mean "store"?'
KFORGE_CONFIG=kforge.json expect 0 list --help
KFORGE_CONFIG=kforge.json expect 0 doctor --json
json '[f for f in o["facts"] if f["subject"] == "settings" and f["state"] == "fault"]'
echo '{"store": "missing.db"}' >kforge.json
unset KFORGE_STORE
KFORGE_CONFIG=kforge.json expect 2 list
complains "$work/missing.db: no store there yet"
(unset KFORGE_CONFIG; "$program" list >out 2>err); [ $? = 2 ] || fail "kforge.json of the working directory"

# No variable that the sources read is unknown to the table of settings.
for name in $(grep -rhoE 'getenv\("KFORGE_[A-Z_]+"\)' "$root/agent" "$root/evaluator" "$root/store" "$root/sandbox" | grep -oE 'KFORGE_[A-Z_]+' | sort -u); do
    expect 0 help settings
    says "$name"
done
finish
