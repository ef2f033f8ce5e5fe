"""Reads the rows of `kforge export --dialect` with the readers of the trainers themselves.

    read_dialects.py FOLDER     with the exports that tests/cli/dialects_real.sh makes

The readers' files run unmodified. Packages that they import for models only are stand-ins here:
PyTorch, transformers and the like. Each reader must keep every text of the rows.
"""
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import tempfile
import types
from unittest.mock import MagicMock

import datasets
import pydantic

folder = pathlib.Path(sys.argv[1])


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes modules of packages that are not installed. Any name in them is a class or a mock."""

    names = {"torch", "transformers", "omegaconf", "peft", "tensordict", "ray", "accelerate"}

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        class Module(types.ModuleType):
            def __getattr__(self, key):
                if key.startswith("__"):
                    raise AttributeError(key)
                value = type(key, (), {}) if key[0].isupper() else MagicMock(name=key)
                setattr(self, key, value)
                return value

        return Module(spec.name)

    def exec_module(self, module):
        module.__path__ = []


def rows(name):
    return [json.loads(line) for line in open(folder / f"{name}.jsonl", encoding="utf-8")]


def package(name):
    """Registers a package without running its __init__.py."""
    spec = importlib.machinery.PathFinder.find_spec(name.rsplit(".", 1)[-1], sys.modules[name.rsplit(".", 1)[0]].__path__ if "." in name else None)
    module = types.ModuleType(name)
    module.__path__ = list(spec.submodule_search_locations)
    sys.modules[name] = module
    return module


def stub(name, **values):
    module = types.ModuleType(name)
    for key, value in values.items():
        setattr(module, key, value)
    sys.modules[name] = module


class Template:
    """A tokenizer with a chat template like those of models: each message after its role."""

    chat_template = "of the tokenizer"

    def apply_chat_template(self, messages, tokenize=False, add_generation_prompt=False, **_):
        text = "".join(f"<{m['role']}>{m['content']}</>" for m in messages) + "<assistant>" * add_generation_prompt
        return list(text.encode()) if tokenize else text


def said(messages):
    return Template().apply_chat_template(messages)


def load(path):
    kind = "parquet" if path.suffix == ".parquet" else "json"
    return datasets.load_dataset(kind, data_files=str(path), split="train", cache_dir=tempfile.mkdtemp(dir=folder))


own = {name: rows(name) for name in ("sft", "dpo", "kto", "grpo", "multiturn")}
sys.meta_path.insert(0, StandIns())
sys.modules["torch.nn"] = importlib.import_module("torch").nn = types.SimpleNamespace(Module=type("Module", (), {}))


# ---- LLaMA-Factory: its parser of dataset_info.json, and its converters ------------------------

def llamafactory():
    package("llamafactory")
    package("llamafactory.extras")
    package("llamafactory.data")
    stub("llamafactory.extras.misc", use_modelscope=lambda: False, use_openmind=lambda: False)
    constants = importlib.import_module("llamafactory.extras.constants")
    parser = importlib.import_module("llamafactory.data.parser")
    converter = importlib.import_module("llamafactory.data.converter")
    arguments = types.SimpleNamespace(media_dir="")
    for format, wanted in (("sft", 1), ("multiturn", 1), ("dpo", 2), ("kto", 2)):
        place = folder / f"llamafactory-{format}"
        (attributes,) = parser.get_dataset_list([f"kforge_{format}"], str(place))
        path = place / attributes.dataset_name
        assert constants.FILEEXT2TYPE[path.suffix[1:]] == "json"
        assert attributes.ranking == (format == "dpo")
        convert = converter.get_dataset_converter(attributes.formatting, attributes, arguments)
        data = load(path)
        assert len(data) == len(own[format]) > 0
        for row, source in zip(data, own[format]):
            got = convert(row)
            whole = source["messages"] if "messages" in source else source["prompt"]
            assert got["_system"] == whole[0]["content"]
            assert len(got["_response"]) == wanted and got["_prompt"], (format, got)
            texts = [m["content"] for m in got["_prompt"] + got["_response"]]
            if format in ("sft", "multiturn"):
                assert texts == [m["content"] for m in whole[1:]]
            elif format == "dpo":
                assert texts == [whole[1]["content"], source["chosen"][0]["content"], source["rejected"][0]["content"]]
            else:
                reply = source["completion"][0]["content"]
                assert texts == [whole[1]["content"]] + ([reply, ""] if source["label"] else ["", reply])


# ---- axolotl: its strategies for DPO and KTO ---------------------------------------------------

def axolotl():
    for name in ("axolotl", "axolotl.prompt_strategies", "axolotl.prompt_strategies.dpo", "axolotl.prompt_strategies.kto"):
        package(name)
    stub("axolotl.utils")
    stub("axolotl.utils.chat_templates", extract_chat_template_args=lambda **_: (None, None), get_chat_template=lambda **_: None)
    stub("axolotl.utils.schemas")
    stub("axolotl.utils.schemas.utils", handle_legacy_message_fields_logic=lambda config: config)
    config = {}
    for line in (folder / "axolotl-dpo" / "axolotl.yml").read_text().splitlines():
        key, _, value = line.strip(" -").partition(": ")
        config[key] = value
    assert config["rl"] == "dpo" and config["type"] == "chat_template.default"
    chat = importlib.import_module("axolotl.prompt_strategies.dpo.chat_template")
    transform, _ = chat.default({"datasets": [config]})
    data = load(folder / "axolotl-dpo" / config["path"])
    assert len(data) == len(own["dpo"]) > 0
    for row, source in zip(data, own["dpo"]):
        got = transform(row, tokenizer=Template())
        assert got["prompt"] == said(source["prompt"]) + "<assistant>"
        for side in ("chosen", "rejected"):
            assert got[side] == (source[side][0]["content"] + "</>").rstrip(), side
    kto = importlib.import_module("axolotl.prompt_strategies.kto.chatml").ultra({})
    for row, source in zip(load(folder / "axolotl-kto" / "train-00000.jsonl"), own["kto"]):
        label = row["label"]
        got = kto(row)
        system, user = (m["content"] for m in source["prompt"])
        assert got["prompt"].startswith(f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{user}<|im_end|>")
        assert got["completion"] == source["completion"][0]["content"] + "<|im_end|>" and label == source["label"]


# ---- verl: its data sets for RL and SFT --------------------------------------------------------

def verl():
    package("verl")
    package("verl.utils")
    package("verl.utils.dataset")
    stub("verl.utils.fs", copy_to_local=lambda src, **_: src)
    stub("verl.utils.import_utils", load_extern_object=None)
    stub("verl.utils.tokenizer", build_multimodal_processor_inputs=None, normalize_token_ids=list)
    reader = importlib.import_module("verl.utils.dataset.rl_dataset")
    data = reader.RLHFDataset([str(folder / "verl-grpo" / "train-00000.parquet")], Template(),
                              {"filter_overlong_prompts": False, "cache_dir": str(folder)})
    assert len(data) == len(own["grpo"]) > 0
    for i, source in enumerate(own["grpo"]):
        row = data[i]
        assert row["raw_prompt"] == source["prompt"] and row["index"] == i and row["data_source"] == "kforge"
        assert row["reward_model"] == {"style": "rule", "ground_truth": source["task"]}
        assert row["extra_info"]["task_hash"] == source["task_hash"]
    # SFT: the class needs a model's tokenizer. Its reader is this call with this function.
    import pandas

    nested = importlib.import_module("verl.utils.py_functional").convert_nested_value_to_list_recursive
    frame = pandas.read_parquet(folder / "verl-sft" / "train-00000.parquet", dtype_backend="pyarrow")
    assert frame["messages"].apply(nested).tolist() == [row["messages"] for row in own["sft"]]


# ---- OpenAI's rules for files, and its types for requests, which NeMo-Gym takes ----------------

def conversation(messages, weights):
    assert messages and all(set(m) <= {"role", "content", "name", "weight"} for m in messages)
    assert all(m["role"] in ("system", "user", "assistant") and isinstance(m["content"], str) and m["content"] for m in messages)
    assert all(m["role"] != "system" for m in messages[1:])
    replies = [m for m in messages if m["role"] == "assistant"]
    assert all("weight" not in m for m in messages if m["role"] != "assistant")
    assert all(m.get("weight", 1) in (0, 1) and ("weight" in m) == weights for m in replies)
    return replies


def openai():
    from openai.types.chat import ChatCompletionMessageParam
    from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

    message = pydantic.TypeAdapter(list[ChatCompletionMessageParam])
    for format in ("sft", "multiturn"):
        data = rows(f"openai-{format}")
        assert data
        for row in data:
            assert set(row) == {"messages"} and row["messages"][-1]["role"] == "assistant"
            replies = conversation(row["messages"], format == "multiturn")
            assert any(m.get("weight", 1) for m in replies), "nothing to train"
            message.validate_python(row["messages"])
    data = rows("openai-dpo")
    for row, source in zip(data, own["dpo"], strict=True):
        assert set(row) == {"input", "preferred_output", "non_preferred_output"}
        assert not conversation(row["input"]["messages"], False) and row["input"]["messages"][-1]["role"] == "user"
        for side in ("preferred_output", "non_preferred_output"):
            assert len(conversation(row[side], False)) == len(row[side]) == 1
        message.validate_python(row["input"]["messages"] + row["preferred_output"])
    for row in rows("openai-grpo"):  # the last message of a row for a grader is the user's
        assert not conversation(row["messages"], False) and row["messages"][-1]["role"] == "user"
    # NeMo-Gym sends them to a model's /v1/responses.
    request = pydantic.TypeAdapter(ResponseCreateParamsNonStreaming)
    for row, source in zip(rows("nemo-gym-grpo"), own["grpo"], strict=True):
        request.validate_python(row["responses_create_params"] | {"model": "any"})
        assert [(m["role"], m["content"]) for m in row["responses_create_params"]["input"]] == [(m["role"], m["content"]) for m in source["prompt"]]
        assert row["verifier_metadata"] == {"task": source["task"], "task_hash": source["task_hash"]}


for reader in (openai, llamafactory, axolotl, verl):
    reader()
    print(reader.__name__, "reads its rows")
