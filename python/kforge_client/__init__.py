"""Verdicts of `kforge serve` on CUDA kernels, for trainers and scripts.

    import kforge_client
    result = kforge_client.judge("axpy", open("axpy.cu").read(), reward="kevin")
    result.reward          # a number, or None if the machine was at fault

`Client` has all settings. The functions below and the adapters use one client. It is made at the
first call, or by `configure`.
"""
from __future__ import annotations

import atexit
import threading
from typing import Any, Dict, Iterable, List, Mapping, Optional

from .client import Client, RequestError, Unreachable
from .local import ServerError
from .result import GarbledAnswer, Result, Unjudged

__all__ = [
    "Client", "GarbledAnswer", "RequestError", "Result", "ServerError", "Unjudged", "Unreachable",
    "configure", "default_client", "health", "judge", "judge_async", "judge_batch", "task", "tasks",
]

_client: Optional[Client] = None
_lock = threading.Lock()


def default_client() -> Client:
    """Returns the client that the functions of this module share."""
    global _client
    with _lock:
        if _client is None:
            _client = Client()
            atexit.register(_client.close)
        return _client


def configure(**settings: Any) -> Client:
    """Gives that client other settings (those of Client). Returns it."""
    global _client
    with _lock:
        if _client is not None:
            _client.close()
        _client = Client(**settings)
        atexit.register(_client.close)
        return _client


def judge(task: str, source: Optional[str] = None, **fields: Any) -> Result:
    """Judges a source, or a model's whole reply (reply=…)."""
    return default_client().judge(task, source, **fields)


async def judge_async(task: str, source: Optional[str] = None, **fields: Any) -> Result:
    """Judges like `judge`, without blocking the event loop."""
    return await default_client().judge_async(task, source, **fields)


def judge_batch(items: Iterable[Mapping[str, Any]]) -> List[Result]:
    """Judges several requests at the same time."""
    return default_client().judge_batch(items)


def tasks() -> List[Dict[str, Any]]:
    """Returns the server's tasks."""
    return default_client().tasks()


def task(name: str) -> Dict[str, Any]:
    """Returns prompt, prototype and workloads of a task."""
    return default_client().task(name)


def health() -> Dict[str, Any]:
    """Returns the server's state."""
    return default_client().health()
