"""Uses `kforge mcp` with the official client of the package `mcp`, in each era that the package has.
Usage: mcp_client.py PROGRAM ROOT [URL]. Runs in the package's environment. URL: also streamable HTTP."""
import asyncio
import contextlib
import importlib.metadata
import sys

import mcp
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client

program, root = sys.argv[1:3]
url = sys.argv[3] if len(sys.argv) > 3 else None
server = StdioServerParameters(command=program, args=["mcp", "--root", root, "--device", "cpu"])
version = importlib.metadata.version("mcp")
GOOD = open(root + "/good.cu", encoding="utf-8").read()


def field(thing, *names):
    """A field by its name in either version of the package."""
    return next(getattr(thing, n) for n in names if hasattr(thing, n))


async def use(client, label):
    tools = (await client.list_tools()).tools
    assert len(tools) == 11 and len({t.name for t in tools}) == 11, tools
    for tool in tools:
        writes = tool.name in ("kforge_submit", "kforge_note")
        assert field(tool.annotations, "read_only_hint", "readOnlyHint") is not writes, tool
        assert field(tool, "input_schema", "inputSchema")["type"] == "object"
    task = await client.call_tool("kforge_task", {"task": "axpy"})
    assert not field(task, "is_error", "isError"), task
    assert field(task, "structured_content", "structuredContent")["name"] == "axpy", task
    seen = []

    async def progress(now, total, message):
        seen.append((now, message))

    answer = await client.call_tool(
        "kforge_eval", {"task": "axpy", "source": "// %s\n%s" % (label, GOOD), "mode": "check"}, progress_callback=progress)
    verdict = field(answer, "structured_content", "structuredContent")
    while "job" in verdict:
        answer = await client.call_tool("kforge_result", {"job": verdict["job"]})
        verdict = field(answer, "structured_content", "structuredContent")
    assert verdict["ok"] and verdict["candidate"], verdict
    assert seen == sorted(seen), seen
    failed = await client.call_tool("kforge_eval", {"task": "axpy", "file": "../secret.cu"})
    refusal = "reads no files" if label.startswith("http") else "below the served folder"
    assert field(failed, "is_error", "isError") and refusal in failed.content[0].text, failed
    try:
        await client.call_tool("kforge_nothing", {})
        raise AssertionError("an unknown tool is no error")
    except Exception as error:  # McpError in 1.30, MCPError in 2.3
        assert type(error).__name__.lower() == "mcperror", error
    # A call that is given up is cancelled, and the session goes on.
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(client.call_tool(
            "kforge_eval", {"task": "axpy", "source": "// cancelled %s\n%s" % (label, GOOD), "mode": "verify", "wait_s": 600}), 0.2)
    assert not field(await client.call_tool("kforge_history", {"task": "axpy"}), "is_error", "isError")
    print(version, label, "good", flush=True)


async def old_package():
    async with stdio_client(server) as (read, write), mcp.ClientSession(read, write) as session:
        hello = await session.initialize()
        assert hello.protocolVersion == "2025-11-25" and hello.serverInfo.name == "kforge", hello
        await session.send_ping()
        await use(session, "stdio")
    if url:
        from mcp.client.streamable_http import streamablehttp_client
        async with streamablehttp_client(url) as (read, write, _), mcp.ClientSession(read, write) as session:
            hello = await session.initialize()
            assert hello.protocolVersion == "2025-11-25", hello
            await use(session, "http")


async def new_package():
    for where, name in ((server, "stdio"), (url, "http")):
        for mode, revision in (("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")):
            if where:
                async with mcp.Client(where, mode=mode) as client:
                    assert client.protocol_version == revision, client.protocol_version
                    await use(client, name + " " + mode)


asyncio.run(new_package() if hasattr(mcp, "Client") else old_package())
