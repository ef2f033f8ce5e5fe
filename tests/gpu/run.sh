#!/bin/bash
# run.sh [FOLDER [PART…]]: everything that needs a GPU, on an installation made by pack.sh (default: where this script is). Ends with a short table;
# says "skipped" where there is no GPU. Parts: describe numbers hostile honest faults leak throughput same phases seeds counters agree undisturbed
# sanitize torch profile relu tuner selftests. Most are said to have a target; the last line of a part tells whether it was reached. torch needs PyTorch: KFORGE_PYTHON where it is not of the first Python found.
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
export KFORGE_SELFTEST=${KFORGE_SELFTEST:-$folder/tests}
now() { date +%s.%N; }
# From starting `kforge eval` to its verdict: with empty caches, and then with the task's own binaries built.
one_eval() { # WHAT TARGET TASK FILE
    local turn started seconds status=0 json
    export XDG_CACHE_HOME
    XDG_CACHE_HOME=$(mktemp -d)
    for turn in first again; do
        json=$logs/eval-${3##*/}-$turn.json
        started=$(now)
        "$folder/bin/kforge" eval "$3" "$4" --device cuda --no-keep --json >"$json" 2>"$json.log" || status=1
        seconds=$(echo "$(now) $started" | awk '{ printf "%.2f", $1 - $2 }')
        echo "  eval $1, $turn: $seconds s, to reach: $2 s; $(awk -v a="$seconds" -v b="$2" 'BEGIN { print a <= b ? "reached" : "MISSED" }')"
        [ "$turn" = first ] || awk -v a="$seconds" -v b="$2" 'BEGIN { exit !(a <= b) }' || status=1
    done
    return $status
}
evals() {
    local status=0
    one_eval "relu 393216 x 4096" 6 "$folder/tests/gpu/relu" "$folder/tests/gpu/relu/seed_vector.cu" || status=1
    one_eval "axpy of 32 MB" 2.5 "$folder/tests/small" "$folder/tasks/axpy/seed_vector.cu" || status=1
    return $status
}
# A search without a model, and what came out of it.
tuner() {
    local status=0 task best started
    for task in ${TUNED:-product softmax only_layernorm only_transpose only_bias_gelu only_reduction}; do
        best=$logs/tuned-$task.cu
        started=$SECONDS
        timeout 120 "$folder/bin/kforge" optimize "$folder/tests/$task" --model none --device cuda --time "${TUNE:-4s}" --counters none \
            --store "$logs/tuner.db" --output "$best" --json >"$logs/tuner-$task.json" 2>"$logs/tuner-$task.log" || status=1
        echo "  searched $task for $((SECONDS - started)) s"
        # shellcheck disable=SC2046 # gemm has one more word
        "$check" reached "$folder/tests/$task" "$best" $([ $task = product ] && echo cublas) || status=1
    done
    return $status
}
selftests() {
    local turn status=0
    for turn in $(seq "${TIMES:-5}"); do
        "$folder/bin/kforge" selftest --device cuda ${FILTER:+--filter "$FILTER"} --json >"$logs/selftest-$turn.json" 2>"$logs/selftest-$turn.log" || status=1
        python3 - "$logs/selftest-$turn.json" "$turn" <<'END' || status=1
import json, sys
o = json.load(open(sys.argv[1]))
print(f"  selftest {sys.argv[2]}: {o['caught']} of {o['hostile']} caught, {o['accused']} of {o['honest']} accused, {o['seconds']:.0f} s "
      f"(to reach: 480), longest {o['longest_seconds']:.1f} s, {o['late']} late, {o['left_behind']} left behind")
if o["left_behind"]:
    print("    " + o["new_on_machine"].replace("\n", "\n    "))
for c in (c for c in o["cases"] if not c["passed"]):
    print(f"    {c['kind']}/{c['task']}/{c['name']}: {c['status']} {c['finding']}, expected {c['expected']}; {c['seconds']:.1f} s: {c['message'][:200]}")
sys.exit(o["seconds"] > 480)
END
    done
    return $status
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
    relu) run relu evals ;;
    tuner) run tuner tuner ;;
    selftests) run selftests selftests ;;
    sanitize) run sanitize "$check" sanitize "$folder/tests/gpu/sanitize" "$folder/tasks/axpy" ;;
    counters) run counters "$check" counters "${SECONDS_EACH:-1}" ${TASKS:-$(tasks gemm row_softmax transpose histogram spmv_csr)} ;;
    seeds) run seeds "$check" seeds "${SECONDS_EACH:-1}" ${TASKS:-"$folder"/tasks/*/} ;;
    esac
done
echo
for name in "${!results[@]}"; do printf '%-20s %s\n' "$name" "${results[$name]}"; done | sort
exit $failed
