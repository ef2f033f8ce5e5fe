#!/bin/bash
# honest.sh N LOAD [DEVICE]: judges N files of tests/honest, drawn at random, while LOAD busy loops
# run, and prints one table at the end.
#
#   verdicts      all that came
#   correct       with a time
#   accused       blamed on the candidate, except a wrong result; the table lists rule and file
#   wrong         a wrong result
#   suspected     correct in the end, after the clock alone had accused it (flag clock.accused)
#   interference  the machine disturbed the measurement
#   not measured  the judge failed, or correct without a time
#
# DEVICE is cpu (default) or cuda. BIN names the folder of the programs (default: build/release/bin),
# SECONDS_EACH the timing of a verdict (0.1), SEED the start of the random numbers. The verdicts that
# are not correct stay in LOGS, if that names a folder.
# Exit status: 0, 1 when a file was accused or wrong, 2 for wrong usage, 130 after Ctrl-C.
set -u
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bin=${BIN:-$tests/../build/release/bin}
device=${3:-cpu}
if ! [[ "$# ${1:-} ${2:-}" =~ ^[23]\ [1-9][0-9]*\ [0-9]+$ ]]; then
    echo "usage: honest.sh N LOAD [DEVICE]" >&2
    exit 2
fi
number=$1 load=$2
seed=${SEED:-$RANDOM}
RANDOM=$seed
export KFORGE_CONFIG=none
[ -x "$bin/kforge" ] || { echo "no $bin/kforge; run ./run build" >&2; exit 2; }

work=$(mktemp -d)
loops=() judge='' stopped=''
end_all() {
    [ -z "$judge" ] || kill -TERM "$judge" 2>/dev/null
    [ ${#loops[@]} = 0 ] || kill -KILL "${loops[@]}" 2>/dev/null
    wait 2>/dev/null
    rm -rf "$work"
}
trap end_all EXIT
trap 'stopped=130; [ -z "$judge" ] || kill -TERM "$judge" 2>/dev/null' INT TERM HUP

# A loop ends with this script, even if that is killed.
for ((i = 0; i < load; i++)); do
    (
        trap - EXIT INT TERM HUP
        while read -r _ _ state _ </proc/$$/stat && [ "$state" != Z ]; do
            for ((j = 0; j < 200000; j++)); do :; done
        done 2>/dev/null
    ) &
    loops+=($!)
done

mapfile -t files < <(grep -rl --include='*.cu' '^// expect: correct$' "$tests/honest" | sort)
others=cuda
[ "${device%%:*}" != cuda ] || others=cpu
mapfile -t files < <(grep -L "^// devices: $others\$" "${files[@]}")

# Adds a line to the list of results: KIND RULE FILE.
classify() {
    python3 - "$1" "$2" <<'END_OF_PYTHON'
import json, sys
try:
    verdict = json.load(open(sys.argv[1]))
except ValueError:
    print("unmeasured", "no-verdict", sys.argv[2])
    sys.exit()
findings = verdict["findings"] + [f for w in verdict["workloads"] for f in w["findings"]]
findings = [f for f in findings if f["status"] == verdict["status"]] or findings
rule = findings[0]["rule"] if findings else "-"
status, blame = verdict["status"], verdict["blame"]
if status == "correct":
    timed = isinstance((verdict.get("speedup") or {}).get("value"), (int, float))
    accused = [f for f in verdict["flags"] if f.startswith("clock.accused")]
    kind = "suspected" if accused else "correct" if timed else "unmeasured"
    rule = accused[0] if accused else rule
elif status == "interference":
    kind = "interference"
elif status == "wrong_result":
    kind = "wrong"
else:
    kind = "accused" if blame == "candidate" else "unmeasured"
print(kind, status + "/" + rule, sys.argv[2])
END_OF_PYTHON
}

started=$SECONDS
for ((i = 0; i < number; i++)); do
    [ -z "$stopped" ] || break
    file=${files[$(((RANDOM * 32768 + RANDOM) % ${#files[@]}))]}
    "$bin/kforge" eval "$tests/selftest/$(basename "$(dirname "$file")")" "$file" --device "$device" \
        --seconds "${SECONDS_EACH:-0.1}" --no-keep --json >"$work/verdict.json" 2>"$work/messages" </dev/null &
    judge=$!
    while kill -0 "$judge" 2>/dev/null; do wait "$judge"; done
    judge=''
    [ -z "$stopped" ] || break
    line=$(classify "$work/verdict.json" "${file#"$tests/honest/"}")
    echo "$line" >>"$work/results"
    case $line in
    correct*) ;;
    *)
        echo "$line"
        if [ "${LOGS:-}" ]; then
            mkdir -p "$LOGS"
            cat "$work/verdict.json" "$work/messages" >"$LOGS/$i.json"
        fi
        ;;
    esac
done
touch "$work/results"
count() { grep -c "^$1 " "$work/results"; }
echo
grep -E '^(accused|wrong) ' "$work/results" | sort | uniq -c | sort -rn
printf '%-8s %5s %9s %8s %8s %6s %10s %13s %13s %8s\n' DEVICE LOAD VERDICTS CORRECT ACCUSED WRONG \
    SUSPECTED INTERFERENCE 'NOT MEASURED' SECONDS
printf '%-8s %5d %9d %8d %8d %6d %10d %13d %13d %8d\n' "$device" "$load" "$(wc -l <"$work/results")" \
    "$(count correct)" "$(count accused)" "$(count wrong)" "$(count suspected)" \
    "$(count interference)" "$(count unmeasured)" $((SECONDS - started))
echo "seed $seed, ${#files[@]} files"
[ -z "$stopped" ] || exit "$stopped"
[ "$(count accused)" = 0 ] && [ "$(count wrong)" = 0 ]
