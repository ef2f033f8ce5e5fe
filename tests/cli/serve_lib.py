"""A client and a server for the tests of `kforge serve`."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time

WAIT = 120  # seconds for what takes milliseconds on an idle machine


class Server:
    """A `kforge serve` on a free port, with simulated workers unless `workers` says otherwise."""

    started = []  # for kill_all

    def __init__(self, bin_folder, folder, *arguments, workers=None, store="kforge.db", **environment):
        self.folder = folder
        fake = os.path.join(bin_folder, "..", "tests", "fake_worker")
        command = [os.path.join(bin_folder, "kforge"), "serve", "--listen", "127.0.0.1:0",
                   "--store", os.path.join(folder, store)]
        for worker in [fake] if workers is None else workers:
            command += ["--workers", worker]
        self.log = open(os.path.join(folder, "serve.err"), "a+")
        clean = {k: v for k, v in os.environ.items() if not k.startswith("KFORGE_")}
        clean.update(HOME=folder, KFORGE_CONFIG="none", FAKE_LOG=os.path.join(folder, "jobs.log"),
                     **environment)
        self.process = subprocess.Popen(command + list(arguments), cwd=folder, env=clean, text=True,
                                        stdout=subprocess.PIPE, stderr=self.log)
        Server.started.append(self)
        line = self.process.stdout.readline()
        found = re.match(r"listening on http://127\.0\.0\.1:(\d+)\n", line)
        assert found, "unexpected first line: %r, %s" % (line, self.errors())
        self.port = int(found[1])

    @classmethod
    def kill_all(cls):
        """Ends the servers that a failed case left."""
        for server in cls.started:
            if server.process.poll() is None:
                server.process.kill()
                server.process.wait()
        cls.started.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def errors(self):
        self.log.seek(0)
        return self.log.read()

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        status = self.process.wait(WAIT)
        if self.log.closed:
            return status
        self.process.stdout.close()
        errors = self.errors()
        self.log.close()
        assert not re.search("WARNING: ThreadSanitizer|ERROR: (Address|Leak)Sanitizer|runtime error:", errors), errors[-4000:]
        return status

    def request(self, method, path, body=None, headers=None, raw=False, timeout=None):
        """Returns the status, the answer and its headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout or WAIT)
        try:
            if body is not None and not isinstance(body, (bytes, str)):
                body = json.dumps(body)
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            data = answer.read()
            return answer.status, data if raw else json.loads(data), answer.headers
        finally:
            connection.close()

    def post(self, path, body, headers=None, timeout=None):
        status, answer, _ = self.request("POST", path, body, headers, timeout=timeout)
        return status, answer

    def get(self, path):
        status, answer, _ = self.request("GET", path)
        return status, answer

    def begin(self, path, body):
        """Sends a request and returns its socket without reading the answer."""
        text = json.dumps(body).encode()
        s = socket.create_connection(("127.0.0.1", self.port), WAIT)
        s.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
                  % (path.encode(), len(text)) + text)
        return s

    def judged(self):
        """Returns how many jobs the simulated workers were given."""
        path = os.path.join(self.folder, "jobs.log")
        return len(open(path).readlines()) if os.path.exists(path) else 0

    def metric(self, name):
        _, text, _ = self.request("GET", "/metrics", raw=True)
        return float(re.search(r"^%s (\S+)$" % re.escape(name), text.decode(), re.M)[1])


def is_instrumented(bin_folder):
    """True for programs with a sanitizer, which keeps freed memory."""
    program = open(os.path.join(bin_folder, "kforge"), "rb").read()
    return b"__asan" in program or b"__tsan" in program


def wait_until(condition, what):
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end, "waited in vain: " + what
        time.sleep(0.01)


def read_answer(s):
    """Reads one answer from a socket of Server.begin."""
    answer = http.client.HTTPResponse(s)
    answer.begin()
    data = answer.read()
    s.close()
    return answer.status, json.loads(data)
