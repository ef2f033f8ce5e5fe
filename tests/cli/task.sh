#!/bin/bash
# task new, lint and show.
source "$(dirname "$0")/lib.sh"

expect 0 task new tasks/my-kernel
says "kforge task lint tasks/my-kernel"
[ "$(ls tasks/my-kernel | tr '\n' ' ')" = "baseline.cu oracle.cu seed_items.cu task.json " ] || fail "files: $(ls tasks/my-kernel)"
grep -rq '@' tasks/my-kernel && fail "a placeholder is left"
expect 0 task show tasks/my-kernel --json
json 'o["task"]["name"] == "my-kernel" and o["task"]["entry"] == "my_kernel" and o["prototype"].startswith("extern \"C\" void my_kernel(const float *x")'
json '[w["arguments"][0]["shape"] for w in o["workloads"] if w["name"] == "main" and w["device"] == "cpu"] == [[262144]]'
expect 0 task lint --device cpu tasks/my-kernel
[ "$out" = "tasks/my-kernel: good" ] || fail "the starter: $out"
expect 0 task lint --read-only tasks/my-kernel "$root"/tasks/*
says "tasks/row_softmax: good"
expect 2 task lint --device tpu tasks/my-kernel
complains "tpu"

# It is found by its name: in tasks/, and its folder where it stands. Installed tasks are, too.
expect 0 task show my-kernel --json
json 'o["task"]["name"] == "my-kernel"'
(cd tasks && "$program" task show my-kernel --json) >out || fail "in the working folder: $(cat out)"
json 'o["task"]["name"] == "my-kernel"'
expect 0 task show row_softmax --json
json 'o["task"]["name"] == "row_softmax"'

# Its seed compiles, too.
for source in tasks/my-kernel/*.cu; do
    "$bin/kforge-cpucc" "$source" -o "$work/x.so" || fail "$source does not compile"
done

expect 2 task new tasks/my-kernel
complains "exists already"
expect 2 task new "two words"
complains '"two words" cannot be a task'"'"'s name'
expect 2 task new for
complains "keyword"
expect 2 task new /
complains "give the name of a new folder"
expect 2 task new
complains "kforge task new DIRECTORY"
expect 0 task new 3d_blur/
[ -f 3d_blur/oracle.cu ] || fail "a slash at the end"
ls -A | grep -q '^\.[a-z0-9]' && fail "something temporary is left: $(ls -A)"
if [ "$(id -u)" != 0 ]; then
    mkdir closed && chmod 500 closed
    expect 3 task new closed/x
    complains "cannot"
fi

# Ctrl-C
cp -r tasks/my-kernel tasks/again
"$program" task lint --device cpu tasks/my-kernel tasks/again tasks/my-kernel tasks/again tasks/my-kernel >out 2>err &
pid=$!
at_work() { [ -n "$(cat /proc/$pid/task/*/children)" ]; } # it has a compiler or a runner
await at_work
kill -INT $pid
wait $pid
[ $? = 130 ] || fail "interrupted: $(cat out err)"

# A full disk leaves no files.
mkdir small
if unshare -rm mount -t tmpfs -o size=16k none small 2>/dev/null; then
    unshare -rm bash -c 'mount -t tmpfs -o size=16k none small; head -c 100k /dev/zero >small/fill 2>/dev/null; "$0" task new small/x; echo "status $?"; ls -A small' \
        "$program" >out 2>err
    out=$(cat out) err=$(cat err)
    complains "No space left on device"
    [ "$out" = "status 3
fill" ] || fail "full disk: $out"
fi

# Lint
expect 2 task lint tasks/none
[[ $out == *"tasks/none"*"error"* ]] || fail "missing: $out"
cp -r tasks/my-kernel broken
sed -i 's/"tolerance": {"error_ratio": 8}/"tolerance": {"allclose": {"rtol": 2, "atol": 0}}/' broken/task.json
expect 2 task lint --read-only broken tasks/my-kernel
says "broken: error (tolerance.zeros)"
says "tasks/my-kernel: good"
expect 2 task lint --read-only broken --json
json 'o["tasks"][0]["findings"][0]["rule"] == "tolerance.zeros" and o["tasks"][0]["findings"][0]["severity"] == "error"'
cp tasks/my-kernel/task.json broken/task.json
sed -i 's/y\[i\] = .*;/y[i] = 0;/' broken/oracle.cu broken/baseline.cu
expect 2 task lint --device cpu broken
says "output.zeros"
echo 'int x = ;' >broken/oracle.cu
expect 2 task lint --device cpu broken
says "broken: error:"
sed -i 's/"seeds"/"sedes"/' broken/task.json
expect 2 task lint broken
says 'did you mean "seeds"?'
expect 2 task show broken
complains 'did you mean "seeds"?'
echo '{' >broken/task.json
expect 2 task show broken
complains "broken/task.json"
expect 2 task show broken/oracle.cu
complains "broken/oracle.cu"
expect 2 task show tasks
complains "tasks: there is no task.json in this folder; expected a task.json or the folder of one"

# A baseline or an oracle that is wrong: an error that names the place. The first word of a row is the
# file, the second an expression of sed.
while IFS='|' read -r file change message; do
    rm -rf faulty && cp -r tasks/my-kernel faulty
    sed -i "$change" faulty/$file
    cmp -s faulty/$file tasks/my-kernel/$file && fail "no change: $change"
    expect 2 task lint --device cpu faulty
    grep -qE "^faulty: error.*$message" out || fail "$change: $out"
done <<'END'
oracle.cu|s/y\[i\] = /&1.001 * /|workload "main" the baseline disagrees with the oracle: it is 0.999001 times the oracle
oracle.cu|s/y\[i\] = .*/& if (i == n - 1) y[n] = 1;/|workload "main" the oracle writes outside its outputs: to y\[262144\], which has 262144 elements
oracle.cu|s/y\[i\] = .*/& if (i == 0) y[-1] = 1;/|workload "main" the oracle writes outside its outputs: to y\[-1\]
oracle.cu|s/-(double)x/(double)x/|workload "main" the baseline disagrees with the oracle, at element [0-9]+: the oracle has
baseline.cu|s/expf(/expf(2 */|workload "main" the baseline disagrees with the oracle
baseline.cu|s/if (i < n)/if (i < n - 3)/|workload "main" the baseline disagrees with the oracle, at element [0-9]+: .* the baseline
baseline.cu|s/if (i < n) y\[i\] = /&n % 2 \&\& i > 776 ? NAN : /|workload "ragged" the baseline disagrees with the oracle, at element 777: .* the baseline nan
baseline.cu|s/y\[i\] = /&x[i + 1] == 12345.678f ? 0 : /|\(baseline.faulty\): baseline.cu: .*read of 4 bytes, .* of x, at baseline.cu:9
baseline.cu|s/y\[i\] = /&x[i - 1] == 12345.678f ? 0 : /|\(baseline.faulty\): baseline.cu: .*read of 4 bytes, .* of x, at baseline.cu:9
baseline.cu|s/if (i < n) \(.*\)/if (i <= n) y[i] = i < n ? x[i] \/ (1.0f + expf(-x[i])) : 0;/|baseline.cu: .*writes outside its outputs, or to an input: argument y
baseline.cu|s/if (i < n) \(.*\)/if (i < n) { \1 ((float *)x)[i] = 1; }/|baseline.cu: .*writes outside its outputs, or to an input: argument x
oracle.cu|s/double \*y/float *y/|oracle.cu does not build: oracle.cu:[0-9:]* error: conflicting .*. Define extern "C" void my_kernel_oracle.const float .x, double .y
baseline.cu|s/expf/expg/|baseline.cu does not build: baseline.cu:9:[0-9]+: error:
END

# Loops on the host work on the CPU device, and on no GPU. Lint and eval say so, and accuse none of ours.
cp -r tasks/my-kernel hosted
cat >hosted/oracle.cu <<'EOT'
#include <cmath>
#include <cstdint>
#include <cuda_runtime.h>
extern "C" void my_kernel_oracle(const float *x, double *y, int64_t n, cudaStream_t stream)
{
    for (int64_t i = 0; i < n; i++) y[i] = x[i] / (1.0 + exp(-(double)x[i]));
}
EOT
sed 's/my_kernel_oracle/my_kernel/; s/double \*y/float *y/' hosted/oracle.cu >mine.cu
expect 0 task lint --device cpu hosted
says "hosted: warning (host.access): oracle.cu: line 6: the host accesses y, which is device memory on a GPU"
says "hosted: good, with advice"
expect 0 eval hosted mine.cu --device cpu --check-only --no-keep
says "warning: line 6 accesses y on the host. On a GPU it is device memory"
expect 0 eval hosted mine.cu --device cpu --check-only --no-keep --json
json 'o["status"] == "correct" and "memory.host:6:y" in o["flags"]'
expect 0 eval hosted hosted/baseline.cu --device cpu --check-only --no-keep --json
json 'not any(f.startswith("memory.host") for f in o["flags"])'
expect 0 scan --no-compile "$root"/tasks/*/*.cu "$root"/tests/selftest/*/*.cu
case $out in *memory.host*) fail "honest files: $(grep memory.host <<<"$out")" ;; esac

# A name that no task has: where it was looked for, and the nearest name.
expect 2 task show row_sofmax
complains "row_sofmax: no such file or folder, and no task of that name in tasks/ or $(dirname "$bin")/share/kforge/tasks; did you mean row_softmax?"
expect 2 task show row_sofmax --json
json 'o["hint"].startswith("did you mean row_softmax?")'
expect 2 task show tasks/row_softmax
complains "tasks/row_softmax: No such file or directory; did you mean row_softmax?"
expect 2 optimize nothing_like_it
complains "nothing_like_it: no such file or folder, and no task of that name in tasks/"
case $err in *"id you mean"*) fail "near: $err" ;; esac
expect 2 eval ./row_softmax x.cu
complains "./row_softmax: No such file or directory; did you mean row_softmax?"
expect 2 task lint
complains "arguments are missing"
finish
