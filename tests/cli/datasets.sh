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
    timeout 400 "$venv/bin/pip" install -q --retries 1 --timeout 20 --no-cache-dir --no-compile datasets pyarrow zstandard >pip.log 2>&1 &&
        timeout 100 "$venv/bin/pip" install -q --retries 1 --timeout 20 --no-cache-dir --no-compile --no-deps trl >>pip.log 2>&1 ||
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
expect 0 export --format cassette -o cassette.jsonl
# Several files out of one writer, in both splits
expect 0 export -o shards --as parquet --shard-rows 10 --test-family reduction --keep-leaks
# Compressed, several files a split
for packing in jsonl.gz jsonl.zst; do
    expect 0 export -o "shards-$packing" --as $packing --shard-rows 10 --test-family reduction --keep-leaks
    expect 0 export --format grpo -o "groups-$packing" --as $packing --shard-rows 2
done
# A row of 40 MB: more than a batch
cp d.db big.db
python3 - <<'END'
import hashlib, sqlite3
c = sqlite3.connect("big.db")
text = ("// \u2014 \U0001f680 \"x\"\n" * 2000000).encode()
c.execute("update blob set data = ?, size = ?, codec = 0, hash = ? where id = (select min(source) from candidate)", (text, len(text), hashlib.sha256(text).digest()))
c.commit()
END
expect 0 export big.db -o big.parquet
# The real writer on a full disk, killed, and left alone
if unshare -rm true 2>/dev/null; then
    mkdir small
    unshare -rm bash -c 'mount -t tmpfs -o size=16k none small; "$0" export big.db -o small/x.parquet; echo "status $?"; ls -A small' "$program" >out 2>err
    out=$(cat out) err=$(cat err)
    complains "small/x.parquet: the disk is full"
    [ "$out" = "status 3" ] || fail "full disk: $out"
fi
export PYTHONPATH=$root/python PYTHONDONTWRITEBYTECODE=1
HF_HUB_OFFLINE=1 HF_DATASETS_DISABLE_PROGRESS_BARS=1 "$venv/bin/python" "$root/tests/python/load_datasets.py" "$work" >py.log 2>&1 ||
    fail "$(tail -n 40 py.log | cut -c 1-300)"
finish
