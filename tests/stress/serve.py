#!/usr/bin/env python3
"""serve.py N: sends N bad requests to `kforge serve`, and good ones between them.

Bad: clients that disconnect at any byte, garbage, bodies that are too large, slow, cut off or no JSON,
wrong tokens, deadlines that pass, unknown tasks, workers that die. The closing table counts

  answered      good requests with an answer
  lost          good requests without one, or jobs that never ended
  false         rewards other than the verdict's, or a reward for a fault of the machine
  leaked        descriptors, connections or megabytes above those after the first tenth

BIN names the folder of the programs (default: build/release/bin), SEED the start of the random numbers,
CLIENTS the clients at a time (8). Exit status: 0, 1 if the last three are not all 0.
"""
import http.client
import json
import os
import random
import re
import shutil
import socket
import sys
import tempfile
import threading
import time

tests = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(tests, "cli"))
from serve_lib import Server, WAIT, is_instrumented, wait_until

BIN = os.path.abspath(os.environ.get("BIN", os.path.join(tests, "../build/release/bin")))
SEED = int(os.environ.get("SEED", time.time()))
CLIENTS = int(os.environ.get("CLIENTS", 8))
TOKEN = "stress-stress-stress"
SOURCE = "extern \"C\" void axpy() {}\n// fake: %s\n// %d\n"


def body(text, number, **more):
    return json.dumps(dict({"task": "axpy", "source": SOURCE % (text, number)}, **more)).encode()


def raw(path, data, token=TOKEN, length=None):
    return (b"POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n"
            % (path.encode(), token.encode(), len(data) if length is None else length)) + data


class Client(threading.Thread):
    def __init__(self, server, number, count, totals):
        super().__init__()
        self.server, self.count, self.totals = server, count, totals
        self.random = random.Random(SEED * 1000 + number)

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.server.port), WAIT)

    def send(self, data, then=None):
        """Sends bytes and closes, or reads what comes first."""
        with self.connect() as s:
            try:
                s.sendall(data)
                if then == "read":
                    s.settimeout(WAIT)
                    return s.recv(65536)
                if then == "reset":
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            except OSError:
                pass
        return b""

    def bad(self, number):
        r = self.random
        whole = raw("/v1/judge", body("speed 1.5", number, deadline_s=WAIT))
        kind = r.randrange(12)
        if kind == 0:  # goes at any byte
            self.send(whole[:r.randrange(len(whole) + 1)], r.choice([None, "reset"]))
        elif kind == 1:  # goes while the job waits or runs
            with self.connect() as s:
                s.sendall(raw("/v1/judge", body("sleep 0.02", number)))
                time.sleep(r.random() * 0.03)
        elif kind == 2:
            self.send(bytes(r.randrange(256) for _ in range(r.randrange(1, 2000))))
        elif kind == 3:
            self.send(raw("/v1/judge", b"x" * (300 << 10)), "read")
        elif kind == 4:  # slow, and never whole
            with self.connect() as s:
                for at in range(0, len(whole) - 40, 40):
                    s.sendall(whole[at:at + 40])
                    time.sleep(0.001)
        elif kind == 5:
            self.check_status(raw("/v1/judge", body("speed 1.5", number), token="wrong-wrong-wrong-wrong"), 401)
        elif kind == 6:
            # A server that stood still for longer finds the verdict first.
            late = raw("/v1/judge", body("sleep 0.2", number, deadline_s=0.001))
            self.check_status(late, 504, 200)
        elif kind == 7:
            self.check_status(raw("/v1/judge", b'{"task": "nope", "source": "x"}'), 404)
        elif kind == 8:
            self.check_status(raw("/v1/judge", bytes(r.choice(b'{}[]":,a0\\') for _ in range(200))), 400)
        elif kind == 9:  # a stream that breaks off
            items = {"items": [json.loads(body("speed 1.5", number * 10 + i)) for i in range(5)]}
            data = raw("/v1/judge/batch", json.dumps(items).encode()).replace(
                b"\r\n\r\n", b"\r\nAccept: application/x-ndjson\r\n\r\n", 1)
            self.send(data, r.choice([None, "read", "reset"]))
        elif kind == 10:  # a job that is forgotten
            self.send(raw("/v1/jobs", body("sleep 0.001", number)), "read")
        else:
            self.send(raw("/v1/judge", whole, length=r.choice([0, 10, 10**6])))

    def check_status(self, data, *statuses):
        got = self.send(data, "read")
        if got and not any(got.startswith(b"HTTP/1.1 %d" % status) for status in statuses):
            self.totals["false"] += 1
            print("expected %s: %r" % (statuses, got[:200]), file=sys.stderr)

    def good(self, number):
        """A request with a known reward."""
        text, reward = self.random.choice([("speed 1.5", 1.8), ("status wrong_result", 0), ("status cheating", -1),
                                           ("status interference", None), ("speed 2", 2.3)])
        request = body(text, number, reward="kevin", shape={"cheating": -1}, deadline_s=2 * WAIT)
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=2 * WAIT)
        try:
            connection.request("POST", "/v1/judge", request, {"Authorization": "Bearer " + TOKEN})
            answer = connection.getresponse()
            got = json.loads(answer.read())
            if answer.status != 200:
                raise OSError("status %d: %s" % (answer.status, got))
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.totals["lost"] += 1
            print("lost: %s" % error, file=sys.stderr)
            return
        finally:
            connection.close()
        self.totals["answered"] += 1
        right = got["reward"] is None if reward is None else abs(got["reward"] - reward) < 1e-9
        if not right or got["scorable"] != (reward is not None):
            self.totals["false"] += 1
            print("false: %s, expected %s" % (got, reward), file=sys.stderr)

    def run(self):
        for i in range(self.count):
            number = self.random.randrange(1 << 40)
            try:
                self.bad(number)
            except OSError:
                pass
            if i % 5 == 0:
                self.good(number)


def resources(server):
    pid = server.process.pid
    status = open("/proc/%d/status" % pid).read()
    return {"descriptors": len(os.listdir("/proc/%d/fd" % pid)),
            "megabytes": int(status.split("VmRSS:")[1].split()[0]) / 1024}


def metric(server, name):
    _, text, _ = server.request("GET", "/metrics", headers={"Authorization": "Bearer " + TOKEN}, raw=True)
    return float(re.search(r"^%s (\S+)$" % name, text.decode(), re.M)[1])


def rest(server):
    """Waits until no job is left and no connection but ours."""
    wait_until(lambda: metric(server, "kforge_queue_depth") + metric(server, "kforge_running") == 0, "the jobs")


def main():
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        print("usage: serve.py N", file=sys.stderr)
        return 2
    count = int(sys.argv[1])
    folder = tempfile.mkdtemp(prefix="kforge-stress.")
    open(folder + "/token", "w").write(TOKEN + "\n")
    totals = {"answered": 0, "lost": 0, "false": 0, "leaked": 0}
    with Server(BIN, folder, "--token", folder + "/token", workers=[
            os.path.join(BIN, "../tests/fake_worker") + "*4"]) as server:
        def campaign(size, start):
            clients = [Client(server, start + k, size // CLIENTS + 1, totals) for k in range(CLIENTS)]
            for c in clients:
                c.start()
            for c in clients:
                c.join()
            try:
                rest(server)
            except AssertionError:
                totals["lost"] += 1
        campaign(count // 10, 0)
        first = resources(server)
        campaign(count - count // 10, 100)
        wait_until(lambda: resources(server)["descriptors"] <= first["descriptors"] + 5, "descriptors")
        last = resources(server)
        # The cache of judgements has a limit, and grows to it.
        if last["megabytes"] > first["megabytes"] + 40 and not is_instrumented(BIN):
            totals["leaked"] += 1
        print("%d requests, seed %d: %s; at first %s, at last %s" % (count, SEED, totals, first, last))
        status = server.stop()
    if status != 0:
        print("the server ended with status %d" % status, file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    return int(status != 0 or totals["lost"] + totals["false"] + totals["leaked"] > 0)


if __name__ == "__main__":
    sys.exit(main())
