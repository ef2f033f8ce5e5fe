#!/bin/bash
# A driver that no longer answers, as with a GPU that hangs. The driver is simulated. Each command
# that waits for it ends after a while. It prints one line with the call and the remedy.
source "$(dirname "$0")/lib.sh"
axpy=$root/tasks/axpy
mkdir -p toolkit/bin
cp "$root/tests/cli/fake_nvcc.sh" toolkit/bin/nvcc
chmod +x toolkit/bin/nvcc
echo 13.1.80 >toolkit/bin/version
export CUDA_HOME=$work/toolkit LD_LIBRARY_PATH=$bin/../tests/fake_driver
export KFORGE_DRIVER_SECONDS=1

# ends STATUS ARGUMENT…: as expect, with a limit for a command that never ends. Ends the processes
# that still run after it.
ends() {
    local status=$1 got
    shift
    timeout -k 1 200 "$program" "$@" >"$work/out" 2>"$work/err" </dev/null
    got=$?
    out=$(cat "$work/out") err=$(cat "$work/err")
    [ $got = "$status" ] || fail "kforge $*: exit status $got, expected $status; $err"
    for process in $(of_this_test); do kill -9 "$process"; fail "kforge $*: process $process is left"; done
}

tells_of() {
    for part; do
        case $err in *"$part"*) ;; *) fail "the messages do not say \"$part\": $err" ;; esac
    done
}

# ---- while the device opens: at the first call, at NVML's, and later ones
for call in cuInit cuDevicePrimaryCtxRetain nvmlInit_v2 cuModuleLoadData; do
    for command in "eval $axpy $axpy/baseline.cu" worker "selftest --filter vecadd"; do
        FAKE_CUDA_HANG=$call ends 3 $command --device cuda
        complains "the NVIDIA driver does not answer: $call has not returned for 1 s"
        tells_of dmesg nvidia-smi nvidia-persistenced "--device cpu" KFORGE_DRIVER_SECONDS
    done
done
FAKE_CUDA_HANG=cuInit ends 3 optimize "$axpy" --device cuda
tells_of "cuInit has not returned for 1 s"
FAKE_CUDA_HANG=cuInit ends 3 optimize "$axpy" --devices all
complains "cuInit has not returned for 1 s"

# doctor says so among all else, and judges on the CPU.
for call in cuInit cuDevicePrimaryCtxRetain nvmlInit_v2; do
    FAKE_CUDA_HANG=$call ends 0 doctor --json
    json 'o["can_judge"] and [f for f in o["facts"] if f["state"] == "fault" and f["subject"] == "gpu" and "'$call' has not returned" in f["text"] and "dmesg" in f["hint"]]'
    json '[j["name"] for j in o["judges"]] == ["cpu"] and [f for f in o["facts"] if f["subject"] == "sandbox"]'
done

# ---- in the middle of a job: the machine's fault, nothing stored, no wait for the job's time
rm -f "$KFORGE_STORE"
for command in "eval $axpy $axpy/baseline.cu" "optimize $axpy"; do
    FAKE_CUDA_HANG=cuMemCreate ends 3 $command --device cuda
    tells_of "cuMemCreate has not returned for 1 s" dmesg
done
python3 - "$KFORGE_STORE" <<'PY' || fail "a candidate was blamed"
import sqlite3, sys
c = sqlite3.connect(sys.argv[1])
sys.exit(c.execute("select count(*) from verdict").fetchone()[0])
PY

# ---- a driver that works is not disturbed by that, nor one that only takes long
export KFORGE_DRIVER_SECONDS=30 # a busy machine may stop a call for a second
ends 3 eval "$axpy" "$axpy/baseline.cu" --device cuda
case $err in *"does not answer"*) fail "a driver that answers: $err" ;; esac
ends 0 worker --device cuda
finish
