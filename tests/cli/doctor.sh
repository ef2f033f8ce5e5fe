#!/bin/bash
# doctor reports on every part and keeps secrets. Its exit status shows whether any device can
# judge.
source "$(dirname "$0")/lib.sh"

expect 0 doctor
for subject in cpu g++ nvcc gpu judge sandbox store disk cache models settings; do
    grep -q "^\(ok\|warning\|missing\|fault\) *$subject " <<<"$out" || fail "nothing on $subject"
done
says "can judge kernels"
OPENAI_API_KEY=sk-secret-value expect 0 doctor
says "set: OPENAI_API_KEY"
[[ $out$err == *sk-secret* ]] && fail "the key is shown"
expect 0 doctor --json
json 'o["can_judge"] is True and o["judges"][0]["name"].startswith("cpu") and {f["state"] for f in o["facts"]} <= {"ok", "warning", "missing", "fault"}'
json 'all(f["hint"] for f in o["facts"] if f["state"] == "missing" and f["subject"] in ("gpu", "nvcc", "g++", "models"))'
# Without compilers
PATH=/nonexistent CUDA_HOME=/nonexistent "$program" doctor --json >out
json '[f for f in o["facts"] if f["subject"] == "g++" and f["state"] == "missing" and "apt install g++" in f["hint"]]'
# GPUs, by a driver that pretends
fake=$bin/../tests/fake_driver
LD_LIBRARY_PATH=$fake expect 0 doctor
says "cuda:0 Pretend GPU A, 16 GiB, compute capability 9.0, CUDA 13.1, driver 580.65.06"
says "cuda:1 Pretend GPU B, 32 GiB, compute capability 9.1"
# Heat, the power brake and other programs on a GPU disturb timing. Its power limit and idleness do not. CUDA's number of the GPU is named, not NVML's.
gpu_noise() { json '[(f["state"], f["text"], f["hint"]) for f in o["facts"] if f["text"].startswith("timing is noisy: cuda:")] == '"$1"; }
LD_LIBRARY_PATH=$fake FAKE_THROTTLE=0x5 expect 0 doctor --json
gpu_noise '[]'
LD_LIBRARY_PATH=$fake FAKE_THROTTLE=0x44 expect 0 doctor --json
gpu_noise '[("warning", "timing is noisy: cuda:1: the GPU was too hot", "cool it")]'
LD_LIBRARY_PATH=$fake FAKE_THROTTLE=0x80 FAKE_LOAD=87 expect 0 doctor --json
gpu_noise '[("warning", "timing is noisy: cuda:1: the power supply braked the GPU", "check the power supply"), ("warning", "timing is noisy: cuda:1: other programs use 87 % of its time", "end them, or choose another GPU with --device cuda:N")]'
LD_LIBRARY_PATH=$fake FAKE_CUDA_ERROR=100 expect 0 doctor --json
json '[f for f in o["facts"] if f["subject"] == "gpu" and f["text"] == "the CUDA driver does not start: no CUDA-capable device is detected (error 100)" and "/dev/nvidia" in f["hint"]]'
LD_LIBRARY_PATH=$fake FAKE_CUDA_ERROR=7 expect 0 doctor --json
json '[f for f in o["facts"] if f["text"] == "the CUDA driver does not start: unknown error (error 7)"]'
LD_LIBRARY_PATH=$fake FAKE_CUDA_NONE=1 expect 0 doctor --json
json '[f for f in o["facts"] if f["text"] == "the driver works, but shows no GPU" and f["state"] == "missing"]'
# Without kforge's own files nothing can judge.
KFORGE_ROOT=$work/nothing expect 3 doctor
says "can't judge kernels here"
# Stores
echo hello >text.db
expect 0 doctor --store text.db
grep -q '^fault *store .*not a kforge store' <<<"$out" || fail "text.db: $out"
"$bin/../tests/make_store" "$KFORGE_STORE" "$root/tasks/axpy" >/dev/null || fail make_store
expect 0 doctor --full
says "checked completely"
# The baseline of a task is timed against itself, and the line has the figure.
grep -qE '^(ok|warning) +noise +on cpu (timing is noisy: )?the baseline over itself is [0-9.]+x|^warning +noise +the baseline of axpy could not be timed on cpu: ' <<<"$out" || fail "no baseline over itself: $out"
expect 0 doctor
[[ $out != *"over itself"* ]] || fail "timed without --full: $out"
python3 - "$KFORGE_STORE" <<'END'
import sqlite3, sys
c = sqlite3.connect(sys.argv[1]); c.execute("pragma foreign_keys = off"); c.execute("delete from blob where id = (select source from candidate limit 1)"); c.commit()
END
expect 0 doctor --full
grep -q '^fault *store' <<<"$out" || fail "a damaged store: $out"

# Load and heat are said by doctor, in the result of a run, and at the start and the end of a bench. Files of a namespace stand for those of this machine.
mkdir -p thermal/cooling_device0
echo 9999.00 9999.00 9999.00 10000/10001 77 >loadavg
echo Processor >thermal/cooling_device0/type
echo 2 >thermal/cooling_device0/cur_state
noisy() {
    unshare -rm sh -c 'mount --bind loadavg /proc/loadavg && mount --bind thermal /sys/class/thermal && exec "$@"' sh "$@" >out 2>err
    status=$?
    out=$(cat out) err=$(cat err)
}
words="timing is noisy: 9999 other programs run on .* processors.*, the processor is too hot and slowed down.*; remedy: cool the machine, or run fewer programs"
if noisy true && [ $status = 0 ]; then
    noisy "$program" doctor
    grep -q "^warning *noise .*9999 other programs run on" <<<"$out" || fail "doctor: $out"
    noisy "$program" optimize "$root/tasks/axpy" --device cpu --candidates 1 --store noisy.db
    grep -q "timing is noisy" err && fail "a run says it before its result, too: $err"
    grep -q "^noise *$words" out || fail "the result of a run: $out"
    noisy "$program" bench "$root/tasks" --only axpy --device cpu --candidates 1 --store noisy.db
    [ "$(grep -c "^$words" err)" = 2 ] || fail "the start and the end of a bench: $err"
else
    echo "skipped: no namespace for files of another machine: $err"
fi
# A model that does not answer, in the last line
expect 3 doctor --model 'exec:exit 3'
[[ $out == *"here, and the model does not answer." ]] || fail "the last line: $out"
expect 2 doctor extra
complains "unexpected argument"
finish
