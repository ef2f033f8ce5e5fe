#!/bin/bash
# Start-up of `kforge --version`: median of 41 runs, in milliseconds.
root=$(cd "$(dirname "$0")/../.." && pwd)
kforge=${KFORGE:-$root/build/release/bin/kforge}
times=()
for _ in $(seq 41); do
    started=$(date +%s%N)
    "$kforge" --version >/dev/null || exit 1
    times+=($((($(date +%s%N) - started) / 1000)))
done
median=$(printf '%s\n' "${times[@]}" | sort -n | sed -n 21p)
printf 'kforge --version: median %d.%02d ms of 41 runs, fork and exec by the shell included\n' $((median / 1000)) $((median % 1000 / 10))
