#!/usr/bin/env python3
"""Figures of `kforge serve`, one line each. Usage: bench_serve.py [BIN [DEVICE...]]

  cached answer      seconds of one request on one kept connection (median, 95 %)
  cached answers     requests a second from PROCESSES clients with kept connections
  256 connections    resident memory while they wait for an answer
  check, time        verdicts a second of distinct sources on each device

BIN is the folder of the built programs. DEVICE "cpu", "cuda" or "all" adds the last lines. The others
need the simulated worker of the tests.
SOURCES sets the number of distinct sources (40), SECONDS the time limit for timing one (0.3).
"""
import atexit
import http.client
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(root, "tests/cli"))
from serve_lib import Server, read_answer, wait_until

BIN = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(root, "build/release/bin"))
PROCESSES, REQUESTS = 4, 4000
SOURCES = int(os.environ.get("SOURCES", 40))
SECONDS = float(os.environ.get("SECONDS", 0.3))
SOURCE = "extern \"C\" void axpy() {}\n// fake: speed 1.5\n" + "// a line of a kernel of usual length\n" * 60
BODY = json.dumps({"task": "axpy", "source": SOURCE, "reward": "kevin"})


def folders():
    """Returns a new folder, which goes with the program."""
    folder = tempfile.mkdtemp(prefix="kforge-bench.")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def requests(port, count, times=None):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for _ in range(count):
        began = time.perf_counter()
        connection.request("POST", "/v1/judge", BODY)
        answer = connection.getresponse()
        data = answer.read()
        if times is not None:
            times.append(time.perf_counter() - began)
        assert answer.status == 200 and b'"cached":true' in data, data
    connection.close()


def small_answers(folder):
    with Server(BIN, folder) as s:
        s.post("/v1/judge", json.loads(BODY))
        times = []
        requests(s.port, 2000, times)
        times.sort()
        print("cached answer: median %.2f ms, 95 %% %.2f ms of %d" %
              (1e3 * times[len(times) // 2], 1e3 * times[len(times) * 95 // 100], len(times)))
        clients = [multiprocessing.Process(target=requests, args=(s.port, REQUESTS)) for _ in range(PROCESSES)]
        began = time.perf_counter()
        for c in clients:
            c.start()
        for c in clients:
            c.join()
        print("cached answers: %.0f a second" % (PROCESSES * REQUESTS / (time.perf_counter() - began)))


def held_connections(folder):
    go = os.path.join(folder, "go")
    with Server(BIN, folder) as s:
        held = [s.begin("/v1/judge", {"task": "axpy", "deadline_s": 600,
                                      "source": SOURCE.replace("speed 1.5", "until %s\n// %d" % (go, i))})
                for i in range(256)]
        wait_until(lambda: s.metric("kforge_queue_depth") == 255, "all jobs wait")
        status = open("/proc/%d/status" % s.process.pid).read()
        print("256 connections: %.1f MiB resident" % (int(status.split("VmRSS:")[1].split()[0]) / 1024))
        open(go, "w").close()
        for c in held:
            assert read_answer(c)[0] == 200


def distinct(device, mode):
    """Verdicts a second. The sources differ in a constant, so each has code of its own."""
    folder = folders()
    os.symlink(os.path.join(root, "tasks"), os.path.join(folder, "tasks"))
    text = open(os.path.join(root, "tasks/axpy/baseline.cu")).read()
    sources = [text + "\n__global__ void other%d(float *x) { x[0] = %d.0f; }\n" % (i, i)
               for i in range(SOURCES + 1)]
    choice = ["--devices", "all"] if device == "all" else ["--device", device]
    with Server(BIN, folder, *choice, workers=[]) as s:
        ask = lambda source: {"task": "axpy", "source": source, "mode": mode, "seconds": SECONDS, "cache": False}
        s.post("/v1/judge", dict(ask(sources.pop()), deadline_s=600))  # builds oracle and baseline
        began = time.perf_counter()
        status, answer = s.post("/v1/judge/batch", {"items": [ask(x) for x in sources], "deadline_s": 3600})
        seconds = time.perf_counter() - began
        good = sum(r.get("correct", False) for r in answer["results"])
        print("%s, %s: %.2f verdicts a second (%d of %d correct)" %
              (device, mode, len(sources) / seconds, good, len(sources)))


if __name__ == "__main__":
    if os.path.exists(os.path.join(BIN, "../tests/fake_worker")):
        small_answers(folders())
        held_connections(folders())
    for name in sys.argv[2:]:
        distinct(name, "check")
        distinct(name, "time")
