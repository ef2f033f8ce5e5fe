"""A resources server for NeMo-Gym. The task is verifier_metadata["task"] of a row.

Copy this file to resources_servers/kforge/app.py, and name kforge's folder python/ in
requirements.txt there. The configuration:

    kforge:
      resources_servers:
        kforge: {entrypoint: app.py, domain: coding, fields: {reward: kevin}}

A fault of the machine is masked: mask_sample is true, and failure_kind is verifier_error.
"""
from typing import Any, ClassVar, Dict, Optional

from kforge_client import default_client
from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseVerifyRequest,
    BaseVerifyResponse,
    ReverifyMode,
    SimpleResourcesServer,
)


class KforgeConfig(BaseResourcesServerConfig):
    REVERIFY_MODE: ClassVar[ReverifyMode] = ReverifyMode.STATELESS
    fields: Dict[str, Any] = {"reward": "kevin"}  # of POST /v1/judge
    patience: float = 60.0


class KforgeVerifyRequest(BaseVerifyRequest):
    verifier_metadata: Dict[str, Any]


class KforgeVerifyResponse(BaseVerifyResponse):
    verifier_metadata: Dict[str, Any]
    status: str
    correct: bool
    cheating: bool
    speedup: Optional[float] = None


class KforgeResourcesServer(SimpleResourcesServer):
    config: KforgeConfig

    async def verify(self, body: KforgeVerifyRequest) -> KforgeVerifyResponse:
        result = await default_client().judge_async(
            body.verifier_metadata["task"], reply=body.response.output_text,
            patience=self.config.patience, **self.config.fields)
        masked = result.reward is None
        return KforgeVerifyResponse(
            **body.model_dump(), reward=0.0 if masked else result.reward, mask_sample=masked,
            failure_kind="verifier_error" if masked else None,
            failure_reason="%s: %s" % (result.status, result.summary) if masked else None,
            status=result.status, correct=result.correct, cheating=result.cheating,
            speedup=result.speedup[0] if result.speedup else None)


if __name__ == "__main__":
    KforgeResourcesServer.run_webserver()
