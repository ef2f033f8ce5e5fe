"""One session with `kforge mcp` over its pipes, for the tests: plain JSON-RPC, no library."""
import json
import os
import subprocess
import threading


def environment(folder):
    """Surroundings of their own: no settings of the user, a store in the folder. ctest names the
    cache, which has baselines and oracles."""
    clean = {k: v for k, v in os.environ.items()
             if not k.startswith(("KFORGE_", "XDG_")) or k == "XDG_CACHE_HOME"}
    return clean | {"HOME": folder, "KFORGE_STORE": os.path.join(folder, "kforge.db"), "KFORGE_CONFIG": "none"}


class Session:
    def __init__(self, program, root, folder, *options):
        self.process = subprocess.Popen(
            [program, "mcp", "--root", root, "--device", "cpu", *options], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(folder), cwd=folder)
        self.errors = b""
        self.drain = threading.Thread(target=self._drain, daemon=True)
        self.drain.start()
        self.number = 0
        self.progress = []
        self.answers = {}

    def _drain(self):
        self.errors = self.process.stderr.read()

    def send(self, data):
        self.process.stdin.write(data if isinstance(data, bytes) else json.dumps(data).encode() + b"\n")
        self.process.stdin.flush()

    def read(self):
        """The next message. Each line is one JSON object."""
        line = self.process.stdout.readline()
        assert line.endswith(b"\n"), ("the server has ended", line, self.process.poll())
        return json.loads(line)

    def start(self, method, **params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        return self.number

    def wait(self, number):
        while number not in self.answers:
            message = self.read()
            if message.get("method") == "notifications/progress":
                self.progress.append(message["params"])
            else:
                self.answers[message["id"]] = message
        return self.answers.pop(number)

    def ask(self, method, **params):
        return self.wait(self.start(method, **params))

    def initialize(self, revision="2025-11-25"):
        answer = self.ask("initialize", protocolVersion=revision, capabilities={}, clientInfo={"name": "test", "version": "1"})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer["result"]

    def call(self, tool, **arguments):
        """The structured content of a call that has to succeed."""
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        assert not result["isError"], (tool, arguments, result)
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        return result["structuredContent"]

    def fails(self, tool, **arguments):
        """The text of a call that has to fail."""
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        assert result["isError"] and "structuredContent" not in result, (tool, arguments, result)
        return result["content"][0]["text"]

    def judge(self, tool, **arguments):
        """The verdict of a job, also of one that takes longer. A fault of the machine is judged again."""
        for _ in range(10):
            verdict = self.call(tool, **arguments)
            while "job" in verdict:
                assert "kforge_result" in verdict["next"]
                verdict = self.call("kforge_result", job=verdict["job"])
            if verdict["status"] not in ("interference", "judge_error"):
                return verdict
        raise AssertionError(verdict)

    def close(self):
        self.process.stdin.close()
        status = self.process.wait(60)
        self.drain.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return status


class Server:
    """`kforge serve` on a free port."""

    def __init__(self, program, folder, *options):
        self.process = subprocess.Popen([program, "serve", "--port", "0", "--device", "cpu", *options], stdout=subprocess.PIPE,
                                        env=environment(folder), cwd=folder, text=True)
        self.url = self.process.stdout.readline().split()[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.stdout.close()
        self.status = self.process.wait(60)
