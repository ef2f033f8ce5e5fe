#!/bin/bash
# `auto` against `sample` with a live model: the same tasks, the same number of proposals, a store for every run; writes a Markdown table with costs.
#
# usage: live.sh [OPTION…] TASK…       tasks by name or folder
#   --model SPEC        the model (kforge doctor --model SPEC says whether it works); may be given again
#   --proposals N       calls of the model a run (12)
#   --device D          cpu, cuda, cuda:N (kforge's default)
#   --seeds "1 2 3"     a run for each (1)
#   --out DIR           table.md, runs with their stores, kernels (live-DATE)
#   --kforge PROGRAM    (build/bin/kforge of this tree, else kforge)
#   --arguments "…"     more for every `kforge optimize`
#
# A proposal is a call of the model, whatever became of it (`--budget-requests` ends a run); the tuner's points come on top in `auto`, as they cost no
# call, and the table counts them. A run that is there already, from a call of this script that was cut off, is not made again. The table names what
# answered as the servers named themselves: figures are of that model, on that device, and of nothing else.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
program=$root/build/bin/kforge
[ -x "$program" ] || program=kforge
proposals=12 device= seeds=1 out=live-$(date +%Y-%m-%d) more=() models=() tasks=()
while [ $# -gt 0 ]; do
    case $1 in
    --model) models+=(--model "$2") ;;
    --proposals) proposals=$2 ;;
    --device) device=$2 ;;
    --seeds) seeds=$2 ;;
    --out) out=$2 ;;
    --kforge) program=$2 ;;
    --arguments) read -r -a more <<<"$2" ;;
    -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'; exit 0 ;;
    -*) echo "live.sh: unknown option $1" >&2; exit 2 ;;
    *) tasks+=("$1"); shift; continue ;;
    esac
    [ $# -ge 2 ] || { echo "live.sh: $1 needs a value" >&2; exit 2; }
    shift 2
done
[ ${#models[@]} -gt 0 ] && [ ${#tasks[@]} -gt 0 ] || { echo "live.sh: give --model SPEC and at least one task; --help says more" >&2; exit 2; }
mkdir -p "$out/runs" "$out/kernels" || exit 3

failures=0
for task in "${tasks[@]}"; do
    path=$task
    [ -e "$path" ] || path=$root/tasks/$task
    for strategy in sample auto; do
        for seed in $seeds; do
            name=$(basename "$task").$strategy.$seed
            [ -s "$out/runs/$name.json" ] && continue
            echo "live.sh: $name" >&2
            # No run counts by what another one has judged: each pays for itself.
            "$program" optimize "$path" "${models[@]}" --strategy "$strategy" --seed "$seed" --budget-requests "$proposals" --store "$out/runs/$name.db" \
                ${device:+--device "$device"} --output "$out/kernels/$name.cu" ${more[@]+"${more[@]}"} --json >"$out/runs/$name.part" 2>"$out/runs/$name.log"
            status=$?
            # 1: nothing was correct; 4: nor before the budget was spent. Both are results.
            case $status in
            0 | 1 | 4) mv "$out/runs/$name.part" "$out/runs/$name.json" ;;
            130) echo "live.sh: interrupted; the same call goes on" >&2; exit 130 ;;
            *) echo "live.sh: $name: exit status $status: $(tail -1 "$out/runs/$name.log")" >&2; failures=$((failures + 1)) ;;
            esac
        done
    done
done
python3 "$root/tests/bench/live_table.py" "$out" "$proposals" >"$out/table.md" || exit 3
cat "$out/table.md"
exit $((failures > 0))
