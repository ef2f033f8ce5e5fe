"""A taskset for verifiers: every task of the server, or those that are named.

    vf-eval --env.taskset.id kforge-verifiers --env.taskset.tasks '["axpy"]'

With --env.taskset.task.tool true the model may judge kernels before it answers. After a fault of
the machine the rollout fails with Unjudged.
"""
from typing import Any, Optional

import verifiers.v1 as vf
from kforge_client import default_client

__all__ = ["KforgeTaskset"]


class KforgeTools(vf.Toolset):
    @vf.tool
    async def judge_kernel(self, task: str, source: str) -> str:
        """Judges a whole CUDA source file for a task: is it correct, and how fast is it?"""
        return (await default_client().judge_async(task, source)).feedback()


class KforgeData(vf.TaskData):
    task: str


class KforgeTaskConfig(vf.TaskConfig):
    fields: dict[str, Any] = {"reward": "kevin"}  # of POST /v1/judge
    patience: float = 600.0
    tool: bool = False
    tools: vf.ToolsetConfig = vf.ToolsetConfig()


class KforgeTask(vf.Task[KforgeData, vf.State, KforgeTaskConfig]):
    @classmethod
    def toolsets(cls, config: KforgeTaskConfig) -> list[vf.Toolset]:
        return [KforgeTools(config.tools)] if config.tool else []

    @vf.reward(weight=1.0)
    async def kforge(self, trace: vf.Trace) -> float:
        result = await default_client().judge_async(
            self.data.task, reply=trace.last_reply, patience=self.config.patience,
            **self.config.fields)
        trace.info["kforge"] = result.answer
        trace.record_metrics({"correct": result.correct, "cheating": result.cheating})
        return result.needed()


class KforgeConfig(vf.TasksetConfig):
    tasks: Optional[list[str]] = None
    task: KforgeTaskConfig = KforgeTaskConfig()


class KforgeTaskset(vf.Taskset[KforgeTask, KforgeConfig]):
    def load(self) -> list[KforgeTask]:
        names = self.config.tasks or [task["name"] for task in default_client().tasks()]
        rows = [(name, default_client().task(name)) for name in names]
        data = [KforgeData(task=name, name=name, system_prompt=row["system"], prompt=row["prompt"])
                for name, row in rows]
        return [KforgeTask(row, self.config.task) for row in data]
