"""kforge watch, diff and show --html from the outside. Usage: watch.py BIN"""
import base64
import hashlib
import html.parser
import http.client
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

BIN = os.path.abspath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WAIT = 60
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("KFORGE_") and k != "NO_COLOR"}


def kforge(folder, *arguments, status=0, store="kforge.db"):
    command = [os.path.join(BIN, "kforge"), *arguments, "--store", os.path.join(folder, store)]
    got = subprocess.run(command, cwd=folder, env=ENVIRONMENT, text=True, capture_output=True, timeout=WAIT)
    assert got.returncode == status, (arguments, got)
    return got.stdout if status == 0 else got.stderr


class Watch:
    """A `kforge watch` on a free port."""

    def __init__(self, folder, *arguments):
        command = [os.path.join(BIN, "kforge"), "watch", *arguments, "--store", os.path.join(folder, "kforge.db")]
        self.process = subprocess.Popen(command, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        found = re.match(r"watching run (\w+) at http://127\.0\.0\.1:(\d+)(/[0-9a-f]{32})/\n", self.process.stdout.readline())
        self.run, self.port, self.key = found[1], int(found[2]), found[3]

    def get(self, path, method="GET", key=None, meanwhile=None, **headers):
        """Returns the answer and its text. `meanwhile` is called once the question is sent."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        connection.request(method, (self.key if key is None else key) + path, headers=headers)
        if meanwhile:
            meanwhile()
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer, text

    def news(self, attempt=0, call=0, meanwhile=None, **more):
        query = "&".join(f"{k}={v}" for k, v in more.items())
        answer, text = self.get(f"/news?attempt={attempt}&call={call}&{query}", meanwhile=meanwhile)
        assert answer.status == 200, text
        return json.loads(text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(WAIT)
        self.process.stdout.close()
        self.messages = self.process.stderr.read()
        self.process.stderr.close()
        assert status == 0, (status, self.messages)
        assert "Ctrl-C ends" in self.messages, self.messages


class Page(html.parser.HTMLParser):
    """Reads a page as a browser does, and fails on parts that may not be in it."""

    def __init__(self, text):
        super().__init__()
        self.parts, self.policy, self.open_, self.name = {}, "", [], None
        self.feed(text)
        self.close()
        assert [t for t in self.open_ if t not in ("meta", "link", "input")] == [], self.open_

    def handle_starttag(self, tag, attributes):
        assert tag not in ("img", "iframe", "object"), tag
        values = dict(attributes)
        for name, value in attributes:
            assert not name.startswith("on") and name not in ("src", "style", "action"), (tag, name)
            assert name != "href" or value == "data:,", value
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"]
        self.name = values.get("id", tag)
        if tag not in ("meta", "link", "input"):
            self.open_.append(tag)

    def handle_endtag(self, tag):
        assert self.open_ and self.open_[-1] == tag, (tag, self.open_)
        self.open_.pop()
        self.name = None

    def handle_data(self, data):
        if self.name in ("script", "style", "data", "details") and data.strip():
            self.parts[self.name] = self.parts.get(self.name, "") + data


def check_policy(page):
    for name in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.parts[name].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in page.policy, (name, page.policy)
    assert page.policy.startswith("default-src 'none'") and "unsafe" not in page.policy, page.policy


def diff(folder):
    text = kforge(folder, "diff", "c2", "c3")
    assert text.splitlines() == [
        "c2  correct, 1.41x [1.40, 1.42], measured once; -DITEMS=8",
        "c3  correct, 1.84x [1.83, 1.85], measured twice", "",
        "--- c2", "+++ c3", "@@ -1 +1 @@", "-// the seed", "+// vectors"], text
    assert kforge(folder, "diff", "c3") == text
    assert "The sources are equal." in kforge(folder, "diff", "c1", "c2")
    assert "c4  wrong_result\n" in kforge(folder, "diff", "c3", "c4")
    with open(os.path.join(folder, "evil\x1b[2J.cu"), "w") as file:
        file.write("// vectors\n\x1b]0;owned\x07\u202e\n--x\n")
    text = kforge(folder, "diff", "c3", "evil\x1b[2J.cu")
    assert "a file, not judged here" in text and "+--x" in text, text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text), repr(text)
    with open(os.path.join(folder, "bytes"), "wb") as file:
        file.write(b"a\0b")
    assert "NUL" in kforge(folder, "diff", "c3", "bytes", status=2)
    assert "no such file" in kforge(folder, "diff", "nothing.cu", status=2)
    assert "has no parent" in kforge(folder, "diff", "c1", status=2)
    assert "no candidate 99" in kforge(folder, "diff", "c1", "c99", status=2)


def file(folder):
    assert "pages/run.html: the page of run " in kforge(folder, "show", "last", "--html", "pages/run.html")
    with open(os.path.join(folder, "pages/run.html"), encoding="utf-8") as f:
        text = f.read()
    page = Page(text)
    check_policy(page)
    assert "connect-src" not in page.policy
    assert text.count("</script>") == 3 and "\u2028" not in text and "\u202e" not in text
    data, details = json.loads(page.parts["data"]), json.loads(page.parts["details"])
    assert data["run"]["attempts"] == 60 == len(data["attempts"]) and len(details) == 60
    # The page ranks by the keys that it gets. That is the order of the store.
    rank = {}
    for a in data["attempts"]:
        if a.get("c") and a["step"] != "baseline" and "status" in a:
            rank[a["c"]] = a.get("rank")
    page_order = sorted((c for c in rank if rank[c]), key=lambda c: ([-key for key in rank[c]], c))
    shown = json.loads(kforge(folder, "show", "last", "--json", "--top", "1000"))["candidates"]
    baseline = {f"c{a['c']}" for a in data["attempts"] if a["step"] == "baseline"}
    assert [f"c{c}" for c in page_order] == [c["id"] for c in shown if c["id"] not in baseline], (page_order, shown)
    assert len(page_order) > 10 and data["run"]["best"] == page_order[0]
    with_code = next(d for d in details.values() if "reply" in d and d.get("parents"))
    assert "</script><img src=x" in with_code["prompt"] and "```cuda" in with_code["reply"]
    assert with_code["parents"][0]["diff"].startswith("--- c") and with_code["verdict"]["status"]
    assert "is for a run" in kforge(folder, "show", "c3", "--html", "x.html", status=2)
    assert not os.path.exists(os.path.join(folder, "x.html"))


def page(folder):
    with Watch(folder) as w:
        answer, text = w.get("/")
        assert answer.status == 200 and answer.getheader("Content-Type") == "text/html; charset=utf-8"
        assert answer.getheader("Content-Security-Policy") == "frame-ancestors 'none'"
        page = Page(text)
        check_policy(page)
        assert "connect-src 'self'" in page.policy and page.parts["data"].strip() == "null"
        all_ = w.news()
        assert len(all_["attempts"]) == 60 and not all_["more"] and all_["run"]["id"] == w.run
        known = w.news(all_["attempt"], all_["call"])
        assert known["attempts"] == known["calls"] == [] and known["run"]["state"] == "finished"
        some = w.news(50, all_["call"])
        assert [a["n"] for a in some["attempts"]] == list(range(51, 61)) and some["calls"] == []
        number = next(a["n"] for a in all_["attempts"] if a.get("from") and a.get("call"))
        detail = json.loads(w.get(f"/attempts/{number}")[1])
        assert detail["source"] and detail["prompt"] and detail["reply"] and detail["parents"], detail
        roof = json.loads(w.get("/roofline")[1])
        assert roof["points"] and roof["peak"] == 4e10 and roof["bandwidth"] == 2e10, roof
        # Nothing else, for no other site, and for no user without the key.
        for path in ("/", "/news?attempt=0&call=0", "/attempts/3", "/roofline"):
            answer, text = w.get(path, key="/" + "0" * 32)
            assert answer.status == 404 and "axpy" not in text and "printed" in text, text
            assert w.get(path, key=w.key + "0")[0].status == w.get(path, key="")[0].status == 404
        assert w.get("/attempts/999")[0].status == 404 and w.get("/v1/tasks")[0].status == 404
        assert w.get("/attempts/-1")[0].status == 404 and w.get("/news?attempt=x")[0].status == 200
        assert w.get("/", "POST")[0].status == 405
        assert w.get("/news", Host="evil.example")[0].status == 403
        assert w.get("/news", Origin="http://evil.example")[0].status == 403


def follows(folder):
    """A question waits until the writer has more, and gets that alone."""
    os.remove(os.path.join(folder, "kforge.db"))
    command = [os.path.join(BIN, "../tests/make_run"), "kforge.db", os.path.join(ROOT, "tasks/axpy"), "30", "4", "-"]
    writer = subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)

    def write_one():
        writer.stdin.write("\n")
        writer.stdin.flush()

    run = writer.stdout.readline().strip()
    with Watch(folder, run[:8]) as w:
        have = w.news()
        while have["attempt"] < 34:
            news = w.news(have["attempt"], have["call"], write_one, state=have["run"]["state"], wait=30)
            assert [a["n"] for a in news["attempts"]] == [have["attempt"] + 1], news
            have = news
        while have["run"]["state"] == "running":
            have = w.news(have["attempt"], have["call"], state="running", wait=30)
        assert have["run"]["state"] == "finished", have
    assert writer.wait(WAIT) == 0
    writer.stdin.close()
    writer.stdout.close()


def finished(folder):
    with Watch(folder) as w:
        pass
    assert f"kforge show {w.run} --html FILE" in w.messages, w.messages


def terminal(folder):
    text = kforge(folder, "watch", "--terminal")
    for words in ("axpy\n", "best      c3 1.84x [1.83, 1.85], measured twice", "compile_error", "exec:./ask", "no_source"):
        assert words in text, (words, text)
    assert "\x1b" not in text
    assert "no run zzz" in kforge(folder, "watch", "zzz", status=2)


PAUSE = 1e6  # seconds


def put_off(store):
    """Moves all that happened in a store into the past."""
    with sqlite3.connect(store) as c:
        for table, columns in (("run", "started updated ended"), ("attempt", "created"), ("model_call", "created")):
            c.execute(f"update {table} set " + ", ".join(f"{name} = {name} - {PAUSE}" for name in columns.split()))


def printed_seconds(text):
    """Reads "1 min 05 s", "6.20 s" or "35 ms"."""
    return sum(float(value) * {"ms": 1e-3, "s": 1, "min": 60, "h": 3600}[unit] for value, unit in
               re.findall(r"([0-9.]+) (ms|s|min|h)\b", text))


def paused(folder):
    """The time of a run has no pauses before it was resumed, wherever it is shown."""
    store, fake = os.path.join(folder, "paused.db"), os.path.join(BIN, "../tests/fake_worker")

    def go_on(*arguments):
        return kforge(folder, "optimize", *arguments, "--workers", fake, store="paused.db")

    go_on(os.path.join(ROOT, "tasks/axpy"), "-n", "4")
    put_off(store)
    run = kforge(folder, "list", "-q", store="paused.db").strip()
    go_on("--resume", run, "-n", "8")
    put_off(store)
    # While it goes on: its jobs end when `go` is there.
    command = [os.path.join(BIN, "kforge"), "optimize", "--resume", run, "-n", "12", "--workers", fake, "--store", store]
    slow = dict(ENVIRONMENT, FAKE_FREE="0", FAKE_LOG=os.path.join(folder, "jobs"), FAKE_GO=os.path.join(folder, "go"))
    living = subprocess.Popen(command, cwd=folder, env=slow, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        while not os.path.exists(os.path.join(folder, "jobs")):
            assert living.poll() is None, living.communicate()
            time.sleep(0.05)
        live = json.loads(kforge(folder, "show", "--json", store="paused.db"))
        assert 0 < live["seconds"] < PAUSE, live["seconds"]
        text = kforge(folder, "show", store="paused.db")
        assert 0 <= printed_seconds(re.search(r" running for (.*)$", text, re.M)[1]) < PAUSE, text
        view = kforge(folder, "watch", "--terminal", store="paused.db")
        assert 0 <= printed_seconds(re.search(r"running (.*)", view)[1]) < PAUSE, view
    finally:
        open(os.path.join(folder, "go"), "w").close()
        out, _ = living.communicate()
    took = printed_seconds(re.search(r"^took +([^,]*)", out, re.M)[1])
    shown = json.loads(kforge(folder, "show", "--json", store="paused.db"))
    assert 0 < took < PAUSE and abs(shown["seconds"] - took) <= 0.01 * took, (shown["seconds"], took)
    text = kforge(folder, "show", store="paused.db")
    assert abs(printed_seconds(re.search(r" took (.*)$", text, re.M)[1]) - took) <= 0.01 * took, text
    view = kforge(folder, "watch", "--terminal", store="paused.db")
    assert abs(printed_seconds(re.search(r"finished (.*)", view)[1]) - took) <= 0.5 + 0.01 * took, view
    assert abs(printed_seconds(re.search(r"^ +0 +(\d.*)$", view, re.M)[1]) - took) <= 0.5 + 0.01 * took, view
    kforge(folder, "show", "--html", "paused.html", store="paused.db")
    with open(os.path.join(folder, "paused.html"), encoding="utf-8") as f:
        data = json.loads(Page(f.read()).parts["data"])
    times = [a["t"] for a in data["attempts"]]
    assert data["run"]["seconds"] == shown["seconds"], (data["run"], shown["seconds"])
    assert times == sorted(times) and 0 <= times[0] and times[-1] <= shown["seconds"], (times, shown["seconds"])
    # The dots of all three parts lie apart.
    assert len(set(times)) == len(times) == shown["attempts"], times
    assert all(0 <= call["t"] <= shown["seconds"] for call in data["calls"]), data["calls"]


def main():
    folder = tempfile.mkdtemp(prefix="kforge-watch.")
    try:
        make = os.path.join(BIN, "../tests/make_")
        task, store = os.path.join(ROOT, "tasks/axpy"), os.path.join(folder, "kforge.db")
        subprocess.run([make + "store", store, task], check=True, stdout=subprocess.DEVNULL)
        diff(folder)
        terminal(folder)
        finished(folder)
        paused(folder)
        os.remove(store)
        subprocess.run([make + "run", store, task, "60"], check=True, stdout=subprocess.DEVNULL)
        file(folder)
        page(folder)
        follows(folder)
    finally:
        shutil.rmtree(folder)


main()
