#!/bin/bash
# kforge eval: statuses, stored results and refused input; replies, several files, the brief verdict. Then the real judge.
source "$(dirname "$0")/lib.sh"
fake=$bin/../tests/fake_worker
task=$root/tasks/axpy
candidate() { printf '// fake: %s\n' "$@" >mine.cu; }

candidate "speed nan"
expect 0 eval "$task" mine.cu --workers "$fake" --no-keep
says "correct, speed not measured"
says "a call is shorter than this machine's timing noise"
expect 0 eval "$task" mine.cu --workers "$fake" --no-keep --json
json 'o["message"].startswith("correct; no speedup: ") and o["speedup"]["value"] is None' # lib.sh knows it by that
candidate "speed 1.5"
expect 0 eval "$task" mine.cu --workers "$fake"
says "correct, speedup 1.50x [1.48, 1.52]"
says "(stored as c1)"
[ "$(wc -l <out)" = 2 ] || fail "not two lines: $out"
# The next step ends with a command that can be pasted.
says "next: Profile workload "
[ "$(sed -n 's/^next: .* Run: //p' out)" = "kforge eval $task mine.cu --workers $fake --store $KFORGE_STORE --verbose" ] || fail "$out"
eval "$(sed -n 's/^next: .* Run: //p' out)" >pasted || fail "$(cat pasted)"
grep -q "Run:" pasted && fail "the same step again: $(cat pasted)"
out=$("$program" eval "$task" - --workers "$fake" --no-keep <mine.cu 2>/dev/null) || fail "$out"
case $out in *Run:*) fail "a command for a source that is gone: $out" ;; esac
# It has all the options that choose how. A longer time raises the time limit.
candidate "speed nan"
expect 0 eval "$task" mine.cu --workers "$fake" --seconds 100 --build-seconds 30 --sandbox strict --verify --no-keep
[ "$(sed -n 's/^next: .* Run: //p' out)" = "kforge eval $task mine.cu --workers $fake --store $KFORGE_STORE --seconds 400 --timeout 520 --build-seconds 30 --sandbox strict --verify --no-keep" ] || fail "$out"
expect 0 eval "$task" mine.cu --workers "$fake" --timeout 50 --no-kernelbench --no-keep
[[ $(sed -n 's/^next: .* Run: //p' out) == *" --seconds "*" --timeout 50 --no-kernelbench --no-keep" ]] || fail "$out"
candidate "speed 1.5"
expect 0 eval "$task" mine.cu --workers "$fake" -v
says "WORKLOAD"
says "all of it: kforge show c1"
expect 0 eval "$task" mine.cu --workers "$fake" --json --flag=-DBLOCK=64
json 'o["schema"] == "kforge-verdict/1" and o["status"] == "correct"'
expect 0 eval "$task" mine.cu --workers "$fake" --verify
says "measured twice"
expect 0 show c2
says "-DBLOCK=64"
expect 0 eval "$task" mine.cu --workers "$fake" --no-keep --flag=-DBLOCK=1
expect 0 eval "$task" mine.cu --workers "$fake" --check-only --flag=-DBLOCK=2
case $out in *"stored as"*) fail "a check was stored" ;; esac
expect 2 show c3

# Counters are kept with the candidate, and shown again
candidate "speed 1.5" "counters yes"
expect 0 eval "$task" mine.cu --workers "$fake" --counters all --store counted.db
says "axpy_kernel: 100 % of the time, grid 8x1x1, block 256x1x1, 16 registers a thread"
says "bound by DRAM bandwidth: 88 % of its peak"
expect 0 show c1 --store counted.db
says "bound by DRAM bandwidth: 88 % of its peak"
python3 -c 'import sqlite3; assert sqlite3.connect("counted.db").execute("SELECT count(*) FROM counters").fetchone() == (1,)' || fail "no counters in the store"
candidate "speed 1.4" "counters yes"
expect 0 eval "$task" mine.cu --workers "$fake" --store counted.db
case $out in *"bound by"*) fail "counters that nobody asked for" ;; esac

candidate "status wrong_result"
expect 1 eval "$task" mine.cu --workers "$fake"
says "wrong_result"
candidate "status compile_error"
expect 1 eval "$task" mine.cu --workers "$fake"
says "mine.cu: compile_error"
says "mine.cu:1: error: as the test asked"
says "next: Fix line 1 first."
case $out in *candidate.cu*) fail "the compiler's name of the file is shown: $out" ;; esac
candidate "status interference"
expect 3 eval "$task" mine.cu --workers "$fake"
says "the fault is the machine's"
# One line of JSON
expect 3 eval "$task" mine.cu --workers "$fake" --brief
json 'o["status"] == "interference" and o["ok"] is False and o["speedup"] is None and o["next"] and o["errors"] == []'
candidate "speed 1.5"
expect 0 eval "$task" mine.cu --workers "$fake" --brief
json 'o["status"] == "correct" and o["ok"] and o["speedup"] == [1.5, 1.485, 1.515] and o["candidate"] == "c1"'
[ "$(wc -l <out)" = 1 ] || fail "not one line: $out"
expect 2 eval "$task" mine.cu --workers "$fake" --brief --json
complains "--json and --brief"

# Several candidates, one of them in the store, are ranked
printf '// fake: speed 1.2\n' >slow.cu
printf '// fake: speed 1.8\n' >fast.cu
printf '// fake: status crash\n' >broken.cu
expect 1 eval "$task" slow.cu broken.cu c1 fast.cu --workers "$fake"
says "RANK"
[ "$(sed -n '/^RANK/,$p' out | awk '{ print $2 }' | tr '\n' ' ')" = "FILE fast.cu c1 slow.cu crash " ] || fail "ranked otherwise: $out"
expect 0 eval "$task" slow.cu fast.cu --workers "$fake"
says "2     slow.cu"
expect 0 eval "$task" slow.cu fast.cu --workers "$fake" --json
json 'o["schema"] == "kforge-evals/1" and [r["file"] for r in o["results"]] == ["slow.cu", "fast.cu"]'
json '[round(r["verdict"]["speedup"]["value"], 3) for r in o["results"]] == [1.2, 1.8]'
expect 0 eval "$task" slow.cu fast.cu --workers "$fake" --brief
[ "$(grep -c '"file":"' out)" = 2 ] || fail "not a line for each file: $out"
expect 2 eval "$task" slow.cu c999 --workers "$fake"
complains "999"
expect 0 eval "$task" c1 --workers "$fake" --json
json 'round(o["speedup"]["value"], 3) == 1.5'

# The standard input, and the steps
printf '// fake: speed 1.3\n// fake: until %s/shown\n' "$work" >until.cu
"$program" eval "$task" - --workers "$fake" -v --no-keep <until.cu >out 2>err &
process=$!
await grep -q "timing fake, 1 of 1" err
touch shown
wait $process || fail "the standard input: $(cat err)"
out=$(cat out)
says "the standard input: correct, speedup 1.30x"
printf '// fake: speed 1.3\n// fake: sleep 0.7\n' >nap.cu
"$program" eval "$task" - --workers "$fake" --no-keep <nap.cu >out 2>err || fail "the standard input: $(cat err)"
[ ! -s err ] || fail "steps without a terminal: $(cat err)"
expect 2 eval "$task" - - --workers "$fake"
complains "twice"

# A model's whole reply goes through the search's extractor
source='#include <stdint.h>
// fake: speed 1.5
extern "C" void axpy(const float *x, float *y, float a, int64_t n, void *stream) { (void)n; }'
usage='int main() { axpy(x, y, 2.0f, 1 << 20, 0); return 0; } // a much longer block that only calls the kernel, and the last one'
reply() { printf "$@" >reply.md; }
reply 'Here:\n```cuda\n%s\n```\nUse it so:\n```cpp\n%s\n```\n' "$source" "$usage"
expect 0 eval "$task" --reply reply.md --workers "$fake"
says "reply.md: correct, speedup 1.50x"
"$program" eval "$task" --reply - --workers "$fake" --brief <reply.md >out || fail "a reply on the standard input"
grep -q '"status":"correct"' out || fail "a reply on the standard input: $(cat out)"
for form in '%s\n' '~~~cuda\n%s\n~~~\n' '```cuda\n%s\n' '```\n%s\n```\n' '<think>no</think>\n```c++\n%s\n```\n'; do
    reply "$form" "$source"
    expect 0 eval "$task" --reply reply.md --workers "$fake" --no-keep
    says "speedup 1.50x"
done
reply '```python\nimport torch\nsource = """\n%s\n"""\n```\n' "$source"
expect 5 eval "$task" --reply reply.md --workers "$fake"
says "reply.md: no_source: the reply holds Python, and CUDA at most in its strings"
says "next: "
reply 'I cannot.\n'
expect 5 eval "$task" --reply reply.md --workers "$fake" --brief
json 'o["status"] == "no_source" and not o["ok"] and o["next"]'
expect 5 eval "$task" --reply reply.md --workers "$fake" --json
json 'o["status"] == "no_source"'
: >reply.md
expect 5 eval "$task" --reply reply.md --workers "$fake"
says "the reply is empty"
expect 2 eval "$task" mine.cu --reply reply.md --workers "$fake"
complains "one too many"
expect 2 eval "$task" --reply nowhere.md --workers "$fake"
complains "nowhere.md"

candidate "worker die"
expect 3 eval "$task" mine.cu --workers "$fake"
complains "3 workers failed"

candidate "speed 1.5"
expect 2 eval "$task" mine.cu --workers "$fake" --device cuda:1
complains "this worker has cpu, not cuda:1"
expect 2 eval "$task"
complains "no candidate"
expect 2 eval "$task" nowhere.cu
complains "nowhere.cu"
expect 2 eval "$task" mine.cu --flag=-I/etc
complains "-I/etc"
expect 2 eval "$task" mine.cu --baseline nosuch
complains "nosuch"
expect 2 eval "$task" mine.cu --counters 'a b'
complains "--counters: \"a b\" is no list of names"
expect 2 eval "$task" mine.cu --verify --asan
complains "--asan"
printf 'void f(){}\0' >nul.cu
expect 2 eval "$task" nul.cu
complains "NUL byte"
head -c 50000000 /dev/zero | tr '\0' ' ' >large.cu
expect 2 eval "$task" large.cu
complains "large.cu"
: >empty.cu
expect 2 eval "$task" empty.cu
complains "empty"

# The judge itself, in the worker that eval starts.
expect 0 eval "$task" "$task/baseline.cu" --check-only --device cpu --counters all
says "correct"
says "no counters: the CPU device has no hardware counters"
expect 3 eval "$root/tasks/gemm" "$root/tasks/gemm/baseline.cu" --device cpu --baseline cublas
says 'baseline "cublas" needs cublas'
says "the fault is the machine's"
printf 'extern "C" void axpy() {}\n' >wrong.cu
expect 1 eval "$task" wrong.cu --device cpu
says "compile_error"
says "next: Define the entry exactly as the task's prototype, which \`kforge task show axpy\` prints."
expect 2 eval "$task" "$task/baseline.cu" --device tpu
complains "unknown device \"tpu\""
# On the CPU device, --sanitize is --asan. The message names the line of an out-of-bounds read.
# Nothing is stored.
cat >behind.cu <<'END'
#include <cuda_runtime.h>
#include <stdint.h>
__global__ void k(const float *x, float *y, float a, int64_t n)
{
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i] + (x[i + 1] == 12345.678f ? 1.0f : 0.0f);
}
extern "C" void axpy(const float *x, float *y, float a, int64_t n, cudaStream_t stream)
{
    k<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(x, y, a, n);
}
END
expect 1 eval "$task" behind.cu --device cpu --sanitize
says "AddressSanitizer"
says "behind.cu:6"
says "read of 4 bytes, right behind the end of x"
sed 's/x\[i + 1\]/x[i - 12345678901]/' behind.cu >far.cu
expect 1 eval "$task" far.cu --device cpu --check-only --no-keep
says "names the line"
[ "$(sed -n 's/^next: Find the bad access with --asan. Run: //p' out)" = "kforge eval $task far.cu --device cpu --store $KFORGE_STORE --no-keep --asan" ] || fail "$out"
expect 1 eval "$task" far.cu --device cpu --verify --no-keep
grep -q -e "--verify" out && fail "--verify excludes --asan: $out"
sed 's/, 256, 0/, 2048, 0/' behind.cu >wide.cu
expect 1 eval "$task" wide.cu --device cpu --no-keep
says "2048 threads in a block, limit 1024"
says "next: Change the launch of k: 2048 threads in a block, limit 1024."
case $out in *"It printed"*) fail "the candidate printed nothing: $out" ;; esac
case $out in *"stored as"*) fail "a sanitised build was stored" ;; esac

# The next step of a wrong result knows what the finding knows: the place, the cause, a factor.
layernorm=$root/tasks/layernorm
sed 's/j < cols; j += THREADS) to\[j\]/j < cols - 3; j += THREADS) to[j]/' "$layernorm/baseline.cu" >tail.cu
expect 1 eval "$layernorm" tail.cu --device cpu --no-keep -v
says "next: Write every element of y: check grid size, loop bounds and early returns ("
grep -q "^tail.cu: wrong_result in workload [a-z]*: y\[0\]\[[0-9]*\] expected .*, not written)" out || fail "$out"
sed '0,/    __syncthreads();/{//d}' "$layernorm/baseline.cu" >race.cu
cmp -s race.cu "$layernorm/baseline.cu" && fail "the barrier is still there"
expect 1 eval "$layernorm" race.cu --device cpu --no-keep
grep -Eq "^next: (Look for a race|Put __syncthreads)" out || fail "$out"
sed 's/\* gamma\[j\] + beta\[j\]/* (gamma[j] * 0.5f) + beta[j] * 0.5f/' "$layernorm/baseline.cu" >half.cu
expect 1 eval "$layernorm" half.cu --device cpu --no-keep -v
says "(everywhere, 0.5 times the expected value)"
says "next: Check divisors, scales and constants"
# No sentence stands there twice, also with -v.
for file in tail race half; do
    expect 1 eval "$layernorm" $file.cu --device cpu --no-keep -v
    twice=$(python3 - out <<'END'
import collections, re, sys
text = re.sub(r"\s+", " ", open(sys.argv[1]).read())
sentences = collections.Counter(s.strip() for s in re.split(r"(?<=[\w)])[.;] |: (?=[A-Z])|\bnext: | \[measured", text) if len(s.split()) >= 5)
print(*(s for s, n in sentences.items() if n > 1) if len(sentences) > 2 else ["no sentences"], sep="\n")
END
    )
    [ -z "$twice" ] || fail "$file.cu: twice: $twice"
done
sed 's/block_sum(squares) \/ cols/block_sum(squares) \/ (cols - 1)/' "$layernorm/baseline.cu" >divisor.cu
expect 1 eval "$layernorm" divisor.cu --device cpu --no-keep -v
case $out in *"formula is right"*) fail "a wrong divisor is no lack of bits: $out" ;; esac

# A baseline that is wrong is the task's fault, whatever the candidate does, and its error makes no tolerance
for error in 20 100; do
    cp -r "$root/tests/selftest/scale" "wrong$error"
    sed -i "s/y\[i\] = a \* x\[i\]/& + (i == 7 ? $error.0f : 0.0f)/" "wrong$error/baseline.cu"
    expect 2 eval "wrong$error" "$root/tests/selftest/scale/baseline.cu" --device cpu --no-keep
    says "the task's baseline disagrees with its oracle: y: its error is"
    says "next: Repair the task"
done

# The next process deletes the temporary folders of killed ones. Folders that are locked, new or
# another program's stay.
mkdir -p temporary/kforge-job.tmp.Left00/deep temporary/kforge-runner.tmp.Held00 temporary/kforge-job.tmp.Fresh0 temporary/kforge-cli.Left00 temporary/kforge-job.tmp.Wide00
ln -s "$work/mine.cu" temporary/kforge-job.tmp.Link00
chmod 700 temporary/kforge-* && chmod 755 temporary/kforge-job.tmp.Wide00
echo left >temporary/kforge-job.tmp.Left00/deep/file
touch -d "2 minutes ago" temporary/kforge-{job.tmp.Left00,runner.tmp.Held00,cli.Left00,job.tmp.Wide00}
flock --no-fork temporary/kforge-runner.tmp.Held00 sleep 600 &
holder=$!
await eval '! flock -n temporary/kforge-runner.tmp.Held00 true'
TMPDIR=$work/temporary expect 0 eval "$task" "$task/seed_vector.cu" --device cpu --no-keep --check-only -v
[[ $err == *"checking "* && $err != *timing* ]] || fail "the steps without timing: $err"
kill $holder
left=$(ls temporary | tr '\n' ' ')
[ "$left" = "kforge-cli.Left00 kforge-job.tmp.Fresh0 kforge-job.tmp.Link00 kforge-job.tmp.Wide00 kforge-runner.tmp.Held00 " ] || fail "left in the folder for temporary files: $left"
[ -e mine.cu ] || fail "a link was followed"

# And so does what kforge leaves itself when it is killed.
mkdir killed
sed 's/^{$/{\n    for (volatile int i = 0;; i++) continue;/' "$task/baseline.cu" >slow.cu
TMPDIR=$work/killed "$program" eval "$task" slow.cu --device cpu --no-keep --timeout 30 >/dev/null 2>&1 &
victim=$!
await compgen -G 'killed/kforge-runner.tmp.*' >/dev/null
kill -9 $victim
wait $victim 2>/dev/null
[ "$(ls killed)" ] || fail "nothing to clear up"
for _ in $(seq 20); do
    # The jails' processes end a moment later, and may write until then.
    find killed -maxdepth 1 -name 'kforge-*' -exec touch -d "2 minutes ago" {} +
    TMPDIR=$work/killed expect 0 eval "$task" "$task/seed_vector.cu" --device cpu --no-keep --check-only
    [ "$(ls killed)" ] || break
    sleep 0.5
done
[ ! "$(ls killed)" ] || fail "a killed kforge leaves $(ls killed | head -3)"

# A task without its folder is found in the store, and its name is offered.
cp -r "$task" lonely
sed -i 's/"name": "axpy"/"name": "lonely", "entry": "axpy"/' lonely/task.json
expect 0 eval ./lonely mine.cu --workers "$fake"
rm -r lonely
expect 0 eval lonely mine.cu --workers "$fake" --quiet
[[ $out == "mine.cu: correct"* && $(wc -l <out) = 1 ]] || fail "--quiet: $out"
expect 0 task show lonely
expect 0 optimize lonely --workers "$fake" -n 2 --quiet
expect 2 optimize lonley --workers "$fake"
complains "; did you mean lonely?"
expect 2 eval lonely mine.cu --workers "$fake" --device gpu
complains "did you mean cuda?"

# A selftest of nothing proves nothing.
expect 2 selftest --device cpu --filter no_such_case
complains '--filter: no case for this device has "no_such_case" in its path. Paths are hostile/TASK/NAME.cu and honest/TASK/NAME.cu in '
complains '; each TASK is one of band, bincount, gemm, '
# An unnoticed cheat is measured again, and the summary counts that.
mkdir -p cases/hostile/vecadd cases/honest/vecadd
cp -r "$root/tests/selftest" cases/selftest
printf '// no cheat\n// rule: C1\n// expect: wrong_result output.mismatch\n// mode: timed\n' | cat - "$root/tests/selftest/vecadd/baseline.cu" >cases/hostile/vecadd/none.cu
printf '// plain\n// rule: C1\n// expect: correct\n' | cat - "$root/tests/selftest/vecadd/baseline.cu" >cases/honest/vecadd/plain.cu
KFORGE_SELFTEST=$PWD/cases expect 1 selftest --device cpu --json
json 'o["measured_again"] == 1 and [c["measured_again"] for c in o["cases"]] == [False, True] and o["caught"] == 0'
KFORGE_SELFTEST=$PWD/cases expect 0 selftest --device cpu --filter plain
grep -q ', 0 measured again, ' out || fail "the summary counts no second measurements"
# Progress, where the messages go to no terminal
for i in {1..10}; do cp cases/honest/vecadd/plain.cu cases/honest/vecadd/many$i.cu; done
KFORGE_SELFTEST=$PWD/cases expect 0 selftest --device cpu --filter many
[ "$(grep -cE '^judged [1-9] of 10 cases in .*, about .* more$' err)" = 9 ] || fail "progress: $err"

# A machine without namespaces judges, too: unshare makes a user that may create none. A case that needs them is skipped there.
sed 's/^\/\/ rule: .*/&\n\/\/ needs: namespaces/' cases/honest/vecadd/plain.cu >cases/honest/vecadd/needy.cu
without_namespaces() {
    unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' sh \
        setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all -- "$@"
}
if without_namespaces sh -c '! unshare -m true' 2>/dev/null; then
    without_namespaces "$program" eval "$task" "$task/baseline.cu" --device cpu --no-keep --check-only >bare 2>&1 ||
        fail "without namespaces: $(cat bare)"
    KFORGE_SELFTEST=$PWD/cases expect 0 selftest --device cpu --filter vecadd/needy
    KFORGE_SELFTEST=$PWD/cases without_namespaces "$program" selftest --device cpu --filter vecadd/needy >bare 2>&1
    grep -q "no case for this device" bare || fail "a case that needs namespaces: $(cat bare)"
else
    echo "skipped: no user without namespaces here"
fi
finish
