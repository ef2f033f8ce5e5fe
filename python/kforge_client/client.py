"""The client of `kforge serve`: keep-alive connections, retries, and results."""
from __future__ import annotations

import asyncio
import http.client
import json
import os
import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple
from urllib.parse import quote, urlsplit

from .local import LocalServer, ServerError
from .result import GarbledAnswer, Result, fault, parse, result_of

# Fields of POST /v1/judge. One of source and reply is needed.
FIELDS = frozenset(
    "task bundle source reply language flags mode seconds reward shape id deadline_s cache "
    "group".split()
)
LIMIT = 64 << 20  # bytes of an answer
CONNECT = 10.0  # seconds for a connection
PAUSE = 1.0  # first pause before a candidate is judged again, in seconds


class RequestError(ValueError):
    """The server refuses the request itself: unknown task, wrong field, wrong token."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


class Unreachable(RuntimeError):
    """The server could not be asked within the time or the number of tries."""


class _Call:
    """One request. Another thread may cancel it."""

    def __init__(self, timeout: float):
        self.until = time.monotonic() + timeout
        self.cancelled = threading.Event()
        self.connection: Optional[http.client.HTTPConnection] = None

    def again(self, timeout: float) -> None:
        self.until = time.monotonic() + timeout

    def left(self) -> float:
        return self.until - time.monotonic()

    def cancel(self) -> None:
        """Closes the connection, which cancels the job in the server's queue."""
        self.cancelled.set()
        connection = self.connection
        sock = connection.sock if connection else None
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Client:
    """Asks one server. Threads may share a client.

    server       address, as http://127.0.0.1:8080. Default: KFORGE_SERVER, else a local server
                 that all processes of the user share. It runs `command`.
    token        the token, or a file with it. Default: KFORGE_TOKEN
    timeout      seconds for one candidate with all retries and the time in the queue
    retries      tries after a lost connection or a garbled answer
    connections  most requests at a time
    defaults     fields of every request, as mode="check" or reward="kevin"
    """

    def __init__(
        self,
        server: Optional[str] = None,
        token: Optional[str] = None,
        *,
        timeout: float = 900.0,
        retries: int = 8,
        connections: int = 32,
        command: Sequence[str] = ("kforge", "serve", "--port", "0"),
        **defaults: Any,
    ):
        self._server = server or os.environ.get("KFORGE_SERVER") or None
        self._token = _token(token or os.environ.get("KFORGE_TOKEN") or "")
        self._command = command
        self._timeout, self._retries, self._connections = timeout, retries, connections
        self._defaults = self._checked(defaults)
        self._local: Optional[LocalServer] = None
        self._address = self._server
        self._started = False
        self._idle: List[http.client.HTTPConnection] = []
        self._threads: Optional[ThreadPoolExecutor] = None
        self._lock = threading.Lock()
        self._pid = os.getpid()

    # ---- requests ----------------------------------------------------------------------------

    def judge(
        self, task: str, source: Optional[str] = None, *, patience: float = 0.0, **fields: Any
    ) -> Result:
        """Judges a source, or with reply=… a model's whole reply. Waits for the verdict.

        A fault of the machine has no reward. For `patience` seconds the candidate is then judged
        again. Raises RequestError if the call itself is wrong.
        """
        return self._judge(self._request(task, source, fields), _Call(self._timeout), patience)

    async def judge_async(
        self, task: str, source: Optional[str] = None, *, patience: float = 0.0, **fields: Any
    ) -> Result:
        """Judges like `judge`, without blocking the event loop. Cancelling cancels the job."""
        request, call = self._request(task, source, fields), _Call(self._timeout)
        future = asyncio.get_running_loop().run_in_executor(
            self._pool(), self._judge, request, call, patience
        )
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            call.cancel()
            future.add_done_callback(lambda done: done.cancelled() or done.exception())
            raise

    def judge_batch(self, items: Iterable[Mapping[str, Any]]) -> List[Result]:
        """Judges requests at the same time. Each item has the fields of POST /v1/judge."""
        requests = [self._request(None, None, dict(item)) for item in items]
        judge = lambda request: self._judge(request, _Call(self._timeout))
        return list(self._pool().map(judge, requests))

    def tasks(self) -> List[Dict[str, Any]]:
        """Returns the server's tasks."""
        tasks = self._get("/v1/tasks").get("tasks")
        if not isinstance(tasks, list):
            raise Unreachable("the answer has no list of tasks")
        return tasks

    def task(self, name: str) -> Dict[str, Any]:
        """Returns prompt, prototype and workloads of a task."""
        return self._get("/v1/tasks/" + quote(name, safe=""))

    def health(self) -> Dict[str, Any]:
        """Returns the server's state. It is not healthy before its workers have started."""
        return self._get("/health")

    def address(self) -> str:
        """Returns the server's address. Starts a local server if no other was given."""
        with self._lock:
            if self._address:
                return self._address
            if self._local is None:
                self._local = LocalServer(self._command)
            local = self._local
        address, token = local.address()
        with self._lock:
            self._address, self._token, self._started = address, token, True
        return address

    def close(self) -> None:
        """Closes connections. A local server ends with its last user."""
        with self._lock:
            idle, self._idle = self._idle, []
            local, self._local = self._local, None
            self._address = self._server
            threads, self._threads = self._threads, None
        for connection in idle:
            connection.close()
        if threads:
            threads.shutdown(wait=False)
        if local:
            local.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- one candidate -----------------------------------------------------------------------

    @staticmethod
    def _checked(fields: Dict[str, Any]) -> Dict[str, Any]:
        unknown = sorted(set(fields) - FIELDS)
        if unknown:
            known = ", ".join(sorted(FIELDS))
            raise TypeError("unknown field %s. Fields: %s" % (unknown[0], known))
        return fields

    def _request(
        self, task: Optional[str], source: Optional[str], fields: Dict[str, Any]
    ) -> Dict[str, Any]:
        given = {"task": task, "source": source, **self._checked(fields)}
        request = {k: v for k, v in {**self._defaults, **given}.items() if v is not None}
        if ("source" in request) == ("reply" in request):
            raise TypeError("give either a source or a reply")
        if ("task" in request) == ("bundle" in request):
            raise TypeError("give either a task or a bundle")
        if not request.get("source", "some").strip():  # A model may send nothing.
            request["reply"] = request.pop("source")
        for name in ("source", "reply"):
            if name in request:  # C's strings end at a zero.
                request[name] = request[name].replace("\0", "\ufffd")
        return request

    def _judge(self, request: Dict[str, Any], call: _Call, patience: float = 0.0) -> Result:
        until, pause = time.monotonic() + patience, PAUSE
        while True:
            result = self._once(request, call)
            if result.scorable or result.blame == "candidate":
                return result
            if call.cancelled.is_set() or time.monotonic() + pause > until:
                return result
            call.cancelled.wait(pause)
            pause = min(30.0, pause * 2)
            call.again(self._timeout)

    def _once(self, request: Dict[str, Any], call: _Call) -> Result:
        try:
            status, answer = self._ask("POST", "/v1/judge", request, call)
        except Unreachable as error:
            return fault("unreachable", str(error))
        if status == 504:
            return fault("deadline", _message(answer))
        if status == 413 and request.get("reply"):
            # The judge finds no source in a reply over its limit.
            return self._once({**request, "reply": ""}, call)
        if status == 413:
            return fault("too_large", _message(answer), "candidate")
        assert isinstance(answer, Result)
        return answer

    # ---- transport ---------------------------------------------------------------------------

    def _get(self, path: str) -> Dict[str, Any]:
        answer = self._ask("GET", path, None, _Call(60.0))[1]
        if not isinstance(answer, dict):
            raise Unreachable("the answer is not an object: %.100r" % (answer,))
        return answer

    def _ask(
        self, method: str, path: str, request: Optional[Dict[str, Any]], call: _Call
    ) -> Tuple[int, Any]:
        """Sends a request until there is an answer that counts. Returns its status and content."""
        failures, message = 0, ""
        while failures <= self._retries and call.left() > 0 and not call.cancelled.is_set():
            pause = min(5.0, 0.1 * 2**failures)
            try:
                sent = request
                if request is not None:
                    # The server drops the job when this client no longer waits.
                    sent = {"deadline_s": round(call.left(), 3), **request}
                status, headers, body = self._exchange(method, path, sent, call)
                if status == 200 or (status == 503 and path == "/health"):
                    answer = parse(body)
                    return status, answer if request is None else result_of(answer)
                message = "status %d: %s" % (status, _message_in(body))
                if status in (413, 504) and request is not None:
                    return status, {"error": message}
                if status < 500 and status not in (408, 429):
                    raise RequestError(status, _message_in(body))
                pause = _retry_after(headers, pause)
                failures += status != 429
            except ServerError as error:
                if not self._started:
                    raise
                failures += 1
                message = str(error)
            except (OSError, http.client.HTTPException, GarbledAnswer) as error:
                failures += 1
                message = "%s: %s" % (type(error).__name__, error)
                with self._lock:
                    self._address = self._server  # A local server may have to be started again.
            # Many clients that were refused together do not come back together.
            call.cancelled.wait(max(0.0, min(pause * random.uniform(1.0, 1.3), call.left())))
        raise Unreachable("no answer from the server: %s" % (message or "no time left"))

    def _exchange(
        self, method: str, path: str, request: Optional[Dict[str, Any]], call: _Call
    ) -> Tuple[int, http.client.HTTPMessage, bytes]:
        body = None
        if request is not None:
            text = json.dumps(request, ensure_ascii=False, allow_nan=False)
            body = text.encode("utf-8", "replace")  # A model's text may have lone surrogates.
        headers = {"Content-Type": "application/json"} if body else {}
        while True:
            connection, reused = self._connection()
            if self._token:
                headers["Authorization"] = "Bearer " + self._token
            call.connection = connection
            try:
                if connection.sock is None:
                    connection.timeout = min(CONNECT, max(0.01, call.left()))
                    connection.connect()
                if call.cancelled.is_set():
                    raise ConnectionAbortedError("cancelled")
                connection.sock.settimeout(max(0.01, call.left() + 5))
                connection.request(method, path, body, headers)
                response = connection.getresponse()
            except (ConnectionError, http.client.RemoteDisconnected):
                connection.close()
                if reused and not call.cancelled.is_set():
                    continue  # The server had closed the idle connection.
                raise
            except BaseException:
                connection.close()
                raise
            try:
                content = response.read(LIMIT + 1)
                if len(content) > LIMIT:
                    raise GarbledAnswer("the answer is over %d bytes" % LIMIT)
            except BaseException:
                connection.close()
                raise
            if response.will_close:
                connection.close()
            else:
                self._give_back(connection)
            return response.status, response.headers, content

    def _connection(self) -> Tuple[http.client.HTTPConnection, bool]:
        address = self.address()
        url = urlsplit(address if "//" in address else "http://" + address)
        with self._lock:
            self._after_fork()
            while self._idle:
                connection = self._idle.pop()
                if (connection.host, connection.port) == (url.hostname, url.port or 80):
                    return connection, True
                connection.close()
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        return kind(url.hostname or "", url.port), False

    def _after_fork(self) -> None:
        """Drops what belongs to the process that has forked."""
        if self._pid != os.getpid():
            for connection in self._idle:
                connection.close()  # closes this process's descriptor alone
            self._pid, self._idle, self._threads = os.getpid(), [], None

    def _give_back(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < self._connections and self._pid == os.getpid():
                self._idle.append(connection)
                return
        connection.close()

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            self._after_fork()
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._connections, "kforge")
            return self._threads


def _token(given: str) -> Optional[str]:
    """Returns the token. It may stand in a file, as for `kforge serve --token`."""
    try:
        with open(given, encoding="utf-8") as file:
            return file.readline().strip()
    except OSError:
        return given or None


def _message_in(body: bytes) -> str:
    try:
        return _message(parse(body))
    except GarbledAnswer:
        return body[:200].decode("utf-8", "replace")


def _message(answer: Any) -> str:
    error = answer.get("error") if isinstance(answer, dict) else answer
    if isinstance(error, dict):
        error = ". ".join(str(error[k]) for k in ("where", "what", "todo") if error.get(k))
    return str(error)[:500]


def _retry_after(headers: http.client.HTTPMessage, otherwise: float) -> float:
    try:
        return max(0.05, min(30.0, float(headers.get("Retry-After", ""))))
    except ValueError:
        return otherwise
