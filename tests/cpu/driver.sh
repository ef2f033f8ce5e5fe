#!/bin/sh
# usage: driver.sh KFORGE-CPUCC    the compiler driver's command line, exit statuses, what it writes where, and that it needs little around it
set -u
compiler=$1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0
# expect STATUS PATTERN COMMAND…: the command must end with STATUS and write a line that matches PATTERN
expect() {
    wanted=$1 pattern=$2
    shift 2
    "$@" >output 2>&1
    got=$?
    if [ $got -ne "$wanted" ] || { [ -n "$pattern" ] && ! grep -q -e "$pattern" output; }; then
        echo "FAILED: $* ended with $got instead of $wanted, or wrote nothing like '$pattern':"
        cat output
        failures=$((failures + 1))
    fi
}
cat >good.cu <<'END'
#ifndef BLOCK
#define BLOCK 64
#endif
#ifdef LETTER
const char letter = LETTER;
#endif
__global__ void k(float *x) { x[threadIdx.x] = BLOCK; }
extern "C" void entry(float *x, cudaStream_t stream) { k<<<1, BLOCK, 0, stream>>>(x); }
END
cat >shim.cpp <<'END'
#include <cuda_runtime.h>
#include <stdio.h>
extern "C" void entry(float *x, cudaStream_t stream);
int main()
{
    static float x[128];
    entry(x, nullptr);
    printf("block %g\n", x[31]);
    return 0;
}
END
echo 'extern "C" void entry(float *x, int stream);' >prototype.h
echo '__global__ void k(float *x) { x[0] = y; }' >bad.cu

expect 2 'no source file' "$compiler"
expect 2 'unknown option --frobnicate' "$compiler" --frobnicate good.cu
expect 2 'needs a value' "$compiler" good.cu -o
expect 2 'expected NAME' "$compiler" -D1X=3 good.cu
expect 2 'expected -O0 to -O3' "$compiler" -O9 good.cu
expect 2 'expected c++14' "$compiler" -std=c++98 good.cu
expect 2 'not supported' "$compiler" -rdc=true good.cu
expect 2 'not passed on' "$compiler" -Xcompiler -fplugin=x.so good.cu
expect 0 'usage:' "$compiler" --help
expect 1 'missing.cu' "$compiler" missing.cu
expect 1 "bad.cu:1:.*was not declared" "$compiler" bad.cu
expect 1 "bad.cu: In function .*void k(float\*).*:" "$compiler" bad.cu # the quotes are UTF-8 whatever the locale here
expect 1 'conflicting declaration' "$compiler" -include prototype.h good.cu
expect 0 '' "$compiler" -arch=sm_90a -gencode arch=compute_90a,code=sm_90a -lineinfo -maxrregcount=64 --maxrregcount 32 -Xptxas -v -Xptxas=-O3 \
    --expt-relaxed-constexpr -std=c++17 -O3 --use_fast_math -fmad=false -shared -Xcompiler -fPIC -o good.so good.cu </dev/null
expect 0 '-funroll-loops' "$compiler" -v -Xcompiler=-funroll-loops -o good.so good.cu
[ -f good.so ] || { echo "FAILED: no good.so"; failures=$((failures + 1)); }
expect 0 '' "$compiler" --exe -o program good.cu shim.cpp
expect 0 'block 64' ./program
expect 0 '' "$compiler" --exe -DBLOCK=32 -D LETTER="'x'" -DEMPTY= -DN -o program good.cu shim.cpp
expect 0 'block 32' ./program
expect 0 '' "$compiler" --exe -O0 -std=c++20 -o program good.cu shim.cpp
expect 0 'block 64' ./program
expect 0 '' "$compiler" --keep kept -o good.so good.cu
[ -f kept/0.cpp ] && [ -f kept/0.ii ] || { echo "FAILED: --keep kept nothing"; failures=$((failures + 1)); }
rm -rf kept

# A file for the link alone, without the device's headers.
echo 'extern "C" int cudaGetLastError(); int plain() { return cudaGetLastError(); }' >plain.cpp
expect 0 '' "$compiler" -c -o plain.o --plain plain.cpp
[ -f plain.o ] || { echo "FAILED: no plain.o"; failures=$((failures + 1)); }
expect 2 'no source file' "$compiler" -o plain.so --plain plain.cpp

# The precompiled header is not compiled again with each source: of its functions g++ makes only
# those that the kernel needs, about 16.
command=$("$compiler" --light -v -O1 --keep kept -o good.so good.cu 2>&1 | grep 'kept/0.cpp')
$command -fdump-tree-original=functions || failures=$((failures + 1))
made=$(grep -c '^;; Function' functions)
if [ "$made" -lt 5 ] || [ "$made" -gt 30 ]; then
    echo "FAILED: g++ made $made functions for one kernel"
    failures=$((failures + 1))
fi
rm -rf kept functions plain.o plain.cpp

# A header for C++20 is taken for C++20 alone. It has the device's own assert.
mkdir -p made/light-c++20
printf '#define KFORGE_CPU_LIGHT\n#include "%s/lib/kforge/cpu/include/kforge_cpu.h"\n' "$(cd "$(dirname "$compiler")/.." && pwd)" >made/light-c++20/kforge_cpu.h
expect 0 '' "$compiler" --precompile --light -std=c++20 -o made/light-c++20/kforge_cpu.h.gch made/light-c++20/kforge_cpu.h
echo '__global__ void k(int n) { assert(n); } extern "C" void f(int n) { k<<<1, 1>>>(n); }' >asserts.cu
expect 0 '' "$compiler" --light -std=c++20 --precompiled made --keep kept -o good.so asserts.cu
grep -q 'pch_preprocess "./made/light-c++20/kforge_cpu.h.gch"' kept/0.ii || { echo "FAILED: no header for C++20"; failures=$((failures + 1)); }
grep -q kfcpu_assert_failed good.so || { echo "FAILED: another assert"; failures=$((failures + 1)); }
expect 0 '' "$compiler" --light --precompiled made --keep kept -o good.so asserts.cu
grep -q 'made/light-c++20' kept/0.ii && { echo "FAILED: C++17 took the header for C++20"; failures=$((failures + 1)); }
rm -rf kept made asserts.cu

# Nothing but the output is left behind, and TMPDIR is the only place for temporary files.
mkdir temporary
rm -f output good.so
before=$(find . | sort)
TMPDIR=$folder/temporary expect 0 '' env -i "TMPDIR=$folder/temporary" "$compiler" -o good.so good.cu
rm -f output good.so
[ "$before" = "$(find . | sort)" ] || { echo "FAILED: files left behind:"; find .; failures=$((failures + 1)); }
expect 2 'No such file or directory' env -i "TMPDIR=$folder/nowhere" "$compiler" -o good.so good.cu

# A source of one enormous line, an empty one, one without a newline at its end.
: >empty.cu
expect 0 '' "$compiler" -o empty.so empty.cu
printf '__global__ void k() {}' >short.cu
expect 0 '' "$compiler" -o short.so short.cu
[ $failures -eq 0 ]
