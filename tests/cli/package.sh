#!/bin/bash
# kforge export --format package: builds with kforge-cpucc and passes its own tests; compiles with nvcc where there is one.
source "$(dirname "$0")/lib.sh"
"$bin/../tests/make_dataset" d.db "$root/tasks" >/dev/null || fail make_dataset
export KFORGE_STORE=$work/d.db
expect 0 export --format package -o package
expect 2 export --format package -o package
complains "exists already"
expect 2 export --format package
complains "is a folder"
expect 0 export --format package -o package --force --task axpy
[ "$(ls package/src | wc -l)" = 5 ] || fail "$(ls package/src)"
python3 - <<'END' || fail provenance
import json
(task,) = json.load(open("package/provenance.json"))
assert task["entry"] == "axpy" and task["measured_on"] == "cpu Test Processor 9000"
# The workload that another kernel wins goes to it
assert [k["chosen_for"] for k in task["kernels"]][0][0] == "main" and task["kernels"][1]["chosen_for"] == ["small"]
assert all(k["speedup"]["low"] > 1 for k in task["kernels"])
END
grep -q "n == 262144" package/src/axpy.cu || fail "no dispatch: $(cat package/src/axpy.cu)"
cmake -G Ninja -S package -B cpu -DKFORGE_CPUCC="$bin/kforge-cpucc" >log 2>&1 && cmake --build cpu >>log 2>&1 && ctest --test-dir cpu >>log 2>&1 || fail "cpucc: $(tail -20 log)"
# The test can fail: a kernel that does nothing
for file in package/src/axpy_*.cu; do sed -i 's/y\[i\] = a \* x\[i\] + y\[i\]/y[i] = 0/' "$file"; done
cmake --build cpu >>log 2>&1
ctest --test-dir cpu >log 2>&1 && fail "a wrong kernel passes: $(cat log)"
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
if [ -n "$nvcc" ]; then
    cmake -G Ninja -S package -B cuda -DCMAKE_CUDA_COMPILER="$nvcc" -DCMAKE_CUDA_ARCHITECTURES=90 >log 2>&1 && cmake --build cuda >>log 2>&1 || fail "nvcc: $(tail -20 log)"
    nm -D --defined-only cuda/libaxpy.so | grep -q ' T axpy$' || fail "no entry"
fi
expect 0 store merge d.db --store none.db
python3 -c 'import sqlite3; c = sqlite3.connect("none.db"); c.execute("update verdict set speedup = 0.5, low = 0.4, high = 0.6"); c.commit()'
expect 2 export none.db --format package -o nothing
complains "nothing to package"
[ ! -e nothing ] || fail "left behind"
finish
