#!/bin/bash
# Text of tasks, stores, models and candidates never steers a terminal. Each command runs on a
# pseudo terminal, over a store and a task full of control characters. In a pipe, data keeps every
# byte.
source "$(dirname "$0")/lib.sh"
fake=$bin/../tests/fake_worker

# ESC ] 0 sets the title, BEL rings, U+009B begins a sequence, U+202E turns the text around, U+FEFF
# and U+200B are invisible
cp -r "$root/tasks/axpy" evil
python3 - <<'END'
import json
nasty = "a\x1b]0;owned\x07b\x1b[2Jc\u009b31md\u202ee\ufefff\u200bg\rh\bi"
task = json.load(open("evil/task.json"))
task["description"] = nasty
json.dump(task, open("evil/task.json", "w"))
source = "#pragma fake: speed 1.%d\n// " + nasty.replace("\r", "")
source += '\nextern "C" void axpy(int n) {}\n'
json.dump({"text": "Plan: " + nasty + "\n```cuda\n" + source % 5 + "```"}, open("reply.json", "w"))
open("mine.cu", "w").write(source % 7)
open("broken.cu", "w").write("#error " + nasty.replace("\r", "") + "\n")
open("evil\x1b[2J.cu", "w").write(source % 6)
END
printf '#!/bin/bash\ncat >/dev/null\ncat "%s/reply.json"\n' "$work" >ask.sh
echo 'printf "\033]0;owned\a" >&2' >>ask.sh
chmod +x ask.sh

cat >on_terminal.py <<'END'
# Runs a command on a pseudo terminal and prints its output. Fails if the output has a control
# character that is not part of the program's own sequences.
import os, pty, re, sys
data = bytearray()


def read(fd):
    got = os.read(fd, 65536)
    data.extend(got)
    if b"timing fake" in data:
        open("shown", "w").close()
    return got


status = os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:], read))
text = data.decode("utf-8", "replace")
left = re.sub("\x1b\\[((0|1|31|32|33)m|H|J)|\r\x1b\\[K|\r\n", "", text)
bad = re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060-\u2069\ufeff]", left)
if bad:
    print("control characters", bad, "in", repr(left)[:2000])
sys.exit(100 if bad else status)
END
on_terminal() {
    local wanted=$1
    shift
    python3 on_terminal.py "$program" "$@" >"$work/screen" 2>&1 </dev/null
    local got=$?
    [ $got = "$wanted" ] ||
        fail "kforge $*: status $got, expected $wanted: $(tail -c 2000 "$work/screen")"
}

on_terminal 0 optimize evil --model exec:./ask.sh --strategy sample -n 4 --workers "$fake"
on_terminal 0 list
on_terminal 0 show
on_terminal 0 show --tree
on_terminal 0 show --json
for best in $(python3 -c 'import sqlite3
print(*[r[0] for r in sqlite3.connect("kforge.db").execute("select id from candidate")])'); do
    expect 0 show "c$best" --source
    grep -q owned out && break
done
on_terminal 0 show "c$best"
on_terminal 0 show "c$best" --source
on_terminal 0 watch --terminal
on_terminal 0 diff "c$best" "c$best"
on_terminal 0 diff "c$best" mine.cu
on_terminal 0 diff mine.cu "$(printf 'evil\033[2J.cu')"
grep -q "$(printf '\033\\[32m+')" screen || fail "added lines have no colour: $(cat -v screen)"
on_terminal 0 task show evil
on_terminal 0 task show evil --json
on_terminal 0 prompt evil
on_terminal 0 export --format sft -o -
on_terminal 0 scan mine.cu
on_terminal 0 eval evil mine.cu --workers "$fake"
on_terminal 0 eval evil "$(printf 'evil\033[2J.cu')" --workers "$fake"
on_terminal 2 eval evil "$(printf 'none\033[2J.cu')"
on_terminal 2 "$(printf 'none\033[2J')"
grep -q "none" screen || fail "the message is empty: $(cat screen)"
on_terminal 1 eval evil broken.cu --device cpu --check-only
# The present step is a line that is drawn again, and gone at the end.
printf '// fake: until %s/shown\n' "$work" >nap.cu
on_terminal 0 eval evil nap.cu --workers "$fake" --no-keep
grep -q "$(printf '\r\033\\[Ktiming fake, 1 of 1')" screen || fail "no step: $(cat -v screen)"
grep -q "$(printf '\r\033\\[Knap.cu: correct')" screen || fail "the step stays: $(cat -v screen)"

# In a pipe: data is exact, text for people is clean.
expect 0 show "c$best" --source
grep -q "$(printf '\033]0;owned')" out || fail "a source lost its bytes"
expect 0 task show evil
grep -q "$(printf '\033')" out && fail "an escape in a pipe"
expect 0 list
grep -q "$(printf '\033')" out && fail "styles in a pipe"
finish
