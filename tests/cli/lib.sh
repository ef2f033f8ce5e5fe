# Sourced by the tests of the command line. $1 of each test: the folder of the built programs (bin/). Gives:
#   kforge             runs the program in surroundings of its own: no kforge.json, no variables, HOME and store in the test's folder
#   expect STATUS ARGUMENT…         runs kforge; output in $out, messages in $err; fails unless it ends with STATUS
#   expect_judged STATUS ARGUMENT…  the same for a verdict with times: judged anew while it blames the machine, which others use, too, or has no figure for that
#   says TEXT, complains TEXT       $out or $err holds TEXT; complains also wants exactly one line that begins with "kforge: "
#   interrupt PID                   Ctrl-C, and waits until the process has taken it: two that come too fast for a busy machine are one
#   of_this_test       prints the process ids of this test's kforge that still run
#   await COMMAND…                  waits until the command succeeds, as long as a busy machine may take; fails when it never does
set -u
bin=$1
program=$bin/kforge
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/kforge-cli.XXXXXX")
clean_up() {
    rm -rf "$work" /tmp/kforge-GPU-*"$(printf %08x $$)".lock
}
trap clean_up EXIT
export FAKE_GPU_OWNER=$$ # a GPU's lock has its UUID, and is the whole machine's
mkdir "$work/home"
for name in $(env | sed -n 's/^\(KFORGE_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
unset XDG_DATA_HOME XDG_CONFIG_HOME NO_COLOR VIRTUAL_ENV
# All tests of a build share its compiled baselines and oracles.
export XDG_CACHE_HOME=$bin/../tests/cache
export PATH=$bin:$PATH # hints name "kforge"
export COLUMNS=300 # tables are not cut
export HOME=$work/home KFORGE_STORE=$work/kforge.db KFORGE_CONFIG=none
# A python3 that is a wrapper takes longer to find the real one than most scripts take.
real_python=$(python3 -c 'import sys; print(sys.executable)')
[ "$real_python" = "$(command -v python3)" ] || export PATH=$bin:${real_python%/*}:$PATH
cd "$work" || exit 1
failures=0

fail() {
    echo "line ${BASH_LINENO[1]}: $*" >&2
    failures=$((failures + 1))
}

expect() {
    local status=$1 got
    shift
    "$program" "$@" >"$work/out" 2>"$work/err" </dev/null
    got=$?
    out=$(cat "$work/out") err=$(cat "$work/err")
    [ $got = "$status" ] || fail "kforge $*: exit status $got, expected $status; $err"
}

expect_judged() {
    local status=$1 got
    shift
    for _ in {1..10}; do
        "$program" "$@" >"$work/out" 2>"$work/err" </dev/null
        got=$?
        case $got in
        3) grep -q "\"blame\":[[:space:]]*\"machine\"\|the fault is the machine's" "$work/out" || break ;;
        0) grep -q 'correct, speed not measured\|correct; no speedup' "$work/out" || break ;;
        *) break ;;
        esac
    done
    out=$(cat "$work/out") err=$(cat "$work/err")
    [ $got = "$status" ] || fail "kforge $*: exit status $got, expected $status; $err"
}

await() {
    local until=$((SECONDS + 240))
    until "$@" 2>/dev/null; do
        [ $SECONDS -lt $until ] || { fail "waited in vain: $*"; return 1; }
        sleep 0.05
    done
}

# One find looks at all processes, since a few hundred readlinks take longer than most commands.
of_this_test() {
    local process
    for process in $(find /proc -maxdepth 2 -name exe -lname "$(realpath "$program")" 2>/dev/null); do
        process=${process%/exe}
        tr '\0' '\n' 2>/dev/null <"$process/environ" | grep -qx "HOME=$HOME" && echo "${process#/proc/}"
    done
}

has_taken_interrupt() {
    local pending
    pending=$(sed -n 's/^ShdPnd:\t//p' "/proc/$1/status") || return 0 # it has ended
    [ $((0x0$pending & 2)) = 0 ]
}

interrupt() {
    kill -INT "$1"
    await has_taken_interrupt "$1"
}

says() {
    case $out in *"$1"*) ;; *) fail "the output does not say \"$1\": $out" ;; esac
}

complains() {
    case $err in *"$1"*) ;; *) fail "the message does not say \"$1\": $err" ;; esac
    case $err in "kforge: "*) ;; *) fail "the message does not begin with \"kforge: \": $err" ;; esac
    [ "$(wc -l <"$work/err")" = 1 ] || fail "not one line: $err"
}

# json EXPRESSION: evaluates a Python expression on the output as `o`. Fails unless it is true, and
# prints the left sides of its comparisons.
json() {
    local why
    why=$(python3 - "$work/out" "$1" 2>&1 <<'END'
import ast, json, sys
text = open(sys.argv[1]).read()
try:
    o = json.loads(text)
    if eval(sys.argv[2]): sys.exit(0)
    for part in ast.walk(ast.parse(sys.argv[2], mode="eval")):
        try:
            if isinstance(part, ast.Compare): print(ast.unparse(part.left)[:60], "is", repr(eval(ast.unparse(part.left)))[:600], end="; ")
        except NameError: pass # of a comprehension around it
except Exception as e:
    print(repr(e), end="; ")
print("of", " ".join(text.split())[:1500])
sys.exit(1)
END
    ) || fail "not so: $1: $why"
}

finish() {
    [ $failures != 0 ] || return 0
    [ -z "$judges_python" ] || skip_unread
    exit 1
}

# Ends the test, saying why, if the judge may not read its runners' memory here.
skip_unread() {
    "$program" eval "$root/tests/torch/tasks/relu" "$root/tests/torch/honest/not_contiguous.py" --check-only --no-kernelbench --no-keep --json >can-read.json 2>&1
    if grep -q process_vm_readv can-read.json; then echo "skipped: the judge may not read its runners' memory here"; exit 77; fi
}

# Prints the Python with PyTorch, or nothing without one. Fails if doctor does not name it.
torch_python() {
    "$program" doctor --json 2>/dev/null | python3 -c '
import json, re, sys
for fact in json.load(sys.stdin)["facts"]:
    if fact["subject"] == "pytorch" and fact["state"] == "ok":
        print((re.search(r" Python [0-9.]+ \((/.*?), from ", fact["text"]) or sys.exit("doctor: " + fact["text"]))[1])'
}

# Ends the test, saying why, where there is no PyTorch. A container in which the judge may not read
# its runners is found by `finish`, because finding it takes as long as a verdict.
judges_python=
needs_torch() {
    "$program" doctor 2>&1 | grep -q '^ok  *pytorch' || { echo "skipped: no PyTorch (Debian: python3-torch)"; exit 77; }
    judges_python=1
}
