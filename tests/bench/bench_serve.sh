#!/bin/bash
# Figures of `kforge serve` (bench_serve.py). $1 is a program in the folder of the built ones.
devices=("${@:2}")
[ ${#devices[@]} -gt 0 ] || devices=(cpu)
exec python3 "$(dirname "$0")/bench_serve.py" "$(dirname "$1")" "${devices[@]}"
