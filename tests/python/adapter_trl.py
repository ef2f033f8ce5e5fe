"""python/kforge_trl.py in TRL's GRPOTrainer, with a tiny random model on the processor."""
import os
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_DISABLE_PROGRESS_BARS="1",
                  TRL_EXPERIMENTAL_SILENCE="1", CUDA_VISIBLE_DEVICES="", TOKENIZERS_PARALLELISM="0")
from adapter_servers import each, tokenizer, versions  # noqa: E402

import torch  # noqa: E402
from datasets import Dataset  # noqa: E402
from kforge_trl import KernelEnv, reward_function  # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402

PROMPT = [{"role": "user", "content": "Make axpy faster."}]
tokens = tokenizer()


def trainer(**arguments):
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(
        vocab_size=len(tokens), n_positions=4096, n_embd=16, n_layer=1, n_head=2,
        eos_token_id=tokens.eos_token_id, pad_token_id=tokens.pad_token_id))
    settings = GRPOConfig(
        output_dir=tempfile.mkdtemp(), use_cpu=True, bf16=False, max_steps=2, num_generations=4,
        per_device_train_batch_size=4, max_completion_length=8, logging_steps=1, report_to=[],
        save_strategy="no", disable_tqdm=True)
    data = Dataset.from_dict({"prompt": [PROMPT] * 4, "task": ["axpy"] * 4})
    return GRPOTrainer(model, args=settings, train_dataset=data, processing_class=tokens,
                       **arguments)


def training(policy):
    asked = trainer(reward_funcs=[reward_function(**policy.fields)])
    asked.train()
    logs = [row for row in asked.state.log_history if "rewards/kforge_reward/mean" in row]
    assert len(logs) == 2 and all(row["kforge/scorable"] == 1.0 for row in logs), logs
    # Text of a random model has no kernel.
    assert all(row["rewards/kforge_reward/mean"] == 0.0 for row in logs), logs


def scripted(policy):
    """The same trainer's rewards for completions of a scripted policy, messages or text."""
    asked = trainer(reward_funcs=[reward_function(**policy.fields)])
    replies = [policy.good, policy.wrong, policy.broken, getattr(policy, "fault", policy.good)]
    expected = [policy.good_reward, policy.wrong_reward, policy.broken_reward]
    expected += [policy.good_reward if policy.real else None]
    for prompts, completions in (
            ([PROMPT] * 4, [[{"role": "assistant", "content": reply}] for reply in replies]),
            (["Make axpy faster."] * 4, replies)):
        inputs = [{"prompt": prompt, "task": "axpy", "family": "blas"} for prompt in prompts]
        rewards = asked._calculate_rewards(inputs, prompts, completions, [[1]] * 4)[:, 0].tolist()
        rewards = [None if reward != reward else round(reward, 5) for reward in rewards]
        assert rewards == expected, rewards
    if not policy.real:
        assert policy.seen[-1][1]["reward"] == "kevin" and "reply" in policy.seen[-1][1]


def environments(policy):
    """An environment, driven as the trainer drives it."""
    class Asked(KernelEnv):
        fields = {"reward": "kevin", **policy.fields}

    template = os.path.join(os.path.dirname(__import__("trl").__file__), "chat_templates")
    tokens.chat_template = open(template + "/qwen3.jinja").read()
    asked = trainer(environment_factory=Asked)
    asked.train()
    logs = [row for row in asked.state.log_history if "rewards/Asked/mean" in row]
    assert len(logs) == 2 and all(row["rewards/Asked/mean"] == 0.0 for row in logs), logs
    assert [tool.__name__ for tool in asked.tools] == ["judge_kernel"]

    async def episode(*sources):
        environment = Asked()
        assert environment.reset(prompt=PROMPT, task="axpy") is None
        said = [await environment.judge_kernel(source) for source in sources]
        return said, await environment.get_reward()

    import asyncio
    good = policy.source if policy.real else policy.good
    said, reward = asyncio.run(episode("int x = ;\n" if policy.real else policy.broken, good, ""))
    assert reward == policy.good_reward and "compile_error" in said[0] and "correct" in said[1]
    assert asyncio.run(episode())[1] == 0.0
    if not policy.real:
        assert asyncio.run(episode(policy.fault))[1] is None


each(training)
each(scripted)
each(environments)
versions("trl", "torch", "transformers", "datasets")
