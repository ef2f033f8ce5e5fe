#!/bin/bash
# Wall time of `kforge eval` of one candidate, compile included: median of 5 for each of three tasks. The task's own sources are built once before.
root=$(cd "$(dirname "$0")/../.." && pwd)
kforge=${KFORGE:-$root/build/release/bin/kforge}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
worst=0
for pair in row_softmax:baseline axpy:seed_vector transpose:baseline; do
    task=$root/tasks/${pair%%:*} seed=
    seed=$task/${pair##*:}.cu
    times=()
    "$kforge" eval "$task" "$seed" --store "$folder/store.db" >/dev/null 2>&1
    for run in 1 2 3 4 5; do
        # A comment of its own makes each a new source.
        { cat "$seed"; echo "// run $run"; } >"$folder/candidate.cu"
        started=$(date +%s%N)
        "$kforge" eval "$task" "$folder/candidate.cu" --store "$folder/store.db" >/dev/null 2>"$folder/log" || { cat "$folder/log"; exit 1; }
        times+=($((($(date +%s%N) - started) / 1000000)))
    done
    median=$(printf '%s\n' "${times[@]}" | sort -n | sed -n 3p)
    [ "$median" -gt "$worst" ] && worst=$median
    printf 'kforge eval %s: median %d.%02d s of 5\n' "${pair%%:*}" $((median / 1000)) $((median % 1000 / 10))
done
printf 'kforge eval: at most %d.%02d s\n' $((worst / 1000)) $((worst % 1000 / 10))
