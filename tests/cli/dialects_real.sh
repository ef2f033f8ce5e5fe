#!/bin/bash
# The rows of --dialect through the trainers' own code: LLaMA-Factory's converters, axolotl's strategies, verl's data sets, OpenAI's types,
# and one step of TRL's trainers with a tiny random model. Needs PyPI once. TRL has the environment of its adapter's test.
# Status 77: a package could not be installed.
home=$HOME cache=${XDG_CACHE_HOME:-$HOME/.cache}
source "$(dirname "$0")/lib.sh"
skipped=
tests=$bin/../tests
# install VENV ARGUMENT…: pip install, for at most three minutes
install() {
    timeout 180 "$1/bin/pip" install -q --retries 1 --timeout 20 --no-cache-dir --no-compile "${@:2}" >>pip.log 2>&1
}
skip() {
    skipped="$skipped $1"
    echo "skipped: $1: $2: $(tail -n 1 pip.log)"
}
"$tests/make_dataset" d.db "$root/tasks" >/dev/null || fail make_dataset
export KFORGE_STORE=$work/d.db HF_DATASETS_DISABLE_PROGRESS_BARS=1
for format in sft dpo kto grpo multiturn; do expect 0 export --format $format -o $format.jsonl; done

readers=$tests/readers-venv
if [ ! -e "$readers/ready" ]; then
    python3 -m venv "$readers" >/dev/null 2>&1 &&
        install "$readers" datasets pyarrow pandas pillow openai &&
        install "$readers" --no-deps llamafactory axolotl verl && touch "$readers/ready"
fi
if [ -e "$readers/ready" ]; then
    export KFORGE_PYTHON=$readers/bin/python
    for format in sft multiturn dpo kto; do expect 0 export --format $format --dialect llamafactory -o llamafactory-$format; done
    for format in dpo kto; do expect 0 export --format $format --dialect axolotl -o axolotl-$format; done
    for format in sft grpo; do expect 0 export --format $format --dialect verl -o verl-$format; done
    for format in sft multiturn dpo grpo; do expect 0 export --format $format --dialect openai -o openai-$format.jsonl; done
    expect 0 export --format grpo --dialect nemo-gym -o nemo-gym-grpo.jsonl
    HF_HUB_OFFLINE=1 "$readers/bin/python" "$root/tests/python/read_dialects.py" "$work" >py.log 2>&1 || fail "$(tail -n 15 py.log | cut -c 1-300)"
else
    skip "the readers" "no packages from PyPI"
fi

for format in sft dpo kto grpo; do expect 0 export --format $format --dialect trl --as jsonl --least-group 1 -o trl-$format; done
HOME=$home XDG_CACHE_HOME=$cache HF_HUB_OFFLINE=1 CUDA_VISIBLE_DEVICES='' bash "$root/tests/python/adapters.sh" "$bin" trl \
    "$root/tests/python/train_dialects.py" "$work" >py.log 2>&1
case $? in
0) ;;
77) cp py.log pip.log && skip "TRL's trainers" "no packages from PyPI" ;;
*) fail "$(tail -n 15 py.log | cut -c 1-300)" ;;
esac
[ $failures -gt 0 ] || [ -z "$skipped" ] || exit 77
finish
