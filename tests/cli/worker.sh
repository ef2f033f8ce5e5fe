#!/bin/bash
# kforge worker as the author of a client sees it.
source "$(dirname "$0")/lib.sh"

# Hello, an answer to each line, the end with the input.
printf 'no job\n\n{"schema":"kforge-job/1","id":"x"}\n' | "$program" worker --device cpu >out || fail "status $?"
python3 - <<'END' || fail "$(cat out)"
import json
hello, first, second = [json.loads(line) for line in open("out")]
assert hello["schema"] == "kforge-hello/1" and hello["device"] == "cpu" and hello["hardware"]
assert first["schema"] == second["schema"] == "kforge-refusal/1"
assert first["id"] is None and second["id"] == "x" and "missing" in second["error"]
END

# The key of stored verdicts depends on the contents of the candidates' runtime, not on its path.
conditions() { KFORGE_ROOT=$1 "$program" worker --device cpu </dev/null | python3 -c 'import json, sys
hello = json.loads(sys.stdin.readline())
assert hello["conditions"].startswith(hello["hardware"] + "; judge "), hello
print(hello["conditions"])'; }
mkdir -p moved/lib/kforge/cpu
cp -r "$bin" moved/bin
cp "$bin"/../lib/kforge/*.so moved/lib/kforge
cp -r "$bin/../lib/kforge/cpu/include" moved/lib/kforge/cpu
here=$(conditions "$(dirname "$bin")") there=$(conditions "$work/moved")
[ -n "$here" ] && [ "$here" = "$there" ] || fail "a copy judges under other conditions: $here, $there"
echo "// other" >>moved/lib/kforge/cpu/include/kforge_cpu.h
[ "$here" != "$(conditions "$work/moved")" ] || fail "another header, the same conditions: $here"
# It also depends on the compiler: after an upgrade, older verdicts do not count. kforge's own files
# are the same in both.
[[ $here == *", g++ $(g++ -dumpfullversion)" ]] || fail "not the compiler of these candidates: $here"
rm moved/bin/kforge-cpucc
printf '#!/bin/sh\ncat "%s/version"\n' "$work" >moved/bin/kforge-cpucc
chmod +x moved/bin/kforge-cpucc
echo 'g++ (Distribution 98.1.0-2) 98.1.0' >version
old=$(conditions "$work/moved")
echo 'g++ (Distribution 98.1.0-3) 98.1.0' >version
[ "$old" = "$(conditions "$work/moved")" ] || fail "packed anew, and another compiler: $old"
echo 'g++ (Distribution 98.2.0-1) 98.2.0' >version
[ "$(conditions "$work/moved")" = "${old/%98.1.0/98.2.0}" ] || fail "$old, and then: $(conditions "$work/moved")"
rm -rf moved version

# A cancelled job is answered with a refusal, and the next one is judged. With the first source the
# compiler would work until its limit, the second one runs for as long.
"$program" task bundle "$root/tasks/axpy" >bundle.json || fail "no bundle"
python3 - "$program" "$root" <<'END' || fail "cancelled jobs"
import json, subprocess, sys, time
pipe = subprocess.PIPE
worker = subprocess.Popen([sys.argv[1], "worker", "--device", "cpu"], stdin=pipe, stdout=pipe)
bundle = json.load(open("bundle.json"))
good = open(sys.argv[2] + "/tasks/axpy/baseline.cu").read()
slow_build = good + """
template <int A, int B> struct S { static const int v = S<A - 1, B>::v + S<A - 1, B + 1>::v; };
template <int B> struct S<0, B> { static const int v = B; };
constexpr unsigned long turn(unsigned long n)
{
    unsigned long s = 0;
    for (unsigned long i = 0; i < n; i++) s = s * 31 + i;
    return s;
}
"""
turns = "template <> struct S<-1, %d> { static const unsigned long v = turn(200000); };\n"
slow_build += "".join(turns % i for i in range(3000))
slow_run = good.replace("{", "{ volatile int forever = 1; while (forever) ;", 1)
def send(line):
    worker.stdin.write(json.dumps(line).encode() + b"\n")
    worker.stdin.flush()
def line():
    while True:
        answer = json.loads(worker.stdout.readline())
        if answer["schema"] != "kforge-alive/1":
            return answer
def judge(id, source):
    send({"schema": "kforge-job/1", "id": id, "task": bundle, "source": source, "alive": 0.2})
line()
for id, source, step in [("a", slow_build, "compiling"), ("b", slow_run, "checking")]:
    judge(id, source)
    time.sleep(1)
    send({"schema": "kforge-cancel/1", "id": id})
    answer = line()
    assert answer["schema"] == "kforge-refusal/1" and answer["id"] == id, answer
# A cancel behind more input than a job may have. A judge without the cancel would answer "timeout".
judge("b", slow_run)
time.sleep(1)
for _ in range(3):
    worker.stdin.write(b" " * (30 << 20) + b"\n")
send({"schema": "kforge-cancel/1", "id": "b"})
answer = line()
assert answer["schema"] == "kforge-refusal/1" and answer["id"] == "b", str(answer)[:400]
judge("c", good)
answer = line()
assert answer["id"] == "c" and answer["status"] == "correct", str(answer)[:400]
worker.stdin.close()
assert worker.wait(60) == 0
END

# With its output closed, the worker ends by itself, even if its input stays open.
python3 - "$program" <<'END' || fail "a worker without a reader goes on"
import subprocess, sys
worker = subprocess.Popen([sys.argv[1], "worker", "--device", "cpu"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
worker.stdout.readline()
worker.stdout.close()
try:
    worker.wait(60)
finally:
    worker.kill()
END

# A folder.
mkdir -p spool/jobs
echo nonsense >spool/jobs/a.json
expect 0 worker --device cpu --spool spool --once
grep -q kforge-refusal/1 spool/verdicts/a.json || fail "no answer"
[ -z "$(ls spool/jobs spool/taken spool/workers | grep json)" ] || fail "left behind: $(ls -R spool)"
expect 2 worker --once
complains "--spool"
finish
