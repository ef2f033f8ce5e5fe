#!/bin/bash
# kforge eval: statuses, stored results and refused input. Then the real judge, once.
source "$(dirname "$0")/lib.sh"
fake=$bin/../tests/fake_worker
task=$root/tasks/axpy
candidate() { printf '// fake: %s\n' "$@" >mine.cu; }

candidate "speed nan"
expect 0 eval "$task" mine.cu --workers "$fake" --no-keep
says "correct, speed not measured: its calls are shorter than this machine's timing noise"
expect 0 eval "$task" mine.cu --workers "$fake" --no-keep --json
json 'o["message"] == "correct; speed not measured" and o["speedup"]["value"] == "nan"' # lib.sh knows it by that
candidate "speed 1.5"
expect 0 eval "$task" mine.cu --workers "$fake"
says "correct, speedup 1.50x [1.48, 1.52]"
says "stored as c1"
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
says "error: as the test asked"
candidate "status interference"
expect 3 eval "$task" mine.cu --workers "$fake"
says "the fault is the machine's"
candidate "worker die"
expect 3 eval "$task" mine.cu --workers "$fake"
complains "3 workers failed"

candidate "speed 1.5"
expect 2 eval "$task" mine.cu --workers "$fake" --device cuda:1
complains "this worker has cpu, not cuda:1"
expect 2 eval "$task"
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
says "candidate.cu:6"
says "read of 4 bytes, right behind the end of x"
sed 's/x\[i + 1\]/x[i - 12345678901]/' behind.cu >far.cu
expect 1 eval "$task" far.cu --device cpu --check-only --no-keep
says "names the line"
case $out in *"stored as"*) fail "a sanitised build was stored" ;; esac

# A baseline that is wrong is the task's fault, whatever the candidate does, and its error makes no tolerance
for error in 20 100; do
    cp -r "$root/tests/selftest/scale" "wrong$error"
    sed -i "s/y\[i\] = a \* x\[i\]/& + (i == 7 ? $error.0f : 0.0f)/" "wrong$error/baseline.cu"
    expect 2 eval "wrong$error" "$root/tests/selftest/scale/baseline.cu" --device cpu --no-keep
    says "the task's baseline disagrees with its oracle: y: its error is"
done

# The next process deletes the temporary folders of killed ones. Folders that are locked, new or
# another program's stay.
mkdir -p temporary/kforge-job.tmp.Left00/deep temporary/kforge-runner.tmp.Held00 temporary/kforge-job.tmp.Fresh0 temporary/kforge-cli.Left00 temporary/kforge-job.tmp.Wide00
ln -s "$work/mine.cu" temporary/kforge-job.tmp.Link00
chmod 700 temporary/kforge-* && chmod 755 temporary/kforge-job.tmp.Wide00
echo left >temporary/kforge-job.tmp.Left00/deep/file
touch -d "2 minutes ago" temporary/kforge-{job.tmp.Left00,runner.tmp.Held00,cli.Left00,job.tmp.Wide00}
flock temporary/kforge-runner.tmp.Held00 sleep 20 &
holder=$!
until ! flock -n temporary/kforge-runner.tmp.Held00 true; do sleep 0.05; done
TMPDIR=$work/temporary expect 0 eval "$task" "$task/seed_vector.cu" --device cpu --no-keep --check-only
kill $holder
left=$(ls temporary | tr '\n' ' ')
[ "$left" = "kforge-cli.Left00 kforge-job.tmp.Fresh0 kforge-job.tmp.Link00 kforge-job.tmp.Wide00 kforge-runner.tmp.Held00 " ] || fail "left in the folder for temporary files: $left"
[ -e mine.cu ] || fail "a link was followed"

# And so does what kforge leaves itself when it is killed.
mkdir killed
sed 's/^{$/{\n    for (volatile int i = 0;; i++) continue;/' "$task/baseline.cu" >slow.cu
TMPDIR=$work/killed "$program" eval "$task" slow.cu --device cpu --no-keep --timeout 30 >/dev/null 2>&1 &
victim=$!
for _ in $(seq 200); do ls killed/kforge-runner.tmp.* >/dev/null 2>&1 && break || sleep 0.05; done
kill -9 $victim
wait $victim 2>/dev/null
[ "$(ls killed)" ] || fail "nothing to clear up"
find killed -maxdepth 1 -name 'kforge-*' -exec touch -d "2 minutes ago" {} +
for _ in $(seq 20); do
    TMPDIR=$work/killed expect 0 eval "$task" "$task/seed_vector.cu" --device cpu --no-keep --check-only
    [ "$(ls killed)" ] || break
    sleep 0.5 # the jails' processes end a moment later
done
[ ! "$(ls killed)" ] || fail "a killed kforge leaves $(ls killed | head -3)"

# A selftest of nothing proves nothing.
expect 2 selftest --device cpu --filter no_such_case
complains '--filter: no case for this device has "no_such_case" in its path'
finish
