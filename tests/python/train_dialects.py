"""Trains a tiny random model for one step with each of TRL's trainers on `kforge export --dialect trl`.

    train_dialects.py FOLDER     with the folders trl-sft, trl-dpo, trl-kto and trl-grpo
"""
import pathlib
import sys

from datasets import load_dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

try:
    from trl import KTOConfig, KTOTrainer
except ImportError:
    from trl.experimental.kto import KTOConfig, KTOTrainer

folder = pathlib.Path(sys.argv[1])
# A token for each byte
vocabulary = {letter: i for i, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()) + ["<pad>", "<end>"])}
bytes_only = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
bytes_only.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
bytes_only.decoder = decoders.ByteLevel()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=bytes_only, pad_token="<pad>", eos_token="<end>")
tokenizer.chat_template = (
    "{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}<end>{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
)


# DPO and KTO read their reference model from the folder that the model came from.
LlamaForCausalLM(LlamaConfig(vocab_size=len(vocabulary), hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
                             max_position_embeddings=8192, pad_token_id=tokenizer.pad_token_id)).save_pretrained(folder / "model")
tokenizer.save_pretrained(folder / "model")


def model():
    return LlamaForCausalLM.from_pretrained(folder / "model")


def arguments(kind, **more):
    return kind(output_dir=str(folder / "trained"), max_steps=1, per_device_train_batch_size=2, report_to=[], use_cpu=True, bf16=False,
                save_strategy="no", disable_tqdm=True, **more)


seen = []


def reward(prompts, completions, task, task_hash, **_):
    seen.extend(task)
    assert all(isinstance(c, list) and c[0]["role"] == "assistant" for c in completions)
    assert all(len(h) == 64 for h in task_hash) and all(p[-1]["role"] == "user" for p in prompts)
    return [float(len(c[0]["content"])) for c in completions]


for name, trainer, config, more in (
    ("sft", SFTTrainer, arguments(SFTConfig, max_length=2048), {}),
    ("dpo", DPOTrainer, arguments(DPOConfig, max_length=2048), {}),
    ("kto", KTOTrainer, arguments(KTOConfig, max_length=2048), {}),
    ("grpo", GRPOTrainer, arguments(GRPOConfig, num_generations=2, max_completion_length=8), {"reward_funcs": [reward]}),
):
    data = load_dataset(str(folder / f"trl-{name}"), split="train", cache_dir=str(folder / "cache"))
    assert data.num_rows > 0
    result = trainer(model=model(), args=config, train_dataset=data, processing_class=tokenizer, **more).train()
    assert result.global_step == 1 and result.training_loss == result.training_loss, name
    print(name, data.num_rows, "rows, loss", result.training_loss)
assert seen and set(seen) <= {"axpy", "gemv", "row_softmax"}
