#!/bin/bash
# One process of a machine times on the CPU device at a time. Builds and checks go on meanwhile.
source "$(dirname "$0")/lib.sh"
task=$bin/../share/kforge/tasks/axpy
lock=/tmp/kforge-cpu.lock

# A first evaluation makes the lock.
expect_judged 0 eval "$task" "$task/baseline.cu" --device cpu --no-keep --seconds 0.05
[ -e $lock ] || fail "no $lock"

# While another process times, a check gets its verdict, and a measurement waits. kill -9 of the
# holder gives the lock back. The wait is not charged to the candidate.
opens_lock() {
    for worker in $(cat /proc/$waiting/task/*/children); do
        ls -l "/proc/$worker/fd" | grep -q " $lock\$" && return 0
    done
    return 1
}
measure_behind_holder() {
    rm -f held
    (exec 8<$lock && flock 8 && touch held && exec sleep 600) &
    holder=$!
    await [ -e held ] # other tests time, too
    expect 0 eval "$task" "$task/baseline.cu" --device cpu --no-keep --check-only
    says correct
    "$program" eval "$task" "$task/baseline.cu" --device cpu --no-keep --seconds 0.05 --json \
        >waits.json 2>&1 &
    waiting=$!
    await opens_lock
    sleep 0.5
    kill -0 $waiting || fail "it did not wait"
    [ ! -s waits.json ] || fail "a verdict without the lock: $(cat waits.json)"
    kill -KILL $holder
    wait $waiting 2>/dev/null
}
for _ in {1..10}; do # judged again while the verdict blames the machine, which others use, too
    measure_behind_holder
    status=$?
    grep -q '"blame":"machine"' waits.json || break
done
[ $status = 0 ] || fail "after the wait: status $status: $(cat waits.json)"
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
flock -w 200 $lock true || fail "a candidate keeps the lock"
finish
