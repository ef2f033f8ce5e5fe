#!/bin/bash
# Strategies from the outside: the conversation, prompts and ancestry of each, and the user's own
# files.
source "$(dirname "$0")/lib.sh"
fake=$bin/../tests/fake_worker
task=$root/tasks/axpy

# steps STRATEGY: runs its recorded conversation. Sets $steps to the steps of the models' attempts
# in order.
steps() {
    expect 0 optimize "$task" --workers "$fake" --model "replay:$root/tests/replay/$1.jsonl" --strategy "$1" --store "$1.db" --json --candidates 60 --calls 1
    json 'o["best"]["speedup"]["value"] > 1'
    expect 0 show latest --store "$1.db" --json --attempts 1000
    steps=$(python3 -c 'import json; print(*[a["step"] for a in json.load(open("out"))["latest_attempts"] if a["model_call"]])')
    python3 -c 'import json, sys; sys.exit(any(a["strategy"] != sys.argv[1] for a in json.load(open("out"))["latest_attempts"]))' "$1" || fail "not all of $1"
}
steps sample
[ "$steps" = "draft draft draft draft" ] || fail "sample: $steps"
steps contrast
[ "$steps" = "draft contrast contrast contrast" ] || fail "contrast: $steps"
steps critic # what critics say is no attempt
[ "$steps" = "draft improve improve repair_wrong" ] || fail "critic: $steps"
steps fsr
[ "$steps" = "draft draft draft draft improve improve improve improve" ] || fail "fsr: $steps"
steps evolve
case $steps in "draft "*improve*repair_wrong*) ;; *) fail "evolve: $steps" ;; esac
steps auto
case $steps in "draft repair_build "*repair_wrong*) ;; *) fail "auto: $steps" ;; esac

# The prompts: the coder got the diagnosis, and exemplars and notes were in later prompts.
expect 0 list --store auto.db -q
expect 0 prompt --run "$out" --store auto.db
sent=$out
for word in last latest; do
    expect 0 prompt --run $word --store auto.db
    [ "$out" = "$sent" ] || fail "prompt --run $word"
done
says "paid, "
expect 0 list --store contrast.db -q
run=$out
expect 0 prompt --run "$run" --store contrast.db --step contrast
says "Candidates of this task, the slowest first"
says "Candidate A: speedup"
says "Analysis"
expect 0 prompt --run "$run" --store contrast.db --step crossover --json
json 'o["step"] == "crossover" and "Second parent" in o["prompt"] and o["prompt_tokens"] > 500'
expect 2 prompt "$task" --step crossover --hardware "cpu test"
complains "--run"

# Hardware cards and budgets.
expect 0 prompt "$task" --hardware "GPU of compute capability 8.9"
says "1536 threads"
says "FP8"
expect 0 prompt "$task" --hardware "NVIDIA A100-SXM4-80GB"
says "Compute capability 8.0"
expect 0 prompt "$task" --hardware "NVIDIA B200" --json
json '"tcgen05" in o["prompt"] and o["step"] == "draft" and o["system_tokens"] > 100'
echo '{"like": "sample", "tokens": 300}' >small.json # less than the task itself has
expect 0 prompt "$task" --hardware "NVIDIA B200" --strategy small.json
case $out in *tcgen05*) fail "the card was not left out" ;; esac

# The family tree.
expect 0 show latest --tree --store evolve.db
says "└─ c"
says "best"
expect 0 show latest --format dot --store evolve.db
says "digraph"
says "style=dotted"
expect 0 show latest --format svg --store evolve.db
python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("out")' || fail "no XML"
expect 2 show c1 --tree --store evolve.db
complains "--tree"

# One's own, and mistakes in it.
echo '{"name": "mine", "like": "evolve", "islands": 2, "crossover": 0}' >mine.json
expect 0 optimize "$task" --workers "$fake" --model "replay:$root/tests/replay/evolve.jsonl" --strategy mine.json --store mine.db
expect 0 show latest --store mine.db --json
json 'all(a["strategy"] == "mine" for a in o["latest_attempts"])'
echo '{"ilands": 2}' >wrong.json
expect 2 optimize "$task" --strategy wrong.json
complains "wrong.json: ilands"
expect 2 optimize "$task" --strategy evolv
complains "did you mean evolve"
# Prompts of one's own: a folder that is not there, or names that no template has, would be passed over in silence.
mkdir prompts empty
echo 'Write {{task}}, but faster.' >prompts/first_draft.md
cp "$root/prompts/README.md" prompts
expect 0 prompt "$task" --prompts prompts
says "Write axpy, but faster."
for command in prompt "optimize --workers $fake"; do
    # shellcheck disable=SC2086
    expect 2 $command "$task" --prompts nowhere
    complains "nowhere: No such file or directory; expected a folder of prompt templates"
    # shellcheck disable=SC2086
    expect 2 $command "$task" --prompts empty
    complains "empty: the folder has no prompt template"
done
mv prompts/first_draft.md prompts/frist_draft.md
expect 2 prompt "$task" --prompts prompts
complains "frist_draft.md: no prompt template has this name; did you mean first_draft.md?"
# The scan's findings about a candidate are shown to the user, but they are not part of the verdict.
cat >ask <<'END'
printf '```cuda\n#pragma fake: speed 1.3\nvoid axpy() { clock_gettime(1, 0); }\n```\n'
END
expect 0 optimize "$task" --workers "$fake" --model 'exec:sh ./ask' --strategy sample --candidates 3 --store flags.db --json
expect 0 show c3 --store flags.db
says "Constructs to review in the source"
says "clock_gettime"
says "correct, 1.30x"
expect 0 show c3 --store flags.db --json
json '[(f["rule"], f["word"], f["line"]) for f in o["scan"]] == [("time.read", "clock_gettime", 2)] and not o["verdict"].get("flags")'
expect 0 show c1 --store flags.db --json
json 'o["scan"] == []'
finish
