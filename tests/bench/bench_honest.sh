#!/bin/sh
# Judges the honest candidates of the corpus again and again, and counts those that are accused.
#   tests/bench/bench_honest.sh [VERDICTS [DEVICE [BUSY]]]
# BUSY: so many programs compute meanwhile. $KFORGE: the program, else that of the release build.
set -u
cd "$(dirname "$0")/../.." || exit 2
wanted=${1:-1000} device=${2:-cpu} busy=${3:-0} program=${KFORGE:-build/release/bin/kforge}
verdicts=0 accused=0 rounds=0 pids=
lines=$(mktemp) || exit 2
trap 'for pid in $pids; do kill "$pid" 2>/dev/null; done; rm -f "$lines"' EXIT
while [ "$busy" -gt 0 ]; do
    (while :; do :; done) &
    pids="$pids $!" busy=$((busy - 1))
done
while [ "$verdicts" -lt "$wanted" ]; do
    "$program" selftest --device "$device" --folder tests --filter honest/ --all >"$lines" 2>&1
    grep '^MISSED\|^ACCUSED\|^LATE\|^late' "$lines"
    counts='s/.* caught ([^)]*), \([0-9]*\) of \([0-9]*\) honest ones accused.*/\1 \2/p'
    set -- $(sed -n "$counts" "$lines")
    [ $# -eq 2 ] && [ "$2" -gt 0 ] || { cat "$lines"; exit 2; }
    accused=$((accused + $1)) verdicts=$((verdicts + $2)) rounds=$((rounds + 1))
    echo "$verdicts honest verdicts, $accused accused, load $(cut -d ' ' -f 1-3 /proc/loadavg)"
done
[ "$accused" -eq 0 ]
