#!/bin/bash
# usage: library_nvcc.sh
# The programs of CUB, Thrust and libcu++ are valid CUDA: nvcc's front end reads them with the
# toolkit's own headers. Without nvcc: skipped (77).
set -u
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null) || exit 77
here=$(dirname "$0")
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failures=0
for program in "$here"/library_*.cu; do
    # The steps for the host, without the compilation of device code, which takes minutes.
    "$nvcc" --dryrun -std=c++17 -arch=sm_80 -I "$here" --keep --keep-dir "$folder" -c \
        -o "$folder/x.o" "$program" 2>&1 |
        sed -n 's/^#\$ //p' | grep -E '^gcc .* -E .*cpp4\.ii|^cudafe\+\+ ' >"$folder/steps"
    if [ "$(wc -l <"$folder/steps")" -ne 2 ] ||
        ! PATH=$(dirname "$nvcc"):$PATH bash -e "$folder/steps"; then
        echo "FAILED: $program"
        failures=$((failures + 1))
    fi
done
[ $failures = 0 ]
