#!/bin/bash
# Stands in for nvcc, with fake_driver.c as its driver: makes an empty library from any source.
# $(dirname)/version holds its CUDA version.
version=$(cat "$(dirname "$0")/version")
[ "$*" = --version ] && { echo "Cuda compilation tools, release ${version%.*}, V$version"; exit; }
while [ $# -gt 1 ]; do
    [ "$1" = -o ] && output=$2
    shift
done
echo 'int kforge_nothing;' | gcc -shared -fPIC -x c - -o "$output"
