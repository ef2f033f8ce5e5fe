#!/bin/bash
# One process of a machine times on the CPU device at a time. Builds and checks go on meanwhile.
source "$(dirname "$0")/lib.sh"
task=$bin/../share/kforge/tasks/axpy
lock=/tmp/kforge-cpu.lock

# A first evaluation makes the lock.
expect 0 eval "$task" "$task/baseline.cu" --device cpu --no-keep --seconds 0.05
[ -e $lock ] || fail "no $lock"

# While another process times, a check gets its verdict, and a measurement waits.
flock --no-fork $lock sleep 600 &
holder=$!
await eval '! flock -n $lock true'
expect 0 eval "$task" "$task/baseline.cu" --device cpu --no-keep --check-only
says correct
"$program" eval "$task" "$task/baseline.cu" --device cpu --no-keep --seconds 0.05 --json >waits.json 2>&1 &
waiting=$!
opens_lock() {
    for worker in $(cat /proc/$waiting/task/*/children); do
        ls -l "/proc/$worker/fd" | grep -q " $lock\$" && return 0
    done
    return 1
}
await opens_lock
sleep 0.5
kill -0 $waiting || fail "it did not wait"
[ ! -s waits.json ] || fail "a verdict without the lock: $(cat waits.json)"

# kill -9 of the holder gives the lock back. The wait is not charged to the candidate.
kill -KILL $holder
wait $waiting 2>/dev/null || fail "after the wait: $(cat waits.json)"
grep -q '"status":"correct"' waits.json || fail "after the wait: $(cat waits.json)"

# A candidate cannot open the lock: it writes a wrong result if it can.
sed 's|extern "C" void|#include <fcntl.h>\n#include <sys/file.h>\n&|' "$task/baseline.cu" >thief.cu
cat >>thief.cu <<'END'
static int stolen = [] {
    int fd = open("/tmp/kforge-cpu.lock", O_RDONLY);
    if (fd >= 0 && flock(fd, LOCK_EX) == 0) for (;;) ;
    return 0;
}();
END
expect_judged 0 eval "$task" thief.cu --device cpu --no-keep --seconds 0.05
says correct
flock -n $lock true || await flock -n $lock true
finish
