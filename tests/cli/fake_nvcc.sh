#!/bin/bash
# Stands in for nvcc beside the driver that pretends: an empty library whatever the source. $(dirname)/version is the CUDA that it says it is of.
version=$(cat "$(dirname "$0")/version")
[ "$*" = --version ] && { echo "Cuda compilation tools, release ${version%.*}, V$version"; exit; }
while [ $# -gt 1 ]; do
    [ "$1" = -o ] && output=$2
    shift
done
echo 'int kforge_nothing;' | gcc -shared -fPIC -x c - -o "$output"
