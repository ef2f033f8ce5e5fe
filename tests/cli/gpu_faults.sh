#!/bin/bash
# Faults of a GPU, with a simulated driver. `doctor` and each command that opens the device print
# one line and exit with status 3. The line names the fault, the device and the remedy.
source "$(dirname "$0")/lib.sh"

fake=$bin/../tests/fake_driver
axpy=$root/tasks/axpy
mkdir -p toolkit/bin
cp "$root/tests/cli/fake_nvcc.sh" toolkit/bin/nvcc
chmod +x toolkit/bin/nvcc
echo 13.1.80 >toolkit/bin/version
export CUDA_HOME=$work/toolkit

# One line that has every part: what it is about, what is the matter, what to do.
tells() {
    complains "$1"
    shift
    for part; do
        case $err in *"$part"*) ;; *) fail "the message does not say \"$part\": $err" ;; esac
    done
}

# The same among other lines.
tells_of() {
    case $err in *"$1"*) ;; *) fail "the messages do not say \"$1\": $err" ;; esac
}

# Each command that opens the device ends by itself with status 3 and one line. It leaves no files.
all_say() {
    for command in "eval $axpy $axpy/baseline.cu" "optimize $axpy" worker "selftest --filter vecadd"; do
        expect 3 $command --device cuda
        tells "$@"
    done
    nothing_is_left
}

# doctor STATE SUBJECT TEXT HINT: such a line is there, and the CPU judges all the same.
doctor_says() {
    expect 0 doctor --json
    json "o['can_judge'] is True and [f for f in o['facts'] if f['state'] == '$1' and f['subject'] == '$2' and '''$3''' in f['text'] and '''$4''' in f['hint']]"
}

nothing_is_left() {
    await test -z "$(of_this_test)"
}

# ---- no driver ----
if ! ldconfig -p 2>/dev/null | grep -q libcuda.so.1; then
    all_say "cuda: no NVIDIA driver: libcuda.so.1 cannot be loaded" "; install the driver, or in a container pass the GPU through" "; --device cpu judges without a GPU"
    doctor_says missing gpu "no NVIDIA driver" "install NVIDIA's driver"
fi
export LD_LIBRARY_PATH=$fake

# ---- a driver that is there and works, so that what follows is due to the fault alone ----
doctor_says ok gpu "cuda:0 Pretend GPU A" ""
doctor_says ok judge "judges on cuda:0" ""
expect 0 worker --device cuda
json 'o["device"] == "cuda:0" and o["conditions"].endswith("nvcc 13.1.80, gcc " + o["conditions"].split("gcc ")[1])'

# ---- it does not start ----
while IFS='|' read -r number name remedy state; do
    export FAKE_CUDA_ERROR=$number
    all_say "cuda: the NVIDIA driver does not start" "$name" "($number); " "$remedy" "; --device cpu judges without a GPU"
    doctor_says "$state" gpu "the CUDA driver does not start" "$remedy"
done <<'ROWS'
100|CUDA_ERROR_NO_DEVICE|/dev/nvidia*|missing
803|CUDA_ERROR_SYSTEM_DRIVER_MISMATCH|reboot|fault
802|CUDA_ERROR_SYSTEM_NOT_READY|nvidia-fabricmanager|fault
804|CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE|cuda-compat|fault
34|CUDA_ERROR_STUB_LIBRARY|stubs|fault
999|CUDA_ERROR_UNKNOWN|nvidia-uvm|fault
7|a CUDA error|nvidia-smi|fault
ROWS
unset FAKE_CUDA_ERROR

# Without --device, kforge uses the CPU and reports the GPU's fault. On a machine without a GPU, it
# reports nothing.
for command in "eval $axpy $axpy/baseline.cu --check-only" "optimize $axpy --candidates 1 --time 60"; do
    : >err # not that of the run before
    FAKE_CUDA_ERROR=803 "$program" $command >/dev/null 2>err &
    process=$!
    await grep -q reboot err # what the CPU makes of it is not looked at
    kill $process 2>/dev/null
    wait $process 2>/dev/null
    err=$(cat err)
    tells_of "on the CPU, since the NVIDIA driver does not start: cuInit says CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"
    err=$(FAKE_CUDA_ERROR=100 "$program" $command 2>&1 >/dev/null)
    case $err in *cuInit*) fail "a machine without a GPU: $err" ;; esac
done
nothing_is_left

# ---- it shows none, not that one, or one that is too old ----
FAKE_CUDA_NONE=1 all_say "cuda: the driver shows 0 GPUs" "CUDA_VISIBLE_DEVICES" "; --device cpu judges without a GPU"
FAKE_CUDA_NONE=1 doctor_says missing gpu "shows no GPU" "CUDA_VISIBLE_DEVICES"
expect 3 worker --device cuda:2
tells "cuda:2: the driver shows 2 GPUs" "CUDA_VISIBLE_DEVICES"
FAKE_CUDA_CAPABILITY=6.1 all_say "cuda:0, Pretend GPU A: compute capability 6.1" "; kforge needs 7.0 or later"
FAKE_CUDA_CAPABILITY=6.1 doctor_says missing gpu "cuda:0 Pretend GPU A, 16 GiB, compute capability 6.1" "7.0 or later"
FAKE_CUDA_LOSS=cuDevicePrimaryCtxRetain:46 all_say "cuda:0, making a context: CUDA_ERROR_DEVICE_UNAVAILABLE" "; " "nvidia-smi -c 0"
# The GPU is there, so its fault is mended first.
[[ $err != *"--device cpu"* ]] || fail "$err"

# ---- driver and toolkit don't match ----
FAKE_CUDA_VERSION=12040 all_say "cuda:0: the driver is for CUDA 12.4, nvcc is 13.1" "; update the driver" "CUDA_HOME"
FAKE_CUDA_VERSION=12040 doctor_says missing judge "the driver is for CUDA 12.4, nvcc is 13.1" "update the driver"
echo 12.8.90 >toolkit/bin/version
FAKE_CUDA_VERSION=12040 FAKE_NVRTC=12.8 expect 0 worker --device cuda # within a major version what is built for a GPU loads
FAKE_CUDA_VERSION=12040 FAKE_NVRTC=13.1 FAKE_CUDA_LOSS=cuModuleLoadData:200 all_say "cuda:0, loading the judge's kernels" "NVRTC 13.1" "CUDA 12.4; update the driver" LD_LIBRARY_PATH
echo 13.1.80 >toolkit/bin/version
FAKE_CUDA_CAPABILITY=12.0 FAKE_NVRTC=13.0 FAKE_NVRTC_REFUSES=1 all_say "NVRTC 13.0 does not compile the judge's kernels for sm_120" "; " "a toolkit that knows compute capability 12.0" CUDA_HOME

# ---- MIG ----
FAKE_MIG=empty all_say "cuda: the driver shows 0 GPUs" "GPU 0 is in MIG mode" "; " "nvidia-smi mig" "nvidia-smi -i 0 -mig 0"
FAKE_MIG=empty doctor_says missing gpu "GPU 0 is in MIG mode" "nvidia-smi mig"
FAKE_MIG=empty FAKE_CUDA_ERROR=100 all_say "cuda: the NVIDIA driver does not start" "(100): GPU 0 is in MIG mode" "; " "nvidia-smi mig"
FAKE_MIG=empty FAKE_CUDA_ERROR=100 doctor_says missing gpu "GPU 0 is in MIG mode" "nvidia-smi mig"
FAKE_MIG=instance expect 0 worker --device cuda
json 'o["machine"]["uuid"].startswith("MIG-01010101-0101-0101-0101-0101") and o["hardware"] == "Pretend GPU A MIG 1g.5gb" and o["machine"]["driver"] == "580.65.06"'
FAKE_MIG=instance doctor_says ok gpu "cuda:0 Pretend GPU A MIG 1g.5gb" ""

# ---- the device file is not there: the sandbox can't show it to runners ----
# (nothing the machine lacks is the task's or the candidate's fault)
expect 3 eval "$axpy" "$axpy/baseline.cu" --device cuda
says "the device file /dev/nvidia4711 is missing"
says "the fault is the machine's"
expect 3 optimize "$axpy" --device cuda
tells_of "the device file /dev/nvidia4711 is missing"
tells_of "in a row"
nothing_is_left

# ---- lost in the middle of a job: the machine's fault, nothing stored, one line of output -------
rm -f "$KFORGE_STORE"
export FAKE_CUDA_LOSS=cuMemCreate:719
for command in eval optimize; do
    # It comes back with each new process, and goes again: the job is given up after two.
    expect 3 $command "$axpy" $([ $command = eval ] && echo "$axpy/baseline.cu") --device cuda
    tells_of " was lost: " # either of the two
    tells_of "CUDA_ERROR_LAUNCH_FAILED"
    tells_of "dmesg"
    # It stays away.
    FAKE_CUDA_GONE=$work/gone expect 3 $command "$axpy" $([ $command = eval ] && echo "$axpy/baseline.cu") --device cuda
    tells_of "the NVIDIA driver does not start: cuInit says CUDA_ERROR_NO_DEVICE"
    [ -e gone ] || fail "$command: the device was not lost on the way"
    rm -f gone
done
nothing_is_left
python3 - "$KFORGE_STORE" <<'PY' || fail "a candidate was blamed"
import sqlite3, sys
c = sqlite3.connect(sys.argv[1])
sys.exit(c.execute("select count(*) from verdict").fetchone()[0])
PY
# A spool worker returns its job to the folder, for a worker with a working device.
"$program" eval "$axpy" "$axpy/baseline.cu" --workers "spool:$work/jobs" >/dev/null 2>&1 & eval=$!
timeout 60 "$program" worker --device cuda --spool jobs >out 2>err # it would wait for more
[ $? = 3 ] || fail "a worker of a folder went on"
err=$(cat err)
complains "cuda:0 was lost"
compgen -G 'jobs/jobs/*.json' >/dev/null || fail "the job was not given back: $(find jobs)"
[ -z "$(find jobs/taken jobs/verdicts jobs/workers -type f)" ] || fail "left behind: $(find jobs)"
kill $eval
wait $eval 2>/dev/null
unset FAKE_CUDA_LOSS
# Memory that breaks is the machine's fault, too, though its driver goes on.
FAKE_ECC=1 expect 3 eval "$axpy" "$axpy/baseline.cu" --device cuda
tells_of "cuda:0 was lost: its memory had an uncorrectable error"

# ---- counters are for administrators: a note, and the GPU judges all the same ----
restricted='mount -t tmpfs none /proc/driver && mkdir /proc/driver/nvidia && echo "RmProfilingAdminOnly: 1" >/proc/driver/nvidia/params && exec unshare -U "$@"'
if unshare -rm sh -c "$restricted" - true 2>/dev/null; then
    mkdir -p toolkit/lib64 && touch toolkit/lib64/libcupti.so
    chmod -R a+rX "$work"
    unshare -rm sh -c "$restricted" - "$program" doctor --json >out || fail "doctor where counters are forbidden: status $?"
    json '[f for f in o["facts"] if f["subject"] == "counters" and f["state"] == "missing" and "RmProfilingAdminOnly" in f["text"] and "NVreg_RestrictProfilingToAdminUsers=0" in f["hint"]]'
    json '[j["name"] for j in o["judges"]] == ["cpu", "cuda:0"]'
else
    echo "not tried: counters for administrators (no user namespaces here)"
fi

# ---- no nvcc ----
export CUDA_HOME=/nonexistent
hidden=$(realpath /usr/local/cuda 2>/dev/null)
hide() { "$@"; }
[ -e "${hidden:-/nonexistent}/bin/nvcc" ] && hide() { unshare -rm sh -c 'mount -t tmpfs none "$0" && exec "$@"' "$hidden" "$@"; }
if PATH=/usr/bin:/bin hide sh -c '! command -v nvcc && ! [ -e /usr/local/cuda/bin/nvcc ]' 2>/dev/null; then
    kforge=$program
    program=hidden
    hidden() { PATH=/usr/bin:/bin hide "$kforge" "$@"; }
    doctor_says missing nvcc "not found in PATH" "install the CUDA toolkit"
    expect 3 eval "$axpy" "$axpy/baseline.cu" --device cuda
    says "nvcc is missing"
    says "install the CUDA toolkit, or set CUDA_HOME"
    says "the fault is the machine's"
    expect 3 optimize "$axpy" --device cuda
    tells_of "nvcc is missing"
    tells_of "in a row"
else
    echo "not tried: no nvcc (it can't be hidden here)"
fi
finish
