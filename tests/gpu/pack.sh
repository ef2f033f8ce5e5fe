#!/bin/sh
# pack.sh BUILD FOLDER: a relocatable installation with all that tests/gpu/run.sh needs, for a machine that has a GPU, its driver and the CUDA
# toolkit, but not kforge's libraries.
set -eu
build=$1 folder=$2
source=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/lib/kforge" "$folder/tests"
for program in kforge kforge-runner-cuda kforge-runner-sanitize gpu_check; do
    [ ! -x "$build/bin/$program" ] || cp "$build/bin/$program" "$folder/bin/"
done
cp "$build"/lib/kforge/libkf*.so "$folder/lib/kforge/"
cp -r "$build/lib/kforge/torch" "$folder/lib/kforge/"
strip "$folder"/bin/* "$folder"/lib/kforge/*.so
# Packs all linked libraries except the C library, and the one that `kforge serve` loads.
server=$(ldconfig -p | sed -n 's/.*libmicrohttpd\.so\.12.*=> //p' | head -n 1)
[ -z "$server" ] || cp -L "$server" "$folder/lib/"
for program in "$folder"/bin/* $server; do
    ldd "$program" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p'
done | sort -u | grep -Ev '/(libc|libm|ld-linux[^/]*|libpthread|libdl|librt)\.so' | while read -r library; do cp -L "$library" "$folder/lib/"; done
cp -r "$source/tasks" "$folder/"
mkdir -p "$folder/tests/cli" "$folder/tests/bench"
cp "$source/tests/cli/serve_lib.py" "$folder/tests/cli/"
cp "$source/tests/bench/bench_serve.py" "$folder/tests/bench/"
cp -r "$source/tests/hostile" "$source/tests/honest" "$source/tests/selftest" "$source/tests/gpu" "$source/tests/torch" \
    "$source/tests/kernelbench" "$folder/tests/"
# Tasks with one timed workload: NAME TASK SED: for what is counted in jobs.
single() {
    cp -r "$source/tasks/$2" "$folder/tests/$1"
    python3 - "$source/tasks/$2/task.json" <<'END_OF_PYTHON' | sed "$3" >"$folder/tests/$1/task.json"
import json, sys
task = json.load(open(sys.argv[1]))
task["workloads"] = [w for w in task["workloads"] if w["name"] == "main" or w.get("timed") is False]
print(json.dumps(task, indent=1))
END_OF_PYTHON
}
single tiny axpy 's/33554432/1048576/'
single small axpy 's/33554432/4194304/'
single softmax row_softmax ''
single product gemm ''
single long attention ''
for task in axpy layernorm transpose bias_gelu reduction conv2d; do single "only_$task" "$task" ''; done
du -sh "$folder" | cut -f1
