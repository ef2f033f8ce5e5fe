"""Loads the files of `kforge export` with the real `datasets` library. Passes them to TRL's code.

    load_datasets.py FOLDER     with FORMAT.jsonl, FORMAT.parquet and the folder FORMAT of each format

TRL's data_utils.py runs unmodified. Only `transformers` is a stand-in, because it would need
PyTorch. TRL uses its classes in annotations only.
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
    """Returns a new cache for each call: an offline `datasets` takes another file's rows from a
    shared one."""
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

# Compressed shards, several of them in both splits
for packing in ("jsonl.gz", "jsonl.zst"):
    assert len(list((folder / f"shards-{packing}").glob(f"train-*.{packing}"))) > 1, packing
    packed = load_dataset(str(folder / f"shards-{packing}"), cache_dir=fresh())
    assert [*packed["train"]] == [*shards["train"]] and [*packed["test"]] == [*shards["test"]], packing
    assert len(list((folder / f"groups-{packing}").glob(f"train-*.{packing}"))) > 1, packing
    groups = load_dataset(str(folder / f"groups-{packing}"), cache_dir=fresh())
    assert groups["train"].to_list() == loaded["grpo"].to_list(), packing

# Rows that differ only late in a large file must fit the schema inferred from the first rows.
big = folder / "big.jsonl"
first = (folder / "raw.jsonl").read_text().splitlines()
plain = [line for line in first if '"outcome":"model_failed"' in line]
big.write_text("\n".join(plain * (30_000_000 // (len(plain[0]) * len(plain))) + first) + "\n")
rows = load_dataset("json", data_files=str(big), split="train", cache_dir=fresh())
assert rows[rows.num_rows - 1] == loaded["raw"][loaded["raw"].num_rows - 1]

# A cassette: its first line is a header, and the others are replies. That holds for files that are
# read in parts, too.
lines = (folder / "cassette.jsonl").read_text().splitlines()
replies = [line for line in lines[1:] if '"outcome":"ok"' in line]
big = folder / "big-cassette.jsonl"
big.write_text("\n".join([lines[0]] + replies * (25_000_000 // sum(map(len, replies))) + lines[1:]) + "\n")
for path in (folder / "cassette.jsonl", big):
    rows = load_dataset("json", data_files=str(path), split="train", cache_dir=fresh())
    assert rows[0]["schema"] == "kforge-cassette/1" and rows[0]["reply"] is None, rows[0]
    last = rows[rows.num_rows - 1]
    assert last["schema"] is None and len(last["match"]) == 64 and last["error"] == "timeout", last
    assert rows.num_rows == sum(1 for _ in path.open())

# TRL: the requirements of SFT, DPO, KTO and GRPO on their data sets, and the results
class Template:
    """A chat template like those of models: each message after its role."""

    def apply_chat_template(self, messages, tools=None, tokenize=False, add_generation_prompt=False, continue_final_message=False, **_):
        assert not tokenize and not continue_final_message
        return "".join(f"<{m['role']}>{m['content']}</>" for m in messages) + "<assistant>" * add_generation_prompt


def told(messages):
    return Template().apply_chat_template(messages)


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
        text = trl.apply_chat_template(row, Template())  # of the whole row: no other column is in its way
        if name == "sft":
            assert text["text"] == told(row["messages"])
        elif name == "grpo":
            assert text["prompt"] == told(row["prompt"]) + "<assistant>"
        for column in ("chosen", "rejected", "completion"):
            if column in columns:
                assert text["prompt"] + text[column] == told(row["prompt"] + row[column]), (name, column)
    assert trl.maybe_extract_prompt(data[0]) == data[0], name  # the prompt is explicit already
both = trl.maybe_unpair_preference_dataset(loaded["dpo"].select_columns(["prompt", "chosen", "rejected"]))
assert both.num_rows == 2 * loaded["dpo"].num_rows and set(both["label"]) == {True, False}

# GRPO: TRL gives a reward function its own arguments and all columns of the data set but the prompt. As docs/reference/datasets.md says, two columns are chosen.
import asyncio  # noqa: E402
import os  # noqa: E402

import fake_server  # noqa: E402
import kforge_trl  # noqa: E402
import kforge_verl  # noqa: E402

# A judge that knows what make_dataset wrote: the mark of a variant is its speedup.
server = fake_server.start()
os.environ["KFORGE_SERVER"] = "http://127.0.0.1:%d" % server.server_port


def mark_of(text):
    found = text.split("namespace variant_")
    return int(found[1].split()[0]) if len(found) > 1 else None


def answers(text):
    mark = mark_of(text)
    return ["no_source" if mark is None else "machine" if mark == 4 else "correct %d" % mark]


server.answers = answers
data = loaded["grpo"].select_columns(["prompt", "task"])
assert "completions" in loaded["grpo"].column_names  # which would be given twice
for row, source in zip(data, loaded["grpo"]):
    completions = [[{"role": "assistant", "content": text}] for text in source["completions"]]
    count, known = len(completions), ("prompt", "completion", "completion_ids")
    columns = {key: [row[key]] * count for key in row if key not in known}
    rewards = asyncio.run(kforge_trl.kforge_reward(
        prompts=[row["prompt"]] * count, completions=completions, completion_ids=[[1]] * count,
        trainer_state=None, log_extra=None, log_metric=None, environments=None, **columns))
    assert len(rewards) == len(completions)
    for text, reward in zip(source["completions"], rewards):
        mark = mark_of(text)
        expected = 0.0 if mark is None else None if mark == 4 else 0.3 + mark
        assert reward == expected, (mark, reward)

# verl: the rows of docs/guide/training-data.md, through Parquet as verl reads them
rows = loaded["grpo"].map(lambda row: {
    "data_source": "kforge", "reward_model": {"style": "rule", "ground_truth": row["task"]}})
path = str(folder / "verl.parquet")
rows.select_columns(["data_source", "prompt", "reward_model"]).to_parquet(path)
rows = load_dataset("parquet", data_files=path, split="train", cache_dir=fresh())
for row, source in zip(rows, loaded["grpo"]):
    task = row["reward_model"]["ground_truth"]
    assert [m["role"] for m in row["prompt"]] == ["system", "user"] and task == source["task"]
    for text in source["completions"]:
        try:
            reward = kforge_verl.compute_score_sync(
                row["data_source"], text, task, {"index": 0}, patience=0)
            assert isinstance(reward["score"], float) and mark_of(text) != 4, text[:100]
        except kforge_verl.Unjudged:
            assert mark_of(text) == 4, text[:100]
print("datasets and TRL accept", ", ".join(FORMATS))
