"""Drives headless Chromium through its debugging pipe, with the standard library alone."""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

WAIT = 120


def find():
    """Returns the program, or None."""
    return next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)


class Browser:
    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="kforge-chromium.")
        to_read, self.to = os.pipe()
        self.come, to_write = os.pipe()
        command = [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-extensions",
                   "--disable-background-networking", "--no-first-run", "--hide-scrollbars",
                   "--disable-dev-shm-usage",
                   "--remote-debugging-pipe", "--user-data-dir=" + self.folder, "about:blank"]

        def prepare():
            os.setsid()
            # Through high numbers, because one may be 3 or 4 already.
            os.dup2(to_read, 200)
            os.dup2(to_write, 201)
            os.dup2(200, 3)
            os.dup2(201, 4)

        self.process = subprocess.Popen(command, preexec_fn=prepare, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.number = 0
        self.session = None
        self.rest = b""
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        # Processor time of the page's thread, not of the clock.
        self.call("Performance.enable", timeDomain="threadTicks")

    def read(self, until):
        while b"\0" not in self.rest:
            ready = select.select([self.come], [], [], max(0, until - time.monotonic()))[0]
            if not ready:
                raise TimeoutError("the browser does not answer")
            got = os.read(self.come, 1 << 20)
            if not got:
                raise EOFError("the browser has ended")
            self.rest += got
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + WAIT
        while True:
            answer = self.read(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def size(self, width, height=900, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, address):
        self.events.clear()
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def value(self, expression):
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise RuntimeError(f"{expression}: {got['exceptionDetails']}")
        return got["result"].get("value")

    def wait(self, expression, seconds=WAIT):
        until = time.monotonic() + seconds
        while not self.value(f"Boolean({expression})"):
            if time.monotonic() > until:
                raise TimeoutError(f"never true: {expression}; the page says {self.value('document.body.innerText')[:600]!r}")
            time.sleep(0.05)

    def complaints(self):
        """Errors of the console, exceptions, and requests to anywhere but this machine."""
        self.value("1")
        found = []
        for event in self.events:
            name, data = event.get("method"), event.get("params", {})
            if name == "Runtime.exceptionThrown":
                found.append(json.dumps(data["exceptionDetails"])[:400])
            elif name == "Runtime.consoleAPICalled" and data["type"] in ("error", "warning", "assert"):
                found.append(json.dumps(data["args"])[:400])
            elif name == "Log.entryAdded" and data["entry"]["level"] in ("error", "warning"):
                found.append(data["entry"]["text"] + " " + data["entry"].get("url", ""))
            elif name == "Network.requestWillBeSent":
                url = data["request"]["url"]
                if not url.startswith(("http://127.0.0.1:", "file://", "data:", "about:")):
                    found.append("request to " + url)
        return found

    def processor_seconds(self):
        """Returns the processor time that the page's thread has spent on tasks."""
        metrics = self.call("Performance.getMetrics")["metrics"]
        return next(m["value"] for m in metrics if m["name"] == "TaskDuration")

    def screenshot(self, path, whole=True):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def key(self, name):
        codes = {"ArrowDown": 40, "ArrowUp": 38, "End": 35, "Home": 36, "Enter": 13, "Tab": 9, "PageDown": 34}
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=codes[name])

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.to)
        os.close(self.come)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
