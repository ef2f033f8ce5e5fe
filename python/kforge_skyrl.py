"""An environment for SkyRL-gym. The task is extras["reward_spec"]["ground_truth"].

    skyrl_gym.register(id="kforge", entry_point="kforge_skyrl:KforgeEnv")

extras["max_turns"] (1) is the number of attempts. After an attempt that is not the last, the
model gets the verdict and the next step. Entries of env_config are fields of POST /v1/judge.

SkyRL has no word for a missing reward. A fault of the machine is judged again for `patience`
seconds of env_config (1800). Then Unjudged is raised.
"""
from typing import Any, Dict, Optional

from kforge_client import default_client
from kforge_client.client import FIELDS
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput


class KforgeEnv(BaseTextEnv):
    def __init__(self, env_config: Optional[Any] = None, extras: Optional[Dict[str, Any]] = None):
        super().__init__()
        extras, config = extras or {}, dict(env_config or {})
        self.task = extras["reward_spec"]["ground_truth"]
        self.max_turns = int(extras.get("max_turns") or 1)
        self.fields = {"reward": "kevin", **{k: v for k, v in config.items() if k in FIELDS}}
        self.patience = float(config.get("patience", 1800.0))
        self.results = []

    def step(self, action: str) -> BaseTextEnvStepOutput:
        self.turns += 1
        result = default_client().judge(
            self.task, reply=action, patience=self.patience, **self.fields
        )
        self.results.append(result)
        done = self.turns >= self.max_turns
        return BaseTextEnvStepOutput(
            observations=[] if done else [{"role": "user", "content": result.feedback()}],
            reward=result.needed(),
            done=done,
            metadata={"status": result.status, "speedup": result.speedup},
        )

    def get_metrics(self) -> Dict[str, Any]:
        return {
            "correct": float(any(result.correct for result in self.results)),
            "cheating": float(any(result.cheating for result in self.results)),
            "best_speedup": max((r.speedup[0] for r in self.results if r.speedup), default=0.0),
        }
