"""An environment for OpenEnv with the action and the observation of `kernrl`.

    uvicorn kforge_openenv:app --port 8000

reset(problem_id=…) chooses the task. POST /step has no session, so it takes problem_id, too.
"""
from typing import Optional

from kforge_client import default_client
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State
from pydantic import create_model

KernelAction = create_model("KernelAction", __base__=Action, code=(str, ...))
KernelObservation = create_model(
    "KernelObservation", __base__=Observation, problem_id=(str, ...),
    problem_description=(str, ...), reference_code=(str, ...), gpu_info=(str, ...),
    turn=(int, 0), max_turns=(int, 10), feedback=(str, ""), compilation_success=(bool, False),
    compilation_error=(Optional[str], None), correctness_pass=(Optional[bool], None),
    max_diff=(Optional[float], None), speedup=(Optional[float], None))


class KforgeEnvironment(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True
    fields, max_turns, state = {"reward": "kevin"}, 10, State()

    def reset(self, seed=None, episode_id=None, problem_id=None, **ignored):
        problem_id = problem_id or default_client().tasks()[0]["name"]
        self.task = default_client().task(problem_id)
        self.state = State(episode_id=episode_id, problem_id=problem_id, turn=0, solved=False,
                           max_turns=self.max_turns, best_speedup=0.0)
        return self.observe()

    def step(self, action, timeout_s=None, problem_id=None, **ignored):
        if problem_id or not hasattr(self, "task"):
            self.reset(problem_id=problem_id)
        kind = "reply" if "```" in action.code else "source"
        result = default_client().judge(self.state.problem_id, deadline_s=timeout_s,
                                        **{kind: action.code}, **self.fields)
        state, speedup = self.state, result.speedup[0] if result.speedup else None
        state.turn += result.scorable  # A fault of the machine is no turn.
        state.best_speedup = max(state.best_speedup, speedup or 0.0)
        state.solved = state.solved or result.correct
        built = result.scorable and result.status not in ("compile_error", "no_source")
        return self.observe(
            feedback=result.feedback(), compilation_success=built, speedup=speedup,
            compilation_error=None if built else result.summary, reward=result.reward,
            correctness_pass=result.correct if built else None, done=state.turn >= self.max_turns,
            metadata={"status": result.status, "scorable": result.scorable}, gpu_info=result.device)

    def observe(self, gpu_info="", **fields):
        return KernelObservation(
            problem_id=self.state.problem_id, problem_description=self.task["prompt"],
            reference_code=self.task.get("prototype") or "", gpu_info=gpu_info,
            turn=self.state.turn, max_turns=self.max_turns, **fields)


app = create_app(KforgeEnvironment, KernelAction, KernelObservation, env_name="kforge",
                 max_concurrent_envs=256)
