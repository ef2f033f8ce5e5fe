"""kforge serve from the outside: routes, bad input, equal work, clients that go, restarts.

Simulated workers judge by what stands in the candidate (fake_worker.c). Usage: serve.py BIN [CASE...]
"""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from serve_lib import Server, WAIT, is_instrumented, read_answer, wait_until

BIN = os.path.abspath(sys.argv[1])
SOURCE = "__global__ void k() {}\nextern \"C\" void axpy() {}\n// fake: speed 1.5\n"


def source(text):
    return SOURCE.replace("fake: speed 1.5", text)


def ask(text="fake: speed 1.5", **more):
    return dict({"task": "axpy", "source": source(text)}, **more)


def expect(answer, status, *words):
    assert answer[0] == status, answer
    for word in words:
        assert word in json.dumps(answer[1]), (word, answer)
    return answer[1]


def error_of(answer, status, *words):
    error = expect(answer, status, *words)["error"]
    assert set(error) == {"what", "where", "todo", "status"} and error["what"] and error["todo"], error
    return error


# ---- answers -------------------------------------------------------------------------------------

def judge(folder):
    with Server(BIN, folder) as s:
        got = expect(s.post("/v1/judge", ask(reward="kevin", id="a1", group="p1")), 200)
        assert got["scorable"] and abs(got["reward"] - 1.8) < 1e-9 and got["correct"], got
        assert got["speedup"] == {"value": 1.5, "low": 1.485, "high": 1.515}, got
        assert got["id"] == "a1" and got["group"] == "p1" and not got["cached"], got
        assert got["status"] == "correct" and got["summary"], got
        assert got["next"] and got["device"] == "cpu:0" and got["mode"] == "time", got
        again = expect(s.post("/v1/judge", ask(reward="speedup")), 200)
        assert again["cached"] and again["reward"] == 1.5 and s.judged() == 1, again
        # a prefix of the task's hash, and what the candidate is stored under
        same = expect(s.post("/v1/judge", dict(ask(), task=got["task"][:12])), 200)
        assert same["cached"] and same["reward"] is None and same["scorable"], same
        stored = expect(s.get("/v1/candidates/" + got["candidate"]), 200)
        assert stored["source"] == source("fake: speed 1.5") and stored["status"] == "correct", stored
        assert stored["verdict"]["schema"] == "kforge-verdict/1", stored
        # other flags are other work
        other = expect(s.post("/v1/judge", ask(flags=["-DN=2"])), 200)
        assert not other["cached"] and other["candidate"] != got["candidate"], other
        # cache: false judges anew
        fresh = expect(s.post("/v1/judge", ask(cache=False)), 200)
        assert not fresh["cached"] and s.judged() == 3, fresh
        # a time answers a check, but no verification
        check = expect(s.post("/v1/judge", ask(mode="check")), 200)
        assert check["cached"] and s.judged() == 3, check
        verify = expect(s.post("/v1/judge", ask(mode="verify")), 200)
        assert verify["reverified"] and not verify["cached"] and s.judged() == 4, verify


def keys(folder):
    """What must not share an answer: languages, and seconds of timing."""
    task = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../unit/data/tasks/torch")
    for text in "import torch\n# fake: python wrong_result\n", "#define A\n# // fake: python wrong_result\n":
        for first, second in ("cuda", "python"), ("python", "cuda"):
            text += "#\n"
            statuses = {"cuda": "correct", "python": "wrong_result"}
            for cached in False, True:
                with Server(BIN, folder, task) as s:
                    for language in first, second:
                        got = expect(s.post("/v1/judge", {"task": json.load(open(task + "/task.json"))["name"],
                                                          "source": text, "language": language}), 200)
                        assert (got["status"], got["cached"]) == (statuses[language], cached), (language, got)
    wide, narrow = [0.05, 42], [1.485, 1.515]
    with Server(BIN, folder) as s:
        def judged(text="fake: speed 1.5\n// fake: code A\n// fake: quick 0.05 42", **more):
            got = expect(s.post("/v1/judge", ask(text, **more)), 200)
            return [round(got["speedup"][end], 6) for end in ("low", "high")], got["cached"]
        assert judged(seconds=0.01) == (wide, False)
        assert judged(seconds=0.01) == (wide, True)
        # nor does the quick verdict speak for the same code in another text
        twin = "fake: speed 1.5\n// fake: quick 0.05 42\n// fake: code A"
        assert judged(twin, seconds=3) == (narrow, False)
        assert judged(seconds=3) == (narrow, False)
        assert judged(seconds=1) == (narrow, True)
        assert judged(seconds=0.01, cache=False) == (wide, False)
        assert judged(seconds=3) == (narrow, True)
        assert judged(seconds=9) == (narrow, False)
        assert judged(mode="check")[1]
        # work in flight
        go = os.path.join(folder, "go")
        text = "fake: until %s\n// fake: speed 1.5\n// fake: quick 0.05 42" % go
        held = [s.begin("/v1/judge", ask(text, seconds=n)) for n in (0.01, 3)]
        wait_until(lambda: s.metric("kforge_running") + s.metric("kforge_queue_depth") == 2, "two jobs")
        open(go, "w").close()
        assert [round(read_answer(c)[1]["speedup"]["high"], 6) for c in held] == [42, 1.515]
    with Server(BIN, folder) as s:
        assert judged(seconds=3) == (narrow, True)


def replies(folder):
    with Server(BIN, folder) as s:
        good = "Here it is.\n```cuda\n%s```\nUse it so:\n```cpp\naxpy();\n```\n" % SOURCE
        got = expect(s.post("/v1/judge", {"task": "axpy", "reply": good, "reward": "speedup"}), 200)
        assert got["correct"] and got["reward"] == 1.5, got
        none = {"task": "axpy", "reply": "I can't.", "shape": {"no_source": -0.25, "correct": 1}}
        got = expect(s.post("/v1/judge", none), 200)
        assert got["status"] == "no_source" and got["reward"] == -0.25 and got["scorable"], got
        assert got["candidate"] is None and got["blame"] == "candidate" and got["next"], got
        none = {"task": "axpy", "reply": "I can't.", "reward": "milestones"}
        assert expect(s.post("/v1/judge", none), 200)["reward"] == -1
        assert s.judged() == 1


def rewards(folder):
    shape = {"no_source": 0, "compile_error": 0, "wrong_result": 0.05, "cheating": -1, "correct": 0.3}
    with Server(BIN, folder) as s:
        def reward(text, **more):
            got = expect(s.post("/v1/judge", ask(text, **more)), 200)
            return got["scorable"], got["reward"], got["status"]
        wrong, cheat = "fake: status wrong_result", "fake: status cheating"
        assert reward(wrong, reward="kevin") == (True, 0, "wrong_result")
        assert reward(wrong, reward="kevin", shape=shape) == (True, 0.05, "wrong_result")
        assert reward(cheat, reward="kevin", shape=shape) == (True, -1, "cheating")
        assert reward(cheat, shape={"failed": -2, "correct": 1}) == (True, -2, "cheating")
        assert reward("fake: status crash", shape=shape) == (True, 0, "crash")
        assert reward("fake: speed 1.5", shape=shape) == (True, 0.3, "correct")
        assert reward("fake: speed 1.5", reward="speedup", shape=shape) == (True, 1.5, "correct")
        # correct without a time: no value, unless the shape has one
        assert reward("fake: speed nan", reward="speedup") == (False, None, "correct")
        assert reward("fake: speed nan", reward="speedup", shape=shape) == (True, 0.3, "correct")
        # a check is no time
        error_of(s.post("/v1/judge", ask(mode="check", reward="speedup")), 400, "mode")
        error_of(s.post("/v1/judge", ask(mode="check", shape={"failed": 0})), 400, "correct")
        # a shape alone that gives the best candidates nothing is a mistake
        for mode in ("time", "verify"):
            error_of(s.post("/v1/judge", ask(mode=mode, shape={"failed": 0})), 400, "shape.correct")
        assert reward("fake: speed 2", mode="check", shape=shape)[1] == 0.3


def hidden(folder):
    """A model reads `summary` and `next`. Of a hidden workload they say only that it failed."""
    got = subprocess.run([os.path.join(BIN, "kforge"), "task", "bundle", "axpy"], text=True, capture_output=True,
                         env={**os.environ, "KFORGE_CONFIG": "none"})
    bundle = json.loads(got.stdout)
    with Server(BIN, folder) as s:
        def summary():
            request = {"bundle": bundle, "source": source("fake: status wrong_result")}
            answer = expect(s.post("/v1/judge", request), 200, "wrong_result")
            assert answer["next"] and answer["blame"] == "candidate", answer
            return answer["summary"]
        assert summary() == "wrong_result in workload main: as the test asked"
        for workload in bundle["json"]["workloads"]:
            workload["hidden"] = workload["name"] == "main"  # where simulated workers find faults
        text = summary()
        assert "main" not in text and "as the test asked" not in text and "not shown" in text, text


def events(folder):
    """--events: one attempt a verdict, none for a stored answer."""
    path = os.path.join(folder, "events.jsonl")
    with Server(BIN, folder, "--events", path) as s:
        for text in ("fake: speed 1.5", "fake: status wrong_result", "fake: speed 1.5"):
            expect(s.post("/v1/judge", ask(text)), 200)
        assert s.judged() == 2
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    schema = os.path.join(root, "docs", "reference", "kforge-event.schema.json")
    for python in (sys.executable, "/usr/bin/python3"):
        has = [python, "-c", "import jsonschema"]
        if subprocess.run(has, stderr=subprocess.DEVNULL).returncode == 0:
            break
    check = os.path.join(root, "tests", "python", "check_events.py")
    kinds = ["run.start", "attempt", "worker", "run.end"]
    subprocess.run([python, check, schema, path, *kinds], check=True, stdout=subprocess.DEVNULL)
    lines = [json.loads(line) for line in open(path)]
    assert lines[0]["kind"] == "serve" and lines[-1]["end"] == "interrupted", lines
    assert len({e["run"] for e in lines}) == 1, lines
    tried = [e for e in lines if e["event"] == "attempt"]
    assert [e["step"] for e in tried] == [1, 2], tried
    assert [e["status"] for e in tried] == ["correct", "wrong_result"], tried
    assert abs(tried[0]["speedup"][0] - 1.5) < 1e-9 and tried[1]["speedup"] is None, tried
    assert all(e["job"] and e["task"] == "axpy" and e["proposer"] == "serve" for e in tried), tried
    bad = subprocess.run([os.path.join(BIN, "kforge"), "serve", "--events", os.path.join(folder, "missing", "e")],
                         capture_output=True, text=True)
    assert bad.returncode == 2 and "cannot write there" in bad.stderr, bad


def faults(folder):
    fault = os.path.join(folder, "fault")
    with Server(BIN, folder, FAKE_FAULT=fault) as s:
        # the machine's and the judge's faults are tried again, and are no reward
        got = expect(s.post("/v1/judge", ask("fake: status interference", reward="kevin")), 200)
        assert got["reward"] is None and not got["scorable"] and got["blame"] == "machine", got
        assert s.judged() == 3, s.judged()
        got = expect(s.post("/v1/judge", ask("fake: status judge_error", reward="kevin")), 200)
        assert got["reward"] is None and not got["scorable"] and got["blame"] == "judge", got
        # it is not remembered
        open(fault, "w").close()
        got = expect(s.post("/v1/judge", ask("fake: speed 3", reward="kevin")), 200)
        assert got["reward"] is None and got["blame"] == "machine", got
        os.unlink(fault)
        got = expect(s.post("/v1/judge", ask("fake: speed 3", reward="kevin")), 200)
        assert got["reward"] == 3.3 and not got["cached"], got
        # a worker that dies once: another judges
        once = "fake: worker die\n// fake: once %s\n// fake: speed 1.25" % os.path.join(folder, "once")
        assert expect(s.post("/v1/judge", ask(once, reward="speedup")), 200)["reward"] == 1.25
        # one that always kills its worker
        got = expect(s.post("/v1/judge", ask("fake: worker die", reward="kevin", deadline_s=60)), 200)
        assert got["reward"] is None and got["blame"] == "machine" and not got["scorable"], got
        assert expect(s.post("/v1/judge", ask("fake: speed 1.75", reward="speedup", deadline_s=60)),
                      200)["reward"] == 1.75


# ---- bad input -----------------------------------------------------------------------------------

def bad_input(folder):
    with Server(BIN, folder) as s:
        post = lambda body: s.post("/v1/judge", body)
        error_of(post(b""), 400)
        error_of(post(b"\x00\xff{"), 400, "body")
        error_of(post(b"[1]"), 400, "object")
        error_of(post(b'{"task":1,"task":2}'), 400)
        error_of(post(b"[" * 100000), 400)
        error_of(post({"task": "axpy"}), 400, "source")
        error_of(post(dict(ask(), reply="x")), 400, "exactly one")
        error_of(post({"source": SOURCE}), 400, "task")
        error_of(post(dict(ask(), bundle={})), 400, "exactly one")
        error_of(post({"bundle": {"schema": "kforge-bundle/1"}, "source": SOURCE}), 400)
        assert error_of(post(ask(mode="fast")), 400)["where"] == "mode"
        assert error_of(post(ask(reward="kevn")), 400)["where"] == "reward"
        error_of(post(ask(shape={"corect": 1})), 400, "shape.corect")
        error_of(post(ask(shape={"correct": "1"})), 400, "number")
        error_of(post(ask(sorce="x")), 400, "sorce")
        error_of(post(ask(seconds=-1)), 400, "seconds")
        error_of(post(ask(deadline_s="soon")), 400, "deadline_s")
        error_of(post(ask(flags=["--output-file=/etc/passwd"])), 400, "flags[0]")
        error_of(post(ask(flags="-O2")), 400, "flags")
        error_of(post(ask(flags=["-DA"] * 65)), 400, "flags")
        error_of(post(ask(id="x" * 1000)), 400, "id")
        error_of(post(ask(language="rust")), 400, "language")
        error_of(post(ask(language="python")), 400, "problem file")
        error_of(post(dict(ask(), source="")), 400)
        error_of(post(dict(ask(), source="\0")), 400)
        for task in "nope", "../../etc/passwd", "/etc/passwd", ".", "", "tasks/axpy", "x" * 5000, "0" * 64:
            error = error_of(post(dict(ask(), task=task)), 404)
            assert folder not in error["what"] and "share" not in error["what"], error
        error_of(post(dict(ask(), source="x" * (300 << 10))), 413, "262144")
        error_of(s.get("/v1/nothing"), 404)
        error_of(s.get("/v1/judge"), 405)
        error_of(s.request("DELETE", "/v1/tasks")[:2], 405)
        error_of(s.get("/v1/jobs/0123"), 404)
        error_of(s.get("/v1/candidates/" + "0" * 64), 404)
        error_of(s.get("/v1/candidates/zz"), 404)
        error_of(s.get("/v1/tasks/..%2f..%2fetc"), 404)
        error_of(s.post("/v1/judge/batch", {"items": []}), 400, "items")
        error_of(s.post("/v1/judge/batch", {"items": 1}), 400, "items")
        error_of(s.post("/v1/judge/batch", {"items": [ask()] * 1025}), 400, "items")
        error_of(s.post("/v1/judge/batch", b"x" * (17 << 20)), 413)
        # pages of other sites
        error_of(s.post("/v1/judge", ask(), {"Origin": "http://evil.example"}), 403)
        for host in "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "[::1]x", "[":
            error_of(s.post("/v1/judge", ask(), {"Host": host}), 403)
        assert s.judged() == 0
        expect(s.post("/v1/judge", ask(), {"Origin": "http://localhost:3000"}), 200)
        for host in "127.0.0.2", "LOCALHOST:1", "[::1]:8642":
            expect(s.post("/v1/judge", ask(), {"Host": host}), 200)


def tokens(folder):
    path = os.path.join(folder, "token")
    open(path, "w").write("0123456789abcdef-secret\n")
    run = lambda *a: subprocess.run([BIN + "/kforge", "serve", "--no-such-option"][:2] + list(a), text=True,
                                    capture_output=True, timeout=WAIT, cwd=folder,
                                    env=dict(os.environ, HOME=folder, KFORGE_STORE=folder + "/t.db"))
    got = run("--listen", "0.0.0.0:0")
    assert got.returncode == 2 and "--token" in got.stderr, got
    open(path + "2", "w").write("short\n")
    got = run("--listen", "0.0.0.0:0", "--token", path + "2")
    assert got.returncode == 2 and "fewer than" in got.stderr, got
    for listen in "127.0.0.1", "127.0.0.1:70000", "nowhere.invalid:1", "unix:", "unix:" + "x" * 200:
        got = run("--listen", listen, "--token", path)
        assert got.returncode == 2 and "--listen" in got.stderr, (listen, got)
    with Server(BIN, folder, "--token", path) as s:
        bearer = lambda token: {"Authorization": "Bearer " + token}
        for headers in {}, bearer("x"), bearer("0123456789abcdef-secreT"), {"Authorization": "Basic x"}:
            error_of(s.post("/v1/judge", ask(), headers), 401, "token")
            error_of(s.request("GET", "/metrics", headers=headers)[:2], 401)
        expect(s.post("/v1/judge", ask(), bearer("0123456789abcdef-secret")), 200)
        wait_until(lambda: s.get("/health")[0] == 200, "health without a token")


def slow_and_broken(folder):
    """Requests that never become whole take nothing from others."""
    with Server(BIN, folder) as s:
        address = ("127.0.0.1", s.port)
        held = []
        for start in (b"", b"G", b"POST /v1/judge HTTP/1.1\r\n", b"POST /v1/judge HTTP/1.1\r\nHost: localhost\r\n"
                      b"Content-Length: 1000\r\n\r\n{\"task\":"):
            held.append(socket.create_connection(address, WAIT))
            held[-1].sendall(start)
        for garbage in (b"\x16\x03\x01\x02\x00\x01\x00" * 20, b"GET\r\n\r\n", b"\r\n" * 5000, b"X" * 100000,
                        b"POST /v1/judge HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
                        b"POST /v1/judge HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):
            with socket.create_connection(address, WAIT) as c:
                try:
                    c.sendall(garbage)
                    c.shutdown(socket.SHUT_WR)
                    while c.recv(65536):
                        pass
                except OSError:
                    pass
        # a body in chunks, too large in the end
        with socket.create_connection(address, WAIT) as c:
            c.sendall(b"POST /v1/judge HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in range(40):
                c.sendall(b"2000\r\n" + b"x" * 8192 + b"\r\n")
            c.sendall(b"0\r\n\r\n")
            assert c.recv(100).startswith(b"HTTP/1.1 413"), "chunks over the limit"
        expect(s.post("/v1/judge", ask()), 200)
        for c in held:
            c.close()


# ---- many requests -------------------------------------------------------------------------------

def batches(folder):
    go = os.path.join(folder, "go")
    with Server(BIN, folder) as s:
        items = [ask("fake: speed 1.%d" % i, id=str(i), reward="speedup") for i in range(1, 6)]
        items[2] = {"task": "nope", "source": "x", "id": "3"}
        results = expect(s.post("/v1/judge/batch", {"items": items}), 200)["results"]
        assert [r["id"] for r in results] == list("12345"), results
        assert results[0]["reward"] == 1.1 and results[2]["error"]["status"] == 404, results
        # a stream gives what is ready before the rest
        items = [ask("fake: until " + go, id="late"), ask("fake: speed 1.1", id="early")]
        for ordered, first in (False, "early"), (True, "late"):
            shutil.rmtree(go, ignore_errors=True)
            if os.path.exists(go):
                os.unlink(go)
            body = {"items": items, "ordered": ordered, "deadline_s": WAIT}
            h = http.client.HTTPConnection("127.0.0.1", s.port, timeout=WAIT)
            h.request("POST", "/v1/judge/batch", json.dumps(body), {"Accept": "application/x-ndjson"})
            if ordered:
                open(go, "w").close()
            answer = h.getresponse()
            line = json.loads(answer.readline())
            assert line["id"] == first, (ordered, line)
            open(go, "w").close()
            rest = [json.loads(x) for x in answer.read().splitlines()]
            assert len(rest) == 1 and rest[0]["id"] != first, rest
            assert answer.getheader("Content-Type") == "application/x-ndjson"
            h.close()
            items[0]["source"] += "// again\n"


def equal_work(folder):
    go = os.path.join(folder, "go")
    with Server(BIN, folder) as s:
        body = ask("fake: until " + go, deadline_s=WAIT)
        connections = [s.begin("/v1/judge", body) for _ in range(20)]
        wait_until(lambda: s.metric("kforge_running") == 1, "the job runs")
        # one of those that wait goes: the rest still gets the answer
        connections.pop().close()
        open(go, "w").close()
        answers = [read_answer(c) for c in connections]
        assert all(a[0] == 200 and a[1]["correct"] for a in answers), answers
        assert sum(not a[1]["cached"] for a in answers) <= 1 and s.judged() == 1, answers


def queue_limit(folder):
    go = os.path.join(folder, "go")
    with Server(BIN, folder, "--queue", "2") as s:
        held = [s.begin("/v1/judge", ask("fake: until " + go, deadline_s=WAIT))]
        wait_until(lambda: s.metric("kforge_running") == 1, "the job runs")
        for i in range(2):
            held.append(s.begin("/v1/judge", ask("fake: speed 1.%d" % i, deadline_s=WAIT)))
        wait_until(lambda: s.metric("kforge_queue_depth") == 2, "two jobs wait")
        status, answer, headers = s.request("POST", "/v1/judge", ask("fake: speed 3"))
        error_of((status, answer), 429)
        assert headers["Retry-After"] == "1", headers
        # a client that goes makes room, and its job never runs
        held.pop().close()
        wait_until(lambda: s.metric("kforge_queue_depth") == 1, "the job of a lost client is dropped")
        error = error_of(s.post("/v1/judge", ask("fake: speed 4", deadline_s=0.05)), 504, "deadline_s")
        assert "stored" in error["todo"], error
        open(go, "w").close()
        assert all(read_answer(c)[0] == 200 for c in held)
        wait_until(lambda: s.metric("kforge_running") == 0, "the end of the jobs")
        assert s.judged() == 2, s.judged()


def jobs(folder):
    go = os.path.join(folder, "go")
    with Server(BIN, folder) as s:
        made = expect(s.post("/v1/jobs", ask("fake: until " + go, reward="kevin", id="x")), 202)
        path = "/v1/jobs/" + made["job"]
        wait_until(lambda: s.get(path)[1]["state"] == "running", "the job runs")
        waiting = expect(s.post("/v1/jobs", ask("fake: speed 2")), 202)
        assert waiting["state"] == "queued", waiting
        gone = expect(s.request("DELETE", "/v1/jobs/" + waiting["job"])[:2], 200)
        assert gone["state"] == "cancelled", gone
        assert expect(s.get(path + "?wait=0.05"), 200)["state"] == "running"
        error_of(s.get(path + "?wait=x"), 400, "wait")
        error_of(s.get(path + "?wait=601"), 400)
        # several clients wait for one job
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(s.get(path + "?wait=60")))
                   for _ in range(5)]
        for t in threads:
            t.start()
        open(go, "w").close()
        for t in threads:
            t.join()
        for status, answer in answers:
            assert status == 200 and answer["state"] == "done" and answer["result"]["id"] == "x", answer
            assert answer["result"]["reward"] > 1, answer
        # cancelling what runs stops its worker: a client's DELETE, and a client that goes
        never = os.path.join(folder, "never")
        for i, way in enumerate(["DELETE", "close"]):
            wish = ask("fake: until %s\n// fake: %d" % (never, i), deadline_s=WAIT)
            if way == "DELETE":
                running = "/v1/jobs/" + expect(s.post("/v1/jobs", wish), 202)["job"]
            else:
                client = s.begin("/v1/judge", wish)
            wait_until(lambda: s.metric("kforge_running") == 1, "the job runs")
            if way == "DELETE":
                assert expect(s.request("DELETE", running)[:2], 200)["state"] == "cancelled"
            else:
                client.close()
            wait_until(lambda: s.metric("kforge_running") == 0, "the job is over")
            wish = ask("fake: speed 1.%d" % (5 + i))
            assert expect(s.post("/v1/judge", wish), 200)["reward"] is None
        # the two that were stopped had begun
        assert s.judged() == 5, s.judged()
        # cancelling what is done changes nothing
        assert expect(s.request("DELETE", path)[:2], 200)["state"] == "done"
        assert s.judged() == 5, s.judged()


def reading(folder):
    with Server(BIN, folder) as s:
        tasks = expect(s.get("/v1/tasks"), 200)["tasks"]
        axpy = next(t for t in tasks if t["name"] == "axpy")
        assert axpy["best"] is None and axpy["family"] == "elementwise" and len(axpy["hash"]) == 64
        card = expect(s.get("/v1/tasks/axpy"), 200)
        assert card["prototype"].startswith('extern "C" void axpy(') and "axpy" in card["prompt"], card
        assert all(w["hidden"] == ("params" not in w) for w in card["workloads"]), card
        for file in "oracle.cu", "oracle":
            text = open(os.path.join(BIN, "../share/kforge/tasks/axpy/oracle.cu")).read()
            assert text not in json.dumps(card), file
        expect(s.post("/v1/judge", ask()), 200)
        tasks = expect(s.get("/v1/tasks"), 200)["tasks"]
        assert next(t for t in tasks if t["name"] == "axpy")["best"] == 1.5
        assert s.metric('kforge_verdicts_total{status="correct"}') == 1
        assert s.metric('kforge_best_speedup{task="axpy"}') == 1.5
        assert s.metric("kforge_judge_seconds_count") == 1 and s.metric("kforge_cost_usd_total") == 0
        health = expect(s.get("/health"), 200)
        assert health["status"] == "healthy" and health["workers"] == [{"device": "cpu", "healthy": True}]
        # another task of this name has other figures
        shutil.copytree(os.path.join(BIN, "../share/kforge/tasks/axpy"), folder + "/foreign")
        with open(folder + "/foreign/baseline.cu", "a") as baseline:
            baseline.write("// slow\n")
        foreign = subprocess.run([BIN + "/kforge", "task", "bundle", folder + "/foreign"], capture_output=True,
                                 check=True, env=dict(os.environ, HOME=folder)).stdout
        got = expect(s.post("/v1/judge", {"bundle": json.loads(foreign), "source": source("fake: speed 360")}), 200)
        assert got["correct"] and got["task"] != axpy["hash"], got
        assert s.metric('kforge_best_speedup{task="axpy"}') == 1.5
        assert b" 360" not in s.request("GET", "/metrics", raw=True)[1]
    # a task of one's own: as an argument, and as a bundle
    shutil.copytree(os.path.join(BIN, "../share/kforge/tasks/axpy"), folder + "/own")
    text = open(folder + "/own/task.json").read().replace('"name": "axpy"', '"name": "mine"')
    open(folder + "/own/task.json", "w").write(text)
    bundle = subprocess.run([BIN + "/kforge", "task", "bundle", folder + "/own"], capture_output=True,
                            check=True, env=dict(os.environ, HOME=folder)).stdout
    with Server(BIN, folder, folder + "/own") as s:
        got = expect(s.post("/v1/judge", dict(ask(), task="mine")), 200)
        assert not got["cached"], got
        body = dict(ask(), bundle=json.loads(bundle))
        del body["task"]
        again = expect(s.post("/v1/judge", body), 200)
        assert again["cached"] and again["task"] == got["task"], again


# ---- routes of other servers ---------------------------------------------------------------------

def flashinfer(folder):
    go = os.path.join(folder, "go")
    solution = {"name": "s1", "definition": "axpy", "author": "a",
                "spec": {"language": "cuda", "target_hardware": ["cpu"], "entry_point": "a.cu::axpy"},
                "sources": [{"path": "a.cu", "content": source("fake: until " + go)}]}
    with Server(BIN, folder) as s:
        assert "axpy" in [d["name"] for d in expect(s.get("/definitions"), 200)]
        definition = expect(s.get("/definitions/axpy"), 200)
        assert definition["reference"] is None and definition["op_type"] == "elementwise", definition
        assert expect(s.get("/definitions/axpy/workloads"), 200)[0]["axes"]["n"] > 0
        error_of(s.get("/definitions/nope"), 404)
        made = expect(s.post("/evaluate", {"solution": solution}), 200)
        assert made["normalized_solution_name"] == "s1", made
        path = "/tasks/" + made["task_id"]
        assert expect(s.get(path), 200)["status"] in ("pending", "running")
        # a task of these routes is no job of the others
        error_of(s.get("/v1/jobs/" + made["task_id"]), 404)
        error_of(s.post("/tasks/batch", {"task_ids": [made["task_id"], "nope"]}), 404)
        open(go, "w").close()
        row = expect(s.get(path + "?timeout=60"), 200)
        assert row["status"] == "completed" and row["error"] is None, row
        evaluation = row["traces"][0]["evaluation"]
        assert evaluation["status"] == "PASSED" and evaluation["performance"]["speedup_factor"] > 0
        assert evaluation["performance"]["reference_latency_ms"] == 1, evaluation
        wrong = dict(solution, sources=[{"path": "a.cu", "content": source("fake: status compile_error")}])
        ids = [made["task_id"], expect(s.post("/evaluate", {"solution": wrong}), 200)["task_id"]]
        rows = expect(s.post("/tasks/batch", {"task_ids": ids, "timeout": 60}), 200)
        assert [r["task_id"] for r in rows] == ids, rows
        assert rows[1]["traces"][0]["evaluation"]["status"] == "COMPILE_ERROR", rows
        # what kforge can't express
        refuse = lambda status, **more: error_of(s.post("/evaluate", {"solution": dict(solution, **more)}), status)
        spec = solution["spec"]
        refuse(501, spec=dict(spec, binding="tvm-ffi"))
        refuse(501, spec=dict(spec, language="mojo"))
        refuse(501, spec=dict(spec, entry_point="a.cu::run"))
        refuse(501, sources=solution["sources"] * 2)
        refuse(400, definition="nope")
        refuse(400, spec={})
        error_of(s.post("/evaluate", {"solution": solution, "workload_uuids": ["main"]}), 501)
        error_of(s.post("/evaluate", {}), 400)


def kernelgym(folder):
    task = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../unit/data/tasks/torch")
    reference = open(task + "/problem.py").read()
    kernel = "import torch\nclass ModelNew(torch.nn.Module):\n    pass\n# fake: speed 2\n"
    body = {"task_id": "t1", "reference_code": reference, "kernel_code": kernel, "entry_point": "Model",
            "backend": "cuda", "num_correct_trials": 5, "num_perf_trials": 100, "timeout": 60}
    with Server(BIN, folder, task) as s:
        got = expect(s.post("/evaluate", body), 200)
        assert got["task_id"] == "t1" and got["status"] == "completed" and got["compiled"], got
        assert got["correctness"] and got["speedup"] == 2 and got["decoy_kernel"] is False, got
        assert got["reference_runtime"] == 1 and got["kernel_runtime"] == 0.5, got
        for path in "/results/t1", "/status/t1":
            assert expect(s.get(path), 200) == got, path
        error_of(s.get("/results/t2"), 404)
        cheat = dict(body, task_id="t3", kernel_code=kernel.replace("speed 2", "status cheating"))
        got = expect(s.post("/evaluate", cheat), 200)
        assert got["decoy_kernel"] and not got["correctness"] and got["speedup"] is None, got
        broken = dict(body, task_id="t4", kernel_code=kernel.replace("speed 2", "status interference"))
        got = expect(s.post("/evaluate", broken), 200)
        assert got["status"] == "failed" and got["error_code"] == "SYSTEM_ERROR", got
        assert "correctness" not in got and "speedup" not in got, got
        other = dict(body, reference_code="class Model: pass  # of no task")
        assert "import" in error_of(s.post("/evaluate", other), 501)["what"]
        error_of(s.post("/evaluate", dict(body, entry_point="Net")), 501)
        error_of(s.post("/evaluate", dict(body, task_id="")), 400)
        batch = expect(s.post("/evaluate/batch", {"batch_id": "b", "tasks": [body, other]}), 200)
        assert batch["total_tasks"] == 2 and batch["failed_tasks"] == 1, batch
        wait_until(lambda: s.get("/status/t1")[1]["status"] == "completed", "the batch")
        error_of(s.post("/evaluate/batch", {"batch_id": "b", "tasks": []}), 400)


def documents(folder):
    """The curl examples of docs/guide/serve.md."""
    guide = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/guide/serve.md")
    blocks = re.findall(r"```sh\n(.*?)```", open(guide).read(), re.S)
    with Server(BIN, folder) as s:
        wait_until(lambda: s.get("/health")[0] == 200, "a worker")
        lines = []
        for block in blocks:
            if "curl" not in block:
                continue
            script = block.replace("127.0.0.1:8642", "127.0.0.1:%d" % s.port)
            got = subprocess.run(["bash", "-euc", script], text=True, capture_output=True, timeout=WAIT)
            assert got.returncode == 0 and '"error":' not in got.stdout, (script, got)
            lines.append(got.stdout)
        assert '"reward":-0.5' in lines[0] and '"no_source"' in lines[0], lines[0]
        assert '"id":"a"' in lines[1] and '"id":"b"' in lines[1] and '"state":"done"' in lines[1], lines[1]
        assert "prototype" in lines[2] and '"healthy"' in lines[2] and "kforge_queue_depth" in lines[2]


def real_judge(folder):
    """The default workers, with the real judge."""
    path = os.path.join(BIN, "../share/kforge/tasks/axpy/baseline.cu")
    source = os.path.join(folder, "source.cu")
    text = open(path).read() + "// A stored verdict under a lower limit answers no job.\n"
    with open(source, "w") as file:
        file.write(text)
    command = [os.path.join(BIN, "kforge"), "eval", "--device", "cpu", "-q", "axpy",
               "--store", os.path.join(folder, "kforge.db")]
    # The first builds the task's programs.
    for limited in ["--no-keep", path], ["--build-seconds", "0.1", source]:
        subprocess.run(command + limited, env={**os.environ, "KFORGE_CONFIG": "none"},
                       stdout=subprocess.DEVNULL, check=False)
    with Server(BIN, folder, "--device", "cpu", workers=[]) as s:
        shape = {"correct": 1, "wrong_result": 0.1}
        reply = lambda source: {"task": "axpy", "mode": "check", "shape": shape, "deadline_s": 300,
                                "reply": "Done:\n```cuda\n%s```\n" % source}
        items = [reply(text), reply(text.replace("a * x[i] + y[i]", "a * x[i]")), reply(text + "}")]
        # three builds and more, on a busy machine
        results = expect(s.post("/v1/judge/batch", {"items": items}, timeout=500), 200)["results"]
        assert [r["status"] for r in results] == ["correct", "wrong_result", "compile_error"], results
        assert [r["reward"] for r in results] == [1, 0.1, 0] and results[0]["build_s"] > 0, results
        workers = all_children(s.process.pid)
    wait_until(lambda: workers and all(is_gone(w) for w in workers), "the workers end")


# ---- ends ----------------------------------------------------------------------------------------

def all_children(pid):
    found = []
    for task in os.listdir("/proc/%d/task" % pid):
        try:
            found += open("/proc/%d/task/%s/children" % (pid, task)).read().split()
        except FileNotFoundError:
            pass
    return [int(x) for x in found]


def is_gone(pid):
    try:
        return open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def restarts(folder):
    s = Server(BIN, folder)
    expect(s.post("/v1/judge", ask()), 200)
    check = ask("fake: speed 1.3", mode="check")
    expect(s.post("/v1/judge", check), 200)
    wrong = ask("fake: status wrong_result", mode="check")
    expect(s.post("/v1/judge", wrong), 200)
    workers = all_children(s.process.pid)
    held = [s.begin("/v1/judge", ask("fake: sleep 100\n// %d" % i, deadline_s=300)) for i in range(10)]
    wait_until(lambda: s.metric("kforge_queue_depth") == 9, "jobs wait")
    assert workers and s.stop() == 0
    assert all(is_gone(w) for w in workers), workers
    for c in held:
        try:
            assert read_answer(c)[0] == 503
        except (OSError, http.client.HTTPException):
            pass
    with Server(BIN, folder) as s:
        before = s.judged()
        got = expect(s.post("/v1/judge", ask(reward="speedup")), 200)
        assert got["cached"] and got["reward"] == 1.5, got
        assert expect(s.post("/v1/judge", check), 200)["cached"]
        # a failure holds in each mode, a check is no time
        got = expect(s.post("/v1/judge", dict(wrong, mode="time")), 200)
        assert got["cached"] and got["status"] == "wrong_result", got
        assert not expect(s.post("/v1/judge", dict(check, mode="time")), 200)["cached"]
        assert s.judged() == before + 1


def kill(folder):
    """kill -9 during 200 jobs: clients get an error, and a new server answers from the store."""
    s = Server(BIN, folder, FAKE_JITTER="0.01")
    workers = all_children(s.process.pid)
    sources = ["fake: speed 1.%03d" % i for i in range(200)]
    held = [s.begin("/v1/judge", ask(text, deadline_s=300)) for text in sources]
    wait_until(lambda: s.judged() > 50, "some jobs are judged")
    s.stop(signal.SIGKILL)
    answered = 0
    for text, c in zip(sources, held):
        try:
            answered += read_answer(c)[0] == 200
        except (OSError, http.client.HTTPException):
            pass
    wait_until(lambda: all(is_gone(w) for w in workers), "the workers end with the server")
    with Server(BIN, folder) as s:
        before, cached = s.judged(), 0
        body = {"items": [ask(text, reward="speedup") for text in sources], "deadline_s": 300}
        for text, got in zip(sources, expect(s.post("/v1/judge/batch", body), 200)["results"]):
            cached += got["cached"]
            assert abs(got["reward"] - float(text.split()[-1])) < 1e-9, got
        assert cached >= answered and cached >= 40, (cached, answered)
        assert s.judged() - before == 200 - cached, (s.judged(), before, cached)


def sockets(folder):
    path = os.path.join(folder, "k.sock")
    for _ in range(2):
        s = Server(BIN, folder, "--listen", "unix:" + path)
        assert s.process.stdout.readline() == "listening on unix:%s\n" % path
        assert os.stat(path).st_mode & 0o777 == 0o600
        h = http.client.HTTPConnection("localhost", timeout=WAIT)
        h.sock = socket.socket(socket.AF_UNIX)
        h.sock.connect(path)
        for _ in range(3):
            h.request("POST", "/v1/judge", json.dumps(ask()))
            answer = h.getresponse()
            assert answer.status == 200 and json.loads(answer.read())["correct"]
        h.close()
        # a socket that another server left is no obstacle, one in use is
        got = subprocess.run([BIN + "/kforge", "serve", "--listen", "unix:" + path], text=True,
                             capture_output=True, timeout=WAIT, cwd=folder,
                             env=dict(os.environ, HOME=folder, KFORGE_STORE=folder + "/u.db"))
        assert got.returncode == 2 and "another server" in got.stderr, got
        s.stop(signal.SIGKILL)
    s = Server(BIN, folder, "--listen", "unix:" + path)
    s.stop(signal.SIGINT)
    assert not os.path.exists(path)


def memory(folder):
    """256 connections are held in at most 64 MiB, and all are answered."""
    go = os.path.join(folder, "go")
    with Server(BIN, folder) as s:
        held = [s.begin("/v1/judge", ask("fake: until %s\n// %d" % (go, i), deadline_s=300))
                for i in range(256)]
        wait_until(lambda: s.metric("kforge_queue_depth") == 255, "all jobs wait")
        status = open("/proc/%d/status" % s.process.pid).read()
        resident = int(status.split("VmRSS:")[1].split()[0])
        assert is_instrumented(BIN) or resident <= 64 << 10, resident
        open(go, "w").close()
        assert all(read_answer(c)[0] == 200 for c in held)


CASES = [judge, keys, replies, rewards, hidden, events, faults, bad_input, tokens, slow_and_broken, batches, equal_work,
         queue_limit, jobs, reading, flashinfer, kernelgym, documents, real_judge, restarts, kill, sockets, memory]

if __name__ == "__main__":
    failed = 0
    for case in CASES:
        if len(sys.argv) > 2 and case.__name__ not in sys.argv[2:]:
            continue
        folder = tempfile.mkdtemp(prefix="kforge-serve.")
        began = time.monotonic()
        try:
            case(folder)
            print("ok %s %.1f s" % (case.__name__, time.monotonic() - began), flush=True)
        except Exception:
            import traceback
            traceback.print_exc()
            print("FAILED %s" % case.__name__, flush=True)
            log = os.path.join(folder, "serve.err")
            if os.path.exists(log):
                print(open(log).read()[-2000:])
            failed += 1
        Server.kill_all()
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(failed != 0)
