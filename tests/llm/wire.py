"""Bytes that broken servers and proxies send: one function a fault, for tests/unit/test_llm_fault.c.

SCENARIOS maps a name to a function of the attempt (1, 2, …). It returns the pieces that the server
writes to the connection before it closes it: bytes, seconds to wait, RESET, or HALF (ends the
server's direction only).
"""
import email.utils
import gzip
import json
import socket
import struct
import time

TEXT = "```cuda\n// größe 😀\nint x;\n```\n"
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
RESET, HALF = "reset", "half"
SCENARIOS = {}


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


def event(data, feed="\n"):
    return ("data: " + (data if isinstance(data, str) else json.dumps(data)) + feed + feed).encode()


def part(delta=None, finish=None, **more):
    choices = [] if delta is None and finish is None else [{"index": 0, "delta": delta or {}, "finish_reason": finish}]
    return {"id": "c", "model": "served-1", "choices": choices, **more}


def content(text=TEXT, piece=5):
    return [event(part({"content": text[i : i + piece]})) for i in range(0, len(text), piece)]


END = [event(part({}, "stop")), event(part(usage=USAGE)), event("[DONE]")]
STREAM = b"".join(content() + END)


def head(status="200 OK", kind="text/event-stream", version="1.1", **headers):
    lines = [f"HTTP/{version} {status}"] + ([f"Content-Type: {kind}"] if kind else [])
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def whole(body=STREAM, status="200 OK", kind="text/event-stream", **headers):
    return [head(status, kind, Content_Length=len(body), **headers), body]


def chunk(data, extension=b""):
    return b"%x%s\r\n%s\r\n" % (len(data), extension, data)


def chunked(*pieces, **headers):
    return [head(Transfer_Encoding="chunked", **headers), *pieces]


def failure(status, message="no", kind=None, body=None, **headers):
    error = {"message": message, **({"code": kind} if kind else {})}
    return whole(json.dumps({"error": error}).encode() if body is None else body, status, "application/json", **headers)


def once(attempt, pieces):
    """The fault at the first attempt, then a reply."""
    return pieces if attempt == 1 else whole()


# ---- HTTP ------------------------------------------------------------------------------------------


@scenario
def chunk_cut(attempt):
    return once(attempt, chunked(chunk(STREAM[:200]), b"100\r\n" + STREAM[200:240]))


@scenario
def chunk_size_garbled(attempt):
    return once(attempt, chunked(chunk(STREAM[:200]), b"zz\r\n" + STREAM[200:]))


@scenario
def chunk_size_huge(attempt):
    return once(attempt, chunked(b"fffffffffffffffffffff\r\n" + STREAM))


@scenario
def chunk_extensions(_):
    return chunked(chunk(STREAM[:99], b';name="value"'), chunk(STREAM[99:], b";x"), b"0\r\n\r\n")


@scenario
def chunk_trailers(_):
    return chunked(chunk(STREAM), b"0\r\nX-Checksum: 1\r\nContent-Type: text/html\r\n\r\n")


@scenario
def chunk_end_missing(_):
    return chunked(chunk(STREAM))


@scenario
def chunked_error(attempt):
    return once(attempt, [head("503 Busy", "application/json", Transfer_Encoding="chunked"), chunk(b'{"error": {"mess'), chunk(b'age": "later"}}'), b"0\r\n\r\n"])


@scenario
def chunked_error_cut(attempt):
    return once(attempt, [head("502 Bad", "application/json", Transfer_Encoding="chunked"), chunk(b'{"error": {"mess')])


@scenario
def length_short(_):
    return [head(Content_Length=len(STREAM) // 2), STREAM]


@scenario
def length_long(_):
    return [head(Content_Length=len(STREAM) + 100), STREAM]


@scenario
def length_twice(_):
    return [head(Content_Length=len(STREAM))[:-2] + b"Content-Length: %d\r\n\r\n" % (len(STREAM) + 5), STREAM]


@scenario
def length_negative(attempt):
    return once(attempt, [head(Content_Length="-5"), STREAM])


@scenario
def length_garbled(attempt):
    return once(attempt, [head(Content_Length="many"), STREAM])


@scenario
def until_closed(_):
    return [head(), STREAM]


@scenario
def http_1_0(_):
    return [head(version="1.0"), STREAM]


@scenario
def http_0_9(attempt):
    return once(attempt, [STREAM])


@scenario
def http_2_frames(attempt):
    return once(attempt, [b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x64\0\x04\0\0\xff\xff", b"\0\0\x04\x08\0\0\0\0\0\0\0\0\1"])


@scenario
def status_garbled(attempt):
    return once(attempt, [b"HTTP/1.1 OK fine\r\n\r\n", STREAM])


@scenario
def continue_first(_):
    return [b"HTTP/1.1 100 Continue\r\n\r\n", *whole()]


@scenario
def early_hints(_):
    return [b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n" * 3, *whole()]


@scenario
def continue_for_ever(attempt):
    return once(attempt, [b"HTTP/1.1 100 Continue\r\nX: " + b"y" * 4000 + b"\r\n\r\n"] * 5000)


@scenario
def header_for_ever(attempt):
    return once(attempt, [b"HTTP/1.1 200 OK\r\nX-Long: "] + [b"y" * 65536] * 200)


@scenario
def headers_slow(_):
    return [piece for byte in head(Content_Length=len(STREAM)) for piece in (bytes([byte]), 0.01)] + [STREAM]


@scenario
def headers_for_ever(_):
    return [b"HTTP/1.1 200 OK\r\n"] + [piece for i in range(600) for piece in (b"X-%d: y\r\n" % i, 0.1)]


@scenario
def half_closed(attempt):
    return once(attempt, [HALF, 1])


@scenario
def reset_at_once(attempt):
    return once(attempt, [RESET])


@scenario
def reset_in_the_middle(attempt):
    return once(attempt, [head(), STREAM[:200], 0.05, RESET])


@scenario
def reset_after_the_end(_):
    return [head(), STREAM, 0.3, RESET]


@scenario
def two_replies(_):
    return whole() + whole(b"data: more\n\n")


@scenario
def redirect_permanent(_):
    return whole(b"", "301 Moved", "text/html", Location="https://elsewhere.invalid/v1?key=secret")


@scenario
def redirect_keeping_the_method(_):
    return whole(b"", "307 Temporary", "text/html", Location="/v2/chat/completions")


@scenario
def redirect_to_nowhere(_):
    return whole(b"", "308 Permanent", "text/html")


@scenario
def redirect_to_a_file(_):
    return whole(b"", "302 Found", "text/html", Location="file:///etc/passwd")


@scenario
def gzip_of_plain_text(attempt):
    return once(attempt, whole(Content_Encoding="gzip"))


@scenario
def gzip_cut(attempt):
    packed = gzip.compress(STREAM)
    return once(attempt, whole(packed[: len(packed) // 2], Content_Encoding="gzip"))


@scenario
def gzip_bomb(_):
    return whole(gzip.compress(b": " + b"x\n:" * 40_000_000, 1), Content_Encoding="gzip")


@scenario
def encoding_unknown(attempt):
    return once(attempt, whole(Content_Encoding="zip"))


@scenario
def nothing(_):
    return whole(b"", "204 No Content", None)


# ---- statuses --------------------------------------------------------------------------------------


@scenario
def error_with_status_200(_):
    return failure("200 OK", "the model is not loaded", "invalid_request_error")


@scenario
def passing_error_with_status_200(attempt):
    return once(attempt, failure("200 OK", "try again", "server_error"))


@scenario
def error_that_is_a_word(_):
    return whole(b'{"error": "out of luck"}', "400 Bad Request", "application/json")


@scenario
def error_with_html(_):
    return whole(b"<html>\x1b[31mBlocked by the firewall</html>", "403 Forbidden", "text/html")


@scenario
def error_that_is_long(_):
    return failure("400 Bad Request", "x" * 1_000_000)


@scenario
def error_for_ever(attempt):
    return once(attempt, [head("500 Broken", "text/html")] + [b"and so on " * 6000] * 200)


@scenario
def payment_required(_):
    return failure("402 Payment Required", "top up")


@scenario
def method_not_allowed(_):
    return failure("405 Method Not Allowed", "use GET")


@scenario
def request_timeout(attempt):
    return once(attempt, failure("408 Request Timeout"))


@scenario
def conflict(attempt):
    return once(attempt, failure("409 Conflict"))


@scenario
def payload_too_large(_):
    return whole(b"", "413 Payload Too Large", None)


@scenario
def unprocessable(_):
    return whole(b'{"detail": [{"loc": ["body"], "msg": "field required"}]}', "422 Unprocessable", "application/json")


@scenario
def too_early(attempt):
    return once(attempt, failure("425 Too Early"))


@scenario
def not_implemented(_):
    return failure("501 Not Implemented", "no streams here")


@scenario
def gateway_timeout(attempt):
    return once(attempt, whole(b"<html>504</html>", "504 Gateway Timeout", "text/html"))


@scenario
def cloudflare(attempt):
    return once(attempt, whole(b"error code: 520", "520 Web server error", "text/plain"))


@scenario
def overload(attempt):
    return once(attempt, failure("529 Overloaded"))


@scenario
def status_unknown(_):
    return failure("799 Hm", "what is this")


def limited(wait):
    return failure("429 Too Many Requests", "slow down", "rate_limit_exceeded", Retry_After=wait)


@scenario
def wait_negative(attempt):
    return once(attempt, limited("-5"))


@scenario
def wait_huge(attempt):
    return once(attempt, limited("1e300"))


@scenario
def wait_garbled(attempt):
    return once(attempt, limited("soon"))


@scenario
def wait_empty(attempt):
    return once(attempt, limited(""))


@scenario
def wait_until_yesterday(attempt):
    return once(attempt, limited(email.utils.formatdate(time.time() - 86400, usegmt=True)))


@scenario
def wait_until_next_year(_):
    return limited(email.utils.formatdate(time.time() + 86400 * 365, usegmt=True))


@scenario
def wait_a_day(_):
    return limited("24h")


# ---- the stream ------------------------------------------------------------------------------------


@scenario
def byte_order_mark(_):
    return whole(b"\xef\xbb\xbf" + STREAM)


@scenario
def byte_order_mark_in_pieces(_):
    return chunked(*[chunk(bytes([byte])) for byte in b"\xef\xbb\xbf"], chunk(STREAM), b"0\r\n\r\n")


@scenario
def line_ends_mixed(_):
    return whole(b"".join(e[:-2] + end for e, end in zip(content() + END, [b"\n\n", b"\r\n\r\n", b"\r\r", b"\r\n\n", b"\n\r\n"] * 20)))


@scenario
def fields_in_any_order(_):
    return whole(b"".join(b"retry: 9\n" + e[:-1] + b"event: message\nid: 7\nunknown: x\nunknown\n\n" for e in content() + END))


@scenario
def events_without_data(_):
    return whole(b"".join(b"event: ping\n\ndata\n\ndata:\n\n" + e for e in content() + END))


@scenario
def words_between_events(_):
    return whole(b"".join(b"waiting for the model...\n\n" + e for e in content() + END))


@scenario
def comments_in_floods(_):
    return whole(b": ping\n\n" * 200_000 + STREAM)


@scenario
def pings_in_floods(_):
    return whole(event({"type": "ping"}) * 50_000 + STREAM)


@scenario
def pings_for_ever(_):
    return [head()] + [b": ping\n\n", 0.05] * 400


@scenario
def line_for_ever(_):
    return [head(), b"data: "] + [b"x" * 65536] * 100


@scenario
def drips(_):
    return [head()] + [piece for at in range(0, len(STREAM), 40) for piece in (STREAM[at : at + 40], 0.02)]


@scenario
def finish_first(_):
    return whole(b"".join([event(part({}, "stop"))] + content() + END[1:]))


@scenario
def usage_first(_):
    return whole(b"".join([END[1]] + content() + [END[0], END[2]]))


@scenario
def done_twice(_):
    return whole(STREAM + event("[DONE]") * 3)


@scenario
def text_after_done(_):
    return whole(b"".join(content()[:-1] + END + content()[-1:]))


@scenario
def nothing_but_done(attempt):
    return once(attempt, whole(event("[DONE]")))


@scenario
def error_that_is_a_word_in_the_stream(_):
    return whole(b"".join(content()[:3]) + event({"error": "CUDA out of memory"}))


@scenario
def error_after_the_text(_):
    return whole(b"".join(content()) + event({"error": {"message": "too late", "type": "invalid_request_error"}}) + b"".join(END))


@scenario
def utf8_invalid(_):
    return whole(b"".join([event("{\"choices\":[{\"delta\":{\"content\":\"a?b\"}}]}").replace(b"?", b"\xff\xc3")] + END))


@scenario
def utf8_overlong(_):
    return whole(b"".join([event("{\"choices\":[{\"delta\":{\"content\":\"a?b\"}}]}").replace(b"?", b"\xc0\xaf")] + END))


@scenario
def utf8_split_over_events(_):
    half = [event("{\"choices\":[{\"delta\":{\"content\":\"?\"}}]}").replace(b"?", b) for b in (b"a\xc3", b"\xb6b")]
    return whole(b"".join(half + END))


@scenario
def surrogate_alone(_):
    return whole(b"".join([event(r'{"choices":[{"delta":{"content":"a\ud83db\ude00c"}}]}')] + END))


@scenario
def surrogates_split_over_events(_):
    return whole(b"".join([event(r'{"choices":[{"delta":{"content":"a\ud83d"}}]}'), event(r'{"choices":[{"delta":{"content":"\ude00b"}}]}')] + END))


@scenario
def nul_escaped(_):
    return whole(b"".join([event(r'{"choices":[{"delta":{"content":"a\u0000b\\u0000"}}]}')] + END))


@scenario
def nul_byte(_):
    return whole(b"".join([event("{\"choices\":[{\"delta\":{\"content\":\"a\0b\"}}]}")] + END))


@scenario
def nesting_deep(attempt):
    return once(attempt, whole(event("{\"a\":" + "[" * 100_000) + STREAM))


@scenario
def keys_twice(_):
    first = event('{"choices":[{"delta":{"content":"a","content":"b"}}],"choices":[{"delta":{"content":"c"}}]}')
    return whole(b"".join([first] + END))


@scenario
def numbers_out_of_range(_):
    return whole(b"".join(content() + [END[0], event('{"choices":[],"created":1e999,"usage":{"prompt_tokens":1e999,"completion_tokens":-1e999}}'), END[2]]))


def usage_of(usage):
    return whole(b"".join(content() + [END[0], event(part(usage=usage)), END[2]]))


@scenario
def usage_negative(_):
    return usage_of({"prompt_tokens": -11, "completion_tokens": -7})


@scenario
def usage_over_all_limits(_):
    return usage_of({"prompt_tokens": 10**12, "completion_tokens": 10**15})


@scenario
def usage_of_words(_):
    return usage_of({"prompt_tokens": "11", "completion_tokens": [7]})


@scenario
def usage_is_a_list(_):
    return usage_of([11, 7])


@scenario
def choices_missing(attempt):
    return once(attempt, whole(b"".join(event({"choices": None}) + event({"choices": {}}) + event({"choices": [7]}) for _ in range(3))))


@scenario
def events_that_are_lists(attempt):
    return once(attempt, whole(event([1, 2]) * 9))


@scenario
def lines_of_json(attempt):
    return once(attempt, whole(b"".join(json.dumps(part({"content": "a"})).encode() + b"\n" for _ in range(3)), kind="application/x-ndjson"))


REPLY = json.dumps({"model": "served-1", "choices": [{"message": {"content": TEXT}, "finish_reason": "stop"}], "usage": USAGE}).encode()


@scenario
def whole_after_blanks(_):
    return whole(b"\n \r\n" * 50 + REPLY, kind="application/json")


@scenario
def whole_with_a_mark(_):
    return whole(b"\xef\xbb\xbf" + REPLY, kind="application/json")


@scenario
def whole_cut(attempt):
    return once(attempt, whole(REPLY[:-30], kind="application/json"))


@scenario
def whole_without_a_type(_):
    return whole(REPLY, kind=None)


@scenario
def words_with_status_200(attempt):
    return once(attempt, whole(b"Too many requests, please slow down.", kind="text/plain"))


async def send(writer, attempt, function, sleep):
    """Sends the pieces. The connection is closed afterwards."""
    for piece in function(attempt):
        if isinstance(piece, (int, float)):
            await sleep(piece)
        elif piece == RESET:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return
        elif piece == HALF:
            writer.write_eof()
        else:
            writer.write(piece)
            await writer.drain()
