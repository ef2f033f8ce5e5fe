"""Loads what `kforge export` wrote with the real `datasets` library, and lets TRL's own code look at it.

    load_datasets.py FOLDER     with FORMAT.jsonl, FORMAT.parquet and the folder FORMAT of each format

TRL's data_utils.py is executed as it is; only `transformers`, whose classes it names in annotations, is a stand-in, because it would bring PyTorch.
"""
import importlib.util
import pathlib
import sys
import tempfile
import types

import pyarrow.parquet
from datasets import load_dataset

folder = pathlib.Path(sys.argv[1])


def fresh():
    """A cache of its own for each call: an offline `datasets` takes another file's rows out of a shared one."""
    return tempfile.mkdtemp(dir=folder)


stand_in = types.ModuleType("transformers")
stand_in.PreTrainedTokenizerBase = stand_in.ProcessorMixin = object
sys.modules.setdefault("transformers", stand_in)
path = pathlib.Path(importlib.util.find_spec("trl").submodule_search_locations[0]) / "data_utils.py"
spec = importlib.util.spec_from_file_location("trl_data_utils", path)
trl = importlib.util.module_from_spec(spec)
spec.loader.exec_module(trl)

FORMATS = ["raw", "sft", "dpo", "kto", "grpo", "contrast", "multiturn"]
loaded = {}
for name in FORMATS:
    json = load_dataset("json", data_files=str(folder / f"{name}.jsonl"), split="train", cache_dir=fresh())
    parquet = load_dataset("parquet", data_files=str(folder / f"{name}.parquet"), split="train", cache_dir=fresh())
    card = load_dataset(str(folder / name), cache_dir=fresh())
    assert json.num_rows == parquet.num_rows > 0, name
    assert json.to_list() == parquet.to_list(), name
    assert card["train"].num_rows + card["test"].num_rows == json.num_rows, (name, card["train"].num_rows, card["test"].num_rows, json.num_rows)
    assert not set(card["train"]["family"]) & set(card["test"]["family"]), name
    assert set(card["train"].features) == set(json.features), name
    assert {k: str(v) for k, v in card["train"].features.items()} == {k: str(v) for k, v in parquet.features.items()}, name
    loaded[name] = json

zst = load_dataset("json", data_files=str(folder / "zst.jsonl.zst"), split="train", cache_dir=fresh())
assert zst.to_list() == loaded["sft"].to_list()

shards = load_dataset(str(folder / "shards"), cache_dir=fresh())
assert len(list((folder / "shards").glob("train-*.parquet"))) > 1
assert sorted([*shards["train"]["id"], *shards["test"]["id"]]) == sorted(loaded["raw"]["id"])
big = pyarrow.parquet.read_table(folder / "big.parquet").column("source").to_pylist()
assert max(big, key=len) == "// \u2014 \U0001f680 \"x\"\n" * 2000000 and len(big) == loaded["raw"].num_rows

# Rows that only differ late in a large file must not break the schema that was inferred from the first.
big = folder / "big.jsonl"
first = (folder / "raw.jsonl").read_text().splitlines()
plain = [line for line in first if '"outcome":"model_failed"' in line]
big.write_text("\n".join(plain * (30_000_000 // (len(plain[0]) * len(plain))) + first) + "\n")
rows = load_dataset("json", data_files=str(big), split="train", cache_dir=fresh())
assert rows[rows.num_rows - 1] == loaded["raw"][loaded["raw"].num_rows - 1]

# TRL: what SFT, DPO, KTO and GRPO ask of their data sets
for name, columns in {"sft": ["messages"], "dpo": ["prompt", "chosen", "rejected"], "kto": ["prompt", "completion", "label"], "grpo": ["prompt"]}.items():
    data = loaded[name]
    assert set(columns) <= set(data.column_names), name
    for row in data:
        assert trl.is_conversational({k: row[k] for k in columns}), name
        for column in columns:
            if column == "label":
                assert isinstance(row[column], bool)
            else:
                roles = [m["role"] for m in row[column]]
                assert roles[-1] == ("user" if column == "prompt" else "assistant"), (name, column, roles)
    assert trl.maybe_extract_prompt(data[0]) == data[0], name  # the prompt is explicit already
both = trl.maybe_unpair_preference_dataset(loaded["dpo"].select_columns(["prompt", "chosen", "rejected"]))
assert both.num_rows == 2 * loaded["dpo"].num_rows and set(both["label"]) == {True, False}
print("datasets and TRL accept", ", ".join(FORMATS))
