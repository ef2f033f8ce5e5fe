#!/bin/bash
# run.sh [FOLDER [PART…]]: everything that needs a GPU, on an installation made by pack.sh (default: where this script is). Ends with a short table;
# says "skipped" where there is no GPU. Parts: describe numbers hostile honest faults leak throughput same phases seeds counters agree undisturbed
# sanitize torch profile. torch needs PyTorch: KFORGE_PYTHON where it is not of the first Python found.
# LOGS=DIR keeps what each part says.
set -u
folder=$(cd "${1:-$(dirname "$0")/../..}" && pwd)
[ $# -gt 0 ] && shift
parts=${*:-describe numbers hostile honest faults leak throughput same seeds counters agree sanitize}
logs=${LOGS:-$(mktemp -d)}
export LD_LIBRARY_PATH="$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$(mktemp -d)}
check=$folder/bin/gpu_check
if ! ls /dev/nvidiactl >/dev/null 2>&1; then
    echo "skipped: no NVIDIA GPU here (/dev/nvidiactl)"
    exit 0
fi
tasks() { printf '%s\n' "${@/#/$folder/tasks/}"; } # their folders; braces are not expanded in a default
declare -A results
failed=0
run() { # NAME COMMAND…
    local name=$1 started=$SECONDS status
    shift
    "$@" >"$logs/$name.txt" 2>&1
    status=$?
    [ $status -eq 0 ] || failed=1
    results[$name]="$([ $status -eq 0 ] && echo passed || echo "FAILED ($status)") $((SECONDS - started)) s"
    echo "== $name: ${results[$name]}"
    if [[ "$name" = hostile* ]] || [[ "$name" = honest* ]]; then grep -v "^  ok" "$logs/$name.txt"; else cat "$logs/$name.txt"; fi
}
for part in $parts; do
    case $part in
    describe) run describe "$check" describe ;;
    numbers) run numbers "$check" numbers ;;
    hostile) run hostile "$check" corpus "$folder/tests" hostile/ ;;
    honest) run honest "$check" corpus "$folder/tests" honest/ ;;
    same | phases) for task in ${SAME:-tiny small softmax product long}; do run "$part-$task" "$check" $part "$folder/tests/$task" "${TIMES:-40}" "${SECONDS_EACH:-0}"; done ;;
    faults) run faults "$check" faults "$folder/tests" ;;
    leak) run leak "$check" leak "$folder/tests" "${COUNT:-500}" ;;
    throughput) run throughput "$check" throughput "$folder/bin/kforge" "${TASK:-$folder/tests/small}" "${COUNT:-200}" "${SECONDS_EACH:-0}" "${GPUS:-1}" ;;
    profile) run profile "$check" profile "${SECONDS_EACH:-1}" ${TASKS:-"$folder"/tasks/*/} ;;
    agree) run agree "$check" agree "${SECONDS_EACH:-20}" ${AGREE:-$(tasks axpy gemm row_softmax layernorm transpose reduction bias_gelu attention)} ;;
    undisturbed) run undisturbed "$check" undisturbed "${SECONDS_EACH:-3}" ${TASKS:-$(tasks axpy gemm row_softmax layernorm transpose bias_gelu conv2d)} ;;
    sanitize) run sanitize "$check" sanitize "$folder/tests/gpu/sanitize" "$folder/tasks/axpy" ;;
    counters) run counters "$check" counters "${SECONDS_EACH:-1}" ${TASKS:-$(tasks gemm row_softmax transpose histogram spmv_csr)} ;;
    seeds) run seeds "$check" seeds "${SECONDS_EACH:-1}" ${TASKS:-"$folder"/tasks/*/} ;;
    esac
done
echo
for name in "${!results[@]}"; do printf '%-20s %s\n' "$name" "${results[$name]}"; done | sort
exit $failed
