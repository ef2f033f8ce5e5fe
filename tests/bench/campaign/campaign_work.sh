#!/bin/sh
# campaign_work.sh SECONDS [RESULTS]: judges the jobs of a packed part, for SECONDS at most, on the
# machine with the device. RESULTS (default: results, next to this script) holds all that has to be
# carried back, after every job. A second call goes on.
#
# DEVICES: one worker for each, as in "cuda:0 cuda:1". Default: kforge's default device. The jobs of
#   a task stay on one device, since a worker keeps the baseline that it has started. At the end,
#   the first device that works judges the jobs of a device that failed.
# XDG_CACHE_HOME: keep it between parts, with the builds of oracles and baselines in it.
# KFORGE: the program, if the part was packed without one. KFORGE_PYTHON: a Python with PyTorch.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
seconds=$1 results=${2:-$here/results}
end=$(($(date +%s) + seconds))
left() { echo $((end - $(date +%s))); }
kforge=${KFORGE:-$here/kforge/bin/kforge}
plain=${LD_LIBRARY_PATH:-}
libraries=$here/kforge/lib${plain:+:$plain}
mkdir -p "$results/jobs" "$results/taken" "$results/verdicts" "$results/kernelbench"
cp "$here/index.json" "$results/"
# A job that a killed worker had taken is judged again.
rm -f "$results"/taken/*
for job in "$here"/jobs/*.json; do
    [ ! -e "$job" ] || [ -e "$results/verdicts/${job##*/}" ] || cp "$job" "$results/jobs/"
done

hello() { # hello [--device DEVICE]: what one worker says of its device, for all of them
    [ ! -s "$results/hello.json" ] || return 0
    LD_LIBRARY_PATH=$libraries "$kforge" worker "$@" </dev/null | head -n 1 >"$results/hello.part"
    mv "$results/hello.part" "$results/hello.json"
}

work() { # work FOLDER [--device DEVICE]
    spool=$1
    shift
    now=$(left)
    [ "$now" -gt 0 ] || return 0
    LD_LIBRARY_PATH=$libraries timeout -k 30 -s TERM "$now" "$kforge" worker "$@" \
        --spool "$spool" --once
}
if [ -z "${DEVICES:-}" ]; then
    hello
    work "$results" || echo "the worker ended with status $?" >&2
else
    if [ ! -r "$here/tasks.txt" ]; then
        echo "$here/tasks.txt is missing; pack this part again with campaign.py pack" >&2
        exit 2
    fi
    hello --device "${DEVICES%% *}"
    number=0
    for device in $DEVICES; do
        lane=$results/lanes/$number
        mkdir -p "$lane/jobs" "$lane/taken"
        rm -f "$lane"/jobs/* "$lane"/taken/* "$lane/failed"
        ln -sfn ../../verdicts "$lane/verdicts"
        number=$((number + 1))
    done
    awk -v number=$number '!($2 in at) { at[$2] = count++ % number } { print $1, at[$2] }' \
        "$here/tasks.txt" | while read -r job lane; do
        [ -e "$results/jobs/$job.json" ] || continue
        mv "$results/jobs/$job.json" "$results/lanes/$lane/jobs/"
        touch "$results/lanes/$lane/jobs/$job.json" # the oldest one comes first
    done
    number=0
    for device in $DEVICES; do
        {
            work "$results/lanes/$number" --device "$device" || {
                echo "the worker of $device ended with status $?" >&2
                touch "$results/lanes/$number/failed"
            }
        } &
        number=$((number + 1))
    done
    wait
    number=0 working=
    for device in $DEVICES; do
        [ -n "$working" ] || [ -e "$results/lanes/$number/failed" ] || working=$device
        number=$((number + 1))
    done
    rest=0
    for job in "$results"/lanes/*/jobs/*.json "$results"/lanes/*/taken/*.json; do
        name=${job##*/}
        [ -e "$job" ] && [ ! -e "$results/verdicts/$name" ] || continue
        cp "$here/jobs/$name" "$results/jobs/"
        rest=$((rest + 1))
    done
    if [ "$rest" -gt 0 ] && [ -n "$working" ]; then
        echo "$working judges $rest jobs of devices that failed" >&2
        work "$results" --device "$working" || echo "the worker ended with status $?" >&2
    fi
fi

# KernelBench's own evaluator, in a process for each winner, without the libraries of kforge.
for folder in "$here"/kernelbench/*/; do
    name=$(basename "$folder")
    now=$(left)
    [ -d "$folder" ] && [ "$now" -gt 0 ] && [ ! -s "$results/kernelbench/$name.json" ] || continue
    build=$(mktemp -d)
    TORCH_EXTENSIONS_DIR=$build timeout -k 10 "$now" "${KFORGE_PYTHON:-python3}" \
        "$here/kernelbench_side.py" "$here/checkout" "$folder/problem.py" "$folder/solution.py" \
        "$build" >"$build/log" 2>&1 || true
    sed -n 's/^kforge: //p' "$build/log" | tail -n 1 >"$results/kernelbench/$name.part"
    if [ -s "$results/kernelbench/$name.part" ]; then
        mv "$results/kernelbench/$name.part" "$results/kernelbench/$name.json"
    else
        mv "$build/log" "$results/kernelbench/$name.log"
        rm "$results/kernelbench/$name.part"
    fi
    rm -rf "$build"
done
jobs=$(find "$here/jobs" -name '*.json' | wc -l)
verdicts=$(find "$results/verdicts" -name '*.json' | wc -l)
echo "$verdicts of $jobs jobs are judged"
