"""A harness for verifiers that sends the task's prompt once, in this process."""
import httpx
import verifiers.v1 as vf

__all__ = ["ScriptedHarness"]


class ScriptedHarness(vf.Harness[vf.HarnessConfig]):
    APPENDS_SYSTEM_PROMPT = True
    NEEDS_CONTAINER = EXECUTES_CODE = False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data, **_):
        system, prompt = self.resolve_prompt(data)
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        async with httpx.AsyncClient(timeout=60) as client:
            answer = await client.post(
                endpoint.rstrip("/") + "/chat/completions",
                headers={"Authorization": "Bearer " + secret},
                json={"model": ctx.model, "messages": messages},
            )
        return vf.ProgramResult(0 if answer.is_success else 1, answer.text, answer.text)
