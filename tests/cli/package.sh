#!/bin/bash
# kforge export --format package: it holds the right winners, without secrets and file paths. It
# builds with kforge-cpucc and passes its own tests. It compiles and installs with nvcc if nvcc is
# installed. Its name never shows a partial package. package.sh BIN [basics]: without nvcc
source "$(dirname "$0")/lib.sh"
"$bin/../tests/make_dataset" d.db "$root/tasks" >/dev/null || fail make_dataset
export KFORGE_STORE=$work/d.db
# tasks EXPRESSION: python on provenance.json of the folder package as `o`, its tasks by name as `t`
tasks() {
    python3 -c 'import json, sys; o = json.load(open("package/provenance.json")); t = {x["task"]: x for x in o["tasks"]}; sys.exit(0 if eval(sys.argv[1]) else 1)' "$1" ||
        fail "not so: $1 of $(cat package/provenance.json)"
}
# change DATABASE: python that replaces texts: change(blob, function), on the connection c
change() {
    cat >edit.py
    python3 -c '
import ctypes, hashlib, json, sqlite3, sys
c = sqlite3.connect(sys.argv[1])
def change(blob, edit):
    data, size, codec = c.execute("select data, size, codec from blob where id = ?", (blob,)).fetchone()
    if codec:
        plain = ctypes.create_string_buffer(size)
        assert ctypes.CDLL("libzstd.so.1").ZSTD_decompress(plain, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data))) == size
        data = plain.raw
    new = edit(data)
    assert new != data
    c.execute("update blob set data = ?, size = ?, codec = 0, hash = ? where id = ?", (new, len(new), hashlib.sha256(new).digest(), blob))
exec(open("edit.py").read())
c.commit()' "$1" || fail "$1 can't be changed"
}
expect 0 export --format package -o package
tasks 'sorted(t) == ["axpy", "gemv", "row_softmax"] and o["schema"] == "kforge-package/1" and o["license"] == "unknown"'
expect 2 export --format package -o package
complains "exists already"
expect 2 export --format package
complains "is a folder"

# The selecting options apply …
expect 0 export --format package -o package --force --held-out row_softmax --held-out elementwise --json
tasks 'sorted(t) == ["gemv"]'
json 'o["tasks"] == 1 and o["held_out"] == 2 and o["kernels"] >= 1'
grep -rqi "softmax\|axpy" package && fail "held out, and yet there: $(grep -ril 'softmax\|axpy' package)"
expect 2 export --format package -o package --force --task axpy --held-out elementwise
complains "task axpy is held out by --held-out"
run=$("$program" list -q --store d.db | head -1)
name=$(python3 -c 'import sqlite3, sys; print(*sqlite3.connect("d.db").execute("select t.name from run r join task t on t.id = r.task where r.key = ?", sys.argv[1:]).fetchone())' "$run")
expect 0 export --format package -o package --force --run "$run" --only faster
tasks 'list(t) == ["'"$name"'"]'
cp d.db declared.db
change declared.db <<'END'
blob, = c.execute("select bundle from task where name = 'gemv'").fetchone()
change(blob, lambda d: d.replace(b'"name":"gemv"', b'"held_out":true,"name":"gemv"', 1))
END
expect 0 export declared.db --format package -o package --force
[[ $err == *"1 tasks are held out"* ]] || fail "$err"
tasks 'sorted(t) == ["axpy", "row_softmax"]'
expect 2 export declared.db --format package -o package --force --task gemv
complains "--include-held-out"
expect 0 export declared.db --format package -o package --force --include-held-out
tasks 'sorted(t) == ["axpy", "gemv", "row_softmax"]'
# … and what means nothing here is refused by name.
for option in "--only failed" "--only all" "--reward log" "--discount 0.5" "--margin 2" --no-significant "--group task" "--least-group 3" "--pairs 9" \
    "--dedup on" "--test-family reduction" "--test-share 0.5" --keep-leaks "--as jsonl" "--shard-rows 7"; do
    for format in package modelnew kernelbench; do
        expect 2 export --format $format -o refused $option
        complains "${option%% *}"
        complains "--format $format"
    done
done
expect 2 export --format package -o refused --only correct
complains "it takes candidates that are faster"
expect 2 export --format cassette --only faster -o refused.jsonl
complains "--only has no effect on --format cassette"
[ -z "$(compgen -G 'refused*')" ] || fail "left behind: $(ls -d refused*)"

# Secrets and file paths in sources, flags and descriptions. A kernel that scrubbing changed is
# marked.
cp d.db secret.db
change secret.db <<'END'
note = b"\n// of /home/jane/kernels; sk-proj-abcdefghijklmnop0123456789, and MY-OWN-SECRET\n"
for source, in c.execute("select distinct c.source from candidate c join task t on t.id = c.task where t.name = 'axpy'").fetchall(): change(source, lambda d: d + note)
bundle, = c.execute("select bundle from task where name = 'gemv'").fetchone()
change(bundle, lambda d: d.replace(b'"description":"', b'"description":"/home/jane */ and sk-proj-abcdefghijklmnop0123456789 ', 1))
c.execute("update candidate set flags = '[\"-DWHERE=/home/jane/x\"]' where task = (select id from task where name = 'row_softmax')")
END
SOME_API_KEY=MY-OWN-SECRET "$program" export secret.db --format package -o package --force >out 2>err || fail "$(cat err)"
grep -rl "sk-proj\|home/jane\|MY-OWN" package && fail "a secret in a package: $(grep -rho 'sk-proj.....\|.....home/jane\|MY-OWN' package | head -3)"
grep -q "[2-9] sources differ from the judged ones" err || fail "$(cat err)"
tasks 'all(not k["as_judged"] and "note" in k for n in ("axpy", "row_softmax") for k in t[n]["kernels"]) and all(k["as_judged"] for k in t["gemv"]["kernels"])'
tasks 'all(k["source_sha256"] == __import__("hashlib").sha256(open("package/src/%s_%.12s.cu" % (n, k["candidate"]), "rb").read()).hexdigest() for n in t for k in t[n]["kernels"])'
grep -q '"as_judged": false' package/README.md || fail "the README says nothing of it: $(cat package/README.md)"
grep -q "/home/user \* / and \[key\]" package/include/kforge_kernels.h || fail "$(cat package/include/kforge_kernels.h)"

# Two tasks with the same name or entry can't be in one library. A failed export leaves the old
# package unchanged.
cp d.db twice.db
change twice.db <<'END'
c.execute("update task set bundle = (select bundle from task where name = 'axpy') where name = 'gemv'")
END
expect 2 export twice.db --format package -o package --force
complains "several tasks with the name axpy have winners; choose one with --task"
[ -e package/src/gemv.cu ] || fail "a failed export took the old one away"
cp d.db twice.db
change twice.db <<'END'
blob, = c.execute("select bundle from task where name = 'row_softmax'").fetchone()
change(blob, lambda d: d.replace(b'"entry":"row_softmax"', b'"entry":"axpy"').replace(b'"name":"row_softmax"', b'"name":"row_softmax","entry":"axpy"', b'"entry"' not in d))
END
expect 2 export twice.db --format package -o package --force
complains "define axpy()"

expect 0 export --format package -o package --force --task axpy --license MIT
[ "$(ls package/src | wc -l)" = 5 ] || fail "$(ls package/src)"
tasks 't["axpy"]["entry"] == "axpy" and t["axpy"]["measured_on"] == "cpu Test Processor 9000" and o["license"] == "MIT"'
python3 "$root/tests/python/doc_samples.py" "$root/docs/reference/datasets.md" package package/include/kforge_kernels.h package/src/axpy.cu 2>err || fail "$(tail -1 err)"
# The documentation names each key of the provenance.
for key in $(python3 -c 'import json; o = json.load(open("package/provenance.json")); t = [t for t in o["tasks"] if t["task"] == "axpy"][0]; print(*o, *t, *t["kernels"][0])'); do
    sed -n '/^## package$/,/^## /p' "$root/docs/reference/datasets.md" | grep -q "\`$key\`" || fail "datasets.md lacks $key"
done
# The workload that another kernel wins goes to it
tasks 't["axpy"]["kernels"][0]["chosen_for"][0] == "main" and t["axpy"]["kernels"][1]["chosen_for"] == ["small"]'
tasks 'all(k["speedup"]["low"] > 1 and k["as_judged"] for k in t["axpy"]["kernels"])'
grep -q "if (n == 262144) return axpy_" package/src/axpy.cu || fail "no dispatch: $(cat package/src/axpy.cu)"
grep -q "Verified for: main (n = 524288); small (n = 262144)" package/include/kforge_kernels.h || fail "$(cat package/include/kforge_kernels.h)"
cmake -G Ninja -S package -B cpu -DKFORGE_CPUCC="$bin/kforge-cpucc" >log 2>&1 && cmake --build cpu >>log 2>&1 && ctest --test-dir cpu >>log 2>&1 || fail "cpucc: $(tail -20 log)"
grep -q "The figures of 1 of the entries come from kforge's CPU device" package/README.md || fail "$(cat package/README.md)"
# A kernel measured on a GPU comes first, however fast others are on the CPU device. It is compiled
# for that GPU.
cp d.db gpu.db
change gpu.db <<'END'
c.execute("insert into device (name) values ('NVIDIA H200')")
verdict, = c.execute("select v.id from verdict v join task t on t.id = v.task where t.name = 'axpy' and v.speedup = 1.9").fetchone()
c.execute("update verdict set device = (select id from device where name = 'NVIDIA H200') where id = ?", (verdict,))
text = json.dumps({"workloads": [], "provenance": {"device": {"compute_capability": "9.0"}, "sanitizer": {"status": "clean"}}}).encode()
c.execute("update verdict_json set size = ?, codec = 0, data = ? where verdict = ?", (len(text), text, verdict))
END
mv package cpu-package
expect 0 export gpu.db --format package -o package --task axpy
tasks 't["axpy"]["measured_on"] == "NVIDIA H200" and len(t["axpy"]["kernels"]) == 1 and t["axpy"]["kernels"][0]["architecture"] == "90a" and t["axpy"]["kernels"][0]["sanitizer"] == {"status": "clean"}'
[ "$(grep -c 'ARCHITECTURE 90a ' package/CMakeLists.txt)" = 2 ] || fail "$(tail -5 package/CMakeLists.txt)"
grep -q "main (n = 33554432)" package/include/kforge_kernels.h || fail "not the sizes that a GPU has: $(cat package/include/kforge_kernels.h)"
grep -q "CPU device, a processor" package/README.md && fail "$(cat package/README.md)"
rm -rf package
mv cpu-package package
# The test can fail: a kernel that does nothing
for file in package/src/axpy_*.cu; do sed -i 's/y\[i\] = a \* x\[i\] + y\[i\]/y[i] = 0/' "$file"; done
cmake --build cpu >>log 2>&1
ctest --test-dir cpu >log 2>&1 && fail "a wrong kernel passes: $(cat log)"
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
if [ -n "$nvcc" ] && [ "${2:-all}" = all ]; then
    cmake -G Ninja -S package -B cuda -DCMAKE_CUDA_COMPILER="$nvcc" -DCMAKE_CUDA_ARCHITECTURES=90 >log 2>&1 && cmake --build cuda >>log 2>&1 && cmake --install cuda --prefix installed >>log 2>&1 ||
        fail "nvcc: $(tail -20 log)"
    nm -D --defined-only cuda/libkforge_axpy.so | grep -q ' T axpy$' || fail "no entry"
    # A program in C that finds the package
    mkdir user
    printf '%s\n' 'cmake_minimum_required(VERSION 3.22)' 'project(user C)' 'find_package(CUDAToolkit REQUIRED)' 'find_package(kforge_kernels REQUIRED)' \
        'add_executable(user user.c)' 'target_link_libraries(user kforge::kforge_kernels CUDA::cudart)' >user/CMakeLists.txt
    printf '#include <kforge_kernels.h>\nint main(int argc, char **argv) { (void)argv; if (argc > 9) axpy(0, 0, 1, 0, 0); return 0; }\n' >user/user.c
    cmake -G Ninja -S user -B built -DCMAKE_PREFIX_PATH="$work/installed" -DCUDAToolkit_ROOT="$(dirname "$(dirname "$nvcc")")" >log 2>&1 && cmake --build built >>log 2>&1 ||
        fail "a user in C: $(tail -20 log)"
    ./built/user || fail "a user in C does not start"
fi
expect 0 store merge d.db --store none.db
python3 -c 'import sqlite3; c = sqlite3.connect("none.db"); c.execute("update verdict set speedup = 0.5, low = 0.4, high = 0.6"); c.commit()'
expect 2 export none.db --format package -o nothing
complains "nothing to package"
[ ! -e nothing ] || fail "left behind"

# An export replaces only folders made by exports. A full disk leaves the old package. The next
# export deletes the files of a killed one.
mkdir mine
echo dear >mine/letter
expect 2 export --format package -o mine --force
complains "holds other files than an export"
[ "$(cat mine/letter)" = dear ] || fail "a letter is lost"
mkdir small
if unshare -rm mount -t tmpfs -o size=16k none small 2>/dev/null; then
    unshare -rm bash -c 'mount -t tmpfs -o size=40k none small; mkdir small/p; echo "old, by kforge" >small/p/README.md; head -c 24k /dev/zero >small/fill
        "$0" export --format package -o small/p --force; echo "status $?"; ls -A small; cat small/p/README.md' "$program" >out 2>err
    out=$(cat out) err=$(cat err)
    complains "small/p: the disk is full and the partial file was removed"
    [ "$out" = $'status 3\nfill\np\nold, by kforge' ] || fail "full disk: $out"
fi
expect 0 export --format package -o killed
cp -r killed whole
for delay in 0 0.002 0.005 0.01 0.02 0.04; do
    "$program" export --format package -o killed --force >/dev/null 2>&1 &
    exporter=$!
    sleep $delay
    kill -9 "$exporter" 2>/dev/null
    wait "$exporter" 2>/dev/null
    diff -r killed whole >/dev/null || fail "killed after $delay s: $(ls killed)"
done
expect 0 export --format package -o killed --force
[ "$(compgen -G 'killed*')" = killed ] || fail "left over: $(compgen -G 'killed*')"

# Ctrl-C stops at once, leaves no files, and keeps an older package. interrupted N MOST ARGUMENT…:
# interrupts at the N-th file. At most MOST files are synced in all.
mkdir temporary
interrupted() {
    : >synced
    TMPDIR=$work/temporary INTERRUPT_AT=$1 INTERRUPT_LOG=$work/synced ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=$bin/../tests/interrupting.so \
        "$program" export "${@:3}" >out 2>err
    local status=$?
    out=$(cat out) err=$(cat err)
    [ $status = 130 ] || fail "interrupted at file $1: status $status: $* $err"
    complains "interrupted"
    [ "$(wc -c <synced)" -ge "$1" ] && [ "$(wc -c <synced)" -le "$2" ] || fail "interrupted at file $1 of $(wc -c <synced): $*"
    [ -z "$(compgen -G 'stopped*')$(ls temporary)" ] || fail "left behind: $(compgen -G 'stopped*') $(ls temporary): $*"
}
for at in 1 5 "$(find whole -type f | wc -l)"; do interrupted "$at" "$at" --format package -o stopped; done
interrupted 2 2 --format package -o killed --force
diff -r killed whole >/dev/null || fail "interrupted, and the old package is another: $(ls killed)"
[ "$(compgen -G 'killed*')" = killed ] || fail "left over: $(compgen -G 'killed*')"
# While several stores become one, too.
interrupted 1 60 --format package d.db none.db -o stopped
finish
