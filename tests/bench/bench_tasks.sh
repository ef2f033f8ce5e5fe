#!/bin/bash
# `kforge optimize` with no model on every shipped task: how many end with a correct candidate at least 1.3 times faster than the baseline, with the
# whole interval above 1, measured again in fresh processes. Arguments go to optimize (--time 40, say). One line a task, then the figure.
root=$(cd "$(dirname "$0")/../.." && pwd)
kforge=${KFORGE:-$root/build/release/bin/kforge}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
good=0 count=0
case ${1:-} in /*) shift ;; esac # ./run benchmarks names a program first
for task in "$root"/tasks/*/; do
    task=${task%/}
    started=$(date +%s)
    "$kforge" optimize "$task" --json --store "$folder/store.db" "$@" >result.json 2>log &
    pid=$! memory=0
    while peak=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status" 2>/dev/null) && [ -n "$peak" ]; do
        memory=$peak # its own, not its children's
        sleep 0.5
    done
    wait $pid
    count=$((count + 1))
    line=$(python3 - result.json <<'PY'
import json, sys
try:
    best = json.load(open(sys.argv[1]))["best"]
    s = best["speedup"]
    value, low, high = (s["value"], s["low"], s["high"]) if isinstance(s, dict) else s
    print("%d %.2f [%.2f, %.2f]%s" % (best.get("reverified", False) and value >= 1.3 and low > 1, value, low, high, "" if best.get("reverified") else " not re-verified"))
except Exception as error:
    print("0 no result:", error)
PY
)
    [ "${line%% *}" = 1 ] && good=$((good + 1))
    printf '%-12s %s (%d s, kforge itself %d MiB)\n' "$(basename "$task")" "${line#* }" $(($(date +%s) - started)) $((memory / 1024))
done
printf 'tasks with a candidate at least 1.3 times faster, interval above 1: %d of %d\n' $good $count
