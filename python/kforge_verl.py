"""Rewards for verl. ground_truth is the name of the task.

    reward.custom_reward_function.path=pkg://kforge_verl
    reward.custom_reward_function.name=compute_score
    +reward.custom_reward_function.reward_kwargs.mode=check    and further fields of POST /v1/judge

The managers naive, dapo, gdpo and rate_limited take compute_score, and remote takes
compute_score_sync.

verl has no word for a missing reward. A fault of the machine is judged again for `patience`
seconds. Then Unjudged is raised. With `unjudged`, that number is the score, and "scorable" is 0.
"""
import asyncio

from kforge_client import Unjudged, default_client
from kforge_client.client import FIELDS


def plain(value):
    """Returns a setting of OmegaConf as dict, list or value."""
    if hasattr(value, "items"):
        return {key: plain(item) for key, item in value.items()}
    if hasattr(value, "__iter__") and not isinstance(value, str):
        return [plain(item) for item in value]
    return value


async def compute_score(data_source, solution_str, ground_truth, extra_info=None, *,
                        patience=1800.0, unjudged=None, **settings):
    """Returns the score and what verl logs, with the same keys each time."""
    fields = {"reward": "kevin"}
    fields.update((k, plain(v)) for k, v in settings.items() if k in FIELDS)
    result = await default_client().judge_async(
        ground_truth, reply=solution_str, patience=patience, **fields
    )
    if result.reward is None and unjudged is None:
        raise Unjudged("%s: %s: %s" % (ground_truth, result.status, result.summary))
    return {
        "score": float(unjudged) if result.reward is None else result.reward,
        "acc": float(result.correct),
        "cheating": float(result.cheating),
        "scorable": float(result.reward is not None),
        "status": result.status,
    }


def compute_score_sync(*positional, **named):
    """Returns the same for reward managers that take no coroutine."""
    return asyncio.run(compute_score(*positional, **named))
