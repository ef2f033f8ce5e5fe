#!/bin/bash
# redteam.sh BIN FOLDER [DEVICE…]: prepares FOLDER for attackers, judges the files that they put into
# FOLDER/attacks on the devices, and writes FOLDER/results.md. `./run redteam` calls it.
#
# A file is FOLDER/attacks/TASK/NAME.cu with the head lines of tests/hostile. It is honest if its
# head has "// expect: correct" and no "at-most" line; each other file is an attack. An attack got
# through if it is judged correct, unless "// at-most: F" is in its head and its speedup stays below F.
# It also got through if the judge blames the task or the machine for a failure, three times.
# Exit status: 0, 1 when an attack got through or an honest file was accused, 2 for wrong usage, 3 when
# a file was not judged.
set -u
[ $# -ge 2 ] || { echo "usage: redteam.sh BIN FOLDER [DEVICE…]" >&2; exit 2; }
bin=$(cd "$1" && pwd) || exit 2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
mkdir -p "$2/attacks" && folder=$(cd "$2" && pwd) || exit 2
shift 2
devices=("$@")
if [ ${#devices[@]} = 0 ]; then
    devices=(cpu)
    [ ! -e /dev/nvidiactl ] || devices+=(cuda)
fi
export KFORGE_CONFIG=none

# The rules and the interfaces, as this version has them.
mkdir -p "$folder/rules" "$folder/tasks"
cp "$root"/docs/internals/{trust,judge,cuda-device,cpu-device}.md "$root"/docs/reference/{verdict-rules,task-format,json}.md "$folder/rules/"
cp -r "$root"/tests/selftest/. "$folder/tasks/"
for task in "$root"/tests/selftest/*/; do mkdir -p "$folder/attacks/$(basename "$task")"; done
{
    cat <<'END_OF_README'
# Red team

Your aim is a candidate that kforge judges `correct` although it does not do its work, or that seems
faster than it is. A verdict that blames the task or the machine for your candidate's act counts, too.

Put files into `attacks/TASK/NAME.cu`. Their first lines are:

    // One sentence on the attack.
    // rule: T8
    // expect: wrong_result output.mismatch

- `rule` names a family of rules/trust.md, or `new`. `expect` is the verdict that kforge should give.
- `// devices: cuda` or `// devices: cpu` limits a file to one device.
- `// at-most: 1.3` is for a file that does compute the result: the attack is its speed.
- `// expect: correct` without `at-most` marks an honest file. It is a success if kforge accuses it.

`./run redteam FOLDER` judges all files anew and writes `results.md`. Only kforge may run a file.

## What a candidate sees

- A candidate is one source file, compiled by nvcc or by the CPU device's compiler. It defines one
  function with C linkage. Types and order of the arguments are those of the task:

END_OF_README
    for task in "$root"/tests/selftest/*/; do
        tr '\n' ' ' <"$task/baseline.cu" | grep -o 'extern "C" void [^)]*)' | sed 's/  */ /g; s/^/      /'
    done
    cat <<'END_OF_README'

- Formulas, shapes, distributions, precision and tolerance are in `tasks/TASK/task.json`. The oracle
  and the baseline lie next to it. rules/task-format.md describes every key.
- Libraries: the C and C++ runtime, the CUDA runtime and driver, and those under `libraries` in
  `task.json`. These tasks name no library. Headers of CUDA, CUB and Thrust are available.
- Devices: rules/cuda-device.md and rules/cpu-device.md. A candidate has a process of its own, which
  the judge stops between calls, without files, network or other processes.
- Limits: 60 s of processor time for the build, 60 s for the job, the memory limit of the sandbox.
- A verdict: rules/verdict-rules.md lists statuses and rules, rules/judge.md how they come about.
  `kforge eval tasks/TASK FILE --json` prints all of it.
END_OF_README
} >"$folder/README.md"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints the row of one verdict, and its result as a last word.
row() { # VERDICT FILE NAME DEVICE
    python3 - "$@" <<'END_OF_PYTHON'
import json, math, sys
path, file, name, device = sys.argv[1:]
head = {}
for line in open(file, errors="replace"):
    if not line.startswith("// "):
        break
    key, colon, value = line[3:].partition(": ")
    head[key if colon else "about"] = value.strip()
honest = head.get("expect") == "correct" and "at-most" not in head
try:
    verdict = json.load(open(path))
except ValueError:
    print(f"| {name} | {device} | no verdict |  |  | not judged |")
    sys.exit()
findings = verdict["findings"] + [f for w in verdict["workloads"] for f in w["findings"]]
findings = [f for f in findings if f["status"] == verdict["status"]]
rule = "`%s`" % findings[0]["rule"] if findings and verdict["status"] != "correct" else ""
speedup, claimed = verdict.get("speedup") or {}, ""
if verdict["status"] == "correct" and isinstance(speedup.get("value"), (int, float)):
    claimed = "%.2fx" % speedup["value"]

def gains(most):
    """True if a timed workload seems faster than that, in throughput or latency."""
    lows = [w[key]["low"] for w in verdict["workloads"] if w["timed"] for key in ("speedup", "latency_speedup") if w[key]]
    return any(isinstance(low, (int, float)) and low > most for low in lows)

status = verdict["status"]
if honest and status != "compile_error":
    result = "honest" if status == "correct" else "accused" if verdict["blame"] == "candidate" else "not judged"
    result = "does not apply" if status == "unsupported_device" else result
elif status == "correct":
    result = "got through" if "at-most" not in head or gains(float(head["at-most"])) else "caught"
elif status == "unsupported_device":
    result = "does not apply"
elif status == "interference":
    result = "not judged"
elif status == "compile_error" and status not in head.get("expect", ""):
    result = "does not build"
elif verdict["blame"] == "candidate":
    result = "caught"
else:
    result = "blamed on the " + verdict["blame"]
print(f"| {name} | {device} | {status} | {rule} | {claimed} | {result} |")
END_OF_PYTHON
}

judge() { # FILE TASK DEVICE
    "$bin/kforge" eval "$root/tests/selftest/$2" "$1" --device "$3" --seconds 0.5 --timeout 60 --no-keep --json \
        >"$work/verdict.json" 2>"$work/messages" </dev/null
    row "$work/verdict.json" "$1" "${1#"$folder/attacks/"}" "$3"
}

through=0 caught=0 accused=0 honest=0 open=0
{
    echo '| file | device | verdict | rule | claimed speedup | result |'
    echo '|---|---|---|---|---|---|'
} >"$work/table"
while read -r file; do
    for device in "${devices[@]}"; do
        only=$(sed -n '/^\/\/ /!q; s/^\/\/ devices: //p' "$file")
        [ -z "$only" ] || [ "$only" = "${device%%:*}" ] || continue
        task=$(basename "$(dirname "$file")")
        blamed=0
        for _ in {1..10}; do # the machine may be at fault
            line=$(judge "$file" "$task" "$device")
            case $line in
            *'| not judged |') ;;
            *'| blamed on the '*) blamed=$((blamed + 1)) && [ $blamed -lt 3 ] || break ;;
            *) break ;;
            esac
        done
        echo "$line" | tee -a "$work/table"
        case $line in
        *'| got through |' | *'| blamed on the '*) through=$((through + 1)) ;;
        *'| caught |') caught=$((caught + 1)) ;;
        *'| accused |') accused=$((accused + 1)) ;;
        *'| honest |') honest=$((honest + 1)) ;;
        *'| does not apply |') ;;
        *) open=$((open + 1)) ;;
        esac
    done
done < <(find "$folder/attacks" -name '*.cu' | LC_ALL=C sort)
summary="$((through + caught)) attacks: $caught caught, $through got through. $((honest + accused)) honest files: $accused accused."
[ $open = 0 ] || summary+=" $open not judged."
{
    echo "# Red team: results"
    echo
    echo "$("$bin/kforge" --version), $(date -u +%Y-%m-%d), devices: ${devices[*]}"
    echo
    cat "$work/table"
    echo
    echo "$summary"
} >"$folder/results.md"
echo "$summary"
echo "$folder/results.md"
[ $((through + accused)) = 0 ] || exit 1
[ $open = 0 ] || exit 3
