#!/bin/bash
# run.sh [FOLDER [PART…]]: runs all checks that need a GPU, on an installation made by pack.sh
# (default: this script's folder). Prints a short table of the parts and one of the targets at the
# end. Prints "skipped" without a GPU. Without a PART, it runs the parts that fit into eight minutes
# together, with few repetitions each. FULL=1 gives each part the repetitions that its target needs.
# Then call the parts one by one.
#
# Parts: doctor describe numbers quiet selftests hostile honest faults leak throughput same phases
# work seeds counters agree undisturbed sanitize torch kernelbench profile relu tuner references
# cudal1. torch, kernelbench, references and cudal1 need PyTorch. KFORGE_PYTHON names its Python if
# the first one found lacks it.
# FILTER: words for torch. It judges files with one of them in the name ("honest/ bad/ hostile/
#     gpu/": extensions take minutes).
# KERNELBENCH: a checkout of KernelBench, for kernelbench and references.
# CUDAL1: a file of CUDA-L1's JSON lines, for cudal1.
# PROBLEMS: the problems to judge ("1/19 2/1") in these three parts; default: all.
# LEVELS: the levels to judge in references and cudal1. Another call with the same LOGS continues.
# GPUS=N: throughput is measured with one GPU and with N. N self-tests run in parallel, one for each
#     GPU. references, cudal1 and kforge's side of kernelbench judge on N GPUs.
# LANES=N: N of KernelBench's processes share a GPU and take turns with it (kernelbench.py).
# LOGS=DIR: keeps the output of each part, results.json (device, parts, figures with their targets)
#     and raw times, a line of JSON for each measured workload. Parts of an earlier call with the
#     same LOGS stay in both tables until they run again.
# GPU_DEVICE=cpu: tests the script itself on any machine.
# LIMIT=SECONDS: ends the script in time. It stops the running part, leaves out the later ones and
#     prints the tables. Stopping takes up to 20 seconds.
# PROGRESS=SECONDS (60): prints the last message of the running part that often.
set -u
folder=$(cd "${1:-$(dirname "$0")/../..}" && pwd)
[ $# -gt 0 ] && shift
device=${GPU_DEVICE:-cuda}
full=${FULL:-}
standard="numbers quiet selftests faults leak throughput same agree counters sanitize relu"
parts=${*:-$standard}
logs=${LOGS:-$(mktemp -d)}
mkdir -p "$logs"
export LD_LIBRARY_PATH="$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$(mktemp -d)}
export GPU_FIGURES=$logs/figures.jsonl
export PYTHONUNBUFFERED=1 # what a part that is killed has said is there
check=$folder/bin/gpu_check
python=${KFORGE_PYTHON:-python3}
if [ "$device" = cuda ] && ! ls /dev/nvidiactl >/dev/null 2>&1; then
    echo "skipped: no NVIDIA GPU here (/dev/nvidiactl)"
    exit 0
fi
python3 - "$logs" "describe all $parts" <<'END_OF_PYTHON'
import json, os, sys
logs, anew = sys.argv[1], sys.argv[2].split()
for name, part_of in (("figures.jsonl", lambda line: json.loads(line)["part"]), ("parts.txt", lambda line: line.split()[0])):
    path = os.path.join(logs, name)
    lines = open(path).read().splitlines() if os.path.exists(path) else []
    kept = [line for line in lines if line.strip() and part_of(line) not in anew and part_of(line).split("-")[0] not in anew]
    open(path, "w").write("".join(line + "\n" for line in kept))
END_OF_PYTHON
tasks() { printf '%s\n' "${@/#/$folder/tasks/}"; } # their folders; braces are not expanded in a default
often() { [ "$full" ] && echo "$1" || echo "$2"; }
gpu() { [ "$device" = cuda ] && echo "cuda:$1" || echo "$device"; }
figure() { "$check" figure "$@"; } # NAME VALUE UNIT least|most TARGET
limit=${LIMIT:-}
failed=0
last_words() { # of what the part under way has written last
    local file
    # shellcheck disable=SC2012 # names are our own
    file=$(ls -t "$logs/$GPU_PART.txt" "$logs/$GPU_PART"/*.log 2>/dev/null | head -n 1)
    echo "   $SECONDS s, $GPU_PART: $(tail -n 1 "$file" 2>/dev/null | cut -c1-200)"
}
in_time() { # PROCESS, which leads its group: its status, 124 when it was stopped. Those that judge solutions wait for verdicts under way, and tabulate
    local tell=$((SECONDS + ${PROGRESS:-60}))
    while kill -0 "$1" 2>/dev/null && [ $SECONDS -lt "$limit" ]; do
        sleep 0.1
        [ $SECONDS -lt $tell ] || { last_words && tell=$((SECONDS + ${PROGRESS:-60})); }
    done
    if ! kill -0 "$1" 2>/dev/null; then
        wait "$1"
        return
    fi
    kill -TERM -- "-$1"
    local last=$((SECONDS + 5))
    case $GPU_PART in kernelbench | references | cudal1) last=$((last + 15)) ;; esac
    while kill -0 -- "-$1" 2>/dev/null && [ $SECONDS -lt $last ]; do sleep 0.1; done
    kill -KILL -- "-$1" 2>/dev/null
    wait "$1" 2>/dev/null
    return 124
}
run() { # NAME COMMAND…
    local name=$1 started=$SECONDS status
    shift
    export GPU_PART=$name GPU_RAW=$logs/raw-$name.jsonl
    if [ "$limit" ]; then
        set -m # a process group that can be ended
        "$@" >"$logs/$name.txt" 2>&1 </dev/null &
        set +m
        in_time $!
    else
        "$@" >"$logs/$name.txt" 2>&1
    fi
    status=$?
    [ $status -eq 0 ] || failed=1
    printf '%s %d %d\n' "$name" $status $((SECONDS - started)) >>"$logs/parts.txt"
    echo "== $name: $([ $status -eq 0 ] && echo passed || echo "FAILED ($status)") $((SECONDS - started)) s"
    if [[ "$name" = hostile* ]] || [[ "$name" = honest* ]]; then grep -v "^  ok" "$logs/$name.txt"; else cat "$logs/$name.txt"; fi
}
export KFORGE_SELFTEST=${KFORGE_SELFTEST:-$folder/tests}
now() { date +%s.%N; }
# Measures from the start of `kforge eval` to its verdict: with empty caches, and then with the
# task's own binaries built.
one_eval() { # WHAT TARGET TASK FILE
    local turn started seconds status=0 json
    local -x XDG_CACHE_HOME # the other parts keep theirs
    XDG_CACHE_HOME=$(mktemp -d)
    for turn in first again; do
        json=$logs/eval-${3##*/}-$turn.json
        started=$(now)
        "$folder/bin/kforge" eval "$3" "$4" --device "$device" --no-keep --json >"$json" 2>"$json.log" || status=1
        seconds=$(echo "$(now) $started" | awk '{ printf "%.2f", $1 - $2 }')
        if [ "$turn" = first ]; then echo "  eval $1 with nothing built: $seconds s"; else figure "eval $1" "$seconds" s most "$2"; fi
    done
    return $status
}
evals() {
    local status=0
    one_eval "relu 393216 x 4096" 6 "$folder/tests/gpu/relu" "$folder/tests/gpu/relu/seed_vector.cu" || status=1
    one_eval "axpy of 32 MB" 2.5 "$folder/tests/small" "$folder/tasks/axpy/seed_vector.cu" || status=1
    return $status
}
doctor() {
    local status=0
    "$folder/bin/kforge" doctor --json >"$logs/doctor.json" || status=1
    python3 - "$logs/doctor.json" "$check" <<'END_OF_PYTHON' || status=1
import json, subprocess, sys
o = json.load(open(sys.argv[1]))
for f in o["facts"]:
    print(f"  {f['state']:<8} {f['subject']:<10} {f['text']}" + (f"; {f['hint']}" if f["hint"] else ""), flush=True)
faults = sum(f["state"] == "fault" for f in o["facts"])
subprocess.run([sys.argv[2], "figure", "faults that it finds", str(faults), "", "most", "0"])
END_OF_PYTHON
    return $status
}
# A search without a model, and its result.
tuner() {
    local status=0 task best started
    for task in ${TUNED:-product softmax only_layernorm only_transpose only_bias_gelu only_reduction}; do
        best=$logs/tuned-$task.cu
        started=$SECONDS
        timeout 120 "$folder/bin/kforge" optimize "$folder/tests/$task" --model none --device "$device" --time "${TUNE:-4s}" --counters none \
            --store "$logs/tuner.db" --output "$best" --json >"$logs/tuner-$task.json" 2>"$logs/tuner-$task.log" || status=1
        echo "  searched $task for $((SECONDS - started)) s"
        # shellcheck disable=SC2046 # gemm has one more word
        "$check" reached "$folder/tests/$task" "$best" $([ $task = product ] && echo cublas) || status=1
    done
    return $status
}
one_selftest() { # TURN DEVICE
    local json=$logs/selftest-$1.json status=0
    "$folder/bin/kforge" selftest --device "$2" ${FILTER:+--filter "$FILTER"} --json >"$json" 2>"$json.log" || status=1
    python3 - "$json" "$1" "$2" "$check" <<'END_OF_PYTHON' || status=1
import json, subprocess, sys
path, turn, device, check = sys.argv[1:]
o = json.load(open(path))
print(f"  selftest {turn} on {device}: {o['caught']} of {o['hostile']} caught, {o['accused']} of {o['honest']} accused, {o['seconds']:.0f} s, "
      f"longest {o['longest_seconds']:.1f} s", flush=True)
for name, value, unit, sense, target in (("hostile ones missed", o["hostile"] - o["caught"], "", "most", 0),
                                         ("honest ones accused", o["accused"], "", "most", 0),
                                         ("longer than their limit", o["late"], "", "most", 0),
                                         ("left behind", o["left_behind"], "", "most", 0),
                                         ("time", o["seconds"], "s", "most", 480)):
    subprocess.run([check, "figure", f"selftest {turn}, {name}", str(value), unit, sense, str(target)])
if o["left_behind"]:
    print("    " + o["new_on_machine"].replace("\n", "\n    "))
for c in (c for c in o["cases"] if not c["passed"]):
    print(f"    {c['kind']}/{c['task']}/{c['name']}: {c['status']} {c['finding']}, expected {c['expected']}; {c['seconds']:.1f} s: {c['message'][:200]}")
END_OF_PYTHON
    return $status
}
selftests() {
    local turn lane last status=0 times=${TIMES:-$(often 5 1)} gpus=${GPUS:-1}
    for ((turn = 1; turn <= times; turn = last + 1)); do
        last=$((turn + gpus - 1 < times ? turn + gpus - 1 : times))
        local processes=()
        for ((lane = turn; lane <= last; lane++)); do
            one_selftest $lane "$(gpu $((lane - turn)))" >"$logs/selftest-$lane.txt" 2>&1 &
            processes+=($!)
        done
        for lane in "${processes[@]}"; do wait "$lane" || status=1; done
        for ((lane = turn; lane <= last; lane++)); do cat "$logs/selftest-$lane.txt"; done
    done
    return $status
}
began=$SECONDS
run describe "$check" describe
sed -n 's/^  opened in [0-9.]* s: //p' "$logs/describe.txt" >"$logs/describe.json"
if [ $failed -ne 0 ]; then
    echo "== the device does not open: what there is to say about that, and nothing else"
    parts=doctor
fi
for part in $parts; do
    if [ "$limit" ] && [ $SECONDS -ge "$limit" ]; then
        echo "== $part: left out, $limit s are over"
        echo "$part 124 0" >>"$logs/parts.txt"
        failed=1
        continue
    fi
    case $part in
    describe) ;; # always
    doctor) run doctor doctor ;;
    numbers) run numbers "$check" numbers ;;
    quiet) run quiet "$check" quiet ;;
    hostile) run hostile "$check" corpus "$folder/tests" hostile/ ;;
    honest) run honest "$check" corpus "$folder/tests" honest/ ;;
    same) run same "$check" same "${TIMES:-$(often 40 6)}" "${SECONDS_EACH:-0}" $(printf "$folder/tests/%s " ${SAME:-tiny small softmax product long}) ;;
    phases) for task in ${SAME:-tiny small softmax product long}; do run "phases-$task" "$check" phases "$folder/tests/$task" "${TIMES:-40}" "${SECONDS_EACH:-0}"; done ;;
    work) run work "$check" work ${TASKS:-$(tasks axpy row_softmax gemm histogram bias_gelu)} ;;
    faults) run faults "$check" faults "$folder/tests" ;;
    leak) run leak "$check" leak "$folder/tests" "${COUNT:-$(often 500 80)}" ;;
    throughput) run throughput "$check" throughput "$folder/bin/kforge" "${TASK:-$folder/tests/small}" "${COUNT:-$(often 200 30)}" "${SECONDS_EACH:-0}" \
        $(for ((i = 0; i < ${GPUS:-1}; i++)); do gpu $i; done) ;;
    profile) run profile "$check" profile "${SECONDS_EACH:-1}" ${TASKS:-"$folder"/tasks/*/} ;;
    agree) run agree "$check" agree "${SECONDS_EACH:-$(often 20 4)}" ${AGREE:-$(tasks $(often "axpy gemm row_softmax layernorm transpose reduction bias_gelu attention" "axpy transpose"))} ;;
    undisturbed) run undisturbed "$check" undisturbed "${SECONDS_EACH:-5}" ${TASKS:-$(printf "$folder/tests/%s " only_axpy product softmax only_layernorm only_transpose only_bias_gelu only_conv2d)} ;;
    relu) run relu evals ;;
    tuner) run tuner tuner ;;
    selftests) run selftests selftests ;;
    sanitize) run sanitize "$check" sanitize "$folder/tests/gpu/sanitize" "$folder/tasks/axpy" ;;
    counters) run counters "$check" counters "${SECONDS_EACH:-1}" ${TASKS:-$(tasks $(often "gemm row_softmax transpose histogram spmv_csr" "transpose"))} ;;
    seeds) run seeds "$check" seeds "${SECONDS_EACH:-1}" ${TASKS:-"$folder"/tasks/*/} ;;
    torch) run torch "$check" torch "$folder/tests" "${FILTER:-}" ;;
    kernelbench | references) run $part "$python" "$folder/tests/gpu/$part.py" "$folder" "${KERNELBENCH:?is the checkout}" "$logs/$part" ${PROBLEMS:-} ;;
    cudal1) run cudal1 "$python" "$folder/tests/gpu/cudal1.py" "$folder" "${CUDAL1:?is the file}" "$logs/cudal1" ${PROBLEMS:-} ;;
    *) echo "there is no part $part" >&2 && exit 2 ;;
    esac
done
export GPU_PART=all
[ "$parts" != "$standard" ] || [ "$full" ] || figure "all of it" $((SECONDS - began)) s most 480
python3 - "$logs" <<'END_OF_PYTHON' || failed=1
import datetime, json, os, platform, sys
logs = sys.argv[1]
def lines(name):
    return [json.loads(line) for line in open(os.path.join(logs, name)) if line.strip()]
parts = [line.split() for line in open(os.path.join(logs, "parts.txt"))]
results = {"schema": "kforge-gpu/1", "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
           "host": {"kernel": platform.release(), "processors": os.cpu_count()}, "device": (lines("describe.json") or [None])[0],
           "parts": [{"part": p[0], "status": int(p[1]), "seconds": int(p[2])} for p in parts], "figures": lines("figures.jsonl")}
json.dump(results, open(os.path.join(logs, "results.json"), "w"), indent=1)
print()
for p in results["parts"]:
    print(f"{p['part']:<20} {'passed' if p['status'] == 0 else 'no time' if p['status'] == 124 else 'FAILED'} {p['seconds']} s")
print()
for f in results["figures"]:
    value = f"{f['value']:.4g}" if isinstance(f["value"], (int, float)) else "none" # not a number
    print(f"{'reached' if f['reached'] else 'MISSED':<8} {f['part']:<12} {f['figure']}: {value} {f['unit']}".rstrip() + f" ({f['to_reach']} {f['target']:g})")
sys.exit(not all(f["reached"] for f in results["figures"]))
END_OF_PYTHON
exit $failed
