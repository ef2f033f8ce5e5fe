"""Rewards for TRL's GRPOTrainer. Rows have the columns prompt and task.

    GRPOTrainer(model, reward_funcs=[kforge_reward], train_dataset=…)
    GRPOTrainer(model, environment_factory=KernelEnv, train_dataset=…)

TRL leaves a completion without a verdict out of the training. It gets None.
"""
import asyncio

from kforge_client import default_client


def reply_of(completion):
    """Returns the text of a completion, which is text or a list of messages."""
    if isinstance(completion, str):
        return completion
    content = (completion[-1].get("content") if completion else None) or ""
    return content if isinstance(content, str) else "".join(c.get("text", "") for c in content)


def reward_function(**fields):
    """Returns a reward function. The fields are those of POST /v1/judge."""
    async def kforge_reward(completions, task, log_extra=None, log_metric=None, **columns):
        judge, given = default_client().judge_async, {"reward": "kevin", **fields}
        jobs = [judge(name, reply=reply_of(c), **given) for name, c in zip(task, completions)]
        results = await asyncio.gather(*jobs)
        if log_extra:
            log_extra("kforge", [result.status for result in results])
        for name in ("correct", "cheating", "scorable") if log_metric and results else ():
            log_metric("kforge/" + name, sum(getattr(r, name) for r in results) / len(results))
        return [result.reward for result in results]
    return kforge_reward


kforge_reward = reward_function()


class KernelEnv:
    """An environment with one tool. Its reward is the best one of the episode."""

    fields = {"reward": "kevin"}

    def reset(self, task, **row):
        self._task, self._rewards, self._asked = task, [], False

    async def judge_kernel(self, source: str) -> str:
        """Judges a CUDA kernel: is it correct, and how fast is it?

        Args:
            source: The whole source file.
        """
        self._asked = True
        result = await default_client().judge_async(self._task, source, **self.fields)
        self._rewards += [] if result.reward is None else [result.reward]
        return result.feedback()

    async def get_reward(self):
        if not self._asked:  # The verdict on no source
            return (await default_client().judge_async(self._task, reply="", **self.fields)).reward
        return max(self._rewards, default=None)
