#!/usr/bin/env python3
"""A model server that simulates the faults of servers, proxies and networks. Loopback only, standard
library only.

usage: server.py [SECONDS [CERTIFICATE KEY]]   prints its ports and serves until its input is closed
                                               or SECONDS (600) have passed

The ports are: http; http on [::1] (0 without IPv6). With a certificate, two more follow: https, and
a proxy that accepts CONNECT for any host and leads to the https port.

A base address is http://127.0.0.1:PORT/SCENARIO/v1. The end of the path selects the format
(chat/completions, responses, messages, …:streamGenerateContent). GET /log/SCENARIO returns its
requests as a JSON list. A number after a dash is the scenario's argument. wire.py has more scenarios:
bytes instead of replies.
"""
import asyncio
import email.utils
import gzip
import json
import os
import ssl
import sys
import time

import wire

log = {}
TEXT = "```cuda\n// größe 😀\nint x;\n```\n"


def event(data, name=None, feed="\n", space=" "):
    text = f"event:{space}{name}{feed}" if name else ""
    return (text + f"data:{space}{data}{feed}{feed}").encode()


def chat(delta=None, finish=None, **more):
    choices = [] if delta is None and finish is None else [{"index": 0, "delta": delta or {}, "finish_reason": finish}]
    return json.dumps({"id": "c", "object": "chat.completion.chunk", "model": "served-1", "choices": choices, **more}, ensure_ascii=False)


USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def chat_reply(text=TEXT, finish="stop", usage=USAGE, done=True, piece=5, **how):
    out = [event(chat({"role": "assistant", "content": ""}), **how)]
    out += [event(chat({"content": text[i : i + piece]}), **how) for i in range(0, len(text), piece)]
    out.append(event(chat({}, finish), **how))
    if usage is not None:
        out.append(event(chat(usage=usage), **how))
    if done:
        out.append(event("[DONE]", **how))
    return out


def responses_reply(text):
    made = {"id": "r", "model": "served-2", "status": "in_progress"}
    yield event(json.dumps({"type": "response.created", "response": made}), "response.created")
    yield event(json.dumps({"type": "response.reasoning_summary_text.delta", "delta": "hm"}), "response.reasoning_summary_text.delta")
    for i in range(0, len(text), 5):
        yield event(json.dumps({"type": "response.output_text.delta", "delta": text[i : i + 5]}), "response.output_text.delta")
    usage = {"input_tokens": 11, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 4}}
    yield event(json.dumps({"type": "response.completed", "response": {**made, "status": "completed", "usage": usage}}), "response.completed")


def anthropic_reply(text):
    usage = {"input_tokens": 5, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 2, "output_tokens": 1}
    yield event(json.dumps({"type": "message_start", "message": {"model": "served-3", "usage": usage}}), "message_start")
    yield event(json.dumps({"type": "ping"}), "ping")
    yield event(json.dumps({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}), "content_block_delta")
    for i in range(0, len(text), 5):
        delta = {"type": "text_delta", "text": text[i : i + 5]}
        yield event(json.dumps({"type": "content_block_delta", "index": 1, "delta": delta}), "content_block_delta")
    yield event(json.dumps({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}}), "message_delta")
    yield event(json.dumps({"type": "message_stop"}), "message_stop")


def gemini_reply(text):
    for i in range(0, len(text), 9):
        parts = [{"text": "hm", "thought": True}, {"text": text[i : i + 9]}]
        last = i + 9 >= len(text)
        candidate = {"content": {"parts": parts, "role": "model"}, **({"finishReason": "STOP"} if last else {})}
        usage = {"promptTokenCount": 11, "candidatesTokenCount": 4, "thoughtsTokenCount": 3, "cachedContentTokenCount": 4}
        yield event(json.dumps({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "served-4"}), feed="\r\n")


class Reply:
    def __init__(self, writer):
        self.writer = writer

    async def head(self, status=200, kind="text/event-stream", **headers):
        lines = [f"HTTP/1.1 {status} Status", f"Content-Type: {kind}", "Transfer-Encoding: chunked"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        await self.writer.drain()

    async def send(self, data):
        self.writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await self.writer.drain()

    async def end(self):
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    async def all(self, pieces, **head):
        await self.head(**head)
        for piece in pieces:
            await self.send(piece)
        await self.end()

    async def error(self, status, body, kind="application/json", **headers):
        await self.all([body if isinstance(body, bytes) else json.dumps(body).encode()], status=status, kind=kind, **headers)

    def cut(self):
        self.writer.transport.abort() if self.writer.transport else None


def openai_error(message, type="invalid_request_error", code=None):
    return {"error": {"message": message, "type": type, "code": code}}


async def recut(reply, data, sizes):
    await reply.head()
    at = 0
    while at < len(data):
        size = next(sizes)
        await reply.send(data[at : at + size])
        at += size
        await asyncio.sleep(0)
    await reply.end()


def forever(value):
    while True:
        yield value


async def answer(scenario, argument, path, request, attempt, reply):
    whole = b"".join(chat_reply())
    if scenario in ("chat", "models"):  # a base address without a path
        return await reply.error(404, openai_error("Not Found"))
    if scenario == "thinking":  # starts a reply, then stays silent; with an ARGUMENT for ever
        await reply.head()
        pieces = list(responses_reply(TEXT) if path.endswith("/responses") else chat_reply())
        await reply.send(pieces[0])
        await asyncio.sleep(60 if argument else 1.6)
        await reply.send(b"".join(pieces[1:]))
        return await reply.end()
    if path.endswith("/responses"):
        return await reply.all(responses_reply(TEXT))
    if path.endswith("/messages"):
        if scenario == "overloaded" and attempt == 1:
            return await reply.error(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
        if scenario == "error_in_stream" and attempt == 1:
            start = list(anthropic_reply(TEXT))[:4]
            broken = event(json.dumps({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}), "error")
            return await reply.all(start + [broken])
        return await reply.all(anthropic_reply(TEXT))
    if "streamGenerateContent" in path:
        if scenario == "delayed" and attempt == 1:  # without a header for it
            info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}
            error = {"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED", "details": [{"@type": "other"}, info]}
            return await reply.error(429, [{"error": error}])
        if scenario == "gemini_key":
            error = {"code": 400, "message": "API key not valid", "status": "INVALID_ARGUMENT"}
            return await reply.error(400, [{"error": error}])
        if scenario == "blocked":
            return await reply.all([event(json.dumps({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}))])
        return await reply.all(gemini_reply(TEXT))
    if scenario == "unlisted" and request["method"] == "GET":
        return await reply.error(int(argument), {"error": {"message": "no list"}})
    if scenario == "plain":
        return await reply.all(chat_reply())
    if scenario == "utf8_split":
        at = whole.index("ö".encode()) + 1
        smile = whole.index("😀".encode())
        return await reply.all([whole[:at], whole[at : smile + 1], whole[smile + 1 : smile + 2], whole[smile + 2 :]])
    if scenario == "crlf":
        return await recut(reply, b"".join(chat_reply(feed="\r\n")), forever(7))
    if scenario == "cr":
        return await recut(reply, b"".join(chat_reply(feed="\r")), forever(7))
    if scenario == "comments":
        pieces = [p for piece in chat_reply() for p in (b": keep-alive\n\n", b":\n", piece)]
        return await reply.all(pieces)
    if scenario == "no_space":
        return await reply.all(chat_reply(space=""))
    if scenario == "multi_line":
        lines = "".join(f"data: {line}\n" for line in json.dumps(json.loads(chat({"content": TEXT}, "stop")), indent=1).split("\n"))
        return await reply.all([lines.encode() + b"\n", event(chat(usage=USAGE)), event("[DONE]")])
    if scenario == "big_event":
        return await reply.all(chat_reply("x" * 5_000_000, piece=5_000_000))
    if scenario == "too_big_event":
        return await reply.all(chat_reply("x" * 6_000_000, piece=6_000_000))
    if scenario == "no_done":
        return await reply.all(chat_reply(done=False))
    if scenario == "no_end_at_all":
        return await reply.all(chat_reply(done=False, usage=None)[:-1])
    if scenario == "error_in_stream":
        if attempt == 1:
            return await reply.all(chat_reply()[:3] + [event(json.dumps(openai_error("The server had an error", "server_error")))])
        return await reply.all(chat_reply())
    if scenario == "lasting_error_in_stream":
        return await reply.all(chat_reply()[:3] + [event(json.dumps(openai_error("This model does not like you")))])
    if scenario == "html":
        return await reply.error(200, b"<!DOCTYPE html><html><title>Sign in to the network</title></html>", "text/html")
    if scenario == "html_once" and attempt == 1:
        return await reply.error(200, b"<html>maintenance</html>", "text/html")
    if scenario == "gzip":
        return await reply.all([gzip.compress(whole)], Content_Encoding="gzip")
    if scenario == "bytes":
        return await recut(reply, whole, forever(1))
    if scenario in ("stalled", "stalled_once") and (scenario == "stalled" or attempt == 1):
        await reply.head()
        for piece in chat_reply()[:4]:
            await reply.send(piece)
        await asyncio.sleep(60)
        return
    if scenario == "silent":
        await asyncio.sleep(60)
        return
    if scenario in ("closed", "closed_once") and (scenario == "closed" or attempt == 1):
        await reply.head()
        await reply.send(whole[: len(whole) // 2])
        await asyncio.sleep(0.05)
        return reply.cut()
    if scenario == "closed_before" and attempt == 1:
        return reply.cut()
    if scenario == "closed_after_end":
        await reply.head()
        await reply.send(whole)
        await asyncio.sleep(0.05)
        return reply.cut()
    if scenario == "redirect":
        return await reply.error(302, b"", Location="http://127.0.0.1:1/elsewhere?key=secret")
    if scenario == "wrong_type":
        return await reply.all(chat_reply(), kind="application/json")
    if scenario == "not_streamed":
        message = {"role": "assistant", "content": TEXT}
        body = {"model": "served-1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": USAGE}
        return await reply.error(200, body)
    if scenario == "duplicate_keys":
        usage = '{"prompt_tokens": 11, "prompt_tokens": 99, "completion_tokens": 7, "completion_tokens": 99}'
        pieces = chat_reply(usage=None, done=False)
        pieces.append(event('{"model": "served-1", "choices": [], "usage": %s, "usage": {"prompt_tokens": 99, "completion_tokens": 99}}' % usage))
        return await reply.all(pieces + [event("[DONE]")])
    if scenario == "no_usage":
        return await reply.all(chat_reply(usage=None))
    if scenario == "usage_everywhere":
        pieces = [event(chat({"content": TEXT[i : i + 5]}, usage={"prompt_tokens": 11, "completion_tokens": i})) for i in range(0, len(TEXT), 5)]
        return await reply.all(pieces + chat_reply("")[1:])
    if scenario == "heavy":
        return await reply.all(chat_reply(usage={"prompt_tokens": 11, "completion_tokens": 1020}))
    if scenario == "billed":
        return await reply.all(chat_reply(usage={**USAGE, "cost": 0.0125}))
    if scenario == "nan_tokens":
        pieces = chat_reply(usage=None, done=False)
        pieces.append(event('{"choices": [], "usage": {"prompt_tokens": NaN, "completion_tokens": -Infinity}}'))
        return await reply.all(pieces + [event("[DONE]")])
    if scenario == "absurd_tokens":
        return await reply.all(chat_reply(usage={"prompt_tokens": 1e300, "completion_tokens": "many"}))
    if scenario == "wait_seconds" and attempt == 1:
        return await reply.error(429, openai_error("Slow down", "requests", "rate_limit_exceeded"), Retry_After="1")
    if scenario == "wait_date" and attempt == 1:
        return await reply.error(429, openai_error("Slow down", "requests"), Retry_After=email.utils.formatdate(time.time() + 2, usegmt=True))
    if scenario == "wait_an_hour":
        return await reply.error(429, openai_error("Slow down", "requests"), Retry_After="3600")
    if scenario == "wait_reset" and attempt == 1:
        headers = {"x_ratelimit_remaining_requests": "0", "x_ratelimit_reset_requests": "1s"}
        return await reply.error(429, openai_error("Slow down", "requests"), **headers)
    if scenario == "no_credit":
        return await reply.error(429, openai_error("You exceeded your current quota", "insufficient_quota", "insufficient_quota"))
    if scenario == "fails" and attempt <= int(argument):
        return await reply.error(500, b"<html>Internal Server Error</html>", "text/html")
    if scenario == "status":
        return await reply.error(int(argument), {"error": {"message": "as the test asked"}})
    if scenario == "talk":
        return await reply.all(chat_reply("No code today.\n"))
    if scenario == "wrong_name":
        return await reply.error(400, openai_error("Model Not Exist"))
    if scenario == "unauthorized":
        # Servers repeat a refused key in their errors.
        return await reply.error(401, openai_error("Incorrect API key provided: " + request["headers"].get("authorization", "none")))
    if scenario == "echo": # a model that replies with its key
        said = TEXT + "// I was asked with " + request["headers"].get("authorization", "none") + "\n"
        return await reply.all(chat_reply(said, piece=len(said)))
    if scenario == "no_model":
        return await reply.error(404, openai_error("The model `m` does not exist", code="model_not_found"))
    if scenario == "too_long":
        return await reply.error(400, openai_error("This model's maximum context length is 4096 tokens.", code="context_length_exceeded"))
    if scenario == "filter":
        return await reply.error(400, openai_error("The prompt was filtered", code="content_filter"))
    if scenario == "filter_in_stream":
        return await reply.all(chat_reply("half of", finish="content_filter"))
    if scenario == "refusal":
        pieces = [event(chat({"refusal": "I'm sorry, "})), event(chat({"refusal": "no."})), event(chat({}, "stop")), event(chat(usage=USAGE))]
        return await reply.all(pieces + [event("[DONE]")])
    if scenario == "endless":
        await reply.head()
        piece = event(chat({"content": "and so on " * 2000})) * 8
        while True:
            await reply.send(piece)
    if scenario == "endless_thinking":
        await reply.head()
        piece = event(chat({"reasoning_content": "and so on " * 2000})) * 8
        while True:
            await reply.send(piece)
    if scenario == "only_reasoning":
        pieces = [event(chat({"reasoning_content": "let me think"})), event(chat({}, argument or "stop")), event(chat(usage=USAGE)), event("[DONE]")]
        return await reply.all(pieces)
    if scenario == "tool":
        call = [{"index": 0, "function": {"name": "compile", "arguments": "{}"}}]
        return await reply.all([event(chat({"tool_calls": call})), event(chat({}, "tool_calls")), event(chat(usage=USAGE)), event("[DONE]")])
    if scenario == "empty":
        return await reply.all(chat_reply(""))
    if scenario == "continued":  # ARGUMENT: how the rest begins
        turns = [message["content"] for message in request["json"]["messages"] if message["role"] == "assistant"]
        if not turns:
            return await reply.all(chat_reply("Here:\n```cuda\n// größe 😀\nint x", finish="length"))
        rest = {"": " = 1;\n```\n", "line": "int x = 1;\n```\n", "fence": "Sure:\n```cuda\nint x = 1;\n```\n", "twice": " = 1; // and"}.get(argument)
        if argument == "over":
            rest = "Here:\n```cuda\n// größe 😀\nint x = 1;\n```\n"
        if argument == "twice" and turns[0].endswith("and"):
            rest = " on\n```\n"
        return await reply.all(chat_reply(rest, finish="length" if rest.endswith("and") else "stop"))
    if scenario == "lost":  # the rest is unavailable
        if any(message["role"] == "assistant" for message in request["json"]["messages"]):
            return await reply.error(400, openai_error("no assistant turns here, please"))
        return await reply.all(chat_reply("```cuda\nint x", finish="length"))
    if scenario == "enough":  # cut off after a whole block
        return await reply.all(chat_reply("```cuda\nint x;\n```\nThis is how", finish="length"))
    if scenario == "truncated":
        return await reply.all(chat_reply("```cuda\nint x", finish="length"))
    if scenario == "not_json":
        return await reply.all([event("{oops")] * 9)
    if scenario == "no_events":
        return await reply.all([])
    if (scenario, argument) == ("old", "small"):  # reasons for longer than the limit of tokens
        return await reply.error(400, openai_error("Could not finish: max_tokens was reached"))
    if scenario == "old":  # knows neither stream_options nor reasoning_effort
        for word in ("stream_options", "reasoning_effort"):
            if word in request["json"]:
                return await reply.error(400, openai_error(f"Unrecognized request argument supplied: {word}"))
        return await reply.all(chat_reply(usage=None))
    if scenario == "paced":  # ARGUMENT events, 39 a second, each with its number
        await reply.head()
        count = int(argument)
        start = time.monotonic() + 1.0
        for i in range(count):
            wait = start + i / 39.0625 - time.monotonic()
            if wait > 0:
                await asyncio.sleep(wait)
            await reply.send(event(chat({"content": f"{i} "})))
        await reply.send(b"".join(chat_reply("")[1:]))
        return await reply.end()
    await reply.all(chat_reply())


async def serve(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.split("\r\n")
            method, path, _ = first.split(" ", 2)
            headers = {line.split(":", 1)[0].strip().lower(): line.split(":", 1)[1].strip() for line in lines if ":" in line}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            word = path.split("/")[1]
            reply = Reply(writer)
            if word == "log":
                await reply.error(200, log.get(path.split("/")[2], []))
                continue
            try:
                parsed = json.loads(body) if body else None
            except ValueError:
                parsed = None
            request = {"method": method, "path": path, "headers": headers, "json": parsed}
            log.setdefault(word, []).append(request)
            if word in wire.SCENARIOS:
                await wire.send(writer, len(log[word]), wire.SCENARIOS[word], asyncio.sleep)
                return
            scenario, _, argument = word.partition("-")
            await answer(scenario, argument, path.split("?")[0], request, len(log[word]), reply)
    except (asyncio.IncompleteReadError, ConnectionError, asyncio.LimitOverrunError):
        pass
    finally:
        writer.close()


def port_of(server):
    return server.sockets[0].getsockname()[1]


async def copy(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    ports = [port_of(server)]
    servers = [server]
    try:
        servers.append(await asyncio.start_server(serve, "::1", 0))
        ports.append(port_of(servers[-1]))
    except OSError:
        ports.append(0)
    if len(sys.argv) > 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])
        servers.append(await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context))
        ports.append(port_of(servers[-1]))

        async def lead(reader, writer):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            log.setdefault("proxy", []).append(head.split("\r\n")[0])
            there, back = await asyncio.open_connection("127.0.0.1", ports[2])
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await asyncio.gather(copy(reader, back), copy(there, writer))

        servers.append(await asyncio.start_server(lead, "127.0.0.1", 0))
        ports.append(port_of(servers[-1]))
    print(*ports, flush=True)
    loop = asyncio.get_running_loop()
    closed = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), lambda: closed.set() if not sys.stdin.buffer.read1(1) else None)
    try:
        await asyncio.wait_for(closed.wait(), float(sys.argv[1]) if len(sys.argv) > 1 else 600)
    except asyncio.TimeoutError:
        pass
    os._exit(0)  # does not end replies that are meant to hang


asyncio.run(main())
