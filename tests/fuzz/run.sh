#!/bin/sh
# usage: run.sh FUZZER CORPUS    fuzzes for KFORGE_FUZZ_SECONDS (40; 0: runs the corpus only). New
# inputs stay in the program's folder. Inputs that make it fail are left in ARTIFACTS/ there. Add
# them to CORPUS together with the fix.
set -eu
fuzzer=$1
corpus=$2
seconds=${KFORGE_FUZZ_SECONDS:-40}
[ -n "$(ls -A "$corpus")" ] || {
    echo "$corpus is empty"
    exit 1
}
mkdir -p "$fuzzer.corpus" "$(dirname "$fuzzer")/artifacts"
if [ "$seconds" = 0 ]; then limit=-runs=0; else limit=-max_total_time=$seconds; fi
exec "$fuzzer" "$limit" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$(dirname "$fuzzer")/artifacts/$(basename "$fuzzer")-" \
    "$fuzzer.corpus" "$corpus"
