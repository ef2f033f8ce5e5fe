#!/bin/sh
# usage: run_sanitized.sh KFORGE-CPUCC FILE.cu   compiles the file with --asan into a program, which must return 0
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" --exe --asan "$2" -o "$folder/program"
ASAN_OPTIONS=detect_leaks=0 "$folder/program"
