#!/bin/sh
# usage: bench_cpucc.sh KFORGE-CPUCC [FILE.cu]    one line: the median wall time of compiling a small candidate for the CPU device
set -eu
compiler=$1
source=${2:-$(dirname "$0")/../../tasks/axpy/baseline.cu}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
runs=15
for i in $(seq $runs); do
    start=$(date +%s%N)
    "$compiler" -o "$folder/candidate.so" "$source"
    echo $((($(date +%s%N) - start) / 1000000))
done | sort -n >"$folder/times"
printf 'kforge-cpucc %s: median %s ms of %s runs (fastest %s, slowest %s)\n' "$(basename "$source")" "$(sed -n "$((runs / 2 + 1))p" "$folder/times")" $runs \
    "$(head -n 1 "$folder/times")" "$(tail -n 1 "$folder/times")"
