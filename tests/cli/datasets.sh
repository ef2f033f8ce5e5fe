#!/bin/bash
# Every format through the real `datasets` library and TRL's checks. Skipped (status 77) where PyPI can't be reached. The virtual environment stays in
# the build folder.
source "$(dirname "$0")/lib.sh"
skip() {
    echo "skipped: $*"
    exit 77
}
venv=$bin/../tests/datasets-venv
if [ ! -e "$venv/ready" ]; then
    python3 -m venv "$venv" >/dev/null 2>&1 || skip "no venv module for python3"
    timeout 400 "$venv/bin/pip" install -q --retries 1 --timeout 20 --no-cache-dir datasets pyarrow zstandard >pip.log 2>&1 &&
        timeout 100 "$venv/bin/pip" install -q --retries 1 --timeout 20 --no-cache-dir --no-deps trl >>pip.log 2>&1 ||
        skip "datasets can't be installed from PyPI: $(tail -1 pip.log)"
    touch "$venv/ready"
fi
"$bin/../tests/make_dataset" d.db "$root/tasks" >/dev/null || fail make_dataset
export KFORGE_STORE=$work/d.db KFORGE_PYTHON=$venv/bin/python
for format in raw sft dpo kto grpo contrast multiturn; do
    expect 0 export --format $format -o $format.jsonl
    expect 0 export --format $format -o $format.parquet
    # The leak that make_dataset plants is kept, so that both splits together are all rows.
    expect 0 export --format $format -o $format --test-family reduction --keep-leaks
done
expect 0 export --format sft -o zst.jsonl.zst
HF_HUB_OFFLINE=1 HF_DATASETS_DISABLE_PROGRESS_BARS=1 "$venv/bin/python" "$root/tests/python/load_datasets.py" "$work" >py.log 2>&1 ||
    fail "$(tail -n 40 py.log | cut -c 1-300)"
# Examples of docs/datasets.md that need nothing but these files
finish
