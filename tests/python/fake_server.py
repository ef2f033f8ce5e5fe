"""A server with the routes of `kforge serve` that says what a source asks for.

    fake_server.py serve --port 0     prints its address and serves

A source or a reply is a list of answers, one a line. The first request gets the first one, and
so on. The last answer is repeated.
"""
import http.server
import json
import os
import signal
import sys
import threading
import time

OTHERS = ("machine", "task", "judge")


def verdict(words):
    """Returns the answer for the words `correct 1.5`, a status, or one that is to blame."""
    answer = {"id": "1", "scorable": True, "reward": 0.0, "status": words[0], "blame": "candidate",
              "correct": False, "cheating": False, "speedup": None, "summary": "a summary",
              "next": "the next step", "candidate": "c" * 64, "cached": False, "queue_s": 0.0,
              "build_s": 0.1, "judge_s": 0.1, "device": "cpu"}
    if words[0] == "correct":
        value = None if words[1] == "null" else float(words[1])
        figures = [value, value and round(value - 0.1, 6), value and round(value + 0.1, 6)]
        answer.update(reward=round(0.3 + (value or 0), 6), correct=True, blame="nobody",
                      speedup=dict(zip(("value", "low", "high"), figures)))
    elif words[0] in OTHERS:
        answer.update(status="judge_error", blame=words[0], scorable=False, reward=None)
        if len(words) > 1:
            answer.update(scorable=True, reward=1.0)
    elif words[0] == "escape":
        answer.update(status="compile_error", summary="\x1b[2J")
    return answer


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        with self.server.lock:
            self.server.connections += 1

    def send(self, status, content, **headers):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/v1/tasks":
            self.send(200, {"tasks": [{"name": "axpy", "family": "blas"}]})
        elif self.path.startswith("/v1/tasks/"):
            name = self.path[len("/v1/tasks/"):].replace("%2F", "/").replace("%20", " ")
            self.send(200, {"name": name, "system": "Write CUDA.", "prompt": "Write " + name,
                            "prototype": "void f(void)"})
        else:
            self.send(503, {"status": "starting", "pid": os.getpid()})

    def do_POST(self):
        if self.server.token and self.headers.get("Authorization") != "Bearer " + self.server.token:
            self.close_connection = True
            self.send(401, {"error": {"what": "wrong token"}})
            return
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = request.get("source", request.get("reply"))
        with self.server.lock:
            self.server.seen.append((self.path, request, dict(self.headers)))
            turn = self.server.turns.get(text, 0)
            self.server.turns[text] = turn + 1
        lines = self.server.answers(text) if text else ["no_source"]
        self.answer(lines[min(turn, len(lines) - 1)].split() or ["no_source"])
        if turn >= len(lines) - 1:
            self.server.turns.pop(text, None)

    def answer(self, words):
        if words[0] == "slow":
            time.sleep(float(words[1]))
            words = words[2:]
        if words[0] == "meet":
            with self.server.lock:
                place = self.server.places.setdefault(words[1], threading.Barrier(int(words[1])))
            place.wait(60)
            words = words[2:]
        if words[0] == "status":
            self.send(int(words[1]), {"error": {"what": "refused", "where": "task",
                                              "todo": "try another", "status": int(words[1])}})
        elif words[0] == "busy":
            self.send(429, {"error": "the queue is full"}, Retry_After=words[1])
        elif words[0] == "garbage":
            self.send(200, b"<html>\xff")
        elif words[0] == "nan":
            self.send(200, b'{"status":"correct","scorable":true,"reward":NaN}')
        elif words[:2] == ["no", "status"]:
            self.send(200, {"scorable": True, "reward": 1.0})
        elif words[0] == "text":
            self.send(200, {**verdict(["correct", "1"]), "reward": "1"})
        elif words[0] == "not":
            self.send(200, [1])
        elif words[0] in ("cut", "hang", "reset"):
            if words[0] == "cut":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{\"status\":")
            if words[0] == "reset":
                self.wfile.write(b"HTTP/1.1 2")
            self.close_connection = True
        elif words[0] == "deadline":
            time.sleep(0.3)
            self.send(504, {"error": "the deadline has passed"})
        elif words[:2] == ["wait", "until"]:
            self.connection.settimeout(60)
            if self.connection.recv(1) == b"":
                self.server.closed.set()
            self.close_connection = True
        elif words[0] == "die":
            folder = os.environ["XDG_RUNTIME_DIR"]
            if not os.path.exists(folder + "/died"):
                open(folder + "/died", "w").write("x")
                os.kill(os.getpid(), signal.SIGKILL)
            self.send(200, verdict(words[2:]))
        else:
            self.send(200, verdict(words))
            if words[-1] == "close":
                self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.token = ""
        # Returns the answers that a text asks for
        self.answers = lambda text: text.split("\n")
        self.lock, self.closed = threading.Lock(), threading.Event()
        self.seen, self.turns, self.places, self.connections = [], {}, {}, 0

    def handle_error(self, *_):
        pass  # Clients that go away are part of the tests.


def start():
    """Starts a server in a thread."""
    server = Server()
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    return server


if __name__ == "__main__":
    assert sys.argv[1] == "serve", sys.argv
    server = Server()
    if "--token" in sys.argv:
        server.token = open(sys.argv[sys.argv.index("--token") + 1]).readline().strip()
    print("listening on http://127.0.0.1:%d" % server.server_port, flush=True)
    server.serve_forever()
