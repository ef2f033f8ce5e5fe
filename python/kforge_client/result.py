"""The answer of `kforge serve` to one candidate."""
from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Tuple

# A verdict that blames one of these says nothing about the candidate.
OTHERS = ("machine", "task", "judge")


class Unjudged(RuntimeError):
    """There is no reward, for a reason that is not the candidate's."""


class GarbledAnswer(ValueError):
    """The server's answer is not what docs/reference/serve.md describes."""


@dataclass(frozen=True)
class Result:
    """One verdict. `reward` is None unless the verdict says something about the candidate."""

    status: str
    scorable: bool
    reward: Optional[float] = None
    blame: str = "nobody"
    correct: bool = False
    cheating: bool = False
    # The speedup over the baseline and its confidence interval: (value, low, high)
    speedup: Optional[Tuple[Optional[float], Optional[float], Optional[float]]] = None
    summary: str = ""
    next: str = ""
    candidate: str = ""
    cached: bool = False
    device: str = ""
    # The whole answer, with further fields
    answer: Dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def needed(self) -> float:
        """Returns the reward for a framework that has no word for a missing one."""
        if self.reward is None:
            raise Unjudged("no reward: %s: %s" % (self.status, self.summary or "no message"))
        return self.reward

    def feedback(self) -> str:
        """Returns the verdict and the next step as text for a model."""
        return "\n".join(filter(None, (self.status, self.summary, self.next)))


def _refuse(word: str) -> float:
    raise GarbledAnswer("the answer has the number %s" % word)


def parse(body: bytes) -> Any:
    """Returns the JSON of an answer. NaN and infinity are not JSON."""
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise GarbledAnswer("the answer is not JSON: %s" % error) from None


def _number(value: Any, name: str) -> Optional[float]:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise GarbledAnswer("the answer's %s is not a number: %r" % (name, value))
    return float(value)


def result_of(answer: Any) -> Result:
    """Returns the result. A fault of the machine, task or judge has no reward, whatever is sent."""
    if not isinstance(answer, dict) or not isinstance(answer.get("status"), str):
        raise GarbledAnswer("the answer has no status: %.100r" % (answer,))
    if not isinstance(answer.get("scorable"), bool):
        raise GarbledAnswer("the answer does not say whether it is scorable")
    blame = answer.get("blame") or "nobody"
    scorable = answer["scorable"] and blame not in OTHERS
    reward = _number(answer.get("reward"), "reward")
    speedup = answer.get("speedup")
    if isinstance(speedup, dict):
        value, low, high = (_number(speedup.get(k), "speedup") for k in ("value", "low", "high"))
        figures: Any = (value, low, high)
    elif speedup is None:
        figures = None
    else:
        raise GarbledAnswer("the answer's speedup is not an object: %.100r" % (speedup,))
    return Result(
        status=answer["status"],
        scorable=scorable,
        reward=reward if scorable else None,
        blame=str(blame),
        correct=answer.get("correct") is True,
        cheating=answer.get("cheating") is True,
        speedup=None if figures is None or figures[0] is None else figures,
        summary=str(answer.get("summary") or ""),
        next=str(answer.get("next") or ""),
        candidate=str(answer.get("candidate") or ""),
        cached=answer.get("cached") is True,
        device=str(answer.get("device") or ""),
        answer=answer,
    )


def fault(status: str, summary: str, blame: str = "machine") -> Result:
    """Returns a result without a verdict."""
    return Result(status=status, scorable=False, blame=blame, summary=summary)
